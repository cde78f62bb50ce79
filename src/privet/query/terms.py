"""Column expressions in Python: `col("age") > 65`.

A term is a value: every operator returns a new one. It contains our own tree and nothing of an engine.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn, Union, get_args

from privet.aggregates import entry_of
from privet.core.errors import BadParameter, RequestError, UnknownName
from privet.core.given import choice, instance, plain_text
from privet.core.numbers import Number, positive, probability, rational, whole
from privet.core.relation import ColumnRef, Expression, Literal

from .functions import FUNCTIONS
from .nodes import Per, aggregate_of_two
from .nodes import aggregate as marked_aggregate
from .nodes import bounded as marked_bounded
from .nodes import bounds as marked_bounds
from .nodes import grouping as marked_grouping
from .nodes import histogram as marked_histogram
from .nodes import mode as marked_mode
from .nodes import quantile as marked_quantile
from .nodes import top_k as marked_top_k
from .normal import call

_INT64 = 2**63

Width = Number | str | Mapping[str, Number | str]
"""How wide an interval may be: a half-width, a share such as "2%", or either by column."""

Constant = Union["Term", str, Number, bool, datetime.date, None]
"""The other operand of a term: another one, or a constant."""


@dataclass(frozen=True, eq=False, repr=False)
class Term:
    """An expression over columns, or over aggregates. Comparisons and `&`, `|`, `~` make conditions."""

    expression: Expression

    def __repr__(self) -> str:
        from .to_sql import expression_sql

        return f"Term({expression_sql(self.expression)})"

    def __bool__(self) -> NoReturn:
        raise RequestError(
            "a condition on a column is not true or false by itself; write (a > 1) & (b < 2) instead of `and`, "
            "| instead of `or`, ~ instead of `not`, x.between(1, 2) instead of 1 < x < 2, x.is_in([1, 2]) instead of in"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError("a term is not a list")

    def __hash__(self) -> int:
        return hash(self.expression)

    def _with(self, function: str, **others: Constant) -> Term:
        return Term(call(function, self.expression, *(constant(other, name) for name, other in others.items())))

    def _after(self, function: str, **others: Constant) -> Term:
        return Term(call(function, *(constant(other, name) for name, other in others.items()), self.expression))

    def __add__(self, other: Constant) -> Term:
        return self._with("add", other=other)

    def __radd__(self, other: Constant) -> Term:
        return self._after("add", other=other)

    def __sub__(self, other: Constant) -> Term:
        return self._with("subtract", other=other)

    def __rsub__(self, other: Constant) -> Term:
        return self._after("subtract", other=other)

    def __mul__(self, other: Constant) -> Term:
        return self._with("multiply", other=other)

    def __rmul__(self, other: Constant) -> Term:
        return self._after("multiply", other=other)

    def __truediv__(self, other: Constant) -> Term:
        return self._with("divide", other=other)

    def __rtruediv__(self, other: Constant) -> Term:
        return self._after("divide", other=other)

    def __mod__(self, other: Constant) -> Term:
        return self._with("modulo", other=other)

    def __pow__(self, other: Constant) -> Term:
        return self._with("power", other=other)

    def __neg__(self) -> Term:
        return self._with("negate")

    def __abs__(self) -> Term:
        return self._with("abs")

    def __eq__(self, other: Constant) -> Term:  # type: ignore[override]
        return self._with("equal", other=other)

    def __ne__(self, other: Constant) -> Term:  # type: ignore[override]
        return self._with("not_equal", other=other)

    def __lt__(self, other: Constant) -> Term:
        return self._with("less", other=other)

    def __le__(self, other: Constant) -> Term:
        return self._with("less_equal", other=other)

    def __gt__(self, other: Constant) -> Term:
        return self._with("greater", other=other)

    def __ge__(self, other: Constant) -> Term:
        return self._with("greater_equal", other=other)

    def __and__(self, other: Constant) -> Term:
        return self._with("and", other=other)

    def __or__(self, other: Constant) -> Term:
        return self._with("or", other=other)

    def __invert__(self) -> Term:
        return self._with("not")

    def is_in(self, values: list[Constant] | tuple[Constant, ...]) -> Term:
        """Return whether the value is one of some constants."""
        if not isinstance(values, (list, tuple)) or not values or any(value is None for value in values):
            raise BadParameter("values", values, "a list of constants other than None")
        return Term(call("in", self.expression, *(constant(value, "values") for value in values)))

    def between(self, low: Constant, high: Constant) -> Term:
        """Return whether the value lies within two ends, both included."""
        return self._with("greater_equal", low=low) & self._with("less_equal", high=high)

    def is_null(self) -> Term:
        """Return whether the value is NULL."""
        return self._with("is_null")

    def like(self, pattern: str, *, escape: str | None = None) -> Term:
        """Return whether a text matches a pattern, in which % is any text and _ one character."""
        given = {"pattern": plain_text(pattern, "pattern", "a pattern")}
        if escape is not None:
            given["escape"] = plain_text(escape, "escape", "a character", least=1, most=1)
        return self._with("like", **given)

    def starts_with(self, prefix: str | Term) -> Term:
        """Return whether a text starts with another."""
        return self._with("starts_with", prefix=_text(prefix, "prefix"))

    def contains(self, part: str | Term) -> Term:
        """Return whether a text contains another."""
        return self._with("contains", part=_text(part, "part"))

    def lower(self) -> Term:
        """Return a text in lower case."""
        return self._with("lower")

    def upper(self) -> Term:
        """Return a text in upper case."""
        return self._with("upper")

    def length(self) -> Term:
        """Return the number of characters of a text."""
        return self._with("length")

    def floor(self) -> Term:
        """Return the largest whole number that is not above the value."""
        return self._with("floor")

    def ceil(self) -> Term:
        """Return the least whole number that is not below the value."""
        return self._with("ceil")

    def round(self, digits: int | Term | None = None) -> Term:
        """Return the value rounded, halves up: to a whole number, or to this many decimals."""
        return self._with("round") if digits is None else self._with("round_to", digits=_digits(digits))

    def sqrt(self) -> Term:
        """Return the square root; NULL below 0."""
        return self._with("sqrt")

    def ln(self) -> Term:
        """Return the natural logarithm; NULL up to 0."""
        return self._with("ln")

    def bin(self, width: Number | Term) -> Term:
        """Return the low end of the bin of a width that contains the value."""
        return self._with("bin", width=positive_constant(width, "width"))

    def clip(self, low: Constant, high: Constant) -> Term:
        """Return the value brought within two ends, as LEAST(GREATEST(x, low), high) is; NULL becomes `low`."""
        return self._with("greatest", low=low)._with("least", high=high)

    def fill_null(self, value: Constant) -> Term:
        """Return the value, or another where it is NULL."""
        return self._with("coalesce", value=value)

    def cast(self, kind: str) -> Term:
        """Return the value as another kind: integer, number, text, date, timestamp or boolean; NULL where it cannot."""
        kinds = ("integer", "number", "text", "date", "timestamp", "boolean")
        return self._with(f"to_{choice(kind, 'kind', kinds)}")

    def date_part(self, part: str) -> Term:
        """Return a part of a date or timestamp: year, quarter, month, week, day, day_of_week, day_of_year, hour, ..."""
        known = ("year", "quarter", "month", "week", "day", "day_of_week", "day_of_year", "hour", "minute", "second")
        return self._with(choice(part, "part", known))

    def truncate(self, part: str) -> Term:
        """Return the start of the day, week, month, quarter or year (timestamps: also hour) that contains a moment."""
        return self._after("date_trunc", part=plain_text(part, "part", "a part of a date, such as 'month'"))

    def bounded(self, low: Number, high: Number, *, per: Per = "group") -> Term:
        """Return an aggregate with bounds: of each person's contribution to a group, or of the value of each row.

        Args:
            low: the lower end, to which less is raised.
            high: the higher end, to which more is lowered.
            per: "group" clamps each person's own sum, count or mean in a group; "row" clamps each value.

        Example:
            >>> question = session.table("visits").agg(answer=privet.sum("cost").bounded(0, 100))
            >>> session.plan(question, epsilon=0.5).price["epsilon"]
            0.5
        """
        choice(per, "per", get_args(Per))
        if rational(low, "low") > rational(high, "high"):
            raise BadParameter("low", low, f"at most high, which is {high}")
        return Term(marked_bounded(self.expression, per, constant(low, "low"), constant(high, "high")))

    def desc(self) -> Descending:
        """Return the term for `order_by`, largest first."""
        return Descending(self)


@dataclass(frozen=True, eq=False)
class Descending:
    """A term to order by, largest first."""

    term: Term


def col(name: str) -> Term:
    """Return a column by its name.

    Args:
        name: the name of the column.

    Example:
        >>> question = session.table("visits").where(privet.col("cost") > 3).agg(n=privet.count())
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return Term(ColumnRef(plain_text(name, "name", "the name of a column", least=1)))


