import numpy as np
import pytest
from scipy import sparse

from sugartag.methods.sugar_plus import owner_sums
from sugartag.methods.sugar_plus.by_owner import ByOwner

N_OWNERS = 9


@pytest.fixture
def owner(rng):
    """Owners of images; the seventh has none, and some images are nobody's."""
    found = rng.integers(0, N_OWNERS + 1, 200)
    found[found == 7] = 2
    return found


@pytest.mark.parametrize("images_at_once", [1, 20, 45, 1_000])
def test_every_image_of_an_owner_comes_once_and_with_its_owner(owner, images_at_once):
    chunks = list(ByOwner.of(owner, N_OWNERS).chunks(images_at_once))

    assert [chunk.start for chunk, _ in chunks] == [0, *(chunk.stop for chunk, _ in chunks[:-1])]
    assert chunks[-1][0].stop == N_OWNERS
    for owners, images in chunks:
        told = [np.flatnonzero(owner == one) for one in range(owners.start, owners.stop)]
        np.testing.assert_array_equal(images, np.concatenate(told))


def test_chunks_are_small_unless_one_owner_is_large(owner):
    for owners, images in ByOwner.of(owner, N_OWNERS).chunks(45):
        assert len(images) <= 45 or owners.stop - owners.start == 1


def test_nobody_has_images_where_there_are_no_owners():
    assert list(ByOwner.of(np.zeros(5, dtype=int), 0).chunks()) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_sums_by_owner_are_those_of_their_images(owner, rng, threads, monkeypatch):
    monkeypatch.setattr(ByOwner.chunks, "__defaults__", (30,))
    monkeypatch.setattr(owner_sums, "CHUNKS_AT_ONCE", 2)
    values = rng.random((200, 6), dtype=np.float32)
    matrix = sparse.csr_array(values * (rng.random((200, 6)) < 0.3))

    found = owner_sums.sums_by_owner(matrix, ByOwner.of(owner, N_OWNERS), threads=threads)

    expected = [matrix.toarray()[owner == one].sum(axis=0, dtype=float) for one in range(N_OWNERS)]
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-12)
    assert found.has_sorted_indices
