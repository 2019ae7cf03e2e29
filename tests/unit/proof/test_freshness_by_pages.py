"""What pages of help, lists and history say of the claims of a skill."""

import subprocess
from pathlib import Path

import pytest

from prowess.host.proof.project import ProjectFolder
from prowess.proof.facts import FolderTexts
from prowess.proof.freshness import SkillFreshness, check_skill
from prowess.testing import make_skill

_PAGES = {
    "acme": "Usage: acme\n\nCommands:\n  ship   Ships.\n  crew   Men.\n\nOptions:\n  --quiet\n",
    "acme ship": "Usage: acme ship PORT\n\nOptions:\n  --region R\n",
    "acme crew": "Usage: acme crew\n\nCommands:\n  list  Lists.\n",
    "acme crew list": "Options:\n  --all\n",
    "rower": "These are common rower commands:\n  pull   Pulls.\n",
}


def _check(root: Path, body: str) -> SkillFreshness:
    project = ProjectFolder(
        str(root), {}, (), help_of=lambda words: _PAGES.get(" ".join(words), "")
    )
    return check_skill(make_skill(body=body), FolderTexts(frozenset(), str), project)


@pytest.mark.parametrize(
    ("call", "stale"),
    [
        ("acme ship oslo --region eu", []),
        ("acme --quiet ship --region eu", []),
        ("acme crew list --all", []),
        # No page of it is there, or one of some commands does not know it.
        ("acme crew rest --long", []),
        ("rower push --hard", []),
        ("acme ship oslo --zone 3", ["--zone"]),
        ("acme crew list --some", ["--some"]),
        ("acme haul", ["haul"]),
    ],
)
def test_only_the_page_of_the_last_subcommand_says_that_an_option_is_gone(
    tmp_path: Path, call: str, stale: list[str]
) -> None:
    found = _check(tmp_path, f"Run `{call}`.\n")

    assert [one.claim.text for one in found.stale] == stale


_FILES = {
    "package.json": (
        '{"dependencies": {"react": "^18.3.1", "zod": "3.1.0"}, "engines": {"node": "20"}}\n'
    ),
    "src/ledger/__init__.py": "",
    "src/ledger/camt.py": "def read_camt(): ...\n",
    "src/ledger/parts/__init__.py": "",
    "src/ledger/year_end.py": "",
    "src/ledger/open_year.py": "",
    "src/ledger/routes.py": 'get("/api/berths/{berth_id}/rows", "https://api.acme.test/v2/rows")\n',
}
_BODY = """\
- It needs React 18, Node.js 20 or newer, and `zod` 3.
- Look at `from ledger.camt import read_camt` in `src/ledger/camt.py`.
- Rows are at `GET /api/berths/{berth_id}/rows`, from https://api.acme.test/v2/rows
- Others have `from parts.list import one`. React 2 times. Begin with `src/ledger/year_end.py`.
- Then `src/ledger/open_year.py`, and `src/ledger/routes.py`.
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "old", "new", "stale"),
    [
        ("package.json", "", "", []),
        ("package.json", "^18.3.1", "^19.0.0", ["React"]),
        ("package.json", ', "zod": "3.1.0"', "", ["zod"]),
        ("package.json", '"node": "20"', '"node": "22"', []),
        ("src/ledger/routes.py", "berths", "moorings", ["api/berths/{berth_id}/rows"]),
        ("src/ledger/routes.py", "v2", "v3", ["https://api.acme.test/v2/rows"]),
        ("src/ledger/camt.py", None, "", ["ledger.camt", "read_camt", "src/ledger/camt.py"]),
    ],
)
def test_versions_modules_routes_and_addresses_go_stale(
    tmp_path: Path, place: str, old: str | None, new: str, stale: list[str]
) -> None:
    for name, text in _FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for words in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -qm one"):
        subprocess.run(["git", *words.split()], cwd=tmp_path, check=True)

    if old is None:
        (tmp_path / place).unlink()
    else:
        (tmp_path / place).write_text(_FILES[place].replace(old, new))

    assert sorted({one.claim.text for one in _check(tmp_path, _BODY).stale}) == sorted(stale)
