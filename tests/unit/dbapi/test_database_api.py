"""PEP 249: what the module, its connections, cursors and errors must be, and what is charged through them."""

from __future__ import annotations

import datetime
import doctest
import inspect
import pickle
import threading
import warnings
from pathlib import Path
from typing import Any

import pandas
import pytest

import privet
from privet import dbapi
from privet.core.errors import (
    BadParameter,
    BudgetExceeded,
    EngineError,
    InvariantError,
    LedgerError,
    PrivetError,
    RequestError,
    Unsupported,
)
from privet.dbapi import connection as connection_module
from privet.dbapi import connection as cursors_module
from privet.dbapi import pep249 as type_objects_module
from privet.dbapi.pep249 import as_database_error
from privet.session import Session
from served import COUNT, served
from worlds import QUESTION, visits_session, write_visits

GROUPED = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"


@pytest.fixture
def session() -> Session:
    return visits_session(privet.Pure(epsilon=10))


@pytest.fixture
def cursor(session: Session) -> Any:
    return dbapi.connect(session, epsilon=1).cursor()


def test_the_module_has_the_globals_of_the_pep() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "qmark")
    for name in ("Date", "Time", "Timestamp", "DateFromTicks", "TimeFromTicks", "TimestampFromTicks", "Binary"):
        assert callable(getattr(dbapi, name))


def test_the_exceptions_are_the_tree_of_the_pep() -> None:
    tree = {
        "Warning": Exception,
        "Error": Exception,
        "InterfaceError": dbapi.Error,
        "DatabaseError": dbapi.Error,
        **dict.fromkeys(
            ("DataError", "OperationalError", "IntegrityError", "InternalError", "ProgrammingError"),
            dbapi.DatabaseError,
        ),
        "NotSupportedError": dbapi.DatabaseError,
    }
    for name, parent in tree.items():
        assert issubclass(getattr(dbapi, name), parent)
    assert not issubclass(dbapi.Warning, dbapi.Error)
    assert not issubclass(dbapi.InterfaceError, dbapi.DatabaseError)


def test_a_connection_has_the_exceptions_as_attributes(session: Session) -> None:
    connection = dbapi.connect(session)
    for name in ("Warning", "Error", "InterfaceError", "DatabaseError", "ProgrammingError", "NotSupportedError"):
        assert getattr(connection, name) is getattr(dbapi, name)


def test_a_cursor_has_what_the_pep_requires(cursor: Any) -> None:
    for name in ("close", "execute", "executemany", "fetchone", "fetchmany", "fetchall", "setinputsizes"):
        assert inspect.ismethod(getattr(cursor, name))
    assert (cursor.description, cursor.rowcount, cursor.arraysize) == (None, -1, 1)
    assert not hasattr(cursor, "callproc")
    assert not hasattr(cursor, "nextset")
    cursor.setinputsizes([10])
    cursor.setoutputsize(100, 1)
    assert cursor.lastrowid is None


@pytest.mark.parametrize(
    ("kind", "pep"),
    [
        (RequestError("x"), dbapi.ProgrammingError),
        (BadParameter("epsilon", 0, "more"), dbapi.ProgrammingError),
        (Unsupported("x"), dbapi.NotSupportedError),
        (LedgerError("x"), dbapi.OperationalError),
        (EngineError(), dbapi.OperationalError),
        (InvariantError("x"), dbapi.InternalError),
        (BudgetExceeded(measure="epsilon", requested=2, remaining=1, largest_epsilon=1), dbapi.OperationalError),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, PrivetError) else "",
)
def test_an_error_is_both_of_the_pep_and_of_privet(kind: PrivetError, pep: type[Exception]) -> None:
    made = as_database_error(kind)
    assert isinstance(made, pep)
    assert isinstance(made, type(kind))
    assert made.to_dict() == kind.to_dict()
    assert (made.exit_status, made.http_status) == (kind.exit_status, kind.http_status)
    assert as_database_error(made) is made
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is type(made)
    assert again.to_dict() == made.to_dict()


