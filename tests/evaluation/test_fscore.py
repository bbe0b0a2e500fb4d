import functools
import operator

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.metrics import precision_recall_fscore_support

from sugartag.assignment.rank import top_tags
from sugartag.errors import CollectionError
from sugartag.evaluation.fscore import change_counts, concepts_of, f_counts

N_TAGS = 5
CONCEPT_TAG = {0: 3, 1: 0, 3: 3}
"""Of four concepts, one has no tag in the vocabulary and two share one."""
N_CONCEPTS = 4


@st.composite
def blocks(draw):
    """Draw given tags, predicted tags and true concepts of the same few images."""
    n_images = draw(st.integers(0, 8))
    given_tags, predicted = (draw(hnp.arrays(np.bool_, (n_images, N_TAGS))) for _ in range(2))
    return given_tags, predicted, draw(hnp.arrays(np.bool_, (n_images, N_CONCEPTS)))


def as_concepts(tags):
    dense = np.zeros((len(tags), N_CONCEPTS), dtype=bool)
    for concept, tag in CONCEPT_TAG.items():
        dense[:, concept] = tags[:, tag]
    return dense


def counts_of(predicted, relevant, **options):
    return f_counts(sparse.csr_array(predicted), sparse.csr_array(relevant), CONCEPT_TAG, **options)


def changes_of(given_tags, predicted, relevant):
    arrays = (sparse.csr_array(array) for array in (predicted, given_tags, relevant))
    return change_counts(*arrays, CONCEPT_TAG)


@settings(deadline=None)
@given(blocks())
def test_f_is_that_of_scikit_learn_and_its_mean_is_over_concepts_that_are_there(block):
    _, predicted, relevant = block
    assume(len(relevant))
    sides = (relevant, as_concepts(predicted))

    counts = counts_of(predicted, relevant)

    *_, f, support = precision_recall_fscore_support(*sides, zero_division=0)
    np.testing.assert_allclose(counts.f(), f, rtol=1e-12)
    known = f[support > 0]
    expected = np.mean(known) if known.size else np.nan
    assert counts.mean_f() == pytest.approx(expected, rel=1e-12, nan_ok=True)


@settings(deadline=None)
@given(blocks(), st.integers(0, 8))
def test_counts_of_blocks_add_up_to_those_of_the_whole(block, cut):
    given_tags, predicted, relevant = block
    parts = [slice(None, cut), slice(cut, None)]

    added = functools.reduce(
        operator.add, [counts_of(predicted[part], relevant[part]) for part in parts]
    )
    changed = functools.reduce(
        operator.add,
        [changes_of(given_tags[part], predicted[part], relevant[part]) for part in parts],
    )

    whole = counts_of(predicted, relevant)
    np.testing.assert_array_equal(added.true_positives, whole.true_positives)
    np.testing.assert_array_equal(added.predicted, whole.predicted)
    np.testing.assert_array_equal(added.relevant, whole.relevant)
    assert changed == changes_of(given_tags, predicted, relevant)


@settings(deadline=None)
@given(blocks(), st.data())
def test_weighted_counts_are_those_of_repeated_images(block, data):
    _, predicted, relevant = block
    weights = data.draw(
        hnp.arrays(np.uint8, (3, len(predicted)), elements=st.sampled_from([0, 1, 2, 200]))
    )

    counts = counts_of(predicted, relevant, weights=weights)

    for replicate, weight in enumerate(weights):
        repeated = counts_of(
            np.repeat(predicted, weight, axis=0), np.repeat(relevant, weight, axis=0)
        )
        np.testing.assert_array_equal(counts.true_positives[replicate], repeated.true_positives)
        np.testing.assert_array_equal(counts.predicted[replicate], repeated.predicted)
        np.testing.assert_array_equal(counts.relevant[replicate], repeated.relevant)
        assert counts.mean_f()[replicate] == pytest.approx(repeated.mean_f(), nan_ok=True)


@settings(deadline=None)
@given(blocks())
def test_changes_are_counted_pair_by_pair(block):
    given_tags, predicted, relevant = block
    start, guess = as_concepts(given_tags), as_concepts(predicted)

    counts = changes_of(given_tags, predicted, relevant)

    pairs = list(zip(start.flat, guess.flat, relevant.flat, strict=True))
    assert counts.added == sum(p and not g for g, p, _ in pairs)
    assert counts.rightly_added == sum(p and not g and t for g, p, t in pairs)
    assert counts.missing == sum(t and not g for g, _, t in pairs)
    assert counts.removed == sum(g and not p for g, p, _ in pairs)
    assert counts.rightly_removed == sum(g and not p and not t for g, p, t in pairs)
    assert counts.wrong == sum(g and not t for g, _, t in pairs)


