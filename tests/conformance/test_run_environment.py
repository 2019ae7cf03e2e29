"""A run: what is pinned, which variables are in place while it lasts, and what is left after it."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

import prowess
from prowess.errors import UnknownAgentError

from .world import NO_BUNDLED, NO_SUCH_BIN, World, openclaw, requires

CANARY = "canary-4c1e77-never-show"

# Section E of the reference: what no skill may set, whatever it declares.
DENIED_PREFIXES = """
LD_ DYLD_ _RLD BASH_FUNC_ MALLOC_ GLIBC_ OPENCLAW_ CLAWDBOT_ MOLTBOT_ AGENTSKILLS_ SKILLS_ CLAUDE_
CLAUDECODE CODEX_ GIT_ NPM_CONFIG_ PNPM_ YARN_ COREPACK_ BUN_ PIP_ PIPX_ UV_ POETRY_ CONDA_ MAMBA_
CARGO_ RUSTUP_ BUNDLE_ GEM_ HOMEBREW_ NIX_ MIX_ HEX_ CGO_ CMAKE_ GRADLE_ DOTNET_ COMPLUS_ CORECLR_
COR_ MAVEN_ ANSIBLE_ TF_ HELM_ JULIA_ LUA_INIT LUA_PATH LUA_CPATH OPENSSL_ SUDO_ PYENV_ RBENV_ ASDF_
MISE_
"""
DENIED_KEYS = """
PATH PATHEXT SHELL ENV BASH_ENV KSH_ENV ZDOTDIR IFS PS1 PS4 PROMPT_COMMAND SHELLOPTS BASHOPTS
BASH_LOADABLES_PATH BASH_XTRACEFD FPATH CDPATH GLOBIGNORE HISTFILE COMSPEC PSMODULEPATH SYSTEMROOT
WINDIR HOME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA XDG_CONFIG_HOME XDG_CONFIG_DIRS
XDG_DATA_HOME XDG_DATA_DIRS XDG_RUNTIME_DIR TMPDIR TMP TEMP GNUPGHOME NETRC IPYTHONDIR
JUPYTER_CONFIG_DIR JUPYTER_PATH PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONUSERBASE PYTHONBREAKPOINT
PYTHONINSPECT PYTHONEXECUTABLE PYTHONPLATLIBDIR PYTHONPYCACHEPREFIX PYTHONWARNINGS VIRTUAL_ENV
SETUPTOOLS_USE_DISTUTILS NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NODE_REPL_HISTORY
NODE_REDIRECT_WARNINGS NODE_V8_COVERAGE NODE_COMPILE_CACHE NODE_EXTRA_CA_CERTS
NODE_TLS_REJECT_UNAUTHORIZED ELECTRON_RUN_AS_NODE DENO_DIR TS_NODE_PROJECT PERL5LIB PERL5OPT PERL5DB
PERL5DBCMD PERL_MB_OPT PERL_MM_OPT RUBYLIB RUBYOPT RUBYSHELL RUBYGEMS_GEMDEPS PHPRC PHP_INI_SCAN_DIR
COMPOSER_HOME JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS CLASSPATH ANT_OPTS SBT_OPTS
CATALINA_OPTS ERL_AFLAGS ERL_FLAGS ERL_ZFLAGS ERL_LIBS ELIXIR_ERL_OPTIONS R_ENVIRON R_ENVIRON_USER
R_PROFILE R_PROFILE_USER R_LIBS R_LIBS_USER TCLLIBPATH GUILE_LOAD_PATH CAML_LD_LIBRARY_PATH CC CXX
LD AR CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH
OBJC_INCLUDE_PATH PKG_CONFIG_PATH PKG_CONFIG_LIBDIR ACLOCAL_PATH CONFIG_SITE CONFIG_SHELL MAKEFLAGS
MFLAGS MAKEFILES RUSTFLAGS RUSTDOCFLAGS RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER GOFLAGS GOPATH
GOENV GOPROXY GOPRIVATE GONOPROXY GONOSUMDB GONOSUMCHECK GOSUMDB GOINSECURE GOTOOLCHAIN M2_HOME
NVM_DIR VOLTA_HOME SDKMAN_DIR EDITOR VISUAL FCEDIT PAGER MANPAGER MANOPT LESS LESSOPEN LESSCLOSE
LESSKEY BROWSER SYSTEMD_EDITOR SYSTEMD_PAGER SSH_ASKPASS SSH_AUTH_SOCK RSYNC_RSH SVN_SSH SVN_EDITOR
BZR_EDITOR BZR_SSH BZR_PLUGIN_PATH HGRCPATH HGEDITOR CVS_RSH TAR_OPTIONS UNZIP UNZIPOPT ZIPOPT
XZ_OPT GZIP RIPGREP_CONFIG_PATH FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS GREP_OPTIONS PARALLEL PSQLRC
PSQL_PAGER PSQL_EDITOR PGSERVICEFILE PGPASSFILE MYSQL_HOME CURL_HOME WGETRC VIMINIT EXINIT GVIMINIT
MYVIMRC NVIM_APPNAME EMACSLOADPATH JULIA_EDITOR SUDO_ASKPASS PACKER_PLUGIN_PATH VAGRANT_VAGRANTFILE
DIRENV_CONFIG HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR
REQUESTS_CA_BUNDLE CURL_CA_BUNDLE AWS_CA_BUNDLE SSLKEYLOGFILE HOSTALIASES RES_OPTIONS LOCALDOMAIN
KRB5_CONFIG KRB5CCNAME DOCKER_HOST DOCKER_CONTEXT DOCKER_CONFIG DOCKER_CERT_PATH DOCKER_TLS_VERIFY
CONTAINER_HOST BUILDKIT_HOST KUBECONFIG GCONV_PATH GLIBC_TUNABLES LOCPATH NLSPATH TERMINFO
TERMINFO_DIRS TERMCAP GTK_MODULES GTK_PATH GIO_MODULE_DIR GST_PLUGIN_PATH QT_PLUGIN_PATH
QT_QPA_PLATFORM_PLUGIN_PATH VK_LAYER_PATH VK_ICD_FILENAMES OCL_ICD_VENDORS CUDA_INJECTION64_PATH
OPENAI_BASE_URL OPENAI_API_BASE ANTHROPIC_BASE_URL GOOGLE_GEMINI_BASE_URL AZURE_OPENAI_ENDPOINT
AZURE_CLIENT_ID OLLAMA_HOST HF_ENDPOINT AWS_ENDPOINT_URL AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE
AWS_WEB_IDENTITY_TOKEN_FILE AWS_CONTAINER_CREDENTIALS_FULL_URI
AWS_CONTAINER_CREDENTIALS_RELATIVE_URI GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG
AZURE_CONFIG_DIR AZURE_AUTH_LOCATION VAULT_ADDR
"""
ACCOUNTS = (
    *("GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "NPM_TOKEN", "DATABASE_URL", "REDIS_URL"),
    *("MONGODB_URI", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
)
ODD_SPELLINGS = (
    *(" PATH ", "path", "Path", "\uff30\uff21\uff34\uff28", "PATH\u0000", "\u0000PATH", "PATH\n"),
    *("http_proxy", "Https_Proxy", "npm_config_registry", "git_ssh_command", "ld_preload"),
    *("BASH_FUNC_ls%%", "BASH_FUNC_ls()", "PA\u200bTH", "PATH=x", "A=B", "A B", "1ABC", "A-B"),
    *("\u017f\u0048ELL", "LD_\u0050RELOAD", ".."),
)


@pytest.fixture(autouse=True)
def _process(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make this process the world's own, and hold that every test leaves it as it was."""
    for name in list(os.environ):
        if not name.startswith("PYTEST"):
            monkeypatch.delenv(name)
    for name, value in world.env().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(world.workspace)
    before = environment()
    yield
    while world.opened:
        world.opened.pop().close()
    assert environment() == before


