"""Learning across runs: what several traces have in common becomes one proposal."""

import json
import re

import pytest

from .experience_bench import Lab, commands, dark_mode, step, trace
from .workshop_bench import UNSAFE
from .world import Json, World

NAMES = ("sales", "stock", "staff", "plants", "rivers")


@pytest.fixture
def lab(world: World) -> Lab:
    made = Lab(world)
    made.configure(workshop=True)
    return made


def cleaning(name: str, *, detour: bool = False, **more: object) -> Json:
    """A trace of one task on the file of this name; a detour fails once and mends it."""
    path = f"data/{name}.csv"
    clean = step("exec", command=f"csvclean {path}", result=f"{len(name)} rows are fine")
    around = [
        step("exec", command=f"csvclean {path}", result="csvclean: command not found"),
        step("exec", command="pip install csvkit", result="installed"),
    ]
    return trace(
        f"Clean the table {name}.csv and make the report",
        step("read", path=path, result=f"{name} and more"),
        *(around if detour else ()),
        clean,
        step("exec", command="make report", result="report.html"),
        **more,
    )


def five() -> list[Json]:
    return [cleaning(name, detour=name == "staff") for name in NAMES]


def mentions(text: str, words: tuple[str, ...]) -> list[str]:
    return [word for word in words if word in text]


@pytest.mark.requirement("experience:one-proposal", "experience:common-steps")
def test_five_traces_of_one_task_become_one_skill_with_its_parameter(lab: Lab) -> None:
    (goal,) = lab.build(*five())["goals"]

    (parameter,) = goal["parameters"]
    assert (goal["traces"], goal["status"]) == (5, "proposed")
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", parameter["name"])
    assert parameter["about"]
    assert len(parameter["examples"]) >= 2
    assert all(mentions(example, NAMES) for example in parameter["examples"])
    (proposal,) = lab.proposals("pending")
    assert proposal["id"] == goal["proposal"]
    assert proposal["skillName"] == goal["skill"]
    body = proposal["change"]["body"]
    assert parameter["name"] in body
    assert "make report" in body
    assert "pip install" not in body
    steps = [line for line in body.splitlines() if re.match(r"\s*\d+\. ", line)]
    (clean,) = [line for line in steps if "csvclean" in line]
    assert mentions(clean, NAMES) == []


@pytest.mark.requirement("experience:one-proposal")
def test_the_proposal_says_where_it_comes_from(lab: Lab) -> None:
    traces = [cleaning(name, sessionPath=f"runs/{name}-run.jsonl") for name in NAMES[:3]]

    lab.build(*traces)

    (proposal,) = lab.proposals("pending")
    evidence = json.dumps(proposal["evidence"])
    assert mentions(evidence, tuple(f"{name}-run" for name in NAMES[:3])) == [
        f"{name}-run" for name in NAMES[:3]
    ]


@pytest.mark.requirement("experience:one-proposal", "experience:hidden")
def test_the_skill_is_there_once_a_person_says_yes(lab: Lab) -> None:
    (goal,) = lab.build(*five())["goals"]
    before = lab.world.prompt_names()

    applied = lab.world.run("workshop", "apply", goal["proposal"], "--yes").calm()

    assert applied.code == 0, str(applied)
    assert before == []
    assert lab.world.prompt_names() == [goal["skill"]]
    checked = lab.world.run("validate", lab.world.skills / goal["skill"], "--strict").calm()
    assert checked.code == 0, str(checked)


@pytest.mark.requirement("experience:common-steps")
def test_what_varies_by_itself_is_a_parameter_of_its_own(lab: Lab) -> None:
    pairs = [("sales", "anna"), ("stock", "bertil"), ("staff", "anna"), ("sales", "cecilia")]
    traces = [
        commands(
            f"Send the {report} report to {person}",
            f"fetch-report --name {report}",
            "render-report --quiet",
            f"send-mail --to {person} out.pdf",
            sessionPath=f"s{number}",
        )
        for number, (report, person) in enumerate(pairs)
    ]

    (goal,) = lab.build(*traces)["goals"]

    found = [" ".join(parameter["examples"]) for parameter in goal["parameters"]]
    people = ("anna", "bertil", "cecilia")
    assert len(found) == 2
    assert sum(bool(mentions(text, NAMES)) for text in found) == 1
    assert sum(bool(mentions(text, people)) for text in found) == 1
    names = [parameter["name"] for parameter in goal["parameters"]]
    assert len(set(names)) == 2


