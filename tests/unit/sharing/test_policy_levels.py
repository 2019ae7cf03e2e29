"""Organisation, team and project, at random: a level below never widens what stands above it.

What each policy should say is worked out here a second time, by rules that are written down anew
from the page about policies: nothing of the policy's own code decides what is expected.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import yaml

from prowess.sharing.policy import PolicyFacts, PolicyLevel, decide, read_policy

TRIPLES = 2_000
LEVELS = ("organisation", "team", "project")
TODAY = date(2026, 11, 18)
OFF, WARN, BLOCK = range(3)
STRENGTH = {"off": OFF, "warn": WARN, "block": BLOCK}
NAMES = ("notes", "deploy", "style", "bread")
SOURCES = ("github.com/acme/skills", "github.com/other/skills", "clawhub", "./local")
PATTERNS = (
    *NAMES,
    "skill:notes",
    "*",
    "github.com/acme/*",
    "github.com/*",
    "clawhub",
    "NO*",
    "GIT*",
)
RULES = ("allow", "deny", "require", "pinned", "signed", "verdict", "unmanaged", "proof")

Policy = dict[str, Any]


def make_policy(rng: random.Random) -> Policy:
    """Return what a person might write, every key in it or not."""
    keys: dict[str, Any] = {
        "mode": rng.choice(list(STRENGTH)),
        "unreadable": rng.choice(list(STRENGTH)),
        "allow": rng.sample(PATTERNS, rng.randint(0, 4)),
        "deny": rng.sample(PATTERNS, rng.randint(0, 2)),
        "require": rng.sample(NAMES, rng.randint(0, 2)),
        "pinned": rng.random() < 0.5,
        "signed": rng.random() < 0.5,
        "verdict": rng.choice(("clean", "warn")),
        "unmanaged": rng.choice(list(STRENGTH)),
        "proof": rng.choice(("proven", "not-harmful")),
        "waivers": [make_waiver(rng) for _ in range(rng.randint(0, 3))],
    }
    chosen = {key: value for key, value in keys.items() if rng.random() < 0.35}
    return {"version": 1, **chosen, **({"broken": True} if rng.random() < 0.05 else {})}


def make_waiver(rng: random.Random) -> dict[str, str]:
    until = rng.choice(("2026-11-17", "2026-11-18", "2027-01-01"))
    skill = rng.choice((*NAMES, "*"))
    return {"skill": skill, "rule": rng.choice(RULES), "until": until, "reason": "for now"}


def make_facts(rng: random.Random) -> PolicyFacts:
    is_managed = rng.random() < 0.7
    return PolicyFacts(
        skill=rng.choice(NAMES),
        sources=(rng.choice(SOURCES),),
        is_bundled=rng.random() < 0.1,
        is_managed=is_managed,
        unmanaged_files=("x.md",) if is_managed and rng.random() < 0.2 else (),
        is_pinned=rng.random() < 0.5,
        signer=rng.choice(("", "ann@example.com")),
        verdict=rng.choice(("clean", "warn", "critical", "error")),
        proof=rng.choice(("", "proven", "unproven", "harmful")),
    )


def fits(pattern: str, facts: PolicyFacts) -> bool:
    shape = re.compile(re.escape(pattern).replace(r"\*", ".*"), re.DOTALL)
    names = (facts.skill, f"skill:{facts.skill}", *facts.sources)
    return any(shape.fullmatch(name) for name in names)


def broken_rules(policy: Policy, facts: PolicyFacts) -> set[str]:
    """Return which rules of one policy a skill breaks, those about required skills left out."""
    lowered = PolicyFacts(skill=facts.skill.lower(), sources=facts.sources)
    found = {"deny"} if any(fits(one.lower(), lowered) for one in policy.get("deny", ())) else set()
    if facts.is_bundled:
        return found
    accepted = {"clean": ("clean",), "warn": ("clean", "warn")}
    wanted = {"proven": ("", "proven"), "not-harmful": ("", "proven", "unproven")}
    broken = {
        "allow": "allow" in policy and not any(fits(one, facts) for one in policy["allow"]),
        "pinned": policy.get("pinned") and facts.is_managed and not facts.is_pinned,
        "signed": policy.get("signed") and not facts.signer,
        "verdict": "verdict" in policy and facts.verdict not in accepted[policy["verdict"]],
        "proof": "proof" in policy and facts.proof not in wanted[policy["proof"]],
        "unmanaged": "unmanaged" in policy and (not facts.is_managed or facts.unmanaged_files),
    }
    return found | {rule for rule, is_so in broken.items() if is_so}


def is_waived(policy: Policy, rule: str, skill: str) -> bool:
    return any(
        one["rule"] == rule and one["skill"] in {"*", skill} and one["until"] >= str(TODAY)
        for one in policy.get("waivers", ())
    )


def expect(policies: Sequence[Policy], facts: PolicyFacts, absent: set[str]) -> int:
    """Return how strong the answer must be: the strongest of what each level says by itself."""
    worst, closes, required = OFF, False, set[str]()
    for level, policy in zip(LEVELS, policies, strict=False):
        mode = STRENGTH[policy.get("mode", "block")]
        says_so = policy.get("unreadable") == "block"
        if policy.get("broken"):
            is_closed = closes or says_so or level == "organisation"
            worst = max(worst, BLOCK if is_closed else WARN)
        elif mode:
            for rule in broken_rules(policy, facts):
                limit = STRENGTH[policy["unmanaged"]] if rule == "unmanaged" else BLOCK
                if not is_waived(policy, rule, facts.skill):
                    worst = max(worst, min(mode, limit))
            required |= set(policy.get("require", ()))
            missing = set(policy.get("require", ())) & absent
            # What is required can be used before the others are there, and itself is what counts.
            missing &= {facts.skill} if facts.skill in required else missing
            if not facts.is_bundled and any(
                not is_waived(policy, "require", one) for one in missing
            ):
                worst = max(worst, mode)
        closes = closes or says_so or (bool(policy.get("broken")) and level == "organisation")
    return worst


def write(policy: Policy, level: str) -> PolicyLevel:
    return read_policy(yaml.safe_dump(policy, sort_keys=False), f"/{level}.yml", level)


def test_two_thousand_triples_say_what_is_expected_and_no_level_below_widens() -> None:
    rng = random.Random(20_261_118)  # noqa: S311 - the same cases every time
    seen = set[tuple[int, int, int]]()
    for number in range(TRIPLES):
        policies = [make_policy(rng) for _ in LEVELS]
        levels = [write(one, level) for one, level in zip(policies, LEVELS, strict=True)]
        facts, absent = make_facts(rng), {name for name in NAMES if rng.random() < 0.3}
        asked = replace(facts, unmet=dict.fromkeys(sorted(absent), "is not there"))
        effects = []
        for count in (1, 2, 3):
            found = decide(levels[:count], asked, TODAY).effect.value
            assert found == expect(policies[:count], facts, absent), (number, policies, facts)
            effects.append(found)
        assert effects == sorted(effects), (number, policies, facts)
        seen.add((effects[0], effects[1], effects[2]))
    # Every way up from one level to the next was met.
    assert len(seen) == 10
