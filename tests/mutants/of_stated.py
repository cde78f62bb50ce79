"""Breakages of bounds that a question states, and of what is made of them."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "planner.stability:_given",
        "laws/test_different_values.py",
        ("kept * most, (kept * most) ** 2", "Fraction(kept), Fraction(kept) ** 2"),
    ),
    *of(
        "engines.scan_sql.statement:Writer._different",
        "unit/query/test_sums_of_values.py",
        (
            'f"SELECT {pair}, max(w) AS w FROM {self.nested(held)} GROUP BY {pair}"',
            'f"SELECT {pair}, w FROM {self.nested(held)}"',
        ),
    ),
    *of(
        "query.expressions:_implied",
        "unit/query/test_implied_bounds.py",
        ("""(function == "and") == true""", """function == "and\""""),
        ("_implied(arguments[0], true=not true)", "_implied(arguments[0], true=true)"),
    ),
    *of(
        "query.expressions:_either",
        "unit/query/test_implied_bounds.py",
        ("first.keys() & other.keys()", "first.keys() & first.keys()"),
        ("max(high, top)", "min(high, top)"),
    ),
    *of(
        "planner.make:_argument",
        "unit/query/test_implied_bounds.py",
        ("conditions.narrow or not facts.bounded", "not facts.bounded"),
        ("typed_where(expression, limited, conditions.of_rows)", "typed_where(expression, limited, ())"),
    ),
    *of(
        "planner.batch:with_wider_parts",
        "unit/query/test_implied_bounds.py",
        ("before[rows]", "made[rows]"),
    ),
    *of(
        "planner.make:with_earlier",
        "unit/query/test_implied_bounds.py",
        ("with_before(made(narrow=False), lambda: made(narrow=False, apart=True))", "made()"),
    ),
    *of(
        "query.expressions:_narrowed",
        "unit/query/test_implied_bounds.py",
        ("_within((facts.low, facts.high), ends)", "ends"),
    ),
    *of(
        "planner.make:_stated_ends",
        "unit/query/test_stated_bounds.py",
        ("min(max(own, low), high)", "own"),
    ),
    *of(
        "planner.make:make_plan",
        "unit/query/test_stated_bounds.py",
        ("replace(kept, rows=1)", "replace(kept, rows=2)"),
    ),
    *of(
        "query.inside:_outer",
        "unit/query/test_stated_bounds.py",
        ("stated is None", "stated is not None"),
    ),
    *of(
        "query.inside:_of_one",
        "unit/query/test_stated_bounds.py",
        ("stated.low <= 1 <= stated.high", "stated.low <= 1"),
    ),
]
