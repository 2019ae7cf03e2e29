"""Reading the block at the top of a SKILL.md: real YAML, kind to what people write."""

import pytest

from .world import NO_SUCH_BIN, World, alias_bomb


def described(world: World) -> dict[str, str]:
    """The description of each skill that Prowess does not ship."""
    return {n: str(row["description"]) for n, row in world.listing().items() if not row["bundled"]}


@pytest.mark.requirement("frontmatter:bom")
def test_a_byte_order_mark_before_the_block_is_ignored(world: World) -> None:
    world.raw("bom", b"\xef\xbb\xbf---\nname: bom\ndescription: Behind a mark.\n---\nBody.\n")

    assert world.row("bom")["description"] == "Behind a mark."


@pytest.mark.requirement("frontmatter:line-ends")
def test_other_line_ends_read_like_plain_ones(world: World) -> None:
    for name, end in (("windows", "\r\n"), ("old-mac", "\r")):
        text = f"---\nname: {name}\ndescription: From elsewhere.\n---\n\nBody.\n"
        world.raw(name, text.replace("\n", end).encode())

    assert described(world) == dict.fromkeys(("windows", "old-mac"), "From elsewhere.")


@pytest.mark.requirement("frontmatter:bom", "frontmatter:line-ends", "metadata:never-opens")
def test_a_mark_and_windows_line_ends_together_still_gate(world: World) -> None:
    text = (
        "\ufeff---\r\nname: both\r\ndescription: Both.\r\nmetadata:\r\n  openclaw:\r\n"
        f"    requires:\r\n      bins: [{NO_SUCH_BIN}]\r\n---\r\nBody.\r\n"
    )
    world.raw("both", text)

    assert world.row("both")["missing"]["bins"] == [NO_SUCH_BIN]


@pytest.mark.requirement("frontmatter:fences")
def test_spaces_after_the_fences_are_allowed(world: World) -> None:
    world.raw("spaced", "---  \nname: spaced\ndescription: Trailing blanks.\n---   \nBody.\n")

    assert world.row("spaced")["description"] == "Trailing blanks."


@pytest.mark.requirement("frontmatter:fences")
def test_four_dashes_do_not_open_a_block(world: World) -> None:
    world.raw("four", "----\nname: four\ndescription: Not a block.\n----\nBody.\n")

    assert not world.ready("four")
    assert world.codes("four") == {"FRONTMATTER_MISSING"}


@pytest.mark.requirement("frontmatter:dashes-in-values")
def test_dashes_inside_a_value_do_not_close_the_block(world: World) -> None:
    world.front("inside", 'description: "Cut here --- and go on"\nname: inside')
    world.front("first", "description: --- starts with dashes\nname: first")
    world.front("alone", "description: |\n  Above.\n  ---\n  Below.\nname: alone")

    assert described(world) == {
        "inside": "Cut here --- and go on",
        "first": "--- starts with dashes",
        "alone": "Above.\n---\nBelow.",
    }


@pytest.mark.requirement("frontmatter:dashes-in-body")
def test_a_rule_in_the_body_is_only_a_rule(world: World) -> None:
    world.raw(
        "ruled",
        "---\nname: ruled\ndescription: Has a rule below.\n---\nOne.\n\n---\n"
        "name: impostor\ndescription: Not this.\n---\nTwo.\n",
    )

    rows = world.listing()

    assert rows["ruled"]["description"] == "Has a rule below."
    assert "impostor" not in rows


@pytest.mark.requirement("frontmatter:unterminated")
def test_an_unterminated_block_is_refused_with_its_code(world: World) -> None:
    world.raw("open", "---\nname: open\ndescription: Never closed.\n\n# Steps\n\nDo it.\n")

    assert not world.ready("open")
    assert world.codes("open") == {"UNTERMINATED_FRONTMATTER"}


@pytest.mark.requirement("frontmatter:real-yaml")
def test_values_are_read_as_yaml_means_them(world: World) -> None:
    written = {
        "folded": (">\n  First part\n  second part.", "First part second part."),
        "comments": ("Plain. # why\n# end", "Plain."),
        "quotes": ("'quoted: yes'", "quoted: yes"),
        "escapes": ('"tab\\tand \\u00e9"', "tab\tand é"),
        "any-script": ("Prüfen ✅ 検証", "Prüfen ✅ 検証"),
        "blanks": ('"  Trimmed.  "', "Trimmed."),
    }
    for name, (value, _) in written.items():
        world.front(name, f"name: {name}\ndescription: {value}")

    assert described(world) == {name: shown for name, (_, shown) in written.items()}


@pytest.mark.requirement("frontmatter:core-schema")
def test_a_scalar_is_shown_as_it_was_written(world: World) -> None:
    written = {"int": "42", "float": "1.10", "date": "2024-01-31", "bool": "true", "word": "on"}
    for name, value in written.items():
        world.front(name, f"name: {name}\ndescription: {value}")

    assert described(world) == written


