"""What is computed for experiments, and that tuning never hears of what is measured."""

from dataclasses import replace

import numpy as np
import pytest

from reproduce.tiny import write_experiments
from sugartag.collection.store import save_collection
from sugartag.methods.search_spaces import search_space
from sugartag.reproduce.data import own_data
from sugartag.reproduce.experiments import comparison_of, load_experiments, shipped_experiments
from sugartag.reproduce.jobs import Workplace, run_job
from sugartag.reproduce.plans import Setting, best_trial, chains_of, tuned_chain


@pytest.fixture(scope="module")
def experiments(tmp_path_factory):
    return load_experiments(write_experiments(tmp_path_factory.mktemp("x")), quick=False)


@pytest.fixture(scope="module")
def setting(experiments):
    return Setting(seed=0, comparison=comparison_of(experiments), queries=(1,), lengths=(5,))


def played(chain, answer):
    """Return the jobs of a chain, each answered by a function, and what the chain returns."""
    steps, jobs = chain.start(), []
    try:
        job = next(steps)
        while True:
            jobs.append(job)
            job = steps.send(answer(job))
    except StopIteration as ended:
        return jobs, ended.value


def answered(f):
    """Answer trials by their number, and measurements by f."""

    def answer(job):
        if job.kind == "trial":
            number = len(job.asks["done"])
            score = [0.3, 0.5, 0.4][number]
            return {
                "settings": {"ridge": [None, 1e-3, 1e-2][number]},
                **dict.fromkeys(("score", "map", "miap", "f_top5"), score),
                "seconds": 1.0,
                "failed": None,
            }
        return {"f": f}

    return answer


def test_every_combination_tried_is_measured(setting):
    jobs, found = played(tuned_chain("linear-probe", setting), answered(0.1))

    assert [job.kind for job in jobs[:4]] == ["trial", "trial", "measure", "measure"]
    assert [job.asks["settings"] for job in jobs[2:4]] == [{"ridge": None}, {"ridge": 1e-3}]
    assert best_trial(found["trials"]) == 1


def test_what_was_chosen_and_what_is_best_on_the_truth_are_measured_with_each_seed(setting):
    jobs, found = played(tuned_chain("linear-probe", setting), answered(0.1))

    assert [(job.asks["settings"], job.asks["seed"]) for job in jobs[4:]] == [
        ({"ridge": None}, 1),
        ({"ridge": 1e-3}, 1),
    ]
    assert [len(some) for some in found["points"]] == [2, 2]


def test_with_shuffled_owners_the_settings_are_those_chosen(setting):
    jobs, found = played(tuned_chain("tag-vote", setting), answered(0.1))

    shuffled = [job.asks for job in jobs if job.asks.get("shuffled")]
    assert [asks["seed"] for asks in shuffled] == [0, 1]
    assert {str(asks["settings"]) for asks in shuffled} == {str({"ridge": 1e-3})}
    assert len(found["shuffled"]) == 2
    assert tuned_chain("tag-vote", setting).n_jobs == len(jobs)


def test_what_tuning_is_asked_does_not_depend_on_what_is_measured(setting):
    runs = [played(tuned_chain("linear-probe", setting), answered(f))[0] for f in (0.1, 0.9)]

    asked = [[job.asks for job in jobs if job.kind == "trial"] for jobs in runs]
    assert asked[0] == asked[1]


def test_tuning_gives_the_same_trials_whatever_the_truth_is(collection, tmp_path, setting):
    scrambled = replace(
        collection,
        shards=tuple(
            replace(shard, truth=shard.truth[np.random.default_rng(1).permutation(len(shard))])
            for shard in collection.shards
        ),
    )
    trials = []
    for name, one in (("right", collection), ("wrong", scrambled)):
        save_collection(one, tmp_path / name)
        data = own_data(tmp_path / name, seed=0)
        place = Workplace.of(data, data.folder)

        def answer(job, place=place):
            return run_job(job, place) if job.kind == "trial" else {"f": 0.0}

        found = played(tuned_chain("linear-probe", setting), answer)[1]
        trials.append([{**trial, "seconds": 0} for trial in found["trials"]])

    assert trials[0] == trials[1]
    assert (
        own_data(tmp_path / "right", seed=0).digest != own_data(tmp_path / "wrong", seed=0).digest
    )


def test_what_methods_see_has_no_truth(collection, tmp_path):
    save_collection(collection, tmp_path / "photos")
    place = Workplace.of(own_data(tmp_path / "photos", seed=0), tmp_path)

    assert collection.has_truth
    assert not place.task.given.has_truth
    assert not place.tuning_task(0.3).given.has_truth


def test_a_trial_that_cannot_be_made_does_not_end_the_run(setting):
    def answer(job):
        return {"failed": "no features"}

    found = played(tuned_chain("tag-vote", setting), answer)[1]

    assert [trial["failed"] for trial in found["trials"]] == ["no features"] * 2
    assert best_trial(found["trials"]) == 0


def test_a_method_with_fewer_combinations_has_fewer_jobs(setting):
    assert search_space("original").size == 1
    assert tuned_chain("original", setting).n_jobs == 3


def test_experiments_share_what_is_the_same(experiments, setting):
    keys = [[chain.key for chain in chains_of(one, setting)] for one in experiments]

    assert set(keys[2]) < set(keys[0])
    assert set(keys[1]) == set(keys[0])


def test_the_papers_defaults_are_measured_once_for_all_figures():
    shipped = load_experiments(shipped_experiments(), quick=False)
    setting = Setting(0, comparison_of(shipped), (0,), (10,))
    points = [
        chain.key
        for one in shipped
        if one.name in ("prior-and-ridge", "smoothness")
        for chain in chains_of(one, setting)
    ]

    assert len(points) == 7 + 7 + 8 + 8
    assert len(set(points)) == len(points) - 3


def test_only_costs_are_measured_alone():
    shipped = load_experiments(shipped_experiments(), quick=False)
    setting = Setting(0, comparison_of(shipped), (0,), (10,))

    alone = {one.kind: {chain.alone for chain in chains_of(one, setting)} for one in shipped}

    assert alone.pop("cost") == {True}
    assert set().union(*alone.values()) == {False}
