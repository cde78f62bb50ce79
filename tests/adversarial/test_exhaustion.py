"""Nobody's rows can exhaust an engine or a planner: whether a question fails must not depend on one person."""

from __future__ import annotations

import duckdb
import pytest

import privet
from privet.core import schema
from privet.core.errors import Unsupported
from privet.core.relation import Call, ColumnRef, Literal
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.dialect import Renderer, RowSource
from privet.query.expressions import evaluate_row
from privet.query.typed import LONGEST

pa = pytest.importorskip("pyarrow")

PEOPLE = {"person": [1, 2, 3, 7], "name": ["a" * 10] * 4, "told": ["x", "x", "x", "secret"]}


def session(rows: dict[str, list]) -> privet.Session:
    columns = {"person": privet.integer(), "name": privet.text(), "told": privet.text()}
    table = privet.Table(
        pa.table(rows),
        unit=privet.Person("person"),
        columns=columns,
        contribution=privet.Contribution(groups=1, rows=1),
        rows=1000,
    )
    return privet.Session({"v": table}, budget=privet.Approximate(epsilon=10_000, delta=1e-6))


def grown(levels: int, times: int) -> str:
    """Return rows whose text is `times` times as long at each level, for one person's secret alone."""
    sql = "SELECT person, CASE WHEN person = 7 AND told = 'secret' THEN name ELSE '' END AS s FROM v"
    for _ in range(levels):
        sql = f"SELECT person, {' || '.join(['s'] * times)} AS s FROM (SELECT DISTINCT person, s FROM ({sql}))"
    return sql


def test_a_text_that_doubles_again_and_again_makes_no_question_fail():
    # 10 * 14**8 characters would be more than an engine may hold
    question = f"SELECT SUM(CASE WHEN LENGTH(s) > 5 THEN 1 ELSE 0 END) AS n FROM ({grown(8, 14)})"
    without = {name: values[:3] for name, values in PEOPLE.items()}
    for rows, expected in ((PEOPLE, 1), (without, 0)):
        with session(rows) as asked:
            assert asked.ask(question, epsilon=1000)["n"].values[0] == pytest.approx(expected, abs=0.2)


def test_texts_that_are_put_together_are_cut_to_a_public_length():
    with session(PEOPLE) as asked:
        question = f"SELECT SUM(CASE WHEN LENGTH(s) = {LONGEST} THEN 1 ELSE 0 END) AS n FROM ({grown(3, 10)})"
        assert asked.ask(question, epsilon=1000)["n"].values[0] == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("lengths", [(3, 4), (LONGEST, 1), (LONGEST - 1, 5), (0, LONGEST + 9), (LONGEST + 9, 2)])
def test_engines_cut_alike(lengths):
    texts = ["ä" * lengths[0], "b" * lengths[1]]
    expression = Call("concat", (ColumnRef("x"), ColumnRef("y"), Literal("!")))
    facts = {name: schema.text() for name in "xy"}
    columns = {name: RowSource(name, column) for name, column in facts.items()}
    rendered = Renderer(columns, DUCKDB).render(expression).sql
    found = duckdb.connect().execute(f"SELECT {rendered} FROM (SELECT ? AS x, ? AS y)", texts).fetchone()[0]
    assert found == ("".join(texts) + "!")[:LONGEST]
    assert found == evaluate_row(expression, dict(zip("xy", texts, strict=True)), facts)


def test_columns_of_columns_of_columns_are_refused_before_they_fill_the_memory():
    sql = "SELECT person, LENGTH(told) AS s FROM v"
    for _ in range(11):
        sql = f"SELECT person, s + s * s AS s FROM ({sql})"
    with session(PEOPLE) as asked, pytest.raises(Unsupported, match="parts"):
        asked.plan(f"SELECT COUNT(*) AS n FROM ({sql}) WHERE s > 5", epsilon=1)


LINES = [
    (b"10,\xff\xfe,7", 49),
    (b"10," + b"n" * 3_000_000 + b",7", 50),
    (b"10," + b"n" * 40_000_000 + b",7", 49),
    (b"10,n,7,8,9", 50),
    (b"10", 50),
    (b'10,a"b,7', 50),
    (b"10,\x00,7", 50),
]


@pytest.mark.parametrize(("line", "left"), LINES, ids=["no text", "long", "longer", "more", "less", "quote", "null"])
def test_no_line_of_a_file_makes_a_question_fail_or_moves_another_line(tmp_path, line, left):
    file = tmp_path / "rows.csv"
    lines = [line if number == 10 else b"%d,n%d,7" % (number, number) for number in range(50)]
    file.write_bytes(b"\n".join([b"p,t,x", *lines, b""]))
    columns = {"p": privet.integer(), "t": privet.text(), "x": privet.integer(0, 10)}
    table = privet.Table(
        str(file),
        unit=privet.Person("p"),
        columns=columns,
        contribution=privet.Contribution(groups=1, rows=1),
        rows=1000,
    )
    with privet.Session({"v": table}, budget=privet.Pure(epsilon=10**9)) as asked:
        found = asked.ask("SELECT COUNT(*) AS n FROM v WHERE t IS NULL OR LENGTH(t) >= 0", epsilon=10**5)
    assert found["n"].values == (left,)
