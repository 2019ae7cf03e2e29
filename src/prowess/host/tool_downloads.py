"""Installs by download: fetched, checked, unpacked out of sight, put in place and linked.

Every step goes by the handle of the skill's own folder below the tools folder. Should somebody put
a link in its place meanwhile, nothing is written where that leads, and the install fails. What an
earlier install put there makes way only once the new files are complete, in one step that exchanges
the whole folder; what no install put there is not replaced. A record in it tells the two apart.

Programs are linked into the one folder that the search path of skills ends with: where nothing
stands, or in place of a link to the same tool. What anybody else put there stays: a skill must not
get to exchange the program of another one, nor the user's.
"""

import errno
import hashlib
import json
import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from prowess.data import read_table, read_words
from prowess.errors import ArchiveError, ContainmentError, DownloadError, PathError
from prowess.host.downloads import Bounds, Download, DownloadStopped, PublicHttps, download
from prowess.host.files.archives import ArchiveLimits, extract
from prowess.host.files.containment import Root
from prowess.host.files.handles import BY_HANDLE, reporting
from prowess.host.files.state_files import locked
from prowess.host.files.transaction import SPARE, RootPlace, copy_over, exchange, hidden_name
from prowess.runtime.install import InstallOutcome, Job, Preview, Watch
from prowess.safety.packages import DownloadPlan, is_portable_name
from prowess.safety.paths import TEMPORARY_PREFIX, is_hidden, shown
from prowess.safety.web_addresses import WebAddress, is_listed, read_address

BIN = "bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """What can now be called by its name, and what could not be linked, in words."""

    names: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def link_programs(tools: Root, home: str, programs: Mapping[str, str]) -> Linked:
    """Link programs of the tool in `home`, each a name and a path below that folder."""
    if not programs:
        return Linked()
    # What is wrong with the folder is said with each link that cannot be made in it.
    with suppress(PathError):
        tools.make_folder(BIN)
    names, warnings = [], []
    for name, path in programs.items():
        problem = _link(tools, home, name, path)
        if problem:
            place = os.path.join(str(tools.path), home, path)
            warnings.append(f"{name} is not linked into {tools.path / BIN}: {problem} ({place})")
        else:
            names.append(name)
    return Linked(names=tuple(names), warnings=tuple(warnings))


def explain_search_path(tools_bin: str, environ: Mapping[str, str]) -> str:
    """Say how a person's own shell finds the linked programs; "" where it does already."""
    entries = environ.get("PATH", "").split(os.pathsep)
    if os.path.realpath(tools_bin) in {os.path.realpath(entry) for entry in entries if entry}:
        return ""
    return (
        f'for your own shell add the line `export PATH="$PATH":{shlex.quote(tools_bin)}`;'
        " `prowess run` and `prowess chat` find it already"
    )


def _link(tools: Root, home: str, name: str, path: str) -> str:
    """Make one link in one step, and return why it could not be made."""
    if not is_portable_name(name):
        return "that is no plain name for a program"
    if _is_kept(name):
        return "that name is kept for the system's own program"
    temporary = hidden_name()
    try:
        with tools.handle(BIN) as folder:
            if not _is_ours(tools, folder, home, name):
                return "something else has that name there"
            os.symlink(f"../{home}/{path}", temporary, dir_fd=folder)
            try:
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
                raise
    except PathError as error:
        return error.problem.removesuffix(".")
    except OSError as error:
        return error.strerror or "the system makes no links"
    return ""


def _is_kept(name: str) -> bool:
    """Return whether a tool of that name would stand in for a program of the system."""
    kept = read_table("host/installs.toml")["kept_programs"]
    plain = name.lower().removesuffix(".exe")
    if plain in read_words(kept["names"]) or plain.startswith("pinentry-"):
        return True
    # With a version behind: python3.12, lua5.4, perl5.36, ruby3.2.
    return re.sub(r"[0-9.]*w?\Z", "", plain) in read_words(kept["numbered"])


def _is_ours(tools: Root, folder: int, home: str, name: str) -> bool:
    """Say whether nothing is there, or a link of the same tool, or one of ours to nothing."""
    try:
        state = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return True
    if not stat.S_ISLNK(state.st_mode):
        return False
    target = os.readlink(name, dir_fd=folder)
    inner = os.path.normpath(os.path.join(BIN, target))
    if os.path.isabs(target) or inner.split(os.sep)[0] == os.pardir:
        return False
    return inner.split(os.sep)[0] == home or not _leads_somewhere(tools, inner)


