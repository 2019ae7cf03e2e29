"""Commands that change the machine: files, disks, protections, services, schedules, secrets."""

import re
from dataclasses import replace
from functools import cache
from itertools import pairwise

from prowess.data import join_pattern, load_table, read_words
from prowess.safety.facts import Act
from prowess.safety.languages.shell.state import (
    EMPTY,
    PROGRAMS,
    Argv,
    Datum,
    Options,
    copy_file,
    fill,
    find_lines,
    join,
    load_matcher,
    load_names,
    name_handlers,
    split_options,
    tell_erased,
    tell_place,
    unknown,
    write_file,
)
from prowess.safety.paths import path_label

_EVERYTHING = re.compile((
        r"\.(?:pem|key|p12|pfx|kdbx|env|ppk|jks|keystore)$|id_|wallet|credential|secret|password"
    ), re.IGNORECASE)  # fmt: skip


_MAX_FOLDER = 200


def _copy(call: Argv) -> None:
    given = split_options(call.args, "tSmog --target-directory --suffix --mode --owner")
    paths = list(given.operands)
    folder = given.first("-t --target-directory")
    if call.name == "install" and given.has("-d"):
        return
    if folder is not None:
        target = replace(folder, text=folder.text.rstrip("/") + "/")
    elif paths[1:]:
        target = paths.pop()
    else:
        return
    for source in paths:
        call.read(source)
        copy_file(call.shell, source, target)
        if call.name == "mv" and path_label(source.text) == "history":
            call.tell(Act.WIPE, "history", source.text)
    mode = given.first("-m --mode")
    if mode is not None:
        call.tell(Act.PERMISSION, mode.text, target.text)


def _link(call: Argv) -> None:
    given = split_options(call.args, "tS")
    paths = given.operands
    if len(paths) > 1:
        if path_label(paths[-1].text) == "history" and paths[0].text == "/dev/null":
            call.tell(Act.WIPE, "history", paths[-1].text)
        copy_file(call.shell, paths[0], paths[-1])


def _remove(call: Argv) -> None:
    shreds = call.name == "shred"
    given = split_options(call.args, "ns --iterations --size" if shreds else "")
    recursive = given.has("-r -R --recursive -d") or call.name in ("rimraf", "trash", "srm")
    for path in given.operands:
        if shreds and path.text.startswith("/dev/"):
            call.tell(Act.WIPE, "disk", path.text)
        else:
            call.tell(Act.DELETE, path.text, "recursive" if recursive else "", path.labels)
            tell_erased(call.shell, path.text, EMPTY)


def _truncate(call: Argv) -> None:
    for path in split_options(call.args, "sr").operands:
        write_file(call.shell, path, EMPTY)


def _dd(call: Argv) -> Datum:
    source, target = EMPTY, ""
    for value in call.args:
        key, _, text = value.text.partition("=")
        if key == "if":
            source = call.read(value.cut(len("if=")))
        elif key == "of":
            target = text
    data = source if source is not EMPTY else call.incoming
    if target:
        write_file(call.shell, Datum(target), replace(data, text="", known=False))
        return EMPTY
    return data


def _find(call: Argv) -> Datum:
    texts = call.texts
    roots: list[Datum] = []
    for value in call.args:
        if value.text.startswith(("-", "(", "!")):
            break
        roots.append(value)
    root = roots[0].text if roots else "."
    names = [
        b for a, b in pairwise(texts) if a in ("-name", "-iname", "-path", "-wholename", "-regex")
    ]
    if "-delete" in texts:
        for path in roots or [Datum(".")]:
            call.tell(Act.DELETE, path.text, "recursive")
    labels = [
        f"credential:{name}"
        for name in names
        if path_label(name.replace("*", "x")) or _EVERYTHING.search(name)
    ]
    found = unknown(*(labels or [f"file:{root}"]), source=root, text=root)
    for at, text in enumerate(texts):
        if text in ("-exec", "-execdir", "-ok"):
            _find_exec(call, at + 1, found)
    return found


