"""Decisions of people: the later one holds, and tags are as they were decided."""

import numpy as np
import pytest
from scipy import sparse

from sugartag.collection.decisions import as_decided, decisions_at, latest, nothing_decided


def matrix(values, dtype=np.int8):
    return sparse.csr_array(np.array(values, dtype=dtype))


def test_nothing_is_decided_at_first():
    assert nothing_decided((3, 4)).shape == (3, 4)
    assert nothing_decided((3, 4)).nnz == 0


def test_a_decision_is_1_where_a_tag_is_right_and_less_1_where_it_is_wrong():
    found = decisions_at(np.array([2, 0]), np.array([1, 3]), [False, True], (3, 4))

    assert found.dtype == np.int8
    assert found.toarray().tolist() == [[0, 0, 0, 1], [0, 0, 0, 0], [0, -1, 0, 0]]


def test_the_later_of_two_decisions_holds():
    earlier, later = matrix([[1, -1, 0, 1]]), matrix([[-1, 0, 1, 1]])

    found = latest(earlier, later)

    assert found.toarray().tolist() == [[-1, -1, 1, 1]]
    assert found.nnz == 4
    assert latest(earlier, nothing_decided((1, 4))).toarray().tolist() == [[1, -1, 0, 1]]


def test_tags_are_given_and_taken_as_decided():
    tags = matrix([[1, 1, 0, 0], [0, 1, 0, 1]], np.float32)
    decided = matrix([[-1, 0, 1, -1], [0, 1, 0, 0]])

    found = as_decided(tags, decided)

    assert found.toarray().tolist() == [[0, 1, 1, 0], [0, 1, 0, 1]]
    assert found.dtype == np.float32
    assert found.nnz == 4


def test_without_a_decision_tags_are_as_they_were_and_neither_matrix_changes():
    tags, decided = matrix([[1, 0, 1]], np.float32), matrix([[-1, 1, 0]])

    assert as_decided(tags, nothing_decided((1, 3))) is tags
    as_decided(tags, decided)

    assert tags.toarray().tolist() == [[1, 0, 1]]
    assert decided.toarray().tolist() == [[-1, 1, 0]]


@pytest.mark.parametrize("right", [True, False])
def test_a_decision_made_twice_is_one_decision(right):
    decided = decisions_at(np.array([0]), np.array([1]), [right], (1, 3))
    tags = matrix([[0, 1, 1]], np.float32)

    assert latest(decided, decided).nnz == 1
    once = as_decided(tags, decided)
    assert as_decided(once, decided).toarray().tolist() == once.toarray().tolist()
