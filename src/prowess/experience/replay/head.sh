#!/usr/bin/env bash
# A replay of recorded steps. Without --execute it only says what it would do.
# Read it before you run it: it was made from what an agent did, and nobody has checked it.
set -euo pipefail
# Newer versions of bash take "&" in a replacement for what was found; here it is an ampersand.
shopt -u patsub_replacement 2>/dev/null || true
unset CDPATH
