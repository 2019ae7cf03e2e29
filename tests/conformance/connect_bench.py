"""Calls of other agents' hooks, and their sessions, for tests of connect.

A hook is answered within the test's own process, as the terminal is elsewhere; where it matters
that it is a process, `world.piped` starts one. Payloads are written from the field lists that the
harnesses document.
"""

import io
import json
import os
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from prowess.cli.main import main

from .world import NO_BUNDLED, Json, Result, Variables, World

TAX = "please fill in the tax form pdf for me"
TAX_DESCRIPTION = "Fill in PDF forms such as tax forms. Use to fill in a tax form pdf."
GIF_DESCRIPTION = "Make animated GIFs from video clips. Use when an animated GIF is wanted."
CORRECTION = "No, that is wrong. From now on, always fill in a tax form pdf field by field."
# Where a template stands for any text.
CONTEXT = "<context>"
DAY_S = 86_400


def words_only(**more: object) -> Json:
    """A configuration that routes by words alone, which is quick, and without our own skills."""
    return {"skills": {**NO_BUNDLED, "routing": {"encoder": "none"}}, **more}


def learning() -> Json:
    """The same, with a workshop that learns from phrases."""
    workshop = {"enabled": True, "config": {"reviewMode": "heuristic"}}
    return words_only(plugins={"entries": {"skill-workshop": workshop}})


def two_skills(world: World, root: Path | None = None) -> None:
    """A skill for tax forms and one for animated GIFs."""
    world.skill("pdf-forms", root=root, description=TAX_DESCRIPTION)
    world.skill("gif-maker", root=root, description=GIF_DESCRIPTION)


# --- hooks -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One event of one harness, and what may be answered: a template, or None for silence."""

    harness: str
    event: str
    fields: Json
    env: Variables = field(default_factory=dict)
    answer: Json | None = None

    def payload(self, world: World, **more: object) -> Json:
        """What arrives on standard input, standing in the workspace of `world`."""
        place = str(world.workspace)
        text = json.dumps({**_COMMON[self.harness], **self.fields})
        filled: Json = json.loads(text.replace("<cwd>", place).replace("<home>", str(world.home)))
        named = {_EVENT_KEY[self.harness]: self.event}
        return {**filled, **named, **more}


_COMMON: dict[str, Json] = {
    "claude-code": {
        "session_id": "6f1c0000-0000-4000-8000-000000000001",
        "prompt_id": "p1",
        "transcript_path": "<home>/.claude/projects/-repo/6f1c.jsonl",
        "cwd": "<cwd>",
        "permission_mode": "default",
    },
    "codex": {
        "session_id": "0199",
        "turn_id": "t1",
        "transcript_path": None,
        "cwd": "<cwd>",
        "model": "gpt-5.5-codex",
        "permission_mode": "default",
    },
    "cursor": {
        "conversation_id": "c1",
        "generation_id": "g1",
        "model": "composer-2",
        "cursor_version": "3.20.17",
        "workspace_roots": ["<cwd>"],
        "user_email": None,
    },
    "gemini": {
        "session_id": "g1",
        "transcript_path": "<home>/.gemini/tmp/p/chats/session-1.json",
        "cwd": "<cwd>",
        "timestamp": "2026-11-15T09:00:00Z",
    },
    "copilot": {"sessionId": "s1", "timestamp": 1_763_000_000_000, "cwd": "<cwd>"},
    "vscode": {
        "timestamp": "2026-11-15T09:00:00.000Z",
        "cwd": "<cwd>",
        "sessionId": "v1",
        "transcript_path": "<home>/.vscode/t.json",
    },
}
_EVENT_KEY = {
    "claude-code": "hook_event_name",
    "codex": "hook_event_name",
    "cursor": "hook_event_name",
    "gemini": "hook_event_name",
    "copilot": "hookEventName",
    "vscode": "hookEventName",
}


def _said(event: str) -> Json:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": CONTEXT}}


