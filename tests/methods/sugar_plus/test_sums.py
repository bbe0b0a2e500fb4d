from dataclasses import fields, replace
from functools import reduce
from operator import add

import numpy as np
import pytest
from scipy import sparse

from methods.sugar_plus.literal import (
    PLAN,
    all_rows,
    columns_of,
    covariance_of,
    evidence_of,
    partly_trusted,
)
from planted import resharded
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine
from sugartag.engine.base import row_blocks
from sugartag.linalg import symmetric
from sugartag.methods.sugar_plus import normal, sparse_columns
from sugartag.methods.sugar_plus.learning import tags_as_given
from sugartag.methods.sugar_plus.normal import normal_equations
from sugartag.methods.sugar_plus.sparse_columns import outside_of, runs
from sugartag.methods.sugar_plus.sums import add_up


def literal_parts(odd, evidence, trusted):
    """Return columns and tags, as far as they are trusted, not centred."""
    tags = trusted.toarray().astype(float)
    return columns_of(all_rows(odd), tags, evidence), tags


def dense(value):
    return value.toarray() if sparse.issparse(value) else np.asarray(value)


def assert_same_sums(one, other):
    for part, expected in ((one, other), (one.owners, other.owners)):
        for field in fields(part):
            if field.name != "owners":
                found, wanted = (
                    dense(getattr(part, field.name)),
                    dense(getattr(expected, field.name)),
                )
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4, err_msg=field.name)


