"""Facts about data to sightings: what is read, where it goes, and whether that is its own place."""

import re
from collections.abc import Iterator

from prowess.data import read_table
from prowess.safety.facts import Act, Fact, Noted, Scene, find_secrets_in, find_variables_in
from prowess.safety.hosts import (
    find_borrowed_name,
    find_drop,
    find_host,
    find_owner_label,
    find_paste_site,
    find_service,
    has_settled_name,
    is_cheap_host,
    is_free_host,
    is_local,
    is_raw_address,
)
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
_KEY = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD|PAT)$", re.IGNORECASE)
# Keys that are meant for everybody, or that open nothing.
_OPEN_KEY = re.compile(
    r"(?:PUBLIC|PUBLISHABLE|ANON|SITE|PRIMARY|FOREIGN|SORT|CACHE|PARTITION|IDEMPOTENCY)_KEY$",
    re.IGNORECASE,
)
# With these a program talks to a database; no web service is handed one.
_CONNECTION = re.compile(
    r"(?:DATABASE|DB|POSTGRES\w*|PG|MYSQL|MARIADB|MONGO\w*|REDIS)_?(?:URL|URI|DSN|CONNECTION\w*)$",
    re.IGNORECASE,
)
_DATABASE = re.compile(r"\b(?:pg_dump|pg_dumpall|mysqldump|mongodump|mariadb-dump)\b")
_ASKS_FOR_SEED = re.compile(
    r"(?:seed|recovery|mnemonic|backup)[ _-]?phrase|private key|mnemonic", re.IGNORECASE
)
_EVERYDAY = (
    ".env", ".npmrc", ".pypirc", ".kube", ".docker", "gcloud", ".aws/config", "history", "netrc",
    "pgpass", "/gh/", ".clawdbot/", ".openclaw/", ".moltbot/",
)  # fmt: skip
# Where a skill's user puts the key of that skill.
_OWN_KEYS = (".env", ".clawdbot/", ".openclaw/", ".moltbot/")
_Judged = Iterator[tuple[Sighting, Noted]]


def judge_data(scene: Scene) -> _Judged:
    """Yield where secrets leave, or are read where nobody would expect it."""
    sends = list(scene.all(Act.SEND))
    told = False
    for noted in sends:
        for seen in _judge_send(noted.fact, scene):
            told = told or seen.level is not Level.INFO
            yield seen, noted
    yield from _judge_what_was_said(sends, scene)
    yield from _judge_paths_beside_sends(sends)
    reads = [noted for noted in scene.all(Act.READ) if _is_secret(noted.fact.subject)]
    if not told:
        yield from _judge_across_files(scene, reads, sends)
    for noted in reads:
        yield _judge_access(noted.fact), noted
    for noted in scene.all(Act.READ):
        if noted.fact.target in {"keyboard", "screen"}:
            message = f"watches the {noted.fact.target}"
            # Pictures of the screen are sent to be described; keys that somebody types are not.
            spot, senders = noted.fact.spot, {each.fact.spot.path for each in sends}
            leaves = noted.fact.target == "keyboard" and spot.path in senders
            level = Level.CRITICAL if leaves else None
            yield Sighting("surveillance", spot, message, Confidence.MEDIUM, level), noted
    for noted in scene.all(Act.SERVE):
        yield from ((seen, noted) for seen in _judge_served(noted.fact))


# Where people keep what is theirs alone, and what lies above it.
_PRIVATE = re.compile(
    r"/|~|\$HOME|\.\.(?:/\.\.)*|/(?:etc|var|root|home|Users|mnt|Volumes)(?:/[^/]+)?|/root/.*"
    r"|~/\.[^/]*(?:/.*)?|~/[^/]+"
)


def _judge_served(fact: Fact) -> Iterator[Sighting]:
    folder = fact.subject
    if fact.target == "tunnel":
        yield Sighting("open-server", fact.spot, "opens a port of this machine to the internet")
    elif _PRIVATE.fullmatch(folder):
        message = f"offers {folder} with all it holds to the network"
        yield Sighting("open-server", fact.spot, message, level=Level.WARN)
    elif folder in ("", "."):
        yield Sighting("open-server", fact.spot, "offers the folder it runs in to the network")


