"""Whose host an address names: who receives what is sent there, and how sure that is.

Only names and numbers are compared; nothing is looked up.

Addresses whose `curl | sh` is the installation that their own makers document.

A pipe from one of these into a shell is common in honest skills. It stays worth a warning: who
controls the address controls the machine. The table is short on purpose, and each row says who
stands behind it; an address that anybody can write to is never on it.
"""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_MAX_TEXT = 4096
# An address inside a text; quotes, brackets and spaces end it.
_URL = re.compile(
    r"\b(?:h(?:tt|xx)ps?|wss?|s?ftps?|ssh|git|tcp|udp):[/\\]{1,3}([^\s\"'`<>|)}]+)", re.IGNORECASE
)
_HOST = re.compile(r"(?:[\w-]{1,63}\.)*[\w-]{1,63}\.?")
_SIX = re.compile(r"\[([0-9a-f:.]{2,45})(?:%[\w.-]+)?\]", re.IGNORECASE)
_AUTHORITY_END = re.compile(r"[/?#]")
_NUMBER = re.compile(r"0x[0-9a-f]{0,8}|[0-9]{1,11}")
_FOUR_PARTS = 4
_BYTE = 255

# Whoever opens a page there reads all that is sent to it: the usual ends of stolen data.
_DROPS: dict[str, tuple[str, ...]] = {
    "request catcher": (
        "webhook.site", "requestbin.com", "requestbin.net", "requestbin.io", "requestbin.cn",
        "pipedream.net",
        "beeceptor.com", "requestcatcher.com", "hookbin.com", "webhookinbox.com",
        "requestinspector.com", "webhook.cool", "ptsv2.com", "ptsv3.com", "postb.in",
        "toptal.com/developers/postbin",
        "mockbin.org", "mockbin.io", "putsreq.com", "smee.io", "typedwebhook.tools",
        "canarytokens.com", "canarytokens.org", "dnslog.cn", "ceye.io", "dnsbin.zhack.ca",
        "requestrepo.com",
        "oast.pro", "oast.live", "oast.site", "oast.online", "oast.fun", "oast.me", "interact.sh",
        "interactsh.com",
        "burpcollaborator.net", "oastify.com", "bxss.me", "xss.ht", "ezxss.com", "log.xn--9tr.com",
    ),
    "tunnel": (
        "ngrok.io", "ngrok.app", "ngrok.dev", "ngrok-free.app", "ngrok-free.dev",
        "trycloudflare.com",
        "serveo.net", "serveousercontent.com", "loca.lt", "localtunnel.me", "localhost.run",
        "lhr.life", "lhr.rocks",
        "lhrtunnel.link", "bore.pub", "pagekite.me", "tunnelmole.net", "telebit.io", "playit.gg",
        "portmap.io",
        "localxpose.io", "loclx.io", "pinggy.io", "pinggy.link", "pinggy.online",
        "packetriot.net", "zrok.io",
        "devtunnels.ms", "tunnelto.dev", "webhookrelay.com",
    ),
    "chat webhook": (
        "discord.com/api/webhooks", "discordapp.com/api/webhooks", "hooks.slack.com",
        "api.telegram.org",
        "webhook.office.com", "hooks.zapier.com", "hook.integromat.com", "maker.ifttt.com",
        "ntfy.sh",
        "open.feishu.cn/open-apis/bot", "oapi.dingtalk.com/robot",
        "qyapi.weixin.qq.com/cgi-bin/webhook",
    ),
    "file drop": (
        "transfer.sh", "file.io", "gofile.io", "anonfiles.com", "anonfile.com", "bayfiles.com",
        "0x0.st", "termbin.com",
        "bashupload.com", "temp.sh", "catbox.moe", "litterbox.catbox.moe", "uguu.se",
        "pixeldrain.com", "tmpfiles.org",
        "tmpfile.link", "oshi.at", "free.keep.sh", "keep.sh", "ufile.io", "send.vis.ee",
        "filebin.net", "x0.at", "envs.sh",
        "ttm.sh", "wetransfer.com", "sendspace.com", "zippyshare.com", "krakenfiles.com",
        "workupload.com", "paste.c-net.org",
        "mega.nz", "mediafire.com", "upload.ee", "fex.net", "dropmefiles.com", "qiwi.gg",
        "files.fm", "put.re", "wormhole.app",
    ),
}  # fmt: skip

