"""How a picture becomes the array that a network takes, declared as JSON beside an ONNX file."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sugartag._extras import optional
from sugartag._typing import FloatArray, IntArray
from sugartag.errors import SettingsError

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_SIDE = 4096
MAX_BYTES = 1 << 20
CHANNELS = 3


@dataclass(frozen=True)
class Preprocessing:
    """The fields of the JSON file."""

    input: str
    """The name of the network's input."""
    output: str
    """The name of the output that is taken: images x numbers."""
    size: int
    """The sides of the square that the network takes, in pixels."""
    range: float
    """Pixel values run from 0 to this before mean and std: 1 or 255."""
    mean: tuple[float, ...]
    """Subtracted from each channel, in the order of ``channels``."""
    std: tuple[float, ...]
    """What each channel is divided by after that."""
    channels: str
    """``rgb`` or ``bgr``."""
    layout: str
    """``nchw`` or ``nhwc``."""
    fit: str
    """``crop`` takes the square in the middle; ``letterbox`` the whole picture, on white."""
    resample: str = "bicubic"
    """``bicubic``, ``bilinear`` or ``lanczos``."""

    def square(self, image: "Image") -> IntArray:
        """Return the square of one picture that the network sees: rows x columns x RGB, uint8."""
        cut = cropped if self.fit == "crop" else letterboxed
        return np.asarray(cut(image, self.size, self.resample))

    def values(self, squares: IntArray) -> FloatArray:
        """Return some squares as the network takes them: float32, in its layout."""
        pixels = squares[..., ::-1] if self.channels == "bgr" else squares
        factor = (self.range / 255.0 / np.array(self.std)).astype(np.float32)
        offset = (-np.array(self.mean) / np.array(self.std)).astype(np.float32)
        if self.layout == "nchw":
            pixels = pixels.transpose(0, 3, 1, 2)
            factor, offset = factor[:, None, None], offset[:, None, None]
        made: FloatArray = np.empty(pixels.shape, dtype=np.float32)
        np.multiply(pixels, factor, out=made)
        made += offset
        return made

    def as_json(self) -> str:
        """Return the fields as one line of JSON, in a fixed order."""
        return json.dumps(asdict(self), sort_keys=True)


def cropped(image: "Image", size: int, resample: str) -> "Image":
    """Return the largest square in the middle, resized."""
    width, height = image.size
    side = min(width, height)
    left, top = (width - side) / 2, (height - side) / 2
    # Cut while it is resized: the whole of a narrow strip would be enlarged beyond all bounds.
    return image.resize((size, size), _filter(resample), box=(left, top, left + side, top + side))


def letterboxed(image: "Image", size: int, resample: str) -> "Image":
    """Return the whole picture, resized to fit, in the middle of a white square."""
    scale = size / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    small = image.resize((width, height), _filter(resample))
    paper: Image = _pillow().new("RGB", (size, size), "white")
    paper.paste(small, ((size - width) // 2, (size - height) // 2))
    return paper


def read_preprocessing(path: Path) -> Preprocessing:
    """Read and check a JSON file; raise naming the field that is wrong."""
    fields = _parsed(path)
    unknown = sorted(set(fields) - set(_CHECKS))
    missing = sorted(set(_CHECKS) - set(fields) - {"resample"})
    if unknown or missing:
        what = f"has an unknown field {unknown[0]!r}" if unknown else f"lacks {missing[0]!r}"
        raise SettingsError(f"{path} {what}; its fields are {', '.join(_CHECKS)}")
    for name, value in fields.items():
        is_good, wanted = _CHECKS[name]
        if not is_good(value):
            raise SettingsError(f"{path}: {name} is {json.dumps(value)[:60]}; it must be {wanted}")
    for name in ("mean", "std"):
        fields[name] = tuple(float(value) for value in fields[name])
    return Preprocessing(**fields)


def _parsed(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SettingsError(f"{path} is larger than {MAX_BYTES:,} bytes")
        fields = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SettingsError(
            f"{path} is missing: it says how pictures are prepared; see docs/features.md"
        ) from error
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(fields, dict):
        raise SettingsError(f"{path} must hold one JSON object")
    return fields


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _are_numbers(value: object) -> bool:
    return isinstance(value, list) and len(value) == CHANNELS and all(map(_is_number, value))


def _one_of(*names: str) -> tuple[Callable[[Any], bool], str]:
    return lambda value: isinstance(value, str) and value in names, " or ".join(names)


_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "input": (_is_name, "the name of an input"),
    "output": (_is_name, "the name of an output"),
    "size": (
        lambda value: type(value) is int and 1 <= value <= MAX_SIDE,
        f"a whole number from 1 to {MAX_SIDE}",
    ),
    "range": (lambda value: _is_number(value) and value in {1, 255}, "1 or 255"),
    "mean": (_are_numbers, "three numbers"),
    "std": (
        lambda value: _are_numbers(value) and all(one > 0 for one in value),
        "three numbers above 0",
    ),
    "channels": _one_of("rgb", "bgr"),
    "layout": _one_of("nchw", "nhwc"),
    "fit": _one_of("crop", "letterbox"),
    "resample": _one_of("bicubic", "bilinear", "lanczos"),
}
"""For each field whether a value is good, and what it must be."""


def _pillow() -> Any:
    return optional("PIL.Image", extra="embed", needed_for="reading pictures")


def _filter(resample: str) -> Any:
    return getattr(_pillow().Resampling, resample.upper())
