"""Everything about a set of skills that routing needs, made once and used for every message."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prowess.routing import everyday
from prowess.routing.background import ERRANDS, EVERYDAY
from prowess.routing.dense import DenseIndex, texts_of
from prowess.routing.everyday import Everyday
from prowess.routing.hints import HintIndex
from prowess.routing.lexical import LexicalIndex
from prowess.routing.passages import Evidence
from prowess.skills.model import Skill

Floats: TypeAlias = NDArray[np.float32]

_MOST_HANDED_OVER = 8


class Encoded(NamedTuple):
    """The vectors of texts, and whose they are: those of another encoder do not compare."""

    vectors: Mapping[str, Floats]
    encoder_id: str = ""
    english_only: bool = True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SkillIndex:
    """The skills of one snapshot, ready to be matched; never changed, so threads may share it."""

    skills: tuple[Skill, ...]
    # Those that the model may not choose: only a person can call them.
    hidden: tuple[int, ...]
    evidence: tuple[Evidence, ...]
    lexical: LexicalIndex
    hints: HintIndex
    # None without an encoder: then words and what is said outright are all there is.
    dense: DenseIndex | None
    everyday: Everyday | None
    english_only: bool
    encoder_id: str

    @classmethod
    def build(
        cls,
        skills: Sequence[Skill],
        evidence: Sequence[Evidence],
        lexical: LexicalIndex,
        encoded: Encoded | None,
    ) -> Self:
        """Index `skills`; `encoded` has a vector for every text that `needed_texts` names."""
        dense, line = None, None
        if encoded is not None:
            strangers = [encoded.vectors[text] for text in (*ERRANDS, *EVERYDAY)]
            dense = DenseIndex.build(evidence, encoded.vectors, np.array(strangers, np.float32))
            line = Everyday.between(encoded.vectors, dense.whole)
        return cls(
            skills=tuple(skills),
            hidden=tuple(at for at, skill in enumerate(skills) if not skill.invocation.model),
            # The bodies are in the lexical index by now.
            evidence=tuple(replace(one, body="") for one in evidence),
            lexical=lexical,
            hints=HintIndex(skills),
            dense=dense,
            everyday=line,
            english_only=encoded is not None and encoded.english_only,
            encoder_id="" if encoded is None else encoded.encoder_id,
        )


def needed_texts(evidence: Sequence[Evidence]) -> Iterator[str]:
    """Yield every text whose vector is needed, some of them more than once."""
    yield from everyday.texts()
    for one in evidence:
        yield from texts_of(one)


def with_handoffs(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Give each skill the requests that others hand to it: "for slides use deck-maker"."""
    places = {one.name.casefold(): index for index, one in enumerate(evidence)}
    handed: dict[int, list[str]] = {}
    for index, one in enumerate(evidence):
        for handoff in one.handoffs:
            target = places.get(handoff.target.casefold())
            if target is not None and target != index:
                handed.setdefault(target, []).append(handoff.request)
    result = list(evidence)
    for index, requests in handed.items():
        more = tuple(dict.fromkeys(requests))[:_MOST_HANDED_OVER]
        one = result[index]
        result[index] = replace(one, phrases=tuple(dict.fromkeys((*one.phrases, *more))))
    return result
