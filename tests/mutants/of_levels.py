"""Mutants of several groupings in one question."""

from __future__ import annotations

from mutant import Mutant, of

LAWS = "laws/test_levels.py"
FORMS = "unit/query/test_levels.py"

MUTANTS: list[Mutant] = [
    *of(
        "inference.levels:_weights",
        LAWS,
        ("variances[outer] * _cells(outer, inner, sizes)", "variances[outer]"),
    ),
    *of(
        "inference.levels:noise_of",
        LAWS,
        ("(1.0 if axis in agree else 0.0) - 1.0 / sizes[axis]", "1.0 if axis in agree else 0.0"),
    ),
    *of(
        "inference.levels:reconcile",
        LAWS,
        ("np.reshape(components[inner], shape) / _cells(axes, inner, sizes)", "np.reshape(components[inner], shape)"),
    ),
    *of(
        "inference.levels:_table",
        "unit/inference/test_mixed.py",
        ("times * np.log1p((scale * t) ** 2)", "np.log1p((scale * t) ** 2)"),
    ),
    *of(
        "inference.levels:Mixed.reach",
        "unit/inference/test_mixed.py",
        ("self.scale * -math.log(tail)", "self.scale"),
    ),
    *of(
        "inference.histogram_tests:goodness_of_fit",
        "unit/inference/test_fit.py",
        ("u - u.mean()", "u"),
        ("noise / n", "1e-9"),
    ),
    *of(
        "inference.histogram_tests:fit_of_noisy_total",
        "unit/inference/test_fit.py",
        ("noise * project @ project.T", "noise * np.eye(p.size)"),
        ("size * (np.diag(p) - np.outer(p, p))", "np.diag(p) - np.outer(p, p)"),
    ),
    *of(
        "study.hypothesis:plan_test",
        "unit/study/test_hypothesis.py",
        ('replace(options, contribution=ONCE, bound="groups")', "options"),
    ),
    *of(
        "aggregates.column_sums:CountUnits",
        LAWS,
        ("additive = False", "additive = True"),
    ),
    *of(
        "planner.groupings:levels_of",
        LAWS,
        ("place not in level", "place < 0"),
    ),
    *of(
        "planner.keys:has_group",
        LAWS,
        ('call("or", listed, missing) if key.nullable else listed', "None"),
        ('call("or", listed, missing) if key.nullable else listed', "listed"),
        ('None if key.nullable else call("not", missing)', "None"),
    ),
    *of(
        "planner.batch:Batch.releases",
        f"{FORMS} {LAWS}",
        ("parts_of(plan)", "parts_of(plan)[:1]"),
    ),
    *of(
        "planner.batch:_planned",
        f"{FORMS} {LAWS}",
        ("levels_of(query, tables)", "levels_of(query, tables)[:1]"),
    ),
    *of(
        "results.read:agreed",
        "statistical/test_level_coverage.py",
        ("_law(noise[axes], released)", "released[axes].times(0.5)"),
    ),
    *of(
        "results.read:_law",
        "statistical/test_level_coverage.py",
        ("(law.scale * factor) ** 2 * times", "(law.scale * factor) ** 2"),
    ),
    *of(
        "query.nodes:crossed",
        FORMS,
        ("amount > MOST_LEVELS", "False"),
        ("len({frozenset(level) for level in made}) < len(made)", "False"),
    ),
]
