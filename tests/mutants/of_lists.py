"""Mutants of questions that are read from one release."""

from __future__ import annotations

from mutant import Mutant, of

ARRANGED = "unit/planner/test_arranged.py"
REGIONS = "unit/query/test_regions.py"

MUTANTS: list[Mutant] = [
    *of(
        "query.regions:ValueSet.both",
        REGIONS,
        ("self.null and other.null", "self.null or other.null"),
        ("max(a, c), min(b, d)", "a, d"),
    ),
    *of("query.regions:_around", REGIONS, ("math.floor(value) + 1", "math.floor(value)")),
    *of("query.regions:_truth", REGIONS, ("(inner[0], inner[2], inner[1])", "inner")),
    *of("query.regions:disjoint", REGIONS, ("one.both(other).empty", "True")),
    *of(
        "planner.blocks:which_of",
        ARRANGED,
        ("enumerate(conditions[:-1])", "enumerate(reversed(conditions[:-1]))"),
    ),
    *of("planner.blocks:in_block", ARRANGED, ("conjunction(first.where, chosen)", "first.where")),
    *of(
        "planner.blocks:_as_one", ARRANGED, ('conjunction(*sorted(common, key=canonical), call("or", *blocks))', "None")
    ),
    *of("planner.arrange:arranged", ARRANGED, ("total < least * _LESS", "True")),
    *of("planner.arrange:_answers", ARRANGED, ("own == set(_cells(alone))", "True")),
    *of("planner.batch:editions_of_batch", ARRANGED, ("batch.before is not None", "False")),
]
