"""What a data file does: which format it is, and what its reader and the general ones say.

TOML and INI are read line by line, YAML from its parser's events: nothing is ever constructed.
"""

import re
from collections.abc import Callable

import yaml

from prowess.data import load_pattern, load_table
from prowess.reading.views import Spot, View
from prowess.safety.facts import Act, Reading
from prowess.safety.languages.data import builds, startup
from prowess.safety.languages.data.tree import (
    EMPTY,
    MAX_DEPTH,
    MAX_ENTRIES,
    NAMES,
    Collector,
    Entry,
    JsonReader,
    TreeBuilder,
    align,
    list_documents,
    put_field,
    read_scalar,
)

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
    section: dict[str, Entry] = {}
    sections = {"": Entry(fields=section)}
    last: Entry | None = None
    at = 0
    for line in view.text.splitlines(keepends=True):
        start, at = at, at + len(line)
        body = line.strip()
        if not body or body[0] in "#;":
            continue
        if head := _SECTION.match(line):
            section = {}
            put_field(sections, head[2].strip(), Entry(fields=section))
            continue
        goes_on = line[0] in " \t" and last is not None and "=" not in body
        key = None if goes_on else _KEY.match(line)
        if key is not None:
            last = _ini_value(view, section, key, start)
        elif last is not None and last.items is not None:
            offset = start + line.index(body)
            last.items.append(Entry(scalar=view.cut(offset, offset + len(body))))
    return Entry(fields=sections, spot=Spot(view, 0, 0))


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
_LINE_COMMENT = re.compile(r"^[ \t]*[#;][ \t]?(.+)$", re.MULTILINE)


def read_yaml(collector: Collector) -> Entry:
    """Return the documents of a YAML text as one entry; a broken text is read line by line."""
    build = _Build(collector)
    text = collector.view.text
    if _flow_depth(text) > _MAX_FLOW:
        collector.unread = "nested too deeply"
        return _by_lines(collector.view)
    try:
        for event in yaml.parse(_blank_unreadable(text), Loader=_LOADER):
            build.take(event)
            if build.count > MAX_ENTRIES:
                collector.unread = "too many values"
                break
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" on line {mark.line + 1}" if mark is not None else ""
        collector.unread = f"syntax error{line}"
        return _by_lines(collector.view)
    note_comments(collector, _COMMENT)
    return build.root


def _flow_depth(text: str) -> int:
    """Return how deeply brackets nest: the parser's time grows with the square of it."""
    depth = deepest = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _blank_unreadable(text: str) -> str:
    """Return the text without characters that make the parser give up; lengths stay."""
    return re.sub(
        r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]",
        " ",
        text,
    )


def note_comments(collector: Collector, form: re.Pattern[str] = _LINE_COMMENT) -> None:
    """Note the comments of a file as prose."""
    for match in form.finditer(collector.view.text):
        collector.prose(collector.view.cut(*match.span(1)))


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


class _Build(TreeBuilder):
    """Turns events into entries; what is nested too deeply is left out and said so."""

    def __init__(self, collector: Collector) -> None:
        super().__init__(collector.view)
        self.collector = collector
        self._documents: list[Entry] = []
        self.root = Entry(items=self._documents)

    def add_root(self, entry: Entry) -> None:
        self._documents.append(entry)

    def take(self, event: yaml.Event) -> None:
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
            self.put(Entry())

    def _span(self, event: yaml.Event) -> tuple[int, int]:
        start, end = event.start_mark, event.end_mark
        return (0 if start is None else int(start.index), 0 if end is None else int(end.index))

    def _check_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        tag = event.tag
        if tag is None or tag == "!":
            return
        if _CODE_TAG.search(tag.removeprefix(_PLAIN_TAG)):
            start, end = self._span(event)
            spot = Spot(self.view, start, max(end, start + 1))
            self.collector.emit(Act.DESERIALISE, spot, "yaml-tag", tag[:200])

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        if self.skipped:
            return
        start, end = self._span(event)
        view = align(self.view, event.value, start, end)
        if self.expects_key():
            self.keys[-1] = view
            return
        self.put(Entry(scalar=view, quoted=event.style is not None))

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if self.skipped or len(self.stack) >= MAX_DEPTH:
            self.skipped += 1
            self.collector.unread = "nested too deeply"
            return
        start, _end = self._span(event)
        entry = Entry(fields={}) if isinstance(event, yaml.MappingStartEvent) else Entry(items=[])
        entry.spot = Spot(self.view, start, start + 1)
        if self.expects_key():
            self.keys[-1] = self.view.cut(start, start)
        else:
            self.put(entry)
        self.push(entry)

    def _close(self) -> None:
        if self.skipped:
            self.skipped -= 1
            in_map = bool(self.stack) and self.stack[-1].fields is not None
            if not self.skipped and in_map and not self.expects_key():
                self.put(Entry())
            return
        self.stack.pop()
        self.keys.pop()


def _format(path: str, text: str) -> str:
    """Return the format of a file by its name, or by how it begins; empty where it is no data."""
    flat = path.replace("\\", "/").lower()
    for name in load_table(NAMES, "formats"):
        if load_pattern(NAMES, "formats", name).search(flat):
            return str(name)
    if "." in flat.rpartition("/")[2].lstrip("."):
        return ""
    return _sniff(text)


