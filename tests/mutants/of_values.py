"""Breakages of what is chosen among values in queries."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "planner.stability:span_of_scores",
        "laws/test_frequent_values.py",
        ('2 if scan.schema.moves == "change-one" else 1', '1 if scan.schema.moves == "change-one" else 1'),
        ("most * double * scan.schema.unit.touches", "most * double"),
        ("kept * (groups if len(scan.keys) > 1 else 1)", "kept"),
        ("limit * 2**shift", "2**shift"),
    ),
    *of(
        "planner.selections:_range_each",
        "laws/test_frequent_values.py",
        ("part.epsilon / choices", "part.epsilon"),
    ),
    *of(
        "planner.selections:winners_pass",
        "unit/test_mode_session.py",
        ("Fraction(1, 2)", "Fraction(1, 1)"),
        ("min(mode.k, len(option.values))", "mode.k"),
    ),
    *of(
        "mechanisms.top_k:Frequent.event",
        "laws/test_frequent_values.py",
        ("PureEvent(self.rate * self.span)", "PureEvent(self.rate)"),
        (
            "Repeated(ExponentialEvent(epsilon=self.rate * self.span), self.k)",
            "ExponentialEvent(epsilon=self.rate * self.span)",
        ),
    ),
    *of(
        "mechanisms.top_k:Frequent._choose",
        "laws/test_frequent_values.py",
        ("self.rate / 2", "self.rate"),
    ),
    *of(
        "planner.measures:ModeMeasure.verify",
        "unit/test_mode_session.py",
        ("self.choice.span < span_of_scores(scan)", "False"),
        ("scan.keys[-1].values is None and self.keys is None", "False"),
        (
            "scan.sums != (rows(None),) or scan.places is not None or scan.distinct or not scan.keys",
            "scan.places is not None or scan.distinct or not scan.keys",
        ),
    ),
    *of(
        "engines.scan_sql.statement:Writer._largest",
        "laws/test_frequent_values.py",
        ("'max(n) AS m'", "'min(n) AS m'"),
    ),
    *of(
        "engines.scan_sql.statement:Writer._largest",
        "conformance/test_engines.py",
        ("self.k[:-1]", "self.k"),
    ),
    *of(
        "planner.make:PlanDraft.alone",
        "unit/test_mode_session.py",
        ("counted + len(self.selections) + len(self.winners)", "counted + len(self.selections)"),
    ),
    *of(
        "planner.make:PlanDraft.spend_each",
        "unit/test_mode_session.py",
        ("self.spend.keys / max(1, finding)", "self.spend.keys"),
    ),
    *of(
        "planner.keys:_mapped",
        "laws/test_other_group.py",
        ("GroupKey(rest, (*kept, *nulls, label), bool(nulls))", "GroupKey(key.expression, None, True)"),
        ("Literal(label)", "key.expression"),
    ),
    *of(
        "planner.keys:_writable",
        "adversarial/test_own_hostile_sql.py",
        ('"\\0" not in label and is_unicode(label)', '"\\0" not in label'),
    ),
    *of(
        "planner.keys:_mapped",
        "unit/test_other_session.py",
        ("value is not None and value != label", "value is not None"),
    ),
    *of(
        "planner.verify:_verify_other",
        "unit/test_other_session.py",
        ("plan.finds_first and plan.passes[0].scan.keys != others", "False"),
    ),
    *of(
        "release:found_first",
        "unit/test_other_session.py",
        ("receipt.digest != charged.digest", "False"),
    ),
    *of(
        "planner.selections:span_pass",
        "laws/test_private_ranges.py",
        ("sensitivity_of(total, scan)", "sensitivity_of(total, replace(scan, keys=()))"),
    ),
    *of(
        "planner.selections:span_pass",
        "unit/test_bounds_session.py",
        ("scan.bounding.shift", "0"),
    ),
    *of(
        "planner.measures:BoundsMeasure.threshold",
        "laws/test_private_ranges.py",
        ("2 * FALSE / len(ranges)", "2 * FALSE"),
    ),
    *of(
        "aggregates.chosen_values:Span.read",
        "laws/test_private_ranges.py",
        ("self.threshold", "0"),
    ),
    *of(
        "aggregates.chosen_values:Span._among",
        "laws/test_private_ranges.py",
        ('"less" if middle < 0 else "less_equal"', '"less"'),
    ),
    *of(
        "planner.measures:BoundsMeasure.verify",
        "unit/test_bounds_session.py",
        ("not scan.keys or scan.keys[-1].values is None", "False"),
    ),
    *of(
        "planner.make:PlanDraft.alone",
        "unit/test_bounds_session.py",
        (
            "sum(map(len, self.sums.values())) + len(self.values) + len(self.spans)",
            "sum(map(len, self.sums.values())) + len(self.values)",
        ),
    ),
]
