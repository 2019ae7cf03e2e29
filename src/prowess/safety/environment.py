"""Variables that a skill may not set, in groups, each with its reason.

A skill's environment reaches programs that it did not write. Most of these variables are no
secrets: they are switches by which a loader, an interpreter or a tool runs other code, trusts other
hosts or reads other files. No declaration of a skill opens them. The last group is different: those
are the operator's own accounts, and the operator alone may lend them to a skill.

Says whether a skill may set an environment variable, and why not.

What is denied stays denied: a skill that declares `PATH` or `NODE_OPTIONS` as its own gets neither.
A declaration opens secret-like names alone; the operator's word also opens the operator's own
accounts, and nothing else. No ruling ever repeats a value.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Variables that are denied for the same reason."""

    name: str
    # Completes "NAME is not for skills to set: it …".
    reason: str
    # True where a value can make a loader, an interpreter or a tool run code of somebody's choice.
    runs_code: bool = False
    # True where the operator may let one skill have them after all, by name.
    may_be_allowed: bool = False
    keys: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _prefixes(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GROUPS: tuple[Group, ...] = (
    Group(
        name="loader",
        reason="makes the system's loader or a shell bring code into every program that is started",
        runs_code=True,
        # Sanitizers load a library or write a log where their options say so.
        keys=_names("""
            ASAN_OPTIONS HWASAN_OPTIONS LSAN_OPTIONS MSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS
            ASAN_SYMBOLIZER_PATH VALGRIND_LIB VALGRIND_OPTS
        """),
        prefixes=("LD_", "DYLD_", "_RLD", "BASH_FUNC_", "MALLOC_", "GLIBC_"),
    ),
    Group(
        name="runtime_self",
        reason="steers the agent and its skills, which a skill must not do to its own host",
        prefixes=_prefixes("""
            PROWESS_ OPENCLAW_ CLAWDBOT_ MOLTBOT_ AGENTSKILLS_ SKILLS_ CLAUDE_ CLAUDECODE CODEX_
            GEMINI_CLI_
        """),
    ),
    Group(
        name="git",
        reason="makes git run other programs, use other configuration or talk to other hosts",
        runs_code=True,
        prefixes=("GIT_",),
    ),
    Group(
        name="package_managers",
        reason="makes a package manager take packages, scripts or settings from elsewhere",
        runs_code=True,
        keys=_names("""
            TWINE_REPOSITORY_URL CABAL_DIR STACK_ROOT OPAMROOT OPAMSWITCH CPANM_HOME APT_CONFIG
        """),
        prefixes=_prefixes("""
            NPM_CONFIG_ PNPM_ YARN_ COREPACK_ BUN_ PIP_ PIPX_ UV_ PDM_ POETRY_ CONDA_ MAMBA_
            CARGO_ RUSTUP_ BUNDLE_ GEM_ HOMEBREW_ NIX_ MIX_ HEX_ NUGET_ VCPKG_ CONAN_
        """),
    ),
    Group(
        name="toolchains",
        reason="makes a build or deployment tool load other plug-ins, compilers or settings",
        runs_code=True,
        prefixes=_prefixes("""
            CGO_ CMAKE_ GRADLE_ DOTNET_ COMPLUS_ CORECLR_ COR_ MAVEN_ ANSIBLE_ TF_ HELM_ JULIA_
            LUA_INIT LUA_PATH LUA_CPATH OPENSSL_ SUDO_ PYENV_ RBENV_ NODENV_ ASDF_ MISE_
        """),
    ),
    Group(
        name="search_path",
        reason="decides which program or function a name stands for",
        # Texts that extend the search path are honest far too often to be a sign of anything.
        runs_code=False,
        keys=_names("PATH PATHEXT CDPATH FPATH MANPATH PSMODULEPATH"),
    ),
    Group(
        name="shell",
        reason="makes a shell run text at its start or before each command, or split words anew",
        runs_code=True,
        keys=_names("""
            SHELL ENV BASH_ENV KSH_ENV ZDOTDIR IFS PS0 PS1 PS2 PS4 PROMPT_COMMAND SHELLOPTS
            BASHOPTS BASH_LOADABLES_PATH BASH_XTRACEFD GLOBIGNORE HISTFILE COMSPEC SYSTEMROOT
            WINDIR INPUTRC BASH_COMPAT ZSH ZSH_CUSTOM FISH_FUNCTION_PATH
        """),
    ),
    Group(
        name="home_and_config",
        reason="moves the folders in which programs look for their settings, secrets and plug-ins",
        keys=_names("""
            HOME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA PROGRAMDATA XDG_CONFIG_HOME
            XDG_CONFIG_DIRS XDG_DATA_HOME XDG_DATA_DIRS XDG_CACHE_HOME XDG_STATE_HOME
            XDG_RUNTIME_DIR TMPDIR TMP TEMP GNUPGHOME NETRC IPYTHONDIR JUPYTER_CONFIG_DIR
            JUPYTER_PATH MPLCONFIGDIR VIM SCREENRC MAILRC W3M_DIR LYNX_CFG WIRESHARK_CONFIG_DIR
            NMAPDIR PANDOC_DATA_DIR
        """),
    ),
    Group(
        name="python",
        reason="makes Python import or run other code before the program it was started for",
        runs_code=True,
        keys=_names("""
            PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONUSERBASE PYTHONBREAKPOINT PYTHONINSPECT
            PYTHONEXECUTABLE PYTHONPLATLIBDIR PYTHONPYCACHEPREFIX PYTHONWARNINGS PYTHONCASEOK
            PYTHON_BASIC_REPL PYTHON_PRESITE PYTHONHTTPSVERIFY VIRTUAL_ENV
            SETUPTOOLS_USE_DISTUTILS PYTEST_ADDOPTS PYTEST_PLUGINS COVERAGE_PROCESS_START MPLBACKEND
            GUNICORN_CMD_ARGS
        """),
    ),
    Group(
        name="node",
        reason="makes Node or a relative of it load other modules, or trust other certificates",
        runs_code=True,
        keys=_names("""
            NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NODE_REPL_HISTORY
            NODE_REDIRECT_WARNINGS NODE_V8_COVERAGE NODE_COMPILE_CACHE NODE_ICU_DATA
            NODE_EXTRA_CA_CERTS NODE_USE_ENV_PROXY NODE_TLS_REJECT_UNAUTHORIZED
            ELECTRON_RUN_AS_NODE DENO_DIR DENO_CERT DENO_TLS_CA_STORE TS_NODE_PROJECT
            TS_NODE_COMPILER TSX_TSCONFIG_PATH ELECTRON_EXTRA_LAUNCH_ARGS PUPPETEER_EXECUTABLE_PATH
            PLAYWRIGHT_BROWSERS_PATH
        """),
    ),
    Group(
        name="other_runtimes",
        reason="makes an interpreter or a virtual machine load other code at its start",
        runs_code=True,
        keys=_names("""
            PERL5LIB PERLLIB PERL5OPT PERL5DB PERL5DBCMD PERL5SHELL PERL_MB_OPT PERL_MM_OPT
            RUBYLIB RUBYOPT RUBYSHELL RUBYGEMS_GEMDEPS JRUBY_OPTS PHPRC PHP_INI_SCAN_DIR
            COMPOSER_HOME JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_OPTS JVM_OPTS
            JAVA_HOME CLASSPATH ANT_OPTS SBT_OPTS LEIN_JVM_OPTS CATALINA_OPTS ERL_AFLAGS ERL_FLAGS
            ERL_ZFLAGS ERL_LIBS ELIXIR_ERL_OPTIONS R_ENVIRON R_ENVIRON_USER R_PROFILE
            R_PROFILE_USER R_LIBS R_LIBS_USER R_HOME TCLLIBPATH GUILE_LOAD_PATH
            GUILE_LOAD_COMPILED_PATH CAML_LD_LIBRARY_PATH AWKPATH AWKLIBPATH GHC_PACKAGE_PATH
            GHCRTS IBM_JAVA_OPTIONS OPENJ9_JAVA_OPTIONS JAVA_OPTIONS GROOVY_OPTS SCALA_OPTS MVN_OPTS
            KOTLIN_HOME TCL_LIBRARY TK_LIBRARY RUBYPATH
        """),
    ),
    Group(
        name="build",
        reason="makes a build use other compilers, flags, libraries or module sources",
        runs_code=True,
        keys=_names("""
            CC CXX LD AR AS MAKE CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LIBRARY_PATH CPATH
            C_INCLUDE_PATH CPLUS_INCLUDE_PATH OBJC_INCLUDE_PATH PKG_CONFIG PKG_CONFIG_PATH
            PKG_CONFIG_LIBDIR ACLOCAL_PATH CONFIG_SITE CONFIG_SHELL MAKEFLAGS GNUMAKEFLAGS MFLAGS
            MAKEFILES COMPILER_PATH GCC_EXEC_PREFIX RUSTFLAGS RUSTDOCFLAGS RUSTC RUSTDOC
            RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER GOFLAGS GOPATH GOROOT GOBIN GOENV GOPROXY
            GOPRIVATE GONOPROXY GONOSUMDB GONOSUMCHECK GOSUMDB GOINSECURE GOTOOLCHAIN GOAUTH GOVCS
            M2_HOME NVM_DIR VOLTA_HOME SDKMAN_DIR FC F77 CPP NM STRIP LIBTOOL M4 YACC LEX MAKESHELL
            CARGO RUSTFMT RUSTC_BOOTSTRAP GCCGO GOMODCACHE GOCACHE
        """),
    ),
    Group(
        name="hooked_tools",
        reason="names a program, an option or a settings file that a common tool then obeys",
        runs_code=True,
        keys=_names("""
            EDITOR VISUAL FCEDIT PAGER MANPAGER MANOPT MANROFFOPT LESS LESSOPEN LESSCLOSE LESSKEY
            LESSKEYIN BROWSER SYSTEMD_EDITOR SYSTEMD_PAGER SSH_ASKPASS SSH_ASKPASS_REQUIRE
            SSH_AUTH_SOCK SSH_SK_PROVIDER SSH_SK_HELPER SSH_PKCS11_HELPER RSYNC_RSH RSYNC_PROXY
            RSYNC_CONNECT_PROG SVN_SSH SVN_EDITOR BZR_EDITOR BZR_SSH BZR_PLUGIN_PATH HGRCPATH
            HGEDITOR HGMERGE CVS_RSH CVSEDITOR TAR_OPTIONS UNZIP UNZIPOPT ZIPOPT ZIPINFO XZ_OPT
            XZ_DEFAULTS GZIP BZIP2 RIPGREP_CONFIG_PATH FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS
            FZF_DEFAULT_OPTS_FILE GREP_OPTIONS ACKRC ACK_PAGER BAT_PAGER BAT_CONFIG_PATH
            DELTA_PAGER PARALLEL PSQLRC PSQL_PAGER PSQL_EDITOR PGSERVICEFILE PGSYSCONFDIR
            PGPASSFILE MYSQL_HOME CURL_HOME WGETRC VIMINIT EXINIT GVIMINIT MYVIMRC NVIM_APPNAME
            EMACSLOADPATH JULIA_EDITOR SUDO_ASKPASS PACKER_PLUGIN_PATH VAGRANT_VAGRANTFILE
            DIRENV_CONFIG AWS_PAGER GH_PAGER GH_EDITOR GH_BROWSER GH_CONFIG_DIR GH_PATH
            KUBE_EDITOR FFREPORT TEXMFHOME TEXMFCNF TEXINPUTS MAGICK_CONFIGURE_PATH
            MAGICK_CODER_MODULE_PATH GS_OPTIONS GS_LIB P4CONFIG VIMRUNTIME LESSECHO LESSGLOBALTAGS
            KUBECTL_EXTERNAL_DIFF KUBERC DOCKER_CLI_PLUGIN_EXTRA_DIRS PDSH_RCMD_TYPE PDSH_SSH_ARGS
            ENSCRIPT GRAPHVIZ_DOT CHROME_PATH CHROMIUM_FLAGS
        """),
    ),
    Group(
        name="network_trust",
        reason="sends traffic through other hosts, or has other certificates and daemons trusted",
        keys=_names("""
            HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY NO_PROXY SOCKS_PROXY SSL_CERT_FILE
            SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE AWS_CA_BUNDLE SSLKEYLOGFILE HOSTALIASES
            RES_OPTIONS LOCALDOMAIN KRB5_CONFIG KRB5CCNAME KRB5_KTNAME DOCKER_HOST DOCKER_CONTEXT
            DOCKER_CONFIG DOCKER_CERT_PATH DOCKER_TLS_VERIFY CONTAINER_HOST BUILDKIT_HOST
            KUBECONFIG DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS WS_PROXY GRPC_PROXY
            PERL_LWP_SSL_CA_FILE HTTPLIB2_CA_CERTS PGSSLROOTCERT DEBUGINFOD_URLS
        """),
    ),
    Group(
        name="libc_and_gui_plugins",
        reason="makes system libraries load other modules, tables or drivers",
        runs_code=True,
        keys=_names("""
            GCONV_PATH GLIBC_TUNABLES LOCPATH NLSPATH TZDIR TERMINFO TERMINFO_DIRS TERMCAP
            GTK_MODULES GTK3_MODULES GTK_PATH GTK_IM_MODULE_FILE GDK_PIXBUF_MODULE_FILE
            GIO_MODULE_DIR GIO_EXTRA_MODULES GI_TYPELIB_PATH GSETTINGS_SCHEMA_DIR GST_PLUGIN_PATH
            GST_PLUGIN_SYSTEM_PATH GST_PLUGIN_SCANNER QT_PLUGIN_PATH QT_QPA_PLATFORM_PLUGIN_PATH
            QML2_IMPORT_PATH VK_LAYER_PATH VK_ADD_LAYER_PATH VK_INSTANCE_LAYERS VK_ICD_FILENAMES
            VK_DRIVER_FILES OCL_ICD_VENDORS OCL_ICD_FILENAMES LIBGL_DRIVERS_PATH
            LIBVA_DRIVERS_PATH VDPAU_DRIVER_PATH LADSPA_PATH ALSA_CONFIG_PATH SASL_PATH
            CUDA_INJECTION64_PATH ODBCINI ODBCSYSINI ODBCINSTINI GDAL_DRIVER_PATH
            OPENCV_VIDEOIO_PLUGIN_PATH FONTCONFIG_FILE FONTCONFIG_PATH XLOCALEDIR XKB_CONFIG_ROOT
            MOZ_GMP_PATH
        """),
    ),
    Group(
        name="model_and_cloud_redirect",
        reason="sends prompts, keys or cloud requests to another host, or under another identity",
        keys=_names("""
            OPENAI_BASE_URL OPENAI_API_BASE OPENAI_API_HOST ANTHROPIC_BASE_URL ANTHROPIC_API_URL
            ANTHROPIC_BEDROCK_BASE_URL ANTHROPIC_VERTEX_BASE_URL ANTHROPIC_CUSTOM_HEADERS
            GOOGLE_GEMINI_BASE_URL GOOGLE_VERTEX_BASE_URL GEMINI_BASE_URL AZURE_OPENAI_ENDPOINT
            AZURE_API_BASE MISTRAL_BASE_URL GROQ_BASE_URL DEEPSEEK_BASE_URL OPENROUTER_BASE_URL
            XAI_BASE_URL COHERE_BASE_URL TOGETHER_BASE_URL OLLAMA_HOST OLLAMA_BASE_URL
            LITELLM_PROXY_API_BASE LLM_BASE_URL HF_ENDPOINT AWS_CONFIG_FILE
            AWS_SHARED_CREDENTIALS_FILE AWS_WEB_IDENTITY_TOKEN_FILE
            AWS_EC2_METADATA_SERVICE_ENDPOINT AWS_CONTAINER_CREDENTIALS_FULL_URI
            AWS_CONTAINER_CREDENTIALS_RELATIVE_URI GOOGLE_APPLICATION_CREDENTIALS
            GCE_METADATA_HOST AZURE_CLIENT_ID AZURE_CONFIG_DIR AZURE_AUTH_LOCATION VAULT_ADDR
            VAULT_SKIP_VERIFY PERPLEXITY_BASE_URL VOYAGE_BASE_URL NVIDIA_BASE_URL GROQ_API_BASE
            GOOGLE_API_BASE BEDROCK_ENDPOINT OPENAI_PROXY AZURE_AUTHORITY_HOST
            LANGCHAIN_ENDPOINT LANGSMITH_ENDPOINT LANGCHAIN_HUB_API_URL LANGSMITH_RUNS_ENDPOINTS
        """),
        # Each service of that cloud has an endpoint variable of its own, and so has each signal of
        # the exporters that send what a program did to somebody who collects it.
        prefixes=("AWS_ENDPOINT_URL", "CLOUDSDK_", "OTEL_EXPORTER_", "PYDANTIC_AI_"),
    ),
    Group(
        name="own_accounts",
        reason="opens an account of yours that reaches far beyond one skill",
        may_be_allowed=True,
        keys=_names("""
            GITHUB_TOKEN GH_TOKEN GITLAB_TOKEN NPM_TOKEN NODE_AUTH_TOKEN AWS_ACCESS_KEY_ID
            AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_SECURITY_TOKEN DATABASE_URL REDIS_URL
            MONGODB_URI AMQP_URL
        """),
    ),
)

# Names that look like a secret: a skill gets one only where it said that it needs it.
SECRET_LIKE: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|CONNECTION_STRING|DSN)$",
        r"(?:^|_)(?:API_?KEY|PRIVATE_KEY|ADMIN_KEY|ACCESS_KEY(?:_ID)?)$",
        r"^(?:GH|GITHUB|GITLAB|NPM|NODE_AUTH|HF|SLACK|DISCORD|TELEGRAM)_",
        r"^AWS_(?:ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|SECURITY_TOKEN)$",
        r"^(?:DATABASE|REDIS|MONGODB|AMQP)_UR[IL]$",
    )
)