def _judge_send(fact: Fact, scene: Scene) -> Iterator[Sighting]:
    host = find_host(fact.subject)
    # A path alone is the server that the page came from.
    if (host and is_local(host)) or re.match(r"/(?!/)", fact.subject):
        return
    named = find_variables_in(fact.flow)
    if fact.target == "dns" and _tells(fact):
        message = "sends data out in the names that it looks up"
        yield Sighting("dns-exfiltration", fact.spot, message)
    elif strong := find_secrets_in(fact.flow):
        yield from _send_secrets(fact, strong, host)
    elif fact.target == "tcp" and any(_is_key(name) for name in named):
        message = f"sends {named[0]} over a bare connection"
        yield Sighting("secret-exfiltration", fact.spot, message)
    elif foreign := _find_foreign(named, host, scene):
        yield _judge_foreign_keys(fact, foreign, host, scene)
    elif "input" in fact.flow and _ASKS_FOR_SEED.search(fact.spot.view.text):
        message = f"asks for the keys of a wallet and sends them to {host or 'the network'}"
        yield Sighting("wallet-secrets", fact.spot, message)
    else:
        yield from _send_rest(fact, host, scene)


def _send_secrets(fact: Fact, strong: tuple[str, ...], host: str) -> Iterator[Sighting]:
    level = Level.INFO if _is_owner(strong, host) else None
    # Where the address is put together from parts, its service is not known either way.
    # A token for services that run at Google is made to be sent to them, and anybody has one there.
    at_google = not host or host.endswith(".run.app")
    level = Level.WARN if at_google and all("gcloud" in label for label in strong) else level
    # A file in a folder that bears the name of the service is for the service.
    owner = find_owner_label(host)
    if level is None and all(map(_is_everyday, strong)) and has_settled_name(host):
        level = Level.WARN if all(f"/{owner}/" in label for label in strong) else None
    place = host or "the network"
    if "wallet" in strong:
        message = f"sends wallet data to {place}"
        yield Sighting("wallet-secrets", fact.spot, message, level=level)
    message = f"sends {_find_spoken(strong)} to {place}"
    yield Sighting("secret-exfiltration", fact.spot, message, level=level)


def _send_rest(fact: Fact, host: str, scene: Scene) -> Iterator[Sighting]:
    carries = any(not label.startswith(("env:", "input")) for label in fact.flow)
    if carries and (kind := find_drop(fact.subject) or find_paste_site(fact.subject)):
        # People send files to their own chat; what else goes there is not told apart by the host.
        told = fact.flow & {"history", "clipboard", "conversation", "memory"}
        meant = kind == "file drop" and scene.declares(find_owner_label(host))
        level = Level.WARN if meant or (kind == "chat webhook" and not told) else None
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


# What code calls that which a person said or has at hand; an API of a model takes roles with it.
_SAID = re.compile(
    r"(?i)\b(?:conversation(?:_?history)?|chat_?(?:history|log)|user_?(?:prompt|message|input|context)"
    r"|original_?(?:prompt|request)|full_?(?:prompt|context)|clipboard|system_?prompt)\b"
)
_ROLES = re.compile(r"\brole\b|\bmessages\b")


def _judge_what_was_said(sends: list[Noted], scene: Scene) -> _Judged:
    """What the user said or has at hand goes to a host that nobody knows."""
    for noted in sends:
        fact, host = noted.fact, find_host(noted.fact.subject)
        known = is_local(host) or find_service(fact.subject) or find_drop(fact.subject)
        if not host or known or _is_declared(host, scene):
            continue
        said = _SAID.search(fact.spot.text)
        passing = is_cheap_host(host) or is_raw_address(host) or find_borrowed_name(host)
        carried = any(label.startswith(("file:", "remote", "host")) for label in fact.flow)
        if (said and not _ROLES.search(fact.spot.text)) or (passing and carried):
            what = f"what the user said ({said.group()})" if said else "data of the machine"
            message = f"sends {what} to {host}, which has no part in the job"
            yield Sighting("secret-exfiltration", fact.spot, message, Confidence.MEDIUM), noted


def _tells(fact: Fact) -> bool:
    """Whether data of the machine is in it, and not just a name that somebody wants to look up."""
    known = ("env:", "input", "remote", "decoded")
    # Where no zone stands behind it, no stranger's server is asked.
    listed = known if "." in fact.subject else (*known, "file", "host")
    if any(not label.startswith(listed) for label in fact.flow):
        return True
    return any(_is_key(name) for name in find_variables_in(fact.flow))


def _judge_foreign_keys(fact: Fact, foreign: tuple[str, ...], host: str, scene: Scene) -> Sighting:
    """Say that keys go to a host that is not theirs."""
    allowed = all(host in scene.egress.get(name, ()) for name in foreign)
    lowered = ("egress allowed by the operator",) if allowed else ()
    message = f"sends {', '.join(foreign[:3])} to {host}, which it does not belong to"
    return Sighting("secret-exfiltration", fact.spot, message, lowered_by=lowered)


