"""The ``sugartag`` command: finds the file of the command asked for and runs it."""

import importlib
import logging
import sys
from typing import Any, NoReturn

import click

from sugartag.engine.heap import use_one_heap
from sugartag.errors import SugartagError

COMMANDS = {
    "demo": "demo",
    "import": "import_table",
    "estimate": "estimate",
    "fit": "fit",
    "suggest": "suggest",
    "evaluate": "evaluate",
    "tune": "tune",
    "methods": "methods",
    "doctor": "doctor",
    "reproduce": "reproduce",
    "bench": "bench",
}
"""Command name to module in this package; each module has one click command, ``command``."""

EXIT_BAD_INPUT = 2
EXIT_STOPPED = 130


class _Commands(click.Group):
    """Imports a command's module only when it is asked for, and prints errors as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"sugartag.cli.{COMMANDS[cmd_name]}")
        command: click.Command = module.command
        return command

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; what a user can mend is told in one line."""
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
    use_one_heap()
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
