"""Whatever is believed about an expression, the engine clamps every whole number where it enters a sum, place or key.

Facts are made to lie here, and the SQL of every kind of scan is read: no sum is of anything that was not clamped.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from privet.core.relation import Call, ColumnRef, Derive, Expression, Literal
from privet.core.scan import Discovery, GroupKey, Largest, Norm, Once, Pairs, Scan, Sum, Truncate
from privet.core.schema import Schema, category, integer, number
from privet.core.unit import Person, Rows
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql import dialect
from privet.engines.scan_sql.relations import relation_sql
from privet.engines.scan_sql.statement import counting, statement
from privet.query import expressions
from privet.query.functions import FUNCTIONS
from privet.query.typed import Arguments, Rule, Typed

SECRET = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210
COLUMNS = {"p": integer(), "a": integer(0, 100), "b": integer(-50, 50), "x": number(0, 1), "g": category([0, 1])}
ROWS = [(person, person * 7 % 101, person % 101 - 50, person / 40, person % 2) for person in range(40)] * 3
A, B, X = ColumnRef("a"), ColumnRef("b"), ColumnRef("x")


def call(function: str, *arguments: object) -> Call:
    given = (one if isinstance(one, (Call, ColumnRef, Literal)) else Literal(one) for one in arguments)  # type: ignore[arg-type]
    return Call(function, tuple(given))


WIDE: list[Expression] = [
    A,
    B,
    X,
    call("multiply", A, 1000),
    call("floor", call("multiply", X, Fraction(500))),
    call("round", call("multiply", X, Fraction(-500))),
    call("to_integer", call("multiply", X, Fraction(500))),
    call("case", call("greater", A, 50), A, B),
    call("least", A, 1000),
    call("greatest", A, -1000),
    call("bin", A, 10),
    call("negate", A),
    call("modulo", A, 90),
    call("coalesce", A, B),
    call("subtract", call("add", A, B), 7),
]
"""What runs far outside of the sums below, of each kind of expression."""

SUMS = [
    lambda one: Sum(one, 0, 1),
    lambda one: Sum(one, 0, 1, null_as=0),
    lambda one: Sum(one, -1, 2, origin=Fraction(3)),
    lambda one: Sum(one, -2, 2, origin=Fraction(1, 3), step=Fraction(2, 7)),
    lambda one: Sum(one, 0, 3, power=2, offset=4),
    lambda one: Sum(one, 0, 1, where=call("greater", A, 3)),
    lambda one: Sum(one, 0, 5, origin=Fraction(2**63 + 5)),
    lambda one: Sum(one, -(2**40), 2**40, step=Fraction(1, 2**20)),
]
PLACES = [
    lambda one: Sum(one, 0, 1),
    lambda one: Sum(one, 0, 5, origin=Fraction(1, 3), step=Fraction(2, 7)),
    lambda one: Sum(one, 0, 3, where=call("greater", A, 3)),
]
KEYS = [(), (GroupKey(ColumnRef("g"), (0, 1), False),)]
BOUNDINGS = [Once(), Norm(1, 2, 20), Norm(2, 4, 20), Truncate(2, 2), Largest(2, 20)]


def schema(*, people: bool) -> Schema:
    return Schema(unit=Person("p") if people else Rows(), columns=COLUMNS)


def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect(":memory:", config={"threads": 1})
    made.execute("CREATE TABLE t(c0 BIGINT, c1 BIGINT, c2 BIGINT, c3 DOUBLE, c4 BIGINT)")
    made.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", ROWS)
    return made


def scans(one: Expression) -> list[Scan]:
    """Return scans of every kind that sum an expression."""
    found = []
    for bounding in BOUNDINGS:
        facts = schema(people=not isinstance(bounding, Once))
        for keys in KEYS:
            if isinstance(bounding, Largest) and not keys:
                continue
            several = tuple(make(one) for make in SUMS)
            found.append(Scan("t", facts, None, keys, several, bounding))
            # few sums are written in another way than many
            few = WIDE.index(one) % (len(SUMS) - 1)
            found.append(Scan("t", facts, None, keys, several[few : few + 2], bounding))
            if not isinstance(bounding, (Once, Largest)):
                found.append(Scan("t", facts, None, keys, several[:2], bounding, distinct=True))
        if not isinstance(bounding, Largest):
            unknown = (GroupKey(ColumnRef("g"), None, False),)
            order = bounding.order if isinstance(bounding, Norm) else 0
            share = Discovery(3, order, 20 if order else 0)
            found.append(Scan("t", facts, None, unknown, (SUMS[0](one), SUMS[4](one)), bounding, share))
    return found


def largest(scan: Scan, total: Sum) -> int:
    """Return how large a sum over all rows can be, if each is within the sum's bounds."""
    weight = 2**scan.bounding.shift if isinstance(scan.bounding, (Norm, Largest)) else 1
    return len(ROWS) * total.most * weight


