"""What one step becomes in a replay script, and the steps where the agent runs: commands and files.

The lines of a part are bash as it stands, so every value in them has gone through `quote_bash`
before. The other texts of a part may hold anything: whoever writes the script quotes them. Paths
below the folder of the trace become relative, so that the replay can work in another folder. What
cannot be repeated exactly is left to a person, who is shown all that the step was asked to do: a
text that was cut when it was read, a patch that moves or deletes, a tool that nobody knows here, a
program that was left running.

`quote_bash` is the only way in which a text of a trace may stand in a script: bash reads the word
back as exactly that text. The word never spans lines, and no character in it can move a cursor or
turn a line around, so that a script reads as it runs. Two things do not survive, since bash has no
place for them: a zero byte is left out, and half a surrogate pair becomes U+FFFD.
"""

import json
import posixpath
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from prowess.data import read_word_group
from prowess.experience.fingerprint import (
    FIELDS,
    PatchedFile,
    find_patch,
    find_patched_files,
    read_patch,
)
from prowess.experience.redaction import HIDDEN
from prowess.experience.replay.gate import ReplayGate, question_path
from prowess.secrets.credentials import STARS
from prowess.transcripts.traces import MOST_FIELD, TOOLS, Json, TraceAction, find_command, find_path

_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMED = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", "'": r"\'"}
# What is not seen, or moves what is seen: controls, formats, separators of lines, private signs.
_HIDDEN_KINDS: Final = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_NOT_IN_COMMENT = re.compile(r"[^A-Za-z0-9_.:-]+")
_MOST_IN_COMMENT = 40
_LAST_BYTE, _LAST_SHORT = 0xFF, 0xFFFF


def quote_bash(text: str) -> str:
    """Return `text` as one word of bash that stands for itself."""
    text = _SURROGATE.sub("\ufffd", text.replace("\0", ""))
    if not any(map(_is_hidden, text)):
        return _quote_plainly(text)
    return "".join(_run_quoted(run) for run in _runs(text))


def show_hidden(text: str, *, one_line: bool = True) -> str:
    """Return `text` as it may be printed: what is not seen is written as an escape."""
    keep = "" if one_line else "\n\t"
    return "".join(
        _escape_to_see(letter) if _is_hidden(letter) and letter not in keep else letter
        for letter in text
    )


def clean_comment(text: str) -> str:
    """Return a name as it may stand in a comment: letters, digits and a few signs."""
    return _NOT_IN_COMMENT.sub("-", text)[:_MOST_IN_COMMENT].strip("-") or "unnamed"


def _is_hidden(letter: str) -> bool:
    if letter.isascii():
        return not letter.isprintable()
    return unicodedata.category(letter) in _HIDDEN_KINDS


def _quote_plainly(text: str) -> str:
    return "'" + text.replace("'", r"'\''") + "'"


def _runs(text: str) -> list[str]:
    """Cut a text where it changes between plain letters beyond ASCII and all the rest."""
    runs: list[str] = []
    was_foreign = None
    for letter in text:
        is_foreign = not letter.isascii() and not _is_hidden(letter)
        if is_foreign == was_foreign:
            runs[-1] += letter
        else:
            runs.append(letter)
        was_foreign = is_foreign
    return runs


def _run_quoted(run: str) -> str:
    # Some encodings take a backslash behind a foreign byte for a part of a letter. So no escape
    # ever stands behind one within the same quotes.
    if not run.isascii() and not any(map(_is_hidden, run)):
        return _quote_plainly(run)
    return "$'" + "".join(map(_escape, run)) + "'"


def _escape(letter: str) -> str:
    if letter in _NAMED:
        return _NAMED[letter]
    if letter.isascii() and letter.isprintable():
        return letter
    # Three octal digits end an escape, whatever follows.
    return "".join(f"\\{byte:03o}" for byte in letter.encode())


def _escape_to_see(letter: str) -> str:
    if letter in "\n\t\r":
        return _NAMED[letter]
    number = ord(letter)
    if number <= _LAST_BYTE:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= _LAST_SHORT else f"\\U{number:08x}"


