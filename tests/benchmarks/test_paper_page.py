"""sugar-tc beside the simplest peers: the committed numbers, and the page that states them."""

from pathlib import Path

import pytest

from bench_paper import PAGE
from comparison.filling import RESULTS
from comparison.jobs import read_json
from comparison.paper import FILE, paper_table, with_tables


@pytest.fixture(scope="module")
def document():
    return read_json(Path(RESULTS) / FILE)


def test_the_page_of_sugar_tc_has_the_tables_of_the_result_file(document):
    page = PAGE.read_text(encoding="utf-8")

    assert with_tables(page, document) == page


@pytest.mark.parametrize("case", ["documerica", "openclipart", "mdi"])
@pytest.mark.parametrize("peer", ["original", "tag-prior", "tag-vote, one vote an owner"])
def test_sugar_tc_beats_the_simplest_peers_in_both_rankings(case, peer, document):
    runs = document["cases"][case]

    for key in ("map", "miap"):
        for seed, ours in runs["sugar-tc"].items():
            assert ours[key] > runs[peer][seed][key]


def test_with_own_tags_its_ten_best_are_better_than_the_tags_as_given(document):
    runs = document["cases"]["documerica"]

    peers = ("original", "tag-vote, one vote an owner")
    for seed, ours in runs["sugar-tc"].items():
        assert ours["f_top10"] > max(runs[peer][seed]["f_top10"] for peer in peers)


def test_the_table_has_means_over_seeds():
    runs = {"0": {"map": 0.2, "miap": 0.4}, "1": {"map": 0.4, "miap": 0.4}}

    assert "| sugar-tc | 0.300 | 0.400 |" in paper_table({"mdi": {"sugar-tc": runs}})
