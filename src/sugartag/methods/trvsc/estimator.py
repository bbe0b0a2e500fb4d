"""TRVSC: tags whose similarity agrees with what the images look like (image retagging, 2010).

The tags of two images should be as similar as the images look, and no further from those given
than that takes. docs/methods/trvsc.md says what is known of the original and what is rebuilt.
"""

import logging
import time
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from scipy import sparse

from sugartag._rules import Below, Shape, Within
from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.model import Collection, Rows
from sugartag.engine.base import Block, Engine, steps
from sugartag.graph.tag_affinity import collection_affinity
from sugartag.graph.wordnet import load_taxonomy
from sugartag.linalg.sparse_rows import row_number_of_entries, strongest_per_row
from sugartag.methods.near_images import NearImages, image_graph
from sugartag.methods.settings import (
    require,
    require_counts,
    require_not_negative,
    require_shares,
)
from sugartag.methods.trvsc.knowledge import enriched, implied_tags, is_content
from sugartag.methods.trvsc.updates import (
    Consistency,
    Pull,
    objective,
    on_support,
    pull,
    tag_gram,
    times_square,
    updated,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Start:
    """Where the updates of an image begin."""

    candidates: Annotated[int, Within(0, 100_000)]
    """Tags it may get beside those given."""
    by_votes: bool
    """Whether a candidate starts from its share of the neighbours' votes, or all from the same."""
    value: float
    """What a candidate with all the votes starts from; a given tag starts from 1 more."""

    def values(self, tags: SparseRows, shares: SparseRows) -> tuple[SparseRows, FloatArray]:
        """Return a positive start on the tags given and the likeliest others.

        Also returns, for each of its entries, 1 where the tag was given and 0 elsewhere.
        ``shares`` are images x tags. Of equal shares the tag that comes first is the likelier.
        """
        likely = strongest_per_row(shares, self.candidates)
        likely.data = likely.data * self.value if self.by_votes else np.full(likely.nnz, self.value)
        values = sparse.csr_array(likely + tags)
        values.sort_indices()
        return values, np.isin(_cells(values), _cells(tags)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class FittedTRVSC:
    """The tags every fitted image came to have, and what judges another against them."""

    gives_whole_sets: ClassVar[bool] = False

    near: NearImages
    values: Annotated[SparseRows, Shape("images", "tags")]
    """Y: images x tags, float64; no entry where a tag was no candidate."""
    tag_similarity: Annotated[SparseRows, Shape("tags", "tags")]
    """S."""
    gram: Annotated[FloatArray, Shape("tags", "tags")]
    """S Y' Y S, tags x tags."""
    fidelity: Annotated[float, Within(0)]
    start: Start
    new_image_updates: Annotated[int, Within(0, 100_000)]
    content: Annotated[FloatArray, Shape("tags"), Within(0, 1)]
    """1 for each tag that may be given, 0 for one that is filtered; float32."""
    implied: Annotated[IntArray, Shape("_pairs", 2), Below("tags")]
    """Pairs of tags of which the first implies the second, n x 2."""
    enrichment: Annotated[float, Within(0, 1)]
    """What an implied tag scores at least, as a share of the score of the tag that implies it."""
    objectives: Annotated[FloatArray, Shape("_steps")]
    """The objective before each update and at the end."""

    @property
    def floor(self) -> float:
        """Zero: a tag that is not a candidate."""
        return 0.0

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return Y of the fitted images; others are updated alone, the fitted ones held fixed.

        With ``strangers_only`` every image of a known owner is judged as if it were another,
        from the images of other owners.
        """
        settled = self.near.is_settled(rows, strangers_only=strangers_only)
        scores = np.zeros((len(rows), self.values.shape[1]), dtype=np.float32)
        scores[settled] = self.values[rows.position[settled]].toarray()
        others = np.setdiff1d(np.arange(len(rows)), settled)
        if len(others):
            some = rows.at(others)
            links = self.near.links(some, strangers_only=strangers_only)
            scores[others] = self.fold_in(some.tags.astype(np.float64), links).toarray()
        if self.enrichment > 0:
            scores = enriched(scores, self.implied, self.enrichment)
        return scores * self.content

    def fold_in(self, tags: SparseRows, links: SparseRows) -> SparseRows:
        """Return the rows of Y that minimise the objective with all other rows held fixed."""
        seen = sparse.csr_array(links @ self.values)
        shares = sparse.csr_array(_shares(links) @ self.values)
        values, given = self.start.values(tags, shares)
        likeness = on_support(values, seen, self.tag_similarity)
        for _ in range(self.new_image_updates):
            # The image is similar to itself as well: that adds one row to Y and to W.
            own = on_support(values, values, self.tag_similarity)
            row = row_number_of_entries(values)
            size = np.bincount(row, own * values.data, minlength=values.shape[0])
            step = Pull(times_square(values, self.gram) + size[row] * own, likeness + own)
            values.data[:] = updated(values, step, given, self.fidelity)
        return values


@dataclass(frozen=True)
class TRVSC:
    """Settings of TRVSC; the original's values are not known."""

    name: ClassVar[str] = "trvsc"
    summary: ClassVar[str] = "Tags as similar as the images look, and as near those given."
    fitted_type: ClassVar[type[FittedTRVSC]] = FittedTRVSC

    neighbours: int = 15
    """Images each is linked to in W; the original compares all pairs."""
    unit_features: bool = True
    """Scale features to length 1 before they are compared."""
    fidelity: float = 1.0
    """C: the weight of staying near the tags given."""
    taxonomy_weight: float = 1.0
    """The share of Lin's similarity in S, which is all of it in the original."""
    cooccurrence_weight: float = 0.0
    """The share of tags used together in S; none in the original."""
    links_per_tag: int = 10
    """Strongest similarities kept a tag; the original keeps all."""
    candidates: int = 60
    """Tags an image may get beside those given: those its neighbours have most."""
    start: Literal["votes", "even"] = "votes"
    """Start a candidate from its share of the neighbours' votes, or all of them from the same."""
    start_value: float = 1.0
    """What a candidate with all the votes starts from; a given tag starts from 1 more."""
    max_iterations: int = 1
    """Updates at most. Hidden tags are found best after 1; 100 come near the minimiser."""
    tolerance: float = 1e-4
    """Relative change of the objective that ends the updates."""
    new_image_updates: int = 1
    """Updates of an image that was not fitted; as many as ``max_iterations`` treat it alike."""
    filter_tags: bool = False
    """Give no tag that WordNet does not place among visible things, as the original. This also
    takes names of places and persons, and words that WordNet does not have."""
    enrichment: float = 0.0
    """Give synonyms and broader words of a tag, among those in use, at least this share of its
    score, as the original enriches; 0 does not."""

    def __post_init__(self) -> None:
        require_counts(self, "neighbours", "candidates", "max_iterations", "new_image_updates")
        weights = ("fidelity", "taxonomy_weight", "cooccurrence_weight", "links_per_tag")
        require_not_negative(self, *weights, "tolerance")
        require_shares(self, "enrichment")
        require(
            self.start_value > 0,
            f"trvsc setting start_value is {self.start_value}; at 0 no tag could ever be added",
        )

    def fit(
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> FittedTRVSC:
        """Link the images that look alike, then update the tags of all."""
        collection.require_features(self.name)
        began = time.perf_counter()
        graph = image_graph(
            collection, self.neighbours, unit_features=self.unit_features, engine=engine
        )
        similarity = collection_affinity(
            collection,
            cooccurrence_weight=self.cooccurrence_weight,
            taxonomy_weight=self.taxonomy_weight,
            links_per_tag=self.links_per_tag,
            engine=engine,
        )
        values, given = self._started(collection, graph.affinity, engine)
        itself = sparse.eye_array(collection.n_images, format="csr")
        images = sparse.csr_array(graph.affinity + itself)
        problem = Consistency(images, similarity, given, self.fidelity)
        values, objectives = minimised(
            values, problem, self.max_iterations, self.tolerance, engine=engine
        )
        logger.info(
            "trvsc: %d entries, objective %.6g after %d updates, %.1f s",
            values.nnz,
            objectives[-1],
            len(objectives) - 1,
            time.perf_counter() - began,
        )
        return FittedTRVSC(
            near=NearImages(collection, self.neighbours, graph.bandwidth, self.unit_features),
            values=values,
            tag_similarity=similarity,
            gram=tag_gram(values, similarity),
            fidelity=self.fidelity,
            start=self._start,
            new_image_updates=self.new_image_updates,
            content=self._content(collection),
            implied=self._implied(collection),
            enrichment=self.enrichment,
            objectives=objectives,
        )

    def _content(self, collection: Collection) -> FloatArray:
        if not self.filter_tags:
            return np.ones(collection.n_tags, dtype=np.float32)
        return is_content(load_taxonomy(), collection.tag_names).astype(np.float32)

    def _implied(self, collection: Collection) -> IntArray:
        if self.enrichment == 0:
            return np.empty((0, 2), dtype=np.int64)
        return implied_tags(load_taxonomy(), collection.tag_names)

    @property
    def _start(self) -> Start:
        return Start(self.candidates, self.start == "votes", self.start_value)

    def _started(
        self, collection: Collection, affinity: SparseRows, engine: Engine
    ) -> tuple[SparseRows, FloatArray]:
        """Return where the updates begin, and which of its entries were given."""
        tags = collection.tags_of(slice(0, collection.n_images)).astype(np.float64)
        votes = _shares(affinity)
        blocks = collection.blocks()
        parts = list(engine.map(start_images, blocks, tags, votes, self._start))
        values = sparse.csr_array(sparse.vstack([part[0] for part in parts], format="csr"))
        return values, np.concatenate([part[1] for part in parts])


def start_images(
    block: Block, tags: SparseRows, votes: SparseRows, start: Start
) -> tuple[SparseRows, FloatArray]:
    """Return where the updates of a block of images begin; ``votes`` are images x images."""
    return start.values(tags[block], sparse.csr_array(votes[block] @ tags))


def minimised(
    values: SparseRows,
    problem: Consistency,
    max_iterations: int,
    tolerance: float,
    *,
    engine: Engine,
) -> tuple[SparseRows, FloatArray]:
    """Return the values after the updates, and the objective before each and at the end."""
    objectives: list[float] = []
    for _ in steps(engine, "refining tags", max_iterations):
        step = pull(values, problem, engine=engine)
        objectives.append(objective(values, step, problem))
        if len(objectives) > 1 and objectives[-2] - objectives[-1] <= tolerance * objectives[-1]:
            return values, np.array(objectives)
        new = updated(values, step, problem.given, problem.fidelity)
        values = sparse.csr_array((new, values.indices, values.indptr), shape=values.shape)
    step = pull(values, problem, engine=engine)
    return values, np.array([*objectives, objective(values, step, problem)])


def _cells(matrix: SparseRows) -> IntArray:
    """Return a number for the place of each stored entry."""
    return row_number_of_entries(matrix) * matrix.shape[1] + matrix.indices


def _shares(links: SparseRows) -> SparseRows:
    """Return the links of each row as shares of their sum."""
    total = np.asarray(links.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(1.0 / np.where(total > 0, total, 1.0)) @ links)
