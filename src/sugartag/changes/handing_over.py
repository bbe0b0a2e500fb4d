"""Proposals for the programs that people label and curate with.

Label Studio predictions, FiftyOne samples, cleanlab arrays and the metadata of a Hugging Face
image folder. Nothing of these programs is needed to write them.
"""

import json
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from sugartag.changes.catalogue import Catalogue
from sugartag.changes.exporting import Record, TaggedImage, export_records, mark
from sugartag.errors import CollectionError
from sugartag.storage.aside import folder_aside

CLEANLAB_FORMAT = "sugartag-cleanlab/1"


def export_label_studio(
    catalogue: Catalogue,
    path: Path,
    *,
    run: str | None = None,
    prefix: str = "",
    overwrite: bool = False,
) -> int:
    """Write tasks whose predictions are the tags kept and proposed, for a ``Choices`` control.

    The labelling configuration calls the image ``image`` and the choices ``tags``; ``prefix``
    goes before each path.
    """
    proposed = _Proposed(catalogue, run)

    def task(one: TaggedImage) -> Record:
        found = proposed.of(one.image, ("add", "keep"))
        known = dict(found)
        choices = [*(tag for tag in one.tags if tag not in known), *known]
        prediction = {
            "model_version": proposed.run_id,
            "score": round(float(np.mean(list(known.values()))), 6) if known else None,
            "result": [
                {
                    "from_name": "tags",
                    "to_name": "image",
                    "type": "choices",
                    "value": {"choices": choices},
                }
            ],
        }
        data = {"image": f"{prefix}{_path_of(one)}", "image_id": one.image_id, "tags": one.tags}
        return {"data": data, "predictions": [prediction] if choices else []}

    return export_records(catalogue, path, task, lines=False, overwrite=overwrite)


def export_fiftyone(
    catalogue: Catalogue,
    path: Path,
    *,
    run: str | None = None,
    prefix: str = "",
    overwrite: bool = False,
) -> int:
    """Write samples with ``Classifications``: the tags as they are, and what is proposed."""
    proposed = _Proposed(catalogue, run)

    def sample(one: TaggedImage) -> Record:
        found = proposed.of(one.image, ("add", "keep", "doubt"))
        return {
            "filepath": f"{prefix}{_path_of(one)}",
            "image_id": one.image_id,
            "owner": one.owner,
            "ground_truth": _classifications([(tag, None) for tag in one.tags]),
            "predictions": _classifications(found),
        }

    whole = ('{"samples": [\n', "\n]}\n")
    return export_records(catalogue, path, sample, lines=False, wrapped=whole, overwrite=overwrite)


def export_hugging_face(catalogue: Catalogue, path: Path, *, overwrite: bool = False) -> int:
    """Write ``metadata.jsonl`` of an image folder: file names with their tags."""

    def row(one: TaggedImage) -> Record:
        about = {"owner": one.owner, "title": one.title}
        return {"file_name": _path_of(one), "image_id": one.image_id, "tags": one.tags, **about}

    return export_records(catalogue, path, row, lines=True, overwrite=overwrite)


def export_cleanlab(
    catalogue: Catalogue,
    folder: Path,
    *,
    run: str | None = None,
    min_uses: int = 10,
    overwrite: bool = False,
) -> int:
    """Write ``labels.npy`` and ``pred_probs.npy``, images x tags, with the names of both.

    A label is 1 where the image has the tag. A probability is what the run says; 0 where it says
    nothing. Tags that fewer images have are left out. Returns how many images there are.
    """
    proposed = _Proposed(catalogue, run)
    names = [name for name, n in catalogue.tag_uses() if n >= min_uses]
    if not names:
        raise CollectionError(f"no tag is used {min_uses} times; pass a lower --min-uses")
    column = catalogue.tag_numbers(names)
    place = {number: k for k, number in enumerate(column.values())}
    ids = [row[0] for row in catalogue.all("SELECT image_id FROM images ORDER BY image")]
    row_of = {
        r[0]: k for k, r in enumerate(catalogue.all("SELECT image FROM images ORDER BY image"))
    }
    with folder_aside(folder, overwrite=overwrite) as aside:
        shape = (len(ids), len(names))
        for file, kind, sql, values in (
            ("labels", np.uint8, "SELECT image, tag, 1 FROM image_tags", ()),
            ("pred_probs", np.float32, _PROBABILITIES, (proposed.run,)),
        ):
            array = np.lib.format.open_memmap(aside / f"{file}.npy", "w+", dtype=kind, shape=shape)
            for image, tag, value in catalogue.connection.execute(sql, values):
                if tag in place:
                    array[row_of[image], place[tag]] = value
            array.flush()
        for file, texts in (("names", names), ("image_ids", ids)):
            _write_json(aside / f"{file}.json", texts)
        mark(aside, {"format": CLEANLAB_FORMAT, "run_id": proposed.run_id})
    return len(ids)


class _Proposed:
    """The proposals of a run, image by image in the order of the catalogue."""

    def __init__(self, catalogue: Catalogue, run: str | None) -> None:
        number = catalogue.run_number(run)
        if number is None:
            raise CollectionError(f"{catalogue.path} holds no proposals; load a change set first")
        self.run: int = number
        self.run_id = run or catalogue.latest_run()
        self._rows = self._by_image(catalogue)
        self._next: tuple[int, list[Any]] | None = next(self._rows, None)

    def of(self, image: int, actions: tuple[str, ...]) -> list[tuple[str, float]]:
        """Return the tags proposed for an image; images are asked for in ascending order."""
        while self._next is not None and self._next[0] < image:
            self._next = next(self._rows, None)
        if self._next is None or self._next[0] != image:
            return []
        return [(tag, p) for tag, action, p in self._next[1] if action in actions]

    def _by_image(self, catalogue: Catalogue) -> Iterator[tuple[int, list[Any]]]:
        rows = catalogue.connection.execute(
            "SELECT p.image, t.name, p.action, p.probability FROM proposals p "
            "JOIN tags t USING (tag) WHERE p.run = ? ORDER BY p.image, p.probability DESC",
            (self.run,),
        )
        for image, some in groupby(rows, key=itemgetter(0)):
            yield image, [row[1:] for row in some]


_PROBABILITIES = "SELECT image, tag, probability FROM proposals WHERE run = ?"


def _classifications(tags: list[tuple[str, float]] | list[tuple[str, None]]) -> Record:
    return {
        "_cls": "Classifications",
        "classifications": [
            {"_cls": "Classification", "label": tag}
            | ({} if confidence is None else {"confidence": confidence})
            for tag, confidence in tags
        ],
    }


def _path_of(one: TaggedImage) -> str:
    return one.path if one.path is not None else one.image_id


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")
