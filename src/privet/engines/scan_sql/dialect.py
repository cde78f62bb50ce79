"""How SQL engines differ: the one seam between a scan and the text that runs it.

`scan_sql` writes standard SQL and asks a `Dialect` for everything in which engines differ. A dialect states which
scalar functions it has, in `forms`; a scan that needs another is refused by name, before it is charged.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count

from privet.core.errors import InvariantError, Unsupported, raise_alone
from privet.core.relation import Expression, Value
from privet.core.scan import Sum
from privet.core.schema import ColumnFacts, Kind
from privet.query.functions import FUNCTIONS
from privet.query.normal import spelled
from privet.query.typed import INT64, LONGEST, TypedArgument, of_column, of_literal, unify

# The calendar of the years 1 to 9999, in which all dates and points in time of every engine lie.


FIRST, LAST = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)
FIRST_MOMENT, LAST_MOMENT = datetime.datetime.min, datetime.datetime.max


def shift_range(part: str, amount: int, kind: Kind | None) -> tuple[Value, Value] | None:
    """Return the first and the last value that can be moved by this much without leaving the calendar."""
    lowest, highest = (FIRST, LAST) if kind == "date" else (FIRST_MOMENT, LAST_MOMENT)
    try:
        if part == "month":
            low, high = max(12, 12 - amount), min(9999 * 12 + 11, 9999 * 12 + 11 - amount)
            if low > high:
                return None
            first = lowest.replace(year=low // 12, month=low % 12 + 1)
            # the last day of the last month: the day before the next one's first
            last = highest.replace(year=high // 12, month=high % 12 + 1, day=1)
            if (high // 12, high % 12) != (9999, 11):
                following = last.replace(year=(high + 1) // 12, month=(high + 1) % 12 + 1)
                last = following - datetime.timedelta(days=1)
            else:
                last = highest
            return first, last
        move = datetime.timedelta(**{f"{part}s": amount})
        return (lowest, highest - move) if amount >= 0 else (lowest - move, highest)
    except OverflowError:
        return None


Bind = Callable[[str, Callable[[str], str]], str]
"""Names a piece of SQL, so that a text over it can use it twice and it is computed once."""


@dataclass(frozen=True)
class RowSource:
    """A column as it can be read: its SQL, and the declared facts that its values already keep to."""

    sql: str
    facts: ColumnFacts


@dataclass(frozen=True)
class Rendered:
    """An expression as SQL, of the engine's type for its kind."""

    sql: str
    argument: TypedArgument
    dialect: Dialect = field(repr=False)
    held: bool = True
    """Whether a whole number is certain to keep to its facts: it is exact arithmetic of what the engine has clamped.

    A whole number made of doubles, texts or dates is not: arithmetic with it is checked, whatever the facts are.
    """

    @property
    def kind(self) -> Kind | None:
        """The kind of the value; None for a bare NULL."""
        return self.argument.typed.kind


Several = Sequence[Rendered]
Form = Callable[[Bind, str, Several, bool], str]
"""How a function is written: its name, its arguments, and whether its result cannot overflow.

That is so where the facts to which the engine clamps all whole arguments imply it; arithmetic of doubles raises
nothing.
"""


