"""A small project with skills that speak of it, and the ways in which it drifts away from them."""

import json
import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

_NOUNS = ("invoice", "parcel", "ledger", "booking", "ticket", "roster", "payment", "catalog")
_VERBS = ("sync", "load", "parse", "merge", "export", "import", "check", "build", "archive")


@dataclass
class DriftWorld:
    """One project, drawn by a seed."""

    root: Path
    seed: int
    commit: bool = False
    draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        # The same seed is the same world; nothing here is a secret.
        self.draw = random.Random(self.seed)  # noqa: S311
        noun, other = self.draw.sample(_NOUNS, 2)
        verb, more = self.draw.sample(_VERBS, 2)
        self.script, self.target = f"{verb}:{noun}", f"{more}-{noun}"
        self.module, self.function = f"src/{noun}/{verb}_{other}.py", f"{verb}_{noun}_{other}"
        self.tool = f"scripts/{more}_{other}.py"
        self.flag, self.command = f"--{noun}-limit", f"{noun}-{verb}er"
        self.variable, self.package = f"{noun.upper()}_{other.upper()}_URL", f"lib{noun}"
        self.sibling, self.inner = f"{verb}-{other}-guide", f"references/{noun}-{more}.md"
        self._write()

    def _write(self) -> None:
        noun = self.module.split("/")[1]
        files = {
            "package.json": json.dumps(
                {"scripts": {self.script: "node x.js", "lint": "eslint ."}}, indent=2
            ),
            "Makefile": f"{self.target}:\n\ttrue\n\nlint:\n\ttrue\n",
            "pyproject.toml": (
                f'[project]\nname = "{noun}"\ndependencies = ["{self.package}==2.4.1", "click"]\n'
                f'[project.scripts]\n{self.command} = "{noun}.cli:main"\n'
            ),
            self.module: f"def {self.function}(rows):\n    return rows\n",
            f"src/{noun}/store.py": f'URL = os.environ["{self.variable}"]\n',
            f"src/{noun}/cli.py": '@click.option("--json")\ndef main():\n    pass\n',
            f"src/{noun}/models.py": "class Row:\n    pass\n",
            self.tool: f'p = argparse.ArgumentParser()\np.add_argument("{self.flag}")\n',
            "docs/overview.md": "# Overview\n",
            f"skills/{self.sibling}/SKILL.md": (
                f"---\nname: {self.sibling}\ndescription: Explains.\n---\n\n# Guide\n\nRead on.\n"
            ),
            f"skills/{noun}-work/{self.inner}": "# Reference\n",
            f"skills/{noun}-work/SKILL.md": self._text(noun),
        }
        for path, text in files.items():
            self.put(path, text)
        self._git("init", "-q")
        with (self.root / ".git" / "config").open("a", encoding="utf-8") as config:
            config.write(f'[remote "origin"]\n\turl = https://github.com/acme/{noun}.git\n')
        self.stage()
        if self.commit:
            who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
            self._git(*who, "commit", "-q", "-m", "First.")

    def _text(self, noun: str) -> str:
        return f"""---
name: {noun}-work
description: Works on the {noun}.
---

# {noun.title()} work

## Steps

Run `npm run {self.script}`, then:

```bash
make {self.target}
python {self.tool} {self.flag} 3
{self.command} --json
```

## Code

The rows are read by `{self.function}()` in `{self.module}`. Set `{self.variable}` first.
The project pins `{self.package}==2.4.1`.

## More

Read [the reference]({self.inner}) and use the `{self.sibling}` skill for questions. The code is at
https://github.com/acme/{noun}/blob/main/{self.module}.
"""

    @property
    def skill(self) -> str:
        return f"{self.module.split('/')[1]}-work"

    def put(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def change(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text
        self.put(path, text.replace(old, new))

    def stage(self) -> None:
        self._git("add", "-A")

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.root, check=True)


def _renamed(word: str, draw: random.Random) -> str:
    """Return another name: a suffix, a part exchanged, or nothing alike."""
    parts = [word + draw.choice(("-new", "-v2", "s", "-all")), word[:-2] + "xy", "quite-else"]
    return draw.choice(parts)


def _script(world: DriftWorld) -> str:
    world.change("package.json", world.script, _renamed(world.script, world.draw))
    return world.script


def _target(world: DriftWorld) -> str:
    world.change("Makefile", world.target, _renamed(world.target, world.draw))
    return world.target


def _moved(world: DriftWorld) -> str:
    name = world.module.rpartition("/")[2]
    (world.root / "lib").mkdir()
    (world.root / world.module).rename(world.root / "lib" / name)
    return world.module


def _removed(world: DriftWorld) -> str:
    (world.root / world.module).unlink()
    return world.module


def _function(world: DriftWorld) -> str:
    world.change(world.module, world.function, f"handle_{world.draw.choice(_NOUNS)}s")
    return world.function


def _package(world: DriftWorld) -> str:
    version = world.draw.choice(("3.0.0", "2.9.0", "1.0.2"))
    world.change("pyproject.toml", "2.4.1", version)
    return world.package


def _variable(world: DriftWorld) -> str:
    noun = world.module.split("/")[1]
    new = world.draw.choice((f"{world.variable}S", world.variable[:-4] + "_DSN", "STORE_DSN_MAIN"))
    world.change(f"src/{noun}/store.py", world.variable, new)
    return world.variable


def _sibling(world: DriftWorld) -> str:
    folder = world.root / "skills" / world.sibling
    if world.draw.random() < 0.5:
        (folder / "SKILL.md").unlink()
        folder.rmdir()
    else:
        new = _renamed(world.sibling, world.draw)
        world.change(f"skills/{world.sibling}/SKILL.md", f"name: {world.sibling}", f"name: {new}")
        folder.rename(folder.with_name(new))
    return world.sibling


def _flag(world: DriftWorld) -> str:
    world.change(world.tool, world.flag, world.draw.choice(("--most", f"{world.flag}s", "--rows")))
    return world.flag


def _tool(world: DriftWorld) -> str:
    (world.root / world.tool).rename(world.root / "scripts" / "other.py")
    return world.tool


def _inner(world: DriftWorld) -> str:
    path = world.root / "skills" / world.skill / world.inner
    path.rename(path.with_name(_renamed(path.stem, world.draw) + ".md"))
    return world.inner


def _command(world: DriftWorld) -> str:
    world.change("pyproject.toml", world.command, _renamed(world.command, world.draw))
    return world.command


def _address(world: DriftWorld) -> str:
    _moved(world)
    return f"blob/main/{world.module}"


DRIFTS: dict[str, Callable[[DriftWorld], str]] = {
    "script": _script,
    "target": _target,
    "moved": _moved,
    "removed": _removed,
    "function": _function,
    "package": _package,
    "variable": _variable,
    "sibling": _sibling,
    "flag": _flag,
    "tool": _tool,
    "inner": _inner,
    "command": _command,
    "address": _address,
}
