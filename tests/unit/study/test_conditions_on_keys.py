"""Tests of rows that a condition on the compared columns chooses: of the groups that are released, or refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from privet.core.budget import Pure
from privet.core.errors import RequestError
from privet.core.schema import Table, category, integer
from privet.core.unit import Rows
from privet.query.terms import Term, col
from privet.session import Session
from privet.study import (
    EqualProportions,
    Family,
    GoodnessOfFit,
    Hypothesis,
    Independence,
    MeansTest,
    Proportion,
    SameRanks,
    TwoProportions,
)

COLUMNS = {
    "ward": category(["a", "b", "c"], nullable=True),
    "sex": category(["f", "m"]),
    "age": integer(0, 99),
    "word": category(["None", "x"], nullable=True),
}
WARD, SEX = col("ward"), col("sex")
EVEN = GoodnessOfFit("ward", {"a": 0.25, "b": 0.25, "c": 0.5})
BOTH = Independence("ward", "sex")


def opened() -> Session:
    many = range(600)
    data = {
        "ward": [["a", "b", "c", None][place % 4] for place in many],
        "sex": ["fm"[place // 4 % 2] for place in many],
        "age": [place % 100 for place in many],
        "word": [[None, "None", "x"][place % 3] for place in many],
    }
    return Session({"t": Table(pa.table(data), unit=Rows(), columns=COLUMNS)}, budget=Pure(epsilon=10**6))


@pytest.mark.parametrize(
    ("hypothesis", "where"),
    [
        (EVEN, WARD == "a"),
        (EVEN, WARD != "a"),
        (EVEN, WARD.is_null()),
        (BOTH, WARD == "a"),
        (BOTH, WARD.is_null()),
        (BOTH, (WARD == "a") | (SEX == "f")),
        (EqualProportions("ward", "a", by="sex"), WARD == "b"),
        (EqualProportions("ward", "a", by="sex"), SEX == "f"),
        (SameRanks("age", by="ward", groups=("a", "b"), width=10), WARD != "a"),
        (SameRanks("age", by="sex", width=10), col("age") < 10),
        (MeansTest("age", by="ward", groups=("a", "b")), WARD != "a"),
        (MeansTest("age", by="ward"), WARD == "a"),
        (MeansTest("age", by="ward"), WARD.is_null()),
    ],
    ids=repr,
)
def test_a_condition_that_leaves_nothing_to_compare_is_refused_before_the_charge(
    hypothesis: Hypothesis, where: Term
) -> None:
    with opened() as session:
        with pytest.raises(RequestError, match="the condition"):
            session.test(session.table("t").where(where), hypothesis, epsilon=1)
        assert not session.history()


def test_values_that_a_condition_rules_out_are_no_rows_of_zeros() -> None:
    with opened() as session:
        found = session.test(session.table("t").where(WARD != "a"), BOTH, epsilon=1000)
        assert found.degrees == 1
        ranks = SameRanks("age", by="sex", width=10)
        assert session.test(session.table("t").where(col("age") < 50), ranks, epsilon=1000).estimate.low < 0.5


def test_null_is_no_group_of_means() -> None:
    with opened() as session:
        found = session.test("t", MeansTest("age", by="word"), epsilon=1000)
        assert [name for name in found.estimates if name.startswith("mean in")] == ["mean in None", "mean in x"]


def test_the_order_in_which_columns_are_named_chooses_no_p_value() -> None:
    how: Any = {"method": "projected-simulated"}
    with opened() as session:
        one = session.test("t", Independence("ward", "sex", **how), epsilon=0.02)
        for other in (Independence("sex", "ward", **how), Independence("ward", "sex", **how)):
            assert session.test("t", other, epsilon=0.02).p_value == one.p_value
        assert len(session.history()) == 1
        share = EqualProportions("ward", "a", by="sex", **how)
        rows = session.table("t").select("sex", is_a=WARD == "a")
        found = {
            session.test(*asked, epsilon=0.02).p_value
            for asked in (("t", share), (rows, Independence("is_a", "sex", **how)))
        }
        assert len(found) <= len(session.history()) - 1  # no more than releases


def test_the_order_in_which_groups_are_named_chooses_no_p_value() -> None:
    with opened() as session:
        found = {
            session.test("t", MeansTest("age", by="ward", groups=groups), epsilon=0.2).p_value
            for groups in (("a", "b", "c"), ("c", "a", "b"), ("b", "c", "a"))
        }
        assert len(found) == len(session.history()) == 1


@pytest.mark.parametrize("family", [False, True], ids=["alone", "in a family"])
@pytest.mark.parametrize(
    ("hypothesis", "where"),
    [
        (Proportion("age > 50", equals=0.3), col("age") > 60),
        (Proportion("age > 50", equals=0.3), col("age") < 40),
        (TwoProportions("age > 50", by="sex", groups=("f", "m")), col("age") > 60),
        (TwoProportions("age > 50", by="ward", groups=("a", "b")), WARD == "a"),
        (TwoProportions("age > 50", by="ward", groups=("a", "b"), people=(9, 9)), WARD.is_null()),
        (TwoProportions("age > 50", by="sex", groups=("f", "m")), (SEX == "f") | (col("age") > 60)),
        (EVEN, WARD == "a"),
        (MeansTest("age", by="ward"), WARD == "a"),
    ],
    ids=repr,
)
def test_people_who_cannot_be_there_are_refused_before_the_charge(
    hypothesis: Hypothesis, where: Term, family: bool
) -> None:
    with opened() as session:
        rows = session.table("t").where(where)
        ask: Any = session.test_all if family else session.test
        asked: Any = Family((hypothesis, hypothesis)) if family else hypothesis
        with pytest.raises(RequestError, match="condition"):
            ask(rows, asked, epsilon=1)
        assert not session.history()


def test_shares_of_known_numbers_of_people_stand_together_in_a_family() -> None:
    older, old = (Proportion(f"age >= {age}", equals=0.5, people=600) for age in (50, 90))
    with opened() as session:
        found = session.test_all("t", Family((older, old)), epsilon=1000)
        assert [round(one.statistic or 0) for one in found.findings] == [300, 60]
