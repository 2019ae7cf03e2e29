"""See to it that there is a Chromium for the tests of the studio.

Where this runs as root on a Debian-like system, its own package is installed: the shell without a
window, which does the same pages for a third of the processor time, or else the whole browser where
there is none. Everywhere else the tests of the studio take what they find, or are skipped.
"""

import os
import shutil
import subprocess
import sys

# The first one that is there is taken.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
_SHELL, _WHOLE = NAMES[:2]


def main() -> int:
    """Install Chromium where that is possible and needed."""
    if os.environ.get("PROWESS_CHROMIUM") or shutil.which(_SHELL):
        return 0
    apt, found = shutil.which("apt-get"), any(shutil.which(name) for name in NAMES)
    if apt is None or os.name == "nt" or os.geteuid() != 0:
        if not found:
            print(
                "No Chromium found: tests of the studio are skipped. Install one, or set", end=" "
            )
            print("PROWESS_CHROMIUM to its program.")
        return 0
    print("Installing Chromium for the tests of the studio (once) ...", flush=True)
    if not (_install(apt, _SHELL) or found or _install(apt, _WHOLE)):
        print("apt-get failed: tests of the studio are skipped.", file=sys.stderr)
    return 0


def _install(apt: str, package: str) -> bool:
    """Install a package; the lists of packages are only fetched where they do not know it yet."""
    install = ("install", "-y", "-qq", package)
    return _run(apt, *install) or (_run(apt, "update", "-qq") and _run(apt, *install))


def _run(*words: str) -> bool:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # The words are those above.
    return not subprocess.run(words, env=quiet, check=False, capture_output=True).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