def environment() -> dict[str, str]:
    """The variables of this process, but for the one in which pytest says where it is."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}


def opened(world: World) -> prowess.Runtime:
    """Open the library on the process itself."""
    runtime = prowess.open(world.workspace, home=world.state)
    world.opened.append(runtime)
    return runtime


def configured(world: World, **entries: object) -> None:
    """Write the entries of skills, named by their keys with `_` for `-`."""
    keyed = {name.replace("_", "-"): entry for name, entry in entries.items()}
    world.settings(**NO_BUNDLED, entries=keyed)


def keyed_skill(world: World, name: str = "weather", **fields: object) -> None:
    """Write a skill that has a primary variable."""
    world.skill(name, metadata=openclaw(**{"primaryEnv": "WEATHER_API_KEY", **fields}))


def overlay(world: World) -> dict[str, str]:
    """What a run that changes only `run.environ` adds to the environment."""
    with opened(world).run(process_wide=False) as run:
        before = environment()
        return {
            name: value
            for name, value in run.environ.items()
            if before.get(name) != value and not name.startswith("PYTEST")
        }


def warned(run: Any) -> str:  # noqa: ANN401 - a run of either kind
    """Everything that a run says about its variables."""
    return repr(run.environment)


# What is in place.


@pytest.mark.requirement("run:environment-applied", "run:environment-restored")
def test_a_run_sets_what_the_config_gives_a_skill_and_takes_it_back(world: World) -> None:
    keyed_skill(world)
    configured(world, weather={"apiKey": "key-1", "env": {"UNITS": "si"}})

    with opened(world).run(agent="main", session="s1") as run:
        seen = (os.environ["UNITS"], os.environ["WEATHER_API_KEY"])
        child = subprocess.run(
            [sys.executable, "-c", "import os; print(os.environ['UNITS'])"],
            env=run.environ,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert seen == ("si", "key-1")
    assert child == "si\n"
    assert not {"UNITS", "WEATHER_API_KEY"} & set(os.environ)


@pytest.mark.requirement("run:environment-applied", "run:async")
def test_the_asynchronous_twin_does_the_same(world: World) -> None:
    keyed_skill(world)
    configured(world, weather={"apiKey": "key-1", "env": {"UNITS": "si"}})

    async def turn() -> tuple[str, str, bool, object]:
        async with opened(world).run(agent="main", session="s1") as run:
            proposed = await run.turn([{"role": "user", "content": "hello"}], [], ok=True)
            return os.environ["UNITS"], run.environ["WEATHER_API_KEY"], bool(run.prompt), proposed

    assert asyncio.run(turn()) == ("si", "key-1", True, ())
    assert not {"UNITS", "WEATHER_API_KEY"} & set(os.environ)


@pytest.mark.requirement("run:parts")
def test_a_run_has_a_prompt_routes_and_commands(world: World) -> None:
    world.settings(**NO_BUNDLED)
    world.skill("weather", description="Forecast the weather for a town.")

    with opened(world).run() as run:
        route = run.route("what will the weather be like in Bergen tomorrow?")
        nothing = run.route("thanks!")
        command = run.command("/weather Bergen")

    assert "<name>weather</name>" in run.prompt
    assert [match.skill.name for match in route.matches] == ["weather"]
    assert route.matches[0].reasons
    assert nothing.matches == ()
    assert command is not None
    assert command.arguments == "Bergen"


@pytest.mark.requirement("run:host-wins")
def test_a_variable_of_the_host_is_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    keyed_skill(world)
    configured(world, weather={"apiKey": "key-1", "env": {"UNITS": "si", "BLANK": "filled"}})
    with monkeypatch.context() as patch:
        patch.setenv("UNITS", "imperial")
        patch.setenv("WEATHER_API_KEY", "the-host-s")
        patch.setenv("BLANK", "")
        with opened(world).run():
            assert os.environ["UNITS"] == "imperial"
            assert os.environ["WEATHER_API_KEY"] == "the-host-s"
            assert os.environ["BLANK"] == ""
        assert os.environ["UNITS"] == "imperial"


@pytest.mark.requirement("run:env-before-api-key")
def test_an_explicit_variable_comes_before_the_api_key(world: World) -> None:
    keyed_skill(world)
    configured(world, weather={"apiKey": "from-key", "env": {"WEATHER_API_KEY": "from-env"}})

    assert overlay(world)["WEATHER_API_KEY"] == "from-env"


@pytest.mark.requirement("run:entry-by-skill-key")
def test_the_entry_is_looked_up_by_the_skill_key(world: World) -> None:
    keyed_skill(world, "weather", skillKey="sky")
    configured(world, sky={"env": {"FROM": "key"}}, weather={"env": {"OTHER": "name"}})

    assert overlay(world) == {"FROM": "key"}


@pytest.mark.requirement("run:only-usable-skills")
def test_a_skill_that_the_agent_cannot_use_sets_nothing(world: World) -> None:
    for name in ("off", "lacking", "filtered", "usable"):
        bins = [NO_SUCH_BIN] if name == "lacking" else []
        world.skill(name, metadata=requires(bins=bins))
    entries = {
        name: {"enabled": name != "off", "env": {f"OF_{name.upper()}": "x"}}
        for name in ("off", "lacking", "filtered", "usable", "no-such-skill")
    }
    listed = [{"id": "main", "skills": ["off", "lacking", "usable"]}]
    world.config({"skills": {**NO_BUNDLED, "entries": entries}, "agents": {"list": listed}})

    assert overlay(world) == {"OF_USABLE": "x"}


@pytest.mark.requirement("run:blank-values")
def test_blank_names_and_blank_values_are_not_set(world: World) -> None:
    world.skill("plain")
    given = {"": "x", "  ": "x", "EMPTY": "", "BLANK": "   ", "REAL": "x"}
    configured(world, plain={"env": given})

    assert overlay(world) == {"REAL": "x"}


@pytest.mark.requirement("run:wrong-types")
@pytest.mark.parametrize(
    "entry",
    [
        {"env": "UNITS=si"},
        {"env": ["UNITS"]},
        {"env": {"UNITS": ["si"], "DEEP": {"a": "b"}, "NOTHING": None}},
        {"apiKey": ["x"]},
        {"apiKey": {}},
        {"apiKey": {"source": "moon", "id": "X"}},
        {"apiKey": {"source": "exec", "command": {"run": "x"}}},
        {"apiKey": {"source": "exec", "command": []}},
        {"apiKey": {"source": "exec", "command": [5]}},
        {"apiKey": {"source": "file", "path": 5}},
        {"apiKey": {"source": "env", "name": ["X"]}},
        {"apiKey": {"source": ["env"], "name": "X"}},
        {"allowEnv": "GITHUB_TOKEN", "env": {"GITHUB_TOKEN": "x"}},
        {"allowEnv": {"GITHUB_TOKEN": True}, "env": {"GITHUB_TOKEN": "x"}},
        {"allowEnv": [None, 5], "env": {"GITHUB_TOKEN": "x"}},
        None,
        "on",
        [],
    ],
    ids=repr,
)
def test_an_entry_of_the_wrong_kind_sets_nothing_and_stops_nothing(
    world: World, entry: object
) -> None:
    keyed_skill(world, requires={"env": ["GITHUB_TOKEN"]}, always=True)
    world.skill("sibling")
    configured(world, weather=entry, sibling={"env": {"REAL": "x"}})

    assert overlay(world) == {"REAL": "x"}


# How it ends.


@pytest.mark.requirement("run:environment-restored")
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_the_environment_is_restored_when_a_run_fails(
    world: World, error: type[BaseException]
) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"UNITS": "si"}})
    before = environment()

    def failing() -> None:
        assert os.environ["UNITS"] == "si"
        raise error

    with pytest.raises(error), opened(world).run():
        failing()

    assert environment() == before


@pytest.mark.requirement("run:environment-restored", "run:async")
def test_the_environment_is_restored_when_a_run_is_cancelled(world: World) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"UNITS": "si"}})
    inside = asyncio.Event()

    async def endless(runtime: prowess.Runtime) -> None:
        async with runtime.run():
            inside.set()
            await asyncio.Event().wait()

    async def cancelled() -> str:
        task = asyncio.create_task(endless(opened(world)))
        await inside.wait()
        seen = os.environ["UNITS"]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return seen

    assert asyncio.run(cancelled()) == "si"
    assert "UNITS" not in os.environ


@pytest.mark.requirement("run:environment-restored", "run:async")
def test_a_run_that_is_cancelled_while_it_begins_leaves_nothing_behind(world: World) -> None:
    begun, release = world.home / "begun", world.home / "release"
    for pipe in (begun, release):
        os.mkfifo(pipe)
    script = f"echo begun > {begun}; read word < {release}; echo $word"
    followed = {"source": "exec", "command": ["/bin/sh", "-c", script], "timeoutMs": 60_000}
    keyed_skill(world)
    configured(world, weather={"apiKey": followed, "env": {"UNITS": "si"}})
    entered = []

    async def turn(runtime: prowess.Runtime) -> None:
        async with runtime.run():
            entered.append(True)

    async def cancelled() -> None:
        task = asyncio.create_task(turn(opened(world)))
        await asyncio.to_thread(begun.read_text)
        task.cancel()
        # The end of the program that was asked for comes after the cancellation, or never.
        writing = os.open(release, os.O_RDWR | os.O_NONBLOCK)
        os.write(writing, b"late\n")
        with pytest.raises(asyncio.CancelledError):
            await task
        os.close(writing)

    asyncio.run(cancelled())

    assert entered == []
    assert not {"UNITS", "WEATHER_API_KEY"} & set(os.environ)


@pytest.mark.requirement("run:environment-restored")
def test_what_others_did_to_the_variable_does_not_outlive_the_run(world: World) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"UNITS": "si", "GONE": "x"}})

    with opened(world).run():
        os.environ["UNITS"] = "changed"
        del os.environ["GONE"]

    assert not {"UNITS", "GONE"} & set(os.environ)


@pytest.mark.requirement("run:unknown-agent")
def test_a_run_that_cannot_begin_changes_nothing(world: World) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"UNITS": "si"}})

    with pytest.raises(UnknownAgentError), opened(world).run(agent="nobody"):
        pytest.fail("the run began")

    assert "UNITS" not in os.environ


# Runs that overlap.


@pytest.mark.requirement("run:reference-counted")
def test_the_first_value_stays_until_the_last_run_ends(world: World) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"UNITS": "first"}})
    first = opened(world).run()
    with ExitStack() as later:
        with first:
            configured(world, plain={"env": {"UNITS": "second"}})
            later.enter_context(opened(world).run())
            both = os.environ["UNITS"]
        alone = os.environ["UNITS"]

    assert (both, alone) == ("first", "first")
    assert "UNITS" not in os.environ


@pytest.mark.requirement("run:reference-counted")
def test_a_variable_that_somebody_deletes_comes_back_while_a_run_needs_it(world: World) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"UNITS": "si"}})
    runtime = opened(world)

    with runtime.run():
        with runtime.run():
            del os.environ["UNITS"]
        assert os.environ["UNITS"] == "si"


@pytest.mark.requirement("run:reference-counted")
def test_nested_failing_runs_unwind_one_by_one(world: World) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"UNITS": "si"}})
    runtime = opened(world)

    with runtime.run():
        for _ in range(3):
            with pytest.raises(ValueError, match="inner"), runtime.run():
                raise ValueError("inner")
            assert os.environ["UNITS"] == "si"

    assert "UNITS" not in os.environ


@pytest.mark.requirement("run:reference-counted")
def test_runs_in_many_threads_leave_the_environment_as_it_was(world: World) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"UNITS": "si"}})
    runtime = opened(world)
    count = 8
    together = threading.Barrier(count)

    def work(number: int) -> bool:
        together.wait(timeout=60)
        held = []
        for turn in range(5):
            with suppress(LookupError), runtime.run(session=f"s{number}"):
                held.append(os.environ.get("UNITS") == "si")
                if turn % 2:
                    raise LookupError
        return held == [True] * 5

    with ThreadPoolExecutor(count) as pool:
        assert list(pool.map(work, range(count))) == [True] * count

    assert "UNITS" not in os.environ


@pytest.mark.requirement("run:reference-counted", "run:async")
def test_runs_in_many_tasks_leave_the_environment_as_it_was(world: World) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"UNITS": "si"}})
    runtime = opened(world)

    async def turn(number: int) -> bool:
        async with runtime.run(session=f"s{number % 3}"):
            await asyncio.sleep(0)
            held = os.environ.get("UNITS") == "si"
            if number % 4 == 0:
                raise LookupError
            return held

    async def all_turns() -> list[bool | BaseException]:
        return await asyncio.gather(*(turn(n) for n in range(20)), return_exceptions=True)

    answers = asyncio.run(all_turns())

    assert [type(answer) for answer in answers].count(LookupError) == 5
    assert {answer for answer in answers if isinstance(answer, bool)} == {True}
    assert "UNITS" not in os.environ


@pytest.mark.requirement("run:children-of-others")
def test_children_of_one_run_do_not_see_the_variables_of_another(world: World) -> None:
    for name in ("one", "two"):
        world.skill(name)
    listed = [{"id": "main", "skills": ["one"]}, {"id": "side", "skills": ["two"]}]
    entries = {"one": {"env": {"OF_ONE": "1"}}, "two": {"env": {"OF_TWO": "2"}}}
    world.config({"skills": {**NO_BUNDLED, "entries": entries}, "agents": {"list": listed}})
    runtime = opened(world)

    with runtime.run(agent="main") as one, runtime.run(agent="side") as two:
        seen = {name for name in two.environ if name.startswith("OF_")}
        earlier = {name for name in one.environ if name.startswith("OF_")}

    assert (earlier, seen) == ({"OF_ONE"}, {"OF_TWO"})


@pytest.mark.requirement("run:process-wide-off")
def test_without_process_wide_only_children_have_the_variables(world: World) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"UNITS": "si"}})

    with opened(world).run(process_wide=False) as run:
        assert "UNITS" not in os.environ
        assert run.environ["UNITS"] == "si"
        assert run.environ["HOME"] == str(world.home)


@pytest.mark.requirement("run:process-wide-off")
def test_a_mapping_of_ones_own_keeps_the_process_out_of_it(world: World) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"UNITS": "si"}})

    with world.open({"MINE": "x"}).run() as run:
        assert (run.environ["UNITS"], run.environ["MINE"]) == ("si", "x")
        assert "UNITS" not in os.environ


# What a skill may not set.


@pytest.mark.requirement("run:denied-keys")
def test_no_denied_variable_is_set_whatever_the_skill_declares(world: World) -> None:
    prefixed = [f"{prefix}XYZ" for prefix in DENIED_PREFIXES.split()]
    names = [*DENIED_KEYS.split(), *prefixed]
    # The host has none of them, so that nothing but the rule keeps them out.
    empty = dict.fromkeys((name for name in names if name not in {"HOME", "PATH"}), None)
    fields = {"primaryEnv": "NODE_OPTIONS", "requires": {"env": names}, "always": True}
    world.skill("greedy", metadata=openclaw(**fields))
    entry = {"apiKey": CANARY, "env": dict.fromkeys(names, CANARY), "allowEnv": names}
    configured(world, greedy=entry)

    with world.open(empty).run(process_wide=False) as run:
        set_anyway = [name for name, value in run.environ.items() if CANARY in value]
        blocked = {item.key for item in run.environment.blocked}

    assert set_anyway == []
    assert set(names) <= blocked


@pytest.mark.requirement("run:denied-keys")
@pytest.mark.parametrize("name", ODD_SPELLINGS, ids=ascii)
def test_an_odd_spelling_of_a_denied_variable_is_not_set_either(world: World, name: str) -> None:
    fields = {"primaryEnv": name, "requires": {"env": [name]}, "always": True}
    world.skill("greedy", metadata=openclaw(**fields))
    configured(world, greedy={"apiKey": CANARY, "env": {name: CANARY}, "allowEnv": [name]})
    before = environment()

    with opened(world).run() as run:
        assert environment() == before
        assert CANARY not in run.environ.values()
        assert CANARY not in warned(run)


@pytest.mark.requirement("run:denied-keys")
def test_a_skill_cannot_point_its_children_at_another_state_folder(world: World) -> None:
    world.skill("greedy", metadata=requires(env=["PROWESS_SKILLS_PROMPT_FILE"]))
    given = {"PROWESS_HOME": CANARY, "PROWESS_SKILLS_PROMPT_FILE": CANARY, "PROWESS_MODEL": CANARY}
    configured(world, greedy={"env": given})

    with world.open({"PROWESS_HOME": str(world.state)}).run(process_wide=False) as run:
        assert CANARY not in run.environ.values()


@pytest.mark.requirement("run:secrets-declared")
def test_a_secret_is_set_only_for_the_skill_that_declares_it(world: World) -> None:
    names = (
        *("A_API_KEY", "B_TOKEN", "C_SECRET", "D_PASSWORD", "E_PRIVATE_KEY", "F_ACCESS_KEY"),
        *("G_CREDENTIALS", "H_DSN", "I_CONNECTION_STRING", "j_token", "K_APIKEY"),
    )
    given = dict.fromkeys(names, CANARY)
    world.skill("declares", metadata=openclaw(primaryEnv="B_TOKEN", requires={"env": [names[0]]}))
    world.skill("greedy")
    configured(world, declares={"env": given}, greedy={"env": given})

    with opened(world).run(process_wide=False) as run:
        held = {name for name, value in run.environ.items() if value == CANARY}
        blocked = {(item.skill, item.key) for item in run.environment.blocked}

    assert held == {"A_API_KEY", "B_TOKEN"}
    assert {("greedy", "A_API_KEY"), ("greedy", "B_TOKEN"), ("declares", "C_SECRET")} <= blocked


@pytest.mark.requirement("run:secrets-declared")
def test_the_declaration_of_one_skill_opens_nothing_for_another(world: World) -> None:
    world.skill("declares", metadata=openclaw(primaryEnv="B_TOKEN"))
    world.skill("greedy")
    configured(world, greedy={"env": {"B_TOKEN": CANARY}})

    assert overlay(world) == {}


@pytest.mark.requirement("run:accounts-blocked")
def test_an_account_of_the_operator_is_blocked_although_declared(world: World) -> None:
    world.skill("hub", metadata=openclaw(requires={"env": list(ACCOUNTS)}, always=True))
    configured(world, hub={"env": dict.fromkeys(ACCOUNTS, CANARY)})

    with opened(world).run(process_wide=False) as run:
        assert CANARY not in run.environ.values()
        assert {item.key for item in run.environment.blocked} == set(ACCOUNTS)
        assert CANARY not in warned(run)


@pytest.mark.requirement("run:allow-env", "run:allow-env-audited")
def test_an_account_is_lent_to_one_skill_and_the_loan_is_noted(world: World) -> None:
    for name in ("hub", "other"):
        world.skill(name, metadata=openclaw(requires={"env": ["GITHUB_TOKEN", "GH_TOKEN"]}))
    given = {"env": {"GITHUB_TOKEN": CANARY, "GH_TOKEN": CANARY}}
    configured(world, hub={**given, "allowEnv": ["GITHUB_TOKEN", "PATH"]}, other=given)

    with opened(world).run(process_wide=False) as run:
        held = {name for name, value in run.environ.items() if value == CANARY}
        path = run.environ["PATH"]

    log = (world.state / "safety-log.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in log.splitlines()]
    assert held == {"GITHUB_TOKEN"}
    assert path == os.environ["PATH"]
    assert len(lines) == 1
    assert {"hub", "GITHUB_TOKEN"} <= set(flat(lines[0]))
    assert CANARY not in log


def flat(value: object) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from flat(item)
    elif isinstance(value, list):
        for item in value:
            yield from flat(item)
    else:
        yield str(value)


@pytest.mark.requirement("run:allow-env-audited")
def test_a_loan_that_nobody_uses_is_not_noted(world: World) -> None:
    world.skill("hub", metadata=openclaw(requires={"env": ["GITHUB_TOKEN"]}, always=True))
    configured(world, hub={"allowEnv": ["GITHUB_TOKEN"]})

    with opened(world).run():
        assert "GITHUB_TOKEN" not in os.environ

    assert not (world.state / "safety-log.jsonl").exists()


@pytest.mark.requirement("run:odd-values")
def test_a_value_with_a_nul_is_blocked_and_its_neighbour_set(world: World) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"BROKEN": f"a\u0000{CANARY}", "REAL": "x"}})

    with opened(world).run() as run:
        assert ("BROKEN" in os.environ, os.environ["REAL"]) == (False, "x")
        assert "BROKEN" in warned(run)
        assert CANARY not in warned(run)


@pytest.mark.requirement("run:odd-values", "run:names-never-values")
@pytest.mark.parametrize("value", ["QUJD" * 40, "() { :; }; echo x", "x" * 40_000], ids=len)
def test_a_suspicious_value_is_a_warning_with_the_name_alone(world: World, value: str) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"ODD_VALUE": value}})

    with opened(world).run() as run:
        said = warned(run)

    assert "ODD_VALUE" in said
    assert value[:40] not in said
    assert run.environment.warnings or run.environment.blocked


@pytest.mark.requirement("run:names-never-values")
def test_nothing_that_a_run_prints_holds_a_value(world: World) -> None:
    keyed_skill(world)
    configured(world, weather={"apiKey": CANARY, "env": {"UNITS": CANARY, "PATH": CANARY}})

    with opened(world).run() as run:
        assert os.environ["UNITS"] == CANARY
        for shown in (run, run.environ, run.environment, run.snapshot, run.skills, run.workshop):
            assert CANARY not in repr(shown)
            assert CANARY not in str(shown)
        assert CANARY not in run.prompt


# Secret references.


@pytest.mark.requirement("run:secret-references")
@pytest.mark.parametrize(
    "reference",
    [
        "$KEPT_ELSEWHERE",
        "${KEPT_ELSEWHERE}",
        {"source": "env", "name": "KEPT_ELSEWHERE"},
        {"source": "env", "provider": "default", "id": "KEPT_ELSEWHERE"},
        {"source": "file", "path": "~/secret"},
        {"source": "exec", "command": ["/bin/cat", "{home}/secret"]},
    ],
    ids=str,
)
def test_a_secret_reference_leads_to_its_value(world: World, reference: object) -> None:
    keyed_skill(world)
    world.file(world.home / "secret", "led-here\n")
    text = json.dumps(reference).replace("{home}", str(world.home))
    followed = json.loads(text)
    configured(world, weather={"apiKey": followed, "env": {"ALSO": followed}})

    with world.open({"KEPT_ELSEWHERE": "led-here"}).run(process_wide=False) as run:
        seen = (run.environ.get("WEATHER_API_KEY"), run.environ.get("ALSO"))

    assert seen == ("led-here", "led-here")


@pytest.mark.requirement("run:secret-references")
@pytest.mark.parametrize("text", ["$5 a day", "pa$$word", "$", "${}", "a$HOME", "$HOME/x", "$(id)"])
def test_text_that_is_no_reference_stays_as_it_is(world: World, text: str) -> None:
    world.skill("plain")
    configured(world, plain={"env": {"LITERAL": text}})

    assert overlay(world) == {"LITERAL": text}


@pytest.mark.requirement("run:secret-nowhere", "run:names-never-values")
@pytest.mark.parametrize(
    "reference",
    [
        "$NO_SUCH_VARIABLE",
        {"source": "file", "path": "~/no-such-file"},
        {"source": "file", "path": "~"},
        {"source": "exec", "command": ["/bin/sh", "-c", f"echo {CANARY} >&2; exit 3"]},
        {"source": "exec", "command": ["no-such-program-at-all"]},
        {"source": "exec", "command": ["/bin/true"]},
        {"source": "exec", "command": ["/bin/sleep", "60"], "timeoutMs": 50},
        {"source": "exec", "command": ["/bin/sh", "-c", f"yes {CANARY}"], "timeoutMs": 500},
        {"source": "file", "path": "/dev/zero"},
        {"source": "store", "id": "x"},
        {"source": "env"},
    ],
    ids=str,
)
def test_a_reference_that_leads_nowhere_is_a_warning_and_the_rest_is_set(
    world: World, reference: object
) -> None:
    keyed_skill(world)
    configured(world, weather={"apiKey": reference, "env": {"REAL": "x"}})

    with opened(world).run() as run:
        seen = (os.environ.get("WEATHER_API_KEY"), os.environ.get("REAL"))
        said = warned(run)

    assert seen == (None, "x")
    assert "WEATHER_API_KEY" in said
    assert CANARY not in said


@pytest.mark.requirement("run:secret-nowhere")
def test_a_reference_to_a_pipe_that_nobody_writes_to_does_not_wait(world: World) -> None:
    os.mkfifo(world.home / "pipe")
    keyed_skill(world)
    configured(world, weather={"apiKey": {"source": "file", "path": "~/pipe"}})

    result = subprocess.run(
        [sys.executable, "-m", "prowess", "run", "--", "true"],
        env=world.env(),
        cwd=world.workspace,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (result.returncode, "WEATHER_API_KEY" in result.stderr) == (0, True)


@pytest.mark.requirement("run:secret-late")
def test_a_reference_is_followed_at_each_run_and_only_there(world: World) -> None:
    count = world.home / "count"
    script = f"echo run >> {count}; wc -l < {count} | tr -d ' '"
    keyed_skill(world)
    configured(world, weather={"apiKey": {"source": "exec", "command": ["/bin/sh", "-c", script]}})

    runtime = opened(world)
    runtime.skills.status()
    runtime.skills.snapshot()
    for args in (("list",), ("check",), ("why", "weather"), ("config", "get")):
        world.run(*args).calm()
    untouched = not count.exists()
    seen = []
    for _ in range(2):
        with runtime.run() as run:
            seen.append(run.environ["WEATHER_API_KEY"])

    assert untouched
    assert seen == ["1", "2"]


@pytest.mark.requirement("run:secret-late")
def test_a_reference_is_not_followed_for_a_variable_that_will_not_be_set(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    touched = world.home / "touched"
    followed = {"source": "exec", "command": ["/bin/sh", "-c", f"touch {touched}; echo x"]}
    keyed_skill(world)
    given = {"PATH": followed, "OTHER_TOKEN": followed, "GITHUB_TOKEN": followed, "MINE": followed}
    configured(world, weather={"apiKey": followed, "env": given})

    with monkeypatch.context() as patch:
        patch.setenv("WEATHER_API_KEY", "the-host-s")
        patch.setenv("MINE", "the-host-s")
        with opened(world).run():
            assert os.environ["MINE"] == "the-host-s"

    assert not touched.exists()


@pytest.mark.requirement("run:secret-late")
def test_a_reference_runs_no_shell(world: World) -> None:
    world.skill("plain")
    touched = world.home / "touched"
    listed = {"source": "exec", "command": ["/bin/echo", "$(id) `id` $HOME"]}
    text = {"source": "exec", "command": f"/bin/echo x; touch {touched}"}
    configured(world, plain={"env": {"LITERAL": listed, "TEXT": text}})

    assert overlay(world)["LITERAL"] == "$(id) `id` $HOME"
    assert not touched.exists()


@pytest.mark.requirement("run:secret-never-stored")
def test_what_a_reference_leads_to_is_kept_nowhere(world: World) -> None:
    keyed_skill(world, requires={"env": ["GITHUB_TOKEN"]})
    world.file(world.home / "secret", CANARY)
    followed = {"source": "file", "path": "~/secret"}
    entry = {"apiKey": followed, "env": {"GITHUB_TOKEN": followed}, "allowEnv": ["GITHUB_TOKEN"]}
    configured(world, weather=entry)

    with opened(world).run(session="s1") as run:
        assert (os.environ["WEATHER_API_KEY"], os.environ["GITHUB_TOKEN"]) == (CANARY, CANARY)
        run.turn([{"role": "user", "content": "From now on, always use metric units."}], 3)

    assert files_with(world.state, CANARY) == []


def files_with(folder: Path, text: str) -> list[Path]:
    """The files below `folder` that hold `text`."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if text.encode() in path.read_bytes()]


