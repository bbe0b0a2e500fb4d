"""``sugartag methods``: list the methods and their settings."""

import json

import click


@click.command("methods")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List the methods, what each does, and its settings with their defaults.

    \b
    Example:
      sugartag methods --json
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.methods.registry import METHODS
    from sugartag.methods.settings import described_settings

    listed = [
        {
            "name": name,
            "summary": method_type.summary,
            "settings": described_settings(method_type),
        }
        for name, method_type in METHODS.items()
    ]
    if as_json:
        click.echo(json.dumps(listed, indent=1))
        return
    for method in listed:
        click.echo(f"{method['name']}\n    {method['summary']}")
        for setting in method["settings"]:
            click.echo(f"    {setting['name']} = {setting['default']}  ({setting['type']})")
