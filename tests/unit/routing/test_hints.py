import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import each_row

from prowess.routing.decision_triggers_and_follow_ups import (
    Closing,
    HintIndex,
    Hints,
    Named,
    contains,
    find_paths,
    fold,
    is_follow_up,
    read_closing,
)
from prowess.skills.model import Triggers
from prowess.testing import make_skill


def _named(message: str, name: str = "deck-maker", key: str = "") -> Named:
    found = HintIndex([make_skill("other"), make_skill(name, key=key)]).of(message)
    return found.get(1, Hints()).named


def _of(message: str, triggers: Triggers) -> Hints:
    return HintIndex([make_skill("one", triggers=triggers)]).of(message).get(0, Hints())


def _path(message: str, *globs: str, files: tuple[str, ...] = ()) -> str:
    index = HintIndex([make_skill("one", globs=globs)])
    return index.of(message, files).get(0, Hints()).path


def test_phrases_are_compared_without_case_width_and_spaces() -> None:
    assert fold("  \uff24eploy\n\tTHE   \ufb01le ") == "deploy the file"


@each_row(
    "message",
    [
        "yes",
        "Yes, do it!",
        "ok",
        "Sure, go ahead.",
        "sounds good, continue",
        "  yes please ",
        "try again",
        "the second one",
        "LGTM, ship it",
        "sí, hazlo",
        "d'accord, vas-y",
        "ja, mach das",
        "ja bitte",
        "sim, continua",
        "да, давай",
        "네, 해 주세요",
        "好的",
        "继续",
        "はい",
    ],
)
def test_a_message_that_only_goes_on_is_a_follow_up(message: str) -> None:
    assert is_follow_up(message)


@each_row("message", ["好的\uff0c继续", "是的。", "可以\uff01", "はい、お願いします", "はい。"])
def test_follow_ups_have_the_punctuation_of_their_script(message: str) -> None:
    assert is_follow_up(message)


@each_row(
    "message",
    [
        "",
        "   ",
        "yes, deploy the app",
        "no",
        "yesterday",
        "continue the story about the dragon",
        "next week I am away",
        "ok " * 40,
    ],
)
def test_a_message_that_says_something_is_no_follow_up(message: str) -> None:
    assert not is_follow_up(message)


@each_row(
    "message",
    [
        "it works now, thanks",
        "great, the error is gone",
        "cool, it builds again",
        "jetzt geht es, danke",
        "gracias, el error ha desaparecido",
        "merci, ça marche maintenant",
        "perfeito, agora funciona",
        "отлично, ошибка исчезла",
        "太好了\uff0c错误没有了",
        "完璧です、エラーが消えました",
        "완벽해요, 오류가 사라졌어요",
    ],
)
def test_news_that_it_works_ends_something(message: str) -> None:
    assert read_closing(message) is Closing.OVER


@each_row("message", ["thank you", "Nice!", "ótimo trabalho, obrigado", "谢谢", "lgtm"])
def test_thanks_and_praise_begin_nothing(message: str) -> None:
    assert read_closing(message) is Closing.THANKS


@each_row(
    "message",
    [
        "",
        "thanks, but now the page is blank",
        "it still does not work, thanks for trying",
        "great, commit it",
        "thanks! merge these PDFs",
        "perfect, write the release notes",
        "it works now, add a dark mode",
        "does it work now?",
        "make sure it works",
        "merci, mais ça plante encore",
        "谢谢\uff0c但是还是报错",
        "no more than three items",
        "thanks " * 40,
    ],
)
def test_whoever_wants_something_has_not_closed(message: str) -> None:
    assert read_closing(message) is None


def test_paths_and_files_are_found_in_a_message() -> None:
    message = 'Fix "src/app/main.tsx", (README.md) and `docs/a.b/c.rst`; leave version 2 alone.'

    assert find_paths(message) == ("src/app/main.tsx", "README.md", "docs/a.b/c.rst")


def test_a_path_is_named_once() -> None:
    assert find_paths("a.py and a.py, then a.py") == ("a.py",)


def test_a_wall_of_paths_is_cut() -> None:
    wall = " ".join(f"file{number}.py" for number in range(10_000))

    assert len(find_paths(wall)) < 100
    assert find_paths("x/" * 5_000 + "a.py") == ()


@each_row(
    "message",
    ["deck-maker", "/deck-maker", "$deck-maker", " Deck-Maker! ", "`deck-maker`",
     "/deck-maker for the board, please", "/DECK-MAKER: quarterly numbers"],
)  # fmt: skip
def test_the_whole_message_or_its_command_calls_a_skill(message: str) -> None:
    assert _named(message) is Named.CALLED


def test_a_skill_is_called_by_its_key_too() -> None:
    assert _named("/slides", key="slides") is Named.CALLED


@each_row("name", ["周报", "über-plan", "my_skill", "3d-print", "\N{ROCKET}"])
def test_a_name_of_any_characters_can_be_called(name: str) -> None:
    assert _named(f"/{name}", name=name) is Named.CALLED


