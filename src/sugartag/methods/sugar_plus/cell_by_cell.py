"""What a ridge says about every tag of every image, compiled: an image at a time.

An image's numbers stay in the processor's cache for all the small steps that are taken for each
tag. The formulas are explained where this is called, in :mod:`through`, and in :mod:`ridge`.
"""

from typing import NamedTuple

import numpy as np

from sugartag._typing import BoolArray, FloatArray, IntArray
from sugartag.linalg.compiled import compiled, fit_together, read_only
from sugartag.linalg.entries import Entries

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
    """The share of the tag, as fitted, times P[t, t]."""
    share: FloatArray
    fitted_share: FloatArray

    @classmethod
    def of(cls, weights: FloatArray, base: FloatArray, *by_tag: FloatArray) -> "Constants":
        """Check that all parts are of the same tags."""
        n_tags = weights.shape[1]
        fit_together(base.shape == (2, n_tags) and {len(part) for part in by_tag} == {n_tags})
        arrays = weights, base, *by_tag
        return cls(*(read_only(np.ascontiguousarray(array)) for array in arrays))


class Images(NamedTuple):
    """What is known of some images."""

    known: Entries
    """Sparse columns, as given."""
    believed_known: Entries
    """Sparse columns, tags as far as they were believed."""
    by_dense: FloatArray
    """Images x tags: what the dense columns predict."""
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
    new: BoolArray
    """Whether it is among those made."""
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


SEEN, C, BOTH, MIXED, SQUARED, AT_SHARE, AT_FITTED_SHARE = range(7)
"""An image's numbers: whether it was fitted, c, z~ P z~' and z P z~' at columns that are no tags,
S P S', and what is beyond of the owner's, times the weighed shares, as given and as fitted."""


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

    ``interest``, what is said of the owners' other images, is added to ``excess`` where it has no
    rows. ``at_asked`` is what the content alone says about the tags asked for, beyond their shares.
    """
    n_tags = len(constants.own)
    now, fitted = np.empty(n_tags, np.float32), np.empty(n_tags, np.float32)
    theirs = np.empty(n_tags, np.float32)
    for image in range(len(excess)):
        if owners.new[image]:
            theirs[:] = owners.made[owners.place[image]]
        else:
            theirs[:] = owners.kept[owners.place[image]]
        _predict(constants, images, image, now, fitted)
        _add(images.given, image, np.float32(-1), now)
        _add(images.believed, image, np.float32(-1), fitted)
        if images.numbers[image, SEEN] > 0:
            _leave_out(constants, images, image, now, fitted, theirs)
        _add(images.given, image, np.float32(1), now)
        for entry in range(asked.tags.start[image], asked.tags.start[image + 1]):
            tag = asked.tags.column[entry]
            at_asked[entry] = now[tag] - constants.share[tag]
        for tag in range(n_tags):
            now[tag] += asked.shares[image] * constants.share[tag]
        _add(asked.votes, image, np.float32(1), now)
        _hear_others(constants, images, owners, asked, image, fitted, theirs)
        if len(interest):
            excess[image] = now
            interest[image] = theirs
        else:
            for tag in range(n_tags):
                excess[image, tag] = now[tag] + theirs[tag]


@compiled
def _leave_out(
    constants: Constants,
    images: Images,
    image: int,
    now: FloatArray,
    fitted: FloatArray,
    theirs: FloatArray,
) -> None:
    """Take off what an image that was fitted owes to its own tags."""
    room, mixed = _forms(constants, images, image, now, fitted, theirs)
    c = np.float32(images.numbers[image, C])
    for tag in range(len(now)):
        left = theirs[tag] * c - fitted[tag]
        squared = left * left * constants.own[tag]
        now[tag] -= (squared * now[tag] + left * mixed) / max(squared + room, LEAST_ROOM)


@compiled
def _hear_others(
    constants: Constants,
    images: Images,
    owners: Owners,
    asked: Asked,
    image: int,
    fitted: FloatArray,
    theirs: FloatArray,
) -> None:
    """Turn what is beyond of all images of the owner into what is said of the others."""
    seen, scale = np.float32(images.numbers[image, SEEN]), asked.interest[image]
    for tag in range(len(theirs)):
        others = (theirs[tag] - seen * fitted[tag]) * scale
        theirs[tag] = others + asked.rest[image] * constants.fitted_share[tag]
    _add(owners.tags, image, scale, theirs)
    _add(images.believed, image, -scale * seen, theirs)


@compiled
def _predict(
    constants: Constants, images: Images, image: int, now: FloatArray, fitted: FloatArray
) -> None:
    """Write what is predicted of each tag, as given and as fitted."""
    for tag in range(len(now)):
        now[tag] = images.by_dense[image, tag] + constants.base[0, tag]
        fitted[tag] = images.by_dense[image, tag] + constants.base[1, tag]
    add_product(images.known, image, constants.weights, now)
    add_product(images.believed_known, image, constants.weights, fitted)


@compiled
def add_product(entries: Entries, row: int, matrix: FloatArray, total: FloatArray) -> None:
    """Add a sparse row times a matrix."""
    for entry in range(entries.start[row], entries.start[row + 1]):
        value, numbers = entries.value[entry], matrix[entries.column[entry]]
        for place in range(len(total)):
            total[place] += value * numbers[place]


@compiled
def _add(entries: Entries, row: int, times: np.float32, total: FloatArray) -> None:
    """Add the entries of a row, so many times."""
    for entry in range(entries.start[row], entries.start[row + 1]):
        total[entries.column[entry]] += times * entries.value[entry]


@compiled
def _forms(
    constants: Constants,
    images: Images,
    image: int,
    now: FloatArray,
    fitted: FloatArray,
    theirs: FloatArray,
) -> tuple[np.float32, np.float32]:
    """Return 1 - c - z~ P z~' and z P z~' of an image, z~ being z - c S."""
    numbers = images.numbers[image]
    c, own, share = numbers[C], constants.own, constants.weighed_share
    itself, now_itself = np.float32(0), np.float32(0)
    for tag in range(len(own)):
        itself += fitted[tag] * share[tag]
        now_itself += now[tag] * share[tag]
    with_sums, now_with_sums = numbers[AT_FITTED_SHARE], numbers[AT_SHARE]
    for entry in range(images.believed.start[image], images.believed.start[image + 1]):
        tag = images.believed.column[entry]
        weight = images.believed.value[entry] * own[tag]
        itself -= fitted[tag] * weight
        now_itself -= now[tag] * weight
        with_sums -= theirs[tag] * weight
    for entry in range(images.given.start[image], images.given.start[image + 1]):
        tag = images.given.column[entry]
        now_with_sums -= theirs[tag] * images.given.value[entry] * own[tag]
    both = numbers[BOTH] + itself - 2 * c * with_sums + c * c * numbers[SQUARED]
    mixed = numbers[MIXED] + now_itself - c * now_with_sums
    return np.float32(1 - c - both), np.float32(mixed)
