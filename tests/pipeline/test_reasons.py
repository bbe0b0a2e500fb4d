"""Reasons: what a verdict says, of which evidence, and how much of it is due to what."""

import functools
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planted import planted_collection, without_features
from sugartag.collection.align import Catalogue
from sugartag.collection.texts import Texts
from sugartag.engine import LocalEngine
from sugartag.errors import SettingsError
from sugartag.methods.base import Explanations, Kind
from sugartag.methods.registry import make_method
from sugartag.pipeline.changes import Change, ExplainedChange
from sugartag.pipeline.fitting import DEFAULT_METHOD, fit_model
from sugartag.pipeline.propose import Thresholds, propose
from sugartag.pipeline.reasons import (
    LEAST_AGAINST,
    LITTLE,
    Verdict,
    reasoned,
    require_explaining,
    whole_percents,
)

ADD, KEEP, DOUBT = (Verdict(0, 0, action, 0.5) for action in ("add", "keep", "doubt"))


def evidence_of(kind: str, net: float, *parts: tuple[str, float]) -> Kind:
    """Return one kind of evidence for one tag, with some parts named."""
    return Kind(
        name=kind,
        net=np.array([net]),
        start=np.array([0, len(parts)]),
        number=np.arange(len(parts)),
        amount=np.array([amount for _, amount in parts]),
        names=[name for name, _ in parts],
    )


HARBOUR = (
    evidence_of("looks", 0.62),
    evidence_of("other tag", 0.22, ("sea", 0.2), ("dock", 0.07), ("car", -0.05)),
    evidence_of("similar tag", 0.08, ("ship", 0.05), ("vessel", 0.03)),
    evidence_of("neighbour", 0.08, ("IMG_12", 0.05), ("IMG_40", 0.02), ("IMG_4", 0.01)),
)
STREET = (
    evidence_of("looks", -0.06),
    evidence_of("other tag", -0.02, ("car", -0.05), ("sea", 0.04)),
    evidence_of("neighbour", 0.01),
)


def explained(
    *kinds: Kind,
    judged: bool = True,
    decided: int = 0,
    looks_like: tuple[str, ...] = ("quay", "boat"),
) -> Explanations:
    return Explanations(
        kinds=kinds,
        score=sum(kind.net for kind in kinds),
        base_rate=np.array([0.03]),
        judged=np.array([judged]),
        looks_like=(looks_like,),
        decided=np.array([decided]),
    )


@dataclass(frozen=True)
class Canned:
    """A fitted method that explains what it was given."""

    explanations: Explanations

    def explain(self, *_: object) -> Explanations:
        return self.explanations


def model_of(fitted: object) -> Any:
    return SimpleNamespace(
        method=SimpleNamespace(name="guess"),
        fitted=fitted,
        catalogue=Catalogue(("harbour",), Texts.of(["me"]), Texts.of(["IMG_1"])),
        run_id="run 1",
    )


def changed(explanations: Explanations, verdict: Verdict, *, in_full: bool = False) -> Any:
    scores = np.array([[0.5, 0.9, 0.2]])
    (found,) = reasoned(
        [verdict], model_of(Canned(explanations)), None, scores, ["IMG_1"], in_full=in_full
    )
    return found


def reason(explanations: Explanations, verdict: Verdict) -> str:
    return changed(explanations, verdict).reason


def test_what_speaks_for_a_tag_is_listed_with_its_share_the_largest_first():
    expected = (
        "looks 62 % (like images tagged quay, boat), other tags 22 % (sea, dock), "
        "similar tags 8 % (ship, vessel), owner's similar images 8 % (IMG_12, IMG_40)"
    )

    assert reason(explained(*HARBOUR), ADD) == reason(explained(*HARBOUR), KEEP) == expected


def test_the_change_is_that_of_the_verdict():
    found = changed(explained(*HARBOUR), Verdict(0, 0, "keep", 0.8125))

    assert found == Change("IMG_1", "harbour", "keep", 0.8125, found.reason, "run 1")


