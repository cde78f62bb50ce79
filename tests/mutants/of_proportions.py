"""Breakages of Tulap noise and of tests of proportions."""

from __future__ import annotations

from mutant import Mutant, of

TULAP = "unit/mechanisms/test_tulap.py"
PROPORTIONS = "unit/inference/test_proportion_tests.py golden/test_reference_proportions.py"
MUTANTS: list[Mutant] = [
    *of(
        "mechanisms.tulap:Tulap.event",
        TULAP,
        ("ApproximateEvent(self.loss, self.delta)", "DiscreteLaplaceEvent(steps=1, scale=1 / self.loss)"),
        ("1 / self.loss", "2 / self.loss"),
    ),
    *of("mechanisms.tulap:Tulap._keeps", TULAP, ("place < 0", "place > 0"), ("self.delta == 0", "True")),
    *of(
        "mechanisms.tulap:_Cut.keeps",
        TULAP,
        ("word << BITS | noise.uniform_below(_CELLS)", "word << BITS"),
        ("2**bits - 1 - edge", "2**bits - edge"),
    ),
    *of("mechanisms.tulap:_share", TULAP, ("drop + 2 * exact * b", "drop + exact * b")),
    *of("mechanisms.tulap:_joined", TULAP, ("place * _CELLS + digits - _CELLS // 2", "place * _CELLS + digits")),
    *of(
        "inference.noisy_binomial:SeenCount.of",
        PROPORTIONS,
        ("cls(count, -0.5, 0.5)", "cls(count, 0.5, -0.5)"),
    ),
    *of(
        "inference.noisy_binomial:IntegerNoise.below",
        PROPORTIONS,
        ("(0.5 - part) * (upto - before)", "(0.5 + part) * (upto - before)"),
    ),
    *of("inference.noisy_binomial:NoisyBinomial.at_most", PROPORTIONS, ("-part", "part")),
    *of(
        "inference.proportion_tests:ShareTest.p_value",
        PROPORTIONS,
        ("2 * min(upper(self.equals), lower(self.equals))", "min(upper(self.equals), lower(self.equals))"),
        ("max(upper(self.within[0]), lower(self.within[1]))", "min(upper(self.within[0]), lower(self.within[1]))"),
    ),
    *of("inference.proportion_tests:_power", PROPORTIONS, ("level / 2", "level")),
]
