from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from methods.sugar_plus.literal import PLAN, evidence_of
from planted import without_features
from sugartag.collection.build import collection_from_arrays
from sugartag.engine import LocalEngine
from sugartag.methods.sugar_plus.choice import (
    ANCHOR_RIDGES,
    FEWER_ANCHORS,
    KERNEL_WIDTHS,
    NOTICED,
    TAG_RIDGES,
    Fixed,
    choose,
)
from sugartag.methods.sugar_plus.held_out import Trial, TrialAtWidth

OPEN = Fixed(None, None, None)


def drawn(collection, engine, variance=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return Trial.drawn(collection, evidence_of(collection), variance, engine=engine, rng=rng)


def test_a_choice_does_not_depend_on_the_threads(odd, engine):
    assert chosen(OPEN, odd, LocalEngine(workers=3)) == chosen(OPEN, odd, engine)


def chosen(fixed, collection, engine, plan=PLAN):
    evidence = evidence_of(collection, plan)
    return choose(fixed, collection, evidence, 0.05, engine=engine, rng=np.random.default_rng(0))


def test_the_choice_is_the_best_of_what_was_tried(odd, engine):
    found = chosen(OPEN, odd, engine)

    trial = drawn(odd, engine, variance=0.05)
    usual, n = trial.at(KERNEL_WIDTHS[0]), len(trial.evidence.anchors)
    by_ridge = [usual.precision(ridge, ANCHOR_RIDGES[0], n) for ridge in TAG_RIDGES]
    assert found.tag_ridge == TAG_RIDGES[int(np.argmax(by_ridge))]
    tried = {
        (width, ridge): trial.at(width).precision(found.tag_ridge, ridge, n)
        for width in KERNEL_WIDTHS
        for ridge in ANCHOR_RIDGES
    }
    assert found.precision == pytest.approx(max(tried.values()), abs=1e-6)
    assert tried[found.kernel_width, found.anchor_ridge] == pytest.approx(found.precision, abs=1e-6)
    assert found.anchors == n


def test_fewer_anchors_are_taken_only_if_they_find_noticeably_more(odd, engine, monkeypatch):
    evidence = evidence_of(odd)
    n = len(evidence.anchors)
    precise = {n: 0.5, n // 2: 0.5 * NOTICED + 1e-4, n // 4: 0.5 * NOTICED + 2e-4}
    monkeypatch.setattr(TrialAtWidth, "precision", lambda self, *ridges: precise[ridges[-1]])

    assert chosen(OPEN, odd, engine).anchors == n // 2
    assert chosen(OPEN, odd, engine).precision == pytest.approx(precise[n // 2])
    precise[n // 2] = 0.5 * NOTICED - 1e-4
    assert chosen(OPEN, odd, engine).anchors == n // 4
    precise[n // 4] = 0.3
    assert chosen(OPEN, odd, engine).anchors == n
    assert FEWER_ANCHORS == (2, 4)


def test_where_looks_say_nothing_few_anchors_are_enough(engine):
    """Noise that every tag is predicted from costs precision."""
    rng = np.random.default_rng(3)
    topic = rng.integers(0, 6, 400)
    tags = rng.random((400, 30)) < np.where(np.arange(30) % 6 == topic[:, None], 0.5, 0.02)
    noise = rng.random((400, 40)).astype(np.float32)
    world = made_of(tags, np.arange(400) // 2, features=noise)

    found = chosen(Fixed(0.8, 20.0, 0.03), world, engine, replace(PLAN, anchors=100))

    assert found.anchors < 100


@pytest.mark.parametrize(
    "fixed", [Fixed(2.5, None, None), Fixed(None, 7.0, None), Fixed(3.0, 2.0, 0.5)]
)
def test_what_is_set_is_kept(odd, engine, fixed):
    found = chosen(fixed, odd, engine)

    for name in ("kernel_width", "tag_ridge", "anchor_ridge"):
        wanted = getattr(fixed, name)
        assert wanted is None or getattr(found, name) == wanted


def made_of(tags, owner, **more):
    return collection_from_arrays(sparse.csr_array(tags), owner, **more)


def odd_worlds(rng):
    tags = rng.random((80, 12)) < 0.2
    features = rng.random((80, 5)).astype(np.float32)
    hardly = np.zeros((80, 12))
    hardly[3, 4] = 1
    owner = np.arange(80) % 20
    return {
        "one owner": made_of(tags, np.zeros(80, dtype=int), features=features),
        "one image an owner": made_of(tags, np.arange(80), features=features),
        "no features": made_of(tags, owner),
        "one tag": made_of(hardly, owner, features=features),
        "four images": made_of(tags[:4], owner[:4], features=features[:4]),
        "one image": made_of(tags[:1] | True, owner[:1], features=features[:1]),
    }


@pytest.mark.parametrize("name", odd_worlds(np.random.default_rng(0)))
def test_something_is_chosen_whatever_the_collection(name, engine):
    world = odd_worlds(np.random.default_rng(0))[name]

    found = chosen(OPEN, world, engine)

    assert found.kernel_width in KERNEL_WIDTHS
    assert found.tag_ridge in TAG_RIDGES
    assert found.anchor_ridge in ANCHOR_RIDGES
    assert 0 <= found.anchors <= PLAN.anchors
    assert 0.0 <= found.precision <= 1.0


def test_where_nothing_can_be_told_the_usual_is_taken(engine):
    world = odd_worlds(np.random.default_rng(0))["one tag"]

    found = chosen(OPEN, world, engine)

    assert (found.kernel_width, found.tag_ridge, found.anchor_ridge, found.precision) == (
        KERNEL_WIDTHS[0],
        TAG_RIDGES[0],
        ANCHOR_RIDGES[0],
        0.0,
    )


def test_without_anchors_their_part_is_not_chosen(odd, engine):
    found = chosen(OPEN, without_features(odd), engine)

    assert (found.kernel_width, found.anchor_ridge) == (KERNEL_WIDTHS[0], ANCHOR_RIDGES[0])
