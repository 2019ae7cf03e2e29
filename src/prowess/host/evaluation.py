"""Suites, benchmarks, labelled sets, scenarios and saved tests from disk.

They come with skills that strangers wrote, so every file is bounded before and after it is
unpacked. A suite or a scenario that cannot be read never hides the others of its folder; a line of
a labelled set that cannot be read is an error that names it, since a set that lost samples measures
something else than it says.

Messages that were saved as tests are one small file of the state folder, which `prowess eval` reads
as a suite: each case has a `prompt` and either `expect` or `not`. Cases that somebody wrote into it
in another shape stay there, and are not shown.
"""

import base64
import binascii
import difflib
import json
import logging
import lzma
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from prowess.errors import PathError, StoreError, SuiteError, explain_failure
from prowess.evaluation.routing import LONGEST_MESSAGE, MOST_TESTS, RoutingTest
from prowess.evaluation.scanning import Label, LabelledSkill, SampleSet
from prowess.evaluation.scenarios import Broken, Problem, Scenario, read_scenario
from prowess.evaluation.suites import Bench, Problems, Suite, read_bench, read_suite, whole
from prowess.host.files.handles import Content, is_path, read_bounded
from prowess.host.files.state_files import locked, write_private
from prowess.settings import Limits
from prowess.skills import frontmatter
from prowess.skills.model import SKIPPED_FOLDERS
from prowess.skills.text import RepeatedKeyError, plain_name, relax, strict_loads
from prowess.skills.text import load as load_yaml

# What `xz -9` needs to unpack; a file may ask for gigabytes.
_MAX_MEMORY = 100_000_000


def unpack(path: str, packed: bytes, limit: int) -> bytes:
    """Return what the xz text `packed` holds, piece by piece and at most `limit` bytes.

    Raises:
        SuiteError: it is no whole xz file, or holds more.
    """
    parts: list[bytes] = []
    left = limit
    try:
        while packed:
            unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_MEMORY)
            parts.append(unpacker.decompress(packed, max_length=left + 1))
            left -= len(parts[-1])
            if left < 0:
                raise SuiteError(path, f"unpacks to more than {limit} bytes.")
            if not unpacker.eof:
                raise SuiteError(path, "ends before its content does.")
            # Streams may follow one another, with zeros between them.
            packed = unpacker.unused_data.lstrip(b"\0")
    except lzma.LZMAError as error:
        raise SuiteError(path, f"cannot be unpacked: {error}.") from error
    return b"".join(parts)


_MAX_SUITE_BYTES = 16_000_000
_MAX_PACKED_BYTES = 128_000_000
_MAX_BENCH_BYTES = 512_000_000
_MAX_FILES = 2_000
_DEEPEST = 6
_SUFFIXES = (".json", ".jsonl", ".yaml", ".yml")
_SUITE_STEMS = frozenset(("prowess-suite", "suite"))
# What evaluation tools leave beside the prompts.
_RESULT_STEMS = frozenset(("grading", "benchmark", "timing", "feedback", "history"))
_BENCH_PARTS = ("skills", "queries", "qrels")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSuites:
    """The suites at a path, and which files there could not be read."""

    suites: tuple[Suite, ...]
    problems: tuple[str, ...] = ()


class _Lines(NamedTuple):
    """The rows of a file of JSON lines by their line, and which lines are none."""

    rows: dict[int, object]
    problems: tuple[str, ...]


def skill_name_in(folder: str) -> str | None:
    """Return the name of the skill whose folder this is, or None where it is not a skill's."""
    path = _skill_file(folder)
    content = path and read_bounded(path, Limits().max_skill_file_bytes)
    if not isinstance(content, Content):
        return None
    name = frontmatter.read(frontmatter.decode(content.data).text).fields.get("name")
    return plain_name(name if isinstance(name, str) else "") or os.path.basename(folder)


