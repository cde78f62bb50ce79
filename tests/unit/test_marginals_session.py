"""Marginals through a session: one charge, answers that agree with the rows, asked again for free, refused when bad."""

from __future__ import annotations

import datetime
import math
import pickle
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet.core.errors import BudgetExceeded, PrivetError, RequestError
from privet.core.ports import Engine
from privet.core.schema import Schema
from privet.planner.plan import Plan
from privet.results.released_counts import Marginals
from privet.testing.oracle import Memory

WARDS, SEXES, AGES = ("heart", "lung", "eye"), ("F", "M"), range(4)
COLUMNS = {
    "person": privet.integer(),
    "ward": privet.category(WARDS),
    "sex": privet.category(SEXES),
    "age": privet.integer(0, 3),
    "note": privet.text(),
    "code": privet.integer(0, 10**7),
    "born": privet.date(datetime.date(1000, 1, 1), datetime.date(2000, 1, 1)),
}
ROWS = [
    {"person": place, "ward": WARDS[place % 3], "sex": SEXES[place % 7 % 2], "age": place % 5 % 4, "note": "x"}
    | {"code": place, "born": datetime.date(1990, 1, 1)}
    for place in range(300)
]
HUGE = 10**6


def tables(rows: list[dict[str, Any]] = ROWS, engine: str = "duckdb", **facts: Any) -> dict[str, privet.Table]:
    told = {"unit": privet.Rows(), "columns": COLUMNS, **facts}
    source: Any = pa.Table.from_pylist(rows) if engine == "duckdb" else rows
    return {"visits": privet.Table(source, **told)}


def opened(budget: Any = None, rows: list[dict[str, Any]] = ROWS, engine: str = "duckdb", **facts: Any) -> Any:
    made = tables(rows, engine, **facts)
    own = None if engine == "duckdb" else Memory(made)
    return privet.Session(made, budget=budget or privet.Pure(epsilon=10 * HUGE), engine=own)


def truth(names: tuple[str, ...], rows: list[dict[str, Any]] = ROWS) -> list[int]:
    found = Counter(tuple(row[name] for name in names) for row in rows)
    values = {"ward": WARDS, "sex": SEXES, "age": AGES}
    return [found[cell] for cell in product(*(values[name] for name in names))]


SUBSETS = [(), ("ward",), ("sex",), ("age", "ward"), ("ward", "age"), ("sex", "age"), ("sex", "ward")]


@pytest.mark.parametrize("engine", ["duckdb", "memory"])
@pytest.mark.parametrize("budget", [privet.Pure(epsilon=10 * HUGE), privet.Zcdp(rho=10 * HUGE)], ids=["pure", "zcdp"])
def test_at_a_huge_price_every_marginal_is_that_of_the_rows(budget: Any, engine: str) -> None:
    price = {"epsilon": HUGE} if isinstance(budget, privet.Pure) else {"rho": HUGE}
    found = opened(budget, engine=engine).marginals("visits", ["ward", "sex", "age"], ways=2, **price)
    for names in SUBSETS:
        table = found.counts(*names)
        # the noise has a standard deviation below 0.01, and 100 of these are never seen
        assert list(table["n"].values) == pytest.approx(truth(names), abs=1)
        assert [series.name for series in table.series] == [*names, "n"]
        values = {"ward": WARDS, "sex": SEXES, "age": AGES}
        cells = list(zip(*(table[name].values for name in names), strict=True)) if names else [()]
        assert cells == list(product(*(values[name] for name in names)))
        assert all(low <= n <= high for n, low, high in zip(*ends(table), strict=True))


def ends(table: Any) -> tuple[Any, Any, Any]:
    return table["n"].values, table["n"].low, table["n"].high


