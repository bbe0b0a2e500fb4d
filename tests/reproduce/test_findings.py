from itertools import pairwise

import pytest

from sugartag.reproduce.data import Query
from sugartag.reproduce.experiments import (
    Comparison,
    Concepts,
    Convergence,
    Cost,
    Experiment,
    Retrieval,
    Sensitivity,
    Sweep,
    Variant,
)
from sugartag.reproduce.findings import Context, findings_of

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
        "points": [[point(f)] for _, f in pairs],
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
    results = {"tuned:lr": tuned((0.5, 0.40)), "tuned:sugar-tc": tuned((0.5, 0.30))}

    above = compared(("lr", "sugar-tc"), results)["above"]["lr"]["sugar-tc"]

    assert above["f"] == pytest.approx(0.1)
    assert above["interval"] == pytest.approx([0.1, 0.1])


def test_concepts_that_differ_widen_the_interval_of_a_difference():
    results = {"tuned:lr": tuned((0.5, 0.40)), "tuned:sugar-tc": tuned((0.5, 0.30))}
    results["tuned:lr"]["points"] = [[point(0.4, (0.9, 0.1, 0.2))]]

    above = compared(("lr", "sugar-tc"), results)["above"]["lr"]["sugar-tc"]

    low, high = above["interval"]
    assert low < 0 < above["f"] < high


def test_seeds_that_differ_widen_both_intervals():
    one, other = tuned((0.5, 0.40)), tuned((0.5, 0.30))
    one["points"] = [[point(0.40), point(0.20)]]

    found = compared(("lr", "sugar-tc"), {"tuned:lr": one, "tuned:sugar-tc": other})

    assert found["methods"]["lr"]["tuned"]["f"] == pytest.approx(0.30)
    assert found["methods"]["lr"]["tuned"]["by_seed"] == [0.40, 0.20]
    low, high = found["methods"]["lr"]["tuned"]["interval"]
    assert low < 0.2
    assert high > 0.4
    low, high = found["above"]["lr"]["sugar-tc"]["interval"]
    assert low < -0.09
    assert high > 0.09


def test_what_owners_are_worth_is_what_shuffling_them_takes():
    chain = tuned((0.5, 0.40)) | {"shuffled": [point(0.35)]}

    row = compared(("sugar-tc",), {"tuned:sugar-tc": chain})["methods"]["sugar-tc"]

    assert row["owners_shuffled"]["f"] == 0.35
    assert row["gain_by_owners"]["f"] == pytest.approx(0.05)


def test_a_method_that_failed_says_why_and_the_others_stand():
    failed = {"trials": [trial(None)], "points": [[{"failed": "no room"}]]}
    found = compared(("sugar-tc", "lr"), {"tuned:sugar-tc": tuned((1, 0.3)), "tuned:lr": failed})

    assert found["methods"]["lr"]["failed"] == "no room"
    assert found["methods"]["sugar-tc"]["tuned"]["f"] == 0.3


def test_concepts_are_sorted_by_gain_and_the_first_are_marked():
    results = {f"tuned:{name}": tuned((1, 0.3)) for name in NINE}
    results["tuned:sugar-tc"]["points"] = [[point(0.3, (0.2, 0.1, 0.9))]]
    options = Concepts("sugar-tc", "ttc2", "original", marked=2)

    found = findings_of(experiment("concepts", options), results, context())

    assert [row["concept"] for row in found["concepts"]] == ["dog", "sky", "sea"]
    assert found["marked"] == ["dog", "sky"]
    assert found["best_on"]["sugar-tc"] == 2
    assert found["above_before"]["sugar-tc"] == 2
    assert found["concepts"][0]["gain"] == pytest.approx(0.6)
    low, high = found["shares_best"]["sugar-tc"]
    assert low < 2 / 3 < high


