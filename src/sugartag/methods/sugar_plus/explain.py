"""What the evidence for a tag consists of.

Evidence is a sum, so it can be taken apart exactly: what each of the image's own tags and title
words adds, each anchor, the image as a whole, the taste of the groups, each look-alike of the owner
and the owner's interest. Columns are centred; all the tags and words that the image does not have
are one part. An image that was fitted is judged as if it had not been, and what that changes is a
part as well. What the image looks like as a whole adds to log odds: it is told as the evidence that
would have changed them as much.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from sugartag._typing import FloatArray, IntArray, SparseRows
from sugartag.collection.align import Catalogue
from sugartag.collection.model import Rows
from sugartag.linalg.sparse_rows import chosen_columns, entries_between, values_at
from sugartag.methods.base import Explanations, Kind, PartKind
from sugartag.methods.sugar_plus.belief import Belief
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.learning import steps
from sugartag.methods.sugar_plus.likeness import likeness
from sugartag.methods.sugar_plus.look_alikes import LookAlikes
from sugartag.methods.sugar_plus.manners import Manners
from sugartag.methods.sugar_plus.ridge import Content, Ridge
from sugartag.methods.sugar_plus.sight import Sight
from sugartag.methods.sugar_plus.subjects import Subjects
from sugartag.methods.sugar_plus.votes import OwnersImages, Uses, votes_on

NEAREST = 16
"""Anchors that can be told apart: those that an image is most like."""
NAMED = 6
"""Anchors, and look-alikes, that are parts of their own; the others are one part together."""
TAGS_OF_ANCHOR = TAGS_OF_SUBJECT = 3
"""Tags that tell what an anchor, or a subject, stands for."""
CELLS_AT_ONCE = 2_048
"""Tags in question whose anchors are weighed in one step."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Tags in question, of some images."""

    rows: Rows
    """The images with the tags they have after what was decided."""
    row: IntArray
    """The image of each, ascending."""
    tag: IntArray

    def __len__(self) -> int:
        return len(self.tag)

    def where_given(self, tags: SparseRows) -> SparseRows:
        """Return images x the tags in question, in their order: 1 if it was given, else 0."""
        given = (values_at(tags, self.row, self.tag) > 0).astype(np.float32)
        start = np.searchsorted(self.row, np.arange(tags.shape[0] + 1))
        return sparse.csr_array((given, self.tag, start), shape=tags.shape)

    def at(self, values: FloatArray) -> FloatArray:
        """Return the values of the tags in question, from those of all images and tags."""
        found: FloatArray = values[self.row, self.tag].astype(np.float64)
        return found


