import pytest
from tests.rows import each_row

from prowess.skills.eligibility import Resolved, platform_name, resolve
from prowess.skills.frontmatter import FieldReader, read
from prowess.skills.model import Metadata, Requirements, Triggers


def resolved(*lines: str) -> Resolved:
    return resolve(FieldReader(read("\n".join(("---", *lines, "---", "")))))


def codes(found: Resolved) -> list[tuple[str, int | None]]:
    return [(problem.code, problem.line) for problem in found.diagnostics]


@each_row(
    ("written", "name"),
    [
        ("macOS", "darwin"),
        ("mac", "darwin"),
        ("osx", "darwin"),
        (" Windows ", "win32"),
        ("win", "win32"),
        ("Linux", "linux"),
        ("plan9", "plan9"),
    ],
)
def test_a_platform_has_one_name_whatever_alias_was_written(written: str, name: str) -> None:
    assert platform_name(written) == name


def test_without_metadata_nothing_is_required() -> None:
    found = resolved("name: deploy")

    assert found == Resolved(metadata=Metadata(), raw={})


def test_every_field_of_the_block_is_read() -> None:
    found = resolved(
        "metadata:",
        "  openclaw:",
        "    always: true",
        "    skillKey: ship",
        "    primaryEnv: TOKEN",
        "    emoji: R",
        "    homepage: https://x",
        "    os: [macos, linux, darwin]",
        "    requires:",
        "      bins: [git]",
        "      anyBins: [npm, pnpm]",
        "      env: [TOKEN]",
        "      config: [channels.chat]",
        "    triggers: {any: [ship it], all: [a, b], none: [rollback]}",
    )

    assert found.namespace == "openclaw"
    assert found.diagnostics == ()
    assert found.metadata == Metadata(
        always=True,
        skill_key="ship",
        primary_env="TOKEN",
        emoji="R",
        homepage="https://x",
        requires=Requirements(
            bins=("git",),
            any_bins=("npm", "pnpm"),
            env=("TOKEN",),
            config=("channels.chat",),
            os=("darwin", "linux"),
        ),
        triggers=Triggers(any=("ship it",), all=("a", "b"), none=("rollback",)),
    )


@each_row(
    "written",
    [
        '\'{"openclaw": {"requires": {"bins": ["git"]}}}\'',
        "{openclaw: {requires: {bins: [git]}}}",
        "{openclaw:{requires:{bins:['git']}}}",
        '{"openclaw":{"requires":{"bins":["git",],},},}',
        "{openclaw: '{requires: {bins: [\"git\"]}}'}",
        "{openclaw: {requires: '{bins: [\"git\"]}'}}",
        "{openclaw: {requires: {bins: git}}}",
        "{openclaw: {requires: {bins:'git'}}}",
        "{OpenClaw: {Requires: {Bins: [git]}}}",
        "{openclaw: {require: {bin: git}}}",
        "{clawdbot: {requires: {bins: [git]}}}",
        "{openclaw: null, clawdbot: {requires: {bins: [git]}}}",
        "{openclaw: words, clawdbot: {requires: {bins: [git]}}}",
    ],
)
def test_a_requirement_is_found_in_every_way_of_writing_it(written: str) -> None:
    found = resolved("name: deploy", f"metadata: {written}")

    assert found.metadata.requires == Requirements(bins=("git",))
    assert found.diagnostics == ()


def test_json5_that_yaml_reads_as_keys_without_values_is_read_as_json5() -> None:
    found = resolved("metadata: {summary:'Ships', stars:5}")

    assert found.raw == {"summary": "Ships", "stars": 5}


def test_a_text_of_names_is_split_at_commas_and_blanks() -> None:
    found = resolved("metadata: {openclaw: {os: 'mac win', requires: {bins: 'git, gh jq'}}}")

    assert found.metadata.requires == Requirements(bins=("git", "gh", "jq"), os=("darwin", "win32"))


@pytest.mark.parametrize("value", ["'true'", "1", "'yes'"])
def test_always_is_a_plain_true_and_nothing_else(value: str) -> None:
    assert resolved(f"metadata: {{openclaw: {{always: {value}}}}}").metadata.always is False


@each_row(
    "written",
    [
        "words",
        "''",
        "7",
        "[a]",
        "'{broken'",
        "{openclaw: words}",
        "{openclaw: [a]}",
        "{clawdbot: 5}",
        "{openclaw: {requires: [git]}}",
        "{openclaw: {requires: {bins: {git: 1}}}}",
        "{openclaw: {requires: {env: 5}}}",
        "{openclaw: {requires: {anyBins: [[a]]}}}",
        "{openclaw: {requires: {config: [null]}}}",
        "{openclaw: {os: {linux: true}}}",
        "{openclaw: {triggers: 5}}",
        "{openclaw: {}, OpenClaw: {always: true}}",
        "{openclaw: {requires: {bins: [a], Bins: [b]}}}",
        "{openclaw: {requires: {bins: ''}}}",
        "{openclaw: {requires: {bins: ['']}}}",
        "{urn:x, openclaw: {skillKey: ship}}",
        "{list: [{urn:x}]}",
    ],
)
def test_metadata_that_cannot_be_read_closes_the_gate_and_says_so(written: str) -> None:
    found = resolved("name: deploy", f"metadata: {written}")

    assert found.metadata == Metadata(readable=False)
    assert codes(found) == [("METADATA_UNREADABLE", 3)]