MOST_SECRETS = 8
# A safe word in place of a secret, where only the shape of a command is looked at.
STAND_IN = "SECRET"
_SECRET = re.compile(f"{re.escape(HIDDEN)}|{re.escape(STARS)}")


class ReplayPlace(StrEnum):
    """Where a part does something."""

    DEVICE = "device"
    HOST = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPart:
    """One step of a replay."""

    # One sentence for the person who replays it.
    words: str
    lines: tuple[str, ...] = ()
    # Why it needs a confirmation; empty where it needs none.
    danger: str = ""
    # A longer text, shown below the words.
    shown: str = ""
    # The text that the lines use as `$value`; it is shown as well.
    value: str = ""
    places: frozenset[ReplayPlace] = frozenset()
    # Whether it does something, and not only waits for a person.
    is_command: bool = False


@dataclass(slots=True)
class StepSecrets:
    """The names of the variables through which a step gets what was not recorded."""

    step: int
    names: list[str] = field(default_factory=list)

    def another(self) -> str:
        """Return a new name."""
        count = len(self.names) + 1
        name = f"REPLAY_SECRET_{self.step}" + (f"_{count}" if count > 1 else "")
        self.names.append(name)
        return name


@dataclass(frozen=True, slots=True)
class StepContext:
    """What an action needs to know beyond itself."""

    # The folder of the trace, as it was recorded.
    folder: str
    secrets: StepSecrets
    gate: ReplayGate


@dataclass(frozen=True, slots=True)
class SpelledText:
    """A text as a word of bash, and the lines that ask for what is not in it."""

    word: str
    asks: tuple[str, ...] = ()


def make_device_part(words: str, *lines: str, danger: str = "") -> ReplayPart:
    """Return a part that does something on a device."""
    places = frozenset((ReplayPlace.DEVICE,))
    return ReplayPart(words=words, lines=lines, danger=danger, places=places, is_command=True)


def make_host_part(words: str, *lines: str, danger: str = "") -> ReplayPart:
    """Return a part that does something where the script runs."""
    places = frozenset((ReplayPlace.HOST,))
    return ReplayPart(words=words, lines=lines, danger=danger, places=places, is_command=True)


def add_value(part: ReplayPart, text: str, told: SpelledText) -> ReplayPart:
    """Return a part whose lines use a text as `$value`; what is secret in it is asked for first."""
    if not told.asks:
        return replace(part, value=text)
    return replace(part, lines=(*told.asks, f"value={told.word}", *part.lines), shown=text)


def leave_to_person(words: str, shown: str = "") -> ReplayPart:
    """Return a part that waits until a person has done it."""
    return ReplayPart(words=f"by hand: {words}", lines=("by_hand",), shown=shown)


def make_note(words: str) -> ReplayPart:
    """Return a part that is only said."""
    return ReplayPart(words=words)


def join_parts(words: str, parts: Sequence[tuple[str, ReplayPart]]) -> ReplayPart:
    """Return several parts as one, each under its own comment."""
    lines: list[str] = []
    for comment, part in parts:
        # A comment alone is not enough between `then` and `fi`.
        lines += [f"# {comment}", *(_inner_lines(part) or (":",))]
    return ReplayPart(
        words=words,
        lines=tuple(lines),
        danger="; ".join(dict.fromkeys(part.danger for _, part in parts if part.danger)),
        shown="\n".join(_tell(part) for _, part in parts),
        places=frozenset().union(*(part.places for _, part in parts)),
        is_command=any(part.is_command for _, part in parts),
    )


def _tell(part: ReplayPart) -> str:
    return "\n".join(text for text in (part.words, part.shown or part.value) if text)


def _inner_lines(part: ReplayPart) -> tuple[str, ...]:
    if part.lines == ("by_hand",):
        return (f"by_hand {quote_bash(show_hidden(_tell(part), one_line=False))}",)
    return (f"value={quote_bash(part.value)}", *part.lines) if part.value else part.lines


