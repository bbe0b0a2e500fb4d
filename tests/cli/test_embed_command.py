"""``sugartag embed``: what it prints, and how it ends."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from sugartag.cli.main import main
from tiny_onnx import write_encoder


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    photos = tmp_path / "photos"
    photos.mkdir()
    lines = ["image_id,owner,tags,path"]
    for number in range(5):
        Image.new("RGB", (60, 50), (50 * number, 0, 0)).save(photos / f"{number}.jpg")
        lines.append(f"{number},anna,beach,{number}.jpg")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    out = tmp_path / "collection"
    assert run("import", tmp_path / "t.csv", "--out", out, "--images-root", photos).exit_code == 0
    return out


def test_the_shipped_encoder_is_the_default_and_a_fit_can_follow(collection: Path) -> None:
    (collection.parent / "photos" / "3.jpg").write_bytes(b"")

    first, second = run("embed", collection), run("embed", collection)

    assert first.exit_code == second.exit_code == 0
    assert "4 of 5 images described by efficientnet-lite0, 1,280 numbers each" in first.output
    assert "cannot be read: 1, listed in" in first.output
    assert "3.jpg is empty" in first.output
    assert f"next: sugartag fit {collection} --out" in first.output
    assert "had their features already: 4" in second.output
    model, changes = collection.parent / "model", collection.parent / "changes.csv"
    for following in (("fit", collection), ("suggest", model, collection)):
        out = model if following[0] == "fit" else changes
        found = run(*following, "--out", out)
        assert found.exit_code == 0
        assert "1 of 5 images have no features" in found.output


@pytest.mark.parametrize("wrong", ["clip", "onnx:gone.onnx"])
def test_an_unknown_encoder_is_one_line(collection: Path, wrong: str) -> None:
    found = run("embed", collection, "--model", wrong)

    assert found.exit_code == 2
    assert found.output.startswith("sugartag: ")
    assert found.output.count("\n") == 1


def test_another_encoder_needs_overwrite(collection: Path, tmp_path: Path) -> None:
    name = write_encoder(tmp_path)
    run("embed", collection)

    refused = run("embed", collection, "--model", name)
    done = run("embed", collection, "--model", name, "--overwrite", "--batch", 2, "--threads", 1)

    assert refused.exit_code == 2
    assert "--overwrite" in refused.output
    assert "3 numbers each" in done.output


def test_a_collection_that_is_none_is_refused(tmp_path: Path) -> None:
    found = run("embed", tmp_path)

    assert found.exit_code == 2
    assert "manifest.json" in found.output