def when(condition: Term, value: Constant, *more: Constant, otherwise: Constant = None) -> Term:
    """Return CASE: the value of the first condition that is true, passed as condition, value, condition, value, ...

    Args:
        condition: the first condition.
        value: the value where the condition is true: a constant or a term.
        more: further conditions and values, in pairs.
        otherwise: the value where no condition is true; NULL if left out.

    Example:
        >>> band = privet.when(privet.col("age") < 40, "young", otherwise="old")
        >>> question = session.table("visits").group_by(band=band).agg(n=privet.count())
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    if len(more) % 2:
        raise BadParameter("more", len(more), "conditions and values in pairs")
    first = (condition_given(condition, "condition").expression, constant(value, "value"))
    rest = (constant(argument, "more") for argument in more)
    return Term(call("case", *first, *rest, constant(otherwise, "otherwise")))


def function_of(name: str, *arguments: Constant) -> Term:
    """Return a function of the closed list by its name, over columns and constants, such as one added from outside."""
    if name not in FUNCTIONS:
        raise UnknownName("function", name, FUNCTIONS)
    return Term(call(name, *(constant(argument, "arguments") for argument in arguments)))


def read(of: str | Term, parameter: str = "of") -> Expression:
    """Return the expression of a term, or of a column passed by name."""
    if isinstance(of, Term):
        return of.expression
    return ColumnRef(plain_text(of, parameter, "the name of a column, or a term such as col('age')", least=1))


def constant(value: Constant, parameter: str = "value") -> Expression:
    """Return a term's expression, or a constant: floats as the decimal that they print as."""
    match value:
        case Term(expression=expression):
            return expression
        case datetime.datetime() if value.tzinfo is not None:
            raise BadParameter(parameter, value, "without a time zone, in UTC")
        case None | bool() | datetime.date():
            return Literal(value)
        case str():
            return Literal(plain_text(value, parameter))
        case float():
            if not math.isfinite(value):
                raise BadParameter(parameter, value, "a finite number")
            return Literal(Fraction(repr(float(value))))
        case Fraction() | Decimal():
            return Literal(rational(value, parameter))
    return Literal(whole(value, parameter, least=1 - _INT64, most=_INT64 - 1))


