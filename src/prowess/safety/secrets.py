"""Secrets that stand in a text in the clear, and how to keep them out of what is shown.

Examples and placeholders are no secrets: nobody is helped by a finding on `your-token-here`.

Addresses that are a secret by themselves: whoever has one posts, starts or reports with it.

No password stands in them, and no name beside them says what they are. A row begins with its mark,
goes on with what leads to the secret part, and ends with that part; letter case does not count.

The table of secrets that show by their form: who issues them and what they open.

A row matches the value in group `value` (the whole match where there is none). `marks` are literal
texts of which one must be there, so that a text without them costs nothing.

What a finding shows of the text: at most a line, visible, with secrets masked.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from prowess.safety.model import Confidence, Level, Sighting
from prowess.safety.views import Spot, View


@dataclass(frozen=True, slots=True)
class SecretAddress:
    """How the secret addresses of one service look, as parts of patterns."""

    # Plain small letters with which each of them begins.
    mark: str
    # From the mark up to the secret part.
    lead: str
    value: str
    # Whether the mark is so much the service's own that whatever follows is the secret.
    sure: bool = True

    @property
    def pattern(self) -> re.Pattern[str]:
        """What matches one of them, from its mark on; its secret is the group `value`."""
        return re.compile(f"{self.lead}(?P<value>{self.value})", re.IGNORECASE)


_REST = r"[\w/@.-]{8,300}"
_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"

ADDRESSES = (
    SecretAddress("hooks.slack.com/", r"hooks\.slack\.com/\w{1,20}/", r"[\w/-]{4,200}"),
    # Discord, and programs that speak like it; a version may stand before the word.
    SecretAddress("/webhooks/", r"/webhooks/[0-9]{4,20}/", r"[\w-]{4,100}"),
    SecretAddress("webhook.office.com/", r"webhook\.office\.com/", _REST),
    SecretAddress("outlook.office", r"outlook\.office(?:365)?\.com/webhook\w{0,4}/", _REST),
    SecretAddress("hooks.zapier.com/", r"hooks\.zapier\.com/hooks/\w{1,20}/", r"[\w/-]{4,200}"),
    SecretAddress("make.com/", r"make\.com/(?<=\bhook\...[0-9]\.make\.com/)", r"[\w-]{8,80}"),
    SecretAddress("hook.integromat.com/", r"hook\.integromat\.com/", r"[\w-]{8,80}"),
    SecretAddress("maker.ifttt.com/", r"maker\.ifttt\.com/(?:[\w-]{1,80}/){1,6}key/",
                  r"[\w-]{8,80}"),
    SecretAddress("/bot/v2/hook/", r"/bot/v2/hook/", r"[\w-]{8,80}"),
    SecretAddress("hc-ping.com/", r"hc-ping\.com/", r"[\w/-]{8,120}"),
    SecretAddress("/integration/", r"/integration/(?<=pagerduty\.com/integration/)", r"\w{8,64}"),
    # Of servers that people run themselves, under any name: known by the shape of what follows.
    SecretAddress("/hooks/", r"/hooks/", r"(?=[a-z]{0,79}[0-9])[a-z0-9]{17,40}(?:/[a-z0-9]{8,80})?"
                  r"(?![\w-])", sure=False),
    SecretAddress("/webhook/", r"/webhook/", rf"{_UUID}|(?=[\w-]{{0,79}}[0-9])[\w-]{{20,80}}",
                  sure=False),
    SecretAddress("/webhook-test/", r"/webhook-test/", _UUID, sure=False),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SecretFormat:
    """How the secrets of one issuer look."""

    issuer: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    reason: str
    # Whether a secret begins with its mark, so that only those places need a look.
    begins: bool = False
    confidence: Confidence = Confidence.HIGH
    level: Level | None = None


def _token(issuer: str, marks: str, rest: str, reason: str) -> SecretFormat:
    starts = marks.split()
    beginning = "|".join(re.escape(start) for start in starts)
    pattern = re.compile(
        rf"(?<![A-Za-z0-9_/+-])(?:{beginning})(?:{rest})(?![A-Za-z0-9_/+-])".replace(
            "~", "[A-Za-z0-9_-]"
        )
    )
    return SecretFormat(issuer, tuple(starts), pattern, reason, begins=True)


def _row(issuer: str, marks: str, pattern: str, reason: str) -> SecretFormat:
    return SecretFormat(issuer, tuple(marks.split()), re.compile(pattern), reason)


def _faint(row: SecretFormat) -> SecretFormat:
    return SecretFormat(
        row.issuer, row.marks, row.pattern, row.reason, row.begins, Confidence.LOW, Level.INFO
    )


_BILLED = "a key is billed to its owner"
_REPOSITORY = "a token reads and writes repositories"
_WORKSPACE = "a token opens the workspace"
_CHANNEL = "whoever has the address posts to the channel"
_MAIL = "a key sends mail"
_PUBLISHES = "a token publishes packages"

# In a token `~` stands for a letter, digit, underscore or hyphen.
FORMATS = (
    _token("AWS", "AKIA ASIA ABIA ACCA", "[A-Z2-7]{16}", "an access key id names an open account"),
    _row("AWS", "aws_secret AWS_SECRET SecretAccessKey secret_access_key",
         r"(?i:secret_?access_?key)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?P<value>[A-Za-z0-9/+]{40})"
         r"(?![A-Za-z0-9/+=])", "the secret half of an access key opens the account"),
    _token("GitHub", "ghp_ gho_ ghu_ ghs_ ghr_", "[A-Za-z0-9]{36,251}", _REPOSITORY),
    _token("GitHub", "github_pat_", "[A-Za-z0-9]{22}_[A-Za-z0-9]{59}", _REPOSITORY),
    _token("GitLab", "glpat- gldt- glrt- glcbt- glptt-", "~{20,64}", _REPOSITORY),
    _token("Slack", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs-", "[A-Za-z0-9-]{20,200}",
           _WORKSPACE),
    _token("Slack", "xapp-", "[0-9]-[A-Z0-9]{8,16}-[0-9]{8,16}-[a-f0-9]{32,80}", _WORKSPACE),
    _row("Slack", "hooks.slack.com",
         r"hooks\.slack\.com/(?:services|workflows|triggers)/"
         r"(?P<value>T[A-Z0-9]{7,12}/[AB]?[A-Z0-9]{7,14}/[A-Za-z0-9]{18,40})", _CHANNEL),
    _token("Stripe", "sk_live_ rk_live_ whsec_", "[A-Za-z0-9]{24,128}", "a live key moves money"),
    _token("Google", "AIza", "~{35}", "a key is billed to its project"),
    _token("Google", "GOCSPX-", "~{28}", "a client secret acts for its owner"),
    _token("Google", "ya29.", "~{40,300}", "a token acts for its owner"),
    _token("Anthropic", "sk-ant-", "(?:api|admin|sid|oat)[0-9]{2}-~{60,140}", _BILLED),
    _row("OpenAI", "T3BlbkFJ", r"sk-[A-Za-z0-9_-]{16,130}T3BlbkFJ[A-Za-z0-9_-]{16,130}", _BILLED),
    _token("OpenAI", "sk-proj- sk-svcacct- sk-admin-", "~{40,200}", _BILLED),
    _token("OpenAI", "sk-", "[A-Za-z0-9]{48}", _BILLED),
    _token("OpenRouter", "sk-or-v1-", "[a-f0-9]{64}", _BILLED),
    _token("Groq", "gsk_", "[A-Za-z0-9]{52}", _BILLED),
    _token("xAI", "xai-", "[A-Za-z0-9]{80}", _BILLED),
    _token("Replicate", "r8_", "[A-Za-z0-9]{37}", _BILLED),
    _token("Hugging Face", "hf_", "[A-Za-z]{34}", "a token reads and writes models"),
    _token("npm", "npm_", "[A-Za-z0-9]{36}", _PUBLISHES),
    _token("PyPI", "pypi-AgE", "~{50,250}", _PUBLISHES),
    _token("SendGrid", "SG.", r"~{22}\.~{43}", _MAIL),
    _token("Mailgun", "key-", "[0-9a-f]{32}", _MAIL),
    _token("Brevo", "xkeysib-", "[0-9a-f]{64}-[A-Za-z0-9]{16}", _MAIL),
    _token("Twilio", "SK", "[0-9a-f]{32}", "a key sends messages"),
    _row("Telegram", ":AA", r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])",
         "a token speaks for the bot"),
    # It begins with the dot, for which the search is quick; the user's number stands before it.
    _row("Discord", ".", r"\.(?<=[MNO][A-Za-z0-9_-]{23}\.)[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"
         r"(?![A-Za-z0-9_.-])", "a token speaks for the bot"),
    _row("Discord", "/api/webhooks/",
         r"discord(?:app)?\.com/api/webhooks/(?P<value>[0-9]{17,20}/[A-Za-z0-9_-]{60,72})",
         _CHANNEL),
    _row("Azure", "Key=", r"(?:Account|SharedAccess)Key=(?P<value>[A-Za-z0-9+/]{43,86}={1,2})",
         "the key opens the storage account"),
    _token("DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", "[a-f0-9]{64}", "a token rules the account"),
    _token("Databricks", "dapi", r"[a-f0-9]{32}(?:-\d)?", _WORKSPACE),
    _token("Linear", "lin_api_", "[A-Za-z0-9]{40}", _WORKSPACE),
    _token("Notion", "ntn_", "[0-9]{10,12}[A-Za-z0-9]{34,40}", _WORKSPACE),
    _token("Notion", "secret_", "[A-Za-z0-9]{43}", _WORKSPACE),
    _token("Shopify", "shpat_ shpss_ shpca_", "[a-fA-F0-9]{32}", "a token rules the shop"),
    _token("HashiCorp Vault", "hvs. hvb.", "~{24,200}", "a token opens the vault"),
    _token("age", "AGE-SECRET-KEY-1", "[0-9A-Z]{58}", "the key opens what is encrypted to it"),
    _row("private key", "PRIVATE KEY-----",
         r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\\nr\"',+]{1,40}"
         r"(?:[A-Z][A-Za-z-]{2,20}: [^\n]{1,80}\s{1,4}){0,4}(?P<value>[A-Za-z0-9+/=\\]{20,})",
         "the key proves who its owner is"),
    _row("address with password", "://",
         r"://[^\s/:@\"'<>`]{1,64}:(?P<value>[^\s/@\"'<>`]{6,128})@(?P<host>[\w.-]{3,253})",
         "the address carries name and password"),
    _faint(_token("signed token", "eyJ", r"~{16,4000}\.eyJ~{16,8000}\.~{20,1000}",
                  "the token may still be valid")),
)  # fmt: skip

# A value that is written down beside a name that says what it is; the name is looked for to the
# left of it, because the signs between are rarer than letters.
ASSIGNED = re.compile(r"[:=]>?\s{0,4}[\"'](?P<value>[^\s\"']{12,128})[\"']")
SECRET_NAME = re.compile(
    r"(?i)(?:passw(?:or)?d|passwd|secret|api_?key|auth_?token|access_?token|private_?key"
    r"|client_?secret|secret_?key)[\"']?\s{0,4}\Z"
)
NAME_REACH = 40


_RULE = "literal-secret"
_PLACEHOLDER = re.compile(
    r"(?i)example|sample|dummy|fake|placeholder|redacted|changeme|change[-_]me|replace|insert|todo"
    r"|your[-_]?|[-_]here|x{4,}|\*{3,}|\.{3}|<|>|\$\{|\{\{|%\(|(.)\1{5,}|0123456789|1234567890"
    r"|abcdefgh|12345678|a1b2c3|1a2b3c|qwerty|deadbeef|test[-_]"
    r"|notreal|not[-_]a[-_]real|secret[-_]?value|localhost"
)
_PLAIN_PASSWORD = re.compile(
    r"(?i)\$?\{?(?:pass(?:word|wd)?|pwd|secret|token|key|user(?:name)?|postgres|admin|root|mysql"
    r"|mongo|redis|guest|rabbitmq|api[-_]?key|credentials?)\}?[0-9!]{0,4}|[$%{(\[].*|.*[})\]]"
    r"|(?-i:[A-Z_]+)|.*passw(?:or)?d.*"
)
_DISTINCT = 8
_ENTROPY = 3.0
_URL_ENTROPY = 2.5
_GENERIC_ENTROPY = 3.6


def literal_secrets(view: View) -> tuple[Sighting, ...]:
    """Return where the text holds a secret that its issuer's form gives away."""
    found: list[Sighting] = []
    ends: set[int] = set()
    for row in FORMATS:
        if any(mark in view.text for mark in row.marks):
            for start, end in _values(row, view.text):
                if end not in ends:
                    ends.add(end)
                    found.append(_sighting(row, Spot(view, start, end)))
    found.extend(
        Sighting(_RULE, Spot(view, start, end), message, Confidence.LOW, Level.INFO)
        for start, end in _assigned(view.text)
        if end not in ends
        for message in ("A value that looks random is assigned to the name of a secret.",)
    )
    return tuple(sorted(found, key=lambda sighting: sighting.spot.start))


