"""The stages of sugar-plus are counted as they are done."""

from dataclasses import replace

import pytest

from sugartag.costs.advice import NOMINAL
from sugartag.costs.calibration import Calibration
from sugartag.costs.estimate import StageCost, estimate_fit
from sugartag.costs.families import Job
from sugartag.costs.rates import Rates
from sugartag.costs.size import Size, imagined_size
from sugartag.costs.work import FIXED_CALLS, LOADING_CALLS, LOOPS_BYTES, Stage
from sugartag.methods.registry import make_method

SIZE = imagined_size(1_000_000, 2_000, owners=50_000, features=128)
PLAIN = Calibration()


def counted(**settings: object) -> dict[str, Stage]:
    job = Job(make_method("sugar-plus", settings), SIZE, 8_192, PLAIN)
    return {stage.name: stage for stage in job.fit_stages()}


def costs(
    name: str = "sugar-plus",
    of: Size = SIZE,
    rates: Rates = NOMINAL,
    calibration: Calibration = PLAIN,
    *,
    apart: bool = False,
) -> dict[str, StageCost]:
    made = estimate_fit(make_method(name), of, rates, calibration, apart=apart)
    return {stage.name: stage for stage in made.stages}


def test_compiled_loops_are_loaded_once_and_are_in_the_memory_of_every_process():
    learning = [stage for stage in counted().values() if stage.held]
    loops, none = (costs(name, apart=True) for name in ("sugar-plus", "tag-prior"))

    assert {stage.loaded for stage in learning} == {LOOPS_BYTES}
    assert sum(stage.fixed - FIXED_CALLS for stage in learning) == LOADING_CALLS
    assert loops["choosing"].worker_bytes > PLAIN.base_bytes + LOOPS_BYTES
    assert none["opening"].worker_bytes == PLAIN.base_bytes


def test_no_calibration_changes_how_long_loading_takes():
    twice = Calibration(seconds={"sugar-plus": {"evidence": 2.0}})
    plain, more = (
        costs(calibration=known)["evidence"].seconds - (FIXED_CALLS + LOADING_CALLS) / NOMINAL.calls
        for known in (PLAIN, twice)
    )

    assert more == pytest.approx(2 * plain)


def test_dense_columns_are_multiplied_with_each_other_in_the_first_round_only():
    once, twice = (counted(trust_rounds=n)["adding up"].passes for n in (0, 1))

    assert once.product32 == twice.product32
    assert once.sparse < twice.sparse


def test_title_words_are_read_in_a_pass_of_their_own():
    worded = replace(SIZE, words=1_000, title_words=3e6)

    assert costs()["adding up"].passes == 2
    assert costs(of=worded)["adding up"].passes == 4


def solving_seconds(rates):
    return costs(rates=rates)["solving"].seconds - FIXED_CALLS / rates.calls


def test_all_cores_of_the_process_that_leads_solve():
    few, many = (
        solving_seconds(replace(NOMINAL, cores=cores, product64_all=cores * NOMINAL.product64_one))
        for cores in (2, 8)
    )

    assert many == pytest.approx(few / 4)


def test_cores_do_not_multiply_faster_apart_than_together():
    together = replace(NOMINAL, cores=2, product64_all=1.5 * NOMINAL.product64_one)
    apart = replace(together, product64_one=9 * NOMINAL.product64_one)

    assert solving_seconds(apart) == pytest.approx(solving_seconds(together))