def test_a_pure_budget_gets_laplace_noise_and_a_rho_the_residuals() -> None:
    pure = opened(privet.Pure(epsilon=9)).plan_marginals("visits", ["ward", "sex", "age"], epsilon=1)
    assert pure.counts.measure.strategy.measure == "pure"
    assert "Laplace" in pure.explain()
    rho = opened(privet.Zcdp(rho=9)).plan_marginals("visits", ["ward", "sex", "age"], rho=1)
    assert type(rho.counts.measure.strategy) is privet.strategy.ResidualStrategy
    both = opened(privet.Approximate(epsilon=9, delta=1e-6))
    one = both.plan_marginals("visits", ["ward", "sex", "age"], subsets=[["ward"]], epsilon=1)
    assert one.counts.measure.strategy.measure == "pure"  # one histogram needs no delta
    # over many tables Gaussian noise errs less, at the same epsilon
    columns = {f"c{place}": privet.integer(0, 3) for place in range(12)}
    rows = [dict.fromkeys(columns, 1)]
    many = opened(privet.Approximate(epsilon=9, delta=1e-6), rows=rows, columns=columns)
    several = many.plan_marginals("visits", list(columns), ways=2, epsilon=1)
    assert several.counts.measure.strategy.measure == "gaussian"
    assert several.price == {"epsilon": pytest.approx(1, rel=1e-3), "delta": pytest.approx(9.9e-7)}


def test_a_preview_is_free_and_says_every_error_that_answers_will_have() -> None:
    session = opened(privet.Zcdp(rho=9))
    plan = session.plan_marginals("visits", ["ward", "sex", "age"], rho=0.5)
    assert len(session.history()) == 0
    found = session.marginals("visits", ["ward", "sex", "age"], rho=0.5)
    assert found.digest == plan.digest
    assert found.price == plan.price
    for names, error in plan.errors.items():
        assert list(found.counts(*names)["n"].error) == pytest.approx([error] * len(found.counts(*names)))
    assert plan.to_dict()["tables"][0]["columns"] == ["ward", "sex"]
    assert "ward, sex" in repr(plan)
    assert "standard error" in plan._repr_html_()


def test_the_same_again_in_any_order_is_free_and_the_same_numbers() -> None:
    session = opened(privet.Pure(epsilon=2))
    first = session.marginals("visits", ["ward", "sex", "age"], epsilon=1)
    again = session.marginals(session.table("visits"), ["age", "sex", "ward"], epsilon=1)
    assert len(session.history()) == 1
    assert again.released == first.released
    assert again.counts("ward").series == first.counts("ward").series
    # another price, set of tables or weight is another release
    session.marginals("visits", ["ward", "sex"], epsilon=0.5)
    assert len(session.history()) == 2
    with pytest.raises(BudgetExceeded):
        session.marginals("visits", ["ward", "sex", "age"], ways=1, epsilon=1)
    assert len(session.history()) == 2


def test_what_is_released_answers_the_same_bytes_after_the_table_and_the_engine_are_gone() -> None:
    source = pa.Table.from_pylist(ROWS)
    table = privet.Table(source, unit=privet.Rows(), columns=COLUMNS, version="may")
    session = privet.Session({"visits": table}, budget=privet.Zcdp(rho=9))
    found = session.marginals("visits", ["ward", "sex", "age"], rho=0.5)
    before = [repr(found.counts(*names).to_dict()).encode() for names in SUBSETS]
    kept = pickle.dumps(found)
    session.close()
    del session, table, source
    copy: Marginals = pickle.loads(kept)
    for one in (found, copy):
        assert [repr(one.counts(*names).to_dict()).encode() for names in SUBSETS] == before
        assert "version may" in repr(one)
    assert type(copy.released[0]) is int


def test_what_answers_again_holds_no_session_no_engine_no_plan_and_no_schema() -> None:
    session = opened(privet.Pure(epsilon=9))
    found = session.marginals("visits", ["ward", "sex"], epsilon=1)
    found.counts("ward")
    seen: set[int] = set()
    waiting: list[Any] = [found]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type):
            continue
        seen.add(id(one))
        assert not isinstance(one, (privet.Session, Plan, Schema)), one
        assert not (type(one).__module__.startswith("privet.") and isinstance(one, Engine))
        waiting += list(getattr(one, "__dict__", {}).values())
        if isinstance(one, (list, tuple, set)):
            waiting += list(one)
        if isinstance(one, dict):
            waiting += list(one.values())
    assert len(seen) > 20


