"""SQL is read into the tree that it says, and whatever is not understood is refused by name."""

from __future__ import annotations

import contextlib
import datetime
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.core.errors import ParseError, RequestError, Unbounded, UnknownName, Unsupported, WrongKind
from privet.core.relation import Call, ColumnRef, Literal
from privet.core.schema import Schema, boolean, category, date, integer, number, text, timestamp
from privet.core.unit import Person, Rows
from privet.query.nodes import Query
from privet.query.sql import parse as front
from privet.query.sql.calls import NAMES
from privet.query.sql.clauses import UNDERSTOOD
from privet.query.sql.parse import parse

VISITS = Schema(
    unit=Person("user_id"),
    columns={
        "user_id": integer(),
        "day": date(datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)),
        "at": timestamp(nullable=True),
        "hospital": category(["A", "B", "C"]),
        "cost": number(0, 1000, nullable=True),
        "age": integer(0, 120),
        "diag": text(nullable=True),
        "urgent": boolean(),
        "weight": number(),
    },
)
ROWS = Schema(unit=Rows(), columns={"Age": integer(0, 9), "age ": integer(0, 9), "X": integer(0, 9)})
TABLES = {"visits": VISITS, "Strange name": ROWS, "warehouse.clinic.events": VISITS}


def ask(text: str) -> Query:
    return parse(text, TABLES)


