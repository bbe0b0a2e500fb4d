"""From a fitted method to a model: what is asked of methods that can do more, and of the others."""

import functools
import logging
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

from canned import SUMMARY, Canned, CannedMethod
from sugartag.assignment.thresholds import NEVER_ADDED, NEVER_DOUBTED, TagThresholds
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.decisions import Decision
from sugartag.collection.model import Collection
from sugartag.engine import LocalEngine
from sugartag.errors import CollectionError, SettingsError
from sugartag.evaluation.protocol import hidden_task, truth_task
from sugartag.methods.tag_prior import TagPrior
from sugartag.pipeline import fitting
from sugartag.pipeline.fitting import evidence_summary, extended_thresholds, fit_model, update_model
from sugartag.pipeline.model import Model

ENGINE = LocalEngine()


def some_collection(n_images: int = 6, n_tags: int = 3, n_features: int = 0) -> Collection:
    tags = sparse.csr_array(np.eye(n_images, n_tags, dtype=np.int8))
    features = np.ones((n_images, n_features), dtype=np.float32) if n_features else None
    return collection_from_arrays(tags, np.zeros(n_images, dtype=np.int64), features=features)


@functools.cache
def canned_model() -> Model:
    return fit_model(CannedMethod(), some_collection(), engine=ENGINE, seed=0)


@dataclass(frozen=True)
class Counting(TagPrior):
    """A method that is not calibrated, and counts how often it is fitted."""

    fits: ClassVar[list[int]] = []

    def fit(self, collection, **options):
        self.fits.append(collection.n_images)
        return super().fit(collection, **options)


def test_a_calibrated_method_is_fitted_once_and_gives_its_own_thresholds(monkeypatch, caplog):
    monkeypatch.setattr(fitting, "calibrate", lambda *_, **__: pytest.fail("nothing to calibrate"))
    caplog.set_level(logging.INFO, logger="sugartag")

    model = fit_model(CannedMethod(), some_collection(), engine=ENGINE, seed=0)

    assert model.thresholds is model.fitted.limits
    assert model.calibration.added(np.array([0.3])) == pytest.approx(0.3)
    assert f"canned: {SUMMARY}" in caplog.text
    assert evidence_summary(model.fitted) == SUMMARY


def test_any_other_method_is_fitted_again_with_tags_hidden(collection):
    Counting.fits.clear()

    model = fit_model(Counting(), collection, engine=ENGINE, seed=0)

    assert Counting.fits == [collection.n_images] * 2
    assert len(model.thresholds.add) == collection.n_tags
    assert evidence_summary(model.fitted) == ""


@pytest.mark.parametrize(
    "ask",
    [
        lambda untagged: fit_model(TagPrior(), untagged, engine=ENGINE, seed=0),
        lambda untagged: hidden_task(untagged, 0.3, 0),
        truth_task,
    ],
)
def test_without_tags_there_is_nothing_to_fit_or_evaluate(ask):
    with pytest.raises(CollectionError, match="needs tags and this collection has none"):
        ask(some_collection(n_tags=0))


def test_an_update_takes_images_tags_and_decisions_and_the_new_thresholds():
    more = some_collection(8, 4)
    decision = Decision(more.ids[7], more.tag_names[1], right=False, where="here")

    model = update_model(canned_model(), more, [decision], engine=ENGINE)

    assert model.fitted.table.shape == (8, 4)
    assert model.fitted.decided.toarray()[7].tolist() == [0, -1, 0, 0]
    assert model.thresholds is model.fitted.limits
    assert (list(model.catalogue.ids), model.catalogue.tag_names) == (
        list(more.ids),
        more.tag_names,
    )
    assert model.run_id != canned_model().run_id


def test_only_what_can_be_updated_is():
    model = fit_model(TagPrior(), some_collection(), engine=ENGINE, seed=0)

    with pytest.raises(SettingsError, match="one of tag-prior, which cannot be updated"):
        update_model(model, some_collection(), engine=ENGINE)


@pytest.mark.parametrize(("wanted", "found", "fits"), [(0, 3, True), (3, 3, True), (3, 0, False)])
def test_features_must_be_as_many_as_the_models(wanted, found, fits):
    table = np.full((6, 3), 0.5)
    fitted = Canned(**{**vars(Canned.of(table)), "n_features": wanted})
    model = Model(**{**vars(canned_model()), "fitted": fitted})
    images = some_collection(n_features=found)

    if fits:
        update_model(model, images, engine=ENGINE)
    else:
        with pytest.raises(CollectionError, match="no feature numbers each, the model's have 3"):
            update_model(model, images, engine=ENGINE)


def test_a_tag_that_is_used_enough_now_has_the_usual_thresholds():
    before = TagThresholds(np.array([0.5, 0.7, 0.9]), np.array([0.1, 0.2, 0.3]))

    found = extended_thresholds(before, np.array([9.0, 9.0, 9.0, 5.0, 4.0]))

    assert found.add.tolist() == [0.5, 0.7, 0.9, 0.7, NEVER_ADDED]
    assert found.doubt.tolist() == [0.1, 0.2, 0.3, 0.2, NEVER_DOUBTED]
