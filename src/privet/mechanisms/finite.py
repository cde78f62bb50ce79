"""Any finite mechanism as a stochastic matrix: its exact epsilon, its exact delta curve, exact draws."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, combinations
from typing import TYPE_CHECKING, Any, ClassVar

from privet import noise
from privet.accounting.events import FinitePairEvent
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.event import Atom, Exact
from privet.core.given import listed, set_fields, unwrapped
from privet.core.numbers import Number, exp_down, float_up, log_up, nonnegative, rational, whole

from .lattice import read_numbers
from .mechanism import Mechanism, read_times

if TYPE_CHECKING:
    from privet.core.event import Floats

Row = tuple[Fraction, ...]
_FLOAT_TOLERANCE = Fraction(1, 10**9)


@dataclass(frozen=True)
class FiniteEvent(Atom):
    """The worst of several exact pairs of finite distributions, in both directions.

    Example:
        >>> pair = accounting.FinitePairEvent((0.5, 0.5), (0.25, 0.75))
        >>> mechanisms.FiniteEvent((pair,)).slack()
        Fraction(0, 1)

    Guarantee: every curve is the largest of the pairs'; a maximum of convex privacy profiles is a convex
    profile, so it has a dominating pair.
    Cites: [ZDW22, dominating pairs].
    """

    pairs: tuple[FinitePairEvent, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.pairs, tuple) or not all(isinstance(pair, FinitePairEvent) for pair in self.pairs):
            raise BadParameter("pairs", self.pairs, "a tuple of FinitePairEvents")

    def pure(self) -> Exact:
        return max((pair.pure() for pair in self.pairs), default=Fraction(0))

    def rho(self) -> Exact:
        return max((pair.rho() for pair in self.pairs), default=Fraction(0))

    def slack(self) -> Fraction:
        return Fraction(0)

    def rdp(self, order: float) -> float:
        return max((pair.rdp(order) for pair in self.pairs), default=0.0)

    def pair(self) -> WorstPair:
        return WorstPair(self.pairs)


@dataclass(frozen=True)
class WorstPair:
    """The pointwise largest hockey-stick divergence over several pairs and both directions."""

    symmetric: ClassVar[bool] = True
    events: tuple[FinitePairEvent, ...]

    def forward(self, epsilon: Floats) -> Floats:
        import numpy as np

        worst = np.zeros_like(epsilon, dtype=np.float64)
        for event in self.events:
            pair = event.pair()
            worst = np.maximum(worst, np.maximum(pair.forward(epsilon), pair.backward(epsilon)))
        return worst

    def backward(self, epsilon: Floats) -> Floats:
        return self.forward(epsilon)

    def reach(self) -> tuple[float, float]:
        furthest = max((max(event.pair().reach()) for event in self.events), default=0.0)
        return furthest, furthest


@dataclass(frozen=True, init=False, repr=False)
class FiniteMechanism(Mechanism):
    """A mechanism with finitely many inputs (rows) and outputs (columns), defined by its probabilities.

    Integers, Fractions and Decimals must sum to exactly one in each row; rows with floats, to within 1e-9, and are
    then divided by their exact sum. `neighbors` lists the pairs of rows that must be hard to distinguish;
    without it, all of them.

    Args:
        matrix: a row of probabilities for each input, exact numbers that sum to 1.
        neighbors: pairs of rows that are neighbours; all pairs if left out.

    Raises:
        BadParameter: if the rows are no distributions.

    Example:
        >>> mechanism = privet.FiniteMechanism([[0.75, 0.25], [0.25, 0.75]])
        >>> round(mechanism.epsilon, 6)
        1.098612

    Guarantee: epsilon is the exact largest log ratio, rounded up; delta(epsilon) the exact hockey-stick divergence,
    rounded up; draws have exactly the probabilities of the matrix.
    Cites: [DR14, Def. 2.4], [BBG18, privacy profiles].
    """

    matrix: tuple[Row, ...]
    neighbors: tuple[tuple[int, int], ...]

    def __init__(self, matrix: Any, *, neighbors: Iterable[tuple[int, int]] | None = None) -> None:
        rows = _read_matrix(matrix)
        set_fields(self, matrix=rows, neighbors=_read_neighbors(neighbors, len(rows)))

    @cached_property
    def event(self) -> FiniteEvent:
        """The event of one release."""
        return FiniteEvent(tuple(FinitePairEvent(self.matrix[i], self.matrix[j]) for i, j in self.neighbors))

    @property
    def ratio(self) -> Exact:
        """The exact largest ratio of two neighbours' probabilities of one output; infinite beside a zero."""
        worst: Exact = Fraction(1)
        for i, j in self._directed:
            for p, q in zip(self.matrix[i], self.matrix[j], strict=True):
                if p:
                    worst = max(worst, p / q if q else math.inf)
        return worst

    @property
    def epsilon(self) -> float:
        """The exact pure epsilon: the logarithm of the largest ratio, rounded up."""
        ratio = self.ratio
        return ratio if isinstance(ratio, float) else float_up(log_up(ratio))

    def delta(self, epsilon: Number) -> float:
        """Return the least delta for which (epsilon, delta)-DP holds: the hockey-stick divergence, rounded up."""
        # e**epsilon rounded down, so that no more is subtracted than should be
        grown = exp_down(min(nonnegative(epsilon, "epsilon"), Fraction(2000)))
        worst = Fraction(0)
        for i, j in self._directed:
            excess = (p - grown * q for p, q in zip(self.matrix[i], self.matrix[j], strict=True))
            worst = max(worst, sum((x for x in excess if x > 0), Fraction(0)))
        return float_up(worst)

    def release(self, inputs: Any) -> Any:
        """Return an output's index for one input's index, or an array of them for an array."""
        import numpy as np

        numbers = read_numbers(inputs, "inputs")
        array = np.asarray(numbers.values)
        if not numbers.whole or not ((array >= 0) & (array < len(self.matrix))).all():
            allowed = f"an integer from 0 to {len(self.matrix) - 1}, or an array of them"
            raise BadValue("inputs", "something else", allowed)
        denominator, ladders = self._ladders
        drawn = noise.uniform_below(denominator, array.shape)
        outputs = [bisect_right(ladders[i], u) for i, u in zip(array.flat, drawn.flat, strict=True)]
        return outputs[0] if numbers.shape is None else np.array(outputs, dtype=np.int64).reshape(array.shape)

    def simulate(self, inputs: Any, times: int) -> Any:
        """Return this many outputs for the same input, along a first axis. Each costs the event once more."""
        import numpy as np

        array = np.asarray(read_numbers(inputs, "inputs").values)
        return self.release(np.repeat(array[np.newaxis], read_times(times), axis=0))

    def compose(self, other: FiniteMechanism) -> FiniteMechanism:
        """Return both mechanisms on the same input; output a of this and b of the other is number a * columns + b."""
        if not isinstance(other, FiniteMechanism) or len(other.matrix) != len(self.matrix):
            raise BadParameter("other", other, f"a FiniteMechanism with {len(self.matrix)} rows")
        rows = [[p * q for p in mine for q in theirs] for mine, theirs in zip(self.matrix, other.matrix, strict=True)]
        return FiniteMechanism(rows, neighbors=sorted({*self.neighbors, *other.neighbors}))

    def after(self, post: Any) -> FiniteMechanism:
        """Return this mechanism followed by a random map of its outputs, given as a stochastic matrix.

        Guarantee: never costs more, by post-processing.
        Cites: [DR14, Prop. 2.1].
        """
        steps = _read_matrix(post, "post")
        if len(steps) != len(self.matrix[0]):
            raise BadParameter("post", post, f"a matrix with {len(self.matrix[0])} rows, one for each output")
        columns = list(zip(*steps, strict=True))
        rows = [
            [sum((p * c for p, c in zip(row, col, strict=True)), Fraction(0)) for col in columns] for row in self.matrix
        ]
        return FiniteMechanism(rows, neighbors=self.neighbors)

    @property
    def _directed(self) -> list[tuple[int, int]]:
        return [*self.neighbors, *((j, i) for i, j in self.neighbors)]

    @cached_property
    def _ladders(self) -> tuple[int, list[list[int]]]:
        """Each row's running sums over one common denominator, without the last."""
        common = math.lcm(*(p.denominator for row in self.matrix for p in row))
        return common, [list(accumulate(int(p * common) for p in row[:-1])) for row in self.matrix]

    def __repr__(self) -> str:
        shape = f"{len(self.matrix)} inputs, {len(self.matrix[0])} outputs"
        return f"FiniteMechanism({shape}, epsilon={self.epsilon:.6g})"


