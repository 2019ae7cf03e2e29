"""Gives memory back to the system after work that needed much of it for a moment.

The C library of Linux keeps what was freed in case it is needed again: after indexing 1,000 skills
that is 40 MB which nobody needs.
"""

import ctypes
import sys


def give_back() -> None:
    """Hand freed memory back, where the system's library can."""
    if not sys.platform.startswith("linux"):
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    # Other C libraries of Linux have no such function, and no need for it.
    if trim is not None:
        trim(0)
