"""Regressions through a session: one charge, a coefficient table, and everything else for free."""

from __future__ import annotations

import json
import math
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from click.testing import CliRunner

import privet
from privet.cli import main
from privet.core.errors import BadParameter, RequestError, UnknownName
from privet.core.schema import Contribution
from privet.planner.plan import EDITIONS, as_of, digest_of
from privet.planner.verify import verify
from privet.study.formula import RegressionFormula, read_formula

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from worlds import write_visits

N = 400


def rows(n: int = N, seed: int = 0) -> list[dict[str, Any]]:
    draw = np.random.default_rng(seed)
    found = []
    for place in range(n):
        age, ward = int(draw.integers(20, 81)), "ABC"[int(draw.integers(3))]
        cost = 100 + 3 * age + {"A": 0, "B": 50, "C": -20}[ward] + float(draw.normal(0, 20))
        found.append({"person": place // 2, "age": age, "ward": ward, "cost": cost, "smokes": place % 3 == 0})
    return found


def frame(data: list[dict[str, Any]]) -> Any:
    kinds = {"person": "Int64", "age": "Int64", "ward": "object", "cost": "float64", "smokes": "boolean"}
    return pandas.DataFrame(data, columns=list(kinds)).astype(kinds)


COLUMNS = {
    "person": privet.integer(),
    "age": privet.integer(20, 80),
    "ward": privet.category(["A", "B", "C"]),
    "cost": privet.number(0, 500),
    "smokes": privet.boolean(),
}


def session(unit: Any = None, budget: Any = None, data: Any = None, **facts: Any) -> privet.Session:
    table = privet.Table(frame(rows() if data is None else data), unit=unit or privet.Rows(), columns=COLUMNS, **facts)
    return privet.Session({"visits": table}, budget=budget or privet.Pure(epsilon=10**9))


def exact(formula: str = "ward") -> Any:
    data = rows()
    columns = [[1.0] * N, [row["age"] for row in data]]
    if formula == "ward":
        columns += [[float(row["ward"] == level) for row in data] for level in "BC"]
    return np.linalg.lstsq(np.array(columns, dtype=float).T, np.array([row["cost"] for row in data]), rcond=None)[0]


HUGE = 10**7


@pytest.mark.parametrize("norm", [None, 3, ("L2", 2)])
@pytest.mark.parametrize("unit", [privet.Rows(), privet.Person("person")])
def test_with_hardly_any_noise_it_is_least_squares(unit: Any, norm: Any) -> None:
    facts = {} if unit == privet.Rows() else {"contribution": Contribution(groups=1, rows=2)}
    fit = session(unit, **facts).regress("visits", "cost ~ age + ward", epsilon=HUGE, norm=norm)
    assert [one.name for one in fit.coefficients] == ["(intercept)", "age", "ward: B", "ward: C"]
    assert [one.estimate for one in fit.coefficients] == pytest.approx(exact(), rel=1e-3, abs=0.05)
    assert all(one.low < one.estimate < one.high for one in fit.coefficients)
    assert fit.rows == pytest.approx(N, rel=1e-3)
    assert 0.8 < fit.r_squared < 1


def test_submodels_are_free_and_the_same_as_asking_for_them() -> None:
    fit = session().regress("visits", "cost ~ age + ward + smokes", epsilon=HUGE)
    found = fit.submodel("cost ~ age")
    assert [one.estimate for one in found.coefficients] == pytest.approx(exact("age"), rel=1e-3)
    other = fit.submodel("age ~ cost")
    assert [one.name for one in other.coefficients] == ["(intercept)", "cost"]
    assert found.digest == fit.digest
    assert found.price == fit.price
    with pytest.raises(UnknownName):
        fit.submodel("cost ~ height")
    with pytest.raises(RequestError, match="category"):
        fit.submodel("ward ~ cost")
    with pytest.raises(RequestError, match="with a constant"):
        fit.submodel("cost ~ 0 + age")


def interacting() -> Any:
    """Return the least squares of cost by age, ward and smokes, and products of age and ward, and ward and smokes."""
    data = rows()
    age = np.array([row["age"] for row in data], dtype=float)
    wards = [np.array([float(row["ward"] == level) for row in data]) for level in "BC"]
    smokes = np.array([float(row["smokes"]) for row in data])
    columns = [np.ones(N), age, *wards, smokes, *(age * one for one in wards), *(one * smokes for one in wards)]
    return np.linalg.lstsq(np.column_stack(columns), np.array([row["cost"] for row in data]), rcond=None)[0]


def test_products_of_columns_are_least_squares_too() -> None:
    formula = "cost ~ age * ward + smokes + ward:smokes"
    fit = session().regress("visits", formula, epsilon=HUGE)
    products = ["age:ward=B", "age:ward=C", "ward=B:smokes=True", "ward=C:smokes=True"]
    expected = ["(intercept)", "age", "ward: B", "ward: C", "smokes: True", *products]
    assert [one.name for one in fit.coefficients] == expected
    b = interacting()
    assert [one.estimate for one in fit.coefficients] == pytest.approx(b, rel=2e-3, abs=0.05)
    row = {"age": 40, "ward": "C", "smokes": True}
    wanted = b[0] + 40 * b[1] + b[3] + b[4] + 40 * b[6] + b[8]
    assert fit.predict([row])[0].value == pytest.approx(wanted, rel=2e-3)
    simple = fit.submodel("cost ~ age + ward")
    assert [one.estimate for one in simple.coefficients] == pytest.approx(exact(), rel=1e-3, abs=0.05)
    assert fit.submodel("cost ~ ward * age").formula.products == (("ward", "age"),)
    assert len(fit.submodel("cost ~ ward * age").coefficients) == 6
    assert fit.correlations().names == ("age", "cost")
    with pytest.raises(UnknownName, match="age:smokes"):
        fit.submodel("cost ~ age * smokes")


def test_products_of_numbers_are_of_their_own_bounds() -> None:
    view = {"more": "SELECT age, cost, cost - 100 AS rest, ward FROM visits"}
    table = privet.Table(frame(rows()), unit=privet.Rows(), columns=COLUMNS)
    with privet.Session({"visits": table}, views=view, budget=privet.Pure(epsilon=10**9)) as one:
        fit = one.regress("more", "cost ~ age * rest * ward", epsilon=HUGE)
    names = [one.name for one in fit.coefficients]
    assert names[5:8] == ["age:rest", "age:ward=B", "age:ward=C"]
    assert names[-1] == "age:rest:ward=C"
    (product,) = [one for one in fit.factors if one.label == "age:rest"]
    assert (product.centre - product.unit, product.centre + product.unit) == (-8000, 32_000)
    # cost is rest and 100: the products say nothing more
    assert [one.estimate for one in fit.coefficients][2] == pytest.approx(1, abs=0.01)


def test_it_is_charged_once_and_found_again() -> None:
    one = session(budget=privet.Pure(epsilon=1))
    first = one.regress("visits", "cost ~ age", epsilon=1)
    again = one.regress("visits", "cost ~ age", epsilon=1)
    assert first.released == again.released
    assert first.coefficients == again.coefficients
    with pytest.raises(privet.BudgetExceeded):
        one.regress("visits", "cost ~ ward", epsilon=1)


def test_it_answers_when_everything_else_is_gone() -> None:
    one = session()
    fit = one.regress("visits", "cost ~ age + ward", epsilon=1)
    before = fit.to_dict()
    one.close()
    kept = pickle.loads(pickle.dumps(fit))
    assert kept.to_dict() == before == json.loads(json.dumps(before))
    assert not any(type(value).__name__ in ("Session", "Executor", "DuckDB") for value in vars(kept).values())


def test_predictions_are_for_rows_of_ones_own() -> None:
    one = session()
    fit = one.regress("visits", "cost ~ age + ward", epsilon=HUGE)
    b = exact()
    first, second = fit.predict({"age": [30, 60], "ward": ["A", "C"]})
    assert first.value == pytest.approx(b[0] + 30 * b[1], rel=1e-3)
    assert second.value == pytest.approx(b[0] + 60 * b[1] + b[3], rel=1e-3)
    assert first.low < first.value < first.high
    assert fit.predict([{"age": 30, "ward": "A"}]) == (first,)
    for wrong in (
        one.table("visits"),
        {"age": [30]},
        {"age": [30], "ward": ["D"]},
        [3],
        {"age": [1, 2], "ward": ["A"]},
    ):
        with pytest.raises(RequestError):
            fit.predict(wrong)  # type: ignore[arg-type]


def test_without_intervals_nothing_but_estimates_is_measured() -> None:
    fit = session().regress("visits", "cost ~ 0 + age", epsilon=HUGE, intervals=False)
    (one,) = fit.coefficients
    assert math.isnan(one.p_value)
    assert math.isnan(one.low)
    assert fit.rows is None
    assert not fit.intervals
    assert "not measured" in repr(fit)
    data = rows()
    slope = sum(row["age"] * row["cost"] for row in data) / sum(row["age"] ** 2 for row in data)
    assert one.estimate == pytest.approx(slope, rel=1e-3)


def test_what_was_released_while_half_of_the_price_was_for_squares_is_found_and_read_by_its_own_noise() -> None:
    given: dict[str, Any] = {"epsilon": 1, "norm": 2, "intervals": False}
    with session() as place:
        now = place.plan_regress("visits", "cost ~ age", **given)
        editions = [one.kind for one in EDITIONS].index("regression without squares")
        before = as_of(now.moments.plan, editions)
        assert before is not None
        was: Any = before.passes[0].measure
        scales = [float(one) for one in now.moments.measure.scales]
        older = [float(one) for one in was.scales]
        # a constant and a feature: the share of X'X is the least below r / (1 + r) with r^3 = 5 / 12, in thousandths
        assert [one / other for one, other in zip(scales, older, strict=True)] == pytest.approx(
            [0.5 / 0.427] * 2 + [0.5 / 0.573] + [0.5 / 0.427] + [0.5 / 0.573], rel=1e-9
        )
        assert was.events == now.moments.measure.events
        verify(before, place._executor.schemas)
        digest = digest_of(before.passes, editions)
        assert digest != now.digest
        receipt = place.ledger.charge(before.event, digest, account=place.account)
        place.ledger.store(receipt, (((),), (((1000, 1, 2, 3, 4),),)))
        left = place.remaining().largest_epsilon
        found = place.regress("visits", "cost ~ age", **given)
        assert place.remaining().largest_epsilon == left
    assert found.measure == was
    assert found.released == (1000, 1, 2, 3, 4)
    assert found.digest == digest


def test_people_are_named_in_the_table_with_their_factor() -> None:
    two = session(privet.Person("person"), contribution=Contribution(groups=1, rows=2))
    fit = two.regress("visits", "cost ~ age", epsilon=1)
    assert fit.rows_each == 2
    assert any("at most 2 rows" in note and "multiplied by 2" in note for note in fit.notes)
    once = two.regress("visits", "cost ~ age", epsilon=1, contribution=Contribution(groups=1, rows=1))
    assert once.rows_each == 1
    assert any("at most 1 row" in note for note in once.notes)


@pytest.mark.parametrize(
    "data",
    [
        [],
        [{"person": 1, "age": None, "ward": None, "cost": None, "smokes": None}] * 5,
        [{"person": 1, "age": 30, "ward": "A", "cost": 5.0, "smokes": True}] * 50,
        [{"person": 1, "age": 30, "ward": "Z", "cost": float("nan"), "smokes": True}] * 50,
    ],
    ids=["no rows", "nothing but NULL", "all the same", "undeclared"],
)
@pytest.mark.parametrize("epsilon", [0.1, HUGE])
def test_any_data_gives_a_table(data: Any, epsilon: float) -> None:
    table = privet.Table(frame(data), unit=privet.Rows(), columns={
        "age": privet.integer(20, 80, nullable=True),
        "ward": privet.category(["A", "B", "C"], nullable=True),
        "cost": privet.number(0, 500, nullable=True),
    })  # fmt: skip
    one = privet.Session({"visits": table}, budget=privet.Pure(epsilon=10**9))
    fit = one.regress("visits", "cost ~ age + ward", epsilon=epsilon)
    assert len(fit.coefficients) == 4
    assert all(math.isfinite(each.estimate) and 0 <= each.p_value <= 1 for each in fit.coefficients)
    assert fit.to_dict()
    assert repr(fit)
    assert fit._repr_html_()


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("cost", "a formula"),
        ("cost ~ ", None),
        ("cost ~ age * age", "make a column"),
        ("cost ~ age * (ward + smokes)", "make a column"),
        ("cost ~ age:ward", r"write age \* ward"),
        ("cost ~ age:ward*smokes + ward", "all with"),
        ("cost ~ age * height", "height"),
        ("cost ~ age *", "make a column"),
        ("cost:age ~ ward", "one column before"),
        ("cost ~ age*cost", "by itself"),
        ("cost ~ log(age)", "make a column"),
        ("cost ~ height", "height"),
        ("cost ~ cost", "by itself"),
        ("ward ~ age", "explains numbers"),
        ("cost ~ 0", "by nothing"),
        ("cost ~ age - ward", "leave out a column"),
        ("cost ~ age + + ward", "a formula"),
        ("cost + age ~ ward", "one column before"),
        ("cost ~ person", "no public bounds"),
        ("cost ~ age ~ ward", "a formula"),
        ("", "formula"),
    ],
)
def test_bad_formulas_are_refused_before_a_charge(formula: str, words: str | None) -> None:
    one = session()
    if words is None:
        assert one.plan_regress("visits", formula, epsilon=1).formula.terms == ()
        return
    with pytest.raises(RequestError, match=words):
        one.regress("visits", formula, epsilon=1)
    assert one.remaining().largest_epsilon == 10**9


