"""``sugartag methods`` lists what there is; ``sugartag doctor`` says what is whole."""

import json
import platform
from dataclasses import MISSING, fields
from importlib import metadata, util
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from planted import planted_collection, without_features
from sugartag.cli.main import main
from sugartag.collection.store import save_collection
from sugartag.collection.subset import without_truth
from sugartag.engine import LocalEngine
from sugartag.errors import StorageError
from sugartag.graph import wordnet
from sugartag.methods.registry import METHODS, make_method
from sugartag.pipeline.fitting import fit_model
from sugartag.pipeline.model import save_model
from sugartag.storage.arrays import sha256_of, write_manifest


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def done(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def damages_named_by(*arguments: object) -> list[str]:
    """Return the lines on stderr of a doctor who found something."""
    result = run("doctor", *arguments)
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    lines = result.stderr.splitlines()
    assert all(line.startswith("sugartag: ") for line in lines)
    return lines


def damage_named_by(*arguments: object) -> str:
    """Return the one line on stderr of a doctor who found one thing."""
    (line,) = damages_named_by(*arguments)
    return line


@pytest.fixture
def photos(tmp_path) -> Path:
    save_collection(planted_collection(), tmp_path / "photos")
    return tmp_path / "photos"


@pytest.fixture
def model(tmp_path) -> Path:
    made = fit_model(make_method("tag-vote"), planted_collection(), engine=LocalEngine(), seed=0)
    save_model(made, tmp_path / "model")
    return tmp_path / "model"


def spoil(path: Path) -> Path:
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    return path


def test_every_method_is_listed_with_its_summary_in_the_order_of_tables():
    lines = done("methods").splitlines()

    names = [line for line in lines if not line.startswith(" ")]
    assert names == list(METHODS)
    for name in names:
        assert lines[lines.index(name) + 1].strip() == METHODS[name].summary


@pytest.mark.parametrize("name", METHODS)
def test_every_setting_is_listed_with_its_default(name):
    listed = done("methods").partition(f"{name}\n")[2].splitlines()

    for field in fields(METHODS[name]):
        assert any(line.startswith(f"    {field.name} = {field.default}  (") for line in listed)


def test_as_json_each_method_has_name_summary_and_settings():
    listed = json.loads(done("methods", "--json"))

    assert [method["name"] for method in listed] == list(METHODS)
    for method in listed:
        assert set(method) == {"name", "summary", "package", "settings"}
        assert method["summary"] == METHODS[method["name"]].summary
        described = {setting["name"]: setting["default"] for setting in method["settings"]}
        assert described == {
            field.name: field.default
            for field in fields(METHODS[method["name"]])
            if field.default is not MISSING
        }


def test_what_is_listed_can_be_set():
    for method in json.loads(done("methods", "--json")):
        values = {setting["name"]: setting["default"] for setting in method["settings"]}
        assert make_method(method["name"], values) == make_method(method["name"])


def test_the_doctor_says_what_is_installed():
    said = dict(line.split(maxsplit=1) for line in done("doctor").splitlines())

    assert said["python"] == platform.python_version()
    assert said["numpy"] == np.__version__
    for package in ("sugartag", "scipy", "scikit-learn", "numba", "click", "tqdm", "pyarrow"):
        assert said[package] == metadata.version(package)
    assert int(said["WordNet"].split()[0].replace(",", "")) > 50_000


def test_the_doctor_says_how_to_install_what_is_missing(monkeypatch):
    find = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "pyarrow" else find(name))

    assert "pyarrow      no: pip install 'sugartag[parquet]'\n" in done("doctor")


def test_the_doctor_says_what_whole_folders_hold(photos, model, tmp_path):
    save_collection(without_truth(without_features(planted_collection())), tmp_path / "bare")

    *_, first, second, third = done("doctor", photos, model, tmp_path / "bare").splitlines()

    assert first == (
        f"{photos}: whole; 600 images, 50 tags, 90 owners, 16 groups, 48 features, "
        "40 concepts of truth"
    )
    assert second.startswith(f"{model}: whole; tag-vote, run tag-vote-")
    assert third.endswith("600 images, 50 tags, 90 owners, 16 groups, no features")


@pytest.mark.parametrize("file", ["shards/00000/features.npy", "tags.data.npy"])
def test_a_damaged_collection_is_named(photos, model, file):
    damaged = spoil(photos / file)

    assert f"{damaged} has changed" in damage_named_by(photos)
    assert f"{damaged} has changed" in damage_named_by(model, photos)


