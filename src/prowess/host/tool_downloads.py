"""Installs by download: fetched, checked, unpacked out of sight, and put in place in one go.

Every step goes by the handle of the skill's own folder below the tools folder. Should somebody put
a link in its place meanwhile, nothing is written where that leads, and the install fails.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from prowess.errors import ArchiveError, DownloadError, PathError
from prowess.host.download_streams import DownloadStopped
from prowess.host.downloads import Bounds, Download, PublicHttps, download
from prowess.host.files.archives_part import ArchiveLimits, extract
from prowess.host.files.containment import Root
from prowess.host.files.handles import BY_HANDLE
from prowess.host.files.private_files import locked
from prowess.host.tool_links import BIN, link_programs, search_path_note
from prowess.host.tool_stage import Stage, check_place, path_of, publish, staged
from prowess.runtime.install import Job, Outcome, Preview, Watch
from prowess.safety.packages import DownloadPlan, is_portable_name
from prowess.safety.web_addresses import WebAddress, is_listed, read_address

_MIB = 1 << 20
MOST_BYTES = 256 * _MIB
LIMITS = ArchiveLimits(compressed=MOST_BYTES, total=512 * _MIB, per_file=256 * _MIB, entries=50_000)


class ListedHosts(PublicHttps):
    """Public https, and the hosts that the operator lists: those also by http, wherever they are.

    A redirect is checked like the first address, so one that leaves the list must lead to public
    https again.
    """

    def __init__(self, hosts: Sequence[str]) -> None:
        super().__init__()
        self._hosts = tuple(hosts)

    def read(self, url: str) -> WebAddress | str:
        """Return the parts of an address that may be asked, or what is wrong with it."""
        return read_address(url, self.schemes, self._hosts)

    def refusal(self, address: WebAddress, numeric: str) -> str:
        """Return why what the host of `address` resolved to is not to be reached, or ""."""
        if is_listed(address.host, address.port, self._hosts):
            return ""
        return super().refusal(address, numeric)


class ToolDownloads:
    """Fetches files into the tools folder, one install at a time for each skill."""

    def __init__(self, tools: str, environ: Mapping[str, str]) -> None:
        self._tools, self._environ = tools, environ

    def preview(self, job: Job) -> Preview:
        """Say what would be fetched, and where it would be put."""
        plan = _plan(job)
        target = os.path.join(self._tools, job.key, *filter(None, plan.target_dir.split("/")))
        links = os.path.join(self._tools, BIN) if job.bins else ""
        return Preview(url=plan.url, target=target, links=links)

    def carry_out(self, job: Job, watch: Watch) -> Outcome:
        """Fetch, check, unpack and publish; nothing stays of what failed."""
        try:
            with (
                Root.open(self._tools, create=True) as tools,
                locked(os.path.join(str(tools.path), ".locks", job.key)),
            ):
                return self._installed(tools, job, watch)
        except (ArchiveError, DownloadError, PathError, OSError) as error:
            return Outcome(ok=False, problem=str(error))
        except DownloadStopped:
            return Outcome(ok=False, problem="it was stopped.")

    def _installed(self, tools: Root, job: Job, watch: Watch) -> Outcome:
        plan = _plan(job)
        with _own_folder(tools, job.key) as home, staged(home) as stage:
            fetched = _fetch(stage, job, watch)
            files = _unpack(stage, plan, fetched)
            programs = _programs(job, files)
            for path in programs.values():
                stage.set_mode(path, 0o755)
            check_place(tools, home, job.key)
            if watch.stop is not None and watch.stop.is_set():
                raise DownloadStopped
            publish(
                stage, job.option_id, plan.target_dir, lambda: check_place(tools, home, job.key)
            )
        inner = f"{plan.target_dir}/" if plan.target_dir else ""
        linked = link_programs(
            tools, job.key, {name: inner + path for name, path in programs.items()}
        )
        notes = [*linked.warnings, _redirect_note(job, fetched.final_url)]
        if linked.names:
            notes.append(search_path_note(str(tools.path / BIN), self._environ))
        said = f"{fetched.size} bytes, sha256 {fetched.sha256}, {len(files)} file(s)\n"
        return Outcome(ok=True, code=0, stdout=said, warnings=tuple(filter(None, notes)))


def _plan(job: Job) -> DownloadPlan:
    if not isinstance(job.plan, DownloadPlan):
        raise TypeError("a package is not for downloads")
    return job.plan


@contextmanager
def _own_folder(tools: Root, key: str) -> Iterator[Root]:
    """Hold the folder of a skill's tools; one that was made for an install that fails goes again.

    Raises:
        PathError: it cannot be made or opened.
    """
    is_new = not tools.exists(key)
    tools.make_folder(key)
    try:
        with tools.inside(key) as home:
            yield home
    except BaseException:
        # Not empty, or another one by now: then it is not what was made here.
        with suppress(PathError, OSError):
            if is_new:
                _remove_empty(tools, key)
        raise


def _remove_empty(tools: Root, key: str) -> None:
    if BY_HANDLE:
        with tools.handle() as folder:
            os.rmdir(key, dir_fd=folder)
    else:
        os.rmdir(os.path.join(str(tools.path), key))


def _fetch(stage: Stage, job: Job, watch: Watch) -> Download:
    plan = _plan(job)
    if watch.progress is not None:
        watch.progress(0, None)
    with path_of(stage.home, stage.fetched) as folder:
        try:
            return download(
                plan.url,
                folder,
                Bounds(
                    most_bytes=MOST_BYTES,
                    seconds=job.seconds,
                    sha256=plan.sha256,
                    stop=watch.stop,
                ),
                transport=ListedHosts(job.private_hosts),
                progress=watch.progress,
            )
        except DownloadError as error:
            # The path by the handle means nothing to a person.
            problem = error.problem.replace(folder, str(stage.home.path))
            raise DownloadError(error.url, problem) from error


def _unpack(stage: Stage, plan: DownloadPlan, fetched: Download) -> dict[str, os.stat_result]:
    """Turn what was fetched into the tree to publish, and return its files."""
    home, name = stage.home, os.path.basename(fetched.path)
    if plan.extract:
        with path_of(home, stage.fetched) as folder, home.inside(stage.tree) as tree:
            extract(os.path.join(folder, name), tree, LIMITS, plan.strip_components)
    else:
        home.rename(f"{stage.fetched}/{name}", f"{stage.tree}/{plan.file_name}")
        # It arrived as a file that nobody else may read.
        stage.set_mode(plan.file_name, 0o644)
    with home.inside(stage.tree) as tree:
        return dict(tree.walk(max_files=2 * LIMITS.entries, max_depth=LIMITS.depth + 1))


def _programs(job: Job, files: Mapping[str, os.stat_result]) -> dict[str, str]:
    """Return where among the files each declared program is."""

    def order(path: str) -> tuple[bool, bool, int, str]:
        folders = path.split("/")[:-1]
        return not files[path].st_mode & stat.S_IXUSR, BIN not in folders, len(folders), path

    names = [name for name in job.bins if is_portable_name(name)]
    found = {}
    for name in names:
        same = [path for path in files if os.path.basename(path) in {name, f"{name}.exe"}]
        if same:
            found[name] = min(same, key=order)
    # One file for one program: releases often carry the system's name, such as tool-linux-x64.
    if not found and len(files) == len(names) == 1:
        found = {names[0]: next(iter(files))}
    return found


def _redirect_note(job: Job, final_url: str) -> str:
    address = read_address(final_url, private=job.private_hosts)
    if final_url == _plan(job).url or isinstance(address, str):
        return ""
    if not is_listed(address.host, address.port, job.private_hosts):
        return ""
    return f"it was redirected to {address.authority}, which skills.install.privateHosts lists"
