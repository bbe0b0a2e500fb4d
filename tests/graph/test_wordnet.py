"""The noun taxonomy, information content and Lin similarity, against slow literal formulas."""

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugartag.errors import CollectionError, StorageError
from sugartag.graph.wordnet import (
    LARGEST_TABLE,
    LinSimilarity,
    Taxonomy,
    information_content,
    load_taxonomy,
    read_taxonomy,
)

WORDS = (
    "dog dogs puppy cat kitten horse horses bird birds eagle fish shark butterfly insect animal "
    "tree flower flowers rose grass forest mountain river lake ocean beach sea sky cloud sunset "
    "sun moon star water snow rain storm car cars truck bus train plane boat bicycle street bridge "
    "building house castle church tower city person man men woman women child music guitar food "
    "ice-cream newyork zoo entity qzxv0001 dscn1234 nikond40 the"
)
REAL_TAGS = WORDS.split()

DIAMOND = ("root\t\nleft\troot\nright\troot\nbottom\tleft,right\n", "thing\troot\ngem\tbottom\n")
"""Two ways lead from the bottom to the root."""


@pytest.fixture
def real_counts() -> np.ndarray:
    return np.random.default_rng(3).integers(0, 400, len(REAL_TAGS))


def write(folder: Path, nouns: str, lemmas: str) -> Path:
    (folder / "nouns.tsv.gz").write_bytes(gzip.compress(nouns.encode()))
    (folder / "lemmas.tsv.gz").write_bytes(gzip.compress(lemmas.encode()))
    return folder


def ancestors(taxonomy: Taxonomy, node: int) -> set[int]:
    """Every node at or above one, by walking up."""
    above = [ancestors(taxonomy, int(hypernym)) for hypernym in taxonomy.hypernyms(node)]
    return {node}.union(*above)


def literal_lin(taxonomy: Taxonomy, names: list[str], counts: np.ndarray) -> np.ndarray:
    """Lin's formula pair by pair, its parts by set intersection and one use at a time."""
    nodes = [taxonomy.find(name) for name in names]
    above = [set() if node is None else ancestors(taxonomy, node) for node in nodes]
    uses: dict[int, float] = {}
    for reached, count in zip(above, counts, strict=True):
        for node in reached:
            uses[node] = uses.get(node, 0) + count + 1
    total = max(uses.values(), default=1)
    content = {node: -math.log(used / total) for node, used in uses.items()}
    similarity = np.zeros((len(names), len(names)))
    for i, a in enumerate(nodes):
        for j, b in enumerate(nodes):
            if a is None or b is None:
                continue
            shared = max(content[node] for node in above[i] & above[j])
            both = content[a] + content[b]
            similarity[i, j] = 2 * shared / both if both > 0 else float(a == b)
    return similarity


class TestFinding:
    @pytest.mark.parametrize(
        ("tag", "lemma"),
        [
            ("dogs", "dog"),
            ("Buses", "bus"),
            ("boxes", "box"),
            ("waltzes", "waltz"),
            ("churches", "church"),
            ("dishes", "dish"),
            ("women", "woman"),
            ("cities", "city"),
            ("Hot Dogs", "hot_dog"),
        ],
    )
    def test_a_plural_means_its_singular(self, tag: str, lemma: str) -> None:
        taxonomy = load_taxonomy()

        assert taxonomy.find(tag) == taxonomy.first_sense[lemma]

    @pytest.mark.parametrize(
        "tag", ["ice cream", "Ice-Cream", "ICE_CREAM", "icecream", " ice  cream "]
    )
    def test_words_may_be_parted_in_any_way(self, tag: str) -> None:
        taxonomy = load_taxonomy()

        assert taxonomy.find(tag) == taxonomy.first_sense["ice_cream"]

    @pytest.mark.parametrize("tag", ["t shirt", "t-shirt", "T_shirt", "tshirt", "tshirts"])
    def test_a_hyphen_of_wordnet_is_found_without_it(self, tag: str) -> None:
        taxonomy = load_taxonomy()

        assert taxonomy.find(tag) == taxonomy.first_sense["t-shirt"]

    def test_a_lemma_that_looks_like_a_plural_stays_itself(self) -> None:
        taxonomy = load_taxonomy()

        assert taxonomy.find("glasses") != taxonomy.find("glass")
        assert taxonomy.find("glasses") == taxonomy.first_sense["glasses"]

    @pytest.mark.parametrize(
        "tag", ["", " ", "-", "the", "is", "quickly", "dscn1234", "日本", "gass"]
    )
    def test_what_is_no_noun_is_none(self, tag: str) -> None:
        assert load_taxonomy().find(tag) is None

    def test_the_first_sense_of_dog_is_the_animal(self) -> None:
        taxonomy = load_taxonomy()
        dog, animal = taxonomy.find("dog"), taxonomy.find("animal")

        assert dog is not None
        assert animal in ancestors(taxonomy, dog)


