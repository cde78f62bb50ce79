"""Looks for the event that tells two neighbours apart best: on some of the releases, for use on the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .bounds import epsilon_low, rate_high, rate_low
from .releases import Place
from .scores import Score, learn_scores

if TYPE_CHECKING:
    from privet.core.pair import Floats

_THRESHOLDS = 1024
_CAUTION = 0.1
_BETTER = 1.005
"""How many times more telling an event must look than a plainer one to be chosen instead."""


@dataclass(frozen=True)
class Witness:
    """An event: the outputs whose score is at least a threshold, likelier under one neighbour than the other."""

    learnt: Score
    threshold: float
    flipped: bool
    """Whether it is likelier under the second neighbour; then the score counts with the other sign."""
    epsilon: float
    delta: float
    """The point of the claim at which it was found to be the most telling."""

    def score(self, rows: Floats) -> Floats:
        """Return the score of each release: high where it speaks for the neighbour that the event is likelier under."""
        found = self.learnt(rows)
        return -found if self.flipped else found

    @property
    def words(self) -> str:
        """Return which releases are in the event."""
        return self.learnt.words(-self.threshold if self.flipped else self.threshold, high=not self.flipped)


def find_witness(
    one: Floats,
    other: Floats,
    claims: Sequence[tuple[float, float]],
    *,
    places: Sequence[Place],
    names: Mapping[float, str],
    trials: int,
    alarm: float,
) -> Witness:
    """Return the event, and the claimed (epsilon, delta), that these releases refute best or come closest to.

    `claims` are points that a claim makes, each of which must hold. What is returned is a guess, to be put to the
    test on so many `trials` with other releases of each.
    """
    best, found = 0.0, None
    # scores are learnt on one half and compared on the other, or those that learnt luck by heart would win
    half = len(one) // 2
    for score in learn_scores(one[:half], other[:half], places, names):
        seen = np.sort(score(one[half:])), np.sort(score(other[half:]))
        both = np.sort(np.concatenate(seen))
        spread = np.unique(both[np.linspace(0, both.size - 1, _THRESHOLDS).astype(np.int64)])
        for flipped in (False, True):
            ours, theirs = (-seen[1][::-1], -seen[0][::-1]) if flipped else seen
            thresholds = -spread[::-1] if flipped else spread
            # what the trials may be expected to show, with rates on the cautious side of those seen
            p = rate_low(_at_least(ours, thresholds), len(ours), _CAUTION)
            q = rate_high(_at_least(theirs, thresholds), len(theirs), _CAUTION)
            p_low, q_high = rate_low(p * trials, trials, alarm / 2), rate_high(q * trials, trials, alarm / 2)
            for epsilon, delta in claims:
                merit = epsilon_low(p_low, q_high, delta) / max(epsilon, 1e-9)
                index = int(np.argmax(merit))
                if found is None or merit[index] > best * _BETTER:
                    best = float(merit[index])
                    found = Witness(score, float(thresholds[index]), flipped, epsilon, delta)
    if found is None:
        raise ValueError("there are no releases")
    return found


def _at_least(scores: Floats, thresholds: Floats) -> Floats:
    return np.asarray(scores.size - np.searchsorted(scores, thresholds, side="left"))
