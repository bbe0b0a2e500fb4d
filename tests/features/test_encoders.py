"""Encoders: made by name, preprocessing as declared, refusals in one line."""

import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hostile_pictures import noise
from sugartag.errors import MissingExtraError, SettingsError
from sugartag.features.encoders import ASSETS, SHIPPED, Encoder, make_encoder
from sugartag.features.preprocessing import Preprocessing, read_preprocessing
from tiny_onnx import FIELDS, INT64, model, write_encoder

HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "timm", "open_clip"))
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="needs sugartag[torch]")
COLOUR = (255, 51, 0)
"""As shares of white: 1, 0.2 and 0."""


@pytest.fixture(scope="module")
def shipped() -> Encoder:
    return make_encoder()


def described(encoder: Encoder, *images: Image.Image) -> np.ndarray:
    return encoder.encode(np.stack([encoder.prepare(image) for image in images]))


def test_the_shipped_encoder_needs_no_network_and_gives_1280_numbers(shipped: Encoder) -> None:
    rows = described(shipped, noise(), Image.new("RGB", (500, 300), "navy"))

    assert (shipped.name, shipped.dimensions, shipped.size) == (SHIPPED, 1280, 224)
    assert rows.shape == (2, 1280)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    assert not np.allclose(rows[0], rows[1])


def test_a_picture_is_described_the_same_whatever_is_described_beside_it(shipped: Encoder) -> None:
    images = [noise(size=(50 + step, 60)) for step in range(5)]

    together = described(shipped, *images)
    alone = np.concatenate([described(shipped, image) for image in images])

    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_the_shipped_weights_carry_their_licence() -> None:
    assert "Apache License" in (ASSETS / "LICENSE-apache-2.0.txt").read_text(encoding="utf-8")
    assert "float16" in (ASSETS / "NOTICE.txt").read_text(encoding="utf-8")
    assert (ASSETS / f"{SHIPPED}.onnx").stat().st_size < 8_000_000


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("channels", ["rgb", "bgr"])
def test_any_onnx_file_gets_its_pictures_as_its_json_says(
    tmp_path: Path, layout: str, channels: str
) -> None:
    shape: tuple[int | str, ...] = ("batch", 3, 32, 32) if layout == "nchw" else (1, 32, 32, 3)
    data = model(shape, axes=(2, 3) if layout == "nchw" else (1, 2))
    name = write_encoder(tmp_path, data, layout=layout, channels=channels)

    encoder = make_encoder(name)
    rows = described(encoder, Image.new("RGB", (90, 50), COLOUR), Image.new("RGB", (9, 9), COLOUR))

    expected = [1, 0.2, 0] if channels == "rgb" else [0, 0.2, 1]
    assert (encoder.name, encoder.dimensions, encoder.size) == (name, 3, 32)
    np.testing.assert_allclose(rows, [expected, expected], atol=1e-5)


def test_mean_std_and_range_are_applied_in_that_order(tmp_path: Path) -> None:
    name = write_encoder(tmp_path, range=255, mean=[127, 127, 127], std=[128, 64, 1])

    row = described(make_encoder(name), Image.new("RGB", (40, 40), COLOUR))[0]

    np.testing.assert_allclose(row, [1, (51 - 127) / 64, -127], rtol=1e-6)


def prepared(fit: str, image: Image.Image) -> np.ndarray:
    fields = {**FIELDS, "fit": fit, "mean": (0, 0, 0), "std": (1, 1, 1)}
    how = Preprocessing(**fields)
    return how.values(how.square(image)[None])[0]


def test_crop_takes_the_middle_and_letterbox_all_on_white() -> None:
    image = Image.new("RGB", (96, 32), "black")
    image.paste((255, 0, 0), (32, 0, 64, 32))

    middle, whole = prepared("crop", image), prepared("letterbox", image)

    assert middle[0, :, 4:-4].min() > 0.99
    assert middle[1].max() < 0.01
    assert whole[:, :8].min() == whole[:, -8:].min() == 1.0
    assert whole[:, 16, 2].max() < 0.05


