"""Skill files as documents, for validation: those that people name, or all of a workspace."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prowess.errors import PathError
from prowess.host.files.read import Content, is_path, read_bounded
from prowess.host.sources.discovery import SKIPPED_FOLDERS, Found, RootWalker, sidecar_of
from prowess.settings import Limits, SpecMode
from prowess.skills.model import Diagnostic, Document, Source, Tier

_MAX_FILES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A file to validate: its document or the reason why it has none, and its neighbours."""

    path: str
    document: Document | None
    problem: Diagnostic | None = None
    files: tuple[str, ...] = ()


def named(
    paths: Sequence[str], mode: SpecMode, limits: Limits, allowed_targets: Sequence[str] = ()
) -> Iterator[Candidate]:
    """Yield the candidates at `paths`: files, skill folders, or folders of skills.

    Raises:
        PathError: a path does not exist.
    """
    for path in paths:
        if not path or not is_path(path):
            raise PathError(repr(path), "is not a path.")
        absolute = os.path.abspath(path)
        if os.path.isdir(absolute):
            source = Source(tier=Tier.WORKSPACE, root=absolute)
            yield from inside(source, mode, limits, allowed_targets)
        elif os.path.isfile(absolute) and absolute.lower().endswith((".md", ".mdc")):
            is_skill = os.path.basename(absolute).lower() == "skill.md"
            source = Source(tier=Tier.WORKSPACE, root=os.path.dirname(absolute))
            found = Found(absolute, os.path.dirname(absolute), is_skill)
            yield from _candidate(source, found, limits)
        else:
            problem = "is not a Markdown file" if os.path.isfile(absolute) else "does not exist"
            raise PathError(
                path, f"{problem}: give a skill file, a skill's folder or a folder of skills."
            )


def inside(
    source: Source, mode: SpecMode, limits: Limits, allowed_targets: Sequence[str] = ()
) -> Iterator[Candidate]:
    """Yield every candidate of one root, with what the walk itself refused."""
    walker = RootWalker(source, mode, limits, allowed_targets)
    own = walker.root_file()
    if own is None:
        walker.run()
    for found in [own] if own is not None else walker.walk.found:
        yield from _candidate(source, found, limits)
    for problem in walker.walk.diagnostics:
        yield Candidate(path=problem.path, document=None, problem=problem)


def _candidate(source: Source, found: Found, limits: Limits) -> Iterator[Candidate]:
    path = os.path.realpath(found.path)
    bundled = source.tier is Tier.BUNDLED
    content = read_bounded(path, limits.max_skill_file_bytes, hard_links=bundled)
    if isinstance(content, Diagnostic):
        yield Candidate(path=found.path, document=None, problem=content)
    elif isinstance(content, Content):
        document = Document(
            source=source,
            path=found.path,
            folder=found.folder,
            content=content.data,
            is_skill_file=found.is_skill_file,
            sidecar=sidecar_of(found._replace(has_sidecar=found.is_skill_file)),
        )
        # A stand-alone text has no files of its own.
        files = _files(found.folder) if found.is_skill_file else ()
        yield Candidate(path=found.path, document=document, files=files)


def _files(folder: str) -> tuple[str, ...]:
    """Return the files below `folder`, with forward slashes, for checking links."""
    found: list[str] = []
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        relative = os.path.relpath(base, folder).replace(os.sep, "/")
        prefix = "" if relative == "." else relative + "/"
        found += [prefix + name for name in sorted(names)]
        if len(found) >= _MAX_FILES:
            break
    return tuple(found[:_MAX_FILES])
