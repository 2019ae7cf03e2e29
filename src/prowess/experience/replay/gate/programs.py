"""What one program with its arguments would do: why it needs a confirmation, or an empty text.

A word that decides must not hold `UNKNOWN`. Programs that run other programs are judged in
`destructive`, and those whose first words say what they do in `destructive_tools`.

Programs whose first words say what they do, such as git: a table, and its exceptions.

Programs that look at code, build, test or run tasks: what their options may do beyond that.

Tasks are told apart by their names alone. An option that names a file to write is no danger by
itself: `outputs` tells which files those are, and whoever asks looks whether they are there.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from prowess.experience.replay.gate.interpreters import (
    awk_danger,
    exported_danger,
    interpreter_danger,
    node_danger,
    script_danger,
    sed_danger,
    sql_danger,
)
from prowess.experience.replay.gate.tables import (
    BAD,
    CHECKERS,
    FORMATTERS,
    HARMLESS,
    SAFE_TARGET,
    TASK_RUNNERS,
    TOOLS,
    UNKNOWN,
    Tool,
    by_words,
    has_option,
    names,
    operands,
    overwrites,
)

# As many words of a command line say what is done.
_DECIDING = 2
# A dash and one letter.
_LETTER = 2
# Options that a script passes on, and by which most programs write over what is there.
_PASSED_ON = re.compile(r"(?i)--?(?:out|empty-?out|write|fix|update)")
_INTENT_BAD = re.compile(r"(?i)delete|uninstall|clear|call|factory|reset|sendto|\bsend\b")


def tool_danger(tool: Tool, args: Sequence[str], name: str) -> str:
    """Judge a program by its first words and its options."""
    words = _first_words(tool, args)
    if not words:
        told = [arg for arg in args if arg not in ("--version", "--help", "-h")]
        return f"{name}: {tool.reason}" if told or not args else ""
    first, both = words[0], " ".join(words[:2])
    letters = tuple(option for option in tool.bad if len(option) == _LETTER)
    bad = has_option(args, tuple(tool.bad)) or any(arg.startswith(letters) for arg in args)
    if bad or not (first in tool.fine or both in tool.fine):
        return f"{name} {'' if UNKNOWN in first else first}: {tool.reason}"
    more = _MORE.get(name)
    return f"{name} {first}: {tool.reason}" if more and more(first, args) else ""


def _first_words(tool: Tool, args: Sequence[str]) -> list[str]:
    """Return the words that say what is done; none where an option is not known."""
    words: list[str] = []
    at = 0
    while at < len(args) and len(words) < _DECIDING:
        arg = args[at]
        at += 1
        if not arg.startswith("-"):
            words.append(arg)
        elif arg in tool.valued:
            at += 1
        elif not words and arg.partition("=")[0] not in tool.plain | tool.valued:
            return []
    return words


def _git(first: str, args: Sequence[str]) -> bool:
    """Return whether a command of git that mostly looks does more with these arguments."""
    given = list(args[list(args).index(first) + 1 :])
    rest = operands(given)
    reaches = first in ("clone", "fetch", "ls-remote")
    if any(arg.startswith("ext::") or (reaches and UNKNOWN in arg) for arg in args):
        return True
    letters = {"branch": "dDfmMcC", "tag": "df", "switch": "fC", "fetch": "fp", "clone": "cu",
               "symbolic-ref": "d", "grep": "O"}  # fmt: skip
    checks: dict[str, bool] = {
        "checkout": "-b" not in given or "--" in given or has_option(given, short="fB"),
        "remote": bool(rest) and rest[0] not in ("show", "get-url"),
        "config": not _reads_config(given, rest),
        "reflog": bool(rest) and rest[0] in ("expire", "delete", "drop"),
        "symbolic-ref": len(rest) > 1,
        "fetch": any(mark in arg for arg in rest[1:] for mark in "+:"),
    }
    return checks.get(first, False) or has_option(given, short=letters.get(first, ""))


def _reads_config(given: Sequence[str], rest: Sequence[str]) -> bool:
    places = ("--global", "--local", "--system")
    asked = [arg for arg in given if arg.startswith("-") and arg not in places]
    if asked:
        reading = ("--get", "--get-all", "--get-regexp", "--list", "-l", "--show-origin", "-z")
        return all(arg in reading for arg in asked)
    return len(rest) == 1 or rest[:1] in (["get"], ["list"])


def _node(first: str, args: Sequence[str]) -> bool:
    told = bool(by_words([arg for arg in args if arg != first], first))
    told = told or any(map(_PASSED_ON.match, args))
    if first in ("install", "i", "add", "ci"):
        return told or any(map(_is_elsewhere, args)) or has_option(args, short="g")
    return told or (first == "audit" and "fix" in args)


def _is_elsewhere(arg: str) -> bool:
    """Return whether a package is fetched from where its giver says, and not from the registry."""
    is_path = arg.startswith(("./", "@")) and ":" not in arg
    return UNKNOWN in arg or "://" in arg or "git+" in arg or ("/" in arg and not is_path)


def _python_packages(first: str, args: Sequence[str]) -> bool:
    words = ("install", "download", "wheel", "add", "pip", "lock", "sync")
    foreign = ("://", "git+", "@", UNKNOWN)
    return first in words and any(mark in arg for arg in args for mark in foreign)


def _cargo(first: str, args: Sequence[str]) -> bool:
    rest = list(args[list(args).index(first) + 1 :])
    if first in ("run", "r"):
        told = rest[rest.index("--") + 1 :] if "--" in rest else operands(rest, _CARGO_VALUED)
        only_asks = all(arg in ("--help", "--version", "-h", "-V") for arg in told)
        return not only_asks or bool(by_words(rest, first))
    if first == "add":
        return has_option(rest, ("--git", "--path", "--registry"))
    return first == "fmt" and not has_option(rest, ("--check",))


def _go(first: str, args: Sequence[str]) -> bool:
    rest = operands(list(args[list(args).index(first) + 1 :]), _GO_VALUED)
    if first == "run":
        return not _is_local(rest[:1]) or bool(by_words(rest, first))
    if first == "install":
        return not _is_local(rest)
    return first == "fmt"


def _is_local(packages: Sequence[str]) -> bool:
    return bool(packages) and all(
        (name == "." or name.startswith("./") or re.fullmatch(r"[\w-]+\.go", name))
        and "@" not in name
        and UNKNOWN not in name
        for name in packages
    )


def _formats(first: str, args: Sequence[str]) -> bool:
    looks = has_option(args, ("--check", "-check", "--diff", "-diff"))
    elsewhere = any("://" in arg for arg in args)
    return elsewhere or (first == "fmt" and not looks)


def _intents(_first: str, args: Sequence[str]) -> bool:
    return any(_INTENT_BAD.search(arg) for arg in args)


_CARGO_VALUED = ("--bin", "--example", "-p", "--package", "--features", "-F", "--profile",
                 "--target", "--manifest-path", "-j", "--jobs", "--color")  # fmt: skip
_GO_VALUED = ("-tags", "-ldflags", "-gcflags", "-mod", "-p", "-C")
_MORE: Mapping[str, Callable[[str, Sequence[str]], bool]] = MappingProxyType(
    {"git": _git, "npm": _node, "pnpm": _node, "yarn": _node, "bun": _node, "am": _intents,
     "pip": _python_packages, "uv": _python_packages, "poetry": _python_packages, "cargo": _cargo,
     "go": _go, "terraform": _formats, "deno": _formats}
)  # fmt: skip


COMPILERS = names("gcc g++ clang clang++ cc c++")
_DIRECT = "it runs code that is given to it directly"
_IN_PLACE = "it changes files in place"
_CHOSEN = "it runs a program of somebody's choice"
_OUTPUTS = names(
    "output outputfile outputpath outputdir outfile outdir out sitedir distdir junitxml reportfile "
    "coverprofile cpuprofile memprofile blockprofile mutexprofile logfile reportlog htmlreport "
    "cobertura jsonreport"
)
_WRITING = ("write", "fix", "unsafefixes", "inplace", "writechanges", "emptyoutdir",
            "updatesnapshot", "update", "installtypes", "clean")  # fmt: skip
_RUNNING = ("inithook", "pythonexecutable", "rununder", "globalsetup", "initscript", "eval",
            "execute", "compiler", "scriptmode", "buildandtest", "pastebin", "basetemp", "remote",
            "overrideini", "processorpath", "processor")  # fmt: skip
_WRITE_LETTERS = {"codespell": "wi", "prettier": "w", "gofmt": "wr", "goimports": "w", "jest": "u",
                  "vitest": "u", "ctest": "SM"}  # fmt: skip
# A file of tasks that comes from whatever is already open.
_OPEN_FILE = re.compile(r"^-$|=-$|^-[A-Za-z]*f-$|(?:^|[/=f])(?:dev|proc)/")
_INLINE = re.compile(r"[{}();`$]")
_RUN_TASKS = names("exec eval cmd shell sh install")
_INSTALLERS = names("make gmake ninja meson cmake")
_ASSIGNED = re.compile(r"([\w.-]+)(\s*(?:[?+!]|:{0,3})=)(.*)", re.DOTALL)
_CMAKE_CODE = re.compile(r"(?i)launcher|compiler|program|command|toolchain|include|linker")
_MODULES = names("unittest compileall py_compile doctest this site platform")
_LEAST_CUT = 3
_TOLD_OUTPUT = COMPILERS | CHECKERS | TASK_RUNNERS | names("go pytest py.test python python3")


def checker_danger(name: str, args: Sequence[str]) -> str:
    """Judge a program that looks at code, by its options."""
    if (name in FORMATTERS or (name == "ruff" and "format" in args)) and not has_option(
        args, ("--check", "--diff", "--check-only", "--version", "-l")
    ):
        return _IN_PLACE
    letters = _WRITE_LETTERS.get(name, "")
    if _says(args, _WRITING) or (letters and has_option(args, short=letters)):
        return _IN_PLACE
    if _says(args, _RUNNING) or any(arg.startswith("@") and name == "javac" for arg in args):
        return _CHOSEN
    return _DIRECT if _is_inline(args) else ""


def task_danger(name: str, args: Sequence[str]) -> str:
    """Judge a program that runs tasks, by the names of the tasks."""
    is_code = has_option(args, ("--eval", "--execute"), "" if name in ("tox", "nox") else "E")
    is_code = is_code or (name not in ("make", "gmake", "tox") and has_option(args, short="e"))
    if is_code or any(map(_OPEN_FILE.search, args)):
        return f"{name}: {_DIRECT}"
    if any(_sets_oddly(arg) for arg in args):
        return f"{name} is given variables that decide what is run"
    if _says(args, _RUNNING) or has_option(args, short="I" if name.startswith("gradle") else ""):
        return _CHOSEN
    if _says(args, ("emptyoutdir",)):
        return _IN_PLACE
    words = {word for arg in args for word in re.findall(r"[a-z]+", arg.casefold())}
    bad = _RUN_TASKS if name in _INSTALLERS else _RUN_TASKS - {"install"}
    return f"{name} runs more than a task" if words & bad else by_words(args, name)


def pytest_danger(args: Sequence[str]) -> str:
    """Judge `pytest`."""
    if has_option(args, ("--basetemp",)):
        return "it empties a folder"
    if has_option(args, ("--override-ini", "--pastebin", "--cache-clear"), "") or any(
        re.match(r"-[a-zA-Z]*o", arg) and not arg.startswith("--") for arg in args
    ):
        return _CHOSEN
    return "it writes a report" if any("--cov-report" in arg and ":" in arg for arg in args) else ""


def compiler_danger(args: Sequence[str]) -> str:
    """Judge a compiler; what it writes is told by `outputs`."""
    bad = has_option(args, ("-wrapper", "-fplugin", "-specs", "-B")) or any(
        arg.startswith(("@", "-fplugin", "-B", "-specs", "--specs", "-Xclang")) for arg in args
    )
    return _CHOSEN if bad else ""


def cmake_danger(args: Sequence[str]) -> str:
    """Judge `cmake`."""
    runs = any(arg.startswith(("-E", "-P", "-C", "--install")) for arg in args)
    sets = (arg for arg in args if arg.startswith("-D"))
    if runs or any(_CMAKE_CODE.search(arg) or _INLINE.search(arg) for arg in sets):
        return "it runs a script or installs"
    words = {word for arg in args for word in re.findall(r"[a-z]+", arg.casefold())}
    told = [arg for arg in args if not arg.startswith("-D")]
    return "it installs" if "install" in words else by_words(told, "cmake")


def python_danger(args: Sequence[str]) -> str:
    """Judge `python`: a script, or one of a few modules."""
    at = 0
    while at < len(args) and args[at].startswith("-") and args[at] != "-":
        if args[at] in ("-V", "--version", "-VV", "--help", "-h"):
            return ""
        if args[at] == "-m":
            return _module(args[at + 1 :])
        if args[at] in ("-W", "-X"):
            at += 1
        elif not re.fullmatch(r"-[uBOsEIqvSP]+|-[WX].+", args[at]):
            return _DIRECT
        at += 1
    return script_danger(args[at:])


def _module(args: Sequence[str]) -> str:
    name, rest = (args[0], args[1:]) if args else ("", ())
    if name == "pip":
        return tool_danger(TOOLS["pip"], rest, "pip")
    if name == "pytest":
        return pytest_danger(rest)
    if name in CHECKERS:
        return checker_danger(name, rest)
    if name in TASK_RUNNERS:
        return task_danger(name, rest)
    if name in _MODULES:
        return by_words(rest, name) if UNKNOWN in "".join(rest) else ""
    fine = {
        "venv": not has_option(rest, ("--clear", "--upgrade")),
        "build": not has_option(rest, ("--outdir",), "o"),
        "json.tool": len(operands(rest)) <= 1,
    }
    shown = "" if UNKNOWN in name else name
    return "" if fine.get(name, False) else f"it is not known what the module {shown} does"


def outputs(name: str, args: Sequence[str]) -> list[str]:
    """Return the files that a program is told to write anew."""
    if name not in _TOLD_OUTPUT:
        return []
    has_letter = name in COMPILERS | CHECKERS | TASK_RUNNERS | {"go"}
    letter = "-o" if has_letter and name not in ("make", "gmake", "mvn", "mvnw") else ""
    found: list[str] = []
    for at, arg in enumerate(args):
        option, sign, value = arg.partition("=")
        following = list(args[at + 1 : at + 2])
        if arg.startswith("-") and _bare(option) in _OUTPUTS:
            found += [value] if sign else following
        elif letter and arg.startswith(letter):
            found += [arg[len("-o") :]] if len(arg) > len("-o") else following
    return found


def _bare(option: str) -> str:
    return option.lstrip("-").replace("-", "").replace("_", "").casefold()


def _says(args: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether a long option is given, however it is spelled and also cut short."""
    given = (_bare(arg.partition("=")[0]) for arg in args if re.match(r"--|-[a-zA-Z]{3}", arg))
    return any(
        one == whole or (len(one) >= _LEAST_CUT and whole.startswith(one))
        for one in given
        for whole in wanted
    )


