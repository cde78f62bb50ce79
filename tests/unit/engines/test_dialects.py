"""The seam between scans and engines: `scan_sql` names nothing of one engine's, and a second dialect runs."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privet
from privet.core import schema
from privet.core.errors import RequestError, Unsupported
from privet.core.relation import Call, ColumnRef, Literal
from privet.core.scan import GroupKey, Norm, Once, Scan, SealedSums, Sum, Truncate
from privet.core.schema import Contribution, Kind, Table
from privet.core.unit import Person, Rows
from privet.engines import scan_sql
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.dialect import FORMS, Dialect, Form, Renderer, identifier
from privet.engines.scan_sql.row_values import sources
from privet.engines.scan_sql.statement import write_scan
from privet.query.functions import FUNCTIONS
from privet.testing.oracle import Memory

FOREIGN = (
    *("TRY_CAST", "HUGEINT", "BIGINT", "UBIGINT", "VARCHAR", "DOUBLE", "EXCLUDE", "SEMI JOIN", "::"),
    *("list_", "list(", "struct_pack", "unnest", "epoch_us", "isnan(", "isfinite(", "isodow", "strlen", "signbit"),
    *(
        "regexp_extract",
        "sha256",
        "rpad",
        "xor(",
        "to_days",
        "date_trunc(",
        "lambda x",
        "floor(sqrt",
        "least(",
        " // ",
    ),
)
"""Words of DuckDB's that other engines do not have, or mean something else by."""


@pytest.mark.parametrize("file", sorted(Path(str(scan_sql.__file__)).parent.glob("*.py")), ids=lambda file: file.stem)
def test_what_writes_scans_names_nothing_of_one_engine(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in documented]
    found = [(word, text.value) for text in texts for word in FOREIGN if word in str(text.value)]
    assert found == []


def test_the_words_are_found_where_they_are() -> None:
    """The list would find DuckDB's words: nearly all of them stand in its dialect."""
    source = Path("src/privet/engines/dialects/duckdb.py")
    text = (Path(__file__).parents[3] / source).read_text(encoding="utf-8")
    assert sum(word in text for word in FOREIGN) >= len(FOREIGN) - 3


def test_duckdb_states_that_it_has_every_function() -> None:
    assert DUCKDB.forms.keys() == FUNCTIONS.keys()


class Sqlite(Dialect):
    """SQLite's words, as far as counts and sums need them."""

    name = "SQLite"
    types: Mapping[Kind, str] = {"integer": "INTEGER", "number": "REAL", "boolean": "INTEGER", "text": "TEXT"}
    infinity = "9e999"
    no_column = "1"
    forms: Mapping[str, Form] = FORMS

    def is_atom(self, sql: str) -> bool:
        return sql.isidentifier()

    def whole(self, value: int) -> str:
        return f"({value})"

    def double(self, value: Fraction | int | float) -> str:
        return f"({float(value)!r})"

    def cast_whole(self, sql: str) -> str:
        return f"CASE WHEN {sql} >= -9.2e18 AND {sql} <= 9.2e18 THEN CAST({sql} AS INTEGER) END"

    def narrow(self, sql: str) -> str:
        return sql

    def wide(self, sql: str) -> str:
        return sql

    def divide_whole(self, x: str, y: str, *, wide: bool = False) -> str:
        return f"{x} / {y}"

    def block(self, place: str, bits: int) -> str:
        return f"{place} >> {bits}"

    def root_guess(self, sql: str) -> str:
        return f"CAST(sqrt({sql}) AS INTEGER)"

    def least(self, x: str, y: str) -> str:
        return f"min({x}, {y})"

    def floor(self, sql: str) -> str:
        return f"whole_below({sql})"

    def from_truth(self, condition: str) -> str:
        return f"({condition})"

    def is_nan(self, sql: str) -> str:
        return f"({sql} <> {sql})"

    def sign(self, sql: str) -> str:
        return "0"

    def cut(self, sql: str, most: int) -> str:
        return f"substr({sql}, 1, {most})"

    def fits(self, sql: str, most: int) -> str:
        return f"length(CAST({sql} AS BLOB)) <= {most}"

    def known_by(self, sql: str, most: int) -> str:
        return sql

    def days(self, sql: str) -> str:
        raise Unsupported("SQLite has no dates here")

    def microseconds(self, sql: str) -> str:
        raise Unsupported("SQLite has no times here")

    def bound(self, sql: str, name: str, body: str) -> str:
        return f"(SELECT {body} FROM (SELECT {sql} AS {name}))"

    def record(self, parts: Mapping[str, str]) -> str:
        return f"json_array({', '.join(parts.values())})"

    def keyed_hash(self, columns: Sequence[str], secret: int) -> str:
        return f"keyed_hash('{secret}', {', '.join(columns)})"

    def nth_least(self, sql: str, place: int) -> str:
        raise Unsupported("SQLite finds no groups here")

    def collected(self, sql: str) -> str:
        return f"json_group_array({sql})"

    def listed(self, parameter: str, kind: Kind) -> str:
        return f"value FROM json_each(:{parameter})"

    def numbered(self, parameter: str, kind: Kind) -> str:
        return f"SELECT value AS v, min(key) AS c FROM json_each(:{parameter}) GROUP BY value"

    def semi_join(self, other: str, on: str) -> str:
        return f" JOIN {other} {on}"

    def all_but(self, *columns: str) -> str:
        raise Unsupported("SQLite lists its columns")


