"""What a data scientist does: from a frame to suggestions, without a look at the source."""

import inspect
import re

import numpy as np
import pytest

import sugartag
from sugartag.errors import CollectionError, SettingsError, StorageError
from sugartag.sklearn import Retagger

COLUMNS = ["image_id", "tag", "action", "probability", "reason"]


@pytest.fixture(scope="module")
def table() -> dict[str, list]:
    """Return 300 images of a synthetic collection as columns with names of their own."""
    columns = sugartag.World(n_images=300).generate(seed=0).to_frame("dict")
    return {"file": columns["image_id"], "user": columns["owner"], "keywords": columns["tags"]}


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return sugartag.World(n_images=300).generate(seed=0).features_at(np.arange(300))


@pytest.fixture(scope="module")
def photos(table, vectors) -> sugartag.Collection:
    return sugartag.Collection.from_frame(
        table, features=vectors, id="file", owner="user", tags="keywords"
    )


@pytest.fixture(scope="module")
def model(photos) -> sugartag.Model:
    return sugartag.fit(photos[:200], progress=False)


def the_whole_path(df, vectors, folder):
    known, new = df[:200], df[200:][["file"]]
    names = {"id": "file", "owner": "user", "tags": "keywords"}
    np.save(folder / "vectors.npy", vectors[:200])
    photos = sugartag.Collection.from_frame(known, features=folder / "vectors.npy", **names)
    model = sugartag.fit(photos)
    changes = model.suggest(photos)
    model.save(str(folder / "photos.model"))
    model = sugartag.load(str(folder / "photos.model"))
    more = model.suggest(new, features=vectors[200:], id="file", add_from=0.1)
    more["decision"] = np.where(more["probability"] > 0.3, "accept", "")
    model = model.update(new, decisions=more, features=vectors[200:], id="file")
    return changes, more, model


def test_a_frame_and_a_npy_become_suggestions_with_the_same_ids(table, vectors, tmp_path):
    frame = pytest.importorskip("pandas").DataFrame(table)

    changes, more, updated = the_whole_path(frame, vectors, tmp_path)

    assert list(changes.columns) == COLUMNS
    assert set(changes["image_id"]) <= set(frame["file"][:200])
    assert set(more["image_id"]) <= set(frame["file"][200:])
    assert (more["action"] == "add").all()
    assert more["probability"].between(0, 1).all()
    assert len(updated.catalogue.ids) == 300
    assert updated.fitted.decided.nnz == (more["decision"] == "accept").sum() > 0


def test_that_path_takes_at_most_twelve_lines_and_no_sub_package():
    body = inspect.getsource(the_whole_path).splitlines()[1:-1]

    assert len(body) <= 12
    assert not any("sugartag." in line and "import" in line for line in body)


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_suggestions_are_a_frame_of_the_library_that_was_given(kind, model, table, vectors):
    library = pytest.importorskip(kind)
    new = {"image_id": table["file"][200:]}
    frame = library.table(new) if kind == "pyarrow" else library.DataFrame(new)

    found = model.suggest(frame, features=vectors[200:], add_from=0.1, top=2)

    assert type(found) is type(frame)
    assert getattr(found, "column_names", None) or found.columns == COLUMNS


def test_suggestions_for_a_folder_are_a_frame_of_the_first_library(model, photos, tmp_path):
    pandas = pytest.importorskip("pandas")
    photos[:9].save(tmp_path / "few")

    for given in (photos[:9], tmp_path / "few", str(tmp_path / "few")):
        assert isinstance(model.suggest(given), pandas.DataFrame)
    assert isinstance(model.suggest({"image_id": ["new"], "tags": [["tag-00012"]]},
                                    features=np.zeros((1, 64))), dict)  # fmt: skip


def test_suggestions_can_be_of_some_actions_only(model, photos):
    every = model.suggest(photos, add_from=0.02, kind="dict")
    added = model.suggest(photos, add_from=0.02, actions="add", kind="dict")

    assert set(every["action"]) >= {"add", "keep"}
    assert set(added["action"]) == {"add"}
    assert len(added["tag"]) == every["action"].count("add")
    with pytest.raises(SettingsError, match="no action 'ad'"):
        model.suggest(photos, actions=["ad"])