_STOPPED: Json = {"stop_hook_active": False, "last_assistant_message": "Done."}
_CURSOR_ENV = {"CURSOR_VERSION": "3.20.17", "CURSOR_PROJECT_DIR": "/repo"}
PROMPTS = (
    Call(
        harness="claude-code",
        event="UserPromptSubmit",
        fields={"prompt": TAX},
        env={"CLAUDE_PROJECT_DIR": "/repo"},
        answer=_said("UserPromptSubmit"),
    ),
    Call(
        harness="codex",
        event="UserPromptSubmit",
        fields={"prompt": TAX},
        answer=_said("UserPromptSubmit"),
    ),
    Call(
        harness="cursor",
        event="beforeSubmitPrompt",
        fields={"prompt": TAX, "attachments": []},
        env=_CURSOR_ENV,
        answer={"continue": True, "additional_context": CONTEXT},
    ),
    Call(
        harness="gemini",
        event="BeforeAgent",
        fields={"prompt": TAX},
        answer={"hookSpecificOutput": {"additionalContext": CONTEXT}},
    ),
    Call(
        harness="copilot",
        event="userPromptTransformed",
        fields={"prompt": TAX, "transformedPrompt": TAX},
        answer={"modifiedTransformedPrompt": CONTEXT},
    ),
)
STARTS = (
    *(
        Call(
            harness=harness,
            event="SessionStart",
            fields={"source": source},
            answer=_said("SessionStart"),
        )
        for harness, source in (
            ("claude-code", "startup"),
            ("claude-code", "resume"),
            ("claude-code", "clear"),
            ("claude-code", "compact"),
            ("codex", "startup"),
            ("codex", "compact"),
            ("gemini", "startup"),
            ("vscode", "new"),
        )
    ),
    Call(
        harness="cursor",
        event="sessionStart",
        fields={"is_background_agent": False},
        answer={"additional_context": CONTEXT},
    ),
    Call(
        harness="copilot",
        event="sessionStart",
        fields={"source": "new"},
        answer={"additionalContext": CONTEXT},
    ),
)
QUIET = (
    Call(harness="claude-code", event="Stop", fields=_STOPPED),
    Call(harness="claude-code", event="Stop", fields={**_STOPPED, "stop_hook_active": True}),
    Call(harness="claude-code", event="SessionEnd", fields={"reason": "prompt_input_exit"}),
    Call(harness="codex", event="Stop", fields=_STOPPED),
    Call(harness="codex", event="SessionEnd", fields={"reason": "other"}),
    Call(harness="cursor", event="stop", fields={"status": "completed", "loop_count": 0}),
    Call(harness="cursor", event="preCompact", fields={"trigger": "auto"}),
    Call(harness="cursor", event="sessionEnd", fields={"reason": "completed"}),
    Call(
        harness="gemini",
        event="AfterAgent",
        fields={"prompt": TAX, "prompt_response": "Done.", "stop_hook_active": False},
    ),
    Call(harness="gemini", event="PreCompress", fields={"trigger": "auto"}),
    Call(harness="gemini", event="SessionEnd", fields={"reason": "exit"}),
    # What a hook says to this event is thrown away: to say nothing is the honest answer.
    Call(harness="copilot", event="userPromptSubmitted", fields={"prompt": TAX}),
    Call(harness="copilot", event="agentStop", fields={"transcriptPath": "<home>/t.jsonl"}),
    Call(harness="copilot", event="sessionEnd", fields={"reason": "complete"}),
    # There is no place in this schema for context.
    Call(harness="vscode", event="UserPromptSubmit", fields={"prompt": TAX}),
    Call(harness="vscode", event="Stop", fields={"stop_hook_active": False}),
)


def call_named(call: Call) -> str:
    """How a test with this call is named."""
    return "-".join([call.harness, call.event, str(call.fields.get("source", ""))]).strip("-")


