"""Developer and cloud tools: git, GitHub, clouds, databases, agents, package managers."""

import re
from collections.abc import Callable
from dataclasses import replace

from prowess.safety.facts import Act
from prowess.safety.languages.shell.network import fetch, guess_name, send
from prowess.safety.languages.shell.state import (
    EMPTY,
    Argv,
    Datum,
    Options,
    find_row,
    load_matcher,
    load_names,
    name_handlers,
    split_options,
    unknown,
    write_file,
)
from prowess.safety.languages.shell.system import tell_agent_flags

_REMOTE_URL = re.compile(r"(?:https?|ssh|git|file)://|[\w.-]+@[\w.-]+:")
_CLOUD_COPY = re.compile(r"(?:s3|gs|az|b2|r2|oss|cos|minio|swift|https?|azure)://|^[\w-]+:(?!//)")


def _git(call: Argv) -> Datum:
    at = 0
    while at < len(call.args) and call.args[at].text.startswith("-"):
        if call.args[at].text == "-c" and at + 1 < len(call.args):
            key, _, value = call.args[at + 1].text.partition("=")
            _git_setting(call, key, value, lasting=False)
        at += 2 if call.args[at].text in load_names("git_valued") else 1
    if at >= len(call.args):
        return EMPTY
    verb = call.args[at].text
    handler = _GIT_VERBS.get(verb)
    rest = replace(call, args=call.args[at + 1 :])
    return handler(rest) if handler else unknown()


def _git_clone(call: Argv) -> Datum:
    given = split_options(call.args, program="git_clone")
    if not given.operands:
        return EMPTY
    url = given.operands[0]
    folder = (
        given.operands[1].text if given.operands[1:] else guess_name(url.text).removesuffix(".git")
    )
    call.tell(Act.FETCH, url.text, folder, url.labels)
    call.shell.unpacked[call.shell.place(folder)] = unknown("remote", source=url.text)
    return EMPTY


def _git_push(call: Argv) -> Datum:
    given = split_options(call.args, "o --repo --push-option --receive-pack")
    operands = [value.text for value in given.operands]
    refs = operands[1:]
    if given.has("-f --force --mirror --delete -d") or any(
        ref.startswith(("+", ":")) for ref in refs
    ):
        call.tell(Act.WIPE, "remote-branch", " ".join(operands))
    if operands and _REMOTE_URL.match(operands[0]):
        send(call, operands[0], "git", given.operands[0].labels | {"file:."})
    return EMPTY


def _git_clean(call: Argv) -> Datum:
    given = split_options(call.args, "e --exclude")
    if given.has("-f --force") and not given.has("-n --dry-run"):
        paths = given.operands or [Datum(".")]
        for path in paths:
            call.tell(Act.DELETE, path.text, "recursive" if given.has("-d -x") else "")
    return EMPTY


def _git_config(call: Argv) -> Datum:
    given = split_options(call.args, "f --file --type --get --get-all --unset")
    operands = [
        value.text for value in given.operands if value.text not in ("set", "get", "--global")
    ]
    if given.has("--get --get-all -l --list") or len(operands) < len("kv"):
        return (
            unknown("host")
            if any("user." in text for text in [*operands, *call.texts])
            else unknown()
        )
    _git_setting(call, operands[0], operands[1], lasting=True)
    return EMPTY


def _git_setting(call: Argv, key: str, value: str, *, lasting: bool) -> None:
    lowered = key.lower()
    if lowered == "http.sslverify" and value.lower() in ("false", "0"):
        call.tell(Act.DISABLE, "tls", "git")
    elif lowered == "core.hookspath" and value not in (".husky", "/dev/null"):
        call.tell(Act.PERSIST, "git-hook", value)
    elif lowered in load_names("git_commands") or (
        lowered.startswith("alias.") and value.startswith("!")
    ):
        _git_command(call, lowered, value, lasting=lasting)
    elif lowered.endswith((".insteadof", ".pushinsteadof")):
        call.tell(Act.REGISTRY, "git", f"{key} {value}")


