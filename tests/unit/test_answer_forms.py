"""Answers and plans in every form: tables, frames, JSON, HTML, text, pictures."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from privet.answer import Answer
from privet.core.budget import Approximate, Pure
from privet.core.errors import RequestError, UnknownName
from privet.core.schema import Contribution, Table, boolean, category, date, integer, number, text, timestamp
from privet.core.unit import Person, Rows
from privet.session import Session

DAY = datetime.date(2024, 3, 1)
ROWS = 300


def rows() -> pa.Table:
    return pa.table(
        {
            "person": [i % 90 for i in range(ROWS)],
            "day": [DAY + datetime.timedelta(days=i % 3) for i in range(ROWS)],
            "at": [datetime.datetime(2024, 1, 1 + i % 2, 5) for i in range(ROWS)],
            "sick": [None if i % 5 == 0 else i % 2 == 0 for i in range(ROWS)],
            "ward": ["heart", "[red]lung", "<b>skin"][:1] * ROWS,
            "x": [float(i % 10) for i in range(ROWS)],
            "rare": [f"rare {i}" for i in range(ROWS)],
            "name": [None if i % 3 == 0 else f"name {i % 2}" for i in range(ROWS)],
        }
    )


COLUMNS = {
    "person": integer(),
    "day": date(DAY, DAY + datetime.timedelta(days=2)),
    "at": timestamp(datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 2, 23)),
    "sick": boolean(nullable=True),
    "ward": category(["heart", "[red]lung", "<b>skin"]),
    "x": number(0, 10),
    "rare": text(),
    "name": text(nullable=True),
}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    table = Table(rows(), unit=Person("person"), columns=COLUMNS, contribution=Contribution(groups=1, rows=1))
    with Session({"t": table}, budget=Approximate(epsilon=10**6, delta=Fraction(1, 10**6))) as made:
        yield made


QUERIES = {
    "a number": "SELECT COUNT(*) FROM t",
    "dates": "SELECT day, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY day",
    "days": "SELECT DATE_TRUNC('day', at) AS d, STDDEV(x) AS s FROM t GROUP BY d ORDER BY d DESC",
    "booleans": "SELECT sick, COUNT(*) AS n FROM t GROUP BY sick",
    "labels": "SELECT CASE WHEN COUNT(*) > 50 THEN 'many' END AS label, COUNT(*) > 5 AS some FROM t GROUP BY ward",
    "nothing": "SELECT ward, SUM(x) / 0 AS never, COUNT(*) AS n FROM t GROUP BY ward",
    "found": "SELECT name, COUNT(*) AS n FROM t GROUP BY name",
    "no rows": "SELECT rare, COUNT(*) AS n, SUM(x) * 2 AS s FROM t GROUP BY rare",
    "clash": "SELECT COUNT(*) AS n, SUM(x) AS n_low, AVG(x) AS n_low_ FROM t",
    "constant": "SELECT 7 AS seven, COUNT(*) AS n FROM t",
    "distinct": "SELECT DISTINCT SUM(x) > -1000000 AS positive FROM t GROUP BY day LIMIT 3",
    "none left": "SELECT day, COUNT(*) AS n FROM t GROUP BY day HAVING COUNT(*) > 1000000",
}


@pytest.mark.parametrize("name", QUERIES)
def test_every_answer_takes_every_form(session: Session, name: str) -> None:
    answer = session.ask(QUERIES[name], epsilon=1)
    columns = answer.to_dict()
    assert {len(values) for values in columns.values()} == {len(answer)}
    arrow, frame, polars = answer.to_arrow(), answer.to_pandas(), answer.to_polars()
    assert arrow.column_names == list(frame.columns) == polars.columns == list(columns)
    assert arrow.num_rows == len(frame) == polars.height == len(answer)
    assert arrow.to_pydict() == columns
    told = json.loads(answer.to_json())
    assert len(told["rows"]) == len(answer)
    for shown, row in zip(told["rows"], answer, strict=True):
        assert list(shown) == list(row)
        for column, value in row.items():
            expected = value.isoformat() if isinstance(value, datetime.date) else value
            assert shown[column] == expected
    assert json.loads(json.dumps(answer.certificate())) == told["certificate"]
    assert answer._repr_html_().startswith("<div><table ")
    for series in answer.series:
        assert series.name in repr(answer)


def test_labels_and_truths_have_no_interval_and_what_is_always_null_has_none(session: Session) -> None:
    answer = session.ask(QUERIES["labels"], epsilon=1)
    assert not answer["label"].noisy
    assert not answer["some"].noisy
    never = session.ask(QUERIES["nothing"], epsilon=1)
    assert never["never"].values == (None, None, None)
    assert not never["never"].noisy


def test_a_derived_number_that_may_be_null_has_the_interval_of_the_rest(session: Session) -> None:
    answer = session.ask("SELECT CASE WHEN COUNT(*) > 80 THEN COUNT(*) END AS n FROM t", epsilon=Fraction(1, 4))
    series = answer["n"]
    if series.noisy:
        assert series.low is not None
        assert series.low[0] >= 80


def test_names_that_clash_with_intervals_are_kept_apart(session: Session) -> None:
    answer = session.ask(QUERIES["clash"], epsilon=1)
    columns = answer.to_dict()
    assert columns["n_low"] == list(answer["n_low"].values)
    assert columns["n_low_"] == list(answer["n_low_"].values)
    assert columns["n_low__"] == list(answer["n"].low or ())
    assert len(columns) == 14  # two of them may be low


def test_markup_in_values_is_shown_and_not_obeyed(session: Session) -> None:
    answer = session.ask("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", epsilon=1)
    assert "[red]lung" in repr(answer)
    assert "&lt;b&gt;skin" in answer._repr_html_()


def test_one_number_is_read_at_once(session: Session) -> None:
    answer = session.ask("SELECT SUM(x) FROM t", epsilon=10)
    low, high = answer.interval
    assert low <= answer.value <= high
    assert answer.estimate.low == low
    assert answer.estimate.standard_error > 0
    assert "the noise" in str(answer.estimate)
    with pytest.raises(RequestError, match="more than one number"):
        session.ask(QUERIES["dates"], epsilon=1).value  # noqa: B018
    with pytest.raises(UnknownName, match="did you mean 'day'"):
        session.ask(QUERIES["dates"], epsilon=1)["days"]


def test_counts_are_whole_numbers(session: Session) -> None:
    value = session.ask("SELECT COUNT(*) FROM t", epsilon=1).value
    assert isinstance(value, int)
    assert session.ask("SELECT COUNT(*) % 2 AS odd FROM t", epsilon=1)["odd"].values[0] in (0, 1, -1)


def test_rows_keep_their_own_intervals_through_order_limit_and_distinct(session: Session) -> None:
    plain = {row["day"]: row for row in session.ask(QUERIES["dates"], epsilon=1)}
    moved = session.ask(
        "SELECT DISTINCT day, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY day ORDER BY n DESC LIMIT 2 OFFSET 1",
        epsilon=1,
    )
    assert len(moved) == 2
    for row in moved:
        assert row == plain[row["day"]]


# --- plans ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUERIES)
def test_every_plan_takes_every_form(session: Session, name: str) -> None:
    plan = session.plan(QUERIES[name], epsilon=1)
    told = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    assert told["digest"] == plan.digest
    assert told["cost"]["epsilon"] <= 1
    assert [column["column"] for column in told["columns"]] == [series.name for series in session.run(plan).series]
    assert plan.explain().splitlines()[0] in repr(plan)
    assert "<table " in plan._repr_html_()


def widths(plan: Any) -> dict[str, Any]:
    return {column["column"]: column for column in plan.to_dict()["columns"]}


def test_planned_widths_are_those_of_the_answer(session: Session) -> None:
    plan = session.plan("SELECT COUNT(*) AS n, SUM(x) AS s FROM t", epsilon=8)
    answer, told = session.run(plan), widths(plan)
    for name in ("n", "s"):
        series = answer[name]
        assert (series.high[0] - series.low[0]) / 2 == pytest.approx(told[name]["half_width"], rel=1e-6)


def test_the_width_of_a_mean_is_given_for_some_n_and_bounds_what_comes_out() -> None:
    # far enough from the bound for the noise: a mean that is cut there has an interval as wide as the bounds
    table = Table(pa.table({"x": [9.7] * 1000}), unit=Rows(), columns={"x": number(0, 10)})
    with Session({"t": table}, budget=Pure(epsilon=100)) as session:
        for sql in ("SELECT AVG(x) AS m FROM t", "SELECT VAR_POP(x) AS m FROM t"):
            plan = session.plan(sql, epsilon=5)
            (told,) = plan.to_dict()["columns"]
            at = {entry["n"]: entry["half_width"] for entry in told["at"]}
            assert list(at) == [100, 1_000, 10_000, 100_000]
            assert at[1_000] == pytest.approx(10 * at[10_000])
            low, high = session.run(plan).interval
            assert (high - low) / 2 <= 1.1 * at[1_000]
            assert "at n = 1,000: ±" in repr(plan)


def test_a_mean_over_a_declared_number_of_rows_has_one_width() -> None:
    facts: dict[str, Any] = {"columns": {"x": number(0, 10, step=1)}, "neighbors": "change-one", "units": 1000}
    with Session({"t": Table(pa.table({"x": [5.0] * 1000}), unit=Rows(), **facts)}, budget=Pure(epsilon=9)) as session:
        plan = session.plan("SELECT AVG(x) AS m, COUNT(*) AS n FROM t", epsilon=1)
        told = widths(plan)
        # sensitivity (high - low) / n: Laplace noise of scale 10/1000, within ln 20 times that
        assert told["m"]["half_width"] == pytest.approx(0.01 * math.log(20), rel=0.03)
        assert told["n"]["half_width"] == 0
        answer = session.run(plan)
        assert answer["n"].values == (1000,)
        assert answer["n"].low == answer["n"].high == (1000.0,)
        assert answer["m"].high[0] - answer["m"].low[0] == pytest.approx(2 * told["m"]["half_width"], rel=0.03)
        assert "1,000, is declared and public" in answer.certificate()["exact"][0]


# --- pictures -------------------------------------------------------------------------------------------------------


def picture(answer: Answer, path: Any) -> Any:
    pytest.importorskip("matplotlib")
    figure = answer.plot(path)
    assert path.stat().st_size > 5_000
    return figure


def test_groups_are_drawn_as_bars_and_days_as_a_line(session: Session, tmp_path: Any) -> None:
    bars = picture(session.ask("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", epsilon=1), tmp_path / "bars.png")
    line = picture(session.ask(QUERIES["dates"], epsilon=1), tmp_path / "line.png")
    assert len(bars.axes[0].patches) == 3
    assert [len(axes.lines) for axes in line.axes] == [1] * len(line.axes)
    assert "95% intervals" in bars.axes[0].get_title(loc="left")


def test_many_columns_and_missing_numbers_are_drawn(session: Session, tmp_path: Any) -> None:
    many = ", ".join(f"SUM(x) + {k} AS s{k}" for k in range(11))
    figure = picture(session.ask(f"SELECT ward, {many} FROM t GROUP BY ward", epsilon=1), tmp_path / "many.png")
    assert [len(axes.patches) for axes in figure.axes] == [3] * 11
    assert [axes.get_ylabel() for axes in figure.axes] == [f"≥ s{k}" for k in range(11)]
    gaps = "CASE WHEN ward = 'heart' THEN COUNT(*) END AS n"
    picture(session.ask(f"SELECT ward, {gaps} FROM t GROUP BY ward", epsilon=1), tmp_path / "gaps.png")


def test_an_answer_without_numbers_is_not_drawn(session: Session) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(RequestError, match="nothing to draw"):
        session.ask(QUERIES["none left"], epsilon=1).plot()


@pytest.mark.parametrize("of", ["UPPER(rare)", "rare || '!'", "COALESCE(rare, 'none')"])
def test_where_no_group_is_released_its_text_is_still_text(session: Session, of: str) -> None:
    answer = session.ask(f"SELECT {of} AS r, n FROM (SELECT rare, COUNT(*) AS n FROM t GROUP BY rare)", epsilon=1)
    assert answer.to_dict()["r"] == answer.to_dict()["n"] == []
