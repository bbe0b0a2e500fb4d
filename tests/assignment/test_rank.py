import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sugartag.assignment.rank import TopTags, top_tags
from sugartag.errors import CollectionError, SettingsError

FEW_VALUES = [0.0, -0.0, 0.5, 1.0, 2.0, -1.0, np.inf, -np.inf, np.nan]
TIED = hnp.arrays(
    st.sampled_from([np.float32, np.float64]),
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=40),
    elements=st.sampled_from(FEW_VALUES),
)


def literal_top(scores, k, floor, allowed):
    """Sort every row whole, by falling score and then by tag."""
    chosen = []
    for row, may in zip(scores, np.broadcast_to(allowed, scores.shape), strict=True):
        tags = [tag for tag in range(len(row)) if may[tag] and row[tag] > floor]
        chosen.append(sorted(tags, key=lambda tag: (-row[tag], tag))[:k])
    return chosen


def listed(top: TopTags) -> list[list[int]]:
    return [top.of(row).tolist() for row in range(top.n_rows)]


@settings(deadline=None)
@given(TIED, st.integers(0, 12), st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0, np.inf]))
@example(np.zeros((3, 200)), 2, -np.inf)
@example(np.zeros((3, 200)), 2, 0.0)
def test_the_choice_is_that_of_sorting_every_row_whole(scores, k, floor):
    top = top_tags(scores, k, floor=floor)

    assert listed(top) == literal_top(scores, k, floor, np.True_)


@settings(deadline=None)
@given(TIED, st.integers(1, 5), st.data())
def test_a_tag_that_is_not_allowed_is_never_chosen(scores, k, data):
    shape = data.draw(st.sampled_from([scores.shape, scores.shape[1:]]))
    allowed = data.draw(hnp.arrays(np.bool_, shape))

    top = top_tags(scores, k, allowed=allowed)

    assert listed(top) == literal_top(scores, k, -np.inf, allowed)


@pytest.mark.parametrize("n_values", [3, 50, 10**6], ids=["crowded", "tied", "distinct"])
def test_the_choice_is_that_of_a_stable_sort_on_wide_rows(n_values):
    rng = np.random.default_rng(4)
    scores = rng.integers(n_values, size=(300, 2003)).astype(np.float32)

    top = top_tags(scores, 10)

    expected = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    np.testing.assert_array_equal(top.tags.reshape(300, 10), expected)
    np.testing.assert_array_equal(
        top.scores.reshape(300, 10), np.take_along_axis(scores, expected, axis=1)
    )


def test_what_is_allowed_to_each_row_is_kept_apart_on_wide_rows():
    rng = np.random.default_rng(6)
    scores, allowed = rng.random((300, 2003)), rng.random((300, 2003)) < 0.5

    top = top_tags(scores, 10, allowed=allowed)

    expected = np.argsort(np.where(allowed, -scores, 0.0), axis=1, kind="stable")[:, :10]
    np.testing.assert_array_equal(top.tags.reshape(300, 10), expected)


def test_a_score_equal_to_the_floor_is_not_enough():
    top = top_tags(np.array([[0.5, 0.7, 0.5], [0.1, 0.2, 0.3]]), 2, floor=0.5)

    assert listed(top) == [[1], []]


def test_asking_for_more_tags_than_there_are_gives_them_all():
    assert listed(top_tags(np.array([[1.0, 3.0, 2.0]]), 10)) == [[1, 2, 0]]


def test_no_rows_and_no_tags_give_an_empty_choice():
    assert top_tags(np.empty((0, 7)), 3).n_rows == 0
    assert listed(top_tags(np.empty((2, 0)), 3)) == [[], []]


def test_whole_numbers_are_scores_too():
    assert listed(top_tags(np.array([[1, 3, 2]]), 2)) == [[1, 2]]


def test_the_scores_are_left_alone():
    scores = np.array([[3.0, np.nan, 1.0]])
    scores.setflags(write=False)

    top = top_tags(scores, 2, floor=0.0)

    assert listed(top) == [[0, 2]]


def test_as_rows_holds_the_same_sets_in_the_order_of_tags():
    top = top_tags(np.array([[1.0, 3.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 9.0]]), 2, floor=0.0)

    rows = top.as_rows(4)

    assert rows.toarray().tolist() == [
        [False, True, True, False],
        [False, False, False, False],
        [False, False, True, False],
    ]
    assert rows.has_sorted_indices
    assert listed(top) == [[1, 2], [], [2]]


def test_a_row_that_was_not_ranked_is_named():
    top = top_tags(np.ones((2, 3)), 1)

    with pytest.raises(IndexError, match="row -1 was not ranked"):
        top.of(-1)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"k": -2}, SettingsError, "k is -2"),
        ({"k": 1, "floor": np.nan}, SettingsError, "the floor is nan"),
        ({"k": 1, "allowed": np.ones(4, dtype=bool)}, CollectionError, r"shape \(4,\)"),
    ],
)
def test_an_impossible_request_is_refused(arguments, kind, message):
    with pytest.raises(kind, match=message):
        top_tags(np.ones((2, 3)), **arguments)


def test_scores_of_one_image_must_still_be_a_row():
    with pytest.raises(CollectionError, match="1 dimensions"):
        top_tags(np.ones(3), 1)
