"""Learning from decisions, in a thread beside the page: a model updated, and its new proposals."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, Literal, cast

from sugartag.changes.catalogue import Catalogue
from sugartag.collection.decisions import Decision
from sugartag.collection.model import Collection
from sugartag.engine.base import Engine
from sugartag.errors import ConflictError, SugartagError
from sugartag.pipeline.changes import Change
from sugartag.pipeline.fitting import update_model
from sugartag.pipeline.model import Model
from sugartag.pipeline.propose import Thresholds, propose
from sugartag.web.explaining import Explainer
from sugartag.web.queries import TagDifference, differences, standing_decisions

logger = logging.getLogger(__name__)
MOST_DIFFERENCES = 40
SECONDS_TO_STOP = 20.0


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
    ) -> None:
        self._catalogue, self._model, self._collection = catalogue, model, collection
        self._engine, self._thresholds = engine, thresholds or Thresholds()
        self.explainer = Explainer(model, collection)
        """Explains by the latest model."""
        self.learned = Learned()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

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
            done = self._update()
        except _StoppedError:
            return
        except SugartagError as error:
            done = Learned("failed", str(error))
        except Exception:
            logger.exception("learning failed")
            done = Learned("failed", "something went wrong; the server's log has the details")
        self.learned = replace(done, seconds=time.monotonic() - began)

    def _update(self) -> Learned:
        known = [*self._model.catalogue.tag_names, *self._collection.tag_names]
        decisions = standing_decisions(self._catalogue, known)
        if not decisions:
            return Learned("failed", "nothing has been decided yet; accept or reject some tags")
        before = self._catalogue.latest_run()
        self._say(f"learning from {len(decisions):,} decisions", len(decisions))
        model = update_model(self._model, self._collection, decisions, engine=self._engine)
        self._say("proposing tags anew", len(decisions))
        load_proposals(
            self._catalogue, self._stoppable(self._proposed(model)), model, learned=decisions
        )
        self.explainer = Explainer(model, self._collection)
        return Learned(
            "done",
            f"learned from {len(decisions):,} decisions",
            len(decisions),
            before=before,
            after=model.run_id,
            differences=self._differences(before, model.run_id),
        )

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


def load_proposals(
    catalogue: Catalogue,
    changes: Iterator[list[Change]],
    model: Model,
    *,
    learned: list[Decision] | None = None,
    say: Callable[[str], None] | None = None,
) -> None:
    """Take the proposals of a model into the catalogue, as its latest run."""
    settings = asdict(cast("Any", model.method))
    if learned is not None:
        settings["learned_from_decisions"] = len(learned)
    (loaded,) = catalogue.load_changes(
        chain.from_iterable(changes), method=model.method.name, settings=settings
    )
    if say is not None:
        counts = loaded.counts
        say(f"{counts['add']:,} tags to add, {counts['doubt']:,} to check, {counts['keep']:,} kept")
