import numpy as np

from sugartag.reproduce.data import chosen_queries, described_queries, variants

PAPER = ("birds", "butterfly", "plane")


def chosen(names, counts, asked=PAPER):
    return chosen_queries(asked, names, np.array(counts))


def test_the_papers_queries_are_taken_where_they_exist():
    found = chosen(["sky", "plane", "birds", "butterfly"], [90, 1, 2, 3])

    assert [(one.name, one.kind) for one in found] == [
        ("birds", "exact"),
        ("butterfly", "exact"),
        ("plane", "exact"),
    ]
    assert described_queries(found, PAPER) == "The paper's queries: birds, butterfly, plane."


def test_else_those_named_alike():
    found = chosen(["bird", "Airplane", "butterflies", "sky"], [5, 5, 5, 90])

    assert [(one.name, one.kind, one.asked) for one in found] == [
        ("bird", "alike", "birds"),
        ("butterflies", "alike", "butterfly"),
        ("Airplane", "alike", "plane"),
    ]
    assert "Named alike: bird, butterflies, Airplane." in described_queries(found, PAPER)


def test_else_the_most_frequent_and_that_is_said():
    found = chosen(["a", "b", "c", "d"], [1, 9, 3, 4])

    assert [one.name for one in found] == ["b", "d", "c"]
    assert {one.kind for one in found} == {"frequent"}
    said = described_queries(found, PAPER)
    assert said.startswith("None of the paper's queries (birds, butterfly, plane) is among")
    assert said.endswith("the most frequent concepts: b, d, c.")


def test_what_is_missing_is_filled_up():
    found = chosen(["sky", "birds", "rock"], [7, 1, 0])

    assert [(one.name, one.kind) for one in found] == [("birds", "exact"), ("sky", "frequent")]
    assert "The other queries of the paper" in described_queries(found, PAPER)


def test_a_query_without_a_relevant_image_is_none():
    assert [one.name for one in chosen(["birds", "bird"], [0, 3])] == ["bird"]


def test_no_concept_is_asked_for_twice():
    found = chosen(["bird"], [3], asked=("birds", "bird"))

    assert [one.name for one in found] == ["bird"]


def test_singular_and_plural_are_alike():
    assert "horse" in variants("horses")
    assert "buildings" in variants("building")
    assert "butterflies" in variants("butterfly")
