"""The ``sugartag`` command: finds the file of the command asked for and runs it."""

import importlib
import logging
import sys
from typing import Any

import click

from sugartag.errors import SugartagError

COMMANDS = {
    "demo": "demo",
    "import": "import_table",
    "fit": "fit",
    "suggest": "suggest",
    "evaluate": "evaluate",
    "methods": "methods",
    "doctor": "doctor",
}
"""Command name to module in this package; each module has one click command, ``command``."""

EXIT_BAD_INPUT = 2


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

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SugartagError as error:
            click.echo(f"sugartag: {' '.join(str(error).split())}", err=True)
            sys.exit(EXIT_BAD_INPUT)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sugartag")
@click.option("-v", "--verbose", is_flag=True, help="Say what each stage does, and how long.")
def main(verbose: bool) -> None:
    """Clean up the tags of a photo collection: which to keep, which to doubt, which to add.

    Start with:  sugartag demo
    """
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
