"""Take in the files of a skill: each is read, known to be harmless, or named as unread.

What is not scanned is the cheapest place to hide, so nothing is passed over in silence: no
extension, no folder, no ignore file and no size takes a file out of the ledger.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from prowess.safety.intake import file_types as pictures
from prowess.safety.intake.filenames import collisions, name_sightings, spot_of
from prowess.safety.intake.filetypes import Kind, kind_of
from prowess.safety.intake.nested_archives import UnpackBudget, members
from prowess.safety.intake.plaintext import read_text, text_sightings
from prowess.safety.model import Confidence, Handling, LedgerEntry, Level
from prowess.safety.sighting import Sighting
from prowess.safety.views import Lines, View

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
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


@dataclass(frozen=True, slots=True)
class Intake:
    """All that was taken in, and what was seen while doing so."""

    sources: tuple[SourceFile, ...]
    ledger: tuple[LedgerEntry, ...]
    sightings: tuple[Sighting, ...]


_DEFAULT = Limits()
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


def take(files: Mapping[str, bytes], limits: Limits = _DEFAULT) -> Intake:
    """Read the files of a skill and account for every one of them."""
    desk = _Desk(limits)
    for path in sorted(files, key=lambda path: (path != "SKILL.md", path)):
        desk.take(path, files[path])
    desk.sightings.extend(collisions(files))
    return Intake(tuple(desk.sources), tuple(desk.ledger), tuple(desk.sightings))


@dataclass(slots=True)
class _Desk:
    """Where files are opened, one after the other."""

    limits: Limits
    sources: list[SourceFile] = field(default_factory=list)
    ledger: list[LedgerEntry] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)
    unpacking: UnpackBudget = field(default_factory=UnpackBudget)
    bytes_taken: int = 0

    def take(self, path: str, data: bytes) -> None:
        """Account for one file of the skill."""
        self._check_name(path)
        reason = self._too_much(data)
        if reason:
            self._see("unscanned-content", path, f"Not scanned: {reason}.")
            self.ledger.append(LedgerEntry(path, Handling.REFUSED, len(data), reason))
            return
        self.bytes_taken += len(data)
        handling, reason = self._open(path, data, 0)
        self.ledger.append(LedgerEntry(path, handling, len(data), reason))

    def _check_name(self, path: str) -> None:
        self.sightings.extend(
            name_sightings(path, max_depth=self.limits.depth, max_bytes=self.limits.path_bytes)
        )

    def _too_much(self, data: bytes) -> str:
        if len(self.ledger) >= self.limits.files:
            return f"the skill has more than {self.limits.files} files"
        if len(data) > self.limits.file_bytes:
            return f"the file is larger than {self.limits.file_bytes} bytes"
        if self.bytes_taken + len(data) > self.limits.total_bytes:
            return f"the skill is larger than {self.limits.total_bytes} bytes"
        return ""

    def _open(self, path: str, data: bytes, nested: int) -> tuple[Handling, str]:
        kind = kind_of(data)
        if kind in (Kind.IMAGE, Kind.FONT) and b"\x00" in data:
            return self._picture(path, data, kind, nested)
        if kind is Kind.OTHER or _has_no_zero(data, kind):
            plain = read_text(data)
            if plain is not None:
                self._text(path, plain.text, plain.problem)
                return Handling.SCANNED, plain.problem
        self._check_disguise(path, kind)
        self._binary(path, data, kind)
        if kind in (Kind.ZIP, Kind.TAR, Kind.PACKED, Kind.ARCHIVE):
            self._archive(path, data, kind, nested)
        else:
            self._strings(path, data, "strings")
            self._hidden_zip(path, data, nested)
        return Handling.BINARY, kind.value or "unknown binary"

    def _text(self, path: str, text: str, problem: str = "") -> None:
        view = View.raw(path, text)
        self.sources.append(SourceFile(path, text, Lines.of(text), view))
        if problem:
            message = f"The file {problem}: others may read another text than was scanned."
            self._see("unscanned-content", path, message, Level.WARN)
        self.sightings.extend(text_sightings(view))
        if _BYTECODE_NAME.search(path):
            self._see("bytecode", path, "Compiled Python by its name.")
        if text.startswith(_POINTER):
            return
        head = text.lstrip("\ufeff \t\r\n")[:64]
        script = _SCRIPT.match(head) is not None and not re.match(r"(?i)<script", head)
        poses = kind_of(text[:64].encode()) in (Kind.IMAGE, Kind.EXECUTABLE)
        if poses or _PICTURE_NAME.search(path) or (script and _PROSE_NAME.search(path)):
            what = "a script" if script else "a text"
            self._see("disguised-file", path, f"The name says otherwise, but this is {what}.")

    def _picture(self, path: str, data: bytes, kind: Kind, nested: int) -> tuple[Handling, str]:
        end = pictures.end_of(data)
        appended = data[end:]
        if words := pictures.words_in(data[:end]):
            self._text(f"{path}!metadata", words)
        if _TEXT_NAME.search(path) or _PROGRAM_NAME.search(path):
            self._see("disguised-file", path, f"The name says otherwise, but this is a {kind}.")
        hides = kind_of(appended) not in (Kind.OTHER, Kind.IMAGE) or pictures.readable_in(appended)
        if hides or _has_zip_end(data):
            self._see(
                "disguised-file", path, f"Behind the end of the {kind} something else follows."
            )
            self._strings(path, appended, "appended")
            self._hidden_zip(path, data, nested)
            return Handling.BINARY, f"{kind} with something appended"
        return Handling.HARMLESS, kind.value

    def _check_disguise(self, path: str, kind: Kind) -> None:
        office = kind is Kind.ZIP and _DOCUMENT_NAME.search(path)
        if kind is Kind.OTHER or kind is Kind.MEDIA or office:
            return
        shows = _PICTURE_NAME.search(path) or _TEXT_NAME.search(path)
        if shows or (_DOCUMENT_NAME.search(path) and kind is not Kind.DOCUMENT):
            self._see("disguised-file", path, f"The name says otherwise, but this is a {kind}.")

    def _binary(self, path: str, data: bytes, kind: Kind) -> None:
        if kind is Kind.BYTECODE or _BYTECODE_NAME.search(path):
            message = "Compiled code: what it does cannot be read, whatever its source says."
            self._see("bytecode", path, message)
        elif kind is Kind.EXECUTABLE or _PROGRAM_NAME.search(path):
            self._see("binary-content", path, "A program in machine code cannot be read.")
        elif kind in (Kind.ZIP, Kind.TAR, Kind.PACKED, Kind.ARCHIVE):
            office = kind is Kind.ZIP and _OFFICE_NAME.search(path) and b"[Content_Types]" in data
            message = (
                "A document made of packed files." if office else f"A {kind} inside the skill."
            )
            self._see("nested-archive", path, message, Level.INFO if office else None)
        else:
            level = Level.INFO if kind is Kind.MEDIA else None
            message = f"Not scanned: {kind.value or 'binary content of no known kind'}."
            self._see("unscanned-content", path, message, level)

    def _strings(self, path: str, data: bytes, part: str) -> None:
        if words := pictures.readable_in(data):
            text_path = f"{path}!{part}"
            view = View.raw(text_path, words)
            self.sources.append(SourceFile(text_path, words, Lines.of(words), view))

    def _hidden_zip(self, path: str, data: bytes, nested: int) -> None:
        if _has_zip_end(data):
            self._see("nested-archive", path, "A zip archive hides behind another kind of file.")
            self._archive(path, data, Kind.ZIP, nested)

    def _archive(self, path: str, data: bytes, kind: Kind, nested: int) -> None:
        if nested >= _NESTED:
            self._see("unscanned-content", path, "Not scanned: an archive too deep in archives.")
            return
        before = len(self.unpacking.problems)
        for name, content in members(data, kind, self.unpacking):
            inner = f"{path}!{name}"
            self._check_member(inner, name)
            if _OFFICE_NAME.search(path) and name.endswith(".xml"):
                self._office_text(inner, content)
            else:
                self._open(inner, content, nested + 1)
        for problem in sorted(set(self.unpacking.problems[before:])):
            self._see("unscanned-content", path, f"Not scanned in full: {problem}.")

    def _check_member(self, inner: str, name: str) -> None:
        for seen in name_sightings(
            name, max_depth=self.limits.depth, max_bytes=self.limits.path_bytes
        ):
            self.sightings.append(Sighting(seen.rule_id, spot_of(inner), seen.message))

    def _office_text(self, path: str, data: bytes) -> None:
        plain = read_text(data)
        if plain is not None:
            text = _TAGS.sub("", _PARAGRAPH.sub("\n", plain.text))
            self.sources.append(SourceFile(path, text, Lines.of(text), View.raw(path, text)))

    def _see(self, rule: str, path: str, message: str, level: Level | None = None) -> None:
        self.sightings.append(Sighting(rule, spot_of(path), message, Confidence.HIGH, level))


def _has_no_zero(data: bytes, kind: Kind) -> bool:
    """Whether bytes that begin like a binary may still be a text: programs have zeros in them."""
    packed = kind in (Kind.ZIP, Kind.TAR, Kind.BYTECODE)
    return not packed and b"\x00" not in data and not data.startswith(b"%PDF-")


def _has_zip_end(data: bytes) -> bool:
    at = data.rfind(_ZIP_END, max(0, len(data) - _ZIP_TAIL))
    return at >= 0 and b"PK\x01\x02" in data
