"""Quantiles that are written by ranks over everybody are read as quantiles, and nothing else is."""

from __future__ import annotations

import pytest

from privet.core.errors import RequestError
from privet.core.schema import Schema, category, integer, number
from privet.core.unit import Person
from privet.query.nodes import Query
from privet.query.sql.parse import parse

ROWS = Schema(
    unit=Person("who"),
    columns={"who": integer(), "sex": category(["F", "M"]), "x": integer(0, 100), "y": number(0, 9, nullable=True)},
)


def ask(text: str) -> Query:
    return parse(text, {"t": ROWS})


INNER = "(SELECT x, ROW_NUMBER() OVER (ORDER BY x) AS rn, COUNT(*) OVER () AS n FROM t) AS r"


@pytest.mark.parametrize(
    ("written", "same"),
    [
        (f"SELECT MIN(CASE WHEN rn < .25 * n THEN 9999 ELSE x END) AS q FROM {INNER}", "QUANTILE(x, 0.25)"),
        (f"SELECT MIN(CASE WHEN r.rn >= 0.9 * r.n THEN r.x END) AS q FROM {INNER}", "QUANTILE(x, 0.9)"),
        (f"SELECT MIN(CASE WHEN rn * 1.0 / n >= 0.975 THEN x END) AS q FROM {INNER}", "QUANTILE(x, 0.975)"),
        (f"SELECT MIN(CASE WHEN n / 4 > rn THEN NULL ELSE x END) AS q FROM {INNER}", "QUANTILE(x, 0.25)"),
        (f"SELECT MIN(CASE WHEN rn >= CEIL(n * 0.5) THEN x ELSE 999 END) AS q FROM {INNER}", "MEDIAN(x)"),
        (f"SELECT MIN(CASE WHEN rn < .5 * n THEN 50 ELSE x END) AS q FROM {INNER}", "LEAST(MEDIAN(x), 50)"),
        (f"SELECT AVG(x) AS q FROM {INNER} WHERE rn IN (FLOOR((n + 1) / 2), CEIL((n + 1) / 2))", "MEDIAN(x)"),
        (f"SELECT AVG(x) AS q FROM {INNER} WHERE rn BETWEEN n / 2.0 AND n / 2.0 + 1", "MEDIAN(x)"),
        (f"SELECT MIN(x) AS q FROM {INNER} WHERE rn >= 0.75 * n", "QUANTILE(x, 0.75)"),
        (
            "SELECT MIN(CASE WHEN i < .75 * n THEN 9999 ELSE x END) AS q FROM (SELECT x, ROW_NUMBER() OVER (ORDER BY x "
            "DESC) AS i, (SELECT COUNT(*) FROM t) AS n FROM t u) r",
            "QUANTILE(x, 0.25)",
        ),
        (
            "WITH a AS (SELECT x, ROW_NUMBER() OVER (ORDER BY x) AS i FROM t), s AS (SELECT COUNT(*) AS n FROM t) "
            "SELECT MIN(CASE WHEN i >= .5 * n THEN x END) AS q FROM a, s",
            "MEDIAN(x)",
        ),
        ("SELECT MIN(x) AS q FROM (SELECT x, CUME_DIST() OVER (ORDER BY x) AS d FROM t) r WHERE d >= 0.5", "MEDIAN(x)"),
        (
            "SELECT MIN(z) AS q FROM (SELECT x * 2 AS z, PERCENT_RANK() OVER (ORDER BY x * 2) AS d FROM t) r "
            "WHERE d >= 0.1",
            "QUANTILE(x * 2, 0.1)",
        ),
    ],
)
def test_ranks_over_everybody_mean_a_quantile(written: str, same: str) -> None:
    assert ask(written) == ask(f"SELECT {same} AS q FROM t")


def test_ranks_in_groups_mean_quantiles_of_the_groups() -> None:
    inner = (
        "(SELECT sex, y, ROW_NUMBER() OVER (PARTITION BY sex ORDER BY y) AS rn, COUNT(*) OVER (PARTITION BY sex) AS n "
        "FROM t WHERE y IS NOT NULL) r"
    )
    for key in ("sex", "r.sex", "1"):
        made = ask(
            f"SELECT sex, COUNT(*) AS c, AVG(y) AS m, MIN(CASE WHEN rn < .25 * n THEN 9999 ELSE y END) AS q FROM "
            f"{inner} GROUP BY {key} ORDER BY sex"
        )
        assert made == ask(
            "SELECT sex, COUNT(*) AS c, AVG(y) AS m, QUANTILE(y, 0.25) AS q FROM t WHERE y IS NOT NULL GROUP BY sex "
            "ORDER BY 1"
        )


@pytest.mark.parametrize(
    "other",
    [
        f"SELECT AVG(x) FROM {INNER} WHERE rn <= 10",
        f"SELECT MAX(x) FROM {INNER} WHERE rn <= 10",
        f"SELECT MIN(x) FROM {INNER} WHERE rn > n - 10",
        f"SELECT SUM(x) FROM {INNER} WHERE rn >= 0.75 * n",
        f"SELECT COUNT(*) FROM {INNER} WHERE rn >= 0.75 * n",
        f"SELECT MIN(x), COUNT(*) FROM {INNER} WHERE rn >= 0.75 * n",
        f"SELECT AVG(x) FROM {INNER} WHERE rn >= 0.25 * n AND rn <= 0.75 * n",
        f"SELECT MIN(x) FROM {INNER} WHERE rn >= 0.75 * n AND x > 3",
        f"SELECT MIN(CASE WHEN rn % 2 = 0 THEN x END) FROM {INNER}",
        f"SELECT MIN(CASE WHEN rn < .25 * n THEN x ELSE x END), MAX(rn) FROM {INNER}",
        f"SELECT MIN(CASE WHEN rn < .25 * n THEN 9999 ELSE x END), MAX(n) FROM {INNER}",
        f"SELECT n, MIN(CASE WHEN rn < .25 * n THEN 9999 ELSE x END) FROM {INNER} GROUP BY n",
        "SELECT MIN(CASE WHEN rn < .25 * n THEN 9999 ELSE x END) FROM (SELECT x, ROW_NUMBER() OVER (ORDER BY y) AS rn, "
        "COUNT(*) OVER () AS n FROM t) r",
        "SELECT MIN(CASE WHEN rn < .25 * n THEN 9999 ELSE x END) FROM (SELECT x, ROW_NUMBER() OVER (ORDER BY x) AS rn, "
        "(SELECT COUNT(*) FROM t WHERE x > 3) AS n FROM t) r",
        "SELECT sex, MIN(CASE WHEN rn < .25 * n THEN 9999 ELSE x END) FROM (SELECT sex, x, ROW_NUMBER() OVER (ORDER BY "
        "x) AS rn, COUNT(*) OVER () AS n FROM t) r GROUP BY sex",
        "SELECT MIN(CASE WHEN rn < .25 * n THEN 9999 ELSE x END) FROM (SELECT sex, x, ROW_NUMBER() OVER (PARTITION BY "
        "sex ORDER BY x) AS rn, COUNT(*) OVER (PARTITION BY sex) AS n FROM t) r",
    ],
)
def test_ranks_that_mean_anything_else_are_refused(other: str) -> None:
    with pytest.raises(RequestError):
        ask(other)
