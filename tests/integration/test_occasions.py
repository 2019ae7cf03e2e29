"""Messages that name no topic, with the encoder that ships."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prowess.host.models.local import OnnxEncoder
from prowess.routing import router
from prowess.routing.dense import Encoded
from prowess.routing.handoffs_and_passages import read_evidence
from prowess.routing.lexical_and_breadth import LexicalIndex, read_terms
from prowess.routing.message_kinds import list_signs, read_heads
from prowess.routing.router import SkillIndex, list_index_texts
from prowess.testing import make_skill

_MODEL = Path(router.__file__).parents[1] / "model"
_SKILLS = (
    make_skill("bug-hunt", description="Use when encountering any bug, error or test failure."),
    make_skill("plan-first", description="Write an implementation plan before touching any code."),
    make_skill("pdf-tools", description="Fill in, split and merge PDF files."),
)


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    return OnnxEncoder(str(_MODEL), english_only=True)


@pytest.fixture(scope="module")
def index(encoder: OnnxEncoder) -> SkillIndex:
    evidence = [read_evidence(skill) for skill in _SKILLS]
    vectors = {text: encoder.encode([text])[0] for text in set(list_index_texts(evidence))}
    lexical = LexicalIndex.build([read_terms(one) for one in evidence])
    return SkillIndex.build(_SKILLS, evidence, lexical, Encoded(vectors, encoder.id))


def _rank(index: SkillIndex, encoder: OnnxEncoder, message: str) -> router.Ranking:
    query = router.read(message)
    vector = np.asarray(encoder.encode([query.ask])[0], np.float32)
    return router.rank(index, replace(query, vector=vector))


def test_the_heads_belong_to_the_encoder_that_ships(encoder: OnnxEncoder) -> None:
    assert read_heads(encoder.id), "run `python -m training.judgement` for the new encoder"
    assert read_heads("another") is None


@pytest.mark.parametrize(
    ("message", "skill"),
    [
        ("it still crashes when I press save", "bug-hunt"),
        ("the page stays empty and I get an error", "bug-hunt"),
        ("let's make a plan for this before you write code", "plan-first"),
    ],
)
def test_an_occasion_finds_the_skill_that_is_for_it(
    index: SkillIndex, encoder: OnnxEncoder, message: str, skill: str
) -> None:
    found = _rank(index, encoder, message)

    assert _SKILLS[found.order[0]].name == skill
    assert found.fused.parts["occasion"][found.order[0]] > 0


@pytest.mark.parametrize("message", ["commit and push", "move the button to the left"])
def test_other_messages_tell_of_no_occasion(
    index: SkillIndex, encoder: OnnxEncoder, message: str
) -> None:
    assert _rank(index, encoder, message).confidence < 0.5


def test_a_question_is_told_from_a_task(index: SkillIndex, encoder: OnnxEncoder) -> None:
    assert _rank(index, encoder, "what does this function return?").reading.kind == "question"


@pytest.mark.parametrize("message", ["great, the error is gone", "谢谢\uff0c现在可以了"])
def test_good_news_load_nothing_though_a_skill_is_about_bugs(
    index: SkillIndex, message: str
) -> None:
    found = router.outright(index, router.read(message), router.RouteChoice())

    assert found is not None
    assert not found.matches
    assert found.notes == (f"{router.ENDS}.",)


def test_words_are_counted_in_scripts_without_blanks() -> None:
    long = list_signs("请检查这个项目的数据库迁移脚本然后告诉我哪里出错了" * 5, follows=False)

    assert long[0] == 1.0
    assert long[-1] == 0.0


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("add a button that exports the table as a PDF", "task"),
        ("how does the export of tables work?", "question"),
        ("yes, go on", "followup"),
        ("it works now, thanks", "praise"),
    ],
)
def test_an_answer_says_what_kind_of_message_it_was_for(
    index: SkillIndex, encoder: OnnxEncoder, message: str, kind: str
) -> None:
    query = router.read(message)
    query = replace(query, vector=np.asarray(encoder.encode([query.ask])[0], np.float32))
    choice = router.RouteChoice()

    found = router.outright(index, query, choice) or router.route(index, query, choice)

    assert found.kind == kind
