"""Every aggregate that a query can call, by its names: one line each here, or one call of `register` from outside."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from inspect import isabstract

from privet.core.errors import BadParameter, UnknownName

from .aggregate import Aggregate, Argument, Wanted
from .chosen_values import Mode, Ranked, Span
from .column_sums import (
    CentredTotal,
    Count,
    CountEach,
    CountRows,
    CountUnits,
    CountValues,
    Mean,
    Spread,
    SumValues,
    Total,
)
from .covariance import Covariance, RegressionLine

__all__ = [
    "AGGREGATES",
    "Aggregate",
    "Argument",
    "CentredTotal",
    "Count",
    "CountRows",
    "CountUnits",
    "CountValues",
    "Covariance",
    "Mean",
    "Mode",
    "NamedAggregate",
    "Ranked",
    "RegressionLine",
    "Span",
    "Spread",
    "Total",
    "Wanted",
    "entry_of",
    "register",
    "unregister",
]

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
"""Every aggregate, by the name that a query gives it."""

_BY_SQL: dict[str, NamedAggregate] = {}
_RESERVED: set[str] = set()


def register(aggregate: type[Aggregate]) -> None:
    """Make an aggregate known to SQL, to `privet.query.terms.aggregate`, to plans and to answers.

    Guarantee: privacy does not rest on the aggregate. Its sums are measured with noise for the sensitivity that their
    declared ends imply, engines clamp to these ends, and what it reads was released.

    Raises:
        BadParameter: it is no complete aggregate, its names are none, or one of them is taken.
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


def _entries(aggregate: type[Aggregate]) -> tuple[NamedAggregate, ...]:
    names = getattr(aggregate, "names", {})
    several = len(names) > 1
    entries = tuple(
        NamedAggregate(name, aggregate, tuple(sql), name if several else None) for name, sql in names.items()
    )
    listed = [name.lower() if name.isupper() else "" for entry in entries for name in entry.sql]
    if not entries or not all(map(_NAME.fullmatch, (*names, *listed))) or len(set(listed)) < len(listed):
        raise BadParameter("names", dict(names), "such as {'rms': ('RMS',)}: in queries in lower case, in SQL in upper")
    if type(aggregate.arity) is not int or not 1 <= aggregate.arity <= _MOST_ARGUMENTS:
        raise BadParameter("arity", aggregate.arity, "1 or 2")
    return entries


def _add(entries: Iterable[NamedAggregate]) -> None:
    for entry in entries:
        AGGREGATES[entry.name] = entry
        _BY_SQL.update(dict.fromkeys(entry.sql if entry.plain else (), entry))


_PLAIN: tuple[type[Aggregate], ...] = (Total, Mean, Spread, Covariance, RegressionLine)
_OF_VALUES: tuple[type[Aggregate], ...] = (CountValues, SumValues)
_SPECIAL: tuple[type[Aggregate], ...] = (CountRows, CountUnits, Count, *_OF_VALUES, CountEach, Ranked, Mode, Span)
"""Those that SQL writes in a way of their own: COUNT(DISTINCT x), QUANTILE(x, 0.9), TOP_K(x, 3)."""

_OWN = frozenset((*_PLAIN, *_SPECIAL))

for _own in _PLAIN:
    _add(_entries(_own))
for _own in _SPECIAL:
    _add(NamedAggregate(name, _own, sql, plain=False) for name, sql in _own.names.items())
