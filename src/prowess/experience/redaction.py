"""What of a trace nobody may read again: credentials, and what was typed into a password's field.

`remove_secrets` is the one to ask first. The step that types seldom knows its field, so only the
whole trace tells. What it takes out is gone from every text of the trace, also where a thought or a
result repeats it in another spelling; a short or plain word is looked for as a word of its own. In
its place stands `HIDDEN` (or stars, for a credential in the middle of a text), by which
`is_secret_step` knows the step again. Of what a password manager or a vault shows nothing is kept.

A skill is read by others than the person it was learned from, so what belongs to people is kept out
of it as secrets are. Somebody is known by where the name stands: behind a verb that reaches people,
in a field for a recipient, in an element for a payee; what is said, by the tool or the element that
carries it. Names of programs and apps are nobody's.
"""

import base64
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from prowess.data import join_pieces, read_table, read_word_group
from prowess.experience.fields import (
    VALUE_NAMES,
    Focus,
    asks_for_code,
    classify_action,
    fills_secret,
    find_labels,
    find_pad_steps,
    is_secret_target,
    is_secret_value,
    move_focus,
    names_secret,
    names_secret_field,
    read_character,
    says_login,
)
from prowess.secrets.credentials import STARS, mask_credentials, small_letters
from prowess.secrets.mask import HiddenText, hide_secrets
from prowess.secrets.names import plain_words
from prowess.transcripts.traces import (
    Deed,
    Json,
    Trace,
    TraceAction,
    TraceStep,
    find_command,
    find_deed,
    find_path,
)

# A shorter text is too common to be looked for elsewhere, a longer one is found in any text.
_SHORTEST, _LONG, _LONG_WORD = 3, 6, 10
_MOST_SPELLED, _MANY, _BEGINNING = 200, 24, 6
_LINE = re.compile(r"\\[nrt]|[\n\r\t]")


@dataclass(frozen=True)
class SecretEchoes:
    """The texts to look for, in small letters, and what stands in their place."""

    texts: tuple[str, ...]
    mark: str

    @classmethod
    def of(cls, taken: Iterable[str], mark: str) -> "SecretEchoes":
        """Return what finds these texts and their other spellings."""
        spelled = {one for text in dict.fromkeys(taken) for one in _spellings(text, mark)}
        small = {small_letters(one) for one in spelled}
        return cls(tuple(sorted(small, key=lambda one: (-len(one), one))), mark)

    def hide(self, text: str) -> str:
        """Return `text` without any of them."""
        if len(text) < _SHORTEST or text == self.mark:
            return text
        small = small_letters(text)
        if self._any and not self._any.search(small):
            return text
        there = [self._patterns[one] for one in self.texts if one in small]
        for pattern in there:
            text = pattern.sub(self.mark, text)
        return text

    @cached_property
    def _any(self) -> re.Pattern[str] | None:
        """What finds the beginning of any of them, where there are too many to ask for each."""
        if len(self.texts) < _MANY:
            return None
        begins: dict[str, set[str]] = {}
        for one in self.texts:
            begins.setdefault(one[0], set()).add(one[1:_BEGINNING])
        return re.compile(
            "|".join(
                f"{re.escape(first)}(?:{'|'.join(map(re.escape, sorted(rest)))})"
                for first, rest in sorted(begins.items())
            )
        )

    @cached_property
    def _patterns(self) -> dict[str, re.Pattern[str]]:
        return {one: re.compile(_pattern(one), re.IGNORECASE) for one in self.texts}


def _spellings(text: str, mark: str) -> Iterator[str]:
    plain = text.strip()
    if mark in plain or STARS in plain:
        return
    lines = [line.strip() for line in _LINE.split(plain)]
    for one in {plain, *lines}:
        if len(one) < _SHORTEST:
            continue
        yield one
        if len(one) >= _LONG and len(one) <= _MOST_SPELLED:
            written = one.encode("utf-8", "replace")
            yield from (quote(one, safe=""), quote_plus(one), one.replace(" ", "%s"))
            yield base64.b64encode(written).decode("ascii").rstrip("=")


def _pattern(text: str) -> str:
    is_long = len(text) >= _LONG and not text.isalpha()
    exact = re.escape(text)
    return exact if is_long or len(text) >= _LONG_WORD else rf"(?<!\w){exact}(?!\w)"


