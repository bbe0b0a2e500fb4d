"""Make the shipped encoder: EfficientNet-Lite0 without its classes, its weights as float16.

    python scripts/build_encoder.py efficientnet-lite0.onnx

needs the package ``onnx``. The network still computes in float32: every weight goes through a Cast,
which onnxruntime folds away when it loads the file.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

TARGET = Path("src/sugartag/assets/encoder/efficientnet-lite0.onnx")
OUTPUT = "feat"
LEAST_VALUES = 64
"""Smaller arrays stay as they are: they are not worth a Cast."""


def main() -> None:
    """Read the original, write the smaller one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("original", type=Path)
    parser.add_argument("--out", type=Path, default=TARGET)
    arguments = parser.parse_args()
    model = onnx.load(arguments.original)
    keep_only(model.graph, OUTPUT)
    halve_weights(model.graph)
    onnx.checker.check_model(model)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, arguments.out)
    print(f"{arguments.out}: {arguments.out.stat().st_size:,} bytes")


def keep_only(graph: onnx.GraphProto, output: str) -> None:
    """Drop all that only other outputs need."""
    needed, nodes = {output}, []
    for node in reversed(graph.node):
        if needed & set(node.output):
            nodes.append(node)
            needed |= set(node.input)
    replace(graph.node, reversed(nodes))
    replace(graph.output, [one for one in graph.output if one.name == output])
    replace(graph.initializer, [one for one in graph.initializer if one.name in needed])


def halve_weights(graph: onnx.GraphProto) -> None:
    """Store float32 weights as float16, each cast back before it is used."""
    weights, casts = [], []
    for weight in graph.initializer:
        values = numpy_helper.to_array(weight)
        if values.dtype != np.float32 or values.size < LEAST_VALUES:
            weights.append(weight)
            continue
        half = f"{weight.name}.float16"
        weights.append(numpy_helper.from_array(values.astype(np.float16), half))
        casts.append(helper.make_node("Cast", [half], [weight.name], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    replace(graph.initializer, weights)
    replace(graph.node, nodes)


def replace(field: object, values: object) -> None:
    """Put other values into a repeated field."""
    kept = list(values)  # type: ignore[call-overload]
    del field[:]  # type: ignore[attr-defined]
    field.extend(kept)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
