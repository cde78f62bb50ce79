"""The form of every aggregate: a few bounded integer sums, and a way to read the released ones.

`sums` uses only public facts and `read` only released numbers, so the author of an aggregate cannot break privacy.
Everything else in the package asks an aggregate through the methods here, or its entry in the registry.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from inspect import isabstract
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, Self

from privet.core.errors import BadParameter, RequestError, UnknownName, Unsupported
from privet.core.relation import Call, ColumnRef, Expression
from privet.core.scan import Sum
from privet.core.schema import Kind
from privet.core.wire import wired
from privet.inference.bars import Bars, Law, simulated_bars, simulated_errors
from privet.inference.equation import Equation

if TYPE_CHECKING:
    from privet.core.event import Floats

GRID = 2**24
"""A number without a declared step is measured in this many steps from the middle of its bounds to an end."""

_DOUBT = 2.0
"""A divisor below this many standard deviations of its noise carries no information about the quotient."""


@wired("Argument", "expression", "low", "high", "step", "nullable", "where", "held")
@dataclass(frozen=True, kw_only=True)
class Argument:
    """The public facts about an aggregate's argument: an expression with bounds, and the step of its grid."""

    expression: Expression
    low: Fraction
    high: Fraction
    step: Fraction | None
    nullable: bool
    where: Expression | None
    held: bool = True
    """Whether the expression itself is certain to lie within its bounds, before it is clamped on a grid."""

    @property
    def middle(self) -> Fraction:
        """The middle of the bounds."""
        return (self.low + self.high) / 2

    def plain(self) -> Sum:
        """Return the sum of x itself, in steps from zero."""
        return self._plain

    def centred(self) -> Sum:
        """Return the sum of x minus the middle of its bounds, which one row moves by half as much."""
        return self._centred

    def present(self) -> Sum:
        """Return the count of rows in which x is not NULL; it is the count of rows where x cannot be."""
        return self._present

    # each is asked for many times while a question is planned and its answer is read

    @cached_property
    def _plain(self) -> Sum:
        most = max(abs(self.low), abs(self.high))
        step = self.step or (most / GRID if most else Fraction(1))
        return self._sum(Fraction(0), step)

    @cached_property
    def _centred(self) -> Sum:
        half = (self.high - self.low) / 2
        # a declared step keeps its own points: with the middle between two of them, half steps hold all
        step = self.step / 2 if self.step else (half / GRID if half else Fraction(1))
        return self._sum(self.middle, step)

    def _sum(self, origin: Fraction, step: Fraction) -> Sum:
        low, high = (_nearest((end - origin) / step) for end in (self.low, self.high))
        return Sum(
            self.expression,
            low,
            high,
            origin=origin,
            step=step,
            where=self.where,
            null_as=None if self.nullable else low,
        )

    @cached_property
    def _present(self) -> Sum:
        if not self.nullable:
            return rows(self.where)
        known = Call("not", (Call("is_null", (self.expression,)),))
        return rows(known if self.where is None else Call("and", (known, self.where)))


def rows(where: Expression | None) -> Sum:
    """Return the count of rows that meet a condition."""
    return Sum(None, 1, 1, where=where)


