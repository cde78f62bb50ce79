"""`release`: which groups come out, and that noise on a private number of keys has a public law."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet.core.budget import Pure
from privet.core.errors import BadParameter
from privet.core.event import Receipt
from privet.core.scan import SealedSums
from privet.core.schema import Contribution, Schema, Table, boolean, category, integer, number, text
from privet.core.unit import Person, Rows
from privet.ledger.memory import MemoryLedger
from privet.mechanisms import Laplace, OptimalKeys
from privet.planner.make import make_plan
from privet.planner.measures import SumMeasure
from privet.planner.plan import Plan, Spend
from privet.query.sql.parse import parse
from privet.release import Released, release

COLUMNS = {
    "person": integer(),
    "ward": category(["a", "b"]),
    "sick": boolean(nullable=True),
    "name": text(nullable=True),
    "x": number(0, 10),
}
SPEND = Spend(Fraction(1), Fraction(1, 10**6), None, Fraction(1, 10**8))
ONE = 2**20


@dataclass
class Silent:
    """Noise that is always 0, and remembers the lengths of what it was asked for."""

    lengths: list[int] = field(default_factory=list)

    def release(self, vector: Any) -> Any:
        self.lengths.append(len(vector))
        return vector


def schema(groups: int = 2) -> Schema:
    return Schema(unit=Person("person"), columns=COLUMNS, contribution=Contribution(groups=groups, rows=1))


def planned(sql: str, groups: int = 2) -> Plan:
    tables = {"t": schema(groups)}
    return make_plan(parse(sql, tables), tables, spend=SPEND)


def silenced(plan: Plan) -> tuple[Plan, Silent]:
    """Return a plan without noise, still with its thresholds."""
    silent: Any = Silent()

    def quiet(value: Any) -> Any:  # which no plan accepts when it is made
        made = copy(value)
        object.__setattr__(made, "mechanism", silent)
        return made

    passes = tuple(
        replace(
            one,
            measure=SumMeasure(
                tuple(quiet(measure) for measure in one.measures), None if one.keys is None else quiet(one.keys)
            ),
        )
        for one in plan.passes
    )
    return replace(plan, passes=passes), silent


class Unpriced(Plan):
    """A plan whose digest is fixed, since silent noise has no place in one."""

    digest = "fixed"  # type: ignore[assignment]


def released(plan: Plan, *exacts: SealedSums) -> Released:
    quiet, _ = silenced(plan)
    made = Unpriced(quiet.query, quiet.passes, quiet.readings, quiet.spend)
    return release(exacts, made, Receipt(1, "fixed", "test"))


def test_public_groups_come_out_whether_anyone_is_in_them_or_not() -> None:
    plan = planned("SELECT ward, sick, COUNT(*) FROM t GROUP BY ward, sick")
    found = released(plan, SealedSums({(None, "a"): (5,), (True, "b"): (7,)}))  # keys have an order of their own
    assert found.keys == tuple((sick, ward) for sick in (False, True, None) for ward in "ab")
    assert found.sums == (((0, 0, 0, 7, 5, 0),),)


def test_a_group_that_is_not_public_never_comes_out() -> None:
    plan = planned("SELECT ward, COUNT(*) FROM t GROUP BY ward")
    found = released(plan, SealedSums({("a",): (5,), ("secret",): (10**9,)}))
    assert found.keys == (("a",), ("b",))


def test_unknown_keys_come_out_strictly_above_the_threshold_in_order_with_null_last() -> None:
    plan = planned("SELECT name, COUNT(*), SUM(x) FROM t GROUP BY name")
    threshold = plan.passes[0].keys.threshold
    weights = {"zoe": threshold + 1, "bob": threshold, None: threshold + 2, "ann": threshold + 5, "cat": 1}
    found = released(plan, SealedSums({(name,): (10, 20, weight) for name, weight in weights.items()}))
    assert found.keys == (("ann",), ("zoe",), (None,))
    assert found.sums == (((10, 10, 10), (20, 20, 20)),)


def test_a_second_pass_is_read_for_the_keys_of_the_first() -> None:
    plan = planned("SELECT name, COUNT(*), COUNT(DISTINCT person) FROM t GROUP BY name")
    assert [one.keys is None for one in plan.passes] == [False, True]
    high = plan.passes[0].keys.threshold + 1
    found = released(plan, SealedSums({("ann",): (4, high), ("bob",): (9, 0)}), SealedSums({("bob",): (9,)}))
    assert found.keys == (("ann",),)
    assert found.sums == (((4,),), ((0,),))


@pytest.mark.parametrize(("groups", "block"), [(2, 256), (250, 2000)])
@pytest.mark.parametrize("held", [0, 1, 255, 256, 257, 2001])
def test_noise_on_keys_is_drawn_in_lengths_that_do_not_tell_how_many_there_are(
    held: int, groups: int, block: int
) -> None:
    plan, silent = silenced(planned("SELECT name, COUNT(*) FROM t GROUP BY name", groups))
    made = Unpriced(plan.query, plan.passes, plan.readings, plan.spend)
    release([SealedSums({(str(key),): (1, 1) for key in range(held)})], made, Receipt(1, "fixed", "test"))
    assert silent.lengths == [block] * -(-held // block)


def test_by_the_rule_certain_keys_come_out_in_order_and_keys_of_nobody_never() -> None:
    plan = planned("SELECT name, COUNT(*) FROM t GROUP BY name", 1)
    rule = plan.passes[0].keys.mechanism
    assert isinstance(rule, OptimalKeys)
    people = {"zoe": rule.certain, "bob": 0, None: rule.certain + 9, "ann": 10**12}
    receipt = Receipt(1, plan.digest, "test")
    exact = SealedSums({(name,): (0, count) for name, count in people.items()})
    for _ in range(20):
        assert release([exact], plan, receipt).keys == (("ann",), ("zoe",), (None,))


@pytest.mark.parametrize("held", [0, 1, 255, 256, 257, 2001])
def test_the_rule_is_asked_in_lengths_that_do_not_tell_how_many_keys_there_are(
    held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, lengths = planned("SELECT name, COUNT(*) FROM t GROUP BY name", 1), []
    ask = OptimalKeys.release
    monkeypatch.setattr(OptimalKeys, "release", lambda self, counts: lengths.append(len(counts)) or ask(self, counts))
    exact = SealedSums({(str(key),): (1, 1) for key in range(held)})
    release([exact], plan, Receipt(1, plan.digest, "test"))
    assert lengths == [256] * -(-held // 256)


def test_noise_is_really_added() -> None:
    plan = planned("SELECT ward, COUNT(*) FROM t GROUP BY ward")
    receipt = Receipt(1, plan.digest, "test")
    exact = SealedSums({("a",): (100 * ONE,), ("b",): (100 * ONE,)})
    drawn = {release([exact], plan, receipt).sums for _ in range(5)}
    assert len(drawn) == 5
    assert all(isinstance(value, int) for sums in drawn for value in sums[0][0])
    scale = float(plan.passes[0].measures[0].mechanism.scale)
    assert all(abs(value - 100 * ONE) < 60 * scale for sums in drawn for value in sums[0][0])


# --- public facts and the ledger in memory --------------------------------------------------------------------------


@pytest.mark.parametrize("units", [0, -1, 1.5, True, "many", 2**60])
def test_a_number_of_units_is_a_whole_number_of_at_least_one(units: object) -> None:
    with pytest.raises(BadParameter, match="units"):
        Schema(unit=Rows(), columns=COLUMNS, neighbors="change-one", units=units)


def test_a_number_of_units_is_public_only_under_change_one() -> None:
    with pytest.raises(BadParameter, match="change-one"):
        Schema(unit=Rows(), columns=COLUMNS, units=10)
    table = Table([], unit=Rows(), columns=COLUMNS, neighbors="change-one", units=np.int64(10))
    assert table.schema.units == 10


@pytest.mark.parametrize(
    ("sql", "known"),
    [
        ("SELECT COUNT(*) FROM t", True),
        ("SELECT COUNT(x) FROM t", True),
        ("SELECT COUNT(sick) FROM t", False),
        ("SELECT COUNT(*) FROM t WHERE x > 1", False),
        ("SELECT COUNT(*) FILTER (WHERE x > 1) FROM t", False),
        ("SELECT ward, COUNT(*) FROM t GROUP BY ward", False),
    ],
)
def test_only_a_count_of_all_rows_is_known(sql: str, known: bool) -> None:
    facts: dict[str, Any] = {"columns": COLUMNS, "neighbors": "change-one"}
    rows = {"t": Schema(unit=Rows(), units=10, **facts)}
    assert (make_plan(parse(sql, rows), rows, spend=SPEND).passes[0].measures == ()) is known
    for other in (Schema(unit=Person("person"), units=10, **facts), Schema(unit=Rows(), **facts)):
        assert make_plan(parse(sql, {"t": other}), {"t": other}, spend=SPEND).passes[0].measures != ()


def test_the_ledger_keeps_the_first_release_of_a_digest() -> None:
    ledger = MemoryLedger(Pure(epsilon=3))
    event = Laplace(sensitivity=1, epsilon=1).event
    first, second = (ledger.charge(event, "same", account=name) for name in ("ann", "bob"))
    assert ledger.store(first, "one")[1] == "one"
    assert ledger.store(second, "two")[1] == "one"
    assert ledger.find("same", "ann") == (first, "one")
    assert [entry.number for entry in ledger.history()] == [first.entry, second.entry]


def test_asking_whether_an_event_fits_charges_nothing() -> None:
    ledger = MemoryLedger(Pure(epsilon=1))
    event = Laplace(sensitivity=1, epsilon=1).event
    assert ledger.admits(event, account="ann")
    assert ledger.history() == ()
    ledger.charge(event, "digest", account="ann")
    assert not ledger.admits(event, account="ann")
    assert ledger.remaining().largest_epsilon == 0
