"""A network of one node in an ONNX file, written byte by byte: the mean of each channel."""

import json
from pathlib import Path
from typing import Any

FLOAT, INT64 = 1, 7
INT, INTS = 2, 7
"""Kinds of attributes."""


def varint(value: int) -> bytes:
    made = b""
    while value > 127:
        made += bytes([value & 127 | 128])
        value >>= 7
    return made + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def nested(field: int, data: bytes | str) -> bytes:
    raw = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def value_info(name: str, kind: int, shape: tuple[int | str, ...]) -> bytes:
    dims = b"".join(
        nested(1, nested(2, side) if isinstance(side, str) else number(1, side)) for side in shape
    )
    return nested(1, name) + nested(2, nested(1, number(1, kind) + nested(2, dims)))


def model(
    shape: tuple[int | str, ...] = ("batch", 3, 32, 32),
    *,
    axes: tuple[int, ...] = (2, 3),
    kind: int = FLOAT,
) -> bytes:
    """Return the mean over some axes as an ONNX model from ``pixels`` to ``means``."""
    over = nested(1, "axes") + b"".join(number(8, axis) for axis in axes) + number(20, INTS)
    flat = nested(1, "keepdims") + number(3, 0) + number(20, INT)
    node = nested(1, "pixels") + nested(2, "means") + nested(4, "ReduceMean")
    node += nested(5, over) + nested(5, flat)
    left = tuple(side for place, side in enumerate(shape) if place not in axes)
    graph = nested(1, node) + nested(2, "tiny")
    graph += nested(11, value_info("pixels", kind, shape))
    graph += nested(12, value_info("means", kind, left))
    return number(1, 8) + nested(7, graph) + nested(8, nested(1, "") + number(2, 13))


FIELDS: dict[str, Any] = {
    "input": "pixels",
    "output": "means",
    "size": 32,
    "range": 1,
    "mean": [0, 0, 0],
    "std": [1, 1, 1],
    "channels": "rgb",
    "layout": "nchw",
    "fit": "crop",
}


def write_encoder(folder: Path, data: bytes | None = None, **fields: Any) -> str:
    """Write the network and its JSON; return the name of the encoder."""
    path = folder / "tiny.onnx"
    path.write_bytes(model() if data is None else data)
    (folder / "tiny.onnx.json").write_text(json.dumps({**FIELDS, **fields}), encoding="utf-8")
    return f"onnx:{path}"