def has_secret(text: str) -> bool:
    """Return whether something was taken out of a text."""
    return _SECRET.search(text) is not None


def replace_secrets(text: str) -> str:
    """Return a text with a harmless word wherever something was taken out of it."""
    return _SECRET.sub(STAND_IN, text)


def spell_text(text: str, secrets: StepSecrets, *, in_command: bool) -> SpelledText | None:
    """Return a text whose secrets are asked for; nothing where it has too many of them."""
    pieces = _SECRET.split(text)
    if len(pieces) > MOST_SECRETS + 1:
        return None
    word, asks = quote_bash(pieces[0]), list[str]()
    for number, piece in enumerate(pieces[1:], 1):
        asks.append(f"ask_secret {secrets.another()}")
        if in_command:
            asks.append('require_plain "$SECRET"')
        asks.append(f"secret_{number}=$SECRET")
        word += f'"$secret_{number}"{quote_bash(piece)}'
    return SpelledText(word, tuple(asks))


# A file of more bytes than this is not kept inside a script.
_MOST_CONTENT = 64_000
_MOST_EDITS = 50
_MOST_TOLD = 200
_MOST_SHOWN = 2_000
# What a person is shown of all fields of a step, and of a whole patch.
_MOST_ASKED = 8_000
_MOST_LINE = 100
_FOLDER_NAMES = ("workdir", "cwd", "working_directory", "directory", "dir_path")
_CONTENT_NAMES = ("content", "contents", "file_text", "text")
_LEFT_RUNNING = ("run_in_background", "is_background", "background")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_SHEBANG = re.compile(r"#![^\n]*")
_SHELL_SHEBANG = re.compile(r"#!\s*(?:/usr)?/bin/(?:env\s+)?(?:ba|da|k|z)?sh\b")
# An edit that takes away so many times what it puts in, and so many characters more, is no edit.
_MOST_TIMES, _MOST_FEWER = 4, 400


@dataclass(frozen=True, slots=True)
class _Edit:
    old: str
    new: str
    is_everywhere: bool

    @property
    def is_whole(self) -> bool:
        return _fits(self.old) and _fits(self.new)


def replay_command(action: TraceAction, around: StepContext) -> ReplayPart:
    """Return a command that is run in the folder."""
    command = find_command(action)
    if not command.strip():
        return make_note("a command that is empty")
    where = _make_relative(action.text(*_FOLDER_NAMES).rstrip("/") or ".", around.folder)
    if patch := find_patch(command):
        return _patch_part(patch, where, around)
    if any(action.fields.get(name) is True for name in _LEFT_RUNNING):
        around.gate.note_change()
        return leave_to_person("start this, and leave it running", command)
    danger = around.gate.question_command(replace_secrets(command), in_folder=where == ".")
    return _command_part(command, where, danger, around.secrets)


def replay_whole_script(action: TraceAction, around: StepContext) -> ReplayPart:
    """Return a whole script that is run; nobody can tell in short what it does."""
    script = find_command(action)
    if not script.strip():
        return make_note("a script that is empty")
    if _SHEBANG.match(script) and not _SHELL_SHEBANG.match(script):
        around.gate.note_change()
        return leave_to_person("run a script that is not for bash", script)
    around.gate.note_change()
    return _command_part(script, ".", "it runs a whole script", around.secrets)


def replay_read(action: TraceAction, folder: str) -> ReplayPart:
    """Return a file that is shown."""
    path = _make_relative(find_path(action), folder)
    if not _can_name(path):
        return leave_to_person("read a file that cannot be named here", path)
    return make_host_part(f"shows {path}", f"show_file {quote_bash(path)}")


def replay_write(action: TraceAction, around: StepContext) -> ReplayPart:
    """Return a file that is written; the script asks first where it is there already."""
    content = next(
        (value for name in _CONTENT_NAMES if isinstance(value := action.fields.get(name), str)),
        None,
    )
    path = _make_relative(find_path(action), around.folder)
    around.gate.note_change()
    if content is None:
        return leave_to_person(f"write {path or 'a file'}; what it held was not recorded")
    return _write(path, content, around)


