"""Tuned weights to the files that are shipped: ONNX in eight bits, and the tokenizer.

python -m training.export --weights DIR/tuned.npz --tokenizer FILE --out src/prowess/model
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic

from training import encoder, pairs

_SAMPLES = (
    "can you set a reminder for tomorrow",
    "draft the release notes for this version and open a pull request",
    "why is the build red",
)


def export(weights: Path, tokenizer: Path, out: Path) -> float:
    """Write the model and return the lowest cosine between it and the exact one on a few texts."""
    out.mkdir(parents=True, exist_ok=True)
    model = encoder.from_weights(encoder.unpack(weights)).eval()
    found = pairs.tokenizer(tokenizer, encoder.MAX_TOKENS)
    ids, mask = (torch.from_numpy(array) for array in pairs.tokens(found, _SAMPLES))
    with tempfile.TemporaryDirectory() as folder:
        exact = Path(folder) / "exact.onnx"
        torch.onnx.export(
            model,
            (ids, mask),
            str(exact),
            input_names=["ids", "mask"],
            output_names=["vectors"],
            dynamic_axes={name: {0: "rows", 1: "tokens"} for name in ("ids", "mask")},
            opset_version=17,
            dynamo=False,
        )
        quantize_dynamic(exact, out / "encoder.onnx", per_channel=True, weight_type=QuantType.QInt8)
    shutil.copy(tokenizer, out / "tokenizer.json")
    return _agreement(out / "encoder.onnx", model, ids, mask)


def _agreement(path: Path, model: encoder.Encoder, ids: torch.Tensor, mask: torch.Tensor) -> float:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (small,) = session.run(None, {"ids": ids.numpy(), "mask": mask.numpy()})
    with torch.no_grad():
        exact = model(ids, mask).numpy()
    small = small / np.linalg.norm(small, axis=1, keepdims=True)
    return float((small * exact).sum(axis=1).min())


def main() -> None:
    """Export from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    agreement = export(options.weights, options.tokenizer, options.out)
    size = (options.out / "encoder.onnx").stat().st_size / 1e6
    print(f"encoder.onnx: {size:.1f} MB, cosine to the exact model at least {agreement:.4f}")


if __name__ == "__main__":
    main()
