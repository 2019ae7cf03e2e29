"""Facts about data to sightings: what is read, where it goes, and whether that is its own place."""

import re
from collections.abc import Iterator

from prowess.data import read_table
from prowess.safety.facts import Act, Fact, Noted, Scene, find_secrets_in, find_variables_in
from prowess.safety.hosts import find_drop, find_host, find_service, is_local, is_raw_address
from prowess.safety.model import Confidence, Level, Sighting
from prowess.secrets.names import is_secret_name

_FILE = "safety/judging/owners.toml"
# So many keys of one machine are no longer one service's.
_MANY = 3
# So many reads are set beside so many sends; a skill with more has other findings.
_PAIRS = 60
# A word of a variable's name that says whose it is.
_SPEAKING = 4
_PERSONAL = frozenset(("host", "history", "clipboard", "conversation", "memory"))
# Places that a script names only to look into them.
_SECRET_PLACES = re.compile(
    r"\.ssh/id_|\bid_(?:rsa|ed25519)\b(?!\.pub)|\.aws/credentials|\.git-credentials|\.gnupg"
    r"|Login Data|Cookies\b.{0,40}(?:Chrome|Brave|Edge)|(?:Chrome|Brave|Edge)/User Data"
    r"|google-chrome|Local State|cookies\.sqlite|logins\.json|key4\.db|wallet\.dat|\.config/solana"
    r"|\.ethereum|Library/Keychains|/etc/shadow|\.bash_history|\.zsh_history"
)
_DATABASE = re.compile(r"\b(?:pg_dump|pg_dumpall|mysqldump|mongodump|mariadb-dump)\b")
_ASKS_FOR_SEED = re.compile(
    r"(?:seed|recovery|mnemonic|backup)[ _-]?phrase|private key|mnemonic", re.IGNORECASE
)
_EVERYDAY = (
    ".env", ".npmrc", ".pypirc", ".kube", ".docker", "gcloud", ".aws/config", "history", "netrc",
    "pgpass", "/gh/",
)  # fmt: skip
_Judged = Iterator[tuple[Sighting, Noted]]


def judge_data(scene: Scene) -> _Judged:
    """Yield where secrets leave, or are read where nobody would expect it."""
    sends = list(scene.all(Act.SEND))
    told = False
    for noted in sends:
        for seen in _judge_send(noted.fact, scene):
            told = told or seen.level is not Level.INFO
            yield seen, noted
    yield from _judge_paths_beside_sends(sends)
    reads = [noted for noted in scene.all(Act.READ) if _is_secret(noted.fact.subject)]
    if not told:
        yield from _judge_across_files(scene, reads, sends)
    for noted in reads:
        yield _judge_access(noted.fact), noted
    for noted in scene.all(Act.READ):
        if noted.fact.target in {"keyboard", "screen"}:
            message = f"watches the {noted.fact.target}"
            yield Sighting("surveillance", noted.fact.spot, message, Confidence.MEDIUM), noted


def _judge_send(fact: Fact, scene: Scene) -> Iterator[Sighting]:
    host = find_host(fact.subject)
    if host and is_local(host):
        return
    named = find_variables_in(fact.flow)
    if fact.target == "dns" and _tells(fact.flow):
        message = "sends data out in the names that it looks up"
        yield Sighting("dns-exfiltration", fact.spot, message)
    elif strong := find_secrets_in(fact.flow):
        yield from _send_secrets(fact, strong, host)
    elif fact.target == "tcp" and any(is_secret_name(name) for name in named):
        message = f"sends {named[0]} over a bare connection"
        yield Sighting("secret-exfiltration", fact.spot, message)
    elif foreign := _find_foreign(named, host):
        yield _foreign_keys(fact, foreign, host, scene)
    elif "input" in fact.flow and _ASKS_FOR_SEED.search(fact.spot.view.text):
        message = f"asks for the keys of a wallet and sends them to {host or 'the network'}"
        yield Sighting("wallet-secrets", fact.spot, message)
    else:
        yield from _send_rest(fact, host)


def _send_secrets(fact: Fact, strong: tuple[str, ...], host: str) -> Iterator[Sighting]:
    level = Level.INFO if _is_owner(strong, host) else None
    place = host or "the network"
    if "wallet" in strong:
        message = f"sends wallet data to {place}"
        yield Sighting("wallet-secrets", fact.spot, message, level=level)
    message = f"sends {_spoken(strong)} to {place}"
    yield Sighting("secret-exfiltration", fact.spot, message, level=level)


def _send_rest(fact: Fact, host: str) -> Iterator[Sighting]:
    carries = any(not label.startswith(("env:", "input")) for label in fact.flow)
    if carries and (kind := find_drop(fact.subject)):
        # People send files to their own chat; what else goes there is not told apart by the host.
        only_files = all(label.startswith(("file:", "env:", "input")) for label in fact.flow)
        level = Level.WARN if kind == "chat webhook" and only_files else None
        message = f"sends data to {host}: {kind}"
        yield Sighting("secret-exfiltration", fact.spot, message, Confidence.MEDIUM, level)
    elif _DATABASE.search(fact.spot.text) and not find_service(fact.subject):
        message = f"sends a database to {host or 'the network'}"
        yield Sighting("secret-exfiltration", fact.spot, message, Confidence.MEDIUM)
    elif fact.flow & _PERSONAL and not find_service(fact.subject):
        grave = is_raw_address(host) or fact.flow & {"history", "clipboard", "conversation"}
        rule = "secret-exfiltration" if grave else "telemetry"
        message = f"sends facts about the machine or its user to {host or 'the network'}"
        yield Sighting(rule, fact.spot, message, Confidence.MEDIUM)


