"""Which fields of a screen, a form or a call hold what nobody else may read, by their names.

A name is judged by its words, however they are written together: `etPassword`, `otp_code`, `PIN`.
Short words count only as words of their own, since `pin` is also a part of `shopping`. To take a
field for a secret one costs a readable draft; to miss one shows a password. So doubt hides.
"""

import re
from collections.abc import Mapping

from prowess.secrets.credentials import masked
from prowess.secrets.secret_names import plain_words
from prowess.secrets.secret_words import CODES, PARTS, WORDS
from prowess.transcripts.traces_part import Json, UiTarget

# What an action puts into a field.
VALUE_NAMES = frozenset(
    ("text", "value", "inputText", "input_text", "keys", "chars", "characters", "string", "answer")
)
# By what an action names the field that it fills.
_FIELD_NAMES = (
    "element", "selector", "field", "label", "name", "placeholder", "locator", "resourceId",
    "resource_id", "id", "elementId", "contentDesc", "className", "hint", "target", "question",
)  # fmt: skip
# A name that makes a secret of some values: a token is one, a `next_token: 7` is not.
_MAYBE = re.compile(r"(?i)token|key|auth|cred|login|session")
_USER = re.compile(
    r"\b(?:user ?names?|user(?: ?id)?|log ?in(?: name| id)?|benutzer(?:name)?|nutzername|account"
    r"|identifiant|usuario|utente|gebruikersnaam|anmeldename|e ?mail(?: adresse| address)?)\b"
)
_OTHER_FIELD = re.compile(
    r"\b(?:user ?names?|user|e ?mail|search|query|address|subject|title|message|url|city|phone"
    r"|comment|note|first name|last name|full name|benutzername|betreff|suche)\b"
)
_SETTLED = re.compile(
    r"\b(?:was|were|accepted|correct|worked|done|next|then|after|before|search|user ?name|e ?mail"
    r"|address|without|no|not|manager|query)\b"
)
_MOST_LABEL, _MOST_THOUGHT, _SHORT_THOUGHT = 400, 1_000, 60
# What stands beside the field and is not it, or leads away from it.
_BESIDE = re.compile(r"\b(?:forgot|forgotten|reset|recover|show|hide|reveal|toggle|lost)\b")
# A thought that says what is typed now, and not what comes before or after it.
_MEANT = re.compile(
    r"\b(?:typ|enter|input|insert|fill|past|provide|providing|supply|put)\w*(?P<what>.{0,40})"
)
_OTHER = re.compile(r"\b(?:user ?names?|e ?mail|search|query|address|then|before|after|next)\b")


def names_secret(text: str) -> bool:
    """Return whether a name or a label says that what stands there is a secret."""
    words = plain_words(text[:_MOST_LABEL])
    return _has_part(words) or not _WORDS.isdisjoint(words.split())


def is_secret_target(target: UiTarget | None) -> bool:
    """Return whether an element is a secret field, or belongs to one."""
    return target is not None and any(names_secret(label) for label in labels_of(target))


def names_user(text: str) -> bool:
    """Return whether a label is that of a user's name, which mostly a password follows."""
    return bool(_USER.search(plain_words(text[:_MOST_LABEL])))


def names_other(text: str) -> bool:
    """Return whether a label is surely that of a field for something else."""
    return not names_secret(text) and bool(_OTHER_FIELD.search(plain_words(text[:_MOST_LABEL])))


def is_beside_secret(text: str) -> bool:
    """Return whether a label is that of a helper of a password: to show, forget or reset it."""
    return bool(_BESIDE.search(plain_words(text)))


def means_secret(thought: str) -> bool:
    """Return whether a thought says that a secret is typed now."""
    words = plain_words(thought[:_MOST_THOUGHT])
    meant = (_OTHER.split(hit["what"])[0] for hit in _MEANT.finditer(words))
    if any(names_secret(what) for what in meant):
        return True
    # Nothing else is spoken of: `Now the password`.
    return len(words) <= _SHORT_THOUGHT and names_secret(words) and not _SETTLED.search(words)


def names_secret_field(fields: Mapping[str, Json]) -> bool:
    """Return whether fields name the element that they fill, and it is a secret one."""
    named = (fields.get(name) for name in _FIELD_NAMES)
    return any(isinstance(name, str) and names_secret(name) for name in named)


def field_labels(fields: Mapping[str, Json]) -> tuple[str, ...]:
    """Return by what fields name the element that they are about."""
    named = (fields.get(name) for name in _FIELD_NAMES)
    return tuple(name for name in named if isinstance(name, str) and name)


def asks_for_code(question: str) -> bool:
    """Return whether a person is asked for a code; of which kind, a question seldom says."""
    return bool(re.search(r"\b(?:code|codigo|kod|sms)\b", plain_words(question)))


def is_secret_value(name: str, value: str) -> bool:
    """Return whether the name of a field says that its value is a secret."""
    if not value or name in _FIELD_NAMES:
        return False
    said = f"{name}={value}"
    words = plain_words(name)
    is_named = _has_part(words) or not (_WORDS - _LABEL_WORDS).isdisjoint(words.split())
    return is_named or bool(_MAYBE.search(name) and masked(said) != said)


def labels_of(target: UiTarget) -> tuple[str, ...]:
    """Return by what an element is named; of its id the part that its program gave it."""
    named = (target.text, target.content_desc, target.label, target.class_name, target.element_id)
    # The name of the program is no name of the field.
    return (target.resource_id.rsplit("/", 1)[-1], *named)


def _has_part(words: str) -> bool:
    return any(part in words for part in _PARTS) or bool(_CODE.search(words))


_PARTS = tuple(dict.fromkeys(plain_words(part) for part in PARTS))
_WORDS = frozenset(plain_words(word) for word in WORDS)
# Words that also name what is no secret where a call has them: `next_token`, `tan`.
_LABEL_WORDS = frozenset(("token", "parole", "parola", "clave", "tan"))
_CODE = re.compile(
    rf"\b(?:{'|'.join(plain_words(word) for word in CODES)}) ?(?:codes?|kod|codigo)\b"
    r"|\A(?:(?:enter|the|input|et|edit|txt|text|field) ){0,3}(?:code|codigo)(?: eingeben)?\Z"
)
