"""Groups that conditions and public tables rule out are not answered, and no other: against oracles that see rows."""

from __future__ import annotations

import datetime
import os
import random
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from privet import Approximate, Person, PublicTable, Session, Table
from privet.aggregates.aggregate import rows
from privet.core.errors import InvariantError, RequestError
from privet.core.scan import Norm, Once, Scan, asks
from privet.core.schema import Contribution, Schema, boolean, category, date, integer, number, text, timestamp
from privet.core.unit import Rows
from privet.engines.duckdb.engine import DuckDB
from privet.planner import allowed
from privet.planner.make import make_plan, scan_keys
from privet.planner.plan import Plan, Spend
from privet.planner.verify import verify
from privet.query.expressions import evaluate_row
from privet.query.shape import schema_of
from privet.query.sql.parse import parse
from privet.release import public_cells
from privet.testing.oracle import Memory

sys.path.insert(0, str(Path(__file__).parent))

from random_sql import Writer
from random_tables import some_family, some_setting
from test_random_questions import Bench

SOAK = int(os.environ.get("PRIVET_SOAK", "0") or 0)
SPEND = Spend(Fraction(1), Fraction(0), None, Fraction(1, 100))
MUCH = Spend(Fraction(10**8), Fraction(0), None, Fraction(0))


def groups_of(plan: Plan) -> set[tuple[Any, ...]]:
    """Return the groups that a plan answers, with the keys in the order of the question."""
    cells = public_cells(plan.groups, plan.passes[0].scan.cells)
    return {tuple(cell[place] for place in plan.key_places) for cell in cells}


# --- a group that no row can have is not answered -------------------------------------------------------------------

KEYS = {
    "ward": category(["a", "b", "ab"], nullable=True),
    "bed": integer(0, 4),
    "urgent": boolean(nullable=True),
    "level": category([1, 2, 5]),
    "day": date(datetime.date(2024, 1, 29), datetime.date(2024, 2, 3)),
}
OTHERS = {"pay": number(0, 100), "note": text(nullable=True), "when": timestamp(), "paid": boolean(nullable=True)}
TABLE = Schema(unit=Rows(), columns={**KEYS, **OTHERS})


def domain(name: str) -> list[Any]:
    facts = KEYS[name]
    if facts.values is not None:
        listed: list[Any] = list(facts.values)
    elif facts.kind == "integer":
        listed = list(range(int(facts.low), int(facts.high) + 1))  # type: ignore[arg-type]
    else:
        listed = [facts.low + datetime.timedelta(days=n) for n in range((facts.high - facts.low).days + 1)]  # type: ignore[operator]
    return [*listed, None] if facts.nullable else listed


class Conditions(Writer):
    def __init__(self, draw: random.Random) -> None:
        super().__init__(draw, None)  # type: ignore[arg-type]

    def constant(self, kind: str) -> str:
        return self.draw.choice(
            {
                "integer": ["0", "1", "2", "3", "4", "5", "-1"],
                "number": ["0.5", "2.0", "3.5"],
                "text": ["'a'", "'b'", "'ab'", "'c'", "''"],
                "boolean": ["TRUE", "FALSE"],
                "date": ["DATE '2024-01-30'", "DATE '2024-02-01'"],
                "timestamp": ["TIMESTAMP '2024-01-30 10:00:00'"],
            }[kind]
        )


@pytest.mark.parametrize("start", range(0, SOAK or 160, 20))
def test_conditions_on_keys_leave_exactly_the_groups_for_which_they_can_be_true(start: int) -> None:
    fewer = 0
    for seed in range(start, start + 20):
        draw = random.Random(seed)
        names = draw.sample(sorted(KEYS), draw.choice([1, 2, 2, 3]))
        scope = [(name, KEYS[name].kind) for name in names]
        condition = Conditions(draw).value("boolean", scope, draw.choice([1, 2, 3]))
        sql = f"SELECT {', '.join(names)}, COUNT(*) AS n FROM t WHERE {condition} GROUP BY {', '.join(names)}"
        try:
            query = parse(sql, {"t": TABLE})
        except RequestError:
            continue
        # the oracle: every row that there can be, one at a time, in plain Python
        possible = {
            cell
            for cell in product(*map(domain, names))
            if query.where is not None
            and evaluate_row(query.where, dict(zip(names, cell, strict=True)), TABLE.columns) is True
        }
        try:
            found = groups_of(make_plan(query, {"t": TABLE}, spend=SPEND))
        except RequestError as refused:
            assert "rule out every group" in str(refused), sql  # noqa: PT017
            found = set()
        assert found == possible, sql
        fewer += len(found) < len(list(product(*map(domain, names))))
    assert fewer >= 3