def read_suites(path: str, skill_name: Callable[[str], str | None] = skill_name_in) -> FoundSuites:
    """Read the suite at `path`, or every suite of a folder.

    Args:
        path: a file, or a folder of suites or of skills.
        skill_name: tells the name of the skill in a folder, or None where there is none.

    Raises:
        SuiteError: the file cannot be read, or the folder has no suite that can.
    """
    absolute = _require_existing(path)
    if not os.path.isdir(absolute):
        return FoundSuites(suites=(_read(os.path.realpath(absolute), path, skill_name),))
    suites: list[Suite] = []
    problems: list[str] = []
    for found in _suite_files(absolute):
        try:
            suites.append(_read(found, found, skill_name))
        except SuiteError as error:
            problems.append(str(error))
    if not suites:
        hint = "write a prowess-suite.yaml, or keep prompts in evals/evals.json beside SKILL.md"
        reason = f" ({problems[0]})" if problems else ""
        raise SuiteError(path, f"holds no suite that can be read{reason}: {hint}.")
    return FoundSuites(suites=tuple(suites), problems=tuple(problems))


def bench_folders(path: str) -> tuple[str, ...]:
    """Return the benchmarks at `path`: the folder itself, or those directly inside it.

    Raises:
        SuiteError: there is none.
    """
    absolute = _require_existing(path)
    if _is_bench(absolute):
        return (absolute,)
    inside = sorted(os.listdir(absolute)) if os.path.isdir(absolute) else []
    found = tuple(filter(_is_bench, (os.path.join(absolute, name) for name in inside)))
    if not found:
        files = ", ".join(f"{part}.jsonl" for part in _BENCH_PARTS)
        raise SuiteError(path, f"holds no benchmark: {files}, plain or .xz.")
    return found


def read_bench_folder(path: str, *, most_bytes: int = _MAX_BENCH_BYTES) -> Bench:
    """Read the benchmark in one folder, at most `most_bytes` of text in all.

    Raises:
        SuiteError: a file is missing, too large or no UTF-8, or holds nothing that can be read.
    """
    parts: dict[str, _Lines] = {}
    left = most_bytes
    for part in _BENCH_PARTS:
        found = _bench_file(path, part)
        if found is None:
            raise SuiteError(path, f"has no {part}.jsonl, plain or .xz.")
        content = _read_packed(found, left)
        left -= len(content)
        parts[part] = _json_lines(_text(content, found), os.path.basename(found))
    name = os.path.basename(os.path.abspath(path))
    bench = read_bench(name, **{part: lines.rows for part, lines in parts.items()})
    unread = tuple(problem for lines in parts.values() for problem in lines.problems)
    return replace(bench, problems=(*unread, *bench.problems))


def _require_existing(path: str) -> str:
    if not path or not is_path(path) or not os.path.exists(path):
        raise SuiteError(path or "''", "does not exist: give a suite, or a folder that holds one.")
    return os.path.abspath(path)


def _suite_files(folder: str) -> Iterator[str]:
    """Yield what looks like a suite in `folder` and a few levels below, in a fixed order."""
    left = _MAX_FILES
    for base, folders, names in os.walk(folder):
        depth = os.path.relpath(base, folder).count(os.sep) + (base != folder)
        folders[:] = sorted(
            name for name in folders if depth < _DEEPEST and _is_entered(os.path.join(base, name))
        )
        for name in sorted(names):
            path = os.path.join(base, name)
            if left and _looks_like_suite(os.path.basename(base), name) and os.path.isfile(path):
                left -= 1
                yield path


def _is_entered(folder: str) -> bool:
    """True but for stores of other programs; a hidden folder may be where a harness has skills."""
    name = os.path.basename(folder)
    hidden = name.startswith(".") and not os.path.isdir(os.path.join(folder, "skills"))
    return not hidden and name not in SKIPPED_FOLDERS


def _looks_like_suite(folder: str, name: str) -> bool:
    stem, suffix = os.path.splitext(name.lower())
    if suffix not in _SUFFIXES or stem in _RESULT_STEMS or stem.endswith("schema"):
        return False
    return stem in _SUITE_STEMS or stem.startswith("trigger") or folder.lower() == "evals"


def _read(path: str, shown: str, skill_name: Callable[[str], str | None]) -> Suite:
    text = _text(_bytes(path, shown, _MAX_SUITE_BYTES), shown)
    suffix = os.path.splitext(path)[1].lower()
    problems: tuple[str, ...] = ()
    value: object
    if suffix == ".jsonl":
        lines = _json_lines(text, os.path.basename(path))
        value, problems = list(lines.rows.values()), lines.problems
    elif suffix in _SUFFIXES:
        value = read_value(text, shown, suffix)
    else:
        raise SuiteError(shown, f"is no suite: its name must end in {', '.join(_SUFFIXES)}.")
    suite = read_suite(value, where=shown, own_skill=_find_own_skill(path, skill_name))
    return replace(
        suite,
        skills_dir=_resolve(suite.skills_dir, os.path.dirname(path)),
        problems=(*problems, *suite.problems),
    )


