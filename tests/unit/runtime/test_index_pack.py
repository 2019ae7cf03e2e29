"""An index that travels as bytes answers as the one that was made."""

import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row
from tests.unit.routing.vectors import ask, make_index

from prowess.routing import router
from prowess.routing.decision_triggers_and_follow_ups import DEFAULT
from prowess.routing.router import RouteChoice, SkillIndex
from prowess.runtime.route.index import pack_index, unpack_index
from prowess.skills.model import Skill, Triggers
from prowess.testing import make_skill

SKILLS = (
    make_skill("bread-baker", description='Bakes bread. Use when the user says "bake a loaf".'),
    make_skill("bike-repair", description="Repairs bicycles. For cars use car-repair."),
    make_skill("car-repair", description="Repairs cars. Not for bicycles.", globs=("*.obd",)),
    make_skill("secret", description="Hides things.", model=False),
    make_skill("toaster", description="Toasts bread.", triggers=Triggers(none=("loaf",))),
    make_skill("面包", description="烤面包和蛋糕。"),
)
CHOICE = RouteChoice(thresholds=DEFAULT, most=3, considered=6)


def answers(index: SkillIndex, message: str) -> object:
    query = router.read(message) if index.dense is None else ask(message)
    return router.outright(index, query, CHOICE) or router.route(index, query, CHOICE)


@pytest.mark.parametrize("meaning", [True, False])
@pytest.mark.parametrize(
    "message",
    [
        "bake a sourdough loaf",
        "/bread-baker rye",
        "fix my bicycle",
        "烤一个面包",
        "x.obd",
        "",
        "hi",
    ],
)
def test_it_answers_as_before(message: str, *, meaning: bool) -> None:
    made = make_index(*SKILLS, meaning=meaning)

    again = unpack_index(pack_index(made), SKILLS)

    assert again is not None
    assert answers(again, message) == answers(made, message)
    assert (again.hidden, again.encoder_id) == (made.hidden, made.encoder_id)


def test_the_same_index_is_the_same_bytes() -> None:
    made = make_index(*SKILLS)

    again = unpack_index(pack_index(made), SKILLS)

    assert again is not None
    assert pack_index(again) == pack_index(made)


def test_an_index_of_other_skills_is_none() -> None:
    raw = pack_index(make_index(*SKILLS))

    assert unpack_index(raw, SKILLS[:-1]) is None


@settings(max_examples=50)
@given(st.data())
def test_bytes_that_were_cut_or_changed_are_no_index(data: st.DataObject) -> None:
    raw = bytearray(pack_index(make_index(*SKILLS)))
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= data.draw(st.integers(1, 255))

    assert unpack_index(bytes(raw), SKILLS) is None
    assert unpack_index(bytes(raw[:at]), SKILLS) is None


@each_row(
    "head",
    [
        b"", b"[]", b"{", b"[[],{}]", b'[[["<f4",[9]]],{"dense":{"array":0}}]',
        b'[[],{"dense":{"array":7}}]', b'[[],{"dense":{"kind":"Skill","parts":[]}}]',
        b'[[["nonsense",[1]]],{}]', b'[[["<f4",[-1]]],{}]',
    ],
)  # fmt: skip
def test_bytes_of_another_version_are_no_index(head: bytes) -> None:
    body = len(head).to_bytes(8, "little") + head
    raw = b"prowess index 1\n" + zlib.crc32(body).to_bytes(8, "little") + body

    assert unpack_index(raw, SKILLS) is None


def test_what_was_packed_cannot_be_changed_by_who_uses_it() -> None:
    again = unpack_index(pack_index(make_index(*SKILLS)), SKILLS)

    assert again is not None
    assert again.dense is not None
    with pytest.raises(ValueError, match="read-only"):
        again.dense.whole[0, 0] = np.float32(1)


def test_a_skill_takes_its_place_from_the_caller() -> None:
    fresh: tuple[Skill, ...] = tuple(replace(skill) for skill in SKILLS)

    again = unpack_index(pack_index(make_index(*SKILLS)), fresh)

    assert again is not None
    assert again.skills == fresh