def _sighting(row: SecretFormat, spot: Spot) -> Sighting:
    message = f"{row.issuer}: {row.reason}."
    return Sighting(_RULE, spot, message, row.confidence, row.level)


def _values(row: SecretFormat, text: str) -> Iterator[tuple[int, int]]:
    group = "value" if "value" in row.pattern.groupindex else 0
    for hit in _matches(row, text):
        value = hit[group]
        if not _PLACEHOLDER.search(value) and (
            _is_password(value, hit["host"])
            if "host" in row.pattern.groupindex
            else len(set(value)) >= _DISTINCT and _entropy(value) >= _ENTROPY
        ):
            yield hit.span(group)


def _matches(row: SecretFormat, text: str) -> Iterator[re.Match[str]]:
    if not row.begins:
        yield from row.pattern.finditer(text)
        return
    for mark in row.marks:
        at = text.find(mark)
        while at >= 0:
            if hit := row.pattern.match(text, at):
                yield hit
            at = text.find(mark, at + len(mark))


def _is_password(value: str, host: str) -> bool:
    return (
        not _PLACEHOLDER.search(host)
        and not _PLAIN_PASSWORD.fullmatch(value)
        and _entropy(value) >= _URL_ENTROPY
    )


def _assigned(text: str) -> Iterator[tuple[int, int]]:
    for hit in ASSIGNED.finditer(text):
        if not SECRET_NAME.search(text[max(0, hit.start() - NAME_REACH) : hit.start()]):
            continue
        value = hit["value"]
        if _PLACEHOLDER.search(value) or _PLAIN_PASSWORD.fullmatch(value):
            continue
        has_digit = any(letter.isdigit() for letter in value)
        has_letter = any(letter.isalpha() for letter in value)
        if has_digit and has_letter and _entropy(value) >= _GENERIC_ENTROPY:
            yield hit.span("value")


