"""What the methods take that learn next to nothing: votes of near images, counts, one regression.

Letters: n images, T tags, f features.
"""

from sugartag.costs.size import Size
from sugartag.costs.work import Stage, Work
from sugartag.linalg.neighbours import QUERIES_AT_ONCE
from sugartag.methods.linear_probe import ROWS_AT_ONCE as PROBED_AT_ONCE
from sugartag.methods.linear_probe import LinearProbe
from sugartag.methods.tag_vote import TagVote
from sugartag.methods.voters import COMPONENTS, ROWS_AT_ONCE, chosen_search

SCORED_ROWS = 1_024
"""Images that are scored at once."""
INDEX_STEPS = 3_000.0
"""Distances that adding an image to an index, or asking it, takes."""
INDEX_BYTES = 150.0
"""That an index keeps of an image, beside its features."""
VERDICT_CALLS = 150
"""Small steps in Python for the verdicts of one image."""


def vote_fit(method: TagVote, size: Size, rows: int) -> list[Stage]:
    """Count the tags, find the space to compare images in; build an index if one is used."""
    n, f = float(size.images), float(size.features)
    passes, serial = Work(copied=24.0 * size.given + 8.0 * n), Work()
    block, answer = min(rows, size.images) * size.tags_each * 24.0, 8.0 * size.tags
    if method.whitening > 0:
        passes += Work(
            product64=2.0 * n * f**2, copied=n * f * 24.0, read=n * f * size.feature_bytes
        )
        serial += Work(product64=9.0 * f**3)
        block += min(rows, size.images) * f * 24.0
        answer += 8.0 * f**2
    if chosen_search(method.search, size.images) == "usearch":
        serial += Work(product32=2.0 * n * compared_numbers(method, size) * INDEX_STEPS * 4.0)
    return [
        Stage(
            "fitting",
            passes=passes,
            serial=serial,
            n_passes=1 if method.whitening == 0 else 2,
            held=_votes_held(method, size),
            block=block,
            answer=answer,
        )
    ]


def compared_numbers(method: TagVote, size: Size) -> float:
    """Return how many numbers of each image are compared."""
    return float(min(size.features, COMPONENTS) if method.whitening > 0 else size.features)


def vote_scores(name: str, method: TagVote, size: Size, n_scored: float, verdicts: bool) -> Stage:
    """Compare so many images with all others, and add up the votes of the nearest."""
    n, f, k = float(size.images), float(size.features), compared_numbers(method, size)
    # Every block of images scored whitens all others.
    whitened = n_scored + n_scored / SCORED_ROWS * n if method.whitening > 0 else 0.0
    retrieved = float(method.neighbours * method.retrieved_per_voter)
    searched = min(float(ROWS_AT_ONCE), n)
    if chosen_search(method.search, size.images) == "usearch":
        search = Work(product32=2.0 * n_scored * k * INDEX_STEPS * 4.0)
        workspace = 0.0
    else:
        search = Work(
            product32=2.0 * n_scored * n * k,
            product64=2.0 * whitened * f * k,
            # The products are written, compared and, once, cut into groups.
            copied=8.0 * n_scored * n
            + n_scored * retrieved * k * 24.0
            # Every block of images scored reads and scales all features.
            + n_scored / SCORED_ROWS * n * (f * 12.0 + 24.0 * size.tags_each),
            read=n_scored / SCORED_ROWS * n * f * size.feature_bytes * 0.1,
        )
        workspace = 4.0 * min(QUERIES_AT_ONCE, n_scored) * searched + searched * f * 12.0
    told = Work(
        copied=n_scored * size.tags * 4.0 * 12.0,
        calls=(VERDICT_CALLS if verdicts else 10.0) * n_scored,
    )
    per_block = 32.0 * size.given + 48.0 * n + SCORED_ROWS * size.tags * 4.0 * 8.0
    return Stage(
        name,
        passes=search + told,
        n_passes=1,
        held=_votes_held(method, size),
        block=workspace + per_block + SCORED_ROWS * retrieved * 60.0,
        shared=size.disk,
        answer=SCORED_ROWS * 400.0,
    )


