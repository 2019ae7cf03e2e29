"""From an install entry to the arguments of one tool."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.errors import InstallArgumentError
from prowess.safety.packages import (
    DownloadPlan,
    InstallPlan,
    brew_plan,
    download_plan,
    go_plan,
    is_portable_name,
    node_plan,
    plan_install,
    uv_plan,
)
from prowess.skills.model import InstallSpec

URL = "https://files.example.invalid/tool.tar.gz"
KINDS = ("brew", "node", "go", "uv")
# What no kind of package may be called, whatever else its pattern allows.
NEVER = (
    "", "-g", "--registry=https://x", "-e", "a b", " a", "a ", "a\n", "a\tb", "a\0", "a;id", "a|b",
    "a&b", "$(id)", "`id`", "a'b", 'a"b', "a>b c", "{a,b}", "a\\b", "..", "../a", "a/../b", "./a",
    "/etc/passwd", "~/a", "file:a", "file:///a", "git+https://example.com/a", "git+ssh://a/b",
    "http://example.com/a", "https://example.com/a", "git@example.com:a/b", "github:a/b", "a@npm:b",
    "a@file:b", "a@https://x/y", "a@git+ssh://b", "a @ https://x/y", "a[b c]", "a[b] ", "a[--x]",
    "C:\\a", "\u0430bc", "a\u200b", "\uff41", "a" * 300,
)  # fmt: skip


def plan(kind: str, target: str) -> InstallPlan | DownloadPlan:
    return plan_install(InstallSpec(kind=kind, target=target))


@each_row("kind", KINDS)
@each_row("target", NEVER)
def test_no_kind_takes_options_places_or_shell_text_for_a_package(kind: str, target: str) -> None:
    with pytest.raises(InstallArgumentError) as caught:
        plan(kind, target)

    assert str(caught.value).isprintable()
    assert str(caught.value).isascii() or "…" in str(caught.value)


@each_row("name", ["jq", "python@3.12", "gtk+3", "owner/tap/tool", "a52dec"])
def test_a_formula_stands_behind_the_end_of_options(name: str) -> None:
    assert brew_plan(name).argv == ("brew", "install", "--formula", "--", name)
    assert brew_plan(name, cask=True).argv == ("brew", "install", "--cask", "--", name)


def test_a_tap_of_a_third_party_is_pointed_out() -> None:
    assert brew_plan("owner/tap/tool").notes
    assert not brew_plan("jq").notes


@each_row("name", ["JQ", "owner/tool", "a/b/c/d", "tool.rb", "o/t/x.rb", "x.json"])
def test_a_formula_is_a_name_in_small_letters_and_no_file(name: str) -> None:
    with pytest.raises(InstallArgumentError):
        brew_plan(name)


@each_row(
    "name",
    [
        "typescript",
        "@scope/tool",
        "tool@1.2.3",
        "@scope/tool@latest",
        "tool@^1.2",
        "tool@~1.0-beta.1",
    ],
)
@each_row("manager", ["npm", "pnpm", "yarn", "bun"])
def test_a_package_of_the_registry_is_installed_without_its_scripts(
    name: str, manager: str
) -> None:
    made = node_plan(name, manager)

    assert made.tool == made.argv[0] == manager
    assert made.argv[-1] == name
    assert "--ignore-scripts" in made.argv[:-1]
    assert ("npm_config_ignore_scripts", "true") in made.environment


def test_npm_is_told_where_options_end() -> None:
    assert node_plan("tool").argv[-2:] == ("--", "tool")


@each_row(
    "name",
    ["evil.tgz", "evil.tar.gz", "evil.TGZ", "tool@evil.tgz", "evil.tgz@1.0", "@s/tool@x.tar",
     "owner/repo", "@scope", "@scope/", "@/tool", "tool@", "tool@@1", "@a/b/c", ".hidden", "_x",
     "tool@>=1", "tool@*", "tool@1||2"],
)  # fmt: skip
def test_a_package_that_npm_would_take_from_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(InstallArgumentError):
        node_plan(name)


def test_a_manager_that_is_not_known_is_refused() -> None:
    with pytest.raises(InstallArgumentError, match="npm, pnpm, yarn, bun"):
        node_plan("tool", "sh")


@each_row(
    "module",
    ["example.com/owner/tool@latest", "github.com/a/b/cmd/c@v1.2.3", "golang.org/x/tools@v0.1.0+x",
     "gopkg.in/yaml.v3@v3.0.1", "go.example.org/~me/tool@main"],
)  # fmt: skip
def test_a_module_with_a_version_is_installed(module: str) -> None:
    assert go_plan(module).argv == ("go", "install", "--", module)


@each_row(
    "module",
    ["example.com/tool", "example.com@v1", "tool@v1", "localhost/x@v1", "127.0.0.1/x@v1",
     "example.com/...@v1", "example.com//x@v1", "example.com/x@", "example.com/x@-v",
     "example.com/x.@v1", "example.com/.x@v1", "example.com/x@a/b", "example.com:8080/x@v1",
     "example.com/-x@v1"],
)  # fmt: skip
def test_a_module_that_names_no_version_or_no_host_is_refused(module: str) -> None:
    with pytest.raises(InstallArgumentError):
        go_plan(module)


@each_row(
    "module",
    ["metadata.internal/x@v1", "a.local/x@v1", "foo.corp/x@main", "metadata.google.internal/x@v1",
     "box.lan/x@v1", "git.home.arpa/o/x@v1", "metadata.goog/x@v1"],
)  # fmt: skip
def test_a_module_on_a_host_of_the_inside_is_refused_as_a_download_from_there_is(
    module: str,
) -> None:
    host = module.partition("/")[0]

    with pytest.raises(InstallArgumentError, match="not on the public internet"):
        download_plan(InstallSpec(kind="download", target=f"https://{host}/x"))
    with pytest.raises(InstallArgumentError, match="not on the public internet"):
        go_plan(module)
    # The operator may vouch for a host, for both.
    assert go_plan(module, [host]).argv[-1] == module
    with pytest.raises(InstallArgumentError):
        go_plan(module, [f"{host}:8443"])


@each_row(
    "requirement",
    ["ruff", "ruff==0.6.1", "tool[extra]", "tool[a,b]>=1.2,<2", "tool~=1.4.2", "zope.interface",
     "tool==1.*", "tool!=1.0"],
)  # fmt: skip
def test_a_tool_for_python_comes_as_a_wheel(requirement: str) -> None:
    made = uv_plan(requirement)

    assert made.argv == ("uv", "tool", "install", "--no-build", "--", requirement)


@each_row(
    "requirement",
    ["tool[]", "tool[a,]", "tool[a]b", "tool==", "tool>=1,", "tool@1.0", "tool-", "_tool",
     "x.whl", "tool.tar.gz", "tool.zip[extra]", "tool;python_version<'3'", "tool[a, b]"],
)  # fmt: skip
def test_a_requirement_that_is_more_than_name_extras_and_versions_is_refused(
    requirement: str,
) -> None:
    with pytest.raises(InstallArgumentError):
        uv_plan(requirement)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InstallArgumentError, match="no known kind"):
        plan("pip\x1b", "tool")


def spec(**fields: object) -> InstallSpec:
    # The fields are those of the table below.
    return InstallSpec(**{"kind": "download", "target": URL, **fields})  # type: ignore[arg-type]


def test_a_download_says_what_becomes_of_the_file() -> None:
    made = plan_install(spec(strip_components=1, target_dir="bin", sha256="a" * 64))

    assert made == DownloadPlan(
        url=URL,
        file_name="tool.tar.gz",
        archive="tar.gz",
        extract=True,
        strip_components=1,
        target_dir="bin",
        sha256="a" * 64,
    )


@each_row(
    ("name", "archive"),
    [("a.zip", "zip"), ("a.TGZ", "tar.gz"), ("a.tar.bz2", "tar.bz2"), ("a.txz", "tar.xz"),
     ("a.tar", "tar"), ("a.bin", ""), ("zip", "")],
)  # fmt: skip
def test_an_archive_is_known_by_its_name(name: str, archive: str) -> None:
    made = download_plan(spec(target=f"https://files.example.invalid/{name}?raw=1"))

    assert (made.file_name, made.archive, made.extract) == (name, archive, bool(archive))


def test_an_archive_may_be_named_or_left_packed() -> None:
    named = download_plan(spec(target="https://files.example.invalid/get", archive="tgz"))
    packed = download_plan(spec(extract=False))

    assert (named.archive, named.extract) == ("tar.gz", True)
    assert (packed.archive, packed.extract) == ("tar.gz", False)


def test_a_download_without_a_checksum_says_so() -> None:
    assert "sha256" in download_plan(spec()).notes[0]
    assert not download_plan(spec(sha256="0" * 64)).notes


@each_row(
    "fields",
    [
        {"target": "http://files.example.invalid/a"},
        {"target": "https://127.0.0.1/a"},
        {"target": "https://user:opensesame@files.example.invalid/a"},
        {"target": "https://files.example.invalid/"},
        {"target": "https://files.example.invalid/a%2fb"},
        {"target": "https://files.example.invalid/con.zip"},
        {"target": "https://files.example.invalid/.bashrc"},
        {"target": "https://files.example.invalid/" + "a" * 121},
        {"archive": "rar"},
        {"archive": "tar.gz; id"},
        {"target": "https://files.example.invalid/a.bin", "extract": True},
        {"strip_components": -1},
        {"strip_components": 11},
        {"sha256": "A" * 64},
        {"sha256": "a" * 63},
    ],
)
def test_a_download_that_is_not_plain_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(InstallArgumentError) as caught:
        download_plan(spec(**fields))

    assert "opensesame" not in str(caught.value)


@each_row(
    ("given_dir", "expected"),
    [("", ""), (".", ""), ("./", ""), ("bin", "bin"), ("./a/b/", "a/b"), ("a\\b", "a/b"),
     ("/tools/x", ""), ("/tools/x/", ""), ("/tools/x/bin", "bin")],
)  # fmt: skip
def test_a_folder_stays_inside_the_tools_folder(given_dir: str, expected: str) -> None:
    assert download_plan(spec(target_dir=given_dir), "/tools/x").target_dir == expected


@each_row(
    "given_dir",
    ["..", "../x", "a/../..", "a/./b", "/", "/etc", "/tools/xy", "/tools/x/../y", "~/x", "C:\\x",
     "C:x", "\\\\host\\x", "a//b", "a/ b", "a/con", "nul", "a\0b", "a/b.", "/".join("abcdefghi")],
)  # fmt: skip
def test_a_folder_that_may_lie_outside_is_refused(given_dir: str) -> None:
    with pytest.raises(InstallArgumentError, match="Refusing to install outside"):
        download_plan(spec(target_dir=given_dir), "/tools/x")


@pytest.mark.parametrize("name", ["a", "a.b", "A-1_2+3@4=5~6", "_x"])
def test_a_plain_name_is_portable(name: str) -> None:
    assert is_portable_name(name)


@given(st.sampled_from(KINDS), st.text(max_size=60))
def test_whatever_gets_through_is_one_plain_argument(kind: str, target: str) -> None:
    try:
        made = plan(kind, target)
    except InstallArgumentError:
        return

    assert isinstance(made, InstallPlan)
    assert made.argv[-1] == target
    assert target.isascii()
    assert target[0].isalnum() or target[0] == "@"
    assert not set(target) & set(" \t\r\n\0;|&$`'\"(){}\\?#:")
