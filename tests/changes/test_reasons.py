"""Reasons: what a verdict says, of which evidence, and how much of it is due to what."""

import functools
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planted import planted_collection
from sugartag.changes import Change, Thresholds, propose
from sugartag.changes.reasons import (
    LEAST_AGAINST,
    ExplainedChange,
    Verdict,
    habit_shares,
    reasoned,
    require_explaining,
    whole_percents,
)
from sugartag.collection.align import Catalogue
from sugartag.collection.texts import Texts
from sugartag.engine import LocalEngine
from sugartag.errors import SettingsError
from sugartag.fitting import fit_model
from sugartag.methods.base import Explanations, Kind
from sugartag.methods.registry import make_method

ADD, KEEP, DOUBT = (Verdict(0, 0, action, 0.5) for action in ("add", "keep", "doubt"))


def evidence_of(kind: str, net: float, *parts: tuple[str, float], tags: Any = ()) -> Kind:
    """Return one kind of evidence for one tag, with some parts told apart."""
    return Kind(
        name=kind,
        net=np.array([net]),
        start=np.array([0, len(parts)]),
        number=np.arange(len(parts)),
        amount=np.array([amount for _, amount in parts]),
        names=[name for name, _ in parts],
        tags=tags,
    )


BEACH = (
    evidence_of("own tag", 0.31, ("sand", 0.2), ("surf", 0.15), ("car", -0.05)),
    evidence_of("title word", 0.12, ("coast", 0.12)),
    evidence_of(
        "anchor", 0.46, ("anchor 3", 0.3), ("anchor 9", 0.4), ("anchor 1", -0.2),
        tags=[("sea", "blue"), ("beach", "sea"), ("street",)],
    ),
    evidence_of("groups", -0.03),
    evidence_of("itself", -0.2),
    evidence_of("look-alike", 0.11, ("IMG_12", 0.1), ("IMG_15", 0.05), ("IMG_4", 0.01)),
)  # fmt: skip
STREET = (
    evidence_of("own tag", -0.02, ("car", -0.05), ("sand", 0.04)),
    evidence_of("anchor", -0.06, ("anchor 1", -0.1), ("anchor 3", 0.05), tags=[("street",), ()]),
    evidence_of("interest", 0.01),
)


def explained(
    *kinds: Kind, habit: float = 0.0, prior: float = 1e-5, wrong: float = 1.0, decided: int = 0
) -> Explanations:
    numbers = sum(kind.net for kind in kinds), prior, 0.7, 1e-3, wrong, habit, decided
    return Explanations(kinds, *(np.array([number]).ravel() for number in numbers))


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
        catalogue=Catalogue(("beach",), Texts.of(["me"]), Texts.of(["IMG_1"])),
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


def test_what_speaks_for_a_tag_is_told_with_its_share_the_largest_first():
    expected = (
        "looks 46 % (like images tagged beach, sea, blue), own tags 31 % (sand, surf), "
        "title 12 % (coast), owner's look-alikes 11 % (IMG_12, IMG_15)"
    )

    beach = explained(*BEACH, prior=0.9)
    assert reason(beach, ADD) == reason(beach, KEEP) == expected


def test_what_an_image_is_about_is_told_in_the_tags_of_the_subject():
    about = evidence_of("subject", 0.3, ("subject 4", 0.3), tags=[("shore", "sea", "sand")])
    own = evidence_of("own tag", 0.1, ("surf", 0.1))

    found = reason(explained(about, own, prior=0.9), ADD)

    assert found == "what it is about 75 % (shore, sea, sand), own tags 25 % (surf)"


def test_a_tag_that_is_kept_on_weak_evidence_is_kept_because_it_was_given():
    found = reason(explained(*BEACH, prior=0.01), KEEP)

    assert found.startswith("the owner gave it, and a little speaks for it: looks 46 % (")


def test_the_change_says_what_the_verdict_says():
    found = changed(explained(*BEACH), Verdict(0, 0, "keep", 0.8125))

    assert found == Change("IMG_1", "beach", "keep", 0.8125, found.reason, "run 1")


def test_a_doubt_is_told_by_what_speaks_against_the_tag():
    assert reason(explained(*STREET), DOUBT) == (
        "nothing seen speaks for it; against it: "
        "looks 75 % (like images tagged street), own tags 25 % (car)"
    )


