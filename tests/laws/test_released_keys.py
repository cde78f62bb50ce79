"""From rows to the set of keys that is shown: exact laws on small tables, a person dropped or changed, both ways.

The rows go through the engine. Which keys are kept of a person who has too many is fixed by one secret, as it is for
both neighbours in the claim; given the secret, the law of what is shown is exact.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain, product
from math import prod
from typing import Any

import pyarrow as pa
import pytest

from privet.core.numbers import exp_down
from privet.core.scan import Discovery, Scan
from privet.core.schema import Contribution, Schema, Table, integer, text
from privet.core.unit import Person, Rows
from privet.engines.duckdb import engine as duckdb
from privet.mechanisms import OptimalKeys
from privet.planner.keys import other_way
from privet.planner.make import make_plan
from privet.planner.measures import KeyRule
from privet.planner.plan import Spend
from privet.planner.verify import verify
from privet.query.sql.parse import parse

SPEND = Spend(Fraction(4), Fraction(0), None, Fraction(1, 5))
COLUMNS = {"world": integer(), "who": integer(), "key": text(nullable=True)}
NAMES = ["a", "b", "c", None]
World = list[tuple[int, str | None]]


def planned(schema: Schema, world: int) -> tuple[Scan, OptimalKeys]:
    """Return the scan of a query by unknown keys, and the optimal rule for them, whether it was chosen or not."""
    tables = {"t": schema}
    sql = f"SELECT key, COUNT(*) FROM t WHERE world = {world} GROUP BY key"
    plan = make_plan(parse(sql, tables), tables, spend=SPEND)
    (one,) = plan.passes
    if not isinstance(one.keys, KeyRule):
        counted = replace(one.scan, discovery=Discovery(one.scan.discovery.most, 0, 0))
        one = replace(one, scan=counted, measure=replace(one.measure, keys=other_way(one.scan, one.keys)))
    verify(replace(plan, passes=(one,)), tables)
    assert isinstance(one.keys, KeyRule)
    return one.scan, one.keys.mechanism


def worlds(schema: Schema, draw: random.Random) -> Iterator[tuple[World, World]]:
    """Yield neighbouring tables: each person dropped, or changed into another."""
    alone = isinstance(schema.unit, Rows)
    for _ in range(6):
        people = [sorted(draw.sample(range(4), draw.choice([1, 1, 1 if alone else 3]))) for _ in range(4)]
        base = [[(who, NAMES[key]) for key in keys] for who, keys in enumerate(people)]
        for who in range(len(base)):
            others = [rows for index, rows in enumerate(base) if index != who]
            changed: World = []
            if schema.neighbors == "change-one":
                size = 1 if alone else draw.randint(1, 4)
                changed = [(who, NAMES[key]) for key in draw.sample(range(4), size)]
            yield [*chain(*base)], [*chain(*others), *changed]


def law(engine: duckdb.DuckDB, schema: Schema, world: int) -> list[Fraction]:
    """Return the probability of each set of shown keys, from the numbers of people that the engine finds."""
    scan, rule = planned(schema, world)
    held = {cell[0]: int(sums[-1]) for cell, sums in engine.scan(scan)._groups.items()}
    chances = [rule.probability(held.get(name, 0)) for name in NAMES]
    return [prod(chosen, start=Fraction(1)) for chosen in product(*((1 - chance, chance) for chance in chances))]


def divergence(p: list[Fraction], q: list[Fraction], grown: Fraction) -> Fraction:
    return sum((max(Fraction(0), a - grown * b) for a, b in zip(p, q, strict=True)), Fraction(0))


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("unit", [Rows(), Person("who")], ids=["rows", "people"])
@pytest.mark.parametrize("groups", [1, 2])
def test_what_is_shown_tells_little_about_any_one_person(
    groups: int, unit: Any, neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = Schema(unit=unit, columns=COLUMNS, neighbors=neighbors, contribution=Contribution(groups=groups, rows=1))
    rule, draw = planned(schema, 0)[1], random.Random(groups)
    grown, delta = exp_down(Fraction(rule.event.pure())), rule.event.slack()
    assert (rule.event.pure(), delta) == (SPEND.epsilon / 2, SPEND.keys)
    every = [*chain(*worlds(schema, draw))]
    rows = [(index, *row) for index, world in enumerate(every) for row in world]
    source = pa.table({name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)})
    worst = Fraction(0)
    with duckdb.DuckDB(
        {"t": Table(source, unit=unit, columns=COLUMNS, contribution=Contribution(groups=1, rows=1))}, threads=1
    ) as engine:
        for start in range(0, len(every), 2):
            secret = draw.getrandbits(128)
            monkeypatch.setattr(duckdb.secrets, "randbits", lambda _, secret=secret: secret)
            p, q = (law(engine, schema, start + place) for place in (0, 1))
            worst = max(worst, divergence(p, q, grown), divergence(q, p, grown))
    assert delta / 6 <= worst <= delta
