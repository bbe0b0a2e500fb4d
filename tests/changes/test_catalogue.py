"""The catalogue: what was loaded, proposed and decided is found again, whoever writes at once."""

import multiprocessing
import os
import signal
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from catalogues import CHANGES, RUN, change, copied_catalogue, made_catalogue
from sugartag.changes.catalogue import Catalogue, Pending, catalogue_of
from sugartag.changes.selecting import Selection
from sugartag.changes.store import default_path
from sugartag.collection import open_collection
from sugartag.errors import CollectionError, ConflictError, SettingsError, StorageError
from tables import ROWS, imported


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("catalogue")
    made_catalogue(folder).close()
    return folder


@pytest.fixture
def catalogue(template: Path, tmp_path: Path):
    with copied_catalogue(template, tmp_path) as made:
        yield made


def shown(page) -> list[tuple[str, str, str]]:
    return [(one.image_id, one.tag, one.action) for one in page.proposals]


def test_a_catalogue_lies_beside_its_collection_and_is_made_from_it(tmp_path):
    imported(tmp_path, ROWS)
    folder = tmp_path / "out"

    with catalogue_of(folder) as made:
        assert made.path == default_path(folder) == tmp_path / "out.catalogue.sqlite"
        assert made.sizes()["images"] == len(ROWS)
    with catalogue_of(made.path) as again:
        assert again.image("1").owner == "anna"


def make_and_end(folder: Path) -> None:
    with catalogue_of(folder) as made:
        assert made.sizes()["images"] == len(ROWS)


def make_and_be_killed(folder: Path) -> None:
    Catalogue.set_fact = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    make_and_end(folder)


def test_whoever_makes_a_catalogue_at_once_gets_the_same_one(tmp_path):
    imported(tmp_path, ROWS)
    forks = multiprocessing.get_context("fork")
    makers = [forks.Process(target=make_and_end, args=(tmp_path / "out",)) for _ in range(4)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()

    assert [maker.exitcode for maker in makers] == [0] * 4
    assert list(tmp_path.glob(".*")) == []


def test_what_is_left_of_a_catalogue_that_was_being_made_is_swept(tmp_path):
    imported(tmp_path, ROWS)
    killed = multiprocessing.get_context("fork").Process(
        target=make_and_be_killed, args=(tmp_path / "out",)
    )
    killed.start()
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    assert not default_path(tmp_path / "out").exists()
    assert list(tmp_path.glob(".*")) != []

    make_and_end(tmp_path / "out")

    assert list(tmp_path.glob(".*")) == []


def test_tags_are_given_by_the_owner_or_imported_where_nobody_knows_one(catalogue):
    anna, nobody = catalogue.image("1"), catalogue.image("2")

    assert [(tag.tag, tag.source, tag.by) for tag in anna.tags] == [
        ("beach", "person", "anna"),
        ("sun", "person", "anna"),
    ]
    assert {(tag.source, tag.by) for tag in nobody.tags} == {("import", None)}
    assert (anna.path, nobody.title) == ("a/1.jpg", "My dog")


def test_loading_a_collection_again_changes_nothing(catalogue, tmp_path):
    before = catalogue.all("SELECT * FROM image_tags")

    assert catalogue.load_collection(open_collection(tmp_path / "out")) == 0
    assert catalogue.all("SELECT * FROM image_tags") == before


def test_additions_come_by_falling_and_doubts_by_rising_probability(catalogue):
    page = catalogue.proposals()

    assert shown(page) == [
        ("3", "sun", "add"),
        ("1", "dog", "add"),
        ("3", "beach", "add"),
        ("4", "Sun", "doubt"),
        ("2", "sun", "doubt"),
    ]
    assert page.cursor is None


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_pages_one_after_the_other_show_every_proposal_once(catalogue, limit):
    everything = Selection(actions=("add", "keep", "doubt"))
    whole = shown(catalogue.proposals(everything))

    found, page = [], catalogue.proposals(everything, limit=limit)
    found += shown(page)
    while page.cursor is not None:
        page = catalogue.proposals(everything, limit=limit, cursor=page.cursor)
        found += shown(page)

    assert found == whole
    assert len(found) == len(CHANGES)


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        (Selection(("add",), tag="sun"), ["3"]),
        (Selection(tag="sun"), ["3", "2"]),
        (Selection(("keep",), image="1"), ["1", "1"]),
        (Selection(owner="anna"), ["1", "4"]),
        (Selection(owner="anna", tag="Sun"), ["4"]),
        (Selection(group="divers"), ["3", "3"]),
        (Selection(untagged=True), ["3", "3"]),
        (Selection(("add",), least=0.8), ["3", "1"]),
        (Selection(("add",), least=0.8, most=0.85), ["1"]),
        (Selection(run=RUN, tag="nothing of this name"), []),
    ],
)
def test_a_selection_finds_counts_and_groups_the_same_proposals(catalogue, selection, found):
    page = catalogue.proposals(selection)

    assert [one.image_id for one in page.proposals] == found
    assert catalogue.count(selection) == len(found)
    assert sum(one.n for one in catalogue.facets("tag", selection)) == len(found)
    assert sum(catalogue.histogram(selection)) == len(found)