def test_a_habit_is_told_beside_what_speaks_against_the_tag():
    found = reason(explained(*STREET, habit=0.72), DOUBT)

    assert found.startswith("nothing seen speaks for it; against it: owner's habit ")
    assert "(on 72 % of images, whatever they show), looks " in found


def test_a_habit_is_the_reason_where_the_evidence_alone_would_do():
    found = reason(explained(*BEACH, habit=0.72, prior=0.3), DOUBT)

    assert found.startswith("too little speaks for it; against it: owner's habit 100 % (on 72 %")


def test_a_habit_is_no_reason_to_add_or_keep():
    assert "habit" not in reason(explained(*BEACH, habit=0.72), ADD)
    assert "habit" not in reason(explained(*BEACH, habit=0.72), KEEP)


def test_what_is_not_there_speaks_against_a_tag_too():
    kinds = evidence_of("own tag", -0.06), evidence_of("look-alike", -0.02, ("IMG_12", 0.01))

    assert reason(explained(*kinds), DOUBT) == (
        "nothing seen speaks for it; against it: "
        "own tags 75 % (none that goes with it), owner's look-alikes 25 % (without it)"
    )


@pytest.mark.parametrize(
    ("net", "expected"),
    [(-0.5 * LEAST_AGAINST, "nothing seen speaks for it"), (0.1, "too little speaks for it")],
)
def test_a_doubt_for_lack_of_evidence_says_so(net, expected):
    assert reason(explained(evidence_of("title word", net)), DOUBT) == expected


def test_a_given_tag_that_nothing_speaks_for_is_kept_because_it_was_given():
    assert reason(explained(*STREET), KEEP) == "the owner gave it, and too little speaks against it"
    assert reason(explained(*STREET), ADD) == "nothing seen speaks for it"


def test_a_tag_that_images_tell_nothing_of_is_kept_for_that_reason():
    untold = "the owner gave it, and of this tag nothing can be told"

    assert reason(explained(*STREET, wrong=0.2), KEEP) == untold
    assert reason(explained(*BEACH, wrong=0.2, prior=0.01), KEEP) == untold
    assert "looks" in reason(explained(*BEACH, wrong=0.2, prior=0.4), KEEP)
    assert reason(explained(*STREET, wrong=0.2), DOUBT).startswith("nothing seen speaks for it")


@pytest.mark.parametrize("what", ["image", "tag"])
def test_where_too_little_is_known_for_a_verdict_that_is_the_reason(what):
    verdict = Verdict(0, 0, "keep", 0.1, withheld=what)

    assert reason(explained(*STREET), verdict) == f"too little is known of this {what} to doubt it"


@pytest.mark.parametrize(("decided", "said"), [(1, "right"), (-1, "wrong")])
def test_what_somebody_said_is_the_reason_whatever_the_evidence(decided, said):
    beach = explained(*BEACH, decided=decided)

    assert reason(beach, ADD) == reason(beach, DOUBT) == f"somebody said that it is {said}"
    assert changed(beach, ADD, in_full=True).decided == said
    assert changed(explained(*BEACH), ADD, in_full=True).decided is None


def test_a_reason_is_one_line_whatever_things_are_called():
    odd = evidence_of("own tag", 0.1, ("two\nlines", 0.1), ("dos\r\nline\u2028", 0.05))

    assert reason(explained(odd), ADD) == "own tags 100 % (two lines, dos line)"


def test_what_counts_for_less_than_a_hundredth_is_not_mentioned():
    kinds = evidence_of("groups", 0.995), evidence_of("interest", 0.005)

    assert reason(explained(*kinds), ADD) == "owner's groups 100 %"


def test_a_method_that_cannot_explain_tells_the_rank():
    scores = np.array([[0.5, 0.9, 0.2]])

    (found,) = reasoned([ADD], model_of(object()), None, scores, ["IMG_1"])

    assert found.reason == "guess ranks it 2 of 3 tags for this image"
    with pytest.raises(SettingsError, match="guess does not explain its verdicts"):
        require_explaining(model_of(object()))