SQLITE = Sqlite()


class SqliteEngine:
    """The whole of an engine: the rows in a table, the text of the seam, the port's three methods."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self.schemas = {name: table.schema for name, table in tables.items()}
        self.connection = sqlite3.connect(":memory:", check_same_thread=False)
        self.connection.create_function("whole_below", 1, lambda x: x if x is None or math.isinf(x) else x // 1)
        self.connection.create_function("keyed_hash", -1, lambda *all: hashlib.sha256(repr(all).encode()).hexdigest())
        for name, table in tables.items():
            places = range(len(table.schema.columns))
            kinds = (SQLITE.types[column.kind] for column in table.schema.columns.values())
            listed = ", ".join(f"c{place} {kind}" for place, kind in zip(places, kinds, strict=True))
            self.connection.execute(f"CREATE TABLE {identifier(name)} ({listed})")
            rows = [[row.get(column) for column in table.schema.columns] for row in table.source]  # type: ignore[attr-defined]
            marks = ", ".join("?" for _ in places)
            self.connection.executemany(f"INSERT INTO {identifier(name)} VALUES ({marks})", rows)

    def _written(self, scan: Scan) -> Any:
        return write_scan(scan, self.schemas, {name: identifier(name) for name in self.schemas}, 7, SQLITE)

    def check(self, scan: Scan) -> None:
        self._written(scan)

    def scan(self, scan: Scan) -> SealedSums:
        asked = self._written(scan)
        bound = {name: json.dumps(values) for name, values in asked.parameters.items()}
        rows = self.connection.execute(asked.sql, bound).fetchall()
        return SealedSums({row[: asked.keys]: row[asked.keys :] for row in rows})

    def close(self) -> None:
        self.connection.close()


COLUMNS = {
    "who": schema.integer(nullable=True),
    "city": schema.category(["Ulm", "Bonn", "O'Hara"], nullable=True),
    "age": schema.integer(0, 5, nullable=True),
    "pay": schema.number(Fraction(-1, 2), 10, step=Fraction(1, 100), nullable=True),
}
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "who": st.one_of(st.none(), st.integers(1, 4)),
            "city": st.sampled_from([None, "Ulm", "Bonn", "O'Hara", "elsewhere", ""]),
            "age": st.one_of(st.none(), st.integers(-3, 9)),
            "pay": st.one_of(st.none(), st.sampled_from([math.inf, -math.inf, 0.005, 1e300]), st.floats(-2, 12)),
        }
    ),
    max_size=20,
)
CITY = GroupKey(ColumnRef("city"), ("Ulm", "Bonn", "O'Hara", None), True)
MANY = GroupKey(ColumnRef("city"), ("Ulm", "Bonn", *(f"c{index}" for index in range(30))), False)
COUNT = Sum(None, 1, 1)
SUMS = [
    COUNT,
    Sum(None, 1, 1, where=Call("less", (ColumnRef("age"), Literal(3)))),
    Sum(ColumnRef("age"), 0, 5, null_as=0),
    Sum(ColumnRef("age"), -5, 5, origin=Fraction(5, 2), step=Fraction(1, 2), null_as=-5),
    Sum(ColumnRef("pay"), -50, 1000, step=Fraction(1, 100)),
    Sum(ColumnRef("pay"), -200, 5000, step=Fraction(1, 100), null_as=7),
]
WHERES = [None, Call("or", (Call("is_null", (ColumnRef("pay"),)), Call("greater", (ColumnRef("age"), Literal(1)))))]


@settings(max_examples=60, deadline=None)
@given(
    ROWS,
    st.sampled_from([(), (CITY,), (MANY,)]),
    st.lists(st.sampled_from(SUMS), min_size=1, max_size=4),
    st.sampled_from([Once(), Norm(1, 3, 7), Truncate(10**6, 10**6)]),
    st.sampled_from(WHERES),
)
def test_a_second_dialect_on_another_engine_gives_the_same_sums(rows, keys, sums, bounding, where) -> None:
    unit = Rows() if isinstance(bounding, Once) else Person("who")
    tables = {"t": Table(rows, unit=unit, columns=COLUMNS, contribution=Contribution(groups=1, rows=1))}
    scan = Scan("t", tables["t"].schema, where, keys, tuple(sums), bounding)
    engine = SqliteEngine(tables)
    engine.check(scan)
    assert engine.scan(scan)._groups == Memory(tables).scan(scan)._groups


def test_a_session_over_another_engine_answers_and_refuses_what_it_lacks_before_the_charge() -> None:
    rows = [
        {"who": index % 40, "city": ["Ulm", "Bonn"][index % 2], "age": index % 6, "pay": 1.5} for index in range(400)
    ]
    tables = {"t": Table(rows, unit=Person("who"), columns=COLUMNS, contribution=privet.Contribution(groups=2, rows=5))}
    with privet.Session(tables, budget=privet.Pure(epsilon=10**6), engine=SqliteEngine(tables)) as session:
        answer = session.ask(
            "SELECT city, COUNT(*) AS n, SUM(age) AS s FROM t GROUP BY city ORDER BY city", epsilon=10**4
        )
        assert [(row["city"], round(row["n"])) for row in answer] == [
            ("Bonn", 200),
            ("O'Hara", 0),
            ("Ulm", 200),
            (None, 0),
        ]
        spent = len(session.history())
        for sql, missing in (
            ("SELECT COUNT(*) FROM t WHERE SQRT(pay) > 1", "SQLite has no SQRT"),
            ("SELECT COUNT(*) FROM t WHERE LENGTH(city) < 5", "SQLite has no LENGTH"),
        ):
            with pytest.raises(RequestError, match=missing):
                session.ask(sql, epsilon=1)
        assert len(session.history()) == spent


def test_a_function_that_a_dialect_lacks_is_refused_by_name() -> None:
    facts = schema.Schema(unit=Rows(), columns=COLUMNS)
    lacking = sorted(FUNCTIONS.keys() - SQLITE.forms.keys())
    assert "sqrt" in lacking
    with pytest.raises(Unsupported, match="SQLite has no SQRT"):
        Renderer(sources(facts), SQLITE).render(Call("sqrt", (ColumnRef("pay"),)))
