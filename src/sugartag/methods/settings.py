"""Settings of a method as text and as values: ``key=value`` to a field of the right type."""

import dataclasses
import difflib
import logging
import types
import typing
from collections.abc import Mapping
from typing import Any

from sugartag.errors import SettingsError

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Preset:
    """Settings that belong together under a name."""

    settings: Mapping[str, Any]
    notes: str
    """What the preset is and where it departs from what it stands for, in one line."""
    level: int = logging.INFO
    """At which the notes are logged."""


def with_settings(method_type: type[Any], values: Mapping[str, Any]) -> Any:
    """Make a method from values by field name; texts are converted to the field's type.

    A method with ``presets`` takes one by its name as ``preset``; other values replace those of it.
    """
    values = _with_preset(method_type, values)
    hints = typing.get_type_hints(method_type)
    names = [field.name for field in dataclasses.fields(method_type) if field.init]
    given = {}
    for key, value in values.items():
        if key not in names:
            raise SettingsError(_unknown(key, names, method_type.name))
        given[key] = _converted(value, hints[key], f"{method_type.name} setting {key}")
    return method_type(**given)


def _with_preset(method_type: type[Any], values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values with those of the preset they name."""
    presets: Mapping[str, Preset] = getattr(method_type, "presets", {})
    if "preset" not in values or not presets:
        return values
    name, method = values["preset"], method_type.name
    require(
        name in presets,
        f"{method} setting preset is {name!r}; choose one of: {', '.join(presets)}",
    )
    logger.log(presets[name].level, "%s preset %s: %s", method, name, presets[name].notes)
    others = {key: value for key, value in values.items() if key != "preset"}
    return {**presets[name].settings, **others}


def described_settings(method_type: type[Any]) -> list[dict[str, Any]]:
    """List the settings of a method: name, type and default."""
    hints = typing.get_type_hints(method_type)
    return [
        {"name": field.name, "type": _type_name(hints[field.name]), "default": field.default}
        for field in dataclasses.fields(method_type)
        if field.init
    ]


def require(condition: bool, message: str) -> None:
    """Raise a :class:`SettingsError` unless the condition holds."""
    if not condition:
        raise SettingsError(message)


def require_counts(method: Any, *names: str) -> None:
    """Raise unless the settings of these names are 1 or more."""
    for name in names:
        _require_of(method, name, getattr(method, name) >= 1, "be at least 1")


def require_positive(method: Any, *names: str) -> None:
    """Raise unless the settings of these names are above 0."""
    for name in names:
        _require_of(method, name, getattr(method, name) > 0, "be above 0")


def require_not_negative(method: Any, *names: str) -> None:
    """Raise unless the settings of these names are 0 or more."""
    for name in names:
        _require_of(method, name, getattr(method, name) >= 0, "not be negative")


def require_shares(method: Any, *names: str) -> None:
    """Raise unless the settings of these names are from 0 to 1."""
    for name in names:
        _require_of(method, name, 0 <= getattr(method, name) <= 1, "be a number from 0 to 1")


def _require_of(method: Any, name: str, condition: bool, rule: str) -> None:
    require(condition, f"{method.name} setting {name} is {getattr(method, name)}; it must {rule}")


def _converted(value: Any, hint: Any, what: str) -> Any:
    options = typing.get_args(hint)
    if typing.get_origin(hint) is typing.Literal:
        require(value in options, f"{what} is {value!r}; choose one of: {', '.join(options)}")
        return value
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        if value is None or (isinstance(value, str) and value.lower() in ("none", "")):
            return None
        return _converted(value, next(o for o in options if o is not types.NoneType), what)
    if hint is bool:
        return _boolean(value, what)
    is_broken = hint is int and isinstance(value, float) and not value.is_integer()
    require(not is_broken, f"{what} is {value!r}, which is not int")
    try:
        return hint(value)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{what} is {value!r}, which is not {_type_name(hint)}") from error


def _boolean(value: Any, what: str) -> bool:
    word = str(value).lower()
    require(word in ("true", "false", "yes", "no", "1", "0"), f"{what} is {value!r}; say yes or no")
    return word in ("true", "yes", "1")


def _type_name(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Literal:
        return " | ".join(map(str, typing.get_args(hint)))
    return hint.__name__ if isinstance(hint, type) else str(hint)


def _unknown(key: str, names: list[str], method: str) -> str:
    near = difflib.get_close_matches(key, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"it has: {', '.join(names) or 'none'}"
    return f"{method} has no setting {key!r}; {hint}"
