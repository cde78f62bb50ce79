"""Released tables of counts, as tests need them: the noise on their cells, and statistics of many tables at once.

Uses released numbers and the public law of their noise only.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.core.errors import BadParameter, RequestError
from privet.core.numbers import float_near
from privet.mechanisms.laws import AdditiveNoise, DiscreteGaussian, DiscreteLaplace, NoiseLaw

if TYPE_CHECKING:
    from privet.core.event import Floats


Noise = AdditiveNoise | NoiseLaw
"""What a caller may pass for the noise: the mechanism that released the numbers, or its law."""

_SMOOTH = 40.0
"""From this many drawn integers per standard deviation on, a rounded normal number is a discrete Gaussian one."""

_FAR = 40
_LARGE_MEAN = 10_000.0


@dataclass(frozen=True)
class CellNoise:
    """Independent noise on each cell: `law` is that of the released integer, which is worth `worth`."""

    law: NoiseLaw
    worth: Fraction = Fraction(1)

    @property
    def variance(self) -> float:
        """The variance of the noise in a cell."""
        return self.law.variance * float_near(self.worth) ** 2

    @property
    def excess(self) -> float:
        """The excess kurtosis: 0 for Gaussian noise, and 3 for Laplace noise of any but the smallest scale."""
        return 0.0 if isinstance(self.law, DiscreteGaussian) else 3.0

    def at(self, shares: Floats) -> Floats:
        """Return the noise at these shares of its law: simulated noise where they are uniform numbers.

        It is for null laws, never for a release.
        """
        drawn = _integers(self.law, shares)
        if self.law.finer > 1:
            drawn = (drawn + self.law.finer // 2) // self.law.finer
        return drawn * (float_near(self.law.step) * float_near(self.worth))


def _integers(law: NoiseLaw, shares: Floats) -> Floats:
    """Return the integers at some shares of a law, as doubles.

    For Laplace noise P[|k| >= m] = 2 a^m / (1 + a) with a = e^(-1/scale).
    """
    import numpy as np
    from scipy.special import ndtri

    if isinstance(law, DiscreteLaplace):
        rate = 1 / float_near(law.scale)
        tail = np.minimum(shares, 1 - shares)
        size = np.floor((math.log(2 / (1 + math.exp(-rate))) - np.log(2 * tail)) / rate)
        return np.asarray(np.where(shares < 0.5, -1, 1) * np.maximum(size, 0.0))
    if not isinstance(law, DiscreteGaussian):
        raise RequestError("tests of tables know Laplace and Gaussian noise; release the counts with one of them")
    sigma = math.sqrt(float_near(law.sigma_squared))
    if sigma > _SMOOTH:
        return np.asarray(np.rint(sigma * ndtri(shares)))
    places = np.arange(-math.ceil(_FAR * max(sigma, 1)), math.ceil(_FAR * max(sigma, 1)) + 1)
    below = np.cumsum(np.exp(-(places**2) / (2 * sigma**2)))
    return np.asarray(places[np.searchsorted(below, shares * below[-1], side="right")], dtype=np.float64)


def poisson_at(mean: float, shares: Floats) -> Floats:
    """Return the numbers at some shares of a Poisson law; of a large mean, to the third moment.

    Cites: [CF38].
    """
    import numpy as np
    from scipy.special import ndtri, pdtr

    if mean > _LARGE_MEAN:
        z = ndtri(shares)
        return np.asarray(np.rint(mean + math.sqrt(mean) * z + (z**2 - 1) / 6))
    reach = 9 * math.sqrt(mean) + 40
    places = np.arange(max(0, math.floor(mean - reach)), math.ceil(mean + reach))
    return np.asarray(places[np.searchsorted(pdtr(places[:-1], mean), shares)], dtype=np.float64)


def read_noise(noise: object, cells: int) -> CellNoise:
    """Return the noise on this many cells that were released together."""
    if isinstance(noise, CellNoise):
        return noise
    if isinstance(noise, AdditiveNoise):
        return CellNoise(noise.law(cells, whole=True))
    if isinstance(noise, (DiscreteGaussian, DiscreteLaplace)):
        return CellNoise(noise)
    allowed = "the mechanism that released the counts, such as Gaussian(...) or Laplace(...), or its law"
    raise BadParameter("noise", type(noise).__name__, allowed)


class FixedPoints:
    """Uniform numbers that are fixed by the release: asking again finds the same p-value, with none to choose.

    They are the output of a hash function in order, the same everywhere and for ever.
    """

    def __init__(self, *released: object) -> None:
        self._seed = hashlib.sha256(repr(released).encode()).digest()
        self._used = 0

    def uniform(self, shape: tuple[int, ...]) -> Floats:
        """Return the next numbers, each strictly between 0 and 1."""
        import numpy as np

        self._used += 1
        size = math.prod(shape)
        words = hashlib.shake_256(self._seed + self._used.to_bytes(8, "little")).digest(8 * size)
        whole = np.frombuffer(words, dtype="<u8") >> np.uint64(11)
        return np.asarray((whole.astype(np.float64) + 0.5) * 2.0**-53).reshape(shape)


LEAST_MARGIN = 0.5
"""The public rule that takes noisy counts to shares: smaller shares count as this, and all are scaled to 1."""


@dataclass(frozen=True)
class TableModel:
    """What a hypothesis expects of a table of rows and columns, beside the public facts about its counts.

    `shares` are those of the cells where the hypothesis fixes them; None where it states that rows and columns are
    independent, and their shares are estimated. `size` is the number of rows behind the table where that is public.
    One person has at most `each` rows. `variance` is that of the noise on each cell.
    """

    variance: float
    size: int | None = None
    each: int = 1
    shares: Floats | None = None

    def sizes(self, tables: Floats) -> Floats:
        """Return the number of rows behind each table: the public one, or the noisy total and no less than 1."""
        import numpy as np

        if self.size is not None:
            return np.full(len(tables), float(self.size))
        return np.asarray(np.maximum(tables.sum((1, 2)), 1.0))

    def fitted(self, tables: Floats) -> tuple[Floats, Floats]:
        """Return the shares of rows and of columns under the hypothesis, as each table estimates them."""
        import numpy as np

        if self.shares is not None:
            shares = np.broadcast_to(self.shares, (len(tables), len(self.shares)))
            return np.ones((len(tables), 1)), shares
        return clipped_shares(tables.sum(2)), clipped_shares(tables.sum(1))

    def degrees(self, rows: int, columns: int) -> int:
        """Return the degrees of freedom of a table of this shape."""
        return columns - 1 if self.shares is not None else (rows - 1) * (columns - 1)


def clipped_shares(counts: Floats) -> Floats:
    """Return noisy counts, a vector in each row, as shares: `LEAST_MARGIN` states how."""
    import numpy as np

    kept = np.maximum(counts, LEAST_MARGIN)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


def pearson(tables: Floats, model: TableModel) -> Floats:
    """Return Pearson's statistic of each table: the sum of (x - e)^2 / e over its cells, e being what is expected."""
    import numpy as np

    down, across = model.fitted(tables)
    expected = model.sizes(tables)[:, None, None] * down[:, :, None] * across[:, None, :]
    return np.asarray(((tables - expected) ** 2 / expected).sum((1, 2)))


