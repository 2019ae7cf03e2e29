"""Which addresses count as an installer that its own maker documents."""

from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.safety.hosts import find_installer, read_installers

INSTALLERS = read_installers()


@each_row(
    ("url", "who"),
    [
        ("https://sh.rustup.rs", "Rust project"),
        ("https://sh.rustup.rs/", "Rust project"),
        ("https://astral.sh/uv/install.sh", "Astral"),
        ("https://astral.sh/uv/0.9.1/install.sh", "Astral"),
        ("https://ASTRAL.sh:443/ruff/install.sh", "Astral"),
        ("https://raw.githubusercontent.com/Homebrew/install/HEAD/install.sh", "Homebrew"),
        ("https://raw.githubusercontent.com/nvm-sh/nvm/v0.40.3/install.sh", "nvm"),
        ("https://get.docker.com?version=28", "Docker"),
        ("https://claude.ai/install.sh", "Anthropic"),
        ("https://deb.nodesource.com/setup_22.x", "NodeSource"),
    ],
)
def test_a_documented_installer_is_known_with_its_owner(url: str, who: str) -> None:
    found = find_installer(url)

    assert found is not None
    assert found.who == who


@each_row(
    "url",
    [
        "http://sh.rustup.rs",
        "sh.rustup.rs",
        "https://sh.rustup.rs.example.invalid/",
        "https://evil-sh.rustup.rs/",
        "https://sh.rustup.rs@example.invalid/",
        "https://sh.rustup.rs:8443/",
        "https://sh.rustup.rs:x/",
        "https://astral.sh/uvx/install.sh",
        "https://astral.sh/",
        "https://raw.githubusercontent.com/nvm-sh/nvm-copy/main/install.sh",
        "https://raw.githubusercontent.com/nvm-sh/nvm/../../acme/x/main/i.sh",
        "https://raw.githubusercontent.com/nvm-sh/nvm/%2e%2e/%2e%2e/acme/x/main/i.sh",
        "https://raw.githubusercontent.com/nvm-sh/nvm/%252e%252e/%252e%252e/acme/x",
        "https://raw.githubusercontent.com/acme/install/main/i.sh",
        "https://example.invalid\\@sh.rustup.rs/",
        "https://sh.rustup.rs\n.example.invalid/",
        "https://[::1/",
        "",
    ],
)
def test_an_address_that_only_looks_like_one_is_not(url: str) -> None:
    assert find_installer(url) is None


def test_every_row_is_plain_and_found_by_its_own_address() -> None:
    for row in INSTALLERS:
        assert row.host == row.host.lower()
        assert row.prefix.startswith("/")
        assert row.who
        assert row.why
        assert find_installer(f"https://{row.host}{row.prefix}") is not None


def test_no_row_covers_a_host_where_anybody_may_write() -> None:
    shared = {"raw.githubusercontent.com", "github.com"}

    assert [row for row in INSTALLERS if row.host in shared and row.prefix == "/"] == []
    assert len({(row.host, row.prefix) for row in INSTALLERS}) == len(INSTALLERS)


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    assert find_installer(text) is None or text.lower().startswith("https://")
