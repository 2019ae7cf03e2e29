"""The words by which people and programs name a secret, in many languages.

A word stands here as it is written, in small letters with its accents; who compares without accents
takes them off. Some are only meant where they stand alone: `pin` is a part of `shopping`, and what
is a password in one language is any word in another.
"""

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
