"""Every method by its name on the command line: ours, and those of other packages.

A package offers methods through entry points of the group ``sugartag.methods``; ours use the same
door. A method is imported when it is asked for.
"""

import difflib
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from sugartag.errors import SettingsError
from sugartag.methods.base import Method
from sugartag.methods.settings import with_settings

GROUP = "sugartag.methods"
OURS = "sugartag"
ORDER = (
    *("original", "trvsc", "lr", "nmc", "lslr", "mrtf", "ttc1", "ttc2", "sugar-tc", "sugar-plus"),
    *("tag-vote", "tag-vote-own", "tag-prop", "linear-probe", "implicit-als", "tag-prior"),
)
"""The order of tables: what was given, the published methods, ours, the peers, then all others."""
PARTS = ("name", "summary", "fitted_type", "fit")
"""What a method must have."""


class Methods(Mapping[str, type[Any]]):
    """The class of each method by its name, in the order of tables."""

    @cached_property
    def _entries(self) -> dict[str, list[EntryPoint]]:
        found: dict[str, list[EntryPoint]] = {}
        for entry in entry_points(group=GROUP):
            among = found.setdefault(entry.name, [])
            if entry.value not in [other.value for other in among]:
                among.append(entry)
        if not any(package_of_entry(entry) == OURS for some in found.values() for entry in some):
            raise SettingsError(
                "the methods of sugartag are not installed with it; "
                "install it again: pip install --force-reinstall --no-deps sugartag"
            )
        others = sorted(set(found) - set(ORDER))
        return {name: found[name] for name in (*ORDER, *others) if name in found}

    def __getitem__(self, name: str) -> type[Any]:
        """Import a method, and make sure that it is one."""
        entry = self.entry(name)
        try:
            method_type: type[Any] = entry.load()
        except (ImportError, AttributeError) as error:
            raise SettingsError(
                f"the method {name!r} of the package {package_of_entry(entry)} cannot be "
                f"imported: {error}; install the package again"
            ) from error
        lacking = [part for part in PARTS if not hasattr(method_type, part)]
        if lacking or method_type.name != name:
            fault = f"has no {lacking[0]}" if lacking else f"calls itself {method_type.name!r}"
            raise SettingsError(
                f"the method {name!r} of the package {package_of_entry(entry)} {fault}; "
                "tell its authors"
            )
        return method_type

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def entry(self, name: str) -> EntryPoint:
        """Return where a method is; ours come before those of others."""
        offered = self._entries[name]
        own = [entry for entry in offered if package_of_entry(entry) == OURS]
        if not own and len(offered) > 1:
            packages = " and ".join(sorted(map(package_of_entry, offered)))
            raise SettingsError(
                f"the packages {packages} both offer the method {name!r}; uninstall one of them"
            )
        return (own or offered)[0]


METHODS = Methods()


def method_names() -> tuple[str, ...]:
    """Return the names of all methods, in the order of tables."""
    return tuple(METHODS)


def package_of(name: str) -> str:
    """Return the package that brings a method, as it is installed by pip."""
    return package_of_entry(METHODS.entry(name))


def package_of_entry(entry: EntryPoint) -> str:
    """Return the package that an entry point belongs to."""
    return entry.dist.name if entry.dist is not None else entry.module.partition(".")[0]


def missing_package(name: str) -> str | None:
    """Return the extra that a method needs and that is not installed; None if it can run."""
    extra: str | None = getattr(METHODS[name], "extra", None)
    return extra if extra is not None and find_spec(extra) is None else None


def make_method(name: str, settings: Mapping[str, Any] = {}, /, **more: Any) -> Method:
    """Return the method of this name with these settings, the others at their defaults."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise SettingsError(
            f"there is no method {name!r}; {hint}The methods are: {', '.join(METHODS)}"
        )
    method: Method = with_settings(METHODS[name], {**settings, **more})
    return method