def projected(tables: Floats, model: TableModel) -> Floats:
    """Return the projected statistic of each table.

    With x a table of d cells as a vector, n rows behind it, v the variance of the noise, C the most rows of a person,
    p the expected shares and q_1, ..., q_k what p moves by where its estimated shares move,

        D = diag(C n p + v),   T = min over t of (x - n p - Q t)' M (x - n p - Q t).

    Where n is noisy, M = D^-1 and p itself is among the q. Where n is public, the noise of the total is spread evenly
    over the cells first, all q sum to 0, and M = D^-1 + (v / (C n)) D^-1 1 1' D^-1 / (1' D^-1 p).

    Guarantee: post-processing of released numbers. Under the hypothesis x is n p plus sampling and noise, of variance
    S = D - C n p p' (at most, for C > 1), and normal for many rows or much noise. Where n is noisy, p is profiled out,
    and S may be replaced by D, as p p' changes variance along p alone. Where n is public, the vector of ones is an
    eigenvector of S along which there is noise and nothing else; on what sums to 0, S^-1 is M by the formula of
    Sherman and Morrison. Estimated shares are profiled out to first order from estimates whose error is of the order
    of the counts' own. So T is chi-squared, with d - 1 degrees of freedom less one for each estimated share.
    Cites: [KR17, the projected statistic, and minimum chi-square with a pilot estimate].
    """
    import numpy as np

    down, across = model.fitted(tables)
    sizes = model.sizes(tables)
    shares = down[:, :, None] * across[:, None, :]
    expected = sizes[:, None, None] * shares
    weights = 1 / (model.each * expected + model.variance)
    if model.size is not None:
        tables = tables + ((sizes - tables.sum((1, 2))) / shares[0].size)[:, None, None]
    rest = tables - expected
    statistic = (weights * rest**2).sum((1, 2))
    moves, slopes, flat = _tangents(weights, rest, down, across)
    if model.size is not None:
        along = model.variance / (model.each * sizes) / (weights * shares).sum((1, 2))
        total = (weights * rest).sum((1, 2))
        statistic = statistic + along * total**2
        moves = moves + along[:, None, None] * flat[:, :, None] * flat[:, None, :]
        slopes = slopes + (along * total)[:, None] * flat
    if model.size is None and model.shares is None:
        return np.asarray(np.maximum(statistic - _explained(moves, slopes, down.shape[1]), 0.0))
    basis = _basis(down.shape[1], across.shape[1], model)
    if basis.shape[1]:
        moves, slopes = basis.T @ moves @ basis, slopes @ basis
        statistic = statistic - (slopes * np.linalg.solve(moves, slopes[..., None])[..., 0]).sum(1)
    return np.asarray(np.maximum(statistic, 0.0))


