"""Scenarios on disk: those of the folders given, by name or path.

A name is the file's without `.md`. What cannot be read or is no scenario is named with its path and
line and never keeps the others from being played.
"""

import difflib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prowess.errors import PathError
from prowess.evaluation.scenario_blocks import Problem
from prowess.evaluation.scenarios import Broken, Scenario, read_scenario
from prowess.host.files.read import Content, is_path, read_bounded
from prowess.host.sources.discovery import SKIPPED_FOLDERS

DEFAULT_FOLDER = os.path.join("qa", "scenarios")
_SUFFIX = ".md"
# What explains a folder to its readers.
_NO_SCENARIO = "readme.md"
_MOST_BYTES = 400_000
_MOST_FILES = 2_000
# The names of a family begin alike, so that anything lower finds all of them.
_NEAR = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFile:
    """A file, and the scenario in it."""

    path: str
    scenario: Scenario | Broken

    @property
    def name(self) -> str:
        """The name by which the scenario is asked for."""
        return self.scenario.name


def read_scenarios(names: Sequence[str], folders: Sequence[str]) -> tuple[ScenarioFile, ...]:
    """Return the scenarios of these names or paths, each once; without any, all of the folders.

    Args:
        names: names, or paths of files.
        folders: where to look; by default `qa/scenarios` of the current folder.

    Raises:
        PathError: a folder or a file does not exist, or no scenario has such a name.
    """
    found = () if names and all(map(_is_file, names)) else tuple(_paths(folders))
    if not names:
        return tuple(map(_read, found))
    chosen = dict.fromkeys(_chosen(name, found) for name in names)
    return tuple(map(_read, chosen))


def _paths(folders: Sequence[str]) -> Iterator[str]:
    left = _MOST_FILES
    for folder in folders or (DEFAULT_FOLDER,):
        if not is_path(folder) or not os.path.isdir(folder):
            hint = "give a folder of scenarios with --folder, or the path of one with --scenario"
            raise PathError(folder, f"is not a folder: {hint}.")
        before = left
        for path in _inside(os.path.abspath(folder)):
            if not left:
                raise PathError(folder, f"holds more than {_MOST_FILES} files: name another.")
            left -= 1
            yield path
        if left == before:
            raise PathError(folder, "holds no scenarios: they are files that end in .md.")


def _inside(folder: str) -> Iterator[str]:
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS
        )
        for name in sorted(names):
            if name.lower().endswith(_SUFFIX) and name.lower() != _NO_SCENARIO:
                yield os.path.join(base, name)


def _chosen(name: str, paths: Sequence[str]) -> str:
    if _is_file(name):
        return os.path.abspath(name)
    wanted = os.path.splitext(name)[0] if name.lower().endswith(_SUFFIX) else name
    hits = [path for path in paths if _name(path) == wanted]
    if len(hits) == 1:
        return hits[0]
    if hits:
        raise PathError(name, f"is the name of {len(hits)} scenarios: give the path of one.")
    known = sorted({_name(path) for path in paths})
    near = [one for one in known if wanted and wanted in one][:3]
    near += [
        one for one in difflib.get_close_matches(wanted, known, cutoff=_NEAR) if one not in near
    ]
    hint = f"did you mean {', '.join(near)}?" if near else "`prowess qa list` shows all."
    raise PathError(name or "''", f"is no scenario: {hint}")


def _is_file(name: str) -> bool:
    return bool(name) and is_path(name) and os.path.isfile(name)


def _name(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _read(path: str) -> ScenarioFile:
    name = _name(path)
    # Somebody named it or its folder, so a link is fine.
    content = read_bounded(os.path.realpath(path), _MOST_BYTES)
    if not isinstance(content, Content):
        problem = "is gone" if content is None else content.message
        return ScenarioFile(path=path, scenario=_broken(name, problem))
    try:
        text = content.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.data.count(b"\n", 0, error.start) + 1
        return ScenarioFile(path=path, scenario=_broken(name, "is not UTF-8", line))
    return ScenarioFile(path=path, scenario=read_scenario(name, text))


def _broken(name: str, text: str, line: int = 1) -> Broken:
    return Broken(name=name, problems=(Problem(line, text),))
