"""MIN, MAX, AVG, MEDIAN and QUANTILE of dates and timestamps, and durations: as SQL has them, with honest intervals."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import privet
from privet import Approximate, Contribution, Person, Session, Table
from privet.core.errors import RequestError, Unbounded, Unsupported
from privet.query import frame
from privet.query.sql.parse import parse
from privet.results.read import as_moments

FIRST, LAST = datetime.date(2023, 1, 1), datetime.date(2023, 12, 31)
DAY = datetime.timedelta(days=1)
SIZE = 2_001


def some_rows() -> pa.Table:
    draw = random.Random(7)
    starts = [FIRST + DAY * draw.randint(5, 350) for _ in range(SIZE)]
    ends = [start + DAY * draw.randint(0, 9) for start in starts]
    at = [datetime.datetime.combine(day, datetime.time(draw.randint(0, 23), 30, 0, 250_000)) for day in starts]
    wards = [draw.choice("ab") for _ in starts]
    return pa.table({"id": range(SIZE), "start": starts, "stop": ends, "seen": at, "ward": wards, "free": starts})


ROWS = some_rows()


def table(rows: pa.Table = ROWS) -> Table:
    columns = {
        "id": privet.integer(),
        "start": privet.date(FIRST, LAST),
        "stop": privet.date(FIRST, LAST, nullable=True),
        "seen": privet.timestamp(datetime.datetime(2023, 1, 1), datetime.datetime(2024, 1, 1)),
        "ward": privet.category(["a", "b"]),
        "free": privet.date(),
    }
    return Table(rows, unit=Person("id"), columns=columns, contribution=Contribution(groups=1, rows=1))


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session({"visits": table()}, budget=Approximate(epsilon=10**7, delta=1e-6)) as one:
        yield one


def exact(sql: str) -> list[tuple[Any, ...]]:
    connection = duckdb.connect()
    connection.register("visits", ROWS)
    return connection.execute(sql).fetchall()


SAME = [
    "SELECT MIN(start) FROM visits",
    "SELECT MAX(stop) FROM visits",
    "SELECT MEDIAN(start) FROM visits",
    "SELECT QUANTILE(start, 0.25) FROM visits",
    "SELECT PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY start) FROM visits",
    "SELECT QUANTILE_CONT(start, 0.5) FROM visits",
    "SELECT MAX(stop) - MIN(start) FROM visits",
    "SELECT DATE_DIFF('day', MIN(start), MAX(stop)) FROM visits",
    "SELECT MIN(start) + 7 FROM visits",
    "SELECT YEAR(MAX(start)) FROM visits",
    "SELECT ward, MAX(start) AS latest FROM visits GROUP BY ward HAVING MAX(start) > '2023-02-01' ORDER BY ward",
]


@pytest.mark.parametrize("sql", SAME)
def test_without_noise_the_answer_is_what_sql_says(session: Session, sql: str) -> None:
    answer = session.ask(sql, epsilon=5_000)
    assert [*zip(*(series.values for series in answer.series), strict=True)] == exact(sql)


NEAR = [
    ("SELECT AVG(start) FROM visits", datetime.timedelta(minutes=20)),
    ("SELECT AVG(seen) FROM visits", datetime.timedelta(minutes=20)),
    ("SELECT MEDIAN(seen) FROM visits", datetime.timedelta(minutes=1)),
    ("SELECT MIN(seen) FROM visits", datetime.timedelta(minutes=20)),
]


@pytest.mark.parametrize(("sql", "near"), NEAR)
def test_points_in_time_are_near_and_inside_their_intervals(
    session: Session, sql: str, near: datetime.timedelta
) -> None:
    answer, ((true,),) = session.ask(sql, epsilon=5_000), exact(sql)
    (series,) = answer.series
    low, high = answer.interval
    assert type(answer.value) is type(low) is type(high) is datetime.datetime
    assert abs(answer.value - true) < near
    assert low <= answer.value <= high
    assert high - answer.value < 4 * near  # the interval of the least reaches down to the declared bound
    assert series.error is not None


DURATIONS = [
    ("AVG(stop - start)", "AVG(stop - start)"),
    ("SUM(stop - start)", "SUM(stop - start)"),
    ("AVG(AGE(stop, start))", "AVG(stop - start)"),
    ("AVG(stop - seen)", "AVG(EXTRACT(EPOCH FROM stop - seen)) / 86400"),
    ("AVG(EXTRACT(EPOCH FROM (stop - seen)))", "AVG(EXTRACT(EPOCH FROM (stop - seen)))"),
    ("AVG(DATE_PART('day', stop - seen))", "AVG(DATE_PART('day', stop - seen))"),
    ("AVG(EPOCH(seen) - EPOCH(start))", "AVG(EPOCH(seen) - EPOCH(start))"),
    ("AVG(DATE_DIFF('day', start, stop + 1))", "AVG(DATE_DIFF('day', start, stop + 1))"),
]


@pytest.mark.parametrize(("asked", "true"), DURATIONS)
def test_durations_are_numbers(session: Session, asked: str, true: str) -> None:
    answer = session.ask(f"SELECT {asked} FROM visits", epsilon=50_000)
    ((value,),) = exact(f"SELECT {true} FROM visits")
    low, high = answer.interval
    room = 4 * (high - low)  # Laplace noise is beyond 9 half-widths of 95% once in 5e11 draws
    assert low - room <= float(value) <= high + room
    assert abs(answer.value - float(value)) <= 0.01 * abs(float(value)) + 0.01


def test_intervals_of_dates_cover_the_truth() -> None:
    true = exact("SELECT AVG(start), MEDIAN(start), MIN(start) FROM visits")[0]
    missed = [0, 0, 0]
    tries = 60
    with Session({"visits": table()}, budget=Approximate(epsilon=10**4, delta=1e-6)) as session:
        for turn in range(tries):
            # another constant makes another question, so that nothing is found among stored answers
            sql = f"SELECT AVG(start), MEDIAN(start), MIN(start) FROM visits WHERE id > -{turn + 1}"
            answer = session.ask(sql, epsilon=0.3)
            for place, series in enumerate(answer.series):
                assert series.low is not None
                assert series.high is not None
                low, high, value = series.low[0], series.high[0], series.values[0]
                assert low <= value <= high
                missed[place] += not low <= true[place] <= high
    assert max(missed) <= 16  # of 60 at 0.05 each: more has a probability below 1e-7


def test_exports_hold_dates() -> None:
    with Session({"visits": table()}, budget=Approximate(epsilon=100, delta=1e-6)) as session:
        answer = session.ask("SELECT ward, MIN(start) AS d, AVG(seen) AS t FROM visits GROUP BY ward", epsilon=20)
    arrow = answer.to_arrow()
    for name in ("d", "d_low", "d_high"):
        assert arrow.schema.field(name).type == pa.date32()
    for name in ("t", "t_low", "t_high"):
        assert pa.types.is_timestamp(arrow.schema.field(name).type)
    row = json.loads(answer.to_json())["rows"][0]
    assert datetime.date.fromisoformat(row["d_low"]) <= datetime.date.fromisoformat(row["d"])
    assert datetime.datetime.fromisoformat(row["t_low"]) <= datetime.datetime.fromisoformat(row["t_high"])
    pandas = answer.to_pandas()
    assert [*pandas["d"]] == [*answer["d"].values]
    assert "2023-0" in repr(answer)
    assert "2023-0" in answer._repr_html_()


def test_an_estimate_of_a_date_is_refused_by_name(session: Session) -> None:
    with pytest.raises(RequestError, match="take value and interval"):
        _ = session.ask("SELECT MIN(start) FROM visits", epsilon=5_000).estimate


def test_no_rows_have_no_least_date(session: Session) -> None:
    # noise alone shows a date of no rows once in a thousand times; four times in a row, never
    asked = "SELECT MIN(start) AS d FROM visits WHERE start < DATE '2023-01-02'"
    answers = (session.ask(asked, epsilon=500 + attempt) for attempt in range(4))
    answer = next(one for one in answers if one.to_dict()["d"] == [None])
    assert answer.to_dict()["d_low"] == [None]
    assert "NULL" in repr(answer)


def test_dates_without_bounds_are_refused_and_say_which_column(session: Session) -> None:
    with pytest.raises(Unbounded) as caught:
        session.plan("SELECT AVG(free) FROM visits", epsilon=1)
    assert caught.value.column == "free"
    assert session.plan(
        "SELECT AVG(LEAST(GREATEST(free, DATE '2023-01-01'), DATE '2023-12-31')) FROM visits", epsilon=1
    )


def test_a_width_of_a_date_is_in_days(session: Session) -> None:
    answer = session.ask("SELECT AVG(start) AS d FROM visits", within=30, at_most=1)
    low, high = answer.interval
    assert max(high - answer.value, answer.value - low) <= 30 * DAY
    with pytest.raises(Unsupported, match="pass a number of days"):
        session.plan("SELECT AVG(start) AS d FROM visits", within="2%", at_most=1)


def test_python_asks_the_same() -> None:
    visits = table().schema
    start = privet.col("start")
    built = frame.table("visits", visits).agg(
        a=privet.smallest("start"), b=privet.mean("start"), c=privet.quantile("start", 0.5), d=privet.median("start")
    )
    sql = "SELECT MIN(start) AS a, AVG(start) AS b, QUANTILE(start, 0.5) AS c, MEDIAN(start) AS d FROM visits"
    assert built.query() == parse(sql, {"visits": visits})
    later = frame.table("visits", visits).agg(a=privet.mean(privet.col("stop") - start))
    assert later.query() == parse("SELECT AVG(stop - start) AS a FROM visits", {"visits": visits})


def test_levels_have_dates_too(session: Session) -> None:
    answer = session.ask("SELECT ward, AVG(start) AS d, MAX(seen) AS m FROM visits GROUP BY ROLLUP (ward)", epsilon=500)
    assert len(answer) == 3
    for low, value, high in zip(answer["d"].low, answer["d"].values, answer["d"].high, strict=True):  # type: ignore[arg-type]
        assert low <= value <= high


def test_ends_of_intervals_are_rounded_outwards_and_stay_in_the_calendar() -> None:
    days = (19_000.2, float("nan"), -1e300, float("inf"))
    low, high = (as_moments(days, "date", up=up) for up in (False, True))
    assert low == (datetime.date(2022, 1, 8), None, datetime.date.min, datetime.date.max)
    assert high == (datetime.date(2022, 1, 9), None, datetime.date.min, datetime.date.max)
    (early, *_), (late, *_) = (as_moments(days, "timestamp", up=up) or () for up in (False, True))
    assert datetime.timedelta(0) <= late - early <= datetime.timedelta(microseconds=1)
