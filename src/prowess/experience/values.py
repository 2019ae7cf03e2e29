"""What kind of thing a value is: a file, a date, an address. Such values are what varies in a task.

Chinese and Japanese put no space around a file's name, so a name ends where its script does. A
value that is no kind of its own is a text.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple


class ValueKind(StrEnum):
    """A kind of value."""

    QUOTED = "text"
    URL = "url"
    EMAIL = "email"
    FILE = "file"
    FOLDER = "folder"
    PACKAGE = "package"
    DATE = "date"
    VERSION = "version"
    HASH = "hash"
    NUMBER = "number"
    TEXT = "words"


class FoundValue(NamedTuple):
    """A value in a text."""

    kind: ValueKind
    text: str
    start: int
    end: int


_LETTER = r"A-Za-z0-9_\u00c0-\u024f"
_EXTENSION = r"(?:tar\.)?[A-Za-z][A-Za-z0-9]{0,7}"
_NAME = rf"[{_LETTER}@+~-][{_LETTER}.@+~-]{{0,120}}"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = (
    r"(?:19|20)\d\d[-/._]\d{1,2}(?:[-/._]\d{1,2})?(?!\.?\d)|(?:19|20)\d\d(?:0[1-9]|1[0-2])[0-3]\d"
    r"|\d{1,2}[./]\d{1,2}[./](?:19|20)?\d\d"
    rf"|(?i:\d{{1,2}}\.? {_MONTH}(?: (?:19|20)\d\d)?|{_MONTH} (?:\d{{1,2}},? )?(?:19|20)\d\d)"
    r"|(?:19|20)\d\d\u5e74(?:\d{1,2}\u6708)?(?:\d{1,2}\u65e5)?|\d{1,2}\u6708\d{1,2}\u65e5"
)
# The first that fits counts: what is longer or surer comes first.
_FORMS: tuple[tuple[ValueKind, str], ...] = (
    (
        ValueKind.QUOTED,
        (
            r"\"[^\"\n]{1,200}\"|\u201c[^\u201d\n]{1,200}\u201d|\u300c[^\u300d\n]{1,200}\u300d"
            r"|\u300a[^\u300b\n]{1,200}\u300b|\u00ab[^\u00bb\n]{1,200}\u00bb|`[^`\n]{1,200}`"
            r"|(?<![A-Za-z0-9])'[^'\n]{1,200}'(?![A-Za-z0-9])|\u2018[^\u2019\n]{1,200}\u2019"
        ),
    ),
    (ValueKind.URL, r"[a-z][a-z0-9+]{1,12}://[^\s<>\"'`\u3000-\u9fff]{1,300}"),
    (ValueKind.EMAIL, r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}"),
    (
        ValueKind.FILE,
        (
            rf"(?<![{_LETTER}.])(?:~?/|\.{{1,2}}/)?(?:{_NAME}/){{0,20}}{_NAME}\.{_EXTENSION}"
            rf"(?![A-Za-z0-9_/-]|\.[A-Za-z0-9])"
        ),
    ),
    (
        ValueKind.FOLDER,
        rf"(?<![{_LETTER}.])(?:(?:~|\.{{1,2}})?/(?:{_NAME}/?){{1,20}}|(?:{_NAME}/){{1,20}}(?:{_NAME})?)",
    ),
    (ValueKind.DATE, rf"(?<![\w.-])(?:{_DATE})(?![A-Za-z0-9])"),
    (
        ValueKind.VERSION,
        (
            r"(?<![\w.])v?\d{1,4}\.\d{1,4}(?:\.\d{1,6}){0,2}(?:-(?:rc|alpha|beta|dev)[.\d]{0,6})?"
            r"(?![A-Za-z0-9_%])(?!\.\d)"
        ),
    ),
    (ValueKind.HASH, r"(?<![\w])(?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{7,40}(?![\w])"),
    (
        ValueKind.NUMBER,
        r"(?<![A-Za-z0-9_.])[#\u20ac$]?\d{1,15}(?:[.,:]\d{1,9}){0,4}%?(?![A-Za-z0-9_])",
    ),
)
_ANY = re.compile("|".join(f"(?P<{kind.name}>{form})" for kind, form in _FORMS))
_PACKAGE = re.compile(r"(?:com|org|net|io|tv|me|cn|de|jp|app)(?:\.[a-z][a-z0-9_]{0,40}){2,6}")
_HOST = re.compile(
    r"(?:[a-z0-9-]{1,63}\.){1,4}(?:com|org|net|io|dev|ai|co|edu|gov|eu|de|fr|uk|cn|jp)",
    re.IGNORECASE,
)
_WHOLE_NUMBER = re.compile(r"[#+-]?\d{1,15}(?:[.,:]\d{1,9}){0,4}%?")
_FULL_DATE = re.compile(_DATE)
_ENDING = re.compile(rf"\.(?P<ending>{_EXTENSION})\Z")
_TRAIL = ".,;:!?)"


def find_values(text: str) -> Iterator[FoundValue]:
    """Yield the values of a text, in order."""
    for hit in _ANY.finditer(text):
        kind = ValueKind[hit.lastgroup or "TEXT"]
        value = hit[0].rstrip(_TRAIL) if kind in (ValueKind.URL, ValueKind.FOLDER) else hit[0]
        if kind is ValueKind.FOLDER and _is_alternative(value):
            continue
        yield FoundValue(_finer(kind, value), value, hit.start(), hit.start() + len(value))


def classify_value(value: str) -> ValueKind:
    """Return what kind of thing a whole value is."""
    if _FULL_DATE.fullmatch(value):
        return ValueKind.DATE
    found = _ANY.fullmatch(value)
    if found is not None:
        return _finer(ValueKind[found.lastgroup or "TEXT"], value)
    if read_ending(value) and not re.search(r"\s", value):
        # A name in a script that would not be told from the words around it.
        return ValueKind.FILE
    return ValueKind.NUMBER if _WHOLE_NUMBER.fullmatch(value) else ValueKind.TEXT


def read_ending(path: str) -> str:
    """Return the ending of a file's name in small letters, without its dot; empty where none."""
    name = path.rsplit("/", 1)[-1]
    found = _ENDING.search(name)
    return found["ending"].lower() if found and found.start() else ""


def strip_ending(path: str) -> str:
    """Return a file's name or path without its ending."""
    ending = read_ending(path)
    return path[: -len(ending) - 1] if ending else path


def _finer(kind: ValueKind, value: str) -> ValueKind:
    if kind is not ValueKind.FILE or "/" in value:
        return kind
    if _PACKAGE.fullmatch(value):
        return ValueKind.PACKAGE
    return ValueKind.URL if _HOST.fullmatch(value) else kind


def _is_alternative(value: str) -> bool:
    """Return whether a slash stands between two words, as in `and/or`."""
    return value.count("/") == 1 and not value.endswith("/") and value[0] not in "~./"
