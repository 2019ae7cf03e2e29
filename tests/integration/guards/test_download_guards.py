"""Attacks by way of downloads, against real servers: each is first shown to work, then refused."""

import hashlib
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from prowess.errors import DownloadError
from prowess.host.downloads import Bounds, Download, PublicHttps, download
from prowess.safety.web_addresses import WebAddress

BODY = b"the file " * 1000
SHA256 = hashlib.sha256(BODY).hexdigest()
HOST = "files.example.invalid"
Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """Answers each path as it is told, and remembers what it was asked."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def url(self, path: str = "/file", host: str = HOST, scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append((self.path, dict(self.headers)))
                try:
                    server.answers[self.path.partition("?")[0]](self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            # The base class decides the names of the parameters.
            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        return Handler

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Local(PublicHttps):
    """Admits this machine's test server by the names it was given; all other rules stay."""

    schemes = ("http", "https")

    def __init__(
        self, names: Mapping[str, Sequence[str]] | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(tls)
        self.names = {HOST: ["127.0.0.1"]} if names is None else names
        self.looked_up: list[str] = []
        self.connected: list[str] = []

    def resolve(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        if host not in self.names:
            raise socket.gaierror(port)
        return self.names[host]

    def problem(self, address: str) -> str:
        return "" if address == "127.0.0.1" else super().problem(address)

    def connect(self, address: WebAddress, numeric: str, seconds: float) -> socket.socket:
        self.connected.append(numeric)
        return super().connect(address, numeric, seconds)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    opened = Server()
    yield opened
    opened.close()


def reply(body: bytes, status: int = 200, **headers: str) -> Answer:
    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in ({"Content-Length": str(len(body))} | given).items():
            if value:
                handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return send


def redirect(location: str, status: int = 302) -> Answer:
    return reply(b"", status, Location=location)


def fetch(url: str, folder: Path, bounds: Bounds | None = None, *, by: PublicHttps) -> Download:
    return download(url, str(folder), bounds or Bounds(seconds=20), transport=by)


def refusal(url: str, folder: Path, bounds: Bounds | None = None, *, by: PublicHttps) -> str:
    """Return why a download is refused, having seen that nothing of it stays."""
    with pytest.raises(DownloadError) as caught:
        fetch(url, folder, bounds, by=by)
    assert list(folder.iterdir()) == []
    return str(caught.value)


def careless(url: str) -> bytes:
    """Fetch as most programs do."""
    # The attack is the point of the test.
    with urllib.request.urlopen(url, timeout=20) as response:  # noqa: S310
        body: bytes = response.read()
    return body


def test_a_file_arrives_whole_private_and_checked(server: Server, tmp_path: Path) -> None:
    server.answers["/file"] = reply(BODY)
    seen: list[tuple[int, int | None]] = []

    made = download(
        server.url("/file?sig=1"),
        str(tmp_path),
        Bounds(sha256=SHA256.upper(), seconds=20),
        transport=Local(),
        progress=lambda size, announced: seen.append((size, announced)),
    )

    assert Path(made.path).read_bytes() == BODY
    assert Path(made.path).parent == tmp_path
    assert Path(made.path).stat().st_mode & 0o077 == 0
    assert (made.sha256, made.size, made.final_url) == (
        SHA256,
        len(BODY),
        server.url("/file?sig=1"),
    )
    assert "sig" not in repr(made)
    assert seen[-1] == (len(BODY), len(BODY))


def test_nothing_of_this_machine_goes_along(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text(f"machine {HOST} login me password opensesame\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("http_proxy", "http://203.0.113.9:1")
    monkeypatch.setenv("https_proxy", "http://203.0.113.9:1")
    monkeypatch.delenv("no_proxy")
    server.answers["/file"] = reply(BODY)
    folder = tmp_path / "in"
    folder.mkdir()
    assert urllib.request.getproxies()["http"] == "http://203.0.113.9:1"

    fetch(server.url(), folder, by=Local())

    assert server.asked[0][1] == {
        "Host": f"{HOST}:{server.port}",
        "User-Agent": "prowess",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }


def test_g32_a_download_over_http_is_refused(server: Server, tmp_path: Path) -> None:
    server.answers["/file"] = reply(b"changed on the way")
    assert careless(server.url(host="127.0.0.1")) == b"changed on the way"
    asked = len(server.asked)

    assert "is not https" in refusal(server.url(), tmp_path, by=PublicHttps())
    assert len(server.asked) == asked


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_g32_a_redirect_to_a_private_address_is_refused(
    server: Server, tmp_path: Path, status: int
) -> None:
    inside = Server()
    inside.answers["/secret"] = reply(b"credentials of this machine")
    server.answers["/file"] = redirect(inside.url("/secret", "127.0.0.1"), status)
    try:
        if status != 308:
            assert careless(server.url(host="127.0.0.1")) == b"credentials of this machine"
        inside.asked.clear()

        said = refusal(server.url(), tmp_path, by=Local())
    finally:
        inside.close()
    assert "this machine" in said
    assert inside.asked == []


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://localhost/",
        "https://metadata.google.internal/",
        "file:///etc/passwd",
        "ftp://example.com/x",
        "https://me:opensesame@example.com/",
        "//10.0.0.1/x",
        "https://exam ple.com/",
        "http://[",
        "",
    ],
)
def test_g32_a_redirect_out_of_the_public_web_is_refused(
    server: Server, tmp_path: Path, location: str
) -> None:
    server.answers["/file"] = redirect(location)

    said = refusal(server.url(), tmp_path, by=Local())

    assert "opensesame" not in said
    assert len(server.asked) == 1


def test_g32_a_name_that_resolves_to_the_inside_is_refused(server: Server, tmp_path: Path) -> None:
    server.answers["/file"] = reply(b"credentials of this machine")
    names = {"evil.example.com": ["10.0.0.7"], "mixed.example.com": ["127.0.0.1", "fd00::1"]}
    by = Local(names)

    assert "10.0.0.7" in refusal(server.url(host="evil.example.com"), tmp_path, by=by)
    # One public address among private ones is how a second look-up gets the other.
    assert "fd00::1" in refusal(server.url(host="mixed.example.com"), tmp_path, by=by)
    assert by.connected == []


def test_g32_a_name_that_changes_its_address_is_reached_where_it_was_checked(
    server: Server, tmp_path: Path
) -> None:
    class Rebinding(Local):
        def resolve(self, host: str, port: int) -> Sequence[str]:
            super().resolve(host, port)
            return ["127.0.0.1"] if len(self.looked_up) == 1 else ["10.0.0.7"]

    server.answers["/file"] = reply(BODY)
    naive = Rebinding()
    checked = naive.resolve(HOST, 80)
    used = naive.resolve(HOST, 80)
    assert checked != used

    by = Rebinding()
    fetch(server.url(), tmp_path, by=by)
    assert by.looked_up == [HOST]
    assert by.connected == ["127.0.0.1"]
    assert server.asked[0][1]["Host"] == f"{HOST}:{server.port}"


def test_redirects_are_followed_a_few_times_and_no_more(server: Server, tmp_path: Path) -> None:
    for step in range(5):
        server.answers[f"/{step}"] = redirect(f"/{step + 1}")
    server.answers["/5"] = reply(BODY)
    server.answers["/loop"] = redirect("/loop")

    assert fetch(server.url("/0"), tmp_path, by=Local()).final_url == server.url("/5")
    for path in tmp_path.iterdir():
        path.unlink()
    assert "redirects" in refusal(server.url("/loop"), tmp_path, by=Local())


@pytest.mark.parametrize("size", ["1000001", "9" * 40, "-1", "ten", "5, 6"])
def test_g32_a_size_that_is_too_large_or_none_is_refused_before_reading(
    server: Server, tmp_path: Path, size: str
) -> None:
    server.answers["/file"] = reply(b"x", Content_Length=size)

    refusal(server.url(), tmp_path, Bounds(most_bytes=1_000_000, seconds=20), by=Local())


def test_g32_a_server_that_sends_more_than_allowed_is_stopped(
    server: Server, tmp_path: Path
) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not server.over.is_set():
            handler.wfile.write(b"x" * 65_536)

    def chunked(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while not server.over.is_set():
            handler.wfile.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")

    server.answers.update({"/endless": endless, "/chunked": chunked})
    bounds = Bounds(most_bytes=300_000, seconds=20)

    assert "more than" in refusal(server.url("/endless"), tmp_path, bounds, by=Local())
    assert "more than" in refusal(server.url("/chunked"), tmp_path, bounds, by=Local())


def test_g32_a_server_that_lies_about_the_size_gives_no_file_or_what_it_announced(
    server: Server, tmp_path: Path
) -> None:
    server.answers["/short"] = reply(BODY, Content_Length=str(len(BODY) + 1))
    server.answers["/long"] = reply(BODY + b"and more", Content_Length=str(len(BODY)))

    assert "ends after" in refusal(server.url("/short"), tmp_path, by=Local())
    assert fetch(server.url("/long"), tmp_path, by=Local()).sha256 == SHA256


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000,
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"\x16\x03\x01 nonsense\r\n\r\n",
        b"",
    ],
    ids=lambda raw: repr(raw[:60]),
)
def test_g32_an_answer_that_breaks_off_or_makes_no_sense_leaves_nothing(
    server: Server, tmp_path: Path, raw: bytes
) -> None:
    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(raw)
        handler.close_connection = True

    server.answers["/file"] = send

    refusal(server.url(), tmp_path, by=Local())


def test_g32_a_server_that_drips_is_left_in_time(server: Server, tmp_path: Path) -> None:
    def drip(handler: BaseHTTPRequestHandler, text: bytes) -> None:
        handler.wfile.write(text)
        while not server.over.wait(0.05):
            handler.wfile.write(b"x")

    head = b"HTTP/1.1 200 OK\r\n"
    server.answers["/body"] = lambda handler: drip(handler, head + b"\r\n")
    server.answers["/head"] = lambda handler: drip(handler, head + b"X: ")
    # Each byte restarts the clock of a socket: a time limit of its own stops nothing here.
    assert any(_is_kept_waiting(server, patience) for patience in (1.0, 10.0))

    for path in ("/body", "/head"):
        begun = time.monotonic()
        said = refusal(server.url(path), tmp_path, Bounds(seconds=0.5), by=Local())
        assert "in the time" in said
        assert time.monotonic() - begun < 60


def _is_kept_waiting(server: Server, patience: float) -> bool:
    """Read for longer than a socket is patient; a server that stood still is no proof."""
    with socket.create_connection(("127.0.0.1", server.port), patience) as naive:
        naive.sendall(b"GET /body HTTP/1.0\r\n\r\n")
        begun = time.monotonic()
        while time.monotonic() - begun < 1.3 * patience:
            try:
                assert naive.recv(100)
            except TimeoutError:
                return False
    return True


def test_g32_a_look_up_without_an_end_is_left_in_time(tmp_path: Path) -> None:
    over = threading.Event()

    class Slow(Local):
        def resolve(self, host: str, port: int) -> Sequence[str]:
            over.wait(60)
            return super().resolve(host, port)

    try:
        assert "in the time" in refusal(
            f"https://{HOST}/x", tmp_path, Bounds(seconds=0.3), by=Slow()
        )
    finally:
        over.set()


def test_g32_a_file_with_another_checksum_is_never_seen(server: Server, tmp_path: Path) -> None:
    server.answers["/file"] = reply(BODY + b"!")

    said = refusal(server.url(), tmp_path, Bounds(sha256=SHA256, seconds=20), by=Local())

    assert hashlib.sha256(BODY + b"!").hexdigest() in said


def test_what_is_packed_stays_packed(server: Server, tmp_path: Path) -> None:
    packed = b"\x1f\x8b not even gzip"
    server.answers["/file"] = reply(packed, Content_Encoding="gzip")

    assert Path(fetch(server.url(), tmp_path, by=Local()).path).read_bytes() == packed


@pytest.mark.parametrize(
    ("status", "said"), [(404, "check the address"), (403, "account"), (503, "later"), (204, "no")]
)
def test_an_answer_that_is_no_file_says_what_to_do(
    server: Server, tmp_path: Path, status: int, said: str
) -> None:
    server.answers["/file"] = reply(b"", status)

    message = refusal(server.url("/file?sig=opensesame"), tmp_path, by=Local())

    assert f"HTTP {status}" in message
    assert said in message
    assert "opensesame" not in message
    assert f"{HOST}:{server.port}/file?…" in message


def test_a_host_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert "has no address" in refusal("https://nowhere.example.invalid/x", tmp_path, by=Local())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        assert "does not answer" in refusal(f"https://{HOST}:{port}/x", tmp_path, by=Local())


def test_the_next_address_of_a_host_is_tried(server: Server, tmp_path: Path) -> None:
    class Half(Local):
        def problem(self, address: str) -> str:
            return "" if address.startswith("127.") else super().problem(address)

        def connect(self, address: WebAddress, numeric: str, seconds: float) -> socket.socket:
            if numeric == "127.0.0.9":
                raise ConnectionRefusedError
            return super().connect(address, numeric, seconds)

    server.answers["/file"] = reply(BODY)

    assert fetch(server.url(), tmp_path, by=Half({HOST: ["127.0.0.9", "127.0.0.1"]})).size


def test_a_progress_that_fails_or_a_folder_that_is_gone_leaves_nothing(
    server: Server, tmp_path: Path
) -> None:
    server.answers["/file"] = reply(BODY)

    def stop(_size: int, _announced: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(server.url(), str(tmp_path), transport=Local(), progress=stop)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DownloadError, match="check the folder"):
        fetch(server.url(), tmp_path / "gone", by=Local())


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no such disk on this system")
def test_a_disk_that_is_full_leaves_nothing(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    server.answers["/file"] = reply(BODY)
    monkeypatch.setattr(os, "fsync", full)

    assert "No space left" in refusal(server.url(), tmp_path, by=Local())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate for the test host alone, with its key in the same file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl on this machine")
    folder = tmp_path_factory.mktemp("tls")
    key, made = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}",
         "-keyout", str(key), "-out", str(made)],
        check=True,
        capture_output=True,
        timeout=60,
    )  # fmt: skip
    made.write_bytes(key.read_bytes() + made.read_bytes())
    return made