def test_where_no_method_finds_anything_none_is_best():
    results = {f"tuned:{name}": tuned((1, 0.3)) for name in NINE}
    for chain in results.values():
        chain["points"] = [[point(0.3, (0.0, 0.0, 0.9))]]
    options = Concepts("sugar-tc", "ttc2", "original", marked=2)

    found = findings_of(experiment("concepts", options), results, context())

    assert sum(found["best_on"].values()) == 1
    assert [row["best"] for row in found["concepts"]].count(None) == 2


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


def test_a_rival_is_compared_on_the_same_queries():
    options = Retrieval(("sugar-tc", "lr"), ("dog",), LENGTHS, "sugar-tc")
    results = {"tuned:sugar-tc": tuned((1, 0.3)), "tuned:lr": tuned((1, 0.3))}
    results["tuned:lr"]["points"][0][0]["precision_paper"] = [[0.4, 0.15], [0.9, 0.65]]

    found = findings_of(experiment("retrieval", options), results, context())

    gap = found["champion_above"]["lr"]["paper"]
    assert gap["map"] == pytest.approx([0.1, 0.1])
    assert gap["intervals"][0] == pytest.approx([0.1, 0.1])


def swept(first, second, **published):
    sweep = Sweep("ridge", "β", (0.1, 2e-7))
    options = Sensitivity("sugar-tc", (sweep,), seeds=2)
    results = {}
    for settings, points in (("[('ridge', 0.1)]", first), ("[]", second)):
        results |= {f"point:sugar-tc:{settings}:{seed}": one for seed, one in enumerate(points)}
    (found,) = findings_of(experiment("sensitivity", options, **published), results, context())[
        "sweeps"
    ]
    return found


def test_a_point_is_the_mean_over_seeds_and_its_interval_holds_them():
    found = swept((point(0.2), point(0.4)), (point(0.25), {"failed": "no room"}))

    assert found["points"][0]["f"] == pytest.approx(0.3)
    low, high = found["points"][0]["interval"]
    assert low < 0.2
    assert high > 0.4
    assert found["points"][1]["failed"] == "no room"
    assert found["best"] == 0.1


def test_points_are_compared_with_the_papers_value_seed_by_seed():
    found = swept(
        (point(0.2), point(0.4)),
        (point(0.1), point(0.3)),
        best={"ridge": 0.1},
        flat={"ridge": (0, 1)},
    )

    assert "said_above" not in found["points"][0]
    assert found["points"][1]["said_above"]["interval"] == pytest.approx([0.1, 0.1])
    assert found["widest"]["f"] == pytest.approx(0.1)


def test_costs_are_medians_and_totals_of_each_repetition():
    def run(seconds, mb):
        return {
            "stages": {
                "completion": {"seconds": seconds, "mb": mb},
                "assignment": {"seconds": 1.0, "mb": 1.0},
            }
        }

    results = {
        f"stages:mrtf:{at}": run(*one)
        for at, one in enumerate([(5.0, 9.0), (2.0, 7.0), (3.0, 8.0)])
    }

    found = findings_of(experiment("cost", Cost(("mrtf",), repeats=3)), results, context())

    row = found["methods"]["mrtf"]
    assert row["stages"]["completion"] == {"seconds": 3.0, "mb": 8.0}
    assert row["totals"] == [6.0, 3.0, 4.0]
    assert row["peaks"] == [9.0, 7.0, 8.0]


def test_the_rule_stops_at_the_first_small_change_up_or_down():
    values = [100.0, 50.0, 51.0, 51.0001, 48.99985]
    options = Convergence("sugar-tc", (Variant("printed", {"preset": "printed"}, 4),), 1e-5, {})
    falls = [(a - b) / a for a, b in pairwise(values)]
    results = {"converge:printed": {"objectives": values, "falls": falls, "rises": 2}}

    found = findings_of(experiment("convergence", options), results, context())

    one = found["variants"]["printed"]
    assert one["stops_after"] == 3
    assert one["last"] == 48.99985
    assert one["settings"] == {"preset": "printed"}
