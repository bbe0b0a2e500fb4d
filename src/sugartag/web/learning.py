"""Learning from decisions, in a thread beside the page: a model updated, and its new proposals.

The model that was given is never changed. What was learned is a model of its own, in a folder
beside the catalogue, so that a server that is started again goes on from there.
"""

import json
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from sugartag.changes.catalogue import Catalogue
from sugartag.changes.proposing import Say, load_proposals
from sugartag.changes.store import now
from sugartag.collection.model import Collection
from sugartag.engine.base import Engine
from sugartag.errors import ConflictError, StorageError, SugartagError
from sugartag.pipeline.changes import Change
from sugartag.pipeline.fitting import update_model
from sugartag.pipeline.model import Model, check_target, load_model, save_model
from sugartag.pipeline.propose import Thresholds, propose
from sugartag.web.explaining import Explainer
from sugartag.web.queries import TagDifference, differences, last_decision, standing_decisions

logger = logging.getLogger(__name__)
MOST_DIFFERENCES = 40
SECONDS_TO_STOP = 20.0
FACT = "learned"
"""What the catalogue calls the record of the latest learning."""
SUFFIX = ".learned"


class _StoppedError(Exception):
    """The server ends."""


@dataclass(frozen=True, slots=True)
class Learned:
    """How far the learning has come, or what came of it."""

    state: Literal["idle", "running", "done", "failed"] = "idle"
    message: str = ""
    n_decisions: int = 0
    seconds: float = 0.0
    before: str | None = None
    after: str | None = None
    """Ids of the runs of proposals."""
    differences: tuple[TagDifference, ...] = ()
    base: str = ""
    """The run of the model that was given: the decisions were added to it."""
    at: str = ""
    last_decision: int = 0
    """Decisions with a higher number came later."""


def learned_path(catalogue: Path) -> Path:
    """Return the folder of the model that learned from a catalogue's decisions."""
    return catalogue.with_name(catalogue.name + SUFFIX)


def what_was_learned(
    catalogue: Catalogue, base: Model, *, say: Say = lambda _: None
) -> tuple[Learned, Model | None]:
    """Return what an earlier server learned with this very model, and the model that came of it."""
    kept = catalogue.fact(FACT)
    if kept is None:
        return Learned(), None
    read: dict[str, Any] = json.loads(kept)
    learned = Learned(**{**read, "differences": tuple(map(_difference, read["differences"]))})
    folder = learned_path(catalogue.path)
    if learned.base != base.run_id:
        say(f"{folder} learned with another model ({learned.base}); it is not used")
        return Learned(), None
    try:
        model = load_model(folder)
    except StorageError as error:
        say(f"what was learned is not used: {error}")
        return Learned(), None
    if model.run_id != learned.after:
        say(f"{folder} is not what was learned last; learn again")
        return Learned(), None
    say(f"{learned.message}, at {learned.at[:16].replace('T', ' ')} UTC: {folder}")
    return learned, model


def _difference(read: dict[str, Any]) -> TagDifference:
    return TagDifference(**read)


class Learner:
    """Runs one update at a time, always from the model that was given and all decisions."""

    def __init__(
        self,
        catalogue: Catalogue,
        model: Model,
        collection: Collection,
        *,
        engine: Engine,
        thresholds: Thresholds | None = None,
        earlier: tuple[Learned, Model | None] = (Learned(), None),
    ) -> None:
        self._catalogue, self._model, self._collection = catalogue, model, collection
        self._engine, self._thresholds = engine, thresholds or Thresholds()
        self.learned, latest = earlier
        self._given = Explainer(model, collection)
        self._latest = self._given if latest is None else Explainer(latest, collection)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def folder(self) -> Path:
        """Where the model is that learned."""
        return learned_path(self._catalogue.path)

    def explainer(self, run_id: str) -> Explainer:
        """Return what explains a run's proposals: its own model, or else the latest."""
        return self._given if run_id == self._model.run_id else self._latest

    def start(self) -> Learned:
        """Begin to learn; :attr:`learned` says how far it is."""
        with self._lock:
            if self.learned.state == "running":
                raise ConflictError("it is learning already; wait until that is done")
            self.learned = Learned("running", "reading the decisions")
            self._thread = threading.Thread(target=self._run, name="learning", daemon=True)
            self._thread.start()
        return self.learned

    def wait(self, timeout: float | None = None) -> Learned:
        """Return what came of it when it is done."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self.learned

    def stop(self) -> None:
        """End what runs, at the next block of images."""
        self._stop.set()
        self.wait(SECONDS_TO_STOP)

    def _run(self) -> None:
        began = time.monotonic()
        try:
            done = self._update(began)
        except _StoppedError:
            return
        except SugartagError as error:
            done = Learned("failed", str(error))
        except Exception:
            logger.exception("learning failed")
            done = Learned("failed", "something went wrong; the server's log has the details")
        self.learned = done

    def _update(self, began: float) -> Learned:
        check_target(self.folder, overwrite=True)
        last = last_decision(self._catalogue)
        known = [*self._model.catalogue.tag_names, *self._collection.tag_names]
        decisions = standing_decisions(self._catalogue, known)
        if not decisions:
            return Learned("failed", "nothing has been decided yet; accept or reject some tags")
        before = self._catalogue.latest_run()
        n = f"{len(decisions):,} decision{'' if len(decisions) == 1 else 's'}"
        self._say(f"learning from {n}", len(decisions))
        model = update_model(self._model, self._collection, decisions, engine=self._engine)
        self._say("proposing tags anew", len(decisions))
        changes = self._stoppable(self._proposed(model))
        load_proposals(self._catalogue, changes, model, learned_from_decisions=len(decisions))
        done = Learned(
            "done",
            f"learned from {n}",
            len(decisions),
            time.monotonic() - began,
            before=before,
            after=model.run_id,
            differences=self._differences(before, model.run_id),
            base=self._model.run_id,
            at=now(),
            last_decision=last,
        )
        # The record last: where it is, the model is whole.
        save_model(model, self.folder, overwrite=True)
        self._catalogue.set_fact(FACT, json.dumps(asdict(done)))
        self._latest = Explainer(model, self._collection)
        return done

    def _proposed(self, model: Model) -> Iterator[list[Change]]:
        return propose(model, self._collection, engine=self._engine, thresholds=self._thresholds)

    def _differences(self, before: str | None, after: str) -> tuple[TagDifference, ...]:
        if before is None or before == after:
            return ()
        numbers = [self._catalogue.run_number(one) or 0 for one in (before, after)]
        return tuple(differences(self._catalogue, *numbers, limit=MOST_DIFFERENCES))

    def _say(self, message: str, n_decisions: int) -> None:
        if self._stop.is_set():
            raise _StoppedError
        self.learned = replace(self.learned, message=message, n_decisions=n_decisions)

    def _stoppable(self, changes: Iterator[list[Change]]) -> Iterator[list[Change]]:
        for some in changes:
            if self._stop.is_set():
                raise _StoppedError
            yield some
