"""One behaviour that Prowess promises, and where the promise comes from."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    """A behaviour with an id by which tests name it.

    The source is a section of the skills specification, a public behaviour of another runtime that
    we chose to match, the Agent Skills standard, or `own`.
    """

    id: str
    source: str
    behaviour: str


def required(source: str, behaviours: Mapping[str, str]) -> tuple[Requirement, ...]:
    """Return the requirements of one source, given as a sentence by id."""
    return tuple(Requirement(name, source, sentence) for name, sentence in behaviours.items())