def positive_constant(value: Constant, parameter: str) -> Constant:
    """Return a number above 0, as it was passed, or a term."""
    if not isinstance(value, Term):
        positive(value, parameter)
    return value


def kept(where: Term | None) -> Expression | None:
    """Return the condition of the rows that an aggregate takes, if it has one."""
    return None if where is None else condition_given(where, "where").expression


def condition_given(condition: Term, parameter: str) -> Term:
    """Return a condition."""
    instance(condition, Term, parameter, "a condition, such as col('age') > 65")
    return condition


def _digits(digits: int | Term) -> int | Term:
    return digits if isinstance(digits, Term) else whole(digits, "digits", least=-100, most=100)


def _text(value: str | Term, parameter: str) -> str | Term:
    return value if isinstance(value, Term) else plain_text(value, parameter)


# Aggregates in Python: `mean("age")`, `count(where=col("age") > 65)`. Each is a term over the rows of a group.


def aggregate(name: str, of: str | Term, other: str | Term | None = None, *, where: Term | None = None) -> Term:
    """Return an aggregate by its name in the registry, with the columns it is over: `aggregate("rms", "cost")`.

    Raises:
        UnknownName: no aggregate is registered under this name.
    """
    entry = entry_of(plain_text(name, "name", "the name of an aggregate", least=1).lower())
    given = (read(of),) if other is None else (read(of), read(other, "other"))
    if not entry.plain or entry.aggregate.arity != len(given):
        columns = f"{len(given)} column{'s' if len(given) > 1 else ''}"
        raise BadParameter("name", name, f"an aggregate that takes {columns} and nothing else")
    if len(given) > 1:
        return Term(aggregate_of_two(entry.name, *given, kept(where)))
    return Term(marked_aggregate(entry.name, given[0], kept(where)))


def count(of: str | Term | None = None, *, where: Term | None = None) -> Term:
    """Return the number of rows, or of rows in which something is not NULL.

    Args:
        of: the column, by name or as a term.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.count(where=privet.col("cost") > 3))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    if of is None:
        return Term(marked_aggregate("count_rows", None, kept(where)))
    return Term(marked_aggregate("count", read(of), kept(where)))


def count_units(*, where: Term | None = None) -> Term:
    """Return the number of people.

    Args:
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.count_units())
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return Term(marked_aggregate("count_units", None, kept(where)))


def count_distinct(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the number of different values.

    Args:
        of: the column, by name or as a term.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.count_distinct("ward"))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return Term(marked_aggregate("count_distinct", read(of), kept(where)))


