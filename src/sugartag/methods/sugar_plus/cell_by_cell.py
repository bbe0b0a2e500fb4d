"""What a ridge says about every tag of every image, compiled: an image at a time.

An image's numbers stay in the processor's cache for all the small steps that are taken for each
tag. The formulas are explained where this is called, in :mod:`through`, and in :mod:`ridge`.
"""

from typing import NamedTuple

import numpy as np

from sugartag._typing import FloatArray, IntArray
from sugartag.linalg.compiled import compiled, fit_together, read_only
from sugartag.linalg.entries import Entries
from sugartag.linalg.sparse_times_dense import add_both_products

LEAST_ROOM = np.float32(0.05)
"""What 1 - leverage is counted as, at least: below, an image says nearly all about itself."""


class Constants(NamedTuple):
    """What is the same for all images, by tag. Float32."""

    weights: FloatArray
    """Sparse columns x tags."""
    base: FloatArray
    """2 x tags: what is predicted where nothing is known, as given and as fitted."""
    own: FloatArray
    """P[t, t]."""
    weighed_share: FloatArray
    """2 x tags: their share, as given and as fitted, times P[t, t]."""
    share: FloatArray
    fitted_share: FloatArray

    @classmethod
    def of(cls, *arrays: FloatArray) -> "Constants":
        """Check that all parts are of the same tags."""
        fit_together(len({array.shape[-1] for array in arrays}) == 1)
        return cls(*(read_only(np.ascontiguousarray(array)) for array in arrays))


class Images(NamedTuple):
    """What is known of some images."""

    known: Entries
    """Sparse columns, as given."""
    believed_known: Entries
    """Sparse columns, tags as far as they were believed."""
    given: Entries
    """Tags."""
    believed: Entries
    """Tags, as far as they were believed."""
    numbers: FloatArray
    """Images x seven numbers, float64, for some grow with the square of the owner's images."""


class Owners(NamedTuple):
    """What is known of their owners."""

    kept: FloatArray
    """Owners x tags: what is predicted beyond what is there, of all images of the owner."""
    made: FloatArray
    """The same of owners of whom nothing is kept."""
    place: IntArray
    """Of each image: where that is, int64."""
    kind: IntArray
    """Whether it is among those KEPT or MADE, or what is predicted of the image ITSELF; int8."""
    tags: Entries
    """Images x tags: sums over the images of the owner, as far as they are trusted."""


class Asked(NamedTuple):
    """What is asked of some images, and added."""

    interest: FloatArray
    """Of each image: what each other image of the owner counts for."""
    rest: FloatArray
    """How many times each tag's share, as fitted, is added to that."""
    shares: FloatArray
    """How many times each tag's share is added to what is said of the image."""
    votes: Entries
    """Images x tags: added as well."""
    tags: Entries
    """Tags of which it is asked what the content alone says."""


KEPT, MADE, ITSELF = 0, 1, 2
"""Where sums over the images of an owner are found: an owner's only image is all there is."""
SEEN, C, BOTH, MIXED, SQUARED, AT_SHARE, AT_FITTED_SHARE = range(7)
"""An image's numbers: whether it was fitted, c, z~ P z~' and z P z~' at columns that are no tags,
S P S', and what is beyond of the owner's, times the weighed shares, as given and as fitted. Where S
is the image itself, S P S' is at columns that are no tags, too, and the last two are nothing."""


class Row(NamedTuple):
    """What is predicted of an image, by tag, beyond what is there: z w - z. Float32."""

    now: FloatArray
    """As it is given."""
    fitted: FloatArray
    """As it was fitted."""
    theirs: FloatArray
    """S w - S, S being the sums over the images of its owner."""


class Left(NamedTuple):
    """What leaves an image out of its own prediction. Float32."""

    seen: np.float32
    """1 if it was fitted, else 0: then there is nothing to leave out."""
    c: np.float32
    room: np.float32
    """1 - c - z~ P z~', z~ being z - c S."""
    mixed: np.float32
    """z P z~'."""


class Added(NamedTuple):
    """How many times the parts of an interest are added. Float32."""

    theirs: np.float32
    """What is predicted of all images of the owner."""
    own: np.float32
    """What is predicted of the image itself, taken off."""
    share: np.float32
    """The share of the tag, as fitted."""


