"""Audits of answers: a session is asked end to end, and each group is a separate release."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.accounting.gdp import gaussian_mu
from privet.audit.blackbox import DELTAS, PAIRS, audit_bits
from privet.audit.entry import AuditEntry
from privet.audit.exact import Curve, exact_curve, gaussian_curve, integers, least_sigma, quantile_law
from privet.audit.releases import Draw
from privet.audit.report import Report
from privet.core.budget import Approximate, Pure
from privet.core.given import optional_package
from privet.core.schema import ColumnFacts, Contribution, Table, category, integer, number, text
from privet.core.unit import Person, Rows, Unit
from privet.mechanisms import (
    AboveThreshold,
    Average,
    Gaussian,
    Laplace,
    Local,
    Mechanism,
    NumericSparse,
    ProposeTestRelease,
    Quantile,
    SmoothQuantile,
    SmoothSensitivity,
    TopKWithGaps,
)

from .noisy_numbers import FEW, tulap_law

if TYPE_CHECKING:
    from privet.session import Session


# Audits of answers: a session is asked end to end about many groups alike, and each group is a separate release.
#
# Rows are units, each in one group, so one group's answer is all that is disclosed about a row. Sessions are opened
# when an entry is judged, never when this module is read.


_GROUPS = 30_000
"""Groups that are asked about at once."""

_SAMPLES = 180_000
_DELTA = Fraction(1, 2)
"""A delta of the account that leaves the rule for keys one that samples can resolve."""

_FINE = 1.0001
"""Allowance for the grid on which thresholds and noise are rounded up."""

_PLENTY = Fraction(1000)
X, Y = number(0, 1, step=1), integer(0, 200)


def answers(select: str, epsilon: Fraction, column: ColumnFacts = X, *, discovered: bool = False) -> Draw:
    """Return draws of what a session answers about a group with these numbers; or whether it shows the group."""

    def draw(values: Any, count: int) -> Any:
        parts = [
            _ask(select, epsilon, column, values, min(_GROUPS, count - start), discovered)
            for start in range(0, count, _GROUPS)
        ]
        return np.concatenate(parts)

    return draw


def _ask(select: str, epsilon: Fraction, column: ColumnFacts, values: Any, groups: int, discovered: bool) -> Any:
    with _opened(column, values, groups, discovered) as session:
        answer = session.ask(_SQL.format(select), epsilon=epsilon)
        if not discovered:
            return np.array(answer["v"].values, dtype=np.float64)
        shown = set(answer.to_dict()["k"])
        return np.array([name in shown for name in _names(groups)])


_SQL = "SELECT k, {} AS v FROM t GROUP BY k"


def _names(groups: int) -> list[str]:
    return [f"g{place:05d}" for place in range(groups)]


def _opened(column: ColumnFacts, values: Any, groups: int, discovered: bool) -> Session:
    from privet.session import Session

    pyarrow = optional_package("pyarrow", "audits of questions need")
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
    column: ColumnFacts = X,
    discovered: bool = False,
    look: Callable[[Any], Any] | None = None,
    samples: int = _SAMPLES,
    margin: float = 1.0,
) -> AuditEntry:
    """Return the entry of a question; with a law for an epsilon, the claim is the exact curve of the two groups."""

    def make(leak: Fraction) -> Draw:
        draw = answers(select, epsilon * leak, column, discovered=discovered)
        return draw if look is None else lambda values, count: look(draw(values, count))

    def curve(leak: Fraction, deltas: tuple[float, ...] = (0.0, *DELTAS)) -> Curve:
        spent = float(epsilon * leak)
        if law is None:
            return Curve(((spent, 0.0),))
        exact = exact_curve(law(spent, neighbours[0]), law(spent, neighbours[1]), deltas)
        return Curve(tuple((loss * margin, delta) for loss, delta in exact.points))

    return AuditEntry(
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
    chances: dict[float, float] = {}
    for drawn, chance in noise.items():
        for other, part in noise.items():
            rows = len(values) + other
            mean = 0.5 + (sum(2 * value - 1 for value in values) + drawn) / (2 * rows) if rows >= 1 else 0.5
            label = float(side(min(max(mean, 0.0), 1.0)))
            chances[label] = chances.get(label, 0.0) + chance * part
    return chances


def side(means: Any) -> Any:
    """Return where means between 0 and 1 lie: at an end, on a side of the middle, or in it."""
    numbers = np.asarray(means)
    return np.sign(numbers - 0.5) + (numbers == 1) - (numbers == 0)


def _median(epsilon: float, values: Any) -> list[float]:
    """Return the law of the choice of a median, which gets three fifths of epsilon: its interval gets the rest."""
    return quantile_law(values, 200, q=0.5, rate=epsilon * 3 / 5)


def _shown(epsilon: float, values: Any) -> list[float]:
    """Return the chance that a group of this many rows is shown: they and Gaussian noise exceed 1 + q.

    A hundredth of delta bounds the chance that noise exceeds q. The noise for showing groups and that of their counts
    keep epsilon and the rest of delta together, so each is wider by the root of 2.
    """
    from scipy.special import ndtr, ndtri

    slipping = float(_DELTA) / 100
    sigma = math.sqrt(2) * least_sigma(epsilon, float(_DELTA) - slipping)
    chance = float(ndtr((len(values) - 1) / sigma + ndtri(slipping)))
    return [chance, 1 - chance]


SESSIONS: tuple[AuditEntry, ...] = (
    _asked("Session, COUNT", "COUNT(*)", ([0.0], [0.0, 0.0])),
    _asked("Session, SUM", "SUM(x)", ([], [1.0])),
    _asked("Session, AVG", "AVG(x)", ([1.0, 1.0], [0.0, 1.0, 1.0]), _mean, epsilon=4, look=side),
    _asked("Session, MEDIAN", "MEDIAN(x)", ([170, 170], [170, 170, 200]), _median, epsilon=5, column=Y, samples=90_000),
    _asked("Session, found groups", "COUNT(*)", ([0.0] * 2, [0.0] * 3), _shown, discovered=True, margin=_FINE),
)


# Audits of more paths through a session: batches, several sums, people with bounded rows, joins, widths that are asked
# for.
#
# As in `sessions`, one question is about many groups alike, and each group is a separate release. All pairs reach the
# stated epsilon, which is the claim.


_QUESTION_GROUPS = 50_000
_QUESTION_SAMPLES, _MORE = 100_000, 200_000
_STATED = 2
_COUNT = "SELECT k, COUNT(*) AS v FROM t GROUP BY k"
_SUM = "SELECT k, SUM(x) AS v FROM t GROUP BY k"

Tables = Callable[[Any, int], dict[str, Table]]
"""The tables of a session in which each of this many groups has these numbers."""

Asks = Callable[["Session", Fraction], Any]
"""The answers of a session at an epsilon: an array with a row, or a number, for each group."""


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
    """Return draws of what a session answers about a group with these numbers."""
    from privet.session import Session

    def ask(values: Any, groups: int) -> Any:
        with Session(tables(values, groups), budget=Pure(epsilon=Fraction(1000))) as session:
            return asks(session, epsilon)

    return lambda values, count: np.concatenate(
        [ask(values, min(_QUESTION_GROUPS, count - start)) for start in range(0, count, _QUESTION_GROUPS)]
    )


def _table(
    values: Any,
    groups: int,
    *,
    unit: Unit | None = None,
    contribution: Contribution | None = None,
) -> Table:
    """Return a table in which each group has these numbers, all of them one person's."""
    pyarrow = optional_package("pyarrow", "audits of questions need")
    names = [f"g{place:05d}" for place in range(groups)]
    rows = {
        "k": pyarrow.array(np.repeat(names, len(values)).tolist(), type=pyarrow.string()),
        "who": pyarrow.array(np.repeat(np.arange(groups), len(values)), type=pyarrow.int64()),
        "x": pyarrow.array(np.tile(np.array(values, dtype=np.int64), groups), type=pyarrow.int64()),
    }
    columns = {"k": category(names), "who": integer(), "x": integer(0, 1)}
    return Table(pyarrow.table(rows), unit=unit or Rows(), columns=columns, contribution=contribution)


