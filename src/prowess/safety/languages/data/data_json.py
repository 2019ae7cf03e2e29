"""JSON with its relatives (comments, JSON5, TOML's values), read tolerantly and with positions.

A strict parser loses where a text stands and gives up at the first error.
"""

import re

from prowess.safety.languages.data.tree import MAX_DEPTH, MAX_ENTRIES, Entry, put_field
from prowess.safety.views import Spot, View

_TOKEN = re.compile(
    r"""(?P<space>[\s,;]+|//[^\n]*|\#[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)"""
    r"""|(?P<long>\"{3}(?:[^"\\]|\\[\s\S]|\"(?!\"\"))*(?:\"{3})?|'{3}(?:[^']|'(?!''))*(?:'{3})?)"""
    r"""|(?P<string>"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\[\s\S])*'?)"""
    r"""|(?P<mark>[{}\[\]:=])"""
    r"""|(?P<bare>[^\s,;{}\[\]:="'/]+|/)"""
)
_ESCAPE = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(\r\n|[\s\S]))"
)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_MAX_CODE = 0x10FFFF
_HALVES = range(0xD800, 0xE000)
_MAX_LINE = 4_000
_AFTER_VALUE = re.compile(r"[ \t]*(?:[,}\]:]|$|//|#)", re.MULTILINE)


def unescape(view: View, start: int, end: int) -> View:
    """Return what stands between quotes, escapes decoded, each character at its place."""
    text = view.text[start:end]
    if "\\" not in text:
        return view.cut(start, end)
    parts: list[str] = []
    indices: list[int] = []
    at = 0
    for match in _ESCAPE.finditer(text):
        parts.append(text[at : match.start()])
        indices.extend(range(start + at, start + match.start()))
        decoded = _decode(match)
        parts.append(decoded)
        indices.extend([start + match.start()] * len(decoded))
        at = match.end()
    parts.append(text[at:])
    indices.extend(range(start + at, end))
    return view.derive("".join(parts), indices)


def _decode(match: re.Match[str]) -> str:
    if match[1]:
        return chr(0x10000 + ((int(match[1], 16) & 0x3FF) << 10) + (int(match[2], 16) & 0x3FF))
    digits = match[3] or match[4] or match[5]
    if digits:
        return character(int(digits, 16))
    return _PLAIN.get(match[6], "" if match[6] == "\r\n" else match[6])


def character(code: int) -> str:
    """Return the character of a code; half of a pair and what is no code is a replacement."""
    return chr(code) if code <= _MAX_CODE and code not in _HALVES else "\ufffd"


class JsonReader:
    """Builds entries from tokens, with a stack instead of recursion."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.comments: list[View] = []
        self.unread = ""
        self._stack: list[Entry] = []
        self._keys: list[View | None] = []
        self._skipped = 0
        self._count = 0
        self.root: Entry | None = None

    def read(self) -> Entry:
        """Read a file: one value, or many as in JSON lines."""
        at, end = 0, len(self.view.text)
        while at < end:
            at = self.read_one(at)
        return self.root or Entry()

    def read_one(self, start: int) -> int:
        """Read one value, and return where it ends."""
        at, end = start, len(self.view.text)
        before = self._count
        while at < end and (self._stack or self._skipped or self._count == before):
            match = _TOKEN.match(self.view.text, at)
            if match is None:
                at += 1
                continue
            at = self._take(match)
            if self._count > MAX_ENTRIES:
                self.unread = "too many values"
                return end
        return at

    def _take(self, match: re.Match[str]) -> int:
        kind, start, end = match.lastgroup, match.start(), match.end()
        if kind == "space":
            if self.view.text[start] in "/#":
                self.comments.append(self.view.cut(start, end))
        elif kind == "mark":
            self._mark(match[0], start)
        elif kind == "bare":
            self._scalar(self.view.cut(start, end), quoted=False)
        else:
            return self._string(start, end, 3 if kind == "long" else 1)
        return end

    def _string(self, start: int, end: int, size: int) -> int:
        quote = self.view.text[start : start + size]
        closed = end - start >= 2 * size and self.view.text.endswith(quote, 0, end)
        inner_end = end - size if closed else end
        if (
            closed
            and size == 1
            and self._in_value()
            and not _AFTER_VALUE.match(self.view.text, end)
        ):
            # A quote that was not escaped: the text goes on to the last one of the line.
            line_end = self.view.text.find("\n", end)
            last = self.view.text.rfind(quote, end, line_end if line_end >= 0 else None)
            if 0 <= last - end < _MAX_LINE:
                inner_end, end = last, last + 1
        if quote == "'''":
            value = self.view.cut(start + size, inner_end)
        else:
            value = unescape(self.view, start + size, inner_end)
        self._scalar(value, quoted=True)
        return end

    def _in_value(self) -> bool:
        return bool(self._stack) and (self._stack[-1].fields is None or self._keys[-1] is not None)

    def _mark(self, mark: str, start: int) -> None:
        if mark in "{[":
            if len(self._stack) >= MAX_DEPTH:
                self._skipped += 1
                self.unread = "nested too deeply"
                return
            entry = Entry(fields={}) if mark == "{" else Entry(items=[])
            entry.spot = Spot(self.view, start, start + 1)
            self._put(entry)
            self._stack.append(entry)
            self._keys.append(None)
        elif mark in "}]":
            if self._skipped:
                self._skipped -= 1
            elif self._stack:
                self._stack.pop()
                self._keys.pop()

    def _scalar(self, value: View, *, quoted: bool) -> None:
        if self._stack and self._stack[-1].fields is not None and self._keys[-1] is None:
            self._keys[-1] = value
            return
        self._put(Entry(scalar=value, quoted=quoted))

    def _put(self, entry: Entry) -> None:
        self._count += 1
        if not self._stack:
            self._root(entry)
            return
        holder, key = self._stack[-1], self._keys[-1]
        if holder.items is not None:
            holder.items.append(entry)
        elif holder.fields is not None:
            name = key.text if key is not None else ""
            if key is not None and entry.spot is not None:
                entry.spot = Spot(key, 0, len(key.text))
            put_field(holder.fields, name, entry)
            self._keys[-1] = None

    def _root(self, entry: Entry) -> None:
        if self.root is None:
            self.root = entry
        elif self.root.items is not None and self.root.spot is None:
            self.root.items.append(entry)
        else:
            # Several values in one file, as in JSON lines.
            self.root = Entry(items=[self.root, entry])
