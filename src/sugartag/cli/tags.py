"""``sugartag tags``: the vocabulary of a collection, and its hygiene."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sugartag.cli.catalogues import (
    by_option,
    catalogue_option,
    changing_options,
    fail_with,
    opened,
    person,
    print_outcome,
    print_plans,
)
from sugartag.cli.options import FOLDER
from sugartag.errors import SettingsError

if TYPE_CHECKING:
    from sugartag.changes import Catalogue
    from sugartag.changes.applying import Wanted
    from sugartag.changes.plans import ImagePlan, Outcome


@click.group("tags")
def command() -> None:
    """List the tags of a collection, and tidy them up.

    Aliases and implications are virtual: search and exports follow them, the tags of the images
    stay as they are. bake makes them real, and can be undone like every run.

    \b
    Example:
      sugartag tags list photos/ --similar
    """  # noqa: D301 - click looks for the backspace character itself


@command.command("list")
@click.argument("collection", type=FOLDER)
@catalogue_option
@click.option("--used-once", is_flag=True, help="Only tags that one image has.")
@click.option("--similar", is_flag=True, help="Instead, pairs of tags that may mean the same.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def list_tags(
    collection: Path, catalogue: Path | None, used_once: bool, similar: bool, as_json: bool
) -> None:
    """List the tags of COLLECTION with their uses, or pairs that may mean the same."""
    from dataclasses import asdict

    from sugartag.changes.duplicates import near_duplicates
    from sugartag.changes.vocabulary import rules_of

    with opened(collection, catalogue) as found:
        if similar:
            pairs = near_duplicates(found)
            if as_json:
                click.echo(json.dumps([asdict(one) for one in pairs], ensure_ascii=False))
                return
            for one in pairs:
                click.echo(
                    f"{one.tag} ({one.uses:,})  {one.other} ({one.other_uses:,})  {one.kind}"
                )
            return
        uses = [(tag, n) for tag, n in found.tag_uses() if (n == 1 if used_once else n)]
        rules = rules_of(found)
    if as_json:
        click.echo(
            json.dumps(
                {
                    "tags": dict(uses),
                    "aliases": rules.aliases,
                    "implications": rules.implications,
                },
                ensure_ascii=False,
            )
        )
        return
    for tag, n in uses:
        click.echo(f"{n:8,}  {tag}")
    for tag, other in rules.aliases.items():
        click.echo(f"   alias  {tag} = {other}")
    for tag, others in rules.implications.items():
        click.echo(f" implies  {tag} = {', '.join(others)}")


def _pair(text: str) -> tuple[str, str]:
    first, equals, second = text.partition("=")
    if not (first.strip() and equals and second.strip()):
        raise SettingsError(f"{text!r} is not of the form A=B")
    return first.strip(), second.strip()


@command.command("alias")
@click.argument("collection", type=FOLDER)
@click.argument("pairs", nargs=-1, required=True)
@catalogue_option
@by_option
@click.option("--remove", is_flag=True, help="Remove the aliases of the tags named.")
def alias(
    collection: Path, pairs: tuple[str, ...], catalogue: Path | None, by: str | None, remove: bool
) -> None:
    """Make tags of COLLECTION stand for others; each of PAIRS is A=B, or with --remove A."""
    from sugartag.changes.vocabulary import remove_alias, set_alias

    with opened(collection, catalogue) as found:
        for text in pairs:
            if remove:
                remove_alias(found, text)
                click.echo(f"{text} stands for itself again")
            else:
                tag, other = _pair(text)
                set_alias(found, tag, other, by=person(by))
                click.echo(f"{tag} stands for {other} in search and exports")


@command.command("implies")
@click.argument("collection", type=FOLDER)
@click.argument("pairs", nargs=-1, required=True)
@catalogue_option
@by_option
@click.option("--remove", is_flag=True, help="Remove these implications.")
def implies(
    collection: Path, pairs: tuple[str, ...], catalogue: Path | None, by: str | None, remove: bool
) -> None:
    """Make tags of COLLECTION imply others; each of PAIRS is A=B: what has A has B."""
    from sugartag.changes.vocabulary import remove_implication, set_implication

    with opened(collection, catalogue) as found:
        for text in pairs:
            tag, other = _pair(text)
            if remove:
                remove_implication(found, tag, other)
                click.echo(f"{tag} no longer implies {other}")
            else:
                set_implication(found, tag, other, by=person(by))
                click.echo(f"what has {tag} also has {other} in search and exports")


@command.command("bake")
@click.argument("collection", type=FOLDER)
@changing_options
def bake(collection: Path, **asked: Any) -> None:
    """Make the aliases and implications of COLLECTION real."""
    from sugartag.changes import vocabulary

    _change(
        collection,
        plans=lambda found, by: vocabulary.bake_plans(found, vocabulary.rules_of(found), by),
        carry_out=lambda found, wanted, by: vocabulary.bake(found, wanted, by=by),
        **asked,
    )


@command.command("drop")
@click.argument("collection", type=FOLDER)
@click.argument("tags", nargs=-1, required=True)
@changing_options
def drop(collection: Path, tags: tuple[str, ...], **asked: Any) -> None:
    """Remove TAGS from every image of COLLECTION."""
    from sugartag.changes import vocabulary

    _change(
        collection,
        plans=lambda found, _: vocabulary.drop_plans(found, tags),
        carry_out=lambda found, wanted, by: vocabulary.drop(found, tags, wanted, by=by),
        **asked,
    )


def _change(
    collection: Path,
    *,
    plans: Callable[["Catalogue", str], Iterable["ImagePlan"]],
    carry_out: Callable[["Catalogue", "Wanted", str], "Outcome"],
    catalogue: Path | None,
    sidecars: bool,
    images_root: Path | None,
    dry_run: bool,
    by: str | None,
) -> None:
    """Change the tags of a collection as a run, or print what would change."""
    from sugartag.changes.applying import Wanted

    root = None if images_root is None else str(images_root.resolve())
    with opened(collection, catalogue, untouched=dry_run) as found:
        if dry_run:
            print_plans(plans(found, person(by)))
            return
        outcome = carry_out(found, Wanted(sidecars=sidecars, images_root=root), person(by))
    print_outcome(outcome, collection)
    fail_with(outcome.problems, "sidecars could not be written")
