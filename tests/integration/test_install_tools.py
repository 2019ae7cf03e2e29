"""Package managers, for real: what they are started with, and what they leave where."""

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.install_world import Server, World

from prowess.host.package_managers import (
    InstallMachine,
    ToolInstalls,
    clean_environment,
    direct_tool,
)
from prowess.host.processes.children import ChildProcesses
from prowess.runtime.install import InstallOutcome, Job, Preview, Watch
from prowess.safety.packages import InstallPlan, brew_plan, go_plan, node_plan, uv_plan

UV = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
NPM, GO = shutil.which("npm"), shutil.which("go")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def server() -> Iterator[Server]:
    opened = Server()
    yield opened
    opened.close()


def readlink(path: Path) -> str:
    return str(path.readlink())


def wheel(name: str = "framer") -> bytes:
    """Return a wheel of one module with one program."""
    inner = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": f"def main():\n    print('{name} 1.0')\n",
        f"{inner}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{inner}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{inner}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
    }
    files[f"{inner}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{inner}/RECORD"])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return packed.getvalue()


def serve_wheel(server: Server, name: str = "framer") -> str:
    file = f"{name}-1.0-py3-none-any.whl"
    link = f'<!DOCTYPE html><html><body><a href="/files/{file}">{file}</a></body></html>'
    server.serve(f"/simple/{name}/", link.encode(), Content_Type="text/html")
    server.serve(f"/files/{file}", wheel(name))
    return server.url("/simple/")


def serve_package(server: Server, marker: Path, name: str = "framer") -> str:
    """Serve an npm package whose scripts would leave a mark."""
    script = f"node -e \"require('fs').writeFileSync('{marker}', 'ran')\""
    described = {
        "name": name,
        "version": "1.0.0",
        "bin": {name: "cli.js"},
        "scripts": {"preinstall": script, "install": script, "postinstall": script},
    }
    files = {
        "package/package.json": json.dumps(described),
        "package/cli.js": f"#!/usr/bin/env node\nconsole.log('{name} 1.0.0')\n",
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(text), 0o644
            archive.addfile(member, io.BytesIO(text.encode()))
    body = packed.getvalue()
    digest = base64.b64encode(hashlib.sha512(body).digest()).decode()
    place = {"tarball": server.url(f"/{name}/-/{name}-1.0.0.tgz"), "integrity": f"sha512-{digest}"}
    known = {
        "name": name,
        "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {**described, "hasInstallScript": True, "dist": place}},
    }
    server.serve(f"/{name}", json.dumps(known).encode(), Content_Type="application/json")
    server.serve(f"/{name}/-/{name}-1.0.0.tgz", body)
    return server.url("/")


def with_uv(world: World, index: str) -> None:
    assert UV is not None
    world.environ |= {
        "PATH": f"{Path(UV).parent}{os.pathsep}{world.environ['PATH']}",
        "UV_DEFAULT_INDEX": index,
        "UV_CACHE_DIR": str(world.folder / "cache"),
        "UV_PYTHON": sys.executable,
    }


def stand_in(world: World, name: str, script: str) -> Path:
    """Put a program of that name first on the PATH."""
    folder = world.folder / "programs"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)
    world.environ["PATH"] = f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"
    return folder / name


def only(world: World, *names: str) -> None:
    """Have no program on the PATH but these, and what a shell needs."""
    folder = world.folder / "few"
    folder.mkdir()
    for name in ("sh", "cat", "env", "printf", "mkdir", "chmod", "sleep", "pwd", *names):
        found = shutil.which(name)
        if found is not None:
            (folder / name).symlink_to(found)
    world.environ["PATH"] = str(folder)


def run(world: World, plan: InstallPlan, *bins: str, watch: Watch | None = None) -> InstallOutcome:
    machine = InstallMachine(tools=str(world.tools), environ=world.environ)
    job = Job(key="frames", option_id="x", bins=bins, plan=plan, seconds=60.0)
    return ToolInstalls(ChildProcesses(), machine).carry_out(job, watch or Watch())


def preview(world: World, plan: InstallPlan, platform: str = "linux") -> Preview:
    machine = InstallMachine(tools=str(world.tools), environ=world.environ, platform=platform)
    job = Job(key="frames", option_id="x", bins=(), plan=plan)
    return ToolInstalls(ChildProcesses(), machine).preview(job)


