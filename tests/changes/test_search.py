"""Searching a catalogue: what words, their signs and their ranking mean."""

from pathlib import Path

import pytest

from catalogues import copied_catalogue, made_catalogue
from sugartag.changes.searching import search
from sugartag.errors import SettingsError


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("searched")
    with made_catalogue(folder) as made:
        yield made


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("beach", ["1", "3"]),
        ("sun", ["1", "3", "2", "4"]),
        ("SUN beach", ["1", "3"]),
        ("sun AND NOT dog", ["3", "4"]),
        ("beach OR dog", ["1", "2", "3"]),
        ("NOT (beach OR dog)", ["4"]),
        ("owner:Anna", ["1", "4"]),
        ("sun owner:ben", ["3"]),
        ("group:divers", ["3"]),
        ("is:untagged", ["3"]),
        ("is:tagged", ["1", "2", "4"]),
        ("is:proposed", ["1", "3"]),
        ("is:doubted", ["2", "4"]),
        ("beach score>0.8", ["1"]),
        ("sun score>=0.2", ["1", "3", "2"]),
        ('title:"my dog"', ["2"]),
        ('tag:"sun"', ["1", "3", "2", "4"]),
        ("su*", ["1", "3", "2", "4"]),
        ("nothing", []),
        ("", ["1", "2", "3", "4"]),
    ],
)
def test_a_query_finds_what_it_says(catalogue, query, found):
    result = search(catalogue, query)

    assert [hit.image_id for hit in result.hits] == found
    assert result.total == len(found)


def test_hits_are_ranked_by_probability_with_the_original_rank_beside(catalogue):
    hits = search(catalogue, "sun").hits

    assert [(hit.image_id, hit.probability, hit.original_rank) for hit in hits] == [
        ("1", 0.9, 1),
        ("3", 0.9, None),
        ("2", 0.2, 2),
        ("4", 0.1, 3),
    ]


def test_a_page_of_hits_begins_where_it_is_asked_to(catalogue):
    page = search(catalogue, "sun", offset=1, limit=2)

    assert ([hit.image_id for hit in page.hits], page.total) == (["3", "2"], 4)


def test_what_a_person_decided_counts_for_certain(catalogue, tmp_path):
    with copied_catalogue(catalogue.path.parent, tmp_path) as own:
        own.decide("3", "sun", "reject", reviewer="anna")
        own.decide("4", "beach", "accept", reviewer="anna")

        assert [hit.image_id for hit in search(own, "beach").hits] == ["4", "1", "3"]
        assert "3" not in [hit.image_id for hit in search(own, "sun").hits]


@pytest.mark.parametrize(
    "query", ["sun AND", "(sun", "sun)", "OR sun", "NOT", "is:blue", "a" * 1001, "a " * 51]
)
def test_a_query_that_makes_no_sense_is_refused_in_a_line(catalogue, query):
    with pytest.raises(SettingsError):
        search(catalogue, query)
