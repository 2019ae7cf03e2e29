"""The world of a load: a state folder, a workspace of skills that differ, and messages about them.

Descriptions must differ in what they mean, not only in a number: a router that cannot tell two
skills apart does other work than one that can.
"""

import itertools
import json
import os
import random
from dataclasses import dataclass, field
from pathlib import Path

_THINGS = (
    "invoice", "release", "cluster", "calendar", "report", "contract", "photo", "database",
    "newsletter", "ticket", "pipeline", "dashboard", "recipe", "budget", "podcast", "schema",
    "firmware", "translation", "survey", "warehouse", "certificate", "playlist", "backup", "slide",
)  # fmt: skip
_ACTS = (
    "review", "draft", "deploy", "archive", "compare", "translate", "validate", "plan",
    "migrate", "summarise", "monitor", "repair", "forecast", "publish", "merge", "price",
)  # fmt: skip
_EMOJI = "📦🧾🗓📷🧪🛠📈🎧"
_SMALL_TALK = ("hello, how are you", "thanks, that was all", "what did you mean by that")
# Every fourth skill asks for a program that nobody has, so that verdicts differ too.
_MISSING = "no-such-program-anywhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Folders of a gateway, and the environment to start it in."""

    workspace: Path
    state: Path
    environ: dict[str, str] = field(repr=False)


def make_world(folder: Path, count: int, token: str) -> World:
    """Lay out a home, a state folder and a workspace with `count` skills."""
    home, state, workspace = folder / "home", folder / "state", folder / "work"
    for path in (home, state, workspace):
        path.mkdir(parents=True)
    (state / "prowess.json").write_text(json.dumps({"skills": {}}), encoding="utf-8")
    _write_skills(workspace / "skills", count)
    environ = {
        "HOME": str(home),
        "PROWESS_HOME": str(state),
        "PROWESS_GATEWAY_TOKEN": token,
        "PATH": os.environ["PATH"],
    }
    return World(workspace=workspace, state=state, environ=environ)


def messages(count: int) -> list[str]:
    """Return what people ask: most of it is for a skill, some of it for none."""
    chance = random.Random(23)
    asked = []
    for number in range(count):
        act, thing = chance.choice(_ACTS), chance.choice(_THINGS)
        asked.append(f"please {act} the {thing} that came in on day {number}")
    return [*asked, *_SMALL_TALK]


def _write_skills(root: Path, count: int) -> None:
    chance = random.Random(11)
    pairs = list(itertools.product(_ACTS, _THINGS))
    chance.shuffle(pairs)
    for number in range(count):
        act, thing = pairs[number % len(pairs)]
        name = f"{thing}-{act}" + (f"-{number}" if number >= len(pairs) else "")
        page = root / name / "SKILL.md"
        page.parent.mkdir(parents=True)
        page.write_text(_page(name, (act, thing), number, chance), encoding="utf-8")


def _page(name: str, about: tuple[str, str], number: int, chance: random.Random) -> str:
    act, thing = about
    other, third = chance.sample(_THINGS, 2)
    body = "\n\n".join(
        f"## Step {step}\n\n" + " ".join(chance.choices((*_THINGS, *_ACTS), k=60))
        for step in range(5)
    )
    needed = _MISSING if number % 4 == 3 else "sh"
    return (
        f"---\nname: {name}\n"
        f"description: {act.capitalize()} a {thing} and keep the {other} in step with it. Use when"
        f" the user wants to {act} a {thing}, or says that a {third} is wrong.\n"
        f"license: Apache-2.0\nmetadata:\n  openclaw:\n    emoji: {_EMOJI[number % len(_EMOJI)]}\n"
        f"    requires:\n      bins: [{needed}]\n      env: [HOME]\n---\n\n# {name}\n\n{body}\n"
    )
