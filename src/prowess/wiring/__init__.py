"""The composition root: settings and folders in, a `Runtime` with real adapters out.

Each module beside `runtime` puts one larger use case together, for the commands that need it.
"""

from prowess.wiring.library import (
    HOME_VARIABLE,
    Runtime,
    find_folders,
    in_project,
    open_runtime,
    run_until_signal,
)
from prowess.wiring.state import STORE_FILE, VECTORS_FILE

__all__ = [
    "HOME_VARIABLE",
    "STORE_FILE",
    "VECTORS_FILE",
    "Runtime",
    "find_folders",
    "in_project",
    "open_runtime",
    "run_until_signal",
]
