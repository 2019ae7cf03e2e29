"""`prowess export` and `prowess budget`: skills as other harnesses read and show them."""

import io
import json
import os
import stat
import unicodedata
import zipfile
from pathlib import Path

import pytest
import yaml

from .connect_bench import words_only
from .workshop_bench import UNSAFE, files_below
from .world import REPORTS, Json, World

STANDARD = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
FOR = ("claude", "codex", "cursor", "gemini", "copilot", "openclaw", "standard")
RICH: Json = {
    "description": "Fill in forms. Use when a form is to be filled in.",
    "license": "MIT",
    "when_to_use": "When somebody has a form.",
    "argument_hint": "[file]",
    "user_invocable": True,
    "disable_model_invocation": False,
    "version": "1.10",
    "tags": ["a", "b"],
    "hooks": {"Stop": [{"command": "beep"}]},
    "allowed_tools": ["Bash(git *)", "Read"],
    "metadata": {"openclaw": {"emoji": "x", "requires": {"bins": ["sh"]}}, "count": 3},
}
BODY = "# Do\n\nRead $ARGUMENTS and $1 in ${CLAUDE_SKILL_DIR}, then {baseDir}/x.\n\n!`git status`\n"


@pytest.fixture
def home(world: World) -> World:
    world.config(words_only())
    return world


def exported(world: World, name: str, *words: str, to: Path | None = None) -> Json:
    """What a successful export answers; it is written to `out` unless told otherwise."""
    place = world.root / "out" if to is None else to
    result = world.run("export", name, "--to", place, *words, "--json").calm()
    assert result.code == 0, str(result)
    return result.json


def built(path: Path) -> tuple[Json, str]:
    """Frontmatter and body of a document, read by a reader that shares nothing with ours."""
    text = path.read_bytes().decode("utf-8")
    assert text.startswith("---\n")
    front, _, body = text[4:].partition("\n---\n")
    read = yaml.safe_load(front)
    assert isinstance(read, dict)
    return read, body


def strict(path: Path) -> Json:
    """Assert what the strictest validators ask of a document, and return its frontmatter."""
    front, _ = built(path)
    assert b"\r" not in path.read_bytes()
    assert set(front) <= STANDARD
    assert front["name"] == unicodedata.normalize("NFKC", path.parent.name)
    assert 1 <= len(front["description"].strip()) <= 1024
    assert len(front.get("compatibility", "")) <= 500
    assert isinstance(front.get("allowed-tools", ""), str)
    metadata = front.get("metadata", {})
    assert all(isinstance(part, str) for pair in metadata.items() for part in pair)
    return front


@pytest.mark.requirement("connect:export-strict", "connect:export-report")
@pytest.mark.parametrize("harness", FOR)
def test_what_is_exported_passes_every_strict_reader(home: World, harness: str) -> None:
    home.skill("forms", body=BODY, **RICH)

    answer = exported(home, "forms", "--for", harness)
    path = Path(answer["path"]) / "SKILL.md"
    checked = home.run("validate", path.parent, "--strict").calm()

    front = strict(path)
    assert checked.code == 0, str(checked)
    assert front["name"] == "forms"
    assert front["license"] == "MIT"
    assert front["allowed-tools"].split()[-1] == "Read"
    assert "Fill in forms." in front["description"]
    assert "When somebody has a form." in front["description"]
    assert json.loads(front["metadata"]["openclaw"]) == RICH["metadata"]["openclaw"]
    assert front["metadata"]["count"] == "3"
    assert front["metadata"]["version"] == "1.10"
    assert front["metadata"]["tags"] in {"a,b", "a, b"}
    assert built(path)[1].strip() == BODY.strip()


@pytest.mark.requirement("connect:export-strict")
@pytest.mark.parametrize(
    ("folder", "text"),
    [
        ("crlf", "\ufeff---\r\nname: crlf\r\ndescription: Use it.\r\n---\r\n\r\nHi\r\n"),
        ("no-name", "---\ndescription: Use it.\n---\n\nHi\n"),
        ("Bad_Folder", "---\nname: Bad_Name\ndescription: Use it.\n---\n\nHi\n"),
        ("long", f"---\nname: long\ndescription: {'Use it. ' * 300}\n---\n\nHi\n"),
        ("quoted", '---\nname: quoted\ndescription: "Use: it # \\" \\\\ - yes"\n---\n\nHi\n'),
        ("wide", f"---\nname: wide\ndescription: Use.\ncompatibility: {'x' * 900}\n---\n\nHi\n"),
        ("fenced", "---\nname: fenced\ndescription: Use.\n---\n\n---\nname: other\n---\n"),
        ("lines", "---\nname: lines\ndescription: |\n  Use\n  it: now\n---\n\nHi\n"),
    ],
    ids=lambda value: value if len(value) < 12 else "",
)
def test_odd_documents_become_strict_ones(home: World, folder: str, text: str) -> None:
    home.raw(folder, text)
    (name,) = home.own()

    answer = exported(home, name)

    path = Path(answer["path"]) / "SKILL.md"
    strict(path)
    assert home.run("validate", path.parent, "--strict").calm().code == 0
    assert "Hi" in built(path)[1] or "name: other" in built(path)[1]


