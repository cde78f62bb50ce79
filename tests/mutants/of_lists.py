"""Mutants of questions that are read from one release."""

from __future__ import annotations

from mutant import Mutant, of

CELLS = "unit/planner/test_cells.py"
LAWS = "laws/test_shared_releases.py"
ARRANGED = "unit/planner/test_arranged.py"
REGIONS = "unit/query/test_regions.py"

DIFFERENCES = "unit/test_differences.py"
SHARED = "unit/planner/test_shared_counts.py"
TOGETHER = "laws/test_shared_count_sensitivity.py"
MUTANTS: list[Mutant] = [
    *of(
        "strategy.covariances:SubspaceCovariance.between",
        DIFFERENCES,
        ("size * math.prod(many / size for many in lengths)", "size"),
    ),
    *of(
        "strategy.covariances:SubspaceCovariance._varied_between",
        DIFFERENCES,
        ("max(0, min(one[1], other[1]) - max(one[0], other[0]) + 1)", "1"),
    ),
    *of("strategy.reconstruction:difference_of_counts", DIFFERENCES, ("2 * covariance.between(one, other)", "0.0")),
    *of(
        "planner.shared_counts:_measured",
        TOGETHER,
        ("sensitivity_of(total, scan)", "sensitivity_of(sums[0], scan)"),
        ("rho * weights[total] / whole", "rho * weights[total]"),
    ),
    *of("planner.shared_counts:room_for", SHARED, ("2 * measures", "measures")),
    *of("planner.shared_counts:CountShared.saved", SHARED, ("len(self.terms) + self.asked", "len(self.terms) + 1")),
    *of("planner.shared_counts:_best", SHARED, ("_FINE if asked else _FINE * _WIDEST", "_FINE * _WIDEST")),
    *of("planner.shared_counts:errs_less", SHARED, ("max(ratios) <= 1 + 1e-9", "True")),
    *of(
        "planner.batch:_with_shared_counts",
        SHARED,
        (
            'tuple(dict.fromkeys(replace(reading, name="") for part in group for reading in part.readings))',
            'tuple(dict.fromkeys(replace(reading, name="") for reading in group[0].readings))',
        ),
    ),
    *of("planner.plan:_unshared", SHARED, ("plan.unshared", "None")),
    *of("inference.bars:_rounded_width", SHARED, ("places * step - middle", "-middle")),
    *of(
        "results.comparisons:_noises_of",
        DIFFERENCES,
        ("before + sign * factor", "before + factor"),
        ("(number.charge, which, name)", "(number.charge, name)"),
    ),
    *of("results.comparisons:_LawOfSum.above", DIFFERENCES, ("math.exp(high) / 2", "math.exp(high)")),
    *of(
        "results.released_ranges:Ranges.difference",
        DIFFERENCES,
        ("((inner, outside), (outer, inside))", "((inner, inside), (outer, outside))"),
    ),
    *of(
        "query.conditions:ValueSet.both",
        REGIONS,
        ("self.null and other.null", "self.null or other.null"),
        ("max(a, c), min(b, d)", "a, d"),
    ),
    *of("query.conditions:_around", REGIONS, ("math.floor(value) + 1", "math.floor(value)")),
    *of("query.conditions:_truth", REGIONS, ("(inner[0], inner[2], inner[1])", "inner")),
    *of("query.conditions:disjoint", REGIONS, ("one.both(other).empty", "True")),
    *of(
        "planner.cells:which_of",
        ARRANGED,
        ("enumerate(conditions[:-1])", "enumerate(reversed(conditions[:-1]))"),
    ),
    *of("planner.cells:in_block", ARRANGED, ("conjunction(first.where, chosen)", "first.where")),
    *of(
        "planner.cells:_as_one", ARRANGED, ('conjunction(*sorted(common, key=canonical), call("or", *blocks))', "None")
    ),
    *of(
        "planner.arrange:_Price.measured",
        ARRANGED,
        ("(sum(variances) / apart) ** (1 / (self.power + 1))", "1.0"),
    ),
    *of("planner.arrange:_answers", ARRANGED, ("own == set(_cells(alone))", "True")),
    *of("planner.cells:_is_in", CELLS, ("region.has(*atom.pieces[0])", "True")),
    *of(
        "planner.cells:_axis",
        CELLS,
        ("pieces.setdefault(missing, [])", "pieces.pop(missing, None)"),
        ("expression not in question.about", "False"),
    ),
    *of("planner.cells:_Asked.terms", CELLS, ("place not in grouped", "False")),
    *of("planner.cells:_Asked.sizes", CELLS, ("self._levels", "self._levels[:1]")),
    *of(
        "planner.arrange:_noisy_at_each_level",
        CELLS,
        ("any(reading.known for plan in levels.plans for reading in plan.readings)", "False"),
    ),
    *of("planner.arrange:variance_of", CELLS, ("_noisy_at_each_level(plan)", "False")),
    *of("planner.batch:make_batch", CELLS, ("not shared", "False")),
    *of("planner.batch:_sharing", ARRANGED, ("after < before", "after > before")),
    *of("planner.accuracy:EqualSums._summed", CELLS, ("many == 1 or not law.scale", "True")),
    *of(
        "planner.make:_errs_less",
        "unit/planner/test_sums_beside_means.py",
        ("three.parts is not None", "False"),
    ),
    *of(
        "planner.from_strategy:_weighted_groupings",
        CELLS,
        ("range(len(tables[place]))", "range(1)"),
    ),
    *of(
        "results.strategy_cells:_read_levels",
        CELLS,
        ("plan.matrix @ estimates", "estimates[: len(rows)]"),
        ("cell[axes[level].index(place)] if place in axes[level] else None", "cell[0] if cell else None"),
    ),
    *of(
        "planner.accuracy:SummedNoise.of",
        CELLS,
        ("factors**2 * own", "np.abs(factors) * own"),
        ("parts.max(axis=1) / total", "np.ones(len(total))"),
    ),
    *of("planner.accuracy:_terms", CELLS, ("kept(row)", "True")),
    *of(
        "planner.from_strategy:_scanned",
        LAWS,
        (
            "replace(pass_.scan, keys=keys, cells=None, bounding=bounding)",
            "replace(pass_.scan, keys=keys, cells=None)",
        ),
    ),
    *of("planner.from_strategy:FromStrategy.verify", CELLS, ("self.matrix is None", "False")),
    *of(
        "planner.from_strategy:FromStrategy.factors",
        CELLS,
        ("np.linalg.pinv(weighted) / np.sqrt(noise.variances)[None, :]", "np.linalg.pinv(weighted)"),
    ),
    *of(
        "results.strategy_cells:StrategyLeaf.terms",
        CELLS,
        ("(self._digest, place)", "(self._digest, place, row)"),
    ),
    *of(
        "planner.batch:make_batch.bounded",
        LAWS,
        (
            "bounding_for(schema, kept, rule=bound, grouped=True, order=1, distinct=False)",
            "bounding_for(schema, kept, rule=bound, grouped=True, order=2, distinct=False)",
        ),
    ),
    *of("planner.batch:editions_of_batch", ARRANGED, ("batch.before is None", "True")),
]
