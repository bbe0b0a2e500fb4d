from dataclasses import dataclass
from typing import ClassVar, Literal

import pytest

from sugartag.errors import SettingsError
from sugartag.methods.settings import described_settings, require, with_settings


@dataclass(frozen=True)
class Wishes:
    """A method with a setting of every kind."""

    name: ClassVar[str] = "wishes"

    neighbours: int = 10
    ridge: float = 0.5
    strict: bool = False
    solver: Literal["exact", "fast"] = "exact"
    bandwidth: float | None = None
    start: Literal["near", "far"] | None = None
    label: str = "plain"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("neighbours", "25", 25),
        ("neighbours", "-3", -3),
        ("ridge", "1e-3", 1e-3),
        ("ridge", "2", 2.0),
        ("solver", "fast", "fast"),
        ("bandwidth", "2.5", 2.5),
        ("bandwidth", "none", None),
        ("bandwidth", "None", None),
        ("bandwidth", "", None),
        ("start", "far", "far"),
        ("start", "none", None),
        ("label", "7", "7"),
    ],
)
def test_a_text_becomes_a_value_of_the_fields_type(key, text, value):
    found = getattr(with_settings(Wishes, {key: text}), key)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("neighbours", 25),
        ("neighbours", 4.0),
        ("ridge", 3),
        ("ridge", 0.25),
        ("strict", True),
        ("bandwidth", None),
        ("bandwidth", 2.5),
        ("start", None),
    ],
)
def test_a_value_stays_what_it_is(key, value):
    assert getattr(with_settings(Wishes, {key: value}), key) == value


@pytest.mark.parametrize("word", ["yes", "true", "True", "1", "YES", True, 1])
def test_words_for_yes(word):
    assert with_settings(Wishes, {"strict": word}).strict is True


@pytest.mark.parametrize("word", ["no", "false", "False", "0", False, 0])
def test_words_for_no(word):
    assert with_settings(Wishes, {"strict": word}).strict is False


@pytest.mark.parametrize("word", ["maybe", "", "2", None])
def test_anything_but_yes_or_no_is_named(word):
    with pytest.raises(SettingsError, match=r"^wishes setting strict is .*; say yes or no$"):
        with_settings(Wishes, {"strict": word})


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("neighbours", "many", "int"),
        ("neighbours", "2.5", "int"),
        ("neighbours", 2.5, "int"),
        ("neighbours", None, "int"),
        ("neighbours", "", "int"),
        ("ridge", "little", "float"),
        ("bandwidth", "wide", "float"),
    ],
)
def test_a_value_of_another_type_is_named(key, value, kind):
    with pytest.raises(SettingsError, match=f"^wishes setting {key} is .*, which is not {kind}$"):
        with_settings(Wishes, {key: value})


@pytest.mark.parametrize("value", ["exakt", "", None])
def test_an_unknown_choice_is_told_the_choices(value):
    with pytest.raises(SettingsError, match=r"solver is .*; choose one of: exact, fast$"):
        with_settings(Wishes, {"solver": value})


def test_an_unknown_choice_of_an_optional_setting_is_told_the_choices():
    with pytest.raises(SettingsError, match=r"start is 'middle'; choose one of: near, far$"):
        with_settings(Wishes, {"start": "middle"})


@pytest.mark.parametrize(
    ("key", "near"), [("neighbors", "neighbours"), ("band_width", "bandwidth"), ("Ridge", "ridge")]
)
def test_an_unknown_setting_suggests_the_near_one(key, near):
    with pytest.raises(SettingsError, match=f"^wishes has no setting '{key}'; did you mean {near}"):
        with_settings(Wishes, {key: "1"})


def test_an_unknown_setting_like_no_other_is_told_them_all():
    with pytest.raises(SettingsError, match=r"'zzz'; it has: neighbours, ridge, .*, label$"):
        with_settings(Wishes, {"zzz": "1"})


def test_the_name_of_a_method_is_no_setting():
    with pytest.raises(SettingsError, match="has no setting 'name'"):
        with_settings(Wishes, {"name": "another"})


def test_what_is_not_given_keeps_its_default():
    assert with_settings(Wishes, {"ridge": "0.1"}) == Wishes(ridge=0.1)


def test_settings_are_described_by_name_type_and_default():
    described = {entry["name"]: entry for entry in described_settings(Wishes)}

    assert list(described) == [
        "neighbours",
        "ridge",
        "strict",
        "solver",
        "bandwidth",
        "start",
        "label",
    ]
    assert described["neighbours"] == {"name": "neighbours", "type": "int", "default": 10}
    assert described["solver"]["type"] == "exact | fast"
    assert described["bandwidth"]["type"] == "float | None"


def test_a_requirement_is_held_or_told():
    require(True, "never said")

    with pytest.raises(SettingsError, match=r"^said$"):
        require(False, "said")
