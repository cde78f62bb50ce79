"""Limits that answers choose, and losses that they cover: what one unit moves, what a choice tells, what is charged."""

from __future__ import annotations

import math
import random
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from privet.core.errors import EngineError, InvariantError
from privet.core.event import Receipt
from privet.core.scan import Norm, SealedSums
from privet.core.schema import AUTO, Schema, Table, integer
from privet.core.unit import Person
from privet.engines.duckdb.engine import DuckDB
from privet.inference.sizes import limit_for
from privet.mechanisms import Laplace
from privet.planner.contributions import largest_limit, with_limit
from privet.planner.make import make_plan
from privet.planner.measures import SumMeasure
from privet.planner.plan import Pass, Plan, Spend
from privet.planner.stability import sensitivity_of
from privet.planner.verify import verify
from privet.query.sql.parse import parse
from privet.release import release, sizes_first
from privet.session import Session
from privet.testing.oracle import Memory

sys.path.insert(0, str(Path(__file__).parent))

from small_worlds import NAMES, PURE, RHO, Bench, Shape, World, pairs

import privet

QUERIES = {
    "one cell": "SELECT COUNT(*), SUM(y) FROM d",
    "groups": "SELECT g, COUNT(*), AVG(y) FROM d WHERE y > 0 GROUP BY g",
    "people": "SELECT g, COUNT(DISTINCT u), COUNT(*) FROM d GROUP BY g",
}
SHAPES = [
    Shape(sql, who, neighbors, "norm", group)
    for sql in QUERIES.values()
    for who in ("people", "windows")
    for neighbors in ("add-remove", "change-one")
    for group in (1, 2)
    if (who, sql) != ("windows", QUERIES["people"])  # of windows, these are no people but values
]


def planned(shape: Shape, spend: Spend, *, auto: bool, covers: str = "noise") -> Plan:
    tables = {"d": replace(shape.schema, most_rows=20)}
    given = AUTO if auto else None
    plan = make_plan(parse(shape.sql, tables), tables, spend=spend, contribution=given, covers=covers)
    verify(plan, tables)
    return plan


def far(before: dict[tuple, tuple], after: dict[tuple, tuple], place: int, noise: object) -> int:
    cells = before.keys() | after.keys()
    none = (0,) * (place + 1)
    moves = [abs(before.get(cell, none)[place] - after.get(cell, none)[place]) for cell in cells]
    return sum(moves) if isinstance(noise, Laplace) else sum(move * move for move in moves)


