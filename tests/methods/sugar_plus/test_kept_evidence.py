import numpy as np
import pytest

from methods.sugar_plus.literal import all_rows
from sugartag.engine import LocalEngine, room
from sugartag.methods.sugar_plus.evidence import Evidence
from sugartag.methods.sugar_plus.kept_evidence import (
    KeptEvidence,
    keeping_dense,
    keeping_nothing,
)


@pytest.fixture
def kept(odd, evidence, tmp_path):
    return keeping_dense(evidence, odd, engine=LocalEngine(scratch=tmp_path))


def test_dense_columns_of_a_block_are_made_once_and_are_the_same_to_the_last_bit(
    odd, evidence, kept, monkeypatch
):
    made = []

    def counted(self, rows):
        made.append(len(rows))
        return plain(self, rows)

    plain = Evidence.dense
    blocks = [odd.rows(block) for block in odd.blocks()]
    expected = [evidence.dense(rows) for rows in blocks]
    monkeypatch.setattr(Evidence, "dense", counted)

    for _ in range(3):
        for rows, wanted in zip(blocks, expected, strict=True):
            found = kept.dense(rows)
            np.testing.assert_array_equal(found, wanted)

    assert len(made) == len(blocks)
    assert np.shares_memory(found, kept.kept)


def test_rows_that_are_no_block_are_neither_kept_nor_taken_from_what_is(odd, evidence, kept):
    for block in odd.blocks():
        kept.dense(odd.rows(block))
    kept.kept[:] = np.nan

    some = all_rows(odd).at(np.arange(3, 40))

    np.testing.assert_array_equal(kept.dense(some), evidence.dense(some))


def test_nothing_is_kept_without_a_place_that_all_workers_see(odd, evidence, tmp_path, monkeypatch):
    monkeypatch.setattr(room, "SMALL", 0)

    for folder in (None, tmp_path / "gone"):
        assert keeping_dense(evidence, odd, engine=LocalEngine(scratch=folder)) is evidence


def test_what_is_kept_is_no_part_of_what_was_learned(evidence, kept):
    assert isinstance(kept, KeptEvidence)
    assert type(keeping_nothing(kept)) is Evidence
    assert keeping_nothing(kept).anchors is evidence.anchors
