"""How a skill stands in an answer for a model: inside an element that says whose words these are.

A skill cannot close its element: whatever would do so is defused, after what cannot be seen was
taken out of it, since that could hide a tag from who looks first. Names of files count, too.
"""

import re
from collections.abc import Mapping

from prowess.skills.prompt import escape
from prowess.skills.text import clean, one_line

_TAG = re.compile(r"<(?=[\s/]{0,40}(?:remote_)?skill(?![\w-]))", re.IGNORECASE)
_DEFUSED = "&lt;"


def framed(element: str, attributes: Mapping[str, str], text: str) -> str:
    """Return a text as the content of an element, `skill` or `remote_skill`."""
    given = "".join(f' {name}="{escape(one_line(value))}"' for name, value in attributes.items())
    return f"<{element}{given}>\n{_TAG.sub(_DEFUSED, clean(text))}\n</{element}>"
