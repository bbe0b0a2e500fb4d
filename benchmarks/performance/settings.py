"""What the settings of a benchmark may be."""

from collections.abc import Sequence
from typing import Any

from sugartag.errors import SettingsError


def require_settings(bench: Any, *names: str) -> None:
    """Raise unless the settings of these names are 1 or more."""
    for name in names:
        value = getattr(bench, name)
        if value < 1:
            option = name.replace("_", "-")
            raise SettingsError(f"--{option} is {value}; bench {bench.name} needs at least 1")


def choice_of(asked: Sequence[str], known: Sequence[str]) -> None:
    """Raise if something is asked for that there is not, or nothing at all."""
    unknown = [name for name in asked if name not in known]
    if unknown or not asked:
        wrong = f"no method {unknown[0]!r}" if unknown else "no method to measure"
        raise SettingsError(f"there is {wrong}; choose from: {', '.join(known)}")