@pytest.mark.requirement("connect:export-report")
def test_the_report_says_what_each_harness_ignores(home: World) -> None:
    home.skill("forms", body=BODY, **RICH)

    by_harness = {
        item["harness"]: " ".join(f"{note['subject']} {note['detail']}" for note in item["notes"])
        for item in exported(home, "forms")["harnesses"]
    }

    assert set(by_harness) >= {"claude-code", "codex", "cursor", "gemini", "copilot", "openclaw"}
    for harness, words in by_harness.items():
        assert "hooks" in words, harness
        assert ("$ARGUMENTS" in words) is (harness != "claude-code"), harness
        assert ("git status" in words) is (harness != "claude-code"), harness


@pytest.mark.requirement("connect:export-report")
def test_names_and_words_that_anthropic_refuses_are_reported(home: World) -> None:
    home.skill("claude-helper", description="Helps with <b>things</b>. Use it.")

    answer = home.run("export", "claude-helper", "--for", "claude", "--json").calm()

    assert "claude" in answer.out
    assert "angle bracket" in answer.out


@pytest.mark.requirement("connect:export-files")
def test_without_a_place_only_the_report_is_given(home: World) -> None:
    home.skill("forms", **RICH)
    before = files_below(home.root)

    shown = home.run("export", "forms", "--for", "codex").calm()

    assert shown.code == 0
    assert "hooks" in shown.out
    made = set(files_below(home.root)) - set(before)
    assert {name for name in made if not Path(name).name.startswith(REPORTS)} == set()


@pytest.mark.requirement("connect:export-files")
def test_the_files_of_a_skill_go_with_it_and_nothing_else(home: World) -> None:
    folder = home.skill("forms", **RICH).parent
    script = home.file(folder / "scripts" / "run.sh", "#!/bin/sh\necho hi\n")
    script.chmod(0o755)
    home.file(folder / "assets" / "x.bin", b"\xff\x00")
    home.file(folder / ".env", "TOKEN=1")
    home.file(folder / ".git" / "config", "x")
    home.file(home.root / "secret.txt", "the-outside-secret")
    home.link(folder / "leak.txt", home.root / "secret.txt")
    home.link(folder / "leaks", home.root / "ws")

    answer = exported(home, "forms")

    out = Path(answer["path"])
    files = files_below(home.root / "out")
    assert set(files) == {"forms/SKILL.md", "forms/scripts/run.sh", "forms/assets/x.bin"}
    assert files["forms/assets/x.bin"] == b"\xff\x00"
    assert os.access(out / "scripts" / "run.sh", os.X_OK)
    assert not [path for path in out.rglob("*") if path.is_symlink()]
    left = json.dumps(answer["leftOut"])
    assert all(name in left for name in (".env", "leak.txt", "leaks"))


@pytest.mark.requirement("connect:export-files")
def test_a_zip_holds_one_folder_and_safe_names(home: World) -> None:
    folder = home.skill("forms", body=BODY, **RICH).parent
    home.file(folder / "references" / "ä b.md", "x")
    target = home.root / "forms.skill"

    done = home.run("export", "forms", "--zip", target, "--json").calm()
    first = target.read_bytes()
    home.run("export", "forms", "--zip", home.root / "again.skill").calm()

    assert done.code == 0
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert archive.testzip() is None
        names = [item.filename for item in archive.infolist() if not item.is_dir()]
        modes = {stat.S_IFMT(item.external_attr >> 16) for item in archive.infolist()}
        archive.extractall(home.root / "unzipped")
    assert sorted(names) == ["forms/SKILL.md", "forms/references/ä b.md"]
    assert not modes & {stat.S_IFLNK, stat.S_IFIFO}
    strict(home.root / "unzipped" / "forms" / "SKILL.md")
    assert (home.root / "again.skill").read_bytes() == first


@pytest.mark.requirement("connect:export-files")
@pytest.mark.parametrize("kind", ["--to", "--zip"])
def test_nothing_is_written_over_without_force(home: World, kind: str) -> None:
    home.skill("forms", **RICH)
    place = home.root / "out.skill"
    mine = place / "forms" / "SKILL.md" if kind == "--to" else place
    home.file(mine, "mine")

    refused = home.run("export", "forms", kind, place).calm()
    kept = mine.read_bytes()
    forced = home.run("export", "forms", kind, place, "--force").calm()

    assert refused.code == 1
    assert "--force" in refused.err
    assert kept == b"mine"
    assert forced.code == 0
    assert mine.read_bytes() != b"mine"


