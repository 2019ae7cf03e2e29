"""Facts that weigh by themselves: what is deleted, opened, switched off, or stays behind."""

import re
from collections.abc import Callable, Iterator

from prowess.safety.facts import Act, Fact, Noted, Scene
from prowess.safety.hosts import find_host, is_local
from prowess.safety.model import Confidence, Level, Sighting
from prowess.safety.paths import SETTINGS_FILES, is_agent_path, normal_path

_SETUID = re.compile(r"^0?[4267][0-7]{3}$|[ug]\+[rwx]*s")
_OPEN = re.compile(r"^0?[0-7]?777$|^(?:a|ugo)\+rwx|^o\+w$|^a=rwx")
_ROOTS = (
    r"/|~|\$\{?HOME\}?|%USERPROFILE%|\$env:USERPROFILE|[A-Za-z]:[\\/]?|/home(?:/\w+)?|/Users(?:/\w+)?"
    r"|/etc|/usr"
)
_WIDE = re.compile(rf"^(?:{_ROOTS}|/var|\.\.?)/?\*{{0,2}}$", re.IGNORECASE)
_HOME_OR_ROOT = re.compile(
    rf"^(?:{_ROOTS}|~/(?:Documents|Desktop|Pictures|Downloads|Projects)(?:/\*{{1,2}})*)/?(?:\.?\*){{0,2}}$",
    re.IGNORECASE,
)
_CONTAINER = frozenset(
    ("privileged-container", "docker-socket", "host-mount", "host-pid", "nsenter")
)


def judge_damage(scene: Scene) -> Iterator[tuple[Sighting, Noted]]:
    """Yield what a skill does to the machine itself."""
    for noted in scene.all(*_JUDGES):
        if seen := _JUDGES[noted.fact.act](noted.fact):
            yield seen, noted


def _judge_reverse_shell(fact: Fact) -> Sighting:
    # In a lab the other machine is next to this one; a thief's is not.
    # A tunnel shows one port of this machine; a shell shows all of it.
    is_tunnel = re.match(r"\s*(?:auto)?ssh\b", fact.spot.text)
    is_near = fact.target and is_local(find_host(fact.target))
    # A gap to fill in reaches nobody; whoever shows the command to testers leaves one.
    level = Level.WARN if is_near or is_tunnel or _has_gap(fact) else None
    return Sighting("reverse-shell", fact.spot, "opens a shell to another machine", level=level)


_GAPS = r"(?:YOUR|MY|ATTACKER|LISTENER|TARGET|REMOTE|LOCAL|KALI)_?(?:IP|HOST|ADDR\w*|SERVER)?"
_GAP = re.compile(
    rf"(?:/dev/(?:tcp|udp)/|[\s\"'(])(?:<[\w -]+>|\[[A-Z_]+\]|{_GAPS})(?=[/\s\"':,)]|$)"
)


def _has_gap(fact: Fact) -> bool:
    """Whether a word to be replaced stands in the place of the host."""
    return not re.search(r"\d\.\d|\w\.[a-z]{2,}\b", fact.target) and bool(
        _GAP.search(fact.spot.text)
    )


def _judge_delete(fact: Fact) -> Sighting | None:
    target = fact.subject.strip("'\"")
    if _HOME_OR_ROOT.match(target):
        return Sighting("destructive-wipe", fact.spot, f"deletes all of {target}")
    if fact.target != "recursive":
        return None
    absolute = target.startswith(("/", "~")) and not target.startswith(_THROWAWAY)
    broad = absolute or _WIDE.match(target) or target.startswith(("*", ".."))
    if broad or ("$" in target and target.endswith("*")) or "input" in fact.flow:
        return Sighting("destructive-delete", fact.spot, f"deletes all of {target}")
    message = "deletes folders with all they hold"
    return Sighting("destructive-delete", fact.spot, message, level=Level.INFO)


# Folders whose content is made to be thrown away.
_THROWAWAY = (
    *(f"/{name}/" for name in ("tmp", "var/tmp", "dev/shm", "var/lib/apt/lists", "var/cache")),
    "~/.cache/",
)
_BEYOND_REPAIR = frozenset(("disk", "root", "home", "shadow-copies"))
# How a stick to start from is made.
_IMAGE = re.compile(r"\bif=\S+\.(?:iso|img)(?![\w.])")
_MAIN_BRANCH = re.compile(
    r"\s:(?:refs/heads/)?(?:main|master)\b|--delete\s+\S+\s+(?:main|master)\b"
)


