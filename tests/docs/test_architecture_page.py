"""docs/architecture.md shows the packages as they are, and the walk through the code as it runs."""

import importlib
import inspect
import re
import runpy
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import sugartag
from sugartag.cli.main import main

ROOT = Path(__file__).parents[2]
SOURCE = Path(sugartag.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WALK = re.compile(r"<!-- walk: ([\w -]+) -->\n(.*?)<!-- end -->", re.DOTALL)
STEP = re.compile(r"^\d+\. `([\w/]+)\.py::([\w.]+)`", re.MULTILINE)
METHODS = ("sugar-plus", "sugar-tc")


def test_the_import_graph_is_drawn_from_the_code_as_it_is():
    drawn = runpy.run_path(str(ROOT / "scripts" / "draw_import_graph.py"))

    assert drawn["PICTURE"].read_text(encoding="utf-8") == drawn["drawing"](), (
        "run: python scripts/draw_import_graph.py"
    )


def test_every_package_has_a_row():
    table = PAGE.partition("## Packages")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    there = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py"} | {
        path.parent.name for path in SOURCE.glob("*/__init__.py")
    }

    assert sorted(named) == sorted(there - {"__init__", "__main__"})


def test_every_file_that_is_named_exists():
    files = set(re.findall(r"`((?!tests|scripts)\w+/[\w/]+\.py)`", PAGE))
    files = {name for name in files if "NAME" not in name}

    assert len(files) > 15
    assert [name for name in files if not (SOURCE / name).is_file()] == []


def code_of(module: str, name: str):
    """Return the code object of a function that the page names."""
    found = importlib.import_module("sugartag." + module.replace("/", "."))
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    found = getattr(found, "callback", found)
    return inspect.unwrap(getattr(found, "__func__", found)).__code__


def steps_of(walk: str) -> list[tuple[str, str]]:
    (text,) = [text for name, text in WALK.findall(PAGE) if name == walk]
    found = STEP.findall(text)
    assert found
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write a table and features, and import them: what is called, in the order of first calls."""
    folder = tmp_path_factory.mktemp("walk")
    rng = np.random.default_rng(0)
    words = [f"tag{k}" for k in range(12)]
    lines = ["image_id,owner,tags"]
    for number in range(400):
        tags = rng.choice(words, size=3, replace=False)
        lines.append(f"{number},owner{number % 7},{'|'.join(tags)}")
    (folder / "photos.csv").write_text("\n".join(lines), encoding="utf-8")
    np.save(folder / "vectors.npy", rng.random((400, 8)))
    return folder


def called(*arguments: object) -> list:
    """Run a command and return the code objects called, in the order of their first calls."""
    order: dict = {}

    def note(frame, event, _):
        if event == "call":
            order.setdefault(frame.f_code, len(order))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        done = CliRunner().invoke(main, [str(one) for one in arguments], catch_exceptions=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert done.exit_code == 0, done.output
    return list(order)


@pytest.fixture(scope="module")
def calls(folder):
    """Return what each command of the walk calls: of ``fit`` and ``suggest``, for each method."""
    photos, found = folder / "photos", {}
    found["import"] = called(
        "import", folder / "photos.csv", "--out", photos, "--features", folder / "vectors.npy"
    )
    for method in METHODS:
        model, settings = folder / method, []
        if method == "sugar-tc":
            settings = ["--set", "image_clusters=4", "--set", "user_clusters=2"]
        found[f"fit {method}"] = called(
            "fit", photos, "--out", model, "--method", method, "--workers", 1, *settings
        )
        found[f"suggest {method}"] = called(
            "suggest", model, photos, "--out", folder / f"{method}.csv", "--workers", 1
        )
    return found


@pytest.mark.parametrize(
    ("walk", "run"),
    [
        ("import", "import"),
        *((verb, f"{verb} {method}") for verb in ("fit", "suggest") for method in METHODS),
        *((f"{verb} {method}",) * 2 for verb in ("fit", "suggest") for method in METHODS),
    ],
)
def test_the_functions_of_the_walk_are_called_in_its_order(walk, run, calls):
    steps, order = steps_of(walk), calls[run]
    codes = [code_of(*step) for step in steps]

    assert [step for step, code in zip(steps, codes, strict=True) if code not in order] == []
    as_called = sorted(zip(codes, steps, strict=True), key=lambda pair: order.index(pair[0]))
    assert [step for _, step in as_called] == steps
