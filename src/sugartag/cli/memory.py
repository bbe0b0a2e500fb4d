"""``--max-memory``: refuse before anything runs what would not fit, or use fewer threads."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from sugartag.cli.amounts import memory_amount
from sugartag.cli.engines import EngineChoice
from sugartag.collection.model import Collection
from sugartag.methods.base import Method, Updatable

if TYPE_CHECKING:
    from sugartag.costs.estimate import Plan
    from sugartag.pipeline.model import Model

max_memory_option = click.option(
    "--max-memory",
    type=memory_amount,
    metavar="SIZE",
    help="Use no more memory than this, as 4G or 512M; refuse what does not fit.",
)


def kept_within(
    limit: int | None, method: Method, collection: Collection, choice: EngineChoice
) -> EngineChoice:
    """Return the engine with few enough threads for the limit; raise if one is too many.

    Without a limit, warn if the estimate is above the memory that is free.
    """
    from sugartag.costs import size
    from sugartag.costs.estimate import Plan

    plan = Plan.of(method, size.size_of(collection), **_how(choice))
    return _within(limit, plan, choice)


def update_kept_within(
    limit: int | None, model: "Model", collection: Collection, choice: EngineChoice
) -> EngineChoice:
    """Return the engine with few enough threads for the limit, as for a fit."""
    from sugartag.costs.estimate import Update

    # What cannot be updated is refused later, with the reason.
    if not isinstance(model.fitted, Updatable):
        return choice
    return _within(limit, Update.to(model, collection, **_how(choice)), choice)


def _within(limit: int | None, plan: "Plan", choice: EngineChoice) -> EngineChoice:
    from sugartag.costs import machine
    from sugartag.costs.limits import in_bytes, memory_advice, workers_within

    if limit is not None:
        workers = workers_within(plan, limit)
        return choice if plan.apart else replace(choice, workers=workers)
    free, needed = machine.available_memory(), plan.memory()
    if free is not None and needed > free:
        click.echo(
            f"sugartag: this will need about {in_bytes(needed)} of memory, and {in_bytes(free)} "
            f"are free; {memory_advice(plan, free)}",
            err=True,
        )
    return choice


def _how(choice: EngineChoice) -> dict[str, Any]:
    return {"workers": workers_of(choice), "apart": choice.engine != "local"}


def workers_of(choice: EngineChoice) -> int:
    """Return how many blocks are worked on at the same time."""
    import os

    if choice.workers is None and choice.blas_threads is not None and choice.engine == "local":
        return 1
    return choice.workers or os.cpu_count() or 1
