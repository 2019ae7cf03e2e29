"""Puts the prediction of what harnesses show together with the uses that Prowess has noted."""

from prowess.runtime.harness.budget import Budgets
from prowess.wiring.library import Runtime, last_used


def open_budgets(runtime: Runtime) -> Budgets:
    """Return what says which descriptions a harness will show."""
    return Budgets(runtime.skills, lambda: last_used(runtime), runtime.environ)