@pytest.mark.parametrize("file", ["fitted.chance.npy", "fitted.collection/shards/00000/owner.npy"])
def test_a_damaged_model_is_named(photos, model, file):
    damaged = spoil(model / file)

    assert f"{damaged} has changed" in damage_named_by(photos, model)


def test_whole_folders_before_and_after_a_damaged_one_are_reported(photos, model, tmp_path):
    save_collection(planted_collection(), tmp_path / "last")
    spoil(model / "fitted.chance.npy")

    told = run("doctor", photos, model, tmp_path / "last").stdout.splitlines()

    assert [line.partition(": whole;")[0] for line in told[-2:]] == [
        str(photos),
        str(tmp_path / "last"),
    ]


def test_every_damaged_folder_is_named_in_its_turn(photos, model, tmp_path):
    spoil(photos / "tags.data.npy")
    spoil(model / "fitted.chance.npy")

    first, second, third = damages_named_by(photos, tmp_path / "nothing", model)

    assert f"{photos / 'tags.data.npy'} has changed" in first
    assert f"{tmp_path / 'nothing'} is neither a collection nor a model" in second
    assert f"{model / 'fitted.chance.npy'} has changed" in third


def test_every_damaged_file_of_a_folder_is_named_once(photos):
    spoil(photos / "tags.data.npy")
    (photos / "shards" / "00000" / "owner.npy").unlink()
    np.save(photos / "shards" / "00000" / "features.npy", np.zeros(3))

    lines = damages_named_by(photos)

    assert len(lines) == 3
    said = ["tags.data.npy has changed", "owner.npy is missing", "features.npy holds float64"]
    for words in said:
        assert sum(words in line for line in lines) == 1


def test_damaged_files_are_named_in_a_collection_that_a_model_holds(model):
    inner = model / "fitted.collection"
    damaged = [spoil(inner / "tags.data.npy"), spoil(inner / "shards" / "00000" / "owner.npy")]
    spoil(model / "fitted.chance.npy")

    lines = damages_named_by(model)

    assert len(lines) == 3
    for path in damaged:
        assert any(f"{path} has changed" in line for line in lines)


def test_what_is_wrong_beyond_the_files_is_named_with_them(photos):
    path = photos / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    del manifest["files"]["tags.offsets"]
    write_manifest(photos, manifest)
    spoil(photos / "owners.data.npy")

    first, second = damages_named_by(photos)

    assert "its manifest lacks 'tags.offsets'" in first
    assert "owners.data.npy has changed" in second


def test_a_damaged_taxonomy_does_not_keep_folders_from_being_checked(photos, monkeypatch):
    def damaged() -> None:
        raise StorageError("the taxonomy is damaged")

    monkeypatch.setattr(wordnet, "load_taxonomy", damaged)

    result = run("doctor", photos)

    assert result.exit_code == 2
    assert result.stderr == "sugartag: the taxonomy is damaged\n"
    assert result.stdout.splitlines()[-1].startswith(f"{photos}: whole;")


def test_a_missing_file_is_named(photos):
    (photos / "shards" / "00000" / "owner.npy").unlink()

    assert "owner.npy is missing" in damage_named_by(photos)


def test_indices_out_of_range_are_found_though_the_hash_is_right(model):
    path = model / "catalogue.ids.offsets.npy"
    np.save(path, np.load(path) + 1)
    manifest = json.loads((model / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"]["catalogue.ids.offsets"]["sha256"] = sha256_of(path)
    write_manifest(model, manifest)

    assert "manifest.json is damaged" in damage_named_by(model)


@pytest.mark.parametrize("name", ["tag_names", "ids"])
def test_an_edited_manifest_is_named(model, name):
    path = model / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["state"]["catalogue"][name] = ["sun"]
    path.write_text(json.dumps(manifest), encoding="utf-8")

    assert "manifest.json was edited" in damage_named_by(model)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "sugartag-model/9"}', "\udcff"])
def test_a_manifest_that_makes_no_sense_is_one_line(tmp_path, text):
    (tmp_path / "manifest.json").write_bytes(text.encode(errors="surrogateescape"))

    assert str(tmp_path) in damage_named_by(tmp_path)


@pytest.mark.parametrize("name", ["nothing", "empty", "file.txt"])
def test_what_is_no_folder_of_ours_is_named(tmp_path, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").touch()

    assert f"{tmp_path / name} is neither a collection nor a model" in damage_named_by(
        tmp_path / name
    )
