"""``sugartag reproduce``, end to end, on a small collection and with small experiments."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from planted import without_features
from reproduce.tiny import TABLE, write_experiments
from sugartag.cli.main import COMMANDS, main
from sugartag.collection.store import save_collection
from sugartag.collection.subset import tag_counts, without_truth
from sugartag.collection.synthetic import World
from sugartag.reproduce.data import named_collection, own_data
from sugartag.reproduce.experiments import read_toml, shipped_experiments
from sugartag.reproduce.photographs import import_photographs, import_some_photographs

PROGRAM = "from sugartag.cli.main import main; main()"
SECONDS_AT_MOST = 120


@pytest.fixture(scope="module")
def photos(collection, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("reproduce") / "photos"
    save_collection(collection, folder)
    return folder


@pytest.fixture(scope="module")
def experiments(tmp_path_factory) -> Path:
    return write_experiments(tmp_path_factory.mktemp("experiments"))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["reproduce", *map(str, arguments)])


def done(photos: Path, experiments: Path, out: Path, *more: object) -> Result:
    asked = ("--collection", photos, "--experiments", experiments, "--out", out, *more)
    result = run(*asked, "--processes", 2)
    assert result.exit_code == 0, result.output
    return result


def read(file: Path) -> dict:
    return json.loads(file.read_text(encoding="utf-8"))


def files(folder: Path) -> dict[str, bytes]:
    found = sorted(folder.glob("[!.]*.*"))
    return {path.name: path.read_bytes() for path in found if path.is_file()}


@pytest.fixture(scope="module")
def finished(photos, experiments, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("out") / "whole"
    done(photos, experiments, out)
    return out


def test_the_command_is_there():
    assert COMMANDS["reproduce"].module == "reproduce"


def test_it_ends_with_a_page_json_and_a_table_for_each_experiment(finished):
    found = read(finished / "results.json")

    names = ["table-1", "concepts", "retrieval", "clusters", "share"]
    assert list(found["experiments"]) == names
    assert {path.stem for path in (finished / "tables").iterdir()} == set(names)
    assert {path.name for path in finished.iterdir()} == {
        "cache",
        "report.html",
        "results.json",
        "tables",
    }


def test_honest_default_and_oracle_numbers_stand_side_by_side(finished):
    rows = read(finished / "results.json")["experiments"]["table-1"]["found"]["methods"]

    for name, row in rows.items():
        assert row["oracle"]["f"] >= row["tuned"]["f"], name
        assert row["oracle"]["by_seed"][0] >= row["default"]["by_seed"][0], name
        low, high = row["tuned"]["interval"]
        assert low < row["tuned"]["f"] < high
    assert rows["original"]["published"] == 0.379


def test_a_method_that_knows_owners_is_measured_with_shuffled_ones_too(finished):
    rows = read(finished / "results.json")["experiments"]["table-1"]["found"]["methods"]

    assert {name for name, row in rows.items() if "gain_by_owners" in row} == {"tag-vote"}
    voted = rows["tag-vote"]
    assert voted["owners_shuffled"]["f"] != voted["tuned"]["f"]
    assert voted["gain_by_owners"]["f"] == pytest.approx(
        voted["tuned"]["f"] - voted["owners_shuffled"]["f"], abs=1e-6
    )


def test_tables_hold_the_numbers_of_the_json(finished):
    found = read(finished / "results.json")["experiments"]["clusters"]["found"]["sweeps"][0]
    with (finished / "tables" / "clusters.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    assert [float(row["f"]) for row in rows] == [point["f"] for point in found["points"]]
    assert [row["value"] for row in rows] == ["4", "6"]


class Elements(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src"):
                self.links.append(value)


def test_the_page_asks_nobody_for_anything(finished):
    page = (finished / "report.html").read_text(encoding="utf-8")
    elements = Elements(page)

    assert all(link.startswith(("data:", "#")) for link in elements.links)
    assert "https://" not in page
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert {link[1:] for link in elements.links if link.startswith("#")} <= set(elements.ids)


def test_the_page_says_what_is_published_and_where_numbers_come_from(finished):
    page = (finished / "report.html").read_text(encoding="utf-8")

    assert "published, other data" in page
    assert "oracle: best on the truth" in page
    assert "None of the paper&#x27;s queries (dog, sunset, zoo) is among the concepts" in page
    for value in ("0.379",):
        assert value in page


def test_every_number_of_the_page_has_an_axis_with_a_name(finished):
    page = (finished / "report.html").read_text(encoding="utf-8")

    charts = re.findall(r'<svg class="chart.*?</svg>(?=</figure>|</div></figure>|<svg class)', page)
    assert len(charts) >= 5
    assert page.count('class="axis-name"') >= len(charts)


def test_running_again_computes_nothing_and_writes_the_same(photos, experiments, finished):
    before = files(finished), files(finished / "tables"), files(finished / "cache")
    began = time.monotonic()

    result = done(photos, experiments, finished)

    assert time.monotonic() - began < 20
    assert (files(finished), files(finished / "tables"), files(finished / "cache")) == before
    assert "(was there)" in result.stderr


def test_a_damaged_result_is_computed_again(photos, experiments, finished):
    before = files(finished)
    victim = next((finished / "cache").glob("measure-linear-probe-*"))
    victim.write_text("{", encoding="utf-8")

    done(photos, experiments, finished, "--only", "table-1,concepts,retrieval,clusters,share")

    assert files(finished) == before
    assert read(victim)["found"]["f"] > 0


def test_killed_in_the_middle_it_continues_to_the_same_end(photos, experiments, finished, tmp_path):
    out = tmp_path / "killed"
    command = [sys.executable, "-c", PROGRAM, "reproduce", "--collection", photos]
    command += ["--experiments", experiments, "--out", out, "--processes", "1"]
    process = subprocess.Popen([*map(str, command)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + SECONDS_AT_MOST
    while len(list(out.glob("cache/*.json"))) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = files(out / "cache")
    assert not (out / "report.html").exists()

    done(photos, experiments, out)

    assert kept.items() <= files(out / "cache").items()
    assert files(out) == files(finished)
    assert files(out / "tables") == files(finished / "tables")


def test_some_experiments_alone_are_reported_alone(photos, experiments, finished, tmp_path):
    shutil.copytree(finished, tmp_path / "out")

    done(photos, experiments, tmp_path / "out", "--only", "share")

    found = read(tmp_path / "out" / "results.json")["experiments"]
    assert list(found) == ["share"]
    assert found["share"] == read(finished / "results.json")["experiments"]["share"]


def test_experiments_are_listed_with_a_line_each():
    result = run("--list")

    assert result.exit_code == 0
    assert re.search(r"^table-1 +Table 1: Average F", result.stdout)
    assert len(result.stdout.splitlines()) == 13


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "tabel-1"], "no experiment 'tabel-1'; choose from: table-1"),
        (["--collection", "a", "--drawings"], "--drawings and --collection exclude each other"),
        (["--collection", "nowhere"], "nowhere"),
        (["--processes", "0"], "--processes"),
        (["--experiments", "nowhere"], "cannot read nowhere"),
    ],
)
def test_bad_input_is_one_line_and_code_2(arguments, message, tmp_path):
    result = run(*arguments, "--out", tmp_path / "out")

    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert message in line
    assert not (tmp_path / "out").exists()


def test_a_bad_experiment_file_is_one_line_and_code_2(tmp_path, photos):
    folder = write_experiments(tmp_path / "bad", table=TABLE.replace("trials = 2", "trials = -2"))

    result = run("--experiments", folder, "--collection", photos, "--out", tmp_path / "out")

    assert result.exit_code == 2
    assert result.stderr == "sugartag: table.toml: trials must be at least 1\n"


def test_a_collection_without_features_is_refused(collection, tmp_path, experiments):
    save_collection(without_features(collection), tmp_path / "bare")

    result = run(
        "--collection", tmp_path / "bare", "--experiments", experiments, "--out", tmp_path / "out"
    )

    assert result.exit_code == 2
    assert "has no image features" in result.stderr


def test_a_collection_without_truth_is_measured_by_hidden_tags(collection, tmp_path):
    save_collection(without_truth(collection), tmp_path / "photos")

    data = own_data(tmp_path / "photos", seed=0)

    assert data.hidden == 0.3
    assert data.task().described()["predict"] == "hidden tags"


@pytest.fixture(scope="module")
def documerica(collection, tmp_path_factory) -> Path:
    """A folder in the layout of DOCUMERICA, made of the planted collection."""
    root = tmp_path_factory.mktemp("data")
    folder = root / "documerica"
    folder.mkdir()
    rows = collection.rows(slice(0, collection.n_images))
    tags = [
        "|".join(collection.tag_names[tag] for tag in rows.tags[[place]].indices)
        for place in range(len(rows))
    ]
    people = [
        "" if one == collection.nobody else collection.owner_names[one]
        for one in collection.owner.tolist()
    ]
    truth = collection.truth_of(slice(0, collection.n_images)).nonzero()
    ids = list(collection.ids)
    member, group = collection.groups.nonzero()
    tables = {
        "images": [("image_id", "owner", "tags"), *zip(ids, people, tags, strict=True)],
        "truth": [
            ("image_id", "concept"),
            *((ids[i], collection.concept_names[c]) for i, c in zip(*truth, strict=True)),
        ],
        "groups": [
            ("owner", "group"),
            *(
                (collection.owner_names[int(o)], collection.group_names[int(g)])
                for o, g in zip(member, group, strict=True)
            ),
        ],
    }
    for name, lines in tables.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(lines)
    np.save(folder / "features.npy", rows.features)
    return root


def test_some_photographers_are_taken_whole_and_none_has_a_quarter(documerica, tmp_path):
    found = import_some_photographs(
        documerica / "documerica", tmp_path / "some", n_images=200, min_uses=3
    )
    whole = import_photographs(documerica / "documerica", tmp_path / "whole")

    assert found.has_truth
    assert 100 < found.n_images <= 210
    counts = dict(zip(*np.unique(whole.owner, return_counts=True), strict=True))
    names = {whole.owner_names[owner]: n for owner, n in counts.items() if owner != whole.nobody}
    for owner, n in zip(*np.unique(found.owner, return_counts=True), strict=True):
        assert n == names[found.owner_names[owner]]
        assert n < 50
    assert tag_counts(found).min() >= 3
    place = {one: row for row, one in enumerate(whole.ids)}
    rows = [place[one] for one in found.ids]
    some, all_ = found.rows(slice(0, found.n_images)), whole.rows(slice(0, whole.n_images))
    np.testing.assert_array_equal(some.features, all_.features[rows])


def test_photographs_are_run_beside_the_main_collection_or_left_out_visibly(
    documerica, collection, tmp_path, monkeypatch
):
    monkeypatch.setattr("sugartag.reproduce.data.World", tiny_world)
    monkeypatch.delenv("SUGARTAG_DATA", raising=False)
    folder = write_experiments(
        tmp_path / "x", table=TABLE + '[photographs]\nbeyond = ["tag-prior"]\n'
    )

    asked = ("--experiments", folder, "--quick", "--processes", 1)
    without = run(*asked, "--out", tmp_path / "without", "--only", "table")
    alone = run(*asked, "--out", tmp_path / "out")
    both = run(*asked, "--out", tmp_path / "out", "--data", documerica)

    assert [one.exit_code for one in (without, alone, both)] == [0, 0, 0], both.output
    assert "left out" not in without.stderr
    assert "left out: table-photographs; they need the photographs" in alone.stderr
    found = read(tmp_path / "out" / "results.json")
    assert found["left_out"] == ""
    assert set(found["collections"]) == {"main", "photographs"}
    assert list(found["experiments"]) == ["table", "table-photographs"]
    methods = [list(one["found"]["methods"]) for one in found["experiments"].values()]
    assert methods == [
        ["original", "tag-vote", "linear-probe"],
        ["original", "tag-vote", "tag-prior"],
    ]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "the ranking does not carry over" in page


def tiny_world(**values):
    """Return a smaller world than is asked for."""
    small = {"n_images": 300, "n_owners": 40, "n_topics": 4, "n_concepts": 20, "n_tags": 100}
    return World(**(values | small))


def test_a_folder_without_photographs_is_refused(tmp_path):
    result = run("--data", tmp_path, "--out", tmp_path / "out")

    assert result.exit_code == 2
    assert result.stderr.endswith("has no images.csv; name the folder that holds documerica\n")


def test_tags_of_the_synthetic_collection_are_words_of_their_topics():
    document = read_toml(shipped_experiments() / "worlds" / "nus-wide-like.toml")
    for values in (document["world"], {**document["world"], **document["quick"]}):
        world = World(**values)

        found = named_collection(world, 0, document["names"])

        vocabulary = world.plan(0).vocabulary
        topics = [set(text.split()) for text in document["names"]["topics"]]
        for tag, name in enumerate(found.tag_names):
            if vocabulary.seen[tag]:
                assert name in topics[vocabulary.topic[tag]]
            else:
                assert name in document["names"]["other"].split()
        assert len(set(found.tag_names)) == world.n_tags
        assert set(found.concept_names) <= set(found.tag_names)
        assert [found.tag_names.index(name) for name in found.concept_names] == list(
            vocabulary.concept
        )
