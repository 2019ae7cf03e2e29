"""What somebody asks for, and what it means for the skill as it is now.

The scanner sees the whole skill as it would be then: two harmless additions can be one attack. What
is written is a whole file, what was asked for is often one sentence of it: whoever revises a
proposal gives that sentence. A whole file is understood too, since clients that know no fragments
send back what they were shown; of its frontmatter nothing but the description is taken.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from types import MappingProxyType

from prowess.errors import PathError, ProposalInputError
from prowess.runtime.workshop.ports import DEFAULT_LIMITS, SKILL_FILE
from prowess.safety.intake.file_types import FileKind, detect_kind
from prowess.safety.model import ScanReport, ScanVerdict
from prowess.safety.paths import PathRefused, check_all, content_hash, shown, support_file
from prowess.secrets.credentials import refuse_known_secrets, refuse_secrets
from prowess.skills import frontmatter
from prowess.skills.frontmatter import FieldReader
from prowess.skills.harness.rules import Reader, read_rules
from prowess.workshop.edit import Append, Create, Edit, Replace, make_edit
from prowess.workshop.proposal import (
    Change,
    Evidence,
    Proposal,
    ProposalSource,
    change_hash,
    drop_overruled,
    holds_everywhere,
    payload_hash,
    result_of,
)

LONGEST_WORDS: Mapping[str, int] = MappingProxyType({"title": 200, "reason": 1000, "goal": 2000})
_UNREASONED = "Proposed through the gateway"
# A verdict that is not in here stops the change, so an unknown one does too.
_PASSES = (ScanVerdict.CLEAN, ScanVerdict.WARN)
# What a text never begins like; `ID3` or `070701` may be the first word of one.
_PROGRAMS = frozenset((FileKind.EXECUTABLE, FileKind.BYTECODE, FileKind.ZIP, FileKind.TAR))


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What somebody asks for, before anything was looked at."""

    skill: str
    title: str
    reason: str
    source: ProposalSource
    # None where only support files are meant.
    edit: Edit | None
    files: Mapping[str, bytes] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    agent_id: str = ""
    session_id: str = ""
    # What whoever asks is after, where they say it.
    goal: str = ""
    # What all lessons for one goal have in common.
    lesson: str = ""
    # What makes it the same wish as another; by default the edit and the files.
    payload: str = ""
    # Whether skills that say nearly the same are looked for before a new one is made.
    compare: bool = True
    # Whether a new skill is wanted even where one says nearly the same.
    overrule: bool = False
    # Where a new skill is to lie; see `Proposal.place`.
    place: str = ""

    @property
    def wish(self) -> str:
        """The hash by which the same wish is known again."""
        return self.payload or payload_hash(self.skill, self.edit, self.files)


def find_place(reader: Reader | None, instruction: str = "") -> str:
    """Return where a coding agent looks for skills; empty for the workspace's own folder.

    A rule is for the project that it came up in, unless it says that it holds everywhere.
    """
    if reader is None:
        return ""
    project, personal = read_rules()[reader].places
    place = personal if holds_everywhere(instruction) else project
    return "" if place == "skills" else place


def reason_of(goal: str) -> str:
    """Return the reason of what is proposed for a goal, where nobody gives another."""
    return goal[: LONGEST_WORDS["reason"]] or _UNREASONED


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What a pending proposal says from now on, beside its edit; None leaves a part as it is."""

    files: Mapping[str, bytes] | None = None
    goal: str | None = None
    evidence: tuple[Evidence, ...] | None = None

    def of(self, draft: Draft) -> Draft:
        """Return a draft with these parts in place of its own."""
        if self.files is not None:
            draft = replace(draft, files=self.files)
        if self.evidence is not None:
            draft = replace(draft, evidence=self.evidence)
        if self.goal is None:
            return draft
        # Where the reason is the goal, it follows it; what else stands in it stays.
        old = reason_of(draft.goal)
        is_goal = draft.reason.startswith(old)
        rest = draft.reason.removeprefix(old)
        reason = (reason_of(self.goal) + rest)[: LONGEST_WORDS["reason"]]
        return replace(draft, goal=self.goal, reason=reason if is_goal else draft.reason)


NOTHING_ELSE = Revision()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would be written, against which skill, and what the scanner says of the outcome."""

    change: Change
    base_hash: str
    report: ScanReport

    @property
    def is_safe(self) -> bool:
        """True where the outcome may be written; a scan that failed never is."""
        return not self.refusal

    @property
    def refusal(self) -> str:
        """Why it must not be written; empty where it may."""
        return refusal_of(self.report)

    def revise(self, proposal: Proposal) -> Proposal:
        """Return a proposal with this plan in place of its own."""
        return replace(
            proposal,
            change=self.change,
            revision=change_hash(self.change),
            base_hash=self.base_hash,
            findings=self.report.findings,
            quarantine_reason=self.refusal,
        )


