"""Breakages of what events cost together: loss distributions, calibration, odometers, reports."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "accounting.cost:fits",
        "unit/accounting/test_calibrate.py",
        ("event.slack() == 0 and event.pure() <= cap", "event.pure() <= cap"),
        ("event.slack() == 0 and event.rho() <= cap", "event.rho() <= cap"),
    ),
    *of(
        "accounting.cost:calibrate.fitting",
        "unit/accounting/test_calibrate.py",
        ("Repeated(event_made(made, number), count)", "event_made(made, number)"),
    ),
    *of(
        "accounting.cost:event_made",
        "unit/accounting/test_calibrate.py",
        (
            'made if is_a(made, Event) else called(lambda: getattr(made, "event", None), "make")',
            'getattr(made, "event", made)',
        ),
    ),
    *of(
        "accounting.pld.distribution:compose",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py",
        ("above = math.exp(min(0.0, reached))", "above = 0.0"),
        ("below = math.exp(min(0.0, reached))", "below = 0.0"),
        ("part.times * log_mass", "log_mass"),
    ),
    *of(
        "accounting.pld.distribution:_multiplied",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py",
        ("factor.times * (error / magnitude + 3 * _UNIT)", "0.0"),
    ),
    *of(
        "accounting.pld.distribution:_joined",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py",
        ("lost * math.sqrt(size)", "0.0"),
    ),
    *of(
        "accounting.cost:_epsilons",
        "unit/accounting/test_cost.py",
        ("allowed - event.slack()", "allowed"),
    ),
    *of(
        "accounting.cost:_deltas",
        "unit/accounting/test_cost.py",
        ("_plus(slack, convert.rho_delta(rho, bound))", "convert.rho_delta(rho, bound)"),
        ("float_up(slack)", "0.0"),
    ),
    *of(
        "accounting.pld.discretise:_upper_side",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py",
        ("np.maximum.accumulate(drops[::-1])[::-1]", "drops"),
        ("(rest, 0.0) if ended else (0.0, rest)", "(0.0, 0.0)"),
    ),
    *of(
        "accounting.pld.discretise:_join_upper",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py",
        ("max(0.0, 1 - total) + _ROUNDING", "0.0"),
    ),
    *of(
        "accounting.pld.discretise:_lower_side",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py",
        ("float(values[-1]) * (1 - _NOISE) if far >= reach else 0.0", "float(values[-1])"),
        ("np.where(alone, last - late_dip, last - short)", "last"),
    ),
    *of(
        "accounting.pld.distribution:LossDistribution.delta",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py",
        ("self.seen(epsilon) + (self.aliasing + self.rounding) * self._factor(epsilon)", "self.seen(epsilon)"),
        ("finite + self.infinite + self.truncation", "finite"),
    ),
    *of(
        "accounting.pld.distribution:LossDistribution.epsilon",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py",
        ("return high", "return low * (1 - 1e-6)"),
    ),
    *of(
        "accounting.pld.distribution:compose_upper",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py",
        ("sum(part.times * part.lattice.truncated for part in parts) * excess", "0.0"),
    ),
    *of(
        "accounting.pld.distribution:OptimisticLoss.delta",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py",
        ("self.seen(epsilon) - (self.aliasing + self.rounding) * self._factor(epsilon)", "self.seen(epsilon)"),
    ),
    *of(
        "accounting.pld.bounds:gather",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py unit/accounting/test_pld_failure.py",
        (
            "times * (math.log1p(-failure) if failure < 1 else -math.inf)",
            "math.log1p(-failure) if failure < 1 else -math.inf",
        ),
        ("counts.get(pair, 0) + times", "1"),
        ("pair.repeated(times)", "pair"),
    ),
    *of(
        "accounting.pld.bounds:remaining",
        "unit/accounting/test_pld_terms.py unit/accounting/test_pld.py unit/accounting/test_pld_failure.py",
        ("-(delta - lost) / (1 - lost)", "-delta"),
    ),
    *of(
        "accounting.filters:Odometer.epsilon",
        "unit/accounting/test_filters.py",
        ("self.delta / len(self.orders)", "self.delta"),
    ),
    *of(
        "accounting.filters:Odometer.spend",
        "unit/accounting/test_filters.py",
        ("add_exact(self.pure, event.pure())", "event.pure()"),
    ),
    *of(
        "accounting.filters:Odometer.failure",
        "unit/accounting/test_filters.py",
        ("self.delta + self.slack", "self.delta"),
    ),
    *of(
        "accounting.pld.bounds:_epsilon",
        "unit/accounting/test_pld.py unit/accounting/test_pld_failure.py unit/accounting/test_pld_terms.py",
        ("allowed < Fraction(gathered.failure)", "False"),
    ),
    *of(
        "accounting.pld.bounds:LossBracket.delta",
        "unit/accounting/test_pld.py unit/accounting/test_pld_failure.py unit/accounting/test_pld_terms.py",
        ("max(high.delta(at) for _, high in sides)", "min(high.delta(at) for _, high in sides)"),
    ),
    *of(
        "accounting.pld.bounds:LossBracket.epsilon",
        "unit/accounting/test_pld.py unit/accounting/test_pld_failure.py unit/accounting/test_pld_terms.py",
        (
            "max(self.forward[1].epsilon(allowed), self.backward[1].epsilon(allowed))",
            "self.forward[1].epsilon(allowed)",
        ),
    ),
    *of(
        "accounting.pld.bounds:_delta",
        "unit/accounting/test_pld.py unit/accounting/test_pld_failure.py unit/accounting/test_pld_terms.py",
        ("min(1.0, (failure + kept * bounds.upper) * (1 + 2.0**-50)) if failure else bounds.upper", "bounds.upper"),
    ),
    *of(
        "accounting.pld.bounds:_lattices",
        "unit/accounting/test_pld.py unit/accounting/test_pld_failure.py unit/accounting/test_pld_terms.py",
        ("LossPart(ahead, copies.times)", "LossPart(ahead, 1)"),
    ),
    *of(
        "accounting.pld.bounds:_both.curve",
        "unit/accounting/test_pld.py unit/accounting/test_pld_failure.py unit/accounting/test_pld_terms.py",
        (
            "max(float(pair.forward(at)[0]), float(pair.backward(at)[0]))",
            "min(float(pair.forward(at)[0]), float(pair.backward(at)[0]))",
        ),
    ),
    *of(
        "accounting.summaries:_zcdp",
        "unit/accounting/test_calibrate.py unit/accounting/test_compose.py",
        ("allowed - event.slack()", "allowed"),
    ),
    *of(
        "accounting.summaries:_renyi",
        "unit/accounting/test_calibrate.py unit/accounting/test_compose.py",
        ("allowed - event.slack()", "allowed"),
    ),
    *of(
        "accounting.summaries:calibrate_by_theorem.proves",
        "unit/accounting/test_calibrate.py unit/accounting/test_compose.py",
        ("Repeated(event_made(made, noise), count)", "event_made(made, noise)"),
    ),
    *of(
        "mechanisms.selection:Exponential.event",
        "unit/mechanisms/test_exponential.py",
        ("self.cost", "self.cost / 2"),
    ),
    *of(
        "mechanisms.selection:ExponentialEvent.rdp",
        "unit/mechanisms/test_exponential.py",
        ("min(epsilon, float_up(self.rho() * Fraction(order)))", "epsilon / 2"),
    ),
    *of(
        "mechanisms.sparse_vector:improve",
        "unit/mechanisms/test_sparse_vector.py",
        ("Fraction(_share(measured_variance / k, shown_variance / k + offset_variance))", "weight"),
    ),
    *of(
        "inference.bars:simulated_bars",
        "unit/inference/test_bars.py",
        ("quantile_of(values, tail[rows] / 2)", "quantile_of(values, tail[rows])"),
    ),
    *of(
        "inference.bars:_noisy",
        "unit/inference/test_bars.py",
        ("noise[index][None, :]", "0 * noise[index][None, :]"),
        ("slice(start, start + size)", "slice(0, size)"),
    ),
    *of(
        "inference.bars:ratio_bars",
        "unit/inference/test_bars.py",
        ("outside(center) | (count <= 0)", "count <= 0"),
    ),
    *of(
        "noise.draws:LaplaceSampler.__init__",
        "statistical/test_noise_draws.py",
        ("geometric.fill_signed", "geometric.fill"),
        ("geometric.draw_signed", "geometric.draw"),
    ),
    *of(
        "noise.draws:discrete_laplace",
        "statistical/test_noise_draws.py",
        ("_laplace(scale)", "_geometric(scale)"),
    ),
    *of(
        "noise.draws:",
        "statistical/test_noise_draws.py",
        ('positive(sigma_squared, "sigma_squared")', 'positive(sigma_squared, "sigma_squared") ** 2'),
    ),
    *of(
        "planner.explain:cost_of",
        "unit/planner/test_explain.py",
        (
            '{"rho": float_up(event.rho()), "delta": float_up(event.slack())}',
            '{"rho": float_up(event.rho()), "delta": 0.0}',
        ),
        ("spend.delta + event.slack()", "spend.delta"),
    ),
    *of(
        "planner.explain:facts",
        "unit/planner/test_explain.py",
        ("first.schema.neighbors", '"add-remove"'),
        ("str(first.schema.unit)", '"each row"'),
    ),
    *of(
        "planner.explain:coverage_notes",
        "unit/planner/test_explain.py",
        ("kinds & {Norm, Largest}", "False"),
    ),
]