CORPUS = [
    "SELECT * FROM (SELECT urgent, hospital FROM visits) PIVOT (COUNT(*) AS n FOR urgent IN (TRUE AS yes, FALSE)) AS p",
    "WITH v AS (SELECT urgent, hospital FROM visits) SELECT * FROM v PIVOT (COUNT(*) FOR urgent IN (TRUE))",
    "PIVOT visits ON hospital IN ('A') USING COUNT(*) GROUP BY urgent",
    "SELECT ANY_VALUE(n) FROM (SELECT hospital, COUNT(*) AS n FROM visits GROUP BY hospital)",
    "SELECT COUNT(*) AS n FROM visits UNION ALL SELECT COUNT(*) FROM visits WHERE urgent ORDER BY n LIMIT 1 OFFSET 1",
    "WITH a AS MATERIALIZED (SELECT * FROM visits) SELECT TOP 3 diag, COUNT(*) FROM a GROUP BY ALL ORDER BY ALL",
    "SELECT t.h, COUNT(*) AS n FROM (SELECT hospital, age FROM visits) AS t(h, a) WHERE a // 10 = 3 GROUP BY t.h "
    "ORDER BY n FETCH FIRST 2 ROWS ONLY",
    "SELECT COUNT(*) FROM (visits v JOIN visits w ON v.user_id = w.user_id) WHERE v.diag ILIKE 'a%' AND v.diag NOT "
    "ILIKE 'b%' AND v.diag IS DISTINCT FROM 'x' AND w.diag IS NOT DISTINCT FROM 'y' AND POSITION('a' IN v.diag) = 1 "
    "AND TRIM(LEADING ' ' FROM v.diag) = 'a' AND CAST(v.age AS DECIMAL(4, 1)) = 3 AND CAST(v.age AS FLOAT64) = 3",
    "SELECT AVG(warehouse.clinic.events.age) FROM Warehouse.clinic.events",
    "SELECT hospital, NTILE(2) OVER w AS a, LAG(n, 1, 0) OVER w AS b, LEAD(n, 1, 0) OVER w AS c, FIRST_VALUE(n) OVER w "
    "AS d, LAST_VALUE(n) OVER w AS e, NTH_VALUE(n, 2) OVER w AS f, PERCENT_RANK() OVER w AS g, CUME_DIST() OVER w AS "
    "h, SUM(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS i FROM (SELECT hospital, COUNT(*) "
    "AS n FROM visits GROUP BY hospital) WINDOW w AS (ORDER BY n) QUALIFY a = 1",
    "WITH t AS (SELECT user_id, MIN(age) AS a, MAX(cost) AS b FROM visits GROUP BY user_id) SELECT COUNT(*) FROM "
    "visits LEFT OUTER JOIN t USING (user_id) JOIN t AS s ON s.user_id = visits.user_id WHERE visits.user_id IN "
    "(SELECT user_id FROM t)",
    "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY day) AS a, RANK() OVER (PARTITION "
    "BY user_id ORDER BY day) AS b, DENSE_RANK() OVER (PARTITION BY user_id ORDER BY day) AS c, LAG(age, 2) OVER "
    "(PARTITION BY user_id ORDER BY day) AS d, LEAD(age, 2) OVER (PARTITION BY user_id ORDER BY day) AS e FROM visits)",
    "SELECT COUNT(*) FROM (WITH t AS (SELECT * FROM visits) SELECT age FROM t UNION ALL SELECT age FROM t)",
    "SELECT COUNT(*) FROM visits",
    "SELECT COUNT(*) FROM (WITH t AS (SELECT user_id u FROM visits) SELECT u FROM t INTERSECT SELECT u FROM t)",
    "SELECT COUNT(*) FROM (WITH t AS (SELECT user_id u FROM visits) SELECT u FROM t EXCEPT SELECT u FROM t)",
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.user_id = v.user_id AND w.day > v.day)",
    "SELECT v.hospital h, COUNT(*) AS n FROM visits AS v WHERE age > 5 GROUP BY v.hospital HAVING COUNT(*) > 3 "
    "ORDER BY n DESC NULLS FIRST LIMIT 5 OFFSET 2",
    "SELECT DISTINCT hospital, COUNT(*) FROM visits GROUP BY hospital",
    "WITH t AS (SELECT * FROM visits WHERE urgent) SELECT COUNT(DISTINCT user_id) FILTER (WHERE age > 1) FROM t",
    'SELECT COUNT("cost") FROM (SELECT cost FROM visits) s',
    "SELECT SUM(age), AVG(cost), VARIANCE(age), VAR_POP(age), STDDEV(age), STDDEV_POP(age), STDDEV_SAMP(age), "
    "COUNT_IF(urgent) FROM visits",
    "SELECT COVAR_POP(age, cost), COVAR_SAMP(age, cost), CORR(cost, age) FROM visits",
    "SELECT HISTOGRAM(age, 10) FROM visits",
    "SELECT GROUPING(hospital), GROUPING_ID(hospital, urgent), COUNT(*) FROM visits GROUP BY "
    "ROLLUP (hospital, (age, diag)), CUBE (urgent), GROUPING SETS ((day), ())",
    "SELECT MODE(age), TOP_K(diag, 3) AS top, BOUNDS(cost) AS cost FROM visits",
    "SELECT MEDIAN(age), MIN(age), MAX(cost), QUANTILE(age, 0.9), QUANTILE_CONT(age, 0.1), QUANTILE_DISC(age, 0.1), "
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age), PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY age) FROM visits",
    "SELECT SUM(CASE hospital WHEN 'A' THEN 1 ELSE 0 END), SUM(IF(urgent, 1, -2)) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE (age = 1 OR age <> 2) AND age < 3 AND age <= 4 AND age > 5 AND age >= 6 "
    "AND NOT urgent AND diag IS NULL AND urgent = TRUE AND NULLIF(age, 1) IS NULL AND NULL IS NULL",
    "SELECT COUNT(*) FROM visits WHERE age BETWEEN 1 AND 2 AND diag IN ('a', 'b') AND diag NOT LIKE 'a%' "
    "AND diag LIKE 'a!%' ESCAPE '!'",
    "SELECT SUM(age + 1 - 2 * 3 / 4 % 5), SUM(-age) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE diag || 'x' = CONCAT(diag, 'x') AND LOWER(diag) = UPPER(diag) "
    "AND LENGTH(diag) > 2 AND TRIM(diag) = SUBSTRING(diag, 1, 2) "
    "AND LEFT(diag, 1) = 'a' AND STARTS_WITH(diag, 'a') AND CONTAINS(diag, 'b')",
    "SELECT SUM(CAST(age AS DOUBLE)), SUM(TRY_CAST(cost AS BIGINT)) FROM visits",
    "SELECT SUM(ABS(age)), SUM(FLOOR(cost)), SUM(CEIL(cost)), SUM(ROUND(cost)), SUM(ROUND(cost, 1)), SUM(SIGN(age)), "
    "SUM(SQRT(cost)), SUM(LN(age + 1)), SUM(EXP(age / 10)), SUM(POWER(age, 2)) FROM visits",
    "SELECT SUM(LEAST(age, 5)), SUM(GREATEST(age, cost)), SUM(COALESCE(cost, 0)) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE EXTRACT(year FROM day) = 2024 AND YEAR(day) = 1 AND QUARTER(day) = 1 "
    "AND MONTH(day) = 1 AND WEEK(day) = 1 AND WEEKOFYEAR(day) = 1 AND DAY(day) = 1 AND DAYOFMONTH(day) = 1 "
    "AND DAYOFWEEK(day) = 1 AND ISODOW(day) = 1 AND DAYOFYEAR(day) = 1 AND HOUR(at) = 1 AND MINUTE(at) = 1 "
    "AND SECOND(at) = 1 AND DATE_PART('dow', day) = 1 AND EPOCH(at) > 1",
    "SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('month', day) = DATE '2024-01-01' "
    "AND DATE_TRUNC('day', day::DATE) = '2024-01-01' AND DATE_DIFF('day', day, day + INTERVAL 1 WEEK) = 7",
]


