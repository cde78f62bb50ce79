"""Answers as tables: bars never look narrower than they are, columns line up, nothing is wider than the screen."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.answer import Series
from privet.cli.screen import print_columns, print_facts, print_table
from privet.display import (
    Figures,
    bar,
    error_up,
    figures,
    html_lines,
    html_table,
    number_like,
    percent,
    plain_sql,
    printable,
    round_down,
    shown_estimate,
    wrap,
)


def noisy(values: list[Any], low: list[float], high: list[float]) -> Series:
    return Series("n", tuple(values), tuple(low), tuple(high), tuple(0.0 for _ in values))


def read(text: str) -> float:
    return float(text.replace(",", ""))


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6)), min_size=1, max_size=5))
def test_a_bar_is_never_shown_narrower_than_it_is(rows: list[tuple[float, float, float]]) -> None:
    values, low, high = (list(part) for part in zip(*[(v, v - a, v + b) for v, a, b in rows], strict=True))
    shown, bars = figures(noisy(values, low, high), 0.95)
    slack = 1e-6 * max(abs(value) for value in [*low, *high]) * 1e-6
    for value, cell, text, bottom, top in zip(values, shown.cells, bars.cells, low, high, strict=True):
        decimals = len(cell.partition(".")[2])
        assert abs(read(cell) - value) <= 0.5000001 * 10**-decimals + slack
        if text.startswith("± "):
            half = read(text[2:])
            assert half >= max(top - value, value - bottom) - slack - 1e-8 * 10**-decimals
        else:
            left, right = text[1:-1].split(", ")
            assert read(left) <= bottom + slack + 1e-8 * 10**-decimals
            assert read(right) >= top - slack - 1e-8 * 10**-decimals


def test_whole_numbers_have_no_decimals_and_others_two_digits_of_the_bar() -> None:
    assert figures(
        noisy(
            [1234567, 3],
            [1234000.5, -2],
            [1235133.5, 8],
        ),
        0.95,
    )[0].cells == ("1,234,567", "3")
    shown, bars = figures(noisy([12.34567, 1.0], [12.3, 0.9], [12.39, 1.1]), 0.95)
    assert shown.cells == ("12.346", "1.000")
    assert bars.cells == ("± 0.046", "± 0.100")


def test_uneven_bars_are_shown_by_their_ends_in_the_whole_column() -> None:
    _, bars = figures(noisy([10, 20], [0, 10], [40, 30]), 0.95)
    assert bars.cells == ("[0, 40]", "[10, 30]")


def test_what_is_null_or_without_bounds_is_shown_as_such() -> None:
    shown, bars = figures(noisy([None, 5], [math.nan, 1], [math.nan, 9]), 0.95)
    assert (shown.cells, bars.cells) == (("NULL", "5"), ("", "± 4"))
    shown, bars = figures(noisy([5.5], [-math.inf], [math.inf]), 0.95)
    assert bars.cells == ("± inf",)


def test_a_number_beside_a_column_has_its_decimals() -> None:
    assert number_like(1.23456, noisy([1.5], [1.4], [1.6])) == "1.23"


def test_the_head_of_the_bars_tells_their_confidence() -> None:
    assert figures(noisy([1], [0], [2]), 0.999)[1].head == "99.9%"


@pytest.mark.parametrize("width", [80, 120])
def test_columns_stay_in_line_and_within_the_width(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    keys = [Figures("ward", ("births", "children"), right=False)]
    groups = [
        [Figures(f"column_{i}", ("1,000", "20"), right=True), Figures("95%", ("± 10", "± 1"), right=True)]
        for i in range(9)
    ]
    print_columns(keys, groups, rows=2)
    blocks = capsys.readouterr().out.rstrip("\n").split("\n\n")
    assert len(blocks) > 1
    assert sum(block.count("column_") for block in blocks) == 9
    for block in blocks:
        lines = block.splitlines()
        assert max(map(len, lines)) <= width
        assert len({len(line) for line in lines}) == 1
        assert [line.split()[0] for line in lines] == ["ward", "births", "children"]


def test_rows_beyond_the_most_are_counted_and_do_not_widen(capsys: pytest.CaptureFixture[str]) -> None:
    print_columns([Figures("k", ("a", "a very long key"), right=False)], [], rows=2, most=1)
    assert capsys.readouterr().out == "k\na\n... and 1 more\n"


def test_the_last_column_of_a_table_wraps_beside_the_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    print_table(("n", "what"), [("1", "word " * 30), ("10", "one\ntwo")], right=(0,))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[0] == " n  what"
    assert all(line.startswith("    word") for line in lines[2:4])
    assert lines[-2:] == ["10  one", "    two"]


def test_facts_stand_in_line_beside_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts([("cost", "epsilon 1"), ("", "more")])
    assert capsys.readouterr().out == "cost  epsilon 1\n      more\n"


def test_text_that_would_move_the_cursor_is_not_printed() -> None:
    assert printable("a\x1b[2Jb\nc\u202e") == "a?[2Jb?c?"
    assert wrap("", 80) == [""]


@pytest.mark.parametrize(
    ("share", "shown", "told"),
    [(0, "░░░░", "0%"), (1e-9, "█░░░", "0.1%"), (0.5, "██░░", "50%"), (0.9999, "███░", "100%"), (1, "████", "100%")],
)
def test_a_bar_shows_what_is_not_nothing_and_leaves_room_for_what_is_not_all(
    share: float, shown: str, told: str
) -> None:
    assert bar(share, 4) == shown
    assert percent(share) == told


@given(st.floats(1e-9, 1e6))
def test_what_is_left_is_rounded_down(value: float) -> None:
    assert value * 0.98 <= float(round_down(value)) <= value


@pytest.mark.parametrize(
    ("sql", "plain"),
    [
        ('("age" >= 18)', "age >= 18"),
        ('(("age" >= 18) AND ("b" < 3))', "(age >= 18) AND (b < 3)"),
        ('("a" = 1) OR ("b" = 2)', "(a = 1) OR (b = 2)"),
        ("(\"Age\" = ')(')", "\"Age\" = ')('"),
        ('"ward"', "ward"),
    ],
)
def test_sql_is_shown_as_people_write_it(sql: str, plain: str) -> None:
    assert plain_sql(sql) == plain


# Every table is printed by one function


def test_the_last_column_wraps_between_words_and_no_line_ends_in_blanks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    print_table(("n", "account", "what"), [("1", "ana", "word " * 20), ("20", "ben", "x" * 70)], right=(0,))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == " n  account  what"
    assert lines[1].startswith(" 1  ana      word word")
    assert lines[2].startswith(" " * 13 + "word")
    assert all(len(line) <= 60 for line in lines[:-1])
    assert lines[-1] == "20  ben      " + "x" * 70  # a word is never broken
    assert lines == [line.rstrip() for line in lines]


def test_names_of_facts_stay_in_line_with_wide_letters(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts([("病棟", "first"), ("ward", "[bold]second[/bold] :smile:")])
    assert capsys.readouterr().out == "病棟  first\nward  [bold]second[/bold] :smile:\n"


def test_a_table_without_rows_shows_its_heads(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("entry", "why"), [])
    assert capsys.readouterr().out == "entry  why\n"


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (171301, 719.3, "171,301 ± 720"),
        (170582.04, 1234.5, "170,582 ± 1,300"),
        (3.14159, 0.01234, "3.142 ± 0.013"),
        (0.5, 0.0, "0.5 ± 0"),
        (12, 10.0, "12 ± 10"),
        (2.0, 0.3 + 1e-17, "2 ± 0.3"),
    ],
)
def test_an_error_has_two_digits_and_a_number_as_many_decimals(value: float, error: float, shown: str) -> None:
    assert shown_estimate(value, error) == shown


@given(st.floats(1e-9, 1e12))
def test_an_error_is_rounded_up_to_two_digits(error: float) -> None:
    up = error_up(error)
    assert error * (1 - 1e-12) <= up <= error * 1.1000001
    assert float(f"{up:.2g}") == up


def test_html_escapes_every_value_and_counts_what_it_leaves_out() -> None:
    wild = "<script>alert(1)</script>&\"'"
    rows = tuple(f"{wild}{index}" for index in range(25))
    made = html_table([Figures(wild, rows, right=False), Figures("n", ("1",) * 25, right=True)]) + html_lines([wild])
    assert "<script" not in made
    assert made.count("&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#x27;") == 22
    assert made.count("<tr>") == 21
    assert "... and 5 more" in made
