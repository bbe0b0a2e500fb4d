"""How long a catalogue of 100,000 images takes to answer.

A synthetic catalogue is made in a temporary folder; then each question is asked many times, with
another tag, image or word each time, and so is a decision written.

    python benchmarks/bench_catalogue.py --out benchmarks/results/bench-catalogue.json
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sugartag.changes.applying import Wanted, apply_changes
from sugartag.changes.browsing import Selection
from sugartag.changes.catalogue import Catalogue
from sugartag.changes.searching import search
from sugartag.changes.undoing import Undoing
from sugartag.collection.model import Collection, Shard
from sugartag.collection.texts import Texts
from sugartag.evaluation.cost import machine
from sugartag.metadata.sidecar_writer import new_sidecar
from sugartag.pipeline.changes import Change

FORMAT = "sugartag-bench-catalogue/1"
TAGS_PER_IMAGE, ADDITIONS_PER_IMAGE = 10, 3
N_TAGS, N_OWNERS, N_GROUPS = 5000, 2000, 50
TIMES = 200
N_SIDECARS = 2000


def main() -> int:
    """Make the catalogue, time it, write the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        catalogue = Catalogue.create(Path(folder) / "bench.catalogue.sqlite")
        collection = made_collection(asked.images, rng)
        loading = timed(lambda: catalogue.load_collection(collection))
        proposing = timed(lambda: catalogue.load_changes(changes(collection, rng)))
        result = {
            "format": FORMAT,
            "machine": machine(),
            "catalogue": catalogue.sizes(),
            "proposals": catalogue.one("SELECT count(*) FROM proposals")[0],
            "bytes": catalogue.path.stat().st_size,
            "load_seconds": {"collection": loading, "changes": proposing},
            "milliseconds": measured(catalogue, asked.times, rng),
            "sidecars": with_sidecars(catalogue, Path(folder) / "images"),
        }
        catalogue.close()
    asked.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for name, times in result["milliseconds"].items():
        print(f"{name:28} median {times['median']:8.2f} ms   95 % {times['p95']:8.2f} ms")
    return 0


def made_collection(n_images: int, rng: np.random.Generator) -> Collection:
    """Return images whose tags are used as unevenly as real ones."""
    share = 1 / np.arange(1, N_TAGS + 1)
    draws = rng.choice(N_TAGS, (n_images, TAGS_PER_IMAGE + 2), p=share / share.sum())
    rows = [np.unique(row)[:TAGS_PER_IMAGE] for row in draws]
    rows[::20] = [row[:0] for row in rows[::20]]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    ones = np.ones(starts[-1], dtype=np.int8)
    tags = sparse.csr_array((ones, np.concatenate(rows), starts), shape=(n_images, N_TAGS))
    groups = rng.random((N_OWNERS, N_GROUPS)) < 0.04
    ids = Texts.of(f"image-{k:06}" for k in range(n_images))
    return Collection(
        shards=(Shard(ids, rng.integers(0, N_OWNERS, n_images), tags, paths=ids, titles=ids),),
        tag_names=tuple(f"tag {k}" for k in range(N_TAGS)),
        owner_names=Texts.of(f"owner {k}" for k in range(N_OWNERS)),
        group_names=Texts.of(f"group {k}" for k in range(N_GROUPS)),
        groups=sparse.csr_array(groups.astype(np.int8)),
    )


def changes(collection: Collection, rng: np.random.Generator) -> Iterator[Change]:
    """Yield three additions an image, and a verdict about each given tag."""
    tags = collection.tags_of(slice(0, collection.n_images))
    share = 1 / np.arange(1, N_TAGS + 1)
    extra = rng.choice(N_TAGS, (collection.n_images, ADDITIONS_PER_IMAGE), p=share / share.sum())
    for image, image_id in enumerate(collection.ids):
        given = tags.indices[tags.indptr[image] : tags.indptr[image + 1]].tolist()
        for tag in sorted(set(extra[image].tolist()) - set(given)):
            probability = round(0.5 + rng.random() / 2, 4)
            yield Change(image_id, f"tag {tag}", "add", probability, "similar images", "bench")
        for tag in given:
            probability = round(rng.random(), 4)
            action = "doubt" if probability < 0.05 else "keep"
            yield Change(image_id, f"tag {tag}", action, probability, "as usual", "bench")


