"""TOML, INI and their relatives with positions: sections, keys and values, read line by line."""

import re

from prowess.safety.languages.data.data_json import JsonReader
from prowess.safety.languages.data.tree import MAX_ENTRIES, Collector, Entry, put_field
from prowess.safety.views import Spot, View

_SECTION = re.compile(r"[ \t]*(\[\[?)[ \t]*([^\]\n]{1,300})\]\]?")
# Possessive: what a part took it does not give back, so that time stays linear.
_KEY = re.compile(r"[ \t]*+([^=:\n#\[\]{}]{1,200}+)([=:])[ \t]*+")
_PART = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'|([^.\s\"']+)")
_MAX_PARTS = 16


def read_toml(collector: Collector) -> Entry:
    """Return a TOML text as an entry."""
    view = collector.view
    root = Entry(fields={}, spot=Spot(view, 0, 0))
    table = root
    at, end, count = 0, len(view.text), 0
    while at < end and count < MAX_ENTRIES:
        section = _SECTION.match(view.text, at)
        key = _KEY.match(view.text, at) if section is None else None
        if section is not None:
            table = _table(
                root, section[2], Spot(view, section.start(2), section.end(2)), section[1]
            )
        elif key is not None and key[2] == "=":
            count += 1
            at = _value(collector, table, key)
        line_end = view.text.find("\n", at)
        at = end if line_end < 0 else line_end + 1
    return root


def _names(text: str) -> list[str]:
    return [m[1] or m[2] or m[3] or "" for m in _PART.finditer(text)][:_MAX_PARTS]


def _table(root: Entry, name: str, spot: Spot, mark: str) -> Entry:
    entry = root
    names = _names(name)
    for number, part in enumerate(names):
        fields = entry.fields if entry.fields is not None else {}
        inner = fields.get(part)
        if inner is not None and inner.items:
            inner = inner.items[-1]
        last = number == len(names) - 1
        if last and mark == "[[":
            return _row(fields, part, spot)
        if inner is None or inner.fields is None:
            inner = Entry(fields={}, spot=spot)
            put_field(fields, part, inner)
        entry = inner
    return entry


def _row(fields: dict[str, Entry], name: str, spot: Spot) -> Entry:
    row = Entry(fields={}, spot=spot)
    known = fields.get(name)
    if known is not None and known.items is not None:
        known.items.append(row)
    else:
        put_field(fields, name, Entry(items=[row], spot=spot))
    return row


def _value(collector: Collector, table: Entry, key: re.Match[str]) -> int:
    view = collector.view
    start = key.end()
    line_end = view.text.find("\n", start)
    stop = len(view.text) if line_end < 0 else line_end
    names = _names(key[1])
    holder = table
    spot = Spot(view, key.start(1), key.start(1) + len(key[1].rstrip()))
    for part in names[:-1]:
        holder = _table(holder, f'"{part}"', spot, "[")
    if view.text[start : start + 1] in set("\"'[{"):
        reader = JsonReader(view)
        at = reader.read_one(start)
        entry = reader.root or Entry()
        collector.unread = collector.unread or reader.unread
        # A broken value must not swallow the rest of the file silently.
        at = at if entry.items or entry.fields or at <= stop + 1 or entry.scalar else stop
    else:
        text = view.text[start:stop].split(" #")[0].rstrip()
        entry, at = Entry(scalar=view.cut(start, start + len(text))), stop
    entry.spot = spot
    if holder.fields is not None and names:
        put_field(holder.fields, names[-1], entry)
    return at


def read_ini(view: View) -> Entry:
    """Return an INI text (units, .npmrc, pip.conf, .gitconfig) as sections of lists of values."""
    root = Entry(fields={}, spot=Spot(view, 0, 0))
    section: dict[str, Entry] = {}
    put_field(root.fields if root.fields is not None else {}, "", Entry(fields=section))
    last: Entry | None = None
    at = 0
    for line in view.text.splitlines(keepends=True):
        start, at = at, at + len(line)
        body = line.strip()
        if not body or body[0] in "#;":
            continue
        head = _SECTION.match(line)
        if head is not None:
            section = {}
            put_field(
                root.fields if root.fields is not None else {},
                head[2].strip(),
                Entry(fields=section),
            )
            continue
        key = (
            None if line[0] in " \t" and last is not None and "=" not in body else _KEY.match(line)
        )
        if key is not None:
            last = _ini_value(view, section, key, start)
        elif last is not None and last.items is not None:
            offset = start + line.index(body)
            last.items.append(Entry(scalar=view.cut(offset, offset + len(body))))
    return root


def _ini_value(view: View, section: dict[str, Entry], key: re.Match[str], start: int) -> Entry:
    line = key.string
    body = line[key.end() :].strip()
    offset = start + key.end()
    quoted = len(body) > 1 and body[0] == body[-1] and body[0] in "\"'"
    if quoted:
        body, offset = body[1:-1], offset + 1
    name = key[1].strip().lower()
    known = section.get(name)
    entry = known if known is not None and known.items is not None else Entry(items=[])
    entry.spot = Spot(view, start + key.start(1), start + key.end(1))
    if body and entry.items is not None:
        entry.items.append(Entry(scalar=view.cut(offset, offset + len(body)), quoted=quoted))
    section[name] = entry
    return entry
