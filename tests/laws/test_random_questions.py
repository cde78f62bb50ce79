"""Random questions over random schemas and data: no unit moves what is released beyond the plan, and nothing fails.

The SQL that is generated for a plan is run on a small world and on its neighbours. `PRIVET_SOAK` says how many more
settings are tried: `make soak`.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from privet.audit.neighbours import Seen, claims_of
from privet.core.budget import Approximate
from privet.core.errors import RequestError
from privet.core.scan import Scan, asks
from privet.core.schema import Contribution, PublicTable, Table
from privet.core.wire import canonical
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.relations import relation_sql
from privet.engines.scan_sql.row_values import linked_view
from privet.engines.scan_sql.statement import counting, statement
from privet.mechanisms.rank_choice import QuantileChoice
from privet.planner.batch import make_batch
from privet.planner.keys import to_be_found, with_found
from privet.planner.make import make_plan
from privet.planner.measures import BoundsMeasure, ModeMeasure
from privet.planner.plan import Limit, Pass, Plan, Spend, Target
from privet.planner.rounds import make_rounds
from privet.planner.stability import key_sensitivity, norm_of, sensitivity_of, span_of, span_of_scores
from privet.planner.verify import verify
from privet.query import join as fanout
from privet.query.shape import schema_of
from privet.query.sql.parse import parse
from privet.session import Session

sys.path.insert(0, str(Path(__file__).parent))

from random_sql import Writer
from random_tables import ENGINE, PUBLIC, Setting, World, some_family, some_setting

SECRET = 0x0123_4567_89AB_CDEF_FEDC_BA98_7654_3210
SOAK = int(os.environ.get("PRIVET_SOAK", "0") or 0)
FIRST = int(os.environ.get("PRIVET_SOAK_FIRST", "0") or 0)
ARROW = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "text": pa.string()}
ARROW |= {"date": pa.date32(), "timestamp": pa.timestamp("us")}
ROWS_OF_BANDS = 9
QUESTIONS, TRIES = 4, 16
"""How many questions are answered of each setting, and how many are asked at most."""

Groups = dict[tuple[Any, ...], tuple[int, ...]]


class Bench:
    """One connection that holds every world of a setting's tables."""

    def __init__(self, setting: Setting, worlds: list[World]) -> None:
        self.setting = setting
        self.connection = duckdb.connect(":memory:", config={"threads": 1})
        self.names: dict[str, str] = {}
        for index, name in enumerate(setting.tables):
            kinds = [ENGINE[column.kind] for column in setting.declared[name].columns.values()]
            columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(kinds))
            self.connection.execute(f"CREATE TABLE t{index}(world BIGINT, {columns})")
            given: list[list[Any]] = [[] for _ in range(len(kinds) + 1)]
            for number, world in enumerate(worlds):
                for row in {**world, **PUBLIC}[name]:
                    values = (number, *(row[one] for one in setting.declared[name].columns))
                    for column, value in zip(given, values, strict=True):
                        column.append(value)
            texts = {"DATE", "TIMESTAMP"}
            sent = [
                f"unnest(${i}::{'VARCHAR' if kind in texts else kind}[])::{kind}"
                for i, kind in enumerate(("BIGINT", *kinds), 1)
            ]
            self.connection.execute(f"INSERT INTO t{index} SELECT {', '.join(sent)}", given)
            shown = ", ".join(f"c{place}" for place in range(len(kinds)))
            own = f"SELECT {shown} FROM t{index} WHERE world = $world"
            self.names[name] = f"({linked_view(own, name, setting.tables, self.names)})"
        self.worlds = len(worlds)

    def scan(self, scan: Scan) -> list[Any]:
        """Return what a scan gives in each world: sums by group, or weights by place."""
        if scan.near is not None:
            self.run(scan, as_counts)  # how places are looked at; what a unit weighs there is seen place by place
        return self.run(replace(scan, near=None), as_sums if scan.places is None else as_counts)

    def run(self, scan: Scan, read: Callable[[list[Any], int], Any]) -> list[Any]:
        relation = relation_sql(scan.table, self.setting.tables, self.names, SECRET, DUCKDB)
        asked = (statement if scan.places is None else counting)(scan, relation, SECRET, DUCKDB)
        if asked.parameters:
            given = [{"world": one, **asked.parameters} for one in range(self.worlds)]
            return [read(self.connection.execute(asked.sql, one).fetchall(), asked.keys) for one in given]
        self.connection.execute("PRAGMA disable_optimizer")  # which takes most of the time and changes no result
        self.connection.execute(f"PREPARE scan AS {asked.sql}")
        self.connection.execute("PRAGMA enable_optimizer")
        told = [self.connection.execute(f"EXECUTE scan(world := {one})").fetchall() for one in range(self.worlds)]
        self.connection.execute("DEALLOCATE scan")
        return [read(rows, asked.keys) for rows in told]

    def close(self) -> None:
        self.connection.close()