# Text that anybody may post without a name, and change or remove again.
_PASTES = (
    "pastebin.com", "glot.io", "rentry.co", "rentry.org", "hastebin.com", "hastebin.skyra.pw",
    "toptal.com/developers/hastebin",
    "paste.ee", "dpaste.com", "dpaste.org", "ghostbin.com", "ghostbin.co", "controlc.com",
    "privatebin.net", "privatebin.info",
    "telegra.ph", "ix.io", "sprunge.us", "clbin.com", "paste.rs", "paste.debian.net",
    "paste.ubuntu.com", "pastes.dev",
    "justpaste.it", "justpaste.me", "codepad.org", "pastie.org", "pasteio.com", "bpa.st",
    "bpaste.net",
    "paste.mozilla.org", "paste.centos.org", "paste.opensuse.org", "paste.gg", "paste.sh",
    "paste.jp", "pastecode.io", "p.ip.fi",
    "snippet.host", "textbin.net", "zerobin.net", "0bin.net", "defuse.ca/pastebin", "nekobin.com",
    "katb.in",
    "friendpaste.com", "cl1p.net", "shrib.com", "notes.io", "pastelink.net", "jsonkeeper.com",
    "npoint.io", "jsonblob.com",
)  # fmt: skip

# Addresses that say nothing about where they lead, and may lead elsewhere tomorrow.
_SHORT = (
    "bit.ly", "bitly.com", "j.mp", "tinyurl.com", "goo.gl", "t.co", "is.gd", "v.gd", "ow.ly",
    "buff.ly", "cutt.ly", "rb.gy",
    "rebrand.ly", "shorturl.at", "tiny.cc", "t.ly", "s.id", "bl.ink", "adf.ly", "shorte.st",
    "git.io", "qr.ae", "lnkd.in",
    "soo.gd", "clck.ru", "u.to", "x.gd", "t2m.io", "surl.li", "urlz.fr", "shorturl.asia",
    "dub.sh", "n9.cl", "kutt.it",
    "tr.im", "snip.ly", "short.io", "shrtco.de", "chilp.it", "2u.pw", "da.gd", "ur1.ca", "vk.cc",
    "dlvr.it", "trib.al",
)  # fmt: skip

