"""Values are complete when they are made: whatever stands in any field of any hashed value, a plan costs what it says.

The values are found by introspection, from what a digest covers; so a new one without a check fails here.
"""

from __future__ import annotations

import dataclasses
import datetime
import os
import types
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from privet import strategy
from privet.audit.neighbours import Seen, claims_of
from privet.core.division import Blocks
from privet.core.errors import BadParameter, PrivetError
from privet.core.relation import Call, ColumnRef, Literal
from privet.core.scan import Discovery, Largest, Norm, Once, Pairs, Products, RowNorm, Truncate, asks
from privet.core.schema import (
    AUTO,
    ChosenContribution,
    Contribution,
    PublicTable,
    Schema,
    Table,
    category,
    date,
    followed,
    integer,
    number,
    text,
)
from privet.core.unit import Link, Nobody, Person, Rows, Window
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.duckdb import engine as engine_module
from privet.engines.duckdb.engine import DuckDB
from privet.engines.scan_sql.statement import write_scan
from privet.mechanisms import Gaussian, Laplace, OptimalKeys, Tulap
from privet.planner.contributions import largest_limit, with_limit
from privet.planner.make import make_plan
from privet.planner.matrix import MatrixMeasure
from privet.planner.measures import BoundsMeasure, KeyRule, Measure, SumMeasure
from privet.planner.moments import MomentMeasure
from privet.planner.plan import Pass, Plan, Spend
from privet.planner.stability import sensitivity_of
from privet.planner.tulap_counts import TulapMeasure
from privet.planner.verify import verify
from privet.query.sql.parse import parse
from privet.release import public_cells

SOAK = bool(os.environ.get("PRIVET_SOAK"))
EACH = 1 if SOAK else 4
"""Of the tampered plans that are accepted, one in this many is run; `make soak` runs all."""

SECRET = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210
PURE = Spend(Fraction(1), Fraction(0), None, Fraction(1, 100))
RHO = Spend(None, Fraction(0), Fraction(1, 2), Fraction(1, 100))
DAY = datetime.date(2024, 1, 1)
COLUMNS = {
    "u": integer(nullable=True),
    "y": integer(0, 3, nullable=True),
    "x": number(-1, 2, step=Fraction(1, 4)),
    "g": category(["a", "b"], nullable=True),
    "h": text(nullable=True),
    "t": date(DAY, datetime.date(2024, 1, 4)),
    "w": number(0, 1000, nullable=True),
}
CODES = {"code": category(["a", "b"]), "worth": integer(0, 2)}
MADE = Schema(unit=Rows(), columns=COLUMNS)


def rows() -> list[tuple[Any, ...]]:
    """Return few rows in which one person gives as much as anyone can, and one has nothing but NULLs."""
    held = [(1, 3, 2.0, "a", "p", DAY)] * 6 + [(1, 3, -1.0, "b", "q", DAY + datetime.timedelta(days=1))] * 5
    held += [(2, None, None, None, None, None)] * 7 + [(2, 9, 50.0, "z", "s", datetime.date(2030, 1, 1))] * 3
    held += [(3, 0, 0.25, "a", "p", DAY), (4, 1, 1.0, "b", "r", DAY), (None, 3, 1.0, "a", "p", DAY)]
    return [(*row, 10.0 * place) for place, row in enumerate(held)]


def table(who: str, neighbors: str, without: object = "nobody") -> dict[str, Table]:
    """Return the tables without a unit; under change-one, a row has become another, since all of them count."""
    unit = {"rows": Rows(), "people": Person("u"), "windows": Window("u", "t", 2)}[who]
    listed = list(enumerate(rows()))
    kept = [row for place, row in listed if (place if who == "rows" else row[0]) != without]
    if (neighbors, who) == ("change-one", "rows") and len(kept) == len(listed) - 1:
        kept.append(listed[(typing.cast(int, without) + 7) % len(listed)][1])
    types_of = [pa.int64(), pa.int64(), pa.float64(), pa.string(), pa.string(), pa.date32(), pa.float64()]
    columns = {name: pa.array([row[place] for row in kept], types_of[place]) for place, name in enumerate(COLUMNS)}
    facts = {"unit": unit, "columns": COLUMNS, "contribution": Contribution(groups=2, rows=2), "rows": 1000}
    facts |= {} if who == "rows" else {"most_rows": 12}
    codes = PublicTable(pa.table({"code": ["a", "b"], "worth": [1, 2]}), columns=CODES, key="code")
    return {"d": Table(pa.table(columns), neighbors=neighbors, **facts), "c": codes}


