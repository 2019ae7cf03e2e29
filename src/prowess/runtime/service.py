"""The skills service: what every edge asks, the terminal and programs alike.

It answers per agent: each agent has a workspace, a filter and a budget. A workspace is looked at
again with as little work as possible. Nothing here touches files; the ports do.
"""

import functools
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from prowess.data import dataclass
from prowess.errors import PolicyError, SkillNotFoundError, UnknownAgentError, UnsafeSkillError
from prowess.runtime.ports import FactsProbe, Scan, SettingsSource, SkillJudge, SkillSources
from prowess.settings import (
    AgentSettings,
    Limits,
    Precedence,
    SettingProblem,
    Settings,
    SkillsSettings,
)
from prowess.skills import eligibility
from prowess.skills.agent_filter_snapshot import (
    AgentFilter,
    Allowed,
    MatchedBy,
    Snapshot,
    fingerprint,
    next_version,
)
from prowess.skills.catalog import (
    Catalog,
    Shadowed,
    explain_withheld,
    find,
    find_entry_sources,
    find_withheld,
    merge,
    owners,
)
from prowess.skills.eligibility import NO_FACTS, HostFacts, ScannerBlock, Verdict
from prowess.skills.model import Diagnostic, Skill, diagnose
from prowess.skills.text import one_line

if TYPE_CHECKING:
    from prowess.skills.prompt import PromptBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceState:
    """Everything that follows from files, host and settings, before any agent is considered."""

    settings: Settings
    scan: Scan
    catalog: Catalog
    # The skills that may come to be used, and what any of them asks of the host.
    asked: tuple[Skill, ...]
    needs: tuple[frozenset[str], frozenset[str]] | None
    facts: HostFacts
    # What the scanner keeps from use, by path.
    blocks: Mapping[str, ScannerBlock]
    verdicts: Mapping[str, Verdict]
    # Skills that do not get what is configured under their name, and the source whose it is.
    withheld: Mapping[str, str]
    # What the judge misses among them.
    notices: tuple[Diagnostic, ...] = ()


