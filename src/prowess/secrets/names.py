"""A secret that stands beside its name: `DB_PASSWORD=...`, `"token": "..."`, `the password is ...`.

Meant for traces, where to miss one shows it and to hide too much costs a question when a script is
replayed. Still, most of a trace is code: a type, a variable or a word of a sentence behind the name
is no secret. Names are found by their cues, and judged with all their words.

The words by which people and programs name a secret, in many languages.

A word stands here as it is written, in small letters with its accents; who compares without accents
takes them off. Some are only meant where they stand alone: `pin` is a part of `shopping`, and what
is a password in one language is any word in another.

Whether a name in a config, an address or a command line is that of a secret.

A setting is judged more eagerly than a word of a sentence: what stands behind it was put there to
be used. Short names count only as words of their own: `pass` is also a part of `compass`, and
`pw` of `upwards`. Doubt hides, where what is hidden can be sent back as it was.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from prowess.secrets.credentials import Cued, CueTable, Reading

# Anywhere in a name or a label.
PARTS = (
    "password", "passwort", "passcode", "passphrase", "passwd", "passkey", "pincode", "kennwort",
    "secret", "contrase\u00f1a", "mot de passe", "palavra passe", "palavra-passe", "senha",
    "wachtwoord", "has\u0142o", "l\u00f6senord", "heslo", "adgangskode", "passord", "salasana",
    "jelsz\u00f3", "\u015fifre", "slapta\u017eodis", "lozinka", "parol\u0103", "kata sandi",
    "m\u1eadt kh\u1ea9u", "clave de acceso", "\u043f\u0430\u0440\u043e\u043b\u044c",
    "\u043f\u0430\u0440\u043e\u043b\u0430", "\u043b\u043e\u0437\u0438\u043d\u043a\u0430",
    "\u03c0\u03c1\u03cc\u03c3\u03b2\u03b1\u03c3\u03b7\u03c2",
    "\u03c3\u03c5\u03bd\u03b8\u03b7\u03bc\u03b1\u03c4\u03b9\u03ba\u03cc",
    "\u05e1\u05d9\u05e1\u05de\u05d4", "\u05e1\u05d9\u05e1\u05de\u05d0",
    "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631",
    "\u0643\u0644\u0645\u0629 \u0627\u0644\u0633\u0631",
    "\u0631\u0645\u0632 \u0639\u0628\u0648\u0631", "\u06af\u0630\u0631\u0648\u0627\u0698\u0647",
    "\u092a\u093e\u0938\u0935\u0930\u094d\u0921",
    "\u09aa\u09be\u09b8\u0993\u09af\u09bc\u09be\u09b0\u09cd\u09a1",
    "\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19", "\u5bc6\u7801", "\u5bc6\u78bc",
    "\u53e3\u4ee4", "\u9a8c\u8bc1\u7801", "\u9a57\u8b49\u78bc", "\u30d1\u30b9\u30ef\u30fc\u30c9",
    "\u6697\u8a3c\u756a\u53f7", "\u8a8d\u8a3c\u30b3\u30fc\u30c9", "\u78ba\u8a8d\u30b3\u30fc\u30c9",
    "\ube44\ubc00\ubc88\ud638", "\uc554\ud638", "\uc778\uc99d\ubc88\ud638",
    "\uc778\uc99d \ucf54\ub4dc", "private key", "seed phrase", "recovery phrase", "backup phrase",
    "mnemonic", "api key", "apikey", "access token", "auth token", "access key", "master key",
    "encryption key", "security answer", "geheimzahl", "sicherheitsfrage", "card number",
    "cardnumber", "card num", "card no", "credit card", "kartennummer", "kreditkarte",
    "num\u00e9ro de carte", "n\u00famero de tarjeta", "pr\u00fcfziffer", "kontonummer",
    "account number", "routing number", "social security",
)  # fmt: skip
# A password, as short as programs name it.
SHORT = ("pass", "pw", "psw", "pswd", "pwd")
# Only as words of their own.
WORDS = (
    *SHORT, "pin", "otp", "totp", "cvv", "cvv2", "cvc", "cvc2", "pword", "mfa", "2fa",
    "tan", "mtan", "puk", "ssn", "iban", "token", "clave", "parola", "parole", "geslo",
    "\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2", "passwords", "credentials",
)  # fmt: skip
# Anywhere in the name of a setting, of which nothing but its letters is left.
STEMS = (
    "token", "passw", "passphrase", "passcode", "pwd", "secret", "credential", "cookie", "bearer",
    "jwt", "dsn", "webhook", "authorization", "signature", "login", "mnemonic", "seedphrase",
)  # fmt: skip
# At the end of such a name.
#
# The number of a session is a secret where it is kept for later: who shows it is its owner.
ENDINGS = ("headers?", "keys?", "keyid", "pin", "otp", "sessionid", "sessid")
# The whole of such a name. `accountSid` is no more than a user's name, and a license mostly says
# `MIT`: its key has the name of one.
SETTINGS = frozenset(("env", "sid"))
# The last word of such a name, beside those that are one everywhere.
MATERIAL = frozenset(("hmac", "oauth"))
# Of a setting, where its value is a text: a seed of words opens a wallet, a number starts dice.
TEXTS = frozenset(("seed", "seeds"))
# Whose password it is, where the name of it is joined to theirs.
OWNERS = (
    "user", "db", "database", "sql", "mysql", "pg", "postgres", "mongo", "redis", "smtp", "imap",
    "pop", "mail", "email", "ftp", "sftp", "ssh", "ldap", "bind", "mqtt", "rtsp", "vpn", "wifi",
    "wlan", "proxy", "http", "root", "admin", "key", "store", "bot", "app", "my",
)  # fmt: skip
# What makes a secret of the code that is named with it; the code alone may be of a street.
CODES = (
    "one time", "onetime", "security", "verification", "verify", "recovery", "backup", "sms",
    "unlock", "access", "login", "sign in", "authenticator", "authentication", "auth", "2fa", "mfa",
    "otp", "confirmation", "confirm", "activation", "digit", "secret", "einmal",
    "best\u00e4tigungs", "sicherheits", "zugangs", "verifizierungs", "best\u00e4tigung", "sms tan",
    "passwort", "pin", "puk",
)  # fmt: skip
# What stands behind the name of a secret and is none: what everybody knows, types, plain words.
KNOWN_BY_ALL = frozenset(
    (
    "postgres", "admin", "root", "mysql", "mongo", "redis", "guest", "rabbitmq", "test", "tests",
    "user", "minioadmin", "password", "passwd", "passphrase", "secret", "token", "key", "pass",
    "pwd", "username", "apikey", "api_key", "credentials", "value", "values", "str", "string",
    "text", "varchar", "char", "bool", "boolean", "int", "integer", "number", "any", "object",
    "bytes", "optional", "none", "null", "undefined", "required", "true", "false", "yes", "no",
    "list", "dict", "array", "date", "uuid", "float", "double", "unknown", "never", "void", "self",
    "nil", "field", "column", "type", "basic", "bearer", "digest", "default", "auto", "ask",
    "prompt", "off", "on", "left", "right", "up", "down", "enter", "escape", "id", "name", "title",
    "label", "data", "index", "option", "flag", "argument", "parameter", "to", "and", "or", "if",
    "for", "with", "when", "that", "this", "the", "which", "not", "must", "is", "are", "be", "from",
    "in", "of", "as", "by", "it", "file", "path", "hidden", "encrypted", "stdin", "env", "input",
    "output", "missing", "wrong", "incorrect", "correct", "weak", "strong", "short", "long",
    "empty", "valid", "invalid", "mandatory", "secure", "safe", "ready", "good", "fine", "okay",
    "different", "same", "here", "there", "now", "still", "always", "also", "only", "just",
    "visible", "then", "too", "used", "sent", "kept", "lost", "gone", "part", "one", "what",
    "where", "how", "why", "your", "my", "our", "his", "her", "its", "their", "please", "should",
    "can", "will", "has", "have", "an", "a", "hash", "salt", "header", "cookie", "body", "query",
    "form", "json", "yaml", "config", "settings", "store", "storage", "vault", "keychain",
    "manager", "again", "first", "last", "next", "new", "old", "current", "both", "either", "like",
    "set", "get", "put", "read", "write"
    )
)  # fmt: skip
# With one of these as its last word, a name is of something about a secret.
ABOUT_SECRETS = frozenset(
    (
    "file", "path", "id", "ids", "name", "names", "url", "uri", "type", "types", "length", "len",
    "min", "max", "required", "policy", "ttl", "expiry", "expires", "enabled", "dir", "store",
    "field", "fields", "label", "hint", "regex", "pattern", "count", "limit", "error", "errors",
    "message", "reset", "prompt", "title", "form", "box", "stdin", "env", "format", "manager",
    "provider", "service", "class", "model", "schema", "test", "tests", "strength", "validator",
    "encoder", "helper", "utils", "handler", "usage", "budget", "size", "index", "ring", "kind",
    "scope", "source", "list", "map", "hasher", "command", "cmd", "fd", "protected", "based",
    "only", "free", "less"
    )
)  # fmt: skip
# Last words that change nothing.
TRAILING = frozenset(
    (
    "base", "value", "prod", "dev", "staging", "production", "default", "old", "new", "current",
    "b64"
    )
)  # fmt: skip
# Last words of names that may be of a secret.
WEAK = frozenset(
    (
    "key", "pat", "auth", "credential", "credentials", "cookie", "salt", "clave", "parola", "geslo",
    "pin"
    )
)  # fmt: skip
# Keys that open nothing.
SAFE_KEYS = frozenset(
    (
    "primary", "foreign", "sort", "partition", "public", "cache", "group", "index", "row", "map",
    "hot", "shortcut", "object", "s3", "bucket", "lookup", "search", "storage", "routing",
    "idempotency", "dict", "json", "yaml", "registry", "host", "known", "column", "unique",
    "composite", "range", "hash", "shift", "arrow", "press", "ssh", "the", "a", "any", "each",
    "this", "that", "first", "last", "no", "on", "by", "sort_by", "order", "not"
    )
)  # fmt: skip
# First words of options that take no value.
NO_VALUE = frozenset(
    (
    "no", "show", "ask", "prompt", "require", "with", "use", "force", "has", "is", "reset",
    "forgot"
    )
)  # fmt: skip


class Find(NamedTuple):
    """Where a secret stands, and whether it is looked for elsewhere too."""

    start: int
    end: int
    echoes: bool = True


# With these a name may begin or go on; the others of the list have a space in them or are common.
_FOREIGN = (
    *(word for word in PARTS if not word.isascii()),
    "\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2",
)
_CUES = (
    "pass", "pwd", "pword", "pw", "psw", "secret", "token", "key", "pat=", "auth", "credential",
    "cookie", "salt", "kennwort", "mot de passe", "contrasena", "senha", "wachtwoord", "clave",
    "parola", "haslo", "losenord", "heslo", "adgangskode", "salasana", "jelszo", "sifre", "geslo",
    "lozinka", "kata sandi", "pin=", "pin:", *_FOREIGN,
)  # fmt: skip
_TABLE = CueTable((Cued(None, _CUES),))
_WHOLE_CUES = tuple(sorted((cue for cue in _CUES if " " in cue or cue in _FOREIGN), key=len))[::-1]
_LONGEST_CUE = max(map(len, _WHOLE_CUES))
_BEFORE = re.compile(r"[\w.-]{0,60}\Z")
_REST = re.compile(r"[\w-]{0,40}")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD = re.compile(r"[\W_]+")
# A sign, perhaps with what closes the name before it, and a value in quotes or as one word.
_SIGN = (
    r"(?P<sign>\\{0,3}[\"'`]?[\])]{0,2}(?:\.value)?(?P<gap>\s{0,3})"
    r"(?::=|=>|={1,3}|:|\uff1a)\s{0,4})"
)
_VALUE = (
    r"(?:(?P<quote>\\{0,3}[\"'`])(?P<quoted>[^\"'`\n\\]{1,256})(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;<>&|\\]{1,512}))"
)
_ASSIGNED = re.compile(_SIGN + _VALUE)
_GIVEN = re.compile(rf"(?P<sign>(?P<gap>[ \t]{{1,4}})){_VALUE}")
_SAID = re.compile(
    r"(?i)[\"'`]?(?P<sign>\s{1,4}(?:is|to|was|ist|lautet|est|es|\u00e8|\u00e9):?\s{1,4}"
    rf"|\s?(?:\u662f|\u4e3a|\u70ba|\u306f)\s?)(?P<gap>)(?:{_VALUE})"
)
# What a call puts into a field, or a pair of name and value.
_PAIR = re.compile(rf"(?P<sign>\\{{0,3}}[\"'`](?P<gap>\s{{0,2}}),\s{{0,4}}){_VALUE}")
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
_REFERENCE = re.compile(
    r"(?i)\$[a-z_{(@*#?!0-9].*|\{.*|[<{%\[(*#.].*[>}%\])*#.]|\*+|(?:%[a-z]\W?)+|@.*|-.*|x{3,}|\.{2,}.*|\\.*"
    r"|.*(?:\u2026|your[-_ ]|example|placeholder|redacted|change[-_]?me|replace[-_]?me|environ"
    r"|getenv|process\.env|secrets?\.[a-z]|\$\{|\{\{|[-_]here\b).*"
    r"|(?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"
)
# Part of a program: a call, a field of something, an index.
_CODE = re.compile(
    r".*[(){}\[\]].*|[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+!?|/.*|~.*|\.\.?/.*"
)
_SENTENCE = re.compile(r"(?i).*(?:ed|ing|able|ible|ly)")
_STRONG = (
    "password", "passwort", "passwd", "passphrase", "passcode", "passkey", "kennwort", "pwd",
    "pword", "secret", "token", "apikey", "storepass", "keypass", "authtoken", "senha",
    "wachtwoord", "heslo", "adgangskode", "salasana", "jelszo", "sifre", "lozinka", "passord",
    "contrasena", "haslo", "losenord", "passe", "sandi",
)  # fmt: skip
_MOST_NAMED = 80
_FEWEST, _FEWEST_ODD, _FEWEST_KEY, _FEWEST_DIGITS = 4, 6, 8, 4


def named_values(reading: Reading) -> Iterator[Find]:
    """Yield where a secret stands beside its name."""
    text, last = reading.text, 0
    for at in (place for _, places in _TABLE.found(reading) for place in places):
        if at < last:
            continue
        name, end = _name_at(text, at)
        weight = _weight(name)
        if not weight:
            continue
        if find := _value_of(text, name, end, weight):
            last = find.end
            yield find


def is_odd(value: str) -> bool:
    """Return whether a value is no word of a language: it has letters and digits."""
    return bool(_LETTER.search(value) and _DIGIT.search(value)) and len(value) >= _FEWEST_ODD


def is_reference(value: str) -> bool:
    """Return whether a value only stands for another, or everybody knows it."""
    plain = value.strip().rstrip(".,:;!?")
    return not plain or plain.casefold() in KNOWN_BY_ALL or bool(_REFERENCE.fullmatch(plain))


def _name_at(text: str, at: int) -> tuple[str, int]:
    before = _BEFORE.search(text, max(0, at - 60), at)
    rest = _REST.match(text, at)
    start = before.start() if before else at
    end = rest.end() if rest else at
    # A name of several words, or of letters that join to any others, is known by its cue alone.
    longest = text[at : at + _LONGEST_CUE].lower()
    whole = next((at + len(cue) for cue in _WHOLE_CUES if longest.startswith(cue)), end)
    return text[start:whole], whole


def _weight(name: str) -> int:
    """Return 2 for the name of a secret, 1 for one that may be, 0 for any other."""
    words = _words_of(name)
    while len(words) > 1 and (words[-1] in TRAILING or words[-1].isdigit()):
        words.pop()
    if not words or words[-1] in ABOUT_SECRETS:
        return 0
    last = words[-1].rstrip("0123456789")
    if last.endswith(_STRONG) or last in SHORT or _is_foreign(name):
        return 0 if words[0] in NO_VALUE or name == "1password" else 2
    if last not in WEAK:
        return 0
    qualified = len(words) > 1 and words[-2] not in SAFE_KEYS and last in {"key", "pat"}
    return 2 if qualified and (name.isupper() or words[-2] == "api") else 1


def _is_foreign(name: str) -> bool:
    small = name.lower()
    return not small.isascii() and any(word in small for word in _FOREIGN)


def _words_of(name: str) -> list[str]:
    apart = _NO_WORD.sub(" ", _CAMEL.sub(" ", name))
    letters = unicodedata.normalize("NFD", apart.casefold())
    return "".join(one for one in letters if not "\u0300" <= one <= "\u036f").split()


def _value_of(text: str, name: str, end: int, weight: int) -> Find | None:
    assigned = _ASSIGNED.match(text, end)
    if assigned:
        return _judged(text, name, assigned, weight)
    if name.startswith("-") or _before(text, end - len(name), 5) in {" set ", " put "}:
        given = _GIVEN.match(text, end)
        return _judged(text, name, given, weight) if given else None
    if weight > 1 and (pair := _PAIR.match(text, end)):
        value = pair["quoted"] or ""
        is_one = not is_reference(value) and (is_odd(value) or _is_call(text, end))
        return _find(pair) if is_one and not _CODE.match(value) and "/" not in value else None
    if weight > 1 and (said := _SAID.match(text, end)):
        return _said(text, said)
    return None


def _is_call(text: str, end: int) -> bool:
    return bool(
        re.search(
            r"(?i)\b\w*(?:fill|type|keys|set_?value|set_?text)\s?\([^()\n]{0,60}\Z",
            _before(text, end, 90),
        )
    )


def _judged(text: str, name: str, hit: re.Match[str], weight: int) -> Find | None:
    value = hit["quoted"] or hit["bare"]
    if is_reference(value) or _is_small_number(name, value):
        return None
    if hit["quoted"] and len(value) < _FEWEST - 1:
        return None
    if weight == 1 and not (is_odd(value) and len(value) >= _FEWEST_KEY):
        return None
    if hit["quoted"]:
        is_env = name.isupper() and hit["sign"] == "="
        return _find(hit) if is_env or _is_quoted_secret(value) else None
    return _find(hit) if _is_bare_secret(text, name, hit) else None


def _is_small_number(name: str, value: str) -> bool:
    is_count = value.isdigit() and (len(value) < _FEWEST_DIGITS or name in {"PASS", "pass"})
    return is_count or (name.lower().endswith("pwd") and value[:1] in "/~.\\")


def _is_quoted_secret(value: str) -> bool:
    words = value.split()
    if len(words) == 1:
        return bool(is_odd(value) or not _names_one(value))
    # A sentence about a secret is none.
    return not any(word.casefold().strip(".,:") in KNOWN_BY_ALL for word in words) and not any(
        _names_one(word) for word in words
    )


def _names_one(value: str) -> bool:
    words = (word.rstrip("0123456789") for word in _words_of(value[:_MOST_NAMED]))
    return any(word.endswith(_STRONG) or word in WEAK for word in words)


def _is_bare_secret(text: str, name: str, hit: re.Match[str]) -> bool:
    value, after = hit["bare"], text[hit.end() : hit.end() + 2]
    is_env = name.isupper() or name.startswith("-")
    if is_env and hit["sign"].strip() in {"=", ""} and not hit["sign"].endswith("= "):
        return len(value) >= _FEWEST - 1 or not name.startswith("-")
    if _CODE.fullmatch(value):
        return False
    if is_odd(value):
        is_name = value.isidentifier() and (after[:1] in {",", ";"} or _names_one(value))
        return not is_name
    ends = not after.strip() or after[:1] in "\"'&\n"
    is_ini = _before(text, hit.start() - len(name), 1) in {"", "\n"} or not hit["gap"]
    return (
        len(value) >= _FEWEST
        and ends
        and is_ini
        and not hit["gap"].strip("\t ")
        and not _names_one(value)
        and "_" not in value
    )


def _said(text: str, hit: re.Match[str]) -> Find | None:
    value = (hit["quoted"] or hit["bare"]).rstrip(".,:;!?)")
    if is_reference(value) or len(value) < _FEWEST or _names_one(value):
        return None
    after = text[hit.end() : hit.end() + 1]
    ends = bool(hit["quoted"]) or after in {"", "\n", ",", '"', "'"} or hit["bare"] != value
    is_surely = hit["quoted"] or hit["sign"].split()[:1] not in (["to"], ["was"])
    if not is_odd(value) and (
        not (ends and is_surely) or _SENTENCE.fullmatch(value) or _CODE.fullmatch(value)
    ):
        return None
    group = "quoted" if hit["quoted"] else "bare"
    return Find(hit.start(group), hit.start(group) + len(value), echoes=is_odd(value))


def _find(hit: re.Match[str]) -> Find:
    group = "quoted" if hit["quoted"] else "bare"
    # A plain word behind an option may be the next word of a sentence about it.
    is_sure = group == "quoted" or bool(hit["sign"].strip()) or not hit[group].isalpha()
    return Find(*hit.span(group), echoes=is_sure)


def _before(text: str, end: int, most: int) -> str:
    return text[max(0, end - most) : end]


_SQUEEZED = re.compile(r"[^a-z0-9]")
_STEMS = re.compile(rf"{'|'.join(STEMS)}|(?:{'|'.join(ENDINGS)})\Z")
# `smtppass` and `dbpw`: two words that nothing sets apart.
_JOINED = re.compile(rf"(?:{'|'.join(OWNERS)})(?:{'|'.join(SHORT)})")
_LONGEST = 400


def plain_words(text: str) -> str:
    """Return the words of a name in small letters without accents, a space between each two."""
    apart = _NO_WORD.sub(
        " ", _CAMEL.sub(" ", text if text.isascii() else unicodedata.normalize("NFKC", text))
    )
    if apart.isascii():
        return apart.casefold()
    letters = unicodedata.normalize("NFD", apart.casefold())
    # Only of Latin letters: in other scripts a mark makes another letter.
    plain = "".join(letter for letter in letters if not "\u0300" <= letter <= "\u036f")
    return unicodedata.normalize("NFC", plain)


def names_setting(name: str) -> bool:
    """Return whether people keep a secret behind a setting of that name."""
    if not name or len(name) > _LONGEST:
        return bool(name)
    squeezed = _SQUEEZED.sub("", name.lower())
    if squeezed in SETTINGS or _STEMS.search(squeezed):
        return True
    words = plain_words(name).split()
    while len(words) > 1 and (words[-1] in TRAILING or words[-1].isdigit()):
        words.pop()
    if not words or words[-1] in ABOUT_SECRETS:
        return False
    last = words[-1].rstrip("0123456789")
    return last in _LAST or _JOINED.fullmatch(last) is not None or _has_part(" ".join(words))


def names_secret_text(name: str) -> bool:
    """Return whether a text behind that name is a secret, though a number is none."""
    return plain_words(name[-_LONGEST:]).rpartition(" ")[2] in TEXTS


def _has_part(words: str) -> bool:
    around = f" {words} "
    return any(part in around for part in _PARTS)


# In Latin letters as words of their own; elsewhere nothing sets words apart.
_PARTS = tuple(
    f" {part} " if part.isascii() else part for part in dict.fromkeys(map(plain_words, PARTS))
)
_LAST = frozenset(plain_words(word) for word in WORDS) | WEAK | MATERIAL
