"""Forge stored arrays at random until the time is up: no crash, no traceback.

    python benchmarks/fuzz_folders.py --seconds 600 --out benchmarks/results/fuzz_folders.json

Two kinds of runs. In memory, an array of a model is replaced, the model is checked by the rules of
its types and, if it passes, scores images; this is done in forks, each of which does a batch. On
disk, the array is written with a right hash and checksum, and ``sugartag suggest`` opens the
folder, in a process of its own. A signal that ends either is a fault. Nine tenths of the time go
to the first kind, counted in processor seconds, which ends early once ``--forgeries`` are made.
With another ``--seed`` the result is added to those that are in the file.
"""

import argparse
import gc
import json
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
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
from sugartag.evaluation.cost import machine
from sugartag.methods.registry import METHODS, make_method
from sugartag.pipeline.fitting import fit_model
from sugartag.pipeline.model import Model, load_model, save_model

N_IMAGES = 40
N_SCORED = 4
BATCH = 2_000
"""Forgeries that one fork makes."""
IN_MEMORY = 0.9
"""The share of the time that forgeries in memory have."""
SETTINGS = {"sugar-tc": {"image_clusters": 4, "user_clusters": 2, "scoring": "reconstruction"}}
CHANGES = [change for changes in KINDS.values() for change in changes]


def main() -> None:
    """Fuzz for as long as asked, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--forgeries", type=int, default=1_000_000, help="In memory, at most.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    photos = some_images(planted_collection(), np.arange(N_IMAGES))
    models = {name: stored(name, photos) for name in METHODS}
    found: dict[str, Any] = {"seconds": asked.seconds}
    share = IN_MEMORY * asked.seconds  # In seconds of processor time.
    found["in memory"] = in_memory(models, photos, asked.seed, share, asked.forgeries)
    rng = np.random.default_rng(asked.seed)
    found["on disk"] = on_disk(models, photos, rng, asked.seconds - share)
    print(json.dumps(found, indent=1))
    if asked.out is not None:
        keep(asked.out, asked.seed, found)
    sys.exit(bool(found["in memory"]["faults"] or found["on disk"]["faults"]))


def keep(out: Path, seed: int, found: dict[str, Any]) -> None:
    """Write what came of one seed beside that of others, and what they add up to."""
    before = json.loads(out.read_text(encoding="utf-8"))["seeds"] if out.exists() else {}
    runs = before | {str(seed): found}
    totals = {
        "forgeries in memory": sum(run["in memory"]["forgeries"] for run in runs.values()),
        "processor seconds": sum(run["in memory"]["processor seconds"] for run in runs.values()),
        "forgeries on disk": sum(run["on disk"]["forgeries"] for run in runs.values()),
        "faults": [run[kind]["faults"] for run in runs.values() for kind in run
                   if kind != "seconds" and run[kind]["faults"]],
    }  # fmt: skip
    document = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), **totals, "seeds": runs}
    out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def stored(name: str, photos: Collection) -> Model:
    """Return a fitted model as it comes from its folder, which is to say: one that is whole."""
    method = make_method(name, SETTINGS.get(name, {}))
    model = fit_model(method, photos, engine=LocalEngine(), seed=0)
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder) / "model")
        return load_model(Path(folder) / "model")


def in_memory(
    models: dict[str, Model], photos: Collection, seed: int, seconds: float, most: int
) -> dict[str, Any]:
    """Forge batch after batch, each in a fork, and add up what came of them."""
    counts: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    models = {name: replace(model, fitted=in_ram(model.fitted)) for name, model in models.items()}
    known = {name: sizes_of(model.catalogue) for name, model in models.items()}
    began, batch, lost = time.monotonic(), 0, 0
    while processor_seconds() < seconds and sum(counts.values()) < most:
        ended, told = in_a_fork(
            lambda batch=batch: one_batch(
                models, known, photos, np.random.default_rng([seed, batch])
            )
        )
        if told is None:
            faults[f"batch {batch}: ended with {ended}"] += 1
            lost += BATCH
        else:
            counts.update(told["counts"])
            faults.update(told["faults"])
        batch += 1
    return {
        "forgeries": sum(counts.values()),
        "processor seconds": round(processor_seconds()),
        "seconds": round(time.monotonic() - began),
        **counts,
        "lost with their batch": lost,
        "faults": faults,
    }


def in_a_fork(job: Callable[[], dict[str, Any]]) -> tuple[int, dict[str, Any] | None]:
    """Return how a fork of this process ended, and what it told; nothing if it crashed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            gc.freeze()  # What is there already is not looked at again.
            with os.fdopen(writer, "w") as out:
                json.dump(job(), out)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        text = told.read()
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return ended, json.loads(text) if ended == 0 and text else None


def processor_seconds() -> float:
    """Return the processor time of the forks that have ended: the machine may be busy."""
    used = os.times()
    return used.children_user + used.children_system


def sizes_of(catalogue: Catalogue) -> dict[str, int]:
    """Return what the names in rules stand for, from a catalogue, which is not forged here."""
    sizes = Sizes()
    check_stored(catalogue, Catalogue, sizes, "catalogue")
    return sizes.known


def one_batch(
    models: dict[str, Model],
    known: dict[str, dict[str, int]],
    photos: Collection,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Replace arrays of fitted models; those that the rules let pass must give scores."""
    counts: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    rows = photos.rows(slice(0, N_SCORED))
    names = list(models)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for _ in range(BATCH):
        name = names[rng.integers(len(names))]
        fitted = with_forged_array(models[name].fitted, rng)
        try:
            check_stored(fitted, type(fitted), Sizes(dict(known[name])), "fitted")
        except ValueError:
            counts["refused"] += 1
            continue
        try:
            fitted.scores(rows)
            counts["passed"] += 1
        except SugartagError:
            counts["refused later"] += 1
        except Exception as error:  # noqa: BLE001 - counted, whatever it is
            counts["faults"] += 1
            faults[f"{name}: {type(error).__name__}: {str(error)[:80]}"] += 1
    return {"counts": counts, "faults": faults}


def in_ram(value: Any) -> Any:
    """Return a value whose arrays are in memory and not mapped: they are faster to look at."""
    if isinstance(value, np.memmap):
        return np.array(value)
    if isinstance(value, Texts):
        return Texts(in_ram(value.data), in_ram(value.offsets))
    if isinstance(value, tuple):
        return tuple(map(in_ram, value))
    if is_dataclass(value) and not isinstance(value, type):
        made = {part.name: in_ram(getattr(value, part.name)) for part in fields(value)}
        return replace(value, **made)
    return value


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
    commands = Commands()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_collection(photos, folder / "photos")
        for method, model in models.items():
            save_model(model, folder / method)
        all_places = {
            method: places(folder / method) + places(folder / "photos") for method in models
        }
        methods, ends = list(models), time.monotonic() + seconds
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
