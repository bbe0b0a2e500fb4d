"""What a retagging method is: settings that can be fitted, and what fitting gives."""

from typing import Any, ClassVar, Protocol

import numpy as np

from sugartag._typing import FloatArray
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Engine


class Fitted(Protocol):
    """What a method learned. It never changes, so it can be shared and scored from anywhere.

    Implementations are frozen dataclasses whose fields are arrays, sparse arrays, plain values
    or collections: that is all a model folder stores.
    """

    gives_whole_sets: ClassVar[bool]
    """True where the answer is a set of tags rather than a ranking (the original tags)."""

    @property
    def floor(self) -> float:
        """Tags are predicted above this score: that of a tag of which nothing is known, or more."""
        ...

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return images x tags, float32: the higher, the likelier the tag belongs.

        The images may be ones the method was fitted on, new ones of known owners, or new ones
        of unknown owners. ``strangers_only`` leaves out the evidence of neighbours and anchors
        that belong to the image's own owner.
        """
        ...


class Method(Protocol):
    """A retagging method: a frozen bag of settings that can be fitted."""

    name: ClassVar[str]
    """What it is called on the command line."""
    summary: ClassVar[str]
    """What it does, in one sentence."""
    fitted_type: ClassVar[type[Any]]
    """What :meth:`fit` returns. A method that needs an optional package also has ``extra``, the
    name of both the package and the extra that brings it."""

    def fit(self, collection: Collection, *, engine: Engine, rng: np.random.Generator) -> Fitted:
        """Learn from the collection. Neither the method nor the collection changes."""
        ...
