"""From a collection and a model to a server that runs until it is stopped."""

import getpass
import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from sugartag.changes.catalogue import Catalogue
from sugartag.changes.change_files import load_change_file
from sugartag.changes.proposing import Say, take_proposals
from sugartag.collection.model import Collection
from sugartag.collection.store import open_collection
from sugartag.engine.base import Engine
from sugartag.errors import SettingsError
from sugartag.pipeline.model import Model, load_model
from sugartag.pipeline.propose import Thresholds
from sugartag.web.accounts import SUFFIX, Accounts
from sugartag.web.app import make_app
from sugartag.web.guard import Rules
from sugartag.web.learning import Learned, Learner, learned_path, what_was_learned
from sugartag.web.pictures import Pictures
from sugartag.web.sessions import GuessLimit, Sessions
from sugartag.web.site import Site

THUMBNAILS = ".thumbnails"
WAITING = 128
"""Connections that may wait to be taken."""
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Address:
    """Where a server listens, and what it may be called."""

    host: str = "127.0.0.1"
    port: int = 8000
    names: tuple[str, ...] = ()
    """Further names that browsers reach it by."""
    certificate: Path | None = None
    key: Path | None = None
    https_proxy: bool = False
    """Whether something in front of it speaks HTTPS for it."""

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def https(self) -> bool:
        """Whether browsers reach it by HTTPS."""
        return self.https_proxy or self.certificate is not None

    def rules(self) -> Rules:
        """Return what requests must conform to."""
        own = [f"[{self.host}]" if ":" in self.host else self.host]
        if not self.is_loopback:
            own.append(socket.gethostname())
        names = [*LOCAL_NAMES, *own, *self.names]
        return Rules(
            hosts=frozenset(name.lower() for name in names),
            default_name=_user_name(),
            https=self.https,
            cookie=f"sugartag-{self.port}",
        )


def check_reachable(address: Address, accounts: Accounts) -> None:
    """Raise if others could reach the server and nobody would have to sign in."""
    if not address.is_loopback and not len(accounts):
        raise SettingsError(
            f"{address.host} can be reached by others and nobody has a password; first run "
            "sugartag serve COLLECTION --add-user NAME=admin, or leave --host out"
        )
    if (address.certificate is None) != (address.key is None):
        raise SettingsError("--certificate and --key go together; give both or none")


def accounts_path(catalogue: Path) -> Path:
    """Return where the accounts of a catalogue's page are kept."""
    return catalogue.with_name(catalogue.name + SUFFIX)


@dataclass(frozen=True)
class Opened:
    """A collection with its catalogue, full of proposals, and the model they came from."""

    collection: Collection
    catalogue: Catalogue
    model: Model | None
    """The model that was given, before it learned here."""
    learned: tuple[Learned, Model | None] = (Learned(), None)
    """What an earlier server learned with it."""


def make_site(
    opened: Opened,
    *,
    name: str,
    engine: Engine,
    address: Address,
    accounts: Accounts,
    thresholds: Thresholds | None = None,
) -> Site:
    """Return the site of a catalogue that has proposals."""
    catalogue, learner = opened.catalogue, None
    root = catalogue.fact("images_root")
    if opened.model is not None:
        learner = Learner(
            catalogue,
            opened.model,
            opened.collection,
            engine=engine,
            thresholds=thresholds,
            earlier=opened.learned,
        )
    kept = catalogue.path.with_name(catalogue.path.name + THUMBNAILS)
    return Site(
        name=name,
        catalogue=catalogue,
        pictures=Pictures(None if root is None else Path(root), kept),
        accounts=accounts,
        rules=address.rules(),
        sessions=Sessions(),
        guesses=GuessLimit(),
        learner=learner,
    )


def open_for_review(
    folder: Path,
    *,
    catalogue: Path | None = None,
    model: Path | None = None,
    changes: Path | None = None,
    engine: Engine,
    thresholds: Thresholds | None = None,
    say: Say = lambda _: None,
) -> Opened:
    """Open or make the catalogue of a collection, and take proposals in that it lacks."""
    collection = open_collection(folder)
    opened = Catalogue.of_collection(folder, catalogue)
    try:
        if opened.sizes()["images"] < collection.n_images:
            say(f"{opened.load_collection(collection):,} new images")
        if changes is not None:
            for loaded in load_change_file(opened, changes):
                say(f"{changes}: {sum(loaded.counts.values()):,} proposals of {loaded.run_id}")
        if model is not None and model.resolve() == learned_path(opened.path).resolve():
            raise SettingsError(
                f"{model} is what was learned here and is replaced by the next learning; name the "
                "model that it came from, or a copy"
            )
        loaded_model = None if model is None else load_model(model)
        learned: tuple[Learned, Model | None] = (Learned(), None)
        if loaded_model is not None:
            learned = what_was_learned(opened, loaded_model, say=say)
            if learned[1] is None and changes is None:
                take_proposals(
                    opened, loaded_model, collection, engine=engine, thresholds=thresholds, say=say
                )
        if opened.latest_run() is None:
            raise SettingsError(
                f"{opened.path} has no proposals; name a model with --model, or a change file "
                "with --changes"
            )
    except BaseException:
        opened.close()
        raise
    return Opened(collection, opened, loaded_model, learned)


def listening(address: Address) -> socket.socket:
    """Return a socket that listens there; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # Named as TCP: only then are small answers sent at once, and not 40 ms later.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.bind((address.host, address.port))
        made.listen(WAITING)
        return made
    except (OSError, OverflowError) as error:
        made.close()
        raise SettingsError(
            f"cannot listen on {address.host}, port {address.port}: {error}; try another --port"
        ) from error


def server_of(site: Site, address: Address) -> uvicorn.Server:
    """Return the server of a site; ``run(sockets=[...])`` it."""
    settings: dict[str, Any] = {}
    if address.certificate is not None and address.key is not None:
        settings = {"ssl_certfile": address.certificate, "ssl_keyfile": address.key}
    config = uvicorn.Config(
        make_app(site),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=3,
        lifespan="on",
        ws="none",
        **settings,
    )
    return uvicorn.Server(config)


def address_line(address: Address, port: int) -> str:
    """Return the address to open in a browser."""
    scheme = "https" if address.https else "http"
    named = [*address.names, address.host]
    host = f"[{named[0]}]" if ":" in named[0] else named[0]
    return f"{scheme}://{host}:{port}/"


def _user_name() -> str:
    """Return who runs the server, as far as the system says."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "reviewer"
