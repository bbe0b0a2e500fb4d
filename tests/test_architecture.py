"""The package reads as the pipeline: who may import whom, and who may touch the outside world."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sugartag

SOURCE = Path(sugartag.__file__).parent

ROWS = [
    {"errors", "_typing"},
    {"_extras", "_rules"},
    {"storage"},
    {"metadata"},
    {"engine"},
    {"linalg"},
    {"progress"},
    {"collection"},
    {"features"},
    {"anchors"},
    {"graph"},
    {"completion"},
    {"assignment"},
    {"methods"},
    {"evaluation"},
    {"pipeline"},
    {"changes"},
    {"api", "costs", "sklearn"},
    {"report"},
    {"photos"},
    {"demo"},
    {"reproduce"},
    {"web"},
    {"cli"},
    {"__init__", "__main__"},
]
"""A module imports from its own package, or from packages in rows above its own."""

NUMERIC = {"linalg", "anchors", "graph", "completion", "assignment", "methods", "evaluation"}
"""These compute, and do nothing else."""
OUTSIDE = {"graph/name_vectors.py", "graph/wordnet.py", "evaluation/cost.py"}
"""These read files because it is their task: the shipped words, and the machine's memory."""

FILE_METHODS = {
    "open",
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "open_memmap",
    "tofile",
    "mkdir",
    "unlink",
    "touch",
}
FILE_FUNCTIONS = {
    f"numpy.{name}"
    for name in (
        "load",
        "save",
        "savez",
        "savez_compressed",
        "fromfile",
        "loadtxt",
        "savetxt",
        "genfromtxt",
        "memmap",
    )
}
SEEDED = {"Generator", "SeedSequence", "default_rng", "BitGenerator", "PCG64", "RandomState"}
"""What of numpy.random keeps no state that everybody shares."""
PICKLES = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}


def modules() -> list[str]:
    """Return the path of every module, relative to the package."""
    return sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


def tree_of(module: str) -> ast.Module:
    return ast.parse((SOURCE / module).read_text(encoding="utf-8"))