class Workspace:
    """Holds the current state of one workspace folder and rebuilds what changed."""

    def __init__(
        self,
        folder: str,
        sources: SkillSources,
        open_facts: Callable[[], FactsProbe],
        judge: SkillJudge | None = None,
        bind: Callable[[Mapping[str, str]], Mapping[str, Sequence[str]]] = lambda _found: {},
    ) -> None:
        """Look at nothing yet.

        Args:
            folder: where it is.
            sources: what finds its skills.
            open_facts: opens what is asked about the machine, where any skill needs to know.
            judge: without one the scanner keeps nothing from use.
            bind: keeps by key which source of the user's own has an entry of the config, and
                says which had it before.
        """
        self.folder = folder
        self._bind = bind
        # Is told each state, for whoever cannot wait for the next.
        self.keep: Callable[[WorkspaceState], None] = lambda _state: None
        self.sources = sources
        self._open_facts, self._judge = functools.cache(open_facts), judge
        # What the judge said when it was last asked.
        self._judged: object = None
        self._state: WorkspaceState | None = None
        self._lock = threading.RLock()

    def state(self, settings: Settings) -> WorkspaceState:
        """Return the state, built on first use and whenever the settings are others."""
        with self._lock:
            if self._state is None or self._state.settings is not settings:
                return self.refresh(settings)
            if self._judge is not None and self._judged != self._judge.moved():
                # Somebody accepted a finding, or a scan came to its end: no file changed.
                return self._refresh(settings, ())
            return self._state

    def scan(self, settings: Settings) -> Scan:
        """Return what the sources hold, for who need not know whether it can be used."""
        with self._lock:
            known = self._state is not None and self._state.settings is settings
            return self._state.scan if known and self._state else self.sources.scan(settings)

    def refresh(self, settings: Settings, changed: Collection[str] | None = None) -> WorkspaceState:
        """Look again; `changed` names the only files that can differ."""
        with self._lock:
            return self._refresh(settings, changed)

    def _refresh(self, settings: Settings, changed: Collection[str] | None) -> WorkspaceState:
        old = self._state
        scan = self.sources.scan(settings, changed)
        by_readiness = settings.skills.load.precedence is Precedence.OPENPOCKET
        if old is not None and scan is old.scan and settings is old.settings:
            catalog, asked, needs = old.catalog, old.asked, old.needs
        else:
            catalog = merge(scan.skills, settings.skills.load.precedence)
            # Who gets a name may depend on what is ready, so there everybody's needs are asked for.
            asked = scan.skills if by_readiness else catalog.skills
            needs = eligibility.find_needs(asked)
        facts = NO_FACTS if needs is None else self._open_facts().probe(*needs)
        blocks = self._find_blocks(asked, settings, changed)
        withheld = self._find_withheld(catalog, settings)
        is_same = old is not None and catalog is old.catalog and facts == old.facts
        notices = () if self._judge is None else self._judge.notices
        judged = blocks, withheld, notices
        if old is not None and is_same and judged == (old.blocks, old.withheld, old.notices):
            return old
        if by_readiness:
            catalog = _merge_ready(scan, facts, settings, blocks)
            withheld = self._find_withheld(catalog, settings)
        state = WorkspaceState(
            settings=settings,
            scan=scan,
            catalog=catalog,
            asked=asked,
            needs=needs,
            facts=facts,
            blocks=blocks,
            verdicts=_verdicts(catalog, facts, settings, blocks, old),
            withheld=withheld,
            notices=notices,
        )
        self._state = _judge_withheld(state, old)
        self.keep(self._state)
        return self._state

    def _find_blocks(
        self, skills: Sequence[Skill], settings: Settings, changed: Collection[str] | None
    ) -> Mapping[str, ScannerBlock]:
        if self._judge is None:
            return {}
        # Before it answers: what comes meanwhile is asked for again.
        self._judged = self._judge.moved()
        return self._judge.find_blocks(skills, settings, changed)

    def _find_withheld(self, catalog: Catalog, settings: Settings) -> Mapping[str, str]:
        entries = settings.skills.entries
        if not any(entry.holds_secrets for entry in entries.values()):
            return {}
        # At the first look, not the first use: a skill that is gone by then still was who had it.
        owned = find_entry_sources(catalog, entries)
        return find_withheld(catalog, entries, owned, self._bind(owned))

    def settle(self, skills: Sequence[Skill], settings: Settings) -> None:
        """Have skills scanned that were not yet, as far as there is time for it."""
        if self._judge is not None:
            self._judge.settle(skills, settings)

    @property
    def skill_folders(self) -> tuple[str, ...]:
        """The folders whose every file is a part of a skill."""
        return () if self._judge is None else self._judge.folders


def _merge_ready(
    scan: Scan, facts: HostFacts, settings: Settings, blocks: Mapping[str, ScannerBlock]
) -> Catalog:
    """Merge as OpenPocket does, where a skill that is not ready takes no name from one that is."""

    def is_ready(skill: Skill) -> bool:
        is_set_up = eligibility.check(skill, facts, settings).is_set_up
        return is_set_up and skill.path not in blocks

    return merge(scan.skills, settings.skills.load.precedence, is_ready)


def _verdicts(
    catalog: Catalog,
    facts: HostFacts,
    settings: Settings,
    blocks: Mapping[str, ScannerBlock],
    old: WorkspaceState | None,
) -> dict[str, Verdict]:
    """Judge every winner; the same object under the same facts is not judged again."""
    known: Mapping[str, Skill] = {}
    judged: Mapping[str, Verdict] = {}
    if old is not None and old.settings is settings and old.facts == facts:
        known, judged = old.catalog.winners, old.verdicts
    found: dict[str, Verdict] = {}
    for name, skill in catalog.winners.items():
        is_known = known.get(name) is skill
        verdict = judged[name] if is_known else eligibility.check(skill, facts, settings)
        block = blocks.get(skill.path)
        found[name] = verdict if verdict.blocked == block else replace(verdict, blocked=block)
    return found