def _read_matrix(matrix: Any, parameter: str = "matrix") -> tuple[Row, ...]:
    allowed = "a matrix of probabilities, one row for each input, whose rows sum to one"
    matrix = unwrapped(matrix)
    if not isinstance(matrix, Sequence) or isinstance(matrix, str) or not matrix:
        raise BadParameter(parameter, matrix, allowed)
    rows = [_read_row(row, f"row {i} of the {parameter}", allowed) for i, row in enumerate(matrix)]
    if len({len(row) for row in rows}) != 1:
        raise BadParameter(parameter, matrix, f"{allowed}, all rows of the same length")
    return tuple(rows)


def _read_row(row: Any, parameter: str, allowed: str) -> Row:
    row = unwrapped(row)
    if not isinstance(row, Sequence) or isinstance(row, str) or not row:
        raise BadParameter(parameter, row, allowed)
    exact = tuple(rational(p, parameter, "made of probabilities from 0 to 1") for p in row)
    total = sum(exact, Fraction(0))
    tolerance = Fraction(0) if all(isinstance(p, (int, Fraction, Decimal)) for p in row) else _FLOAT_TOLERANCE
    if any(p < 0 for p in exact) or abs(total - 1) > tolerance:
        raise BadParameter(parameter, row, "made of probabilities that sum to one")
    return tuple(p / total for p in exact)


def _read_neighbors(neighbors: Iterable[tuple[int, int]] | None, rows: int) -> tuple[tuple[int, int], ...]:
    if neighbors is None:
        return tuple(combinations(range(rows), 2))
    allowed = f"pairs of row numbers from 0 to {rows - 1}"
    pairs = set()
    for pair in listed(neighbors, "neighbors", allowed):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise BadParameter("neighbors", pair, allowed)
        i, j = (whole(row, "a row of neighbors", most=rows - 1) for row in pair)
        pairs.add((min(i, j), max(i, j)))
    if not pairs:
        raise RequestError("neighbors must name at least one pair of rows; without it, all pairs are neighbours")
    return tuple(sorted(pairs))