# Large services that a skill may name as the place of the user's own account.
_SERVICES: dict[str, tuple[str, ...]] = {
    "GitHub": ("github.com", "githubusercontent.com", "githubcopilot.com", "ghcr.io"),
    "GitLab": ("gitlab.com",),
    "Bitbucket and Atlassian": ("bitbucket.org", "atlassian.com", "atlassian.net"),
    "OpenAI": ("openai.com",),
    "Anthropic": ("anthropic.com", "claude.ai", "claude.com"),
    "Google": ("googleapis.com", "google.com", "gstatic.com", "youtube.com", "android.com"),
    "Microsoft": ("microsoft.com", "azure.com", "live.com", "office.com", "office365.com",
    "windows.net",
                  "microsoftonline.com", "visualstudio.com", "linkedin.com"),
    "Amazon": ("amazonaws.com", "amazon.com", "aws.amazon.com"),
    "Apple": ("apple.com", "icloud.com"),
    "Meta": ("facebook.com", "instagram.com", "whatsapp.com", "threads.net"),
    "Slack": ("slack.com",),
    "Discord": ("discord.com", "discordapp.com"),
    "Hugging Face": ("huggingface.co", "hf.co"),
    "Mistral": ("mistral.ai",), "Cohere": ("cohere.ai", "cohere.com"), "Groq": ("groq.com",),
    "OpenRouter": ("openrouter.ai",), "Together": ("together.xyz", "together.ai"),
    "Perplexity": ("perplexity.ai",),
    "xAI": ("x.ai",), "DeepSeek": ("deepseek.com",), "Replicate": ("replicate.com",),
    "ElevenLabs": ("elevenlabs.io",),
    "Fal": ("fal.ai", "fal.run"), "Stability": ("stability.ai",), "NVIDIA": ("nvidia.com",),
    "Jina": ("jina.ai",),
    "Brave": ("search.brave.com",), "Tavily": ("tavily.com",), "Exa": ("exa.ai",),
    "Serper": ("serper.dev",),
    "Firecrawl": ("firecrawl.dev",), "Cloudflare": ("cloudflare.com",), "Vercel": ("vercel.com",),
    "Netlify": ("netlify.com",), "Supabase": ("supabase.com", "supabase.co"),
    "Sentry": ("sentry.io",),
    "Datadog": ("datadoghq.com", "datadoghq.eu"), "Grafana": ("grafana.com", "grafana.net"),
    "Linear": ("linear.app",),
    "Notion": ("notion.com", "notion.so"), "Airtable": ("airtable.com",), "Asana": ("asana.com",),
    "Trello": ("trello.com",),
    "ClickUp": ("clickup.com",), "Todoist": ("todoist.com",), "Figma": ("figma.com",),
    "Canva": ("canva.com",),
    "Stripe": ("stripe.com",), "PayPal": ("paypal.com",),
    "Shopify": ("shopify.com", "myshopify.com"),
    "HubSpot": ("hubapi.com", "hubspot.com"), "Salesforce": ("salesforce.com", "force.com"),
    "Zendesk": ("zendesk.com",),
    "Intercom": ("intercom.io",), "PagerDuty": ("pagerduty.com",), "Twilio": ("twilio.com",),
    "SendGrid": ("sendgrid.com",),
    "Mailgun": ("mailgun.net",), "Resend": ("resend.com",), "Postmark": ("postmarkapp.com",),
    "Dropbox": ("dropboxapi.com",
    "dropbox.com"), "Box": ("box.com",), "Spotify": ("spotify.com",),
    "X": ("x.com", "twitter.com"), "Reddit": ("reddit.com",),
    "Telegram": ("telegram.org",), "Zoom": ("zoom.us",), "Zapier": ("zapier.com",),
    "Docker": ("docker.com", "docker.io"),
    "Python Package Index": ("pypi.org", "pythonhosted.org"), "npm": ("npmjs.org", "npmjs.com"),
    "Yarn": ("yarnpkg.com",),
    "crates.io": ("crates.io",), "RubyGems": ("rubygems.org",), "Go": ("golang.org", "go.dev"),
    "Maven": ("maven.org",),
    "Wikimedia": ("wikipedia.org", "wikimedia.org"), "arXiv": ("arxiv.org",),
    "OpenStreetMap": ("openstreetmap.org",),
    "OpenWeather": ("openweathermap.org",), "Open-Meteo": ("open-meteo.com",),
    "CoinGecko": ("coingecko.com",),
    "Home Assistant": ("home-assistant.io", "nabu.casa"), "WordPress": ("wordpress.com",),
    "Mapbox": ("mapbox.com",),
}  # fmt: skip

# Parts of large hosts where each customer has a corner: the big name says not who receives.
_ANYBODYS = frozenset((
    "s3", "execute-api", "lambda-url", "elb", "compute", "storage", "firebasestorage", "script",
    "blob", "file", "queue", "web", "gist", "azurewebsites", "cloudapp", "forms",
))  # fmt: skip

_LOCAL_FOUR = tuple(map(IPv4Network, (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.168.0.0/16",
)))  # fmt: skip
_LOCAL_SIX = tuple(map(IPv6Network, ("::/128", "::1/128", "fc00::/7", "fe80::/10")))
_LOCAL_NAMES = ("localhost", "local", "internal", "lan", "home.arpa", "localdomain")
_METADATA = (
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "metadata.google.internal",
    "fd00:ec2::254",
)

_Address = IPv4Address | IPv6Address


def _index(table: dict[str, tuple[str, ...]]) -> dict[str, tuple[tuple[str, str], ...]]:
    """Index rows `host/path` by host: for each its paths and what it is."""
    found: dict[str, list[tuple[str, str]]] = {}
    for what, rows in table.items():
        for row in rows:
            host, _, path = row.partition("/")
            found.setdefault(host, []).append((path, what))
    return {host: tuple(paths) for host, paths in found.items()}


_DROP_INDEX = _index(_DROPS)
_PASTE_INDEX = _index({"paste site": _PASTES})
_SHORT_INDEX = _index({"short link": _SHORT})
_SERVICE_INDEX = _index(_SERVICES)