@pytest.mark.skipif(UV is None, reason="uv is not installed")
def test_a_python_tool_is_installed_below_the_tools_folder_and_makes_its_skill_ready(
    world: World, server: Server
) -> None:
    with_uv(world, serve_wheel(server))
    world.skill(
        {"kind": "uv", "package": "framer", "bins": ["framer"]}, requires={"bins": ["framer"]}
    )
    runtime = world.open()
    assert not runtime.skills.find("frames").verdict.eligible

    result = world.install()

    assert (result.ok, result.message, result.code) == (True, "Installed", 0), result
    linked = world.tools / "bin" / "framer"
    assert readlink(linked) == "../uv/bin/framer"
    said = subprocess.run([linked], capture_output=True, text=True, check=True)
    assert said.stdout == "framer 1.0\n"
    assert not list((world.folder / "home").rglob("*framer*"))
    runtime.skills.refresh()
    assert runtime.skills.find("frames").verdict.eligible
    assert any("PATH" in warning for warning in result.warnings)


@pytest.mark.skipif(UV is None, reason="uv is not installed")
def test_what_is_not_in_the_index_fails_with_what_uv_says(world: World, server: Server) -> None:
    with_uv(world, serve_wheel(server))
    world.skill({"kind": "uv", "package": "nothing-of-that-name"})

    result = world.install()

    assert not result.ok
    assert result.code not in {0, None}
    assert result.message.startswith(f"Install failed (exit {result.code}): ")
    assert "nothing-of-that-name" in result.message
    assert len(result.message) < 240
    assert result.stderr


@pytest.mark.skipif(NPM is None, reason="npm is not installed")
def test_a_node_package_is_installed_and_none_of_its_scripts_run(
    world: World, server: Server
) -> None:
    mark = world.folder / "ran"
    world.environ |= {
        "npm_config_registry": serve_package(server, mark),
        "npm_config_cache": str(world.folder / "cache"),
        # The operator's wish for scripts is one thing, a stranger's package another.
        "NPM_CONFIG_IGNORE_SCRIPTS": "false",
        "NPM_CONFIG_PREFIX": str(world.folder / "elsewhere"),
    }
    world.skill({"kind": "node", "package": "framer", "bins": ["framer"]})
    careless = ["npm", "install", "--global", "--prefix", str(world.folder / "careless"), "framer"]
    subprocess.run(careless, env=world.environ, check=True, capture_output=True)
    assert mark.exists()
    mark.unlink()

    result = world.install()

    assert result.ok, result
    assert not mark.exists()
    assert not (world.folder / "elsewhere").exists()
    linked = world.tools / "bin" / "framer"
    assert readlink(linked) == "../npm/bin/framer"
    said = subprocess.run([linked], capture_output=True, text=True, check=True)
    assert said.stdout == "framer 1.0.0\n"


@pytest.mark.skipif(NPM is None, reason="npm is not installed")
def test_a_node_package_that_does_not_exist_says_so_in_one_line(
    world: World, server: Server
) -> None:
    world.environ |= {
        "npm_config_registry": server.url("/"),
        "npm_config_cache": str(world.folder / "cache"),
    }
    world.skill({"kind": "node", "package": "framer"})

    result = world.install()

    assert not result.ok
    assert "404" in result.message
    assert "\n" not in result.message


@pytest.mark.skipif(GO is None, reason="go is not installed")
def test_the_go_that_is_installed_is_new_enough_or_explained(world: World) -> None:
    world.environ["GOPROXY"] = "off"
    world.skill({"kind": "go", "module": "example.com/owner/tool@v1.0.0"})

    result = world.install()

    assert not result.ok
    assert "go" in result.message.lower()


def test_go_installs_into_a_folder_of_ours_and_keeps_the_users_settings(world: World) -> None:
    script = (
        'if [ "$1" = version ]; then echo "go version go1.22.4 linux/amd64"; exit 0; fi\n'
        'printf "#!/bin/sh\\necho \'$GOPATH $*\'\\n" > "$GOBIN/tool"; chmod +x "$GOBIN/tool"'
    )
    stand_in(world, "go", script)
    world.environ |= {"GOPATH": "/users/own", "GOBIN": "/users/bin", "GOFLAGS": "-toolexec=evil"}
    plan = go_plan("example.com/owner/tool@v1.0.0")

    outcome = run(world, plan, "tool")

    assert outcome.ok, outcome
    said = subprocess.run([world.tools / "bin/tool"], capture_output=True, text=True, check=True)
    assert said.stdout == "/users/own install -- example.com/owner/tool@v1.0.0\n"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("go version go1.20.14 linux/amd64", "Go 1.20 is too old, 1.21 or newer is needed"),
        ("go version go1.9", "Go 1.9 is too old"),
        ("what?", "does not say which one it is"),
    ],
)
def test_an_old_go_is_refused_before_it_installs_anything(
    world: World, said: str, expected: str
) -> None:
    stand_in(world, "go", f'[ "$1" = version ] && echo "{said}" && exit 0; touch "$GOBIN/tool"')

    outcome = run(world, go_plan("example.com/owner/tool@v1.0.0"), "tool")

    assert expected in outcome.problem
    assert world.installed() == set()


