"""``sugartag evaluate``: its files, its numbers, and one line for whatever goes wrong."""

import csv
import errno
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy import sparse
from sklearn.metrics import average_precision_score

from sugartag.cli.main import main
from sugartag.collection.build import collection_from_arrays
from sugartag.collection.store import open_collection, save_collection
from sugartag.methods.registry import METHODS

N_IMAGES, N_TOPICS = 120, 6
METRICS = {"f_top10", "f_top5", "map", "miap", "ndcg20"}
COSTS = {"fit_seconds", "score_seconds", "peak_rss_mb"}
EXTRAS = {"map_at", "map_paper_variant"}


def saved_collection(folder: Path, *, truth: bool = True, features: bool = True) -> Path:
    """Write images of a few topics: their features, their true tag, and tags given with errors."""
    rng = np.random.default_rng(2)
    topic = rng.integers(0, N_TOPICS, N_IMAGES)
    true = np.eye(N_TOPICS, dtype=bool)[topic]
    given = np.where(rng.random(true.shape) < 0.2, ~true, true)
    looks = rng.standard_normal((N_TOPICS, 8))[topic] + 0.3 * rng.standard_normal((N_IMAGES, 8))
    names = ["sea, salt", "ünïcode", *(f"topic-{n}" for n in range(2, N_TOPICS))]
    collection = collection_from_arrays(
        sparse.csr_array(given.astype(np.int8)),
        rng.integers(0, 40, N_IMAGES),
        features=looks if features else None,
        truth=sparse.csr_array(true.astype(np.int8)) if truth else None,
        tag_names=names,
        concept_names=names if truth else None,
    )
    save_collection(collection, folder)
    return folder


@pytest.fixture
def photos(tmp_path) -> Path:
    return saved_collection(tmp_path / "photos")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["evaluate", *map(str, arguments)])


