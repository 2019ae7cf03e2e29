"""Turns are reviewed by real servers and programs: they answer well, badly, late or never."""

import json
import os
import secrets
import stat
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

from prowess.errors import ModelError
from prowess.host.models.reviewers import (
    MOST_REPLY_CHARS,
    CommandReviewer,
    EndpointReviewer,
    ProviderReviewer,
    ReviewerChoice,
    open_reviewer,
)
from prowess.host.processes.children import ChildProcesses
from prowess.runtime.workshop.ports import Counters
from prowess.runtime.workshop.review import (
    ObservedTurn,
    ReviewModel,
    ReviewPorts,
    TurnReviewer,
    TurnReviewOutcome,
    TurnReviewStatus,
)
from prowess.settings import ModelSettings, ReviewMode, WorkshopSettings
from prowess.workshop.edit import Append

KEY = "sk-do-not-show-this-0123456789"
REPLY = json.dumps(
    {"action": "append", "skillName": "Release Notes", "section": "Workflow", "body": "- Sort."}
)
Answer = Callable[[BaseHTTPRequestHandler], None]
Wrap = Callable[[str], str]


class Server:
    """Answers as it is told, and remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.answer: Answer = hang_up
        self.over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append((self.path, dict(self.headers), asked))
                server.answer(self)

            # The base class decides the names of the parameters.
            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        return Handler

    def silence(self, _handler: BaseHTTPRequestHandler) -> None:
        self.over.wait(100)

    def drip(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer with a byte now and then, so that no read ever waits long."""
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        try:
            while not self.over.wait(0.05):
                handler.wfile.write(b" ")
        except OSError:
            # Whoever asked has gone, as it should.
            handler.close_connection = True

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def body(status: int, text: str, kind: str = "application/json") -> Answer:
    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(text.encode())))
        handler.end_headers()
        handler.wfile.write(text.encode())

    return send


def as_chat(text: str) -> str:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    head = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps({**head, "choices": [choice]})


def as_message(text: str) -> str:
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "1", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    content = [{"type": "text", "text": text}]
    return json.dumps(
        {**head, "content": content, "stop_reason": "end_turn", "stop_sequence": None}
    )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    opened = Server()
    monkeypatch.setenv("OPENAI_BASE_URL", f"{opened.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", opened.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    yield opened
    opened.close()


def endpoint(server: Server) -> ReviewModel:
    settings = ModelSettings(endpoint=f"{server.url}/v1", name="m", key_env="MY_KEY")
    return EndpointReviewer(settings, {"MY_KEY": KEY})


def openai(_server: Server) -> ReviewModel:
    return ProviderReviewer("openai-chat:m")


def anthropic(_server: Server) -> ReviewModel:
    return ProviderReviewer("anthropic:claude-sonnet-5")


Opened = Callable[[Server], ReviewModel]
KINDS = pytest.mark.parametrize(
    ("opened", "wrap"),
    [(endpoint, as_chat), (openai, as_chat), (anthropic, as_message)],
    ids=["endpoint", "openai", "anthropic"],
)
EACH = pytest.mark.parametrize("opened", [endpoint, openai, anthropic])


def problem_of(reviewer: ReviewModel, seconds: float = 10.0) -> str:
    with pytest.raises(ModelError) as caught:
        reviewer.ask("Be brief.", "Why?", seconds)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


# Models behind a server


@KINDS
def test_a_model_is_asked_once_and_without_tools(
    server: Server, opened: Opened, wrap: Wrap
) -> None:
    server.answer = body(200, wrap(REPLY))

    answer = opened(server).ask("Be brief.", "Why \ud83d?", 10.0)

    ((path, headers, asked),) = server.requests
    sent = json.dumps(asked)
    assert answer == REPLY
    assert path in {"/v1/chat/completions", "/v1/messages", "/v1/messages?beta=true"}
    assert {"authorization", "x-api-key"} & {
        name.lower() for name, value in headers.items() if value.removeprefix("Bearer ") == KEY
    }
    assert "Be brief." in sent
    assert "Why ??" in sent
    assert not asked.get("tools")


@KINDS
def test_a_model_can_be_asked_again(server: Server, opened: Opened, wrap: Wrap) -> None:
    reviewer = opened(server)
    server.answer = body(200, wrap(REPLY))

    answers = [reviewer.ask("", "Why?", 10.0) for _ in range(2)]

    assert answers == [REPLY, REPLY]


@EACH
@pytest.mark.parametrize(
    "bad",
    [
        body(500, KEY),
        body(401, f'{{"error": {{"message": "what about {KEY}?"}}}}'),
        body(404, "{}"),
        body(200, f'{{"choices": [{{"{KEY}'),
        body(200, f"<html>{KEY}</html>", "text/html"),
        body(200, "null"),
        body(200, "[]"),
        body(200, ""),
        hang_up,
    ],
    ids=["500", "401", "404", "broken", "html", "null", "list", "empty", "hangs up"],
)
def test_a_server_that_fails_is_an_error_that_repeats_nothing(
    server: Server, opened: Opened, bad: Answer
) -> None:
    server.answer = bad

    problem = problem_of(opened(server))

    assert problem.endswith((".", "?"))
    assert "html" not in problem


@KINDS
def test_an_answer_without_words_is_an_error(server: Server, opened: Opened, wrap: Wrap) -> None:
    server.answer = body(200, wrap(" \n"))

    assert "does not answer with a text" in problem_of(opened(server))


@EACH
def test_a_server_that_is_silent_is_given_up(server: Server, opened: Opened) -> None:
    server.answer = server.silence
    begun = time.monotonic()

    problem = problem_of(opened(server), seconds=0.3)

    assert "does not answer" in problem
    assert time.monotonic() - begun < 60


@EACH
def test_a_server_that_drips_is_given_up(server: Server, opened: Opened) -> None:
    server.answer = server.drip
    begun = time.monotonic()

    problem_of(opened(server), seconds=0.3)

    assert time.monotonic() - begun < 60


@EACH
def test_a_server_that_is_not_there_is_an_error(server: Server, opened: Opened) -> None:
    server.close()

    assert "does not answer" in problem_of(opened(server))


# What is missing


def test_without_an_endpoint_the_error_says_which_commands_to_run() -> None:
    problem = problem_of(EndpointReviewer(ModelSettings(), {}))

    assert "`prowess config set skills.model.endpoint" in problem


@pytest.mark.parametrize(
    ("named", "variable"),
    [("anthropic:claude-sonnet-5", "ANTHROPIC_API_KEY"), ("openai:gpt-5", "OPENAI_API_KEY")],
)
def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch, named: str, variable: str) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    problem = problem_of(ProviderReviewer(named))

    assert problem.startswith(f"{named}: needs a key")
    assert variable in problem


