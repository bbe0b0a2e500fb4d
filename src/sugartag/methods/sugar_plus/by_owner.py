"""The images of each owner, some owners at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sugartag._typing import IntArray

IMAGES_AT_ONCE = 1 << 15
"""Images of some owners, about; one owner's stay together."""


@dataclass(frozen=True, eq=False)
class ByOwner:
    """Which images are whose."""

    image: IntArray
    """Images of known owners, by owner and then in their order."""
    start: IntArray
    """The images of owner o are those from start[o] to start[o + 1]."""

    @classmethod
    def of(cls, owner: IntArray, n_owners: int) -> "ByOwner":
        """Sort images by their owners; an owner from ``n_owners`` on is nobody."""
        order = np.argsort(owner, kind="stable")
        start = np.searchsorted(owner, np.arange(n_owners + 1), sorter=order)
        return cls(order[: start[-1]], start)

    def chunks(self, images_at_once: int = IMAGES_AT_ONCE) -> Iterator[tuple[slice, IntArray]]:
        """Yield runs of owners, all in the end, and their images."""
        first, n_owners = 0, len(self.start) - 1
        while first < n_owners:
            wanted = self.start[first] + images_at_once
            last = int(np.searchsorted(self.start, wanted, side="right")) - 1
            last = min(max(last, first + 1), n_owners)
            yield slice(first, last), self.image[self.start[first] : self.start[last]]
            first = last
