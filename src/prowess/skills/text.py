"""Text of strangers, safe to print and to show a model: control characters and CR/LF stripped.

Names and descriptions become one line here, whoever wrote them.
"""

from prowess.late import compile_late

# Escape sequences first, as a whole; then what is left of control characters, but tab and newline;
# then characters that reorder, hide or split text without being seen. Joiners stay: scripts and
# emoji need them.
_UNSAFE = compile_late(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    r"\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    r"\U000e0000-\U000e0fff]"
)
_JOINERS = compile_late("[\u200c\u200d\ufe0e\ufe0f]")
# Scripts and emoji need one, or a selector and a joiner; more of them, or one between two plain
# letters, carry something that nobody sees.
_HIDDEN_JOINERS = compile_late(
    "(?<=[A-Za-z])[\u200c\u200d\ufe0e\ufe0f]+(?=[A-Za-z])"
    "|(?<=[\u200c\u200d\ufe0e\ufe0f]{2})[\u200c\u200d\ufe0e\ufe0f]+"
)
_MOST_LISTED = 1_024
# A file name that is not UTF-8 arrives as lone surrogates, which no stream can encode.
_SURROGATE = compile_late("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Return `text` without what could move a cursor or hide words."""
    if text.isascii() and text.isprintable():
        return text
    return _SURROGATE.sub("\ufffd", _HIDDEN_JOINERS.sub("", without_controls(text)))


def without_controls(text: str) -> str:
    """Return `text` without what could move a cursor; joiners are left as they are."""
    return _UNSAFE.sub("", text)


def cut_listed(text: str) -> str:
    """Return a description as lists have it: whole up to the length that the standard allows.

    One of a hundred thousand characters would drown the others, in a list and on its way.
    """
    shown = clean(text)
    return shown if len(shown) <= _MOST_LISTED else shown[: _MOST_LISTED - 1].rstrip() + "\u2026"


def find_name_problem(name: str) -> str:
    """Return why the name of a file cannot be shown as it is; empty where it can.

    Where it cannot, no model could read the file at the place that it is told, and no client could
    name it.
    """
    if _SURROGATE.search(name):
        return "is not UTF-8"
    is_whole = clean(name) == name and not {"\t", "\n"} & set(name)
    return "" if is_whole else "has a control or hidden character"


def plain_name(text: str) -> str:
    """Return a name on one line, without joiners where no script or emoji needs them."""
    name = one_line(text)
    bare = _JOINERS.sub("", name)
    return bare if bare.isascii() else name


def one_line(text: str) -> str:
    """Return `text` cleaned, on one line, with single spaces."""
    return " ".join(clean(text).split())
