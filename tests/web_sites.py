"""A small site for tests: generated pictures of three subjects, a model, known proposals."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shutil import copytree
from tempfile import mkdtemp

import numpy as np
from PIL import Image

from sugartag.changes.catalogue import Catalogue
from sugartag.collection import open_collection
from sugartag.collection.readers import Sources, import_collection
from sugartag.engine import LocalEngine
from sugartag.methods.registry import make_method
from sugartag.pipeline.changes import Change
from sugartag.pipeline.fitting import fit_model
from sugartag.pipeline.model import Model
from sugartag.pipeline.propose import Thresholds
from sugartag.web.accounts import Accounts
from sugartag.web.serving import Address, Opened, listening, make_site, server_of
from sugartag.web.site import Site
from tables import write_table

SUBJECTS = {"sea": (40, 90, 170), "wood": (40, 110, 60), "street": (120, 110, 105)}
IMAGES = 90
RUN = "run-1"
THRESHOLDS = Thresholds(add=0.02)


def subject_of(number: int) -> str:
    return list(SUBJECTS)[number % 3]


def changes() -> list[Change]:
    """Proposals: ``sea`` for ten pictures from 95 % down by 5, two tags to check, one kept."""
    added = [
        Change(f"p{3 * k}", "sea", "add", round(0.95 - 0.05 * k, 2), f"looks {100 - k} %", RUN)
        for k in range(10)
    ]
    return [
        *added,
        Change("p1", "wood", "keep", 0.97, "looks 100 %", RUN),
        Change("p4", "boat", "doubt", 0.1, "little speaks for it", RUN),
        Change("p7", "boat", "doubt", 0.2, "little speaks for it", RUN),
        Change("p31", "street", "add", 0.4, "looks 100 %", RUN),
    ]


def rows() -> list[dict[str, str]]:
    """Every picture has its subject as a tag, but for the first ten of the sea."""
    found = []
    for n in range(IMAGES):
        tags = [] if n % 3 == 0 and n < 30 else [subject_of(n)]
        tags += ["boat"] if n in {4, 7} or (n % 3 == 0 and n % 2) else []
        found.append(
            {
                "image_id": f"p{n}",
                "owner": f"owner {n % 5}",
                "tags": "|".join(tags),
                "path": f"{n}.png",
                "title": f"Picture {n}",
            }
        )
    return found


@cache
def _template() -> tuple[Path, Model]:
    folder = Path(mkdtemp(prefix="sugartag-web-"))
    rng = np.random.default_rng(0)
    (folder / "pictures").mkdir()
    centres = rng.normal(size=(3, 16))
    features = np.array([centres[n % 3] + 0.3 * rng.normal(size=16) for n in range(IMAGES)])
    np.save(folder / "features.npy", features.astype(np.float32))
    for n in range(IMAGES):
        noise = rng.integers(-25, 25, (64, 96, 1)) + np.array(SUBJECTS[subject_of(n)])
        picture = Image.fromarray(np.clip(noise, 0, 255).astype(np.uint8))
        picture.save(folder / "pictures" / f"{n}.png")
    groups = [{"owner": "owner 1", "group": "divers"}, {"owner": "owner 2", "group": "divers"}]
    sources = Sources(
        write_table(folder / "table.jsonl", rows()),
        features=folder / "features.npy",
        groups=write_table(folder / "groups.jsonl", groups),
        images_root=folder / "pictures",
    )
    import_collection(sources, folder / "photos")
    model = fit_model(
        make_method("sugar-plus", {}), open_collection(folder / "photos"),
        engine=LocalEngine(), seed=0,
    )  # fmt: skip
    with Catalogue.of_collection(folder / "photos") as catalogue:
        catalogue.load_changes(changes())
    return folder, model


def made_site(
    folder: Path,
    *,
    accounts: Accounts | None = None,
    address: Address | None = None,
    more: Sequence[Change] = (),
) -> Site:
    """Return a site of its own, with pictures, a catalogue and a model."""
    template, model = _template()
    copytree(template, folder / "site")
    collection = open_collection(folder / "site" / "photos")
    catalogue = Catalogue.of_collection(folder / "site" / "photos")
    catalogue.set_fact("images_root", str(folder / "site" / "pictures"))
    if more:
        catalogue.load_changes([*changes(), *more])
    return make_site(
        Opened(collection, catalogue, model),
        name="photos",
        engine=LocalEngine(),
        address=address or Address(),
        accounts=accounts or Accounts(),
        thresholds=THRESHOLDS,
    )


@dataclass(frozen=True)
class Running:
    """A server on a free port."""

    site: Site
    url: str


@contextmanager
def running(site: Site) -> Iterator[Running]:
    """Serve a site over loopback."""
    address = Address(port=0)
    server = server_of(site, address)
    with listening(address) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield Running(site, f"http://127.0.0.1:{port}")
        finally:
            server.should_exit = True
            thread.join()
            site.catalogue.close()
