"""What two known laws say about epsilon and delta, exactly: the white box for mechanisms with finitely many outputs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.core.errors import BadParameter
from privet.core.exact import failure_probability, nonnegative, read_rational
from privet.core.given import listed, read_fields
from privet.core.rounding import exp_down, float_up, log_up

_TOLERANCE = Fraction(1, 10**9)
_ALLOWED = "the probabilities of all outputs: a list, or a mapping from outputs, that sum to one (to 1e-9)"

Law = Mapping[Any, Any] | Iterable[Any]
"""The probabilities of a mechanism's outputs under one input, by output or in the same order for both inputs."""


@dataclass(frozen=True)
class Curve:
    """A claim that was computed from two laws: points (epsilon, delta), each of which holds with nothing to spare."""

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        read_fields(self)


def exact_epsilon(p: Law, q: Law, delta: object = 0) -> float:
    """Return the least epsilon with which two laws are (epsilon, delta)-close, in both directions, rounded up.

    Where p_i / q_i falls with i, delta(e^x) = sum over p_i > e^x q_i of (p_i - e^x q_i); so for the right number of
    outputs k, e^x = (p_1 + ... + p_k - delta) / (q_1 + ... + q_k), which is the largest of these ratios over all k.

    Guarantee: exact for rational laws but for the last rounding, up; floats are taken as the rationals that they are.
    Cites: [BBG18, privacy profiles].
    """
    allowed = failure_probability(delta)
    pairs = _aligned(p, q)
    return max(_epsilon(pairs, allowed), _epsilon([(b, a) for a, b in pairs], allowed))


def exact_delta(p: Law, q: Law, epsilon: object) -> float:
    """Return the least delta with which two laws are (epsilon, delta)-close, in both directions, rounded up.

    Guarantee: the hockey-stick divergence, sum over outputs of max(0, p - e^epsilon q), rounded up.
    Cites: [BBG18, privacy profiles].
    """
    grown = exp_down(min(nonnegative(epsilon, "epsilon"), Fraction(2000)))
    pairs = _aligned(p, q)
    excess = (sum((max(Fraction(0), a - grown * b) for a, b in each), Fraction(0)) for each in (pairs, _turned(pairs)))
    return min(1.0, float_up(max(excess)))


def exact_curve(p: Law, q: Law, deltas: Iterable[float]) -> Curve:
    """Return the claim that two laws make at each of these deltas; those at which epsilon is infinite are left out."""
    given = [failure_probability(delta, "deltas") for delta in listed(deltas, "deltas", "a list of deltas")]
    pairs = _aligned(p, q)
    found = [(max(_epsilon(pairs, delta), _epsilon(_turned(pairs), delta)), float_up(delta)) for delta in given]
    return Curve(tuple((epsilon, delta) for epsilon, delta in found if math.isfinite(epsilon)))


def _epsilon(pairs: list[tuple[Fraction, Fraction]], delta: Fraction) -> float:
    above = below = best = Fraction(0)
    for a, b in sorted(pairs, key=lambda pair: pair[0] / pair[1] if pair[1] else math.inf, reverse=True):
        above, below = above + a, below + b
        if below:
            best = max(best, (above - delta) / below)
        elif above > delta:
            return math.inf
    return float_up(log_up(best)) if best > 1 else 0.0


def _turned(pairs: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    return [(b, a) for a, b in pairs]


def _aligned(p: Law, q: Law) -> list[tuple[Fraction, Fraction]]:
    """Return the two probabilities of each output that has any."""
    ours, theirs = _read(p, "p"), _read(q, "q")
    if isinstance(p, Mapping) != isinstance(q, Mapping) or (not isinstance(p, Mapping) and len(ours) != len(theirs)):
        raise BadParameter("q", type(q).__name__, "probabilities of the same outputs as p")
    zero = Fraction(0)
    pairs = [(ours.get(label, zero), theirs.get(label, zero)) for label in {**ours, **theirs}]
    return [(a, b) for a, b in pairs if a or b]


def _read(law: Law, parameter: str) -> dict[Hashable, Fraction]:
    items = law.items() if isinstance(law, Mapping) else enumerate(listed(law, parameter, _ALLOWED))
    read = {label: read_rational(chance) for label, chance in items}
    exact = {label: chance for label, chance in read.items() if chance is not None and chance >= 0}
    total = sum(exact.values(), Fraction(0))
    if len(exact) < len(read) or abs(total - 1) > _TOLERANCE:
        raise BadParameter(parameter, "something else", _ALLOWED)
    return {label: chance / total for label, chance in exact.items()}