def test_adding_and_removing_are_scored_apart():
    given_tags = sparse.csr_array([[1, 1, 1, 1, 1, 0, 0, 0, 0]])
    predicted = sparse.csr_array([[1, 1, 1, 0, 0, 1, 1, 0, 0]])
    relevant = sparse.csr_array([[1, 0, 0, 0, 1, 1, 0, 1, 1]])

    counts = change_counts(predicted, given_tags, relevant, {tag: tag for tag in range(9)})

    assert counts.add_precision() == 1 / 2
    assert counts.add_recall() == 1 / 3
    assert counts.remove_precision() == 1 / 2
    assert counts.remove_recall() == 1 / 3


def test_no_change_has_no_precision_and_nothing_to_do_no_recall():
    same = sparse.csr_array([[1, 0]])

    counts = change_counts(same, same, same, {0: 0, 1: 1})

    assert np.isnan(counts.add_precision())
    assert np.isnan(counts.add_recall())
    assert np.isnan(counts.remove_precision())
    assert np.isnan(counts.remove_recall())


def test_a_concept_without_a_tag_scores_zero_and_stays_in_the_mean():
    tags = sparse.csr_array([[1, 0], [0, 1]])
    relevant = sparse.csr_array([[1, 1], [0, 1]])

    counts = f_counts(tags, relevant, {0: 0})

    assert counts.f().tolist() == [1.0, 0.0]
    assert counts.mean_f() == 0.5


def test_what_is_true_of_a_concept_without_a_tag_is_missing():
    tags = sparse.csr_array([[1, 0]])

    counts = change_counts(tags, tags, sparse.csr_array([[0, 1]]), {0: 0})

    assert counts.missing == 1
    assert counts.add_recall() == 0


def test_top_tags_are_scored_as_sets():
    top = top_tags(np.array([[0.9, 0.8, 0.1], [0.0, 0.2, 0.3]]), 1, floor=0.0)
    relevant = sparse.csr_array([[1, 1], [0, 1]])

    counts = f_counts(top.as_rows(3), relevant, {0: 0, 1: 2})

    assert counts.true_positives.tolist() == [1, 1]
    assert counts.predicted.tolist() == [1, 1]
    assert counts.relevant.tolist() == [1, 2]


@pytest.mark.parametrize("dtype", [np.float32, np.bool_])
def test_a_stored_zero_is_not_in_the_set_and_a_repeated_entry_is_in_it_once(dtype):
    stored = sparse.csr_array(
        (np.array([0, 1, 1], dtype=dtype), np.array([0, 1, 1]), np.array([0, 3])), shape=(1, 2)
    )

    counts = f_counts(stored, stored, {0: 0, 1: 1})

    assert counts.predicted.tolist() == [0, 1]
    assert counts.relevant.tolist() == [0, 1]
    assert stored.nnz == 3


def test_without_concepts_the_mean_is_undefined():
    assert np.isnan(f_counts(sparse.csr_array((2, 3)), sparse.csr_array((2, 0)), {}).mean_f())


@pytest.mark.parametrize("concept_tag", [{4: 0}, {0: 5}, {0: -1}])
def test_a_concept_or_tag_that_is_not_there_is_named(concept_tag):
    (concept, tag), *_ = concept_tag.items()

    with pytest.raises(CollectionError, match=f"concept {concept} is scored by tag {tag}"):
        concepts_of(sparse.csr_array((2, N_TAGS)), concept_tag, n_concepts=N_CONCEPTS)


def test_blocks_of_different_images_are_refused():
    tags, truth = sparse.csr_array((2, 3)), sparse.csr_array((1, 1))

    with pytest.raises(CollectionError, match="predicted has 2 images and the truth 1"):
        f_counts(tags, truth, {0: 0})
    with pytest.raises(CollectionError, match="given has 2 images and the truth 1"):
        change_counts(sparse.csr_array((1, 3)), tags, truth, {0: 0})


@pytest.mark.parametrize("weights", [np.ones((2, 3), dtype=int), np.ones((2, 2)), np.ones(2, int)])
def test_weights_must_be_counts_of_the_images(weights):
    with pytest.raises(CollectionError, match="replicates x images"):
        f_counts(sparse.csr_array((2, 3)), sparse.csr_array((2, 1)), {0: 0}, weights=weights)


def test_counts_of_different_concepts_do_not_add_up():
    tags = sparse.csr_array((2, 3))
    one, two = (f_counts(tags, sparse.csr_array((2, n)), {}) for n in (1, 2))

    with pytest.raises(CollectionError, match="do not add up"):
        one + two
