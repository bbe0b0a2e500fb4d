"""The notebook runs, cell by cell, on the data that is shipped."""

import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "quickstart.ipynb"


def cells() -> list[dict]:
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def test_the_notebook_runs(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}

    for number, cell in enumerate(cells()):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)

    known, model, more = names["known"], names["model"], names["more"]
    assert len(known) == 1800
    assert len(model.catalogue.ids) == len(names["df"])
    assert (more["decision"] == "accept").any()
    assert set(more["image_id"]) <= set(names["new"]["image_id"])
    assert (names["changes"]["action"] == "add").any()


def test_the_notebook_is_kept_without_what_it_showed():
    assert all(not cell.get("outputs") for cell in cells())
    assert all(cell.get("execution_count") is None for cell in cells())