@each_row("named", ["", "gpt-5", ":gpt-5", "anthropic:", "test"])
def test_a_name_without_a_provider_is_an_error(named: str) -> None:
    assert "give PROVIDER:NAME" in problem_of(ProviderReviewer(named))


def test_an_unknown_provider_is_an_error() -> None:
    assert "is of no known provider" in problem_of(ProviderReviewer("nobody:nothing"))


@pytest.mark.parametrize(
    ("hidden", "package"),
    [("pydantic_ai", "prowess[agents]"), ("anthropic", "pydantic-ai-slim[anthropic]")],
)
def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, hidden: str, package: str
) -> None:
    for loaded in list(sys.modules):
        if loaded.split(".")[0] == hidden or loaded.endswith("anthropic"):
            monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, hidden, None)

    problem = problem_of(ProviderReviewer("anthropic:claude-sonnet-5"))

    assert f"`pip install '{package}'`" in problem


# Programs


def program(folder: Path, script: str) -> tuple[str, ...]:
    """Return a command that runs a Python script of our own."""
    path = folder / "reviewer"
    path.write_text(f"#!{sys.executable}\nimport os, sys, time\n{script}\n", "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return (str(path), "--key", KEY)


def command(argv: Sequence[str], **more: str) -> CommandReviewer:
    environment = {"PATH": os.environ["PATH"], "API_KEY": KEY, **more}
    return CommandReviewer(ChildProcesses(), argv, environment)


def test_a_program_reads_the_question_and_prints_the_answer(tmp_path: Path) -> None:
    argv = program(tmp_path, "sys.stdout.write(sys.stdin.read().upper())")

    answer = command(argv).ask("Be brief.", "Why \u00e4\U0001f600?\n" + "x" * 200_000, 10.0)

    assert answer.startswith("BE BRIEF.\n\nWHY \u00c4\U0001f600?\nXXX")
    assert answer.endswith("XXX\n")


def test_a_program_runs_in_an_empty_folder_with_the_environment_that_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "secret")
    monkeypatch.chdir(tmp_path)
    argv = program(tmp_path, "print(os.getcwd(), os.listdir(), *sorted(os.environ))")

    said = command(argv, THEIRS="x").ask("", "", 10.0)

    folder, listed, *names = said.split()
    assert listed == "[]"
    assert not Path(folder).exists()
    assert {"API_KEY", "PATH", "PROWESS_SESSION", "THEIRS"} <= set(names)
    assert "OURS" not in names


