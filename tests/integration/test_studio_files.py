"""The files of the studio over HTTP: exactly those, with the headers that keep a page safe."""

import gzip
import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from tests.integration.gateway_world import Answer, World, ask, running

from prowess.gateway.http import PAGE, POLICY, PageFile, StudioFiles, page_files
from prowess.wiring.serve import studio_files

SCRIPT = "export const words = 'skill';\n" * 200
HTML = "<!doctype html><title>Prowess</title><script type=module src=/js/app.js></script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page, and beside it what is none of it."""
    root = tmp_path_factory.mktemp("page")
    for path, text in {
        "studio/index.html": HTML,
        "studio/js/app.js": SCRIPT,
        "studio/js/views/skills.js": SCRIPT,
        "studio/js/views/library.js": SCRIPT,
        "studio/css/app.css": "body { color: black }",
        "studio/icon.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
        "studio/.hidden.js": "hidden",
        "studio/_notes/plan.html": "notes",
        "studio/build.py": "print()",
        "secret.html": "secret",
    }.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (root / "studio" / "link.html").symlink_to(root / "secret.html")
    return root / "studio"


@pytest.fixture(scope="module")
def world(folder: Path) -> Iterator[World]:
    with running(static=StudioFiles(page_files(str(folder)))) as one:
        yield one


def _raw(world: World, path: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    line = http.client.HTTPConnection("127.0.0.1", world.port, timeout=60)
    try:
        line.request("GET", path, headers={key.replace("_", "-"): headers[key] for key in headers})
        answer = line.getresponse()
        return answer, answer.read()
    finally:
        line.close()


def _get(world: World, path: str) -> Answer:
    return ask(world, "GET", path)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/index.html", "text/html; charset=utf-8"),
        ("/js/app.js", "text/javascript; charset=utf-8"),
        ("/css/app.css", "text/css; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
    ],
)
def test_each_file_has_its_type_and_every_guard(world: World, path: str, kind: str) -> None:
    answer = _get(world, path)

    assert (answer.status, answer.headers["content-type"]) == (200, kind)
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-cache"


def test_the_policy_lets_nothing_in_from_elsewhere() -> None:
    rules = dict(part.strip().split(" ", 1) for part in POLICY.split(";"))

    assert rules["default-src"] == "'none'"
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    assert {rules[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}


@pytest.mark.parametrize("path", ["/skills", "/library", "/skills?agent=a.b"])
def test_a_place_inside_the_page_is_the_page(world: World, path: str) -> None:
    assert _get(world, path).text == HTML


@pytest.mark.parametrize(
    "path",
    [
        "/nothing", "/skills/more", "/nothing.js", "/.hidden.js", "/_notes/plan.html", "/build.py",
        "/link.html",
        "/../secret.html", "/js/../../secret.html", "/%2e%2e/secret.html", "/..%5csecret.html",
        "/js%2f..%2f..%2fsecret.html", "//secret.html", "/index.html/", "/index.html%00.js",
    ],
)  # fmt: skip
def test_what_is_no_file_of_the_page_is_not_found(world: World, path: str) -> None:
    answer = _get(world, path)

    assert answer.status == 404
    assert "secret" not in answer.text


def test_a_browser_that_asks_for_no_page_gets_links_to_those_there_are(world: World) -> None:
    answer, body = _raw(world, "/nowhere/%22%3Cb%3E", Accept="text/html,*/*;q=0.8")
    file, _ = _raw(world, "/js/nothing.js", Accept="*/*")

    assert answer.status == 404
    assert answer.headers["Content-Security-Policy"] == POLICY
    assert b'<a href="/library">Library</a>' in body
    assert b"nowhere" not in body
    assert (file.status, file.headers["Content-Type"]) == (404, "application/json")


@pytest.mark.parametrize(
    ("path", "to"), [("/skills/", "/skills"), ("/skills//?q=a", "/skills?q=a")]
)
def test_a_slash_behind_a_place_leads_to_the_place(world: World, path: str, to: str) -> None:
    answer, _ = _raw(world, path)

    assert (answer.status, answer.headers["Location"]) == (308, to)


def test_what_the_browser_has_is_not_sent_again(world: World) -> None:
    tag = _get(world, "/js/app.js").headers["etag"]

    same = ask(world, "GET", "/js/app.js", None, {"If-None-Match": f'"other", {tag}'})
    weak = ask(world, "GET", "/js/app.js", None, {"If-None-Match": f"W/{tag}"})
    other = ask(world, "GET", "/js/app.js", None, {"If-None-Match": '"other"'})

    assert (same.status, same.text, same.headers["etag"]) == (304, "", tag)
    assert weak.status == 304
    assert (other.status, other.text) == (200, SCRIPT)


def test_a_file_is_packed_for_who_takes_it_and_has_a_tag_of_its_own(world: World) -> None:
    plain, body = _raw(world, "/js/app.js")
    packed, small = _raw(world, "/js/app.js", Accept_Encoding="br, gzip;q=0.8")
    refused, whole = _raw(world, "/js/app.js", Accept_Encoding="gzip;q=0")
    tiny, _ = _raw(world, "/css/app.css", Accept_Encoding="gzip")

    assert body == whole == gzip.decompress(small) == SCRIPT.encode()
    assert (plain.headers["content-encoding"], packed.headers["content-encoding"]) == (None, "gzip")
    assert plain.headers["etag"] != packed.headers["etag"]
    assert packed.headers["vary"] == "Accept-Encoding"
    assert refused.headers["content-encoding"] is tiny.headers["content-encoding"] is None


def test_head_says_the_same_without_the_body(world: World) -> None:
    head, get = ask(world, "HEAD", "/js/app.js"), _get(world, "/js/app.js")

    assert (head.status, head.text) == (200, "")
    assert head.headers["content-length"] == get.headers["content-length"]
    assert head.headers["etag"] == get.headers["etag"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_files_are_only_read(world: World, method: str) -> None:
    answer = ask(world, method, "/index.html")

    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


def test_another_site_gets_no_file(world: World) -> None:
    rebound = ask(world, "GET", "/", None, {"Host": "attacker.example"})
    foreign = ask(world, "GET", "/", None, {"Origin": "https://attacker.example"})

    assert (rebound.status, foreign.status) == (403, 403)


@given(st.text(max_size=60))
def test_no_path_gives_more_than_the_table_or_the_page(text: str) -> None:
    page = PageFile(type="text/html", body=b"page", packed=b"", tag="t")
    app = StudioFiles({PAGE: page})

    # The answer alone: what stands around it is the server's.
    answer = app._answer("GET", f"/{text}", Headers())  # noqa: SLF001

    found = text in {PAGE[1:], ""}
    assert (answer.status_code, answer.body == b"page") == ((200, True) if found else (404, False))


def test_a_package_without_the_page_has_nothing_to_serve(tmp_path: Path) -> None:
    assert studio_files(str(tmp_path)) is None


def test_the_package_has_the_page() -> None:
    assert studio_files() is not None