@dataclass(frozen=True, eq=False)
class Explainer:
    """Takes the evidence of a fitted sugar-plus apart."""

    ridge: Ridge
    believed: SparseRows
    """The tags of the images fitted, as far as they were believed or decided."""
    look_alikes: LookAlikes
    alike_weight: float
    interest_weight: float
    manners: Manners
    whole: Belief
    subjects: Subjects | None
    sight: Sight | None
    alone: Belief
    """Of what is known of an image itself."""

    @property
    def evidence(self) -> Evidence:
        """What images are described by."""
        return self.ridge.evidence

    def explain(
        self, rows: Rows, now: Rows, row: IntArray, tag: IntArray, catalogue: Catalogue
    ) -> Explanations:
        """Return why each tag in question, of a row of its own, is thought to belong, or not.

        ``rows`` are the images with their tags as they are given, ``now`` the same images with
        those that they have after what was decided.
        """
        found = []
        for part in steps(len(rows), self.evidence.n_tags):
            first, last = np.searchsorted(row, [part[0], part[-1] + 1])
            cells = Cells(now.at(part), row[first:last] - part[0], tag[first:last])
            found.append(self._explained(rows.at(part), cells, catalogue))
        return joined(found)

    def _explained(self, rows: Rows, cells: Cells, catalogue: Catalogue) -> Explanations:
        content = self.ridge.judge(cells.rows, self.believed)
        seen = (rows.position < self.ridge.n_images).astype(np.float32)
        kinds = (
            *self._of_content(cells, content, seen, catalogue),
            whole_kind("interest", self.interest_weight * cells.at(content.interest)),
            self._of_look_alikes(cells, catalogue),
            self._of_subjects(cells, catalogue),
        )
        evidence = np.sum([kind.net for kind in kinds], axis=0)
        # Where the owner is not known, there is only content.
        alone = rows.owner[cells.row] >= len(self.ridge.owners)
        by_content, by_all = (
            self._looked_at(evidence, cells, by_itself=by_itself) for by_itself in (True, False)
        )
        looks, prior, recall, slip, wrong = (
            np.where(alone, *pair) for pair in zip(by_content, by_all, strict=True)
        )
        kinds, evidence = (*kinds, whole_kind("sight", looks)), evidence + looks
        asked = cells.where_given(rows.tags)
        habit = self.manners.stamps(rows, asked, cells.at(content.excess), seen)
        undecided = np.zeros(len(cells), dtype=np.int8)
        return Explanations(kinds, evidence, prior, recall, slip, wrong, habit, undecided)

    def _of_content(
        self, cells: Cells, content: Content, seen: FloatArray, catalogue: Catalogue
    ) -> list[Kind]:
        """Return what is known of the image itself, kind by kind."""
        evidence, rows = self.evidence, cells.rows
        n, n_anchors = evidence.n_sparse, len(evidence.anchors)
        dense = evidence.dense(rows) - self.ridge.mean[n:]
        own, words = chosen_columns(rows.tags, evidence.predictor), evidence.words_of(rows)
        names = [catalogue.tag_names[tag] for tag in evidence.predictor.tolist()]
        kinds = [
            self._of_known("own tag", cells, own, 0, names),
            self._of_known("title word", cells, words, len(names), evidence.words),
            self._of_anchors(cells, dense[:, :n_anchors], catalogue),
            self._of_tastes(cells, dense[:, n_anchors:]),
        ]
        predicted = np.sum([kind.net for kind in kinds], axis=0)
        itself = seen[cells.row] * (cells.at(content.excess) - predicted)
        return [*kinds, whole_kind("itself", itself)]

    def _of_known(
        self, name: PartKind, cells: Cells, known: SparseRows, first: int, names: Sequence[str]
    ) -> Kind:
        """Return what sparse columns from ``first`` on say: one by one those that are there."""
        cell, entry = entries_between(known.indptr[cells.row], known.indptr[cells.row + 1])
        number = known.indices[entry]
        weight = self.ridge.weights[first + number, cells.tag[cell]].astype(np.float64)
        value = known.data[entry].astype(np.float64)
        columns = slice(first, first + known.shape[1])
        usual = self.ridge.mean[columns] @ self.ridge.weights[columns]
        net = np.bincount(cell, value * weight, minlength=len(cells)) - usual[cells.tag]
        amount = (value - self.ridge.mean[first + number]) * weight
        # A tag says nothing about itself.
        kept = weight != 0.0
        return kind_of(name, net, cell[kept], number[kept], amount[kept], names)

    def _of_anchors(self, cells: Cells, near: FloatArray, catalogue: Catalogue) -> Kind:
        """Return what anchors say: one by one the strongest of those that the image is like."""
        n_anchors = near.shape[1]
        if not n_anchors:
            return whole_kind("anchor", np.zeros(len(cells)))
        weights = self._dense_weights[:, :n_anchors]
        count = min(NEAREST, n_anchors)
        nearest = np.argpartition(near, -count, axis=1)[:, -count:]
        net = np.empty(len(cells))
        for at in range(0, len(cells), CELLS_AT_ONCE):
            row, tag = (some[at : at + CELLS_AT_ONCE] for some in (cells.row, cells.tag))
            net[at : at + len(row)] = np.einsum("ij,ij->i", near[row], weights[tag])
        number = nearest[cells.row]
        likeness = near[cells.row[:, None], number]
        amount = likeness * weights[cells.tag[:, None], number]
        cell, place = _strongest(np.where(likeness > 0, np.abs(amount), 0.0))
        names, shown = catalogue.tag_names, self._tags_of_anchors
        return replace(
            kind_of("anchor", net, cell, number[cell, place], amount[cell, place], self._anchors),
            tags=[tuple(names[tag] for tag in tags) for tags in shown],
        )

    def _of_tastes(self, cells: Cells, tastes: FloatArray) -> Kind:
        """Return what the groups say."""
        weights = self._dense_weights[cells.tag, len(self.evidence.anchors) :]
        return whole_kind("groups", np.einsum("ij,ij->i", tastes[cells.row], weights))

    def _of_subjects(self, cells: Cells, catalogue: Catalogue) -> Kind:
        """Return what the image is about: in all, and in the name of its main subject."""
        if self.subjects is None:
            return whole_kind("subject", np.zeros(len(cells)))
        net, names = cells.at(self.subjects.said(cells.rows)), catalogue.tag_names
        number, shown = self.subjects.mostly(cells.rows)[cells.row], self._tags_of_subjects
        subjects = [f"subject {one}" for one in range(len(shown))]
        return replace(
            kind_of("subject", net, np.arange(len(cells)), number, net, subjects),
            tags=[tuple(names[tag] for tag in tags) for tags in shown],
        )

    def _looked_at(
        self, evidence: FloatArray, cells: Cells, *, by_itself: bool
    ) -> tuple[FloatArray, ...]:
        """Return what the image looks like as a whole adds to the evidence, and what both mean."""
        belief = self.alone if by_itself else self.whole
        if self.sight is None:
            return np.zeros(len(cells)), *meaning(belief, evidence, cells)
        before = self.sight.by_itself if by_itself else self.sight.by_all
        seen, odds = cells.at(self.sight.said(cells.rows)), before.at(evidence)
        special = seen - self.sight.usual(self.evidence.n_tags)[cells.tag]
        return special / before.rise(evidence), *meaning(belief, odds + seen, cells)

    def _of_look_alikes(self, cells: Cells, catalogue: Catalogue) -> Kind:
        """Return what the owner's other images say: one by one the strongest that have the tag."""
        if not self.alike_weight:
            return whole_kind("look-alike", np.zeros(len(cells)))
        rows = cells.rows
        images = OwnersImages.of(self.look_alikes, rows, self.evidence)
        given = values_at(rows.tags, cells.row, cells.tag) > 0
        votes = votes_on(
            self.look_alikes, self._uses, images, cells.row, cells.tag, given, self.evidence
        )
        order = np.lexsort((-votes.amount, votes.cell))
        place = np.arange(len(order)) - np.searchsorted(votes.cell, votes.cell)
        order = order[(place < NAMED) & (votes.amount[order] > 0)]
        image = self.look_alikes.image[votes.member[order]]
        amount, net = self.alike_weight * votes.amount[order], self.alike_weight * votes.net
        return kind_of("look-alike", net, votes.cell[order], image, amount, catalogue.ids)

    @cached_property
    def _dense_weights(self) -> FloatArray:
        """Tags x dense columns."""
        return np.ascontiguousarray(self.ridge.weights[self.evidence.n_sparse :].T)

    @cached_property
    def _uses(self) -> Uses:
        return Uses.of(self.look_alikes)

    @cached_property
    def _anchors(self) -> list[str]:
        return [f"anchor {number}" for number in range(len(self.evidence.anchors))]

    @cached_property
    def _tags_of_subjects(self) -> list[list[int]]:
        """Of each subject of each fold the tags that tell most of it."""
        if self.subjects is None:
            return []
        telling: list[list[int]] = self.subjects.telling_tags(TAGS_OF_SUBJECT).tolist()
        return telling

    @cached_property
    def _tags_of_anchors(self) -> list[list[int]]:
        """Of each anchor the tags that an image just there would be said to have, best first."""
        evidence, ridge = self.evidence, self.ridge
        columns = slice(evidence.n_sparse, evidence.n_sparse + len(evidence.anchors))
        there = likeness(evidence.anchors, evidence.anchors, evidence.width) - evidence.centre
        said = (there - ridge.mean[columns]) @ ridge.weights[columns]
        best = np.argsort(-said, axis=1, kind="stable")[:, :TAGS_OF_ANCHOR]
        return [
            [tag for tag in tags if said[anchor, tag] > 0]
            for anchor, tags in enumerate(best.tolist())
        ]


