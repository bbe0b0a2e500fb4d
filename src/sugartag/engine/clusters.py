"""Dask clusters: how one is reached, started on this machine, and checked before it is used."""

import asyncio
import logging
import threading
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from sugartag._extras import optional
from sugartag.errors import EngineError

SECONDS_TO_CONNECT = 10.0
SAME_VERSION = ("python", "sugartag", "dask", "distributed", "numpy", "scipy", "numba")


def distributed_package() -> ModuleType:
    """Return ``distributed``, or raise naming the extra that brings it."""
    return optional("distributed", extra="dask", needed_for="the Dask engine")


@dataclass(frozen=True)
class Tls:
    """The files with which client, scheduler and workers prove to each other who they are."""

    ca: Path
    """The certificate of the authority that signed all certificates."""
    cert: Path
    key: Path


@contextmanager
def client_of(address: str, timeout: float, tls: Tls | None = None) -> Iterator[Any]:
    """Yield a client of the scheduler at an address, once it has a worker of our versions."""
    distributed = distributed_package()
    security = _security(distributed, tls)
    _check_address(distributed, address, timeout, security)
    with _client(distributed, address, timeout, security) as client:
        _wait_for_worker(client, address, timeout)
        _check_versions(client, timeout)
        yield client


def client_of_own(cluster: Any) -> AbstractContextManager[Any, Any]:
    """Return a client of a cluster that was started here."""
    return _client(distributed_package(), cluster, SECONDS_TO_CONNECT)


def processes_here(n_workers: int, retries: int) -> AbstractContextManager[Any, Any]:
    """Start a scheduler and worker processes that only this machine can reach."""
    cluster: AbstractContextManager[Any, Any] = distributed_package().LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        protocol="tcp://",
        # Dask has no way to say none; so: any free port, for this machine alone.
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
        scheduler_kwargs={"allowed_failures": retries},
    )
    return cluster


@contextmanager
def large_messages(n_bytes: int) -> Iterator[None]:
    """Send a value of up to this many bytes without a warning: there is no better way for it."""
    config = optional("dask", extra="dask", needed_for="the Dask engine").config
    with config.set({"distributed.admin.large-graph-warning-threshold": n_bytes}):
        yield


def _check_address(distributed: ModuleType, address: str, timeout: float, security: Any) -> None:
    """Raise if nothing that speaks Dask's protocol answers at an address.

    A client that finds nobody leaves itself half open, to be collected at a bad moment: in the
    thread that the next client starts, while that one waits for it.
    """

    async def ask() -> None:
        arguments = security.get_connection_args("client")
        comm = await distributed.comm.connect(address, timeout=timeout, **arguments)
        comm.abort()

    async def ask_in_time() -> None:
        await asyncio.wait_for(ask(), timeout)

    try:
        # In a thread of its own, because a notebook already runs a loop in this one.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, ask_in_time()).result()
    except (OSError, ValueError, TypeError, RuntimeError, MemoryError, EOFError) as error:
        raise EngineError(
            f"no Dask scheduler answers at {address!r} within {timeout:g} s: "
            f"{str(error) or type(error).__name__}; start one with: dask scheduler"
        ) from error


def _client(
    distributed: ModuleType, address: Any, timeout: float, security: Any = None
) -> AbstractContextManager[Any, Any]:
    with warnings.catch_warnings():
        # Versions are checked by us, with an error that says what to do.
        warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
        client: AbstractContextManager[Any, Any] = distributed.Client(
            address, timeout=timeout, set_as_default=False, security=security
        )
    return client


def _wait_for_worker(client: Any, address: str, timeout: float) -> None:
    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError as error:
        raise EngineError(
            f"the scheduler at {address} has no workers after {timeout:g} s; "
            f"start some with: dask worker {address} --nthreads 1"
        ) from error


def _security(distributed: ModuleType, tls: Tls | None) -> Any:
    """Return how connections are made: by Dask's own settings, or encrypted with some files."""
    if tls is None:
        return distributed.Security()
    for path in (tls.ca, tls.cert, tls.key):
        if not path.is_file():
            raise EngineError(f"{path} is not a file; name the certificates and key of the client")
    security = distributed.Security(
        tls_ca_file=str(tls.ca),
        tls_client_cert=str(tls.cert),
        tls_client_key=str(tls.key),
        require_encryption=True,
    )
    try:
        security.get_connection_args("client")
    except OSError as error:
        raise EngineError(f"{tls.cert} and {tls.key} make no TLS connection: {error}") from error
    return security


def _versions_within(client: Any, timeout: float) -> Any:
    """Return the versions of all, or raise if a worker is connected and does not answer."""
    found: list[Any] = []

    def ask() -> None:
        with suppress(OSError):
            found.append(client.get_versions(packages=["sugartag", "scipy", "numba"]))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(timeout)
    if not found:
        raise EngineError(
            f"a worker of {client.scheduler.address} does not answer within {timeout:g} s; it may "
            "be paused or busy: restart it, or wait for it"
        )
    return found[0]


def _check_versions(client: Any, timeout: float) -> None:
    """Raise if the scheduler or a worker runs other versions of what decides the result."""
    found = _versions_within(client, timeout)
    ours = _shortened(found["client"]["packages"])
    others = {"the scheduler": found["scheduler"]}
    others |= {f"worker {address}": there for address, there in found["workers"].items()}
    for who, versions in others.items():
        theirs = _shortened(versions["packages"])
        for name in SAME_VERSION:
            if theirs.get(name) != ours.get(name):
                raise EngineError(
                    f"{who} has {name} {theirs.get(name) or 'not installed'}, this machine "
                    f"{ours.get(name)}; install the same versions everywhere"
                )


def _shortened(packages: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the versions with Python's cut to the part that must agree: 3.11."""
    python = ".".join(str(packages["python"]).split(".")[:2])
    return {**packages, "python": python}
