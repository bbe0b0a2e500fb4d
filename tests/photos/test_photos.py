"""sugartag photos: files in, a page out; killed and started again, the same."""

import json
import os
import signal
import subprocess
import sys
import zipfile
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from picture_files import picture
from sugartag.cli.main import main
from sugartag.collection import open_collection
from sugartag.collection.folders import FolderSources, import_folder, owner_rule
from sugartag.collection.vocabulary import TagRules
from sugartag.photos.embedding import embed
from tiny_onnx import write_encoder
from xmp_packets import bag, packet

N_PHOTOGRAPHS = 40
RESULTS = ("changes.csv", "report.html")


@pytest.fixture(scope="module")
def photographs(tmp_path_factory) -> Path:
    """Some of the shipped photographs, with their sidecars, as a user has them."""
    root = tmp_path_factory.mktemp("photographs") / "holiday"
    packed = resources.files("sugartag") / "assets" / "photos" / "photos.zip"
    with resources.as_file(packed) as path, zipfile.ZipFile(path) as archive:
        archive.extractall(root, archive.namelist()[: 2 * N_PHOTOGRAPHS])
    return root


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["photos", *map(str, arguments)])


def results(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in RESULTS}


def test_a_folder_becomes_suggestions_and_a_page_stage_by_stage(photographs, tmp_path):
    result = run(photographs, "--out", tmp_path / "out")

    assert result.exit_code == 0, result.output
    lines = [line for line in result.stdout.splitlines() if " of 5, " in line]
    assert [line.split(":")[0].split(", ")[1] for line in lines] == [
        "import",
        "embed",
        "fit",
        "suggest",
        "report",
    ]
    assert result.stdout.splitlines()[-1] == f"open {tmp_path / 'out' / 'report.html'}"
    collection = open_collection(tmp_path / "out" / "collection")
    assert collection.n_images == collection.n_with_features == N_PHOTOGRAPHS
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<h1>holiday, retagged</h1>" in page
    before = results(tmp_path / "out")

    again = run(photographs, "--out", tmp_path / "out")

    assert "none of them new or changed" in again.stdout
    assert f"efficientnet-lite0, {N_PHOTOGRAPHS} had their features" in again.stdout
    assert results(tmp_path / "out") == before


# Each is killed as soon as something stands in the folder that was not there before.
KILLED = """
import os, signal, sys, threading, time
from pathlib import Path
from sugartag.cli.main import main
target = Path(sys.argv[2])
def watch():
    while not target.exists():
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=watch, daemon=True).start()
main(["photos", sys.argv[1], "--out", sys.argv[3]])
"""


def test_killed_twice_and_started_again_it_ends_with_the_same(photographs, tmp_path):
    whole, killed = tmp_path / "whole" / "out", tmp_path / "killed" / "out"
    assert run(photographs, "--out", whole).exit_code == 0
    for stage in ("collection/manifest.json", "model/manifest.json"):
        process = subprocess.run(
            [sys.executable, "-c", KILLED, photographs, killed / stage, killed], check=False
        )
        assert process.returncode == -signal.SIGKILL

    assert run(photographs, "--out", killed).exit_code == 0

    assert (killed / "changes.csv").read_bytes() == (whole / "changes.csv").read_bytes()
    kept = open_collection(killed / "collection")
    assert kept.n_with_features == N_PHOTOGRAPHS


def test_other_settings_start_from_the_folder_again(photographs, tmp_path):
    assert run(photographs, "--out", tmp_path / "out").exit_code == 0

    result = run(photographs, "--out", tmp_path / "out", "--owner-from", "folder")

    assert result.exit_code == 0, result.output
    owners = set(open_collection(tmp_path / "out" / "collection").owner_names)
    assert owners == {path.name for path in photographs.iterdir()}


