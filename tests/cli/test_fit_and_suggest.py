"""From a table to changes, as a user goes; and one line for whatever goes wrong on the way."""

import csv
import errno
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from sugartag.assignment.thresholds import NEVER_ADDED, TagThresholds
from sugartag.cli.main import main
from sugartag.collection import open_collection
from sugartag.pipeline.model import load_model, save_model
from tables import Row, tags_by_image, write_table

N_IMAGES = 180
TOPICS = {"sea": ["beach", "sand, wet"], "wood": ["tree", "müll"], "home": ["cat", "sofa"]}
COLUMNS = ["image_id", "tag", "action", "score", "reason", "run_id", "decision"]


def photo_rows(seed: int = 1) -> tuple[list[Row], np.ndarray]:
    """Return the rows of a table of photos of three topics, and what the photos look like."""
    rng = np.random.default_rng(seed)
    names = list(TOPICS)
    topic = rng.integers(len(names), size=N_IMAGES)
    looks = np.eye(len(names))[topic] * 4 + rng.standard_normal((N_IMAGES, len(names)))
    rows = [
        {
            "image_id": f"photo {number}",
            "owner": f"owner {rng.integers(12)}",
            "tags": [tag for tag in (names[t], *TOPICS[names[t]]) if rng.random() < 0.7],
        }
        for number, t in enumerate(topic)
    ]
    return rows, looks.astype(np.float32)


def write_photos(folder: Path, name: str = "photos", seed: int = 1) -> None:
    rows, looks = photo_rows(seed)
    write_table(folder / f"{name}.csv", rows)
    np.save(folder / f"{name}.npy", looks)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def done(*arguments: object) -> str:
    """Return what a command prints that does what it is asked."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == "" or arguments[0] == "evaluate"
    return result.stdout


def refused(*arguments: object) -> str:
    """Return the one line that says what is wrong."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("sugartag: ")
    return line