def _find_exec(call: Argv, at: int, found: Datum) -> None:
    end = at
    while end < len(call.args) and call.args[end].text not in (";", "+"):
        end += 1
    args = [
        found if value.text == "{}" else fill(value, "{}", found) for value in call.args[at:end]
    ]
    if args and args[0].text in ("rm", "/bin/rm", "shred"):
        call.tell(Act.DELETE, found.text, "recursive")
    elif args:
        call.shell.invoke(args, None)


def _chmod(call: Argv) -> None:
    recursive = any(text in ("-R", "--recursive") for text in call.texts)
    operands = [
        value for value in call.args
        if not re.fullmatch(r"-(?:[Rvcf]+|-\w[\w-]*)", value.text)
    ]  # fmt: skip
    if len(operands) > 1:
        for path in operands[1:]:
            call.tell(
                Act.PERMISSION,
                operands[0].text,
                path.text + ("/" if recursive and path.text != "/" else ""),
            )
            tell_setuid(call, operands[0].text, path.text)


def tell_setuid(call: Argv, mode: str, path: str) -> None:
    """Note a mode that lends the rights of the owner."""
    if re.fullmatch(r"[2467]\d{3}", mode) or re.search(r"[ugoa]*[+=]\w*s", mode):
        call.tell(Act.PRIVILEGE, "setuid", path)


def _chown(call: Argv) -> None:
    operands = split_options(call.args, "--from --reference").operands
    for path in operands[1:]:
        call.tell(Act.PERMISSION, f"{call.name} {operands[0].text}", path.text)


def _unpack(call: Argv) -> Datum:
    """`tar`, `unzip`, `7z`: what is unpacked comes from where the archive came from."""
    given = _archive_options(call)
    packing = call.name in ("zip", "zipsplit") or _is_packing(call)
    operands = given.operands
    archive = given.first("-f --file")
    if call.name not in ("tar", "gtar", "bsdtar"):
        words = operands[1:] if call.name in load_names("sevens") else operands
        archive, operands = (words[0], words[1:]) if words else (None, [])
    if packing:
        return _pack(call, archive, operands)
    data = call.read(archive) if archive and archive.text not in ("-", "") else call.incoming
    folder = given.first("-C --directory -d -o --one-top-level")
    place = call.shell.place(folder.text) if folder else "."
    if "remote" in data.labels or "decoded" in data.labels:
        source = replace(data, source=data.source or (archive.text if archive else ""))
        call.shell.unpacked[place] = source
    if given.has("-O -p --to-stdout"):
        return unknown(*data.labels, source=data.source)
    return EMPTY


def _archive_options(call: Argv) -> Options:
    args = call.args
    if call.name in ("tar", "gtar", "bsdtar"):
        # `tar xzf f` and `tar -xzf f` are the same.
        if args and re.fullmatch(r"[A-Za-z]{1,8}", args[0].text):
            args = [replace(args[0], text=f"-{args[0].text}"), *args[1:]]
        return split_options(args, program="archive_options")
    return split_options(args, "dPo" if call.name == "unzip" else "")


def _is_packing(call: Argv) -> bool:
    first = call.texts[0] if call.args else ""
    if call.name in ("tar", "gtar", "bsdtar"):
        short = not first.startswith("--") and "c" in first.lstrip("-")[:8]
        return short or "--create" in call.texts
    return call.name in load_names("sevens") and first in load_names("packing_verbs")


def _pack(call: Argv, archive: Datum | None, paths: list[Datum]) -> Datum:
    contents = [call.read(path) for path in paths if path.text not in ("-", "@")]
    packed = join(contents) if contents else call.incoming
    packed = unknown(*packed.labels, source=packed.source)
    if archive is not None and archive.text not in ("-", ""):
        write_file(call.shell, archive, packed)
        return EMPTY
    return packed


def _cd(call: Argv) -> None:
    operands = split_options(call.args).operands
    if operands and operands[0].text and operands[0].text != "-":
        folder = call.shell.place(operands[0].text)
        call.shell.folder = folder if len(folder) <= _MAX_FOLDER else ""


def _patch(call: Argv) -> None:
    for path in split_options(call.args, "pidDo").operands[:1]:
        tell_place(call.shell, path.text, call.incoming)


