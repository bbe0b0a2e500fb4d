"""Which methods a command line names, and which of their settings it changes."""

from collections.abc import Sequence

import click

from sugartag.errors import SettingsError
from sugartag.methods.registry import METHODS, missing_package

EVERY_METHOD = "all"


def chosen_names(text: str) -> list[str]:
    """Return the methods of ``A,B`` in this order, or those that can run here for ``all``."""
    listed = [name.strip() for name in text.split(",") if name.strip()]
    names = _every_method() if listed == [EVERY_METHOD] else list(dict.fromkeys(listed))
    if not names:
        raise SettingsError(f"--methods names none; choose from: {', '.join(METHODS)}, or all")
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise SettingsError(
            f"--methods has unknown {', '.join(map(repr, unknown))}; "
            f"choose from: {', '.join(METHODS)}, or all"
        )
    return names


def settings_by_method(texts: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Sort ``METHOD.key=value`` texts by method."""
    chosen: dict[str, dict[str, str]] = {name: {} for name in names}
    for text in texts:
        where, equals, value = text.partition("=")
        name, dot, key = where.rpartition(".")
        if not equals or not key:
            raise SettingsError(f"--set {text!r} is not of the form METHOD.key=value")
        if not dot and len(names) > 1:
            raise SettingsError(f"--set {text!r} does not say which method; put METHOD. before it")
        name = name if dot else names[0]
        if name not in chosen:
            raise SettingsError(f"--set {text!r} is for {name!r}, which --methods does not name")
        chosen[name][key] = value
    return chosen


def _every_method() -> list[str]:
    """Return the methods that can run here, after saying which cannot."""
    found = []
    for name in METHODS:
        try:
            extra = missing_package(name)
        except SettingsError as error:
            click.echo(f"{name}: left out; {error}", err=True)
            continue
        if extra:
            click.echo(f"{name}: left out; pip install 'sugartag[{extra}]'", err=True)
        else:
            found.append(name)
    return found
