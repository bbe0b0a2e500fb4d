"""Collections that are next to nothing: a method fits them, or says in one line what it needs."""

import numpy as np
import pytest
from scipy import sparse

from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError
from sugartag.methods.registry import METHODS, make_method


def small(n_images: int, *, tagged: bool = True, owned: bool = True) -> Collection:
    rng = np.random.default_rng(n_images)
    tags = rng.random((n_images, 4)) < 0.5
    tags[:, 0] = True
    n_owners = max(n_images // 2, 1)
    return collection_from_arrays(
        sparse.csr_array(tags & tagged),
        rng.integers(n_owners, size=n_images) if owned else np.zeros(n_images, dtype=np.int64),
        features=rng.standard_normal((n_images, 6)).astype(np.float32),
        groups=sparse.csr_array((n_owners if owned else 0, 0), dtype=np.int8),
    )


CASES = {
    "one image": small(1),
    "two images": small(2),
    "no owners": small(20, owned=False),
    "two images, no owners": small(2, owned=False),
    "no tags": small(10, tagged=False),
    "one image, no tags": small(1, tagged=False),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", METHODS)
def test_a_method_fits_what_is_next_to_nothing_or_says_what_it_needs(name, case):
    collection = CASES[case]
    rng = np.random.default_rng(0)
    try:
        fitted = make_method(name).fit(collection, engine=LocalEngine(), rng=rng)
    except CollectionError:
        return

    scores = fitted.scores(collection.rows(slice(0, collection.n_images)))

    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("name", "case", "needs"),
    [
        ("ttc1", "no owners", "ttc1 needs owners"),
        ("ttc2", "no owners", "ttc2 needs owners"),
        ("lslr", "no tags", "lslr needs tags"),
        ("tag-prop", "one image, no tags", "tag-prop needs tags"),
    ],
)
def test_what_a_method_needs_is_said(name, case, needs):
    rng = np.random.default_rng(0)

    with pytest.raises(CollectionError, match=needs):
        make_method(name).fit(CASES[case], engine=LocalEngine(), rng=rng)
