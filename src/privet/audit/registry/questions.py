"""Audits of more roads of a session: batches, several sums, people with bounded rows, joins, widths that are asked for.

As in `sessions`, one question is about many groups alike, and each group is a release of its own. All pairs reach the
stated epsilon, which is the claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.audit.drawing import Draw
from privet.audit.entry import Entry
from privet.audit.exact import Curve
from privet.core.budget import Pure
from privet.core.schema import Contribution, Table, category, integer
from privet.core.unit import Person, Rows, Unit

if TYPE_CHECKING:
    from privet.session import Session

_GROUPS = 50_000
_SAMPLES, _MORE = 100_000, 200_000
_STATED = 2
_COUNT = "SELECT k, COUNT(*) AS v FROM t GROUP BY k"
_SUM = "SELECT k, SUM(x) AS v FROM t GROUP BY k"

Tables = Callable[[Any, int], dict[str, Table]]
"""The tables of a session in which each of so many groups holds these numbers."""

Asks = Callable[["Session", Fraction], Any]
"""What is asked of a session at an epsilon: an array with a row, or a number, for each group."""


def _column(sql: str) -> Asks:
    return lambda session, epsilon: _numbers(session.ask(sql, epsilon=epsilon), "v")


def _both(session: Session, epsilon: Fraction) -> Any:
    """Ask for a count and a sum in one question."""
    answer = session.ask("SELECT k, COUNT(*) AS v, SUM(x) AS w FROM t GROUP BY k", epsilon=epsilon)
    return np.column_stack([_numbers(answer, "v"), _numbers(answer, "w")])


def _batch(session: Session, epsilon: Fraction) -> Any:
    """Ask for a count and a sum in two questions of one batch."""
    return np.column_stack([_numbers(answer, "v") for answer in session.ask_all([_COUNT, _SUM], epsilon=epsilon)])


def _within(session: Session, epsilon: Fraction) -> Any:
    """Ask for counts within 1 at the confidence of this epsilon: P[|noise| > 1] = 2 a^2 / (1 + a), a = e^-epsilon."""
    a = math.exp(-float(epsilon))
    return _numbers(session.ask(_COUNT, within=1, confidence=1 - 2 * a * a / (1 + a)), "v")


def _numbers(answer: Any, column: str) -> Any:
    return np.array(answer[column].values, dtype=np.float64)


def _draws(asks: Asks, epsilon: Fraction, tables: Tables) -> Draw:
    """Return draws of what a session answers about a group that holds these numbers."""
    from privet.session import Session

    def ask(values: Any, groups: int) -> Any:
        with Session(tables(values, groups), budget=Pure(epsilon=Fraction(1000))) as session:
            return asks(session, epsilon)

    return lambda values, count: np.concatenate(
        [ask(values, min(_GROUPS, count - start)) for start in range(0, count, _GROUPS)]
    )


def _table(
    values: Any,
    groups: int,
    *,
    unit: Unit | None = None,
    contribution: Contribution | None = None,
) -> Table:
    """Return a table in which each group holds these numbers, all of them one person's."""
    import pyarrow

    names = [f"g{place:05d}" for place in range(groups)]
    rows = {
        "k": pyarrow.array(np.repeat(names, len(values)).tolist(), type=pyarrow.string()),
        "who": pyarrow.array(np.repeat(np.arange(groups), len(values)), type=pyarrow.int64()),
        "x": pyarrow.array(np.tile(np.array(values, dtype=np.int64), groups), type=pyarrow.int64()),
    }
    columns = {"k": category(names), "who": integer(), "x": integer(0, 1)}
    return Table(pyarrow.table(rows), unit=unit or Rows(), columns=columns, contribution=contribution)


def _people(**facts: Any) -> Tables:
    return lambda values, groups: {"t": _table(values, groups, unit=Person("who"), **facts)}


def _joined(values: Any, groups: int) -> dict[str, Table]:
    """Return a table of groups, one row for each person, and one of these numbers that is linked by who it is."""
    once = Contribution(groups=1, rows=2)
    first = _table([0], groups, unit=Person("who"), contribution=once)
    return {"t": first, "s": _table(values, groups, unit=Person("who"), contribution=once)}


def _rows(values: Any, groups: int) -> dict[str, Table]:
    return {"t": _table(values, groups)}


def _question(
    name: str,
    asks: Asks,
    neighbours: tuple[Any, Any],
    tables: Tables = _rows,
    *,
    samples: int = _SAMPLES,
) -> Entry:
    """Return the entry of a question that states epsilon 2, which its pair reaches."""
    return Entry(
        name=name,
        mechanism=Rows,
        make=lambda leak: _draws(asks, _STATED * leak, tables),
        neighbours=neighbours,
        claimed=lambda: Curve(((float(_STATED), 0.0),)),
        stated=_STATED,
        samples=samples,
    )


_JOIN = "SELECT t.k AS k, COUNT(*) AS v FROM t JOIN s ON t.who = s.who GROUP BY t.k"
_DISTINCT = "SELECT k, COUNT(DISTINCT x) AS v FROM t GROUP BY k"
_TWICE = Contribution(groups=1, rows=2)

QUESTIONS: tuple[Entry, ...] = (
    _question("Session, COUNT(DISTINCT)", _column(_DISTINCT), ([0], [0, 1])),
    _question("Session, count and sum", _both, ([1], [1, 1])),
    _question("Session, batch", _batch, ([1], [1, 1])),
    _question("Session, within", _within, ([0], [0, 0])),
    _question("Session, people by norm", _column(_COUNT), ([], [0, 0, 0]), _people(), samples=2 * _MORE),
    _question(
        "Session, people by rows",
        _column(_COUNT),
        ([], [0, 0, 0]),
        _people(contribution=_TWICE),
        samples=_MORE,
    ),
    _question("Session, join", _column(_JOIN), ([], [0, 0, 0, 0, 0]), _joined, samples=_MORE),
)
