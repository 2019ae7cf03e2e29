"""`prowess hook` as coding agents call it: a process, a payload, an answer, and never a failure."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prowess.hooks.harness import Harness
from prowess.hooks.samples import SAMPLES, PayloadSample
from prowess.host.harness.call_records import FILE_NAME, HookLog
from prowess.host.harness.hook_client import ask
from prowess.host.harness.hook_socket import HookQuestion, HookSocket
from prowess.host.models.local import OnnxEncoder
from prowess.runtime.ports import Vectors
from prowess.wiring import open_runtime
from prowess.wiring.hook import answer_alone, answer_hook
from prowess.wiring.warm_hook import WarmHooks, serving_hooks

HEAVY = ("click", "pydantic", "sqlalchemy", "mcp", "starlette", "uvicorn", "httpx", "rich")
FORMS = (
    "---\nname: pdf-forms\ndescription: Fills in PDF forms. Use when asked to fill in a tax form or"
    ' any "pdf form".\n---\n\n# Forms\n\nRead the fields, then fill them.\n'
)
PROMPT = "fill in the tax form pdf"
CORRECTION = "next time make sure to verify every field of the form before you save the file"


class World:
    """A home, a state folder and a workspace with one skill, all with short names."""

    def __init__(self, root: Path) -> None:
        self.root, self.work, self.state = root, root / "w", root / "s"
        self.skill("pdf-forms", FORMS)
        self.state.mkdir()
        self.configure()

    def skill(self, name: str, text: str) -> None:
        folder = self.work / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text, encoding="utf-8")

    def configure(self, *, workshop: bool = False, encoder: str = "none") -> None:
        """Write the config file; words alone route quickly."""
        entry = {"enabled": workshop, "config": {"autoCapture": workshop}}
        values = {
            "skills": {"routing": {"encoder": encoder}},
            "plugins": {"entries": {"skill-workshop": entry}},
        }
        (self.state / "prowess.json").write_text(json.dumps(values), encoding="utf-8")

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {**kept, "HOME": str(self.root), "PROWESS_HOME": str(self.state)}

    def run(
        self, *args: str, given: bytes = b"", environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "prowess", *args],
            input=given,
            env={**self.environ, **(environ or {})},
            cwd=self.work,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def hook(self, given: bytes, environ: Mapping[str, str] | None = None) -> str:
        """Call the hook; it never fails and never says anything but its answer."""
        done = self.run("hook", given=given, environ=environ)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def alone(self, given: bytes) -> str:
        """Answer as the hook does without a gateway, in this process: starting one takes time."""
        said: list[str] = []
        answer_alone(given, self.environ, str(self.work), str(self.state), said.append)
        return "".join(said)

    def asked(self, given: bytes) -> str:
        """Ask the gateway as the hook does, but wait for as long as a busy machine takes."""
        said = ask(str(self.state), given, self.environ, str(self.work), seconds=60)
        assert said is not None
        return said.decode()

    def payload(self, event: str = "UserPromptSubmit", **fields: object) -> bytes:
        common = {"session_id": "one", "cwd": str(self.work), "hook_event_name": event}
        prompt = {"prompt": PROMPT} if event == "UserPromptSubmit" else {}
        return json.dumps({**common, **prompt, **fields}).encode()

    def log(self) -> str:
        path = self.state / FILE_NAME
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def proposals(self) -> list[Any]:
        with open_runtime(self.work, home=self.state, environ=self.environ) as runtime:
            return list(runtime.workshop.list())


@pytest.fixture
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory(prefix="ph", ignore_cleanup_errors=True) as folder:
        yield World(Path(folder).resolve())


def _context(answer: str) -> str:
    said = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
    assert isinstance(said, str)
    return said


def _here(sample: PayloadSample, world: World) -> bytes:
    """Return a sample as it would come from the world's own folder."""
    return sample.payload.replace(b'"/repo"', json.dumps(str(world.work)).encode())