EVERY = {("a",), ("b",), ("ab",), (None,)}


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ("ward = 'a'", {("a",)}),
        ("ward <> 'a'", {("b",), ("ab",)}),
        ("ward IN ('a', 'b')", {("a",), ("b",)}),
        ("ward IS NULL", {(None,)}),
        ("ward = 'a' OR ward IS NULL", {("a",), (None,)}),
        ("COALESCE(ward, 'b') = 'b'", {("b",), (None,)}),
        ("ward LIKE 'a%'", {("a",), ("ab",)}),
        ("LENGTH(ward) = 2", {("ab",)}),
        ("UPPER(ward) = 'AB'", {("ab",)}),
        ("NOT (ward = 'a')", {("b",), ("ab",)}),
        ("ward = 'a' OR pay > 3", EVERY),
        ("ward = 'a' AND pay > 3", {("a",)}),
        ("(ward = 'a' AND pay > 3) OR (ward = 'b' AND note LIKE 'x%')", {("a",), ("b",)}),
        ("CASE WHEN pay > 3 THEN ward = 'a' ELSE ward = 'b' END", {("a",), ("b",)}),
        ("(ward = 'a' AND note = 'x') IS TRUE", {("a",)}),
        ("NOT (ward <> 'a' OR note = 'x')", {("a",)}),
        ("ward = note AND note IN ('a', 'c')", {("a",)}),
        ("ward = note AND note LIKE 'a'", {("a",), ("b",), ("ab",)}),
        ("COALESCE(ward = 'a', pay > 3)", {("a",), (None,)}),
        ("NOT (ward <> 'a' OR note LIKE 'x%')", {("a",)}),
        ("NOT (ward = 'a' AND note LIKE 'x%')", EVERY),
        ("(ward = 'a' AND note LIKE 'x%') IS NULL", EVERY),
        ("(ward = 'a' OR note LIKE 'x%') IS NULL", EVERY),
        ("paid", EVERY),
        ("ward = 'a' AND paid", {("a",)}),
        ("ward = 'a' OR NULLIF(paid, pay > 3)", EVERY),
        ("bed IS NULL", EVERY),  # what is declared never to be NULL may be stored so
        ("level = 3", EVERY),  # between the ends of a category of whole numbers any may be stored
        ("ward IN ('a', 'b') AND level = 3", {("a",), ("b",)}),
    ],
)
def test_what_other_columns_hold_is_not_known(condition: str, left: set[tuple[Any, ...]]) -> None:
    query = parse(f"SELECT ward, COUNT(*) AS n FROM t WHERE {condition} GROUP BY ward", {"t": TABLE})
    assert groups_of(make_plan(query, {"t": TABLE}, spend=SPEND)) == left


@pytest.mark.parametrize(
    ("key", "condition", "left"),
    [
        ("YEAR(day)", "day >= DATE '2024-02-01'", {2024}),
        ("MONTH(day)", "day >= DATE '2024-02-01'", {2}),
        ("DATE_TRUNC('month', day)", "day < DATE '2024-02-01'", {datetime.date(2024, 1, 1)}),
        ("bed * 2", "bed < 2", {0, 2}),
        ("bed % 2", "bed IN (1, 3)", {1}),
        ("CASE WHEN bed < 2 THEN 'low' ELSE 'high' END", "bed = 1", {"low"}),
        ("CASE WHEN ward = 'a' THEN 'x' ELSE 'y' END", "ward = 'a'", {"x"}),
        ("CASE WHEN note = 'a' THEN 'x' ELSE 'y' END", "note IN ('a')", {"x"}),
        ("CASE WHEN ward IN ('a', 'b') THEN 'x' ELSE 'y' END", "ward <> 'b'", {"x", "y"}),
        ("BIN(pay, 10)", "pay < 30", {0, 10, 20}),
        ("BIN(pay, 10)", "pay BETWEEN 30 AND 45.5", {30, 40}),
        ("BIN(pay, 10)", "BIN(pay, 10) IN (10, 70) AND pay > 20", {70}),
        ("urgent", "urgent", {True}),
        ("urgent", "NOT urgent", {False}),
        ("pay > 50", "pay > 50 OR note = 'x'", {True, False}),
    ],
)
def test_a_key_that_is_computed_has_the_values_that_its_columns_leave(key: str, condition: str, left: set[Any]) -> None:
    query = parse(f"SELECT {key} AS k, COUNT(*) AS n FROM t WHERE {condition} GROUP BY {key}", {"t": TABLE})
    assert {cell[0] for cell in groups_of(make_plan(query, {"t": TABLE}, spend=SPEND))} == left


