"""The tools of a chat: those of skills, `read_file`, and `shell`, which a person allows each time.

`shell` never runs unasked: "always" holds for the very same command and ends with the chat. The
same goes for a call of the workshop that would change a skill. Arguments are parsed once, and all
that follows sees the parsed ones alone. A file that belongs to a skill is read through the run, so
that the scanner has looked at it first. Commands do not see the keys of model providers.

What a person is asked before a chat changes anything: all of it, at once, and nothing hidden.

A command that cannot be shown like that is refused before anybody is asked. Long gaps are folded
into marks that no command can hold itself, so that what follows them is not pushed off the screen.
A call of the workshop that would write is split in two: first the proposal is queued, then the
person sees what it would change, and the yes holds for that revision alone.
"""

import asyncio
import json
import os
import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from threading import Event as StopEvent
from typing import Any

from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import ToolsetTool

from prowess.agents.events import ApprovalAsked, Channel, Choice, SkillLoaded, ToolOutput
from prowess.agents.tools import (
    ChatFiles,
    call_checked,
    check_call,
    fail,
    function_schema,
    refuse,
    tool_schemas,
)
from prowess.agents.toolset import SkillsToolset
from prowess.data import read_table, read_words
from prowess.errors import (
    ProposalInputError,
    ProposalNotFoundError,
    ProposalStateError,
    ProwessError,
)
from prowess.runtime.environment import Variables, drop_variables
from prowess.runtime.ports import ChildCommand, ChildResult, Processes
from prowess.runtime.run import AsyncRun
from prowess.runtime.skill_tools import (
    ArgumentsRefused,
    bound,
    call_workshop,
    closed,
    file_text,
    read_arguments,
    text_schema,
    workshop_text,
)
from prowess.runtime.workshop.apply import check_move, check_revision
from prowess.safety.environment import comparable
from prowess.skills.text import clean
from prowess.workshop.proposal import Live, Proposal, State, difference, skill_name

ROWS, COLUMNS = 20, 76
_MOST_COMMAND = 2_000
_MOST_DIFF, _MOST_DIFF_LINES = 16_000, 250
_LONG = "is too long to be judged: write it to a file or make it shorter"
# Letters and marks that are drawn as nothing, though Python takes them for printable; and the
# brackets of our own marks.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef\u27e6\u27e7]"
)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_GAP = re.compile(r"[ \t]{9,}|\t+")
_MOST_NAMED, _MOST_BLANK = 3, 2


# No error of ours: it is caught near by and becomes a sentence for the model.
class NotShown(ValueError):  # noqa: N818
    """It cannot be shown to a person who must judge it; completes `the command ...`."""


def fold_command(command: str) -> str:
    """Return a command as a person sees it, at most a screenful.

    Raises:
        NotShown: it is too long, or holds what cannot be seen.
    """
    hidden = unseen(command)
    if hidden:
        raise NotShown(f"has characters that a person cannot see ({', '.join(hidden)})")
    lines = _BLANK_LINES.sub(_mark_blank_lines, f"\n{command}\n").split("\n")
    folded = "\n".join(_GAP.sub(_gap, line) for line in lines).strip("\n")
    if len(folded) > _MOST_COMMAND or rows(folded, COLUMNS) > ROWS:
        raise NotShown(_LONG)
    return folded


def fold_change(lines: Iterable[str]) -> str:
    """Return the lines of a difference as a person sees them; what cannot be seen is spelled out.

    Raises:
        NotShown: there are too many.
    """
    spelled = [_spell(line) for line in lines]
    if len(spelled) > _MOST_DIFF_LINES or sum(map(len, spelled)) > _MOST_DIFF:
        raise NotShown("is too long to be judged here")
    return "\n".join(_GAP.sub(_gap, line) for line in _without_blank_runs(spelled))


def unseen(text: str) -> tuple[str, ...]:
    """Return the names of the first characters in `text` that nobody would see."""
    found = dict.fromkeys(char for char in text if char not in "\n\t" and _is_unseen(char))
    return tuple(map(_name_char, list(found)[:_MOST_NAMED]))


