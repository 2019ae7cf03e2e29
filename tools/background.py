"""Encodes the background texts once for everybody, and keeps their vectors beside the model.

    python tools/background.py [--check]

Every index needs them, and they are the same on every machine. Run it when the bundled model or
`routing/background.toml` changed; `--check` says whether that is due.
"""

import sys
from pathlib import Path

import numpy as np

import prowess
from prowess.host.models.local import KNOWN_FILE, OnnxEncoder, name_text
from prowess.routing.message_kinds import list_common_texts

_FOLDER = Path(prowess.__file__).parent / "model"


def main() -> int:
    """Write the file, or check that it is the one that would be written."""
    encoder, texts = OnnxEncoder(str(_FOLDER), english_only=True), sorted(set(list_common_texts()))
    path = _FOLDER / KNOWN_FILE.format(encoder.id.split("-")[1])
    if "--check" in sys.argv:
        known = set(np.load(path)["name"].tolist()) if path.is_file() else set()
        return int(known != {name_text(text).encode() for text in texts})
    for old in _FOLDER.glob(KNOWN_FILE.format("*")):
        old.unlink()
    rows = np.zeros(len(texts), [("name", "S16"), ("vector", "<f2", (384,))])
    for at, text in enumerate(texts):
        # One at a time: what is known already is not asked for.
        rows[at] = (name_text(text), encoder.encode([text])[0])
    np.save(path, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