def read_changes(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with photos, their collection, the same without features, and a model."""
    folder = tmp_path_factory.mktemp("made")
    write_photos(folder)
    table = folder / "photos.csv"
    done("import", table, "--out", folder / "photos", "--features", folder / "photos.npy")
    done("import", table, "--out", folder / "bare")
    done("fit", folder / "photos", "--out", folder / "model")
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch) -> Path:
    """A copy of it, as the working folder."""
    folder = tmp_path / "here"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    return folder


def test_the_way_from_a_table_to_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_photos(tmp_path)

    imported = done("import", "photos.csv", "--out", "photos", "--features", "photos.npy")
    fitted = done("fit", "photos", "--out", "model")
    suggested = done("suggest", "model", "photos", "--out", "changes.csv", "--add-from", 0.3)
    measured = done("evaluate", "photos", "--methods", "original,tag-vote-own", "--hide", 0.3)
    checked = done("doctor", "photos", "model")

    assert imported.startswith("photos: 180 images, 9 tags, 12 owners, features of 3 numbers\n")
    first, evidence, last = fitted.splitlines()
    assert first.startswith("fitted sugar-plus on 180 images and 9 tags in ")
    assert first.endswith(" s: model")
    assert evidence == load_model(tmp_path / "model").fitted.evidence_summary()
    assert last == "next: sugartag suggest model photos --out changes.csv"
    counts = Counter(row["action"] for row in read_changes(tmp_path / "changes.csv"))
    assert counts["add"] > 10
    assert suggested == (
        f"changes.csv: {counts['add']} tags to add, {counts['doubt']} to doubt, "
        f"{counts['keep']} to keep, for 180 images\n"
    )
    assert [line.split()[0] for line in measured.splitlines()[1:]] == ["original", "tag-vote-own"]
    photos, model = checked.splitlines()[-2:]
    assert photos == "photos: whole; 180 images, 9 tags, 12 owners, no groups, 3 features"
    assert model == f"model: whole; sugar-plus, run {load_model(tmp_path / 'model').run_id}"
    assert names_in(tmp_path) == {"photos", "photos.csv", "photos.npy", "model", "changes.csv"}


def test_where_nothing_is_sure_enough_to_be_added_it_says_how_to_see_more(here):
    model = load_model(here / "model")
    never = TagThresholds.same(NEVER_ADDED, 0.1, len(model.thresholds.add))
    save_model(replace(model, thresholds=never), here / "model", overwrite=True)
    suggest = "suggest", "model", "photos", "--out", "changes.csv", "--overwrite"

    found = run(*suggest)

    assert found.exit_code == 0
    assert found.stdout.startswith("changes.csv: 0 tags to add, ")
    assert found.stderr == (
        "no tag is sure enough to be added; --add-from 0.5 lists those that are more likely "
        "than not\n"
    )
    assert "0 tags to add" in done(*suggest, "--add-from", 1.0)


def test_from_a_shell_it_is_the_same_to_the_byte(here):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done("suggest", "model", "photos", "--out", "changes.csv", "--add-from", 0.3)

    outputs = []
    for line in (
        "import photos.csv --out again --features photos.npy",
        "fit again --out again-model",
        "suggest again-model again --out again.csv --add-from 0.3",
    ):
        command = [sys.executable, "-m", "sugartag", *line.split()]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        outputs.append(ended.stdout)

    assert outputs[2].startswith("again.csv: ")
    assert (here / "again.csv").read_bytes() == (here / "changes.csv").read_bytes()


def test_changes_say_of_each_tag_what_it_is(here):
    done("suggest", "model", "photos", "--out", "changes.csv", "--add-from", 0.3, "--top", 2)

    rows = read_changes(here / "changes.csv")
    given = tags_by_image(here / "photos")
    assert list(rows[0]) == COLUMNS
    judged = [(r["image_id"], r["tag"]) for r in rows if r["action"] in ("keep", "doubt")]
    assert sorted(judged) == sorted((image, tag) for image in given for tag in given[image])
    added = [(r["image_id"], r["tag"]) for r in rows if r["action"] == "add"]
    assert not set(added) & set(judged)
    assert max(Counter(image for image, _ in added).values()) == 2
    assert all(0 <= float(row["score"]) <= 1 for row in rows)


def test_suggested_tags_fit_the_topic_of_the_photo(here):
    done("suggest", "model", "photos", "--out", "changes.csv", "--add-from", 0.3)

    topic_of = {tag: topic for topic, tags in TOPICS.items() for tag in (topic, *tags)}
    given = tags_by_image(here / "photos")
    right = [
        topic_of[row["tag"]] in {topic_of[tag] for tag in given[row["image_id"]]}
        for row in read_changes(here / "changes.csv")
        if row["action"] == "add" and given[row["image_id"]]
    ]
    assert len(right) > 10
    assert np.mean(right) > 0.8


def test_every_kind_of_file_says_the_same(here):
    for kind in ("csv", "jsonl", "parquet"):
        done("suggest", "model", "photos", "--out", f"changes.{kind}")

    from_csv = [{**r, "score": float(r["score"])} for r in read_changes(here / "changes.csv")]
    lines = (here / "changes.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == from_csv
    assert pq.read_table(here / "changes.parquet").to_pylist() == from_csv


def test_nothing_of_the_collection_or_the_model_changes(here):
    def contents() -> dict[str, bytes]:
        folders = (here / "photos", here / "model")
        files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in files}

    before = contents()

    done("suggest", "model", "photos", "--out", "changes.csv")

    assert contents() == before


def test_a_model_is_used_on_other_photos(here):
    rows, looks = photo_rows(seed=2)
    for number, row in enumerate(rows):
        row["image_id"], row["owner"] = f"new {number}", f"stranger {number % 5}"
        row["tags"] = [*row["tags"], "never seen"]
    write_table(here / "new.csv", rows)
    np.save(here / "new.npy", looks)
    done("import", "new.csv", "--out", "new", "--features", "new.npy")

    done("suggest", "model", "new", "--out", "changes.csv", "--add-from", 0.3)

    changes = read_changes(here / "changes.csv")
    assert {row["image_id"] for row in changes} <= set(open_collection(here / "new").ids)
    assert {row["action"] for row in changes} >= {"add", "keep"}
    assert "never seen" not in {row["tag"] for row in changes}


@pytest.fixture
def untagged(here) -> Path:
    """The collection of a table in which no photo has a tag, beside the others."""
    rows, looks = photo_rows(seed=2)
    rows = [{**row, "image_id": f"new {n}", "tags": []} for n, row in enumerate(rows)]
    write_table(here / "untagged.csv", rows)
    np.save(here / "untagged.npy", looks)
    done("import", "untagged.csv", "--out", "untagged", "--features", "untagged.npy")
    return here / "untagged"


def test_photos_without_any_tag_get_suggestions(here, untagged):
    done("suggest", "model", "untagged", "--out", "changes.csv", "--add-from", 0.3)

    changes = read_changes(here / "changes.csv")
    assert {row["action"] for row in changes} == {"add"}
    assert len({row["image_id"] for row in changes}) > N_IMAGES / 2


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("fit untagged --out m", "a fit"),
        ("fit untagged --out m --method tag-vote", "a fit"),
        ("evaluate untagged --methods tag-prior --hide 0.3", "an evaluation"),
        ("tune untagged --methods tag-prior --budget 2 --out t.json", "an evaluation"),
    ],
)
def test_without_any_tag_there_is_nothing_to_learn_from(untagged, line, what):
    assert f"{what} needs tags and this collection has none" in refused(*line.split())


def test_method_settings_and_seed_reach_the_model(here):
    done("fit", "photos", "--out", "m", "--method", "tag-vote", "--set", "neighbours=7",
         "--set", " unit_features = no", "--seed", 5)  # fmt: skip

    model = load_model(here / "m")
    assert model.method.name == "tag-vote"
    assert (model.method.neighbours, model.method.unit_features) == (7, False)
    assert model.seed == 5


def test_the_next_command_can_be_pasted(here):
    (here / "photos").rename(here / "my photos")

    printed = done("fit", "my photos", "--out", "my model")

    assert "next: sugartag suggest 'my model' 'my photos' --out changes.csv" in printed


def test_a_model_is_replaced_only_when_asked(here):
    assert "model exists already" in refused("fit", "photos", "--out", "model", "--seed", 9)
    assert load_model(here / "model").seed == 0

    done("fit", "photos", "--out", "model", "--seed", 9, "--overwrite")

    assert load_model(here / "model").seed == 9


def test_changes_are_replaced_only_when_asked(here):
    (here / "changes.csv").write_text("of yesterday")

    assert "--overwrite" in refused("suggest", "model", "photos", "--out", "changes.csv")
    assert (here / "changes.csv").read_text() == "of yesterday"
    done("suggest", "model", "photos", "--out", "changes.csv", "--overwrite")

    assert read_changes(here / "changes.csv")


@pytest.mark.parametrize("target", ["photos", "mine", "photos.csv"])
def test_only_a_model_is_replaced_by_a_model_and_that_is_said_before_the_work(
    here, target, monkeypatch
):
    (here / "mine").mkdir()
    (here / "mine" / "manifest.json").write_text('{"name": "something else"}')
    monkeypatch.setattr(
        "sugartag.pipeline.fitting.fit_model", lambda *_, **__: pytest.fail("too late")
    )

    line = refused("fit", "photos", "--out", target, "--overwrite")

    assert "--overwrite replaces models only" in line
    open_collection(here / "photos")
    assert names_in(here / "mine") == {"manifest.json"}


def test_a_collection_is_not_replaced_by_scores(here):
    line = refused("evaluate", "photos", "--methods", "original", "--hide", 0.3,
                   "--save-scores", "photos", "--overwrite")  # fmt: skip

    assert "--save-scores" in line
    open_collection(here / "photos")


def test_a_full_disk_is_one_line_and_leaves_nothing(here, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sugartag.pipeline.encoding.save_array", full)
    before = names_in(here)

    assert "cannot write m: No space left on device" in refused("fit", "photos", "--out", "m")
    assert names_in(here) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("fit nothing --out m", "nothing is not a sugartag-collection/1 folder"),
        ("fit photos.csv --out m", "photos.csv is not a sugartag-collection/1 folder"),
        ("fit model --out m", "model has format 'sugartag-model/2'"),
        (
            "fit bare --out m --method tag-vote",
            "tag-vote needs image features and this collection has none",
        ),
        ("fit photos --out m --method tag-vot", "'tag-vot'; did you mean tag-vote?"),
        ("fit photos --out m --method zzz", "there is no method 'zzz'; The methods are: original"),
        (
            "fit photos --out m --method tag-vote --set neighbours",
            "--set takes key=value, not 'neighbours'",
        ),
        ("fit photos --out m --set =3", "--set takes key=value, not '=3'"),
        (
            "fit photos --out m --method tag-vote --set neighbors=3",
            "'neighbors'; did you mean neighbours?",
        ),
        (
            "fit photos --out m --method tag-vote --set neighbours=few",
            "neighbours is 'few', which is not int",
        ),
        (
            "fit photos --out m --method tag-vote --set neighbours=0",
            "neighbours is 0; it must be at least 1",
        ),
        ("fit photos --out m --seed -1", "--seed"),
        ("fit photos --out m --blas-threads 0", "--blas-threads"),
        ("fit photos", "Missing option '--out'"),
        ("fit photos --out photos.csv/m", "cannot write photos.csv/m: Not a directory"),
        ("suggest model nothing --out c.csv", "nothing is not a sugartag-collection/1 folder"),
        ("suggest nothing photos --out c.csv", "nothing is not a sugartag-model/2 folder"),
        ("suggest photos photos --out c.csv", "photos has format 'sugartag-collection/1'"),
        ("suggest model model --out c.csv", "model has format 'sugartag-model/2'"),
        ("suggest photos model --out c.csv", "this version reads 'sugartag-model/2'"),
        ("suggest model photos --out c.txt", "c.txt must end in one of: .csv, .jsonl, .parquet"),
        ("suggest model photos --out c", "c must end in one of: .csv, .jsonl, .parquet"),
        ("suggest model photos --out photos.csv/c.csv", "cannot write photos.csv/c.csv"),
        ("suggest model bare --out c.csv", "these images have no feature numbers each"),
        ("suggest model photos --out c.csv --top -1", "top must not be negative, not -1"),
        ("suggest model photos --out c.csv --top many", "'many' is not a valid integer"),
        ("suggest model photos --out c.csv --add-from 2", "add must be from 0 to 1, not 2.0"),
        ("suggest model photos --out c.csv --doubt-below nan", "doubt must be from 0 to 1"),
        ("suggest model --out c.csv", "Missing argument 'COLLECTION'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(here, arguments, said):
    before = names_in(here)

    assert said in refused(*arguments.split())
    assert names_in(here) == before


def test_a_damaged_model_is_named(here):
    path = here / "model" / "calibration.added.values.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))

    line = refused("suggest", "model", "photos", "--out", "changes.csv")

    assert f"{path.relative_to(here)} has changed since it was written" in line
    assert not (here / "changes.csv").exists()
