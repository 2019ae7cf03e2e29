"""Take in the files of a skill: each is read, known to be harmless, or named as unread.

What is not scanned is the cheapest place to hide, so nothing is passed over in silence: no
extension, no folder, no ignore file and no size takes a file out of the ledger. Names are checked
before anything is read, and bytes are read as an editor would, with a mark on what an editor or a
terminal does not show.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prowess.reading.views import Lines, Spot, View
from prowess.safety.intake import file_types as pictures
from prowess.safety.intake.file_types import FileKind, UnpackBudget, detect_kind, read_members
from prowess.safety.model import Confidence, Handling, LedgerEntry, Level, Sighting
from prowess.safety.paths import PathRefused, collision_key, segments, shown

_LEAVES = frozenset(("unc", "absolute", "drive", "segment", "empty"))
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_IMPORTED = re.compile(r"(?i)(?:^|/)(?:(?:site|user)customize\.py|conftest\.py|[^/]*\.pth)\Z")
# A harmless ending, and behind it the one that counts.
_TWO_ENDINGS = re.compile(
    r"(?i)\.(?:pdf|docx?|xlsx?|pptx?|txt|md|csv|png|jpe?g|gif|webp|mp[34]|zip)\s*"
    r"\.(?:exe|scr|lnk|com|bat|cmd|vbs|hta|msi|pif|jar|command|app)\Z"
    r"|\.(?:pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|webp|mp[34])\s*\.(?:js|jse|ps1|sh|py|wsf)\Z"
    r"|\.\w{2,4}\s{8,}\.\w{2,5}\Z"
)


def make_spot(path: str) -> Spot:
    """Return the place for what concerns a file as a whole."""
    return Spot(View.raw(path, ""), 0, 0)


def check_name(path: str, *, max_depth: int, max_bytes: int) -> Iterator[Sighting]:
    """Yield what is wrong with one path."""
    flat = path.replace("\\", "/")
    try:
        steps = segments(path, max_depth=max_depth)
    except PathRefused as refused:
        rule = "path-traversal" if refused.reason in _LEAVES else "odd-name"
        yield Sighting(rule, make_spot(path), f"The path {refused.problem}")
    else:
        if "\\" in path:
            message = "The path has a backslash, which some systems take for a slash."
            yield Sighting("path-traversal", make_spot(path), message)
        elif len(path.encode()) > max_bytes or len(steps) > max_depth:
            yield Sighting("odd-name", make_spot(path), "The path is too long or too deep.")
    if _IMPORTED.search(flat):
        message = f"{shown(flat.rpartition('/')[2])} runs by itself when Python or a test starts."
        yield Sighting("import-time-file", make_spot(path), message)
    if _TWO_ENDINGS.search(flat) or _TURNS.search(path):
        message = "The name shows another kind of file than it is."
        yield Sighting("disguised-file", make_spot(path), message)


def find_collisions(paths: Iterable[str]) -> Iterator[Sighting]:
    """Yield the paths that some system takes for another path of the same skill."""
    spelt: dict[str, str] = {}
    for path in paths:
        for end in _ends(path):
            place = path[:end]
            first = spelt.setdefault(collision_key(place), place)
            if first != place:
                message = f"Some systems take it for {shown(first)}."
                yield Sighting("name-collision", make_spot(path), message)
                break


def _ends(path: str) -> Iterator[int]:
    at = path.find("/")
    while at >= 0:
        yield at
        at = path.find("/", at + 1)
    yield len(path)


_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_STRANGE = re.compile("[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_STRANGE_SHARE = 0.15
_WIDE_SHARE = 0.3
_WIDE_LEAST = 8


@dataclass(frozen=True, slots=True)
class Plain:
    """A text, and what was wrong with how it was written ("" where nothing)."""

    text: str
    problem: str = ""


def read_text(data: bytes) -> Plain | None:
    """Return `data` as text, or None where it is no text in any encoding."""
    for mark, encoding in _BOMS:
        if data.startswith(mark) and encoding != "utf-8":
            text = data[len(mark) :].decode(encoding, "replace")
            return Plain(text, f"is {encoding[:6].upper()}") if _is_text(text) else None
    wide = _detect_wide(data)
    if wide:
        return Plain(data.decode(wide, "replace"), "is UTF-16 without a mark that says so")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        # Read all the same, because what is not read is where things are hidden.
        text = data.decode("utf-8", "replace")
        problem = f"is not valid UTF-8 at byte {error.start}"
        return Plain(text, problem) if _is_text(text) else None
    return Plain(text) if _is_text(text) else None


def _detect_wide(data: bytes) -> str:
    if len(data) < _WIDE_LEAST or len(data) % 2:
        return ""
    for encoding, zeros, letters in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        many = data[zeros::2].count(0)
        if many > _WIDE_SHARE * len(data) and not data[letters::2].count(0):
            return encoding
    return ""


def _is_text(text: str) -> bool:
    # Zeros between letters are a way to hide them, so they do not make a text a binary.
    shown = text.replace("\x00", "")
    return len(_STRANGE.findall(shown)) <= _STRANGE_SHARE * len(shown) and bool(shown or not text)


_SAME_LINES = 200
# Lines that show nothing: blank, a dot or a dash, a line break or a hard blank.
_EMPTY_LINE = re.compile(r"\W{0,8}|(?:<br ?/?>|&nbsp;|&#160;|<p></p>|\s){1,8}", re.IGNORECASE)
_LONG_LINE = 1000
_BLANK = "[ \t\u00a0\u2000-\u200a\u3000]"
_BLANK_RUN = re.compile(rf"(?<!{_BLANK}){_BLANK}{{1000,}}+(?=\S)")
_FEW_WORDS = 0.02
_MANY_WORDS = 500
# What a terminal obeys: the character, where it does harm, and what it does.
_TERMINAL = tuple(
    (mark, re.compile(pattern), message)
    for mark, pattern, message in (
        ("\x1b", "\x1b", "An escape sequence changes what a terminal shows."),
        ("\x9b", "\x9b[0-?]{0,16}[@-~]", "An escape sequence changes what a terminal shows."),
        ("\x08", "[^\\s\x08]\x08", "A backspace rubs out what stands before it."),
        (
            "\r",
            r"[^\s]\r(?![\r\n])(?=[^\n]{0,200}\S)",
            "A lone carriage return writes over the line in a terminal.",
        ),
    )
)


def find_hidden_parts(view: View) -> Iterator[Sighting]:
    """Yield what hides parts of a text from a person who looks at it."""
    text = view.text
    at = text.find("\x00")
    if at >= 0:
        message = f"{text.count(chr(0))} NUL bytes stand between the letters."
        yield Sighting("nul-byte", Spot(view, at, at + 1), message)
    yield from _find_terminal_marks(view)
    yield from _find_padding(view)


def _find_terminal_marks(view: View) -> Iterator[Sighting]:
    for mark, pattern, message in _TERMINAL:
        hit = pattern.search(view.text) if mark in view.text else None
        # Lines may end in a carriage return alone, as they once did.
        if hit and (mark != "\r" or "\n" in view.text):
            yield Sighting("ansi-escape", Spot(view, *hit.span()), message)


def _find_padding(view: View) -> Iterator[Sighting]:
    lines = view.text.split("\n")
    at = _find_same_lines(lines)
    if at >= 0:
        message = "Hundreds of empty lines push the rest out of sight."
        yield Sighting("padding", Spot(view, at, at), message)
    start = 0
    for line in lines:
        found = _find_filler(line) if len(line) >= _LONG_LINE else None
        if found is not None:
            offset, message, level = found
            spot = Spot(view, start + offset, start + offset + 1)
            yield Sighting("padding", spot, message, Confidence.MEDIUM, level)
            return
        start += len(line) + 1


def _find_filler(line: str) -> tuple[int, str, Level | None] | None:
    """Return where a long line is filled up, with what, and at which level that counts."""
    if hit := _BLANK_RUN.search(line):
        return hit.start(), "A thousand blanks push the rest of the line out of sight.", None
    words = line.split()
    if len(words) >= _MANY_WORDS and len(set(words)) <= _FEW_WORDS * len(words):
        return 0, "Filler words push the rest of the line out of sight.", Level.WARN
    return None


def _find_same_lines(lines: list[str]) -> int:
    """Return where a long run of equal lines begins that show nothing, with more text after it."""
    if len(lines) <= _SAME_LINES:
        return -1
    at = start = count = 0
    last = ""
    for line in lines:
        bare = line.strip()
        if bare == last:
            count += 1
        else:
            if count >= _SAME_LINES and _EMPTY_LINE.fullmatch(last):
                return start
            count, last, start = 1, bare, at
        at += len(line) + 1
    return -1


_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """How much of a skill is read; what lies beyond is a finding."""

    files: int = 2000
    file_bytes: int = 4 * _MIB
    total_bytes: int = 32 * _MIB
    depth: int = 12
    path_bytes: int = 240


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A text of the skill; `path` has an exclamation mark where it lies inside another file."""

    path: str
    text: str
    lines: Lines
    view: View

    @classmethod
    def of(cls, path: str, text: str) -> "SourceFile":
        """Return a text with its lines and the view of it as it is."""
        return cls(path, text, Lines.of(text), View.raw(path, text))


