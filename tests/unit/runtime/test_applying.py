"""A change is made only if it is the reviewed one, on the same skill, and the whole passes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from tests.rows import each_row

from prowess.errors import PathError, QuarantinedError, StaleChangeError
from prowess.runtime.workshop.apply import check_change
from prowess.runtime.workshop.ports import DEFAULT_LIMITS, FolderLimits
from prowess.safety.model import Confidence, Finding, Level, ScanReport, ScanVerdict
from prowess.safety.paths import content_hash
from prowess.workshop.proposal import Change, change_hash

SKILL = {"SKILL.md": b"# Notes\n", "references/a.md": b"a\n"}


class Folder:
    """A skill in memory that writes down what was done to it."""

    name = "notes"

    def __init__(self, files: Mapping[str, bytes] = SKILL) -> None:
        self.files = dict(files)
        self.steps: list[str] = []

    @contextmanager
    def lock(self) -> Iterator[None]:
        self.steps.append("lock")
        yield
        self.steps.append("unlock")

    def read_all(self, limits: FolderLimits = DEFAULT_LIMITS) -> Mapping[str, bytes]:
        assert limits is DEFAULT_LIMITS
        self.steps.append("read")
        return dict(self.files)

    def apply(self, files: Mapping[str, bytes | None], expected: str) -> str:
        assert expected == content_hash(self.files)
        self.steps.append("apply")
        for path, data in files.items():
            if data is None:
                del self.files[path]
            else:
                self.files[path] = data
        return "backup-1"

    def previous(self, change: str) -> Mapping[str, bytes | None]:
        raise NotImplementedError(change)

    def last_change(self, files: Mapping[str, bytes | None]) -> str:
        raise NotImplementedError(files)


class Scanner:
    """Says what it is told to say, and keeps what it was shown."""

    def __init__(self, verdict: ScanVerdict = ScanVerdict.CLEAN, *findings: Finding) -> None:
        self.report = ScanReport(verdict, findings, (), error="out of time")
        self.seen: list[dict[str, bytes]] = []

    def __call__(self, files: Mapping[str, bytes]) -> ScanReport:
        self.seen.append(dict(files))
        return self.report


def finding(level: Level, message: str) -> Finding:
    return Finding(
        rule_id="r", level=level, confidence=Confidence.HIGH, file="SKILL.md", line=1, column=1,
        message=message, evidence="", evidence_hash="",
    )  # fmt: skip


def make(
    change: Change, folder: Folder, scanner: Scanner, *, reviewed: str = "", base: str = ""
) -> str:
    with folder.lock():
        before = check_change(
            change,
            reviewed_hash=reviewed or change_hash(change),
            base_hash=base or content_hash(folder.files),
            folder=folder,
            scan=scanner,
        )
        return folder.apply(change.files, before)


def test_a_reviewed_change_is_made_and_what_was_before_has_a_name() -> None:
    folder, scanner = Folder(), Scanner()
    change = Change("notes", {"SKILL.md": b"# New\n", "references/a.md": None})

    backup = make(change, folder, scanner)

    assert folder.files == {"SKILL.md": b"# New\n"}
    assert folder.steps == ["lock", "read", "apply", "unlock"]
    assert backup == "backup-1"


def test_a_skill_that_does_not_exist_is_made_against_the_hash_of_nothing() -> None:
    folder = Folder({})

    make(Change("notes", {"SKILL.md": b"# New\n"}), folder, Scanner(), base=content_hash({}))

    assert folder.files == {"SKILL.md": b"# New\n"}


def test_the_scanner_sees_the_whole_skill_that_would_come_out() -> None:
    scanner = Scanner()

    make(Change("notes", {"scripts/b.py": b"b"}), Folder(), scanner)

    assert scanner.seen == [{**SKILL, "scripts/b.py": b"b"}]


def test_the_scanner_cannot_change_what_it_is_shown() -> None:
    def scan(files: Mapping[str, bytes]) -> ScanReport:
        with pytest.raises(TypeError):
            files["SKILL.md"] = b""  # type: ignore[index]
        return ScanReport(ScanVerdict.CLEAN, (), ())

    folder, change = Folder(), Change("notes", {"SKILL.md": b"new"})
    base = content_hash(folder.files)

    check_change(
        change, reviewed_hash=change_hash(change), base_hash=base, folder=folder, scan=scan
    )


def test_a_skill_that_changed_since_is_stale_and_both_hashes_are_named() -> None:
    folder, scanner = Folder(), Scanner()
    base = content_hash({"SKILL.md": b"as it was"})

    with pytest.raises(StaleChangeError) as caught:
        make(Change("notes", {"SKILL.md": b"x"}), folder, scanner, base=base)

    assert (caught.value.expected, caught.value.found) == (base, content_hash(SKILL))
    assert base[:12] in str(caught.value)
    assert "apply" not in folder.steps
    assert scanner.seen == []


def test_another_change_than_the_reviewed_one_is_stale() -> None:
    folder = Folder()
    reviewed = change_hash(Change("notes", {"SKILL.md": b"friendly"}))

    with pytest.raises(StaleChangeError, match="not the one that was reviewed"):
        make(Change("notes", {"SKILL.md": b"other"}), folder, Scanner(), reviewed=reviewed)

    assert folder.files == SKILL


def test_a_quarantine_stops_the_change_and_names_the_heaviest_finding_only() -> None:
    light, heavy = finding(Level.WARN, "A small thing."), finding(Level.CRITICAL, "A big thing.")
    folder = Folder()

    with pytest.raises(QuarantinedError) as caught:
        make(
            Change("notes", {"SKILL.md": b"x"}),
            folder,
            Scanner(ScanVerdict.QUARANTINE, light, heavy),
        )

    assert caught.value.findings == (light, heavy)
    assert "A big thing." in str(caught.value)
    assert "A small thing." not in str(caught.value)
    assert folder.files == SKILL


def test_a_quarantine_without_a_finding_is_a_quarantine() -> None:
    with pytest.raises(QuarantinedError, match="the scanner refuses it"):
        make(Change("notes", {"SKILL.md": b"x"}), Folder(), Scanner(ScanVerdict.QUARANTINE))


def test_a_scan_that_failed_is_not_a_scan_that_passed() -> None:
    folder = Folder()

    with pytest.raises(QuarantinedError, match=r"did not finish \(out of time\)"):
        make(Change("notes", {"SKILL.md": b"x"}), folder, Scanner(ScanVerdict.ERROR))

    assert folder.files == SKILL


def test_a_warning_does_not_stop_a_reviewed_change() -> None:
    folder = Folder()

    make(Change("notes", {"SKILL.md": b"x"}), folder, Scanner(ScanVerdict.WARN))

    assert folder.files["SKILL.md"] == b"x"


def test_a_change_for_another_skill_is_refused_before_anything_is_read() -> None:
    folder = Folder()

    with pytest.raises(PathError, match="not the skill of the folder notes"):
        make(Change("other", {"SKILL.md": b"x"}), folder, Scanner())

    assert folder.steps == ["lock"]


@each_row(
    "path",
    [
        "../SKILL.md", "/etc/passwd", "skill.md", "README.md", "references", "references/../x",
        "references//x", "references\\x.md", "node_modules/x/y", "REFERENCES/b.md", ".git/config",
        "references/CON", "references/a.md:stream", "references/a.md/b", "references/A.md",
        "scripts/a\u202eb.py", "",
    ],
)  # fmt: skip
def test_only_the_skill_file_and_support_files_can_be_written(path: str) -> None:
    folder = Folder()

    with pytest.raises(PathError):
        make(Change("notes", {path: b"x"}), folder, Scanner())

    assert "apply" not in folder.steps


def test_a_change_cannot_take_the_skill_file_away() -> None:
    with pytest.raises(PathError, match="remove the skill instead"):
        make(Change("notes", {"SKILL.md": None}), Folder(), Scanner())


@pytest.mark.parametrize(
    "files",
    [
        {"SKILL.md": b"x" * (DEFAULT_LIMITS.max_file_bytes + 1)},
        {f"assets/{number}": b"" for number in range(DEFAULT_LIMITS.max_files)},
        {f"assets/{n}": b"x" * DEFAULT_LIMITS.max_file_bytes for n in range(9)},
    ],
)
def test_a_skill_cannot_grow_beyond_what_is_read_and_scanned(
    files: dict[str, bytes | None],
) -> None:
    folder = Folder()

    with pytest.raises(PathError, match="would have"):
        make(Change("notes", files), folder, Scanner())

    assert "apply" not in folder.steps
