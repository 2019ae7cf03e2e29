"""Facts about running code to sightings: what is fetched, decoded or computed and then run."""

import re
from collections.abc import Iterator

from prowess.data import read_words
from prowess.safety.facts import Act, Fact, Noted, Scene
from prowess.safety.hosts import (
    find_drop,
    find_host,
    find_installer,
    find_owner_label,
    find_paste_site,
    find_service,
    has_settled_name,
    is_local,
    is_raw_address,
    is_short_link,
)
from prowess.safety.model import Confidence, Level, Sighting

_SHELLS = read_words("sh bash zsh dash ksh fish shell source . pwsh powershell iex cmd")
_INLINE = frozenset(("node", "python", "python3", "perl", "ruby", "php"))
_EVALS = frozenset(("eval", "exec", "vm", "function"))
_SECRETS = frozenset(("credential", "keychain", "browser", "wallet"))
_Judged = Iterator[tuple[Sighting, Noted]]


def judge_execution(scene: Scene) -> _Judged:
    """Yield what the code of a skill runs that no honest skill needs to run."""
    for noted in scene.all(Act.EXEC):
        for seen in _judge_run(noted, scene):
            yield seen, noted
    yield from _judge_fetched_elsewhere(scene)
    yield from _judge_named_alone(scene)
    yield from _judge_obeyed_elsewhere(scene)
    yield from _by_itself(scene)
    for noted in scene.all(Act.FETCH, Act.SEND):
        for seen in _judge_fetch(noted, scene):
            yield seen, noted


def _judge_run(noted: Noted, scene: Scene) -> Iterator[Sighting]:
    fact = noted.fact
    if fact.subject == "ci-injection":
        message = "text that strangers control runs with the rights of the workflow"
        yield Sighting("ci-injection", fact.spot, message)
    if fact.subject == "folder-open":
        # A container is set up by such commands; the machine itself is not.
        level = Level.WARN if fact.spot.path.endswith("devcontainer.json") else None
        message = "runs a command whenever the folder is opened"
        yield Sighting("persistence", fact.spot, message, level=level)
    if "remote" in fact.flow:
        yield from _run_remote(noted, scene)
    elif "decoded" in fact.flow and fact.subject != "process":
        # Dots in the place of the text, and no text: talk about such commands.
        gap = re.search(r"\.\.\.|\u2026|<\w+>", fact.spot.text)
        level = Level.INFO if gap and not _ENCODED.search(fact.spot.text) else None
        yield Sighting("decode-to-shell", fact.spot, "decodes a text and runs it", level=level)
    elif fact.subject in _EVALS and (path := _find_foreign_code(fact)):
        message = f"runs the text of {path} as code"
        yield Sighting("dynamic-code", fact.spot, message, level=Level.CRITICAL)
    elif "input" in fact.flow and fact.subject in _EVALS:
        level = None if noted.setting.place == "file" else Level.INFO
        message = "runs text that comes from outside as code"
        yield Sighting("dynamic-code", fact.spot, message, Confidence.LOW, level)


_ENCODED = re.compile(r"[A-Za-z0-9+/]{16}|(?:\\x[0-9a-f]{2}){4}")

# Files by whose names nobody expects code, places that no skill brings along, and what shells read.
_NO_CODE = re.compile(
    r"\.(?:css|csv|tsv|png|jpe?g|gif|svg|ico|webp|bmp|md|txt|rst|dat|bin|db|log|lock|pdf|woff2?|ttf"
    r"|bak|tmp|cache|key|pem|xml|html?)$",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"(?:/(?:tmp|var|dev/shm|opt|home|users)/|~|\$home|%\w+%|[a-z]:\\)"
    r"(?!.*/\.(?:bash|zsh|profile|zprofile|env\b))",
    re.IGNORECASE,
)


def _find_foreign_code(fact: Fact) -> str:
    """Return the file whose text is run although it is none of the skill's code."""
    paths = sorted(label[5:] for label in fact.flow if label.startswith("file:"))
    return next((one for one in paths if _NO_CODE.search(one) or _ELSEWHERE.match(one)), "")


