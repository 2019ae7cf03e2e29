import pytest
from tests.rows import each_row

from prowess.settings import InstallSettings
from prowess.skills.eligibility import InstallOption, offer_options, read_install
from prowess.skills.model import InstallSpec, Value

BREW = InstallSpec(kind="brew", target="jq", id="brew-0")
UV = InstallSpec(kind="uv", target="ruff", id="uv-1")
NODE = InstallSpec(kind="node", target="prettier", id="node-2")
GO = InstallSpec(kind="go", target="example.com/x", id="go-3")
DOWNLOAD = InstallSpec(kind="download", target="https://x/tool.tar.gz", id="download-4")
WITH_BREW = frozenset(("brew",))


def chosen(
    *specs: InstallSpec, available: frozenset[str] = frozenset(), prefer_brew: bool = True
) -> list[str]:
    settings = InstallSettings(prefer_brew=prefer_brew)
    return [option.id for option in offer_options(specs, available=available, settings=settings)]


@pytest.mark.parametrize("value", [None, [], ()])
def test_no_entries_are_no_problem(value: Value) -> None:
    assert read_install(value, 3) == ((), [])


def test_every_field_of_an_entry_is_read() -> None:
    specs, found = read_install(
        [
            {
                "kind": "download",
                "url": "https://x/tool.tar.gz",
                "id": "tool",
                "label": "Get the tool",
                "bins": ["tool"],
                "os": "linux darwin",
                "archive": "tar.gz",
                "extract": True,
                "stripComponents": 1,
                "targetDir": "bin",
                "sha256": "AB" * 32,
            }
        ],
        None,
    )

    assert found == []
    assert specs == (
        InstallSpec(
            kind="download",
            target="https://x/tool.tar.gz",
            id="tool",
            label="Get the tool",
            bins=("tool",),
            os=("linux", "darwin"),
            archive="tar.gz",
            extract=True,
            strip_components=1,
            target_dir="bin",
            sha256="ab" * 32,
        ),
    )


def test_odd_values_of_the_lesser_fields_are_as_if_absent() -> None:
    entry = {"kind": "uv", "package": "ruff", "extract": "yes", "stripComponents": "2"}

    specs, found = read_install([entry, {**entry, "stripComponents": -4}], None)

    assert [(spec.extract, spec.strip_components) for spec in specs] == [(None, 0), (None, 0)]
    assert found == []


def test_an_entry_may_say_type_for_kind_and_in_any_case() -> None:
    specs, _ = read_install([{"type": "UV", "package": "ruff"}], None)

    assert specs == (InstallSpec(kind="uv", target="ruff", id="uv-0"),)


def test_a_cask_is_told_from_a_formula() -> None:
    specs, _ = read_install(
        [{"kind": "brew", "cask": "docker"}, {"kind": "brew", "formula": "jq"}], None
    )

    assert [(spec.target, spec.cask) for spec in specs] == [("docker", True), ("jq", False)]


def test_ids_count_every_entry_so_that_they_mean_the_same_on_every_host() -> None:
    specs, found = read_install(["bad", {"kind": "uv", "package": "ruff"}], 4)

    assert [spec.id for spec in specs] == ["uv-1"]
    assert [(problem.code, problem.line) for problem in found] == [("INSTALL_ENTRY_INVALID", 4)]


@each_row(
    ("kind", "key", "target"),
    [
        ("brew", "formula", "jq"),
        ("brew", "formula", "homebrew/core/python@3.12"),
        ("node", "package", "prettier"),
        ("node", "package", "@scope/name@^1.2.0"),
        ("go", "module", "example.com/cmd/tool@v1.2.3"),
        ("uv", "package", "httpx[http2]>=0.27"),
        ("download", "url", "HTTPS://example.com/a.zip?x=1"),
    ],
)
def test_a_plain_package_name_is_taken(kind: str, key: str, target: str) -> None:
    specs, found = read_install([{"kind": kind, key: target}], None)

    assert [spec.target for spec in specs] == [target]
    assert found == []


