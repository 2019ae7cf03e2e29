"""Why the workshop does not do what somebody expects: each known symptom, answered for this place.

An answer is about this installation and not about workshops: it names the setting that is in the
way and its value, or the proposal that waits, and then what to do. Where nothing is in the way it
says so, and what would be seen then.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prowess.runtime.workshop.ports import Counters
from prowess.settings import ApprovalPolicy, ReviewMode, WorkshopSettings
from prowess.workshop.proposal import EventKind, ProposalEvent, State

ENTRY = "plugins.entries.skill-workshop"
_BY_PHRASE = frozenset((ReviewMode.HEURISTIC, ReviewMode.HYBRID))
_BY_MODEL = frozenset((ReviewMode.LLM, ReviewMode.HYBRID))
_ENABLE = "Run `prowess workshop enable`."
_PHRASES = (
    "Say it as a rule (`next time ...`, `never ...`, `use X, not Y`): questions, reports, pasted"
    " texts and wishes for what is built are none. On a transcript, `prowess workshop capture FILE"
    " --dry-run` shows what is found. Or use `prowess workshop suggest`."
)
_MOST_NAMES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """Whether the agent sees a skill that was applied; else why not and what to do."""

    skill: str
    visible: bool
    reason: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that is known about the workshop of one agent."""

    settings: WorkshopSettings
    counts: Mapping[State, int]
    events: Sequence[ProposalEvent] = ()
    counters: Counters = field(default_factory=Counters)
    # Why no model can be asked for a review; empty where one can.
    no_reviewer: str = ""
    # What was said last about a turn from which nothing came; empty where nothing was.
    phrase_note: str = ""
    review_note: str = ""
    applied: Sequence[Visibility] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SymptomAnswer:
    """One symptom: whether it is explained by what was found, what that is, and what to do."""

    symptom: str
    # False where something was found that explains the symptom.
    fine: bool
    finding: str
    advice: str = ""


def explain_symptoms(seen: Situation) -> tuple[SymptomAnswer, ...]:
    """Return an answer to each known symptom, in the order in which they should be looked at."""
    return tuple(replace(explain(seen), symptom=symptom) for symptom, explain in _SYMPTOMS.items())


def explain_off(settings: WorkshopSettings) -> str:
    """Say which switch is off; nothing where the workshop is on."""
    if not settings.selected:
        return f"{ENTRY}.enabled is not true"
    return "" if settings.enabled else f"{ENTRY}.config.enabled is false"


def describe_next_review(seen: Situation) -> str:
    """Say how far it is to the next review, or why there is none."""
    settings, counters = seen.settings, seen.counters
    if settings.review_mode not in _BY_MODEL:
        return f"no reviews: reviewMode is {settings.review_mode.value}"
    if counters.failures:
        return f"a review failed {counters.failures} times in a row and is tried again next turn"
    return (
        f"{counters.turns} of {settings.review_interval} turns,"
        f" {counters.tool_calls} of {settings.review_min_tool_calls} tool calls"
    )


def _answer_fine(finding: str, advice: str = "") -> SymptomAnswer:
    return SymptomAnswer(symptom="", fine=True, finding=finding, advice=advice)


def _answer_wrong(finding: str, advice: str) -> SymptomAnswer:
    return SymptomAnswer(symptom="", fine=False, finding=finding, advice=advice)


def _explain_unavailable(seen: Situation) -> SymptomAnswer:
    off = explain_off(seen.settings)
    if off:
        return _answer_wrong(f"{off}.", _ENABLE)
    return _answer_fine(
        f"{ENTRY}.enabled is true: agents have the tool skill_workshop from the next turn."
    )


def _explain_nothing_automatic(seen: Situation) -> SymptomAnswer:
    settings = seen.settings
    off = explain_off(settings)
    if off:
        return _answer_wrong(f"{off}.", _ENABLE)
    causes = [] if settings.auto_capture else ["autoCapture is false"]
    causes += ["reviewMode is off"] if settings.review_mode is ReviewMode.OFF else []
    if causes:
        advice = "Run `prowess workshop enable --profile review-first` (or low-cost: no model)."
        return _answer_wrong(f"{' and '.join(causes)}.", advice)
    finding = f"autoCapture is true, reviewMode is {settings.review_mode.value}"
    return _answer_fine(
        f"{finding}; {describe_next_review(seen)}.",
        "A correction by phrase needs no threshold; a review comes when one is reached.",
    )


