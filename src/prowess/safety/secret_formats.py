"""The table of secrets that show by their form: who issues them and what they open.

A row matches the value in group `value` (the whole match where there is none). `marks` are literal
texts of which one must be there, so that a text without them costs nothing.
"""

import re
from dataclasses import dataclass

from prowess.safety.model import Confidence, Level


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
