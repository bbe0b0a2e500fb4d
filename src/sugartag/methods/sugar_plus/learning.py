"""What evidence means, learned from images that are judged by the others."""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray, Room, SparseRows
from sugartag.collection.model import Collection
from sugartag.engine.base import Block, Engine, blocks_all_over, row_blocks
from sugartag.linalg.sparse_rows import GrowingRows, row_number_of_entries, same_places
from sugartag.linalg.threads import run_parts
from sugartag.methods.sugar_plus.belief import Belief, learned_belief
from sugartag.methods.sugar_plus.given import Multiplied, judge_fitted_tags
from sugartag.methods.sugar_plus.habits import Habits
from sugartag.methods.sugar_plus.look_alikes import LookAlikes
from sugartag.methods.sugar_plus.manners import Manners
from sugartag.methods.sugar_plus.ridge import Ridge
from sugartag.methods.sugar_plus.slips import Slips

CELLS = 1 << 22
"""Images x tags that are learned from, at most."""
ROWS_PER_BLOCK = 256
CELLS_AT_ONCE = 1 << 22
"""Images x tags that are worked on in one step, about."""
ENTRIES_AT_ONCE = 1 << 16
"""Given tags that are worked on in one step."""


@dataclass(frozen=True, eq=False)
class GivenTags:
    """Every tag that was given, with what is thought of it."""

    tags: SparseRows
    """Images x tags: where they are."""
    content: FloatArray
    """What content says for each, in the order they are stored."""
    stamp: FloatArray
    """How probably a habit stamps it on."""
    honest: FloatArray
    """How probably it was given for another reason."""

    def trusted(self, alone: Belief, room: Room = np.zeros, *, threads: int = 1) -> SparseRows:
        """Return images x tags: how far each given tag is trusted.

        The root of the probability that it belongs: a tag that is doubted still says something.
        """
        found = room(self.tags.nnz, np.float32)

        def fill(part: slice) -> None:
            slips = alone.slips.of(self.tags.indices[part])
            found[part] = np.sqrt(alone.given(self.content[part], slips, self.stamp[part]))

        run_parts(fill, row_blocks(len(found), ENTRIES_AT_ONCE), threads)
        return same_places(found, self.tags)

    @property
    def honest_rows(self) -> SparseRows:
        """Images x tags: how probably a given tag was no habit."""
        return same_places(self.honest, self.tags)

    def honest_in(self, blocks: tuple[Block, ...]) -> FloatArray:
        """Return the same of some blocks, all tags of each image."""
        honest = self.honest_rows
        return np.concatenate([honest[block.start : block.stop].toarray() for block in blocks])


@dataclass(frozen=True, eq=False)
class Sample:
    """Images judged by the others, all tags of each."""

    given: BoolArray
    content: FloatArray
    interest: FloatArray
    alike: FloatArray
    told: BoolArray
    """Images whose owner has others."""

    @classmethod
    def joined(cls, parts: "list[Sample]") -> "Sample":
        """Return all parts as one."""
        names = ("given", "content", "interest", "alike", "told")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def tags_as_given(collection: Collection, room: Room = np.zeros) -> SparseRows:
    """Return images x tags of the whole collection, float32."""
    entries = sum(shard.tags.nnz for shard in collection.shards)
    found = GrowingRows(collection.n_tags, collection.n_images, entries, np.float32, room)
    for block in collection.blocks():
        found.take(collection.tags_of(block))
    return found.rows()


def sample_blocks(collection: Collection) -> tuple[Block, ...]:
    """Return blocks all over the collection, as many as are learned from."""
    most = CELLS // (collection.n_tags * ROWS_PER_BLOCK)
    return blocks_all_over(collection.blocks(ROWS_PER_BLOCK), most)


