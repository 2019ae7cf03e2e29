"""`prowess improve`: what a description lacks, and sentences that are taken where they help."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

import prowess
from prowess.cli.main import main
from prowess.evaluation.improving import Improver, LabelledMessage, Sentence, join_description
from prowess.skills.model import Skill
from prowess.testing import make_skill

_BLAND = {
    "ledger": ("Keeps records.", ["reconcile the bank statement", "match invoices to payments"]),
    "garden": ("Helps with plants.", ["when do I prune the roses", "my tomato leaves turn yellow"]),
    "kitchen": ("Helps with food.", ["a dinner for six without gluten", "how long to bake bread"]),
}

_GOOD = {
    "travel": (
        "Plans trips by train and plane. Use when a journey is to be planned or booked.",
        ["book a train to Berlin for friday", "plan a weekend in Rome", "find me a flight home"],
    ),
    "invoice": (
        "Writes invoices for customers. Use when work is to be billed.",
        ["bill the customer for last month", "write an invoice for 12 hours"],
    ),
    "seal": (
        "Checks who signed a PDF. Use when somebody asks if a signature is valid.",
        ["who signed this PDF", "is this signature valid"],
    ),
    "crypt": (
        "Signs PDF contracts with a stored signature. Use when a document is to be signed.",
        [
            "sign this PDF contract",
            "the deed has to be signed",
            "put my stored signature on this contract",
        ],
    ),
    "letters": (
        "Writes business letters. Use when a formal letter is wanted.",
        ["a formal letter to the landlord", "write to the bank, politely"],
    ),
    "minutes": (
        "Writes minutes of meetings. Use when a meeting was recorded.",
        ["minutes of this call", "what did we decide in the meeting"],
    ),
}


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name, (description, asked) in _BLAND.items():
        _write(name, description, asked)
    # A description that says nothing, and a text that says a lot.
    _write(
        "helper",
        "Does things.",
        [
            "the contract has to be signed",
            "sign this contract",
            "put my signature under the contract",
        ],
        "# Helper\n\nSigns PDF documents and contracts with your stored signature.\n\n"
        "## When to use\n\n- sign a contract\n- put a signature under an invoice\n",
    )


def _write(name: str, description: str, asked: list[str], body: str = "Do it.\n") -> None:
    folder = Path("skills") / name
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: {description}\nlicense: MIT\n---\n\n{body}"
    )
    cases = [{"prompt": one, "expect": name} for one in asked]
    (folder / "evals" / "triggers.yaml").write_text(json.dumps({"cases": cases}))


def _improve(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, object]]:
    capsys.readouterr()
    assert main(["improve", *words, "--json"]) == 0
    return {row["skill"]: row for row in json.loads(capsys.readouterr().out)["skills"]}


def test_sentences_come_from_the_skill_and_only_held_out_messages_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = Path("skills/helper/SKILL.md").read_text()

    row = _improve(capsys, "helper")["helper"]

    assert str(row["proposed"]).startswith("Does things.")
    held, siblings = row["heldOutListed"], row["siblings"]
    assert isinstance(held, dict)
    assert isinstance(siblings, dict)
    assert held["after"] > held["before"]
    assert (siblings["before"], siblings["worstLoss"]) == (siblings["after"], 0)
    assert Path("skills/helper/SKILL.md").read_text() == before


def test_apply_writes_the_description_alone_and_keeps_the_old_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proposed = _improve(capsys, "helper", "--apply")["helper"]["proposed"]

    text = Path("skills/helper/SKILL.md").read_text()
    assert f"description: {json.dumps(proposed)}" in text
    assert "license: MIT" in text
    assert "## When to use" in text
    kept = [one.read_text() for one in (tmp_path / "state/backups").rglob("*") if one.is_file()]
    assert any("description: Does things." in one for one in kept)
    assert main(["validate", "--strict", "skills/helper"]) == 0


def test_propose_goes_through_the_workshop_and_writes_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = Path("skills/helper/SKILL.md").read_text()
    main(["workshop", "enable"])

    row = _improve(capsys, "helper", "--propose")["helper"]

    assert "proposal" in str(row["written"])
    assert Path("skills/helper/SKILL.md").read_text() == before
    main(["workshop", "list", "--json"])
    waiting = json.loads(capsys.readouterr().out)
    assert any(one["skillName"] == "helper" for one in waiting["proposals"])


def test_a_person_sees_what_is_missed_and_a_skill_without_messages_is_left_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _write("silent", "Says nothing.", [])

    assert main(["improve"]) == 0

    said = capsys.readouterr().out
    assert "- Does things." in said
    assert "held-out messages found first" in said
    assert _improve(capsys, "silent")["silent"]["proposed"] is None
    assert main(["improve", "no-such-skill"]) == 1
    assert main(["improve", "helper", "--apply", "--propose"]) == 2


def test_a_model_words_it_and_is_judged_by_what_it_was_not_shown() -> None:
    asked = [f"{verb} the {what}" for verb in ("sign", "countersign") for what in ("lease", "form")]
    messages = [LabelledMessage(one, frozenset(("helper",))) for one in asked]
    shown: list[str] = []

    def reword(_skill: Skill, examples: Sequence[str]) -> str:
        shown.extend(examples)
        return "Signs leases, forms, contracts and other documents with a stored signature."

    with prowess.open() as runtime:
        skills = runtime.skills.snapshot().usable
        names = [skill.name for skill in skills]
        improver = Improver(runtime.routing, skills, names, messages)
        found = improver.improve([names.index("helper")], reword=reword)[0]
        harm = improver.improve([names.index("helper")], reword=lambda *_: "Bakes bread.")[0]

    assert found.by_model
    assert found.description.startswith("Signs leases")
    assert 0 < len(shown) < len(asked)
    assert found.held_out.messages == len(asked) - len(shown)
    assert not harm.by_model


def test_to_leave_its_messages_to_another_is_tried_and_taken_only_where_that_helps() -> None:
    texts = {"payments": "Handles payments.", "reversal": "Returns money to customers."}
    skills = [make_skill(name=name, description=text, body="") for name, text in texts.items()]
    asked = ["return the payment", "the payments have to be returned"]
    messages = [LabelledMessage(text, frozenset(("reversal",))) for text in asked]

    with prowess.open() as runtime:
        (found,) = Improver(runtime.routing, skills, list(texts), messages).improve([0])

    assert found.confused == (("reversal", 2),)
    assert (found.tried, found.description) == (1, "Handles payments.")


def test_requests_are_quoted_together_behind_whole_sentences() -> None:
    said = [
        Sentence("sign it", "a test", is_request=True),
        Sentence("Signs contracts", "its text"),
        Sentence("Not for what belongs to ledger (Keeps records)", "a sibling"),
        Sentence("add my name", "a test", is_request=True),
    ]

    assert join_description("Does things", said) == (
        'Does things. Signs contracts. Use when asked: "sign it", "add my name".'
        " Not for what belongs to ledger (Keeps records)."
    )


def test_a_description_by_which_every_message_is_found_is_left_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for bland in (*_BLAND, "helper"):
        shutil.rmtree(f"skills/{bland}")
    for name, (said, asked) in _GOOD.items():
        uses = f"## When to use\n\n- {asked[0]}\n- somebody needs {name}\n"
        _write(name, said, asked, f"# {name}\n\nDoes it well.\n\n{uses}")

    found = _improve(capsys)

    assert (found["travel"]["proposed"], found["seal"]["proposed"]) == (None, None)
