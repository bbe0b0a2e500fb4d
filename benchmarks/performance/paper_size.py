"""``bench paper-size``: everything the paper compares, and ours, at the size of its collection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median
from typing import Any, ClassVar

from performance.extrapolation import power_law
from performance.planted import Planted
from performance.record import CAPPED, MEASURED
from performance.running import Entries, Step, Steps, compiling, cores
from performance.settings import choice_of, require_settings
from sugartag.collection.synthetic import World
from sugartag.collection.synthetic.plan import UNSEEN_SHARE
from sugartag.errors import SettingsError
from sugartag.reproduce.experiments import read_experiment, shipped_experiments
from sugartag.reproduce.stages import COMPLETION

PAPER_UPDATES = 450
"""Updates that the paper's solver took."""
GEMM_SIZES = (4096, 512, 4096)
GEMM_SECONDS = 2.0
OURS, EXACT, UPDATES = "sugar-plus", "sugar-tc-exact", "sugar-tc-multiplicative"
TRUNCATED, TENTH = "sugar-tc-truncated", 10
"""The exact solver with a tenth of the tag components."""
RATES, OUR_RUNS = "rates", 3
"""How often ours is run, other methods in between, the machine's rates being measured before and
after. The median counts: where machines are shared, one run may be slower than the next by a
quarter."""
RIVALS = ("mrtf", "ttc1", "ttc2")
"""Methods of the paper's table that may take hours: they have a cap."""
VOTES: Mapping[str, Mapping[str, Any]] = {
    "tag-vote-exact": {"search": "exact"},
    "tag-vote-usearch": {"search": "usearch"},
}
METHODS = (OURS, EXACT, UPDATES, *VOTES, TRUNCATED, *RIVALS)
PAPER_WORLD = World(
    n_images=247_849,
    n_tags=5_018,
    n_owners=49_528,
    n_groups=4_000,
    n_topics=60,
    n_features=512,
    tags_per_image=9.0,
    groups_per_owner=8.0,
    random_noise=1.5,
    habits_per_owner=2.0,
)
"""As many images, tags and owners as the paper's collection."""
ROUNDING = 1e-5
"""Of an objective added up in single precision, relatively."""


