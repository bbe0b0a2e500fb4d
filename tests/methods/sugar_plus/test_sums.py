from dataclasses import fields, replace

import numpy as np
import pytest
from scipy import sparse

from methods.sugar_plus.literal import all_rows, columns_of, covariance_of
from planted import resharded
from sugartag.collection.model import Collection
from sugartag.engine.base import row_blocks
from sugartag.methods.sugar_plus.normal import normal_equations
from sugartag.methods.sugar_plus.sums import add_up, outside_of


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
    np.testing.assert_allclose(found.gram, whitened.T @ centred, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(found.cross, whitened.T @ rest, rtol=1e-5, atol=1e-4)


def test_tags_inside_and_outside_the_columns_are_all_tags(evidence):
    both = np.concatenate([evidence.predictor, outside_of(evidence)])

    np.testing.assert_array_equal(np.sort(both), np.arange(evidence.n_tags))
