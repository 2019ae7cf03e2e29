"""What a project lists of itself: its files, tasks, packages, names and history.

Everything is read from files, and from git where the project has one: no program of the project
and no command of a skill is ever run. `git` is asked for its list of files and for what was
removed, with the settings off that could make it start something else.
"""

import glob
import json
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import product
from typing import Any

from prowess.data import read_table, read_words
from prowess.host.files.handles import Content, read_bounded
from prowess.host.processes.children import ChildProcesses
from prowess.host.processes.facts import LocalFacts
from prowess.runtime.ports import ChildCommand
from prowess.skills.model import SKIPPED_FOLDERS
from prowess.skills.text import load

_MOST_FILES, _MOST_SOURCE, _MOST_TEXT, _MOST_COMMITS = 20_000, 6_000_000, 400_000, 200
_GIT_S = 5.0
_BEGINNING = 4
_SOURCE = re.compile(
    r"\.(?:py|ts|tsx|js|jsx|mjs|cjs|go|rs|rb|java|kt|swift|c|h|cpp|hpp|cc|cs|php|sh|ex|exs|lua|vue|svelte|sql"
    r"|proto|graphql|prisma|tf)$"
)
_SETTINGS = re.compile(
    r"(?:^|/)(?:\.env[\w.-]*|docker-compose[\w.-]*|compose\.ya?ml|Dockerfile|[\w.-]+\.ya?ml)$"
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,60}")
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_FLAG = re.compile(r"(?<![\w-])--[A-Za-z][\w-]+")
_TARGET = re.compile(r"^([A-Za-z0-9][\w./ -]*?)\s*::?(?![=:])", re.MULTILINE)
_LOOSE_MAKE = re.compile(r"^(?:-?include\s|[^\n:#]*%[^\n:]*:|[^\n:#]*\$\([^\n:]*:)", re.MULTILINE)
_RECIPE = re.compile(r"^@?([A-Za-z_][\w-]*)(?:\s[^:\n]*)?:(?!=)", re.MULTILINE)
_ALIAS = re.compile(r"^alias\s+([\w-]+)\s*:=", re.MULTILINE)
_TASKS = re.compile(r"^tasks:[^\n]*\n((?:[ \t#][^\n]*\n?|\n)*)", re.MULTILINE)
_TASK = re.compile(r"^ {2,4}['\"]?([A-Za-z][\w:-]*)['\"]?:", re.MULTILINE)
_BIN = re.compile(r"(?m)(?:^|/)src/bin/([\w-]+)(?:\.rs|/main\.rs)$")
_GO_COMMAND = re.compile(r"(?:^|/)cmd/([\w-]+)/main\.go$")
# What sources may call a subcommand by.
_SPELLED = re.compile(r"[\"'`]([a-z][a-z0-9]*(?:[:_-][a-z0-9]+)*)[\"'` ]")
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*([^;#\s]*)")
# A line that was taken out of a list of names: `-name:`, `-  "name": ...`, `-NAME=...`.
_LOST_NAME = re.compile(r"^-\s*\"?([A-Za-z][\w:-]*\w)\"?\s*[:=]", re.MULTILINE)
_LOST_LINE = re.compile(r"^-(?!--)(.*)", re.MULTILINE)
_LOST_WORD = re.compile(r"[A-Za-z@][\w@/:-]{3,}\w")
# Words as sources and settings write them: whole, with their dashes, bare, and routes.
_LOST = r"\w[\w.:@/-]*\w \w[\w-]*\w \w{4,} --[A-Za-z][\w-]+ \w[\w{}<>/.:-]*[\w}>]"
_LOST_NAMES = tuple(map(re.compile, _LOST.split()))
# Pages and locks tell of other things than what the project has.
_NO_SOURCE = (":!*.md", ":!*.lock", ":!*lock.*", ":!*skills/*")
_PACKAGE_KEYS = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
_LISTS = ("package.json", "Makefile", "pyproject.toml", "justfile", ".env.example")


class ProjectFolder:
    """One project, read when it is first asked about, and kept for as long as the object lives."""

    def __init__(
        self,
        root: str,
        environ: Mapping[str, str],
        skills: Collection[str],
        *,
        tools: Sequence[str] = (),
        help_of: Callable[[Sequence[str]], str] | None = None,
    ) -> None:
        self._root, self._environ, self.skills = root, environ, frozenset(skills)
        self._facts = LocalFacts(environ, tools)
        self._programs: dict[str, bool] = {}
        self._texts: dict[str, str] = {}
        self._parsed: dict[str, object] = {}
        self._help = help_of

    @cached_property
    def files(self) -> frozenset[str]:
        """The files that git knows, else those that are there; skills' own are none of them."""
        listed = self._git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = listed.split("\0") if listed else self._walk()
        found = (name for name in names if name and not _SKILL_FILE.search(name))
        there = (name for name in found if os.path.lexists(os.path.join(self._root, name)))
        return frozenset(list(there)[:_MOST_FILES])

    @cached_property
    def folders(self) -> frozenset[str]:
        """Every folder above a file of the project."""
        found: set[str] = set()
        for path in self.files:
            head = os.path.dirname(path)
            while head and head not in found:
                found.add(head)
                head = os.path.dirname(head)
        return frozenset(found)

    @cached_property
    def tasks(self) -> dict[str, frozenset[str]]:
        """What the lists of the project name, by who runs it."""
        found: dict[str, frozenset[str]] = {}
        package, python = self._package_json, self._pyproject
        if package:
            scripts = _descend(package, "scripts")
            nested = [path for path in self.files if path.endswith("/package.json")]
            more = {name for path in nested for name in _descend(self._json(path), "scripts")}
            found["npm"] = frozenset({*scripts, *more})
        makefile = self.text("Makefile") or self.text("makefile") or self.text("GNUmakefile")
        if makefile:
            names = {name for line in _TARGET.findall(makefile) for name in line.split()}
            found["make"] = frozenset(names | ({"*"} if _LOOSE_MAKE.search(makefile) else set()))
        found |= self._recipes()
        found |= self._declared
        if "make" in found and "included" in found:
            # Files beside it say what an included one would: the list is whole again.
            found["make"] = found["make"] - {"*"} | found["included"]
        commands = _console_scripts(python)
        if python:
            found["python"] = frozenset(commands)
        found["commands"] = frozenset({*commands, *_bins(package), *self._find_built(found)})
        found["variables"] = self._words[1]
        found["spelled"] = self._words[3]
        return found

    def _find_built(self, known: Mapping[str, frozenset[str]]) -> Iterator[str]:
        """Yield the commands that parts of the project and other languages make."""
        yield from known.get("cargo", ())
        for path in self.files:
            name = path.rpartition("/")[2]
            if name == "pyproject.toml":
                yield from _console_scripts(self._toml(path))
            elif name == "package.json":
                yield from _bins(self._json(path))
            elif found := _GO_COMMAND.search(path):
                yield found[1]

    def _recipes(self) -> dict[str, frozenset[str]]:
        """Return what the lists of smaller runners name."""
        found: dict[str, frozenset[str]] = {}
        justfile = self.text("justfile") or self.text("Justfile")
        if justfile:
            found["just"] = frozenset(_RECIPE.findall(justfile) + _ALIAS.findall(justfile))
        taskfile = self.text("Taskfile.yml") or self.text("Taskfile.yaml")
        # What is included from elsewhere is not read.
        if taskfile and "\nincludes:" not in taskfile:
            found["task"] = frozenset(_TASK.findall("".join(_TASKS.findall(taskfile))))
        crates = [
            self._toml(path) for path in self.files if path.rpartition("/")[2] == "Cargo.toml"
        ]
        if crates:
            found["cargo"] = frozenset(self._cargo_bins(crates))
        return found

    @cached_property
    def _declared(self) -> dict[str, frozenset[str]]:
        """What files of the project declare, by the name of the list in the table."""
        found: dict[str, frozenset[str]] = {}
        for name, row in read_table("proof/lists.toml").items():
            paths = [path for path in self._manifests if _holds(row, path)]
            names = {one for path in paths for one in self._find_names(row, path)}
            if paths and "stems" in row:
                names |= {one for path in self.files for one in _find_stem(row["stems"], path)}
            if names or (paths and not row.get("keys")):
                # What the program itself has can be run as well as what is declared.
                names |= read_words(row.get("own", "")) | ({"*"} if row.get("open") else set())
                found[name] = frozenset(names)
        return found

    @cached_property
    def _manifests(self) -> tuple[str, ...]:
        rows = read_table("proof/lists.toml").values()
        return tuple(path for path in sorted(self.files) if any(_holds(row, path) for row in rows))

    def _find_names(self, row: Mapping[str, Any], path: str) -> Iterator[str]:
        text = self.text(path)
        if "pattern" in row:
            for groups in re.findall(row["pattern"], text, re.MULTILINE):
                yield from filter(None, groups if isinstance(groups, tuple) else (groups,))
        if row.get("named"):
            yield from (path.rpartition("/")[2], path)
        if "keys" in row:
            value = self._parse(path)
            for key in row["keys"]:
                yield from _pick(value, key.split("."))

    def _parse(self, path: str) -> object:
        if path not in self._parsed:
            ending = path.rpartition(".")[2]
            if ending in {"yml", "yaml"}:
                self._parsed[path] = load(self.text(path)).root
            else:
                self._parsed[path] = self._toml(path) if ending == "toml" else self._json(path)
        return self._parsed[path]

    def _cargo_bins(self, crates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        for crate in crates:
            bins = crate.get("bin")
            for one in (crate.get("package"), *(bins if isinstance(bins, list) else ())):
                yield str(one.get("name", "")) if isinstance(one, Mapping) else ""
        yield from _BIN.findall("\n".join(self.files))

    @cached_property
    def packages(self) -> dict[str, frozenset[str]]:
        """The versions that the project's lists ask for, by name; what is installed says more."""
        # Where a list leaves the version open, what is installed says it.
        is_open = re.compile(r"[*>]?[^\d]*|>.*")
        versions = {
            name: {self._find_installed(name) or asked if is_open.fullmatch(asked) else asked}
            for name, asked in self._requirements().items()
        }
        for name, version in self._find_asked():
            versions.setdefault(name.lower(), set()).add(version)
        for name in [name for name in versions if name.startswith("@")]:
            # People leave the owner out.
            versions.setdefault(name.rpartition("/")[2], versions[name])
        return {name: frozenset(several) for name, several in versions.items()}

    def _requirements(self) -> dict[str, str]:
        """Return what the lists of npm and Python ask for; the root's list has the say."""
        found: dict[str, str] = {}
        nested = [self._json(path) for path in sorted(self.files) if path.endswith("/package.json")]
        for package, key in product((*nested, self._package_json), _PACKAGE_KEYS):
            found.update({name.lower(): str(v) for name, v in _descend(package, key).items()})
        asked: list[str] = []
        for path in sorted(self.files, reverse=True):
            if path.endswith("pyproject.toml"):
                asked += _python_requirements(self._toml(path))
            elif re.fullmatch(r"(?:.*/)?requirements[\w.-]*\.txt", path):
                asked += self.text(path).splitlines()
        for line in asked:
            match = _REQUIREMENT.match(line)
            if match and not line.lstrip().startswith(("-", "#")):
                found[match[1].lower().replace("_", "-")] = match[2]
        return found

    def _find_asked(self) -> Iterator[tuple[str, str]]:
        """Yield names and versions that other files of the project ask for."""
        rows = read_table("proof/versions.toml").values()
        for path, row in product(sorted(self.files), rows):
            if _holds(row, path):
                for found in re.findall(row["pattern"], self.text(path), re.MULTILINE):
                    yield (row["name"], found) if "name" in row else found

    def _find_installed(self, name: str) -> str:
        """Return the version of a package in the project's own folders of such; mostly nothing."""
        found = read_bounded(
            os.path.join(self._root, "node_modules", name, "package.json"), _MOST_TEXT
        )
        if isinstance(found, Content):
            version = re.search(rb'"version"\s*:\s*"([\w.+-]+)"', found.data)
            return version[1].decode() if version else ""
        return self._python_versions.get(name, "")

    @cached_property
    def _python_versions(self) -> dict[str, str]:
        found = {}
        for base in (".venv", "venv"):
            for path in glob.glob(
                f"{glob.escape(self._root)}/{base}/lib/*/site-packages/*.dist-info"
            ):
                name, _, version = os.path.basename(path).removesuffix(".dist-info").rpartition("-")
                found[name.lower().replace("_", "-")] = version
        return found

    @property
    def names(self) -> frozenset[str]:
        """The identifiers of its sources."""
        return self._words[0]

    @cached_property
    def _by_beginning(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self.names:
            found.setdefault(name[:_BEGINNING], []).append(name)
        return found

    def names_like(self, word: str) -> Sequence[str]:
        """Return the identifiers that begin like `word`."""
        return self._by_beginning.get(word[:_BEGINNING], ())

    @property
    def flags(self) -> frozenset[str]:
        """The long options that its sources spell out."""
        return self._words[2]

    @cached_property
    def _words(self) -> tuple[frozenset[str], ...]:
        names: set[str] = set()
        variables: set[str] = set()
        flags: set[str] = set()
        spelled: set[str] = set()
        left = _MOST_SOURCE
        for path in sorted(self.files):
            is_source = _SOURCE.search(path) is not None
            if left < 0 or not (is_source or _SETTINGS.search(path)):
                continue
            text = self._read(path)
            left -= len(text)
            variables.update(_VARIABLE.findall(text))
            if is_source:
                names.update(_IDENTIFIER.findall(text))
                flags.update(_FLAG.findall(text))
                spelled.update(_SPELLED.findall(text))
        return tuple(map(frozenset, (names, variables, flags, spelled)))

    @cached_property
    def address(self) -> str:
        """Where `origin` lies, without its protocol."""
        found = self._git("config", "--get", "remote.origin.url").strip()
        plain = re.sub(r"^(?:\w+://)?(?:[^@/]+@)?", "", found).replace(":", "/")
        return plain.removesuffix(".git")

    @cached_property
    def _history(self) -> tuple[frozenset[str], frozenset[str]]:
        """What was removed from the project: paths, and names of skills and in its lists."""
        limit = f"-n{_MOST_COMMITS}"
        shape = ("--format=", "--no-renames", "--no-ext-diff", "--no-textconv")
        removed = self._git("log", limit, *shape, "--diff-filter=D", "--name-only", "-z")
        # What is only gone from the disk or from the index was there at the last commit.
        removed += f"\0{self._git('ls-files', '-z', '--deleted')}\0"
        removed += self._git("diff", "--cached", "--name-only", "-z", "--diff-filter=D", *shape[1:])
        paths = frozenset(re.split(r"[\0\n]", removed))
        skills = {path.split("/")[-2] for path in paths if path.endswith("/SKILL.md")}
        lists = [*(name for name in _LISTS if name in self.files), *self._manifests]
        changed = ""
        if lists:
            changed = self._git("log", limit, *shape, "-p", "--", *lists)
            changed += self._git("diff", "HEAD", *shape[1:], "--", *lists)
        words = set(_LOST_NAME.findall(changed))
        # Whatever else stood in a list and stands in none of them now.
        lost = {word for line in _LOST_LINE.findall(changed) for word in _LOST_WORD.findall(line)}
        for path in lists:
            lost.difference_update(_LOST_WORD.findall(self.text(path)))
        return paths, frozenset(words | skills | lost)

    def was_there(self, word: str, *, is_path: bool) -> bool:
        """Return whether the history has a path, or a name in the project's lists, that is gone."""
        if not os.path.lexists(os.path.join(self._root, ".git")):
            return False
        paths, words = self._history
        if is_path:
            plain = word.removeprefix("./").rstrip("/")
            return plain in paths or plain in self._lost_folders or plain in self._lost_names
        lost = word in self._lost or word in self._lost_stems
        return word in words or (lost and self.is_nowhere(word))

    @cached_property
    def _lost_stems(self) -> frozenset[str]:
        """What removed files were called by, where that is a name of several words."""
        names = (path.rpartition("/")[2].partition(".")[0] for path in self._history[0])
        return frozenset(name for name in names if re.search(r"\w[-_]\w|[a-z][A-Z]", name))

    @cached_property
    def _lost_names(self) -> frozenset[str]:
        """The names of removed files that say something; no other file has them now."""
        names = {path.rpartition("/")[2] for path in self._history[0]}
        names -= {path.rpartition("/")[2] for path in self.files}
        return frozenset(name for name in names if re.search(r"\w[-_]\w|[a-z][A-Z]|file\.", name))

    @cached_property
    def _lost_folders(self) -> frozenset[str]:
        """The folders of removed files that hold none any more."""
        above = {"/".join(path.split("/")[:at]) for path in self._history[0] for at in (1, 2, 3, 4)}
        return frozenset(one for one in above - self.folders if "/" in one)

    @cached_property
    def _lost(self) -> frozenset[str]:
        """The words of lines that were taken out of the project's files."""
        shape = ("--no-renames", "--no-ext-diff", "--no-textconv", "-p", "-U0")
        changed = self._git("log", f"-n{_MOST_COMMITS}", "--format=", *shape, "--", *_NO_SOURCE)
        changed += self._git("diff", "HEAD", *shape, "--", *_NO_SOURCE)
        lines = "\n".join(_LOST_LINE.findall(changed))
        return frozenset(word for one in _LOST_NAMES for word in one.findall(lines))

    def is_nowhere(self, word: str) -> bool:
        """Return whether no file of the project holds a word, and none is named by it."""
        whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        texts = (text for path in self.files for text in (path, self._read(path)) if word in text)
        return not any(map(whole.search, texts))

    def has_program(self, name: str) -> bool:
        """Return whether a program is found on the PATH or among the project's own."""
        if name not in self._programs:
            beside = (
                os.path.join(self._root, one, name) for one in ("node_modules/.bin", ".venv/bin")
            )
            found = name in self._facts.probe([name], ()).bins
            self._programs[name] = found or any(map(os.path.lexists, beside))
        return self._programs[name]

    def has_variable(self, name: str) -> bool:
        """Return whether a variable is set, or the project names it."""
        return name in self._environ or name in self._words[1]

    def is_ignored(self, path: str) -> bool:
        """Return whether `.gitignore` names a path, or a folder above it."""
        heads = path.split("/")
        above = ["/".join(heads[: at + 1]) for at in range(len(heads))]
        return any(fnmatchcase(f"/{one}", rule) for one, rule in product(above, self._ignored))

    @cached_property
    def _ignored(self) -> tuple[str, ...]:
        lines = (line.strip().rstrip("/") for line in self.text(".gitignore").splitlines())
        rules = [
            line.removeprefix("**/") for line in lines if line and not line.startswith(("#", "!"))
        ]
        return tuple(rule if rule.startswith("/") else f"*/{rule}" for rule in rules)

    def exists(self, path: str) -> bool:
        """Return whether a path below the project is there; nothing outside is looked at."""
        if os.path.isabs(path) or ".." in path.split("/"):
            return False
        return os.path.lexists(os.path.join(self._root, path))

    def text(self, path: str) -> str:
        """Return a text of the project, bounded, or nothing."""
        if path not in self._texts:
            self._texts[path] = self._read(path) if path in self.files else ""
        return self._texts[path]

    def help(self, words: Sequence[str]) -> str:
        """Return what is kept of a program's help."""
        return self._help(words) if self._help is not None else ""

    def _read(self, path: str) -> str:
        found = read_bounded(os.path.join(self._root, path), _MOST_TEXT)
        return found.data.decode("utf-8", "replace") if isinstance(found, Content) else ""

    @cached_property
    def _package_json(self) -> dict[str, Any]:
        return self._json("package.json")

    def _json(self, path: str) -> dict[str, Any]:
        try:
            found = json.loads(self.text(path) or "{}")
        except ValueError:
            # Half-written files say nothing; that is for whoever builds the project.
            return {}
        return found if isinstance(found, dict) else {}

    @cached_property
    def _pyproject(self) -> dict[str, Any]:
        return self._toml("pyproject.toml")

    def _toml(self, path: str) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text(path))
        except tomllib.TOMLDecodeError:
            return {}

    def _git(self, *words: str) -> str:
        if not os.path.lexists(os.path.join(self._root, ".git")):
            return ""
        kept = {k: v for k, v in self._environ.items() if k in {"PATH", "HOME", "SYSTEMROOT"}}
        quiet = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
        command = ChildCommand(
            argv=("git", *quiet, "--no-optional-locks", "--no-pager", *words),
            environment={**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            folder=self._root,
            seconds=_GIT_S,
            most_chars=4_000_000,
        )
        done = ChildProcesses().run(command)
        return done.stdout if done.code == 0 else ""

    def _walk(self) -> Iterator[str]:
        count = 0
        for base, folders, names in os.walk(self._root):
            folders[:] = [one for one in folders if one not in SKIPPED_FOLDERS and one != ".git"]
            for name in names:
                count += 1
                if count > _MOST_FILES:
                    return
                yield os.path.relpath(os.path.join(base, name), self._root).replace(os.sep, "/")


# What lies in a folder of skills is theirs and no part of the project that they speak of.
_SKILL_FILE = re.compile(r"(?:^|/)skills/|(?:^|/)SKILL\.md$")


def _descend(value: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    found: Any = value
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _holds(row: Mapping[str, Any], path: str) -> bool:
    folder, _, name = path.rpartition("/")
    if "folder" in row and folder != row["folder"]:
        return False
    return any(fnmatchcase(name, one) for one in row["files"].split())


def _find_stem(patterns: str, path: str) -> Iterator[str]:
    """Yield what a file is called by, where it is one of a list: `main` by its folder."""
    for pattern in patterns.split():
        wanted = pattern.split("/")
        parts = path.split("/")[-len(wanted) :]
        if len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted)):
            stem = parts[-1].rpartition(".")[0]
            yield parts[-2] if stem == "main" else stem


def _pick(value: object, keys: Sequence[str]) -> Iterator[str]:
    """Yield the names at a path of keys: of a mapping its keys, of a list its texts."""
    if keys:
        inner: Iterable[object] = ()
        if keys[0] == "*":
            inner = value.values() if isinstance(value, Mapping) else _items(value)
        elif isinstance(value, Mapping):
            inner = (value.get(keys[0]),)
        for one in inner:
            yield from _pick(one, keys[1:])
    elif isinstance(value, str):
        yield value
    else:
        names = value if isinstance(value, Mapping) else _items(value)
        yield from (one for one in names if isinstance(one, str))


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _console_scripts(python: Mapping[str, Any]) -> set[str]:
    places = (("project", "scripts"), ("project", "gui-scripts"), ("tool", "poetry", "scripts"))
    return {name for place in places for name in _descend(python, *place)}


def _bins(package: Mapping[str, Any]) -> set[str]:
    found = package.get("bin")
    if isinstance(found, Mapping):
        return set(found)
    return {str(package.get("name", "")).rpartition("/")[2]} if isinstance(found, str) else set()


def _python_requirements(python: Mapping[str, Any]) -> Iterator[str]:
    project = _descend(python, "project")
    groups = [project.get("dependencies"), *_descend(project, "optional-dependencies").values()]
    groups += _descend(python, "dependency-groups").values()
    for group in groups:
        if isinstance(group, list):
            yield from (line for line in group if isinstance(line, str))
    for name, version in _descend(python, "tool", "poetry", "dependencies").items():
        if isinstance(version, str):
            yield f"{name} {version}"
