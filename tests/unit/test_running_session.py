"""Running totals of a whole history: one charge, an interval at every step, groups at once, any unit."""

from __future__ import annotations

import datetime
import itertools
import math
import pickle
from pathlib import Path
from typing import Any

import pandas
import pytest

import privet
from privet import Contribution, Person, Pure, Rows, Session, Table, Window, Zcdp
from privet.core.errors import BudgetExceeded, RequestError
from privet.ledger.memory import MemoryLedger
from privet.strategy import MatrixStrategy, TreeStrategy

DAY = datetime.date(2024, 1, 1)
DAYS = 20


def day(number: int) -> datetime.date:
    return DAY + datetime.timedelta(days=number)


FRAME = pandas.DataFrame(
    {
        "patient": [index % 37 for index in range(300)],
        "day": [day((index * 7) % DAYS) for index in range(300)],
        "hour": [(index * 5) % 24 for index in range(300)],
        "ward": ["ABC"[index % 3] for index in range(300)],
        "cost": [float((index * 13) % 90 - 30) for index in range(300)],
        "stay": [(index * 3) % 9 for index in range(300)],
        "area": ["NS"[index // 7 % 2] for index in range(300)],
    }
)
COLUMNS = {
    "patient": privet.integer(),
    "day": privet.date(DAY, day(DAYS - 1)),
    "hour": privet.integer(0, 23),
    "ward": privet.category(["A", "B", "C"]),
    "cost": privet.number(-30, 60, step=1),
    "stay": privet.integer(0, 8),
    "area": privet.category(["N", "S"]),
}
LARGE: dict[str, dict[str, Any]] = {"pure": {"epsilon": 10**6}, "gaussian": {"rho": 10**12}}
BUDGETS: dict[str, Any] = {"pure": Pure(epsilon=10**8), "gaussian": Zcdp(rho=10**14)}


def session(noise: str = "pure", frame: Any = FRAME, columns: Any = COLUMNS, **table: Any) -> Session:
    table = {"unit": Rows(), **table}
    return Session({"visits": Table(frame, columns=columns, **table)}, budget=BUDGETS[noise])


@pytest.mark.parametrize("noise", ["pure", "gaussian"])
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize(("of", "name"), [(None, "n"), ("cost", "cost"), ("stay", "stay")])
@pytest.mark.parametrize("by", ["day", "hour"])
def test_totals_are_those_of_all_steps_up_to_each(
    noise: str, neighbors: Any, of: str | None, name: str, by: str
) -> None:
    with session(noise, neighbors=neighbors) as asked:
        table = asked.running("visits", by=by, of=of, groups=["ward"], **LARGE[noise]).totals()
    assert [one.name for one in table.series] == [by, "ward", name]
    assert len(table) == (DAYS if by == "day" else 24) * 3
    for row in table:
        chosen = FRAME[(FRAME[by] <= row[by]) & (FRAME.ward == row["ward"])]
        exact = len(chosen) if of is None else chosen[of].sum()
        assert abs(row[name] - exact) < 0.5  # the noise has a deviation below 0.01: fifty of them


@pytest.mark.parametrize("noise", ["pure", "gaussian"])
def test_groups_may_be_named_in_any_order(noise: str) -> None:
    with session(noise) as asked:
        table = asked.running("visits", by="day", groups=["ward", "area"], **LARGE[noise]).totals()
    assert [one.name for one in table.series] == ["day", "ward", "area", "n"]
    for row in table:
        chosen = FRAME[(FRAME.day <= row["day"]) & (FRAME.ward == row["ward"]) & (FRAME.area == row["area"])]
        assert abs(row["n"] - len(chosen)) < 0.5


def test_a_session_has_noise_of_a_tree_or_of_the_square_root() -> None:
    with session("pure") as asked:
        tree = asked.plan_running("visits", by="day", epsilon=1).counts.measure.strategy
    with session("gaussian") as asked:
        root = asked.plan_running("visits", by="day", rho=1).counts.measure.strategy
    assert type(tree) is TreeStrategy
    assert type(root) is MatrixStrategy
    assert root.name == "square root of prefixes"


@pytest.mark.parametrize(("steps", "error"), [(16, 1.7968), (64, 2.2297), (1024, 3.1098)])
def test_gaussian_totals_have_the_error_of_the_square_root(steps: int, error: float) -> None:
    columns = {"t": privet.integer(0, steps - 1)}
    with session("gaussian", pandas.DataFrame({"t": [0]}), columns) as asked:
        plan = asked.plan_running("visits", by="t", rho=0.5)  # a deviation of 1 for a row that moves 1
    assert error * 0.99 <= plan.error <= error * 1.01


def test_pure_totals_err_less_than_a_binary_tree() -> None:
    columns = {"t": privet.integer(0, 1023)}
    with session("pure", pandas.DataFrame({"t": [0]}), columns) as asked:
        assert asked.plan_running("visits", by="t", epsilon=1).error < 34.788


@pytest.mark.parametrize("noise", ["pure", "gaussian"])
@pytest.mark.parametrize(
    ("unit", "limit", "moved"),
    [
        (Rows(), None, 1),
        (Rows(group=3), None, 3),
        (Person("patient"), Contribution(groups=2, rows=3), 6),
        (Person("patient", group=2), Contribution(groups=2, rows=3), 12),
        (Window("patient", "day", 7), Contribution(groups=2, rows=3), 12),
    ],
)
def test_what_a_unit_moves_is_bounded_in_l1_whatever_the_noise(noise: str, unit: Any, limit: Any, moved: int) -> None:
    with session(noise, unit=unit, contribution=limit) as asked:
        cost = {"epsilon": 1} if noise == "pure" else {"rho": 1}
        counted = asked.plan_running("visits", by="day", groups=["ward"], **cost).counts.measure
        summed = asked.plan_running("visits", by="day", of="stay", **cost).counts.measure
        signed = asked.plan_running("visits", by="day", of="cost", **cost).counts.measure
    assert counted.contribution == moved
    assert summed.contribution == 8 * moved
    assert signed.contribution == 60 * moved * (2 if isinstance(unit, Window) else 1)


def test_groups_cost_and_err_no_more() -> None:
    with session() as asked:
        one = asked.plan_running("visits", by="day", epsilon=1)
        several = asked.plan_running("visits", by="day", groups=["ward", "hour"], epsilon=1)
    assert several.price == one.price
    assert math.isclose(several.error, one.error, rel_tol=0.02)


def test_the_same_history_is_free_again_and_a_longer_one_is_charged() -> None:
    ledger = MemoryLedger(Pure(epsilon=10))
    longer = pandas.concat([FRAME, FRAME])

    def asked(frame: Any, version: str) -> Session:
        table = Table(frame, unit=Rows(), columns=COLUMNS, version=version)
        return Session({"visits": table}, ledger=ledger, account="ana")

    with asked(FRAME, "1") as first:
        once = first.running("visits", by="day", epsilon=1).to_dict()
        again = first.running("visits", by="day", epsilon=1).to_dict()
    assert once == again
    assert len(ledger.history()) == 1
    with asked(longer, "2") as second:
        grown = second.running("visits", by="day", epsilon=1)
    assert len(ledger.history()) == 2
    assert ledger.remaining("ana").largest_epsilon == 8
    assert "charged again" in grown.totals().notes[-1]
    with asked(longer, "2") as third, pytest.raises(BudgetExceeded):
        third.running("visits", by="day", epsilon=9)


def test_what_was_released_answers_without_a_session() -> None:
    with session() as asked:
        found = asked.running("visits", by="day", groups=["ward"], epsilon=1)
        before = found.to_dict(confidence=0.9)
    kept = pickle.loads(pickle.dumps(found))
    assert kept.to_dict(confidence=0.9) == before
    assert b"patient" not in pickle.dumps(found)
    assert "3 steps" not in repr(found)
    assert "20 steps" in repr(found)


@pytest.mark.parametrize("noise", ["pure", "gaussian"])
@pytest.mark.parametrize("of", [None, "cost"])
def test_intervals_cover_every_total(noise: str, of: str | None) -> None:
    with session(noise) as asked:
        cost = {"epsilon": 1} if noise == "pure" else {"rho": 0.5}
        table = asked.running("visits", by="day", of=of, **cost).totals(confidence=1 - 1e-9)  # 20 totals: below 2e-8
    name = "n" if of is None else of
    for row in table:
        chosen = FRAME[FRAME.day <= row["day"]]
        exact = len(chosen) if of is None else chosen[of].sum()
        assert row[f"{name}_low"] <= exact <= row[f"{name}_high"]
        assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]


def test_totals_never_fall_where_that_is_asked_for() -> None:
    with session(frame=FRAME[:30]) as asked:
        values = asked.running("visits", by="day", epsilon=0.5, nonnegative=True).totals()["n"].values
        costs = asked.running("visits", by="day", of="cost", epsilon=10**6, nonnegative=True).totals()["cost"].values
    assert all(later >= earlier - 1e-6 for earlier, later in itertools.pairwise(values))
    assert any(later < earlier - 1 for earlier, later in itertools.pairwise(costs))  # costs may fall


def test_totals_that_may_fall_are_not_called_too_low() -> None:
    with session(unit=Person("patient"), contribution=Contribution(groups=2, rows=1)) as asked:
        for of, upward in ((None, True), ("stay", True), ("cost", False)):
            found = asked.running("visits", by="day", of=of, epsilon=10**6, nonnegative=True)
            assert (found.nonnegative, found.may_be_low) == (upward, upward)
            assert any("may be too low" in note for note in found.notes) is upward
            assert any("nearer to 0" in note for note in found.notes) is not upward


def test_rows_without_a_step_are_in_no_total() -> None:
    frame = pandas.DataFrame({"t": [0, 1, None, 1, 2, None]})
    with session(frame=frame, columns={"t": privet.integer(0, 2, nullable=True)}) as asked:
        table = asked.running("visits", by="t", epsilon=10**6).totals()
    assert table["t"].values == (0, 1, 2)
    assert [round(one) for one in table["n"].values] == [1, 3, 4]


def test_rows_can_be_chosen_and_steps_computed() -> None:
    with session() as asked:
        some = asked.table("visits").where(privet.col("ward") == "A")
        chosen = asked.running(some, by="day", epsilon=10**6).totals()
        halves = asked.running("visits", by=privet.col("hour").bin(12), epsilon=10**6).totals()
    assert round(chosen["n"].values[-1]) == (FRAME.ward == "A").sum()
    assert halves.series[0].values == (0, 12)
    assert [round(one) for one in halves["n"].values] == [(FRAME.hour < 12).sum(), 300]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"by": "ward"}, "dates or whole numbers"),
        ({"by": "patient"}, "declare"),
        ({"by": "nothing"}, "nothing"),
        ({"by": 5}, "by must be"),
        ({"by": "day", "groups": "ward"}, "groups must be"),
        ({"by": "day", "groups": ["day"]}, "day"),
        ({"by": "day", "groups": ["ward", "ward"]}, "ward"),
        ({"by": "day", "groups": [5]}, "groups must be"),
        ({"by": "day", "of": "ward"}, "SUM takes numbers"),
        ({"by": "day", "of": "patient"}, "bounds"),
        ({"by": "day", "of": 5}, "of must be"),
        ({"by": "day", "nonnegative": 1}, "nonnegative must be"),
        ({"by": "day", "epsilon": -1}, "epsilon must be"),
        ({"by": "day", "rho": 1}, "rho"),
        ({"table": "elsewhere", "by": "day"}, "elsewhere"),
    ],
)
def test_what_has_no_running_total_is_refused_and_not_charged(wrong: dict[str, Any], message: str) -> None:
    with session() as asked:
        with pytest.raises(RequestError, match=message):
            asked.running(**{"table": "visits", **wrong})
        assert asked.history() == ()


