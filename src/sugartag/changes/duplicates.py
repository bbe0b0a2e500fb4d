"""Tags that may mean the same: alike in letters, in meaning, or in the company they keep."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sugartag._typing import SparseRows
from sugartag.changes.catalogue import Catalogue
from sugartag.collection.vocabulary import find_variants
from sugartag.graph.name_vectors import load_name_vectors
from sugartag.graph.wordnet import load_taxonomy

FEWEST_USES = 5
"""Of a tag that is used less often, its company says nothing."""
ALWAYS_TOGETHER = 0.8
"""Images that have both tags, of those that have either."""
SAME_COMPANY = 0.9
"""Cosine of what two tags are used with, apart from each other."""
SELDOM_TOGETHER = 0.1
"""Of the uses of the rarer one: who calls it by one name does not call it by the other too."""
SAME_MEANING = 0.85
"""Cosine of the word vectors of two names."""
KINDS = ("same letters", "plural", "spelling", "WordNet", "meaning", "together", "company")
"""How two tags can be alike, what is surest first."""
MOST_TAGS, MOST_SYNONYMS = 5_000, 50
"""Of a larger vocabulary only the tags that are used most are compared by meaning or company."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two tags that may be one; the first is used more often."""

    tag: str
    uses: int
    other: str
    other_uses: int
    kind: str
    """One of ``KINDS``."""


def near_duplicates(catalogue: Catalogue) -> list[Duplicate]:
    """Return pairs of tags that look like one, each once: the surest kind first, then by use."""
    names, uses = _used(catalogue)
    pairs: dict[tuple[str, str], str] = {}
    number = {name: place for place, name in enumerate(names)}
    for one in find_variants(names, uses):
        pairs.setdefault((one.tag, one.variant), one.kind)
    for kind, found in (
        ("WordNet", _same_synset(names)),
        ("meaning", _same_meaning(names)),
        *_by_company(catalogue, names, uses),
    ):
        for first, second in found:
            often, seldom = sorted((first, second), key=lambda k: (-uses[k], names[k]))
            pairs.setdefault((names[often], names[seldom]), kind)
    return sorted(
        (
            Duplicate(tag, uses[number[tag]], other, uses[number[other]], kind)
            for (tag, other), kind in pairs.items()
        ),
        key=lambda pair: (KINDS.index(pair.kind), -pair.other_uses, pair.tag, pair.other),
    )


def _used(catalogue: Catalogue) -> tuple[list[str], list[int]]:
    rows = [row for row in catalogue.tag_uses() if row[1]]
    return [name for name, _ in rows], [n for _, n in rows]


def _same_synset(names: list[str]) -> list[tuple[int, int]]:
    taxonomy = load_taxonomy()
    first: dict[int, int] = {}
    pairs = []
    for place, name in enumerate(names):
        node = taxonomy.find(name)
        if node is not None and first.setdefault(node, place) != place:
            pairs.append((first[node], place))
    return pairs


def _same_meaning(names: list[str]) -> list[tuple[int, int]]:
    vectors, used = load_name_vectors(), names[:MOST_TAGS]
    alike = vectors.similarities(used, least=SAME_MEANING, most=MOST_SYNONYMS)
    return _pairs(sparse.csr_array(alike))


def _by_company(
    catalogue: Catalogue, names: list[str], uses: list[int]
) -> list[tuple[str, list[tuple[int, int]]]]:
    """Return the pairs that are always used together, and those used with the same others."""
    common = [place for place, n in enumerate(uses[:MOST_TAGS]) if n >= FEWEST_USES]
    if len(common) < 2:
        return []
    tags = _tag_matrix(catalogue, [names[place] for place in common])
    together = sparse.csr_array(tags.T @ tags)
    count = together.diagonal()
    coo = sparse.coo_array(sparse.triu(together, k=1))
    either = count[coo.row] + count[coo.col] - coo.data
    always = coo.data >= ALWAYS_TOGETHER * either
    pairs = [(common[i], common[j]) for i, j in zip(coo.row[always], coo.col[always], strict=True)]
    return [
        ("together", pairs),
        ("company", [(common[i], common[j]) for i, j in _company(together)]),
    ]


def _company(together: SparseRows) -> list[tuple[int, int]]:
    """Return the pairs of tags whose other company is the same."""
    count = together.diagonal()
    others = sparse.csr_array(together.astype(np.float64))
    others.setdiag(0)
    others.eliminate_zeros()
    square = np.asarray(others.multiply(others).sum(axis=1)).ravel()
    products = sparse.coo_array(sparse.triu(others @ others.T, k=1))
    i, j = products.row, products.col
    # What the two are used with apart from each other: their own uses together do not count.
    own = np.asarray(others[i, j]).ravel() if len(i) else np.zeros(0)
    length = np.sqrt(np.maximum((square[i] - own**2) * (square[j] - own**2), 0))
    instead = own <= SELDOM_TOGETHER * np.minimum(count[i], count[j])
    alike = instead & (length > 0) & (products.data >= SAME_COMPANY * length)
    return list(zip(i[alike].tolist(), j[alike].tolist(), strict=True))


def _tag_matrix(catalogue: Catalogue, names: list[str]) -> SparseRows:
    """Return images x tags, 1 where an image has a tag."""
    (n_images,) = catalogue.one("SELECT coalesce(max(image), 0) + 1 FROM images")
    number = catalogue.tag_numbers(names)
    rows = [
        np.array([r[0] for r in catalogue.all(_USES, (number[name],))], dtype=np.int64)
        for name in names
    ]
    column = np.repeat(np.arange(len(names)), [len(row) for row in rows])
    image = np.concatenate(rows)
    ones = np.ones(len(image), dtype=np.int32)
    return sparse.csr_array((ones, (image, column)), shape=(n_images, len(names)))


def _pairs(matrix: SparseRows) -> list[tuple[int, int]]:
    coo = sparse.coo_array(sparse.triu(matrix, k=1))
    return list(zip(coo.row.tolist(), coo.col.tolist(), strict=True))


_USES = "SELECT image FROM image_tags WHERE tag = ?"
