"""The options that say where a command does its work."""

import numpy as np
import pytest
from click.testing import CliRunner, Result

from sugartag.cli.engines import EngineChoice
from sugartag.cli.main import main
from sugartag.collection import open_collection, save_collection
from sugartag.engine import DaskEngine, LocalEngine
from sugartag.pipeline.model import load_model
from sugartag.progress import ProgressDisplay

FIT = ("fit", "photos", "--out", "model")
SUGGEST = ("suggest", "model", "photos", "--out", "changes.csv")
EVALUATE = ("evaluate", "photos", "--methods", "tag-prior", "--hide", "0.3")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.fixture
def photos(tmp_path, monkeypatch, collection) -> None:
    monkeypatch.chdir(tmp_path)
    save_collection(collection, tmp_path / "photos")


@pytest.mark.parametrize("command", [FIT, SUGGEST, EVALUATE])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--scheduler", "tcp://there:8786"], "--scheduler needs --engine dask"),
        (["--engine", "local", "--scheduler", "x"], "--scheduler needs --engine dask"),
        (
            ["--engine", "dask", "--scheduler", "x", "--workers", 2],
            "--workers does not go with --scheduler",
        ),
        (["--engine", "spark"], "'spark' is not one of 'local', 'dask'"),
        (["--workers", 0], "0 is not in the range x>=1"),
    ],
)
def test_options_that_do_not_go_together_are_bad_usage(command, options, said):
    result = run(*command, *options)

    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert said in line
    assert line.endswith(f"(see main {command[0]} --help)")


@pytest.mark.parametrize("command", [FIT, EVALUATE])
@pytest.mark.usefixtures("photos")
def test_a_scheduler_that_is_not_there_is_told_in_one_line(command, tmp_path):
    result = run(*command, "--engine", "dask", "--scheduler", "nonsense://x")

    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("sugartag: no Dask scheduler answers at 'nonsense://x'")
    assert [path.name for path in tmp_path.iterdir()] == ["photos"]


def test_the_choice_makes_the_engine_that_was_asked_for():
    with (
        ProgressDisplay() as progress,
        EngineChoice(workers=3, blas_threads=2).opened(progress) as engine,
    ):
        assert engine == LocalEngine(workers=3, blas_threads=2, progress=progress)


def test_a_process_that_leads_others_has_room_where_work_is_kept(tmp_path):
    with (
        ProgressDisplay() as progress,
        EngineChoice("dask", workers=1).opened(progress, tmp_path) as started,
        EngineChoice("dask", started.client.scheduler.address).opened(progress, tmp_path) as other,
    ):
        assert started.scratch == other.scratch == tmp_path


@pytest.mark.usefixtures("photos")
def test_fit_suggest_and_evaluate_give_the_same_on_a_cluster(tmp_path):
    fit, suggest, evaluate = (
        [*FIT, "--method", "linear-probe"],
        list(SUGGEST),
        list(EVALUATE),
    )
    with DaskEngine.local_cluster(1) as cluster:
        there = ["--engine", "dask", "--scheduler", cluster.client.scheduler.address]
        results = [run(*command, *there) for command in (fit, suggest, evaluate)]
    assert [result.exit_code for result in results] == [0, 0, 0], results
    changes, model = (tmp_path / "changes.csv").read_text(), load_model(tmp_path / "model")

    run(*fit, "--overwrite")
    run(*suggest, "--overwrite")

    here = load_model(tmp_path / "model")
    np.testing.assert_allclose(
        model.fitted.scores(photos_rows(tmp_path)),
        here.fitted.scores(photos_rows(tmp_path)),
        rtol=1e-6,
        atol=1e-6,
    )
    assert changes == (tmp_path / "changes.csv").read_text()


def photos_rows(folder):
    return open_collection(folder / "photos").rows(slice(0, 100))
