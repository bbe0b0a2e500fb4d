"""``sugartag serve``: the review page of a collection."""

import typing
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from sugartag.cli.options import FOLDER

if typing.TYPE_CHECKING:
    from sugartag.pipeline.propose import Thresholds
    from sugartag.web.accounts import Role
    from sugartag.web.serving import Address


@click.command("serve")
@click.argument("collection", type=FOLDER)
@click.option("--model", type=FOLDER, help="The model that proposes, explains and learns.")
@click.option("--catalogue", type=FOLDER, help="Where decisions are kept; else beside COLLECTION.")
@click.option("--changes", type=FOLDER, help="Review this change file instead of new proposals.")
@click.option("--top", default=10, show_default=True, help="Propose at most this many tags.")
@click.option(
    "--add-from",
    type=float,
    default=0.2,
    show_default=True,
    help="Propose from this probability on.",
)
@click.option("--doubt-below", type=float, help="Doubt below this; else learned.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0: a free one."
)
@click.option("--allow-host", multiple=True, help="A name that browsers call this server by.")
@click.option("--certificate", type=FOLDER, help="A TLS certificate (PEM); goes with --key.")
@click.option("--key", type=FOLDER, help="The certificate's private key.")
@click.option("--https-proxy", is_flag=True, help="A proxy in front of it speaks HTTPS.")
@click.option(
    "--add-user", multiple=True, metavar="NAME=ROLE", help="Ask for a password, keep it, and end."
)
@click.option(
    "--add-token", multiple=True, metavar="NAME=ROLE", help="Print a token for a program, and end."
)
def command(
    collection: Path,
    model: Path | None,
    catalogue: Path | None,
    changes: Path | None,
    top: int,
    add_from: float,
    doubt_below: float | None,
    host: str,
    port: int,
    allow_host: tuple[str, ...],
    certificate: Path | None,
    key: Path | None,
    https_proxy: bool,
    add_user: tuple[str, ...],
    add_token: tuple[str, ...],
) -> None:
    """Show the pictures of COLLECTION with what is proposed, to accept or reject; Ctrl-C ends it.

    Decisions go to the catalogue beside the collection. Only this machine can reach the page,
    unless --host names another address; people must then sign in.

    \b
    Example:
      sugartag serve photos/ --model photos.model
    """  # noqa: D301 - click looks for the backspace character itself
    from sugartag._extras import optional

    for package in ("fastapi", "uvicorn", "jinja2", "argon2", "PIL"):
        optional(package, extra="web", needed_for="sugartag serve")
    from sugartag.changes.store import default_path
    from sugartag.pipeline.propose import Thresholds
    from sugartag.web.serving import Address

    if add_user or add_token:
        _add_accounts(catalogue or default_path(collection), add_user, add_token)
        return
    address = Address(host, port, allow_host, certificate, key, https_proxy)
    thresholds = Thresholds(top=top, add=add_from, doubt=doubt_below)
    _serve(collection, catalogue, model, changes, address=address, thresholds=thresholds)


def _serve(
    folder: Path,
    catalogue: Path | None,
    model: Path | None,
    changes: Path | None,
    *,
    address: "Address",
    thresholds: "Thresholds",
) -> None:
    """Open what is to be reviewed, and serve it until somebody ends it."""
    from sugartag.changes.store import default_path
    from sugartag.engine import LocalEngine
    from sugartag.progress import ProgressDisplay
    from sugartag.web.accounts import load_accounts
    from sugartag.web.serving import (
        accounts_path,
        address_line,
        check_reachable,
        listening,
        make_site,
        open_for_review,
        server_of,
    )

    accounts = load_accounts(accounts_path(catalogue or default_path(folder)))
    check_reachable(address, accounts)
    with listening(address) as listener:
        with ProgressDisplay() as progress:
            opened = open_for_review(
                folder,
                catalogue=catalogue,
                model=model,
                changes=changes,
                engine=LocalEngine(progress=progress),
                thresholds=thresholds,
                say=click.echo,
            )
        with opened.catalogue:
            site = make_site(
                opened,
                name=folder.resolve().name,
                engine=LocalEngine(),
                address=address,
                accounts=accounts,
                thresholds=thresholds,
            )
            server = server_of(site, address)
            port = listener.getsockname()[1]
            click.echo(f"review page: {address_line(address, port)} (Ctrl-C ends it)")
            # It comes again once the server has answered what was asked: that is its end.
            with suppress(KeyboardInterrupt):
                server.run(sockets=[listener])
    click.echo("ended; all decisions are kept")


def _add_accounts(catalogue: Path, users: Sequence[str], tokens: Sequence[str]) -> None:
    """Keep accounts for the page of a catalogue."""
    from sugartag.web.accounts import load_accounts
    from sugartag.web.serving import accounts_path

    path = accounts_path(catalogue)
    accounts = load_accounts(path)
    for text in users:
        name, role = _name_and_role(text)
        password = click.prompt(f"password of {name}", hide_input=True, confirmation_prompt=True)
        accounts = accounts.with_password(name, role, password)
    for text in tokens:
        accounts, token = accounts.with_token(*_name_and_role(text))
        click.echo(f"{text.partition('=')[0]}: {token}")
    accounts.save(path)
    click.echo(f"{path}: {len(accounts)} accounts")


def _name_and_role(text: str) -> tuple[str, "Role"]:
    from sugartag.errors import SettingsError
    from sugartag.web.accounts import ROLES

    name, _, role = text.rpartition("=")
    for known in ROLES:
        if role == known and name:
            return name, known
    raise SettingsError(f"{text!r} is not NAME=ROLE, with a role of {', '.join(ROLES)}")