def _is_inline(args: Sequence[str]) -> bool:
    """Return whether a setting is given as code instead of as the name of a file."""
    for at, arg in enumerate(args):
        option, sign, value = arg.partition("=")
        if _bare(option) in ("config", "c", "configfile", "plugin", "loadplugins", "reporter"):
            given = value if sign else "".join(args[at + 1 : at + 2])
            if _INLINE.search(given) or "://" in given or given.startswith(("/dev", "/proc", "-")):
                return arg.startswith("-")
    return False


def _sets_oddly(arg: str) -> bool:
    """Return whether a variable is set for all tasks, other than to a harmless value."""
    found = None if arg.startswith("-") else _ASSIGNED.fullmatch(arg)
    if found is None:
        return False
    name, sign, value = found[1], found[2].strip(), found[3]
    return sign != "=" or bool(exported_danger(name, value))


Judge = Callable[[Sequence[str]], str]
_LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\])(?=[:/?]|$)")
_CP_OPTION = re.compile(r"-[anprRvLPdHT]+|--no-clobber|--recursive|--verbose|--archive|--")
_MODE = re.compile(r"0?[4567][045][045]|0?[67][67][45]|[ugoa]*\+[rx]+|u\+[rwx]+|go?-[rwx]+")


def known_danger(name: str, args: Sequence[str]) -> str | None:
    """Return why a program needs a confirmation; nothing where it is not known here."""
    if name in BAD or name.startswith("mkfs"):
        return BAD.get(name, BAD["mkfs"])
    if name in HARMLESS:
        return ""
    if name in TASK_RUNNERS | CHECKERS:
        return task_danger(name, args) if name in TASK_RUNNERS else checker_danger(name, args)
    judge = _JUDGES.get(name)
    if judge is not None:
        return judge(args)
    tool = TOOLS.get(name)
    return None if tool is None else tool_danger(tool, args, name)