def _find_foreign(named: tuple[str, ...], host: str, scene: Scene) -> tuple[str, ...]:
    """The secrets among `named` whose owner is somebody else than `host`."""
    if not host or find_service(host) or _is_declared(host, scene):
        return ()
    secrets = tuple(name for name in named if _is_key(name) and not _is_own(name, host))
    foreign = tuple(name for name in secrets if _belongs_elsewhere(name, host))
    if foreign:
        return foreign
    strings = tuple(name for name in named if _CONNECTION.search(name) and not _is_own(name, host))
    kind = find_drop(host)
    # A bot's own token goes to the chat that the bot is in.
    if kind == "chat webhook":
        secrets = tuple(name for name in secrets if not _OF_A_BOT.search(name))
    suspicious = kind or is_raw_address(host) or is_cheap_host(host)
    return (*secrets, *strings) if suspicious or len(secrets) >= _MANY else strings


def _is_key(name: str) -> bool:
    """Whether a variable of the environment is a key, whoever it belongs to."""
    named = _KEY.search(name) and not _OPEN_KEY.search(name)
    return is_secret_name(name) or bool(named)


_OF_A_BOT = re.compile(r"BOT|HOOK|CHAT", re.IGNORECASE)


def _is_own(name: str, host: str) -> bool:
    """Whether a word of the name is in the host's: TELEGRAM_BOT_TOKEN and api.telegram.org."""
    where = _find_speaking_part(host)
    return any(len(word) >= _SPEAKING and word.lower() in where for word in name.split("_"))


def _find_speaking_part(host: str) -> str:
    """Return what of a host's name says whose it is.

    Teams run servers of their own (`gitlab.team.com`), so all of a name that costs something; below
    one that does not, anybody puts any word.
    """
    if is_free_host(host):
        return ""
    return host if has_settled_name(host) else find_owner_label(host)


def _is_declared(host: str, scene: Scene) -> bool:
    """Whether a skill says in its header that it is for the service at `host`.

    A host that anybody has in a minute is nobody's service, whatever the skill is called.
    """
    return has_settled_name(host) and scene.declares(find_owner_label(host))


def _belongs_elsewhere(name: str, host: str) -> bool:
    owners = read_table(_FILE)["variables"]
    word = next((word for word in name.upper().split("_") if word in owners), None)
    where = _find_speaking_part(host)
    if word is not None:
        return not any(owner in where for owner in owners[word].split())
    # A key that begins with the name of a large service is that service's.
    first = name.partition("_")[0].lower()
    return len(first) > _SPEAKING and find_service(f"{first}.com") is not None


def _is_owner(labels: tuple[str, ...], host: str) -> bool:
    """Whether a credential file goes to the service that it is for."""
    text = " ".join(labels)
    owned = ((path, to) for path, to in read_table(_FILE)["files"].items() if path != "reason")
    return any(
        path in text and f".{host}".endswith(tuple(f".{owner}" for owner in to.split()))
        for path, to in owned
    )


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


def _is_everyday(label: str) -> bool:
    return any(word in label for word in _EVERYDAY)


def _is_secret(label: str) -> bool:
    return label.partition(":")[0] in {"credential", "keychain", "browser", "wallet", "history"}


def _judge_access(fact: Fact) -> Sighting:
    level = Level.INFO if _is_everyday(fact.subject) else None
    message = f"reads {_find_spoken((fact.subject,))}"
    return Sighting("secret-access", fact.spot, message, Confidence.MEDIUM, level)


def _judge_across_files(scene: Scene, reads: list[Noted], sends: list[Noted]) -> _Judged:
    """A secret read in one script and a send in another of the same skill."""
    whole = [noted for noted in scene.all(Act.READ) if noted.fact.subject == "env"]
    for read in [*reads, *whole][:_PAIRS]:
        for send in sends[:_PAIRS]:
            if _may_meet(scene, read, send):
                what = _find_spoken((read.fact.subject,))
                message = f"reads {what}, which {send.fact.spot.path} can send away"
                # Programs keep their own key in such a file, and send it with each request.
                own = any(name in read.fact.subject for name in _OWN_KEYS)
                own = own or "keyring.get_password(" in read.fact.spot.text
                level = Level.WARN if own else None
                spot = read.fact.spot
                yield (
                    Sighting("secret-exfiltration", spot, message, Confidence.MEDIUM, level),
                    read,
                )
                return


def _may_meet(scene: Scene, read: Noted, send: Noted) -> bool:
    # A page reads the cookies that it has set itself.
    own_page = "document.cookie" in read.fact.spot.text
    if own_page or "file" not in {read.setting.place, send.setting.place}:
        return False
    if find_service(send.fact.subject) or is_local(find_host(send.fact.subject)):
        return False
    return _is_linked(scene, read.fact.spot.path, send.fact.spot.path)


def _is_linked(scene: Scene, one: str, other: str) -> bool:
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


def _find_spoken(labels: tuple[str, ...]) -> str:
    return ", ".join(_WORDS.get(label, label.partition(":")[2] or label) for label in labels[:3])
