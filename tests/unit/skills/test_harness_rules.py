"""Which skills a harness finds, and which of two with one name it takes."""

from dataclasses import replace
from typing import Any

import pytest
from tests.rows import each_row

from prowess.skills.harness.rules import Reader, choose, read_rules, reader_named, reads, why_hidden
from prowess.skills.model import Diagnostic, Invocation, RootKind, Severity, Skill, Source, Tier
from prowess.testing import make_skill

CLAUDE_PROJECT = Source(tier=Tier.HARNESS_PROJECT, root="/w/.claude/skills", label="claude")
CLAUDE_PERSONAL = Source(tier=Tier.HARNESS_PERSONAL, root="/h/.claude/skills", label="claude")
AGENTS = Source(tier=Tier.AGENTS_PROJECT, root="/w/.agents/skills")
WORKSPACE = Source(tier=Tier.WORKSPACE, root="/w/skills")
COMMANDS = Source(
    tier=Tier.HARNESS_PROJECT, root="/w/.claude/commands", label="claude", kind=RootKind.COMMANDS
)
COLON = Diagnostic(code="COLON_RESCUED", severity=Severity.WARNING, message="x")


def _at(source: Source, *, name: str = "deploy") -> Skill:
    path = f"{source.root}/{name}/SKILL.md"
    if source.kind is RootKind.COMMANDS:
        path = f"{source.root}/{name}.md"
    return make_skill(name, source=source, path=path, folder=path.rpartition("/")[0])


@each_row(
    ("source", "readers"),
    [
        (
            CLAUDE_PROJECT,
            {Reader.CLAUDE, Reader.CURSOR, Reader.COPILOT, Reader.VSCODE, Reader.PROWESS}
            | {Reader.OPENCODE},
        ),
        (CLAUDE_PERSONAL, {Reader.CLAUDE, Reader.OPENCODE, Reader.PROWESS}),
        (AGENTS, set(Reader) - {Reader.CLAUDE}),
        (WORKSPACE, {Reader.OPENCLAW, Reader.PROWESS}),
        (COMMANDS, {Reader.CLAUDE, Reader.PROWESS}),
    ],
)
def test_each_folder_has_its_readers(source: Source, readers: set[Reader]) -> None:
    found = {reader for reader in Reader if reads(read_rules()[reader], _at(source))}

    assert found == readers


@each_row(
    ("folder", "others"),
    [("/w", set()), ("", set()), ("/w/packages/web", {Reader.GEMINI, Reader.QWEN}), ("/w2", None)],
)
def test_two_harnesses_look_into_no_folder_above(folder: str, others: set[Reader] | None) -> None:
    rules = read_rules()
    readers = {reader for reader in Reader if reads(rules[reader], _at(AGENTS))}

    found = {reader for reader in Reader if reads(rules[reader], _at(AGENTS), folder)}

    assert found == readers - ({Reader.GEMINI, Reader.QWEN} if others is None else others)


def test_a_single_text_among_skills_is_a_skill_for_us_alone() -> None:
    loose = replace(_at(AGENTS), path="/w/.agents/skills/deploy.md")

    assert {reader for reader in Reader if reads(read_rules()[reader], loose)} == {Reader.PROWESS}


def test_claude_code_prefers_the_persons_own_and_others_the_projects() -> None:
    project, personal = _at(CLAUDE_PROJECT), _at(CLAUDE_PERSONAL)

    assert choose(read_rules()[Reader.CLAUDE], [project, personal]) == [personal]
    assert choose(read_rules()[Reader.CURSOR], [project, personal]) == [project]
    assert choose(read_rules()[Reader.CODEX], [project, personal]) == [project, personal]


def test_a_harness_hides_only_by_what_it_understands() -> None:
    flag = replace(_at(AGENTS), invocation=_hidden_by("disable-model-invocation"))
    sidecar = replace(_at(AGENTS), invocation=_hidden_by("agents/openai.yaml"))

    assert why_hidden(read_rules()[Reader.CURSOR], flag)
    assert not why_hidden(read_rules()[Reader.CODEX], flag)
    assert why_hidden(read_rules()[Reader.CODEX], sidecar)
    assert not why_hidden(read_rules()[Reader.CURSOR], sidecar)


@each_row(
    ("changed", "readers"),
    [
        ({}, set()),
        ({"name": "x" * 65}, {Reader.CODEX, Reader.COPILOT}),
        ({"description": "x" * 1_025}, {Reader.COPILOT}),
        ({"fields": {}}, {Reader.GEMINI, Reader.QWEN, Reader.OPENCODE}),
        ({"diagnostics": (COLON,)}, {Reader.COPILOT}),
        ({"path": f"{AGENTS.root}/group/deploy/SKILL.md"}, {Reader.CLAUDE, Reader.QWEN}),
        (
            {"invocation": Invocation(model=False, hidden_by="disable-model-invocation")},
            {Reader.CLAUDE, Reader.CURSOR, Reader.COPILOT, Reader.QWEN, Reader.OPENCLAW}
            | {Reader.PROWESS},
        ),
    ],
)
def test_what_a_harness_was_seen_to_leave_out_is_not_taken_for_listed(
    changed: dict[str, Any], readers: set[Reader]
) -> None:
    skill = replace(_at(AGENTS), **({"fields": {"name": "deploy"}} | changed))

    assert {one for one in Reader if why_hidden(read_rules()[one], skill)} == readers


def _hidden_by(who: str) -> Invocation:
    return Invocation(model=False, hidden_by=who)


def test_a_harness_answers_to_its_short_name() -> None:
    assert reader_named("Claude") is reader_named("claude-code") is Reader.CLAUDE
    with pytest.raises(ValueError, match="emacs"):
        reader_named("emacs")
