"""Applying and undoing: nothing is lost, and what was there before is there again."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalogues import change, made_catalogue
from photographs import TAGS, decided, files_of, photographs, rows_of, tags_of
from sugartag.changes.applying import Wanted, apply_changes, resume
from sugartag.changes.journal import only_one
from sugartag.changes.undoing import Undoing
from sugartag.errors import CollectionError, ConflictError, SettingsError, StorageError
from sugartag.metadata.sidecar_writer import edited_sidecar
from sugartag.metadata.xmp import read_xmp

BOTH = Wanted(sidecars=True)


@pytest.fixture
def catalogue(tmp_path: Path):
    with decided(photographs(tmp_path, TAGS, nested=True)) as made:
        yield made


def keywords(tmp_path: Path, name: str) -> set[str]:
    found = read_xmp((tmp_path / "root/sub" / name).read_bytes())
    assert found.problems == ()
    return {keyword.name for keyword in found.keywords}


def test_what_was_decided_is_applied_to_the_catalogue_and_to_the_sidecars(catalogue, tmp_path):
    (outcome,) = apply_changes(catalogue, BOTH, by="anna")

    assert outcome.problems == []
    assert (outcome.added, outcome.removed, outcome.sidecars) == (6, 3, 6)
    assert tags_of(catalogue) == {
        "a": ["dog", "sun"],
        "b": ["sea", "sun"],
        "c": ["Sea & sun", "old"],
        "d": ["sun"],
        "e": ["sea", "sun"],
        "f": ["sun"],
    }
    for name, expected in tags_of(catalogue).items():
        sidecar = "b.xmp" if name == "b" else f"{name}.jpg.xmp"
        assert keywords(tmp_path, sidecar) == set(expected)
    assert list(catalogue.pending()) == []


def test_an_applied_tag_says_who_accepted_it_and_which_run_proposed_it(tmp_path):
    with made_catalogue(tmp_path) as catalogue:
        catalogue.decide("3", "sun", "accept", reviewer="ben")
        apply_changes(catalogue, Wanted())

        (tag,) = catalogue.image("3").tags
    assert (tag.tag, tag.source, tag.run_id, tag.by) == ("sun", "reviewer", "run-1", "ben")


def test_without_a_decision_nothing_is_applied(tmp_path):
    with made_catalogue(tmp_path) as catalogue:
        (outcome,) = apply_changes(catalogue, Wanted())

        assert outcome.run_id is None
        assert [run.kind for run in catalogue.runs()] == ["suggest"]


def test_additions_above_a_probability_are_applied_on_request_but_never_removals(tmp_path):
    with made_catalogue(tmp_path) as catalogue:
        catalogue.decide("1", "dog", "reject", reviewer="ben")
        (outcome,) = apply_changes(catalogue, Wanted(above=0.8))

        assert (outcome.added, outcome.removed) == (1, 0)
        (tag,) = catalogue.image("3").tags
        assert (tag.tag, tag.source, tag.run_id, tag.by) == ("sun", "model", "run-1", None)
        assert [tag.tag for tag in catalogue.image("4").tags] == ["Sun"]


def test_a_doubted_tag_stays_until_a_person_rejects_it(tmp_path):
    with made_catalogue(tmp_path) as catalogue:
        catalogue.load_changes(
            [replace(change("4", "Sun", "doubt", 0.0), run_id="sure of it", score=0.0)]
        )
        apply_changes(catalogue, Wanted(above=0.0))
        assert [tag.tag for tag in catalogue.image("4").tags] == ["Sun"]

        catalogue.decide("4", "Sun", "reject", reviewer="ben")
        apply_changes(catalogue, Wanted())
        assert catalogue.image("4").tags == ()


def test_applying_again_changes_nothing(catalogue, tmp_path):
    apply_changes(catalogue, BOTH)
    files, rows = files_of(tmp_path), rows_of(catalogue)
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "root/sub").iterdir()}

    (outcome,) = apply_changes(catalogue, BOTH)

    assert outcome.run_id is None
    assert (files_of(tmp_path), rows_of(catalogue)) == (files, rows)
    assert times == {path: path.stat().st_mtime_ns for path in (tmp_path / "root/sub").iterdir()}


def test_sidecars_can_follow_later(catalogue, tmp_path):
    files = files_of(tmp_path)
    apply_changes(catalogue, Wanted())
    assert files_of(tmp_path) == files

    (outcome,) = apply_changes(catalogue, BOTH)

    assert (outcome.added, outcome.sidecars) == (0, 6)
    assert keywords(tmp_path, "a.jpg.xmp") == {"dog", "sun"}


NAMES = st.text(st.characters(codec="utf-8", categories=("L", "N", "S")), min_size=1, max_size=6)
LISTS = st.lists(NAMES.filter(lambda name: "|" not in name), max_size=3, unique=True)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    tags=st.lists(LISTS, min_size=6, max_size=6),
    verdicts=st.lists(
        st.tuples(
            st.sampled_from("abcdef"), st.integers(0, 4), st.sampled_from(["accept", "reject"])
        ),
        min_size=1,
        max_size=12,
    ),
    nested=st.booleans(),
)
def test_apply_then_undo_leaves_every_byte_and_every_row(tmp_path_factory, tags, verdicts, nested):
    folder = tmp_path_factory.mktemp("photographs")
    with photographs(folder, tags, nested=nested) as catalogue:
        vocabulary = sorted({tag for some in tags for tag in some} | {"Zürich", "<&>"})
        chosen = [(one, vocabulary[k % len(vocabulary)], said) for one, k, said in verdicts]
        catalogue.decide_all(chosen, reviewer="ben")
        files, rows = files_of(folder), rows_of(catalogue)

        (outcome,) = apply_changes(catalogue, BOTH)
        assert outcome.problems == []
        assert list(catalogue.pending()) == []
        if outcome.run_id is not None:
            undone = Undoing(catalogue).undo(outcome.run_id)
            assert (undone.conflicts, undone.problems) == ([], [])

        assert files_of(folder) == files
        assert rows_of(catalogue) == rows


def test_runs_are_undone_in_any_order(catalogue, tmp_path):
    files, rows = files_of(tmp_path), rows_of(catalogue)
    (first,) = apply_changes(catalogue, BOTH)
    catalogue.decide("b", "bird", "accept", reviewer="ben")
    (second,) = apply_changes(catalogue, BOTH)

    Undoing(catalogue).undo(first.run_id)
    assert keywords(tmp_path, "b.xmp") == {"sea", "bird"}
    Undoing(catalogue).undo(second.run_id)

    assert rows_of(catalogue) == rows
    assert {k: v for k, v in files_of(tmp_path).items() if k != "sub/b.xmp"} == {
        k: v for k, v in files.items() if k != "sub/b.xmp"
    }
    assert keywords(tmp_path, "b.xmp") == {"sea"}


def test_what_somebody_else_changed_since_stays(catalogue, tmp_path):
    (outcome,) = apply_changes(catalogue, BOTH)
    sub = tmp_path / "root/sub"
    theirs = edited_sidecar((sub / "a.jpg.xmp").read_bytes(), add=["theirs"], remove=["sun"]).data
    (sub / "a.jpg.xmp").write_bytes(theirs)
    (sub / "f.jpg.xmp").write_bytes(
        edited_sidecar((sub / "f.jpg.xmp").read_bytes(), add=["theirs"]).data
    )
    (sub / "c.jpg.xmp").unlink()
    (sub / "e.jpg.xmp").unlink()
    catalogue.connection.execute(
        "UPDATE image_tags SET by = 'carla' WHERE by = 'ben' AND image = 2"
    )

    undone = Undoing(catalogue).undo(outcome.run_id)

    assert keywords(tmp_path, "a.jpg.xmp") == {"dog", "sea", "theirs"}
    assert keywords(tmp_path, "f.jpg.xmp") == {"theirs"}
    assert not (sub / "c.jpg.xmp").exists()
    assert not (sub / "e.jpg.xmp").exists()
    assert undone.conflicts == [
        "sub/f.jpg.xmp: somebody changed the file; our tags are taken out, everything else stays",
        "sub/c.jpg.xmp: somebody removed the file; it stays removed",
        "sub/a.jpg.xmp: somebody changed the file; our tags are taken out, everything else stays",
        "sub/a.jpg.xmp: 'sun' is gone already",
        "b: 'sun' was added again by carla; it stays",
    ]


def test_a_run_is_undone_once(catalogue):
    (outcome,) = apply_changes(catalogue, Wanted())
    Undoing(catalogue).undo(outcome.run_id)

    with pytest.raises(CollectionError, match="undone already"):
        Undoing(catalogue).undo(outcome.run_id)
    with pytest.raises(CollectionError, match="has no run 'nothing' of changes; they are apply-"):
        Undoing(catalogue).undo("nothing")


def test_after_undoing_an_accepted_addition_is_listed_again(catalogue):
    before = list(catalogue.pending())
    (outcome,) = apply_changes(catalogue, Wanted())
    assert list(catalogue.pending()) == []

    Undoing(catalogue).undo(outcome.run_id)

    assert list(catalogue.pending()) == before


def test_sidecars_that_cannot_be_edited_are_named_and_the_others_written(catalogue, tmp_path):
    sub = tmp_path / "root/sub"
    (sub / "a.jpg.xmp").write_bytes(b"broken")
    (sub / "d.jpg").unlink()
    catalogue.connection.execute("UPDATE images SET path = '../../x.jpg' WHERE image_id = 'e'")

    (outcome,) = apply_changes(catalogue, BOTH)

    assert [line.partition(":")[0] for line in outcome.problems] == ["a", "d", "e"]
    assert "leads out of" in outcome.problems[2]
    assert (sub / "a.jpg.xmp").read_bytes() == b"broken"
    assert keywords(tmp_path, "b.xmp") == {"sea", "sun"}


def test_a_sidecar_behind_a_link_out_of_the_folder_is_left_alone(catalogue, tmp_path):
    outside = tmp_path / "outside.xmp"
    sidecar = tmp_path / "root/sub/a.jpg.xmp"
    sidecar.rename(outside)
    sidecar.symlink_to(outside)
    before = outside.read_bytes()

    (outcome,) = apply_changes(catalogue, BOTH)

    assert outside.read_bytes() == before
    assert sidecar.is_symlink()
    assert "leads out of" in outcome.problems[0]


def test_a_sidecar_keeps_its_permissions(catalogue, tmp_path):
    sidecar = tmp_path / "root/sub/a.jpg.xmp"
    sidecar.chmod(0o640)

    apply_changes(catalogue, BOTH)

    assert sidecar.stat().st_mode & 0o777 == 0o640


def test_a_sidecar_that_two_images_would_share_is_not_used(catalogue, tmp_path):
    (tmp_path / "root/sub/b.nef").write_bytes(b"raw")
    before = (tmp_path / "root/sub/b.xmp").read_bytes()
    catalogue.connection.execute("UPDATE images SET path = 'sub/b.nef' WHERE image_id = 'f'")

    apply_changes(catalogue, BOTH)

    assert (tmp_path / "root/sub/b.xmp").read_bytes() == before
    assert keywords(tmp_path, "b.jpg.xmp") == {"sea", "sun"}
    assert keywords(tmp_path, "b.nef.xmp") == {"sun"}


def test_a_file_that_changes_between_plan_and_write_keeps_both_changes(catalogue, tmp_path):
    sidecar = tmp_path / "root/sub/a.jpg.xmp"

    def interfere(point: str) -> None:
        if point == "planned":
            sidecar.write_bytes(edited_sidecar(sidecar.read_bytes(), add=["theirs"]).data)

    (outcome,) = apply_changes(catalogue, BOTH, reached=interfere)
    assert keywords(tmp_path, "a.jpg.xmp") == {"dog", "sun", "theirs"}

    Undoing(catalogue).undo(outcome.run_id)
    assert keywords(tmp_path, "a.jpg.xmp") == {"dog", "sea", "theirs"}


def test_only_one_run_is_carried_out_at_a_time(catalogue):
    with only_one(catalogue), pytest.raises(ConflictError, match="somebody else is applying"):
        apply_changes(catalogue, BOTH)
    assert resume(catalogue) == []


def test_images_that_are_nowhere_and_impossible_probabilities_are_refused(catalogue, tmp_path):
    with pytest.raises(StorageError, match="--images-root"):
        apply_changes(catalogue, Wanted(sidecars=True, images_root=os.fspath(tmp_path / "no")))
    with pytest.raises(SettingsError, match=r"0 to 1, not 1\.5"):
        Wanted(above=1.5)
