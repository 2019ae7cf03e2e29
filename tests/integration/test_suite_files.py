import json
import lzma
from pathlib import Path

import pytest

from prowess.errors import SuiteError
from prowess.host.evaluation import (
    FoundSuites,
    bench_folders,
    read_bench_folder,
    read_suites,
    skill_name_in,
)

_CASES = [{"prompt": "bake a loaf", "expect": "baker"}]


def _write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def _skill(folder: Path, name: str) -> Path:
    return _write(folder / "SKILL.md", f"---\nname: {name}\ndescription: Does it.\n---\nBody.\n")


def _bench(folder: Path, *, packed: bool = False) -> Path:
    parts: dict[str, list[dict[str, object]]] = {
        "skills": [{"id": "baker", "description": "Bakes bread."}, {"id": "poet"}],
        "queries": [{"id": "q1", "text": "a loaf"}, {"id": "q2", "text": "hello"}],
        "qrels": [{"query_id": "q1", "skill_id": "baker", "relevance": 1}],
    }
    folder.mkdir(parents=True)
    for part, rows in parts.items():
        content = "\n".join(json.dumps(row) for row in rows).encode()
        if packed:
            (folder / f"{part}.jsonl.xz").write_bytes(lzma.compress(content))
        else:
            (folder / f"{part}.jsonl").write_bytes(content)
    return folder


def _expected(found: FoundSuites) -> list[tuple[str, set[str], set[str]]]:
    return [
        (case.prompt, set(case.expect), set(case.not_expected))
        for suite in found.suites
        for case in suite.cases
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("suite.yaml", "# why\ncases:\n  - prompt: bake a loaf\n    expect: baker\n"),
        ("suite.yml", "- {prompt: bake a loaf, expect: [baker]}\n"),
        ("suite.json", {"cases": _CASES}),
        ("other.json", '// why\n[{"prompt": "bake a loaf", "expect": "baker",},]'),
        ("cases.jsonl", '\n{"prompt": "bake a loaf", "expect": "baker"}\n\n'),
    ],
)
def test_a_suite_is_read_in_each_format(tmp_path: Path, name: str, content: object) -> None:
    path = _write(tmp_path / name, content)

    found = read_suites(str(path))

    assert _expected(found) == [("bake a loaf", {"baker"}, set())]
    assert found.suites[0].name == str(path)
    assert found.problems == ()


def test_the_folder_of_skills_is_found_from_the_suite(tmp_path: Path) -> None:
    path = _write(tmp_path / "tests" / "suite.json", {"skills": "../skills", "cases": _CASES})

    assert read_suites(str(path)).suites[0].skills_dir == str(tmp_path / "skills")


def test_a_named_suite_may_be_a_link(tmp_path: Path) -> None:
    target = _write(tmp_path / "real" / "suite.json", _CASES)
    (tmp_path / "link.json").symlink_to(target)

    assert len(read_suites(str(tmp_path / "link.json")).suites) == 1


def test_a_file_beside_a_skill_is_about_that_skill(tmp_path: Path) -> None:
    _skill(tmp_path / "bread", "baker")
    _write(tmp_path / "bread" / "evals" / "evals.json", {"evals": [{"prompt": "bake"}]})
    _write(
        tmp_path / "bread" / "trigger-evals.json",
        [{"query": "knead", "should_trigger": True}, {"query": "ride", "should_trigger": False}],
    )

    found = read_suites(str(tmp_path / "bread"))

    assert _expected(found) == [
        ("knead", {"baker"}, set()),
        ("ride", set(), {"baker"}),
        ("bake", {"baker"}, set()),
    ]


def test_who_knows_the_skills_may_name_them(tmp_path: Path) -> None:
    path = _write(tmp_path / "bread" / "evals" / "evals.json", {"evals": [{"prompt": "bake"}]})

    found = read_suites(
        str(path), lambda folder: "loaf" if folder == str(tmp_path / "bread") else None
    )

    assert _expected(found) == [("bake", {"loaf"}, set())]


