"""What a stored value must be: rules that stand beside the type and are checked when it is read.

A field of a stored dataclass says more than its type with ``Annotated``::

    start: Annotated[IntArray, Shape("owners+1"), Rising(0, "neighbours")]
    owner: Annotated[IntArray, Shape("neighbours"), Below("owners")]

A name stands for one size in all that is checked together, so that the parts of a model are held to
each other; a name that begins with ``_`` is an object's own. What a type implies needs no rule:
numbers are finite and in the machine's byte order, floats are floats, the parts of a sparse array
fit together. A class may have a method ``validate`` that raises ``ValueError`` for the rest. One
that is checked by itself, a collection, says with ``stored_sizes`` what others must agree with.
"""

from sugartag._rules.checked import check_stored
from sugartag._rules.declared import (
    AnyNumber,
    Below,
    OneOf,
    Positive,
    Rising,
    Rule,
    Shape,
    Sizes,
    Unsigned,
    Within,
)
from sugartag._rules.numbers import check_csr, checked_csr, rises

__all__ = [
    "AnyNumber",
    "Below",
    "OneOf",
    "Positive",
    "Rising",
    "Rule",
    "Shape",
    "Sizes",
    "Unsigned",
    "Within",
    "check_csr",
    "check_stored",
    "checked_csr",
    "rises",
]
