"""Breakages of mechanisms that adapt to the data, and of the draws made for them."""

from __future__ import annotations

from mutant import Mutant, of

QUANTILES = "unit/mechanisms/test_quantile.py"
MUTANTS: list[Mutant] = [
    *of(
        "noise/choosing.py",
        "unit/noise/test_noise_choose.py",
        ("_ROUND_UP = 1 + 2.0**-40", "_ROUND_UP = 1 - 2.0**-40"),
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
        ("if noise.bernoulli_exp(steepness * further):", "if True:"),
        ("place = start + noise.uniform_below(int(widths[chosen]))", "place = start"),
    ),
    *of(
        "mechanisms/quantile_recursive.py",
        QUANTILES,
        ('positive(epsilon, "epsilon") / (sides * self.levels)', 'positive(epsilon, "epsilon") / self.levels'),
        ("return len(self.shares).bit_length()", "return 1"),
        ('rate = self.level_epsilon / (2 * half_range(q, "add-remove"))', "rate = 2 * self.level_epsilon"),
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
    *of("mechanisms/ruler.py", QUANTILES, ("np.clip(scaled, 0.0, float(self.last), out=scaled)", "pass")),
]
