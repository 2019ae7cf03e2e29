"""What is wrong with parameters, in words: the field and the rule, never the value."""

from pydantic import ValidationError

from prowess.skills.text import one_line

MOST_FIELD_CHARS = 120
_SENTENCES = {
    "extra_forbidden": "unknown field: check its spelling",
    "missing": "is required",
}


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Return the field that is wrong and what it must be."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    # A name that the client made up may be anything, so it is cleaned and cut.
    field = one_line(".".join(str(part) for part in problem["loc"]))[:MOST_FIELD_CHARS]
    return field or "params", _SENTENCES.get(problem["type"]) or _plain(problem["msg"])


def _plain(sentence: str) -> str:
    """Return a sentence without what only the program knows: a list is a list to who sends it."""
    return sentence.replace(" after validation", "").replace("Tuple", "List")
