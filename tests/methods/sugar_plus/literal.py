"""The formulas of sugar-plus written out slowly, and a small collection to try them on."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from sugartag.collection.build import collection_from_arrays
from sugartag.collection.model import Collection, Rows
from sugartag.collection.texts import Texts
from sugartag.engine import LocalEngine
from sugartag.graph.name_vectors import load_name_vectors
from sugartag.methods.sugar_plus import FittedSugarPlus, SugarPlus
from sugartag.methods.sugar_plus.blocks import Blocks
from sugartag.methods.sugar_plus.estimator import given_tags
from sugartag.methods.sugar_plus.neighbours import Neighbours
from sugartag.methods.sugar_plus.ridge import JointRidge
from sugartag.methods.sugar_plus.views import Views

ENGINE = LocalEngine()
NAMES = (
    *("sky", "skyline", "dog", "puppy", "car", "bus", "tree", "oak"),
    *("beach", "sea", "qqzx", "xkcdy", "sand", "never"),
)
"""Names of tags; two are no words, the last but one is rare and the last one is not used."""
RARE, UNUSED = 12, 13
UNTAGGED, OF_NOBODY, SERIES, COPY_OF_ANOTHER_OWNER = 0, (1, 9), (20, 21, 22), 23
WITHOUT_FEATURES = (5, 17)
SMALL = SugarPlus(
    components=5,
    visual_penalty=2.0,
    joint_penalty=1.5,
    tag_penalty=0.5,
    neighbour_weight=0.3,
    neighbour_width=0.8,
    history=6,
)
"""Settings under which 80 images leave every view something to say."""


def small_collection(seed: int = 1) -> Collection:
    """Return 80 images of 10 owners with every oddity that a formula must cope with."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((80, 7)) + 0.5
    chance = 1.0 / (1.0 + np.exp(1.5 - 1.5 * features @ rng.standard_normal((7, 14))))
    tags = rng.random((80, 14)) < chance * 0.6
    tags[:, [RARE, UNUSED]] = False
    tags[[30, 40], RARE] = True
    tags[UNTAGGED] = False
    tags[[*SERIES, COPY_OF_ANOTHER_OWNER]] = np.isin(np.arange(14), [0, 2, 4])
    owner = rng.integers(10, size=80)
    owner[list(SERIES)], owner[COPY_OF_ANOTHER_OWNER] = 3, 4
    owner[list(OF_NOBODY)] = 10
    features[list(WITHOUT_FEATURES)] = 0.0
    return collection_from_arrays(
        sparse.csr_array(tags),
        owner,
        features=features.astype(np.float32),
        groups=sparse.csr_array((10, 0)),
        tag_names=NAMES,
    )


def all_rows(collection: Collection) -> Rows:
    return collection.rows(slice(0, collection.n_images))


def given(rows: Rows) -> np.ndarray:
    return rows.tags.toarray().astype(float)


def part_of(whole: Collection, images: np.ndarray, n_tags: int, n_owners: int) -> Collection:
    """Return some images with the first tags and owners only, which must be all that they have."""
    (shard,) = whole.shards
    tags = shard.tags[images]
    assert tags.indices.max(initial=0) < n_tags
    owner = shard.owner[images]
    made = replace(
        shard,
        ids=Texts.of(shard.ids[image] for image in images.tolist()),
        owner=np.where(owner == whole.nobody, n_owners, owner).astype(np.int32),
        tags=sparse.csr_array(tags[:, :n_tags]),
        features=None if shard.features is None else shard.features[images],
        truth=None,
    )
    return replace(
        whole,
        shards=(made,),
        tag_names=whole.tag_names[:n_tags],
        owner_names=Texts.of(whole.owner_names[owner] for owner in range(n_owners)),
        group_names=Texts.of([]),
        groups=sparse.csr_array((n_owners, 0)),
        concept_names=(),
    )


def views_of(collection: Collection, method: SugarPlus = SMALL) -> Views:
    """Return the views that a fit makes, without its calibration."""
    labels = given_tags(collection, ENGINE)
    weight = method.image_weights(labels, collection)
    blocks = method.blocks(labels, collection, engine=ENGINE)
    return method.views(blocks, weight, collection, engine=ENGINE)


def fitted_to(collection: Collection, method: SugarPlus = SMALL, engine=ENGINE) -> FittedSugarPlus:
    return method.fit(collection, engine=engine, rng=np.random.default_rng(0))


