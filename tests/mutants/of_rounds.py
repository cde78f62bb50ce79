"""Breakages of rounds: too dear, too narrow, too many, or stopped by what was not released."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "planner/rounds.py",
        "laws/test_rounds.py",
        ("weight=Fraction(count, 2 ** (count - index))", "weight=Fraction(count, 2 ** (count - index - 1))"),
        ("weight=Fraction(count, 2 ** (count - index))", "weight=Fraction(1)"),
        (
            "room = Among(max(1, measures) * count, max(1, parts) * count, even=True)",
            "room = Among(max(1, measures), max(1, parts))",
        ),
        ("    if count < 2:", "    if False:"),
        ("if narrowest > wanted * (1 + 1e-9):", "if False:"),
        ("    if hidden:", "    if False:"),
    ),
    *of(
        "rounds.py",
        "laws/test_rounds.py",
        ("                    self._admit(plan, index)\n", "                    pass\n"),
        ("if self._fits([one for one in waiting if one.digest not in paid]) or", "if"),
        ("            if answer.accuracy is not None and answer.accuracy.reached:", "            if index == 2:"),
        ("                    if not held:\n                        raise\n", "                    raise\n"),
        ('f"{key}, round {index + 1}"', "key"),
        ('"confidence") != plan.target.confidence', '"confidence") == 2'),
    ),
    *of(
        "rounds.py",
        "statistical/test_round_coverage.py laws/test_rounds.py",
        ("waiting = [one for one in waiting if self._find(one) is None]", "waiting = waiting[:1]"),
    ),
    *of(
        "planner/plan.py",
        "laws/test_rounds.py",
        ("passes=self.passes[place * size : (place + 1) * size]", "passes=self.passes[:size]"),
    ),
    *of(
        "planner/averaging.py",
        "statistical/test_round_coverage.py",
        ("np.asarray(sum(weight * one", "np.asarray(sum(0 * weight + 0.2 * one"),
        (
            "low, high = np.max(several[1], axis=0), np.min(several[2], axis=0)",
            "low, high = several[0][0], several[0][0]",
        ),
    ),
    *of(
        "planner/achieved.py",
        "laws/test_rounds.py",
        ("min(abs(bottom), abs(top))", "max(abs(bottom), abs(top))"),
        ("half = max(top - value, value - bottom)", "half = min(top - value, value - bottom)"),
        ("all(one.reached and one.rows for one in self.columns)", "any(one.reached for one in self.columns)"),
    ),
    *of(
        "planner/verify.py",
        "laws/test_rounds.py",
        ("if rest or any(scan != scans[index % size]", "if any(False"),
    ),
    *of(
        "inference/laws.py",
        "unit/inference/test_bars.py",
        (
            "precise = [(first.scale / law.scale) ** 2 for law in laws]",
            "precise = [first.scale / law.scale for law in laws]",
        ),
        ("one**2 / (one**2 - other**2)", "one / (one - other)"),
    ),
    *of(
        "planner/accuracy.py",
        "laws/test_rounds.py",
        ("if most is not None and price > most:", "if False:"),
        ("    check_reachable(plan, target)\n    return plan", "    return plan"),
    ),
    *of(
        "planner/clipping.py",
        "laws/test_clipping.py",
        ("(bounding.rows if isinstance(bounding, Truncate) else _rows_of(bounding))", "1"),
        (
            "asked = people.agg(people=count_units(), beyond=count_units(where=beyond))",
            "asked = people.agg(people=count_units(), beyond=count_units())",
        ),
        ('relation}_equal" if clamp.at_ends else relation', 'relation}_equal"'),
        ("low = end if low is None else max(low, end)", "low = None"),
    ),
    *of(
        "clipping.py",
        "laws/test_clipping.py",
        (
            "        batch = self.plan_all(questions, epsilon=epsilon, rho=rho, **options)",
            "        batch = self.plan_all(questions, **options)",
        ),
        ("low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)", "pass"),
    ),
]
