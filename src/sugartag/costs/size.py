"""How large a collection is in all that costs depend on."""

from dataclasses import dataclass

import numpy as np

from sugartag.collection.model import Collection
from sugartag.collection.subset import tag_counts
from sugartag.errors import SettingsError

REMEMBERED = 200
"""Images of an owner that sugar-plus compares another with, at most, unless set otherwise."""
USUAL_SKEW = 3.0
"""Images that an image's owner has, in images that the average owner has: busy owners have most."""
OWN_TAGS = 0.7
"""Distinct tags of an owner, for each tag given to an image of theirs."""
ID_BYTES = 12
TITLES_COUNTED = 2_000


@dataclass(frozen=True)
class Size:
    """The numbers that time, memory and disk follow from."""

    images: int
    tags: int
    given: float
    """Tags given to images, in all."""
    owners: int
    features: int
    groups: int = 0
    memberships: float = 0.0
    """Of owners in groups, in all."""
    words: int = 0
    """Distinct words of titles, if there are titles."""
    title_words: float = 0.0
    """Words of all titles together."""
    used_tags: int = 0
    """Tags that two images have, or more."""
    fellows: float = 0.0
    """Images, of the remembered, that the owner of an image has, on average over images."""
    feature_bytes: int = 4
    """Of one number, as it is stored."""

    def __post_init__(self) -> None:
        for name in ("images", "tags"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 1, not {getattr(self, name):g}")
        for name in ("given", "owners", "features", "groups"):
            if getattr(self, name) < 0:
                raise SettingsError(f"{name} must not be negative, not {getattr(self, name):g}")

    @property
    def tags_each(self) -> float:
        """Tags of an image, on average."""
        return self.given / self.images

    @property
    def words_each(self) -> float:
        """Words of a title, on average."""
        return self.title_words / self.images

    @property
    def owner_tags(self) -> float:
        """Pairs of an owner and a tag of theirs."""
        return min(OWN_TAGS * self.given, float(self.owners) * self.tags)

    @property
    def disk(self) -> float:
        """Bytes of the collection's files."""
        by_image = self.features * self.feature_bytes + 8 + ID_BYTES + 8 + 8
        return self.images * by_image + 4 * self.given + 6 * self.title_words


def imagined_size(
    images: int,
    tags: int,
    *,
    owners: int | None = None,
    features: int = 512,
    tags_per_image: float = 6.0,
    groups: int | None = None,
) -> Size:
    """Return the size of a collection that is not there, as photo collections usually are."""
    who = max(1, images // 20) if owners is None else owners
    clubs = max(1, who // 5) if groups is None else groups
    return Size(
        images=images,
        tags=tags,
        given=tags_per_image * images,
        owners=who,
        features=features,
        groups=clubs,
        memberships=4.0 * who if clubs else 0.0,
        used_tags=tags,
        fellows=min(float(REMEMBERED), USUAL_SKEW * images / max(who, 1)),
    )


def size_of(collection: Collection) -> Size:
    """Return the size of a collection, without reading its features."""
    counts = tag_counts(collection)
    owned = np.bincount(collection.owner, minlength=collection.n_owners + 1)[:-1].astype(float)
    first = collection.shards[0].features
    words, title_words = _words_of_titles(collection)
    return Size(
        images=collection.n_images,
        tags=collection.n_tags,
        given=float(counts.sum()),
        owners=collection.n_owners,
        features=collection.n_features,
        groups=collection.n_groups,
        memberships=float(collection.groups.nnz),
        words=words,
        title_words=title_words,
        used_tags=int(np.count_nonzero(counts >= 2)),
        fellows=float(owned @ np.minimum(owned, REMEMBERED)) / collection.n_images,
        feature_bytes=4 if first is None else first.dtype.itemsize,
    )


def _words_of_titles(collection: Collection) -> tuple[int, float]:
    """Return how many distinct words the first titles have, and words of all titles."""
    titles = collection.shards[0].titles
    if titles is None:
        return 0, 0.0
    some = [titles[row].casefold().split() for row in range(min(len(titles), TITLES_COUNTED))]
    each = sum(map(len, some)) / max(len(some), 1)
    return len({word for words in some for word in words}), each * collection.n_images
