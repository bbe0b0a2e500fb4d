"""What WordNet knows of tags: whether they are about content, and which others they imply.

The original filters tags that are not about the content of images before it refines them, and
enriches those it refined by synonyms and broader words.
"""

from collections.abc import Sequence

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.graph.wordnet import Taxonomy

CONTENT = ("organism", "artifact", "thing", "color", "natural phenomenon")
"""A tag is about content if it is one of these or below one of them."""


def is_content(taxonomy: Taxonomy, tag_names: Sequence[str]) -> BoolArray:
    """Tell which tags WordNet places among things that can be seen; others are unknown to it."""
    roots = {taxonomy.find(name) for name in CONTENT} - {None}
    nodes = (taxonomy.find(name) for name in tag_names)
    return np.array(
        [node is not None and not roots.isdisjoint(at_or_above(taxonomy, node)) for node in nodes],
        dtype=np.bool_,
    )


def implied_tags(taxonomy: Taxonomy, tag_names: Sequence[str]) -> IntArray:
    """Return pairs of tags, n x 2: the second is a synonym of the first or a broader word."""
    nodes = [taxonomy.find(name) for name in tag_names]
    tags_at: dict[int, list[int]] = {}
    for tag, node in enumerate(nodes):
        if node is not None:
            tags_at.setdefault(node, []).append(tag)
    pairs = [
        (tag, other)
        for tag, node in enumerate(nodes)
        if node is not None
        for above in sorted(at_or_above(taxonomy, node))
        for other in tags_at.get(above, ())
        if other != tag
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def at_or_above(taxonomy: Taxonomy, node: int) -> set[int]:
    """Return a node and all nodes that it is a kind of."""
    found, waiting = {node}, [node]
    while waiting:
        for above in taxonomy.hypernyms(waiting.pop()).tolist():
            if above not in found:
                found.add(above)
                waiting.append(above)
    return found


def enriched(scores: FloatArray, implied: IntArray, share: float) -> FloatArray:
    """Return images x tags: a tag scores at least a share of what each tag that implies it does."""
    made = scores.copy()
    for tag, other in implied.tolist():
        np.maximum(made[:, other], share * scores[:, tag], out=made[:, other])
    return made
