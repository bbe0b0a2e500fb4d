"""Tag affinity against a literal double loop, and what it promises."""

import numpy as np
import pytest
from scipy import sparse

from sugartag._typing import SparseRows
from sugartag.errors import CollectionError, SettingsError
from sugartag.graph import tag_affinity as module
from sugartag.graph.tag_affinity import cooccurrence, tag_affinity
from sugartag.graph.wordnet import LinSimilarity, load_taxonomy

WORDS = (
    "dog cat horse bird fish tree flower river beach sea sky cloud sunset car bus train boat "
    "street bridge house church city man woman guitar dogs cats qzxv dscn1234 nikond40"
)
NAMES = WORDS.split()
UNUSED = NAMES.index("church")


def image_rows(seed: int = 5, n_images: int = 90) -> SparseRows:
    rng = np.random.default_rng(seed)
    given = rng.random((n_images, len(NAMES))) < rng.uniform(0.02, 0.25, len(NAMES))
    given[:, UNUSED] = False
    return sparse.csr_array(given)


@pytest.fixture
def counts() -> SparseRows:
    return cooccurrence(image_rows())


@pytest.fixture
def lin(counts: SparseRows) -> LinSimilarity:
    return LinSimilarity.of_tags(load_taxonomy(), NAMES, counts.diagonal())


def literal_strength(
    images: np.ndarray, similarity: np.ndarray, a1: float = 0.9, a2: float = 0.1
) -> np.ndarray:
    """Weighted Jaccard plus Lin of each pair, counted image by image; 0 on the diagonal."""
    used = [set(np.flatnonzero(column)) for column in images.T]
    strength = np.zeros((len(used), len(used)))
    for i, a in enumerate(used):
        for j, b in enumerate(used):
            if i != j:
                jaccard = len(a & b) / len(a | b) if a | b else 0.0
                strength[i, j] = a1 * jaccard + a2 * similarity[i, j]
    return strength


def literal_affinity(strength: np.ndarray, links_per_tag: int) -> np.ndarray:
    """The strongest links of each row one by one, then the larger of both ends."""
    kept = np.zeros_like(strength)
    for i, row in enumerate(strength):
        ranked = sorted(range(len(row)), key=lambda j: (-row[j], j))
        for j in ranked[:links_per_tag]:
            kept[i, j] = row[j]
    affinity = np.maximum(kept, kept.T)
    np.fill_diagonal(affinity, 1)
    return affinity


class TestCooccurrence:
    def test_it_counts_images_that_hold_both_tags(self) -> None:
        rows = image_rows()
        dense = rows.toarray().astype(np.int64)

        counts = cooccurrence(rows)

        assert counts.dtype == np.int64
        assert counts.has_sorted_indices
        np.testing.assert_array_equal(counts.toarray(), dense.T @ dense)

    @pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float32])
    def test_blocks_add_up_whatever_the_type(self, dtype: type) -> None:
        # More than 127 images, which an eight-bit count would not survive.
        rows = image_rows(n_images=2000).astype(dtype)

        total = cooccurrence(rows[:700]) + cooccurrence(rows[700:])

        assert total.max() > 127
        np.testing.assert_array_equal(total.toarray(), cooccurrence(rows).toarray())

    def test_the_rows_are_left_alone(self) -> None:
        rows = sparse.csr_array(([1.0, 0.0], [1, 0], [0, 2]), shape=(1, 2))

        counts = cooccurrence(rows)

        np.testing.assert_array_equal(rows.indices, [1, 0])
        np.testing.assert_array_equal(counts.toarray(), [[0, 0], [0, 1]])

    def test_a_tag_held_twice_is_refused(self) -> None:
        with pytest.raises(CollectionError, match="holds a tag 2 times"):
            cooccurrence(sparse.csr_array(([1, 1], [0, 0], [0, 2]), shape=(1, 1)))