_POOL = re.compile(
    r"stratum\+?(?:tcp|ssl|tls)?://[^\s'\"]{1,200}|--(?:donate-level|coin=?monero)\b|\brandomx\b",
    re.IGNORECASE,
)
_CONTAINER_KINDS = (("docker.sock", "docker-socket"), ("/:/", "host-mount"), ("--pid", "host-pid"))


@cache
def _guards() -> re.Pattern[str]:
    named = load_matcher("guards").pattern
    return re.compile(rf"(?:^|[ /.])(?:{named})", re.IGNORECASE)


def tell_miner(call: Argv, name: str) -> None:
    """Note a miner, by its name or by the pool that it is given."""
    bare = name.rpartition("/")[2].lower()
    pool = next((found for value in call.args if (found := _POOL.search(value.text[:400]))), None)
    if bare in load_names("miners"):
        call.tell(Act.MINE, bare, pool[0] if pool else "")
    elif pool and pool[0].lower().startswith("stratum"):
        call.tell(Act.MINE, pool[0])


def tell_agent_flags(call: Argv) -> None:
    """Note flags that let an agent act without asking."""
    flags, line = load_matcher("agent_flags"), " ".join(call.texts[1:12])
    found = (flags.match(text) for text in call.texts[:40] if text.startswith("-"))
    if hit := next(filter(None, found), None):
        call.tell(Act.DISABLE, "agent-approval", hit[0])
    elif flags.search(line):
        call.tell(Act.DISABLE, "agent-approval", line)


@cache
def _read_lines() -> dict[str, list[tuple[re.Pattern[str], Act, str]]]:
    """Return what each command must say to do harm by its words alone, and what that is."""
    found: dict[str, list[tuple[re.Pattern[str], Act, str]]] = {}
    for row in load_table(PROGRAMS, "lines"):
        act, subject = row["tells"].split()
        told = re.compile(join_pattern(row["words"]), re.DOTALL), Act(act), subject
        for name in row["commands"].split():
            found.setdefault(name, []).append(told)
    return found


def _line(call: Argv) -> Datum:
    """A command whose words say all: the first row of the table that they match counts."""
    text = " ".join(call.texts)
    rows = _read_lines()[call.name]
    for act, subject in [row[1:] for row in rows if row[0].search(text)][:1]:
        # What stays behind is told by what is started, the last word.
        call.tell(act, subject, call.texts[-1] if act is Act.PERSIST else text)
    return unknown("host") if call.name in load_names("host_tellers") else EMPTY


def _crontab(call: Argv) -> Datum:
    """`crontab` takes a file or its input, `at` its input or the file behind `-f`."""
    is_cron = call.name == "crontab"
    given = split_options(call.args, "ui" if is_cron else "fqt")
    if given.has("-l -e -r -c"):
        return unknown("file:crontab", source="crontab") if is_cron and given.has("-l") else EMPTY
    path = next(iter(given.operands), None) if is_cron else given.first("-f")
    if path is None and call.stdin is None:
        return EMPTY
    is_input = path is None or path.text in ("-", "/dev/stdin")
    content = call.incoming if path is None or is_input else call.shell.read_file(path.text)
    lines = find_lines("cron", content) if is_cron else [content]
    told = "; ".join(line.text for line in lines[:3]).strip() or content.text.strip()
    target = told or (path.text if path else "")
    call.shell.tell(Act.PERSIST, "cron" if is_cron else "at", target, content.labels, piped=True)
    for line in lines:
        call.shell.run(line)
    return EMPTY


_STOPS = read_words("stop disable mask kill delete unload bootout remove")
_UNITS = (".service", ".timer", ".path", ".socket")


def _service(call: Argv) -> None:
    """Note units written here that start by themselves, and guards that are stopped."""
    words = [text for text in call.texts if not text.startswith("-")]
    if not _STOPS.isdisjoint(words[:2]) and _guards().search(" ".join(words)):
        call.tell(Act.DISABLE, "security-service", " ".join(words))
    if call.name == "launchctl" and words[:1] == ["setenv"] and words[2:]:
        call.tell(Act.SETENV, words[1], words[2])
    elif call.name == "launchctl":
        _line(call)
    elif words[:1] in (["enable"], ["create"]):
        for unit in words[1:2]:
            stem = unit.rpartition("/")[2].partition(".")[0]
            held = (path for path in call.shell.files if path.endswith(_UNITS))
            written = [path for path in held if path.rpartition("/")[2].startswith(stem)]
            if written or "/" in unit or words[0] == "create":
                kind = "systemd" if call.name == "systemctl" else "service"
                call.tell(Act.PERSIST, kind, written[0] if written else unit)


