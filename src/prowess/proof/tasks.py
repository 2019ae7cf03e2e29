"""Tasks by which a skill is put to the proof, in the shapes that authors write, and their grades.

`evals.json` as skill authors ship it (prompt, files, expectations), tasks in the manner of
SkillsBench (instruction, and a script that verifies), and our own YAML with checks. What an
expectation asks for is checked by script where its words say how; what is left over is for a judge,
and such runs are not counted where there is none. What the skill is worth is the difference that it
makes between runs with it and runs without.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from itertools import pairwise
from statistics import NormalDist

from prowess.errors import SuiteError

_LONGEST_PROMPT, _MOST_TASKS = 100_000, 1_000
# A prompt of this length, or an answer of that one, stands in a skill by no chance.
_GIVEN_AWAY, _WHOLE_ANSWER = 20, 60
_NEARLY_ALL, _FEWEST_WORDS, _SHORT_WORD = 0.75, 3, 3
_QUOTED = r"(?:`[^`]{1,300}`|\"[^\"]{1,300}\"|“[^”]{1,300}”|'[^']{1,300}')"
_LISTED = rf"(?P<quoted>{_QUOTED}(?:,? (?:(?P<either>or) |and |nor )?{_QUOTED})*)"
_WHO = (
    r"(?:(?:the|its|an?|final|(?:agent|assistant|model)['\u2019]s) )*"
    r"(?:answer|response|reply|message|it|agent|assistant|model|(?P<all>output|result)s?)"
)
# Only a sentence that is understood to its last word is checked by script: a "not", an "or" or a
# "twice" that is read over turns a grade around.
_HOLDS = re.compile(
    rf"(?:(?:the )?(?:file )?(?P<path>{_QUOTED}) |{_WHO} )?"
    r"(?P<not>(?:(?:does|do|did|must|should|shall|may|can)(?: not|n['\u2019]t)|cannot|never) )?"
    r"(?:must |should |shall )?"
    r"(?:contain|include|mention|say|state|print|name|hold|show|ha(?:s|ve))s? "
    r"(?:(?:the|an?|both|either|exact|literal|(?:word|text|phrase|string|line|heading|section|title)s?"
    rf"|named|called|titled) )*{_LISTED}\.?",
    re.IGNORECASE,
)
_EXISTS = re.compile(
    rf"(?:(?:the|an?|output|new|file|named|called|there is) )*(?P<path>{_QUOTED})"
    r" (?:(?:must |should )?exists?|(?:is|was|gets) (?:there|created|written|saved|present))\.?"
    rf"|(?:{_WHO} |there )?(?:must |should )?(?:create|write|save|produce|i)s? "
    rf"(?:(?:the|an?|its|output|new|file|named|called|to|at) )*(?P<made>{_QUOTED})\.?",
    re.IGNORECASE,
)


class CheckKind(Enum):
    """How a check looks at what an agent left behind."""

    ANSWER_HAS = "answer has"
    ANSWER_LACKS = "answer lacks"
    # In the answer, or in a file that the task did not lay out.
    OUTPUT_HAS = "output has"
    OUTPUT_LACKS = "output lacks"
    ANSWER_MATCHES = "answer matches"
    FILE_EXISTS = "file exists"
    FILE_HAS = "file has"
    FILE_LACKS = "file lacks"
    COMMAND = "command"
    JUDGE = "judge"


_WANTED = frozenset((CheckKind.ANSWER_HAS, CheckKind.OUTPUT_HAS, CheckKind.FILE_HAS))


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
    files: Mapping[str, bytes] = field(default_factory=dict)
    checks: tuple[TaskCheck, ...] = ()
    # What a command needs that checks: laid out when the agent is done.
    tests: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def judged(self) -> int:
        """How many of its checks only a reader can tell."""
        return sum(check.kind is CheckKind.JUDGE for check in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """What an agent left: its answer, and the files of its folder."""

    answer: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    # By the words of a command check, whether it ended well; None where it could not be started.
    commands: Mapping[tuple[str, ...], bool | None] = field(default_factory=dict)


def read_tasks(
    value: object, where: str, read: Callable[[str], bytes | None]
) -> tuple[ProofTask, ...]:
    """Read the tasks of a parsed file.

    Args:
        value: what the file holds.
        where: the file, for messages.
        read: reads a file beside it, for tasks that name files instead of holding them.

    Raises:
        SuiteError: there is no task in it that could be graded, or one cannot be read as it says.
    """
    rows = value
    if isinstance(value, Mapping):
        rows = next((value[key] for key in ("tasks", "evals", "cases") if key in value), [value])
    if not isinstance(rows, list):
        raise SuiteError(
            where, "is no list of tasks: write `tasks: [{prompt: ..., checks: [...]}]`."
        )
    try:
        found = [
            task
            for number, row in enumerate(rows[:_MOST_TASKS])
            if isinstance(row, Mapping) and (task := _read_task(row, number, read)) is not None
        ]
    except ValueError as error:
        raise SuiteError(where, f"{error}.") from error
    if not any(task.checks for task in found):
        raise SuiteError(where, "holds no task with a prompt and something to check.")
    names = [task.id for task in found]
    if len(set(names)) < len(names):
        raise SuiteError(where, "names two tasks alike: give each an id of its own.")
    return tuple(found)


def _read_task(
    row: Mapping[object, object], number: int, read: Callable[[str], bytes | None]
) -> ProofTask | None:
    prompts = (_text(row.get(key)) for key in ("prompt", "instruction", "query", "input"))
    prompt = next(filter(None, prompts), "")
    checks = (*_read_checks(row.get("checks")), *_read_expectations(row))
    if not prompt:
        return None
    return ProofTask(
        id=_text(row.get("id")) or _text(row.get("name")) or str(row.get("id") or number + 1),
        prompt=prompt[:_LONGEST_PROMPT],
        files=_read_files(row.get("files"), read),
        checks=checks,
    )


def _read_files(value: object, read: Callable[[str], bytes | None]) -> dict[str, bytes]:
    if isinstance(value, Mapping):
        return {str(path): str(text).encode() for path, text in value.items()}
    found = {}
    for path in map(str, value if isinstance(value, list) else ()):
        data = read(path)
        if data is None:
            raise ValueError(f"names a file that cannot be read: {path}")
        found[path.removeprefix("evals/").removeprefix("files/")] = data
    return found


def _read_expectations(row: Mapping[object, object]) -> list[TaskCheck]:
    for key in ("expectations", "assertions", "expected_behavior", "expected_behaviour"):
        said = row.get(key)
        if isinstance(said, list):
            texts = (_text(one) or _inner(one) for one in said)
            return [check for text in texts if text for check in read_expectation(text)]
    script = row.get("verifier") or row.get("test") or row.get("verify")
    if isinstance(script, str) and script.strip():
        return [TaskCheck(kind=CheckKind.COMMAND, command=("sh", "-c", script))]
    expected = _text(row.get("expected_output")) or _text(row.get("expected"))
    return read_expectation(expected) if expected else []


def _inner(value: object) -> str:
    if not isinstance(value, Mapping):
        return ""
    return _text(value.get("text")) or _text(value.get("description")) or _text(value.get("value"))


def read_expectation(text: str) -> list[TaskCheck]:
    """Return how a sentence is checked: by its own words, else by a judge."""
    plain = " ".join(text.split())
    if (exists := _EXISTS.fullmatch(plain)) and (path := _path(exists["path"] or exists["made"])):
        return [TaskCheck(kind=CheckKind.FILE_EXISTS, path=path)]
    held = _HOLDS.fullmatch(plain)
    path = _path(held["path"]) if held else ""
    # Of several by "or" one is enough, unless none of them may be there.
    if held is None or bool(held["path"]) != bool(path) or (held["either"] and not held["not"]):
        return [TaskCheck(kind=CheckKind.JUDGE, text=text)]
    has, lacks = CheckKind.ANSWER_HAS, CheckKind.ANSWER_LACKS
    if path:
        has, lacks = CheckKind.FILE_HAS, CheckKind.FILE_LACKS
    elif held["all"]:
        has, lacks = CheckKind.OUTPUT_HAS, CheckKind.OUTPUT_LACKS
    quoted = [one[1:-1] for one in re.findall(_QUOTED, held["quoted"])]
    return [TaskCheck(kind=lacks if held["not"] else has, path=path, text=one) for one in quoted]


def _path(quoted: str | None) -> str:
    """Return what is quoted where it could be a file."""
    found = re.fullmatch(r"\w*[./][\w./-]*|[A-Z]\w+file", (quoted or "")[1:-1])
    return found[0] if found else ""


def _read_checks(value: object) -> list[TaskCheck]:
    found: list[TaskCheck] = []
    for row in value if isinstance(value, list) else []:
        found += read_expectation(row) if isinstance(row, str) else [_read_check(row)]
    return found


_KINDS = {
    "answer": CheckKind.ANSWER_HAS,
    "not": CheckKind.ANSWER_LACKS,
    "matches": CheckKind.ANSWER_MATCHES,
    "judge": CheckKind.JUDGE,
}


def _read_check(row: object) -> TaskCheck:
    """Read one check; what is not known is refused, since a check that is left out passes."""
    given = {key: value for key, value in row.items() if value} if isinstance(row, Mapping) else {}
    match given:
        case {"file": str(path), **rest} if not rest:
            return TaskCheck(kind=CheckKind.FILE_EXISTS, path=path)
        case {"file": str(path), "contains": str(text), **rest} if not rest:
            return TaskCheck(kind=CheckKind.FILE_HAS, path=path, text=text)
        case {"command": [*words], **rest} if not rest:
            return TaskCheck(kind=CheckKind.COMMAND, command=tuple(map(str, words)))
        case {"command": str(script), **rest} if not rest:
            return TaskCheck(kind=CheckKind.COMMAND, command=("sh", "-c", script))
    key, text = next(iter(given.items())) if len(given) == 1 else ("", "")
    if key not in _KINDS or not isinstance(text, str):
        raise ValueError(f"has a check that is not known, or a number without quotes: {row}")
    if key == "matches":
        try:
            re.compile(text)
        except re.error as error:
            raise ValueError(f"has a pattern that cannot be read ({error}): {text}") from error
    return TaskCheck(kind=_KINDS[key], text=text)


def grade(task: ProofTask, left: LeftBehind, judged: Mapping[str, bool | None]) -> RunOutcome:
    """Return how a run came out.

    Args:
        task: what was asked.
        left: what the agent left behind.
        judged: by the text of an expectation what a judge said; None where it could not say.
    """
    told = [_holds(check, task, left, judged) for check in task.checks]
    if any(one is False for one in told):
        return RunOutcome.FAIL
    if all(one is True for one in told):
        return RunOutcome.PASS
    unsaid = [check.kind for check, one in zip(task.checks, told, strict=True) if one is None]
    return RunOutcome.JUDGE_ERROR if CheckKind.JUDGE in unsaid else RunOutcome.INFRA_ERROR


def _holds(
    check: TaskCheck, task: ProofTask, left: LeftBehind, judged: Mapping[str, bool | None]
) -> bool | None:
    if check.kind is CheckKind.COMMAND:
        return left.commands.get(check.command)
    if check.kind is CheckKind.JUDGE:
        return judged.get(check.text)
    if check.kind is CheckKind.ANSWER_MATCHES:
        return re.search(check.text, left.answer) is not None
    if check.kind is CheckKind.FILE_EXISTS:
        return _file(check) in left.files
    places = [left.answer]
    if check.kind in {CheckKind.FILE_HAS, CheckKind.FILE_LACKS}:
        places = [left.files.get(_file(check), "")]
    elif check.kind in {CheckKind.OUTPUT_HAS, CheckKind.OUTPUT_LACKS}:
        places += [text for path, text in left.files.items() if path not in task.files]
    has = any(check.text.casefold() in text.casefold() for text in places)
    lacks = {CheckKind.ANSWER_LACKS, CheckKind.OUTPUT_LACKS, CheckKind.FILE_LACKS}
    return has != (check.kind in lacks)


def _file(check: TaskCheck) -> str:
    return check.path.removeprefix("./")


def is_test_file(name: str) -> bool:
    """Return whether authors keep tasks and answers under this name, beside a skill."""
    return name in {"evals", "eval", "evals.json", "tasks.yaml", "tasks.yml"}


def gives_away(task: ProofTask, texts: Sequence[str]) -> bool:
    """Return whether a skill holds a task, or the answer that it checks for, word for word.

    A short answer may be what the skill teaches: it is given away only beside what the task asks.
    """
    given = [task.prompt] if len(task.prompt) >= _GIVEN_AWAY else []
    given += [check.text for check in task.checks if len(check.text) >= _WHOLE_ANSWER]
    folded = [_folded(text) for text in texts]
    return any(_folded(one) in text for one in given for text in folded) or any(
        _is_answered(task, lines)
        for text in texts
        for lines in pairwise([*map(_folded, filter(str.strip, text.splitlines())), ""])
    )


def _is_answered(task: ProofTask, lines: tuple[str, str]) -> bool:
    """Return whether two lines ask what the task asks, in nearly all its words, and answer it."""
    asked = {word for word in _folded(task.prompt).split() if len(word) > _SHORT_WORD}
    numbers = set(re.findall(r"\d+", task.prompt))
    said = set(" ".join(lines).split())
    if len(asked | numbers) < _FEWEST_WORDS or not numbers <= said:
        return False
    answers = (_folded(check.text) for check in task.checks if check.kind in _WANTED)
    own = [one for one in answers if one and f" {one} " not in f" {_folded(task.prompt)} "]
    is_there = any(f" {one} " in f" {' '.join(lines)} " for one in own)
    return is_there and len(asked & said) >= _NEARLY_ALL * len(asked)


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


_NORMAL = NormalDist()
_ALPHA, _POWER = 0.05, 0.8
LEAST_TASKS = 5
_SMALLEST = 1e-12
# A smaller lift is not looked for: it would take more tasks than anybody has.
_SMALLEST_LIFT = 0.05
# Nobody gives up before so much of the work is done, or while so much of a chance is left.
_TOO_EARLY, _HOPELESS = 0.35, 0.25


class LiftVerdict(Enum):
    """What the runs show."""

    PROVEN = "proven"
    HARMFUL = "harmful"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRuns:
    """How the runs of one task came out, with and without the skill."""

    with_skill: tuple[bool, ...] = ()
    without: tuple[bool, ...] = ()

    @property
    def difference(self) -> float | None:
        """The lift of this task; None where one side has no run that counts."""
        if not self.with_skill or not self.without:
            return None
        return _share(self.with_skill) - _share(self.without)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """The mean difference over tasks, its interval, and what follows from it."""

    verdict: LiftVerdict
    tasks: int
    mean: float
    low: float
    high: float
    # How many more tasks like these it would take, at this lift, to be as good as sure.
    more_tasks: int = 0
    # Whether more runs of this plan would be wasted.
    is_settled: bool = False


def measure(tasks: Sequence[TaskRuns], *, planned: int | None = None, looks: int = 1) -> Lift:
    """Return what the runs so far show.

    Args:
        tasks: one for each task that was run.
        planned: how many tasks there are in all; by default these.
        looks: how often anybody looks in all, this being one of them.
    """
    found = [one for one in (task.difference for task in tasks) if one is not None]
    # A task that says nothing is as good as never planned: it must not make a look look early.
    total = max((planned or len(tasks)) - (len(tasks) - len(found)), len(found))
    if len(found) < LEAST_TASKS:
        return Lift(
            verdict=LiftVerdict.INCONCLUSIVE,
            tasks=len(found),
            mean=sum(found) / len(found) if found else 0.0,
            low=-1.0,
            high=1.0,
            more_tasks=LEAST_TASKS - len(found),
        )
    mean, error = _mean_and_error(found)
    level = _spent(len(found) / total, looks)
    half = student_quantile(1 - level / 2, len(found) - 1) * error
    verdict = LiftVerdict.INCONCLUSIVE
    if abs(mean) > half:
        verdict = LiftVerdict.PROVEN if mean > 0 else LiftVerdict.HARMFUL
    is_open = verdict is LiftVerdict.INCONCLUSIVE
    return Lift(
        verdict=verdict,
        tasks=len(found),
        mean=mean,
        low=max(mean - half, -1.0),
        high=min(mean + half, 1.0),
        more_tasks=max(needed_tasks(found) - len(found), 0) if is_open else 0,
        is_settled=not is_open or len(found) >= total or _is_futile(found, total),
    )


def needed_tasks(differences: Sequence[float]) -> int:
    """Return how many tasks such differences need to be shown with four chances in five."""
    mean, error = _mean_and_error(differences)
    spread = error * math.sqrt(len(differences))
    effect = max(abs(mean), _SMALLEST_LIFT)
    sure = _NORMAL.inv_cdf(1 - _ALPHA / 2) + _NORMAL.inv_cdf(_POWER)
    return max(math.ceil((sure * spread / effect) ** 2), LEAST_TASKS)


def plan_looks(planned: int, most: int = 8) -> tuple[int, ...]:
    """Return after how many tasks it is worth looking."""
    steps = [round(planned * part / most) for part in range(1, most + 1)]
    return tuple(sorted({step for step in steps if step >= LEAST_TASKS} | {planned}))


def _share(runs: Sequence[bool]) -> float:
    return sum(runs) / len(runs)


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error; what never varied is not taken for certain."""
    count = len(values)
    mean = sum(values) / count
    variance = sum((value - mean) ** 2 for value in values) / max(count - 1, 1)
    # Where all tasks came out alike the next one may still not: half a run is added to each side.
    floor = 1 / (4 * count) if variance < _SMALLEST else 0.0
    return mean, math.sqrt(max(variance, floor) / count)


