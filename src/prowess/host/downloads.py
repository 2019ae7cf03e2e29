"""Fetches one file from the public internet, within bounds, for somebody who does not trust it.

The address comes from a stranger. So each step of a redirect is checked like the first; a host is
resolved once and the connection goes to the address that was checked; nothing from this machine
(proxy settings, stored passwords, cookies) goes along; and what arrives is counted, timed and
hashed before anybody sees it. On any failure nothing stays behind.

A socket's own time limit starts anew with each byte that drips in, a look-up has none at all, and
neither knows that somebody wants to stop. So there is one clock for the whole download; whoever
waits looks at it, and at the wish to stop, several times a second.
"""

import hashlib
import os
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from threading import Event
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import urljoin

from prowess.errors import DownloadError, explain_failure
from prowess.safety.web_addresses import WebAddress, address_problem, read_address, shown

if TYPE_CHECKING:
    import httpcore2


class PrivateFile:
    """A file under a private name that is either whole and on disk, or gone."""

    def __init__(self, folder: str) -> None:
        handle, self.path = tempfile.mkstemp(dir=folder, prefix=".download-", suffix=".part")
        self._file = os.fdopen(handle, "wb")
        self._whole = False

    def write(self, chunk: bytes) -> None:
        """Add to the file."""
        self._file.write(chunk)

    def finish(self) -> None:
        """Have all of it on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._whole = True

    def close(self) -> None:
        """Close the file, and remove it unless it was finished."""
        try:
            self._file.close()
        finally:
            if not self._whole:
                os.unlink(self.path)


_SLICE_S = 0.2
_T = TypeVar("_T")


# Not an error: it ends a download that somebody no longer wants.
class DownloadStopped(Exception):  # noqa: N818
    """Somebody stopped the download."""


class Clock:
    """The time that is left for everything, and the wish to stop."""

    def __init__(self, seconds: float, stop: Event | None = None) -> None:
        self._end = time.monotonic() + seconds
        self._stop = stop

    def left(self) -> float:
        """Return the seconds that are left.

        Raises:
            TimeoutError: there are none.
            DownloadStopped: somebody wants to stop.
        """
        if self._stop is not None and self._stop.is_set():
            raise DownloadStopped
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def slice(self) -> float:
        """Return how long to wait before the next look.

        Raises:
            TimeoutError: there is no time left.
            DownloadStopped: somebody wants to stop.
        """
        return min(self.left(), _SLICE_S)


class _TimedStream:
    """A connection as the HTTP library uses it: read a slice of the time after the other."""

    def __init__(self, connected: socket.socket, clock: Clock) -> None:
        self._socket, self._clock = connected, clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        del timeout
        while True:
            self._socket.settimeout(self._clock.slice())
            try:
                return self._socket.recv(max_bytes)
            except TimeoutError:
                # Nothing yet: the clock says whether to go on.
                continue

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        del timeout
        # A request is small enough to be sent at once.
        self._socket.settimeout(self._clock.left())
        self._socket.sendall(buffer)

    def close(self) -> None:
        self._socket.close()

    def get_extra_info(self, info: str) -> None:
        del info


def wait_for(call: Callable[[], _T], late: Callable[[_T], object], clock: Clock) -> _T:
    """Make a call that knows no wish to stop, in a thread, so that nobody has to wait for its end.

    Where it is given up, `late` is called with what it returns after all.

    Raises:
        TimeoutError: there is no time left.
        DownloadStopped: somebody wants to stop.
    """
    future: Future[_T] = Future()

    def work() -> None:
        try:
            found = call()
        # All that a look-up or a connection raises; it belongs to whoever waits.
        except (OSError, ValueError) as error:
            with suppress(InvalidStateError):
                future.set_exception(error)
            return
        try:
            future.set_result(found)
        except InvalidStateError:
            late(found)

    threading.Thread(target=work, daemon=True).start()
    try:
        while not future.done():
            wait((future,), clock.slice())
    except BaseException:
        if not future.cancel() and future.exception() is None:
            late(future.result())
        raise
    return future.result()


_CONNECT_SECONDS = 15.0
_MOST_ADDRESSES = 4
_FOLLOWED = frozenset({301, 302, 303, 307, 308})
_MOST_HEADERS, _MOST_REDIRECTS, _SECONDS = 100, 5, 300.0

# Called with the bytes received so far, and how many were announced (None: not said).
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a download may cost, and what it must be."""

    most_bytes: int = 256 * 1024 * 1024
    # From the first look-up to the last byte.
    seconds: float = _SECONDS
    redirects: int = _MOST_REDIRECTS
    # Small hexadecimal letters; "" where nothing is known.
    sha256: str = ""
    # Set by whoever no longer wants the file; looked at several times a second.
    stop: Event | None = None
    # Sent to the first host alone: where that sends us to must not learn it.
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file that arrived whole: under a private name, for the caller to move or remove."""

    path: str
    sha256: str
    size: int
    # After redirects; its query may be a signature that lets anybody fetch the file.
    final_url: str = field(repr=False)


class PublicHttps:
    """Decides what may be reached, and reaches it: https, public hosts, checked certificates."""

    schemes: tuple[str, ...] = ("https",)

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls or ssl.create_default_context()

    def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host, in the order in which to try them.

        Raises:
            OSError: it has none.
        """
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))

    def read(self, url: str) -> WebAddress | str:
        """Return the parts of an address that may be asked, or what is wrong with it."""
        return read_address(url, self.schemes)

    def problem(self, address: str) -> str:
        """Return why an address is not one to reach, or ""."""
        return address_problem(address)

    def refusal(self, address: WebAddress, numeric: str) -> str:
        """Return why what the host of `address` resolved to is not to be reached, or ""."""
        del address
        return self.problem(numeric)

    def connect(self, address: WebAddress, numeric: str, seconds: float) -> socket.socket:
        """Connect to exactly `numeric`, and have it prove that it is the host of `address`.

        Raises:
            OSError: it does not answer, or proves nothing.
        """
        plain = socket.create_connection((numeric, address.port), seconds)
        if address.scheme != "https":
            return plain
        try:
            # A stream that is cut off must not look like one that ended.
            return self._tls.wrap_socket(
                plain, server_hostname=address.host, suppress_ragged_eofs=False
            )
        except BaseException:
            plain.close()
            raise


