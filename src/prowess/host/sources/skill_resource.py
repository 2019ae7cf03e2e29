"""One file of a skill for people to look at: contained, regular, and not too large."""

from prowess.host.files.containment import Root


def read_inside(folder: str, path: str, limit: int) -> bytes | None:
    """Return the bytes of a file below `folder`; None where there are more than `limit`.

    Raises:
        PathError: it is missing, or no regular file.
        ContainmentError: it is or lies behind a link.
    """
    parent, _, name = path.replace("\\", "/").rpartition("/")
    with Root.open(folder) as root:
        states = dict(root.list(parent))
        if name in states and states[name].st_size > limit:
            return None
        return root.read(path, limit)
