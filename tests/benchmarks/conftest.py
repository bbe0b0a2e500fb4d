"""A little of each real collection, in the layout of its files."""

from pathlib import Path

import numpy as np
import pytest

N_IMAGES = 80
CATEGORIES = ("Files / Folders", "Home Automation", "Social Media", "Elsewhere")


@pytest.fixture
def data(tmp_path):
    """A folder with a little of DOCUMERICA, OpenClipart and Material Design Icons."""
    for name, write in (
        ("documerica", write_documerica),
        ("openclipart", write_openclipart),
        ("mdi", write_mdi),
    ):
        folder = tmp_path / name
        folder.mkdir()
        features = np.random.default_rng(0).standard_normal((N_IMAGES, 6))
        np.save(folder / "features.npy", features.astype(np.float16))
        write(folder)
    return tmp_path


def write_table(path: Path, *rows: str) -> None:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def write_documerica(folder: Path) -> None:
    rows = [
        f'p{i},"Owner, {i % 5}",{"farm|coast" if i % 2 else "farm"},Here,1972'
        for i in range(N_IMAGES - 1)
    ]
    rows += [f"p{N_IMAGES - 1},,once,Here,1972"]
    write_table(folder / "images.csv", "image_id,owner,tags,place,date", *rows)
    write_table(folder / "groups.csv", "owner,group", *(f'"Owner, {i}",Here' for i in range(5)))
    seen = [f"p{i},{'coast' if i % 2 else 'sky'}" for i in range(N_IMAGES)]
    write_table(folder / "truth.csv", "image_id,concept", *seen)


def write_openclipart(folder: Path) -> None:
    tags = ["animal|frog" if i % 2 else "animal" for i in range(N_IMAGES)]
    rows = [f"o{i},f{i}.png,author {i % 7},A Title,{tags[i]},animals" for i in range(N_IMAGES)]
    write_table(folder / "images.csv", "image_id,file,author,title,tags,category", *rows)


def write_mdi(folder: Path) -> None:
    words = ("file", "folder", "home", "media|home", "rare")
    rows = [f"m{i},author {i % 4},{words[i % 4]},title-{i}" for i in range(N_IMAGES - 1)]
    rows += [f"m{N_IMAGES - 1},author 1,rare,title"]
    write_table(folder / "images.csv", "image_id,owner,tags,title", *rows)
    # The last twenty icons have no category.
    seen = [f"m{i},{CATEGORIES[i % 4]}" for i in range(60)] + ["m0,Home Automation"]
    write_table(folder / "truth.csv", "image_id,concept", *seen)
