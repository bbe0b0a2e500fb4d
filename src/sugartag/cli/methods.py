"""``sugartag methods``: list the methods and their settings."""

import json

import click

from sugartag.errors import SettingsError


@click.command("methods")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List the methods, what each does, and its settings with their defaults.

    \b
    Example:
      sugartag methods --json
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag.methods.registry import METHODS, OURS, package_of
    from sugartag.methods.settings import described_settings

    listed = []
    for name in METHODS:
        try:
            method_type = METHODS[name]
        except SettingsError as error:
            click.echo(f"{name}: left out; {error}", err=True)
            continue
        listed.append(
            {
                "name": name,
                "summary": method_type.summary,
                "package": package_of(name),
                "settings": described_settings(method_type),
            }
        )
    if as_json:
        click.echo(json.dumps(listed, indent=1))
        return
    for method in listed:
        origin = "" if method["package"] == OURS else f"  (of the package {method['package']})"
        click.echo(f"{method['name']}{origin}\n    {method['summary']}")
        for setting in method["settings"]:
            click.echo(f"    {setting['name']} = {setting['default']}  ({setting['type']})")