@pytest.mark.parametrize("query", CORPUS, ids=range(len(CORPUS)))
def test_the_corpus_is_understood(query: str) -> None:
    assert ask(query).aggregates


def test_every_understood_part_is_met_by_the_corpus() -> None:
    # so that taking any entry away makes the test above fail, and no entry is there for nothing
    met = set()
    for query in CORPUS:
        for node in front._tree(query, [])[0].walk():
            met.add((node.key, ""))
            met |= {(node.key, name.rstrip("_")) for name, value in node.args.items() if value}
    met |= {("union", "distinct"), ("join", "natural")}
    known = {(key, "") for key in UNDERSTOOD} | {(key, name) for key, names in UNDERSTOOD.items() for name in names}
    assert known - met == set()


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("select  count( * )\n from VISITS -- all of them", "SELECT COUNT(*) FROM visits;"),
        (
            "SELECT Hospital, COUNT(*) n FROM Visits GROUP BY HOSPITAL",
            "SELECT hospital, COUNT(*) n FROM visits GROUP BY 1",
        ),
        ("(SELECT COUNT(*) FROM visits)", "SELECT COUNT(*) FROM visits"),
        ("SELECT COUNT(1) FROM visits", "SELECT COUNT(*) FROM visits"),
        ("SELECT COUNT_IF(age > 5) n FROM visits", "SELECT COUNT(*) FILTER (WHERE age > 5) n FROM visits"),
        (
            "SELECT COUNT(*) FROM (SELECT * FROM visits WHERE age > 5) WHERE urgent",
            "SELECT COUNT(*) FROM visits WHERE urgent AND age > 5",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT * FROM (SELECT * FROM visits WHERE urgent) WHERE age > 5) WHERE diag = 'x'",
            "SELECT COUNT(*) FROM visits WHERE diag = 'x' AND urgent AND age > 5",
        ),
        (
            "SELECT hospital, COUNT(*) AS age FROM visits GROUP BY hospital ORDER BY age",
            "SELECT hospital, COUNT(*) AS age FROM visits GROUP BY hospital ORDER BY 2",
        ),
        (
            "SELECT COUNT_IF(age > 5) FILTER (WHERE urgent) n FROM visits",
            "SELECT COUNT(*) FILTER (WHERE urgent AND age > 5) n FROM visits",
        ),
        (
            "WITH a AS (SELECT age + 1 AS older FROM visits) SELECT SUM(older) AS s FROM a",
            "SELECT SUM(age + 1) AS s FROM visits",
        ),
        (
            "WITH visits AS (SELECT * FROM visits WHERE urgent) SELECT COUNT(*) FROM visits",
            "SELECT COUNT(*) FROM visits WHERE urgent",
        ),
        (
            "SELECT YEAR(day) AS y, COUNT(*) FROM visits GROUP BY YEAR(day) ORDER BY y",
            "SELECT YEAR(day) AS y, COUNT(*) FROM visits GROUP BY y ORDER BY 1",
        ),
        (
            "SELECT hospital, COUNT(*) AS n FROM visits GROUP BY hospital HAVING n > 5",
            "SELECT hospital, COUNT(*) AS n FROM visits GROUP BY hospital HAVING COUNT(*) > 5",
        ),
        (
            "SELECT visits.hospital, COUNT(*) FROM visits GROUP BY 1",
            "SELECT hospital, COUNT(*) FROM visits GROUP BY hospital",
        ),
        (
            "SELECT hospital, COUNT(*) FROM visits GROUP BY hospital, hospital",
            "SELECT hospital, COUNT(*) FROM visits GROUP BY hospital",
        ),
    ],
)
def test_the_same_question_has_the_same_tree(query: str, same: str) -> None:
    assert ask(query) == ask(same)


