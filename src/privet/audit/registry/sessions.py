"""Audits of answers: a session is asked end to end about many groups alike, and each group is a release of its own.

Rows are units, each in one group, so what one group's answer tells about a row is all that is told. Sessions are opened
when an entry is judged, never when this module is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.audit.blackbox import DELTAS
from privet.audit.drawing import Draw
from privet.audit.entry import Entry
from privet.audit.exact import Curve, exact_curve
from privet.audit.gaussian_laws import least_sigma
from privet.audit.laws import integers, quantile_law
from privet.core.budget import Approximate, Pure
from privet.core.schema import Column, Table, category, integer, number, text
from privet.core.unit import Rows

if TYPE_CHECKING:
    from privet.session import Session

_GROUPS = 30_000
"""Groups that are asked about at once."""

_SAMPLES = 180_000
_DELTA = Fraction(1, 2)
"""A delta of the account that leaves the rule for keys one that samples can resolve."""

_FINE = 1.0001
"""Room for the grid on which thresholds and noise are rounded up."""

_PLENTY = Fraction(1000)
X, Y = number(0, 1, step=1), integer(0, 200)


def answers(select: str, epsilon: Fraction, column: Column = X, *, discovered: bool = False) -> Draw:
    """Return draws of what a session answers about a group that holds these numbers; or whether it shows the group."""

    def draw(values: Any, count: int) -> Any:
        parts = [
            _ask(select, epsilon, column, values, min(_GROUPS, count - start), discovered)
            for start in range(0, count, _GROUPS)
        ]
        return np.concatenate(parts)

    return draw


def _ask(select: str, epsilon: Fraction, column: Column, values: Any, groups: int, discovered: bool) -> Any:
    with _opened(column, values, groups, discovered) as session:
        answer = session.ask(_SQL.format(select), epsilon=epsilon)
        if not discovered:
            return np.array(answer["v"].values, dtype=np.float64)
        shown = set(answer.to_dict()["k"])
        return np.array([name in shown for name in _names(groups)])


_SQL = "SELECT k, {} AS v FROM t GROUP BY k"


def _names(groups: int) -> list[str]:
    return [f"g{place:05d}" for place in range(groups)]


def _opened(column: Column, values: Any, groups: int, discovered: bool) -> Session:
    import pyarrow

    from privet.session import Session

    names = _names(groups)
    rows = pyarrow.table(
        {
            "k": pyarrow.array(np.repeat(names, len(values)).tolist(), type=pyarrow.string()),
            "x": pyarrow.array(np.tile(np.array(values, dtype=np.float64), groups)),
        }
    )
    columns = {"k": text() if discovered else category(names), "x": column}
    budget = Approximate(epsilon=_PLENTY, delta=_DELTA) if discovered else Pure(epsilon=_PLENTY)
    return Session({"t": Table(rows, unit=Rows(), columns=columns)}, budget=budget)


def _asked(
    name: str,
    select: str,
    neighbours: tuple[Any, Any],
    law: Callable[[float, Any], Any] | None = None,
    *,
    epsilon: int = 2,
    column: Column = X,
    discovered: bool = False,
    look: Callable[[Any], Any] | None = None,
    samples: int = _SAMPLES,
    room: float = 1.0,
) -> Entry:
    """Return the entry of a question; with a law for an epsilon, the claim is the exact curve of the two groups."""

    def make(leak: Fraction) -> Draw:
        draw = answers(select, epsilon * leak, column, discovered=discovered)
        return draw if look is None else lambda values, count: look(draw(values, count))

    def curve(leak: Fraction, deltas: tuple[float, ...] = (0.0, *DELTAS)) -> Curve:
        spent = float(epsilon * leak)
        if law is None:
            return Curve(((spent, 0.0),))
        exact = exact_curve(law(spent, neighbours[0]), law(spent, neighbours[1]), deltas)
        return Curve(tuple((loss * room, delta) for loss, delta in exact.points))

    return Entry(
        name=name,
        mechanism=Rows,
        make=make,
        neighbours=neighbours,
        claimed=lambda: curve(Fraction(1)),
        stated=epsilon,
        loss=None if law is None else lambda leak: curve(leak, (0.0,)).points[0][0],
        samples=samples,
    )


def _mean(epsilon: float, values: Any) -> dict[float, float]:
    """Return the law of where a mean of zeros and ones lies: its sum from the middle and its count get half each."""
    noise = integers(2 / epsilon)
    found: dict[float, float] = {}
    for one, chance in noise.items():
        for other, part in noise.items():
            rows = len(values) + other
            mean = 0.5 + (sum(2 * value - 1 for value in values) + one) / (2 * rows) if rows >= 1 else 0.5
            label = float(side(min(max(mean, 0.0), 1.0)))
            found[label] = found.get(label, 0.0) + chance * part
    return found


def side(means: Any) -> Any:
    """Return where means between 0 and 1 lie: at an end, on a side of the middle, or in it."""
    numbers = np.asarray(means)
    return np.sign(numbers - 0.5) + (numbers == 1) - (numbers == 0)


def _median(epsilon: float, values: Any) -> list[float]:
    """Return the law of the choice of a median, which gets two thirds of epsilon: its ends get a sixth each."""
    return quantile_law(values, 200, q=0.5, rate=epsilon * 2 / 3)


def _shown(epsilon: float, values: Any) -> list[float]:
    """Return the chance that a group of so many rows is shown: they and Gaussian noise exceed 1 + q.

    A hundredth of delta bounds the chance that noise exceeds q. The noise for showing groups and that of their counts
    keep epsilon and the rest of delta together, so each is wider by the root of 2.
    """
    from scipy.special import ndtr, ndtri

    slipping = float(_DELTA) / 100
    sigma = math.sqrt(2) * least_sigma(epsilon, float(_DELTA) - slipping)
    chance = float(ndtr((len(values) - 1) / sigma + ndtri(slipping)))
    return [chance, 1 - chance]


SESSIONS: tuple[Entry, ...] = (
    _asked("Session, COUNT", "COUNT(*)", ([0.0], [0.0, 0.0])),
    _asked("Session, SUM", "SUM(x)", ([], [1.0])),
    _asked("Session, AVG", "AVG(x)", ([1.0, 1.0], [0.0, 1.0, 1.0]), _mean, epsilon=4, look=side),
    _asked("Session, MEDIAN", "MEDIAN(x)", ([170, 170], [170, 170, 200]), _median, epsilon=5, column=Y, samples=90_000),
    _asked("Session, found groups", "COUNT(*)", ([0.0] * 2, [0.0] * 3), _shown, discovered=True, room=_FINE),
)
