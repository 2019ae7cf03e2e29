"""Facts about what outlives the task to sightings: start-up entries and agents' settings."""

import re
from collections.abc import Iterator

from prowess.safety.facts import Act, Fact
from prowess.safety.hosts import host_of, is_local
from prowess.safety.model import Confidence, Level
from prowess.safety.scene import Noted, Scene
from prowess.safety.sensitive import normal_path
from prowess.safety.sighting import Sighting

# What an honest start-up entry has no need of.
_SHADY = re.compile(
    r"\b(?:curl|wget|irm|iwr|iex|nc|ncat|base64|eval|nohup|osascript)\b"
    r"|\b(?:python3? -c|node -e|bash -c|sh -c)\b|/tmp/|/dev/shm|/dev/tcp|https?://|(?:^|[\s'\"=/])\.(?!local/|config/|venv/|cargo/|nvm/|bun/|deno/|npm|pyenv/|rbenv/|asdf/|mise/|cache/)"
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
    r"bypassPermissions|autoApprove|enableAllProjectMcpServers|Bash\(\*\)|dangerously-?skip-?permissions",
    re.IGNORECASE,
)
# What a memory must not say about its writer.
_CREED = re.compile(
    r"never ask|always trust|without (?:asking|confirm)|no approval|ignore (?:all|previous|any)"
    r"|do not (?:ask|tell)|don't (?:ask|tell)",
    re.IGNORECASE,
)
_WRITING = re.compile(r"\b(?:cp|mv|copy|cat|tee|install|curl|wget|echo|sed|ln)\b")
_SELF = re.compile(r"(?:SOUL|HEARTBEAT|IDENTITY)\.md$")
# A path shorter than this says nothing where it is found inside a command.
_TELLING = 5


def judge_lasting(scene: Scene) -> Iterator[tuple[Sighting, Noted]]:
    """Yield what stays behind after the skill has done its job."""
    for noted in scene.all(Act.PERSIST):
        if seen := _persist(noted.fact, scene):
            yield seen, noted
    for noted in scene.all(Act.TAMPER):
        yield _tamper(noted, scene), noted


def _persist(fact: Fact, scene: Scene) -> Sighting | None:
    kind = fact.subject
    if kind in _ALWAYS:
        return Sighting("persistence", fact.spot, f"leaves a way back in: {kind}")
    if kind == "rc-file":
        return _shell_start(fact, scene)
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


def _shell_start(fact: Fact, scene: Scene) -> Sighting | None:
    text = f"{fact.target}\n{fact.spot.text}"
    endpoint = _ENDPOINT.search(text)
    if endpoint and not is_local(host_of(endpoint.group(1))):
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


def _tamper(noted: Noted, scene: Scene) -> Sighting:
    fact, path = noted.fact, normal_path(noted.fact.subject)
    is_settings = path.endswith((".json", ".toml"))
    message, confidence, level = f"writes an agent's settings: {path}", Confidence.MEDIUM, None
    if _LOOSENS.search(f"{fact.target} {fact.spot.view.text[:4000]}"):
        message, confidence = f"loosens what an agent may do: {path}", Confidence.HIGH
    elif noted.setting.place == "file" and path.startswith("~") and is_settings:
        message = f"a script changes an agent's settings: {path}"
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
