"""The same command gives the same bytes, whatever the workers, the memory and the blocks."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import sugartag.collection
from sugartag.cli.main import main
from sugartag.collection.store import open_collection
from sugartag.collection.synthetic import medium
from sugartag.costs.estimate import Plan
from sugartag.costs.limits import in_bytes_above, least_needed, needed
from sugartag.costs.size import size_of
from sugartag.methods.registry import make_method

SETTINGS = {"sugar-plus": ["--set", "max_predictors=100"], "linear-probe": []}


ROWS = 1_000
"""Images of a block, for few images to be several blocks."""


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("same") / "photos"
    replace(medium(), n_images=2_600, n_tags=500, n_topics=16, n_features=16).write(folder, 0)
    return folder


def run(*arguments: object) -> None:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def limits(method: str, photos: Path) -> list[str]:
    """Return the memory that one thread needs at least, to the byte, and that two need."""
    plan = Plan.of(make_method(method), size_of(open_collection(photos)), workers=2)
    return [in_bytes_above(least_needed(plan)).replace(" ", ""), str(int(needed(plan)) + 1)]


@pytest.mark.parametrize("method", SETTINGS)
def test_neither_workers_nor_memory_change_a_byte_of_a_model(method, photos, tmp_path, monkeypatch):
    monkeypatch.setattr(
        sugartag.collection,
        "open_collection",
        lambda folder: replace(open_collection(folder), rows_at_once=ROWS),
    )
    least, enough = limits(method, photos)
    options = {
        "1": ["--workers", 1],
        "2": ["--workers", 2],
        "3": ["--workers", 3],
        "least": ["--workers", 2, "--max-memory", least],
        "enough": ["--workers", 2, "--max-memory", enough],
    }
    for name, others in options.items():
        run("fit", photos, "--out", tmp_path / name, "--method", method, *SETTINGS[method], *others)

    expected = contents(tmp_path / "1")
    for name in options:
        assert contents(tmp_path / name) == expected, name
    if method == "sugar-plus":
        for workers in (1, 2, 3):
            out = tmp_path / f"changes-{workers}.csv"
            run("suggest", tmp_path / "1", photos, "--out", out, "--workers", workers)
            assert out.read_bytes() == (tmp_path / "changes-1.csv").read_bytes()


def test_neither_workers_nor_blocks_change_a_byte_of_scores(photos, tmp_path):
    settings = ["--set", "sugar-plus.max_predictors=100"]
    for block in (100, 700, 4_000):
        for workers in (1, 2, 3):
            run("evaluate", photos, "--methods", "sugar-plus,tag-prior", *settings, "--hide", 0.3,
                "--block", block, "--workers", workers,
                "--save-scores", tmp_path / f"{block}-{workers}")  # fmt: skip

    expected = contents(tmp_path / "100-1")
    for folder in tmp_path.iterdir():
        assert contents(folder) == expected, folder.name
