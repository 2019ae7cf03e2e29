"""Run every test with coverage; what fails beside the others gets one more try, alone.

Thousands of tests drive real processes, sockets and a browser on all processors at once, and a
machine that stands still for seconds can fail one of them for no fault of the code. A test that
fails for a reason fails again; one that does not is named at the end, so that somebody mends it.
"""

import json
import subprocess
import sys
from pathlib import Path

_ALL = ("--numprocesses=auto", "--dist=worksteal", "--cov", "--cov-report=term:skip-covered", "-q")
_ALONE = ("--last-failed", "--last-failed-no-failures=none", "--no-cov", "-q")
_SOME_FAILED = 1
# More than a few are no accident.
_MOST = 5
_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    """Return what the tests come to."""
    _FAILED.unlink(missing_ok=True)
    ended = _run("pytest", *_ALL)
    failed = _failed()
    if ended != _SOME_FAILED or not 0 < len(failed) <= _MOST:
        return ended
    print(f"\n{len(failed)} failed beside the others; once more, alone:", flush=True)
    # Failures keep coverage from being judged, so that is done here.
    again = _run("pytest", *_ALONE) or _run("coverage", "report", "--format=total")
    if not again:
        print("\nFailed beside the others and passed alone; find out why:")
        print("\n".join(f"  {name}" for name in failed))
    return again


def _run(module: str, *words: str) -> int:
    # The words are those above.
    return subprocess.run([sys.executable, "-m", module, *words], check=False).returncode  # noqa: S603


def _failed() -> list[str]:
    return sorted(json.loads(_FAILED.read_text("utf-8"))) if _FAILED.exists() else []


if __name__ == "__main__":
    sys.exit(main())
