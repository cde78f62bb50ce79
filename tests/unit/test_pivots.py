"""`answer.pivot`: released rows laid out as a cross-tab, with totals that agree and intervals of their noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from privet.answer import Answer
from privet.core.budget import Approximate
from privet.core.errors import BadParameter, RequestError, UnknownName
from privet.core.schema import Contribution, Table, category, integer, number, text
from privet.core.unit import Person
from privet.session import Session

DATA = pa.table(
    {
        "person": list(range(600)),
        "sex": ["F" if place % 3 else "M" for place in range(600)],
        "ward": ["heart" if place // 3 % 2 else "lung" for place in range(600)],
        "city": ["Bonn" if place % 5 else "Ulm" for place in range(600)],
        "year": [2020 + place % 2 for place in range(600)],
        "cost": [float(place % 7) for place in range(600)],
    }
)
COUNTS = (
    "SELECT ward, sex, COUNT(*) AS n, SUM(cost) AS c, AVG(cost) AS m, COUNT(DISTINCT person) AS p FROM t "
    "GROUP BY ward, sex"
)


@pytest.fixture(scope="module")
def asked() -> Iterator[Session]:
    columns = {
        "person": integer(),
        "sex": category(["M", "F"]),
        "ward": category(["lung", "heart"]),
        "city": text(),
        "year": integer(2020, 2021),
        "cost": number(0, 10),
    }
    table = Table(DATA, unit=Person("person"), columns=columns, contribution=Contribution(groups=1, rows=1))
    with Session({"t": table}, budget=Approximate(epsilon=10**10, delta=1e-3)) as session:
        yield session


@pytest.fixture(scope="module")
def answer(asked: Session) -> Answer:
    return asked.ask(COUNTS, epsilon=2)


def test_cells_are_the_released_numbers_with_their_intervals(asked: Session, answer: Answer) -> None:
    before = len(asked.history())
    table = answer.pivot("ward", "sex", "m")
    assert len(asked.history()) == before
    assert [one.name for one in table.series] == ["ward", "M", "F"]
    assert table["ward"].values == ("lung", "heart")
    rows = {(row["ward"], row["sex"]): row for row in answer}
    for row in table:
        for sex in ("M", "F"):
            told = rows[row["ward"], sex]
            assert [row[sex + end] for end in ("", "_low", "_high", "_error")] == [
                told["m" + end] for end in ("", "_low", "_high", "_error")
            ]


@pytest.mark.parametrize("values", ["n", "c"])
def test_totals_agree_and_know_the_noise_of_their_sum(answer: Answer, values: str) -> None:
    table = answer.pivot("ward", "sex", values, totals=True)
    assert table["ward"].values == ("lung", "heart", "total")
    men, women, both = (table[name].values for name in ("M", "F", "total"))
    for row in range(3):
        assert math.isclose(men[row] + women[row], both[row], rel_tol=1e-12)
    for column in (men, women, both):
        assert math.isclose(column[0] + column[1], column[2], rel_tol=1e-12)
    if values == "n":
        assert both == tuple(one + other for one, other in zip(men, women, strict=True))

    def wide(name: str, row: int) -> float:
        return table[name].high[row] - table[name].low[row]  # type: ignore[index, no-any-return]

    one = table["M"].error[0]  # type: ignore[index]
    assert math.isclose(table["total"].error[0], one * math.sqrt(2), rel_tol=1e-9)  # type: ignore[index]
    assert math.isclose(table["M"].error[2], one * math.sqrt(2), rel_tol=1e-9)  # type: ignore[index]
    assert math.isclose(table["total"].error[2], 2 * one, rel_tol=1e-9)  # type: ignore[index]
    assert wide("M", 0) < wide("total", 0) < wide("total", 2) < 4 * wide("M", 0)


def test_pairs_without_a_row_are_none_and_totals_are_of_what_is_shown(asked: Session) -> None:
    found = asked.ask("SELECT city, year, COUNT(*) AS n FROM t GROUP BY city, year ORDER BY n DESC", epsilon=2)
    table = found.pivot("city", "year", "n", totals=True)
    assert [one.name for one in table.series] == ["city", "2020", "2021", "total"]
    assert all(map(math.isfinite, table["total"].high or ()))
    assert "those too rare to be found are in none" in repr(table)
    limited = asked.ask(
        "SELECT city, year, COUNT(*) AS n FROM t GROUP BY city, year ORDER BY n DESC LIMIT 3", epsilon=2
    )
    part = limited.pivot("city", "year", "n", totals=True)
    (name, row) = next((one.name, one.values.index(None)) for one in part.series if None in one.values)
    assert math.isnan((part[name].low or ())[row])
    assert part.to_dict()[f"{name}_low"][row] is None
    assert part["total"].values[row] == sum(one.values[row] or 0 for one in part.series[1:-1])
    assert set(part["total"].high or ()) == {math.inf}  # noise chose the rows, so of their sum nothing narrow is known
    assert "no interval" in repr(part)
    assert part["total"].mark == "≥"


def test_totals_cover_the_truth_as_often_as_they_say(asked: Session) -> None:
    inside = 0
    for turn in range(200):
        sql = f"SELECT ward, sex, COUNT(*) AS n FROM t WHERE person > -{turn + 1} GROUP BY ward, sex"
        table = asked.ask(sql, epsilon=1, confidence=0.8).pivot("ward", "sex", "n", totals=True)
        inside += table["total"].low[2] <= 600 <= table["total"].high[2]  # type: ignore[index]
    assert inside >= 130  # of 200 at 0.8 fewer come once in a million


def test_it_is_shown_as_text_and_html(answer: Answer) -> None:
    table = answer.pivot("ward", "sex", "n", totals=True)
    lines = repr(table).splitlines()
    assert lines[0].split() == ["ward", "M", "95%", "F", "95%", "total", "95%"]
    assert lines[3].startswith("total")
    assert "<th" in table._repr_html_()
    assert table._repr_html_().count("<tr>") == 4
    assert list(table.to_pandas()["total"]) == list(table["total"].values)
    assert len(table) == 3


def test_a_value_that_is_called_total_keeps_its_name(asked: Session) -> None:
    sql = (
        "SELECT CASE WHEN ward = 'lung' THEN 'total' ELSE 'ward' END AS ward, sex, COUNT(*) AS n FROM t GROUP BY 1, sex"
    )
    found = asked.ask(sql, epsilon=1)
    table = found.pivot("ward", "sex", "n", totals=True)
    assert table["ward"].values[-1] == "total_"
    other = found.pivot("sex", "ward", "n", totals=True)
    assert {one.name for one in other.series} == {"sex", "total", "ward", "total_"}
    assert other.series[-1].name == "total_"


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (("wards", "sex", "n"), UnknownName, "did you mean 'ward'"),
        (("ward", "sex", "count"), UnknownName, "there is no column 'count'"),
        ((1, "sex", "n"), BadParameter, "index must be the name of a column"),
        (("ward", None, "n"), BadParameter, "columns must be the name"),
        (("ward", "n", "sex"), BadParameter, "a column of groups"),
        (("ward", "ward", "n"), BadParameter, "three different columns"),
        (("ward", "sex", "sex"), BadParameter, "three different columns"),
    ],
)
def test_wrong_names_are_refused_in_words(answer: Answer, arguments: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        answer.pivot(*arguments)


@pytest.mark.parametrize("values", ["m", "p"])
def test_what_does_not_add_up_has_no_totals(answer: Answer, values: str) -> None:
    assert len(answer.pivot("ward", "sex", values)) == 2
    with pytest.raises(RequestError, match="does not add up"):
        answer.pivot("ward", "sex", values, totals=True)


def test_a_number_that_bends_does_not_add_up(asked: Session) -> None:
    bent = asked.ask("SELECT ward, sex, ABS(COUNT(*) - 200) AS off FROM t GROUP BY ward, sex", epsilon=1)
    with pytest.raises(RequestError, match="does not add up"):
        bent.pivot("ward", "sex", "off", totals=True)


def test_rows_that_are_not_told_apart_are_refused(asked: Session, answer: Answer) -> None:
    three = asked.ask("SELECT ward, sex, year, COUNT(*) AS n FROM t GROUP BY ward, sex, year", epsilon=1)
    with pytest.raises(BadParameter, match="differ in year"):
        three.pivot("ward", "sex", "n")
    with pytest.raises(BadParameter, match="True or False"):
        answer.pivot("ward", "sex", "n", totals=1)  # type: ignore[arg-type]


def test_several_releases_and_levels(asked: Session) -> None:
    joined = asked.ask(
        "SELECT a.ward, a.sex, a.n + b.n AS n FROM (SELECT ward, sex, COUNT(*) AS n FROM t GROUP BY ward, sex) a JOIN "
        "(SELECT ward, COUNT(*) AS n FROM t GROUP BY ward) b ON a.ward = b.ward",
        epsilon=1,
    )
    table = joined.pivot("ward", "sex", "n", totals=True)
    assert table["total"].values[2] == sum(joined["n"].values)
    assert all(map(math.isfinite, table["total"].high or ()))
    levels = asked.ask("SELECT ward, sex, COUNT(*) AS n FROM t GROUP BY CUBE (ward, sex)", epsilon=1)
    assert [one.name for one in levels.pivot("ward", "sex", "n").series] == ["ward", "M", "F", "NULL"]
    with pytest.raises(RequestError, match="totals of its own"):
        levels.pivot("ward", "sex", "n", totals=True)
