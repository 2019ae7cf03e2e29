"""Attacks by way of environment variables: each is first shown to work, then refused."""

import asyncio
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.rows import each_row

from prowess.runtime.environment import EnvironmentOverlay, SkillVariables, child_environment
from prowess.safety.environment import judge

SHOWN_NOWHERE = "do-not-show-this"
PRINT = "import os, sys; print(*(os.environ.get(name, '-') for name in sys.argv[1:]), sep='|')"


def base() -> dict[str, str]:
    """Return what a child needs to start, and nothing that tests add."""
    return {key: os.environ[key] for key in ("PATH", "SYSTEMROOT") if key in os.environ}


def python(environment: Mapping[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", *arguments],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def bash(environment: Mapping[str, str], line: str) -> str:
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("no bash on this machine")
    done = subprocess.run(
        [shell, "-c", line],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def naive(overlay: Mapping[str, str], declared: list[str]) -> dict[str, str]:
    """Allow what a skill declares, which is how a skill gets anything allowed."""
    return base() | {key: value for key, value in overlay.items() if key in declared}


def test_g27_a_declaration_of_pythonpath_does_not_bring_code_into_every_python(
    tmp_path: Path,
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('owned')\n", encoding="utf-8")
    overlay = {"PYTHONPATH": str(tmp_path)}

    assert python(naive(overlay, ["PYTHONPATH"]), "print('work')") == "owned\nwork"

    made = child_environment(base(), SkillVariables(values=overlay, declared=["PYTHONPATH"]))
    assert python(made.values, "print('work')") == "work"
    assert [blocked.key for blocked in made.blocked] == ["PYTHONPATH"]


def test_g27_a_declaration_of_bash_env_does_not_bring_code_into_every_script(
    tmp_path: Path,
) -> None:
    hook = tmp_path / "data.txt"
    hook.write_text("echo owned\n", encoding="utf-8")
    overlay = {"BASH_ENV": str(hook)}

    assert bash(naive(overlay, ["BASH_ENV"]), "echo work") == "owned\nwork"

    made = child_environment(base(), SkillVariables(values=overlay, declared=["BASH_ENV"]))
    assert bash(made.values, "echo work") == "work"


def test_g27_a_declaration_of_path_does_not_decide_which_program_runs(tmp_path: Path) -> None:
    fake = tmp_path / "git"
    fake.write_text("#!/bin/sh\necho owned\n", encoding="utf-8")
    fake.chmod(0o755)
    overlay = {"PATH": str(tmp_path)}

    assert naive(overlay, ["PATH"])["PATH"] == str(tmp_path)
    assert shutil.which("git", path=naive(overlay, ["PATH"])["PATH"]) == str(fake)

    made = child_environment(base(), SkillVariables(values=overlay, declared=["PATH"]))
    assert made.values["PATH"] == base()["PATH"]
    assert made.blocked[0].key == "PATH"


@pytest.mark.parametrize(
    "key", ["NODE_OPTIONS", "LD_PRELOAD", "GIT_SSH_COMMAND", "OPENAI_BASE_URL"]
)
def test_g27_a_primary_variable_that_is_denied_never_reaches_a_child(key: str) -> None:
    overlay = {key: "harmless-looking"}

    assert python(naive(overlay, [key]), PRINT, key) == "harmless-looking"

    made = child_environment(base(), SkillVariables(values=overlay, declared=[key]))
    assert python(made.values, PRINT, key) == "-"
    assert "is not for skills to set" in made.blocked[0].reason


def test_g28_a_small_letter_proxy_does_not_see_the_traffic() -> None:
    overlay = {"http_proxy": "http://203.0.113.9:8080"}
    asks = "import urllib.request; print(urllib.request.getproxies().get('http', '-'))"

    assert "http_proxy" not in {"HTTP_PROXY", "HTTPS_PROXY"}
    assert python(base() | overlay, asks) == "http://203.0.113.9:8080"

    assert (
        python(child_environment(base(), SkillVariables(values=overlay, declared=())).values, asks)
        == "-"
    )


def test_g28_a_function_in_a_name_does_not_replace_a_command() -> None:
    overlay = {"BASH_FUNC_date%%": "() { echo owned; }"}

    assert bash(base() | overlay, "date") == "owned"

    made = child_environment(base(), SkillVariables(values=overlay, declared=list(overlay)))
    assert bash(made.values, "date") != "owned"


def test_g28_spaces_around_a_name_do_not_hide_it() -> None:
    denied = {"PATH"}
    key = " path "

    assert key not in denied
    assert key.strip().upper() in denied

    assert judge(key, "/evil", [key]).group == "search_path"


@each_row(
    "key",
    ["\uff30\uff21\uff34\uff28", "PATH\0", "PA\u200bTH", "LD_PRELOAD\n=x", "", "K=V", "K" * 300],
)
def test_g28_a_name_that_is_none_is_refused(key: str) -> None:
    assert key not in {"PATH", "LD_PRELOAD"}

    assert not judge(key, "x", [key]).allowed
    assert child_environment({}, SkillVariables(values={key: "x"}, declared=[key])).values == {}


def test_g29_overlapping_runs_restore_what_was_there() -> None:
    mapping: dict[str, str] = {}
    saved_first = dict(mapping)
    mapping["MODE"] = "first"
    saved_second = dict(mapping)
    mapping["MODE"] = "second"
    # The first run ends first, and the second one then restores what the first had set.
    mapping.clear()
    mapping.update(saved_first)
    mapping.update(saved_second)
    assert mapping == {"MODE": "first"}

    mapping.clear()
    overlay = EnvironmentOverlay(mapping)
    first = overlay.run(SkillVariables(values={"MODE": "first"}, declared=())).__enter__()
    second = overlay.run(SkillVariables(values={"MODE": "second"}, declared=())).__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert mapping == {}


def test_g29_a_run_that_fails_or_is_cancelled_restores_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PROBE_MODE", raising=False)
    monkeypatch.setenv("PROBE_KEPT", "bytes: \udcff\udcfe")
    before = dict(os.environb) if os.supports_bytes_environ else dict(os.environ)
    overlay = EnvironmentOverlay(os.environ)

    async def endless() -> None:
        async with overlay.run(
            SkillVariables(values={"PROBE_MODE": "x", "PROBE_KEPT": "y"}, declared=())
        ):
            assert os.environ["PROBE_MODE"] == "x"
            await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(endless())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    with (
        pytest.raises(KeyError),
        overlay.run(SkillVariables(values={"PROBE_MODE": "x"}, declared=())),
    ):
        raise KeyError

    after = dict(os.environb) if os.supports_bytes_environ else dict(os.environ)
    assert after == before


def test_g30_a_secret_of_one_skill_does_not_reach_the_children_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("WEATHER_TOKEN", raising=False)
    overlay = EnvironmentOverlay(os.environ)
    with overlay.run(
        SkillVariables(values={"WEATHER_TOKEN": SHOWN_NOWHERE}, declared=["WEATHER_TOKEN"])
    ):
        assert python(os.environ, PRINT, "WEATHER_TOKEN") == SHOWN_NOWHERE

        other = child_environment(
            os.environ, SkillVariables(values={}, declared=()), active=overlay.active
        )
        assert python(other.values, PRINT, "WEATHER_TOKEN") == "-"


def test_g30_the_environment_of_a_child_is_not_that_of_the_process() -> None:
    made = child_environment(
        os.environ,
        SkillVariables(values={"WEATHER_TOKEN": SHOWN_NOWHERE}, declared=["WEATHER_TOKEN"]),
    )

    assert python(made.values, PRINT, "WEATHER_TOKEN") == SHOWN_NOWHERE
    assert "WEATHER_TOKEN" not in os.environ
    assert SHOWN_NOWHERE not in repr(made)


def test_g30_no_setting_of_a_skill_changes_where_this_process_connects() -> None:
    before = urllib.request.getproxies()
    overlay = EnvironmentOverlay(os.environ)
    with overlay.run(
        SkillVariables(values={"HTTPS_PROXY": "http://203.0.113.9", "all_proxy": "x"}, declared=())
    ) as run:
        assert urllib.request.getproxies() == before
        assert len(run.blocked) == 2
