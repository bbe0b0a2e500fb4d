"""The journal: what a run is to change, written down before it is changed, and how far it got.

A run goes through its images in batches. For each batch the intent is committed first (the tags,
and the bytes of each sidecar before and after), then the files are written, then the tags, and
with them that all of it is done. So whenever a run is killed, the journal says what may have been
touched, and it can be finished or undone.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fcntl import LOCK_EX, LOCK_NB, flock
from itertools import islice
from secrets import token_hex
from sqlite3 import Connection
from typing import Any

from sugartag.changes.catalogue import Catalogue
from sugartag.changes.plans import FilePlan, ImagePlan, Outcome, Provenance
from sugartag.changes.sidecar_files import SidecarFiles, digest_of
from sugartag.changes.store import Row, now
from sugartag.errors import CollectionError, ConflictError, StorageError
from sugartag.metadata.files import UnreadableError
from sugartag.metadata.sidecar_writer import Paths, edited_sidecar, new_sidecar
from sugartag.metadata.xmp import XmpError

IMAGES_PER_BATCH = 200

Settings = Mapping[str, Any]
Reached = Callable[[str], None]
"""Called at named points of a run; tests stop a process there."""


@contextmanager
def only_one(catalogue: Catalogue) -> Iterator[None]:
    """Hold off other processes that would apply or undo at the same time.

    The system lets go of the lock when a process ends, however it ends: a run that stands in the
    journal as begun, while nobody holds the lock, was killed.
    """
    path = catalogue.path.with_name(f"{catalogue.path.name}.lock")
    with path.open("a") as file:
        try:
            flock(file, LOCK_EX | LOCK_NB)
        except BlockingIOError as error:
            raise ConflictError(
                f"somebody else is applying or undoing changes of {catalogue.path}; wait for that"
            ) from error
        yield


def go_on(_: str) -> None:
    """Do nothing, as everywhere but in tests."""


@dataclass
class Journal:
    """Carries out plans, so that they can be finished and undone."""

    catalogue: Catalogue
    sidecars: SidecarFiles | None = None
    paths: Paths = field(default_factory=dict)
    by: str | None = None
    """Who carries them out."""
    reached: Reached = go_on

    def run(self, kind: str, settings: Settings, plans: Iterable[ImagePlan]) -> Outcome:
        """Carry out plans as a run of their own; where nothing is to be done there is no run."""
        return self.carry_out(plans, Outcome(None), kind, settings)

    def carry_out(
        self, plans: Iterable[ImagePlan], outcome: Outcome, kind: str, settings: Settings
    ) -> Outcome:
        """Carry out plans, as part of the outcome's run if it has one, and end the run."""
        waiting = iter(plans)
        while batch := list(islice(waiting, IMAGES_PER_BATCH)):
            files = [one for plan in batch for one in self._file_plan(plan, outcome)]
            if not files and not any(plan.changes for plan in batch):
                continue
            if outcome.run_id is None:
                outcome.run_id = self._begin(kind, settings)
            run = run_number(self.catalogue, outcome.run_id)
            self._write_down(run, batch, files)
            self.reached("planned")
            self.finish_batch(run, outcome)
        if outcome.run_id is not None:
            with self.catalogue.writing() as connection:
                connection.execute(
                    "UPDATE runs SET state = 'done' WHERE run_id = ?", (outcome.run_id,)
                )
            self.reached("done")
        return outcome

    def _begin(self, kind: str, settings: Settings) -> str:
        moment = now()
        digits = moment[:19].replace("-", "").replace(":", "").replace("T", "-")
        run_id = f"{kind}-{digits}-{token_hex(2)}"
        with self.catalogue.writing() as connection:
            connection.execute(
                "INSERT INTO runs (run_id, kind, state, settings, created, by) "
                "VALUES (?, ?, 'planned', ?, ?, ?)",
                (run_id, kind, json.dumps(settings), moment, self.by),
            )
        self.reached("begun")
        return run_id

    def finish_batch(self, run: int, outcome: Outcome) -> None:
        """Do what a run has written down and not done."""
        images = self._write_files(run, outcome) | self._write_tags(run, outcome)
        outcome.images += len(images)
        self.reached("recorded")

    def _write_files(self, run: int, outcome: Outcome) -> set[int]:
        images = set()
        for entry, image, path, before, after, added, removed in self.catalogue.all(
            "SELECT entry, image, path, before, after, added, removed FROM journal_files "
            "WHERE run = ? AND state = 'planned' ORDER BY entry",
            (run,),
        ):
            tags = (tuple(json.loads(added)), tuple(json.loads(removed)))
            plan = FilePlan(image, path, unpacked(before), unpacked(after) or b"", *tags)
            try:
                self._write_file(entry, plan)
            except (UnreadableError, XmpError, StorageError) as error:
                outcome.problems.append(f"{path}: {error}")
                with self.catalogue.writing() as connection:
                    connection.execute("DELETE FROM journal_files WHERE entry = ?", (entry,))
                continue
            outcome.sidecars += 1
            images.add(image)
            self.reached("file written")
        if self.sidecars is not None:
            self.sidecars.settle()
        return images

    def _write_file(self, entry: int, plan: FilePlan) -> None:
        """Write a sidecar, unless it was written before the run was killed."""
        if self.sidecars is None:
            raise UnreadableError("where the images are is not known; name it with --images-root")
        self.sidecars.clear(plan.path)
        current = self.sidecars.read(plan.path)
        if current == plan.after:
            return
        if current != plan.before:
            # Somebody changed it since it was read: their changes stay, ours are made in them.
            edited = edited_sidecar(
                current or b"", add=plan.added, remove=plan.removed, paths=self.paths
            )
            plan = FilePlan(
                plan.image, plan.path, current, edited.data, edited.added, edited.removed
            )
            with self.catalogue.writing() as connection:
                connection.execute(
                    "UPDATE journal_files SET before = ?, before_sha256 = ?, after = ?, "
                    "after_sha256 = ?, added = ?, removed = ? WHERE entry = ?",
                    (*_bytes_columns(plan), entry),
                )
        self.reached("before file")
        self.sidecars.write(plan.path, plan.after)

    def _write_tags(self, run: int, outcome: Outcome) -> set[int]:
        with self.catalogue.writing() as connection:
            rows = self.catalogue.all(
                "SELECT image, tag, change, source, source_run, by, at FROM journal_tags "
                "WHERE run = ? AND state = 'planned' ORDER BY entry",
                (run,),
            )
            for image, tag, change, *provenance in rows:
                put_tag(connection, image, tag, provenance if change == "add" else None)
                outcome.added += change == "add"
                outcome.removed += change == "remove"
            for table in ("journal_tags", "journal_files"):
                connection.execute(
                    f"UPDATE {table} SET state = 'done' WHERE run = ? AND state = 'planned'", (run,)
                )
        return {row[0] for row in rows}

    def _file_plan(self, plan: ImagePlan, outcome: Outcome) -> Iterator[FilePlan]:
        """Yield the edit of an image's sidecar, if it needs one and can have it."""
        if self.sidecars is None or not (plan.sidecar_add or plan.sidecar_remove):
            return
        if plan.path is None:
            outcome.problems.append(f"{plan.image_id}: no path is known; no sidecar is written")
            return
        try:
            path = self.sidecars.beside(plan.path)
            file = self._edited(plan, path, self.sidecars.read(path))
        except (UnreadableError, XmpError) as error:
            outcome.problems.append(f"{plan.image_id}: {error}")
            return
        if file is not None:
            yield file

    def _edited(self, plan: ImagePlan, path: str, before: bytes | None) -> FilePlan | None:
        if before is None:
            if not plan.sidecar_add:
                return None
            after = new_sidecar(plan.sidecar_all or plan.sidecar_add, self.paths)
            return FilePlan(plan.image, path, None, after, plan.sidecar_add, ())
        edited = edited_sidecar(
            before, add=plan.sidecar_add, remove=plan.sidecar_remove, paths=self.paths
        )
        if edited.data == before:
            return None
        return FilePlan(plan.image, path, before, edited.data, edited.added, edited.removed)

    def _write_down(self, run: int, plans: Sequence[ImagePlan], files: Sequence[FilePlan]) -> None:
        tags = {one.tag for plan in plans for one in plan.changes}
        with self.catalogue.writing() as connection:
            number = self.catalogue.tag_numbers(tags)
            connection.executemany(
                "INSERT INTO journal_tags "
                "(run, image, tag, change, state, source, source_run, by, at) "
                "VALUES (?, ?, ?, ?, 'planned', ?, ?, ?, ?)",
                [
                    (run, plan.image, number[one.tag], one.change, *_columns(one.provenance))
                    for plan in plans
                    for one in plan.changes
                ],
            )
            connection.executemany(
                "INSERT INTO journal_files (run, image, path, state, before, before_sha256, "
                "after, after_sha256, added, removed) "
                "VALUES (?, ?, ?, 'planned', ?, ?, ?, ?, ?, ?)",
                [(run, one.image, one.path, *_bytes_columns(one)) for one in files],
            )


