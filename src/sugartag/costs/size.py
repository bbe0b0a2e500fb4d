"""The size of a collection: the numbers that time, memory and disk follow from."""

from dataclasses import dataclass

from sugartag.collection.model import Collection
from sugartag.collection.subset import tag_counts
from sugartag.errors import SettingsError

ROW_BYTES = 36
"""On disk for each image beside features and tags: its id, owner, and offsets."""


@dataclass(frozen=True)
class Size:
    """How large a collection is."""

    images: int
    tags: int
    given: float
    """Tags given to images, in total."""
    owners: int
    features: int
    feature_bytes: int = 4
    """Bytes of one feature as stored."""

    def __post_init__(self) -> None:
        for name in ("images", "tags", "given", "owners", "features"):
            value, least = getattr(self, name), int(name in ("images", "tags"))
            if value < least:
                raise SettingsError(f"{name} must be at least {least}, not {value:g}")

    @property
    def disk(self) -> float:
        """Bytes of the collection's files, without titles."""
        return self.images * (self.features * self.feature_bytes + ROW_BYTES) + 4.0 * self.given


def imagined_size(
    images: int,
    tags: int,
    *,
    owners: int | None = None,
    features: int = 512,
    tags_per_image: float = 6.0,
) -> Size:
    """Return the size of a collection that does not exist yet, with typical defaults."""
    n_owners = max(1, images // 20) if owners is None else owners
    return Size(images, tags, tags_per_image * images, n_owners, features)


def size_of(collection: Collection) -> Size:
    """Return the size of a collection, without reading its features."""
    stored = collection.shards[0].features
    return Size(
        images=collection.n_images,
        tags=collection.n_tags,
        given=float(tag_counts(collection).sum()),
        owners=collection.n_owners,
        features=collection.n_features,
        feature_bytes=4 if stored is None else stored.dtype.itemsize,
    )