def test_rows_outside_the_declared_values_are_dropped_before_people_are_scaled() -> None:
    inside = [{**ROWS[0], "person": 1}] * 3
    outside = [{**ROWS[0], "person": 1, "ward": "cellar"}] * 40
    facts = {"unit": privet.Person("person"), "contribution": privet.Contribution(groups=3, rows=1)}
    found = opened(rows=inside + outside, **facts).marginals("visits", ["ward", "sex"], epsilon=HUGE, whole=True)
    assert found.counts("ward")["n"].values == (3, 0, 0)
    assert any("not declared" in note for note in found.counts("ward").notes)
    # and a person with more than the limit counts for the limit
    many = opened(rows=inside * 5, **facts).marginals("visits", ["ward", "sex"], epsilon=HUGE, whole=True)
    assert many.counts("ward")["n"].values == (3, 0, 0)
    assert many.counts("ward")["n"].may_be_low


def test_conditions_views_and_expressions_are_taken_as_a_question_takes_them() -> None:
    session = opened()
    women = session.table("visits").where(privet.col("sex") == "F")
    found = session.marginals(women, ["ward", "age"], epsilon=HUGE, whole=True)
    kept = [row for row in ROWS if row["sex"] == "F"]
    assert list(found.counts("age")["n"].values) == truth(("age",), kept)
    assert list(found.counts("ward", "age")["n"].values) == truth(("ward", "age"), kept)
    viewed = privet.Session(
        tables(), views={"women": "SELECT ward, age FROM visits WHERE sex = 'F'"}, budget=privet.Pure(epsilon=10 * HUGE)
    ).marginals("women", ["ward", "age"], epsilon=HUGE, whole=True)
    assert viewed.counts("ward").series[-1].values == found.counts("ward").series[-1].values


def test_weights_make_what_matters_more_precise() -> None:
    session = opened(privet.Zcdp(rho=9))
    even = session.plan_marginals("visits", ["ward", "sex", "age"], rho=0.5)
    led = session.plan_marginals("visits", ["ward", "sex", "age"], rho=0.5, weights={("sex", "ward"): 1000})
    assert led.errors["ward", "sex"] < 0.8 * even.errors["ward", "sex"]
    assert led.errors["ward", "age"] > even.errors["ward", "age"]
    assert led.price == even.price
    assert led.digest != even.digest


def test_constraints_move_estimates_and_cut_intervals_and_cost_nothing() -> None:
    session = opened(privet.Zcdp(rho=9), rows=ROWS[:10])
    plain = session.marginals("visits", ["ward", "sex", "age"], rho=0.01)
    held = session.marginals("visits", ["ward", "sex", "age"], rho=0.01, nonnegative=True, whole=True)
    assert len(session.history()) == 1
    for one, other in zip(plain, held, strict=True):
        assert min(other["n"].low) >= 0
        assert all(type(value) is int for value in other["n"].values)
        for value, low, high, a, b in zip(*ends(other), one["n"].low, one["n"].high, strict=True):
            assert low <= value <= high
            assert low <= max(a, 0) + 1
            assert high >= min(max(b, 0), b) - 1


def test_a_total_is_known_only_where_the_number_of_rows_is_public_and_every_row_is_in_a_cell() -> None:
    columns = {**COLUMNS, "age": privet.integer(0, 3, nullable=True)}
    facts = {"neighbors": "change-one", "units": 300, "columns": columns}
    plan = opened(**facts).plan_marginals("visits", ["age"], epsilon=1)
    assert plan.counts.total is not None
    assert plan.counts.total.value == 300
    known = opened(privet.Pure(epsilon=9), **facts).marginals("visits", ["age"], epsilon=1, nonnegative=True)
    assert max(known.counts("age")["n"].high) <= 300
    session = opened(**facts)
    # a category drops what is not declared, a condition drops rows, and under add-remove the number is private
    assert session.plan_marginals("visits", ["ward", "age"], epsilon=1).counts.total is None
    some = session.table("visits").where(privet.col("age") > 1)
    assert session.plan_marginals(some, ["age"], epsilon=1).counts.total is None
    assert opened(columns=columns).plan_marginals("visits", ["age"], epsilon=1).counts.total is None
    never = {**facts, "columns": COLUMNS}
    assert opened(**never).plan_marginals("visits", ["age"], epsilon=1).counts.total is None
    with pytest.raises(TypeError):
        session.marginals("visits", ["age"], epsilon=1, total=300)


