"""A real harness is put to the proof: tasks with and without a skill, by a scripted model."""

import json
from collections.abc import Callable

from tests.outside.harnesses import OutsideWorld, install
from tests.outside.model_server import MODEL, ModelRequest, ModelServer, Say

_WORDS = "Good evening, and welcome"


def test_a_skill_is_proven_through_claude_code(
    world: Callable[[str], OutsideWorld], model: ModelServer
) -> None:
    def answer(request: ModelRequest) -> Say:
        # A model that knows the skill, by its listing in what the harness sends, greets by it.
        return Say(f"{_WORDS}." if "greets-by-our-rules" in request.text else "Hi.")

    model.script = answer
    made = world("claude-code")
    folder = made.project / "skills" / "greets-by-our-rules"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        "---\nname: greets-by-our-rules\ndescription: Greets people by our rules.\n---\n\nGreet.\n"
    )
    tasks = [
        {"id": str(n), "prompt": f"Greet visitor {n}.", "expectations": [f'It says "{_WORDS}"']}
        for n in range(5)
    ]
    evals = made.home / "evals.json"
    evals.write_text(json.dumps({"evals": tasks}))
    entry = install("claude-code") / "node_modules/.bin"
    made.environment["PATH"] = f"{entry}:{made.environment['PATH']}"

    said = made.prowess(
        "prove", "greets-by-our-rules", "--agent", "claude-code", "--model", MODEL,
        "--runs", "1", "--budget", "5", "--evals", str(evals), "--json",
    )  # fmt: skip

    found = json.loads(said)
    assert found["verdict"] == "proven", found
    assert found["harness"] == "claude-code"
    assert found["outcomes"]["without"]["fail"] == 5
