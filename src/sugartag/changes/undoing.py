"""Undoing a run, whatever happened since.

A file that is as the run left it becomes what it was, byte for byte. Of one that somebody changed
since, what the run added goes, tag by tag, and everything else stays.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from sugartag.changes.catalogue import Catalogue
from sugartag.changes.journal import Reached, go_on, only_one, put_tag, run_number, unpacked
from sugartag.changes.plans import counted
from sugartag.changes.sidecar_files import SidecarFiles
from sugartag.changes.store import Row
from sugartag.errors import CollectionError, StorageError
from sugartag.metadata.files import UnreadableError
from sugartag.metadata.sidecar_writer import edited_sidecar
from sugartag.metadata.xmp import XmpError

ROWS_AT_ONCE = 1000
FILES_AT_ONCE = 200


@dataclass
class Undone:
    """What was undone."""

    run_id: str
    tags: int = 0
    sidecars: int = 0
    conflicts: list[str] = field(default_factory=list)
    """What somebody changed since, and what became of it; a line each."""
    problems: list[str] = field(default_factory=list)
    """What could not be undone, a line each."""

    def __str__(self) -> str:
        """Say in a line what was undone."""
        return f"{self.run_id}: {counted(self.tags, 'tag')} and {counted(self.sidecars, 'sidecar')}"


@dataclass
class Undoing:
    """Takes a run back; if it is killed, the same again finishes it."""

    catalogue: Catalogue
    sidecars: SidecarFiles | None = None
    reached: Reached = go_on

    def undo(self, run_id: str) -> Undone:
        """Undo all that a run did, whatever happened since."""
        with only_one(self.catalogue):
            return self._undo(run_id)

    def _undo(self, run_id: str) -> Undone:
        run = run_number(self.catalogue, run_id)
        (state,) = self.catalogue.one("SELECT state FROM runs WHERE run = ?", (run,))
        if state == "undone":
            raise CollectionError(f"the run {run_id!r} is undone already")
        undone = Undone(run_id)
        if self.sidecars is None and self._open_files(run):
            self.sidecars = SidecarFiles.of(self.catalogue, self._root_of(run))
        self._set_state(run, "undoing")
        self.reached("undoing")
        self._undo_files(self._open_files(run), undone)
        while self._undo_tags(run, undone):
            self.reached("tags undone")
        if undone.problems:
            return undone
        self._set_state(run, "undone")
        return undone

    def _open_files(self, run: int) -> list[Row]:
        return self.catalogue.all(
            "SELECT entry FROM journal_files WHERE run = ? AND state <> 'undone' "
            "ORDER BY entry DESC",
            (run,),
        )

    def _undo_files(self, entries: list[Row], undone: Undone) -> None:
        """Restore files, the last first; that they are is written down some at a time."""
        for start in range(0, len(entries), FILES_AT_ONCE):
            some = entries[start : start + FILES_AT_ONCE]
            done = [(entry,) for (entry,) in some if self._undo_file(entry, undone)]
            self._files.settle()
            with self.catalogue.writing() as connection:
                connection.executemany(
                    "UPDATE journal_files SET state = 'undone' WHERE entry = ?", done
                )
            self.reached("files undone")

    def _undo_file(self, entry: int, undone: Undone) -> bool:
        """Restore one file; return whether that could be done."""
        path, before, after, *tags = self.catalogue.one(
            "SELECT path, before, after, added, removed FROM journal_files WHERE entry = ?",
            (entry,),
        )
        added, removed = map(json.loads, tags)
        try:
            self._files.clear(path)
            current = self._files.read(path)
            if current == unpacked(after):
                wanted = unpacked(before)
            elif current == unpacked(before):
                wanted = current
            else:
                wanted = _merged(path, current, added, removed, undone)
            if wanted != current:
                self._files.write(path, wanted)
                undone.sidecars += 1
                self.reached("file restored")
        except (UnreadableError, XmpError, StorageError) as error:
            undone.problems.append(f"{path}: {error}")
            return False
        return True

    def _root_of(self, run: int) -> Path | None:
        """Return the folder that the run was given for the images, if any."""
        (settings,) = self.catalogue.one("SELECT settings FROM runs WHERE run = ?", (run,))
        root = json.loads(settings).get("images_root")
        return None if root is None else Path(root)

    @property
    def _files(self) -> SidecarFiles:
        if self.sidecars is None:
            raise UnreadableError("where the images are is not known; name it with --images-root")
        return self.sidecars

    def _undo_tags(self, run: int, undone: Undone) -> bool:
        """Undo some tags, the last first; return whether there were any."""
        with self.catalogue.writing() as connection:
            rows = self.catalogue.all(
                "SELECT j.entry, j.image, j.tag, j.change, j.state, i.image_id, t.name, "
                "j.source, j.source_run, j.by, j.at FROM journal_tags j JOIN images i USING "
                "(image) JOIN tags t USING (tag) WHERE j.run = ? AND j.state <> 'undone' "
                "ORDER BY j.entry DESC LIMIT ?",
                (run, ROWS_AT_ONCE),
            )
            for entry, image, tag, change, state, image_id, name, *ours in rows:
                connection.execute(
                    "UPDATE journal_tags SET state = 'undone' WHERE entry = ?", (entry,)
                )
                if state == "planned":
                    continue
                found = self.catalogue.first(
                    "SELECT source, run, by, at FROM image_tags WHERE image = ? AND tag = ?",
                    (image, tag),
                )
                expected = tuple(ours) if change == "add" else None
                if found != expected:
                    undone.conflicts.append(_conflict(image_id, name, change, found))
                    continue
                put_tag(connection, image, tag, None if change == "add" else ours)
                undone.tags += 1
        return bool(rows)

    def _set_state(self, run: int, state: str) -> None:
        with self.catalogue.writing() as connection:
            connection.execute("UPDATE runs SET state = ? WHERE run = ?", (state, run))


def _merged(
    path: str, current: bytes | None, added: list[str], removed: list[str], undone: Undone
) -> bytes | None:
    """Return a file that somebody changed since, without our changes and with theirs."""
    if current is None:
        undone.conflicts.append(f"{path}: somebody removed the file; it stays removed")
        return None
    edited = edited_sidecar(current, add=removed, remove=added)
    undone.conflicts.append(
        f"{path}: somebody changed the file; our tags are taken out, everything else stays"
    )
    for tag in added:
        if tag not in edited.removed:
            undone.conflicts.append(f"{path}: {tag!r} is gone already")
    for tag in removed:
        if tag not in edited.added:
            undone.conflicts.append(f"{path}: {tag!r} is there again already")
    return edited.data


def _conflict(image_id: str, tag: str, change: str, found: Row | None) -> str:
    if found is None:
        return f"{image_id}: {tag!r}, which the run added, is gone already"
    who = found[2] or found[0]
    if change == "add":
        return f"{image_id}: {tag!r} was added again by {who}; it stays"
    return f"{image_id}: {tag!r}, which the run removed, was added again by {who}; it stays"
