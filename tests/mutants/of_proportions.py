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
        "planner.tulap_counts:TulapMeasure.verify",
        "unit/planner/test_tulap_counts.py",
        ("sensitivity_of(scan.sums[0], scan).l1 > 1", "False"),
        ("scan.keys or scan.discovery is not None or scan.sizes is not None or scan.products is not None", "False"),
        ("len(scan.sums) != 1 or scan.sums[0].expression is not None or scan.bounding.shift", "False"),
    ),
    *of(
        "planner.tulap_counts:TulapMeasure.events",
        "unit/planner/test_tulap_counts.py",
        ("(self.mechanism.event,)", "(Tulap(epsilon=self.mechanism.loss).event,)"),
    ),
    *of(
        "planner.tulap_counts:TulapMeasure.draw",
        "unit/planner/test_tulap_counts.py",
        ("self.mechanism.release(int(count))", "Tulap(epsilon=self.mechanism.loss).release(int(count))"),
        ("math.floor(noisy + _HALF)", "math.floor(noisy)"),
    ),
    *of(
        "planner.share_plan:with_tulap",
        "unit/planner/test_tulap_counts.py unit/study/test_proportions.py",
        ("not spend.delta", "False"),
        ("Tulap(epsilon=spend.epsilon, delta=allowed)", "Tulap(epsilon=2 * spend.epsilon, delta=allowed)"),
        ("sensitivity_of(scan.sums[0], scan).l1 > 1", "False"),
    ),
    *of(
        "study.proportions:Proportion._truncated",
        "unit/study/test_proportions.py",
        ("TulapNoise(measure.mechanism)", "IntegerNoise(DiscreteLaplace(scale=1 / measure.mechanism.loss))"),
    ),
    *of("study.hypothesis:plan_family", "unit/study/test_proportions.py", ("hypothesis.own_noise", "False")),
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
    *of("inference.proportion_tests:power_of", PROPORTIONS, ("level / 2", "level")),
    *of(
        "inference.noisy_binomial:SumLaw.at_least",
        "unit/inference/test_share_tests.py",
        ("x - _FURTHER * self._blur", "x"),
    ),
    *of(
        "inference.noisy_binomial:SumLaw._above",
        "unit/inference/test_share_tests.py",
        ("side * angles", "-side * angles"),
    ),
    *of(
        "inference.proportion_tests:CountedShare.sizes",
        "unit/inference/test_share_tests.py",
        ("(-spread, spread, 0)", "(0,)"),
    ),
    *of(
        "inference.proportion_tests:CountedShare.moved",
        "unit/inference/test_share_tests.py",
        ("share * (self.misses or 0)", "share * share * (self.misses or 0)"),
    ),
    *of(
        "inference.proportion_tests:_reach_of_two.beyond",
        "unit/inference/test_share_tests.py",
        ("(drop / (1 + a)) ** 2", "drop / (1 + a)"),
    ),
    *of(
        "query.frame:with_condition",
        "unit/study/test_proportions.py",
        (
            "{**source.columns, name: _read(rows, text, parameter)}",
            "{name: _read(rows, text, parameter)}",
        ),
    ),
    *of(
        "query.frame:_read",
        "unit/study/test_proportions.py",
        ("parsed.where is None or replace(parsed, where=None) != bare", "parsed.where is None"),
    ),
    *of(
        "study.proportions:seen_count",
        "unit/study/test_proportions.py",
        ("(word + 0.5) / 2**BITS - 0.5", "(word + 0.5) / 2**BITS"),
        ("word is None", "not word"),
    ),
    *of(
        "release:_drawn",
        "unit/study/test_proportions.py",
        ("noise.uniform_below(2**64)", "int(plan.digest[:16], 16)"),
    ),
    *of(
        "execution.executor:_packed",
        "unit/study/test_proportions.py",
        ("released.word", "None"),
    ),
    *of("study.proportions:_check_people", "unit/study/test_proportions.py", ("schema.unit.timed", "False")),
    *of(
        "study.hypothesis:plan_test",
        "unit/study/test_proportions.py",
        ("options.contribution not in (None, ONCE)", "False"),
    ),
    *of(
        "inference.finding:adjusted_p_values",
        "unit/study/test_family.py",
        ("(many - rank) * given[place]", "given[place]"),
        ("1 / k", "1 / k / k"),
        ("Fraction(p) / part", "Fraction(p)"),
    ),
    *of(
        "inference.proportion_tests:too_many",
        "unit/study/test_proportions.py",
        ("chance >= _UNLIKELY", "chance >= 0"),
        ("chance >= _UNLIKELY", "chance >= 0.5"),
    ),
    *of(
        "inference.finding:read_shares",
        "unit/study/test_family.py",
        ("sum(parts) > 1", "sum(parts[:many]) > 1"),
        ("len(parts) < many", "False"),
        ("range(1, many + 1)", "range(many)"),
    ),
    *of(
        "study.hypothesis:Family.judge",
        "unit/study/test_family.py",
        ("len(made) != len(self.hypotheses)", "False"),
        ("len(made) > len(self.hypotheses)", "False"),
    ),
    *of(
        "study.hypothesis:Family.__post_init__",
        "unit/study/test_family.py",
        ('self.method == "benjamini-hochberg"', "False"),
    ),
    *of(
        "study.hypothesis:read_confidence",
        "unit/study/test_family.py",
        ("level > hypothesis.most_confidence", "False"),
    ),
    *of(
        "study.counted_tables:TableHypothesis.has_p_value",
        "unit/study/test_family.py",
        ("getattr(self, 'method', 'auto') != 'naive'", "True"),
    ),
    *of(
        "inference.proportion_tests:power_of_two",
        "unit/inference/test_sample_sizes.py",
        ("critical - abs(true)", "critical"),
        ("level / 2 if test.alternative == 'two-sided' else level", "level / 20"),
    ),
]
