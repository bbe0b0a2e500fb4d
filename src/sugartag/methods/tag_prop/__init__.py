"""TagProp: neighbours vote with weights that make the given tags likeliest."""

from sugartag.methods.tag_prop.estimator import FittedTagProp, TagProp

__all__ = ["FittedTagProp", "TagProp"]
