"""Breakages of limits that answers choose, and of losses that intervals cover."""

from __future__ import annotations

from mutant import Mutant, of

LAWS = "laws/test_contributions.py"
COVERAGE = "statistical/test_contribution_coverage.py"
UNITS = "unit/planner/test_chosen_limits.py"

MUTANTS: list[Mutant] = [
    *of(
        "planner.stability:size_sensitivity",
        LAWS,
        ("scan.schema.moves", "'add-remove'"),
        ("plain.of_group(scan.schema.unit.touches)", "plain"),
    ),
    *of(
        "planner.measures:SizeMeasure.verify",
        LAWS,
        ("self.sensitivity != claimed", "False"),
        ("self.mechanism.distance < self.mechanism.moved(claimed)", "False"),
    ),
    *of(
        "planner.measures:SizeMeasure.draw",
        LAWS,
        (
            "limit_for(noisy, deviation / math.sqrt(2), float(self.people))",
            "2 * limit_for(noisy, deviation / math.sqrt(2), float(self.people))",
        ),
        (
            "add_noise([opened.groups.get((place,), (0,))[0] for place in bins], self.mechanism)",
            "[0 for place in bins]",
        ),
    ),
    *of(
        "planner.measures:SizeMeasure.largest",
        UNITS,
        ("scan.schema.most_rows is None", "True"),
    ),
    *of(
        "engines.scan_sql.statement:Writer._sized",
        LAWS,
        ("isqrt(top)", "1"),
        ('f"WHEN e > {edge} THEN {place}"', 'f"WHEN e >= {edge} THEN {place}"'),
        ("reversed(places)", "places"),
        ("self._square(norm)", "'n'"),
    ),
    *of(
        "planner.contributions:with_limit",
        LAWS,
        ("limit**norm.order", "limit"),
        ("_rescaled(measure, scan)", "measure"),
    ),
    *of(
        "planner.contributions:_rescaled",
        LAWS,
        ("noise.sensitivity / noise.scale", "2 * noise.sensitivity / noise.scale"),
        ("sensitivity_of(measure.sum, scan)", "measure.sensitivity"),
        ("noise.grid", "None"),
    ),
    *of(
        "planner.contributions:verify_sizes",
        LAWS,
        ("after.scan.bounding.limit != 1", "False"),
        ("replace(after.scan, sums=()) != replace(pass_.scan, sizes=None)", "False"),
        ('(measure.people is None) != (sizes.of == "lost")', "False"),
        ("not _pays(plan)", "False"),
    ),
    *of("planner.contributions:verify_sizes", UNITS, ('check_covered(plan, "norm")', "None")),
    *of(
        "planner.contributions:_people",
        UNITS,
        ("math.sqrt(2 / math.pi)", "1"),
        ("mean / (measure.sum.most * 2**measure.shift) * cells", "mean / (measure.sum.most * 2**measure.shift)"),
    ),
    *of(
        "planner.contributions:check_covered",
        UNITS,
        ("any(cut_within(plan, [place for reading in plan.readings for place in reading.noisy]))", "False"),
    ),
    *of(
        "planner.contributions:_loss",
        UNITS,
        ("bound(low) * (1 - share) + bound(high) * share", "0.0"),
        ("bound(low) * (1 - share) + bound(high) * share", "bound(high)"),
    ),
    *of(
        "planner.contributions:_loss",
        COVERAGE,
        ("[0, *powers_below(most), most]", "[0, 0, *powers_below(most)]"),
    ),
    *of(
        "planner.make:_add_sizes",
        UNITS,
        ("whole * (1 - part) / count", "whole / count"),
        ("whole * part / len(draft.sums)", "whole / len(draft.sums)"),
    ),
    *of(
        "release:sizes_first",
        LAWS,
        ("receipt.digest != charged.digest", "False"),
        ("not plan.choosing or set(exacts) != set(plan.choosing)", "False"),
    ),
    *of(
        "release:_drawn",
        LAWS,
        ("set(sizes) != set(plan.choosing)", "False"),
        (
            "sizes[place] if place in sizes else pass_.measure.draw(_open(exact), pass_.scan, keys)",
            "pass_.measure.draw(_open(exact), pass_.scan, keys)",
        ),
    ),
    *of(
        "inference.sizes:limit_for",
        LAWS,
        ("max(1, min(2**last, round(2.0 ** float(chosen))))", "min(2**last, round(2.0 ** float(chosen)) - 1)"),
    ),
    *of(
        "inference.sizes:limit_for",
        COVERAGE,
        ("scale * (_SEEN + (place - seen - 1) * _FURTHER)", "-1e300"),
    ),
    *of(
        "inference.sizes:lost_at_most",
        COVERAGE,
        ("float(noise.quantile(np.array([1 - tail]))[0])", "0.0"),
        ("noise.quantile(np.array([1 - tail]))", "noise.quantile(np.array([1 - 3 * tail]))"),
    ),
    *of(
        "results.read:RowBars._with_lost",
        COVERAGE,
        ("min(least, 0)", "0"),
        ("max(most, 0)", "0"),
        ("(high - low) * (lost / np.maximum(left + lost, 1e-300) if lost else np.zeros_like(left))", "0.0 * left"),
    ),
    *of(
        "results.read:read_answer",
        UNITS,
        ("tail / 2 if lost else tail", "tail"),
    ),
    *of(
        "execution.executor:Executor._read_sizes",
        UNITS,
        ("[final.passes[place].scan for place in others]", "[plan.passes[place].scan for place in others]"),
        ("[plan.passes[place].scan for place in plan.choosing]", "[one.scan for one in plan.passes]"),
    ),
    *of(
        "execution.executor:Executor._check_scans",
        UNITS,
        ("(*plan.passes, *(widest.passes if plan.choosing else ()))", "plan.passes"),
    ),
]
