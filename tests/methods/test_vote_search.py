"""Voters found by an index of usearch: nearly those of the exact search, in the same form."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from planted import OF_NOBODY, as_new
from sugartag.errors import MissingExtraError, SettingsError
from sugartag.linalg import index as index_module
from sugartag.linalg.neighbours import nearest_rows
from sugartag.methods import voters
from sugartag.methods.registry import make_method
from sugartag.methods.tag_prop import TagProp
from sugartag.methods.tag_vote import TagVote, TagVoteOwn
from sugartag.methods.voters import chosen_search

needs_usearch = pytest.mark.skipif(
    not index_module.usearch_is_installed(), reason="needs the extra: search"
)
N_ROWS, N_FEATURES = 5000, 64


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """5,000 rows around 40 centres."""
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(40, N_FEATURES))
    rows = 0.7 * centres[rng.integers(40, size=N_ROWS)] + rng.normal(size=(N_ROWS, N_FEATURES))
    return rows.astype(np.float32)


@pytest.fixture(scope="module")
def index(rows) -> index_module.RowIndex:
    pytest.importorskip("usearch")
    return index_module.RowIndex.of([rows[:3000], rows[3000:]], N_FEATURES)


def shared(found, exact) -> float:
    """Return the share of the true neighbours that were found."""
    pairs = zip(found.index, exact.index, strict=True)
    return (
        float(np.mean([len(np.intersect1d(some, every)) for some, every in pairs]))
        / (exact.index.shape[1])
    )


@needs_usearch
def test_nearly_all_of_the_nearest_rows_are_found(rows, index):
    exact = nearest_rows(rows[:500], [rows], 20)

    found = index.nearest(rows[:500], 20)

    assert shared(found, exact) > 0.97
    assert found.index.shape == exact.index.shape
    assert found.index.dtype == exact.index.dtype
    same = found.index == exact.index
    np.testing.assert_allclose(found.distance[same], exact.distance[same], atol=1e-3)
    assert np.all(np.diff(found.distance, axis=1) >= 0)


@needs_usearch
def test_a_row_does_not_find_itself_if_labelled_by_number(rows, index):
    number = np.arange(N_ROWS)
    exact = nearest_rows(rows[:300], [rows], 20, query_labels=number[:300], row_labels=number)

    found = index.nearest(rows[:300], 20, query_labels=number[:300], row_labels=number)

    assert not (found.index == number[:300, None]).any()
    assert np.isfinite(found.distance).all()
    assert shared(found, exact) > 0.97


@needs_usearch
def test_rows_of_the_same_label_are_passed_over_however_many(rows, index):
    # The nearest 400 rows of the first query share its label.
    near = np.argsort(np.square(rows - rows[0]).sum(axis=1))[:400]
    labels = np.arange(N_ROWS)
    labels[near] = N_ROWS
    exact = nearest_rows(rows[:1], [rows], 10, query_labels=labels[:1], row_labels=labels)

    found = index.nearest(rows[:1], 10, query_labels=labels[:1], row_labels=labels)

    assert not np.isin(found.index, near).any()
    assert shared(found, exact) >= 0.9


@needs_usearch
def test_missing_neighbours_have_the_number_of_rows_for_an_index(rows):
    few = index_module.RowIndex.of([rows[:3]], N_FEATURES)

    found = few.nearest(rows[:2], 5, query_labels=np.array([0, 1]), row_labels=np.array([0, 0, 2]))

    assert found.index[0].tolist() == [2, 3, 3, 3, 3]
    assert sorted(found.index[1].tolist()) == [0, 1, 2, 3, 3]
    np.testing.assert_array_equal(np.isinf(found.distance), found.index == 3)


@needs_usearch
def test_what_a_query_finds_depends_neither_on_the_others_nor_on_the_run(rows, index):
    again = index_module.RowIndex.of([rows], N_FEATURES)

    together = again.nearest(rows[:30], 10).index

    alone = [index.nearest(rows[at : at + 1], 10).index[0] for at in range(30)]
    np.testing.assert_array_equal(together, alone)


@needs_usearch
def test_an_index_can_be_sent_to_another_process(rows, index):
    sent = pickle.loads(pickle.dumps(index))

    np.testing.assert_array_equal(
        sent.nearest(rows[:20], 5).index, index.nearest(rows[:20], 5).index
    )


@needs_usearch
def test_impossible_questions_are_refused(rows, index):
    with pytest.raises(SettingsError, match="k is 0"):
        index.nearest(rows[:1], 0)
    with pytest.raises(ValueError, match="for the queries and for the rows"):
        index.nearest(rows[:1], 1, query_labels=np.array([1]))


@needs_usearch
@pytest.mark.parametrize("method_type", [TagVote, TagVoteOwn, TagProp])
@pytest.mark.parametrize("strangers_only", [False, True])
def test_methods_score_alike_by_index(method_type, strangers_only, collection, engine, rng):
    rows = collection.rows(slice(0, 200))
    exact, near = (
        method_type(search=search)
        .fit(collection, engine=engine, rng=np.random.default_rng(0))
        .scores(rows, strangers_only=strangers_only)
        for search in ("exact", "usearch")
    )

    assert np.isclose(exact, near, atol=1e-4).mean() > 0.98


@needs_usearch
def test_an_index_is_built_once_when_fitting(monkeypatch, collection, engine, rng):
    built = []
    build = index_module.RowIndex.of
    monkeypatch.setattr(
        voters.RowIndex, "of", lambda *given: built.append(1) or build(*given), raising=True
    )
    for method_type in (TagVote, TagProp):
        built.clear()
        model = method_type(search="usearch").fit(collection, engine=engine, rng=rng)
        assert built == [1]
        for _ in range(2):
            model.scores(collection.rows(slice(0, 5)))
        assert built == [1]


@needs_usearch
def test_an_index_is_not_stored_but_built_again_when_first_asked(collection, engine, rng):
    model = TagVote(search="usearch").fit(collection, engine=engine, rng=rng)
    rows = as_new(collection.rows(slice(OF_NOBODY, 20)), collection)

    loaded = replace(model)  # made from the fields alone, as a stored model is

    assert "_built_index" not in vars(loaded)
    np.testing.assert_array_equal(loaded.scores(rows), model.scores(rows))
    assert "_built_index" in vars(loaded)


def test_auto_searches_by_index_beyond_200_000_images_where_it_can(monkeypatch):
    monkeypatch.setattr(voters, "usearch_is_installed", lambda: True)
    assert chosen_search("auto", 200_000) == "exact"
    assert chosen_search("auto", 200_001) == "usearch"
    assert chosen_search("exact", 10**7) == "exact"
    assert chosen_search("usearch", 10) == "usearch"
    monkeypatch.setattr(voters, "usearch_is_installed", lambda: False)
    assert chosen_search("auto", 10**7) == "exact"


def test_an_index_without_usearch_says_what_to_install(monkeypatch, collection, engine, rng):
    def missing(module, *, extra, needed_for):
        raise MissingExtraError("usearch", extra=extra, needed_for=needed_for)

    monkeypatch.setattr(index_module, "optional", missing)

    with pytest.raises(MissingExtraError, match=r"pip install 'sugartag\[search\]'"):
        TagVote(search="usearch").fit(collection, engine=engine, rng=rng)


def test_an_unknown_search_is_named():
    with pytest.raises(SettingsError, match="setting search is 'faiss'; choose one of: auto"):
        make_method("tag-vote", {"search": "faiss"})
