import subprocess
import sys
from importlib import import_module, metadata
from types import ModuleType

import click
import pytest
from click.testing import CliRunner

from sugartag.cli import main as cli
from sugartag.errors import CollectionError, MissingExtraError, StorageError

RUNNER = CliRunner()


def run(*arguments: str):
    return RUNNER.invoke(cli.main, arguments)


@pytest.fixture
def command_that(monkeypatch):
    """Add a command, ``act``, that raises what it is given."""

    def add(error: BaseException) -> None:
        @click.command("act")
        def command() -> None:
            """Act."""
            raise error

        module = ModuleType("sugartag.cli.act")
        module.command = command
        monkeypatch.setitem(sys.modules, "sugartag.cli.act", module)
        monkeypatch.setitem(cli.COMMANDS, "act", cli.Listed("act", "Act."))

    return add


def test_the_help_lists_every_command_with_what_it_does():
    found = run("--help")

    assert found.exit_code == 0
    listed = found.stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == list(cli.COMMANDS)
    assert all(len(line.split()) > 3 for line in listed)


def test_the_help_comes_at_once_for_nothing_heavy_is_imported():
    asked = "import sys, sugartag.cli.main as cli; cli.main(['--help'], standalone_mode=False)"
    found = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", asked], capture_output=True, text=True
    )

    assert found.returncode == 0
    imported = {line.split("|")[-1].strip() for line in found.stderr.splitlines()}
    assert "click" in imported
    assert not imported & {"numpy", "scipy", "numba", "sugartag.cli.fit"}


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_with_an_example(name):
    found = run(name, "--help")

    assert found.exit_code == 0
    assert found.stdout.startswith(f"Usage: main {name} ")
    assert f"sugartag {name}" in found.stdout.partition("Example")[2]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_a_command_goes_by_the_name_it_is_found_under(name):
    module = f"sugartag.cli.{cli.COMMANDS[name].module}"
    assert import_module(module).command.name == name


def test_the_version_is_that_of_the_package():
    found = run("--version")

    assert found.exit_code == 0
    assert found.stdout == f"main, version {metadata.version('sugartag')}\n"


def test_without_a_command_it_says_what_there_is():
    found = run()

    assert found.exit_code == 0
    assert all(name in found.stdout for name in cli.COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("retag",), "No such command 'retag'"),
        (("--loud",), "No such option '--loud'"),
        (("methods", "everything"), "unexpected extra argument"),
        (("fit",), "Missing argument 'COLLECTION'"),
    ],
)
def test_bad_usage_is_one_line_that_says_where_to_look(arguments, said):
    found = run(*arguments)

    assert found.exit_code == 2
    assert found.stdout == ""
    (line,) = found.stderr.splitlines()
    assert line.startswith("sugartag: ")
    assert said in line
    assert "--help" in line


@pytest.mark.parametrize(
    "error",
    [
        CollectionError("image 3 has no owner;\n  give it one"),
        StorageError("photos exists already"),
        MissingExtraError("pyarrow", extra="parquet", needed_for="reading photos.parquet"),
    ],
    ids=["collection", "storage", "extra"],
)
def test_an_error_the_user_can_mend_is_one_line_and_code_two(error, command_that):
    command_that(error)

    found = run("act")

    assert found.exit_code == 2
    assert found.stdout == ""
    assert found.stderr == f"sugartag: {' '.join(str(error).split())}\n"


def test_an_error_nobody_foresaw_keeps_its_traceback(command_that):
    command_that(ZeroDivisionError("oops"))

    assert isinstance(run("act").exception, ZeroDivisionError)


def test_an_interrupted_command_says_so(command_that):
    command_that(KeyboardInterrupt())

    found = run("act")

    assert found.exit_code == 130
    assert "stopped" in found.stderr
    assert "Traceback" not in found.stderr


def test_from_a_shell_there_is_one_line_code_two_and_no_traceback(tmp_path):
    names = [str(tmp_path / "none"), "--out", str(tmp_path / "model")]
    command = [sys.executable, "-m", "sugartag", "fit", *names]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("sugartag: ")
    assert str(tmp_path / "none") in line
    assert list(tmp_path.iterdir()) == []
