"""YAML with positions, from the parser's events: nothing is ever constructed."""

import re

import yaml

from prowess.safety.facts import Act
from prowess.safety.languages.data.tree import (
    MAX_DEPTH,
    MAX_ENTRIES,
    Collector,
    Entry,
    align,
    put_field,
)
from prowess.safety.views import Spot, View

# libyaml is about ten times faster; wheels of PyYAML without it still work.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLAIN_TAG = "tag:yaml.org,2002:"
_CODE_TAG = re.compile(
    r"python|ruby|java|perl|php|js/|!!?\w+/(?:object|function|regexp)|object[:/]"
)
_LINE = re.compile(
    r"^[ \t]*(?:-[ \t]+)?(?:([\w.$@/-]{1,100}|\"[^\"\n]{1,100}\")[ \t]*:[ \t]+)?(.*)$", re.MULTILINE
)
_BRACKET = re.compile(r"[\[\]{}]")
_MAX_FLOW = 100
_COMMENT = re.compile(r"(?:^|[ \t])#[ \t]?(.*)$", re.MULTILINE)


def read_yaml(collector: Collector) -> Entry:
    """Return the documents of a YAML text as one entry; a broken text is read line by line."""
    build = _Build(collector)
    text = collector.view.text
    if _flow_depth(text) > _MAX_FLOW:
        collector.unread = "nested too deeply"
        return _by_lines(collector.view)
    try:
        for event in yaml.parse(_readable(text), Loader=_LOADER):
            build.take(event)
            if build.count > MAX_ENTRIES:
                collector.unread = "too many values"
                break
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" on line {mark.line + 1}" if mark is not None else ""
        collector.unread = f"syntax error{line}"
        return _by_lines(collector.view)
    _note_comments(collector)
    return build.root


def _flow_depth(text: str) -> int:
    """Return how deeply brackets nest: the parser's time grows with the square of it."""
    depth = deepest = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _readable(text: str) -> str:
    """Return the text without characters that make the parser give up; lengths stay."""
    return re.sub(
        r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]",
        " ",
        text,
    )


def _note_comments(collector: Collector) -> None:
    for match in _COMMENT.finditer(collector.view.text):
        collector.prose(collector.view.cut(match.start(1), match.end(1)))


def _by_lines(view: View) -> Entry:
    found: list[Entry] = []
    for match in _LINE.finditer(view.text):
        start, end = match.span(2)
        value = view.text[start:end].strip().rstrip(",")
        if not value or value.startswith("#") or len(found) > MAX_ENTRIES:
            continue
        inner = value.strip("'\"")
        at = view.text.index(inner, start) if inner else start
        scalar = Entry(scalar=view.cut(at, at + len(inner)), quoted=True)
        key = (match[1] or "").strip('"')
        found.append(Entry(fields={key: scalar}) if key else scalar)
    return Entry(items=found)


class _Build:
    """Turns events into entries; what is nested too deeply is left out and said so."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self._documents: list[Entry] = []
        self.root = Entry(items=self._documents)
        self.count = 0
        self._stack: list[Entry] = []
        self._keys: list[View | None] = []
        self._skipped = 0

    def take(self, event: yaml.Event) -> None:
        """Add one event."""
        if isinstance(event, yaml.ScalarEvent):
            self._check_tag(event)
            self._scalar(event)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._check_tag(event)
            self._open(event)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            # The anchor's value was read where it stands; an alias adds nothing but size.
            self._put(Entry())

    def _span(self, event: yaml.Event) -> tuple[int, int]:
        start, end = event.start_mark, event.end_mark
        return (0 if start is None else int(start.index), 0 if end is None else int(end.index))

    def _check_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        tag = event.tag
        if tag is None or tag == "!":
            return
        if _CODE_TAG.search(tag.removeprefix(_PLAIN_TAG)):
            start, end = self._span(event)
            spot = Spot(self.collector.view, start, max(end, start + 1))
            self.collector.emit(Act.DESERIALISE, spot, "yaml-tag", tag[:200])

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if self._skipped:
            return
        start, end = self._span(event)
        view = align(self.collector.view, event.value, start, end)
        if self._expects_key():
            self._keys[-1] = view
            return
        self._put(Entry(scalar=view, quoted=event.style is not None))

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if self._skipped or len(self._stack) >= MAX_DEPTH:
            self._skipped += 1
            self.collector.unread = "nested too deeply"
            return
        start, _end = self._span(event)
        entry = Entry(fields={}) if isinstance(event, yaml.MappingStartEvent) else Entry(items=[])
        entry.spot = Spot(self.collector.view, start, start + 1)
        if self._expects_key():
            self._keys[-1] = self.collector.view.cut(start, start)
            self._stack.append(entry)
            self._keys.append(None)
            return
        self._put(entry)
        self._stack.append(entry)
        self._keys.append(None)

    def _close(self) -> None:
        if self._skipped:
            self._skipped -= 1
            if not self._skipped and self._expects_value():
                self._put(Entry())
            return
        self._stack.pop()
        self._keys.pop()

    def _expects_key(self) -> bool:
        return bool(self._stack) and self._stack[-1].fields is not None and self._keys[-1] is None

    def _expects_value(self) -> bool:
        return bool(self._stack) and self._stack[-1].fields is not None and not self._expects_key()

    def _put(self, entry: Entry) -> None:
        self.count += 1
        if not self._stack:
            self._documents.append(entry)
            return
        holder, key = self._stack[-1], self._keys[-1]
        if holder.items is not None:
            holder.items.append(entry)
        elif holder.fields is not None:
            if key is not None and entry.spot is not None:
                entry.spot = Spot(key, 0, len(key.text))
            name = key.text if key is not None else ""
            put_field(holder.fields, name, entry)
            self._keys[-1] = None
