"""Agents that do tasks: each run in a fresh folder and a fresh home, which are gone afterwards.

An agent gets the task's files, its skill or none, and of the environment only what reaches a model.
What it left is read, and the task's own checks by command are run where it worked.

Runs are kept as they end, with the verdict that came out. A journal belongs to one skill in one
text, one agent, one model and one set of tasks: whatever changes begins a new one.
"""

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any

from prowess.data import read_table, read_words
from prowess.errors import ProofError, StoreError, explain_failure
from prowess.host.files.handles import Content, read_bounded
from prowess.host.files.state_files import PROOFS_FILE, change_mapping, read_mapping
from prowess.host.processes.children import ChildProcesses, end_all_with
from prowess.host.processes.facts import find_program
from prowess.proof.tasks import CheckKind, LeftBehind, ProofTask, RunOutcome, is_test_file
from prowess.runtime.ports import ChildCommand
from prowess.runtime.proof.prove import AgentRun, ProofVerdict, RunRecord
from prowess.skills.model import Skill

_TABLE = "host/proof/agents.toml"
COMMAND = "command:"
_CHECK_S, _MOST_FILES, _MOST_TEXT = 60.0, 2_000, 400_000
# What a shell says of a program that it cannot start.
_NOT_STARTED = frozenset((126, 127))
# Where tasks for a container find their tests, say how they went, and work; and where that is here.
_PLACES = {"tests": "tests", "logs/verifier": "logs/verifier", "root": "work", "app": "work"}
_CONTAINER = re.compile(r"(?<![\w./$}])/(" + "|".join(_PLACES) + r")(?=[/\"'`)\s]|$)")
_KEPT = ("PATH", "LANG", "LC_ALL", "TERM", "SYSTEMROOT", "TMPDIR", "PYTHONPATH")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProgram:
    """A program that answers one prompt and ends."""

    name: str
    argv: tuple[str, ...]
    skills: str
    model: str
    price: float
    seconds: float
    environment: Mapping[str, str]
    # The file or folder of the tasks, which no agent may read.
    answers: str = ""

    def run(self, task: ProofTask, skills: Sequence[Skill]) -> AgentRun:
        """Do one task; folder and home are made for it and removed."""
        with tempfile.TemporaryDirectory(prefix="prowess-proof-") as made:
            folder, home = os.path.join(made, "work"), os.path.join(made, "home")
            os.makedirs(home)
            problem = _lay_out(folder, task)
            for skill in () if problem else skills:
                target = os.path.join(folder, self.skills, skill.name)
                shutil.copytree(skill.folder, target, symlinks=True, ignore=self._leave_out)
            return AgentRun(problem=problem) if problem else self._do(task, made)

    def _leave_out(self, folder: str, names: Sequence[str]) -> set[str]:
        """Leave out where authors keep the answers, and links there: an agent could read them."""
        paths = {name: os.path.join(os.path.realpath(folder), name) for name in names}
        return {
            name
            for name, path in paths.items()
            if is_test_file(name)
            or path == self.answers
            or (os.path.islink(path) and os.path.isabs(os.readlink(path)))
        }

    def _do(self, task: ProofTask, made: str) -> AgentRun:
        folder, home, tests = (os.path.join(made, name) for name in ("work", "home", "tests"))
        prompt = _move_paths(task.prompt, made) if task.tests else task.prompt
        words = {"prompt": prompt, "model": self.model, "python": sys.executable}
        variables = {**self.environment, "HOME": home, "PROWESS_HOME": os.path.join(home, "p")}
        command = ChildCommand(
            argv=tuple(_fill(part, words) for part in self.argv),
            environment=variables,
            folder=folder,
            seconds=self.seconds,
        )
        done = ChildProcesses().run(command)
        end_all_with(f"HOME={home}")
        if done.timed_out:
            return AgentRun(timed_out=True, cost=self.price)
        if done.code != 0:
            last = (done.problem or done.stderr or done.stdout).strip()[-300:]
            return AgentRun(problem=f"{self.name} ended with {done.code}: {last}", cost=self.price)
        # Without its skills: who judges must not see which side it is.
        files = _read_files(folder, os.path.join(folder, self.skills))
        _lay_out_tests(task, made)
        checks = [check.command for check in task.checks if check.kind is CheckKind.COMMAND]
        left = LeftBehind(
            answer=done.stdout,
            files=files,
            commands={
                words: _check(words, folder, {**variables, "TESTS": tests}) for words in checks
            },
        )
        return AgentRun(left=left, cost=self.price)


def open_agent(
    which: str, environ: Mapping[str, str], *, model: str, price: float | None, seconds: float
) -> AgentProgram:
    """Return the agent of a name, or a command of the user's own (`command:PROGRAM {prompt}`).

    Raises:
        ProofError: there is no such agent, or its program or model is missing.
    """
    table = read_table(_TABLE)
    prefixes = tuple(read_words(table["environment"]["prefixes"]))
    kept = {k: v for k, v in environ.items() if k in _KEPT or k.startswith(prefixes)}
    if which.startswith(COMMAND):
        argv = tuple(which.removeprefix(COMMAND).split())
        argv = argv if any("{prompt}" in word for word in argv) else (*argv, "{prompt}")
        skills, usual = "skills", 0.0
        kept = dict(environ)
    elif which in table and "argv" in table[which]:
        row = table[which]
        argv, skills, usual = tuple(row["argv"]), str(row["skills"]), float(row["price"])
    else:
        names = ", ".join(name for name, row in table.items() if "argv" in row)
        raise ProofError(f"no agent is called {which}: give one of {names}, or {COMMAND}PROGRAM.")
    if "{model}" in argv and not model:
        raise ProofError(f"{which} needs a model: give --model NAME.")
    program = _fill(argv[0], {"python": sys.executable})
    found = find_program(program, environ)
    if not found.path:
        raise ProofError(f"{which} cannot be run: {found.problem}")
    return AgentProgram(
        name=which,
        argv=argv,
        skills=skills,
        model=model,
        price=usual if price is None else price,
        seconds=seconds,
        environment=kept,
    )


