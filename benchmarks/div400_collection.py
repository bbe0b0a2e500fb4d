"""Make a collection of the Div400 photos that ``sugartag reproduce --collection`` can run on.

A concept is a landmark, named and scored by one tag: its name run together or, where no photo has
that, the rarest word of its name. An image has the concept where people said that the photo shows
the landmark; photos that nobody judged for it, or could not decide on, count as not showing it. So
numbers are lower bounds here. ``benchmarks/compare.py div400`` ranks judged photos only, by all
words of a name.
"""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from comparison.div400 import landmark_words, read_landmark_photos
from sugartag.collection.model import Collection
from sugartag.collection.store import save_collection
from sugartag.collection.subset import tag_counts


def main() -> None:
    """Read the files of Div400 and write the collection."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds photos.tsv, features.npz, judgments.tsv")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    collection = landmark_collection(asked.folder)
    save_collection(collection, asked.out)
    print(f"{collection.n_images:,} images, {len(collection.concept_names)} landmarks: {asked.out}")


def landmark_collection(folder: Path) -> Collection:
    """Return the photos with the landmarks as truth."""
    photos = read_landmark_photos(folder)
    collection = photos.collection
    uses = dict(zip(collection.tag_names, tag_counts(collection).tolist(), strict=True))
    names = [landmark_tag(landmark.name, uses) for landmark in photos.landmarks]
    concepts = list(dict.fromkeys(names))
    truth = sparse.lil_array((collection.n_images, len(concepts)), dtype=np.int8)
    for name, landmark in zip(names, photos.landmarks, strict=True):
        for row in landmark.photo[landmark.relevant].tolist():
            truth[row, concepts.index(name)] = 1
    (shard,) = collection.shards
    return replace(
        collection,
        shards=(replace(shard, truth=sparse.csr_array(truth)),),
        concept_names=tuple(concepts),
    )


def landmark_tag(name: str, uses: Mapping[str, int]) -> str:
    """Return the tag that stands for a landmark; ``uses`` says how many photos have each."""
    words = landmark_words(name)
    used = [word for word in words if uses.get(word)]
    if words[-1] in used or not used:
        return words[-1]
    return min(used, key=lambda word: (uses[word], word))


if __name__ == "__main__":
    main()