def test_metadata_in_two_spellings_closes_the_gate() -> None:
    found = resolved("metadata: {}", "Metadata: {openclaw: {requires: {bins: [git]}}}")

    assert found.metadata == Metadata(readable=False)


def test_a_kind_of_requirement_that_does_not_exist_is_pointed_out() -> None:
    found = resolved("metadata: {openclaw: {requires: {bins: [git], packages: [x]}}}")

    assert found.metadata.requires == Requirements(bins=("git",))
    assert codes(found) == [("METADATA_ALIAS", 2)]
    assert "packages" in found.diagnostics[0].message


def test_the_platform_may_stand_among_the_requirements() -> None:
    found = resolved("metadata: {openclaw: {requires: {os: [mac], any-bins: [a], envs: [B]}}}")

    assert found.metadata.requires == Requirements(any_bins=("a",), env=("B",), os=("darwin",))


def test_the_namespace_that_nobody_reads_is_pointed_out() -> None:
    found = resolved("metadata: {clawdis: {requires: {bins: [git]}}}")

    assert found.metadata == Metadata()
    assert codes(found) == [("METADATA_ALIAS", 2)]


def test_the_namespace_that_nobody_reads_does_not_matter_beside_one_that_is_read() -> None:
    found = resolved("metadata: {clawdis: {}, openclaw: {always: true}}")

    assert found.diagnostics == ()


def test_a_bad_install_entry_is_dropped_and_gates_nothing() -> None:
    found = resolved("metadata: {openclaw: {install: [{kind: brew}, {kind: uv, package: x}]}}")

    assert [spec.target for spec in found.metadata.install] == ["x"]
    assert codes(found) == [("INSTALL_ENTRY_INVALID", 2)]


def test_required_variables_and_platforms_outside_the_block_count() -> None:
    found = resolved(
        "required_environment_variables:",
        "  - name: TOKEN",
        "    prompt: Your token",
        "  - OTHER",
        "platforms: [macos]",
        "metadata: {openclaw: {requires: {env: [TOKEN, FIRST]}}}",
    )

    assert found.metadata.requires == Requirements(env=("TOKEN", "FIRST", "OTHER"), os=("darwin",))


def test_required_variables_may_be_one_text() -> None:
    found = resolved("required_environment_variables: TOKEN, OTHER")

    assert found.metadata.requires.env == ("TOKEN", "OTHER")


def test_platforms_of_the_block_stand_over_those_outside_it() -> None:
    found = resolved("platforms: [macos]", "metadata: {openclaw: {os: [linux]}}")

    assert found.metadata.requires.os == ("linux",)


@pytest.mark.parametrize(
    "line",
    [
        "required_environment_variables: [{prompt: no name}]",
        "required_environment_variables: {TOKEN: x}",
        "platforms: 5",
    ],
)
def test_unreadable_requirements_outside_the_block_close_the_gate_too(line: str) -> None:
    found = resolved(line)

    assert not found.metadata.readable
    assert [code for code, _ in codes(found)] == ["METADATA_UNREADABLE"]


@each_row(
    "line",
    [
        "triggers: [ship it, release]",
        "triggers: ship it, release",
        "triggers: ship it | release",
        "triggers: {any: [ship it, release]}",
        "metadata: {triggers: [ship it, release]}",
        "metadata: {openclaw: {triggers: 'ship it|release'}}",
    ],
)
def test_triggers_are_found_wherever_they_stand(line: str) -> None:
    assert resolved(line).metadata.triggers == Triggers(any=("ship it", "release"))


@each_row("written", ["'send it, by mail'", "'send it\uff0cby mail'", "[send it, by mail]"])
@each_row("kind", ["any", "all", "none"])
def test_a_list_of_triggers_is_split_at_its_commas_and_not_at_its_blanks(
    kind: str, written: str
) -> None:
    found = resolved(f"metadata: {{openclaw: {{triggers: {{{kind}: {written}}}}}}}")

    assert getattr(found.metadata.triggers, kind) == ("send it", "by mail")


def test_a_bad_shape_of_triggers_outside_the_block_is_passed_over() -> None:
    found = resolved("triggers: [release]", "metadata: {triggers: 5}")

    assert found.metadata.triggers == Triggers(any=("release",))
    assert found.diagnostics == ()


def test_triggers_of_the_block_stand_over_those_outside_it() -> None:
    found = resolved("triggers: [outside]", "metadata: {openclaw: {triggers: [inside]}}")

    assert found.metadata.triggers == Triggers(any=("inside",))


def test_emoji_and_homepage_outside_the_block_are_the_second_choice() -> None:
    outside = ("emoji: O", "website: https://outside")

    assert resolved(*outside).metadata == Metadata(emoji="O", homepage="https://outside")
    assert resolved(
        *outside, "metadata: {openclaw: {emoji: I, homepage: 'https://inside'}}"
    ).metadata == Metadata(emoji="I", homepage="https://inside")
