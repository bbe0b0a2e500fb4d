"""A folder is hostile input: whatever its arrays are, a command says one line, or does its job."""

import functools
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forging import KINDS, Commands, Place, forged, is_one_line, places
from planted import planted_collection
from sugartag.collection.store import save_collection
from sugartag.collection.subset import some_images
from sugartag.engine import LocalEngine
from sugartag.methods.registry import METHODS, make_method
from sugartag.pipeline.fitting import fit_model
from sugartag.pipeline.model import save_model

N_IMAGES = 60
SETTINGS = {
    "sugar-tc": {"image_clusters": 4, "user_clusters": 2, "scoring": "reconstruction"},
    "mrtf": {"user_rank": 4, "image_rank": 8, "tag_rank": 8},
}


@functools.cache
def photos():
    return some_images(planted_collection(), np.arange(N_IMAGES))


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    started = Commands()
    yield started
    started.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("forged")
    save_collection(photos(), made / "photos")
    return made


def faults(commands: Commands, folder: Path, all_of: list[Place]) -> Iterator[tuple[object, ...]]:
    """Forge each array in one way of each kind; yield what ended in a traceback or a signal."""
    arguments = ("suggest", folder / "model", folder / "photos", "--out", folder / "changes.csv")
    assert commands.run(*arguments, "--overwrite")[0] == 0, "what is not forged must be read"
    for place in all_of:
        array = np.load(place.folder / f"{place.name}.npy")
        rng = np.random.default_rng(zlib.crc32(place.name.encode()))
        for kind, changes in KINDS.items():
            number = rng.integers(len(changes))
            with forged(place, changes[number](array, rng)):
                code, said = commands.run(
                    "suggest", folder / "model", folder / "photos", "--out",
                    folder / "changes.csv", "--overwrite",
                )  # fmt: skip
            if not is_one_line(code, said):
                yield place.name, kind, number, code, said[-400:]


@pytest.mark.parametrize("name", METHODS)
def test_no_forged_array_of_a_model_crashes_or_gives_a_traceback(name, folder, commands):
    method = make_method(name, SETTINGS.get(name, {}))
    model = fit_model(method, photos(), engine=LocalEngine(), seed=0)
    save_model(model, folder / "model", overwrite=True)
    mine = [place for place in places(folder / "model") if place.folder == folder / "model"]

    found = list(faults(commands, folder, mine))

    assert found == []


@pytest.mark.parametrize("within", ["photos", "model"])
def test_no_forged_array_of_a_collection_crashes_or_gives_a_traceback(within, folder, commands):
    model = fit_model(make_method("tag-vote"), photos(), engine=LocalEngine(), seed=0)
    save_model(model, folder / "model", overwrite=True)
    theirs = [place for place in places(folder / within) if place.folder != folder / "model"]

    found = list(faults(commands, folder, theirs))

    assert len(theirs) > 10
    assert found == []


@pytest.fixture(scope="module")
def default_model(folder) -> Path:
    model = fit_model(make_method("sugar-plus"), photos(), engine=LocalEngine(), seed=0)
    save_model(model, folder / "fuzzed")
    return folder / "fuzzed"


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_whatever_is_forged_of_a_model_or_a_collection(data, seed, default_model, folder, commands):
    place = data.draw(st.sampled_from(places(default_model) + places(folder / "photos")))
    change = data.draw(st.sampled_from([change for kind in KINDS.values() for change in kind]))
    array = np.load(place.folder / f"{place.name}.npy")

    with forged(place, change(array, np.random.default_rng(seed))):
        code, said = commands.run(
            "suggest", default_model, folder / "photos", "--out", folder / "changes.csv",
            "--overwrite",
        )  # fmt: skip

    assert is_one_line(code, said), (place.name, code, said[-400:])