def test_a_table_and_a_picture_of_every_marginal(tmp_path: Path) -> None:
    found = opened(privet.Zcdp(rho=9)).marginals("visits", ["ward", "sex", "age"], rho=1)
    frame = found.to_pandas()
    assert len(frame) == 6 + 12 + 8
    assert list(frame.columns[:4]) == ["ward", "sex", "age", "n"]
    assert (frame["sex"] == "(all)").sum() == 12
    assert list(found.to_pandas("ward").columns[:2]) == ["ward", "n"]
    for columns in (("ward", "sex"), ("age",), ()):
        place = tmp_path / f"{len(columns)}.png"
        found.plot(*columns, path=place)
        assert place.stat().st_size > 1000
    assert len(list(found)) == 3
    assert "<div>" in found._repr_html_()


def test_many_columns_are_measured_without_a_table_of_all_their_cells() -> None:
    columns = {f"c{place}": privet.integer(0, 3) for place in range(15)}
    rows = [{f"c{place}": (row * (place + 1)) % 4 for place in range(15)} for row in range(50)]
    session = opened(privet.Zcdp(rho=10 * HUGE), rows=rows, columns=columns)
    found = session.marginals("visits", list(columns), ways=2, rho=HUGE)
    expected = Counter((row["c3"], row["c7"]) for row in rows)
    cells = list(product(range(4), range(4)))
    assert list(found.counts("c3", "c7")["n"].values) == pytest.approx([expected[cell] for cell in cells], abs=1)
    pure = opened(privet.Pure(epsilon=10**9), rows=rows, columns=columns)
    assert pure.marginals("visits", list(columns), ways=1, epsilon=10**8).counts("c3")["n"].values == pytest.approx(
        [sum(row["c3"] == value for row in rows) for value in range(4)], abs=1
    )


BAD: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    (("nothing", ["ward"]), {}, "nothing"),
    (("visits", ["note"]), {}, "not declared"),
    (("visits", ["warp"]), {}, "ward"),
    (("visits", []), {}, "at least one"),
    (("visits", "ward"), {}, "list of columns"),
    (("visits", ["ward", "ward"]), {}, "different"),
    (("visits", ["ward", "code"]), {}, r"code has 10,000,001 values.*at most 100,000.*privet.col\('code'\).bin"),
    (("visits", ["code"]), {"ordered": {"code": "ranges"}}, "code has 10,000,001 values"),
    (("visits", ["born"]), {}, "born has 365,243 values.*weeks or months"),
    (("visits", ["note", "ward"]), {}, "values of note are not declared"),
    (("visits", [3]), {}, "list of columns"),
    (("visits", ["ward", "sex"]), {"ways": 3}, "ways"),
    (("visits", ["ward", "sex"]), {"ways": 0}, "ways"),
    (("visits", ["ward", "sex"]), {"ways": 1.5}, "ways"),
    (("visits", ["ward", "sex"]), {"ways": 1, "subsets": [["ward"]]}, "not both"),
    (("visits", ["ward", "sex"]), {"subsets": []}, "subsets"),
    (("visits", ["ward", "sex"]), {"subsets": ["ward"]}, "subsets"),
    (("visits", ["ward", "sex"]), {"subsets": [["age"]]}, "age"),
    (("visits", ["ward", "sex"]), {"subsets": [["ward"], ["ward"]]}, "each once"),
    (("visits", ["ward", "sex"]), {"weights": {"ward": 3}}, "asked for"),
    (("visits", ["ward", "sex"]), {"ways": 1, "weights": {"ward": -1}}, "above 0"),
    (("visits", ["ward", "sex"]), {"ways": 1, "weights": {"ward": 0}}, "above 0"),
    (("visits", ["ward", "sex"]), {"ways": 1, "weights": {"ward": math.nan}}, "weights"),
    (("visits", ["ward", "sex"]), {"ways": 1, "weights": {"ward": math.inf}}, "weights"),
    (("visits", ["ward", "sex"]), {"ways": 1, "weights": [1, 2]}, "mapping"),
    (("visits", ["ward", "sex"]), {"weights": {("ward", "sex"): 1, ("sex", "ward"): 2}}, "each with one weight"),
    (("visits", ["ward", "sex"]), {"epsilon": 1, "rho": 1}, "not both"),
    (("visits", ["ward", "sex"]), {"nonnegative": 1}, "True or False"),
    (("visits", ["ward", "sex"]), {"contribution": "auto"}, "auto"),
    (("visits", ["age"]), {"rho": 1}, "epsilon"),
]


