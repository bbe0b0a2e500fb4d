"""A model is extended by images and decisions, as a user does it; or one line says why not."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from sugartag.assignment.thresholds import FEWEST_USES
from sugartag.cli.main import main
from sugartag.collection import open_collection
from sugartag.collection.align import seen_from
from sugartag.costs import machine
from sugartag.pipeline.model import load_model
from tables import Row, write_table

TOPICS = {"sea": ["beach", "sand"], "wood": ["tree", "müll"], "home": ["cat", "sofa"]}
N_IMAGES, FIRST = 240, 160
DECIDED = ["image_id", "tag", "action", "decision"]


def photo_rows() -> tuple[list[Row], np.ndarray]:
    """Return photos of three topics; those after the first also have a new owner and a new tag."""
    rng = np.random.default_rng(1)
    names = list(TOPICS)
    topic = rng.integers(len(names), size=N_IMAGES)
    looks = np.eye(len(names))[topic] * 4 + rng.standard_normal((N_IMAGES, len(names)))
    rows = []
    for number, t in enumerate(topic):
        tags = [tag for tag in (names[t], *TOPICS[names[t]]) if rng.random() < 0.7]
        if rng.random() < 0.1:
            tags.append(TOPICS[names[(t + 1) % 3]][0])
        owner = f"owner {rng.integers(24)}"
        if number >= FIRST:
            tags += ["kitten"] if t == 2 and rng.random() < 0.7 else []
            owner = "newcomer" if number % 4 == 0 else owner
        rows.append({"image_id": f"photo {number}", "owner": owner, "tags": list(set(tags))})
    return rows, looks.astype(np.float32)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def done(line: str) -> str:
    """Return what a command prints that does what it is asked."""
    result = run(*line.split())
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def refused(line: str) -> str:
    """Return the one line that says what is wrong."""
    result = run(*line.split())
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    (said,) = result.stderr.splitlines()
    assert said.startswith("sugartag: ")
    return said


def write_collection(folder: Path, name: str, rows: list[Row], looks: np.ndarray) -> None:
    table = write_table(folder / f"{name}.csv", rows)
    np.save(folder / f"{name}.npy", looks)
    result = run("import", table, "--out", folder / name, "--features", folder / f"{name}.npy")
    assert result.exit_code == 0, result.output


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with the first photos, the others, all, and a model of the first."""
    folder = tmp_path_factory.mktemp("made")
    rows, looks = photo_rows()
    write_collection(folder, "first", rows[:FIRST], looks[:FIRST])
    write_collection(folder, "later", rows[FIRST:], looks[FIRST:])
    write_collection(folder, "all", rows, looks)
    write_collection(folder, "flat", rows[FIRST:], looks[FIRST:, :2])
    for method, name in (("sugar-plus", "model"), ("tag-prior", "other")):
        result = run("fit", folder / "first", "--out", folder / name, "--method", method)
        assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch) -> Path:
    """A copy of that folder to work in."""
    folder = tmp_path / "here"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def more(here) -> Path:
    """The model there, with the later photos added."""
    done("fit later --update model --out more")
    return here / "more"


def content(folder: Path) -> dict[Path, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in files}


