"""What the tests of sugar-plus start from."""

import pytest
from scipy import sparse

from methods.sugar_plus.literal import evidence_of, odd_collection, partly_trusted
from sugartag.collection.model import Collection
from sugartag.methods.sugar_plus.evidence import Evidence


@pytest.fixture(scope="session")
def odd() -> Collection:
    """600 images with titles, some of them of nobody; it never changes."""
    return odd_collection()


@pytest.fixture(scope="session")
def evidence(odd: Collection) -> Evidence:
    """What the images are described by."""
    return evidence_of(odd)


@pytest.fixture(scope="session")
def trusted(odd: Collection) -> sparse.csr_array:
    """Tags of the images, each trusted to another degree."""
    return partly_trusted(odd)