# Code that comes over the network

# No address but a gap to fill in, or a name that nobody can own: talk about such commands.
_GAP = re.compile(
    r"^https?://(?:\.\.\.|\u2026|<|\$|\{|\[|(?:YOUR|MY|SOME)[-_]?[A-Z_]*(?:[:/]|$)"
    r"|(?:[\w-]+\.)?example\.(?:com|org|net)(?:[:/]|$)|$)"
)
_BUILD = re.compile(
    r"(?:^|/)(?:configure|make|cmake|meson|ninja|setup\.py|autogen\.sh|bootstrap\.sh|gradlew|mvnw)$"
)
_REPOSITORY = re.compile(
    r"^(?:(?:https?://|git@|ssh://git@)(?:www\.)?(?:github|gitlab|bitbucket|codeberg|git\.\w+)[\w.-]*"
    r"[/:]|(?:github|gitlab|bitbucket):)[\w.${}<>-]+/[\w./${}<>-]+?(?:\.git)?/?$",
    re.IGNORECASE,
)
_UNCHECKED = re.compile(r"(?:^|\s)-[a-zA-Z]*k[a-zA-Z]*\s|--insecure|--no-check-certificate")
_URLS = re.compile(r"https?://[^\s\"'`|)]+")
_SUBSTITUTION = re.compile(r"\$\(|`|<\(")
_CALLS = frozenset(("&", "."))
_TO_FILE = re.compile(r"-OutFile|Start-Process|-o\s")


def _run_remote(noted: Noted, scene: Scene) -> Iterator[Sighting]:
    fact = noted.fact
    url = _address(fact) or _find_fetched_before(fact, scene)
    url = fact.target if _is_checkout(fact.target) else url
    opened = re.match(r"(?:xdg-)?open [$\"']", fact.target)
    # Packages of a registry are judged by their names.
    if (is_local(find_host(url)) and url) or opened or fact.target.startswith(_REGISTRY):
        return
    is_named = re.search(r"[\w-]+\.[a-zA-Z]{2,}|\d+\.\d+|\d{6,}", url)
    nameless = not is_named and noted.setting.place in {"prose", "span"}
    if nameless or _GAP.search(url):
        message = "speaks of running a script from the network"
        yield Sighting("shell-pipe-to-shell", fact.spot, message, Confidence.LOW, Level.INFO)
        return
    lowered = _find_origin_contexts(fact, url, scene)
    if not lowered and not is_named and _is_set_by_user(fact.spot.text, scene):
        lowered = ("an address that its user sets",)
    if lowered:
        yield Sighting("foreign-code", fact.spot, f"runs what comes from {url or fact.target}")
    yield _name_remote(fact, lowered)


def _name_remote(fact: Fact, lowered: tuple[str, ...]) -> Sighting:
    text = fact.spot.text
    # In PowerShell `& $file` runs what was saved; `. <(curl …)` of a shell saves nothing.
    saved = _TO_FILE.search(text) or (fact.subject in _CALLS and not _SUBSTITUTION.search(text))
    to_file = saved and "|" not in text
    if fact.subject in _EVALS and not _SUBSTITUTION.search(fact.spot.text):
        message = "runs code that it fetches from the network"
        return Sighting("dynamic-code", fact.spot, message, level=Level.CRITICAL)
    if to_file or (fact.target and "://" not in fact.target):
        message = "downloads a file and runs it"
        return Sighting("download-then-run", fact.spot, message, lowered_by=lowered)
    message = "runs a script straight from the network"
    return Sighting("shell-pipe-to-shell", fact.spot, message, lowered_by=lowered)


