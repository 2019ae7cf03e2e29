"""A table of cases as one test: it looks at every row, and names each that is wrong.

Thousands of cases of their own cost more to collect and report than to run. The rows share the
fixtures of their test, so one that changes a folder, a variable or a clock is parametrised.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence

import pytest

Test = Callable[..., None]
_LONGEST = 300


def each_row(names: str | Sequence[str], rows: Iterable[object]) -> Callable[[Test], Test]:
    """Run the body once for each row, and fail with all the rows that failed."""
    columns = [names] if isinstance(names, str) else list(names)
    table = [{names: row} if isinstance(names, str) else _cells(columns, row) for row in rows]
    assert table, "a table without rows tests nothing"

    def as_one(body: Test) -> Test:
        def test(**fixtures: object) -> None:
            failed = [(row, error) for row in table if (error := _error(body, row | fixtures))]
            if failed:
                told = [
                    f"{_shown(row)}\n  {type(error).__name__}: {error}" for row, error in failed
                ]
                message = "\n".join([f"{len(failed)} of {len(table)} rows", *told])
                raise AssertionError(message) from failed[0][1]

        return _dressed(test, body, without=columns)

    return as_one


def _cells(columns: list[str], row: object) -> dict[str, object]:
    assert isinstance(row, Iterable)
    return dict(zip(columns, row, strict=True))


def _error(body: Test, values: dict[str, object]) -> BaseException | None:
    try:
        body(**values)
    # Whatever a row fails with is told; a skip or an interrupt is no failure of a row.
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
        return error
    return None


def _dressed(test: Test, body: Test, without: list[str]) -> Test:
    """Give the test the name of its body, and the fixtures that are no columns."""
    signature = inspect.signature(body)
    fixtures = [one for name, one in signature.parameters.items() if name not in without]
    vars(test).update(vars(body), __signature__=signature.replace(parameters=fixtures))
    test.__name__ = test.__qualname__ = body.__name__
    test.__module__, test.__doc__ = body.__module__, body.__doc__
    vars(test)["__wrapped__"] = body
    return test


def _shown(row: dict[str, object]) -> str:
    words = ", ".join(f"{name}={value!r}" for name, value in row.items())
    return words if len(words) <= _LONGEST else words[:_LONGEST] + "…"
