import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugartag.collection.texts import Texts

many = st.lists(st.text(max_size=12), max_size=30)


@settings(deadline=None)
@given(many)
def test_texts_come_back_as_they_went_in(texts):
    packed = Texts.of(texts)

    assert list(packed) == texts
    assert [packed[place] for place in range(len(packed))] == texts
    assert len(packed) == len(texts)


def test_signs_of_every_length_come_back():
    texts = ["", "a", "ü", "語", "🐾", "e\u0301", "\0", "\U0010ffff", "a\nb"]

    assert list(Texts.of(texts)) == texts


def test_texts_are_their_utf8_bytes_end_to_end():
    packed = Texts.of(["a", "", "ü"])

    assert packed.data.tolist() == [*"aü".encode()]
    assert packed.offsets.tolist() == [0, 1, 1, 3]


@settings(deadline=None)
@given(many, st.integers(-35, 35) | st.none(), st.integers(-35, 35) | st.none())
def test_slices_are_those_of_a_list(texts, start, stop):
    part = Texts.of(texts)[start:stop]

    assert list(part) == texts[start:stop]
    assert [part[place] for place in range(len(part))] == texts[start:stop]


@settings(deadline=None)
@given(many, st.integers(0, 10), st.integers(0, 10))
def test_slices_can_be_sliced_again(texts, first, second):
    assert list(Texts.of(texts)[first:][second:-1]) == texts[first:][second:-1]


def test_a_slice_shares_the_bytes():
    packed = Texts.of(["one", "two", "three"])

    assert np.shares_memory(packed[1:].data, packed.data)


@settings(deadline=None)
@given(st.lists(many, min_size=1, max_size=5))
def test_joined_texts_are_one_after_the_other(parts):
    joined = Texts.joined([Texts.of(part) for part in parts])

    assert list(joined) == [text for part in parts for text in part]


@settings(deadline=None)
@given(many, st.integers(0, 30), st.integers(0, 30))
def test_slices_that_are_joined_again_are_the_whole(texts, first, second):
    packed = Texts.of(texts)
    low, high = sorted((first, second))

    joined = Texts.joined([packed[:low], packed[low:high], packed[high:]])

    assert joined == packed
    assert joined.data.tolist() == packed.data.tolist()


@settings(deadline=None)
@given(many, st.integers(-40, 40))
def test_places_are_those_of_a_list(texts, place):
    packed = Texts.of(texts)

    if -len(texts) <= place < len(texts):
        assert packed[place] == texts[place]
    else:
        with pytest.raises(IndexError):
            packed[place]


def test_only_slices_without_gaps_are_made():
    with pytest.raises(ValueError, match="step 1 only"):
        Texts.of(["a", "b", "c"])[::2]


def test_texts_know_what_they_hold():
    packed = Texts.of(["a", "b", "a"])

    assert "b" in packed
    assert "c" not in packed
    assert packed.index("b") == 1
    assert packed.count("a") == 2


def test_texts_equal_others_with_the_same_words_only():
    packed = Texts.of(["a", "b"])

    assert packed == Texts.of(["x", "a", "b"])[1:]
    assert packed != Texts.of(["a", "c"])
    assert packed != Texts.of(["ab", ""])
    assert packed != ["a", "b"]
