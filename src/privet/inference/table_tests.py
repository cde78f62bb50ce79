"""Chi-squared tests of released tables that keep their level under the noise; the usual one beside them, to compare.

Shares of the groups of a table have intervals by Fieller's inversion. Nothing here reads data: tests are of released
counts, and the law of their noise is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from privet.core.errors import BadParameter, BadValue, RequestError, raise_alone
from privet.core.estimate import Estimate
from privet.core.given import choice
from privet.core.numbers import Number, float_near, open_probability, whole
from privet.mechanisms.lattice import read_floats

from .finding import Finding, shown_p_value
from .noisy_tables import (
    LEAST_MARGIN,
    CellNoise,
    FixedPoints,
    Noise,
    TableModel,
    clipped_shares,
    pearson,
    poisson_at,
    projected,
    read_noise,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privet.core.event import Floats


Method = Literal["auto", "projected", "projected-simulated", "pearson-simulated", "naive"]
"""How to test: by the projected statistic and its limit law or its simulated one, by Pearson's statistic and its
simulated law, or by Pearson's statistic and the law that it has without noise, which is wrong. "auto" takes the first
where released numbers show that it holds, and else the second."""

METHODS: tuple[str, ...] = get_args(Method)

LEAST_SIMULATED = 999
"""How many tables are simulated at least: a p-value is one of 1/1000, 2/1000, ..., 1."""

_SIMULATED = ((32, 9999), (200, 1999))
"""Up to this many cells there are this many."""

_BLOCK = 2**16
"""About how many cells are simulated at a time: they fit into a processor's cache."""

MOST_CELLS = 500
_ROUGH_COUNTS = "the counts with their noise are too far from normal for the chi-squared law"
_LEAST = 5
_LARGE = 400
_KNOWN = 8.0
_ROUGH = 4.0
_SUM = 1e-9
_MOST_COUNT = 1e15


@dataclass(frozen=True)
class NoisyTable:
    """Released counts of rows and columns, the noise on each, and the public facts about the rows behind them.

    `size` is their number where it is public; one person has at most `each` of them. `digest` fixes simulated points.
    """

    counts: Floats
    noise: CellNoise
    size: int | None = None
    each: int = 1
    digest: str = ""

    def points(self) -> FixedPoints:
        """Return points that are fixed by the digest, or by the released numbers where there is none."""
        return FixedPoints(self.digest or self.counts.tolist(), self.counts.shape)

    def model(self, shares: Floats | None = None) -> TableModel:
        """Return the model of the counts, with these shares or with rows and columns that are independent."""
        return TableModel(self.noise.variance, self.size, self.each, shares)


def fit_test(
    released: Sequence[Number] | Floats,
    shares: Sequence[Number] | Floats,
    *,
    noise: Noise,
    size: int | None = None,
    each: int = 1,
    method: Method = "auto",
    confidence: Number = 0.95,
) -> Finding:
    """Return the test of whether noisy counts come from categories with these shares.

    Args:
        released: a noisy count for each category.
        shares: the share of each category under the hypothesis.
        noise: the mechanism that released the counts, or the law of its noise.
        size: the number of rows, where it is public; without it, it is as noisy as the counts.
        each: the most rows that one person has among them.
        method: how to test; "auto" decides by the released counts.
        confidence: the confidence level of the effect size's interval.

    Example:
        >>> noise = privet.Gaussian(sensitivity=1, sigma=20)
        >>> inference.fit_test([260, 251, 240, 249], [0.25] * 4, noise=noise).degrees
        3
    """
    level = float_near(open_probability(confidence, "confidence"))
    expected = _shares(shares)
    counts = _counts(released, 1)
    if counts.size != expected.size:
        raise BadValue("released", f"{counts.size} numbers", f"{expected.size} finite numbers, one for each share")
    table = _table(counts[None, :], noise, size, each)
    return finding_of_table(table, expected, method=method, confidence=level)