def replay_edit(action: TraceAction, around: StepContext) -> ReplayPart:
    """Return a replacement of text in a file, which must be there exactly once."""
    path = _make_relative(find_path(action), around.folder)
    around.gate.note_change()
    edits = _edits(action)
    if len(edits) == 1 and not edits[0].old and edits[0].new:
        return _write(path, edits[0].new, around)
    return _write_edits(path, edits, around) or leave_to_person(
        f"edit {path or 'a file'}; the edit cannot be written here", _show_fields(action)
    )


def replay_patch(action: TraceAction, around: StepContext) -> ReplayPart:
    """Return a patch as the files that it writes and edits; by hand where that is not exact."""
    patch = action.text(*FIELDS) or find_command(action)
    where = _make_relative(action.text(*_FOLDER_NAMES).rstrip("/") or ".", around.folder)
    return _patch_part(patch, where, around) if patch else replay_tool(action, around)


def _patch_part(patch: str, where: str, around: StepContext) -> ReplayPart:
    def placed(path: str) -> str:
        return _make_relative(path if where == "." else posixpath.join(where, path), around.folder)

    around.gate.note_change()
    files = read_patch(patch) if _fits(patch) else ()
    known = len(around.secrets.names)
    found = [(f"{one.how} File", _patch(one, placed(one.path), around)) for one in files]
    parts = [(how, part) for how, part in found if part is not None and part.is_command]
    if files and len(parts) == len(files):
        return parts[0][1] if len(parts) == 1 else join_parts(f"patches {len(files)} files:", parts)
    # Nothing asks for these any more.
    del around.secrets.names[known:]
    named = ", ".join(find_patched_files(patch))
    return leave_to_person(
        f"apply this patch: {named}" if named else "apply this patch", _cut(patch)
    )


def _patch(one: PatchedFile, path: str, around: StepContext) -> ReplayPart | None:
    if one.how == "Delete":
        return None
    if one.how == "Add":
        return _write(path, one.content, around)
    edits = [_Edit(change.old, change.new, is_everywhere=False) for change in one.changes]
    return _write_edits(path, edits, around)


def _write_edits(path: str, edits: Sequence[_Edit], around: StepContext) -> ReplayPart | None:
    """Return the edits of one file; None where they cannot be written."""
    can_edit = _can_name(path) and edits and all(edit.old and edit.is_whole for edit in edits)
    if not can_edit or len(edits) > _MOST_EDITS:
        return None
    asks: list[str] = []
    words: list[str] = []
    for edit in edits:
        both = [spell_text(text, around.secrets, in_command=False) for text in (edit.old, edit.new)]
        if has_secret(edit.old) or None in both:
            return leave_to_person(f"edit {path}; it is about something that was not recorded")
        old, new = (one for one in both if one is not None)
        asks += new.asks
        words += ["all" if edit.is_everywhere else "once", old.word, new.word]
    if len(edits) > 1 and asks:
        return leave_to_person(f"edit {path}; it puts in what was not recorded")
    line = f"edit_file {quote_bash(path)} {' '.join(words)}"
    shown = "\n".join(f"- {edit.old[:_MOST_TOLD]}\n+ {edit.new[:_MOST_TOLD]}" for edit in edits)
    danger = question_path(path, around.folder) or _loss(path, edits)
    part = make_host_part(f"edits {path}", *asks, line, danger=danger)
    return replace(part, shown=shown)


def replay_tool(action: TraceAction, around: StepContext) -> ReplayPart:
    """Return what a person has to do, or a look at something, which needs no repeating."""
    kind = action.kind.strip()
    if kind.casefold() in read_word_group(TOOLS, "lookups"):
        return make_note(f"{kind}: only looked something up; left out")
    around.gate.note_change()
    return leave_to_person(f"{kind or 'a tool'} has no command", _show_fields(action))


