"""The socket between hooks and a gateway: private, bounded, and never the reason to wait."""

import socket
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from tests.rows import each_row

from prowess.host.harness import hook_socket
from prowess.host.harness.hook_client import FILE_NAME, request, state_folder
from prowess.host.harness.hook_client import ask as ask_in_time
from prowess.host.harness.hook_socket import Answer, HookQuestion, HookSocket
from prowess.wiring import find_folders

# An agent waits for a moment only; a test waits for as long as a busy machine takes.
PATIENCE_S = 60
ask = partial(ask_in_time, seconds=PATIENCE_S)
FINE = '{"additionalContext": "gr\\u00f6\\u00dfe"}'


@pytest.fixture
def state() -> Iterator[Path]:
    # The name of a socket may have about a hundred characters, and pytest's folders have more.
    with tempfile.TemporaryDirectory(prefix="ph") as folder:
        yield Path(folder) / "s"


@contextmanager
def _serving(state: Path, answer: Answer) -> Iterator[None]:
    server = HookSocket(str(state), answer)
    assert server.start()
    try:
        yield
    finally:
        server.close()


def _say(state: Path, sent: bytes) -> bytes:
    """Send anything and return what comes back."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(PATIENCE_S)
        line.connect(str(state / FILE_NAME))
        line.sendall(sent)
        line.shutdown(socket.SHUT_WR)
        return line.recv(1 << 16)


def test_a_hook_is_answered_with_what_it_sent(state: Path) -> None:
    heard: list[HookQuestion] = []

    def answer(asked: HookQuestion) -> str:
        heard.append(asked)
        return FINE

    with _serving(state, answer):
        environ = {"CURSOR_VERSION": "3", "MY_SECRET": "hidden"}
        said = ask(str(state), b'{"a": 1}', environ, "/a folder\udcff")

    assert said == FINE.encode()
    assert heard == [HookQuestion({"CURSOR_VERSION": "3"}, "/a folder\udcff", b'{"a": 1}')]


def test_an_empty_answer_is_one(state: Path) -> None:
    with _serving(state, lambda _asked: ""):
        assert ask(str(state), b"{}", {}, "/") == b""


def test_a_large_payload_and_a_large_answer_arrive_whole(state: Path) -> None:
    with _serving(state, lambda asked: "{" + asked.raw.decode() * 3):
        said = ask(str(state), b"x" * (1 << 20), {}, "/")

    assert said == b"{" + b"x" * (3 << 20)


def test_whoever_is_sent_away_hears_nothing(state: Path) -> None:
    with _serving(state, lambda _asked: None):
        assert ask(str(state), b"{}", {}, "/") is None


def test_an_answer_that_fails_is_none_and_ends_nothing(state: Path) -> None:
    def answer(asked: HookQuestion) -> str:
        if asked.raw == b"bad":
            raise RuntimeError("broken")
        return FINE

    with _serving(state, answer):
        assert ask(str(state), b"bad", {}, "/") is None
        assert ask(str(state), b"good", {}, "/") == FINE.encode()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"prowess-hook-1 1 1\n",
        b"prowess-hook-1 -1 0 0\n",
        b"prowess-hook-1 0 0 99999999999\n",
        b"prowess-hook-1 0 0 \xb2\n",
        b"prowess-hook-1 0 1 100\n/short",
        b"prowess-hook-1 " + b"9" * 10_000,
    ],
)
def test_what_is_no_request_is_left_without_an_answer(state: Path, sent: bytes) -> None:
    with _serving(state, lambda _asked: FINE):
        try:
            heard = _say(state, sent)
        except (BrokenPipeError, ConnectionResetError):
            heard = b""

        assert heard == b""
        assert ask(str(state), b"{}", {}, "/") == FINE.encode()


def test_a_gateway_that_does_not_answer_in_time_is_given_up(state: Path) -> None:
    over = threading.Event()

    def answer(_asked: HookQuestion) -> str:
        over.wait(PATIENCE_S)
        return "late"

    with _serving(state, answer):
        assert ask(str(state), b"{}", {}, "/", seconds=0.05) is None
        over.set()


def test_more_callers_than_can_be_served_are_sent_away(state: Path) -> None:
    over, begun = threading.Event(), threading.Semaphore(0)

    def answer(_asked: HookQuestion) -> str:
        begun.release()
        over.wait(PATIENCE_S)
        return "late"

    with _serving(state, answer):
        callers = [
            threading.Thread(target=ask, args=(str(state), b"{}", {}, "/")) for _ in range(8)
        ]
        for caller in callers:
            caller.start()
        for _ in callers:
            begun.acquire()

        assert ask(str(state), b"{}", {}, "/") is None
        over.set()
        for caller in callers:
            caller.join()


def test_the_socket_is_private_and_goes_with_its_server(state: Path) -> None:
    with _serving(state, lambda _asked: ""):
        assert stat.S_IMODE((state / FILE_NAME).stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR
        assert [path.name for path in state.iterdir()] == [FILE_NAME]

    assert not list(state.iterdir())
    assert ask(str(state), b"{}", {}, "/") is None


def test_the_socket_of_a_gateway_that_was_killed_is_taken_over(state: Path) -> None:
    state.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(state / FILE_NAME))
    assert ask(str(state), b"{}", {}, "/") is None

    with _serving(state, lambda _asked: FINE):
        assert ask(str(state), b"{}", {}, "/") == FINE.encode()


def test_a_file_or_a_link_in_its_place_is_not_asked(state: Path) -> None:
    with _serving(state, lambda _asked: FINE):
        other = state.parent / "other"
        other.mkdir()
        (other / FILE_NAME).symlink_to(state / FILE_NAME)
        assert ask(str(other), b"{}", {}, "/") is None
    (state / FILE_NAME).write_text("")
    assert ask(str(state), b"{}", {}, "/") is None


def test_a_folder_whose_name_is_too_long_for_a_socket_has_none(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120)
    server = HookSocket(str(deep), lambda _asked: "")

    assert not server.start()
    server.close()

    assert ask(str(deep), b"{}", {}, "/") is None


@contextmanager
def _squatting(state: Path, sent: Iterator[bytes]) -> Iterator[None]:
    """Something that listens in the place of a gateway, and sends what it likes to one caller."""
    state.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.bind(str(state / FILE_NAME))
        line.listen()

        def send() -> None:
            caller, _ = line.accept()
            with caller, suppress(OSError):
                caller.recv(1 << 16)
                for part in sent:
                    caller.sendall(part)

        thread = threading.Thread(target=send)
        thread.start()
        yield
        thread.join()


@pytest.mark.parametrize(
    "sent",
    [
        b'answer\n{"hook',
        b"answer\nsome words for the agent\0",
        b'answer\n{"a": "\xc3\xa4"}\0',
        b'answer\n{"a": "\xff"}\0',
        b"\0" * 1_000,
    ],
)
def test_what_is_no_whole_answer_of_a_gateway_is_none(state: Path, sent: bytes) -> None:
    with _squatting(state, iter([sent])):
        assert ask(str(state), b"{}", {}, "/") is None


def test_an_answer_that_comes_byte_by_byte_is_given_up_in_time(state: Path) -> None:
    over = threading.Event()

    def trickled() -> Iterator[bytes]:
        yield b"answer\n"
        while not over.wait(0.02):
            yield b"{"

    with _squatting(state, trickled()):
        assert ask(str(state), b"{}", {}, "/", seconds=0.1) is None
        over.set()


def test_an_answer_without_an_end_is_given_up(state: Path) -> None:
    def endless() -> Iterator[bytes]:
        yield b"answer\n"
        while True:
            yield b"{" * (1 << 16)

    with _squatting(state, endless()):
        assert ask(str(state), b"{}", {}, "/") is None


def test_a_request_without_a_payload_only_asks_whether_somebody_is_there(state: Path) -> None:
    with _serving(state, lambda _asked: FINE):
        assert ask(str(state), b"", {}, "") == b""


def test_callers_in_a_burst_are_all_answered(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_socket, "_WAIT_S", PATIENCE_S)
    said: list[bytes | None] = []

    def call() -> None:
        said.append(ask(str(state), b"{}", {}, "/"))

    with _serving(state, lambda _asked: FINE):
        callers = [threading.Thread(target=call) for _ in range(50)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()

    assert said == [FINE.encode()] * 50


def test_whoever_sends_byte_by_byte_does_not_keep_a_place(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_socket, "_SECONDS", 0.1)
    with _serving(state, lambda _asked: FINE), socket.socket(socket.AF_UNIX) as slow:
        slow.settimeout(PATIENCE_S)
        slow.connect(str(state / FILE_NAME))
        slow.sendall(b"prowess-hook-1 0 0 9999\n")

        assert slow.recv(1) == b""


@each_row("given", ["", "~/other", "~", "relative/state", "/abs/./state/../s"])
def test_the_fast_lane_finds_the_state_folder_of_everything_else(given: str) -> None:
    environ = {"HOME": "/home/me", **({"PROWESS_HOME": given} if given else {})}

    found = state_folder(environ, "/work")

    assert found == find_folders(environ, None, "/work").state


def test_only_the_variables_that_tell_callers_apart_are_sent() -> None:
    sent = request(b"{}", {"API_KEY": "secret", "GEMINI_CWD": "/w"}, "/w")

    assert b"secret" not in sent
    assert b"GEMINI_CWD=/w" in sent
