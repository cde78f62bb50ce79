"""Breakages of cross-tabs, of their totals, and of counts of groups."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "query.sql.from_clause:pivoted",
        "unit/test_crosstabs.py",
        ('marked.function.startswith(f"{MARK}count")', "False"),
        ('call("in", over, *(Literal(value) for _, value in values))', "None"),
        ('aggregate("any_value", ColumnRef(own), here)', 'aggregate("any_value", ColumnRef(own), None)'),
    ),
    *of(
        "query.sql.from_clause:_values",
        "unit/test_crosstabs.py",
        ("len({value for _, value in values}) < len(values)", "False"),
    ),
    *of(
        "query.sql.from_clause:_groups",
        "unit/test_crosstabs.py",
        ("not mentions(expression) & hidden", "True"),
    ),
    *of(
        "answer:_crossed",
        "unit/test_pivots.py",
        ("len(set(pairs)) < len(pairs)", "False"),
        ("answer.plan.discovers", "False"),
        ("any(math.isinf(end) for end in ends)", "False"),
    ),
    *of(
        "answer:_totals",
        "unit/test_pivots.py",
        ("() if by is None else (by.name,)", "()"),
        ("replace(total, values=values, may_be_low=sides[0], may_be_high=sides[1])", "total"),
    ),
    *of(
        "answer:_adds_up",
        "unit/test_pivots.py",
        ("function in (OVER_ROWS, BESIDE)", "True"),
    ),
    *of(
        "query.build:_counted_groups",
        "unit/test_counted_groups.py",
        ("alone and not facts[first.name].nullable", "alone"),
        ("step != plain", "False"),
        ("shown != {key.name for key in query.keys}", "False"),
        ("replace(asked, outputs=()) != Select(outputs=())", "False"),
        (
            "replace(query, keys=(), aggregates=(replace(counting, name=name),), steps=(Step(outputs),))",
            "replace(query, aggregates=(replace(counting, name=name),), steps=(Step(outputs),))",
        ),
    ),
    *of(
        "query.build:_told_apart",
        "unit/test_counted_groups.py",
        ('call("replace", own, Literal("~"), Literal("~~"))', "own"),
        (
            'call("concat", Literal("="), call("replace", own, Literal("~"), Literal("~~")))',
            'call("replace", own, Literal("~"), Literal("~~"))',
        ),
    ),
]