def test_facets_count_the_proposals_and_those_decided(catalogue):
    catalogue.decide("3", "sun", "accept", reviewer="ben")
    catalogue.decide("2", "sun", "skip", reviewer="ben")

    tags = {one.name: (one.n, one.n_decided) for one in catalogue.facets("tag")}
    owners = {one.name: (one.n, one.n_decided) for one in catalogue.facets("owner")}
    groups = {one.name: (one.n, one.n_decided) for one in catalogue.facets("group")}

    assert tags == {"sun": (2, 1), "dog": (1, 0), "beach": (1, 0), "Sun": (1, 0)}
    assert owners == {"anna": (2, 0), "ben": (2, 1)}
    assert groups == {"divers": (2, 1)}


def test_counts_above_a_threshold_leave_out_what_is_decided(catalogue):
    catalogue.decide("3", "sun", "accept", reviewer="ben")

    assert catalogue.counts_above(0.8) == {"add": 2, "add_open": 1, "doubt": 2, "doubt_open": 2}
    assert catalogue.counts_above(0.8, tag="dog")["add"] == 1


def test_states_tell_what_has_become_of_a_proposal(catalogue):
    catalogue.decide("3", "sun", "accept", reviewer="ben")
    catalogue.decide("4", "Sun", "reject", reviewer="ben")
    catalogue.decide("1", "dog", "skip", reviewer="ben")

    def of(state):
        selection = Selection(state=state)
        found = catalogue.proposals(selection)
        assert catalogue.count(selection) == len(found.proposals)
        return [(one.image_id, one.tag) for one in found.proposals]

    assert of("accepted") == [("3", "sun")]
    assert of("rejected") == [("4", "Sun")]
    assert of("skipped") == [("1", "dog")]
    assert of("pending") == of("decided") == [("3", "sun"), ("4", "Sun")]
    assert of("undecided") == [("3", "beach"), ("2", "sun")]
    assert of("open") == [("1", "dog"), ("3", "beach"), ("2", "sun")]
    assert list(catalogue.pending()) == [
        Pending("3", "sun", "add", "ben"),
        Pending("4", "Sun", "remove", "ben"),
    ]


def test_a_run_that_is_loaded_again_is_replaced_and_the_latest_run_is_shown(catalogue):
    catalogue.load_changes([change("1", "dog", "add", 0.6)])
    assert shown(catalogue.proposals()) == [("1", "dog", "add")]

    catalogue.load_changes([replace(change("2", "beach", "add", 0.9), run_id="later")])
    assert shown(catalogue.proposals()) == [("2", "beach", "add")]
    assert shown(catalogue.proposals(Selection(run=RUN))) == [("1", "dog", "add")]
    assert [run.run_id for run in catalogue.runs()] == ["later", RUN]


def test_the_changes_of_several_runs_may_be_mixed(catalogue):
    one, two = change("1", "dog", "add", 0.6), change("2", "beach", "add", 0.7)
    mixed = [one, replace(one, run_id="other"), two, replace(two, run_id="other")]

    loaded = catalogue.load_changes(mixed)

    assert [(each.run_id, each.counts["add"]) for each in loaded] == [(RUN, 2), ("other", 2)]
    assert shown(catalogue.proposals(Selection(run=RUN))) == [
        ("2", "beach", "add"),
        ("1", "dog", "add"),
    ]


def test_proposals_for_an_image_that_is_not_there_are_refused(catalogue):
    with pytest.raises(CollectionError, match="'77' that the catalogue does not have"):
        catalogue.load_changes([replace(change("77", "dog", "add", 0.6), run_id="later")])

    assert catalogue.latest_run() == RUN


def test_the_last_decision_stands_and_the_log_keeps_all(catalogue):
    catalogue.decide("3", "sun", "accept", reviewer="anna")
    catalogue.decide("3", "sun", "reject", reviewer="ben")

    assert catalogue.standing("3", "sun")[0] == "reject"
    assert [(one.verdict, one.reviewer) for one in catalogue.decision_log("3", "sun")] == [
        ("accept", "anna"),
        ("reject", "ben"),
    ]


def test_undoing_goes_back_one_decision_after_the_other(catalogue):
    catalogue.decide("3", "sun", "skip", reviewer="anna")
    catalogue.decide("3", "sun", "accept", reviewer="anna")

    catalogue.undo_decision(reviewer="anna")
    assert catalogue.standing("3", "sun")[0] == "skip"
    catalogue.undo_decision(reviewer="anna")
    assert catalogue.standing("3", "sun")[0] is None
    with pytest.raises(CollectionError, match="anna has no decision to undo"):
        catalogue.undo_decision(reviewer="anna")
    assert len(catalogue.decision_log()) == 4


