"""Reports on sessions: what was not read is said, however much there is of it."""

import json
from collections.abc import Callable, Iterator
from functools import partial

from tests.rows import each_row

from prowess.hooks.harness import Harness
from prowess.routing.model import Decision, Route, Thresholds
from prowess.runtime.route.answer import Asked
from prowess.runtime.sessions import (
    GONE,
    MOST_FILES,
    TOO_MANY_FILES,
    SessionFile,
    SessionPorts,
    SessionReports,
)
from prowess.skills.agent_filter_snapshot import Snapshot
from prowess.skills.prompt import PromptBlock
from prowess.testing import make_skill
from prowess.transcripts.sessions import Session, SessionTurn, ShownText


class ManyFiles:
    """So many files with a session each."""

    def __init__(self, count: int, shown: ShownText | None = None) -> None:
        self._count, self._shown = count, shown
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
        shown = (self._shown,) if self._shown else ()
        turn = SessionTurn(number=1, at_ms=0, prompt="do it", shown=shown)
        session = Session(
            harness="codex", id=str(number), path=f"{number}.jsonl", cwd="/a" if shown else "",
            started_ms=0, turns=(turn,),
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


_STEPS = (
    "# Notes\n\n1. Read the log.\n2. Sort by author.\n\nThen write:\n- what is new\n- what broke\n"
)
_SHARED = "# Of all\n\nAsk first.\nThen act.\n"
_SKILLS = (
    make_skill("notes", body=_STEPS),
    make_skill("short", body="Follow these steps.\n"),
    make_skill("one", body=_SHARED),
    make_skill("other", body=_SHARED),
)


def _file(name: str, body: str) -> str:
    return f"---\nname: {name}\ndescription: Something.\n---\n{body}"


def _numbered(body: str, before: str, sign: str) -> str:
    rows = enumerate(body.splitlines(), 1)
    return "\n".join(f"{before}{number:>6}{sign}{row}" for number, row in rows)


@each_row(
    ("shown", "named", "used"),
    [
        (_file("notes", _STEPS), (), {"notes"}),
        # A part of the file is enough, and a file that was changed since.
        ("1. Read the log.\n2. Sort by author.\n\nThen write:", (), {"notes"}),
        (_file("notes", _STEPS.replace("by author", "by date")), (), {"notes"}),
        (_file("notes", _STEPS) + _file("short", "Follow these steps."), (), {"notes", "short"}),
        (_STEPS.replace("\n", "\r\n"), (), {"notes"}),
        (_numbered(_file("notes", _STEPS), "", "\t"), (), {"notes"}),
        (_numbered(_file("short", "Follow these steps."), "", "\u2192"), (), {"short"}),
        (_numbered(_STEPS, "", " \u2502 "), (), {"notes"}),
        ("\n".join(f"a/notes/SKILL.md:{row}" for row in _STEPS.splitlines()), (), {"notes"}),
        (
            "\n".join(f"a/SKILL.md:{n}:{row}" for n, row in enumerate(_STEPS.splitlines())),
            (),
            {"notes"},
        ),
        (json.dumps({"text": _file("notes", _STEPS)}), (), {"notes"}),
        (repr(_file("notes", _STEPS).encode()), (), {"notes"}),
        # What two skills have in common, or anybody may write, says nothing without a name.
        (_SHARED, (), set()),
        (_SHARED, ("other",), {"other"}),
        (_file("one", _SHARED), (), {"one"}),
        ("Follow these steps.", (), set()),
        ("Follow these steps.", ("short",), {"short"}),
        # Its name, its place, its size, its frontmatter or a line is not its text.
        ("a/notes/SKILL.md", ("notes",), set()),
        ("  12  40 300 a/notes/SKILL.md", ("notes",), set()),
        ("yes", ("notes",), set()),
        ("[main 1a2b3c] Sort\n 1 file changed", ("notes",), set()),
        ("---\nname: notes\ndescription: Something.\n---", ("notes",), set()),
        ("a/notes/SKILL.md:2:name: notes\na/notes/SKILL.md:6:1. Read the log.", ("notes",), set()),
    ],
)
def test_a_skill_is_used_where_its_text_was_shown_whatever_showed_it(
    shown: str, named: tuple[str, ...], used: set[str]
) -> None:
    snapshot = Snapshot(agent_id="main", usable=_SKILLS, version=1, hash="", block=PromptBlock())
    tools = SessionPorts(
        files=ManyFiles(1, ShownText(shown, named)),
        skills_in=lambda _: snapshot,
        route=lambda _prompt, _asked: Route(
            decision=Decision.NONE, thresholds=Thresholds(load=1, offer=1)
        ),
        in_folders=lambda _root, _harness: False,
    )

    report = SessionReports(tools).report(0)

    assert {one.name for one in report.skills if one.used} == used
    assert report.sessions[0].turns[0].shown == ()