def _judge_wipe(fact: Fact) -> Sighting:
    if fact.subject == "fork-bomb":
        message = "starts processes without end"
        return Sighting("resource-abuse", fact.spot, message, level=Level.CRITICAL)
    level = Level.CRITICAL if fact.subject in _BEYOND_REPAIR else Level.WARN
    if fact.subject == "disk" and _IMAGE.search(fact.spot.text):
        message = "writes an image over a disk"
        return Sighting("destructive-wipe", fact.spot, message, level=Level.WARN)
    if fact.subject == "remote-branch":
        level = Level.WARN if re.search(r"--all|--mirror", fact.spot.text) else Level.INFO
        level = Level.CRITICAL if _MAIN_BRANCH.search(fact.spot.text) else level
    message = f"destroys beyond recovery: {fact.subject}"
    return Sighting("destructive-wipe", fact.spot, message, level=level)


def _judge_permission(fact: Fact) -> Sighting | None:
    target = fact.target or "a file"
    if _SETUID.search(fact.subject):
        return Sighting("privilege", fact.spot, f"lets {target} run with its owner's rights")
    if _OPEN.search(fact.subject):
        return Sighting("unsafe-permissions", fact.spot, f"opens {target} to everybody")
    return None


_NEW_USER = re.compile(r"\buseradd\b|\badduser\b|localgroup|chpasswd", re.IGNORECASE)
_WHOLE_HOST = re.compile(
    r"-v\s+/:/|/:/host|source=/,|chroot /host|--pid[= ]host.{0,80}--privileged"
    r"|docker\.sock.{0,400}--privileged|--privileged.{0,400}docker\.sock",
    re.DOTALL,
)


_SOFT_RIGHTS: dict[str, tuple[str, Level]] = {
    "sudo-stdin": ("feeds a password to sudo", Level.WARN),
    "group": ("puts a user in a group", Level.INFO),
    "elevation": ("asks for the rights of an administrator", Level.WARN),
}


def _judge_privilege(fact: Fact) -> Sighting | None:
    nearby = f"{fact.spot.text}\n{fact.spot.view.text[:2000]}"
    if fact.subject == "sudo":
        return None
    if fact.subject == "group" and _NEW_USER.search(nearby):
        message = "makes a new user with all rights"
        return Sighting("privilege", fact.spot, message, Confidence.MEDIUM)
    if fact.subject in _SOFT_RIGHTS:
        message, soft = _SOFT_RIGHTS[fact.subject]
        return Sighting("privilege", fact.spot, message, Confidence.LOW, soft)
    message, level = f"takes rights that a skill should not have: {fact.subject}", None
    if fact.subject in _CONTAINER:
        message = "opens the whole machine to a container"
        level = None if _WHOLE_HOST.search(nearby) else Level.WARN
    return Sighting("privilege", fact.spot, message, Confidence.MEDIUM, level)


_SOFT_OFF: dict[str, tuple[str, Level | None]] = {
    "tls": ("insecure-transport", None),
    "ssh-host-key": ("insecure-transport", Level.INFO),
    "agent-approval": ("prompt-injection-tool", Level.WARN),
    "history": ("disable-protection", Level.WARN),
    "quarantine": ("disable-protection", Level.WARN),
    "execution-policy": ("disable-protection", Level.INFO),
}
_WIDE_EXCLUSION = re.compile(
    r"temp|appdata|downloads|programdata|[a-z]:\\?(?:[\"'\s]|$)|\$env:|%|exclusionprocess"
    r"|exclusionextension",
    re.IGNORECASE,
)


def _judge_disable(fact: Fact) -> Sighting:
    name = fact.spot.path.rpartition("/")[2]
    rule, level = _SOFT_OFF.get(fact.subject, ("disable-protection", None))
    if fact.subject == "agent-approval" and (
        is_agent_path(fact.spot.path) or name in SETTINGS_FILES
    ):
        message = "ships settings that let an agent act unasked"
        return Sighting(rule, fact.spot, message)
    if fact.subject == "quarantine" and re.search(r"Downloads|/tmp|~/", fact.spot.text):
        level = None
    if _is_narrow_exclusion(fact):
        message = "switches a protection off for one folder"
        return Sighting(rule, fact.spot, message, Confidence.LOW, Level.WARN)
    return Sighting(rule, fact.spot, f"switches off a protection: {fact.subject}", level=level)


def _is_narrow_exclusion(fact: Fact) -> bool:
    text = fact.spot.text
    return (
        fact.subject == "defender"
        and "exclusion" in text.lower()
        and not _WIDE_EXCLUSION.search(text)
    )


