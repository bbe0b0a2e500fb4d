"""The shipped word vectors know what people call things."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from sugartag.errors import StorageError
from sugartag.graph.name_vectors import load_name_vectors, read_name_vectors


def cosine(one: str, other: str) -> float:
    a, b = load_name_vectors().unit_vectors([one, other])
    return float(a @ b)


@pytest.mark.parametrize(
    ("one", "near", "far"),
    [
        ("car", "automobile", "flower"),
        ("beach", "seashore", "keyboard"),
        ("puppy", "dog", "bridge"),
        ("smoke", "smog", "violin"),
    ],
)
def test_words_of_one_meaning_are_nearer_than_others(one, near, far):
    assert cosine(one, near) > cosine(one, far) + 0.2


@pytest.mark.parametrize("spelling", ["Seashore", "seashores", " seashore ", "SEASHORES"])
def test_case_plural_and_blanks_do_not_count(spelling):
    assert cosine("seashore", spelling) == pytest.approx(1.0, abs=1e-6)


def test_a_name_of_several_words_is_their_mean():
    table = load_name_vectors()
    parts = table.unit_vectors(["power", "plant"])
    found = table.unit_vectors(["power-plant of a"])[0]

    expected = parts.sum(axis=0) / np.linalg.norm(parts.sum(axis=0))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_name_that_is_not_known_has_no_vector():
    names = ["qqzx", "", "日本", "qz zq", "power qqzx", "site-417"]

    assert not load_name_vectors().unit_vectors(names).any()


def test_only_the_most_similar_names_are_kept():
    names = ["car", "automobile", "truck", "bus", "flower"]
    whole = load_name_vectors().similarities(names, least=0.2, most=5).toarray()

    found = load_name_vectors().similarities(names, least=0.2, most=2).toarray()

    kept = found > 0
    assert kept.sum(axis=1).max() == 2
    np.testing.assert_array_equal(found[kept], whole[kept])
    for row in range(len(names)):
        left_out = whole[row][~kept[row]]
        assert not kept[row].any() or found[row][kept[row]].min() >= left_out.max()


def written(folder: Path, words: str, codes: np.ndarray) -> Path:
    (folder / "words.txt.gz").write_bytes(gzip.compress(words.encode()))
    np.save(folder / "vectors.npy", codes)
    return folder


def test_a_table_that_does_not_fit_its_words_is_refused(tmp_path):
    codes = np.ones((2, 4), dtype=np.int8)
    assert len(read_name_vectors(written(tmp_path, "a\nb", codes)).row) == 2

    with pytest.raises(StorageError, match="do not fit"):
        read_name_vectors(written(tmp_path, "a\nb\nc", codes))
    with pytest.raises(StorageError, match="do not fit"):
        read_name_vectors(written(tmp_path, "a\nb", codes.astype(np.float32)))


def test_a_missing_or_damaged_table_is_one_error(tmp_path):
    with pytest.raises(StorageError, match="cannot be read"):
        read_name_vectors(tmp_path)
    folder = written(tmp_path, "a", np.ones((1, 4), dtype=np.int8))
    (folder / "words.txt.gz").write_bytes(b"no gzip")
    with pytest.raises(StorageError, match="cannot be read"):
        read_name_vectors(folder)