def _find_origin_contexts(fact: Fact, url: str, scene: Scene) -> tuple[str, ...]:
    """What lowers it: the maker's own installer, a checkout, a build from source."""
    # Without a check of who answers, the maker's address is only a name.
    is_checked = not _UNCHECKED.search(fact.spot.text)
    # Some makers write their address without a scheme.
    bare = url.removeprefix("http://") if "http://" not in fact.spot.text else url
    whole = bare if "://" in bare or not bare else f"https://{bare.rstrip('/')}/"
    installer = find_installer(whole) if whole and is_checked else None
    # A second address in the command may be the one that answers.
    if installer and all(map(find_installer, _URLS.findall(fact.spot.text))):
        return (f"official installer: {installer.who}",)
    runs_file = (bool(fact.target) and "://" not in fact.target) or fact.subject in _CALLS
    if _is_checkout(url) and (runs_file or _PACKAGE.search(url)):
        return ("a checkout of a public repository",)
    if is_checked and _is_makers_own(whole, scene):
        return ("the maker's own address",)
    if runs_file and _BUILD.search(fact.target):
        return ("a build from source",)
    return ("a file of a named owner",) if runs_file and _has_named_owner(url) else ()


_VARIABLE = re.compile(r"[\s\"'(]\$\{?([A-Za-z_]\w*)\}?(?=[/\"'\s])")


def _is_set_by_user(command: str, scene: Scene) -> bool:
    """Whether the address is a variable that the skill itself never sets."""
    names = _VARIABLE.findall(command)
    sets = [re.compile(rf"\b{name}\b\s*:?=|\b{name}:\s") for name in names]
    return bool(names) and not any(
        each.search(text) for each in sets for text in scene.texts.values()
    )


def _has_named_owner(url: str) -> bool:
    """Whether what is downloaded lies under somebody's name at a large service."""
    return url.startswith("https://") and find_service(url) is not None


_INSTALL_PATH = re.compile(
    r"(?:^|/)(?:[\w-]*(?:install|setup|bootstrap|get)[\w.-]*|[\w-]+\.(?:sh|ps1))$"
)
_CODE_HOSTS = frozenset(("github.com", "raw.githubusercontent.com", "gitlab.com", "codeberg.org"))
_INSTALL_LABELS = frozenset(("get", "install", "sh", "setup", "dl", "cli", "download", "releases"))


def _is_makers_own(url: str, scene: Scene) -> bool:
    """Whether `https://tool.dev/install.sh` brings a `tool` that the skill is there to call."""
    host = find_host(url)
    if not url.startswith("https://") or not has_settled_name(host):
        return False
    path = url.partition("://")[2].partition("/")[2].partition("?")[0].rstrip("/")
    labels = host.split(".")
    is_installer = _INSTALL_PATH.search(path) or (not path and labels[0] in _INSTALL_LABELS)
    if not is_installer:
        return False
    if host not in _CODE_HOSTS:
        owner = find_owner_label(host)
        return scene.calls_program(owner) or scene.declares(owner) or scene.is_about(host)
    # There a repository is named after its tool (`tool`, `tool-cli`, `team-tool`), or is spoken of.
    team, _, rest = path.partition("/")
    name, _, inside = rest.partition("/")
    parts = (name, *re.split(r"[-_.]", name))
    is_about = scene.calls_program(name) or any(map(scene.declares, parts))
    return bool(inside) and (is_about or _speaks_of(f"{team}/{name}", url, scene))


def _speaks_of(repository: str, url: str, scene: Scene) -> bool:
    """Whether the skill names a repository beside the address of a script in it."""
    link = re.compile(rf"(?:github|gitlab)\.com/{re.escape(repository)}(?![\w-])", re.IGNORECASE)
    return any(link.search(text.replace(url, "")) for text in scene.texts.values())


# How package managers name a repository: with what is installed before it, and which state behind.
_PACKAGE = re.compile(
    r"(?:^|[\"']|@\s)git\+((?:https?|ssh)://[^\s\"'#]+?)(?:@[\w./-]+)?(?:[#\"'\s]|$)"
)
_REGISTRY = ("npm:", "jsr:")


def _is_checkout(url: str) -> bool:
    package = _PACKAGE.search(url)
    plain = package[1] if package else url
    return bool(_REPOSITORY.match(plain)) and not re.search(
        r"/(?:releases|raw|archive|blob)/", plain
    )


