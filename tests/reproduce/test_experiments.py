import pytest

from reproduce.tiny import TABLE, write_experiments
from sugartag.errors import SettingsError
from sugartag.methods.registry import make_method
from sugartag.reproduce.experiments import (
    Comparison,
    Convergence,
    Cost,
    Retrieval,
    Sensitivity,
    chosen_experiments,
    comparison_of,
    load_experiments,
    read_experiment,
    shipped_experiments,
)

NINE = ("original", "trvsc", "lr", "nmc", "lslr", "mrtf", "ttc1", "ttc2", "sugar-tc")


@pytest.fixture(scope="module")
def shipped():
    return load_experiments(shipped_experiments(), quick=False)


def options_of(shipped, kind):
    return [one.options for one in shipped if isinstance(one.options, kind)]


@pytest.mark.parametrize("on", ["main", "photographs"])
def test_the_comparisons_have_the_papers_nine_methods_and_sugar_plus(shipped, on):
    options = comparison_of(shipped, on)

    assert options.methods == NINE
    assert "sugar-plus" in options.everyone
    assert set(options.with_owners) == {"mrtf", "ttc1", "ttc2", "sugar-tc"}
    assert options.top == 10


def test_table_1_and_the_figure_of_concepts_run_on_photographs_too(shipped):
    names = [one.name for one in shipped if one.on == "photographs"]

    assert names == ["table-1-photographs", "concepts-photographs"]


def test_the_published_averages_are_those_of_the_paper(shipped):
    (table, _) = [one for one in shipped if isinstance(one.options, Comparison)]

    values = (0.379, 0.390, 0.410, 0.417, 0.435, 0.423, 0.447, 0.458, 0.485)
    assert table.published["f"] == dict(zip(NINE, values, strict=True))


def test_the_published_hours_add_up_to_the_papers_totals(shipped):
    (table,) = [one for one in shipped if isinstance(one.options, Cost)]

    totals = {name: sum(stages.values()) for name, stages in table.published["hours"].items()}

    assert totals == pytest.approx({"mrtf": 13.9, "ttc1": 11.6, "ttc2": 35.5, "sugar-tc": 4.2})


def test_the_sweeps_go_over_the_papers_values(shipped):
    swept = {
        sweep.setting: sweep.values
        for options in options_of(shipped, Sensitivity)
        for sweep in options.sweeps
    }

    weights = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1)
    smooth = (0, 0.01, 0.05, 0.1, 0.25, 0.75, 1, 10)
    assert swept == {
        "image_clusters": (10, 20, 40, 60, 80, 100, 200, 500),
        "user_clusters": (3, 6, 12, 18, 24, 30, 50, 200),
        "prior_weight": weights,
        "ridge": weights,
        "image_smoothness": smooth,
        "user_smoothness": smooth,
        "image_share": tuple(n / 10 for n in range(11)),
    }


def test_the_papers_best_value_is_that_of_the_printed_preset(shipped):
    default = make_method("sugar-tc", {"preset": "printed"})

    for one in shipped:
        for setting, value in one.published.get("best", {}).items():
            assert getattr(default, setting) == value


def test_the_updates_are_followed_with_the_printed_preset_to_the_letter_first(shipped):
    (options,) = options_of(shipped, Convergence)

    first = options.variants[0]
    assert first.settings == {"preset": "printed"}
    assert first.iterations >= 450


def test_the_ten_queries_and_the_rule_of_convergence_are_the_papers(shipped):
    (retrieval,), (convergence,) = options_of(shipped, Retrieval), options_of(shipped, Convergence)
    (falls,) = [one for one in shipped if one.kind == "convergence"]

    words = "birds building butterfly dog fish flowers horses plane sunset zoo"
    assert retrieval.queries == tuple(words.split())
    assert convergence.tolerance == 1e-5
    assert falls.published["iterations"] == 450


def test_a_quick_run_has_the_same_experiments_with_fewer_trials(shipped):
    quick = load_experiments(shipped_experiments(), quick=True)

    assert [one.name for one in quick] == [one.name for one in shipped]
    assert comparison_of(quick).trials < comparison_of(shipped).trials
    for options, less in zip(
        options_of(shipped, Sensitivity), options_of(quick, Sensitivity), strict=True
    ):
        for sweep, fewer in zip(options.sweeps, less.sweeps, strict=True):
            assert set(fewer.values) <= set(sweep.values)


def test_every_experiment_says_what_it_is_in_one_line(shipped):
    for one in shipped:
        assert one.summary.endswith(".")
        assert "\n" not in one.summary
        assert one.paper


def test_experiments_are_chosen_by_name_and_kept_in_order(shipped):
    assert [one.name for one in chosen_experiments(shipped, ["retrieval", "table-1"])] == [
        "table-1",
        "retrieval",
    ]
    assert chosen_experiments(shipped, []) == shipped


def test_an_unknown_experiment_is_named_with_those_there_are(shipped):
    with pytest.raises(SettingsError, match=r"no experiment 'table-9'; choose from: table-1, conc"):
        chosen_experiments(shipped, ["table-9"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "comparison"', 'kind = "magic"', r"bad\.toml: kind is 'magic'; choose from: comp"),
        ("order = 1", "order = 1\ncolour = 3", r"bad\.toml: unknown 'colour'"),
        ("trials = 2", "trial = 2", r"bad\.toml: unknown 'trial'; it may have: methods"),
        ("trials = 2", 'trials = "2"', r"bad\.toml: trials is '2', which is not int"),
        ("trials = 2", "trials = true", r"bad\.toml: trials is True, which is not int"),
        ("trials = 2", "trials = 0", r"bad\.toml: trials must be at least 1"),
        ("trials = 2", "hide = 1.5", r"bad\.toml: hide must be a share"),
        ('["original", "tag-vote"]', '["orginal"]', r"there is no method 'orginal'; did you mean"),
        ('["original", "tag-vote"]', '"original"', r"bad\.toml: methods is 'original'; give a l"),
        ('title = "Average F"', "", r"bad\.toml: give title"),
        ("order = 1", "order = ", r"bad\.toml is no TOML file: Invalid value"),
    ],
)
def test_a_bad_experiment_file_is_said_in_one_line(tmp_path, old, new, message):
    assert old in TABLE
    file = tmp_path / "bad.toml"
    file.write_text(TABLE.replace(old, new), encoding="utf-8")

    with pytest.raises(SettingsError, match=message) as caught:
        read_experiment(file, quick=False)

    assert "\n" not in str(caught.value)


def test_a_value_a_method_cannot_take_is_refused_before_anything_runs(tmp_path):
    text = """
order = 1
kind = "sensitivity"
paper = "x"
title = "x"
summary = "x"
[options]
method = "sugar-tc"
[[options.sweeps]]
setting = "image_share"
symbol = "γ"
values = [0.5, 1.5]
"""
    write_experiments(tmp_path, bad=text)

    with pytest.raises(SettingsError, match="image_share must be from 0 to 1"):
        read_experiment(tmp_path / "bad.toml", quick=False)


def test_a_folder_needs_one_comparison(tmp_path):
    with pytest.raises(SettingsError, match="has no experiment files"):
        load_experiments(tmp_path, quick=False)
    write_experiments(tmp_path, one=TABLE, two=TABLE)
    with pytest.raises(SettingsError, match="exactly one experiment of the kind comparison"):
        load_experiments(tmp_path, quick=False)
    with pytest.raises(SettingsError, match=r"cannot read .*nowhere"):
        load_experiments(tmp_path / "nowhere", quick=False)