def refusal_of(report: ScanReport) -> str:
    """Return why a skill with this report must not be written; empty where it may."""
    if report.verdict in _PASSES:
        return ""
    if report.verdict is ScanVerdict.ERROR:
        return f"the scan did not finish ({report.error or 'nothing was said'})"
    heaviest = min(report.findings, key=lambda found: found.level.rank, default=None)
    return (heaviest.message if heaviest else "") or "the scanner refuses it"


def plan(
    draft: Draft,
    current: Mapping[str, bytes],
    *,
    scan: Callable[[str, Mapping[str, bytes]], ScanReport],
    max_bytes: int,
) -> Plan:
    """Work out what a draft means for a skill with these files.

    Raises:
        ProposalError: it cannot be done, changes nothing, is too large or holds a credential.
    """
    refuse_secrets(_texts(draft))
    if isinstance(draft.edit, Create) and SKILL_FILE in current:
        refuse_overwriting(draft.skill, draft.files, current)
    files = dict(draft.files)
    if draft.edit is not None:
        page = current.get(SKILL_FILE)
        if page is not None and isinstance(draft.edit, Create | Append):
            # Two rules of which only one can hold would leave the agent to choose.
            page = drop_overruled(page, draft.edit.body)
        files[SKILL_FILE] = make_edit(draft.skill, page, draft.edit, draft.title)
    _check_sizes(files, max_bytes)
    _check_contents(files)
    news = {path: body for path, body in files.items() if current.get(path) != body}
    if not news:
        raise ProposalInputError(f"nothing to change: {draft.skill} says this already")
    change = Change(draft.skill, news)
    result = result_of(current, change)
    try:
        check_result(change, result)
    except PathError as error:
        raise ProposalInputError(str(error), field="supportFiles") from error
    refuse_known_secrets({path: body.decode(errors="replace") for path, body in news.items()})
    report = _scan(draft, result, scan)
    return Plan(change=change, base_hash=content_hash(current), report=report)


def refuse_overwriting(
    skill: str, files: Mapping[str, bytes], current: Mapping[str, bytes]
) -> None:
    """Refuse the files of a new skill that would take the place of others in one that exists.

    Whoever wrote them did not know the others, so nothing says which are meant.

    Raises:
        ProposalInputError: one would.
    """
    taken = find_taken(files, current)
    if taken:
        problem = f"{skill} has other files of that name already: {', '.join(map(shown, taken))}"
        advice = "give yours other names, or propose those files alone"
        raise ProposalInputError(f"{problem}; {advice}", field="supportFiles")


def find_taken(files: Mapping[str, bytes], current: Mapping[str, bytes]) -> list[str]:
    """Return the files that a skill has already, with another content."""
    return sorted(path for path, body in files.items() if current.get(path, body) != body)


def _scan(
    draft: Draft,
    result: Mapping[str, bytes],
    scan: Callable[[str, Mapping[str, bytes]], ScanReport],
) -> ScanReport:
    """Scan the outcome, and then again with the words that whoever decides is shown."""
    report = scan(draft.skill, result)
    if refusal_of(report):
        return report
    said = dict.fromkeys((draft.title, draft.reason, draft.goal))
    words = "".join(f"\n\n{text}" for text in said if text).encode() + b"\n"
    told = scan(draft.skill, {**result, SKILL_FILE: result[SKILL_FILE] + words})
    return told if refusal_of(told) else report


