"""What an evaluation found: the metrics, the JSON of a results file, a table to read."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sugartag._typing import BoolArray, FloatArray, SparseRows
from sugartag.engine.base import Progress
from sugartag.errors import SettingsError
from sugartag.evaluation import bootstrap, ranking
from sugartag.evaluation.fscore import ChangeCounts, FCounts

FORMAT = "sugartag-results/1"
BEST = "*"
CHANGE_SHARES = ("add_precision", "add_recall", "remove_precision", "remove_recall")
NDCG_PLACES = 20
CELLS_AT_ONCE = 1 << 23
"""Scores of concepts read from the table at once: 32 MB of float32."""

Table = npt.NDArray[np.float32]
"""Images x concepts: the scores that metrics are computed from; NaN where left out."""


@dataclass(frozen=True)
class Measures:
    """What to measure, beyond what always is."""

    tops: tuple[int, ...] = (5, 10)
    """Lengths of the lists that F is computed from; changes are those of the longest."""
    list_lengths: tuple[int, ...] = (10, 20, 50, 100, 200, 500, 1000)
    """The T of MAP@T and of the paper's variant of it."""
    author_aware: bool = False
    """Whether to score a second time, without evidence of the image's own owner."""
    bootstrap: int = 0
    """Replicates of the images for intervals; 0 for none."""
    bootstrap_seed: int = 0
    """With the same seed, the same images are in a replicate for every method."""
    rows_per_block: int | None = None
    """Images scored at once; None for as many as keep a block of scores small."""

    def __post_init__(self) -> None:
        if not self.tops or min(self.tops) < 1 or self.bootstrap < 0:
            raise SettingsError(
                f"cannot measure F at {self.tops} with {self.bootstrap} replicates; "
                "pass lengths of at least 1 and 0 or more replicates"
            )


@dataclass(frozen=True)
class Tally:
    """What adds up over blocks of images. Replicate 0 is the images as they are."""

    f: tuple[FCounts, ...]
    """Counts for each length of list, shortest first."""
    changes: ChangeCounts | None
    image_precision: bootstrap.ResampledSums
    """Sums of the average precision of images with a positive."""
    seconds: float
    """Time spent scoring."""

    def __add__(self, other: "Tally") -> "Tally":
        """Return the tally of the images of both."""
        changes = self.changes
        if changes is not None and other.changes is not None:
            changes += other.changes
        return Tally(
            tuple(mine + theirs for mine, theirs in zip(self.f, other.f, strict=True)),
            changes,
            self.image_precision + other.image_precision,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True)
class Metrics:
    """How well one way of scoring did."""

    map: float
    """Mean over concepts of the tie-aware average precision over images."""
    miap: float
    """Mean over images with a positive of the tie-aware average precision over concepts."""
    ndcg20: float
    f_top: Mapping[int, float]
    """Mean F over concepts when each image is given its K best tags, by K."""
    map_at: Mapping[int, float]
    """MAP of the first T images, divided by min(relevant, T), by T."""
    map_paper_variant: Mapping[int, float]
    """MAP of the first T images, divided by the relevant ones among them, by T."""
    changes: Mapping[str, float] | None = None
    """Precision and recall of added and removed tags at the largest K; None without truth."""
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """95% bootstrap intervals by metric; empty where none were asked for."""

    def by_name(self) -> dict[str, float]:
        """Return the headline metrics under the names that result files use."""
        at = {f"f_top{k}": self.f_top[k] for k in sorted(self.f_top, reverse=True)}
        return at | {"map": self.map, "miap": self.miap, "ndcg20": self.ndcg20}

    def as_json(self) -> dict[str, Any]:
        """Return every metric under the name that result files use."""
        made: dict[str, Any] = dict(self.by_name())
        made["map_at"] = {str(length): value for length, value in self.map_at.items()}
        made["map_paper_variant"] = {str(t): value for t, value in self.map_paper_variant.items()}
        if self.changes is not None:
            made[f"changes_top{max(self.f_top)}"] = dict(self.changes)
        if self.intervals:
            made["intervals"] = {name: list(ends) for name, ends in self.intervals.items()}
        return made


@dataclass(frozen=True)
class MethodResult:
    """What one method scored, and what that cost."""

    name: str
    settings: Mapping[str, Any]
    metrics: Metrics
    author_aware: Metrics | None
    """The same without evidence from the image's own owner; None where not asked for."""
    fit_seconds: float
    score_seconds: float
    """Time spent scoring every image once, without the metrics."""
    peak_rss_mb: float
    """The most memory the process held while fitting and scoring, the table included."""

    def as_json(self) -> dict[str, Any]:
        """Return the method's entry in a results file."""
        made = self.metrics.as_json()
        if self.author_aware is not None:
            made["author_aware"] = self.author_aware.as_json()
        return made | {
            "fit_seconds": self.fit_seconds,
            "score_seconds": self.score_seconds,
            "peak_rss_mb": self.peak_rss_mb,
            "settings": dict(self.settings),
        }


