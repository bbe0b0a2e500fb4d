"""Retagging methods, all behind one interface."""
