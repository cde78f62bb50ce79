"""Breakages of audits, and of what is simulated for them: a tool that finds nothing must not pass for a proof."""

from __future__ import annotations

from mutant import Mutant, of

SIMULATED = "statistical/test_simulated_draws.py"
REGISTRY = "adversarial/test_registry_audit.py"
MUTANTS: list[Mutant] = [
    *of(
        "audit/bounds.py",
        "unit/audit/test_bounds.py",
        ("tried - np.maximum(seen, 1) + 1, wrong)", "tried - np.maximum(seen, 1), wrong)"),
        ("found = betainccinv(seen + 1, np.maximum(tried - seen, 1), wrong)", "found = seen / tried"),
        ("over = np.maximum(p_low - delta, 0.0)", "over = np.maximum(p_low, 0.0)"),
        ("low = rate_low(self.one, self.trials, wrong)", "low = self.one / self.trials"),
        (
            "leaked = other * (other / (chance - delta)) ** more",
            "leaked = other * (other / (chance - delta)) ** (2 * more)",
        ),
    ),
    *of(
        "audit/blackbox.py",
        "unit/audit/test_blackbox.py",
        (
            "scores = [witness.score(draw(value, trials).at(places)) for value in neighbours]",
            "scores = [witness.score(guesses[0].at(places)) for value in neighbours]",
        ),
        ("scores[:: -1 if witness.flipped else 1]", "scores[::1]"),
        ("found=counts.epsilon(witness.delta, alarm),", "found=counts.epsilon(0.0, alarm),"),
    ),
    *of(
        "audit/report.py",
        "unit/audit/test_blackbox.py",
        ("return self.found > self.epsilon", "return self.found > 2 * self.epsilon"),
    ),
    *of(
        "audit/releases.py",
        "unit/audit/test_releases.py",
        ("column[row] = _code(leaf, codes)", "column[row] = 0.0"),
        ("column = columns[place] = np.full(count, _ABSENT)", "column = columns[place] = np.zeros(count)"),
        ("mixed = (mixed ^ bits[:, index]) *", "mixed = (mixed ^ bits[:, 0]) *"),
    ),
    *of(
        "audit/scores.py",
        "unit/audit/test_releases.py",
        ("atoms = values[often[seen[often] >= _SEEN]]", "atoms = values[:0]"),
        ("weights = np.linalg.solve(spread, ", "weights = np.asarray("),
        ("return np.where(self.known[at] == codes, self.table[at], 0.0)", "return np.zeros(len(rows))"),
    ),
    *of(
        "audit/drawing.py",
        "unit/audit/test_releases.py",
        ("return Raised(type(error).__name__)", "raise"),
        ("if not self.returned and self.error is not None:", "if False:"),
    ),
    *of(
        "audit/witness.py",
        "unit/audit/test_releases.py",
        ("for flipped in (False, True):", "for flipped in (False,):"),
        ("return -found if self.flipped else found", "return found"),
    ),
    *of(
        "cli/audit_own.py",
        "unit/cli/test_audit_own.py",
        ("return not report.refuted and not (bits is not None and bits.refuted)", "return not report.refuted"),
        ("return (asked.claimed, asked.delta) if asked.delta else asked.claimed", "return (asked.claimed, 0.9)"),
    ),
    *of(
        "plots/audits.py",
        "unit/plots/test_audit_plots.py",
        ("below = high[:, 1] < _least(high[:, 0], claims)", "below = low[:, 1] < -1"),
        ("kept = 1 - delta", "kept = 1"),
    ),
    *of(
        "audit/exact.py",
        "unit/audit/test_exact.py",
        ("best = max(best, (above - delta) / below)", "best = max(best, above / below)"),
        ("reverse=True):", "reverse=False):"),
        ("elif above > delta:", "elif above > 1:"),
        ("for each in (pairs, _turned(pairs)))", "for each in (pairs,))"),
    ),
    *of(
        "audit/replay.py",
        "adversarial/test_replay.py adversarial/test_replay_plans.py",
        ("unit, far <= claim.size)", "unit, True)"),
        ("if far > self._worst[place][0] or", "if far < self._worst[place][0] or"),
        ("for found in founds] if others else [one.scan])", "for found in founds[:1]] if others else [one.scan])"),
        ("        return plan.releases\n", "        return plan.releases[:1]\n"),
    ),
    *of(
        "audit/comparing.py",
        "unit/audit/test_comparing.py",
        ("else one.keys() | other.keys()", "else one.keys() & other.keys()"),
        ("                return sum(map(abs, steps))\n", "                return max(map(abs, steps), default=0)\n"),
        ("return sum(max(steps) - min(steps) for", "return sum(max(steps) for"),
        ("_moved(place, norm, common=common))", "_moved(place, norm, common=True))"),
        ("len(weights) ** (3 - discovery.order)", "len(weights)"),
        ("most = Fraction(discovery.most * touches)", "most = Fraction(2 * discovery.most * touches)"),
        ("size = Fraction(sides * made.group * made.keys)", "size = Fraction(2 * made.group * made.keys)"),
        ("off.append(np.maximum(np.maximum(low - aim, aim - high), 0))", "off.append(np.maximum(low - aim, 0))"),
    ),
    *of(
        "audit/neighbours.py",
        "adversarial/test_replay.py adversarial/test_replay_plans.py",
        ("{half}) IS NOT TRUE", "{half}) IS TRUE"),
        ('several = min(getattr(self._unit, "group", 1), len(units))', "several = 1"),
        ("yield Change(gone, half=True)", "yield Change(gone)"),
        ("{passed} >= 0 AND {passed} < {length}", "{passed} = 0"),
    ),
    *of(
        "audit/unsafe.py",
        "adversarial/test_broken_variants.py",
        ("noisy if shows_value else 1.0, 0.0)", "1.0, 0.0)"),
    ),
    *of(
        "audit/laws.py",
        "unit/audit/test_laws.py",
        (
            "chance *= 1 - tail(bars - query, self.query_scale)",
            "chance *= 1 - tail(bars - query, self.query_scale / 2)",
        ),
        (
            "below = 0.5 + np.arctan((edges - centre) / scale) / math.pi",
            "below = 0.5 + np.arctan((edges - centre) / (2 * scale)) / math.pi",
        ),
    ),
    *of(
        "audit/laws.py",
        "unit/audit/test_independent_laws.py",
        ("off = np.maximum(np.maximum(below - target, target - through), 0.0)", "off = np.abs(below - target)"),
    ),
    *of(
        "audit/gaussian_laws.py",
        "unit/audit/test_independent_laws.py",
        ("beyond = math.exp(epsilon + float(log_ndtr(-half - epsilon * sigma)))", "beyond = 0.0"),
        (
            "return float(np.maximum(here - math.exp(epsilon) * there, 0.0).sum()) <= delta",
            "return bool((here >= there).any())",
        ),
        ("(2 * sigma**2))", "sigma**2)"),
    ),
    *of(
        "audit/registry/questions.py",
        REGISTRY,
        (
            "make=lambda leak: _draws(asks, _STATED * leak, tables),",
            "make=lambda leak: _draws(asks, Fraction(_STATED), tables),",
        ),
        ("claimed=lambda: Curve(((float(_STATED), 0.0),)),", "claimed=lambda: Curve(((2.0 * _STATED, 0.0),)),"),
    ),
    *of(
        "audit/registry/keys.py",
        "unit/audit/test_independent_laws.py",
        ("shown = min(grown * shown + few,", "shown = min(grown * shown + few / 2,"),
        ("beyond = 1 - math.log", "beyond = -math.log"),
    ),
    *of(
        "audit/registry/selections.py",
        "unit/audit/test_independent_laws.py",
        ("coins = np.exp(epsilon / 2 * (np", "coins = np.exp(epsilon * (np"),
        ("weights = np.exp(epsilon / 2 * np.asarray", "weights = np.exp(epsilon * np.asarray"),
    ),
    *of(
        "audit/entry.py",
        REGISTRY,
        ("entry.make(planted(entry, max(entry.fault, fault or entry.fault)))", "entry.make(Fraction(1))"),
        ("aim = float(fault) * entry.loss(Fraction(1))", "aim = entry.loss(Fraction(1))"),
    ),
    *of(
        "audit/registry/sessions.py",
        REGISTRY,
        (
            "draw = answers(select, epsilon * leak, column, discovered=discovered)",
            "draw = answers(select, Fraction(epsilon), column, discovered=discovered)",
        ),
        (
            "return np.array([name in shown for name in _names(groups)])",
            "return np.array([True for name in _names(groups)])",
        ),
    ),
    *of(
        "audit/bits.py",
        "adversarial/test_low_bits.py adversarial/test_attacks.py",
        ("return np.where(whole > 0, label, 0)", "return np.where(whole > 0, 1, 0)"),
    ),
    *of(
        "noise/choosing.py",
        "unit/noise/test_noise_choose.py",
        ("refused[lanes[~kept]] = True", "refused[lanes[~kept]] = False"),
        ("told & (excess > 0.0)", "told & (excess > 1.0)"),
    ),
    *of(
        "mechanisms/quantile_one.py",
        f"unit/mechanisms/test_quantile.py {SIMULATED}",
        ("if not accepts(Fraction(1), steepness * further):", "if False:"),
        (
            "start + noise.uniform_below(int(widths[option]), lanes.size)",
            "start + noise.uniform_below(int(widths[option]))",
        ),
    ),
    *of(
        "mechanisms/sparse_run.py",
        SIMULATED,
        ("bars = add(_filled(steps.threshold, count), ", "bars = add(_filled(0, count), "),
        (
            "drawn = noise.discrete_laplace(steps.query_scale, (count, values.size))",
            "drawn = noise.discrete_laplace(steps.query_scale / 2, (count, values.size))",
        ),
    ),
    *of(
        "mechanisms/numeric_sparse.py",
        SIMULATED,
        ("drawn = self.measure.simulate(", "drawn = (lambda exact, count: [exact] * count)("),
    ),
]
