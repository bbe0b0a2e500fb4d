"""The file of a tuning: what ``evaluate`` takes from it, and one line for whatever is wrong."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sugartag.cli.main import main
from sugartag.collection.digest import collection_digest
from sugartag.collection.store import save_collection

METHOD = ["--methods", "linear-probe"]
TRIAL = ["settings", "score", "map", "miap", "f_top5", "seconds", "failed"]


@pytest.fixture(scope="module")
def photos(collection, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tuned") / "photos"
    save_collection(collection, folder)
    return folder


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "tuned.json"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def done(*arguments: object) -> Result:
    result = run("evaluate", *arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: object) -> str:
    """Return the one line that says what is wrong."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def tuned(tmp_path) -> Path:
    """Write what a tuning of two methods might have chosen."""
    chosen = {"tag-vote": {"neighbours": 7, "subtract_prior": False}, "tag-prior": {}}
    methods = {name: {"settings": settings} for name, settings in chosen.items()}
    document = {"format": "sugartag-tuned/1", "seed": 0, "unseen": 0.3, "methods": methods}
    path = tmp_path / "tuned.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_tuned_settings_are_taken_and_a_setting_typed_wins(photos, tuned, tmp_path):
    out = tmp_path / "results.json"

    done(photos, "--methods", "tag-vote,tag-prior", "--tuned", tuned, "--out", out,
         "--set", "tag-vote.neighbours=9")  # fmt: skip

    settings = read(out)["methods"]["tag-vote"]["settings"]
    assert (settings["neighbours"], settings["subtract_prior"]) == (9, False)
    assert settings["one_vote_per_owner"] is False


def test_a_fit_takes_tuned_settings_too(photos, tuned, tmp_path):
    with_method = ("fit", photos, "--tuned", tuned, "--method")
    fitted = run(*with_method, "tag-vote", "--set", "neighbours=9", "--out", tmp_path / "m")
    not_tuned = run(*with_method, "lr", "--out", tmp_path / "n")

    assert fitted.exit_code == 0, fitted.output
    settings = read(tmp_path / "m" / "manifest.json")["settings"]
    assert (settings["neighbours"], settings["subtract_prior"]) == (9, False)
    assert not_tuned.exit_code == 2
    assert "has no settings of lr; tune it, or leave --tuned out" in not_tuned.output


def test_a_method_that_was_not_tuned_is_named_and_has_its_defaults(photos, tuned, tmp_path):
    out = tmp_path / "results.json"

    shown = done(photos, "--methods", "tag-vote,linear-probe", "--tuned", tuned, "--out", out)

    assert "so with defaults: linear-probe" in shown.stderr.splitlines()[0]
    assert read(out)["methods"]["linear-probe"]["settings"]["ridge"] is None
    assert read(out)["methods"]["tag-vote"]["settings"]["neighbours"] == 7


@pytest.mark.parametrize(
    ("options", "warned"),
    [([], False), (["--hide", 0.3], False), (["--hide", 0.2], False), (["--hide", 0.4], True),
     (["--hide", 0.3, "--seed", 1], True)],
)  # fmt: skip
def test_tags_that_tuning_may_have_seen_are_told_of(photos, tuned, options, warned):
    shown = done(photos, "--methods", "tag-prior", "--tuned", tuned, *options)

    assert ("may have been seen in tuning" in shown.stderr) == warned


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"format": "sugartag-results/1", "methods": {}}, "sugartag-results/1"),
        ({"format": "sugartag-tuned/1"}, "lacks 'methods'"),
        ({"format": "sugartag-tuned/1", "methods": {"tag-vote": {}}}, "lacks 'settings'"),
        ({"format": "sugartag-tuned/1", "methods": {"tag-vote": {"settings": 3}}}, "not an object"),
        ([], "format None"),
    ],
)
def test_a_file_that_is_no_tuning_is_refused(photos, tuned, document, expected):
    tuned.write_text(json.dumps(document), encoding="utf-8")

    assert expected in refused("evaluate", photos, "--methods", "tag-vote", "--tuned", tuned)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"magic": 1}, "no setting 'magic'"),
        ({"neighbours": 0}, "at least 1"),
        ({"neighbours": "many"}, "'many'"),
        ({"neighbours": [1]}, "not a plain value"),
        ({"neighbours": 10**400}, "not a plain value"),
    ],
)
def test_tuned_settings_that_a_method_cannot_have_are_refused(photos, tuned, settings, expected):
    document = read(tuned)
    document["methods"]["tag-vote"]["settings"] = settings
    tuned.write_text(json.dumps(document), encoding="utf-8")

    line = refused("evaluate", photos, "--methods", "tag-vote", "--tuned", tuned)

    assert expected in line
    assert "tuned.json" in line


def test_a_tuned_file_that_is_not_there_is_named(photos, tmp_path):
    line = refused(
        "evaluate", photos, "--methods", "tag-vote", "--tuned", tmp_path / "nothing.json"
    )

    assert "nothing.json" in line


def damaged(document: dict, *path: object, value: object) -> str:
    """Return the text of a file with one value replaced."""
    part = document
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return json.dumps(document)


TRIALS = ("methods", "linear-probe", "trials")
DAMAGES = [
    (("format",), "sugartag-results/1"),
    (("digest",), 3),
    (("seed",), "0"),
    (("hide",), None),
    (("unseen",), [1]),
    (("budget",), 2.5),
    (("methods",), []),
    (("methods", "linear-probe"), 1),
    (TRIALS, {}),
    ((*TRIALS, 0), None),
    ((*TRIALS, 0), {}),
    ((*TRIALS, 0, "score"), None),
    ((*TRIALS, 0, "score"), float("nan")),
    ((*TRIALS, 0, "map"), True),
    ((*TRIALS, 0, "seconds"), "long"),
    ((*TRIALS, 0, "failed"), 1),
    ((*TRIALS, 0, "settings"), [1]),
    ((*TRIALS, 0, "settings"), {"ridge": [1]}),
    ((*TRIALS, 0, "settings"), {"ridge": 10**400}),
    ((*TRIALS, 0, "settings"), {"magic": 1}),
]


@pytest.mark.parametrize(("path", "value"), DAMAGES, ids=str)
def test_a_damaged_file_is_one_line_and_is_left_alone(collection, photos, out, path, value):
    whole = {
        **{"format": "sugartag-tuned/1", "seed": 0, "hide": 0.3, "unseen": None, "budget": 1},
        "digest": collection_digest(collection),
        "methods": {"linear-probe": {"trials": [dict.fromkeys(TRIAL, 0.5)]}},
    }
    whole["methods"]["linear-probe"]["trials"][0] |= {"settings": {}, "failed": None}
    text = damaged(whole, *path, value=value)
    out.write_text(text, encoding="utf-8")

    line = refused("tune", photos, *METHOD, "--out", out, "--budget", 1)

    assert "tuned.json" in line or "linear-probe" in line
    assert out.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"[]", b'{"format": 1e999}', b" " * (17 << 20)]
)
def test_a_foreign_file_is_one_line_and_is_left_alone(photos, out, data):
    out.write_bytes(data)

    assert "tuned.json" in refused("tune", photos, *METHOD, "--out", out, "--budget", 1)
    assert out.read_bytes() == data
