"""What most tests start from."""

import numpy as np
import pytest

from planted import planted_collection
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine


@pytest.fixture(scope="session")
def collection() -> Collection:
    """600 images with planted truth and every oddity; it never changes, so all tests share it."""
    return planted_collection()


@pytest.fixture
def engine() -> LocalEngine:
    return LocalEngine()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
