"""What is made late is what the standard library makes at once."""

import copy
import dataclasses
import pickle
import re
from dataclasses import FrozenInstanceError, field, replace
from typing import ClassVar

import pytest

from prowess.data import compile_late, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class _Late:
    """One of ours."""

    kind: ClassVar[str] = "late"
    name: str
    tags: list[str] = field(default_factory=list)
    size: int = 3
    note: str = field(default="none", compare=False, repr=False)
    made: int = field(default=7, init=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _AtOnce:
    """The standard library's."""

    kind: ClassVar[str] = "late"
    name: str
    tags: list[str] = field(default_factory=list)
    size: int = 3
    note: str = field(default="none", compare=False, repr=False)
    made: int = field(default=7, init=False)


@dataclass(slots=True)
class _Checked:
    """One that checks itself, and may change."""

    first: int
    second: int = 2

    def __post_init__(self) -> None:
        if self.first < 0:
            raise ValueError("below zero")


@dataclass(frozen=True)
class _Below:
    """Without slots; what derives from it may have attributes of its own."""

    one: float = 0.5


@pytest.mark.parametrize("made", [_Late, _AtOnce])
def test_values_defaults_and_factories_are_those_of_a_dataclass(made: type) -> None:
    first, second = made(name="a"), made(name="a", tags=["x"], size=4)

    assert (first.name, first.tags, first.size, first.note, first.made) == ("a", [], 3, "none", 7)
    assert second.tags == ["x"]
    assert made(name="a").tags is not first.tags
    assert repr(second) == f"{made.__qualname__}(name='a', tags=['x'], size=4, made=7)"
    assert [one.name for one in dataclasses.fields(made)] == [
        "name",
        "tags",
        "size",
        "note",
        "made",
    ]
    assert dataclasses.asdict(first)["tags"] == []
    assert replace(first, size=9).size == 9
    names = ("name", "tags", "size", "note", "made")
    assert vars(made)["__slots__"] == tuple(one.name for one in dataclasses.fields(made)) == names


@pytest.mark.parametrize("made", [_Late, _AtOnce])
def test_equal_values_are_equal_and_nothing_can_be_changed(made: type) -> None:
    one = made(name="a", tags=(), note="x")

    assert one == made(name="a", tags=(), note="y")
    assert one != made(name="b", tags=())
    assert one != "a"
    assert hash(one) == hash(made(name="a", tags=(), note="y"))
    with pytest.raises(FrozenInstanceError):
        one.name = "b"
    with pytest.raises(FrozenInstanceError):
        del one.name
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'name'"):
        made()
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        made(name="a", other=1)


def test_a_pickle_comes_back_equal() -> None:
    made = _Late(name="a", tags=["x"])

    assert copy.copy(made) == made
    # Our own bytes.
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301


def test_one_that_may_change_is_checked_and_takes_its_values_in_order() -> None:
    one = _Checked(1, 5)
    one.second = 6

    assert one == _Checked(1, 6)
    assert _Checked.__hash__ is None
    with pytest.raises(ValueError, match="below zero"):
        _Checked(-1)
    match one:
        case _Checked(first, second):
            assert (first, second) == (1, 6)


def test_a_class_below_a_frozen_one_has_attributes_of_its_own() -> None:
    class Own(_Below):
        pass

    one = Own()
    one.extra = 1  # type: ignore[attr-defined]

    assert (one.one, one.extra) == (0.5, 1)  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError):
        object.__getattribute__(one, "__setattr__")("one", 1.0)


def test_a_pattern_says_what_the_compiled_one_says() -> None:
    late = compile_late(r"(?P<a>b+)", re.IGNORECASE)
    at_once = re.compile(r"(?P<a>b+)", re.IGNORECASE)

    assert late.findall("abBc") == at_once.findall("abBc") == ["bB"]
    assert (late.pattern, late.flags, late.groupindex["a"]) == (at_once.pattern, at_once.flags, 1)
    assert late.sub("x", "abc") == "axc"
    with pytest.raises(re.error):
        compile_late("(").search("")