def _schedule(call: Argv) -> None:
    """`schtasks /create /tr …`."""
    texts = [text.lower() for text in call.texts]
    if "/create" in texts:
        at = texts.index("/tr") + 1 if "/tr" in texts else len(texts)
        call.tell(Act.PERSIST, "scheduled-task", call.texts[at] if at < len(texts) else "")
        if at < len(texts):
            call.shell.snippet("powershell", call.args[at])


def _registry(call: Argv) -> None:
    text = " ".join(call.texts)
    if call.texts[:1] and call.texts[0].lower() == "add":
        lowered = [word.lower() for word in call.texts]
        value = call.texts[lowered.index("/d") + 1] if "/d" in lowered[:-1] else ""
        if re.search(r"\\Run(?:Once)?\b|Winlogon|Image File Execution", text, re.IGNORECASE):
            call.tell(Act.PERSIST, "registry-run", value or text)
        if re.search(
            r"DisableAntiSpyware|DisableRealtimeMonitoring|EnableLUA|Windows Defender",
            text,
            re.IGNORECASE,
        ):
            call.tell(Act.DISABLE, "defender", text)


def _namespace(call: Argv) -> Datum:
    call.tell(Act.PRIVILEGE, "nsenter", " ".join(call.texts))
    at = 0
    while at < len(call.args) and call.args[at].text.startswith("-"):
        at += 2 if call.args[at].text in ("-t", "--target") else 1
    return call.shell.invoke(call.args[at:], call.stdin)


def _container(call: Argv) -> Datum:
    texts = call.texts
    found = load_matcher("privileged").search(" ".join(texts[:60]))
    if found:
        flag = found[0].strip()
        kind = next(
            (kind for part, kind in _CONTAINER_KINDS if part in flag), "privileged-container"
        )
        call.tell(Act.PRIVILEGE, kind, flag)
    at = next(
        (at + 1 for at, text in enumerate(texts) if text in ("run", "exec", "create")), len(texts)
    )
    if texts[:1] == ["compose"] or call.name in ("docker-compose", "kubectl", "oc"):
        at = texts.index("--") if "--" in texts else len(texts)
    if call.name in ("kubectl", "oc") and "get" in texts and "secret" in " ".join(texts):
        call.tell(Act.READ, f"credential:{call.name}", " ".join(texts))
        return unknown(f"credential:{call.name}", source=call.name)
    entry: list[Datum] = []
    while at < len(texts) and texts[at].startswith("-") and texts[at] != "--":
        if texts[at] == "--entrypoint":
            entry = call.args[at + 1 : at + 2]
        at += 2 if texts[at] in load_names("docker_valued") else 1
    if "run" in texts[:2] and at < len(texts):
        call.tell(Act.INSTALL, call.name, texts[at])
    inner = [*entry, *call.args[at + 1 :]]
    return call.shell.invoke(inner, call.stdin) if inner else EMPTY


def _keychain(call: Argv) -> Datum:
    text = " ".join(call.texts)
    if call.name == "security" and not load_matcher("keychain_verbs").match(text):
        return EMPTY
    if call.name != "security" and not re.match(
        r"(?:lookup|search|show|read|get|item|-c|ls|export|dump|find|/list|list)\b", text
    ):
        return EMPTY
    if (
        " " in text
        or call.stdin is not None
        or call.shell.view.text.strip() != f"{call.name} {text}"
    ):
        call.tell(Act.READ, "keychain", f"{call.name} {text}")
    return unknown("keychain", source=call.name)


def _miner(call: Argv) -> None:
    tell_miner(call, call.name)


HANDLERS = name_handlers(
    _copy, _link, _remove, _truncate, _dd, _line, _find, _chmod, _chown, _unpack, _cd,
    _patch, _miner, _crontab, _schedule, _registry, _service,
    _namespace, _container, _keychain,
)  # fmt: skip
