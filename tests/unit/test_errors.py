import inspect

import pytest
from tests.rows import each_row

from prowess import errors
from prowess.errors import (
    ConfigError,
    ConfigKeyError,
    ConfigSyntaxError,
    ContainmentError,
    PathError,
    ProwessError,
    SkillNotFoundError,
    StoreError,
    UnknownAgentError,
    WatchUnavailableError,
)

ALL = [
    found
    for _, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, ProwessError)
]


def test_every_error_has_a_code_of_its_own() -> None:
    assert len({error.code for error in ALL}) == len(ALL)


@each_row("error", ALL)
def test_every_error_is_in_the_drawn_tree_and_ends_in_error(error: type[ProwessError]) -> None:
    assert error.__name__ in str(errors.__doc__)
    assert error.__name__.endswith("Error")


@pytest.mark.parametrize(
    ("error", "parent"),
    [
        (ConfigSyntaxError, ConfigError),
        (ContainmentError, PathError),
        (WatchUnavailableError, ProwessError),
    ],
)
def test_a_caller_may_catch_the_wider_kind(
    error: type[ProwessError], parent: type[ProwessError]
) -> None:
    assert issubclass(error, parent)


@each_row(
    "error",
    [
        ConfigError("/x", "is locked"),
        ConfigSyntaxError("/x", "is locked"),
        PathError("/x", "is locked"),
        ContainmentError("/x", "is locked"),
        StoreError("/x", "is locked"),
    ],
)
def test_an_error_about_a_file_carries_its_path_and_problem(
    error: ConfigError | PathError | StoreError,
) -> None:
    assert str(error) == "/x: is locked"
    assert (error.path, error.problem) == ("/x", "is locked")


def test_an_error_about_a_key_carries_both() -> None:
    error = ConfigKeyError("skills.x", "does not exist")

    assert str(error) == "skills.x: does not exist"
    assert (error.key, error.problem) == ("skills.x", "does not exist")


def test_an_unknown_agent_brings_the_known_ones() -> None:
    error = UnknownAgentError("nobody", ["main", "writer"])

    assert "nobody" in str(error)
    assert "main, writer" in str(error)
    assert (error.agent_id, error.known) == ("nobody", ("main", "writer"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SkillNotFoundError("x"), "prowess list"),
        (SkillNotFoundError("x", ["y", "z"]), "did you mean y, z?"),
        (SkillNotFoundError("x", ["X", "x-"], ambiguous=True), "it could be X, x-"),
    ],
)
def test_a_skill_that_is_not_found_says_what_to_do_next(
    error: SkillNotFoundError, said: str
) -> None:
    assert '"x"' in str(error)
    assert said in str(error)
    assert error.name == "x"


def test_no_message_of_an_error_breaks_a_line_or_moves_a_cursor() -> None:
    quoted = "naïve\x1b[2J\r\n\x9bforged\u2028\u202eline\u2066 👩\u200d💻"

    told = str(PathError(quoted, f"a server said {quoted}"))

    assert told.isprintable() or set("\u200d") == {c for c in told if not c.isprintable()}
    assert "naïve" in told
    assert "👩\u200d💻" in told
