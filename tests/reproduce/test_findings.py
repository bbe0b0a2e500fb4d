from itertools import pairwise

import pytest

from sugartag.reproduce.claims import claims_of
from sugartag.reproduce.experiments import (
    Comparison,
    Concepts,
    Convergence,
    Experiment,
    Retrieval,
    Sensitivity,
    Sweep,
)
from sugartag.reproduce.findings import Context, findings_of
from sugartag.reproduce.queries import Query

NINE = ("original", "trvsc", "lr", "nmc", "lslr", "mrtf", "ttc1", "ttc2", "sugar-tc")
LENGTHS = (10, 100)


def experiment(kind, options, **published):
    return Experiment("x", 1, kind, "x", "x", "x", options, published)


def context(methods=NINE):
    return Context(
        comparison=Comparison(methods=methods, trials=2),
        concept_names=("sky", "sea", "dog"),
        n_positives=(5, 4, 3),
        queries=(Query(0, "sky", "frequent", None), Query(2, "dog", "exact", "dog")),
        lengths=LENGTHS,
        seed=0,
    )


def trial(score, **settings):
    return {"settings": settings, "score": score, "failed": None}


def point(f, concepts=(0.1, 0.2, 0.3)):
    return {
        "f": f,
        "interval": [f - 0.01, f + 0.01],
        "replicates": [f - 0.01, f, f + 0.01],
        "concept_f": list(concepts),
        "concept_low": [value - 0.05 for value in concepts],
        "concept_high": [value + 0.05 for value in concepts],
        "precision_paper": [[0.5, 0.25], [1.0, 0.75]],
        "precision_usual": [[0.2, 0.1], [0.4, 0.3]],
    }


def tuned(*pairs):
    """Return the result of a chain: what hidden tags say of each trial, and what the truth does."""
    return {
        "trials": [trial(score, number=place) for place, (score, _) in enumerate(pairs)],
        "points": [point(f) for _, f in pairs],
    }


def compared(methods, results):
    options = Comparison(methods=methods, trials=2)
    return findings_of(experiment("comparison", options, f={}), results, context(methods))


def test_the_honest_number_is_that_of_the_best_trial_and_the_oracle_the_best_of_all():
    found = compared(
        ("sugar-tc",), {"tuned:sugar-tc": tuned((0.5, 0.30), (0.4, 0.40), (0.6, 0.35))}
    )

    row = found["methods"]["sugar-tc"]
    assert row["default"]["f"] == 0.30
    assert row["tuned"]["f"] == 0.35
    assert row["oracle"]["f"] == 0.40
    assert row["tuned"]["settings"] == {"number": 2}


def test_differences_are_taken_on_the_same_replicates():
    results = {"tuned:sugar-tc": tuned((0.5, 0.30)), "tuned:lr": tuned((0.5, 0.40))}

    above = compared(("sugar-tc", "lr"), results)["methods"]["lr"]["above_sugar_tc"]

    assert above["f"] == pytest.approx(0.1)
    assert above["interval"] == pytest.approx([0.1, 0.1])


def test_a_method_that_failed_says_why_and_the_others_stand():
    failed = {"trials": [trial(None)], "points": [{"failed": "no room"}]}
    found = compared(("sugar-tc", "lr"), {"tuned:sugar-tc": tuned((1, 0.3)), "tuned:lr": failed})

    assert found["methods"]["lr"]["failed"] == "no room"
    assert found["methods"]["sugar-tc"]["tuned"]["f"] == 0.3


def test_concepts_are_sorted_by_gain_and_the_first_are_marked():
    results = {f"tuned:{name}": tuned((1, 0.3)) for name in NINE}
    results["tuned:sugar-tc"]["points"] = [point(0.3, (0.2, 0.1, 0.9))]
    options = Concepts("sugar-tc", "ttc2", "original", marked=2)

    found = findings_of(experiment("concepts", options), results, context())

    assert [row["concept"] for row in found["concepts"]] == ["dog", "sky", "sea"]
    assert found["marked"] == ["dog", "sky"]
    assert found["best_on"]["sugar-tc"] == 2
    assert found["above_before"]["sugar-tc"] == 2
    assert found["concepts"][0]["gain"] == pytest.approx(0.6)


def test_no_concept_is_marked_that_loses():
    results = {f"tuned:{name}": tuned((1, 0.3)) for name in NINE}
    options = Concepts("sugar-tc", "ttc2", "original", marked=2)

    assert findings_of(experiment("concepts", options), results, context())["marked"] == []


