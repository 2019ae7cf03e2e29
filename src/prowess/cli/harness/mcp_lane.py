"""The fast lane of `prowess mcp`: a client's first requests are answered while the rest is loaded.

Some coding agents wait a second for the tools of a server, and on a busy machine that is no more
than some dozens of milliseconds of ours. So nothing is imported here that the first answers do not
need, and what they depend on is told by its bytes instead of being read: the config, the arguments,
the code, and where we were started unless that is a project. The lists of skills belong to a folder
and to what the operator said of them, and are told anew wherever a policy governs.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256

import prowess
from prowess.host.files.state_files import KeptFiles, PolicyPlaces, stamp_code
from prowess.host.harness.hook_client import current_folder, state_folder
from prowess.host.sources.roots import find_home, find_workspace, is_project
from prowess.mcp.greeting import Greeting, Memory

_MOST_KEPT = 64
# As the modules have it that take time to load; a test compares them.
CONFIG, ACCEPTANCES = "prowess.json", "safety-acceptances.json"
# The greeting of this process, once somebody may be answered.
_begun: list[Greeting] = []


def is_wanted(args: Sequence[str]) -> bool:
    """Return whether a client started us, and no person who wants to read something."""
    if sys.stdin is None or not {"-h", "--help"}.isdisjoint(args):
        return False
    with suppress(OSError):
        return not os.isatty(sys.stdin.fileno())
    return False


@contextmanager
def greet(words: Sequence[str] = ()) -> Iterator[Greeting]:
    """Answer first requests until the server is there; `words` are the arguments of `mcp`."""
    if _begun:
        yield _begun[0]
        return
    greeting = open_greeting(words)
    with greeting.own_streams():
        _begun.append(greeting)
        try:
            yield greeting
        finally:
            _begun.clear()


def open_greeting(words: Sequence[str] = (), *, anywhere: bool = False) -> Greeting:
    """Return what gives first answers.

    Args:
        words: the arguments of `mcp`.
        anywhere: whether it is for every project, and not for where we are.
    """
    current, home = current_folder(), find_home(os.environ)
    state = state_folder(os.environ, current)
    given = _read_workspace(words)
    folder = given and os.path.normpath(os.path.join(current, given))
    folder = folder or find_workspace("", (), current, home)
    # Outside of a project we say so, and where.
    where = "" if anywhere or given or is_project(folder, home) else current
    config = (tuple(words), _digest(os.path.join(state, CONFIG)))
    made_by = _stamp()

    def remember(name: str, under: object) -> Memory:
        place = os.path.join(state, "catalogs", name)
        return Memory(KeptFiles(place, made_by=made_by, most=_MOST_KEPT), under)

    first = remember("greetings", (*config, where))
    # What policies decide is theirs to say, each time anew; and an agent's workspace may have some.
    if (words and not given) or PolicyPlaces(os.environ, state, folder).files():
        return Greeting(first)
    accepted = _digest(os.path.join(state, ACCEPTANCES))
    return Greeting(first, remember("first-lists", (*config, accepted, folder)))


def _read_workspace(words: Sequence[str]) -> str:
    """Return the folder that the arguments name, where they say nothing else."""
    option, _, given = "=".join(words).partition("=")
    is_alone = option in {"-w", "--workspace"} and len(words) in {1, 2}
    return given if is_alone and not given.startswith("~") else ""


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return sha256(file.read()).hexdigest()
    except OSError:
        return ""


def _stamp() -> str:
    """Return what tells the code that makes the answers from every other version of it."""
    ours = os.path.dirname(prowess.__file__)
    own = ("", "mcp", "wiring", os.path.join("runtime", "workshop"))
    sdk = importlib.util.find_spec("mcp")
    others = (sdk and sdk.submodule_search_locations) or ()
    return stamp_code(*(os.path.join(ours, one) for one in own), *others)
