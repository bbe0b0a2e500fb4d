"""Change sets: what a model proposes for each image, and the files they are kept in."""

from sugartag.changes.change import Change
from sugartag.changes.files import write_changes
from sugartag.changes.propose import Thresholds, propose

__all__ = ["Change", "Thresholds", "propose", "write_changes"]
