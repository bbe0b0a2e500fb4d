"""What most tests start from."""

import math
from contextlib import nullcontext

import hypothesis
import numpy as np
import pytest

from planted import planted_collection
from sugartag import progress
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine

# A test that takes longer on a busy machine has not failed.
hypothesis.settings.register_profile("any-machine", deadline=None)
hypothesis.settings.load_profile("any-machine")


@pytest.fixture(autouse=True, scope="session")
def _same_lines_on_any_machine():
    """Commands print the same however long they take, and whether loops are compiled here first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "compiling_reported", lambda listener: nullcontext())
        patch.setattr(progress, "SECONDS_BETWEEN_LINES", math.inf)
        yield


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