class TestTagAffinity:
    @pytest.mark.parametrize("links_per_tag", [1, 4, 10, 29, 30, 1000])
    def test_it_equals_the_double_loop(
        self, counts: SparseRows, lin: LinSimilarity, links_per_tag: int
    ) -> None:
        strength = literal_strength(image_rows().toarray(), lin.rows(slice(None)))

        affinity = tag_affinity(counts, lin, links_per_tag=links_per_tag)

        expected = literal_affinity(strength, links_per_tag)
        np.testing.assert_allclose(affinity.toarray(), expected, rtol=1e-12, atol=0)
        assert affinity.nnz == np.count_nonzero(expected)

    @pytest.mark.parametrize("weights", [(0.5, 0.5), (0.0, 1.0), (1.0, 0.0), (0.3, 0.2)])
    def test_the_weights_are_those_of_the_formula(
        self, counts: SparseRows, lin: LinSimilarity, weights: tuple[float, float]
    ) -> None:
        strength = literal_strength(image_rows().toarray(), lin.rows(slice(None)), *weights)

        affinity = tag_affinity(
            counts,
            lin,
            cooccurrence_weight=weights[0],
            taxonomy_weight=weights[1],
            links_per_tag=5,
        )

        expected = literal_affinity(strength, 5)
        np.testing.assert_allclose(affinity.toarray(), expected, rtol=1e-12, atol=0)

    def test_without_lin_cooccurrence_keeps_its_weight(self, counts: SparseRows) -> None:
        nothing = np.zeros((len(NAMES), len(NAMES)))
        expected = literal_affinity(literal_strength(image_rows().toarray(), nothing), 6)

        affinity = tag_affinity(counts, None, links_per_tag=6)

        np.testing.assert_allclose(affinity.toarray(), expected, rtol=1e-12, atol=0)

    def test_tags_that_are_all_outside_wordnet_change_nothing(self, counts: SparseRows) -> None:
        names = [f"dscn{number}" for number in range(len(NAMES))]
        outside = LinSimilarity.of_tags(load_taxonomy(), names, counts.diagonal())

        with_lin, without = tag_affinity(counts, outside), tag_affinity(counts, None)

        np.testing.assert_array_equal(with_lin.toarray(), without.toarray())
        assert with_lin.nnz == without.nnz

    def test_it_is_symmetric_sorted_and_1_on_the_diagonal(
        self, counts: SparseRows, lin: LinSimilarity
    ) -> None:
        affinity = tag_affinity(counts, lin, links_per_tag=3)

        assert affinity.dtype == np.float64
        assert affinity.has_sorted_indices
        assert counts.diagonal()[UNUSED] == 0
        np.testing.assert_array_equal(affinity.diagonal(), np.ones(len(NAMES)))
        np.testing.assert_array_equal(affinity.toarray(), affinity.toarray().T)

    def test_every_link_is_among_the_strongest_of_one_end(
        self, counts: SparseRows, lin: LinSimilarity
    ) -> None:
        every = tag_affinity(counts, lin, links_per_tag=None).toarray()
        np.fill_diagonal(every, 0)
        third = np.sort(every, axis=1)[:, -3]

        few = tag_affinity(counts, lin, links_per_tag=3).tocoo()

        off = few.row != few.col
        weaker_end = np.minimum(third[few.row[off]], third[few.col[off]])
        assert np.all(few.data[off] >= weaker_end)
        assert off.sum() <= 2 * 3 * len(NAMES)

    def test_ties_go_to_the_tag_that_comes_first(self) -> None:
        # One image holds all five tags, so that all links are equally strong.
        counts = cooccurrence(sparse.csr_array(np.ones((1, 5), dtype=np.bool_)))
        alike = LinSimilarity.of_tags(load_taxonomy(), ["dog"] * 5, counts.diagonal())

        # Tags 0 and 1 keep each other, and every later tag keeps tag 0.
        expected = np.eye(5, dtype=bool)
        expected[0, :] = expected[:, 0] = True
        for lin in (None, alike):
            affinity = tag_affinity(counts, lin, links_per_tag=1)
            np.testing.assert_array_equal(affinity.toarray() > 0, expected)

    def test_no_links_leave_the_identity(self, counts: SparseRows, lin: LinSimilarity) -> None:
        affinity = tag_affinity(counts, lin, links_per_tag=0)

        np.testing.assert_array_equal(affinity.toarray(), np.eye(len(NAMES)))
        assert affinity.nnz == len(NAMES)

    def test_a_weight_of_0_stores_no_links(self, counts: SparseRows) -> None:
        affinity = tag_affinity(counts, None, cooccurrence_weight=0.0, links_per_tag=None)

        assert affinity.nnz == len(NAMES)

    def test_blocks_do_not_change_the_result(
        self, counts: SparseRows, lin: LinSimilarity, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = tag_affinity(counts, lin)
        monkeypatch.setattr(module, "CELLS_PER_BLOCK", 7 * len(NAMES))

        in_blocks = tag_affinity(counts, lin)

        np.testing.assert_array_equal(in_blocks.toarray(), whole.toarray())

    @pytest.mark.parametrize("links_per_tag", [1, 3, 13])
    def test_long_rows_keep_the_same_links(
        self,
        counts: SparseRows,
        lin: LinSimilarity,
        links_per_tag: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        # A row as short as these is cut into stretches of one tag unless there are few of them.
        monkeypatch.setattr(module, "STRETCHES_PER_LINK", 2)
        strength = literal_strength(image_rows().toarray(), lin.rows(slice(None)))

        affinity = tag_affinity(counts, lin, links_per_tag=links_per_tag)

        expected = literal_affinity(strength, links_per_tag)
        np.testing.assert_allclose(affinity.toarray(), expected, rtol=1e-12, atol=0)

    def test_the_counts_are_left_alone(self, counts: SparseRows, lin: LinSimilarity) -> None:
        before = counts.toarray()

        tag_affinity(counts, lin)

        np.testing.assert_array_equal(counts.toarray(), before)

    def test_an_empty_vocabulary_gives_an_empty_affinity(self) -> None:
        assert tag_affinity(sparse.csr_array((0, 0), dtype=np.int64)).shape == (0, 0)

    @pytest.mark.parametrize(
        ("setting", "problem"),
        [
            ({"cooccurrence_weight": -0.1}, "-0.1 and 0.1"),
            ({"taxonomy_weight": 0.2}, "sum is at most 1"),
            ({"taxonomy_weight": float("nan")}, "nan"),
            ({"links_per_tag": -1}, "links_per_tag is -1"),
        ],
    )
    def test_an_impossible_setting_is_named(
        self, counts: SparseRows, setting: dict, problem: str
    ) -> None:
        with pytest.raises(SettingsError, match=problem):
            tag_affinity(counts, None, **setting)

    @pytest.mark.parametrize(
        ("wrong", "problem"),
        [
            (np.ones((2, 3)), "2 x 3; give tags by tags"),
            (np.array([[2, 3], [3, 5]]), "tags 0 and 1 meet 3 times but are used 2 and 5"),
            (np.array([[2.0, np.nan], [np.nan, 5.0]]), "meet nan times"),
            (np.array([[4, -1], [-1, 5]]), "meet -1 times"),
            (np.array([[4, 1], [2, 5]]), "not symmetric"),
        ],
    )
    def test_impossible_counts_are_named(self, wrong: np.ndarray, problem: str) -> None:
        with pytest.raises(CollectionError, match=problem):
            tag_affinity(sparse.csr_array(wrong))

    def test_a_lin_of_other_tags_is_refused(self, lin: LinSimilarity) -> None:
        with pytest.raises(CollectionError, match="of 2 tags and the Lin similarity of 30"):
            tag_affinity(sparse.csr_array(np.eye(2)), lin)
