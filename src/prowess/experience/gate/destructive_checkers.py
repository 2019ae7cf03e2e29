"""Programs that look at code, build, test or run tasks: what their options may do beyond that.

Tasks are told apart by their names alone. An option that names a file to write is no danger by
itself: `outputs` tells which files those are, and whoever asks looks whether they are there.
"""

import re
from collections.abc import Sequence

from prowess.experience.gate.destructive_options import UNKNOWN, by_words, has_option, operands
from prowess.experience.gate.destructive_tools import tool_danger
from prowess.experience.gate.destructive_variables import exported_danger
from prowess.experience.gate.interpreters import script_danger
from prowess.experience.gate.tables import CHECKERS, FORMATTERS, TASK_RUNNERS, TOOLS, names

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
