"""The completion of the anchor tensor: the problem in anchor-sized arrays, and its solvers."""

from sugartag.completion.exact import complete_exactly
from sugartag.completion.multiplicative import complete_multiplicatively, disturbed_start
from sugartag.completion.nonnegative import complete_nonnegatively
from sugartag.completion.problem import AnchorSums, Completion, CompletionProblem, Penalties

__all__ = [
    "AnchorSums",
    "Completion",
    "CompletionProblem",
    "Penalties",
    "complete_exactly",
    "complete_multiplicatively",
    "complete_nonnegatively",
    "disturbed_start",
]