def test_aliases_do_not_touch_the_private_part() -> None:
    one = ask("SELECT hospital AS a, SUM(cost) AS b FROM visits AS v WHERE v.age > 1 AND urgent GROUP BY a")
    other = ask("SELECT SUM(cost) AS x, hospital FROM visits WHERE urgent AND age > 1 GROUP BY visits.hospital")
    assert (one.table, one.keys, one.aggregates, one.where) == (other.table, other.keys, other.aggregates, other.where)


def test_equal_aggregates_are_asked_once() -> None:
    asked = ask("SELECT SUM(cost), SUM(cost), SUM(COST) + 1 FROM visits HAVING SUM(cost) > 2 ORDER BY SUM(cost)")
    assert len(asked.aggregates) == 1
    assert [output.name for output in asked.steps[0].outputs] == ["sum_cost", "sum_cost_2", "add_sum_cost"]


def test_aggregates_that_differ_by_case_alone_get_names_that_differ() -> None:
    asked = ask("SELECT COUNT(*) FILTER (WHERE diag = 'a'), COUNT(*) FILTER (WHERE diag = 'A') FROM visits")
    assert [one.name for one in asked.aggregates] == ["count", "count_2"]


def test_released_rows_are_reshaped_step_by_step() -> None:
    asked = ask(
        "SELECT h, n * 2 AS twice FROM (SELECT hospital AS h, COUNT(*) AS n FROM visits GROUP BY 1) t "
        "WHERE t.n > 10 ORDER BY twice DESC LIMIT 1"
    )
    assert len(asked.steps) == 2
    assert asked.steps[1].where == Call("greater", (ColumnRef("n"), Literal(10)))
    assert asked.steps[1].order[0].expression == asked.steps[1].outputs[1].expression
    assert asked.where is None


def test_a_histogram_is_a_grouped_count_over_public_bins() -> None:
    asked = ask("SELECT HISTOGRAM(age, 12) FROM visits WHERE urgent")
    assert asked.keys[0].expression == Call("bucket", (ColumnRef("age"), Literal(0), Literal(120), Literal(12)))
    assert [one.function for one in asked.aggregates] == ["count_rows"]
    assert [output.name for output in asked.steps[0].outputs] == ["bin_low", "bin_high", "count"]
    assert asked.steps[0].order[0].expression == ColumnRef(asked.keys[0].name)


