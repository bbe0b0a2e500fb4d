"""What a fit allocates stays below its estimate where collections are unusual."""

import tracemalloc
from dataclasses import replace

import pytest

from sugartag.collection import Collection
from sugartag.collection.synthetic import medium
from sugartag.costs.estimate import Plan
from sugartag.costs.size import size_of
from sugartag.engine import LocalEngine
from sugartag.methods.registry import make_method
from sugartag.pipeline.fitting import fit_model

USUAL = {"n_images": 400, "n_tags": 200, "n_owners": 40, "n_features": 16, "n_topics": 4}
MANY_TAGS = {"n_tags": 800, "n_topics": 1, "tags_per_image": 300.0, "missing_share": 0.0}


def world(**unusual: float) -> Collection:
    return replace(medium(), **USUAL | unusual).generate(0)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Compile what is compiled: that is not of the collection."""
    fit_model(make_method("sugar-plus"), world(), engine=LocalEngine(), seed=0)


@pytest.mark.parametrize("unusual", [MANY_TAGS, {"n_features": 2_048}], ids=["tags", "features"])
def test_a_fit_allocates_no_more_than_is_estimated(unusual):
    photos, method = world(**unusual), make_method("sugar-plus")
    plan = Plan.of(method, size_of(photos))

    tracemalloc.start()
    fit_model(method, photos, engine=LocalEngine(), seed=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak <= plan.memory() - plan.costs.base_bytes
