"""The corpus's own code: it notices each kind of difference, reads blocks as they are written, and loads worlds."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corpus.corpus import (
    EPSILON,
    BadQuestion,
    Outcome,
    Question,
    Rows,
    Worlds,
    bound,
    compare,
    has_order,
    judge,
    open_world,
    read_file,
    with_options,
)
from corpus.run import untyped

ASKED = Question("items/x", "n", "clinic", "SELECT k, n FROM t", "SELECT k, n FROM t")
ORDERED = replace(ASKED, ordered=True)


def counts(*rows: tuple[Any, ...], names: tuple[str, ...] = ("k", "n"), kinds: Any = ("text", "integer")) -> Rows:
    return Rows(names, kinds, rows, (False, True))


PLAIN = counts(("a", 1), ("b", 20))


def test_equal_rows_have_no_difference_in_any_order() -> None:
    assert compare(PLAIN, PLAIN, ORDERED) is None
    assert compare(PLAIN, counts(("b", 20), ("a", 1)), ASKED) is None
    assert compare(PLAIN, counts(("a", 1.0000001), ("b", 20.000001), kinds=("text", "number")), ASKED) is None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (counts(("a", 1), ("b", 21)), "no row is ('b', 20)"),
        (counts(("a", 1), ("c", 20)), "no row is ('b', 20)"),
        (counts(("a", 1)), "no row is ('b', 20)"),
        (counts(("a", 1), ("b", 20), ("b", 20)), "3 rows and not 2"),
        (counts(("a", 1), ("b", 20), ("c", 3)), "3 rows and not 2"),
        (counts(("a", 1), ("b", 20), (None, 3)), "3 rows and not 2"),
        (counts(("a", 1), ("b", None)), "no row is ('b', 20)"),
        (counts((None, 1), ("b", 20)), "no row is ('a', 1)"),
        (counts(("a", 1), ("b", 20), names=("k", "m")), "named 'm' and not 'n'"),
        (counts(("a", 1), ("b", 20), names=("K", "n")), "named 'K' and not 'k'"),
        (counts(("a", "1"), ("b", "20"), kinds=("text", "text")), "of kind text and not integer"),
        (counts(("a", True), ("b", True), kinds=("text", "boolean")), "of kind boolean and not integer"),
    ],
)
def test_each_difference_is_noticed(answer: Rows, words: str) -> None:
    assert words in (compare(PLAIN, answer, ASKED) or "")
    assert compare(PLAIN, answer, ORDERED) is not None


def test_a_wrong_order_is_noticed_where_the_question_has_one() -> None:
    assert compare(PLAIN, counts(("b", 20), ("a", 1)), ORDERED) == "row 1 is ('b', 20) and not ('a', 1)"


def test_null_is_not_zero_and_not_an_empty_text() -> None:
    nothing = counts(("a", None), ("", 20))
    assert compare(nothing, nothing, ASKED) is None
    assert compare(nothing, counts(("a", 0), ("", 20)), ASKED) is not None
    assert compare(nothing, counts(("a", None), (None, 20)), ASKED) is not None


def test_a_declared_group_may_be_empty_only_if_its_count_is_0() -> None:
    assert compare(PLAIN, counts(("a", 1), ("b", 20), ("e", 0)), ASKED) is None
    assert compare(PLAIN, counts(("a", 1), ("b", 20), ("a", 0)), ASKED) is not None
    assert compare(PLAIN, Rows(PLAIN.names, PLAIN.kinds, (*PLAIN.rows, ("e", 0)), (False, False)), ASKED) is not None


def test_whole_numbers_without_noise_are_whole() -> None:
    exact = Rows(PLAIN.names, ("text", "number"), PLAIN.rows, (False, False))
    assert compare(PLAIN, exact, ASKED) == "the column 'n' is of kind number and not integer"


def test_a_tolerance_is_relative_and_holds_for_dates() -> None:
    near = replace(ASKED, close=0.02)
    day = counts(("a", datetime.date(2024, 1, 1)), kinds=("text", "date"))
    assert compare(PLAIN, counts(("a", 1.01), ("b", 20.3), kinds=("text", "number")), near) is None
    assert compare(PLAIN, counts(("a", 1), ("b", 20.5), kinds=("text", "number")), near) is not None
    assert compare(day, counts(("a", datetime.date(2024, 1, 5)), kinds=("text", "date")), near) is None
    assert compare(day, counts(("a", datetime.date(2024, 1, 5)), kinds=("text", "date")), ASKED) is not None
    assert compare(day, counts(("a", datetime.date(2024, 2, 5)), kinds=("text", "date")), near) is not None


def test_names_that_duckdb_makes_up_are_not_compared() -> None:
    made_up = counts(("a", 1), ("b", 20), names=("k", "count_star()"))
    assert compare(made_up, counts(("a", 1), ("b", 20), names=("k", "count")), ASKED) is None
    quoted = replace(ASKED, plain='SELECT k, COUNT(*) AS "How many?" FROM t')
    assert compare(replace(made_up, names=("k", "How many?")), made_up, quoted) is not None


def test_blocks_are_read_as_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "some.sql"
    file.write_text(
        "-- A remark.\n\n-- name: one\n-- world: w\n-- plain: SELECT 1\n--   AS x\n"
        '-- close: 0.5\n-- params: {"2": 3, "1": 2}\n'
        "SELECT 1 AS x -- of one\nFROM t\nORDER BY 1;\n-- name: two\n-- world: w\n-- refused: words\n-- unordered\n"
        "SELECT 2\nORDER BY 1\n;\n"
    )
    one, two = read_file(file)
    assert (one.plain, one.close, one.ordered, one.refused) == ("SELECT 1\nAS x", 0.5, True, None)
    assert one.parameters is not None
    assert bound(one.parameters) == [2, 3]
    assert (two.sql, two.plain, two.ordered, two.refused) == ("SELECT 2\nORDER BY 1", two.sql, False, "words")
    file.write_text("-- name: one\n-- world: w\nSELECT 1;\n" * 2)
    with pytest.raises(BadQuestion, match="two questions are named one"):
        read_file(file)
    file.write_text("-- name: one\n-- world: w\nSELECT 1\n")
    with pytest.raises(BadQuestion, match="does not end"):
        read_file(file)


def test_only_the_outermost_order_counts() -> None:
    assert has_order("SELECT a FROM t ORDER  BY a")
    assert not has_order("SELECT a, RANK() OVER (ORDER BY (a)) FROM (SELECT a FROM t ORDER BY a) t")
    assert not has_order("SELECT 'order by' FROM t -- order by")


def test_options_state_the_price_of_the_run() -> None:
    written = with_options("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=.5, Delta = 1e-7, x = 2) epsilon = 3")
    assert f"OPTIONS(epsilon={EPSILON}, Delta = 0.5, x = 2) epsilon = 3" in written


def test_answers_refusals_and_mistakes_are_told_apart() -> None:
    right = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"
    with Worlds() as worlds:

        def verdict(sql: str, plain: str | None = None, refused: str | None = None) -> tuple[str, str]:
            outcome = judge(Question("f", "n", "clinic", sql, plain or sql, refused=refused), worlds["clinic"])
            return outcome.verdict, outcome.message

        assert verdict(right) == ("answered", "")
        assert verdict(right, "SELECT sex, COUNT(*) + 1 AS n FROM patients GROUP BY sex")[0] == "wrong"
        assert verdict(right, "SELECT sex, no_column FROM patients")[0] == "wrong"
        assert verdict("SELECT * FROM patients", refused="single rows")[0] == "rightly refused"
        assert verdict("SELECT * FROM patients", refused="LISTAGG")[0] == "refused"
        assert verdict("SELECT * FROM patients")[0] == "refused"
        assert verdict(right, refused="anything") == ("wrong", "answered, and must be refused")


def test_what_is_no_error_of_privets_is_wrong() -> None:
    world = open_world("sensors")
    world.session.close()
    world.session = None  # type: ignore[assignment]
    sql = "SELECT COUNT(*) AS n FROM indoor"
    outcome = judge(Question("f", "n", "sensors", sql, sql), world)
    world.plain.close()
    world.folder.cleanup()
    assert (outcome.verdict, outcome.crashed) == ("wrong", True)


def test_names_that_nobody_typed_are_found_in_refusals() -> None:
    asked = replace(ASKED, sql="SELECT Unnest(x), STRFTIME(d, '%Y') FROM t")

    def name(message: str) -> str | None:
        return untyped(Outcome(asked, "refused", message))

    assert name("request.unknown_name: there is no function 'EXPLODE'; known: ABS") == "EXPLODE"
    assert name("request.unsupported: JOINS is not supported in TABLE; leave it out") == "JOINS"
    assert name("request.unknown_name: there is no function 'UNNEST'; known: ABS") is None
    assert name("request.unsupported: STRFTIME is not supported") is None
    assert name("request.unsupported: this lists single rows") is None


def test_too_much_noise_is_no_answer() -> None:
    sql = "SELECT SUM(birth_year) AS n FROM patients"
    with Worlds() as worlds:
        same = judge(Question("f", "n", "clinic", sql, sql, like=sql), worlds["clinic"])
        more = judge(Question("f", "n", "clinic", sql, sql, like="SELECT COUNT(*) FROM patients"), worlds["clinic"])
    assert (same.verdict, more.verdict) == ("answered", "refused")
    assert "too much noise" in more.message
