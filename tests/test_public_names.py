"""What the packages offer: every name exists, and the lists of names are in order."""

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest

import sugartag
from sugartag.errors import SugartagError

PACKAGES = [
    "sugartag",
    *(found.name for found in pkgutil.walk_packages(sugartag.__path__, "sugartag.") if found.ispkg),
]
WITH_LISTS = [name for name in PACKAGES if hasattr(importlib.import_module(name), "__all__")]


def in_order(names: list[str]) -> list[str]:
    """Sort names as the linter does: constants, then classes, then everything else."""

    def key(name: str) -> tuple[int, str]:
        rank = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
        return rank, name

    return sorted(names, key=key)


def public(module: ModuleType) -> set[str]:
    """Return the names a module has for others, without those of its own modules."""
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }


def test_the_packages_that_offer_names_are_found():
    assert {"sugartag", "sugartag.collection", "sugartag.engine"} <= set(WITH_LISTS)


@pytest.mark.parametrize("package", WITH_LISTS)
def test_every_name_on_the_list_exists(package):
    module = importlib.import_module(package)

    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize("package", WITH_LISTS)
def test_the_list_is_in_order_and_names_nothing_twice(package):
    names = list(importlib.import_module(package).__all__)

    assert names == in_order(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("package", sorted(set(WITH_LISTS) - {"sugartag"}))
def test_the_list_is_all_that_the_package_offers(package):
    module = importlib.import_module(package)

    assert public(module) == set(module.__all__) - {"__version__"}


def test_what_sugartag_offers_is_found_when_it_is_asked_for():
    found = [name for names in sugartag._HOME.values() for name in names]

    assert sorted([*found, "__version__"]) == sorted(sugartag.__all__)
    assert set(sugartag.__all__) <= set(dir(sugartag))
    assert not hasattr(sugartag, "nothing_of_this_name")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_it_holds_in_a_sentence(package):
    first = (importlib.import_module(package).__doc__ or "").partition("\n")[0]

    assert first.endswith(".")
    assert first[0].isupper()


@pytest.mark.parametrize("name", sorted(set(sugartag.__all__) - {"__version__"}))
def test_what_sugartag_offers_is_explained(name):
    assert (getattr(sugartag, name).__doc__ or "").strip()


def test_the_version_is_offered():
    assert "__version__" in sugartag.__all__
    assert sugartag.__version__.count(".") == 2


def test_the_version_is_the_one_of_the_project():
    project = Path(sugartag.__file__).parents[2] / "pyproject.toml"
    if not project.is_file():
        pytest.skip("installed without its project file")

    assert f'version = "{sugartag.__version__}"' in project.read_text(encoding="utf-8")


def test_every_error_is_one_a_user_can_act_on():
    errors = importlib.import_module("sugartag.errors")

    assert all(issubclass(getattr(errors, name), SugartagError) for name in public(errors))


def test_constants_come_before_classes_and_those_before_the_rest():
    assert in_order(["b", "A", "ab", "B_C", "__version__", "Ab"]) == [
        "B_C",
        "A",
        "Ab",
        "__version__",
        "ab",
        "b",
    ]