def claim(noise: object) -> Fraction:
    return noise.sensitivity if isinstance(noise, Laplace) else noise.sensitivity_squared


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("spend", [PURE, RHO], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("auto", [True, False], ids=["auto", "covers"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.sql}, {s.who}, {s.neighbors}, {s.group}")
def test_no_unit_moves_sizes_or_sums_at_any_limit_by_more_than_is_charged(
    shape: Shape, auto: bool, spend: Spend, bench: Bench
) -> None:
    plan = planned(shape, spend, auto=auto, covers="noise" if auto else "bounding")
    assert plan.size_places
    several = list(pairs(shape, random.Random(SHAPES.index(shape))))[:5]
    worlds = [world for pair in several for world in pair]
    for place in plan.size_places:
        sizes, sums = plan.passes[place], plan.passes[place + 1]
        assert sizes.sizes is not None
        results = bench.scan_all(sizes, worlds)
        noise = sizes.sizes.mechanism
        moved = [far(one, other, 0, noise) for one, other in zip(results[::2], results[1::2], strict=True)]
        assert max(moved) <= claim(noise)
        for limit in (1, 3, largest_limit(sizes)) if auto else (None,):
            chosen = sums if limit is None else with_limit(sums, limit)
            results = bench.scan_all(chosen, worlds)
            for index, measure in enumerate(chosen.measures):
                for one, other in zip(results[::2], results[1::2], strict=True):
                    assert far(one, other, index, measure.mechanism) <= claim(measure.mechanism)


def test_a_person_who_comes_and_one_who_changes_move_sizes_by_all_that_is_claimed(bench: Bench) -> None:
    # 1 under add-remove, 2 under change-one, and 4 where a window takes part of two buckets
    few, many = [(1, 1, "a", "p", None)], [(1, 1, "a", "p", None)] * 9
    for neighbors, worlds, most in (("add-remove", ([], few), 1), ("change-one", (few, many), 2)):
        shape = Shape(QUERIES["one cell"], "people", neighbors, "norm")
        sizes = planned(shape, PURE, auto=True).passes[0]
        one, other = bench.scan_all(sizes, [[(9, 1, "a", "p", None), *world] for world in worlds])
        assert sizes.sizes is not None
        assert far(one, other, 0, sizes.sizes.mechanism) == most == claim(sizes.sizes.mechanism)
    shape = Shape(QUERIES["one cell"], "windows", "add-remove", "norm")
    sizes = planned(shape, PURE, auto=True).passes[0].sizes
    assert sizes is not None
    assert claim(sizes.mechanism) == 4


def rows_of(world: World) -> list[dict[str, object]]:
    return [dict(zip(NAMES, row, strict=True)) for row in world]


@pytest.mark.parametrize("shape", SHAPES[::2], ids=lambda s: f"{s.sql}, {s.who}, {s.neighbors}")
def test_the_oracle_counts_the_same_sizes_as_the_engine(shape: Shape, bench: Bench) -> None:
    for spend, auto in ((PURE, True), (RHO, True), (PURE, False), (RHO, False)):
        plan = planned(shape, spend, auto=auto, covers="noise" if auto else "bounding")
        for world, _ in list(pairs(shape, random.Random(7)))[:4]:
            schema = plan.passes[0].scan.schema
            facts = {name: getattr(schema, name) for name in ("unit", "columns", "neighbors", "contribution")}
            memory = Memory({"d": Table(rows_of(world), **facts)})
            for place in plan.size_places:
                (found,) = bench.scan_all(plan.passes[place], [world])
                assert memory.scan(plan.passes[place].scan)._groups == found


def test_sizes_are_those_of_the_question_after_its_condition_and_its_groups(bench: Bench) -> None:
    shape = Shape("SELECT g, COUNT(*) FROM d WHERE y > 1 GROUP BY g", "people", "add-remove", "norm")
    sizes = planned(shape, PURE, auto=True).passes[0]
    # 9 rows, of which 4 meet the condition, and of these 3 lie in a declared group: bin 2 holds 3 and 4
    world = [(1, 1, "a", "p", None)] * 5 + [(1, 2, "a", "p", None)] * 3 + [(1, 2, "c", "p", None)]
    assert bench.scan_all(sizes, [world]) == [{(2,): (1,)}]


def laws(shift: int, scale: float, reach: int) -> dict[int, float]:
    """Return the exact law of one person more or less, plus integer Laplace noise, but for what lies beyond."""
    one = math.exp(-1 / scale)
    return {shift + k: (1 - one) / (1 + one) * one ** abs(k) for k in range(-reach, reach + 1)}


def law_of_limit(bins: tuple[int, int], scale: float, people: float) -> dict[int, float]:
    found: dict[int, float] = {}
    for a, p in laws(bins[0], scale, 22).items():
        for b, q in laws(bins[1], scale, 22).items():
            limit = _limit((a, b), scale, people)
            found[limit] = found.get(limit, 0.0) + p * q
    return found


_limit = cache(limit_for)


def test_one_giant_changes_the_law_of_the_chosen_limit_by_no_more_than_e_to_its_epsilon() -> None:
    epsilon = 1.0
    before, after = (law_of_limit(bins, 1 / epsilon, 1.5) for bins in ((6, 3), (6, 4)))
    assert set(before) == set(after) == {1, 2}
    for limit in before:
        for one, other in ((before, after), (after, before)):
            assert one[limit] <= math.exp(epsilon) * other[limit] + 1e-8
    # and the giant shows in it at all, so that the test could fail
    assert abs(before[1] - after[1]) > 1e-3


def test_a_giant_of_any_size_is_one_more_in_the_last_bin(bench: Bench) -> None:
    shape = Shape(QUERIES["one cell"], "people", "add-remove", "norm")
    sizes = planned(shape, PURE, auto=True).passes[0]
    found = bench.scan_all(sizes, [[(2, 1, "a", "p", None)] * many for many in (17, 20, 5000)])
    assert found == [{(5,): (1,)}] * 3


@pytest.mark.parametrize("spend", [PURE, RHO], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 64])
def test_a_plan_costs_the_same_whatever_limit_is_chosen(spend: Spend, limit: int) -> None:
    for sql in QUERIES.values():
        plan = planned(Shape(sql, "people", "change-one", "norm"), spend, auto=True)
        made = plan.at_limits(dict.fromkeys(plan.choosing, limit))
        assert made.event.pure() == plan.event.pure()
        assert float(made.event.rho()) <= float(plan.event.rho()) * (1 + 1e-12)
        for place in plan.choosing:
            one, chosen = plan.passes[place + 1], made.passes[place + 1]
            order = chosen.scan.bounding.order
            assert chosen.scan.bounding == Norm(order, limit**order, one.scan.bounding.shift)
            for before, after in zip(one.measures, chosen.measures, strict=True):
                assert math.isclose(after.standard_deviation, limit * before.standard_deviation, rel_tol=1e-6)
            chosen.measure.verify(chosen.scan)


@pytest.mark.parametrize("limit", [1, 3, 16])
def test_noise_on_a_fine_grid_that_was_charged_is_not_drawn_on_a_coarser_one(limit: int) -> None:
    # made by hand: 4,096 steps are charged, where whole noise of one step would cost more in rho
    plan = planned(Shape(QUERIES["one cell"], "people", "add-remove", "norm"), PURE, auto=True)
    sizes, sums = plan.passes
    scan = replace(sums.scan, bounding=Norm(1, 1, 0))
    noises = [Laplace(sensitivity=sensitivity_of(one.sum, scan), epsilon=1, grid="fine") for one in sums.measures]
    measures = tuple(
        replace(one, sensitivity=sensitivity_of(one.sum, scan), mechanism=noise, shift=0)
        for one, noise in zip(sums.measures, noises, strict=True)
    )
    passes = Pass(replace(scan, sums=(), sizes=sizes.scan.sizes), sizes.measure), Pass(scan, SumMeasure(measures))
    verify(replace(plan, passes=passes), {"d": scan.schema})
    for charged, drawn in zip(measures, with_limit(passes[1], limit).measures, strict=True):
        assert drawn.mechanism.event.rho() <= charged.mechanism.event.rho()
        assert drawn.mechanism.event.rdp(8) <= charged.mechanism.event.rdp(8)


def test_the_limit_is_no_part_of_the_digest_and_both_stages_are_charged_first() -> None:
    plan = planned(Shape(QUERIES["one cell"], "people", "add-remove", "norm"), PURE, auto=True)
    sizes = plan.passes[0].sizes
    assert sizes is not None
    assert Fraction(sizes.mechanism.event.pure()) == Fraction(1, 5)
    assert plan.event.pure() == 1
    again = planned(Shape(QUERIES["one cell"], "people", "add-remove", "norm"), PURE, auto=True)
    assert again.digest == plan.digest


def tampered(plan: Plan, place: int, one: Pass) -> Plan:
    return replace(plan, passes=(*plan.passes[:place], one, *plan.passes[place + 1 :]))


def test_a_plan_whose_sizes_do_not_fit_its_sums_is_refused() -> None:
    shape = Shape(QUERIES["one cell"], "people", "add-remove", "norm")
    tables = {"d": replace(shape.schema, most_rows=20)}
    plan = planned(shape, PURE, auto=True)
    sizes, sums = plan.passes
    measure = sizes.sizes
    assert measure is not None
    weak = replace(measure, mechanism=Laplace(sensitivity=Fraction(1, 2), epsilon=Fraction(1, 5)))
    double = replace(measure, sensitivity=replace(measure.sensitivity, l1=Fraction(2)))
    other = replace(sizes, scan=replace(sizes.scan, distinct=True))
    for wrong in (
        tampered(plan, 1, with_limit(sums, 2)),
        tampered(plan, 0, replace(sizes, measure=weak)),
        tampered(plan, 0, replace(sizes, measure=double)),
        tampered(plan, 0, replace(sizes, measure=replace(measure, people=None))),
        tampered(plan, 0, other),
        replace(plan, passes=(sums, sizes)),
    ):
        with pytest.raises(InvariantError):
            verify(wrong, tables)
    for people in (Fraction(0), Fraction(10) ** 400, Fraction(1, 10**400)):  # would fail after the charge
        with pytest.raises(InvariantError):
            replace(measure, people=people)
    verify(plan, tables)
    higher = with_limit(sums, 2)
    alike = replace(sizes, scan=replace(sizes.scan, bounding=higher.scan.bounding))
    with pytest.raises(InvariantError, match="charged at the limit of 1"):
        verify(replace(plan, passes=(alike, higher)), tables)
    stated = planned(shape, PURE, auto=False)
    with pytest.raises(InvariantError, match="cover bounding where a pass pays"):
        verify(replace(stated, covers="bounding"), tables)


def table(sizes: list[int], **facts: object) -> Table:
    import pyarrow

    who = [person for person, many in enumerate(sizes) for _ in range(many)]
    rows = pyarrow.table({"u": who, "y": [1] * len(who)})
    facts = {"contribution": privet.Contribution(groups=1, rows=2), **facts}
    return Table(rows, unit=Person("u"), columns={"u": integer(), "y": integer(0, 1)}, **facts)


COUNT = "SELECT COUNT(*) AS n FROM d"


def test_asking_again_gives_the_stored_answer_and_never_another_limit() -> None:
    with Session({"d": table([3, 40, 2, 9] * 30)}, budget=privet.Pure(epsilon=100)) as session:
        first = session.ask(COUNT, epsilon=1, contribution="auto")
        for _ in range(5):
            again = session.ask(COUNT, epsilon=1, contribution="auto")
            assert (again.value, again.limits, again.interval) == (first.value, first.limits, first.interval)
        assert len(session.history()) == 1
        assert first.limits[0] >= 1


class Failing:
    """An engine that fails at the scan after the sizes."""

    def __init__(self, engine: DuckDB) -> None:
        self.engine, self.scans, self.fails = engine, 0, True

    def check(self, scan: object) -> None:
        self.engine.check(scan)

    def scan(self, scan: object) -> SealedSums:
        self.scans += 1
        if self.fails and scan.sizes is None:
            raise RuntimeError("a row")
        return self.engine.scan(scan)

    def close(self) -> None:
        self.engine.close()


def test_a_failure_between_the_stages_leaves_the_charge_and_stores_nothing() -> None:
    tables = {"d": table([3, 40, 2, 9] * 30)}
    engine = Failing(DuckDB(tables))
    with Session(tables, budget=privet.Pure(epsilon=100), engine=engine) as session:
        with pytest.raises(EngineError):
            session.ask(COUNT, epsilon=1, contribution="auto")
        assert engine.scans == 2
        assert session.remaining().largest_epsilon == pytest.approx(99)
        engine.fails = False
        answer = session.ask(COUNT, epsilon=1, contribution="auto")
        assert len(answer.limits) == 1
        # what was drawn before the failure was never used: the second try is another charge
        assert session.remaining().largest_epsilon == pytest.approx(98)
        assert len(session.history()) == 2


def test_sizes_are_drawn_against_a_receipt_for_the_plan_and_once() -> None:
    plan = planned(Shape(QUERIES["one cell"], "people", "add-remove", "norm"), PURE, auto=True)
    sealed, receipt = SealedSums({(0,): (50,)}), Receipt(1, plan.digest, "somebody")
    with pytest.raises(InvariantError, match="receipt is for another plan"):
        sizes_first({0: sealed}, plan, replace(receipt, digest="other"), plan)
    with pytest.raises(InvariantError, match="chooses no limit is read at once"):
        sizes_first({}, plan, receipt, plan)
    with pytest.raises(InvariantError, match="limits are chosen before"):
        release([sealed, SealedSums({(): (50 << 20, 50 << 20)})], plan, receipt)
    sizes = sizes_first({0: sealed}, plan, receipt, plan)
    released = release([sealed, SealedSums({(): (50 << 20, 50 << 20)})], plan, receipt, sizes=sizes)
    assert released.sums[0] == sizes[0]


def test_sizes_have_the_noise_that_is_charged_and_the_limit_follows_from_them() -> None:
    plan = planned(Shape(QUERIES["one cell"], "people", "add-remove", "norm"), PURE, auto=True)
    sizes, receipt, draws = plan.passes[0].sizes, Receipt(1, plan.digest, "somebody"), 400
    assert sizes is not None
    counts = (50, 20, 9, 0, 3, 1)
    sealed = SealedSums({(place,): (count,) for place, count in enumerate(counts) if count})
    squares = 0
    for _ in range(draws):
        noisy, (limit,) = sizes_first({0: sealed}, plan, receipt, plan)[0]
        squares += sum((one - count) ** 2 for one, count in zip(noisy, counts, strict=True))
        deviation = float(sizes.mechanism.variance) ** 0.5
        assert limit == min(20, limit_for(noisy, deviation / math.sqrt(2), float(sizes.people)))
    # the mean of 2,400 squares of Laplace noise, whose fourth moment is six times the square of the second
    expected, room = float(sizes.mechanism.variance), 6 * math.sqrt(5 / (draws * len(counts)))
    assert 1 - room <= squares / (draws * len(counts)) / expected <= 1 + 2 * room


def test_a_limit_is_computed_from_noisy_numbers_alone_and_is_at_least_one() -> None:
    several = ((0, 0, 0), (-9, -30, -4, -1), (10**9, 0), (0, 10**9), (5,) * 8, (0,) * 31, (-(10**40), 10**40) * 15)
    for noisy in several:
        for people in (0.001, 1.0, 1e6, 1e12):
            for scale in (0.0, 3.0, 1e9):
                limit = limit_for(noisy, scale, people)
                assert 1 <= limit <= 2 ** (len(noisy) - 1)
                assert limit_for(noisy, scale, people) == limit


def test_facts_of_a_derived_table_keep_the_most_rows_of_a_person_where_a_step_keeps_them() -> None:
    from privet.query.shape import schema_of

    schema = Schema(unit=Person("u"), columns={"u": integer(), "y": integer(0, 1)}, most_rows=7)
    for sql, most in (
        ("SELECT COUNT(*) FROM (SELECT u, y FROM d WHERE y > 0)", 7),
        ("SELECT COUNT(*) FROM (SELECT u, y FROM d UNION ALL SELECT u, y FROM d)", 14),
        ("SELECT COUNT(*) FROM d JOIN d AS e ON d.u = e.u", None),
    ):
        assert schema_of(parse(sql, {"d": schema}).table, {"d": schema}).most_rows == most