def grouping(*of: str | Term) -> Term:
    """Return a bit for each grouping column, 1 where the row is a total over it: for rollup, cube and grouping_sets.

    Example:
        >>> question = session.table("visits").rollup("ward").agg(n=privet.count(), total=privet.grouping("ward"))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return Term(marked_grouping(*(read(key) for key in of)))


def sum(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the sum.

    Args:
        of: the column, by name or as a term.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.sum("cost"))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return aggregate("sum", of, where=where)


def mean(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the mean.

    Args:
        of: the column, by name or as a term.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.mean("cost"))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return aggregate("avg", of, where=where)


def var(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the sample variance.

    Args:
        of: the column, by name or as a term.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.var("cost"))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return aggregate("var_samp", of, where=where)


def var_pop(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the population variance."""
    return aggregate("var_pop", of, where=where)


def std(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the sample standard deviation.

    Args:
        of: the column, by name or as a term.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.std("cost"))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return aggregate("stddev_samp", of, where=where)


def std_pop(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the population standard deviation."""
    return aggregate("stddev_pop", of, where=where)


def covar(of: str | Term, other: str | Term, *, where: Term | None = None) -> Term:
    """Return the sample covariance of two columns, over rows in which neither is NULL.

    Args:
        of: the column, by name or as a term.
        other: the other column.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.covar("cost", "age"))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return Term(aggregate_of_two("covar_samp", read(of), read(other, "other"), kept(where)))


def covar_pop(of: str | Term, other: str | Term, *, where: Term | None = None) -> Term:
    """Return the population covariance of two columns, over rows in which neither is NULL."""
    return Term(aggregate_of_two("covar_pop", read(of), read(other, "other"), kept(where)))


def corr(of: str | Term, other: str | Term, *, where: Term | None = None) -> Term:
    """Return the correlation of two columns, over rows in which neither is NULL.

    Args:
        of: the column, by name or as a term.
        other: the other column.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.corr("cost", "age"))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return Term(aggregate_of_two("corr", read(of), read(other, "other"), kept(where)))


def quantile(of: str | Term, share: Number, *, where: Term | None = None) -> Term:
    """Return the value below which a share of the values lies, such as 0.9.

    Args:
        of: the column, by name or as a term.
        share: from 0 to 1: 0.5 for the median.
        where: a condition on the rows that count; all rows if left out.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> question = session.table("visits").agg(answer=privet.quantile("cost", 0.9))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return Term(marked_quantile(read(of), constant(_share(share), "share"), kept(where), discrete=True))


def _share(share: Number) -> Number:
    probability(share, "share")
    return share


def median(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the median.

    Args:
        of: the column, by name or as a term.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.median("cost"))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return Term(marked_quantile(read(of), Literal(Fraction(1, 2)), kept(where)))


def mode(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the most frequent value other than NULL.

    Args:
        of: the column, by name or as a term.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.mode("ward"))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return Term(marked_mode(read(of), kept(where)))


def top_k(of: str | Term, k: int, *, where: Term | None = None) -> Term:
    """Return the k most frequent values, the most frequent first: columns name_1, name_2, ..., under the name given.

    Args:
        of: the column, by name or as a term.
        k: how many values.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.top_k("ward", 2))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return Term(marked_top_k(read(of), Literal(whole(k, "k", least=1, most=10**6)), kept(where)))


def bounds(of: str | Term, *, where: Term | None = None) -> Term:
    """Return a range that contains most values, where none is declared: columns name_low and name_high.

    Args:
        of: the column, by name or as a term.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.bounds("cost"))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return Term(marked_bounds(read(of), kept(where)))


def smallest(of: str | Term, *, where: Term | None = None) -> Term:
    """Return a value that hardly any lie below: MIN, as an extreme quantile.

    Args:
        of: the column, by name or as a term.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.smallest("cost"))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return quantile(of, 0, where=where)


def largest(of: str | Term, *, where: Term | None = None) -> Term:
    """Return a value that hardly any lie above: MAX, as an extreme quantile.

    Args:
        of: the column, by name or as a term.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(answer=privet.largest("cost"))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return quantile(of, 1, where=where)


def histogram(of: str | Term, bins: int, *, where: Term | None = None) -> Term:
    """Return a histogram of equal bins over public bounds: columns bin_low, bin_high and count.

    Args:
        of: the column, by name or as a term.
        bins: the number of bins, all of the same width.
        where: a condition on the rows that count; all rows if left out.

    Example:
        >>> question = session.table("visits").agg(privet.histogram("cost", 5))
        >>> session.plan(question, epsilon=0.5).price["epsilon"]
        0.5
    """
    return Term(marked_histogram(read(of), Literal(whole(bins, "bins", least=1, most=10**6)), kept(where)))
