"""The progress display, where commands look for it."""

from sugartag.progress import ProgressDisplay

__all__ = ["ProgressDisplay"]