def _judge_deserialise(fact: Fact) -> Sighting:
    shipped = re.search(r"(?:assets|references|templates)/|[Uu]nsafe", fact.spot.text)
    level = Level.WARN if shipped else Level.INFO
    if fact.subject == "yaml-tag" or "remote" in fact.flow:
        level = Level.CRITICAL
    message = f"loads objects that may run code: {fact.subject}"
    return Sighting("unsafe-deserialise", fact.spot, message, level=level)


_DANGEROUS = re.compile(
    r"\b(?:system|popen|exec\w*|eval|spawn\w*|child_process|subprocess|compile|__import__|builtins|os)\b"
)


def _judge_import(fact: Fact) -> Sighting | None:
    if fact.subject.startswith((".", "/")) or not _DANGEROUS.search(fact.subject):
        return None
    message = f"reaches {fact.subject} by a name that is put together"
    return Sighting("dynamic-import", fact.spot, message)


def _judge_mining(fact: Fact) -> Sighting | None:
    # The name alone is talk; with a pool or a wallet it is work.
    if not re.search(r"://\w|\s-\w|:\d{2,5}\b", fact.spot.text):
        return None
    return Sighting("crypto-mining", fact.spot, f"mines coins: {fact.subject}")


_JUDGES: dict[Act, Callable[[Fact], Sighting | None]] = {
    Act.REVERSE_SHELL: _judge_reverse_shell,
    Act.DELETE: _judge_delete,
    Act.WIPE: _judge_wipe,
    Act.PERMISSION: _judge_permission,
    Act.PRIVILEGE: _judge_privilege,
    Act.DESERIALISE: _judge_deserialise,
    Act.IMPORT: _judge_import,
    Act.MINE: _judge_mining,
    Act.DISABLE: _judge_disable,
}


# What an honest start-up entry has no need of.
_SHADY = re.compile(
    r"\b(?:curl|wget|irm|iwr|iex|nc|ncat|base64)\b|/tmp/|/dev/shm|/dev/tcp|https?://|(?:^|[\s'\"=/])\.(?!local/|config/|venv/|cargo/|nvm/|bun/|deno/|npm|pyenv/|rbenv/|asdf/|mise/|cache/|openclaw/|clawdbot/|moltbot/|claude/|codex/)"
    r"[a-z][\w-]*/",
    re.IGNORECASE,
)
# Completions and tools' own set-up lines are what start-up files are for; the network is not.
_RC_SHADY = re.compile(
    r"\b(?:curl|wget|nc|ncat|base64|nohup|osascript)\b|https?://|/dev/tcp|/tmp/|/dev/shm",
    re.IGNORECASE,
)
_ALIAS = re.compile(
    r"\balias\s+(?:git|ls|cd|sudo|ssh|npm|pip|python3?|node|docker|kubectl|curl|cat|rm|vim|code|claude)="
    r"|\b(?:git|sudo|ssh)\s*\(\)\s*\{"
)
_ENDPOINT = re.compile(
    r"\b(?:ANTHROPIC|OPENAI|GEMINI|GOOGLE_GEMINI|AZURE_OPENAI|OLLAMA)_\w*(?:URL|BASE|ENDPOINT|HOST)=(\S+)"
)
_OWN_FOLDER = re.compile(r"(?:^|[\s\"'/])(?:scripts|assets|references|templates)/\w")
_ALWAYS = frozenset(("authorized-keys", "loader", "pam"))
# Their own files are quoted in full where they are written; the command around them tells little.
_QUOTED_KINDS = frozenset(("rc-file", "launchd", "systemd", "cron"))
_LOOSENS = re.compile(
    r"bypassPermissions|autoApprove|enableAllProjectMcpServers|Bash\(\*\)|dangerously-?skip-?permissions"
    r"|autoAccept|approvalMode\W{1,6}yolo|approval_policy\W{1,6}never|danger-full-access"
    r"|skipDangerousMode|alwaysAllow",
    re.IGNORECASE,
)
_HOOKS = re.compile(r"[\"'.]hooks\b")
# What a memory must not say about its writer.
_CREED = re.compile(
    r"never ask|always trust|without (?:asking|confirm)|no approval|ignore (?:all|previous|any)"
    r"|do not (?:ask|tell)|don't (?:ask|tell)",
    re.IGNORECASE,
)
_WRITING = re.compile(r"\b(?:cp|mv|copy|cat|tee|install|curl|wget|echo|sed|ln)\b")
# Below a folder of skills such a file belongs to one skill, not to the agent.
_SELF = re.compile(r"^(?!.*/skills/).*(?:SOUL|HEARTBEAT|IDENTITY)\.md$")
# A path shorter than this says nothing where it is found inside a command.
_TELLING = 5


