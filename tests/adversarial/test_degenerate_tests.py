"""Tests and regressions on tables that say nothing: a result, or a refusal before the charge, never a traceback.

Whether a request is refused depends on what is declared alone: every table here has the same declarations.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

import privet
from privet.study import (
    EqualProportions,
    GoodnessOfFit,
    Independence,
    MeansTest,
    MeanTest,
    PairedTest,
    Proportion,
    SameRanks,
    TwoProportions,
)

pa = pytest.importorskip("pyarrow")

N = 24
COLUMNS = {
    "who": privet.integer(),
    "age": privet.integer(0, 100, nullable=True),
    "ward": privet.category(["a", "b"], nullable=True),
    "sex": privet.category(["f", "m"], nullable=True),
    "x": privet.number(0, 1, nullable=True),
    "y": privet.number(0, 1, nullable=True),
    "wild": privet.number(nullable=True),
    "one": privet.category(["o"], nullable=True),
}
KINDS = [pa.int64(), pa.int64(), pa.string(), pa.string(), pa.float64(), pa.float64(), pa.float64(), pa.string()]
PLAIN = (
    (*range(N),),
    [7, 60] * 12,
    ["a", "b", "a"] * 8,
    ["f", "m"] * 12,
    [0.2, 0.7] * 12,
    [0.4] * N,
    [0.1] * N,
    ["o"] * N,
)
TABLES: dict[str, list[Any]] = {
    "plain": list(PLAIN),
    "all NULL": [PLAIN[0], *([[None] * N] * 7)],
    "constant": [PLAIN[0], [50] * N, ["a"] * N, ["f"] * N, [0.5] * N, [0.5] * N, [0.5] * N, ["o"] * N],
    "not declared": [PLAIN[0], [10**12] * N, ["?"] * N, ["?"] * N, [1e300] * N, [-1e300] * N, [0.5] * N, ["?"] * N],
    "not finite": [PLAIN[0], *PLAIN[1:4], [math.nan, math.inf] * 12, [-math.inf] * N, [math.nan] * N, PLAIN[7]],
    "empty": [[]] * 8,
}
HYPOTHESES = {
    "fit": GoodnessOfFit("ward", {"a": 0.5, "b": 0.5}),
    "independence": Independence("ward", "sex"),
    "proportions": EqualProportions("sex", "f", by="ward"),
    "ranks": SameRanks("x", by="ward", width=0.25),
    "mean": MeanTest("x", 0.5),
    "means": MeansTest("age", "ward", groups=("a", "b"), margin=5),
    "pairs": PairedTest("x", "y", alternative="greater"),
    "share": Proportion("age > 50", equals=0.5),
    "known share": Proportion("age > 50", within=(0.2, 0.6), people=N),
    "two shares": TwoProportions("age > 50", by="ward", groups=("a", "b")),
}
REFUSED = {
    "one value": GoodnessOfFit("one", {"o": 0.5, "p": 0.5}),
    "one group": MeansTest("x", "one"),
    "no bounds": MeanTest("wild", 0.5),
    "no column": MeanTest("height", 0.5),
    "people": Independence("ward", "who"),
}
FORMULAS = ("x ~ y", "x ~ ward * y + age", "x ~ 0 + ward", "age ~ 1")
BAD_FORMULAS = ("x ~ wild", "x ~ one", "x ~ height", "ward ~ x", "x ~ ward:y", "x ~ who")


def table_of(name: str, **facts: Any) -> privet.Table:
    arrays = [pa.array(list(values), kind) for values, kind in zip(TABLES[name], KINDS, strict=True)]
    return privet.Table(pa.table(dict(zip(COLUMNS, arrays, strict=True))), columns=COLUMNS, **facts)


ONCE = {"unit": privet.Person("who"), "contribution": privet.Contribution(groups=1, rows=1)}
PLACES: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "rows that change, rho": (
        {"unit": privet.Rows(), "neighbors": "change-one", "units": N},
        privet.Zcdp(rho=1000),
        {"rho": 0.05},
    ),
    "people, epsilon and delta": (ONCE, privet.Approximate(epsilon=1000, delta=0.1), {"epsilon": 0.2}),
}


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("name", ["all NULL", "constant", "not finite", "empty"])
def test_units_relations_and_budgets_change_nothing_of_that(name: str, where: str) -> None:
    """A table and one with a row less: the same requests are answered, and the same refused in the same words."""
    facts, budget, cost = PLACES[where]
    hypotheses: dict[str, Any] = {**HYPOTHESES, **REFUSED}
    if isinstance(budget, privet.Approximate):
        hypotheses["truncated share"] = Proportion("age > 50", equals=0.5, people=N, delta=0.001)
    told: list[dict[str, str]] = []
    short = {"all": TABLES[name], "one less": [list(values)[1:] for values in TABLES[name]]}
    for rows in short.values():
        arrays = [pa.array(list(values), kind) for values, kind in zip(rows, KINDS, strict=True)]
        table = privet.Table(pa.table(dict(zip(COLUMNS, arrays, strict=True))), columns=COLUMNS, **facts)
        found = {}
        with privet.Session({"visits": table}, budget=budget) as session:
            for one, hypothesis in hypotheses.items():
                try:
                    p_value = session.test("visits", hypothesis, **cost).p_value
                    found[one] = "answered" if p_value is not None and 0 <= p_value <= 1 else str(p_value)
                except privet.RequestError as refused:
                    found[one] = str(refused)
            for formula in (*FORMULAS, *BAD_FORMULAS):
                try:
                    fit = session.regress("visits", formula, **cost)
                    found[formula] = "answered" if repr(fit) else "nothing"
                except privet.RequestError as refused:
                    found[formula] = str(refused)
            found["charges"] = str(len(session.history()))
        told.append(found)
    assert told[0] == told[1]
    answered = [one for one, what in told[0].items() if what == "answered"]
    assert set(answered) == {*hypotheses, *FORMULAS} - set(REFUSED)
    assert told[0]["charges"] == str(len(answered))


@pytest.mark.parametrize("name", TABLES)
def test_whatever_rows_are_there_the_same_is_answered_and_the_same_refused(name: str) -> None:
    table = table_of(name, **ONCE)
    with privet.Session({"visits": table}, budget=privet.Pure(epsilon=1000)) as session:
        for hypothesis in HYPOTHESES.values():
            found = session.test("visits", hypothesis, epsilon=0.5)
            assert found.p_value is not None
            assert 0 <= found.p_value <= 1
            assert repr(found)
            assert found.to_dict()
        for formula in FORMULAS:
            fit = session.regress("visits", formula, epsilon=0.5)
            assert all(0 <= one.p_value <= 1 for one in fit.coefficients)
            assert repr(fit)
        charged = len(session.history())
        assert charged == len(HYPOTHESES) + len(FORMULAS)
        for refused in REFUSED.values():
            with pytest.raises(privet.RequestError):
                session.test("visits", refused, epsilon=0.5)
        for formula in BAD_FORMULAS:
            with pytest.raises(privet.RequestError):
                session.regress("visits", formula, epsilon=0.5)
        assert len(session.history()) == charged
