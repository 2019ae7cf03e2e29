"""Which install entry of a skill is meant, and why there may be none to take.

Ids count over the list as its author wrote it, so that an id means the same entry on each machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from prowess.runtime.service import SkillStatus
from prowess.settings import Settings
from prowess.skills.eligibility import missing_text
from prowess.skills.install_specs import offered
from prowess.skills.metadata import platform_name
from prowess.skills.model import InstallSpec, Skill
from prowess.skills.text import one_line

_INVALID = "INSTALL_ENTRY_INVALID"


class Refusal(NamedTuple):
    """Why nothing is installed: one word for programs, one sentence for people."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One install entry as a person may choose it."""

    id: str
    kind: str
    label: str
    bins: tuple[str, ...] = ()
    # True for what is taken, or asked about, where no id is given.
    offered: bool = False
    # Why it is not for this machine; "" where it is.
    problem: str = ""


def choices(status: SkillStatus, platform: str, settings: Settings) -> tuple[Choice, ...]:
    """Return every entry of a skill, those for other machines with the reason."""
    first = {option.id for option in status.verdict.install}
    found = []
    for spec in status.skill.metadata.install:
        (option,) = offered((spec,), available=frozenset(), settings=settings.skills.install)
        fits = _fits(spec, platform) and not _wrong_system(status.skill, platform)
        found.append(
            Choice(
                id=option.id,
                kind=option.kind,
                label=one_line(option.label),
                bins=option.bins,
                offered=fits and option.id in first,
                problem="" if fits else f"is not for {platform}",
            )
        )
    return tuple(found)


def refusal_of(status: SkillStatus, platform: str, settings: Settings) -> Refusal | None:
    """Return why a skill is not installed for at all, whatever the option."""
    skill, verdict, name = status.skill, status.verdict, one_line(status.skill.name)
    if verdict.disabled:
        return Refusal(
            "disabled", f"{name} is disabled: `prowess enable {name}` first, if you want it."
        )
    if verdict.blocked_by_allowlist:
        message = f"{name} is not on the list skills.allowBundled: add it there first."
        return Refusal("not-allowed", message)
    if verdict.blocked_by_metadata:
        message = f"the metadata of {name} cannot be read: see `prowess why {name}`."
        return Refusal("unreadable", message)
    return _elsewhere(skill, platform, settings) if _wrong_system(skill, platform) else None


def choose(status: SkillStatus, platform: str, option_id: str) -> InstallSpec | Refusal:
    """Return the entry that is meant: the named one, else the one that is offered."""
    skill, name = status.skill, one_line(status.skill.name)
    if option_id:
        return _named(skill, platform, option_id)
    options = status.verdict.install
    if not options:
        return _nothing(status, platform)
    if len(options) > 1:
        ids = ", ".join(one_line(option.id) for option in options)
        message = f"{name} offers several downloads: choose one with --option ({ids})."
        return Refusal("choose-option", message)
    return _named(skill, platform, options[0].id)


def _named(skill: Skill, platform: str, option_id: str) -> InstallSpec | Refusal:
    specs = [spec for spec in skill.metadata.install if spec.id == option_id]
    here = [spec for spec in specs if _fits(spec, platform)]
    if here:
        return here[0]
    if specs:
        systems = ", ".join(map(one_line, specs[0].os))
        message = f"{one_line(option_id)} is for {systems}, and this machine is {platform}."
        return Refusal("platform", f"{message} {_known(skill, platform)}")
    message = f'Installer "{one_line(option_id)}" not found: {_known(skill, platform)}'
    return Refusal("option-not-found", message + _dropped(skill))


def _nothing(status: SkillStatus, platform: str) -> Refusal:
    skill, name = status.skill, one_line(status.skill.name)
    if skill.metadata.install:
        message = f"no install option of {name} is for {platform}: see `prowess show {name}`."
        return Refusal("platform", message)
    missing = missing_text(status.verdict.missing)
    need = f" It still needs {one_line(missing)}: see `prowess why {name}`." if missing else ""
    return Refusal(
        "nothing-to-install", f"{name} declares nothing to install.{need}{_dropped(skill)}"
    )


def _known(skill: Skill, platform: str) -> str:
    ids = [one_line(spec.id) for spec in skill.metadata.install if _fits(spec, platform)]
    name = one_line(skill.name)
    return f"{name} has {', '.join(ids)}." if ids else f"{name} has none for this machine."


def _dropped(skill: Skill) -> str:
    """Say which entries were not taken over, and why: a kind that does not exist is one reason."""
    found = [problem.message for problem in skill.diagnostics if problem.code == _INVALID]
    told = "; ".join(map(one_line, found))
    return f" Left out: {told}." if told else ""


def _elsewhere(skill: Skill, platform: str, settings: Settings) -> Refusal:
    systems = skill.metadata.requires.os
    nodes = [
        one_line(node.name)
        for node in settings.skills.nodes
        if not {platform_name(name) for name in node.platforms}.isdisjoint(systems)
    ]
    head = f"{one_line(skill.name)} runs only on {_listed(systems)}, and this machine is {platform}"
    if nodes:
        message = f"{head}: install what it needs on {_listed(nodes)}, where the agent runs it."
        return Refusal("remote-node", message)
    return Refusal("platform", f"{head}: there is nothing to install here.")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(one_line, names))


def _wrong_system(skill: Skill, platform: str) -> bool:
    systems = skill.metadata.requires.os
    return bool(systems) and platform not in systems


def _fits(spec: InstallSpec, platform: str) -> bool:
    return not spec.os or platform in {platform_name(name) for name in spec.os}