def test_scores_and_probabilities_are_arrays_or_frames(model, photos):
    scores, likely = model.scores(photos), model.probabilities(photos)
    framed = model.scores(photos[:3], kind="dict")

    assert scores.shape == likely.shape == (300, len(model.tag_names))
    assert (likely >= 0).all()
    assert (likely <= 1).all()
    assert framed["image_id"] == list(photos.ids[:3])
    np.testing.assert_allclose(framed[model.tag_names[0]], scores[:3, 0], atol=1e-4)


def test_probabilities_are_those_of_the_suggestions(model, photos):
    listed = model.suggest(photos, add_from=0.02, kind="dict")
    likely = model.probabilities(photos)
    row = {image: number for number, image in enumerate(photos.ids)}
    column = {tag: number for number, tag in enumerate(model.tag_names)}

    found = [likely[row[i], column[t]] for i, t in zip(listed["image_id"], listed["tag"])]  # noqa: B905

    np.testing.assert_allclose(found, listed["probability"], atol=1e-4)


def test_a_model_is_shown_in_a_few_words_with_what_the_evidence_is_worth(model):
    assert len(repr(model)) < 300
    assert "200 images" in repr(model)
    assert "looks explain" in repr(model)
    assert model._repr_html_().startswith("<p>sugar-plus")


def test_a_saved_model_says_the_same(model, photos, tmp_path):
    model.save(tmp_path / "m")

    again = sugartag.load(tmp_path / "m")

    np.testing.assert_array_equal(again.scores(photos[:9]), model.scores(photos[:9]))
    with pytest.raises(StorageError, match="exists already"):
        model.save(str(tmp_path / "m"))


def test_settings_are_arguments_and_unknown_ones_are_named(photos):
    fitted = sugartag.fit(photos, "tag-prior", per_owner=True)

    assert fitted.method.per_owner is True
    with pytest.raises(SettingsError, match="has no setting 'owner'"):
        sugartag.fit(photos, "tag-prior", owner=True)
    with pytest.raises(SettingsError, match="has its settings"):
        sugartag.fit(photos, fitted.method, per_owner=True)


def test_features_go_with_a_frame(table, vectors):
    frame = {"image_id": table["file"], "owner": table["user"], "tags": table["keywords"]}

    fitted = sugartag.fit(frame, "tag-vote", features=vectors, neighbours=5)
    found = sugartag.evaluate(frame, "tag-vote", features=vectors, kind="dict")

    assert fitted.scores(frame, features=vectors).shape == (300, len(fitted.tag_names))
    assert found["map"][0] > 0


def test_a_frame_or_a_folder_is_fitted_as_it_is(table, tmp_path, photos):
    photos.save(tmp_path / "photos")
    frame = {"image_id": table["file"], "owner": table["user"], "tags": table["keywords"]}

    by_frame = sugartag.fit(frame, "tag-prior")
    by_folder = sugartag.fit(str(tmp_path / "photos"), "tag-prior")

    assert by_frame.tag_names == by_folder.tag_names
    with pytest.raises(SettingsError, match="features is for frames"):
        by_frame.suggest(photos, features=np.ones((300, 2)))


def test_methods_are_compared_on_hidden_tags_or_on_the_truth(photos):
    hidden = sugartag.evaluate(photos, ["original", "tag-prior"], kind="dict")
    world = sugartag.World(n_images=300).generate(seed=0)
    true = sugartag.evaluate(world, "original", kind="dict")

    assert hidden["method"] == ["original", "tag-prior"]
    assert {"map", "miap", "f_top10", "ndcg20", "fit_seconds"} <= set(hidden)
    assert hidden["map"][1] > 0
    assert true["map"] > hidden["map"][:1]
    with pytest.raises(SettingsError, match="no method is named"):
        sugartag.evaluate(photos, [])


