"""docs/reproduce.md says what the committed result file says."""

import json
import re
from pathlib import Path

import pytest
from sugartag.reproduce.markdown import PLACE, TABLES, refreshed

from sugartag.errors import SettingsError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
RESULTS = json.loads(
    (ROOT / "benchmarks" / "results" / "reproduce.json").read_text(encoding="utf-8")
)
PAPERS = {"0.379", "0.485"}
"""Numbers that are the paper's own."""


def test_the_tables_are_those_of_the_result_file():
    assert refreshed(PAGE, RESULTS) == PAGE


def test_every_table_there_is_has_its_place():
    assert set(PLACE.findall(PAGE)) == set(TABLES)


def test_every_f_and_map_in_the_text_is_in_a_table_or_the_papers():
    text, tables = PLACE.sub("", PAGE), "".join(match[0] for match in PLACE.finditer(PAGE))

    for number in re.findall(r"(?<![\d.,])0\.\d{3}(?!\d)", text):
        assert number in tables or number in PAPERS, number


def test_the_file_is_of_the_full_default_run():
    assert RESULTS["quick"] is False
    assert RESULTS["seed"] == 0
    assert RESULTS["data"]["name"] == "planted"
    assert len(RESULTS["experiments"]) == 11


def test_an_unknown_table_is_named():
    with pytest.raises(SettingsError, match="there is no table 'nothing'"):
        refreshed("<!-- table nothing -->\n<!-- end -->", RESULTS)