@each_row(
    ("kind", "key", "target"),
    [
        ("brew", "formula", ""),
        ("brew", "formula", "--cask"),
        ("brew", "formula", "../x"),
        ("brew", "formula", "a\\b"),
        ("brew", "formula", "a b"),
        ("brew", "formula", "jq; rm"),
        ("node", "package", "file:../x"),
        ("node", "package", "git+https://x/y.git"),
        ("node", "package", "--global"),
        ("go", "module", "https://x/y"),
        ("go", "module", "-x"),
        ("go", "module", "a/../b"),
        ("uv", "package", "--extra=x"),
        ("uv", "package", "x @ https://y"),
        ("download", "url", "ftp://x/y"),
        ("download", "url", "https://"),
        ("download", "url", "https://x/a b"),
        ("download", "url", "file:///etc/passwd"),
    ],
)
def test_what_could_be_more_than_a_package_name_is_dropped(
    kind: str, key: str, target: str
) -> None:
    specs, found = read_install([{"kind": kind, key: target}], None)

    assert specs == ()
    assert [problem.code for problem in found] == ["INSTALL_ENTRY_INVALID"]


@each_row(
    ("value", "said"),
    [
        ({"kind": "brew"}, "not a list"),
        ([["brew"]], "not a map"),
        ([{"package": "x"}], "kind"),
        ([{"kind": "apt", "package": "x"}], "'apt'"),
        ([{"kind": "brew"}], "formula"),
        ([{"kind": "uv", "package": "x", "sha256": "abc"}], "sha256"),
        ([{"kind": "uv", "package": "x", "bins": {"a": 1}}], "bins"),
        ([{"kind": "uv", "package": "x", "os": [["linux"]]}], "os"),
    ],
)
def test_a_dropped_entry_says_what_is_wrong_with_it(value: Value, said: str) -> None:
    specs, found = read_install(value, None)

    assert specs == ()
    assert len(found) == 1
    assert said in found[0].message


def test_nothing_is_offered_for_nothing() -> None:
    assert chosen() == []


def test_downloads_are_all_offered_because_only_a_person_can_choose() -> None:
    other = InstallSpec(kind="download", target="https://x/other.zip", id="download-5")

    assert chosen(DOWNLOAD, other) == ["download-4", "download-5"]


@pytest.mark.parametrize(
    ("specs", "available", "prefer_brew", "best"),
    [
        ((DOWNLOAD, GO, NODE, UV, BREW), WITH_BREW, True, "brew-0"),
        ((DOWNLOAD, GO, NODE, UV, BREW), WITH_BREW, False, "uv-1"),
        ((DOWNLOAD, GO, NODE, UV, BREW), frozenset(), True, "uv-1"),
        ((DOWNLOAD, GO, NODE, BREW), WITH_BREW, False, "node-2"),
        ((DOWNLOAD, GO, BREW), WITH_BREW, False, "brew-0"),
        ((DOWNLOAD, GO, BREW), frozenset(), True, "go-3"),
        ((DOWNLOAD, BREW), frozenset(), True, "download-4"),
        ((BREW,), frozenset(), False, "brew-0"),
    ],
)
def test_the_best_installer_of_this_host_is_offered(
    specs: tuple[InstallSpec, ...], available: frozenset[str], *, prefer_brew: bool, best: str
) -> None:
    assert chosen(*specs, available=available, prefer_brew=prefer_brew) == [best]


def test_the_first_of_two_entries_of_one_kind_is_offered() -> None:
    second = InstallSpec(kind="uv", target="black", id="uv-7")

    assert chosen(UV, second) == ["uv-1"]


@each_row(
    ("spec", "label"),
    [
        (BREW, "Install jq (brew)"),
        (InstallSpec(kind="brew", target="jq", label="Get jq"), "Get jq"),
        (InstallSpec(kind="node", target="prettier", label="Get it"), "Install prettier (pnpm)"),
        (DOWNLOAD, "Download tool.tar.gz"),
        (InstallSpec(kind="download", target="https://x/dir/"), "Download dir"),
    ],
)
def test_an_option_says_what_will_happen(spec: InstallSpec, label: str) -> None:
    settings = InstallSettings(node_manager="pnpm")

    (option,) = offer_options([spec], available=frozenset(), settings=settings)

    assert option == InstallOption(id=spec.id, kind=spec.kind, label=label, bins=spec.bins)
