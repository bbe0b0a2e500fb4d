import os
from pathlib import Path

import numpy as np
import pytest

from div400_collection import landmark_collection, landmark_tag


@pytest.mark.parametrize(
    ("uses", "tag"),
    [
        ({"eggcastle": 1, "egg": 9, "castle": 99}, "eggcastle"),
        ({"egg": 9, "castle": 99}, "egg"),
        ({"castle": 99, "egg": 0}, "castle"),
        ({}, "eggcastle"),
    ],
)
def test_a_landmark_is_scored_by_its_name_or_its_rarest_word(uses, tag):
    assert landmark_tag("Egg Castle", uses) == tag


def test_the_landmarks_of_div400_are_concepts_with_tags():
    folder = Path(os.environ.get("SUGARTAG_DATA", "nowhere")) / "div400"
    if not folder.is_dir():
        pytest.skip("Div400 is not here; name the folder that holds it with SUGARTAG_DATA")

    collection = landmark_collection(folder)

    tagged = set(collection.concept_names) & set(collection.tag_names)
    positives = collection.truth_of(slice(0, collection.n_images)).sum(axis=0)
    assert len(tagged) > 0.9 * len(collection.concept_names)
    assert np.median(positives) > 20
