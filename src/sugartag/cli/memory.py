"""``--max-memory``: refuse before anything runs what would not fit, or read in smaller blocks."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from sugartag.cli.amounts import memory_amount
from sugartag.cli.engines import EngineChoice
from sugartag.collection.model import Collection
from sugartag.methods.base import Method

if TYPE_CHECKING:
    from sugartag.costs.limits import Demand
    from sugartag.model_folder import Model

max_memory_option = click.option(
    "--max-memory",
    type=memory_amount,
    metavar="SIZE",
    help="Use no more memory than this, as 4G or 512M; refuse what does not fit.",
)


def kept_within(
    limit: int | None, method: Method, collection: Collection, choice: EngineChoice
) -> Collection:
    """Return the collection, cut into blocks small enough for the limit; raise if none are.

    Without a limit, say so if the memory that is free now will hardly do.
    """
    from sugartag.costs.advice import Plan
    from sugartag.costs.calibration import shipped_calibration
    from sugartag.costs.size import size_of

    plan = Plan(
        method,
        size_of(collection),
        shipped_calibration(),
        workers=workers_of(choice),
        apart=choice.engine != "local",
    )
    return _within(limit, plan, collection)


def update_kept_within(
    limit: int | None, model: "Model", collection: Collection, choice: EngineChoice
) -> Collection:
    """Return the images to be added, in blocks small enough for the limit, as for a fit."""
    from sugartag.costs.updating import Update

    update = Update.of(
        model, collection, workers=workers_of(choice), apart=choice.engine != "local"
    )
    return collection if update is None else _within(limit, update, collection)


def _within(limit: int | None, job: "Demand", collection: Collection) -> Collection:
    from sugartag.costs.estimate import USUAL_ROWS
    from sugartag.costs.limits import in_bytes, memory_advice, rows_within
    from sugartag.costs.system import available_memory

    if limit is not None:
        return replace(collection, rows_at_once=rows_within(job, limit))
    free, needed = available_memory(), job.largest_process(USUAL_ROWS)
    if free is not None and needed > free:
        click.echo(
            f"sugartag: this will need about {in_bytes(needed)} of memory, and {in_bytes(free)} "
            f"are free; {memory_advice(job, free)}",
            err=True,
        )
    return collection


def workers_of(choice: EngineChoice) -> int:
    """Return how many blocks are worked on at the same time."""
    import os

    if choice.workers is None and choice.blas_threads is not None and choice.engine == "local":
        return 1
    return choice.workers or os.cpu_count() or 1
