"""Turn runs of characters that nobody sees back into the bytes they stand for."""

from collections.abc import Iterator, Sequence

_SELECTORS = 0xFE00
_MORE_SELECTORS = 0xE0100
_NIBBLE = 16
_BYTE = 256
_BITS = 8
_READABLE_SHARE = 0.85
_SHORTEST = 4


def selector_values(run: str) -> list[int]:
    """Return the number of each variation selector, from 0 to 255."""
    return [
        ord(one) - _SELECTORS if ord(one) < _MORE_SELECTORS else ord(one) - _MORE_SELECTORS + 16
        for one in run
    ]


def readings(values: Sequence[int]) -> Iterator[str]:
    """Yield every readable text that `values` may spell: as bytes, shifted, as nibbles or bits."""
    seen: set[str] = set()
    for data in _byte_readings(values):
        text = readable(data)
        if text and text not in seen:
            seen.add(text)
            yield text


def _byte_readings(values: Sequence[int]) -> Iterator[bytes]:
    top = max(values, default=0)
    if top < _BYTE:
        yield bytes(values)
    for shift in (-_NIBBLE, _NIBBLE, 32):
        shifted = [value + shift for value in values]
        if min(shifted, default=0) >= 0 and max(shifted, default=0) < _BYTE:
            yield bytes(shifted)
    if top < _NIBBLE:
        yield bytes(
            high * _NIBBLE + low for high, low in zip(values[::2], values[1::2], strict=False)
        )
    if len(set(values)) in (2, 3):
        yield from _bit_readings(values)


def _bit_readings(values: Sequence[int]) -> Iterator[bytes]:
    kinds = sorted(set(values), key=lambda value: -values.count(value))[:2]
    for one in kinds:
        bits = [value == one for value in values if value in kinds]
        yield bytes(
            sum(bit << (_BITS - 1 - at) for at, bit in enumerate(bits[start : start + _BITS]))
            for start in range(0, len(bits) - _BITS + 1, _BITS)
        )


def readable(data: bytes) -> str:
    """Return `data` as text where it looks like some, else nothing."""
    text = data.decode("utf-8", "replace").strip("\x00")
    good = sum(one.isprintable() or one in "\n\t\r" for one in text) - text.count("\ufffd")
    return text if len(text) >= _SHORTEST and good >= _READABLE_SHARE * len(text) else ""
