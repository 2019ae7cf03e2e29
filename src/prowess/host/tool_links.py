"""Programs of installed tools, linked into the one folder that the search path of skills ends with.

A link is made where nothing stands, or replaces one that leads to the same tool. What anybody else
put there stays: a skill must not get to exchange the program of another one, nor the user's.
"""

import errno
import os
import re
import secrets
import shlex
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from prowess.errors import PathError
from prowess.host.files.containment import TEMPORARY_PREFIX, Root
from prowess.safety.packages import is_portable_name

BIN = "bin"
# Programs that people type secrets into, that act with more rights, or that run what others wrote.
# Where one is missing, a tool of that name would be called in its place.
_NEVER = frozenset(
    (
        "sudo", "sudoedit", "visudo", "su", "doas", "pkexec", "run0", "runuser", "login", "passwd",
        "chsh", "chfn", "newgrp", "ssh", "sshd", "sshpass", "scp", "sftp", "ssh-add", "ssh-agent",
        "ssh-askpass", "ssh-keygen", "ssh-copy-id", "rsh", "rlogin", "git", "git-shell", "gpg",
        "gpg2", "gpgv", "gpgsm", "gpg-agent", "gpgconf", "pinentry", "pass", "secret-tool",
        "security", "sh", "ash", "bash", "rbash", "dash", "zsh", "fish", "ksh", "mksh", "csh",
        "tcsh", "busybox", "toybox", "cmd", "powershell", "pwsh", "env", "nodejs", "irb", "wish",
        "awk", "gawk", "mawk", "osascript", "prowess",
    )
)  # fmt: skip
# With a version behind: python3.12, lua5.4, perl5.36, ruby3.2.
_NEVER_NUMBERED = re.compile(r"(?:python|pypy|lua|luajit|perl|ruby|php|node|tclsh)[0-9.]*w?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """What can now be called by its name, and what could not be linked, in words."""

    names: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def link_programs(tools: Root, home: str, programs: Mapping[str, str]) -> Linked:
    """Link programs of the tool in `home`, each a name and a path below that folder."""
    if not programs:
        return Linked()
    # What is wrong with the folder is said with each link that cannot be made in it.
    with suppress(PathError):
        tools.make_folder(BIN)
    names, warnings = [], []
    for name, path in programs.items():
        problem = _link(tools, home, name, path)
        if problem:
            place = os.path.join(str(tools.path), home, path)
            warnings.append(f"{name} is not linked into {tools.path / BIN}: {problem} ({place})")
        else:
            names.append(name)
    return Linked(names=tuple(names), warnings=tuple(warnings))


def search_path_note(tools_bin: str, environ: Mapping[str, str]) -> str:
    """Say how a person's own shell finds the linked programs; "" where it does already."""
    entries = environ.get("PATH", "").split(os.pathsep)
    if os.path.realpath(tools_bin) in {os.path.realpath(entry) for entry in entries if entry}:
        return ""
    return (
        f'for your own shell add the line `export PATH="$PATH":{shlex.quote(tools_bin)}`;'
        " `prowess run` and `prowess chat` find it already"
    )


def _link(tools: Root, home: str, name: str, path: str) -> str:
    """Make one link in one step, and return why it could not be made."""
    if not is_portable_name(name):
        return "that is no plain name for a program"
    if _is_kept(name):
        return "that name is kept for the system's own program"
    temporary = f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    try:
        with tools.handle(BIN) as folder:
            if not _is_ours(tools, folder, home, name):
                return "something else has that name there"
            os.symlink(f"../{home}/{path}", temporary, dir_fd=folder)
            try:
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
                raise
    except PathError as error:
        return error.problem.removesuffix(".")
    except OSError as error:
        return error.strerror or "the system makes no links"
    return ""


def _is_kept(name: str) -> bool:
    plain = name.lower().removesuffix(".exe")
    is_pinentry = plain.startswith("pinentry-")
    return plain in _NEVER or is_pinentry or _NEVER_NUMBERED.fullmatch(plain) is not None


def _is_ours(tools: Root, folder: int, home: str, name: str) -> bool:
    """Say whether nothing is there, or a link of the same tool, or one of ours to nothing."""
    try:
        state = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return True
    if not stat.S_ISLNK(state.st_mode):
        return False
    target = os.readlink(name, dir_fd=folder)
    inner = os.path.normpath(os.path.join(BIN, target))
    if os.path.isabs(target) or inner.split(os.sep)[0] == os.pardir:
        return False
    return inner.split(os.sep)[0] == home or not _leads_somewhere(tools, inner)


def _leads_somewhere(tools: Root, inner: str) -> bool:
    try:
        os.stat(os.path.join(str(tools.path), inner))
    except OSError as error:
        return error.errno not in {errno.ENOENT, errno.ENOTDIR}
    return True