def test_a_prompt_is_answered_with_the_skill_that_fits(world: World) -> None:
    said = _context(world.hook(world.payload()))

    assert "- pdf-forms (score " in said
    assert f"file {world.work}/skills/pdf-forms/SKILL.md" in said
    assert PROMPT not in said


@pytest.mark.parametrize("prompt", ["what a nice day", "", "  \n", "/pdf-forms now", "/help"])
def test_a_prompt_that_no_skill_fits_is_answered_with_nothing(world: World, prompt: str) -> None:
    assert world.alone(world.payload(prompt=prompt)) == ""


def test_what_a_program_put_into_the_prompt_is_not_routed(world: World) -> None:
    by_program = f"<task-notification>{PROMPT}</task-notification>"

    assert world.alone(world.payload(prompt=by_program)) == ""


def test_the_answer_is_the_same_as_that_of_route_with_the_bundled_encoder(world: World) -> None:
    world.configure(encoder="bundled")

    routed = json.loads(world.run("route", "--json", "--workspace", str(world.work), PROMPT).stdout)
    said = _context(world.hook(world.payload()))

    match = routed["matches"][0]
    assert match["name"] == "pdf-forms"
    assert f"- pdf-forms (score {match['score']:.2f})" in said
    assert all(reason in said for reason in match["reasons"])


def test_a_session_begins_with_the_index(world: World) -> None:
    said = _context(world.alone(world.payload("SessionStart", source="startup")))

    assert "<name>pdf-forms</name>" in said
    assert "~/w/skills/pdf-forms/SKILL.md" in said


def test_skills_that_the_model_must_not_choose_are_never_named(world: World) -> None:
    hidden = FORMS.replace("pdf-forms", "hidden-forms").replace(
        "\n---\n\n#", "\ndisable-model-invocation: true\n---\n\n#"
    )
    world.skill("hidden-forms", hidden)

    said = world.alone(world.payload(prompt="use hidden-forms to fill in the tax form pdf"))
    index = world.alone(world.payload("SessionStart", source="startup"))

    assert "hidden-forms" not in said
    assert "hidden-forms" not in index


@pytest.mark.parametrize("source", ["startup", "compact"])
def test_the_index_of_many_skills_stays_inside_what_harnesses_take(
    world: World, source: str
) -> None:
    for number in range(120):
        name = f"skill-{number:03}"
        text = f"---\nname: {name}\ndescription: {'Does many things. ' * 50}\n---\n\nText.\n"
        world.skill(name, text)

    said = _context(world.alone(world.payload("SessionStart", source=source)))

    assert len(said) <= 8_000
    assert "fit here" in said or "<description>" in said


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"not json",
        b'{"hook_event_name": "UserPromptSubmit", "prompt": "cut',
        b"[" * 200_000,
        b"x" * (1024 * 1024 + 1),
        b"\xff\xfe\x00",
        b'{"hook_event_name": "UserPromptSubmit", "prompt": 7}',
        b'{"hook_event_name": "NoSuchEvent"}',
        b'{"hook_event_name": "UserPromptSubmit", "prompt": "\\ud83d pdf", "cwd": "/no/such"}',
        b'{"hook_event_name": "UserPromptSubmit", "prompt": "pdf", "cwd": "/\\u0000x"}',
    ],
)
def test_whatever_comes_in_the_exit_code_is_zero_and_nothing_is_said(
    world: World, given: bytes
) -> None:
    # The folder of the process has no skills either, for those that name none.
    (world.work / "skills").rename(world.root / "away")

    assert world.hook(given) == ""


def test_trouble_of_our_own_says_nothing_and_is_noted_without_a_word_of_the_prompt(
    world: World,
) -> None:
    (world.state / "prowess.json").write_text("{ broken", encoding="utf-8")

    said = world.alone(world.payload(prompt="my very secret words"))

    last = HookLog(str(world.state)).last()[Harness.CLAUDE_CODE]
    assert said == ""
    assert last.problem == "ConfigSyntaxError"
    assert "secret" not in world.log()