def test_a_folder_gives_every_suite_that_it_holds_in_a_fixed_order(tmp_path: Path) -> None:
    _skill(tmp_path / "skills" / "bread", "baker")
    places = [
        "prowess-suite.yaml",
        "suite.json",
        "triggers.json",
        "evals/routing.json",
        "skills/bread/evals/evals.json",
        ".claude/skills/x/evals/evals.json",
    ]
    for place in reversed(places):
        _write(tmp_path / place, _CASES)
    ignored = [
        "package.json",
        "evals/grading.json",
        "evals/evals.schema.json",
        "evals/notes.md",
        "evals/files/input.json",
        "node_modules/x/evals/evals.json",
        ".git/evals/evals.json",
        "a/b/c/d/e/f/evals/evals.json",
    ]
    for place in ignored:
        _write(tmp_path / place, _CASES)

    found = read_suites(str(tmp_path))

    assert {Path(suite.name).relative_to(tmp_path).as_posix() for suite in found.suites} == set(
        places
    )
    assert found == read_suites(str(tmp_path))
    assert found.problems == ()


def test_a_file_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    _write(tmp_path / "evals" / "good.json", _CASES)
    bad = _write(tmp_path / "evals" / "bad.json", "{")
    (tmp_path / "evals" / "link.json").symlink_to(_write(tmp_path / "away.json", _CASES))

    found = read_suites(str(tmp_path))

    assert len(found.suites) == 1
    assert found.problems[0].startswith(f"{bad}:1: is not JSON")
    assert "link.json: cannot be read" in found.problems[1]


def test_bad_lines_of_a_suite_are_told_and_the_others_stay(tmp_path: Path) -> None:
    path = _write(tmp_path / "s.jsonl", '{"prompt": "bake", "expect": "baker"}\n{"prompt"\n{}\n')

    suite = read_suites(str(path)).suites[0]

    assert len(suite.cases) == 1
    assert suite.problems[0].startswith("s.jsonl:2 is not JSON")
    assert suite.problems[1] == "cases[1].prompt is missing"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("s.yaml", b"cases:\n  - prompt: a: b\n", ":2: is not YAML"),
        ("s.yaml", b"a: 1\ncases: &x []\nb: *x\n", ":3: is not YAML that is read: the alias"),
        ("s.yaml", b"cases: []\ncases: []\n", ":2: is not YAML that is read: the key 'cases'"),
        ("s.json", b'{\n"cases": [}', ":2: is not JSON"),
        ("s.json", b'{"a": 1, "a": 2}', ": is not JSON that is read: the key 'a' occurs twice"),
        ("s.json", b"[" * 100_000, ": is not JSON that is read: it is nested too deeply"),
        ("s.json", b"[NaN]", ": is not JSON that is read: NaN is no number"),
        ("s.json", b'[\n"\xff"]', ":2: byte 3 is not UTF-8"),
        ("s.json", b"\0", ":1: the file holds a NUL byte"),
        ("s.json", b"[]", ": holds no case"),
        ("s.toml", b"", ": is no suite: its name must end in .json, .jsonl, .yaml, .yml."),
    ],
)
def test_a_file_that_is_no_suite_is_an_error_with_path_and_line(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(SuiteError) as caught:
        read_suites(str(path))

    assert str(caught.value).startswith(f"{path}{reason}")


def test_a_file_that_is_too_large_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    with path.open("wb") as file:
        file.truncate(16_000_001)

    with pytest.raises(SuiteError, match="is larger than 16000000 bytes"):
        read_suites(str(path))


@pytest.mark.parametrize("path", ["", "no\0path", "/nowhere/at/all.json"])
def test_a_path_that_does_not_exist_is_an_error(path: str) -> None:
    with pytest.raises(SuiteError, match="does not exist"):
        read_suites(path)


def test_a_folder_without_suites_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="holds no suite that can be read: write a prowess-suite"):
        read_suites(str(tmp_path))

    _write(tmp_path / "triggers.json", "{")
    with pytest.raises(SuiteError, match=r"can be read \(.*triggers\.json:1: is not JSON"):
        read_suites(str(tmp_path))


