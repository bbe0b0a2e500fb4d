"""The page of the committed run: everything is there, drawn and named."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sugartag.collection.store import save_collection
from sugartag.reproduce.claims import claims_of
from sugartag.reproduce.page import render
from sugartag.reproduce.records import rows_of

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "reproduce.json"


@pytest.fixture(scope="module")
def document():
    return json.loads(RESULTS.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def pictures(collection, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("page") / "pictures"
    save_collection(collection, folder)
    return folder


@pytest.fixture(scope="module")
def page(document, pictures) -> str:
    return render(document, pictures=pictures)


def charts(page: str) -> list[ElementTree.Element]:
    """Return the drawings; they hold drawings themselves, so their ends are counted."""
    found = []
    for start in (match.start() for match in re.finditer(r'<svg class="chart', page)):
        depth = 0
        for tag in re.finditer(r"<svg\b|</svg>", page[start:]):
            depth += 1 if tag[0] != "</svg>" else -1
            if depth == 0:
                found.append(ElementTree.fromstring(page[start : start + tag.end()]))
                break
    return found


def test_every_experiment_has_its_section_and_its_place_in_the_contents(document, page):
    for name, entry in document["experiments"].items():
        assert f'<section id="{name}"' in page
        assert f'<a href="#{name}">' in page
        assert entry["paper"] in page


def test_every_chart_is_well_formed_and_has_two_named_axes_or_rows(page):
    drawn = charts(page)

    assert len(drawn) >= 6
    for chart in drawn:
        names = [one for one in chart.iter("text") if one.get("class") == "axis-name"]
        rows = [one for one in chart.iter("text") if "bar-label" in one.get("class", "")]
        assert len(names) == 2 or (len(names) == 1 and rows)
        assert chart.get("aria-label")


@pytest.mark.parametrize("name", ["table-1", "table-1-photographs"])
def test_the_published_numbers_stand_beside_ours(name, document, page):
    table = page.partition(f'<section id="{name}"')[2].partition("</section>")[0]

    for method, value in document["experiments"][name]["published"]["f"].items():
        ours = document["experiments"][name]["found"]["methods"][method]
        assert f"<td>{value:.3f}</td>" in table
        assert f"<b>{ours['tuned']['f']:.3f}</b>" in table
        assert f"<td>{ours['oracle']['f']:.3f}</td>" in table


def test_marked_concepts_are_boxed(document, page):
    section = page.partition('<section id="concepts"')[2].partition("</section>")[0]

    marked = document["experiments"]["concepts"]["found"]["marked"]
    assert section.count('class="boxed"') == len(marked)


def test_no_number_is_missing(page):
    assert "nan" not in re.sub(r"[\w-]*nan[a-z]+", "", page.lower())
    assert ">None<" not in page


def test_all_claims_are_told_each_statement_once_with_a_verdict_for_each_collection(document, page):
    table = page.partition('<section id="claims"')[2].partition("</section>")[0]

    assert table.count('class="verdict ') == len(document["claims"])
    assert table.count("<tr>") == 1 + len({one["paper"] for one in document["claims"]})
    for one in document["collections"].values():
        assert f'<th scope="col">{one["title"]}</th>' in table


def test_the_committed_verdicts_are_those_of_the_committed_numbers(document):
    assert claims_of(document["experiments"]) == document["claims"]


def test_what_was_left_out_is_said(document, pictures):
    alone = {**document, "left_out": "left out: table-1-photographs; they need <photographs>"}

    assert "<b>Left out: table-1-photographs; they need &lt;photographs&gt;.</b>" in render(
        alone, pictures=pictures
    )


def test_only_a_quick_run_is_said_to_be_one(document, page, pictures):
    quick = render({**document, "quick": True}, pictures=pictures)

    assert "the ranking does not carry over" in quick
    assert "does not carry over" not in page


def test_it_is_said_that_the_pictures_are_of_another_collection(document, pictures):
    one = {"path": "a.png", "title": "A", "owner": "b", "given": ["sky"], "hidden": ["sea"]}
    found = {"methods": ["lr"], "hide": 0.3, "pictures": [one | {"after": {"lr": ["sea", "dog"]}}]}
    entry = {
        "kind": "pictures",
        "on": "main",
        "paper": "x",
        "title": "x",
        "published": {},
        "found": found,
    }

    page = render({**document, "experiments": {"pictures": entry}}, pictures=pictures)

    assert "has no pictures; these are the drawings that come with sugartag" in page
    assert '<li class="chip recovered"><span class="tag">sea</span></li>' in page
    assert '<li class="chip add"><span class="tag">dog</span></li>' in page


def test_every_row_of_a_table_has_as_many_cells_as_its_head(document):
    for entry in document["experiments"].values():
        lengths = {len(row) for row in rows_of(entry)}
        assert len(lengths) == 1


def test_what_failed_is_said_and_the_rest_stands(document, pictures):
    broken = json.loads(json.dumps(document))
    broken["experiments"]["convergence"]["found"] = {"failed": "no <room>"}
    broken["experiments"]["table-1"]["found"]["methods"]["lr"] = {
        "of_the_paper": True,
        "published": 0.41,
        "failed": "no room",
    }

    page = render(broken, pictures=pictures)

    assert "Could not be done: no &lt;room&gt;." in page
    assert '<span class="failed">no room</span>' in page
    assert rows_of(broken["experiments"]["convergence"]) == [["failed"], ["no <room>"]]


def test_it_is_said_by_what_the_numbers_were_measured(document, pictures, page):
    collections = json.loads(json.dumps(document["collections"]))
    collections["main"]["hidden"] = 0.3
    hidden = render({**document, "collections": collections}, pictures=pictures)

    assert "measured by the truth, which no method and no tuning sees." in page
    assert "measured by 30% of the given tags, hidden from every method." in hidden