def test_a_strip_of_one_row_is_not_enlarged_beyond_bounds() -> None:
    strip = Image.new("RGB", (60_000, 1), "green")

    assert prepared("crop", strip).shape == prepared("letterbox", strip).shape == (3, 32, 32)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("input", "", "name of an input"),
        ("input", "x", "the inputs pixels"),
        ("output", "y", "no output 'y'"),
        ("output", None, "name of an output"),
        ("size", 0, "whole number from 1"),
        ("size", 224.0, "whole number"),
        ("size", True, "whole number"),
        ("size", 10**9, "whole number"),
        ("size", 16, "correct size or layout"),
        ("layout", "nhwc", "correct size or layout"),
        ("layout", "chw", "nchw or nhwc"),
        ("range", 2, "1 or 255"),
        ("mean", [0, 0], "three numbers"),
        ("mean", [0, 0, float("nan")], "three numbers"),
        ("mean", "0", "three numbers"),
        ("std", [1, 0, 1], "above 0"),
        ("channels", "gray", "rgb or bgr"),
        ("fit", "squash", "crop or letterbox"),
        ("resample", "nearest", "bicubic or bilinear or lanczos"),
        ("colour", "red", "unknown field 'colour'"),
    ],
)
def test_a_wrong_field_is_named_in_one_line(
    tmp_path: Path, field: str, value: Any, message: str
) -> None:
    name = write_encoder(tmp_path, **{field: value})

    with pytest.raises(SettingsError, match=message) as refusal:
        make_encoder(name)

    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "\xff", "[" * 100_000])
def test_json_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="latin-1")

    with pytest.raises(SettingsError, match=r"JSON"):
        read_preprocessing(path)


def test_every_field_but_resample_is_needed(tmp_path: Path) -> None:
    for missing in FIELDS:
        path = tmp_path / "x.json"
        kept = {name: value for name, value in FIELDS.items() if name != missing}
        path.write_text(json.dumps(kept), encoding="utf-8")

        with pytest.raises(SettingsError, match=f"lacks '{missing}'"):
            read_preprocessing(path)


def test_an_onnx_file_without_json_says_what_is_missing(tmp_path: Path) -> None:
    name = write_encoder(tmp_path)
    (tmp_path / "tiny.onnx.json").unlink()

    with pytest.raises(SettingsError, match=r"tiny\.onnx\.json is missing"):
        make_encoder(name)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not an ONNX file"),
        (b"no network", "not an ONNX file"),
        (model()[:-20], "not an ONNX file"),
        (model((8, 3, 32, 32)), "takes 8 pictures at a time"),
        (model(("batch", 3, 32), axes=(2,)), "correct size or layout"),
        (model(kind=INT64), "correct size or layout"),
        (model(axes=(3,)), "output of pictures x numbers"),
    ],
)
def test_a_network_that_does_not_fit_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        make_encoder(write_encoder(tmp_path, data))


@pytest.mark.parametrize("name", ["clip", "onnx:", "onnx", ":", "", "timm", "torch:x", "onnx:gone"])
def test_an_encoder_that_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=r"no encoder|not a file"):
        make_encoder(name)


def test_the_fingerprint_follows_weights_and_preprocessing(tmp_path: Path) -> None:
    first = make_encoder(write_encoder(tmp_path)).fingerprint
    other_fit = make_encoder(write_encoder(tmp_path, fit="letterbox")).fingerprint
    other_weights = make_encoder(write_encoder(tmp_path, model(("n", 3, 32, 32)))).fingerprint
    again = make_encoder(write_encoder(tmp_path)).fingerprint

    assert len({first, other_fit, other_weights}) == 3
    assert again == first


