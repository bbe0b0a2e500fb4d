"""The notebook runs, cell by cell, on the data that is shipped, and shows what cells end with."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "quickstart.ipynb"


def cells() -> list[dict]:
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def run(number: int, source: str, names: dict[str, object]) -> object:
    """Run a cell and return what it ends with, as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"cell {number}", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)


def test_the_notebook_runs(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}

    shown = [
        run(number, "".join(cell["source"]), names)
        for number, cell in enumerate(cells())
        if cell["cell_type"] == "code"
    ]

    as_html = [one._repr_html_() for one in shown if hasattr(one, "_repr_html_")]
    assert len(as_html) >= 6
    assert all("<" in text and len(text) < 20_000 for text in as_html)
    known, model, more = names["known"], names["model"], names["more"]
    assert len(known) == 1800
    assert len(model.catalogue.ids) == len(names["df"])
    assert (more["decision"] == "accept").any()
    assert set(more["image_id"]) <= set(names["new"]["image_id"])
    assert (names["changes"]["action"] == "add").any()


def test_the_notebook_is_kept_without_what_it_showed():
    assert all(not cell.get("outputs") for cell in cells())
    assert all(cell.get("execution_count") is None for cell in cells())
