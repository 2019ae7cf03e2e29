"""The encoder as a plain torch module: six BERT layers, mean pooling, unit length.

Written out because training needs nothing else of a model library, and because the packed weights
(half precision, word table in eight bits) must be unpacked by hand anyway.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

LAYERS, WIDTH, HEADS, INNER = 6, 384, 12, 1536
MAX_TOKENS = 256
_WORDS = "embeddings.word_embeddings.weight"
_EPSILON = 1e-12


class Layer(nn.Module):
    """One transformer layer, normalised after each half."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.value, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm_attention = nn.LayerNorm(WIDTH, eps=_EPSILON)
        self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.norm_out = nn.LayerNorm(WIDTH, eps=_EPSILON)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Attend and transform; `mask` is added to the attention scores."""
        rows, length, _ = states.shape
        shape = (rows, length, HEADS, WIDTH // HEADS)
        query, key, value = (
            part(states).view(shape).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        attended = attended.transpose(1, 2).reshape(rows, length, WIDTH)
        states = self.norm_attention(states + self.out(attended))
        return self.norm_out(states + self.down(F.gelu(self.up(states))))


class Encoder(nn.Module):
    """Token ids and their mask to unit vectors."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Embedding(512, WIDTH)
        self.kinds = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=_EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Encode a batch; `mask` is one for tokens and zero for padding."""
        return F.normalize(self.pooled(ids, mask, torch.zeros_like(ids)), dim=-1)

    def pooled(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
        """Return the mean state of each text; `kinds` tells the two texts of a pair apart."""
        places = torch.arange(ids.shape[1], device=ids.device)
        states = self.words(ids) + self.positions(places) + self.kinds(kinds)
        states = self.norm(states)
        added = (1.0 - mask[:, None, None, :].to(states.dtype)) * -1e4
        for layer in self.layers:
            states = layer(states, added)
        weights = mask.to(states.dtype).unsqueeze(-1)
        mean: Tensor = (states * weights).sum(1) / weights.sum(1).clamp(min=1.0)
        return mean


def _names() -> dict[str, str]:
    """Map our parameter names to those of the published weights."""
    names = {
        "words": "embeddings.word_embeddings",
        "positions": "embeddings.position_embeddings",
        "kinds": "embeddings.token_type_embeddings",
        "norm": "embeddings.LayerNorm",
    }
    parts = {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "out": "attention.output.dense",
        "norm_attention": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "norm_out": "output.LayerNorm",
    }
    for index in range(LAYERS):
        for ours, theirs in parts.items():
            names[f"layers.{index}.{ours}"] = f"encoder.layer.{index}.{theirs}"
    return names


def published_names() -> set[str]:
    """Return the published names of every weight that the encoder has."""
    return {f"{name}.{kind}" for name in _names().values() for kind in ("weight", "bias")}


def pack(weights: dict[str, np.ndarray], path: Path) -> None:
    """Write published weights small: half precision, and the word table in eight bits a row."""
    packed = {name: array.astype(np.float16) for name, array in weights.items() if name != _WORDS}
    table = weights[_WORDS].astype(np.float32)
    scale = np.abs(table).max(axis=1, keepdims=True) / 127
    packed["words.scale"] = scale.astype(np.float32)
    packed["words.table"] = np.round(table / np.maximum(scale, 1e-9)).astype(np.int8)
    np.savez(path, **packed)


def unpack(path: Path) -> dict[str, np.ndarray]:
    """Read what `pack` wrote."""
    with np.load(path) as packed:
        weights = {name: packed[name].astype(np.float32) for name in packed.files}
    weights[_WORDS] = weights.pop("words.table") * weights.pop("words.scale")
    return weights


def from_weights(weights: dict[str, np.ndarray]) -> Encoder:
    """Build the encoder from published weights."""
    model = Encoder(weights[_WORDS].shape[0])
    state = model.state_dict()
    for ours, theirs in _names().items():
        for kind in ("weight", "bias"):
            if f"{ours}.{kind}" in state:
                state[f"{ours}.{kind}"] = torch.from_numpy(weights[f"{theirs}.{kind}"])
    model.load_state_dict(state)
    return model


def to_weights(model: Encoder) -> dict[str, np.ndarray]:
    """Return the encoder's weights under their published names."""
    state = model.state_dict()
    return {
        f"{theirs}.{kind}": state[f"{ours}.{kind}"].float().cpu().numpy()
        for ours, theirs in _names().items()
        for kind in ("weight", "bias")
        if f"{ours}.{kind}" in state
    }