def _judge_withheld(state: WorkspaceState, old: WorkspaceState | None) -> WorkspaceState:
    """Return a state in which what is withheld, and what was, is judged by what it gets now."""
    before = {} if old is None else old.withheld
    changed = {name for name in (*state.withheld, *before) if name in state.verdicts}
    verdicts = dict(state.verdicts)
    for name in changed:
        skill, withheld = state.catalog.winners[name], name in state.withheld
        verdict = eligibility.check(skill, state.facts, state.settings, withheld=withheld)
        verdicts[name] = replace(verdict, blocked=state.blocks.get(skill.path))
    return replace(state, verdicts=verdicts) if changed else state


_P = ParamSpec("_P")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillStatus:
    """One skill as one agent stands to it."""

    skill: Skill
    verdict: Verdict
    matched: MatchedBy | None

    @property
    def usable(self) -> bool:
        """True where the skill is eligible and the agent may use it: it is ready."""
        may = self.matched is not None and not self.skill.is_draft
        return self.verdict.eligible and may

    @property
    def is_blocked(self) -> bool:
        """True where the scanner alone keeps the agent from using it."""
        may = self.matched is not None and not self.skill.is_draft
        return may and self.verdict.is_set_up and self.verdict.blocked is not None

    @property
    def model_visible(self) -> bool:
        """True where the agent's model may choose it."""
        return self.usable and self.skill.invocation.model

    @property
    def command_visible(self) -> bool:
        """True where a person may call it."""
        return self.usable and self.skill.invocation.user


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
    """All skills of one agent's workspace, and all that is wrong with any file."""

    agent_id: str
    workspace: str
    managed: str
    agent_filter: AgentFilter
    skills: tuple[SkillStatus, ...]
    shadowed: tuple[Shadowed, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    problems: tuple[SettingProblem, ...] = ()

    @property
    def unmatched(self) -> tuple[str, ...]:
        """Entries of the agent's list that name no skill."""
        return self.agent_filter.unmatched(status.skill for status in self.skills)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The folders that answers mention."""

    workspace: str
    # A workspace that a person named stands over the one an agent is configured with.
    workspace_given: bool
    managed: str
    homes: tuple[str, ...] = ()


def _hold_lock(
    method: Callable[Concatenate["SkillsService", _P], _R],
) -> Callable[Concatenate["SkillsService", _P], _R]:
    """Let one thread at a time into a method: what is kept must not change under a reader."""

    @functools.wraps(method)
    def entered(service: "SkillsService", /, *args: _P.args, **named: _P.kwargs) -> _R:
        with service.lock:
            return method(service, *args, **named)

    return entered


class SkillsService:
    """Answers for every agent and any thread, from workspaces that it keeps up to date."""

    def __init__(
        self,
        *,
        settings: SettingsSource,
        places: Places,
        open_workspace: Callable[[str], Workspace],
        now_ms: Callable[[], int],
        last_used: Callable[[], Mapping[str, int]],
    ) -> None:
        self.places = places
        # Whoever asks several things that must fit together holds it meanwhile.
        self.lock = threading.RLock()
        self._settings = settings
        self._open_workspace = open_workspace
        self._now_ms, self._started_ms, self._version = now_ms, now_ms(), 0
        self._last_used = last_used
        self._workspaces: dict[str, Workspace] = {}
        self._current: Settings | None = None
        self._allowed: dict[str, tuple[WorkspaceState, Allowed]] = {}
        self._snapshots: dict[str, tuple[WorkspaceState | None, Snapshot]] = {}
        self._uses: Mapping[str, int] = {}

    @property
    @_hold_lock
    def settings(self) -> Settings:
        """The configuration as it was last read."""
        if self._current is None:
            self._current = self._settings.read()
        return self._current

    @_hold_lock
    def agent(self, agent_id: str | None = None) -> AgentSettings:
        """Return an agent, by default the default one.

        Raises:
            UnknownAgentError: no agent has that id.
        """
        agents = self.settings.agents
        for agent in agents:
            if agent.default if agent_id is None else agent.id == agent_id:
                return agent
        if agent_id is None:
            return agents[0]
        raise UnknownAgentError(agent_id, [agent.id for agent in agents])

    @_hold_lock
    def folder(self, agent_id: str | None = None) -> str:
        """Return the folder in which an agent works."""
        agent = self.agent(agent_id)
        if agent.workspace is not None and not self.places.workspace_given:
            return agent.workspace
        return self.places.workspace

    @_hold_lock
    def workspace(self, agent_id: str | None = None) -> Workspace:
        """Return the workspace in which an agent works."""
        folder = self.folder(agent_id)
        if folder not in self._workspaces:
            self._workspaces[folder] = self._open_workspace(folder)
        return self._workspaces[folder]

    @_hold_lock
    def refresh(self, changed: Collection[str] | None = None) -> bool:
        """Look at files and config again; return whether any known snapshot changed.

        Args:
            changed: the only files that can differ; None means that anything can.
        """
        self._current = self._settings.read()
        for workspace in self._workspaces.values():
            workspace.refresh(self._current, changed)
        if any(kept.block.dropped for _, kept in self._snapshots.values()):
            self.reconsider()
        before = {agent_id: snapshot for agent_id, (_, snapshot) in self._snapshots.items()}
        known = {agent.id for agent in self._current.agents}
        self._allowed = {key: kept for key, kept in self._allowed.items() if key in known}
        self._snapshots = {key: kept for key, kept in self._snapshots.items() if key in known}
        return any(
            agent_id not in known or self.snapshot(agent_id).version != snapshot.version
            for agent_id, snapshot in before.items()
        )

    @_hold_lock
    def reconsider(self) -> None:
        """Build blocks that dropped skills anew if other skills have been used since."""
        uses = self._last_used()
        if uses != self._uses:
            self._snapshots = {key: (None, kept) for key, (_, kept) in self._snapshots.items()}

    @_hold_lock
    def status(self, agent_id: str | None = None) -> StatusReport:
        """Return every skill with its verdict for one agent."""
        agent, workspace = self.agent(agent_id), self.workspace(agent_id)
        state = workspace.state(self.settings)
        # A mere copy of the winner is no news to anyone.
        shadowed = tuple(lost for lost in state.catalog.shadowed if not lost.identical)
        return StatusReport(
            agent_id=agent.id,
            workspace=workspace.folder,
            managed=self.places.managed,
            agent_filter=AgentFilter.of(agent),
            skills=_statuses(state, agent),
            shadowed=shadowed,
            diagnostics=(
                *state.scan.diagnostics,
                *state.notices,
                *(_shadow_note(lost) for lost in shadowed),
                *_key_warnings(state),
                *_entry_warnings(state),
            ),
            problems=self.settings.problems,
        )

    @_hold_lock
    def find(self, name: str, agent_id: str | None = None) -> SkillStatus:
        """Return the skill that a person calls `name`.

        Raises:
            SkillNotFoundError: none or several answer to it.
        """
        report = self.status(agent_id)
        skill = find([status.skill for status in report.skills], name)
        return next(status for status in report.skills if status.skill is skill)

    def wait_for(self, name: str, agent_id: str | None, missed: SkillNotFoundError) -> Skill:
        """Return a skill that was `missed` since it was not scanned or accepted; now it may be.

        Raises:
            SkillNotFoundError: it was missed for another reason.
            UnsafeSkillError: the scanner blocks it.
            PolicyError: a policy forbids it.
        """
        try:
            status = self.find(name, agent_id)
        except SkillNotFoundError:
            raise missed from None
        if status.is_blocked:
            self.settle([status.skill], agent_id)
            status = self.find(name, agent_id)
        if status.is_blocked and status.verdict.blocked is not None:
            block = status.verdict.blocked
            if block.policy:
                way_out = block.find_way_out(status.skill.name)
                raise PolicyError(status.skill.name, f"is not used: {block.policy}; {way_out}.")
            raise UnsafeSkillError(status.skill.name, f"{block.reason}.", block.findings)
        if not status.usable:
            raise missed
        return status.skill

    @_hold_lock
    def allowed(self, agent_id: str | None = None) -> Allowed:
        """Return what the agent may use now, for who has no use for a prompt or a version."""
        agent, state = self.agent(agent_id), self.workspace(agent_id).state(self.settings)
        known = self._allowed.get(agent.id)
        if known is None or known[0] is not state:
            known = self._allowed[agent.id] = (state, _allow(agent, state))
        return known[1]

    @_hold_lock
    def snapshot(self, agent_id: str | None = None) -> Snapshot:
        """Return what the agent may use now; the version moves only when the meaning did."""
        agent, state = self.agent(agent_id), self.workspace(agent_id).state(self.settings)
        known = self._snapshots.get(agent.id)
        if known is not None and known[0] is state:
            return known[1]
        fresh = self._build(agent, self.allowed(agent_id))
        if known is not None and known[1].hash == fresh.hash:
            fresh = replace(fresh, version=known[1].version)
        else:
            self._version = next_version(self._version, self._started_ms, self._now_ms())
            fresh = replace(fresh, version=self._version)
        self._snapshots[agent.id] = (state, fresh)
        return fresh

    @_hold_lock
    def prompt(
        self,
        agent_id: str | None = None,
        *,
        tools: Collection[str] | None = None,
        most_chars: int | None = None,
    ) -> "PromptBlock":
        """Return the prompt block; without a tool that can read files there is none.

        Args:
            agent_id: whose; by default the default agent's.
            tools: the names of the agent's tools; by default it can read files.
            most_chars: a limit beside that of the settings, for who has less room.
        """
        # Late: a hook and a route render nothing.
        from prowess.skills.prompt import PromptBlock, can_read

        block = self.snapshot(agent_id).block
        if most_chars is not None and len(block.text) > most_chars:
            visible = [s for s in self.snapshot(agent_id).usable if s.invocation.model]
            block = self._render(visible, self.agent(agent_id), self._last_used, most_chars)
        if can_read(tools):
            return block
        return PromptBlock(
            dropped=(*block.included, *block.dropped),
            omitted_because="none of the agent's tools can read a file",
        )

    def settle(self, skills: Sequence[Skill], agent_id: str | None = None) -> None:
        """Have skills scanned that were not yet, as far as there is time for it.

        Who holds the lock meanwhile keeps everybody waiting.
        """
        with self.lock:
            workspace, settings = self.workspace(agent_id), self.settings
        workspace.settle(skills, settings)

    @_hold_lock
    def resources(self, name: str, agent_id: str | None = None) -> Sequence[str]:
        """Return the files of a skill, relative to its folder."""
        return self.workspace(agent_id).sources.resources(self.find(name, agent_id).skill)

    def _build(self, agent: AgentSettings, allowed: Allowed) -> Snapshot:
        visible = [skill for skill in allowed.usable if skill.invocation.model]
        block = self._render(visible, agent, self._look_at_uses)
        return Snapshot(
            agent_id=agent.id,
            version=0,
            hash=fingerprint(allowed.usable, AgentFilter.of(agent), block.text),
            block=block,
            usable=allowed.usable,
            hopeful=allowed.hopeful,
            held=allowed.held,
            skill_filter=allowed.skill_filter,
        )

    def _look_at_uses(self) -> Mapping[str, int]:
        """Return when skills were last used, and remember what the snapshots were built by."""
        self._uses = dict(self._last_used())
        return self._uses

    def _render(
        self,
        visible: Sequence[Skill],
        agent: AgentSettings,
        last_used: Callable[[], Mapping[str, int]],
        most_chars: int | None = None,
    ) -> "PromptBlock":
        """Render a block; which skills were used is asked for only when some must go."""
        from prowess.skills.prompt import Worth, escape, render

        skills, homes = self.settings.skills, self.places.homes
        limits, note = _limits_of(agent, skills.limits, most_chars), escape(_node_note(skills))
        worth = Worth(pinned=skills.pinned)
        block = render(visible, limits=limits, worth=worth, homes=homes, note=note)
        uses = last_used() if block.dropped else {}
        if not uses:
            return block
        worth = replace(worth, last_used=uses)
        return render(visible, limits=limits, worth=worth, homes=homes, note=note)


def _allow(agent: AgentSettings, state: WorkspaceState) -> Allowed:
    # Most agents have no list, and then nothing is looked up in it.
    listed = None if agent.skills is None else AgentFilter.of(agent)
    set_up = tuple(
        skill
        for name, skill in state.catalog.winners.items()
        if state.verdicts[name].is_set_up
        and (listed is None or listed.match(skill) is not None)
        and not skill.is_draft
    )
    usable = tuple(skill for skill in set_up if skill.path not in state.blocks)
    hopeful = tuple(skill for skill in set_up if _is_hopeful(state.blocks.get(skill.path)))
    return Allowed(
        agent_id=agent.id,
        usable=usable,
        hopeful=() if len(hopeful) == len(usable) else hopeful,
        held=tuple(skill for skill in set_up if skill.path in state.blocks),
        skill_filter=None if listed is None else listed.entries,
    )


def _is_hopeful(block: ScannerBlock | None) -> bool:
    """Return whether a skill can be used, or could if only it were scanned."""
    return block is None or block.is_pending


def _statuses(state: WorkspaceState, agent: AgentSettings) -> tuple[SkillStatus, ...]:
    agent_filter = AgentFilter.of(agent)
    return tuple(
        SkillStatus(skill=skill, verdict=state.verdicts[name], matched=agent_filter.match(skill))
        for name, skill in state.catalog.winners.items()
    )


def _shadow_note(lost: Shadowed) -> Diagnostic:
    message = f"{lost.skill.name} is shadowed by {lost.winner.path}"
    return diagnose("shadowed", message, path=lost.skill.path)


def _key_warnings(state: WorkspaceState) -> Iterator[Diagnostic]:
    skills = tuple(state.catalog.winners.values())
    owned = owners(skills)
    for skill in skills:
        owner = owned[skill.key]
        if owner is not skill:
            message = f"{skill.name} asks for the key {skill.key}, which belongs to {owner.name}"
            yield diagnose("key-taken", message, path=skill.path)


def _entry_warnings(state: WorkspaceState) -> Iterator[Diagnostic]:
    for name, whose in state.withheld.items():
        skill = state.catalog.winners[name]
        yield diagnose("entry-withheld", explain_withheld(skill, whose), path=skill.path)


def _limits_of(agent: AgentSettings, limits: Limits, most_chars: int | None) -> Limits:
    own, most = agent.max_skills_prompt_chars, limits.max_skills_prompt_chars
    most = most if own is None else own
    most = most if most_chars is None else min(most, most_chars)
    return replace(limits, max_skills_prompt_chars=most)


def _node_note(skills: SkillsSettings) -> str:
    if not skills.nodes:
        return ""
    names = one_line(", ".join(node.name for node in skills.nodes))
    return f"Some skills need a remote machine ({names}): run their commands there."
