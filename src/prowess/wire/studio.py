"""The shapes that the studio sees: sources, files, histories, activity and saved tests."""

from collections.abc import Iterable
from datetime import UTC, datetime

from prowess.evaluation.metrics import Outcome
from prowess.evaluation.routing import RoutingTest, TestRun
from prowess.routing.dense import find_near, project
from prowess.routing.index import SkillIndex
from prowess.runtime.library import (
    MOST_FILE_BYTES,
    FileStanding,
    Library,
    LibraryEntry,
    LibrarySource,
    SkillFile,
)
from prowess.runtime.usage import Activity, Sums, Use
from prowess.skills.model import RootKind, Source, Tier
from prowess.skills.text import clean, cut_listed
from prowess.wire.skills import SCOPES, Json, diagnostic
from prowess.workshop.proposal import EventKind, Proposal, ProposalEvent

# Where people may take skills away; in all others somebody else keeps them.
_LABELS = {
    Tier.EXTRA: "Extra folder",
    Tier.BUNDLED: "Bundled with Prowess",
    Tier.MANAGED: "Managed by Prowess",
    Tier.HARNESS_PERSONAL: "Personal",
    Tier.AGENTS_PERSONAL: "Personal, for every agent",
    Tier.HARNESS_PROJECT: "Project",
    Tier.AGENTS_PROJECT: "Project, for every agent",
    Tier.WORKSPACE: "Workspace",
}
_KINDS = {RootKind.SKILLS: "", RootKind.COMMANDS: ", commands", RootKind.RULES: ", rules"}
_CHANGES = frozenset((EventKind.APPLIED, EventKind.ROLLED_BACK))


def library(value: Library, *, brief: bool = False) -> Json:
    """Show every source, the one that wins first.

    Briefly, a skill that counts and of which there is nothing to remark is its name alone, and its
    path only where that is not the usual one: thousands of them are a few bytes each.
    """
    entry = _brief_entry if brief else lambda one, _root: _entry(one)
    return {
        "agentId": value.agent_id,
        "sources": [
            {**_source(one, rank), "skills": [entry(each, one.source.root) for each in one.entries]}
            for rank, one in enumerate(value.sources, start=1)
        ],
        "diagnostics": [diagnostic(problem) for problem in value.diagnostics],
    }


def _source(value: LibrarySource, rank: int) -> Json:
    source = value.source
    counts = dict.fromkeys(FileStanding, 0)
    for entry in value.entries:
        counts[entry.standing] += 1
    return {
        "id": clean(f"{source.tier.source_id}:{source.root}"),
        "source": source.tier.source_id,
        "label": _label(source),
        "harness": clean(source.label) or None,
        "kind": source.kind.value,
        "scope": SCOPES[source.tier],
        "rank": rank,
        "path": clean(source.root),
        "exists": value.exists,
        "linked": source.leads_away,
        "removable": source.tier.is_removable,
        "counts": {standing.value: number for standing, number in counts.items()},
        "diagnostics": [diagnostic(problem) for problem in value.diagnostics],
    }


def _label(source: Source) -> str:
    words = _LABELS[source.tier] + _KINDS[source.kind]
    return f"{clean(source.label)}: {words.lower()}" if source.label else words


def _brief_entry(value: LibraryEntry, root: str) -> Json | str | list[str]:
    if value.standing is not FileStanding.ACTIVE or value.diagnostics:
        return _entry(value)
    name, path = clean(value.name), clean(value.path)
    return name if path == f"{clean(root)}/{name}/SKILL.md" else [name, path]


def _entry(value: LibraryEntry) -> Json:
    winner = value.winner
    return {
        "name": clean(value.name),
        "state": value.standing.value,
        "path": clean(value.path),
        "description": cut_listed(value.description) or None,
        "winner": None
        if winner is None
        else {
            "name": clean(winner.name),
            "path": clean(winner.path),
            "source": winner.source.tier.source_id,
            "sourceId": clean(f"{winner.source.tier.source_id}:{winner.source.root}"),
        },
        "identical": value.identical,
        "diagnostics": [diagnostic(problem) for problem in value.diagnostics],
    }


def skill_file(value: SkillFile) -> Json:
    """Show one file of a skill."""
    kind = "large" if value.size is None else "binary" if value.text is None else "text"
    return {
        "name": clean(value.name),
        "path": clean(value.path),
        "kind": kind,
        "size": value.size,
        "limit": MOST_FILE_BYTES,
        "text": None if value.text is None else clean(value.text),
    }


