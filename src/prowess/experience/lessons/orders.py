"""What to do, in words: one order for each move, with names in place of what varies.

Whatever comes from a trace stands in a code span or in a fenced block, on its own line or lines and
cleaned, so that it can break out of neither.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from prowess.experience.lessons.moves import TOO_LONG, Move, name_element
from prowess.skills.text import clean, one_line
from prowess.transcripts.traces import Deed

_LONGEST_SPAN, _LONGEST_BLOCK, _MOST_LINES = 300, 1_500, 40
_SHORT_TEXT = 120
_MOST_FIELDS = 6
_TICKS = re.compile(r"`+")
_LONGER = re.compile(rf"\s*{TOO_LONG}[0-9a-f]*")
_ONE_NAME = re.compile(r"\{[a-z][a-z0-9_]*\}")
# A bang before backticks is a command that some harness runs while it reads a skill.
_BANG = re.compile(r"!(?=`)")
_FENCE_BANG = re.compile(r"(?<=```)!")
_COMMENT = re.compile(r"<(?=!--)|--(?=>)")
# What is filled in when a skill is called. One backslash more and it comes out as it was.
_PLACEHOLDER = re.compile(r"\$(?=ARGUMENTS(?!\w)|[0-9]|\{CLAUDE_[A-Z_]+\})")
Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Order:
    """One thing to do, and the text that it needs word for word."""

    text: str
    block: str = ""


def write_order(move: Move, texts: Texts) -> Order:
    """Return what to do for a move; `texts` are its fields with names in them."""
    return _ORDERS.get(move.shape.deed, _tool)(move, texts)


def format_code(text: str, longest: int = _LONGEST_SPAN) -> str:
    """Return a text as a code span that ends where it should."""
    line = _harmless(one_line(_LONGER.sub(" ...", text)))
    if len(line) > longest:
        line = f"{line[: longest - 3]}..."
    if not line:
        return '`""`'
    longest_run = max((len(hit) for hit in _TICKS.findall(line)), default=0)
    fence = "`" * (longest_run + 1)
    # A bang at the end would stand before the closing backtick.
    is_apart = longest_run or line.endswith("!")
    line = escape_placeholders(line)
    return f"{fence} {line} {fence}" if is_apart else f"`{line}`"


def escape_placeholders(text: str) -> str:
    """Return a text so that a call of the skill leaves it as it is, `$1` and all."""
    return _PLACEHOLDER.sub(r"\\$", text)


def format_block(text: str, indent: str = "   ") -> str:
    """Return a text as a block of code inside a list."""
    longest_run = max((len(hit) for hit in _TICKS.findall(text)), default=0)
    fence = "`" * max(longest_run + 1, 3)
    lines = [
        escape_placeholders(_harmless(clean(line)))
        for line in re.split(r"\r\n|[\n\r\v\f\x85\u2028\u2029]", text)
    ]
    return "\n".join(f"{indent}{line}".rstrip() for line in (f"{fence}text", *lines, fence))


def _harmless(text: str) -> str:
    text = _COMMENT.sub(lambda hit: f"{hit[0]} ", text)
    return _FENCE_BANG.sub(" !", _BANG.sub("! ", text))


def _is_quotable(text: str) -> bool:
    is_short = len(text) <= _LONGEST_BLOCK and text.count("\n") < _MOST_LINES
    return is_short and TOO_LONG not in text


def _fits_span(text: str) -> bool:
    return "\n" not in text.strip() and len(text) <= _LONGEST_SPAN


def _run(move: Move, texts: Texts) -> Order:
    where = "On the device, run" if move.shape.deed is Deed.DEVICE_SHELL else "Run"
    command = texts.get("command", "")
    if _fits_span(command) or not _is_quotable(command):
        return Order(f"{where} {format_code(command)}.")
    return Order(f"{where}:", command.strip("\n"))


def _script(_move: Move, texts: Texts) -> Order:
    script = texts.get("content", "")
    if _fits_span(script) or not _is_quotable(script):
        return Order(f"Run the script {format_code(script)}.")
    return Order("Run this script:", script.strip("\n"))


def _read(_move: Move, texts: Texts) -> Order:
    return Order(f"Read {format_code(texts.get('path', 'the file'))}.")


def _write(_move: Move, texts: Texts) -> Order:
    path, content = format_code(texts.get("path", "a file")), texts.get("content", "")
    if not content:
        return Order(f"Write {path}.")
    if _ONE_NAME.fullmatch(content) or _fits_span(content) or not _is_quotable(content):
        return Order(f"Write {path} with {format_code(content, _SHORT_TEXT)}.")
    return Order(f"Write {path} with this text:", content.strip("\n"))


def _edit(_move: Move, texts: Texts) -> Order:
    path, old, new = (
        format_code(texts.get("path", "the file")),
        texts.get("old", ""),
        texts.get("new", ""),
    )
    if not old and not new:
        return Order(f"Edit {path}.")
    if _fits_span(new) or not _is_quotable(new):
        change = f"replace {format_code(old, _SHORT_TEXT)} with {format_code(new, _SHORT_TEXT)}"
        return Order(f"In {path}, {change if old else f'put {format_code(new)}'}.")
    return Order(
        f"In {path}, put this in place of {format_code(old, _SHORT_TEXT)}:", new.strip("\n")
    )


def _patch(_move: Move, texts: Texts) -> Order:
    patch = texts.get("content", "")
    if _fits_span(patch) or not _is_quotable(patch):
        return Order(f"Apply the patch {format_code(patch, _SHORT_TEXT)}.")
    return Order("Apply this patch:", patch.strip("\n"))


def _gesture(move: Move, texts: Texts) -> Order:
    verb = move.shape.name.split(" ", 1)[0] or "tap"
    if verb == "swipe":
        way = move.shape.name.split(" ")[1:2]
        return Order(f"Swipe {''.join(way)}.".replace(" .", "."))
    said = {"tap": "Tap", "drag": "Drag", "long_press_drag": "Press, hold and drag"}.get(
        verb, "Tap"
    )
    label, known = texts.get("element", ""), move.target.resource_id if move.target else ""
    if label:
        return Order(
            f"{said} {format_code(label, _SHORT_TEXT)}"
            + (f" ({format_code(known)})." if known else ".")
        )
    if known or name_element(move.target):
        return Order(f"{said} the element {format_code(known or name_element(move.target))}.")
    return Order(f"{said} at about {move.place}." if move.place else f"{said} the screen.")


def _type(_move: Move, texts: Texts) -> Order:
    return Order(f"Type {format_code(texts.get('text', ''))}.")


def _key(move: Move, _texts: Texts) -> Order:
    return Order(f"Press {format_code(move.shape.name)}.")


def _launch(move: Move, _texts: Texts) -> Order:
    return Order(f"Open the app {format_code(move.shape.name)}.")


def _wait(_move: Move, _texts: Texts) -> Order:
    return Order("Wait until it is ready.")


def _ask(move: Move, texts: Texts) -> Order:
    question = texts.get("question") or texts.get("instruction") or move.shape.name
    return Order(f"Ask the person: {format_code(question)}." if question else "Ask the person.")


def _tool(move: Move, texts: Texts) -> Order:
    name = move.shape.name or move.shape.deed.value
    given = [
        f"{format_code(field)} = {format_code(text)}"
        for field, text in list(texts.items())[:_MOST_FIELDS]
    ]
    return Order(f"Call {format_code(name)}" + (f" with {', '.join(given)}." if given else "."))


_ORDERS: Mapping[Deed, Callable[[Move, Texts], Order]] = MappingProxyType(
    {
        Deed.SHELL: _run,
        Deed.DEVICE_SHELL: _run,
        Deed.SCRIPT: _script,
        Deed.READ: _read,
        Deed.WRITE: _write,
        Deed.EDIT: _edit,
        Deed.PATCH: _patch,
        Deed.GESTURE: _gesture,
        Deed.TYPE: _type,
        Deed.KEY: _key,
        Deed.LAUNCH: _launch,
        Deed.WAIT: _wait,
        Deed.ASK: _ask,
    }
)
