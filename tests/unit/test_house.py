"""The figures that `make house` prints are counted as they are named."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import privet

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import house

TEXT = '''"""A module.

Its docstring has three lines.
"""

from typing import Any  # a comment beside code counts as code

# a comment

LIMIT = """a text
that is a value"""
"""What the value is for."""


def f(
    x: int,
) -> Any:
    """Return x."""
    return x
'''


def test_lines_of_code_are_neither_blank_nor_comments_nor_docstrings() -> None:
    assert house.code_lines(TEXT) == 1 + 2 + 4
    assert house.code_lines("") == 0
    assert house.code_lines("# nothing\n\n") == 0


def test_the_classes_that_a_check_asks_for_are_named() -> None:
    checks = [ast.parse(one, mode="eval").body for one in ("isinstance(x, Plan)", "isinstance(x, (str, Plan | int))")]
    assert [house.named(one) for one in checks if isinstance(one, ast.Call)] == [{"Plan"}, {"str", "Plan", "int"}]


def test_names_that_come_twice_are_found_once_each() -> None:
    assert house.repeated(["a", "b", "a", "c", "a", "b"]) == ["a", "b"]


def test_a_parameter_that_takes_anything_is_told_from_one_that_holds_anything() -> None:
    assert [house.is_object(one) for one in ("object", "object | None", "Mapping[str, object]", "Number")] == [
        True,
        True,
        False,
        False,
    ]


def test_static_figures_are_of_the_source_that_is_imported() -> None:
    assert Path(privet.__file__).parent == house.SOURCE
    figures = {figure.name: figure.value for figure in house.static_figures()}
    assert figures["files in src"] == len(house.source_files()) > 100
    assert figures["lines of code"] > figures["files in src"]
    mean = figures["lines of code per file, mean"]
    assert mean == figures["lines of code"] / figures["files in src"]
    assert figures["lines of code per file, median"] < 2 * mean
    assert figures["isinstance per 1,000 lines"] == 1000 * figures["isinstance in src"] / figures["lines of code"]
    assert 0 < figures["isinstance of our own classes"] < figures["isinstance in src"]
    assert not any("testing" in path.relative_to(house.SOURCE).parts[0] for path in house.source_files())


def test_a_question_is_followed_from_the_session_to_the_ledger_and_back_to_the_planner() -> None:
    with privet.Session(house.tables(), budget=privet.Approximate(epsilon=10, delta=1e-6)) as session:
        way = house.traced(session)
    assert "session.py" in way.files
    assert way.entries["ledger", "find"] >= 1
    assert way.entries["ledger", "charge"] == 1
    assert len(way.returns()) <= 4


def test_a_figure_is_written_beside_its_aim() -> None:
    assert house.Figure("files", 12_345, 230).line(6) == "files       12,345  aim      230"
    assert house.Figure("files", 230, 230).line(6) == "files          230  aim      230  reached"
    assert house.Figure("time", 0.25, 0.5, unit="s").line(6) == "time        0.25 s  aim    0.5 s  reached"
    assert house.Figure("asking", 11.04, unit="ms").line(6) == "asking       11 ms"
