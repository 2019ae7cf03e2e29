"""The shapes that the studio sees: sources, files, histories, saved tests, and connections.

Settings hold keys and tokens, and a diff of them shows the lines around a change: what looks like a
secret is shown as stars, and a very long line is cut to the part that differs.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prowess.evaluation.metrics import Outcome
from prowess.evaluation.routing import RoutingTest, TestRun
from prowess.routing.dense import find_near, project
from prowess.routing.router import SkillIndex
from prowess.runtime.harness.connect import ConnectPlan, FileChange, WrittenSettings
from prowess.runtime.harness.doctor import DoctorLevel, Examination, HarnessHealth, name_of
from prowess.runtime.library import (
    MOST_FILE_BYTES,
    FileStanding,
    Library,
    LibraryEntry,
    LibrarySource,
    SkillFile,
)
from prowess.runtime.usage import Activity, Sums, Use
from prowess.secrets.mask import hide_secrets
from prowess.skills.model import RootKind, Source, Tier
from prowess.skills.text import clean, cut_listed
from prowess.wire.skills import SCOPES, Json, diagnostic, moment, pick
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
        **pick(source, "label?=harness kind"),
        "scope": SCOPES[source.tier],
        "rank": rank,
        "path": clean(source.root),
        "exists": value.exists,
        **pick(source, "leads_away=linked tier.is_removable=removable"),
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
        **pick(value, "name path"),
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
                **pick(one, "id=proposalId title source revision=revisionHash"),
                "appliedAt": moment(one.updated_at),
                # Only the last change of a skill can be taken back.
                "isLast": place == 0,
            }
            for place, one in enumerate(versions)
        ],
    }


def _change(event: ProposalEvent) -> Json:
    return {
        **pick(event, "sequence kind=type proposal_id revision=revisionHash"),
        "occurredAt": moment(event.at),
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
                "lastUsedAt": None if one.last_used_ms is None else moment(one.last_used_ms / 1000),
            }
            for one in value.skills
        ],
        "agents": [
            {"agentId": clean(agent), **_sums(sums)} for agent, sums in value.agents.items()
        ],
        **pick(value, "never_used_total never_used"),
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
    return {**pick(value, "id skill?=name message should"), "addedAt": moment(value.added_at)}


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
            {**routing_test(run.test), **pick(run, "passed problem?"), **_outcome(run.outcome)}
            for run in rows
        ],
    }


def _outcome(value: Outcome | None) -> Json:
    if value is None:
        return {"first": None, "loaded": [], "offered": [], "score": None}
    return {
        "first": clean(value.ranked[0]) if value.ranked else None,
        **pick(value, "chosen=loaded offered"),
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


def connection(
    plan: ConnectPlan,
    differences: Mapping[str, Sequence[str]],
    written: Sequence[WrittenSettings] | None,
) -> Json:
    """Show what was, or would be, changed; never what else a settings file holds.

    Args:
        plan: what was planned.
        differences: the lines that differ in each file, by its path.
        written: what was written; None where nothing was to be.
    """
    kept = {one.path: one.backup for one in written or ()}
    return {
        **pick(plan, "harness scope remove"),
        "dryRun": written is None,
        **pick(plan, "command needed=changed"),
        "files": [_file(file, differences.get(file.path, ()), kept) for file in plan.files],
        "notes": [clean(note) for note in plan.notes],
    }


def harness_health(value: HarnessHealth) -> Json:
    """Show how one harness is connected."""
    calls = value.calls
    return {
        "harness": value.harness.value,
        "title": name_of(value.harness),
        "installed": value.version is not None,
        "version": clean(value.version or "") or None,
        "connected": [scope.value for scope in value.scopes],
        "problems": [f"{clean(path)}: {clean(text)}" for path, text in value.unreadable.items()],
        "calls": len(calls),
        "failed": sum(bool(call.problem) for call in calls),
        "lastCallAt": calls[-1].at_ms if calls else None,
        **pick(value, "latency_ms hint_rate"),
        "command": f"prowess connect {value.harness.value}",
    }


def _file(file: FileChange, lines: Sequence[str], kept: Mapping[str, str]) -> Json:
    return {
        **pick(file, "path leads_to?"),
        "action": _action(file),
        "written": file.path in kept,
        "backup": clean(kept.get(file.path, "")) or None,
        "diff": [clean(line) for line in lines],
    }


def _action(file: FileChange) -> str:
    if not file.needed:
        return "keep"
    if file.before is None:
        return "create"
    return "remove" if file.after is None else "change"


def examination(found: Examination) -> Json:
    """Show what the doctor found, in the order in which it looked."""
    return {
        "ok": found.well,
        "problems": found.count(DoctorLevel.PROBLEM),
        "warnings": found.count(DoctorLevel.WARNING),
        "findings": [pick(finding, "area level text todo?") for finding in found.findings],
    }


_CONTEXT = 3
_LONG, _AROUND = 300, 60
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def compare_files(path: str, before: bytes | None, after: bytes | None) -> list[str]:
    """Return the lines of a unified difference, without line ends; nothing where none differs."""
    if before == after:
        return []
    old, new = _lines(before), _lines(after)
    skipped, old, new = _trim(old, new)
    found = difflib.unified_diff(
        old,
        new,
        fromfile="/dev/null" if before is None else path,
        tofile="/dev/null" if after is None else path,
        lineterm="",
        n=_CONTEXT,
    )
    lines = [_move(line, skipped) for line in found]
    if not lines:
        return [f"{path}: only line ends differ"]
    return [line[:1] + hide_secrets(line[1:]).text for line in _shorten(lines)]


def _lines(content: bytes | None) -> list[str]:
    if content is None:
        return []
    return content.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()


def _trim(old: list[str], new: list[str]) -> tuple[int, list[str], list[str]]:
    """Leave out what is alike at both ends: to compare all of a large file takes minutes."""
    least = min(len(old), len(new))
    start = 0
    while start < least and old[start] == new[start]:
        start += 1
    end = 0
    while end < least - start and old[-1 - end] == new[-1 - end]:
        end += 1
    first, last = max(start - _CONTEXT, 0), max(end - _CONTEXT, 0)
    return first, old[first : len(old) - last], new[first : len(new) - last]


def _move(line: str, skipped: int) -> str:
    """Count the lines that were left out."""

    def counted(match: re.Match[str]) -> str:
        old, new = int(match[1]) + skipped, int(match[3]) + skipped
        return f"@@ -{old}{match[2] or ''} +{new}{match[4] or ''} @@"

    return _HUNK.sub(counted, line) if line.startswith("@@") else line


def _shorten(lines: Sequence[str]) -> Iterator[str]:
    removed = [line[1:] for line in lines[2:] if line.startswith("-")]
    added = [line[1:] for line in lines[2:] if line.startswith("+")]
    if len(removed) == len(added) == 1 and max(len(removed[0]), len(added[0])) > _LONG:
        start, end = _count_alike(removed[0], added[0])
        for line in lines:
            yield line[0] + _part(line[1:], start, end) if len(line) > _LONG else line
        return
    for line in lines:
        yield line if len(line) <= _LONG else line[:_LONG] + "…"


def _count_alike(old: str, new: str) -> tuple[int, int]:
    """Return how many characters are alike at the beginning and at the end."""
    least = min(len(old), len(new))
    start = next((at for at in range(least) if old[at] != new[at]), least)
    most = least - start
    end = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    return start, end


def _part(line: str, start: int, end: int) -> str:
    first, last = max(start - _AROUND, 0), max(len(line) - end + _AROUND, 0)
    return ("…" if first else "") + line[first:last] + ("…" if last < len(line) else "")
