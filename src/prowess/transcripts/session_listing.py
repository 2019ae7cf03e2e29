"""Which skills a text lists to a model, and with which words of their descriptions.

Harnesses write a line for each skill, or an element; what a line says after the name is what the
model had to choose by, so it is kept as it was shown, cut or not. A description may go on in the
next lines. A name alone is a skill whose description was dropped.
"""

import html
import re
from collections.abc import Iterator

from prowess.transcripts.session_model import MOST_LISTED, MOST_SHOWN

_MOST_TEXT = 400_000
_NAME = r"[\w.-]{1,100}(?::[\w.-]{1,100}){0,3}"
_LINE = re.compile(
    rf"[ \t]{{0,4}}[-*] [`*]{{0,2}}(?P<name>{_NAME})[`*]{{0,2}}(?::[ \t](?P<said>.*)|:?)"
)
_FILE = re.compile(r"\s{0,3}\((?:file|path|location): ?(?P<path>[^()\n]{1,1000})\)\s{0,3}\Z")
_SKILL, _END_OF_SKILL = "<skill>", "</skill>"
_SKILL_FILE = re.compile(r"[/\\]{1,2}SKILL\.md\b", re.IGNORECASE)
_LONGEST_NAME = 200
_FOLDER, _LONGEST_FOLDER = re.compile(r"[\w.-]+\Z"), 100


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
    text = text[:_MOST_TEXT]
    ends = (hit.start() for hit in _SKILL_FILE.finditer(text))
    # From the file backwards: a text without any would be searched once for each of its letters.
    found = (_FOLDER.search(text[max(0, end - _LONGEST_FOLDER) : end]) for end in ends)
    return tuple(dict.fromkeys(folder.group() for folder in found if folder is not None))


def _elements(text: str) -> Iterator[tuple[str, str]]:
    # No pattern: an element that does not end would be searched for its end again and again.
    for part in text.split(_SKILL)[1:]:
        inner, end, _ = part.partition(_END_OF_SKILL)
        name = _inside(inner, "name")[:_LONGEST_NAME]
        if end and name:
            yield name, _inside(inner, "description")


def _inside(text: str, element: str) -> str:
    said, end, _ = text.partition(f"<{element}>")[2].partition(f"</{element}>")
    return html.unescape(said).strip() if end else ""


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