# Each writes a program into the place it was told, as the real one would.
_RELATIVES = {
    "pnpm": 'while [ $# -gt 0 ]; do [ "$1" = --global-bin-dir ] && into="$2"; shift; done',
    "yarn": 'while [ $# -gt 0 ]; do [ "$1" = --prefix ] && into="$2/bin"; shift; done',
    "bun": 'into="$BUN_INSTALL/bin"',
}


@pytest.mark.parametrize("manager", _RELATIVES)
def test_relatives_of_npm_are_directed_below_the_tools_folder(world: World, manager: str) -> None:
    write = 'printf "#!/bin/sh\\n" > "$into/framer"; chmod +x "$into/framer"; echo "$@" >&2'
    stand_in(world, manager, f"{_RELATIVES[manager]}\n{write}")

    outcome = run(world, node_plan("framer", manager), "framer")

    assert outcome.ok, outcome
    assert readlink(world.tools / "bin/framer") == f"../{manager}/bin/framer"
    assert "--ignore-scripts" in preview(world, node_plan("framer", manager)).commands[0].argv


def test_the_name_of_a_package_stays_behind_the_mark_that_ends_the_options(world: World) -> None:
    stand_in(world, "npm", "exit 0")

    (command,) = preview(world, node_plan("framer")).commands

    assert command.argv[-2:] == ("--", "framer")
    assert command.argv[-4:-2] == ("--prefix", str(world.tools / "npm"))


def test_a_missing_brew_is_explained_for_the_system(world: World) -> None:
    only(world)

    linux, mac = preview(world, brew_plan("jq")), preview(world, brew_plan("jq"), "darwin")

    assert "https://brew.sh" in linux.problem
    assert "apt, dnf, pacman) for jq" in linux.problem
    assert "apt" not in mac.problem


@pytest.mark.parametrize(
    ("plan", "link"),
    [
        (uv_plan("framer"), "https://docs.astral.sh/uv/"),
        (go_plan("example.com/o/t@v1"), "https://go.dev/doc/install"),
        (node_plan("framer"), "https://nodejs.org/"),
        (node_plan("framer", "bun"), "skills.install.nodeManager"),
    ],
)
def test_a_missing_manager_is_explained_and_never_fetched_by_a_script(
    world: World, plan: InstallPlan, link: str
) -> None:
    only(world)

    shown, outcome = preview(world, plan), run(world, plan)

    assert link in shown.problem
    assert "curl" not in shown.problem
    assert "|" not in shown.problem
    assert (outcome.ok, outcome.code) == (False, None)
    assert not world.tools.exists()


def test_where_brew_is_there_it_brings_the_missing_manager_first(world: World) -> None:
    only(world)
    install = (
        f'echo "brew $*"; cd {world.folder}/few; '
        "printf '#!/bin/sh\\n"
        'echo "uv $*"; printf x > "$UV_TOOL_BIN_DIR/framer"; chmod 755 "$UV_TOOL_BIN_DIR/framer"'
        "\\n' > uv; chmod 755 uv"
    )
    (world.folder / "few/brew").write_text(f"#!/bin/sh\n{install}\n", encoding="utf-8")
    (world.folder / "few/brew").chmod(0o755)
    assert [c.argv[0] for c in preview(world, uv_plan("framer")).commands] == ["brew", "uv"]

    outcome = run(world, uv_plan("framer"), "framer")

    assert outcome.ok, outcome
    assert outcome.stdout.splitlines() == [
        "brew install --formula -- uv",
        "uv tool install --no-build -- framer",
    ]
    assert (world.tools / "bin/framer").is_symlink()


def test_the_folder_of_the_child_is_empty_and_gone_afterwards(world: World) -> None:
    stand_in(world, "npm", 'pwd; [ -z "$(ls -A)" ] && echo empty')

    outcome = run(world, node_plan("framer"))

    place, word = outcome.stdout.split()
    assert word == "empty"
    assert Path(place).parent == world.tools
    assert not Path(place).exists()


def test_declared_programs_that_do_not_appear_are_named(world: World) -> None:
    stand_in(world, "npm", "exit 0")
    world.skill({"kind": "node", "package": "framer", "bins": ["framer", "stills"]})

    result = world.install()

    assert result.ok
    assert "installed, but not found: framer, stills" in result.warnings


def test_without_declared_programs_all_that_are_new_are_linked(world: World) -> None:
    stand_in(world, "go", _go_that_makes("one", "two"))

    assert run(world, go_plan("example.com/o/t@v1")).ok

    assert {path.name for path in (world.tools / "bin").iterdir()} == {"one", "two"}


def _go_that_makes(*names: str) -> str:
    made = "; ".join(f'printf x > "$GOBIN/{name}"; chmod 755 "$GOBIN/{name}"' for name in names)
    return f'[ "$1" = version ] && echo "go version go1.23" && exit 0; {made}'


