"""What skills said is kept between processes: parsed once, never stale, never anybody else's."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.rows import each_row

from prowess.host.files import handles as read
from prowess.host.sources.roots import Folders, FolderSources
from prowess.runtime.ports import Scan
from prowess.settings import Settings, SpecMode
from prowess.skills import parse as parser
from prowess.skills.model import Document, Parsed

SETTINGS = Settings()
# A process of its own does not share the fixture that makes files old enough.
_LIST = """
import sys
import prowess.host.files.handles as read
read._SETTLING_NS = 0
from prowess.wiring.library import open_runtime
with open_runtime(sys.argv[1], home=sys.argv[2], environ={"HOME": sys.argv[2], "PATH": ""}) as it:
    print(sorted(status.skill.name for status in it.skills.status().skills))
print(bool({"prowess.skills.parse", "yaml"} & set(sys.modules)))
"""
TEXTS = {
    "plain": "---\nname: plain\ndescription: Use when asked.\n---\nDo it.\n",
    "odd": "---\nname: odd\ndescription: 'läuft'\nn: 1.5\nm: [a, {b: null, c: yes}]\n---\n",
    "needs": (
        "---\nname: needs\ndescription: Needs much.\nmetadata:\n  openclaw:\n    always: true\n"
        "    os: [linux]\n    triggers: {any: [go], none: [stop]}\n"
        "    requires: {bins: [git], anyBins: [a, b], env: [HOME], config: [browser.enabled]}\n"
        "    install:\n      - {kind: brew, formula: git, bins: [git], os: [darwin]}\n"
        "      - {kind: node}\nuser-invocable: false\nglobs: '*.py, *.md'\n---\n"
    ),
    "broken": "---\nname: broken\n---\nNo description.\n",
    **{f"more-{n}": f"---\nname: more-{n}\ndescription: One more.\n---\n" for n in range(20)},
}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as settled as soon as they are written."""
    monkeypatch.setattr(read, "_SETTLING_NS", 0)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the folders whose files the parser was given."""
    names: list[str] = []
    real = parser.parse

    def noting(document: Document, mode: SpecMode) -> Parsed:
        names.append(Path(document.folder).name)
        return real(document, mode)

    monkeypatch.setattr(parser, "parse", noting)
    return names


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        place = tmp_path / "work" / "skills" / name
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(text)
    (tmp_path / "work" / "skills" / "plain" / "agents").mkdir()
    return tmp_path


def look(root: Path, settings: Settings = SETTINGS) -> Scan:
    """Scan as a new process does."""
    folders = Folders(home=str(root / "home"), state=str(root / "state"), bundled="/none")
    return FolderSources(str(root / "work"), folders).scan(settings)


def kept(root: Path) -> Path:
    (path,) = (root / "state" / "catalogs").iterdir()
    return path


def test_a_second_process_parses_nothing_and_reads_the_same(root: Path, parsed: list[str]) -> None:
    first = look(root)
    parsed.clear()

    second = look(root)

    assert parsed == []
    assert second == first
    assert repr(second) == repr(first)


def test_a_second_process_does_not_even_load_the_parser(root: Path) -> None:
    argv = [sys.executable, "-c", _LIST, str(root / "work"), str(root / "state")]
    first, second = (subprocess.run(argv, check=True, capture_output=True, text=True).stdout
                     for _ in range(2))  # fmt: skip

    assert first.splitlines()[1] == "True"
    assert second.splitlines() == [first.splitlines()[0], "False"]


def test_for_a_handful_of_skills_nothing_is_written(root: Path) -> None:
    for name in TEXTS:
        if name.startswith("more-"):
            shutil.rmtree(root / "work" / "skills" / name)

    look(root)

    assert not (root / "state").exists()


@each_row(
    ("path", "text"),
    [
        ("plain/SKILL.md", TEXTS["plain"].replace("asked", "rung")),
        ("plain/agents/openai.yaml", "policy:\n  allow_implicit_invocation: false\n"),
        ("plain/notes.txt", "A file beside it."),
    ],
)
def test_only_what_changed_is_parsed_again(
    root: Path, parsed: list[str], path: str, text: str
) -> None:
    look(root)
    parsed.clear()
    (root / "work" / "skills" / path).write_text(text)

    changed = look(root)

    assert parsed == ["plain"]
    shutil.rmtree(root / "state")
    assert changed == look(root)


def test_the_same_size_and_time_with_another_text_is_another_file(
    root: Path, parsed: list[str]
) -> None:
    path = root / "work" / "skills" / "plain" / "SKILL.md"
    look(root)
    parsed.clear()
    before = path.stat()
    path.write_text(TEXTS["plain"].replace("asked", "ASKED"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    look(root)

    assert parsed == ["plain"]


def test_other_settings_read_the_files_anew(root: Path, parsed: list[str]) -> None:
    look(root)
    parsed.clear()
    strict = replace(SETTINGS, skills=replace(SETTINGS.skills, spec_mode=SpecMode.STRICT))

    names = {skill.name for skill in look(root, strict).skills}

    assert len(parsed) == len(TEXTS)
    assert "plain" in names
    assert not names & {"odd", "needs"}


def test_what_changed_a_moment_ago_is_not_kept(
    root: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "_SETTLING_NS", 60_000_000_000)
    look(root)
    parsed.clear()

    look(root)

    assert len(parsed) == len(TEXTS)


@each_row("cut", [0, 1, 5, 40, -1])
def test_a_broken_file_counts_as_none_and_is_made_anew(
    root: Path, parsed: list[str], cut: int
) -> None:
    right = look(root)
    whole = kept(root).read_bytes()
    for broken in (whole[:cut], whole[:cut] + bytes([whole[cut] ^ 1]) + whole[cut:][1:], b"1\n{}"):
        kept(root).write_bytes(broken)
        parsed.clear()

        assert look(root) == right
        assert len(parsed) == len(TEXTS)
        assert kept(root).read_bytes() == whole


def test_what_others_could_have_written_is_not_read(root: Path, parsed: list[str]) -> None:
    look(root)
    lie = kept(root).read_bytes()

    def open_to_all() -> None:
        kept(root).chmod(0o666)

    def link() -> None:
        kept(root).rename(root / "outside")
        (root / "state" / "catalogs" / name).symlink_to(root / "outside")

    def second_name() -> None:
        os.link(kept(root), root / "another")

    name = kept(root).name
    for tamper in (open_to_all, second_name, link):
        kept(root).write_bytes(lie)
        parsed.clear()
        tamper()

        look(root)

        assert len(parsed) == len(TEXTS)


def test_a_home_that_cannot_be_written_works_without(root: Path, parsed: list[str]) -> None:
    (root / "state").write_text("a file")

    names = {skill.name for skill in look(root).skills}

    assert names == TEXTS.keys() - {"broken"}
    assert len(parsed) == len(TEXTS)


def test_many_at_once_leave_a_whole_file_behind(root: Path, parsed: list[str]) -> None:
    argv = [sys.executable, "-c", _LIST, str(root / "work"), str(root / "state")]
    running = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(6)]

    said = {one.communicate()[0].splitlines()[0] for one in running}

    assert len(said) == 1
    look(root)
    assert parsed == []
    assert not list((root / "state" / "catalogs").glob("*.tmp"))