def _people(**facts: Any) -> Tables:
    stated = {"contribution": Contribution(groups=1, rows=1), **facts}
    return lambda values, groups: {"t": _table(values, groups, unit=Person("who"), **stated)}


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
    samples: int = _QUESTION_SAMPLES,
) -> AuditEntry:
    """Return the entry of a question that states epsilon 2, which its pair reaches."""
    return AuditEntry(
        name=name,
        mechanism=Rows,
        make=lambda leak: _draws(asks, _STATED * leak, tables),
        neighbours=neighbours,
        claimed=lambda: Curve(((float(_STATED), 0.0),)),
        stated=_STATED,
        samples=samples,
    )


def _sizes(epsilon: Fraction) -> Draw:
    """Return draws of noisy numbers of people by size, as a plan releases them: each bin is a separate release."""
    from privet.planner.make import make_plan
    from privet.planner.measures import OpenedSums
    from privet.planner.plan import Spend
    from privet.query.sql.parse import parse

    facts = {"k": category(["g"]), "who": integer(), "x": integer(0, 1)}
    table = Table(None, unit=Person("who"), columns=facts, contribution=_TWICE, most_rows=2**30)
    tables = {"t": table.schema}
    spend = Spend(2 * epsilon, Fraction(0), None, Fraction(0))  # sizes take half of it
    pass_ = make_plan(parse("SELECT COUNT(*) AS v FROM t", tables), tables, spend=spend, covers="bounding").passes[0]
    bins = len(pass_.scan.sizes.edges) + 1 if pass_.scan.sizes is not None else 1

    def draw(people: Any, count: int) -> Any:
        opened = OpenedSums({(place,): (people,) for place in range(bins)}, {})
        drawn = [pass_.measure.draw(opened, pass_.scan, ())[0] for _ in range(-(-count // bins))]
        return np.array(drawn, dtype=np.float64).ravel()[:count]

    return draw


def _cells(epsilon: Fraction) -> Draw:
    """Return draws of a strategy's measurements, as a plan releases them: each row of the matrix sums two cells."""
    from privet.aggregates.aggregate import rows
    from privet.core.relation import ColumnRef
    from privet.core.scan import Once, Scan
    from privet.planner.keys import Choice, group_key
    from privet.planner.many_counts import strategy_measure
    from privet.planner.matrix import MatrixMeasure
    from privet.planner.measures import OpenedSums
    from privet.strategy import MatrixStrategy

    facts = {"k": integer(0, 2 * _PAIRS - 1)}
    schema = Table(None, unit=Rows(), columns=facts).schema
    scan = Scan("t", schema, None, (group_key(ColumnRef("k"), facts),), (rows(None),), Once())
    matrix = np.repeat(np.eye(_PAIRS, dtype=np.int64), 2, axis=1)
    noise = strategy_measure(scan, MatrixStrategy("pairs", "pure", matrix, [1] * _PAIRS), Choice("laplace", epsilon))
    measure = MatrixMeasure(noise)
    measure.verify(scan)

    def draw(people: Any, count: int) -> Any:
        opened = OpenedSums({(2 * place,): (people,) for place in range(_PAIRS)}, {})
        drawn = [measure.draw(opened, scan, ())[0] for _ in range(-(-count // _PAIRS))]
        return np.array(drawn, dtype=np.float64).ravel()[:count]

    return draw


def _shares(epsilon: Fraction) -> Draw:
    """Return draws of a count with truncated Tulap noise, as the plan of a test releases it: which half of a unit it
    lies in.
    """
    from privet.planner.make import make_plan
    from privet.planner.measures import OpenedSums
    from privet.planner.plan import Spend
    from privet.planner.share_plan import with_tulap
    from privet.query.sql.parse import parse

    tables = {"t": Table(None, unit=Rows(), columns={"x": integer(0, 1)}).schema}
    spend = Spend(epsilon, FEW, None, Fraction(0))
    counted = make_plan(parse("SELECT COUNT(*) FILTER (WHERE x = 1) AS v FROM t", tables), tables, spend=spend)
    (pass_,) = with_tulap(counted, FEW).passes
    pass_.measure.verify(pass_.scan)

    def draw(people: Any, count: int) -> Any:
        opened = OpenedSums({(): (people,)}, {})
        drawn = (pass_.measure.draw(opened, pass_.scan, ((),)) for _ in range(count))
        return np.array([2 * nearest - (part < 0) for (nearest,), (part,) in drawn], dtype=np.float64)

    return draw


def _shares_curve(leak: Fraction, deltas: tuple[float, ...]) -> Curve:
    exact = exact_curve(tulap_law(float(leak), 10), tulap_law(float(leak), 11), deltas)
    # at its own delta the loss is epsilon exactly, but for the rounding of the law
    return Curve(tuple((min(loss, float(leak)), delta) for loss, delta in exact.points if loss > 0))


def _sums_beside_a_count(leak: Fraction) -> Draw:
    """Return draws of two sums that are read beside one count, as a plan releases them: each group is a release.

    Of the three numbers the sum is kept, each over its variance, by which two groups are distinguished best: those that
    differ by a row of ones.
    """
    from privet.planner.make import make_plan
    from privet.planner.measures import OpenedSums
    from privet.planner.plan import Spend
    from privet.query.sql.parse import parse

    names = _names(_QUESTION_GROUPS)
    facts = {"k": category(names), "x": integer(0, 1), "y": integer(0, 1)}
    tables = {"t": Table(None, unit=Rows(), columns=facts).schema}
    query = parse("SELECT k, SUM(x) AS v, SUM(y) AS w FROM t GROUP BY k", tables)
    rho = Fraction(gaussian_mu(_LOUD * leak, _TINY)) ** 2 / 2
    (pass_,) = make_plan(query, tables, spend=Spend(None, Fraction(0), rho, Fraction(0)), sharing=True).passes
    moves = [total.high for total in pass_.scan.sums]
    weights = np.array(
        [move / float(each.mechanism.variance) for move, each in zip(moves, pass_.measures, strict=True)]
    )

    def ask(rows: Any, groups: int) -> Any:
        cells = tuple((name,) for name in names[:groups])
        opened = OpenedSums({cell: [move * len(rows) for move in moves] for cell in cells}, {})
        return weights @ np.array(pass_.measure.draw(opened, pass_.scan, cells), dtype=np.float64)

    return lambda rows, count: np.concatenate(
        [ask(rows, min(_QUESTION_GROUPS, count - start)) for start in range(0, count, _QUESTION_GROUPS)]
    )


_LOUD, _TINY = 4, Fraction(1, 10**6)
_PAIRS = 200
_TWICE = Contribution(groups=1, rows=2)
_JOIN = "SELECT t.k AS k, COUNT(*) AS v FROM t JOIN s ON t.who = s.who GROUP BY t.k"
_DISTINCT = "SELECT k, COUNT(DISTINCT x) AS v FROM t GROUP BY k"

QUESTIONS: tuple[AuditEntry, ...] = (
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
    AuditEntry(
        name="Session, sizes of people",
        mechanism=Rows,
        make=lambda leak: _sizes(_STATED * leak),
        neighbours=(3, 4),
        claimed=lambda: Curve(((float(_STATED), 0.0),)),
        stated=_STATED,
        samples=_QUESTION_SAMPLES,
    ),
    AuditEntry(
        name="Session, sums of a strategy",
        mechanism=Rows,
        make=lambda leak: _cells(_STATED * leak),
        neighbours=(3, 4),
        claimed=lambda: Curve(((float(_STATED), 0.0),)),
        stated=_STATED,
        samples=_QUESTION_SAMPLES,
    ),
    AuditEntry(
        name="Session, truncated count",
        mechanism=Rows,
        make=_shares,
        neighbours=(10, 11),
        claimed=lambda: _shares_curve(Fraction(1), (float(FEW), *(delta for delta in DELTAS if delta > FEW))),
        stated=1,
        loss=lambda leak: _shares_curve(leak, (float(FEW),)).points[0][0],
        samples=300_000,
    ),
    AuditEntry(
        name="Session, sums beside a count",
        mechanism=Rows,
        make=_sums_beside_a_count,
        neighbours=([], [1]),
        claimed=lambda: gaussian_curve(float(_LOUD), float(_TINY), DELTAS),
        stated=_LOUD,
        samples=2 * _MORE,
    ),
    _question("Session, join", _column(_JOIN), ([], [0, 0, 0, 0, 0]), _joined, samples=_MORE),
)


# Every outlet through which a number leaves as a double, with values between which its low bits must reveal nothing.
#
# Goodness of fit does not detect what low bits reveal, so this is a separate check.


_LOW, _HIGH = -1, 1023
"""Bounds that contain all values of `PAIRS`."""


@dataclass(frozen=True)
class DoublesCheck:
    """An outlet by name, its draws, what a pair of values may reveal, and how a value becomes an input."""

    name: str
    draw: Callable[[], Draw]
    claimed: Any
    given: Callable[[float], Any] = float
    samples: int = 20_000

    def judge(self) -> Report:
        """Return the most telling audit of the low bits over all pairs of values."""
        pairs = tuple((self.given(a), self.given(b)) for a, b in PAIRS)
        return audit_bits(self.draw(), self.claimed, self.samples, pairs=pairs)


def _of(mechanism: Mechanism, column: int | None = None) -> Callable[[], Draw]:
    """Return the draws of a mechanism, or a column of them; values that are no numbers count as 0."""

    def draw(value: Any, count: int) -> Any:
        drawn = np.array(
            [np.nan if entry is None else entry for entry in mechanism.simulate(value, count)], dtype=np.float64
        )
        return np.nan_to_num(drawn if column is None else drawn[:, column], nan=0.0)

    return lambda: draw


def _road(name: str, mechanism: Mechanism, given: Callable[[float], Any] = float, **facts: Any) -> DoublesCheck:
    return DoublesCheck(name, _of(mechanism, facts.pop("column", None)), mechanism.event, given, **facts)


def _beside(value: float) -> list[float]:
    return [value, 0.3]


def _local(value: float) -> Local:
    return Local(value, [1] * 40)


def _asked_once(select: str, samples: int = 20_000) -> DoublesCheck:
    # a row that changes is one that goes and one that comes: twice the epsilon
    column = number(_LOW, _HIGH)
    return DoublesCheck(
        f"Session, {select}", lambda: answers(select, Fraction(1), column), 2, lambda x: [x, 0.3], samples
    )


_RANGE: dict[str, Any] = {"low": _LOW, "high": _HIGH}
_ROWS: dict[str, Any] = {**_RANGE, "epsilon": 1, "neighbors": "change-one"}

DOUBLES: tuple[DoublesCheck, ...] = (
    _road("Laplace", Laplace(sensitivity=1, epsilon=1)),
    _road("Laplace, wide", Laplace(sensitivity=1, epsilon=Fraction(1, 10))),
    _road("Laplace, vectors", Laplace(sensitivity=1, epsilon=1), _beside),
    _road("Gaussian", Gaussian(sensitivity=1, sigma=1)),
    _road("Gaussian, narrow", Gaussian(sensitivity=1, sigma=Fraction(3, 10))),
    _road("Gaussian, vectors", Gaussian(sensitivity=1, sigma=1), _beside),
    _road("Top k with gaps, the gap", TopKWithGaps(k=1, sensitivity=1, epsilon=1), _beside, column=1),
    _road("Above threshold, the gap", AboveThreshold(threshold=0, sensitivity=1, epsilon=1), lambda x: [x], column=1),
    _road(
        "Sparse vector, the number",
        NumericSparse(threshold=0, limit=1, sensitivity=1, epsilon=1),
        lambda x: [x],
        column=2,
    ),
    _road("Smooth sensitivity", SmoothSensitivity(**_RANGE, epsilon=1), _local, samples=5_000),
    _road("Smooth quantile", SmoothQuantile(q=0.5, **_RANGE, epsilon=1), lambda x: [x, 0.3, 0.5], samples=5_000),
    _road("Average", Average(**_ROWS), _beside),
    _road("Quantile", Quantile(q=0.5, **_ROWS), lambda x: [x, 0.3, 0.5], samples=5_000),
    _road("Propose, test, release", ProposeTestRelease(bound=1, epsilon=1, delta=Fraction(1, 20)), _local),
    _asked_once("SUM(x)"),
    _asked_once("AVG(x)"),
    _asked_once("MEDIAN(x)", 1_000),
)
