"""Breakages of what events cost together: loss distributions, calibration, odometers, reports."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "accounting/calibrate.py",
        "unit/accounting/test_calibrate.py",
        ("return event.slack() == 0 and event.pure() <= cap", "return event.pure() <= cap"),
        ("return event.slack() == 0 and event.rho() <= cap", "return event.rho() <= cap"),
        (
            "return fits(Repeated(event_made(made, number), count), promise)",
            "return fits(event_made(made, number), promise)",
        ),
        (
            'event = made if is_a(made, Event) else called(lambda: getattr(made, "event", None), "make")',
            'event = getattr(made, "event", made)',
        ),
    ),
    *of(
        "accounting/convolve.py",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py",
        ("above = math.exp(min(0.0, reached))", "above = 0.0"),
        ("below = math.exp(min(0.0, reached))", "below = 0.0"),
        ("relative += factor.times * (error / magnitude + 3 * _UNIT)", "relative += 0.0"),
        ("log_total += part.times * log_mass", "log_total += log_mass"),
        ("[: room + 1], lowest, 1, lost * math.sqrt(size))", "[: room + 1], lowest, 1, 0.0)"),
    ),
    *of(
        "accounting/cost.py",
        "unit/accounting/test_cost.py",
        ("rest = allowed - event.slack()\n    if rest < 0:", "rest = allowed\n    if rest < 0:"),
        ("        yield _plus(slack, convert.rho_delta(rho, bound))", "        yield convert.rho_delta(rho, bound)"),
        ("        yield float_up(slack)\n", "        yield 0.0\n"),
    ),
    *of(
        "accounting/discretise.py",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py",
        ("slopes = np.maximum.accumulate(drops[::-1])[::-1]", "slopes = drops"),
        ("(rest, 0.0) if ended else (0.0, rest))", "(0.0, 0.0))"),
        ("centre = max(0.0, 1 - total) + _ROUNDING", "centre = 0.0"),
        ("rest = float(values[-1]) * (1 - _NOISE) if far >= reach else 0.0", "rest = float(values[-1])"),
        ("right = np.where(alone, last - late_dip, last - short)", "right = last"),
    ),
    *of(
        "accounting/distribution.py",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py",
        (
            "seen = self.seen(epsilon) + (self.aliasing + self.rounding) * self._factor(epsilon)",
            "seen = self.seen(epsilon)",
        ),
        (
            "return min(1.0, (finite + self.infinite + self.truncation) * (1 + MARGIN))",
            "return min(1.0, finite * (1 + MARGIN))",
        ),
        ("        return high\n\n    def seen", "        return low * (1 - 1e-6)\n\n    def seen"),
        ("truncation = sum(part.times * part.lattice.truncated for part in parts) * excess", "truncation = 0.0"),
        (
            "seen = self.seen(epsilon) - (self.aliasing + self.rounding) * self._factor(epsilon)",
            "seen = self.seen(epsilon)",
        ),
    ),
    *of(
        "accounting/gather.py",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py unit/accounting/test_pld_failure.py",
        ("log_kept += times * (math", "log_kept += (math"),
        ("counts[pair] = counts.get(pair, 0) + times", "counts[pair] = 1"),
        ("return -float_up(-(delta - lost) / (1 - lost))", "return -float_up(-delta)"),
        ("_merge(pair.repeated(times), whole)", "_merge(pair, whole)"),
    ),
    *of(
        "accounting/odometer.py",
        "unit/accounting/test_filters.py",
        (
            "penalty = Fraction(-log_down(self.delta / len(self.orders)))",
            "penalty = Fraction(-log_down(self.delta))",
        ),
        ("pure=add_exact(self.pure, event.pure()),", "pure=event.pure(),"),
        ("return min(Fraction(1), self.delta + self.slack)", "return min(Fraction(1), self.delta)"),
    ),
    *of(
        "accounting/pld.py",
        "unit/accounting/test_pld.py unit/accounting/test_pld_failure.py unit/accounting/test_pld_terms.py",
        ("    if allowed < Fraction(gathered.failure):", "    if False:"),
        ("max(high.delta(at) for _, high in sides))", "min(high.delta(at) for _, high in sides))"),
        (
            "above = max(self.forward[1].epsilon(allowed), self.backward[1].epsilon(allowed))",
            "above = self.forward[1].epsilon(allowed)",
        ),
        (
            "above = min(1.0, (failure + kept * found.upper) * (1 + 2.0**-50)) if failure else found.upper",
            "above = found.upper",
        ),
        ("forward.append(Part(ahead, copies.times))", "forward.append(Part(ahead, 1))"),
        (
            "return min(1.0, max(float(pair.forward(at)[0]), float(",
            "return min(1.0, min(float(pair.forward(at)[0]), float(",
        ),
    ),
    *of(
        "accounting/report.py",
        "unit/accounting/test_calibrate.py unit/accounting/test_compose.py",
        ("rho, rest = event.rho(), allowed - event.slack()", "rho, rest = event.rho(), allowed"),
        ("    rest = allowed - event.slack()\n    return convert.rdp", "    rest = allowed\n    return convert.rdp"),
        (
            "theorem(Repeated(event_made(made, noise), count), allowed) <= bound",
            "theorem(event_made(made, noise), allowed) <= bound",
        ),
    ),
    *of(
        "mechanisms/exponential.py",
        "unit/mechanisms/test_exponential.py",
        ("return ExponentialEvent(epsilon=self.cost)", "return ExponentialEvent(epsilon=self.cost / 2)"),
        ("bound = min(epsilon, float_up(self.rho() * Fraction(order)))", "bound = epsilon / 2"),
    ),
    *of(
        "mechanisms/sparse_answers.py",
        "unit/mechanisms/test_sparse_vector.py",
        ("along = Fraction(_share(measured_variance / k, shown_variance / k + offset_variance))", "along = weight"),
    ),
    *of(
        "inference/bars.py",
        "unit/inference/test_bars.py",
        ("low[rows] = quantile_of(values, tail[rows] / 2)", "low[rows] = quantile_of(values, tail[rows])"),
        ("whole = outside(center) | (count <= 0)", "whole = count <= 0"),
        ("sums[rows, None] + noise[index][None, :]", "sums[rows, None] + 0 * noise[index][None, :]"),
    ),
    *of(
        "noise/draws.py",
        "statistical/test_noise_draws.py",
        ("Integers] = geometric.fill_signed", "Integers] = geometric.fill"),
        ("int] = geometric.draw_signed", "int] = geometric.draw"),
        ("return sample(_laplace(scale), size)", "return sample(_geometric(scale), size)"),
        (
            'Gaussian(positive(sigma_squared, "sigma_squared"))',
            'Gaussian(positive(sigma_squared, "sigma_squared") ** 2)',
        ),
    ),
    *of(
        "planner/explain.py",
        "unit/planner/test_explain.py",
        (
            '{"rho": float_up(event.rho()), "delta": float_up(event.slack())}',
            '{"rho": float_up(event.rho()), "delta": 0.0}',
        ),
        ('"delta": float_up(spend.delta + event.slack())}', '"delta": float_up(spend.delta)}'),
        ('"neighbors": first.schema.neighbors,', '"neighbors": "add-remove",'),
        ('"protects": str(first.schema.unit),', '"protects": "each row",'),
        ("    if kinds & {Norm, Largest}:", "    if False:"),
    ),
]
