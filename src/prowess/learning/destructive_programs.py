"""What one program with its arguments would do: why it needs a confirmation, or an empty text.

A word that decides must not hold `UNKNOWN`. Programs that run other programs are judged in
`destructive`, and those whose first words say what they do in `destructive_tools`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from prowess.learning.destructive_options import (
    SAFE_TARGET,
    UNKNOWN,
    appends,
    by_words,
    has_option,
    operands,
    overwrites,
)
from prowess.learning.destructive_tables import BAD, HARMLESS, TASK_RUNNERS, TOOLS, names
from prowess.learning.destructive_tools import tool_danger

Judge = Callable[[Sequence[str]], str]

_PYTHON_MODULES = names(
    "pytest mypy ruff unittest flake8 pylint black isort venv compileall py_compile build tox nox "
    "coverage timeit cProfile doctest this site platform pyright codespell_lib"
)
_READING_SQL = re.compile(
    r"\s*(?:(?:select\b(?!.*\binto\b)|explain\b(?!\s+analy)|show\b|describe\b|desc\b)"
    r"(?!.*\n\s*\.)[^;\\]*;?|\\[dlz][a-z+]*[\w .*]*"
    r"|\.(?:tables|schema|databases|indexes)\b[\w .]*)\s*",
    re.IGNORECASE | re.DOTALL,
)
_IN_MARKS = r"(?:(?!(?P={mark}))[^\\\n]|\\.)*+(?P={mark})"
_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n\[]|\\.)*+/I?)"
_SED_OPTION = re.compile(r"-[nErsuz]*e")
_SED_PLAIN_OPTION = re.compile(r"-[nErsuz]*e?|--(?:quiet|silent|regexp-extended|posix)")
_SED_GAP = re.compile(r"[\s;{}]*")
_SED_COMMAND = re.compile(
    rf"(?:{_ADDRESS}(?:,\+?{_ADDRESS})?)?\s*!?\s*"
    rf"(?:[pdqDPNnhHgGxzlF=]|s(?P<mark>[^\w\s\\])(?P<found>{_IN_MARKS.format(mark='mark')})"
    rf"{_IN_MARKS.format(mark='mark')}[gpIi0-9]*|(?={{))",
    re.DOTALL,
)
_AWK_BAD = re.compile(
    r"system|getline|[^|]\|(?!\|)|\bprintf?\b[^;}\n]*>|@|\bclose\b|ENVIRON\s*\[[^\]]*\]\s*="
)


def known_danger(name: str, args: Sequence[str]) -> str | None:
    """Return why a program needs a confirmation; nothing where it is not known here."""
    if name in BAD:
        return BAD[name]
    if name.startswith("mkfs"):
        return BAD["mkfs"]
    if name in HARMLESS:
        return ""
    if name in TASK_RUNNERS:
        return _task_danger(name, args)
    judge = _JUDGES.get(name)
    if judge is not None:
        return judge(args)
    tool = TOOLS.get(name)
    return None if tool is None else tool_danger(tool, args, name)


def _task_danger(name: str, args: Sequence[str]) -> str:
    is_code = has_option(args, ("--eval", "--execute"), "" if name in ("tox", "make") else "eE")
    if is_code or any(arg.startswith(("SHELL=", ".SHELLFLAGS=")) for arg in args):
        return f"{name} runs code that is given to it directly"
    return by_words(args, name)


def _curl(args: Sequence[str]) -> str:
    sends = ("--data", "--data-raw", "--data-binary", "--data-urlencode", "--form", "--json",
             "--form-string", "--upload-file", "--config", "--data-ascii")  # fmt: skip
    if has_option(args, sends, "dFTK"):
        return "it sends something to another machine"
    if _changes(args, ("-X", "--request")):
        return "it changes something on another machine"
    writes = ("--output", "--remote-name", "--remote-name-all", "--cookie-jar", "--dump-header",
              "--libcurl", "--trace", "--trace-ascii", "--stderr", "--etag-save", "--hsts",
              "--alt-svc")  # fmt: skip
    if has_option(args, writes, "oOcD") and not _writes_nowhere(args, ("-o", "--output")):
        return "it writes what it fetches to a file"
    return ""


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
    if has_option(args, sends, "e"):
        return "it sends something to another machine"
    nowhere = any(arg in ("-qO-", "-O-", "--output-document=-", "--spider") for arg in args)
    nowhere = nowhere or _writes_nowhere(args, ("-O", "--output-document"))
    return "" if nowhere else "it writes what it fetches to a file"


def _sed(args: Sequence[str]) -> str:
    if has_option(args, ("--in-place", "--file"), "if"):
        return "it changes files in place"
    options = [arg for arg in args if arg.startswith("-") and arg != "-"]
    follows = [following for arg, following in pairwise(args) if _SED_OPTION.fullmatch(arg)]
    scripts = follows or operands(args)[:1]
    is_plain = bool(scripts) and all(map(_is_plain_sed, scripts))
    if is_plain and all(_SED_PLAIN_OPTION.fullmatch(arg) for arg in options):
        return ""
    return "its script may write files or run commands"


def _is_plain_sed(script: str) -> bool:
    """Return whether a script of sed is read in full, and only shows and replaces text."""
    at = 0
    while at < len(script):
        at = _after(_SED_GAP, script, at)
        found = _SED_COMMAND.match(script, at)
        if found is None:
            return at == len(script)
        mark = found["mark"]
        if mark and re.search(rf"\[[^\]]*{re.escape(mark)}", found["found"]):
            # Not every sed agrees on whether this ends the pattern.
            return False
        at = found.end()
        if at < len(script) and _after(_SED_GAP, script, at) == at:
            return False
    return True


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _awk(args: Sequence[str]) -> str:
    if has_option(args, ("--file", "--include", "--load", "--exec", "--in-place"), "fiElo"):
        return "its script may write files or run commands"
    program = next(iter(operands(args, ("-F", "-v"))), "")
    if not program or UNKNOWN in program or _AWK_BAD.search(program):
        return "its script may write files or run commands"
    return ""


def _python(args: Sequence[str]) -> str:
    at = 0
    while at < len(args) and args[at].startswith("-") and args[at] != "-":
        if args[at] in ("-V", "--version", "-VV", "--help", "-h"):
            return ""
        if args[at] == "-m":
            return _module(args[at + 1 :])
        if args[at] in ("-W", "-X"):
            at += 1
        elif not re.fullmatch(r"-[uBOsEIqvSP]+|-[WX].+", args[at]):
            return "it runs code that is given to it directly"
        at += 1
    return script_danger(args[at:])


def _module(args: Sequence[str]) -> str:
    name = args[0] if args else ""
    if name == "pip":
        return tool_danger(TOOLS["pip"], args[1:], "pip")
    if name == "pytest":
        return _pytest(args[1:])
    if name in _PYTHON_MODULES:
        return ""
    return f"it is not known what the module {'' if UNKNOWN in name else name} does"


def script_danger(args: Sequence[str]) -> str:
    """Judge an interpreter whose first argument is the file that it runs."""
    if not args or args[0].startswith("-") or args[0].startswith("/dev/"):
        return "it runs code that is given to it directly"
    if UNKNOWN in args[0].rpartition("/")[2]:
        return "what it runs is only known when it runs"
    return by_words([args[0].rpartition("/")[2], *args[1:]], "a script")


def _node(args: Sequence[str]) -> str:
    fine = re.compile(
        r"--test|--check|-c|--no-warnings|--experimental-[\w-]+|--max-old-space-size=\d+"
        r"|--env-file=[\w./-]+|--enable-source-maps"
    )
    if list(args) in (["-v"], ["--version"]):
        return ""
    at = 0
    while at < len(args) and fine.fullmatch(args[at]):
        at += 1
    return "" if at and at == len(args) else script_danger(args[at:])


def _interpreter(args: Sequence[str]) -> str:
    return "" if list(args) in (["-v"], ["--version"]) else script_danger(args)


def _pytest(args: Sequence[str]) -> str:
    return "it empties a folder" if has_option(args, ("--basetemp",)) else ""


def _sql(args: Sequence[str]) -> str:
    names = ("-c", "-e", "--command", "--execute")
    given = [following for arg, following in pairwise(args) if arg in names]
    is_glued = any(arg.startswith(names) and arg not in names for arg in args)
    texts = given or operands(args)[1:]
    is_reading = bool(texts) and all(
        UNKNOWN not in text and _READING_SQL.fullmatch(text) for text in texts
    )
    if (
        is_reading
        and not is_glued
        and not has_option(args, ("--file", "--init-command", "--init"), "f")
    ):
        return ""
    return "it may change a database"


def _cp(args: Sequence[str]) -> str:
    spares = has_option(args, ("--no-clobber",), "n")
    return "" if spares else "it copies over what is there"


def _tee(args: Sequence[str]) -> str:
    judge = appends if has_option(args, ("--append",), "a") else overwrites
    return next((found for path in operands(args) if (found := judge(path))), "")


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
    return "" if args and args[-1] == "1" else "it taps at random"


def _set(args: Sequence[str]) -> str:
    return (
        "" if all(re.fullmatch(r"[-+][a-z]+|pipefail|--", arg) for arg in args) else "it sets words"
    )


def _date(args: Sequence[str]) -> str:
    sets = has_option(args, ("--set",)) or any(arg.startswith("-s") for arg in args)
    return "it sets the clock" if sets else ""


def _dumpsys(args: Sequence[str]) -> str:
    changes = frozenset(("set", "unplug", "reset", "enable", "disable", "force-idle", "whitelist"))
    return "" if changes.isdisjoint(args) else "it changes the device"


_IN_PLACE = "it changes files in place"
_WRITES = "it writes to a file"
_COMPILER = _unless(
    ("-wrapper", "-fplugin", "-specs", "-B"), reason="it runs a program of somebody's choice"
)
_JUDGES: Mapping[str, Judge] = MappingProxyType(
    {
        "curl": _curl, "wget": _wget, "sed": _sed, "gsed": _sed, "awk": _awk, "gawk": _awk,
        "mawk": _awk, "python": _python, "python3": _python, "py": _python, "node": _node,
        "perl": _interpreter, "ruby": _interpreter, "php": _interpreter, "lua": _interpreter,
        "Rscript": _interpreter, "java": _interpreter, "source": script_danger,
        ".": script_danger, "pytest": _pytest, "psql": _sql, "mysql": _sql, "mariadb": _sql,
        "sqlite3": _sql, "cp": _cp, "tee": _tee, "tar": _tar, "screencap": _screencap,
        "monkey": _monkey, "set": _set, "dumpsys": _dumpsys,
        **dict.fromkeys(("gcc", "g++", "clang", "clang++", "cc", "c++"), _COMPILER),
        "pylint": _unless(("--init-hook",), reason="it runs code that is given to it directly"),
        "yq": _unless(("--inplace", "--in-place"), "i", reason=_IN_PLACE),
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
            ("--vacuum-size", "--vacuum-time", "--rotate", "--flush"), reason="it clears a log"
        ),
        "chmod": _unless(("--recursive",), "R", reason="it changes who may use many files"),
        "ln": _unless(("--force",), "f", reason="it may replace files"),
        "cmake": _unless(("-E", "-P", "--install"), reason="it runs a script or installs"),
        "shopt": _unless(("-s",), "s", reason="it changes how the shell reads commands"),
    }
)  # fmt: skip
