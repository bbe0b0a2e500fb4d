"""Pictures are read upright, on white and within bounds, or refused with the reason."""

import io
import os
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hostile_pictures import READ, REFUSED, encoded
from sugartag.errors import PictureError
from sugartag.features.images import (
    FORMATS,
    decoded,
    opened_inside,
    quiet_pillow,
    version_inside,
)

SIDE = 32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "photos"
    made.mkdir()
    return made


def read(folder: Path, name: str) -> Image.Image:
    with quiet_pillow(), opened_inside(str(folder), name) as file:
        return file.picture(side=SIDE)


def corner(image: Image.Image) -> tuple[int, ...]:
    return tuple(image.getpixel((0, 0)))


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_file_is_refused_with_its_reason(folder: Path, name: str) -> None:
    make, reason = REFUSED[name]
    make(folder / name)
    began = time.process_time()

    with pytest.raises(PictureError, match=reason) as refusal:
        read(folder, name)

    assert "\n" not in str(refusal.value)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("name", READ)
def test_an_odd_file_is_read_as_rgb(folder: Path, name: str) -> None:
    READ[name](folder / name)

    image = read(folder, name)

    assert image.mode == "RGB"
    assert min(image.size) >= 1


@pytest.mark.parametrize(
    "path", ["../photos/x.jpg", "/etc/hostname", "a/../../x.jpg", "", "x\0.jpg", "."]
)
def test_a_path_that_leaves_the_folder_is_refused_unopened(folder: Path, path: str) -> None:
    (folder.parent / "x.jpg").write_bytes(encoded("JPEG"))

    with pytest.raises(PictureError, match=r"path|folder"):
        read(folder, path)


def test_a_folder_that_is_a_link_out_is_not_followed(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "x.jpg").write_bytes(encoded("JPEG"))
    (folder / "inner").symlink_to(outside)

    with pytest.raises(PictureError, match="leads out of"):
        read(folder, "inner/x.jpg")


def test_a_link_that_stays_inside_is_followed(folder: Path) -> None:
    (folder / "x.jpg").write_bytes(encoded("JPEG"))
    (folder / "y.jpg").symlink_to(folder / "x.jpg")

    assert read(folder, "y.jpg").size == (60, 40)


def test_a_name_that_is_not_utf8_is_read(folder: Path) -> None:
    name = os.fsdecode(b"caf\xe9.jpg")
    (folder / name).write_bytes(encoded("JPEG"))

    assert read(folder, name).size == (60, 40)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_obeyed(orientation: int) -> None:
    upright = Image.new("RGB", (64, 48), "white")
    upright.paste((255, 0, 0), (0, 0, 32, 24))
    stored = {
        1: lambda image: image,
        2: lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        3: lambda image: image.transpose(Image.Transpose.ROTATE_180),
        4: lambda image: image.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
        5: lambda image: image.transpose(Image.Transpose.TRANSPOSE),
        6: lambda image: image.transpose(Image.Transpose.ROTATE_90),
        7: lambda image: image.transpose(Image.Transpose.TRANSVERSE),
        8: lambda image: image.transpose(Image.Transpose.ROTATE_270),
    }[orientation](upright)
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded("PNG", stored, exif=exif)

    found = decoded(io.BytesIO(data), side=SIDE)

    np.testing.assert_array_equal(np.asarray(found), np.asarray(upright))


def test_transparent_parts_are_white() -> None:
    clear = Image.new("RGBA", (40, 40), (0, 0, 0, 0))
    clear.paste((0, 128, 0, 255), (20, 20, 40, 40))

    found = decoded(io.BytesIO(encoded("PNG", clear)), side=SIDE)

    assert corner(found) == (255, 255, 255)
    assert found.getpixel((30, 30)) == (0, 128, 0)


def test_a_colour_that_a_png_names_as_clear_is_white() -> None:
    black = Image.new("L", (40, 40), 0)

    found = decoded(io.BytesIO(encoded("PNG", black, transparency=0)), side=SIDE)

    assert corner(found) == (255, 255, 255)


def test_sixteen_bits_become_eight_by_their_upper_half(folder: Path) -> None:
    READ["sixteen-bit.png"](folder / "x.png")

    assert corner(read(folder, "x.png")) == (0x80, 0x80, 0x80)


@pytest.mark.parametrize("name", ["animated.gif", "animated.webp", "animated.png", "pages.tif"])
def test_of_several_frames_the_first_is_read(folder: Path, name: str) -> None:
    READ[name](folder / name)

    assert corner(read(folder, name)) == (255, 0, 0)


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_large_picture_is_reduced_but_not_below_twice_what_is_wanted(kind: str) -> None:
    data = encoded(kind, Image.linear_gradient("L").resize((1600, 1200)))

    found = decoded(io.BytesIO(data), side=SIDE)

    assert 2 * SIDE <= min(found.size) < 4 * SIDE
    assert max(found.size) / min(found.size) == pytest.approx(4 / 3, abs=0.05)
    assert np.asarray(found)[-1].mean() > 240 > 15 > np.asarray(found)[0].mean()


def test_the_bound_of_pixels_is_the_callers(folder: Path) -> None:
    (folder / "x.png").write_bytes(encoded("PNG"))

    with opened_inside(str(folder), "x.png") as file, pytest.raises(PictureError, match="60 x 40"):
        file.picture(side=SIDE, max_pixels=2399)


def test_pillows_own_bound_is_left_as_it_was(folder: Path) -> None:
    before = Image.MAX_IMAGE_PIXELS
    REFUSED["bomb-30000.png"][0](folder / "x.png")

    with pytest.raises(PictureError):
        read(folder, "x.png")

    assert before == Image.MAX_IMAGE_PIXELS


def test_readers_that_run_programs_are_not_asked() -> None:
    assert not {"EPS", "PDF", "WMF", "PSD"} & set(FORMATS)


def test_a_file_is_known_by_size_time_and_digest(folder: Path) -> None:
    file = folder / "x.jpg"
    file.write_bytes(encoded("JPEG"))
    before = version_inside(str(folder), "x.jpg")
    with opened_inside(str(folder), "x.jpg") as opened:
        digest = opened.digest()

    os.utime(file, ns=(1, 1))

    assert not before.looks_like(version_inside(str(folder), "x.jpg"))
    with opened_inside(str(folder), "x.jpg") as opened:
        assert opened.digest() == digest
