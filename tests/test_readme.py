import re
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


def test_the_numbers_in_the_readme_are_those_of_the_result_files():
    import json

    text = README.read_text(encoding="utf-8")
    results = README.parent / "benchmarks" / "results"
    scaling = json.loads((results / "bench-scaling.json").read_text(encoding="utf-8"))
    paper_size = json.loads((results / "bench-paper-size.json").read_text(encoding="utf-8"))

    seconds = {entry["counts"]["images"]: entry["seconds"] for entry in scaling["entries"].values()}
    assert f"in {seconds[100_000]:.0f} seconds on two cores" in text
    assert f"a million in {seconds[1_000_000] / 60:.1f} minutes" in text
    (growth,) = (
        step["peak_anonymous"]
        for step in scaling["derived"]["growth"]["sugar-plus"]
        if (step["from"], step["to"]) == (250_000, 1_000_000)
    )
    assert f"in {growth:.2f} times the memory that\n  250,000 took" in text
    derived = paper_size["derived"]
    assert f"1/{int(1 / derived['ratios']['exact / 450 updates'])} of the time" in text
    assert f"a whole run {derived['stated']['sugar-tc-exact']['seconds'] / 60:.1f} minutes" in text
    truncated = json.loads((results / "truncated-basis.json").read_text(encoding="utf-8"))
    page = (README.parent / "docs" / "methods" / "sugar-tc.md").read_text(encoding="utf-8")
    assert f"takes {truncated['derived']['ratios']['truncated / exact']:.2f} of the time" in page
    assert truncated["entries"]["sugar-tc-truncated"]["relative_gap"] < 0.0003 / 100