def test_a_call_is_noted_without_prompt_or_path(world: World) -> None:
    world.alone(world.payload())

    last = HookLog(str(world.state)).last()[Harness.CLAUDE_CODE]
    assert (last.spoke, last.problem) == (True, "")
    assert PROMPT not in world.log()
    assert str(world.work) not in world.log()


def test_an_answer_is_the_same_bytes_whatever_encoding_a_variable_asks_for(world: World) -> None:
    plain = world.hook(world.payload())

    assert plain
    assert world.hook(world.payload(), {"PYTHONIOENCODING": "utf-16"}) == plain


def test_a_payload_beyond_the_limit_is_noted_and_not_read(world: World) -> None:
    assert world.hook(b" " * (1024 * 1024 + 1)) == ""

    assert json.loads(world.log())["problem"] == "too large"


def test_a_process_that_goes_on_for_too_long_ends_well_and_is_noted(world: World) -> None:
    program = (
        "import os; from prowess.cli.harness import hook_lane;"
        " hook_lane.limit_time(0.01); os.read(os.pipe()[0], 1)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], env=world.environ, check=False, timeout=60
    )

    assert done.returncode == 0
    assert json.loads(world.log())["problem"] == "out of time"


def test_a_state_folder_that_cannot_be_written_is_no_reason_to_be_silent(world: World) -> None:
    (world.state / FILE_NAME).mkdir()

    assert "pdf-forms" in world.alone(world.payload())


def test_a_hook_imports_nothing_heavy(world: World) -> None:
    script = (
        "import sys\n"
        "from prowess.cli.main import main\n"
        "main(['hook'])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script],
        input=world.payload(),
        env=world.environ,
        capture_output=True,
        check=True,
    )

    assert b"pdf-forms" in done.stdout
    assert done.stderr.strip() == b"[]"


def test_its_help_says_who_registers_it(world: World) -> None:
    done = world.run("hook", "--help")

    assert done.returncode == 0
    assert b"prowess connect" in done.stdout


@pytest.mark.parametrize(
    "sample", SAMPLES, ids=lambda one: f"{one.harness.value}-{one.event}-{one.moment.value}"
)
def test_every_sample_is_answered_in_the_schema_of_its_harness(
    world: World, sample: PayloadSample
) -> None:
    with open_runtime(world.work, home=world.state, environ=world.environ) as runtime:
        said = answer_hook(sample.payload, sample.environ, runtime=runtime)
        desk = WarmHooks(runtime)
        warm = desk.answer(HookQuestion(sample.environ, str(world.work), _here(sample, world)))
        desk.close()

    assert sample.answers_with(said) == ""
    assert warm == said


def test_a_rehearsal_leaves_no_trace(world: World) -> None:
    with open_runtime(world.work, home=world.state, environ=world.environ) as runtime:
        for sample in SAMPLES:
            answer_hook(sample.payload, sample.environ, runtime=runtime)

    assert world.log() == ""
    assert not (world.state / "hook-marks").exists()


def test_after_a_compaction_the_next_prompt_of_that_session_brings_the_index_again(
    world: World,
) -> None:
    cursor = {"conversation_id": "c", "cursor_version": "3", "workspace_roots": [str(world.work)]}
    asked = {**cursor, "hook_event_name": "beforeSubmitPrompt", "prompt": "hello there"}
    compacted = {**cursor, "hook_event_name": "preCompact"}

    before = world.alone(json.dumps(asked).encode())
    at_compaction = world.alone(json.dumps(compacted).encode())
    other = world.alone(json.dumps({**asked, "conversation_id": "d"}).encode())
    after = world.alone(json.dumps(asked).encode())
    later = world.alone(json.dumps(asked).encode())

    assert (before, at_compaction, other, later) == ("", "", "", "")
    assert "<name>pdf-forms</name>" in json.loads(after)["additional_context"]


