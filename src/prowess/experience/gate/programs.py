"""What one program with its arguments would do: why it needs a confirmation, or an empty text.

A word that decides must not hold `UNKNOWN`. Programs that run other programs are judged in
`destructive`, and those whose first words say what they do in `destructive_tools`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from prowess.experience.gate.destructive_checkers import (
    COMPILERS,
    checker_danger,
    cmake_danger,
    compiler_danger,
    pytest_danger,
    python_danger,
    task_danger,
)
from prowess.experience.gate.destructive_options import (
    SAFE_TARGET,
    UNKNOWN,
    has_option,
    operands,
    overwrites,
)
from prowess.experience.gate.destructive_tools import tool_danger
from prowess.experience.gate.interpreters import (
    awk_danger,
    interpreter_danger,
    node_danger,
    script_danger,
    sed_danger,
    sql_danger,
)
from prowess.experience.gate.tables import BAD, CHECKERS, HARMLESS, TASK_RUNNERS, TOOLS

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


_IN_PLACE = "it changes files in place"
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
