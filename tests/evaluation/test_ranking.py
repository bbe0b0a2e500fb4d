import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import average_precision_score, ndcg_score

from sugartag.errors import CollectionError, SettingsError
from sugartag.evaluation import ranking
from sugartag.evaluation.ranking import (
    average_precision,
    average_precision_at,
    average_precision_rows,
    ndcg,
)

TIED = st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, -3.0])
SPREAD = st.floats(-1e6, 1e6, width=32)
HOLES = st.one_of(TIED, SPREAD, st.just(np.nan), st.sampled_from([np.inf, -np.inf]))


@st.composite
def rankings(draw, elements, min_side=2):
    n_items = draw(st.integers(min_side, 40))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    scores = draw(hnp.arrays(dtype, n_items, elements=elements))
    return scores, draw(hnp.arrays(np.bool_, n_items))


@st.composite
def tables(draw):
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=2, max_side=12))
    return draw(hnp.arrays(np.float64, shape, elements=HOLES)), draw(hnp.arrays(np.bool_, shape))


@settings(deadline=None)
@given(rankings(st.one_of(TIED, SPREAD)))
def test_average_precision_is_that_of_scikit_learn(ranking_):
    scores, relevant = ranking_
    assume(relevant.any())

    ours = average_precision(scores, relevant)

    assert ours == pytest.approx(average_precision_score(relevant, scores), rel=1e-12)


@settings(deadline=None)
@given(rankings(HOLES, min_side=0))
def test_an_item_without_a_score_is_not_in_the_ranking(ranking_):
    scores, relevant = ranking_
    ranked = ~np.isnan(scores)

    ours = average_precision(scores, relevant)

    assert ours == pytest.approx(
        average_precision(scores[ranked], relevant[ranked]), rel=1e-12, nan_ok=True
    )
    assert np.isnan(ours) == (not relevant[ranked].any())


def test_equal_scores_are_worth_the_share_of_positives_among_them():
    scores = np.zeros(8)

    assert average_precision(scores, np.arange(8) < 2) == pytest.approx(2 / 8, rel=1e-12)


@settings(deadline=None)
@given(tables())
def test_rows_give_the_average_precision_of_each_row(table):
    scores, relevant = table

    ours = average_precision_rows(scores, relevant)

    expected = [average_precision(*row) for row in zip(scores, relevant, strict=True)]
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


@settings(deadline=None)
@given(tables())
def test_counting_and_sorting_agree(table):
    scores, relevant = table
    positive = relevant & ~np.isnan(scores)

    counted = ranking._by_counting(scores, positive)

    np.testing.assert_allclose(counted, ranking._by_sorting(scores, positive), rtol=1e-12)


@pytest.mark.parametrize("share", [0.02, 0.6], ids=["few", "many"])
def test_rows_agree_with_scikit_learn_across_steps(share):
    rng = np.random.default_rng(8)
    scores = rng.integers(300, size=(1500, 900)).astype(np.float32)
    relevant = rng.random(scores.shape) < share

    ours = average_precision_rows(scores, relevant)

    for row in (0, 700, 1165, 1166, 1499):
        expected = average_precision_score(relevant[row], scores[row])
        assert ours[row] == pytest.approx(expected, rel=1e-12)


@settings(deadline=None)
@given(rankings(st.one_of(TIED, SPREAD)), st.integers(1, 25))
def test_ndcg_is_that_of_scikit_learn(ranking_, k):
    scores, relevant = ranking_
    assume(relevant.any())

    ours = ndcg(scores, relevant, k)

    assert ours == pytest.approx(ndcg_score([relevant], [scores], k=k), rel=1e-12, abs=1e-15)


@settings(deadline=None)
@given(rankings(HOLES, min_side=0), st.integers(1, 10))
def test_ndcg_leaves_out_what_has_no_score(ranking_, k):
    scores, relevant = ranking_
    ranked = ~np.isnan(scores)

    ours = ndcg(scores, relevant, k)

    assert ours == pytest.approx(ndcg(scores[ranked], relevant[ranked], k), nan_ok=True)
    assert np.isnan(ours) == (not relevant[ranked].any())


def literal_average_precision_at(scores, relevant, length, divisor):
    items = [item for item in range(len(scores)) if not np.isnan(scores[item])]
    in_order = sorted(items, key=lambda item: (-scores[item], item))
    hits, total = 0, 0.0
    for rank, item in enumerate(in_order[:length], start=1):
        if relevant[item]:
            hits += 1
            total += hits / rank
    if divisor == "all":
        hits = min(sum(bool(relevant[item]) for item in items), length)
    return total / hits if hits else 0.0


@settings(deadline=None)
@given(
    rankings(HOLES),
    st.lists(st.integers(1, 50), min_size=1, max_size=4),
    st.sampled_from(["retrieved", "all"]),
)
def test_average_precision_at_is_the_literal_sum(ranking_, lengths, divisor):
    scores, relevant = ranking_
    assume((relevant & ~np.isnan(scores)).any())

    ours = average_precision_at(scores, relevant, lengths, divisor=divisor)

    expected = [literal_average_precision_at(scores, relevant, n, divisor) for n in lengths]
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


def test_one_hit_in_first_place_is_perfect_for_the_paper_alone():
    scores = np.arange(10.0)[::-1]
    relevant = np.isin(np.arange(10), [0, 7, 8, 9])

    paper = average_precision_at(scores, relevant, [5], divisor="retrieved")
    standard = average_precision_at(scores, relevant, [5], divisor="all")

    assert paper.tolist() == [1.0]
    assert standard.tolist() == [0.25]


def test_a_long_list_without_ties_has_the_plain_average_precision():
    rng = np.random.default_rng(3)
    scores, relevant = rng.permutation(200) / 200, rng.random(200) < 0.2

    ours = average_precision_at(scores, relevant, [200, 1000], divisor="all")

    np.testing.assert_allclose(ours, average_precision(scores, relevant), rtol=1e-12)


def test_lists_have_no_precision_where_nothing_is_relevant():
    ours = average_precision_at(np.ones(3), np.zeros(3, dtype=bool), [1, 2], divisor="all")

    assert np.isnan(ours).all()


def test_arrays_that_do_not_match_are_refused():
    with pytest.raises(CollectionError, match=r"\(3,\).*\(4,\)"):
        average_precision(np.ones(3), np.ones(4, dtype=bool))
    with pytest.raises(CollectionError, match="2 dimension"):
        average_precision_rows(np.ones(3), np.ones(3, dtype=bool))


@pytest.mark.parametrize("lengths", [[], [3, 0]])
def test_a_list_holds_at_least_one_item(lengths):
    with pytest.raises(SettingsError, match="each at least 1"):
        average_precision_at(np.ones(3), np.ones(3, dtype=bool), lengths, divisor="all")


def test_an_unknown_divisor_is_named():
    with pytest.raises(SettingsError, match="'half'"):
        average_precision_at(np.ones(3), np.ones(3, dtype=bool), [1], divisor="half")


def test_ndcg_needs_a_place():
    with pytest.raises(SettingsError, match="k is 0"):
        ndcg(np.ones(3), np.ones(3, dtype=bool), 0)
