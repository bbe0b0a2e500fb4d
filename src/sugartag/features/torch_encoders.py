"""Networks of open_clip and timm, run by torch, each with the preprocessing it was trained with."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sugartag._extras import optional
from sugartag._typing import FloatArray
from sugartag.errors import SettingsError

if TYPE_CHECKING:
    from PIL.Image import Image

WHOLE_MODELS = ("hf-hub:", "local-dir:")
"""Names that begin so are of a model with its weights, on the hub or in a folder."""
RANDOM = "random"
"""In place of the name of weights: random ones, always the same, to try a network out."""
_CANNOT_LOAD = (OSError, RuntimeError, ValueError, LookupError, AttributeError)


@dataclass(frozen=True, eq=False)
class TorchEncoder:
    """A network on whatever torch computes with, and how pictures are prepared for it."""

    name: str
    dimensions: int
    size: int
    fingerprint: str
    transform: Callable[[Any], Any]
    describe: Callable[[Any], Any]
    """From a batch of prepared pictures to their rows."""
    device: str
    at_once: int = 1
    """torch shares a batch among its threads, or has a graphics card do it."""

    def prepare(self, image: "Image") -> FloatArray:
        """Return one RGB picture as the network takes it."""
        found: FloatArray = np.asarray(self.transform(image), dtype=np.float32)
        return found

    def encode(self, batch: FloatArray) -> FloatArray:
        """Return pictures x dimensions."""
        torch = _torch(self.name)
        with torch.inference_mode():
            rows = self.describe(torch.from_numpy(batch).to(self.device))
            found: FloatArray = rows.float().cpu().numpy()
        return found


def open_clip_encoder(name: str, *, threads: int | None = None) -> TorchEncoder:
    """Return the image half of a model of open_clip.

    ``name`` is ``NAME[/PRETRAINED]``, ``hf-hub:OWNER/MODEL`` or ``local-dir:FOLDER``.
    """
    full = f"open_clip:{name}"
    torch = _torch(full, threads)
    open_clip = optional("open_clip", extra="torch", needed_for=f"the encoder {full}")
    model_name, weights = _open_clip_weights(open_clip, name)
    torch.manual_seed(0)
    try:
        model, _, transform = open_clip.create_model_and_transforms(model_name, pretrained=weights)
    except (*_CANNOT_LOAD, _unsafe(torch)) as error:
        raise _cannot_load(full, error, _unsafe(torch)) from error
    if not name.startswith(WHOLE_MODELS):
        full = f"open_clip:{model_name}/{weights or RANDOM}"
    return _encoder(full, torch, model, transform, lambda m: m.encode_image)


def timm_encoder(name: str, *, threads: int | None = None) -> TorchEncoder:
    """Return a model of timm without its classes.

    ``name`` is ``NAME``, ``NAME/random``, ``hf-hub:OWNER/MODEL`` or ``local-dir:FOLDER``.
    """
    full = f"timm:{name}"
    torch = _torch(full, threads)
    timm = optional("timm", extra="torch", needed_for=f"the encoder {full}")
    random = name.endswith(f"/{RANDOM}")
    torch.manual_seed(0)
    try:
        model = timm.create_model(
            name.removesuffix(f"/{RANDOM}"), pretrained=not random, num_classes=0
        )
        config = timm.data.resolve_model_data_config(model)
        transform = timm.data.create_transform(**config, is_training=False)
    except (*_CANNOT_LOAD, _unsafe(torch)) as error:
        raise _cannot_load(full, error, _unsafe(torch)) from error
    return _encoder(full, torch, model, transform, lambda m: m)


def _open_clip_weights(open_clip: Any, name: str) -> tuple[str, str | None]:
    """Return the model's name and that of its weights: the first that open_clip lists."""
    if name.startswith(WHOLE_MODELS):
        return name, None
    model, _, weights = name.partition("/")
    if weights:
        return model, None if weights == RANDOM else weights
    known = open_clip.list_pretrained_tags_by_model(model)
    if not known:
        raise SettingsError(
            f"open_clip has no weights for {model!r}; name them, as in "
            "open_clip:ViT-B-32/laion2b_s34b_b79k"
        )
    return model, str(known[0])


def _encoder(
    name: str, torch: Any, model: Any, transform: Any, describe: Callable[[Any], Any]
) -> TorchEncoder:
    """Put the network on the device and try it on a blank picture."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = model.eval().to(device)
    pillow = optional("PIL.Image", extra="torch", needed_for=f"the encoder {name}")
    blank = transform(pillow.new("RGB", (64, 64), "white"))
    made = TorchEncoder(
        name=name,
        dimensions=0,
        size=int(blank.shape[-1]),
        fingerprint=_fingerprint(name, model, transform),
        transform=transform,
        describe=describe(model),
        device=device,
    )
    found = made.encode(np.asarray(blank, dtype=np.float32)[None])
    if found.ndim != 2:
        raise SettingsError(f"{name} gives rows of shape {found.shape[1:]}; take another model")
    return replace(made, dimensions=int(found.shape[1]))


def _fingerprint(name: str, model: Any, transform: Any) -> str:
    digest = hashlib.sha256(f"{name} {transform}".encode())
    for key, value in model.state_dict().items():
        digest.update(key.encode())
        digest.update(value.detach().cpu().contiguous().float().numpy().tobytes())
    return digest.hexdigest()


def _torch(name: str, threads: int | None = None) -> Any:
    torch = optional("torch", extra="torch", needed_for=f"the encoder {name}")
    if threads is not None:
        torch.set_num_threads(min(threads, len(os.sched_getaffinity(0))))
    return torch


def _unsafe(torch: Any) -> type[Exception]:
    """Return what torch raises where weights are more than arrays."""
    found: type[Exception] = torch.serialization.pickle.UnpicklingError
    return found


def _cannot_load(name: str, error: Exception, unsafe: type[Exception]) -> SettingsError:
    if isinstance(error, unsafe):
        return SettingsError(
            f"cannot load {name}: its weights are a pickle of more than arrays, which could run "
            "any code; take a model whose weights are safetensors"
        )
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return SettingsError(
        f"cannot load {name}: {reason}; check the name, and that its weights can be downloaded"
    )
