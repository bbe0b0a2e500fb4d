"""Methods are found by name: ours, and those of other packages."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from sugartag.errors import SettingsError
from sugartag.methods.registry import GROUP, METHODS, ORDER, Methods, package_of

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "method-package"


def test_our_methods_come_through_the_same_door_as_all_others():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert set(project["entry-points"][GROUP]) == set(ORDER)
    assert tuple(METHODS)[: len(ORDER)] == ORDER
    assert package_of("sugar-plus") == "sugartag"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_module:X", "of the package no_such_module cannot be imported"),
        ("math:no_such_name", "of the package math cannot be imported"),
        ("math:sin", "of the package math has no name"),
        ("sugartag.methods.original:Original", "calls itself 'original'"),
    ],
)
def test_what_is_wrong_with_a_method_of_another_package_is_said(value, message):
    methods = Methods()
    vars(methods)["_entries"] = {"odd": [EntryPoint("odd", value, GROUP)]}

    with pytest.raises(SettingsError, match=message):
        methods["odd"]


def test_two_packages_that_offer_one_name_are_named():
    methods = Methods()
    vars(methods)["_entries"] = {"odd": [EntryPoint("odd", f"{m}:X", GROUP) for m in ("b", "a")]}

    with pytest.raises(SettingsError, match="packages a and b both offer the method 'odd'"):
        methods["odd"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Install the example package, as pip does, into a folder of its own."""
    folder = tmp_path_factory.mktemp("installed")
    source = shutil.copytree(EXAMPLE, folder / "source")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", folder / "site"]
    subprocess.run([*command, *options, source], check=True, capture_output=True)
    return folder / "site"


@pytest.fixture(scope="module")
def photos(tmp_path_factory, collection) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    collection.save(folder / "photos")
    return folder


def run(line: str, folder: Path, site: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **({"PYTHONPATH": str(site)} if site else {})}
    command = [sys.executable, "-m", "sugartag", *line.split()]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_a_method_of_another_package_is_there_on_the_command_line(installed, photos):
    listed = run("methods --json", photos, installed)
    found = {one["name"]: one for one in json.loads(listed.stdout)}

    assert found["owner-favourites"]["package"] == "owner-favourites"
    assert found["owner-favourites"]["settings"][0]["name"] == "smoothing"
    names = "--methods owner-favourites,original"
    evaluated = run(f"evaluate photos {names} --out results.json", photos, installed)
    assert evaluated.returncode == 0, evaluated.stderr
    results = json.loads((photos / "results.json").read_text(encoding="utf-8"))["methods"]
    assert results["owner-favourites"]["map"] > 0
    tuned = run("tune photos --methods owner-favourites --budget 3 --out t.json", photos, installed)
    assert tuned.returncode == 0, tuned.stderr
    trials = json.loads((photos / "t.json").read_text(encoding="utf-8"))["methods"]
    assert len(trials["owner-favourites"]["trials"]) == 3


def test_its_models_are_saved_loaded_and_name_the_package_they_need(installed, photos):
    fitted = run("fit photos --out model --method owner-favourites", photos, installed)
    assert fitted.returncode == 0, fitted.stderr
    suggested = run("suggest model photos --out changes.csv", photos, installed)
    assert suggested.returncode == 0, suggested.stderr

    without = run("suggest model photos --out other.csv", photos)

    assert without.returncode == 2
    (line,) = without.stderr.splitlines()
    assert "a method of the package owner-favourites, which is not installed" in line
    assert "pip install owner-favourites" in line


def test_it_is_there_in_python(installed, photos):
    code = """
import sys, sugartag
model = sugartag.fit("photos", "owner-favourites", smoothing=3)
model.save("python.model")
print(sugartag.load("python.model").method.smoothing, "owner-favourites" in sugartag.method_names())
"""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=photos, env=environment, capture_output=True, text=True)

    assert done.stdout.split() == ["3.0", "True"], done.stderr


def test_the_example_is_short():
    lines = (EXAMPLE / "owner_favourites.py").read_text(encoding="utf-8").splitlines()
    code = [line for line in lines if line.strip() and not line.strip().startswith(('"""', "#"))]

    assert len(code) <= 32
    assert np.all([len(line) <= 100 for line in lines])
