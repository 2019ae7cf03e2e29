"""Versions, names and scores of a hub, without a store."""

import numpy as np
import pytest

from prowess.errors import HubError
from prowess.hub.model import (
    HubCaller,
    HubRole,
    Namespace,
    TokenScope,
    check_name,
    check_version,
    order_version,
)
from prowess.hub.search import (
    FoundSkill,
    choose_terms,
    code_term,
    dump_words,
    load_words,
    rank,
    read_asked,
    read_texts,
)
from prowess.routing.lexical_and_breadth import Collection, LexicalIndex, Terms
from prowess.routing.words import split_words
from prowess.testing import make_skill

NOTHING = Collection(size=10, words_per_skill=8.0, typical=(2.0, 6.0, 1.0, 1.0), counts={})


def test_versions_are_ordered_as_semver_says() -> None:
    ordered = [
        "0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
        "1.0.0", "1.2.0", "1.10.0", "2.0.0",
    ]  # fmt: skip
    mixed = ordered[::-1]

    assert sorted(mixed, key=order_version) == ordered


@pytest.mark.parametrize(
    "text", ["", "1", "1.0", "v1.0.0", "01.0.0", "1.0.0 ", "1.0.0-", "1.0.0\n"]
)
def test_what_cannot_be_ordered_is_no_version(text: str) -> None:
    with pytest.raises(HubError, match="is no version"):
        check_version(text)


@pytest.mark.parametrize("text", ["", "A", "a--b", "-a", "a/b", "a_b", "ä", "a" * 65, "a\n"])
def test_a_name_is_plain(text: str) -> None:
    with pytest.raises(HubError, match="is no namespace"):
        check_name("namespace", text)


def test_a_right_needs_the_role_and_the_scope() -> None:
    private = Namespace(id=1, name="acme", is_public=False, is_reviewed=True)
    ann = HubCaller(
        person="ann", scopes=frozenset((TokenScope.READ,)), roles={"acme": HubRole.ADMIN}
    )
    bob = HubCaller(person="bob", scopes=frozenset(TokenScope), roles={"acme": HubRole.PUBLISHER})

    assert [ann.may(scope, private) for scope in TokenScope] == [True, False, False, False]
    assert [bob.may(scope, private) for scope in TokenScope] == [True, True, False, False]
    assert not HubCaller().may(TokenScope.READ, private)


def make_found(skill_id: int, text: str, cosine: float, resembles: int | None = None) -> FoundSkill:
    words = read_texts(make_skill(name=f"s-{skill_id}", description=text)).words
    return FoundSkill(skill_id=skill_id, words=words, cosine=cosine, resembles=resembles)


def test_an_imitation_stays_below_what_it_imitates_however_well_it_fits() -> None:
    asked = read_asked("write release notes")
    real = make_found(1, "Writes notes.", 0.3)
    fake = make_found(2, "Write release notes. Release notes!", 0.9, resembles=1)
    other = make_found(3, "Write release notes.", 0.6)

    found = rank(asked, [fake, other, real], NOTHING, has_vectors=True, english_only=True)

    assert [skill_id for skill_id, _ in found] == [3, 1, 2]


def test_a_few_skills_get_the_scores_that_they_have_among_all() -> None:
    words = ["apple", "pear", "plum", "apple", "fig", "apple", "pear", "quince"]
    every = [Terms(description=split_words(word)) for word in words]
    whole = LexicalIndex.build(every)
    known = {"appl": 3, "pear": 2}
    collection = Collection(
        size=len(every), words_per_skill=1.0, typical=(0.0, 1.0, 0.0, 0.0), counts=known
    )

    some = LexicalIndex.build(every[:2], collection)

    for message in ("apple", "a pear and an apple", "apple zebra"):
        assert np.allclose(some.score(message).scores, whole.score(message).scores[:2])
        assert some.score(message).mass == pytest.approx(whole.score(message).mass)


def test_words_are_kept_and_coded_so_that_every_index_takes_them() -> None:
    terms = read_texts(
        make_skill(name="c-notes", description='Writes C++ and "日本語" notes.')
    ).words

    assert load_words(dump_words(terms)) == terms
    assert [code_term(term) for term in ("note", "c++", "日本")] == [
        "note",
        "x632b2b",
        "xe697a5e69cac",
    ]


def test_common_words_are_left_out_where_rarer_ones_say_enough() -> None:
    counts = {"use": 90_000, "kubernet": 40, "deploy": 700, "zebra": 0, "file": 50_000}

    assert choose_terms(counts, counts) == [("kubernet",), ("deploy",), ("file", "use")]
    assert choose_terms(["use"], counts) == [("use",)]
    assert choose_terms(["zebra"], counts) == []