@pytest.mark.parametrize("given", [{"norm": 0}, {"norm": ("L3", 1)}, {"norm": "L1"}, {"norm": True}, {"ridge": -1},
                                   {"ridge": "much"}, {"intervals": 1}, {"norm": float("nan")},
                                   {"ridge": None}])  # fmt: skip
def test_bad_options_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(RequestError):
        session().regress("visits", "cost ~ age", epsilon=1, **given)


def test_constant_columns_and_lone_values_are_refused_by_what_is_declared() -> None:
    table = privet.Table(frame(rows()), unit=privet.Rows(),
        columns={"age": privet.integer(50, 50), "ward": privet.category(["A"]), "cost": privet.number(0, 500)},
    )  # fmt: skip
    one = privet.Session({"visits": table}, budget=privet.Pure(epsilon=1))
    with pytest.raises(RequestError, match="same value in every row"):
        one.regress("visits", "cost ~ age", epsilon=1)
    with pytest.raises(RequestError, match="one declared value"):
        one.regress("visits", "cost ~ ward", epsilon=1)


def test_formulas_are_read() -> None:
    assert read_formula(" cost~age+ward ") == RegressionFormula("cost", ("age", "ward"))
    assert read_formula("cost ~ age - 1") == RegressionFormula("cost", ("age",), constant=False)
    assert read_formula("`my cost` ~ 1 + age") == RegressionFormula("my cost", ("age",))
    for text in ("cost ~ age + ward", "cost ~ 0 + age", "`my cost` ~ age", "cost ~ 1", "a ~ b + c + b:c"):
        assert str(read_formula(text)) == text
    assert str(read_formula("a ~ b*c*`d e`")) == "a ~ b + c + `d e` + b:c + b:`d e` + c:`d e` + b:c:`d e`"
    assert read_formula("a ~ b*c + c:b") == read_formula("a ~ b + c + b:c")
    with pytest.raises(BadParameter):
        read_formula(3)  # type: ignore[arg-type]


