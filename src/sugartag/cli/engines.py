"""Where a command does its work: the options of engines, and the engine they ask for."""

import logging
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from sugartag.cli.options import threads_option
from sugartag.engine import DaskEngine, LocalEngine
from sugartag.engine.base import Progress
from sugartag.engine.clusters import Tls, distributed_package

ENGINES = ("local", "dask")


@dataclass(frozen=True)
class EngineChoice:
    """The engine that the command line asks for."""

    engine: str = "local"
    scheduler: str | None = None
    workers: int | None = None
    blas_threads: int | None = None
    tls: Tls | None = None

    def __post_init__(self) -> None:
        if self.tls is not None and self.scheduler is None:
            raise _misused("--tls-ca, --tls-cert and --tls-key need --scheduler")
        if self.scheduler is not None and self.engine != "dask":
            raise _misused("--scheduler needs --engine dask")
        if self.scheduler is not None and self.workers is not None:
            raise _misused("--workers does not go with --scheduler: its workers run already")

    def opened(
        self, progress: Progress, scratch: Path | None = None
    ) -> AbstractContextManager[LocalEngine | DaskEngine]:
        """Return the engine, to be left with ``with``; large arrays may go to the folder."""
        if self.engine == "local":
            return nullcontext(LocalEngine(self._threads(), self.blas_threads, progress, scratch))
        _silence_dask()
        if self.scheduler is not None:
            return DaskEngine.connected(
                self.scheduler,
                blas_threads=self.blas_threads,
                progress=progress,
                scratch=scratch,
                tls=self.tls,
            )
        return DaskEngine.local_cluster(
            self.workers, blas_threads=self.blas_threads, progress=progress, scratch=scratch
        )

    def _threads(self) -> int:
        """Return how many threads work on blocks: one a core, unless asked otherwise."""
        if self.workers is None and self.blas_threads is None:
            return os.cpu_count() or 1
        return self.workers or 1


def engine_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of engines, and hand it ``choice`` in their place."""

    @wraps(function)
    def command(
        *,
        engine: str,
        scheduler: str | None,
        workers: int | None,
        blas_threads: int | None,
        tls_ca: Path | None,
        tls_cert: Path | None,
        tls_key: Path | None,
        **others: Any,
    ) -> Any:
        tls = _tls(tls_ca, tls_cert, tls_key)
        choice = EngineChoice(engine, scheduler, workers, blas_threads, tls)
        return function(choice=choice, **others)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _tls(ca: Path | None, cert: Path | None, key: Path | None) -> Tls | None:
    if ca is not None and cert is not None and key is not None:
        return Tls(ca, cert, key)
    if ca is not None or cert is not None or key is not None:
        raise _misused("--tls-ca, --tls-cert and --tls-key go together")
    return None


def _silence_dask() -> None:
    """Keep Dask's own words about a lost connection off the terminal; ours say it in one line."""
    distributed_package()  # Sets levels of its own when it is first imported.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _misused(message: str) -> click.UsageError:
    return click.UsageError(message, click.get_current_context(silent=True))


_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default="local",
        show_default=True,
        help="Work in this process, or on Dask workers.",
    ),
    click.option(
        "--scheduler", metavar="ADDRESS", help="A running Dask scheduler, as tcp://host:8786"
    ),
    click.option(
        "--workers",
        type=click.IntRange(1),
        metavar="N",
        help="Threads of this process, or processes that Dask starts here.",
    ),
    threads_option,
    *(
        click.option(f"--tls-{name}", type=click.Path(path_type=Path), metavar="FILE", help=text)
        for name, text in (
            ("ca", "The authority that scheduler and workers are signed by."),
            ("cert", "The certificate of this client."),
            ("key", "The key of that certificate."),
        )
    ),
)