def hooked(world: World, content: Json | bytes, env: Variables | None = None) -> Result:
    """Answer one hook in this process, standing far away from the workspace."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            patch.delenv(name)
        for name, value in world.env(env).items():
            patch.setenv(name, value)
        patch.chdir(world.root)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), "utf-8"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = main(("hook",))
    return Result(args=("hook",), code=code, out=_text(out), err=_text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    content = stream.buffer
    assert isinstance(content, io.BytesIO)
    return content.getvalue().decode("utf-8")


def silent(result: Result) -> None:
    """Assert that a hook said nothing at all and ended well."""
    assert (result.code, result.out, result.err) == (0, "", ""), str(result)


def spoken(result: Result, template: Json) -> str:
    """The context in an answer that is exactly of this form: no key more, no key less."""
    assert (result.code, result.err) == (0, ""), str(result)
    contexts: list[str] = []
    _match(json.loads(result.out), template, contexts)
    assert len(contexts) == 1
    assert contexts[0].strip()
    return contexts[0]


def _match(found: object, template: object, contexts: list[str]) -> None:
    if template == CONTEXT:
        assert isinstance(found, str), found
        contexts.append(found)
    elif isinstance(template, dict):
        assert isinstance(found, dict), found
        # The one key that the documentation has and that may as well be left out.
        more = {"env"} if set(template) == {"additional_context"} else set()
        assert set(template) <= set(found) <= set(template) | more, found
        assert found.get("env", {}) == {}
        for key, part in template.items():
            _match(found[key], part, contexts)
    else:
        assert found == template
        assert type(found) is type(template)


def log_lines(world: World) -> list[Json]:
    """What hooks wrote down about themselves."""
    path = world.state / "hooks.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def holding(folder: Path, *texts: str) -> list[str]:
    """The files below a folder that hold one of these texts, however it is encoded."""
    needles = [text.encode(coding) for text in texts for coding in ("utf-8", "utf-16-le")]
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(needle in path.read_bytes() for needle in needles)
    ]


# --- sessions --------------------------------------------------------------------------------


@dataclass(slots=True)
class Transcript:
    """A session of Claude Code that is being written, one line after the other."""

    world: World
    session: str = "6f6f6f6f-0000-4000-8000-000000000001"
    days_ago: float = 0.1
    lines: list[str] = field(default_factory=list)
    last: str | None = None

    def line(self, kind: str, **more: object) -> "Transcript":
        """Any line, behind the last one."""
        name = f"u{len(self.lines)}"
        whole: Json = {
            "type": kind,
            "uuid": name,
            "parentUuid": self.last,
            "sessionId": self.session,
            "timestamp": stamp(self.days_ago, len(self.lines)),
            "version": "2.1.144",
            "cwd": str(self.world.workspace),
            "isSidechain": False,
            "userType": "external",
        }
        self.lines.append(json.dumps({**whole, **more}))
        self.last = name
        return self

    def raw(self, text: str) -> "Transcript":
        """A line that is not ours to explain."""
        self.lines.append(text)
        return self

    def lists(self, **descriptions: str) -> "Transcript":
        """What the model is told that there is; `_` in a name stands for `-`."""
        text = "\n".join(f"- {name.replace('_', '-')}: {d}" for name, d in descriptions.items())
        listing: Json = {"type": "skill_listing", "content": text, "isInitial": True}
        return self.line("attachment", attachment={**listing, "skillCount": len(descriptions)})

    def says(self, text: object, **more: object) -> "Transcript":
        """What the person says."""
        return self.line("user", message={"role": "user", "content": text}, **more)

    def answers(self, text: str, **more: object) -> "Transcript":
        """What the agent says."""
        return self._assistant([{"type": "text", "text": text}], "end_turn", **more)

    def uses(self, skill: str) -> "Transcript":
        """The agent calls its Skill tool, and is answered."""
        called = {"type": "tool_use", "id": "t1", "name": "Skill", "input": {"skill": skill}}
        result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok", "is_error": False}
        self._assistant([called], "tool_use", attributionSkill=skill)
        return self.says([result], toolUseResult={})

    def _assistant(self, content: list[Json], reason: str, **more: object) -> "Transcript":
        message = {"id": f"m{len(self.lines)}", "role": "assistant", "model": "claude-opus-5"}
        whole = {**message, "content": content, "stop_reason": reason, "usage": {}}
        return self.line("assistant", message=whole, **more)

    def saved(self, root: str = ".claude/projects") -> Path:
        """Write it where Claude Code keeps it, as old as it says."""
        slug = re.sub(r"[^a-zA-Z0-9]", "-", str(self.world.workspace))
        path = self.world.home / root / slug / f"{self.session}.jsonl"
        self.world.file(path, "".join(line + "\n" for line in self.lines))
        moment = time.time() - self.days_ago * DAY_S
        os.utime(path, (moment, moment))
        return path


def stamp(days_ago: float, second: int = 0) -> str:
    """A time in the past, as harnesses write it."""
    moment = time.time() - days_ago * DAY_S + second
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(moment))


def missed(world: World, *words: str) -> list[tuple[str, str]]:
    """Kind and skill of each missed activation."""
    found = world.document("sessions", *words)["missed"]
    return [(item["kind"], item["skill"]) for item in found]
