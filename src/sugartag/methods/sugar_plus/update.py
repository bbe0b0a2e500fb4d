"""More images, owners, tags and decisions for a fitted sugar-plus, without fitting it anew.

Sums can be added, so images are added to those of the model; an image that it has already is first
taken out, with its tags as they were. Its given tags are judged by the model as it is. What
evidence means, how images are described and what was chosen stays as it was learned.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from sugartag._typing import BoolArray, FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Engine
from sugartag.errors import CollectionError
from sugartag.linalg.sparse_rows import row_number_of_entries, same_places, values_at
from sugartag.methods.sugar_plus.decisions import as_decided, latest
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.fitted import FittedSugarPlus
from sugartag.methods.sugar_plus.growth import grown, widened
from sugartag.methods.sugar_plus.habits import Habits
from sugartag.methods.sugar_plus.images import (
    Images,
    as_ones,
    chosen_images,
    positions_of,
    rows_at,
)
from sugartag.methods.sugar_plus.in_short import InShort, describe_images
from sugartag.methods.sugar_plus.learning import GivenTags, judge_given_tags, tags_as_given
from sugartag.methods.sugar_plus.look_alikes import LookAlikes
from sugartag.methods.sugar_plus.manners import Manners
from sugartag.methods.sugar_plus.method import SugarPlus
from sugartag.methods.sugar_plus.remembered import remembering
from sugartag.methods.sugar_plus.sums import Sums, add_up

SAME_LOOKS = 1e-3
"""An image that the model has must lie where it lay, to this part of the look-alikes' width."""


def updated(
    fitted: FittedSugarPlus,
    method: SugarPlus,
    collection: Collection,
    decided: SparseRows,
    *,
    engine: Engine,
) -> FittedSugarPlus:
    """Return the model with the images of a collection and with what was decided about them.

    The collection is seen from a catalogue that starts with the model's names and has all names of
    the collection as well; ``decided``, images of that catalogue x its tags, is about images of
    the collection. Images that the model has, and that have the same tags, change nothing.
    """
    n_images, n_tags = decided.shape
    position = np.concatenate([positions_of(shard) for shard in collection.shards])
    given = tags_as_given(collection)
    before = rows_at(as_ones(widened(fitted.trusted, n_images, n_tags)), position)
    known = widened(fitted.decided, n_images, n_tags)
    decided = latest(known, decided)
    news = np.flatnonzero(
        (position >= fitted.ridge.n_images)
        | _differ(given, before)
        | _differ(rows_at(decided, position), rows_at(known, position))
    )
    earlier_uses = np.pad(fitted.ridge.sums.given, (0, n_tags - fitted.evidence.n_tags))
    uses = earlier_uses + _uses(given[news]) - _uses(before[news])
    base = grown(fitted, uses, n_images, collection.n_owners, method.max_predictors)
    if not len(news):
        return base
    images = Images(chosen_images(collection, news), decided)
    rest = Rest.of(base, images, engine=engine)
    found = rest.joined_by(images, base, method, engine=engine)
    if (uses[earlier_uses == 0] > 0).any():
        # Of tags that nobody had used the model knew nothing: now it does.
        found = rest.joined_by(images, found, method, engine=engine)
    return found


@dataclass(frozen=True, eq=False)
class Rest:
    """What is left of a model without the images that are to be added."""

    base: FittedSugarPlus
    sums: Sums
    habits: Habits

    @classmethod
    def of(cls, base: FittedSugarPlus, images: Images, *, engine: Engine) -> "Rest":
        """Take out those of the images that the model has."""
        sums, habits = base.ridge.sums, base.manners.habits
        earlier = images.among(base)
        if earlier is None:
            return cls(base, sums, habits)
        check_unchanged(earlier, base, engine=engine)
        believed = rows_at(base.believed, earlier.position)
        sums += -add_up(earlier.collection, base.evidence, believed, engine=engine)
        chance, _ = given_chances(earlier, base, engine=engine)
        habits = habits.with_images(chance, earlier.collection.owner, sign=-1)
        return cls(base, sums, habits)

    def joined_by(
        self, images: Images, judge: FittedSugarPlus, method: SugarPlus, *, engine: Engine
    ) -> FittedSugarPlus:
        """Add images, their given tags trusted as far as a model believes them."""
        base, owner = self.base, images.collection.owner
        chance, content = given_chances(images, judge, engine=engine)
        habits = self.habits.with_images(chance, owner)
        stamp = habits.stamps_on(chance, owner)
        honest = 1.0 - stamp / (stamp + chance.data)
        tags = GivenTags(images.given, content, stamp, honest).trusted(base.manners.alone)
        believed = as_decided(tags, images.decided_here)
        sums = self.sums + add_up(images.collection, base.evidence, believed, engine=engine)
        manners = base.manners
        return replace(
            base,
            ridge=method.solved(sums, base.evidence, base.choice, threads=engine.threads),
            trusted=_with_rows(base.trusted, images.position, tags, images.decided.shape[0]),
            look_alikes=_remembering_more(base, images, sums, method.history, engine=engine),
            manners=Manners(manners.plain, habits, manners.alone),
            decided=images.decided,
        )


