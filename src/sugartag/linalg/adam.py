"""Adam (Kingma and Ba, 2015) for a matrix of which a step touches some rows only."""

from dataclasses import dataclass

import numpy as np

from sugartag._typing import FloatArray, IntArray

FIRST_DECAY = 0.9
SECOND_DECAY = 0.999
SMALLEST_DIVISOR = 1e-8
"""The three constants of Adam, as its authors recommend them."""


@dataclass(frozen=True, eq=False)
class RowAdam:
    """The running moments of every row, and how many steps each has made.

    A row that a step does not touch stands still, moments included: each row takes exactly the
    steps that Adam would take for it alone, however seldom it comes up.
    """

    rate: float
    """How far a coordinate moves in a step, at most, while its gradient keeps its sign."""
    first: FloatArray
    """Rows x columns: the decaying mean of the gradients."""
    second: FloatArray
    """Rows x columns: the decaying mean of their squares."""
    steps: IntArray

    @classmethod
    def of(cls, values: FloatArray, rate: float) -> "RowAdam":
        """Return the state before the first step for a matrix of this shape."""
        shape = values.shape
        return cls(rate, np.zeros(shape), np.zeros(shape), np.zeros(len(values), dtype=np.int64))

    def descend(
        self, values: FloatArray, gradient: FloatArray, rows: IntArray | None = None
    ) -> None:
        """Move ``values[rows]`` one step against its gradient, in place; all rows if None.

        No row may be named twice.
        """
        chosen: IntArray | slice = slice(None) if rows is None else rows
        steps = self.steps[chosen] + 1
        first = FIRST_DECAY * self.first[chosen] + (1 - FIRST_DECAY) * gradient
        second = SECOND_DECAY * self.second[chosen] + (1 - SECOND_DECAY) * gradient**2
        self.steps[chosen], self.first[chosen], self.second[chosen] = steps, first, second
        age = steps[:, None]
        spread = np.sqrt(second / (1 - SECOND_DECAY**age)) + SMALLEST_DIVISOR
        values[chosen] -= self.rate / (1 - FIRST_DECAY**age) * first / spread
