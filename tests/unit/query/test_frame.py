"""A query built in Python is the tree that SQL saying the same gives."""

from __future__ import annotations

import datetime

import pytest

from privet.core.errors import RequestError, UnknownName, Unsupported
from privet.core.schema import Schema, category, date, integer, number, text
from privet.core.unit import Person
from privet.query.frame import (
    Frame,
    Result,
    col,
    count,
    count_units,
    histogram,
    mean,
    std,
    std_pop,
    sum,
    table,
    var,
    var_pop,
    when,
)
from privet.query.sql.parse import parse

SCHEMA = Schema(
    unit=Person("user_id"),
    columns={
        "user_id": integer(),
        "day": date(datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)),
        "hospital": category(["A", "B", "C"]),
        "cost": number(0, 1000, nullable=True),
        "age": integer(0, 120),
        "diag": text(nullable=True),
    },
)
visits: Frame = table("visits", SCHEMA)
by_hospital = visits.group_by("hospital")

PAIRS: list[tuple[Result, str]] = [
    (visits.agg(n=count()), "SELECT COUNT(*) AS n FROM visits"),
    (visits.agg(count()), "SELECT COUNT(*) FROM visits"),
    (visits.agg(n=count("cost")), "SELECT COUNT(cost) AS n FROM visits"),
    (visits.agg(people=count_units()), "SELECT COUNT(DISTINCT user_id) AS people FROM visits"),
    (
        visits.where(col("age") > 65).group_by("hospital").agg(n=count(), age=mean("age")),
        "SELECT hospital, COUNT(*) AS n, AVG(age) AS age FROM visits WHERE age > 65 GROUP BY hospital",
    ),
    (
        visits.where((col("age") >= 18) & ~(col("diag") == "flu") | col("diag").is_null()).agg(s=sum("cost")),
        "SELECT SUM(cost) AS s FROM visits WHERE age >= 18 AND NOT diag = 'flu' OR diag IS NULL",
    ),
    (
        visits.where(col("diag").is_in(["flu", "cold"]), col("age").between(18, 64)).agg(count()),
        "SELECT COUNT(*) FROM visits WHERE age BETWEEN 18 AND 64 AND diag IN ('cold', 'flu')",
    ),
    (visits.where(col("age") > 65).agg(count()), "SELECT COUNT(*) FROM visits WHERE age > 65"),
    (visits.agg(s=sum(col("cost") * 2 + 0.1)), "SELECT SUM(cost * 2 + 0.1) AS s FROM visits"),
    (visits.agg(s=sum(1 - col("cost") / 3)), "SELECT SUM(1 - cost / 3) AS s FROM visits"),
    (visits.agg(r=sum("cost") / count()), "SELECT SUM(cost) / COUNT(*) AS r FROM visits"),
    (visits.agg(r=mean("cost").round(2)), "SELECT ROUND(AVG(cost), 2) AS r FROM visits"),
    (visits.agg(n=count(where=col("age") < 18)), "SELECT COUNT(*) FILTER (WHERE age < 18) AS n FROM visits"),
    (
        visits.agg(var("age"), var_pop("age"), std("age"), std_pop("age")),
        "SELECT VAR_SAMP(age), VAR_POP(age), STDDEV(age), STDDEV_POP(age) FROM visits",
    ),
    (visits.agg(histogram("age", 10)), "SELECT HISTOGRAM(age, 10) FROM visits"),
    (by_hospital.agg(histogram("cost", 4)), "SELECT hospital, HISTOGRAM(cost, 4) FROM visits GROUP BY hospital"),
    (
        visits.group_by(decade=col("age").bin(10)).agg(n=count()),
        "SELECT BIN(age, 10) AS decade, COUNT(*) AS n FROM visits GROUP BY decade",
    ),
    (
        visits.group_by(month=col("day").truncate("month")).agg(n=count()).order_by("month"),
        "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY month",
    ),
    (
        visits.group_by(who=when(col("age") < 18, "child", otherwise="adult")).agg(n=count()),
        "SELECT CASE WHEN age < 18 THEN 'child' ELSE 'adult' END AS who, COUNT(*) AS n FROM visits GROUP BY who",
    ),
    (
        by_hospital.agg(n=count()).having(col("n") > 5).order_by(col("n").desc(), "hospital").limit(2, offset=1),
        "SELECT hospital, COUNT(*) AS n FROM visits GROUP BY hospital HAVING COUNT(*) > 5 "
        "ORDER BY 2 DESC, 1 LIMIT 2 OFFSET 1",
    ),
    (
        by_hospital.agg(n=count()).select("hospital", hundred=col("n") / 100),
        "SELECT hospital, n / 100 AS hundred FROM (SELECT hospital, COUNT(*) AS n FROM visits GROUP BY hospital)",
    ),
    (
        by_hospital.agg(n=count()).where(col("n") > 5),
        "WITH t AS (SELECT hospital, COUNT(*) AS n FROM visits GROUP BY hospital) SELECT * FROM t WHERE n > 5",
    ),
    (
        visits.select("cost", old=col("age") > 65).where(col("old")).agg(s=sum("cost")),
        "SELECT SUM(cost) AS s FROM (SELECT cost, age > 65 AS old FROM visits) WHERE old",
    ),
    (
        visits.where(col("day") >= datetime.date(2024, 3, 1), col("diag").like("a!%%", escape="!")).agg(count()),
        "SELECT COUNT(*) FROM visits WHERE day >= DATE '2024-03-01' AND diag LIKE 'a!%%' ESCAPE '!'",
    ),
    (
        visits.where(col("day").date_part("year") == 2024, col("day") < "2024-03-01").agg(count()),
        "SELECT COUNT(*) FROM visits WHERE YEAR(day) = 2024 AND day < '2024-03-01'",
    ),
    (
        visits.agg(s=sum(col("user_id").clip(0, 9)), t=sum(-abs(col("age")) % 7), u=sum(col("age") ** 2)),
        "SELECT SUM(LEAST(GREATEST(user_id, 0), 9)) AS s, SUM(-ABS(age) % 7) AS t, SUM(age ^ 2) AS u FROM visits",
    ),
    (
        visits.where(col("diag").lower().starts_with("a") | (col("diag").length() > 3)).agg(n=count()),
        "SELECT COUNT(*) AS n FROM visits WHERE STARTS_WITH(LOWER(diag), 'a') OR LENGTH(diag) > 3",
    ),
    (
        by_hospital.agg(n=count()).distinct().order_by("n"),
        "SELECT DISTINCT hospital, COUNT(*) AS n FROM visits GROUP BY hospital ORDER BY n",
    ),
    (
        visits.agg(s=sum(col("diag").cast("integer").clip(0, 5).fill_null(1))),
        "SELECT SUM(COALESCE(LEAST(GREATEST(CAST(diag AS BIGINT), 0), 5), 1)) AS s FROM visits",
    ),
]


