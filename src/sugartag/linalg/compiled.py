"""Loops over numbers that are compiled to machine code when they are first called.

For steps that go through arrays cell by cell and that NumPy would take through memory many times.
What is compiled is kept beside the sources, or in the user's cache folder, for later processes. It
does not check indices: callers pass what they made, or checked with :func:`fit_together`.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from numba.core import event

from sugartag.linalg.compiling import report_compiling

Function = TypeVar("Function", bound=Callable[..., Any])

SUMS_IN_ANY_ORDER = {"reassoc", "contract", "nsz"}
"""Of what floating point promises, this is given up: sums then go several numbers at a time."""


def compiled(function: Function) -> Function:
    """Return the function compiled; threads run it side by side.

    Its ``py_func`` is the function as it is written.
    """
    try:
        kept = numba.njit(cache=True, nogil=True, fastmath=SUMS_IN_ANY_ORDER, error_model="numpy")
        made = kept(function)
    except RuntimeError:  # There is no folder that may be written to.
        made = numba.njit(nogil=True, fastmath=SUMS_IN_ANY_ORDER, error_model="numpy")(function)
    return cast("Function", made)


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that cannot be written to.

    Functions are compiled anew for arrays that can be, and for those that cannot: mapped to the
    file of a model, that is. Those that are only read are therefore always passed like this.
    """
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def fit_together(is_so: bool) -> None:
    """Refuse arrays whose sizes contradict each other, as those of a forged model might."""
    if not is_so:
        raise ValueError("the parts of a model do not fit together")


class _Reporter(event.Listener):
    """Passes on when numba compiles; what it compiles for that, it compiles meanwhile."""

    def __init__(self) -> None:
        self._depth = 0

    def on_start(self, event: event.Event) -> None:
        self._depth += 1
        if self._depth == 1:
            report_compiling(True)

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0:
            report_compiling(False)


event.register("numba:compile", _Reporter())  # type: ignore[no-untyped-call]
