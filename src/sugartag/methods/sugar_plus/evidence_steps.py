"""Cells of images x tags counted by how strong the evidence is for them."""

import numpy as np

from sugartag._typing import BoolArray, FloatArray
from sugartag.engine.base import row_blocks
from sugartag.linalg.compiled import compiled
from sugartag.linalg.threads import run_parts

ROWS_AT_ONCE = 64
"""Images that are put into steps in one go."""


def cells_in_steps(
    edges: FloatArray,
    evidence: FloatArray,
    given: BoolArray,
    honest: FloatArray,
    slips: FloatArray,
    *,
    threads: int = 1,
) -> FloatArray:
    """Return of each step of evidence: how many cells, honest uses, their slips, their evidence.

    A step ends with its edge, and there is one edge at least; the last step is past all of them.
    """
    often = slips.astype(np.float64)

    def of_rows(some: slice) -> FloatArray:
        return _rows_in_steps(edges, evidence[some], given[some], honest[some], often)

    parts = run_parts(of_rows, row_blocks(len(evidence), ROWS_AT_ONCE), threads)
    found: FloatArray = np.sum(parts, axis=0)
    return found


@compiled
def _rows_in_steps(
    edges: FloatArray, evidence: FloatArray, given: BoolArray, honest: FloatArray, slips: FloatArray
) -> FloatArray:
    found, step = np.zeros((4, len(edges) + 1)), np.empty(evidence.shape[1], np.int32)
    for row in range(evidence.shape[0]):
        step[:] = 0
        left = len(edges)
        # By halving, all tags at once and without a branch: which way to go cannot be foreseen.
        while left > 1:
            half = left // 2
            for tag in range(len(step)):
                step[tag] += half * (edges[step[tag] + half - 1] < evidence[row, tag])
            left -= half
        for tag in range(len(step)):
            here = step[tag] + (edges[step[tag]] < evidence[row, tag])
            found[0, here] += 1.0
            if given[row, tag]:
                found[1, here] += honest[row, tag]
            found[2, here] += slips[tag]
            found[3, here] += evidence[row, tag]
    return found
