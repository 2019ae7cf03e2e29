"""`python -m prowess` is the same as `prowess`."""

import sys

from prowess.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