@pytest.fixture
def secure(certificate: Path) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    opened = Server(context)
    yield opened
    opened.close()


def trusting(certificate: Path, names: Mapping[str, Sequence[str]] | None = None) -> Local:
    return Local(names, ssl.create_default_context(cafile=str(certificate)))


def test_g32_a_host_must_prove_its_name(secure: Server, certificate: Path, tmp_path: Path) -> None:
    secure.answers["/file"] = reply(BODY)
    names = {HOST: ["127.0.0.1"], "other.example.invalid": ["127.0.0.1"]}

    made = fetch(secure.url(scheme="https"), tmp_path, by=trusting(certificate, names))
    assert made.sha256 == SHA256
    Path(made.path).unlink()
    other = secure.url(host="other.example.invalid", scheme="https")
    assert "certificate" in refusal(other, tmp_path, by=trusting(certificate, names))
    assert "certificate" in refusal(secure.url(scheme="https"), tmp_path, by=Local())


def test_g32_a_redirect_that_gives_up_encryption_is_refused(
    server: Server, secure: Server, certificate: Path, tmp_path: Path
) -> None:
    server.answers["/file"] = reply(b"changed on the way")
    secure.answers["/file"] = redirect(server.url())

    by = trusting(certificate)
    assert "encryption" in refusal(secure.url(scheme="https"), tmp_path, by=by)
    assert server.asked == []


def test_g32_a_stream_that_is_cut_off_is_not_one_that_ended(
    secure: Server, certificate: Path, tmp_path: Path
) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\nhalf of it")
        handler.wfile.flush()
        # Past the encryption: the way a stranger on the line would end it.
        socket.socket.shutdown(handler.connection, socket.SHUT_RDWR)

    secure.answers["/file"] = cut

    refusal(secure.url(scheme="https"), tmp_path, by=trusting(certificate))


def test_the_transport_of_every_day_looks_up_and_judges_for_real() -> None:
    by = PublicHttps()

    assert by.resolve("127.0.0.1", 443) == ["127.0.0.1"]
    assert "this machine" in by.problem("127.0.0.1")
    assert by.problem("8.8.8.8") == ""
    assert by.schemes == ("https",)
