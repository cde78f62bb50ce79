"""Audits of noise on numbers: fixed scales, scales that depend on data, single people, estimates that follow data."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audit.blackbox import DELTAS, PAIRS
from privet.audit.entry import AuditEntry, known, simulated
from privet.audit.exact import (
    Curve,
    clamped_cauchy,
    exact_curve,
    gaussian_curve,
    integers,
    least_whole_sigma,
    tail,
    whole_gaussian,
)
from privet.mechanisms import (
    Average,
    FiniteMechanism,
    Gaussian,
    Laplace,
    Local,
    Mechanism,
    ProposeTestRelease,
    RandomizedResponse,
    SmoothQuantile,
    SmoothSensitivity,
    Tulap,
)
from privet.strategy import MultiplicativeWeights, PartitionTree, prefixes

# Audits of noise on numbers, of reports of single people, and of any finite mechanism. Claims are the stated ones.


def _laplace(**facts: Any) -> Callable[[Fraction], Mechanism]:
    return lambda leak: Laplace(sensitivity=1, epsilon=leak, **facts)


_TINY = Fraction(1, 10**6)
_ROUNDED = 1.001
"""Allowance for noise that is rounded up to the next grid or number."""


def _gaussian(leak: Fraction) -> Gaussian:
    return Gaussian(sensitivity=1, epsilon=4 * leak, delta=_TINY)


def _whole_gaussian(leak: Fraction) -> Gaussian:
    return Gaussian(sensitivity=2, epsilon=4 * leak, delta=_TINY, grid="whole")


def _curve() -> Curve:
    """Return what the least Gaussian noise for epsilon 4 and that delta discloses."""
    return _raised(gaussian_curve(4.0, float(_TINY), DELTAS))


def _whole_curve() -> Curve:
    """Return the same for noise on the whole numbers and moves of 2."""
    sigma = least_whole_sigma(4.0, float(_TINY), 2)
    return _raised(exact_curve(whole_gaussian(sigma, 0).tolist(), whole_gaussian(sigma, 2).tolist(), DELTAS))


def _raised(curve: Curve) -> Curve:
    return Curve(tuple((epsilon * _ROUNDED, delta) for epsilon, delta in curve.points))


def _leaking_matrix(leak: Fraction) -> FiniteMechanism:
    # a truthful answer is 4**leak times likelier under its own input
    truth = Fraction(str(round(4 ** float(leak), 6)))
    row = [truth / (truth + 2), 1 / (truth + 2), 1 / (truth + 2)]
    return FiniteMechanism([row, row[1:] + row[:1]])


NUMBERS: tuple[AuditEntry, ...] = (
    AuditEntry(
        name="Laplace, whole numbers",
        mechanism=Laplace,
        make=simulated(_laplace()),
        build=_laplace(),
        neighbours=(10, 11),
        claimed=1,
    ),
    AuditEntry(
        name="Laplace, reals",
        mechanism=Laplace,
        make=simulated(_laplace(grid="fine")),
        build=_laplace(grid="fine"),
        neighbours=(10.25, 11.25),
        claimed=1,
        pairs=PAIRS,
    ),
    AuditEntry(
        name="Laplace, vectors",
        mechanism=Laplace,
        make=simulated(_laplace()),
        build=_laplace(),
        neighbours=([0.0, 0.0], [0.5, -0.5]),
        claimed=1,
        pairs=tuple(([a, 0.3], [b, 0.3]) for a, b in PAIRS),
    ),
    AuditEntry(
        name="Gaussian, reals",
        mechanism=Gaussian,
        make=simulated(_gaussian),
        neighbours=(0.0, 1.0),
        claimed=_curve(),
        stated=4,
        event=_gaussian(Fraction(1)).event,
        build=_gaussian,
        pairs=PAIRS,
    ),
    AuditEntry(
        name="Gaussian, vectors",
        mechanism=Gaussian,
        make=simulated(_gaussian),
        neighbours=([0.0, 0.0], [0.6, -0.8]),
        claimed=_curve(),
        stated=4,
        event=_gaussian(Fraction(1)).event,
        build=_gaussian,
        pairs=tuple(([a, 0.3], [b, 0.3]) for a, b in PAIRS),
    ),
    AuditEntry(
        name="Gaussian, whole numbers",
        mechanism=Gaussian,
        make=simulated(_whole_gaussian),
        neighbours=(5, 7),
        claimed=_whole_curve(),
        stated=4,
        event=_whole_gaussian(Fraction(1)).event,
        build=_whole_gaussian,
    ),
    AuditEntry(
        name="Randomized response",
        mechanism=RandomizedResponse,
        make=simulated(lambda leak: RandomizedResponse(epsilon=leak)),
        build=lambda leak: RandomizedResponse(epsilon=leak),
        neighbours=(0, 1),
        claimed=1,
    ),
    AuditEntry(
        name="Randomized response of 5",
        mechanism=RandomizedResponse,
        make=simulated(lambda leak: RandomizedResponse(epsilon=leak, categories=5)),
        build=lambda leak: RandomizedResponse(epsilon=leak, categories=5),
        neighbours=(0, 3),
        claimed=1,
    ),
    AuditEntry(
        name="Finite mechanism",
        mechanism=FiniteMechanism,
        make=simulated(_leaking_matrix),
        neighbours=(0, 1),
        claimed=math.log(4) * (1 + 1e-9),
        build=_leaking_matrix,
    ),
)


# Audits of noise whose scale depends on the data, and of averages, against the exact laws of what they release.


FEW = Fraction(1, 20)
_SHOWN = 6
_RANGE = 100


def _cauchy_scale(epsilon: float, at_distance: list[int]) -> float:
    """Return the scale of the noise: a smooth bound over alpha, where alpha and beta are each a half of epsilon.

    The bound is the most of exp(-b k) A(k), with b a 64th less than beta, rounded up to as many binary digits as that
    64th pays for: one more than the digits of 256 / beta tell. Beyond the list A is the whole range.

    Cites: [NRS07, Def. 2.2 and Sec. 2].
    """
    alpha = beta = epsilon / 2
    entries = [*at_distance, _RANGE]
    bound = max(entry * math.exp(-beta * 63 / 64 * k) for k, entry in enumerate(entries))
    part, power = math.frexp(bound)
    digits = math.ceil(256 / beta).bit_length()
    return math.ldexp(math.ceil(math.ldexp(part, digits)), power - digits) / alpha


def _smooth(epsilon: float, local: Local) -> list[float]:
    """Return the law of an answer with Cauchy noise in proportion to its smooth bound."""
    return clamped_cauchy(int(local.value), _cauchy_scale(epsilon, list(local.at_distance)), _RANGE)


def _smooth_quantile(epsilon: float, values: Any) -> list[float]:
    """Return the law of a median of three: k changes let it move as far as k + 1 neighbouring rows lie apart."""
    rows = [0, 0, *sorted(values), _RANGE, _RANGE]
    at_distance = [max(rows[3 + t] - rows[2 + t - k] for t in range(k + 2)) for k in range(3)]
    return clamped_cauchy(rows[3], _cauchy_scale(epsilon, at_distance), _RANGE)


def _average(epsilon: float, values: Any) -> dict[Any, float]:
    """Return the law of where an average of zeros and ones lies: at an end, on a side of the middle, or in it."""
    chances: dict[Any, float] = {}
    noise = integers(1 / epsilon)  # a number moves both sums by 1 together
    for drawn, chance in noise.items():
        for other, part in noise.items():
            above, below = sum(values) + drawn, len(values) - sum(values) + other
            share = min(max(above / (above + below), 0.0), 1.0) if above + below > 0 else 0.5
            label = float(_side(share))
            chances[label] = chances.get(label, 0.0) + chance * part
    return chances


def _side(shares: Any) -> Any:
    return np.sign(np.asarray(shares) - 0.5) + np.where(np.asarray(shares) == 1, 1, 0) - (np.asarray(shares) == 0)


def _tested(epsilon: float, local: Local) -> dict[Any, float]:
    """Return the law of a refusal, or of an answer, by the distance to data where the bound of 1 does not hold.

    A half of epsilon tests the distance, against the least threshold that noise exceeds with a chance of delta at most.
    """
    distance = sum(entry <= 1 for entry in local.at_distance)
    threshold = next(k for k in range(1000) if float(tail(k + 1, 2 / epsilon)) <= FEW)
    passes = float(tail(threshold - distance + 1, 2 / epsilon))
    chances: dict[Any, float] = {None: 1 - passes}
    for drawn, part in integers(2 / epsilon).items():
        number = int(min(max(local.value + drawn, -_SHOWN), _SHOWN))
        chances[number] = chances.get(number, 0.0) + passes * part
    return chances


def tulap_law(epsilon: float, count: int) -> dict[Any, float]:
    """Return the law of which half of a unit a count with truncated Tulap noise lies in.

    Cites: [AS18, Def. 4.1].
    """
    b = math.exp(-epsilon)
    q = 2 * float(FEW) * b / (1 - b + 2 * float(FEW) * b)

    def below(x: float) -> float:
        nearest = round(abs(x))
        plain = b**nearest / (1 + b) * (b + (nearest - abs(x) + 0.5) * (1 - b))
        kept = min(max((plain - q / 2) / (1 - q), 0.0), 1.0)
        return kept if x <= 0 else 1 - kept

    halves = range(2 * count - 80, 2 * count + 80)
    return {float(half): below(half / 2 + 0.5 - count) - below(half / 2 - count) for half in halves}


def _halves(released: Any) -> Any:
    return np.array([2 * z.numerator // z.denominator for z in released], dtype=np.float64)


def _answer(released: Any) -> Any:
    numbers = np.array([np.nan if answer is None else float(answer) for answer in released])
    return np.where(np.isnan(numbers), -99.0, np.clip(numbers, -_SHOWN, _SHOWN))


ADAPTIVE: tuple[AuditEntry, ...] = (
    known(
        "Smooth sensitivity",
        lambda leak: SmoothSensitivity(low=0, high=_RANGE, step=1, epsilon=4 * leak),
        _smooth,
        (Local(49, [1] + [20] * 39), Local(50, [20] * 40)),
        stated=4,
    ),
    known(
        "Smooth sensitivity, sliding",
        lambda leak: SmoothSensitivity(low=0, high=_RANGE, step=1, epsilon=4 * leak),
        _smooth,
        (Local(40, [20] * 40), Local(60, [20] * 40)),
        stated=4,
    ),
    known(
        "Smooth quantile",
        lambda leak: SmoothQuantile(q=0.5, low=0, high=_RANGE, step=1, epsilon=4 * leak),
        _smooth_quantile,
        ([49, 50, 50], [50, 50, 100]),
        stated=4,
    ),
    known(
        "Average",
        lambda leak: Average(low=0, high=1, step=1, epsilon=2 * leak),
        _average,
        ([1, 1], [0, 1, 1]),
        stated=2,
        look=_side,
    ),
    AuditEntry(
        name="Tulap",
        mechanism=Tulap,
        make=simulated(lambda leak: Tulap(epsilon=leak), _halves),
        build=lambda leak: Tulap(epsilon=leak),
        look=_halves,
        neighbours=(10, 11),
        claimed=1,
        samples=300_000,
    ),
    known(
        "Tulap, truncated",
        lambda leak: Tulap(epsilon=leak, delta=FEW),
        tulap_law,
        (10, 11),
        stated=1,
        look=_halves,
        samples=300_000,
    ),
    known(
        "Propose, test, release",
        lambda leak: ProposeTestRelease(bound=1, epsilon=2 * leak, delta=FEW),
        _tested,
        (Local(0, [1, 1, 1, 2]), Local(1, [1, 1, 2, 2])),
        stated=2,
        look=_answer,
    ),
)


_MOST_COUNTED = 12
"""Counts beyond this are looked at together."""


def _partition(epsilon: float, counts: Any) -> dict[Any, float]:
    """Return the law of a partition of four cells and of the noisy count of the part that has the first.

    Two fifths of epsilon are for the partition. A part of depth d is halved if max(-f, count - d f) + noise > 0, with
    noise of the least scale, in 64ths of 1 / epsilon, at which both halvings that one row takes part in cost no more
    than that, and f the next integer above ln 4 scales.

    Cites: [ZXX16, PrivTree].
    """
    share = 0.4 * epsilon
    scale = next(k / 64 / share for k in range(64, 1000) if 2 / (k / 64 / share) * (1 + 2.0**-30) <= share)
    fall = max(1, math.ceil(scale * math.log(4)))
    second = epsilon - 2 / scale * (1 + 2.0**-30)

    def halved(count: int, depth: int) -> float:
        value, a = max(-fall, count - depth * fall), math.exp(-1 / scale)
        return a ** (1 - value) / (1 + a) if value <= 0 else 1 - a**value / (1 + a)

    whole, left, right = sum(counts), sum(counts[:2]), sum(counts[2:])
    ways: dict[Any, tuple[float, int]] = {(0, 0): (1 - halved(whole, 0), whole)}
    for first in (False, True):
        for other in (False, True):
            chance = halved(whole, 0) * abs((not first) - halved(left, 1)) * abs((not other) - halved(right, 1))
            ways[1 + first, 1 + other] = chance, counts[0] if first else left
    chances: dict[Any, float] = {}
    for (first_depth, other_depth), (chance, count) in ways.items():
        for drawn, part in integers(1 / second).items():
            seen = (first_depth, other_depth, min(max(count + drawn, -_MOST_COUNTED), _MOST_COUNTED))
            chances[_label(*seen)] = chances.get(_label(*seen), 0.0) + chance * part
    return chances


def _label(first: Any, other: Any, count: Any) -> Any:
    return 1000 * first + 100 * other + count + _MOST_COUNTED


def _parts(releases: Any) -> Any:
    depths, cells = releases[:, 0], releases[:, 1]
    count = np.rint(cells[:, 0] * 4 / 2 ** depths[:, 0])
    return _label(depths[:, 0], depths[:, 2], np.clip(count, -_MOST_COUNTED, _MOST_COUNTED))


def _weights(epsilon: float, counts: Any) -> dict[Any, float]:
    """Return the law of one round: a query by its distance from an even model, and its answer with noise.

    A half of epsilon is for the choice, by e^(epsilon / 2 score / 2), and a half for the answer.

    Cites: [HLM12, MWEM].
    """
    answers = np.cumsum(counts)
    scores = np.abs(answers - sum(counts) / len(counts) * np.arange(1, len(counts) + 1))
    odds = np.exp(epsilon / 4 * scores)
    chances: dict[Any, float] = {}
    for query, chance in enumerate(odds / odds.sum()):
        for drawn, part in integers(2 / epsilon).items():
            seen = 100 * query + min(max(int(answers[query]) + drawn, -_MOST_COUNTED), _MOST_COUNTED)
            chances[seen] = chances.get(seen, 0.0) + float(chance) * part
    return chances


def _round(releases: Any) -> Any:
    rows = releases.astype(np.int64)
    return 100 * rows[:, 1] + np.clip(rows[:, 2], -_MOST_COUNTED, _MOST_COUNTED)


ESTIMATES: tuple[AuditEntry, ...] = (
    known(
        "Partition tree",
        lambda leak: PartitionTree((4,), epsilon=3 * leak, neighbors="add-remove", nonnegative=False),
        _partition,
        ([1, 0, 0, 0], [0, 0, 0, 0]),
        stated=3,
        look=_parts,
    ),
    known(
        "Multiplicative weights",
        lambda leak: MultiplicativeWeights(
            prefixes(3), epsilon=2 * leak, neighbors="change-one", rounds=1, total=3, replays=1
        ),
        _weights,
        ([2, 0, 1], [1, 1, 1]),
        stated=2,
        look=_round,
        samples=200_000,
    ),
)