def test_a_running_gateway_answers_as_the_hook_would_alone(world: World) -> None:
    alone = world.hook(world.payload())
    started = world.payload("SessionStart", source="startup")
    begun = world.hook(started)
    size = len(world.log().splitlines())

    with (
        open_runtime(None, home=world.state, environ=world.environ) as runtime,
        serving_hooks(runtime),
    ):
        warm, warm_begun = world.asked(world.payload()), world.asked(started)
        after = len(world.log().splitlines())
        through_a_process = world.hook(world.payload())

    assert (warm, warm_begun) == (alone, begun)
    assert after == size + 2
    assert through_a_process == alone


@pytest.mark.parametrize("is_named", [True, False])
def test_in_a_subfolder_the_skills_of_the_project_are_named_with_a_gateway_and_without(
    world: World, *, is_named: bool
) -> None:
    below = world.work / "src" / "deep"
    below.mkdir(parents=True)
    payload = world.payload(cwd=str(below))
    named = {"CLAUDE_PROJECT_DIR": str(world.work)} if is_named else {}

    alone = world.hook(payload, named)
    with open_runtime(None, home=world.state, environ=world.environ) as runtime:
        desk = WarmHooks(runtime)
        warm = desk.answer(HookQuestion(named, "/", payload))
        desk.close()

    assert "- pdf-forms (score" in alone
    assert warm == alone


def test_the_roots_of_a_window_of_cursor_are_its_project(world: World) -> None:
    below = world.work / "src"
    below.mkdir()
    asked = {
        "hook_event_name": "beforeSubmitPrompt",
        "conversation_id": "c",
        "workspace_roots": [7, "/no/such", str(world.work)],
        "cwd": str(below),
        "prompt": PROMPT,
    }

    assert "pdf-forms" in world.alone(json.dumps(asked).encode())


def test_a_payload_does_not_make_the_home_a_workspace(world: World) -> None:
    (world.work / "skills").rename(world.root / "skills")

    assert world.alone(world.payload(cwd=str(world.root))) == ""


def test_an_input_that_nobody_closes_is_answered_all_the_same(world: World) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "prowess", "hook"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=world.environ,
        cwd=world.work,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(world.payload())
        process.stdin.flush()
        said = process.stdout.read().decode()
        ended = process.wait(60)

    assert "pdf-forms" in _context(said)
    assert ended == 0
    assert json.loads(world.log())["problem"] == ""