def meaning(
    belief: Belief, evidence: FloatArray, cells: Cells
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return what evidence means: prior, recall, slips of the tags in question, how many wrong."""
    recall, slips = np.full(len(cells), belief.recall), belief.slips.of(cells.tag)
    return belief.prior(evidence.astype(np.float32)), recall, slips.rate, slips.wrong


def kind_of(
    name: PartKind,
    net: FloatArray,
    cell: IntArray,
    number: IntArray,
    amount: FloatArray,
    names: Sequence[str],
) -> Kind:
    """Return a kind from its parts, the cells of which ascend."""
    start = np.searchsorted(cell, np.arange(len(net) + 1))
    return Kind(name, net, start, number, amount.astype(np.float64), names)


def whole_kind(name: PartKind, net: FloatArray) -> Kind:
    """Return a kind that is not taken apart."""
    nothing = np.zeros(0, dtype=np.int64)
    return kind_of(name, net, nothing, nothing, np.zeros(0), ())


def joined(parts: Sequence[Explanations]) -> Explanations:
    """Return the explanations of all parts as one."""

    def end_to_end(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    kinds = []
    for same in zip(*(part.kinds for part in parts), strict=True):
        lengths = np.concatenate([np.diff(kind.start) for kind in same])
        kinds.append(
            replace(
                same[0],
                net=np.concatenate([kind.net for kind in same]),
                start=np.concatenate([[0], np.cumsum(lengths)]),
                number=np.concatenate([kind.number for kind in same]),
                amount=np.concatenate([kind.amount for kind in same]),
            )
        )
    names = ("evidence", "prior", "recall", "slip", "slip_wrong", "habit", "decided")
    return Explanations(tuple(kinds), *(end_to_end(name) for name in names))


def _strongest(strength: FloatArray) -> tuple[IntArray, IntArray]:
    """Return row and column of the largest entries above 0, the largest of each row first."""
    count = min(NAMED, strength.shape[1])
    best = np.argsort(-strength, axis=1, kind="stable")[:, :count]
    row = np.repeat(np.arange(len(best)), count)
    kept = strength[row, best.ravel()] > 0
    return row[kept], best.ravel()[kept]
