"""Ways to break privacy with one line: each must make some test fail.

A mutant is a file under src/privet, a piece of text that occurs in it exactly once, what replaces it, and the tests
that are run. Add two for every file that carries privacy.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One breakage: a file, what to replace by what, and the tests that should notice."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def _of(file: str, tests: str, *changes: tuple[str, str]) -> list[Mutant]:
    return [Mutant(file, old, new, tuple(f"tests/{test}" for test in tests.split())) for old, new in changes]


EVENTS = "conformance/test_events.py"
MUTANTS: list[Mutant] = [
    # core
    *_of(
        "core/exact.py",
        "unit/core/test_exact.py",
        ('isinstance(value, bool) or hasattr(value, "__len__")', "isinstance(value, bool)"),
        ("if fraction <= 0:", "if fraction < 0:"),
        ("if not 0 <= fraction < 1:", "if not 0 <= fraction <= 1:"),
        ("return Fraction(value) if math.isfinite(value) else None", "return Fraction(value).limit_denominator(10**9)"),
        ("if integer is None or integer < least or", "if integer is None or"),
    ),
    *_of(
        "core/rounding.py",
        "unit/core/test_rounding.py",
        ("return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)", "return nearest"),
        ("    if round_up and root * root != product << (2 * shift):", "    if False:"),
        ("(1 + MARGIN) + _LEAST if computed", "(1 - MARGIN) + _LEAST if computed"),
        (
            "return _exponential(exact) * (1 + Fraction(1, 10**50))",
            "return _exponential(exact) * (1 - Fraction(1, 10**50))",
        ),
    ),
    *_of(
        "core/event.py",
        f"unit/core/test_event.py {EVENTS}",
        (
            "return _sum(event.pure() for event in self.events)",
            "return max((event.pure() for event in self.events), default=Fraction(0))",
        ),
        ("return min(Fraction(1), self.times * self.event.slack())", "return self.event.slack()"),
        ("float_up(self.times * Fraction(once))", "once"),
        ("total[atom] = total.get(atom, 0) + times", "total[atom] = times"),
    ),
    *_of(
        "core/sensitivity.py",
        "unit/core/test_sensitivity.py",
        ("return cls._scalar(max(abs(bottom), abs(top)), neighbors)", "return cls._scalar(top - bottom, neighbors)"),
        ('cells = 1 if read_neighbors(neighbors) == "add-remove" else 2', "cells = 1"),
        ("l2_squared=self.l2_squared * k * k", "l2_squared=self.l2_squared * k"),
        ("others = [tuple(sorted((*rest, i))) for i in indices]", "others = [rest]"),
    ),
    *_of(
        "core/errors.py",
        "unit/core/test_errors.py adversarial/test_bad_input.py",
        ('super().__init__(f"{parameter} must be {allowed}; got {kind}")', "super().__init__(kind)"),
        ("return text if len(text) <= _QUOTE_LIMIT else", "return text if True else"),
    ),
    # noise
    *_of(
        "noise/coins.py",
        "statistical/test_noise_draws.py unit/noise/test_noise_slow_path.py",
        ("return word < self._digit", "return word <= self._digit + 2**60"),
        ("self._limit = 0 if self.wide else _WORDS // n * n", "self._limit = 0 if self.wide else _WORDS"),
        ("return excess > 0.0", "return excess < 0.0"),
    ),
    *_of(
        "noise/exponential.py",
        "unit/noise/test_noise_band.py unit/noise/test_noise_slow_path.py",
        ("decided = distance > factor * BAND", "decided = distance >= 0"),
        ("return answer, undecided(excess > BAND + slack)", "return answer, undecided(excess > slack - 1)"),
    ),
    *_of(
        "noise/laplace.py",
        "statistical/test_noise_draws.py unit/noise/test_noise_slow_path.py",
        ("            if value:\n                return -value", "            return -value"),
        ("return zeros[sign[zeros] < 0]", "return zeros[sign[zeros] < -1]"),
        ("return np.flatnonzero(whole.view(np.int64) == _NEGATIVE_ZERO)", "return np.flatnonzero(whole > 1e300)"),
    ),
    *_of(
        "noise/gaussian.py",
        "statistical/test_noise_draws.py unit/noise/test_noise_slow_path.py",
        ("self._reciprocal = 0.5 / self._ratio", "self._reciprocal = 0.6 / self._ratio"),
        ("** 2 / (2 * self.sigma_squared)", "** 2 / self.sigma_squared"),
    ),
    *_of(
        "noise/lazy.py",
        "unit/noise/test_noise_slow_path.py unit/noise/test_noise_band.py",
        ("if Fraction(least) >= x:", "if most is not None and Fraction(most) >= x:"),
        (
            "self.numerator = self.numerator << WORD_BITS | self.source.word()",
            "self.numerator = self.numerator << WORD_BITS",
        ),
    ),
    *_of(
        "noise/racing.py",
        "unit/noise/test_noise_race.py",
        ("self._sign = -1 if rate < 0 else 1", "self._sign = 1"),
        ("key += self._behind", "key -= self._behind"),
        ("ahead = low <= high.min(axis=1, keepdims=True)", "ahead = low <= low.min(axis=1, keepdims=True)"),
    ),
    *_of(
        "noise/source.py",
        "adversarial/test_noise_source.py unit/noise/test_noise_slow_path.py statistical/test_noise_draws.py",
        ("    _pool.words.clear()", "    pass"),
        ("return number >> (-count % WORD_BITS)", "return number >> (-count % WORD_BITS) << 1"),
    ),
    # accounting
    *_of(
        "accounting/pairs_discrete.py",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("* (scale / 2)", "* (scale / 4)"),
        ("first = max(-(steps // 2) - 1, -far)", "first = max(-(steps // 2) + 1, -far)"),
    ),
    *_of(
        "accounting/pairs_continuous.py",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("np.minimum(epsilon - self.ratio, 0.0) / 2", "np.minimum(epsilon - self.ratio, 0.0) / 3"),
        ("shifted = epsilon - 2 * self.blur", "shifted = epsilon + 0 * self.blur"),
    ),
    *_of(
        "accounting/pairs_derived.py",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("/ 2) ** 2 / -math.expm1(-self.epsilon)", "/ 2) ** 2"),
        ("at_touch = float(", "at_touch = 0 * float("),
    ),
    *_of(
        "accounting/pairs_finite.py",
        f"unit/accounting/test_pairs.py {EVENTS} golden/test_worked_examples.py",
        ("            infinite += one\n", "            pass\n"),
        (
            "return up(-mass * np.expm1(np.minimum(epsilon - loss, 0.0)))",
            "return up(-mass * np.expm1(np.minimum(epsilon - loss, 0.0)) / 2)",
        ),
    ),
    *_of(
        "accounting/curves.py",
        f"{EVENTS} unit/accounting/test_events.py golden/test_worked_examples.py",
        (
            "gap = math.log1p(math.exp(-loss)) - math.log1p(math.exp(-(2 * order - 1) * loss))",
            "gap = math.log1p(math.exp(-loss)) * 9",
        ),
        ("(up + down) ** 2 / 8", "(up + down) ** 2 / 80"),
        ("return max(_one_way(p, q, order), _one_way(q, p, order))", "return _one_way(p, q, order) / 2"),
    ),
    *_of(
        "accounting/events.py",
        f"{EVENTS} unit/accounting/test_events.py",
        ("return min(Fraction(1), self.event.slack() + self.delta)", "return self.event.slack()"),
        ("return math.inf if self.rho_value else Fraction(0)", "return self.rho_value"),
    ),
    *_of(
        "accounting/gdp.py",
        "unit/accounting/test_gdp.py golden/test_reference_accounting.py",
        ("x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2", "x, y = epsilon / mu, epsilon / mu + mu / 2"),
        ("return most(lambda mu: mu == 0 or _log_delta(epsilon, mu) <= log_delta, 0.0, enough)", "return enough"),
    ),
    *_of(
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
    *_of(
        "accounting/compose.py",
        "unit/accounting/test_compose.py golden/test_reference_accounting.py",
        ("if every is None or sum(part.times * part.delta for part in every) > allowed:", "if every is None:"),
        (
            "math.tanh(float(part.epsilon) / 2) for part in every)",
            "math.tanh(float(part.epsilon) / 4) for part in every)",
        ),
    ),
    *_of(
        "accounting/optimal.py",
        "unit/accounting/test_compose.py golden/test_reference_accounting.py",
        ("lie = math.exp(-float(epsilon))", "lie = math.exp(-float(epsilon) / 2)"),
        ("beyond = self.loss > epsilon", "beyond = self.loss > epsilon + 1"),
    ),
    *_of(
        "accounting/groups.py",
        "unit/accounting/test_groups.py",
        ('return _size(size) ** 2 * nonnegative(rho, "rho")', 'return _size(size) * nonnegative(rho, "rho")'),
        ("value = ((size * step).exp() - 1) / (step.exp() - 1)", "value = Decimal(size)"),
    ),
    *_of(
        "accounting/parallel.py",
        "unit/accounting/test_compose.py",
        ('[: 1 if self.neighbors == "add-remove" else 2]', "[:1]"),
        ("return sorted(costs, reverse=True)", "return sorted(costs)"),
    ),
    *_of(
        "accounting/parts.py",
        f"unit/accounting/test_compose.py golden/test_reference_accounting.py {EVENTS}",
        ("equal[epsilon, slack] = equal.get((epsilon, slack), 0) + times", "equal[epsilon, slack] = times"),
        ("return max(product, float_down(allowed - spent))", "return float_down(allowed)"),
    ),
    *_of(
        "accounting/filters.py",
        "unit/accounting/test_filters.py",
        (
            "if self.spent_delta + read_event(event).slack() > self.keys_delta:\n            return False",
            "if False:\n            return False",
        ),
        ("return replace(self, spent=compact(self.spent + Fraction(event.rho())))", "return self"),
    ),
    *_of(
        "accounting/amplify.py",
        "unit/accounting/test_amplify.py",
        ("return self.rate * self.event.slack()", "return self.rate * self.rate * self.event.slack()"),
        ("excess = float(np.dot(weights, np.expm1(exponents)))", "excess = float(np.dot(weights, exponents)) / 2"),
    ),
    *_of(
        "accounting/tradeoff.py",
        "unit/accounting/test_tradeoff.py",
        ("best = max(left - math.exp(self.epsilon) * level,", "best = max(left - math.exp(self.epsilon) * level / 2,"),
        ('grown = math.exp(-float(nonnegative(epsilon, "epsilon")))', "grown = 1.0"),
    ),
    # mechanisms
    *_of(
        "mechanisms/lattice.py",
        "unit/mechanisms/test_lattice.py",
        ("return floor + (scaled - floor >= 0.5)", "return floor"),
        ("rounded = floor + (scaled - floor >= 0.5)", "rounded = np.rint(scaled)"),
        ("if steps.dtype == np.int64 and abs(exponent) < 900:", "if steps.dtype == np.int64:"),
    ),
    *_of(
        "mechanisms/reading.py",
        "unit/mechanisms/test_lattice.py adversarial/test_bad_input.py",
        (
            'raise BadValue(parameter, f"a {type(value).__name__} that is not one", _ALLOWED)',
            "raise BadValue(parameter, repr(value), _ALLOWED)",
        ),
        ("if isinstance(value, np.ma.MaskedArray):", "if False:"),
    ),
    *_of(
        "mechanisms/laplace.py",
        "unit/mechanisms/test_laplace.py",
        (
            "moves = math.ceil(self.sensitivity / step_of(exponent)) + n - 1",
            "moves = math.floor(self.sensitivity / step_of(exponent))",
        ),
        (
            "return exponent, multiple * self.scale / self.sensitivity",
            "return exponent, self.scale / step_of(exponent)",
        ),
        ("multiple = -(-moves // self._steps) * self._steps", "multiple = moves // self._steps * self._steps"),
        ("return e + ((-e).exp() - 1) * shrink", "return (e + ((-e).exp() - 1) * shrink) / 2"),
        (
            "math.ceil(self.scale * Fraction(inflate(in_scales))) - 1)",
            "math.ceil(self.scale * Fraction(inflate(in_scales))) - 2)",
        ),
    ),
    *_of(
        "mechanisms/laplace.py",
        "adversarial/test_release_audit.py statistical/test_mechanism_draws.py",
        ("exponent, scale = 0, self.scale", "exponent, scale = 0, self.scale / 2"),
        (
            "drawn = noise.discrete_laplace(scale, numbers.shape)",
            "drawn = noise.discrete_laplace(scale * 3 / 4, numbers.shape)",
        ),
    ),
    *_of(
        "mechanisms/gaussian.py",
        "unit/mechanisms/test_gaussian.py",
        ("raised = self.sigma_squared * (1 + root * step / distance) ** 2", "raised = self.sigma_squared"),
        (
            "bound = sqrt_down(self.sigma_squared) * self.blur / reach",
            "bound = sqrt_down(self.sigma_squared) * self.blur * 9",
        ),
        ("mu = gaussian_mu(epsilon - 2 * blur,", "mu = gaussian_mu(epsilon + 2 * blur,"),
        (
            "return _worst(DiscreteGaussianPair(steps, sigma**2), float_down(epsilon)) <= float_down(delta)",
            "return True",
        ),
        ("if not _SMALLEST_EPSILON <= wanted < 1:", "if False:"),
    ),
    *_of(
        "mechanisms/gaussian.py",
        "statistical/test_mechanism_draws.py",
        (
            "drawn = noise.discrete_gaussian(self.sigma_squared, numbers.shape)",
            "drawn = noise.discrete_gaussian(self.sigma_squared / 2, numbers.shape)",
        ),
        (
            "drawn = noise.discrete_gaussian(variance, numbers.shape)",
            "drawn = noise.discrete_gaussian(variance / 2, numbers.shape)",
        ),
    ),
    *_of(
        "mechanisms/gaussian_event.py",
        f"unit/mechanisms/test_gaussian.py {EVENTS}",
        (
            "return squared / (2 * variance) if variance else math.inf",
            "return squared / (4 * variance) if variance else math.inf",
        ),
        ("float_up(self.blur))", "0.0)"),
    ),
    *_of(
        "mechanisms/exponential.py",
        "unit/mechanisms/test_exponential.py",
        ("return self.epsilon**2 / 8", "return self.epsilon**2 / 9"),
        ("epsilon=self.rate * self.sensitivity * (1 if self.monotone else 2)", "epsilon=self.rate * self.sensitivity"),
        (
            'speed = positive(epsilon, "epsilon") / ((1 if monotone else 2) * distance)',
            'speed = positive(epsilon, "epsilon") / distance',
        ),
    ),
    *_of(
        "mechanisms/randomized_response.py",
        "unit/mechanisms/test_randomized_response.py",
        ("grown = exp_down(", "grown = 1 + exp_down("),
        ("if self.categories == 2 or (self.categories <= 6 and self.p >= self.q):", "if self.categories <= 6:"),
        ("low, high = sorted((self.p, self.q))", "low, high = self.p, self.p"),
    ),
    *_of(
        "mechanisms/randomized_response.py",
        "statistical/test_mechanism_draws.py",
        ("reports = np.where(indices == 1, yes, no)", "reports = np.where(indices == 1, yes, 1 - yes)"),
        ("lies = other + (other >= indices)", "lies = other"),
        ("float(betainccinv(hits + 1, n - hits, tail / 2))", "float(betainccinv(hits + 1, n - hits, tail * 2))"),
    ),
    *_of(
        "mechanisms/finite.py",
        f"unit/mechanisms/test_finite.py {EVENTS}",
        ("return [*self.neighbors, *((j, i) for i, j in self.neighbors)]", "return [*self.neighbors]"),
        ("worst = max(worst, p / q if q else math.inf)", "worst = max(worst, p / q if q else Fraction(1))"),
        ("rows = [[p * q for p in mine for q in theirs]", "rows = [[p for p in mine for q in theirs[:1]]"),
        ("np.maximum(pair.forward(epsilon), pair.backward(epsilon))", "pair.forward(epsilon)"),
    ),
    *_of(
        "mechanisms/finite.py",
        "statistical/test_mechanism_draws.py",
        ("bisect_right(ladders[i], u)", "bisect_right(ladders[0], u)"),
    ),
    *_of(
        "mechanisms/mechanism.py",
        "unit/mechanisms/test_mapped.py conformance/test_mechanisms.py",
        ("return self.function(self.mechanism.release(value))", "return self.function(value)"),
        ("return float_up(self.event.pure())", "return float_up(self.event.pure()) / 2"),
    ),
    # from query to answer
    *_of(
        "planner/stability.py",
        "golden/test_query_to_plan.py laws/test_plan_sensitivity.py",
        ("l1, l2_squared = 2 * l1, 2 * sides * l2_squared", "l1, l2_squared = l1, sides * l2_squared"),
        ("sides = Fraction(up**2 + down**2, total.most**2) if total.most", "sides = Fraction(1) if total.most"),
        ("else max(high, 0) - min(low, 0)", "else high - low"),
        ("unconditional = total.where is None and scan.where is None and", "unconditional = total.where is None and"),
        ("(total.expression is None or total.null_as is not None)", "True"),
        (".of_group(schema.unit.group)", ""),
        ("return most * rows * groups, most**2 * rows**2 * groups", "return most * rows, most**2 * rows**2"),
        ("squared = most**2 * limit * 4**shift", "squared = most**2 * limit * 2**shift"),
        ('double = 2 if scan.schema.neighbors == "change-one" else 1', "double = 1"),
        ("l1, l2_squared = max(l1, Fraction(1)), max(l2_squared, Fraction(1))", "pass"),
    ),
    *_of(
        "planner/threshold.py",
        "laws/test_key_thresholds.py",
        ("return group * one + _quantile(noise, _tail(delta, group * discovery.most))", "group = 1"),
        ("_quantile(noise, _tail(delta, last))", "_quantile(noise, _tail(delta, 1))"),
        ("return -math.expm1(math.log1p(-float(delta)) / keys) * (1 - 2.0**-30)", "return float(delta)"),
        ("max(0.0, -math.log(2 * tail))", "max(0.0, -math.log(4 * tail))"),
        ("-float(ndtri(tail * (1 - 2.0**-20)))", "-float(ndtri(2 * tail))"),
    ),
    *_of(
        "planner/choose.py",
        "golden/test_query_to_plan.py",
        ('Choice("laplace", spend.epsilon / measures)', 'Choice("laplace", spend.epsilon)'),
        ('Choice("gaussian", spend.rho / measures)', 'Choice("gaussian", spend.rho)'),
        ("left = spend.epsilon * (1 - _ROOM) - 2 * blur", "left = spend.epsilon"),
    ),
    *_of(
        "planner/make.py",
        "golden/test_query_to_plan.py unit/test_release_door.py adversarial/test_session_road.py",
        ("if discovers and not spend.keys:", "if False:"),
        ("sum(map(len, ordered.values())) + discovers", "sum(map(len, ordered.values()))"),
        ("schema.units is None or query.where is not None or query.keys", "schema.units is None or query.keys"),
        ("fixed = isinstance(schema.unit, Rows) and schema", "fixed = schema"),
    ),
    *_of(
        "planner/keys.py",
        "golden/test_query_to_plan.py",
        ("(*values, None) if facts.nullable else tuple(values)", "(*values, None)"),
        ("if cells > MOST_KEYS:", "if False:"),
    ),
    *_of(
        "planner/verify.py",
        "adversarial/test_session_road.py",
        ("if tables.get(one.scan.table) != one.scan.schema:", "if False:"),
        ("or rule.threshold < least:", "or False:"),
        ("measure.sensitivity != claimed or _distance", "measure.sensitivity != claimed and _distance"),
        ("if hidden and not plan.discovers:", "if False:"),
    ),
    *_of(
        "planner/plan.py",
        "golden/test_query_to_plan.py adversarial/test_session_road.py unit/test_answer_forms.py",
        ("found = (self.keys.event,) if self.keys else ()", "found = ()"),
        ("return [type(value).__name__, *(_plain", "return [*(_plain"),
        ('return ["/", str(value.numerator), str(value.denominator)]', "return int(value)"),
    ),
    *_of(
        "release.py",
        "unit/test_release_door.py adversarial/test_session_road.py",
        ("if receipt.digest != plan.digest:", "if False:"),
        ("if weight > rule.threshold]", "if weight >= rule.threshold]"),
        ("weights += [0] * (-len(weights) % block)", "pass"),
        ("block = max(_LEAST_BLOCK, 2 * discovery.most * unit.group)", "block = _LEAST_BLOCK"),
        ("return [int(noisy) for noisy in mechanism.release(vector)]", "return list(integers)"),
    ),
    *_of(
        "session.py",
        "adversarial/test_session_road.py",
        ("verify(plan, self._schemas)", "pass"),
        ("with self._asking:", "if True:"),
    ),
    *_of(
        "ledger/bookkeeping.py",
        "conformance/test_ledgers.py unit/ledger/test_accounts.py",
        ("(record.digest, record.account) != (receipt.digest, receipt.account)", "record.digest != receipt.digest"),
        ("                if paid.digest != digest:", "                if False:"),
    ),
    *_of(
        "aggregates/aggregate.py",
        "conformance/test_aggregates.py",
        ("null_as=None if self.nullable else low,", "null_as=low,"),
        ("return replace(centred, power=2, offset=most // 2)", "return replace(centred, power=2)"),
        ('return rows(known if self.where is None else Call("and", (known, self.where)))', "return rows(known)"),
    ),
    *_of(
        "aggregates/spread.py",
        "conformance/test_aggregates.py",
        ("variance = variance * n / (n - 1.0)", "pass"),
    ),
    *_of(
        "inference/laws.py",
        "unit/inference/test_bars.py",
        ("+ steps / 2)", ")"),
        ("if one.chance + other.chance <= tail:", "if one.chance <= tail:"),
        ("math.sqrt(2) if self.family", "1.0 if self.family"),
    ),
]
