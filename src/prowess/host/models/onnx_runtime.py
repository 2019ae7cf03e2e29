"""Loads onnxruntime so that it keeps to itself.

Its official builds report use to their maker from version 1.29 on, and write an identifier of the
device into the user's cache, as soon as they are loaded. Prowess promises that nothing leaves the
machine, so both are switched off before: the decision holds for the life of the process.
"""

import os
from importlib import import_module
from threading import Lock
from types import ModuleType

# The second name was used for a while before the first.
_OPT_OUTS = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")
_lock = Lock()


def load() -> ModuleType:
    """Return the module, loaded with its reports switched off.

    Raises:
        ImportError: it is not installed, or not for this machine.
    """
    with _lock:
        before = {name: os.environ.get(name) for name in _OPT_OUTS}
        os.environ.update(dict.fromkeys(_OPT_OUTS, "1"))
        try:
            module = import_module("onnxruntime")
        finally:
            # The environment belongs to the program, and to the children that it starts.
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
    # Windows has a switch of its own, which the variables do not turn.
    module.disable_telemetry_events()
    return module
