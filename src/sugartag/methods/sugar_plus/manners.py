"""How people tag: what they know, what slips, and what they stamp on by habit."""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import FloatArray, SparseRows
from sugartag.collection.model import Rows
from sugartag.linalg.sparse_rows import row_number_of_entries
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

    def stamps(
        self, rows: Rows, tags: SparseRows, content: FloatArray, seen: FloatArray
    ) -> FloatArray:
        """Return how probably a habit stamps tags on images, of those asked for; float32.

        ``tags`` are images x tags: 1 where an image has the tag, 0 where it does not. ``content``
        is what content says about each; ``seen`` is 1 for images that were fitted.
        """
        habits, image = self.habits, row_number_of_entries(tags)
        found = habits.stamps_unused(rows.owner, seen).astype(np.float32)[image]
        pair, used = stored_at(habits.uses, rows.owner, tags)
        pair, by, tag = pair[used], image[used], tags.indices[used]
        # An image that was counted is not to be held against itself.
        counted = seen[by] * (tags.data[used] > 0)
        own = self.plain.chance(content[used], self.plain.slips.rate[tag]) * counted
        found[used] = habits.stamps_at(rows.owner[by], pair, own, seen[by])
        return found
