"""A DuckDB connection without private tables: public lists, released rows, values that expressions can have together.

It can read no file.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from privet.core.errors import EngineError, raise_alone
from privet.core.relation import Expression
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Key
from privet.engines.dialects.duckdb import DUCKDB, TYPES
from privet.engines.scan_sql.dialect import Renderer, RowSource
from privet.query.expressions import mentions, typed
from privet.query.functions import FUNCTIONS

if TYPE_CHECKING:
    import duckdb


_SERIAL = threading.Lock()


class Bound:
    """Columns on their way into the engine: lists as parameters, arrays in place."""

    def __init__(self, parameters: dict[str, list[Any]] | None = None) -> None:
        self.parameters = {} if parameters is None else parameters
        self.arrays: dict[str, Any] = {}
        self.sql = ""


def fetch(sql: str, bound: Bound, *, arrays: bool = False) -> Any:
    """Return the rows of a query over its bound columns, or its columns as arrays."""
    import duckdb

    with _SERIAL:
        connection = _connection()
        try:
            if bound.arrays:
                connection.register("released", bound.arrays)
            result = connection.execute(sql, bound.parameters or None)
            return result.fetchnumpy() if arrays else result.fetchall()
        except duckdb.Error:
            connection.abort()
            raise_alone(EngineError())
        finally:
            if bound.arrays:
                connection.unregister("released")


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": 1})
    for setting in (
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "allow_community_extensions = false",
        "pandas_analyze_sample = 0",
        "enable_external_access = false",
        "python_enable_replacements = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}").fetchall()
    return connection


# Which values expressions can have together, over columns whose values are public, where conditions may be true.
#
# It runs where there are no private tables, as steps over released rows do, and by the very SQL that a scan has: what
# is equal, less or like there is so here. A column whose values are not listed may contain anything, NULL included.


_LONGEST = 200_000
"""Characters: a condition that would be longer is assumed true."""

_ANY = ("true", "true", "true")


@dataclass(frozen=True)
class Domain:
    """Columns of which every row, or each value of the only one, is listed."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def possible(
    domains: Sequence[Domain],
    conditions: Sequence[Expression],
    wanted: Sequence[Expression],
    facts: Mapping[str, Facts],
    *,
    most: int,
) -> list[tuple[Key, ...]]:
    """Return the different values of expressions over listed columns for which all conditions may be true; up to most.

    Guarantee: left out are only values for which some condition is not true, whatever the columns hold that are not
    listed.
    """
    where = _Conditions(domains, facts)
    parameters: dict[str, list[Any]] = {}
    parts = []
    for place, domain in enumerate(domains):
        listed = []
        for index, name in enumerate(domain.columns):
            bound = f"d{place}_{index}"
            parameters[bound] = [row[index] for row in domain.rows]
            listed.append(f"unnest(${bound}::{TYPES[facts[name].kind]}[]) AS {where.columns[name].sql}")
        parts.append(f"(SELECT {', '.join(listed)})")
    shown = ", ".join(where.renderer.render(expression).sql for expression in wanted) or "1"
    source = f" FROM {', '.join(parts)}" if parts else ""
    tests = [test for condition in conditions if (test := where.may_hold(condition)) != "true"]
    held = f" WHERE {' AND '.join(tests)}" if tests else ""
    values: list[tuple[Any, ...]] = fetch(f"SELECT DISTINCT {shown}{source}{held} LIMIT {most}", Bound(parameters))
    return values


class _Conditions:
    def __init__(self, domains: Sequence[Domain], facts: Mapping[str, Facts]) -> None:
        names = [name for domain in domains for name in domain.columns]
        self.facts = facts
        self.columns = {
            name: RowSource(f"x{index}c", replace(facts[name], nullable=True)) for index, name in enumerate(names)
        }
        self.renderer = Renderer(self.columns, DUCKDB)

    def may_hold(self, condition: Expression) -> str:
        """Return the test that a condition may be true."""
        if self._known(condition):
            return self.renderer.render(condition).sql
        test = self._truths(condition)[0]
        return test if len(test) <= _LONGEST else "true"

    def _known(self, expression: Expression) -> bool:
        return mentions(expression) <= self.columns.keys()

    def _truths(self, expression: Expression) -> tuple[str, str, str]:
        """Return the tests that a condition may be true, may be false and may be NULL."""
        if self._known(expression):
            sql = self.renderer.render(expression).sql
            return f"({sql} IS TRUE)", f"({sql} IS FALSE)", f"({sql} IS NULL)"
        if not expression.function:
            return _ANY
        match expression.function:
            case "and":
                truths = [self._truths(part) for part in expression.arguments]
                return _all(t for t, _, _ in truths), _any(f for _, f, _ in truths), _any(n for _, _, n in truths)
            case "or":
                truths = [self._truths(part) for part in expression.arguments]
                return _any(t for t, _, _ in truths), _all(f for _, f, _ in truths), _any(n for _, _, n in truths)
            case "not":
                true, false, null = self._truths(expression.arguments[0])
                return false, true, null
            case "is_null" if self._is_truth(expression.arguments[0]):
                true, false, null = self._truths(expression.arguments[0])
                return null, _any((true, false)), "false"
            case "is_null":
                return "true", "true", "false"
            case "equal" if type(expression.arguments[1].constant) is bool:
                true, false, null = self._truths(expression.arguments[0])
                return (true, false, null) if expression.arguments[1].constant else (false, true, null)
            case "coalesce" if self._is_truth(expression):
                return self._first([("true", "true", self._truths(part)) for part in expression.arguments], null=True)
            case "case" if self._is_truth(expression):
                tests = [self._truths(part) for part in expression.arguments[:-1:2]]
                values = [self._truths(part) for part in (*expression.arguments[1::2], expression.arguments[-1])]
                taken = [
                    (true, _any((false, null)), value)
                    for (true, false, null), value in zip(tests, values[:-1], strict=True)
                ]
                return self._first([*taken, ("true", "false", values[-1])], null=False)
        if FUNCTIONS[expression.function].sees_null:
            return _ANY
        # whatever the others are, the function of a NULL is NULL
        known = [part for part in expression.arguments if not part.is_constant and self._known(part)]
        there = _all(f"({self.renderer.render(part).sql} IS NOT NULL)" for part in known)
        return there, there, "true"

    def _first(self, branches: list[tuple[str, str, tuple[str, str, str]]], *, null: bool) -> tuple[str, str, str]:
        """Return the truths of the first branch that is taken: each may be taken, may be passed over, and is worth.

        With `null`, a branch is passed over if and only if it is NULL.
        """
        true, false, unknown = [], [], []
        before: list[str] = []
        for index, (taken, passed, (t, f, n)) in enumerate(branches):
            true.append(_all((*before, taken, t)))
            false.append(_all((*before, taken, f)))
            if not null or index == len(branches) - 1:
                unknown.append(_all((*before, taken, n)))
            before.append(n if null else passed)
        return _any(true), _any(false), _any(unknown)

    def _is_truth(self, expression: Expression) -> bool:
        return typed(expression, self.facts).kind == "boolean"


def _all(tests: Any) -> str:
    listed = [test for test in dict.fromkeys(tests) if test != "true"]
    return "false" if "false" in listed else f"({' AND '.join(listed)})" if listed else "true"


def _any(tests: Any) -> str:
    listed = [test for test in dict.fromkeys(tests) if test != "false"]
    return "true" if "true" in listed else f"({' OR '.join(listed)})" if listed else "false"
