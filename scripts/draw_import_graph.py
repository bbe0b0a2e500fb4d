"""Draw which package of sugartag imports which, from the code, for docs/architecture.md.

    python scripts/draw_import_graph.py

An import that follows from others is not drawn: where a imports b and b imports c, the arrow from a
to c is left out. Packages stand in layers, each above all that it imports.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "sugartag"
PICTURE = ROOT / "docs" / "images" / "import-graph.svg"

BASE = {"__init__", "__main__", "_extras", "_rules", "_typing", "errors", "progress"}
"""Not drawn: what nearly everything imports, and the doors of the package."""
WIDTH, ROW, BOX_WIDTH, BOX_HEIGHT, TURN = 620, 60, 102, 34, 10
MARGIN = 16
SWEEPS = 24
"""Times that each layer is ordered by its neighbours, downwards and upwards."""

Graph = dict[str, set[str]]


def imports() -> Graph:
    """Return the packages that each package imports."""
    found: Graph = {}
    for path in sorted(SOURCE.rglob("*.py")):
        own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if own not in BASE:
            found.setdefault(own, set()).update(_packages_in(path) - BASE - {own})
    return found


def _packages_in(path: Path) -> set[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    parts = [name.split(".") for name in names]
    named = {part[1] for part in parts if part[0] == "sugartag" and len(part) > 1}
    return {name for name in named if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()}


def reduced(graph: Graph) -> Graph:
    """Return the graph without the edges that follow from others."""
    reached: Graph = {}

    def reach(name: str) -> set[str]:
        if name not in reached:
            reached[name] = set().union(graph[name], *(reach(one) for one in graph[name]))
        return reached[name]

    return {
        name: {one for one in below if not any(one in reach(other) for other in below - {one})}
        for name, below in graph.items()
    }


def layers(graph: Graph) -> dict[str, int]:
    """Return the layer of each package: one above the highest that it imports."""
    found: dict[str, int] = {}

    def layer(name: str) -> int:
        if name not in found:
            found[name] = 1 + max((layer(one) for one in graph[name]), default=-1)
        return found[name]

    for name in graph:
        layer(name)
    return found


def chains(graph: Graph, layer: Mapping[str, int]) -> list[list[str]]:
    """Return each edge as the names it passes, one a layer: its ends and bends between them."""
    found = []
    for name in sorted(graph):
        for below in sorted(graph[name]):
            bends = [f"{name}>{below}@{n}" for n in range(layer[name] - 1, layer[below], -1)]
            found.append([name, *bends, below])
    return found


def ordered(layer: Mapping[str, int], edges: Iterable[list[str]]) -> list[list[str]]:
    """Return the names of each layer from left to right, so that few edges cross."""
    above, below = defaultdict(list), defaultdict(list)
    rows: list[list[str]] = [[] for _ in range(max(layer.values()) + 1)]
    for name in sorted(layer):
        rows[layer[name]].append(name)
    for chain in edges:
        for step, name in enumerate(chain[1:-1], start=1):
            rows[layer[chain[0]] - step].append(name)
        for upper, lower in pairwise(chain):
            below[upper].append(lower)
            above[lower].append(upper)
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(SWEEPS):
        order = range(1, len(rows)) if sweep % 2 else range(len(rows) - 2, -1, -1)
        near = below if sweep % 2 else above
        for number in order:
            place = _places(rows)
            rows[number].sort(
                key=lambda name: _mean([place[one] for one in near[name]], place[name])
            )
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _places(rows: list[list[str]]) -> dict[str, float]:
    """Return where each name stands in its row, from 0 to 1."""
    return {name: (k + 0.5) / len(row) for row in rows for k, name in enumerate(row)}


def _crossings(rows: list[list[str]], below: Mapping[str, list[str]]) -> int:
    place, found = _places(rows), 0
    for row in rows:
        ends = [(place[name], place[one]) for name in row for one in below[name]]
        found += sum(a < c and b > d for a, b in ends for c, d in ends)
    return found


def positions(rows: list[list[str]]) -> dict[str, tuple[float, float]]:
    """Return the middle of each name: bends take little room, boxes share the rest."""
    found = {}
    for number, row in enumerate(reversed(rows)):
        sizes = [BOX_WIDTH if "@" not in name else TURN for name in row]
        free = WIDTH - 2 * MARGIN - sum(sizes)
        space = max(free / (len(row) + 1), 0)
        x = MARGIN + space
        for name, size in zip(row, sizes, strict=True):
            found[name] = (round(x + size / 2, 1), MARGIN + ROW * number + BOX_HEIGHT / 2)
            x += size + space
    return found


def drawing() -> str:
    """Return the picture as SVG."""
    graph = reduced(imports())
    layer = layers(graph)
    edges = chains(graph, layer)
    rows = ordered(layer, edges)
    at = positions(rows)
    height = 2 * MARGIN + ROW * (len(rows) - 1) + BOX_HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="16">',
        "<title>Which package of sugartag imports which</title>",
        '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#6b7c85"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fbfaf6"/>',
    ]
    lines += [_edge([at[name] for name in chain]) for chain in edges]
    lines += [_box(name, *at[name]) for row in rows for name in row if "@" not in name]
    return "\n".join([*lines, "</svg>", ""])


def _edge(points: list[tuple[float, float]]) -> str:
    (x, y), *rest = points
    y += BOX_HEIGHT / 2
    path = f"M{x} {y}"
    for number, (to_x, to_y) in enumerate(rest):
        end = to_y - BOX_HEIGHT / 2 if number == len(rest) - 1 else to_y
        middle = (y + end) / 2
        path += f"C{x} {middle} {to_x} {middle} {to_x} {end}"
        x, y = to_x, end
    return f'<path d="{path}" fill="none" stroke="#6b7c85" marker-end="url(#end)"/>'


def _box(name: str, x: float, y: float) -> str:
    left, top = x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" '
        f'fill="#e0f2ee" stroke="#00897b"/><text x="{x:g}" y="{y + 5.5:g}" '
        f'text-anchor="middle" fill="#16302b">{name}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")
