"""Breakages of asking for accuracy: widths that are not reached, prices that are not the least, words that are lost."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "planner.rounds:cheapest",
        "laws/test_accuracy_first.py",
        ("-1", "5 * PRICES // 6"),
        ("excess(plan, target) <= 1", "excess(plan, target) <= 1.01"),
        ("excess(best, target) > 1", "False"),
    ),
    *of(
        "planner.batch:Needs.total",
        "laws/test_accuracy_together.py",
        ("(*self.sums.values(), *self.keys.values())", "self.sums.values()"),
    ),
    *of(
        "planner.batch:_least.narrow",
        "laws/test_accuracy_together.py",
        ("half <= wanted", "half <= wanted * Fraction(11, 10)"),
    ),
    *of(
        "planner.batch:_least",
        "laws/test_accuracy_together.py",
        ("have is not None and narrow(have)", "have is not None"),
    ),
    *of(
        "planner.batch:_cheapest_parts",
        "laws/test_accuracy_together.py",
        ("spend.keys / max(1, finds)", "spend.keys"),
    ),
    *of(
        "planner.batch:_price_of",
        "laws/test_accuracy_together.py",
        (
            "_room(needs, replace(spend, epsilon=price(middle)))",
            "_room(needs, replace(spend, epsilon=price(middle))) * 2",
        ),
    ),
    *of(
        "execution.batches:plan_questions",
        "laws/test_accuracy_together.py",
        ("_check_alone(epsilon=options.epsilon, rho=options.rho, weights=weights)", "pass"),
    ),
    *of(
        "execution.batches:_read",
        "laws/test_accuracy_together.py",
        ("plan.target.confidence if plan.target else CONFIDENCE", "CONFIDENCE"),
    ),
    *of(
        "planner.accuracy:half_width_of",
        "laws/test_accuracy_first.py laws/test_accuracy_together.py",
        ("(half + _rounding(plan, reading)) * abs(line.factor)", "half + _rounding(plan, reading)"),
        ("reading.aggregate.linear is None", "False"),
        ("half + _rounding(plan, reading)", "half"),
    ),
    *of(
        "planner.accuracy:excess",
        "laws/test_accuracy_first.py laws/test_accuracy_together.py",
        (
            "max(width.half_width / width.wanted for width in reached(plan, target))",
            "min(width.half_width / width.wanted for width in reached(plan, target))",
        ),
    ),
    *of(
        "planner.accuracy:reached",
        "laws/test_accuracy_first.py laws/test_accuracy_together.py",
        ("float(target.confidence)", "0.95"),
    ),
    *of(
        "query.resolve:_times",
        "unit/planner/test_lines.py",
        ("x[0] and y[0]", "False"),
    ),
    *of(
        "query.resolve:_line",
        "unit/planner/test_lines.py",
        ("len(names) > 1", "False"),
    ),
    *of(
        "execution.request:merged",
        "unit/query/test_google_options.py",
        ("wish.delta < delta", "wish.delta < 0"),
        ("owner is None or wish.unit.casefold() != owner.casefold()", "False"),
        ("own is not None and getattr(options, name) is not None", "False"),
        (
            'replace(options, bound="groups", contribution=replace(limited, groups=int(wish.groups)))',
            "replace(options, contribution=replace(limited, groups=int(wish.groups)))",
        ),
    ),
    *of(
        "query.sql.parse:_without_options",
        "unit/query/test_google_options.py",
        ("clause is not None", "False"),
        ("name in options", "False"),
    ),
    *of(
        "query.sql.parse:split_wish",
        "laws/test_accuracy_first.py",
        ("raise ParseError(_FORM, line=token.line, column=token.col)", "pass"),
        ('"CONFIDENCE" in wish and "WITHIN" not in wish', "False"),
    ),
    *of(
        "results.read:RowBars._numbers",
        "laws/test_accuracy_first.py",
        ("low, high = (low, high) if line.factor >= 0 else (high, low)", "pass"),
    ),
]
