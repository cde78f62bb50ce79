"""Breakages of quantiles in queries."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "planner.presence:without_rows",
        "laws/test_no_rows.py",
        ("sums[reading.places[-1]] <= least_rows(plan, reading.places[-1])", "values != values"),
    ),
    *of(
        "planner.presence:least_rows",
        "laws/test_no_rows.py",
        ("2 * EMPTY - 1", "0.5"),
    ),
    *of(
        "planner.presence:presence_pass",
        "laws/test_no_rows.py",
        ("part.epsilon", "2 * part.epsilon"),
    ),
    *of(
        "planner.make:_selected",
        "laws/test_no_rows.py",
        ("part = part_of(share, 1 - PART)", ""),
    ),
    *of(
        "results.read:averaged_sums",
        "laws/test_no_rows.py laws/test_rounds.py",
        ("not plan.passes[place[0]].measure.averaged", "not reading.aggregate.sums()"),
    ),
    *of(
        "planner.explain:_limit",
        "laws/test_what_means_are.py",
        ("limit if order == 1 else math.isqrt(limit)", "1"),
    ),
    *of(
        "planner.explain:mean_notes",
        "laws/test_what_means_are.py",
        ("if reading.aggregate.typical is None: continue", "continue"),
    ),
    *of(
        "mechanisms.rank_several:JointPieces._room",
        "conformance/test_every_draw_ends.py",
        ("(self._m + 2) * (_FAR + 8 * excess)", "1e13 * (self._m + 2) * (_FAR + 8 * excess)"),
    ),
    *of(
        "mechanisms.rank_several:JointPieces._edges",
        "conformance/test_every_draw_ends.py",
        ("max(_NEAR, _NEAR_EACH * min(self._m, _PARTS))", "_NEAR"),
    ),
    *of(
        "mechanisms.rank_several:RankSpread.cuts",
        "conformance/test_every_draw_ends.py",
        ("found.update(middle + side * (1 << bits) for bits in range(BITS + 1) for side in (-1, 1))", ""),
    ),
    *of(
        "planner.stability:span_of",
        "laws/test_quantile_privacy.py",
        ("2 * max(share, 1 - share)", "max(share, 1 - share)"),
        ("2 * max(share, 1 - share) * norm", "2 * min(share, 1 - share) * norm + norm / 4"),
        ("2 * norm", "norm"),
        ("sensitivity_of(Sum(None, 1, 1), scan).l1", "Fraction(1)"),
    ),
    *of(
        "planner.quantiles:selection_pass",
        "unit/test_quantile_session.py",
        (
            "QuantileJoint.of(want.shares, last=last, norm=norm_of(scan), epsilon=held, digits=digits)",
            "QuantileJoint.of(want.shares, last=last, norm=norm_of(scan) / 2, epsilon=held, digits=digits)",
        ),
    ),
    *of(
        "planner.quantiles:_unit",
        "laws/test_quantile_privacy.py",
        ("sum(want.size * want.times for want in wants)", "max(want.size * want.times for want in wants)"),
    ),
    *of(
        "mechanisms.rank_choice:QuantileChoice.event",
        "unit/mechanisms/test_rank_choice.py",
        ("self.rate * self.span", "self.rate"),
    ),
    *of(
        "mechanisms.rank_choice:QuantileChoice.near",
        "unit/mechanisms/test_rank_choice.py",
        (
            "Near(self.share, self.reach - self.offset, self.reach + self.offset, bits)",
            "Near(self.share, self.reach // 2, self.reach // 2, bits)",
        ),
    ),
    *of(
        "mechanisms.rank_choice:QuantileChoice._choose",
        "unit/mechanisms/test_rank_choice.py",
        ("held.padded(pad, self.last)", "held.padded(1, self.last)"),
    ),
    *of(
        "mechanisms.rank_choice:choose_ranks",
        "unit/mechanisms/test_rank_choice.py",
        ("np.minimum(off, reach * aims.denominator, out=off)", ""),
        ("np.maximum(np.maximum(low, -high), 0)", "np.abs(high)"),
        ("lefts[(2 * starts + every)[some]] = 0", "pass"),
        ("top[some] = through[ends[some] - 1]", "pass"),
        ("lefts[chosen] + noise.below_each(widths[chosen])", "lefts[chosen]"),
    ),
    *of(
        "mechanisms.rank_choice:Grouped.coarser",
        "unit/mechanisms/test_rank_choice.py",
        ("np.add.reduceat(self.weights, kept)", "self.weights[kept]"),
        ("first[_starts(self.sizes)[self.sizes > 0]] = True", "pass"),
    ),
    *of(
        "mechanisms.rank_choice:Grouped.padded",
        "unit/mechanisms/test_rank_choice.py",
        ("self.places + 1", "self.places"),
    ),
    *of(
        "noise.choosing:envelopes",
        "unit/noise/test_noise_choose_each.py",
        ("bounds += present", "bounds += 0"),
        ("np.ldexp(ROUND_UP, units)", "np.ldexp(1.0 - 2.0**-40, units)"),
    ),
    *of(
        "noise.choosing:choose_each_from",
        "unit/noise/test_noise_choose_each.py",
        ("chosen[left[kept]] = index[kept]\nleft = left[~kept]", "chosen[left] = index\nleft = left[:0]"),
    ),
    *of(
        "noise.choosing:accepts_each",
        "unit/noise/test_noise_choose_each.py",
        ("excess > 0.0", "excess > 1e-9"),
        ("(uniform > 2.0**-20) & (x < FAR) & (np.abs(excess) > slack)", "np.abs(excess) > 0"),
    ),
    *of(
        "noise.choosing:below_each_from",
        "unit/noise/test_noise_choose_each.py",
        ("words > last", "words > _LAST_WORD"),
    ),
    *of(
        "mechanisms.rank_several:QuantileTree._choose",
        "laws/test_quantile_privacy.py",
        ("2 * max(q, 1 - q) * self.norm", "self.norm"),
        ("(start, cut)", "(start, end)"),
    ),
    *of(
        "mechanisms.rank_several:QuantileTree.event",
        "laws/test_quantile_privacy.py",
        ("self.levels", "1"),
    ),
    *of(
        "mechanisms.rank_several:choose_spread",
        "laws/test_quantile_privacy.py",
        ("noise.bernoulli_exp(further)", "True"),
    ),
    *of(
        "mechanisms.rank_several:JointPieces.draw",
        "laws/test_quantile_privacy.py",
        ("accepts(ratio / self._most, self._exponent(places), source=source)", "True"),
        ("Fraction(width**k, math.factorial(k))", "Fraction(width**k)"),
    ),
    *of(
        "mechanisms.rank_several:JointPieces._exponent",
        "laws/test_quantile_privacy.py",
        (
            "[0, *(self._found.before(place) for place in places), self._total]",
            "[self._total, *(self._found.before(place) for place in places), self._total]",
        ),
    ),
    *of(
        "mechanisms.rank_several:QuantileJoint.of",
        "laws/test_quantile_privacy.py",
        ("2 * norm", "norm"),
    ),
    *of(
        "mechanisms.rank_several:QuantileJoint.event",
        "laws/test_quantile_privacy.py",
        ("2 * self.kappa", "self.kappa"),
    ),
    *of(
        "mechanisms.rank_several:QuantileJoint.counting",
        "laws/test_quantile_privacy.py",
        (
            "Laplace(sensitivity=self.norm, scale=self.norm / self.count_epsilon)",
            "Laplace(sensitivity=1, scale=self.norm / self.count_epsilon)",
        ),
    ),
    *of(
        "planner.measures:QuantileMeasure.verify",
        "unit/test_quantile_session.py",
        ("not enough or draw.last != last", "draw.last != last"),
        ("not enough or draw.last != last", "not enough"),
        ("draw.norm >= norm_of(scan)", "True"),
    ),
    *of(
        "planner.measures:_without_places",
        "unit/test_quantile_session.py",
        ("scan.places is not None", "False"),
    ),
    *of(
        "planner.measures:_close_enough",
        "unit/test_quantile_session.py",
        (
            "near.share == least.share and near.below >= least.below and near.above >= least.above",
            "near.share == least.share and near.above >= least.above",
        ),
        (
            "near.share == least.share and near.below >= least.below and near.above >= least.above",
            "near.share == least.share and near.below >= least.below",
        ),
        (
            "near.share == least.share and near.below >= least.below and near.above >= least.above",
            "near.below >= least.below and near.above >= least.above",
        ),
        ("return False", "return True"),
    ),
    *of(
        "engines.scan_sql.statement:_Counting.write",
        "conformance/test_engines.py",
        ('" JOIN w USING (u)", "sum(w)"', '" JOIN w USING (u)", "count(*)"'),
    ),
    *of(
        "engines.scan_sql.statement:_Counting._placed",
        "conformance/test_engines.py",
        ("' WHERE p IS NOT NULL'", "' '"),
    ),
    *of(
        "engines.scan_sql.statement:_Counting._near",
        "conformance/test_engines.py",
        (
            'f"(t - n) * {one} < a * {share} + {whole(near.above * near.share.denominator)}"',
            'f"(t - n) * {one} < {whole(near.above * near.share.denominator)}"',
        ),
        (
            'f"t * {one} > a * {share} - {whole(near.below * near.share.denominator)}"',
            'f"t * {one} > a * {share} + {whole(near.below * near.share.denominator)}"',
        ),
        ("' FROM s WHERE NOT near UNION ALL '", "' FROM s WHERE false UNION ALL '"),
        (
            "'ORDER BY p ROWS UNBOUNDED PRECEDING) AS t, sum(n) OVER ('",
            "'ORDER BY p DESC ROWS UNBOUNDED PRECEDING) AS t, sum(n) OVER ('",
        ),
    ),
    *of(
        "engines.dialects.duckdb:DuckDBDialect.numbered",
        "conformance/test_engines.py",
        ("'SELECT v, min(c) AS c FROM (SELECT unnest('", "'SELECT v, 0 AS c FROM (SELECT unnest('"),
    ),
]
