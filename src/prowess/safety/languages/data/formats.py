"""What a data file does: which format it is, and what its reader and the general ones say."""

import re
from collections.abc import Callable

from prowess.safety.facts import Act, Reading
from prowess.safety.languages.data import builds as ci
from prowess.safety.languages.data import data_manifests as manifests
from prowess.safety.languages.data import startup as system
from prowess.safety.languages.data.data_agents import read_agents
from prowess.safety.languages.data.data_commands import read_scalar
from prowess.safety.languages.data.data_json import JsonReader
from prowess.safety.languages.data.data_toml import read_ini, read_toml
from prowess.safety.languages.data.data_yaml import read_yaml
from prowess.safety.languages.data.tree import EMPTY, Collector, Entry, documents
from prowess.safety.views import Spot, View

# Each row: the format, what the name of the file must match (in lower case).
_FORMATS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("requirements", (r"(?:^|/)[^/]*(?:requirements|constraints)[^/]*\.(?:txt|in|pip)$"
                         r"|(?:^|/)requirements/[^/]+\.txt$")),
        ("gemfile", r"(?:^|/)gemfile$|\.gemspec$"),
        ("dockerfile", r"(?:^|/)(?:docker|container)file(?:\.[\w.-]+)?$|\.dockerfile$"),
        ("makefile", r"(?:^|/)(?:gnu)?makefile(?:\.[\w.-]+)?$|\.mk$|(?:^|/)justfile$"),
        ("crontab", r"(?:^|/)(?:crontab[\w.-]*|cron\.d/[\w.-]+|[\w.-]+\.cron(?:tab)?)$"),
        ("unit", r"\.(?:service|timer|socket|path|mount|target)$"),
        ("desktop", r"\.desktop$"),
        ("registry", r"\.reg$"),
        ("git", r"(?:^|/)\.gitconfig$|(?:^|/)\.git/config$|(?:^|/)\.gitmodules$"),
        ("settings", (r"(?:^|/)\.(?:npmrc|yarnrc|pnpmrc|piprc|gemrc|pydistutils\.cfg)$"
                     r"|(?:^|/)\.?pip\.(?:conf|ini)$")),
        ("env", r"(?:^|/)\.env(?:rc)?(?:\.[\w.-]+)?$|(?:^|/)[\w.-]+\.env$"),
        ("json", (r"\.(?:json|jsonc|json5|jsonl|ndjson|webmanifest|code-workspace|ipynb|har|map)$"
                 r"|\.code-snippets$|(?:^|/)\.(?:babel|eslint|prettier|swc)rc$")),
        ("yaml", r"\.(?:ya?ml|cff)$|(?:^|/)\.clang-format$"),
        ("toml", r"\.toml$|(?:^|/)(?:pipfile|(?:cargo|poetry|uv)\.lock|\.cargo/config)$"),
        ("ini", r"\.(?:ini|cfg|conf|properties|editorconfig)$"),
        ("xml", (r"\.(?:plist|xml|xsd|csproj|vbproj|props|targets|config|nuspec|xaml|svg|rss|wsdl)$"
                r"|\.mobileconfig$")),
    )
)  # fmt: skip


def _format(path: str, text: str) -> str:
    """Return the format of a file by its name, or by how it begins; empty where it is no data."""
    flat = path.replace("\\", "/").lower()
    for name, pattern in _FORMATS:
        if pattern.search(flat):
            return name
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
    return "crontab" if system.is_crontab(text[:20_000]) else ""


def is_data(path: str, text: str) -> bool:
    """Whether a file is data for `read_data`, not code or prose."""
    return _format(path, text) != ""


def read_data(view: View) -> Reading:
    """Return what a data file does; whatever is in it, nothing is raised."""
    collector = Collector(view)
    name = _format(view.path, view.text) or _guess(view.text)
    try:
        _READERS.get(name, _read_lines)(collector)
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


def _read_yaml(collector: Collector) -> None:
    _read_tree(collector, read_yaml(collector))


def _read_toml(collector: Collector) -> None:
    root = read_toml(collector)
    _note_comments(collector)
    _read_tree(collector, root)


def _read_tree(collector: Collector, root: Entry) -> None:
    for document in documents(root)[:1_000]:
        _read_special(collector, document)
    read_agents(collector, root)
    for keys, entry in root.walk():
        if entry.scalar is not None:
            read_scalar(collector, keys, entry)


def _read_special(collector: Collector, root: Entry) -> None:
    name = collector.view.path.replace("\\", "/").lower().rpartition("/")[2]
    by_name: dict[str, Callable[[Collector, Entry], None]] = {
        "package.json": manifests.read_package_json,
        "pyproject.toml": manifests.read_pyproject,
        "pipfile": manifests.read_pyproject,
        "cargo.toml": manifests.read_cargo,
        "tasks.json": ci.read_tasks,
        ".yarnrc.yml": manifests.read_manager_settings,
    }
    reader = by_name.get(name)
    if reader is not None:
        reader(collector, root)
    elif "/.cargo/config" in "/" + collector.view.path:
        manifests.read_cargo(collector, root)
    if root.get("jobs").fields is not None and root.get("on") is not EMPTY:
        ci.read_workflow(collector, root)
    if root.get("services").fields is not None:
        ci.read_compose(collector, root)
    elif root.get("kind").scalar is not None or name.startswith("devcontainer"):
        ci.read_containers(collector, root)


def _note_comments(collector: Collector) -> None:
    for match in re.finditer(r"^[ \t]*[#;][ \t]?(.+)$", collector.view.text, re.MULTILINE):
        collector.prose(collector.view.cut(match.start(1), match.end(1)))


def _read_lines(collector: Collector) -> None:
    _note_comments(collector)


def _of_ini(read: Callable[[Collector, Entry], None]) -> Callable[[Collector], None]:
    def reader(collector: Collector) -> None:
        root = read_ini(collector.view)
        _note_comments(collector)
        read(collector, root)
        for keys, entry in root.walk():
            if entry.scalar is not None:
                read_scalar(collector, keys, entry)

    return reader


def _of_text(read: Callable[[Collector, View], None]) -> Callable[[Collector], None]:
    def reader(collector: Collector) -> None:
        _note_comments(collector)
        read(collector, collector.view)

    return reader


def _read_plain_ini(collector: Collector, root: Entry) -> None:
    if collector.view.path.endswith("setup.cfg"):
        manifests.read_setup_cfg(collector, root)
    if root.get("Service").fields is not None:
        system.read_unit(collector, root)


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
    "requirements": _of_text(manifests.read_requirements),
    "gemfile": _of_text(manifests.read_gemfile),
    "dockerfile": _of_text(ci.read_dockerfile),
    "makefile": _of_text(ci.read_makefile),
    "crontab": _of_text(system.read_crontab),
    "unit": _of_ini(system.read_unit),
    "desktop": _of_ini(system.read_desktop),
    "registry": _of_text(system.read_registry),
    "git": _of_ini(system.read_git_settings),
    "settings": _of_ini(manifests.read_manager_settings),
    "env": _of_text(_read_env),
    "json": _read_json,
    "yaml": _read_yaml,
    "toml": _read_toml,
    "ini": _of_ini(_read_plain_ini),
    "xml": _of_text(system.read_xml),
}