def test_rows_are_fetched_as_the_pep_says(cursor: Any) -> None:
    assert cursor.execute(GROUPED) is cursor
    assert [column[:2] for column in cursor.description] == [("ward", "text"), ("n", "integer")]
    assert all(len(column) == 7 for column in cursor.description)
    assert cursor.rowcount == 3
    first = cursor.fetchone()
    assert first[0] == "a"
    assert cursor.rownumber == 1
    assert [row[0] for row in cursor.fetchmany()] == ["b"]
    assert [row[0] for row in cursor.fetchmany(5)] == ["c"]
    assert cursor.fetchmany(5) == []
    assert cursor.fetchone() is None
    assert cursor.fetchall() == []
    assert [row[0] for row in cursor.execute(GROUPED)] == ["a", "b", "c"]
    cursor.arraysize = 2
    assert len(cursor.execute(GROUPED).fetchmany()) == 2


def test_values_and_intervals_are_those_of_the_answer(cursor: Any) -> None:
    rows = cursor.execute(GROUPED).fetchall()
    assert tuple(n for _, n in rows) == cursor.answer["n"].values
    assert cursor.answer["n"].noisy
    assert [note for _, note in cursor.messages] == list(cursor.answer.notes)
    assert cursor.messages[0][0] is dbapi.Warning


QUESTIONS = [
    GROUPED,
    "SELECT COUNT(*) AS n, AVG(age) AS mean, MEDIAN(cost) AS half, MODE(ward) AS most FROM t",
    "SELECT ward, age, COUNT(*) AS n, GROUPING(ward) AS level FROM t WHERE age < 22 GROUP BY ROLLUP (ward, age)",
    "SELECT ward, n * 1.0 / SUM(n) OVER () AS share, n > 5 AS many, UPPER(ward) AS name FROM "
    "(SELECT ward, COUNT(*) AS n FROM t GROUP BY ward) AS x",
    "SELECT a.ward, a.n, b.m FROM (SELECT ward, COUNT(*) AS n FROM t GROUP BY ward) AS a "
    "JOIN (SELECT ward, AVG(age) AS m FROM t GROUP BY ward) AS b ON a.ward = b.ward",
    "SELECT COUNT(*) AS n FROM t WHERE age > (SELECT AVG(age) FROM t)",
    "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward UNION ALL SELECT 'all', COUNT(*) FROM t",
    "SELECT MAX(n) AS most FROM (SELECT ward, COUNT(*) AS n FROM t GROUP BY ward) AS x",
]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_columns_are_known_before_anything_is_asked(sql: str, session: Session) -> None:
    cursor = dbapi.connect(session, epsilon=0.5).cursor()
    cursor.plan(sql)
    planned = cursor.description
    assert len(session.history()) == 0
    assert cursor.rowcount == -1
    cursor.execute(sql)
    assert cursor.description == planned
    assert [column.name for column in planned] == [series.name for series in cursor.answer.series]
    held = {"integer": int, "number": (int, float), "text": str, "boolean": bool}
    for column, series in zip(planned, cursor.answer.series, strict=True):
        assert all(value is None or isinstance(value, held[column.type_code]) for value in series.values)


@pytest.mark.parametrize(
    "probe",
    [
        f"{GROUPED} LIMIT 0",
        f"SELECT * FROM ({GROUPED}) AS x WHERE 1 = 0",
        f"SELECT * FROM ({GROUPED}) AS x WHERE 1 = NULL",
        f"SELECT * FROM ({GROUPED}) AS x LIMIT 0",
        "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward HAVING FALSE",
    ],
)
def test_a_question_that_only_asks_for_columns_is_not_charged(probe: str, cursor: Any, session: Session) -> None:
    cursor.execute(probe)
    assert [column[:2] for column in cursor.description] == [("ward", "text"), ("n", "integer")]
    assert (cursor.rowcount, cursor.fetchall(), cursor.answer) == (0, [], None)
    assert len(session.history()) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cursor.connection.rollback()


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT COUNT(*) AS groups FROM ({GROUPED}) AS x WHERE 1 = 0",
        f"SELECT * FROM ({GROUPED} LIMIT 0) AS x UNION ALL {GROUPED}",
        f"SELECT * FROM ({GROUPED}) AS x WHERE 1 = 1 LIMIT 1",
        f"SELECT * FROM ({GROUPED}) AS x WHERE n > -1000000 AND ward <> 'c'",
        "SELECT COUNT(*) AS n FROM t WHERE 1 = 0",
    ],
)
def test_a_question_that_may_have_rows_is_asked(sql: str, cursor: Any, session: Session) -> None:
    cursor.execute(sql)
    assert cursor.rowcount >= 1
    assert len(session.history()) == 1


