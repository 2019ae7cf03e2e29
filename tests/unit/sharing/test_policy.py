"""Policies: the strictest level wins, every reason has a line, and waivers end."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.sharing.policy import (
    PolicyEffect,
    PolicyFacts,
    PolicyLevel,
    decide,
    find_required,
    list_sources,
    read_policy,
)

TODAY = date(2026, 11, 16)
FACTS = PolicyFacts(
    skill="notes",
    sources=list_sources("acme/skills", "git", "https://github.com/acme/skills.git", "tools/notes"),
)


def effect(text: str, facts: PolicyFacts = FACTS) -> str:
    return decide([read_policy(text, "p.yml", "team")], facts, TODAY).effect.word


@each_row(
    ("rules", "expected"),
    [
        ("", "off"),
        ("deny: [other]", "off"),
        ("deny: [notes]", "block"),
        ("deny: ['skill:no*']", "block"),
        ("deny: ['github.com/acme/*']", "block"),
        ("mode: warn\ndeny: [notes]", "warn"),
        ("mode: off\ndeny: [notes]", "off"),
        ("allow: []", "block"),
        ("allow: ['github.com/acme/*']", "off"),
        ("allow: [acme/skills]", "off"),
        ("allow: ['github.com/else/*']", "block"),
        ("pinned: true", "block"),
        ("pinned: false", "off"),
        ("signed: true", "block"),
        ("verdict: clean", "off"),
        ("unmanaged: block", "off"),
    ],
)
def test_a_rule_says_what_becomes_of_a_skill(rules: str, expected: str) -> None:
    assert effect(f"version: 1\n{rules}\n") == expected


@each_row(
    ("url", "kind", "allowed"),
    [
        ("https://github.com/acme/skills.git", "git", True),
        ("git@github.com:acme/skills.git", "git", True),
        ("ssh://git@GitHub.com:22/acme//skills", "git", True),
        ("HTTPS://GITHUB.COM:443/%61cme/./skills.git/", "git", True),
        # A folder, another host and a mere name are none of theirs.
        ("github.com/acme/skills", "folder", False),
        ("acme/skills", "folder", False),
        ("https://github.com@evil.example/acme/skills", "git", False),
        ("https://evil.example/github.com/acme/skills", "git", False),
        ("oci://evil.example/github.com/acme/skills", "oci", False),
    ],
)
def test_a_source_is_what_it_is_however_it_is_written(
    url: str, kind: str, *, allowed: bool
) -> None:
    sources = list_sources("github.com/acme/skills", kind, url, "")
    facts = PolicyFacts(skill="notes", sources=sources, asked="github.com/acme/skills")

    for pattern in ("github.com/acme/*", "acme/*"):
        assert effect(f"version: 1\nallow: ['{pattern}']\n", facts) == (
            "off" if allowed else "block"
        )
    # To be denied, it is enough to be called so, in whatever case.
    assert effect("version: 1\ndeny: ['GitHub.com/Acme/*']\n", facts) == "block"


def test_the_least_verdict_and_what_is_in_no_lock_count() -> None:
    warned = PolicyFacts(skill="notes", verdict="warn")
    unmanaged = PolicyFacts(skill="notes", is_managed=False)
    added = PolicyFacts(skill="notes", unmanaged_files=("extra.md",))

    assert effect("version: 1\nverdict: clean\n", warned) == "block"
    assert effect("version: 1\nverdict: warn\n", warned) == "off"
    assert effect("version: 1\nunmanaged: warn\n", unmanaged) == "warn"
    assert effect("version: 1\nunmanaged: block\n", added) == "block"


def test_what_was_shown_of_a_skill_can_be_asked_for_once_it_is_there() -> None:
    shown = {
        state: PolicyFacts(skill="notes", proof=state)
        for state in ("proven", "harmful", "inconclusive", "unproven", "")
    }

    strict = {state: effect("version: 1\nproof: proven\n", one) for state, one in shown.items()}
    mild = {state: effect("version: 1\nproof: not-harmful\n", one) for state, one in shown.items()}

    assert [state for state, said in strict.items() if said == "off"] == ["proven", ""]
    assert [state for state, said in mild.items() if said == "block"] == ["harmful"]


def test_what_is_bundled_can_be_denied_and_needs_no_other_word() -> None:
    bundled = PolicyFacts(skill="prowess-manual", is_bundled=True, is_managed=False)
    strict = "version: 1\nallow: []\npinned: true\nsigned: true\nunmanaged: block\n"

    assert effect(strict, bundled) == "off"
    assert effect("version: 1\ndeny: [prowess-*]\n", bundled) == "block"


def test_a_reason_names_the_file_and_the_line() -> None:
    text = "version: 1\n\ndeny:\n  - other\n  - notes\n"

    first = decide([read_policy(text, "/etc/p.yml", "organisation")], FACTS, TODAY).first

    assert first is not None
    assert (first.path, first.line, first.rule) == ("/etc/p.yml", 5, "deny")


def test_a_waiver_ends_with_its_day_and_lifts_rules_of_its_own_level_alone() -> None:
    waiver = "waivers:\n  - {skill: notes, rule: deny, until: 2026-11-16, reason: trial}\n"
    own = read_policy(f"version: 1\ndeny: [notes]\n{waiver}", "team.yml", "team")
    above = read_policy("version: 1\ndeny: [notes]\n", "org.yml", "organisation")

    assert decide([own], FACTS, TODAY).effect is PolicyEffect.OFF
    assert decide([own], FACTS, date(2026, 11, 17)).effect is PolicyEffect.BLOCK
    assert decide([above, own], FACTS, TODAY).effect is PolicyEffect.BLOCK


@each_row(
    "text",
    [
        "version: 2", "mode: block", "version: 1\ndenny: [x]", "version: 1\nmode: strict",
        "version: 1\nversion: 1", "version: 1\ndeny: x", "a: [", "version: 1\nx: *a",
        "version: 1\nwaivers:\n  - {skill: a, rule: deny, reason: r}",
        "version: 1\nwaivers:\n  - {skill: a, rule: deny, until: never, reason: r}",
        "version: 1\nverdict: great", "version: 1\npinned: 7", "- a",
    ],
)  # fmt: skip
def test_what_is_no_policy_closes_the_gate_where_it_or_one_above_says_so(text: str) -> None:
    plain = read_policy(text, "p.yml", "project")
    closing = read_policy(f"unreadable: block\n{text}\n  - :", "p.yml", "project")
    above = read_policy("version: 1\nunreadable: block\n", "org.yml", "organisation")
    of_all = read_policy(text, "org.yml", "organisation")

    assert decide([plain], FACTS, TODAY).effect is PolicyEffect.WARN
    assert decide([closing], FACTS, TODAY).effect is PolicyEffect.BLOCK
    assert decide([above, plain], FACTS, TODAY).effect is PolicyEffect.BLOCK
    assert decide([of_all], FACTS, TODAY).effect is PolicyEffect.BLOCK


def test_what_is_required_and_missing_is_named() -> None:
    level = read_policy("version: 1\nrequire: [style, notes]\n", "p.yml", "team")

    (missing,) = find_required([level], {"style": "is not there"}, TODAY)

    assert (missing.text, missing.line) == ("style is required, and is not there", 2)


def test_nothing_is_used_without_what_is_required_but_that_itself() -> None:
    above = read_policy("version: 1\nrequire: [style]\n", "org.yml", "organisation")
    below = read_policy("version: 1\nrequire: [notes]\n", "p.yml", "project")
    waived = read_policy(
        "version: 1\nrequire: [style]\nwaivers:\n"
        "  - {skill: style, rule: require, until: 2026-11-16, reason: it moves}\n",
        "org.yml",
        "organisation",
    )

    def blocks(skill: str, *levels: PolicyLevel, is_bundled: bool = False) -> bool:
        unmet = {name: "is not there" for name in ("style", "notes") if name != skill}
        facts = PolicyFacts(skill=skill, unmet=unmet, is_bundled=is_bundled)
        return decide(levels, facts, TODAY).effect is PolicyEffect.BLOCK

    assert blocks("other", above)
    assert not blocks("other", above, is_bundled=True)
    # In the order of the levels all of them can come.
    assert not blocks("style", above, below)
    # What a lower level requires is no way around what a higher one does.
    assert blocks("notes", above, below)
    assert not blocks("notes", below)
    assert not blocks("other", waived)


patterns = st.sampled_from(["notes", "skill:*", "github.com/acme/*", "git", "nothing", "*"])
policies = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["off", "warn", "block"]),
        "unreadable": st.sampled_from(["off", "warn", "block"]),
        "allow": st.lists(patterns, max_size=3),
        "deny": st.lists(patterns, max_size=3),
        "require": st.lists(st.sampled_from(["notes", "style", "other"]), max_size=3),
        "pinned": st.sampled_from(["true", "false"]),
        "signed": st.sampled_from(["true", "false"]),
        "verdict": st.sampled_from(["clean", "warn", "nonsense"]),
        "unmanaged": st.sampled_from(["off", "warn", "block"]),
        "waivers": st.just(
            "[{skill: '*', rule: deny, until: 2999-01-01, reason: r},"
            " {skill: '*', rule: require, until: 2999-01-01, reason: r},"
            " {skill: '*', rule: allow, until: 2999-01-01, reason: r}]"
        ),
    },
)
facts = st.builds(
    PolicyFacts,
    skill=st.just("notes"),
    sources=st.just(FACTS.sources),
    is_bundled=st.booleans(),
    is_managed=st.booleans(),
    is_pinned=st.booleans(),
    signer=st.sampled_from(["", "ann"]),
    verdict=st.sampled_from(["clean", "warn", "quarantine"]),
    unmet=st.dictionaries(st.sampled_from(["notes", "style"]), st.just("is not there")),
)


def _written(policy: dict[str, object]) -> str:
    return "version: 1\n" + "".join(f"{key}: {value}\n" for key, value in policy.items())


@given(st.lists(policies, min_size=1, max_size=3), policies, facts)
def test_a_child_never_widens_what_its_parents_allow(
    parents: list[dict[str, object]], child: dict[str, object], one: PolicyFacts
) -> None:
    levels = ("organisation", "team", "team")
    above = [
        read_policy(_written(policy), f"{level}.yml", level)
        for policy, level in zip(parents, levels, strict=False)
    ]
    below = read_policy(_written(child), "project.yml", "project")

    before, after = decide(above, one, TODAY), decide([*above, below], one, TODAY)

    assert after.effect >= before.effect
    assert set(before.reasons) <= set(after.reasons)
