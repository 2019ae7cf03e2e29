"""`prowess fresh`: which claims of skills no longer hold, and what becomes of them."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.drift_world import DRIFTS, DriftWorld

from prowess.cli.main import main
from prowess.proof.freshness import FreshState, SkillFreshness
from prowess.runtime.route.answer import Asked
from prowess.wiring import open_runtime
from prowess.wiring.proof import open_freshness

if TYPE_CHECKING:
    from collections.abc import Mapping

# Ten of each kind.
_SEEDED, _LEAST = 10 * len(DRIFTS), 0.9


def _check(root: Path, state: Path, *names: str, **environ: str) -> tuple[SkillFreshness, ...]:
    variables: Mapping[str, str] = {**os.environ, "HOME": str(state), **environ}
    with open_runtime(root, home=state, environ=variables) as runtime:
        return open_freshness(runtime).check(names)


def _write_skill(root: Path, name: str, body: str) -> Path:
    folder = root / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {name}\ndescription: Does {name}.\n---\n\n{body}"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("share", range(2))
def test_nine_of_ten_seeded_drifts_are_found_without_an_earlier_check(
    quick_folder: Path, share: int
) -> None:
    kinds, missed, count = list(DRIFTS), [], _SEEDED // 2
    for seed in range(share * count, (share + 1) * count):
        root = quick_folder / f"p{seed}"
        root.mkdir()
        world = DriftWorld(root, seed, commit=seed % 2 == 0)
        kind = kinds[seed % len(kinds)]

        gone = DRIFTS[kind](world)
        world.stage()
        found = _check(root, quick_folder / f"s{seed}", world.skill)[0]

        if not any(gone in one.claim.text for one in found.stale):
            missed.append((kind, seed))

    assert len(missed) <= count * (1 - _LEAST), missed


def test_a_project_that_did_not_drift_has_nothing_stale(quick_folder: Path) -> None:
    for seed in range(13):
        root = quick_folder / f"p{seed}"
        root.mkdir()
        world = DriftWorld(root, seed)

        found = _check(root, quick_folder / "state", world.skill)[0]

        assert found.stale == ()
        assert found.state is FreshState.FRESH


def test_what_held_at_an_earlier_check_is_stale_once_it_is_gone(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    tool = programs / "acme"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    root = tmp_path / "p"
    _write_skill(root, "deploys", "# Deploys\n\n## Steps\n\n```bash\nacme ship\n```\n")
    first = _check(root, tmp_path / "s", PATH=f"{programs}:/usr/bin:/bin")[0]
    tool.unlink()

    second = _check(root, tmp_path / "s", PATH=f"{programs}:/usr/bin:/bin")[0]

    assert first.stale == ()
    assert [one.claim.text for one in second.stale] == ["acme"]
    assert second.sections() == {"Steps": FreshState.STALE}


def test_a_program_that_was_never_here_is_unknown_and_no_fault(tmp_path: Path) -> None:
    _write_skill(tmp_path / "p", "clusters", "Run it:\n\n```bash\nkubectl get pods\n```\n")

    found = _check(tmp_path / "p", tmp_path / "s", PATH=str(tmp_path))[0]

    assert {one.state for one in found.claims} == {FreshState.UNKNOWN}


def test_a_skill_or_file_that_was_left_out_is_stale_only_where_something_says_it_was_there(
    tmp_path: Path,
) -> None:
    root = tmp_path / "p"
    world_files = ("docs/usage-notes.md", "src/parcel_store.py", "tools/parcel_sync.py")
    for path in world_files:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x = 1\n", encoding="utf-8")
    own = [f"references/part-{letter}.md" for letter in "abcdefg"]
    named = "\n".join(f"- `{path}`" for path in (*world_files, *own))
    folder = _write_skill(
        root,
        "parcels",
        f"{named}\n- `references/wholly-other.md`\n\nUse the `ledger-audits` skill afterwards.\n",
    )
    (folder / "references").mkdir()
    for path in own:
        (folder / path).write_text("# Part\n", encoding="utf-8")
    (folder / "references" / "unnamed.md").write_text("# More\n", encoding="utf-8")

    alone = _check(root, tmp_path / "s", "parcels")[0]
    _write_skill(root, "ledger-audit", "# Audit\n")
    beside = _check(root, tmp_path / "s", "parcels")[0]

    absent = [one.claim.text for one in alone.claims if one.state is FreshState.UNKNOWN]
    assert {"references/wholly-other.md", "ledger-audits"} <= set(absent)
    assert alone.stale == ()
    assert [(one.claim.text, one.instead) for one in beside.stale] == [
        ("ledger-audits", "ledger-audit")
    ]


def test_no_command_of_a_skill_is_ever_run(tmp_path: Path) -> None:
    root, ran, programs = tmp_path / "p", tmp_path / "ran", tmp_path / "bin"
    programs.mkdir()
    for name in ("npm", "make", "acme", "python", "python3", "node", "uv", "docker", "pip"):
        stub = programs / name
        stub.write_text(f"#!/bin/sh\necho {name} >>{ran}\n")
        stub.chmod(0o755)
    folder = _write_skill(
        root,
        "runs",
        "```bash\nacme --force deploy\nnpm run build\nmake all\npython scripts/go.py --now\n"
        "./scripts/go.sh\ndocker run x\nuv run tool\npip install a==1.0\n$(touch ran)\n```\n"
        "Also `acme ship` and `!`touch ran``.\n",
    )
    (folder / "scripts").mkdir()
    (folder / "scripts" / "go.sh").write_text(f"#!/bin/sh\necho go >>{ran}\n")
    (folder / "scripts" / "go.sh").chmod(0o755)
    (root / "package.json").write_text('{"scripts": {"build": "x"}}')
    (root / "Makefile").write_text(f"all:\n\ttouch {ran}\nx := $(shell touch {ran})\n")

    found = _check(root, tmp_path / "s", PATH=f"{programs}:/usr/bin:/bin")

    assert found[0].claims
    assert not ran.exists()


def test_two_hundred_skills_take_less_than_three_seconds_of_cpu_time(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    world = DriftWorld(root, 1)
    body = (root / "skills" / world.skill / "SKILL.md").read_text().partition("---\n\n")[2]
    for number in range(200):
        _write_skill(root, f"work-{number}", f"{body}\n" * 8)
    started = time.process_time()

    found = _check(root, tmp_path / "s")

    assert len(found) > 200
    assert time.process_time() - started < 3.0


def test_the_terminal_prints_text_json_and_sarif_and_ends_with_one_for_stale_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "s"))
    root = tmp_path / "p"
    _write_skill(root, "builds", "# Builds\n\n## Steps\n\nRun `make releese` now.\n")
    (root / "Makefile").write_text("release:\n\ttrue\n")

    code = main(["fresh", "-w", str(root)])
    text = capsys.readouterr().out
    main(["fresh", "-w", str(root), "--json"])
    shown = json.loads(capsys.readouterr().out)
    main(["fresh", "-w", str(root), "--format", "sarif"])
    sarif = json.loads(capsys.readouterr().out)

    assert code == 1
    assert "line 10: subcommand `make releese`" in text
    assert "now release?" in text
    stale = [one for one in shown["skills"][0]["claims"] if one["state"] == "stale"]
    assert [(one["line"], one["instead"]) for one in stale] == [(10, "release")]
    assert shown["skills"][0]["sections"] == [{"title": "Steps", "state": "stale"}]
    result = sarif["runs"][0]["results"][0]
    assert result["ruleId"] == "stale-subcommand"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 10
    (root / "Makefile").write_text("releese:\n\ttrue\n")
    assert main(["fresh", "-w", str(root)]) == 0


def test_a_stale_section_is_marked_for_the_agent_and_weighs_less_in_routing(tmp_path: Path) -> None:
    root = tmp_path / "p"
    body = "# Builds\n\n## Steps\n\nRun `make releese` to polish the zeppelin hull.\n"
    _write_skill(root, "builds", body)
    (root / "Makefile").write_text("release:\n\ttrue\n")
    variables = {**os.environ, "HOME": str(tmp_path / "h")}
    with open_runtime(root, home=tmp_path / "s", environ=variables) as runtime:
        asked = Asked(threshold=0.0)
        before = runtime.routing.route("polish the zeppelin hull", asked).considered
        open_freshness(runtime).check()
        after = runtime.routing.route("polish the zeppelin hull", asked).considered
        with runtime.run() as run:
            read = run.read("builds")

    assert "make releese" in read.stale[0]
    assert before[0].skill.name == "builds"
    assert {one.skill.name: one.score for one in after}.get("builds", 0.0) < before[0].score


def test_a_fix_is_proposed_in_the_workshop_and_changes_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "s"))
    root = tmp_path / "p"
    folder = _write_skill(root, "builds", "# Builds\n\nRun `make releese` now.\n")
    (root / "Makefile").write_text("release:\n\ttrue\n")
    text = (folder / "SKILL.md").read_text()
    main(["workshop", "enable"])
    capsys.readouterr()

    main(["fresh", "-w", str(root), "--fix", "--json"])

    made = json.loads(capsys.readouterr().out)["proposals"]
    assert [(one["line"], one["status"]) for one in made] == [(8, "pending")]
    assert (folder / "SKILL.md").read_text() == text


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox here is that of Linux")
def test_help_is_asked_only_on_request_in_a_sandbox_and_then_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shut = ["unshare", "--user", "--map-root-user", "--mount", "--net", "true"]
    if subprocess.run(shut, check=False, capture_output=True).returncode:
        pytest.skip("this machine gives nobody a sandbox")
    programs, wrote = tmp_path / "bin", tmp_path / "wrote"
    programs.mkdir()
    tool = programs / "acme"
    tool.write_text(
        f'#!/bin/sh\necho "$@" >>{wrote}\n'
        "printf 'Usage: acme\\n\\nCommands:\\n  ship   Ships.\\n\\nOptions:\\n  --region R\\n'\n"
    )
    tool.chmod(0o755)
    root = tmp_path / "p"
    _write_skill(root, "ships", "```bash\nacme ship --region eu --zone 3\nacme haul\n```\n")
    monkeypatch.setenv("PROWESS_HOME", str(tmp_path / "s"))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")

    plain = main(["fresh", "-w", str(root)])
    asked = main(["fresh", "-w", str(root), "--ask-help"])
    said = capsys.readouterr().out

    assert (plain, asked) == (0, 1)
    assert "flag `acme ship --zone`" in said
    assert "subcommand `acme haul`" in said
    assert "--region`" not in said
    assert not wrote.exists()
    tool.write_text(tool.read_text() + "exit 1\n")
    assert main(["fresh", "-w", str(root)]) == 0


def test_a_skill_of_others_is_not_judged_by_what_is_only_like_its_words(
    quick_folder: Path, tmp_path: Path
) -> None:
    (quick_folder / "tool.py").write_text("def normal_path(value): ...\n\nclass Transform: ...\n")
    (quick_folder / "pyproject.toml").write_text(
        '[project]\nname = "tool"\ndependencies = ["numpy>=1.26"]\n'
    )
    foreign = "Call `normalize_path()` with numpy 1.23.0, then see the `first-steps` skill."
    _write_skill(quick_folder, "first-steps", "Begin.\n")
    _write_skill(quick_folder, "foreign", f"{foreign} And the `next-steps` skill.\n")
    _write_skill(quick_folder, "next-steps", "Go on.\n")
    own = "Edit `tool.py`, which holds `Transform()`."
    _write_skill(quick_folder, "own", f"{own} {foreign}\n")

    found = {one.skill.name: one for one in _check(quick_folder, tmp_path / "state")}

    assert not found["foreign"].stale
    assert {one.claim.text for one in found["own"].stale} >= {"numpy"}


def test_another_way_to_write_a_name_and_an_argument_are_no_drift(
    quick_folder: Path, tmp_path: Path
) -> None:
    world = DriftWorld(quick_folder, 3, commit=True)
    world.change("pyproject.toml", '"click"', '"retries==3"')
    world.stage()
    text = "Follow `steps/call-back.md`. Nothing happens with `retries=0`, or `click=1`.\n"
    folder = _write_skill(quick_folder, "foreign", text)
    (folder / "steps").mkdir()
    (folder / "steps" / "CallBack.md").write_text("# Call back\n")

    found = _check(quick_folder, tmp_path / "state", "foreign")[0]

    assert not found.stale


_ROWED_PROJECT = {
    "justfile": "rotate-keys zone='eu':\n    true\n",
    "Taskfile.yml": "version: '3'\ntasks:\n  seal-rows:\n    cmds: [x]\n",
    "noxfile.py": "import nox\n@nox.session\ndef site_docs(session):\n    pass\n",
    "Cargo.toml": '[package]\nname = "rows"\n[[bin]]\nname = "rows-worker"\n',
    "pyproject.toml": (
        '[project]\nname = "rows"\ndependencies = ["librow==4.2.0", "libcol"]\n'
        '[project.scripts]\nrows-tool = "rows.main:run"\n'
    ),
    ".venv/lib/python3.12/site-packages/libcol-3.1.0.dist-info/METADATA": "Name: libcol\n",
    "rows/__init__.py": "",
    "rows/main.py": '@run.command("load-all")\ndef load():\n    pass\n',
    "rows/jobs/nightly.py": "print()\n",
    "rows/store.py": "class RowKeeper:\n    pass\n",
    "web/row-page.ts": "export function showRowPage() {}\n",
    "docs/row-setup.md": "# Setup\n",
    "skills/row-work/forms/row-form.md": "# Form\n",
    "skills/row-work/forms/other.md": "# Other\n",
}
_ROW_TEXT = """# Rows

