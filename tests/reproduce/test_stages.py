import sys

import numpy as np
import pytest

from sugartag.methods.registry import make_method
from sugartag.reproduce.stages import COMPLETION, FUNCTIONS, STAGES, StageMeter


class Clock:
    """A clock that moves when it is told to: real time depends on what the machine is doing."""

    now = 0.0

    def __call__(self):
        return self.now


clock = Clock()


def work():
    clock.now += 1.0


def slow_one():
    work()


def slow_two():
    slow_one()
    work()


def failing():
    work()
    raise KeyError


def test_time_is_that_of_the_stage_whose_function_runs():
    with StageMeter({"first": (slow_one,)}, otherwise="rest", clock=clock) as meter:
        slow_one()
        slow_one()
        work()

    assert meter.seconds == {"first": 2.0, "rest": 1.0}


def test_within_a_stage_the_outermost_function_decides():
    stages = {"first": (slow_one,), "second": (slow_two,)}
    with StageMeter(stages, otherwise="rest", clock=clock) as meter:
        slow_two()

    assert meter.seconds == {"second": 2.0, "rest": 0.0}


def test_a_stage_ends_with_an_error():
    meter = StageMeter({"first": (failing,)}, otherwise="rest", clock=clock)

    with meter, pytest.raises(KeyError):
        failing()

    assert meter.seconds == {"first": 1.0, "rest": 0.0}


def test_nobody_watches_calls_afterwards():
    with StageMeter({}, otherwise="rest"):
        pass

    assert sys.getprofile() is None


def test_memory_is_that_of_the_stage_that_takes_it():
    kept = []

    def takes_memory():
        kept.append(np.ones(20_000_000))

    with StageMeter({"first": (takes_memory,)}, otherwise="rest") as meter:
        slow_one()
        before = dict(meter.peak_mb)
        takes_memory()

    assert meter.peak_mb["first"] >= 150
    assert before.get("rest", 0.0) < 100


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_stage_of_a_method_is_seen(name, collection, engine, rng):
    small = {"image_clusters": 4, "user_clusters": 2, "units_per_cluster": 1, "max_iterations": 3}
    method = make_method(name, small if name == "sugar-tc" else {})

    with StageMeter(FUNCTIONS[name], otherwise=COMPLETION) as meter:
        method.fit(collection, engine=engine, rng=rng)

    assert set(meter.seconds) == {*FUNCTIONS[name], COMPLETION}
    assert set(meter.seconds) <= set(STAGES)
    assert min(meter.seconds.values()) > 0