@each_row(
    "message",
    ["use deck-maker for this", "Please run `deck-maker`.", "make slides with deck-maker",
     "Could you use the deck-maker skill?", "First clean up, then use deck-maker",
     "I want you to use deck-maker", "no problem, use deck-maker",
     "this is not urgent. Use deck-maker"],
)  # fmt: skip
def test_a_skill_is_asked_for_in_a_sentence(message: str) -> None:
    assert _named(message) is Named.ASKED_FOR


@pytest.mark.parametrize(
    "message", ["I just finished deck-maker, what now?", "the deck-maker thing broke"]
)
def test_a_skill_that_only_occurs_is_mentioned(message: str) -> None:
    assert _named(message) is Named.MENTIONED


@each_row(
    "message",
    ["do not use deck-maker", "don't use deck-maker for this", "do not load the `deck-maker`",
     "make slides without deck-maker", "use keynote instead of deck-maker",
     "never run deck-maker again"],
)  # fmt: skip
def test_a_skill_that_is_forbidden_is_refused(message: str) -> None:
    assert _named(message) is Named.REFUSED


@each_row(
    "message",
    ["anything but that, not deck-maker", "use something other than deck-maker",
     "why don't you use deck-maker?", "you didn't use deck-maker", "why not deck-maker?"],
)  # fmt: skip
def test_a_skill_that_is_spoken_against_is_not_named(message: str) -> None:
    assert _named(message) is Named.NOT


def test_a_refusal_does_not_undo_a_wish_elsewhere() -> None:
    assert _named("not that one. Please use deck-maker, not word") is Named.ASKED_FOR


@each_row(
    "message", ["deck-makers", "/deck-maker-pro", "my-deck-maker", "the deck is a maker", "decks"]
)
def test_a_part_of_a_longer_word_is_no_name(message: str) -> None:
    assert _named(message) is Named.NOT


@pytest.mark.parametrize("message", ["please test my code", "use test data", "run the test again"])
def test_a_plain_word_is_no_name(message: str) -> None:
    assert _named(message, name="test") is Named.NOT


@each_row(
    ("message", "named"),
    [
        ("use the test skill", Named.ASKED_FOR),
        ("please run `test` on this", Named.ASKED_FOR),
        ("load skill test", Named.ASKED_FOR),
        ("what does the test skill do?", Named.MENTIONED),
        ("/test", Named.CALLED),
        ("test", Named.CALLED),
    ],
)
def test_a_plain_word_is_a_name_where_it_is_called_a_skill(message: str, named: Named) -> None:
    assert _named(message, name="test") is named


def test_characters_of_patterns_in_a_name_are_just_characters() -> None:
    assert _named("/c++(x", name="c++(x") is Named.CALLED
    assert _named("use a.b-c", name="a.b-c") is Named.ASKED_FOR
    assert _named("use aXb-c", name="a.b-c") is Named.NOT


def test_any_trigger_is_enough_and_the_longest_is_shown() -> None:
    triggers = Triggers(any=("ship", "ship it now", "release"))

    assert _of("please ship it now", triggers).trigger == "ship it now"
    assert _of("a Release, please", triggers).trigger == "release"
    assert _of("shipping", triggers).trigger == ""


def test_all_triggers_must_be_there() -> None:
    triggers = Triggers(all=("invoice", "customer"))

    assert _of("an invoice for a customer", triggers).trigger == "invoice + customer"
    assert _of("an invoice for nobody", triggers).trigger == ""


def test_any_stands_under_all_where_both_are_given() -> None:
    triggers = Triggers(any=("send", "post"), all=("invoice",))

    assert _of("send the invoice", triggers).trigger == "send"
    assert _of("the invoice", triggers).trigger == ""
    assert _of("send the letter", triggers).trigger == ""


def test_a_veto_names_its_phrase() -> None:
    triggers = Triggers(any=("deploy",), none=("dry run",))

    assert _of("deploy as a dry  run", triggers) == Hints(trigger="deploy", veto="dry run")
    assert _of("deploy", triggers).veto == ""


def test_a_trigger_is_a_word_of_its_own() -> None:
    assert contains("read the cat picture", "cat")
    assert not contains("concatenate", "cat")
    assert contains("what about c++?", "c++")


def test_a_trigger_in_a_script_without_spaces_stands_anywhere() -> None:
    assert _of("请帮我部署应用", Triggers(any=("部署",))).trigger == "部署"
    assert _of("議事録を作って", Triggers(any=("議事録",))).trigger == "議事録"


@pytest.mark.parametrize(
    ("message", "phrase"), [("ich fürchte mich", "für"), ("los cafés están cerrados", "café")]
)
def test_an_accent_does_not_make_a_trigger_part_of_other_words(message: str, phrase: str) -> None:
    assert not contains(fold(message), phrase)
    assert contains(fold(f"a {phrase} b"), phrase)


def test_a_letter_or_two_mean_something_only_alone() -> None:
    assert not contains("go x and home", "go")
    assert contains("go", "go")


def test_an_empty_trigger_is_in_no_message() -> None:
    assert not contains("anything", "  ")
    assert _of("anything", Triggers(any=("",), none=(" ",))) == Hints()


