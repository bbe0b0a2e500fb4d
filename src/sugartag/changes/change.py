"""One proposed change."""

from dataclasses import dataclass
from typing import Literal

Action = Literal["add", "keep", "doubt"]


@dataclass(frozen=True)
class Change:
    """What is proposed for one tag of one image; the fields are the columns of a change set."""

    image_id: str
    tag: str
    action: Action
    score: float
    """The probability that the tag belongs, 0 to 1."""
    reason: str
    run_id: str
