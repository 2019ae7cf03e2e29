"""A benchmark: a catalogue of skills, messages, and which skill is relevant to which message.

Cases expect skills by their `id`, as names may repeat in a large catalogue.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from prowess.errors import SuiteError
from prowess.evaluation.suites import Case, Problems, prompt_text, whole
from prowess.skills.model import Skill, Source, Tier

# The rows of a file of JSON lines, by their line.
Lines: TypeAlias = Mapping[int, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A catalogue and its cases."""

    name: str
    skills: tuple[Skill, ...]
    cases: tuple[Case, ...]
    problems: tuple[str, ...] = ()


def read_bench(name: str, *, skills: Lines, queries: Lines, qrels: Lines) -> Bench:
    """Read a catalogue, its messages, and which skill is relevant to which message.

    Raises:
        SuiteError: there are no skills, or no messages, that can be read.
    """
    problems = Problems()
    found = {skill.id: skill for skill in _bench_skills(skills, problems)}
    wanted = _relevant(qrels, problems)
    cases = tuple(_bench_cases(queries, wanted, frozenset(found), problems))
    if not found or not cases:
        listed = "; ".join(problems.listed()[:1])
        raise SuiteError(name, f"holds no {'queries' if found else 'skills'}: {listed or 'empty'}.")
    return Bench(name=name, skills=tuple(found.values()), cases=cases, problems=problems.listed())


def without_examples(skill: Skill) -> Skill:
    """Return a skill of a benchmark as if its set had no example requests."""
    return replace(skill, fields={}, content_hash=f"{skill.content_hash}-plain")


def _bench_skills(rows: Lines, problems: Problems) -> Iterator[Skill]:
    seen: set[str] = set()
    for line, row in rows.items():
        texts = _texts(row, ("id", "name", "description", "body"))
        if not texts["id"] or texts["id"] in seen:
            problem = "is there twice" if texts["id"] else "is missing"
            problems.add(f"skills, line {line}: the id {problem}")
            continue
        seen.add(texts["id"])
        given = row.get("examples") if isinstance(row, Mapping) else None
        listed = given if isinstance(given, list) else []
        examples = tuple(whole(item) for item in listed if isinstance(item, str))
        yield _bench_skill(texts, examples)


def _bench_skill(texts: Mapping[str, str], examples: tuple[str, ...]) -> Skill:
    content = json.dumps([texts, examples], sort_keys=True).encode()
    return Skill(
        id=texts["id"],
        name=texts["name"] or texts["id"],
        description=texts["description"],
        body=texts["body"],
        fields={"examples": examples} if examples else {},
        source=Source(tier=Tier.EXTRA, root="bench"),
        path=f"bench/{texts['id']}/SKILL.md",
        folder=f"bench/{texts['id']}",
        content_hash=hashlib.sha256(content).hexdigest(),
    )


def _relevant(rows: Lines, problems: Problems) -> dict[str, set[str]]:
    """Return the skills that are relevant to each message, by their ids."""
    found: dict[str, set[str]] = {}
    for line, row in rows.items():
        texts = _texts(row, ("query_id", "skill_id"))
        relevance = row.get("relevance", 1) if isinstance(row, Mapping) else None
        if not all(texts.values()) or not isinstance(relevance, int | float):
            problems.add(f"qrels, line {line}: query_id, skill_id or relevance cannot be read")
        elif relevance > 0:
            found.setdefault(texts["query_id"], set()).add(texts["skill_id"])
    return found


def _bench_cases(
    rows: Lines, wanted: dict[str, set[str]], known: frozenset[str], problems: Problems
) -> Iterator[Case]:
    left = dict(wanted)
    seen: set[str] = set()
    for line, row in rows.items():
        texts = _texts(row, ("id", "text"))
        relevant = left.pop(texts["id"], set())
        if not all(texts.values()) or texts["id"] in seen:
            problems.add(f"queries, line {line}: id or text is missing, or the id is there twice")
        elif relevant and relevant.isdisjoint(known):
            # Without its skill the message would count as out of scope, which it is not.
            problems.add(f"queries, line {line}: no skill has the id {min(relevant)!r}")
        else:
            prompt = prompt_text(texts["text"])
            yield Case(prompt=prompt, expect=known & relevant, where=texts["id"])
        seen.add(texts["id"])
    for query in left:
        problems.add(f"qrels: no query has the id {query!r}")


def _texts(row: object, keys: Iterable[str]) -> dict[str, str]:
    """Return the texts at `keys`, empty where there is none; a number serves as an id."""
    found = row if isinstance(row, Mapping) else {}
    values = {key: found.get(key) for key in keys}
    return {
        key: whole(str(value)) if isinstance(value, str | int) and str(value).strip() else ""
        for key, value in values.items()
    }
