"""What each harness will show of the skills that it reads, and the cheapest way to show it all.

A harness reads its own folders and knows nothing of agents or requirements; Prowess and OpenClaw
leave out what is not ready. So the lists differ in more than their limits, and each is made from
what that harness would find.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prowess.runtime.service import SkillsService, StatusReport
from prowess.settings import Limits
from prowess.skills.harness.listings import (
    CLAUDE_WINDOW,
    CODEX_MOST_TOKENS,
    CODEX_WINDOW,
    BuiltIn,
    ClaudePage,
    CodexPage,
    Fate,
    Fix,
    HarnessPage,
    ListedSkill,
    OpenPage,
    PromptPage,
    RecentUse,
    cheapest_fix,
    tokens_of,
)
from prowess.skills.harness.rules import (
    HarnessRules,
    Reader,
    choose,
    is_skill_file,
    read_rules,
    reads,
    why_hidden,
)
from prowess.skills.model import Skill
from prowess.skills.prompt import Worth

CLAUDE_VARIABLE = "SLASH_COMMAND_TOOL_CHAR_BUDGET"
_OWN = (Reader.PROWESS, Reader.OPENCLAW)
_CHARS_KEY = "maxSkillsPromptChars"
_CHARS, _COUNT = f"skills.limits.{_CHARS_KEY}", "skills.limits.maxSkillsInPrompt"
_LONGEST_NUMBER = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessBudget:
    """The list of one harness."""

    reader: Reader
    title: str
    # None where no limit is known; the unit is that of the limit, and of what is used.
    limit: int | None
    unit: str
    limit_from: str
    entry_limit: int | None
    wanted: int
    used: int
    entries: tuple[ListedSkill, ...] = ()
    hidden: tuple[Skill, ...] = ()
    # How many usable skills lie where this harness does not look.
    elsewhere: int = 0
    places: tuple[str, str] = ("", "")
    fix: Fix = field(default_factory=Fix)
    how_to_hide: str = ""
    how_to_raise: str = ""
    notes: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """About how many tokens the list takes."""
        return self.used if self.unit == "tokens" else tokens_of(self.used)

    def count(self, fate: Fate) -> int:
        """Return how many descriptions have one fate."""
        return sum(entry.fate is fate for entry in self.entries)

    @property
    def is_whole(self) -> bool:
        """True where every description is shown as it was written."""
        return self.count(Fate.SHOWN) == len(self.entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReport:
    """The lists of all harnesses that were asked for."""

    agent_id: str
    workspace: str
    window: int | None
    harnesses: tuple[HarnessBudget, ...]

    @property
    def is_whole(self) -> bool:
        """True where every harness shows every description."""
        return all(harness.is_whole for harness in self.harnesses)


class Budgets:
    """Says what harnesses will show."""

    def __init__(
        self,
        skills: SkillsService,
        last_used: Callable[[], Mapping[str, int]],
        environ: Mapping[str, str],
    ) -> None:
        self._skills, self._last_used, self._environ = skills, last_used, environ

    def report(
        self,
        agent_id: str | None = None,
        harness: Reader | None = None,
        window: int | None = None,
        *,
        everywhere: bool = False,
    ) -> BudgetReport:
        """Return what one harness, or each of them, will show.

        Args:
            agent_id: whose workspace it is about; by default the default agent's.
            harness: the harness; by default all of them.
            window: the tokens of the model's window; by default what the harness assumes.
            everywhere: whether to judge as if every usable skill lay where the harness reads.

        Raises:
            UnknownAgentError: there is no such agent.
        """
        with self._skills.lock:
            status = self._skills.status(agent_id)
            scan = self._skills.workspace(agent_id).state(self._skills.settings).scan
        use = RecentUse(last_used=self._last_used(), pinned=self._skills.settings.skills.pinned)
        view = _View(status=status, found=scan.skills, everywhere=everywhere)
        readers = tuple(Reader) if harness is None else (harness,)
        return BudgetReport(
            agent_id=status.agent_id,
            workspace=status.workspace,
            window=window,
            harnesses=tuple(
                self._make_one(read_rules()[reader], view, use, window) for reader in readers
            ),
        )

    def _make_one(
        self, rules: HarnessRules, view: "_View", use: RecentUse, window: int | None
    ) -> HarnessBudget:
        visible, hidden, elsewhere = view.of(rules)
        page, limit_from = self._page(rules, view.status.agent_id, use, window)
        listing, fix = page.arrange(visible), cheapest_fix(visible, page, use)
        return HarnessBudget(
            reader=rules.reader,
            title=rules.title,
            limit=page.limit,
            unit=page.unit,
            limit_from=limit_from,
            entry_limit=page.entry_limit,
            wanted=listing.wanted,
            used=listing.used,
            entries=listing.entries,
            hidden=tuple(hidden),
            elsewhere=elsewhere,
            places=rules.places,
            fix=fix,
            how_to_hide=_HOW_TO_HIDE.get(rules.reader, ""),
            how_to_raise=_explain_raise(
                rules.reader, page, fix.raise_to, skills=visible, limit_from=limit_from
            ),
            notes=tuple(_list_notes(rules)),
        )

    def _page(
        self, rules: HarnessRules, agent_id: str, use: RecentUse, window: int | None
    ) -> tuple[HarnessPage, str]:
        reader = rules.reader
        brought = tuple(BuiltIn(name=name, chars=chars) for name, chars in rules.builtin)
        if reader is Reader.CLAUDE:
            return self._claude(use, window, brought)
        if reader is Reader.CODEX:
            size = window or CODEX_WINDOW
            known = f"2 % of a window of {size:,} tokens"
            return CodexPage(window=size, builtin=brought), known
        if reader not in _OWN:
            page = OpenPage(
                limit=rules.list_limit,
                builtin=brought,
                element=rules.element,
                with_path=rules.with_path,
            )
            return page, f"seen in {rules.seen}" if rules.list_limit else "no limit was seen"
        if reader is Reader.OPENCLAW:
            homes = self._skills.places.homes
            return PromptPage(homes=homes, plain=True, builtin=brought), "OpenClaw's own default"
        worth = Worth(pinned=use.pinned, last_used=use.last_used)
        own_page = PromptPage(
            limits=self._limits(agent_id), worth=worth, homes=self._skills.places.homes
        )
        own = self._skills.agent(agent_id).max_skills_prompt_chars
        return own_page, _CHARS if own is None else f"skillsLimits.{_CHARS_KEY} of agent {agent_id}"

    def _claude(
        self, use: RecentUse, window: int | None, builtin: tuple[BuiltIn, ...]
    ) -> tuple[HarnessPage, str]:
        fixed = self._environ.get(CLAUDE_VARIABLE, "").strip()
        if fixed.isascii() and fixed.isdigit() and 0 < len(fixed) <= _LONGEST_NUMBER and int(fixed):
            return ClaudePage(fixed=int(fixed), use=use, builtin=builtin), CLAUDE_VARIABLE
        size = window or CLAUDE_WINDOW
        page = ClaudePage(window=size, use=use, builtin=builtin)
        return page, f"1 % of a window of {size:,} tokens"

    def _limits(self, agent_id: str) -> Limits:
        limits, own = self._skills.settings.skills.limits, self._skills.agent(agent_id)
        if own.max_skills_prompt_chars is None:
            return limits
        return replace(limits, max_skills_prompt_chars=own.max_skills_prompt_chars)


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """The skills of a workspace, and how each harness looks at them."""

    status: StatusReport
    # All that was found, those included that lost their name to another one.
    found: Sequence[Skill]
    everywhere: bool

    def of(self, rules: HarnessRules) -> tuple[list[Skill], list[Skill], int]:
        """Return what is listed, what is kept from the model, and how many lie elsewhere."""
        taken = self._list_taken(rules)
        hidden = [skill for skill in taken if why_hidden(rules, skill)]
        visible = [skill for skill in taken if not why_hidden(rules, skill)]
        read = {
            skill.name for skill in self.found if self.everywhere or self._is_read(skill, rules)
        }
        # Ours are about ourselves: nobody misses them elsewhere.
        known = {skill.name for skill in self._list_usable() if not skill.bundled}
        return visible, hidden, len(known - read)

    def _is_read(self, skill: Skill, rules: HarnessRules) -> bool:
        return reads(rules, skill, self.status.workspace)

    def _list_usable(self) -> list[Skill]:
        return [status.skill for status in self.status.skills if status.usable]

    def _list_taken(self, rules: HarnessRules) -> list[Skill]:
        if rules.reader is Reader.PROWESS:
            return self._list_usable()
        if self.everywhere:
            return [skill for skill in self._list_usable() if is_skill_file(skill)]
        own = [one for one in self.found if self._is_read(one, rules) and not one.is_draft]
        if rules.reader is Reader.OPENCLAW:
            ready = {one.skill.name for one in self.status.skills if one.verdict.eligible}
            own = [skill for skill in own if skill.name in ready]
        return choose(rules, own)


def _explain_raise(
    reader: Reader,
    page: HarnessPage,
    limit: int | None,
    *,
    skills: Sequence[Skill],
    limit_from: str,
) -> str:
    """Return how a person raises a limit to what all descriptions need; empty where it is fixed."""
    if reader in _OWN:
        key = limit_from if reader is Reader.PROWESS else _CHARS
        wanted = {} if limit is None else {key: limit}
        if page.most is not None and len(skills) > page.most:
            wanted[_COUNT] = len(skills)
        return _explain_own(reader, wanted)
    if limit is None:
        return ""
    if reader is Reader.CLAUDE:
        share = "or raise skillListingBudgetFraction in Claude Code's settings"
        return f"set {CLAUDE_VARIABLE} to {limit}, {share}"
    if reader is Reader.CODEX:
        # Its setting is in tokens, which it counts by bytes, also where its default is not.
        tokens = CodexPage(window=1).wanted(skills)
        fits = tokens <= CODEX_MOST_TOKENS
        return f"set skills.max_context_tokens to {tokens} in Codex's config" if fits else ""
    return ""


def _explain_own(reader: Reader, wanted: Mapping[str, int]) -> str:
    """Return how limits of our own block, or of OpenClaw's, are raised; an agent may have one."""
    if reader is Reader.PROWESS:
        return " and ".join(
            f"run `prowess config set {key} {value}`"
            if key in {_CHARS, _COUNT}
            else f"set {key} to {value} in the config"
            for key, value in wanted.items()
        )
    keys = " and ".join(f"{key} {value}" for key, value in wanted.items())
    return f"set {keys} in OpenClaw's config" if keys else ""


