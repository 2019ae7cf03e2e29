"""Puts the export of skills together; it writes only where a person says."""

import os

from prowess.errors import PathError
from prowess.host.writers.export import ExportPlaces, SkillMaterial
from prowess.runtime.harness.export import Exporting
from prowess.wiring.library import Runtime


def open_exporting(runtime: Runtime) -> Exporting:
    """Return what builds skills for others.

    Raises:
        PathError: the current folder is gone.
    """
    try:
        current = os.getcwd()
    except OSError as error:
        raise PathError("the current folder", "no longer exists: change to another one.") from error
    places = ExportPlaces(runtime.folders.home, current)
    return Exporting(runtime.skills, SkillMaterial(), runtime.scanning, places)