@lru_cache(maxsize=4096)
def _split(text: str) -> tuple[str, str]:
    """Return host and path of the first address in `text`."""
    flat = text[:_MAX_TEXT].strip().replace("[.]", ".").replace("(.)", ".").replace("\u3002", ".")
    found = _URL.search(flat)
    rest = (found[1] if found else flat.removeprefix("//")).replace("\\", "/")
    cut = _AUTHORITY_END.search(rest)
    end = cut.start() if cut else len(rest)
    host = _host_in(rest[:end].rsplit("@", 1)[-1])
    return host, rest[end:].lstrip("/") if host else ""


def _host_in(authority: str) -> str:
    six = _SIX.match(authority)
    if six:
        return six[1].lower()
    if authority.count(":") > 1:
        return authority.lower() if _six(authority) else ""
    name = authority.partition(":")[0]
    return name.lower().rstrip(".") if _HOST.fullmatch(name) else ""


def host_of(url_or_text: str) -> str:
    """Return the host of the first address in a text, or of a bare `host/path`; "" without one."""
    return _split(url_or_text)[0]


def _row(url: str, index: dict[str, tuple[tuple[str, str], ...]]) -> tuple[str, str] | None:
    """Return the name of the row that `url` falls under, and what it is."""
    host, path = _split(url)
    while "." in host:
        for prefix, what in index.get(host, ()):
            if not prefix or path == prefix or path.startswith(f"{prefix}/"):
                return f"{host}/{prefix}".rstrip("/"), what
        host = host.partition(".")[2]
    return None


def drop_host(host_or_url: str) -> str | None:
    """Return what kind of place for collected data it is ("request catcher", "tunnel"…), if any."""
    row = _row(host_or_url, _DROP_INDEX)
    return row[1] if row else None


def paste_host(host_or_url: str) -> str | None:
    """Return the paste site that it is on, if any; a gist has a named owner and is none."""
    row = _row(host_or_url, _PASTE_INDEX)
    return row[0] if row else None


def short_link(host_or_url: str) -> bool:
    """Whether the address hides where it leads."""
    return _row(host_or_url, _SHORT_INDEX) is not None


def known_service(host_or_url: str) -> str | None:
    """Return who runs the service at that host, for the large ones; a customer's corner is not."""
    labels = host_of(host_or_url).split(".")
    rented = any(label in _ANYBODYS or label.startswith("s3-") for label in labels)
    if rented or drop_host(host_or_url):
        return None
    row = _row(host_or_url, _SERVICE_INDEX)
    return row[1] if row else None


def raw_address(host: str) -> bool:
    """Whether a host is a bare public number, in any spelling that clients take."""
    address = _address(host_of(host))
    return address is not None and not _local_address(address)


def is_local(host: str) -> bool:
    """Whether a host is this machine or its own network."""
    name = host_of(host)
    address = _address(name)
    if address is not None:
        return _local_address(address)
    return name in _LOCAL_NAMES or name.endswith(tuple(f".{local}" for local in _LOCAL_NAMES))


def metadata_host(host: str) -> bool:
    """Whether a host hands out a cloud machine's own credentials."""
    name = host_of(host)
    address = _address(name)
    return (str(address) if address is not None else name) in _METADATA


def _local_address(address: _Address) -> bool:
    if isinstance(address, IPv4Address):
        return any(address in network for network in _LOCAL_FOUR)
    return any(address in network for network in _LOCAL_SIX)


def _address(host: str) -> _Address | None:
    """Return the number that a host is; one that wraps an older one is unwrapped."""
    six = _six(host)
    if six is None:
        return _four(host)
    return six.ipv4_mapped or six


def _six(host: str) -> IPv6Address | None:
    if ":" not in host:
        return None
    try:
        return IPv6Address(host)
    except ValueError:
        return None


def _four(host: str) -> IPv4Address | None:
    """Read one to four numbers, each decimal, octal or hexadecimal, as C libraries do."""
    parts = host.split(".")
    if len(parts) > _FOUR_PARTS or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    numbers = [_number(part) for part in parts]
    *first, last = numbers
    if any(number > _BYTE for number in first) or last >= 256 ** (_FOUR_PARTS + 1 - len(parts)):
        return None
    head = sum(number << (24 - 8 * place) for place, number in enumerate(first))
    return IPv4Address(head + last)


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    octal = part.startswith("0") and not set(part) & set("89")
    return int(part, 8 if octal else 10)


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
