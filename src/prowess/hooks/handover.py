"""A call of a hook as bytes: for the process that learns from it after the hook has ended.

Both ends are of one version, but the bytes pass through a file: what does not fit is refused.
"""

import json
from dataclasses import asdict

from prowess.hooks.harness import Harness, Moment
from prowess.hooks.payloads import Incoming


def packed(incoming: Incoming) -> bytes:
    """Return a call as bytes."""
    return json.dumps(asdict(incoming)).encode()


def unpacked(raw: bytes) -> Incoming:
    """Return the call that `packed` made bytes of.

    Raises:
        ValueError: it is something else.
    """
    try:
        fields = json.loads(raw)
        return Incoming(
            **{
                **fields,
                "harness": Harness(fields["harness"]),
                "moment": Moment(fields["moment"]),
                "projects": tuple(fields["projects"]),
            }
        )
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("no call of a hook") from error