def _sniff(text: str) -> str:
    """Return the format of a file whose name says nothing."""
    head = text[:4_096].lstrip("\ufeff \t\r\n")
    if head.startswith(("<?xml", "<plist", "<!DOCTYPE plist")):
        return "xml"
    if head.startswith("{") and re.match(r"\{\s*(?:[\"'\w$]|\}|//|/\*)", head):
        return "json" if re.match(r"\{\s*(?:[\"'][^\"'\n]*[\"']|\w+)\s*:|\{\s*\}", head) else ""
    if re.match(r"\[\s*[\"{]", head):
        return "json"
    if re.match(r"\[(?:Unit|Service|Timer|Install)\]", head):
        return "unit"
    return "crontab" if startup.is_crontab(text[:20_000]) else ""


def is_data(path: str, text: str) -> bool:
    """Whether a file is data for `read_data`, not code or prose."""
    return _format(path, text) != ""


def read_data(view: View) -> Reading:
    """Return what a data file does; whatever is in it, nothing is raised."""
    collector = Collector(view)
    name = _format(view.path, view.text) or _guess(view.text)
    try:
        _READERS.get(name, note_comments)(collector)
    except RecursionError:
        collector.unread = "nested too deeply"
    return collector.reading()


def _guess(text: str) -> str:
    head = text[:4_096].lstrip()
    if head[:1] in {"{", "["}:
        return "json"
    return "yaml" if re.search(r"^[\w.-]+:(?:\s|$)", head, re.MULTILINE) else ""


def _read_json(collector: Collector) -> None:
    reader = JsonReader(collector.view)
    root = reader.read()
    collector.unread = reader.unread
    for comment in reader.comments:
        collector.prose(comment)
    _read_tree(collector, root)


def _read_toml(collector: Collector) -> None:
    root = read_toml(collector)
    note_comments(collector)
    _read_tree(collector, root)


def _read_tree(collector: Collector, root: Entry) -> None:
    for document in list_documents(root)[:1_000]:
        _read_special(collector, document)
    startup.read_agents(collector, root)
    for keys, entry in root.walk():
        if entry.scalar is not None:
            read_scalar(collector, keys, entry)


_BY_NAME = {
    "package.json": "npm", "pyproject.toml": "pip", "pipfile": "pip", "cargo.toml": "cargo",
}  # fmt: skip


def _read_special(collector: Collector, root: Entry) -> None:
    name = collector.view.path.replace("\\", "/").lower().rpartition("/")[2]
    kind = "cargo" if "/.cargo/config" in "/" + collector.view.path else _BY_NAME.get(name)
    if kind is not None:
        builds.read_packages(collector, root, kind)
    if name == "package.json":
        builds.read_scripts(collector, root)
    elif name == "tasks.json":
        builds.read_tasks(collector, root)
    elif name == ".yarnrc.yml":
        builds.read_manager_settings(collector, root)
    if root.get("jobs").fields is not None and root.get("on") is not EMPTY:
        builds.read_workflow(collector, root)
    if root.get("services").fields is not None:
        builds.read_compose(collector, root)
    elif root.get("kind").scalar is not None or name.startswith("devcontainer"):
        builds.read_containers(collector, root)


def _of_ini(read: Callable[[Collector, Entry], None]) -> Callable[[Collector], None]:
    def reader(collector: Collector) -> None:
        root = read_ini(collector.view)
        note_comments(collector)
        read(collector, root)
        for keys, entry in root.walk():
            if entry.scalar is not None:
                read_scalar(collector, keys, entry)

    return reader


def _of_text(read: Callable[[Collector, View], None]) -> Callable[[Collector], None]:
    def reader(collector: Collector) -> None:
        note_comments(collector)
        read(collector, collector.view)

    return reader


def _read_plain_ini(collector: Collector, root: Entry) -> None:
    if collector.view.path.endswith("setup.cfg"):
        builds.read_packages(collector, root, "setup")
    if root.get("Service").fields is not None:
        startup.read_unit(collector, root)


_VARIABLE = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w{0,100})=([^\n]*)$", re.MULTILINE)


def _read_env(collector: Collector, view: View) -> None:
    plain = True
    for line in view.text.splitlines()[:2_000]:
        body = line.strip()
        plain = plain and (not body or body[0] == "#" or _VARIABLE.match(line) is not None)
    for match in _VARIABLE.finditer(view.text):
        spot = Spot(view, match.start(), match.end())
        collector.emit(Act.SETENV, spot, match[1], match[2].strip().strip("\"'"))
    # A file that is sourced may hold any command between its variables.
    if not plain or "$(" in view.text or "`" in view.text:
        collector.command(view)


_READERS: dict[str, Callable[[Collector], None]] = {
    "requirements": _of_text(builds.read_requirements),
    "gemfile": _of_text(builds.read_gemfile),
    "dockerfile": _of_text(builds.read_dockerfile),
    "makefile": _of_text(builds.read_makefile),
    "crontab": _of_text(startup.read_crontab),
    "unit": _of_ini(startup.read_unit),
    "desktop": _of_ini(startup.read_desktop),
    "registry": _of_text(startup.read_registry),
    "git": _of_ini(startup.read_git_settings),
    "settings": _of_ini(builds.read_manager_settings),
    "env": _of_text(_read_env),
    "json": _read_json,
    "yaml": lambda collector: _read_tree(collector, read_yaml(collector)),
    "toml": _read_toml,
    "ini": _of_ini(_read_plain_ini),
    "xml": _of_text(startup.read_xml),
}
