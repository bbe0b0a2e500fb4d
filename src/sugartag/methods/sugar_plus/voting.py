"""The votes of an owner's images on the tags of another one, compiled: an image at a time.

What they count for is explained in :mod:`look_alikes`.
"""

from typing import NamedTuple

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.linalg.compiled import compiled
from sugartag.linalg.entries import Entries
from sugartag.methods.sugar_plus.at_places import place_of

SHRINKAGE = 0.05
"""What everybody's share counts for, an identical image counting (OVERLAP + 1)^2."""
OVERLAP = 0.2
"""What an image counts for that looks alike and has no tag or word in common."""
NOTHING = 1e-9
"""Less summed rarity than this is none."""


class Remembered(NamedTuple):
    """The images that have a say, by owner."""

    per_distance: float
    """1 / sigma^2."""
    image: IntArray
    """Their rows in the collection."""
    codes: FloatArray
    tag_start: IntArray
    tag: IntArray
    tag_value: FloatArray
    """The tags of each."""
    token: IntArray
    """Tags and words of each owner's images, ascending: owner x sparse columns + column."""
    token_start: IntArray
    token_image: IntArray
    """The images that have each."""
    rarity: FloatArray
    """Of each sparse column."""
    tag_rarity: FloatArray
    """Of each tag; 0 where it is no column."""
    share: FloatArray
    """Of each tag."""


class Asking(NamedTuple):
    """The images that are voted on."""

    owner: IntArray
    first: IntArray
    last: IntArray
    """Which images vote on each."""
    position: IntArray
    """Rows in the collection: nobody votes on themselves."""
    codes: FloatArray
    tokens: Entries
    tags: Entries


class Votes(NamedTuple):
    """Room for what comes out."""

    rest: FloatArray
    """Of each image: what is said, in shares of the tag, about tags that no voter has."""
    told: BoolArray
    """Images with other images to vote on them."""
    start: IntArray
    column: IntArray
    value: FloatArray
    """Images x tags: what is said in addition about those that some have."""


@compiled
def vote(remembered: Remembered, asked: Asking, votes: Votes) -> None:
    """Let the images vote."""
    n_tags, most = len(remembered.share), 0
    for image in range(len(asked.first)):
        most = max(most, asked.last[image] - asked.first[image])
    looks, common = np.empty(most), np.empty(most)
    # Of each tag: the votes for it, the image they were counted for last, and its entry if given.
    favour, counted = np.zeros(n_tags), np.full(n_tags, -1, np.int32)
    given = np.full(n_tags, -1, np.int32)
    having = np.zeros((len(asked.tags.column), 3))
    for image in range(len(asked.first)):
        first, n = asked.first[image], asked.last[image] - asked.first[image]
        tags = range(asked.tags.start[image], asked.tags.start[image + 1])
        for entry in tags:
            given[asked.tags.column[entry]] = entry
        whole = _find_common(remembered, asked, image, common[:n])
        itself = _compare(remembered, asked, image, looks[:n])
        begin = filled = votes.start[image]
        total, every = 0.0, np.zeros(3)
        for voter in range(n):
            powers = looks[voter], looks[voter] * common[voter], looks[voter] * common[voter] ** 2
            for power in range(3):
                every[power] += powers[power]
            weight = looks[voter] * (OVERLAP + common[voter] / max(whole, NOTHING)) ** 2
            total += weight
            member = first + voter
            for entry in range(remembered.tag_start[member], remembered.tag_start[member + 1]):
                tag = remembered.tag[entry]
                favour[tag] += weight * remembered.tag_value[entry]
                # Written in any case, kept if the tag is new: there is nothing to be guessed.
                votes.column[filled] = tag
                filled += counted[tag] != image
                counted[tag] = image
                if given[tag] >= 0:
                    for power in range(3):
                        having[given[tag], power] += powers[power]
        rest = -total / (total + SHRINKAGE)
        for entry in tags:
            tag = asked.tags.column[entry]
            if counted[tag] != image:
                votes.column[filled] = tag
                filled += 1
        for entry in range(begin, filled):
            tag = votes.column[entry]
            votes.value[entry], favour[tag] = favour[tag] / (total + SHRINKAGE), 0.0
            if given[tag] >= 0:
                net = _without_itself(
                    remembered.tag_rarity[tag],
                    remembered.share[tag],
                    whole,
                    having[given[tag]],
                    every,
                )
                votes.value[entry], given[tag] = net - rest * remembered.share[tag], -1
        votes.rest[image], votes.told[image] = rest, n > itself
        votes.start[image + 1] = filled


@compiled
def _find_common(remembered: Remembered, asked: Asking, image: int, common: FloatArray) -> float:
    """Write the summed rarity of what each voter has in common, and return that of all."""
    common[:] = 0.0
    whole, n_columns = 0.0, len(remembered.rarity)
    # The owner's are few beside all: looked for once, they stay at hand.
    base = asked.owner[image] * n_columns
    begin = np.searchsorted(remembered.token, base)
    end = np.searchsorted(remembered.token, base + n_columns)
    for entry in range(asked.tokens.start[image], asked.tokens.start[image + 1]):
        column = asked.tokens.column[entry]
        weight = asked.tokens.value[entry] * remembered.rarity[column]
        whole += weight
        spot = place_of(base + column, remembered.token, begin, end)
        if spot < end:
            for other in range(remembered.token_start[spot], remembered.token_start[spot + 1]):
                voter = remembered.token_image[other] - asked.first[image]
                if 0 <= voter < len(common):
                    common[voter] += weight
    return whole


@compiled
def _compare(remembered: Remembered, asked: Asking, image: int, looks: FloatArray) -> int:
    """Write how much each voter looks alike, 0 for the image itself; return whether it is there."""
    itself = 0
    for voter in range(len(looks)):
        member = asked.first[image] + voter
        squared = np.float32(0)
        for number in range(asked.codes.shape[1]):
            apart = asked.codes[image, number] - remembered.codes[member, number]
            squared += apart * apart
        looks[voter] = np.exp(-squared * remembered.per_distance)
        if remembered.image[member] == asked.position[image]:
            looks[voter], itself = 0.0, 1
    return itself


@compiled
def _without_itself(
    rarity: float, share: float, whole: float, having: FloatArray, every: FloatArray
) -> float:
    """Return the vote on a given tag, which is not to be part of the overlap.

    With a the rarity of the tag, the overlap of an image that has it falls from C / n to
    (C - a) / (n - a), that of one that has not from C / n to C / (n - a). ``having`` and ``every``
    are the sums of looks times 1, C and C^2, over the images that have it, and over all.
    """
    left = whole - rarity
    scale = 1.0 / left if left > NOTHING else 0.0
    zero, one, two = OVERLAP**2, 2 * OVERLAP * scale, scale**2
    fallen = having[1] - rarity * having[0]
    fallen_twice = having[2] - 2 * rarity * having[1] + rarity**2 * having[0]
    in_favour = zero * having[0] + one * fallen + two * fallen_twice
    against = (
        zero * (every[0] - having[0]) + one * (every[1] - having[1]) + two * (every[2] - having[2])
    )
    weight = in_favour + against
    return float((in_favour - weight * share) / (weight + SHRINKAGE))