class Dialect(ABC):
    """How one engine writes what engines write differently.

    Guarantee: where a docstring says "or NULL", no stored value makes the text raise: what is undefined is NULL.
    """

    name: str
    types: Mapping[Kind, str]
    """The one engine type of each kind; everything is read as these."""
    infinity: str
    no_column: str = "1 AS nothing"
    """A SELECT list where no column is needed."""
    forms: Mapping[str, Form]
    """The scalar functions that the engine has, and how each is written."""
    reads_again: bool = False
    """Whether rows that a statement names twice may be read twice, and differ: weights are then found by windows."""
    sorts_well: bool = False
    """Whether a window over a unit's cells is found faster than a join with the units' weights."""

    def form(self, function: str) -> Form:
        """Return how a function is written, or refuse it by name."""
        form = self.forms.get(function)
        if form is None:
            raise Unsupported(f"{self.name} has no {spelled(function)}; ask without it, or with another engine")
        return form

    # --- constants and names ----------------------------------------------------------------------------------------

    @abstractmethod
    def is_atom(self, sql: str) -> bool:
        """Return whether SQL is a name or a constant: as cheap to write twice as to name."""

    @abstractmethod
    def whole(self, value: int) -> str:
        """Return a whole number of up to 128 bits."""

    @abstractmethod
    def double(self, value: Fraction | int | float) -> str:
        """Return the double that is nearest to a number."""

    def null(self, kind: Kind) -> str:
        """Return NULL as a value of a kind."""
        return self.cast("NULL", kind)

    def constant(self, value: Value) -> str:
        """Return a constant of the closed list of kinds; a number as the nearest double."""
        match value:
            case None:
                return "NULL"
            case bool():
                return "true" if value else "false"
            case int():
                return self.whole(value) if INT64[0] <= value <= INT64[1] else self.null("integer")
            case Fraction():
                number = value if abs(value) < Fraction(2) ** 1024 else None
                try:
                    return self.null("number") if number is None else self.double(number)
                except OverflowError:  # it rounds up to 2**1024
                    return self.null("number")
            case datetime.datetime():
                return self.timestamp(value)
            case datetime.date():
                return self.date(value)
            case str():
                return self.text(value)

    def text(self, value: str) -> str:
        """Return a text."""
        return quoted(value)

    def date(self, value: datetime.date) -> str:
        """Return a day."""
        return f"DATE '{value.isoformat()}'"

    def timestamp(self, value: datetime.datetime) -> str:
        """Return a point in time."""
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"

    # --- numbers ----------------------------------------------------------------------------------------------------

    def cast(self, sql: str, kind: Kind) -> str:
        """Return a value as a wider kind: a whole number as a number, a date as its midnight."""
        return f"CAST({sql} AS {self.types[kind]})"

    @abstractmethod
    def cast_whole(self, sql: str) -> str:
        """Return a whole number, or a double that is whole, in 64 bits, or NULL where it does not fit."""

    @abstractmethod
    def narrow(self, sql: str) -> str:
        """Return a whole number that is proven to fit as one of 64 bits."""

    @abstractmethod
    def wide(self, sql: str) -> str:
        """Return a whole number as one of 128 bits, so that arithmetic with it is exact."""

    def cast_placed(self, sql: str) -> str:
        """Return a whole double, which the CASE around it has found to lie within 64 bits, as one of these."""
        return self.cast_whole(sql)

    @abstractmethod
    def divide_whole(self, x: str, y: str, *, wide: bool = False) -> str:
        """Return the quotient of two whole numbers, cut towards zero; y is above 0.

        With `wide`, either may have more than 64 bits; otherwise neither has.
        """

    @abstractmethod
    def block(self, place: str, bits: int) -> str:
        """Return the number of the block of 2**bits places that contains a place, which is not negative."""

    @abstractmethod
    def root_guess(self, sql: str) -> str:
        """Return about the square root of a whole number of 64 bits, as a whole number; off by one at most."""

    @abstractmethod
    def least(self, x: str, y: str) -> str:
        """Return the lesser of two numbers, neither of which is NULL."""

    def floor(self, sql: str) -> str:
        """Return the largest whole double that is not above a finite one."""
        return f"floor({sql})"

    def grid(self, total: Sum, x: str, y: str) -> tuple[str, str] | None:
        """Return how a double is put on the grid of a sum: the double y = floor(...) over x, and the integer over y.

        None where arithmetic of doubles raises nothing: then x need not be clamped first.
        """
        return None

    def from_steps(self, number: str, step: Fraction) -> str:
        """Return a number of steps, a finite double, as the number that it stands for."""
        inverse = 1 / step
        return f"{number} {f'/ {self.double(inverse)}' if inverse.denominator == 1 else f'* {self.double(step)}'}"

    @abstractmethod
    def from_truth(self, condition: str) -> str:
        """Return 1 where a condition is true, and 0 where it is false."""

    @abstractmethod
    def is_nan(self, sql: str) -> str:
        """Return the test that a double is no number."""

    def unsigned_zero(self, sql: str) -> str:
        """Return a double, with 0.0 for -0.0."""
        return f"({sql} + 0e0)"

    @abstractmethod
    def sign(self, sql: str) -> str:
        """Return what distinguishes 0.0 from -0.0."""

    # --- texts and times --------------------------------------------------------------------------------------------

    @abstractmethod
    def cut(self, sql: str, most: int) -> str:
        """Return the first characters of a text, found without looking at the rest of a short one."""

    @abstractmethod
    def fits(self, sql: str, most: int) -> str:
        """Return the test that a text has at most this many bytes."""

    @abstractmethod
    def known_by(self, sql: str, most: int) -> str:
        """Return a text, or for one of more than `most` bytes its fingerprint, which is longer than any such text."""

    @abstractmethod
    def days(self, sql: str) -> str:
        """Return how many days lie between the first day of the calendar and a date."""

    @abstractmethod
    def microseconds(self, sql: str) -> str:
        """Return how many microseconds lie between the start of the calendar and a point in time."""

    # --- rows -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def bound(self, sql: str, name: str, body: str) -> str:
        """Return a text over a name for a value that is computed once."""

    @abstractmethod
    def record(self, parts: Mapping[str, str]) -> str:
        """Return several values as one, which equals another if all parts are equal, NULLs too."""

    @abstractmethod
    def keyed_hash(self, columns: Sequence[str], secret: int) -> str:
        """Return a hash of columns under a key of 128 bits, by which rows are chosen: unpredictable without the key."""

    def in_part(self, unit: str, parts: int, secret: int) -> str:
        """Return the test that a unit falls into the part whose number is bound as `part`, by a hash of the unit alone.

        Units that are one in a GROUP BY have one hash. Only dialects of engines that read in parts have it.
        """
        raise InvariantError("this dialect reads all units at once")

    @abstractmethod
    def nth_least(self, sql: str, place: int) -> str:
        """Return the aggregate for the n-th smallest value, or NULL where there are fewer."""

    @abstractmethod
    def collected(self, sql: str) -> str:
        """Return the aggregate for all values, as a list."""

    @abstractmethod
    def listed(self, parameter: str, kind: Kind) -> str:
        """Return the rows of a bound list, as an expression of a SELECT list."""

    @abstractmethod
    def numbered(self, parameter: str, kind: Kind) -> str:
        """Return a query for the different values v of a bound list, each with the number c of its first place."""

    def by_number(self, relation: str, number: str, count: int, columns: Sequence[str]) -> str | None:
        """Return a query for one row with columns of a relation, as what `at` reads by a number from 0 to `count` - 1.

        The relation has each number once at most. None where a join by number is as fast.
        """
        return None

    def at(self, several: str, number: str) -> str:
        """Return the value that `by_number` has for a number; NULL where there is none."""
        raise InvariantError("this dialect joins by number")

    def member_of(self, value: str, parameter: str, kind: Kind) -> str:
        """Return the test that a value is one of a bound list."""
        return f"{value} IN (SELECT {self.listed(parameter, kind)})"

    def members_of(self, values: Sequence[str], parameters: Sequence[tuple[str, Kind]]) -> str:
        """Return the test that several values are together at one place of as many bound lists; NULLs are equal."""
        lists = {f"p{index}": self.listed(name, kind) for index, (name, kind) in enumerate(parameters)}
        made = {f"p{index}": value for index, value in enumerate(values)}
        return f"{self.record(made)} IN (SELECT {self.record(lists)})"

    def total(self, aggregate: str, condition: str | None) -> str:
        """Return an aggregate over the rows that meet a condition."""
        return aggregate if condition is None else f"{aggregate} FILTER (WHERE {condition})"

    def sum(self, sql: str, *, fits: bool = False) -> str:
        """Return the aggregate that sums whole numbers in 128 bits, or in 64 where the sum is proven to fit."""
        return f"sum({sql})"

    def short_sum(self, sql: str) -> str:
        """Return the aggregate that sums 64-bit numbers: one of more bits may come to anything, but raises nothing."""
        return f"sum({sql})"

    def extreme(self, function: str, sql: str, kind: Kind | None) -> str:
        """Return the aggregate min or max over values of a kind."""
        return f"{function}({sql})"

    def fitting_sum(self, sql: str, condition: str | None, most: int) -> str:
        """Return the sum over rows of 64-bit numbers of size `most` at most, in 64 bits.

        One that does not fit is NULL or anything else, but raises nothing.
        """
        return self.cast_whole(self.total(self.short_sum(sql), condition))

    def together(self, query: str, column: str) -> str:
        """Return a query whose rows are where all others with the same value of a column are, if rows are spread."""
        return query

    def nested(self, query: str) -> str:
        """Return a query as one stands after FROM or JOIN, with a name of its own where the engine wants one."""
        return f"({query})"

    def computed(self, query: str) -> str:
        """Return a query as one stands after FROM whose columns are read several times: each is computed once."""
        return self.nested(query)

    def materialised(self, name: str, query: str, *, kept: bool | None) -> str:
        """Return a named query, whose rows are kept, or are computed where they are read, or as the engine likes."""
        return f"{name} AS {'' if kept is None else 'MATERIALIZED ' if kept else 'NOT MATERIALIZED '}({query})"

    @abstractmethod
    def semi_join(self, other: str, on: str) -> str:
        """Return the join that keeps each row for which another table has one; `on` starts with ON or USING.

        The other table has no two rows that are alike in what `on` compares.
        """

    @abstractmethod
    def all_but(self, *columns: str) -> str:
        """Return the list of all columns but some."""

    def rising(self, column: str) -> str:
        """Return a column as a term of a rising order, NULLs last."""
        return column

    def order(self, place: str, *, descending: bool, nulls_first: bool) -> str:
        """Return one term of an order, with the place of NULLs stated."""
        return f"{place} {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"


