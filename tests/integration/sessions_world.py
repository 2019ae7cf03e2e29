"""Sessions as the harnesses record them, written from the fields of their lines.

The one of Claude Code tells how a skill was listed and not used, and how the person corrected the
agent; nothing in it is anybody's.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

SESSION_ID = "6f1c2b0a-3d4e-4f50-8a61-7b2c3d4e5f60"
PROMPT = "please fill in the tax form pdf for 2025 with my details"
CORRECTION = (
    "No, that is wrong. Next time always use the form fields of the tax form pdf and verify"
    " each value before you save it."
)
DESCRIPTION = (
    "Fill in PDF forms such as a tax form: read the form fields, set their values, verify each"
    " one and save the document. Use when a pdf form has to be filled in."
)
SHOWN = DESCRIPTION[:61].strip()
SKILL = (
    f"---\nname: pdf-forms\ndescription: {json.dumps(DESCRIPTION)}\n---\n\n"
    "# Forms in PDF\n\nList the form fields, fill them in, verify and save.\n"
)
OTHER = (
    "---\nname: release-notes\ndescription: Writes release notes from merged changes.\n---\n\n"
    "# Release notes\n\nCollect what was merged and write one line for each.\n"
)
Line = dict[str, object]


class Recorder:
    """Lines of one Claude Code session, each hung below the one before."""

    def __init__(self, cwd: str, session_id: str = SESSION_ID) -> None:
        self._cwd, self._session_id = cwd, session_id
        self.lines: list[Line] = []

    def add(self, kind: str, **fields: object) -> str:
        """Add a line and return its id."""
        number = len(self.lines)
        uuid = f"u{number}"
        self.lines.append(
            {
                "type": kind,
                "uuid": uuid,
                "parentUuid": f"u{number - 1}" if number else None,
                "sessionId": self._session_id,
                "timestamp": f"2026-11-14T09:{number:02d}:00.000Z",
                "version": "2.1.200",
                "cwd": self._cwd,
                "gitBranch": "main",
                "isSidechain": False,
                "userType": "external",
                **fields,
            }
        )
        return uuid

    def typed(self, text: str, **fields: object) -> str:
        """Add what a person typed."""
        return self.add("user", message={"role": "user", "content": text}, **fields)

    def attached(self, kind: str, **fields: object) -> str:
        """Add something that the program attached."""
        return self.add("attachment", attachment={"type": kind, **fields})

    def listed(self, skills: Mapping[str, str]) -> str:
        """Add the list of skills that the model is shown."""
        content = "\n".join(
            f"- {name}: {said}" if said else f"- {name}" for name, said in skills.items()
        )
        return self.attached(
            "skill_listing", content=content, skillCount=len(skills), isInitial=True
        )

    def said(self, text: str, **fields: object) -> str:
        """Add what the agent said."""
        return self._agent([{"type": "text", "text": text}], **fields)

    def called(self, name: str, given: Line, **fields: object) -> str:
        """Add a call of a tool and its result."""
        call_id = f"toolu_{len(self.lines)}"
        call: Line = {"type": "tool_use", "id": call_id, "name": name, "input": given}
        self._agent([call], **fields)
        result = {"type": "tool_result", "tool_use_id": call_id, "content": "ok", "is_error": False}
        return self.add(
            "user", message={"role": "user", "content": [result]}, toolUseResult={"ok": True}
        )

    def _agent(self, content: list[Line], **fields: object) -> str:
        message = {
            "id": f"msg_{len(self.lines)}",
            "role": "assistant",
            "model": "a-model",
            "content": content,
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        return self.add("assistant", message=message, requestId="req_1", **fields)


def recorded(cwd: str) -> list[Line]:
    """Return the session in which pdf-forms was listed, was not used, and was missed."""
    recorder = Recorder(cwd)
    recorder.typed(PROMPT)
    recorder.listed(
        {"pdf-forms": SHOWN, "release-notes": "Writes release notes from merged changes."}
    )
    recorder.attached(
        "hook_additional_context", hookName="UserPromptSubmit", hookEvent="UserPromptSubmit",
        content=["The skill lies at .claude/skills/pdf-forms/SKILL.md"],
    )  # fmt: skip
    recorder.called("Bash", {"command": "python draw_text.py tax.pdf"})
    recorder.said("I wrote the values onto the first page as text.")
    recorder.typed(CORRECTION)
    recorder.called("Skill", {"skill": "pdf-forms", "args": ""}, attributionSkill="pdf-forms")
    recorder.said("The fields are filled in and verified.", attributionSkill="pdf-forms")
    recorder.typed("thanks, now write the release notes for the last version")
    recorder.called("Skill", {"skill": "release-notes", "args": ""})
    recorder.said("The release notes are written.")
    return recorder.lines


class Machine:
    """A home folder with sessions, and a project with skills in it."""

    def __init__(self, root: Path) -> None:
        self.home, self.state, self.work = root / "home", root / "state", root / "work"
        for folder in (self.home, self.state, self.work):
            folder.mkdir(parents=True)
        self.skill("pdf-forms", SKILL)
        self.skill("release-notes", OTHER)
        self.configure(workshop=False)

    def configure(self, *, workshop: bool) -> None:
        """Write the config file; routing by words alone is quick to open."""
        entry = {"enabled": workshop, "config": {}}
        values = {
            "skills": {"routing": {"encoder": "none"}},
            "plugins": {"entries": {"skill-workshop": entry}},
        }
        (self.state / "prowess.json").write_text(json.dumps(values), encoding="utf-8")

    def skill(self, name: str, text: str, folder: str = ".claude/skills") -> None:
        """Write a skill into the project."""
        path = self.work / folder / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")

    def claude(self, lines: Iterable[object], session_id: str = SESSION_ID) -> Path:
        """Write a session of Claude Code."""
        slug = "".join(letter if letter.isalnum() else "-" for letter in str(self.work))
        return self.write(f".claude/projects/{slug}/{session_id}.jsonl", lines)

    def write(self, path: str, lines: Iterable[object]) -> Path:
        """Write a file of lines below the home folder."""
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(
            (line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines
        )
        target.write_text(text, encoding="utf-8")
        return target

    @property
    def environ(self) -> dict[str, str]:
        """The environment of this machine."""
        path = os.environ.get("PATH", "")
        return {"HOME": str(self.home), "PROWESS_HOME": str(self.state), "PATH": path}
