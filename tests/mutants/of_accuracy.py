"""Breakages of asking for accuracy: widths that are not reached, prices that are not the least, words that are lost."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "planner/accuracy.py",
        "laws/test_accuracy_first.py",
        ("low, high = -1, PRICES - 1", "low, high = 5 * PRICES // 6, PRICES - 1"),
        ("if excess(plan, target) <= 1 else", "if excess(plan, target) <= 1.01 else"),
        ("if excess(best, target) > 1:", "if False:"),
    ),
    *of(
        "planner/together.py",
        "laws/test_accuracy_together.py",
        ("(*self.sums.values(), *self.keys.values())", "self.sums.values()"),
        ("half is not None and half <= wanted", "half is not None and half <= wanted * Fraction(11, 10)"),
        ("if have is not None and narrow(have):", "if have is not None:"),
        ("keys=spend.keys / max(1, finds)", "keys=spend.keys"),
        ("epsilon=price(middle))) >= needs.total", "epsilon=price(middle))) * 2 >= needs.total"),
    ),
    *of(
        "several.py",
        "laws/test_accuracy_together.py",
        ("            _check_alone(epsilon=epsilon, rho=rho, weights=weights)", "            pass"),
        ("asked = plan.target.confidence if plan.target else CONFIDENCE", "asked = CONFIDENCE"),
    ),
    *of(
        "planner/target.py",
        "laws/test_accuracy_first.py laws/test_accuracy_together.py",
        ("* abs(line.factor) * reading.aggregate.linear", "* reading.aggregate.linear"),
        ("or reading.aggregate.linear is None:", "or False:"),
        ("(half + _rounding(plan, reading)) * abs", "half * abs"),
        ("return max(one.half_width / one.wanted", "return min(one.half_width / one.wanted"),
        ("float(target.confidence))", "0.95)"),
    ),
    *of(
        "planner/derive.py",
        "unit/planner/test_lines.py",
        ("if x[0] and y[0]:", "if False:"),
        ("len(names) > 1", "False"),
    ),
    *of(
        "planner/options.py",
        "unit/query/test_google_options.py",
        ("wish.delta < delta:", "wish.delta < 0:"),
        ("if owner is None or wish.unit.casefold() != owner.casefold():", "if False:"),
        ("if own is not None and getattr(said, name) is not None:", "if False:"),
        ('bound="groups", contribution=', "contribution="),
    ),
    *of(
        "query/sql_wish.py",
        "unit/query/test_google_options.py",
        ("if depth or found is not None:", "if found is not None:"),
        ("if name in options:", "if False:"),
    ),
    *of(
        "query/sql_wish.py",
        "laws/test_accuracy_first.py",
        ("            raise ParseError(_FORM, line=token.line, column=token.col)\n    if", "            pass\n    if"),
        ('if "CONFIDENCE" in found and "WITHIN" not in found:', "if False:"),
    ),
    *of(
        "row_bars.py",
        "laws/test_accuracy_first.py",
        ("low, high = (low, high) if line.factor >= 0 else (high, low)", "pass"),
    ),
]