def check_result(change: Change, result: Mapping[str, bytes]) -> None:
    """Refuse a change to any other file than `SKILL.md` and support files, or beyond the limits.

    Raises:
        PathError: a path is not allowed, or the skill would become too large or lose `SKILL.md`.
    """
    if SKILL_FILE not in result:
        raise PathError(SKILL_FILE, "would be missing: remove the skill instead.")
    try:
        for path in change.files:
            _check_path(path)
        # What was there before counts too: `skill.md` beside `SKILL.md` is one file elsewhere.
        check_all(result)
    except PathRefused as error:
        raise PathError(shown(error.path), error.problem) from error
    sizes = [len(data) for data in result.values()]
    limits = DEFAULT_LIMITS
    if len(sizes) > limits.max_files or sum(sizes) > limits.max_bytes:
        problem = f"would have more than {limits.max_files} files or {limits.max_bytes} bytes."
        raise PathError(change.skill, problem)
    if max(sizes) > limits.max_file_bytes:
        raise PathError(change.skill, f"would have a file above {limits.max_file_bytes} bytes.")


def _check_path(path: str) -> None:
    if path != SKILL_FILE and "/".join(support_file(path)) != path:
        raise PathRefused(path, "segment", "must be written with forward slashes.")


def check_words(texts: Mapping[str, str]) -> None:
    """Refuse a title, a reason or a goal that is too long to be read as one.

    Raises:
        ProposalInputError: one is.
    """
    for name, text in texts.items():
        if len(text) > LONGEST_WORDS[name]:
            problem = f"{name} exceeds {LONGEST_WORDS[name]} characters"
            raise ProposalInputError(problem, field=name)


def check_note(note: str) -> None:
    """Refuse words about a decision that are too long, or hold a credential.

    Raises:
        ProposalError: they are, or do.
    """
    check_words({"reason": note})
    refuse_secrets({"reason": note})


def draft_of(proposal: Proposal) -> Draft:
    """Return the wish that a proposal was made from."""
    return Draft(
        skill=proposal.skill,
        title=proposal.title,
        reason=proposal.reason,
        source=proposal.source,
        edit=proposal.edit,
        files=_support(proposal),
        evidence=proposal.evidence,
        agent_id=proposal.agent_id,
        session_id=proposal.session_id,
        goal=proposal.goal,
        lesson=proposal.lesson,
        payload=proposal.payload,
        place=proposal.place,
    )


def with_files(proposal: Proposal, files: Mapping[str, bytes]) -> Draft:
    """Return the wish of a proposal with more support files."""
    return replace(draft_of(proposal), files={**_support(proposal), **files}, payload="")


def _support(proposal: Proposal) -> dict[str, bytes]:
    files = proposal.change.files.items()
    return {path: body for path, body in files if path != SKILL_FILE and body is not None}


def _check_sizes(files: Mapping[str, bytes], most: int) -> None:
    for path, body in files.items():
        if len(body) > most:
            is_page = path == SKILL_FILE
            problem = f"{'skill' if is_page else 'support file'} exceeds {most} bytes"
            raise ProposalInputError(problem, field="content" if is_page else "supportFiles")


def _check_contents(files: Mapping[str, bytes]) -> None:
    """Refuse what is no text: a program that an agent wrote is nothing that a person can review."""
    for path, body in files.items():
        if problem := _find_binary(body):
            problem = f"{shown(path)}: {problem}; support files are text, so put its source there"
            raise ProposalInputError(problem, field="supportFiles")


def _find_binary(body: bytes) -> str:
    kind = detect_kind(body)
    if kind in _PROGRAMS:
        return f"begins like a {kind.value}"
    if b"\0" in body:
        return f"holds a NUL at byte {body.index(0)}"
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return f"is no UTF-8 at byte {error.start}"
    return ""


def _texts(draft: Draft) -> dict[str, str]:
    """Return every text of a draft that would be stored, by a name for messages."""
    named = {"skillName": draft.skill, "title": draft.title, "reason": draft.reason}
    named["goal"] = draft.goal
    if draft.edit is not None:
        named |= {part.name: getattr(draft.edit, part.name) for part in fields(draft.edit)}
    named |= {f"evidence {number}": one.quote for number, one in enumerate(draft.evidence)}
    named |= {f"relativePath {number}": path for number, path in enumerate(sorted(draft.files))}
    return named | {path: body.decode(errors="replace") for path, body in draft.files.items()}


# What begins like the head of a skill file, and not merely with a line across the page.
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?:(?!---).*\n)*?[\"']?(?:name|description)[\"']?\s*:")
_NO_HEAD = (
    "content: its frontmatter cannot be read; send the text alone, and a description by itself"
)
_NO_DESCRIPTION = (
    "description: this proposal adds to a section, and leaves what the skill says of itself:"
    " propose an update with another description instead"
)


