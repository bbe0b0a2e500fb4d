"""What the tests of sugar-plus start from."""

import pytest

from methods.sugar_plus.literal import all_rows, fitted_to, small_collection, views_of
from sugartag.collection.model import Collection, Rows
from sugartag.methods.sugar_plus import FittedSugarPlus
from sugartag.methods.sugar_plus.views import Views


@pytest.fixture(scope="session")
def small() -> Collection:
    """80 images with every oddity; it never changes."""
    return small_collection()


@pytest.fixture(scope="session")
def rows(small: Collection) -> Rows:
    return all_rows(small)


@pytest.fixture(scope="session")
def views(small: Collection) -> Views:
    return views_of(small)


@pytest.fixture(scope="session")
def fitted(small: Collection) -> FittedSugarPlus:
    return fitted_to(small)
