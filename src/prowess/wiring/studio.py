"""The studio with real adapters: its files, and what its own methods call."""

import os
import secrets
import time

from prowess.evaluation.routing import RoutingTests, Tools
from prowess.gateway.methods.studio import StudioServices
from prowess.gateway.studio import PAGE, StudioFiles, page_files
from prowess.host.sources.skill_resource import read_inside
from prowess.host.store.saved_tests import RoutingTestsFile
from prowess.runtime.library import Libraries
from prowess.runtime.missed_activations import MissedActivations
from prowess.wiring.budgets import open_budgets
from prowess.wiring.library import Runtime
from prowess.wiring.sessions import open_sessions

STUDIO_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "studio")


def studio_files(folder: str = STUDIO_FOLDER) -> StudioFiles | None:
    """Return what serves the page; None where the package came without it."""
    files = page_files(folder)
    return StudioFiles(files) if PAGE in files else None


def has_page() -> bool:
    """Return whether the package came with the studio."""
    return os.path.isfile(STUDIO_FOLDER + PAGE)


def open_studio(runtime: Runtime) -> StudioServices:
    """Return what the studio's methods call; nothing is read before it is asked for."""
    store = RoutingTestsFile(runtime.folders.state)
    # Made before there are threads: two first calls at once would make two of it.
    routing = runtime.routing
    tools = Tools(
        store=store,
        now=time.time,
        seconds=time.perf_counter,
        new_id=lambda: secrets.token_hex(6),
    )
    return StudioServices(
        libraries=Libraries(runtime.skills, os.path.isdir, read_inside),
        tests=RoutingTests(runtime.skills, lambda: routing, tools),
        tests_path=store.path,
        budgets=open_budgets(runtime),
        missed=MissedActivations(
            open_sessions(runtime).report, lambda: time.time_ns() // 1_000_000
        ),
    )
