from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from planted import planted_collection, resharded
from sugartag.collection.digest import collection_digest
from sugartag.collection.subset import hide_tags, without_truth
from sugartag.collection.texts import Texts


@pytest.fixture(scope="module")
def collection():
    return planted_collection()


def changed(collection, **parts):
    (shard,) = collection.shards
    return replace(collection, shards=(replace(shard, **parts),))


def test_the_same_images_have_the_same_digest_however_they_lie(collection):
    digest = collection_digest(collection)

    assert collection_digest(planted_collection()) == digest
    assert collection_digest(resharded(collection, 1, 250)) == digest
    assert collection_digest(without_truth(collection)) == digest


def test_whatever_a_method_may_learn_from_is_in_the_digest(collection):
    (shard,) = collection.shards
    features = shard.features.copy()
    features[5, 3] += 1e-3
    owner = shard.owner.copy()
    owner[[10, 11]] = owner[[11, 10]]
    groups = collection.groups.tolil()
    groups[0, 0] = 1 - groups[0, 0]
    others = [
        changed(collection, features=features),
        changed(collection, owner=owner),
        changed(collection, ids=Texts.of(f"other {i}" for i in range(len(shard)))),
        changed(collection, titles=Texts.of("a" for _ in range(len(shard)))),
        hide_tags(collection, 0.01, 0).collection,
        replace(collection, groups=sparse.csr_array(groups)),
        replace(collection, tag_names=tuple(reversed(collection.tag_names))),
    ]

    digests = {collection_digest(one) for one in (collection, *others)}

    assert len(digests) == len(others) + 1
    assert np.all([len(digest) == 64 for digest in digests])