def history(name: str, events: Iterable[ProposalEvent], versions: Iterable[Proposal]) -> Json:
    """Show what was done to a skill, the newest first, and what of it still holds."""
    return {
        "name": clean(name),
        "changes": [_change(one) for one in events if one.kind in _CHANGES][::-1],
        "versions": [
            {
                "proposalId": one.id,
                "title": clean(one.title),
                "source": one.source.value,
                "revisionHash": one.revision,
                "appliedAt": _moment(one.updated_at),
                # Only the last change of a skill can be taken back.
                "isLast": place == 0,
            }
            for place, one in enumerate(versions)
        ],
    }


def _change(event: ProposalEvent) -> Json:
    return {
        "sequence": event.sequence,
        "type": event.kind.value,
        "proposalId": event.proposal_id,
        "revisionHash": event.revision,
        "occurredAt": _moment(event.at),
        "note": clean(event.note) or None,
    }


def activity(value: Activity) -> Json:
    """Show what happened over some days."""
    days = list(value.days)
    return {
        "agentId": value.agent_id,
        "from": days[0].isoformat(),
        "to": days[-1].isoformat(),
        "days": [{"day": day.isoformat(), **_sums(sums)} for day, sums in value.days.items()],
        "totals": _sums(value.total),
        "skills": [
            {
                "name": clean(one.name),
                **{use.value: one.sums.uses[use] for use in Use},
                "lastUsedAt": None
                if one.last_used_ms is None
                else _moment(one.last_used_ms / 1000),
            }
            for one in value.skills
        ],
        "agents": [
            {"agentId": clean(agent), **_sums(sums)} for agent, sums in value.agents.items()
        ],
        "neverUsedTotal": value.never_used_total,
        "neverUsed": [clean(name) for name in value.never_used],
    }


def _sums(value: Sums) -> Json:
    return {**{use.value: value.uses[use] for use in Use}, "none": value.unmatched}


# From here on two skills are hard to tell apart by what they say; so many pairs are shown.
_NEAR, _MOST_PAIRS = 0.82, 200


def skill_map(agent_id: str, index: SkillIndex, problem: str) -> Json:
    """Show where skills stand on a plane by what they mean, and which lie close together."""
    if index.dense is None:
        # With nothing in its way, what skills mean is being read at this moment.
        pending = not problem and len(index.skills) > 0
        head = {"agentId": agent_id, "problem": problem, "pending": pending}
        return {**head, "points": [], "near": [], "nearTotal": 0}
    vectors = index.dense.whole
    near = find_near(vectors, _NEAR, _MOST_PAIRS)
    names = [clean(skill.name) for skill in index.skills]
    flat = [[round(float(x), 3), round(float(y), 3)] for x, y in project(vectors)]
    return {
        "agentId": agent_id,
        "problem": problem,
        "pending": False,
        "points": [[name, *place] for name, place in zip(names, flat, strict=True)],
        "near": [[names[one], names[other], round(score, 3)] for one, other, score in near.pairs],
        "nearTotal": near.total,
    }


def routing_test(value: RoutingTest) -> Json:
    """Show one saved test; without a name no skill at all should be loaded."""
    return {
        "id": clean(value.id),
        "name": clean(value.skill) or None,
        "message": clean(value.message),
        "should": value.should,
        "addedAt": _moment(value.added_at),
    }


def routing_tests(tests: Iterable[RoutingTest], path: str) -> Json:
    """Show the saved tests, the newest first, and where they are."""
    return {"tests": [routing_test(one) for one in tests][::-1], "path": clean(path)}


def test_runs(runs: Iterable[TestRun], agent_id: str, problem: str | None) -> Json:
    """Show what became of the saved tests."""
    rows = list(runs)
    passed = sum(run.passed for run in rows)
    return {
        "agentId": agent_id,
        "total": len(rows),
        "passed": passed,
        "failed": len(rows) - passed,
        "status": "degraded" if problem else "ok",
        "results": [
            {
                **routing_test(run.test),
                "passed": run.passed,
                "problem": clean(run.problem) or None,
                **_outcome(run.outcome),
            }
            for run in rows
        ],
    }


def _outcome(value: Outcome | None) -> Json:
    if value is None:
        return {"first": None, "loaded": [], "offered": [], "score": None}
    return {
        "first": clean(value.ranked[0]) if value.ranked else None,
        "loaded": [clean(name) for name in value.chosen],
        "offered": [clean(name) for name in value.offered],
        "score": round(value.confidence, 4),
    }


def masked(missed: Json) -> Json:
    """Show a missed activation without a word that anybody wrote."""
    proof = missed["proof"]
    return {
        **missed,
        "prompt": None,
        "proof": proof and {**proof, "prompt": None},
        # In brackets stands which words a message and a skill share.
        "reasons": [reason.partition(" (")[0] for reason in missed["reasons"]],
    }


def _moment(seconds: float) -> str:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        # It comes from a file like any other, which may say anything.
        moment = datetime.fromtimestamp(0, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
