"""Skill files to validate, as documents: those that people name, or all of a workspace."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from prowess.errors import PathError
from prowess.host.files.handles import Content, is_inside, is_path, read_real
from prowess.host.sources.discovery import FoundFile, RootWalker, make_document, read_found
from prowess.safety.paths import is_hidden
from prowess.settings import Limits, SpecMode
from prowess.skills.model import SKIPPED_FOLDERS, Diagnostic, Document, Source, Tier

_MAX_FILES = 2_000
_MAX_PAGES, _MAX_PAGE_BYTES = 100, 256_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A file to validate: its document or the reason why it has none, and its neighbours."""

    path: str
    document: Document | None
    problem: Diagnostic | None = None
    files: tuple[str, ...] = ()
    # The pages below it, for checking their links.
    pages: Mapping[str, str] = field(default_factory=dict)
    # Entries that are links, and lead out of its folder or nowhere: what they lead to.
    away: Mapping[str, str] = field(default_factory=dict)


def find_named(
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
            yield from find_inside(source, mode, limits, allowed_targets)
        elif os.path.isfile(absolute) and absolute.lower().endswith((".md", ".mdc")):
            is_skill = os.path.basename(absolute).lower() == "skill.md"
            source = Source(tier=Tier.WORKSPACE, root=os.path.dirname(absolute))
            # A person who names a link means what it leads to.
            real = os.path.realpath(os.path.dirname(absolute) if is_skill else absolute)
            found = FoundFile(absolute, os.path.dirname(absolute), is_skill, real=real)
            yield from _candidate(source, found, limits)
        else:
            problem = "is not a Markdown file" if os.path.isfile(absolute) else "does not exist"
            raise PathError(
                path, f"{problem}: give a skill file, a skill's folder or a folder of skills."
            )


def find_inside(
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


def _candidate(source: Source, found: FoundFile, limits: Limits) -> Iterator[Candidate]:
    content = read_found(source, found, limits.max_skill_file_bytes)
    if isinstance(content, Diagnostic):
        yield Candidate(path=found.path, document=None, problem=replace(content, path=found.path))
    elif isinstance(content, Content):
        document = make_document(
            source, found._replace(has_sidecar=found.is_skill_file, resources=()), content
        )
        # A stand-alone text has no files of its own.
        files, away = _list_files(found.real) if found.is_skill_file else ((), {})
        pages = _read_pages(found.real, files) if found.is_skill_file else {}
        yield Candidate(path=found.path, document=document, files=files, pages=pages, away=away)


def _read_pages(folder: str, files: Sequence[str]) -> dict[str, str]:
    """Return the first pages below a skill's folder that are text."""
    own = [name for name in files if "/" in name and name.lower().endswith(".md")]
    texts = {}
    for name in own[:_MAX_PAGES]:
        parent, base = os.path.split(os.path.join(folder, name))
        # A page behind a link is none of the skill's.
        with suppress(PathError):
            content = read_real(parent, base, _MAX_PAGE_BYTES)
            if isinstance(content, Content):
                texts[name] = content.data.decode("utf-8", "replace").replace("\r\n", "\n")
    return texts


def _list_files(folder: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the files below the real `folder`, with forward slashes, and the links that leave it.

    Those are named with what they lead to, which is empty where it is nothing.
    """
    found: list[str] = []
    away: dict[str, str] = {}
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        relative = os.path.relpath(base, folder).replace(os.sep, "/")
        prefix = "" if relative == "." else relative + "/"
        for name in (*folders, *sorted(names)):
            target = os.path.realpath(path := os.path.join(base, name))
            if os.path.islink(path) and not (is_inside(target, folder) and os.path.exists(target)):
                away[prefix + name] = target if os.path.exists(target) else ""
        found += [prefix + name for name in sorted(names) if not is_hidden(name)]
        if len(found) >= _MAX_FILES:
            break
    return tuple(found[:_MAX_FILES]), away
