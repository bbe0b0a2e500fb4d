"""Verdicts respect their intervals."""

import pytest

from sugartag.reproduce.claims import above, claims_of, gap_between, over, together

NINE = ("original", "trvsc", "lr", "nmc", "lslr", "mrtf", "ttc1", "ttc2", "sugar-tc")
PAPER = (0.379, 0.390, 0.410, 0.417, 0.435, 0.423, 0.447, 0.458, 0.485)


def gap(f, width):
    return {"f": f, "interval": [f - width, f + width]}


def averages(width=0.001, gains=(), **f):
    """Return a comparison in which all differences are known to within the width."""
    values = {name: f.get(name.replace("-", "_"), 0.4) for name in NINE}
    rows = {
        name: {"of_the_paper": True, "published": None, "tuned": {"f": value}}
        for name, value in values.items()
    }
    for name, gain in gains:
        rows[name] |= {"owners_shuffled": {"f": 0.3}, "gain_by_owners": gain}
    names = list(NINE)
    between = {
        name: {other: gap(values[name] - values[other], width) for other in names[place + 1 :]}
        for place, name in enumerate(names)
    }
    found = {"methods": rows, "above": between, "users_above_others": gap(0.02, width)}
    return {"kind": "comparison", "on": "main", "published": {}, "found": found}


def verdicts(entry):
    return [claim["verdict"] for claim in claims_of({"x": entry})]


def papers(width):
    return averages(
        width, **dict(zip((name.replace("-", "_") for name in NINE), PAPER, strict=True))
    )


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ([0.01, 0.02], "agrees"),
        ([-0.02, -0.01], "contradicts"),
        ([-0.01, 0.02], "undecided"),
        ([0.0, 0.02], "undecided"),
    ],
)
def test_an_interval_that_holds_nothing_decides_nothing(interval, verdict):
    assert over(interval, 0.0) == verdict
    assert above({"f": sum(interval) / 2, "interval": interval}) == verdict


def test_of_several_statements_one_that_is_wrong_is_enough():
    assert together(["agrees", "agrees"]) == "agrees"
    assert together(["agrees", "undecided"]) == "undecided"
    assert together(["agrees", "undecided", "contradicts"]) == "contradicts"


def test_a_difference_is_known_in_both_directions():
    found = {"above": {"a": {"b": gap(0.1, 0.02)}, "b": {}}}

    assert gap_between(found, "a", "b") == gap(0.1, 0.02)
    turned = gap_between(found, "b", "a")
    assert turned["f"] == -0.1
    assert turned["interval"] == pytest.approx([-0.12, -0.08])


def test_the_papers_own_numbers_agree_with_it_but_for_its_slip():
    assert verdicts(papers(0.001)) == ["agrees", "agrees", "contradicts", "agrees", "agrees"]


def test_wide_intervals_decide_nothing_of_the_same_numbers():
    assert set(verdicts(papers(0.2))) == {"undecided"}


def test_another_winner_contradicts_and_is_named():
    (first, *_) = claims_of({"x": averages(lr=0.9, sugar_tc=0.5)})

    assert first["verdict"] == "contradicts"
    assert first["here"].startswith("SUGAR-TC has 0.500, as tuned. Above OT (original), TRVSC")
    assert first["here"].endswith("; below LR.")


def test_who_cannot_be_told_apart_is_named_too():
    (first, *_) = claims_of({"x": averages(0.01, lr=0.495, sugar_tc=0.5)})

    assert first["verdict"] == "undecided"
    assert first["here"].endswith("; not to be told apart from LR.")


def test_the_place_by_the_oracle_is_told_beside_it():
    entry = averages(0.01, lr=0.3, sugar_tc=0.5)
    for name, row in entry["found"]["methods"].items():
        row["oracle"] = {"f": 0.6 if name == "lr" else 0.45 if name == "sugar-tc" else 0.4}

    (first, *_) = claims_of({"x": entry})

    assert first["verdict"] == "agrees"
    assert first["here"].endswith(" By the oracle it has 0.450 and is number 2 of 9.")


def test_owners_are_judged_by_what_shuffling_them_takes():
    gains = [("mrtf", gap(0.05, 0.01)), ("ttc1", gap(0.0, 0.01)), ("sugar-tc", gap(-0.05, 0.01))]

    found = {
        one["paper"]: one["verdict"]
        for one in claims_of({"x": averages(gains=gains)})
        if one["paper"].startswith("User information helps")
    }

    assert found == {
        "User information helps MRTF.": "agrees",
        "User information helps TTC1.": "undecided",
        "User information helps SUGAR-TC.": "contradicts",
    }


