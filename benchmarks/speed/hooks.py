"""How much processor time `prowess hook` takes, over what a bare interpreter takes.

    python -m benchmarks.speed.hooks [--skills 70] [--repeat 15] [--json FILE]

The baseline is `python -c pass` of the same interpreter. Processor time and not the clock: the
clock measures who else runs. Three ways for a prompt: no index is kept (words answer, and the index
is left to another process, which is kept from starting here), one is kept, and `prowess serve` runs
on the same state folder. What the last two answer is compared with `prowess route` first: speed is
no use for another answer.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.speed.routing import make_skills

from prowess.host.harness.marks_and_places import place_to_index
from prowess.skills.model import Skill

_SCRIPT = Path(sys.executable).with_name("prowess")
_PROMPT = "write a SKILL.md for the way we do releases, for Prowess"
_BARE = "python -c pass (baseline)"
_MOST_MS = {"prompt, no index": 500.0, "prompt, kept index": 400.0, "prompt, warm": 35.0}
_START_SECONDS = 60.0


def _is_ours(name: str) -> bool:
    """Tell variables that change what is measured: an installed program is compiled once."""
    return name.startswith("PROWESS") or name == "PYTHONDONTWRITEBYTECODE"


def payload(event: str, folder: Path, **fields: object) -> bytes:
    """Return what Claude Code would send."""
    common = {"session_id": "bench", "cwd": str(folder), "hook_event_name": event}
    return json.dumps({**common, "transcript_path": "", **fields}).encode()


def write_skills(folder: Path, skills: Sequence[Skill]) -> None:
    """Fill a workspace with skills."""
    for skill in skills:
        place = folder / "skills" / skill.name
        place.mkdir(parents=True)
        described = json.dumps(skill.description)
        text = f"---\nname: {skill.name}\ndescription: {described}\n---\n\n{skill.body}\n"
        (place / "SKILL.md").write_text(text)


class World:
    """A home, a state folder and a workspace of their own."""

    def __init__(self, root: Path, skills: Sequence[Skill]) -> None:
        self.folder = root / "w"
        self.state = root / "s"
        self.environ = {
            **{name: value for name, value in os.environ.items() if not _is_ours(name)},
            "HOME": str(root),
            "PROWESS_HOME": str(self.state),
        }
        write_skills(self.folder, skills)

    def run(self, argv: Sequence[str], given: bytes = b"") -> bytes:
        """Run a program to its end and return what it printed."""
        done = subprocess.run(
            argv, input=given, env=self.environ, cwd=self.folder, capture_output=True, check=True
        )
        return done.stdout

    def hook(self, given: bytes) -> bytes:
        """Call the hook as an agent does."""
        return self.run([str(_SCRIPT), "hook"], given)

    @contextmanager
    def gateway(self) -> Iterator[None]:
        """Serve until the end of the block."""
        argv = [str(_SCRIPT), "serve", "--port", "0"]
        with subprocess.Popen(
            argv,
            env=self.environ,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                until = time.monotonic() + _START_SECONDS
                while not (self.state / "hook.sock").exists():
                    if process.poll() is not None or time.monotonic() > until:
                        raise SystemExit("the gateway does not start: run `prowess serve`.")
                    time.sleep(0.05)
                yield
            finally:
                process.terminate()


def check(world: World) -> None:
    """Refuse to measure an answer that is not the router's.

    Raises:
        SystemExit: the hook names other skills than `prowess route`, or none.
    """
    argv = [str(_SCRIPT), "route", "--json", "--workspace", str(world.folder), _PROMPT]
    found = json.loads(world.run(argv))
    answer = json.loads(world.hook(payload("UserPromptSubmit", world.folder, prompt=_PROMPT)))
    said = answer["hookSpecificOutput"]["additionalContext"]
    named = [line.split()[1] for line in said.splitlines()[1:]]
    expected = [match["name"] for match in found["matches"]][:3]
    if not named or named != expected:
        raise SystemExit(f"the hook names {named}, and the router {expected}.")


def rounds(calls: dict[str, Callable[[], object]], repeat: int) -> dict[str, list[float]]:
    """Return the milliseconds of processor time of each kind of call, made in turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeat):
        for name, call in calls.items():
            started = _spent()
            call()
            times[name].append((_spent() - started) * 1_000)
    return times


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(world: World, repeat: int) -> dict[str, list[float]]:
    """Measure every kind of call, without a gateway and with one."""
    asked = payload("UserPromptSubmit", world.folder, prompt=_PROMPT)
    begun = payload("SessionStart", world.folder, source="startup")
    ended = payload("Stop", world.folder, stop_hook_active=False, last_assistant_message="Done.")

    def calls(how: str) -> dict[str, Callable[[], object]]:
        return {
            _BARE: lambda: world.run([sys.executable, "-c", "pass"]),
            f"prompt, {how}": lambda: world.hook(asked),
            f"session start, {how}": lambda: world.hook(begun),
            f"end of turn, {how}": lambda: world.hook(ended),
        }

    def without_index() -> None:
        shutil.rmtree(world.state, ignore_errors=True)
        with place_to_index(str(world.state)):
            world.hook(asked)

    times = rounds({"prompt, no index": without_index}, repeat)
    check(world)
    times |= rounds(calls("kept index"), repeat)
    with world.gateway():
        # Twice: the first call of a folder reads its skills.
        check(world)
        check(world)
        warm = rounds(calls("warm"), repeat)
    times[_BARE] += warm.pop(_BARE)
    return {**times, **warm}


def report(times: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Print medians, 95th percentiles and what they are over the baseline; return them."""
    bare = statistics.median(times[_BARE])
    found: dict[str, dict[str, float]] = {}
    print(f"{'':28}{'median':>10}{'p95':>10}{'over':>10}{'ratio':>8}")
    for name, taken in times.items():
        middle, high = statistics.median(taken), sorted(taken)[int(len(taken) * 0.95)]
        found[name] = {"median": middle, "p95": high, "over": middle - bare, "ratio": middle / bare}
        print(
            f"{name:28}{middle:7.0f} ms{high:7.0f} ms{middle - bare:7.0f} ms{middle / bare:7.1f}x"
        )
    return found


def main() -> int:
    """Measure, print, and fail where a prompt takes longer than agreed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--skills", type=int, default=70)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    # A short path: the name of a socket may have about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="ph") as root:
        found = report(measure(World(Path(root), make_skills(given.skills)), given.repeat))
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")
    late = [name for name, most in _MOST_MS.items() if found[name]["over"] > most]
    for name in late:
        print(f"{name}: slower than agreed.")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