def test_a_program_is_told_that_it_is_a_review(tmp_path: Path) -> None:
    argv = program(tmp_path, "print(os.environ['PROWESS_SESSION'])")

    sessions = {command(argv).ask("", "", 10.0) for _ in range(2)}

    assert len(sessions) == 2
    assert all(session.startswith("skill-workshop-review-") for session in sessions)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"print('{KEY}'); sys.stderr.write('{KEY}'); sys.exit(3)", "ends with code 3"),
        ("os.kill(os.getpid(), 9)", "ends with code 137"),
        ("", "prints nothing"),
        ("print(' ')", "prints nothing"),
        (f"print('x' * {MOST_REPLY_CHARS})", "prints more than"),
    ],
)
def test_a_program_that_fails_is_an_error_that_repeats_nothing(
    tmp_path: Path, script: str, expected: str
) -> None:
    argv = program(tmp_path, script)

    problem = problem_of(command(argv))

    assert problem.startswith(f"{argv[0]}: {expected}")


def test_what_a_program_says_besides_does_not_count(tmp_path: Path) -> None:
    argv = program(tmp_path, f"sys.stderr.write('x' * {2 * MOST_REPLY_CHARS}); print('yes')")

    assert command(argv).ask("", "Why?", 10.0) == "yes\n"


def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    argv = program(tmp_path, f"open({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)")

    # It needs some of its time to begin: how much depends on what else the machine has to do.
    for seconds in (2.0, 30.0):
        problem = problem_of(command(argv), seconds=seconds)
        if mark.exists():
            break

    assert f"does not end within {seconds:g} s" in problem
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text("utf-8")), 0)


@pytest.mark.parametrize("name", ["no-such-program-at-all", "./reviewer", "/no/such/file"])
def test_a_program_that_is_not_there_is_an_error(name: str) -> None:
    problem = problem_of(command([name]))

    assert problem.startswith(f"{name}: ")
    assert problem.endswith((": install it, or give its path.", ": give the path of a program."))


# What was chosen


def test_a_command_goes_before_a_model_and_a_model_before_the_endpoint() -> None:
    endpoint = ModelSettings(endpoint="http://127.0.0.1:9/v1", name="m")
    choices = [
        ReviewerChoice(command=("cat",), model="anthropic:m", endpoint=endpoint),
        ReviewerChoice(model="anthropic:m", endpoint=endpoint),
        ReviewerChoice(endpoint=endpoint),
    ]

    opened = [type(open_reviewer(choice, {}, ChildProcesses())) for choice in choices]

    assert opened == [CommandReviewer, ProviderReviewer, EndpointReviewer]


# Whole reviews


class Kept:
    """Counters in memory."""

    def __init__(self) -> None:
        self.counters = Counters()

    def load(self, _workspace: str) -> Counters:
        return self.counters

    def save(self, _workspace: str, counters: Counters) -> None:
        self.counters = counters


def review(reviewer: ReviewModel, timeout_ms: int = 20_000) -> TurnReviewOutcome:
    settings = WorkshopSettings(
        selected=True, review_mode=ReviewMode.LLM, review_timeout_ms=timeout_ms
    )
    tools = ReviewPorts(
        settings=lambda: settings,
        counters=Kept(),
        reviewer=reviewer,
        nearest=lambda _text, _limit: [("release-notes", "# Release Notes\n\n## Workflow\n")],
        now=time.time,
        nonce=lambda: secrets.token_hex(16),
    )
    turn = ObservedTurn(lines=[("user", f"Next time sort them. My key is {KEY}.")])
    return TurnReviewer(tools, "/work").observe(turn, hit=True)


@KINDS
def test_a_review_by_a_server_leads_to_a_suggestion(
    server: Server, opened: Opened, wrap: Wrap
) -> None:
    server.answer = body(200, wrap(f"Here it is:\n```json\n{REPLY}\n```"))

    outcome = review(opened(server))

    assert outcome.status is TurnReviewStatus.FOUND
    assert outcome.suggestion is not None
    assert outcome.suggestion.skill == "release-notes"
    assert isinstance(outcome.suggestion.edit, Append)
    assert KEY not in json.dumps(server.requests[0][2])
    assert "Next time sort them." in json.dumps(server.requests[0][2])


@EACH
def test_a_review_by_a_server_that_drips_ends_in_time(server: Server, opened: Opened) -> None:
    server.answer = server.drip
    begun = time.monotonic()

    outcome = review(opened(server), timeout_ms=600)

    assert outcome.status is TurnReviewStatus.FAILED
    assert outcome.note.startswith("reviewer skipped: ")
    assert time.monotonic() - begun < 60


def test_a_review_by_a_program_leads_to_a_suggestion(tmp_path: Path) -> None:
    argv = program(tmp_path, f"sys.stdin.read(); print({REPLY!r})")

    outcome = review(command(argv))

    assert outcome.status is TurnReviewStatus.FOUND


def test_a_review_by_a_program_that_prints_html_is_skipped(tmp_path: Path) -> None:
    outcome = review(command(program(tmp_path, "print('<html>')")))

    assert outcome.log_line == ("skill-workshop: reviewer skipped: the reply holds no JSON object")