def test_a_wide_range_that_conditions_narrow_is_a_list_of_groups() -> None:
    tables = {"t": Schema(unit=Rows(), columns={"code": integer(0, 10**12), "at": timestamp(*TWO)})}
    query = parse("SELECT code, COUNT(*) AS n FROM t WHERE code BETWEEN 5 AND 9 AND code <> 7 GROUP BY code", tables)
    assert groups_of(make_plan(query, tables, spend=MUCH)) == {(5,), (6,), (8,), (9,)}
    query = parse(
        "SELECT DATE_TRUNC('hour', at) AS h, COUNT(*) AS n FROM t WHERE at >= '2024-05-01 10:30:00' "
        "AND at < '2024-05-01 13:00:00' GROUP BY h",
        tables,
    )
    assert {cell[0].hour for cell in groups_of(make_plan(query, tables, spend=MUCH))} == {10, 11, 12}


TWO = (datetime.datetime(2000, 1, 1), datetime.datetime(2030, 1, 1))


def test_many_groups_are_answered_where_few_are_possible() -> None:
    tables = {
        "t": Schema(unit=Rows(), columns={"a": integer(0, 9_999), "b": integer(0, 9_999), "c": integer(0, 9_999)})
    }
    every = parse("SELECT a, b, c, COUNT(*) AS n FROM t GROUP BY a, b, c", tables)
    with pytest.raises(RequestError, match="make 1,000,000,000,000 groups"):
        make_plan(every, tables, spend=replace(SPEND, keys=Fraction(0)))
    assert make_plan(every, tables, spend=SPEND).discovers
    query = parse(
        "SELECT a, b, c, COUNT(*) AS n FROM t WHERE (a = 1 AND b = 2 OR a = 2 AND b = 1) AND c IN (7, 8) "
        "GROUP BY a, b, c",
        tables,
    )
    plan = make_plan(query, tables, spend=SPEND)
    assert groups_of(plan) == {(1, 2, 7), (1, 2, 8), (2, 1, 7), (2, 1, 8)}
    verify(plan, tables)


# --- a session ------------------------------------------------------------------------------------------------------

NATIONS = [f"N{index:02d}" for index in range(25)]


def tpch() -> tuple[dict[str, Table], duckdb.DuckDBPyConnection]:
    draw = random.Random(11)
    days = [datetime.date(1992, 1, 1) + datetime.timedelta(days=day) for day in range(2_500)]
    nation = pa.table({"id": [*range(25)], "name": NATIONS, "region": [index % 5 for index in range(25)]})
    supplier = pa.table({"sid": [*range(200)], "nation": [draw.randrange(24) for _ in range(200)]})
    people = [*range(3_000)]
    line = pa.table(
        {
            "person": people,
            "sid": [draw.randrange(200) for _ in people],
            "nation": [draw.randrange(25) for _ in people],
            "day": [draw.choice(days) for _ in people],
        }
    )
    database = duckdb.connect()
    for name, one in (("nation", nation), ("supplier", supplier), ("line", line)):
        database.register(name, one)
    names = {"id": integer(0, 99), "name": category([*NATIONS, "none"]), "region": integer(0, 9)}
    tables: dict[str, Table] = {
        "nation": PublicTable(nation, columns=names, key="id"),
        "supplier": PublicTable(supplier, columns={"sid": integer(0, 999), "nation": integer(0, 99)}, key="sid"),
        "line": Table(
            line,
            unit=Person("person"),
            columns={
                "person": integer(),
                "sid": integer(0, 999),
                "nation": integer(0, 99),
                "day": date(days[0], days[-1]),
            },
            contribution=Contribution(groups=1, rows=1),
        ),
    }
    return tables, database


