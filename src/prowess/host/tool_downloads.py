"""Installs by download: fetched, checked, unpacked out of sight, put in place and linked.

Every step goes by the handle of the skill's own folder below the tools folder. Should somebody put
a link in its place meanwhile, nothing is written where that leads, and the install fails. What an
earlier install put there makes way only once the new files are complete, and comes back if anything
goes wrong; what no install put there is not replaced. A record in the folder tells the two apart.

Programs are linked into the one folder that the search path of skills ends with: where nothing
stands, or in place of a link to the same tool. What anybody else put there stays: a skill must not
get to exchange the program of another one, nor the user's.
"""

import errno
import json
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from prowess.data import read_table, read_words
from prowess.errors import ArchiveError, ContainmentError, DownloadError, PathError
from prowess.host.downloads import Bounds, Download, DownloadStopped, PublicHttps, download
from prowess.host.files.archives import ArchiveLimits, extract
from prowess.host.files.containment import TEMPORARY_PREFIX, Root
from prowess.host.files.handles import BY_HANDLE
from prowess.host.files.state_files import locked
from prowess.host.files.transaction import hidden_name, moving, staging
from prowess.runtime.install import InstallOutcome, Job, Preview, Watch
from prowess.safety.packages import DownloadPlan, is_portable_name
from prowess.safety.paths import shown
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
    """The hidden folder in which an install is made ready, inside the tool's own."""

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
    def old(self) -> str:
        """What made way for it."""
        return f"{self.name}/old"

    def set_mode(self, path: str, mode: int) -> None:
        """Set the permissions of a file of the tree, where the system knows such.

        Raises:
            PathError: it is not there, or behind a link.
            OSError: the system refuses.
        """
        if not BY_HANDLE:
            return
        folder, _, name = f"{self.tree}/{path}".rpartition("/")
        with self.home.handle(folder) as parent:
            file = os.open(name, _READ, dir_fd=parent)
            try:
                os.fchmod(file, mode)
            finally:
                os.close(file)


@contextmanager
def open_stage(home: Root) -> Iterator[Stage]:
    """Hold a hidden folder inside `home`, and remove it with all that is left in it.

    The caller holds a lock, so what is hidden there already was left by an install that was cut
    off; it goes, too.

    Raises:
        PathError: it cannot be made.
    """
    for name, state in home.list():
        if name.startswith(TEMPORARY_PREFIX) and stat.S_ISDIR(state.st_mode):
            home.remove_tree(name)
    with staging(home) as name:
        stage = Stage(home, name)
        for folder in (stage.fetched, stage.tree, stage.old):
            home.make_folder(folder)
        yield stage


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


def check_place(tools: Root, home: Root, key: str) -> None:
    """Refuse to go on if the folder of the tool is no longer the one that was opened.

    Raises:
        ContainmentError: it was swapped for a link or for another folder.
    """
    if not BY_HANDLE:
        return
    try:
        named = os.lstat(os.path.join(str(tools.path), key))
    except OSError:
        named = None
    with home.handle() as held:
        mine = os.fstat(held)
    if named is None or (named.st_dev, named.st_ino) != (mine.st_dev, mine.st_ino):
        problem = "was swapped while the install ran: look who writes there, then try again."
        raise ContainmentError(shown(os.path.join(str(tools.path), key)), problem)


def publish(stage: Stage, option_id: str, target_dir: str, check: Callable[[], None]) -> None:
    """Put the tree in place of what the same option put there before.

    Args:
        stage: where the tree is.
        option_id: whose files they are, for the next time.
        target_dir: the folder inside the tool's own; "" is that itself.
        check: called before the record is written; raises to undo everything.

    Raises:
        PathError: something that no install put there is in the way, or a step failed.
    """
    home, record = stage.home, _read_record(stage.home)
    tops = [name for name, _ in home.list(stage.tree)]
    places = {f"{target_dir}/{name}" if target_dir else name: name for name in tops}
    _refuse_strangers(home, places, record)
    if target_dir:
        home.make_folder(target_dir)
    former = [path for path in record.get(option_id, ()) if path not in places]
    with moving(home) as move:
        for number, place in enumerate((*places, *former)):
            if home.exists(place):
                move(place, f"{stage.old}/{number}")
        for place, name in places.items():
            move(f"{stage.tree}/{name}", place)
        check()
        _write_record(home, record | {option_id: list(places)})


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
        with _own_folder(tools, job.key) as home, open_stage(home) as stage:
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
            notes.append(explain_search_path(str(tools.path / BIN), self._environ))
        said = f"{fetched.size} bytes, sha256 {fetched.sha256}, {len(files)} file(s)\n"
        return InstallOutcome(ok=True, code=0, stdout=said, warnings=tuple(filter(None, notes)))


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
        if is_new:
            tools.remove_empty(key)
        raise


def _fetch(stage: Stage, job: Job, watch: Watch) -> Download:
    plan = _plan(job)
    if watch.progress is not None:
        watch.progress(0, None)
    with open_path(stage.home, stage.fetched) as folder:
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
        with open_path(home, stage.fetched) as folder, home.inside(stage.tree) as tree:
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