_READS = re.compile(r"\b(?:cat|less|more|head|tail|bat|type|grep|awk|sed|xxd|base64)\b")
_STORES_SHORTEST, _SHORTEST_PIECE, _MOST_LINES, _MOST_COMMAND = 4, 6, 20, 1_000
_PIECE = re.compile(r"[:=\s\"',]+")


@cache
def _compile_stores() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds a command that shows a secret, and a file that holds one."""
    table = read_table("experience/secret_stores.toml")
    commands, files = (
        "|".join(map(join_pieces, table[group]["phrases"])) for group in ("commands", "files")
    )
    return (
        re.compile(rf"(?:\A|[\s;&|($`/])(?:{commands})"),
        re.compile(rf"(?:\A|[\s/\"'])(?:{files})(?![\w.-])"),
    )


def shows_secret(action: TraceAction) -> bool:
    """Return whether what a step shows is a secret, by the command or the file."""
    command = find_command(action)[:_MOST_COMMAND]
    if command:
        reads_file = _READS.search(command) and _compile_stores()[1].search(command)
        return bool(_compile_stores()[0].search(command) or reads_file)
    return bool(_compile_stores()[1].search(find_path(action)))


def find_shown_secrets(result: str) -> Iterator[str]:
    """Yield what may be a secret in such a result, to be looked for elsewhere."""
    for line in result.splitlines()[:_MOST_LINES]:
        pieces = [piece for piece in _PIECE.split(line.strip()) if piece]
        if len(pieces) == 1 and len(pieces[0]) >= _STORES_SHORTEST:
            yield pieces[0]
        elif pieces and len(pieces[-1]) >= _SHORTEST_PIECE and not pieces[-1].isalpha():
            yield pieces[-1]


HIDDEN = "<hidden>"

_QUESTION_NAMES = frozenset(("question", "instruction", "prompt", "capability", "placeholder"))
# The device's own way to type, as a command.
_INPUT_TEXT = re.compile(
    r"(?P<before>\binput\s+(?:[a-z]+\s+)?(?:text|keyevent)\s+)(?P<typed>[^;&|\n]+)"
)
# How a harness words what a person answered.
_ANSWER_END = re.compile(r"\s*\([^()]*\)\s*\Z")
_QUOTED = re.compile(r"[\"'\u201c]([^\"'\u201c\u201d\n]{3,200})[\"'\u201d]")
_MOST_DEPTH, _MOST_PASSES = 40, 5
_KEY_NAMES = frozenset(("keycode", "keyCode", "key", "text", "keys"))
_PAIR = 2
# What puts a text into a field, as far as it can be told from the name of the action.
_FILLING = (Deed.TYPE, Deed.TOOL)

Change = Callable[[str], str]


class _Hidden(NamedTuple):
    """A step without what it typed in secret, and what that was."""

    step: TraceStep
    texts: tuple[str, ...]


def is_secret_step(step: TraceStep) -> bool:
    """Return whether a step types or sends what must not be shown, as far as it tells by itself.

    Ask for a step of `remove_secrets`: there it also knows the field from the steps before.
    """
    _, texts = _hide(step, is_secret=is_secret_target(step.target))
    _, typed = _hide(step, is_secret=True)
    return bool(texts) or any(_shows_secret(text) for text in typed)


def remove_secrets(trace: Trace) -> Trace:
    """Return the trace without credentials and without what was typed into secret fields."""
    # Most texts are the same in every pass, and in many steps.
    look = cache(hide_secrets)
    for _ in range(_MOST_PASSES):
        found = _pass(trace, look)
        if found == trace:
            break
        # What stands in the place of a secret can make a secret of what is beside it.
        trace = found
    return trace


def _pass(trace: Trace, look: Callable[[str], HiddenText]) -> Trace:
    found = tuple(_hide_steps(trace))
    taken = [text for one in found for text in one.texts]

    def mask(text: str) -> str:
        hidden = look(text)
        taken.extend(hidden.taken)
        return hidden.text

    shown = change_texts(replace(trace, steps=tuple(one.step for one in found)), mask)
    echoes = SecretEchoes.of(taken, HIDDEN)
    return change_texts(shown, cache(echoes.hide)) if echoes.texts else shown


def change_texts(trace: Trace, clean: Change) -> Trace:
    """Return a trace with each of its texts changed."""
    return replace(
        trace,
        task=clean(trace.task),
        session_path=clean(trace.session_path),
        final_message=clean(trace.final_message),
        session_id=clean(trace.session_id),
        folder=clean(trace.folder),
        problem=clean(trace.problem),
        steps=tuple(_clean_step(step, clean) for step in trace.steps),
    )


def _hide_steps(trace: Trace) -> Iterator[_Hidden]:
    focused = _follow_focus(trace)
    pads = find_pad_steps(trace.steps, focused)
    keys = {
        place: pads.get(place) or _secret_key(step, focused[place])
        for place, step in enumerate(trace.steps)
    }
    for place, step in enumerate(trace.steps):
        if keys[place]:
            spelled = _spell_keys(keys, place)
            yield _Hidden(_without_key(step, keys[place]), (spelled,) if spelled else ())
        else:
            yield _hide(step, is_secret=_is_secret(step, focused[place]))


def _spell_keys(keys: Mapping[int, str], place: int) -> str:
    """Return what the keys up to the last one in a row have written; empty before that one."""
    if keys.get(place + 1):
        return ""
    first = place
    while keys.get(first - 1):
        first -= 1
    return "".join(keys[at] for at in range(first, place + 1))


def _follow_focus(trace: Trace) -> list[Focus]:
    """Return what has the focus once each step is done."""
    focus, focused = Focus.OTHER, list[Focus]()
    is_login: bool | None = None
    for step in trace.steps:
        focus = move_focus(step, focus)
        if focus is Focus.USER:
            is_login = says_login(trace) if is_login is None else is_login
            focus = focus if is_login else Focus.OTHER
        focused.append(focus)
    return focused


def _secret_key(step: TraceStep, focus: Focus) -> str:
    is_key = focus is Focus.SECRET and classify_action(step.action) is Deed.KEY
    return read_character(step.action) if is_key else ""


def _without_key(step: TraceStep, character: str) -> TraceStep:
    """Return a step that presses a key of which nobody is told, nor where it is on the screen."""
    is_key = classify_action(step.action) is Deed.KEY
    hides = _KEY_NAMES if is_key else frozenset(step.action.fields) - {"type", "action"}
    fields = {
        name: HIDDEN if name in hides else value for name, value in step.action.fields.items()
    }
    told = re.compile(rf"(?i)(?<![^\W_]){re.escape(character)}(?![^\W_])")
    return replace(
        step,
        action=TraceAction(step.action.kind, fields),
        target=step.target if is_key else None,
        result=HIDDEN if told.search(step.result) else step.result,
        thought=HIDDEN if told.search(step.thought) else step.thought,
    )


def _is_secret(step: TraceStep, focus: Focus) -> bool:
    return is_secret_target(step.target) or fills_secret(step, focus) or is_secret_step(step)


def _hide(step: TraceStep, *, is_secret: bool) -> _Hidden:
    """Take out what a step puts into a secret field; `is_secret` says that its field is one."""
    taken: list[str] = []
    fields = _without(step.action.kind, step.action.fields, taken, is_secret=is_secret)
    hidden = replace(step, action=TraceAction(step.action.kind, fields))
    if step.result and step.result != HIDDEN and _asks_secret(step.action):
        taken.extend(_answers(step.result))
        hidden = replace(hidden, result=HIDDEN)
    elif step.result and not step.failed and shows_secret(step.action):
        taken.extend(find_shown_secrets(step.result))
        hidden = replace(hidden, result=HIDDEN)
    return _Hidden(hidden, tuple(taken))


def _answers(result: str) -> Iterator[str]:
    """Yield what a person may have answered: `User input: 1234`, `The user said "1234"`."""
    answer = _ANSWER_END.sub("", result.rpartition(":")[2]).strip()
    if answer and not re.search(r"\s", answer):
        yield answer
    yield from (hit[1] for hit in _QUOTED.finditer(result) if not re.search(r"\s", hit[1]))


def _without(
    kind: str, fields: Mapping[str, Json], taken: list[str], *, is_secret: bool, depth: int = 0
) -> dict[str, Json]:
    deed = find_deed(TraceAction(kind, {}), on_device=True)
    fills = (is_secret and deed in _FILLING) or names_secret_field(fields)

    def changed(name: str, value: Json) -> Json:
        if isinstance(value, (Mapping, list, tuple)):
            return _inner(value, taken, is_secret=is_secret, depth=depth + 1)
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return value
        if (fills and name in VALUE_NAMES) or is_secret_value(name, str(value)):
            taken.append(str(value))
            return HIDDEN
        return _command(value, taken) if is_secret and isinstance(value, str) else value

    return {name: changed(name, value) for name, value in fields.items()}


def _inner(value: Json, taken: list[str], *, is_secret: bool, depth: int) -> Json:
    """Do the same to what is nested; actions in a row know the field from those before them."""
    if depth > _MOST_DEPTH:
        return HIDDEN
    if isinstance(value, Mapping):
        kind = str(value.get("type", ""))
        return _without(kind, value, taken, is_secret=is_secret, depth=depth)
    if isinstance(value, str) or not isinstance(value, Sequence):
        return value
    if len(value) == _PAIR and _is_secret_pair(value[0], value[1]):
        taken.append(str(value[1]))
        return [value[0], HIDDEN]
    if value and all(isinstance(one, str) for one in value):
        # The words of a command: an option knows what the next word is.
        taken.extend(hide_secrets(" ".join(str(one) for one in value)).taken)
    inner: list[Json] = []
    for one in value:
        inner.append(_inner(one, taken, is_secret=is_secret, depth=depth + 1))
        is_secret = is_secret or (isinstance(one, Mapping) and _touches_secret(one))
    return inner


def _is_secret_pair(name: Json, value: Json) -> bool:
    return isinstance(name, str) and isinstance(value, str) and is_secret_value(name, value)


def _touches_secret(fields: Mapping[str, Json]) -> bool:
    deed = find_deed(TraceAction(str(fields.get("type", "")), {}), on_device=True)
    named = (value for value in fields.values() if isinstance(value, str))
    return deed is Deed.GESTURE and any(names_secret(text) for text in named)


def _command(text: str, taken: list[str]) -> str:
    """Take what a command types out of it; quoted, since what stands for it must be one word."""

    def hide(hit: re.Match[str]) -> str:
        taken.extend((hit["typed"].strip().strip("'\""),) if "text" in hit["before"] else ())
        return f"{hit['before']}'{HIDDEN}'"

    return _INPUT_TEXT.sub(hide, text)


def _asks_secret(action: TraceAction) -> bool:
    asks = find_deed(action, on_device=True) is Deed.ASK
    asked = _questions(action.fields, 0)
    return asks and any(names_secret(text) or asks_for_code(text) for text in asked)


def _questions(value: Json, depth: int) -> Iterator[str]:
    if isinstance(value, str) or depth > _MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        yield from (text for name in _QUESTION_NAMES if isinstance(text := value.get(name), str))
        value = tuple(value.values())
    if isinstance(value, Sequence):
        for inner in value:
            yield from _questions(inner, depth + 1)


def _shows_secret(text: str) -> bool:
    return HIDDEN in text or STARS in text or mask_credentials(text) != text


def _clean_step(step: TraceStep, clean: Change) -> TraceStep:
    return replace(
        step,
        action=TraceAction(step.action.kind, _clean_fields(step.action.fields, clean)),
        result=clean(step.result),
        thought=clean(step.thought),
        app=clean(step.app),
        target=None if step.target is None else step.target.change_texts(clean),
    )


def _clean_fields(fields: Mapping[str, Json], clean: Change) -> dict[str, Json]:
    def changed(value: Json) -> Json:
        if isinstance(value, str):
            return clean(value)
        if isinstance(value, Mapping):
            return _clean_fields(value, clean)
        return [changed(inner) for inner in value] if isinstance(value, Sequence) else value

    return {clean(name): changed(value) for name, value in fields.items()}


_TABLE = "experience/people.toml"
_words = partial(read_word_group, _TABLE)
_NAME = r"[A-Z\u00c0-\u00de\u0400-\u042f](?=[\w.'\u2019-]{0,3}[^\W\d_A-Z])[\w'\u2019-]{1,30}\.?"
_FULL_NAME = re.compile(rf"{_NAME}(?: [^\W\d_]{{1,3}})?(?: {_NAME}){{1,3}}")
_OPTION = re.compile(r"(?<!\S)--?([A-Za-z][\w-]*)[ =](['\"])([^'\"\n]{2,2000})\2")
_SHORTEST_SAID, _LONGEST_NAME = 8, 80
# Fields so short have many meanings: `to`, `cc`.
_SHORT_FIELD = 2
_ADDRESS = re.compile(
    r"(?<![\w/:])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,3}\.[A-Za-z]{2,24}\b"
)
_REMOTE = re.compile(r"\b(?:ssh|scp|sftp|rsync|git|mosh)\b")
_ACCOUNT = re.compile(
    r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"
    r"|(?<![\w.])(?:\d{4}[ -]){3}\d{1,4}(?![\w.])"
    r"|(?<![\w.+])\+\d[\d ()/-]{7,20}\d(?!\w)"
)
_SIGN = r"[\u20ac$\u00a3\u00a5\u20bd]"
_AMOUNT = rf"(?:{_SIGN}\s?)?-?\d[\d.,' ]*\d?(?:\s?(?:{_SIGN}|[A-Z]{{3}}\b|euros?\b))?"
# An amount that says of itself that it is money.
_AROUND = "\u20ac$\u00a3\u00a5\u20bdEURUSDGBPCHFeuros -"
_MONEY = re.compile(
    rf"{_SIGN}\s?-?\d(?:[\d.,']*\d)?|-?\d(?:[\d.,']*\d)?\s?(?:{_SIGN}|(?:EUR|USD|GBP|CHF|euros?)\b)"
)


def hide_people(trace: Trace) -> Trace:
    """Return the trace without what belongs to people."""
    echoes = SecretEchoes.of(find_private(trace), HIDDEN)

    def hide(text: str) -> str:
        return hide_accounts(echoes.hide(text))

    return change_texts(trace, cache(hide))


def find_private(trace: Trace) -> tuple[str, ...]:
    """Return the names and the messages of people in a trace, longest first."""
    programs = plain_words(" ".join(f"{step.action.kind} {step.app}" for step in trace.steps))
    names, known = set(_find_asked(trace.task)), _list_names(trace.task)
    said: set[str] = set()
    amounts = set(_find_held(trace))
    for step in trace.steps:
        names.update(_find_named(step))
        # Who is tapped in an app for messages, and named in the task, is written to.
        names.update(known & {one for one in find_labels(step) if _carries(step)})
        said.update(_find_said(step))
    reached = {one for name in names if "@" in name for one in _fold(name.partition("@")[0])}
    names.update(one for one in known if not reached.isdisjoint(_fold(one)))
    parts = {part for name in names for part in re.findall(_NAME, name) if " " in name}
    parts = {part for part in parts if part.casefold() not in _words("particles")}
    kept = {name for name in names | parts if not _is_program(name, programs)}
    amounts.update(amount for text in said for amount in _MONEY.findall(text))
    # Where the sign is the same in all runs, only the number varies.
    amounts.update(bare for one in tuple(amounts) if {",", "."} & set(bare := one.strip(_AROUND)))
    return tuple(sorted(kept | said | amounts, key=lambda one: (-len(one), one)))


def _find_held(trace: Trace) -> Iterator[str]:
    """Yield the amounts that a trace shows, where its task is about what somebody has or owes."""
    if re.search(rf"(?i)\b(?:{'|'.join(read_table(_TABLE)['held']['phrases'])})", trace.task):
        for step in trace.steps:
            for text in (step.result, *find_labels(step)):
                yield from _MONEY.findall(text)


def _list_names(task: str) -> set[str]:
    """Return what may be names in a task: words with a capital, without those that ask."""
    runs = re.findall(rf"{_NAME}(?: {_NAME}){{0,3}}", task)
    asks = _words("reaching")
    words = (" ".join(one for one in run.split() if one.casefold() not in asks) for run in runs)
    return {one.rstrip(".") for one in words if one}


def _fold(text: str) -> set[str]:
    """Return the words of a name or of an address, as they are written without accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(one for one in apart if not unicodedata.combining(one))
    return set(re.findall(r"[^\W\d_]{3,}", plain))


