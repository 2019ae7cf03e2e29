"""`prowess examples` on real folders, with a model behind a real server on this machine."""

import json
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import prowess
from prowess.cli.main import main
from prowess.errors import SkillNotFoundError
from prowess.host.store.routing import EXAMPLES_FILE
from prowess.runtime.ports import Examples

REQUESTS = ["get the release out", "users still see the old version", "ship it to production"]
NEAR_MISSES = ["write the release notes"]
DESCRIPTIONS = {
    "deploy": "Ships a release of the app to production.",
    "mail": "Writes and sends letters to customers.",
}


@dataclass(slots=True)
class World:
    """Folders of one person, the terminal on them, and what their model says of each skill."""

    root: Path
    capture: pytest.CaptureFixture[str]
    url: str = ""
    answers: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def kept(self) -> dict[str, Any]:
        file = self.root / "state" / EXAMPLES_FILE
        found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        return found

    def run(self, *words: str) -> tuple[int, str, str]:
        code = main(["examples", *words])
        out, err = self.capture.readouterr()
        return code, out, err

    def json(self, *words: str) -> tuple[int, Any]:
        code, out, _ = self.run(*words, "--json")
        return code, json.loads(out)

    def configure(self, encoder: str) -> None:
        self.config(
            routing={"encoder": encoder},
            allowBundled=["no-such-skill-at-all"],
            model={"endpoint": self.url, "name": "mine"},
        )

    def config(self, **skills: object) -> None:
        (self.root / "state/prowess.json").write_text(json.dumps({"skills": skills}))

    def files(self) -> dict[str, tuple[int, bytes]]:
        """Every file below the workspace, with its time and its content."""
        found = (path for path in (self.root / "work").rglob("*") if path.is_file())
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in found}


def answer(requests: Sequence[str] = REQUESTS, near_misses: Sequence[str] = NEAR_MISSES) -> str:
    return json.dumps({"requests": requests, "nearMisses": near_misses})


def handler(world: World) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            question = asked["messages"][1]["content"]
            name = question.split("Name: ", 1)[1].splitlines()[0]
            world.asked.append(name)
            content = world.answers.get(name)
            body = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
            self.send_response(200 if content is not None else 400)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        # The base class decides the names of the parameters.
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    return Handler


@pytest.fixture
def world(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    for name, description in DESCRIPTIONS.items():
        folder = tmp_path / "work/skills" / name
        folder.mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: {description}\n---\nDo it.\n"
        (folder / "SKILL.md").write_text(text)
    for name in ("home", "state"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.chdir(tmp_path / "work")
    made = World(tmp_path, capsys)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(made))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_port}/v1"
    # No model has to be loaded for what is tested here.
    made.configure("none")
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


# generate


def test_what_the_model_writes_is_shown_and_kept_and_no_skill_is_touched(world: World) -> None:
    world.answers = {"deploy": answer([*REQUESTS, "abc"])}
    before = world.files()

    code, out, err = world.run("generate", "deploy")

    assert (code, err) == (0, "")
    assert out.startswith("deploy: 4 kept, 1 dropped\nRequest")
    assert re.search(r"users still see the old version +#\d 0\.\d\d +#1 [01]\.\d\d\n", out)
    assert re.search(r"near miss: write the release notes +#1 ", out)
    assert "dropped: abc (it is not 4 to 300 characters long)" in out
    assert world.kept["deploy"]["generated"] == REQUESTS
    assert world.kept["deploy"]["nearMisses"] == NEAR_MISSES
    assert world.files() == before


def test_a_program_gets_the_same_as_json(world: World) -> None:
    world.answers = {"deploy": answer()}

    code, found = world.json("generate", "DEPLOY")

    shown = found["skills"][0]
    assert code == 0
    assert (found["model"], found["dryRun"], found["failed"]) == ("mine", False, [])
    assert found["problem"] is None
    assert (shown["name"], shown["saved"], shown["dropped"]) == ("deploy", True, [])
    assert [one["message"] for one in shown["requests"]] == REQUESTS
    assert [one["message"] for one in shown["nearMisses"]] == NEAR_MISSES
    assert all(one["after"]["score"] >= one["before"]["score"] for one in shown["requests"])
    assert shown["requests"][0]["after"]["rank"] == 1


def test_a_dry_run_keeps_nothing(world: World) -> None:
    world.answers = {"deploy": answer()}

    code, out, _ = world.run("generate", "deploy", "--dry-run")
    _, found = world.json("generate", "deploy", "--dry-run")

    assert code == 0
    assert "deploy: 4 would be kept, 0 dropped" in out
    assert (found["dryRun"], found["skills"][0]["saved"]) == (True, False)
    assert world.kept == {}