# How text and time are shown; harmless in every program.
ALWAYS_ALLOWED = _names("LANG LANGUAGE TZ TERM COLORTERM NO_COLOR FORCE_COLOR")
ALWAYS_ALLOWED_PREFIXES = ("LC_",)

MOST_KEY_CHARACTERS = 255
MOST_VALUE_BYTES = 32_768


_PORTABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_BASE64_LIKE = re.compile(r"[A-Za-z0-9+/=]{80,}")
_REASONS = {group.name: group.reason for group in GROUPS}
_KEYS = {key: group.name for group in GROUPS for key in group.keys}
_PREFIXES = {prefix: group.name for group in GROUPS for prefix in group.prefixes}
_ALL_PREFIXES = tuple(_PREFIXES)
_MAY_BE_ALLOWED = frozenset(group.name for group in GROUPS if group.may_be_allowed)

# Groups whose variables can make a loader, an interpreter or a tool run code of somebody's choice.
loader_groups: frozenset[str] = frozenset(group.name for group in GROUPS if group.runs_code)


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether one variable may be set, in words that hold its name and never its value."""

    allowed: bool
    # What names are compared by: stripped and in capitals.
    key: str
    # What is set: stripped, in the skill's own spelling.
    name: str
    # A group of the table, or `name`, `value`, `undeclared`, `declared`, `allowed`, `always`,
    # `ordinary`.
    group: str
    reason: str = ""
    warnings: tuple[str, ...] = ()


def comparable(key: str) -> str:
    """Return the form by which names are compared: no case, no space around them."""
    return key.strip().upper()


def denied_group(key: str) -> str | None:
    """Return the group for which no skill may set `key`, or None."""
    key = comparable(key)
    found = _KEYS.get(key)
    if found is None and key.startswith(_ALL_PREFIXES):
        found = next(group for prefix, group in _PREFIXES.items() if key.startswith(prefix))
    return found


def is_secret_like(key: str) -> bool:
    """Say whether a name looks like one of a secret."""
    return any(pattern.search(comparable(key)) for pattern in SECRET_LIKE)


def judge(key: str, value: str, declared: Collection[str], allowed: Collection[str] = ()) -> Ruling:
    """Rule on one variable.

    Args:
        key: its name, as somebody wrote it.
        value: what it shall hold.
        declared: the names that the skill says it needs.
        allowed: the names that the operator lets this skill have, whatever it declares.
    """
    name, upper = key.strip(), comparable(key)
    lent = upper in {comparable(item) for item in allowed}
    denial = None if lent and denied_group(upper) in _MAY_BE_ALLOWED else _denial(upper)
    refusal = _name_refusal(name) or denial or _value_refusal(value)
    if refusal:
        group, reason = refusal
        return Ruling(
            allowed=False, key=_shown(upper), name=_shown(name), group=group, reason=reason
        )
    group = _open_group(upper, declared)
    if lent and (group == "undeclared" or denied_group(upper)):
        group = "allowed"
    if group == "undeclared":
        reason = "looks like a secret, and the skill does not declare it: name it in `requires.env`"
        return Ruling(allowed=False, key=upper, name=name, group=group, reason=reason)
    return Ruling(allowed=True, key=upper, name=name, group=group, warnings=_doubts(name, value))


def _denial(upper: str) -> tuple[str, str] | None:
    group = denied_group(upper)
    if group is None:
        return None
    reason = f"is not for skills to set: it {_REASONS[group]}"
    if group in _MAY_BE_ALLOWED:
        reason += "; allow it for this skill alone with `allowEnv`"
    return group, reason


def _name_refusal(name: str) -> tuple[str, str] | None:
    # Before changing case: some letters outside ASCII have capitals within it.
    if not name.isascii() or not _PORTABLE.fullmatch(name.upper()):
        # Some names are no names on purpose: shells read functions from them.
        return _denial(name.upper()) or (
            "name",
            "is no portable name: use letters A to Z, digits and underscores",
        )
    if len(name) > MOST_KEY_CHARACTERS:
        return "name", f"is longer than {MOST_KEY_CHARACTERS} characters"
    return None


def _value_refusal(value: str) -> tuple[str, str] | None:
    if "\0" in value:
        return "value", "has a value with a NUL byte, which no system can pass on"
    try:
        size = len(value.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return "value", "has a value that cannot be written as bytes"
    if size > MOST_VALUE_BYTES:
        return "value", f"has a value of more than {MOST_VALUE_BYTES} bytes"
    return None


def _open_group(upper: str, declared: Collection[str]) -> str:
    if upper in ALWAYS_ALLOWED or upper.startswith(ALWAYS_ALLOWED_PREFIXES):
        return "always"
    if not is_secret_like(upper):
        return "ordinary"
    known = {comparable(item) for item in declared}
    return "declared" if upper in known else "undeclared"


def _doubts(name: str, value: str) -> tuple[str, ...]:
    found = []
    if _BASE64_LIKE.fullmatch(value):
        found.append(f"{name} has a long value that looks encoded: check what it is")
    if value.lstrip().startswith("() {"):
        found.append(f"{name} has a value that old shells read as a function: check what it is")
    return tuple(found)


def _shown(name: str) -> str:
    """Return a name that is safe to print, whatever it is."""
    return name[:MOST_KEY_CHARACTERS].encode("unicode_escape").decode()
