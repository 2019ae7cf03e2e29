from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.routing.handoffs_and_passages import Handoff, SkillEvidence, read_evidence, split_roles
from prowess.skills.model import Triggers
from prowess.testing import make_skill

_PIECES = st.sampled_from(
    [
        "Bakes bread.", "Do not use for cakes", "not for pies (use pie-maker)", "; ", ", ", ". ",
        "\n- ", "Use when asked to bake", '"bake a loaf"', "For pastry, see pastry-chef.", "(", ")",
        "instead", "use flour-mill", "-> oven-cleaner", "DO NOT USE FOR: ", "e.g. ",
        "不适用于蛋糕。",
    ]
)  # fmt: skip
_DESCRIPTIONS = st.text(max_size=80) | st.lists(_PIECES, max_size=12).map(" ".join)


def _evidence(description: str = "Bakes bread.", **fields: object) -> SkillEvidence:
    # The builder takes the fields of a skill by name.
    skill = make_skill("bread-baker", description=description, **fields)  # type: ignore[arg-type]
    return read_evidence(skill)


@each_row(
    ("description", "positive"),
    [
        ("Bakes bread. Do not use for cakes. Knows rye.", "Bakes bread. Knows rye."),
        ("Bakes bread. NOT for cakes or pies.", "Bakes bread."),
        ("Bakes bread, not for cakes.", "Bakes bread"),
        ("Bakes bread (not for cakes) and rolls.", "Bakes bread and rolls."),
        ("Bakes bread [NOT when frying] fast.", "Bakes bread fast."),
        ("Bakes bread. Never use it for cakes.", "Bakes bread."),
        ("Bakes bread. Skip when only toast is wanted.", "Bakes bread."),
        ("Bakes bread. Doesn't cover pastry.", "Bakes bread."),
        ("Bakes bread. Don't skip it for toast.", "Bakes bread. Don't skip it for toast."),
        ("Bakes bread. For cakes, use cake-baker instead.", "Bakes bread."),
        ("Bakes bread. For cakes use `cake-baker`.", "Bakes bread."),
        ("Bakes bread. For cakes -> cake-baker.", "Bakes bread."),
        ("Bakes bread. Use cake-baker for cakes.", "Bakes bread."),
        ("Bakes bread. For cakes, see pastries.", "Bakes bread."),
        ("Bakes bread, but for cakes use cake-baker.", "Bakes bread, but"),
        ("Bakes bread; NOT for cakes; nor for pies. Knows rye.", "Bakes bread Knows rye."),
        ("USE FOR: bread DO NOT USE FOR: cakes MAKES: rolls", "USE FOR: bread MAKES: rolls"),
        ("Do not use for:\n- cakes\n- pies\n\nUse for bread.", "Use for bread."),
        ("烤面包。不适用于蛋糕。很快。", "烤面包。 很快。"),
        ("Hornea pan. No usar para tartas.", "Hornea pan."),
    ],
)
def test_what_a_skill_is_not_for_is_cut(description: str, positive: str) -> None:
    assert _evidence(description).positive == positive


@each_row(
    "description",
    [
        "Bakes bread. Use when the dough does not rise.",
        "Bakes bread in a pan instead of a tin.",
        'Bakes bread. Use when asked "why not for cakes?".',
        "Bakes bread. For rye, use this skill.",
        "Bakes bread. For crusts, use step-by-step steaming.",
        "Bakes bread. For rye, use bread-baker.",
        "Bakes bread e.g. with rye. For details, see below.",
        "Bakes bread. Use when deciding to use yeast instead.",
        "Turns flour→dough→bread.",
    ],
)
def test_what_only_looks_like_an_exclusion_stays(description: str) -> None:
    evidence = _evidence(description)

    assert evidence.positive == description
    assert evidence.negatives == ()


def test_a_skill_that_only_says_what_it_is_not_for_keeps_its_text() -> None:
    evidence = _evidence("Not for cakes.")

    assert evidence.positive == "Not for cakes."
    assert evidence.negatives == ("Not for cakes.",)


@each_row(
    ("description", "handoffs"),
    [
        ("Bakes. For wedding cakes, use cake-baker.", [("wedding cakes", "cake-baker")]),
        ("Bakes. Use cake-baker for wedding cakes.", [("wedding cakes", "cake-baker")]),
        (
            "Bakes. Not for cakes (use cake-baker) or hot pies (see pies).",
            [("cakes", "cake-baker"), ("hot pies", "pies")],
        ),
        ("Bakes. For cakes → `cake-baker`.", [("cakes", "cake-baker")]),
        ("Bakes. Do not use when the user wants pies. Use rye.", []),
    ],
)
def test_a_hand_off_is_an_edge_to_the_other_skill(
    description: str, handoffs: list[tuple[str, str]]
) -> None:
    assert _evidence(description).handoffs == tuple(Handoff(*edge) for edge in handoffs)


def test_an_open_bracket_is_cut_to_the_end() -> None:
    assert split_roles("Bakes bread (not for cakes").positive == "Bakes bread"