@dataclass(frozen=True)
class PaperSize:
    """Settings; the defaults are the claim."""

    name: ClassVar[str] = "paper-size"
    summary: ClassVar[str] = "Every method of the paper's Table 2, and ours, at the paper's size."

    images: int = PAPER_WORLD.n_images
    tags: int = PAPER_WORLD.n_tags
    owners: int = PAPER_WORLD.n_owners
    features: int = PAPER_WORLD.n_features
    units: int = 10
    """Anchor units at each of the 40 + 12 centres; 10 give the paper's 520."""
    cap: float = 600.0
    """Seconds that MRTF, TTC1 and TTC2 may take, and that updates are timed for."""
    query_share: float = 0.1
    """Share of the images that the votes score; time is linear in it."""
    fractions: tuple[int, ...] = (64, 32)
    """What is run of a method that meets the cap: one 64th of the images, one 32nd."""
    methods: tuple[str, ...] = METHODS
    workers: int = field(default_factory=cores)
    seed: int = 0

    def __post_init__(self) -> None:
        require_settings(self, "images", "tags", "owners", "features", "units", "workers")
        choice_of(self.methods, METHODS)
        if not 0 < self.query_share <= 1:
            raise SettingsError(f"--query-share is {self.query_share}; give a share up to 1")
        if self.cap <= 0:
            raise SettingsError(f"--cap is {self.cap}; give seconds above 0")
        if len(set(self.fractions)) < 2 or min(self.fractions) < 2:
            raise SettingsError(
                f"--fractions is {self.fractions}; give two different numbers of at least 2"
            )

    def planted(self, fraction: int = 1) -> Planted:
        """Return the collection, or one with a fraction of its images, owners and groups."""
        usual, images = PAPER_WORLD, max(1, self.images // fraction)
        world = replace(
            usual,
            n_images=images,
            n_tags=self.tags,
            n_owners=min(images, max(1, self.owners // fraction)),
            n_groups=max(1, round(usual.n_groups * images / usual.n_images)),
            n_topics=most_topics(usual, self.tags),
            n_features=self.features,
        )
        return Planted(world, self.seed)

    def steps(self) -> Steps:
        """Yield the machine's rates, every method, and smaller collections for those capped."""
        runs = iter(_runs_of_ours() if OURS in self.methods else [])
        if OURS in self.methods:
            yield compiling(self.workers)
        capped = []
        for name in self.methods:
            if name != OURS:
                entry = yield self._step(name)
                if name in RIVALS and entry["status"] == CAPPED:
                    capped.append(name)
            if (run := next(runs, None)) is not None:
                before, after = _rates_around(run)
                yield self._rates(before)
                yield self._step(run)
                yield self._rates(after)
        for fraction in self.fractions if capped else ():
            for name in capped:
                yield replace(
                    self._step(name), key=_smaller(name, fraction), planted=self.planted(fraction)
                )

    def _rates(self, key: str) -> Step:
        asks = {"gemm": list(GEMM_SIZES), "seconds": GEMM_SECONDS}
        return Step(key, "rates", self.planted(), asks)

    def _step(self, name: str) -> Step:
        common: dict[str, Any] = {"workers": self.workers, "seed": self.seed}
        if name == UPDATES:
            asks = {"settings": self._anchors(), "seconds": self.cap, "updates": PAPER_UPDATES}
            return Step(name, "updates", self.planted(), common | asks)
        if name in {EXACT, TRUNCATED}:
            settings = self._anchors() | {"solver": "exact"}
            if name == TRUNCATED:
                settings["tag_components"] = max(1, self.tags // TENTH)
            asks = common | {"method": "sugar-tc", "settings": settings}
            return Step(name, "method", self.planted(), asks)
        if name in VOTES:
            asks = {"method": "tag-vote", "settings": dict(VOTES[name])}
            asks |= {"query_share": self.query_share}
            return Step(name, "method", self.planted(), common | asks)
        cap = self.cap if name in RIVALS else None
        method = OURS if name in _runs_of_ours() else name
        return Step(name, "method", self.planted(), common | {"method": method}, cap)

    def _anchors(self) -> dict[str, Any]:
        # Single precision: three tensors of 5,018 x 520 x 520 doubles would take 32 GB.
        return {"preset": "repaired", "units_per_cluster": self.units, "precision": "float32"}

    def derived(self, entries: Entries) -> dict[str, Any]:
        """Return the time of each method as stated, and the ratios that claims are about."""
        stated = {
            name: found for name in METHODS if (found := self._stated(name, entries)) is not None
        }
        floor = _floor(entries)
        return {
            "stated": stated,
            "floor": floor,
            "ratios": _ratios(stated, floor, entries),
            "objectives": _objectives(entries),
            "published": published(),
        }

    def _stated(self, name: str, entries: Entries) -> dict[str, Any] | None:
        """Return the seconds of a method for all images, and how they were come by."""
        entry = entries.get(name, {})
        if entry.get("status") == CAPPED:
            return self._extrapolated(name, entries)
        if entry.get("status") != MEASURED:
            return None
        if name == UPDATES:
            seconds = entry["setup_seconds"] + PAPER_UPDATES * entry["median_update_seconds"]
            how = "measured" if entry["updates"] >= PAPER_UPDATES else "from the time of an update"
            return {"seconds": seconds, "how": how}
        if name == OURS:
            ours = [entries.get(key, {}) for key in _runs_of_ours()]
            runs = [one["seconds"] for one in ours if one.get("status") == MEASURED]
            return {"seconds": median(runs), "how": f"median of {len(runs)}", "runs": runs}
        seconds = entry["fit_seconds"] + entry["score_seconds"] / entry["share_scored"]
        how = "measured" if entry["share_scored"] == 1 else "scoring from a share of the images"
        return {"seconds": seconds, "how": how}

    def _extrapolated(self, name: str, entries: Entries) -> dict[str, Any]:
        points = []
        for fraction in self.fractions:
            entry = entries.get(_smaller(name, fraction), {})
            if entry.get("status") == MEASURED:
                points.append((entry["counts"]["images"], entry["seconds"]))
        stated: dict[str, Any] = {
            "seconds": None,
            "how": f"ended by lack of {entries[name]['ended_by']}",
            "at_least": entries[name]["seconds"],
        }
        if not points:
            return stated
        law = power_law(points)
        how = "extrapolated" if len(points) > 1 else "extrapolated in proportion"
        return stated | {"seconds": law.at(self.images), "how": how, **law.as_json()}


def most_topics(world: World, n_tags: int) -> int:
    """Return how many topics a collection has, fewer where there are too few tags for all."""
    seen = (1 - UNSEEN_SHARE) * n_tags
    return max(1, min(world.n_topics, int(seen / (2 * world.tags_per_image))))


def published() -> dict[str, Any]:
    """Return the paper's Table 2: hours and gigabytes by method and stage."""
    return dict(read_experiment(shipped_experiments() / "table-2.toml", quick=False).published)


def _smaller(name: str, fraction: int) -> str:
    return f"{name} at 1/{fraction}"


def _runs_of_ours() -> list[str]:
    return [OURS, *(f"{OURS}, run {number}" for number in range(2, OUR_RUNS + 1))]


def _rates_around(run: str) -> tuple[str, str]:
    """Return where the rates are that were measured just before and just after a run of ours."""
    before = run.replace(OURS, RATES)
    return before, f"{before}, after"


def _floor(entries: Entries) -> dict[str, Any] | None:
    """Return the time that sugar-plus needs at least, by the machine's rates around each run."""
    runs = []
    for run in _runs_of_ours():
        ours, *rates = (entries.get(key, {}) for key in (run, *_rates_around(run)))
        if {ours.get("status"), *(one.get("status") for one in rates)} == {MEASURED}:
            runs.append(_floor_of(ours, rates))
    if not runs:
        return None
    return {
        "flops": runs[0]["flops"],
        "seconds": median(run["seconds"] for run in runs),
        "ratio": median(run["ratio"] for run in runs),
        "ratio_to_fastest": median(run["ratio_to_fastest"] for run in runs),
        "runs": runs,
    }


def _floor_of(ours: Mapping[str, Any], rates: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the least time of a run, at the mean of the paces before and after it.

    The pace of products is that of the median one: it is kept up. A single one may be faster by a
    third where a core is clocked up for a moment; the ratio to that pace is stated beside.
    """
    flops = sum(ours["flops"].values())
    kept_up, fastest = (
        flops * fmean(1.0 / one["gemm"][rate] for one in rates)
        for rate in ("median_flops_per_second", "flops_per_second")
    )
    reading = fmean(one["read"]["bytes"] / one["read"]["bytes_per_second"] for one in rates)
    return {
        "flops": flops,
        "multiplying_seconds": kept_up,
        "reading_seconds": reading,
        "seconds": kept_up + reading,
        "stolen_seconds": ours["stolen_seconds"],
        "ratio": ours["seconds"] / (kept_up + reading),
        "ratio_to_fastest": ours["seconds"] / (fastest + reading),
    }


def _ratios(
    stated: Mapping[str, Mapping[str, Any]], floor: Mapping[str, Any] | None, entries: Entries
) -> dict[str, float]:
    found = {}
    if EXACT in stated and UPDATES in stated:
        # Up to the completed tensor: scoring is the same whichever solver completed it.
        exact, update = entries[EXACT], entries[UPDATES]["median_update_seconds"]
        found["exact / 450 updates"] = exact["fit_seconds"] / stated[UPDATES]["seconds"]
        completion = exact["stages"][COMPLETION]["seconds"]
        found["exact / 450 updates, without set-up"] = completion / (PAPER_UPDATES * update)
    if EXACT in stated and TRUNCATED in stated:
        found["truncated / exact"] = (
            entries[TRUNCATED]["fit_seconds"] / entries[EXACT]["fit_seconds"]
        )
    if OURS not in stated:
        return found
    ours = stated[OURS]["seconds"]
    for name in VOTES:
        if name in stated:
            found[f"{OURS} / {name}"] = ours / stated[name]["seconds"]
    if floor is not None:
        found[f"{OURS} / floor"] = floor["ratio"]
    return found


def _objectives(entries: Entries) -> dict[str, Any] | None:
    """Return where both solvers came, and whether the exact one is at the bottom, as it must be."""
    both = [entries.get(name, {}) for name in (EXACT, UPDATES)]
    if any(entry.get("status") != MEASURED for entry in both):
        return None
    exact, updated = (entry["objective"] for entry in both)
    return {
        "exact": exact,
        "multiplicative": updated,
        "updates": both[1]["updates"],
        "exact_is_lowest": exact <= updated + ROUNDING * abs(updated),
    }