def test_decisions_made_together_are_undone_together(catalogue):
    catalogue.decide_all([("3", "sun", "accept"), ("1", "dog", "accept")], reviewer="anna")

    undone = catalogue.undo_decision(reviewer="anna")

    assert {one.tag for one in undone} == {"sun", "dog"}
    assert not list(catalogue.pending())


def test_what_somebody_else_decided_since_is_not_undone(catalogue):
    first = catalogue.decide("3", "sun", "accept", reviewer="anna")
    catalogue.decide("3", "sun", "reject", reviewer="ben")

    with pytest.raises(ConflictError, match="decided again by ben"):
        catalogue.undo_decision(first.decision, reviewer="anna")
    assert catalogue.standing("3", "sun")[0] == "reject"


def test_a_decision_about_something_that_changed_meanwhile_is_refused(catalogue):
    seen = catalogue.proposals(Selection(image="3", tag="sun")).proposals[0].version
    catalogue.decide("3", "sun", "accept", reviewer="anna", expected=seen)

    with pytest.raises(ConflictError, match="decided by anna meanwhile"):
        catalogue.decide("3", "sun", "reject", reviewer="ben", expected=seen)


@pytest.mark.parametrize(
    "sql", ["UPDATE decisions SET verdict = 'reject'", "DELETE FROM decisions"]
)
def test_the_log_is_only_appended_to(catalogue, sql):
    catalogue.decide("3", "sun", "accept", reviewer="anna")

    with pytest.raises(sqlite3.IntegrityError, match="only appended"):
        catalogue.connection.execute(sql)


def test_what_stands_follows_from_the_log(catalogue):
    for verdict in ("accept", "reject", "skip"):
        catalogue.decide("3", "sun", verdict, reviewer="anna")
        catalogue.undo_decision(reviewer="anna")
        catalogue.decide("1", "dog", verdict, reviewer="anna")

    last = {(one.image_id, one.tag): one for one in catalogue.decision_log()}
    verdict_of = {one.decision: one.verdict for one in catalogue.decision_log()}
    for (image_id, tag), one in last.items():
        follows = None if one.stands is None else verdict_of[one.stands]
        assert catalogue.standing(image_id, tag) == (follows, one.decision)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (("77", "sun", "accept"), CollectionError),
        (("3", "sun", "maybe"), SettingsError),
        (("3", "x" * 201, "accept"), SettingsError),
        (("3", "bell\a", "accept"), SettingsError),
    ],
)
def test_an_impossible_decision_leaves_nothing(catalogue, given, error):
    with pytest.raises(error):
        catalogue.decide(*given, reviewer="anna")

    assert catalogue.decision_log() == []
    assert catalogue.sizes()["tags"] == 4


def test_the_next_image_is_the_next_one_with_something_open(catalogue):
    first = catalogue.next_image()
    assert first is not None
    assert first.image_id == "1"
    catalogue.decide("2", "sun", "accept", reviewer="anna")

    second = catalogue.next_image(first.image)
    assert second is not None
    assert second.image_id == "3"
    back = catalogue.next_image(second.image, backwards=True)
    assert back is not None
    assert back.image_id == "1"


def decide_many(path: Path, name: str) -> None:
    with Catalogue.open(path) as catalogue:
        for turn in range(20):
            catalogue.decide("3", "sun", ("accept", "reject")[turn % 2], reviewer=name)
            catalogue.decide("1", f"tag of {name} {turn}", "accept", reviewer=name)


def test_four_processes_deciding_at_once_lose_nothing(catalogue):
    names = ["anna", "ben", "carla", "dan"]
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=decide_many, args=(catalogue.path, n)) for n in names]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    log = catalogue.decision_log()
    assert [worker.exitcode for worker in workers] == [0] * 4
    for name in names:
        own = [one for one in log if one.reviewer == name]
        assert [one.verdict for one in own if one.tag == "sun"] == ["accept", "reject"] * 10
        assert [one.tag for one in own if one.tag != "sun"] == [
            f"tag of {name} {turn}" for turn in range(20)
        ]
    last = [one for one in log if one.tag == "sun"][-1]
    assert catalogue.standing("3", "sun") == (last.verdict, last.decision)


def test_a_file_that_is_no_catalogue_is_refused(tmp_path):
    (tmp_path / "text").write_text("not a database, but long enough to be looked at" * 99)
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE a (b)")
    other.close()
    with made_catalogue(tmp_path) as made:
        made.connection.execute("PRAGMA user_version = 99")

    for name, words in [
        ("text", "not a catalogue"),
        ("other", "not a catalogue"),
        ("catalogue.sqlite", "of version 99"),
        ("missing", "does not exist"),
    ]:
        with pytest.raises(StorageError, match=words):
            Catalogue.open(tmp_path / name)
    assert not (tmp_path / "missing").exists()