def _entropy(value: str) -> float:
    """Return how many bits each character of `value` holds on average."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())


_STARS = "****"
_KEPT = 4
# Looser than the table: a cut line shows the beginning of a secret, and that is masked too.
_MASKED = re.compile(
    r"(?<![A-Za-z0-9])(?:A(?:KIA|SIA|BIA|CCA)(?=[A-Z0-9]{6})[A-Z0-9]{6,}"
    r"|(?:gh[pousr]_|github_pat_|gl(?:pat|dt|rt|cbt|ptt)-|xox[abeoprs]-|xapp-|[sr]k_(?:live|test)_"
    r"|whsec_|xkeysib-|AIza|GOCSPX-|sk-|gsk_|xai-|r8_|hf_|npm_|pypi-|key-|dop_v1_"
    r"|doo_v1_|dapi|lin_api_|ntn_|secret_"
    r"|shp(?:at|ss|ca)_)[A-Za-z0-9_-]{12,}"
    r"|(?:ya29\.|SG\.|hv[sb]\.)[A-Za-z0-9_.-]{12,}"
    r"|eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]{4,}){0,2}"
    r"|SK[0-9a-f]{12,}|[0-9]{8,10}:AA[A-Za-z0-9_-]{12,}|AGE-SECRET-KEY-1[0-9A-Z]{6,}"
    r"|[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{10,})"
    r"|(?P<lead>(?i:-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\\nr]{0,8}"
    rf"|{'|'.join(row.lead for row in ADDRESSES if row.sure)}"
    r"|Key=(?=[A-Za-z0-9+/]{20})"
    r"|://[^\s/:@\"'<>`*]{1,64}:(?=[^\s/@\"'<>`]{1,128}@)"
    r"|secret_?access_?key[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?=[^\s\"']{8})"
    r"|(?:passw(?:or)?d|passwd|secret|api_?key|(?:auth|access)_?token|private_?key|secret_?key)"
    r"[\"']?\s{0,4}(?::|=>?)\s{0,4}[\"'](?!-----)(?=[^\s\"']{8})))(?P<value>[^\s@\"'<>`]+)"
)


def mask(text: str) -> str:
    """Return `text` with every secret cut to its first four characters."""
    for _ in range(_KEPT):
        masked = _MASKED.sub(_cut, text)
        if masked == text:
            break
        text = masked
    return text


def _cut(hit: re.Match[str]) -> str:
    lead, value = hit["lead"] or "", hit["value"] or hit.group()
    if _STARS in value:
        return hit.group()
    # Of a short password four characters would be too much.
    kept = value[:_KEPT] if len(value) >= _KEPT * 3 else ""
    return f"{lead}{kept}{_STARS}"


_WIDTH = 160
_BEFORE = 40


def evidence_of(spot: Spot, line: str, column: int) -> str:
    """Return the raw line around `column`; for a decoded text, what it decodes to."""
    if spot.view.chain and spot.view.chain[-1] not in {"folded", "joined"}:
        return _shown(mask(spot.text[:_WIDTH]))
    start = max(0, column - 1 - _BEFORE)
    # A secret that begins before the cut must still be seen as one, so a little more is masked.
    early = max(0, start - _BEFORE)
    window = mask(line[early : start + _WIDTH])
    return _shown(window[start - early :].strip())


def _shown(text: str) -> str:
    """Control, invisible and direction characters are written out: a report must not be a stage."""
    return "".join(
        character if character.isprintable() else f"\\u{{{ord(character):x}}}" for character in text
    )