def _find_own_skill(path: str, skill_name: Callable[[str], str | None]) -> str | None:
    """Return the skill that a file belongs to: of its folder, or of the one around `evals`."""
    folder = os.path.dirname(path)
    return skill_name(folder) or skill_name(os.path.dirname(folder))


def _resolve(skills_dir: str | None, folder: str) -> str | None:
    if skills_dir is None or not is_path(skills_dir):
        return None
    return os.path.normpath(os.path.join(folder, os.path.expanduser(skills_dir)))


def _skill_file(folder: str) -> str | None:
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    found = next((name for name in sorted(names) if name.lower() == "skill.md"), None)
    return found and os.path.join(folder, found)


def _bytes(path: str, shown: str, limit: int) -> bytes:
    content = read_bounded(path, limit)
    if isinstance(content, Content):
        return content.data
    raise SuiteError(shown, "is gone." if content is None else f"{content.message}.")


def _read_packed(path: str, limit: int) -> bytes:
    """Read a file of lines, packed with xz where its name says so; at most `limit` bytes."""
    if path.endswith(".xz"):
        return unpack(path, _read_named(path, _MAX_PACKED_BYTES), limit)
    return _read_named(path, limit)


def _read_named(path: str, limit: int) -> bytes:
    """Read a file that a person named: it may be a link, unlike one that was come across."""
    return _bytes(os.path.realpath(path), path, limit)


def _text(content: bytes, shown: str) -> str:
    text, problem = frontmatter.decode(content)
    if problem is not None:
        raise SuiteError(f"{shown}:{problem.line}", f"{problem.message}.")
    return text


def read_value(text: str, shown: str, suffix: str) -> object:
    """Read what people write by hand: JSON by its name, else YAML.

    Raises:
        SuiteError: it is neither.
    """
    if suffix == ".json":
        return _json(text, shown)
    loaded = load_yaml(text)
    if loaded.problems:
        problem = loaded.problems[-1]
        raise SuiteError(f"{shown}:{problem.line}", f"is not YAML that is read: {problem.message}.")
    return loaded.root


def _json(text: str, shown: str) -> object:
    """Read JSON, with the comments and commas that people leave in it."""
    try:
        return _loads(text)
    except json.JSONDecodeError as error:
        try:
            return _loads(relax(text))
        except ValueError:
            raise SuiteError(f"{shown}:{error.lineno}", f"is not JSON: {error.msg}.") from error
    except ValueError as error:
        raise SuiteError(shown, f"is not JSON that is read: {error}.") from error


def _loads(text: str) -> object:
    """Read strict JSON.

    Raises:
        ValueError: it is none, repeats a key, or is nested too deeply.
    """
    try:
        found: object = strict_loads(text)
    except RepeatedKeyError as error:
        raise ValueError(f"the key {str(error)[:60]!r} occurs twice") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return found


def _json_lines(text: str, shown: str) -> _Lines:
    rows: dict[int, object] = {}
    problems = Problems()
    # Not by `splitlines`: JSON may hold line separators that end no line.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            rows[number] = _loads(line)
        except ValueError as error:
            problems.add(f"{shown}:{number} is not JSON: {error}")
    return _Lines(rows, problems.listed())


def _is_bench(folder: str) -> bool:
    return all(_bench_file(folder, part) is not None for part in _BENCH_PARTS)


def _bench_file(folder: str, part: str) -> str | None:
    paths = (os.path.join(folder, f"{part}.jsonl{packed}") for packed in ("", ".xz"))
    return next(filter(os.path.isfile, paths), None)


_SHAPE = 'wants {"id", "label", "category", "files": {path: text}}'


def read_set(path: str) -> SampleSet:
    """Read one set.

    Raises:
        SuiteError: the file or one of its lines cannot be read.
    """
    if not path or not is_path(path) or not os.path.isfile(path):
        raise SuiteError(path or "''", "is not a file: give a .jsonl or .jsonl.xz of samples.")
    samples = tuple(
        _sample(line, f"{path}:{number}")
        for number, line in enumerate(_read_packed(path, _MAX_BENCH_BYTES).split(b"\n"), start=1)
        if line.strip()
    )
    if not samples:
        raise SuiteError(path, f"holds no sample: each line {_SHAPE}.")
    return SampleSet(os.path.basename(path).partition(".")[0], samples)


