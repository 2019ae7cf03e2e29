"""A language model behind a real server on this machine."""

import json
import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.rows import each_row

from prowess.errors import ModelError
from prowess.host.models.endpoint import EndpointModel, open_model
from prowess.settings import ModelSettings

KEY = "sk-do-not-show-this"
Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """Answers as it is told, and remembers what it was asked."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.answers: list[Answer] = []
        self.over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append((self.path, dict(self.headers), asked))
                server.answers.pop(0)(self)

            # The base class decides the names of the parameters.
            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        return Handler

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def reply(status: int, body: str, headers: dict[str, str] | None = None) -> Answer:
    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body.encode())))
        handler.end_headers()
        handler.wfile.write(body.encode())

    return send


def said(content: object) -> Answer:
    return reply(200, json.dumps({"choices": [{"message": {"content": content}}]}))


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    opened = Server()
    yield opened
    opened.close()


def ask(server: Server, *, key: str = "", timeout_s: float = 10.0) -> EndpointModel:
    return EndpointModel(server.url, name="m", key=key, timeout_s=timeout_s, pause_s=0)


def problem_of(model: EndpointModel) -> str:
    with pytest.raises(ModelError) as caught:
        model.complete("Be brief.", "Why?")
    return str(caught.value)


def test_a_model_is_asked_with_instructions_and_question(server: Server) -> None:
    server.answers = [said("  Because.\n")]

    answer = ask(server).complete("Be brief.", "Why \ud83d?")

    path, headers, asked = server.requests[0]
    assert answer == "Because."
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers
    assert asked == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Why ??"},
        ],
        "temperature": 0,
    }


@pytest.mark.parametrize("passing", [reply(429, ""), reply(503, KEY), hang_up])
def test_what_may_pass_is_tried_once_more(server: Server, passing: Answer) -> None:
    server.answers = [passing, said("Because."), passing, passing]
    model = ask(server)

    answer, problem = model.complete("", ""), problem_of(model)

    assert answer == "Because."
    assert problem.startswith("127.0.0.1/v1: ")
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "check the model's name (`skills.model.name`)"),
        (401, "check the variable that `skills.model.keyEnv` names"),
        (403, "check the variable that `skills.model.keyEnv` names"),
        (404, "check `skills.model.endpoint` and `skills.model.name`"),
    ],
)
def test_a_refusal_is_not_repeated_and_says_what_to_do(
    server: Server, status: int, advice: str
) -> None:
    server.answers = [reply(status, f"what about {KEY}?")]

    problem = problem_of(ask(server, key=KEY))

    assert problem.endswith(f"{advice} (HTTP {status}).")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        reply(200, ""),
        reply(200, "<html>"),
        reply(200, "null"),
        reply(200, "[" * 100_000),
        reply(200, '{"choices": []}'),
        reply(200, '{"choices": [{"message": null}]}'),
        reply(200, '{"choices": {"0": 1}}'),
        said(None),
        said(["Because."]),
        said(" \n"),
    ],
)
def test_an_answer_without_a_text_is_an_error(server: Server, answer: Answer) -> None:
    server.answers = [answer]

    assert "does not answer with a text" in problem_of(ask(server))


def test_an_answer_without_an_end_is_given_up(server: Server) -> None:
    server.answers = [reply(200, "x" * 5_000_000)]

    assert "without an end: check `skills.model.endpoint`" in problem_of(ask(server))


def test_a_model_that_never_answers_is_given_up(server: Server) -> None:
    def wait(_handler: BaseHTTPRequestHandler) -> None:
        assert server.over.wait(100)

    server.answers = [wait]

    assert "does not answer" in problem_of(ask(server, timeout_s=0.2))


def test_a_redirect_carries_the_key_nowhere(server: Server) -> None:
    other = Server()
    server.answers = [reply(307, "", {"Location": f"{other.url}/chat/completions"})]

    problem = problem_of(ask(server, key=KEY))
    other.close()

    assert "redirect" in problem
    assert other.requests == []


def test_the_key_goes_to_the_endpoint_and_is_never_shown(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    model = ask(server, key=KEY)
    shown = [repr(model)]

    for answer in (reply(401, KEY), reply(500, KEY), reply(200, KEY), said([KEY]), hang_up):
        server.answers = [answer, answer]
        with pytest.raises(ModelError) as caught:
            model.complete("", "")
        shown += traceback.format_exception(caught.value)

    assert {headers["Authorization"] for _, headers, _ in server.requests} == {f"Bearer {KEY}"}
    assert KEY not in "\n".join([*shown, caplog.text])


# What the settings choose


def test_the_settings_name_endpoint_model_and_key(server: Server) -> None:
    server.answers = [said("Because.")]
    settings = ModelSettings(endpoint=server.url, name="mine", key_env="MY_KEY")

    model = open_model(settings, {"MY_KEY": f" {KEY}\n"})
    answer = model.complete("", "")

    assert (model.name, answer) == ("mine", "Because.")
    assert server.requests[0][1]["Authorization"] == f"Bearer {KEY}"
    assert server.requests[0][2]["model"] == "mine"


@pytest.mark.parametrize("endpoint", ["", "none"])
def test_without_a_model_the_error_says_which_commands_to_run(endpoint: str) -> None:
    with pytest.raises(ModelError) as caught:
        open_model(ModelSettings(endpoint=endpoint), {})

    for command in (
        "`prowess config set skills.model.endpoint http://127.0.0.1:11434/v1`",
        "`prowess config set skills.model.name llama3.2`",
        "`prowess config set skills.model.keyEnv NAME_OF_A_VARIABLE`",
    ):
        assert command in str(caught.value)


@each_row(
    ("settings", "environ", "problem"),
    [
        (ModelSettings(endpoint="http://h/v1"), {}, "config set skills.model.name NAME"),
        (
            ModelSettings(endpoint="http://h/v1", name="m", key_env="MY_KEY"),
            {"MY_KEY": " "},
            "set the environment variable MY_KEY",
        ),
        (ModelSettings(endpoint="file:///etc", name="m"), {}, "check `skills.model.endpoint`"),
        (ModelSettings(endpoint="h:1", name="m"), {}, "no http or https address"),
        (
            ModelSettings(endpoint=f"http://me:{KEY}@h/v1?k={KEY}", name="m"),
            {},
            "name a variable in `skills.model.keyEnv` instead",
        ),
        (
            ModelSettings(endpoint="http://h/v1", name="m", key_env="MY_KEY"),
            {"MY_KEY": f"{KEY} {KEY}"},
            "cannot be sent its key",
        ),
    ],
)
def test_a_choice_that_cannot_be_used_is_an_error(
    settings: ModelSettings, environ: dict[str, str], problem: str
) -> None:
    with pytest.raises(ModelError) as caught:
        open_model(settings, environ)

    assert problem in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))