def metrics_of(
    tally: Tally,
    table: Table,
    positives: SparseRows,
    measures: Measures,
    progress: Progress | None = None,
) -> Metrics:
    """Return the metrics of a table of scores and its tally; ``positives`` is concepts x images.

    Means over concepts are over those with a positive, in each replicate anew.
    """
    values = np.array(list(_concept_values(table, positives, measures, progress)))
    known = np.count_nonzero(~np.isnan(values), axis=0)
    means = bootstrap.ResampledSums(np.nansum(values, axis=0), known).mean()
    lengths = measures.list_lengths
    paper, at, precisions = np.split(means[2:], [len(lengths), 2 * len(lengths)])
    f = {k: counts.mean_f() for k, counts in zip(sorted(measures.tops), tally.f, strict=True)}
    miap = tally.image_precision.mean()
    samples = {f"f_top{k}": (f[k][0], f[k][1:]) for k in sorted(f, reverse=True)}
    samples |= {"map": (means[0], precisions), "miap": (miap[0], miap[1:])}
    return Metrics(
        map=float(means[0]),
        miap=float(miap[0]),
        ndcg20=float(means[1]),
        f_top={k: float(values[0]) for k, values in f.items()},
        map_paper_variant=dict(zip(lengths, paper.tolist(), strict=True)),
        map_at=dict(zip(lengths, at.tolist(), strict=True)),
        changes=None
        if tally.changes is None
        else {name: getattr(tally.changes, name)() for name in CHANGE_SHARES},
        intervals={
            name: bootstrap.centred_interval(value, values)
            for name, (value, values) in samples.items()
        }
        if measures.bootstrap
        else {},
    )


def results_document(
    results: Sequence[MethodResult],
    *,
    collection: Mapping[str, int],
    task: Mapping[str, Any],
    seed: int,
    machine: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a results file, ready for JSON: a metric without a value is null, never NaN."""
    document = {
        "format": FORMAT,
        "collection": dict(collection),
        "task": dict(task),
        "seed": seed,
        "machine": dict(machine),
        "methods": {result.name: result.as_json() for result in results},
    }
    cleaned: dict[str, Any] = _without_nan(document)
    return cleaned


def results_table(results: Sequence[MethodResult]) -> str:
    """Return the results as aligned text, the best value of each metric marked with a star."""
    lines = _metric_lines({result.name: result.metrics for result in results})
    costs = [["fit s", "score s", "peak MB"]]
    for r in results:
        costs.append([f"{r.fit_seconds:.2f}", f"{r.score_seconds:.2f}", f"{r.peak_rss_mb:.0f}"])
    text = _aligned([line + cost for line, cost in zip(lines, costs, strict=True)])

    aware = {r.name: r.author_aware for r in results if r.author_aware is not None}
    if aware:
        text += "\n\nwithout evidence of the image's own owner\n" + _aligned(_metric_lines(aware))
    if any(result.metrics.intervals for result in results):
        text += "\n\n95% intervals over images\n" + _aligned(_interval_lines(results))
    return text


def _metric_lines(metrics: Mapping[str, Metrics]) -> list[list[str]]:
    values = {name: measured.by_name() for name, measured in metrics.items()}
    columns = list(next(iter(values.values())))
    best = {
        column: max((v[column] for v in values.values() if not math.isnan(v[column])), default=None)
        for column in columns
    }
    lines = [["method", *(f"{column} " for column in columns)]]
    for name, row in values.items():
        lines.append([name, *(_marked(row[column], best[column]) for column in columns)])
    return lines


def _marked(value: float, best: float | None) -> str:
    return "- " if math.isnan(value) else f"{value:.4f}{BEST if value == best else ' '}"


def _interval_lines(results: Sequence[MethodResult]) -> list[list[str]]:
    lines = [["method", *results[0].metrics.intervals]]
    for result in results:
        ends = result.metrics.intervals.values()
        lines.append([result.name, *(f"{low:.4f} to {high:.4f}" for low, high in ends)])
    return lines


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Return the cells in columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [
        [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        for line in lines
    ]
    return "\n".join("  ".join(cells).rstrip() for cells in texts)


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _concept_values(
    table: Table, positives: SparseRows, measures: Measures, progress: Progress | None
) -> Iterator[FloatArray]:
    """Yield what is measured over all images, for each concept with a positive.

    AP, NDCG, the paper's AP at each T, AP at each T, AP of each replicate.
    """
    n_images = len(table)
    drawn = bootstrap.poisson_weights(measures.bootstrap_seed, 0, n_images, measures.bootstrap)
    concepts = np.flatnonzero(np.diff(positives.indptr))
    step = max(1, CELLS_AT_ONCE // n_images)
    for start in range(0, len(concepts), step):
        chunk = concepts[start : start + step]
        for concept, scores in zip(chunk, table.T[chunk], strict=True):
            here = slice(positives.indptr[concept], positives.indptr[concept + 1])
            relevant = np.zeros(n_images, dtype=np.bool_)
            relevant[positives.indices[here]] = True
            yield _values_of(scores, relevant, drawn, measures)
        if progress is not None:
            progress("measure concepts", start + len(chunk), len(concepts))


def _values_of(
    scores: FloatArray, relevant: BoolArray, drawn: npt.NDArray[np.uint8], measures: Measures
) -> FloatArray:
    lengths = measures.list_lengths
    return np.concatenate(
        [
            [ranking.average_precision(scores, relevant)],
            [ranking.ndcg(scores, relevant, NDCG_PLACES)],
            ranking.average_precision_at(scores, relevant, lengths, divisor="retrieved"),
            ranking.average_precision_at(scores, relevant, lengths, divisor="all"),
            bootstrap.weighted_average_precision(scores, relevant, drawn),
        ]
    )