def _leads_somewhere(tools: Root, inner: str) -> bool:
    try:
        os.stat(os.path.join(str(tools.path), inner))
    except OSError as error:
        return error.errno not in {errno.ENOENT, errno.ENOTDIR}
    return True


RECORD = f"{TEMPORARY_PREFIX}installed.json"
_MOST_RECORD = 4 << 20
_HANDLES = "/proc/self/fd"
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class Stage:
    """The hidden folder beside the tool's own in which an install is made ready."""

    tools: Root
    key: str
    # The tool's own folder, by its handle.
    home: Root
    name: str

    @property
    def fetched(self) -> str:
        """Where downloads arrive."""
        return f"{self.name}/fetched"

    @property
    def tree(self) -> str:
        """What is to be published."""
        return f"{self.name}/tree"

    @property
    def new(self) -> str:
        """The tool's own folder as it will be, and after the exchange as it was."""
        return f"{self.name}/new"

    @property
    def spare(self) -> str:
        """Where the tool's own folder is for a moment, on systems that exchange nothing."""
        return f"{self.name}/{SPARE}"

    def set_mode(self, path: str, mode: int) -> None:
        """Set the permissions of a file of the tree, where the system knows such.

        Raises:
            PathError: it is not there, or behind a link.
            OSError: the system refuses.
        """
        if not BY_HANDLE:
            return
        folder, _, name = f"{self.tree}/{path}".rpartition("/")
        with self.tools.handle(folder) as parent:
            file = os.open(name, _READ, dir_fd=parent)
            try:
                os.fchmod(file, mode)
            finally:
                os.close(file)


@contextmanager
def open_stage(tools: Root, key: str) -> Iterator[Stage]:
    """Hold the folder of a skill's tools and a hidden one beside it, which goes afterwards.

    The caller holds a lock, so what is hidden there already was left by an install that was cut
    off; it goes, too. So does the tool's own folder, where nothing has ever been put into it.

    Raises:
        PathError: it cannot be made or opened.
    """
    name = TEMPORARY_PREFIX + hashlib.sha256(key.encode()).hexdigest()[:16]
    if tools.exists(name):
        if not tools.exists(key) and tools.exists(f"{name}/{SPARE}"):
            tools.rename(f"{name}/{SPARE}", key)
        tools.remove_tree(name)
    is_new = not tools.exists(key)
    tools.make_folder(key)
    try:
        with tools.inside(key) as home:
            stage = Stage(tools, key, home, name)
            for folder in (stage.fetched, stage.tree):
                tools.make_folder(folder)
            try:
                yield stage
            finally:
                tools.remove_tree(name)
    except BaseException:
        # Not empty, or another one by now: then it is not what was made here.
        if is_new:
            tools.remove_empty(key)
        raise


@contextmanager
def open_path(root: Root, relative: str) -> Iterator[str]:
    """Hold a path that leads to a folder by its handle, where the system has such paths.

    Raises:
        PathError: it is no folder or cannot be opened.
    """
    if BY_HANDLE and os.path.isdir(_HANDLES):
        with root.handle(relative) as folder:
            yield f"{_HANDLES}/{folder}"
    else:
        yield os.path.join(str(root.path), relative)


def check_place(stage: Stage, place: str) -> None:
    """Refuse to go on if something else is at a place than the tool's own folder.

    Raises:
        ContainmentError: it was swapped for a link or for another folder.
    """
    if not BY_HANDLE:
        return
    try:
        named = os.lstat(os.path.join(str(stage.tools.path), place))
    except OSError:
        named = None
    with stage.home.handle() as held:
        mine = os.fstat(held)
    if named is None or (named.st_dev, named.st_ino) != (mine.st_dev, mine.st_ino):
        problem = "was swapped while the install ran: look who writes there, then try again."
        raise ContainmentError(shown(os.path.join(str(stage.tools.path), stage.key)), problem)


def publish(stage: Stage, option_id: str, target_dir: str) -> None:
    """Put the tree in place of what the same option put there before, in one step.

    The record is part of what is exchanged, so that nothing is ever there without it.

    Args:
        stage: where the tree is.
        option_id: whose files they are, for the next time.
        target_dir: the folder inside the tool's own; "" is that itself.

    Raises:
        PathError: something that no install put there is in the way, or a step failed.
    """
    tools, record = stage.tools, _read_record(stage.home)
    tops = [name for name, _ in tools.list(stage.tree)]
    places = {f"{target_dir}/{name}" if target_dir else name: name for name in tops}
    _refuse_strangers(stage.home, places, record)
    gone = {*places, *record.get(option_id, ())}
    old, new = RootPlace(tools, stage.key), RootPlace(tools, stage.new)
    with reporting(stage.key, "copied", shown(str(tools.path))):
        copy_over(old, new, lambda path: path in gone or is_hidden(path), by_link=True)
    if target_dir:
        tools.make_folder(f"{stage.new}/{target_dir}")
    for place, name in places.items():
        tools.rename(f"{stage.tree}/{name}", f"{stage.new}/{place}")
    with tools.inside(stage.new) as folder:
        _write_record(folder, record | {option_id: list(places)})
    check_place(stage, stage.key)
    exchange(tools, stage.new, stage.key, stage.spare)
    try:
        check_place(stage, stage.new)
    except ContainmentError:
        exchange(tools, stage.new, stage.key, stage.spare)
        raise