def as_sums(rows: list[Any], keys: int) -> Groups:
    return {row[:keys]: row[keys:] for row in rows}


def as_counts(rows: list[Any], keys: int) -> dict[Any, dict[int, int]]:
    return {row[:keys]: dict(zip(row[keys], row[keys + 1], strict=True)) for row in rows if row[keys] is not None}


def moved(one: Groups, other: Groups, place: int) -> tuple[int, int]:
    none = (0,) * 99
    moves = [abs(one.get(cell, none)[place] - other.get(cell, none)[place]) for cell in one.keys() | other.keys()]
    return sum(moves), sum(move * move for move in moves)


def check_sums(one: Pass, first: Groups, other: Groups) -> None:
    """No sum moves beyond its claim, in either norm; nor do the weights of keys that are found."""
    if one.scan.discovery is not None:
        claim = key_sensitivity(one.scan)
        l1, l2_squared = moved(first, other, -1)
        assert l1 <= claim.l1
        assert l2_squared <= claim.l2_squared
        most = one.scan.discovery.most * one.scan.schema.unit.touches
        assert len(first.keys() - other.keys()) <= most
        assert len(other.keys() - first.keys()) <= (most if one.scan.schema.moves == "change-one" else 0)
        # what only these units hold is hidden by the rule for keys
        common = first.keys() & other.keys()
        first, other = ({cell: groups[cell] for cell in common} for groups in (first, other))
    for place, measure in enumerate(one.measures):
        if all(key.other is None for key in one.scan.keys):
            assert measure.sensitivity == sensitivity_of(measure.sum, one.scan)
        l1, l2_squared = moved(first, other, place)
        assert l1 <= measure.sensitivity.l1, measure.sum
        assert l2_squared <= measure.sensitivity.l2_squared, measure.sum


def check_places(one: Pass, first: Any, other: Any) -> None:
    """No unit moves the weights of places beyond the norm, nor ranks off their aim beyond the span."""
    grids = (first, other)
    cells = grids[0].keys() | grids[1].keys()
    sides = {cell: [grid.get(cell, {}) for grid in grids] for cell in cells}
    change = sum(abs(a.get(p, 0) - b.get(p, 0)) for a, b in sides.values() for p in a.keys() | b.keys())
    assert change <= norm_of(one.scan)
    last = one.scan.places.high
    for draw in one.measure.draws:
        shares = (draw.share,) if isinstance(draw, QuantileChoice) else draw.shares
        for share in shares:
            ranges = Fraction(0)
            for a, b in sides.values():
                found = sorted({0, last, *(min(max(p + d, 0), last) for p in a.keys() | b.keys() for d in (-1, 0, 1))})
                moves = [off(b, share, p) - off(a, share, p) for p in found]
                ranges += max(*moves, 0) - min(*moves, 0)
            assert ranges <= span_of(share, one.scan)


def check_winners(one: Pass, first: Groups, other: Groups) -> None:
    """No unit moves the counts of a group's values by a wider range than the span, added over all groups."""
    values = first.keys() & other.keys() if one.scan.discovery is not None else first.keys() | other.keys()
    ranges: dict[Any, list[int]] = {}
    for cell in values:
        move = other.get(cell, (0,))[0] - first.get(cell, (0,))[0]
        ranges.setdefault(cell[:-1], [0]).append(move)
    assert sum(max(moves) - min(moves) for moves in ranges.values()) <= span_of_scores(one.scan)


def check(one: Pass, first: Any, other: Any) -> None:
    (check_sums if not one.measure.draws else check_places)(one, first, other)
    if isinstance(one.measure, ModeMeasure):
        check_winners(one, first, other)
    before, after = (Seen(each) if not one.measure.draws else Seen(places=each) for each in (first, other))
    for claim in claims_of(one):
        assert claim.measured(before, after) <= claim.size, claim.what


