"""People's recall, told from many more images than all else is learned from."""

import numpy as np
import pytest

from methods.sugar_plus.literal import all_rows
from sugartag.collection.synthetic import World
from sugartag.engine import LocalEngine
from sugartag.methods.registry import make_method
from sugartag.methods.sugar_plus import learning
from sugartag.methods.sugar_plus.census import Census
from sugartag.methods.sugar_plus.evidence_steps import cells_in_steps
from sugartag.methods.sugar_plus.learning import sample_blocks
from sugartag.methods.sugar_plus.ridge import Ridge
from sugartag.methods.sugar_plus.rise import Steps, rise_through, step_edges

WORLD = World(n_images=2_000, n_tags=120, n_owners=200, n_groups=30, ownerless_share=0.1)
KEPT = 512
"""Images of which every cell is kept."""


@pytest.fixture(scope="module")
def collection():
    return WORLD.generate(5)


@pytest.fixture
def few_are_kept(collection, monkeypatch):
    monkeypatch.setattr(learning, "CELLS", KEPT * collection.n_tags)


def fit(collection):
    method = make_method("sugar-plus", {"anchors": 100})
    return method.fit(collection, engine=LocalEngine(), rng=np.random.default_rng(0))


@pytest.fixture
def watched(monkeypatch):
    """While a model is fitted: each census, the model before and after it, and what was kept."""
    told, plain = [], Census.told

    def told_and_watched(self, fitted, heard, *, engine):
        found = plain(self, fitted, heard, engine=engine)
        told.append((self, fitted, found, heard))
        return found

    monkeypatch.setattr(Census, "told", told_and_watched)
    return told


def test_the_recall_is_told_from_all_that_is_counted(collection, few_are_kept, watched):
    fitted = fit(collection)

    assert fitted.sight is not None
    assert len(watched) == 2
    rows = all_rows(collection)
    rows = rows.at(np.flatnonzero(rows.owner < collection.n_owners))
    given = rows.tags.toarray() > 0
    for counted, before, after, heard in watched:
        assert len(heard.given) <= KEPT < len(rows)
        edges = step_edges(heard.by_all, heard.given)
        honest = counted.honest[rows.position].toarray()
        cells = edges, before.said(rows), given, honest, heard.slips.rate
        rise = rise_through(Steps.counted(cells_in_steps(*cells)))
        assert after.whole.recall == pytest.approx(rise.recall, abs=1e-6)
        strong = np.linspace(rise.start + 0.1, rise.start + 1.0, 20, dtype=np.float32)
        np.testing.assert_allclose(after.whole.prior(strong), rise.at(strong), atol=1e-4)
    assert fitted.whole is watched[-1][2].whole


def test_what_is_counted_is_what_was_kept_of_the_same_images(collection, few_are_kept, watched):
    """The model that scores says of an image what it is learned from."""
    fit(collection)

    blocks = sample_blocks(collection)
    rows = all_rows(collection).at(np.concatenate([np.arange(b.start, b.stop) for b in blocks]))
    known = np.flatnonzero(rows.owner < collection.n_owners)
    for _, before, _, heard in watched:
        np.testing.assert_allclose(before.said(rows.at(known)), heard.by_all[known], atol=2e-4)


def test_where_no_more_images_are_counted_than_kept_those_kept_tell_it(collection, watched):
    fit(collection)

    for counted, _, after, heard in watched:
        assert counted.blocks == ()
        assert after.whole.recall == heard.whole().recall


def test_where_few_owners_are_known_those_kept_tell_it(few_are_kept, watched):
    nobody = World(n_images=2_000, n_tags=120, n_owners=200, n_groups=30, ownerless_share=0.9)

    fit(nobody.generate(5))

    for counted, _, after, heard in watched:
        assert counted.blocks
        assert after.whole.recall == heard.whole().recall


def test_owners_are_kept_ready_once(collection, few_are_kept, monkeypatch):
    """Both counts ask the same regression, and what it keeps of owners stays."""
    kept, plain = [], Ridge.keep_owners

    def keep_and_watch(self, *, engine):
        kept.append(self)
        plain(self, engine=engine)

    monkeypatch.setattr(Ridge, "keep_owners", keep_and_watch)

    fitted = fit(collection)

    assert sum(ridge is fitted.ridge for ridge in kept) == 1
