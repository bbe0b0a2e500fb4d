"""Folders on disk: written aside, renamed when whole, checked before use."""
