"""Proposed changes, and change sets as files: CSV, JSONL or Parquet, by extension.

What changes follow from is written as JSONL.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO

from sugartag._extras import optional
from sugartag.collection.decisions import Decision
from sugartag.collection.frames import columns_of
from sugartag.collection.readers.batch import Batch, Columns, check_header, shown
from sugartag.collection.readers.table import read_table
from sugartag.collection.vocabulary import clean_all
from sugartag.errors import CollectionError, SettingsError
from sugartag.methods.base import PartKind
from sugartag.storage.aside import file_aside
from sugartag.storage.formulas import guarded

Action = Literal["add", "keep", "doubt"]


@dataclass(frozen=True)
class Change:
    """What is proposed for one tag of one image; the fields are the columns of a change set."""

    image_id: str
    tag: str
    action: Action
    score: float
    """The probability that the tag belongs, 0 to 1."""
    reason: str
    run_id: str


@dataclass(frozen=True, slots=True)
class SharedPart:
    """A part of the evidence, and how much of the verdict it accounts for."""

    kind: PartKind
    name: str | None
    """None for all others of the kind together."""
    contribution: float
    """What it adds to the evidence."""
    share: float
    """0 to 1; 0 where it points the other way."""


@dataclass(frozen=True)
class ExplainedChange(Change):
    """A change with everything it follows from."""

    evidence: float
    """How far the prediction lies above the base rate: the sum of the contributions."""
    base_rate: float
    judged: bool
    """Whether the evidence predicts the tag well enough to call a use of it wrong."""
    decided: Literal["accepted", "rejected"] | None
    """What a person decided about the tag; that stands, whatever the evidence."""
    parts: tuple[SharedPart, ...]


COLUMNS = tuple(field.name for field in fields(Change))
KINDS = (".csv", ".jsonl", ".parquet")
EXPLAINED_KIND = ".jsonl"
DIGITS = 6
"""Decimals of the numbers that a verdict follows from."""


DECIDED_COLUMNS = Columns(
    required=("image_id", "tag", "action", "decision"), omittable=("decision",)
)
DECISION = "decision"
"""The last column of a change set: empty, for somebody to fill in."""
SAID = {"accept": True, "yes": True, "y": True, "reject": False, "no": False, "n": False}
"""What a decision says of the change, in upper or lower case."""
MEANT = {"add": True, "keep": True, "doubt": False}
"""What each change says of its tag: that it belongs, or not."""


class _Sink(Protocol):
    def __call__(self, changes: list[Change], /) -> None: ...


def check_kind(path: Path) -> None:
    """Raise unless changes can be written to a file of this name."""
    if path.suffix.lower() not in KINDS:
        raise SettingsError(f"{path} must end in one of: {', '.join(KINDS)}")
    if path.suffix.lower() == ".parquet":
        optional("pyarrow.parquet", extra="parquet", needed_for="writing Parquet")


def check_explained(path: Path, changes: Path) -> None:
    """Raise unless explanations can be written to a file of this name, beside the changes."""
    if path.suffix.lower() != EXPLAINED_KIND:
        raise SettingsError(f"{path} must end in {EXPLAINED_KIND}: explanations are JSON lines")
    if path.resolve() == changes.resolve():
        raise SettingsError(f"{path} is to hold the changes; name another file for explanations")


def read_decisions(path: Path) -> list[Decision]:
    """Read a change set whose column ``decision`` says accept, reject or nothing."""
    return _decisions(read_table(path, DECIDED_COLUMNS), str(path))


def decisions_of(given: Any) -> list[Decision]:
    """Return the decisions of a change set that is a frame, or the path of a file."""
    if isinstance(given, str | Path):
        return read_decisions(Path(given))
    columns = columns_of(given)
    numbers = range(len(next(iter(columns.values()), [])))
    check_header(Path("frame"), list(columns), DECIDED_COLUMNS)
    batch = Batch(Path("frame"), "row", numbers, columns, len(numbers), len(numbers))
    return _decisions([batch], "the frame")


def _decisions(batches: Iterable[Batch], where: str) -> list[Decision]:
    found: dict[tuple[str, str], Decision] = {}
    for batch in batches:
        for index, one in _decisions_in(batch):
            earlier = found.setdefault((one.image_id, one.tag), one)
            if earlier.right != one.right:
                raise batch.error(
                    index,
                    f"the tag {shown(one.tag)} of image {shown(one.image_id)} is decided "
                    f"otherwise in {earlier.where}; keep one of the two",
                )
    if not found:
        raise CollectionError(
            f"{where} decides nothing: its column 'decision' is empty; write accept or reject there"
        )
    return list(found.values())


def _decisions_in(batch: Batch) -> Iterator[tuple[int, Decision]]:
    columns = [clean_all(batch.texts(name)) for name in DECIDED_COLUMNS.required]
    for index, (image_id, tag, action, decision) in enumerate(zip(*columns, strict=True)):
        if not decision:
            continue
        said = decision.lower()
        for name, value, known in (("decision", said, SAID), ("action", action, MEANT)):
            if value not in known:
                raise batch.error(
                    index, f"{name} is {shown(value)}; it must be one of: {', '.join(known)}"
                )
        for name, value in (("image_id", image_id), ("tag", tag)):
            if not value:
                raise batch.error(index, f"{name} is empty; say what was decided about")
        where = f"{batch.path}, {batch.word} {batch.numbers[index]}"
        yield index, Decision(image_id, tag, SAID[said] == MEANT[action], where)


def write_changes(
    changes: Iterable[list[Change]],
    path: Path,
    *,
    overwrite: bool = False,
    explained: Path | None = None,
    guard_formulas: bool = True,
) -> dict[str, int]:
    """Write the changes as they come, and return how many there are of each action.

    With ``explained``, what each change follows from is written there; the changes must then be
    explained ones. In CSV, texts that a spreadsheet would take for formulas are guarded.
    """
    check_kind(path)
    counts = {"add": 0, "keep": 0, "doubt": 0}
    with ExitStack() as stack:
        partial = stack.enter_context(file_aside(path, overwrite=overwrite))
        sinks = [stack.enter_context(_sink(partial, guard_formulas=guard_formulas))]
        if explained is not None:
            check_explained(explained, path)
            aside = stack.enter_context(file_aside(explained, overwrite=overwrite))
            sinks.append(stack.enter_context(_json_sink(aside, _explained_row)))
        for some in changes:
            for write in sinks:
                write(some)
            for change in some:
                counts[change.action] += 1
    return counts


@dataclass(frozen=True)
class _LineFeeds:
    """Ends rows in LF alone; csv quotes a CR in a field only if its own line ends have one."""

    file: TextIO

    def write(self, row: str, /) -> int:
        return self.file.write(row.removesuffix("\r\n") + "\n")


@contextmanager
def _sink(path: Path, *, guard_formulas: bool) -> Iterator[_Sink]:
    if path.suffix.lower() == ".parquet":
        with _parquet_sink(path) as sink:
            yield sink
    elif path.suffix.lower() == ".jsonl":
        with _json_sink(path, _row) as sink:
            yield sink
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(_LineFeeds(file), (*COLUMNS, DECISION), lineterminator="\r\n")
            writer.writeheader()
            row = _guarded_row if guard_formulas else _row
            yield lambda changes: writer.writerows(map(row, changes))


@contextmanager
def _parquet_sink(path: Path) -> Iterator[_Sink]:
    arrow: Any = optional("pyarrow", extra="parquet", needed_for="writing Parquet")
    parquet: Any = optional("pyarrow.parquet", extra="parquet", needed_for="writing Parquet")
    texts = [(name, arrow.string()) for name in (*COLUMNS, DECISION)]
    schema = arrow.schema([(n, arrow.float64() if n == "score" else kind) for n, kind in texts])
    with parquet.ParquetWriter(path, schema) as writer:
        yield lambda changes: writer.write_table(
            arrow.Table.from_pylist([_row(change) for change in changes], schema=schema)
        )


@contextmanager
def _json_sink(path: Path, row: Callable[[Change], dict[str, Any]]) -> Iterator[_Sink]:
    with path.open("w", encoding="utf-8", newline="") as file:
        yield lambda changes: file.writelines(
            json.dumps(row(change), ensure_ascii=False) + "\n" for change in changes
        )


def _row(change: Change) -> dict[str, Any]:
    """Return the columns of a change, whatever else is known of it, and room for a decision."""
    return {**{name: getattr(change, name) for name in COLUMNS}, DECISION: ""}


def _guarded_row(change: Change) -> dict[str, Any]:
    return {
        name: guarded(value) if isinstance(value, str) else value
        for name, value in _row(change).items()
    }


def _explained_row(change: Change) -> dict[str, Any]:
    if not isinstance(change, ExplainedChange):
        raise SettingsError("these changes come without explanations; propose them with explain")
    whole = {name: _rounded(value) for name, value in vars(change).items()}
    return {**whole, "parts": [_part_row(part) for part in change.parts]}


def _part_row(part: SharedPart) -> dict[str, Any]:
    return {field.name: _rounded(getattr(part, field.name)) for field in fields(part)}


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value
