"""Networks in ONNX files, run by onnxruntime."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sugartag._extras import optional
from sugartag._typing import FloatArray
from sugartag.errors import SettingsError
from sugartag.features.encoders import Prepared
from sugartag.features.preprocessing import CHANNELS, Preprocessing, read_preprocessing
from sugartag.storage.arrays import sha256_of

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_AT_ONCE = 4
"""Batches described at the same time: threads that share one wait for each other at every layer;
batches of large networks take memory."""
_FAILURES = (
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "NoModel",
    "NoSuchFile",
    "NotImplemented",
    "RuntimeException",
)
"""What onnxruntime raises, none of which has a parent but Exception."""


@dataclass(frozen=True, eq=False)
class OnnxEncoder:
    """A session, and how pictures are prepared for it."""

    name: str
    dimensions: int
    fingerprint: str
    preprocessing: Preprocessing
    session: Any
    one_at_a_time: bool
    """Whether the network was exported for a batch of 1."""
    at_once: int
    """How many batches are described at the same time, each by its share of the threads."""

    @classmethod
    def load(cls, path: Path, *, name: str, threads: int | None = None) -> "OnnxEncoder":
        """Open an ONNX file and the JSON beside it; raise in one line if either is not fit."""
        runtime = optional("onnxruntime", extra="embed", needed_for=f"the encoder {name}")
        if not path.is_file():
            raise SettingsError(f"{path} is not a file; name an ONNX file")
        preprocessing = read_preprocessing(path.with_name(f"{path.name}.json"))
        threads = threads or len(os.sched_getaffinity(0))
        at_once = min(threads, MOST_AT_ONCE)
        session = _session(runtime, path, threads // at_once)
        batch = _checked_batch(path, session, preprocessing)
        blank = Path(path), session, preprocessing
        text = f"{sha256_of(path)} {preprocessing.as_json()}"
        return cls(
            name=name,
            dimensions=_dimensions(*blank),
            fingerprint=hashlib.sha256(text.encode()).hexdigest(),
            preprocessing=preprocessing,
            session=session,
            one_at_a_time=batch == 1,
            at_once=at_once,
        )

    @property
    def size(self) -> int:
        """The sides of the square that the network takes."""
        return self.preprocessing.size

    def prepare(self, image: "Image") -> Prepared:
        """Return the square of one RGB picture that the network sees, in bytes."""
        return self.preprocessing.square(image)

    def encode(self, batch: Prepared) -> FloatArray:
        """Return pictures x dimensions."""
        values = self.preprocessing.values(batch)
        step = 1 if self.one_at_a_time else max(len(batch), 1)
        parts = [values[start : start + step] for start in range(0, len(batch), step)]
        if not parts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.concatenate([_run(self.session, self.preprocessing, part) for part in parts])


def _run(session: Any, preprocessing: Preprocessing, batch: FloatArray) -> FloatArray:
    found: FloatArray = session.run([preprocessing.output], {preprocessing.input: batch})[0]
    return found.astype(np.float32, copy=False)


def _session(runtime: Any, path: Path, threads: int) -> Any:
    """Open a network; each batch is described by this many threads."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Threads that wait by turning take the processor from those that decode.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except _failures(runtime) as error:
        raise SettingsError(f"{path} is not an ONNX file that runs here: {_line(error)}") from error


def _checked_batch(path: Path, session: Any, preprocessing: Preprocessing) -> object:
    """Return the network's batch: 1, or the name of any number; raise if the JSON is not of it."""
    inputs = {one.name: one for one in session.get_inputs()}
    outputs = [one.name for one in session.get_outputs()]
    if preprocessing.input not in inputs or len(inputs) != 1:
        raise SettingsError(
            f"{path} has the inputs {', '.join(inputs)}; its JSON must name the one there is"
        )
    if preprocessing.output not in outputs:
        raise SettingsError(
            f"{path} has no output {preprocessing.output!r}; it has {', '.join(outputs)}"
        )
    found = inputs[preprocessing.input]
    side = preprocessing.size
    wanted = (CHANNELS, side, side) if preprocessing.layout == "nchw" else (side, side, CHANNELS)
    fixed = zip(found.shape[1:], wanted, strict=False)
    fits = len(found.shape) == 4 and all(not isinstance(a, int) or a == b for a, b in fixed)
    if not fits or found.type != "tensor(float)":
        raise SettingsError(
            f"{path} takes {found.type} of shape {found.shape}, and its JSON makes float32 of "
            f"shape {['batch', *wanted]}; correct size or layout"
        )
    batch: object = found.shape[0]
    if isinstance(batch, int) and batch != 1:
        raise SettingsError(f"{path} takes {batch} pictures at a time; export it for any number")
    return batch


def _dimensions(path: Path, session: Any, preprocessing: Preprocessing) -> int:
    """Return how many numbers describe a picture, by trying a blank one."""
    runtime = optional("onnxruntime", extra="embed", needed_for="encoders")
    side = preprocessing.size
    shape = (CHANNELS, side, side) if preprocessing.layout == "nchw" else (side, side, CHANNELS)
    try:
        found = _run(session, preprocessing, np.zeros((1, *shape), dtype=np.float32))
    except _failures(runtime) as error:
        raise SettingsError(f"{path} cannot describe a blank picture: {_line(error)}") from error
    if found.ndim != 2 or len(found) != 1 or found.shape[1] == 0:
        raise SettingsError(
            f"{path} gives {preprocessing.output!r} of shape {found.shape}; "
            "name an output of pictures x numbers"
        )
    return int(found.shape[1])


def _failures(runtime: Any) -> tuple[type[Exception], ...]:
    state = runtime.capi.onnxruntime_pybind11_state
    return tuple(getattr(state, name) for name in _FAILURES if hasattr(state, name))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
