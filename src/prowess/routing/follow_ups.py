"""Messages that only go on with what was loaded last: "yes, go on", in several languages."""

import re
from functools import cache

from prowess.data import read_table

_LONGEST = 40


def is_follow_up(message: str) -> bool:
    """True for a message that only makes sense after another one: "yes, do it"."""
    text = message.strip()
    return len(text) <= _LONGEST and _follow_ups().fullmatch(text) is not None


@cache
def _follow_ups() -> re.Pattern[str]:
    words = read_table("routing/words.toml")["follow_up"]
    either = "|".join(re.escape(word) for group in words.values() for word in group)
    # Scripts without spaces need no separator either.
    gap = r"(?:[\s,.!\uff0c\u3002\uff01\u3001\uff5e]+|$|(?<=[^\x00-\x7f]))"
    return re.compile(rf"(?:(?:{either}){gap})+", re.IGNORECASE)