class TestReading:
    def test_the_shipped_taxonomy_is_whole_and_read_once(self) -> None:
        taxonomy = load_taxonomy()

        assert taxonomy.n_nodes == 82_115
        assert len(taxonomy.first_sense) > 117_000
        assert load_taxonomy() is taxonomy

    @pytest.mark.parametrize(
        ("nouns", "lemmas", "problem"),
        [
            ("a\t\nb\tc\n", "x\ta\n", "hypernym 'c' is not a synset"),
            ("a\t\nb\ta\nb\ta\n", "x\ta\n", "1 synsets are listed twice"),
            ("a\t\nb\t\n", "x\ta\n", "2 synsets have no hypernym"),
            ("a\t\nb\tc\nc\tb\nd\tc\n", "x\ta\n", "3 synsets lie on or below a circle"),
            ("a\t\nb\n", "x\ta\n", "nouns.tsv.gz has a line that is not two columns"),
            ("a\t\n", "x\tq,a\n", "a lemma means 'q'"),
            ("", "x\ta\n", "not two columns"),
        ],
    )
    def test_tables_that_contradict_themselves_are_named(
        self, tmp_path: Path, nouns: str, lemmas: str, problem: str
    ) -> None:
        with pytest.raises(StorageError, match=problem):
            read_taxonomy(write(tmp_path, nouns, lemmas))

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match=r"nouns\.tsv\.gz cannot be read"):
            read_taxonomy(tmp_path)

    @pytest.mark.parametrize("damage", ["cut", "flipped", "not packed", "not text"])
    def test_a_damaged_file_is_named(self, tmp_path: Path, damage: str) -> None:
        file = write(tmp_path, *DIAMOND) / "lemmas.tsv.gz"
        packed = file.read_bytes()
        # Byte 12 is the compressed text, past the header of ten bytes.
        flipped = packed[:12] + bytes([packed[12] ^ 0xFF]) + packed[13:]
        file.write_bytes(
            {
                "cut": packed[:-9],
                "flipped": flipped,
                "not packed": b"thing\troot\n",
                "not text": gzip.compress(b"\xff\xfe\troot\n"),
            }[damage]
        )

        with pytest.raises(StorageError, match=r"lemmas\.tsv\.gz .*reinstall sugartag"):
            read_taxonomy(tmp_path)

    def test_a_file_that_unpacks_too_large_is_refused(self, tmp_path: Path) -> None:
        folder = write(tmp_path, *DIAMOND)
        (folder / "nouns.tsv.gz").write_bytes(gzip.compress(bytes(LARGEST_TABLE + 1), 1))

        with pytest.raises(StorageError, match="more than 32000000 bytes"):
            read_taxonomy(folder)


class TestInformationContent:
    def test_two_ways_to_the_root_count_a_use_once(self, tmp_path: Path) -> None:
        taxonomy = read_taxonomy(write(tmp_path, *DIAMOND))
        root, left, right, bottom = range(4)

        content = information_content(taxonomy, np.array([root, bottom]), np.array([4, 2]))

        # (4 + 1) uses of the root itself and (2 + 1) of the bottom.
        np.testing.assert_allclose(content[root], 0, atol=0)
        np.testing.assert_allclose(content[[left, right, bottom]], math.log(8 / 3), rtol=1e-15)

    @settings(max_examples=25, deadline=None)
    @given(seed=st.integers(0, 2**32 - 1), n_tags=st.integers(0, 30))
    def test_it_is_finite_and_never_grows_upward(self, seed: int, n_tags: int) -> None:
        taxonomy = load_taxonomy()
        rng = np.random.default_rng(seed)

        content = information_content(
            taxonomy, rng.integers(0, taxonomy.n_nodes, n_tags), rng.integers(0, 10**6, n_tags)
        )

        links = taxonomy.hypernym_links.tocoo()
        assert np.isfinite(content).all()
        assert content.min() == 0
        assert content[taxonomy.first_sense["entity"]] == 0
        assert np.all(content[links.col] <= content[links.row])

    @pytest.mark.parametrize(
        ("senses", "counts", "problem"),
        [
            ([0, 1], [1], "one count per sense"),
            ([82_115], [1], "nodes 0 to"),
            ([0], [-2], "-2 times"),
        ],
    )
    def test_impossible_uses_are_named(self, senses: list, counts: list, problem: str) -> None:
        with pytest.raises(CollectionError, match=problem):
            information_content(load_taxonomy(), np.array(senses), np.array(counts))


