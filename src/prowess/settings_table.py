"""What a row of the settings table is: its key, kind, bounds, default and meaning.

`prowess.settings` declares the rows, each as a field of a dataclass.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, fields
from enum import Enum
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

_T = TypeVar("_T")


class Form(Enum):
    """How a value is read; `OWN` is read by code of its own."""

    FLAG = "flag"
    COUNT = "count"
    # A number out of range is moved to the nearest bound.
    CLAMPED = "clamped"
    SHARE = "share"
    TEXT = "text"
    # As a text, and a blank one says as much as none.
    BLANK_TEXT = "blank text"
    WORDS = "words"
    CHOICE = "choice"
    OWN = "own"


class SettingKind(NamedTuple):
    """What values a setting takes: for people, and as a JSON schema."""

    form: Form
    said: str
    schema: Mapping[str, Any]
    least: int = 0
    most: int = 0
    choices: tuple[str, ...] = ()


class Setting(NamedTuple):
    """One setting: a row of the reference page."""

    key: str
    kind: SettingKind
    meaning: str
    # What the file would hold; None where there is nothing to write.
    default: object = None
    shown_default: str = "absent"
    # Forms hide it.
    secret: bool = False
    # It decides where secrets go, what is run or who may connect: no client changes it.
    guarded: bool = False


# It stands for a field's value, as `dataclasses.field` does, and says all there is to say of it.
def setting(  # noqa: PLR0913
    kind: SettingKind,
    meaning: str,
    *,
    default: _T,
    key: str = "",
    shown: str | bool = "",
    guarded: bool = False,
    also: tuple[Setting, ...] = (),
) -> _T:
    """Declare a field that the config file may set.

    Args:
        kind: what the file may say.
        meaning: what it does, for the reference page.
        default: its value where the file says nothing.
        key: where it stands: a name, or a whole path; else the field's name in camelCase.
        shown: the default as the file would say it, or in words, where the value does not tell.
        guarded: whether it is for the people at the machine alone.
        also: other settings that end in the same field.
    """
    written = shown if isinstance(shown, bool) else _write(default)
    row = Setting(
        key=key,
        kind=kind,
        meaning=meaning,
        default=None if isinstance(shown, str) and shown else written,
        shown_default=shown if isinstance(shown, str) and shown else _show(written),
        guarded=guarded,
    )
    rows = {"rows": (row, *also)}
    if isinstance(default, dict):
        return cast("_T", field(default_factory=dict, metadata=rows))
    return field(default=default, metadata=rows)


def section(kind: type[_T], prefix: str) -> _T:
    """Declare a field that holds the settings below `prefix`, a name or a whole path."""
    return field(default_factory=kind, metadata={"section": (kind, prefix)})


def _write(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | frozenset):
        return list(value)
    return None if value == "" else value


def _show(written: object) -> str:
    if isinstance(written, bool):
        return str(written).lower()
    return "absent" if written is None else str(written)


def count(least: int) -> SettingKind:
    """Whole numbers of at least `least`."""
    schema = {"type": "integer", "minimum": least}
    return SettingKind(
        form=Form.COUNT, said=f"integer, at least {least}", schema=schema, least=least
    )


def clamped(least: int, most: int) -> SettingKind:
    """Numbers, each moved to the nearest bound."""
    schema = {"type": "integer", "minimum": least, "maximum": most}
    said = f"integer, {least} to {most}"
    return SettingKind(form=Form.CLAMPED, said=said, schema=schema, least=least, most=most)


def choice(*words: str) -> SettingKind:
    """One of these words."""
    said = f"{', '.join(words[:-1])} or {words[-1]}"
    schema = {"type": "string", "enum": list(words)}
    return SettingKind(form=Form.CHOICE, said=said, schema=schema, choices=words)


def member_of(kind: type[Enum]) -> SettingKind:
    """One of the values of an enumeration."""
    return choice(*(str(member.value) for member in kind))


def words(what: str, form: Form = Form.WORDS) -> SettingKind:
    """A list of texts."""
    return SettingKind(form=form, said=f"list of {what}", schema=STRINGS)


def text(what: str, form: Form = Form.TEXT) -> SettingKind:
    """A text."""
    return SettingKind(form=form, said=what, schema={"type": "string"})


def own(said: str, **schema: object) -> SettingKind:
    """What is read by code of its own."""
    return SettingKind(form=Form.OWN, said=said, schema=schema)


STRINGS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
SECRET: dict[str, Any] = {"type": ["string", "object"]}
FLAG = SettingKind(form=Form.FLAG, said="true or false", schema={"type": "boolean"})
_NUMBER_TO_1: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
SHARE = SettingKind(form=Form.SHARE, said="number between 0 and 1", schema=_NUMBER_TO_1)
NAMES_OR_KEYS = words("names or skill keys")
VARIABLE = text("name of a variable")


class DeclaredField(NamedTuple):
    """A field that the config file may set: one setting, or a section of them."""

    name: str
    # Of the setting, or of what leads to the section.
    key: str
    # The setting first, then others that end in the same field.
    rows: tuple[Setting, ...]
    default: object
    section: type[object] | None


Declared: TypeAlias = tuple[DeclaredField, ...]
# What a section is made as, and where it stands: two may stand at one place.
SectionPlace: TypeAlias = tuple[type[object], str]


def find_sections(kind: type[object], prefix: str = "") -> Iterator[tuple[SectionPlace, Declared]]:
    """Yield the declared fields of a section, and of each in it."""
    found = tuple(_find_fields(cast("Any", kind), prefix))
    yield (kind, prefix), found
    for declared in found:
        if declared.section is not None:
            yield from find_sections(declared.section, declared.key)


# Any dataclass: there is no type for that.
def _find_fields(kind: Any, prefix: str) -> Iterator[DeclaredField]:  # noqa: ANN401
    for one in fields(kind):
        if "section" in one.metadata:
            inner, below = one.metadata["section"]
            yield DeclaredField(one.name, join_key(prefix, below), (), None, inner)
        elif "rows" in one.metadata:
            first, *also = one.metadata["rows"]
            row = _place(first, one.name, prefix)
            yield DeclaredField(one.name, row.key, (row, *also), one.default, None)


def list_settings(
    sections: Mapping[SectionPlace, Declared], kind: type[object], key: str = ""
) -> Iterator[Setting]:
    """Yield every setting of a section and of the sections in it, with its whole key."""
    for declared in sections[kind, key]:
        if declared.section is not None:
            yield from list_settings(sections, declared.section, declared.key)
        yield from declared.rows


def join_key(prefix: str, key: str) -> str:
    """Return a key below a prefix; a key with dots is whole already."""
    return key if "." in key or not prefix else f"{prefix}.{key}" if key else prefix


def _place(row: Setting, name: str, prefix: str) -> Setting:
    first, *rest = name.split("_")
    camel = first + "".join(part.capitalize() for part in rest)
    return row._replace(key=join_key(prefix, row.key or camel))