def _address(fact: Fact) -> str:
    """The URL that the fact itself names, if any."""
    if "://" in fact.target:
        return fact.target
    found = re.search(r"https?://[^\s\"'`|)]+", fact.spot.text)
    return found.group() if found else ""


def _find_fetched_before(fact: Fact, scene: Scene) -> str:
    """The address of what was fetched last before `fact` in the same file."""
    before = scene.fetched_before(fact)
    named = [fetch for fetch in before if fetch.target and fetch.target in fact.target]
    # What the command itself fetches is what it runs, be it a gap to fill in.
    named = named or [fetch for fetch in before if fetch.spot.text in fact.spot.text]
    # A command is read alone, too, without the variables that were set before it.
    known = [fetch for fetch in named or before if "://" in fetch.subject]
    return (known or named or before)[-1].subject if before else ""


def _find_fetched_files(scene: Scene) -> dict[str, str]:
    """Files that are written from the network, by name, with where they come from."""
    fetched: dict[str, str] = {}
    trusted: set[str] = set()
    for noted in sorted(scene.all(Act.FETCH), key=lambda each: "://" in each.fact.subject):
        name, url = noted.fact.target.rpartition("/")[2], noted.fact.subject
        if is_local(find_host(url)) or find_installer(url):
            trusted.add(name)
        elif noted.fact.target:
            fetched[name] = url
    facts = (noted.fact for noted in scene.all(Act.WRITE) if "remote" in noted.fact.flow)
    written = {fact.subject.rpartition("/")[2] for fact in facts}
    return dict.fromkeys(written - trusted, "") | fetched


_RECORDING = re.compile(
    r"\.(?:mp3|mp4|wav|ogg|m4a|flac|webm|mov|png|jpe?g|gif|webp|pdf)$", re.IGNORECASE
)


def _judge_fetched_elsewhere(scene: Scene) -> _Judged:
    """A file fetched by one command and run by another, each in a block of its own."""
    fetched = _find_fetched_files(scene)
    shipped = {path.rpartition("/")[2] for path in scene.paths}
    for noted in scene.all(Act.EXEC) if fetched else ():
        # Behind the program stand its arguments, which it may fetch itself.
        name = noted.fact.target.strip("'\"").split(" ")[0].rpartition("/")[2]
        # A name that nobody knows is no name that both have.
        known = name in fetched and name not in shipped and not name.startswith("$value")
        # A player is started for a recording; a shell reads whatever its name is.
        if _RECORDING.search(name) and noted.fact.subject == "process":
            continue
        if not known or "remote" in noted.fact.flow:
            continue
        if not _is_checkout(fetched[name]):
            yield _run_fetched(noted, name, fetched[name]), noted


def _judge_named_alone(scene: Scene) -> _Judged:
    """A download that is made executable, and whose path stands as a step of its own."""
    fetched = _find_fetched_files(scene)
    for noted in scene.all(Act.PERMISSION) if fetched else ():
        path = noted.fact.target.strip("'\"")
        known = path.rpartition("/")[2] in fetched and "x" in noted.fact.subject
        if known and "/" in path and any(f"`{path}`" in text for text in scene.texts.values()):
            url = fetched[path.rpartition("/")[2]]
            yield _run_fetched(noted, path, url), noted


def _run_fetched(noted: Noted, name: str, url: str) -> Sighting:
    message = f"runs {name}, which was downloaded before"
    lowered = ("a file of a named owner",) if _has_named_owner(url) else ()
    spot = noted.fact.spot
    return Sighting("download-then-run", spot, message, Confidence.MEDIUM, lowered_by=lowered)


_FOLLOW = r"(?:follow|obey|do what|carry out|act on|execute)[^.\n]{0,60}"


