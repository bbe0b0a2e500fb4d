"""How it is learned what images are about: by expectation-maximisation, without a truth.

An image is about one subject. Its tags are drawn from those of the subject, or by chance; its looks
lie around the subject's; and how common a subject is goes by the owner's other images. Given tags
count as far as they are believed, and images of one owner less the more there are, as they do in
the regression.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.anchors.clusters import k_means_centres, nearest_centres
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, row_blocks
from sugartag.linalg.main_directions import main_directions
from sugartag.linalg.threads import run_parts
from sugartag.methods.sugar_plus.looked_at import SUBJECT_FOLDS, LookedAt
from sugartag.methods.sugar_plus.subjects import Subjects, by_others, shares

STEPS, STEPS_BETWEEN = 20, 5
"""Steps, and those after which it is asked again how much owners' other images say."""
SHRINKAGES = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0, 1024.0)
FIRST_SHRINKAGE = 4.0
MOST_DIRECTIONS = 32
"""Directions that looks are compared along."""
LOOKS_COUNT = 0.5
"""What looks count for: directions are not as independent as the model takes them to be."""
BY_CHANCE = 0.2
"""Share of the given tags that have nothing to do with the subject."""
SHRINKAGE = 20.0
"""Images of no subject that those about one are averaged with."""
FIRST_GUESS = 0.9
"""How sure the clusters that it begins with are."""
FEWEST_IMAGES = 100
"""For each subject."""
LEAST = 1e-7
"""Share of a tag that nobody has."""


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from some images: see :class:`subjects.Subjects`."""

    by_looks: FloatArray
    by_tag: FloatArray
    rate: FloatArray
    share: FloatArray
    common: FloatArray
    shrinkage: float = FIRST_SHRINKAGE


def learned_subjects(
    collection: Collection,
    trusted: SparseRows,
    looked_at: LookedAt,
    count: int,
    owner_variance: float,
    *,
    engine: Engine,
    rng: np.random.Generator,
) -> Subjects | None:
    """Learn what images are about, at full strength; None where there are too few to tell.

    ``trusted`` are the tags of all images: the root of how far each is believed.
    """
    position, fold = looked_at.position, looked_at.folds(SUBJECT_FOLDS)
    tags = sparse.csr_array(trusted[position].astype(np.float32).power(2))
    count = min(count, len(position) // FEWEST_IMAGES)
    if count < 2 or not tags.nnz:
        return None
    directions = looked_at.directions.first(MOST_DIRECTIONS)
    seen = np.delete(looked_at.seen, np.s_[len(directions) : -1], axis=1)
    about = _first_guess(tags, count, rng=rng, threads=engine.threads)

    def learned_without(one: slice) -> Learned:
        kept = np.flatnonzero(fold != one.start)
        owner = np.minimum(looked_at.owner[kept], looked_at.n_owners)
        images = Images(tags[kept], seen[kept], owner, looked_at.n_owners, owner_variance)
        return images.learned(about[kept])

    learned = run_parts(learned_without, row_blocks(SUBJECT_FOLDS, 1), engine.threads)

    def of_folds(name: str) -> FloatArray:
        return np.ascontiguousarray(np.stack([getattr(part, name) for part in learned]))

    found = Subjects(
        directions,
        by_looks=of_folds("by_looks"),
        by_tag=of_folds("by_tag"),
        rate=of_folds("rate"),
        share=of_folds("share"),
        common=of_folds("common"),
        shrinkage=of_folds("shrinkage").astype(np.float32),
        of_owners=np.zeros((looked_at.n_owners, count), dtype=np.float32),
        strength=1.0,
        n_images=collection.n_images,
    )
    of_owners = np.zeros((collection.n_owners + 1, count))
    for owner, theirs in engine.map(about_images, collection.blocks(), collection, found):
        of_owners[owner] += theirs
    return replace(found, of_owners=of_owners[: looked_at.n_owners].astype(np.float32))


def about_images(
    block: Block, collection: Collection, subjects: Subjects
) -> tuple[IntArray, FloatArray]:
    """Return the owners of the images of a block, and owners x subjects: what these are about.

    Owners are not asked what their others are about.
    """
    rows = collection.rows(block)
    owner, place = np.unique(rows.owner, return_inverse=True)
    entries = np.ones(len(rows)), (place, np.arange(len(rows)))
    whose = sparse.csr_array(entries, shape=(len(owner), len(rows)))
    return owner, whose @ subjects.of_images(rows)


@dataclass(frozen=True, eq=False)
class Images:
    """Images to learn from."""

    tags: SparseRows
    """Images x tags: how far each given tag is believed."""
    seen: FloatArray
    """Images x directions and, last, ones."""
    owner: IntArray
    n_owners: int
    """Owners from here on are nobody."""
    owner_variance: float

    def learned(self, about: FloatArray) -> Learned:
        """Learn what subjects there are, from a first guess: images x subjects."""
        shrinkage = FIRST_SHRINKAGE
        for step in range(1, STEPS + 1):
            found = self.described(about)
            if step % STEPS_BETWEEN == 0:
                shrinkage = self.chosen_shrinkage(found)
            found = replace(found, shrinkage=shrinkage)
            about = self.told(found)
        return found

    def described(self, about: FloatArray) -> Learned:
        """Return what is most probable of each subject if images are about so much of each."""
        weight = about / (1.0 + self.owner_variance * self._of_owners(about))
        uses = (self.tags.T @ weight).T + SHRINKAGE * self._share
        rate = uses / (weight.sum(axis=0) + SHRINKAGE)[:, None]
        lift = uses / uses.sum(axis=1, keepdims=True) / (self._share / self._share.sum())
        images, looks = about.sum(axis=0) + 1.0, self.seen[:, :-1].astype(np.float64)
        centre = about.T @ looks / images[:, None]
        squares = np.square(looks).sum(axis=0) - images @ np.square(centre)
        precision = LOOKS_COUNT * len(looks) / np.maximum(squares, LEAST)
        common = images / images.sum()
        at_centre = np.log(common) - 0.5 * np.square(centre) @ precision
        return Learned(
            by_looks=np.vstack([centre.T * precision[:, None], at_centre]).astype(np.float32),
            by_tag=np.log((1.0 - BY_CHANCE) * lift + BY_CHANCE).T.astype(np.float32),
            rate=rate.astype(np.float32),
            share=self._share.astype(np.float32),
            common=common.astype(np.float32),
        )

    def told(self, learned: Learned) -> FloatArray:
        """Return what images are about."""
        odds, others = self._asked(learned)
        return shares(odds + by_others(others, learned.common, learned.shrinkage))

    def chosen_shrinkage(self, learned: Learned) -> float:
        """Return the one with which owners' other images foretell best what images have."""
        odds, others = self._asked(learned)
        likely = [
            float(logsumexp(odds + by_others(others, learned.common, tried), axis=1).sum())
            for tried in SHRINKAGES
        ]
        return SHRINKAGES[int(np.argmax(likely))]

    def _asked(self, learned: Learned) -> tuple[FloatArray, FloatArray]:
        """Return images x subjects: the log odds by looks and tags, and the owners' others."""
        odds = (self.seen @ learned.by_looks + self.tags @ learned.by_tag).astype(np.float64)
        about = shares(odds)
        return odds, np.maximum(self._of_owners(about) - about * self._known, 0.0)

    def _of_owners(self, about: FloatArray) -> FloatArray:
        """Return images x subjects: how many images of its owner are about each."""
        found: FloatArray = self._whose.T @ (self._whose @ about)
        return found

    @cached_property
    def _known(self) -> FloatArray:
        """1 for each image of a known owner, else 0; as a column."""
        return (self.owner < self.n_owners).astype(np.float64)[:, None]

    @cached_property
    def _whose(self) -> SparseRows:
        """Owners x images."""
        image = np.flatnonzero(self.owner < self.n_owners)
        place = self.owner[image], image
        return sparse.csr_array(
            (np.ones(len(image)), place), shape=(self.n_owners, len(self.owner))
        )

    @cached_property
    def _share(self) -> FloatArray:
        found: FloatArray = np.asarray(self.tags.sum(axis=0, dtype=np.float64)).ravel()
        return found / len(self.owner) + LEAST


def _first_guess(
    tags: SparseRows, count: int, *, rng: np.random.Generator, threads: int
) -> FloatArray:
    """Return images x subjects: clusters of images by their tags."""
    directions = main_directions(tags, min(count, tags.shape[1]), threads=threads)
    short = (tags @ directions).astype(np.float64)
    centres = k_means_centres(short, count, rng=rng, threads=threads)
    label, _ = nearest_centres(short, centres)
    found = np.full((len(label), count), (1.0 - FIRST_GUESS) / count)
    found[np.arange(len(label)), label] += FIRST_GUESS
    return found
