"""From proposals to tags: the catalogue, decisions, the journal, applying, undoing, exports."""

from sugartag.changes.browsing import FacetCount, Page, Proposal
from sugartag.changes.catalogue import (
    Catalogue,
    GivenTag,
    ImageRecord,
    Pending,
    RunRecord,
    catalogue_of,
)
from sugartag.changes.deciding import Decided
from sugartag.changes.searching import Found, Hit, search
from sugartag.changes.selecting import Selection

__all__ = [
    "Catalogue",
    "Decided",
    "FacetCount",
    "Found",
    "GivenTag",
    "Hit",
    "ImageRecord",
    "Page",
    "Pending",
    "Proposal",
    "RunRecord",
    "Selection",
    "catalogue_of",
    "search",
]