def test_a_doubt_says_what_speaks_against_the_tag():
    street = explained(*STREET, looks_like=("street", "harbour", "car"))

    assert reason(street, DOUBT) == (
        "images tagged 'harbour' rarely look like this: "
        "looks 75 % (like images tagged street, car), other tags 25 % (car)"
    )


def test_a_doubt_is_not_about_looks_where_something_else_says_more():
    kinds = evidence_of("other tag", -0.06, ("car", -0.06)), evidence_of("looks", -0.02)

    assert reason(explained(*kinds), DOUBT) == (
        "little speaks for it; against it: "
        "other tags 75 % (car), looks 25 % (like images tagged quay, boat)"
    )


def test_what_is_not_there_speaks_against_a_tag_too():
    kinds = evidence_of("other tag", -0.06), evidence_of("neighbour", -0.02, ("IMG_12", 0.01))

    assert reason(explained(*kinds), DOUBT) == (
        "little speaks for it; against it: "
        "other tags 75 % (none that goes with it), owner's similar images 25 % (without it)"
    )


@pytest.mark.parametrize("net", [-0.5 * LEAST_AGAINST, 0.0, 0.1])
def test_a_doubt_for_lack_of_evidence_says_so(net):
    assert reason(explained(evidence_of("looks", net)), DOUBT) == "little speaks for it"


def test_an_addition_that_nothing_speaks_for_says_so():
    assert reason(explained(*STREET), ADD) == "little speaks for it"


def test_a_tag_is_kept_because_it_was_given_where_the_evidence_is_weak():
    weak = explained(evidence_of("looks", LITTLE / 2))

    assert reason(weak, KEEP).startswith("given by the owner; a little speaks for it: looks 100 %")
    assert reason(explained(*STREET), KEEP) == "given by the owner; too little speaks against it"


def test_a_tag_that_is_not_judged_is_kept_for_that_reason_unless_something_speaks_for_it():
    expected = "given by the owner; the evidence says little about this tag"

    assert reason(explained(*STREET, judged=False), KEEP) == expected
    assert reason(explained(evidence_of("looks", LITTLE / 2), judged=False), KEEP) == expected
    assert reason(explained(*HARBOUR, judged=False), KEEP).startswith("looks 62 %")


def test_where_nothing_else_is_known_of_an_image_that_is_the_reason():
    verdict = Verdict(0, 0, "keep", 0.1, withheld=True)

    expected = "given by the owner; too little is known of this image to doubt it"
    assert reason(explained(*STREET), verdict) == expected


@pytest.mark.parametrize(("decided", "word"), [(1, "accepted"), (-1, "rejected")])
def test_what_a_person_decided_is_the_reason_whatever_the_evidence(decided, word):
    harbour = explained(*HARBOUR, decided=decided)

    assert reason(harbour, ADD) == reason(harbour, DOUBT) == f"{word} by a person"
    assert changed(harbour, ADD, in_full=True).decided == word
    assert changed(explained(*HARBOUR), ADD, in_full=True).decided is None


def test_a_reason_is_one_line_whatever_things_are_called():
    odd = evidence_of("other tag", 0.1, ("two\nlines", 0.1), ("dos\r\nline\u2028", 0.05))

    assert reason(explained(odd), ADD) == "other tags 100 % (two lines, dos line)"


def test_what_counts_for_less_than_a_hundredth_is_not_mentioned():
    kinds = evidence_of("looks", 0.995), evidence_of("neighbour", 0.005)

    assert reason(explained(*kinds, looks_like=()), ADD) == "looks 100 %"


def test_a_method_that_cannot_explain_gives_the_rank():
    scores = np.array([[0.5, 0.9, 0.2]])

    (found,) = reasoned([ADD], model_of(object()), None, scores, ["IMG_1"])

    assert found.reason == "guess ranks it 2 of 3 tags for this image"
    with pytest.raises(SettingsError, match="guess does not explain its verdicts"):
        require_explaining(model_of(object()))