def judge_lasting(scene: Scene) -> Iterator[tuple[Sighting, Noted]]:
    """Yield what stays behind after the skill has done its job."""
    for noted in scene.all(Act.PERSIST):
        if seen := _judge_persistence(noted, scene):
            yield seen, noted
    for noted in scene.all(Act.TAMPER):
        yield _judge_tampering(noted, scene), noted


_KEY = re.compile(r"AAAA[A-Za-z0-9+/]{16}")
_FROM_AFAR = frozenset(("remote", "decoded"))


def _judge_persistence(noted: Noted, scene: Scene) -> Sighting | None:
    fact = noted.fact
    kind = fact.subject
    if kind in _ALWAYS:
        # Whose key it is says all: one that stands there is its author's.
        shown = kind == "authorized-keys" and noted.setting.place != "file"
        given = _KEY.search(f"{fact.spot.text} {fact.target}") or fact.flow & _FROM_AFAR
        level = Level.WARN if shown and not given else None
        return Sighting("persistence", fact.spot, f"leaves a way back in: {kind}", level=level)
    if kind == "rc-file":
        return _judge_shell_start(fact, scene)
    text = fact.target if kind in _QUOTED_KINDS else f"{fact.target}\n{fact.spot.text}"
    text = text.replace(".git/", "").replace(".husky/", "")
    if _SHADY.search(text) or fact.flow & {"remote", "decoded"}:
        message = f"makes code run by itself from now on: {kind}"
        return Sighting("persistence", fact.spot, message)
    if _runs_own(fact.target, scene) or _runs_own(fact.spot.text, scene) or _brings_own(fact):
        level = None if kind == "git-hook" else Level.WARN
        message = f"makes its own code run by itself: {kind}"
        return Sighting("persistence", fact.spot, message, Confidence.MEDIUM, level)
    message = f"makes something run by itself: {kind}"
    return Sighting("persistence", fact.spot, message, Confidence.LOW, Level.INFO)


def _brings_own(fact: Fact) -> bool:
    return bool(_OWN_FOLDER.search(fact.spot.text))


def _judge_shell_start(fact: Fact, scene: Scene) -> Sighting | None:
    text = f"{fact.target}\n{fact.spot.text}"
    endpoint = _ENDPOINT.search(text)
    if endpoint and not is_local(find_host(endpoint.group(1))):
        message = "sends the agent's own traffic elsewhere, in every session"
        return Sighting("loader-env", fact.spot, message)
    if _ALIAS.search(text) or _RC_SHADY.search(fact.target) or _runs_own(fact.target, scene):
        message = "changes what the shell does in every session"
        return Sighting("persistence", fact.spot, message)
    return None


def _runs_own(target: str, scene: Scene) -> bool:
    """Whether what is made to run is a file of the skill itself."""
    return any(
        len(path) >= _TELLING and path in target for path in scene.paths if path != "SKILL.md"
    )


def _judge_tampering(noted: Noted, scene: Scene) -> Sighting:
    fact, path = noted.fact, normal_path(noted.fact.subject)
    # An editor's settings are for more than its agent.
    is_settings = path.endswith((".json", ".toml")) and "/User/" not in path
    message, confidence, level = f"writes an agent's settings: {path}", Confidence.MEDIUM, None
    if _LOOSENS.search(f"{fact.target} {fact.spot.view.text[:4000]}"):
        message, confidence = f"loosens what an agent may do: {path}", Confidence.HIGH
    elif noted.setting.place == "file" and path.startswith("~") and is_settings:
        # Scripts set up status lines and servers; a hook is code that runs from then on.
        message = f"a script changes an agent's settings: {path}"
        level = None if _HOOKS.search(fact.spot.view.text) else Level.WARN
    elif _CREED.search(fact.target) or _CREED.search(fact.spot.text):
        message = f"writes into an agent's memory that it is to be trusted: {path}"
    elif _SELF.search(path):
        message = f"writes who an agent is: {path}"
    elif not (is_settings and _brings(fact, scene)):
        lasts = path.startswith("~") and path.endswith("MEMORY.md")
        message, confidence = f"writes an agent's settings or memory: {path}", Confidence.LOW
        level = Level.WARN if lasts else Level.INFO
    return Sighting("agent-config-tamper", fact.spot, message, confidence, level)


def _brings(fact: Fact, scene: Scene) -> bool:
    """Whether the skill puts something of its own, or of the network, in the place of settings."""
    own = _runs_own(fact.spot.text, scene) or "remote" in fact.flow or _SHADY.search(fact.target)
    return bool(own and _WRITING.search(fact.spot.text))