def test_the_same_question_again_is_not_charged_again(cursor: Any, session: Session) -> None:
    first = cursor.execute(GROUPED).fetchall()
    assert cursor.execute(f"{GROUPED};").fetchall() == first
    assert cursor.connection.cursor().execute(f"{GROUPED} LIMIT 1").fetchall() == first[:1]
    assert len(session.history()) == 1


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        ("SELECT COUNT(*) AS n FROM t WHERE age > ? AND ward = ?", [30, "b"]),
        ("SELECT COUNT(*) AS n FROM t WHERE age > $1 AND ward = $2", (30, "b")),
        ("SELECT COUNT(*) AS n FROM t WHERE age > :age AND ward = :ward", {"age": 30, "ward": "b"}),
    ],
)
def test_parameters_are_constants_of_the_question(sql: str, parameters: Any, cursor: Any, session: Session) -> None:
    written = session.ask("SELECT COUNT(*) AS n FROM t WHERE age > 30 AND ward = 'b'", epsilon=1)
    assert cursor.execute(sql, parameters).fetchone() == (written.value,)
    assert len(session.history()) == 1


def test_a_parameter_is_never_text_of_the_question(cursor: Any, session: Session) -> None:
    hostile = "b' OR '1'='1"
    cursor.execute("SELECT COUNT(*) AS n FROM t WHERE name = ?", [hostile], epsilon=5)
    literal = session.plan("SELECT COUNT(*) AS n FROM t WHERE name = 'b'' OR ''1''=''1'", epsilon=5)
    assert cursor.answer.plan.digest == literal.digest


@pytest.mark.parametrize("value", [b"x", datetime.time(1), object(), [1], {"a": 1}, float("nan"), 1j])
def test_what_is_no_value_is_refused_before_the_charge(value: Any, cursor: Any, session: Session) -> None:
    with pytest.raises(dbapi.ProgrammingError, match="parameter"):
        cursor.execute("SELECT COUNT(*) AS n FROM t WHERE age > ?", [value])
    assert len(session.history()) == 0


@pytest.mark.parametrize("given", [[], [1, 2], {"a": 1}, "5", 5])
def test_parameters_that_do_not_fit_are_refused_before_the_charge(given: Any, cursor: Any, session: Session) -> None:
    with pytest.raises(dbapi.Error, match="parameter") as refused:
        cursor.execute("SELECT COUNT(*) AS n FROM t WHERE age > ?", given)
    assert isinstance(refused.value, RequestError)
    assert len(session.history()) == 0


def test_the_price_is_the_question_s_own_or_the_connection_s_or_a_tenth(session: Session) -> None:
    def cost(connection: Any, number: int, **terms: Any) -> float:
        cursor = connection.cursor().execute("SELECT COUNT(*) AS n FROM t WHERE age > ?", [number], **terms)
        return float(cursor.answer.plan.price["epsilon"])

    assert cost(dbapi.connect(session), 1) == 1.0
    assert cost(dbapi.connect(session, epsilon=0.5), 2) == 0.5
    assert cost(dbapi.connect(session, epsilon=0.5), 3, epsilon=0.25) == 0.25
    assert cost(dbapi.connect(session, epsilon=0.5), 4, within=20) < 0.5


