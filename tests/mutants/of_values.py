"""Breakages of what is chosen among values in queries."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "planner/winners.py",
        "laws/test_frequent_values.py",
        ("double = 2 if scan.schema.moves", "double = 1 if scan.schema.moves"),
        ("return Fraction(most * double * scan.schema.unit.touches)", "return Fraction(most * double)"),
        ("most = kept * (groups if len(scan.keys) > 1 else 1)", "most = kept"),
        ("most = limit * 2**shift", "most = 2**shift"),
        ("return part.epsilon / choices", "return part.epsilon"),
    ),
    *of(
        "planner/winners.py",
        "unit/test_frequent_road.py",
        ("part = part_of(part, Fraction(1, 2))", "part = part_of(part, Fraction(1, 1))"),
        ("most = min(mode.k, len(option.values))", "most = mode.k"),
    ),
    *of(
        "mechanisms/frequent.py",
        "laws/test_frequent_values.py",
        ("return PureEvent(self.rate * self.span)", "return PureEvent(self.rate)"),
        (
            "return Repeated(ExponentialEvent(epsilon=self.rate * self.span), self.k)",
            "return ExponentialEvent(epsilon=self.rate * self.span)",
        ),
        ("noise.noisy_top(doubled, self.rate / 2,", "noise.noisy_top(doubled, self.rate,"),
    ),
    *of(
        "planner/verify.py",
        "unit/test_frequent_road.py",
        ("if one.winners.span < span_of_scores(one.scan):", "if False:"),
        ("if one.scan.keys[-1].values is None and one.keys is None:", "if False:"),
        ("if one.scan.sums != (rows(None),) or", "if"),
    ),
    *of(
        "engines/sql.py",
        "laws/test_frequent_values.py",
        ("'max(n) AS m'", "'min(n) AS m'"),
    ),
    *of(
        "engines/sql.py",
        "conformance/test_engines.py",
        ('group = ["u", *self.k[:-1]]', 'group = ["u", *self.k]'),
    ),
    *of(
        "planner/make.py",
        "unit/test_frequent_road.py",
        ("measures + len(selections) + len(winners))", "measures + len(selections))"),
        ("keys=spend.keys / max(1, discovers + sum(key.values is None for key in options))", "keys=spend.keys"),
    ),
    *of(
        "planner/others.py",
        "laws/test_other_group.py",
        ("return GroupKey(rest, (*kept, *nulls, label), bool(nulls))", "return GroupKey(key.expression, None, True)"),
        ("rest: Expression = Literal(label)", "rest: Expression = key.expression"),
    ),
    *of(
        "planner/others.py",
        "adversarial/test_own_hostile_sql.py",
        ('return "\\0" not in label and is_unicode(label)', 'return "\\0" not in label'),
    ),
    *of(
        "planner/others.py",
        "unit/test_other_road.py",
        ("value is not None and value != label", "value is not None"),
    ),
    *of(
        "planner/verify.py",
        "unit/test_other_road.py",
        ("if plan.finds_first and plan.passes[0].scan.keys != several:", "if False:"),
    ),
    *of(
        "release.py",
        "unit/test_other_road.py",
        ("if receipt.digest != charged.digest:", "if False:"),
    ),
    *of(
        "planner/ranges.py",
        "laws/test_private_ranges.py",
        ("sensitivity = sensitivity_of(total, scan)", "sensitivity = sensitivity_of(total, replace(scan, keys=()))"),
        ("float(1 - 2 * FALSE / len(ranges))", "float(1 - 2 * FALSE)"),
    ),
    *of(
        "aggregates/span.py",
        "laws/test_private_ranges.py",
        ("above = np.stack(released) > self.threshold", "above = np.stack(released) > 0"),
        ('Call("less" if middle < 0 else "less_equal",', 'Call("less",'),
    ),
    *of(
        "planner/verify.py",
        "unit/test_range_road.py",
        ("if one.buckets and (", "if False and ("),
    ),
    *of(
        "planner/make.py",
        "unit/test_range_road.py",
        ("+ len(values) + len(spans) + discovers", "+ len(values) + discovers"),
    ),
]