def test_settings_are_tuned_and_can_be_used(photos):
    calls = []

    tuned = sugartag.tune(photos, "tag-prior", budget=2, progress=lambda *call: calls.append(call))

    assert [call for call in calls if call[0] == "tuning tag-prior"] == [
        ("tuning tag-prior", 1, 2),
        ("tuning tag-prior", 2, 2),
    ]
    assert tuned.score >= tuned.default_score
    assert len(tuned.to_frame("dict")["score"]) == 2
    assert sugartag.fit(photos, tuned.method, **tuned.settings).method.name == "tag-prior"


def test_progress_is_what_was_asked_for(photos, capsys):
    calls = []

    sugartag.fit(photos, "tag-prior", progress=lambda *call: calls.append(call))
    with_engine = len(calls)
    sugartag.fit(
        photos,
        "tag-prior",
        progress=lambda *call: calls.append(call),
        engine=sugartag.LocalEngine(),
    )
    sugartag.fit(photos, "tag-prior")

    assert len(calls) == 2 * with_engine > 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed is -1; give a whole number"),
        ({"seed": 1.5}, "seed is 1.5; give a whole number"),
        ({"method": sugartag.method_names}, "is no method; pass a name such as 'sugar-plus'"),
        ({"method": sugartag.World}, "is no method; pass a name"),
        ({"engine": "dask"}, "engine is 'dask'; pass a LocalEngine or a DaskEngine"),
        ({"features": np.ones((300, 2))}, "features is for frames: a collection has its own"),
    ],
)
def test_what_cannot_be_fitted_is_named_in_a_line(photos, options, message):
    with pytest.raises(SettingsError, match=message) as error:
        sugartag.fit(photos, **{"method": "tag-prior", **options})

    assert "\n" not in str(error.value)


def test_the_path_of_a_table_is_no_collection(tmp_path):
    (tmp_path / "photos.csv").write_text("image_id\n1\n")

    with pytest.raises(SettingsError, match=r"photos\.csv is a file; pass a data frame, or"):
        sugartag.fit(str(tmp_path / "photos.csv"))


def test_numbers_of_numpy_are_seeds_too(photos):
    same = [sugartag.fit(photos, "tag-prior", seed=seed).run_id for seed in (3, np.int64(3))]

    assert same[0] == same[1]


def test_options_that_there_are_not_are_named(model, photos):
    for call in (model.suggest, model.scores, model.probabilities, model.update):
        with pytest.raises(SettingsError, match="there is no option 'ids'; those of frames are"):
            call(photos, ids="file")


def test_settings_are_only_given_for_methods_that_are_evaluated(photos):
    with pytest.raises(SettingsError, match="settings are given for 'tag-vote', which is not"):
        sugartag.evaluate(photos, "tag-prior", settings={"tag-vote": {}})


def test_decisions_need_their_columns(model, photos):
    with pytest.raises(CollectionError, match="has no column 'decision'"):
        model.update(photos, decisions=model.suggest(photos, kind="dict"))


def test_what_is_shown_of_anything_is_short(photos, model):
    tuned = sugartag.Tuning("tag-vote", {"neighbours": 50}, 0.2, 0.1)

    shown = [repr(one) for one in (photos, model, model.catalogue, tuned, sugartag.LocalEngine())]

    assert max(map(len, shown)) < 300
    assert not any("\n" in one or "array(" in one for one in shown)


FUNCTIONS = [
    sugartag.fit,
    sugartag.evaluate,
    sugartag.tune,
    sugartag.Collection.from_frame,
    sugartag.Model.suggest,
    sugartag.Model.update,
    Retagger,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__qualname__)
def test_every_parameter_is_explained_and_has_a_default(function):
    _, *others = [
        one for one in inspect.signature(function).parameters.values() if one.name != "self"
    ]
    explained = re.findall(r"\w+", inspect.getdoc(function).partition("----------")[2])

    assert [one.name for one in others if one.name not in explained] == []
    assert all(one.default is not one.empty for one in others if one.kind != one.VAR_KEYWORD)
