"""Breakages of intervals and tests that cover a population."""

from __future__ import annotations

from mutant import Mutant, of

COVERAGE = "statistical/test_population_coverage.py"
ANSWERS = "unit/test_population.py"
EQUATION = "unit/inference/test_equation.py"
LEVELS = "statistical/test_contrast_levels.py"
MEANS = "statistical/test_mean_levels.py"
TESTS = "unit/study/test_means.py"
LAW = "unit/inference/test_convolution.py"

MUTANTS: list[Mutant] = [
    *of(
        "inference.mixed_noise:beyond",
        LAW,
        ("1 - (other / own) ** 2", "1 + (other / own) ** 2"),
        ("np.sqrt(sigma**2 + 2 * (rest**2).sum(axis=0))", "sigma"),
    ),
    *of("inference.mixed_noise:_one_sided", LAW, ("(first - second) / 2", "first / 2")),
    *of(
        "inference.equation:Equation.errors",
        EQUATION,
        ("term.constant + term.slope * theta", "term.constant"),
        ("self.variance(theta)", "0.0 * self.variance(theta)"),
    ),
    *of("inference.equation:Equation.moved", ANSWERS, ("factor * self.top + offset * self.bottom", "self.top")),
    *of("aggregates.column_sums:Counting.equation", COVERAGE, ("np.full_like(count, sampled.most)", "ones")),
    *of("aggregates.column_sums:Mean.equation", COVERAGE, ("most = sampled.most", "most = 1.0")),
    *of("aggregates.aggregate:allowed_for", EQUATION, ("held + _DOUBTED * doubt", "held")),
    *of("results.comparisons:weight_in", ANSWERS, ("math.sqrt(squared * cells)", "math.sqrt(squared)")),
    *of("results.comparisons:weight_in", ANSWERS, ("float(rows * min(cells, groups))", "float(rows)")),
    *of(
        "results.comparisons:weight_in",
        "statistical/test_population_sessions.py",
        ("float(limit)", "1.0"),
    ),
    *of(
        "results.comparisons:PopulationReader.estimand",
        ANSWERS,
        ("max(weight_in(scan) for scan in scans)", "1.0"),
        ("all(scan.schema.unit.rowwise for scan in scans)", "True"),
    ),
    *of("results.comparisons:PopulationReader._used", ANSWERS, ("pass_.scan.schema.unit.touches > 1", "False")),
    *of(
        "inference.contrast:Contrast.p_value",
        LEVELS,
        ("(sign >= 0) == (alternative == 'greater')", "(sign >= 0) != (alternative == 'greater')"),
    ),
    *of("inference.contrast:Contrast.equivalence", LEVELS, ("self.p_value(-margin, alternative='greater')", "0.0")),
    *of(
        "inference.contrast:Contrast._bounded",
        LEVELS,
        ("min(1.0, 2 * np.max(np.where(fits, each, 0.0), initial=0.0))", "0.0"),
    ),
    *of(
        "results.comparisons:compared",
        ANSWERS,
        ("together and places[0] == places[1]", "False"),
        ("2 if together else 1", "1"),
    ),
    *of("answer:Answer._number", ANSWERS, ("len(matching) != 1", "False")),
    *of(
        "inference.contrast:all_equal",
        MEANS,
        ("size if doubted else size - 1", "size - 1"),
    ),
    *of(
        "inference.contrast:_drawn",
        MEANS,
        ("-np.sign(share) * np.log1p(-2 * np.abs(share)) * scale", "0.0 * scale"),
    ),
    *of(
        "inference.contrast:explained_share",
        MEANS,
        ("max(length - radius, 0.0)", "length"),
        ("(length + radius) ** 2", "length ** 2"),
        ("float((share * (1 - share) * variance).sum())", "0.0"),
        ("not deviation > 0", "False"),
    ),
    *of("inference.contrast:effect_interval.p_value", MEANS, ("math.hypot(deviation, d * spread_error)", "deviation")),
    *of("study.means:PairedTest.question", TESTS, ("rows.per_unit(**sides)", "rows")),
    *of("study.means:MeansTest.conclude", TESTS, ("answer.receipt.digest", "str(id(answer))")),
    *of("study.means:_OfMeans.check", TESTS, ("schema.unit.touches > 1", "False")),
]