def steps(n_rows: int, n_tags: int) -> list[IntArray]:
    """Cut rows into equal steps of about so many cells: a short last one would cost more."""
    count = max(1, round(n_rows * n_tags / CELLS_AT_ONCE))
    size = max(16, -(-n_rows // count))
    return [np.arange(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def judge_sample(
    block: Block,
    collection: Collection,
    ridge: Ridge,
    trusted: SparseRows,
    look_alikes: LookAlikes,
) -> Sample:
    """Return what everything says about the images of a block, and what was given."""
    rows = collection.rows(block)
    content, alike = ridge.judge(rows, trusted), look_alikes.judge(rows, ridge.evidence)
    given = rows.tags.toarray() > 0
    return Sample(given, content.excess, content.interest, alike.excess, alike.told)


def judge_given_tags(
    block: Block, collection: Collection, ridge: Ridge, trusted: SparseRows
) -> FloatArray:
    """Return what content says about the given tags of a block, in the order they are stored."""
    rows = collection.rows(block)
    found = np.empty(rows.tags.nnz, dtype=np.float32)
    for part in steps(len(rows), collection.n_tags):
        some = rows.at(part)
        content = ridge.judge(some, trusted).excess
        place = slice(rows.tags.indptr[part[0]], rows.tags.indptr[part[-1] + 1])
        found[place] = content[row_number_of_entries(some.tags), some.tags.indices]
    return found


def learn_manners(
    collection: Collection,
    ridge: Ridge,
    trusted: SparseRows,
    sample: Sample,
    slips: Slips | None = None,
    *,
    engine: Engine,
) -> tuple[Manners, GivenTags]:
    """Learn from content how people tag: their recall, their slips, their habits.

    ``slips`` are those of each tag, where they are known. They are learned while all tags are
    trusted alike: later, slips on images that are alike vouch for each other.
    """

    def belief(honest: FloatArray) -> Belief:
        known = sample.content, sample.given, honest
        slipped = Slips.learned(*known, ridge.share) if slips is None else slips
        return learned_belief(*known, slipped, threads=engine.threads)

    plain = belief(sample.given.astype(np.float32))
    content = _content_of_given(collection, ridge, trusted, engine=engine)
    chance = same_places(engine.room(len(content), np.float32), trusted)
    parts = row_blocks(len(content), ENTRIES_AT_ONCE)

    def fill_chance(part: slice) -> None:
        chance.data[part] = plain.chance(content[part], plain.slips.rate[trusted.indices[part]])

    run_parts(fill_chance, parts, engine.threads)
    known = chance, collection.owner
    habits = Habits.learned(*known, collection.n_owners, engine.room, threads=engine.threads)
    stamp = habits.stamps_on(*known, engine.room, threads=engine.threads)
    honest = chance.data
    for part in parts:
        honest[part] = 1.0 - stamp[part] / (stamp[part] + honest[part])
    given = GivenTags(trusted, content, stamp, honest)
    alone = belief(given.honest_in(sample_blocks(collection)))
    return Manners(plain, habits, alone), given


def _content_of_given(
    collection: Collection, ridge: Ridge, trusted: SparseRows, *, engine: Engine
) -> FloatArray:
    """Return what content says about all given tags, in the order they are stored."""
    found, filled = engine.room(trusted.nnz, np.float32), 0
    multiplied = Multiplied.of(ridge, engine=engine)
    shared = collection, multiplied, trusted
    for part in engine.map(judge_fitted_tags, collection.blocks(), *shared):
        found[filled : filled + len(part)] = part
        filled += len(part)
    return found


def best_threshold(probability: FloatArray) -> float:
    """Return the threshold with the highest F expected, if the probabilities are right.

    Those that are more probable than half of the F of all that are left always raise it, others
    never do.
    """
    likely = probability.ravel()
    total = float(likely.sum(dtype=np.float64))
    while True:
        half_f = float(likely.sum(dtype=np.float64)) / (len(likely) + total)
        more = likely[likely > half_f]
        if len(more) in (0, len(likely)):
            return round(float(likely.min()), 4)
        likely = more
