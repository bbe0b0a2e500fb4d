"""``sugartag estimate``: what a fit will take, before anything runs."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sugartag.cli.amounts import count_from
from sugartag.cli.memory import max_memory_option
from sugartag.cli.options import FOLDER, parsed_settings

if TYPE_CHECKING:
    from sugartag.costs.estimate import Plan
    from sugartag.costs.size import Size

EXIT_LIMIT_EXCEEDED = 3


@click.command("estimate")
@click.argument("collection", type=FOLDER, required=False)
@click.option("--method", "name", default=None, help="Which method; see: sugartag methods")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a setting.")
@click.option("--images", type=count_from(1), help="Images, without a COLLECTION.")
@click.option("--tags", type=count_from(1), help="Tags, likewise.")
@click.option("--owners", type=count_from(0), help="Owners; else images / 20.")
@click.option("--features", type=count_from(0), help="Feature numbers; else 512.")
@click.option("--tags-per-image", type=click.FloatRange(0, 1e6), help="Else 6.")
@click.option("--workers", type=count_from(1), metavar="N", help="Processes of one core each.")
@max_memory_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    collection: Path | None,
    name: str | None,
    settings: tuple[str, ...],
    workers: int | None,
    max_memory: int | None,
    as_json: bool,
    **imagined: Any,
) -> None:
    """Say what fitting COLLECTION will take: time, memory and disk, within a factor of 2.

    Times this machine for a fraction of a second; nothing is fitted. With --images and --tags it
    answers for a collection that does not exist yet, with --workers for as many processes. Exit
    code 3 means that the limit given with --max-memory would not hold.

    \b
    Example:
      sugartag estimate photos/ --method sugar-plus --max-memory 4G
      sugartag estimate --images 1e6 --tags 2e4 --workers 16
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.costs.estimate import Plan
    from sugartag.costs.limits import workers_that_fit
    from sugartag.costs.machine import measure_rates
    from sugartag.methods.registry import make_method
    from sugartag.pipeline.fitting import DEFAULT_METHOD

    method = make_method(name or DEFAULT_METHOD, parsed_settings(settings))
    size, rates = _size(collection, imagined), measure_rates()
    plan = Plan.of(
        method, size, workers=workers or rates.cores, apart=workers is not None, rates=rates
    )
    fitting = plan.workers if max_memory is None else workers_that_fit(plan, max_memory)
    advice = _advice(plan, max_memory, collection)
    plan = plan if plan.apart else replace(plan, workers=fitting or 1)
    if as_json:
        made = {**plan.as_json(), "advice": advice, "rates": rates.as_json()}
        click.echo(json.dumps(made, indent=1))
    else:
        for line in (*_lines(plan), *advice):
            click.echo(line)
    if fitting is None:
        sys.exit(EXIT_LIMIT_EXCEEDED)


def _size(collection: Path | None, imagined: dict[str, Any]) -> "Size":
    """Return the size of the collection, or of the one to imagine."""
    from sugartag.collection import open_collection
    from sugartag.costs.size import imagined_size, size_of

    given = {key: value for key, value in imagined.items() if value is not None}
    context = click.get_current_context()
    if collection is not None:
        if given:
            option = "--" + next(iter(given)).replace("_", "-")
            raise click.UsageError(f"{option} does not go with a COLLECTION", context)
        return size_of(open_collection(collection, verify=False))
    if "images" not in given or "tags" not in given:
        raise click.UsageError("name a COLLECTION, or give --images and --tags", context)
    return imagined_size(given.pop("images"), given.pop("tags"), **given)


def _lines(plan: "Plan") -> list[str]:
    """Return the estimate as text."""
    from sugartag.costs.limits import in_bytes, in_seconds

    size, memory = plan.size, in_bytes(plan.memory())
    who = f"{plan.workers:,} worker processes" if plan.apart else f"{plan.workers} threads"
    scratch = f", {in_bytes(plan.scratch_bytes)} of scratch files" if plan.scratch_bytes else ""
    return [
        f"{plan.method.name} on {size.images:,} images, {size.tags:,} tags, {size.owners:,} owners "
        f"and {size.features} features, with {who}",
        "",
        f"fit          {in_seconds(plan.seconds)}",
        f"suggest      {in_seconds(plan.suggest_seconds)} for all images",
        f"memory       {memory}" + (", and as much for each worker" if plan.apart else ""),
        f"disk         {in_bytes(plan.model_bytes)} for the model{scratch}; the collection has "
        f"{in_bytes(size.disk)}",
        f"accuracy     within a factor of {plan.costs.within:g} near the sizes that were measured: "
        "see docs/estimate.md",
        f"machine      {plan.rates.cores} cores, {plan.rates.product / 1e9:.0f} Gflop/s each",
    ]


def _advice(plan: "Plan", limit: int | None, collection: Path | None) -> list[str]:
    """Return a line for each thing that is too large or takes long, with what would help."""
    from sugartag.costs import machine
    from sugartag.costs.limits import (
        LONG,
        in_bytes,
        in_bytes_above,
        in_seconds,
        least_needed,
        memory_advice,
        time_advice,
        workers_that_fit,
    )

    lines = []
    most = limit if limit is not None else machine.available_memory()
    if most is not None and workers_that_fit(plan, most) is None:
        whose = "may be used" if limit is not None else "is free"
        lines.append(
            f"does not fit {in_bytes_above(least_needed(plan))} of memory, {in_bytes(most)} "
            f"{whose}: {memory_advice(plan, most)}"
        )
    disk, free = plan.model_bytes + plan.scratch_bytes, machine.free_disk(collection or Path())
    if disk > free:
        lines.append(
            f"does not fit {in_bytes(disk)} of disk, {in_bytes(free)} is free here: write the "
            "model to another disk"
        )
    if plan.seconds > LONG:
        lines.append(f"takes long   {in_seconds(plan.seconds)}: {time_advice(plan)}")
    return lines
