"""The SQL that is written for Spark, and where Spark is: all that can be tested without a JVM."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import privet
from privet.config.engine_kinds import PracticeEngine
from privet.core import schema
from privet.core.errors import BadParameter, EngineError, RequestError, Unsupported
from privet.core.relation import Call, ColumnRef, Literal
from privet.core.scan import Discovery, GroupKey, Largest, Near, Norm, Once, Pairs, Products, Scan, Sizes, Sum, Truncate
from privet.core.schema import Schema, Table
from privet.core.unit import Person, Rows
from privet.engines.dialects.spark import FORMS, SPARK, bound_list, text_literal
from privet.engines.scan_sql.dialect import Renderer
from privet.engines.scan_sql.row_values import sources
from privet.engines.scan_sql.statement import write_scan
from privet.engines.scan_sql.windows import grouped_counts
from privet.engines.spark import Spark, SparkTable, spark_engine
from privet.engines.spark.cluster import SETTINGS
from privet.engines.spark.spark_sources import columns_of
from privet.query.functions import FUNCTIONS

COLUMNS = {
    "who": schema.integer(),
    "city": schema.category(["Ulm", "Bonn"], nullable=True),
    "shop": schema.text(),
    "age": schema.integer(0, 120),
    "pay": schema.number(0, 10, step=Fraction(1, 100)),
}
CITY = GroupKey(ColumnRef("city"), ("Ulm", "Bonn", None), True)
SHOP = GroupKey(ColumnRef("shop"), None, False)
COUNT, PAY = Sum(None, 1, 1), Sum(ColumnRef("pay"), 0, 1000, step=Fraction(1, 100))
FOUR = (COUNT, PAY, Sum(ColumnRef("age"), 0, 120), Sum(ColumnRef("age"), 0, 120, power=2))
PLACE = Sum(ColumnRef("age"), 0, 120)
FOUND = Discovery(3, 2, 10)


def scan_of(keys: Any = (CITY,), sums: Any = (COUNT, PAY), bounding: Any = None, **more: Any) -> Scan:
    unit = Rows() if isinstance(bounding, Once) else Person("who")
    return Scan("t", Schema(unit=unit, columns=COLUMNS), None, keys, sums, bounding or Norm(2, 5, 10), **more)


SCANS = {
    "norm 1": scan_of(bounding=Norm(1, 5, 10)),
    "norm 2": scan_of(),
    "norm of many sums": scan_of(sums=FOUR),
    "norm of all rows": scan_of(keys=(), sums=FOUR),
    "distinct": scan_of(distinct=True),
    "largest": scan_of(keys=(CITY, SHOP), bounding=Largest(4, 10)),
    "found": scan_of(keys=(SHOP,), discovery=FOUND),
    "found and truncated": scan_of(keys=(SHOP,), bounding=Truncate(3, 2), discovery=FOUND),
    "truncated": scan_of(bounding=Truncate(3, 2)),
    "pairs": scan_of(sums=(COUNT,), bounding=Pairs(ColumnRef("shop"), 3)),
    "sizes": scan_of(sums=(), bounding=Norm(1, 5, 10), sizes=Sizes("norm", (1, 5))),
    "lost": scan_of(sums=(), sizes=Sizes("lost", (1, 5))),
    "products": scan_of(keys=(), bounding=Norm(1, 5, 10), products=Products(((0, 0), (0, 1), (1, 1)))),
    "places": scan_of(sums=(), bounding=Norm(1, 5, 10), places=PLACE),
    "places nearby": scan_of(sums=(), bounding=Norm(1, 5, 10), places=PLACE, near=Near(Fraction(1, 2), 9, 9, 3)),
    "places truncated": scan_of(sums=(), bounding=Truncate(3, 2), places=PLACE),
    "rows": scan_of(bounding=Once()),
}


def written(scan: Scan, secret: int = 7) -> str:
    return write_scan(scan, {"t": scan.schema}, {"t": "stored"}, secret, SPARK).sql


@pytest.mark.parametrize("name", SCANS)
def test_each_statement_reads_its_table_once(name: str) -> None:
    sql = written(SCANS[name])
    assert len(re.findall(r"\bstored\b", sql)) == 1
    assert "WITH " not in sql


@pytest.mark.parametrize("name", [name for name in SCANS if name != "rows"])
def test_rows_of_people_are_brought_together_before_anything_is_made_of_them(name: str) -> None:
    sql = written(SCANS[name])
    assert sql.count("DISTRIBUTE BY u") == 1
    before = sql[: sql.index("DISTRIBUTE BY u")].rsplit("FROM (", 1)[1]
    assert "GROUP BY" not in before
    assert "OVER (" not in before


@pytest.mark.parametrize("name", SCANS)
def test_nothing_is_drawn_by_the_engine_and_no_function_of_the_users_is_called(name: str) -> None:
    assert not re.search(
        r"\b(rand|randn|random|uuid|shuffle|monotonically\w*|first|any_value|current_\w+|now)\(", written(SCANS[name])
    )


def test_sums_have_38_digits_unless_64_bits_are_proven_to_be_enough() -> None:
    for rows, total in ((2**43, "sum(w * s1)"), (2**44, "sum(CAST(w * s1 AS DECIMAL(38,0)))")):
        facts = Schema(unit=Person("who"), columns=COLUMNS, rows=rows)
        assert total in written(Scan("t", facts, None, (CITY,), (COUNT, PAY), Norm(2, 5, 10)))


def test_a_unit_s_own_sums_are_null_where_they_do_not_fit() -> None:
    assert "try_sum(" in written(scan_of())


def test_doubles_are_clamped_before_they_are_made_whole() -> None:
    made = SPARK.floor("x")
    assert made.startswith("floor(CASE WHEN x < (-4.611686018427388e+18D) THEN")
    assert "WHEN x <= CAST('Infinity' AS DOUBLE) THEN 4.611686018427388e+18D END)" in made


def test_texts_are_written_so_that_no_lexer_reads_anything_into_them() -> None:
    assert text_literal("O'Hara ${env:HOME} \\ % é\x00😀") == (
        "'O\\u0027Hara \\u0024\\u007benv:HOME\\u007d \\u005c \\u0025 \\u00e9\\u0000\\U0001f600'"
    )
    assert SETTINGS["spark.sql.variable.substitute"] == "false"
    with pytest.raises(Unsupported, match="surrogates"):
        text_literal("\ud800")


def like(pattern: str, *escape: str) -> str:
    renderer = Renderer(sources(Schema(unit=Rows(), columns=COLUMNS)), SPARK)
    return renderer.render(Call("like", (ColumnRef("shop"), Literal(pattern), *map(Literal, escape)))).sql


def test_like_always_states_an_escape_that_is_not_in_its_pattern() -> None:
    assert like("a\\%") == "(c2 LIKE 'a\\u005c\\u0025' ESCAPE '!')"
    assert like("!a%") == "(c2 LIKE '\\u0021a\\u0025' ESCAPE '~')"
    assert like("50#%", "#") == "(c2 LIKE '50!\\u0025' ESCAPE '!')".replace("!\\u0025", "\\u0021\\u0025")
    assert like("a##b", "#") == "(c2 LIKE 'a\\u0023b' ESCAPE '!')"


def test_hashes_tell_null_from_nothing_and_hold_all_of_the_key() -> None:
    one, other = SPARK.keyed_hash(["a", "b"], 1), SPARK.keyed_hash(["a", "b"], 1 + (1 << 64))
    assert "a IS NULL, a, b IS NULL, b" in one
    assert one != other != SPARK.keyed_hash(["a", "b"], 2 + (1 << 64))


def test_wide_quotients_are_not_cut_to_64_bits() -> None:
    assert SPARK.divide_whole("x", "y") == "x DIV y"
    assert "DIV" not in SPARK.divide_whole("x", "y", wide=True)


def test_aggregates_over_some_rows_are_written_so_that_windows_take_them() -> None:
    assert SPARK.total("count(*)", "b0") == "count(CASE WHEN b0 THEN 1 END)"
    assert SPARK.total("count(DISTINCT x)", "b0") == "count(DISTINCT CASE WHEN b0 THEN x END)"
    assert SPARK.total("sum(CAST(x AS DECIMAL(38,0)))", "b0") == "sum(CASE WHEN b0 THEN CAST(x AS DECIMAL(38,0)) END)"


def test_division_and_overflow_are_null_in_every_form() -> None:
    renderer = Renderer(sources(Schema(unit=Rows(), columns=COLUMNS | {"big": schema.integer()})), SPARK)
    big = ColumnRef("big")
    for function, form in (
        ("add", "try_add("),
        ("multiply", "try_multiply("),
        ("modulo", "try_mod("),
        ("negate", "try_subtract("),
    ):
        arguments = (big,) if function == "negate" else (big, big)
        assert renderer.render(Call(function, arguments)).sql.startswith(form)
    assert "try_divide(" in renderer.render(Call("divide", (ColumnRef("pay"), ColumnRef("age")))).sql
    assert "= -1L THEN try_subtract(0L" in renderer.render(Call("divide_whole", (big, big))).sql


def test_every_function_of_the_closed_list_has_a_form() -> None:
    own = {name for name in FUNCTIONS if not name.startswith("_")}
    assert own - FORMS.keys() == set()


def test_a_number_that_is_cast_to_text_is_refused_by_name() -> None:
    renderer = Renderer(sources(Schema(unit=Rows(), columns=COLUMNS)), SPARK)
    assert "CAST(c3 AS STRING)" in renderer.render(Call("to_text", (ColumnRef("age"),))).sql


def test_bounds_that_decimals_do_not_divide_exactly_are_refused() -> None:
    with pytest.raises(Unsupported, match="divides"):
        written(scan_of(bounding=Norm(2, 10**18, 30)))


def test_lists_are_bound_as_one_text() -> None:
    values = ["a'", None, 3, True, 0.5, datetime.date(2024, 1, 2)]
    assert bound_list(values) == '["a\'", null, 3, true, 0.5, "2024-01-02"]'


def test_counts_come_back_by_group_and_in_order() -> None:
    found = grouped_counts([["a", None, "a"]], np.array([5, 1, 2]), np.array([10, 20, 30]))
    assert {cell: (list(at), list(n)) for cell, (at, n) in found.items()} == {
        ("a",): ([2, 5], [30, 10]),
        (None,): ([1], [20]),
    }
    assert grouped_counts([], np.array([], dtype=int), np.array([], dtype=int)) == {}


# --- sources ----------------------------------------------------------------------------------------------------------


@dataclass
class StoredType:
    name: str

    def simpleString(self) -> str:
        return self.name


@dataclass
class StoredField:
    name: str
    dataType: StoredType
    metadata: dict[str, str] = field(default_factory=dict)


class StoredFrame:
    """The names and types of a frame, as Spark describes them."""

    def __init__(self, **types: str) -> None:
        fields = [StoredField(name, StoredType(kind.split("|")[0])) for name, kind in types.items()]
        for one, kind in zip(fields, types.values(), strict=True):
            if "|" in kind:
                one.metadata["__CHAR_VARCHAR_TYPE_STRING"] = kind.split("|")[1]
        self.schema = type("Described", (), {"fields": fields})()


def read(column: Any, stored: str, *, unit: Any = None) -> str:
    facts = Schema(unit=unit or Rows(), columns={"x": column})
    return ", ".join(columns_of(StoredFrame(x=stored), "t", facts))


def test_columns_are_read_as_one_type_for_each_kind() -> None:
    assert read(schema.integer(), "int") == "CAST(`x` AS BIGINT) AS c0"
    assert read(schema.number(), "double") == "(CAST(`x` AS DOUBLE) + 0D) AS c0"
    assert read(schema.text(), "string") == "try_validate_utf8(CAST(`x` AS STRING)) AS c0"
    assert read(schema.timestamp(), "timestamp_ntz") == "CAST(`x` AS TIMESTAMP_NTZ) AS c0"
    assert read(schema.integer(), "double").count("floor(") == 1


@pytest.mark.parametrize(
    ("column", "stored", "unit", "told"),
    [
        (schema.timestamp(), "timestamp", None, "local time zone"),
        (schema.date(), "timestamp", None, "local time zone"),
        (schema.text(), "string collate UNICODE_CI", None, "collation"),
        (schema.text(), "string|char(3)", Person("x"), "pads"),
        (schema.number(), "decimal(20,2)", Person("x"), "identifies the person"),
        (schema.number(), "bigint", Person("x"), "identifies the person"),
        (schema.boolean(), "map<string,int>", None, "another type"),
        (schema.integer(), "array<int>", None, "another type"),
    ],
)
def test_columns_by_which_one_person_could_be_two_or_two_one_are_refused(column, stored, unit, told) -> None:
    with pytest.raises(RequestError, match=told):
        read(column, stored, unit=unit)


def test_columns_are_found_by_their_names_apart_from_case() -> None:
    facts = Schema(unit=Rows(), columns={"Age": schema.integer()})
    assert columns_of(StoredFrame(AGE="int"), "t", facts) == ["CAST(`AGE` AS BIGINT) AS c0"]
    with pytest.raises(RequestError, match="does not have"):
        columns_of(StoredFrame(b="int"), "t", facts)
    with pytest.raises(RequestError, match="several"):
        columns_of(StoredFrame(AGE="int", age="int"), "t", facts)


# --- where Spark is ---------------------------------------------------------------------------------------------------


def test_a_table_is_named_by_its_parts_and_pinned_to_a_version() -> None:
    assert SparkTable("lake.clinic.vi`sits", version=12).relation == "`lake`.`clinic`.`vi``sits` VERSION AS OF 12"
    assert SparkTable("visits").relation == "`visits`"
    for name in ("", "a..b", ".a", 3):
        with pytest.raises(BadParameter):
            SparkTable(name)  # type: ignore[arg-type]
    with pytest.raises(BadParameter):
        SparkTable("a", version=-1)


@pytest.mark.parametrize("remote", ["", "http://host", "sc://", "host:15002", "sc://host:port", 7])
def test_an_address_that_is_none_is_refused_without_quoting_it(remote: Any) -> None:
    with pytest.raises(BadParameter) as refused:
        Spark(remote=remote)
    assert "token" not in str(refused.value)


def test_a_token_is_never_shown() -> None:
    place = Spark(remote="sc://host:443/;token=sesame;use_ssl=true")
    assert "sesame" not in repr(place)
    with pytest.raises(RequestError, match="not both"):
        Spark(remote="sc://host", session=object())


def test_an_unreachable_remote_is_a_clear_error_without_its_token() -> None:
    pytest.importorskip("pyspark")
    table = Table("visits.parquet", unit=Rows(), columns={"age": schema.integer()})
    with pytest.raises(RequestError, match="no Spark Connect server can be reached at 'localhost', port 1") as refused:
        Spark(remote="sc://localhost:1/;token=sesame").over({"t": table})
    assert "sesame" not in str(refused.value)


def test_without_pyspark_the_error_names_the_extras() -> None:
    try:
        import pyspark  # noqa: F401
    except ImportError:
        table = Table("visits.parquet", unit=Rows(), columns={"age": schema.integer()})
        with pytest.raises(RequestError, match=r"privet\[spark\]"):
            Spark().over({"t": table})


# --- a Spark that fails -----------------------------------------------------------------------------------------------


class FailingSpark:
    """A session that answers as long as it lives, and counts what it was asked."""

    def __init__(self) -> None:
        self.lives, self.asked = True, list[str]()
        nothing = {"addJobTag": str, "removeJobTag": str, "cancelJobsWithTag": str}
        self.sparkContext = SimpleNamespace(**nothing)  # as PySpark calls it

    def sql(self, text: str, args: Any = None) -> Any:
        self.asked.append(text)
        if not self.lives:
            raise RuntimeError("Ada Lovelace")
        return SimpleNamespace(collect=lambda: [("Ulm", 3, 4)])


def test_no_one_pays_for_a_scan_of_a_spark_that_died(monkeypatch: pytest.MonkeyPatch) -> None:
    session = FailingSpark()
    monkeypatch.setattr(spark_engine, "open_session", lambda place: (session, False))
    engine = Spark().over({})
    engine._tables, engine._relations = {"t": SCANS["norm 2"].schema}, {"t": "stored"}
    scan = SCANS["norm 2"]
    engine.check(scan)
    assert session.asked == []
    assert engine.scan(scan)._groups == {("Ulm",): (3, 4)}
    session.lives = False
    with pytest.raises(EngineError) as failed:
        engine.scan(scan)
    assert "Ada" not in str(failed.value)
    for _ in range(2):
        with pytest.raises(RequestError, match="no longer answers") as refused:
            engine.check(scan)
        assert "Ada" not in str(refused.value)
        assert refused.value.__context__ is None
    session.lives = True
    engine.check(scan)
    asked = len(session.asked)
    engine.check(scan)
    assert len(session.asked) == asked


TOML = """
[engine]
kind = "spark"
remote = "sc://cluster.example"

[budget]
epsilon = 20
delta = 1e-6

[tables.visits]
source = { spark = "lake.clinic.visits" }
unit = "who"
contribution = { groups = 3, rows = 2 }

[tables.visits.columns]
who = "integer"
pay = { kind = "number", low = 0, high = 10 }
"""


def test_practice_needs_no_cluster_and_refuses_what_spark_lacks(tmp_path: Path) -> None:
    """Made-up rows are in files here, which a cluster elsewhere could not read."""
    (tmp_path / "privet.toml").write_text(TOML, encoding="utf-8")
    with privet.practice(tmp_path / "privet.toml") as session:
        assert session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=1).value is not None

    columns = {"who": schema.integer()}
    stored = pa.table({"who": [1]})
    rows = Table(stored, unit=Person("who"), columns=columns, contribution=schema.Contribution(groups=1, rows=1))
    huge = Scan("t", rows.schema, None, (), (COUNT,), Norm(2, 10**18, 30))
    with PracticeEngine({"t": rows}, dialect=SPARK) as engine, pytest.raises(Unsupported, match="divides"):
        engine.check(huge)
