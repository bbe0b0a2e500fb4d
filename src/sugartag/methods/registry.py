"""Every method by its name on the command line."""

import difflib
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from sugartag.errors import SettingsError
from sugartag.methods.base import Method
from sugartag.methods.implicit_als import ImplicitALS
from sugartag.methods.linear_probe import LinearProbe
from sugartag.methods.lr import LowRank
from sugartag.methods.lslr import LocalLowRank
from sugartag.methods.mrtf import RankingFactorisation
from sugartag.methods.nmc import NonlinearCompletion
from sugartag.methods.original import Original
from sugartag.methods.settings import with_settings
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_tc import SugarTC
from sugartag.methods.tag_prior import TagPrior
from sugartag.methods.tag_prop import TagProp
from sugartag.methods.tag_vote import TagVote, TagVoteOwn
from sugartag.methods.trvsc import TRVSC
from sugartag.methods.ttc import TTC1, TTC2

# The order of tables: what was given, the published methods, ours, then the peers.
_METHOD_TYPES: tuple[type[Any], ...] = (
    Original,
    TRVSC,
    LowRank,
    NonlinearCompletion,
    LocalLowRank,
    RankingFactorisation,
    TTC1,
    TTC2,
    SugarTC,
    SugarPlus,
    TagVote,
    TagVoteOwn,
    TagProp,
    LinearProbe,
    ImplicitALS,
    TagPrior,
)

METHODS: dict[str, type[Any]] = {method_type.name: method_type for method_type in _METHOD_TYPES}
"""The class of each method, in the order of tables."""


def method_names() -> tuple[str, ...]:
    """Return the names of all methods, in the order of tables."""
    return tuple(METHODS)


def missing_package(name: str) -> str | None:
    """Return the extra that a method needs and that is not installed; None if it can run."""
    extra: str | None = getattr(METHODS[name], "extra", None)
    return extra if extra is not None and find_spec(extra) is None else None


def make_method(name: str, settings: Mapping[str, Any] = {}) -> Method:
    """Return the method of this name with these settings, the others at their defaults."""
    if name not in METHODS:
        near = difflib.get_close_matches(name, METHODS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise SettingsError(
            f"there is no method {name!r}; {hint}The methods are: {', '.join(METHODS)}"
        )
    method: Method = with_settings(METHODS[name], settings)
    return method