def hide_accounts(text: str, mark: str = HIDDEN) -> str:
    """Return a text without addresses and accounts of people, and without what they hold."""
    if "@" in text and not _REMOTE.search(text):
        text = _ADDRESS.sub(mark, text)
    text = _ACCOUNT.sub(mark, text)
    return _compile_held().sub(lambda hit: f"{hit['held']}{mark}", text)


@cache
def _compile_held() -> re.Pattern[str]:
    held = "|".join(read_table(_TABLE)["held"]["phrases"])
    return re.compile(
        rf"(?P<held>(?i:{held})\b[^\d\n\u20ac$\u00a3\u00a5\u20bd-]{{0,40}}?){_AMOUNT}"
    )


def _is_program(name: str, programs: str) -> bool:
    return any(part in programs.split() for part in plain_words(name).split())


@cache
def _compile_asked() -> re.Pattern[str]:
    verbs = "|".join(sorted(map(re.escape, _words("reaching")), key=len, reverse=True))
    inner = "|".join(sorted(_words("particles")))
    name = rf"(?P<name>{_NAME}(?: (?:(?:{inner}) ){{0,2}}{_NAME}){{0,3}})"
    meets, titles = ("|".join(_words(group)) for group in ("meeting", "titles"))
    held = rf"\b(?:{meets})\b(?: [^\s.,;]+){{0,3}}? (?:with|mit|avec|con|com|\u0441)"
    behind = "|".join(sorted(_words("behind")))
    return re.compile(
        rf"(?i:{held}|\b(?:{titles})\.?|\b(?:{verbs}))(?: my [\w-]+)?"
        rf"(?: (?:[^\s.,;]+ ){{0,8}}?(?i:to|with|an|\u00e0|a))?"
        rf" {name}(?=\W*\Z|[.,;:!?]| \W?\d| (?:{behind})\b)"
    )


