"""Whether a command line may be repeated unasked: why it needs a confirmation, or an empty text.

Whatever is read otherwise than a shell might read it, and every program of which nothing is known,
needs a confirmation. That a command needs none says only that it is of a kind that looks, builds or
tests; a script that was there before may do anything.
"""

import re
from dataclasses import dataclass

from prowess.experience.gate.command_line import UNREADABLE, Reader
from prowess.experience.gate.destructive_options import overwrites
from prowess.experience.gate.destructive_scene import Scene
from prowess.experience.gate.destructive_written import RUNS_WRITTEN
from prowess.experience.shell_words import visible

_MOST_REASON = 160
# A name in which no shell reads anything.
_PLAIN_FILE = re.compile(r"(?!-)[\w./+@%,-]+")
_NOWHERE = Scene()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is known of a command line before it is run."""

    # Why it needs a confirmation; empty where it needs none.
    danger: str = ""
    # The files that it writes anew, where nothing else in it is dangerous.
    overwritten: tuple[str, ...] = ()
    # The names of all files that it writes.
    written: frozenset[str] = frozenset()


def judged(command: str, scene: Scene = _NOWHERE) -> Judgement:
    """Judge a command line that is run in a scene.

    Where the files that it writes anew are not there yet, it destroys nothing. Only plain names
    count, in a command that stays in its folder: others may lead to another file than it seems.
    """
    seen = scene.seen()
    try:
        reasons = [reason for reason in Reader(text=command, seen=seen).dangers() if reason]
    except RecursionError:
        return Judgement(danger=UNREADABLE)
    if any(map(seen.written.is_run_by, seen.ran)):
        reasons.append(RUNS_WRITTEN)
    files = tuple(dict.fromkeys(file for file in seen.overwritten if overwrites(file)))
    is_plain = all(map(_PLAIN_FILE.fullmatch, files)) and not seen.has_left
    only_these = set(reasons) == {overwrites(file) for file in files}
    return Judgement(
        danger=visible(next(iter(reasons), ""))[:_MOST_REASON],
        overwritten=files if is_plain and only_these else (),
        written=frozenset(seen.written.names - scene.written.names),
    )


def danger_of(command: str, scene: Scene = _NOWHERE) -> str:
    """Return why a command needs a confirmation; empty where it needs none."""
    return judged(command, scene).danger


def overwritten(command: str, scene: Scene = _NOWHERE) -> tuple[str, ...]:
    """Return the files that a command writes anew, where nothing else in it is dangerous."""
    return judged(command, scene).overwritten
