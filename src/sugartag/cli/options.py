"""Options and small steps that several commands share."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sugartag.errors import SettingsError

if TYPE_CHECKING:
    from sugartag.collection import Collection

FOLDER = click.Path(path_type=Path)

seed_option = click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Same seed, same numbers."
)
overwrite_option = click.option(
    "--overwrite", is_flag=True, help="Replace what stands under the target name."
)
threads_option = click.option(
    "--blas-threads",
    type=click.IntRange(1),
    help="BLAS threads of each worker; all cores if there is one.",
)


def tell_of_missing_features(collection: "Collection") -> None:
    """Say on stderr how many images have no features, where others have."""
    if 0 < collection.n_with_features < collection.n_images:
        lacking = collection.n_images - collection.n_with_features
        click.echo(
            f"{lacking:,} of {collection.n_images:,} images have no features: "
            "what they look like is not used",
            err=True,
        )


def parsed_settings(pairs: Iterable[str]) -> dict[str, str]:
    """Turn ``key=value`` texts into a mapping."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise SettingsError(f"--set takes key=value, not {pair!r}")
        settings[key.strip()] = value.strip()
    return settings