def find_judge_price() -> float:
    """Return what it is taken to cost to let one expectation be judged, in dollars."""
    return float(read_table(_TABLE)["judge"]["price"])


def _fill(part: str, words: Mapping[str, str]) -> str:
    # Not `format`: a prompt may hold braces.
    for name, text in words.items():
        if part == f"{{{name}}}":
            return text
    return part


def _lay_out(folder: str, task: ProofTask) -> str:
    """Write the task's files; return what is wrong with them."""
    os.makedirs(folder)
    for path, data in task.files.items():
        inner = os.path.normpath(path)
        if os.path.isabs(inner) or inner.startswith(".."):
            return f"the task's file {path} leads out of its folder"
        target = os.path.join(folder, inner)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(data)
    return ""


def _lay_out_tests(task: ProofTask, made: str) -> None:
    """Write what checks beside where the agent worked, now that it can change nothing any more."""
    for name in ("tests", "logs"):
        # An agent that grades itself does not count.
        shutil.rmtree(os.path.join(made, name), ignore_errors=True)
    for path, data in task.tests.items():
        target = os.path.join(made, "tests", path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        text = _move_paths(data.decode("utf-8", "surrogateescape"), made)
        with open(target, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
    os.makedirs(os.path.join(made, "logs", "verifier"))


def _move_paths(text: str, made: str) -> str:
    """Return a text of a task for a container with the paths of this run."""
    return _CONTAINER.sub(lambda found: os.path.join(made, _PLACES[found[1]]), text)


def _read_files(folder: str, but: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if os.path.join(base, name) != but]
        for name in names:
            path = os.path.join(base, name)
            content = read_bounded(path, _MOST_TEXT)
            if os.path.isfile(path) and not os.path.islink(path) and len(found) < _MOST_FILES:
                relative = os.path.relpath(path, folder).replace(os.sep, "/")
                # What is too long to be read is there nonetheless.
                data = content.data if isinstance(content, Content) else b""
                found[relative] = data.decode("utf-8", "replace")
    return found


def _check(words: Sequence[str], folder: str, variables: Mapping[str, str]) -> bool | None:
    command = ChildCommand(
        argv=tuple(words), environment=variables, folder=folder, seconds=_CHECK_S
    )
    done = ChildProcesses().run(command)
    # A checker that the machine does not have says nothing about the work.
    if done.code is None or done.code in _NOT_STARTED:
        return None
    reward = read_bounded(os.path.join(folder, os.pardir, "logs", "verifier", "reward.txt"), 100)
    return reward.data.strip() in {b"1", b"1.0"} if isinstance(reward, Content) else done.code == 0


_FOLDER = "proofs"


class JournalFile:
    """The runs of one proof, a line each."""

    def __init__(self, state: str, key: Sequence[str]) -> None:
        name = sha256("\0".join(key).encode("utf-8", "replace")).hexdigest()[:32]
        self._path = os.path.join(state, _FOLDER, f"{name}.jsonl")

    def read(self) -> list[RunRecord]:
        """Return the runs that ended; a line that was cut off by a kill is no run."""
        try:
            with open(self._path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            return []
        return [record for line in lines if (record := _read(line)) is not None]

    def add(self, record: RunRecord) -> None:
        """Write one run down, on the disk before the next begins.

        Raises:
            StoreError: it cannot be written.
        """
        row = {
            "task": record.task,
            "withSkill": record.with_skill,
            "number": record.number,
            "outcome": record.outcome.value,
            "cost": record.cost,
            "problem": record.problem,
        }
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                # On a line of its own, also behind one that was cut off.
                file.write(f"\n{json.dumps(row)}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(self._path, f"cannot be written: {explain_failure(error)}.") from error


def _read(line: str) -> RunRecord | None:
    try:
        row = json.loads(line)
        return RunRecord(
            task=str(row["task"]),
            with_skill=bool(row["withSkill"]),
            number=int(row["number"]),
            outcome=RunOutcome(row["outcome"]),
            cost=float(row["cost"]),
            problem=str(row["problem"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


class ProofsFile:
    """The verdicts of one state folder, by the path of the skill."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, PROOFS_FILE)

    def read(self) -> Mapping[str, ProofVerdict]:
        """Return them all; what cannot be read counts as none."""
        try:
            values = read_mapping(self._path)
        except (OSError, ValueError):
            return {}
        found = {}
        for path, row in values.items():
            if isinstance(row, Mapping) and (verdict := _verdict(row)) is not None:
                found[path] = verdict
        return found

    def write(self, path: str, verdict: ProofVerdict) -> None:
        """Keep the verdict on one skill.

        Raises:
            StoreError: it cannot be kept.
        """

        def change(values: dict[str, Any]) -> None:
            values[path] = verdict.fields()

        change_mapping(self._path, change)


def _verdict(row: Mapping[str, Any]) -> ProofVerdict | None:
    try:
        given = {one.name: row[one.name] for one in fields(ProofVerdict)}
        numbers = {name: float(given[name]) for name in ("mean", "low", "high")}
        return ProofVerdict(**{**given, **numbers, "tasks": int(given["tasks"])})
    except (KeyError, TypeError, ValueError):
        return None