def test_sums_are_those_of_all_images(odd, evidence, trusted, engine):
    columns, tags = literal_parts(odd, evidence, trusted)

    found = add_up(odd, evidence, trusted, engine=engine)

    outside = outside_of(evidence)
    assert found.count == odd.n_images
    np.testing.assert_allclose(found.columns, columns.sum(axis=0), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(found.tags, tags.sum(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(found.given, (tags > 0).sum(axis=0))
    np.testing.assert_allclose(found.gram, columns.T @ columns, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(found.cross, columns.T @ tags[:, outside], rtol=1e-5, atol=1e-4)


def test_products_with_sparse_columns_are_added_up_in_double_precision(
    odd, evidence, trusted, engine
):
    rows, tags = all_rows(odd), trusted.toarray().astype(float)
    known = columns_of(rows, tags, evidence)[:, : evidence.n_sparse]
    looks = evidence.dense(rows).astype(float)
    rest, n = tags[:, outside_of(evidence)], evidence.n_sparse

    found = add_up(odd, evidence, trusted, engine=engine)

    for some, expected in (
        (found.gram[:n, :n], known.T @ known),
        (found.gram[:n, n:], known.T @ looks),
        (found.gram[n:, :n], looks.T @ known),
        (found.cross[:n], known.T @ rest),
        (found.cross[n:], looks.T @ rest),
        (found.columns, np.hstack([known, looks]).sum(axis=0)),
    ):
        np.testing.assert_allclose(some, expected, rtol=1e-10, atol=1e-10)


def test_sums_do_not_depend_on_the_number_of_workers(odd, evidence, trusted, monkeypatch):
    monkeypatch.setattr(Collection, "blocks", lambda self: row_blocks(self.n_images, 101))

    one, three = (
        add_up(odd, evidence, trusted, engine=LocalEngine(workers=workers, blas_threads=1))
        for workers in (1, 3)
    )

    for name in ("columns", "tags", "given", "gram", "cross"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))
    np.testing.assert_array_equal(one.owners.dense, three.owners.dense)


def test_sums_of_the_same_images_otherwise_trusted_need_not_begin_anew(
    odd, evidence, trusted, engine
):
    as_given = add_up(odd, evidence, tags_as_given(odd), engine=engine)
    before = [part.copy() for part in (as_given.gram, as_given.owners.dense)]
    expected = add_up(odd, evidence, trusted, engine=engine)

    found = add_up(odd, evidence, trusted, engine=engine, same=as_given)

    for one, other in ((found, expected), (found.owners, expected.owners)):
        for field in fields(one):
            if field.name != "owners":
                np.testing.assert_array_equal(
                    dense(getattr(one, field.name)), dense(getattr(other, field.name))
                )
    np.testing.assert_array_equal(as_given.gram, before[0])
    np.testing.assert_array_equal(as_given.owners.dense, before[1])


def test_parts_that_are_added_before_they_come_in_give_the_same_sums(odd, evidence, trusted):
    class AddsAll(LocalEngine):
        def pieces(self, function, blocks, total, *shared):
            assert total.takes_sums
            yield len(blocks), reduce(add, self.map(function, blocks, *shared))

    cut = replace(odd, rows_at_once=7)
    one, other = (
        add_up(cut, evidence, trusted, engine=engine()) for engine in (LocalEngine, AddsAll)
    )

    assert_same_sums(one, other)
    np.testing.assert_allclose(one.gram, other.gram, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(one.owners.dense, other.owners.dense)


def test_owner_totals_are_sums_over_their_images_and_nobodys_are_left_out(
    odd, evidence, trusted, engine
):
    columns, tags = literal_parts(odd, evidence, trusted)
    n = evidence.n_sparse

    found = add_up(odd, evidence, trusted, engine=engine).owners

    for owner in range(odd.n_owners):
        mine = odd.owner == owner
        words = columns[mine][:, len(evidence.predictor) : n].sum(axis=0)
        assert found.images[owner] == mine.sum()
        np.testing.assert_allclose(found.tags[[owner]].toarray()[0], tags[mine].sum(axis=0), 1e-6)
        np.testing.assert_array_equal(found.words[[owner]].toarray()[0], words)
        np.testing.assert_allclose(found.dense[owner], columns[mine][:, n:].sum(axis=0), atol=1e-4)
    assert found.images.sum() == np.count_nonzero(odd.owner < odd.nobody) < odd.n_images


def test_totals_of_some_owners_end_with_nothing_for_nobody(odd, evidence, trusted, engine):
    totals = add_up(odd, evidence, trusted, engine=engine).owners
    asked = np.array([2, 7, odd.n_owners])

    found = totals.at(asked)

    assert found.images.tolist() == [*totals.images[[2, 7]], 0]
    for name in ("tags", "words", "dense"):
        np.testing.assert_array_equal(
            dense(getattr(found, name))[:2], dense(getattr(totals, name))[[2, 7]]
        )
        assert not dense(getattr(found, name))[2].any()


def test_totals_of_a_run_of_owners_are_those_of_each(odd, evidence, trusted, engine):
    totals = add_up(odd, evidence, trusted, engine=engine).owners

    found, expected = totals.between(slice(3, 9)), totals.at(np.arange(3, 9))

    for field in fields(found):
        np.testing.assert_array_equal(
            dense(getattr(found, field.name)), dense(getattr(expected, field.name))
        )
    assert np.shares_memory(found.dense, totals.dense)


@pytest.mark.parametrize("cut", [300, 17])
def test_sums_of_two_parts_are_those_of_the_whole(odd, evidence, trusted, engine, cut):
    (shard,) = odd.shards
    shards = resharded(replace(odd, shards=(replace(shard, titles=None),)), cut).shards
    ends = [slice(0, cut), slice(cut, odd.n_images)]
    halves = [
        replace(odd, shards=(replace(part, titles=shard.titles[end]),))
        for part, end in zip(shards, ends, strict=True)
    ]

    first, second = (
        add_up(half, evidence, trusted[end], engine=engine)
        for half, end in zip(halves, ends, strict=True)
    )

    assert_same_sums(first + second, add_up(odd, evidence, trusted, engine=engine))


@pytest.mark.parametrize("size", [7, 101])
def test_sums_do_not_depend_on_the_cut_into_blocks(
    odd, evidence, trusted, engine, size, monkeypatch
):
    expected = add_up(odd, evidence, trusted, engine=engine)
    monkeypatch.setattr(Collection, "blocks", lambda self: row_blocks(self.n_images, size))

    found = add_up(odd, evidence, trusted, engine=engine)

    assert len(odd.blocks()) > 1
    assert_same_sums(found, expected)


@pytest.mark.parametrize("variance", [0.0, 0.4])
def test_normal_equations_are_centred_and_whitened_by_owners(
    odd, evidence, trusted, engine, variance
):
    columns, tags = literal_parts(odd, evidence, trusted)
    covariance = covariance_of(odd.owner, odd.nobody, variance)

    found = normal_equations(add_up(odd, evidence, trusted, engine=engine), evidence, variance)

    centred, rest = (
        columns - columns.mean(axis=0),
        (tags - tags.mean(axis=0))[:, outside_of(evidence)],
    )
    whitened = np.linalg.solve(covariance, centred)
    np.testing.assert_allclose(found.mean, columns.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(found.share, tags.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(upper(found), np.triu(whitened.T @ centred), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(found.cross, whitened.T @ rest, rtol=1e-5, atol=1e-4)


def upper(equations):
    """Return the half of the Gram matrix that is made."""
    return np.triu(equations.gram)


def literal_equations(sums, evidence, variance):
    """Return Gram and cross products from the sums alone: the plain formula, matrices in full."""
    outside, owners = outside_of(evidence), sums.owners
    tags, words = owners.tags.toarray(), owners.words.toarray()
    mine = np.hstack([tags[:, evidence.predictor], words, owners.dense.astype(float)])
    mean, share = sums.columns / sums.count, (sums.tags / sums.count)[outside]
    images = owners.images[:, None]
    mine, rest = mine - images * mean, tags[:, outside] - images * share
    weight = variance / (1 + variance * images)
    gram = sums.gram - sums.count * np.outer(mean, mean) - mine.T @ (weight * mine)
    cross = sums.cross - sums.count * np.outer(mean, share) - mine.T @ (weight * rest)
    return gram, cross


@pytest.fixture
def small_steps(monkeypatch):
    """Cut owners and columns into many steps and bands, none of which ends where another does."""
    for module, name, size in (
        (sparse_columns, "ENTRIES_AT_ONCE", 300),
        (sparse_columns, "BAND", 8),
        (symmetric, "BAND", 9),
        (normal, "BAND", 8),
        (normal, "OWNERS_AT_ONCE", 4),
        (normal, "PARTS", 3),
    ):
        monkeypatch.setattr(module, name, size)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("variance", [0.0, 0.4])
def test_normal_equations_are_the_plain_formula_to_ten_digits(
    odd, evidence, trusted, engine, variance, threads
):
    sums = add_up(odd, evidence, trusted, engine=engine)
    gram, cross = literal_equations(sums, evidence, variance)

    found = normal_equations(sums, evidence, variance, threads=threads)

    np.testing.assert_allclose(upper(found), np.triu(gram), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.cross, cross, rtol=1e-10, atol=1e-10)


@pytest.mark.usefixtures("small_steps")
def test_normal_equations_made_in_many_bands_are_the_same_on_any_number_of_threads(
    odd, evidence, trusted, engine
):
    sums = add_up(odd, evidence, trusted, engine=engine)
    before = sums.gram.copy()
    gram, cross = literal_equations(sums, evidence, 0.4)

    one, three = (normal_equations(sums, evidence, 0.4, threads=threads) for threads in (1, 3))

    assert len(list(runs(sums.owners.tags.indptr))) > 2
    np.testing.assert_allclose(upper(one), np.triu(gram), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(one.cross, cross, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(upper(one), upper(three))
    np.testing.assert_array_equal(one.cross, three.cross)
    np.testing.assert_array_equal(sums.gram, before)


@pytest.mark.parametrize("without", ["tags", "looks", "owners"])
def test_normal_equations_need_neither_tags_nor_looks_nor_owners(odd, without, engine):
    plans = {
        "tags": replace(PLAN, max_predictors=0, titles=False),
        "looks": replace(PLAN, anchors=0, tastes=0),
    }
    if without == "owners":
        (shard,) = odd.shards
        odd = replace(odd, shards=(replace(shard, owner=np.full(odd.n_images, odd.nobody)),))
    evidence = evidence_of(odd, plans.get(without, PLAN))
    sums = add_up(odd, evidence, partly_trusted(odd), engine=engine)
    gram, cross = literal_equations(sums, evidence, 0.4)

    found = normal_equations(sums, evidence, 0.4, threads=2)

    np.testing.assert_allclose(upper(found), np.triu(gram), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.cross, cross, rtol=1e-10, atol=1e-10)


def test_tags_inside_and_outside_the_columns_are_all_tags(evidence):
    both = np.concatenate([evidence.predictor, outside_of(evidence)])

    np.testing.assert_array_equal(np.sort(both), np.arange(evidence.n_tags))
