"""The files of the studio over HTTP: a table that is made once, and nothing beside it.

No path of a request ever meets the disk: it is looked up among the files that were there at the
start, so there is nothing to climb out of. The path of a view (`/skills`) is a place inside the
page, and gets the page; with a slash behind it it is sent there. Any other path that names no file
is not found, which a browser is told with a page and a program with JSON.
"""

import gzip
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from prowess.gateway.calls import Code
from prowess.gateway.gate import problem_answer

PAGE = "/index.html"
# Each module in here is a view, and its name is the view's path.
_VIEWS = "/js/views/"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# What is not in here is no part of a page, and is not served.
_TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".html": "text/html; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".mjs": "text/javascript; charset=utf-8",
        ".json": "application/json",
        ".webmanifest": "application/manifest+json",
        ".svg": "image/svg+xml",
        ".png": "image/png",
        ".ico": "image/x-icon",
        ".woff2": "font/woff2",
    }
)
_PACKED = frozenset((".html", ".css", ".js", ".mjs", ".json", ".webmanifest", ".svg"))
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    # Kept by the browser and asked for each time: a newer Prowess is seen at once.
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}


_LOST = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Not found · Prowess studio</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="/css/tokens.css">
<link rel="stylesheet" href="/css/base.css">
<link rel="stylesheet" href="/css/frame.css">
</head>
<body>
<main class="door">
<h1>There is no such page</h1>
<p>The studio of this gateway has these:</p>
<ul>
{links}
</ul>
</main>
</body>
</html>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFile:
    """One file, as it is sent."""

    type: str
    body: bytes
    # Empty where packing would not make it smaller.
    packed: bytes
    tag: str


def page_files(folder: str) -> Mapping[str, PageFile]:
    """Read the files of a page, by the path under which they are asked for.

    Raises:
        OSError: one of them cannot be read.
    """
    found: dict[str, PageFile] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(names):
            path = Path(place, name)
            # A link could lead to what is no part of the package.
            if name.startswith(".") or path.suffix not in _TYPES or path.is_symlink():
                continue
            found[f"/{path.relative_to(folder).as_posix()}"] = _read(path)
    return MappingProxyType(found)


def _read(path: Path) -> PageFile:
    body = path.read_bytes()
    packed = gzip.compress(body, mtime=0) if path.suffix in _PACKED else b""
    return PageFile(
        type=_TYPES[path.suffix],
        body=body,
        packed=packed if len(packed) < len(body) else b"",
        tag=hashlib.sha256(body).hexdigest()[:32],
    )


class StudioFiles:
    """Serves the files of a page, as an ASGI app."""

    def __init__(self, files: Mapping[str, PageFile]) -> None:
        """Take the files; `PAGE` is among them."""
        self._files = files
        views = (path.removeprefix(_VIEWS) for path in files if path.startswith(_VIEWS))
        self._places = {"/", *(f"/{name.removesuffix('.js')}" for name in views)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers, query = Headers(scope=scope), scope.get("query_string", b"").decode("latin-1")
        answer = self._answer(scope["method"], scope["path"], headers, query)
        await answer(scope, receive, send)

    def _answer(self, method: str, path: str, headers: Headers, query: str = "") -> Response:
        if method not in {"GET", "HEAD"}:
            allowed = {"Allow": "GET, HEAD"}
            return problem_answer(
                405, Code.INVALID_REQUEST, "method not allowed: use GET, HEAD", allowed
            )
        file = self._found(path)
        if file is not None:
            return _sent(file, headers)
        place = path.rstrip("/")
        # Only to a view, by its own name: nothing of the address is followed anywhere else.
        if place in self._places:
            return RedirectResponse(f"{place}?{query}" if query else place, 308, _HEADERS)
        if "text/html" in headers.get("accept", ""):
            shown = {**_HEADERS, "Content-Type": _TYPES[".html"], "Vary": "Accept"}
            return Response(self._lost(), 404, shown)
        return problem_answer(404, Code.INVALID_REQUEST, "not found")

    def _lost(self) -> str:
        """Return the page of a path that is none; it says nothing about what was asked for."""
        views = sorted(self._places - {"/"})
        links = (f'<li><a href="{view}">{view[1:].capitalize()}</a></li>' for view in views)
        return _LOST.format(links="\n".join(links))

    def _found(self, path: str) -> PageFile | None:
        return self._files.get(PAGE if path in self._places else path)


def _sent(file: PageFile, headers: Headers) -> Response:
    is_packed = bool(file.packed) and _takes_gzip(headers.getlist("accept-encoding"))
    # Two bodies, two tags: a cache must never give one for the other.
    tag = f'"{file.tag}{"-gz" if is_packed else ""}"'
    shown = {**_HEADERS, "ETag": tag}
    if _has(headers.getlist("if-none-match"), tag):
        return Response(status_code=304, headers=shown)
    if is_packed:
        shown["Content-Encoding"] = "gzip"
    body = file.packed if is_packed else file.body
    # To HEAD the server sends no body, and still says how long it would be.
    return Response(body, headers={**shown, "Content-Type": file.type})


def _takes_gzip(values: list[str]) -> bool:
    for part in ",".join(values).lower().split(","):
        name, _, quality = part.partition(";")
        if name.strip() in {"gzip", "*"}:
            return quality.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


def _has(values: list[str], tag: str) -> bool:
    tags = {part.strip().removeprefix("W/") for part in ",".join(values).split(",")}
    return tag in tags or "*" in tags