def test_without_a_verdict_nothing_is_explained():
    assert reasoned([], model_of(Canned(None)), None, np.zeros((1, 3)), ["IMG_1"]) == []


@pytest.mark.parametrize(("kinds", "verdict"), [(HARBOUR, ADD), (HARBOUR, KEEP), (STREET, DOUBT)])
def test_in_full_contributions_add_up_to_the_evidence_and_shares_to_the_verdict(kinds, verdict):
    found = changed(explained(*kinds), verdict, in_full=True)

    direction = -1 if verdict is DOUBT else 1
    assert type(found) is ExplainedChange
    assert (found.base_rate, found.judged) == (0.03, True)
    assert sum(p.contribution for p in found.parts) == pytest.approx(found.evidence, abs=1e-9)
    assert found.evidence == pytest.approx(sum(kind.net[0] for kind in kinds))
    assert sum(p.share for p in found.parts) == pytest.approx(1.0)
    assert all(p.share == 0 for p in found.parts if direction * p.contribution <= 0)


def test_a_kind_counts_for_what_is_left_when_its_parts_cancel_out():
    tags = evidence_of("other tag", 0.1, ("sea", 5.0))

    found = changed(explained(tags, evidence_of("looks", 0.3)), ADD, in_full=True)

    assert found.reason == "looks 75 % (like images tagged quay, boat), other tags 25 % (sea)"
    assert [(p.name, p.contribution, p.share) for p in found.parts] == [
        ("sea", 5.0, pytest.approx(0.25)),
        (None, pytest.approx(-4.9), 0.0),
        (None, 0.3, pytest.approx(0.75)),
    ]


@given(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=8))
def test_percents_are_whole_and_add_up_to_a_hundred(shares):
    found = whole_percents(shares)

    assert sum(found) == 100
    exact = 100 * np.array(shares) / sum(shares)
    assert np.abs(found - exact).max() < 1


@functools.cache
def planted_changes(*, bare: bool = False) -> tuple[ExplainedChange, ...]:
    collection, engine = planted_collection(), LocalEngine()
    collection = without_features(collection) if bare else collection
    model = fit_model(make_method(DEFAULT_METHOD), collection, engine=engine, seed=0)
    thresholds = Thresholds(top=3, add=0.2, doubt=0.5)
    parts = propose(model, collection, engine=engine, thresholds=thresholds, explain=True)
    return tuple(change for part in parts for change in part)


def test_every_verdict_of_the_default_method_says_why():
    for one in planted_changes():
        assert "ranks it" not in one.reason
        assert one.reason == " ".join(one.reason.split())
        assert sum(p.contribution for p in one.parts) == pytest.approx(one.evidence, abs=1e-4)
        shares = sum(p.share for p in one.parts)
        assert shares == pytest.approx(1.0) or (shares == 0 and "%" not in one.reason)
        assert 0 <= one.base_rate <= 1
    assert {one.action for one in planted_changes()} >= {"add", "keep"}


def test_reasons_name_what_is_there():
    given = planted_collection().tags_of(slice(0, 600)).toarray() > 0
    collection = planted_collection()
    row = {image: place for place, image in enumerate(collection.ids)}
    tag = {name: place for place, name in enumerate(collection.tag_names)}

    for one in planted_changes():
        image = row[one.image_id]
        for part in one.parts:
            if part.kind == "other tag" and part.name:
                assert given[image, tag[part.name]]
                assert part.name != one.tag
            if part.kind == "neighbour" and part.name:
                other = row[part.name]
                assert other != image
                assert collection.owner[other] == collection.owner[image]


def test_without_features_no_reason_is_about_looks():
    changes = planted_changes(bare=True)

    assert changes
    for one in changes:
        assert "looks" not in one.reason
        assert all(part.contribution == pytest.approx(0, abs=1e-4) for part in one.parts
                   if part.kind == "looks")  # fmt: skip
