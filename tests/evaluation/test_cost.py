"""Wall time and peak memory are seen, also when they are over before the block ends."""

import json
import os
import time

import numpy as np
import pytest

from sugartag.engine.heap import give_back_freed_memory
from sugartag.evaluation import cost
from sugartag.evaluation.cost import (
    BYTES_PER_MB,
    Meter,
    anonymous_bytes,
    machine,
    resident_bytes,
    stolen_seconds,
)


def test_a_short_lived_allocation_is_in_the_peak():
    with Meter() as meter:
        held = np.ones(200 * BYTES_PER_MB, dtype=np.uint8)
        time.sleep(0.1)
        del held
        give_back_freed_memory()
        after = resident_bytes() / BYTES_PER_MB

    assert 190 < meter.peak_rss_mb - meter.before_rss_mb < 230
    assert after < meter.before_rss_mb + 50


def test_the_pages_of_a_mapped_file_are_resident_and_not_anonymous(tmp_path):
    np.save(tmp_path / "mapped.npy", np.ones(100 * BYTES_PER_MB, dtype=np.uint8))

    with Meter() as meter:
        mapped = np.load(tmp_path / "mapped.npy", mmap_mode="r")
        assert mapped[::512].sum() > 0
        time.sleep(0.1)

    assert 90 < meter.peak_rss_mb - meter.before_rss_mb < 140
    assert meter.peak_anonymous_mb - meter.before_anonymous_mb < 40


def test_what_was_freed_before_is_not_counted_as_held_before():
    give_back_freed_memory()
    at_first = anonymous_bytes() / BYTES_PER_MB
    blocks = [np.ones(100_000, dtype=np.uint8) for _ in range(1000)]
    last = blocks[-1]
    del blocks

    with Meter() as meter:
        pass

    assert meter.before_anonymous_mb < at_first + 30
    assert meter.before_anonymous_mb <= meter.peak_anonymous_mb <= meter.peak_rss_mb
    assert last.all()


def test_processor_time_is_that_of_work_and_not_of_waiting():
    with Meter() as waiting:
        time.sleep(0.3)
    with Meter() as working:
        while time.process_time() - working._cpu_before < 0.1:
            pass

    assert waiting.cpu_seconds < 0.2
    assert working.cpu_seconds >= 0.1


def test_what_the_host_gave_to_others_is_read_off_the_ticks_of_all_processors(
    monkeypatch, tmp_path
):
    ticks = tmp_path / "stat"
    monkeypatch.setattr(cost, "_TICKS", ticks)
    for told, seconds in ((None, 0.0), ("", 0.0), ("cpu 1 2 3\n", 0.0)):
        if told is not None:
            ticks.write_text(told, encoding="ascii")
        assert stolen_seconds() == seconds
    ticks.write_text("cpu  9 8 7 6 5 4 3 250 0 0\ncpu0 9 8 7 6 5 4 3 2 0 0\n", encoding="ascii")

    assert stolen_seconds() * os.sysconf("SC_CLK_TCK") == pytest.approx(250)


def test_the_memory_of_a_process_that_is_gone_is_nothing():
    assert anonymous_bytes(2**22 + 1) == 0


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
