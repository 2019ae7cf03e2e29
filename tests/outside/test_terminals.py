"""A conversation in a real terminal: where a harness keeps one process, one session and one screen.

Print mode starts anew for every prompt. Here the second prompt meets what the first one left.
"""

import re
from collections.abc import Callable

import pytest
from tests.outside.harnesses import CannotBeHadError, OutsideWorld
from tests.outside.model_server import Call, ModelRequest, ModelServer, Reply, Say
from tests.outside.terminals import Terminal, open_terminal
from tests.outside.test_hints import SKILLS, WAYS, connect, told

_FIRST, _SECOND = "Write the release notes for last week", "Fill in the PDF form of the tax office"
# How a person leaves each.
_LEAVE = {
    "claude-code": "/exit",
    "codex": "/quit",
    "gemini": "/quit",
    # It keeps a command for later while it tidies up after a turn.
    "copilot": "C-c C-c",
    "qwen": "/quit",
    "opencode": "/exit",
}
# opencode tells a plugin of no moment at which a session begins.
_NOT_TOLD = ("opencode",)


def _script(folder: str) -> Callable[[ModelRequest], Reply]:
    """Have the model read a file by a tool for the first prompt, and say what came back."""

    def answer(request: ModelRequest) -> Reply:
        if not request.tools or _FIRST not in request.text:
            return Say("Fine.")
        if _SECOND in request.text:
            return Say("The form is signed.")
        if request.results:
            return Say("The notes are written.")
        return _reading(request, f"{folder}/release-notes/SKILL.md")

    return answer


def _reading(request: ModelRequest, path: str) -> Call:
    known = {
        "Bash": {"command": f"cat {path}", "description": "Read the skill"},
        "exec_command": {"cmd": f"cat {path}"},
        "read_file": {"file_path": path},
        "read": {"filePath": path},
        "view": {"path": path},
    }
    name = next(name for name in known if name in request.tools)
    return Call(name, known[name])


def _hints(request: ModelRequest) -> list[str]:
    """Return the skills that our hints name, in order; not what was told as the session began."""
    return [
        found
        for text in told(request)
        if "cover this request" in text
        for found in re.findall(r"^- ([^ ,]+)", text, re.MULTILINE)
    ]


@pytest.mark.parametrize("name", _LEAVE)
def test_a_conversation_gets_a_hint_for_each_prompt_and_the_index_once(
    name: str, world: Callable[[str], OutsideWorld], model: ModelServer
) -> None:
    home = world(name)
    connect(home)
    model.script = _script(str(next(home.project.rglob("release-notes")).parent))
    try:
        with open_terminal(home) as terminal:
            _talk(terminal, model, _LEAVE[name])
    except CannotBeHadError as error:
        pytest.skip(str(error))

    first, back, second = (
        model.first(_FIRST),
        next(request for request in model.turns if request.results),
        model.first(_SECOND),
    )
    assert _hints(first) == ["release-notes"]
    assert WAYS.get(name, "") in first.text
    # What the tool found came back, in the same conversation.
    assert SKILLS["release-notes"] in "\n".join(back.results)
    assert _hints(second) == ["release-notes", "pdf-forms"]
    # The skill that it does not list itself was told of when the session began, and never again.
    calls = (home.home / ".prowess/hooks.jsonl").read_text(encoding="utf-8")
    assert second.text.count("- house-style") == (name not in _NOT_TOLD), calls
    assert second.text.count(SKILLS["db-migrations"]) == 1


def _talk(terminal: Terminal, model: ModelServer, leave: str) -> None:
    """Ask twice, see both answers on the screen, and leave."""
    terminal.say(_FIRST, lambda: model.has_heard(_FIRST))
    terminal.read("The notes are written.")
    terminal.say(_SECOND, lambda: model.has_heard(_SECOND))
    terminal.read("The form is signed.")
    if leave.startswith("/"):
        terminal.say(leave, terminal.has_ended)
    else:
        terminal.press(leave, terminal.has_ended)