@pytest.mark.requirement("experience:common-steps")
def test_what_never_varies_is_no_parameter(lab: Lab) -> None:
    traces = [
        commands("Make the weekly backup", "pg_dump shop -f shop.sql", "gzip -k shop.sql")
        | {"sessionPath": f"s{number}"}
        for number in range(3)
    ]

    (goal,) = lab.build(*traces)["goals"]

    assert goal["parameters"] == []
    assert "pg_dump shop" in lab.proposals()[0]["change"]["body"]


@pytest.mark.requirement("experience:two-stay-drafts")
@pytest.mark.parametrize(
    "traces",
    [
        [cleaning("sales"), cleaning("stock")],
        [cleaning("sales"), cleaning("stock"), cleaning("staff", ok=False)],
        [cleaning("sales")],
    ],
    ids=["two", "two and a failure", "one"],
)
def test_fewer_than_three_stay_drafts(lab: Lab, traces: list[Json]) -> None:
    answer = lab.build(*traces)

    assert answer["drafts"]
    assert lab.proposals() == []
    assert [goal for goal in answer["goals"] if goal["proposal"]] == []


@pytest.mark.requirement("experience:two-stay-drafts")
def test_one_session_given_thrice_is_one_trace(lab: Lab) -> None:
    lab.build(*[cleaning("sales")] * 3)

    assert lab.proposals() == []


@pytest.mark.requirement("experience:goals-apart")
def test_different_goals_become_different_skills(lab: Lab) -> None:
    others = [
        commands(
            f"Resize the picture {name}.png for the web",
            f"magick {name}.png -resize 800x {name}.png",
            f"optipng {name}.png",
        )
        for name in ("cat", "dog", "fox")
    ]

    answer = lab.build(*five()[:3], *others, dark_mode())

    assert [goal["traces"] for goal in answer["goals"] if goal["proposal"]] == [3, 3]
    bodies = [proposal["change"]["body"] for proposal in lab.proposals("pending")]
    assert sorted("csvclean" in body for body in bodies) == [False, True]
    assert sorted("optipng" in body for body in bodies) == [False, True]


@pytest.mark.requirement("experience:known")
@pytest.mark.parametrize("move", ["pending", "applied", "rejected"])
def test_a_goal_is_proposed_once(lab: Lab, move: str) -> None:
    (first,) = lab.build(*five())["goals"]
    if move != "pending":
        words = ("apply", "--yes") if move == "applied" else ("reject",)
        done = lab.world.run("workshop", words[0], first["proposal"], *words[1:]).calm()
        assert done.code == 0, str(done)
    before = lab.files()

    (again,) = lab.build(*five())["goals"]
    after = lab.files()
    (backwards,) = lab.build(*reversed(five()))["goals"]

    assert (again["status"], backwards["status"]) == ("known", "known")
    assert after == before
    assert len(lab.proposals()) == 1


@pytest.mark.requirement("experience:workshop-off")
def test_without_the_workshop_drafts_are_made_and_it_is_said_how(lab: Lab) -> None:
    lab.configure(workshop=False)
    path = lab.saved(*five()[:3])

    answer = lab.answer("build", path)
    told = lab.run("build", path)

    (goal,) = answer["goals"]
    assert (goal["status"], goal["proposal"]) == ("off", None)
    assert "workshop enable" in goal["reason"]
    assert "prowess workshop enable" in told.text
    assert answer["drafts"]
    assert lab.files()
    lab.configure(workshop=True)
    assert lab.proposals() == []
    assert lab.answer("build", path)["goals"][0]["status"] == "proposed"


@pytest.mark.requirement("experience:goals-scanned")
def test_what_is_unsafe_does_not_wait_for_a_yes(lab: Lab) -> None:
    line = UNSAFE.split("`")[1]
    traces = [
        commands(f"Install the helper for {name}", line, f"helper --for {name}") for name in NAMES
    ]

    answer = lab.answer("build", lab.saved(*traces), code=1)

    assert {goal["status"] for goal in answer["goals"]} <= {"refused"}
    assert lab.proposals("pending") == []
    assert lab.files() == {}


@pytest.mark.requirement("experience:dry-run", "experience:one-proposal")
def test_a_dry_run_proposes_nothing(lab: Lab) -> None:
    (goal,) = lab.build(*five(), words=("--dry-run",))["goals"]

    assert (goal["status"], goal["proposal"]) == ("would-propose", None)
    assert lab.proposals() == []
    assert lab.files() == {}
