import numpy as np
import pytest

from methods.sugar_plus.literal import all_rows, ridge_of
from sugartag.engine import LocalEngine
from sugartag.methods.sugar_plus import given as module
from sugartag.methods.sugar_plus.given import Multiplied, judge_fitted_tags
from sugartag.methods.sugar_plus.learning import tags_as_given


@pytest.fixture(params=[0.0, 0.3], ids=["no owners", "owners"])
def ridge(request, odd, evidence, trusted):
    penalty = np.linspace(2.0, 6.0, evidence.n_sparse + evidence.n_dense)
    return ridge_of(odd, evidence, trusted, penalty, request.param)


def judged(odd, ridge, trusted, rows_per_block, engine=None):
    multiplied = Multiplied.of(ridge, engine=engine or LocalEngine())
    blocks = odd.blocks(rows_per_block)
    return np.concatenate([judge_fitted_tags(block, odd, multiplied, trusted) for block in blocks])


def test_given_tags_are_judged_as_when_all_tags_are(odd, ridge, trusted):
    everything = ridge.judge(all_rows(odd), trusted).excess

    found = judged(odd, ridge, trusted, odd.n_images)

    expected = everything[all_rows(odd).tags.nonzero()]
    assert np.abs(expected).max() > 0.3
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_tags_that_were_fitted_as_given_are_judged_the_same_way(odd, evidence):
    given = tags_as_given(odd)
    penalty = np.full(evidence.n_sparse + evidence.n_dense, 4.0)
    ridge = ridge_of(odd, evidence, given, penalty, 0.1)

    found = judged(odd, ridge, given, 100)

    expected = ridge.judge(all_rows(odd), given).excess[all_rows(odd).tags.nonzero()]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_neither_blocks_nor_steps_nor_workers_make_a_difference(odd, ridge, trusted, monkeypatch):
    expected = judged(odd, ridge, trusted, odd.n_images)
    monkeypatch.setattr(module, "OWNERS_AT_ONCE", 3)

    found = judged(odd, ridge, trusted, 37, LocalEngine(workers=2))

    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_products_of_owners_may_lie_in_files(odd, ridge, trusted, tmp_path, monkeypatch):
    monkeypatch.setattr("sugartag.engine.room.SMALL", 0)
    engine = LocalEngine(scratch=tmp_path)

    found = judged(odd, ridge, trusted, odd.n_images, engine)

    assert isinstance(Multiplied.of(ridge, engine=engine).owners.at_dense, np.memmap)
    np.testing.assert_array_equal(found, judged(odd, ridge, trusted, odd.n_images))
