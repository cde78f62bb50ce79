"""Breakages of running totals."""

from __future__ import annotations

from mutant import Mutant, of

MOVED = "laws/test_prefix_sensitivity.py"
TOTALS = "unit/test_running_session.py"
MUTANTS: list[Mutant] = [
    *of(
        "planner.stability:reach_of",
        MOVED,
        ("most * scan.schema.unit.touches * total.most * (2 if signed else 1)", "most * scan.schema.unit.touches"),
        ("2 if signed else 1", "1"),
        ("total.ends[0] < 0 < total.ends[1] and scan.schema.moves == 'change-one'", "False"),
    ),
    *of(
        "planner.matrix:_plain",
        MOVED,
        ("(total.power, total.offset) == (1, 0)", "True"),
        ("not total.origin", "True"),
    ),
    *of(
        "planner.prefix_sums:plan_prefixes",
        TOTALS,
        ("canonical(query.keys[0].expression)", "canonical(query.keys[-1].expression)"),
    ),
    *of("planner.prefix_sums:steps_of", TOTALS, ("not ordered", "False")),
    *of("planner.prefix_sums:_over_steps", TOTALS, ("square_root(size)", "identity_strategy(size, measure=noise)")),
    *of(
        "execution.running_history:run_running",
        TOTALS,
        ("plan.counts.plan.passes[0].scan.sums[0].ends[0] >= 0", "True"),
        ("held['may_be_low'] and upward", "held['may_be_low']"),
    ),
    *of(
        "results.released_totals:RunningTotals._order",
        TOTALS,
        ("places.transpose(self.axes).ravel()", "places.ravel()"),
    ),
]
