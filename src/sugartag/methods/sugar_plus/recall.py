"""People's recall where images are looked at: told on the scale of log odds.

What sight adds to the evidence is a chance: a tag that is sure already is not made surer. That
orders tags best, but where sight is sure the evidence ends while the share of tags that belong goes
on rising, so that the curve which the recall is told from (see :mod:`rise`) does not fit. The log
odds of sight do not end. So the recall is told from these and the other evidence, added up in the
proportion that explains best which tags are given.
"""

import numpy as np
from scipy.special import logit

from sugartag._typing import FloatArray
from sugartag.methods.sugar_plus.rise import told_rise
from sugartag.methods.sugar_plus.sight import Sight
from sugartag.methods.sugar_plus.weighing import Heard, chosen_strength

LEAST_CHANCE, LEAST_SPREAD = 1e-4, 1e-3
PROPORTIONS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""How much log odds count, if for 1 they are spread as widely as the other evidence."""


def recall_by_odds(
    heard: Heard, seen: FloatArray, sight: Sight, *, threads: int = 1
) -> float | None:
    """Return the recall; None where it cannot be told.

    ``heard`` is all other evidence, ``seen`` what sight says at full strength.
    """
    tags = sight.tags
    given, honest, slips = heard.given[:, tags], heard.honest[:, tags], heard.slips.of(tags)
    said = heard.by_all[:, tags]
    odds = logit(np.clip(seen[:, tags] + sight.share, LEAST_CHANCE, 1.0 - LEAST_CHANCE))
    spread = float(odds[given].std()) if given.any() else 0.0
    if spread < LEAST_SPREAD:
        return None
    odds *= np.float32(said[given].std() / spread)
    known = said, given, honest, slips
    odds *= np.float32(chosen_strength(PROPORTIONS, odds, *known, threads=threads))
    rise = told_rise(said + odds, given, honest, slips.rate, threads=threads)
    return None if rise is None else rise.recall