def _command_part(command: str, where: str, danger: str, secrets: StepSecrets) -> ReplayPart:
    told = spell_text(command, secrets, in_command=True)
    if not _fits(command) or told is None or not _can_name(where):
        return leave_to_person("run a command that cannot be written here", command[:_MOST_TOLD])
    words = "runs:" if where == "." else f"runs in {where}:"
    line = f'run_command "$value" {quote_bash(where)}'
    return add_value(make_host_part(words, line, danger=danger), command, told)


def _write(path: str, content: str, around: StepContext) -> ReplayPart:
    if not _can_name(path) or not _fits(content):
        return leave_to_person(
            f"write {path or 'a file'}; it is too long or too odd to be kept here"
        )
    told = spell_text(content, around.secrets, in_command=False)
    if told is None:
        return leave_to_person(f"write {path}; most of what it held was not recorded")
    words = f"writes {len(content)} characters to {path}, and asks first where it is there"
    line = f"write_file {quote_bash(path)} {told.word}"
    part = make_host_part(words, *told.asks, line, danger=question_path(path, around.folder))
    more = "\n..." if len(content) > _MOST_SHOWN else ""
    return replace(part, shown=content[:_MOST_SHOWN] + more)


def _fits(text: str) -> bool:
    """Return whether a text is whole and can be kept; a reader cuts what is longer."""
    size = len(text.encode("utf-8", "surrogatepass"))
    return len(text) < MOST_FIELD and size <= _MOST_CONTENT and "\0" not in text


def _can_name(path: str) -> bool:
    is_plain = bool(path) and show_hidden(path) == path and not _DRIVE.match(path)
    return is_plain and not path.endswith("/") and not has_secret(path)


def _make_relative(path: str, folder: str) -> str:
    """Return a path as seen from the folder of the trace, unchanged where it is elsewhere."""
    root = folder.rstrip("/")
    if not root or not posixpath.isabs(path):
        return path
    flat = posixpath.normpath(path)
    if flat == root:
        return "."
    return flat.removeprefix(root + "/")


def _loss(path: str, edits: Sequence[_Edit]) -> str:
    """Return why an edit that takes away more than it puts in needs a confirmation."""
    if any(not edit.new.strip() for edit in edits):
        return f"it takes text out of {path} and puts nothing in its place"
    old, new = (
        sum(map(len, texts)) for texts in zip(*((e.old, e.new) for e in edits), strict=True)
    )
    is_loss = old > _MOST_TIMES * new and old - new > _MOST_FEWER
    return f"it takes much more out of {path} than it puts in" if is_loss else ""


def _edits(action: TraceAction) -> list[_Edit]:
    several = action.fields.get("edits")
    if isinstance(several, Sequence) and not isinstance(several, str):
        return [_edit(one) for one in several if isinstance(one, Mapping)]
    return [_edit(action.fields)]


def _edit(fields: Mapping[str, Json]) -> _Edit:
    action = TraceAction("edit", fields)
    everywhere = fields.get("replace_all") is True or fields.get("replaceAll") is True
    old = action.text("old_string", "old_str", "oldText", "oldString")
    return _Edit(old, action.text("new_string", "new_str", "newText", "newString"), everywhere)


def _show_fields(action: TraceAction) -> str:
    """Return all fields of an action as JSON: on one line where they fit, each text cut."""
    fields = {name: _shorten(value) for name, value in action.fields.items() if name != "type"}
    if not fields:
        return ""
    line = json.dumps(fields, ensure_ascii=False, default=str)
    if len(line) <= _MOST_LINE:
        return line
    return _cut(json.dumps(fields, ensure_ascii=False, default=str, indent=2))


def _shorten(value: Json) -> Json:
    if isinstance(value, str):
        return _cut(value, _MOST_SHOWN)
    if isinstance(value, Mapping):
        return {name: _shorten(inner) for name, inner in value.items()}
    return [_shorten(inner) for inner in value] if isinstance(value, Sequence) else value


def _cut(text: str, most: int = _MOST_ASKED) -> str:
    return text if len(text) <= most else f"{text[:most]}\n..."
