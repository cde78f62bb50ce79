"""Practice: rows that fit the declarations, made from them alone; no source, no ledger, nothing left behind."""

from __future__ import annotations

import datetime
import gc
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privet
from privet.config.sessions import Fake, write_rows
from privet.core.errors import BudgetExceeded, UnknownName
from privet.core.schema import ColumnFacts, Schema, Table

TEXT = """
[budget]
epsilon = 3
delta = 1e-6
per_query = { epsilon = 2, delta = 1e-6 }
expires = 2001-01-01T00:00:00Z

[tables.visits]
source = "nowhere/visits.parquet"
unit = "patient"
contribution = { groups = 3, rows = 2 }

[tables.visits.columns]
patient = "text"
id = "integer"
age = { kind = "integer", low = 18, high = 30, nullable = true }
cost = { kind = "number", low = -0.5, high = 0.25 }
ward = { values = ["it's", "B"] }
day = { kind = "date", low = 2025-02-01, high = 2025-02-28 }

[tables.drugs]
source = "nowhere/drugs.csv"
link = "visit -> visits.id"
contribution = { groups = 1, rows = 1 }
columns = { visit = "integer", name = "text" }

[public.wards]
source = "nowhere/wards.csv"
key = "ward"
columns = { ward = { values = ["it's", "B"] }, beds = { kind = "integer", low = 1, high = 9 } }

[analysts.alice]
tables = ["visits"]

[analysts.bob]
epsilon = 0.5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "privet.toml").write_text(TEXT)
    return tmp_path / "privet.toml"


def test_practice_answers_like_a_session_and_opens_neither_source_nor_ledger(file: Path) -> None:
    with privet.practice(file, analyst="alice") as session:
        answer = session.ask("SELECT ward, COUNT(*) AS n, AVG(age) AS age FROM visits GROUP BY ward", epsilon=1)
        assert [row["ward"] for row in answer] == ["it's", "B"]
        assert all(row["n"] > 100 for row in answer)
        with pytest.raises(UnknownName):
            session.ask("SELECT COUNT(*) FROM drugs", epsilon=0.1)
    assert [path.name for path in file.parent.iterdir()] == ["privet.toml"]


def test_practice_keeps_the_caps_and_forgets_what_was_spent(file: Path) -> None:
    with privet.practice(file, analyst="alice") as session, pytest.raises(BudgetExceeded, match="one query"):
        session.ask("SELECT COUNT(*) FROM visits", epsilon=2.1)
    for _ in range(2):
        with privet.practice(file, analyst="bob") as session:
            with pytest.raises(BudgetExceeded):
                session.ask("SELECT COUNT(*) FROM drugs", epsilon=0.6)
            session.ask("SELECT COUNT(*) FROM drugs", epsilon=0.4)


def test_plans_and_certificates_of_practice_say_that_it_is_made_up(file: Path) -> None:
    with privet.practice(file, analyst="alice") as session:
        answer = session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=1)
        assert "made up" in answer.certificate()["version"]


def test_practice_leaves_nothing_behind(file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    privet.practice(file, analyst="alice").close()
    assert list(place.glob("privet-practice-*")) == []
    session = privet.practice(file, analyst="alice")
    assert len(list(place.glob("privet-practice-*"))) == 1
    session._executor.engine.close()
    del session
    gc.collect()
    assert list(place.iterdir()) == []


def rows_of(schemas: dict[str, Schema], name: str) -> list[dict[str, Any]]:
    with duckdb.connect(":memory:") as connection:
        found = connection.execute(Fake(schemas).select(name))
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_made_up_links_lead_to_rows_and_keys_come_once(file: Path) -> None:
    config = (
        privet.config.read_config(file)
        if hasattr(privet, "config")
        else __import__("privet.config").config.read_config(file)
    )
    schemas = {name: table.schema for name, table in config.tables.items()}
    visits, drugs, wards = (rows_of(schemas, name) for name in ("visits", "drugs", "wards"))
    ids = [row["id"] for row in visits]
    assert len(set(ids)) == len(ids)
    assert {row["visit"] for row in drugs} <= set(ids)
    assert sorted(row["ward"] for row in wards) == ["B", "it's"]
    assert 1 < len({row["patient"] for row in visits}) < len(visits)


def test_no_more_rows_or_units_are_made_than_are_declared() -> None:
    columns = {"x": privet.integer(0, 5), "p": privet.integer()}
    give = privet.Contribution(groups=1, rows=10)
    few = Schema(unit=privet.Person("p"), columns=columns, neighbors="change-one", units=7, rows=20, contribution=give)
    made = rows_of({"t": few}, "t")
    assert len(made) <= 20
    assert len({row["p"] for row in made}) <= 7


DATES = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
TIMES = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1))


@st.composite
def columns(draw: st.DrawFn) -> ColumnFacts:
    nullable = draw(st.booleans())
    kind = draw(st.sampled_from(["integer", "number", "category", "date", "timestamp", "text", "boolean"]))
    match kind:
        case "integer":
            low, high = sorted(draw(st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 2)))
            return privet.integer(low, high, nullable=nullable)
        case "number":
            ends = sorted(draw(st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 2)))
            return privet.number(*ends, nullable=nullable)
        case "category":
            values = draw(
                st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1, unique=True)
            )
            return privet.category(values, nullable=nullable)
        case "date":
            return privet.date(*sorted(draw(st.tuples(DATES, DATES))), nullable=nullable)
        case "timestamp":
            return privet.timestamp(*sorted(draw(st.tuples(TIMES, TIMES))), nullable=nullable)
        case "boolean":
            return privet.boolean(nullable=nullable)
    return privet.text(nullable=nullable)


@settings(max_examples=60)
@given(columns(), TEXTS.filter(bool))
def test_every_made_up_value_is_one_that_was_declared(column: ColumnFacts, name: str) -> None:
    schema = Schema(unit=privet.Rows(), columns={name: column}, rows=50)
    for (value,) in (tuple(row.values()) for row in rows_of({"it's": schema}, "it's")):
        if value is None:
            assert column.nullable
        elif column.values is not None:
            assert value in column.values
        elif column.low is not None and column.high is not None:
            number = column.kind == "number"  # the ends of which are doubles already
            low, high = ((float(end) if number else end) for end in (column.low, column.high))  # type: ignore[arg-type]
            assert low <= value <= high


def test_the_same_declarations_make_the_same_rows(tmp_path: Path) -> None:
    table = Table("x.csv", unit=privet.Rows(), columns={"x": privet.number(0, 1), "y": privet.text()})
    texts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        path = write_rows(tmp_path / name, {"t": table})["t"]
        texts.append(duckdb.sql(f"SELECT * FROM '{path}'").fetchall())
    assert texts[0] == texts[1]
