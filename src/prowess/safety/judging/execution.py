"""Facts about running code to sightings: what is fetched, decoded or computed and then run."""

import re
from collections.abc import Iterator

from prowess.data import read_words
from prowess.safety.facts import Act, Fact, Noted, Scene
from prowess.safety.hosts import (
    find_drop,
    find_host,
    find_installer,
    find_paste_site,
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
    yield from _fetched_elsewhere(scene)
    yield from _named_alone(scene)
    yield from _obeyed_elsewhere(scene)
    yield from _by_itself(scene)
    for noted in scene.all(Act.FETCH, Act.SEND):
        for seen in _judge_fetch(noted):
            yield seen, noted


def _judge_run(noted: Noted, scene: Scene) -> Iterator[Sighting]:
    fact = noted.fact
    if fact.subject == "ci-injection":
        message = "text that strangers control runs with the rights of the workflow"
        yield Sighting("ci-injection", fact.spot, message)
    if fact.subject == "folder-open":
        yield Sighting("persistence", fact.spot, "runs a command whenever the folder is opened")
    if "remote" in fact.flow:
        yield from _run_remote(noted, scene)
    elif "decoded" in fact.flow and fact.subject != "process":
        # Dots in the place of the text: talk about such commands.
        level = Level.INFO if re.search(r"\.\.\.|\u2026|<\w+>", fact.spot.text) else None
        yield Sighting("decode-to-shell", fact.spot, "decodes a text and runs it", level=level)
    elif "input" in fact.flow and fact.subject in _EVALS:
        level = None if noted.setting.place == "file" else Level.INFO
        message = "runs text that comes from outside as code"
        yield Sighting("dynamic-code", fact.spot, message, Confidence.LOW, level)


# Code that comes over the network

# No address but a gap: talk about such commands.
_PLACEHOLDER = re.compile(
    r"^https?://(?:\.\.\.|\u2026|<|\$|\{|\[|x{3,}|url\b|evil\b(?!\.\w))|^https?://$", re.IGNORECASE
)
_BUILD = re.compile(
    r"(?:^|/)(?:configure|make|cmake|meson|ninja|setup\.py|autogen\.sh|bootstrap\.sh|gradlew|mvnw)$"
)
_REPOSITORY = re.compile(
    r"^(?:https?://|git@|ssh://git@)(?:www\.)?(?:github|gitlab|bitbucket|codeberg|git\.\w+)[\w.-]*"
    r"[/:][\w.-]+/[\w./-]+?(?:\.git)?/?$",
    re.IGNORECASE,
)
_UNCHECKED = re.compile(r"(?:^|\s)-[a-zA-Z]*k[a-zA-Z]*\s|--insecure|--no-check-certificate")
_SUBSTITUTION = re.compile(r"\$\(|`|<\(")
_TO_FILE = re.compile(r"-OutFile|Start-Process|-o\s")


def _run_remote(noted: Noted, scene: Scene) -> Iterator[Sighting]:
    fact = noted.fact
    url = _address(fact) or _fetched_before(fact, scene)
    if is_local(find_host(url)) and url:
        return
    is_named = re.search(r"[\w-]+\.[a-zA-Z]{2,}|\d+\.\d+|\d{6,}", url)
    nameless = not is_named and noted.setting.place in {"prose", "span"}
    if nameless or _PLACEHOLDER.search(url):
        message = "speaks of running a script from the network"
        yield Sighting("shell-pipe-to-shell", fact.spot, message, Confidence.LOW, Level.INFO)
        return
    lowered = _origin_contexts(fact, url)
    to_file = _TO_FILE.search(fact.spot.text) and "|" not in fact.spot.text
    if fact.subject in _EVALS and not _SUBSTITUTION.search(fact.spot.text):
        message = "runs code that it fetches from the network"
        yield Sighting("dynamic-code", fact.spot, message, level=Level.CRITICAL)
    elif to_file or (fact.target and "://" not in fact.target):
        message = "downloads a file and runs it"
        yield Sighting("download-then-run", fact.spot, message, lowered_by=lowered)
    else:
        message = "runs a script straight from the network"
        yield Sighting("shell-pipe-to-shell", fact.spot, message, lowered_by=lowered)


def _origin_contexts(fact: Fact, url: str) -> tuple[str, ...]:
    """What lowers it: the maker's own installer, a checkout, a build from source."""
    # Without a check of who answers, the maker's address is only a name.
    is_checked = not _UNCHECKED.search(fact.spot.text)
    # Some makers write their address without a scheme.
    bare = url.removeprefix("http://") if "http://" not in fact.spot.text else url
    whole = bare if "://" in bare or not bare else f"https://{bare.rstrip('/')}/"
    if whole and is_checked and (installer := find_installer(whole)):
        return (f"official installer: {installer.who}",)
    runs_file = bool(fact.target) and "://" not in fact.target
    if runs_file and _is_checkout(url):
        return ("a checkout of a public repository",)
    return ("a build from source",) if runs_file and _BUILD.search(fact.target) else ()


def _is_checkout(url: str) -> bool:
    return bool(_REPOSITORY.match(url)) and not re.search(r"/(?:releases|raw|archive|blob)/", url)


def _address(fact: Fact) -> str:
    """The URL that the fact itself names, if any."""
    if "://" in fact.target:
        return fact.target
    found = re.search(r"https?://[^\s\"'`|)]+", fact.spot.text)
    return found.group() if found else ""


def _fetched_before(fact: Fact, scene: Scene) -> str:
    """The address of what was fetched last before `fact` in the same file."""
    before = scene.fetched_before(fact)
    named = [fetch for fetch in before if fetch.target and fetch.target in fact.target]
    return (named or before)[-1].subject if before else ""


def _fetched_files(scene: Scene) -> dict[str, str]:
    """Files that are written from the network, by name, with where they come from."""
    fetched = {
        fact.target.rpartition("/")[2]: fact.subject
        for noted in scene.all(Act.FETCH)
        if (fact := noted.fact).target
        and not is_local(find_host(fact.subject))
        and not find_installer(fact.subject)
    }
    written = (noted.fact for noted in scene.all(Act.WRITE) if "remote" in noted.fact.flow)
    return fetched | {fact.subject.rpartition("/")[2]: "" for fact in written}


def _fetched_elsewhere(scene: Scene) -> _Judged:
    """A file fetched by one command and run by another, each in a block of its own."""
    fetched = _fetched_files(scene)
    shipped = {path.rpartition("/")[2] for path in scene.paths}
    for noted in scene.all(Act.EXEC) if fetched else ():
        name = noted.fact.target.strip("'\"").rpartition("/")[2]
        if not name or name not in fetched or name in shipped or "remote" in noted.fact.flow:
            continue
        if not _is_checkout(fetched[name]):
            message = f"runs {name}, which was downloaded before"
            yield (
                Sighting("download-then-run", noted.fact.spot, message, Confidence.MEDIUM),
                noted,
            )


def _named_alone(scene: Scene) -> _Judged:
    """A download that is made executable, and whose path stands as a step of its own."""
    fetched = _fetched_files(scene)
    for noted in scene.all(Act.PERMISSION) if fetched else ():
        path = noted.fact.target.strip("'\"")
        known = path.rpartition("/")[2] in fetched and "x" in noted.fact.subject
        if known and "/" in path and any(f"`{path}`" in text for text in scene.texts.values()):
            message = f"runs {path}, which was downloaded before"
            yield (
                Sighting("download-then-run", noted.fact.spot, message, Confidence.MEDIUM),
                noted,
            )


_FOLLOW = r"(?:follow|obey|do what|carry out|act on|execute)[^.\n]{0,60}"


def _obeyed_elsewhere(scene: Scene) -> _Judged:
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
        return fact.target != "endpoint" and not is_local(find_host(fact.subject))
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


def _judge_fetch(noted: Noted) -> Iterator[Sighting]:
    fact = noted.fact
    if fact.act is Act.FETCH and _OWN_ORDERS.search(fact.target):
        message = "replaces its own instructions by what it fetches"
        yield Sighting("remote-instructions", fact.spot, message)
    host = find_host(fact.subject)
    if not host or is_local(host):
        return
    if is_raw_address(host):
        yield _bare(fact, host)
    elif kind := (find_drop(fact.subject) or find_paste_site(fact.subject)):
        # In a script nobody reads the address before it is used.
        grave = noted.setting.place == "file" and kind != "chat webhook"
        level = Level.CRITICAL if grave else None
        message = f"talks to {host}: {kind}"
        yield Sighting("suspicious-host", fact.spot, message, Confidence.MEDIUM, level)
    elif is_short_link(fact.subject):
        message = f"{host} hides where a link goes"
        yield Sighting("suspicious-host", fact.spot, message, Confidence.LOW)


def _bare(fact: Fact, host: str) -> Sighting:
    kept = fact.act is Act.FETCH and fact.target
    grave = fact.target != "endpoint" and (kept or _RUNNABLE.search(fact.subject))
    level = None if grave else Level.WARN
    return Sighting("raw-ip-download", fact.spot, f"talks to the bare address {host}", level=level)
