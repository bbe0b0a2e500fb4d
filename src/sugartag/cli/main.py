"""The ``sugartag`` command: finds the file of the command asked for and runs it."""

import importlib
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click

from sugartag.errors import StorageError, SugartagError


class Listed(NamedTuple):
    """A command that is imported only when it is asked for."""

    module: str
    """In this package; it has one click command, ``command``."""
    in_short: str
    """What it does, for the list of all."""


COMMANDS = {
    "demo": Listed("demo", "Retag the shipped photographs and write a report to look at."),
    "photos": Listed("photos", "Do it all for a folder of photographs."),
    "import": Listed("import_table", "Make a collection from a table, folder or archive."),
    "embed": Listed("embed", "Describe the pictures of a collection by an encoder."),
    "estimate": Listed("estimate", "Say what a fit will take: time, memory and disk."),
    "fit": Listed("fit", "Learn from a collection; write the model to a folder."),
    "suggest": Listed("suggest", "Propose tags to add, keep and doubt, image by image."),
    "serve": Listed("serve", "Review the proposals in a browser: accept, reject, search."),
    "search": Listed("search", "Find images by their tags: given, proposed and decided."),
    "apply": Listed("apply", "Apply what was decided, to the catalogue and to sidecars."),
    "undo": Listed("undo", "Undo a run of changes, however long ago."),
    "export": Listed("export", "Write the tags as they are now, for other programs too."),
    "tags": Listed("tags", "List the tags; aliases, implications, near-duplicates."),
    "evaluate": Listed("evaluate", "Compare methods on a collection."),
    "tune": Listed("tune", "Choose the settings of methods by hidden tags."),
    "methods": Listed("methods", "List the methods and their settings."),
    "doctor": Listed("doctor", "Say what is installed; check folders for damage."),
    "reproduce": Listed("reproduce", "Run the experiments of the paper and write a report."),
    "bench": Listed("bench", "Measure a performance claim."),
}

EXIT_BAD_INPUT = 2
EXIT_STOPPED = 130
_shown = {"traceback": False}
"""What the command line asks to be shown beside the one line."""


class _Commands(click.Group):
    """Imports a command's module only when it is asked for, and prints errors as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"sugartag.cli.{COMMANDS[cmd_name].module}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, listed.in_short) for name, listed in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command asked for; click itself would end without a word where nobody reads."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise StorageError("standard output: Broken pipe; nobody reads it any more") from error

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; what a user can mend is reported in one line."""
        _require_output()
        try:
            with _terminated_as_interrupted():
                found = super().main(*args, **{**kwargs, "standalone_mode": False})
                sys.stdout.flush()
                return found
        except click.exceptions.Exit as ending:
            _end(ending.exit_code)
        except click.ClickException as error:
            _fail(f"{error.format_message()}{_where_to_look(error)}")
        except SugartagError as error:
            _fail(str(error))
        except OSError as error:
            _fail(_said_by_the_system(error))
        except MemoryError as error:
            _fail(f"out of memory: {error or 'no more is to be had'}; see: sugartag estimate")
        except (click.Abort, KeyboardInterrupt):
            click.echo("sugartag: stopped; nothing was written under the target name", err=True)
            _end(EXIT_STOPPED)


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Clean up after SIGTERM as after Ctrl-C, where signals can be handled."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _require_output() -> None:
    """Raise before the work if there is nowhere to print to: the next file would take its place."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - open until the process ends
    if sys.stdout is None:
        _fail("standard output is closed; redirect it to /dev/null if it is not wanted")


def _said_by_the_system(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {reason}"
    return f"{reason} (while reading or writing; --traceback says where)"


def _where_to_look(error: click.ClickException) -> str:
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return ""
    return f" (see {error.ctx.command_path} --help)"


def _fail(message: str) -> NoReturn:
    """Print what is wrong, with --traceback also where, and end."""
    context = sys.exc_info()[1]
    if context is not None and _shown["traceback"]:
        traceback.print_exception(context)
    tell_fault(message)
    _end(EXIT_BAD_INPUT)


def _end(code: int) -> NoReturn:
    """End with a code, whether or not what was printed can still be written."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        # Python would try once more at its own end, and say so in several lines.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(nowhere, sys.stdout.fileno())
        code = code or EXIT_BAD_INPUT
    sys.exit(code)


def tell_fault(message: str) -> None:
    """Print what is wrong as one line on stderr."""
    line = f"sugartag: {' '.join(message.split())}"
    with suppress(OSError):
        click.echo(line.encode("utf-8", "replace").decode(), err=True)


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="sugartag")
@click.option("-v", "--verbose", is_flag=True, help="Say what each stage does, and how long.")
@click.option("--traceback", is_flag=True, help="Show where in the code an error comes from.")
@click.pass_context
def main(context: click.Context, verbose: bool, traceback: bool) -> None:
    """Clean up the tags of a photo collection: which to keep, which to doubt, which to add.

    Start with:  sugartag demo
    """
    _shown["traceback"] = traceback
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        return
    from sugartag.engine.heap import use_one_heap

    use_one_heap()
