"""Manifests of packages: what is installed, from where, and what runs while it is."""

import re

from prowess.safety.facts import Act
from prowess.safety.languages.data.data_commands import run
from prowess.safety.languages.data.tree import Collector, Entry, place, spot_of
from prowess.safety.views import Spot, View

_INSTALL_SCRIPTS = frozenset((
    "preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish",
    "preuninstall", "uninstall", "postuninstall", "dependencies",
))  # fmt: skip
_NPM_GROUPS = (
    "dependencies",
    "devDependencies",
    "optionalDependencies",
    "overrides",
    "resolutions",
)
_HOSTS = re.compile(
    r"https://(?:[\w.-]+\.)?(?:npmjs\.(?:org|com)|yarnpkg\.com|pypi\.org|pythonhosted\.org|rubygems\.org|crates\.io"
    r"|python\.org|pytorch\.org|npm\.pkg\.github\.com|jsr\.io|nvidia\.com)(?:[:/]|$)"
)
_INDEX_OPTION = re.compile(
    r"(-i|--index-url|--extra-index-url|-f|--find-links|--trusted-host)[ =\t]+(\S+)"
)
_EDITABLE = re.compile(r"(?:-e|--editable)[ =\t]+")
_REQUIREMENT = re.compile(
    r"(?:(?:git|hg|svn|bzr)\+|https?://|file:|\.{0,2}/)\S+"
    r"|[A-Za-z0-9][\w.-]*(?:\[[\w,. -]*\])?(?:[ \t]*[=<>!~@;][^\n]*)?"
)
_GEM = re.compile(r"^[ \t]*gem[ (]+['\"]([^'\"\n]+)['\"](?:[ ,]+([^\n#]{1,200}))?", re.MULTILINE)
_GEM_SOURCE = re.compile(r"^[ \t]*source[ (]+['\"]([^'\"\n]+)['\"]", re.MULTILINE)


def registry(collector: Collector, spot: Spot | None, manager: str, url: str) -> None:
    """Note an index that is not the manager's own, or is asked without encryption."""
    if not _HOSTS.match(url):
        collector.emit(Act.REGISTRY, spot, manager, url)


def read_package_json(collector: Collector, root: Entry) -> None:
    """Note scripts that run at installation, and dependencies."""
    for name, script in root.get("scripts").pairs():
        if script.scalar is None:
            continue
        if name in _INSTALL_SCRIPTS:
            run(collector, script, "install-hook")
        else:
            collector.command(script.scalar)
    for group in _NPM_GROUPS:
        for name, spec in root.get(group).pairs():
            if spec.scalar is not None:
                collector.emit(Act.INSTALL, spot_of(spec.scalar), "npm", f"{name}@{spec.text}")


def read_pyproject(collector: Collector, root: Entry) -> None:
    """Note requirements, indexes and build hooks of a Python project."""
    project = root.get("project")
    groups = [project.get("dependencies"), root.get("build-system", "requires")]
    groups += [group for _name, group in project.get("optional-dependencies").pairs()]
    groups += [group for _name, group in root.get("dependency-groups").pairs()]
    for group in groups:
        for item in group.scalars():
            collector.emit(Act.INSTALL, place(item), "pip", item.text)
    tool = root.get("tool")
    _read_poetry(collector, tool.get("poetry"))
    for holder in (
        tool.get("poetry", "source"),
        tool.get("uv", "index"),
        tool.get("pdm", "source"),
    ):
        for row in holder.items or ():
            if row.get("url").text:
                registry(collector, place(row.get("url")), "pip", row.get("url").text)
    for key in ("index-url", "extra-index-url", "find-links"):
        for item in tool.get("uv", key).scalars():
            registry(collector, place(item), "pip", item.text)
    _read_build_hooks(collector, root)


def _read_poetry(collector: Collector, poetry: Entry) -> None:
    groups = [poetry.get("dependencies"), poetry.get("dev-dependencies")]
    groups += [group.get("dependencies") for _name, group in poetry.get("group").pairs()]
    for group in groups:
        for name, spec in group.pairs():
            if name != "python":
                collector.emit(Act.INSTALL, place(spec), "pip", _spec(name, spec))


def _spec(name: str, spec: Entry) -> str:
    for key in ("git", "url", "path"):
        if spec.get(key).text:
            return f"{name} @ {spec.get(key).text}"
    return f"{name}{spec.text or spec.get('version').text}"


def _read_build_hooks(collector: Collector, root: Entry) -> None:
    tool = root.get("tool")
    hooks = [
        *tool.get("hatch", "build", "hooks", "custom", "path").scalars(),
        *tool.get("poetry", "build", "script").scalars(),
        *tool.get("poetry", "build").scalars(),
        *tool.get("pdm", "build", "setup-script").scalars(),
        *root.get("build-system", "backend-path").scalars(),
        *(value for _name, value in tool.get("setuptools", "cmdclass").pairs()),
    ]
    custom = tool.get("hatch", "build", "hooks", "custom")
    if custom.fields is not None and not custom.get("path").text:
        collector.emit(Act.EXEC, custom.spot, "install-hook", "hatch_build.py")
    for hook in hooks:
        collector.emit(Act.EXEC, place(hook), "install-hook", hook.text)