def test_a_folder_with_other_things_in_it_is_left_alone(photographs, tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")

    result = run(photographs, "--out", tmp_path)

    assert result.exit_code == 2
    assert "holds something else" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent"], "absent is not a folder"),
        ([".", "--owner-from", "nobody"], "--owner-from nobody: neither"),
        ([".", "--model", "unheard-of"], "there is no encoder 'unheard-of'"),
    ],
)
def test_bad_questions_are_answered_in_one_line(
    tmp_path, monkeypatch, photographs, arguments, message
):
    monkeypatch.chdir(photographs)

    result = run(*arguments, "--out", tmp_path / "out")

    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_update_keeps_the_features_of_pictures_that_have_not_changed(photographs, tmp_path):
    root = tmp_path / "photos"
    for path in photographs.rglob("*.webp"):
        (root / path.parent.name).mkdir(parents=True, exist_ok=True)
        (root / path.parent.name / path.name).write_bytes(path.read_bytes())
    sources, out = FolderSources(root, owner_rule("folder")), tmp_path / "out"
    import_folder(sources, out, rules=TagRules())
    embed(out, "efficientnet-lite0", progress=None)
    before = open_collection(out)
    known = dict(zip(before.ids, before.features_at(np.arange(before.n_images)), strict=True))
    first, second, third, *_ = sorted(root.rglob("*.webp"))
    first.unlink()
    second.write_bytes(third.read_bytes())
    os.utime(third)
    third.with_suffix(".webp.xmp").write_bytes(packet(bag("dc:subject", ["new"])))

    import_folder(sources, out, rules=TagRules(), update=True)

    after = open_collection(out)
    assert after.n_images == N_PHOTOGRAPHS - 1
    changed = second.relative_to(root).as_posix()
    without = [i for i, has in zip(after.ids, after.described, strict=True) if not has]
    assert without == [changed]
    for row, image in enumerate(after.ids):
        if image != changed:
            assert (after.features_at(np.array([row]))[0] == known[image]).all()
    assert embed(out, "efficientnet-lite0", progress=None).startswith("1 photograph described")


def test_import_and_embed_keep_each_others_problems(tmp_path):
    root, out = tmp_path / "photos", tmp_path / "out"
    root.mkdir()
    (root / "bad.jpg").write_bytes(b"no picture")
    (root / "link.jpg").symlink_to("/etc/passwd")
    import_folder(FolderSources(root, owner_rule("folder")), out, rules=TagRules())

    embed(out, "efficientnet-lite0", progress=None)

    lines = (out / "errors.jsonl").read_text(encoding="utf-8").splitlines()
    found = [(line["stage"], line["path"]) for line in map(json.loads, lines)]
    assert found == [("import", "link.jpg"), ("import", "bad.jpg"), ("embed", "bad.jpg")]


def test_photographs_that_were_added_are_taken_up_and_the_others_left_alone(photographs, tmp_path):
    root, encoder = tmp_path / "photos", write_encoder(tmp_path)
    first, *rest = sorted(photographs.rglob("*.webp"))
    for path in rest[:9]:
        copied(path, root)
    assert run(root, "--out", tmp_path / "out", "--model", encoder).exit_code == 0
    copied(first, root / "new")

    result = run(root, "--out", tmp_path / "out", "--model", encoder)

    assert result.exit_code == 0, result.output
    assert f"1 photograph described by {encoder}, 9 had their features" in result.stdout
    assert f"new/{first.name}" in (tmp_path / "out" / "changes.csv").read_text(encoding="utf-8")


def test_another_encoder_replaces_the_features(photographs, tmp_path):
    root = tmp_path / "photos"
    for path in sorted(photographs.rglob("*.webp"))[:9]:
        copied(path, root)
    (tmp_path / "other").mkdir()
    first = write_encoder(tmp_path)
    second = write_encoder(tmp_path / "other", mean=[0.5, 0.5, 0.5])
    assert run(root, "--out", tmp_path / "out", "--model", first).exit_code == 0

    result = run(root, "--out", tmp_path / "out", "--model", second)

    assert result.exit_code == 0, result.output
    assert f"9 photographs described by {second} in place of {first}" in result.stdout
    assert open_collection(tmp_path / "out" / "collection").n_with_features == 9


def test_photographs_without_any_keyword_are_refused_before_they_are_described(tmp_path):
    root = tmp_path / "photos"
    root.mkdir()
    (root / "a.jpg").write_bytes(picture("JPEG"))

    result = run(root, "--out", tmp_path / "out")

    assert result.exit_code == 2
    assert "no photograph in" in result.stderr
    assert "give some photographs keywords" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out" / "model").exists()


def test_a_single_photograph_is_kept_as_it_is_and_what_would_help_is_said(photographs, tmp_path):
    root = tmp_path / "a photograph"
    copied(sorted(photographs.rglob("*.webp"))[0], root)

    result = run(root, "--out", tmp_path / "out")

    assert result.exit_code == 0, result.output
    assert "1 of 5, import: 1 photograph, " in result.stdout
    assert "5 of 5, report: nothing to add or to doubt: " in result.stdout
    better = f"sugartag photos '{root}' --out {tmp_path / 'out'} --model open_clip:"
    assert better in result.stdout
    assert "- There is little to learn from 1 photograph" in result.stdout
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "It found no tag that is sure enough to add and none to doubt." in page
    assert "open_clip:" in page


def copied(path: Path, folder: Path) -> None:
    """Copy a photograph with its sidecar."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in (path, path.with_name(f"{path.name}.xmp")):
        (folder / one.name).write_bytes(one.read_bytes())
