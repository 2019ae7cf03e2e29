"""What a proposal would change, as a unified difference against the files as they are now.

Nothing is cleaned away: whoever shows the lines spells out what cannot be seen in them.
"""

import difflib
from collections.abc import Callable, Iterator
from typing import TypeAlias

from prowess.workshop.proposal import Proposal

# The bytes of a file, None where there is none, or the reason why it cannot be read.
Live: TypeAlias = bytes | str | None

_NO_FILE = "/dev/null"
_NO_END = "\\ No newline at end of file"


def difference(proposal: Proposal, live: Callable[[str], Live]) -> Iterator[str]:
    """Yield the lines, without line ends.

    Args:
        proposal: what would be written.
        live: reads a file by its path from the workspace on, such as `skills/a/SKILL.md`.
    """
    for path, body in proposal.change.files.items():
        named = f"skills/{proposal.skill}/{path}"
        before = live(named)
        if isinstance(before, str):
            # Applying looks at it again, and refuses what is no plain file.
            yield f"! {named} {before}"
            continue
        if before == body:
            continue
        yield from difflib.unified_diff(
            _lines(before),
            _lines(body),
            fromfile=_NO_FILE if before is None else f"a/{named}",
            tofile=_NO_FILE if body is None else f"b/{named}",
            lineterm="",
        )


def _lines(body: bytes | None) -> list[str]:
    if not body:
        return []
    lines = body.decode(errors="replace").split("\n")
    # A file ends with a line end; one that does not differs from one that does.
    return lines[:-1] if not lines[-1] else [*lines, _NO_END]
