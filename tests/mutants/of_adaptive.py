"""Breakages of mechanisms that adapt to the data, and of the draws made for them."""

from __future__ import annotations

from mutant import Mutant, of

SMOOTH = "unit/mechanisms/test_smooth.py"
ADAPTIVE = "unit/mechanisms/test_adaptive.py"
JOINT = "unit/mechanisms/test_joint_quantiles.py"
QUANTILES = "unit/mechanisms/test_quantile.py"
MUTANTS: list[Mutant] = [
    *of(
        "noise.choosing:",
        "unit/noise/test_noise_choose.py",
        ("1 + 2.0**-40", "1 - 2.0**-40"),
    ),
    *of(
        "noise.choosing:envelope",
        "unit/noise/test_noise_choose.py",
        ("bounds += present", "bounds += 0"),
    ),
    *of(
        "noise.choosing:choose_from",
        "unit/noise/test_noise_choose.py",
        ("accepts(ratio, rate * int(behind[index]), source=source)", "True"),
    ),
    *of(
        "noise.choosing:accepts",
        "unit/noise/test_noise_choose.py",
        ("excess > 0.0", "excess > 1e-9"),
    ),
    *of(
        "noise.choosing:reaches",
        "unit/noise/test_noise_choose.py",
        ("Fraction(least) >= x - Fraction(low_above) + Fraction(high_below)", "True"),
    ),
    *of(
        "noise.coins:heads_from",
        "unit/noise/test_noise_choose.py",
        ("(source.word() >> (WORD_BITS - tosses % WORD_BITS)).bit_count()", "source.word().bit_count() % 2"),
    ),
    *of(
        "mechanisms.quantile_one:half_range",
        QUANTILES,
        ('max(q, 1 - q) if neighbors == "add-remove" else Fraction(1)', "Fraction(1, 2)"),
        ('max(q, 1 - q) if neighbors == "add-remove" else Fraction(1)', "max(q, 1 - q)"),
    ),
    *of(
        "mechanisms.quantile_one:options",
        QUANTILES,
        ("np.maximum(np.maximum(ranks[:-1], -ranks[1:]), 0)", "np.abs(ranks[1:])"),
    ),
    *of(
        "mechanisms.quantile_one:choose_place",
        QUANTILES,
        ("accepts(Fraction(1), steepness * further)", "True"),
        ("start + Below(int(widths[chosen])).draw()", "start"),
    ),
    *of(
        "mechanisms.quantile_several:RecursiveQuantiles.__init__",
        QUANTILES,
        ("sides * self.levels", "self.levels"),
    ),
    *of(
        "mechanisms.quantile_several:RecursiveQuantiles.levels",
        QUANTILES,
        ("len(self.shares).bit_length()", "1"),
    ),
    *of(
        "mechanisms.quantile_several:RecursiveQuantiles._choose",
        QUANTILES,
        ('self.level_epsilon / (2 * half_range(q, "add-remove"))', "2 * self.level_epsilon"),
    ),
    *of(
        "mechanisms.quantile_several:JointRanks.draw",
        JOINT,
        ("accepts(ratio / self._room, self._exponent(ranks), source=source)", "True"),
    ),
    *of(
        "mechanisms.quantile_several:JointRanks._propose",
        JOINT,
        ("Fraction(total, bound)", "1"),
        (
            "share * Fraction(int(self._widths[t]), self._places) ** k / math.factorial(k)",
            "share * Fraction(int(self._widths[t]), self._places) ** k",
        ),
    ),
    *of(
        "mechanisms.quantile_several:_spread",
        JOINT,
        ("start < n", "start < 0"),
    ),
    *of(
        "mechanisms.quantile_several:_pick",
        JOINT,
        ("bounds += allowed", "bounds += 0"),
    ),
    *of(
        "mechanisms.quantile_several:Quantiles.__init__",
        JOINT,
        ("total - counting", "total"),
        ("total / 4", "total / 2"),
    ),
    *of(
        "mechanisms.quantile_several:Quantiles.event",
        JOINT,
        ("4 * self.kappa", "2 * self.kappa"),
    ),
    *of(
        "mechanisms.quantile_several:Quantiles.release",
        JOINT,
        ("number = max(0, number + noise.discrete_laplace(1 / self.count_epsilon))", "pass"),
    ),
    *of(
        "mechanisms.quantile_one:Listed.split",
        QUANTILES,
        ("self.ranks(place)[1]", "self.ranks(place)[0]"),
    ),
    *of(
        "mechanisms.quantile_one:Listed.window",
        QUANTILES,
        ("start + 1", "1"),
    ),
    *of(
        "noise.heavy:power_region.inside",
        "unit/noise/test_noise_heavy.py",
        ("u0 ** (p - 2)", "2 * u0 ** (p - 2)"),
    ),
    *of(
        "noise.heavy:student_region",
        "unit/noise/test_noise_heavy.py",
        ('whole(degrees, "degrees", least=1, most=64)', 'whole(degrees, "degrees", least=1, most=64) + 1'),
    ),
    *of(
        "noise.heavy:_draw",
        "unit/noise/test_noise_heavy.py",
        ("size if source.word() & 1 else -size", "size"),
    ),
    *of(
        "noise.heavy:laplace_from",
        "unit/noise/test_noise_heavy.py",
        ("2 * scale", "scale"),
    ),
    *of(
        "noise.heavy:laplaces_from",
        "unit/noise/test_noise_heavy.py",
        ("2 * scale", "scale"),
    ),
    *of(
        "noise.heavy:settle",
        "unit/noise/test_noise_heavy.py",
        ("least == most", "True"),
    ),
    *of(
        "noise.heavy:settle_many",
        "unit/noise/test_noise_heavy.py",
        ("(u >= _LEAST_WORD) & (v >= _LEAST_WORD)", "u == u"),
        ("np.abs(left - right) > _TELLS * both", "both > 0"),
        ("(moved < _NARROW) & ~near", "moved < _NARROW"),
        ("kept[lane] = size is not None", "kept[lane] = True"),
    ),
    *of(
        "noise.heavy:_fill",
        "unit/noise/test_noise_heavy.py",
        ("np.where(source.words(accepted.size) & np.uint64(1), accepted, -accepted)", "accepted"),
    ),
    *of(
        "mechanisms.smooth:PowerTail.split",
        SMOOTH,
        ("(1 - share) * total / _slope(self.power)", "(1 - share) * total"),
        ("share * total / (self.power - 1)", "share * total"),
    ),
    *of(
        "mechanisms.smooth:StudentTail.split",
        SMOOTH,
        ("share * total / self.degrees", "share * total"),
    ),
    *of(
        "mechanisms.smooth:LaplaceTail.split",
        SMOOTH,
        ("loss + middle", "2 * loss + middle"),
    ),
    *of(
        "mechanisms.smooth:LaplaceTail.event",
        SMOOTH,
        ("ApproximateEvent(epsilon, self.delta)", "PureEvent(epsilon)"),
    ),
    *of(
        "mechanisms.smooth:SmoothSensitivity.simulate_steps",
        SMOOTH,
        ("self.rung(bound) / self.alpha", "self.rung(bound)"),
    ),
    *of(
        "mechanisms.smooth:SmoothSensitivity.smooth_beta",
        SMOOTH,
        ("self.beta - self.beta / _ROUNDING_SHARE", "self.beta"),
    ),
    *of(
        "mechanisms.smooth:SmoothSensitivity.rung",
        SMOOTH,
        ("math.ceil(Fraction(mantissa) * 2**digits)", "math.floor(Fraction(mantissa) * 2**digits)"),
    ),
    *of(
        "mechanisms.smooth:smooth_bound",
        SMOOTH,
        ('inflate(_steps(most, "most") * math.exp(-rate * len(bounds)))', "0.0"),
    ),
    *of(
        "mechanisms.smooth:SmoothSensitivity._measure",
        SMOOTH,
        ("min(math.ceil(entry / self.ruler.step), self.ruler.last)", "math.floor(entry / self.ruler.step)"),
    ),
    *of(
        "mechanisms.smooth:best_pair.scores",
        SMOOTH,
        ("middle + first - i - 1", "middle + first - i"),
    ),
    *of(
        "mechanisms.smooth:SmoothQuantile._measure",
        SMOOTH,
        ("[0] if low < 0 else []", "near[:1]"),
    ),
    *of(
        "mechanisms.smooth:best_pair",
        SMOOTH,
        ("first + int(near[-1])", "first"),
    ),
    *of(
        "mechanisms.smooth:SmoothQuantile._window",
        SMOOTH,
        ("math.log(self.smooth.ruler.last) - math.log(LEAST_SCALE)", "0.1"),
    ),
    *of(
        "mechanisms.average:Average.release",
        ADAPTIVE,
        ("self._read(n, *map(self.laplace.release, sums))", "self._read(n, self.laplace.release(sums[0]), *sums[1:])"),
    ),
    *of(
        "mechanisms.average:Average.__init__",
        ADAPTIVE,
        ("self.ruler.last", "1"),
    ),
    *of(
        "mechanisms.average:_sum",
        ADAPTIVE,
        ("int((places >> 21).sum(dtype=np.int64)) << 21", "int((places >> 21).sum(dtype=np.int64)) << 20"),
    ),
    *of(
        "mechanisms.propose_test:local_quantile",
        ADAPTIVE,
        ("rows[count - k - 1 : count + 1]", "rows[count - k : count + 2]"),
        ("ruler.last", "places[-1]"),
    ),
    *of(
        "mechanisms.propose_test:ProposeTestRelease._measure",
        ADAPTIVE,
        ("sum(entry <= self.laplace.sensitivity for entry in entries)", "len(entries)"),
    ),
    *of(
        "mechanisms.propose_test:ProposeTestRelease.threshold",
        ADAPTIVE,
        ("math.ceil(log_up(odds) / self.test_epsilon) - 1", "math.ceil(log_up(odds) / self.test_epsilon) - 2"),
    ),
    *of(
        "mechanisms.propose_test:ProposeTestRelease.event",
        ADAPTIVE,
        ("Composed((test, self.laplace.event))", "test"),
    ),
    *of(
        "mechanisms.propose_test:ProposeTestRelease.release",
        ADAPTIVE,
        ("released if passed else None", "released"),
    ),
    *of(
        "mechanisms.sample_aggregate:SampleAggregate._answers",
        ADAPTIVE,
        ('np.argsort(places, axis=1, kind="stable")', "np.tile(np.arange(size), (count, 1))"),
    ),
    *of(
        "mechanisms.sample_aggregate:SampleAggregate._ask",
        ADAPTIVE,
        ("return ruler.low", "raise BadValue('rows', repr(part), 'others')"),
    ),
    *of(
        "mechanisms.sample_aggregate:SampleAggregate.__init__",
        ADAPTIVE,
        ('not isinstance(aggregate, SmoothQuantile) and aggregate.neighbors != "change-one"', "False"),
    ),
    *of(
        "mechanisms.sample_aggregate:SampleAggregate.simulate",
        "statistical/test_simulated_draws.py",
        ("self.aggregate.simulate(list(values), len(places))", "float(values[0])"),
    ),
    *of(
        "mechanisms.sample_aggregate:SampleAggregate._answers",
        "statistical/test_simulated_draws.py",
        ("places + self.blocks * np.arange(count)[:, np.newaxis]", "0 * places"),
    ),
    *of(
        "mechanisms.sensitivity_sampling:sampling_plan",
        ADAPTIVE,
        ("2 * (allowed - rho) ** 2", "4 * (allowed - rho) ** 2"),
    ),
    *of(
        "mechanisms.sensitivity_sampling:sample_sensitivity",
        ADAPTIVE,
        (
            'max(largest, sum(moves, Fraction(0)) if way == "sum" else max(moves, default=Fraction(0)))',
            'min(Fraction(10**9), sum(moves, Fraction(0)) if way == "sum" else max(moves, default=Fraction(0)))',
        ),
    ),
    *of(
        "mechanisms.sensitivity_sampling:_read",
        ADAPTIVE,
        ("sensitivity.norm != norm", "False"),
    ),
    *of(
        "mechanisms.lattice:Ruler.place",
        QUANTILES,
        ("np.minimum(scaled, last, out=scaled)", "pass"),
    ),
]