def _git_command(call: Argv, key: str, value: str, *, lasting: bool) -> None:
    runs = value.startswith("!") or "/" in value or " " in value.replace(" --wait", "")
    if (
        runs
        and lasting
        and not (
            key == "credential.helper" and value.startswith(("/usr/", "!/usr/", "!gh ", "!aws "))
        )
    ):
        call.tell(Act.PERSIST, "git-config", f"{key}={value}")
    if value.startswith("!"):
        call.shell.run(Datum(value[1:]))


_GIT_VERBS: dict[str, Callable[[Argv], Datum]] = {
    "clone": _git_clone, "push": _git_push, "clean": _git_clean, "config": _git_config,
}  # fmt: skip


def _secret_of_tool(call: Argv, text: str) -> Datum | None:
    """Return the secret that a tool prints, where it is asked for one."""
    if not load_matcher("token_verbs").search(text):
        return None
    value = unknown(f"credential:{call.name}", source=f"{call.name} {text}")
    call.tell(Act.READ, f"credential:{call.name}", text)
    return value


def _gh(call: Argv) -> Datum:
    texts = call.texts
    text = " ".join(texts[:12])
    secret = _secret_of_tool(call, text)
    if secret is not None:
        return secret
    given = split_options(call.args, program="gh")
    if texts[:2] == ["extension", "install"] and texts[2:]:
        install(call, call.name, call.args[2])
        return EMPTY
    if texts[:2] == ["release", "download"] or texts[:2] == ["repo", "clone"]:
        return _gh_download(call, texts)
    if texts[:2] == ["gist", "create"] or texts[:1] == ["api"]:
        labels = call.incoming.labels.union(*(value.labels for value in call.args))
        for path in given.operands[2:] if texts[0] == "gist" else given.values("--input"):
            labels |= call.incoming.labels if path.text == "-" else call.read(path).labels
        if labels:
            send(call, "github.com", "cloud", labels)
        return unknown("remote", source=f"gh {text}")
    labels = frozenset().union(
        *(value.labels for value in given.values("--body -b --body-file -F"))
    )
    if labels - {"input"}:
        send(call, "github.com", "cloud", labels)
    return unknown()


def _gh_download(call: Argv, texts: list[str]) -> Datum:
    given = split_options(call.args[2:], "RpDOA --repo --pattern --dir --output --archive")
    repository = given.first("-R --repo") or (given.operands[0] if given.operands else EMPTY)
    source = unknown("remote", source=f"https://github.com/{repository.text}")
    named = given.first("-O --output") or given.first("-p --pattern")
    if texts[0] == "repo":
        folder = (
            given.operands[1].text if given.operands[1:] else repository.text.rpartition("/")[2]
        )
        call.tell(Act.FETCH, source.source, folder)
        call.shell.unpacked[call.shell.place(folder)] = source
    elif named is not None and named.text == "-":
        call.tell(Act.FETCH, source.source)
        return source
    else:
        fetch(call, Datum(source.source), named.text if named else ".")
    return EMPTY


def _cloud(call: Argv) -> Datum:
    """`aws s3 cp`, `gsutil cp`, `rclone copy`, `az storage blob upload`: either way."""
    texts = call.texts
    text = " ".join(texts[:12])
    secret = _secret_of_tool(call, text)
    if secret is not None:
        return secret
    verbs = load_names("cloud_verbs")
    at = next((at for at, word in enumerate(texts[:6]) if word in verbs), -1)
    if re.search(
        r"\b(?:rb|rm|purge|delete)\b.*(?:--force|--recursive|-r\b)|^purge\b|\brm -r\b", text
    ):
        call.tell(Act.WIPE, "bucket", text)
    if at < 0:
        return unknown("host") if "get-caller-identity" in text else unknown()
    given = split_options(call.args[at + 1 :], program="cloud")
    paths = [*given.operands, *given.values("--file -f")]
    if not paths:
        return EMPTY
    return _cloud_copy(call, paths)