def reached(name: str, args: Sequence[str]) -> list[str]:
    """Return the paths where a program makes something new, or changes who may use it."""
    given = operands(args)
    if name == "tee" and has_option(args, ("--append",), "a"):
        return given
    if name == "ln":
        return [given[-1] if len(given) > 1 else given[0].rpartition("/")[2]] if given else []
    if name == "cp":
        return given[-1:]
    if name == "chmod":
        return given[1:]
    is_clone = name == "git" and given[:1] == ["clone"]
    return given[2:] if is_clone else []


def _curl(args: Sequence[str]) -> str:
    sends = ("--data", "--data-raw", "--data-binary", "--data-urlencode", "--form", "--json",
             "--form-string", "--upload-file", "--config", "--data-ascii", "--quote",
             "--prequote", "--postquote", "--mail-from", "--telnet-option")  # fmt: skip
    if has_option(args, sends, "dFTKQ") or _tells_unknown(args):
        return "it sends something to another machine"
    if _changes(args, ("-X", "--request")):
        return "it changes something on another machine"
    writes = ("--output", "--remote-name", "--remote-name-all", "--cookie-jar", "--dump-header",
              "--libcurl", "--trace", "--trace-ascii", "--stderr", "--etag-save", "--hsts",
              "--alt-svc")  # fmt: skip
    if has_option(args, writes, "oOcD") and not _writes_nowhere(args, ("-o", "--output")):
        return "it writes what it fetches to a file"
    return ""