FROM = (
    "FROM line JOIN supplier ON line.sid = supplier.sid JOIN nation AS n1 ON supplier.nation = n1.id "
    "JOIN nation AS n2 ON line.nation = n2.id"
)
VOLUME = (
    f"SELECT n1.name AS one, n2.name AS other, YEAR(day) AS y, COUNT(*) AS n {FROM} WHERE "
    "((n1.name = 'N01' AND n2.name = 'N02') OR (n1.name = 'N02' AND n2.name = 'N01')) "
    "AND day BETWEEN DATE '1995-01-01' AND DATE '1996-12-31' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
)


@pytest.mark.parametrize(
    ("sql", "size"),
    [
        (VOLUME, 4),
        (f"SELECT n1.region AS r, n2.name AS b, COUNT(*) AS n {FROM} GROUP BY 1, 2", 5 * 25),
        (f"SELECT n1.name AS a, n1.region AS r, COUNT(*) AS n {FROM} GROUP BY 1, 2", 24),
        (f"SELECT n1.name AS a, COUNT(*) AS n {FROM} WHERE n1.region = 3 GROUP BY 1", 5),
        (f"SELECT n2.name AS b, COUNT(*) AS n {FROM} WHERE line.nation IN (3, 4, 77) GROUP BY 1", 2),
        (
            "WITH few AS (SELECT id, name FROM nation WHERE region = 2), kept AS (SELECT person, nation FROM line "
            "WHERE nation > 9) SELECT name AS k, COUNT(*) AS n FROM kept JOIN few ON kept.nation = few.id GROUP BY 1",
            3,
        ),
        ("SELECT name AS k, COUNT(*) AS n FROM line LEFT JOIN nation ON line.nation = id GROUP BY 1", 27),
        (
            "SELECT k, COUNT(*) AS n FROM (SELECT person, nation AS k FROM line WHERE nation < 2 UNION ALL "
            "SELECT person, nation AS k FROM line WHERE nation IN (5, 6)) GROUP BY k",
            4,
        ),
        (
            "SELECT name, COUNT(*) AS n FROM (SELECT person, nation AS k FROM line WHERE nation < 2 UNION ALL "
            "SELECT person, nation AS k FROM line WHERE nation IN (5, 6)) AS u JOIN nation ON u.k = id GROUP BY name",
            4,
        ),
    ],
)
def test_at_negligible_noise_a_session_has_the_groups_of_plain_sql(sql: str, size: int) -> None:
    tables, database = tpch()
    with database, Session(tables, budget=Approximate(epsilon=10**9, delta=1e-9)) as session:
        answer = session.ask(sql, epsilon=10**7, contribution=Contribution(groups=4, rows=4))
        truth = {row[:-1]: row[-1] for row in database.execute(sql).fetchall()}
    names = [series.name for series in answer.series]
    shown = dict(zip(zip(*(answer[name].values for name in names[:-1]), strict=True), answer["n"].values, strict=True))
    assert len(shown) == size
    assert truth.keys() <= shown.keys()
    assert {key: count for key, count in shown.items() if count} == truth


def test_what_a_public_table_holds_are_the_groups_of_a_column_of_which_nothing_is_declared() -> None:
    nations = pa.table({"id": [0, 1, 2, 3], "name": ["de", "fr", None, "it"], "area": ["n", "n", "s", "s"]})
    line = pa.table({"person": [0, 1, 2], "nation": [0, 0, 2]})
    nation = PublicTable(nations, columns={"id": integer(0, 9), "name": text(nullable=True), "area": text()}, key="id")
    columns = {"person": integer(), "nation": integer(0, 9)}
    limit = Contribution(groups=1, rows=1)
    tables = {"nation": nation, "line": Table(line, unit=Person("person"), columns=columns, contribution=limit)}
    base = "COUNT(*) AS n FROM line JOIN nation ON line.nation = nation.id"
    with Session(tables, budget=Approximate(epsilon=10**9, delta=1e-6)) as session:
        plan = session.plan(f"SELECT name, {base} GROUP BY name", epsilon=10**6)
        answer = session.ask(f"SELECT name, {base} GROUP BY name", epsilon=10**6)
        assert dict(zip(answer["name"].values, answer["n"].values, strict=True)) == {"de": 2, "fr": 0, "it": 0, None: 1}
        assert not plan.event.slack()
        some = session.ask(f"SELECT name, area, {base} WHERE area = 's' GROUP BY name, area", epsilon=10**6)
        assert set(zip(some["name"].values, some["area"].values, some["n"].values, strict=True)) == {
            ("it", "s", 0),
            (None, "s", 1),
        }
        left = session.plan(f"SELECT name, {base.replace('JOIN', 'LEFT JOIN')} GROUP BY name", epsilon=10**6)
        assert left.discovers  # a row that meets none has another key
        assert session.plan(f"SELECT DISTINCT name FROM ({base.replace('COUNT(*) AS n', 'SELECT name')})").discovers


