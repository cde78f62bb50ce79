"""Breakages of mechanisms that adapt to the data, and of the draws made for them."""

from __future__ import annotations

from mutant import Mutant, of

SMOOTH = "unit/mechanisms/test_smooth.py"
ADAPTIVE = "unit/mechanisms/test_adaptive.py"
JOINT = "unit/mechanisms/test_joint_quantiles.py"
QUANTILES = "unit/mechanisms/test_quantile.py"
MUTANTS: list[Mutant] = [
    *of(
        "noise/choosing.py",
        "unit/noise/test_noise_choose.py",
        ("ROUND_UP = 1 + 2.0**-40", "ROUND_UP = 1 - 2.0**-40"),
        ("bounds += present", "bounds += 0"),
        ("if accepts(ratio, rate * int(behind[index]), source=source):", "if True:"),
        ("return excess > 0.0", "return excess > 1e-9"),
        ("if Fraction(least) >= x - Fraction(low_above) + Fraction(high_below):", "if True:"),
    ),
    *of(
        "noise/coins.py",
        "unit/noise/test_noise_choose.py",
        ("(source.word() >> (WORD_BITS - tosses % WORD_BITS)).bit_count()", "source.word().bit_count() % 2"),
    ),
    *of(
        "mechanisms/quantile_one.py",
        QUANTILES,
        ('return max(q, 1 - q) if neighbors == "add-remove" else Fraction(1)', "return Fraction(1, 2)"),
        (
            'return max(q, 1 - q) if neighbors == "add-remove" else Fraction(1)',
            "return max(q, 1 - q)",
        ),
        ("off[1::2] = np.maximum(np.maximum(ranks[:-1], -ranks[1:]), 0)", "off[1::2] = np.abs(ranks[1:])"),
        ("if accepts(Fraction(1), steepness * further):", "if True:"),
        ("place = start + Below(int(widths[chosen])).draw()", "place = start"),
    ),
    *of(
        "mechanisms/quantile_recursive.py",
        QUANTILES,
        ('positive(epsilon, "epsilon") / (sides * self.levels)', 'positive(epsilon, "epsilon") / self.levels'),
        ("return len(self.shares).bit_length()", "return 1"),
        ('rate = self.level_epsilon / (2 * half_range(q, "add-remove"))', "rate = 2 * self.level_epsilon"),
    ),
    *of(
        "mechanisms/joint_choice.py",
        JOINT,
        ("if accepts(ratio / self._room, self._exponent(ranks), source=source):", "if True:"),
        ("ratio *= Fraction(total, bound)\n", "ratio *= 1\n"),
        ("** k / math.factorial(k)", "** k"),
        ("if start < n:", "if start < 0:"),
        ("bounds += allowed", "bounds += 0"),
    ),
    *of(
        "mechanisms/quantile_joint.py",
        JOINT,
        ("kappa = (total - counting) / 2", "kappa = total / 2"),
        ("counting, kappa = Fraction(0), total / 4", "counting, kappa = Fraction(0), total / 2"),
        ("return ExponentialEvent(epsilon=4 * self.kappa)", "return ExponentialEvent(epsilon=2 * self.kappa)"),
        ("number = max(0, number + noise.discrete_laplace(1 / self.count_epsilon))", "pass"),
    ),
    *of(
        "mechanisms/tally.py",
        QUANTILES,
        ("cut = self.ranks(place)[1]", "cut = self.ranks(place)[0]"),
        (
            "return Window(rows[ends], ends.astype(np.int64) + (start + 1), start)",
            "return Window(rows[ends], ends.astype(np.int64) + 1, start)",
        ),
    ),
    *of(
        "noise/heavy.py",
        "unit/noise/test_noise_heavy.py",
        ("if u1**p + v1**p <= u0 ** (p - 2) << 2 * bits:", "if u1**p + v1**p <= 2 * u0 ** (p - 2) << 2 * bits:"),
        ('d = whole(degrees, "degrees", least=1, most=64)', 'd = whole(degrees, "degrees", least=1, most=64) + 1'),
        ("            return size if source.word() & 1 else -size", "            return size"),
        ("ExponentialCoin(1 / (2 * scale)).draw", "ExponentialCoin(1 / scale).draw"),
        ("ExponentialCoin(1 / (2 * scale)).fill", "ExponentialCoin(1 / scale).fill"),
        ("if least == most:", "if True:"),
        ("told = (u >= _LEAST_WORD) & (v >= _LEAST_WORD)", "told = u == u"),
        ("(np.abs(left - right) > _TELLS * both)", "(both > 0)"),
        ("((moved < _NARROW) & ~near)", "(moved < _NARROW)"),
        ("np.where(source.words(found.size) & np.uint64(1), found, -found)", "found"),
        ("kept[lane] = size is not None", "kept[lane] = True"),
    ),
    *of(
        "mechanisms/tails.py",
        SMOOTH,
        (
            "return (1 - share) * total / _slope(self.power), share * total / (self.power - 1)",
            "return (1 - share) * total, share * total / (self.power - 1)",
        ),
        (
            "return (1 - share) * total / _slope(self.power), share * total / (self.power - 1)",
            "return (1 - share) * total / _slope(self.power), share * total",
        ),
        ("share * total / self.degrees", "share * total"),
        ("if (exp_up(middle) - 1) * odds <= loss + middle:", "if (exp_up(middle) - 1) * odds <= 2 * loss + middle:"),
        ("return ApproximateEvent(epsilon, self.delta)", "return PureEvent(epsilon)"),
    ),
    *of(
        "mechanisms/smooth.py",
        SMOOTH,
        ("scale, start = self.rung(bound) / self.alpha,", "scale, start = self.rung(bound),"),
        ("return self.beta - self.beta / _ROUNDING_SHARE", "return self.beta"),
        ("Fraction(math.ceil(Fraction(mantissa) * 2**digits))", "Fraction(math.floor(Fraction(mantissa) * 2**digits))"),
        ('inflate(_steps(most, "most") * math.exp(-rate * len(bounds)))', "0.0"),
        ("min(math.ceil(entry / self.ruler.step), self.ruler.last)", "math.floor(entry / self.ruler.step)"),
    ),
    *of(
        "mechanisms/smooth_quantile.py",
        SMOOTH,
        ("start = middle + first - i - 1", "start = middle + first - i"),
        ("padded = np.concatenate(([0] if low < 0 else [], near,", "padded = np.concatenate((near[:1], near,"),
        ("waiting.append((low, i - 1, first, first + int(near[-1])))", "waiting.append((low, i - 1, first, first))"),
        ("largest = math.log(self.smooth.ruler.last) - math.log(LEAST_SCALE)", "largest = 0.1"),
    ),
    *of(
        "mechanisms/average.py",
        ADAPTIVE,
        (
            "return self._read(n, *map(self.laplace.release, sums))",
            "return self._read(n, self.laplace.release(sums[0]), *sums[1:])",
        ),
        ("Laplace(sensitivity=self.ruler.last, epsilon=width)", "Laplace(sensitivity=1, epsilon=width)"),
        ("<< 21) + int(", "<< 20) + int("),
    ),
    *of(
        "mechanisms/local_sensitivity.py",
        ADAPTIVE,
        ("rows[count - k - 1 : count + 1]", "rows[count - k : count + 2]"),
        ("np.where(around >= n, ruler.last,", "np.where(around >= n, places[-1],"),
    ),
    *of(
        "mechanisms/propose_test.py",
        ADAPTIVE,
        ("return answer, sum(entry <= self.laplace.sensitivity for entry in entries)", "return answer, len(entries)"),
        ("math.ceil(log_up(odds) / self.test_epsilon) - 1)", "math.ceil(log_up(odds) / self.test_epsilon) - 2)"),
        (
            "return ThresholdEvent(Composed((test, self.laplace.event)), self.delta)",
            "return ThresholdEvent(test, self.delta)",
        ),
        ("return released if passed else None", "return released"),
    ),
    *of(
        "mechanisms/sample_aggregate.py",
        ADAPTIVE,
        (
            'order = np.argsort(places, axis=1, kind="stable")',
            "order = np.tile(np.arange(size), (count, 1))",
        ),
        ("            return ruler.low\n", "            raise BadValue('rows', repr(part), 'others')\n"),
        (
            'if not isinstance(aggregate, SmoothQuantile) and aggregate.neighbors != "change-one":',
            "if False:",
        ),
    ),
    *of(
        "mechanisms/sample_aggregate.py",
        "statistical/test_simulated_draws.py",
        ("found[places] = self.aggregate.simulate(list(told), len(places))", "found[places] = float(told[0])"),
        ("label = places + self.blocks * np.arange(count)[:, np.newaxis]", "label = 0 * places"),
    ),
    *of(
        "mechanisms/sensitivity_sampling.py",
        ADAPTIVE,
        ("(2 * (allowed - rho) ** 2)", "(4 * (allowed - rho) ** 2)"),
        ("largest = max(largest, ", "largest = min(Fraction(10**9), "),
        ("cast(SampledSensitivity, sensitivity).norm != norm", "False"),
    ),
    *of("mechanisms/ruler.py", QUANTILES, ("np.minimum(scaled, last, out=scaled)", "pass")),
]
