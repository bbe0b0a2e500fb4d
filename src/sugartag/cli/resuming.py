"""Long commands that go on after they were killed: the options, and the engine that keeps work."""

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from sugartag.cli.engines import EngineChoice
from sugartag.cli.main import EXIT_STOPPED
from sugartag.engine.checkpoint import ResumableEngine, Work, work_beside
from sugartag.engine.checkpoint.engine import SECONDS_BETWEEN
from sugartag.errors import EngineError, StorageError
from sugartag.progress import ProgressDisplay

GO_ON = "what is done is kept: repeat the command with --resume to go on"


@dataclass(frozen=True)
class Checkpoints:
    """What the command line says of work that is kept."""

    resume: bool = False
    every: float = SECONDS_BETWEEN


def resume_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of kept work, and hand it ``checkpoints`` in their place."""

    @click.option("--resume", is_flag=True, help="Go on with a run that was killed.")
    @click.option(
        "--checkpoint-every",
        type=click.FloatRange(min=0),
        default=SECONDS_BETWEEN,
        show_default=True,
        metavar="SECONDS",
        help="Keep the work done so far this often, for --resume.",
    )
    @wraps(function)
    def command(*, resume: bool, checkpoint_every: float, **others: Any) -> Any:
        return function(checkpoints=Checkpoints(resume, checkpoint_every), **others)

    return command


@contextmanager
def kept_work(
    out: Path, run: Mapping[str, str], choice: EngineChoice, checkpoints: Checkpoints
) -> Iterator[ResumableEngine]:
    """Yield the engine asked for, keeping its work beside ``out`` until the block has ended.

    ``run`` is what the caller knows that decides the outcome; the engine is added here, and the
    code and its versions where the work is kept.
    """
    decided = {**run, "engine": choice.engine}
    with (
        work_beside(out, decided, resume=checkpoints.resume) as work,
        _telling_how_to_go_on(work),
    ):
        _tell_what_was_found(work, out, resume=checkpoints.resume)
        with ProgressDisplay() as progress, choice.opened(progress, work.folder) as inner:
            engine = ResumableEngine(inner, work.folder, checkpoints.every)
            yield engine
        if checkpoints.resume and work.found:
            _tell(f"{engine.blocks_read:,} blocks were read back from {work.folder}")


def sha256_in_short(path: Path) -> str:
    """Return enough of a small file's hash to know it from others."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def _tell_what_was_found(work: Work, out: Path, *, resume: bool) -> None:
    if resume and not work.found:
        _tell(f"there is nothing to resume beside {out}; this begins at the start")
    if work.found and not resume:
        _tell(f"discarded what a run that did not end had left in {work.folder}")


@contextmanager
def _telling_how_to_go_on(work: Work) -> Iterator[None]:
    try:
        yield
    except (EngineError, StorageError) as error:
        if not work.has_kept:
            raise
        raise type(error)(f"{error}; {GO_ON}") from error
    except KeyboardInterrupt:
        if not work.has_kept:
            raise
        _tell(f"stopped; {GO_ON}")
        sys.exit(EXIT_STOPPED)


def _tell(what: str) -> None:
    click.echo(f"sugartag: {what}", err=True)
