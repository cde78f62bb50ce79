"""Breakages of bounds that a question states, and of what is made of them."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
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
        "query.each:_outer",
        "unit/query/test_stated_bounds.py",
        ("stated is None", "stated is not None"),
    ),
    *of(
        "query.each:_of_one",
        "unit/query/test_stated_bounds.py",
        ("stated.low <= 1 <= stated.high", "stated.low <= 1"),
    ),
]
