"""Encoders: networks that describe a picture by a row of numbers, by name.

::

    efficientnet-lite0             shipped; needs no network
    onnx:PATH                      any ONNX file, prepared as PATH.json says
    open_clip:NAME[/PRETRAINED]    CLIP, SigLIP and their kin
    timm:NAME                      any image model of timm

"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy.typing as npt

from sugartag._typing import FloatArray
from sugartag.errors import SettingsError

if TYPE_CHECKING:
    from PIL.Image import Image

SHIPPED = "efficientnet-lite0"
ASSETS = Path(__file__).resolve().parents[1] / "assets" / "encoder"
KINDS = (SHIPPED, "onnx:PATH", "open_clip:NAME", "timm:NAME")


Prepared: TypeAlias = npt.NDArray[Any]
"""A picture, or several, between preparing and encoding."""


class Encoder(Protocol):
    """Describes pictures."""

    @property
    def name(self) -> str:
        """What :func:`make_encoder` makes it from."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers describe a picture."""
        ...

    @property
    def size(self) -> int:
        """The sides of the square that the network takes, in pixels."""
        ...

    @property
    def fingerprint(self) -> str:
        """Names weights and preprocessing: two encoders with the same one say the same."""
        ...

    @property
    def at_once(self) -> int:
        """How many batches ``encode`` may be given at the same time, by as many threads."""
        ...

    def prepare(self, image: "Image") -> Prepared:
        """Return one RGB picture in the form that ``encode`` takes; may be called by threads."""
        ...

    def encode(self, batch: Prepared) -> FloatArray:
        """Return pictures x dimensions, float32, for some prepared pictures, stacked."""
        ...


def make_encoder(name: str = SHIPPED, *, threads: int | None = None) -> Encoder:
    """Return the encoder of this name; ``threads`` is how many it computes with, all by default."""
    kind, colon, rest = name.partition(":")
    if name == SHIPPED:
        from sugartag.features.onnx_encoder import OnnxEncoder

        return OnnxEncoder.load(ASSETS / f"{SHIPPED}.onnx", name=SHIPPED, threads=threads)
    if colon and rest:
        if kind == "onnx":
            from sugartag.features.onnx_encoder import OnnxEncoder

            return OnnxEncoder.load(Path(rest), name=name, threads=threads)
        if kind in {"open_clip", "timm"}:
            from sugartag.features.torch_encoders import open_clip_encoder, timm_encoder

            make = open_clip_encoder if kind == "open_clip" else timm_encoder
            return make(rest, threads=threads)
    raise SettingsError(f"there is no encoder {name!r}; name one of {', '.join(KINDS)}")