def _explained(moves: Floats, slopes: Floats, rows: int) -> Floats:
    """Return s'M^-1 s of each table, M without its last column, which moves the same as all the others.

    The blocks of M for rows and for columns are diagonal: the longer one is eliminated, and the shorter solved for.
    """
    import numpy as np

    first, second = np.arange(rows), np.arange(rows, slopes.shape[1])
    kept, gone = (second, first) if len(second) <= len(first) else (first, second)
    kept = kept[:-1]
    diagonal = moves[:, gone, gone]
    cross = moves[:, gone[:, None], kept[None, :]]
    scaled = cross / diagonal[:, :, None]
    left = -np.swapaxes(cross, 1, 2) @ scaled
    places = np.arange(len(kept))
    left[:, places, places] += moves[:, kept, kept]
    slope = slopes[:, gone]
    rest = slopes[:, kept] - (slope[:, None, :] @ scaled)[:, 0]
    length = (slope**2 / diagonal).sum(1)
    return np.asarray(length + (rest * np.linalg.solve(left, rest[..., None])[..., 0]).sum(1))


def _tangents(weights: Floats, rest: Floats, down: Floats, across: Floats) -> tuple[Floats, Floats, Floats]:
    """Return Q'WQ, Q'W(x - n p) and Q'W1, where the q move the share of one row, or of one column."""
    import numpy as np

    rows, columns = down.shape[1], across.shape[1]
    moves = np.zeros((len(weights), rows + columns, rows + columns))
    first, second = np.arange(rows), rows + np.arange(columns)
    moves[:, first, first] = (weights * across[:, None, :] ** 2).sum(2)
    moves[:, second, second] = (weights * down[:, :, None] ** 2).sum(1)
    cross = weights * down[:, :, None] * across[:, None, :]
    moves[:, :rows, rows:] = cross
    moves[:, rows:, :rows] = np.swapaxes(cross, 1, 2)

    def both(values: Floats) -> Floats:
        return np.concatenate([(values * across[:, None, :]).sum(2), (values * down[:, :, None]).sum(1)], axis=1)

    return moves, both(weights * rest), both(weights)


def _basis(rows: int, columns: int, model: TableModel) -> Floats:
    """Return the combinations of moves that are free under the hypothesis, each once."""
    import numpy as np

    everything = np.eye(rows + columns)
    if model.shares is not None:  # one row: its share moves all cells together
        return everything[:, :1] if model.size is None else everything[:, :0]
    free = [everything[:, k] - everything[:, rows - 1] for k in range(rows - 1)]
    free += [everything[:, rows + k] - everything[:, -1] for k in range(columns - 1)]
    return np.stack(free, axis=1)
