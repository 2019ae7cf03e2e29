"""A run: one turn of an agent, with its snapshot pinned and its environment in place.

    with runtime.run(agent="main", session="s1") as run:
        run.prompt                 # the block for the system prompt
        run.route(message)         # the skills that this message needs, with reasons
        run.turn(messages)         # what learning makes of it

`with` gives a `Run`, `async with` an `AsyncRun`. What changes on the disk meanwhile counts from the
next run on. The environment is as it was before when the block is left, whatever happened in it.

Variables of skills come from the config. A child process is handed a mapping of its own; for
libraries that read the environment of this very process they are set there and taken away again.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from prowess.errors import SkillNotFoundError, UnsafeSkillError
from prowess.runtime.environment import (
    Blocked,
    ChildEnvironment,
    EnvironmentOverlay,
    Lent,
    OverlayRun,
    SkillVariables,
    Value,
    Variables,
    child_environment,
    drop_variables,
    run_in_thread,
)
from prowess.runtime.ports import AuditLog, SecretSource
from prowess.runtime.service import SkillsService
from prowess.runtime.usage import Use
from prowess.safety.environment import comparable
from prowess.settings import EntrySettings
from prowess.skills.agent_filter_snapshot import Snapshot
from prowess.skills.catalog import explain_withheld, find, mark_source, owners
from prowess.skills.invocation import InvocationPlace, Invoked, References, references, run_command
from prowess.skills.model import Skill

if TYPE_CHECKING:
    from prowess.routing.model import Route
    from prowess.runtime.route.answer import Asked, RoutingService, Surface
    from prowess.runtime.skill_texts import SkillText, SkillTexts
    from prowess.runtime.usage import UsageLog
    from prowess.runtime.watch import Sessions
    from prowess.runtime.workshop.service import WorkshopService
    from prowess.workshop.proposal import Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnvironment:
    """What became of the variables of a run's skills: names, never values."""

    applied: tuple[str, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    # Names that had a value already, which stays.
    kept: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    # What was set by the operator's word alone (`allowEnv`).
    lent: tuple[Lent, ...] = ()

    @classmethod
    def of(
        cls, made: ChildEnvironment | OverlayRun, warnings: tuple[str, ...] = ()
    ) -> "RunEnvironment":
        """Return what is to be said of an environment that was made."""
        return cls(
            applied=made.applied,
            blocked=made.blocked,
            kept=made.kept,
            warnings=(*warnings, *made.warnings),
            lent=made.lent,
        )

    @property
    def allowed(self) -> tuple[str, ...]:
        """The names that `allowEnv` opened."""
        return tuple(one.name for one in self.lent)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know, one sentence each; one for all that is blocked."""
        names = sorted({one.key for one in self.blocked})
        said = f"not set, for they are not for skills: {', '.join(names)}"
        return (*((said,) if names else ()), *self.warnings)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentPorts:
    """What the environment of a run is made from."""

    base: Mapping[str, str] = field(repr=False)
    overlay: EnvironmentOverlay
    # Opened anew for each run: the config may have changed.
    secrets: Callable[[], SecretSource]
    audit: AuditLog
    # The time of day, as a text for logs.
    now: Callable[[], str]
    # Keeps by key which source had an entry of the config, where nobody had it before.
    bind: Callable[[Mapping[str, str]], object]
    # Where programs of skills were installed; empty where nothing was.
    tools_bin: Callable[[], str] = lambda: ""


def strangers(
    usable: Iterable[Skill], known: Iterable[Skill], entries: Mapping[str, EntrySettings]
) -> Mapping[str, str]:
    """Return the usable skills that ask for another skill's entry, and whose it is."""
    owned = owners(known)
    return {
        skill.name: owned[skill.key].name
        for skill in usable
        if skill.key in entries and skill.key in owned and owned[skill.key].name != skill.name
    }


def variables_of(
    skills: Iterable[Skill], entries: Mapping[str, EntrySettings], secrets: SecretSource
) -> Iterator[SkillVariables]:
    """Yield what the config wants to be set for each skill that it knows."""
    for skill in skills:
        entry = entries.get(skill.key)
        if entry is None:
            continue
        given = secrets.entry(skill.key)
        primary = skill.metadata.primary_env
        values: dict[str, Value] = dict(given.env)
        named = {comparable(name) for name in values}
        if primary and given.api_key is not None and comparable(primary) not in named:
            values[primary] = given.api_key
        yield SkillVariables(
            skill=skill.name,
            values=values,
            declared=frozenset(filter(None, (primary, *skill.metadata.requires.env))),
            allowed=entry.allow_env,
        )


def names_only(variables: SkillVariables) -> SkillVariables:
    """Return the same variables, with a word in place of each value that would be looked up."""
    values = {
        name: value if isinstance(value, str) else "looked up when the run begins"
        for name, value in variables.values.items()
    }
    return replace(variables, values=values)


def for_children(tools: EnvironmentPorts, own: Iterable[str]) -> Variables:
    """Return the environment of this process for a run's children: without other runs' secrets."""
    mine = {comparable(name) for name in own}
    others = [name for name in tools.overlay.active if comparable(name) not in mine]
    return drop_variables(tools.base, others)


def with_tools(values: Variables, folder: str) -> Variables:
    """Return an environment whose search path ends with the folder of installed programs.

    At its end, so that an installed program never takes the place of another.
    """
    if not folder:
        return values
    name = next((key for key in values if comparable(key) == "PATH"), "PATH")
    path = values.get(name, os.defpath)
    if folder in path.split(os.pathsep):
        return values
    return Variables({**values, name: f"{path}{os.pathsep}{folder}" if path else folder})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPorts:
    """What a run works with; the larger parts are made when they are first asked for."""

    skills: SkillsService
    environment: EnvironmentPorts
    sessions: Callable[[], "Sessions"]
    routing: Callable[[], "RoutingService"]
    texts: Callable[[], "SkillTexts"]
    workshop: Callable[[], "WorkshopService"]
    # Told what became of which skills, for an agent; it never fails.
    usage: Callable[[], "UsageLog"]


Messages = Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """Whose run it is, and who sees its variables."""

    agent_id: str | None = None
    # A session keeps its snapshot between runs; None keeps nothing.
    session_id: str | None = None
    # True sets the variables in this process; False only in what its children are handed.
    process_wide: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """What a run holds from its first moment to its last."""

    tools: RunPorts
    snapshot: Snapshot
    session_id: str
    environment: RunEnvironment
    environ: Variables = field(repr=False)


class Run:
    """What an agent has for one turn."""

    def __init__(self, begun: _Begun) -> None:
        self._tools = begun.tools
        self.snapshot = begun.snapshot
        self.agent_id = begun.snapshot.agent_id
        self.session_id = begun.session_id
        # Names that were set, kept or blocked.
        self.environment = begun.environment
        # What a child process is started with; it prints as names alone.
        self.environ: Mapping[str, str] = begun.environ

    @property
    def prompt(self) -> str:
        """The block for the system prompt."""
        return self.snapshot.prompt

    @property
    def skills(self) -> tuple[Skill, ...]:
        """Everything the agent may use, what is hidden from its model included."""
        return self.snapshot.usable

    @property
    def known(self) -> tuple[Skill, ...]:
        """Every skill that there is, those that the agent may not use included."""
        report = self._tools.skills.status(self.agent_id)
        return tuple(status.skill for status in report.skills)

    @property
    def workspace(self) -> str:
        """The folder in which the agent works."""
        return self._tools.skills.workspace(self.agent_id).folder

    @property
    def workshop(self) -> "WorkshopService":
        """What turns corrections into proposals; it may be switched off."""
        return self._tools.workshop()

    def route(
        self,
        message: str,
        *,
        last: Sequence[str] = (),
        loaded: Sequence[str] = (),
        history: Sequence[Mapping[str, object]] = (),
    ) -> "Route":
        """Return which skills `message` needs, with reasons; there may be none.

        Args:
            message: what the user wrote.
            last: skills that the last message loaded, for "yes, do it".
            loaded: skills that are loaded already and need not be found again.
            history: the messages before it, each with a role and a content.
        """
        # Late: numbers and vectors are loaded by the first message that is routed.
        from prowess.routing.router import Context
        from prowess.runtime.route.answer import Asked, Surface

        context = Context(last=tuple(last), loaded=frozenset(loaded))
        return self._answer(Surface.LIBRARY, message, Asked(context=context, history=history))

    def find(self, query: str, limit: int = 5, before: str = "") -> "Route":
        """Return the skills nearest to `query` for a model, whether or not any would be loaded.

        It may refer to what was said `before` it.
        """
        # Late: as above.
        from prowess.routing.router import Context
        from prowess.runtime.route.answer import Asked, Surface

        asked = Asked(context=Context(reply=before), considered=limit)
        return self._answer(Surface.AGENT, query, asked)

    def skill(self, name: str) -> Skill:
        """Return a skill that the agent may use, by its name.

        Raises:
            SkillNotFoundError: none or several answer to it.
            UnsafeSkillError: the scanner blocks it.
        """
        try:
            return find(self.skills, name)
        except SkillNotFoundError as error:
            return self.wait_for(name, error)

    def wait_for(self, name: str, missed: SkillNotFoundError) -> Skill:
        """Return a skill that the scanner alone kept from this run, where it no longer does.

        Raises:
            SkillNotFoundError: it was missed for another reason.
            UnsafeSkillError: the scanner blocks it.
        """
        try:
            held = find(self.snapshot.held, name)
        except SkillNotFoundError:
            raise missed from None
        return self._tools.skills.wait_for(held.name, self.agent_id, missed)

    def read(self, skill: str | Skill, path: str = "", start: int = 0) -> "SkillText":
        """Return the body of a skill, or one of its files.

        Args:
            skill: the name of one that the agent may use, or any of the `known` ones.
            path: a file in its folder; by default the skill's own text.
            start: the character to begin at, where a text is long.

        Raises:
            SkillNotFoundError: the agent has no such skill.
            UnsafeSkillError: the scanner refuses the skill.
            PathError: the skill has no such file.
        """
        found = self.skill(skill) if isinstance(skill, str) else skill
        text = self._tools.texts().read(found, path, start)
        if text.is_begun:
            self._note(Use.LOADED, [found.name])
        return text

    def command(self, text: str) -> Invoked | None:
        """Return what a slash command (`/name args`) invokes; None where it is none.

        Raises:
            UnsafeSkillError: the scanner refuses the skill that it invokes.
        """
        invoked = run_command(text, self.skills, self._place()) or self._find_held_back(text)
        if invoked is not None:
            self._tools.texts().check(invoked.command.skill)
            self._note(Use.INVOKED, [invoked.command.skill.name])
        return invoked

    def _find_held_back(self, text: str) -> Invoked | None:
        """Return the command of a skill that only waited for its scan; a blocked one is told of."""
        if not text.startswith("/"):
            return None
        held = run_command(text, self.snapshot.held, self._place())
        if held is not None:
            name = held.command.skill.name
            self.wait_for(name, SkillNotFoundError(name, []))
        return held

    def references(self, text: str) -> References:
        """Return the skills that a message names as `$name`."""
        everything = self.known
        callable_ones = frozenset(skill.name for skill in self.skills if skill.invocation.user)
        named = references(text, everything, callable_ones)
        refused = [problem for skill in named.skills if (problem := self._refusal(skill))]
        if not refused:
            return named
        # Anew, without those that the scanner refuses: nobody is sent to read them.
        safe = callable_ones - {skill.name for skill in named.skills if self._refusal(skill)}
        again = references(text, [skill for skill in everything if skill.name in safe], safe)
        return replace(again, problems=(*refused, *again.problems))

    def _refusal(self, skill: Skill) -> str:
        try:
            self._tools.texts().check(skill)
        except UnsafeSkillError as error:
            return str(error)
        return ""

    def turn(
        self,
        messages: Messages,
        tool_calls: int | Sequence[object] | None = None,
        *,
        ok: bool = True,
        history: Messages = (),
    ) -> "tuple[Proposal, ...]":
        """Tell learning what happened in a turn, and return what it proposes.

        Args:
            messages: the turn, each with `role` and `content`.
            tool_calls: the calls that the agent made, or how many; by default those in `messages`.
            ok: whether the turn went well; nothing is learned from one that did not.
            history: what was said before, as context for a reviewing model.
        """
        # Late: a run that learns nothing loads nothing for it.
        from prowess.runtime.workshop.service import TurnSeen
        from prowess.transcripts.turns import count_calls, read_turns

        made = count_calls(read_turns(messages)) if tool_calls is None else tool_calls
        count = made if isinstance(made, int) else len(made)
        seen = TurnSeen(
            messages=messages,
            tool_calls=count,
            ok=ok,
            agent_id=self.agent_id,
            session_id=self.session_id,
            history=history,
        )
        proposals = self.workshop.observe(seen)
        self._note(Use.CORRECTED, [one.skill for one in proposals])
        return proposals

    def _answer(self, surface: "Surface", message: str, asked: "Asked") -> "Route":
        # Late: as above.
        from prowess.runtime.route.answer import Caller

        caller = Caller(surface=surface, agent_id=self.agent_id)
        pinned = replace(asked, snapshot=self.snapshot)
        return self._tools.routing().answer(message, caller, pinned).route

    def _note(self, use: Use, skills: Sequence[str]) -> None:
        if skills:
            self._tools.usage().note(use, skills, self.agent_id)

    def _place(self) -> InvocationPlace:
        return InvocationPlace(session_id=self.session_id, project_dir=self.workspace)


class AsyncRun:
    """The asynchronous twin: the same, and what may take long is awaited."""

    def __init__(self, run: Run) -> None:
        # The same run for what never waits.
        self.sync = run
        self.snapshot, self.agent_id, self.session_id = run.snapshot, run.agent_id, run.session_id
        self.environment, self.environ = run.environment, run.environ
        self.prompt, self.skills, self.workspace = run.prompt, run.skills, run.workspace
        self.route, self.find, self.skill, self.read = run.route, run.find, run.skill, run.read
        self.command, self.references, self.wait_for = run.command, run.references, run.wait_for

    @property
    def workshop(self) -> "WorkshopService":
        """What turns corrections into proposals; it may be switched off."""
        return self.sync.workshop

    @property
    def known(self) -> tuple[Skill, ...]:
        """Every skill that there is, those that the agent may not use included."""
        return self.sync.known

    async def turn(
        self,
        messages: Messages,
        tool_calls: int | Sequence[object] | None = None,
        *,
        ok: bool = True,
        history: Messages = (),
    ) -> "tuple[Proposal, ...]":
        """Tell learning what happened in a turn, and return what it proposes."""
        return await run_in_thread(self.sync.turn, messages, tool_calls, ok=ok, history=history)


class RunContext:
    """A run that has not begun; entered once, plainly or asynchronously."""

    def __init__(self, tools: RunPorts, asked: RunRequest) -> None:
        self._tools, self._asked = tools, asked
        self._overlay: OverlayRun | None = None
        self._entered = False
        self._warnings: tuple[str, ...] = ()
        # By key the sources of the skills that get an entry of the config, once the run begins.
        self._sources: Mapping[str, str] = {}

    def preview(self) -> Run:
        """Return what the run would be: no secret is looked up, and nothing is set or written."""
        self._tools.skills.refresh()
        snapshot = self._tools.skills.snapshot(self._asked.agent_id)
        base = for_children(self._tools.environment, ())
        made = child_environment(base, *map(names_only, self._variables(snapshot)))
        return Run(self._begin(snapshot, RunEnvironment.of(made, self._warnings), made.values))

    def __enter__(self) -> Run:
        snapshot, variables = self._pin()
        if not self._asked.process_wide:
            return Run(self._begin_apart(snapshot, variables))
        self._overlay = self._tools.environment.overlay.run(*variables)
        self._overlay.__enter__()
        return self._begin_within(snapshot, self._overlay)

    def __exit__(self, *_ended: object) -> None:
        if self._overlay is not None:
            self._overlay.__exit__()

    async def __aenter__(self) -> AsyncRun:
        snapshot, variables = self._pin()
        if not self._asked.process_wide:
            # To look a secret up may take seconds.
            return AsyncRun(Run(await run_in_thread(self._begin_apart, snapshot, variables)))
        overlay = self._tools.environment.overlay.run(*variables)
        await overlay.__aenter__()
        self._overlay = overlay
        return AsyncRun(self._begin_within(snapshot, overlay))

    async def __aexit__(self, *_ended: object) -> None:
        # Waits for nothing, so that no cancellation can come between.
        self.__exit__()

    def _pin(self) -> tuple[Snapshot, tuple[SkillVariables, ...]]:
        if self._entered:
            raise RuntimeError("a run is entered once: ask the runtime for another one")
        self._entered = True
        skills, asked = self._tools.skills, self._asked
        if asked.session_id is None:
            skills.refresh()
        else:
            self._tools.sessions().begin_turn(asked.session_id, asked.agent_id)
        snapshot = skills.snapshot(asked.agent_id)
        variables = self._variables(snapshot)
        if self._sources:
            self._tools.environment.bind(self._sources)
        return snapshot, variables

    def _variables(self, snapshot: Snapshot) -> tuple[SkillVariables, ...]:
        skills = self._tools.skills
        entries = skills.settings.skills.entries
        if not entries:
            return ()
        state = skills.workspace(snapshot.agent_id).state(skills.settings)
        wanted = [skill for skill in snapshot.usable if skill.key in entries]
        foreign = strangers(wanted, state.catalog.skills, entries)
        # One that lacks its key now is not usable, and must be told of all the more.
        winners = state.catalog.winners
        withheld = [winners[name] for name in state.withheld]
        self._warnings = (
            *(
                f"{name} asks for what is configured for {owner}, and gets nothing of it"
                for name, owner in foreign.items()
            ),
            *(
                f"{explain_withheld(skill, state.withheld[skill.name])}: read it, and run"
                f" `prowess trust {skill.name}` if it shall have it"
                for skill in withheld
            ),
        )
        kept = {*foreign, *state.withheld}
        own = [skill for skill in wanted if skill.name not in kept]
        holding = (skill for skill in own if entries[skill.key].holds_secrets)
        self._sources = {skill.key: mark_source(skill) for skill in holding}
        if not own:
            return ()
        return tuple(variables_of(own, entries, self._tools.environment.secrets()))

    def _begin_apart(self, snapshot: Snapshot, variables: tuple[SkillVariables, ...]) -> _Begun:
        base = for_children(self._tools.environment, ())
        made = child_environment(base, *variables)
        return self._audit(
            self._begin(snapshot, RunEnvironment.of(made, self._warnings), made.values)
        )

    def _begin_within(self, snapshot: Snapshot, overlay: OverlayRun) -> Run:
        try:
            values = for_children(self._tools.environment, overlay.applied)
            begun = self._begin(snapshot, RunEnvironment.of(overlay, self._warnings), values)
            return Run(self._audit(begun))
        except BaseException:
            overlay.__exit__(None, None, None)
            raise

    def _begin(self, snapshot: Snapshot, environment: RunEnvironment, values: Variables) -> _Begun:
        return _Begun(
            tools=self._tools,
            snapshot=snapshot,
            session_id=self._asked.session_id or "",
            environment=environment,
            environ=with_tools(values, self._tools.environment.tools_bin()),
        )

    def _audit(self, begun: _Begun) -> _Begun:
        tools, lent = self._tools.environment, begun.environment.lent
        tools.audit.lent(
            tools.now(), begun.snapshot.agent_id, ((one.skill, one.name) for one in lent)
        )
        return begun