def _judge_obeyed_elsewhere(scene: Scene) -> _Judged:
    """A text that is fetched into a file, and a sentence that says to follow that file."""
    for noted in scene.all(Act.FETCH):
        target = noted.fact.target
        if not target.endswith((".md", ".txt")) or is_local(find_host(noted.fact.subject)):
            continue
        order = re.compile(_FOLLOW + re.escape(target), re.IGNORECASE)
        if any(order.search(text) for text in scene.texts.values()):
            message = "fetches a text and tells the agent to follow it"
            yield Sighting("remote-instructions", noted.fact.spot, message), noted


# Code that runs without a person asking for it


def _by_itself(scene: Scene) -> _Judged:
    """Hooks of installers and agents, and commands that run when a skill is loaded."""
    for noted in scene.everything():
        fact = noted.fact
        rule = noted.setting.runs_by_itself or _install_file(noted)
        if rule and _reaches_out(fact):
            message = "reaches out by itself, without a person asking for it"
            yield Sighting(rule, fact.spot, message), noted
        elif rule and fact.act is Act.EXEC and fact.subject in _EVALS | _SHELLS | _INLINE:
            message = "runs code by itself, without a person asking for it"
            yield Sighting(rule, fact.spot, message, level=Level.WARN), noted


def _install_file(noted: Noted) -> str:
    name = noted.fact.spot.path.rpartition("/")[2]
    return "install-hook" if name == "setup.py" and noted.setting.place == "file" else ""


def _reaches_out(fact: Fact) -> bool:
    if fact.act in {Act.SEND, Act.PERSIST, Act.REVERSE_SHELL, Act.TAMPER}:
        return True
    if fact.act is Act.FETCH:
        meant = fact.target != "endpoint" and not _GAP.search(fact.subject)
        return meant and not is_local(find_host(fact.subject))
    if fact.act is Act.DELETE:
        return fact.subject.startswith(("~", "/", "$HOME"))
    if fact.act is Act.READ:
        return fact.subject.partition(":")[0] in _SECRETS
    return fact.act is Act.EXEC and bool(fact.flow & {"remote", "decoded"})


# Addresses

_RUNNABLE = re.compile(
    r"\.(?:sh|py|exe|ps1|bin|zip|dmg|pkg|msi|js|elf|tgz|tar|gz|deb|rpm|whl|jar|apk)\b|/[a-z0-9]{8,}$",
    re.IGNORECASE,
)
_OWN_ORDERS = re.compile(r"(?:^|/)(?:SKILL|AGENTS|CLAUDE|SOUL|GEMINI|HEARTBEAT)\.md$")


def _judge_fetch(noted: Noted, scene: Scene) -> Iterator[Sighting]:
    fact = noted.fact
    if fact.act is Act.FETCH and _OWN_ORDERS.search(fact.target):
        message = "replaces its own instructions by what it fetches"
        # A skill is installed by fetching its page into the folder of skills.
        known = "/skills/" in fact.target or _has_named_owner(fact.subject)
        level = Level.WARN if known else None
        yield Sighting("remote-instructions", fact.spot, message, level=level)
    host = find_host(fact.subject)
    if not host or is_local(host):
        return
    if is_raw_address(host):
        yield _judge_bare(fact, host)
    elif kind := (find_drop(fact.subject) or find_paste_site(fact.subject)):
        # In a script nobody reads the address before it is used.
        grave = noted.setting.place == "file" and kind != "chat webhook"
        # A skill that bears the name of a file drop is there to upload files.
        meant = kind == "file drop" and scene.declares(find_owner_label(host))
        level = Level.CRITICAL if grave and not meant else None
        message = f"talks to {host}: {kind}"
        yield Sighting("suspicious-host", fact.spot, message, Confidence.MEDIUM, level)
    elif is_short_link(fact.subject):
        message = f"{host} hides where a link goes"
        yield Sighting("suspicious-host", fact.spot, message, Confidence.LOW)


def _judge_bare(fact: Fact, host: str) -> Sighting:
    kept = fact.act is Act.FETCH and fact.target
    grave = fact.target != "endpoint" and (kept or _RUNNABLE.search(fact.subject))
    level = None if grave else Level.WARN
    return Sighting("raw-ip-download", fact.spot, f"talks to the bare address {host}", level=level)
