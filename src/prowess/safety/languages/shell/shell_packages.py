"""Package managers: what is installed, and from which index."""

import re
from collections.abc import Callable

from prowess.safety.facts import Act
from prowess.safety.languages.shell.shell_options import Options, options
from prowess.safety.languages.shell.state import EMPTY, Call, Value

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
        return HANDLERS[name](rest)
    return EMPTY


def _easy(call: Call) -> Value:
    for package in options(call.args, "if").operands:
        install(call, call.name, package)
    return EMPTY


_Handler = Callable[[Call], Value]
HANDLERS: dict[str, _Handler] = {
    "pip": _pip, "pip3": _pip, "uv": _uv, "easy_install": _easy, "cpan": _easy,
    **dict.fromkeys(("poetry", "pipenv", "hatch", "pdm", "rye"), _runner),
    **dict.fromkeys(("npx", "uvx", "pipx", "bunx", "pnpx"), _first_package),
    **dict.fromkeys(("npm", "pnpm", "yarn", "cnpm"), npm),
    **dict.fromkeys(_SYSTEM_VERBS, _system),
    **dict.fromkeys(("dpkg", "rpm", "installer", "msiexec"), _local_package),
}  # fmt: skip
