"""Which skills a text lists to a model, and with which words of their descriptions.

Harnesses write a line for each skill, or an element; what a line says after the name is what the
model had to choose by, so it is kept as it was shown, cut or not. A description may go on in the
next lines. A name alone is a skill whose description was dropped.
"""

import html
import re
from collections.abc import Iterator

from prowess.learning.session_model import MOST_LISTED, MOST_SHOWN

_MOST_TEXT = 400_000
_NAME = r"[\w.-]{1,100}(?::[\w.-]{1,100}){0,3}"
_LINE = re.compile(
    rf"[ \t]{{0,4}}[-*] [`*]{{0,2}}(?P<name>{_NAME})[`*]{{0,2}}(?::[ \t](?P<said>.*)|:?)"
)
_FILE = re.compile(r"\s{0,3}\((?:file|path|location): ?(?P<path>[^()\n]{1,1000})\)\s{0,3}\Z")
_SKILL = re.compile(r"<skill>(?P<inner>.{1,20000}?)</skill>", re.DOTALL)
_PARTS = {
    part: re.compile(rf"<{part}>(?P<said>.{{0,10000}}?)</{part}>", re.DOTALL)
    for part in ("name", "description")
}
_SKILL_FILE = re.compile(r"([\w.-]{1,100})[/\\]{1,2}SKILL\.md\b", re.IGNORECASE)


def listing(text: str) -> dict[str, str]:
    """Return each skill that a text lists, with the description as it stands there."""
    text = text[:_MOST_TEXT]
    if "<skill>" in text:
        found = dict(_elements(text))
    else:
        lines = list(_lines(text))
        # Beside a list with files, other lines that begin alike tell how to use it.
        filed = [line for line in lines if _FILE.search(line[1])]
        found = {name: _FILE.sub("", said).strip() for name, said in filed or lines}
    return {name: found[name][:MOST_SHOWN] for name in list(found)[:MOST_LISTED]}


def skill_files(text: str) -> tuple[str, ...]:
    """Return the folders of the skill files (`NAME/SKILL.md`) that a text names, each once."""
    return tuple(dict.fromkeys(_SKILL_FILE.findall(text[:_MOST_TEXT])))


def _elements(text: str) -> Iterator[tuple[str, str]]:
    for skill in _SKILL.finditer(text):
        parts = {part: look.search(skill["inner"]) for part, look in _PARTS.items()}
        name, description = (
            html.unescape(hit["said"]).strip() if hit else "" for hit in parts.values()
        )
        if name:
            yield name, description


def _lines(text: str) -> Iterator[tuple[str, str]]:
    name = ""
    said: list[str] = []
    for line in [*text.splitlines(), ""]:
        hit = _LINE.fullmatch(line)
        ends = not line.strip() or line.lstrip().startswith(("#", "<"))
        if name and (hit is not None or ends):
            yield name, "\n".join(said).strip()
            name = ""
        if hit is not None:
            name, said = hit["name"], [hit["said"] or ""]
        elif name:
            said.append(line.strip())
