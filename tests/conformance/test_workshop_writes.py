"""Writes: one at a time, whole or not at all, seen at once, and taken back byte for byte."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest

import prowess

from .workshop_bench import UNSAFE, Bench, files_below
from .world import TIMEOUT_S, Json, World, command


@pytest.fixture
def bench(world: World) -> Bench:
    return Bench(world, encoder="none")


def at_once(world: World, *calls: tuple[str, ...]) -> list[tuple[int, Json]]:
    """Exit code and JSON of terminals that run at the same time."""
    started = [
        subprocess.Popen(
            command(("workshop", *words, "--json")),
            cwd=world.workspace,
            env=world.env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in calls
    ]
    ended = []
    for process in started:
        out, err = process.communicate(timeout=TIMEOUT_S)
        assert "Traceback" not in err, err
        ended.append((process.returncode, json.loads(out)))
    return ended


@pytest.mark.slow
@pytest.mark.requirement("workshop:one-wins")
def test_of_two_processes_that_apply_at_once_one_wins_and_the_other_is_told(bench: Bench) -> None:
    made = bench.suggest("some-job")

    ended = at_once(bench.world, *[("apply", made["id"], "--yes")] * 2)

    codes = sorted(code for code, _ in ended)
    assert codes == [0, 1]
    assert all("applied" in json.dumps(answer["error"]) for code, answer in ended if code)
    assert bench.kinds(id=made["id"]) == ["created", "applied"]


@pytest.mark.slow
@pytest.mark.requirement("workshop:one-wins", "workshop:states")
@pytest.mark.parametrize("other", ["reject", "revise"])
def test_decisions_at_once_have_one_outcome(bench: Bench, other: str) -> None:
    made = [bench.suggest(f"job-{number:02d}") for number in range(12)]
    runtimes = (bench.world.open(), bench.world.open())
    together = Barrier(2)

    def decide(runtime: prowess.Runtime, action: str) -> None:
        for item in made:
            together.wait(timeout=TIMEOUT_S)
            more = {"body": "- Revised."} if action == "revise" else {}
            with suppress(prowess.ProwessError):
                runtime.workshop.call({"action": action, "id": item["id"], **more})

    with ThreadPoolExecutor(2) as pool:
        moves = [
            pool.submit(decide, *pair) for pair in zip(runtimes, ("apply", other), strict=True)
        ]
    for move in moves:
        move.result()

    for item in made:
        kinds = bench.kinds(id=item["id"])
        assert [kind for kind in kinds[:-1] if kind in {"applied", "rejected"}] == []
        final = kinds[-1] if kinds[-1] in {"applied", "rejected"} else "pending"
        assert bench.status_of(item) == final
        path = bench.file_of(item["skillName"])
        assert path.exists() == ("applied" in kinds)
        if path.exists():
            assert ("- Revised." in path.read_text(encoding="utf-8")) == ("revised" in kinds)


@pytest.mark.slow
@pytest.mark.requirement("workshop:one-wins")
def test_changes_of_one_skill_at_once_lose_nothing_that_was_said_to_be_written(
    bench: Bench,
) -> None:
    bench.made("some-job", "## Workflow\n\n- Begin.\n")
    made = [
        bench.suggest("some-job", section="Workflow", body=f"- Step {number}.")
        for number in range(2)
    ]

    ended = at_once(bench.world, *[("apply", item["id"], "--yes") for item in made])

    text = bench.text_of("some-job")
    assert 0 in [code for code, _ in ended]
    for number, (code, _) in enumerate(ended):
        assert text.count(f"- Step {number}.") == (1 if code == 0 else 0)
        expected = {"applied"} if code == 0 else {"pending", "stale"}
        assert bench.status_of(made[number]) in expected


@pytest.mark.requirement("workshop:rollback")
def test_a_rollback_brings_back_the_version_before_byte_for_byte(bench: Bench) -> None:
    path = bench.world.raw(
        "some-job", b"---\r\nname: some-job\r\ndescription:  Odd.\r\n---\r\n## Workflow\r\n\r\n* x"
    )
    bench.world.raw("some-job", b"\x00\xff", file="assets/icon.bin")
    before = files_below(path.parent)
    made = bench.suggest("some-job", section="Workflow", body="- More.")
    bench.person("apply", made["id"])
    assert files_below(path.parent) != before

    bench.person("rollback", "some-job")

    assert files_below(path.parent) == before
    assert bench.status_of(made) == "pending"
    assert bench.kinds(id=made["id"]) == ["created", "applied", "rolled_back"]


@pytest.mark.requirement("workshop:rollback")
def test_a_skill_that_did_not_exist_before_is_gone_after_a_rollback(bench: Bench) -> None:
    path = bench.made("some-job")

    bench.call("rollback", skillName="some-job")

    assert not path.exists()
    assert "some-job" not in bench.world.listing()
    assert "some-job" in bench.refused("rollback", skillName="some-job")


@pytest.mark.requirement("workshop:rollback")
def test_several_changes_are_taken_back_one_by_one_the_last_first(bench: Bench) -> None:
    bench.made("some-job", "## Workflow\n\n- One.\n")
    texts = [bench.text_of("some-job")]
    for step in ("- Two.", "- Three."):
        bench.suggest("some-job", section="Workflow", body=step, apply=True)
        texts.append(bench.text_of("some-job"))
    first = bench.call("history", skillName="some-job")["versions"][-1]["id"]

    bench.refused("rollback", id=first)
    for text in (texts[1], texts[0]):
        bench.call("rollback", skillName="some-job")
        assert bench.text_of("some-job") == text


@pytest.mark.requirement("workshop:rollback")
def test_a_rollback_never_undoes_what_a_person_wrote_since(bench: Bench) -> None:
    path = bench.made("some-job")
    path.write_text(path.read_text(encoding="utf-8") + "\nBy hand.\n", encoding="utf-8")
    edited = path.read_bytes()

    bench.refused("rollback", skillName="some-job")

    assert path.read_bytes() == edited


@pytest.mark.requirement("workshop:seen-at-once")
def test_a_written_skill_is_seen_at_once(bench: Bench) -> None:
    with bench.runtime.run(session="s1") as run:
        assert "some-job" not in run.prompt

    bench.made("some-job", description="Some job to be seen.")

    assert "Some job to be seen." in bench.runtime.skills.prompt(None).text
    with bench.runtime.run(session="s1") as run:
        assert "Some job to be seen." in run.prompt
    assert bench.world.ready("some-job")
    bench.call("rollback", skillName="some-job")
    with bench.runtime.run(session="s1") as run:
        assert "some-job" not in run.prompt


@pytest.mark.slow
@pytest.mark.requirement("workshop:seen-at-once")
def test_a_watching_process_sees_what_another_one_wrote(bench: Bench) -> None:
    watching = subprocess.Popen(
        command(("snapshot", "--watch", "--json")),
        cwd=bench.world.workspace,
        env=bench.world.env(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout is not None
        assert json.loads(watching.stdout.readline())["skills"] == []
        bench.made("some-job")
        assert json.loads(watching.stdout.readline())["skills"] == ["some-job"]
    finally:
        watching.terminate()
        watching.communicate(timeout=TIMEOUT_S)


@pytest.mark.requirement("workshop:hand-written")
@pytest.mark.parametrize(
    "change",
    [
        {"section": "Steps", "body": "- More."},
        {"oldText": "Do the thing.", "newText": "Do it."},
        {"body": "- More.", "description": "d"},
        {"section": "Steps", "body": "- More.", "apply": True},
    ],
)
def test_a_hand_written_skill_is_not_edited_in_auto_mode(bench: Bench, change: Json) -> None:
    bench.configure(approvalPolicy="auto")
    path = bench.world.skill("some-job")
    before = path.read_bytes()

    made = bench.suggest("some-job", **change)

    assert made["status"] == "pending"
    assert path.read_bytes() == before
    done = bench.person("apply", made["id"])
    assert done.code == 0, str(done)
    assert path.read_bytes() != before


@pytest.mark.requirement("workshop:hand-written")
def test_a_support_file_for_a_hand_written_skill_waits_too(bench: Bench) -> None:
    bench.configure(approvalPolicy="auto")
    bench.world.skill("some-job")

    answer = bench.call(
        "write_support_file", skillName="some-job", relativePath="references/a.md", body="# A\n"
    )

    assert answer["status"] == "pending"
    assert not (bench.world.skills / "some-job" / "references").exists()


@pytest.mark.requirement("workshop:hand-written", "workshop:near-duplicates")
def test_a_near_duplicate_of_a_hand_written_skill_waits_too(bench: Bench) -> None:
    bench.encoder = "bundled"
    bench.configure(approvalPolicy="auto")
    invoices = "Files supplier invoices in the accounting system with the right cost centre."
    path = bench.world.skill("invoice-filing", description=invoices)
    before = path.read_bytes()

    made = bench.suggest("supplier-invoices", description=invoices, body="- Attach the order.")

    assert (made["skillName"], made["status"]) == ("invoice-filing", "pending")
    assert path.read_bytes() == before


@pytest.mark.requirement("workshop:hand-written", "workshop:review-kinds")
def test_a_reviewer_does_not_edit_a_hand_written_skill(bench: Bench) -> None:
    bench.reviewing(approvalPolicy="auto")
    path = bench.world.skill("some-job")
    before = path.read_bytes()
    bench.reviewer.answers(
        {"action": "append", "skillName": "some-job", "section": "Steps", "body": "- More."}
    )

    made = bench.say("Is banner.gif animated?")

    assert [item["status"] for item in made] == ["pending"]
    assert path.read_bytes() == before


@pytest.mark.requirement("workshop:hand-written")
def test_what_the_workshop_wrote_is_its_own_to_extend(bench: Bench) -> None:
    bench.configure(approvalPolicy="auto")
    bench.made("some-job")

    made = bench.suggest("some-job", section="Workflow", body="- More.")

    assert made["status"] == "applied"


@pytest.mark.requirement("workshop:contained")
@pytest.mark.parametrize("linked", ["skills", "skills/some-job", "skills/some-job/SKILL.md"])
def test_nothing_is_written_through_a_link(bench: Bench, linked: str) -> None:
    outside = bench.world.root / "outside"
    target = {
        "skills": outside,
        "skills/some-job": outside / "some-job",
        "skills/some-job/SKILL.md": outside / "some-job" / "SKILL.md",
    }[linked]
    bench.world.skill("some-job", root=outside)
    bench.world.link(bench.world.workspace / linked, target)
    before = files_below(outside)

    bench.refused("suggest", skillName="some-job", section="Steps", body="- x", apply=True)

    assert files_below(outside) == before


@pytest.mark.requirement("workshop:support-files")
@pytest.mark.parametrize("folder", ["references", "templates", "scripts", "assets"])
def test_a_support_file_is_part_of_a_proposal_in_pending_mode(bench: Bench, folder: str) -> None:
    bench.made("release-workflow")
    arguments = {
        "skillName": "release-workflow",
        "relativePath": f"{folder}/deep/checklist.md",
        "body": "# Release Checklist\n\n- Verify changelog.\n",
    }

    waiting = bench.call("write_support_file", **arguments)

    path = bench.world.skills / "release-workflow" / arguments["relativePath"]
    assert waiting["status"] == "pending"
    assert not path.exists()
    bench.call("apply", id=waiting["proposal"]["id"])
    assert path.read_text(encoding="utf-8") == arguments["body"]


@pytest.mark.requirement("workshop:support-files")
def test_a_support_file_is_written_at_once_in_auto_mode(bench: Bench) -> None:
    bench.configure(approvalPolicy="auto")
    bench.made("release-workflow")

    answer = bench.call(
        "write_support_file",
        skillName="release-workflow",
        relativePath="references/checklist.md",
        body="# List  \n\n\n",
    )

    assert answer["status"] == "written"
    path = bench.world.skills / "release-workflow" / "references" / "checklist.md"
    assert answer["filePath"] == str(path)
    assert path.read_text(encoding="utf-8").rstrip() == "# List"
    bench.call("rollback", skillName="release-workflow")
    assert not path.exists()


@pytest.mark.requirement("workshop:support-files")
def test_a_support_file_of_a_proposed_skill_joins_its_proposal(bench: Bench) -> None:
    made = bench.suggest("new-job")

    answer = bench.call(
        "write_support_file", skillName="new-job", relativePath="references/a.md", body="# A\n"
    )

    assert answer["proposal"]["id"] == made["id"]
    assert not bench.world.skills.exists()
    bench.call("apply", id=made["id"])
    assert sorted(files_below(bench.world.skills)) == [
        "new-job/SKILL.md",
        "new-job/references/a.md",
    ]


@pytest.mark.requirement("workshop:support-files", "workshop:tool-apply-overrides")
def test_a_skill_that_was_told_to_wait_is_not_written_with_a_support_file(bench: Bench) -> None:
    bench.configure(approvalPolicy="auto")
    made = bench.suggest("new-job", apply=False)

    bench.call(
        "write_support_file", skillName="new-job", relativePath="references/a.md", body="# A\n"
    )

    assert bench.status_of(made) == "pending"
    assert not bench.file_of("new-job").exists()


@pytest.mark.requirement("workshop:support-files", "workshop:quarantine-final")
@pytest.mark.parametrize("policy", ["pending", "auto"])
def test_a_support_file_does_not_bring_a_quarantined_skill_with_it(
    bench: Bench, policy: str
) -> None:
    bench.configure(approvalPolicy=policy)
    bad = bench.suggest("bad-job", body=UNSAFE)

    bench.refused(
        "write_support_file", skillName="bad-job", relativePath="references/a.md", body="# A\n"
    )

    assert bench.status_of(bad) == "quarantined"
    assert not bench.world.skills.exists()


@pytest.mark.requirement("workshop:support-paths")
@pytest.mark.parametrize(
    "path",
    [
        "checklist.md",
        "references",
        "references/",
        "references/../SKILL.md",
        "references/../../../x.md",
        "references\\..\\..\\x.md",
        "/references/x.md",
        "other/x.md",
        "References/x.md",
        "references//x.md",
        "references/./x.md",
        "references/x\x00.md",
        "references/\n.md",
        "C:\\references\\x.md",
        "",
        "references/" + "x" * 5000,
    ],
)
def test_a_support_file_stays_in_its_folders(bench: Bench, path: str) -> None:
    bench.configure(approvalPolicy="auto")
    bench.made("some-job")
    before = files_below(bench.world.workspace)

    bench.refused("write_support_file", skillName="some-job", relativePath=path, body="x\n")

    assert files_below(bench.world.workspace) == before


@pytest.mark.requirement("workshop:support-paths")
def test_a_support_file_is_not_written_through_a_link(bench: Bench) -> None:
    bench.configure(approvalPolicy="auto")
    bench.made("some-job")
    outside = bench.world.root / "outside"
    outside.mkdir()
    bench.world.link(bench.world.skills / "some-job" / "references", outside)

    bench.refused(
        "write_support_file", skillName="some-job", relativePath="references/x.md", body="x\n"
    )

    assert list(outside.iterdir()) == []


@pytest.mark.requirement("workshop:support-files")
def test_a_support_file_is_limited_and_scanned(bench: Bench) -> None:
    bench.configure(approvalPolicy="auto", maxSkillBytes=1024)
    bench.made("some-job")
    place = {"skillName": "some-job", "relativePath": "scripts/get.sh"}

    assert "1024" in bench.refused("write_support_file", body="é" * 600, **place)
    answer = bench.call("write_support_file", body=UNSAFE, **place)

    assert answer["status"] == "quarantined"
    refusal = bench.refused("apply", id=answer["proposal"]["id"])
    assert refusal == "quarantined proposal cannot be applied"
    assert not (bench.world.skills / "some-job" / "scripts").exists()


@pytest.mark.requirement("workshop:crash")
def test_a_write_that_cannot_be_done_leaves_the_old_state(bench: Bench) -> None:
    made = bench.suggest("some-job")
    # A file in the place of the folder stops even the superuser.
    bench.world.file(bench.world.skills, "in the way")

    bench.refused("apply", id=made["id"])

    assert bench.status_of(made) in {"pending", "stale"}
    assert bench.kinds(id=made["id"])[0] == "created"
    assert "applied" not in bench.kinds(id=made["id"])


@pytest.mark.slow
@pytest.mark.requirement("workshop:crash")
def test_a_killed_process_leaves_the_old_skill_or_the_new_one(bench: Bench) -> None:
    bench.made("some-job", "## Workflow\n\n- Begin.\n")
    old = bench.file_of("some-job").read_bytes()
    made = bench.suggest("some-job", section="Workflow", body="- More.")
    # The process ends itself where the new skill would take the place of the old one.
    killer = (
        "import os, sys\n"
        "from prowess.host.files import transaction\n"
        "transaction._rename_by_system = lambda *_: os._exit(9)\n"
        "from prowess.cli.main import main\n"
        f"sys.exit(main(['workshop', 'apply', {made['id']!r}, '--yes']))\n"
    )
    cut = bench.world.file(bench.world.root / "cut.py", killer)
    ended = subprocess.run(
        [*command(())[:1], str(cut)],
        cwd=bench.world.workspace,
        env=bench.world.env(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    left = bench.file_of("some-job").read_bytes()
    told = bench.world.run("workshop", "-v", "status").calm()

    assert ended.returncode == 9, ended.stderr
    assert left in {old, old + b"- More.\n"}
    assert "some-job" in told.err
    bench.runtime = bench.world.open()
    now = (bench.status_of(made), bench.file_of("some-job").read_bytes())
    assert now in {("applied", old + b"- More.\n"), ("pending", old)}
    assert sorted(files_below(bench.world.skills)) == ["some-job/SKILL.md"]