def test_a_history_of_too_many_steps_is_refused_with_what_to_do() -> None:
    with session(frame=pandas.DataFrame({"t": [0]}), columns={"t": privet.integer(0, 10**5 - 2)}) as asked:
        with pytest.raises(RequestError, match="wider bins"):
            asked.running("visits", by="t", epsilon=1)
        assert asked.history() == ()


def test_a_history_is_a_frame_and_a_picture(tmp_path: Path) -> None:
    with session(unit=Person("patient"), contribution=Contribution(groups=2, rows=2)) as asked:
        found = asked.running("visits", by="day", groups=["ward"], epsilon=1)
    frame = found.to_pandas()
    assert list(frame.columns)[:6] == ["day", "ward", "n", "n_low", "n_high", "n_error"]
    assert len(frame) == 60
    for name in ("band.png", "band.svg"):
        found.plot(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    assert found.totals()["n"].may_be_low
    assert "scaled down" in repr(found.totals())


def test_a_plan_says_price_and_error_and_reads_nothing() -> None:
    with session() as asked:
        plan = asked.plan_running("visits", by="day", of="cost", epsilon=1)
        assert plan.price["epsilon"] == 1
        assert "cost" in plan.explain()
        assert plan.to_dict()["standard_error"] == plan.error > 60
        assert "running totals by" in repr(plan)
        assert asked.history() == ()