def rows(text: str, columns: int) -> int:
    """Return how many rows of a terminal a text takes."""
    widths = (sum(map(_width, line)) for line in text.split("\n"))
    return sum(max(1, -(-width // max(1, columns))) for width in widths)


def _is_unseen(char: str) -> bool:
    return not char.isprintable() or _UNSEEN.match(char) is not None


def _name_char(char: str) -> str:
    name = unicodedata.name(char, "")
    return f"U+{ord(char):04X} {name}".strip()


def _width(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _mark_blank_lines(found: re.Match[str]) -> str:
    return f"\n⟦{found[0].count(chr(10)) - 1} blank lines⟧\n"


def _gap(found: re.Match[str]) -> str:
    gap = found[0]
    if gap == "\t":
        return "⟦tab⟧"
    return f"⟦{len(gap)} {'tabs and ' if chr(9) in gap else ''}spaces⟧"


def _spell(line: str) -> str:
    return "".join(
        char if char == "\t" or not _is_unseen(char) else f"⟦{_name_char(char)}⟧" for char in line
    )


def _without_blank_runs(lines: Sequence[str]) -> Iterable[str]:
    """Yield lines with runs of blank ones as a count; in a difference a sign may stand alone."""
    for sign, same in groupby(lines, key=_read_blank_sign):
        run = list(same)
        if sign is None or len(run) <= _MOST_BLANK:
            yield from run
        else:
            yield f"{sign}⟦{len(run)} blank lines⟧"


def _read_blank_sign(line: str) -> str | None:
    sign = line.strip()
    return sign if sign in {"", "+", "-"} else None


# What makes a proposal, and may write it at once.
_MAKING = frozenset({"suggest", "write_support_file"})
# What changes something that is there already.
_CHANGING = frozenset({"apply", "rollback", "revise"})
_REVISED = ("body", "section", "description", "oldText", "newText")
_NO = (
    "Error: the user did not allow this, and no skill was changed.{waits} Do not try it again: go"
    " on without it, or ask what to do instead."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The skills of the workspace, as the workshop would find them."""

    # Reads a file by its path from the workspace on.
    live: Callable[[str], Live]
    # Whether the policy applies what is suggested without being asked to.
    applies: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalQuestion:
    """What a person is asked, and the call that their yes allows."""

    shown: str
    call: Mapping[str, Any]


class WorkshopCalls:
    """Answers calls whose arguments are checked already."""

    def __init__(
        self, run: AsyncRun, shelf: Shelf, allowed: Callable[[ApprovalQuestion], Awaitable[bool]]
    ) -> None:
        self._run, self._shelf, self._allowed = run, shelf, allowed

    async def call(self, given: Mapping[str, Any]) -> str:
        """Do what a call asks for, once the person allowed whatever needs that."""
        action = given["action"]
        try:
            if action in _MAKING:
                return await self._make(given)
            if action in _CHANGING:
                return await self._change(given)
            return await asyncio.to_thread(self._tell, given)
        except ProwessError as error:
            return fail(error)

    async def _make(self, given: Mapping[str, Any]) -> str:
        wanted = given.get("apply")
        queued = {**given, "apply": False}
        answer, proposal = await asyncio.to_thread(self._queue, queued)
        if wanted is None:
            wanted = await asyncio.to_thread(self._shelf.applies)
        if proposal.state is not State.PENDING or not wanted:
            return answer
        waits = f" The proposal {proposal.id} waits for the user."
        try:
            question = await asyncio.to_thread(to_apply, proposal, self._shelf)
        except NotShown as problem:
            return f"Error: the change {problem}, and was not applied.{waits}"
        if not await self._allowed(question):
            return _NO.format(waits=waits)
        return await self._approve(question)

    def _queue(self, given: Mapping[str, Any]) -> tuple[str, Proposal]:
        answer = call_workshop(self._run, given)
        made = answer.get("proposal")
        proposal_id = made.get("id") if isinstance(made, Mapping) else ""
        return workshop_text(answer), self._proposal(str(proposal_id))

    async def _change(self, given: Mapping[str, Any]) -> str:
        proposal = await asyncio.to_thread(self._find_named, given)
        _check(given, proposal)
        try:
            question = await asyncio.to_thread(to_change, given, proposal, self._shelf)
        except NotShown as problem:
            return f"Error: the change {problem}: leave it to the user, who can review it."
        if not await self._allowed(question):
            return _NO.format(waits="")
        return await self._approve(question)

    async def _approve(self, question: ApprovalQuestion) -> str:
        return await asyncio.to_thread(self._tell, question.call, by_person=True)

    def _tell(self, given: Mapping[str, Any], *, by_person: bool = False) -> str:
        return workshop_text(call_workshop(self._run, given, by_person=by_person))

    def _find_named(self, given: Mapping[str, Any]) -> Proposal:
        name = str(given.get("skillName", "")).strip()
        if given["action"] != "rollback" or given.get("id") or not name:
            return self._proposal(str(given.get("id", "")).strip())
        skill = skill_name(name)
        applied = self._run.workshop.history(skill=skill, agent_id=self._run.agent_id).versions
        if not applied:
            raise ProposalNotFoundError(f"nothing was applied to {skill}: nothing to roll back")
        return applied[0]

    def _proposal(self, proposal_id: str) -> Proposal:
        if not proposal_id:
            raise ProposalInputError("id required")
        return self._run.workshop.inspect(proposal_id, agent_id=self._run.agent_id)


def to_apply(proposal: Proposal, shelf: Shelf) -> ApprovalQuestion:
    """Return the question whether a proposal is written as it is now.

    Raises:
        NotShown: the change is too long to be judged.
    """
    shown = fold_change([_head("apply", proposal), *difference(proposal, shelf.live)])
    return ApprovalQuestion(shown=shown, call=_bind("apply", proposal))


def to_change(given: Mapping[str, Any], proposal: Proposal, shelf: Shelf) -> ApprovalQuestion:
    """Return the question that an apply, a rollback or a revision of `proposal` needs.

    Raises:
        NotShown: the change is too long to be judged.
    """
    if given["action"] == "apply":
        return to_apply(proposal, shelf)
    if given["action"] == "rollback":
        files = [f"- skills/{proposal.skill}/{path}" for path in proposal.change.files]
        said = "What these files were before it comes back:"
        shown = fold_change([_head("take back", proposal), said, *files])
        return ApprovalQuestion(shown=shown, call=_bind("rollback", proposal))
    texts = {name: str(given[name]) for name in _REVISED if given.get(name)}
    lines = [f"+ {line}" for name in texts for line in f"{name}: {texts[name]}".split("\n")]
    shown = fold_change([_head("revise", proposal), *lines])
    return ApprovalQuestion(shown=shown, call={**texts, **_bind("revise", proposal)})


def _check(given: Mapping[str, Any], proposal: Proposal) -> None:
    """Refuse what the workshop would refuse before anybody is asked."""
    revision = str(given.get("revision", "")).strip()
    if given["action"] != "rollback":
        wanted = State.APPLIED if given["action"] == "apply" else State.PENDING
        check_move(proposal, wanted, revision)
    elif proposal.state is not State.APPLIED:
        raise ProposalStateError(proposal.state.value, "rolled back")
    check_revision(proposal, revision)


def _bind(action: str, proposal: Proposal) -> dict[str, Any]:
    return {"action": action, "id": proposal.id, "revision": proposal.revision}


def _head(what: str, proposal: Proposal) -> str:
    title = " ".join(proposal.title.split())
    return f"{what} {proposal.id} for the skill {proposal.skill}: {title}"


def provider_keys(model_name: str, key_env: str = "") -> frozenset[str]:
    """Return the variables that a model's commands must not see.

    Args:
        model_name: the model in use, as `PROVIDER:NAME`.
        key_env: the variable that the settings name for an endpoint, if any.
    """
    provider = model_name.partition(":")[0].lower()
    table = read_table("agents/provider_keys.toml")
    lists = [names for word, names in table["accounts"].items() if provider.startswith(word)]
    own = {key_env} if key_env else set()
    return frozenset(own.union(*map(read_words, (*table["models"].values(), *lists))))


def for_commands(
    environ: Mapping[str, str], keys: Iterable[str], declared: Iterable[str]
) -> Variables:
    """Return the environment of a command: without keys, but for those that skills declare."""
    wanted = {comparable(name) for name in declared}
    return drop_variables(environ, [key for key in keys if comparable(key) not in wanted])


_SECONDS = 300.0
_MOST_OUTPUT, _MOST_SHOWN = 30_000, 20_000
_DENIED = (
    "Error: the user did not allow this command, and it did not run. Do not try it again: go on"
    " without it, or ask what to do instead."
)
_READ_FILE = closed(
    {"path": text_schema("A file of the workspace or of a skill.")}, required=("path",)
)
_SHELL = closed(
    {"command": text_schema("A command line for the system's shell.")}, required=("command",)
)
_OWN = {
    "read_file": ("Read a text file of the workspace or of a skill.", _READ_FILE),
    "shell": ("Run a command in the workspace. The user is asked first, each time.", _SHELL),
}
# What the raw text behind a slash command means to each tool.
_MAIN_ARGUMENTS = {
    "read_file": "path",
    "shell": "command",
    "read_skill": "name",
    "find_skills": "query",
    "skill_workshop": "action",
}


@dataclass(slots=True, kw_only=True)
class CommandApprovals:
    """The commands that a person allowed for as long as the chat lasts."""

    # The tool, and the very command.
    commands: set[tuple[str, str]] = field(default_factory=set)
    # Two questions at once would be answered as one.
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """What the tools of a chat act with."""

    files: ChatFiles
    processes: Processes
    # The start of a command line that hands text to the system's shell.
    shell: tuple[str, ...] = ("/bin/sh", "-c")
    approvals: CommandApprovals = field(default_factory=CommandApprovals)
    # Variables that no command sees unless a skill declares them.
    keys: frozenset[str] = frozenset()
    shelf: Shelf


class ChatTools:
    """The tools of one turn."""

    def __init__(self, run: AsyncRun, hands: Hands, channel: Channel) -> None:
        self._run, self._hands, self._channel = run, hands, channel
        # Skills that the model read, in order.
        self.read_skills: list[str] = []
        # Skills whose text the model has before it, whoever put them there.
        self.before: Collection[str] = ()

    def schemas(self) -> list[dict[str, Any]]:
        """Return the tools as OpenAI-style function schemas."""
        own = [function_schema(name, about, schema) for name, (about, schema) in _OWN.items()]
        return [*tool_schemas(self._run), *own]

    def names(self) -> tuple[str, ...]:
        """Return what the tools are called."""
        return tuple(schema["function"]["name"] for schema in self.schemas())

    async def call(self, name: str, arguments: Mapping[str, Any], call_id: str) -> str:
        """Call a tool and return its answer, or what was wrong with the call."""
        try:
            given = self._check(name, arguments)
        except ArgumentsRefused as refused:
            return refuse(name, refused)
        if name == "shell":
            return await self._shell(given["command"], call_id)
        if name == "read_file":
            return await asyncio.to_thread(self._read_file, given["path"])
        if name == "skill_workshop":
            return await self._workshop(given, call_id)
        answer = await asyncio.to_thread(call_checked, self._run, name, given, self.before)
        self._note_skill(name, given, answer)
        return answer

    def _check(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if name in _OWN:
            return read_arguments(arguments, _OWN[name][1])
        return check_call(self._run, name, arguments)

    async def _workshop(self, given: Mapping[str, Any], call_id: str) -> str:
        async def allowed(question: ApprovalQuestion) -> bool:
            call = json.dumps(question.call, ensure_ascii=False, sort_keys=True)
            asked = ApprovalAsked(
                call_id=call_id,
                tool="skill_workshop",
                command=call,
                shown=question.shown,
                folder=self._run.workspace,
            )
            return await self._ask_permission(asked)

        return await WorkshopCalls(self._run, self._hands.shelf, allowed).call(given)

    async def dispatch(self, name: str, call: Mapping[str, Any], call_id: str) -> str:
        """Do what a slash command that goes straight to a tool asks for."""
        main = _MAIN_ARGUMENTS.get(name)
        arguments = {main: str(call.get("command", ""))} if main is not None else {}
        return await self.call(name, arguments, call_id)

    def _note_skill(self, name: str, given: Mapping[str, Any], answer: str) -> None:
        """Remember a skill whose instructions the model has read, under its own name."""
        if name != "read_skill" or given.get("path") or answer.startswith("Error:"):
            return
        skill = self._run.skill(given["name"]).name
        self.read_skills.append(skill)
        self._channel.put(SkillLoaded(name=skill, by="model", chars=len(answer)))

    def _read_file(self, path: str) -> str:
        home = self._run.environ.get("HOME", "")
        full = home + path[1:] if home and path.startswith("~/") else path
        try:
            return self._file_text(full)
        except ProwessError as error:
            return fail(error)

    def _file_text(self, path: str) -> str:
        real = self._hands.files.real(path)
        # Every skill, ready or not: what lies in one is read through the scanner.
        for skill in self._run.known:
            if real == self._hands.files.real(skill.path):
                return file_text(self._run.read(skill))
            folder = self._hands.files.real(skill.folder)
            if skill.path.lower().endswith("skill.md") and real.startswith(folder + os.sep):
                inside = os.path.relpath(real, folder).replace(os.sep, "/")
                return file_text(self._run.read(skill, inside))
        return bound(clean(self._hands.files.read(path)))

    async def _shell(self, command: str, call_id: str) -> str:
        if not command.strip():
            return "Error: the command is empty."
        try:
            shown = fold_command(command)
        except NotShown as problem:
            return f"Error: the command {problem}. It did not run."
        question = ApprovalAsked(
            call_id=call_id, tool="shell", command=command, shown=shown, folder=self._run.workspace
        )
        if not await self._ask_permission(question):
            return _DENIED
        return _report(await self._run_child(command, call_id))

    async def _ask_permission(self, question: ApprovalAsked) -> bool:
        approvals, asked = self._hands.approvals, (question.tool, question.command)
        async with approvals.lock:
            if asked in approvals.commands:
                return True
            choice = await self._channel.ask(question)
            if choice is Choice.ALWAYS:
                approvals.commands.add(asked)
            return choice is not Choice.NO

    def _environment(self) -> Mapping[str, str]:
        declared = {name for skill in self._run.skills for name in skill.metadata.requires.env}
        primary = {skill.metadata.primary_env or "" for skill in self._run.skills}
        # What the config sets for a skill is meant for the commands of its instructions.
        given = {*declared, *primary, *self._run.environment.applied}
        return for_commands(self._run.environ, self._hands.keys, given)

    async def _run_child(self, command: str, call_id: str) -> ChildResult:
        child = ChildCommand(
            argv=(*self._hands.shell, command),
            environment=self._environment(),
            folder=self._run.workspace,
            seconds=_SECONDS,
            most_chars=_MOST_OUTPUT,
        )
        stop, shown = StopEvent(), _Shown(self._channel, call_id)
        work = asyncio.ensure_future(
            asyncio.to_thread(self._hands.processes.run, child, shown.take, stop)
        )
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            # The thread ends by itself once the child is gone; nothing is left behind.
            stop.set()
            await asyncio.wait([work])
            raise


class _Shown:
    """What a child prints, as it comes, up to a bound: a flood would drown the chat."""

    def __init__(self, channel: Channel, call_id: str) -> None:
        self._channel, self._call_id, self._left = channel, call_id, _MOST_SHOWN

    def take(self, stream: str, text: str) -> None:
        """Show a piece; called from the threads that read the child."""
        if self._left <= 0:
            return
        piece = text[: self._left]
        self._left -= len(piece)
        note = "" if self._left > 0 else "\n[more is printed and not shown]\n"
        event = ToolOutput(call_id=self._call_id, stream=stream, text=piece + note)
        self._channel.put_from_thread(event)


def _report(result: ChildResult) -> str:
    """Return what the model gets to see of a command that ran."""
    if result.problem:
        return f"Error: the command could not be started: {clean(result.problem)}"
    lines = [f"exit code: {result.code}"]
    if result.timed_out:
        lines = [f"Error: the command was ended after {_SECONDS:g} seconds."]
    elif result.stopped:
        lines = ["Error: the command was stopped."]
    if result.cut:
        lines.append("[part of the output was left out]")
    for name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        if text:
            lines.append(f"{name}:\n{bound(clean(text), _MOST_OUTPUT)}")
    return "\n".join(lines)


class ChatToolset(SkillsToolset):
    """The tools of one turn as a toolset of pydantic-ai."""

    def __init__(self, tools: ChatTools, run: AsyncRun) -> None:
        super().__init__(run)
        self._tools = tools

    def _list_schemas(self) -> list[dict[str, Any]]:
        return self._tools.schemas()

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> str:
        """Call a tool for the model."""
        del tool
        return await self._tools.call(name, tool_args, ctx.tool_call_id or "")
