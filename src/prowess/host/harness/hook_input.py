"""Reads what a coding agent writes to a hook's standard input, also where it never closes it.

Nearly every caller writes and closes, and then nothing here takes any time. One that keeps its end
open would be waited for until it gives up itself: so reading ends with a complete payload too.
"""

import os
import sys
import time
from importlib import import_module
from typing import BinaryIO

_CHUNK, _TAIL = 1 << 16, 64
# After an end that looks like one: whoever closes has done so by then.
_CLOSES_S = 0.02


def read_input(stream: BinaryIO, most: int, *, silence_s: float = 2.0, all_s: float = 5.0) -> bytes:
    """Return what is written to `stream`, at most `most` bytes.

    Args:
        stream: standard input, of which nothing was read yet.
        most: where to stop.
        silence_s: how long to wait for more once something came.
        all_s: how long to wait altogether.
    """
    try:
        number = stream.fileno()
    # Not a file of the system, such as a test's: its `read` never waits.
    except (OSError, AttributeError):
        return stream.read(most)
    # It can wait for sockets only.
    if sys.platform == "win32":
        return stream.read(most)
    return _read(number, most, silence_s, all_s)


def _read(number: int, most: int, silence_s: float, all_s: float) -> bytes:
    # Late, and through the module: a system without it never comes here.
    wait = import_module("select").select
    deadline = time.monotonic() + all_s
    read, patience = bytearray(), all_s
    while len(read) < most:
        left = max(0.0, min(patience, deadline - time.monotonic()))
        is_end = read[-_TAIL:].rstrip().endswith(b"}")
        if is_end and not wait((number,), (), (), min(left, _CLOSES_S))[0] and _is_whole(read):
            break
        if not wait((number,), (), (), left)[0]:
            break
        chunk = os.read(number, min(_CHUNK, most - len(read)))
        if not chunk:
            break
        read += chunk
        patience = silence_s
    return bytes(read)


def _is_whole(read: bytearray) -> bool:
    """Return whether it is JSON to its end."""
    try:
        import_module("json").loads(read)
    except (ValueError, RecursionError):
        return False
    return True
