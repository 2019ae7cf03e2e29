"""Which files are validated: those that a person names, or all that a workspace finds."""

import os
from collections.abc import Iterable, Sequence

from prowess.host.sources.roots import Candidate, find_allowed_targets, find_inside, find_named
from prowess.skills.validation import Report, validate
from prowess.wiring.library import Runtime


def candidates(runtime: Runtime, paths: Sequence[str], agent: str | None) -> Iterable[Candidate]:
    """Return the files at `paths`; without any, all that the agent's workspace finds.

    Raises:
        PathError: a path does not exist.
        UnknownAgentError: no agent has that id.
    """
    settings = runtime.skills.settings.skills
    workspace = runtime.skills.workspace(agent).folder
    targets = find_allowed_targets(runtime.skills.settings, runtime.folders, workspace)
    if paths:
        # A person who names a folder means its skills, in whatever mode they will be read.
        return find_named(paths, settings.spec_mode, settings.limits, targets)
    state = runtime.skills.workspace(agent).state(runtime.skills.settings)
    existing = [source for source in state.scan.sources if os.path.isdir(source.root)]
    return [
        item
        for source in existing
        for item in find_inside(source, settings.spec_mode, settings.limits, targets)
    ]


def report_on(item: Candidate, *, strict: bool) -> Report:
    """Return the findings on one candidate."""
    if item.document is None:
        return Report(path=item.path, diagnostics=(item.problem,) if item.problem else ())
    return validate(item.document, strict=strict, files=item.files)
