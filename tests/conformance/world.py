"""A small world for one test: a home, a state folder, a workspace, and Prowess on top.

A test writes files, asks the terminal or the library, and looks at the answer. The terminal runs
inside the test's own process, which is quick; `process` starts a real one where that matters.
"""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import prowess
from prowess.cli.main import main
from prowess.host.store.sessions import StoredSessions
from prowess.wiring import STORE_FILE

Json = dict[str, Any]
Variables = Mapping[str, str | None]

TIMEOUT_S = 60
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
# What a process needs to be measured and to find its packages; all else is the test's own.
KEPT_VARIABLES = ("COVERAGE", "PYTHONPATH")
NO_SUCH_BIN = "prowess-no-such-bin"
# What the scanner said of skills, which whoever looks at them keeps.
REPORTS = "reports.db"
BUNDLED = (
    "prowess-diagnostics",
    "prowess-manual",
    "prowess-memory",
    "search-citation",
    "skill-authoring",
)
# An allowlist that names nothing keeps the bundled skills out of prompts and counts.
NO_BUNDLED: Json = {"allowBundled": ["no-such-skill-at-all"]}


def requires(**kinds: object) -> Json:
    """Return a `metadata` value with these requirements."""
    return {"openclaw": {"requires": kinds}}


def openclaw(**fields: object) -> Json:
    """Return a `metadata` value with these OpenClaw fields."""
    return {"openclaw": fields}


def odd_names(skills: Path, skill: Path) -> None:
    """Make folders and files with names that cannot be shown as they are: five, and one inside."""
    text = b"---\nname: taken\ndescription: Odd.\n---\n"
    # A surrogate stands for a byte that is not UTF-8.
    for name in ("caf\udce9", "new\nline", "esc\x1b[31m", "hid\u200bden"):
        (skills / name).mkdir()
        (skills / name / "SKILL.md").write_bytes(text)
    (skills / "loose\udcff.md").write_bytes(text)
    (skill / "in\udce9\nside.txt").write_bytes(b"x")