@compiled
def say(
    constants: Constants,
    images: Images,
    owners: Owners,
    asked: Asked,
    excess: FloatArray,
    interest: FloatArray,
    at_asked: FloatArray,
) -> None:
    """Write what is said about images x tags, the images themselves left out.

    ``excess`` has what the dense columns predict, and gets what is said. ``interest``, what is said
    of the owners' other images, is added to it where it has no rows. ``at_asked`` is what the
    content alone says about the tags asked for, beyond their shares.
    """
    n_tags, zero, one = len(constants.own), np.float32(0), np.float32(1)
    now, fitted = np.empty(n_tags, np.float32), np.empty(n_tags, np.float32)
    for image in range(len(excess)):
        said, place, tags = excess[image], owners.place[image], _range(asked.tags, image)
        is_alone, is_made = owners.kind[image] == ITSELF, owners.kind[image] == MADE
        theirs = owners.made if is_made else owners.kept
        row = Row(now, fitted, fitted if is_alone else theirs[place])
        _predict(constants, images, image, said, row)
        for entry in tags:
            at_asked[entry] = now[asked.tags.column[entry]]
        _add(images.given, image, -one, now)
        _add(images.believed, image, -one, fitted)
        left = _left(constants, images, image, row, is_alone)
        for entry in tags:
            tag = asked.tags.column[entry]
            at_asked[entry] -= _owed(constants, row, left, tag) + constants.share[tag]
        scale = asked.interest[image]
        added = Added(scale, scale * left.seen, asked.rest[image])
        if len(interest):
            heard = interest[image]
            _write(constants, row, left, asked.shares[image], Added(zero, zero, zero), said)
            for tag in range(n_tags):
                heard[tag] = _of_others(constants, row, added, tag)
        else:
            heard = said
            _write(constants, row, left, asked.shares[image], added, said)
        _add(images.given, image, one, said)
        _add(asked.votes, image, one, said)
        _add(owners.tags, image, added.theirs, heard)
        _add(images.believed, image, -added.own, heard)


@compiled
def _range(entries: Entries, row: int) -> range:
    return range(entries.start[row], entries.start[row + 1])


@compiled
def _predict(
    constants: Constants, images: Images, image: int, by_dense: FloatArray, row: Row
) -> None:
    """Write what is predicted of each tag, as given and as fitted."""
    for tag in range(len(by_dense)):
        row.now[tag] = by_dense[tag] + constants.base[0, tag]
        row.fitted[tag] = by_dense[tag] + constants.base[1, tag]
    known = images.known, images.believed_known
    add_both_products(*known, image, constants.weights, row.now, row.fitted)


@compiled
def _write(
    constants: Constants, row: Row, left: Left, shares: np.float32, added: Added, said: FloatArray
) -> None:
    """Write what is said by the content, so many times each tag's share, and by other images."""
    for tag in range(len(said)):
        content = row.now[tag] - _owed(constants, row, left, tag)
        said[tag] = (content + shares * constants.share[tag]) + _of_others(
            constants, row, added, tag
        )


@compiled
def _owed(constants: Constants, row: Row, left: Left, tag: int) -> np.float32:
    """Return what the prediction of a tag owes to the image itself having been fitted."""
    own = row.theirs[tag] * left.c - row.fitted[tag]
    squared = own * own * constants.own[tag]
    owed = (squared * row.now[tag] + own * left.mixed) / max(squared + left.room, LEAST_ROOM)
    return np.float32(left.seen * owed)


@compiled
def _of_others(constants: Constants, row: Row, added: Added, tag: int) -> np.float32:
    """Return what is predicted of the other images of the owner."""
    others = row.theirs[tag] * added.theirs - row.fitted[tag] * added.own
    return np.float32(others + added.share * constants.fitted_share[tag])


@compiled
def _add(entries: Entries, row: int, times: np.float32, total: FloatArray) -> None:
    """Add the entries of a row, so many times."""
    for entry in _range(entries, row):
        total[entries.column[entry]] += times * entries.value[entry]


@compiled
def _left(constants: Constants, images: Images, image: int, row: Row, is_alone: np.bool_) -> Left:
    """Return what leaves an image out of its own prediction; it may be its owner's only one."""
    numbers = images.numbers[image]
    c, own, share = numbers[C], constants.own, constants.weighed_share
    itself, now_itself, alone = np.float32(0), np.float32(0), np.float32(0)
    for tag in range(len(own)):
        itself += row.fitted[tag] * share[1, tag]
        now_itself += row.now[tag] * share[1, tag]
    if is_alone:
        for tag in range(len(own)):
            alone += row.fitted[tag] * share[0, tag]
    with_sums, now_with_sums = numbers[AT_FITTED_SHARE], numbers[AT_SHARE] + alone
    for entry in _range(images.believed, image):
        tag = images.believed.column[entry]
        weight = images.believed.value[entry] * own[tag]
        itself -= row.fitted[tag] * weight
        now_itself -= row.now[tag] * weight
        with_sums -= row.theirs[tag] * weight
    for entry in _range(images.given, image):
        tag = images.given.column[entry]
        now_with_sums -= row.theirs[tag] * images.given.value[entry] * own[tag]
    squared = numbers[SQUARED]
    if is_alone:
        with_sums = itself
        squared += itself
    both = numbers[BOTH] + itself - 2 * c * with_sums + c * c * squared
    mixed = numbers[MIXED] + now_itself - c * now_with_sums
    return Left(
        np.float32(numbers[SEEN]), np.float32(c), np.float32(1 - c - both), np.float32(mixed)
    )
