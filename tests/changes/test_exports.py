"""Exports: what other programs read is what the catalogue holds."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from catalogues import copied_catalogue, made_catalogue
from sugartag.changes.change_files import load_change_file, read_changes
from sugartag.changes.exporting import (
    export_provenance,
    export_table,
    export_text_files,
    tagged_images,
)
from sugartag.changes.handing_over import (
    export_cleanlab,
    export_fiftyone,
    export_hugging_face,
    export_label_studio,
)
from sugartag.changes.vocabulary import set_alias, set_implication
from sugartag.collection.readers import Sources, import_collection
from sugartag.errors import CollectionError, SettingsError, StorageError
from tables import tags_by_image


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("exported")
    made_catalogue(folder).close()
    return folder


@pytest.fixture
def catalogue(template: Path, tmp_path: Path):
    (tmp_path / "catalogue").mkdir()
    with copied_catalogue(template, tmp_path / "catalogue") as made:
        made.connection.execute("UPDATE tags SET name = '=1+1' WHERE name = 'dog'")
        yield made


@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("guard", [True, False])
def test_a_table_that_is_imported_again_has_the_same_tags(catalogue, tmp_path, kind, guard):
    table = tmp_path / f"table{kind}"

    assert export_table(catalogue, table, guard_formulas=guard) == 4

    import_collection(Sources(table), tmp_path / "again")
    assert tags_by_image(tmp_path / "again") == {
        "1": {"beach", "sun"},
        "2": {"=1+1", "sun"},
        "3": set(),
        "4": {"Sun"},
    }
    if kind == ".csv":
        assert ("'=1+1|sun" if guard else ",=1+1|sun") in table.read_text()


def test_tables_are_not_replaced_unasked_and_have_a_kind(catalogue, tmp_path):
    export_table(catalogue, tmp_path / "a.csv")

    with pytest.raises(StorageError, match="exists already"):
        export_table(catalogue, tmp_path / "a.csv")
    with pytest.raises(SettingsError, match="must end in"):
        export_table(catalogue, tmp_path / "a.txt")


def test_provenance_has_a_row_for_each_tag_of_each_image(catalogue, tmp_path):
    assert export_provenance(catalogue, tmp_path / "a.csv") == 5

    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["image_id"], row["tag"], row["source"], row["by"]) for row in rows] == [
        ("1", "beach", "person", "anna"),
        ("1", "sun", "person", "anna"),
        ("2", "'=1+1", "import", ""),
        ("2", "sun", "import", ""),
        ("4", "Sun", "person", "anna"),
    ]
    assert export_provenance(catalogue, tmp_path / "a.parquet") == 5
    assert pq.read_table(tmp_path / "a.parquet").column("tag").to_pylist()[2] == "=1+1"


def test_exports_follow_aliases_and_implications_unless_asked_not_to(catalogue):
    set_alias(catalogue, "Sun", "sun")
    set_implication(catalogue, "beach", "sea")

    found = {one.image_id: one.tags for one in tagged_images(catalogue)}
    stored = {one.image_id: one.tags for one in tagged_images(catalogue, as_stored=True)}

    assert (found["1"], found["4"]) == (("beach", "sun", "sea"), ("sun",))
    assert (stored["1"], stored["4"]) == (("beach", "sun"), ("Sun",))


def test_text_files_stand_where_the_images_do(catalogue, tmp_path):
    with pytest.raises(CollectionError, match="'2' has no path"):
        export_text_files(catalogue, tmp_path / "texts")
    assert not (tmp_path / "texts").exists()
    catalogue.connection.execute("UPDATE images SET path = 'a/' || image_id || '.jpg'")
    catalogue.connection.execute("UPDATE images SET path = 'a/1.png' WHERE image_id = '3'")

    assert export_text_files(catalogue, tmp_path / "texts") == 4

    texts = tmp_path / "texts/a"
    assert (texts / "1.txt").read_text() == "beach, sun\n"
    assert (texts / "1.png.txt").read_text() == "\n"


def test_label_studio_gets_the_tags_kept_and_proposed_with_the_run(catalogue, tmp_path):
    export_label_studio(catalogue, tmp_path / "tasks.json", prefix="/data/?d=")

    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert tasks[0]["data"] == {
        "image": "/data/?d=a/1.jpg",
        "image_id": "1",
        "tags": ["beach", "sun"],
    }
    (prediction,) = tasks[0]["predictions"]
    assert prediction["model_version"] == "run-1"
    assert prediction["score"] == pytest.approx((0.99 + 0.9 + 0.8125) / 3, abs=1e-6)
    assert prediction["result"] == [
        {
            "from_name": "tags",
            "to_name": "image",
            "type": "choices",
            "value": {"choices": ["beach", "sun", "=1+1"]},
        }
    ]


def test_fiftyone_gets_classifications_with_confidences(catalogue, tmp_path):
    export_fiftyone(catalogue, tmp_path / "samples.json")

    samples = json.loads((tmp_path / "samples.json").read_text())["samples"]
    assert [one["filepath"] for one in samples] == ["a/1.jpg", "2", "3", "4"]
    assert samples[3]["ground_truth"]["classifications"] == [
        {"_cls": "Classification", "label": "Sun"}
    ]
    assert samples[3]["predictions"]["classifications"] == [
        {"_cls": "Classification", "label": "Sun", "confidence": 0.1}
    ]


def test_hugging_face_gets_a_line_for_each_file(catalogue, tmp_path):
    export_hugging_face(catalogue, tmp_path / "metadata.jsonl")

    first, *_ = (tmp_path / "metadata.jsonl").read_text().splitlines()
    assert json.loads(first) == {
        "file_name": "a/1.jpg",
        "image_id": "1",
        "tags": ["beach", "sun"],
        "owner": "anna",
        "title": None,
    }


def test_cleanlab_gets_labels_and_probabilities_in_the_same_order(catalogue, tmp_path):
    with pytest.raises(CollectionError, match="used 10 times"):
        export_cleanlab(catalogue, tmp_path / "cleanlab")

    export_cleanlab(catalogue, tmp_path / "cleanlab", min_uses=1)

    names = json.loads((tmp_path / "cleanlab/names.json").read_text())
    labels = np.load(tmp_path / "cleanlab/labels.npy")
    probabilities = np.load(tmp_path / "cleanlab/pred_probs.npy")
    assert json.loads((tmp_path / "cleanlab/image_ids.json").read_text()) == ["1", "2", "3", "4"]
    assert labels.shape == probabilities.shape == (4, len(names))
    assert {names[k] for k in np.flatnonzero(labels[0])} == {"beach", "sun"}
    sun = names.index("sun")
    np.testing.assert_allclose(probabilities[:, sun], [0.9, 0.2, 0.9, 0.0], rtol=1e-6)


def test_decisions_in_a_change_set_are_taken_in(catalogue, tmp_path):
    path = tmp_path / "changes.csv"
    path.write_text(
        "image_id,tag,action,score,reason,run_id,decision\n"
        "1,'=1+1,add,0.8,why,r2,YES\n"
        "2,sun,doubt,0.2,why,r2,accept\n"
        "4,Sun,doubt,0.1,why,r2,n\n"
        "3,sun,add,0.9,why,r2,\n"
    )

    (loaded,) = load_change_file(catalogue, path)

    assert loaded.counts == {"add": 2, "keep": 0, "doubt": 2}
    assert catalogue.standing("1", "=1+1")[0] == "accept"
    assert catalogue.standing("2", "sun")[0] == "reject"
    assert catalogue.standing("4", "Sun")[0] == "accept"
    assert catalogue.standing("3", "sun")[0] is None
    assert {one.reviewer for one in catalogue.decision_log()} == {"file:changes.csv"}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("1,sun,add,2,,r,", "score is '2'"),
        ("1,sun,add,,,r,", "score is ''"),
        ("1,sun,gone,0.5,,r,", "action is 'gone'"),
        ("1,,add,0.5,,r,", "image_id or tag is empty"),
        ("1,sun,add,0.5,,r,perhaps", "decision is 'perhaps'"),
    ],
)
def test_a_bad_row_of_a_change_set_is_named(tmp_path, row, words):
    (tmp_path / "a.csv").write_text(f"image_id,tag,action,score,reason,run_id,decision\n{row}\n")

    with pytest.raises(CollectionError, match=f"line 2: {words}"):
        list(read_changes(tmp_path / "a.csv"))