Run `just rotate-keys`, `task seal-rows` and `nox -s site_docs`. We ask for `librow==4.2.0` and
`libcol==3.1.0`. `RowKeeper` of `rows/store.py` is shown by `showRowPage()` of `web/row-page.ts`.
Read [setup](../../docs/row-setup.md) and [the form](forms/row-form.md).

```bash
cargo run --bin rows-worker
python -m rows.jobs.nightly
rows-tool load-all
```
"""
# What changes, in which file (nothing: it is gone), and the claim that no longer holds.
_ROW_DRIFTS = (
    ("justfile", ("rotate-keys", "turn"), "rotate-keys"),
    ("Taskfile.yml", ("seal-rows", "close"), "seal-rows"),
    ("noxfile.py", ("site_docs", "pages"), "site_docs"),
    ("Cargo.toml", ("rows-worker", "agent"), "rows-worker"),
    ("pyproject.toml", ('"librow==4.2.0", ', ""), "librow"),
    (".venv/lib/python3.12/site-packages/libcol-3.1.0.dist-info/METADATA", None, "libcol"),
    ("rows/main.py", ("load-all", "ingest"), "load-all"),
    ("rows/jobs/nightly.py", None, "rows.jobs.nightly"),
    ("web/row-page.ts", ("showRowPage", "render"), "showRowPage"),
    ("docs/row-setup.md", None, "../../docs/row-setup.md"),
    ("skills/row-work/forms/row-form.md", None, "forms/row-form.md"),
)


def test_what_drifts_in_lists_of_other_runners_in_modules_and_behind_links_is_found(
    quick_folder: Path,
) -> None:
    for number, (path, change, gone) in enumerate(_ROW_DRIFTS):
        root = quick_folder / f"p{number}"
        for name, text in _ROWED_PROJECT.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        _write_skill(root, "row-work", _ROW_TEXT)
        before = _check(root, quick_folder / f"a{number}", "row-work")[0]

        if change is not None:
            text = (root / path).read_text(encoding="utf-8")
            (root / path).write_text(text.replace(*change), encoding="utf-8")
        else:
            (root / path).unlink()
        if path.endswith("METADATA"):
            newer = (root / path).parent
            newer.rename(newer.with_name("libcol-4.0.0.dist-info"))
        found = _check(root, quick_folder / f"b{number}", "row-work")[0]

        assert [one.claim.text for one in before.stale] == []
        assert [one.claim.text for one in found.stale] == [gone]


_LISTED_PROJECT = {
    "composer.json": '{"scripts": {"check-style": "phpcs"}}',
    "tox.ini": "[testenv:slow-db]\ncommands = pytest\n",
    "compose.yaml": "services:\n  mail-relay:\n    image: relay\n  cache:\n    image: redis\n",
    "src/ledger.py": 'QUEUE_LIMIT = 7\nBIND = "127.0.0.1:8431"\n',
}
_LISTED_TEXT = """# Ledger

