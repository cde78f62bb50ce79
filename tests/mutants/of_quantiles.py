"""Breakages of quantiles in queries."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "planner/presence.py",
        "laws/test_no_rows.py",
        (
            "    few = sums[reading.places[-1]] <= least_rows(plan, reading.places[-1])\n",
            "    few = values != values\n",
        ),
        ("measures[at].error(2 * EMPTY - 1)", "measures[at].error(0.5)"),
        (
            "noise: Laplace | Gaussian = Laplace(sensitivity=sensitivity, epsilon=part.epsilon)",
            "noise: Laplace | Gaussian = Laplace(sensitivity=sensitivity, epsilon=2 * part.epsilon)",
        ),
    ),
    *of(
        "planner/make.py",
        "laws/test_no_rows.py",
        ("            part = part_of(share, 1 - PART)\n", ""),
    ),
    *of(
        "planner/averaging.py",
        "laws/test_no_rows.py laws/test_rounds.py",
        ("            if ranked and plan.passes[place[0]].selection is not None:\n", "            if ranked:\n"),
    ),
    *of(
        "planner/mean_words.py",
        "laws/test_what_means_are.py",
        ("most = limit if order == 1 else math.isqrt(limit)", "most = 1"),
        ("        if reading.aggregate.typical is None:\n            continue\n", "        continue\n"),
    ),
    *of(
        "mechanisms/joint_pieces.py",
        "conformance/test_every_draw_ends.py",
        ("largest = (self._m + 2) * (_FAR + 8 * excess)", "largest = 1e13 * (self._m + 2) * (_FAR + 8 * excess)"),
        ("near = max(_NEAR, _NEAR_EACH * min(self._m, _PARTS))", "near = _NEAR"),
    ),
    *of(
        "mechanisms/rank_tree.py",
        "conformance/test_every_draw_ends.py",
        ("        found.update(middle + side * (1 << bits) for bits in range(BITS + 1) for side in (-1, 1))\n", ""),
    ),
    *of(
        "planner/selections.py",
        "laws/test_quantile_privacy.py",
        ("return 2 * max(share, 1 - share) * norm", "return max(share, 1 - share) * norm"),
        ("return 2 * max(share, 1 - share) * norm", "return 2 * min(share, 1 - share) * norm + norm / 4"),
        ("return 2 * norm\n", "return norm\n"),
        ("norm = sensitivity_of(Sum(None, 1, 1), scan).l1\n    if", "norm = Fraction(1)\n    if"),
        ("part.epsilon / sum(want.size * want.times for", "part.epsilon / max(want.size * want.times for"),
    ),
    *of(
        "mechanisms/rank_choice.py",
        "unit/mechanisms/test_rank_choice.py",
        ("return ExponentialEvent(epsilon=self.rate * self.span)", "return ExponentialEvent(epsilon=self.rate)"),
        ("self.reach - self.offset, self.reach + self.offset, bits", "self.reach // 2, self.reach // 2, bits"),
        ("held = held.padded(pad, self.last)", "held = held.padded(1, self.last)"),
    ),
    *of(
        "mechanisms/rank_groups.py",
        "unit/mechanisms/test_rank_choice.py",
        ("    np.minimum(off, reach * aims.denominator, out=off)\n", ""),
        ("np.add.reduceat(self.weights, kept) if", "self.weights[kept] if"),
        ("off[at + 1] = np.maximum(np.maximum(low, -high), 0)", "off[at + 1] = np.abs(high)"),
        (
            "places[at], weights[at] = self.places + 1, self.weights",
            "places[at], weights[at] = self.places, self.weights",
        ),
        ("first[_starts(self.sizes)[self.sizes > 0]] = True", "pass"),
        ("lefts[(2 * starts + every)[some]] = 0", "pass"),
        ("top[some] = through[ends[some] - 1]", "pass"),
        ("return np.asarray(lefts[chosen] + noise.below_each(widths[chosen]))", "return np.asarray(lefts[chosen])"),
    ),
    *of(
        "noise/choosing_each.py",
        "unit/noise/test_noise_choose_each.py",
        ("bounds += present", "bounds += 0"),
        ("np.ldexp(ROUND_UP, units)", "np.ldexp(1.0 - 2.0**-40, units)"),
        (
            "chosen[left[kept]] = index[kept]\n        left = left[~kept]",
            "chosen[left] = index\n        left = left[:0]",
        ),
        ("kept = told & (excess > 0.0)", "kept = told & (excess > 1e-9)"),
        ("(uniform > 2.0**-20) & (x < FAR) & (np.abs(excess) > slack)", "np.abs(excess) > 0"),
        ("words > last", "words > _LAST_WORD"),
    ),
    *of(
        "mechanisms/rank_tree.py",
        "laws/test_quantile_privacy.py",
        ("rate = self.level_epsilon / (2 * max(q, 1 - q) * self.norm)", "rate = self.level_epsilon / self.norm"),
        (
            "return Repeated(ExponentialEvent(epsilon=self.level_epsilon), self.levels)",
            "return Repeated(ExponentialEvent(epsilon=self.level_epsilon), 1)",
        ),
        ("if noise.bernoulli_exp(further):", "if True:"),
        (
            "(found, shares[:middle], (floor, share), (start, cut))",
            "(found, shares[:middle], (floor, share), (start, end))",
        ),
    ),
    *of(
        "mechanisms/joint_pieces.py",
        "laws/test_quantile_privacy.py",
        ("if accepts(ratio / self._most, self._exponent(places), source=source):", "if True:"),
        ("ratio *= Fraction(width**k, math.factorial(k))", "ratio *= Fraction(width**k)"),
        ("ranks = [0, *(self._found", "ranks = [self._total, *(self._found"),
    ),
    *of(
        "mechanisms/rank_joint.py",
        "laws/test_quantile_privacy.py",
        ("(epsilon - counting) / (2 * norm)", "(epsilon - counting) / norm"),
        ("ExponentialEvent(epsilon=2 * self.kappa * self.norm)", "ExponentialEvent(epsilon=self.kappa * self.norm)"),
        ("Laplace(sensitivity=self.norm, scale=", "Laplace(sensitivity=1, scale="),
    ),
    *of(
        "planner/verify.py",
        "unit/test_quantile_road.py",
        ("if not enough or draw.last != last:", "if draw.last != last:"),
        ("if not enough or draw.last != last:", "if not enough:"),
        ("enough, last = draw.norm >= norm_of(one.scan), places.high", "enough, last = True, places.high"),
        ("near.below >= least.below and near.above >= least.above", "near.above >= least.above"),
        ("near.below >= least.below and near.above >= least.above", "near.below >= least.below"),
        ("return near.share == least.share and", "return"),
        (
            "    if isinstance(draw, SeveralRanks):\n        return False",
            "    if isinstance(draw, SeveralRanks):\n        return True",
        ),
        ("if (places is None) != (one.selection is None):", "if False:"),
    ),
    *of(
        "engines/places.py",
        "conformance/test_engines.py",
        ('" JOIN w USING (u)", "sum(w)"', '" JOIN w USING (u)", "count(*)"'),
        ("WHERE p IS NOT NULL", ""),
        ("< a * {share} + ", "< "),
        ("> a * {share} - ", "> a * {share} + "),
        ("FROM s WHERE NOT near UNION ALL", "FROM s WHERE false UNION ALL"),
        ("unnest(range(len(${name}::{kind}[])))::INTEGER AS c", "0 AS c"),
        ("ORDER BY p ROWS UNBOUNDED PRECEDING", "ORDER BY p DESC ROWS UNBOUNDED PRECEDING"),
    ),
]
