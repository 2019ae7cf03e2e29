"""Developer and cloud tools: git, GitHub, clouds, databases, agents.

Package managers: what is installed, and from which index.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from prowess.safety.facts import Act
from prowess.safety.languages.shell.network import default_name, fetched, send
from prowess.safety.languages.shell.state import (
    EMPTY,
    Call,
    Options,
    Value,
    options,
    unknown,
    write_file,
)
from prowess.safety.languages.shell.system import tell_agent_flags

_GIT_VALUED = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"))
_REMOTE_URL = re.compile(r"(?:https?|ssh|git|file)://|[\w.-]+@[\w.-]+:")
_DROPPING = re.compile(
    r"\b(?:drop\s+(?:database|schema|table)|truncate\s+table|delete\s+from\s+\w+\s*(?:;"
    r"|$)|dropDatabase|flushall|flushdb)\b"
    r"|delete\s+from\s+\w+\s*(?:;|$)",
    re.IGNORECASE,
)
_CLOUD_COPY = re.compile(r"(?:s3|gs|az|b2|r2|oss|cos|minio|swift|https?|azure)://|^[\w-]+:(?!//)")
_TOKEN_VERBS = re.compile(
    r"auth token\b|auth print-(?:access|identity)-token|configure (?:get"
    r"|export-credentials)|account get-access-token"
    r"|(?:get|describe) secrets?\b|kv get\b|^read\b|secretsmanager get-secret-value"
    r"|ssm get-parameters?\b.*--with-decryption"
    r"|secrets versions access|keyvault secret show|ecr get-login-password|sts get-session-token"
)


def _git(call: Call) -> Value:
    at = 0
    while at < len(call.args) and call.args[at].text.startswith("-"):
        if call.args[at].text == "-c" and at + 1 < len(call.args):
            key, _, value = call.args[at + 1].text.partition("=")
            _git_setting(call, key, value, lasting=False)
        at += 2 if call.args[at].text in _GIT_VALUED else 1
    if at >= len(call.args):
        return EMPTY
    verb = call.args[at].text
    handler = _GIT_VERBS.get(verb)
    rest = replace(call, args=call.args[at + 1 :])
    return handler(rest) if handler else unknown()


def _git_clone(call: Call) -> Value:
    given = options(
        call.args,
        "bocj",
        frozenset(("--branch", "--depth", "--origin", "--config", "--filter", "--template")),
    )
    if not given.operands:
        return EMPTY
    url = given.operands[0]
    folder = (
        given.operands[1].text
        if given.operands[1:]
        else default_name(url.text).removesuffix(".git")
    )
    call.tell(Act.FETCH, url.text, folder, url.labels)
    call.shell.unpacked[call.shell.place(folder)] = unknown("remote", source=url.text)
    return EMPTY


def _git_push(call: Call) -> Value:
    given = options(call.args, "o", frozenset(("--repo", "--push-option", "--receive-pack")))
    operands = [value.text for value in given.operands]
    refs = operands[1:]
    if given.has("-f", "--force", "--mirror", "--delete", "-d") or any(
        ref.startswith(("+", ":")) for ref in refs
    ):
        call.tell(Act.WIPE, "remote-branch", " ".join(operands))
    if operands and _REMOTE_URL.match(operands[0]):
        send(call, operands[0], "git", given.operands[0].labels | {"file:."})
    return EMPTY


def _git_clean(call: Call) -> Value:
    given = options(call.args, "e", frozenset(("--exclude",)))
    if given.has("-f", "--force") and not given.has("-n", "--dry-run"):
        paths = given.operands or [Value(".")]
        for path in paths:
            call.tell(Act.DELETE, path.text, "recursive" if given.has("-d", "-x") else "")
    return EMPTY


def _git_config(call: Call) -> Value:
    given = options(
        call.args, "f", frozenset(("--file", "--type", "--get", "--get-all", "--unset"))
    )
    operands = [
        value.text for value in given.operands if value.text not in ("set", "get", "--global")
    ]
    if given.has("--get", "--get-all", "-l", "--list") or len(operands) < len("kv"):
        return (
            unknown("host")
            if any("user." in text for text in [*operands, *call.texts])
            else unknown()
        )
    _git_setting(call, operands[0], operands[1], lasting=True)
    return EMPTY


def _git_setting(call: Call, key: str, value: str, *, lasting: bool) -> None:
    lowered = key.lower()
    if lowered == "http.sslverify" and value.lower() in ("false", "0"):
        call.tell(Act.DISABLE, "tls", "git")
    elif lowered == "core.hookspath" and value not in (".husky", "/dev/null"):
        call.tell(Act.PERSIST, "git-hook", value)
    elif lowered in _GIT_COMMANDS or (lowered.startswith("alias.") and value.startswith("!")):
        _git_command(call, lowered, value, lasting=lasting)
    elif lowered.endswith((".insteadof", ".pushinsteadof")):
        call.tell(Act.REGISTRY, "git", f"{key} {value}")


_GIT_COMMANDS = frozenset(("core.sshcommand", "core.pager", "core.editor", "core.fsmonitor",
"core.askpass", "credential.helper",
                           "diff.external", "gpg.program", "filter.lfs.smudge"))  # fmt: skip


def _git_command(call: Call, key: str, value: str, *, lasting: bool) -> None:
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
        call.shell.run(Value(value[1:]))


_GIT_VERBS: dict[str, Callable[[Call], Value]] = {
    "clone": _git_clone, "push": _git_push, "clean": _git_clean, "config": _git_config,
}  # fmt: skip


def _secret_of_tool(call: Call, text: str) -> Value | None:
    """Return the secret that a tool prints, where it is asked for one."""
    if not _TOKEN_VERBS.search(text):
        return None
    value = unknown(f"credential:{call.name}", source=f"{call.name} {text}")
    call.tell(Act.READ, f"credential:{call.name}", text)
    return value


def _gh(call: Call) -> Value:
    texts = call.texts
    text = " ".join(texts[:12])
    secret = _secret_of_tool(call, text)
    if secret is not None:
        return secret
    given = options(call.args, "RfFpdDobtHXq", frozenset(("--repo", "--pattern", "--dir",
    "--output", "--filename", "--desc",
                                                         "--body", "--body-file", "--title",
                                                         "--field", "--raw-field",
                                                         "--input", "--jq", "--method",
                                                         "--header")))  # fmt: skip
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
        *(value.labels for value in given.values("--body", "-b", "--body-file", "-F"))
    )
    if labels - {"input"}:
        send(call, "github.com", "cloud", labels)
    return unknown()


def _gh_download(call: Call, texts: list[str]) -> Value:
    given = options(
        call.args[2:], "RpDOA", frozenset(("--repo", "--pattern", "--dir", "--output", "--archive"))
    )
    repository = given.first("-R", "--repo") or (given.operands[0] if given.operands else EMPTY)
    source = unknown("remote", source=f"https://github.com/{repository.text}")
    named = given.first("-O", "--output") or given.first("-p", "--pattern")
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
        fetched(call, Value(source.source), named.text if named else ".")
    return EMPTY


def _cloud(call: Call) -> Value:
    """`aws s3 cp`, `gsutil cp`, `rclone copy`, `az storage blob upload`: either way."""
    texts = call.texts
    text = " ".join(texts[:12])
    secret = _secret_of_tool(call, text)
    if secret is not None:
        return secret
    verbs = {
        "cp",
        "sync",
        "mv",
        "copy",
        "copyto",
        "moveto",
        "move",
        "rsync",
        "put",
        "upload",
        "mirror",
    }
    at = next((at for at, word in enumerate(texts[:6]) if word in verbs), -1)
    if re.search(
        r"\b(?:rb|rm|purge|delete)\b.*(?:--force|--recursive|-r\b)|^purge\b|\brm -r\b", text
    ):
        call.tell(Act.WIPE, "bucket", text)
    if at < 0:
        return unknown("host") if "get-caller-identity" in text else unknown()
    given = options(call.args[at + 1 :], "f", frozenset(("--profile", "--region", "--endpoint-url",
    "--exclude", "--include",
                                                        "--acl", "--config", "--container",
                                                        "--file", "--name")))  # fmt: skip
    paths = [*given.operands, *given.values("--file", "-f")]
    if not paths:
        return EMPTY
    return _cloud_copy(call, paths)


def _cloud_copy(call: Call, paths: list[Value]) -> Value:
    source, target = paths[0], paths[-1]
    if _CLOUD_COPY.match(source.text):
        place = "" if target.text in ("-", source.text) else target.text
        if place.endswith(("/", ".")):
            place = f"{place.rstrip('/')}/{default_name(source.text)}"
        return fetched(call, source, place)
    labels = call.incoming.labels if source.text == "-" else call.read(source).labels
    send(call, target.text, "cloud", labels | target.labels)
    return EMPTY


def _database(call: Call) -> Value:
    texts = call.texts
    code = " ".join([*texts, call.incoming.text[:2000] if call.incoming.known else ""])
    if call.name == "dropdb" or _DROPPING.search(code):
        call.tell(Act.WIPE, "database", code)
    operands = options(
        call.args, "cefhUpdu", frozenset(("--command", "--eval", "--file", "--host", "--username"))
    ).operands
    if call.name == "sqlite3" and operands:
        content = call.read(operands[0])
        return unknown(*content.labels, source=content.source)
    return unknown(f"file:{call.name}")


def _agent(call: Call) -> Value:
    """The command lines of agents: their settings, servers and how freely they act."""
    texts = call.texts
    inner = Call(call.shell, call.name, [Value(call.name), *call.args], call.stdin)
    tell_agent_flags(inner)
    words = [text for text in texts if not text.startswith("-")]
    pairs = {("mcp", "add"), ("mcp", "add-json"), ("config", "set"), ("config", "add"), ("plugins",
    "install"), ("plugin", "install"),
             ("hooks", "add"), ("skills", "install"), ("skill", "install"), ("extensions",
             "install"), ("cron", "add"),
             ("mcp", "set"), ("hooks", "install"), ("plugin", "add")}  # fmt: skip
    if tuple(words[:2]) in pairs:
        call.tell(Act.TAMPER, f"{call.name} {' '.join(words[:2])}", " ".join(words[2:]))
        if "--" in texts:
            call.shell.invoke(call.args[texts.index("--") + 1 :], None)
    return unknown()


def _settings_editor(call: Call) -> Value:
    """`crudini --set FILE`, `plutil -replace … FILE`: the last file is changed."""
    operands = options(call.args).operands
    for path in operands[:1] if call.name == "crudini" else operands[-1:]:
        write = "/" in path.text or "." in path.text
        if write:
            write_file(call.shell, path, unknown())
    return EMPTY


HANDLERS: dict[str, Callable[[Call], Value]] = {
    "git": _git, "gh": _gh, "glab": _gh, "hub": _gh,
    **dict.fromkeys(("aws", "gsutil", "gcloud", "az", "rclone", "s3cmd", "mc", "b2", "azcopy",
    "doctl", "vault", "s5cmd", "ossutil"), _cloud),
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3", "mongo", "mongosh", "redis-cli",
    "dropdb", "sqlcmd", "clickhouse-client"), _database),
    **dict.fromkeys(("claude", "codex", "gemini", "openclaw", "clawdbot", "moltbot",
    "cursor-agent", "hermes", "aider", "opencode",
                     "qwen", "copilot", "amp", "goose", "kiro-cli", "q"), _agent),
    **dict.fromkeys(("crudini", "plutil", "PlistBuddy"), _settings_editor),
}  # fmt: skip


_PIP_LONG = frozenset((
    "--index-url", "--extra-index-url", "--find-links", "--trusted-host", "--requirement",
    "--constraint", "--target",
    "--prefix", "--editable", "--python", "--index", "--default-index", "--with", "--from",
    "--only-binary", "--no-binary",
    "--proxy", "--cert", "--timeout", "--root", "--platform", "--python-version", "--src",
    "--cache-dir", "--extra", "--group",
))  # fmt: skip
_NPM_LONG = frozenset(("--registry", "--prefix", "--userconfig", "--cache", "--tag", "--package",
"--call", "--workspace",
                       "--filter", "--dir", "--cwd", "-p"))  # fmt: skip
_NPM_VERBS = frozenset(
    ("install", "i", "add", "in", "isntall", "global", "exec", "x", "dlx", "create", "init")
)
_SYSTEM_VERBS = {
    **dict.fromkeys(("apt", "apt-get", "aptitude", "dnf", "yum", "zypper", "brew", "port", "conda",
    "mamba", "micromamba", "snap",
                     "flatpak", "choco", "winget", "scoop", "gem", "cargo", "go", "mas", "nix",
                     "opkg", "composer", "code",
                     "cursor", "helm", "cpanm", "dotnet", "rustup", "pkg", "asdf", "mise",
                     "luarocks", "opam"),
                    frozenset(("install", "add", "get", "localinstall", "reinstall", "require",
                    "binstall",
                               "--install-extension", "tap"))),
    "apk": frozenset(("add",)), "pacman": frozenset(("-S", "-Sy", "-Syu", "-U")),
    "yay": frozenset(("-S", "-Sy")),
    "cpanm": frozenset(), "go": frozenset(("install", "get", "run")),
}  # fmt: skip
_FETCHED = re.compile(
    r"(?:https?|git\+\w+|git|ssh|file)://|git\+|github:|gitlab:|bitbucket:|gist:|git@"
)


def install(call: Call, manager: str, package: Value) -> None:
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


def registry(call: Call, manager: str, given: Options, names: tuple[str, ...]) -> None:
    """Note the indexes that options name."""
    for value in given.values(*names):
        call.tell(Act.REGISTRY, manager, value.text)


def _pip(call: Call) -> Value:
    given = options(call.args, "ifrcte", _PIP_LONG)
    _python_options(call, "pip", given)
    operands = given.operands
    if operands and operands[0].text == "config":
        _config(call, "pip", operands[1:])
    elif operands and operands[0].text in ("install", "download", "wheel"):
        for package in [*operands[1:], *given.values("-e", "--editable")]:
            install(call, "pip", package)
    return EMPTY


def _python_options(call: Call, manager: str, given: Options) -> None:
    registry(
        call,
        manager,
        given,
        (
            "-i",
            "--index-url",
            "--extra-index-url",
            "--index",
            "--default-index",
            "-f",
            "--find-links",
        ),
    )
    if given.has("--trusted-host"):
        call.tell(Act.DISABLE, "tls", manager)


def _config(call: Call, manager: str, operands: list[Value]) -> None:
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


def _uv(call: Call) -> Value:
    texts = call.texts
    own = (
        call.args[: texts.index("run")] if "run" in texts[:8] and texts[0] != "tool" else call.args
    )
    given = options(own, "ifrcep", _PIP_LONG)
    _python_options(call, "uv", given)
    for package in given.values("--with", "--from"):
        install(call, "uv", package)
    words = [value.text for value in given.operands]
    if words[:1] == ["pip"]:
        given.operands = given.operands[1:]
        words = words[1:]
    if words[:2] == ["tool", "install"] or words[:2] == ["tool", "run"]:
        packages = given.operands[2:]
        for package in packages if words[1] == "install" else packages[:1]:
            install(call, "uv", package)
    elif words[:1] in (["install"], ["add"]):
        for package in given.operands[1:]:
            install(call, "uv", package)
    return _run_in_environment(call, "run") if own is not call.args else EMPTY


def _run_in_environment(call: Call, verb: str) -> Value:
    """Run what follows `uv run`, `poetry run`."""
    texts = call.texts
    at = texts.index(verb) + 1 if verb in texts else len(texts)
    while at < len(texts) and texts[at].startswith("-"):
        if texts[at] in ("--with", "--from") and at + 1 < len(texts):
            install(call, call.name, call.args[at + 1])
        at += (
            2
            if texts[at]
            in (
                "--with",
                "--from",
                "--python",
                "-p",
                "--extra",
                "--group",
                "--project",
                "--directory",
            )
            else 1
        )
    rest = call.args[at:]
    if rest and rest[0].text.endswith(".py"):
        rest = [Value("python"), *rest]
    return call.shell.invoke(rest, call.stdin)


def _runner(call: Call) -> Value:
    """`poetry`, `pipenv`, `hatch`, `pdm`, `rye`: add packages or run a command."""
    given = options(call.args, "", frozenset(("--index", "--source", "--pypi-mirror")))
    registry(call, call.name, given, ("--index", "--pypi-mirror"))
    words = [value.text for value in given.operands]
    if words[:1] in (["add"], ["install"]):
        for package in given.operands[1:]:
            install(call, call.name, package)
    elif words[:1] == ["run"]:
        return _run_in_environment(call, "run")
    return EMPTY


def _first_package(call: Call) -> Value:
    """`npx`, `uvx`, `pipx run`, `bunx`: a package is fetched and run."""
    long = _NPM_LONG | _PIP_LONG
    given = options(call.args, "pc", long - {"--yes"})
    registry(
        call,
        call.name,
        given,
        ("--registry", "--index-url", "--extra-index-url", "--index", "--default-index"),
    )
    named = given.values("-p", "--package", "--from", "--with")
    operands = given.operands
    if call.name == "pipx" and operands:
        verb, operands = operands[0].text, operands[1:]
        if verb not in ("run", "install", "inject"):
            return EMPTY
        operands = operands if verb == "install" else operands[:1]
    else:
        operands = operands[:1]
    for package in named or operands:
        install(call, call.name, package)
        if _FETCHED.match(package.text):
            call.tell(Act.EXEC, call.name, package.text, frozenset(("remote",)))
    code = given.first("-c", "--call")
    return call.shell.run(code) if code else EMPTY


def npm(call: Call) -> Value:
    """Note what `npm` and its kin install or set."""
    given = options(call.args, "C", _NPM_LONG)
    registry(call, call.name, given, ("--registry",))
    if given.values("--strict-ssl")[:1] and given.values("--strict-ssl")[0].text == "false":
        call.tell(Act.DISABLE, "tls", call.name)
    words = [value.text for value in given.operands]
    if words[:1] in (["config"], ["c"]):
        _config(call, call.name, given.operands[1:])
    elif words[:1] == ["set"]:
        _config(call, call.name, given.operands)
    elif words[:1] and words[0] in _NPM_VERBS:
        packages = given.operands[1:]
        if words[0] == "global":
            packages = packages[1:]
        if words[0] in ("exec", "x", "dlx", "create", "init"):
            packages = given.values("--package", "-p") or packages[:1]
        for package in packages:
            install(call, call.name, package)
    return EMPTY


_SYSTEM_LONG = frozenset(
    ("--source", "--git", "--registry", "--channel", "-c", "--index", "--version", "--repo")
)


def _system(call: Call) -> Value:
    verbs = _SYSTEM_VERBS[call.name]
    given = options(call.args, "", _SYSTEM_LONG)
    registry(call, call.name, given, ("--registry", "--index"))
    if call.name == "gem":
        registry(call, "gem", given, ("--source", "-s"))
    words = call.texts
    start = next((at for at, text in enumerate(words) if text in verbs), -1)
    if verbs and start < 0:
        return EMPTY
    taken = {id(value) for values in given.given.values() for value in values}
    packages = [
        value
        for value in call.args[start + 1 :]
        if not value.text.startswith("-") and id(value) not in taken
    ]
    runs = start >= 0 and words[start] == "run"
    for package in [*given.values("--git"), *(packages[:1] if runs else packages)]:
        install(call, call.name, package)
    return EMPTY


def _local_package(call: Call) -> Value:
    """`dpkg -i`, `rpm -i`, `installer -pkg`: a package file is installed."""
    for path in call.args:
        if path.text.endswith((".deb", ".rpm", ".pkg", ".apk", ".mpkg", ".msi")) or path.labels:
            install(call, call.name, path)
    return EMPTY


def module(call: Call) -> Value:
    """Run `python -m NAME …`."""
    texts = call.texts
    at = texts.index("-m")
    name = texts[at + 1] if at + 1 < len(texts) else ""
    rest = Call(call.shell, name, call.args[at + 2 :], call.stdin)
    if name in ("pip", "uv", "pipx"):
        return PACKAGES_HANDLERS[name](rest)
    return EMPTY


def _easy(call: Call) -> Value:
    for package in options(call.args, "if").operands:
        install(call, call.name, package)
    return EMPTY


_Handler = Callable[[Call], Value]
PACKAGES_HANDLERS: dict[str, _Handler] = {
    "pip": _pip, "pip3": _pip, "uv": _uv, "easy_install": _easy, "cpan": _easy,
    **dict.fromkeys(("poetry", "pipenv", "hatch", "pdm", "rye"), _runner),
    **dict.fromkeys(("npx", "uvx", "pipx", "bunx", "pnpx"), _first_package),
    **dict.fromkeys(("npm", "pnpm", "yarn", "cnpm"), npm),
    **dict.fromkeys(_SYSTEM_VERBS, _system),
    **dict.fromkeys(("dpkg", "rpm", "installer", "msiexec"), _local_package),
}  # fmt: skip
