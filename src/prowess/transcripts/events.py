"""What happened in a session, as the reader of a log tells it to whoever listens.

A reader takes a log apart once and tells each thing in its order; what becomes of it is the
listener's business: a session with its prompts, or a trace for each task. A listener overrides what
it cares about. Names of skills are as the harness spells them.
"""

import html
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from prowess.data import read_table
from prowess.transcripts.traces import LeftOutCounts
from prowess.transcripts.turns import read_turns

Entry = Mapping[str, object]

SUB_AGENT = "work of a sub-agent"
MOST_LISTED, MOST_SHOWN = 2_000, 2_000

_MOST_TEXT = 400_000
_NAME = r"[\w.-]{1,100}(?::[\w.-]{1,100}){0,3}"
_LINE = re.compile(
    rf"[ \t]{{0,4}}[-*] [`*]{{0,2}}(?P<name>{_NAME})[`*]{{0,2}}(?::[ \t](?P<said>.*)|:?)"
)
_FILE = re.compile(r"\s{0,3}\((?:file|path|location): ?(?P<path>[^()\n]{1,1000})\)\s{0,3}\Z")
_SKILL, _END_OF_SKILL = "<skill>", "</skill>"
_SKILL_FILE = re.compile(r"[/\\]{1,2}SKILL\.md\b", re.IGNORECASE)
_SKILL_TOOL = re.compile(r"(?:use_|load_|activate_|activate)?skill", re.IGNORECASE)
_OUR_TOOL = re.compile(r"(?:.*[^a-z])?(?:load_skill|read_skill_file)")
_DEEPEST_FIELDS = 4
_LONGEST_NAME = 200
_FOLDER, _LONGEST_FOLDER = re.compile(r"[\w.-]+\Z"), 100
_SLASH_COMMAND = re.compile(r"/(?P<name>[\w:.-]{1,200})(?:\s{1,9}(?P<said>.{0,8000}))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedPrompt:
    """What a person typed."""

    text: str
    # In milliseconds since 1970; zero where the log does not say.
    at_ms: int = 0
    session_id: str = ""
    folder: str = ""
    # Whether it can be read in more than one way.
    is_doubtful: bool = False
    # Name and arguments, where the harness takes it for a command.
    command: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What a tool answered, and whether its harness calls that an error."""

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool that the agent called, as the log has it."""

    name: object
    fields: object
    returned: Returned | None = None
    # Whether the model's service ran it, and not the harness.
    by_service: bool = False


class SkillsOfCall(NamedTuple):
    """What a call has to do with skills."""

    loaded: tuple[str, ...] = ()
    # The folders of the skill files that it names.
    named: tuple[str, ...] = ()
    # Whether what came back may be the text of a skill.
    reads: bool = True


class EventListener:
    """Whoever is told what happened; each method takes one thing and by default ignores it."""

    # Whether what is said in a sub-agent's session is of use.
    hears_sub_agents = True

    def __init__(self, left_out: LeftOutCounts) -> None:
        self.left_out = left_out

    def take_session(self, *, session_id: str = "", folder: str = "", at_ms: int = 0) -> None:
        """Take what a line says of its session."""

    def take_prompt(self, prompt: TypedPrompt) -> bool:
        """Take what a person typed; return whether something begins with it."""
        return bool(prompt.text)

    def take_prompt_again(self, text: str) -> None:
        """Take the last prompt once more: the log has it twice, and this is the better one."""

    def take_command(self, name: str, arguments: str, at_ms: int) -> None:
        """Take a command that a person called by its name."""

    def take_untyped(self, *, is_break: bool = False) -> None:
        """Take a user's message that nobody typed; after a break the agent works for another."""

    def take_break(self) -> None:
        """Take that what follows is no prompt's."""

    def take_thought(self, text: str) -> None:
        """Take what the agent thought."""

    def take_reply(self, text: str) -> None:
        """Take what the agent said."""

    def take_call(self, call: ToolCall) -> None:
        """Take a call of a tool."""

    def take_refused_call(self, reason: str) -> None:
        """Take a call that was refused before anything was done."""

    def take_listing(self, skills: Mapping[str, str], *, anew: bool) -> None:
        """Take which skills the model is shown from here on."""

    def take_hint(self, names: Iterable[str]) -> None:
        """Take the skills that a hook named for the prompt."""

    def take_use(self, names: Iterable[str]) -> None:
        """Take the skills that the agent read or ran."""

    def take_stop(self, problem: str, *, is_message: bool = False) -> None:
        """Take that something broke off; `is_message` where the log has it as a user's words."""

    def take_undo(self, count: int) -> None:
        """Take that a person took the last prompts back."""


class Results:
    """The answers of tools by the id of the call, each handed out once."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Returned]] = {}

    def add(self, call_id: object, returned: Returned) -> None:
        """Keep the answer to a call."""
        if isinstance(call_id, str):
            self._waiting.setdefault(call_id, deque()).append(returned)

    def take(self, call_id: object) -> Returned | None:
        """Return the first answer to a call that nobody took; None where there is none."""
        waiting = self._waiting.get(call_id) if isinstance(call_id, str) else None
        return waiting.popleft() if waiting else None


def read_text(entry: Entry, name: str) -> str:
    """Return a field where it is a text."""
    value = entry.get(name)
    return value if isinstance(value, str) else ""


def read_words(content: object, role: str) -> str:
    """Return the text of a message's content; of a user's only what the user wrote."""
    if isinstance(content, str) and (role != "user" or "<" not in content):
        return content
    said = read_turns([{"role": role, "content": content}])
    return said[0].text if said else ""


def read_moment_ms(value: object) -> int:
    """Return a time of a log in milliseconds since 1970; zero where it is none."""
    if not isinstance(value, str):
        return 0
    try:
        moment = datetime.fromisoformat(value.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0, round(moment.timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0


def split_command(text: str) -> tuple[str, str] | None:
    """Return name and arguments of a command (`/name ...`); None where the text is none."""
    found = _SLASH_COMMAND.fullmatch(text)
    return None if found is None else (found["name"], found["said"] or "")


def read_listing(text: str) -> dict[str, str]:
    """Return each skill that a text lists to a model, with the description as it stands there.

    Harnesses write a line for each skill, or an element. A description may go on in the next lines,
    and a name alone is a skill whose description was dropped.
    """
    text = text[:_MOST_TEXT]
    if "<skill>" in text:
        found = dict(_elements(text))
    else:
        lines = list(_lines(text))
        # Beside a list with files, other lines that begin alike tell how to use it.
        filed = [line for line in lines if _FILE.search(line[1])]
        found = {name: _FILE.sub("", said).strip() for name, said in filed or lines}
    return {name: found[name][:MOST_SHOWN] for name in list(found)[:MOST_LISTED]}


def find_skill_files(text: str) -> tuple[str, ...]:
    """Return the folders of the skill files (`NAME/SKILL.md`) that a text names, each once."""
    text = text[:_MOST_TEXT]
    ends = (hit.start() for hit in _SKILL_FILE.finditer(text))
    # From the file backwards: a text without any would be searched once for each of its letters.
    found = (_FOLDER.search(text[max(0, end - _LONGEST_FOLDER) : end]) for end in ends)
    return tuple(dict.fromkeys(folder.group() for folder in found if folder is not None))


def find_used_skills(name: object, fields: object) -> SkillsOfCall:
    """Return the skills that a call loads or may read.

    A tool of the harness or of ours loads one by its name. Any other tool or command may read the
    files that it names, and what came back shows whether it did; one that writes files reads none.
    """
    given = fields if isinstance(fields, dict) else {"": fields}
    tool = name if isinstance(name, str) else ""
    if isinstance(inner := given.get("arguments", given.get("args")), dict):
        # A tool that calls another one, which many servers make necessary.
        return find_used_skills(given.get("name") or given.get("id") or tool, inner)
    if _OUR_TOOL.fullmatch(tool) or _SKILL_TOOL.fullmatch(tool):
        # Older versions of one harness call the argument `command`.
        called = (read_text(given, key) for key in ("skill", "name", "command"))
        return SkillsOfCall(loaded=tuple(one.lstrip("/") for one in called if one)[:1])
    if tool.lower() in _writers():
        return SkillsOfCall(reads=False)
    found = (one for text in _texts(given, 0) for one in find_skill_files(text))
    return SkillsOfCall(named=tuple(dict.fromkeys(found)))


def _writers() -> frozenset[str]:
    deeds = read_table("transcripts/tools.toml")["deeds"]
    return frozenset(word for kind in ("write", "edit", "patch") for word in deeds[kind].split())


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < _DEEPEST_FIELDS:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner, depth + 1)


def _elements(text: str) -> Iterator[tuple[str, str]]:
    # No pattern: an element that does not end would be searched for its end again and again.
    for part in text.split(_SKILL)[1:]:
        inner, end, _ = part.partition(_END_OF_SKILL)
        name = _read_inside(inner, "name")[:_LONGEST_NAME]
        if end and name:
            yield name, _read_inside(inner, "description")


def _read_inside(text: str, element: str) -> str:
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
