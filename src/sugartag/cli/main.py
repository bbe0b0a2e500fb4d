"""The ``sugartag`` command: finds the file of the command asked for and runs it."""

import importlib
import logging
import sys
from typing import Any, NamedTuple, NoReturn

import click

from sugartag.errors import SugartagError


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

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; what a user can mend is reported in one line."""
        try:
            return super().main(*args, **{**kwargs, "standalone_mode": False})
        except click.exceptions.Exit as ending:
            sys.exit(ending.exit_code)
        except click.ClickException as error:
            _fail(f"{error.format_message()}{_where_to_look(error)}")
        except SugartagError as error:
            _fail(str(error))
        except (click.Abort, KeyboardInterrupt):
            click.echo("sugartag: stopped; nothing was written under the target name", err=True)
            sys.exit(EXIT_STOPPED)


def _where_to_look(error: click.ClickException) -> str:
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return ""
    return f" (see {error.ctx.command_path} --help)"


def _fail(message: str) -> NoReturn:
    tell_fault(message)
    sys.exit(EXIT_BAD_INPUT)


def tell_fault(message: str) -> None:
    """Print what is wrong as one line on stderr."""
    click.echo(f"sugartag: {' '.join(message.split())}", err=True)


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="sugartag")
@click.option("-v", "--verbose", is_flag=True, help="Say what each stage does, and how long.")
@click.pass_context
def main(context: click.Context, verbose: bool) -> None:
    """Clean up the tags of a photo collection: which to keep, which to doubt, which to add.

    Start with:  sugartag demo
    """
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        return
    from sugartag.engine.heap import use_one_heap

    use_one_heap()
