"""Which pictures of a collection a report shows."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from sugartag.collection.model import Collection
from sugartag.report.content import Picture, Verdict

N_PICTURES = 60
PICTURES_PER_OWNER = 3
PICTURES_PER_TAG = 4

Loaded = tuple[bytes, str]
"""The bytes of a picture, and of which kind it is."""


def chosen_pictures(
    collection: Collection,
    verdicts: Mapping[str, Sequence[Verdict]],
    seed: int,
    load: Callable[[str], Loaded | None],
) -> Iterator[Picture]:
    """Yield pictures in random order that have something added or doubted, few of a kind.

    ``verdicts`` are by image id; ``load`` gives the picture at a path, or None if it cannot be
    shown.
    """
    paths, titles = collection.texts_of("paths"), collection.texts_of("titles")
    if paths is None or collection.images_root is None:
        return
    ids, names = collection.ids, [*collection.owner_names, ""]
    of_owner: Counter[int] = Counter()
    of_tag: Counter[str] = Counter()
    for row in np.random.default_rng(seed).permutation(collection.n_images).tolist():
        said = verdicts.get(ids[row], ())
        owner = int(collection.owner[row])
        subject = next((one.tag for one in said if one.action != "doubt"), "")
        if of_owner.total() >= N_PICTURES:
            return
        if all(one.action == "keep" for one in said) or of_tag[subject] >= PICTURES_PER_TAG:
            continue
        # Pictures of unknown owners are nobody's in particular: they do not crowd each other out.
        if owner != collection.nobody and of_owner[owner] >= PICTURES_PER_OWNER:
            continue
        loaded = load(paths[row])
        if loaded is None:
            continue
        of_owner[owner] += 1
        of_tag[subject] += 1
        title = titles[row] if titles is not None and titles[row] else ids[row]
        yield Picture(*loaded, title, names[owner], tuple(said), ids[row])
