"""Quantiles of queries keep what their event promises: exact output laws on tiny tables, for every neighbour."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.core import schema
from privet.core.schema import followed
from privet.core.unit import Person, Rows, Window
from privet.mechanisms import rank_several as rank_tree
from privet.mechanisms.quantile_several import targets
from privet.mechanisms.rank_choice import QuantileChoice
from privet.mechanisms.rank_ladder import QuantileLadder
from privet.mechanisms.rank_several import JointPieces, QuantileJoint, QuantileTree, RankSpread, choose_spread
from privet.planner.make import make_plan
from privet.planner.plan import Spend
from privet.query.sql.parse import parse
from privet.testing.oracle import Memory

COLUMNS = {
    "who": schema.integer(),
    "city": schema.category(["Ulm", "Bonn"]),
    "age": schema.integer(0, 4, nullable=True),
}
ROW = st.fixed_dictionaries({
    "who": st.integers(1, 3),
    "city": st.sampled_from(["Ulm", "Bonn"]),
    "age": st.one_of(st.none(), st.integers(0, 4)),
})  # fmt: skip
SMALLER = {**COLUMNS, "age": schema.integer(0, 2, nullable=True)}
LIMIT = schema.Contribution(groups=1, rows=2)
CELLS = {True: [("Ulm",), ("Bonn",)], False: [()]}
ROUNDING = 1e-9
HALF = Fraction(1, 2)


def law(draw, counts: dict) -> list[float]:
    """The probability of each place, from the definition: dummies on both sides of a draw that has an offset."""
    pad = abs(draw.offset)
    weights = [pad, *(counts.get(place, 0) for place in range(draw.last + 1)), pad]
    aim = draw.share * sum(counts.values()) + pad + draw.offset
    off = []
    for place in range(draw.last + 3):
        below, through = sum(weights[:place]), sum(weights[: place + 1])
        off.append(float(max(0, below - aim, aim - through)))
    if not pad:
        off = off[1:-1]
    raw = [math.exp(-float(draw.rate) * (one - min(off))) for one in off]
    total = sum(raw)
    if not pad:
        return [one / total for one in raw]
    held = [one / total for one in raw[1:-1]]
    held[0] += raw[0] / total
    held[-1] += raw[-1] / total
    return held


def ladder_law(draw: QuantileLadder, counts: dict, values: tuple[int, ...]) -> list[float]:
    """The probability of each rung around some released places, from the definition."""
    total, found, before = sum(counts.values()), [], -math.inf
    radii = draw.radii(np.array([values]).T)[:, 0, :].tolist()
    for rung, weight in enumerate(draw.weights):
        sides = []
        for share, place, wide in zip(draw.shares, values, radii, strict=True):
            root = Fraction(draw.root(share, total), draw.unit)
            low, high = place - wide[rung], place + wide[rung]
            below = sum(weight for at, weight in counts.items() if at < low)
            through = sum(weight for at, weight in counts.items() if at <= high)
            sides += [share * total - root - below] if low > 0 else []
            sides += [through - share * total - root] if high < draw.last else []
        clears, slack = min(sides, default=math.inf), Fraction(draw.slack, draw.unit)
        off = min(draw.reach, max(0, slack - clears, before - slack))
        found.append(weight * math.exp(-float(draw.rate) * float(off)))
        before = clears
        if not sides:
            break
    return [one / sum(found) for one in found]


def laws(draw, one: dict, other: dict) -> list[tuple[list[float], list[float]]]:
    """The laws of a draw under two tables; of a rung, around each of all values that may have been released."""
    if not isinstance(draw, QuantileLadder):
        return [(law(draw, one), law(draw, other))]
    around = combinations_with_replacement(range(draw.last + 1), len(draw.shares))
    return [(ladder_law(draw, one, values), ladder_law(draw, other, values)) for values in around]


def losses(
    plan, facts, rows: list, others: list, cells: list, kinds: Any = QuantileChoice | QuantileLadder
) -> list[tuple[float, float]]:
    """The largest privacy loss of each draw of a plan either way, and its range, over all groups together."""
    found = []
    for one in (one for one in plan.passes if one.measure.draws):
        exacts = []
        for some in (rows, others):
            table = schema.Table(some, unit=facts.unit, columns=facts.columns, contribution=facts.contribution)
            places = Memory({"t": table}).scan(one.scan)._places
            exacts.append({cell: dict(zip(*counts, strict=True)) for cell, counts in places.items()})
        for draw in one.measure.draws:
            if not isinstance(draw, kinds):
                continue
            largest = widest = 0.0
            for cell in cells:
                ratios = [
                    [math.log(a / b) for a, b in zip(p, q, strict=True)]
                    for p, q in laws(draw, *(exact.get(cell, {}) for exact in exacts))
                ]
                largest += max(max(map(abs, several)) for several in ratios)
                widest += max(max(several) - min(several) for several in ratios)
            found.append((largest, widest))
    return found


def neighbours(rows: list, unit, relation: str) -> list[list]:
    owners = range(len(rows)) if isinstance(unit, Rows) else {row["who"] for row in rows}
    found = []
    for owner in owners:
        mine = [row for at, row in enumerate(rows) if (at if isinstance(unit, Rows) else row["who"]) == owner]
        rest = [row for at, row in enumerate(rows) if (at if isinstance(unit, Rows) else row["who"]) != owner]
        if relation == "add-remove":
            found.append(rest)
            continue
        for city in ("Ulm", "Bonn"):
            for age in (0, 2, 4, None):
                for times in (1,) if isinstance(unit, Rows) else (1, 3):
                    found.append([*rest, *([{"who": mine[0]["who"], "city": city, "age": age}] * times)])
    return found


@pytest.mark.parametrize("unit", [Rows(), Person("who")])
@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize("bound", ["norm", "groups"])
@settings(max_examples=12, deadline=None)
@given(
    rows=st.lists(ROW, max_size=6),
    asked=st.sampled_from(["MEDIAN(age)", "QUANTILE(age, 0.9)", "MIN(age)", "MAX(age), MEDIAN(age)"]),
    grouped=st.booleans(),
)
def test_no_neighbour_moves_the_law_of_a_quantile_beyond_its_event(unit, relation, bound, rows, asked, grouped):
    if bound == "groups":
        # who has too much is cut at random; what is kept is tested in full, so that the law is known
        counts: dict = {}
        for row in rows:
            counts[row["who"]] = counts.get(row["who"], 0) + 1
        rows = [row for row in rows if counts[row["who"]] == 1]
    facts = schema.Schema(unit=unit, columns=COLUMNS, neighbors=relation, units=None)
    query = parse(f"SELECT {asked} FROM t" + (" GROUP BY city" if grouped else ""), {"t": facts})
    spend = Spend(Fraction(1), Fraction(0), None, Fraction(0))
    plan = make_plan(query, {"t": facts}, spend=spend, bound=bound)
    assert plan.event.pure() == 1
    draws = [draw for one in plan.passes for draw in one.measure.draws]
    for others in neighbours(rows, unit, relation):
        if bound == "groups" and len(others) > len(rows):
            continue
        for draw, (largest, widest) in zip(draws, losses(plan, facts, rows, others, CELLS[grouped]), strict=True):
            epsilon = float(draw.event.pure())
            assert largest <= epsilon + ROUNDING
            assert widest <= epsilon + ROUNDING


FOUR = "QUANTILE(age, 0.1), MEDIAN(age), QUANTILE(age, 0.6), QUANTILE(age, 0.95)"


@pytest.mark.parametrize("unit", [Rows(), Person("who")])
@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@pytest.mark.parametrize(("asked", "population"), [("MEDIAN(age)", True), (FOUR, False)])
@settings(max_examples=3, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=4), grouped=st.booleans())
def test_no_neighbour_moves_a_common_or_a_population_interval_beyond_its_event(
    unit, relation, asked, population, rows, grouped
):
    facts = schema.Schema(unit=unit, columns=SMALLER, neighbors=relation, units=None, contribution=LIMIT)
    query = parse(f"SELECT {asked} FROM t" + (" GROUP BY city" if grouped else ""), {"t": facts})
    spend = Spend(Fraction(4), Fraction(0), None, Fraction(0))
    plan = make_plan(query, {"t": facts}, spend=spend, covers="population" if population else "noise")
    assert plan.event.pure() == 4
    draws = [draw for one in plan.passes for draw in one.measure.draws if isinstance(draw, QuantileLadder)]
    assert len(draws) == (1 if population else 5)
    for others in neighbours(rows, unit, relation)[:6]:
        found = losses(plan, facts, rows, others, CELLS[grouped], QuantileLadder)
        for draw, (largest, widest) in zip(draws, found, strict=True):
            assert max(largest, widest) <= float(draw.event.pure()) + ROUNDING


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_the_span_of_an_interval_is_reached_by_some_neighbours(population, neighbors):
    # a row that comes on one side of the end that decides, and a row that comes on the other, are a range apart
    facts = schema.Schema(unit=Rows(), columns={"age": schema.integer(0, 4)}, neighbors=neighbors, units=None)
    query = parse("SELECT QUANTILE(age, 0.9) FROM t", {"t": facts})
    plan = make_plan(
        query,
        {"t": facts},
        spend=Spend(Fraction(1), Fraction(0), None, Fraction(0)),
        covers="population" if population else "noise",
    )
    draw = plan.passes[0].measure.draws[-1]
    counts = {0: 40, 1: 30, 2: 30}
    moved = {0: 39, 1: 30, 2: 30, 4: 1} if neighbors == "change-one" else {0: 39, 1: 30, 2: 30}
    other = {0: 40, 1: 30, 2: 29} if neighbors == "add-remove" else counts
    most = Fraction(0)
    for one, two in ((counts, moved), (counts, other)):
        totals = [sum(side.values()) for side in (one, two)]
        roots = [Fraction(draw.root(draw.shares[0], total), draw.unit) for total in totals]
        for place in range(5):
            clears = [
                draw.shares[0] * total - root - sum(n for at, n in side.items() if at < place)
                for side, total, root in zip((one, two), totals, roots, strict=True)
            ]
            most = max(most, abs(clears[1] - clears[0]))
    assert most * 2 <= draw.span
    assert most * 2 >= draw.span * (Fraction(9, 10) if population else 1)


def tree_law(tree: QuantileTree, weights: list[int], bits: int) -> dict[tuple[int, ...], float]:
    """The probability of every list of fine places, from the definition: each weight divided evenly over its place."""
    fine = [Fraction(weight, 2**bits) for weight in weights for _ in range(2**bits)]

    def law_of(shares, within, start: int, end: int) -> dict[tuple[int, ...], float]:
        if not shares:
            return {(): 1.0}
        middle = len(shares) // 2
        q = (shares[middle] - within[0]) / (within[1] - within[0])
        rate = float(tree.level_epsilon / (2 * max(q, 1 - q) * tree.norm))
        total = sum(fine[start:end])
        off = [float(abs(sum(fine[start:cut]) - q * total)) for cut in range(start, end)] or [0.0]
        raw = [math.exp(-rate * one) for one in off]
        found: dict[tuple[int, ...], float] = {}
        for cut, chance in enumerate(raw, start):
            below = law_of(shares[:middle], (within[0], shares[middle]), start, cut)
            above = law_of(shares[middle + 1 :], (shares[middle], within[1]), cut, end)
            for left, p in below.items():
                for right, r in above.items():
                    key = (*left, cut, *right)
                    found[key] = found.get(key, 0.0) + chance / sum(raw) * p * r
        return found

    return law_of(tree.shares, (Fraction(0), Fraction(1)), 0, len(fine))


TREES = [(Fraction(1, 2), Fraction(3, 4)), (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))]


@pytest.mark.parametrize("shares", TREES)
@settings(max_examples=25, deadline=None)
@given(weights=st.lists(st.integers(0, 3), min_size=3, max_size=3), moved=st.lists(st.integers(-2, 2), min_size=3))
def test_no_neighbour_moves_the_law_of_several_quantiles_beyond_their_event(shares, weights, moved):
    others = [max(0, weight + move) for weight, move in zip(weights, moved, strict=False)]
    norm = sum(abs(a - b) for a, b in zip(weights, others, strict=True))
    tree = QuantileTree(shares, 2, Fraction(max(1, norm)), Fraction(1, 2))
    p, q = (tree_law(tree, one, 1) for one in (weights, others))
    losses = [math.log(p[key] / q[key]) for key in p]
    assert p.keys() == q.keys()
    epsilon = float(tree.event.pure())
    assert epsilon == tree.levels / 2
    assert max(map(abs, losses)) <= epsilon + ROUNDING
    assert max(losses) - min(losses) <= epsilon + ROUNDING


@pytest.mark.parametrize("shares", TREES)
@pytest.mark.parametrize(
    ("weights", "epsilon", "draws"),
    [([0, 0, 0], HALF, 700), ([1, 0, 2], HALF, 700), ([40, 3, 0], HALF, 700), ([2, 3, 3], Fraction(2), 2500)],
)
def test_several_quantiles_are_drawn_with_exactly_their_law(shares, weights, epsilon, draws, monkeypatch):
    monkeypatch.setattr(rank_tree, "BITS", 1)
    tree = QuantileTree(shares, 2, Fraction(1), epsilon)
    expected: dict[tuple[int, ...], float] = {}
    for key, p in tree_law(tree, weights, 1).items():
        places = tuple(min(cut >> 1, 2) for cut in key)
        expected[places] = expected.get(places, 0.0) + p
    held = [place for place in range(3) if weights[place]]
    drawn = list(zip(*tree.release([(held, [weights[place] for place in held])] * draws), strict=True))
    assert set(drawn) <= set(expected)
    for key, p in expected.items():
        assert abs(drawn.count(key) - draws * p) <= 6 * math.sqrt(draws * p * (1 - p)) + 2


DAYS = [datetime.date(2024, 1, day) for day in range(1, 9)]
TIMED = {"who": schema.integer(), "day": schema.date(), "age": schema.integer(0, 4)}
VISIT = st.fixed_dictionaries({
    "who": st.integers(1, 2),
    "day": st.sampled_from(DAYS),
    "age": st.integers(0, 4),
})  # fmt: skip


def move(plan, table, rows: list, others: list) -> float:
    """How far the weights at all places are apart, in L1."""
    (one,) = plan.passes
    first, second = (
        {
            (cell, at): weight
            for cell, (places, weights) in found.items()
            for at, weight in zip(places, weights, strict=True)
        }
        for found in (Memory(table(some)).scan(one.scan)._places for some in (rows, others))
    )
    return sum(abs(first.get(key, 0) - second.get(key, 0)) for key in first.keys() | second.keys())


@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(VISIT, max_size=10),
    start=st.sampled_from(DAYS),
    who=st.integers(1, 2),
    kept=st.lists(st.booleans(), min_size=10, max_size=10),
    put=st.lists(VISIT, max_size=4),
)
def test_no_window_of_time_moves_a_quantile_beyond_its_event(relation, rows, start, who, kept, put):
    unit, length = Window("who", "day", 3), datetime.timedelta(days=3)
    facts = schema.Schema(
        unit=unit, columns=TIMED, neighbors=relation, contribution=schema.Contribution(groups=1, rows=2)
    )
    asked = parse("SELECT MEDIAN(age), QUANTILE(age, 0.9) FROM t", {"t": facts})
    alone = parse("SELECT MEDIAN(age) FROM t", {"t": facts})
    spend = Spend(Fraction(1), Fraction(0), None, Fraction(0))
    inside = [row["who"] == who and start <= row["day"] < start + length for row in rows]
    others = [row for row, mine, keep in zip(rows, inside, kept, strict=False) if not mine or keep]
    if relation == "change-one":
        others += [{**row, "who": who} for row in put if start <= row["day"] < start + length]

    def table(some: list) -> dict:
        return {"t": schema.Table(some, unit=unit, columns=TIMED, neighbors=relation, contribution=facts.contribution)}

    plan = make_plan(asked, {"t": facts}, spend=spend)
    tree = plan.passes[0].measure.draws[0]
    assert move(plan, table, rows, others) <= tree.norm
    (one,) = make_plan(alone, {"t": facts}, spend=spend).passes
    exacts = [Memory(table(some)).scan(one.scan)._places.get((), ((), ())) for some in (rows, others)]
    for draw in one.measure.draws:
        for p, q in laws(draw, *(dict(zip(*exact, strict=True)) for exact in exacts)):
            ratios = [math.log(a / b) for a, b in zip(p, q, strict=True)]
            assert max(ratios) - min(ratios) <= float(draw.event.pure()) + ROUNDING


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(ROW, max_size=6),
    people=st.lists(st.fixed_dictionaries({"who": st.integers(1, 3), "height": st.integers(0, 3)}), max_size=6),
)
def test_a_key_that_is_none_lets_nobody_weigh_more(rows, people):
    # the second table is declared to have one row for each person, and has several
    unit, tall = Person("who"), {"who": schema.integer(), "height": schema.integer(0, 3)}
    facts = {
        "t": schema.Schema(unit=unit, columns=COLUMNS, contribution=schema.Contribution(groups=1, rows=2)),
        "people": schema.Schema(unit=unit, columns=tall, key="who"),
    }
    query = parse("SELECT MEDIAN(height), QUANTILE(height, 0.9) FROM t JOIN people USING (who)", followed(facts))
    plan = make_plan(query, followed(facts), spend=Spend(Fraction(1), Fraction(0), None, Fraction(0)))

    def table(some: tuple) -> dict:
        return {
            name: schema.Table(source, unit=unit, columns=one.columns, contribution=one.contribution, key=one.key)
            for (name, one), source in zip(facts.items(), some, strict=True)
        }

    for who in (1, 2, 3):
        rest = tuple([row for row in some if row["who"] != who] for some in (rows, people))
        assert move(plan, table, (rows, people), rest) <= plan.passes[0].measure.draws[0].norm


def joint_law(shares, weights: list[int], number: int, kappa: Fraction, bits: int) -> dict[tuple[int, ...], float]:
    """The probability of every list of fine places, from the definition: any of them, put in order."""
    fine = [Fraction(weight, 2**bits) for weight in weights for _ in range(2**bits)]
    before = [sum(fine[:at], Fraction(0)) for at in range(len(fine) + 1)]
    aims = targets(shares, number)
    raw: Counter = Counter()
    for some in product(range(len(fine)), repeat=len(shares)):
        chosen = tuple(sorted(some))
        ranks = [Fraction(0), *(before[at] for at in chosen), before[-1]]
        misses = sum(abs(b - a - aim) for a, b, aim in zip(ranks, ranks[1:], aims, strict=False))
        raw[chosen] += math.exp(-float(kappa * misses))
    total = sum(raw.values())
    return {chosen: weight / total for chosen, weight in raw.items()}


JOINTS = [(Fraction(1, 2), Fraction(3, 4)), (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))]


@pytest.mark.parametrize("shares", JOINTS)
@settings(max_examples=25, deadline=None)
@given(
    weights=st.lists(st.integers(0, 3), min_size=3, max_size=3),
    moved=st.lists(st.integers(-2, 2), min_size=3),
    number=st.integers(0, 9),
)
def test_no_neighbour_moves_the_law_of_a_joint_choice_beyond_its_event(shares, weights, moved, number):
    others = [max(0, weight + move) for weight, move in zip(weights, moved, strict=False)]
    norm = Fraction(max(1, sum(abs(a - b) for a, b in zip(weights, others, strict=True))))
    joint = QuantileJoint.of(shares, last=2, norm=norm, epsilon=Fraction(1))
    p, q = (joint_law(shares, one, number, joint.kappa, 1) for one in (weights, others))
    losses = [math.log(p[key] / q[key]) for key in p]
    assert joint.event.pure() == 1
    epsilon = 1 - float(joint.counting.event.pure())
    assert max(map(abs, losses)) <= epsilon + ROUNDING
    assert max(losses) - min(losses) <= epsilon + ROUNDING
    assert abs(sum(weights) - sum(others)) <= joint.counting.sensitivity


@pytest.mark.parametrize("shares", JOINTS)
@pytest.mark.parametrize(
    ("weights", "number"), [([0, 0, 0], 0), ([1, 0, 2], 3), ([1, 0, 2], 0), ([40, 3, 0], 38), ([0, 900, 5], 905)]
)
@pytest.mark.parametrize("kappa", [Fraction(1, 3), Fraction(1, 50)])
def test_a_joint_choice_is_drawn_with_exactly_its_law(shares, weights, number, kappa, monkeypatch):
    monkeypatch.setattr(rank_tree, "BITS", 1)
    expected = joint_law(shares, weights, number, kappa, 1)
    held = [place for place in range(3) if weights[place]]
    found = RankSpread(held, [weights[place] for place in held])
    law_of = JointPieces(found, targets(shares, number), kappa, end=6)
    draws = 1500
    drawn = Counter(tuple(law_of.draw()) for _ in range(draws))
    assert set(drawn) <= set(expected)
    for key, p in expected.items():
        assert abs(drawn[key] - draws * p) <= 6 * math.sqrt(draws * p * (1 - p)) + 2


@pytest.mark.parametrize("edges", [(), (2,), (1, 4)])
def test_a_joint_choice_has_its_law_however_coarse_the_pieces_are(edges, monkeypatch):
    # few pieces leave much to the acceptance: with all places apart nearly every proposal is kept
    monkeypatch.setattr(rank_tree, "BITS", 1)
    monkeypatch.setattr(JointPieces, "_edges", lambda _: iter(edges))
    shares, weights, kappa = JOINTS[1], [4, 1, 5], Fraction(1, 2)
    expected = joint_law(shares, weights, 10, kappa, 1)
    law_of = JointPieces(RankSpread([0, 1, 2], weights), targets(shares, 10), kappa, end=6)
    draws = 1500
    drawn = Counter(tuple(law_of.draw()) for _ in range(draws))
    assert set(drawn) <= set(expected)
    for key, p in expected.items():
        assert abs(drawn[key] - draws * p) <= 6 * math.sqrt(draws * p * (1 - p)) + 2


def test_one_choice_has_its_law_however_coarse_the_pieces_are(monkeypatch):
    # whole places as pieces leave all to the acceptance: one without weight keeps each proposal, one with weight a part
    one = 1 << rank_tree.BITS
    monkeypatch.setattr(RankSpread, "cuts", lambda *_: [0, one, 2 * one])
    weight, rate, draws = 6, Fraction(1, 2), 1500
    found = RankSpread([1], [weight])
    drawn = sum(choose_spread(found, HALF, rate, start=0, end=2 * one) < one for _ in range(draws))
    far = float(rate) * weight / 2
    without, with_it = math.exp(-far), (1 - math.exp(-far)) / far
    p = without / (without + with_it)
    assert abs(drawn - draws * p) <= 5 * math.sqrt(draws * p * (1 - p)) + 1


def test_a_joint_choice_keeps_proposals_often_whatever_the_data(monkeypatch):
    # of heavy places, of none, and of weights in small parts; with targets that are far off what there is
    proposals = 0
    propose = JointPieces._propose

    def counted(self, source):
        nonlocal proposals
        proposals += 1
        return propose(self, source)

    monkeypatch.setattr(JointPieces, "_propose", counted)
    shares = tuple(Fraction(tenth, 10) for tenth in range(1, 10))
    cases = [([], []), ([7], [10**9]), ([0, 999], [5, 5]), (list(range(1000)), [2**20] * 1000)]
    for places, weights in cases:
        for more in (-20, 0, 20):
            scale = 2**20 if weights and weights[0] == 2**20 else 1
            number = max(0, sum(weights) + more * scale)
            law_of = JointPieces(
                RankSpread(places, weights), targets(shares, number), Fraction(2, 5 * scale), end=1000 << rank_tree.BITS
            )
            chosen = law_of.draw()
            assert chosen == sorted(chosen)
    assert proposals <= 12 * 200


def test_several_quantiles_are_chosen_in_the_way_that_is_best_for_them():
    facts = schema.Schema(unit=Rows(), columns=COLUMNS)
    for number, spend, kind in (
        (2, Spend(Fraction(1), Fraction(0), None, Fraction(0)), QuantileJoint),
        (3, Spend(Fraction(1), Fraction(0), None, Fraction(0)), QuantileTree),
        (9, Spend(Fraction(1), Fraction(0), None, Fraction(0)), QuantileJoint),
        (30, Spend(Fraction(1), Fraction(0), None, Fraction(0)), QuantileTree),
        (9, Spend(None, Fraction(0), Fraction(1, 10), Fraction(0)), QuantileTree),
    ):
        asked = ", ".join(f"QUANTILE(age, {(at + 1) / (number + 1):.4f})" for at in range(number))
        plan = make_plan(parse(f"SELECT {asked} FROM t", {"t": facts}), {"t": facts}, spend=spend)
        assert isinstance(plan.passes[0].measure.draws[0], kind)
        assert (plan.event.pure() == 1) == (spend.rho is None)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(9, 10)])
def test_the_span_of_an_interval_for_a_population_allows_for_its_root_too(share):
    # one row more may be on the far side of the aim, and moves what is added for sampling
    facts = schema.Schema(unit=Rows(), columns={"age": schema.integer(0, 4)}, units=None)
    query = parse(f"SELECT QUANTILE(age, {float(share)}) FROM t", {"t": facts})
    spend = Spend(Fraction(1), Fraction(0), None, Fraction(0))
    draw = make_plan(query, {"t": facts}, spend=spend, covers="population").passes[0].measure.draws[-1]
    roots = [Fraction(draw.root(share, total), draw.unit) for total in range(300)]
    most = max(after - before for before, after in pairwise(roots))
    assert most > 0
    assert 2 * (max(share, 1 - share) + most) <= draw.span