def _sample(line: bytes, where: str) -> LabelledSkill:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SuiteError(where, f"is not JSON: {error}.") from error
    files = value.get("files") if isinstance(value, Mapping) else None
    if not isinstance(files, Mapping) or not files:
        raise SuiteError(where, f"{_SHAPE}.")
    try:
        label = Label(str(value.get("label")).lower())
    except ValueError as error:
        raise SuiteError(where, f"has no label: one of {', '.join(Label)}.") from error
    category = str(value.get("category") or "uncategorised")
    content = {path: _bytes_sets(data, f"{where}: {path}") for path, data in files.items()}
    return LabelledSkill(str(value.get("id") or where), label, category, content)


def _bytes_sets(data: object, where: str) -> bytes:
    """Return the content of a file: a text, or bytes that are no text as {"base64": ...}."""
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")
    packed = data.get("base64") if isinstance(data, Mapping) else None
    if isinstance(packed, str):
        try:
            return base64.b64decode(packed, validate=True)
        except (binascii.Error, ValueError) as error:
            raise SuiteError(where, f"is not base64: {error}.") from error
    raise SuiteError(where, 'is neither a text nor {"base64": text}.')


SCENARIO_FOLDER = os.path.join("qa", "scenarios")
_SCENARIO_SUFFIXES = (".yaml", ".yml")
_MAX_SCENARIO_BYTES = 400_000
# The names of a family begin alike, so that anything lower finds all of them.
_NEAR = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFile:
    """A file, and the scenario in it."""

    path: str
    scenario: Scenario | Broken

    @property
    def name(self) -> str:
        """The name by which the scenario is asked for."""
        return self.scenario.name


def read_scenarios(names: Sequence[str], folders: Sequence[str]) -> tuple[ScenarioFile, ...]:
    """Return the scenarios of these names or paths, each once; without any, all of the folders.

    What cannot be read never keeps the others from being played.

    Args:
        names: names, which are those of files without their ending, or paths of files.
        folders: where to look; by default `qa/scenarios` of the current folder.

    Raises:
        PathError: a folder or a file does not exist, or no scenario has such a name.
    """
    found = () if names and all(map(_is_file, names)) else tuple(_scenario_paths(folders))
    chosen = dict.fromkeys(_choose(name, found) for name in names) if names else found
    return tuple(ScenarioFile(path=path, scenario=_read_scenario(path)) for path in chosen)


def _scenario_paths(folders: Sequence[str]) -> Iterator[str]:
    for folder in folders or (SCENARIO_FOLDER,):
        if not is_path(folder) or not os.path.isdir(folder):
            hint = "give a folder of scenarios with --folder, or the path of one with --scenario"
            raise PathError(folder, f"is not a folder: {hint}.")
        inside = [
            os.path.join(base, name)
            for base, names in _walk(os.path.abspath(folder))
            for name in names
            if name.lower().endswith(_SCENARIO_SUFFIXES)
        ]
        if not inside:
            raise PathError(folder, "holds no scenarios: they are files that end in .yaml.")
        if len(inside) > _MAX_FILES:
            raise PathError(folder, f"holds more than {_MAX_FILES} files: name another.")
        yield from inside


def _walk(folder: str) -> Iterator[tuple[str, list[str]]]:
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS
        )
        yield base, sorted(names)


def _choose(name: str, paths: Sequence[str]) -> str:
    if _is_file(name):
        return os.path.abspath(name)
    wanted = os.path.splitext(name)[0] if name.lower().endswith(_SCENARIO_SUFFIXES) else name
    hits = [path for path in paths if _stem(path) == wanted]
    if len(hits) == 1:
        return hits[0]
    if hits:
        raise PathError(name, f"is the name of {len(hits)} scenarios: give the path of one.")
    known = sorted({_stem(path) for path in paths})
    near = [one for one in known if wanted and wanted in one][:3]
    near += [
        one for one in difflib.get_close_matches(wanted, known, cutoff=_NEAR) if one not in near
    ]
    hint = f"did you mean {', '.join(near)}?" if near else "`prowess qa list` shows all."
    raise PathError(name or "''", f"is no scenario: {hint}")


