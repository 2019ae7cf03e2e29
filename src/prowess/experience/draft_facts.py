"""What a draft says about itself, how it is named, and how it quotes a stranger's words.

Facts are written into the frontmatter and read back from there alone: the text of a draft quotes
what strangers wrote, also lines that look like a fingerprint. A draft of OpenPocket has no such
frontmatter; of it only the list right below the title counts, which nothing quoted can reach. Names
are made from the task, for any script or for the standard. A slug is no identity, so nothing is
removed because of a slug alone. What is quoted (`flatten_text` as prose, `quote_text` as JSON) is
cut, holds no credential, and can begin neither a fence, a tag, a link nor a placeholder.
"""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from prowess.experience.fingerprint import COARSE_STEPS, hash_behaviour, hash_flow
from prowess.experience.redaction import HIDDEN, hide_people, remove_secrets
from prowess.secrets.credentials import mask_credentials
from prowess.skills import frontmatter
from prowess.skills.eligibility import resolve
from prowess.skills.frontmatter import FieldReader, UnreadableError, as_text, read_mapping
from prowess.skills.model import Value
from prowess.skills.text import clean, one_line
from prowess.transcripts.traces import (
    MOST_STEPS,
    MOST_TASK,
    MOST_WORDS,
    Json,
    Trace,
    TraceAction,
    TraceStep,
)

CUT = "..."
# What is read of a text: a credential behind what is shown must still be seen as a whole.
_READ_AHEAD = 4_500
_MOST_READ = 64_000
_LONG_GAP = re.compile(r"\s{3,}")
# The beginning of a tag or a comment. What the masking itself puts there is none.
_TAG = re.compile(rf"<(?=[A-Za-z/!?])(?!{HIDDEN[1:]})")
# What a page or a harness takes for a link, or for code that it is to run.
_LINK = re.compile(r"\](?=[(\[:])")
# What is filled in when a skill is called, unless a backslash stands before it.
_PLACEHOLDER = re.compile(r"(?<!\\)\$(?=ARGUMENTS|[0-9]|\{CLAUDE_)")
_TICK = re.compile("[`\u02cb\uff40]")


def flatten_text(text: str, most: int) -> str:
    """Return `text` on one line of at most `most` characters, in which nothing begins."""
    words = mask_credentials(one_line(_read(text, most)))
    words = _LINK.sub("] ", _TAG.sub("< ", _TICK.sub("'", words)))
    return shorten_text(_PLACEHOLDER.sub(r"\\$", words), most)


def quote_text(text: str, most: int) -> str:
    """Return `text`, cut to `most` characters, in JSON's quotes; line ends are kept as escapes."""
    words = shorten_text(mask_credentials(clean(_read(text, most))).strip(), most)
    written = _LINK.sub(r"\\u005d", _TAG.sub(r"\\u003c", json.dumps(words, ensure_ascii=False)))
    return _PLACEHOLDER.sub(r"\\u0024", written).replace("`", r"\u0060")


def shorten_text(text: str, most: int) -> str:
    """Return `text`, or its beginning and three dots where it is longer than `most`."""
    if len(text) <= most:
        return text
    return text[: most - len(CUT)].rstrip() + CUT


def _read(text: str, most: int) -> str:
    """Return what is read of a text: enough to mask what is shown of it."""
    text = _LONG_GAP.sub(_gap, text[:_MOST_READ])
    return mask_credentials(text[: most + _READ_AHEAD])


def _gap(match: re.Match[str]) -> str:
    return "\n" if "\n" in match[0] else " "


MOST_SLUG = 42
_NOTHING = "task"
_HASH_DIGITS = 8
_OTHERS = re.compile(r"[^a-z0-9]+")


def make_mixed_slug(task: str) -> str:
    """Return the name of a task with the letters and digits of every script."""
    text = unicodedata.normalize("NFKC", _clean_task(task).lower())
    kept = "".join(letter if _is_kept(letter) else "-" for letter in text)
    # A mark belongs to the letter before it, and is nothing without one.
    words = (word.lstrip(_marks_of(word)) for word in kept.split("-"))
    return _cut("-".join(word for word in words if word)) or _NOTHING


