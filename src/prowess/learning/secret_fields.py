"""Which fields of a screen, a form or a call hold what nobody else may read, by their names.

A name is judged by its words, however they are written together: `etPassword`, `otp_code`, `PIN`.
Short words count only as words of their own, since `pin` is also a part of `shopping`. To take a
field for a secret one costs a readable draft; to miss one shows a password. So doubt hides.
"""

import re
import unicodedata
from collections.abc import Mapping

from prowess.learning.credentials import masked
from prowess.learning.traces import Json, UiTarget

# What an action puts into a field.
VALUE_NAMES = frozenset(("text", "value", "inputText", "input_text"))
# By what an action names the field that it fills.
_FIELD_NAMES = (
    "element", "selector", "field", "label", "name", "placeholder", "locator", "resourceId",
    "resource_id", "id", "elementId", "contentDesc", "className", "hint", "target", "question",
)  # fmt: skip
# Anywhere in a name or a label.
_PARTS = (
    "password", "passwort", "passcode", "passphrase", "passwd", "pincode", "kennwort", "secret",
    "contrasena", "mot de passe", "senha", "wachtwoord", "has\u0142o", "losenord", "heslo",
    "one time code", "security code", "verification code", "recovery code", "card number",
    "cardnumber", "private key", "seed phrase", "\u043f\u0430\u0440\u043e\u043b\u044c",
    "\u5bc6\u7801", "\u5bc6\u78bc", "\u53e3\u4ee4", "\u9a8c\u8bc1\u7801", "\u9a57\u8b49\u78bc",
    "\u30d1\u30b9\u30ef\u30fc\u30c9", "\u6697\u8a3c\u756a\u53f7", "\ube44\ubc00\ubc88\ud638",
)  # fmt: skip
# Only as words of their own.
_WORDS = frozenset(
    ("pin", "otp", "totp", "cvv", "cvv2", "cvc", "cvc2", "pwd", "pword", "pass", "mfa", "2fa")
)  # fmt: skip
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD = re.compile(r"[\W_]+")
# A name that makes a secret of some values: a token is one, a `next_token: 7` is not.
_MAYBE = re.compile(r"(?i)token|key|auth|cred|login|session")
# What stands beside the field and is not it, or leads away from it.
_BESIDE = re.compile(r"\b(?:forgot|forgotten|reset|recover|show|hide|reveal|toggle|lost)\b")
_BUTTONS = ("button", "imageview", "checkbox", "switch")
# A thought that says what is typed now, and not what comes before or after it.
_MEANT = re.compile(r"\b(?:typ|enter|input|insert|fill|past|provid|supply|put)\w*(?P<what>.{0,40})")
_OTHER = re.compile(r"\b(?:user ?names?|e ?mail|search|query|address|then|before|after|next)\b")


def names_secret(text: str) -> bool:
    """Return whether a name or a label says that what stands there is a secret."""
    words = _words(text)
    return any(part in words for part in _PARTS) or not _WORDS.isdisjoint(words.split())


def is_secret_target(target: UiTarget | None) -> bool:
    """Return whether an element is a secret field, or belongs to one."""
    return target is not None and names_secret(_label(target))


def is_beside_secret(text: str) -> bool:
    """Return whether a label is that of a helper of a password: to show, forget or reset it."""
    return bool(_BESIDE.search(_words(text)))


def takes_secret_focus(target: UiTarget, *, had: bool) -> bool:
    """Return whether a secret field has the focus once an element was touched."""
    if is_beside_secret(_label(target)):
        # The eye beside a password leaves the focus where it is.
        return had
    return is_secret_target(target) and not target.class_name.casefold().endswith(_BUTTONS)


def means_secret(thought: str) -> bool:
    """Return whether a thought says that a secret is typed now."""
    meant = (_OTHER.split(hit["what"])[0] for hit in _MEANT.finditer(_words(thought)))
    return any(names_secret(what) for what in meant)


def names_secret_field(fields: Mapping[str, Json]) -> bool:
    """Return whether fields name the element that they fill, and it is a secret one."""
    named = (fields.get(name) for name in _FIELD_NAMES)
    return any(isinstance(name, str) and names_secret(name) for name in named)


def is_secret_value(name: str, value: str) -> bool:
    """Return whether the name of a field says that its value is a secret."""
    if not value or name in _FIELD_NAMES:
        return False
    said = f"{name}={value}"
    return names_secret(name) or bool(_MAYBE.search(name) and masked(said) != said)


def _label(target: UiTarget) -> str:
    named = (target.resource_id, target.text, target.content_desc, target.label, target.class_name)
    return " ".join((*named, target.element_id))


def _words(text: str) -> str:
    """Return the words in small letters without accents, a space between each two."""
    apart = _NO_WORD.sub(" ", _CAMEL.sub(" ", unicodedata.normalize("NFKC", text)))
    letters = unicodedata.normalize("NFD", apart.casefold())
    # Only of Latin letters: in other scripts a mark makes another letter.
    plain = "".join(letter for letter in letters if not "\u0300" <= letter <= "\u036f")
    return unicodedata.normalize("NFC", plain)