def lying(rule: Rule) -> Rule:
    def apply(name: str, arguments: Arguments) -> Typed:
        told = rule(name, arguments)
        return (
            replace(told, low=Fraction(0), high=Fraction(1), values=None)
            if told.kind in ("integer", "number")
            else told
        )

    return apply


@pytest.fixture
def lies(monkeypatch):
    """Let facts say that every computed number lies between 0 and 1."""
    told = {name: replace(one, rule=lying(one.rule)) for name, one in FUNCTIONS.items()}
    monkeypatch.setattr(expressions, "FUNCTIONS", told)
    monkeypatch.setattr(dialect, "FUNCTIONS", told)


@pytest.mark.parametrize("one", WIDE, ids=str)
def test_sums_stay_within_their_bounds_whatever_is_believed(one, lies):
    with connection() as made:
        for scan in scans(one):
            asked = statement(scan, "t", SECRET, DUCKDB)
            for row in made.execute(asked.sql, asked.parameters or None).fetchall():
                for total, value in zip(scan.sums, row[asked.keys :], strict=False):
                    assert abs(value) <= largest(scan, total), (scan, asked.sql)


@pytest.mark.parametrize("one", WIDE, ids=str)
@pytest.mark.parametrize("bounding", [Once(), Norm(1, 2, 20), Truncate(2, 2)], ids=str)
def test_places_stay_on_their_grid_whatever_is_believed(one, bounding, lies):
    facts = schema(people=not isinstance(bounding, Once))
    with connection() as made:
        for place in PLACES:
            asked = counting(Scan("t", facts, None, (), (), bounding, places=place(one)), "t", SECRET, DUCKDB)
            for places, _ in made.execute(asked.sql, asked.parameters or None).fetchall():
                assert all(0 <= found <= place(one).high for found in places)


@pytest.mark.parametrize("one", [one for one in WIDE if one is not X], ids=str)
def test_groups_are_those_that_were_asked_for_whatever_is_believed(one, lies):
    with connection() as made:
        for bounding in BOUNDINGS:
            facts = schema(people=not isinstance(bounding, Once))
            keys = (GroupKey(one, (0, 1, 2), False),)
            asked = statement(Scan("t", facts, None, keys, (Sum(None, 1, 1),), bounding), "t", SECRET, DUCKDB)
            found = {row[0] for row in made.execute(asked.sql, asked.parameters or None).fetchall()}
            assert found <= {0, 1, 2}


OVERFLOWING = call("add", call("floor", call("multiply", X, Fraction(500))), 2**63 - 100)


def test_arithmetic_on_what_is_made_whole_is_checked_whatever_is_believed(lies):
    with connection() as made:
        scan = Scan("t", schema(people=False), None, (), (Sum(OVERFLOWING, 0, 1),), Once())
        ((found,),) = made.execute(statement(scan, "t", SECRET, DUCKDB).sql).fetchall()
        assert 0 <= found <= len(ROWS)