def measured(catalogue: Catalogue, times: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return how long each kind of question takes."""
    n_images = catalogue.sizes()["images"]

    def tag() -> str:
        return f"tag {int(rng.zipf(1.3)) % N_TAGS}"

    def image() -> str:
        return f"image-{int(rng.integers(n_images)):06}"

    def owner() -> str:
        return f"owner {int(rng.integers(N_OWNERS))}"

    def second_page() -> None:
        selection = Selection(("add",), tag="tag 0", state="open")
        catalogue.proposals(selection, cursor=catalogue.proposals(selection).cursor)

    questions: dict[str, Callable[[], Any]] = {
        "decision": lambda: catalogue.decide(image(), tag(), "accept", reviewer="r"),
        "undo": lambda: catalogue.undo_decision(reviewer="r"),
        "page of a tag": lambda: catalogue.proposals(Selection(tag=tag(), state="open")),
        "two pages of a frequent tag": second_page,
        "first page of all": lambda: catalogue.proposals(Selection(state="open")),
        "page of an owner": lambda: catalogue.proposals(Selection(owner=owner(), state="open")),
        "page of untagged images": lambda: catalogue.proposals(Selection(untagged=True)),
        "an image with everything": lambda: (
            catalogue.image(name := image()),
            catalogue.proposals(Selection(("add", "keep", "doubt"), image=name)),
        ),
        "counts above, one tag": lambda: catalogue.counts_above(rng.random(), tag=tag()),
        "counts above, all": lambda: catalogue.counts_above(rng.random()),
        "histogram of all additions": lambda: catalogue.histogram(Selection(("add",))),
        "facets: tags": lambda: catalogue.facets("tag"),
        "facets: owners of a tag": lambda: catalogue.facets("owner", Selection(tag=tag())),
        "search: one word": lambda: search(catalogue, f'"{tag()}"'),
        "search: AND NOT, owner": lambda: search(
            catalogue, f'"{tag()}" AND NOT "{tag()}" owner:"{owner()}"'
        ),
        "search: untagged": lambda: search(catalogue, "is:untagged"),
    }
    return {name: spread([timed(ask) for _ in range(times)]) for name, ask in questions.items()}


def with_sidecars(catalogue: Catalogue, root: Path) -> dict[str, Any]:
    """Return how long it takes to apply decisions to sidecars, and to undo that."""
    root.mkdir()
    names = [f"image-{k:06}" for k in range(N_SIDECARS)]
    for name in names:
        (root / name).write_bytes(b"")
        (root / f"{name}.xmp").write_bytes(new_sidecar(["one", "two"]))
    catalogue.decide_all([(name, "something new", "accept") for name in names], reviewer="r")
    wanted = Wanted(sidecars=True, images_root=str(root))
    start = time.perf_counter()
    outcome = apply_changes(catalogue, wanted)[-1]
    applied = time.perf_counter() - start
    undoing = timed(lambda: Undoing(catalogue).undo(outcome.run_id or ""))
    return {
        "sidecars": outcome.sidecars,
        "apply_seconds": round(applied, 3),
        "undo_seconds": undoing,
    }


def timed(ask: Callable[[], Any]) -> float:
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    ask()
    return round(time.perf_counter() - start, 6)


def spread(seconds: list[float]) -> dict[str, float]:
    """Return the median, the 95th percentile and the most, in milliseconds."""
    found = np.percentile(np.array(seconds) * 1000, [50, 95, 100]).round(3).tolist()
    return dict(zip(("median", "p95", "most"), found, strict=True))


if __name__ == "__main__":
    sys.exit(main())
