"""What a draft says about itself, written into its frontmatter and read back from there alone.

The text of a draft quotes what strangers wrote, also lines that look like a fingerprint. So the
body is never searched. A draft of OpenPocket has no such frontmatter: of it only the list right
below the title counts, which nothing quoted can reach.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from prowess.experience.fingerprint import COARSE_STEPS, behaviour, flow
from prowess.experience.plain_words import plain
from prowess.experience.redaction import without_secrets
from prowess.experience.slugs import mixed_slug
from prowess.skills import frontmatter
from prowess.skills.field_reader import FieldReader, UnreadableError, as_text, mapping
from prowess.skills.metadata import resolve
from prowess.skills.model import Value
from prowess.skills.text import one_line
from prowess.transcripts.traces_part import (
    MOST_STEPS,
    MOST_TASK,
    MOST_WORDS,
    Action,
    Json,
    Step,
    Trace,
)

KIND = "auto_skill_draft"
TITLE = "Skill Draft: "
MOST_FACT = 1_000
_KINDS = "auto_skill_"
_FEWEST_STEPS, _FEWEST_KINDS = 4, 2
_HASH_DIGITS = 16
# What is read of the words of a step that no draft shows.
_MOST_UNSEEN = 300
_DEEPEST = 20
_FINGERPRINT = re.compile(r"[0-9a-f]{12}")
_BULLET = re.compile(
    r"[-*][ \t]+\W{0,3}(?P<name>[A-Za-z_][A-Za-z_ ]{0,30})\W{0,3}:[ \t`*]*(?P<said>.*)"
)
_ALIKE = 0.9
# Letters of scripts that do not part words: they are compared in pairs.
_UNPARTED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_UNPARTED}]+|[^\W_{_UNPARTED}]+")
_FILE_NAME = re.compile(r"(?<![\w/.-])[\w/.-]{1,200}\.([A-Za-z][A-Za-z0-9]{0,7})\b")
_SMALL = frozenset(
    ("a", "an", "and", "the", "to", "of", "in", "on", "for", "with", "my", "me", "please", "then")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftFacts:
    """Where a draft came from, and by what it is known again; what is empty was not said."""

    task: str = ""
    source_session: str = ""
    behaviour: str = ""
    flow: str = ""
    trace_id: str = ""
    confidence: str = ""
    # ISO 8601, as it was given.
    generated_at: str = ""
    # The hash of the whole draft as it was written; see `is_untouched`.
    body_hash: str = ""
    kind: str = KIND
    on_device: bool = True


# The names under which the frontmatter holds the facts.
_NAMES = MappingProxyType(
    {
        "kind": "kind",
        "task": "task",
        "source_session": "source_session",
        "behaviour": "behavior_fingerprint",
        "flow": "flow_fingerprint",
        "trace_id": "trace",
        "confidence": "confidence",
        "generated_at": "generated_at",
        "body_hash": "body_hash",
    }
)
_PLACE, _DEVICE, _HOST = "place", "device", "host"
# The same in a list below the title, as OpenPocket writes it.
_LISTED = MappingProxyType(
    {
        "source session": "source_session",
        "behavior_fingerprint": "behaviour",
        "confidence": "confidence",
        "generated": "generated_at",
    }
)


def facts_of(trace: Trace, *, generated_at: str) -> DraftFacts:
    """Return the facts that the draft of a trace will hold, all but the hash of its text."""
    return facts_of_clean(clean_trace(trace), trace_id=trace.id, generated_at=generated_at)


def clean_trace(trace: Trace) -> Trace:
    """Return a trace without its secrets, and of each text as much as a draft could show."""
    steps = tuple(
        _cut_step(step, MOST_WORDS if at < COARSE_STEPS else _MOST_UNSEEN)
        for at, step in enumerate(trace.steps[:MOST_STEPS])
    )
    return without_secrets(
        replace(
            trace,
            task=trace.task[:MOST_TASK],
            final_message=trace.final_message[:MOST_WORDS],
            steps=steps,
        )
    )


def _cut_step(step: Step, most: int) -> Step:
    fields = {name: _cut_value(value, 0) for name, value in step.action.fields.items()}
    return replace(
        step,
        action=Action(step.action.kind, fields),
        result=step.result[:most],
        thought=step.thought[:most],
    )


def _cut_value(value: Json, depth: int) -> Json:
    if isinstance(value, str):
        return value[:MOST_WORDS]
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {name: _cut_value(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, Sequence):
        return [_cut_value(inner, depth + 1) for inner in value]
    return value


def facts_of_clean(trace: Trace, *, trace_id: str, generated_at: str) -> DraftFacts:
    """Return the facts of a trace that `clean_trace` made; its hash is that of the real one."""
    return DraftFacts(
        trace_id=trace_id,
        task=plain(trace.task, MOST_FACT),
        source_session=plain(trace.session_path, MOST_FACT),
        behaviour=behaviour(trace.steps),
        flow=flow(trace.steps, on_device=trace.is_on_device),
        confidence=confidence(trace),
        generated_at=plain(generated_at, MOST_FACT),
        on_device=trace.is_on_device,
    )


def confidence(trace: Trace) -> str:
    """Return how far one run can be trusted: `medium` at best."""
    kinds = [step.action.kind for step in trace.steps[:COARSE_STEPS]]
    return "medium" if len(kinds) >= _FEWEST_STEPS and len(set(kinds)) >= _FEWEST_KINDS else "low"


def as_generated(facts: DraftFacts) -> dict[str, str]:
    """Return the facts as the frontmatter holds them."""
    written = {name: str(getattr(facts, field)) for field, name in _NAMES.items()}
    return written | {_PLACE: _DEVICE if facts.on_device else _HOST}


def draft_facts(text: str) -> DraftFacts | None:
    """Return what a draft says of itself, or None where a text is no draft."""
    front = frontmatter.read(unix(text))
    if not front.readable:
        return None
    if not front.present:
        listed = _listed(front.body)
        return _checked(listed) if listed.get("behaviour") and listed.get("task") else None
    generated = _generated(FieldReader(front))
    if not as_text(generated.get("kind")).startswith(_KINDS):
        return None
    facts = {
        field: said
        for field, name in _NAMES.items()
        if isinstance(said := generated.get(name), str)
    }
    if "behaviour" not in facts:
        facts = _listed(front.body) | facts
    return _checked(facts, on_device=generated.get(_PLACE) != _HOST)


def is_untouched(text: str) -> bool:
    """Return whether a draft is still, letter by letter, what was written."""
    facts = draft_facts(text)
    return (
        facts is not None
        and bool(facts.body_hash)
        and facts.body_hash == seal(unix(text).replace(facts.body_hash, "", 1))
    )


def seal(text: str) -> str:
    """Return the hash of a draft whose own place for it is empty."""
    return hashlib.sha256(text.rstrip().encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]


def same_draft(new: DraftFacts, old: DraftFacts) -> str:
    """Return why one of two drafts is enough: `fingerprint`, `task`, or empty where it is not."""
    asked = new.task, old.task
    if new.flow or old.flow:
        is_same_way = new.flow == old.flow
        # The same done to another file is the same work, as it is to the fingerprint.
        asked = _FILE_NAME.sub(r"\1", new.task), _FILE_NAME.sub(r"\1", old.task)
    else:
        is_same_way = bool(new.behaviour) and new.behaviour == old.behaviour
    # Off a device many tasks go the same way: look, change, test, commit.
    if is_same_way and ((new.on_device and old.on_device) or tasks_alike(*asked)):
        return "fingerprint"
    is_same_task = mixed_slug(new.task) == mixed_slug(old.task) and tasks_alike(new.task, old.task)
    return "task" if is_same_task else ""


def tasks_alike(one: str, other: str) -> bool:
    """Return whether two tasks ask for the same, but for small words, case and punctuation."""
    mine, theirs = Counter(_tokens(one)), Counter(_tokens(other))
    both = mine.total() + theirs.total()
    if not both:
        return bool(one.strip()) and one.split() == other.split()
    return 2 * (mine & theirs).total() / both >= _ALIKE


def _tokens(task: str) -> Iterator[str]:
    for word in _TOKEN.findall(task.casefold()):
        if not re.match(f"[{_UNPARTED}]", word):
            if word not in _SMALL:
                yield word
            continue
        yield from (word[at : at + 2] for at in range(max(len(word) - 1, 1)))


def unix(text: str) -> str:
    """Return `text` with line ends as they are written here, and without a mark before it."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _generated(reader: FieldReader) -> Mapping[str, Value]:
    raw = resolve(reader).raw
    try:
        return mapping(mapping(raw.get("openclaw")).get("generated"))
    except UnreadableError:
        # Whatever it is, it is not what a draft says.
        return {}


def _listed(body: str) -> dict[str, str]:
    """Return the facts of the list right below the title; it ends where anything else begins."""
    lines = iter(body.lstrip("\n").split("\n"))
    title = next(lines)
    if not title.startswith(f"# {TITLE}"):
        return {}
    found = {"task": title.removeprefix(f"# {TITLE}").strip()}
    for line in lines:
        said = _BULLET.fullmatch(line)
        if said is None and line.strip():
            break
        field = _LISTED.get(said["name"].strip().lower()) if said else None
        if said and field and field not in found:
            found[field] = said["said"].strip(" \t`*")
    return found


def _checked(said: Mapping[str, str], *, on_device: bool = True) -> DraftFacts:
    """Return facts that a file holds, each cut and cleaned; a fingerprint that is none is empty."""
    facts = {field: one_line(text)[:MOST_FACT] for field, text in said.items()}
    for field in ("behaviour", "flow"):
        if not _FINGERPRINT.fullmatch(facts.get(field, "")):
            facts[field] = ""
    return DraftFacts(**facts, on_device=on_device)
