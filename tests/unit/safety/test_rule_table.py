"""The rule table is complete, plain to read, and harmless to keep."""

import re
from collections.abc import Iterator

import pytest

from prowess.safety.hosts import (
    find_drop,
    find_host,
    find_paste_site,
    find_service,
    is_local,
    is_short_link,
    read_installers,
)
from prowess.safety.model import Example, Level, Rule
from prowess.safety.rules.table import encode, read_examples, read_rules

ROWS = list(read_rules().values())
FAMILIES = {
    "instructions",
    "execution",
    "data",
    "persistence",
    "packages",
    "hiding",
    "files",
    "review",
}
REFERENCE = re.compile(
    r"CWE-\d+|CVE-\d{4}-\d+|OWASP LLM\d\d|ATT&CK T\d{4}(\.\d{3})?|https://[\w./-]+"
)
# The seven rules that the scanner began with, and their levels.
FIRST = {
    "prompt-injection-ignore-instructions": Level.CRITICAL,
    "prompt-injection-system": Level.CRITICAL,
    "prompt-injection-tool": Level.CRITICAL,
    "shell-pipe-to-shell": Level.CRITICAL,
    "secret-exfiltration": Level.CRITICAL,
    "destructive-delete": Level.WARN,
    "unsafe-permissions": Level.WARN,
}
INERT = re.compile(r"(?:.+\.)?(?:invalid|example|test|example\.(?:com|org|net))|203\.0\.113\.\d+")
# Names of standards and badges, and the documentation range written as one number.
HARMLESS = {"www.w3.org", "img.shields.io", "download.pytorch.org", "3405803785"}
ADDRESS = re.compile(r"(?:https?|stratum\+\w+|git\+http)://([^/\s\"'`<>)?]+)")

each_rule = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)


def _texts(examples: tuple[Example, ...]) -> Iterator[str]:
    for example in examples:
        yield from [example] if isinstance(example, str) else example.values()


def _may_be_named(host: str) -> bool:
    name = find_host(host)
    receivers = (find_drop(name), find_paste_site(name), find_service(name))
    return (
        INERT.fullmatch(name) is not None
        or name in HARMLESS
        or name in {row.host for row in read_installers()}
        or is_local(name)
        or is_short_link(name)
        or any(receivers)
    )


def test_the_seven_first_rules_keep_their_ids_and_levels() -> None:
    assert {name: read_rules()[name].level for name in FIRST} == FIRST


def test_the_table_cannot_be_changed_by_who_reads_it() -> None:
    with pytest.raises(TypeError):
        # The type forbids it too; the test is for who does not check types.
        read_rules()["mine"] = ROWS[0]  # type: ignore[index]


@each_rule
def test_an_id_is_plain_words_with_dashes(row: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row.id)
    assert row.family in FAMILIES


@each_rule
def test_a_rule_explains_itself_in_whole_sentences(row: Rule) -> None:
    assert row.title[0].isupper()
    assert not row.title.endswith(".")
    assert len(row.title) <= 80
    for text in (row.why, row.fix):
        assert text[0].isupper()
        assert text.endswith(".")
        assert "\n" not in text
        assert "  " not in text
    assert len(re.findall(r"[.!?](?= [A-Z]|$)", row.why)) <= 3
    assert len(re.findall(r"[.!?](?= [A-Z]|$)", row.fix)) <= 2


@each_rule
def test_a_rule_has_references_that_can_be_looked_up(row: Rule) -> None:
    assert row.references
    assert [text for text in row.references if not REFERENCE.fullmatch(text)] == []
    assert len(set(row.references)) == len(row.references)


@each_rule
def test_a_rule_has_examples_of_both_kinds(row: Rule) -> None:
    # What a language model finds has no text that always makes it fire.
    least = 0 if row.family == "review" else 3 if row.level is Level.CRITICAL else 2

    examples = read_examples(row.id)
    assert len(examples.fires) >= least
    assert len(examples.quiet) >= least


@each_rule
def test_no_example_stands_on_both_sides(row: Rule) -> None:
    examples = read_examples(row.id)
    assert [example for example in examples.fires if example in examples.quiet] == []


@each_rule
def test_an_example_of_several_files_is_a_whole_skill(row: Rule) -> None:
    examples = read_examples(row.id)
    for example in (*examples.fires, *examples.quiet):
        if not isinstance(example, str):
            assert example["SKILL.md"].startswith("---\nname: ")


@each_rule
def test_examples_name_hosts_that_harm_nobody(row: Rule) -> None:
    examples = read_examples(row.id)
    hosts = [
        host
        for text in _texts((*examples.fires, *examples.quiet))
        for host in ADDRESS.findall(text)
        if not _may_be_named(host)
    ]

    assert hosts == []


def test_every_row_of_examples_is_of_a_rule() -> None:
    with pytest.raises(KeyError):
        read_examples("no-such-rule")
    assert all(read_examples(name) for name in read_rules())


def test_hidden_texts_are_built_as_they_are_read() -> None:
    assert [hex(ord(letter)) for letter in encode("tags", "hi")] == ["0xe0068", "0xe0069"]
    assert [hex(ord(letter)) for letter in encode("selectors", "\x0fA")] == ["0xfe0f", "0xe0131"]
    assert encode("base64", "hi") == "aGk="
    assert encode("hex", "hi") == "6869"
    assert encode("3", "hi") == "hihihi"
