"""Forge stored arrays at random until the time is up: no crash, no traceback.

    python benchmarks/fuzz_folders.py --seconds 600 --out benchmarks/results/fuzz_folders.json

Two kinds of runs. In memory, an array of a model is replaced, the model is checked by the rules of
its types and, if it passes, scores images. On disk, the array is written with a right hash and
checksum, and ``sugartag suggest`` opens the folder, in a process that a signal would end.
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from forging import KINDS, Commands, forged, is_one_line, places
from planted import planted_collection
from sugartag._rules import Sizes, check_stored  # noqa: PLC2701
from sugartag.collection.align import Catalogue
from sugartag.collection.model import Collection
from sugartag.collection.store import save_collection
from sugartag.collection.subset import some_images
from sugartag.collection.texts import Texts
from sugartag.engine import LocalEngine
from sugartag.errors import SugartagError
from sugartag.methods.registry import METHODS, make_method
from sugartag.pipeline.fitting import fit_model
from sugartag.pipeline.model import Model, load_model, save_model

N_IMAGES = 40
SETTINGS = {"sugar-tc": {"image_clusters": 4, "user_clusters": 2, "scoring": "reconstruction"}}
CHANGES = [change for changes in KINDS.values() for change in changes]


def main() -> None:
    """Fuzz for as long as asked, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    photos = some_images(planted_collection(), np.arange(N_IMAGES))
    models = {name: stored(name, photos) for name in METHODS}
    rng = np.random.default_rng(asked.seed)
    found: dict[str, Any] = {"seconds": asked.seconds, "seed": asked.seed}
    found["in memory"] = in_memory(models, photos, rng, asked.seconds / 2)
    found["on disk"] = on_disk(models, photos, rng, asked.seconds / 2)
    text = json.dumps(found, indent=1)
    print(text)
    if asked.out is not None:
        asked.out.write_text(text + "\n", encoding="utf-8")
    sys.exit(bool(found["in memory"]["faults"] or found["on disk"]["faults"]))


def stored(name: str, photos: Collection) -> Model:
    """Return a fitted model as it comes from its folder, which is to say: one that is whole."""
    method = make_method(name, SETTINGS.get(name, {}))
    model = fit_model(method, photos, engine=LocalEngine(), seed=0)
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder) / "model")
        return load_model(Path(folder) / "model")


def in_memory(
    models: dict[str, Model], photos: Collection, rng: np.random.Generator, seconds: float
) -> dict[str, Any]:
    """Replace arrays of fitted models; those that the rules let pass must give scores."""
    counts: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    rows = photos.rows(slice(0, 8))
    names, ends = list(models), time.monotonic() + seconds
    warnings.simplefilter("ignore")
    while time.monotonic() < ends:
        name = names[rng.integers(len(names))]
        fitted = with_forged_array(models[name].fitted, rng)
        sizes = Sizes()
        try:
            check_stored(models[name].catalogue, Catalogue, sizes, "catalogue")
            check_stored(fitted, type(fitted), sizes, "fitted")
        except ValueError:
            counts["refused"] += 1
            continue
        try:
            fitted.scores(rows)
            counts["passed"] += 1
        except SugartagError:
            counts["refused later"] += 1
        except Exception as error:  # noqa: BLE001 - counted, whatever it is
            faults[f"{name}: {type(error).__name__}: {str(error)[:80]}"] += 1
    return {"forgeries": sum(counts.values()) + sum(faults.values()), **counts, "faults": faults}


def with_forged_array(value: Any, rng: np.random.Generator) -> Any:
    """Return a dataclass with one array of it, or of one inside it, changed."""
    names = [
        part.name
        for part in fields(value)
        if isinstance(getattr(value, part.name), np.ndarray | sparse.csr_array | Texts)
        or (is_dataclass(inner := getattr(value, part.name)) and not isinstance(inner, Collection))
    ]
    if not names:
        return value
    name = names[rng.integers(len(names))]
    inner = getattr(value, name)
    if isinstance(inner, np.ndarray):
        return replace(value, **{name: changed(inner, rng)})
    if isinstance(inner, sparse.csr_array):
        made = inner.copy()
        part = ("data", "indices", "indptr")[rng.integers(3)]
        setattr(made, part, changed(getattr(made, part), rng))
        return replace(value, **{name: made})
    if isinstance(inner, Texts):
        made_texts = Texts(changed(inner.data, rng), inner.offsets)
        return replace(value, **{name: made_texts})
    return replace(value, **{name: with_forged_array(inner, rng)})


def changed(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an array changed in one of all ways; one that cannot be, as it is."""
    try:
        return CHANGES[rng.integers(len(CHANGES))](array, rng)
    except (ValueError, IndexError, OverflowError):
        return array


def on_disk(
    models: dict[str, Model], photos: Collection, rng: np.random.Generator, seconds: float
) -> dict[str, Any]:
    """Forge files of model folders and collections, and let ``suggest`` open them."""
    counts: Counter[str] = Counter()
    faults: list[dict[str, Any]] = []
    commands, ends = Commands(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_collection(photos, folder / "photos")
        for method, model in models.items():
            save_model(model, folder / method)
        all_places = {
            method: places(folder / method) + places(folder / "photos") for method in models
        }
        methods = list(models)
        while time.monotonic() < ends:
            method = methods[rng.integers(len(methods))]
            place = all_places[method][rng.integers(len(all_places[method]))]
            array = np.load(place.folder / f"{place.name}.npy")
            with forged(place, changed(array, rng)):
                code, said = commands.run(
                    "suggest", folder / method, folder / "photos", "--out",
                    folder / "changes.csv", "--overwrite",
                )  # fmt: skip
            counts[{0: "passed", 2: "refused"}.get(code, "faults")] += 1
            if not is_one_line(code, said):
                faults.append({"method": method, "array": place.name, "code": code,
                               "said": said[-300:]})  # fmt: skip
    commands.close()
    return {"forgeries": sum(counts.values()), **counts, "faults": faults}


if __name__ == "__main__":
    main()