def whitened(features: np.ndarray, components: int, power: float) -> np.ndarray:
    """Return principal components over their deviation to a power, of mean square norm 1."""
    features = features.astype(float)
    present = features.any(axis=1)
    unit = features[present] / np.linalg.norm(features[present], axis=1)[:, None]
    centred = unit - unit.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:components]
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    deviation = sizes[:components] / np.sqrt(len(unit))
    codes = centred @ axes.T / deviation**power
    found = np.zeros((len(features), len(axes)))
    found[present] = codes / np.sqrt(np.square(codes).sum(axis=1).mean())
    return found


def predictors(rows: Rows, blocks: Blocks) -> np.ndarray:
    """Return Z: predictor tags over the number of tags, visual components, 1."""
    tags = given(rows)
    shares = tags / np.maximum(tags.sum(axis=1, keepdims=True), 1.0)
    codes = blocks.visual.transform(rows).astype(float)
    return np.hstack([shares[:, blocks.tags.predictor], codes, np.ones((len(rows), 1))])


def ridge(z: np.ndarray, y: np.ndarray, weight: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Return the weights of a weighted ridge regression."""
    gram = (z * weight[:, None]).T @ z + np.diag(penalty)
    return np.linalg.solve(gram, (z * weight[:, None]).T @ y)


def penalties(blocks: Blocks, dense: float) -> np.ndarray:
    """Return the penalty of every predictor, that of the intercept next to nothing."""
    tags = np.full(blocks.tags.width, blocks.tags.penalty)
    return np.concatenate([tags, np.full(blocks.visual.width, dense), [1e-6]])


def without_itself(blocks: Blocks, tag: int) -> np.ndarray:
    """Return the predictors of a tag: all but the tag itself."""
    return np.flatnonzero(np.append(blocks.tags.predictor, [-1] * (blocks.visual.width + 1)) != tag)


def joint_weights(joint: JointRidge) -> np.ndarray:
    """Return predictors x tags: the weights of the joint view."""
    return np.vstack([joint.tag_weights, joint.dense_weights])


def without_the_tag(rows: Rows, blocks: Blocks, tag: int) -> np.ndarray:
    """Return the predictors of images as if none had the tag: n - 1 tags are left of n."""
    fewer = given(rows)
    fewer[:, tag] = 0.0
    return predictors(replace(rows, tags=sparse.csr_array(fewer)), blocks)


def joint_refit(views: Views, rows: Rows, tag: int, left_out: int | None = None) -> np.ndarray:
    """Return the prediction of a tag for all images by a regression without one of them."""
    z, kept = predictors(rows, views.blocks), without_itself(views.blocks, tag)
    weight = views.image_weight.astype(float).copy()
    if left_out is not None:
        weight[left_out] = 0.0
    penalty = penalties(views.blocks, views.blocks.visual.penalty)[kept]
    expected, y = name_prior(views)[kept, tag], given(rows)[:, tag]
    fitted = ridge_towards(expected, z[:, kept], y, weight, penalty)
    return without_the_tag(rows, views.blocks, tag)[:, kept] @ fitted


def ridge_towards(
    expected: np.ndarray, z: np.ndarray, y: np.ndarray, weight: np.ndarray, penalty: np.ndarray
) -> np.ndarray:
    """Return the weights of a ridge regression that shrinks them to what is expected."""
    return expected + ridge(z, y - z @ expected, weight, penalty)


def name_prior(views: Views) -> np.ndarray:
    """Return B0, predictors x tags: what names say of tags, and 0 for the dense predictors."""
    found = np.zeros((views.blocks.width, views.n_tags))
    tags = views.weights.name_prior * views.similarity.toarray()[views.blocks.tags.predictor]
    found[: len(tags)] = tags
    return found


def name_similarity(names, uses: np.ndarray) -> np.ndarray:
    """Return S: the cosine of the vectors of two used names, from 0 at 0.4 to 1."""
    table = load_name_vectors()
    found = np.zeros((len(names), len(names)))
    for a, source in enumerate(names):
        for b, target in enumerate(names):
            known = source in table.row and target in table.row
            if a != b and uses[a] and uses[b] and known:
                one, other = (
                    table.codes[table.row[name]].astype(float) for name in (source, target)
                )
                cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
                found[a, b] = max((cosine - 0.4) / 0.6, 0.0)
    return found


def name_matrix(names, uses: np.ndarray, spread: np.ndarray, weight: float) -> np.ndarray:
    """Return G: 1 for a tag itself, and what it lends to tags with a similar name."""
    scale = spread + 1e-3
    lent = name_similarity(names, uses) * scale[None, :] / scale[:, None]
    return np.eye(len(names)) + weight * lent


def votes(rows: Rows, codes: np.ndarray, near: Neighbours, n_owners: int) -> np.ndarray:
    """Return what same-owner neighbours say, pair by pair."""
    reference, tags = near.reference, near.reference.tags.toarray()
    found = np.zeros((len(rows), tags.shape[1]))
    for i in range(len(rows)):
        mine, total = set(np.flatnonzero(rows.tags[[i]].toarray()[0])), 1.0
        for j in range(len(reference)):
            theirs = set(np.flatnonzero(tags[j]))
            is_frame = len(mine) >= 3 and mine == theirs
            is_itself = reference.image[j] == rows.position[i]
            stranger = rows.owner[i] >= n_owners or rows.owner[i] != reference.owner[j]
            unseen = not codes[i].any() or not reference.codes[j].any()
            if stranger or is_itself or is_frame or unseen:
                continue
            kernel = np.exp(-np.square(codes[i] - reference.codes[j]).sum() / near.width**2)
            if kernel >= 0.05:
                total += kernel
                found[i] += kernel * tags[j]
        found[i] /= total
    return found


def excess(views: Views, rows: Rows, *, fitted: bool) -> np.ndarray:
    """Return share (V_loo - r) G + (1 - share) (J_loo - r) + weight N, all matrices dense."""
    blocks, y = views.blocks, given(rows)
    weight = views.image_weight[rows.position].astype(float) if fitted else np.zeros(len(rows))
    z = predictors(rows, blocks)
    dense = z[:, blocks.tags.width :]
    left_out = np.einsum("ij,jk,ik->i", dense, views.visual.inverse.astype(float), dense) * weight
    visual = y - (y - dense @ views.visual.weights) / (1.0 - left_out[:, None])
    joint = joint_left_out(views, rows, weight)
    share, rate = views.weights.visual_share, views.statistics.base_rate
    codes = blocks.visual.transform(rows)
    near = votes(rows, codes[:, :64], views.neighbours, views.neighbours.n_owners)
    looks = share * (visual - rate) @ views.names.toarray()
    return looks + (1.0 - share) * (joint - rate) + views.weights.neighbour * near


def joint_left_out(views: Views, rows: Rows, weight: np.ndarray) -> np.ndarray:
    """Return J_loo: of given tags by the weights without the image, P without the own column."""
    blocks, y, z = views.blocks, given(rows), predictors(rows, views.blocks)
    inverse, weights = views.joint.inverse.astype(float), joint_weights(views.joint)
    whole = np.einsum("ij,jk,ik->i", z, inverse, z) * weight
    found = z @ weights / (1.0 - whole[:, None])
    for tag in range(y.shape[1]):
        own, rest = np.flatnonzero(blocks.tags.predictor == tag), inverse
        if len(own):
            column = inverse[:, own]
            rest = inverse - column @ column.T / inverse[own, own]
        seen = without_the_tag(rows, blocks, tag)
        for image in np.flatnonzero(y[:, tag]):
            across = rest @ z[image] * weight[image]
            error = (1.0 - z[image] @ weights[:, tag]) / (1.0 - z[image] @ across)
            found[image, tag] = seen[image] @ (weights[:, tag] - across * error)
    return found


def untagged_refit(views: Views, rows: Rows, tag: int, image: int) -> float:
    """Return the prediction of the joint view for an image without its tags, fitted without it."""
    z, kept = predictors(rows, views.blocks), without_itself(views.blocks, tag)
    weight = views.image_weight.astype(float).copy()
    weight[image] = 0.0
    penalty = penalties(views.blocks, views.blocks.visual.penalty)[kept]
    expected, y = name_prior(views)[kept, tag], given(rows)[:, tag]
    fitted = ridge_towards(expected, z[:, kept], y, weight, penalty)
    bare = z[image].copy()
    bare[: views.blocks.tags.width] = 0.0
    return float(bare[kept] @ fitted)
