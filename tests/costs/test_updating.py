"""What an update takes follows the model and what is added; what does not fit is refused."""

from dataclasses import replace

import pytest

from planted import planted_collection, resharded
from sugartag.collection import Collection
from sugartag.costs.estimate import USUAL_ROWS
from sugartag.costs.limits import FEWEST_ROWS, memory_advice, rows_within
from sugartag.costs.updating import PARTS_ADVISED, Update
from sugartag.engine import LocalEngine
from sugartag.errors import CapacityError
from sugartag.fitting import fit_model, update_model
from sugartag.methods.registry import make_method
from sugartag.model_folder import Model

FIRST = 400


@pytest.fixture(scope="module")
def halves() -> tuple[Collection, Collection]:
    whole = resharded(planted_collection(), FIRST)
    return replace(whole, shards=whole.shards[:1]), replace(whole, shards=whole.shards[1:])


@pytest.fixture(scope="module")
def model(halves) -> Model:
    method = make_method("sugar-plus", {"anchors": 20})
    return fit_model(method, halves[0], engine=LocalEngine(), seed=0)


@pytest.fixture
def update(model, halves) -> Update:
    made = Update.of(model, halves[1])
    assert made is not None
    return made


def test_the_model_to_be_is_as_large_as_the_update_makes_it(update, model, halves):
    made = update_model(model, halves[1], engine=LocalEngine()).fitted

    assert update.whole.images == made.ridge.n_images
    assert (update.shape.T, update.whole.owners) == (made.evidence.n_tags, len(made.ridge.owners))
    assert len(made.evidence.predictor) == update.shape.P
    assert len(made.ridge.sums.gram) == update.shape.M
    assert update.whole.given == pytest.approx(made.trusted.nnz)
    assert update.shape.sums == made.ridge.sums.gram.nbytes + made.ridge.sums.cross.nbytes
    assert not update.is_again


def test_images_that_the_model_has_are_counted_once(model, halves):
    again = Update.of(model, halves[0])

    assert again is not None
    assert again.is_again
    assert again.whole.images == FIRST
    assert again.whole.given == model.fitted.trusted.nnz


def test_tags_that_the_model_knew_nothing_of_are_counted(model, halves):
    later = halves[1]
    names = ("unheard of", *later.tag_names[1:])

    more = Update.of(model, replace(later, tag_names=names))

    assert more is not None
    assert more.whole.tags == later.n_tags + 1
    assert more.rounds == 2


def test_only_sugar_plus_is_updated(halves):
    other = fit_model(make_method("tag-prior"), halves[0], engine=LocalEngine(), seed=0)

    assert Update.of(other, halves[1]) is None


def larger(update: Update, images: int) -> Update:
    """Return the same with as many new images."""
    times = images / update.added.images
    added = replace(update.added, images=images, given=update.added.given * times)
    whole = replace(update.whole, images=FIRST + images, given=update.whole.given + added.given)
    return replace(update, added=added, whole=whole)


def test_more_of_anything_takes_more_memory(update):
    base = update.largest_process(USUAL_ROWS)

    assert larger(update, 100_000).largest_process(USUAL_ROWS) > base
    assert replace(update, workers=2).largest_process(USUAL_ROWS) > base
    assert replace(update, rounds=2).largest_process(USUAL_ROWS) > base
    assert replace(update, is_again=True).largest_process(USUAL_ROWS) > base
    assert replace(update, apart=True).largest_process(USUAL_ROWS) > base
    wider = replace(update.shape, P=5_000.0, T=6_000.0)
    assert replace(update, shape=wider).largest_process(USUAL_ROWS) > base + wider.sums


def test_blocks_are_made_smaller_where_that_is_enough(update):
    many = larger(update, 100_000)
    limit = (many.needed(USUAL_ROWS) + many.needed(FEWEST_ROWS)) / 2

    rows = rows_within(many, limit)

    assert FEWEST_ROWS <= rows < USUAL_ROWS
    assert many.needed(rows) <= limit


def test_what_cannot_fit_is_refused_with_what_is_needed(update):
    with pytest.raises(
        CapacityError,
        match=r"an update needs about .* for 200 images and a model of 400, and may use 1 MiB; "
        r"allow [\d.]+ MiB: it is the model that is large",
    ):
        rows_within(update, 1 << 20)


def test_the_advice_keeps_the_limit(update):
    several = replace(larger(update, 100_000), workers=16)
    limit = replace(several, workers=1).needed(FEWEST_ROWS)

    assert memory_advice(several, limit).startswith("try --workers 1, or ")


def test_fewer_images_at_once_are_advised_where_that_helps(update):
    wide = replace(update.added, images=250, features=1_000_000)
    one = replace(update, added=wide)
    limit = 0.5 * one.needed(FEWEST_ROWS)

    advice = memory_advice(one, limit)

    assert advice.startswith(f"try {PARTS_ADVISED} updates, each with a part of the images, or ")