# What is pinned.


@pytest.mark.requirement("run:snapshot-pinned")
def test_a_change_during_a_run_is_seen_by_the_next_one(world: World) -> None:
    world.settings(**NO_BUNDLED)
    world.skill("before")
    runtime = opened(world)

    with runtime.run(session="s1") as run:
        pinned = run.prompt
        world.skill("after")
        runtime.skills.refresh()
        assert run.prompt == pinned
        assert [skill.name for skill in run.skills] == ["before"]
        assert run.command("/after") is None
    with runtime.run(session="s1") as run:
        assert [skill.name for skill in run.skills] == ["after", "before"]
        assert "<name>after</name>" in run.prompt


@pytest.mark.requirement("run:session-snapshots")
def test_another_process_sees_the_session_and_refreshes_it_on_its_next_turn(world: World) -> None:
    world.settings(**NO_BUNDLED)
    world.skill("before")
    with opened(world).run(session="s1") as first:
        kept = first.prompt
    with opened(world).run(session="s1") as second:
        assert second.prompt == kept
        world.skill("after")
        with opened(world).run(session="s2") as other:
            assert "<name>after</name>" in other.prompt
        assert second.prompt == kept
    with opened(world).run(session="s1") as third:
        assert "<name>after</name>" in third.prompt


@pytest.mark.requirement("run:session-snapshots")
def test_a_session_follows_the_filter_of_its_agent(world: World) -> None:
    for name in ("one", "two"):
        world.skill(name)
    names = []
    for listed in (["one"], ["two", "one"], ["one", "two"], []):
        agents = {"list": [{"id": "main", "skills": listed}]}
        world.config({"skills": NO_BUNDLED, "agents": agents})
        with opened(world).run(session="s1") as run:
            names.append(sorted(skill.name for skill in run.skills))

    assert names == [["one"], ["one", "two"], ["one", "two"], []]


@pytest.mark.requirement("run:session-snapshots")
@pytest.mark.parametrize("session", ["", " ", "../../x", "a/b", "ünï", "x" * 5000, "'; drop table"])
def test_any_text_may_name_a_session(world: World, session: str) -> None:
    world.settings(**NO_BUNDLED)
    world.skill("plain")

    with opened(world).run(session=session) as run:
        assert "<name>plain</name>" in run.prompt

    assert sorted(path.name for path in world.root.iterdir()) == ["bin", "home", "ws"]


@pytest.mark.requirement("run:parts")
def test_a_run_without_skills_is_still_a_run(world: World) -> None:
    world.settings(**NO_BUNDLED)

    with opened(world).run() as run:
        assert run.prompt == ""
        assert run.skills == ()
        assert run.route("deploy the app").matches == ()
        assert run.command("/deploy") is None
