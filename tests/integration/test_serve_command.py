"""`prowess serve` as people start, refuse and stop it: real processes, real signals."""

import fcntl
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.integration.gateway_world import Peer, World, connect_params
from tests.integration.house_world import House

from prowess.cli.main import main
from prowess.errors import GatewayBusyError, GatewayStartError, PathError
from prowess.gateway.calls import Json
from prowess.gateway.hub import Hub
from prowess.host.files.state_files import FILE_NAME, only_instance
from prowess.wiring.events import News
from prowess.wiring.serve import TOKEN_VARIABLE, ServeRequest, open_gateway, serve

SECRET = "wombat-4c1f9e7702"  # noqa: S105 - of processes that live for a test


class Running:
    """A process that serves."""

    def __init__(self, process: "subprocess.Popen[str]", first: str) -> None:
        self.process, self.first = process, first
        found = json.loads(first)["address"] if first[0] == "{" else first.split()[3]
        self.address = str(found)
        self.port = int(self.address.rpartition(":")[2])
        self.world = World(Hub(), self.port)

    def end(self, number: int) -> tuple[int, str, str]:
        """Send a signal, and return the exit code and all that was said."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, self.first + out, err


@contextmanager
def _serving(house: House, *words: str, **environ: str) -> Iterator[Running]:
    variables = {"PATH": os.environ["PATH"], "HOME": str(house.home)}
    process = subprocess.Popen(
        [sys.executable, "-m", "prowess", "serve", "--port", "0", *words],
        env={**variables, "PROWESS_HOME": str(house.state), **environ},
        cwd=house.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        while first and first[0] != "{" and "Ctrl-C" not in first:
            line = process.stdout.readline()
            assert line, process.communicate()
            first += line
        assert first, process.communicate()
        yield Running(process, first)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    place = House(tmp_path)
    place.skill("alpha")
    place.configure()
    monkeypatch.setenv("PROWESS_HOME", str(place.state))
    monkeypatch.setenv("HOME", str(place.home))
    monkeypatch.chdir(place.work)
    return place


def _rpc(port: int, method: str, params: Json, token: str = "") -> tuple[int, Json]:
    frame = json.dumps({"type": "req", "id": "s", "method": method, "params": params})
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    line.request("POST", "/rpc", frame, headers)
    answer = line.getresponse()
    found: Json = json.loads(answer.read())
    line.close()
    return answer.status, found


def test_it_says_where_it_is_and_tells_its_clients_before_it_goes(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    with _serving(house) as running, Peer(running.world) as peer:
        assert peer.call("connect", connect_params(auth=None))["ok"]
        second = main(["serve", "--port", "0"])
        refusal = capsys.readouterr().err
        running.process.send_signal(signal.SIGTERM)
        close, reason, said = peer.end()
        out, err = running.process.communicate(timeout=60)
        code, out = running.process.returncode, running.first + out

    assert code == 0
    assert said[-1]["event"] == "shutdown"
    assert (close, reason) == (1012, said[-1]["payload"]["reason"])
    assert out.startswith(f"Prowess gateway at http://127.0.0.1:{running.port}\n")
    assert f"ws://127.0.0.1:{running.port}/ws" in out
    assert "skills ready for agent main" in out
    assert "No token" in out
    assert out.endswith("stopped.\n")
    assert all(" info    " in line for line in err.splitlines()), err
    assert second == 1
    assert f"another gateway at {running.address} uses {house.state}" in refusal


def test_json_is_one_line_and_an_interrupt_is_a_good_end(house: House) -> None:
    house.configure(gateway={"auth": {"token": SECRET}})

    with _serving(house, "--json", CANARY_VARIABLE=SECRET) as running:
        refused, _ = _rpc(running.port, "health", {})
        status, answer = _rpc(running.port, "health", {}, SECRET)
        code, out, err = running.end(signal.SIGINT)

    said = json.loads(out)
    assert code == 0
    assert said["address"] == f"http://127.0.0.1:{running.port}"
    assert (said["token"], said["skills"] > 0) == (True, True)
    assert (refused, status, answer["ok"]) == (401, 200, True)
    assert all(" info    " in line for line in err.splitlines()), err
    assert SECRET not in out


def test_no_write_is_cut_by_a_signal(house: House) -> None:
    raw = json.dumps({**house.config(), "meta": {"long": "x" * 100_000}})

    with _serving(house, "--json") as running:
        base = _rpc(running.port, "config.get", {})[1]["payload"]["hash"]
        frame = {"type": "req", "id": "s", "method": "config.set",
                 "params": {"raw": raw, "baseHash": base}}  # fmt: skip
        line = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
        line.request("POST", "/rpc", json.dumps(frame), {"Content-Type": "application/json"})
        running.process.send_signal(signal.SIGTERM)
        answer: Json = {"ok": False, "error": {"code": "UNAVAILABLE"}}
        # Whoever the door closes upon gets no answer; then nothing may have been written.
        with suppress(ConnectionError):
            answer = json.loads(line.getresponse().read())
        line.close()
        code = running.process.wait(60)

    assert code == 0
    assert answer["ok"] == (house.config() == json.loads(raw))
    assert answer["ok"] or answer["error"]["code"] == "UNAVAILABLE"
    assert not list(house.state.glob("*.tmp"))


def test_a_banner_that_nobody_reads_stops_nothing(house: House) -> None:
    lock = house.state / FILE_NAME
    process = subprocess.Popen(
        [sys.executable, "-m", "prowess", "serve", "--port", "0"],
        env={**os.environ, "PROWESS_HOME": str(house.state)},
        cwd=house.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    try:
        # It says where it listens to nobody but to whoever is refused for its sake.
        while not (lock.exists() and lock.read_text().endswith("\n")):
            assert process.poll() is None
            select.select([], [], [], 0.05)
        port = int(json.loads(lock.read_text())["address"].rpartition(":")[2])
        status, _ = _rpc(port, "health", {})
        process.terminate()
        assert (status, process.wait(60)) == (200, 0)
    finally:
        process.kill()
        process.stdout = None
        process.communicate()


# What is refused before anything listens.


def test_a_port_in_use_is_refused_with_what_to_do(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        code = main(["serve", "--port", str(port)])

    said = capsys.readouterr().err
    assert code == 1
    assert f"127.0.0.1:{port} is in use" in said
    assert "--port" in said
    # The lock is given back with everything else.
    with only_instance(str(house.state)):
        pass


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])  # noqa: S104 - it is refused
@pytest.mark.usefixtures("house")
def test_other_machines_are_not_served_without_a_token(
    host: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)

    code = main(["serve", "--host", host, "--port", "0", "--json"])

    error = json.loads(capsys.readouterr().out)["error"]
    assert code == 1
    assert error["code"] == "gateway.start"
    assert "--token" in error["message"]
    assert TOKEN_VARIABLE in error["message"]


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--port", "70000"], "70000"), (["--port", "x"], "x"), (["--prot", "1"], "--prot")],
)
@pytest.mark.usefixtures("house")
def test_words_that_make_no_sense_are_usage_errors(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("house")
def test_an_address_of_another_machine_cannot_be_used(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["serve", "--host", "192.0.2.1", "--port", "0", "--token", SECRET])

    said = capsys.readouterr().err
    assert code == 1
    assert "192.0.2.1:0 cannot be used" in said
    assert SECRET not in said


def test_a_config_that_is_broken_is_said(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.config_file.write_text("{")

    assert main(["serve", "--port", "0"]) == 1
    assert "is not JSON5" in capsys.readouterr().err


def test_help_has_an_example_and_hides_no_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--help"]) == 0

    said = capsys.readouterr().out
    assert "Example: prowess serve --port 0" in said
    for option in ("--host", "--port", "--token", "--open", "--json", "--workspace"):
        assert option in said


# Where the token comes from.


def _token(house: House, given: str = "", variable: str = "", configured: object = None) -> str:
    house.configure(gateway={"auth": {"token": configured}} if configured is not None else {})
    request = ServeRequest(port=0, token=given, workspace=str(house.work))
    environ = {"HOME": str(house.home), TOKEN_VARIABLE: variable}
    gateway = open_gateway(request, home=str(house.state), environ=environ)
    gateway.close()
    return gateway.options.token


def test_the_token_is_that_of_the_option_else_of_the_variable_else_of_the_config(
    house: House,
) -> None:
    assert _token(house, "a", "b", "c") == "a"
    assert _token(house, "", "b ", "c") == "b"
    assert _token(house, "", "", " c") == "c"
    assert _token(house) == ""


@pytest.mark.parametrize(
    "configured", ["$NAME", "${NAME}", {"source": "env", "name": "NAME"}, 5, [], {}]
)
def test_a_token_that_cannot_be_read_does_not_leave_the_door_open(
    house: House, configured: object
) -> None:
    with pytest.raises(GatewayStartError, match=r"gateway\.auth\.token") as refused:
        _token(house, configured=configured)

    assert TOKEN_VARIABLE in str(refused.value)
    assert _token(house, "given", configured=configured) == "given"


@pytest.mark.parametrize(
    ("gateway", "key"),
    [
        ("hunter2", "gateway"),
        ({"auth": "hunter2"}, "gateway.auth"),
        ({"auth": ["hunter2"]}, "gateway.auth"),
        ({"token": "hunter2"}, "gateway.token"),
        ({"password": "hunter2"}, "gateway.password"),
        ({"auth": {"token": "  "}}, "gateway.auth.token"),
        ({"auth": {"password": ""}}, "gateway.auth.password"),
        ({"auth": {"mode": "token"}}, "gateway.auth.mode"),
        ({"auth": {"mode": "token", "password": "hunter2"}}, "gateway.auth.mode"),
        ({"auth": {"mode": "password", "token": "hunter2"}}, "gateway.auth.mode"),
        ({"auth": {"mode": "hunter2"}}, "gateway.auth.mode"),
        ({"auth": {"mode": ["token"]}}, "gateway.auth.mode"),
        ({"auth": {"token": "hunter2\u00e9"}}, "gateway.auth.token"),
        ({"auth": {"token": "hunter2" * 586}}, "gateway.auth.token"),
    ],
)
def test_a_config_that_asks_for_a_token_in_the_wrong_way_starts_nothing(
    house: House, gateway: object, key: str
) -> None:
    house.configure(gateway=gateway)
    request = ServeRequest(port=0, workspace=str(house.work))

    with pytest.raises(GatewayStartError) as refused:
        open_gateway(request, home=str(house.state), environ={"HOME": str(house.home)})

    assert str(refused.value).startswith(f"{key} in ")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("given", ["   ", "\t", "p\u00e4ss", "a\0b", "a" * 4_097])
def test_a_token_that_nobody_could_send_starts_nothing(house: House, given: str) -> None:
    with pytest.raises(GatewayStartError, match=r"^--token (is blank|cannot be sent)"):
        _token(house, given, "b", "c")
    with pytest.raises(GatewayStartError, match=f"^{TOKEN_VARIABLE} (is blank|cannot be sent)"):
        _token(house, "", given, "c")

    assert _token(house, "a" * 4_096) == "a" * 4_096


def test_a_config_that_asks_for_nothing_opens_the_door_of_this_machine(house: House) -> None:
    for gateway in ({}, None, {"auth": None}, {"auth": {"mode": "none"}}, {"reload": {"mode": 1}}):
        house.configure(gateway=gateway)
        request = ServeRequest(port=0, workspace=str(house.work))
        found = open_gateway(request, home=str(house.state), environ={"HOME": str(house.home)})
        found.close()

        assert (found.options.token, found.options.password) == ("", "")


def test_an_interrupt_during_the_start_leaves_nothing_behind(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[str] = []

    def interrupted(_news: News) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("PROWESS_HOME", str(house.state))
    monkeypatch.setattr(News, "start", interrupted)
    monkeypatch.setattr(News, "stop", lambda _news: stopped.append("news"))
    with pytest.raises(KeyboardInterrupt):
        serve(ServeRequest(port=0, workspace=str(house.work)), lambda *_: None)

    assert stopped == ["news"]
    with only_instance(str(house.state)):
        pass


def test_a_password_of_the_config_closes_the_door_too(house: House) -> None:
    house.configure(gateway={"auth": {"password": "p"}})
    request = ServeRequest(host="0.0.0.0", port=0)  # noqa: S104 - nothing listens

    gateway = open_gateway(request, home=str(house.state), environ={"HOME": str(house.home)})

    assert (gateway.options.token, gateway.options.password) == ("", "p")
    assert "'p'" not in repr(gateway.options)


# One gateway for each state folder.


def test_the_lock_says_who_holds_it_and_forgets_who_held_it(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    with only_instance(state) as first:
        first.note("http://127.0.0.1:1")
        with pytest.raises(GatewayBusyError, match=r"http://127\.0\.0\.1:1"), only_instance(state):
            pass
    with only_instance(state):
        with pytest.raises(GatewayBusyError) as refused, only_instance(state):
            pass

        assert refused.value.address == ""


@pytest.mark.parametrize("text", ["", "[" * 4000, "\xff", '{"address": 5}', "[]", "nothing"])
def test_a_lock_file_that_says_nonsense_refuses_all_the_same(tmp_path: Path, text: str) -> None:
    with only_instance(str(tmp_path)):
        (tmp_path / FILE_NAME).write_text(text, encoding="latin-1")

        with (
            pytest.raises(GatewayBusyError, match="another gateway uses"),
            only_instance(str(tmp_path)),
        ):
            pass


def test_a_folder_that_cannot_be_locked_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(PathError, match="cannot be written"),
        only_instance(str(tmp_path / "file" / "state")),
    ):
        pass

    def refuse(*_args: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(PathError, match="No locks"), only_instance(str(tmp_path)):
        pass


def test_the_lock_is_for_its_owner_alone(tmp_path: Path) -> None:
    with only_instance(str(tmp_path / "state")):
        assert (tmp_path / "state").stat().st_mode & 0o77 == 0
        assert (tmp_path / "state" / FILE_NAME).stat().st_mode & 0o77 == 0


def test_a_lock_file_that_somebody_else_placed_is_refused_and_left_alone(tmp_path: Path) -> None:
    precious, state = tmp_path / "precious", tmp_path / "state"
    precious.write_text("precious")
    state.mkdir()
    lock = state / FILE_NAME

    def refused() -> str:
        with pytest.raises(PathError) as caught, only_instance(str(state)):
            pass
        lock.unlink()
        return str(caught.value)

    lock.symlink_to(precious)
    through_link = refused()
    lock.hardlink_to(precious)
    under_two_names = refused()
    os.mkfifo(lock)
    pipe = refused()

    assert "cannot be written" in through_link
    assert "no regular file of yours" in under_two_names
    assert "no regular file of yours" in pipe
    assert precious.read_text() == "precious"