def _refuse_strangers(
    home: Root, places: Mapping[str, str], record: Mapping[str, Sequence[str]]
) -> None:
    known = {path for paths in record.values() for path in paths}
    for place, name in places.items():
        if name.startswith(TEMPORARY_PREFIX):
            raise PathError(shown(place), "has a name that is kept for installs themselves.")
        if place not in known and home.exists(place):
            problem = f"is in {home.path} already, and no install put it there: move it away."
            raise PathError(shown(place), problem)


def _read_record(home: Root) -> dict[str, list[str]]:
    """Return which option put which entries there; a record that makes no sense counts as none."""
    if not home.exists(RECORD):
        return {}
    try:
        found = json.loads(home.read(RECORD, _MOST_RECORD))
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        str(key): [path for path in paths if isinstance(path, str) and path]
        for key, paths in found.items()
        if isinstance(paths, list)
    }


def _write_record(home: Root, record: Mapping[str, Sequence[str]]) -> None:
    home.write(RECORD, json.dumps(record, ensure_ascii=True).encode(), mode=0o600)


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

    def carry_out(self, job: Job, watch: Watch) -> InstallOutcome:
        """Fetch, check, unpack and publish; nothing stays of what failed."""
        try:
            with (
                Root.open(self._tools, create=True) as tools,
                locked(os.path.join(str(tools.path), ".locks", job.key)),
            ):
                return self._install(tools, job, watch)
        except (ArchiveError, DownloadError, PathError, OSError) as error:
            return InstallOutcome(ok=False, problem=str(error))
        except DownloadStopped:
            return InstallOutcome(ok=False, problem="it was stopped.")

    def _install(self, tools: Root, job: Job, watch: Watch) -> InstallOutcome:
        plan = _plan(job)
        with open_stage(tools, job.key) as stage:
            fetched = _fetch(stage, job, watch)
            files = _unpack(stage, plan, fetched)
            programs = _programs(job, files)
            for path in programs.values():
                stage.set_mode(path, 0o755)
            check_place(stage, job.key)
            if watch.stop is not None and watch.stop.is_set():
                raise DownloadStopped
            publish(stage, job.option_id, plan.target_dir)
        inner = f"{plan.target_dir}/" if plan.target_dir else ""
        linked = link_programs(
            tools, job.key, {name: inner + path for name, path in programs.items()}
        )
        notes = [*linked.warnings, _redirect_note(job, fetched.final_url)]
        if linked.names:
            notes.append(explain_search_path(str(tools.path / BIN), self._environ))
        said = f"{fetched.size} bytes, sha256 {fetched.sha256}, {len(files)} file(s)\n"
        return InstallOutcome(ok=True, code=0, stdout=said, warnings=tuple(filter(None, notes)))


def _plan(job: Job) -> DownloadPlan:
    if not isinstance(job.plan, DownloadPlan):
        raise TypeError("a package is not for downloads")
    return job.plan


def _fetch(stage: Stage, job: Job, watch: Watch) -> Download:
    plan = _plan(job)
    if watch.progress is not None:
        watch.progress(0, None)
    with open_path(stage.tools, stage.fetched) as folder:
        try:
            return download(
                plan.url,
                folder,
                Bounds(
                    most_bytes=MOST_BYTES, seconds=job.seconds, sha256=plan.sha256, stop=watch.stop
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
    tools, name = stage.tools, os.path.basename(fetched.path)
    if plan.extract:
        with open_path(tools, stage.fetched) as folder, tools.inside(stage.tree) as tree:
            extract(os.path.join(folder, name), tree, LIMITS, plan.strip_components)
    else:
        tools.rename(f"{stage.fetched}/{name}", f"{stage.tree}/{plan.file_name}")
        # It arrived as a file that nobody else may read.
        stage.set_mode(plan.file_name, 0o644)
    with tools.inside(stage.tree) as tree:
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