def off(grid: dict[int, int], share: Fraction, place: int) -> Fraction:
    below = sum(weight for p, weight in grid.items() if p < place)
    upto = below + grid.get(place, 0)
    aim = share * sum(grid.values())
    return max(below - aim, aim - upto, Fraction(0))


def some_spend(draw: random.Random) -> Spend:
    keys = draw.choice([Fraction(1, 100), Fraction(1, 100), Fraction(0)])
    return draw.choice([Spend(Fraction(1), Fraction(0), None, keys), Spend(None, Fraction(0), Fraction(1), keys)])


def some_plans(draw: random.Random, several: list[str], setting: Setting) -> tuple[Plan, ...]:
    """Return the releases by which one question is answered: at once, in rounds, beside a group of all others, at each
    level; or several questions together."""
    spend, tables = some_spend(draw), setting.tables
    typical = draw.choice([None, None, Contribution(groups=draw.choice([1, 2]), rows=draw.choice([1, 3]))])
    again = {"bound": draw.choice(["norm", "norm", "groups"]), "contribution": typical}
    queries = [parse(sql, tables) for sql in several]
    if len(queries) > 1 or queries[0].levels:
        weights = [draw.choice([1, 1, 3]) for _ in queries]
        return make_batch(queries, tables, spend=spend, weights=weights, **again).releases
    (query,), way = queries, draw.random()
    with contextlib.suppress(RequestError):  # what these are not for is answered plainly
        if query.keys and way < 0.1:
            finding = to_be_found(query, schema_of(query.table, tables).columns)
            return (make_plan(finding, tables, spend=spend, **again),)
        if query.keys and way < 0.5:
            beside = replace(query, other=draw.choice(["rest", "u"]))
            return (make_plan(beside, tables, spend=spend, **again),)
        if way > 0.75:
            target = Target(Limit(Fraction(10**6)), (), Fraction(9, 10))
            return (make_rounds(query, tables, spend=spend, target=target, **again),)
    return (make_plan(query, tables, spend=spend, **again),)


def kind_of(plan: Plan, several: list[str]) -> str:
    """Return by what the coverage of a hunt is counted."""
    kinds = {
        "rounds": plan.rounds > 1,
        "other": plan.finds_first,
        "batch": len(several) > 1,
        "levels": len(several) == 1 and (" ROLLUP " in several[0] or " CUBE " in several[0] or " SETS " in several[0]),
        "ranges": any(isinstance(one.measure, BoundsMeasure) for one in plan.passes),
        "values": any(isinstance(one.measure, ModeMeasure) for one in plan.passes),
        "quantiles": any(one.measure.draws for one in plan.passes),
        "keys": plan.discovers,
    }
    return ", ".join(kind for kind, there in kinds.items() if there) or "sums"


def readings(one: Pass, plan: Plan, bench: Bench) -> list[Scan]:
    """Return what a pass may read: beside a group of all others, that depends on what was found."""
    if not plan.finds_first or one.finds_first:
        return [one.scan]
    held = {cell[0] for world in bench.scan(plan.passes[0].scan) for cell in world}
    several = sorted(held, key=lambda value: (value is None, value))
    return [with_found(one.scan, found) for found in (several, several[::2], ())]


def check_plan(plan: Plan, bench: Bench) -> None:
    """No unit moves anything that a plan releases beyond what its noise is made for."""
    read: dict[str, list[Any]] = {}
    for one in plan.passes:
        for scan in readings(one, plan, bench) if asks(one.scan) else ():
            text = canonical(replace(scan, near=None))
            base, *others = read[text] = read.get(text) or bench.scan(scan)
            for other in others:
                check(replace(one, scan=scan), base, other)