@dataclass(frozen=True, slots=True)
class Intake:
    """All that was taken in, and what was seen while doing so."""

    sources: tuple[SourceFile, ...]
    ledger: tuple[LedgerEntry, ...]
    sightings: tuple[Sighting, ...]


_DEFAULT = ScanLimits()
_NESTED = 2
_PICTURE_NAME = re.compile(r"(?i)\.(?:png|jpe?g|gif|webp|ico|bmp|tiff?|ttf|otf|woff2?)\Z")
_TEXT_NAME = re.compile(r"(?i)\.(?:md|markdown|txt|rst|csv|json|ya?ml|toml|html?|xml|svg|log)\Z")
_DOCUMENT_NAME = re.compile(r"(?i)\.(?:pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|mp[34]|wav)\Z")
_OFFICE_NAME = re.compile(r"(?i)\.(?:docx|dotx|xlsx|xltx|pptx|potx|od[tsp]|epub)\Z")
_PROGRAM_NAME = re.compile(r"(?i)\.(?:jar|war|apk|aar|class|exe|dll|so|dylib|node|wasm|o|a|msi)\Z")
_BYTECODE_NAME = re.compile(r"(?i)\.py[co]\Z")
_PROSE_NAME = re.compile(r"(?i)\.(?:md|markdown|txt|rst|csv|log)\Z")
_SCRIPT = re.compile(r"#![ \t]{0,8}/|<\?php|<script|@echo off", re.IGNORECASE)
_POINTER = "version https://git-lfs."
_TAGS = re.compile(r"<[^<>]{0,4096}>")
_PARAGRAPH = re.compile(r"</(?:w:p|a:p|text:p|si|row|p)>")
_ZIP_END = b"PK\x05\x06"
_ZIP_TAIL = 65557


