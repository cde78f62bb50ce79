"""Breakages of audits, and of what is simulated for them: a tool that finds nothing must not pass for a proof."""

from __future__ import annotations

from mutant import Mutant, of

SIMULATED = "statistical/test_simulated_draws.py"
REGISTRY = "adversarial/test_registry_audit.py"
MUTANTS: list[Mutant] = [
    *of(
        "audit.report:rate_low",
        "unit/audit/test_bounds.py",
        ("tried - np.maximum(seen, 1) + 1", "tried - np.maximum(seen, 1)"),
    ),
    *of(
        "audit.report:rate_high",
        "unit/audit/test_bounds.py",
        ("betainccinv(seen + 1, np.maximum(tried - seen, 1), wrong)", "seen / tried"),
    ),
    *of(
        "audit.report:epsilon_low",
        "unit/audit/test_bounds.py",
        ("p_low - delta", "p_low"),
    ),
    *of(
        "audit.report:Counts.epsilon",
        "unit/audit/test_bounds.py",
        ("rate_low(self.one, self.trials, wrong)", "self.one / self.trials"),
    ),
    *of(
        "audit.report:power",
        "unit/audit/test_bounds.py",
        ("(other / (chance - delta)) ** more", "(other / (chance - delta)) ** (2 * more)"),
    ),
    *of(
        "audit.blackbox:audit",
        "unit/audit/test_blackbox.py",
        ("draw(value, trials)", "guesses[0]"),
        ("-1 if witness.flipped else 1", "1"),
    ),
    *of(
        "audit.blackbox:_judge",
        "unit/audit/test_blackbox.py",
        ("counts.epsilon(witness.delta, alarm)", "counts.epsilon(0.0, alarm)"),
    ),
    *of(
        "audit.report:Report.refuted",
        "unit/audit/test_blackbox.py",
        ("self.epsilon", "2 * self.epsilon"),
    ),
    *of(
        "audit.releases:_read_each",
        "unit/audit/test_releases.py",
        ("_code(leaf, codes)", "0.0"),
        ("np.full(count, _ABSENT)", "np.zeros(count)"),
    ),
    *of(
        "audit.releases:row_codes",
        "unit/audit/test_releases.py",
        ("bits[:, index]", "bits[:, 0]"),
    ),
    *of(
        "audit.blackbox:_Ratio.learn",
        "unit/audit/test_releases.py",
        ("values[often[seen[often] >= _SEEN]]", "values[:0]"),
    ),
    *of(
        "audit.blackbox:_weights",
        "unit/audit/test_releases.py",
        (
            "np.linalg.solve(spread, scaled[0].mean(axis=0) - scaled[1].mean(axis=0))",
            "np.asarray(scaled[0].mean(axis=0) - scaled[1].mean(axis=0))",
        ),
    ),
    *of(
        "audit.blackbox:_Rows.__call__",
        "unit/audit/test_releases.py",
        ("np.where(self.known[at] == codes, self.table[at], 0.0)", "np.zeros(len(rows))"),
    ),
    *of(
        "audit.releases:_OneByOne._call",
        "unit/audit/test_releases.py",
        ("return Raised(type(error).__name__)", "raise"),
    ),
    *of(
        "audit.releases:_OneByOne.verify_works",
        "unit/audit/test_releases.py",
        ("not self.returned and self.error is not None", "False"),
    ),
    *of(
        "audit.blackbox:find_witness",
        "unit/audit/test_releases.py",
        ("(False, True)", "(False,)"),
    ),
    *of(
        "audit.blackbox:Witness.score",
        "unit/audit/test_releases.py",
        ("-scores if self.flipped else scores", "scores"),
    ),
    *of(
        "cli.audit:audit_own",
        "unit/cli/test_audit_own.py",
        ("not report.refuted and not (bits is not None and bits.refuted)", "not report.refuted"),
    ),
    *of(
        "cli.audit:_claim",
        "unit/cli/test_audit_own.py",
        ("(asked.claimed, asked.delta) if asked.delta else asked.claimed", "(asked.claimed, 0.9)"),
    ),
    *of(
        "plots.curves:plot_audit",
        "unit/plots/test_audit_plots.py",
        ("high[:, 1] < _least(high[:, 0], claims)", "low[:, 1] < -1"),
    ),
    *of(
        "plots.curves:_least",
        "unit/plots/test_audit_plots.py",
        ("1 - delta", "1"),
    ),
    *of(
        "audit.exact:_epsilon",
        "unit/audit/test_exact.py",
        ("above - delta", "above"),
        (
            "sorted(pairs, key=lambda pair: pair[0] / pair[1] if pair[1] else math.inf, reverse=True)",
            "sorted(pairs, key=lambda pair: pair[0] / pair[1] if pair[1] else math.inf, reverse=False)",
        ),
        ("above > delta", "above > 1"),
    ),
    *of(
        "audit.exact:exact_delta",
        "unit/audit/test_exact.py",
        ("(pairs, _turned(pairs))", "(pairs,)"),
    ),
    *of(
        "audit.replay:_as_moved",
        "adversarial/test_replay.py adversarial/test_replay_plans.py",
        ("far <= claim.size", "True"),
    ),
    *of(
        "audit.replay:_Sought.compare",
        "adversarial/test_replay.py adversarial/test_replay_plans.py",
        ("far > self._worst[place][0]", "far < self._worst[place][0]"),
    ),
    *of(
        "audit.replay:_sought",
        "adversarial/test_replay.py adversarial/test_replay_plans.py",
        (
            "[with_found(pass_.scan, values) for values in founds]",
            "[with_found(pass_.scan, values) for values in founds[:1]]",
        ),
    ),
    *of(
        "audit.replay:_releases",
        "adversarial/test_replay.py adversarial/test_replay_plans.py",
        ("plan.releases", "plan.releases[:1]"),
    ),
    *of(
        "audit.neighbours:_steps",
        "unit/audit/test_comparing.py",
        ("one.keys() | other.keys()", "one.keys() & other.keys()"),
    ),
    *of(
        "audit.neighbours:_moved.measured",
        "unit/audit/test_comparing.py",
        ("sum(map(abs, steps))", "max(map(abs, steps), default=0)"),
    ),
    *of(
        "audit.neighbours:_of_winners.measured",
        "unit/audit/test_comparing.py",
        ("max(steps) - min(steps)", "max(steps)"),
    ),
    *of(
        "audit.neighbours:_of_sums",
        "unit/audit/test_comparing.py",
        ("_moved(place, norm, common=common)", "_moved(place, norm, common=True)"),
    ),
    *of(
        "audit.neighbours:_heaviest.measured",
        "unit/audit/test_comparing.py",
        ("len(weights) ** (3 - discovery.order)", "len(weights)"),
    ),
    *of(
        "audit.neighbours:_of_keys",
        "unit/audit/test_comparing.py",
        ("discovery.most", "2 * discovery.most"),
        ("sides * made.group", "2 * made.group"),
    ),
    *of(
        "audit.neighbours:_range",
        "unit/audit/test_comparing.py",
        ("np.maximum(low - aim, aim - high)", "low - aim"),
    ),
    *of(
        "audit.neighbours:Bench.enter",
        "adversarial/test_replay.py adversarial/test_replay_plans.py",
        ("') IS NOT TRUE'", "') IS TRUE'"),
    ),
    *of(
        "audit.neighbours:Bench._neighbours",
        "adversarial/test_replay.py adversarial/test_replay_plans.py",
        ('min(getattr(self._unit, "group", 1), len(units))', "1"),
        ("Change(gone, half=True)", "Change(gone)"),
    ),
    *of(
        "audit.neighbours:Bench._those",
        "adversarial/test_replay.py adversarial/test_replay_plans.py",
        (
            'f"(n = {part.number} AND CASE WHEN isfinite({time}) THEN {passed} >= 0 AND {passed} < {length} END)"',
            'f"(n = {part.number} AND CASE WHEN isfinite({time}) THEN {passed} = 0 END)"',
        ),
    ),
    *of(
        "audit.unsafe:careless_sparse",
        "adversarial/test_broken_variants.py",
        ("noisy if shows_value else 1.0", "1.0"),
    ),
    *of(
        "audit.exact:SparseLaw._given",
        "unit/audit/test_laws.py",
        ("1 - tail(bars - query, self.query_scale)", "1 - tail(bars - query, self.query_scale / 2)"),
    ),
    *of(
        "audit.exact:clamped_cauchy",
        "unit/audit/test_laws.py",
        ("(edges - centre) / scale", "(edges - centre) / (2 * scale)"),
    ),
    *of(
        "audit.exact:quantile_law",
        "unit/audit/test_independent_laws.py",
        ("np.maximum(np.maximum(below - target, target - through), 0.0)", "np.abs(below - target)"),
    ),
    *of(
        "audit.exact:gaussian_delta",
        "unit/audit/test_independent_laws.py",
        ("math.exp(epsilon + float(log_ndtr(-half - epsilon * sigma)))", "0.0"),
    ),
    *of(
        "audit.exact:least_whole_sigma.kept",
        "unit/audit/test_independent_laws.py",
        ("float(np.maximum(here - math.exp(epsilon) * there, 0.0).sum()) <= delta", "bool((here >= there).any())"),
    ),
    *of(
        "audit.exact:whole_gaussian",
        "unit/audit/test_independent_laws.py",
        ("2 * sigma**2", "sigma**2"),
    ),
    *of(
        "audit.registry.end_to_end:_question",
        REGISTRY,
        ("_STATED * leak", "Fraction(_STATED)"),
        ("float(_STATED)", "2.0 * _STATED"),
    ),
    *of(
        "audit.registry.choices:_optimal",
        "unit/audit/test_independent_laws.py",
        ("grown * shown + few", "grown * shown + few / 2"),
    ),
    *of(
        "audit.registry.choices:_laplace",
        "unit/audit/test_independent_laws.py",
        ("1 - math.log(2 * float(_DELTA)) / epsilon", "-math.log(2 * float(_DELTA)) / epsilon"),
    ),
    *of(
        "audit.registry.choices:_flips",
        "unit/audit/test_independent_laws.py",
        ("epsilon / 2", "epsilon"),
    ),
    *of(
        "audit.registry.choices:_gumbel",
        "unit/audit/test_independent_laws.py",
        ("epsilon / 2", "epsilon"),
    ),
    *of(
        "audit.entry:judge",
        REGISTRY,
        ("planted(entry, max(entry.fault, fault or entry.fault))", "Fraction(1)"),
    ),
    *of(
        "audit.entry:planted",
        REGISTRY,
        ("float(fault) * entry.loss(Fraction(1))", "entry.loss(Fraction(1))"),
    ),
    *of(
        "audit.registry.end_to_end:_asked.make",
        REGISTRY,
        ("epsilon * leak", "Fraction(epsilon)"),
    ),
    *of(
        "audit.registry.end_to_end:_ask",
        REGISTRY,
        ("name in shown", "True"),
    ),
    *of(
        "audit.blackbox:low_bits",
        "adversarial/test_low_bits.py adversarial/test_attacks.py",
        ("np.where(whole > 0, label, 0)", "np.where(whole > 0, 1, 0)"),
    ),
    *of(
        "noise.choosing:choose_many",
        "unit/noise/test_noise_choose.py",
        ("refused[lanes[~kept]] = True", "refused[lanes[~kept]] = False"),
    ),
    *of(
        "noise.choosing:accepts_many",
        "unit/noise/test_noise_choose.py",
        ("excess > 0.0", "excess > 1.0"),
    ),
    *of(
        "mechanisms.quantile_one:choose_places",
        f"unit/mechanisms/test_quantile.py {SIMULATED}",
        ("not accepts(Fraction(1), steepness * further)", "False"),
        ("noise.uniform_below(int(widths[option]), lanes.size)", "noise.uniform_below(int(widths[option]))"),
    ),
    *of(
        "mechanisms.sparse_run:crossings_of_many",
        SIMULATED,
        ("steps.threshold", "0"),
        ("steps.query_scale", "steps.query_scale / 2"),
    ),
    *of(
        "mechanisms.numeric_sparse:NumericSparse.simulate",
        SIMULATED,
        ("self.measure.simulate", "lambda exact, count: [exact] * count"),
    ),
]
