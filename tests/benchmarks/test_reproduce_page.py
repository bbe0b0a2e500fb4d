"""docs/reproduce.md says what the committed result file says."""

import json
import re

import pytest

from reproduce_page import PAGE, PLACE, RESULTS, documented_tables, refreshed
from sugartag.errors import SettingsError
from sugartag.reproduce.experiments import load_experiments, shipped_experiments

TEXT = PAGE.read_text(encoding="utf-8")
PAPERS = {"0.379", "0.485", "0.423", "0.435"}
"""Numbers that are the paper's own."""


@pytest.fixture(scope="module")
def document():
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_the_tables_are_those_of_the_result_file(document):
    assert refreshed(TEXT, document) == TEXT


def test_every_table_there_is_has_its_place(document):
    assert set(PLACE.findall(TEXT)) == set(documented_tables(document))


def test_every_f_and_map_in_the_text_is_in_a_table_or_the_papers():
    text, tables = PLACE.sub("", TEXT), "".join(match[0] for match in PLACE.finditer(TEXT))

    for number in re.findall(r"(?<![\d.,])0\.\d{3}(?!\d)", text):
        assert number in tables or number in PAPERS, number


def test_the_file_is_of_no_quick_run_and_has_photographs_beside_the_synthetic_collection(document):
    assert document["quick"] is False
    assert document["seed"] == 0
    assert document["left_out"] == ""
    names = {on: data["name"] for on, data in document["collections"].items()}
    assert names == {"main": "synthetic", "photographs": "documerica"}


def test_what_the_committed_run_lacks_is_named_on_the_page(document):
    shipped = load_experiments(shipped_experiments(), quick=False)

    for one in shipped:
        assert one.name in document["experiments"] or f"`{one.name}`" in TEXT, one.name
    for name in ("table-1", "table-1-photographs", "concepts-photographs", "convergence"):
        assert name in document["experiments"]


def test_the_papers_settings_are_said_of_nothing_but_the_printed_preset():
    said = re.compile(r"paper['’]s (?:own )?(?:settings|defaults)")
    for line in (line for line in TEXT.splitlines() if said.search(line)):
        assert "printed" in line, line


def test_no_tag_is_a_number(document):
    for name, entry in document["experiments"].items():
        if entry["kind"] == "concepts":
            concepts = [row["concept"] for row in entry["found"]["concepts"]]
            assert not [one for one in concepts if re.search(r"\d", one)], name


def test_an_unknown_table_is_named(document):
    with pytest.raises(SettingsError, match="there is no table 'nothing'"):
        refreshed("<!-- table nothing -->\n<!-- end -->", document)