def vote_disk(size: Size) -> float:
    """Return the bytes of the model: the collection itself, and its names."""
    return size.disk + size.images * 20.0 + size.owners * 20.0


def _votes_held(method: TagVote, size: Size) -> float:
    """Tags of a copy with some hidden and some added, and those; an index, if there is one."""
    held = 40.0 * size.given + 40.0 * size.images
    if chosen_search(method.search, size.images) == "usearch":
        held += size.images * (4.0 * compared_numbers(method, size) + INDEX_BYTES) * 2.0
    return held


def probe_fit(method: LinearProbe, size: Size, rows: int) -> list[Stage]:
    """Add up products of features, in float64; whiten them, and find the ridge."""
    n, f, T = float(size.images), float(size.features), float(size.tags)
    rows_at_once = min(rows, size.images)
    choosing = 9.0 * f**3 + 8.0 * f**2 * T if method.ridge is None else 0.0
    if method.whitening > 0:
        # Eigenvectors, and the sums of both parts projected to them.
        choosing += 9.0 * f**3 + 2.0 * (4.0 * f**3 + 2.0 * f**2 * T)
    sums = 8.0 * f * (f + T)
    return [
        Stage(
            "fitting",
            passes=Work(
                product64=2.0 * n * f**2,
                sparse=size.given * f,
                copied=n * f * 32.0,
                read=n * f * size.feature_bytes,
            ),
            serial=Work(
                product64=choosing + 2.0 * f**2 * T,
                solve64=3.0 * f**3,
                copied=max(1.0, n / rows_at_once) * sums * 4.0,
            ),
            n_passes=1,
            held=40.0 * size.given + 40.0 * size.images + sums * 12.0,
            block=rows_at_once * f * 32.0 + 4.0 * sums,
            answer=2.0 * sums,
        )
    ]


def probe_scores(
    name: str, method: LinearProbe, size: Size, n_scored: float, verdicts: bool
) -> Stage:
    """Multiply features by weights, in float64, and leave each image out of its own."""
    f, T = float(size.features), float(size.tags)
    return Stage(
        name,
        passes=Work(
            product64=2.0 * n_scored * f * (T + (f if method.leave_one_out else 0.0)),
            copied=n_scored * T * 60.0,
            read=n_scored * f * size.feature_bytes,
            calls=(VERDICT_CALLS if verdicts else 10.0) * n_scored,
        ),
        n_passes=1,
        held=40.0 * size.given + 40.0 * size.images + probe_arrays(method, size),
        block=PROBED_AT_ONCE * (T * 40.0 + f * 24.0),
        shared=probe_arrays(method, size),
        answer=SCORED_ROWS * 400.0,
    )


def probe_arrays(method: LinearProbe, size: Size) -> float:
    """Return the bytes of the weights, and of what leaving images out needs."""
    columns = size.tags + (size.features if method.leave_one_out else 0)
    return 8.0 * size.features * columns


def probe_disk(method: LinearProbe, size: Size) -> float:
    """Return the bytes of the model: arrays, and the names of everything."""
    return probe_arrays(method, size) + names_disk(size)


def count_fit(size: Size) -> list[Stage]:
    """Count the tags, or not even that."""
    return [
        Stage(
            "fitting",
            passes=Work(copied=8.0 * size.given),
            n_passes=1,
            held=40.0 * size.given + 40.0 * size.images,
            answer=8.0 * size.tags,
        )
    ]


def count_scores(name: str, size: Size, n_scored: float, verdicts: bool) -> Stage:
    """Write down the same, or the own, tags for each image, and rank them."""
    return Stage(
        name,
        passes=Work(
            copied=n_scored * size.tags * 4.0 * 12.0,
            calls=(VERDICT_CALLS if verdicts else 10.0) * n_scored,
            read=n_scored * size.features * size.feature_bytes,
        ),
        n_passes=1,
        held=40.0 * size.given + 40.0 * size.images,
        block=SCORED_ROWS * (size.tags * 4.0 * 8.0 + size.features * 8.0),
        answer=SCORED_ROWS * 400.0,
    )


def names_disk(size: Size) -> float:
    """Return the bytes of the names of images, owners and tags, with what each tag is given by."""
    return size.images * 20.0 + size.owners * 20.0 + size.tags * 40.0
