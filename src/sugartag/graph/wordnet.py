"""The noun taxonomy of WordNet, and how alike two tags are in it.

The taxonomy is shipped as package data and read when it is first asked for.
"""

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.errors import CollectionError, StorageError

LARGEST_TABLE = 32_000_000
"""Bytes a table may unpack to; WordNet 3.0 needs a tenth of it."""

PLURAL_ENDINGS = (
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
)
"""WordNet's rules of detachment for nouns, in its order."""

_WORD_GAP = re.compile(r"[\s_-]+")


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """Nouns as a graph without cycles that leads up to one root."""

    hypernym_links: SparseRows
    """True from a node (row) to each node directly above it (column)."""
    first_sense: Mapping[str, int] = field(repr=False)
    """The node of a lemma's first sense. Lemmas of several words are also found run together."""

    @property
    def n_nodes(self) -> int:
        """The number of synsets."""
        return int(self.hypernym_links.shape[0])

    def hypernyms(self, node: int) -> IntArray:
        """Return the nodes directly above one node."""
        start, end = self.hypernym_links.indptr[node : node + 2]
        return self.hypernym_links.indices[start:end]

    def find(self, tag: str) -> int | None:
        """Return the node of a tag's first noun sense, or None where it is no noun.

        Case does not count, nor whether words are parted by a space, a hyphen or nothing. A
        spelling that WordNet has is taken before any singular made from a plural.
        """
        return next(
            (self.first_sense[name] for name in spellings(tag) if name in self.first_sense), None
        )


def spellings(tag: str) -> Iterator[str]:
    """Yield what a dictionary of nouns might call a tag, the likeliest first."""
    folded = tag.casefold().strip()
    words = [word for word in _WORD_GAP.split(folded) if word]
    as_typed = re.sub(r"\s+", "_", folded)
    found = [as_typed, *(gap.join(words) for gap in ("_", "-", ""))]
    yield from found
    for spelling in found:
        # As in WordNet itself: without this "is" would be the plural of "i", which is iodine.
        if len(spelling) <= 2 or spelling.endswith("ss"):
            continue
        for plural, singular in PLURAL_ENDINGS:
            if spelling.endswith(plural):
                yield spelling.removesuffix(plural) + singular


@cache
def load_taxonomy() -> Taxonomy:
    """Return the taxonomy shipped with the package, read once."""
    return read_taxonomy(files("sugartag").joinpath("assets", "wordnet"))


def read_taxonomy(folder: Traversable) -> Taxonomy:
    """Read a taxonomy from ``nouns.tsv.gz`` and ``lemmas.tsv.gz``.

    Raises StorageError if a file is missing, unreadable or too large, or if the two disagree.
    """
    number, links = _parse_nouns(_unpack(folder.joinpath("nouns.tsv.gz")))
    _check_leads_to_one_root(links)
    first_sense = _parse_lemmas(_unpack(folder.joinpath("lemmas.tsv.gz")), number)
    return Taxonomy(links, first_sense)


def _unpack(file: Traversable) -> list[list[str]]:
    """Return the two columns of a packed table, by line."""
    try:
        with file.open("rb") as packed, gzip.GzipFile(fileobj=packed) as unpacked:
            content = unpacked.read(LARGEST_TABLE + 1)
        lines = content.decode("utf-8").removesuffix("\n").split("\n")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise _damaged(f"{file.name} cannot be read ({error})") from error
    if len(content) > LARGEST_TABLE:
        raise _damaged(f"{file.name} unpacks to more than {LARGEST_TABLE} bytes")
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    for row in rows:
        if len(row) != 2 or not row[0]:
            raise _damaged(f"{file.name} has a line that is not two columns: {row!r:.80}")
    return rows


def _damaged(problem: str) -> StorageError:
    return StorageError(f"the WordNet data is damaged: {problem}; reinstall sugartag")


