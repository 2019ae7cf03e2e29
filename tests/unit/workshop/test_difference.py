"""The difference that a proposal makes: against the files as they are now."""

from prowess.workshop.proposal import Change, Proposal, ProposalSource, State, difference


def _proposal(files: dict[str, bytes | None]) -> Proposal:
    return Proposal(
        id="a-1",
        revision="r",
        state=State.PENDING,
        created_at=0.0,
        workspace="/w",
        source=ProposalSource.TOOL,
        change=Change("a", files),
    )


def test_what_is_new_what_changes_and_what_goes_is_said_line_by_line() -> None:
    files: dict[str, bytes | None] = {"new.md": b"one\n", "old.md": b"two", "gone.md": None}
    live = {"skills/a/old.md": b"one\n", "skills/a/gone.md": b"x\n"}

    lines = list(difference(_proposal(files), live.get))

    assert lines[:4] == ["--- /dev/null", "+++ b/skills/a/new.md", "@@ -0,0 +1 @@", "+one"]
    assert "-one" in lines
    assert "+\\ No newline at end of file" in lines
    assert lines[-4:] == ["--- a/skills/a/gone.md", "+++ /dev/null", "@@ -1 +0,0 @@", "-x"]


def test_what_is_the_same_already_is_no_difference() -> None:
    assert not list(difference(_proposal({"a.md": b"one\n"}), lambda _: b"one\n"))


def test_a_file_that_cannot_be_read_is_said() -> None:
    lines = list(difference(_proposal({"a.md": b"one\n"}), lambda _: "is not a regular file"))

    assert lines == ["! skills/a/a.md is not a regular file"]