@pytest.mark.parametrize(("built", "sql"), PAIRS, ids=[sql[:60] for _, sql in PAIRS])
def test_python_and_sql_give_one_tree(built: Result, sql: str) -> None:
    assert built.query() == parse(sql, {"visits": SCHEMA})


def test_every_step_is_a_new_value() -> None:
    old = visits.where(col("age") > 65)
    assert visits.agg(count()).query() != old.agg(count()).query()
    assert visits.agg(count()).query() == parse("SELECT COUNT(*) FROM visits", {"visits": SCHEMA})
    result = by_hospital.agg(n=count())
    result.limit(1)
    assert result.query().steps[0].limit is None


@pytest.mark.parametrize(
    "condition", [lambda: col("a") > 1 and col("b") > 1, lambda: not col("a"), lambda: 1 < col("a") < 2]
)
def test_a_condition_has_no_truth_of_its_own(condition: object) -> None:
    with pytest.raises(RequestError, match="instead of `and`"):
        condition()  # type: ignore[operator]


@pytest.mark.parametrize(
    "build",
    [
        lambda: visits.where(col("agee") > 1).agg(count()).query(),
        lambda: visits.agg(mean("agee")).query(),
        lambda: visits.select("age").agg(sum("cost")).query(),
        lambda: by_hospital.agg(n=count()).select("nn").query(),
    ],
)
def test_unknown_names_are_told(build: object) -> None:
    with pytest.raises(UnknownName, match=r"did you mean|known:"):
        build()  # type: ignore[operator]


@pytest.mark.parametrize(
    "build",
    [
        lambda: visits.agg(),
        lambda: visits.group_by("user_id").agg(count()).query(),
        lambda: visits.agg(sum("user_id")).query(),
        lambda: visits.agg(n=col("age")).query(),
        lambda: visits.agg(sum(mean("age"))).query(),
        lambda: visits.where(count() > 5).agg(count()).query(),
        lambda: visits.where(col("diag")).agg(count()).query(),
        lambda: by_hospital.agg(n=count()).select(m=sum(mean("n"))).query(),
        lambda: by_hospital.agg(n=count()).select("n").having(col("n") > 1),
        lambda: by_hospital.select("age"),
        lambda: by_hospital.agg(n=count()).limit(-1),
        lambda: col("age").is_in([]),
        lambda: col("age").is_in([1, None]),
        lambda: col("age") > float("nan"),
        lambda: col("age") > 2**63,
        lambda: col("age").cast("decimal"),
        lambda: col("day").date_part("epoch"),
        lambda: col("day") > datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
        lambda: col("diag") == "\0",
        lambda: col(""),
        lambda: table("visits", "schema"),  # type: ignore[arg-type]
        lambda: when(col("age") > 1, 2, 3),
    ],
)
def test_what_cannot_be_answered_is_refused(build: object) -> None:
    with pytest.raises(RequestError):
        build()  # type: ignore[operator]


def test_a_sub_query_cannot_rename_the_person() -> None:
    with pytest.raises(Unsupported, match="identifies the person"):
        visits.select(user_id=col("age"))
