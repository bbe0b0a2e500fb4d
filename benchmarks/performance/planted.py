"""Planted collections in a work folder, written once and found again."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sugartag.collection.store import CollectionWriter
from sugartag.collection.synthetic import World
from sugartag.collection.synthetic.world import ROWS_PER_SHARD
from sugartag.engine.base import row_blocks
from sugartag.storage.aside import folder_aside


@dataclass(frozen=True)
class Planted:
    """A synthetic collection, and how it is stored."""

    world: World
    seed: int
    half: bool = False
    """Whether features are stored as float16, which halves what is read."""

    def as_json(self) -> dict[str, Any]:
        """Return all that the collection depends on."""
        return {"world": asdict(self.world), "seed": self.seed, "half": self.half}

    def folder_in(self, work: Path) -> Path:
        """Return where the collection stands in a work folder; its name says what it holds."""
        text = json.dumps(self.as_json(), sort_keys=True)
        mark = hashlib.sha256(text.encode()).hexdigest()[:12]
        return work / f"planted-{self.world.n_images}-{mark}"

    def written(self, work: Path) -> Path:
        """Return the collection's folder, written now unless it is there: then it is whole."""
        folder = self.folder_in(work)
        if not folder.exists():
            self._write(folder)
        return folder

    def _write(self, folder: Path) -> None:
        if not self.half:
            self.world.write(folder, self.seed)
            return
        plan = self.world.plan(self.seed)
        with folder_aside(folder) as partial:
            writer = CollectionWriter(partial)
            for rows in row_blocks(self.world.n_images, ROWS_PER_SHARD):
                shard = plan.shard(rows.start, rows.stop)
                if shard.features is not None:
                    shard = replace(shard, features=shard.features.astype(np.float16))
                writer.add_shard(shard)
            writer.finish(
                tag_names=plan.tag_names,
                owner_names=plan.owner_names,
                group_names=plan.group_names,
                groups=plan.people.groups,
                concept_names=plan.concept_names,
            )