@pytest.mark.requirement("frontmatter:core-schema")
def test_a_word_that_old_yaml_reads_as_a_boolean_stays_a_name(world: World) -> None:
    world.front("on", "name: on\ndescription: A name that YAML 1.1 would read as true.")

    assert world.own() == {"on"}


@pytest.mark.requirement("frontmatter:colon-rescue")
def test_a_colon_in_a_plain_description_is_rescued_and_said(world: World) -> None:
    world.front("colon", "name: colon\ndescription: Use when: the user asks for a report")

    row = world.row("colon")

    assert row["description"] == "Use when: the user asks for a report"
    assert row["eligible"] is True
    assert [(item["code"], item["line"]) for item in world.problems("colon")] == [
        ("COLON_RESCUED", 3)
    ]


@pytest.mark.requirement("frontmatter:colon-rescue", "metadata:never-opens")
def test_colon_rescue_keeps_the_gating_of_the_same_block(world: World) -> None:
    world.front(
        "colon",
        "name: colon\ndescription: Deploy: build, then ship: done\n"
        f"metadata:\n  openclaw:\n    requires:\n      bins: [{NO_SUCH_BIN}]",
    )

    row = world.row("colon")

    assert row["description"] == "Deploy: build, then ship: done"
    assert row["missing"]["bins"] == [NO_SUCH_BIN]


@pytest.mark.requirement("frontmatter:rejected-when-broken")
def test_a_block_that_is_still_broken_after_rescue_is_refused(world: World) -> None:
    world.front("worse", "name: worse\ndescription: Use when: asked\nlicense: [unclosed")

    assert not world.ready("worse")
    assert world.problems("worse")


@pytest.mark.requirement("frontmatter:rejected-when-broken")
def test_structural_errors_keep_a_file_out_and_fail_its_validation_at_their_place(
    world: World,
) -> None:
    world.front("one", "name: [broken\ndescription: Use it when asked.")
    world.front("two", "name: g4\n  an indented line\ndescription: Use it when asked.")
    world.front("three", "name: g4\n  nested: key\ndescription: Use it when asked.")

    checked = world.run("validate", str(world.skills))

    assert world.own() == set()
    assert (checked.code, checked.out.count("FAIL")) == (1, 3)
    assert "line 2: while parsing a flow sequence" in checked.out
    assert "(column 7)" in checked.out
    assert "BAD_INDENT: line 3: an indented line stands below the name" in checked.out


@pytest.mark.requirement("frontmatter:description-required")
def test_a_blank_description_keeps_the_skill_out_with_a_reason(world: World) -> None:
    for number, value in enumerate(("", "~", "''", '"   "')):
        world.front(f"blank-{number}", f"name: blank-{number}\ndescription: {value}")

    assert world.own() == set()
    assert [item["code"] for item in world.problems()] == ["DESCRIPTION_MISSING"] * 4


@pytest.mark.requirement("frontmatter:name-falls-back")
def test_a_missing_name_falls_back_to_the_folder(world: World) -> None:
    world.front("from-folder", "description: No name given.")

    assert world.row("from-folder")["description"] == "No name given."


@pytest.mark.requirement("frontmatter:name-falls-back")
def test_a_given_name_stands_over_the_folder(world: World) -> None:
    world.front("some-folder", "name: other-name\ndescription: Named apart.")

    assert world.own() == {"other-name"}


METADATA = {
    "json": f'metadata: {{"openclaw": {{"requires": {{"bins": ["{NO_SUCH_BIN}"]}}}}}}',
    "json with trailing commas": (
        f'metadata: {{"openclaw": {{"requires": {{"bins": ["{NO_SUCH_BIN}",],}},}},}}'
    ),
    "json over several lines": (
        'metadata:\n  {\n    "openclaw":\n      {\n        "requires": { "bins": ["'
        + NO_SUCH_BIN
        + '"], },\n      },\n  }'
    ),
    "json in quotes": (
        f"""metadata: '{{"openclaw": {{"requires": {{"bins": ["{NO_SUCH_BIN}"]}}}}}}'"""
    ),
    "json5 with bare keys": f"metadata: {{openclaw: {{requires: {{bins: ['{NO_SUCH_BIN}',]}}}}}}",
    "json5 without blanks": f"metadata: {{openclaw:{{requires:{{bins:['{NO_SUCH_BIN}']}}}}}}",
    "json5 with a comment": (
        f"metadata: {{ /* why: needed */ openclaw: {{ requires: {{ bins: ['{NO_SUCH_BIN}'] }} }} }}"
    ),
    "json5 over several lines": (
        "metadata:\n  {\n    // needs a tool\n    openclaw: {\n      requires: { bins: ['"
        + NO_SUCH_BIN
        + "'] }, // here\n    },\n  }"
    ),
    "json5 in a literal block": (
        "metadata: |\n  {\n    // why\n    openclaw: { requires: { bins: ['"
        + NO_SUCH_BIN
        + "'] } },\n  }"
    ),
    "yaml": f"metadata:\n  openclaw:\n    requires:\n      bins:\n        - {NO_SUCH_BIN}",
    "yaml with a comma string": (
        f'metadata:\n  openclaw:\n    requires:\n      bins: "{NO_SUCH_BIN},"'
    ),
}