def test_a_program_that_somebody_else_put_there_is_left_alone(world: World) -> None:
    stand_in(world, "go", _go_that_makes("mine", "other", "own"))
    folder = world.tools / "bin"
    folder.mkdir(parents=True)
    (folder / "mine").write_text("a file of the user", encoding="utf-8")
    (world.tools / "another").mkdir()
    (world.tools / "another/other").write_text("", encoding="utf-8")
    (folder / "other").symlink_to("../another/other")
    (folder / "own").symlink_to("../gone/own")

    outcome = run(world, go_plan("example.com/o/t@v1"), "mine", "other", "own")

    assert outcome.ok
    assert (folder / "mine").read_text(encoding="utf-8") == "a file of the user"
    assert readlink(folder / "other") == "../another/other"
    assert readlink(folder / "own") == "../go/bin/own"
    assert sum("something else has that name" in warning for warning in outcome.warnings) == 2


def test_a_tools_folder_of_a_manager_that_is_a_link_is_refused(world: World) -> None:
    stand_in(world, "go", _go_that_makes("tool"))
    outside = world.folder / "outside"
    outside.mkdir()
    world.tools.mkdir()
    (world.tools / "go").symlink_to(outside)

    outcome = run(world, go_plan("example.com/o/t@v1"), "tool")

    assert "link" in outcome.problem
    assert list(outside.iterdir()) == []


def test_an_install_that_takes_too_long_is_ended_with_all_that_it_started(world: World) -> None:
    stand_in(world, "npm", "echo begun; sleep 600 & sleep 600")
    world.skill({"kind": "node", "package": "framer"})

    # It needs some of its time to begin: how much depends on what else the machine has to do.
    for seconds in (1, 30):
        result = world.install(timeout_ms=1000 * seconds)
        if result.stdout:
            break

    assert (result.ok, result.code) == (False, None)
    assert f"took longer than {seconds} s" in result.message
    # It is said to people at a terminal and to programs.
    assert all(name in result.message for name in ("--timeout", "timeoutMs"))
    assert result.stdout == "begun\n"


def test_an_install_can_be_watched_and_stopped(world: World) -> None:
    stand_in(world, "npm", "echo begun; sleep 600")
    stop, heard = threading.Event(), []

    def output(stream: str, text: str) -> None:
        heard.append((stream, text))
        stop.set()

    outcome = run(world, node_plan("framer"), watch=Watch(output=output, stop=stop))

    assert outcome.problem == "it was stopped."
    assert heard == [("stdout", "begun\n")]


def test_an_installer_sees_the_operators_registries_and_no_loader_or_secret() -> None:
    base = {
        "PATH": "/bin", "HOME": "/h", "LANG": "C", "HTTPS_PROXY": "p", "SSL_CERT_FILE": "c",
        "UV_INDEX_URL": "i", "PIP_INDEX_URL": "i", "npm_config_registry": "r", "NPM_TOKEN": "t",
        "GOPROXY": "g", "NODE_EXTRA_CA_CERTS": "c", "ASDF_DIR": "a", "HOMEBREW_PREFIX": "b",
        "LD_PRELOAD": "x", "NODE_OPTIONS": "x", "PYTHONPATH": "x", "BASH_ENV": "x",
        "GIT_SSH_COMMAND": "x", "npm_config_node_options": "x", "OPENAI_API_KEY": "x",
        "AWS_SECRET_ACCESS_KEY": "x", "WORKSPACE_NAME": "x", "GOFLAGS": "x",
    }  # fmt: skip

    seen = clean_environment(base, configured=["WORKSPACE_NAME", "PATH"])

    assert "x" not in seen.values()
    assert set(base) - set(seen) == {name for name, value in base.items() if value == "x"}


def test_the_secrets_that_the_config_gives_to_skills_do_not_reach_an_installer(
    world: World,
) -> None:
    stand_in(world, "npm", "env")
    world.environ |= {"FRAMES_ACCOUNT": "hush", "FRAMES_WORD": "hush", "PLAIN": "seen"}
    entry = {"apiKey": "hush", "env": {"FRAMES_WORD": "hush"}}
    world.configure(entries={"frames": entry})
    world.skill({"kind": "node", "package": "framer"}, primaryEnv="FRAMES_ACCOUNT")

    result = world.install()

    assert "PLAIN=seen" in result.stdout
    assert "hush" not in result.stdout


def test_brew_is_not_directed_anywhere() -> None:
    way = direct_tool("brew", "/tools")

    assert (way.home, way.options, way.environment) == ("", (), ())


def test_npm_on_windows_has_its_programs_beside_its_modules() -> None:
    assert direct_tool("npm", "/tools", windows=True).programs == ""