_HOW_TO_HIDE = {
    Reader.CLAUDE: "set it to `name-only` or `off` under skillOverrides in Claude Code's settings,"
    " or write `disable-model-invocation: true` into it",
    Reader.CODEX: "write `policy: {allow_implicit_invocation: false}` into its agents/openai.yaml",
    Reader.OPENCLAW: "write `disable-model-invocation: true` into it",
    Reader.PROWESS: "run `prowess disable NAME`, or leave it out of the agent's list",
}
_SHARED = (
    "Skills that it gets from plugins or finds in the folders above share the same room: they are"
    " not counted."
)
_BROUGHT = "Its own {count} skills are counted, as they were seen in version {seen}."
_NO_LIMIT = ("It documents no limit, so everything is taken to be shown; sizes are estimates.",)
_NOTES = {
    Reader.CLAUDE: (
        _SHARED,
        "Its skillOverrides are not read, and who keeps a description goes by what Prowess saw.",
        "A model with a larger window leaves more room: give --window.",
    ),
    Reader.CODEX: (_SHARED,),
    Reader.COPILOT: ("What does not fit is named at the end of the list, without a description.",),
    Reader.OPENCLAW: ("Which of its own are ready depends on what else is installed.",),
    Reader.PROWESS: (),
}


def _list_notes(rules: HarnessRules) -> Iterator[str]:
    if rules.builtin:
        yield _BROUGHT.format(count=len(rules.builtin), seen=rules.seen)
    yield from _NOTES.get(rules.reader, _NO_LIMIT)