def read_cargo(collector: Collector, root: Entry) -> None:
    """Note dependencies and the build script of a Rust package, and Cargo's own settings."""
    scripts = [root.get("package", "build")]
    scripts += [root.get("build", key) for key in _RUST_WRAPPERS]
    for script in scripts:
        if script.text and script.text != "false":
            collector.emit(Act.EXEC, place(script), "install-hook", script.text)
    for group in ("dependencies", "dev-dependencies", "build-dependencies"):
        for name, spec in root.get(group).pairs():
            choices = (spec, spec.get("git"), spec.get("path"), spec.get("version"))
            version = next((choice.text for choice in choices if choice.text), "")
            collector.emit(Act.INSTALL, place(spec), "cargo", f"{name}@{version}")
    for _name, source in (*root.get("source").pairs(), *root.get("registries").pairs()):
        for address in (source.get("registry"), source.get("index")):
            if address.text:
                registry(collector, place(address), "cargo", address.text)


_RUST_WRAPPERS = ("rustc-wrapper", "rustc", "rustc-workspace-wrapper")


def read_requirements(collector: Collector, view: View) -> None:
    """Note the lines of a requirements file."""
    at = 0
    for line in view.text.splitlines(keepends=True):
        body = line.partition(" #")[0].strip()
        start, at = at + len(line) - len(line.lstrip()), at + len(line)
        option = _INDEX_OPTION.match(body)
        spot = Spot(view, start, start + len(body))
        if option is not None and option[1] == "--trusted-host":
            collector.emit(Act.DISABLE, spot, "tls", option[2])
        elif option is not None:
            registry(collector, spot, "pip", option[2])
        else:
            _read_requirement(collector, spot, _EDITABLE.sub("", body, count=1))


def _read_requirement(collector: Collector, spot: Spot, body: str) -> None:
    plain = body.partition(" --hash")[0].rstrip("\\ ").strip()
    if _REQUIREMENT.fullmatch(plain):
        collector.emit(Act.INSTALL, spot, "pip", plain.partition(";")[0].strip())


def read_gemfile(collector: Collector, view: View) -> None:
    """Note the gems and sources of a Gemfile."""
    for match in _GEM.finditer(view.text):
        spec = (match[2] or "").strip().rstrip(")")
        spot = Spot(view, match.start(), match.end())
        collector.emit(Act.INSTALL, spot, "gem", f"{match[1]} {spec}".strip())
    for match in _GEM_SOURCE.finditer(view.text):
        registry(collector, Spot(view, match.start(1), match.end(1)), "gem", match[1])


def read_setup_cfg(collector: Collector, root: Entry) -> None:
    """Note requirements and command classes of a setup.cfg."""
    for item in root.get("options", "install_requires").scalars():
        collector.emit(Act.INSTALL, place(item), "pip", item.text)
    for section in ("options", "global"):
        for item in root.get(section, "cmdclass").scalars():
            collector.emit(Act.EXEC, place(item), "install-hook", item.text)
    for item in root.get("easy_install", "index_url").scalars():
        registry(collector, place(item), "pip", item.text)


_NPMRC_SWITCHES = {"strict-ssl": "false", "strictssl": "false", "enablestrictssl": "false"}


def read_manager_settings(collector: Collector, root: Entry) -> None:
    """Note indexes and switches of .npmrc, .yarnrc, pip.conf and .gemrc."""
    manager = (
        "pip" if re.search(r"pip(?:\.conf|\.ini|rc)|pydistutils", collector.view.path) else "npm"
    )
    for keys, entry in root.walk():
        key = keys[-1].lower() if keys else ""
        for item in entry.scalars() if entry.scalar is None else ():
            _read_setting(collector, manager, key, item)
        if entry.scalar is not None and entry.text:
            _read_setting(collector, manager, key, entry)


def _read_setting(collector: Collector, manager: str, key: str, item: Entry) -> None:
    if key.endswith(("registry", "index-url", "index_url", "npmregistryserver", "find-links")):
        registry(collector, place(item), manager, item.text)
    elif key == "trusted-host" or _NPMRC_SWITCHES.get(key) == item.text.lower():
        collector.emit(Act.DISABLE, place(item), "tls", item.text)
    elif key in {"node-options", "nodeoptions"}:
        collector.emit(Act.SETENV, place(item), "NODE_OPTIONS", item.text)
    elif key in {"script-shell", "yarnpath", "yarn-path", "git"} and "/" in item.text:
        collector.emit(Act.EXEC, place(item), "install-hook", item.text)
