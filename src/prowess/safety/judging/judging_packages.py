"""Facts about packages and variables to sightings: where code is taken from, and what loads it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from prowess.safety.environment_policy import denied_group
from prowess.safety.facts import Act, Fact
from prowess.safety.hosts import host_of, is_local, known_service, raw_address
from prowess.safety.judging.packages import package_lookalike
from prowess.safety.model import Confidence, Level
from prowess.safety.scene import Noted, Scene
from prowess.safety.sighting import Sighting

# The look-up of one name takes a tenth of a millisecond; no honest skill has so many.
_MOST_PACKAGES = 2000
_MODEL_ENDPOINT = re.compile(r"_(?:BASE_URL|API_BASE|ENDPOINT|HOST)$")
_VENDORS = (
    "anthropic.com", "openai.com", "googleapis.com", "azure.com", "huggingface.co", "amazonaws.com",
    "localhost",
)  # fmt: skip
_INDEX_VARIABLE = re.compile(
    r"^(?:GOPROXY|PIP_INDEX_URL|PIP_EXTRA_INDEX_URL|UV_INDEX_URL|NPM_CONFIG_REGISTRY|YARN_REGISTRY"
    r"|CARGO_REGISTRIES_\w+)$",
    re.IGNORECASE,
)
# Indexes that everybody uses, and the large mirrors of their makers.
_KNOWN_INDEXES = (
    "pypi.org", "files.pythonhosted.org", "test.pypi.org", "registry.npmjs.org", "npmjs.org",
    "registry.yarnpkg.com", "npm.pkg.github.com", "download.pytorch.org", "pypi.nvidia.com",
    "pypi.ngc.nvidia.com", "rubygems.org", "crates.io", "jsr.io", "npm.jsr.io", "wheels.vllm.ai",
    "pkgs.dev.azure.com", "proxy.golang.org", "mirrors.aliyun.com", "pypi.tuna.tsinghua.edu.cn",
    "registry.npmmirror.com", "flashinfer.ai", "data.pyg.org", "abetlen.github.io",
)  # fmt: skip
# Variables that make a program load code, and what in their value does it.
_LOADS = {
    "LD_PRELOAD": r"\S",
    "DYLD_INSERT_LIBRARIES": r"\S",
    "LD_AUDIT": r"\S",
    # A package of the project is a tool's own way; a file is somebody's.
    "NODE_OPTIONS": (
        r"(?:--(?:require|import|loader|experimental-loader)|-r)[= ]+(?:\.{0,2}/|[~$]|\w+:|\w+/)"
    ),
    "PYTHONSTARTUP": r"\S",
    "BASH_ENV": r"\S",
    "PERL5OPT": r"-M",
    "RUBYOPT": r"-r",
    "PROMPT_COMMAND": r"curl|wget|http|nc\b|base64|\.sh\b",
    "JAVA_TOOL_OPTIONS": r"-javaagent",
    "_JAVA_OPTIONS": r"-javaagent",
    "GIT_SSH_COMMAND": r"curl|wget|bash|sh -c",
    "GIT_ASKPASS": r"\S",
    "SSH_ASKPASS": r"\S",
}
# Allocators and accelerators that are preloaded everywhere, and libraries of the system.
_HARMLESS_PRELOAD = re.compile(
    r"jemalloc|tcmalloc|mimalloc|libgomp|libasan|libstdc|eatmydata|faketime|tsocks|proxychains|^/usr/lib"
    r"|^$|^''$|^\"\"$"
)


def judge_packages(scene: Scene) -> Iterator[tuple[Sighting, Noted]]:
    """Yield where a skill takes code from that its user did not choose."""
    left = _MOST_PACKAGES
    for act, judge in _JUDGES.items():
        for noted in scene.all(act):
            left -= act is Act.INSTALL
            seen = judge(noted) if left >= 0 else None
            if seen:
                yield seen, noted


def _setenv(noted: Noted) -> Sighting | None:
    fact = noted.fact
    if _INDEX_VARIABLE.search(fact.subject):
        return _registry(replace(noted, fact=replace(fact, act=Act.REGISTRY)))
    is_endpoint = _MODEL_ENDPOINT.search(fact.subject)
    if is_endpoint and denied_group(fact.subject) == "model_and_cloud_redirect":
        return _endpoint(fact)
    if not _loads_code(fact):
        return None
    # In front of one command it is a debugger's tool; exported it stays.
    exported = re.search(r"\bexport\b|\bsetx?\b|\$env:", fact.spot.text)
    own = re.search(r"(?:assets|scripts|references|templates)/", fact.target)
    level = None if exported or own or noted.setting.place != "fence" else Level.WARN
    message = f"makes every later program load code: {fact.subject}"
    return Sighting("loader-env", fact.spot, message, level=level)


def _endpoint(fact: Fact) -> Sighting | None:
    host = host_of(fact.target)
    if not host or is_local(host) or host.endswith(_VENDORS):
        return None
    shipped = fact.spot.path.endswith((".json", ".toml", ".yaml", ".yml", ".env"))
    level = None if shipped else Level.WARN
    message = f"sends the agent's own traffic to {host}"
    return Sighting("loader-env", fact.spot, message, level=level)


def _loads_code(fact: Fact) -> bool:
    pattern = _LOADS.get(fact.subject.upper())
    if not pattern or not re.search(pattern, fact.target):
        return False
    return not _HARMLESS_PRELOAD.search(fact.target)


def _install(noted: Noted) -> Sighting | None:
    fact = noted.fact
    if "://" in fact.target:
        return _from_address(fact)
    name = re.split(r"[\[=<>!~;@ ]", fact.target.lstrip("@"), maxsplit=1)[0]
    name = f"@{name}" if fact.target.startswith("@") else name
    if name and (other := package_lookalike(name, fact.subject)):
        message = f"{name} looks like {other}"
        return Sighting("lookalike-package", fact.spot, message, Confidence.MEDIUM)
    return None


def _from_address(fact: Fact) -> Sighting | None:
    url = fact.target[fact.target.find("http") :] if "http" in fact.target else fact.target
    host = host_of(url)
    if raw_address(host):
        message = f"installs from the bare address {host}"
        return Sighting("raw-ip-download", fact.spot, message)
    if url.startswith("http://") and not is_local(host):
        message = "installs a package over a line that anybody can change"
        return Sighting("unsafe-source", fact.spot, message)
    is_file = re.search(r"\.(?:whl|tar\.gz|tgz|zip)(?:$|[#?])", url)
    if is_file and not is_local(host) and not known_service(url):
        message = f"installs a package straight from {host}"
        return Sighting("unsafe-source", fact.spot, message, Confidence.MEDIUM)
    return None


def _registry(noted: Noted) -> Sighting | None:
    fact = noted.fact
    host = host_of(fact.target)
    known = any(host == index or host.endswith(f".{index}") for index in _KNOWN_INDEXES)
    if not host or known or is_local(host):
        return None
    # A company has an index of its own; it has no need to be reached in the open.
    is_open = fact.target.partition("//")[0].endswith("http:") or raw_address(host)
    level = None if is_open else Level.WARN
    message = f"takes packages from {host}"
    return Sighting("registry-redirect", fact.spot, message, Confidence.MEDIUM, level)


_JUDGES: dict[Act, Callable[[Noted], Sighting | None]] = {
    Act.SETENV: _setenv,
    Act.INSTALL: _install,
    Act.REGISTRY: _registry,
}
