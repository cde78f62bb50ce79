"""Breakages of mechanisms."""

from __future__ import annotations

from mutant import Mutant, of

EVENTS = "conformance/test_events.py"
MUTANTS: list[Mutant] = [
    *of(
        "mechanisms.lattice:_round",
        "unit/mechanisms/test_lattice.py",
        ("floor + (scaled - floor >= 0.5)", "floor"),
    ),
    *of(
        "mechanisms.lattice:to_grid",
        "unit/mechanisms/test_lattice.py",
        ("floor + (scaled - floor >= 0.5)", "np.rint(scaled)"),
    ),
    *of(
        "mechanisms.lattice:from_grid",
        "unit/mechanisms/test_lattice.py",
        ("steps.dtype == np.int64 and abs(exponent) < 900", "steps.dtype == np.int64"),
    ),
    *of(
        "mechanisms.lattice:_exact",
        "unit/mechanisms/test_lattice.py adversarial/test_bad_input.py",
        ('f"a {type(value).__name__} that is not one"', "repr(value)"),
    ),
    *of(
        "mechanisms.lattice:_read_array",
        "unit/mechanisms/test_lattice.py adversarial/test_bad_input.py",
        ("isinstance(value, np.ma.MaskedArray)", "False"),
    ),
    *of(
        "mechanisms.laplace:Laplace._fine",
        "unit/mechanisms/test_laplace.py",
        ("math.ceil(self.sensitivity / step_of(exponent)) + n - 1", "math.floor(self.sensitivity / step_of(exponent))"),
        ("multiple * self.scale / self.sensitivity", "self.scale / step_of(exponent)"),
        ("-(-moves // self._steps)", "moves // self._steps"),
    ),
    *of(
        "mechanisms.laplace:DiscreteLaplaceEvent.rho.divergence",
        "unit/mechanisms/test_laplace.py",
        ("e + ((-e).exp() - 1) * shrink", "(e + ((-e).exp() - 1) * shrink) / 2"),
    ),
    *of(
        "mechanisms.laplace:Laplace._whole_error",
        "unit/mechanisms/test_laplace.py",
        (
            "math.ceil(self.scale * Fraction(inflate(in_scales))) - 1",
            "math.ceil(self.scale * Fraction(inflate(in_scales))) - 2",
        ),
    ),
    *of(
        "mechanisms.laplace:Laplace._drawn",
        "adversarial/test_release_audit.py statistical/test_mechanism_draws.py",
        ("self.scale", "self.scale / 2"),
    ),
    *of(
        "mechanisms.laplace:Laplace._noisy",
        "adversarial/test_release_audit.py statistical/test_mechanism_draws.py",
        ("noise.discrete_laplace(scale, numbers.shape)", "noise.discrete_laplace(scale * 3 / 4, numbers.shape)"),
    ),
    *of(
        "mechanisms.laws:NoiseLaw._mass",
        "unit/mechanisms/test_noise_laws.py",
        ("_context(self._lost)", "_context(0)"),
        ("1 - self._tail(last + 1) - self._tail(1 - first)", "1 - 2 * self._tail(last + 1)"),
    ),
    *of(
        "mechanisms.laws:NoiseLaw._least",
        "unit/mechanisms/test_noise_laws.py",
        ("self._tail(k) > tail", "self._tail(k + 1) > tail"),
        ("last if upper else -last", "last + 1 if upper else -last"),
    ),
    *of(
        "mechanisms.laws:NoiseLaw.sample",
        "unit/mechanisms/test_noise_laws.py",
        ("drawn + self.finer // 2", "drawn"),
    ),
    *of(
        "mechanisms.laws:DiscreteLaplace._moments",
        "unit/mechanisms/test_noise_laws.py",
        ("2 * a / (1 - a) ** 2", "a / (1 - a) ** 2"),
        ("half / (1 - all_of) * (1 - a) / (1 + a)", "half / (1 - all_of) * (1 - a)"),
    ),
    *of(
        "mechanisms.laws:DiscreteGaussian._tail",
        "unit/mechanisms/test_noise_laws.py",
        ("density * _decimal(factor) * here * power", "Decimal(0)"),
        ("Decimal(k) - Decimal(1) / 2", "Decimal(k)"),
    ),
    *of(
        "mechanisms.laws:AdditiveNoise.law",
        "unit/mechanisms/test_noise_laws.py",
        ("self._law(parameter, Fraction(1), 2**exponent)", "self._law(parameter, step_of(exponent), 1)"),
        ("self._drawn(many, on_integers)", "self._drawn(1, on_integers)"),
    ),
    *of(
        "mechanisms.gaussian:Gaussian._fine",
        "unit/mechanisms/test_gaussian.py",
        ("self.sigma_squared * (1 + root * step / distance) ** 2", "self.sigma_squared"),
        ("sqrt_down(self.sigma_squared) * self.blur / reach", "sqrt_down(self.sigma_squared) * self.blur * 9"),
    ),
    *of(
        "mechanisms.gaussian:_calibrated",
        "unit/mechanisms/test_gaussian.py",
        ("epsilon - 2 * blur", "epsilon + 2 * blur"),
    ),
    *of(
        "mechanisms.gaussian:_calibrated.fits",
        "unit/mechanisms/test_gaussian.py",
        ("_worst(DiscreteGaussianPair(steps, sigma**2), float_down(epsilon)) <= float_down(delta)", "True"),
    ),
    *of(
        "mechanisms.gaussian:Gaussian.classical",
        "unit/mechanisms/test_gaussian.py",
        ("not _SMALLEST_EPSILON <= wanted < 1", "False"),
    ),
    *of(
        "mechanisms.gaussian:Gaussian._drawn",
        "statistical/test_mechanism_draws.py",
        ("self.sigma_squared", "self.sigma_squared / 2"),
    ),
    *of(
        "mechanisms.gaussian:Gaussian._noisy",
        "statistical/test_mechanism_draws.py",
        ("noise.discrete_gaussian(variance, numbers.shape)", "noise.discrete_gaussian(variance / 2, numbers.shape)"),
    ),
    *of(
        "mechanisms.gaussian:_rho",
        f"unit/mechanisms/test_gaussian.py {EVENTS}",
        ("2 * variance", "4 * variance"),
    ),
    *of(
        "mechanisms.gaussian:GaussianEvent.pair",
        f"unit/mechanisms/test_gaussian.py {EVENTS}",
        ("float_up(self.blur)", "0.0"),
    ),
    *of(
        "mechanisms.selection:ExponentialEvent.rho",
        "unit/mechanisms/test_exponential.py",
        ("self.epsilon**2 / 8", "self.epsilon**2 / 9"),
    ),
    *of(
        "mechanisms.selection:SelectionMechanism.cost",
        "unit/mechanisms/test_exponential.py",
        ("self.rate * self.sensitivity * (1 if self.monotone else 2)", "self.rate * self.sensitivity"),
    ),
    *of(
        "mechanisms.selection:SelectionMechanism.__init__",
        "unit/mechanisms/test_exponential.py",
        ("(1 if monotone else 2) * distance", "distance"),
    ),
    *of(
        "mechanisms.selection:PermuteAndFlip.release",
        "unit/mechanisms/test_selection.py",
        ('"exponential"', '"gumbel"'),
    ),
    *of(
        "mechanisms.selection:NoisyMax.release",
        "unit/mechanisms/test_selection.py",
        ("noise.noisy_max(read_scores(scores), self.rate, law=self.law)", "noise.race(read_scores(scores), self.rate)"),
    ),
    *of(
        "mechanisms.selection:NoisyMax.event",
        "unit/mechanisms/test_selection.py",
        ('self.law == "gumbel"', "self.law"),
    ),
    *of(
        "mechanisms.selection:flip_depth",
        "unit/mechanisms/test_selection.py",
        ("best + 1", "best + 2"),
    ),
    *of(
        "mechanisms.selection:laplace_depth",
        "unit/mechanisms/test_selection.py",
        ("math.log(2 + x) - x", "-x"),
    ),
    *of(
        "mechanisms.selection:flips",
        "unit/mechanisms/test_selection.py",
        ("chances * p", "p"),
    ),
    *of(
        "mechanisms.top_k:TopK.event",
        "unit/mechanisms/test_selection.py",
        ("Repeated(ExponentialEvent(epsilon=self.cost), self.k)", "ExponentialEvent(epsilon=self.cost)"),
    ),
    *of(
        "mechanisms.top_k:TopKWithGaps.event",
        "unit/mechanisms/test_selection.py",
        ("self.k * self.cost", "self.cost"),
    ),
    *of(
        "mechanisms.top_k:TopK.__init__",
        "unit/mechanisms/test_selection.py",
        (
            "calibrate(lambda loss: ExponentialEvent(epsilon=Fraction(loss)), "
            'Approximate(epsilon=total, delta=chance), times=winners, more="cost", '
            "start=float(each), relative=1e-7)",
            "calibrate(lambda loss: ExponentialEvent(epsilon=Fraction(loss)), "
            'Approximate(epsilon=total, delta=chance), times=1, more="cost", start=float(each), '
            "relative=1e-7)",
        ),
    ),
    *of(
        "mechanisms.top_k:TopKWithGaps.improve",
        "unit/mechanisms/test_selection.py",
        ("math.inf", "0.0"),
    ),
    *of(
        "mechanisms.top_k:TopKWithGaps._top",
        "unit/mechanisms/test_selection.py",
        ("self.k + 1", "1"),
    ),
    *of(
        "mechanisms.worked:best_price",
        "unit/mechanisms/test_selection.py",
        ('read_neighbors(neighbors) == "add-remove"', "True"),
    ),
    *of(
        "mechanisms.worked:revenues",
        "unit/mechanisms/test_selection.py",
        ("bisect_left(exact, price)", "bisect_left(exact, price + 1)"),
    ),
    *of(
        "mechanisms.randomized_response:RandomizedResponse.__init__",
        "unit/mechanisms/test_randomized_response.py",
        (
            'exp_down(min(positive(epsilon, "epsilon"), Fraction(300)))',
            '1 + exp_down(min(positive(epsilon, "epsilon"), Fraction(300)))',
        ),
    ),
    *of(
        "mechanisms.randomized_response:ResponseEvent.rho",
        "unit/mechanisms/test_randomized_response.py",
        ("self.categories == 2 or (self.categories <= 6 and self.p >= self.q)", "self.categories <= 6"),
    ),
    *of(
        "mechanisms.randomized_response:ResponseEvent.pure",
        "unit/mechanisms/test_randomized_response.py",
        ("sorted((self.p, self.q))", "self.p, self.p"),
    ),
    *of(
        "mechanisms.randomized_response:RandomizedResponse._report",
        "statistical/test_mechanism_draws.py",
        ("np.where(indices == 1, yes, no)", "np.where(indices == 1, yes, 1 - yes)"),
        ("other + (other >= indices)", "other"),
    ),
    *of(
        "mechanisms.randomized_response:RandomizedResponse.estimate",
        "statistical/test_mechanism_draws.py",
        ("betainccinv(hits + 1, n - hits, tail / 2)", "betainccinv(hits + 1, n - hits, tail * 2)"),
    ),
    *of(
        "mechanisms.finite:FiniteMechanism._directed",
        f"unit/mechanisms/test_finite.py {EVENTS}",
        ("[*self.neighbors, *((j, i) for i, j in self.neighbors)]", "[*self.neighbors]"),
    ),
    *of(
        "mechanisms.finite:FiniteMechanism.ratio",
        f"unit/mechanisms/test_finite.py {EVENTS}",
        ("math.inf", "Fraction(1)"),
    ),
    *of(
        "mechanisms.finite:FiniteMechanism.compose",
        f"unit/mechanisms/test_finite.py {EVENTS}",
        ("[p * q for p in mine for q in theirs]", "[p for p in mine for q in theirs[:1]]"),
    ),
    *of(
        "mechanisms.finite:WorstPair.forward",
        f"unit/mechanisms/test_finite.py {EVENTS}",
        ("np.maximum(pair.forward(epsilon), pair.backward(epsilon))", "pair.forward(epsilon)"),
    ),
    *of(
        "mechanisms.finite:FiniteMechanism.release",
        "statistical/test_mechanism_draws.py",
        ("ladders[i]", "ladders[0]"),
    ),
    *of(
        "mechanisms.mechanism:Mapped.release",
        "unit/mechanisms/test_mapped.py conformance/test_mechanisms.py",
        ("self.mechanism.release(value)", "value"),
    ),
    *of(
        "mechanisms.mechanism:Mechanism.epsilon",
        "unit/mechanisms/test_mapped.py conformance/test_mechanisms.py",
        ("float_up(self.event.pure())", "float_up(self.event.pure()) / 2"),
    ),
    *of(
        "mechanisms.sparse_run:Run.ask",
        "adversarial/test_sparse_vector_audit.py",
        ("self._steps.query_scale", "self._steps.query_scale / 2"),
    ),
    *of(
        "mechanisms.sparse_run:Run.ask_all",
        "adversarial/test_sparse_vector_audit.py",
        (
            "noise.discrete_laplace(self._steps.query_scale, block.size)",
            "noise.discrete_laplace(self._steps.query_scale, 1).repeat(block.size)",
        ),
    ),
    *of(
        "mechanisms.sparse_run:Run._draw_bar",
        "adversarial/test_sparse_vector_audit.py",
        ("self._steps.threshold + noise.discrete_laplace(self._steps.threshold_scale)", "self._steps.threshold"),
    ),
    *of(
        "mechanisms.sparse_run:Run._count",
        "adversarial/test_sparse_vector_audit.py",
        ("self._refresh and self.left", "False"),
    ),
    *of(
        "mechanisms.sparse_run:Run.ask_all",
        "unit/mechanisms/test_sparse_vector.py",
        ("not self.left", "False"),
    ),
    *of(
        "mechanisms.sparse_run:make_steps",
        "unit/mechanisms/test_sparse_vector.py",
        ("math.ceil", "math.floor"),
    ),
    *of(
        "mechanisms.sparse_run:Run._next",
        "unit/mechanisms/test_sparse_vector.py",
        ("start + width, 2 * width", "start + 2 * width, 2 * width"),
    ),
    *of(
        "mechanisms.sparse_vector:Sparse._crossing_event",
        "adversarial/test_sparse_vector_audit.py unit/mechanisms/test_sparse_vector.py",
        ("self.limit * crossing", "crossing"),
        ("Repeated(PureEvent(once + crossing), self.limit)", "PureEvent(once + self.limit * crossing)"),
        ("1 if self.monotone else 2", "1"),
    ),
    *of(
        "mechanisms.sparse_vector:Sparse._answers",
        "adversarial/test_sparse_vector_audit.py unit/mechanisms/test_sparse_vector.py",
        ("run.left", "True"),
    ),
    *of(
        "mechanisms.sparse_run:epsilon_each.holds",
        "unit/mechanisms/test_sparse_vector.py",
        ("optimal(Repeated(PureEvent(Fraction(each)), times), delta) <= aim", "each <= aim / 2"),
    ),
    *of(
        "mechanisms.sparse_run:_failure",
        "unit/mechanisms/test_sparse_vector.py",
        ("queries / 2 * (log_far + log_near)", "log_far + log_near"),
    ),
    *of(
        "mechanisms.sparse_run:printed_scale",
        "unit/mechanisms/test_sparse_vector.py",
        ("32 * limit", "16 * limit"),
    ),
    *of(
        "mechanisms.numeric_sparse:NumericSparse.event",
        "unit/mechanisms/test_sparse_vector.py",
        ("Composed((self._crossing_event(), Repeated(self.measure.event, self.limit)))", "self._crossing_event()"),
    ),
    *of(
        "mechanisms.numeric_sparse:NumericSparse.__init__",
        "unit/mechanisms/test_sparse_vector.py",
        ("self.sensitivity / each", "self.sensitivity / each / self.limit"),
    ),
    *of(
        "mechanisms.numeric_sparse:NumericSparse._improved",
        "unit/mechanisms/test_sparse_vector.py",
        ("0.0 if self.refresh else bar", "0.0"),
    ),
    *of(
        "mechanisms.sparse_vector:improve",
        "unit/mechanisms/test_sparse_vector.py",
        ("mean + along * (other - mean)", "other"),
    ),
]