def _is_file(name: str) -> bool:
    return bool(name) and is_path(name) and os.path.isfile(name)


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _read_scenario(path: str) -> Scenario | Broken:
    # Somebody named it or its folder, so a link is fine.
    content = read_bounded(os.path.realpath(path), _MAX_SCENARIO_BYTES)
    if not isinstance(content, Content):
        problem = Problem(1, "is gone" if content is None else content.message)
        return Broken(name=_stem(path), problems=(problem,))
    try:
        return read_scenario(_stem(path), content.data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.data.count(b"\n", 0, error.start) + 1
        return Broken(name=_stem(path), problems=(Problem(line, "is not UTF-8"),))


TESTS_FILE = "routing-tests.json"
_MAX_BYTES = 16_000_000
_LONGEST_NAME = 200
_NOBODY = "none"


class RoutingTestsFile:
    """The tests in their file."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, TESTS_FILE)

    @property
    def path(self) -> str:
        """Where they are."""
        return self._path

    def read(self) -> Sequence[RoutingTest]:
        """Return all of them, the oldest first; what cannot be read counts as none."""
        try:
            return _tests(_cases(self._path))
        except (OSError, ValueError, RecursionError) as error:
            logging.getLogger(__name__).warning("tests.unreadable: %s: %s", self._path, error)
            return []

    def change(self, edit: Callable[[list[RoutingTest]], None]) -> None:
        """Read, change and write them as one step.

        Raises:
            StoreError: they cannot be kept.
        """
        try:
            with locked(self._path):
                try:
                    cases = _cases(self._path)
                except (ValueError, RecursionError):
                    # Somebody edited it by hand and slipped: their text is kept.
                    os.replace(self._path, self._path + ".bak")
                    cases = []
                tests = _tests(cases)
                edit(tests)
                others = [case for number, case in enumerate(cases) if not _test(number, case)]
                write_private(self._path, _write_cases([*others, *map(_case, tests)]))
        except OSError as error:
            raise StoreError(self._path, f"cannot be changed: {explain_failure(error)}.") from error


def _cases(path: str) -> list[object]:
    match read_bounded(os.path.realpath(path), _MAX_BYTES):
        case None:
            return []
        case Content(data=data):
            return _require_list(json.loads(data.decode("utf-8")))
        case problem:
            raise ValueError(problem.message)


def _require_list(values: object) -> list[object]:
    match values:
        case {"cases": [*cases]}:
            return cases
    raise ValueError("there is no list `cases` in it")


def _tests(cases: Sequence[object]) -> list[RoutingTest]:
    found = [_test(number, case) for number, case in enumerate(cases)]
    return [test for test in found if test is not None][:MOST_TESTS]


def _test(number: int, case: object) -> RoutingTest | None:
    """Return a case as it is shown; None for one that only `prowess eval` understands."""
    if not isinstance(case, Mapping) or not isinstance(case.get("prompt"), str):
        return None
    expected, forbidden = _name(case.get("expect")), _name(case.get("not"))
    if expected is None and forbidden is None:
        return None
    added = case.get("addedAt")
    return RoutingTest(
        id=str(case.get("id") or f"case-{number}")[:_LONGEST_NAME],
        message=whole(case["prompt"][:LONGEST_MESSAGE]),
        skill=(forbidden or "") if expected is None else expected,
        should=bool(expected),
        added_at=float(added) if isinstance(added, int | float) else 0.0,
    )


def _name(value: object) -> str | None:
    """Return the one name of a case; empty where it says that nobody is meant."""
    names = value if isinstance(value, list) else [value]
    if value is None or len(names) > 1 or not all(isinstance(name, str) for name in names):
        return None
    name = whole(str(names[0]).strip()[:_LONGEST_NAME]) if names else ""
    return "" if name.lower() == _NOBODY else name


def _write_cases(cases: Sequence[object]) -> str:
    text = json.dumps({"cases": cases}, indent=2, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode("utf-8") + "\n"


def _case(test: RoutingTest) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": test.id, "prompt": test.message}
    if test.should or not test.skill:
        shown["expect"] = test.skill or _NOBODY
    else:
        shown["not"] = [test.skill]
    return {**shown, "addedAt": test.added_at}