def _parse_nouns(rows: list[list[str]]) -> tuple[dict[str, int], SparseRows]:
    """Return the node of each synset, and the links to what is directly above."""
    number = {synset: node for node, (synset, _) in enumerate(rows)}
    if len(number) != len(rows):
        raise _damaged(f"{len(rows) - len(number)} synsets are listed twice")
    above = [names.split(",") if names else [] for _, names in rows]
    try:
        hypernym = [number[name] for names in above for name in names]
    except KeyError as error:
        raise _damaged(f"hypernym {error} is not a synset") from error
    start = np.cumsum([0, *map(len, above)])
    links = np.ones(len(hypernym), dtype=np.bool_)
    return number, sparse.csr_array((links, hypernym, start), shape=(len(rows), len(rows)))


def _parse_lemmas(rows: list[list[str]], number: Mapping[str, int]) -> dict[str, int]:
    """Return the node of each lemma's first sense."""
    try:
        senses = {lemma: number[synsets.partition(",")[0]] for lemma, synsets in rows}
    except KeyError as error:
        raise _damaged(f"a lemma means {error}, which is not a synset") from error
    # Tags are often typed without spaces; a lemma that is really spelled so goes first.
    for lemma, _ in rows:
        if "_" in lemma or "-" in lemma:
            senses.setdefault(lemma.replace("_", "").replace("-", ""), senses[lemma])
    return senses


def _check_leads_to_one_root(links: SparseRows) -> None:
    """Raise unless every node is reached by walking down from a single root."""
    n_nodes = links.shape[0]
    waiting = np.diff(links.indptr)
    level = np.flatnonzero(waiting == 0)
    if len(level) != 1:
        raise _damaged(f"{len(level)} synsets have no hypernym, where one root is expected")
    hyponyms = links.T.tocsr()
    placed = 0
    while len(level):
        placed += len(level)
        below = hyponyms[level].indices
        waiting = waiting - np.bincount(below, minlength=n_nodes)
        below = np.unique(below)
        level = below[waiting[below] == 0]
    if placed != n_nodes:
        raise _damaged(f"{n_nodes - placed} synsets lie on or below a circle of hypernyms")


def information_content(taxonomy: Taxonomy, senses: IntArray, counts: IntArray) -> FloatArray:
    """Return -log p of every node, from how often tags were used.

    ``senses[k]`` is the node of a tag used ``counts[k]`` times; tags without a node are left out.
    A use counts once for the tag's node and once for each node above it, however many ways lead
    there. Smoothing is Laplace's over the vocabulary: every tag is counted once more than it was
    used. So the root has 0, no node has more than a node below it, and Lin's similarity is 1 only
    for tags on one node. A node with no tag at or below it is given one use, to keep it finite.
    """
    _check_uses(taxonomy, senses, counts)
    uses = np.bincount(senses, weights=counts + 1.0, minlength=taxonomy.n_nodes)
    used = np.flatnonzero(uses)
    below: FloatArray = _ancestors(taxonomy, used).T @ uses[used]
    information: FloatArray = np.log(max(below.max(), 1.0) / np.maximum(below, 1.0))
    return information


def _check_uses(taxonomy: Taxonomy, senses: IntArray, counts: IntArray) -> None:
    if senses.shape != counts.shape or senses.ndim != 1:
        raise CollectionError(
            f"senses have shape {senses.shape} and counts {counts.shape}; give one count per sense"
        )
    if senses.size and not 0 <= senses.min() <= senses.max() < taxonomy.n_nodes:
        raise CollectionError(
            f"senses run from {senses.min()} to {senses.max()}; "
            f"the taxonomy has nodes 0 to {taxonomy.n_nodes - 1}"
        )
    wrong = counts[~(np.isfinite(counts) & (counts >= 0))]
    if wrong.size:
        raise CollectionError(f"a tag is said to be used {wrong[0]} times; count uses from 0 up")