@each_row(
    ("message", "glob"),
    [
        ("look at main.py", "*.py"),
        ("look at src/app/main.py", "*.py"),
        ("look at src/app/main.py", "src/**/*.py"),
        ("look at src/main.py", "src/**/*.py"),
        ("look at main.py", "**/*.py"),
        ("look at docs/a/b.md", "docs/**"),
        ("fix Dockerfile.prod", "Dockerfile*"),
        ("rename all *.tsx files", "**/*.tsx"),
    ],
)
def test_a_file_of_the_message_matches_a_glob(message: str, glob: str) -> None:
    assert _path(message, glob) != ""


@pytest.mark.parametrize(
    ("message", "glob"),
    [
        ("look at ./src/main.py", "src/**/*.py"),
        ("fix .github/workflows/ci.yml", ".github/workflows/*.yml"),
        ("what is in .env.local?", ".env*"),
    ],
)
def test_a_path_that_begins_with_a_dot_matches_a_glob(message: str, glob: str) -> None:
    assert _path(message, glob) != ""


@pytest.mark.parametrize("message", ["fix src/app/main.tsx", "fix src/app/main.ts"])
def test_a_glob_may_name_several_endings(message: str) -> None:
    assert _path(message, "src/**/*.{ts,tsx}") != ""


def test_a_file_type_alone_matches_a_glob() -> None:
    assert _path("convert all .docx files", "*.docx") != ""


@pytest.mark.parametrize(
    ("message", "glob"),
    [("look at main.rs", "*.py"), ("look at lib/main.py", "src/**/*.py"), ("no file", "*.py")],
)
def test_other_files_match_no_glob(message: str, glob: str) -> None:
    assert _path(message, glob) == ""


def test_a_file_at_hand_counts_like_one_in_the_message() -> None:
    assert _path("fix this", "*.py", files=("src/main.py",)) == "src/main.py"


def test_only_skills_that_are_concerned_have_hints() -> None:
    index = HintIndex([make_skill("one-skill"), make_skill("two-skill"), make_skill("three")])

    assert list(index.of("use two-skill")) == [1]
    assert index.of("nothing of the kind") == {}
    assert HintIndex([]).of("use two-skill") == {}


_WORDS = st.lists(
    st.sampled_from(
        [
            "use",
            "not",
            "deck-maker",
            "/",
            "$",
            "skill",
            "`",
            "\0",
            "src/a.py",
            "部署",
            "deploy",
            "\n",
        ]
    ),
    max_size=12,
).map(" ".join)
_TEXTS = st.text(max_size=60) | _WORDS


@settings(max_examples=150, deadline=None)
@given(_TEXTS, st.lists(_TEXTS, max_size=3), st.lists(_TEXTS, max_size=3))
def test_no_text_is_too_odd(message: str, names: list[str], phrases: list[str]) -> None:
    triggers = Triggers(any=tuple(phrases), all=tuple(phrases[:1]), none=tuple(phrases[1:]))
    skills = [make_skill(name or "x", triggers=triggers, globs=tuple(phrases)) for name in names]

    found = HintIndex(skills).of(message, paths=phrases)

    assert set(found) <= set(range(len(skills)))
    assert all(hints != Hints() for hints in found.values())
    assert isinstance(is_follow_up(message), bool)
    assert read_closing(message) in (None, *Closing)


@settings(max_examples=60, deadline=None)
@given(st.from_regex(r"[a-z]{2,8}(-[a-z]{2,8}){1,3}", fullmatch=True))
def test_every_name_of_the_standard_can_be_called(name: str) -> None:
    assert _named(f"/{name}", name=name) is Named.CALLED
    assert _named(name.upper(), name=name) is Named.CALLED


def _seconds(phrases: int) -> float:
    skills = [
        make_skill(f"skill-{at}", triggers=Triggers(any=(f"do the thing {at}",)))
        for at in range(phrases)
    ]
    index, spent = HintIndex(skills), []
    for _ in range(3):
        started = time.process_time()
        index.of("please look at this and do it")
        spent.append(time.process_time() - started)
    return min(spent)


def test_the_cost_of_a_message_grows_no_faster_than_the_triggers() -> None:
    # Three times as many; patterns that are made anew for every message cost fifty times as much.
    assert _seconds(1_200) < 12 * _seconds(400)


def _seconds_for(glob: str) -> float:
    spent = []
    for _ in range(3):
        started = time.process_time()
        HintIndex([make_skill("one", globs=(glob,))])
        spent.append(time.process_time() - started)
    return min(spent)


def test_a_glob_of_many_choices_does_not_explode() -> None:
    # Twice as many; all combinations of them are 256 times as many, and forty choices no end.
    assert _seconds_for("{a,b}" * 16) < 50 * _seconds_for("{a,b}" * 8)


def test_choices_within_choices_and_open_braces_are_no_problem() -> None:
    assert _path("fix main.tsx", "*.{t{s,sx},js}") != ""
    assert _path("fix main.js", "*.{t{s,sx},js}") != ""
    assert _path("fix main.ts", "*.{ts") == ""
    assert _path("fix main.ts", "*.{}") == ""
