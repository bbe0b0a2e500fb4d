"""What methods are tuned over: real settings, values they take, the defaults among them."""

import json
from itertools import pairwise

import pytest

from sugartag.errors import SettingsError
from sugartag.methods.registry import METHODS, make_method
from sugartag.methods.search_spaces import SEARCH_SPACES, SearchSpace, search_space

NOTHING_TO_CHOOSE = {"original", "sugar-plus"}
FEW_TO_CHOOSE = {"tag-prior"}
"""Methods with a single setting."""


def differences(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


def settings_of_every_value(space: SearchSpace) -> list[dict]:
    """Return the settings of each value on its own, the others at their defaults."""
    default = space.point_of({})
    return [space.settings_at(point) for point in space.points_near(default, 1)]


def test_every_method_has_a_space_and_nothing_else_has():
    assert list(SEARCH_SPACES) == list(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_every_name_is_a_setting_of_the_method_and_stands_in_one_choice(name):
    space = search_space(name)
    named = [setting for names in space.names for setting in names]

    assert set(named) <= set(space.defaults)
    assert len(named) == len(set(named))


@pytest.mark.parametrize("name", METHODS)
def test_every_value_is_accepted_and_kept_as_it_is(name):
    for settings in settings_of_every_value(search_space(name)):
        method = make_method(name, settings)

        assert {key: getattr(method, key) for key in settings} == settings


@pytest.mark.parametrize("name", METHODS)
def test_the_defaults_are_in_the_space(name):
    space = search_space(name)

    assert space.settings_at(space.point_of({})) == {}


@pytest.mark.parametrize("name", METHODS)
def test_values_of_numbers_rise_and_none_stands_twice(name):
    space = search_space(name)
    for names, values in zip(space.names, space.values, strict=True):
        assert len(set(values)) == len(values) >= 2
        plain = [v[0] for v in values if isinstance(v[0], int | float) and v[0] is not True]
        if len(names) == 1 and False not in plain[:1]:
            assert all(low < high for low, high in pairwise(plain))


@pytest.mark.parametrize("name", sorted(set(METHODS) - NOTHING_TO_CHOOSE - FEW_TO_CHOOSE))
def test_every_method_has_enough_to_choose_and_not_too_much(name):
    space = search_space(name)

    assert 2 <= len(space.names) <= 9
    assert all(2 <= len(values) <= 6 for values in space.values)
    assert space.size >= 64


@pytest.mark.parametrize("name", sorted(NOTHING_TO_CHOOSE))
def test_a_method_with_nothing_to_choose_has_one_point(name):
    space = search_space(name)

    assert space.size == 1
    assert space.point_number(0) == space.point_of({}) == ()


@pytest.mark.parametrize("name", METHODS)
def test_settings_outlive_json(name):
    space = search_space(name)
    for settings in settings_of_every_value(space):
        again = json.loads(json.dumps(settings))

        assert space.settings_at(space.point_of(again)) == settings


def test_points_are_numbered_one_by_one():
    space = search_space("tag-prop")

    points = [space.point_number(number) for number in range(space.size)]

    assert len(set(points)) == space.size
    assert [space.number_of(point) for point in points] == list(range(space.size))


@pytest.mark.parametrize("distance", [1, 2])
def test_near_points_differ_in_so_many_choices_and_all_are_found(distance):
    space = search_space("linear-probe")
    centre = space.point_of({"balance": 0.5})
    points = map(space.point_number, range(space.size))

    near = list(space.points_near(centre, distance))

    assert sorted(near) == sorted(p for p in points if differences(p, centre) == distance)


@pytest.mark.parametrize(
    "settings", [{"neighbours": 21}, {"own_weight": 1.0}, {"magic": 1}, {"neighbours": "20"}]
)
def test_settings_outside_the_space_are_named(settings):
    with pytest.raises(SettingsError, match=f"tag-vote-own.*{next(iter(settings))}"):
        search_space("tag-vote-own").point_of(settings)


def test_a_method_without_a_space_is_named():
    with pytest.raises(SettingsError, match="'magic'"):
        search_space("magic")
