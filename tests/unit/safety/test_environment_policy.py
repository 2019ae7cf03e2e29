"""Which variables a skill may set."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.data import read_words
from prowess.safety.environment import (
    USUAL_VALUE_BYTES,
    VariableGroup,
    denied_group,
    judge,
    read_groups,
)
from prowess.secrets.names import is_secret_in_environment

SHOWN_NOWHERE = "do-not-show-this"


@each_row("group", read_groups())
def test_every_group_has_a_reason_and_denies_all_it_names(group: VariableGroup) -> None:
    assert group.reason[0].islower()
    assert group.keys or group.prefixes or group.form
    for key in (*group.keys, *(f"{prefix}ANYTHING" for prefix in group.prefixes)):
        ruling = judge(key, "x", [key])
        assert not ruling.allowed, key
        assert "is not for skills to set" in ruling.reason


@each_row(
    "key",
    sorted(
        read_words(
            """
    GROFF_COMMAND_PREFIX MAILPATH IRBRC PRYRC OGR_DRIVER_PATH FREI0R_PATH VAMP_PATH shell_escape
    TRITON_CACHE_DIR NUMBA_CACHE_DIR TORCH_EXTENSIONS_DIR VSCODE_GIT_ASKPASS_NODE LIBPATH SHLIB_PATH
    ELECTRON_OVERRIDE_DIST_PATH openout_any TEXMFDIST BIBINPUTS JAX_COMPILATION_CACHE_DIR LV2_PATH
    CUPY_CACHE_DIR KRITA_PLUGIN_PATH GIMP2_PLUGINDIR SOX_OPTS MATLABPATH HOUDINI_PATH ORACLE_HOME
    PKCS11_MODULE_PATH SOFTHSM2_CONF WINEDLLOVERRIDES REDISCLI_RCFILE PGOPTIONS CCACHE_COMPILER
    DJANGO_SETTINGS_MODULE DUCKDB_EXTENSION_DIRECTORY PSQL_WATCH_PAGER BLENDER_USER_SCRIPTS
    OCTAVE_SITE_INITFILE SDL_DYNAMIC_API DIFFPROG BUILDAH_RUNTIME CALIBRE_DEVELOP_FROM
    CALIBRE_CONFIG_DIRECTORY LESSEDIT GOTOOLDIR NNN_OPENER BISON_PKGDATADIR INKSCAPE_PROFILE_DIR"""
        )
    ),
)
def test_what_has_the_form_of_a_switch_that_runs_code_is_denied(key: str) -> None:
    ruling = judge(key, "x", [key])

    assert not ruling.allowed
    assert "is not for skills to set" in ruling.reason


def test_the_forms_alone_know_most_of_what_the_lists_hold() -> None:
    formed = [group for group in read_groups() if group.form]
    listed = [key for group in read_groups() if group.runs_code for key in group.keys]

    known = [key for key in listed if any(group.has_form_of(key) for group in formed)]

    # Nobody wrote the lists by these forms: what they hold stands for what they lack.
    assert len(known) / len(listed) > 0.55


@each_row(
    "key",
    sorted(
        read_words(
            """
    GITHUB_KB_PATH OBSIDIAN_VAULT_PATH SHERPA_ONNX_MODEL_DIR SEARXNG_URL HASS_SERVER DATA_SRC
    BROWSER_HEADLESS LLM_PROVIDER DISCORD_WEB_HOOK SLACK_COMMAND_URL MY_PLUGIN_TIMEOUT DD_SITE
    FEATURE_FLAGS NODE_ENV DB_DRIVER READECK_URL GITHUB_APM_PAT MODE REGION PYTORCH_CUDA_ALLOC_CONF
    OUTPUT_DIR CANVA_CLIENT_ID DEBUG_LEVEL MY_CONFIG"""
        )
    ),
)
def test_what_skills_really_use_is_of_no_such_form(key: str) -> None:
    assert denied_group(key) is None


def test_what_is_known_by_its_form_alone_may_be_lent_and_what_is_listed_not() -> None:
    assert judge("FLUIDSIM_PATH", "/data", [], ["FLUIDSIM_PATH"]).allowed
    assert not judge("NODE_PATH", "/data", [], ["NODE_PATH"]).allowed


def test_no_variable_stands_in_two_groups() -> None:
    keys = [key for group in read_groups() for key in group.keys]

    assert len(keys) == len(set(keys))
    assert all(key == key.strip().upper() for key in keys)


@each_row(
    ("key", "group"),
    [
        ("LD_PRELOAD", "loader"),
        ("DYLD_INSERT_LIBRARIES", "loader"),
        ("PATH", "search_path"),
        ("BASH_ENV", "shell"),
        ("PROMPT_COMMAND", "shell"),
        ("HOME", "home_and_config"),
        ("PYTHONPATH", "python"),
        ("NODE_OPTIONS", "node"),
        ("JAVA_TOOL_OPTIONS", "other_runtimes"),
        ("RUSTC_WRAPPER", "build"),
        ("GIT_SSH_COMMAND", "git"),
        ("NPM_CONFIG_REGISTRY", "package_managers"),
        ("UV_INDEX_URL", "package_managers"),
        ("DOTNET_STARTUP_HOOKS", "toolchains"),
        ("LESSOPEN", "hooked_tools"),
        ("TAR_OPTIONS", "hooked_tools"),
        ("https_proxy", "network_trust"),
        ("SSL_CERT_FILE", "network_trust"),
        ("GCONV_PATH", "libc_and_gui_plugins"),
        ("OPENAI_BASE_URL", "model_and_cloud_redirect"),
        ("AWS_ENDPOINT_URL_S3", "model_and_cloud_redirect"),
        ("PROWESS_HOME", "runtime_self"),
        ("BASH_FUNC_ls%%", "loader"),
        (" Path ", "search_path"),
    ],
)
def test_a_denied_variable_is_known_by_its_group(key: str, group: str) -> None:
    assert denied_group(key) == group


@each_row(
    ("group", "keys"),
    [
        ("loader", "ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS MSAN_OPTIONS"),
        ("package_managers", "APT_CONFIG"),
        ("home_and_config", "MPLCONFIGDIR"),
        ("python", "MPLBACKEND GUNICORN_CMD_ARGS COVERAGE_PROCESS_START"),
        ("other_runtimes", "TCL_LIBRARY IBM_JAVA_OPTIONS OPENJ9_JAVA_OPTIONS"),
        ("build", "M4"),
        ("hooked_tools", "VIMRUNTIME LESSECHO LESSGLOBALTAGS KUBECTL_EXTERNAL_DIFF KUBE_EDITOR"),
        ("network_trust", "DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS"),
        (
            "libc_and_gui_plugins",
            "ODBCINI ODBCSYSINI ODBCINSTINI GDAL_DRIVER_PATH OPENCV_VIDEOIO_PLUGIN_PATH",
        ),
        (
            "model_and_cloud_redirect",
            "PERPLEXITY_BASE_URL OTEL_EXPORTER_OTLP_ENDPOINT LANGSMITH_ENDPOINT LANGCHAIN_ENDPOINT",
        ),
        ("model_and_cloud_redirect", "PYDANTIC_AI_GATEWAY_BASE_URL"),
    ],
)
def test_less_known_switches_are_denied_as_well(group: str, keys: str) -> None:
    assert {denied_group(key) for key in keys.split()} == {group}


@each_row(
    "key", ["WEATHER_BASE_URL", "AWS_PROFILE", "PGHOST", "NODE_ENV", "LANGSMITH_PROJECT", "OTEL_X"]
)
def test_names_that_redirect_nothing_but_their_own_skill_stay_open(key: str) -> None:
    assert judge(key, "x", []).allowed


@each_row("key", ["MY_TOOL_MODE", "WEATHER_UNITS", "LDAP_HOST", "PATHS", "GITHUB_X"])
def test_a_variable_of_a_skill_of_its_own_is_in_no_group(key: str) -> None:
    assert denied_group(key) is None


def test_groups_that_run_code_are_told_from_those_that_do_not() -> None:
    loading = {group.name for group in read_groups() if group.runs_code}

    assert {"loader", "shell", "python", "node", "git", "hooked_tools"} <= loading
    assert not loading & {"home_and_config", "network_trust", "model_and_cloud_redirect"}
    assert "search_path" not in loading


@pytest.mark.parametrize("key", ["PATH", "NODE_OPTIONS", "OPENAI_BASE_URL", "GIT_ASKPASS"])
def test_no_declaration_opens_what_is_denied(key: str) -> None:
    assert not judge(key, "x", {key}).allowed


@each_row(
    "key",
    [
        "WEATHER_API_KEY",
        "APIKEY",
        "TOKEN",
        "DB_PASSWORD",
        "GH_HOST",
        "SIGNING_PRIVATE_KEY",
        "SENTRY_DSN",
    ],
)
def test_a_secret_like_variable_is_for_a_skill_that_declares_it(key: str) -> None:
    assert is_secret_in_environment(key)
    assert not judge(key, SHOWN_NOWHERE, []).allowed
    assert "does not declare" in judge(key, SHOWN_NOWHERE, ["OTHER_TOKEN"]).reason
    assert judge(key, SHOWN_NOWHERE, [f" {key.lower()} "]).allowed


@each_row("key", ["GITHUB_TOKEN", "GH_TOKEN", "NPM_TOKEN", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL"])
def test_an_account_of_the_operator_is_for_a_skill_that_the_operator_names(key: str) -> None:
    assert is_secret_in_environment(key)
    assert not judge(key, SHOWN_NOWHERE, [key]).allowed
    assert "allowEnv" in judge(key, SHOWN_NOWHERE, [key]).reason
    assert judge(key, SHOWN_NOWHERE, [], [f" {key.lower()} "]).group == "allowed"


@each_row("key", ["PATH", "LD_PRELOAD", "GIT_SSH", "SSH_AUTH_SOCK", "HTTPS_PROXY"])
def test_what_is_no_account_is_not_for_the_operator_to_lend(key: str) -> None:
    assert not judge(key, "x", [key], [key]).allowed


def test_the_operator_may_lend_a_secret_that_the_skill_does_not_declare() -> None:
    assert judge("WEATHER_TOKEN", SHOWN_NOWHERE, [], ["WEATHER_TOKEN"]).group == "allowed"


@pytest.mark.parametrize("key", ["TOKENIZER", "KEYBOARD", "SECRETARY", "PASSWORDLESS_LOGIN_URL"])
def test_a_word_that_begins_like_a_secret_is_none(key: str) -> None:
    assert not is_secret_in_environment(key)
    assert judge(key, "x", []).allowed


@each_row("key", ["LANG", "LC_ALL", "TZ", "TERM", "NO_COLOR"])
def test_how_text_is_shown_is_always_allowed(key: str) -> None:
    assert judge(key, "C.UTF-8", []).group == "always"


@each_row(
    "key",
    ["", "  ", "1ST", "MY-KEY", "A=B", "A B", "KEY\0", "K\nEY", "\uff30\uff21\uff34\uff28",
     "KE\u017f", "KEY%%", "KEY()", "É", "KEY\u200b"],
)  # fmt: skip
def test_a_name_that_is_not_portable_is_refused(key: str) -> None:
    ruling = judge(key, "x", [key])

    assert not ruling.allowed
    assert ruling.group == "name"
    assert ruling.name.isascii()
    assert ruling.name.isprintable()


def test_a_name_may_not_be_endless() -> None:
    assert judge("A" * 255, "x", []).allowed
    assert not judge("A" * 256, "x", []).allowed


def test_a_name_is_compared_without_case_and_set_as_it_is_spelled() -> None:
    ruling = judge(" my_Mode ", "x", [])

    assert (ruling.allowed, ruling.key, ruling.name) == (True, "MY_MODE", "my_Mode")


@pytest.mark.parametrize(("value", "said"), [("a\0b", "NUL"), ("\ud800", "cannot be written")])
def test_a_value_that_cannot_be_passed_on_is_refused(value: str, said: str) -> None:
    ruling = judge("MODE", value, [])

    assert not ruling.allowed
    assert said in ruling.reason


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (" " * USUAL_VALUE_BYTES, ""),
        (" " * USUAL_VALUE_BYTES + "x", "32769 bytes"),
        ("é" * USUAL_VALUE_BYTES, "65536 bytes"),
        (" " * 200_000, "start no program"),
        ("\udcff", ""),
    ],
)
def test_a_large_value_is_set_with_a_warning(value: str, said: str) -> None:
    ruling = judge("MODE", value, [])

    assert ruling.allowed
    assert [said in warning for warning in ruling.warnings] == ([True] if said else [])


@pytest.mark.parametrize("value", ["QUJD" * 20, "() { :; }; id", "  () { x; }"])
def test_a_value_that_looks_like_a_payload_is_allowed_with_a_warning(value: str) -> None:
    ruling = judge("MODE", value, [])

    assert ruling.allowed
    assert [warning for warning in ruling.warnings if "MODE" in warning]


@given(st.text(max_size=40), st.text(max_size=40), st.lists(st.text(max_size=10)))
def test_a_ruling_never_fails_and_never_repeats_a_value(
    key: str, value: str, declared: list[str]
) -> None:
    value = f"<{value}>"

    ruling = judge(key, value, declared)

    assert value not in repr(ruling)
    assert ruling.allowed or ruling.reason


@given(st.sampled_from(sorted(key for group in read_groups() for key in group.keys)), st.randoms())
def test_no_spelling_of_a_denied_name_gets_through(key: str, chance: Random) -> None:
    pick = chance.choice
    spelled = "".join(pick([letter.lower(), letter.upper()]) for letter in key)

    assert not judge(pick(["", " ", "\t", "\n"]) + spelled + " ", "x", [spelled, key]).allowed