@pytest.mark.skipif(HAS_TORCH, reason="sugartag[torch] is installed")
@pytest.mark.parametrize("name", ["timm:resnet18", "open_clip:ViT-B-32"])
def test_without_torch_the_extra_is_named(name: str) -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'sugartag\[torch\]'"):
        make_encoder(name)


@needs_torch
@pytest.mark.parametrize("name", ["timm:test_vit/random", "open_clip:ViT-S-32-alt/random"])
def test_networks_of_torch_describe_pictures_with_their_own_preprocessing(name: str) -> None:
    encoder = make_encoder(name, threads=1)
    images = noise(size=(90, 70)), Image.new("RGB", (300, 40), "navy")

    rows = described(encoder, *images)

    assert encoder.name == name
    assert rows.shape == (2, encoder.dimensions)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(described(make_encoder(name), *images), rows, atol=1e-4)
    assert make_encoder(name).fingerprint == encoder.fingerprint


TINY_CLIP = {
    "model_cfg": {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 64, "layers": 1, "width": 64, "patch_size": 16},
        "text_cfg": {
            "context_length": 8, "vocab_size": 50, "width": 64, "heads": 1, "layers": 1
        },
    },
    "preprocess_cfg": {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]},
}  # fmt: skip


def saved_clip(folder: Path) -> tuple[Any, Any]:
    """Store a small CLIP with random weights; return it and its preprocessing."""
    open_clip, torch = (importlib.import_module(name) for name in ("open_clip", "torch"))
    (folder / "open_clip_config.json").write_text(json.dumps(TINY_CLIP), encoding="utf-8")
    model = open_clip.CLIP(**TINY_CLIP["model_cfg"])
    torch.save(model.state_dict(), folder / "open_clip_pytorch_model.bin")
    vision = importlib.import_module("torchvision.transforms")
    steps = [
        vision.Resize(64, vision.InterpolationMode.BICUBIC),
        vision.CenterCrop(64),
        vision.ToTensor(),
        vision.Normalize(**TINY_CLIP["preprocess_cfg"]),
    ]
    return model.eval().encode_image, vision.Compose(steps)


def saved_timm(folder: Path) -> tuple[Any, Any]:
    """Store a small network of timm with random weights; return it and its preprocessing."""
    timm = importlib.import_module("timm")
    model = timm.create_model("test_resnet", num_classes=5)
    timm.models.save_for_hf(model, folder)
    config = timm.data.resolve_model_data_config(model)
    model.eval().reset_classifier(0)
    return model, timm.data.create_transform(**config, is_training=False)


@needs_torch
@pytest.mark.parametrize(("kind", "save"), [("open_clip", saved_clip), ("timm", saved_timm)])
def test_a_model_in_a_folder_is_loaded_with_its_weights_and_preprocessing(
    tmp_path: Path, kind: str, save: Any
) -> None:
    torch = importlib.import_module("torch")
    torch.manual_seed(5)
    network, transform = save(tmp_path)
    images = noise(size=(90, 70)), Image.new("RGB", (300, 40), "navy")

    encoder = make_encoder(f"{kind}:local-dir:{tmp_path}", threads=1)
    rows = described(encoder, *images)

    with torch.inference_mode():
        expected = network(torch.stack([transform(image) for image in images])).numpy()
    np.testing.assert_allclose(rows, expected, atol=1e-5)
    assert np.abs(expected).max() > 0.01


@needs_torch
def test_weights_that_would_run_code_are_refused(tmp_path: Path) -> None:
    saved_clip(tmp_path)
    torch = importlib.import_module("torch")
    torch.save({"state_dict": print}, tmp_path / "open_clip_pytorch_model.bin")

    with pytest.raises(SettingsError, match="could run any code"):
        make_encoder(f"open_clip:local-dir:{tmp_path}")


@needs_torch
@pytest.mark.parametrize("name", ["timm:no_such_model", "open_clip:no-such-model"])
def test_a_model_that_the_library_does_not_know_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=r"cannot load|no weights"):
        make_encoder(name)