@pytest.mark.parametrize(
    ("kinds", "verdict", "habit"),
    [(BEACH, ADD, 0.0), (BEACH, KEEP, 0.4), (STREET, DOUBT, 0.0), (STREET, DOUBT, 0.4)],
)
def test_in_full_contributions_add_up_to_the_evidence_and_shares_to_the_verdict(
    kinds, verdict, habit
):
    found = changed(explained(*kinds, habit=habit), verdict, in_full=True)

    direction = -1 if verdict is DOUBT else 1
    assert type(found) is ExplainedChange
    assert sum(p.contribution for p in found.parts) == pytest.approx(found.evidence, abs=1e-9)
    assert found.evidence == pytest.approx(sum(kind.net[0] for kind in kinds))
    assert sum(p.share for p in found.parts) + found.habit_share == pytest.approx(1.0)
    assert all(p.share == 0 for p in found.parts if direction * p.contribution <= 0)
    assert all(p.share == 0 for p in found.parts if p.kind == "itself")
    assert (found.habit_share > 0) == (verdict is DOUBT and habit > 0)


def test_a_kind_counts_for_what_is_left_when_its_parts_cancel_out():
    looks = evidence_of("anchor", 0.1, ("anchor 0", 5.0), tags=[("sea",)])

    found = changed(explained(looks, evidence_of("groups", 0.3)), ADD, in_full=True)

    assert found.reason == "owner's groups 75 %, looks 25 % (like images tagged sea)"
    assert [(p.name, p.contribution, p.share) for p in found.parts] == [
        ("anchor 0", 5.0, pytest.approx(0.25)),
        (None, pytest.approx(-4.9), 0.0),
        (None, 0.3, pytest.approx(0.75)),
    ]


def test_habit_and_evidence_share_a_doubt_by_their_log_odds():
    found = explained(*STREET, habit=0.3, prior=1e-5)

    right, wrong = 1 - 0.3 * 0.7, 1 - 0.999 * 0.7  # A tag that belongs is given, one that does not.
    without_habit, odds = 1e-5 * 0.7 / ((1 - 1e-5) * 1e-3), 1e-5 * right / ((1 - 1e-5) * wrong)
    expected = np.log(without_habit / odds) / -np.log(odds)
    assert habit_shares(found) == pytest.approx(expected)
    assert habit_shares(explained(*STREET)) == 0


@given(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=8))
def test_percents_are_whole_and_add_up_to_a_hundred(shares):
    found = whole_percents(shares)

    assert sum(found) == 100
    exact = 100 * np.array(shares) / sum(shares)
    assert np.abs(found - exact).max() < 1


@functools.cache
def planted_changes() -> tuple[ExplainedChange, ...]:
    collection, engine = planted_collection(), LocalEngine()
    model = fit_model(make_method("sugar-plus"), collection, engine=engine, seed=0)
    thresholds = Thresholds(top=3, add=0.2, doubt=0.5)
    parts = propose(model, collection, engine=engine, thresholds=thresholds, explain=True)
    return tuple(change for part in parts for change in part)


def test_every_verdict_of_sugar_plus_says_why():
    for one in planted_changes():
        assert "ranks it" not in one.reason
        assert one.reason == " ".join(one.reason.split())
        assert sum(p.contribution for p in one.parts) == pytest.approx(one.evidence, abs=1e-4)
        shares = sum(p.share for p in one.parts) + one.habit_share
        assert shares == pytest.approx(1.0) or (shares == 0 and "%" not in one.reason)
    assert {one.action for one in planted_changes()} == {"add", "keep", "doubt"}


def test_reasons_name_what_is_there():
    given = planted_collection().tags_of(slice(0, 600)).toarray() > 0
    collection = planted_collection()
    row = {image: place for place, image in enumerate(collection.ids)}
    tag = {name: place for place, name in enumerate(collection.tag_names)}

    for one in planted_changes():
        image = row[one.image_id]
        for part in one.parts:
            if part.kind == "own tag" and part.name:
                assert given[image, tag[part.name]]
                assert part.name != one.tag
            if part.kind == "look-alike" and part.name:
                other = row[part.name]
                assert other != image
                assert collection.owner[other] == collection.owner[image]
                assert given[other, tag[one.tag]]


def test_doubts_of_stamped_tags_name_the_habit():
    noise = {f"tag-{number}" for number in range(40, 50)}
    stamped = [one for one in planted_changes() if one.action == "doubt" and one.tag in noise]

    assert len(stamped) > 20
    assert np.mean([one.habit_share > 0 for one in stamped]) > 0.5