@pytest.mark.requirement("frontmatter:json-metadata", "metadata:never-opens")
def test_metadata_gates_in_every_notation(world: World) -> None:
    for name, front in METADATA.items():
        world.front(name.replace(" ", "-"), f"name: {name}\ndescription: Needs a tool.\n{front}")

    rows = world.listing()

    missing = {name: rows[name]["missing"]["bins"] for name in METADATA}
    assert missing == {name: [NO_SUCH_BIN] for name in METADATA}
    assert not any(rows[name]["eligible"] for name in METADATA)


@pytest.mark.requirement("frontmatter:json-metadata")
def test_a_url_inside_json_metadata_is_not_taken_for_a_comment(world: World) -> None:
    world.front(
        "linked",
        "name: linked\ndescription: Has a link.\n"
        'metadata: {"openclaw": {"homepage": "https://example.org/a?b=1", "emoji": "🔗"}}',
    )

    row = world.row("linked")

    assert (row["homepage"], row["emoji"]) == ("https://example.org/a?b=1", "🔗")


@pytest.mark.requirement("frontmatter:duplicate-keys")
def test_a_duplicate_key_is_refused_with_its_line(world: World) -> None:
    world.raw("twice", "---\nname: twice\ndescription: One.\ndescription: Two.\n---\nBody.\n")

    found = world.problems("twice")

    assert not world.ready("twice")
    assert [(item["code"], item["line"]) for item in found] == [("DUPLICATE_KEY", 4)]


@pytest.mark.requirement("frontmatter:duplicate-keys", "metadata:never-opens")
def test_a_duplicate_key_inside_metadata_never_opens_the_gate(world: World) -> None:
    world.front(
        "twice",
        "name: twice\ndescription: Nested twins.\nmetadata:\n  openclaw:\n    requires:\n"
        f"      bins: [{NO_SUCH_BIN}]\n    requires: {{}}",
    )

    assert not world.ready("twice")


@pytest.mark.requirement("frontmatter:wrong-root")
def test_a_block_that_is_not_a_mapping_is_refused(world: World) -> None:
    for number, root in enumerate(("- a\n- b", "just some words", "42")):
        world.front(f"rooted-{number}", root)

    assert world.own() == set()
    assert [item["code"] for item in world.problems()] == ["INVALID_ROOT"] * 3


@pytest.mark.requirement("frontmatter:bad-indent", "frontmatter:diagnostics")
def test_a_tab_indent_is_refused_with_the_line_of_the_tab(world: World) -> None:
    world.front("tabbed", "name: tabbed\ndescription: Tabs.\nmetadata:\n\topenclaw: {}")

    found = world.problems("tabbed")

    assert not world.ready("tabbed")
    assert [(item["code"], item["line"]) for item in found] == [("BAD_INDENT", 5)]


@pytest.mark.requirement("frontmatter:custom-tags")
def test_a_python_tag_is_refused_and_never_run(world: World) -> None:
    flag = world.root / "ran"
    world.front(
        "tagged",
        f'name: tagged\ndescription: Evil.\nx: !!python/object/apply:os.system ["touch {flag}"]',
    )

    assert not world.ready("tagged")
    assert world.codes("tagged") == {"CUSTOM_TAG"}
    assert not flag.exists()


@pytest.mark.requirement("frontmatter:alias-bombs")
def test_an_alias_bomb_is_refused_where_it_stands(world: World) -> None:
    world.front("bomb", f"name: bomb\ndescription: Laughs.\n{alias_bomb(12)}")
    world.skill("calm")

    assert not world.ready("bomb")
    assert world.codes("bomb") == {"ALIAS_FORBIDDEN"}
    assert world.ready("calm")


@pytest.mark.requirement("frontmatter:diagnostics", "skill:diagnostics")
def test_every_diagnostic_has_a_code_a_place_a_message_and_a_fix(world: World) -> None:
    world.front("one", "- a")
    world.raw("two", "---\nname: two\n")
    world.raw("three", b"---\nname: three\ndescription: \xff\n---\n")
    world.raw("four", b"---\nname: four\nx: \x00\n---\n")

    found = world.problems(str(world.skills))

    assert {item["line"] for item in found} == {1, 2, 3}
    for item in found:
        assert item["code"]
        assert item["message"]
        assert item["fix"]
        assert item["severity"] == "error"