def test_where_nothing_passes_nothing_is_kept_and_that_is_no_failure(world: World) -> None:
    world.answers = {"deploy": answer(["/deploy"], [])}

    code, out, err = world.run("generate", "deploy")

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "deploy: 0 kept, 1 dropped",
        "  dropped: /deploy (it is a command, or says nothing by itself)",
        "",
    ]
    assert world.kept == {}


def test_an_encoder_that_is_not_there_is_mentioned(world: World) -> None:
    world.answers = {"deploy": answer()}
    world.configure("/no/such/folder")

    code, out, _ = world.run("generate", "deploy", "--dry-run")
    _, found = world.json("generate", "deploy", "--dry-run")

    assert code == 0
    assert "! degraded: /no/such/folder: is no folder" in out
    assert found["problem"].startswith("/no/such/folder: is no folder")


def test_one_skill_that_fails_does_not_stop_the_others(world: World) -> None:
    world.answers = {"deploy": "I would rather not.", "mail": answer(["write to the customers"])}

    code, out, err = world.run("generate", "nobody", "deploy", "mail")

    problem = (
        "mine: writes nothing that can be used as a request for deploy: try again, or set another"
        " `skills.model.name`."
    )
    assert code == 1
    assert err.splitlines() == [
        'prowess: nobody: Skill "nobody" not found: run `prowess list` to see all names.',
        f"prowess: deploy: {problem}",
    ]
    assert "mail: 2 kept" in out
    assert list(world.kept) == ["mail"]


def test_all_are_those_that_the_agent_can_choose(world: World) -> None:
    hidden = world.root / "work/skills/hidden"
    hidden.mkdir()
    front = "name: hidden\ndescription: Hides.\ndisable-model-invocation: true"
    (hidden / "SKILL.md").write_text(f"---\n{front}\n---\n")
    world.answers = {"deploy": answer(), "mail": answer(["write to the customers"])}

    code, found = world.json("generate", "--all")
    asked = sorted(world.asked)
    hidden_code, named = world.json("generate", "hidden")

    assert (code, hidden_code) == (0, 1)
    assert asked == ["deploy", "mail"]
    assert sorted(one["name"] for one in found["skills"]) == ["deploy", "mail"]
    assert "prowess why hidden" in named["failed"][0]["message"]
    assert len(world.asked) == 2


def test_a_model_that_fails_again_and_again_is_not_asked_for_every_skill(world: World) -> None:
    for number in range(6):
        folder = world.root / f"work/skills/other-{number}"
        folder.mkdir()
        (folder / "SKILL.md").write_text(f"---\nname: other-{number}\ndescription: x\n---\n")

    code, found = world.json("generate", "--all")

    assert code == 1
    assert len(world.asked) == 3
    assert len(found["failed"]) == 8
    assert found["failed"][-1]["message"] == "not asked: the model failed 3 times in a row."


@pytest.mark.parametrize("words", [(), ("deploy", "--all")])
def test_what_to_write_examples_for_must_be_said(world: World, words: Sequence[str]) -> None:
    code, out, err = world.run("generate", *words)

    assert (code, out) == (2, "")
    assert "Name the skills, or give --all" in err


def test_without_a_model_the_error_says_how_to_set_one(world: World) -> None:
    world.config()

    code, out, err = world.run("generate", "deploy")

    assert (code, out) == (1, "")
    assert "prowess config set skills.model.endpoint http://127.0.0.1:11434/v1" in err


# list, add and remove


def test_examples_are_added_listed_and_removed(world: World) -> None:
    before = world.files()
    empty = world.run("list")[1]

    added = world.run("add", "Deploy", "push it out", "go live")
    world.run("add", "deploy", "bring", "it", "online")
    listed = world.run("list")[1]
    removed = world.run("remove", "deploy", "GO LIVE")
    missing = world.run("remove", "deploy", "no such one", "push it out")

    assert empty.startswith("No examples yet: ")
    assert added == (0, "added to deploy: push it out\nadded to deploy: go live\n", "")
    assert [line.split(maxsplit=2) for line in listed.splitlines()] == [
        ["Skill", "Kind", "Message"],
        ["deploy", "confirmed", "push it out"],
        ["deploy", "confirmed", "go live"],
        ["deploy", "confirmed", "bring it online"],
    ]
    assert removed == (0, "removed from deploy: 1 example\n", "")
    assert missing[:2] == (1, "removed from deploy: 1 example\n")
    assert "deploy has no such example: no such one" in missing[2]
    assert world.kept["deploy"]["confirmed"] == ["bring it online"]
    assert world.files() == before