def _cloud_copy(call: Argv, paths: list[Datum]) -> Datum:
    source, target = paths[0], paths[-1]
    if _CLOUD_COPY.match(source.text):
        place = "" if target.text in ("-", source.text) else target.text
        if place.endswith(("/", ".")):
            place = f"{place.rstrip('/')}/{guess_name(source.text)}"
        return fetch(call, source, place)
    labels = call.incoming.labels if source.text == "-" else call.read(source).labels
    send(call, target.text, "cloud", labels | target.labels)
    return EMPTY


def _database(call: Argv) -> Datum:
    texts = call.texts
    code = " ".join([*texts, call.incoming.text[:2000] if call.incoming.known else ""])
    dropping = load_matcher("dropping", re.IGNORECASE)
    if call.name == "dropdb" or dropping.search(code):
        call.tell(Act.WIPE, "database", code)
    operands = split_options(
        call.args, "cefhUpdu --command --eval --file --host --username"
    ).operands
    if call.name == "sqlite3" and operands:
        content = call.read(operands[0])
        return unknown(*content.labels, source=content.source)
    return unknown(f"file:{call.name}")


def _agent(call: Argv) -> Datum:
    """The command lines of agents: their settings, servers and how freely they act."""
    texts = call.texts
    inner = Argv(call.shell, call.name, [Datum(call.name), *call.args], call.stdin)
    tell_agent_flags(inner)
    words = [text for text in texts if not text.startswith("-")]
    if "/".join(words[:2]) in load_names("agent_changes"):
        call.tell(Act.TAMPER, f"{call.name} {' '.join(words[:2])}", " ".join(words[2:]))
        if "--" in texts:
            call.shell.invoke(call.args[texts.index("--") + 1 :], None)
    return unknown()


def _settings_editor(call: Argv) -> None:
    """`crudini --set FILE`, `plutil -replace … FILE`: the last file is changed."""
    operands = split_options(call.args).operands
    for path in operands[:1] if call.name == "crudini" else operands[-1:]:
        write = "/" in path.text or "." in path.text
        if write:
            write_file(call.shell, path, unknown())


_FETCHED = re.compile(
    r"(?:https?|git\+\w+|git|ssh|file)://|git\+|github:|gitlab:|bitbucket:|gist:|git@"
)


def install(call: Argv, manager: str, package: Datum) -> None:
    """Note one package; one that was fetched here, or is named by its URL, also runs its code."""
    labels = package.labels & {"remote", "decoded"}
    if _FETCHED.match(package.text.partition(" @ ")[2] or package.text):
        labels |= {"remote"}
    elif "/" in package.text or package.text.endswith(
        (".whl", ".deb", ".rpm", ".tgz", ".gz", ".pkg", ".apk", ".vsix")
    ):
        labels |= call.shell.read_file(package.text).labels & {"remote", "decoded"}
    call.tell(Act.INSTALL, manager, package.text, labels)
    if labels and not _FETCHED.match(package.text):
        call.tell(Act.EXEC, manager, package.text, labels)


def tell_build(call: Argv) -> None:
    """Note that what was fetched before is built, and so runs its code, in its own folder."""
    origin = call.shell.read_file("./Makefile")
    if "remote" in origin.labels:
        call.tell(Act.INSTALL, "build", origin.source, frozenset(("remote",)))


def _config(call: Argv, manager: str, operands: list[Datum]) -> None:
    """`npm config set key value`, `pip config set key value`, `npm config set key=value`."""
    words = [value.text for value in operands]
    if not words or words[0] not in ("set", "--global"):
        return
    key, _, value = words[1].partition("=") if len(words) > 1 else ("", "", "")
    value = value or " ".join(words[2:3])
    if key.endswith(("registry", "index-url")):
        call.tell(Act.REGISTRY, manager, value)
    elif (key == "strict-ssl" and value == "false") or key.endswith("trusted-host"):
        call.tell(Act.DISABLE, "tls", manager)
    elif key in ("script-shell", "init-module", "node-options", "git", "shell"):
        call.tell(Act.PERSIST, "package-config", f"{key}={value}")


