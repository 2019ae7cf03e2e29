"""The messages that were saved as tests, in one small file of the state folder.

`prowess eval` reads the same file as a suite: each case has a `prompt` and either `expect` or
`not`. Cases that somebody wrote into it in another shape stay there, and are not shown.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from prowess.errors import StoreError, explain_failure
from prowess.evaluation.routing import LONGEST_MESSAGE, MOST_TESTS, RoutingTest
from prowess.evaluation.suites import whole
from prowess.host.files.handles import Content, read_bounded
from prowess.host.files.state_files import locked, write_private

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
                write_private(self._path, _written([*others, *map(_case, tests)]))
        except OSError as error:
            raise StoreError(self._path, f"cannot be changed: {explain_failure(error)}.") from error


def _cases(path: str) -> list[object]:
    match read_bounded(os.path.realpath(path), _MAX_BYTES):
        case None:
            return []
        case Content(data=data):
            return _listed(json.loads(data.decode("utf-8")))
        case problem:
            raise ValueError(problem.message)


def _listed(values: object) -> list[object]:
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


def _written(cases: Sequence[object]) -> str:
    text = json.dumps({"cases": cases}, indent=2, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode("utf-8") + "\n"


def _case(test: RoutingTest) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": test.id, "prompt": test.message}
    if test.should or not test.skill:
        shown["expect"] = test.skill or _NOBODY
    else:
        shown["not"] = [test.skill]
    return {**shown, "addedAt": test.added_at}
