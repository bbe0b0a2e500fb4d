"""With features missing, leaving an image out of either view is still a refit without it."""

from dataclasses import replace

import numpy as np
import pytest

from methods.sugar_plus.literal import (
    SMALL,
    all_rows,
    given,
    joint_refit,
    penalties,
    predictors,
    ridge,
    views_of,
)
from sugartag.collection.model import Collection
from sugartag.methods.sugar_plus.estimator import SugarPlus

JOINT_ONLY = SugarPlus(
    **{**SMALL.__dict__, "visual_share": 0.0, "neighbour_weight": 0.0, "name_similarity": 0.0}
)


@pytest.fixture(scope="module", params=["half", "all"])
def lacking(small: Collection, request: pytest.FixtureRequest) -> Collection:
    """The small collection without the features of every second image, or of any."""
    (shard,) = small.shards
    has = np.arange(len(shard)) % 2 == 1
    if request.param == "all":
        has[:] = False
    return replace(small, shards=(replace(shard, has_features=has),))


def test_the_visual_view_leaves_an_image_out_as_a_refit_would(lacking: Collection) -> None:
    views, rows = views_of(lacking), all_rows(lacking)
    z, y = predictors(rows, views.blocks)[:, views.blocks.tags.width :], given(rows)
    penalty = penalties(views.blocks, SMALL.visual_penalty)[views.blocks.tags.width :]

    found = views.visual_excess(views.leaving_out(rows)) + views.base_rate

    assert not z[~rows.described, :-1].any()
    for image in range(len(rows)):
        weight = views.image_weight.copy()
        weight[image] = 0.0
        np.testing.assert_allclose(found[image], z[image] @ ridge(z, y, weight, penalty), atol=1e-4)


def test_the_joint_view_leaves_an_image_out_as_a_refit_would_at_its_own_tags(
    lacking: Collection,
) -> None:
    views, rows = views_of(lacking, JOINT_ONLY), all_rows(lacking)
    own = given(rows) > 0

    found = views.excess(rows) + views.base_rate

    for image in range(0, len(rows), 3):
        for tag in np.flatnonzero(own[image]).tolist():
            refit = joint_refit(views, rows, tag, image)[image]
            assert found[image, tag] == pytest.approx(refit, abs=1e-4)
