"""Which element a text was typed into, as far as taps tell it.

What was tapped last before a text was typed is often its field, and often only what led there: the
row of a conversation, a button. Such an element gives its name to no text. A secret field is one
whatever else it looks like, since what is typed into it is never shown.
"""

import re
from collections.abc import Sequence

from prowess.experience.secret_fields import is_secret_target
from prowess.transcripts.traces_part import UiTarget

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_]+")
_FIELD_CLASS = re.compile(r"(?i)edit|input|field|autocomplete|search")
_NO_FIELD_CLASS = re.compile(
    r"(?:Button|CheckBox|RadioButton|ImageView|ListView|RecyclerView|ViewGroup|TabView)\Z"
)
# Words of what is entered, and words of what is only pressed.
_ENTERED = frozenset(
    ("search", "query", "edit", "input", "field", "entry", "compose", "find", "type", "message")
)
_PRESSED = frozenset(
    ("row", "item", "list", "cell", "card", "fab", "send", "ok", "save", "done", "next", "back",
     "cancel", "close", "open", "conversation", "conversations", "thread", "result", "results",
     "tab", "avatar", "thumbnail", "new", "add", "create", "plus")
)  # fmt: skip


def target_of(near: Sequence[UiTarget]) -> UiTarget | None:
    """Return the field of a text, of the elements that were touched last before it in each run."""
    if not near:
        return None
    secret = next((target for target in near if is_secret_target(target)), None)
    if secret is not None:
        return secret
    first = near[0]
    if _FIELD_CLASS.search(first.class_name.rsplit(".", 1)[-1]):
        return first
    if len({_said(target) for target in near}) > 1 or not _can_be_field(first):
        return None
    return first


def _said(target: UiTarget) -> str:
    return target.text or target.content_desc or target.label


def _can_be_field(target: UiTarget) -> bool:
    named = f"{target.resource_id.rsplit('/', 1)[-1]} {target.content_desc} {_said(target)}"
    words = {word.casefold() for word in _WORD.findall(named)}
    if words & _ENTERED:
        return not words & {"row", "item", "result", "results", "send"}
    is_pressed = bool(_NO_FIELD_CLASS.search(target.class_name)) or bool(words & _PRESSED)
    return not is_pressed