def test_a_budget_that_is_gone_is_an_operational_error_with_its_fields(cursor: Any, session: Session) -> None:
    with pytest.raises(dbapi.OperationalError) as refused:
        cursor.execute(GROUPED, epsilon=11)
    assert isinstance(refused.value, BudgetExceeded)
    assert refused.value.largest_epsilon == 10
    assert refused.value.__context__ is None
    assert len(session.history()) == 0


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT COUNT(*) FROM nowhere", dbapi.ProgrammingError),
        ("SELECT nothing FROM t GROUP BY nothing", dbapi.ProgrammingError),
        ("SELECT COUNT( FROM t", dbapi.ProgrammingError),
        ("SELECT * FROM t", dbapi.NotSupportedError),
        ("DROP TABLE t", dbapi.Error),
        ("SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM t", dbapi.Error),
        (b"SELECT COUNT(*) FROM t", dbapi.ProgrammingError),
    ],
)
def test_what_cannot_be_asked_is_refused_before_the_charge(sql: Any, kind: Any, cursor: Any, session: Session) -> None:
    with pytest.raises(kind) as refused:
        cursor.execute(sql)
    assert isinstance(refused.value, RequestError)
    assert (cursor.rowcount, cursor.answer) == (-1, None)
    with pytest.raises(dbapi.InterfaceError):
        cursor.fetchall()
    assert len(session.history()) == 0


def test_executemany_is_refused_before_the_charge(cursor: Any, session: Session) -> None:
    with pytest.raises(dbapi.NotSupportedError, match="charge for each"):
        cursor.executemany("SELECT COUNT(*) FROM t WHERE age > ?", [[1], [2]])
    assert len(session.history()) == 0


def test_a_rollback_says_that_what_is_charged_stays_charged(cursor: Any, session: Session) -> None:
    cursor.execute(GROUPED)
    left = session.remaining().largest_epsilon
    with pytest.warns(dbapi.Warning, match="1 question was answered .* what is charged stays charged"):
        cursor.connection.rollback()
    assert session.remaining().largest_epsilon == left
    cursor.connection.rollback()
    cursor.execute("SELECT COUNT(*) FROM t")
    cursor.connection.commit()
    cursor.connection.rollback()
    assert len(session.history()) == 2


def test_what_is_closed_is_refused_and_a_borrowed_session_stays_open(session: Session) -> None:
    with dbapi.connect(session, epsilon=1) as connection:
        cursor = connection.cursor()
        with cursor.execute(GROUPED):
            pass
        for call in (cursor.fetchone, cursor.fetchall, lambda: cursor.execute(GROUPED)):
            with pytest.raises(dbapi.InterfaceError, match="cursor is closed"):
                call()
        other = connection.cursor()
    for call in (connection.cursor, connection.commit, connection.rollback, lambda: other.execute(GROUPED)):
        with pytest.raises(dbapi.InterfaceError, match="connection is closed"):
            call()
    connection.close()
    assert session.ask("SELECT COUNT(*) FROM t", epsilon=1).value is not None


def test_a_path_is_opened_and_closed_with_the_connection(tmp_path: Path) -> None:
    write_visits(tmp_path)
    with dbapi.connect(tmp_path / "privet.toml", analyst="ana", epsilon=0.5) as connection:
        assert len(connection.cursor().execute(QUESTION).fetchall()) == 2
        session = connection.session
    with pytest.raises(PrivetError):
        session.ask(QUESTION, epsilon=0.1)
    with dbapi.connect(str(tmp_path / "privet.toml"), analyst="ana") as connection:
        assert len(connection.cursor().execute(QUESTION, epsilon=0.5).fetchall()) == 2
        assert len(connection.session.history()) == 1  # type: ignore[attr-defined]


