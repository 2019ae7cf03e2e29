"""Addresses whose `curl | sh` is the installation that their own makers document.

A pipe from one of these into a shell is common in honest skills. It stays worth a warning: who
controls the address controls the machine. The table is short on purpose, and each row says who
stands behind it; an address that anybody can write to is never on it.
"""

from typing import NamedTuple
from urllib.parse import unquote, urlsplit


class Installer(NamedTuple):
    """An address that its owner tells people to pipe into a shell."""

    host: str
    # Matched at a segment boundary: "/uv" covers "/uv/install.sh", not "/uvx".
    prefix: str
    who: str
    why: str


# fmt: off
INSTALLERS: tuple[Installer, ...] = (
    Installer("openclaw.ai", "/install.sh", "OpenClaw", "the OpenClaw agent"),
    Installer("raw.githubusercontent.com", "/anchore", "Anchore", "syft and grype"),
    Installer("cli-assets.heroku.com", "/install.sh", "Heroku", "the Heroku CLI"),
    Installer("dot.net", "/v1/dotnet-install.sh", "Microsoft", "the .NET SDK"),
    Installer("aider.chat", "/install.sh", "aider", "the aider agent"),
    Installer("sh.vector.dev", "/", "Vector", "the log pipeline"),
    Installer("get.tur.so", "/install.sh", "Turso", "the Turso CLI"),
    Installer("get.netdata.cloud", "/kickstart.sh", "Netdata", "the monitoring agent"),
    Installer("get.wasmer.io", "/", "Wasmer", "the Wasmer runtime"),
    Installer("direnv.net", "/install.sh", "direnv", "the environment switcher"),
    Installer("raw.githubusercontent.com", "/arduino/arduino-cli", "Arduino", "the Arduino CLI"),
    Installer("install.pi-hole.net", "/", "Pi-hole", "the Pi-hole installer"),
    Installer("apt.llvm.org", "/llvm.sh", "LLVM project", "the installer of clang for Debian"),
    Installer("release.anza.xyz", "/", "Anza", "the Solana command line tools"),
    Installer("sh.rustup.rs", "/", "Rust project", "rustup, the toolchain installer"),
    Installer("astral.sh", "/uv", "Astral", "uv, the Python package manager"),
    Installer("astral.sh", "/ruff", "Astral", "ruff, the Python linter"),
    Installer("bun.sh", "/install", "Oven", "the bun runtime"),
    Installer("bun.sh", "/install.ps1", "Oven", "the bun runtime on Windows"),
    Installer("bun.com", "/install", "Oven", "the bun runtime at its newer address"),
    Installer("deno.land", "/install.sh", "Deno Land", "the deno runtime"),
    Installer("deno.land", "/install.ps1", "Deno Land", "the deno runtime on Windows"),
    Installer("deno.land", "/x/install", "Deno Land", "the deno runtime at its older address"),
    Installer("get.docker.com", "/", "Docker", "the convenience script for Docker Engine"),
    Installer("raw.githubusercontent.com", "/Homebrew/install", "Homebrew", "brew"),
    Installer("raw.githubusercontent.com", "/nvm-sh/nvm", "nvm", "the Node version manager"),
    Installer("raw.githubusercontent.com", "/helm/helm", "Helm", "the get-helm script"),
    Installer("raw.githubusercontent.com", "/ohmyzsh/ohmyzsh", "Oh My Zsh", "the zsh framework"),
    Installer("raw.githubusercontent.com", "/pyenv/pyenv-installer", "pyenv", "pyenv"),
    Installer("raw.githubusercontent.com", "/golangci/golangci-lint", "golangci", "the Go linter"),
    Installer("raw.githubusercontent.com", "/anchore/syft", "Anchore", "the inventory of images"),
    Installer("raw.githubusercontent.com", "/anchore/grype", "Anchore", "the image scanner"),
    Installer("raw.githubusercontent.com", "/aquasecurity/trivy", "Aqua", "the image scanner"),
    Installer("raw.githubusercontent.com", "/leanprover/elan", "Lean", "the toolchain installer"),
    Installer("raw.githubusercontent.com", "/k3d-io/k3d", "k3d", "k3s in containers"),
    Installer("raw.githubusercontent.com", "/asdf-vm/asdf", "asdf", "the version manager"),
    Installer("get.pnpm.io", "/", "pnpm", "the Node package manager"),
    Installer("install.python-poetry.org", "/", "Poetry", "the Python packaging tool"),
    Installer("bootstrap.pypa.io", "/", "Python Packaging Authority", "get-pip"),
    Installer("pyenv.run", "/", "pyenv", "the Python version manager"),
    Installer("pixi.sh", "/install.sh", "prefix.dev", "the pixi package manager"),
    Installer("micro.mamba.pm", "/install.sh", "mamba", "micromamba"),
    Installer("fnm.vercel.app", "/install", "fnm", "the fast Node manager"),
    Installer("get.volta.sh", "/", "Volta", "the JavaScript tool manager"),
    Installer("deb.nodesource.com", "/", "NodeSource", "the Node package source for Debian"),
    Installer("rpm.nodesource.com", "/", "NodeSource", "the Node package source for Red Hat"),
    Installer("ollama.com", "/install.sh", "Ollama", "the local model runner"),
    Installer("ollama.ai", "/install.sh", "Ollama", "the same at its older address"),
    Installer("claude.ai", "/install.sh", "Anthropic", "Claude Code"),
    Installer("claude.ai", "/install.ps1", "Anthropic", "Claude Code on Windows"),
    Installer("cursor.com", "/install", "Anysphere", "the Cursor terminal agent"),
    Installer("opencode.ai", "/install", "opencode", "the opencode terminal agent"),
    Installer("zed.dev", "/install.sh", "Zed Industries", "the Zed editor"),
    Installer("starship.rs", "/install.sh", "Starship", "the shell prompt"),
    Installer("setup.atuin.sh", "/", "Atuin", "the shell history"),
    Installer("get.chezmoi.io", "/", "chezmoi", "the dotfile manager"),
    Installer("mise.run", "/", "mise", "the tool version manager"),
    Installer("mise.jdx.dev", "/install.sh", "mise", "the same at its project address"),
    Installer("moonrepo.dev", "/install", "moonrepo", "the moon and proto tools"),
    Installer("get.sdkman.io", "/", "SDKMAN", "the Java tool manager"),
    Installer("get.rvm.io", "/", "RVM", "the Ruby version manager"),
    Installer("get-ghcup.haskell.org", "/", "Haskell Foundation", "the toolchain installer"),
    Installer("install.julialang.org", "/", "Julia project", "juliaup"),
    Installer("dot.net", "/v1", "Microsoft", "the dotnet-install scripts"),
    Installer("aka.ms", "/install-azd.sh", "Microsoft", "the Azure developer command line"),
    Installer("aka.ms", "/InstallAzureCLIDeb", "Microsoft", "the Azure command line on Debian"),
    Installer("sdk.cloud.google.com", "/", "Google", "the Google Cloud command line"),
    Installer("fly.io", "/install.sh", "Fly.io", "flyctl"),
    Installer("railway.com", "/install.sh", "Railway", "the Railway command line"),
    Installer("cli.doppler.com", "/install.sh", "Doppler", "the Doppler command line"),
    Installer("sentry.io", "/get-cli", "Sentry", "sentry-cli"),
    Installer("get.pulumi.com", "/", "Pulumi", "the Pulumi command line"),
    Installer("get.opentofu.org", "/install-opentofu.sh", "OpenTofu", "the tofu command"),
    Installer("dl.dagger.io", "/dagger", "Dagger", "the dagger command"),
    Installer("taskfile.dev", "/install.sh", "Task", "the task runner"),
    Installer("just.systems", "/install.sh", "just", "the command runner"),
    Installer("tailscale.com", "/install.sh", "Tailscale", "the Tailscale client"),
    Installer("get.k3s.io", "/", "k3s", "the small Kubernetes"),
    Installer("fluxcd.io", "/install.sh", "Flux", "the flux command"),
    Installer("istio.io", "/downloadIstio", "Istio", "the Istio release"),
    Installer("run.linkerd.io", "/install", "Buoyant", "the linkerd command"),
    Installer("install.determinate.systems", "/nix", "Determinate Systems", "the Nix installer"),
    Installer("nixos.org", "/nix/install", "NixOS Foundation", "the Nix installer"),
    Installer("releases.nixos.org", "/nix", "NixOS Foundation", "pinned Nix installers"),
    Installer("get.jetify.com", "/devbox", "Jetify", "devbox"),
    Installer("foundry.paradigm.xyz", "/", "Paradigm", "foundryup"),
    Installer("wasmtime.dev", "/install.sh", "Bytecode Alliance", "the wasmtime runtime"),
    Installer("get.nextflow.io", "/", "Nextflow", "the workflow engine"),
    Installer("install.duckdb.org", "/", "DuckDB", "the DuckDB command line"),
    Installer("dprint.dev", "/install.sh", "dprint", "the code formatter"),
    Installer("get.scoop.sh", "/", "Scoop", "the Windows package manager"),
    Installer("community.chocolatey.org", "/install.ps1", "Chocolatey", "the package manager"),
)
# fmt: on

_BY_HOST: dict[str, tuple[Installer, ...]] = {
    host: tuple(row for row in INSTALLERS if row.host == host)
    for host in {row.host for row in INSTALLERS}
}
_HTTPS_PORT = 443


def is_official(url: str) -> Installer | None:
    """Return who documents `url` as an installer: https, the exact host, the path by segments."""
    # Controls and backslashes are read differently by each client: such an address is nobody's.
    if any(letter <= " " or letter in '\\"<>`' for letter in url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme.lower() != "https" or "@" in parts.netloc or port not in {None, _HTTPS_PORT}:
        return None
    rows = _BY_HOST.get((parts.hostname or "").removesuffix("."), ())
    path = unquote(unquote(parts.path))
    if ".." in path.split("/"):
        return None
    return next((row for row in rows if _covers(row.prefix, path)), None)


def _covers(prefix: str, path: str) -> bool:
    whole = prefix.rstrip("/")
    return path == whole or path.startswith(f"{whole}/")
