"""`prowess hook` as coding agents call it: a process, a payload, an answer, and never a failure."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from prowess.hooks.answers import read
from prowess.hooks.harness import Harness
from prowess.hooks.registrations import Program
from prowess.hooks.samples import SAMPLES, PayloadSample
from prowess.host.harness.hook_client import LOG_FILE, HookLog, ask
from prowess.host.harness.hook_socket import HookQuestion, HookSocket
from prowess.host.harness.marks_and_places import place_to_index
from prowess.host.models.local import OnnxEncoder
from prowess.runtime.ports import Vectors
from prowess.wiring import open_runtime
from prowess.wiring.hook import (
    HookPlace,
    WarmHooks,
    answer_alone,
    answer_hook,
    open_turn_learning,
    serving_hooks,
)

HEAVY = ("click", "pydantic", "sqlalchemy", "mcp", "starlette", "uvicorn", "httpx", "rich")
FORMS = (
    "---\nname: pdf-forms\ndescription: Fills in PDF forms. Use when asked to fill in a tax form or"
    ' any "pdf form".\n---\n\n# Forms\n\nRead the fields, then fill them.\n'
)
PROMPT = "fill in the tax form pdf"
# A reason that only an encoder finds.
_MEANT = re.compile(r'" \(0\.\d\d\)')
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

    def configure(
        self, *, workshop: bool = False, encoder: str = "none", load_threshold: float | None = None
    ) -> None:
        """Write the config file; words alone route quickly."""
        routing: dict[str, object] = {"encoder": encoder}
        if load_threshold is not None:
            routing["loadThreshold"] = load_threshold
        entry = {"enabled": workshop, "config": {"autoCapture": workshop}}
        values = {"skills": {"routing": routing}, "plugins": {"entries": {"skill-workshop": entry}}}
        (self.state / "prowess.json").write_text(json.dumps(values), encoding="utf-8")

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {**kept, "HOME": str(self.root), "PROWESS_HOME": str(self.state)}

    def run(
        self,
        *args: str,
        given: bytes = b"",
        environ: Mapping[str, str] | None = None,
        below: str = "",
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "prowess", *args],
            input=given,
            env={**self.environ, **(environ or {})},
            cwd=self.work / below,
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
        place = HookPlace(str(self.work), str(self.state), time.monotonic())
        answer_alone(given, self.environ, place, said.append)
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
        path = self.state / LOG_FILE
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


def test_a_short_prompt_is_read_with_what_its_session_said_before(world: World) -> None:
    world.configure(encoder="bundled", load_threshold=0.23)
    world.run("route", "--workspace", str(world.work), PROMPT)
    said = (
        ("user", "fill in the pdf form for the tax office"),
        ("assistant", "The first PDF form is filled in. Shall I fill in the second one as well?"),
    )
    rows = [{"type": role, "message": {"role": role, "content": text}} for role, text in said]
    # What tools did before may be long: only the end of the file is read.
    lines = [json.dumps({"type": "progress", "data": "x" * 1_000})] * 500
    session = world.root / ".claude" / "projects" / "w" / "one.jsonl"
    session.parent.mkdir(parents=True)
    session.write_text("\n".join([*lines, *map(json.dumps, rows)]) + "\n", encoding="utf-8")
    stranger = world.root / "one.jsonl"
    stranger.write_bytes(session.read_bytes())
    prompt = "and my wife's form, too"

    assert world.alone(world.payload(prompt=prompt)) == ""
    assert world.alone(world.payload(prompt=prompt, transcript_path=str(stranger))) == ""
    told = world.alone(world.payload(prompt=prompt, transcript_path=str(session)))
    assert "- pdf-forms (score " in _context(told)


def test_without_an_index_words_answer_at_once_and_another_process_makes_it(world: World) -> None:
    world.configure(encoder="bundled")
    indexes = world.state / "indexes"

    first = _context(world.hook(world.payload()))

    assert "- pdf-forms (score " in first
    assert not _MEANT.search(first)
    _wait_until(lambda: indexes.is_dir() and any(indexes.iterdir()))
    # The lock is free again once the process has ended.
    _wait_until(lambda: _is_free_to_index(world))
    assert _MEANT.search(_context(world.hook(world.payload())))


def test_one_process_at_a_time_makes_an_index(world: World) -> None:
    world.configure(encoder="bundled")

    with place_to_index(str(world.state)) as is_free:
        assert is_free
        said = [world.hook(world.payload()) for _ in range(3)]

    assert all("pdf-forms" in one for one in said)
    assert not (world.state / "indexes").exists()


@pytest.mark.parametrize("below", ["", "src/part"])
def test_connecting_makes_the_index_that_the_first_prompt_needs(world: World, below: str) -> None:
    world.configure(encoder="bundled")
    (world.work / below).mkdir(parents=True, exist_ok=True)

    done = world.run("connect", "codex", "--yes", "--no-mcp", below=below)

    assert done.returncode == 0, done.stderr
    assert _MEANT.search(_context(world.hook(world.payload())))


def _is_free_to_index(world: World) -> bool:
    with place_to_index(str(world.state)) as is_free:
        return is_free


def _wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_session_begins_with_what_the_harness_does_not_list_itself(world: World) -> None:
    own = world.work / ".claude" / "skills" / "own"
    own.mkdir(parents=True)
    (own / "SKILL.md").write_text(FORMS.replace("pdf-forms", "own"), encoding="utf-8")
    started = {"source": "startup", "transcript_path": "/home/me/.claude/projects/x/1.jsonl"}

    said = _context(world.alone(world.payload("SessionStart", **started)))

    # Claude Code lists `own`, and nobody but Prowess the others; none of ours is among them.
    listed = [line.split(",")[0] for line in said.splitlines()[1:]]
    assert listed == ["- pdf-forms"]


def test_a_session_begins_in_silence_where_the_harness_lists_everything(world: World) -> None:
    (world.work / "skills").rename(world.work / ".agents-skills")
    (world.work / ".agents").mkdir()
    (world.work / ".agents-skills").rename(world.work / ".agents" / "skills")

    started = world.payload("SessionStart", source="startup", turn_id="t1")

    assert world.alone(started) == ""


def test_codex_keeps_what_a_session_was_told_when_it_is_resumed(world: World) -> None:
    def start(source: str, **fields: object) -> bool:
        return world.alone(world.payload("SessionStart", source=source, **fields)) != ""

    assert start("startup", turn_id="t1")
    assert not start("resume", turn_id="t2")
    assert start("compact", turn_id="t3")
    # One that began before we were connected, and a harness that forgets.
    assert start("resume", turn_id="t4", session_id="two")
    claude = {"transcript_path": "/home/me/.claude/projects/x/1.jsonl"}
    assert start("startup", **claude)
    assert start("resume", **claude)


@pytest.mark.parametrize("is_link", [False, True])
def test_what_lies_in_the_folders_of_two_harnesses_is_listed_by_both(
    world: World, *, is_link: bool
) -> None:
    shared, own = world.work / ".agents" / "skills", world.work / ".claude" / "skills"
    shared.parent.mkdir()
    own.parent.mkdir()
    (world.work / "skills").rename(shared)
    if is_link:
        own.symlink_to("../.agents/skills")
    else:
        shutil.copytree(shared, own)
    theirs = {"transcript_path": "/home/me/.claude/projects/x/1.jsonl"}

    assert world.alone(world.payload("SessionStart", source="startup", **theirs)) == ""
    assert "Skill tool: pdf-forms" in _context(world.alone(world.payload(**theirs)))


def test_our_own_skills_are_hinted_at_only_where_the_prompt_is_about_prowess(world: World) -> None:
    asked = "is there a skill for that, which skills do I have, and where do I put my skills"

    plain = world.alone(world.payload(prompt=asked))
    about = world.alone(world.payload(prompt=f"{asked} in Prowess?"))

    assert plain == ""
    assert "prowess-manual" in about


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
    # A hook has no time to scan as many, and names none that nobody has scanned.
    world.run("list")

    said = _context(world.alone(world.payload("SessionStart", source=source)))

    assert len(said) <= 1_500
    assert "- skill-000, file " in said


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

    last = HookLog(str(world.state)).recent(Harness.CLAUDE_CODE)[-1]
    assert said == ""
    assert last.problem == "ConfigSyntaxError"
    assert "secret" not in world.log()


def test_a_call_is_noted_without_prompt_or_path(world: World) -> None:
    world.alone(world.payload())

    last = HookLog(str(world.state)).recent(Harness.CLAUDE_CODE)[-1]
    assert (last.spoke, last.problem) == (True, "")
    assert PROMPT not in world.log()
    assert str(world.work) not in world.log()


def test_an_answer_is_the_same_bytes_whatever_encoding_a_variable_asks_for(world: World) -> None:
    plain = world.hook(world.payload())

    assert plain
    assert world.hook(world.payload(), {"PYTHONIOENCODING": "utf-16"}) == plain


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, b""),
        ("exit 1", b""),
        ("exit 2", b""),
        ("exit 127", b""),
        ("echo '{\"a\": 1}'; exit 2", b""),
        ("echo Traceback: nonsense", b""),
        ("echo '{oops'", b""),
        ("exec sleep 60", b""),
        ("trap '' TERM; while :; do sleep 60; done", b""),
        ("kill -9 $$", b""),
        # More than any answer, and a process that keeps the output open for as long as it lives.
        ("printf '{\"a\": \"'; head -c 12000000 /dev/zero | tr '\\0' x; echo '\"}'", b""),
        ("sleep 60 & echo '{\"a\": 1}'", b""),
        ("cat", b'{"a": "it\'s $HOME\\n"}'),
    ],
)
def test_the_registered_line_ends_well_whatever_becomes_of_the_program(
    script: str | None, said: bytes, tmp_path: Path
) -> None:
    program = tmp_path / "it's mine" / "prowess"
    program.parent.mkdir()
    if script is not None:
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
    line = Program(words=(str(program),)).line(1)

    # As every harness starts it: by a shell, with the payload on standard input.
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        input=b'{"a": "it\'s $HOME\\n"}',
        capture_output=True,
        check=False,
        timeout=50,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, said, b"")


@pytest.mark.parametrize(
    ("event", "seconds", "noted"),
    [
        # The line around us gives up.
        ("UserPromptSubmit", "1", "out of time"),
        # Somebody presses a key, or a harness has no patience.
        ("UserPromptSubmit", "100", "ended by its caller"),
        # A harness that ends takes its hooks with it, which is no fault of anybody.
        ("Stop", "100", ""),
    ],
)
def test_a_call_that_is_told_to_stop_is_noted_with_its_caller_and_its_time(
    world: World, event: str, seconds: str, noted: str
) -> None:
    # The payload came, and no answer yet.
    code = (
        "import os, signal, time; from prowess.cli import main;"
        " from prowess.wiring import hook;"
        " hook.answer_alone = lambda *_: time.sleep(0.85) or os.kill(os.getpid(), signal.SIGTERM);"
        " main.answer_and_leave()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=world.payload(event, turn_id="t1"),
        env={**world.environ, "PROWESS_HOOK_SECONDS": seconds},
        cwd=world.work,
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    lines = [json.loads(line) for line in world.log().splitlines()] if noted else []
    assert [(line["harness"], line["moment"], line["problem"]) for line in lines] == (
        [("codex", "prompt", noted)] if noted else []
    )
    assert all(line["took"] > 0 for line in lines)
    assert bool(noted) is (world.state / LOG_FILE).exists()


def test_a_call_that_came_late_is_answered_from_words_at_once(world: World) -> None:
    # On a machine so busy that the caller's patience was spent before a message could be read.
    said: list[str] = []
    world.configure(encoder="bundled")
    world.run("route", "--workspace", str(world.work), "anything")
    place = HookPlace(str(world.work), str(world.state), time.monotonic() - 1_000)

    answer_alone(world.payload(), world.environ, place, said.append)

    assert "pdf-forms" in said[0]
    assert _MEANT.search(_context(world.alone(world.payload())))
    assert not _MEANT.search(_context(said[0]))
    assert json.loads(world.log().splitlines()[0])["problem"] == ""


def test_a_payload_beyond_the_limit_is_noted_and_not_read(world: World) -> None:
    assert world.hook(b" " * (1024 * 1024 + 1)) == ""

    assert json.loads(world.log())["problem"] == "too large"


def test_a_process_that_goes_on_for_too_long_ends_well_and_is_noted(world: World) -> None:
    program = (
        "import os; from prowess.cli import main; main.limit_time(0.01); os.read(os.pipe()[0], 1)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], env=world.environ, check=False, timeout=60
    )

    assert done.returncode == 0
    assert json.loads(world.log())["problem"] == "out of time"


def test_a_state_folder_that_cannot_be_written_is_no_reason_to_be_silent(world: World) -> None:
    (world.state / LOG_FILE).mkdir()

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


def test_a_part_of_a_repository_with_skills_of_its_own_has_those_of_the_whole_too(
    world: World,
) -> None:
    (world.work / ".git").mkdir()
    part = world.work / "packages" / "web"
    for folder, text in ((part, "The nearer one."), (world.work, "The farther one.")):
        place = folder / "skills" / "shared"
        place.mkdir(parents=True)
        skill = f"---\nname: shared\ndescription: {text}\n---\n{text}\n"
        (place / "SKILL.md").write_text(skill, encoding="utf-8")

    hint = world.hook(world.payload(cwd=str(part)))
    with open_runtime(part, home=world.state, environ=world.environ) as runtime:
        listed = {row.skill.name: row.skill for row in runtime.skills.status().skills}

    assert "- pdf-forms (score" in hint
    assert "pdf-forms" in listed
    assert listed["shared"].description == "The nearer one."


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
        return np.eye(len(texts), 384, dtype=np.float32) + np.float32(0.1)

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
    # A gateway that stops waits a few seconds for its learner: on a busy machine that takes longer.
    with (
        patch("prowess.wiring.hook._STOP_SECONDS", 120.0),
        open_runtime(None, home=world.state, environ=world.environ) as runtime,
    ):
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


@pytest.mark.parametrize(
    ("said", "root"),
    [
        ("no, use pnpm not npm", "w/.claude/skills"),
        ("in all my projects: use pnpm, never npm", ".claude/skills"),
    ],
)
def test_a_lesson_lands_where_the_corrected_agent_looks_and_says_so_before(
    world: World, said: str, root: str
) -> None:
    world.configure(workshop=True)
    path = _transcript(world.root / ".claude" / "projects" / "w", said)
    stop = world.payload("Stop", transcript_path=str(path), last_assistant_message="Done.")
    incoming = read(stop, world.environ)
    assert incoming is not None
    with open_runtime(world.work, home=world.state, environ=world.environ) as runtime:
        open_turn_learning(runtime).learn(incoming)
    [proposal] = world.proposals()
    file = world.root / root / proposal.skill / "SKILL.md"
    shown = world.run("workshop", "show", proposal.id).stdout.decode()
    there_before = file.exists()

    done = world.run("workshop", "apply", proposal.id, "--yes")
    text = file.read_text(encoding="utf-8")
    undone = world.run("workshop", "rollback", proposal.skill, "--yes")

    assert root in shown
    assert not there_before
    assert (done.returncode, undone.returncode) == (0, 0), (done.stderr, undone.stderr)
    assert "pnpm" in text
    assert not file.exists()
    assert not (world.work / "skills" / proposal.skill).exists()


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
    assert HookLog(str(world.state)).recent(Harness.CLAUDE_CODE)[-1].problem == ""


def test_the_agent_is_asked_about_a_rule_once_in_one_line(world: World) -> None:
    world.configure(workshop=True)
    said = ["no, use pnpm not npm", "we use pnpm here, not npm"]

    first, again = (world.alone(world.payload(prompt=text)) for text in said)

    told = json.loads(first)["hookSpecificOutput"]["additionalContext"]
    assert "mcp__prowess__skill_workshop" in told
    assert "\n" not in told
    # So much of the agent's attention it takes: about four characters are a token.
    assert len(told) < 4 * 60
    assert again == ""


def test_a_rule_that_was_proposed_in_other_words_is_not_asked_about_again(world: World) -> None:
    world.configure(workshop=True)
    path = _transcript(world.root / ".claude" / "projects" / "w", "stop adding emojis to commits")
    _learned(world, world.payload("Stop", transcript_path=str(path)))
    said = ["no emojis in any commit please, always", "never commit without a ticket number"]

    known, other = (world.alone(world.payload(prompt=text)) for text in said)

    assert known == ""
    assert "skill_workshop" in other


@pytest.mark.parametrize(
    "prompt",
    [
        "why do we use pnpm and not npm?",
        "should we always await that or is the other way fine",
        "make sure the button is always visible",
        "now write the release notes",
    ],
)
def test_nobody_is_asked_about_questions_and_tasks(world: World, prompt: str) -> None:
    world.configure(workshop=True)

    assert "skill_workshop" not in world.alone(world.payload(prompt=prompt))


def test_the_line_about_rules_can_be_switched_off(world: World) -> None:
    world.configure(workshop=True)
    path = world.state / "prowess.json"
    path.write_text(
        path.read_text(encoding="utf-8").replace(
            '"autoCapture"', '"askAgent": false, "autoCapture"'
        ),
        encoding="utf-8",
    )

    assert world.alone(world.payload(prompt="no, use pnpm not npm")) == ""