@pytest.mark.parametrize("one", WIDE[3:], ids=str)
def test_computed_columns_are_held_to_their_facts_whatever_is_believed(one, lies):
    relation = Derive("t", (("p", ColumnRef("p")), ("d", one)), None)
    with connection() as made:
        found = made.execute(
            f"SELECT c1 FROM {relation_sql(relation, {'t': schema(people=True)}, {'t': 't'}, 1, DUCKDB)}"
        ).fetchall()
    assert all(value is None or 0 <= value <= 1 for (value,) in found)


# --- the text ---------------------------------------------------------------------------------------------------------

_COUNTS = re.compile(r"w|d|c|n|m|q|holders|t\d+")
"""Weights, and numbers of rows and keys, which are counted by the engine; and sums that were read before."""


def defined(tree: exp.Expression) -> dict[str, list[exp.Expression]]:
    """Return what each generated name stands for, wherever it is defined."""
    found: dict[str, list[exp.Expression]] = {}
    for alias in tree.find_all(exp.Alias):
        found.setdefault(alias.alias, []).append(alias.this)
    return found


def is_clamp(node: exp.Expression) -> bool:
    """Return whether a CASE gives constants outside of two constants, and what it compares otherwise."""
    if not isinstance(node, exp.Case):
        return False
    branches = node.args["ifs"]
    text = node.sql(dialect="duckdb")
    return len(branches) >= 2 and "<" in text and any(not one.args["true"].find(exp.Column) for one in branches)


def is_clamped(node: exp.Expression, names: dict[str, list[exp.Expression]], depth: int = 0) -> bool:
    """Return whether a number is a constant, a count, a clamp, or made of such by +, -, * and the like."""
    if depth > 40:
        return False
    if isinstance(node, (exp.Paren, exp.Cast, exp.TryCast, exp.Sum, exp.Max, exp.Filter, exp.Neg)):
        return is_clamped(node.this, names, depth + 1)
    if isinstance(node, exp.Anonymous) and node.name == "sum_no_overflow":
        return is_clamped(node.expressions[0], names, depth + 1)
    if isinstance(node, (exp.Literal, exp.Count)) or is_clamp(node):
        return True
    if isinstance(node, exp.Case):  # a value where a condition holds, or NULL
        inner = [one.args["true"] for one in node.args["ifs"]]
        inner += [node.args["default"]] if node.args.get("default") is not None else []
        return all(is_clamped(one, names, depth + 1) for one in inner)
    if isinstance(node, exp.Coalesce):
        return all(is_clamped(one, names, depth + 1) for one in [node.this, *node.expressions])
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
        return is_clamped(node.this, names, depth + 1) and is_clamped(node.expression, names, depth + 1)
    if isinstance(node, exp.Least):  # a count, cut
        return is_clamped(node.this, names, depth + 1)
    if isinstance(node, exp.Column):
        if re.match(r"c\d", node.name):  # a column as it is read
            return False
        if _COUNTS.fullmatch(node.name):
            return True
        return node.name in names and all(is_clamped(one, names, depth + 1) for one in names[node.name])
    return False


@pytest.mark.parametrize("one", WIDE, ids=str)
def test_no_number_reaches_a_sum_without_its_clamp(one):
    for scan in scans(one):
        tree = sqlglot.parse_one(statement(scan, "t", SECRET, DUCKDB).sql, dialect="duckdb")
        names = defined(tree)
        summed = [one.this for one in tree.find_all(exp.Sum)]
        summed += [one.expressions[0] for one in tree.find_all(exp.Anonymous) if one.name == "sum_no_overflow"]
        assert summed or all(total.expression is None for total in scan.sums)
        for each in summed:
            assert is_clamped(each, names), each.sql(dialect="duckdb")


@pytest.mark.parametrize("pairs", [Pairs(A, 2), Pairs(call("floor", X), 1)], ids=str)
def test_different_values_are_counted_and_not_summed(pairs):
    scan = Scan("t", schema(people=True), None, (), (Sum(None, 1, 1),), pairs)
    tree = sqlglot.parse_one(statement(scan, "t", SECRET, DUCKDB).sql, dialect="duckdb")
    assert not list(tree.find_all(exp.Sum))
