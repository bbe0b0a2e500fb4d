"""What is worth trying when a method is tuned: a few values for each setting that matters.

Methods get three to eight choices of two to six values, those of weights spaced by factors, the
defaults among them. No value makes a fit more than about three times as slow as the
defaults do. Settings that make no difference to hidden tags are not there: what an image's own
tag adds to its own score, tolerances, precision, how neighbours are searched.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, TypeAlias

from sugartag.errors import SettingsError
from sugartag.methods.registry import METHODS

Choice: TypeAlias = str | tuple[str, ...]
"""One setting, or several that only make sense together; a value then has one part for each."""
Point: TypeAlias = tuple[int, ...]
"""Which value of each choice is taken."""

_YES_OR_NO = (True, False)

_VOTES: Mapping[Choice, tuple[Any, ...]] = {
    "neighbours": (5, 10, 20, 50, 100, 200),
    "one_vote_per_owner": _YES_OR_NO,
    "subtract_prior": _YES_OR_NO,
    "retrieved_per_voter": (1, 3),
    "unit_features": _YES_OR_NO,
    "whitening": (0.0, 0.5),
}

_TRICLUSTERS: Mapping[Choice, tuple[Any, ...]] = {
    "ridge": (0.03, 0.1, 0.3, 1.0),
    "smoothness": (1.0, 3.0, 10.0, 30.0),
    "neighbours": (3, 5, 10, 20),
    ("tag_rank", "image_rank"): ((20, 20), (40, 40), (80, 80)),
    "user_rank": (1, 2, 3),
    "prior_weight": (0.01, 0.1, 1.0),
    "block_share": (0.0, 0.1, 0.5),
    "tag_clusters": (None, 1),
    "factors": ("learned", "kernel"),
}

SEARCH_SPACES: Mapping[str, Mapping[Choice, tuple[Any, ...]]] = {
    "original": {},
    "trvsc": {
        "neighbours": (5, 10, 15, 25, 40),
        "fidelity": (0.1, 1.0, 10.0),
        ("taxonomy_weight", "cooccurrence_weight"): ((1.0, 0.0), (0.5, 0.5), (0.1, 0.9)),
        ("start", "start_value"): (
            ("votes", 0.3),
            ("votes", 1.0),
            ("votes", 3.0),
            ("votes", 10.0),
            ("even", 0.01),
        ),
        ("max_iterations", "new_image_updates"): ((1, 1), (3, 3), (8, 8)),
        "unit_features": _YES_OR_NO,
    },
    "lr": {
        "nuclear_share": (0.03, 0.06, 0.1, 0.2),
        "error_threshold": (0.25, 0.5, 1.0),
        "image_smoothness": (0.1, 0.3, 1.0, 3.0),
        "tag_smoothness": (0.0, 0.01, 0.03, 0.1),
        "neighbours": (8, 15, 30),
        "max_rank": (100, 200, 300),
        "unit_features": _YES_OR_NO,
    },
    "nmc": {
        "feature_weight": (0.1, 0.25, 0.5, 1.0, 2.0),
        "absence_weight": (0.03, 0.1, 0.3),
        "ridge": (0.1, 0.3, 1.0, 3.0),
        "kernel_width": (0.5, 1.0, 2.0),
        "landmarks": (150, 300, 500),
        "rank": (64, 128, 192),
        "unit_features": _YES_OR_NO,
    },
    "lslr": {
        "cluster_size": (250, 500, 1000),
        "rank": (40, 80, 120),
        "image_neighbours": (10, 20, 40),
        "image_geometry": (1.0, 3.0, 10.0, 30.0),
        "tag_geometry": (0.02, 0.1, 0.5, 2.0),
        "ridge": (0.03, 0.1, 0.3, 1.0),
        "consensus": (0.1, 1.0, 10.0),
    },
    "mrtf": {
        "smoothness": (0.001, 0.01, 0.1),
        "ridge": (0.0001, 0.001, 0.01),
        "epochs": (1, 3, 10),
        "learning_rate": (0.0003, 0.001, 0.003),
        "own_share": (0.1, 0.25, 0.5, 0.8),
        "start_scale": (2.0, 4.0, 8.0),
        "neighbours": (5, 10, 20, 40),
        "collapse": ("owner", "mean_user"),
        "learns_tags": _YES_OR_NO,
    },
    "ttc1": _TRICLUSTERS,
    "ttc2": _TRICLUSTERS,
    "sugar-tc": {
        "bandwidth": (0.5, 0.8, 1.2, 2.0),
        "links_per_image": (None, 20, 50),
        "image_share": (0.0, 0.1, 0.2, 0.4, 0.8),
        ("prior_weight", "ridge"): ((8e-8, 2e-8), (8e-7, 2e-7), (8e-6, 2e-6), (8e-4, 2e-4)),
        ("image_smoothness", "user_smoothness"): (
            (0.0, 0.0),
            (1e-4, 1e-4),
            (1e-3, 1e-3),
            (1e-3, 1e-2),
            (0.1, 0.1),
        ),
        "links_per_tag": (0, 3, 10),
        "units_per_cluster": (None, 3, 6),
        ("image_clusters", "user_clusters"): ((40, 12), (20, 6), (60, 18)),
        # Eq. 12 needs strong smoothness: without it the sums of the tensor cancel.
        ("scoring", "neighbours", "user_neighbours"): (
            ("reconstruction", 10, "unit"),
            ("assignment", 10, "unit"),
            ("assignment", 30, "unit"),
            ("assignment", 10, "user"),
        ),
    },
    "sugar-plus": {},
    "tag-vote": _VOTES,
    "tag-vote-own": _VOTES,
    "tag-prop": {
        "neighbours": (20, 50, 100, 150),
        "weights": ("distance", "rank"),
        ("sigmoid", "shrinkage"): ((False, 1.0), (True, 0.1), (True, 1.0), (True, 10.0)),
        "one_vote_per_owner": _YES_OR_NO,
        "retrieved_per_voter": (1, 3),
        "unit_features": _YES_OR_NO,
        "whitening": (0.0, 0.5),
    },
    "linear-probe": {
        "ridge": (None, 1e-4, 3e-4, 1e-3, 1e-2, 1e-1),
        "balance": (0.0, 0.25, 0.5, 1.0),
        "whitening": (0.0, 0.5),
        "unit_features": _YES_OR_NO,
    },
    "implicit-als": {
        "factors": (32, 64, 128, 192),
        "regularization": (0.1, 1.0, 5.0, 20.0),
        "confidence": (1.0, 5.0, 20.0),
        "iterations": (8, 15, 30),
        "log_counts": _YES_OR_NO,
    },
    "tag-prior": {"per_owner": _YES_OR_NO},
}
"""The values worth trying, by method and by setting; nothing to choose, nothing there."""


@dataclass(frozen=True)
class SearchSpace:
    """All combinations of the values of one method."""

    method: str
    names: tuple[tuple[str, ...], ...]
    """The settings of each choice."""
    values: tuple[tuple[tuple[Any, ...], ...], ...]
    """What each choice may be: a value for each of its settings."""
    defaults: Mapping[str, Any]
    """What the method's settings are unless they are chosen."""

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return math.prod(map(len, self.values))

    def settings_at(self, point: Point) -> dict[str, Any]:
        """Return the settings of a point, as far as they differ from the defaults."""
        found: dict[str, Any] = {}
        for names, values, taken in zip(self.names, self.values, point, strict=True):
            found |= dict(zip(names, values[taken], strict=True))
        return {key: value for key, value in found.items() if value != self.defaults[key]}

    def point_of(self, settings: Mapping[str, Any]) -> Point:
        """Return the point of some settings, the others being at their defaults."""
        known = {name for names in self.names for name in names}
        wanted = {**self.defaults, **settings}
        parts = [tuple(wanted[name] for name in names) for names in self.names]
        if not known.issuperset(settings) or any(
            part not in values for part, values in zip(parts, self.values, strict=True)
        ):
            raise SettingsError(
                f"{self.method} is not tuned over {dict(settings)}; its values have changed, "
                "tune it again with --overwrite"
            )
        return tuple(values.index(part) for part, values in zip(parts, self.values, strict=True))

    def point_number(self, number: int) -> Point:
        """Return one of the points, which are numbered from 0 to below the size."""
        point = []
        for values in self.values:
            number, taken = divmod(number, len(values))
            point.append(taken)
        return tuple(point)

    def number_of(self, point: Point) -> int:
        """Return the number of a point."""
        number = 0
        for values, taken in zip(reversed(self.values), reversed(point), strict=True):
            number = number * len(values) + taken
        return number

    def points_near(self, point: Point, distance: int) -> Iterable[Point]:
        """Yield the points that differ from this one in this many choices."""
        for changed in combinations(range(len(point)), distance):
            others = [
                [other for other in range(len(self.values[axis])) if other != point[axis]]
                for axis in changed
            ]
            for taken in product(*others):
                moved = list(point)
                for axis, value in zip(changed, taken, strict=True):
                    moved[axis] = value
                yield tuple(moved)


def search_space(name: str) -> SearchSpace:
    """Return what is worth trying for the method of this name.

    A method of another package says it in ``search_space``; else only its defaults are tried.
    """
    if name not in METHODS:
        raise SettingsError(
            f"there is nothing to tune {name!r} over; choose from: {', '.join(METHODS)}"
        )
    method_type = METHODS[name]
    space: Mapping[Choice, tuple[Any, ...]] = SEARCH_SPACES.get(
        name, getattr(method_type, "search_space", {})
    )
    choices = space.items()
    return SearchSpace(
        method=name,
        names=tuple((key,) if isinstance(key, str) else key for key, _ in choices),
        values=tuple(
            tuple((value,) if isinstance(key, str) else tuple(value) for value in values)
            for key, values in choices
        ),
        defaults={
            field.name: field.default for field in dataclasses.fields(method_type) if field.init
        },
    )