def squares(centred: Sum) -> Sum:
    """Return the sum of the squares of a centred sum's values, itself centred, so that its range is halved."""
    most = max(abs(centred.low), abs(centred.high)) ** 2
    return replace(centred, power=2, offset=most // 2)


def squares_in(argument: Argument, released: Floats, rows: Floats) -> Floats:
    """Return the sum of (x - middle)^2 over this many rows, in the units of x, from the released sum of squares."""
    centred = argument.centred()
    return (released + squares(centred).offset * rows) * float(centred.step) ** 2


_DOUBTED = 1.21
"""(z^2 + 1) / 4 at 95%: an estimated variance, of a relative error r, must be 1 + this times r^2 as large to cover."""


def allowed_for(variance: Floats, deviation: Floats) -> Floats:
    """Return a variance that was estimated with noise of this deviation, made as large as its doubt makes necessary."""
    import numpy as np

    held = np.maximum(variance, 0.0)
    doubt = np.divide(deviation**2, np.maximum(held, deviation), out=np.zeros_like(held), where=deviation > 0)
    return np.asarray(held + _DOUBTED * doubt)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The public facts about one call of an aggregate in a query, from which it is made."""

    arguments: tuple[Argument, ...] = ()
    kinds: tuple[Kind | None, ...] = ()
    """The kind of each argument's values."""
    where: Expression | None = None
    options: Mapping[str, int | str] = field(default_factory=dict)
    form: str | None = None
    """The name in the query, where the aggregate has several."""


@dataclass(frozen=True, eq=False)
class SampleSums:
    """The release for one call of an aggregate, from which its value in a population is estimated."""

    sums: tuple[Floats, ...]
    """The released sums, in grid units, in the order of `Aggregate.sums`."""
    laws: tuple[Law, ...]
    most: float
    """The design effect: the most that one person weighs in a group, in rows; 1 where each row is a person."""
    beside: tuple[tuple[Floats, Law] | None, ...] = ()
    """The sums of `Aggregate.beside`, those that were released, with the laws of their noise."""


class Aggregate(ABC):
    """One way to summarise rows. Instances contain public facts only.

    A subclass names itself in `names`, and returns its `sums` and how to `read` them. That suffices for SQL, Python,
    plans and error bars once it is registered; the other members refine it.
    """

    names: ClassVar[Mapping[str, tuple[str, ...]]]
    """Each name in queries, in lower case, with its names in SQL. Where there are several, it is made with `form=`."""

    arity: ClassVar[int] = 1
    """The number of columns it is over: none, one or two."""

    bounded: ClassVar[bool] = True
    """Whether these must be numbers with public bounds."""

    symmetric: ClassVar[bool] = False
    """Whether the order of two columns does not matter, so that both orders are the same release."""

    counts: ClassVar[bool] = False
    """Whether the answer is a number of rows or people, and is shown as a whole number."""

    people: ClassVar[bool] = False
    """Whether each person counts once in each group, in a scan of its own."""

    additive: ClassVar[bool] = False
    """Whether totals are made of the parts' sums, so that the levels of ROLLUP can be made to agree."""

    ranked: ClassVar[bool] = False
    """Whether it is a quantile, whose interval is drawn with it."""
    chosen: ClassVar[bool] = False
    """Whether the answer is chosen from many by its value, so that no interval goes with it."""

    typical: ClassVar[str | None] = None
    """The name of such answers, where they are about a typical row, so that it matters how much each one counts."""

    own_pass: ClassVar[bool] = False
    """Whether it is released by a pass of its own, and not among the sums that others share."""

    steady: ClassVar[bool] = False
    """Whether it is read from several sums by fixed factors, so that `predicted_width` is its width on any data."""

    exactly: ClassVar[bool] = False
    """Whether `predicted_width` is a bound, and not a rough one."""

    unsampled: ClassVar[str | None] = "it does not state how far sampling moves it"
    """Why no interval of it covers a population; None where `equation` returns one."""

    estimand: ClassVar[str] = "number"
    """Its name in a population: the mean, the variance."""

    @classmethod
    def of(cls, wanted: Wanted) -> Self:
        """Return the aggregate that a query calls."""
        named = {} if wanted.form is None else {"form": wanted.form}
        return cls(*wanted.arguments, **named)

    @abstractmethod
    def sums(self) -> tuple[Sum, ...]:
        """Return the sums that must be released; where they are divided by a number of rows, it is the last."""

    @abstractmethod
    def read(self, *released: Floats) -> Floats:
        """Return the aggregate from released sums, in grid units, in the order of `sums`."""

    def divisors(self, *released: Floats) -> tuple[Floats, ...]:
        """Return the divisors of reading, beside the count: noise there matters most where it is small."""
        return ()

    def bars(self, released: Sequence[Floats], laws: Sequence[Law], tail: float) -> Bars:
        """Return intervals of the values read from sums, given the laws of their noise: by default, simulated."""
        import numpy as np

        low, high = self.ends
        tails = self._tails(released, laws, tail)
        simulated = simulated_bars(self.read, released, laws, tail=tails)
        unknown = tails <= 0
        return Bars(np.where(unknown, low, simulated.low), np.where(unknown, high, simulated.high), simulated.error)

    def _tails(self, released: Sequence[Floats], laws: Sequence[Law], tail: float) -> Floats:
        """Return tails for quotients by a noisy count, smaller the less is known about it, and 0 for nothing.

        Quantiles of simulated noise cover a ratio less often where its divisor is uncertain; this makes up for it.
        """
        import numpy as np

        size = len(released[-1])
        tails = np.full(size, tail)
        deviations = [(released[-1], np.asarray(laws[-1].deviation))]
        if divisors := self.divisors(*released):
            deviations += zip(divisors, simulated_errors(self.divisors, released, laws, tail=tails), strict=True)
        known = np.ones(size)
        for divisor, error in deviations:
            part = np.divide(_DOUBT * error, divisor, out=np.full(divisor.shape, np.inf), where=divisor > 0)
            known -= part * part
        return np.asarray(tail * np.clip(known, 0.0, 1.0))

    def beside(self) -> tuple[Sum, ...]:
        """Return sums that narrow an interval for a population, where the question releases them anyway."""
        return ()

    def equation(self, sampled: SampleSums) -> Equation:
        """Return how its value in the population that the rows were drawn from follows from the release."""
        raise Unsupported(f"covers='population' is not for this aggregate: {self.unsampled}")

    @property
    def curved(self) -> bool:
        """Whether its equation is about another number, which `from_equation` turns into its own."""
        return False

    def from_equation(self, values: Floats) -> Floats:
        """Return its own values from those that its equation is about, which rise with them."""
        return values

    def predicted_width(self, laws: Sequence[Law], n: int, tail: float) -> float | None:
        """Return how wide an interval over n rows is to either side at most; None where it depends on the data."""
        return None

    def narrowest_width(self, laws: Sequence[Law], n: int, tail: float) -> float:
        """Return how wide an interval over n rows is to either side at least, on any data; 0 where that is unknown."""
        return 0.0

    @property
    def most(self) -> float:
        """How far from zero one row can move a steady aggregate; infinity where that is unknown."""
        return float("inf")

    @property
    def linear(self) -> Fraction | None:
        """The factor that turns the one released sum into the answer, if that is all that reading does."""
        return None

    @property
    def extreme(self) -> bool:
        """Whether it is an end of the values, which is NULL where a noisy count finds no rows."""
        return False

    @property
    def kind(self) -> Kind:
        """The kind of the answer."""
        return "integer" if self.counts else "number"

    @property
    def ends(self) -> tuple[float, float]:
        """The least and largest value the aggregate can have, from public facts."""
        return float("-inf"), float("inf")


def deviations_in(law: Law, tail: float) -> float:
    """Return roughly how many standard deviations of its noise a half-width has."""
    return -math.log(tail) / math.sqrt(2) if law.family == "laplace" else NormalDist().inv_cdf(1 - tail / 2)


def _nearest(x: Fraction) -> int:
    return (2 * x.numerator + x.denominator) // (2 * x.denominator)


# The names by which queries call aggregates.


_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}", re.ASCII)
_MOST_ARGUMENTS = 2