QUESTIONS = (
    ("SELECT g, SUM(y), VARIANCE(x) FROM d WHERE t >= DATE '2024-01-01' GROUP BY g", "people", "add-remove", PURE),
    ("SELECT SUM(x) FROM d", "rows", "change-one", PURE),
    ("SELECT g, SUM(y), COUNT(DISTINCT u) FROM d GROUP BY g", "people", "change-one", RHO),
    ("SELECT h, COUNT(*) FROM d GROUP BY h", "people", "add-remove", RHO),
    ("SELECT h, COUNT(*) FROM d GROUP BY h", "people", "add-remove", PURE),
    ("SELECT COUNT(DISTINCT y) FROM d", "people", "add-remove", PURE),
    ("SELECT MODE(g) FROM d", "people", "add-remove", PURE),
    ("SELECT g, MEDIAN(x) FROM d GROUP BY g", "people", "add-remove", PURE),
    ("SELECT MEDIAN(w) FROM d", "people", "add-remove", PURE),
    ("SELECT QUANTILE(x, 0.25), QUANTILE(x, 0.75) FROM d", "people", "add-remove", PURE),
    ("SELECT QUANTILE(x, 0.2), QUANTILE(x, 0.5), QUANTILE(x, 0.8) FROM d", "rows", "add-remove", PURE),
    ("SELECT t, COUNT(*) FROM d GROUP BY t", "windows", "add-remove", PURE),
    (
        "SELECT SUM(n) FROM (SELECT u, g, COUNT(*) AS n FROM (SELECT u, g, ROW_NUMBER() OVER (PARTITION BY u ORDER "
        "BY g) AS i FROM (SELECT u, g FROM d UNION ALL SELECT u, g FROM d) AS two) AS ranked WHERE i < 9 GROUP BY u, "
        "g) AS s",
        "people",
        "add-remove",
        PURE,
    ),
    (
        "SELECT COUNT(*) FROM (SELECT u, SUM(y) OVER (PARTITION BY u ORDER BY g ROWS BETWEEN 2 PRECEDING AND 1 "
        "FOLLOWING) AS s FROM d) AS sums WHERE s > 2",
        "people",
        "add-remove",
        PURE,
    ),
    ("SELECT SUM(worth) FROM d JOIN c ON d.g = c.code", "people", "add-remove", PURE),
    ("SELECT g, SUM(x) FROM d GROUP BY g", "people", "change-one", RHO, {"covers": "bounding"}),
    ("SELECT SUM(y) FROM d", "people", "add-remove", PURE, {"contribution": AUTO}),
    ("SELECT g, COUNT(*) FROM d GROUP BY g", "windows", "add-remove", PURE, {"contribution": AUTO}),
)


def plan_of(
    sql: str, who: str, neighbors: str, spend: Spend, options: dict[str, Any] | None = None
) -> tuple[Plan, dict[str, Schema]]:
    schemas = followed({name: one.schema for name, one in table(who, neighbors).items()})
    return make_plan(parse(sql, schemas), schemas, spend=spend, **(options or {})), schemas


