"""The words of a proposal that a person may change, apart from the file that they end up in.

What is written is a whole file, what was asked for is often one sentence of it: whoever revises a
proposal gives that sentence. A whole file is understood too, since clients that know no fragments
send back what they were shown; of its frontmatter nothing but the description is taken.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from prowess.errors import ProposalInputError
from prowess.runtime.workshop.applying import SKILL_FILE
from prowess.skills import frontmatter
from prowess.skills.field_reader import FieldReader
from prowess.workshop.edit import Append, Create, Edit, Replace
from prowess.workshop.proposal import Proposal

# What begins like the head of a skill file, and not merely with a line across the page.
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?:(?!---).*\n)*?[\"']?(?:name|description)[\"']?\s*:")
_NO_HEAD = (
    "content: its frontmatter cannot be read; send the text alone, and a description by itself"
)
_NO_DESCRIPTION = (
    "description: this proposal adds to a section, and leaves what the skill says of itself:"
    " propose an update with another description instead"
)


class Part(StrEnum):
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

    part: Part
    text: str
    # None where the proposal leaves the description as it is.
    description: str | None = None
    section: str = ""
    old_text: str = ""


def wording_of(proposal: Proposal, current: Mapping[str, bytes]) -> Wording | None:
    """Return the words of a proposal for a skill with these files; None for files alone."""
    edit, page = proposal.edit, current.get(SKILL_FILE)
    if isinstance(edit, Replace):
        part = Part.WHOLE if _is_whole(proposal, edit) else Part.PHRASE
        about = edit.description or _described(page)
        return Wording(part=part, text=edit.new_text, description=about, old_text=edit.old_text)
    if isinstance(edit, Append):
        if page is not None:
            return Wording(part=Part.ADDITION, text=edit.body, section=edit.section)
        about = edit.description or proposal.title
        return Wording(part=Part.SECTION, text=edit.body, description=about, section=edit.section)
    if edit is None:
        return None
    front = frontmatter.read(edit.body)
    if page is not None:
        return Wording(part=Part.MERGE, text=front.body)
    about = edit.description or FieldReader(front).text("description")
    return Wording(part=Part.SKILL, text=front.body, description=about)


def reworded(
    edit: Edit, page: bytes | None, *, text: str | None = None, description: str | None = None
) -> Edit:
    """Return an edit with other words; `page` is the `SKILL.md` that it is for, if there is one.

    Raises:
        ProposalInputError: there are none, or they do not fit the edit.
    """
    whole = None if text is None else _whole(text)
    if whole is not None:
        about = FieldReader(whole).text("description") if description is None else description
        return _as_whole(edit, page, whole.body, about)
    if isinstance(edit, Replace):
        about = edit.description if description is None else description
        new = edit.new_text if text is None else _fitting(edit, page, text)
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
    about = "" if description == (_described(page) or "") else description
    return Replace(old_text=_body(page), new_text=body.strip(), description=about)


def _fitting(edit: Replace, page: bytes | None, text: str) -> str:
    """Return the text as it is, but without blank lines around it where it is all there is."""
    is_all = page is not None and edit.old_text.strip() == _body(page)
    return text.strip() if is_all else text


def _is_whole(proposal: Proposal, edit: Replace) -> bool:
    page = proposal.change.files.get(SKILL_FILE)
    return page is not None and _body(page) == edit.new_text.strip()


def _whole(text: str) -> frontmatter.Frontmatter | None:
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


def _described(page: bytes | None) -> str | None:
    """Return what a skill says of itself; None where it has no head to say it in."""
    if page is None:
        return None
    front = frontmatter.read(frontmatter.decode(page).text)
    return FieldReader(front).text("description") if front.present and front.readable else None
