"""Reading one untrusted file: bounded, regular, not through a link, never waiting."""

import os
import stat
from typing import NamedTuple

from prowess.skills.diagnostics import diagnose
from prowess.skills.model import Diagnostic

# A FIFO named SKILL.md must not hang the scan, nor a link be followed after it was checked.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class Content(NamedTuple):
    """The bytes of a file."""

    data: bytes


def read_bounded(path: str, limit: int, *, hard_links: bool = True) -> Content | Diagnostic | None:
    """Return the content of `path`, the reason why there is none, or None where it is gone."""
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        return diagnose("unreadable", f"cannot be read: {error.strerror}", path=path)
    try:
        problem = _objection(path, os.fstat(handle), limit, hard_links=hard_links)
        return problem or _read(path, handle, limit)
    except OSError as error:
        return diagnose("unreadable", f"cannot be read: {error.strerror}", path=path)
    finally:
        os.close(handle)


def _objection(
    path: str, found: os.stat_result, limit: int, *, hard_links: bool
) -> Diagnostic | None:
    if not stat.S_ISREG(found.st_mode):
        return diagnose("not-a-file", "is not a regular file", path=path)
    if found.st_nlink > 1 and not hard_links:
        return diagnose("hard-link", f"has {found.st_nlink} hard links", path=path)
    if found.st_size > limit:
        return _too_large(path, limit)
    return None


def _read(path: str, handle: int, limit: int) -> Content | Diagnostic:
    data = read_handle(handle, limit + 1)
    # A file can grow while it is read, so the size is checked on what was read too.
    return Content(data) if len(data) <= limit else _too_large(path, limit)


def read_handle(handle: int, most: int) -> bytes:
    """Return the bytes of an open file, at most so many."""
    chunks, left = [], most
    while left > 0 and (chunk := os.read(handle, min(left, 1 << 18))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _too_large(path: str, limit: int) -> Diagnostic:
    return diagnose("FILE_TOO_LARGE", f"is larger than {limit} bytes", path=path)


def is_path(text: str) -> bool:
    """Return whether the system could look for a file of that name at all."""
    try:
        return "\0" not in text and bool(os.fsencode(text))
    except UnicodeEncodeError:
        return False
