"""Synthetic collections whose right tags are known, from a few hundred to millions of images."""

from sugartag.collection.synthetic.world import World, medium

__all__ = ["World", "medium"]
