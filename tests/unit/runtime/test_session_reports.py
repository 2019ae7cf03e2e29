"""Reports on sessions: what was not read is said, however much there is of it."""

from collections.abc import Callable, Iterator
from functools import partial

from prowess.hooks.harness import Harness
from prowess.routing.model import Route
from prowess.runtime.route.answer import Asked
from prowess.runtime.sessions import (
    GONE,
    MOST_FILES,
    TOO_MANY_FILES,
    SessionFile,
    SessionPorts,
    SessionReports,
)
from prowess.transcripts.sessions import Session, SessionTurn


class ManyFiles:
    """So many files with a session each."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.read: list[int] = []

    def files(
        self, since_ms: int, harness: Harness | None = None, session: str = ""
    ) -> Iterator[Callable[[], SessionFile]]:
        """Yield what reads each of them."""
        assert (since_ms, harness, session) == (0, None, "")
        for number in range(self._count):
            yield partial(self._file, number)

    def _file(self, number: int) -> SessionFile:
        self.read.append(number)
        turn = SessionTurn(number=1, at_ms=0, prompt="do it")
        session = Session(
            harness="codex", id=str(number), path=f"{number}.jsonl", cwd="", started_ms=0,
            turns=(turn,),
        )  # fmt: skip
        return SessionFile(harness=Harness.CODEX, path=session.path, sessions=(session,))


def _never(_prompt: str, _asked: Asked) -> Route:
    raise AssertionError("no folder is there, so nothing is routed")


def _reports(files: ManyFiles) -> SessionReports:
    tools = SessionPorts(
        files=files,
        skills_in=lambda _: None,
        route=_never,
        in_folders=lambda _root, _harness: False,
    )
    return SessionReports(tools)


def test_files_beyond_the_newest_ones_are_counted_and_not_opened() -> None:
    files = ManyFiles(MOST_FILES + 7)

    report = _reports(files).report(0)

    assert files.read == list(range(MOST_FILES))
    assert len(report.sessions) == MOST_FILES
    assert report.skipped == {TOO_MANY_FILES: 7, GONE: MOST_FILES}


def test_where_all_are_read_nothing_is_said_of_others() -> None:
    assert TOO_MANY_FILES not in _reports(ManyFiles(MOST_FILES)).report(0).skipped
