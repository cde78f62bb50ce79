"""Reads an event into the pairs that it is made of, each with its count, and what is certain to be simpler together.

Pairs that know how to merge (Gaussians, zCDP promises) become one; failures leave their pairs and are multiplied
exactly. No class is inspected: a pair is asked whether it can.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privet.accounting.pairs import EitherOrderPair, has_order
from privet.core.event import Event, Pair, read_event
from privet.core.numbers import float_up


@dataclass(frozen=True)
class Copies:
    """A pair, and how many independent copies of it."""

    pair: Pair
    times: int


@dataclass(frozen=True)
class Gathered:
    """All pairs of an event, and the probability that any of its failures happens, rounded up."""

    pairs: tuple[Copies, ...]
    failure: float

    @property
    def alone(self) -> Pair | None:
        """The pair, if there is only one of it, so that its own curve is the answer."""
        return self.pairs[0].pair if len(self.pairs) == 1 and self.pairs[0].times == 1 else None

    @property
    def count(self) -> int:
        """How many copies there are in all."""
        return sum(copies.times for copies in self.pairs)


def gather(event: Event) -> Gathered:
    """Return the pairs of an event's atoms. The directions of all pairs go together: forward with forward.

    Pairs that do not know which of their sides has the unit are taken to be about the same two data sets, in the order
    in which they are given. Beside one that does know, such as a sampled pair, they may be either way round.

    Guarantee: the product of the pairs, with the failure, dominates the event.
    Cites: [ZDW22, dominating pairs compose].
    """
    counts: dict[Pair, int] = {}
    whole: list[Pair] = []
    log_kept = 0.0
    found = [(*_stripped(atom.pair()), times) for atom, times in read_event(event).atoms().items()]
    decided = any(getattr(pair, "ordered", False) for pair, _, _ in found)
    for bare, failure, times in found:
        pair = EitherOrderPair(bare) if decided and not has_order(bare) else bare
        log_kept += times * (math.log1p(-failure) if failure < 1 else -math.inf)
        if pair.reach() == (0.0, 0.0) and not _tells(pair):
            continue
        if hasattr(pair, "repeated"):
            _merge(pair.repeated(times), whole)
        else:
            counts[pair] = counts.get(pair, 0) + times
    pairs = (*(Copies(pair, times) for pair, times in counts.items()), *(Copies(pair, 1) for pair in whole))
    failure = -math.expm1(log_kept)
    return Gathered(pairs, min(1.0, failure * (1 + 2.0**-44)))


def remaining(delta: Fraction, failure: float) -> float:
    """Return the delta left for the pairs once the failure is paid, (delta - failure)/(1 - failure), rounded down."""
    lost = Fraction(failure)
    if delta <= lost or lost == 1:
        return 0.0
    return -float_up(-(delta - lost) / (1 - lost))


def _stripped(pair: Pair) -> tuple[Pair, float]:
    if not hasattr(pair, "without_failure"):
        return pair, 0.0
    inner, failure = pair.without_failure()
    if inner == pair:
        return pair, 0.0
    deeper, more = _stripped(inner)
    return deeper, min(1.0, (failure + (1 - failure) * more) * (1 + 2.0**-50)) if failure or more else 0.0


def _tells(pair: Pair) -> bool:
    import numpy as np

    zero = np.zeros(1)
    return bool(pair.forward(zero)[0] > 0 or pair.backward(zero)[0] > 0)


def _merge(pair: Pair, whole: list[Pair]) -> None:
    for index, other in enumerate(whole):
        both = other.merged(pair)  # type: ignore[attr-defined]  # only pairs that can merge are kept here
        if both is not None:
            whole[index] = both
            return
    whole.append(pair)
