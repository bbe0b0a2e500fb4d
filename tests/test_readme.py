import json
import re
import zipfile
from importlib import resources
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_example_in_the_readme_runs_and_prints_verdicts(capsys, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)

    exec(compile(example, "README.md", "exec"), {})

    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[1] == "add" for line in lines)
    assert all(line.split()[1] in ("add", "keep", "doubt") for line in lines)


def test_the_example_is_six_lines():
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)

    assert len([line for line in example.splitlines() if line.strip()]) <= 6


def test_the_readme_fits_on_a_screen_and_counts_what_is_shipped():
    text = README.read_text(encoding="utf-8")
    packed = resources.files("sugartag") / "assets" / "photos" / "photos.zip"
    with resources.as_file(packed) as path, zipfile.ZipFile(path) as archive:
        pictures = [name for name in archive.namelist() if name.endswith(".webp")]
    photographers = {name.partition("/")[0] for name in pictures}

    assert f"retags {len(pictures)} photographs by {len(photographers)} photographers" in text
    assert len(text.splitlines()) < 85


def test_what_the_truncated_basis_saves_is_what_was_measured():
    results = README.parent / "benchmarks" / "results"
    truncated = json.loads((results / "truncated-basis.json").read_text(encoding="utf-8"))
    page = (README.parent / "docs" / "methods" / "sugar-tc.md").read_text(encoding="utf-8")

    assert f"takes {truncated['derived']['ratios']['truncated / exact']:.2f} of the time" in page
    assert truncated["entries"]["sugar-tc-truncated"]["relative_gap"] < 0.0003 / 100
