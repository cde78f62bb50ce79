"""Mutants of several groupings in one question."""

from __future__ import annotations

from mutant import Mutant, of

LAWS = "laws/test_levels.py"
FORMS = "unit/query/test_levels.py"

MUTANTS: list[Mutant] = [
    *of(
        "inference/levels.py",
        LAWS,
        ("1.0 / (variances[outer] * _cells(outer, inner, sizes))", "1.0 / variances[outer]"),
        ("(1.0 if axis in agree else 0.0) - 1.0 / sizes[axis]", "(1.0 if axis in agree else 0.0)"),
        ("/ _cells(axes, inner, sizes)\n        made", "\n        made"),
    ),
    *of(
        "inference/mixed.py",
        "unit/inference/test_mixed.py",
        ("sum(times * np.log1p", "sum(np.log1p"),
        ("return self.scale * -math.log(tail)", "return self.scale"),
    ),
    *of(
        "inference/fit.py",
        "unit/inference/test_fit.py",
        ("u = u - u.mean()", "u = u"),
        (" + noise / n * np.eye(p.size)", " + 1e-9 * np.eye(p.size)"),
    ),
    *of(
        "planner/levels.py",
        LAWS,
        ("if people or isinstance(", "if isinstance("),
        ("for place, one in enumerate(held) if place not in level]", "for place, one in enumerate(held) if place < 0]"),
    ),
    *of(
        "planner/keys.py",
        LAWS,
        ('return call("or", listed, missing) if key.nullable else listed', "return None"),
        ('return call("or", listed, missing) if key.nullable else listed', "return listed"),
        ('return None if key.nullable else call("not", missing)', "return None"),
    ),
    *of(
        "planner/batch.py",
        f"{FORMS} {LAWS}",
        ("for plan in parts_of(one)}", "for plan in parts_of(one)[:1]}"),
        ("for one in levels_of(query, tables)]", "for one in levels_of(query, tables)[:1]]"),
    ),
    *of(
        "reading_levels.py",
        "statistical/test_level_coverage.py",
        ("laws[level][place] = _law(noise[axes], released)", "laws[level][place] = released[axes].times(0.5)"),
        ("((law.scale * factor) ** 2 * times for", "((law.scale * factor) ** 2 for"),
    ),
    *of(
        "query/levels.py",
        FORMS,
        ("    if amount > MOST_LEVELS:", "    if False:"),
        ("len({frozenset(level) for level in made}) < len(made)", "False"),
    ),
]
