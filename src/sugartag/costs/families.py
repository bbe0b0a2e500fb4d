"""Which formulas belong to which method, and what every fit has in common."""

from dataclasses import dataclass, replace

from sugartag.costs import sugar_plus, sugar_plus_judging, sugar_tc, voting
from sugartag.costs.calibration import Calibration, Iterations
from sugartag.costs.size import Size
from sugartag.costs.work import Stage, Work
from sugartag.evaluation.calibrate import MAX_IMAGES as CALIBRATED_ON
from sugartag.fitting import MAX_IMAGES as THRESHOLDS_FROM
from sugartag.methods.base import Method
from sugartag.methods.linear_probe import LinearProbe
from sugartag.methods.original import Original
from sugartag.methods.sugar_plus import SugarPlus
from sugartag.methods.sugar_tc import SugarTC
from sugartag.methods.tag_prior import TagPrior
from sugartag.methods.tag_vote import TagVote

USUAL_ITERATIONS = Iterations(images=1.0, steps=100.0)
COUNTED = (SugarPlus, SugarTC, TagVote, LinearProbe, Original, TagPrior)
"""Methods whose operations are counted; of the others only a power law is known."""


def is_counted(method: Method) -> bool:
    """Tell whether there are formulas for a method."""
    return isinstance(method, COUNTED)


@dataclass(frozen=True)
class Job:
    """A method, a collection, and in what blocks it is read."""

    method: Method
    size: Size
    rows: int
    """Images of a block."""
    calibration: Calibration
    apart: bool = False
    """Whether workers are processes of their own: they do not see what the others have kept."""

    def fit_stages(self) -> tuple[Stage, ...]:
        """Return the stages of ``sugartag fit``, in their order."""
        size = self.size
        learning = self._learning()
        if not getattr(self.method, "scores_are_chances", False):
            # Fitted twice: first on disturbed tags, to learn what scores mean.
            scoring = self._scoring("calibrating", every_so_many(size.images, CALIBRATED_ON))
            disturbing = Work(copied=size.given * 8.0 * 200.0)
            learning = [
                replace(scoring, serial=scoring.serial + disturbing),
                *(stage.twice() for stage in learning),
            ]
        read = size.images * (4.0 * size.features + 30.0) + 8.0 * size.given
        model = self.disk()
        return (
            Stage("opening", serial=Work(read=size.disk, hashed=size.disk)),
            *learning,
            self._scoring("thresholds", every_so_many(size.images, THRESHOLDS_FROM)),
            Stage("naming", serial=Work(hashed=read, copied=read, read=size.disk), n_passes=1),
            Stage("saving", serial=Work(hashed=model, copied=2.0 * model)),
        )

    def suggest_stage(self) -> Stage:
        """Return what ``sugartag suggest`` does with the same images."""
        return self._scoring("suggesting", self.size.images, verdicts=True)

    def disk(self) -> float:
        """Return the bytes of the model folder, before calibration."""
        method, size = self.method, self.size
        if isinstance(method, SugarPlus):
            return sugar_plus.disk(method, size)
        if isinstance(method, SugarTC):
            return sugar_tc.disk(method, size)
        if isinstance(method, TagVote):
            return voting.vote_disk(size)
        if isinstance(method, LinearProbe):
            return voting.probe_disk(method, size)
        return voting.names_disk(size)

    def _learning(self) -> list[Stage]:
        method, size, rows = self.method, self.size, self.rows
        if isinstance(method, SugarPlus):
            return sugar_plus.fit_stages(method, size, rows, apart=self.apart)
        if isinstance(method, SugarTC):
            steps = self.calibration.iterations.get(method.name, USUAL_ITERATIONS)
            return sugar_tc.fit_stages(method, size, rows, steps.at(size.images))
        if isinstance(method, TagVote):
            return voting.vote_fit(method, size, rows)
        if isinstance(method, LinearProbe):
            return voting.probe_fit(method, size, rows)
        return voting.count_fit(size)

    def _scoring(self, name: str, n_scored: float, *, verdicts: bool = False) -> Stage:
        method, size = self.method, self.size
        if isinstance(method, SugarPlus):
            return sugar_plus_judging.score_stage(
                name, method, size, n_scored, whole=verdicts, apart=self.apart
            )
        if isinstance(method, SugarTC):
            return sugar_tc.score_stage(name, method, size, n_scored, verdicts=verdicts)
        if isinstance(method, TagVote):
            return voting.vote_scores(name, method, size, n_scored, verdicts)
        if isinstance(method, LinearProbe):
            return voting.probe_scores(name, method, size, n_scored, verdicts)
        return voting.count_scores(name, size, n_scored, verdicts)


def every_so_many(images: int, most: int) -> float:
    """Return how many images are scored where one block of some is taken, ``most`` at most."""
    return images / max(1, -(-images // most))