def alias_bomb(levels: int) -> str:
    """Return YAML lines of which each holds the one before ten times."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one run of the terminal left behind."""

    args: tuple[str, ...]
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Everything a person saw."""
        return f"{self.out}\n{self.err}"

    @property
    def json(self) -> Json:
        """Stdout as one JSON object; a failure shows what came instead."""
        try:
            found = json.loads(self.out)
        except ValueError as error:
            raise AssertionError(f"{self} did not print JSON: {error}") from error
        assert isinstance(found, dict), str(self)
        return found

    def calm(self) -> "Result":
        """Assert that the run ended in an orderly way: a known exit code and no traceback."""
        assert "Traceback (most recent call last)" not in self.text, str(self)
        assert self.code in {0, 1, 2}, str(self)
        return self

    def one_sentence(self) -> "Result":
        """Assert an error for people: one line on stderr and nothing on stdout."""
        self.calm()
        assert len(self.err.strip().splitlines()) == 1, str(self)
        assert not self.out.strip(), str(self)
        return self

    def __str__(self) -> str:
        words = " ".join(self.args)
        return f"prowess {words} -> {self.code}\n--- out\n{self.out[:4000]}\n--- err\n{self.err}"


@dataclass(slots=True)
class World:
    """Folders and files of one imaginary person, and Prowess that looks at them."""

    root: Path
    home: Path = field(init=False)
    state: Path = field(init=False)
    workspace: Path = field(init=False)
    bin: Path = field(init=False)
    opened: list[prowess.Runtime] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root = self.root.resolve()
        self.home, self.workspace = self.root / "home", self.root / "ws"
        self.state, self.bin = self.home / ".prowess", self.root / "bin"
        for folder in (self.state, self.workspace, self.bin):
            folder.mkdir(parents=True)

    @property
    def config_file(self) -> Path:
        return self.state / "prowess.json"

    @property
    def skills(self) -> Path:
        """The workspace's own skills folder."""
        return self.workspace / "skills"

    @property
    def managed(self) -> Path:
        return self.state / "skills"

    @property
    def personal(self) -> Path:
        return self.home / ".agents" / "skills"

    @property
    def project(self) -> Path:
        return self.workspace / ".agents" / "skills"

    @property
    def extra(self) -> Path:
        """A folder that a test lists in `skills.load.extraDirs`."""
        return self.root / "extra" / "skills"

    def folder_of(self, tier: str) -> Path:
        """The folder in which a test puts a skill of this source."""
        return {
            "openclaw-extra": self.extra,
            "openclaw-managed": self.managed,
            "harness-personal": self.home / ".claude" / "skills",
            "agents-skills-personal": self.personal,
            "harness-project": self.workspace / ".claude" / "skills",
            "agents-skills-project": self.project,
            "openclaw-workspace": self.skills,
        }[tier]

    def move_workspace(self, path: Path) -> None:
        """Work in `path` from now on."""
        path.mkdir(parents=True, exist_ok=True)
        self.workspace = path

    def skill(
        self,
        folder: str,
        *,
        root: Path | None = None,
        body: str = "# Steps\n\nDo the thing.\n",
        **keys: object,
    ) -> Path:
        """Write a valid SKILL.md; `keys` are frontmatter keys, `_` stands for `-`.

        A value of None leaves the key out. Values are written as JSON, which is YAML too.
        """
        name = Path(folder).name
        front: Json = {"name": name, "description": f"Use for the {name} job."}
        front.update({key.replace("_", "-"): value for key, value in keys.items()})
        lines = [
            f"{key}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in front.items()
            if value is not None
        ]
        return self.raw(folder, "\n".join(["---", *lines, "---", "", body]), root=root)

    def front(self, folder: str, front: str, *, root: Path | None = None) -> Path:
        """Write a SKILL.md with this frontmatter text and a plain body."""
        return self.raw(folder, f"---\n{front}\n---\n\n# Steps\n\nDo it.\n", root=root)

    def raw(
        self, folder: str, text: str | bytes, *, root: Path | None = None, file: str = "SKILL.md"
    ) -> Path:
        """Write `text` to `<root>/<folder>/<file>`, byte for byte."""
        return self.file((root or self.skills) / folder / file, text)

    def file(self, path: Path, text: str | bytes) -> Path:
        """Write any file in one step, making its folders: a watcher never sees half of it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        staged = path.with_name(".staged")
        staged.write_bytes(text.encode() if isinstance(text, str) else text)
        return staged.replace(path)

    def link(self, path: Path, target: Path) -> Path:
        """Make a symbolic link, and the folders it stands in."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
        return path

    def executable(self, name: str, *, mode: int = 0o755) -> Path:
        """Put a program on the PATH."""
        path = self.file(self.bin / name, "#!/bin/sh\nexit 0\n")
        path.chmod(mode)
        return path

    def config(self, content: Json | str | bytes) -> Path:
        """Write prowess.json: a mapping as JSON, text as it is."""
        text = json.dumps(content, indent=2) if isinstance(content, dict) else content
        return self.file(self.config_file, text)

    def settings(self, **skills: object) -> Path:
        """Write prowess.json with these keys below `skills`."""
        return self.config({"skills": skills})

    def read_config(self) -> Json:
        """The config file as the terminal wrote it."""
        found = json.loads(self.config_file.read_text(encoding="utf-8"))
        assert isinstance(found, dict)
        return found

    def env(self, extra: Variables | None = None) -> dict[str, str]:
        """A clean environment; a value of None in `extra` removes the variable."""
        kept = {name: os.environ[name] for name in os.environ if name.startswith(KEPT_VARIABLES)}
        env: dict[str, str | None] = {
            **kept,
            "HOME": str(self.home),
            "PROWESS_HOME": str(self.state),
            "PATH": f"{self.bin}{os.pathsep}{SYSTEM_PATH}",
            "LANG": "C.UTF-8",
            "PYTHONUTF8": "1",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "COLUMNS": "240",
            **(extra or {}),
        }
        return {key: value for key, value in env.items() if value is not None}

    def run(
        self, *args: str | Path, env: Variables | None = None, cwd: Path | None = None
    ) -> Result:
        """Run the terminal in this process, standing in the workspace or in `cwd`."""
        words = tuple(str(arg) for arg in args)
        out, err = _Stream(), _Stream()
        with (
            _standing_in(cwd or self.workspace, self.env(env)),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = main(words)
        return Result(args=words, code=code, out=out.written, err=err.written)

    def process(
        self, *args: str | Path, env: Variables | None = None, cwd: Path | None = None
    ) -> Result:
        """Run the terminal as a process of its own; output that is no text fails the test."""
        words = tuple(str(arg) for arg in args)
        done = subprocess.run(
            command(words),
            cwd=cwd or self.workspace,
            env=self.env(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
        return Result(args=words, code=done.returncode, out=out, err=err)

    def open(self, env: Variables | None = None) -> prowess.Runtime:
        """Open the library on this world, as a program would."""
        runtime = prowess.open(self.workspace, environ=self.env(env))
        self.opened.append(runtime)
        return runtime

    def close(self) -> None:
        """Give back the stores that runtimes may have opened."""
        if not (self.state / STORE_FILE).exists():
            return
        for runtime in self.opened:
            store = runtime.store
            assert isinstance(store, StoredSessions)
            store.close()

    def document(
        self, name: str, *args: str | Path, env: Variables | None = None, cwd: Path | None = None
    ) -> Json:
        """`prowess NAME --json`, calm, with an exit code of 0 or 1."""
        result = self.run(name, *args, "--json", env=env, cwd=cwd).calm()
        assert result.code in {0, 1}, str(result)
        return result.json

    def listing(self, *args: str | Path, env: Variables | None = None) -> dict[str, Json]:
        """The rows of `list --json` by name."""
        rows = self.document("list", *args, env=env)["skills"]
        names = [row["name"] for row in rows]
        assert len(names) == len(set(names)), f"a name is listed twice: {names}"
        return {row["name"]: row for row in rows}

    def row(self, name: str, *args: str | Path, env: Variables | None = None) -> Json:
        """The row of one skill, which must be there."""
        rows = self.listing(*args, env=env)
        assert name in rows, f"{name} is not among {sorted(rows)}"
        return rows[name]

    def own(self, *args: str | Path) -> set[str]:
        """Names of all listed skills that Prowess does not ship."""
        return {name for name, row in self.listing(*args).items() if not row["bundled"]}

    def ready(self, name: str) -> bool:
        """True where the skill is listed and eligible."""
        row = self.listing().get(name)
        return row is not None and row["eligible"] is True

    def problems(self, part: str = "") -> list[Json]:
        """The diagnostics of `list --json` whose path names `part`."""
        return [item for item in self.document("list")["diagnostics"] if part in item["path"]]

    def codes(self, part: str = "") -> set[str]:
        """The codes of the diagnostics whose path names `part`."""
        return {item["code"] for item in self.problems(part)}

    def prompt(self, *args: str | Path) -> str:
        """The prompt block."""
        return str(self.document("prompt", *args)["prompt"])

    def prompt_names(self, *args: str | Path) -> list[str]:
        """Names in the prompt block, in its order."""
        return [entry["name"] for entry in entries(self.prompt(*args))]

    def findings(self, *args: str | Path) -> list[Json]:
        """Every diagnostic of `validate --format json`."""
        files = self.run("validate", *args, "--format", "json").calm().json["files"]
        return [item for file in files for item in file["diagnostics"]]


def command(words: Sequence[str]) -> list[str]:
    """The command line of a real process."""
    return [sys.executable, "-m", "prowess", *words]


def entries(prompt: str) -> list[dict[str, str]]:
    """The `<skill>` elements of a prompt block, unescaped."""
    found = []
    for block in re.findall(r"<skill>(.*?)</skill>", prompt, re.DOTALL):
        pairs = re.findall(r"<(name|description|location)>(.*?)</\1>", block, re.DOTALL)
        found.append({key: _unescaped(value) for key, value in pairs})
    return found


def prose(prompt: str) -> str:
    """What stands outside the `<available_skills>` element."""
    return re.sub(r"<available_skills>.*</available_skills>", "", prompt, flags=re.DOTALL)


def _unescaped(text: str) -> str:
    for entity, char in (("lt", "<"), ("gt", ">"), ("quot", '"'), ("apos", "'"), ("amp", "&")):
        text = text.replace(f"&{entity};", char)
    return text


class _Stream(io.TextIOWrapper):
    """What a pipe is to the terminal: bytes behind a text layer."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    @property
    def written(self) -> str:
        self.flush()
        content = self.buffer
        assert isinstance(content, io.BytesIO)
        return content.getvalue().decode("utf-8")


@contextmanager
def _standing_in(folder: Path, env: Mapping[str, str]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            patch.delenv(name)
        for name, value in env.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        patch.setattr(sys, "stdin", io.StringIO())
        yield


def piped(world: World, content: bytes, *args: str) -> Result:
    """Run the terminal as a process with `content` on its standard input."""
    done = subprocess.run(
        command(args),
        cwd=world.workspace,
        env=world.env(),
        input=content,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    return Result(args=args, code=done.returncode, out=out, err=err)


def accept_all(world: World, name: str) -> None:
    """Accept whatever the scanner finds in a skill, as its operator."""
    found = world.run("scan", name, "--json").json["findings"]
    for one in found:
        if one["severity"] == "critical":
            words = ("--rule", one["ruleId"], "--evidence", one["evidenceHash"])
            done = world.run("scan", "accept", name, *words, "--reason", "a test")
            assert done.code == 0, str(done)