def imported_names(tree: ast.AST, module: str = "") -> Iterator[str]:
    """Yield the full name of all that a module imports, wherever in it the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = node.module or ""
            if node.level:
                above = ["sugartag", *module.split("/")][: -node.level]
                package = ".".join([*above, package] if package else above)
            yield from (f"{package}.{alias.name}" for alias in node.names)


def row_of(package: str) -> int:
    found = [number for number, row in enumerate(ROWS) if package in row]
    assert found, f"sugartag.{package} has no row: say in ROWS where in the pipeline it stands"
    return found[0]


def package_of(module: str) -> str:
    return module.partition("/")[0].removesuffix(".py")


def imports_from_below(tree: ast.AST, module: str) -> list[str]:
    """Return what a module imports though it stands in a later row, or beside it in its row."""
    own = package_of(module)
    wrong = []
    for name in imported_names(tree, module):
        root, *parts = name.split(".")
        if root != "sugartag":
            continue
        # A name that is no part of the package is one that sugartag/__init__.py offers.
        package = parts[0] if parts and _is_part(parts[0]) else "__init__"
        if package != own and row_of(package) >= row_of(own):
            wrong.append(name)
    return wrong


def _is_part(name: str) -> bool:
    return (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()


def full_names(tree: ast.AST) -> dict[str, str]:
    """Return what each imported name of a module stands for: ``np`` for ``numpy``."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def dotted(node: ast.AST, known: dict[str, str]) -> str:
    """Return ``a.b.c`` of an expression, its first name written out; "" if it is no such thing."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([known.get(node.id, node.id), *reversed(parts)])


def deeds(tree: ast.AST) -> list[str]:
    """Return what a module does with the outside world, and with random state all share."""
    known = full_names(tree)
    found = [name for name in imported_names(tree) if is_outside(name)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found += [f"{name}()" for name in deeds_of_call(node, known)]
        if isinstance(node, ast.Attribute | ast.Name) and is_outside(name := dotted(node, known)):
            found.append(name)
    return found


def is_outside(name: str) -> bool:
    """Tell whether a name stands for the environment, a stream, or random state all share."""
    if name.startswith("numpy.random."):
        return name.split(".")[2] not in SEEDED
    outside = ("os.environ", "os.getenv", "os.putenv", "sys.stdout", "sys.stderr", "sys.argv")
    return name.startswith(outside) or name == "random" or name.startswith("random.")


def deeds_of_call(call: ast.Call, known: dict[str, str]) -> Iterator[str]:
    name = dotted(call.func, known)
    if name in {"open", "print", "input", "os.open", "os.mkdir", *FILE_FUNCTIONS}:
        yield name
    elif isinstance(call.func, ast.Attribute) and call.func.attr in FILE_METHODS:
        yield f".{call.func.attr}"
    if name == "numpy.random.default_rng" and not call.args and not call.keywords:
        yield "unseeded default_rng"


def pickles(tree: ast.AST) -> list[str]:
    """Return every way in which a module could load a pickle."""
    found = [name for name in imported_names(tree) if name.partition(".")[0] in PICKLES]
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.keyword)
            and node.arg == "allow_pickle"
            and not (isinstance(node.value, ast.Constant) and node.value.value is False)
        ):
            found.append("allow_pickle")
    return found


@pytest.mark.parametrize("module", modules())
def test_a_module_imports_only_from_rows_above(module):
    assert imports_from_below(tree_of(module), module) == []


@pytest.mark.parametrize(
    "module", [name for name in modules() if package_of(name) in NUMERIC and name not in OUTSIDE]
)
def test_a_numeric_module_computes_and_does_nothing_else(module):
    assert deeds(tree_of(module)) == []


@pytest.mark.parametrize("module", modules())
def test_nothing_is_ever_unpickled(module):
    assert pickles(tree_of(module)) == []


def test_the_exceptions_are_still_needed():
    assert all(deeds(tree_of(module)) for module in OUTSIDE)


def test_every_package_is_where_the_rules_look():
    assert len(modules()) > 60
    assert {package_of(name) for name in modules()} >= {*NUMERIC, "cli", "storage", "errors"}
    assert not any("utils" in name for name in modules())


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("linalg/modes.py", "from sugartag.graph.gram import LinkGrams"),
        ("linalg/modes.py", "import sugartag.graph.gram"),
        ("engine/local.py", "from sugartag.linalg.modes import inner"),
        ("storage/arrays.py", "from sugartag.engine import base"),
        ("linalg/modes.py", "from sugartag import graph"),
        ("linalg/modes.py", "from sugartag import Collection"),
        ("linalg/modes.py", "import sugartag"),
        ("linalg/modes.py", "from ..graph import gram"),
        ("linalg/modes.py", "from .. import graph"),
        ("linalg/modes.py", "def late():\n    from sugartag.graph import gram"),
        ("errors.py", "from sugartag.linalg import modes"),
        ("collection/readers/shards.py", "from ...graph import gram"),
        ("methods/base.py", "from sugartag.cli.main import main"),
    ],
)
def test_an_import_from_below_is_seen(module, line):
    assert len(imports_from_below(ast.parse(line), module)) == 1


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("graph/gram.py", "from sugartag.linalg.modes import inner"),
        ("graph/gram.py", "from sugartag.graph.wordnet import Taxonomy"),
        ("graph/gram.py", "from . import wordnet"),
        ("graph/gram.py", "from sugartag import errors"),
        ("graph/gram.py", "import numpy as np\nfrom scipy import sparse"),
        ("__init__.py", "from sugartag.cli.main import main"),
        ("cli/main.py", "import sugartag.report.page"),
    ],
)
def test_an_import_from_above_is_fine(module, line):
    assert imports_from_below(ast.parse(line), module) == []


def test_a_package_without_a_row_is_named():
    with pytest.raises(AssertionError, match=r"sugartag\.extras has no row"):
        row_of("extras")


@pytest.mark.parametrize(
    "line",
    [
        "open('a')",
        "print(1)",
        "from pathlib import Path\nPath('a').open()",
        "path.read_text()",
        "path.write_bytes(b'')",
        "import numpy as np\nnp.load('a.npy')",
        "import numpy\nnumpy.save('a.npy', x)",
        "from numpy import load\nload('a.npy')",
        "import numpy as np\nnp.lib.format.open_memmap('a.npy')",
        "import numpy as np\nnp.memmap('a')",
        "x.tofile('a')",
        "import os\nos.environ['HOME']",
        "import os\nos.environ.get('HOME')",
        "import os\nos.getenv('HOME')",
        "from os import environ",
        "from os import getenv as ask",
        "import sys\nsys.stderr.write('a')",
        "import numpy as np\nnp.random.rand(3)",
        "import numpy as np\nnp.random.seed(3)",
        "import numpy as np\ndraw = np.random.normal",
        "from numpy import random\nrandom.rand(3)",
        "from numpy.random import rand",
        "import numpy as np\nrng = np.random.default_rng()",
        "from numpy.random import default_rng\nrng = default_rng()",
        "import random",
        "from random import choice",
    ],
)
def test_a_deed_is_seen(line):
    assert deeds(ast.parse(line)) != []


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np\ndef draw(rng: np.random.Generator) -> None: ...",
        "import numpy as np\nrng = np.random.default_rng(np.random.SeedSequence(3))",
        "import logging\nlogging.getLogger(__name__).info('a')",
        "import os\nos.cpu_count()",
        "rng.random(3)",
        "rng.normal()",
        "import time\ntime.perf_counter()",
    ],
)
def test_computing_is_no_deed(line):
    assert deeds(ast.parse(line)) == []


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "import _pickle",
        "from pickle import loads",
        "import cloudpickle as fine",
        "from joblib import load",
        "import numpy as np\nnp.load('a.npy', allow_pickle=True)",
        "import numpy as np\nnp.load('a.npy', allow_pickle=trusted)",
        "def late():\n    import shelve",
    ],
)
def test_a_pickle_is_seen(line):
    assert pickles(ast.parse(line)) != []


def test_refusing_pickles_is_fine():
    assert pickles(ast.parse("np.load('a.npy', allow_pickle=False)")) == []
