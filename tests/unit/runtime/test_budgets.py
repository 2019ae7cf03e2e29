"""What each harness will show: of its own folders, in its own way, for the agent that is meant."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.rows import each_row

from prowess.errors import UnknownAgentError
from prowess.runtime.harness.budget import CLAUDE_VARIABLE, Budgets, HarnessBudget
from prowess.settings import AgentSettings, Limits, Settings, SkillsSettings
from prowess.skills.harness.listings import CodexPage, Fate
from prowess.skills.harness.rules import Reader
from prowess.skills.model import Skill, Source, Tier
from prowess.testing import make_skill, open_memory

CLAUDE = Source(tier=Tier.HARNESS_PROJECT, root="/w/.claude/skills", label="claude")


def _claude(name: str, **fields: Any) -> Skill:  # noqa: ANN401 - fields of a skill
    path = f"{CLAUDE.root}/{name}/SKILL.md"
    return make_skill(name, source=CLAUDE, path=path, **fields)


def _budgets(
    *skills: Skill,
    settings: Settings | None = None,
    last_used: Mapping[str, int] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Budgets:
    service = open_memory(skills, settings=settings or Settings())
    return Budgets(service, lambda: last_used or {}, environ or {})


def _one(budgets: Budgets, reader: Reader, **asked: int | bool | str) -> HarnessBudget:
    window = asked.pop("window", None)
    everywhere = bool(asked.pop("everywhere", False))
    agent = asked.pop("agent", None)
    report = budgets.report(
        None if agent is None else str(agent),
        reader,
        None if window is None else int(window),
        everywhere=everywhere,
    )
    (harness,) = report.harnesses
    return harness


def _names(harness: HarnessBudget) -> list[str]:
    return [entry.skill.name for entry in harness.entries]


def test_a_report_is_about_every_harness_unless_one_is_named() -> None:
    budgets = _budgets(_claude("a"))

    assert [one.reader for one in budgets.report().harnesses] == list(Reader)
    assert [one.reader for one in budgets.report(harness=Reader.CODEX).harnesses] == [Reader.CODEX]


def test_a_harness_lists_what_lies_in_its_folders_and_says_how_many_do_not() -> None:
    budgets = _budgets(_claude("a"), make_skill("b"), make_skill("c", tier=Tier.AGENTS_PERSONAL))

    claude, codex = _one(budgets, Reader.CLAUDE), _one(budgets, Reader.CODEX)

    assert (_names(claude), claude.elsewhere) == (["a"], 2)
    assert (_names(codex), codex.elsewhere) == (["c"], 2)
    assert _names(_one(budgets, Reader.PROWESS)) == ["a", "b", "c"]


def test_one_may_ask_as_if_everything_lay_where_the_harness_reads() -> None:
    budgets = _budgets(_claude("a"), make_skill("b"))

    codex = _one(budgets, Reader.CODEX, everywhere=True)

    assert (_names(codex), codex.elsewhere) == (["a", "b"], 0)


def test_a_skill_that_is_not_ready_is_shown_by_whoever_does_not_check() -> None:
    budgets = _budgets(_claude("a", bins=("no-such-program",)))

    assert _names(_one(budgets, Reader.CLAUDE)) == ["a"]
    assert _names(_one(budgets, Reader.PROWESS)) == []


def test_what_the_author_hides_is_listed_apart() -> None:
    harness = _one(_budgets(_claude("a", model=False), _claude("b")), Reader.CLAUDE)

    assert _names(harness) == ["b"]
    assert [skill.name for skill in harness.hidden] == ["a"]


def test_the_environment_sets_the_room_that_claude_code_gives() -> None:
    budgets = _budgets(_claude("a"), environ={CLAUDE_VARIABLE: "30"})

    harness = _one(budgets, Reader.CLAUDE, window=1_000_000)

    assert (harness.limit, harness.limit_from) == (30, CLAUDE_VARIABLE)
    assert harness.count(Fate.NAME_ONLY) == 1


@each_row("value", ["", "many", "-5", "0", "9" * 40, "٣"])
def test_a_room_that_is_no_number_is_no_room(value: str) -> None:
    budgets = _budgets(_claude("a"), environ={CLAUDE_VARIABLE: value})

    assert _one(budgets, Reader.CLAUDE).limit == 8_000


def test_uses_that_were_noted_decide_who_keeps_a_description() -> None:
    skills = [_claude(name, description="x" * 100) for name in ("a", "b")]
    budgets = _budgets(*skills, last_used={"b": 7}, environ={CLAUDE_VARIABLE: "6330"})

    harness = _one(budgets, Reader.CLAUDE)

    assert [entry.fate for entry in harness.entries] == [Fate.NAME_ONLY, Fate.SHOWN]
    assert str(harness.fix.raise_to) in harness.how_to_raise


def test_the_limit_that_is_in_the_way_is_the_one_to_raise() -> None:
    skills = [make_skill(name, description="x" * 200) for name in ("a", "b", "c")]
    writer = AgentSettings(id="writer", default=True, max_skills_prompt_chars=600)
    few = Settings(skills=SkillsSettings(limits=Limits(max_skills_in_prompt=2)))

    own = _one(_budgets(*skills, settings=Settings(agents=(writer,))), Reader.PROWESS)
    count = _one(_budgets(*skills, settings=few), Reader.PROWESS)

    assert own.limit_from == "skillsLimits.maxSkillsPromptChars of agent writer"
    assert own.how_to_raise == f"set {own.limit_from} to {own.fix.raise_to} in the config"
    assert count.how_to_raise == "run `prowess config set skills.limits.maxSkillsInPrompt 3`"


def test_the_tokens_that_codex_needs_are_counted_by_bytes() -> None:
    source = Source(tier=Tier.AGENTS_PROJECT, root="/w/.agents/skills")
    skills = [
        make_skill(
            f"s{number}", source=source, path=f"{source.root}/s{number}/SKILL.md",
            description="\u65e5\u672c\u8a9e" * 300,
        )
        for number in range(10)
    ]  # fmt: skip

    told = _one(_budgets(*skills), Reader.CODEX).how_to_raise

    (tokens,) = (int(word) for word in told.split() if word.isdigit())
    assert CodexPage(window=50 * tokens).wanted(skills) == tokens
    assert tokens > 3 * 10 * 900 // 4


def test_an_agents_own_limit_and_list_count_for_our_block() -> None:
    writer = AgentSettings(
        id="writer", skills=("a",), skills_inherited=False, max_skills_prompt_chars=700
    )
    settings = Settings(
        skills=SkillsSettings(limits=Limits(max_skills_prompt_chars=9_000)),
        agents=(AgentSettings(id="main", default=True), writer),
    )
    budgets = _budgets(make_skill("a", description="x" * 900), make_skill("b"), settings=settings)

    main, other = _one(budgets, Reader.PROWESS), _one(budgets, Reader.PROWESS, agent="writer")

    assert (_names(main), main.limit, main.is_whole) == (["a", "b"], 9_000, True)
    assert (_names(other), other.limit, other.is_whole) == (["a"], 700, False)


def test_an_unknown_agent_is_refused() -> None:
    with pytest.raises(UnknownAgentError):
        _budgets().report("nobody")


def test_tokens_are_counted_in_tokens_once() -> None:
    skill = make_skill("a", tier=Tier.AGENTS_PROJECT)
    budgets = _budgets(skill)

    by_window = _one(budgets, Reader.CODEX, window=200_000)
    by_chars = _one(budgets, Reader.CODEX)

    assert by_window.unit == "tokens"
    assert by_window.tokens == by_window.used == by_chars.tokens


def test_codex_is_told_to_raise_its_limit_only_as_far_as_it_goes() -> None:
    few = [make_skill(f"s{n}", description="x" * 900, tier=Tier.AGENTS_PROJECT) for n in range(30)]
    many = [make_skill(f"s{n}", description="x" * 900, tier=Tier.AGENTS_PROJECT) for n in range(60)]

    assert "max_context_tokens" in _one(_budgets(*few), Reader.CODEX).how_to_raise
    assert _one(_budgets(*many), Reader.CODEX).how_to_raise == ""