def test_more_values_of_a_public_table_than_can_be_answered_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privet.planner.allowed.MOST_KEYS", 3)
    nation = PublicTable(
        pa.table({"id": [0, 1, 2, 3], "name": [*"abcd"]}), columns={"id": integer(0, 9), "name": text()}, key="id"
    )
    line = Table(pa.table({"nation": [0, 1]}), unit=Rows(), columns={"nation": integer(0, 9)})
    sql = "SELECT name, COUNT(*) AS n FROM line JOIN nation ON line.nation = nation.id GROUP BY name"
    with Session({"nation": nation, "line": line}, budget=Approximate(epsilon=10, delta=1e-6)) as session:
        assert session.plan(sql, epsilon=1).discovers


PARTS = {
    "keys": "SELECT p, x, x * 0.1 AS y, COUNT(*) AS c FROM t GROUP BY p, x, x * 0.1",
    "union": "SELECT p, x, x * 0.1 AS y FROM t UNION ALL SELECT p, x, x * 0.1 AS y FROM t WHERE x > 9",
}


@pytest.mark.parametrize("made", PARTS.values(), ids=PARTS.keys())
@pytest.mark.parametrize(
    ("key", "condition"), [("x", "y <= 0.3"), ("x", "NOT y > 0.3"), ("CEIL(y * 10)", "y > 0.05"), ("x", "-y >= -0.3")]
)
def test_a_number_of_a_sub_query_is_held_to_its_bounds_before_a_condition_sees_it(
    made: str, key: str, condition: str
) -> None:
    """3 * 0.1 is more than 0.3 in doubles, and is clamped to 0.3: the row is there, and so is its group."""
    source = pa.table({"p": [1, 2, 3, 4], "x": [0, 1, 2, 3]})
    table = Table(
        source,
        unit=Person("p"),
        columns={"p": integer(), "x": integer(0, 3)},
        contribution=Contribution(groups=1, rows=1),
    )
    with Session({"t": table}, budget=Approximate(epsilon=10**9, delta=1e-9)) as session:
        asked = f"COUNT(*) AS n FROM ({made}) WHERE {condition}"
        (all_rows,) = session.ask(f"SELECT {asked}", epsilon=10**6)["n"].values
        found = session.ask(f"SELECT {key} AS k, {asked} GROUP BY 1", epsilon=10**6)
    counts = dict(zip(found["k"].values, found["n"].values, strict=True))
    assert counts[3] == 1
    assert sum(counts.values()) == all_rows


@pytest.mark.parametrize("part", ["day", "week", "month", "quarter", "year"])
def test_periods_reach_to_the_end_of_the_calendar(part: str) -> None:
    days = [datetime.date(9999, 12, 1) + datetime.timedelta(days=day) for day in range(31)]
    moments = [datetime.datetime.combine(day, datetime.time(23, 59, 59, 999_999)) for day in days]
    source = pa.table({"d": days, "s": pa.array(moments, pa.timestamp("us"))})
    columns = {"d": date(datetime.date(9999, 1, 1), days[-1]), "s": timestamp(moments[0], moments[-1])}
    with Session(
        {"t": Table(source, unit=Rows(), columns=columns)}, budget=Approximate(epsilon=10**9, delta=1e-9)
    ) as session:
        for column in ("d", "s"):
            sql = f"SELECT DATE_TRUNC('{part}', {column}) AS k, COUNT(*) AS n FROM t GROUP BY 1"
            found = session.ask(sql, epsilon=10**6)
            shown = dict(zip(map(str, found["k"].values), found["n"].values, strict=True))
            truth = duckdb.sql(f"SELECT CAST(k AS VARCHAR), n FROM ({sql.replace('FROM t', 'FROM source')})").fetchall()
            cut = 10 if column == "d" else 19
            assert {key: count for key, count in shown.items() if count} == {key[:cut]: count for key, count in truth}