def take(files: Mapping[str, bytes], limits: ScanLimits = _DEFAULT) -> Intake:
    """Read the files of a skill and account for every one of them."""
    run = _IntakeRun(limits)
    for path in sorted(files, key=lambda path: (path != "SKILL.md", path)):
        run.take(path, files[path])
    run.sightings.extend(find_collisions(files))
    return Intake(tuple(run.sources), tuple(run.ledger), tuple(run.sightings))


@dataclass(slots=True)
class _IntakeRun:
    """Where files are opened, one after the other."""

    limits: ScanLimits
    sources: list[SourceFile] = field(default_factory=list)
    ledger: list[LedgerEntry] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)
    unpacking: UnpackBudget = field(default_factory=UnpackBudget)
    bytes_taken: int = 0

    def take(self, path: str, data: bytes) -> None:
        """Account for one file of the skill."""
        self.sightings.extend(
            check_name(path, max_depth=self.limits.depth, max_bytes=self.limits.path_bytes)
        )
        reason = self._too_much(data)
        if reason:
            self._see("unscanned-content", path, f"Not scanned: {reason}.")
            self.ledger.append(LedgerEntry(path, Handling.REFUSED, len(data), reason))
            return
        self.bytes_taken += len(data)
        handling, reason = self._open(path, data, 0)
        self.ledger.append(LedgerEntry(path, handling, len(data), reason))

    def _too_much(self, data: bytes) -> str:
        if len(self.ledger) >= self.limits.files:
            return f"the skill has more than {self.limits.files} files"
        if len(data) > self.limits.file_bytes:
            return f"the file is larger than {self.limits.file_bytes} bytes"
        if self.bytes_taken + len(data) > self.limits.total_bytes:
            return f"the skill is larger than {self.limits.total_bytes} bytes"
        return ""

    def _open(self, path: str, data: bytes, nested: int) -> tuple[Handling, str]:
        kind = detect_kind(data)
        if kind in (FileKind.IMAGE, FileKind.FONT) and b"\x00" in data:
            return self._take_picture(path, data, kind, nested)
        if kind is FileKind.OTHER or _has_no_zero(data, kind):
            plain = read_text(data)
            if plain is not None:
                self._take_text(path, plain.text, plain.problem)
                return Handling.SCANNED, plain.problem
        self._check_disguise(path, kind)
        self._note_binary(path, data, kind)
        if kind in (FileKind.ZIP, FileKind.TAR, FileKind.PACKED, FileKind.ARCHIVE):
            self._open_archive(path, data, kind, nested)
        else:
            self._take_strings(path, data, "strings")
            self._open_hidden_zip(path, data, nested)
        return Handling.BINARY, kind.value or "unknown binary"

    def _take_text(self, path: str, text: str, problem: str = "") -> None:
        source = SourceFile.of(path, text)
        self.sources.append(source)
        if problem:
            message = f"The file {problem}: others may read another text than was scanned."
            self._see("unscanned-content", path, message, Level.WARN)
        self.sightings.extend(find_hidden_parts(source.view))
        if _BYTECODE_NAME.search(path):
            self._see("bytecode", path, "Compiled Python by its name.")
        if text.startswith(_POINTER) or not text.strip():
            return
        head = text.lstrip("\ufeff \t\r\n")[:64]
        script = _SCRIPT.match(head) is not None and not re.match(r"(?i)<script", head)
        poses = detect_kind(text[:64].encode()) in (FileKind.IMAGE, FileKind.EXECUTABLE)
        if poses or _PICTURE_NAME.search(path) or (script and _PROSE_NAME.search(path)):
            what = "a script" if script else "a text"
            # A script below the name of a page is read as both, and hides nothing.
            level = Level.WARN if script and not _PICTURE_NAME.search(path) else None
            message = f"The name says otherwise, but this is {what}."
            self._see("disguised-file", path, message, level)

    def _take_picture(
        self, path: str, data: bytes, kind: FileKind, nested: int
    ) -> tuple[Handling, str]:
        end = pictures.find_end(data)
        appended = data[end:]
        if words := pictures.read_metadata(data[:end]):
            self._take_text(f"{path}!metadata", words)
        if _TEXT_NAME.search(path) or _PROGRAM_NAME.search(path):
            self._see("disguised-file", path, f"The name says otherwise, but this is a {kind}.")
        hides = detect_kind(appended) not in (
            FileKind.OTHER,
            FileKind.IMAGE,
        ) or pictures.find_readable(appended)
        if hides or _has_zip_end(data):
            self._see(
                "disguised-file", path, f"Behind the end of the {kind} something else follows."
            )
            self._take_strings(path, appended, "appended")
            self._open_hidden_zip(path, data, nested)
            return Handling.BINARY, f"{kind} with something appended"
        return Handling.HARMLESS, kind.value

    def _check_disguise(self, path: str, kind: FileKind) -> None:
        office = kind is FileKind.ZIP and _DOCUMENT_NAME.search(path)
        if kind is FileKind.OTHER or kind is FileKind.MEDIA or office:
            return
        shows = _PICTURE_NAME.search(path) or _TEXT_NAME.search(path)
        if shows or (_DOCUMENT_NAME.search(path) and kind is not FileKind.DOCUMENT):
            self._see("disguised-file", path, f"The name says otherwise, but this is a {kind}.")

    def _note_binary(self, path: str, data: bytes, kind: FileKind) -> None:
        if kind is FileKind.BYTECODE or _BYTECODE_NAME.search(path):
            message = "Compiled code: what it does cannot be read, whatever its source says."
            self._see("bytecode", path, message)
        elif kind is FileKind.EXECUTABLE or _PROGRAM_NAME.search(path):
            self._see("binary-content", path, "A program in machine code cannot be read.")
        elif kind in (FileKind.ZIP, FileKind.TAR, FileKind.PACKED, FileKind.ARCHIVE):
            office = (
                kind is FileKind.ZIP and _OFFICE_NAME.search(path) and b"[Content_Types]" in data
            )
            message = (
                "A document made of packed files." if office else f"A {kind} inside the skill."
            )
            self._see("nested-archive", path, message, Level.INFO if office else None)
        else:
            level = Level.INFO if kind is FileKind.MEDIA else None
            message = f"Not scanned: {kind.value or 'binary content of no known kind'}."
            self._see("unscanned-content", path, message, level)

    def _take_strings(self, path: str, data: bytes, part: str) -> None:
        if words := pictures.find_readable(data):
            self.sources.append(SourceFile.of(f"{path}!{part}", words))

    def _open_hidden_zip(self, path: str, data: bytes, nested: int) -> None:
        if _has_zip_end(data):
            self._see("nested-archive", path, "A zip archive hides behind another kind of file.")
            self._open_archive(path, data, FileKind.ZIP, nested)

    def _open_archive(self, path: str, data: bytes, kind: FileKind, nested: int) -> None:
        if nested >= _NESTED:
            self._see("unscanned-content", path, "Not scanned: an archive too deep in archives.")
            return
        before = len(self.unpacking.problems)
        for name, content in read_members(data, kind, self.unpacking):
            inner = f"{path}!{name}"
            self._check_member(inner, name)
            if _OFFICE_NAME.search(path) and name.endswith(".xml"):
                self._take_office_text(inner, content)
            else:
                self._open(inner, content, nested + 1)
        for problem in sorted(set(self.unpacking.problems[before:])):
            self._see("unscanned-content", path, f"Not scanned in full: {problem}.")

    def _check_member(self, inner: str, name: str) -> None:
        for seen in check_name(name, max_depth=self.limits.depth, max_bytes=self.limits.path_bytes):
            self.sightings.append(Sighting(seen.rule_id, make_spot(inner), seen.message))

    def _take_office_text(self, path: str, data: bytes) -> None:
        plain = read_text(data)
        if plain is not None:
            text = _TAGS.sub("", _PARAGRAPH.sub("\n", plain.text))
            self.sources.append(SourceFile.of(path, text))

    def _see(self, rule: str, path: str, message: str, level: Level | None = None) -> None:
        self.sightings.append(Sighting(rule, make_spot(path), message, Confidence.HIGH, level))


def _has_no_zero(data: bytes, kind: FileKind) -> bool:
    """Whether bytes that begin like a binary may still be a text: programs have zeros in them."""
    packed = kind in (FileKind.ZIP, FileKind.TAR, FileKind.BYTECODE)
    return not packed and b"\x00" not in data and not data.startswith(b"%PDF-")


def _has_zip_end(data: bytes) -> bool:
    at = data.rfind(_ZIP_END, max(0, len(data) - _ZIP_TAIL))
    return at >= 0 and b"PK\x01\x02" in data
