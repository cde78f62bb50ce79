"""Breakages of accounting."""

from __future__ import annotations

from mutant import Mutant, of

EVENTS = "conformance/test_events.py"
MUTANTS: list[Mutant] = [
    *of(
        "accounting.amplify:Sampled.pair",
        "unit/accounting/test_amplify.py",
        ("inner if has_order(inner) else EitherOrderPair(inner)", "inner"),
    ),
    *of(
        "accounting.amplify:Sampled.rdp",
        "unit/accounting/test_amplify.py",
        ("float_up(self.rate)", "self.rate"),
    ),
    *of(
        "accounting.pld.bounds:gather",
        "unit/accounting/test_amplify.py",
        ("EitherOrderPair(bare) if decided and not has_order(bare) else bare", "bare"),
    ),
    *of(
        "accounting.pairs.derived:EitherOrderPair.forward",
        "unit/accounting/test_amplify.py",
        ("np.maximum(self.inner.forward(epsilon), self.inner.backward(epsilon))", "self.inner.forward(epsilon)"),
    ),
    *of(
        "accounting.pairs.discrete:_losses",
        "unit/accounting/test_pairs.py",
        ("lost + more + (np.abs(lost) + np.abs(more)) * 2.0**-50", "0 * (lost + more)"),
    ),
    *of(
        "accounting.pairs.discrete:_summed",
        "unit/accounting/test_pairs.py",
        ("np.where((nearest[before] - epsilon) + rest[before] > 0, before, above)", "above + 0 * before"),
    ),
    *of(
        "mechanisms.randomized_response:RandomizedResponse.event",
        "unit/mechanisms/test_randomized_response.py",
        (
            "FiniteEvent((FinitePairEvent((self.p, 1 - self.p), (self.q, 1 - self.q)),))",
            "FinitePairEvent((self.p, 1 - self.p), (self.q, 1 - self.q))",
        ),
    ),
    *of(
        "accounting.pairs.discrete:DiscreteLaplacePair.forward",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("scale / 2", "scale / 4"),
    ),
    *of(
        "accounting.pairs.discrete:_ladder",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("-(steps // 2) - 1", "-(steps // 2) + 1"),
    ),
    *of(
        "accounting.pairs.continuous:LaplacePair.forward",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("np.minimum(epsilon - self.ratio, 0.0) / 2", "np.minimum(epsilon - self.ratio, 0.0) / 3"),
    ),
    *of(
        "accounting.pairs.continuous:GaussianPair.forward",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("epsilon - 2 * self.blur", "epsilon + 0 * self.blur"),
    ),
    *of(
        "accounting.pairs.derived:BoundedRangePair.forward",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        (
            "np.expm1(np.minimum(epsilon - self.epsilon, 0.0) / 2) ** 2 / -math.expm1(-self.epsilon)",
            "np.expm1(np.minimum(epsilon - self.epsilon, 0.0) / 2) ** 2",
        ),
    ),
    *of(
        "accounting.pairs.derived:ProfilePair.forward",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        (
            "float(_zcdp_profile(np.array([touch]), self.rho)[0][0])",
            "0 * float(_zcdp_profile(np.array([touch]), self.rho)[0][0])",
        ),
    ),
    *of(
        "accounting.pairs.discrete:_finite",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("infinite += first", "pass"),
    ),
    *of(
        "accounting.pairs.discrete:_atom",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("-mass * np.expm1(np.minimum(epsilon - loss, 0.0))", "-mass * np.expm1(np.minimum(epsilon - loss, 0.0)) / 2"),
    ),
    *of(
        "accounting.events:response_rdp",
        f"{EVENTS} unit/accounting/test_events.py golden/test_worked_examples.py",
        (
            "math.log1p(math.exp(-loss)) - math.log1p(math.exp(-(2 * order - 1) * loss))",
            "math.log1p(math.exp(-loss)) * 9",
        ),
    ),
    *of(
        "accounting.events:finite_rho",
        f"{EVENTS} unit/accounting/test_events.py golden/test_worked_examples.py",
        ("(up + down) ** 2 / 8", "(up + down) ** 2 / 80"),
    ),
    *of(
        "accounting.events:finite_rdp",
        f"{EVENTS} unit/accounting/test_events.py golden/test_worked_examples.py",
        ("max(_one_way(p, q, order), _one_way(q, p, order))", "_one_way(p, q, order) / 2"),
    ),
    *of(
        "accounting.events:ThresholdEvent.slack",
        f"{EVENTS} unit/accounting/test_events.py",
        ("min(Fraction(1), self.event.slack() + self.delta)", "self.event.slack()"),
    ),
    *of(
        "accounting.events:ZcdpEvent.pure",
        f"{EVENTS} unit/accounting/test_events.py",
        ("math.inf if self.rho_value else Fraction(0)", "self.rho_value"),
    ),
    *of(
        "accounting.gdp:_log_delta",
        "unit/accounting/test_gdp.py golden/test_reference_accounting.py",
        ("epsilon / mu - mu / 2", "epsilon / mu"),
    ),
    *of(
        "accounting.gdp:_largest_mu",
        "unit/accounting/test_gdp.py golden/test_reference_accounting.py",
        ("most(allows, 0.0, enough)", "enough"),
    ),
    *of(
        "accounting.gdp:_largest_mu.allows",
        "unit/accounting/test_gdp.py",
        ("mu <= below", "mu <= above"),
        ("mu < above", "mu <= below"),
    ),
    *of(
        "accounting.convert:order_epsilon",
        "unit/accounting/test_convert.py golden/test_reference_accounting.py",
        ("divergence + gain - (log_delta + logarithm) / above + _UNIT * size", "divergence + gain - logarithm / above"),
    ),
    *of(
        "accounting.convert:_order_log_delta",
        "unit/accounting/test_convert.py golden/test_reference_accounting.py",
        (
            "above * (divergence - epsilon) + entropy - logarithm",
            "above * (divergence - epsilon) + entropy - 2 * logarithm",
        ),
    ),
    *of(
        "accounting.compose:basic",
        "unit/accounting/test_compose.py golden/test_reference_accounting.py",
        ("every is None or sum(part.times * part.delta for part in every) > allowed", "every is None"),
    ),
    *of(
        "accounting.compose:_kov",
        "unit/accounting/test_compose.py golden/test_reference_accounting.py",
        ("float(part.epsilon) / 2", "float(part.epsilon) / 4"),
    ),
    *of(
        "accounting.compose:_binomial",
        "unit/accounting/test_compose.py golden/test_reference_accounting.py",
        ("-float(epsilon)", "-float(epsilon) / 2"),
    ),
    *of(
        "accounting.compose:_Losses.delta",
        "unit/accounting/test_compose.py golden/test_reference_accounting.py",
        ("self.loss > epsilon", "self.loss > epsilon + 1"),
    ),
    *of(
        "accounting.groups:zcdp",
        "unit/accounting/test_groups.py",
        ("_size(size) ** 2", "_size(size)"),
    ),
    *of(
        "accounting.groups:factor",
        "unit/accounting/test_groups.py",
        ("((size * step).exp() - 1) / (step.exp() - 1)", "Decimal(size)"),
    ),
    *of(
        "accounting.compose:Parallel._worst",
        "unit/accounting/test_compose.py",
        ('1 if self.neighbors == "add-remove" else 2', "1"),
        ("sorted(costs, reverse=True)", "sorted(costs)"),
    ),
    *of(
        "accounting.compose:parts",
        f"unit/accounting/test_compose.py golden/test_reference_accounting.py {EVENTS}",
        ("equal.get((epsilon, slack), 0) + times", "times"),
    ),
    *of(
        "accounting.compose:delta_left",
        f"unit/accounting/test_compose.py golden/test_reference_accounting.py {EVENTS}",
        ("max(product, float_down(allowed - spent))", "float_down(allowed)"),
    ),
    *of(
        "accounting.filters:RenyiFilter.kept",
        "unit/accounting/test_filters.py",
        ("self.spent_delta <= self.keys_delta", "True"),
    ),
    *of(
        "accounting.filters:ZcdpFilter.spend",
        "unit/accounting/test_filters.py",
        ("replace(self, spent=compact(self.spent + Fraction(event.rho())))", "self"),
    ),
    *of(
        "accounting.amplify:Sampled.slack",
        "unit/accounting/test_amplify.py",
        ("self.rate", "self.rate * self.rate"),
    ),
    *of(
        "accounting.amplify:Sampled._log_moment",
        "unit/accounting/test_amplify.py",
        ("float(np.dot(weights, np.expm1(exponents)))", "float(np.dot(weights, exponents)) / 2"),
    ),
    *of(
        "accounting.tradeoff:Region.least_false_negative",
        "unit/accounting/test_tradeoff.py",
        ("left - math.exp(self.epsilon) * level", "left - math.exp(self.epsilon) * level / 2"),
    ),
    *of(
        "accounting.tradeoff:posterior",
        "unit/accounting/test_tradeoff.py",
        ('math.exp(-float_down(nonnegative(epsilon, "epsilon")))', "1.0"),
    ),
]