@dataclass(frozen=True)
class NamedAggregate:
    """A name that a query may call an aggregate by, and the names that SQL has for it."""

    name: str
    aggregate: type[Aggregate]
    sql: tuple[str, ...]
    form: str | None = None
    plain: bool = True
    """Whether its columns are all that it takes, so that it is called by its name alone."""

    def of(self, wanted: Wanted) -> Aggregate:
        """Return the aggregate that a query calls by this name."""
        return self.aggregate.of(replace(wanted, form=self.form))

    def __call__(self, *arguments: Argument) -> Aggregate:
        """Return the aggregate of these arguments, where it needs nothing else."""
        return self.of(Wanted(arguments=arguments, where=arguments[0].where if arguments else None))


AGGREGATES: dict[str, NamedAggregate] = {}
"""Every aggregate, by its name in queries."""

_BY_SQL: dict[str, NamedAggregate] = {}
_RESERVED: set[str] = set()
_OWN: set[type[Aggregate]] = set()
"""The package's own, which are not to be taken out."""


def register(aggregate: type[Aggregate]) -> None:
    """Make an aggregate known to SQL, to `privet.query.terms.aggregate`, to plans and to answers.

    Guarantee: privacy does not rest on the aggregate. Its sums are measured with noise for the sensitivity that their
    declared ends imply, engines clamp to these ends, and what it reads was released.

    Raises:
        BadParameter: it is no complete aggregate, its names are none, one of them is taken, or a trial over columns
            from 1 to 2 shows that `sums` or `read` returns something else than it should.
    """
    if not isinstance(aggregate, type) or not issubclass(aggregate, Aggregate) or isabstract(aggregate):
        raise BadParameter("aggregate", aggregate, "a subclass of Aggregate with names, sums and read")
    entries = _entries(aggregate)
    for entry in entries:
        if entry.name in AGGREGATES:
            raise BadParameter("names", entry.name, "a name that no other aggregate has")
        for name in entry.sql:
            if name in _BY_SQL or name in _RESERVED:
                raise BadParameter("names", name, "a name that no other function of SQL has")
    for entry in entries:
        _try(entry)
    _add(entries)


