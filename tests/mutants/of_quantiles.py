"""Breakages of quantiles in queries."""

from __future__ import annotations

from mutant import Mutant, of

_LADDER = "unit/mechanisms/test_rank_ladder.py"

MUTANTS: list[Mutant] = [
    *of(
        "mechanisms.rank_ladder:",
        _LADDER,
        ("OUTWEIGHED = 3", "OUTWEIGHED = 2"),
    ),
    *of(
        "mechanisms.rank_ladder:QuantileLadder.slack",
        _LADDER,
        ("math.ceil(self.unit * log_up(odds) / self.rate)", "math.floor(self.unit * log_up(odds) / self.rate)"),
        ("OUTWEIGHED * (1 - self.alpha) / self.alpha", "(OUTWEIGHED - 1) * (1 - self.alpha) / self.alpha"),
    ),
    *of(
        "mechanisms.rank_ladder:QuantileLadder.weights",
        _LADDER,
        ("max(1, -(-total // OUTWEIGHED))", "max(1, total // OUTWEIGHED)"),
    ),
    *of(
        "mechanisms.rank_ladder:QuantileLadder.rungs",
        _LADDER,
        (
            "{0, self.last, *(rung for rung in every if rung < self.last)}",
            "{0, *(rung for rung in every if rung < self.last)}",
        ),
    ),
    *of(
        "mechanisms.rank_ladder:QuantileLadder._choose",
        _LADDER,
        ("before - self.slack", "margins - self.slack"),
        ("np.minimum(off, self.reach * parts, out=off)", ""),
        (
            "np.where(kept, np.array(self.weights, dtype=np.int64), 0)",
            "np.where(kept | True, np.array(self.weights, dtype=np.int64), 0)",
        ),
        ("self.rate / parts", "self.rate"),
    ),
    *of(
        "mechanisms.rank_ladder:QuantileLadder._margins",
        _LADDER,
        ("below[low] = above[high] = self._far * self.unit", ""),
        ("np.clip(values >> self.digits, 0, self.last)", "np.clip(values, 0, self.last)"),
        ("infinite &= low & high", "infinite &= low | high"),
        ("np.minimum(margins, np.minimum(below, above), out=margins)", "margins = np.minimum(below, above)"),
    ),
    *of(
        "mechanisms.rank_ladder:QuantileLadder._sides",
        _LADDER,
        # L and T swapped: what lies at the lower end counts as below it, and what lies at the upper one as beyond it
        ("np.abs(away) + group * (self.last + 1)", "np.abs(away) + 1 + group * (self.last + 1)"),
        (
            "self._held(aims.whole[:, None] - below - whole) + rest - part",
            "self._held(aims.whole[:, None] - below) + rest",
        ),
        ("aims.rest * times", "aims.rest"),
    ),
    *of(
        "mechanisms.rank_ladder:QuantileLadder.near",
        _LADDER,
        ("-(-self.slack // self.unit)", "0"),
        ("max(-(-self.root(q, most) // self.unit) for q in self.shares)", "0"),
    ),
    *of(
        "mechanisms.rank_ladder:QuantileLadder.event",
        _LADDER,
        ("self.rate * self.span", "self.rate"),
    ),
    *of(
        "mechanisms.rank_ladder:QuantileLadder.wider",
        _LADDER,
        ("self._before[c - more]", "self._before[max(0, c - 2 * more)]"),
        ("tail * _ROUNDED - float(self.beta)", "tail * _ROUNDED"),
    ),
    *of(
        "mechanisms.rank_ladder:QuantileLadder.root",
        _LADDER,
        ("math.isqrt(whole - 1) + 1 + beside", "math.isqrt(whole - 1) + 1"),
        ("_BESIDE * self.heaviest", "self.heaviest"),
    ),
    *of(
        "mechanisms.rank_ladder:sway_of",
        _LADDER,
        ("Fraction(1, unit_of(shares, beta))", "0"),
    ),
    *of(
        "planner.stability:ladder_span",
        "laws/test_quantile_privacy.py",
        (
            "max(span_of(share, scan, sway_of(shares, beta)) for share in shares)",
            "min(span_of(share, scan, sway_of(shares, beta)) for share in shares)",
        ),
        ("sway_of(shares, beta)", "Fraction(0)"),
    ),
    *of(
        "planner.stability:heaviest_of",
        "unit/test_quantile_session.py",
        ("int(limit * 2**shift)", "1"),
        ("return rows", "return 1"),
    ),
    *of(
        "planner.measures:QuantileMeasure.draw",
        "unit/test_quantile_session.py",
        ("chosen[self.column_of(share)]", "chosen[0]"),
    ),
    *of(
        "planner.measures:QuantileMeasure.verify",
        "unit/test_quantile_session.py",
        ("max(map(self.column_of, slot.draw.shares)) > column", "False"),
    ),
    *of(
        "planner.measures:QuantileMeasure.interval",
        "unit/test_quantile_session.py",
        ("tail / len(ladders)", "tail"),
        ("draw.shares.index(share)", "0"),
        ("grid.step / 2 if rounds else Fraction(0)", "Fraction(0)"),
    ),
    *of(
        "planner.selections:without_ladders",
        "unit/test_quantile_session.py",
        ("isinstance(draw, QuantileLadder) and draw.beta", "False"),
    ),
    *of(
        "planner.selections:_ladders",
        "unit/test_quantile_session.py",
        ("part.part(Fraction(1, 2)), alpha / 2", "part.part(Fraction(1, 2)), alpha"),
        ("(alpha / 2, max(alpha / 2, LEAST_ALPHA))", "(alpha, max(alpha / 2, LEAST_ALPHA))"),
        ("scan.schema.unit.touches > 1", "False"),
    ),
    *of(
        "planner.selections:without_rows",
        "laws/test_no_rows.py",
        ("sums[reading.places[-1]] <= least_rows(plan, reading.places[-1])", "values != values"),
    ),
    *of(
        "planner.selections:least_rows",
        "laws/test_no_rows.py",
        ("2 * EMPTY - 1", "0.5"),
    ),
    *of(
        "planner.selections:presence_pass",
        "laws/test_no_rows.py",
        ("part.epsilon", "2 * part.epsilon"),
    ),
    *of(
        "planner.make:_selected",
        "laws/test_no_rows.py",
        ("part = share.part(1 - PART)", ""),
    ),
    *of(
        "results.read:averaged_sums",
        "laws/test_no_rows.py laws/test_rounds.py",
        ("averaged[place] = values[-1]", "averaged[place] = values[0]"),
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
        ("cuts.update(middle + side * (1 << bits) for bits in range(BITS + 1) for side in (-1, 1))", ""),
    ),
    *of(
        "planner.stability:span_of",
        "laws/test_quantile_privacy.py",
        ("2 * (max(share, 1 - share) + sway) * norm", "(max(share, 1 - share) + sway) * norm"),
        ("max(share, 1 - share)", "(min(share, 1 - share) + Fraction(1, 8))"),
        ("2 * (1 + sway)", "(1 + sway)"),
        ("max(share, 1 - share) + sway", "max(share, 1 - share)"),
        ("sensitivity_of(Sum(None, 1, 1), scan).l1", "Fraction(1)"),
    ),
    *of(
        "planner.selections:_values",
        "unit/test_quantile_session.py",
        (
            "QuantileJoint.of(shares, last=last, norm=norm_of(scan), epsilon=held, digits=digits)",
            "QuantileJoint.of(shares, last=last, norm=norm_of(scan) / 2, epsilon=held, digits=digits)",
        ),
    ),
    *of(
        "planner.selections:_unit",
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
        "planner.measures:without_places",
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
        "engines.scan_sql.statement:CountingWriter.write",
        "conformance/test_engines.py",
        ('" JOIN w USING (u)", "sum(w)"', '" JOIN w USING (u)", "count(*)"'),
    ),
    *of(
        "engines.scan_sql.statement:CountingWriter._placed",
        "conformance/test_engines.py",
        ("' WHERE p IS NOT NULL'", "' '"),
    ),
    *of(
        "engines.scan_sql.statement:CountingWriter._near",
        "conformance/test_engines.py",
        (
            'f"(t - n) * {base} < a * {share} + {whole(near.above * near.share.denominator)}"',
            'f"(t - n) * {base} < {whole(near.above * near.share.denominator)}"',
        ),
        (
            'f"t * {base} > a * {share} - {whole(near.below * near.share.denominator)}"',
            'f"t * {base} > a * {share} + {whole(near.below * near.share.denominator)}"',
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