def given_chances(
    images: Images, judge: FittedSugarPlus, *, engine: Engine
) -> tuple[SparseRows, FloatArray]:
    """Return the chance of each given tag to be given without a habit; and what content says.

    A tag that is right is given as people give those that are, one that is wrong by slip only.
    """
    corrected, given, plain = images.corrected, images.given, judge.manners.plain
    said = engine.map(judge_given_tags, corrected.blocks(), corrected, judge.ridge, judge.believed)
    row, tag = row_number_of_entries(given), given.indices
    judged = same_places(np.concatenate(list(said)), tags_as_given(corrected))
    content = values_at(judged, row, tag).astype(np.float32)
    slips = plain.slips.rate[tag]
    chance = plain.chance(content, slips)
    decided = values_at(images.decided_here, row, tag)
    chance = np.where(decided > 0, plain.recall, np.where(decided < 0, slips, chance))
    return same_places(chance.astype(np.float32), given), content


def check_unchanged(images: Images, fitted: FittedSugarPlus, *, engine: Engine) -> None:
    """Raise if images are not those that the model has under their ids, as far as it remembers."""
    collection, evidence = images.collection, fitted.evidence
    if len(evidence.words) and collection.texts_of("titles") is None:
        raise CollectionError(
            "the model has titles of images that come without; import them with their titles"
        )
    now = described(images, evidence, fitted.look_alikes, engine=engine)
    then = fitted.look_alikes.in_short()
    mine = np.flatnonzero(np.isin(now.image, then.image))
    order = np.argsort(then.image)
    theirs = order[np.searchsorted(then.image[order], now.image[mine])]
    n = len(evidence.predictor)
    apart = np.abs(now.codes[mine] - then.codes[theirs]).max(axis=1, initial=0.0)
    faults = {
        "owner": now.owner[mine] != then.owner[theirs],
        "features": apart > SAME_LOOKS * fitted.look_alikes.width,
        "title": _differ(now.tokens[mine][:, n:], then.tokens[theirs][:, n:]),
    }
    ids = collection.ids
    for what, other in faults.items():
        if other.any():
            raise CollectionError(
                f"image {ids[int(mine[np.flatnonzero(other)[0]])]!r} has another {what} than the "
                "model knows; give a changed image a new id, or fit again"
            )


def described(
    images: Images, evidence: Evidence, look_alikes: LookAlikes, *, engine: Engine
) -> InShort:
    """Return images in short, with the tags they have after what was decided."""
    corrected = images.corrected
    every = np.arange(corrected.n_images)
    shared = corrected, evidence, look_alikes.directions, every
    return InShort.joined(list(engine.map(describe_images, corrected.blocks(), *shared)))


def _remembering_more(
    base: FittedSugarPlus, images: Images, sums: Sums, most: int, *, engine: Engine
) -> LookAlikes:
    """Replace images that are remembered; add new ones of owners of whom few are."""
    look_alikes = base.look_alikes
    then = look_alikes.in_short()
    now = described(images, base.evidence, look_alikes, engine=engine)
    again = np.isin(now.image, then.image)
    new = np.flatnonzero((now.image >= base.ridge.n_images) & (now.owner < len(sums.owners)))
    order = new[np.argsort(now.owner[new], kind="stable")]
    owner = now.owner[order]
    count = np.bincount(then.owner, minlength=len(sums.owners))
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner) + count[owner]
    taken = np.concatenate([np.flatnonzero(again), order[rank < most]])
    kept = np.flatnonzero(~np.isin(then.image, now.image))
    both = InShort.joined([then.at(kept), now.at(taken)])
    return remembering(both, base.evidence, sums, look_alikes.directions, look_alikes.width)


def _differ(some: SparseRows, others: SparseRows) -> BoolArray:
    """Tell in which rows two matrices differ."""
    apart = sparse.csr_array(abs(some.astype(np.float32) - others.astype(np.float32)))
    found: BoolArray = np.asarray(apart.sum(axis=1)).ravel() > 0
    return found


def _uses(tags: SparseRows) -> FloatArray:
    return np.bincount(tags.indices, minlength=tags.shape[1]).astype(np.float64)


def _with_rows(matrix: SparseRows, rows: IntArray, values: SparseRows, n_rows: int) -> SparseRows:
    """Return the matrix with some rows replaced; all that are new must be among them."""
    source = np.arange(n_rows)
    source[rows] = matrix.shape[0] + np.arange(len(rows))
    both = sparse.csr_array(sparse.vstack([matrix, values], format="csr"))
    return rows_at(both, source)