def make_strict_slug(task: str) -> str:
    """Return the name of a task in the letters of the standard: a to z and digits.

    Where letters of another script are lost, a hash of the whole task stands for them, so that two
    tasks in such a script never meet.
    """
    text = _clean_task(task)
    plain = unicodedata.normalize("NFKD", text.casefold())
    slug = _cut(_OTHERS.sub("-", "".join(c for c in plain if not unicodedata.combining(c))))
    if not any(letter.isalnum() and not letter.isascii() for letter in plain):
        return slug or _NOTHING
    spaced = " ".join(unicodedata.normalize("NFKC", text).split())
    digest = hashlib.sha256(spaced.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    return f"{_cut(slug, MOST_SLUG - _HASH_DIGITS - 1) or _NOTHING}-{digest}"


def make_stem(timestamp: str, slug: str) -> str:
    """Return the name that a draft and its script share."""
    return f"{timestamp}-{slug}"


def _clean_task(task: str) -> str:
    return unicodedata.normalize("NFKC", mask_credentials(task[:MOST_TASK]))


def _is_kept(letter: str) -> bool:
    return letter.isalnum() or unicodedata.category(letter) in {"Mn", "Mc"}


def _marks_of(word: str) -> str:
    return "".join({letter for letter in word if not letter.isalnum()})


def _cut(slug: str, most: int = MOST_SLUG) -> str:
    return slug.strip("-")[:most].strip("-")


KIND = "auto_skill_draft"
TITLE = "Skill Draft: "
MOST_FACT = 1_000
_KINDS = "auto_skill_"
_FEWEST_STEPS, _FEWEST_KINDS = 4, 2
_FACTS_HASH_DIGITS = 16
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


def make_facts(trace: Trace, *, generated_at: str) -> DraftFacts:
    """Return the facts that the draft of a trace will hold, all but the hash of its text."""
    return make_clean_facts(clean_trace(trace), trace_id=trace.id, generated_at=generated_at)


def clean_trace(trace: Trace) -> Trace:
    """Return a trace without secrets and people, and of each text as much as a draft shows."""
    steps = tuple(
        _cut_step(step, MOST_WORDS if at < COARSE_STEPS else _MOST_UNSEEN)
        for at, step in enumerate(trace.steps[:MOST_STEPS])
    )
    clean = remove_secrets(
        replace(
            trace,
            task=trace.task[:MOST_TASK],
            final_message=trace.final_message[:MOST_WORDS],
            steps=steps,
        )
    )
    return hide_people(clean)


def _cut_step(step: TraceStep, most: int) -> TraceStep:
    fields = {name: _cut_value(value, 0) for name, value in step.action.fields.items()}
    return replace(
        step,
        action=TraceAction(step.action.kind, fields),
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


def make_clean_facts(trace: Trace, *, trace_id: str, generated_at: str) -> DraftFacts:
    """Return the facts of a trace that `clean_trace` made; its hash is that of the real one."""
    return DraftFacts(
        trace_id=trace_id,
        task=flatten_text(trace.task, MOST_FACT),
        source_session=flatten_text(trace.session_path, MOST_FACT),
        behaviour=hash_behaviour(trace.steps),
        flow=hash_flow(trace.steps, on_device=trace.is_on_device),
        confidence=rate_confidence(trace),
        generated_at=flatten_text(generated_at, MOST_FACT),
        on_device=trace.is_on_device,
    )


def rate_confidence(trace: Trace) -> str:
    """Return how far one run can be trusted: `medium` at best."""
    kinds = [step.action.kind for step in trace.steps[:COARSE_STEPS]]
    return "medium" if len(kinds) >= _FEWEST_STEPS and len(set(kinds)) >= _FEWEST_KINDS else "low"


def write_facts(facts: DraftFacts) -> dict[str, str]:
    """Return the facts as the frontmatter holds them."""
    written = {name: str(getattr(facts, field)) for field, name in _NAMES.items()}
    return written | {_PLACE: _DEVICE if facts.on_device else _HOST}


def read_facts(text: str) -> DraftFacts | None:
    """Return what a draft says of itself, or None where a text is no draft."""
    front = frontmatter.read(normalize_lines(text))
    if not front.readable:
        return None
    if not front.present:
        listed = _read_list(front.body)
        return _check(listed) if listed.get("behaviour") and listed.get("task") else None
    generated = _read_generated(FieldReader(front))
    if not as_text(generated.get("kind")).startswith(_KINDS):
        return None
    facts = {
        field: said
        for field, name in _NAMES.items()
        if isinstance(said := generated.get(name), str)
    }
    if "behaviour" not in facts:
        facts = _read_list(front.body) | facts
    return _check(facts, on_device=generated.get(_PLACE) != _HOST)


def is_untouched(text: str) -> bool:
    """Return whether a draft is still, letter by letter, what was written."""
    facts = read_facts(text)
    return (
        facts is not None
        and bool(facts.body_hash)
        and facts.body_hash == hash_draft(normalize_lines(text).replace(facts.body_hash, "", 1))
    )


def hash_draft(text: str) -> str:
    """Return the hash of a draft whose own place for it is empty."""
    return hashlib.sha256(text.rstrip().encode("utf-8", "surrogatepass")).hexdigest()[
        :_FACTS_HASH_DIGITS
    ]


def compare_drafts(new: DraftFacts, old: DraftFacts) -> str:
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
    is_same_task = make_mixed_slug(new.task) == make_mixed_slug(old.task) and tasks_alike(
        new.task, old.task
    )
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


def normalize_lines(text: str) -> str:
    """Return `text` with line ends as they are written here, and without a mark before it."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _read_generated(reader: FieldReader) -> Mapping[str, Value]:
    raw = resolve(reader).raw
    try:
        return read_mapping(read_mapping(raw.get("openclaw")).get("generated"))
    except UnreadableError:
        # Whatever it is, it is not what a draft says.
        return {}


def _read_list(body: str) -> dict[str, str]:
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


def _check(said: Mapping[str, str], *, on_device: bool = True) -> DraftFacts:
    """Return facts that a file holds, each cut and cleaned; a fingerprint that is none is empty."""
    facts = {field: one_line(text)[:MOST_FACT] for field, text in said.items()}
    for field in ("behaviour", "flow"):
        if not _FINGERPRINT.fullmatch(facts.get(field, "")):
            facts[field] = ""
    return DraftFacts(**facts, on_device=on_device)