def try_setting(seed: int) -> Counter[str]:
    """Ask some questions of one setting, and return how many were answered and refused."""
    draw = random.Random(seed)
    setting = some_setting(draw)
    bench = Bench(setting, some_family(draw, setting))
    told: Counter[str] = Counter()
    usual = fanout.MOST
    # so few that joins of these small worlds are cut, too
    fanout.MOST = random.Random(-seed).choice([usual, 4 * ROWS_OF_BANDS, 4 * ROWS_OF_BANDS, 2 * ROWS_OF_BANDS])
    try:
        for _ in range(TRIES):
            if told["answered"] == QUESTIONS:
                break
            several = [Writer(draw, setting).question() for _ in range(draw.choice([1, 1, 1, 2]))]
            try:
                plans = some_plans(draw, several, setting)
                for plan in plans:
                    verify(plan, setting.tables)
            except RequestError as refused:
                told["refused"] += 1
                told[f"refused: {type(refused).__name__} {str(refused)[:70]}"] += 1
                continue
            except Exception as wrong:
                raise AssertionError(f"seed {seed}, {setting.unit}, {setting.neighbors}: {several}") from wrong
            told["answered"] += 1
            for plan in plans:
                told[f"kind: {kind_of(plan, several)}"] += 1
                mosts = [join.most for join in fanout.joins_of(plan.passes[0].scan.table) if join.most is not None]
                told["few pairs"] += bool(mosts and max(mosts) < 99)
                told["each"] += plan.query.each
                try:
                    check_plan(plan, bench)
                except RequestError:
                    told["too large"] += 1
                except Exception as wrong:
                    raise AssertionError(f"seed {seed}, {setting.unit}, {setting.neighbors}: {several}") from wrong
    finally:
        fanout.MOST = usual
        bench.close()
    return told


@pytest.mark.parametrize("start", range(FIRST, FIRST + (SOAK or 40), 10))
def test_no_unit_moves_a_random_question_beyond_its_plan_and_none_fails(start: int) -> None:
    told: Counter[str] = Counter()
    for seed in range(start, start + 10):
        told += try_setting(seed)
    assert told["answered"] >= 25, told
    assert told["few pairs"] >= 1, told
    assert told["each"] >= 1, told


def opened(setting: Setting, world: World) -> Session:
    """Return a session over a world, without the times that lie beyond the calendar."""
    tables: dict[str, Table] = {}
    for name, rows in {**world, **PUBLIC}.items():
        facts = setting.declared[name]
        kinds = pa.schema([(column, ARROW[one.kind]) for column, one in facts.columns.items()])
        listed = [{column: as_arrow(one.kind, row[column]) for column, one in facts.columns.items()} for row in rows]
        source = pa.Table.from_pylist(listed, schema=kinds)
        if name in PUBLIC:
            tables[name] = PublicTable(source, columns=facts.columns, key=facts.key, rows=facts.rows)
        else:
            known = {"neighbors": facts.neighbors, "contribution": facts.contribution, "units": facts.units}
            known["key"] = facts.key
            tables[name] = Table(source, unit=facts.unit, columns=facts.columns, **known)
    return Session(tables, budget=Approximate(epsilon=10**6, delta=1e-6))


def as_arrow(kind: str, value: Any) -> Any:
    if value is None or kind not in {"date", "timestamp"}:
        return value
    try:
        return (datetime.date if kind == "date" else datetime.datetime).fromisoformat(value)
    except ValueError:
        return None


def outcome(session: Session, several: list[str], **options: Any) -> tuple[str, int]:
    """Return what questions come to, apart from numbers, and how many charges they make. No engine may fail."""
    before = len(session.history())
    try:
        if len(several) == 1:
            answers: Any = [session.ask(several[0], epsilon=1, **options)]
        else:
            answers = session.ask_all(several, epsilon=1, bound=options["bound"])
    except RequestError as refused:
        return f"{type(refused).__name__}: {refused} {refused.to_dict()}", len(session.history()) - before
    names = [series.name for answer in answers for series in answer.series]
    return f"answered: {names}", len(session.history()) - before


@pytest.mark.parametrize("seed", range(FIRST, FIRST + (SOAK or 40) // 4))
def test_neighbours_are_told_the_same_and_a_refusal_is_free(seed: int) -> None:
    draw = random.Random(10**6 + seed)
    setting = some_setting(draw)
    first, second = some_family(draw, setting, most=1)[:2]
    with opened(setting, first) as one, opened(setting, second) as other:
        for _ in range(QUESTIONS):
            several = [Writer(draw, setting).question() for _ in range(draw.choice([1, 1, 1, 2]))]
            options = {"bound": draw.choice(["norm", "groups"]), "other": draw.choice([None, None, None, "rest"])}
            told = [outcome(session, several, **options) for session in (one, other)]
            assert told[0] == told[1], several
            assert told[0][1] == (1 if told[0][0].startswith("answered") else 0), several
