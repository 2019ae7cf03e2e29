"""Real coding agents in a throw-away home, talking to a model of ours.

Each is installed once, in the version of `harnesses.toml`, into a cache folder
(`PROWESS_OUTSIDE_CACHE`, by default below the user's cache). Nothing of the machine's own settings
is read: home, project and environment are made for one test. What cannot be had, because the
registry does not answer or takes too long, is a reason to skip and not a fault of ours.

`python -m tests.outside.harnesses` installs them all, as CI does while other checks run.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.outside.model_server import MODEL, ModelServer

_TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
# Those that answer prompts; the others are tools of the tests.
NAMES = tuple(name for name, row in _TABLE.items() if "print" in row)
CACHE = Path(os.environ.get("PROWESS_OUTSIDE_CACHE") or Path.home() / ".cache/prowess-outside")
_BIN = Path(sys.executable).parent
# One of them takes a minute to start where two cores are shared, and several at a load of forty.
_LONGEST_S = 600
_INSTALL_S = 300
# Both bounds of a pause: npm refuses to ask at all where ours is below its own lower one.
_LIMITS = (
    "--fetch-retries=1", "--fetch-timeout=20000",
    "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000",
)  # fmt: skip
# How long a failed installation is taken for an answer.
_KNOWN_FOR_S = 600


def program(name: str) -> tuple[str, str]:
    """Return the Node that runs a package, and the package's own entry.

    Raises:
        CannotBeHadError: one of them cannot be installed.
    """
    node = install("node") / "node_modules/node/bin/node"
    return str(node), str(entry_of(name))


def entry_of(name: str) -> Path:
    """Return the program of an installed package.

    Raises:
        CannotBeHadError: it cannot be installed.
    """
    entry: Path = install(name) / "node_modules/.bin" / _TABLE[name]["entry"]
    return entry


class CannotBeHadError(Exception):
    """Why a program cannot be run here."""


def install(name: str) -> Path:
    """Return the folder of an installed package; it is fetched where it is not there yet.

    Raises:
        CannotBeHadError: there is no npm, or the registry did not deliver.
    """
    row = _TABLE[name]
    folder = CACHE / f"{name}-{row['version']}"
    if (folder / ".installed").exists():
        return folder
    npm = shutil.which("npm")
    if npm is None:
        raise CannotBeHadError("npm is not installed, so no harness can be")
    with _alone(CACHE / f"{folder.name}.lock"):
        if not (folder / ".installed").exists():
            _fetch(npm, f"{row['package']}@{row['version']}", folder)
    return folder


def _fetch(npm: str, package: str, folder: Path) -> None:
    """Install a package, or note why not: the next tests need not wait for the same."""
    note = CACHE / f"{folder.name}.failed"
    if note.exists() and time.time() - note.stat().st_mtime < _KNOWN_FOR_S:
        raise CannotBeHadError(note.read_text(encoding="utf-8"))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text("{}", encoding="utf-8")
    command = [npm, "install", "--no-audit", "--no-fund", "--no-progress", *_LIMITS, package]
    # One of them refuses to be installed by an older Node than it runs on.
    node = CACHE / f"node-{_TABLE['node']['version']}/node_modules/node/bin"
    environment = {**os.environ, "PATH": f"{node}:{os.environ.get('PATH', '')}"}
    try:
        subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True, timeout=_INSTALL_S,
            env=environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        why = f"{package} was not installed within {_INSTALL_S} s"
        note.write_text(why, encoding="utf-8")
        raise CannotBeHadError(why) from error
    except subprocess.CalledProcessError as error:
        why = f"{package} cannot be installed: {error.stderr.strip()[:300]}"
        note.write_text(why, encoding="utf-8")
        raise CannotBeHadError(why) from error
    (folder / ".installed").touch()


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Let one process install and the others wait for it."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True, slots=True)
class Answered:
    """How a run of a harness ended."""

    code: int
    output: str
    errors: str


@dataclass(slots=True)
class OutsideWorld:
    """A home, a project in it, one harness and its model."""

    name: str
    home: Path
    model: ModelServer
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the home, with a repository in it, and point the harness at the model."""
        self.project.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", self.project], check=True)
        node = install("node") / "node_modules/node/bin"
        self.environment = {
            "HOME": str(self.home),
            "PATH": f"{node}:{_BIN}:/usr/bin:/bin",
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            **_PREPARATIONS[self.name](self.home, self.model.address),
        }

    @property
    def project(self) -> Path:
        """Where the person works."""
        return self.home / "project"

    def add_skill(self, name: str, description: str, body: str = "Follow these steps.\n") -> Path:
        """Put a skill where this harness itself finds it in the project."""
        folder: Path = self.project / _TABLE[self.name]["skills"] / name
        folder.mkdir(parents=True)
        text = (
            f"---\nname: {name}\ndescription: {json.dumps(description)}\n---\n\n# {name}\n\n{body}"
        )
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
        return folder

    def prowess(self, *arguments: str, code: int | None = 0) -> str:
        """Run `prowess` as the person would, and return what it printed."""
        done = self._run([str(_BIN / "prowess"), *arguments])
        assert code in (None, done.code), f"{arguments}: {done}"
        return done.output

    def ask(self, prompt: str) -> Answered:
        """Let the harness answer one prompt in print mode."""
        parts = _TABLE[self.name]["print"]
        arguments = [part.format(prompt=prompt, model=MODEL) for part in parts]
        return self._run([str(entry_of(self.name)), *arguments])

    def _run(self, command: Sequence[str]) -> Answered:
        done = subprocess.run(
            command, cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=_LONGEST_S, check=False,
        )  # fmt: skip
        return Answered(done.returncode, done.stdout, done.stderr)