def test_programs_add_list_and_remove_too(world: World) -> None:
    empty: dict[str, object] = {"confirmed": [], "generated": [], "nearMisses": []}

    added = world.json("add", "deploy", "push it out")
    listed = world.json("list")
    one = world.json("list", "mail")
    removed = world.json("remove", "deploy", "go live", "push it out")

    shown = {"name": "deploy", "present": True, **empty, "confirmed": ["push it out"]}
    assert added == (0, shown)
    assert listed == (0, {"skills": [shown]})
    assert one == (0, {"skills": [{"name": "mail", "present": True, **empty}]})
    assert removed == (1, {"name": "deploy", "removed": 1, "notFound": ["go live"]})


def test_examples_of_a_skill_that_is_gone_are_listed_and_removed(world: World) -> None:
    world.run("add", "deploy", "push it out")
    (world.root / "work/skills/deploy/SKILL.md").unlink()

    listed = world.run("list")[1]
    removed = world.run("remove", "deploy", "--all")

    assert "deploy (not here)" in listed
    assert removed == (0, "removed from deploy: 1 example\n", "")
    assert world.kept == {}


@pytest.mark.parametrize(
    "words",
    [
        ("add", "deploy"),
        ("add", "deploy", " "),
        ("add", "deploy", "x" * 501),
        ("remove", "deploy"),
        ("remove", "deploy", "a", "--all"),
    ],
    ids=str,
)
def test_wrong_usage_changes_nothing(world: World, words: Sequence[str]) -> None:
    world.run("add", "deploy", "push it out")

    code, out, _ = world.run(*words)

    assert (code, out) == (2, "")
    assert world.kept["deploy"]["confirmed"] == ["push it out"]


@pytest.mark.parametrize("words", [("list",), ("add", "a b"), ("remove", "a b"), ("generate",)])
def test_a_skill_that_is_not_there_is_an_error(world: World, words: Sequence[str]) -> None:
    code, out, err = world.run(words[0], "nobody", *words[1:])

    assert (code, out) == (1, "")
    assert 'Skill "nobody" not found' in err


def on_terminal(typed: str, *words: str) -> str:
    """Run the terminal with a person in front of it and return what was drawn."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "prowess", "examples", *words]
    env = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "200"}
    with subprocess.Popen(command, env=env, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, typed.encode())
        # Decoded as a whole: a piece may end within a character.
        drawn = b"".join(iter(reader(ours), b"")).decode()
        assert process.wait(timeout=60) == 0, drawn
    os.close(ours)
    return drawn


def reader(terminal: int) -> Callable[[], bytes]:
    def read() -> bytes:
        try:
            return os.read(terminal, 65_536)
        except OSError:
            # A pseudo terminal ends with an error once nobody holds its other side.
            return b""

    return read


@pytest.mark.parametrize(
    ("typed", "options", "left"), [("n\n", (), 1), ("y\n", (), 0), ("", ("--yes",), 0)]
)
def test_a_person_is_asked_before_all_are_removed(
    world: World, typed: str, options: Sequence[str], left: int
) -> None:
    world.run("add", "deploy", "push it out")

    drawn = on_terminal(typed, "remove", "deploy", "--all", *options)

    assert ("Remove all examples of deploy?" in drawn) is bool(typed)
    assert len(world.kept) == left


def test_a_person_sees_which_skill_is_being_done(world: World) -> None:
    world.answers = {"deploy": answer(), "mail": answer(["write to the customers"])}

    drawn = on_terminal("", "generate", "mail", "deploy")

    # A bar may have stood there before.
    lines = drawn.replace("\x1b[K", "").splitlines()
    assert [line for line in lines if line.startswith(("1/", "2/"))] == ["1/2 mail", "2/2 deploy"]


# The library


def test_a_use_with_its_message_teaches_routing(world: World) -> None:
    message = "nobody can see what I changed yesterday"
    with prowess.open(world.root / "work") as runtime:
        before = runtime.routing.route(message).considered

        runtime.record_use("deploy", message)
        runtime.record_use("mail")

        after = runtime.routing.route(message).considered
        known = runtime.examples.of("deploy").examples
        with pytest.raises(SkillNotFoundError):
            runtime.record_use("nobody", message)

    assert known == Examples(confirmed=(message,))
    assert list(world.kept) == ["deploy"]
    assert after[0].skill.name == "deploy"
    assert after[0].score > max(match.score for match in before)