def test_requests_come_from_triggers_and_examples() -> None:
    evidence = _evidence(
        triggers=Triggers(any=("bake a loaf",), none=("gluten free",)),
        fields={
            "examples": ["Make me a rye loaf", {"prompt": "Knead this dough"}, 7],
            "metadata": {"examples": "How long does it rise?\nWhich oven?"},
        },
    )

    assert evidence.requests == (
        "bake a loaf",
        "Make me a rye loaf",
        "Knead this dough",
        "How long does it rise?",
        "Which oven?",
    )
    assert evidence.vetoes == ("gluten free",)
    assert evidence.phrases[:5] == evidence.requests


def test_what_counts_only_together_with_other_words_is_no_request() -> None:
    assert _evidence(triggers=Triggers(any=("bake a loaf",), all=("flour",))).requests == ()


def test_examples_that_are_nested_without_end_are_left_alone() -> None:
    nested: object = "Bake it"
    for _ in range(50):
        nested = [nested]

    assert _evidence(fields={"examples": nested}).requests == ()


def test_phrases_are_quotes_and_a_use_when_clause_or_else_a_sentence() -> None:
    evidence = _evidence(
        'Bakes bread at home. Use when the user wants to knead dough or says "feed my starter", '
        "'my crust is pale' or \"toast\"."
    )

    assert evidence.phrases == ("feed my starter", "my crust is pale", "knead dough")
    assert _evidence("Bakes bread at home. Loaves, too.").phrases == ("Bakes bread at home",)


def test_what_is_said_in_when_to_use_counts_as_description() -> None:
    evidence = _evidence(when_to_use="Use for sourdough. Not for cakes.")

    assert evidence.positive == "Bakes bread. Use for sourdough."
    assert evidence.negatives == ("Not for cakes.",)


_BODY = """# Bread

## When to use

- The user wants a loaf
  for tomorrow
- "make pizza dough" or "roll it out"
- Cakes: use cake-baker instead
- [x] **Rye** breads with `seeds` and [more](https://bread.example)

Some text.

### In a hurry

1. Quick flat breads

## When not to use

- Cakes of any kind

## Steps

- Mix flour and water

```markdown
## When to use
- Not a real section
```

**Examples:**
- How do I score a loaf?
"""


def test_phrases_stand_below_when_to_use_headings_of_the_body() -> None:
    evidence = _evidence(body=_BODY)

    assert evidence.phrases == ("Bakes bread", "The user wants a loaf for tomorrow")


def test_of_the_sentences_of_a_description_the_first_is_a_phrase() -> None:
    said = ". ".join(f"Bakes loaf number {number}" for number in range(20))

    assert _evidence(description=said).phrases == ("Bakes loaf number 0",)


def test_the_beginning_of_the_body_counts_where_the_description_says_little() -> None:
    body = "Mix flour, water and salt, and leave it alone until it has doubled."

    assert _evidence("Bakes bread.", body=body).opening == body
    assert not _evidence("Bakes bread of all kinds. " * 10, body=body).opening


def test_what_the_body_is_not_for_is_no_text_to_be_found_by() -> None:
    evidence = _evidence(body=_BODY)

    assert "Cakes of any kind" in evidence.negatives
    assert "Cakes of any kind" not in evidence.body
    assert "Mix flour" in evidence.body


def test_the_last_bullet_of_a_body_counts() -> None:
    assert "Score a loaf" in _evidence(body="## Examples\n- Score a loaf").phrases


def test_a_long_bullet_is_an_instruction_and_no_request() -> None:
    assert _evidence(body="## Examples\n- " + "knead and " * 20).phrases == ("Bakes bread",)


def test_phrases_are_few_short_and_each_once() -> None:
    quotes = " ".join(f'"bake loaf {number % 40}"' for number in range(80))

    phrases = _evidence(f"Use for {quotes}.").phrases

    assert len(phrases) == len(set(phrases)) == 24
    assert all(2 <= len(phrase) <= 200 for phrase in phrases)


def test_an_encoder_reads_the_name_as_words() -> None:
    assert _evidence("Bakes bread.").text == "bread baker: Bakes bread."


def test_globs_are_kept() -> None:
    assert _evidence(globs=("*.dough",)).globs == ("*.dough",)


@settings(max_examples=100, deadline=None)
@given(_DESCRIPTIONS)
def test_cutting_never_returns_text_that_is_not_in_the_description(description: str) -> None:
    evidence = _evidence(description)

    rest = iter("".join(description.split()))
    assert all(char in rest for char in "".join(evidence.positive.split()))
    assert bool(evidence.positive) == bool(description.split())


@settings(max_examples=100, deadline=None)
@given(_DESCRIPTIONS, st.text(alphabet=st.sampled_from("#-* \n`\"'abc.:123"), max_size=120))
def test_no_skill_makes_reading_raise(description: str, body: str) -> None:
    evidence = _evidence(description, body=body)

    assert len(evidence.phrases) <= 24
    assert all(2 <= len(phrase) <= 200 for phrase in evidence.phrases)


def test_what_is_not_to_be_skipped_is_what_it_is_for() -> None:
    body = "**Don't skip when:**\n\n- The dough looks easy\n\n## Skip when\n\n- It is a cake\n"

    evidence = _evidence(body=body)

    assert "The dough looks easy" in evidence.phrases
    assert evidence.negatives == ("It is a cake",)
