"""Commands that copy, remove, unpack files or change who may use them."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from prowess.safety.facts import Act
from prowess.safety.languages.shell.shell_options import Options, options
from prowess.safety.languages.shell.shell_writes import (
    copy_file,
    tell_erased,
    tell_place,
    write_file,
)
from prowess.safety.languages.shell.state import EMPTY, Call, Value, fill, join, unknown
from prowess.safety.sensitive import path_label

_ARCHIVE = re.compile(
    r"\.(?:tar(?:\.\w+)?|tgz|tbz2?|txz|zip|7z|rar|gz|xz|bz2|zst|deb|rpm|dmg|pkg)$", re.IGNORECASE
)
_EVERYTHING = re.compile((
        r"\.(?:pem|key|p12|pfx|kdbx|env|ppk|jks|keystore)$|id_|wallet|credential|secret|password"
    ), re.IGNORECASE)  # fmt: skip


_MAX_FOLDER = 200


def _copy(call: Call) -> Value:
    given = options(
        call.args, "tSmog", frozenset(("--target-directory", "--suffix", "--mode", "--owner"))
    )
    paths = list(given.operands)
    folder = given.first("-t", "--target-directory")
    if call.name == "install" and given.has("-d"):
        return EMPTY
    if folder is not None:
        target = replace(folder, text=folder.text.rstrip("/") + "/")
    elif paths[1:]:
        target = paths.pop()
    else:
        return EMPTY
    for source in paths:
        call.read(source)
        copy_file(call.shell, source, target)
        if call.name == "mv" and path_label(source.text) == "history":
            call.tell(Act.WIPE, "history", source.text)
    mode = given.first("-m", "--mode")
    if mode is not None:
        call.tell(Act.PERMISSION, mode.text, target.text)
    return EMPTY


def _link(call: Call) -> Value:
    given = options(call.args, "tS")
    paths = given.operands
    if len(paths) > 1:
        if path_label(paths[-1].text) == "history" and paths[0].text == "/dev/null":
            call.tell(Act.WIPE, "history", paths[-1].text)
        copy_file(call.shell, paths[0], paths[-1])
    return EMPTY


def _remove(call: Call) -> Value:
    given = options(call.args)
    recursive = given.has("-r", "-R", "--recursive", "-d") or call.name in (
        "rimraf",
        "trash",
        "srm",
    )
    for path in given.operands:
        call.tell(Act.DELETE, path.text, "recursive" if recursive else "", path.labels)
        tell_erased(call.shell, path.text, EMPTY)
    return EMPTY


def _shred(call: Call) -> Value:
    for path in options(call.args, "ns", frozenset(("--iterations", "--size"))).operands:
        if path.text.startswith("/dev/"):
            call.tell(Act.WIPE, "disk", path.text)
        else:
            call.tell(Act.DELETE, path.text)
            tell_erased(call.shell, path.text, EMPTY)
    return EMPTY


def _truncate(call: Call) -> Value:
    for path in options(call.args, "sr").operands:
        write_file(call.shell, path, EMPTY)
    return EMPTY


def _dd(call: Call) -> Value:
    source, target = EMPTY, ""
    for value in call.args:
        key, _, text = value.text.partition("=")
        if key == "if":
            source = call.read(value.cut(len("if=")))
        elif key == "of":
            target = text
    data = source if source is not EMPTY else call.incoming
    if target:
        write_file(call.shell, Value(target), replace(data, text="", known=False))
        return EMPTY
    return data


def _disk(call: Call) -> Value:
    text = " ".join(call.texts)
    if call.name == "diskutil" and not re.search(
        r"\b(?:erase|zero|secureErase|reformat|partitionDisk)", text
    ):
        return unknown()
    if call.name in ("fdisk", "parted", "sfdisk") and re.search(
        r"(?:^| )(?:-l|--list|print)\b", text
    ):
        return unknown()
    if call.args:
        call.tell(Act.WIPE, "disk", text)
    return EMPTY


def _find(call: Call) -> Value:
    texts = call.texts
    roots: list[Value] = []
    for value in call.args:
        if value.text.startswith(("-", "(", "!")):
            break
        roots.append(value)
    root = roots[0].text if roots else "."
    names = [
        b for a, b in pairwise(texts) if a in ("-name", "-iname", "-path", "-wholename", "-regex")
    ]
    if "-delete" in texts:
        for path in roots or [Value(".")]:
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


def _find_exec(call: Call, at: int, found: Value) -> None:
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


def _chmod(call: Call) -> Value:
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
    return EMPTY


def tell_setuid(call: Call, mode: str, path: str) -> None:
    """Note a mode that lends the rights of the owner."""
    if re.fullmatch(r"[2467]\d{3}", mode) or re.search(r"[ugoa]*[+=]\w*s", mode):
        call.tell(Act.PRIVILEGE, "setuid", path)


def _chown(call: Call) -> Value:
    operands = options(call.args, "", frozenset(("--from", "--reference"))).operands
    for path in operands[1:]:
        call.tell(Act.PERMISSION, f"{call.name} {operands[0].text}", path.text)
    return EMPTY


def _unpack(call: Call) -> Value:
    """`tar`, `unzip`, `7z`: what is unpacked comes from where the archive came from."""
    given = _archive_options(call)
    packing = call.name in ("zip", "zipsplit") or _is_packing(call)
    operands = given.operands
    archive = given.first("-f", "--file")
    if call.name not in ("tar", "gtar", "bsdtar"):
        words = operands[1:] if call.name in _SEVEN else operands
        archive, operands = (words[0], words[1:]) if words else (None, [])
    if packing:
        return _pack(call, archive, operands)
    data = call.read(archive) if archive and archive.text not in ("-", "") else call.incoming
    folder = given.first("-C", "--directory", "-d", "-o", "--one-top-level")
    place = call.shell.place(folder.text) if folder else "."
    if "remote" in data.labels or "decoded" in data.labels:
        source = replace(data, source=data.source or (archive.text if archive else ""))
        call.shell.unpacked[place] = source
    if given.has("-O", "-p", "--to-stdout"):
        return unknown(*data.labels, source=data.source)
    return EMPTY


_SEVEN = frozenset(("7z", "7za", "7zz", "unrar", "rar", "ar", "jar"))


def _archive_options(call: Call) -> Options:
    args = call.args
    if call.name in ("tar", "gtar", "bsdtar"):
        # `tar xzf f` and `tar -xzf f` are the same.
        if args and re.fullmatch(r"[A-Za-z]{1,8}", args[0].text):
            args = [replace(args[0], text=f"-{args[0].text}"), *args[1:]]
        return options(
            args,
            "fCTX",
            frozenset(
                ("--file", "--directory", "--exclude", "--strip-components", "--one-top-level")
            ),
        )
    return options(args, "dPo" if call.name == "unzip" else "")


def _is_packing(call: Call) -> bool:
    first = call.texts[0] if call.args else ""
    if call.name in ("tar", "gtar", "bsdtar"):
        short = not first.startswith("--") and "c" in first.lstrip("-")[:8]
        return short or "--create" in call.texts
    return call.name in _SEVEN and first in ("a", "u", "cf", "cvf", "r", "rc")


def _pack(call: Call, archive: Value | None, paths: list[Value]) -> Value:
    contents = [call.read(path) for path in paths if path.text not in ("-", "@")]
    packed = join(contents) if contents else call.incoming
    packed = unknown(*packed.labels, source=packed.source)
    if archive is not None and archive.text not in ("-", ""):
        write_file(call.shell, archive, packed)
        return EMPTY
    return packed


def _cd(call: Call) -> Value:
    operands = options(call.args).operands
    if operands and operands[0].text and operands[0].text != "-":
        folder = call.shell.place(operands[0].text)
        call.shell.folder = folder if len(folder) <= _MAX_FOLDER else ""
    return EMPTY


def _patch(call: Call) -> Value:
    for path in options(call.args, "pidDo").operands[:1]:
        tell_place(call.shell, path.text, call.incoming)
    return EMPTY


HANDLERS: dict[str, Callable[[Call], Value]] = {
    **dict.fromkeys(("cp", "gcp", "mv", "install", "ditto"), _copy), "ln": _link,
    **dict.fromkeys(("rm", "unlink", "rimraf", "srm", "trash", "grm"), _remove), "shred": _shred,
    "truncate": _truncate, "dd": _dd,
    **dict.fromkeys(("mkfs", "mkfs.ext4", "mkfs.ext3", "mkfs.xfs", "mkfs.btrfs", "mkfs.vfat",
    "mkfs.ntfs", "wipefs", "diskutil",
                     "fdisk", "sfdisk", "parted", "blkdiscard", "newfs_apfs", "newfs_hfs",
                     "hdparm", "mke2fs", "badblocks"), _disk),
    **dict.fromkeys(("find", "gfind", "fd", "fdfind"), _find), "chmod": _chmod, "chown": _chown,
    "chgrp": _chown,
    **dict.fromkeys(("tar", "gtar", "bsdtar", "unzip", "zip", "7z", "7za", "7zz", "unrar", "rar",
    "ar", "jar"), _unpack),
    "cd": _cd, "patch": _patch,
}  # fmt: skip