def swept(gaps, widest=None):
    points = [{"value": 40, "f": 0.4}]
    points += [
        {"value": value, "f": 0.4 - one["f"], "said_above": one} for value, one in gaps.items()
    ]
    best = max(points, key=lambda point: point["f"])["value"]
    sweep = {"setting": "s", "symbol": "S", "best": best, "points": points}
    if widest is not None:
        sweep["widest"] = widest
    published = {"best": {"s": 40}, "flat": {"s": [20, 80]}}
    return {
        "kind": "sensitivity",
        "on": "main",
        "found": {"sweeps": [sweep]},
        "published": published,
    }


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (swept({10: gap(0.1, 0.01), 80: gap(0.2, 0.01)}), ["agrees"]),
        (swept({10: gap(0.1, 0.01), 80: gap(0.001, 0.01)}), ["undecided"]),
        (swept({10: gap(-0.1, 0.01), 80: gap(0.001, 0.01)}), ["contradicts"]),
        (swept({10: gap(0.1, 0.01)}, widest=gap(0.004, 0.001)), ["agrees", "agrees"]),
        (swept({10: gap(0.1, 0.01)}, widest=gap(0.02, 0.001)), ["agrees", "contradicts"]),
        (swept({10: gap(0.1, 0.01)}, widest=gap(0.009, 0.005)), ["agrees", "undecided"]),
    ],
)
def test_the_papers_best_value_is_held_against_each_other(entry, expected):
    assert verdicts(entry) == expected


def costs(**totals):
    rows = {
        name.replace("_", "-"): {"stages": {}, "totals": some, "peaks": some}
        for name, some in totals.items()
    }
    return {"kind": "cost", "on": "main", "published": {}, "found": {"methods": rows}}


@pytest.mark.parametrize(
    ("own", "expected"),
    [([1.0, 2.0], "agrees"), ([1.0, 6.0], "undecided"), ([11.0, 12.0], "contradicts")],
)
def test_times_that_overlap_are_not_told_apart(own, expected):
    entry = costs(mrtf=[5.0, 7.0], ttc1=[8.0, 9.0], ttc2=[5.0, 6.0], sugar_tc=own)

    assert verdicts(entry)[0] == expected


@pytest.mark.parametrize(
    ("interval", "expected"),
    [([0.6, 0.8], "agrees"), ([0.4, 0.6], "undecided"), ([0.1, 0.2], "contradicts")],
)
def test_most_concepts_are_more_than_half_of_them(interval, expected):
    found = {
        "concepts": [None] * 10,
        "champion": "sugar-tc",
        "before": "original",
        "best_on": {"sugar-tc": 6, "lr": 4},
        "shares_best": {"sugar-tc": interval},
        "above_before": {"original": 0, "sugar-tc": 10, "lr": 10},
        "shares_above": {"sugar-tc": [0.95, 1.0], "lr": [0.8, 1.0]},
    }

    entry = {"kind": "concepts", "on": "main", "published": {}, "found": found}

    assert verdicts(entry) == [expected, "undecided"]


def retrieved(*intervals):
    curve = {"map": [0.5] * len(intervals), "intervals": list(intervals)}
    found = {
        "champion": "sugar-tc",
        "lengths": list(range(10, 10 + len(intervals))),
        "methods": {"sugar-tc": {"paper": curve}, "lr": {"paper": curve}},
        "champion_above": {"lr": {"paper": curve}, "sugar-plus": {"paper": curve}},
    }
    return {"kind": "retrieval", "on": "main", "published": {}, "found": found}


def test_better_at_every_length_means_at_every_length():
    assert verdicts(retrieved([0.1, 0.2], [0.1, 0.3])) == ["agrees"]
    assert verdicts(retrieved([0.1, 0.2], [-0.1, 0.3])) == ["undecided"]
    assert verdicts(retrieved([0.1, 0.2], [-0.3, -0.1])) == ["contradicts"]


def test_updates_that_rise_or_stop_early_contradict():
    one = {"stops_after": 18, "falls": [0.1] * 450, "rises": 3, "last": 5.0, "lowest": 1.0}
    found = {"tolerance": 1e-5, "variants": {"printed": one | {"nothing": 2.0}}}
    entry = {"kind": "convergence", "on": "main", "published": {"iterations": 450}, "found": found}

    stops, rises = claims_of({"x": entry})

    assert stops["verdict"] == rises["verdict"] == "contradicts"
    assert "first after 18 of 450 updates" in stops["here"]
    assert "5.00 times the lowest possible, and above that of a tensor of zeros" in stops["here"]
    assert rises["here"] == "It rose 3 times in 450 updates."


def test_nothing_is_claimed_of_what_was_not_measured():
    broken = {"kind": "concepts", "on": "main", "published": {}, "found": {"failed": "no"}}
    missing = averages()
    missing["found"]["methods"].pop("lr")

    assert claims_of({"a": broken, "b": missing}) == []