def test_a_limit_shows_true_rows_and_not_those_that_are_ruled_out() -> None:
    tables, database = tpch()
    sql = f"{VOLUME.replace('ORDER BY 1, 2, 3', 'ORDER BY n DESC, 1, 2, 3')} LIMIT 3"
    with database, Session(tables, budget=Approximate(epsilon=10**9, delta=1e-9)) as session:
        answer = session.ask(sql, epsilon=10**7)
        truth = database.execute(sql).fetchall()
    assert list(zip(*(answer[name].values for name in ("one", "other", "y", "n")), strict=True))[: len(truth)] == truth


def test_what_is_ruled_out_altogether_is_refused_for_free() -> None:
    tables, database = tpch()
    with database, Session(tables, budget=Approximate(epsilon=1, delta=1e-9)) as session:
        for where in ("n1.name = 'none'", "n1.region = 7", "1 = 2", "n1.id = 3 AND n1.name = 'N04'"):
            with pytest.raises(RequestError, match="rule out every group"):
                session.ask(f"SELECT n1.name AS k, COUNT(*) AS n {FROM} WHERE {where} GROUP BY 1")
        assert session.history() == ()


def test_levels_agree_where_conditions_leave_the_same_values_at_each() -> None:
    tables, database = tpch()
    sql = f"SELECT n1.name AS a, n2.name AS b, COUNT(*) AS n {FROM} WHERE {{}} GROUP BY ROLLUP(1, 2)"
    with database, Session(tables, budget=Approximate(epsilon=10**9, delta=1e-9)) as session:
        plain = session.ask(sql.format("n1.region = 1 AND n2.name IN ('N03', 'N05')"), epsilon=100)
        assert plain.plan.reconciled  # type: ignore[attr-defined]
        assert len(plain) == 5 * 2 + 5 + 1
        apart = session.ask(sql.format("n1.region = n2.region AND n1.name < n2.name"), epsilon=10**7)
        assert not apart.plan.reconciled  # type: ignore[attr-defined]
        truth = database.execute(
            sql.format("n1.region = n2.region AND n1.name < n2.name").replace(
                "ROLLUP(1, 2)", "ROLLUP(n1.name, n2.name)"
            )
        ).fetchall()
    told = list(zip(*(apart[name].values for name in ("a", "b", "n")), strict=True))
    assert set(truth) <= set(told)


def test_the_rows_of_a_private_table_are_never_listed() -> None:
    tables, database = tpch()
    with database, Session(tables, budget=Approximate(epsilon=1, delta=1e-9)) as session:
        assert session._executor.schemas["line"].contents is None
        for name in ("nation", "supplier"):
            contents = session._executor.schemas[name].contents
            assert contents is not None
            assert contents.rows
        with pytest.raises(InvariantError):
            session._executor.engine.public_rows("line")  # type: ignore[attr-defined]
        with pytest.raises(InvariantError):
            replace(session._executor.schemas["line"], contents=session._executor.schemas["nation"].contents)
    listed = [{"person": 1, "sid": 1, "nation": 1, "day": None}]
    memory = Memory(
        {
            "line": Table(
                listed,
                unit=Person("person"),
                columns=tables["line"].schema.columns,
                contribution=Contribution(groups=1, rows=1),
            )
        }
    )
    with pytest.raises(InvariantError):
        memory.public_rows("line")


def test_a_plan_whose_groups_are_not_combinations_of_its_keys_is_refused() -> None:
    tables = {"t": TABLE}
    query = parse(
        "SELECT ward, bed, COUNT(*) AS n FROM t WHERE ward = 'a' AND bed = 1 OR ward = 'b' AND bed = 2 "
        "GROUP BY ward, bed",
        tables,
    )
    plan = make_plan(query, tables, spend=SPEND)
    cells = plan.passes[0].scan.cells
    assert cells is not None
    verify(plan, tables)
    for wrong in ((), (*cells, cells[0]), (*cells, (9, 9)), tuple(cell[:1] for cell in cells)):
        passes = tuple(replace(one, scan=replace(one.scan, cells=wrong)) for one in plan.passes)
        with pytest.raises(InvariantError):
            verify(replace(plan, passes=passes), tables)


