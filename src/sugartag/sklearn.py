"""A scikit-learn estimator: features in, tags out, for pipelines and searches."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score, label_ranking_average_precision_score
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sugartag._typing import BoolArray, FloatArray
from sugartag.collection.frames import is_missing
from sugartag.collection.from_frame import collection_from_frame
from sugartag.collection.model import Collection
from sugartag.engine.local import LocalEngine
from sugartag.methods.registry import make_method
from sugartag.pipeline.fitting import DEFAULT_METHOD, fit_model

Array = npt.NDArray[Any]
LARGEST_SEED = 2**31 - 1
TIES = 1e-6
"""What the score counts in a probability, so that no two images are tied that scores tell apart."""
ROWS_AT_ONCE = 256
"""Images are scored as many at a time, always: what is said of one does not depend on the others,
not even by rounding."""
_ENGINE = LocalEngine()


class Retagger(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn classifier that learns from images' features which tags belong to them.

    It is a multi-label classifier: ``y`` is an indicator of images x tags, dense or sparse, or a
    list of the tags of each image. Images without a tag are fine. With one label for each image it
    is an ordinary classifier. Owners and groups are metadata:
    ``Retagger().set_fit_request(owners=True)``. With lists a search needs a splitter, such as
    ``cv=KFold(5)``: to choose one it would look at ``y`` itself.

    Parameters
    ----------
    method
        The method to fit: a name from :func:`sugartag.method_names`.
    settings
        Settings of the method; None for its defaults.
    threshold
        Predict a tag from this probability on.
    random_state
        Decides what the method draws at random.

    Attributes
    ----------
    classes_
        The tags, in the order of the columns of :meth:`predict_proba`; column numbers where ``y``
        was an indicator.
    model_
        The fitted :class:`sugartag.Model`.
    n_features_in_
        How many numbers describe an image.

    Examples
    --------
    >>> retagger = Retagger().fit(vectors, df["tags"], owners=df["owner"])
    >>> retagger.predict(new_vectors)

    """

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        *,
        settings: Mapping[str, Any] | None = None,
        threshold: float = 0.5,
        random_state: Any = 0,
    ) -> None:
        self.method = method
        self.settings = settings
        self.threshold = threshold
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, owners: Any = None, groups: Any = None) -> Self:
        """Learn from features and tags.

        Parameters
        ----------
        X
            Images x features.
        y
            The tags: images x tags, a list of tags for each image, or a label for each.
        owners
            The owner of each image, None where it is not known.
        groups
            For each image the groups that its owner is in.

        """
        lists = _tag_lists(y)
        self._is_listed = lists is not None
        if lists is not None:
            X, given = validate_data(self, X, dtype=np.float32), lists
            _require_rows(given, len(X))
            self.classes_ = np.array(sorted({tag for tags in given for tag in tags}), dtype=object)
        else:
            X, y = validate_data(self, X, y, dtype=np.float32, multi_output=True)
            y = y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y
            given = self._tags_of_targets(y)
        self._has_one_label = not self._is_listed and np.ndim(y) == 1
        collection = self._collection(X, "fitted", given, owners, groups)
        chosen = make_method(self.method, self.settings or {})
        seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        self.model_ = fit_model(chosen, collection, engine=LocalEngine(), seed=seed)
        return self

    def predict_proba(self, X: Any, *, owners: Any = None, tags: Any = None) -> FloatArray:
        """Return images x classes: the probability that each tag belongs.

        With one label for each image the probabilities of an image add up to 1.

        Parameters
        ----------
        X
            Images x features.
        owners
            The owner of each image.
        tags
            The tags that the images have already, in the form of ``y``.

        """
        # Images with the same probability of a tag differ by less than a millionth, as scores do.
        has_one_label = self._asked_for_one_label()
        rows, n_rows = self._new_images(X, owners, tags)
        likely, score = (
            self._by_class(found)
            for found in (
                self.model_.probabilities(rows, engine=_ENGINE),
                self.model_.scores(rows, engine=_ENGINE),
            )
        )
        likely = (1 - TIES) * likely + TIES * (0.5 + np.arctan(score) / np.pi)
        found: FloatArray = likely[:n_rows]
        return found / found.sum(axis=1, keepdims=True) if has_one_label else found

    def decision_function(self, X: Any, *, owners: Any = None, tags: Any = None) -> FloatArray:
        """Return the log-odds of :meth:`predict_proba`, to rank by; it takes the same."""
        likely = self.predict_proba(X, owners=owners, tags=tags)
        odds: FloatArray = np.log(likely) - np.log1p(-likely)
        return odds[:, 1] if self._has_one_label and len(self.classes_) == 2 else odds

    def predict(self, X: Any, *, owners: Any = None, tags: Any = None) -> Any:
        """Return tags in the form that ``y`` had; takes what :meth:`predict_proba` takes."""
        likely = self.predict_proba(X, owners=owners, tags=tags)
        if self._has_one_label:
            return self.classes_[likely.argmax(axis=1)]
        chosen = likely >= self.threshold
        if not self._is_listed:
            return chosen.astype(np.int64)
        return [self.classes_[row].tolist() for row in chosen]

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, owners: Any = None, tags: Any = None
    ) -> float:
        """Return the mean average precision over images, or the share of right labels.

        The former is scikit-learn's ``label_ranking_average_precision_score``.
        """
        if self._asked_for_one_label():
            found = self.predict(X, owners=owners, tags=tags)
            return float(accuracy_score(y, found, sample_weight=sample_weight))
        scores = self.decision_function(X, owners=owners, tags=tags)
        right = self._indicator(y) if self._is_listed else sparse.csr_array(y).toarray()
        return float(
            label_ranking_average_precision_score(right, scores, sample_weight=sample_weight)
        )

    def __sklearn_tags__(self) -> Tags:
        found = super().__sklearn_tags__()
        found.target_tags.multi_output = True
        found.classifier_tags.multi_label = True
        return found

    def _asked_for_one_label(self) -> bool:
        check_is_fitted(self)
        return bool(self._has_one_label)

    def _tags_of_targets(self, y: Array) -> list[list[str]]:
        """Return the tags of each image by their class numbers, and keep the classes."""
        check_classification_targets(y)
        if y.ndim == 1:
            self.classes_, numbers = np.unique(y, return_inverse=True)
            return [[_nameless(number)] for number in numbers.tolist()]
        given = sparse.csr_array(y)
        given.eliminate_zeros()
        if not (given.data == 1).all():
            raise ValueError("y has several columns that are not indicators; give 1 for each tag")
        self.classes_ = np.arange(y.shape[1])
        return [list(map(_nameless, some)) for some in _columns_of_rows(given)]

    def _new_images(self, X: Any, owners: Any, tags: Any) -> tuple[Collection, int]:
        """Return images as a collection, more rows than there are, and how many there are."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        given = [[]] * len(X) if tags is None else _tag_lists(tags)
        if given is None:
            given = [list(map(self._name, some)) for some in _columns_of_rows(tags)]
        _require_rows(given, len(X))
        who = [None] * len(X) if owners is None else list(owners)
        more = -len(X) % ROWS_AT_ONCE
        padded = np.concatenate([X, np.zeros((more, X.shape[1]), dtype=X.dtype)])
        rows = self._collection(padded, "new", given + [[]] * more, who + [None] * more)
        return replace(rows, rows_at_once=ROWS_AT_ONCE), len(X)

    def _name(self, number: int) -> str:
        return str(self.classes_[number]) if self._is_listed else _nameless(number)

    def _collection(
        self,
        X: FloatArray,
        word: str,
        tags: Sequence[Sequence[str]],
        owners: Any,
        groups: Any = None,
    ) -> Collection:
        """Return the images as a collection; their ids say whether the model was fitted on them."""
        _require_rows(tags, len(X))
        columns: dict[str, Any] = {
            "image_id": [f"{word}-{number}" for number in range(len(X))],
            "tags": [list(some) for some in tags],
        }
        members: dict[str, set[str]] = {}
        if owners is not None:
            _require_rows(owners, len(X))
            columns["owner"] = [None if is_missing(owner) else str(owner) for owner in owners]
            some_of_each = [()] * len(X) if groups is None else groups
            _require_rows(some_of_each, len(X))
            for owner, some in zip(columns["owner"], some_of_each, strict=True):
                members.setdefault(owner or "", set()).update(map(str, some))
        elif groups is not None:
            raise ValueError("groups are those of owners; pass owners, too")
        return collection_from_frame(columns, features=X, groups=members)

    def _by_class(self, by_tag: FloatArray) -> FloatArray:
        """Return images x classes; a class that no image had is given the least."""
        place = {name: column for column, name in enumerate(self.model_.tag_names)}
        names = [self._name(number) for number in range(len(self.classes_))]
        least = by_tag.min(axis=1) if by_tag.shape[1] else np.zeros(len(by_tag))
        columns = [
            by_tag[:, place[name]] if name in place else np.minimum(least, 0) for name in names
        ]
        return np.stack(columns, axis=1).astype(np.float64)

    def _indicator(self, y: Any) -> BoolArray:
        sets = [set(tags) for tags in _tag_lists(y) or y]
        return np.array([[name in tags for name in self.classes_] for tags in sets])


def _columns_of_rows(indicator: Any) -> list[list[int]]:
    """Return the columns of each row that are not zero."""
    rows = sparse.csr_array(indicator)
    return [some.tolist() for some in np.split(rows.indices, rows.indptr[1:-1])]


def _nameless(number: int) -> str:
    """Return a name for a class that says nothing: digits alone have a meaning of their own."""
    return f"#{number}#"


def _tag_lists(y: Any) -> list[list[str]] | None:
    """Return the tags of each image, none where they are missing; None if ``y`` lists no tags."""
    if sparse.issparse(y) or (isinstance(y, np.ndarray) and y.dtype.kind != "O"):
        return None
    rows = y.to_list() if hasattr(y, "to_list") else y if hasattr(y, "__len__") else []
    found = [_tag_list(row) for row in rows]
    if not any(map(_is_list, rows)) or None in found:
        return None
    return [tags for tags in found if tags is not None]


def _tag_list(row: Any) -> list[str] | None:
    if is_missing(row):
        return []
    tags = sorted(row) if isinstance(row, set | frozenset) else list(row) if _is_list(row) else None
    return tags if tags is not None and all(isinstance(tag, str) for tag in tags) else None


def _is_list(row: Any) -> bool:
    is_object = isinstance(row, np.ndarray) and row.dtype.kind in "OU"
    return is_object or isinstance(row, list | tuple | set | frozenset)


def _require_rows(rows: Sequence[Any], n_rows: int) -> None:
    if len(rows) != n_rows:
        raise ValueError(f"X has {n_rows} rows and its metadata {len(rows)}; give one for each")
