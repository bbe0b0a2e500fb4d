"""What is asked of a folder of photographs."""

from dataclasses import dataclass
from pathlib import Path

from sugartag.collection.vocabulary import TagRules


@dataclass(frozen=True)
class Photos:
    """What is asked of a folder of photographs."""

    folder: Path
    out: Path
    owner_from: str = "creator"
    encoder: str = "efficientnet-lite0"
    min_uses: int = 1
    lowercase: bool = False
    seed: int = 0

    @property
    def command(self) -> list[str]:
        """The command that asks for this, but for the encoder."""
        words = ["sugartag", "photos", str(self.folder), "--out", str(self.out)]
        words += ["--owner-from", self.owner_from] * (self.owner_from != Photos.owner_from)
        words += ["--min-uses", str(self.min_uses)] * (self.min_uses != Photos.min_uses)
        words += ["--lowercase"] * self.lowercase
        return words + ["--seed", str(self.seed)] * (self.seed != Photos.seed)

    @property
    def rules(self) -> TagRules:
        """What is done with the tags."""
        return TagRules(lowercase=self.lowercase, min_uses=self.min_uses).with_stop_words()
