"""Parameters are values, never text of a query; the clock is fixed when a question is read."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow
import pytest

import privet
from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.execution import request
from privet.session import Session

NOW = datetime.datetime(2024, 2, 29, 13, 14, 15)
LATER = datetime.datetime(2024, 3, 1, 0, 0, 0)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setattr(request, "utc_now", lambda: NOW)
    rows = {
        "person": [1, 2, 3],
        "age": [30, 40, 50],
        "name": ["x", "O'Hara", "?"],
        "day": [datetime.date(2024, 1, 1)] * 3,
        "at": [NOW] * 3,
    }
    table = privet.Table(
        pyarrow.table(rows),
        unit="person",
        columns={
            "person": privet.integer(),
            "age": privet.integer(0, 120),
            "name": privet.text(),
            "day": privet.date("2020-01-01", "2030-01-01"),
            "at": privet.timestamp(),
        },
        contribution=privet.Contribution(groups=1, rows=1),
    )
    with Session({"people": table}, budget=privet.Pure(epsilon=100)) as opened:
        yield opened


def same(session: Session, asked: str, parameters: Any, plain: str) -> None:
    start = "SELECT COUNT(*) AS n FROM people WHERE "
    found = session.plan(start + asked, epsilon=1, parameters=parameters)
    assert found.digest == session.plan(start + plain, epsilon=1).digest


@pytest.mark.parametrize(
    ("asked", "parameters", "plain"),
    [
        ("age > ?", [35], "age > 35"),
        ("age > ? AND age < ? OR age = ?", [35, 60, 1], "age > 35 AND age < 60 OR age = 1"),
        ("age > $1 OR age < $1 - $2", [35, 7], "age > 35 OR age < 35 - 7"),
        ("age > :low AND age < :high", {"low": 35, "high": 60}, "age > 35 AND age < 60"),
        ("age > $low AND age < $high", {"low": 35, "high": 60}, "age > 35 AND age < 60"),
        ("age IN (?, ?)", [1, 2], "age IN (1, 2)"),
        ("age BETWEEN ? AND ?", [1, 2], "age BETWEEN 1 AND 2"),
        ("name = ?", ["O'Hara"], "name = 'O''Hara'"),
        ("name = ?", ["' OR 1 = 1 --"], "name = ''' OR 1 = 1 --'"),
        ("name = ?", ["?"], "name = '?'"),
        ("name LIKE ?", ["a%"], "name LIKE 'a%'"),
        ("age > ?", [Decimal("1.5")], "age > 1.5"),
        ("age > ?", [Fraction(1, 4)], "age > 0.25"),
        ("age > ?", [1.5], "age > 1.5"),
        ("day = ?", ["2024-02-03"], "day = DATE '2024-02-03'"),
        ("day = ?", [datetime.date(2024, 2, 3)], "day = DATE '2024-02-03'"),
        ("day > CURRENT_DATE - INTERVAL ? DAY", [7], "day > DATE '2024-02-22'"),
        ("(age = ?) IS NULL", [None], "(age = NULL) IS NULL"),
        ("(age > 5) = ?", [True], "(age > 5) = TRUE"),
        ("age::BIGINT = :x", {"x": 3}, "CAST(age AS BIGINT) = 3"),
    ],
)
def test_a_parameter_is_the_constant_that_it_is_given(
    session: Session, asked: str, parameters: Any, plain: str
) -> None:
    same(session, asked, parameters, plain)


def test_parameters_count_in_the_order_of_the_text(session: Session) -> None:
    asked = "SELECT SUM(age * ?) AS s FROM people WHERE age > ? HAVING COUNT(*) > ? ORDER BY s LIMIT ?"
    plain = "SELECT SUM(age * 2) AS s FROM people WHERE age > 3 HAVING COUNT(*) > 4 ORDER BY s LIMIT 5"
    assert session.plan(asked, epsilon=1, parameters=[2, 3, 4, 5]).digest == session.plan(plain, epsilon=1).digest
    assert session.ask(asked, epsilon=1, parameters=(2, 3, 4, 5)) is not None


@pytest.mark.parametrize(
    ("asked", "parameters", "error", "told"),
    [
        ("age > ?", None, Unsupported, r"no value for the parameter \?; pass .* parameters=\[5\]"),
        ("age > :low", {"high": 3}, Unsupported, "no value for the parameter :low"),
        ("age > $2", [3], Unsupported, r"no value for the parameter \$2"),
        ("age > ?", [3, 4], RequestError, "no parameter '2'"),
        ("age > 3", {"x": 4}, RequestError, "no parameter 'x'"),
        ("age > ?", "3", BadParameter, "a list for"),
        ("age > ?", 3, BadParameter, "a list for"),
        ("age > ?", [[1]], BadParameter, "parameter 1"),
        ("age > ?", [privet.col("age")], BadParameter, "a value"),
        ("age > ?", [float("nan")], BadParameter, "finite"),
        ("age > ?", [2**70], BadParameter, "parameter 1"),
        ("age > :x", {"x; DROP": 1}, BadParameter, "named as in the question"),
        ("name = ?", ["a\x00"], BadParameter, "parameter 1"),
        ('"?"(1) = 1', [3], RequestError, "no parameter '1'"),
    ],
)
def test_other_parameters_are_refused(
    session: Session, asked: str, parameters: Any, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        session.plan("SELECT COUNT(*) FROM people WHERE " + asked, epsilon=1, parameters=parameters)


def test_a_parameter_stands_for_no_name_and_no_place(session: Session) -> None:
    for asked in ("SELECT COUNT(*) FROM ?", "SELECT ?, COUNT(*) FROM people GROUP BY ?", "SELECT ? FROM people"):
        with pytest.raises(RequestError):
            session.plan(asked, epsilon=1, parameters=["people"])
    with pytest.raises(RequestError, match="questions in SQL"):
        session.plan(session.table("people").agg(n=privet.count()), epsilon=1, parameters=[1])


@pytest.mark.parametrize(
    ("asked", "plain"),
    [
        ("day < CURRENT_DATE", "day < DATE '2024-02-29'"),
        ("day < CURRENT_DATE()", "day < DATE '2024-02-29'"),
        ("day < TODAY()", "day < DATE '2024-02-29'"),
        ("at < NOW()", "at < TIMESTAMP '2024-02-29 13:14:15'"),
        ("at < GETDATE()", "at < TIMESTAMP '2024-02-29 13:14:15'"),
        ("at < CURRENT_TIMESTAMP - INTERVAL 1 HOUR", "at < TIMESTAMP '2024-02-29 12:14:15'"),
        ("YEAR(GETDATE()) - age > 1980", "2024 - age > 1980"),
        ("day > DATE_TRUNC('month', CURRENT_DATE)", "day > DATE '2024-02-01'"),
        ("DATEDIFF(day, day, GETDATE()) > 3", "DATE_DIFF('day', day, TIMESTAMP '2024-02-29 13:14:15') > 3"),
    ],
)
def test_the_clock_is_a_constant(session: Session, asked: str, plain: str) -> None:
    same(session, asked, None, plain)


def test_the_digest_moves_with_what_the_clock_says_and_no_faster(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digests() -> list[str]:
        asked = ("day < CURRENT_DATE", "at < NOW()", "YEAR(NOW()) > age", "age > 3")
        return [session.plan(f"SELECT COUNT(*) FROM people WHERE {one}", epsilon=1).digest for one in asked]

    before = digests()
    monkeypatch.setattr(request, "utc_now", lambda: NOW.replace(hour=23))
    assert [one == other for one, other in zip(before, digests(), strict=True)] == [True, False, True, True]
    monkeypatch.setattr(request, "utc_now", lambda: LATER)
    assert [one == other for one, other in zip(before, digests(), strict=True)] == [False, False, True, True]


def test_a_view_and_a_bare_reading_have_no_clock_and_no_parameters(session: Session) -> None:
    table = session._catalog.schemas
    from privet.query.sql.parse import parse, parse_view

    with pytest.raises(Unsupported, match="CURRENT_DATE is not supported"):
        parse("SELECT COUNT(*) FROM people WHERE day < CURRENT_DATE", table)
    for where in ("day < CURRENT_DATE", "age > ?", "at < NOW()"):
        with pytest.raises(Unsupported):
            parse_view(f"SELECT * FROM people WHERE {where}", table, {})


def test_the_time_is_that_of_utc_in_whole_seconds() -> None:
    found = request.utc_now()
    assert found.tzinfo is None
    assert found.microsecond == 0
    assert abs(found - datetime.datetime.now(datetime.UTC).replace(tzinfo=None)) < datetime.timedelta(minutes=1)
