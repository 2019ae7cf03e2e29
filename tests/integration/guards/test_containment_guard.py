"""Nothing that is reached through a root leaves it, even if someone swaps folders meanwhile."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.errors import ContainmentError, PathError
from prowess.host.files import containment
from prowess.host.files import handles as folder_steps
from prowess.host.files.containment import Root, contain

Act = Callable[[Root], object]


@pytest.fixture(params=["by-handle", "by-path"])
def folders(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path]:
    """Return a root and a folder beside it, with handles and as on a system without them."""
    monkeypatch.setattr(folder_steps, "BY_HANDLE", request.param == "by-handle")
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a").mkdir(parents=True)
    (root / "a" / "file").write_text("mine")
    outside.mkdir()
    (outside / "file").write_text("theirs")
    return root, outside


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


LEAVING: list[Act] = [
    lambda root: root.read("../outside/file", 100),
    lambda root: root.read("a/../../outside/file", 100),
    lambda root: root.read("/etc/passwd", 100),
    lambda root: root.read("a//file", 100),
    lambda root: root.read("a/./file", 100),
    lambda root: root.read("a\0", 100),
    lambda root: root.read("", 100),
    lambda root: root.exists("../outside"),
    lambda root: root.list(".."),
    lambda root: root.write("../outside/new", b"x"),
    lambda root: root.write("..\\outside\\new", b"x"),
    lambda root: root.write("C:new", b"x"),
    lambda root: root.write("a/CON", b"x"),
    lambda root: root.write("", b"x"),
    lambda root: root.make_folder("../outside/new"),
    lambda root: root.rename("a/file", "../outside/new"),
    lambda root: root.rename("../outside/file", "b"),
    lambda root: root.unlink("../outside/file"),
    lambda root: root.remove_tree("../outside"),
    lambda root: root.remove_tree(""),
    lambda root: root.remove_tree("."),
]


@pytest.mark.parametrize("act", LEAVING)
def test_a_name_that_leaves_is_refused_by_every_door(folders: tuple[Path, Path], act: Act) -> None:
    root, outside = folders

    with Root.open(root) as opened, pytest.raises(ContainmentError):
        act(opened)

    assert contents(outside) == {"file": "theirs"}
    assert contents(root) == {"a/file": "mine"}


THROUGH_A_LINK: list[Act] = [
    lambda root: root.read("link/file", 100),
    lambda root: root.read("linked-file", 100),
    lambda root: root.exists("link/file"),
    lambda root: root.list("link"),
    lambda root: list(root.walk("link", max_files=9, max_depth=9)),
    lambda root: root.write("link/file", b"x"),
    lambda root: root.write("link/new", b"x"),
    lambda root: root.write("linked-file", b"x"),
    lambda root: root.make_folder("link/new"),
    lambda root: root.rename("a/file", "link/new"),
    lambda root: root.rename("link/file", "b"),
    lambda root: root.unlink("link/file"),
    lambda root: root.remove_tree("link/file"),
    lambda root: root.inside("link").__enter__(),
]


@pytest.mark.parametrize("act", THROUGH_A_LINK)
def test_a_link_is_not_a_way_out(folders: tuple[Path, Path], act: Act) -> None:
    root, outside = folders
    (root / "link").symlink_to(outside)
    (root / "linked-file").symlink_to(outside / "file")
    # The attack: by its name alone the path lies inside, and the system follows it out.
    assert (root / "link" / "file").read_text() == "theirs"

    with Root.open(root) as opened, pytest.raises(ContainmentError, match="link"):
        act(opened)

    assert contents(outside) == {"file": "theirs"}


def swapper(step: str, path: Path, target: Path) -> Callable[[str], None]:
    """Return a hook that puts a link to `target` in the place of `path` at one step, once."""
    done: list[str] = []

    def hook(now: str) -> None:
        if now == step and not done:
            done.append(now)
            path.rename(path.with_name(path.name + "-before"))
            path.symlink_to(target)

    return hook


def test_a_naive_check_and_write_loses_the_race(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a").mkdir(parents=True)
    outside.mkdir()
    target = root / "a" / "new"

    assert target.resolve().is_relative_to(root.resolve())
    swapper("now", root / "a", outside)("now")
    target.write_text("written by a check that was true a moment ago")

    assert (outside / "new").exists()


@pytest.mark.parametrize("step", ["before-step", "opened-parent", "checked", "temp-written"])
def test_a_folder_swapped_for_a_link_never_carries_a_write_out(tmp_path: Path, step: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a").mkdir(parents=True)
    outside.mkdir()

    with Root.open(root, swap_hook=swapper(step, root / "a", outside)) as opened:
        if step == "before-step":
            with pytest.raises(ContainmentError):
                opened.write("a/new", b"mine")
        else:
            # The handle stays with the folder, wherever that has gone.
            opened.write("a/new", b"mine")
            assert (root / "a-before" / "new").read_bytes() == b"mine"

    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("step", ["opened-parent", "checked", "before-rename"])
def test_a_file_swapped_for_a_link_is_never_written_through(tmp_path: Path, step: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    (root / "file").write_text("old")
    outside.write_text("theirs")

    with Root.open(root, swap_hook=swapper(step, root / "file", outside)) as opened:
        if step == "opened-parent":
            with pytest.raises(ContainmentError):
                opened.write("file", b"new")
        else:
            opened.write("file", b"new")
            assert (root / "file").read_text() == "new"
            assert not (root / "file").is_symlink()

    assert outside.read_text() == "theirs"
    assert not [path for path in root.iterdir() if path.name.startswith(".prowess-")]


def test_a_temporary_file_swapped_before_its_rename_is_noticed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("theirs")
    root = tmp_path / "root"
    root.mkdir()

    def hook(step: str) -> None:
        if step == "before-rename":
            (temporary,) = root.iterdir()
            temporary.unlink()
            temporary.symlink_to(outside)

    with Root.open(root, swap_hook=hook) as opened, pytest.raises(ContainmentError, match="swap"):
        opened.write("file", b"new")

    assert outside.read_text() == "theirs"


@pytest.mark.parametrize("step", ["before-step", "opened-parent", "checked"])
def test_a_swap_never_makes_a_read_return_what_lies_outside(tmp_path: Path, step: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a").mkdir(parents=True)
    (root / "a" / "file").write_text("mine")
    outside.mkdir()
    (outside / "file").write_text("theirs")

    with Root.open(root, swap_hook=swapper(step, root / "a", outside)) as opened:
        if step == "before-step":
            with pytest.raises(ContainmentError):
                opened.read("a/file", 100)
        else:
            assert opened.read("a/file", 100) == b"mine"


def test_a_file_swapped_for_a_link_after_the_check_is_not_read(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    (root / "file").write_text("mine")
    outside.write_text("theirs")
    hook = swapper("checked", root / "file", outside)

    with Root.open(root, swap_hook=hook) as opened, pytest.raises(ContainmentError):
        opened.read("file", 100)


def test_a_root_swapped_for_a_link_while_it_is_opened_is_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "top" / "root", tmp_path / "outside"
    root.mkdir(parents=True)
    (outside / "root").mkdir(parents=True)
    hook = swapper("resolved", tmp_path / "top", outside)

    with pytest.raises(PathError), Root.open(root, swap_hook=hook):
        pytest.fail("the root is another folder than was named")


@pytest.mark.parametrize("step", ["opened-parent", "checked", "opened-folder", "before-rmdir"])
def test_a_tree_swapped_for_a_link_is_never_removed_through_it(tmp_path: Path, step: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("mine")
    outside.mkdir()
    (outside / "file").write_text("theirs")

    with Root.open(root, swap_hook=swapper(step, root / "a", outside)) as opened:
        if step == "opened-parent":
            opened.remove_tree("a")
            assert not (root / "a").is_symlink()
        else:
            with pytest.raises(ContainmentError):
                opened.remove_tree("a")

    assert contents(outside) == {"file": "theirs"}


def test_a_tree_swapped_for_another_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("keep")

    def hook(step: str) -> None:
        if step == "checked":
            (tmp_path / "a").rename(tmp_path / "gone")
            (tmp_path / "other").rename(tmp_path / "a")

    with Root.open(tmp_path, swap_hook=hook) as opened, pytest.raises(ContainmentError):
        opened.remove_tree("a")

    assert (tmp_path / "a" / "file").read_text() == "keep"


def test_removing_a_tree_unlinks_links_and_leaves_their_targets(folders: tuple[Path, Path]) -> None:
    root, outside = folders
    (root / "a" / "deep").mkdir()
    (root / "a" / "deep" / "link").symlink_to(outside)
    (root / "a" / "locked" / "inner").mkdir(parents=True)
    (root / "a" / "locked" / "inner" / "x").write_text("x")
    (root / "a" / "locked").chmod(0o555)
    (root / "link").symlink_to(outside)

    with Root.open(root) as opened:
        opened.remove_tree("a")
        opened.remove_tree("link")

    assert list(root.iterdir()) == []
    assert contents(outside) == {"file": "theirs"}


def test_a_tree_deeper_than_any_path_is_removed_with_few_handles(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=handle)
        inner = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)

    with Root.open(tmp_path) as opened:
        opened.remove_tree("d")

    assert list(tmp_path.iterdir()) == []


def test_files_are_written_read_listed_moved_and_removed(folders: tuple[Path, Path]) -> None:
    root, _ = folders
    with Root.open(root / "new" / "root", create=True) as opened:
        opened.write("x/run.sh", b"one", mode=0o755)
        opened.write("x/run.sh", b"two")
        opened.write("x/y/only", b"once", exclusive=True)
        with pytest.raises(PathError, match="exists already"):
            opened.write("x/y/only", b"twice", exclusive=True)
        with pytest.raises(PathError, match="exists already"):
            opened.rename("x/run.sh", "x/y/only")
        opened.rename("x/run.sh", "x/y/moved")

        assert opened.read("x/y/moved", 3) == b"two"
        assert opened.read("x/y/only", 9) == b"once"
        assert [name for name, _ in opened.list("x/y")] == ["moved", "only"]
        assert [path for path, _ in opened.walk(max_files=9, max_depth=9)] == [
            "x/y/moved",
            "x/y/only",
        ]
        assert (opened.exists("x"), opened.exists("x/no"), opened.exists("no/no")) == (
            True,
            False,
            False,
        )
        opened.rename("x/y/only", "x/y/moved", replace=True)
        with opened.inside("x") as inner:
            assert inner.read("y/moved", 9) == b"once"
        opened.unlink("x/y/moved")
        assert opened.list("x/y") == []


def test_a_name_may_be_claimed_where_there_are_no_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_link)
    with Root.open(tmp_path) as opened:
        opened.write("x", b"once", exclusive=True)

        assert opened.read("x", 9) == b"once"
        assert len(opened.list()) == 1


@pytest.mark.parametrize("exclusive", [False, True])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, *, exclusive: bool
) -> None:
    if not exclusive:
        (tmp_path / "file").write_text("old")

    def hook(step: str) -> None:
        if step == "temp-written":
            raise OSError(28, "No space left on device")

    with Root.open(tmp_path, swap_hook=hook) as opened, pytest.raises(PathError, match="No space"):
        opened.write("file", b"new", exclusive=exclusive)

    assert contents(tmp_path) == ({} if exclusive else {"file": "old"})


def test_only_a_bounded_regular_file_is_read(folders: tuple[Path, Path]) -> None:
    root, outside = folders
    os.mkfifo(root / "pipe")
    os.link(outside / "file", root / "hard")
    with Root.open(root) as opened:
        for name, said in [("pipe", "regular"), ("a", "regular"), ("no", "not there")]:
            with pytest.raises(PathError, match=said):
                opened.read(name, 100)
        with pytest.raises(PathError, match="larger than 3"):
            opened.read("a/file", 3)
        # The attack: a hard link reads a file from outside, and no path shows it.
        assert opened.read("hard", 100) == b"theirs"


def test_a_write_never_goes_into_a_hard_linked_file(folders: tuple[Path, Path]) -> None:
    root, outside = folders
    os.link(outside / "file", root / "hard")
    with Root.open(root) as opened:
        opened.write("hard", b"mine")

    assert (outside / "file").read_text() == "theirs"


def test_what_is_no_file_is_not_replaced(folders: tuple[Path, Path]) -> None:
    root, _ = folders
    with Root.open(root) as opened:
        for act in (
            lambda: opened.write("a", b"x"),
            lambda: opened.write("a/file/x", b"x"),
            lambda: opened.make_folder("a/file"),
            lambda: opened.list("a/file"),
            lambda: opened.unlink("a"),
            lambda: opened.remove_tree("no"),
        ):
            with pytest.raises(PathError):
                act()


def test_a_walk_is_bounded_and_shows_links_as_links(folders: tuple[Path, Path]) -> None:
    root, outside = folders
    (root / "link").symlink_to(outside)
    with Root.open(root) as opened:
        found = dict(opened.walk(max_files=3, max_depth=2))
        with pytest.raises(PathError, match="more than 2 entries"):
            list(opened.walk(max_files=2, max_depth=2))
        with pytest.raises(PathError, match="deeper than 1"):
            list(opened.walk(max_files=9, max_depth=1))

    assert list(found) == ["link", "a/file"]
    assert stat.S_ISLNK(found["link"].st_mode)


def test_a_folder_with_too_many_entries_is_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containment, "MAX_ENTRIES", 1)
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()

    with Root.open(tmp_path) as opened, pytest.raises(PathError, match="more than 1 entries"):
        opened.list()


def test_a_handle_is_given_where_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Root.open(tmp_path) as opened, opened.handle() as handle:
        assert os.fstat(handle).st_ino == tmp_path.stat().st_ino
    monkeypatch.setattr(folder_steps, "BY_HANDLE", False)
    with Root.open(tmp_path) as opened, pytest.raises(PathError, match="no folder handle"):
        opened.handle().__enter__()


@pytest.mark.parametrize("create", [False, True])
def test_a_root_must_be_a_folder(folders: tuple[Path, Path], *, create: bool) -> None:
    root, _ = folders
    with pytest.raises(PathError), Root.open(root / "a" / "file", create=create):
        pytest.fail("a file is no root")
    with pytest.raises(PathError), Root.open(root / "no"):
        pytest.fail("there is no such folder")


def test_an_error_spells_what_a_terminal_would_obey(tmp_path: Path) -> None:
    with Root.open(tmp_path) as opened, pytest.raises(PathError) as refused:
        opened.read("a\x1b[2J\n", 1)

    assert str(refused.value).isprintable()
    assert "\\x1b" in str(refused.value)


def test_a_path_is_contained_by_steps_and_not_by_its_first_letters(tmp_path: Path) -> None:
    root, sibling = tmp_path / "root", tmp_path / "root-evil"
    root.mkdir()
    sibling.mkdir()
    # The attack: the text begins with the root's, the folder is another one.
    assert str(sibling).startswith(str(root))

    with pytest.raises(ContainmentError):
        contain(root, sibling)
    assert contain(root, "new/file") == root.resolve() / "new" / "file"
    assert contain(root, root) == root.resolve()


@pytest.mark.parametrize("path", ["../x", "a/../../x", "..", "/etc/passwd", "link/x", "a\\..\\x"])
def test_a_path_that_leads_out_is_not_contained(tmp_path: Path, path: str) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path)

    with pytest.raises(ContainmentError):
        contain(tmp_path / "root", path)


def test_the_root_itself_is_refused_where_something_inside_is_meant(tmp_path: Path) -> None:
    (tmp_path / "self").symlink_to(tmp_path)
    for path in (tmp_path, ".", "self", tmp_path / "x" / ".."):
        with pytest.raises(ContainmentError, match="itself"):
            contain(tmp_path, path, strictly=True)
    with pytest.raises(PathError):
        contain(tmp_path, "")


def test_a_root_behind_a_link_contains_what_its_real_folder_does(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert contain(tmp_path / "link", tmp_path / "real" / "x") == tmp_path.resolve() / "real" / "x"
    assert contain(tmp_path / "link", tmp_path / "link" / "x") == tmp_path.resolve() / "real" / "x"


PIECES = st.sampled_from(["..", ".", "", "a", "link", "file", "\\", "C:", "\0", "\u202e", "~"])
NAMES = st.one_of(st.text(max_size=30), st.lists(PIECES, max_size=6).map("/".join))


def attempted(opened: Root, name: str) -> None:
    try:
        opened.write(name, b"x")
    except PathError as refused:
        if not str(refused).isprintable():
            raise


@settings(max_examples=150, deadline=None)
@given(names=st.lists(NAMES, max_size=4))
def test_whatever_the_name_it_ends_inside_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    top = tmp_path_factory.mktemp("top")
    root, outside = top / "root", top / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)

    with Root.open(root) as opened:
        for name in names:
            attempted(opened, name)

    assert sorted(path.name for path in top.iterdir()) == ["outside", "root"]
    assert list(outside.iterdir()) == []
