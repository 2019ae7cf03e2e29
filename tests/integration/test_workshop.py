"""The workshop on real folders, with the real store, scanner and router."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import prowess
from prowess.runtime.workshop.service import TurnSeen, WorkshopService
from prowess.wire.workshop import proposal, proposal_event, proposal_history
from prowess.wiring.workshop import open_workshop

GIF = "ok, next time make sure to verify that the GIF has several frames ($1 \\1)"


class Place:
    """A workspace with a runtime and its workshop."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("home", "state", "work/skills"):
            (folder / name).mkdir(parents=True)
        environ = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
        self.runtime = prowess.open(folder / "work", home=folder / "state", environ=environ)
        self.workshop: WorkshopService = open_workshop(self.runtime)

    def configure(self, *, encoder: str = "none", **config: object) -> None:
        """Write the config file, as an operator would at any time."""
        entry = {"enabled": True, "config": config}
        values = {
            "plugins": {"entries": {"skill-workshop": entry}},
            "skills": {"routing": {"encoder": encoder}},
        }
        (self.folder / "state/prowess.json").write_text(json.dumps(values))

    def page(self, skill: str) -> Path:
        return self.folder / "work/skills" / skill / "SKILL.md"

    def tell(self, text: str) -> tuple[str, ...]:
        """Let a user say something, and return the states of what was proposed."""
        turn = TurnSeen(messages=[{"role": "user", "content": text}], session_id="s1")
        return tuple(found.state.value for found in self.workshop.observe(turn))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.runtime.close()


def test_nothing_happens_and_nothing_is_made_until_it_is_switched_on(place: Place) -> None:
    assert not place.workshop.enabled
    assert place.tell(GIF) == ()
    assert not (place.folder / "state/prowess.db").exists()

    place.configure()

    assert place.workshop.enabled
    assert place.tell(GIF) == ("pending",)


def test_in_auto_what_only_words_found_waits(place: Place) -> None:
    place.configure(approvalPolicy="auto", reviewMode="heuristic")

    assert place.tell(GIF) == ("pending",)
    assert place.tell("From now on, keep a local copy of each animated image") == ("pending",)

    assert not place.page("animated-gif-workflow").exists()


def test_clients_see_the_fields_of_the_document(place: Place) -> None:
    place.configure()
    place.tell(GIF)
    (found,) = place.workshop.list()

    shown = proposal(found)

    assert set(shown) == {
        "id", "createdAt", "updatedAt", "workspaceDir", "sessionId", "skillName", "title",
        "reason", "source", "status", "change", "revision", "baseHash", "evidence",
    }  # fmt: skip
    assert shown["change"]["kind"] == "create"
    assert shown["createdAt"].endswith("Z")
    assert place.workshop.call({"action": "status"}) == {
        "workspaceDir": str(place.folder / "work"),
        "pending": 1, "quarantined": 0, "applied": 0, "rejected": 0, "stale": 0,
    }  # fmt: skip
    assert place.workshop.call({"action": "list_pending"}) == {"proposals": [shown]}
    assert place.workshop.call({"action": "inspect", "id": found.id}) == {"proposal": shown}
    events = [proposal_event(event) for event in place.workshop.events()]
    assert [(event["type"], event["proposalId"]) for event in events] == [("created", found.id)]


def test_a_config_file_that_breaks_in_the_middle_keeps_what_was_read(place: Place) -> None:
    place.configure()
    assert place.runtime.skills.settings.workshop.active
    (place.folder / "state/prowess.json").write_text("{")

    assert place.workshop.enabled


def test_no_encoder_is_loaded_where_there_is_no_skill_to_write_to(place: Place) -> None:
    place.configure(encoder="bundled")

    assert place.tell(GIF) == ("pending",)

    assert not (place.folder / "state/vectors.db").exists()


def test_clients_see_a_revision_a_rollback_and_the_history(place: Place) -> None:
    place.configure()
    place.tell(GIF)
    (found,) = place.workshop.list()
    call = place.workshop.call

    revised = call({"action": "revise", "id": found.id, "body": "# GIFs\n\n- Count frames.\n"})
    applied = call({"action": "apply", "id": found.id})
    page = place.page("animated-gif-workflow")
    history = call({"action": "history", "skillName": "animated-gif-workflow"})
    back = call({"action": "rollback", "id": found.id})

    assert (revised["status"], applied["status"], back["status"]) == (
        "pending", "applied", "rolled_back",
    )  # fmt: skip
    assert (back["skillPath"], page.exists()) == (str(page), False)
    assert proposal(place.workshop.inspect(found.id))["status"] == "pending"
    shown = proposal_history(place.workshop.history(skill="animated-gif-workflow"))
    assert [event["type"] for event in shown["events"]] == [
        "created", "revised", "applied", "rolled_back",
    ]  # fmt: skip
    assert (shown["cursor"], shown["more"], shown["versions"]) == (4, False, [])
    assert str(found.id) in str(history["versions"])
    assert "animated-gif-workflow" not in place.runtime.skills.prompt().text