class TestLinSimilarity:
    def test_it_equals_the_formula_on_real_tags(self, real_counts: np.ndarray) -> None:
        taxonomy = load_taxonomy()
        lin = LinSimilarity.of_tags(taxonomy, REAL_TAGS, real_counts)

        expected = literal_lin(taxonomy, REAL_TAGS, real_counts)

        assert (expected > 0).mean() > 0.3
        np.testing.assert_allclose(lin.rows(slice(None)), expected, rtol=1e-12, atol=1e-15)

    def test_blocks_are_the_rows_of_the_whole(self, real_counts: np.ndarray) -> None:
        lin = LinSimilarity.of_tags(load_taxonomy(), REAL_TAGS, real_counts)

        blocks = [lin.rows(slice(start, start + 7)) for start in range(0, len(REAL_TAGS), 7)]

        np.testing.assert_array_equal(np.concatenate(blocks), lin.rows(slice(None)))

    def test_it_is_symmetric_and_between_0_and_1(self, real_counts: np.ndarray) -> None:
        rows = LinSimilarity.of_tags(load_taxonomy(), REAL_TAGS, real_counts).rows(slice(None))

        np.testing.assert_array_equal(rows, rows.T)
        assert rows.min() == 0
        assert rows.max() == 1

    def test_it_is_1_for_tags_of_one_meaning_only(self) -> None:
        # Never used, so that smoothing alone tells these apart.
        names = ["dog", "dogs", "poodle", "beagle", "canine", "Dog"]
        lin = LinSimilarity.of_tags(load_taxonomy(), names, np.zeros(6, dtype=np.int64))

        rows = lin.rows(slice(None))

        same = np.array([name.lower().startswith("dog") for name in names])
        np.testing.assert_array_equal(rows == 1, np.outer(same, same) | np.eye(6, dtype=bool))

    def test_the_only_meaning_of_a_collection_is_like_itself(self) -> None:
        lin = LinSimilarity.of_tags(load_taxonomy(), ["dog", "qzxv", "dogs"], np.array([5, 9, 2]))

        expected = [[1, 0, 1], [0, 0, 0], [1, 0, 1]]
        np.testing.assert_array_equal(lin.rows(slice(None)), expected)

    def test_tags_outside_wordnet_are_like_nothing(self) -> None:
        lin = LinSimilarity.of_tags(load_taxonomy(), ["qzxv", "dscn1", "the"], np.array([5, 9, 0]))

        np.testing.assert_array_equal(lin.rows(slice(None)), np.zeros((3, 3)))

    def test_closer_relatives_are_more_alike(self, real_counts: np.ndarray) -> None:
        rows = LinSimilarity.of_tags(load_taxonomy(), REAL_TAGS, real_counts).rows(slice(None))
        dog, cat, guitar = (REAL_TAGS.index(name) for name in ("dog", "cat", "guitar"))

        assert rows[dog, cat] > rows[dog, guitar]

    def test_counts_of_other_tags_are_refused(self) -> None:
        with pytest.raises(CollectionError, match="2 tags have counts of shape"):
            LinSimilarity.of_tags(load_taxonomy(), ["dog", "cat"], np.array([1, 2, 3]))

    def test_no_tags_give_no_rows(self) -> None:
        lin = LinSimilarity.of_tags(load_taxonomy(), [], np.array([], dtype=np.int64))

        assert lin.rows(slice(None)).shape == (0, 0)
