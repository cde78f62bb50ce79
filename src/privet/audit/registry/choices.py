"""Audits of choices: among options, of keys that public facts do not name, of queries above a threshold, over tables.

Choices and thresholds over tables are plans of a session, drawn by the very functions that release them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, permutations, product
from typing import Any

import numpy as np

from privet.audit.blackbox import DELTAS
from privet.audit.entry import AuditEntry, known
from privet.audit.exact import Curve, SparseLaw, exact_curve, integers, least_sigma, quantile_law
from privet.audit.releases import Draw
from privet.core.budget import Pure
from privet.core.event import Receipt
from privet.core.scan import SealedSums
from privet.core.schema import Table, integer
from privet.core.unit import Rows
from privet.mechanisms import (
    AboveThreshold,
    Exponential,
    GaussianThreshold,
    LaplaceThreshold,
    NoisyMax,
    NumericSparse,
    OptimalKeys,
    PermuteAndFlip,
    Quantile,
    Quantiles,
    RecursiveQuantiles,
    SampleAggregate,
    Sparse,
    TopK,
    TopKWithGaps,
)
from privet.mechanisms.rank_ladder import QuantileLadder
from privet.planner.comparison_plans import scalar_question
from privet.query.sql.parse import parse
from privet.release import choose_one, compare, draw_bar, draw_noise

# Audits of choices among options, each against the exact law of the pair of scores that it is put to the test with.


_APART = ([0] * 4, [-1, 1, 1, 1])
"""Scores that move in opposite directions, as far as they may: the first against all others."""

_TWO_APART = ([0] * 4, [-1, -1, 1, 1])
_MANY_APART = ([0] * 8, [-1] + [1] * 7)
_EDGES = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0])
"""Gaps are looked at between these, and above the last."""


def _gumbel(epsilon: float, scores: Any) -> list[float]:
    """Return the law of the exponential mechanism: proportional to exp(epsilon score / 2).

    Cites: [MT07, Thm 6].
    """
    weights = np.exp(epsilon / 2 * np.asarray(scores, dtype=np.float64))
    return [float(part) for part in weights / weights.sum()]


def _flips(epsilon: float, scores: Any) -> list[float]:
    """Return the law of permute-and-flip: f_i times the integral over t from 0 to 1 of the product of all 1 - f_j t.

    The product is over j other than i, and f_i = exp(epsilon (score i - best) / 2).

    Cites: [MS20, Alg. 1].
    """
    coins = np.exp(epsilon / 2 * (np.asarray(scores, dtype=np.float64) - max(scores)))
    chances = []
    for i, coin in enumerate(coins):
        product = np.polynomial.Polynomial([1.0])
        for j, other in enumerate(coins):
            product = product * np.polynomial.Polynomial([1.0, -other]) if j != i else product
        chances.append(float(coin * (product.integ()(1.0) - product.integ()(0.0))))
    return chances


def _largest(epsilon: float, scores: Any) -> list[float]:
    """Return the law of the largest score with Laplace noise of scale 2 / epsilon: the winner, whatever its gap."""
    chances = np.array(_with_gap(epsilon, scores)).reshape(len(scores), -1).sum(axis=1)
    return [float(part) for part in chances / chances.sum()]


def _in_order(epsilon: float, scores: Any) -> list[float]:
    """Return the law of two winners in order: exponential mechanisms of epsilon / 2 each among those that are left."""
    weights = [math.exp(epsilon / 4 * score) for score in scores]
    chances = []
    for order in permutations(range(len(scores)), 2):
        chance, left = 1.0, sum(weights)
        for winner in order:
            chance, left = chance * weights[winner] / left, left - weights[winner]
        chances.append(chance)
    return chances


def _with_gap(epsilon: float, scores: Any) -> list[float]:
    """Return the law of the winner and of the bin of its gap to the next one, by integrating over the best other.

    P[i wins by g or more] is the integral of P[noise >= m + g - score i] over the largest m of all others.
    """
    rate = epsilon / 2
    edges = np.unique(np.concatenate([np.linspace(-60, 60, 481) / rate, np.asarray(scores, dtype=np.float64)]))
    points, weights = np.polynomial.legendre.leggauss(12)
    half = np.diff(edges)[:, None] / 2
    m, dm = (edges[:-1, None] + half * (points + 1)).ravel(), (half * weights).ravel()
    chances = []
    for i, score in enumerate(scores):
        others = [other for j, other in enumerate(scores) if j != i]
        below = np.array([_below(rate * (m - other)) for other in others])
        density = sum(
            rate * np.exp(-rate * np.abs(m - other)) / 2 * np.prod(np.delete(below, j, axis=0), axis=0)
            for j, other in enumerate(others)
        )
        ahead = [float(np.sum(dm * density * _below(-rate * (m + edge - score)))) for edge in _EDGES]
        chances += [here - beyond for here, beyond in zip(ahead, [*ahead[1:], 0.0], strict=True)]
    total = math.fsum(chances)
    return [chance / total for chance in chances]


def _below(x: Any) -> Any:
    """Return P[noise <= x] for Laplace noise of scale 1."""
    return np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)


def _winner_and_bin(rows: Any) -> Any:
    return rows[:, 0] * _EDGES.size + np.searchsorted(_EDGES, rows[:, 1], side="right")


SELECTIONS: tuple[AuditEntry, ...] = (
    known("Exponential", lambda leak: Exponential(sensitivity=1, epsilon=2 * leak), _gumbel, _APART, stated=2),
    known("Permute and flip", lambda leak: PermuteAndFlip(sensitivity=1, epsilon=2 * leak), _flips, _APART, stated=2),
    known(
        "Noisy maximum, Laplace",
        lambda leak: NoisyMax(sensitivity=1, epsilon=2 * leak, law="laplace"),
        _largest,
        _APART,
        stated=2,
    ),
    known(
        "Noisy maximum, Gumbel",
        lambda leak: NoisyMax(sensitivity=1, epsilon=2 * leak, law="gumbel"),
        _gumbel,
        _APART,
        stated=2,
    ),
    known("Top k", lambda leak: TopK(k=2, sensitivity=1, epsilon=3 * leak), _in_order, _TWO_APART, stated=3),
    known(
        "Top k with gaps",
        lambda leak: TopKWithGaps(k=1, sensitivity=1, epsilon=2 * leak),
        _with_gap,
        _MANY_APART,
        stated=2,
        look=_winner_and_bin,
    ),
)


# Audits of the rules that show a key which public facts do not name, each against its exact chances.


_DELTA = Fraction(1, 20)
"""A delta that is large enough for samples to resolve."""

_FINE = 1.0001
"""Allowance for the grid, in steps of a millionth of a person, on which thresholds and noise are rounded up."""


def _optimal(epsilon: float, people: int) -> list[float]:
    """Return the chance that a key is shown: as much more with each person as (epsilon, delta) allows.

    Cites: [DVGM22, Thm 1].
    """
    shown, grown, few = 0.0, math.exp(epsilon), float(_DELTA)
    for _ in range(people):
        shown = min(grown * shown + few, 1 - (1 - shown - few) / grown, 1.0)
    return [shown, 1 - shown]


def _laplace(epsilon: float, people: int) -> list[float]:
    """Return the chance that people and Laplace noise exceed 1 + q, for the q that noise exceeds with chance delta."""
    beyond = 1 - math.log(2 * float(_DELTA)) / epsilon - people
    chance = math.exp(-epsilon * abs(beyond)) / 2
    shown = chance if beyond > 0 else 1 - chance
    return [shown, 1 - shown]


def _gaussian(epsilon: float, people: int) -> list[float]:
    """Return the same for Gaussian noise that keeps (epsilon, delta / 2), and a q for the other half of delta."""
    from scipy.special import ndtr, ndtri

    half = float(_DELTA) / 2
    sigma = least_sigma(epsilon, half)
    shown = float(ndtr((people - 1) / sigma + ndtri(half)))
    return [shown, 1 - shown]


KEYS: tuple[AuditEntry, ...] = (
    known("Keys, optimal rule", lambda leak: OptimalKeys(epsilon=leak, delta=_DELTA), _optimal, (2, 3), stated=1),
    known(
        "Keys, Laplace threshold",
        lambda leak: LaplaceThreshold(epsilon=leak, delta=_DELTA),
        _laplace,
        (2, 3),
        stated=1,
        margin=_FINE,
    ),
    known(
        "Keys, Gaussian threshold",
        lambda leak: GaussianThreshold(epsilon=4 * leak, delta=_DELTA),
        _gaussian,
        (1, 2),
        stated=4,
        margin=_FINE,
    ),
)


# Audits of sparse vectors against their exact loss, which no pair of short lists of queries brings to epsilon.


_FIRST = ([0, 0, 0, 1], [1, 1, 1, 0])
"""What comes out below moves up, and what crosses moves down."""

_TWO = ([0, 0, 1, 1], [1, 1, 0, 0])
_SHOWN = 6
"""Gaps and numbers beyond this are looked at together."""


_THRESHOLD = 1


def _scales(epsilon: float, limit: int) -> tuple[float, float]:
    """Return the scales of both noises for moves of 1: the threshold's part is 1 / (1 + w^(2/3)), for w = 2 limit.

    Cites: [LSL17, Alg. 7 and Sec. 4.2].
    """
    weight = 2 * limit
    share = 1 / (1 + weight ** (2 / 3))
    return 1 / (epsilon * share), weight / (epsilon * (1 - share))


def _law(epsilon: float, queries: Any, limit: int = 1) -> dict[Any, float]:
    """Return the law of where the queries crossed."""
    return SparseLaw(*_scales(epsilon, limit), limit=limit).law(tuple(queries), threshold=_THRESHOLD)


def _gap_law(epsilon: float, queries: Any) -> dict[Any, float]:
    """Return the law of where a query crossed first, and of its gap, larger ones together."""
    sparse, many = SparseLaw(*_scales(epsilon, 1), limit=1, shows="gap"), tuple(range(120))
    chances: dict[Any, float] = {}
    for pattern, chance in sparse.law(tuple(queries), threshold=_THRESHOLD, shown=many).items():
        gap = pattern[-1] if pattern else None
        label = None if gap is None else (len(pattern), min(gap, _SHOWN))
        chances[label] = chances.get(label, 0.0) + chance
    return chances


def _measured_law(epsilon: float, queries: Any) -> dict[Any, float]:
    """Return the law of where a query crossed first, and of the number that was measured there by other noise.

    A half of epsilon goes to the crossing, and a half to the number.
    """
    chances: dict[Any, float] = {}
    for pattern, chance in _law(epsilon / 2, queries).items():
        if pattern[-1] is None:
            chances[None] = chances.get(None, 0.0) + chance
            continue
        for drawn, part in integers(2 / epsilon).items():
            number = min(max(queries[len(pattern) - 1] + drawn, -_SHOWN), _SHOWN)
            chances[len(pattern), number] = chances.get((len(pattern), number), 0.0) + chance * part
    return chances


def _places(limit: int) -> Any:
    return lambda rows: rows[:, :limit] @ (10.0 ** np.arange(limit))


def _place_and_gap(rows: Any) -> Any:
    return 100 * rows[:, 0] + np.minimum(np.nan_to_num(rows[:, 1], nan=0.0), _SHOWN)


def _place_and_number(rows: Any) -> Any:
    return 100 * rows[:, 0] + np.clip(np.nan_to_num(rows[:, 2], nan=0.0), -_SHOWN, _SHOWN)


SPARSE: tuple[AuditEntry, ...] = (
    known(
        "Above threshold",
        lambda leak: AboveThreshold(threshold=1, sensitivity=1, epsilon=3 * leak, grid="whole"),
        _law,
        _FIRST,
        stated=3,
        look=_places(1),
    ),
    known(
        "Above threshold, gaps",
        lambda leak: AboveThreshold(threshold=1, sensitivity=1, epsilon=3 * leak, grid="whole"),
        _gap_law,
        _FIRST,
        stated=3,
        look=_place_and_gap,
    ),
    known(
        "Sparse vector",
        lambda leak: Sparse(threshold=1, limit=2, sensitivity=1, epsilon=4 * leak, grid="whole"),
        lambda epsilon, queries: _law(epsilon, queries, limit=2),
        _TWO,
        stated=4,
        look=_places(2),
    ),
    known(
        "Sparse vector, measured",
        lambda leak: NumericSparse(threshold=1, limit=1, sensitivity=1, epsilon=3 * leak, grid="whole"),
        _measured_law,
        ([0, 0, 1], [1, 1, 0]),
        stated=3,
        look=_place_and_number,
    ),
)


# Audits of quantiles, against the exact law of one choice, or of a joint one up to the width of a few places.


_LAST, _MIDDLE = 4_920_000, 4_910_000
"""Places so many that the few which have rows weigh nothing, and a middle that balances the two sides."""

_WIDE, _CUTS = 240_000, (200_000, 230_000)
_ROUNDED = 1.002
"""Allowance for places with rows, which the laws of several quantiles leave out: a few in ten thousand or more."""


_LOW, _HIGH = 0.25, 0.75
"""The shares of two quantiles."""


def _median(epsilon: float, values: Any) -> list[float]:
    """Return the law of a median: a row that comes moves scores by 1/2, a range of 1."""
    return quantile_law(values, 200, q=0.5, rate=epsilon)


def _least(epsilon: float, values: Any) -> list[float]:
    """Return the law of the least number: a row moves all scores one way, by 0 or 1."""
    return quantile_law(values, 9, q=0, rate=epsilon)


def _sides(epsilon: float, values: Any) -> list[float]:
    """Return the chance that the upper of two quantiles, the first one that is chosen, lies below the middle.

    It is chosen with a half of epsilon, as there are two levels, and a row moves scores by q at most.
    """
    n = len(values)
    rate = epsilon / 2 / (2 * _HIGH)
    ranks = (0, sum(value <= _MIDDLE for value in values))
    weights = [
        width * math.exp(-rate * abs(rank - _HIGH * n))
        for width, rank in zip((_MIDDLE, _LAST - _MIDDLE), ranks, strict=True)
    ]
    return [weight / sum(weights) for weight in weights]


def _runs(epsilon: float, values: Any) -> list[float]:
    """Return the law of the runs between rows in which two quantiles lie.

    A row that changes moves two of the counts between quantiles by 1, so each miscount weighs epsilon / 4.
    """
    ends = (0, *_CUTS, _WIDE)
    widths = [b - a for a, b in pairwise(ends)]
    ranks = [sum(value <= end for value in values) for end in ends[:-1]]
    goals = [(b - a) * len(values) for a, b in pairwise((0, _LOW, _HIGH, 1))]
    weights = []
    for low, high in combinations_with_replacement(range(len(widths)), 2):
        counts = (ranks[low], ranks[high] - ranks[low], len(values) - ranks[high])
        off = sum(abs(count - goal) for count, goal in zip(counts, goals, strict=True))
        size = widths[low] * widths[high] / (2 if low == high else 1)
        weights.append(size * math.exp(-epsilon / 4 * off))
    return [weight / sum(weights) for weight in weights]


def _run_of(rows: Any) -> Any:
    places = np.searchsorted(np.array(_CUTS), np.asarray(rows), side="left")
    return places[:, 0] * 10 + places[:, 1]


def _of_blocks(epsilon: float, rows: Any) -> list[float]:
    """Return the law of the least of the answers on two blocks, each of which a row falls into with equal chances.

    An empty block answers with the low bound, which is 0.
    """
    chances = np.zeros(9)
    for places in product((0, 1), repeat=len(rows)):
        blocks = [[row for row, place in zip(rows, places, strict=True) if place == block] for block in (0, 1)]
        answers = [max(block) if block else 0 for block in blocks]
        chances += np.array(quantile_law(answers, 8, q=0, rate=epsilon)) / 2 ** len(rows)
    return [float(part) for part in chances]


def _rungs(epsilon: float, seen: Any) -> list[float]:
    """Return the law of the half-width around a median, of 0 to 8, from how many rows each clears half of them by.

    A row that comes moves that by 1/2 either way, a range of 1. The slack, of 95%, is in halves of a rank.
    """
    (places, weights), (value,) = seen
    half, slack = sum(weights) / 2, math.ceil(2 * math.log(57) / epsilon) / 2
    before, held, odds = -math.inf, 0, []
    for rung in (0, 1, 2, 3, 4, 6, 8):
        below = sum(weight for place, weight in zip(places, weights, strict=True) if place < value - rung)
        through = sum(weight for place, weight in zip(places, weights, strict=True) if place <= value + rung)
        low, high = value - rung > 0, value + rung < 8
        clears = min(half - below if low else math.inf, through - half if high else math.inf)
        weight = max(1, math.ceil(held / 3))
        odds.append(weight * math.exp(-epsilon * max(0.0, slack - clears, before - slack)))
        held, before = held + weight, clears
        if not low and not high:
            break
    return [weight / sum(odds) for weight in odds]


def _blocks(leak: Any) -> SampleAggregate:
    least = Quantile(q=0, low=0, high=8, step=1, epsilon=2 * leak, neighbors="change-one")
    return SampleAggregate(estimator=max, blocks=2, aggregate=least)


QUANTILES: tuple[AuditEntry, ...] = (
    known(
        "Quantile",
        lambda leak: Quantile(q=0.5, low=0, high=200, step=1, epsilon=2 * leak),
        _median,
        ([100, 100], [100, 100, 200]),
        stated=2,
    ),
    known(
        "Quantile, least",
        lambda leak: Quantile(q=0, low=0, high=9, step=1, epsilon=2 * leak),
        _least,
        ([0], []),
        stated=2,
    ),
    known(
        "Quantiles, recursive",
        lambda leak: RecursiveQuantiles(quantiles=[_LOW, _HIGH], low=0, high=_LAST, step=1, epsilon=8 * leak),
        _sides,
        ([_MIDDLE] * 3, [_MIDDLE] * 3 + [_LAST]),
        stated=8,
        look=lambda rows: np.asarray(rows)[:, 1] > _MIDDLE,
        samples=36_000,
        margin=_ROUNDED,
    ),
    known(
        "Quantiles, jointly",
        lambda leak: Quantiles(
            quantiles=[_LOW, _HIGH], low=0, high=_WIDE, step=1, epsilon=4 * leak, neighbors="change-one"
        ),
        _runs,
        ([_CUTS[0], *_CUTS[1:] * 2, _WIDE], [*_CUTS[:1] * 2, *_CUTS[1:] * 2]),
        stated=4,
        look=_run_of,
        samples=48_000,
        margin=_ROUNDED,
    ),
    known(
        "Interval of a quantile",
        lambda leak: QuantileLadder.of(
            (Fraction(1, 2),), last=8, span=Fraction(1), epsilon=2 * leak, alpha=Fraction(1, 20)
        ),
        _rungs,
        ((([4, 5], [4, 1]), [4]), (([4, 5], [5, 1]), [4])),
        stated=2,
        samples=200_000,
    ),
    known(
        "Sample and aggregate",
        _blocks,
        _of_blocks,
        ([0, 0, 0], [0, 0, 8]),
        stated=2,
        samples=250_000,
    ),
)


_EPSILON = 2
_SAMPLES = 20_000

_COUNTS = "SELECT COUNT(*) FROM t WHERE x = :option"


def _session() -> Any:
    from privet.session import Session

    tables = {"t": Table([], unit=Rows(), columns={"x": integer(0, 3)})}
    return Session(tables, budget=Pure(epsilon=1000), engine=_Nothing())


class _Nothing:
    """An engine that reads nothing: the audit decides what a scan returns."""

    def check(self, scan: object) -> None:
        """Take every scan."""

    def scan(self, scan: object) -> SealedSums:
        """Return no sums."""
        return SealedSums({})

    def close(self) -> None:
        """Do nothing."""


def _chosen(leak: Fraction) -> Draw:
    with _session() as session:
        plan = session.plan_choice([0, 1, 2], _COUNTS, epsilon=_EPSILON * leak, mechanism="exponential")
    receipt = Receipt(1, plan.digest, "audit")

    def draw(counts: Any, many: int) -> Any:
        exact = SealedSums({(): tuple(counts)})
        return np.array([choose_one([exact], plan, receipt) for _ in range(many)])

    return draw


def _crossed(leak: Fraction) -> Draw:
    with _session() as session:
        plan = session.plan_above(1, limit=1, epsilon=_EPSILON * leak)
        schemas = session._executor.schemas
    asked = scalar_question(parse("SELECT COUNT(*) FROM t", schemas), schemas)
    receipt = Receipt(1, plan.digest, "audit")

    def run(counts: Any) -> int:
        """Return which of several questions is the first above; as many as there are where none is."""
        bar = draw_bar(plan, receipt)
        for place, count in enumerate(counts):
            noises = draw_noise(plan, receipt)
            if compare(SealedSums({(): (count,)}), plan, asked, receipt, bar=bar, noises=noises)[0]:
                return place
        return len(counts)

    return lambda counts, many: np.array([run(counts) for _ in range(many)])


def _softmax(epsilon: float, counts: Any) -> dict[Any, float]:
    """Return the law of the exponential mechanism where counts move one way: proportional to exp(epsilon count)."""
    weights = [math.exp(epsilon * count) for count in counts]
    return {place: weight / sum(weights) for place, weight in enumerate(weights)}


def _first_above(epsilon: float, counts: Any) -> dict[Any, float]:
    """Return the law of the first of several counts above 1: one threshold noise of scale 2 / epsilon, and for each
    question one of the same scale, by integrating over the threshold's.
    """
    scale = 2 / epsilon
    points, weights = np.polynomial.legendre.leggauss(60)
    edges = np.unique(np.concatenate([np.linspace(-40, 40, 161) * scale, np.array(counts, dtype=float) - 1, [0.0]]))
    half = np.diff(edges)[:, None] / 2
    r, dr = (edges[:-1, None] + half * (points + 1)).ravel(), (half * weights).ravel()
    left = dr * np.exp(-np.abs(r) / scale) / (2 * scale)
    chances: dict[Any, float] = {}
    for place, count in enumerate(counts):
        need = (1 + r - count) / scale
        above = np.where(need < 0, 1 - np.exp(-np.abs(need)) / 2, np.exp(-np.abs(need)) / 2)
        chances[place] = float((left * above).sum())
        left = left * (1 - above)
    chances[len(counts)] = float(left.sum())
    total = math.fsum(chances.values())
    return {place: chance / total for place, chance in chances.items()}


def _compared(
    name: str, make: Callable[[Fraction], Draw], law: Callable[[float, Any], dict[Any, float]], neighbours: Any
) -> AuditEntry:
    def curve(leak: Fraction, deltas: tuple[float, ...] = (0.0, *DELTAS)) -> Curve:
        spent = float(_EPSILON * leak)
        exact = exact_curve(law(spent, neighbours[0]), law(spent, neighbours[1]), deltas)
        return Curve(tuple((loss * _FINE, delta) for loss, delta in exact.points))

    return AuditEntry(
        name=name,
        mechanism=Rows,
        make=make,
        neighbours=neighbours,
        claimed=lambda: curve(Fraction(1)),
        stated=_EPSILON,
        loss=lambda leak: curve(leak, (0.0,)).points[0][0],
        samples=_SAMPLES,
        fault=Fraction(2),
    )


COMPARED: tuple[AuditEntry, ...] = (
    _compared("Session, an option by counts", _chosen, _softmax, ((0, 0, 0), (1, 0, 0))),
    _compared("Session, the first question above", _crossed, _first_above, ((0, 1), (1, 2))),
)
"""A row that comes raises one count, or all of them: what it may at most."""