def _find_asked(task: str) -> Iterator[str]:
    """Yield whom a task names behind a verb that reaches people."""
    for hit in _compile_asked().finditer(task):
        yield hit["name"].strip(".")


def _find_named(step: TraceStep) -> Iterator[str]:
    if classify_action(step.action) is Deed.TYPE:
        words = "_".join(plain_words(" ".join(find_labels(step))).split())
        is_role = any(
            f"_{role}_" in f"_{words}_" for role in _words("roles") if len(role) > _SHORT_FIELD
        )
        if is_role:
            yield from _as_names(step.action.text("text", "value"))
        return
    for name, value in _list_fields(step.action.fields):
        role = "_".join(plain_words(name).split())
        if role in _words("roles") and (len(role) > _SHORT_FIELD or _carries(step)):
            yield from _as_names(value)
    # An owner may be a company and a path, so a shell's must look like somebody, too.
    for name, value in _list_options(step):
        role = "_".join(plain_words(name).split())
        if role in _words("roles") | _words("buyers") and _FULL_NAME.fullmatch(value):
            yield value


def _as_names(value: str) -> Iterator[str]:
    text = value.strip().lstrip("@#")
    if 1 < len(text) <= _LONGEST_NAME and re.search(r"[^\W\d_]", text) and "\n" not in text:
        yield text