def _explain_phrase(seen: Situation) -> SymptomAnswer:
    settings = seen.settings
    if settings.review_mode not in _BY_PHRASE or not settings.auto_capture:
        advice = "Run `prowess workshop enable --profile low-cost`, or suggest it yourself."
        return _answer_wrong(f"rules are not looked for: {_name_modes(settings)}.", advice)
    created = [event for event in seen.events if event.kind is EventKind.CREATED]
    finding = "rules are looked for in what users type"
    finding += (
        f"; the last proposal is {created[-1].proposal_id}" if created else "; none was found yet"
    )
    if seen.phrase_note:
        return _answer_wrong(f"{finding}; the last one refused: {seen.phrase_note}.", _PHRASES)
    return _answer_fine(f"{finding}.", _PHRASES)


def _explain_review(seen: Situation) -> SymptomAnswer:
    settings = seen.settings
    if settings.review_mode not in _BY_MODEL or not settings.auto_capture:
        advice = "Run `prowess workshop enable --profile review-first`."
        return _answer_wrong(f"no reviews are made: {_name_modes(settings)}.", advice)
    if seen.no_reviewer:
        advice = "Without a model: `prowess workshop enable --profile low-cost`."
        return _answer_wrong(f"no model can be asked: {seen.no_reviewer}", advice)
    if seen.counters.failures:
        advice = f"Raise reviewTimeoutMs ({settings.review_timeout_ms}) if it took too long."
        return _answer_wrong(
            f"{describe_next_review(seen)}; {seen.review_note or 'the log says why'}.", advice
        )
    before = "a review was made" if seen.counters.last_review_at else "no review was made yet"
    note = f"; it said last: {seen.review_note}" if seen.review_note else ""
    advice = "`reviewer found no update` means that it saw nothing worth keeping."
    return _answer_fine(f"{before}{note}; {describe_next_review(seen)}.", advice)


def _name_modes(settings: WorkshopSettings) -> str:
    finding = f"reviewMode is {settings.review_mode.value}"
    return finding if settings.auto_capture else f"{finding} and autoCapture is false"


def _explain_not_applied(seen: Situation) -> SymptomAnswer:
    pending, policy = seen.counts.get(State.PENDING, 0), seen.settings.approval_policy
    waiting = "1 proposal is" if pending == 1 else f"{pending} proposals are"
    finding = f"approvalPolicy is {policy.value}; {waiting} waiting."
    if not pending:
        return _answer_fine(finding)
    advice = "`prowess workshop list`, then `show ID --diff` and `apply ID`."
    if policy is ApprovalPolicy.AUTO:
        advice += " A skill that a person wrote is never changed without being asked."
    return _answer_wrong(finding, advice)


def _explain_disappeared(seen: Situation) -> SymptomAnswer:
    pruned = [event for event in seen.events if event.kind is EventKind.PRUNED]
    gone = (State.APPLIED, State.REJECTED, State.QUARANTINED, State.STALE)
    parts = [f"{seen.counts[state]} {state.value}" for state in gone if seen.counts.get(state)]
    if pruned:
        parts.append(f"{len(pruned)} pruned (maxPending is {seen.settings.max_pending})")
    if not parts:
        advice = "The same suggestion twice is one proposal: the first one is kept."
        return _answer_fine("none was decided about, quarantined or pruned.", advice)
    advice = "`prowess workshop list --status STATE`, and `prowess workshop history`."
    if pruned:
        advice += f" Pruned: {_names(event.skill for event in pruned)}."
    return _answer_wrong(f"{', '.join(parts)}.", advice)


def _explain_unseen(seen: Situation) -> SymptomAnswer:
    hidden = [one for one in seen.applied if not one.visible]
    if not hidden:
        known = _names(one.skill for one in seen.applied)
        return _answer_fine(f"the agent sees {known}." if known else "no proposal was applied yet.")
    finding = "; ".join(f"{one.skill}: {one.reason}" for one in hidden[:_MOST_NAMES])
    fixes = dict.fromkeys(one.fix for one in hidden if one.fix)
    advice = " ".join((*fixes, f"`prowess why {hidden[0].skill}` says all of it."))
    return _answer_wrong(finding, advice)


_SYMPTOMS: Mapping[str, Callable[[Situation], SymptomAnswer]] = {
    "The tool is unavailable": _explain_unavailable,
    "No automatic proposal appears": _explain_nothing_automatic,
    "A correction was not captured": _explain_phrase,
    "The reviewer made no proposal": _explain_review,
    "A proposal is not applied": _explain_not_applied,
    "A proposal disappeared from the list": _explain_disappeared,
    "A skill file exists but the model misses it": _explain_unseen,
}


def _names(skills: Iterable[str]) -> str:
    counted = Counter(skills)
    named = list(counted)[:_MOST_NAMES]
    more = len(counted) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")