def quoted(text: str) -> str:
    """Return a text as an SQL string."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise_alone(Unsupported("a text constant must be valid Unicode, without lone surrogates"))
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a declared name as a quoted SQL identifier."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise_alone(Unsupported("a name must be valid Unicode, without lone surrogates"))
    return '"' + name.replace('"', '""') + '"'


def as_kind(rendered: Rendered, kind: Kind | None) -> str:
    """Return the SQL of a value as a wider kind: a whole number as a number, a date as its midnight."""
    if rendered.kind is None:
        return "NULL" if kind is None else rendered.dialect.null(kind)
    if rendered.kind == kind or kind is None:
        return rendered.sql
    if kind == "number" and isinstance(rendered.argument.constant, int):
        return rendered.dialect.double(Fraction(rendered.argument.constant))
    return rendered.dialect.cast(rendered.sql, kind)


def unified(name: str, several: Several) -> tuple[Kind | None, list[str]]:
    """Return the kind that all of several values have in common, and their SQL as that kind."""
    kind = unify(name, [rendered.argument.typed for rendered in several])
    return kind, [as_kind(rendered, kind) for rendered in several]


def numbers(several: Several) -> list[str]:
    """Return the SQL of several values as numbers."""
    return [as_kind(rendered, "number") for rendered in several]


# Expressions of the closed list as SQL that never raises: undefined results are NULL. Forms of standard SQL first.
#
# Each argument appears once in the text: `bind` names parts that are needed twice, so that nesting cannot blow a query
# up. Integer arithmetic is unchecked only on operands that the engine itself has clamped, so that it cannot leave 64
# bits.


# The functions that standard SQL has, and writes alike in every dialect: comparisons, conditions, choices.


def _infix(operator: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        _, (x, y) = unified(name, inputs)
        return f"({x} {operator} {y})"

    return method


def _chain(operator: str) -> Form:
    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        return "(" + f" {operator} ".join(as_kind(rendered, "boolean") for rendered in inputs) + ")"

    return method


def _in(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    _, values = unified(name, inputs)
    return f"({values[0]} IN ({', '.join(values[1:])}))"


def _like(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    escape = f" ESCAPE {inputs[2].sql}" if len(inputs) == 3 else ""
    return f"({as_kind(inputs[0], 'text')} LIKE {inputs[1].sql}{escape})"


def _case(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    _, values = unified(name, [*inputs[1::2], inputs[-1]])
    conditions = [as_kind(rendered, "boolean") for rendered in inputs[:-1:2]]
    when = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(conditions, values[:-1], strict=True))
    return f"CASE {when} ELSE {values[-1]} END"


def _coalesce(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    _, values = unified(name, inputs)
    return f"coalesce({', '.join(values)})"


def _nullif(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    kind = unify(name, [rendered.argument.typed for rendered in inputs])
    y = as_kind(inputs[1], kind)

    def body(x: str) -> str:
        return f"CASE WHEN {as_kind(replace(inputs[0], sql=x), kind)} = {y} THEN NULL ELSE {x} END"

    return bind(as_kind(inputs[0], inputs[0].kind), body)


def _clamp(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    _, (x, low, high) = unified(name, inputs)
    return bind(x, lambda v: f"CASE WHEN {v} < {low} THEN {low} WHEN {v} > {high} THEN {high} ELSE {v} END")


def text_form(form: str) -> Form:
    """Return the form of a function of texts, by what the engine calls it."""

    def method(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
        return form.format(*(as_kind(rendered, "text") for rendered in inputs))

    return method


def cut_text(sql: str) -> str:
    """Return a text cut to the longest that is allowed, so that no row becomes large enough to exhaust an engine."""
    return f"substring({sql}, 1, {LONGEST})"


def _replace(bind: Bind, name: str, inputs: Several, safe: bool) -> str:
    return cut_text(f"replace({cut_text(as_kind(inputs[0], 'text'))}, {inputs[1].sql}, {inputs[2].sql})")


FORMS: Mapping[str, Form] = {
    "equal": _infix("="),
    "not_equal": _infix("<>"),
    "less": _infix("<"),
    "less_equal": _infix("<="),
    "greater": _infix(">"),
    "greater_equal": _infix(">="),
    "is_null": lambda bind, name, inputs, safe: f"({inputs[0].sql} IS NULL)",
    "not": lambda bind, name, inputs, safe: f"(NOT {as_kind(inputs[0], 'boolean')})",
    "and": _chain("AND"),
    "or": _chain("OR"),
    "in": _in,
    "like": _like,
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "clamp": _clamp,
    "replace": _replace,
}


# Expressions, by the forms above and by those of a dialect.


@dataclass
class Renderer:
    """Renders expressions over some columns."""

    columns: Mapping[str, RowSource]
    dialect: Dialect
    _names: Iterator[int] = field(default_factory=count)

    def render(self, expression: Expression) -> Rendered:
        """Return an expression as SQL."""
        if expression.is_constant:
            value = expression.constant
            if type(value) is int and not INT64[0] <= value <= INT64[1]:
                raise Unsupported("a whole number must fit into 64 bits; write a decimal, such as 1e30")
            sql = self.dialect.constant(value)
            return Rendered(sql, TypedArgument(expression, of_literal(value)), self.dialect)
        if expression.column is not None:
            source = self.columns.get(expression.column)
            if source is None:
                raise InvariantError("an expression names a column that the table does not have")
            return Rendered(source.sql, TypedArgument(expression, of_column(source.facts)), self.dialect)
        if expression.function not in FUNCTIONS:
            raise InvariantError("an expression is not of the closed list")
        inputs = [self.render(argument) for argument in expression.arguments]
        function = FUNCTIONS[expression.function]
        rule = function.rule
        arguments = [rendered.argument for rendered in inputs]
        known = rule(expression.function, arguments)
        # what would be NULL although no argument is must be checked for; what cannot be, need not
        full = [TypedArgument(a.expression, replace(a.typed, nullable=a.typed.kind is None)) for a in arguments]
        held = all(rendered.held for rendered in inputs)
        safe = held and not rule(expression.function, full).nullable
        if not function.sees_null and any(rendered.kind is None for rendered in inputs):
            sql = "NULL" if known.kind is None else self.dialect.null(known.kind)
        else:
            sql = self.dialect.form(expression.function)(self.bind, expression.function, inputs, safe)
        kept = known.kind != "integer" or (held and function.exact)
        return Rendered(sql, TypedArgument(expression, known), self.dialect, kept)

    def bind(self, sql: str, body: Callable[[str], str]) -> str:
        """Return `body` over a name for `sql`, which is computed once."""
        if self.dialect.is_atom(sql):
            return body(sql)
        name = f"x{next(self._names)}"
        return self.dialect.bound(sql, name, body(name))
