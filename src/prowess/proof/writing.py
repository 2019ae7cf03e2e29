"""Skills as they are first written: a text that passes the standard, and messages that test it."""

from dataclasses import dataclass

from prowess.skills import notation

_MAX_DESCRIPTION = 1_024
_MOST_QUOTED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSkill:
    """The answers to four questions."""

    name: str
    does: str
    when: tuple[str, ...]
    unless: tuple[str, ...] = ()


def make_files(wanted: NewSkill) -> dict[str, str]:
    """Return the files of a new skill by their paths in its folder."""
    return {"SKILL.md": _make_text(wanted), "evals/triggers.yaml": _make_tests(wanted)}


def describe_skill(wanted: NewSkill) -> str:
    """Return a description that says what a skill does, when it is meant and when not."""
    does = _sentence(wanted.does)
    said = ", ".join(map(_quote, wanted.when[:_MOST_QUOTED]))
    found = f"{does} Use when the user says things like {said}." if said else does
    if wanted.unless:
        not_said = ", ".join(map(_quote, wanted.unless[:_MOST_QUOTED]))
        found = f"{found} Not for {not_said}."
    # A description that is cut in the middle of a sentence misleads.
    return found if len(found) <= _MAX_DESCRIPTION else does[:_MAX_DESCRIPTION]


def _make_text(wanted: NewSkill) -> str:
    title = wanted.name.replace("-", " ").capitalize()
    lines = [
        "---",
        f"name: {wanted.name}",
        f"description: {notation.quote(describe_skill(wanted))}",
        "---",
        "",
        f"# {title}",
        "",
        _sentence(wanted.does),
        "",
        "## When to use",
        "",
        *(f'- "{one}"' for one in wanted.when),
    ]
    if wanted.unless:
        lines += ["", "## When not to use", "", *(f'- "{one}"' for one in wanted.unless)]
    steps = ["1. Look at what is there.", "2. Do the work.", "3. Check the result and say so."]
    return "\n".join([*lines, "", "## Steps", "", *steps]) + "\n"


def _make_tests(wanted: NewSkill) -> str:
    lines = ["# Messages that should find this skill, and near misses that should not.", "cases:"]
    for one in wanted.when:
        lines += [f"  - prompt: {notation.quote(one)}", f"    expect: {wanted.name}"]
    for one in wanted.unless:
        lines += [f"  - prompt: {notation.quote(one)}", f"    not: {wanted.name}"]
    return "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    # Quotes within quotes end the quotation for whoever reads it.
    return '"{}"'.format(text.replace('"', "'"))


def _sentence(text: str) -> str:
    plain = " ".join(text.split())
    plain = plain[:1].upper() + plain[1:]
    return plain if plain.endswith((".", "!", "?")) else f"{plain}."
