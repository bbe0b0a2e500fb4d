"""A catalogue's SQLite file: made, opened and checked; one connection a thread, short writes."""

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sugartag.changes.schema import APPLICATION_ID, TABLES, TRIGGERS, VERSION
from sugartag.errors import StorageError

SUFFIX = ".catalogue.sqlite"
BUSY_SECONDS = 20.0
"""How long a write waits for another one before it gives up."""
OLDEST_SQLITE = (3, 37, 0)
"""The first release with STRICT tables."""
CACHE_KIB = 32 << 10

Row = tuple[Any, ...]


def default_path(collection: Path) -> Path:
    """Return where the catalogue of a collection folder is: beside it, NAME.catalogue.sqlite."""
    folder = collection.resolve()
    return folder.with_name(f"{folder.name}{SUFFIX}")


def now() -> str:
    """Return the time as catalogues hold it: ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Store:
    """The file and its connections. Threads and forked processes each get their own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._lock = threading.Lock()
        self._opened: list[sqlite3.Connection] = []
        self._process = os.getpid()

    @classmethod
    def create(cls, path: Path, *, overwrite: bool = False) -> Self:
        """Make an empty catalogue; the file appears whole or not at all."""
        _require_sqlite()
        if path.exists() and not overwrite:
            raise StorageError(f"{path} exists already; open it, or choose another name")
        partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.unlink(missing_ok=True)
            _write_schema(partial)
            for suffix in ("-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            partial.replace(path)
        except (OSError, sqlite3.Error) as error:
            raise StorageError(f"cannot write {path}: {error}") from error
        finally:
            partial.unlink(missing_ok=True)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a catalogue, after checking that the file is one and of this version."""
        _require_sqlite()
        if not path.is_file():
            raise StorageError(f"{path} does not exist; name a collection to make one for")
        store = cls(path)
        try:
            marks = [store.one(f"PRAGMA {name}")[0] for name in ("application_id", "user_version")]
        except sqlite3.OperationalError as error:
            store.close()
            raise StorageError(f"cannot open {path}: {error}") from error
        except sqlite3.DatabaseError as error:
            store.close()
            raise StorageError(f"{path} is not a catalogue: {error}") from error
        if marks != [APPLICATION_ID, VERSION]:
            store.close()
            of_us = marks[0] == APPLICATION_ID
            what = f"a catalogue of version {marks[1]}" if of_us else "not a catalogue"
            raise StorageError(
                f"{path} is {what}; this version of sugartag reads version {VERSION}"
            )
        return store

    @property
    def connection(self) -> sqlite3.Connection:
        """Return this thread's connection, in autocommit mode: transactions are begun by hand."""
        if self._process != os.getpid():
            # A forked child must not touch its parent's connections, not even to close them.
            self._local, self._opened, self._process = threading.local(), [], os.getpid()
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = _connected(self.path)
            self._local.connection = found
            with self._lock:
                self._opened.append(found)
        return found

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """Open a transaction that writes: all of it is kept, or none.

        It is IMMEDIATE: two writers wait for each other at its start, never halfway. One that is
        not ``durable`` may be lost when the power fails, as a whole, until a durable one follows.
        """
        connection = self.connection
        if not durable and not connection.in_transaction:
            connection.execute("PRAGMA synchronous = NORMAL")
        try:
            with self._transaction("BEGIN IMMEDIATE"):
                yield connection
        finally:
            if not durable and not connection.in_transaction:
                connection.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction in which all reads see the same state."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        connection = self.connection
        if connection.in_transaction:
            yield connection
            return
        try:
            connection.execute(begin)
            yield connection
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise StorageError(f"cannot use {self.path}: {error}; try again") from error
        finally:
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")

    def all(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return all rows that a query finds."""
        return self.connection.execute(sql, values).fetchall()

    def one(self, sql: str, values: Sequence[Any] = ()) -> Row:
        """Return the first row of a query that always finds one."""
        row: Row = self.connection.execute(sql, values).fetchone()
        return row

    def first(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """Return the first row of a query, or None."""
        row: Row | None = self.connection.execute(sql, values).fetchone()
        return row

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            if self._process == os.getpid():
                for connection in self._opened:
                    connection.close()
            self._opened = []
            self._local = threading.local()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _require_sqlite() -> None:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        needed = ".".join(map(str, OLDEST_SQLITE))
        raise StorageError(
            f"catalogues need SQLite {needed} and this Python has {sqlite3.sqlite_version}; "
            "use a newer Python"
        )


def _connected(path: Path) -> sqlite3.Connection:
    # Opened for reading and writing, never made: a mistyped name must not leave a file.
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=rw",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    return connection


def _write_schema(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.executescript(f"BEGIN; {TABLES} {TRIGGERS} COMMIT;")
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()