def _wait_until_warm() -> None:
    for thread in threading.enumerate():
        if thread.name == "hook-warming":
            thread.join(60)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the model is given, as it comes."""
    given: list[str] = []

    def encode(_self: OnnxEncoder, texts: Sequence[str]) -> Vectors:
        given.extend(texts)
        return np.eye(len(texts), 8, dtype=np.float32) + np.float32(0.1)

    monkeypatch.setattr(OnnxEncoder, "encode", encode)
    return given


def test_a_gateway_loads_before_the_first_prompt_what_that_would_wait_for(
    world: World, encoded: list[str]
) -> None:
    world.configure(encoder="bundled")
    with open_runtime(world.work, home=world.state, environ=world.environ) as runtime:
        desk = WarmHooks(runtime)
        desk.warm()
        _wait_until_warm()
        ahead = list(encoded)
        desk.answer(HookQuestion({}, "/", world.payload()))
        desk.close()

    assert any("PDF forms" in text for text in ahead)
    # Nothing but the prompt itself is left to be encoded.
    assert encoded[len(ahead) :] == [PROMPT]
    # And nobody is told of a call that no agent made.
    assert len(world.log().splitlines()) == 1


@pytest.mark.parametrize("encoder", ["none", "/no/such/folder", "http://127.0.0.1:1/v1"])
def test_a_model_that_cannot_be_loaded_ahead_is_no_trouble(
    world: World, caplog: pytest.LogCaptureFixture, encoder: str
) -> None:
    world.configure(encoder=encoder)
    with (
        open_runtime(world.work, home=world.state, environ=world.environ) as runtime,
        serving_hooks(runtime) as desk,
    ):
        desk.warm()
        _wait_until_warm()
        said = desk.answer(HookQuestion({}, "/", world.payload()))

    assert "pdf-forms" in (said or "")
    assert "hooks.no" not in caplog.text


def test_a_gateway_that_stops_at_once_does_not_wait_for_the_model(
    world: World, encoded: list[str]
) -> None:
    world.configure(encoder="bundled")
    with open_runtime(world.work, home=world.state, environ=world.environ) as runtime:
        desk = WarmHooks(runtime)
        desk.close()
        desk.warm()
        desk.close()

    assert encoded == []


def test_trouble_while_warming_is_told_by_its_kind_and_nothing_is_lost(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_self: OnnxEncoder, _texts: Sequence[str]) -> Vectors:
        raise RuntimeError("my very secret words")

    monkeypatch.setattr(OnnxEncoder, "encode", fail)
    world.configure(encoder="bundled")
    with open_runtime(world.work, home=world.state, environ=world.environ) as runtime:
        desk = WarmHooks(runtime)
        desk.warm()
        _wait_until_warm()
        desk.close()

    assert "hooks.not-warmed: RuntimeError" in caplog.text
    assert "secret" not in caplog.text


def test_a_gateway_sees_a_skill_that_came_a_moment_ago(world: World) -> None:
    with open_runtime(None, home=world.state, environ=world.environ) as runtime:
        desk = WarmHooks(runtime)
        before = desk.answer(HookQuestion({}, "/", world.payload(prompt="bake a sourdough bread")))
        text = FORMS.replace("pdf-forms", "bread").replace("PDF forms", "sourdough bread")
        world.skill("bread", text)
        after = desk.answer(HookQuestion({}, "/", world.payload(prompt="bake a sourdough bread")))
        desk.close()

    assert before == ""
    assert "- bread (score" in (after or "")


def test_a_gateway_notes_what_it_routed(world: World) -> None:
    with open_runtime(world.work, home=world.state, environ=world.environ) as runtime:
        desk = WarmHooks(runtime)
        desk.answer(HookQuestion({}, "/", world.payload()))
        desk.close()
        report = runtime.usage.report(agent_id=None, skill=None, after=0, limit=10)

    assert '"type": "routed"' in json.dumps(report["events"])


def test_a_gateway_counts_a_prompt_that_no_skill_fits_and_nothing_that_nobody_typed(
    world: World,
) -> None:
    with open_runtime(world.work, home=world.state, environ=world.environ) as runtime:
        desk = WarmHooks(runtime)
        for prompt in ("bake a sourdough bread", "/help", "", PROMPT):
            desk.answer(HookQuestion({}, "/", world.payload(prompt=prompt)))
        desk.answer(HookQuestion({}, "/", world.payload("SessionStart", source="startup")))
        desk.close()
        days = runtime.usage.days(0, None)

    assert [one.unmatched for one in days if not one.skill] == [1]


def test_a_gateway_that_fails_sends_the_hook_away_to_answer_alone(world: World) -> None:
    server = HookSocket(str(world.state), lambda _asked: None)
    assert server.start()
    try:
        said = world.hook(world.payload())
    finally:
        server.close()

    assert "pdf-forms" in said


def _transcript(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    path = folder / "one.jsonl"
    line = {"type": "user", "sessionId": "one", "message": {"role": "user", "content": text}}
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    return path


def _learned(world: World, *payloads: bytes) -> list[Any]:
    """Let a gateway hear of turns, and return what it proposes."""
    with open_runtime(None, home=world.state, environ=world.environ) as runtime:
        desk = WarmHooks(runtime)
        desk.start()
        for payload in payloads:
            assert desk.answer(HookQuestion({}, str(world.work), payload)) == ""
        desk.close()
    return world.proposals()


def test_a_correction_in_a_turn_becomes_a_proposal_once(world: World) -> None:
    world.configure(workshop=True)
    path = _transcript(world.root / ".claude" / "projects" / "w", CORRECTION)
    stop = world.payload("Stop", transcript_path=str(path), last_assistant_message="Done.")
    end = world.payload("SessionEnd", transcript_path=str(path), reason="other")

    proposals = _learned(world, stop, stop, end)

    assert [one.session_id for one in proposals] == ["one"]


def test_a_turn_that_two_names_of_one_harness_bring_is_learned_from_once(world: World) -> None:
    world.configure(workshop=True)
    path = _transcript(world.root / ".copilot" / "session-state" / "w", CORRECTION)
    linked = world.root / ".config" / "Code" / "User" / "workspaceStorage" / "w"
    _transcript(linked, CORRECTION)
    stop = {"timestamp": "t", "cwd": str(world.work), "sessionId": "one"}
    copilot = {**stop, "stopReason": "end_turn", "transcriptPath": str(path)}
    vscode = {**stop, "hookEventName": "Stop", "transcript_path": str(linked / "one.jsonl")}

    proposals = _learned(world, *(json.dumps(one).encode() for one in (copilot, vscode)))

    assert len(proposals) == 1


def test_a_transcript_outside_of_the_known_folders_is_not_followed(world: World) -> None:
    world.configure(workshop=True)
    path = _transcript(world.root / "elsewhere", CORRECTION)
    link = _transcript(world.root / ".claude" / "projects" / "w", "hello").with_name("l.jsonl")
    link.symlink_to(path)

    stops = [
        world.payload("Stop", transcript_path=str(place), last_assistant_message="Done.")
        for place in (path, link, f"{link.parent}/../../../elsewhere/one.jsonl")
    ]

    assert _learned(world, *stops) == []


def test_a_turn_that_a_hook_made_go_on_is_not_learned_from(world: World) -> None:
    world.configure(workshop=True)
    path = _transcript(world.root / ".claude" / "projects" / "w", CORRECTION)

    stop = world.payload("Stop", transcript_path=str(path), stop_hook_active=True)

    assert _learned(world, stop) == []


def test_nothing_is_learned_where_the_workshop_is_off(world: World) -> None:
    path = _transcript(world.root / ".claude" / "projects" / "w", CORRECTION)

    stop = world.payload("Stop", transcript_path=str(path), last_assistant_message="Done.")

    assert _learned(world, stop) == []


def test_the_end_of_a_turn_of_gemini_holds_all_that_is_needed(world: World) -> None:
    world.configure(workshop=True)
    turn = world.payload(
        "AfterAgent", timestamp="t", prompt=CORRECTION, prompt_response="Done.", transcript_path=""
    )

    assert len(_learned(world, turn)) == 1


def test_without_a_gateway_a_process_of_its_own_learns(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.configure(workshop=True)
    path = _transcript(world.root / ".claude" / "projects" / "w", CORRECTION)
    stop = world.payload("Stop", transcript_path=str(path), last_assistant_message="Done.")
    pipe, program = world.root / "pipe", world.root / "python"
    os.mkfifo(pipe)
    program.write_text(f'#!/bin/sh\n{{ echo "$@"; cat; }} > {pipe}\n')
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))

    said = world.alone(stop)
    words, _, given = pipe.read_bytes().partition(b"\n")
    monkeypatch.undo()
    done = world.run("hook", "--learn", given=given)

    assert said == ""
    # Nothing of the agent's folder is imported.
    assert words == b"-P -m prowess hook --learn"
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(world.proposals()) == 1


@pytest.mark.parametrize("given", [b"", b"null", b"{}", b'{"harness": "nobody", "moment": 1}'])
def test_a_process_that_shall_learn_from_nothing_ends_quietly(world: World, given: bytes) -> None:
    done = world.run("hook", "--learn", given=given)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_program_that_cannot_be_started_is_no_failure(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.configure(workshop=True)
    monkeypatch.setattr(sys, "executable", str(world.root / "no-such-program"))

    said = world.alone(world.payload("Stop", last_assistant_message="Done."))

    assert said == ""
    assert HookLog(str(world.state)).last()[Harness.CLAUDE_CODE].problem == ""
