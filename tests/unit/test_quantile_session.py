"""Quantiles through a session: plans that cost what was asked, refusals, derived columns, tampered plans."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow
import pytest

import privet
from privet.core.errors import InvariantError, RequestError, Unsupported
from privet.mechanisms.rank_choice import QuantileChoice
from privet.mechanisms.rank_ladder import QuantileLadder
from privet.planner.batch import digests_of
from privet.planner.measures import QuantileMeasure, SumMeasure
from privet.planner.selections import far_notes
from privet.release import Released
from privet.results.read import quantile_intervals

pa = pytest.importorskip("pyarrow")

ROWS = [
    {"who": at % 40, "age": at % 90, "pay": float(at % 70), "city": "Ulm" if at % 3 else "Bonn", "shop": f"s{at % 2}"}
    for at in range(900)
]
COLUMNS = {
    "who": privet.integer(),
    "age": privet.integer(0, 120),
    "pay": privet.number(0, 100),
    "city": privet.category(["Ulm", "Bonn"]),
    "shop": privet.text(),
}
UNITS = [privet.Rows(), privet.Person("who")]


def session(unit, budget=None):
    table = privet.Table(
        pa.Table.from_pylist(ROWS), unit=unit, columns=COLUMNS, contribution=privet.Contribution(groups=1, rows=1)
    )
    return privet.Session({"t": table}, budget=budget or privet.Pure(epsilon=10_000))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("bound", ["norm", "groups"])
def test_at_a_great_cost_a_quantile_is_what_it_is(unit, bound):
    with session(unit) as s:
        many = privet.Contribution(groups=2, rows=1000)
        answer = s.ask(
            "SELECT city, MEDIAN(age) AS m, QUANTILE(pay, 0.9) AS q, MIN(age) AS a, MAX(age) AS b FROM t GROUP BY city",
            epsilon=9_000,
            bound=bound,
            contribution=many if isinstance(unit, privet.Person) else None,
        )
        for row in answer:
            ages = sorted(one["age"] for one in ROWS if one["city"] == row["city"])
            assert ages[len(ages) // 2 - 12] <= row["m"] <= ages[len(ages) // 2 + 12]
            assert row["m_low"] <= row["m"] <= row["m_high"]
            assert row["a"] <= ages[60]
            assert row["b"] >= ages[-61]


@pytest.mark.parametrize("unit", UNITS)
def test_the_builder_asks_what_sql_asks(unit):
    with session(unit) as s:
        built = (
            s.table("t")
            .group_by("city")
            .agg(
                m=privet.median("age"),
                q=privet.quantile("age", 0.9),
                a=privet.smallest("age"),
                b=privet.largest("age"),
                n=privet.count(),
            )
        )
        sql = (
            "SELECT city, MEDIAN(age) m, QUANTILE(age, 0.9) q, MIN(age) a, MAX(age) b, COUNT(*) n FROM t GROUP BY city"
        )
        assert s.plan(built, epsilon=1).digest == s.plan(sql, epsilon=1).digest


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("MEDIAN(age)", "QUANTILE(age, 0.5)"),
        ("MIN(age)", "QUANTILE(age, 0)"),
        ("PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age)", "QUANTILE_CONT(age, 0.9)"),
        ("PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY age)", "QUANTILE(age, 0.90)"),
    ],
)
def test_two_spellings_of_a_quantile_are_one_question(written, same):
    with session(UNITS[0]) as s:
        first, second = (s.plan(f"SELECT {one} FROM t", epsilon=1) for one in (written, same))
        assert first.digest == second.digest


@pytest.mark.parametrize("spend", [{"epsilon": 1}, {"rho": Fraction(1, 50)}])
@pytest.mark.parametrize("asked", ["MEDIAN(age)", "MEDIAN(age), MIN(pay), COUNT(*)", "QUANTILE(age, 0.1), AVG(pay)"])
@pytest.mark.parametrize("keys", ["", " GROUP BY city", " GROUP BY shop"])
@pytest.mark.parametrize("unit", UNITS)
def test_an_answer_costs_no_more_than_was_asked(unit, keys, asked, spend):
    with session(unit, privet.Approximate(epsilon=50, delta=Fraction(1, 10**6))) as s:
        plan = s.plan(f"SELECT {asked} FROM t{keys}", **spend)
        cost = plan.to_dict()["cost"]
        (name, amount), *_ = spend.items()
        assert 0.7 * float(amount) <= cost[name] <= float(amount) * (1 + 1e-9)
        assert len(s.run(plan)) >= (0 if keys else 1)


def test_groups_that_are_found_have_quantiles_too():
    with session(privet.Rows(), privet.Approximate(epsilon=100, delta=Fraction(1, 10**4))) as s:
        answer = s.ask("SELECT shop, MEDIAN(age) AS m FROM t GROUP BY shop", epsilon=20)
        assert answer.to_dict()["shop"] == ["s0", "s1"]
        assert all(30 <= value <= 60 for value in answer["m"].values)


def test_what_is_derived_from_quantiles_has_their_interval():
    with session(privet.Rows()) as s:
        answer = s.ask("SELECT MEDIAN(age) AS m, -2 * MEDIAN(age) + 1 AS d, MAX(age) - MIN(age) AS r FROM t", epsilon=9)
        (m,), (d,) = answer["m"].values, answer["d"].values
        assert d == 1 - 2 * m
        assert answer["d"].low[0] == 1 - 2 * answer["m"].high[0]
        assert answer["d"].high[0] == 1 - 2 * answer["m"].low[0]
        assert answer["r"].low[0] <= answer["r"].values[0]
        assert answer["r"].high[0] == 120


def test_an_empty_table_takes_the_ordinary_path():
    table = privet.Table(pa.Table.from_pylist(ROWS).slice(0, 0), unit=privet.Rows(), columns=COLUMNS)
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=1)) as s:
        (row,) = s.ask("SELECT MEDIAN(age) AS m FROM t", epsilon=1)
        assert 0 <= row["m"] <= 120


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT QUANTILE(age, 1.5) FROM t",
        "SELECT QUANTILE(age, pay) FROM t",
        "SELECT QUANTILE(age) FROM t",
        "SELECT MEDIAN(city) FROM t",
        "SELECT MEDIAN(DISTINCT age) FROM t",
        "SELECT MIN(age, 3) FROM t",
        "SELECT MIN(who) FROM t",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age DESC) FROM t",
        "SELECT PERCENTILE_CONT(0.5) FROM t",
    ],
)
def test_what_is_no_quantile_is_refused_by_name(sql):
    with session(privet.Person("who")) as s, pytest.raises(RequestError):
        s.plan(sql, epsilon=1)


@pytest.mark.parametrize("change", ["span", "last", "places", "order", "none"])
def test_a_plan_whose_choices_are_for_another_scan_is_not_run(change):
    with session(privet.Person("who")) as s:
        plan = s.plan("SELECT city, MEDIAN(age) FROM t GROUP BY city", epsilon=1)
        (one,) = plan.passes
        draws = one.measure.draws
        tampered = {
            "span": lambda: replace(
                one, measure=QuantileMeasure((replace(draws[0], span=draws[0].span / 2), *draws[1:]))
            ),
            "last": lambda: replace(one, measure=QuantileMeasure((replace(draws[0], last=7), *draws[1:]))),
            "places": lambda: replace(one, scan=replace(one.scan, places=replace(one.scan.places, null_as=3))),
            "order": lambda: replace(one, scan=replace(one.scan, bounding=replace(one.scan.bounding, order=2))),
            "none": lambda: replace(one, measure=SumMeasure(())),
        }[change]
        with pytest.raises(InvariantError):
            s.run(replace(plan, passes=(tampered(),)))
        assert s.history() == ()


def test_a_plan_that_counts_places_without_choosing_or_chooses_without_counting_is_not_run():
    with session(privet.Person("who")) as s:
        plan = s.plan("SELECT city, MEDIAN(age) FROM t GROUP BY city", epsilon=1)
        counts = s.plan("SELECT city, COUNT(*) FROM t GROUP BY city", epsilon=1)
        (median,), (count,) = plan.passes, counts.passes
        for whole, tampered in (
            (plan, replace(median, measure=SumMeasure(()))),
            (counts, replace(count, measure=median.measure)),
        ):
            with pytest.raises(InvariantError, match="places are counted if and only if some are chosen"):
                s.run(replace(whole, passes=(tampered,)))
        assert s.history() == ()


def test_several_quantiles_are_chosen_at_once_and_in_order():
    with session(privet.Person("who")) as s:
        asked = ", ".join(f"QUANTILE(age, 0.{tenth}) AS q{tenth}" for tenth in range(1, 10))
        plan = s.plan(f"SELECT {asked} FROM t", epsilon=2)
        assert plan.event.pure() == 2
        (row,) = s.run(plan)
        values = [row[f"q{tenth}"] for tenth in range(1, 10)]
        assert values == sorted(values)
        assert all(row[f"q{tenth}_low"] <= row[f"q{tenth}"] <= row[f"q{tenth}_high"] for tenth in range(1, 10))


def test_a_plan_whose_tree_is_for_less_than_a_unit_weighs_is_not_run():
    with session(privet.Person("who")) as s:
        plan = s.plan("SELECT MEDIAN(age), QUANTILE(age, 0.9) FROM t", epsilon=1)
        (one,) = plan.passes
        tree, *ends = one.measure.draws
        tampered = replace(one, measure=QuantileMeasure((replace(tree, norm=tree.norm / 2), *ends)))
        with pytest.raises(InvariantError):
            s.run(replace(plan, passes=(tampered,)))


@pytest.mark.parametrize("change", [{"below": 0}, {"above": 0}, {"share": Fraction(1, 3)}])
def test_a_plan_whose_scan_tells_too_little_apart_is_not_run(change):
    with session(privet.Rows()) as s:
        plan = s.plan("SELECT city, MEDIAN(pay) FROM t GROUP BY city", epsilon=1)
        (one,) = plan.passes
        assert one.scan.near is not None
        tampered = replace(one, scan=replace(one.scan, near=replace(one.scan.near, **change)))
        with pytest.raises(InvariantError, match="tell apart"):
            s.run(replace(plan, passes=(tampered,)))
        several = s.plan("SELECT MEDIAN(pay), QUANTILE(pay, 0.9) FROM t", epsilon=1).passes[0]
        jointly = replace(several.measure, draws=several.measure.draws[:1])
        assert not isinstance(jointly.draws[0], QuantileChoice)
        tampered = replace(several, measure=jointly, scan=replace(several.scan, near=one.scan.near))
        with pytest.raises(InvariantError, match="tell apart"):
            s.run(replace(plan, passes=(tampered,)))


def test_a_plan_tells_its_ranks_in_words():
    with session(privet.Rows()) as s:
        plan = s.plan("SELECT MEDIAN(age), MAX(age) FROM t", epsilon=1)
        words = plan.explain()
        assert "Chooses the median of age from 121 values" in words
        assert "largest" in words
        assert "ranks" in repr(plan)
        assert plan.to_dict()["releases"][0]["noise"] == "Exponential"


def test_a_plan_and_an_answer_tell_what_becomes_of_ends_of_too_few_rows():
    with session(privet.Rows()) as s:
        asked = "SELECT city, MIN(age) AS youngest, MAX(age) AS oldest, MIN(pay) AS least FROM t GROUP BY city"
        plan = s.plan(asked, epsilon=4)
        words = plan.explain()
        assert "anywhere up to the greatest value that is declared, and carries no information" in words
        assert "anywhere up to the least value that is declared, and carries no information" in words
        answer = s.run(plan)
        assert any("ranks inside" in note and "far bound" in note for note in answer.notes)
        assert not any("ranks inside" in note for note in s.ask("SELECT MEDIAN(age) AS m FROM t", epsilon=4).notes)


def test_ends_that_came_out_as_the_far_bound_are_told_from_what_was_released():
    with session(privet.Rows()) as s:
        ends = "MIN(age) AS youngest, MAX(age) AS oldest, MEDIAN(pay) AS middle, COUNT(*) AS n FROM t"
        grouped = s.plan(f"SELECT city, {ends} GROUP BY city", epsilon=4)
        told = far_notes(grouped, {"min_age": [120.0, 0.0], "max_age": [119.0, 120.0], "median_pay": [0.0, 100.0]})
        assert told == ("youngest: the far bound in 1 of 2 groups, most likely because of too few rows.",)
        whole = s.plan(f"SELECT {ends}", epsilon=4)
        told = far_notes(whole, {"min_age": [119.0], "max_age": [0.0], "median_pay": [0.0]})
        assert told == ("oldest: the far bound, most likely because of too few rows.",)


def test_a_median_stands_on_a_join_that_finds_one_row():
    people = [{"who": at, "height": 100.0 + at} for at in range(40)]
    unit = privet.Person("who")
    tables = {
        "t": privet.Table(
            pa.Table.from_pylist(ROWS), unit=unit, columns=COLUMNS, contribution=privet.Contribution(groups=1, rows=1)
        ),
        "people": privet.Table(
            pa.Table.from_pylist(people),
            unit=unit,
            columns={"who": privet.integer(), "height": privet.number(100, 200)},
            contribution=privet.Contribution(groups=1, rows=1),
            key="who",
        ),
    }
    with privet.Session(tables, budget=privet.Pure(epsilon=10_000)) as s:
        asked = "SELECT MEDIAN(height) AS m FROM t JOIN people USING (who) WHERE age < 45"
        (row,) = s.ask(asked, epsilon=5_000, contribution=privet.Contribution(groups=1, rows=30))
        assert 115 <= row["m"] <= 125


DECILES = ", ".join(f"QUANTILE(pay, 0.{tenth}) AS q{tenth}" for tenth in range(1, 10))


def ladders(plan):
    return [draw for one in plan.passes for draw in one.measure.draws if isinstance(draw, QuantileLadder)]


@pytest.mark.parametrize("budget", [privet.Pure(epsilon=100), privet.Zcdp(rho=100)])
def test_intervals_take_two_fifths_of_a_quantile_and_a_fifth_of_several(budget):
    with session(privet.Rows(), budget) as s:
        cost = {"epsilon": 1} if isinstance(budget, privet.Pure) else {"rho": 1}
        for asked, part, number in (
            ("MEDIAN(pay)", 0.4, 1),
            ("MEDIAN(pay), QUANTILE(pay, 0.9)", 0.2, 2),
            (DECILES, 0.2, 10),
        ):
            plan = s.plan(f"SELECT {asked} FROM t", **cost)
            epsilons = [float(draw.event.pure()) for draw in ladders(plan)]
            spent = sum(epsilons) if "epsilon" in cost else sum(one**2 / 8 for one in epsilons)
            assert spent == pytest.approx(part)
            assert plan.price["rho" if "rho" in cost else "epsilon"] == pytest.approx(1)
            assert len(epsilons) == number
            assert {draw.alpha for draw in ladders(plan)} == {Fraction(1, 20) if number < 4 else Fraction(1, 40)}


def test_what_may_be_missed_is_that_of_the_width_that_is_asked_for():
    with session(privet.Rows()) as s:
        plan = s.plan("SELECT COUNT(*) AS n, MEDIAN(pay) AS m FROM t", within={"n": 5}, confidence=0.99)
        (draw,) = ladders(plan)
        assert float(draw.alpha) == pytest.approx(0.01)
        other = s.plan("SELECT COUNT(*) AS n, MEDIAN(pay) AS m FROM t", within={"n": 5}, confidence=0.98)
        assert other.digest != plan.digest


def test_the_least_and_the_greatest_are_drawn_as_ever():
    with session(privet.Rows()) as s:
        alone = s.plan("SELECT MIN(pay), MAX(pay) FROM t", epsilon=1)
        assert not ladders(alone)
        assert len(digests_of(alone)) == 1
        beside = s.plan("SELECT MIN(pay), MAX(pay), MEDIAN(pay) FROM t", epsilon=1)
        (now,), (before,) = digests_of(beside)
        assert now != before
        ends = [float(draw.event.pure()) for draw in beside.passes[0].measure.draws[:2]]
        # of nine tenths: four parts of fourteen each, as there were six for the median and its ends
        assert ends == [pytest.approx(0.9 * 4 / 14)] * 2


def test_a_ladder_is_drawn_around_the_values_that_are_released(monkeypatch):
    seen = []
    release = QuantileLadder.release

    def watched(self, groups, values):
        seen.append((self.shares, [list(one) for one in values]))
        return release(self, groups, values)

    monkeypatch.setattr(QuantileLadder, "release", watched)
    with session(privet.Rows()) as s:
        s.ask(f"SELECT city, MAX(pay), {DECILES} FROM t GROUP BY city", epsilon=3)
    assert [shares for shares, _ in seen[:2]] == [(Fraction(1, 10),), (Fraction(1, 5),)]
    common = seen[-1][1]
    assert len(common) == 9
    assert [values for _, (values,) in seen[:-1]] == common


def test_an_interval_is_the_narrower_of_both_around_the_place_of_the_value():
    with session(privet.Rows()) as s:
        plan = s.plan(f"SELECT {DECILES} FROM t", epsilon=3)
    (one,) = plan.passes
    grid, measure = one.scan.places, one.measure
    places = [at * 6_000 for at in range(1, 10)]
    values = [((place << 16) + 5,) for place in places]
    rungs = [(20,)] * 9 + [(30,)]
    draws = ladders(plan)
    for tail, share in ((0.05, Fraction(1, 10)), (0.05, Fraction(9, 10)), (0.01, HALF)):
        at = int(share * 10) - 1
        radii = []
        for draw, rung in ((draws[at], 20), (draws[-1], 30)):
            around = np.array([values[int(q * 10) - 1] for q in draw.shares])
            wide = draw.half_widths(np.array([rung]), around, draw.wider(tail / 2))
            radii.append(int(wide[draw.shares.index(share), 0]))
        low, high = measure.interval((*values, *rungs), one.scan, share, tail, rounds=True)
        step, place = float(grid.step), places[at]
        assert low[0] == pytest.approx((place - min(radii)) * step - step / 2)
        assert high[0] == pytest.approx((place + min(radii)) * step + step / 2)
        assert radii[0] != radii[1]
    whole = measure.interval((*values, *[(10**3,)] * 10), one.scan, HALF, 0.05, rounds=True)
    assert [end[0] for end in whole] == [-np.inf, np.inf]


HALF = Fraction(1, 2)


@pytest.mark.parametrize(("unit", "bound", "heaviest"), [
    (privet.Rows(), "norm", 1), (privet.Person("who"), "norm", 6 * 2**20), (privet.Person("who"), "groups", 3),
])  # fmt: skip
def test_intervals_for_a_population_count_people_and_halve_what_may_be_missed(unit, bound, heaviest):
    with session(unit) as s:
        limit = None if isinstance(unit, privet.Rows) else privet.Contribution(groups=2, rows=3)
        asked = "SELECT city, MEDIAN(pay) AS m FROM t GROUP BY city"
        plan = s.plan(asked, epsilon=2, covers="population", bound=bound, contribution=limit)
        (draw,) = ladders(plan)
        assert (draw.alpha, draw.beta, draw.heaviest) == (Fraction(1, 40), Fraction(1, 40), heaviest)
        assert plan.event.pure() == 2
        assert len(digests_of(plan)) == 1
        answer = s.run(plan)
        assert any("sampled from" in note and "0.95" in note for note in answer.notes)
        assert all(row["m_low"] <= row["m"] <= row["m_high"] for row in answer)
        for change in ({"heaviest": 1}, {"span": draw.span * Fraction(99, 100)}):
            if draw.heaviest == change.get("heaviest"):
                continue
            (one,) = plan.passes
            tampered = replace(one.measure, draws=(one.measure.draws[0], replace(draw, **change)))
            with pytest.raises(InvariantError, match="sensitivity"):
                s.run(replace(plan, passes=(replace(one, measure=tampered),)))


def test_a_plan_whose_intervals_come_before_their_values_is_refused_and_free():
    with session(privet.Rows()) as s:
        plan = s.plan("SELECT MEDIAN(pay) AS m FROM t", epsilon=1)
        (one,) = plan.passes
        for draws in (one.measure.draws[::-1], one.measure.draws[1:]):
            with pytest.raises(InvariantError):
                s.run(replace(plan, passes=(replace(one, measure=replace(one.measure, draws=draws)),)))
        with pytest.raises(InvariantError, match="population"):
            s.run(replace(plan, covers="population"))
        assert not s.history()


def test_what_has_no_interval_for_a_population_is_refused_by_name():
    with session(privet.Rows()) as s:
        for asked in ("COUNT(*), MEDIAN(pay)", "MAX(pay)", "MEDIAN(pay), MIN(age)"):
            with pytest.raises(Unsupported, match="quantiles between the ends"):
                s.plan(f"SELECT {asked} FROM t", epsilon=1, covers="population")
        with pytest.raises(Unsupported, match="one grouping at a stated cost"):
            s.plan("SELECT MEDIAN(pay) FROM t", within=5, covers="population")
        with pytest.raises(Unsupported, match="one grouping at a stated cost"):
            s.plan("SELECT city, MEDIAN(pay) FROM t GROUP BY ROLLUP (city)", epsilon=1, covers="population")
        assert s.history() == ()
    rows = [{"who": 1, "day": "2024-01-01", "pay": 3.0}]
    columns = {"who": privet.integer(), "day": privet.date(), "pay": privet.number(0, 100)}
    unit = privet.Window("who", "day", 7)
    limit = privet.Contribution(groups=1, rows=1)
    table = privet.Table(pa.Table.from_pylist(rows), unit=unit, columns=columns, contribution=limit)
    with (
        privet.Session({"t": table}, budget=privet.Pure(epsilon=9)) as s,
        pytest.raises(Unsupported, match="windows"),
    ):
        s.plan("SELECT MEDIAN(pay) FROM t", epsilon=1, covers="population")


def test_a_plan_tells_in_words_how_wide_an_interval_is():
    with session(privet.Rows()) as s:
        plan = s.plan("SELECT city, MEDIAN(pay) AS m FROM t GROUP BY city", epsilon=1)
        words = plan.explain()
        assert "public half-widths around it" in words
        assert "13" in words  # ranks to either side
        assert "where rows are dense" in repr(plan)


def test_of_several_rounds_an_interval_is_what_all_have_in_common_or_else_the_last():
    with session(privet.Rows()) as s:
        plan = s.plan("SELECT MEDIAN(pay) AS m FROM t", within=5, at_most=2)
    one = plan.passes[0]
    place = one.scan.places.high // 2
    for values, rungs, ends in (
        ([0, 0, 0, 0, 500], [20, 19, 18, 21, 18], [4, 2]),
        ([0, 0, 0, 0, 5_000_000], [20, 19, 18, 21, 3], [4, 4]),
    ):
        sums = tuple(((place + value,), (rung,)) for value, rung in zip(values, rungs, strict=True))
        low, high = quantile_intervals(Released(((),), sums), plan, 0.01)["median_pay"]
        each = [one.measure.interval(each, one.scan, HALF, 0.01, rounds=True) for each in sums]
        assert low[0] == each[ends[0]][0][0]
        assert high[0] == each[ends[1]][1][0]


def test_intervals_of_several_quantiles_are_drawn_around_their_own_values() -> None:
    facts = {"unit": privet.Rows(), "columns": {"age": privet.integer(0, 100)}}
    table = privet.Table(pyarrow.table({"age": list(range(101)) * 200}), **facts)
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=100)) as session:
        answer = session.ask("SELECT QUANTILE(age, 0.25) AS a, QUANTILE(age, 0.75) AS b FROM t", epsilon=50)
    for name, true in (("a", 25), ("b", 75)):
        (low,), (high,) = answer[name].low, answer[name].high
        assert low <= true <= high
        assert high - low <= 4


def test_half_widths_of_a_common_ladder_follow_the_scale_of_each_quantile() -> None:
    shares = [Fraction(place, 5) for place in (1, 2, 3, 4)]
    columns = {"x": privet.integer(0, 100_000)}
    asked = ", ".join(f"QUANTILE(x, {float(share)}) AS q{place}" for place, share in enumerate(shares))
    table = privet.Table(pyarrow.table({"x": [1]}), unit=privet.Rows(), columns=columns)
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=10)) as session:
        (one,) = session.plan(f"SELECT {asked} FROM t", epsilon=1).passes
    assert isinstance(one.measure, QuantileMeasure)
    released: dict[int, tuple[int, ...]] = {}
    for share, value in zip(shares, (10, 20, 2_000, 40_000), strict=True):
        for column, draw in one.measure.ladders_of(share):
            common = len(draw.shares) > 1
            released[column] = (draw.thetas.index(2.0**-6) if common else len(draw.rungs) - 1,)
            released[one.measure.column_of(share)] = (value << draw.digits,)
    found = tuple(released[column] for column in range(len(released)))
    ends = [one.measure.interval(found, one.scan, share, 0.05, rounds=False) for share in shares]
    widths = [float(high[0] - low[0]) for low, high in ends]
    assert widths[0] < widths[2] < widths[3]