def done(*arguments: object) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: object) -> str:
    """Return the one line that says what is wrong."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def without_costs(document: dict) -> dict:
    return {
        name: {key: value for key, value in measured.items() if key not in COSTS}
        for name, measured in document["methods"].items()
    }


def recomputed(folder: Path, method: str) -> tuple[float, float]:
    """Return MAP and MiAP from the saved files alone."""
    scores = np.load(folder / f"{method}.npy")
    concepts = json.loads((folder / "concepts.json").read_text(encoding="utf-8"))
    relevant = np.zeros(scores.shape, dtype=bool)
    with (folder / "truth.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            image = int(row["image_id"].removeprefix("image-"))
            relevant[image, concepts.index(row["concept"])] = True

    def mean(rows, truth) -> float:
        kept = [(t[~np.isnan(s)], s[~np.isnan(s)]) for s, t in zip(rows, truth, strict=True)]
        return float(np.mean([average_precision_score(t, s) for t, s in kept if t.any()]))

    return mean(scores.T, relevant.T), mean(scores, relevant)


@pytest.mark.parametrize("options", [[], ["--hide", 0.3]], ids=["truth", "hide"])
def test_anyone_can_recompute_the_metrics_from_the_saved_files(photos, tmp_path, options):
    out, scores = tmp_path / "results.json", tmp_path / "scores"

    done(photos, "--methods", "original,tag-prior,tag-vote", *options, "--out", out,
         "--save-scores", scores)  # fmt: skip

    for name, measured in read(out)["methods"].items():
        map_, miap = recomputed(scores, name)
        assert measured["map"] == pytest.approx(map_, abs=1e-9)
        assert measured["miap"] == pytest.approx(miap, abs=1e-9)
    saved = np.load(scores / "tag-vote.npy")
    assert saved.dtype == np.float32
    assert saved.shape == (N_IMAGES, N_TOPICS)


def test_the_results_have_exactly_the_contracts_names(photos, tmp_path):
    done(photos, "--methods", "original", "--seed", 7, "--out", tmp_path / "results.json")

    document = read(tmp_path / "results.json")
    assert set(document) == {"format", "collection", "task", "seed", "machine", "methods"}
    assert document["format"] == "sugartag-results/1"
    assert document["seed"] == 7
    assert document["collection"] == {
        "images": N_IMAGES, "tags": N_TOPICS, "owners": 40, "groups": 0, "concepts": N_TOPICS,
    }  # fmt: skip
    measured = set(document["methods"]["original"])
    assert measured == METRICS | COSTS | EXTRAS | {"settings", "changes_top10"}


def test_hidden_tags_are_described_and_the_original_finds_none(photos, tmp_path):
    out = tmp_path / "results.json"

    done(photos, "--methods", "original,tag-vote", "--hide", 0.3, "--out", out)

    document = read(out)
    assert document["task"]["predict"] == "hidden tags"
    assert document["task"]["share"] == 0.3
    assert document["methods"]["original"]["f_top10"] == 0
    assert document["methods"]["tag-vote"]["map"] > document["methods"]["original"]["map"]


def test_extra_measures_are_labelled(photos, tmp_path):
    out = tmp_path / "results.json"

    more = ["--author-aware", "--bootstrap", 20]
    shown = done(photos, "--methods", "tag-vote", "--hide", 0.4, *more, "--out", out)

    measured = read(out)["methods"]["tag-vote"]
    assert set(measured["author_aware"]) >= METRICS
    low, high = measured["intervals"]["map"]
    assert low < measured["map"] < high
    assert "own owner" in shown.stdout
    assert "95% intervals" in shown.stdout


def test_the_same_seed_gives_the_same_results_whichever_methods_are_compared(photos, tmp_path):
    first, again, alone = (tmp_path / name for name in ("a.json", "b.json", "c.json"))
    both = ["--methods", "tag-prior,tag-vote", "--hide", 0.4, "--seed", 3]

    done(photos, *both, "--out", first)
    done(photos, *both, "--out", again, "--block", 7)
    done(photos, "--methods", "tag-vote", "--hide", 0.4, "--seed", 3, "--out", alone)

    expected = without_costs(read(first))
    for name, measured in without_costs(read(again)).items():
        for metric in METRICS:
            assert measured[metric] == pytest.approx(expected[name][metric], abs=1e-6)
    assert without_costs(read(alone))["tag-vote"] == expected["tag-vote"]


def test_settings_reach_the_method_they_name(photos, tmp_path):
    out = tmp_path / "results.json"

    done(photos, "--methods", "tag-prior,tag-vote", "--set", "tag-prior.per_owner=yes",
         "--set", "tag-vote.neighbours=3", "--out", out)  # fmt: skip

    methods = read(out)["methods"]
    assert methods["tag-prior"]["settings"]["per_owner"] is True
    assert methods["tag-vote"]["settings"]["neighbours"] == 3


def test_one_method_needs_no_name_before_its_setting(photos, tmp_path):
    out = tmp_path / "results.json"

    done(photos, "--methods", "tag-vote", "--set", "neighbours=3", "--out", out)

    assert read(out)["methods"]["tag-vote"]["settings"]["neighbours"] == 3


def test_the_terminal_shows_a_table_with_the_best_marked(photos):
    shown = done(photos, "--methods", "original,tag-prior").stdout

    header, *lines = shown.splitlines()
    assert header.split()[:6] == ["method", "f_top10", "f_top5", "map", "miap", "ndcg20"]
    assert [line.split()[0] for line in lines] == ["original", "tag-prior"]
    assert lines[0].count("*") + lines[1].count("*") >= 5


def test_a_table_too_large_for_memory_lies_in_a_file_that_is_cleared(photos, tmp_path, monkeypatch):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    done(photos, "--methods", "tag-vote", "--out", tmp_path / "memory.json")

    monkeypatch.setattr("sugartag.cli.scores.BYTES_IN_MEMORY", 0)
    done(photos, "--methods", "tag-prior,tag-vote", "--out", tmp_path / "file.json")

    memory, file = (without_costs(read(tmp_path / f"{n}.json")) for n in ("memory", "file"))
    assert file["tag-vote"] == memory["tag-vote"]
    assert names_in(place) == set()


def test_a_full_disk_is_one_line_and_leaves_nothing(photos, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)

    line = refused(photos, "--methods", "original", "--save-scores", tmp_path / "scores",
                   "--out", tmp_path / "results.json")  # fmt: skip

    assert "No space left on device" in line
    assert names_in(tmp_path) == {"photos"}


def test_without_truth_the_line_says_to_hide(tmp_path):
    photos = saved_collection(tmp_path / "photos", truth=False)

    assert "--hide 0.3" in refused(photos, "--methods", "original")
    done(photos, "--methods", "original", "--hide", 0.3)


def test_a_method_that_fails_is_named_and_nothing_is_written(tmp_path):
    photos = saved_collection(tmp_path / "photos", features=False)

    result = run(photos, "--methods", "original,tag-vote", "--out", tmp_path / "results.json",
                 "--save-scores", tmp_path / "scores")  # fmt: skip

    assert result.exit_code == 2
    assert "tag-vote: " in result.stderr.splitlines()[-1]
    assert "features" in result.stderr.splitlines()[-1]
    assert names_in(tmp_path) == {"photos"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--methods", "orignal,tag-prior,magic"], "'orignal', 'magic'"),
        (["--methods", " , "], "names none"),
        (["--methods", "tag-prior", "--hide", "1.5"], "1.5"),
        (["--methods", "tag-prior", "--hide", "nan"], "nan"),
        (["--methods", "tag-prior", "--set", "per_owner"], "METHOD.key=value"),
        (["--methods", "tag-prior", "--set", "=1"], "METHOD.key=value"),
        (["--methods", "tag-prior", "--set", "magic=1"], "no setting 'magic'"),
        (["--methods", "tag-prior", "--set", "tag-vote.neighbours=1"], "'tag-vote'"),
        (["--methods", "tag-prior,original", "--set", "per_owner=1"], "which method"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(photos, options, expected):
    assert expected in refused(photos, *options)


def test_a_folder_that_is_no_collection_is_named(tmp_path):
    assert str(tmp_path / "nothing") in refused(tmp_path / "nothing", "--methods", "original")


@pytest.mark.parametrize("option", ["--out", "--save-scores"])
def test_what_stands_there_is_replaced_only_when_asked(photos, tmp_path, option):
    target = tmp_path / "target"
    done(photos, "--methods", "original", option, target)
    before = target.stat().st_mtime_ns

    assert "--overwrite" in refused(photos, "--methods", "original", option, target)
    assert target.stat().st_mtime_ns == before
    done(photos, "--methods", "original", option, target, "--overwrite")

    assert target.stat().st_mtime_ns > before


def test_all_means_every_method(photos, tmp_path, monkeypatch):
    some = {name: METHODS[name] for name in ("original", "tag-prior")}
    monkeypatch.setattr("sugartag.cli.choosing.METHODS", some)

    done(photos, "--methods", "all", "--out", tmp_path / "results.json")

    assert list(read(tmp_path / "results.json")["methods"]) == ["original", "tag-prior"]


def test_help_has_an_example():
    assert "sugartag evaluate photos" in done("--help").stdout


def test_scores_are_replaced_but_never_with_somebodys_own_files(photos, tmp_path):
    folder = tmp_path / "scores"
    arguments = ("--methods", "original", "--hide", 0.3, "--save-scores", folder)
    done(photos, *arguments)
    done(photos, *arguments, "--overwrite")
    np.save(folder / "features.npy", np.zeros(3))

    line = refused(photos, *arguments, "--overwrite")

    assert "sugartag did not write features.npy in it" in line
    assert (folder / "features.npy").exists()


def test_of_all_methods_those_that_cannot_work_with_a_collection_are_left_out(
    photos, tmp_path, monkeypatch
):
    nobody = tmp_path / "nobody"
    opened = open_collection(photos)
    shards = [replace(s, owner=np.full_like(s.owner, opened.nobody)) for s in opened.shards]
    save_collection(replace(opened, shards=tuple(shards)), nobody)
    some = ["tag-prior", "ttc1", "ttc2", "original"]
    monkeypatch.setattr("sugartag.cli.choosing._every_method", lambda: some)

    result = done(nobody, "--methods", "all", "--hide", 0.3, "--save-scores", tmp_path / "scores",
                  "--out", tmp_path / "r.json")  # fmt: skip

    assert "ttc1: 2 of 4, left out: ttc1 needs owners and this collection has none" in result.stderr
    written = json.loads((tmp_path / "r.json").read_text())
    assert set(written["methods"]) == {"tag-prior", "original"}
    assert {path.stem for path in (tmp_path / "scores").glob("*.npy")} == {"tag-prior", "original"}