def _tells(flow: frozenset[str]) -> bool:
    """Whether data of the machine is in it, and not just a name that somebody wants to look up."""
    known = ("env:", "input", "remote", "decoded")
    if any(not label.startswith(known) for label in flow):
        return True
    return any(is_secret_name(name) for name in find_variables_in(flow))


def _foreign_keys(fact: Fact, foreign: tuple[str, ...], host: str, scene: Scene) -> Sighting:
    """Say that keys go to a host that is not theirs."""
    allowed = all(host in scene.egress.get(name, ()) for name in foreign)
    lowered = ("egress allowed by the operator",) if allowed else ()
    message = f"sends {', '.join(foreign[:3])} to {host}, which it does not belong to"
    return Sighting("secret-exfiltration", fact.spot, message, lowered_by=lowered)


def _find_foreign(named: tuple[str, ...], host: str) -> tuple[str, ...]:
    """The secrets among `named` whose owner is somebody else than `host`."""
    if not host or find_service(host):
        return ()
    secrets = tuple(name for name in named if is_secret_name(name) and not _is_own(name, host))
    foreign = tuple(name for name in secrets if _belongs_elsewhere(name, host))
    if foreign:
        return foreign
    suspicious = find_drop(host) or is_raw_address(host) or len(secrets) >= _MANY
    return secrets if suspicious else ()


def _is_own(name: str, host: str) -> bool:
    """Whether a word of the name is in the host's: TELEGRAM_BOT_TOKEN and api.telegram.org."""
    return any(len(word) >= _SPEAKING and word.lower() in host for word in name.split("_"))


def _belongs_elsewhere(name: str, host: str) -> bool:
    owners = read_table(_FILE)["variables"]
    word = next((word for word in name.upper().split("_") if word in owners), None)
    return word is not None and not any(owner in host for owner in owners[word].split())


def _is_owner(labels: tuple[str, ...], host: str) -> bool:
    """Whether a credential file goes to the service that it is for."""
    text = " ".join(labels)
    owned = ((path, to) for path, to in read_table(_FILE)["files"].items() if path != "reason")
    return bool(host) and any(path in text and to in host for path, to in owned)


def _judge_paths_beside_sends(sends: list[Noted]) -> _Judged:
    """A script that names places of secrets and posts a body that could not be followed."""
    done: set[str] = set()
    for noted in sends:
        path, fact = noted.fact.spot.path, noted.fact
        is_script = noted.setting.place == "file" and not path.endswith((".md", ".json", ".yaml"))
        host = find_host(fact.subject)
        if not is_script or path in done or is_local(host) or find_service(fact.subject):
            continue
        done.add(path)
        found = _SECRET_PLACES.search(fact.spot.view.text)
        if found and not find_secrets_in(fact.flow):
            place = found.group().strip()[:60]
            message = f"names {place} and sends data to {host or 'the network'}"
            yield Sighting("secret-exfiltration", fact.spot, message, Confidence.MEDIUM), noted


def _is_secret(label: str) -> bool:
    return label.partition(":")[0] in {"credential", "keychain", "browser", "wallet", "history"}


def _judge_access(fact: Fact) -> Sighting:
    level = Level.INFO if any(word in fact.subject for word in _EVERYDAY) else None
    message = f"reads {_spoken((fact.subject,))}"
    return Sighting("secret-access", fact.spot, message, Confidence.MEDIUM, level)


def _judge_across_files(scene: Scene, reads: list[Noted], sends: list[Noted]) -> _Judged:
    """A secret read in one script and a send in another of the same skill."""
    whole = [noted for noted in scene.all(Act.READ) if noted.fact.subject == "env"]
    for read in [*reads, *whole][:_PAIRS]:
        for send in sends[:_PAIRS]:
            if _may_meet(scene, read, send):
                what = _spoken((read.fact.subject,))
                message = f"reads {what}, which {send.fact.spot.path} can send away"
                spot = read.fact.spot
                yield Sighting("secret-exfiltration", spot, message, Confidence.MEDIUM), read
                return


def _may_meet(scene: Scene, read: Noted, send: Noted) -> bool:
    if "file" not in {read.setting.place, send.setting.place}:
        return False
    if find_service(send.fact.subject) or is_local(find_host(send.fact.subject)):
        return False
    return _linked(scene, read.fact.spot.path, send.fact.spot.path)


def _linked(scene: Scene, one: str, other: str) -> bool:
    """Whether some script of the skill uses both, or one uses the other."""
    if one == other:
        return not one.endswith(".md")
    stems = [path.rpartition("/")[2].rpartition(".")[0] for path in (one, other)]
    if stems[1] in _uses(scene, one) or stems[0] in _uses(scene, other):
        return True
    return any(set(stems) <= _uses(scene, path) for path in scene.imports)


def _uses(scene: Scene, path: str) -> set[str]:
    """The names of the modules that a script imports, without folders and endings."""
    names = (name.rpartition("/")[2] for name in scene.imports.get(path, ()))
    return {name.rpartition(".")[2] or name for name in names}


_WORDS = {
    "env": "the whole environment",
    "keychain": "the system's key store",
    "browser": "browser data",
    "wallet": "wallet data",
    "history": "the shell's history",
}


def _spoken(labels: tuple[str, ...]) -> str:
    return ", ".join(_WORDS.get(label, label.partition(":")[2] or label) for label in labels[:3])
