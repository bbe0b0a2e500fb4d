import json
import re
from itertools import pairwise

import pytest

from compare import PAGE, RESULTS
from comparison.cases import CASE_NAMES
from comparison.jobs import Effort, Job, run_job, write_json
from comparison.method_page import real_collections_table, with_table
from comparison.render import LARGE, TITLES, comparison_section, large_section, render
from comparison.rounds import hidden_case
from comparison.summary import comparison_document
from sugartag.errors import StorageError


@pytest.fixture(scope="module")
def document(collection, tmp_path_factory):
    case = hidden_case("openclipart", "A small collection.", collection)
    folder = tmp_path_factory.mktemp("jobs")
    runs = {
        name: {s: run_job(Job(name, s), case, folder, effort=Effort(budget, 20)) for s in (0, 1)}
        for name, budget in (("original", 0), ("tag-prior", 0), ("tag-vote", 2))
    }
    return comparison_document(case, runs, seeds=[0, 1], effort=Effort(2, 20), processes=2)


def large(**methods):
    counts = {"images": 20000, "tags": 2000, "owners": 2000, "groups": 400, "concepts": 128}
    machine = {"cpu": "some processor", "cores": 2, "memory_mb": 25000}
    return {"collection": counts, "machine": machine, "methods": methods}


def found(precision, seconds):
    cost = {"fit_seconds": seconds, "score_seconds": 1.0, "peak_rss_mb": 1234.5}
    return {"map": precision, "miap": 0.5, **cost}


def test_the_page_is_what_the_result_files_say():
    files = [RESULTS / f"comparison-{name}.json" for name in CASE_NAMES] + [RESULTS / LARGE]
    if not any(file.exists() for file in files):
        assert not PAGE.exists()
        return

    assert PAGE.read_text(encoding="utf-8") == render(RESULTS)


def test_every_case_has_a_title():
    assert set(TITLES) == set(CASE_NAMES)


def test_rows_are_sorted_by_map_and_the_best_is_bold(document):
    section = comparison_section(document)

    order = re.findall(r"^\| \[([\w-]+)\]\(methods/", section, re.MULTILINE)[:3]

    means = {name: e["summary"]["tuned"]["map"]["mean"] for name, e in document["methods"].items()}
    assert order == sorted(means, key=lambda name: -means[name])
    assert f"| [{order[0]}](methods/{order[0]}.md) | **{means[order[0]]:.3f}** ± " in section


def test_every_row_of_a_table_has_as_many_cells_as_its_head(document, tmp_path):
    write_json(tmp_path / "comparison-openclipart.json", document)
    write_json(tmp_path / LARGE, large(original=found(0.1, 2.0)))

    tables = re.findall(r"(?:^\|.*\|$\n?)+", render(tmp_path), re.MULTILINE)

    assert len(tables) == 4
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_tables_stand_between_empty_lines(document):
    lines = comparison_section(document).splitlines()

    for before, line in pairwise(lines):
        if line.startswith("|") != before.startswith("|"):
            assert not line or not before


def test_reference_points_and_failures_are_told(document):
    failed = {"runs": {"0": {"tuned": {"failed": "no room"}}}, "summary": {"tuned": {}}}
    changed = document | {
        "reference_points": {"random order": 0.6},
        "methods": document["methods"] | {"mrtf": failed},
    }

    section = comparison_section(changed)

    assert "| random order | 0.600 |" in section
    assert "- mrtf could not be measured: no room" in section


def test_the_chosen_settings_are_told(document):
    chosen = document["methods"]["tag-vote"]["runs"]["1"]["chosen"]

    section = comparison_section(document)

    row = next(line for line in section.splitlines() if line.startswith("| tag-vote | 1 |"))
    assert all(f"`{name}=" in row for name in chosen)


def test_time_and_memory_of_a_large_collection_are_told():
    section = large_section(large(original=found(0.1, 179.0), lr=found(0.25, 419.0)))

    assert "## 20,000 images: time and memory" in section
    assert "It took 10 minutes for all 2 together" in " ".join(section.split())
    assert section.index("| [lr](methods/lr.md) | 0.250 | 0.500 | 419.0 | 1.0 | 1,234 |") < (
        section.index("| [original]")
    )


def test_no_page_is_made_of_nothing(tmp_path):
    with pytest.raises(StorageError, match="no result files"):
        render(tmp_path)


def test_the_table_on_the_page_of_sugar_plus_is_what_the_result_files_say():
    page = (PAGE.parent / "methods" / "sugar-plus.md").read_text(encoding="utf-8")

    assert with_table(page, RESULTS) == page
    assert "| documerica | MAP |" in page


def test_the_best_other_method_is_taken_at_its_better_figure(tmp_path):
    def entry(tuned, default):
        return {
            "summary": {"tuned": {"map": {"mean": tuned}}, "default": {"map": {"mean": default}}}
        }

    methods = {"sugar-plus": entry(0.5, 0.5), "nmc": entry(0.3, 0.4), "lr": entry(0.35, 0.1)}
    (tmp_path / "comparison-mdi.json").write_text(json.dumps({"methods": methods}))

    assert real_collections_table(tmp_path).splitlines()[2:] == [
        "| mdi | MAP | 0.500 | 0.400 (nmc) | 1.250 |"
    ]
