"""Wall time and peak memory are seen, also when they are over before the block ends."""

import json
import time

import numpy as np
import pytest

from sugartag.evaluation.cost import BYTES_PER_MB, Meter, machine, resident_bytes


def test_a_short_lived_allocation_is_in_the_peak():
    before = resident_bytes() / BYTES_PER_MB

    with Meter() as meter:
        held = np.ones(200 * BYTES_PER_MB, dtype=np.uint8)
        time.sleep(0.1)
        del held
        after = resident_bytes() / BYTES_PER_MB

    assert 190 < meter.peak_rss_mb - before < 230
    assert after < before + 50


def test_an_idle_block_costs_its_time_and_no_more_memory():
    before = resident_bytes() / BYTES_PER_MB

    with Meter() as meter:
        time.sleep(0.1)

    assert 0.1 <= meter.seconds < 1.0
    assert meter.peak_rss_mb < before + 20


def test_the_meter_reads_also_when_the_block_fails():
    meter = Meter()

    with pytest.raises(RuntimeError, match="inside"), meter:
        raise RuntimeError("inside")

    assert meter.peak_rss_mb > 0


def test_without_proc_the_peak_of_the_process_is_taken(monkeypatch, tmp_path):
    now = resident_bytes()
    monkeypatch.setattr("sugartag.evaluation.cost._STATM", tmp_path / "absent")

    assert resident_bytes() >= 0.5 * now


def test_the_machine_is_described_for_json():
    described = json.loads(json.dumps(machine()))

    assert set(described) == {"cpu", "cores", "memory_mb", "python", "numpy", "blas", "sugartag"}
    assert described["cores"] >= 1
    assert described["numpy"] == np.__version__
