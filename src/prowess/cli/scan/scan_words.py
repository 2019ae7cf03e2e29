"""What the commands of `scan` share: exit codes, the profile, and what a word on the line means."""

from collections.abc import Sequence

import click

from prowess.errors import PathError, SkillNotFoundError
from prowess.host.sources.skill_files import Place, is_there, place_of, places
from prowess.safety.model import Profile
from prowess.wiring import Runtime

FINDING, ERROR = 1, 2

profile_option = click.option(
    "--profile",
    type=click.Choice([profile.value for profile in Profile]),
    help="Whose text it is; by default package, and bundled for what Prowess brings along.",
)


def target_places(runtime: Runtime, words: Sequence[str], agent: str | None) -> tuple[Place, ...]:
    """Return what to scan: paths, names of skills, or every skill that there is.

    Raises:
        PathError: a word is neither.
    """
    if not words:
        state = runtime.skills.workspace(agent).state(runtime.skills.settings)
        found = [place_of(skill) for skill in state.scan.skills]
        if not found:
            folder = runtime.skills.workspace(agent).folder
            raise PathError(folder, "holds no skill: give a PATH.")
        return tuple(dict.fromkeys(found))
    return tuple(dict.fromkeys(one for word in words for one in _meant(runtime, word, agent)))


def _meant(runtime: Runtime, word: str, agent: str | None) -> Sequence[Place]:
    if is_there(word) or "/" in word or not word:
        return places(word)
    try:
        return (place_of(runtime.skills.find(word, agent).skill),)
    except SkillNotFoundError as error:
        hint = f"did you mean {', '.join(error.candidates)}?" if error.candidates else ""
        problem = "is neither a path nor the name of a skill"
        raise PathError(word, f"{problem}: {hint or 'run `prowess list` to see all.'}") from error
