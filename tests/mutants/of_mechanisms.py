"""Breakages of mechanisms."""

from __future__ import annotations

from mutant import Mutant, of

EVENTS = "conformance/test_events.py"
MUTANTS: list[Mutant] = [
    *of(
        "mechanisms/lattice.py",
        "unit/mechanisms/test_lattice.py",
        ("return floor + (scaled - floor >= 0.5)", "return floor"),
        ("rounded = floor + (scaled - floor >= 0.5)", "rounded = np.rint(scaled)"),
        ("if steps.dtype == np.int64 and abs(exponent) < 900:", "if steps.dtype == np.int64:"),
    ),
    *of(
        "mechanisms/reading.py",
        "unit/mechanisms/test_lattice.py adversarial/test_bad_input.py",
        (
            'raise BadValue(parameter, f"a {type(value).__name__} that is not one", _ALLOWED)',
            "raise BadValue(parameter, repr(value), _ALLOWED)",
        ),
        ("if isinstance(value, np.ma.MaskedArray):", "if False:"),
    ),
    *of(
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
    *of(
        "mechanisms/laplace.py",
        "adversarial/test_release_audit.py statistical/test_mechanism_draws.py",
        ("exponent, scale = 0, self.scale", "exponent, scale = 0, self.scale / 2"),
        (
            "drawn = noise.discrete_laplace(scale, numbers.shape)",
            "drawn = noise.discrete_laplace(scale * 3 / 4, numbers.shape)",
        ),
    ),
    *of(
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
    *of(
        "mechanisms/gaussian.py",
        "statistical/test_mechanism_draws.py",
        (
            "return 0, self.sigma_squared",
            "return 0, self.sigma_squared / 2",
        ),
        (
            "drawn = noise.discrete_gaussian(variance, numbers.shape)",
            "drawn = noise.discrete_gaussian(variance / 2, numbers.shape)",
        ),
    ),
    *of(
        "mechanisms/gaussian_event.py",
        f"unit/mechanisms/test_gaussian.py {EVENTS}",
        (
            "return squared / (2 * variance) if variance else math.inf",
            "return squared / (4 * variance) if variance else math.inf",
        ),
        ("float_up(self.blur))", "0.0)"),
    ),
    *of(
        "mechanisms/exponential.py",
        "unit/mechanisms/test_exponential.py",
        ("return self.epsilon**2 / 8", "return self.epsilon**2 / 9"),
    ),
    *of(
        "mechanisms/selection.py",
        "unit/mechanisms/test_exponential.py",
        (
            "return self.rate * self.sensitivity * (1 if self.monotone else 2)",
            "return self.rate * self.sensitivity",
        ),
        (
            'speed = positive(epsilon, "epsilon") / ((1 if monotone else 2) * distance)',
            'speed = positive(epsilon, "epsilon") / distance',
        ),
    ),
    *of(
        "mechanisms/noisy_max.py",
        "unit/mechanisms/test_selection.py",
        ('self.rate, law="exponential"))', 'self.rate, law="gumbel"))'),
        ("noise.noisy_max(read_scores(scores), self.rate, law=self.law)", "noise.race(read_scores(scores), self.rate)"),
        ('if self.law == "gumbel" else PureEvent(self.cost)', "if self.law else PureEvent(self.cost)"),
    ),
    *of(
        "mechanisms/selection_odds.py",
        "unit/mechanisms/test_selection.py",
        ("- math.log(best + 1) - math.log(tail)))", "- math.log(best + 2) - math.log(tail)))"),
        ("math.log(2 + x) - x <= aim", "-x <= aim"),
        ("return _normal(found * p, places)", "return _normal(p, places)"),
    ),
    *of(
        "mechanisms/top_k.py",
        "unit/mechanisms/test_selection.py",
        ("return Repeated(ExponentialEvent(epsilon=self.cost), self.k)", "return ExponentialEvent(epsilon=self.cost)"),
        ("return PureEvent(self.k * self.cost)", "return PureEvent(self.cost)"),
        ("times=winners,", "times=1,"),
        ("offset_variance=math.inf", "offset_variance=0.0"),
        ("_enough(values.size, self.k + 1)", "_enough(values.size, 1)"),
    ),
    *of(
        "mechanisms/worked.py",
        "unit/mechanisms/test_selection.py",
        (
            'monotone = read_neighbors(neighbors) == "add-remove"\n    given = _listed(prices',
            "monotone = True\n    given = _listed(prices",
        ),
        ("bisect_left(exact, price)", "bisect_left(exact, price + 1)"),
    ),
    *of(
        "mechanisms/randomized_response.py",
        "unit/mechanisms/test_randomized_response.py",
        ("grown = exp_down(", "grown = 1 + exp_down("),
        ("if self.categories == 2 or (self.categories <= 6 and self.p >= self.q):", "if self.categories <= 6:"),
        ("low, high = sorted((self.p, self.q))", "low, high = self.p, self.p"),
    ),
    *of(
        "mechanisms/randomized_response.py",
        "statistical/test_mechanism_draws.py",
        ("reports = np.where(indices == 1, yes, no)", "reports = np.where(indices == 1, yes, 1 - yes)"),
        ("lies = other + (other >= indices)", "lies = other"),
        ("float(betainccinv(hits + 1, n - hits, tail / 2))", "float(betainccinv(hits + 1, n - hits, tail * 2))"),
    ),
    *of(
        "mechanisms/finite.py",
        f"unit/mechanisms/test_finite.py {EVENTS}",
        ("return [*self.neighbors, *((j, i) for i, j in self.neighbors)]", "return [*self.neighbors]"),
        ("worst = max(worst, p / q if q else math.inf)", "worst = max(worst, p / q if q else Fraction(1))"),
        ("rows = [[p * q for p in mine for q in theirs]", "rows = [[p for p in mine for q in theirs[:1]]"),
        ("np.maximum(pair.forward(epsilon), pair.backward(epsilon))", "pair.forward(epsilon)"),
    ),
    *of(
        "mechanisms/finite.py",
        "statistical/test_mechanism_draws.py",
        ("bisect_right(ladders[i], u)", "bisect_right(ladders[0], u)"),
    ),
    *of(
        "mechanisms/mechanism.py",
        "unit/mechanisms/test_mapped.py conformance/test_mechanisms.py",
        ("return self.function(self.mechanism.release(value))", "return self.function(value)"),
        ("return float_up(self.event.pure())", "return float_up(self.event.pure()) / 2"),
    ),
    *of(
        "mechanisms/sparse_run.py",
        "adversarial/test_sparse_vector_audit.py",
        (
            "gap = value + noise.discrete_laplace(self._steps.query_scale) - self._bar",
            "gap = value + noise.discrete_laplace(self._steps.query_scale / 2) - self._bar",
        ),
        (
            "noise.discrete_laplace(self._steps.query_scale, block.size)",
            "noise.discrete_laplace(self._steps.query_scale, 1).repeat(block.size)",
        ),
        ("self._steps.threshold + noise.discrete_laplace(self._steps.threshold_scale)", "self._steps.threshold"),
        ("if self._refresh and self.left:", "if False:"),
    ),
    *of(
        "mechanisms/sparse_run.py",
        "unit/mechanisms/test_sparse_vector.py",
        ("if not self.left:", "if False:"),
        ("moves = math.ceil(sensitivity / step_of(exponent))", "moves = math.floor(sensitivity / step_of(exponent))"),
        ("start, width = start + width, 2 * width", "start, width = start + 2 * width, 2 * width"),
    ),
    *of(
        "mechanisms/sparse_vector.py",
        "adversarial/test_sparse_vector_audit.py unit/mechanisms/test_sparse_vector.py",
        ("return PureEvent(once + self.limit * crossing)", "return PureEvent(once + crossing)"),
        ("return Repeated(PureEvent(once + crossing), self.limit)", "return PureEvent(once + self.limit * crossing)"),
        ("1 if self.monotone else 2\n        crossing", "1\n        crossing"),
        ("while run.left:", "while True:"),
    ),
    *of(
        "mechanisms/sparse_budget.py",
        "unit/mechanisms/test_sparse_vector.py",
        ("return optimal(Repeated(PureEvent(Fraction(each)), times), delta) <= aim", "return each <= aim / 2"),
        ("wrong = -np.expm1(queries / 2 * (log_far + log_near))", "wrong = -np.expm1(log_far + log_near)"),
        ("return sqrt_up(32 * limit * tail) / epsilon", "return sqrt_up(16 * limit * tail) / epsilon"),
    ),
    *of(
        "mechanisms/numeric_sparse.py",
        "unit/mechanisms/test_sparse_vector.py",
        ("Composed((self._crossing_event(), Repeated(self.measure.event, self.limit)))", "self._crossing_event()"),
        ("self._measure_with(self.sensitivity / each)", "self._measure_with(self.sensitivity / each / self.limit)"),
        ("offset_variance=0.0 if self.refresh else bar", "offset_variance=0.0"),
    ),
    *of(
        "mechanisms/sparse_answers.py",
        "unit/mechanisms/test_sparse_vector.py",
        ("center = mean + along * (other - mean)", "center = other"),
    ),
]