def put_tag(connection: Connection, image: int, tag: int, provenance: Sequence[Any] | None) -> None:
    """Give an image a tag, or with None take it away; what is so already stays."""
    if provenance is None:
        connection.execute("DELETE FROM image_tags WHERE image = ? AND tag = ?", (image, tag))
    else:
        connection.execute(
            "INSERT OR IGNORE INTO image_tags VALUES (?, ?, ?, ?, ?, ?)", (image, tag, *provenance)
        )


def run_number(catalogue: Catalogue, run_id: str) -> int:
    """Return the number of a run that changed tags."""
    row = catalogue.first("SELECT run FROM runs WHERE run_id = ? AND kind <> 'suggest'", (run_id,))
    if row is None:
        known = [run.run_id for run in catalogue.runs() if run.kind != "suggest"]
        listed = f"they are {', '.join(known[:5])}" if known else "nothing was applied yet"
        raise CollectionError(f"{catalogue.path} has no run {run_id!r} of changes; {listed}")
    return int(row[0])


def unpacked(data: bytes | None) -> bytes | None:
    """Return the bytes of a file as they were before they were put into the journal."""
    return None if data is None else zlib.decompress(data)


def _columns(one: Provenance) -> Row:
    return one.source, one.run, one.by, one.at


def _bytes_columns(one: FilePlan) -> Row:
    before = None if one.before is None else zlib.compress(one.before)
    return (
        before,
        digest_of(one.before),
        zlib.compress(one.after),
        digest_of(one.after),
        json.dumps(one.added, ensure_ascii=False),
        json.dumps(one.removed, ensure_ascii=False),
    )