def independence_test(
    released: Sequence[Sequence[Number]] | Floats,
    *,
    noise: Noise,
    size: int | None = None,
    each: int = 1,
    method: Method = "auto",
    confidence: Number = 0.95,
) -> Finding:
    """Return the test of whether the rows and the columns of a noisy table are independent.

    It is the test of equal proportions as well: whether each row of the table has the same shares. The arguments are
    those of `fit_test`.

    Args:
        released: noisy counts, a list for each row of the table.
        noise: the mechanism that released the counts, or the law of its noise.
        size: the number of people or rows, where it is public.
        each: the most rows that one person has among them.
        method: how to test; "auto" decides by the released counts.
        confidence: the confidence level of the effect size's interval.

    Example:
        >>> noise = privet.Laplace(sensitivity=1, epsilon=0.1)
        >>> inference.independence_test([[520, 480], [490, 510]], noise=noise).degrees
        1
    """
    level = float_near(open_probability(confidence, "confidence"))
    table = read_table(released, noise, size, each)
    return finding_of_table(table, None, method=method, confidence=level)


def finding_of_table(table: NoisyTable, shares: Floats | None, *, method: Method, confidence: float) -> Finding:
    """Return the test of a table by one of the methods, with an effect size.

    Guarantee: post-processing of released numbers. Which law a p-value is taken from is decided by released and public
    numbers. Simulated tables have the size, the shares and the noise that the released table says, and are read by the
    same rules; p = (1 + #{T* >= T}) / (B + 1) with B = 999 or more, by the number of cells.
    Cites: [KR17, the projected statistic]; [GLRV16, Monte Carlo tests of noisy tables].
    """
    chosen, model = choice(method, "method", METHODS), table.model(shares)
    counts = table.counts[None, :, :]
    if shares is None and min(table.counts.shape) < 2:
        raise RequestError(
            "independence needs at least two rows and two columns; with one category there is nothing to test"
        )
    if max(table.counts.shape) < 2 or table.counts.size > MOST_CELLS:
        raise RequestError(f"a table has from 2 to {MOST_CELLS:,} cells; join values until it does")
    degrees = model.degrees(*table.counts.shape)
    name = "Chi-squared test of independence" if shares is None else "Chi-squared test of fit"
    finding = Finding(name=name, degrees=degrees, assumptions=_assumptions(table))
    if chosen == "naive":
        return _naive(finding, float(pearson(counts, model)[0]))
    smooth = _limit_holds(table, model)
    statistic = pearson if chosen == "pearson-simulated" else projected
    value = float(statistic(counts, model)[0])
    if chosen == "projected" or (chosen == "auto" and smooth):
        p, words = _tail(value, degrees), "projected statistic, chi-squared law"
        words += "" if smooth else f"; {_ROUGH_COUNTS}: simulate the law instead"
    else:
        p, more = _simulated(table, model, statistic, value)
        words = f"{'Pearson' if statistic is pearson else 'projected'} statistic, law of {number_simulated(table):,}"
        words += f" simulated tables{f'; {_ROUGH_COUNTS}' if chosen == 'auto' else ''}{more}"
    effects = {} if statistic is pearson else _effects(table, model, value, confidence)
    return replace(finding, p_value=p, statistic=value, method=words, estimates=effects)


def _naive(finding: Finding, value: float) -> Finding:
    """Return the result of the usual test, and that it is wrong: there is no p-value to take by mistake."""
    wrong = shown_p_value(_tail(value, int(finding.degrees or 1)))
    return replace(
        finding,
        statistic=value,
        method="Pearson's statistic, which takes the noise for evidence",
        notes=(
            f"WRONG: the usual law yields p = {wrong}. It ignores the noise, and rejects true hypotheses "
            'far too often. Use method="auto".',
        ),
    )


def _tail(statistic: float, degrees: int) -> float:
    from scipy.special import chdtrc

    return float(chdtrc(degrees, statistic))


def _assumptions(table: NoisyTable) -> tuple[str, ...]:
    if table.each == 1:
        return ("the rows that count are independent of each other, and have one law",)
    return (
        f"people are independent of each other; each has at most {table.each} rows, which may depend on each other "
        f"in any way: conservative",
    )


def _limit_holds(table: NoisyTable, model: TableModel) -> bool:
    """Return whether the chi-squared law holds nearly, by released and public numbers.

    A count of mean m has skewness 1/sqrt(m) and excess kurtosis 1/m, which the usual rule wants at most as large as at
    m = 5. With noise of variance v they are m / (m + v)^(3/2) and (m + k v^2) / (m + v)^2, k being the noise's own; the
    same is wanted of them. Where shares are estimated, the noise of the total has to be small against it as well.
    """
    import numpy as np

    counts = table.counts[None, :, :]
    down, across = model.fitted(counts)
    size = float(model.sizes(counts)[0])
    mean = model.each * size * np.outer(down[0], across[0])
    spread = mean + model.variance
    scale = model.each  # a person's rows come together
    skew, excess = scale * mean / spread**1.5, (scale**2 * mean + table.noise.excess * model.variance**2) / spread**2
    normal = (skew**2 <= 1 / _LEAST).all() and (excess <= 1 / _LEAST).all()
    return bool(normal) and _total_error(table) * _KNOWN <= size