def _run_in_environment(call: Argv, verb: str) -> Datum:
    """Run what follows `uv run`, `poetry run`."""
    texts = call.texts
    valued = load_names("environment_valued")
    at = texts.index(verb) + 1 if verb in texts else len(texts)
    while at < len(texts) and texts[at].startswith("-"):
        if texts[at] in ("--with", "--from") and at + 1 < len(texts):
            install(call, call.name, call.args[at + 1])
        at += 2 if texts[at] in valued else 1
    rest = call.args[at:]
    if rest and rest[0].text.endswith(".py"):
        rest = [Datum("python"), *rest]
    return call.shell.invoke(rest, call.stdin)


def manage(call: Argv) -> Datum:
    """Note what a package manager installs, from where, and what it then runs."""
    row, texts = find_row("managers", call.name), call.texts
    runs = "runs" in row and "run" in texts[:8] and texts[0] != "tool"
    given = split_options(call.args[: texts.index("run")] if runs else call.args, row["valued"])
    name = row.get("as", call.name)
    for value in given.values(row.get("index", "")):
        call.tell(Act.REGISTRY, name, value.text)
    strict = [value.text for value in given.values("--strict-ssl")]
    if given.has("--trusted-host") or strict[:1] == ["false"]:
        call.tell(Act.DISABLE, "tls", name)
    if [value.text for value in given.operands[:1]] in (["config"], ["c"], ["set"]):
        _config(call, name, given.operands[given.operands[0].text != "set" :])
    for package in _find_packages(given, row):
        install(call, name, package)
        if "fetches" in row and _FETCHED.match(package.text):
            call.tell(Act.EXEC, name, package.text, frozenset(("remote",)))
    code = given.first("-c --call") if "fetches" in row else None
    if code is not None:
        return call.shell.run(code)
    return _run_in_environment(call, "run") if runs else EMPTY


def _find_packages(given: Options, row: dict[str, str]) -> list[Datum]:
    """Return what stands behind the verb that installs; a mark behind a verb says: one alone."""
    verbs, packages = row["verbs"].split(), given.operands
    also, instead = given.values(row.get("also", "")), given.values(row.get("instead", ""))
    plain = [verb.rstrip("!") for verb in verbs]
    start = next((at for at, value in enumerate(packages) if value.text in plain), None)
    # What is handed on (`pnpm exec tool add …`) has verbs of its own.
    before = row["before"].split() if "before" in row else None
    if start and before is not None and any(one.text not in before for one in packages[:start]):
        start = None
    is_one = verbs == ["!"]
    if start is not None:
        is_one = f"{packages[start].text}!" in verbs
        packages = packages[start + 1 :]
    elif any(plain) and not given.has(row.get("flags", "")):
        return also
    return [*also, *(instead or packages[:1] if is_one else packages)]


def _install_local(call: Argv) -> None:
    """`dpkg -i`, `rpm -i`, `installer -pkg`: a package file is installed."""
    for path in call.args:
        if path.text.endswith((".deb", ".rpm", ".pkg", ".apk", ".mpkg", ".msi")) or path.labels:
            install(call, call.name, path)


def run_module(call: Argv) -> Datum:
    """Run `python -m NAME …`."""
    at = call.texts.index("-m") + 1
    name = call.texts[at] if at < len(call.texts) else ""
    rest = Argv(call.shell, name, call.args[at + 1 :], call.stdin)
    return manage(rest) if name in ("pip", "uv", "pipx") else EMPTY


HANDLERS = name_handlers(
    _git, _gh, _cloud, _database, _agent, _settings_editor, manage, _install_local,
)  # fmt: skip