class WordingPart(StrEnum):
    """What the words of a proposal become."""

    # The text of a new skill, below its frontmatter.
    SKILL = "skill"
    # One section of a new skill, which has no other.
    SECTION = "section"
    # Text for the end of a section of a skill that exists.
    ADDITION = "addition"
    # A whole text that is merged, section by section, into a skill that exists.
    MERGE = "merge"
    # Text in place of a phrase.
    PHRASE = "phrase"
    # Text in place of all that stands below the frontmatter.
    WHOLE = "whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What can be changed about a proposal by whoever revises it."""

    part: WordingPart
    text: str
    # None where the proposal leaves the description as it is.
    description: str | None = None
    section: str = ""
    old_text: str = ""


def wording_of(proposal: Proposal, current: Mapping[str, bytes]) -> Wording | None:
    """Return the words of a proposal for a skill with these files; None for files alone."""
    edit, page = proposal.edit, current.get(SKILL_FILE)
    if isinstance(edit, Replace):
        part = WordingPart.WHOLE if _is_whole(proposal, edit) else WordingPart.PHRASE
        about = edit.description or _read_description(page)
        return Wording(part=part, text=edit.new_text, description=about, old_text=edit.old_text)
    if isinstance(edit, Append):
        if page is not None:
            return Wording(part=WordingPart.ADDITION, text=edit.body, section=edit.section)
        about = edit.description or proposal.title
        return Wording(
            part=WordingPart.SECTION, text=edit.body, description=about, section=edit.section
        )
    if edit is None:
        return None
    front = frontmatter.read(edit.body)
    if page is not None:
        return Wording(part=WordingPart.MERGE, text=front.body)
    about = edit.description or FieldReader(front).text("description")
    return Wording(part=WordingPart.SKILL, text=front.body, description=about)


def reword(
    edit: Edit, page: bytes | None, *, text: str | None = None, description: str | None = None
) -> Edit:
    """Return an edit with other words; `page` is the `SKILL.md` that it is for, if there is one.

    Raises:
        ProposalInputError: there are none, or they do not fit the edit.
    """
    whole = None if text is None else _read_whole(text)
    if whole is not None:
        about = FieldReader(whole).text("description") if description is None else description
        return _as_whole(edit, page, whole.body, about)
    if isinstance(edit, Replace):
        about = edit.description if description is None else description
        new = edit.new_text if text is None else _fit(edit, page, text)
        return replace(edit, new_text=new, description=about)
    is_other = description not in {None, edit.description}
    if is_other and page is not None and isinstance(edit, Append):
        raise ProposalInputError(_NO_DESCRIPTION, field="description")
    return replace(
        edit,
        body=edit.body if text is None else text,
        description=edit.description if description is None else description,
    )


def _as_whole(edit: Edit, page: bytes | None, body: str, description: str) -> Edit:
    """Return the edit that leads to a file with this body."""
    if page is None or isinstance(edit, Create):
        about = description or (edit.description if isinstance(edit, Create) else "")
        return Create(description=about, body=body)
    about = "" if description == (_read_description(page) or "") else description
    return Replace(old_text=_body(page), new_text=body.strip(), description=about)


def _fit(edit: Replace, page: bytes | None, text: str) -> str:
    """Return the text as it is, but without blank lines around it where it is all there is."""
    is_all = page is not None and edit.old_text.strip() == _body(page)
    return text.strip() if is_all else text


def _is_whole(proposal: Proposal, edit: Replace) -> bool:
    page = proposal.change.files.get(SKILL_FILE)
    return page is not None and _body(page) == edit.new_text.strip()


def _read_whole(text: str) -> frontmatter.Frontmatter | None:
    """Return the parts of a text that is a whole file; None for any other.

    Raises:
        ProposalInputError: it is one whose head cannot be read.
    """
    if _HEAD.match(text) is None:
        return None
    front = frontmatter.read(frontmatter.decode(text.encode("utf-8", "replace")).text)
    if not front.present or not front.readable:
        raise ProposalInputError(_NO_HEAD, field="content")
    return front


def _body(page: bytes) -> str:
    return frontmatter.read(frontmatter.decode(page).text).body.strip()


def _read_description(page: bytes | None) -> str | None:
    """Return what a skill says of itself; None where it has no head to say it in."""
    if page is None:
        return None
    front = frontmatter.read(frontmatter.decode(page).text)
    return FieldReader(front).text("description") if front.present and front.readable else None