def _tells_unknown(args: Sequence[str]) -> bool:
    """Return whether what is only known when it runs goes to another machine."""
    addresses = [arg for arg in operands(args) if "://" in arg or "." in arg or ":" in arg]
    at_home = bool(addresses) and all(map(_LOCAL.match, addresses))
    return not at_home and any(UNKNOWN in arg for arg in args)


def _changes(args: Sequence[str], names: Sequence[str]) -> bool:
    for at, arg in enumerate(args):
        for name in names:
            glued = arg.removeprefix(name).lstrip("=") if arg.startswith(name) else None
            if glued is None:
                continue
            method = glued or (args[at + 1] if at + 1 < len(args) else "")
            if method.upper() not in ("GET", "HEAD", "OPTIONS"):
                return True
        if re.match(r"-[A-Za-z]+X", arg):
            return True
    return False


def _writes_nowhere(args: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether the one thing that is written goes to a device such as `/dev/null`."""
    pairs = zip(args, [*args[1:], ""], strict=True)
    targets = [following for arg, following in pairs if arg in names]
    others = has_option([arg for arg in args if arg not in names], short="oOcD")
    return (
        bool(targets)
        and not others
        and all(target == "-" or SAFE_TARGET.match(target) for target in targets)
    )


def _wget(args: Sequence[str]) -> str:
    sends = ("--post-data", "--post-file", "--body-data", "--body-file", "--method", "--execute")
    if has_option(args, sends, "e") or _tells_unknown(args):
        return "it sends something to another machine"
    nowhere = any(arg in ("-qO-", "-O-", "--output-document=-", "--spider") for arg in args)
    nowhere = nowhere or _writes_nowhere(args, ("-O", "--output-document"))
    return "" if nowhere else "it writes what it fetches to a file"


def _cp(args: Sequence[str]) -> str:
    options = [arg for arg in args if arg.startswith("-")]
    is_plain = all(map(_CP_OPTION.fullmatch, options))
    spares = any(arg == "--no-clobber" or (arg[1:2] != "-" and "n" in arg) for arg in options)
    return "" if is_plain and spares else "it copies over what is there"


def _tee(args: Sequence[str]) -> str:
    if has_option(args, ("--append",), "a"):
        return ""
    return next((found for path in operands(args) if (found := overwrites(path))), "")


def _chmod(args: Sequence[str]) -> str:
    mode = operands(args)[:1]
    is_plain = all(map(_MODE.fullmatch, mode)) and not has_option(args, ("--recursive",), "R")
    return "" if mode and is_plain else "it changes who may use files"


def _asks_about(args: Sequence[str]) -> str:
    """Judge a program that sends a name to another machine."""
    unknown = any(UNKNOWN in arg for arg in args)
    return "it sends something to another machine" if unknown else ""


def _unless(
    long: Sequence[str] = (), short: str = "", *, most: int = 1_000, reason: str = ""
) -> Judge:
    """Return a judge that minds some options, or more than `most` operands."""

    def judge(args: Sequence[str]) -> str:
        is_bad = has_option(args, long, short) or len(operands(args)) > most
        return reason if is_bad else ""

    return judge


def _tar(args: Sequence[str]) -> str:
    first = args[0] if args else ""
    lists = re.fullmatch(r"-?[tvzjJf]+", first) and "t" in first
    risky = ("--to-command", "--checkpoint-action", "--use-compress-program", "--info-script",
             "--new-volume-script", "--rsh-command", "--rmt-command")  # fmt: skip
    return "" if lists and not has_option(args[1:], risky, "IF") else "it packs or unpacks files"


def _screencap(args: Sequence[str]) -> str:
    places = ("/sdcard/", "/data/local/tmp/")
    return next((overwrites(path) for path in operands(args) if not path.startswith(places)), "")


def _monkey(args: Sequence[str]) -> str:
    told = " ".join(args)
    opens = re.fullmatch(r"(?:-v )*-p [\w.]+ (?:-v )*(?:-c [\w.]+ )?(?:-v )*1", told)
    return "" if opens else "it taps at random"


def _date(args: Sequence[str]) -> str:
    valued = ("-d", "--date", "-r", "--reference", "-f", "--file", "-v", "-I")
    sets = has_option(args, ("--set",)) or any(re.match(r"-[uRj]*s", arg) for arg in args)
    told = [arg for arg in operands(args, valued) if not arg.startswith("+")]
    return "it sets the clock" if sets or told else ""


def _dumpsys(args: Sequence[str]) -> str:
    changes = frozenset(("set", "unplug", "reset", "enable", "disable", "force-idle", "whitelist"))
    return "" if changes.isdisjoint(args) else "it changes the device"


_WRITES = "it writes to a file"
_JUDGES: Mapping[str, Judge] = MappingProxyType(
    {
        "curl": _curl, "wget": _wget, "sed": sed_danger, "gsed": sed_danger,
        **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), awk_danger),
        **dict.fromkeys(("python", "python3", "py"), python_danger), "node": node_danger,
        **dict.fromkeys(("perl", "ruby", "php", "lua", "Rscript", "java"), interpreter_danger),
        "source": script_danger, ".": script_danger,
        **dict.fromkeys(("pytest", "py.test"), pytest_danger),
        **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3"), sql_danger),
        **dict.fromkeys(COMPILERS, compiler_danger),
        **dict.fromkeys(("dig", "nslookup", "host", "ping"), _asks_about),
        "cp": _cp, "tee": _tee, "tar": _tar, "screencap": _screencap, "monkey": _monkey,
        "dumpsys": _dumpsys, "chmod": _chmod, "cmake": cmake_danger,
        **dict.fromkeys(
            ("file", "nm", "objdump", "size"),
            _unless(("--plugin", "--compile"), "C", reason="it loads or writes a file"),
        ),
        "base64": _unless(("--output",), "o", reason=_WRITES),
        "yq": _unless(("--inplace", "--in-place", "--split-exp"), "is", reason=_IN_PLACE),
        "sort": _unless(("--output", "--compress-program"), "o", reason=_WRITES),
        "uniq": _unless(most=1, reason=_WRITES),
        "xxd": _unless(("-r",), "r", most=1, reason=_WRITES),
        "tree": _unless(("-o",), "o", reason=_WRITES),
        "rg": _unless(("--pre", "--hostname-bin"), reason="it runs a program for each file"),
        "fd": _unless(("--exec", "--exec-batch"), "xX", reason="it runs a program for each file"),
        "unzip": lambda args: "" if args[:1] in (["-l"], ["-Z"]) else "it unpacks files",
        "date": _date,
        "hostname": _unless(most=0, reason="it names the machine anew"),
        "wm": _unless(most=1, reason="it changes the screen of the device"),
        "logcat": _unless(("--clear",), "cf", reason="it clears or writes a log"),
        "journalctl": _unless(
            ("--vacuum-size", "--vacuum-time", "--vacuum-files", "--rotate", "--flush",
             "--cursor-file"),
            reason="it clears a log",
        ),
        "ln": _unless(("--force",), "f", reason="it may replace files"),
        "shopt": _unless(("-s",), "s", reason="it changes how the shell reads commands"),
    }
)  # fmt: skip