def _claude_code(_home: Path, address: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": "none-is-needed",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }


def _codex(home: Path, address: str) -> dict[str, str]:
    _write(home / ".codex/config.toml", (
        f'model = "{MODEL}"\nmodel_provider = "ours"\n\n[model_providers.ours]\nname = "ours"\n'
        f'base_url = "{address}/v1"\nwire_api = "responses"\nenv_key = "OURS"\n'
    ))  # fmt: skip
    return {"OURS": "none-is-needed"}


def _gemini(home: Path, address: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True},
    }
    _write(home / ".gemini/settings.json", json.dumps(settings, indent=2))
    return {
        "GEMINI_API_KEY": "none-is-needed",
        "GOOGLE_GEMINI_BASE_URL": address,
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def _copilot(_home: Path, address: str) -> dict[str, str]:
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{address}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": "none-is-needed",
        "COPILOT_MODEL": MODEL,
    }


def _qwen(_home: Path, address: str) -> dict[str, str]:
    return {
        "OPENAI_API_KEY": "none-is-needed",
        "OPENAI_BASE_URL": f"{address}/v1",
        "OPENAI_MODEL": MODEL,
    }


def _opencode(home: Path, address: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{address}/v1", "apiKey": "none-is-needed"},
        "models": {MODEL: {}},
    }
    settings = {"provider": {"ours": provider}, "model": f"ours/{MODEL}", "autoupdate": False}
    _write(home / ".config/opencode/opencode.json", json.dumps(settings, indent=2))
    for folder in (home / ".config/opencode", home / "project/.opencode"):
        _give_dependencies(install("opencode-plugin"), folder)
    return {"OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _give_dependencies(installed: Path, folder: Path) -> None:
    """Have a folder look as if its dependencies had been fetched into it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(installed / name, folder / name)
    (folder / "node_modules").symlink_to(installed / "node_modules")


def _openclaw(home: Path, address: str) -> dict[str, str]:
    model = {
        "id": MODEL, "name": MODEL, "contextWindow": 200_000, "maxTokens": 8_000,
        "input": ["text"], "reasoning": False,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    }  # fmt: skip
    provider = {
        "baseUrl": f"{address}/v1",
        "apiKey": "none-is-needed",
        "api": "openai-completions",
        "models": [model],
    }
    agents = {"workspace": str(home / "project"), "model": {"primary": f"ours/{MODEL}"}}
    settings = {"models": {"providers": {"ours": provider}}, "agents": {"defaults": agents}}
    _write(home / ".openclaw/openclaw.json", json.dumps(settings, indent=2))
    # A third of its start is for plugins of its own, for services that nobody uses here.
    return {"OPENCLAW_DISABLE_BUNDLED_PLUGINS": "1"}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


_PREPARATIONS: Mapping[str, Callable[[Path, str], dict[str, str]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini": _gemini,
    "copilot": _copilot,
    "qwen": _qwen,
    "opencode": _opencode,
    "openclaw": _openclaw,
}


def _install_all() -> None:
    """Fetch everything at once; what cannot be had is named, and its tests will be skipped."""

    def one(name: str) -> str:
        try:
            return f"{name}: {install(name)}"
        except CannotBeHadError as error:
            return f"{name}: {error}"

    with ThreadPoolExecutor(len(_TABLE)) as pool:
        for said in pool.map(one, _TABLE):
            print(said)  # noqa: T201


if __name__ == "__main__":
    _install_all()
