"""Breakages of regressions: what a unit can move in sums of products, their noise, the laws of intervals."""

from __future__ import annotations

from mutant import Mutant, of

MOVES = "laws/test_moment_sensitivity.py"
FITS = "unit/inference/test_linear.py"
TABLES = "unit/study/test_regression.py"
MUTANTS: list[Mutant] = [
    *of(
        "planner.moments:axes_of",
        MOVES,
        ("constant is None or value in seen[of] or len(kinds) > 1", "False"),
        ('test.function != "equal"', "False"),
    ),
    *of(
        "planner.moments:loss_of",
        MOVES,
        ("total * Fraction(_rows_of(scan) * scan.schema.unit.touches) ** power", "total"),
        ("scan.schema.unit.touches", "1"),
    ),
    *of("planner.stability:_given", MOVES, ("scan.products is not None", "False")),
    *of(
        "planner.moments:_in_a_box",
        MOVES,
        ("m * (m + 1) / 2", "m"),
        ("max(widest, 2 * most)", "most"),
    ),
    *of(
        "planner.moments:_within_a_norm",
        MOVES,
        ("1 / (2 * scale)", "1 / (8 * scale)"),
        ("(2**power if change else 1)", "1"),
    ),
    *of(
        "planner.moments:MomentMeasure.verify",
        MOVES,
        ("loss_of(scan, self.scales, self.family) > self.loss", "False"),
        ("self.shift != scan.bounding.shift", "False"),
    ),
    *of(
        "planner.moment_plan:with_equal_shares",
        "unit/study/test_regression.py",
        ("_EQUAL", "_without_squares(products.norm.over)"),
    ),
    *of(
        "planner.moment_plan:_without_squares",
        "unit/study/test_regression.py",
        ("(features + 3) * (1000 - k) ** 3", "(features + 3) * 4 * (1000 - k) ** 3"),
    ),
    *of(
        "study.regression:run_regression",
        "unit/study/test_regression.py",
        ("replace(moments, plan=kept.plan)", "moments"),
    ),
    *of("planner.moment_plan:_scaled", MOVES, ("shape * loss / price", "shape / price")),
    *of(
        "planner.moment_plan:_row_norm",
        MOVES,
        ("RowNorm(norm.order, limit, over, shift)", "RowNorm(norm.order, 2 * limit, over, shift)"),
    ),
    *of(
        "engines.scan_sql.products:ProductWriter._scaled",
        MOVES,
        ("names[: norm.over]", "names[:1]"),
        ('f"abs({name})"', 'f"({name})"'),
    ),
    *of(
        "engines.scan_sql.products:ProductWriter._of_people",
        MOVES,
        ("with_weight(units, norm, dialect)", "with_weight(units, Norm(1, 10**6, norm.shift), dialect)"),
    ),
    *of(
        "inference.linear:LinearFit._parts",
        FITS,
        ("self.residual_variance(b) * self.moments.rows_each", "self.residual_variance(b)"),
        ("self._sampled * variance", "self._sampled * 0"),
    ),
    *of("inference.linear:LinearFit._added_weights", FITS, ("np.append(-b, 1.0)", "np.append(0 * b, 1.0)")),
    *of("inference.linear:_Profile.bound", FITS, ("low, high = -math.inf, math.inf", "pass")),
    *of(
        "study.regression_table:Regression.moments",
        TABLES,
        ("places[0, index]", "places[0, 0]"),
    ),
    *of(
        "inference.linear:components_of",
        "unit/inference/test_components.py",
        ("gap >= 2 * error", "True"),
        ("float(value) + error", "float(value) + error / 4"),
    ),
    *of(
        "inference.linear:correlation_of",
        "unit/inference/test_components.py",
        ("variance <= _CLEAR * noise", "False"),
        ("1 / max(rows - 3, 1.0)", "0.0"),
    ),
    *of(
        "aggregates.covariance:RegressionLine._bar",
        "unit/test_regression_line.py",
        ("squares(x).offset * to_x**2", "0.0"),
    ),
    *of("study.regression:read_ridge", TABLES, ("not 0 <= strength <= 10**12", "False")),
    *of(
        "study.regression:_products",
        "unit/study/test_regression.py",
        ("part.levels[1:]", "part.levels"),
        ("call('and', *met)", "met[0]"),
    ),
    *of(
        "study.formula:read_formula",
        "unit/study/test_regression.py",
        ("[name for name in product if name not in terms]", "[]"),
    ),
]