def _spent(done: float, looks: int) -> float:
    """Return the level of one look, after a share `done` of the work."""
    return _ALPHA if looks <= 1 else _ALPHA * min(done, 1.0) ** 2


def _is_futile(found: Sequence[float], total: int) -> bool:
    """Return whether what is left could hardly bring a verdict, even if it went well."""
    if len(found) < total * _TOO_EARLY:
        return False
    mean, error = _mean_and_error(found)
    spread, left = error * math.sqrt(len(found)), total - len(found)
    bar = _NORMAL.inv_cdf(1 - _ALPHA / 2) * spread * math.sqrt(total)
    # The sum at the end: what there is, and the rest at a lift of one error more than is seen.
    expected = abs(mean) * len(found) + (abs(mean) + error) * left
    chance = 1 - _NORMAL.cdf((bar - expected) / max(spread * math.sqrt(left), _SMALLEST))
    return chance < _HOPELESS


@cache
def student_quantile(share: float, freedom: int) -> float:
    """Return the quantile of Student's distribution, by bisection on its exact tail."""
    low, high = 0.0, 1_000.0
    if share == 1 / 2:
        return 0.0
    for _ in range(80):
        middle = (low + high) / 2
        if _student_cdf(middle, freedom) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _student_cdf(value: float, freedom: int) -> float:
    """Return the distribution at a positive value, by the finite sums for whole numbers."""
    angle = math.atan(value / math.sqrt(freedom))
    cosine = math.cos(angle)
    if freedom % 2:
        total, term = 0.0, cosine
        for step in range(1, (freedom - 1) // 2 + 1):
            total += term
            term *= cosine * cosine * (2 * step) / (2 * step + 1)
        inside = (angle + math.sin(angle) * total) * 2 / math.pi
    else:
        total, term = 0.0, 1.0
        for step in range(1, freedom // 2 + 1):
            total += term
            term *= cosine * cosine * (2 * step - 1) / (2 * step)
        inside = math.sin(angle) * total
    return (1 + inside) / 2