def _ancestors(taxonomy: Taxonomy, nodes: IntArray) -> SparseRows:
    """Return which nodes (columns) are at or above each of the given ones (rows)."""
    n_nodes = taxonomy.n_nodes
    stay = sparse.eye_array(n_nodes, dtype=np.bool_, format="csr")
    step = sparse.csr_array(stay + taxonomy.hypernym_links)
    reached = stay[nodes]
    while (further := reached @ step).nnz > reached.nnz:
        reached = further
    return reached


@dataclass(frozen=True, eq=False)
class LinSimilarity:
    """Lin's similarity between the tags of a vocabulary, a block of rows at a time.

    ``2 IC(c) / (IC(a) + IC(b))``, where c is the most informative node at or above both tags. Tags
    on one node have 1, a tag outside WordNet has 0 with every tag, itself included.
    """

    information: FloatArray
    """The information content of each tag; infinite outside WordNet."""
    ancestors: SparseRows
    """The information of the nodes at or above each tag, the least informative column first."""
    member_start: IntArray
    """Where the tags at or below each column of ``ancestors`` begin in ``member``."""
    member: IntArray

    @classmethod
    def of_tags(
        cls, taxonomy: Taxonomy, tag_names: Sequence[str], counts: IntArray
    ) -> "LinSimilarity":
        """Prepare the similarity of tags used ``counts`` times each."""
        n_tags = len(tag_names)
        if counts.shape != (n_tags,):
            raise CollectionError(
                f"{n_tags} tags have counts of shape {counts.shape}; give one count per tag"
            )
        found = [(tag, taxonomy.find(name)) for tag, name in enumerate(tag_names)]
        nouns = np.array([tag for tag, node in found if node is not None], dtype=np.intp)
        senses = np.array([node for _, node in found if node is not None], dtype=np.intp)

        by_node = information_content(taxonomy, senses, counts[nouns])
        information = np.full(n_tags, np.inf)
        information[nouns] = by_node[senses]
        ancestors = _by_information(_ancestors(taxonomy, senses), by_node, nouns, n_tags)
        members = ancestors.tocsc()
        # Indices of numpy's own width: another is converted each time it is used.
        return cls(
            information=information,
            ancestors=ancestors,
            member_start=members.indptr.astype(np.intp),
            member=members.indices.astype(np.intp),
        )

    @property
    def n_tags(self) -> int:
        """The number of tags, in WordNet or not."""
        return len(self.information)

    def rows(self, block: slice) -> FloatArray:
        """Return the similarities of a block of tags with all tags, between 0 and 1."""
        tags = range(*block.indices(self.n_tags))
        similarity = np.zeros((len(tags), self.n_tags))
        for row, tag in zip(similarity, tags, strict=True):
            if np.isfinite(self.information[tag]):
                self._fill(row, tag)
        return similarity

    def _fill(self, row: FloatArray, tag: int) -> None:
        path = slice(*self.ancestors.indptr[tag : tag + 2])
        columns, information = self.ancestors.indices[path], self.ancestors.data[path]
        # From general to specific: what is written last is the most informative.
        for column, shared in zip(columns.tolist(), information.tolist(), strict=True):
            members = slice(*self.member_start[column : column + 2])
            row[self.member[members]] = 2 * shared
        total = self.information + self.information[tag]
        np.divide(row, total, out=row, where=total > 0)
        # Only a node that all uses are at or below has no information, and at most one
        # such node carries a tag itself: where both tags have none, they are on one node.
        row[total == 0] = 1
        np.minimum(row, 1, out=row)


def _by_information(
    reached: SparseRows, information: FloatArray, nouns: IntArray, n_tags: int
) -> SparseRows:
    """Return the information of what each tag reached, columns in ascending order of it."""
    nodes = np.unique(reached.indices)
    # A node without information, such as the root, adds nothing to any pair.
    nodes = nodes[information[nodes] > 0]
    nodes = nodes[np.argsort(information[nodes], kind="stable")]
    ordered = reached[:, nodes].tocoo()
    entries = (information[nodes][ordered.col], (nouns[ordered.row], ordered.col))
    ancestors = sparse.csr_array(entries, shape=(n_tags, len(nodes)))
    ancestors.sort_indices()
    return ancestors