@pytest.mark.parametrize(("given", "options", "told"), BAD, ids=lambda one: str(one)[:60])
def test_bad_requests_are_refused_by_what_was_typed_and_charge_nothing(
    given: tuple[Any, ...], options: dict[str, Any], told: str
) -> None:
    facts = {"unit": privet.Person("person"), "contribution": privet.Contribution(groups=1, rows=1)}
    session = opened(privet.Pure(epsilon=9), **facts)
    with pytest.raises(PrivetError, match=told) as refused:
        session.marginals(*given, **options)
    assert isinstance(refused.value, (RequestError, privet.PrivetError))
    assert len(session.history()) == 0


def test_domains_too_large_to_measure_are_refused_with_the_size_and_what_to_do() -> None:
    columns = {"a": privet.integer(0, 9999), "b": privet.integer(0, 9999), "c": privet.integer(0, 1)}
    session = opened(privet.Zcdp(rho=9), rows=[{"a": 1, "b": 1, "c": 1}], columns=columns)
    with pytest.raises(RequestError, match="100,019,999") as refused:
        session.marginals("visits", ["a", "b", "c"], rho=1)
    assert "wider bins" in str(refused.value)
    assert len(session.history()) == 0


def test_columns_that_were_not_measured_together_are_refused_with_those_that_were() -> None:
    found = opened(privet.Zcdp(rho=9)).marginals("visits", ["ward", "sex", "age"], rho=1)
    with pytest.raises(RequestError, match=r"not measured together.*ward, sex"):
        found.counts("ward", "sex", "age")
    with pytest.raises(RequestError, match="different"):
        found.counts("ward", "ward")
    with pytest.raises(PrivetError, match="warp"):
        found.counts("warp")
    with pytest.raises(PrivetError, match="columns"):
        found.counts(3)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="one column or two"):
        found.plot("ward", "sex", "age")
    for confidence in (0, 1, math.nan, "x"):
        with pytest.raises(PrivetError, match="confidence"):
            found.counts("ward", confidence=confidence)  # type: ignore[arg-type]


def test_a_key_called_n_leaves_the_count_another_name() -> None:
    rows = [{"n": place % 2} for place in range(5)]
    found = opened(rows=rows, columns={"n": privet.integer(0, 1)}).marginals("visits", ["n"], epsilon=HUGE, whole=True)
    assert found.counts("n").to_dict()["n_"] == [3, 2]
    assert found.to_dict()["n_"] == [3, 2]


def test_a_server_sends_the_number_of_all_rows_as_one_count() -> None:
    from privet.server.operations import OPERATIONS

    found = opened().marginals("visits", ["ward"], subsets=[[], ["ward"]], epsilon=HUGE)
    everything, by_ward = OPERATIONS["marginals"].write(found)["tables"]
    assert everything["columns"] == []
    assert everything["counts"]["n"] == pytest.approx([300], abs=1)
    assert (by_ward["columns"], by_ward["counts"]["ward"]) == (["ward"], list(WARDS))
