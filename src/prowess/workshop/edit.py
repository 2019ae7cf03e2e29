"""Edits of a `SKILL.md` by its Markdown structure, byte for byte outside of what is edited.

A section is a heading and the text below it up to the next heading, never a line that merely looks
like one. Of the frontmatter of a skill that exists nothing but its description is edited: what it
asks for and who it says it is from were decided by its author. Text is literal; only line ends
follow those of the file. Code or a comment that has no end of its own is refused: it would swallow
all that comes after it, for a reader if not for a parser.
"""

import re
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from prowess.errors import ProposalInputError, ProposalNotFoundError
from prowess.skills import frontmatter
from prowess.skills.frontmatter import FieldReader, squeeze
from prowess.skills.parse import MAX_DESCRIPTION
from prowess.skills.text import load as load_yaml
from prowess.skills.text import quote as quote_yaml

_LINES = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
_KEY = re.compile(r"([\"']?)([A-Za-z]+)\1[ \t]*:(?=\s|\Z)")
_END = re.compile(r"[\r\n]+\Z")
_BY_HAND = "description: the frontmatter of this skill cannot be changed safely: edit it by hand"


def description_line(text: str) -> str:
    """Return a description as one line.

    Raises:
        ProposalInputError: there is none, or it is too long.
    """
    line = " ".join(check_sound(text).split())
    if not line:
        raise ProposalInputError("description required", field="description")
    if len(line) > MAX_DESCRIPTION:
        problem = f"description exceeds {MAX_DESCRIPTION} characters"
        raise ProposalInputError(problem, field="description")
    return line


def redescribe(content: bytes, description: str) -> bytes:
    """Return a `SKILL.md` with another description.

    Raises:
        ProposalInputError: the description is none, or the frontmatter cannot be changed safely.
    """
    line = description_line(description)
    old = frontmatter.read(frontmatter.decode(content).text)
    if not old.present or not old.readable:
        raise ProposalInputError(_BY_HAND, field="description")
    if FieldReader(old).text("description") == line:
        return content
    found = _with(content.decode(), f"description: {quote_yaml(line)}").encode()
    new = frontmatter.read(frontmatter.decode(found).text)
    if (_list_others(old), old.body) != (_list_others(new), new.body) or _read_said(new) != line:
        raise ProposalInputError(_BY_HAND, field="description")
    return found


def check_sound(text: str) -> str:
    """Return `text` if a file can hold it.

    Raises:
        ProposalInputError: it holds a NUL or half of a character.
    """
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ProposalInputError("text must be valid Unicode without NUL")
    return text


def _with(text: str, line: str) -> str:
    """Return the text with that line in place of the one that was, or right below the dashes."""
    lines = [part for part in _LINES.split(text) if part]
    newline = "".join(_END.findall(lines[0])) or "\n"
    start = next((at for at, one in enumerate(lines) if at and _key(one) == "description"), 0)
    if not start or any(one.rstrip() == "---" for one in lines[1:start]):
        return "".join([lines[0], line + newline, *lines[1:]])
    end = start + 1
    # What is indented below it is still the old description, and so are blank lines among it.
    while end < len(lines) and (lines[end][:1] in " \t" or not lines[end].strip()):
        end += 1
    while not lines[end - 1].strip():
        end -= 1
    return "".join([*lines[:start], line + newline, *lines[end:]])


def _key(line: str) -> str:
    found = _KEY.match(line)
    return squeeze(found[2]) if found else ""


def _list_others(front: frontmatter.Frontmatter) -> dict[str, object]:
    return {key: value for key, value in front.fields.items() if squeeze(key) != "description"}


def _read_said(front: frontmatter.Frontmatter) -> str:
    return FieldReader(front).text("description") if front.readable else ""


LEFT_OPEN = "leaves code or a comment open: close it"

