"""Which steps show a secret because that is what they are for: a password manager, a vault, a file.

Of their results nothing is kept. What stands in them is taken word by word, so that it is found
again where the trace uses it.
"""

import re
from collections.abc import Iterator

from prowess.transcripts.deeds import command_of, path_of
from prowess.transcripts.traces_part import Action

_COMMANDS = re.compile(
    r"(?:\A|[\s;&|($`/])(?:(?:pass|gopass)\s+(?:show|otp|-c|[\w.-]+/[\w./-]+)|op\s+(?:read|item\s+get)"
    r"|bw\s+get|lpass\s+show|keyring\s+get|secret-tool\s+lookup|oathtool|rbw\s+get"
    r"|security\s+find-\w+-password|vault\s+(?:kv\s+get|read|token\s+create)"
    r"|aws\s+secretsmanager\s+get-secret-value|aws\s+ssm\s+get-parameter|chamber\s+read"
    r"|aws\s+ecr\s+get-login-password|aws\s+configure\s+get\s+\w*secret"
    r"|gcloud\s+(?:secrets\s+versions\s+access|auth\s+print-\w*token)|gh\s+auth\s+token"
    r"|az\s+(?:keyvault\s+secret\s+show|account\s+get-access-token)|doppler\s+secrets"
    r"|kubectl\s+get\s+secrets?\b.*-o|sops\s+(?:-d|--decrypt|decrypt)|ansible-vault\s+(?:view|decrypt)"
    r"|heroku\s+config|git\s+credential\s+fill|pwgen|apg\b|openssl\s+rand|uuidgen\s+--secret"
    r"|printenv\s+\w*(?:PASS|SECRET|TOKEN|KEY)\w*|echo\s+[\"']?\$\{?\w*(?:PASS|SECRET|TOKEN|_KEY)\w*\}?)"
)
_FILES = re.compile(
    r"(?:\A|[\s/\"'])(?:\.pgpass|\.netrc|_netrc|\.git-credentials|\.aws/credentials|\.my\.cnf"
    r"|shadow|\.htpasswd|\.vault-token|\.docker/config\.json|id_(?:rsa|ed25519|ecdsa|dsa))(?![\w.-])"
)
_READS = re.compile(r"\b(?:cat|less|more|head|tail|bat|type|grep|awk|sed|xxd|base64)\b")
_SHORTEST, _SHORTEST_PIECE, _MOST_LINES, _MOST_COMMAND = 4, 6, 20, 1_000
_PIECE = re.compile(r"[:=\s\"',]+")


def shows_secret(action: Action) -> bool:
    """Return whether what a step shows is a secret, by the command or the file."""
    command = command_of(action)[:_MOST_COMMAND]
    if command:
        reads_file = _READS.search(command) and _FILES.search(command)
        return bool(_COMMANDS.search(command) or reads_file)
    return bool(_FILES.search(path_of(action)))


def secrets_shown(result: str) -> Iterator[str]:
    """Yield what may be a secret in such a result, to be looked for elsewhere."""
    for line in result.splitlines()[:_MOST_LINES]:
        pieces = [piece for piece in _PIECE.split(line.strip()) if piece]
        if len(pieces) == 1 and len(pieces[0]) >= _SHORTEST:
            yield pieces[0]
        elif pieces and len(pieces[-1]) >= _SHORTEST_PIECE and not pieces[-1].isalpha():
            yield pieces[-1]