def download(
    url: str,
    folder: str,
    bounds: Bounds | None = None,
    *,
    transport: PublicHttps | None = None,
    progress: Progress | None = None,
) -> Download:
    """Fetch `url` into a private file in `folder`, checked and on disk when this returns.

    Raises:
        DownloadError: the address is refused, or what comes is not what was asked for.
        DownloadStopped: somebody no longer wants it.
    """
    bounds, transport = bounds or Bounds(), transport or PublicHttps()
    with ExitStack() as stack:
        headers = {"Authorization": f"Bearer {bounds.token}"} if bounds.token else {}
        request = WebRequest(headers=headers)
        way = _Way(transport, Clock(bounds.seconds, bounds.stop), stack, request)
        address, response = way.follow(url, bounds.redirects)
        announced = _read_size(address, response, bounds.most_bytes)
        with _on_disk(address, folder):
            file = PrivateFile(folder)
        stack.callback(file.close)
        hashed, size = hashlib.sha256(), 0
        for chunk in _chunks(address, response, announced, bounds.most_bytes):
            hashed.update(chunk)
            size += len(chunk)
            with _on_disk(address, folder):
                file.write(chunk)
            if progress is not None:
                progress(size, announced)
        found = hashed.hexdigest()
        if bounds.sha256 and found != bounds.sha256.lower():
            raise _error(address.url, f"is not the file that was expected: its sha256 is {found}.")
        with _on_disk(address, folder):
            file.finish()
        return Download(path=file.path, sha256=found, size=size, final_url=address.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebRequest:
    """What is sent beside the address; the headers go to the first host alone."""

    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAnswer:
    """What a server answered, whatever its status."""

    status: int
    headers: Mapping[str, str]
    content: bytes = field(repr=False)


def exchange(url: str, request: WebRequest, most_bytes: int, transport: PublicHttps) -> WebAnswer:
    """Ask a server, and return its answer; only what is fetched follows redirects.

    Raises:
        DownloadError: the address is refused, or does not answer properly.
    """
    with ExitStack() as stack:
        way = _Way(transport, Clock(_SECONDS), stack, request)
        redirects = _MOST_REDIRECTS if request.method in {"GET", "HEAD"} else 0
        address, response = way.follow(url, redirects)
        headers = {
            key.decode("latin-1").lower(): value.decode("latin-1").strip()
            for key, value in response.headers[:_MOST_HEADERS]
        }
        content = (
            b""
            if request.method == "HEAD"
            else b"".join(_chunks(address, response, None, most_bytes))
        )
        return WebAnswer(status=response.status, headers=headers, content=content)


class _Way:
    """The way from the first address to the file, each step checked like the first."""

    def __init__(
        self, transport: PublicHttps, clock: Clock, stack: ExitStack, request: WebRequest
    ) -> None:
        self._transport, self._clock, self._stack = transport, clock, stack
        self._request, self._first = request, ""

    def follow(self, url: str, redirects: int) -> tuple[WebAddress, "httpcore2.Response"]:
        """Return the answer that is no redirect, and the address that gave it."""
        address = self._check(url)
        self._first = f"{address.scheme}://{address.authority}"
        for _ in range(redirects + 1):
            with _explain(address.url):
                response = self._ask(address)
            if response.status not in _FOLLOWED:
                return address, response
            address = self._follow(address, _header(response, b"location"))
        raise _error(
            address.url, f"is where more than {redirects} redirects lead: give the final address."
        )

    def _check(self, url: str) -> WebAddress:
        address = self._transport.read(url)
        if isinstance(address, str):
            raise _error(url, f"{address}. Give a public https address.")
        return address

    def _follow(self, address: WebAddress, location: str) -> WebAddress:
        try:
            url = urljoin(address.url, location)
        except ValueError:
            url = ""
        if not location or not url:
            raise _error(address.url, "redirects to nowhere: give the final address.")
        found = self._check(url)
        if address.scheme == "https" and found.scheme != "https":
            raise _error(
                url, "is where a redirect leads that gives up encryption: it is not followed."
            )
        return found

    def _ask(self, address: WebAddress) -> "httpcore2.Response":
        import httpcore2

        url = httpcore2.URL(
            scheme=address.scheme, host=address.host, port=address.port, target=address.target
        )
        headers: dict[bytes | str, bytes | str] = {
            "Host": address.authority,
            "User-Agent": "prowess",
            "Accept": "*/*",
            # What is packed arrives packed: nothing is unpacked on the way.
            "Accept-Encoding": "identity",
            "Connection": "close",
        }
        if self._request.method not in {"GET", "HEAD"}:
            headers["Content-Length"] = str(len(self._request.body))
        connected = self._connect(address)
        self._stack.callback(connected.close)
        # All that the library asks of a stream; it has no part in where this one leads.
        stream = cast("httpcore2.NetworkStream", _TimedStream(connected, self._clock))
        connection = httpcore2.HTTP11Connection(url.origin, stream)
        if f"{address.scheme}://{address.authority}" == self._first:
            # Where the first host sends us to learns neither who we are nor what we want.
            headers.update(self._request.headers)
        request = httpcore2.Request(
            self._request.method, url, headers=headers, content=self._request.body or None
        )
        return connection.handle_request(request)

    def _connect(self, address: WebAddress) -> socket.socket:
        """Connect to an address that was checked, all others of that host being public too."""
        numerics = self._resolve(address)
        refusals = (self._transport.refusal(address, numeric) for numeric in numerics)
        problem = next(filter(None, refusals), "")
        if problem:
            raise _error(address.url, f"{problem}. Give a public https address.")
        if not numerics:
            raise _error(address.url, "has no address. Check its spelling and the network.")
        failure: OSError | None = None
        for numeric in numerics[:_MOST_ADDRESSES]:
            try:
                return self._open_socket(address, numeric)
            except ssl.SSLCertVerificationError:
                raise
            except OSError as error:
                failure = failure or error
        raise failure or OSError

    def _open_socket(self, address: WebAddress, numeric: str) -> socket.socket:
        seconds = min(self._clock.left(), _CONNECT_SECONDS)
        return wait_for(
            lambda: self._transport.connect(address, numeric, seconds),
            socket.socket.close,
            self._clock,
        )

    def _resolve(self, address: WebAddress) -> Sequence[str]:
        """Look a host up, which the system does without a limit of time."""

        def look_up() -> Sequence[str]:
            try:
                return self._transport.resolve(address.host, address.port)
            except (OSError, UnicodeError):
                return ()

        return wait_for(look_up, tuple, self._clock)


def _header(response: "httpcore2.Response", name: bytes) -> str:
    """Return the first header of that name; empty where there is none."""
    values = (value for key, value in response.headers if key.lower() == name)
    return next(values, b"").decode("latin-1").strip()


def _read_size(address: WebAddress, response: "httpcore2.Response", most: int) -> int | None:
    """Return the size that the server announces, None where it does not."""
    if response.status != HTTPStatus.OK:
        raise _error(
            address.url, f"answers with HTTP {response.status}: {_advice(response.status)}."
        )
    if len(response.headers) > _MOST_HEADERS:
        raise _error(address.url, f"sends more than {_MOST_HEADERS} headers: that is no file.")
    # The library refused sizes that are no numbers or contradict each other.
    size = _header(response, b"content-length")
    if not size or _header(response, b"transfer-encoding"):
        return None
    if int(size) > most:
        raise _error(
            address.url, f"is {int(size):,} bytes, more than the {most:,} that are allowed."
        )
    return int(size)


def _chunks(
    address: WebAddress, response: "httpcore2.Response", announced: int | None, most: int
) -> Iterator[bytes]:
    import httpcore2

    size, chunks = 0, response.iter_stream()
    while True:
        with _explain(address.url):
            try:
                chunk = next(chunks, b"")
            except httpcore2.RemoteProtocolError:
                if announced is None:
                    raise
                problem = f"ends after {size:,} of {announced:,} bytes: try again."
                raise _error(address.url, problem) from None
        size += len(chunk)
        if size > most:
            raise _error(address.url, f"sends more than the {most:,} bytes that are allowed.")
        if not chunk:
            return
        yield chunk


@contextmanager
def _explain(url: str) -> Iterator[None]:
    """Turn what the network does into an error that says which address it was."""
    import httpcore2

    try:
        yield
    except ssl.SSLCertVerificationError:
        problem = "does not prove who it is: its certificate is not valid. Nothing was fetched."
        raise _error(url, problem) from None
    except TimeoutError:
        problem = "does not finish in the time that it has: try again later, or allow more."
        raise _error(url, problem) from None
    except (OSError, httpcore2.ProtocolError, httpcore2.NetworkError) as error:
        # Not what it says: some messages repeat what the server sent.
        said = getattr(error, "strerror", None) or type(error).__name__
        raise _error(url, f"does not answer properly ({said}): try again.") from None


@contextmanager
def _on_disk(address: WebAddress, folder: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = (
            f"cannot be kept in {folder} ({explain_failure(error)}): check the folder and its disk."
        )
        raise _error(address.url, problem) from None


def _advice(status: int) -> str:
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return "it may not be fetched without an account"
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return "nothing is there, check the address"
    is_busy = status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return "try again later" if is_busy else "that is no file"


def _error(url: str, problem: str) -> DownloadError:
    return DownloadError(shown(url), problem)
