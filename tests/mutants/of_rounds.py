"""Breakages of rounds: too dear, too narrow, too many, or stopped by what was not released."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "planner.rounds:make_rounds",
        "laws/test_rounds.py",
        ("count - index", "count - index - 1"),
        ("Fraction(count, 2 ** (count - index))", "Fraction(1)"),
        (
            "Among(max(1, measures) * count, max(1, parts) * count, even=True, alpha=alpha)",
            "Among(max(1, measures), max(1, parts))",
        ),
        ("(1 - target.confidence) / count", "1 - target.confidence"),
        ("if hidden:\n    ...", "if False:\n    ..."),
    ),
    *of(
        "planner.rounds:_rounds_for",
        "laws/test_rounds.py",
        ("count < 2", "False"),
    ),
    *of(
        "planner.rounds:check_reachable",
        "laws/test_rounds.py",
        ("narrowest > wanted * (1 + 1e-9)", "False"),
    ),
    *of(
        "execution.run_stages:run_rounds",
        "laws/test_rounds.py",
        ("_admit(executor, plan, index)", "pass"),
        ("answer.accuracy is not None and answer.accuracy.reached", "index == 2"),
        ("if not held: raise", "raise"),
        ('f"{key}, round {index + 1}"', "key"),
    ),
    *of(
        "execution.run_stages:_admit",
        "laws/test_rounds.py",
        (
            "_fits(executor, [part for part in waiting if part.digest not in paid]) "
            "or not _fits(executor, waiting[:1])",
            "not _fits(executor, waiting[:1])",
        ),
    ),
    *of(
        "execution.run_stages:_target",
        "laws/test_rounds.py",
        (
            'open_probability(confidence, "confidence") != plan.target.confidence',
            'open_probability(confidence, "confidence") == 2',
        ),
    ),
    *of(
        "execution.run_stages:_admit",
        "statistical/test_round_coverage.py laws/test_rounds.py",
        ("[part for part in waiting if executor.stored(part) is None]", "waiting[:1]"),
    ),
    *of(
        "planner.plan:Plan.round",
        "laws/test_rounds.py",
        ("self.passes[place * size : (place + 1) * size]", "self.passes[:size]"),
    ),
    *of(
        "results.read:averaged_sums",
        "statistical/test_round_coverage.py",
        ("weight * value", "0 * weight + 0.2 * value"),
    ),
    *of(
        "results.read:quantile_intervals",
        "unit/test_quantile_session.py",
        ("np.max([start for start, _ in every], axis=0)", "np.min([start for start, _ in every], axis=0)"),
        ("(low > high) | ranked.extreme", "(low < high) | ranked.extreme"),
    ),
    *of(
        "planner.accuracy:_width",
        "laws/test_rounds.py",
        ("min(abs(bottom), abs(top))", "max(abs(bottom), abs(top))"),
        ("max(top - value, value - bottom)", "min(top - value, value - bottom)"),
    ),
    *of(
        "planner.accuracy:Accuracy.reached",
        "laws/test_rounds.py",
        (
            "all(column.reached and column.rows for column in self.columns)",
            "any(column.reached for column in self.columns)",
        ),
    ),
    *of(
        "planner.verify:verify",
        "laws/test_rounds.py",
        (
            "rest or any(scan != scans[index % size] for index, scan in enumerate(scans))",
            "any(False for index, scan in enumerate(scans))",
        ),
    ),
    *of(
        "inference.bars:averaged",
        "unit/inference/test_bars.py",
        ("(first.scale / law.scale) ** 2", "first.scale / law.scale"),
    ),
    *of(
        "inference.bars:_mixture",
        "unit/inference/test_bars.py",
        ("part**2 / (part**2 - other**2)", "part / (part - other)"),
    ),
    *of(
        "planner.rounds:plan_within",
        "laws/test_rounds.py",
        ("most is not None and price > most", "False"),
        ("check_reachable(plan, target)", ""),
    ),
    *of(
        "execution.clipping:bounding_question",
        "laws/test_clipping.py",
        ("bounding.rows if isinstance(bounding, Truncate) else _rows_of(bounding)", "1"),
        ("count_units(where=beyond)", "count_units()"),
    ),
    *of(
        "execution.clipping:clamping_question",
        "laws/test_clipping.py",
        ('f"{relation}_equal" if clamp.at_ends else relation', 'f"{relation}_equal"'),
    ),
    *of(
        "execution.clipping:_peeled",
        "laws/test_clipping.py",
        ("end if low is None else max(low, end)", "None"),
    ),
    *of(
        "execution.clipping:clipping_report",
        "laws/test_clipping.py",
        (
            "plan_questions(questions, options, catalog)",
            "plan_questions(questions, AskOptions(bound=options.bound), catalog)",
        ),
    ),
    *of(
        "execution.clipping:_share",
        "laws/test_clipping.py",
        ("low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)", "pass"),
    ),
]