def _find_said(step: TraceStep) -> Iterator[str]:
    """Yield what a step says to somebody."""
    if classify_action(step.action) is Deed.TYPE:
        words = plain_words(" ".join(find_labels(step))).split()
        typed = step.action.text("text", "value")
        # A step that types seldom knows its field; then the app tells.
        is_said = not _words("fields_of_messages").isdisjoint(words) if words else _carries(step)
        if is_said and _is_said(typed):
            yield typed
        return
    if not _carries(step):
        return
    for name, value in (*_list_fields(step.action.fields), *_list_options(step)):
        last = plain_words(name).split()[-1:]
        if not _words("said").isdisjoint(last) and _is_said(value):
            yield value


def _is_said(text: str) -> bool:
    return len(text) >= _SHORTEST_SAID and " " in text.strip()


def _carries(step: TraceStep) -> bool:
    """Return whether a step is done by what carries messages or money."""
    program = find_command(step.action).partition(" -")[0]
    where = f"{step.action.kind} {step.app} {program}".casefold()
    return any(part in where for part in _words("sending"))


def _list_options(step: TraceStep) -> Iterator[tuple[str, str]]:
    """Yield the options of a command that say something of several words."""
    for name, _, value in _OPTION.findall(find_command(step.action)):
        yield name, value


def _list_fields(fields: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, Mapping):
            yield from _list_fields(value)
        elif isinstance(value, Sequence):
            yield from ((name, one) for one in value if isinstance(one, str))