Run `composer run check-style`, `tox -e slow-db` and `docker compose up mail-relay`. The server of
`src/ledger.py` listens on localhost:8431, and takes `queue-limit` rows at once.
"""


@pytest.mark.parametrize(
    ("path", "change", "gone"),
    [
        ("composer.json", ("check-style", "lint"), "check-style"),
        ("tox.ini", ("slow-db", "database"), "slow-db"),
        ("compose.yaml", ("mail-relay", "postman"), "mail-relay"),
        ("src/ledger.py", ("8431", "8500"), "8431"),
    ],
)
def test_what_a_list_or_the_history_of_the_project_lost_is_stale(
    quick_folder: Path, tmp_path: Path, path: str, change: tuple[str, str], gone: str
) -> None:
    for name, text in _LISTED_PROJECT.items():
        (quick_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (quick_folder / name).write_text(text, encoding="utf-8")
    _write_skill(quick_folder, "ledger", _LISTED_TEXT)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "All.")):
        subprocess.run(["git", *words], cwd=quick_folder, check=True)
    before = _check(quick_folder, tmp_path / "a", "ledger")[0]

    text = (quick_folder / path).read_text(encoding="utf-8")
    (quick_folder / path).write_text(text.replace(*change), encoding="utf-8")
    found = _check(quick_folder, tmp_path / "b", "ledger")[0]

    assert [one.claim.text for one in before.stale] == []
    assert [one.claim.text for one in found.stale] == [gone]


_SHOP_PROJECT = {
    "compose.yaml": "services:\n  web:\n    image: postgres:15.6\n",
    "manage.py": "import django\n",
    "shop/__init__.py": "",
    "shop/models.py": "class StockItem:\n    def count_open_orders(self):\n        pass\n",
    "shop/report.py": 'p.add_argument("--month")\nlook = 1\n',
    "shop/management/commands/refill_stock.py": 'parser.add_argument("--rows")\n',
    "tools/export.py": 'p.add_argument("--grace-hours")\n',
    "Rakefile": "namespace :stock do\n  task recount: :env do\n  end\nend\n",
    "go.mod": "module x\nrequire github.com/spf13/cobra v1.8.0\n",
    ".gitignore": "settings.local.json\n",
    "package.json": '{"scripts": {}}',
    "web/package.json": '{"name": "@shop/web", "scripts": {"draw": "x"}}',
    "skills/shop-prices/SKILL.md": "---\nname: shop-prices\ndescription: Prices.\n---\n\nGo.\n",
}
_SHOP_TEXT = """# Shop

