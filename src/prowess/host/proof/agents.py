"""Agents that do tasks: each run in a fresh folder and a fresh home, which are gone afterwards.

An agent gets the task's files, its skill or none, and of the environment only what reaches a model.
What it left is read, and the task's own checks by command are run where it worked.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prowess.data import read_table, read_words
from prowess.errors import ProofError
from prowess.host.files.handles import Content, read_bounded
from prowess.host.processes.children import ChildProcesses
from prowess.host.processes.facts import find_program
from prowess.proof.tasks import CheckKind, LeftBehind, ProofTask
from prowess.runtime.ports import ChildCommand
from prowess.runtime.proof.prove import AgentRun
from prowess.skills.model import Skill

_TABLE = "host/proof/agents.toml"
_COMMAND = "command:"
_TESTS = frozenset(("evals", "eval", "tasks"))
_CHECK_S, _MOST_FILES, _MOST_TEXT = 60.0, 2_000, 400_000
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

    def run(self, task: ProofTask, skills: Sequence[Skill]) -> AgentRun:
        """Do one task; folder and home are made for it and removed."""
        with tempfile.TemporaryDirectory(prefix="prowess-proof-") as made:
            folder, home = os.path.join(made, "work"), os.path.join(made, "home")
            os.makedirs(home)
            problem = _lay_out(folder, task)
            for skill in () if problem else skills:
                target = os.path.join(folder, self.skills, skill.name)
                shutil.copytree(skill.folder, target, symlinks=True, ignore=_leave_out_tests)
            return AgentRun(problem=problem) if problem else self._do(task, folder, home)

    def _do(self, task: ProofTask, folder: str, home: str) -> AgentRun:
        words = {"prompt": task.prompt, "model": self.model, "python": sys.executable}
        variables = {**self.environment, "HOME": home, "PROWESS_HOME": os.path.join(home, "p")}
        command = ChildCommand(
            argv=tuple(_filled(part, words) for part in self.argv),
            environment=variables,
            folder=folder,
            seconds=self.seconds,
        )
        done = ChildProcesses().run(command)
        if done.timed_out:
            return AgentRun(timed_out=True, cost=self.price)
        if done.code != 0:
            last = (done.problem or done.stderr or done.stdout).strip()[-300:]
            return AgentRun(problem=f"{self.name} ended with {done.code}: {last}", cost=self.price)
        files = _read_files(folder)
        checks = [check.command for check in task.checks if check.kind is CheckKind.COMMAND]
        left = LeftBehind(
            answer=done.stdout,
            files=files,
            commands={words: _check(words, folder, variables) for words in checks},
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
    if which.startswith(_COMMAND):
        argv = tuple(which.removeprefix(_COMMAND).split())
        argv = argv if any("{prompt}" in word for word in argv) else (*argv, "{prompt}")
        skills, usual = "skills", 0.0
        kept = dict(environ)
    elif which in table and "argv" in table[which]:
        row = table[which]
        argv, skills, usual = tuple(row["argv"]), str(row["skills"]), float(row["price"])
    else:
        names = ", ".join(name for name, row in table.items() if "argv" in row)
        raise ProofError(f"no agent is called {which}: give one of {names}, or {_COMMAND}PROGRAM.")
    if "{model}" in argv and not model:
        raise ProofError(f"{which} needs a model: give --model NAME.")
    program = _filled(argv[0], {"python": sys.executable})
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


def _filled(part: str, words: Mapping[str, str]) -> str:
    # Not `format`: a prompt may hold braces.
    for name, text in words.items():
        if part == f"{{{name}}}":
            return text
    return part


def _leave_out_tests(_folder: str, names: Sequence[str]) -> set[str]:
    """Leave out where authors keep the answers: an agent could read them."""
    return {name for name in names if name.partition(".")[0] in _TESTS}


def _lay_out(folder: str, task: ProofTask) -> str:
    """Write the task's files; return what is wrong with them."""
    os.makedirs(folder)
    for path, text in task.files.items():
        inner = os.path.normpath(path)
        if os.path.isabs(inner) or inner.startswith(".."):
            return f"the task's file {path} leads out of its folder"
        target = os.path.join(folder, inner)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
    return ""


def _read_files(folder: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for base, _folders, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            content = read_bounded(path, _MOST_TEXT)
            if isinstance(content, Content) and len(found) < _MOST_FILES:
                relative = os.path.relpath(path, folder).replace(os.sep, "/")
                found[relative] = content.data.decode("utf-8", "replace")
    return found


def _check(words: Sequence[str], folder: str, variables: Mapping[str, str]) -> bool | None:
    command = ChildCommand(
        argv=tuple(words), environment=variables, folder=folder, seconds=_CHECK_S
    )
    done = ChildProcesses().run(command)
    return None if done.code is None else done.code == 0
