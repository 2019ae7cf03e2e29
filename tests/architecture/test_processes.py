"""Only two modules start programs, so there is one place to look for what can be started."""

import ast
from pathlib import Path

import prowess

PACKAGE = Path(prowess.__file__).parent
STARTERS = {"subprocess", "pty", "multiprocessing"}
CALLS = {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "execv", "execve"}


def _starts_programs(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names) if STARTERS & {one.name for one in names}:
                return True
            case ast.ImportFrom(module=str(module)) if module in STARTERS:
                return True
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in CALLS:
                return True
    return False


def test_only_the_modules_of_processes_start_programs() -> None:
    found = {path for path in PACKAGE.rglob("*.py") if _starts_programs(path)}

    folder = PACKAGE / "host" / "processes"
    assert found == {folder / "children.py", folder / "foreground.py"}
