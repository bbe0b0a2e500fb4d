"""Where the training of MRTF helps and where it hurts, on parts of real collections.

A run that was killed continues where it stopped. At the end the table of the page is made anew.

    python benchmarks/bench_mrtf.py documerica openclipart --data FOLDER
"""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax

from comparison.cases import open_case
from comparison.filling import (
    RESULTS,
    ResultFile,
    command_line,
    empty_document,
    fill_cases,
    parsed,
)
from comparison.jobs import read_json
from comparison.mrtf import FILE, FORMAT, MEASURES, PER_IMAGE, VARIANTS, with_table
from comparison.parts import smaller_round
from comparison.rounds import Round
from sugartag._typing import FloatArray
from sugartag.collection.model import Collection, Rows
from sugartag.engine import LocalEngine
from sugartag.engine.base import Engine
from sugartag.methods.mrtf import FittedRankingFactorisation, RankingFactorisation

PAGE = Path(__file__).resolve().parents[1] / "docs" / "methods" / "mrtf.md"


@dataclass(frozen=True)
class SharesOfImages:
    """A fitted MRTF whose scores are log-probabilities of the tags of each image."""

    fitted: FittedRankingFactorisation
    gives_whole_sets: ClassVar[bool] = False
    floor: ClassVar[float] = float("-inf")

    def scores(self, rows: Rows, *, strangers_only: bool = False) -> FloatArray:
        """Return images x tags."""
        scores = self.fitted.scores(rows, strangers_only=strangers_only)
        shares: FloatArray = log_softmax(scores.astype(np.float64), axis=1).astype(np.float32)
        return shares


@dataclass(frozen=True)
class ReadAsShares(RankingFactorisation):
    """MRTF, its scores made comparable between images."""

    def fit(  # type: ignore[override]
        self, collection: Collection, *, engine: Engine, rng: np.random.Generator
    ) -> SharesOfImages:
        """Fit, and read the scores as shares."""
        return SharesOfImages(super().fit(collection, engine=engine, rng=rng))


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    parser = command_line(__doc__, FILE, seeds=1)
    parser.add_argument("--images", type=int, default=4000, help="about so many of a collection")
    asked = parsed(parser, sys.argv[1:])
    code = fill_cases(asked, partial(empty_document, FORMAT), measure_case)
    if code == 0 and asked.out == RESULTS / FILE:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_table(page, read_json(RESULTS / FILE)), encoding="utf-8")
    return code


def measure_case(file: ResultFile, name: str, asked: argparse.Namespace) -> None:
    """Measure every variant, saving after each."""
    with open_case(name, asked.data) as case:
        here = smaller_round(case, asked.images)
        counts = {"images": here.counts()["images"], "runs": {}}
        runs = file.cases.setdefault(name, counts)["runs"]
        for label, settings in VARIANTS.items():
            file.fill(runs, label, partial(_measured, here, settings), label=f"{name}, {label}")
        shared = f"10 epochs{PER_IMAGE}"
        file.fill(runs, shared, partial(_measured, here, {"epochs": 10}, shares=True), label=shared)


def _measured(here: Round, settings: Mapping[str, Any], *, shares: bool = False) -> dict[str, Any]:
    method = (ReadAsShares if shares else RankingFactorisation)(**settings)
    engine = LocalEngine(blas_threads=1)
    found = here.measure(method, engine=engine, rng=np.random.default_rng(0), replicates=0)
    return {key: found[key] for key in (*MEASURES, "fit_seconds")}


if __name__ == "__main__":
    sys.exit(main())