def test_a_plan_says_what_a_norm_would_gain() -> None:
    one = session()
    box = one.plan_regress("visits", "cost ~ age + ward + smokes", epsilon=1)
    assert "norm=2 would divide the noise" in box.explain()
    held = one.plan_regress("visits", "cost ~ age + ward + smokes", epsilon=1, norm=2)
    assert "L1 norm of 2" in held.explain()
    assert "would" not in held.explain()
    assert box.price == held.price
    assert box.digest != held.digest
    assert box.to_dict()["factors"][0] == "(intercept)"


def test_conditions_and_gaussian_noise() -> None:
    one = session(budget=privet.Zcdp(rho=10**9))
    young = one.table("visits").where(privet.col("age") < 50)
    fit = one.regress(young, "cost ~ ward", rho=10**6)
    assert fit.measure.family == "gaussian"
    expected = sum(row["age"] < 50 for row in rows())
    assert fit.rows == pytest.approx(expected, abs=1)


def test_the_shell_chooses_rows_by_a_condition(tmp_path: Path) -> None:
    write_visits(tmp_path)
    words = [
        "regress",
        "visits",
        "age ~ ward",
        "--epsilon=0.2",
        "--analyst=ana",
        f"--config={tmp_path / 'privet.toml'}",
    ]
    for more in (["--where=age >= 30"], ["--where=age >= 30", "--plan"]):
        assert CliRunner().invoke(main, [*words, *more]).exit_code == 0
    for condition in ("age >", "age > 30) OR (1 = 1", "height > 3", "COUNT(*) > 3"):
        found = CliRunner().invoke(main, [*words, f"--where={condition}"])
        assert (found.exit_code, "Traceback" in found.output) == (2, False)


