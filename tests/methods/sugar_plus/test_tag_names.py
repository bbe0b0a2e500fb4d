"""Tags with similar names lend each other what their looks say."""

import numpy as np
import pytest

from methods.sugar_plus import literal
from methods.sugar_plus.literal import NAMES, UNUSED
from sugartag.methods.sugar_plus import tag_names
from sugartag.methods.sugar_plus.tag_names import name_operator, name_similarities

USES = np.array([30, 3, 20, 4, 9, 8, 12, 3, 7, 9, 9, 8, 2, 0], dtype=float)
SPREAD = np.linspace(0.01, 0.2, 14)


@pytest.mark.parametrize("rows_at_once", [3, 256])
def test_the_operator_is_lins_similarity_above_a_half_rescaled_to_the_tag_predicted(
    rows_at_once, monkeypatch
):
    monkeypatch.setattr(tag_names, "ROWS_AT_ONCE", rows_at_once)

    found = name_operator(NAMES, USES, SPREAD, 0.3).toarray()

    expected = literal.name_matrix(NAMES, USES, SPREAD, 0.3)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert np.count_nonzero(expected) > 20


def test_a_weight_of_0_leaves_names_out():
    np.testing.assert_array_equal(name_operator(NAMES, USES, SPREAD, 0.0).toarray(), np.eye(14))


def test_names_that_are_no_words_and_tags_not_used_stay_alone():
    found = name_operator(NAMES, USES, SPREAD, 0.3).toarray()
    alone = [NAMES.index("qqzx"), NAMES.index("xkcdy"), UNUSED]

    np.testing.assert_array_equal(found[alone], np.eye(14)[alone])
    np.testing.assert_array_equal(found[:, alone], np.eye(14)[:, alone])
    unknown = [f"qq{number}zz" for number in range(14)]
    np.testing.assert_array_equal(name_operator(unknown, USES, SPREAD, 0.3).toarray(), np.eye(14))


def test_only_the_most_used_tags_take_part(monkeypatch):
    monkeypatch.setattr(tag_names, "MOST_TAGS", 8)
    most = np.sort(np.argsort(-USES, kind="stable")[:8])
    others = np.setdiff1d(np.arange(14), most)

    found = name_operator(NAMES, USES, SPREAD, 0.3).toarray()

    np.testing.assert_array_equal(found[others], np.eye(14)[others])
    few = literal.name_matrix([NAMES[tag] for tag in most], USES[most], SPREAD[most], 0.3)
    np.testing.assert_allclose(found[np.ix_(most, most)], few, rtol=1e-5)
    assert np.count_nonzero(few) > 8


def test_what_a_tag_lends_varies_as_the_borrower_does():
    dog, puppy = NAMES.index("dog"), NAMES.index("puppy")
    spread = np.where(np.arange(14) == dog, 0.4, 0.04)

    found = name_operator(NAMES, USES, spread, 1.0).toarray()

    shared = name_similarities(NAMES[:13], USES[:13]).toarray()[dog, puppy]
    assert shared > 0.1
    assert found[dog, puppy] * spread[dog] == pytest.approx(shared * spread[puppy], rel=0.05)
    assert found[puppy, dog] * spread[puppy] == pytest.approx(shared * spread[dog], rel=0.05)


def test_similarities_are_symmetric_and_from_0_to_1_and_none_is_of_a_name_with_itself():
    found = name_similarities(NAMES[:13], USES[:13]).toarray()

    np.testing.assert_allclose(found, found.T)
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    assert not np.diag(found).any()