def _total_error(table: NoisyTable) -> float:
    """Return the standard deviation of the noise in the sum of all cells."""
    return math.sqrt(table.noise.variance * table.counts.size)


def _simulated(
    table: NoisyTable, model: TableModel, statistic: Callable[[Floats, TableModel], Floats], value: float
) -> tuple[float, str]:
    """Return the share of simulated tables with at least as large a statistic, and what to note about it.

    Where the noise of the total is not small against it, shares of rows and columns are hardly known. The larger of
    two p-values is taken then: at the estimated shares, and at shares that are as uneven as the noise allows.
    """
    counts = table.counts[None, :, :]
    size = max(1, round(float(model.sizes(counts)[0])))
    down, across = (shares[0] for shares in model.fitted(counts))
    points = table.points()
    p_values = [_share_beyond(table, model, statistic, value, size, (down, across), points)]
    rough = model.shares is None and _total_error(table) * _ROUGH > size
    if rough:
        uneven = (_uneven(table.counts.sum(1), table, 1), _uneven(table.counts.sum(0), table, 0))
        p_values.append(_share_beyond(table, model, statistic, value, size, uneven, points))
    words = "; the noise is nearly as large as the counts: the larger of two p-values, conservative" if rough else ""
    return max(p_values), words


def _share_beyond(
    table: NoisyTable,
    model: TableModel,
    statistic: Callable[[Floats, TableModel], Floats],
    value: float,
    size: int,
    shares: tuple[Floats, Floats],
    points: FixedPoints,
) -> float:
    import numpy as np

    expected = size * np.outer(*shares)
    number, beyond = number_simulated(table), 0
    block = max(1, _BLOCK // expected.size)
    for start in range(0, number, block):
        shape = (min(block, number - start), *expected.shape)
        rest = _sampled(expected, points.uniform(shape), keeps_total=model.size is not None) - expected
        # rows of one person may all be alike: then counts spread sqrt(C) times as far
        tables = expected + math.sqrt(model.each) * rest + table.noise.at(points.uniform(shape))
        beyond += int((statistic(tables, model) >= value).sum())
    return (1 + beyond) / (number + 1)


def _sampled(expected: Floats, shares: Floats, *, keeps_total: bool) -> Floats:
    """Return tables of sampled counts: independent Poisson ones, whose surplus is taken back where the total is fixed.

    In proportion to the expected counts: the counts then have the variance of a multinomial law.
    """
    import numpy as np

    counts = np.empty(shares.shape)
    for row, column in np.ndindex(expected.shape):
        counts[:, row, column] = poisson_at(float(expected[row, column]), shares[:, row, column])
    if keeps_total:
        surplus = counts.sum((1, 2)) - expected.sum()
        counts -= surplus[:, None, None] * (expected / expected.sum())
    return counts


def number_simulated(table: NoisyTable) -> int:
    """Return how many tables are simulated for one: fewer for large tables, and never fewer than 999."""
    return next((number for most, number in _SIMULATED if table.counts.size <= most), LEAST_SIMULATED)


def _uneven(margin: Floats, table: NoisyTable, axis: int) -> Floats:
    """Return shares of a margin as uneven as its noise allows: all but the largest by two standard deviations less."""
    import numpy as np

    error = math.sqrt(table.noise.variance * table.counts.shape[axis])
    kept, lower = np.maximum(margin, LEAST_MARGIN), np.maximum(margin - 2 * error, LEAST_MARGIN)
    largest = int(kept.argmax())
    lower[largest] += kept.sum() - lower.sum()
    return clipped_shares(lower)


def _effects(table: NoisyTable, model: TableModel, statistic: float, confidence: float) -> dict[str, Estimate]:
    """Return Cramer's V, or Cohen's w for a test of fit, with an interval that the noise cannot make too short.

    The statistic is about noncentral chi-squared, whose noncentrality is n w^2 times a mean of m / (C m + v) over the
    cells, with expected counts m and variance v of the noise: between the least and the largest of them, whatever the
    alternative. So an interval for the noncentrality yields one for w, with the ends of that range and of the interval
    of a noisy n.
    """
    import numpy as np
    from scipy.special import ndtri

    counts = table.counts[None, :, :]
    down, across = (shares[0] for shares in model.fitted(counts))
    size = float(model.sizes(counts)[0])
    mean = size * np.outer(down, across)
    kept = mean / (model.each * mean + model.variance)
    degrees, tail = model.degrees(*table.counts.shape), (1 - confidence) / 2
    low = _noncentral(statistic, degrees, 1 - tail)
    high = _noncentral(max(statistic, degrees), degrees, tail)  # no shorter where the fit is very good
    off = 0.0 if model.size is not None else float(-ndtri(tail)) * _total_error(table)
    name, most, per = _largest_effect(table, model)
    w2_low = low / ((size + off) * float(kept.max()))
    w2_high = high / ((size - off) * float(kept.min())) if size > off else math.inf
    w2 = max(statistic - degrees, 0.0) / (size * float(kept.mean()))
    ends = [min(math.sqrt(square / per), most) for square in (w2_low, w2, w2_high)]
    ends[1] = min(max(ends[1], ends[0]), ends[2])
    return {
        name: Estimate(
            value=ends[1],
            low=ends[0],
            high=ends[2],
            confidence=confidence,
            standard_error=min(1 / math.sqrt(size * float(kept.mean()) * per), most),  # a root of T has variance 1
            covers="noise and sampling, at least",
        )
    }


def _largest_effect(table: NoisyTable, model: TableModel) -> tuple[str, float, float]:
    """Return the name of the effect size, how large it can be, and what its square is to be divided by."""
    if model.shares is None:
        return "Cramer's V", 1.0, float(min(table.counts.shape) - 1)
    least = float(model.shares.min())
    return "Cohen's w", math.sqrt((1 - least) / least), 1.0


def _noncentral(statistic: float, degrees: int, share: float) -> float:
    """Return the noncentrality at which this share of a chi-squared law lies below a statistic; 0 where none does.

    Where it is large the root of the statistic is about normal around its own, with variance 1.
    """
    from scipy.special import chdtr, chndtrinc, ndtri

    if chdtr(degrees, statistic) <= share:
        return 0.0
    if statistic > _LARGE * degrees:
        return float(max(math.sqrt(statistic - degrees) - ndtri(share), 0.0)) ** 2
    value = float(chndtrinc(statistic, degrees, share))
    return value if math.isfinite(value) and value > 0 else 0.0


def read_table(released: object, noise: object, size: object, each: object) -> NoisyTable:
    """Return released counts of rows and columns as a noisy table, or refuse them."""
    return _table(_counts(released, 2), noise, size, each)


def _table(counts: Floats, noise: object, size: object, each: object) -> NoisyTable:
    import numpy as np

    public = None if size is None else whole(size, "size", least=1, most=2**53)
    cells = read_noise(noise, counts.size)
    return NoisyTable(np.asarray(counts), cells, public, whole(each, "each", least=1, most=10**6))


def _counts(values: object, dimensions: int) -> Floats:
    """Return released counts as an array, or refuse them."""
    import numpy as np

    allowed = "finite numbers, a list of them for each row of the table" if dimensions == 2 else "finite numbers"
    try:
        read: Floats = read_floats(values, "released")
    except BadValue:
        raise_alone(BadValue("released", "something else", allowed))
    if read.ndim != dimensions or not read.size or not (np.abs(read) < _MOST_COUNT).all():
        raise BadValue("released", "something else", allowed)
    return read


def _shares(values: object) -> Floats:
    """Return the shares of a hypothesis as an array, or refuse them."""
    import numpy as np

    try:
        read: Floats = read_floats(values, "shares")
    except BadValue:
        read = np.zeros(0)
    if read.ndim != 1 or read.size < 2 or not (read > 0).all() or abs(math.fsum(read) - 1) > _SUM:
        raise BadParameter("shares", values, "at least two numbers above 0 that sum to 1")
    return read


_HALVINGS = 40
_APART = 1e-3
"""Scales that differ by less than this part of each other, or are less than it of the largest, are moved by it: the law
of the sum is smooth in them."""


def beyond(t: Floats, spread: Floats, first: Floats, second: Floats, noise: CellNoise) -> Floats:
    """Return P[|spread Z + first X + second Y| > t], for normal Z and the noise of two cells, X and Y.

    Guarantee: exact for Gaussian noise and for Laplace noise without a grid; on a grid, within half a step of each.
    The sum of Laplace noises of scales a and b is a mixture, with weights a^2/(a^2 - b^2) and b^2/(b^2 - a^2), of one
    of each; and with a normal number beside it,
    P[s Z + b L > t] = N(-t/s) + e^(s^2/2b^2) (e^(-t/b) N(t/s - s/b) - e^(t/b) N(-t/s - s/b)) / 2.
    """
    import numpy as np
    from scipy.special import log_ndtr, ndtr

    if noise.excess == 0.0:
        return np.asarray(2 * ndtr(-t / np.sqrt(spread**2 + (first**2 + second**2) * noise.variance)))
    scale = math.sqrt(noise.variance / 2)
    large, small = np.maximum(first, second) * scale, np.minimum(first, second) * scale
    s = np.maximum(spread, _APART * large)
    large = np.maximum(large, 2 * _APART * s)
    small = np.clip(small, _APART * np.maximum(s, large), (1 - _APART) * large)

    def above(b: Floats) -> Floats:
        base = s**2 / (2 * b**2)
        down = np.exp(base - t / b + log_ndtr(t / s - s / b))
        up = np.exp(base + t / b + log_ndtr(-t / s - s / b))
        return np.asarray(ndtr(-t / s) + (down - up) / 2)

    weight = large**2 / (large**2 - small**2)
    return np.asarray(2 * (weight * above(large) + (1 - weight) * above(small)))


def share_intervals(
    table: Floats, noise: CellNoise, *, each: int, confidence: float, names: Sequence[str]
) -> dict[str, Estimate]:
    """Return the share of the first column in each row of a table of two columns, with intervals.

    With x and y the noisy counts of a row, n its total and C the most rows of a person, a share q belongs to the
    interval iff (1 - q) x - q y is no further from 0 than sqrt(C n q (1 - q)) Z + (1 - q) X - q Y would be.

    Guarantee: post-processing of released numbers. At the true share the mean is 0, and the variance of the sampling is
    C n q (1 - q) at most; n is read from the noisy counts. Where the noise leaves the share open it runs from 0 to 1.
    Cites: [Fie54].
    """
    import numpy as np

    x, total = table[:, 0], table.sum(axis=1)
    known = total > 0
    size = np.maximum(total, 1.0)

    def outside(share: Floats) -> NDArray[np.bool_]:
        spread = np.sqrt(each * size * share * (1 - share))
        away = np.abs(x - share * total)
        return np.asarray(beyond(away, spread, 1 - share, share, noise) < 1 - confidence)

    value = np.clip(x / np.where(known, total, 1.0), 0.0, 1.0)
    ends = []
    for edge in (0.0, 1.0):
        inner, outer = value.copy(), np.full_like(value, edge)
        open_end = ~outside(outer)
        for _ in range(_HALVINGS):
            middle = (inner + outer) / 2
            out = outside(middle)
            inner, outer = np.where(out, inner, middle), np.where(out, middle, outer)
        ends.append(np.where(open_end, edge, outer))
    lost = outside(value) | ~known
    low, high = np.where(lost, 0.0, ends[0]), np.where(lost, 1.0, ends[1])
    error = np.sqrt(each * size * value * (1 - value) + noise.variance * ((1 - value) ** 2 + value**2)) / size
    return {
        name: Estimate(
            value=float(value[k]) if known[k] else math.nan,
            low=float(low[k]),
            high=float(high[k]),
            confidence=confidence,
            standard_error=float(error[k]) if known[k] else math.nan,
            covers="noise and sampling",
        )
        for k, name in enumerate(names)
    }


def difference(first: Estimate, second: Estimate) -> Estimate:
    """Return the difference of two independent shares, with an interval that their own intervals yield.

    Cites: [New98, method 10].
    """
    value = first.value - second.value
    error = math.hypot(first.standard_error, second.standard_error)
    low = value - math.hypot(first.value - first.low, second.high - second.value)
    high = value + math.hypot(first.high - first.value, second.value - second.low)
    if math.isnan(value):
        low, high = -1.0, 1.0
    return Estimate(
        value=value,
        low=max(low, -1.0),
        high=min(high, 1.0),
        confidence=first.confidence,
        standard_error=error,
        covers=first.covers,
    )
