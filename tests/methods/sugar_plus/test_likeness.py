import numpy as np

from methods.sugar_plus.literal import all_rows
from sugartag.methods.sugar_plus import evidence as columns
from sugartag.methods.sugar_plus import likeness as module
from sugartag.methods.sugar_plus.likeness import compared_features, likeness


def test_a_likeness_falls_with_the_squared_distance_wherever_the_images_lie(rng):
    features, anchors = rng.random((40, 8)).astype(np.float32), rng.random((5, 8))
    anchors = anchors.astype(np.float32)
    apart = np.square(features.astype(float)[:, None] - anchors).sum(axis=2)

    for shift in (0.0, 50.0):
        moved = np.float32(shift)
        found = likeness(features + moved, anchors + moved, 0.9)
        assert found.dtype == np.float32
        # Far from the origin the features themselves are stored to fewer digits.
        np.testing.assert_allclose(found, np.exp(-apart / 0.81), atol=1e-6 + 2e-7 * shift)


def test_a_likeness_is_the_same_in_steps_of_any_size(odd, evidence, rng, monkeypatch):
    features = rng.random((40, evidence.anchors.shape[1])).astype(np.float32)
    rows = all_rows(odd)
    expected = likeness(features, evidence.anchors, 0.9), evidence.dense(rows)
    for user in (module, columns):
        monkeypatch.setattr(user, "IMAGES_AT_ONCE", 7)

    found = likeness(features, evidence.anchors, 0.9), evidence.dense(rows)

    for some, others in zip(found, expected, strict=True):
        np.testing.assert_allclose(some, others, atol=2e-6)


def test_features_are_compared_at_length_one_and_nothing_stays_nothing(rng):
    features = np.vstack([rng.normal(size=(5, 3)), np.zeros((1, 3))])

    found = compared_features(features, True)

    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 1, 1, 1, 0], atol=1e-6)
    np.testing.assert_allclose(compared_features(features, False), features, rtol=1e-6)