def unregister(aggregate: type[Aggregate]) -> None:
    """Forget an aggregate that was registered from outside."""
    for entry in [entry for entry in AGGREGATES.values() if entry.aggregate is aggregate]:
        if entry.aggregate in _OWN:
            raise BadParameter("aggregate", aggregate.__name__, "one that was registered from outside")
        del AGGREGATES[entry.name]
        for name in entry.sql:
            del _BY_SQL[name]


def entry_of(function: str) -> NamedAggregate:
    """Return the aggregate that a query calls by a name."""
    if function not in AGGREGATES:
        raise UnknownName("aggregate", function, tuple(AGGREGATES))
    return AGGREGATES[function]


def in_sql(name: str) -> NamedAggregate | None:
    """Return the aggregate that SQL calls by a name, if its columns are all that it takes."""
    return _BY_SQL.get(name.upper())


def sql_names() -> tuple[str, ...]:
    """Return the names that SQL has for aggregates whose columns are all that they take."""
    return tuple(_BY_SQL)


def reserve(names: Iterable[str]) -> None:
    """Keep names of functions that are no aggregates, or have a syntax of their own, from being registered.

    Raises:
        BadParameter: one was registered before the functions of SQL were known.
    """
    for name in names:
        entry = _BY_SQL.get(name)
        if entry is not None and entry.aggregate not in _OWN:
            raise BadParameter("names", name, "a name that no other function of SQL has")
        _RESERVED.add(name)


def add_own(aggregate: type[Aggregate], *, plain: bool = True) -> None:
    """Make an aggregate of the package known; `plain` is whether SQL calls it by its name, with columns alone."""
    _OWN.add(aggregate)
    special = (NamedAggregate(name, aggregate, sql, plain=False) for name, sql in aggregate.names.items())
    _add(_entries(aggregate) if plain else special)


def _entries(aggregate: type[Aggregate]) -> tuple[NamedAggregate, ...]:
    names = getattr(aggregate, "names", {})
    multiple = len(names) > 1
    entries = tuple(
        NamedAggregate(name, aggregate, tuple(sql), name if multiple else None) for name, sql in names.items()
    )
    listed = [name.lower() if name.isupper() else "" for entry in entries for name in entry.sql]
    if not entries or not all(map(_NAME.fullmatch, (*names, *listed))) or len(set(listed)) < len(listed):
        raise BadParameter("names", dict(names), "such as {'rms': ('RMS',)}: in queries in lower case, in SQL in upper")
    if type(aggregate.arity) is not int or not 1 <= aggregate.arity <= _MOST_ARGUMENTS:
        raise BadParameter("arity", aggregate.arity, "1 or 2")
    return entries


def _try(entry: NamedAggregate) -> None:
    """Refuse an aggregate that fails over columns from 1 to 2: it would fail once a question was paid for."""
    import numpy as np

    number: Kind = "number"
    columns = tuple(
        Argument(expression=ColumnRef(name), low=Fraction(1), high=Fraction(2), step=None, nullable=True, where=None)
        for name in "xy"[: entry.aggregate.arity]
    )
    try:
        made = entry.of(Wanted(arguments=columns, kinds=(number,) * len(columns)))
        sums = made.sums()
        listed = isinstance(sums, tuple) and bool(sums) and all(isinstance(total, Sum) for total in sums)
        fault = None if listed else "its sums are no tuple of Sum"
        if fault is None and np.shape(made.read(*(np.array([3.0, 5.0]) for _ in sums))) != (2,):
            fault = "its read returns something else than an array with a number for each group"
    except RequestError:
        return  # it may be for other columns
    except Exception as error:  # of the author's code
        fault = f"it raised a {type(error).__name__}"
    if fault is not None:
        raise BadParameter(
            "aggregate", entry.aggregate.__name__, f"one that can be read: over columns from 1 to 2, {fault}"
        )


def _add(entries: Iterable[NamedAggregate]) -> None:
    for entry in entries:
        AGGREGATES[entry.name] = entry
        _BY_SQL.update(dict.fromkeys(entry.sql if entry.plain else (), entry))