@pytest.mark.requirement("connect:export-files")
def test_force_does_not_remove_what_is_no_skill(home: World) -> None:
    home.skill("forms", **RICH)
    treasure = home.file(home.root / "out" / "forms" / "thesis.txt", "years of work")

    result = home.run("export", "forms", "--to", home.root / "out", "--force").calm()

    assert result.code == 1
    assert treasure.read_text(encoding="utf-8") == "years of work"


@pytest.mark.requirement("connect:export-files")
def test_a_skill_is_never_exported_onto_itself(home: World) -> None:
    path = home.skill("forms", **RICH)
    before = path.read_bytes()

    result = home.run("export", "forms", "--to", home.skills, "--force").calm()

    assert result.code in {1, 2}
    assert path.read_bytes() == before


@pytest.mark.requirement("connect:export-scan")
@pytest.mark.parametrize("words", [(), ("--force",)], ids=["plain", "force"])
def test_what_the_scanner_finds_critical_is_not_exported(
    home: World, words: tuple[str, ...]
) -> None:
    home.skill("unsafe", body=UNSAFE)

    refused = home.run("export", "unsafe", "--to", home.root / "out", *words).calm()

    assert refused.code == 1
    assert "shell-pipe-to-shell" in refused.text
    assert not (home.root / "out").exists()


@pytest.mark.requirement("connect:export-files")
@pytest.mark.parametrize("name", ["no-such-skill", "../ws", ""])
def test_a_skill_that_is_not_there_is_not_found(home: World, name: str) -> None:
    refused = home.run("export", name, "--to", home.root / "out").one_sentence()

    assert refused.code in {1, 2}
    assert not (home.root / "out").exists()


# --- budget ----------------------------------------------------------------------------------


def budget(world: World, harness: str, *words: str, env: dict[str, str] | None = None) -> Json:
    """What `budget` says of one harness."""
    (found,) = world.document("budget", "--harness", harness, *words, env=env)["harnesses"]
    assert isinstance(found, dict)
    return found


def fates(report: Json) -> dict[str, tuple[str, int]]:
    """What becomes of each description, and how much of it is shown."""
    return {item["name"]: (item["fate"], item["shownChars"]) for item in report["entries"]}


def claude(world: World) -> Path:
    return world.workspace / ".claude" / "skills"


@pytest.mark.requirement("connect:budget-limits")
@pytest.mark.parametrize(
    ("window", "limit"), [(200_000, 8_000), (1_000_000, 40_000), (32_000, 1_280)]
)
def test_claude_code_gives_a_hundredth_of_its_window(home: World, window: int, limit: int) -> None:
    report = budget(home, "claude-code", "--window", str(window))

    assert (report["limit"], report["unit"], report["entryLimit"]) == (limit, "characters", 1536)


@pytest.mark.requirement("connect:budget-limits")
def test_a_variable_sets_the_budget_of_claude_code(home: World) -> None:
    variable = "SLASH_COMMAND_TOOL_CHAR_BUDGET"

    limits = [
        budget(home, "claude-code", "--window", "1000000", env={variable: text})["limit"]
        for text in ("12345", "nonsense", "")
    ]

    assert limits == [12_345, 40_000, 40_000]


@pytest.mark.requirement("connect:budget-limits")
def test_codex_has_a_fiftieth_of_its_window(home: World) -> None:
    plain = budget(home, "codex")
    wide = budget(home, "codex", "--window", "300000")

    # Seen in its requests: of a model that it does not know, it takes the window to be 272,000.
    assert (plain["limit"], plain["unit"], plain["entryLimit"]) == (5_440, "tokens", 1024)
    assert (wide["limit"], wide["unit"]) in [(6_000, "tokens"), (24_000, "characters")]


@pytest.mark.requirement("connect:budget", "connect:budget-limits")
def test_one_entry_is_cut_at_its_own_limit(home: World) -> None:
    for root in (claude(home), home.project):
        home.skill("short", root=root, description="s" * 1024)
        home.skill("middle", root=root, description="m" * 1025)
        home.skill("split", root=root, description="d" * 1000, when_to_use="w" * 1000)

    anthropic = fates(budget(home, "claude-code", "--window", "400000"))
    openai = fates(budget(home, "codex"))

    assert anthropic["short"] == ("shown", 1024)
    assert anthropic["middle"] == ("shown", 1025)
    assert anthropic["split"] == ("cut", 1536)
    assert openai["short"] == ("shown", 1024)
    assert openai["middle"] == ("cut", 1024)
    assert openai["split"] == ("shown", 1000)