Rows are `StockItem` in `shop/models.py`; `StockItem.count_open_orders` adds them up. We are on
cobra v1.8.0 and Postgres 15.6; do not use others. Prices: the `shop-prices` skill. Templates lie in
`shop/management`. Keep your keys in `config/settings.local.json`; React has `useState` for this.

    ./tools/export.py --grace-hours 3

Give `tools/export.py` more time by `--grace-hours 9`.

```bash
docker compose exec web python manage.py refill_stock --rows 3
python -m shop.report --month 3
pnpm --filter @shop/web draw
bundle exec rake "stock:recount[2024]"
PLACE=$(pwd) sh -c true
echo $PLACE_DIR
```
"""


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("count_open_orders", "count_late_orders"),
        ("cobra v1.8.0", "cobra v1.7.1"),
        ("Postgres 15.6", "Postgres 14.2"),
        ("shop-prices", "shop-costs"),
        ("shop/management", "shop/managing"),
        ("./tools/export.py --grace-hours", "./tools/export.py --grace-days"),
        ("--grace-hours 9", "--grace-days 9"),
        ("exec web", "exec web-page"),
        ("--rows", "--lines"),
        ("--month", "--look"),
        ("web draw", "web draw-all"),
        ("stock:recount", "stock:recall"),
    ],
)
def test_a_wrong_word_in_a_text_about_the_project_is_found_whatever_wraps_it(
    quick_folder: Path, tmp_path: Path, said: str, wrong: str
) -> None:
    for name, text in _SHOP_PROJECT.items():
        (quick_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (quick_folder / name).write_text(text, encoding="utf-8")
    _write_skill(quick_folder, "shop", _SHOP_TEXT)
    before = _check(quick_folder, tmp_path / "a", "shop")[0]
    assert said in _SHOP_TEXT
    _write_skill(quick_folder, "shop", _SHOP_TEXT.replace(said, wrong))

    found = _check(quick_folder, tmp_path / "b", "shop")[0]

    assert [one.claim.text for one in before.stale] == []
    body = found.skill.body.split("\n")
    lines = {body[one.claim.line - found.skill.body_line] for one in found.stale}
    assert lines
    assert all(wrong in line for line in lines)
