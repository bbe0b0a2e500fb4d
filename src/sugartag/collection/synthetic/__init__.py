"""Synthetic collections whose right answer is known, from a few hundred to millions of images."""

from sugartag.collection.synthetic.plan import Plan
from sugartag.collection.synthetic.world import World, medium, paper_size, small

__all__ = ["Plan", "World", "medium", "paper_size", "small"]