def test_map_is_the_mean_over_queries_within_its_interval():
    options = Retrieval(("sugar-tc",), ("dog",), LENGTHS, "sugar-tc")

    found = findings_of(
        experiment("retrieval", options), {"tuned:sugar-tc": tuned((1, 0.3))}, context()
    )

    curve = found["methods"]["sugar-tc"]["paper"]
    assert curve["map"] == [0.75, 0.5]
    assert curve["intervals"] == [[0.5, 1.0], [0.25, 0.75]]
    assert found["queries"][1] == {"concept": "dog", "kind": "exact", "asked": "dog", "images": 3}


def test_a_point_is_the_mean_over_seeds_and_its_interval_holds_them():
    sweep = Sweep("ridge", "β", (0.1, 2e-7))
    options = Sensitivity("sugar-tc", (sweep,), seeds=2)
    results = {
        "point:sugar-tc:[('ridge', 0.1)]:0": point(0.2),
        "point:sugar-tc:[('ridge', 0.1)]:1": point(0.4),
        "point:sugar-tc:[]:0": point(0.25),
        "point:sugar-tc:[]:1": {"failed": "no room"},
    }

    (swept,) = findings_of(experiment("sensitivity", options), results, context())["sweeps"]

    assert swept["points"][0]["f"] == pytest.approx(0.3)
    low, high = swept["points"][0]["interval"]
    assert low < 0.2
    assert high > 0.4
    assert swept["points"][1]["failed"] == "no room"
    assert swept["best"] == 0.1


def test_the_rule_stops_at_the_first_small_change():
    values = [100.0, 50.0, 49.0, 48.9999, 48.99985]
    options = Convergence("sugar-tc", 4, 1e-5)
    falls = [(a - b) / a for a, b in pairwise(values)]
    results = {"converge": {"objectives": values, "falls": falls, "rises": 0, "shape": [2, 2, 2]}}

    found = findings_of(experiment("convergence", options), results, context())

    assert found["stops_after"] == 3
    assert found["left_to_gain"] == pytest.approx((48.9999 - 48.99985) / 48.99985)


def averages(**f):
    rows = {
        name: {"of_the_paper": True, "published": None, "tuned": {"f": f.get(name, 0.4)}}
        for name in NINE
    }
    return {"kind": "comparison", "published": {}, "found": {"methods": rows}}


def verdicts(entry):
    return {claim["paper"][:24]: claim["verdict"] for claim in claims_of({"x": entry})}


def test_the_papers_own_order_agrees_but_for_its_slip():
    paper = dict(
        zip(NINE, (0.379, 0.390, 0.410, 0.417, 0.435, 0.423, 0.447, 0.458, 0.485), strict=True)
    )

    said = verdicts(averages(**paper))

    assert list(said.values()) == ["agrees", "agrees", "differs", "agrees"]


def test_another_winner_differs_and_is_named():
    (first, *_) = claims_of({"x": averages(lr=0.9, **{"sugar-tc": 0.5})})

    assert first["verdict"] == "differs"
    assert first["here"] == "LR has, with 0.900; SUGAR-TC has 0.500 and is number 2 of 9."


def test_defaults_are_named_beside_tuned_settings():
    entry = averages(**{"sugar-tc": 0.5})
    row = entry["found"]["methods"]["sugar-tc"]
    row["tuned"]["settings"], row["default"] = {"solver": "exact"}, {"f": 0.381}

    (first, *_) = claims_of({"x": entry})

    assert "SUGAR-TC has 0.500 (0.381 with its defaults)" in first["here"]


def swept(values, best=40, said=40, flat=None):
    points = [{"value": value, "f": f} for value, f in values.items()]
    found = {"sweeps": [{"setting": "s", "symbol": "S", "best": best, "points": points}]}
    published = {"best": {"s": said}} | ({"flat": {"s": flat}} if flat else {})
    return {"kind": "sensitivity", "found": found, "published": published}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (swept({10: 0.1, 40: 0.3}), ["agrees"]),
        (swept({10: 0.3, 40: 0.1}, best=10), ["differs"]),
        (swept({10: 0.305, 40: 0.3, 60: 0.1}, best=10), ["partly"]),
        (swept({10: 0.3, 40: 0.301}), ["partly"]),
        (swept({20: 0.3, 40: 0.4, 80: 0.3}, flat=[20, 80]), ["agrees", "differs"]),
        (swept({20: 0.395, 40: 0.4, 90: 0.1}, flat=[20, 80]), ["agrees", "agrees"]),
    ],
)
def test_a_best_value_is_held_against_the_papers(entry, expected):
    assert [claim["verdict"] for claim in claims_of({"x": entry})] == expected


def test_nothing_is_claimed_of_what_was_not_measured():
    broken = {"kind": "concepts", "published": {}, "found": {"failed": "no"}}
    missing = averages()
    missing["found"]["methods"].pop("lr")

    assert claims_of({"a": broken, "b": missing}) == []
