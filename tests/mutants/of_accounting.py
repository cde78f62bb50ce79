"""Breakages of accounting."""

from __future__ import annotations

from mutant import Mutant, of

EVENTS = "conformance/test_events.py"
MUTANTS: list[Mutant] = [
    *of(
        "accounting/amplify.py",
        "unit/accounting/test_amplify.py",
        ("inner if has_order(inner) else EitherOrderPair(inner)", "inner"),
        ("if float_up(self.rate) == 1 or wanted", "if self.rate == 1 or wanted"),
    ),
    *of(
        "accounting/gather.py",
        "unit/accounting/test_amplify.py",
        ("EitherOrderPair(bare) if decided and not has_order(bare) else bare", "bare"),
    ),
    *of(
        "accounting/pairs_derived.py",
        "unit/accounting/test_amplify.py",
        (
            "return np.maximum(self.inner.forward(epsilon), self.inner.backward(epsilon))",
            "return self.inner.forward(epsilon)",
        ),
    ),
    *of(
        "accounting/pairs_discrete.py",
        "unit/accounting/test_pairs.py",
        ("lost + more + (np.abs(lost) + np.abs(more)) * 2.0**-50", "0 * (lost + more)"),
        (
            "above = np.where((nearest[before] - epsilon) + rest[before] > 0, before, above)",
            "above = above + 0 * before",
        ),
    ),
    *of(
        "mechanisms/randomized_response.py",
        "unit/mechanisms/test_randomized_response.py",
        (
            "return FiniteEvent((FinitePairEvent((self.p, 1 - self.p), (self.q, 1 - self.q)),))",
            "return FinitePairEvent((self.p, 1 - self.p), (self.q, 1 - self.q))",
        ),
    ),
    *of(
        "accounting/pairs_discrete.py",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("* (scale / 2)", "* (scale / 4)"),
        ("first = max(-(steps // 2) - 1, -far)", "first = max(-(steps // 2) + 1, -far)"),
    ),
    *of(
        "accounting/pairs_continuous.py",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("np.minimum(epsilon - self.ratio, 0.0) / 2", "np.minimum(epsilon - self.ratio, 0.0) / 3"),
        ("shifted = epsilon - 2 * self.blur", "shifted = epsilon + 0 * self.blur"),
    ),
    *of(
        "accounting/pairs_derived.py",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("/ 2) ** 2 / -math.expm1(-self.epsilon)", "/ 2) ** 2"),
        ("at_touch = float(", "at_touch = 0 * float("),
    ),
    *of(
        "accounting/pairs_finite.py",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("            infinite += one\n", "            pass\n"),
        (
            "return up(-mass * np.expm1(np.minimum(epsilon - loss, 0.0)))",
            "return up(-mass * np.expm1(np.minimum(epsilon - loss, 0.0)) / 2)",
        ),
    ),
    *of(
        "accounting/curves.py",
        f"{EVENTS} unit/accounting/test_events.py golden/test_worked_examples.py",
        (
            "gap = math.log1p(math.exp(-loss)) - math.log1p(math.exp(-(2 * order - 1) * loss))",
            "gap = math.log1p(math.exp(-loss)) * 9",
        ),
        ("(up + down) ** 2 / 8", "(up + down) ** 2 / 80"),
        ("return max(_one_way(p, q, order), _one_way(q, p, order))", "return _one_way(p, q, order) / 2"),
    ),
    *of(
        "accounting/events.py",
        f"{EVENTS} unit/accounting/test_events.py",
        ("return min(Fraction(1), self.event.slack() + self.delta)", "return self.event.slack()"),
        ("return math.inf if self.rho_value else Fraction(0)", "return self.rho_value"),
    ),
    *of(
        "accounting/gdp.py",
        "unit/accounting/test_gdp.py golden/test_reference_accounting.py",
        ("x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2", "x, y = epsilon / mu, epsilon / mu + mu / 2"),
        ("return most(lambda mu: mu == 0 or _log_delta(epsilon, mu) <= log_delta, 0.0, enough)", "return enough"),
    ),
    *of(
        "accounting/convert.py",
        "unit/accounting/test_convert.py golden/test_reference_accounting.py",
        (
            "return divergence + gain - (log_delta + logarithm) / above + _UNIT * size",
            "return divergence + gain - logarithm / above",
        ),
        (
            "value = above * (divergence - epsilon) + entropy - logarithm",
            "value = above * (divergence - epsilon) + entropy - 2 * logarithm",
        ),
    ),
    *of(
        "accounting/compose.py",
        "unit/accounting/test_compose.py golden/test_reference_accounting.py",
        ("if every is None or sum(part.times * part.delta for part in every) > allowed:", "if every is None:"),
        (
            "math.tanh(float(part.epsilon) / 2) for part in every)",
            "math.tanh(float(part.epsilon) / 4) for part in every)",
        ),
    ),
    *of(
        "accounting/optimal.py",
        "unit/accounting/test_compose.py golden/test_reference_accounting.py",
        ("lie = math.exp(-float(epsilon))", "lie = math.exp(-float(epsilon) / 2)"),
        ("beyond = self.loss > epsilon", "beyond = self.loss > epsilon + 1"),
    ),
    *of(
        "accounting/groups.py",
        "unit/accounting/test_groups.py",
        ('return _size(size) ** 2 * nonnegative(rho, "rho")', 'return _size(size) * nonnegative(rho, "rho")'),
        ("value = ((size * step).exp() - 1) / (step.exp() - 1)", "value = Decimal(size)"),
    ),
    *of(
        "accounting/parallel.py",
        "unit/accounting/test_compose.py",
        ('[: 1 if self.neighbors == "add-remove" else 2]', "[:1]"),
        ("return sorted(costs, reverse=True)", "return sorted(costs)"),
    ),
    *of(
        "accounting/parts.py",
        f"unit/accounting/test_compose.py golden/test_reference_accounting.py {EVENTS}",
        ("equal[epsilon, slack] = equal.get((epsilon, slack), 0) + times", "equal[epsilon, slack] = times"),
        ("return max(product, float_down(allowed - spent))", "return float_down(allowed)"),
    ),
    *of(
        "accounting/filters.py",
        "unit/accounting/test_filters.py",
        ("return self.spent_delta <= self.keys_delta and (", "return True and ("),
        ("return replace(self, spent=compact(self.spent + Fraction(event.rho())))", "return self"),
    ),
    *of(
        "accounting/amplify.py",
        "unit/accounting/test_amplify.py",
        ("return self.rate * self.event.slack()", "return self.rate * self.rate * self.event.slack()"),
        ("excess = float(np.dot(weights, np.expm1(exponents)))", "excess = float(np.dot(weights, exponents)) / 2"),
    ),
    *of(
        "accounting/tradeoff.py",
        "unit/accounting/test_tradeoff.py",
        ("best = max(left - math.exp(self.epsilon) * level,", "best = max(left - math.exp(self.epsilon) * level / 2,"),
        ('grown = math.exp(-float_down(nonnegative(epsilon, "epsilon")))', "grown = 1.0"),
    ),
]