def held_by(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every dataclass instance within a value, and how to get there."""
    if is_dataclass(value) and not isinstance(value, type):
        yield path, value
        for one in fields(value):
            yield from held_by(getattr(value, one.name), (*path, one.name))
    elif isinstance(value, tuple):
        for place, item in enumerate(value):
            yield from held_by(item, (*path, place))
    elif isinstance(value, typing.Mapping):
        for name, item in value.items():
            yield from held_by(item, (*path, (name,)))


def put(value: Any, path: tuple[Any, ...], new: object) -> Any:
    """Return a value with another one in some place of it, made anew all the way."""
    if not path:
        return new
    first, rest = path[0], path[1:]
    if isinstance(first, tuple):
        return {**value, first[0]: put(value[first[0]], rest, new)}
    if isinstance(first, int):
        return (*value[:first], put(value[first], rest, new), *value[first + 1 :])
    return replace(value, **{first: put(getattr(value, first), rest, new)})


def named_in(hint: Any) -> Iterator[type]:
    if is_dataclass(hint):
        yield hint
    for argument in typing.get_args(hint):
        yield from named_in(argument)


def hashed() -> set[type]:
    """Return every dataclass of which a value may be part of a digest."""
    found: set[type] = set()
    waiting: list[type] = [Pass]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            hints = typing.get_type_hints(one)
            held = [hints[each.name] for each in fields(one) if each.compare]  # a scan has none of the others
            waiting += [other for hint in held for other in named_in(hint)]
    return found


def samples() -> dict[type, Any]:
    found: dict[type, Any] = {Link: Link("u", to="d", column="u"), Nobody: Nobody(), Once: Once()}
    found[Norm], found[Truncate], found[ChosenContribution] = Norm(2, 4, 20), Truncate(2, 2), AUTO
    for question in QUESTIONS:
        for _, value in held_by(plan_of(*question)[0].passes):
            found.setdefault(type(value), value)
    found[BoundsMeasure], found[Blocks] = BoundsMeasure(found[Measure]), Blocks("g")
    cells = strategy.tree(2, measure="pure")
    found[MatrixMeasure] = MatrixMeasure(strategy.StrategyMeasure(cells, epsilon=1, neighbors="add-remove"))
    found[Products] = Products(((0, 0), (0, 1)), RowNorm(1, 4, 1, 20))
    found[RowNorm] = found[Products].norm
    found[MomentMeasure] = MomentMeasure("laplace", (Fraction(1), Fraction(2)), Fraction(1), 0)
    found[Tulap] = Tulap(epsilon=1, delta=Fraction(1, 100))
    found[TulapMeasure] = TulapMeasure(found[Tulap])
    found[KeyRule] = KeyRule(OptimalKeys(epsilon=1, delta=Fraction(1, 100), keys=2))
    found.setdefault(OptimalKeys, found[KeyRule].mechanism)
    return found


SAMPLES = samples()


def test_there_is_a_sample_of_every_value_that_a_digest_covers() -> None:
    assert hashed() - set(SAMPLES) == set()
    assert len(hashed()) > 30


class Text(str):
    """A text that is not one."""


class Whole(int):
    """A whole number that is not one."""


class Share(Fraction):
    """A fraction that is not one."""


NEVER = (
    1.5,
    float("nan"),
    b"x",
    object(),
    [],
    [1],
    {},
    {"a": 1},
    set(),
    Decimal(1),
    1j,
    np.int64(1),
    np.float64(1),
    Text("y"),
    Whole(1),
    Share(1, 2),
    range(2),
    lambda: 1,
    int,
    datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    datetime.time(1),
    (1.5,),
    (Text("y"),),
    ((Text("y"), 1),),
    ([],),
)
EXACT = {int, str, bool, Fraction, type(None), tuple, datetime.date, datetime.datetime, datetime.timedelta}


def exact(value: object) -> bool:
    """Return whether a value is made of exact types, down to the leaves; a point in time is of no time zone."""
    if isinstance(value, (tuple, types.MappingProxyType)):
        items = value.items() if isinstance(value, types.MappingProxyType) else value
        return type(value) is not list and all(exact(item) for item in items)
    return type(value) in EXACT | hashed() and getattr(value, "tzinfo", None) is None


@pytest.mark.parametrize("kind", sorted(hashed(), key=lambda kind: (kind.__module__, kind.__name__)))
def test_no_field_of_a_hashed_value_holds_what_only_looks_like_its_type(kind: type) -> None:
    sample = SAMPLES[kind]
    if not kind.__dataclass_params__.init:  # type: ignore[attr-defined]
        assert exact(tuple(getattr(sample, one.name) for one in fields(kind)))
        return
    for one in fields(kind):
        held = getattr(sample, one.name)
        looks = [list(held), (*held, 1.5)] if isinstance(held, tuple) else []
        looks += [int(held)] if isinstance(held, bool) else [bool(held), float(held)] if type(held) is int else []
        looks += [type("Other", (type(held),), {})] if is_dataclass(held) else []
        for hostile in (*NEVER, *looks):
            try:
                made = replace(sample, **{one.name: hostile})
            except PrivetError:
                continue
            assert exact(getattr(made, one.name)), (kind, one.name, hostile)


def test_what_a_schema_was_made_of_can_change_and_the_schema_does_not() -> None:
    columns = dict(COLUMNS)
    made = Schema(unit=Rows(), columns=columns)
    columns["y"] = integer(0, 10**9)
    assert made.columns["y"] == COLUMNS["y"]
    with pytest.raises(TypeError):
        made.columns["y"] = columns["y"]  # type: ignore[index]


# --- what passes costs and moves no more than it says -----------------------------------------------------------------

EXPRESSIONS = (
    ColumnRef("y"),
    ColumnRef("g"),
    ColumnRef("u"),
    ColumnRef("missing"),
    Literal(1),
    Literal(None),
    Call("negate", (ColumnRef("y"),)),
    Call("no such function", ()),
)


def others(value: object, hint: Any) -> Iterator[object]:
    """Yield values that may stand in the place of one, by what it is and by what may be there."""
    yield None
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (0, 1, -1, 2, value + 1, value - 1, 2 * value, value // 2, -value, 10**6, 2**40, 2**63, 2**200)
    elif isinstance(value, Fraction):
        yield from (Fraction(0), -value, value / 2, 2 * value, value / 1000, Fraction(1, 3), Fraction(10) ** 40)
    elif isinstance(value, str):
        yield from ("", "y", "missing", "change-one", "add-remove", "fine", "gumbel", "left", "count", value + "x")
    elif isinstance(value, tuple):
        yield from ((), value[:1], value[1:], value + value, value + value[:1], value[::-1])
        if all(isinstance(item, str) for item in value):
            yield (*value, "q")
    elif isinstance(value, datetime.date):
        yield from (value.replace(year=1), datetime.date.max)
    elif isinstance(value, datetime.timedelta):
        yield from (value / 2, value * 2, -value)
    elif isinstance(value, typing.Mapping):
        yield {**value, "y": integer(0, 1)}
        yield dict(reversed(value.items()))
        yield dict([*list(value.items())[1:], *list(value.items())[:1]])
    if hint in (int | None, int):
        yield from (7, -7, 10**9)
    if is_dataclass(value) or value is None:
        allowed = set(named_in(hint))
        swaps = [
            *EXPRESSIONS, Once(), Norm(1, 1, 20), Norm(2, 1, 0), Truncate(1, 1), Truncate(9, 9), Largest(1, 0),
            Pairs(ColumnRef("y"), 1), Rows(), Person("u"), Person("y"), Window("u", "t", 1), Contribution(groups=9, rows=1),  # noqa: E501
            Laplace(sensitivity=1, epsilon=1), Laplace(sensitivity=10**9, epsilon=1), Gaussian(sensitivity=1, rho=1),
            Gaussian(sensitivity=10**9, rho=1), Gaussian(sensitivity=1, rho=1, grid="whole"), Discovery(1, 1, 20),
            Discovery(1, 0, 0), Discovery(5, 2, 0), *SAMPLES.values(),
        ]  # fmt: skip
        yield from (one for one in swaps if type(one) in allowed)


def completed(plan: Plan) -> Plan:
    """Return a plan whose measures are what its maker may claim for its scans: cheap noise for what is proven."""
    passes = []
    for one in plan.passes:
        if isinstance(one.measure, (SumMeasure, BoundsMeasure)):
            made = [(total, sensitivity_of(total, one.scan)) for total in one.scan.sums]
            shift = one.scan.bounding.shift
            noise = [Measure(total, far, Laplace(sensitivity=far, epsilon=1), shift) for total, far in made]
            one = one.with_noise(noise)
        passes.append(one)
    return replace(plan, passes=tuple(passes))


def tampered(plan: Plan) -> Iterator[tuple[tuple[Any, ...], object, Plan]]:
    """Yield plans with one field changed, as it is and with the rest made to fit; what cannot be made is left out."""
    for path, value in held_by(plan.passes):
        if not type(value).__dataclass_params__.init:
            continue
        hints = typing.get_type_hints(type(value))
        for one in fields(value):
            for new in others(getattr(value, one.name), hints[one.name]):
                try:
                    changed = replace(plan, passes=put(plan.passes, (*path, one.name), new))
                except PrivetError:
                    continue
                yield (*path, one.name), new, changed
                try:
                    yield (*path, one.name), new, completed(changed)
                except PrivetError:
                    continue


class Worlds:
    """The engines over the tables as they are, and without each of some units."""

    def __init__(self, who: str, neighbors: str) -> None:
        gone = [0, 6, 12, 18] if who == "rows" else [1, 2, 3]
        self.engines = [DuckDB(table(who, neighbors, without), threads=1) for without in ("nobody", *gone)]

    def read(self, one: Pass) -> list[Seen]:
        found = []
        for engine in self.engines:
            exact = engine.scan(one.scan)
            placed = {
                cell: dict(zip(map(int, places), map(int, weights), strict=True))
                for cell, (places, weights) in exact._places.items()
            }
            found.append(Seen(exact._groups, placed))
        return found

    def close(self) -> None:
        for engine in self.engines:
            engine.close()


def moved_too_far(plan: Plan, worlds: Worlds) -> list[str]:
    """Return what some unit moves by more than its noise is made for, in what is released."""
    found = []
    later = {place + 1: plan.passes[place] for place in plan.choosing}
    passes = [
        with_limit(one, limit) if place in later else one
        for place, one in enumerate(plan.passes)
        for limit in ((1, 3, largest_limit(later[place])) if place in later else (1,))
    ]
    for one in passes:
        if not asks(one.scan):
            continue
        whole, *without = worlds.read(one)
        for claim in claims_of(one):
            far = max(claim.measured(whole, other) for other in without)
            if far > claim.size:
                found.append(f"{claim.what}: {far} of {claim.size}")
        if any(key.values is None for key in one.scan.keys):
            continue
        cells = public_cells(one.scan.keys)
        for place, measure in enumerate(one.measures):
            nothing = (0,) * (place + 1)
            for other in without:
                steps = [
                    abs(whole.cells.get(cell, nothing)[place] - other.cells.get(cell, nothing)[place])
                    for cell in cells  # as often as it is released
                ]
                laplace = isinstance(measure.mechanism, Laplace)
                far = sum(steps) if laplace else sum(step * step for step in steps)
                made = measure.mechanism.sensitivity if laplace else measure.mechanism.sensitivity_squared
                if far > made:
                    found.append(f"a released vector: {far} of {made}")
    return found


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question[0][:60])
def test_a_plan_with_anything_in_any_field_is_refused_or_moves_no_more_than_it_claims(
    question: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module.secrets, "randbits", lambda bits: SECRET)
    plan, schemas = plan_of(*question)
    verify(plan, schemas)
    worlds = Worlds(*question[1:3])
    assert moved_too_far(plan, worlds) == []
    tried, seen = 0, {plan.digest}
    for path, new, changed in tampered(plan):
        tried += 1
        try:
            verify(changed, schemas)
            for one in changed.passes:
                if asks(one.scan):
                    write_scan(one.scan, schemas, {name: name for name in schemas}, 0, DUCKDB)
        except PrivetError:
            continue
        if changed.digest not in seen:
            seen.add(changed.digest)
            if len(seen) % EACH == 0:
                assert moved_too_far(changed, worlds) == [], (path, new)
    worlds.close()
    if SOAK:
        print(f"{tried} tampered plans, of which {len(seen) - 1} were accepted and moved no more than they claim")
    assert tried > 500
    assert len(seen) > 20


@pytest.mark.parametrize("copies", [1, 4_999])
def test_a_group_that_is_listed_twice_is_not_released_twice(copies: int) -> None:
    plan, _ = plan_of("SELECT g, COUNT(*) FROM d GROUP BY g", "people", "add-remove", PURE)
    (key,) = plan.passes[0].scan.keys
    with pytest.raises(BadParameter, match="different values"):
        replace(key, values=(*(key.values or ()), *["a"] * copies))


@pytest.mark.parametrize("null_as", [4, -1, 10**9])
def test_a_null_counts_as_a_value_within_bounds(null_as: int) -> None:
    plan, _ = plan_of("SELECT SUM(y) FROM d", "people", "add-remove", PURE)
    with pytest.raises(BadParameter, match="null_as"):
        replace(plan.passes[0].scan.sums[0], null_as=null_as)


def test_people_are_not_counted_by_their_rows_where_keys_are_found() -> None:
    plan, _ = plan_of("SELECT h, COUNT(*) FROM d GROUP BY h", "people", "add-remove", PURE)
    with pytest.raises(PrivetError, match="only where each row is a unit"):
        replace(plan.passes[0].scan, bounding=Once(), sums=())


def test_a_plan_that_says_its_own_cost_is_refused() -> None:
    plan, schemas = plan_of("SELECT COUNT(*) FROM d", "people", "add-remove", PURE)
    free = dataclasses.make_dataclass("Free", [], bases=(Plan,), frozen=True, repr=False)
    made = free(plan.query, plan.passes, plan.readings, plan.spend)
    with pytest.raises(PrivetError, match="read as it is"):
        verify(made, schemas)