# What begins the blocks of HTML that go on over blank lines, and what ends them.
_ENDS = (
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (
        re.compile(r"<(?:script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE),
        re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    ),
)
_CODE_SPAN = re.compile(r"(?<!`)(?P<ticks>`{1,8})(?!`)[^`]{1,2000}(?P=ticks)(?!`)")


def parse_blocks(lines: list[str]) -> list[Token]:
    """Return the blocks of a text; what stands inside a line is left as it is."""
    # That is not needed, and can be slow on hostile text.
    parser = MarkdownIt("commonmark")
    parser.core.ruler.disable("inline")
    return parser.parse("\n".join(lines))


def refuse_open(text: str, name: str = "body") -> None:
    """Refuse a text in which code or a comment goes on to its end.

    Raises:
        ProposalInputError: one does.
    """
    lines = text.split("\n")
    if is_open(lines, parse_blocks(lines)):
        raise ProposalInputError(f"{name} {LEFT_OPEN}")


def is_open(lines: list[str], tokens: list[Token]) -> bool:
    """Return whether code or a comment of these lines, parsed as `tokens`, has no end."""
    return any(_is_open_token(token, lines) for token in tokens)


def _is_open_token(token: Token, lines: list[str]) -> bool:
    if token.type == "fence":
        return _is_open_fence(token, lines)
    if token.type == "html_block":
        begun = token.content.lstrip()
        return any(start.match(begun) and not end.search(begun) for start, end in _ENDS)
    if token.type == "inline":
        _, opened, rest = _CODE_SPAN.sub("", token.content).rpartition("<!--")
        return bool(opened) and "-->" not in rest
    return False


def _is_open_fence(token: Token, lines: list[str]) -> bool:
    if token.map is None:
        return False
    start, end = token.map
    last = lines[end - 1].lstrip(" \t>").rstrip()
    is_closed = end - 1 > start and len(last) >= len(token.markup)
    return not (is_closed and set(last) == {token.markup[0]})


DEFAULT_SECTION = "Workflow"
# The key under `metadata` that marks what the workshop wrote.
PROVENANCE, WRITTEN_BY = "prowess", "workshop"

_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_BETWEEN_LINES = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
_BULLET = re.compile(r"[-*+][ \t]+\S")
_LIST_START = re.compile(r"(?:(?P<bullet>[-*+])|\d{1,9}(?P<ordered>[.)]))[ \t]+\S")
_SECTION_LEVEL = 2
# What an older YAML takes for a number, a date, a truth or nothing.
_OTHERWISE_READ = re.compile(r"[0-9.].*|y|n|yes|no|on|off|true|false|null|nan|inf", re.IGNORECASE)
# Text that lands inside one of these is not read as what it says.
_VERBATIM = frozenset(("fence", "html_block"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """A whole skill; where it exists already, its body is merged into it."""

    description: str
    body: str
    kind: Literal["create"] = "create"


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Text for the end of a section; a skill that is missing is made from it."""

    section: str
    body: str
    description: str = ""
    kind: Literal["append"] = "append"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Text in place of the first place that reads exactly like `old_text`."""

    old_text: str
    new_text: str
    # What the skill says of itself from now on; empty leaves that as it is.
    description: str = ""
    kind: Literal["replace"] = "replace"


Edit = Create | Append | Replace


def edit_parts(edit: Edit) -> dict[str, str]:
    """Return the parts of an edit by name, as they are stored and hashed.

    An empty description of a replacement is left out, as it was before it could have one.
    """
    parts: dict[str, str] = asdict(edit)
    if isinstance(edit, Replace) and not edit.description:
        del parts["description"]
    return parts


def make_edit(skill: str, current: bytes | None, edit: Edit, title: str = "") -> bytes:
    """Return the `SKILL.md` of a skill after an edit; `current` is None where there is none.

    Raises:
        ProposalNotFoundError: the skill to change does not exist.
        ProposalInputError: the edit cannot be made.
    """
    if isinstance(edit, Replace):
        if current is None:
            raise ProposalNotFoundError(f"skill does not exist: {skill}")
        page = replace_text(current, edit.old_text, edit.new_text)
        return redescribe(page, edit.description) if edit.description else page
    if isinstance(edit, Append):
        if current is None:
            heading = re.sub(r"[-_]+", " ", skill).title()
            body = f"# {heading}\n\n## {edit.section}\n\n{_trim(edit.body)}"
            return new_skill(skill, edit.description or title, body)
        return append_text(current, edit.section, edit.body)
    if current is None:
        return new_skill(skill, edit.description, edit.body)
    return merge_text(current, edit.body)


def new_skill(name: str, description: str, body: str) -> bytes:
    """Return a new `SKILL.md`; a body that brings its own frontmatter is taken without it.

    Raises:
        ProposalInputError: there is no description or no body, or the text is no text.
    """
    front = frontmatter.read(_unix(check_sound(body)))
    text = description_line(check_sound(description) or FieldReader(front).text("description"))
    if not front.body.strip():
        raise ProposalInputError("body required", field="content")
    refuse_open(front.body)
    plain = load_yaml(name).root == name and not _OTHERWISE_READ.fullmatch(name)
    lines = (
        "---",
        f"name: {name if plain else quote_yaml(name)}",
        f"description: {quote_yaml(text)}",
        "metadata:",
        f"  {PROVENANCE}: {WRITTEN_BY}",
        "---",
        "",
        _trim(front.body),
        "",
    )
    return "\n".join(lines).encode()


def is_ours(content: bytes) -> bool:
    """Return whether the workshop wrote this `SKILL.md`; what cannot be read is not ours."""
    front = frontmatter.read(frontmatter.decode(content).text)
    metadata = front.fields.get("metadata")
    return front.readable and isinstance(metadata, dict) and metadata.get(PROVENANCE) == WRITTEN_BY


def append_text(content: bytes, section: str, body: str) -> bytes:
    """Return `content` with `body` at the end of a section, which is made where it is missing.

    Raises:
        ProposalInputError: the file cannot be edited there, or the body would break what follows.
    """
    page = _Page.read(content)
    addition = _trim(_unix(check_sound(body))).split("\n")
    if not "".join(addition).strip():
        raise ProposalInputError("body required", field="content")
    refuse_open("\n".join(addition))
    place = page.find(section)
    if place is None:
        return page.with_lines(page.end, ["", f"## {section}", "", *addition])
    if _has_block(page.lines[place.start : place.end], addition):
        return content
    gap = [] if page.continues_list(place.last, addition[0]) else [""]
    return page.with_lines(place.last + 1, [*gap, *addition])


def merge_text(content: bytes, body: str) -> bytes:
    """Return `content` with each section of `body` at the end of its own of that name.

    Bullets that stand there already are left out, and so is the title of `body`.

    Raises:
        ProposalInputError: the file cannot be edited there, or the body would break what follows.
    """
    text = frontmatter.read(_unix(check_sound(body))).body
    if not text.strip():
        raise ProposalInputError("body required", field="content")
    refuse_open(text)
    for title, lines in _chapters(text):
        page = _Page.read(content)
        place = page.find(title)
        known = [] if place is None else page.lines[place.start : place.end]
        news = "\n".join(_without_known(lines, known))
        if news.strip():
            content = append_text(content, title, news)
    return content


def replace_text(content: bytes, old_text: str, new_text: str) -> bytes:
    """Return `content` with the first exact `old_text` of its body replaced.

    Raises:
        ProposalInputError: the text is not there, or the frontmatter would not stay what it is.
    """
    page = _Page.read(content)
    head, body = page.raw_parts()
    for old in dict.fromkeys((check_sound(old_text), page.with_its_ends(old_text))):
        start = body.find(old)
        if old.strip() and start >= 0:
            new = page.with_its_ends(check_sound(new_text))
            result = page.checked(head + body[:start] + new + body[start + len(old) :])
            # What was open before is not this edit's doing, and may be on its way to be mended.
            if not is_open(page.lines, page.tokens):
                after = _Page.read(result)
                refuse_open("\n".join(after.lines), "newText")
            return result
    raise ProposalInputError("oldText not found")


class _Heading(NamedTuple):
    """A heading of the body: its first line, the line below it, its level and title."""

    start: int
    text_start: int
    level: int
    title: str


class _Place(NamedTuple):
    """A section as lines of the body: from its heading to the next, and its last with text."""

    start: int
    end: int
    last: int


class _Page:
    """A skill file as lines: those of the body normalised, and all of them as they are."""

    def __init__(self, raw: list[str], front: frontmatter.Frontmatter) -> None:
        self._raw, self._front = raw, front
        self._first = min(front.body_line - 1, len(raw))
        # A mark of the encoding may stand before the first line and is no part of it.
        lines = "".join(raw[self._first :]).removeprefix("\ufeff")
        self.lines = [_LINE_ENDS.sub("", line) for line in _BETWEEN_LINES.split(lines) if line]
        self.tokens = parse_blocks(self.lines)
        self.headings = _headings(self.tokens)
        self._newline = _find_end(raw)

    @classmethod
    def read(cls, content: bytes) -> "_Page":
        text = frontmatter.decode(content)
        if text.diagnostic is not None:
            raise ProposalInputError(f"SKILL.md cannot be edited: {text.diagnostic.message}")
        front = frontmatter.read(text.text)
        if not front.readable:
            raise ProposalInputError("SKILL.md cannot be edited: repair its frontmatter first")
        return cls([line for line in _BETWEEN_LINES.split(content.decode()) if line], front)

    @property
    def end(self) -> int:
        """The line behind the last one with text."""
        return next((at for at in range(len(self.lines), 0, -1) if self.lines[at - 1].strip()), 0)

    def find(self, section: str) -> _Place | None:
        """Return where a section is; a heading of the usual level comes before others."""
        wanted = _key_edit(section)
        found = [head for head in self.headings if _key_edit(head.title) == wanted]
        found.sort(key=lambda head: head.level != _SECTION_LEVEL)
        if not found:
            return None
        head = found[0]
        end = min(
            (other.start for other in self.headings if other.start > head.start),
            default=len(self.lines),
        )
        last = max(at for at in range(head.start, end) if self.lines[at].strip())
        return _Place(head.start, end, max(last, head.text_start - 1))

    def continues_list(self, at: int, line: str) -> bool:
        """Return whether `line`, right below line `at`, goes on with the list that ends there."""
        start = _LIST_START.match(line)
        if start is None:
            return False
        mark = start["bullet"] or start["ordered"]
        return any(
            token.type in {"bullet_list_open", "ordered_list_open"}
            and token.level == 0
            and token.markup == mark
            and _covers(token, at)
            for token in self.tokens
        )

    def with_lines(self, at: int, added: list[str]) -> bytes:
        """Return the file with lines before line `at` of the body."""
        before, after = self._raw[: self._first + at], self._raw[self._first + at :]
        added = added[1:] if not at else added
        if after and after[0].strip():
            added = [*added, ""]
        if before and not _LINE_ENDS.search(before[-1]):
            before = [*before[:-1], before[-1] + self._newline]
        lines = [line + self._newline for line in added]
        result = self.checked("".join([*before, *lines, *after]))
        self._check_structure(_Page.read(result), at, len(added))
        return result

    def with_its_ends(self, text: str) -> str:
        """Return `text` with line ends like those of the file."""
        return _LINE_ENDS.sub(lambda _match: self._newline, text)

    def raw_parts(self) -> tuple[str, str]:
        """Return what stands above the body, and the body, as they are."""
        return "".join(self._raw[: self._first]), "".join(self._raw[self._first :])

    def checked(self, text: str) -> bytes:
        """Return the file's new bytes, if its frontmatter reads as before."""
        content = text.encode()
        front = frontmatter.read(frontmatter.decode(content).text)
        if (front.present, front.fields) != (self._front.present, self._front.fields):
            raise ProposalInputError("the frontmatter would change: only the body is edited")
        return content

    def _check_structure(self, new: "_Page", at: int, count: int) -> None:
        """Refuse text that lands in code or a comment, or that swallows the headings below it."""
        # The blank line in front may still belong to the list or the code above.
        first = next((n for n in range(at, at + count) if new.lines[n].strip()), at)
        for token in new.tokens:
            if token.type in _VERBATIM and token.map and token.map[0] < first < token.map[1]:
                raise ProposalInputError("the section ends in code or a comment that is not closed")
        below = [head[2:] for head in self.headings if head.start >= at]
        kept = [head[2:] for head in new.headings if head.start >= at + count]
        if below != kept:
            raise ProposalInputError(f"body {LEFT_OPEN}")


def _headings(tokens: list[Token]) -> list[_Heading]:
    return [
        _Heading(token.map[0], token.map[1], int(token.tag[1:]), tokens[index + 1].content)
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]


def _covers(token: Token, line: int) -> bool:
    return token.map is not None and token.map[0] <= line < token.map[1]


def _key_edit(title: str) -> str:
    return " ".join(title.split()).casefold()


def _chapters(body: str) -> list[tuple[str, list[str]]]:
    """Return the parts of a body by section; what stands under no section is the usual one's."""
    lines = body.split("\n")
    heads = [head for head in _headings(parse_blocks(lines)) if head.level <= _SECTION_LEVEL]
    starts = [0, *(head.text_start for head in heads)]
    ends = [*(head.start for head in heads), len(lines)]
    titles = [
        DEFAULT_SECTION,
        *(head.title if head.level == _SECTION_LEVEL else DEFAULT_SECTION for head in heads),
    ]
    parts = zip(titles, starts, ends, strict=True)
    return [(title or DEFAULT_SECTION, lines[start:end]) for title, start, end in parts]


def _without_known(lines: list[str], known: list[str]) -> list[str]:
    """Return `lines` without single bullets that stand in `known`."""
    there = {line.strip() for line in known}
    following = [*lines[1:], ""][: len(lines)]
    return [
        line
        for line, after in zip(lines, following, strict=True)
        if not (_BULLET.match(line) and line.strip() in there and after[:1] not in {" ", "\t"})
    ]


def _has_block(lines: list[str], block: list[str]) -> bool:
    """Return whether `block` stands in `lines` as whole lines."""
    wanted = [line.rstrip() for line in block]
    found = [line.rstrip() for line in lines]
    size = len(wanted)
    return any(found[at : at + size] == wanted for at in range(len(found) - size + 1))


def _find_end(lines: list[str]) -> str:
    ends = [match[0] for line in lines if (match := _LINE_ENDS.search(line))]
    return max(("\n", "\r\n", "\r"), key=ends.count)


def _unix(text: str) -> str:
    return _LINE_ENDS.sub("\n", text)


def _trim(text: str) -> str:
    """Return `text` without blank lines around it."""
    return re.sub(r"\A(?:[ \t]*\n)+", "", text.rstrip())