def read_changes(path: str) -> dict[tuple[str, str], dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return {(row["image_id"], row["tag"]): row for row in csv.DictReader(file)}


def write_decisions(path: str, *decisions: tuple[str, str, str, str]) -> None:
    rows = [dict(zip(DECIDED, decision, strict=True)) for decision in decisions]
    write_table(Path(path), rows)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_new_photos_owners_and_tags_are_added_to_a_model(here):
    printed = done("fit later --update model --out more")

    first, evidence, last = printed.splitlines()
    assert first.startswith("updated model with 80 images (80 of them new) and 0 decisions in ")
    assert first.endswith(" s: more")
    assert evidence == load_model(here / "more").fitted.evidence_summary()
    assert last == "next: sugartag suggest more later --out changes.csv"
    old, new = load_model(here / "model"), load_model(here / "more")
    assert list(new.catalogue.ids) == [f"photo {number}" for number in range(N_IMAGES)]
    assert set(new.catalogue.owner_names) - set(old.catalogue.owner_names) == {"newcomer"}
    assert set(new.catalogue.tag_names) - set(old.catalogue.tag_names) == {"kitten"}
    assert old.run_id != new.run_id
    assert new.run_id.startswith("sugar-plus-")
    done("suggest more later --out changes.csv")
    assert {row["run_id"] for row in read_changes("changes.csv").values()} == {new.run_id}


def test_a_new_tag_is_found_where_it_belongs(more):
    done("suggest more all --out changes.csv --top 8 --add-from 0")

    given = {row["image_id"]: set(row["tags"]) for row in photo_rows()[0]}
    verdicts = read_changes("changes.csv")
    added = {image: float(row["score"]) for (image, tag), row in verdicts.items()
             if (tag, row["action"]) == ("kitten", "add")}  # fmt: skip
    at_home = [value for image, value in added.items() if {"home", "sofa"} & given[image]]
    elsewhere = [value for image, value in added.items() if {"wood", "tree"} & given[image]]
    assert np.median(at_home) > 2 * np.median(elsewhere)
    assert np.quantile(at_home, 0.1) > np.quantile(elsewhere, 0.9)


def test_an_updated_model_suggests_nearly_what_a_fit_on_all_does(more):
    done("fit all --out whole")
    for name in ("more", "whole"):
        done(f"suggest {name} all --out {name}.csv --add-from 0.3")

    some, all_ = read_changes("more.csv"), read_changes("whole.csv")
    both = [(float(some[key]["score"]), float(all_[key]["score"])) for key in some.keys() & all_]
    assert len(both) > 0.9 * max(len(some), len(all_))
    assert np.mean([abs(one - other) for one, other in both]) < 0.1


def test_a_model_may_be_replaced_by_its_update(here):
    assert "model exists already" in refused("fit later --update model --out model")

    done("fit later --update model --out model --overwrite")

    assert len(load_model(here / "model").catalogue.ids) == N_IMAGES
    assert not [name for name in names_in(here) if "partial" in name]


def test_the_same_update_is_the_same_to_the_byte(here, more):
    done("fit later --update model --out again")

    assert content(here / "again") == content(more)


def test_an_update_that_keeps_its_limit_is_the_same_update(here, more):
    done("fit later --update model --out limited --max-memory 64G")

    assert content(here / "limited") == content(more)


@pytest.mark.parametrize("corrections", ["", " --corrections d.csv"])
def test_an_update_that_would_not_keep_its_limit_is_refused(here, corrections):
    write_decisions("d.csv", ("photo 3", "cat", "add", "accept"))
    images = "first" if corrections else "later"
    before = names_in(here)

    line = refused(f"fit {images} --update model --out more --max-memory 40M{corrections}")

    n_images = FIRST if corrections else N_IMAGES - FIRST
    assert "sugartag: an update needs about " in line
    assert f" of memory for {n_images} images and a model of {FIRST}, and may use 40 MiB; " in line
    assert "allow " in line
    assert names_in(here) == before


def test_scarce_memory_is_warned_of_and_the_model_is_updated(here, monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda: 10 << 20)

    result = run("fit", "later", "--update", "model", "--out", "more")

    assert result.exit_code == 0
    assert "of memory, and 10 MiB are free; " in result.stderr


def test_decisions_come_back_in_what_is_suggested(here):
    done("suggest model first --out before.csv --add-from 0.3")
    before = read_changes("before.csv")
    chosen = {}
    for action, said in (("add", "reject"), ("add", "accept"), ("doubt", "accept"),
                         ("doubt", "reject"), ("keep", "reject"), ("keep", "accept")):  # fmt: skip
        listed = "add" if action == "add" else "keep"
        keys = [key for key, row in before.items() if row["action"] == listed]
        key = next(key for key in keys if key[0] not in {image for image, _ in chosen})
        # What another run doubted may be decided as well.
        before[key]["action"] = action
        chosen[key] = action, said
    rows = [{**row, "decision": chosen.get(key, ("", ""))[1]} for key, row in before.items()]
    write_table(here / "decided.csv", rows)

    printed = done("fit first --update model --corrections decided.csv --out more")
    done("suggest more first --out after.csv --add-from 0.3")

    assert "160 images (0 of them new) and 6 decisions in " in printed
    after = read_changes("after.csv")
    for key, (action, said) in chosen.items():
        if (action, said) == ("add", "reject"):
            assert key not in after
            continue
        right = (said == "accept") == (action != "doubt")
        assert float(after[key]["score"]) == (0.999 if right else 0.001)
        if action == "add":
            assert after[key]["action"] == "add"
        else:
            assert after[key]["action"] == ("keep" if right else "doubt")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_decisions_are_read_from_every_kind_of_change_set(here, kind):
    done(f"suggest model first --out changes.{kind} --add-from 0.3")
    if kind == "csv":
        rows = list(read_changes("changes.csv").values())
    elif kind == "jsonl":
        lines = Path("changes.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
    else:
        rows = pq.read_table("changes.parquet").to_pylist()
    rows = [{**row, "decision": "accept" if number < 4 else ""} for number, row in enumerate(rows)]
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), "decided.parquet")
    elif kind == "jsonl":
        for row in rows[4:]:
            del row["decision"]
        write_table(here / "decided.jsonl", rows)
    else:
        write_table(here / "decided.csv", rows)

    printed = done(f"fit first --update model --corrections decided.{kind} --out more")

    assert "and 4 decisions" in printed


