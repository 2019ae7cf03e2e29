"""Tasks by which a skill is put to the proof, in the shapes that authors write, and their grades.

`evals.json` as skill authors ship it (prompt, files, expectations), tasks in the manner of
SkillsBench (instruction, and a script that verifies), and our own YAML with checks. What an
expectation asks for is checked by script where its words say how; what is left over is for a judge,
and such runs are not counted where there is none.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from prowess.errors import SuiteError

_LONGEST_PROMPT, _MOST_TASKS = 100_000, 1_000
# A prompt of this length, or an answer of that one, stands in a skill by no chance.
_GIVEN_AWAY, _WHOLE_ANSWER = 20, 60
_QUOTED = r"[`\"'“](?P<text>[^`\"'”]{1,300})[`\"'”]"
_FILE_EXISTS = re.compile(
    rf"(?:file|there is|creates?|writes?|saves?|produces?)\b[^`\"'“]{{0,40}}{_QUOTED}"
    r"(?:\s+(?:exists|is (?:created|written|there))|\s*\.?$)",
    re.IGNORECASE,
)
_FILE_HOLDS = re.compile(
    r"[`\"'“](?P<path>[\w./-]+\.\w+)[`\"'”]\s+(?:contains?|includes?|mentions?|has|holds?)\b"
    rf"[^`\"'“]{{0,40}}{_QUOTED}",
    re.IGNORECASE,
)
_ANSWER_LACKS = re.compile(
    r"(?:does not|doesn't|never|must not)\s+(?:contains?|includes?|mentions?|says?)\b"
    rf"[^`\"'“]{{0,40}}{_QUOTED}",
    re.IGNORECASE,
)
_ANSWER_HOLDS = re.compile(
    r"(?:contains?|includes?|mentions?|says?|states?|outputs?|prints?|names?)\b"
    rf"[^`\"'“]{{0,40}}{_QUOTED}",
    re.IGNORECASE,
)


class CheckKind(Enum):
    """How a check looks at what an agent left behind."""

    ANSWER_HAS = "answer has"
    ANSWER_LACKS = "answer lacks"
    ANSWER_MATCHES = "answer matches"
    FILE_EXISTS = "file exists"
    FILE_HAS = "file has"
    COMMAND = "command"
    JUDGE = "judge"


class RunOutcome(Enum):
    """How one run came out; only the first two say something about the skill."""

    # No password: how a run came out.
    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    JUDGE_ERROR = "judge_error"
    INFRA_ERROR = "infra_error"
    TIMEOUT = "timeout"
    CHEAT = "cheat"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCheck:
    """One thing that has to hold after a run."""

    kind: CheckKind
    text: str = ""
    path: str = ""
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofTask:
    """What an agent is asked, which files it finds, and what has to hold afterwards."""

    id: str
    prompt: str
    files: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[TaskCheck, ...] = ()

    @property
    def needs_judge(self) -> bool:
        """True where some of it only a reader can tell."""
        return any(check.kind is CheckKind.JUDGE for check in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """What an agent left: its answer, and the files of its folder."""

    answer: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    # By the words of a command check, whether it ended well; None where it could not be started.
    commands: Mapping[tuple[str, ...], bool | None] = field(default_factory=dict)


def read_tasks(value: object, where: str, files: Mapping[str, str]) -> tuple[ProofTask, ...]:
    """Read the tasks of a parsed file.

    Args:
        value: what the file holds.
        where: the file, for messages.
        files: the texts beside it, for tasks that name files instead of holding them.

    Raises:
        SuiteError: there is no task in it that could be graded.
    """
    rows = value
    if isinstance(value, Mapping):
        rows = next((value[key] for key in ("tasks", "evals", "cases") if key in value), [value])
    if not isinstance(rows, list):
        raise SuiteError(
            where, "is no list of tasks: write `tasks: [{prompt: ..., checks: [...]}]`."
        )
    found = [
        task
        for number, row in enumerate(rows[:_MOST_TASKS])
        if isinstance(row, Mapping) and (task := _read_task(row, number, files)) is not None
    ]
    if not found:
        raise SuiteError(where, "holds no task with a prompt and something to check.")
    names = [task.id for task in found]
    if len(set(names)) < len(names):
        raise SuiteError(where, "names two tasks alike: give each an id of its own.")
    return tuple(found)


def _read_task(
    row: Mapping[object, object], number: int, files: Mapping[str, str]
) -> ProofTask | None:
    prompt = next(
        (
            text
            for key in ("prompt", "instruction", "query", "input")
            if (text := _text(row.get(key)))
        ),
        "",
    )
    checks = (*_read_checks(row.get("checks")), *_read_expectations(row))
    if not prompt or not checks:
        return None
    return ProofTask(
        id=_text(row.get("id")) or _text(row.get("name")) or str(row.get("id") or number + 1),
        prompt=prompt[:_LONGEST_PROMPT],
        files=_read_files(row.get("files"), files),
        checks=checks,
    )


def _read_files(value: object, beside: Mapping[str, str]) -> dict[str, str]:
    if isinstance(value, Mapping):
        return {str(path): str(text) for path, text in value.items()}
    if not isinstance(value, list):
        return {}
    named = [str(path) for path in value]
    return {path.removeprefix("evals/files/"): beside[path] for path in named if path in beside}


def _read_expectations(row: Mapping[object, object]) -> list[TaskCheck]:
    for key in ("expectations", "assertions", "expected_behavior", "expected_behaviour"):
        said = row.get(key)
        if isinstance(said, list):
            return [read_expectation(text) for one in said if (text := _text(one) or _inner(one))]
    script = row.get("verifier") or row.get("test") or row.get("verify")
    if isinstance(script, str) and script.strip():
        return [TaskCheck(kind=CheckKind.COMMAND, command=("sh", "-c", script))]
    expected = _text(row.get("expected_output")) or _text(row.get("expected"))
    return [read_expectation(expected)] if expected else []


def _inner(value: object) -> str:
    if not isinstance(value, Mapping):
        return ""
    return _text(value.get("text")) or _text(value.get("description")) or _text(value.get("value"))


def read_expectation(text: str) -> TaskCheck:
    """Return how a sentence is checked: by its own words, else by a judge."""
    held = _FILE_HOLDS.search(text)
    if held:
        return TaskCheck(kind=CheckKind.FILE_HAS, path=held["path"], text=held["text"])
    lacks = _ANSWER_LACKS.search(text)
    if lacks:
        return TaskCheck(kind=CheckKind.ANSWER_LACKS, text=lacks["text"])
    exists = _FILE_EXISTS.search(text)
    if exists and re.fullmatch(r"[\w./-]+\.\w+", exists["text"]):
        return TaskCheck(kind=CheckKind.FILE_EXISTS, path=exists["text"])
    has = _ANSWER_HOLDS.search(text)
    if has:
        return TaskCheck(kind=CheckKind.ANSWER_HAS, text=has["text"])
    return TaskCheck(kind=CheckKind.JUDGE, text=text)


def _read_checks(value: object) -> list[TaskCheck]:
    found = []
    for row in value if isinstance(value, list) else []:
        if isinstance(row, str):
            found.append(read_expectation(row))
        elif isinstance(row, Mapping):
            check = _read_check(row)
            if check is not None:
                found.append(check)
    return found


def _read_check(row: Mapping[object, object]) -> TaskCheck | None:
    path, has = _text(row.get("file")), _text(row.get("contains"))
    if path:
        kind = CheckKind.FILE_HAS if has else CheckKind.FILE_EXISTS
        return TaskCheck(kind=kind, path=path, text=has)
    command = row.get("command")
    if isinstance(command, list) and command:
        return TaskCheck(kind=CheckKind.COMMAND, command=tuple(str(word) for word in command))
    if isinstance(command, str) and command.strip():
        return TaskCheck(kind=CheckKind.COMMAND, command=("sh", "-c", command))
    kinds = {
        "answer": CheckKind.ANSWER_HAS,
        "not": CheckKind.ANSWER_LACKS,
        "matches": CheckKind.ANSWER_MATCHES,
        "judge": CheckKind.JUDGE,
    }
    for key, kind in kinds.items():
        if text := _text(row.get(key)):
            return TaskCheck(kind=kind, text=text)
    return None


def grade(task: ProofTask, left: LeftBehind, judged: Mapping[str, bool | None]) -> RunOutcome:
    """Return how a run came out.

    Args:
        task: what was asked.
        left: what the agent left behind.
        judged: by the text of an expectation what a judge said; None where it could not say.
    """
    told = [_holds(check, left, judged) for check in task.checks]
    if any(one is False for one in told):
        return RunOutcome.FAIL
    if all(one is True for one in told):
        return RunOutcome.PASS
    unsaid = [check.kind for check, one in zip(task.checks, told, strict=True) if one is None]
    return RunOutcome.JUDGE_ERROR if CheckKind.JUDGE in unsaid else RunOutcome.INFRA_ERROR


def _holds(check: TaskCheck, left: LeftBehind, judged: Mapping[str, bool | None]) -> bool | None:
    answer, text = left.answer.casefold(), check.text.casefold()
    if check.kind is CheckKind.COMMAND:
        return left.commands.get(check.command)
    if check.kind is CheckKind.JUDGE:
        return judged.get(check.text)
    if check.kind is CheckKind.ANSWER_MATCHES:
        return re.search(check.text, left.answer) is not None
    found = {
        CheckKind.ANSWER_HAS: text in answer,
        CheckKind.ANSWER_LACKS: text not in answer,
        CheckKind.FILE_EXISTS: check.path in left.files,
        CheckKind.FILE_HAS: text in left.files.get(check.path, "").casefold(),
    }
    return found[check.kind]


def gives_away(task: ProofTask, texts: Sequence[str]) -> bool:
    """Return whether a skill holds a task, or the long answer that it checks for, word for word.

    Such a task shows that the agent can copy, and nothing about the skill.
    """
    given = [task.prompt] if len(task.prompt) >= _GIVEN_AWAY else []
    given += [check.text for check in task.checks if len(check.text) >= _WHOLE_ANSWER]
    folded = [_folded(text) for text in texts]
    return any(_folded(one) in text for one in given for text in folded)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
