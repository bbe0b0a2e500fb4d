"""Runs that were killed and go on: an engine that keeps what its passes gave, and where it is."""

from sugartag.engine.checkpoint.engine import ResumableEngine
from sugartag.engine.checkpoint.work import Work, work_beside

__all__ = ["ResumableEngine", "Work", "work_beside"]