def test_decisions_about_new_photos_and_new_tags_are_taken(here):
    write_decisions("d.csv", (" photo 170 ", "kitten", "add", "accept"))

    done("fit later --update model --corrections d.csv --out more")

    model = load_model(here / "more")
    tag = model.catalogue.tag_names.index("kitten")
    seen = seen_from(model.catalogue, open_collection(here / "later"))
    decided = model.fitted.decided_of(seen.rows(slice(0, seen.n_images)))
    assert decided.toarray()[170 - FIRST, tag] == 1
    assert decided.nnz == 1


def test_the_same_decision_twice_is_one(here):
    rows = [("photo 3", "cat", action, "accept") for action in ("add", "keep")]
    write_decisions("d.csv", *rows)

    assert "and 1 decisions" in done("fit first --update model --corrections d.csv --out more")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("photo 3", "cat", "add", "yes")], "d.csv, line 2: decision is 'yes'"),
        ([("photo 3", "cat", "add", "Accept")], "must be one of: accept, reject"),
        ([("photo 3", "cat", "put", "accept")], "d.csv, line 2: action is 'put'"),
        ([("photo 3", "", "add", "accept")], "d.csv, line 2: tag is empty"),
        ([("", "cat", "add", "accept")], "d.csv, line 2: image_id is empty"),
        ([("photo 3", "cat", "add", "")], "d.csv decides nothing"),
        ([("photo 4", "cat", "add", ""), ("photo 999", "cat", "add", "reject")],
         "d.csv, line 3: image 'photo 999' is not in the collection"),
        ([("photo 200", "cat", "add", "reject")], "image 'photo 200' is not in the collection"),
        ([("photo 3", "dog", "add", "reject")],
         "d.csv, line 2: neither the model nor the collection has the tag 'dog'"),
        ([("photo 3", "cat", "add", "accept"), ("photo 3", "cat", "doubt", "accept")],
         "d.csv, line 3: the tag 'cat' of image 'photo 3' is decided otherwise in d.csv, line 2"),
    ],
)  # fmt: skip
def test_a_bad_decision_is_named_with_its_row_and_nothing_is_written(here, rows, said):
    write_decisions("d.csv", *rows)
    before = names_in(here)

    assert said in refused("fit first --update model --corrections d.csv --out more")
    assert names_in(here) == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("fit later --update model --out m --method sugar-plus", "--method does not go with"),
        ("fit later --update model --out m --set anchors=3", "--set does not go with --update"),
        ("fit later --update model --out m --seed 0", "--seed does not go with --update"),
        ("fit later --corrections first.csv --out m", "--corrections needs --update"),
        ("fit later --update model --corrections none.csv --out m", "none.csv does not exist"),
        ("fit later --update model --corrections first.csv --out m", "no column 'tag'"),
        ("fit later --update model --corrections model --out m", "model is a folder"),
        ("fit later --update other --out m", "one of tag-prior, which cannot be updated"),
        ("fit flat --update model --out m", "these images have 2 feature numbers each"),
        ("fit later --update first --out m", "first has format 'sugartag-collection/1'"),
        ("fit later --update nothing --out m", "nothing is not a sugartag-model/2 folder"),
        ("fit model --update model --out m", "model has format 'sugartag-model/2'"),
        ("fit later --update model --out first --overwrite", "--overwrite replaces models only"),
        ("fit later --update model", "Missing option '--out'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_written(here, line, said):
    before = names_in(here)

    assert said in refused(line)
    assert names_in(here) == before


def test_an_updated_model_has_thresholds_of_all_tags_by_its_own_account(more):
    model = load_model(more)

    tag = model.catalogue.tag_names.index("kitten")
    assert model.fitted.uses[tag] >= FEWEST_USES
    expected = model.fitted.thresholds()
    for name in ("add", "doubt"):
        np.testing.assert_array_equal(getattr(model.thresholds, name), getattr(expected, name))
        assert len(getattr(expected, name)) == len(model.catalogue.tag_names)


def test_an_accepted_addition_is_suggested_until_the_image_has_the_tag(here):
    rows, looks = photo_rows()
    place = next(n for n, row in enumerate(rows[:FIRST]) if "sea" in row["tags"])
    image = rows[place]["image_id"]
    write_decisions("d.csv", (image, "sofa", "add", "accept"))
    done("fit first --update model --corrections d.csv --out more")

    done("suggest more first --out before.csv --top 0 --add-from 1")
    rows[place]["tags"].append("sofa")
    write_collection(here, "tagged", rows[:FIRST], looks[:FIRST])
    done("suggest more tagged --out after.csv --top 0 --add-from 1")

    (before, after) = (read_changes(f"{name}.csv")[image, "sofa"] for name in ("before", "after"))
    assert (before["action"], before["reason"]) == ("add", "accepted by a person")
    assert (after["action"], after["reason"]) == ("keep", "accepted by a person")
