"""Tuned weights to files that run without torch: ONNX in eight bits, and the tokenizer.

    python -m training.export --weights DIR/tuned.npz --tokenizer FILE --out src/prowess/model
    python -m training.export --judge --weights DIR/judge.npz --tokenizer FILE --out DIR

With `--judge` the weights are those of the cross-encoder. Eight-bit models scale their inner
numbers by the largest of the whole batch, so a text among others gets another vector than alone.
What the runtime would rewrite at every start is written here once: a hook waits for that start.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn

from training import encoder, pairs, rerank

_SAMPLES = (
    "can you set a reminder for tomorrow",
    "draft the release notes for this version and open a pull request",
    "why is the build red",
)


def export(weights: Path, tokenizer: Path, out: Path) -> float:
    """Write the encoder and return its lowest cosine to the exact one on a few texts."""
    model = encoder.from_weights(encoder.unpack(weights)).eval()
    found = pairs.tokenizer(tokenizer, encoder.MAX_TOKENS)
    ids, mask = (torch.from_numpy(array) for array in pairs.tokens(found, _SAMPLES))
    feeds = {"ids": ids, "mask": mask}
    _write(model, feeds, "vectors", out / "encoder.onnx")
    shutil.copy(tokenizer, out / "tokenizer.json")
    exact, small = _both(model, feeds, out / "encoder.onnx")
    small = small / np.linalg.norm(small, axis=1, keepdims=True)
    return float((small * exact).sum(axis=1).min())


def export_judge(weights: Path, tokenizer: Path, out: Path) -> float:
    """Write the cross-encoder and return its largest distance to the exact one on a few pairs."""
    judge = rerank.from_weights(encoder.unpack(weights)).eval()
    found = pairs.tokenizer(tokenizer, rerank.Config().tokens)
    samples = [(asked, text) for asked in _SAMPLES for text in _SAMPLES]
    tensors = [torch.from_numpy(array) for array in rerank.paired(found, samples)]
    feeds = dict(zip(("ids", "mask", "kinds"), tensors, strict=True))
    _write(judge, feeds, "scores", out / "judge.onnx")
    shutil.copy(tokenizer, out / "tokenizer.json")
    exact, small = _both(judge, feeds, out / "judge.onnx")
    return float(np.abs(small - exact).max())


def _write(model: nn.Module, feeds: dict[str, Tensor], output: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        exact = Path(folder) / "exact.onnx"
        torch.onnx.export(
            model,
            tuple(feeds.values()),
            str(exact),
            input_names=list(feeds),
            output_names=[output],
            dynamic_axes={name: {0: "rows", 1: "tokens"} for name in feeds},
            opset_version=17,
            dynamo=False,
        )
        small = Path(folder) / "small.onnx"
        quantize_dynamic(exact, small, per_channel=True, weight_type=QuantType.QInt8)
        fuse(small, path)


def fuse(model: Path, path: Path) -> None:
    """Write `model` with its operators fused, as far as that holds for every processor."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _both(model: nn.Module, feeds: dict[str, Tensor], path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return what the exact model and the written one say."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (small,) = session.run(None, {name: value.numpy() for name, value in feeds.items()})
    with torch.no_grad():
        return model(*feeds.values()).numpy(), small


def main() -> None:
    """Export from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--judge", action="store_true")
    options = parser.parse_args()
    if options.judge:
        apart = export_judge(options.weights, options.tokenizer, options.out)
        print(f"judge.onnx: {apart:.3f} at most from the exact scores")
        return
    agreement = export(options.weights, options.tokenizer, options.out)
    print(f"encoder.onnx: cosine to the exact model at least {agreement:.4f}")


if __name__ == "__main__":
    main()
