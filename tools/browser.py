"""See to it that there is a Chromium for the tests of the studio.

Where none is found and this runs as root on a Debian-like system, its own package is installed.
Everywhere else the tests of the studio are skipped, and this says how to get them to run.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def main() -> int:
    """Install Chromium where that is possible and needed."""
    if os.environ.get("PROWESS_CHROMIUM") or any(shutil.which(name) for name in NAMES):
        return 0
    apt = shutil.which("apt-get")
    if apt is None or os.name == "nt" or os.geteuid() != 0:
        print("No Chromium found: tests of the studio are skipped. Install one, or set", end=" ")
        print("PROWESS_CHROMIUM to its program.")
        return 0
    print("Installing Chromium for the tests of the studio (once) ...", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-qq"], ["install", "-y", "-qq", "chromium"]):
        # The words are these two lists.
        ended = subprocess.run([apt, *words], env=quiet, check=False, stdout=subprocess.DEVNULL)  # noqa: S603
        if ended.returncode:
            print(f"apt-get {words[0]} failed: tests of the studio are skipped.", file=sys.stderr)
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
