"""What would help is said only where it would, with the command as it was typed."""

from pathlib import Path
from typing import Any

import pandas as pd

from sugartag.collection.model import Collection
from sugartag.photos.advice import advice
from sugartag.photos.asked import Photos
from sugartag.photos.shown import Shown
from sugartag.pipeline.changes import Change

N = 300
LIKELY = Change("0", "sea", "add", 0.3, "looks like others", "run")


def collection(*, owner: str = "anna", tags: str = "sea", path: str = "a/{}.jpg") -> Collection:
    frame = pd.DataFrame(
        {
            "image_id": [str(n) for n in range(N)],
            "owner": [owner] * N,
            "tags": [[tags.format(n)] for n in range(N)],
            "path": [path.format(n) for n in range(N)],
        }
    )
    return Collection.from_frame(frame)


def said(made: Collection, *, added: int = N, shown: Shown | None = None, **asked: Any) -> str:
    photos = Photos(Path("my photos"), Path("out"), **asked)
    found = advice(photos, made, shown or Shown((), 0.5), added=added)
    return "\n".join([text for one in found for text in (one.words, *one.commands)])


def test_nothing_is_said_of_a_large_folder_with_much_to_add() -> None:
    assert said(collection()) == ""


def test_a_better_encoder_is_named_where_little_is_to_add_and_the_shipped_one_was_taken() -> None:
    found = said(collection(), added=N - 1, owner_from="folder", min_uses=2, lowercase=True)

    assert "pip install 'sugartag[torch]'" in found
    assert (
        "sugartag photos 'my photos' --out out --owner-from folder --min-uses 2 --lowercase "
        "--model open_clip:ViT-B-16-SigLIP/webli"
    ) in found
    assert said(collection(), added=0, encoder="onnx:clip.onnx") == ""


def test_folders_are_named_as_owners_where_nobody_else_is() -> None:
    assert "--owner-from folder" in said(collection(owner=""))
    assert said(collection(owner="", path="{}.jpg")) == ""
    assert said(collection(owner=""), owner_from="folder") == ""


def test_tags_that_are_hardly_used_are_counted() -> None:
    assert "300 of 300 tags are on fewer than 5 photographs" in said(collection(tags="sea {}"))


def test_less_sure_suggestions_can_be_had_as_a_table() -> None:
    found = said(collection(), added=0, shown=Shown((LIKELY,), 0.2), encoder="onnx:clip.onnx")

    assert "suggest out/model out/collection --out out/likely.csv --add-from 0.2" in found