@pytest.mark.requirement("connect:budget")
def test_what_does_not_fit_claude_code_loses_whole_descriptions(home: World) -> None:
    for number in range(10):
        home.skill(f"s{number}", root=claude(home), description="d" * 1500)

    report = budget(home, "claude-code", "--window", "355000")

    # Its own skills take 6,200, and five times 1,500 is 7,500; a sixth would be more than 14,200.
    kinds = [fate for fate, _ in fates(report).values()]
    assert kinds.count("shown") == 5
    assert report["wanted"] >= 15_000
    assert report["used"] <= 14_200
    assert sum(item["shownChars"] for item in report["entries"]) == 7_500
    assert home.run("budget", "--harness", "claude-code").calm().code == 1


@pytest.mark.requirement("connect:budget")
def test_what_does_not_fit_codex_is_shortened_alike(home: World) -> None:
    for number in range(10):
        home.skill(f"s{number}", root=home.project, description="d" * 1000)

    report = budget(home, "codex", "--window", "100000")

    shown = [item["shownChars"] for item in report["entries"]]
    assert report["used"] <= 2_000
    assert max(shown) - min(shown) <= 8
    assert all(0 < count < 800 for count in shown)
    assert {fate for fate, _ in fates(report).values()} == {"cut"}


@pytest.mark.requirement("connect:budget-fix")
@pytest.mark.parametrize(("harness", "window"), [("claude-code", "355000"), ("codex", "120000")])
def test_the_cheapest_fix_is_enough_and_no_more(home: World, harness: str, window: str) -> None:
    root = claude(home) if harness == "claude-code" else home.project
    sizes = {f"s{number}": 300 + 90 * number for number in range(14)}
    for name, size in sizes.items():
        home.skill(name, root=root, description="d" * size)
    before = budget(home, harness, "--window", window)

    for change in before["fix"]["shorten"]:
        assert change["chars"] - change["by"] == change["to"]
        home.skill(change["name"], root=root, description="d" * change["to"])
    after = budget(home, harness, "--window", window)

    taken = sum(change["by"] for change in before["fix"]["shorten"])
    assert before["fix"]["enough"] is True
    assert before["fix"]["hide"] == []
    assert after["whole"] is True
    assert after["fix"] is None
    assert after["wanted"] <= after["limit"]
    needed = sum(max(0, size - before["entryLimit"]) for size in sizes.values())
    letters = 4 if before["unit"] == "tokens" else 1
    over = letters * (before["wanted"] - before["limit"])
    assert taken <= needed + over + letters * len(sizes)


@pytest.mark.requirement("connect:budget")
def test_only_what_a_harness_can_see_is_counted(home: World) -> None:
    home.skill("here", root=claude(home))
    home.skill("there", root=home.project)
    home.skill("mine", root=home.home / ".claude" / "skills")
    home.skill("hidden", root=claude(home), disable_model_invocation=True)

    report = budget(home, "claude-code")

    assert set(fates(report)) == {"here", "mine"}
    assert report["hidden"] == ["hidden"]
    assert set(fates(budget(home, "codex"))) == {"there"}


@pytest.mark.requirement("connect:budget")
def test_all_harnesses_are_told_of_by_default(home: World) -> None:
    home.skill("here", root=home.project)

    document = home.document("budget")
    shown = home.run("budget").calm()

    names = {item["harness"] for item in document["harnesses"]}
    assert names >= {"claude-code", "codex", "cursor", "gemini", "copilot", "openclaw", "prowess"}
    assert shown.code == 0
    for item in document["harnesses"]:
        assert item["harness"] in shown.out
        # Where nothing is known, nothing is made up.
        assert item["limit"] is None or item["limit"] > 0


@pytest.mark.requirement("connect:budget")
def test_our_own_budget_is_that_of_the_prompt(home: World) -> None:
    limits = {"maxSkillsPromptChars": 1500}
    config = words_only()
    config["skills"]["limits"] = limits
    home.config(config)
    for number in range(12):
        home.skill(f"s{number:02}", description=f"Number {number}. {'d' * 300}")

    report = budget(home, "prowess")
    named = home.prompt_names()

    assert report["limit"] == 1500
    there = [item["name"] for item in report["entries"] if item["fate"] != "dropped"]
    assert there == named


@pytest.mark.requirement("connect:budget")
@pytest.mark.parametrize("words", [("--harness", "emacs"), ("--window", "0"), ("--window", "x")])
def test_what_cannot_be_asked_is_refused(home: World, words: tuple[str, str]) -> None:
    assert home.run("budget", *words).one_sentence().code == 2