def test_correlations_and_components_are_free() -> None:
    fit = session().regress("visits", "cost ~ age + ward", epsilon=HUGE)
    data = rows()
    exact_one = np.corrcoef([row["age"] for row in data], [row["cost"] for row in data])[0, 1]
    table = fit.correlations()
    assert table.names == ("age", "cost")
    assert table.matrix[0][1] == pytest.approx(exact_one, abs=1e-3)
    assert table.bounds[0][1].low < exact_one < table.bounds[0][1].high
    assert repr(table)
    assert json.loads(json.dumps(table.to_dict()))["correlations"][0]["first"] == "age"
    parts = fit.components()
    assert parts[0].variance == pytest.approx(1 + exact_one, abs=1e-3)
    assert len(parts) == 2
    assert repr(parts)
    assert json.dumps(parts.to_dict()) == json.dumps(fit.components().to_dict())
    spread = fit.covariance()
    assert spread["age", "age"] == pytest.approx(np.var([row["age"] for row in data]), rel=1e-2)
    assert spread["age", "cost"] == pytest.approx(spread["cost", "age"], rel=1e-9)
    for wrong in ("cost ~ ward", "cost ~ 0 + age"):
        with pytest.raises(RequestError):
            session().regress("visits", wrong, epsilon=1).correlations()
