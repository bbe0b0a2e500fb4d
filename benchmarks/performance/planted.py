"""Synthetic collections in a work folder, written once and found again."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sugartag.collection.synthetic import World


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
            self.world.write(folder, self.seed, half=self.half)
        return folder