def test_a_skill_is_named_by_its_file_else_by_its_folder(tmp_path: Path) -> None:
    _skill(tmp_path / "bread", "baker")
    _write(tmp_path / "verse" / "skill.md", "No frontmatter.")

    assert skill_name_in(str(tmp_path / "bread")) == "baker"
    assert skill_name_in(str(tmp_path / "verse")) == "verse"
    assert skill_name_in(str(tmp_path)) is None
    assert skill_name_in(str(tmp_path / "none")) is None


@pytest.mark.parametrize("packed", [False, True])
def test_a_benchmark_is_read_plain_or_packed(tmp_path: Path, *, packed: bool) -> None:
    folder = _bench(tmp_path / "set", packed=packed)

    bench = read_bench_folder(str(folder))

    assert bench.name == "set"
    assert [skill.id for skill in bench.skills] == ["baker", "poet"]
    assert [(case.prompt, set(case.expect)) for case in bench.cases] == [
        ("a loaf", {"baker"}),
        ("hello", set()),
    ]
    assert bench.problems == ()


def test_packed_streams_may_follow_one_another(tmp_path: Path) -> None:
    folder = _bench(tmp_path / "set", packed=True)
    path = folder / "queries.jsonl.xz"
    more = lzma.compress(b'\n{"id": "q3", "text": "bye"}')
    path.write_bytes(path.read_bytes() + b"\0\0\0\0" + more)

    assert len(read_bench_folder(str(folder)).cases) == 3


def test_bad_lines_of_a_benchmark_are_told_with_their_numbers(tmp_path: Path) -> None:
    folder = _bench(tmp_path / "set")
    with (folder / "queries.jsonl").open("a") as file:
        file.write("\n\nnot json\n{}\n")

    problems = read_bench_folder(str(folder)).problems

    assert problems[0].startswith("queries.jsonl:4 is not JSON")
    assert problems[1].startswith("queries, line 5: id or text is missing")


def test_a_folder_may_be_one_benchmark_or_hold_several(tmp_path: Path) -> None:
    second, first = _bench(tmp_path / "b", packed=True), _bench(tmp_path / "a")
    (tmp_path / "notes").mkdir()

    assert bench_folders(str(tmp_path)) == (str(first), str(second))
    assert bench_folders(str(first)) == (str(first),)


def test_a_folder_without_a_benchmark_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "skills.jsonl").touch()

    with pytest.raises(SuiteError, match="holds no benchmark"):
        bench_folders(str(tmp_path))
    with pytest.raises(SuiteError, match="holds no benchmark"):
        bench_folders(str(tmp_path / "skills.jsonl"))
    with pytest.raises(SuiteError, match="has no queries"):
        read_bench_folder(str(tmp_path))


def test_what_unpacks_to_too_much_is_an_error(tmp_path: Path) -> None:
    folder = _bench(tmp_path / "set", packed=True)
    (folder / "skills.jsonl.xz").write_bytes(lzma.compress(b" " * 1_000_000))

    with pytest.raises(SuiteError, match="unpacks to more than 999999 bytes"):
        read_bench_folder(str(folder), most_bytes=999_999)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda packed: packed[:-10], "ends before its content does"),
        (lambda _: b"no archive at all", "cannot be unpacked"),
    ],
)
def test_a_broken_archive_is_an_error(tmp_path: Path, spoil: object, reason: str) -> None:
    folder = _bench(tmp_path / "set", packed=True)
    path = folder / "qrels.jsonl.xz"
    assert callable(spoil)
    path.write_bytes(spoil(path.read_bytes()))

    with pytest.raises(SuiteError, match=reason):
        read_bench_folder(str(folder))


def test_an_archive_that_asks_for_much_memory_is_refused(tmp_path: Path) -> None:
    folder = _bench(tmp_path / "set", packed=True)
    greedy = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 200_000_000}]
    (folder / "skills.jsonl.xz").write_bytes(lzma.compress(b"{}", filters=greedy))

    with pytest.raises(SuiteError, match="cannot be unpacked"):
        read_bench_folder(str(folder))
