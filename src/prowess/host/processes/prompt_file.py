"""The skills prompt as a file, for a program that is told where it is.

The file is private to the user and lives as long as the block: a program that goes on in the
background finds it gone. It is there for an empty prompt, too, so that readers need no special
case.
"""

import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from prowess.errors import PathError

VARIABLE = "PROWESS_SKILLS_PROMPT_FILE"
_FILE_NAME = "skills-prompt.md"
_log = logging.getLogger(__name__)


@contextmanager
def prompt_file(text: str) -> Iterator[str]:
    """Write `text` to a private file, yield its path, and remove it in any case.

    Raises:
        PathError: the folder for temporary files takes none.
    """
    folder = ""
    try:
        folder = _written(text)
        yield os.path.join(folder, _FILE_NAME)
    finally:
        _remove(folder)


def _written(text: str) -> str:
    try:
        folder = tempfile.mkdtemp(prefix="prowess-run-")
    except OSError as error:
        raise _no_room(error) from error
    path = os.path.join(folder, _FILE_NAME)
    try:
        private = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
        with os.fdopen(private, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        _remove(folder)
        raise _no_room(error) from error
    return folder


def _no_room(error: OSError) -> PathError:
    reason = error.strerror or "it cannot be written"
    return PathError(
        "the folder for temporary files",
        f"takes no file ({reason}): set TMPDIR to a folder that can be written.",
    )


def _remove(folder: str) -> None:
    try:
        if os.path.islink(folder):
            _remove_link(folder)
        elif folder:
            shutil.rmtree(folder)
    except FileNotFoundError:
        # The program tidied up by itself.
        return
    except OSError as error:
        # What the program returned matters more than a file that is private anyway.
        said = error.strerror or "the system does not say why"
        _log.warning("the skills prompt stays in %s, remove it yourself (%s)", folder, said)


def _remove_link(folder: str) -> None:
    """Remove a link that the program put in the place of our folder, and nothing behind it."""
    os.unlink(folder)
    _log.warning(
        "the command put a link in the place of %s: the link is removed, and what it leads to"
        " is as it was",
        folder,
    )
