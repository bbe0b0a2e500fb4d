"""Tags with similar names lend each other what their looks say."""

import numpy as np
import pytest

from methods.sugar_plus import literal
from methods.sugar_plus.literal import NAMES, UNUSED
from sugartag.graph import name_vectors
from sugartag.methods.sugar_plus import tag_names
from sugartag.methods.sugar_plus.tag_names import name_operator, name_similarities

USES = np.array([30, 3, 20, 4, 9, 8, 12, 3, 7, 9, 9, 8, 2, 0], dtype=float)
SPREAD = np.linspace(0.01, 0.2, 14)


@pytest.mark.parametrize("rows_at_once", [3, 512])
def test_the_similarity_is_the_cosine_of_word_vectors_above_two_fifths(rows_at_once, monkeypatch):
    monkeypatch.setattr(name_vectors, "ROWS_AT_ONCE", rows_at_once)

    found = name_similarities(NAMES, USES).toarray()

    expected = literal.name_similarity(NAMES, USES)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.count_nonzero(expected) > 10


def test_the_operator_rescales_what_is_lent_to_the_tag_predicted():
    found = name_operator(name_similarities(NAMES, USES), SPREAD, 0.3).toarray()

    np.testing.assert_allclose(found, literal.name_matrix(NAMES, USES, SPREAD, 0.3), rtol=1e-5)


def test_a_weight_of_0_leaves_names_out():
    found = name_operator(name_similarities(NAMES, USES), SPREAD, 0.0).toarray()

    np.testing.assert_array_equal(found, np.eye(14))


def test_names_that_are_no_words_and_tags_not_used_stay_alone():
    found = name_similarities(NAMES, USES).toarray()
    alone = [NAMES.index("qqzx"), NAMES.index("xkcdy"), UNUSED]

    assert not found[alone].any()
    assert not found[:, alone].any()
    assert not name_similarities([f"qq{number}zz" for number in range(14)], USES).nnz


def test_only_the_most_used_tags_take_part(monkeypatch):
    monkeypatch.setattr(tag_names, "MOST_TAGS", 11)
    most = np.sort(np.argsort(-USES, kind="stable")[:11])
    others = np.setdiff1d(np.arange(14), most)

    found = name_similarities(NAMES, USES).toarray()

    assert not found[others].any()
    assert not found[:, others].any()
    few = literal.name_similarity([NAMES[tag] for tag in most], USES[most])
    np.testing.assert_allclose(found[np.ix_(most, most)], few, atol=1e-6)
    assert few.any()


def test_what_a_tag_lends_varies_as_the_borrower_does():
    dog, puppy = NAMES.index("dog"), NAMES.index("puppy")
    spread = np.where(np.arange(14) == dog, 0.4, 0.04)
    similarity = name_similarities(NAMES, USES)

    found = name_operator(similarity, spread, 1.0).toarray()

    shared = similarity.toarray()[dog, puppy]
    assert shared > 0.1
    assert found[dog, puppy] * spread[dog] == pytest.approx(shared * spread[puppy], rel=0.05)
    assert found[puppy, dog] * spread[puppy] == pytest.approx(shared * spread[dog], rel=0.05)


def test_similarities_are_symmetric_and_from_0_to_1_and_none_is_of_a_name_with_itself():
    found = name_similarities(NAMES, USES).toarray()

    np.testing.assert_allclose(found, found.T, atol=1e-6)
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    assert not np.diag(found).any()
