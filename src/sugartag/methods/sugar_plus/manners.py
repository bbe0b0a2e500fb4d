"""How people tag: what they know, what slips, and what they stamp on by habit."""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Rows
from sugartag.linalg.sparse_rows import entries_between, row_number_of_entries
from sugartag.methods.sugar_plus.at_places import stored_at
from sugartag.methods.sugar_plus.belief import Belief
from sugartag.methods.sugar_plus.habits import Habits


@dataclass(frozen=True, eq=False)
class Manners:
    """How people tag, as far as content alone can tell."""

    plain: Belief
    """With every use of a tag taken for honest: what habits are held against."""
    habits: Habits
    alone: Belief
    """Of content alone, habits set aside."""

    def stamps(self, rows: Rows, at_given: FloatArray, seen: FloatArray) -> "Stamps":
        """Return how probably a habit stamps each tag on.

        ``at_given`` is what content says about the given tags of the images, in the order they are
        stored; ``seen`` is 1 for images that were fitted.
        """
        habits, tag = self.habits, rows.tags.indices
        unused = habits.stamps_unused(rows.owner, seen).astype(np.float32)
        image = row_number_of_entries(rows.tags)
        pair, used = stored_at(habits.uses, rows.owner, rows.tags)
        pair, by = pair[used], image[used]
        # An image that was counted is not to be held against itself.
        own = self.plain.chance(at_given[used], self.plain.slips[tag[used]]) * seen[by]
        given = unused[image]
        given[used] = habits.stamps_at(rows.owner[by], pair, own, seen[by])
        return Stamps(habits, rows.owner, seen, unused, rows.tags, given)

    def usual_stamps(self, rows: Rows) -> "Stamps":
        """Return the same for images whose owners nobody knows."""
        nobody = np.full(len(rows), len(self.habits.images))
        unused = np.full(len(rows), self.habits.usual, dtype=np.float32)
        given = np.full(rows.tags.nnz, self.habits.usual, dtype=np.float32)
        return Stamps(self.habits, nobody, np.zeros(len(rows)), unused, rows.tags, given)


@dataclass(frozen=True, eq=False)
class Stamps:
    """How probably a habit stamps tags on images. Float32."""

    habits: Habits
    """Of tags that an owner used, but did not give to the image."""
    owner: IntArray
    """Of each image."""
    seen: FloatArray
    """Of each image: 1 if it was counted."""
    unused: FloatArray
    """Of each image: any tag that its owner never used."""
    tags: SparseRows
    """Those given to the images."""
    given: FloatArray
    """Of each tag given."""

    def toarray(self) -> FloatArray:
        """Return images x tags."""
        found = np.repeat(self.unused[:, None], self.tags.shape[1], axis=1)
        uses = self.habits.uses
        owner = np.minimum(self.owner, uses.shape[0])
        ends = np.append(uses.indptr, uses.nnz)
        row, pair = entries_between(ends[owner], ends[owner + 1])
        on_fitted, on_new = self.habits.on_fitted[pair], self.habits.on_new[pair]
        found[row, uses.indices[pair]] = np.where(self.seen[row] > 0, on_fitted, on_new)
        found[row_number_of_entries(self.tags), self.tags.indices] = self.given
        return found