def test_a_server_is_asked_like_a_session(tmp_path: Path) -> None:
    with served(tmp_path) as world, dbapi.connect(world.url, token=world.tokens["ana"], epsilon=1) as connection:
        cursor = connection.cursor()
        cursor.plan(COUNT)
        assert [column[:2] for column in cursor.description] == [("ward", "text"), ("n", "integer")]
        assert cursor.execute(f"SELECT * FROM ({COUNT}) AS x WHERE 1 = 0").rowcount == 0
        assert world.call("{d}/history").json["charges"] == []
        rows = cursor.execute("SELECT ward, COUNT(*) AS n FROM visits WHERE age > ? GROUP BY ward", [50]).fetchall()
        assert [ward for ward, _ in rows] == ["heart", "lung"]
        assert len(world.call("{d}/history").json["charges"]) == 1
        with pytest.raises(dbapi.OperationalError):
            cursor.execute(COUNT, epsilon=25)
    with served(tmp_path) as world, pytest.raises(dbapi.OperationalError):
        dbapi.connect(world.url, token="privet_wrong")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"source": "absent.toml"}, "cannot be read"),
        ({"source": 5}, "source must be"),
        ({"source": "privet.toml", "token": "secret-token"}, "token must be left out"),
        ({"source": "https://privet.example", "analyst": "ana"}, "analyst must be left out"),
        ({"source": "privet.toml", "epsilon": -1}, "epsilon"),
        ({"source": "privet.toml", "epsilon": 1, "rho": 1}, "not both"),
        ({"source": "privet.toml", "confidence": 2}, "confidence"),
    ],
)
def test_connecting_wrongly_is_refused_by_name(
    arguments: Any, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dbapi.ProgrammingError, match=told) as refused:
        dbapi.connect(**arguments)
    assert "secret-token" not in str(refused.value.to_dict())


def test_pandas_reads_a_question(session: Session) -> None:
    connection = dbapi.connect(session, epsilon=1)
    with pytest.warns(UserWarning, match="pandas only supports"):
        frame = pandas.read_sql(
            "SELECT ward, COUNT(*) AS n FROM t WHERE age > ? GROUP BY ward", connection, params=[20]
        )
    assert list(frame.columns) == ["ward", "n"]
    assert frame["ward"].tolist() == ["a", "b", "c"]
    assert len(session.history()) == 1
    with pytest.warns(UserWarning, match="pandas only supports"), pytest.raises(RequestError):
        pandas.read_sql("SELECT nothing FROM t", connection)


def test_threads_share_a_connection_and_pay_once_for_equal_questions(session: Session) -> None:
    connection = dbapi.connect(session, epsilon=1)
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(connection.cursor().execute(GROUPED).fetchall())) for _ in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 8
    assert all(rows == found[0] for rows in found)
    assert len(session.history()) == 1


def test_type_objects_equal_the_codes_of_their_columns() -> None:
    assert all(code == dbapi.NUMBER for code in ("integer", "number", "boolean"))
    assert dbapi.STRING == "text"
    assert dbapi.STRING != "integer"
    assert all(code == dbapi.DATETIME for code in ("date", "timestamp"))
    assert dbapi.BINARY != "text"
    assert len({dbapi.STRING, dbapi.NUMBER, dbapi.DATETIME}) == 3


def test_ticks_are_seconds_of_utc() -> None:
    assert dbapi.DateFromTicks(86_400) == dbapi.Date(1970, 1, 2)
    assert dbapi.TimeFromTicks(3_661) == dbapi.Time(1, 1, 1)
    assert dbapi.TimestampFromTicks(0.5) == dbapi.Timestamp(1970, 1, 1, 0, 0, 0, 500_000)
    for hostile in (1e300, -1e18, float("nan"), "now", None):
        with pytest.raises(dbapi.ProgrammingError, match="ticks"):
            dbapi.TimestampFromTicks(hostile)  # type: ignore[arg-type]


def test_the_examples_of_docstrings_run() -> None:
    found = 0
    for module in (connection_module, cursors_module, type_objects_module):
        for one in doctest.DocTestFinder().find(module, globs={}):
            if one.examples:
                rows = {"patient": range(100), "age": range(100), "ward": ["A", "B"] * 50}
                columns = {"patient": privet.integer(), "age": privet.integer(0, 110)}
                columns["ward"] = privet.category(["A", "B"])
                limit = privet.Contribution(groups=1, rows=1)
                table = privet.Table(
                    pandas.DataFrame(rows), unit=privet.Person("patient"), columns=columns, contribution=limit
                )
                one.globs = {"privet": privet, "session": Session({"visits": table}, budget=privet.Pure(epsilon=1))}
                found += 1
                assert doctest.DocTestRunner(verbose=False).run(one).failed == 0
    assert found >= 10