def test_quoted_names_hold_anything_and_mean_themselves() -> None:
    assert ask('SELECT COUNT("age ") FROM "Strange name"').aggregates[0].argument == ColumnRef("age ")
    assert ask('SELECT COUNT("X") FROM "Strange name"').aggregates[0].argument == ColumnRef("X")
    assert ask('SELECT COUNT(age) FROM "Strange name"').aggregates[0].argument == ColumnRef("Age")
    with pytest.raises(UnknownName):
        ask('SELECT COUNT("AGE") FROM "Strange name"')
    weird = ask('SELECT COUNT(*) AS "n""; DROP TABLE visits; --" FROM visits')
    assert weird.steps[0].outputs[0].name == 'n"; DROP TABLE visits; --'


@pytest.mark.parametrize(
    ("query", "error", "told"),
    [
        ("SELECT COUNT(*) FROM visit", UnknownName, "did you mean 'visits'"),
        ("SELECT AVG(agee) FROM visits", UnknownName, "did you mean 'age'"),
        ("SELECT AVG(u.age) FROM visits v", UnknownName, "'u'"),
        ("SELECT FLOR(AVG(age)) FROM visits", UnknownName, "did you mean 'FLOOR'"),
        ("SELECT SUM(weight) FROM visits", Unbounded, "declare low and high for column 'weight'"),
        ("SELECT SUM(weight * 2) FROM visits", Unbounded, "LEAST"),
        ("SELECT AVG(LENGTH(diag)) FROM visits", Unbounded, "clamp it"),
        ("SELECT HISTOGRAM(weight, 4) FROM visits", Unbounded, "weight"),
        ("SELECT SUM(diag) FROM visits", WrongKind, "SUM takes numbers"),
        ("SELECT COUNT(*) FROM visits WHERE diag", WrongKind, "WHERE takes a condition"),
        ("SELECT COUNT(*) FROM visits WHERE day > 'soon'", RequestError, "'soon' is not a date"),
        ("SELECT COUNT(*) FROM visits WHERE day > '2024-02-30'", RequestError, "is not a date"),
        ("SELECT COUNT(*) FROM visits WHERE day * 2 > 3", WrongKind, "integer or number"),
        ("SELECT SUM(day) FROM visits", WrongKind, "numbers"),
        ("SELECT STDDEV(day) FROM visits", WrongKind, "numbers"),
        ("SELECT cost, COUNT(*) FROM visits GROUP BY cost", Unsupported, "BIN"),
        ("SELECT hospital, age, COUNT(*) FROM visits GROUP BY hospital", Unsupported, "'age' is neither grouped"),
        ("SELECT hospital FROM visits GROUP BY CUBE (hospital)", Unsupported, "add COUNT"),
        ("SELECT SUM(AVG(age)) FROM visits", Unsupported, "inside another"),
        ("SELECT COUNT(*) FROM visits WHERE COUNT(*) > 1", Unsupported, "HAVING"),
        ("SELECT COUNT(*) FROM visits GROUP BY COUNT(*)", Unsupported, "GROUP BY"),
        ("SELECT hospital, COUNT(*) FROM visits GROUP BY 7", RequestError, "from 1 to 2"),
        ("SELECT hospital, COUNT(*) FROM visits GROUP BY hospital ORDER BY 0", RequestError, "from 1 to 2"),
        ("SELECT COUNT(*) AS n, SUM(age) AS N FROM visits", RequestError, "two columns are called"),
        ("SELECT NULL AS x, COUNT(*) FROM visits", Unsupported, "always NULL"),
        ("SELECT COUNT(*) FROM visits LIMIT 1.5", Unsupported, "LIMIT takes a constant whole number"),
        ("SELECT COUNT(*) FROM visits LIMIT 10 PERCENT", RequestError, ""),
        ("SELECT COUNT(*) FROM visits LIMIT (SELECT 1)", Unsupported, "LIMIT takes a constant"),
        ("SELECT STDDEV(DISTINCT age) FROM visits", Unsupported, "leave DISTINCT out"),
        ("SELECT COUNT(DISTINCT user_id, age) FROM visits", Unsupported, "takes one column"),
        ('SELECT COUNT(DISTINCT x, x) FROM "Strange name"', Unsupported, "takes one column"),
        ('SELECT COUNT(xx) FROM "Strange name"', UnknownName, "did you mean"),
        ("SELECT COUNT(cost, age) FROM visits", Unsupported, "COUNT takes one column"),
        ("SELECT HISTOGRAM(age, 10) AS h FROM visits", Unsupported, "without AS"),
        ("SELECT HISTOGRAM(age, 10), COUNT(*) FROM visits", Unsupported, "alone"),
        ("SELECT HISTOGRAM(age, 10) + 1 FROM visits", Unsupported, "alone"),
        ("SELECT HISTOGRAM(age) FROM visits", WrongKind, "HISTOGRAM(age, 10)"),
        ("SELECT HISTOGRAM(age, 0) FROM visits", WrongKind, "bins"),
        ("SELECT HISTOGRAM(age, age) FROM visits", WrongKind, "bins"),
        (
            "SELECT AVG(SUM(n)) FROM (SELECT hospital, COUNT(*) AS n FROM visits GROUP BY 1)",
            Unsupported,
            "inside another",
        ),
        ("SELECT COUNT(*) FROM (SELECT age FROM visits ORDER BY age LIMIT 3)", Unsupported, "private rows"),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT age FROM visits LIMIT 1)", Unsupported, "COUNT(DISTINCT x)"),
        ("SELECT SUM(cost) FROM (SELECT age FROM visits)", UnknownName, "'cost'"),
        ("WITH a AS (SELECT * FROM visits) SELECT COUNT(*) FROM visits", Unsupported, "never used"),
        ("WITH a AS (SELECT * FROM visits), A AS (SELECT * FROM a) SELECT COUNT(*) FROM a", RequestError, "two CTEs"),
        ("SELECT COUNT(*) FILTER (WHERE age > 1) OVER () FROM visits", Unsupported, "OVER"),
        ("SELECT COUNT(*) FROM visits WHERE age = ?", Unsupported, "parameters"),
        ("SELECT COUNT(*) FROM visits WHERE age = $1", Unsupported, "parameters"),
        ("SELECT COUNT(*) FROM visits WHERE age = 1e400", RequestError, "range of numbers"),
        ("SELECT COUNT(*) FROM visits WHERE age = 99999999999999999999", RequestError, "64 bits"),
        ("SELECT COUNT(*) FROM visits WHERE day > day + INTERVAL age DAY", Unsupported, "constant whole number"),
        ("SELECT COUNT(*) FROM 'visits.csv'", UnknownName, "'visits.csv'"),
        (
            "SELECT DISTINCT hospital, COUNT(*) FROM visits GROUP BY hospital ORDER BY SUM(cost)",
            Unsupported,
            "DISTINCT",
        ),
        ("SELECT LOG(AVG(age)) FROM visits", Unsupported, "LOG10(x)"),
        ("SELECT SUM(CAST(age AS BLOB)) FROM visits", Unsupported, "DOUBLE"),
        ("SELECT AVG(age) FROM visits WHERE age > (1, 2)", Unsupported, "one value at a time"),
        ("SELECT * FROM visits", Unsupported, "lists single rows"),
        ("SELECT COUNT(*), * FROM visits", Unsupported, "neither grouped"),
        (
            "SELECT * EXCLUDE (age) FROM (SELECT age, COUNT(*) n FROM visits GROUP BY age)",
            Unsupported,
            "name the columns",
        ),
        ("FROM visits", Unsupported, "lists single rows"),
        ("SELECT COUNT(*) FROM visits;;; SELECT 1", Unsupported, "one statement"),
        ("SELECT COUNT(*) FRM visits", ParseError, "line 1"),
        ("SELECT COUNT(*) FROM visits WHERE diag = 'x", ParseError, "does not end"),
        ("   ", ParseError, "no query"),
        (";", ParseError, "no query"),
        ("-- nothing", ParseError, "no query"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_what_to_write(query: str, error: type[RequestError], told: str) -> None:
    with pytest.raises(error) as caught:
        ask(query)
    assert told in str(caught.value)


def test_the_person_is_no_measure_even_with_bounds() -> None:
    bounded = Schema(unit=Person("id"), columns={"id": integer(0, 99), "x": integer(0, 9)})
    with pytest.raises(Unsupported, match="identifies the person"):
        parse("SELECT AVG(id) FROM t", {"t": bounded})


def test_a_text_is_wanted() -> None:
    with pytest.raises(ParseError):
        parse(b"SELECT 1", TABLES)  # type: ignore[arg-type]


def test_syntax_errors_say_where_and_show_that_line_alone() -> None:
    with pytest.raises(ParseError) as caught:
        ask("SELECT COUNT(*) AS hidden\nFROM visits WHERE WHERE secret")
    assert caught.value.line == 2
    assert "hidden" not in str(caught.value)
    assert str(caught.value).splitlines()[1:] == ["  FROM visits WHERE WHERE secret", "  " + " " * 22 + "^"]
    assert caught.value.to_dict()["code"] == "request.parse"


def test_the_place_of_an_error_is_marked_in_its_line() -> None:
    def lines(query: str) -> list[str]:
        with pytest.raises(RequestError) as caught:
            ask(query)
        return str(caught.value).splitlines()[1:]

    assert lines("SELECT COUNT(*)\nFROM visits\nWHERE age > 3 AND LISTAGG(diag) = ''\nAND TRUE") == [
        "  WHERE age > 3 AND LISTAGG(diag) = ''",
        "                    ^",
    ]
    assert lines("SELECT AVG(agee) FROM visits") == ["  SELECT AVG(agee) FROM visits", "             ^"]
    assert lines("SELECT SUM(diag) FROM visits") == ["  SELECT SUM(diag) FROM visits", "         ^"]
    shown, caret = lines(
        "SELECT COUNT(*) FROM visits WHERE " + "age > 3 AND " * 30 + "FOO(1) = 2 AND " + "age > 4 AND " * 30 + "TRUE"
    )
    assert len(shown) <= 102
    assert shown[caret.index("^") :].startswith("FOO(1)")
    assert all(line.isprintable() for line in lines("SELECT COUNT(*) FROM visits WHERE \x1b[31m diag = UNNEST(diag)"))


LONG = {
    "5,000 OR terms": "SELECT COUNT(*) FROM visits WHERE " + " OR ".join(["age = 1"] * 5000),
    "600 OR terms": "SELECT COUNT(*) FROM visits WHERE " + " OR ".join(["age=1"] * 600),
    "200 brackets": "SELECT COUNT(*) FROM visits WHERE " + "(" * 200 + "age = 1" + ")" * 200,
    "10 MB": "SELECT COUNT(*) FROM visits WHERE diag = '" + "x" * 10_000_000 + "'",
    "deep CASE": "SELECT SUM(" + "CASE WHEN urgent THEN 1 ELSE " * 100 + "0" + " END" * 100 + ") FROM visits",
    "many minuses": "SELECT SUM(" + "- " * 3000 + "age) FROM visits",
    "many NOTs": "SELECT COUNT(*) FROM visits WHERE " + "NOT " * 3000 + "urgent",
    "many plusses": "SELECT SUM(age" + " + age" * 2000 + ") FROM visits",
    "many casts": "SELECT SUM(age" + "::BIGINT" * 1000 + ") FROM visits",
    "deep functions": "SELECT SUM(" + "ABS(" * 200 + "age" + ")" * 200 + ") FROM visits",
    "deep sub-queries": "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 200 + "visits" + ")" * 200,
    "many indexes": "SELECT SUM(age" + "[1]" * 400 + ") FROM visits",
    "many fields": "SELECT SUM(age" + ".a" * 5000 + ") FROM visits",
    "many unions": "SELECT 1" + " UNION SELECT 1" * 1200,
    "many dots": "SELECT COUNT(*) FROM " + ".".join(["a"] * 5000),
    "unclosed brackets": "SELECT " + "(" * 15_000,
    "many powers": "SELECT SUM(age" + " ^ 2" * 2000 + ") FROM visits",
}


@pytest.mark.parametrize("name", LONG)
def test_long_and_deep_texts_are_refused(name: str) -> None:
    with pytest.raises(RequestError):
        ask(LONG[name])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("many NOTs", "100 levels"),
        ("many minuses", "100 levels"),
        ("deep CASE", "100 levels"),
        ("deep functions", "100 levels"),
        ("many casts", "110 levels"),
        ("many indexes", "lists and structures"),
        ("600 OR terms", "500 ANDs"),
        ("many unions", "UNION"),
        ("many powers", "1,500 operators"),
        ("10 MB", "20,000 characters"),
    ],
)
def test_each_limit_is_named_when_it_is_met(name: str, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        ask(LONG[name])


def test_what_is_allowed_is_read_from_a_deep_stack_too() -> None:
    deepest = "SELECT SUM(" + "ABS(" * (front.MOST_NESTED - 1) + "age" + ")" * (front.MOST_NESTED - 1) + ") FROM visits"
    assert ask(deepest).aggregates
    assert ask("SELECT SUM(age" + " + age" * 60 + ") FROM visits").aggregates
    assert (
        len(ask("SELECT COUNT(*) FROM visits WHERE " + " OR ".join(f"age = {i}" for i in range(400))).where.arguments)
        == 400
    )  # type: ignore[union-attr]

    def sink(levels: int) -> Query:
        return ask(deepest) if levels == 0 else sink(levels - 1)

    limit = sys.getrecursionlimit()
    assert sink(limit - 150).aggregates
    assert sys.getrecursionlimit() == limit
    with pytest.raises(ParseError, match="100 levels"):
        ask("SELECT COUNT(*) FROM visits WHERE " + "(" * 200 + "age = 1" + ")" * 200)
    assert sys.getrecursionlimit() == limit


SOUP = (
    "SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET DISTINCT WITH AS CASE WHEN THEN ELSE END AND OR NOT IN "
    "IS NULL LIKE BETWEEN EXISTS UNION ALL JOIN ON USING OVER FILTER INTERVAL DATE CAST EXTRACT ( ) ( ) , , . ; * + "
    "- / % ^ = < > <> || :: visits v hospital age cost day diag user_id COUNT(*) SUM AVG COUNT HISTOGRAM ROUND ABS "
    "'A' '2024-01-01' 1 0.5 1e9 DAY MONTH BIGINT \" ' $1 ? @ [ ] { } -> := ! ~ & | # -- /* */ PIVOT SAMPLE VALUES"
)
WORDS = tuple(SOUP.split())


@settings(max_examples=700, deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), max_size=25),
    st.sampled_from(["", "SELECT ", "SELECT COUNT(*) FROM visits WHERE "]),
)
def test_word_soup_raises_nothing_but_request_errors(words: list[str], start: str) -> None:
    with contextlib.suppress(RequestError):
        ask(start + " ".join(words))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_any_text_raises_nothing_but_request_errors(text: str) -> None:
    for start in ("", "SELECT ", "SELECT COUNT(*) FROM visits WHERE diag = "):
        with contextlib.suppress(RequestError):
            ask(start + text)


def test_every_function_is_in_the_docs() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "sql.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if not re.search(rf"\b{name}\b", page)] == []
