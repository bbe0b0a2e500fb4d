"""``sugartag estimate``: what a fit will take, before anything runs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sugartag.cli.amounts import count_from
from sugartag.cli.memory import max_memory_option
from sugartag.cli.options import FOLDER, parsed_settings

if TYPE_CHECKING:
    from sugartag.costs.advice import Plan
    from sugartag.costs.estimate import Estimate, StageCost
    from sugartag.costs.rates import Rates
    from sugartag.costs.size import Size


@click.command("estimate")
@click.argument("collection", type=FOLDER, required=False)
@click.option("--method", "name", default=None, help="Which method; see: sugartag methods")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of it.")
@click.option("--images", type=count_from(1), help="Images of a collection that is not there.")
@click.option("--tags", type=count_from(1), help="Its tags.")
@click.option("--owners", type=count_from(0), help="Its owners; a twentieth of the images.")
@click.option("--features", type=count_from(0), help="Numbers that describe an image; 512.")
@click.option("--tags-per-image", type=click.FloatRange(0, 1e6), help="Given tags; 6.")
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
    """Say what fitting COLLECTION will take: time by stage, memory and disk.

    Measures this machine for about a second; nothing is fitted. With --images and --tags it
    answers for a collection that is not there, with --workers for as many machines' cores.

    \b
    Example:
      sugartag estimate photos/ --method sugar-plus --max-memory 4G
      sugartag estimate --images 1e9 --tags 2e5 --workers 64
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.costs.advice import Plan
    from sugartag.costs.calibration import shipped_calibration
    from sugartag.costs.rates import measure_rates
    from sugartag.fitting import DEFAULT_METHOD
    from sugartag.methods.registry import make_method

    method = make_method(name or DEFAULT_METHOD, parsed_settings(settings))
    size = _size(collection, imagined)
    rates = measure_rates(_large_file(collection))
    plan = Plan(
        method,
        size,
        shipped_calibration(),
        workers=workers or rates.cores,
        apart=workers is not None,
        rates=rates,
    )
    found = plan.estimate()
    problems = _problems(plan, found, max_memory, collection)
    if as_json:
        told = {**found.as_json(), "advice": problems, "rates": rates.as_json()}
        click.echo(json.dumps(told, indent=1))
        return
    for line in (*_table(found), *_measured(rates), *problems):
        click.echo(line)


def _size(collection: Path | None, imagined: dict[str, Any]) -> "Size":
    """Return the size of the collection that is meant."""
    from sugartag.collection import open_collection
    from sugartag.costs.size import imagined_size, size_of

    given = {key: value for key, value in imagined.items() if value is not None}
    context = click.get_current_context()
    if collection is not None:
        if given:
            option = "--" + next(iter(given)).replace("_", "-")
            raise click.UsageError(f"{option} does not go with a COLLECTION that is there", context)
        return size_of(open_collection(collection, verify=False))
    if "images" not in given or "tags" not in given:
        raise click.UsageError("name a COLLECTION, or give --images and --tags", context)
    return imagined_size(given.pop("images"), given.pop("tags"), **given)


def _large_file(collection: Path | None) -> Path | None:
    """Return the largest file of the first shard, to read from."""
    if collection is None:
        return None
    files = sorted((collection / "shards").glob("00000/*.npy"))
    return max(files, key=lambda file: file.stat().st_size) if files else None


def _table(found: "Estimate") -> list[str]:
    from sugartag.costs.advice import in_seconds
    from sugartag.costs.limits import in_bytes

    size = found.size
    lines = [
        f"{found.method} on {size.images:,} images, {size.tags:,} tags, {size.owners:,} owners and "
        f"{size.features} features, {_who(found)}",
        "",
        f"{'stage':12} {'time':>10} {'passes':>7} {'memory':>10}"
        + (f" {'a worker':>10} {'network':>10}" if found.apart else ""),
    ]
    lines += [_line(stage, found.apart) for stage in found.stages]
    lines += [
        "",
        f"fit          {in_seconds(found.seconds)}, {found.passes} passes over the images",
    ]
    if found.apart:
        lines.append(
            f"of that      {in_seconds(found.serial_seconds)} that more workers do not cut"
        )
        lines.append(f"network      {in_bytes(found.sent_bytes)} in all passes")
    lines += [
        f"memory       {in_bytes(found.bytes)} in the stage {found.peak.name}"
        + (f"; {in_bytes(found.worker_bytes)} a worker" if found.apart else ""),
        f"disk         {in_bytes(found.model_bytes)} for the model, "
        f"{in_bytes(found.scratch_bytes)} while it runs; the collection has {in_bytes(size.disk)}",
        f"suggest      {in_seconds(found.suggest.seconds)} for all images, "
        f"{in_bytes(found.suggest.bytes)} of memory",
        f"accuracy     {_accuracy(found.within)}",
    ]
    return lines


def _accuracy(within: float) -> str:
    if within > 2:
        return f"rough: a power law, within a factor of {within:g} near the sizes it was made from"
    return f"within a factor of {within:g} where it was checked: see docs/estimate.md"


def _who(found: "Estimate") -> str:
    if found.apart:
        return f"by {found.workers:,} processes of one core each"
    return f"by {found.workers} threads of one process"


def _line(stage: "StageCost", apart: bool) -> str:
    from sugartag.costs.advice import in_seconds
    from sugartag.costs.limits import in_bytes

    line = f"{stage.name:12} {in_seconds(stage.seconds):>10} {stage.passes:>7}"
    line += f" {in_bytes(stage.bytes):>10}"
    if apart:
        line += f" {in_bytes(stage.worker_bytes):>10} {in_bytes(stage.sent_bytes):>10}"
    return line


def _measured(rates: "Rates") -> list[str]:
    from sugartag.costs.limits import in_bytes

    cached = ", from memory: a disk is slower" if rates.read_is_cached else ""
    return [
        "",
        f"measured     {rates.cores} cores; products {rates.product32_one / 1e9:.0f} Gflop/s "
        f"(float32, one core), {rates.product32_all / 1e9:.0f} (all); inverse "
        f"{rates.solve64_all / 1e9:.0f} Gflop/s",
        f"             sparse products {rates.sparse_one / 1e9:.2g} G/s; arrays "
        f"{in_bytes(rates.copied)}/s; files {in_bytes(rates.read)}/s{cached}",
    ]


def _problems(
    plan: "Plan", found: "Estimate", limit: int | None, collection: Path | None
) -> list[str]:
    """Return a line for each thing that does not fit, with what would help."""
    from sugartag.costs.advice import LONG, in_seconds, time_advice
    from sugartag.costs.limits import in_bytes, memory_advice
    from sugartag.costs.system import available_memory, free_disk

    lines = []
    most = limit if limit is not None else available_memory()
    if most is not None and plan.rows_within(most) is None:
        whose = "may be used" if limit is not None else "are free"
        lines.append(
            f"does not fit {in_bytes(plan.needed())} of memory, {in_bytes(most)} {whose}: "
            f"{memory_advice(plan, most)}"
        )
    needed, free = found.model_bytes + found.scratch_bytes, free_disk(collection or Path())
    if needed > free:
        lines.append(
            f"does not fit {in_bytes(needed)} of disk, {in_bytes(free)} are free here: "
            "write the model to another disk"
        )
    if found.seconds > LONG:
        lines.append(f"takes long   {in_seconds(found.seconds)}: {time_advice(plan)}")
    return lines