def test_more_than_can_be_tried_may_be_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowed, "MOST_TRIED", 20)
    tables = {"t": replace(TABLE, rows=77)}
    query = parse(
        "SELECT ward, bed, COUNT(*) AS n FROM t WHERE (ward = 'a' AND bed = 1 OR ward = 'b' AND bed = 2) "
        "AND (bed < 3 OR day > DATE '2024-02-01') GROUP BY ward, bed",
        tables,
    )
    assert groups_of(make_plan(query, tables, spend=SPEND)) == {("a", 1), ("b", 2)}
    query = parse(
        "SELECT ward, bed, COUNT(*) AS n FROM t WHERE ward = 'a' AND bed < 3 OR ward = 'b' AND bed > 1 "
        "GROUP BY ward, bed",
        tables,
    )
    assert len(groups_of(make_plan(query, tables, spend=SPEND))) == 6
    monkeypatch.setattr(allowed, "MOST_TRIED", 5)
    tables = {"t": replace(TABLE, rows=78)}
    assert groups_of(make_plan(query, tables, spend=SPEND)) == set(product("ab", range(5)))
    monkeypatch.setattr(allowed, "MOST_TRIED", 1)
    tables = {"t": replace(TABLE, rows=79)}
    assert len(groups_of(make_plan(query, tables, spend=SPEND))) == 4 * 5


def test_an_engine_drops_rows_of_combinations_that_are_no_groups() -> None:
    """What the planner finds decides which rows count: an engine is held to it whatever the conditions say."""
    listed = [{"k": k, "j": j, "who": i} for i, (k, j) in enumerate(product([1, 2, None], [1, 2, None]))]
    columns = {"who": integer(), "k": category([1, 2], nullable=True), "j": category([1, 2], nullable=True)}
    tables = {"t": Table(listed, unit=Person("who"), columns=columns, contribution=Contribution(groups=1, rows=1))}
    schemas = {"t": tables["t"].schema}
    query = parse("SELECT k, j, COUNT(*) AS n, MEDIAN(k) AS m FROM t GROUP BY k, j", schemas)
    plan = make_plan(query, schemas, spend=SPEND)
    cells = ((1, None), (None, None), (2, 1))
    source = pa.Table.from_pylist(listed)
    with DuckDB(
        {"t": Table(source, unit=Person("who"), columns=columns, contribution=Contribution(groups=1, rows=1))}
    ) as engine:
        for one in plan.passes:
            scan = replace(one.scan, cells=cells)
            for exact in (engine.scan(scan), Memory(tables).scan(scan)):
                held = {*exact._groups, *exact._places}
                assert held == {cell for cell in cells if cell[1] is not None or not one.measure.draws}


# --- no group that has rows is left out -----------------------------------------------------------------------------


def check_setting(seed: int) -> Counter[str]:
    draw = random.Random(seed)
    setting = some_setting(draw)
    bench = Bench(setting, some_family(draw, setting, most=1))
    told: Counter[str] = Counter()
    try:
        for _ in range(30):
            sql = Writer(draw, setting).question()
            try:
                query = parse(sql, setting.tables)
                if not query.keys or query.levels:
                    continue
                schema = schema_of(query.table, setting.tables)
                declared = scan_keys(query, schema)
                if any(key.values is None for key in declared):
                    continue
                plan = make_plan(query, setting.tables, spend=SPEND)
            except RequestError as refused:
                if "rule out every group" in str(refused):
                    told["none"] += check_none(bench, query, declared, schema)
                continue
            told["asked"] += 1
            one = next((one for one in plan.passes if asks(one.scan) and not one.inside), None)
            if one is None:
                continue
            told["fewer"] += len(groups_of(plan)) < len(public_cells(declared))
            told["not all combinations"] += one.scan.cells is not None
            whole = replace(one.scan, keys=declared, cells=None)
            try:
                before, after = bench.scan(whole), bench.scan(one.scan)
            except RequestError:
                continue
            # the same rows count, in the same groups: what is left out is empty
            assert before == after, (seed, sql)
            told["held"] += bool(before[0])
    finally:
        bench.close()
    return told


def check_none(bench: Bench, query: Any, declared: Any, schema: Schema) -> int:
    """Where every group is ruled out, none has rows."""
    bounding = Once() if isinstance(schema.unit, Rows) else Norm(1, 1, 10)
    found = bench.scan(Scan(query.table, schema, query.where, declared, (rows(None),), bounding))
    assert not any(found)
    return 1


@pytest.mark.parametrize("start", range(0, SOAK or 40, 10))
def test_whatever_is_stored_no_group_that_has_rows_is_left_out(start: int) -> None:
    told: Counter[str] = Counter()
    for seed in range(start, start + 10):
        told += check_setting(5 * 10**6 + seed)
    assert told["asked"] >= 20
    assert told["held"] >= 5
    assert told["fewer"] + told["none"] >= 1, told
