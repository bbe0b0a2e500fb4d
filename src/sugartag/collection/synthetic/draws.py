"""Random draws for many rows at once: streams, weighted pools, distinct draws, a shuffle."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.subset import is_in

ROUNDS = 24
"""How often a row that lacks distinct columns is drawn again before it makes do with fewer."""
SHUFFLE_ROUNDS = 4
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HIGH_BITS = np.uint64(32)


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the random numbers of one purpose, independent of those of every other key."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def zipf_weights(count: int, exponent: float, *, shift: float = 0.0) -> FloatArray:
    """Return the shares of ranks 1 to ``count`` under Zipf's law (Mandelbrot's, if shifted)."""
    weights: FloatArray = np.power(np.arange(1, count + 1) + shift, -exponent)
    weights /= weights.sum()
    return weights


@dataclass(frozen=True, eq=False)
class Pools:
    """Several pools of weighted members, to draw from many of them in one go."""

    cumulative: FloatArray
    """Rises from p to p + 1 over the members of pool p."""
    member: IntArray
    last: IntArray
    """Where the last member of each pool stands."""

    @classmethod
    def of(cls, members: Sequence[IntArray], weights: FloatArray) -> "Pools":
        """Make one pool of each array of members; ``weights`` is indexed by member."""
        rising = []
        for number, pool in enumerate(members):
            sums = np.cumsum(weights[pool])
            rising.append(number + sums / sums[-1])
        last = np.cumsum([len(pool) for pool in members]) - 1
        return cls(np.concatenate(rising), np.concatenate(members), last)

    def draw(self, pool: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw one member of the pool named in each row."""
        found = np.searchsorted(self.cumulative, pool + rng.random(len(pool)), side="right")
        # p + u can round up to p + 1, which is the next pool
        return self.member[np.minimum(found, self.last[pool])]

    def draw_any(self, count: int, rng: np.random.Generator) -> IntArray:
        """Draw members of the first pool."""
        return self.draw(np.zeros(count, dtype=np.int64), rng)


def distinct(
    draw: Callable[[IntArray], IntArray],
    wanted: IntArray,
    n_columns: int,
    *,
    taken: IntArray | None = None,
) -> IntArray:
    """Return sorted keys ``row * n_columns + column``: ``wanted[row]`` different columns a row.

    ``draw`` gives a column for each row it is given; columns among the keys ``taken``, which are
    sorted, are drawn again. A row whose pool is nearly used up may end with fewer than wanted.
    """
    keys: IntArray = np.empty(0, dtype=np.int64)
    for _ in range(ROUNDS):
        lacking = wanted - np.bincount(keys // n_columns, minlength=len(wanted))
        row = np.repeat(np.arange(len(wanted)), lacking)
        if not len(row):
            break
        fresh = row * n_columns + draw(row)
        if taken is not None:
            fresh = fresh[~is_in(fresh, taken)]
        keys = sorted_once(keys, fresh)
    return keys


def sorted_once(*parts: IntArray) -> IntArray:
    """Return all keys of the parts, sorted, each once; faster here than the hashing of numpy."""
    keys = np.sort(np.concatenate(parts))
    first = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]


def rows_of_keys(keys: IntArray, n_rows: int, n_columns: int) -> SparseRows:
    """Return the binary matrix whose entries are the sorted keys ``row * n_columns + column``."""
    indptr = np.searchsorted(keys, np.arange(n_rows + 1) * n_columns).astype(np.int32)
    indices = (keys % n_columns).astype(np.int32)
    ones = np.ones(len(keys), dtype=np.int8)
    return sparse.csr_array((ones, indices, indptr), shape=(n_rows, n_columns))


def shuffled(position: IntArray, count: int, keys: IntArray) -> IntArray:
    """Return where one fixed shuffle of ``range(count)`` puts each position.

    The shuffle is computed, not stored: a Feistel network over the next power of four, walked
    again where it leads outside. ``keys`` are :data:`SHUFFLE_ROUNDS` random 64-bit numbers.
    """
    half = np.uint64(max(1, ((count - 1).bit_length() + 1) // 2))
    moved = _feistel(position.astype(np.uint64), half, keys)
    while (outside := moved >= count).any():
        moved[outside] = _feistel(moved[outside], half, keys)
    return moved.astype(np.int64)


def _feistel(number: IntArray, half: np.uint64, keys: IntArray) -> IntArray:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = number >> half, number & mask
    for key in keys:
        mixed = (right + key) * _MULTIPLIER
        mixed = (mixed ^ (mixed >> _HIGH_BITS)) * _MULTIPLIER
        left, right = right, left ^ ((mixed >> _HIGH_BITS) & mask)
    return (left << half) | right
