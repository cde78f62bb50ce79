"""Breakages of strategies: what a unit can move, exact products, noise, least squares, intervals."""

from __future__ import annotations

from mutant import Mutant, of

NORMS = "unit/strategy/test_column_norms.py"
FOUND = "unit/strategy/test_reconstruction.py"
ORDERED = "unit/test_ordered_marginals.py"
BASES = "unit/strategy/test_centred_bases.py"
COVARIANCES = "unit/strategy/test_covariances.py"
PARTITIONS = "unit/strategy/test_partition_tree.py"
WEIGHTS = "unit/strategy/test_multiplicative_weights.py"
SUMS = "unit/strategy/test_laplace_sums.py"
TABLES = "golden/test_reference_strategy.py"
MOVES = "laws/test_strategy_sensitivity.py"
EXACT = "laws/test_strategy_laws.py"
COVERED = "statistical/test_strategy_coverage.py"
RANGES = "unit/test_ranges_session.py"
MARGINALS = "unit/test_marginals_session.py"
SPECTRAL = "unit/strategy/test_spectral.py"
MUTANTS: list[Mutant] = [
    *of(
        "strategy.spectral_roots:_entries",
        SPECTRAL,
        ("_rising(kernel, 2, cells)", "_rising(kernel, 1, cells)"),
        ("_rising(kernel, 2 * cells + 2, cells)", "_rising(kernel, 2 * cells + 1, cells)"),
    ),
    *of(
        "strategy.spectral_roots:SpectralStrategy.__post_init__",
        SPECTRAL,
        ("(self.matrix != made).any()", "False"),
        ("set(self.weights) != {1}", "False"),
    ),
    *of(
        "strategy.spectral_roots:SpectralStrategy._covariance",
        SPECTRAL,
        ("np.ptp(variances) > 0", "False"),
        ("1 / self._eigenvalues**2", "1 / np.abs(self._eigenvalues)"),
    ),
    *of(
        "strategy.spectral_roots:spectral",
        SPECTRAL,
        ("(2 * np.sin(angles / 2)) ** -0.5", "(2 * np.sin(angles / 2)) ** -1.0"),
    ),
    *of(
        "strategy.integer_products:exact_product",
        NORMS,
        ("longest <= bits", "True"),
        ("((abs(integer) >> shift) & mask) * (1 if integer >= 0 else -1)", "(abs(integer) >> shift) & mask"),
    ),
    *of("strategy.integer_products:largest_row_sum", NORMS, ("largest * matrix.shape[1] >= 1 << _ROOM", "False")),
    *of(
        "strategy.strategies:MatrixStrategy._column_norm",
        NORMS,
        (
            "exact_product(powered(self.matrix, self.power).T, self.weights)",
            "exact_product(powered(self.matrix, 1).T, self.weights)",
        ),
    ),
    *of(
        "strategy.strategies:MatrixStrategy._pair_norm",
        NORMS,
        ("self.power == 1 or int(least[kept].min()) >= 0", "True"),
        ("max(self._column_norm, factor * bound)", "factor * self._column_norm // 2"),
    ),
    *of(
        "strategy.strategies:_largest_difference",
        NORMS,
        (
            "np.abs(matrix[:, place + 1 :] - matrix[:, place, None]) ** power",
            "np.abs(matrix[:, place + 1 :] - matrix[:, place, None])",
        ),
    ),
    *of(
        "strategy.strategies:ProductStrategy.pair_norm",
        NORMS,
        ("4 if self.power == 2 and signed else 2", "1"),
    ),
    *of(
        "strategy.strategies:ProductStrategy.column_norm",
        NORMS,
        (
            "math.prod((factor.column_norm() for factor in self.factors), start=Fraction(1))",
            "max(factor.column_norm() for factor in self.factors)",
        ),
    ),
    *of(
        "strategy.unions:UnionStrategy._column_norm",
        NORMS,
        ("max((sum(column) for column in largest))", "max((max(column) for column in largest))"),
        ("largest = [(*self.weights,)]", "largest = [(1,) * len(self.weights)]"),
    ),
    *of("strategy.unions:UnionStrategy.pair_norm", NORMS, ("4 if self.power == 2 and signed else 2", "1")),
    *of("strategy.unions:_not_exceeded", NORMS, ("column[-1] > most", "column[-1] > most and (not kept)")),
    *of("strategy.integer_products:exact_columns", NORMS, ("longest <= room", "True")),
    *of("strategy.integer_products:check_sums", NORMS, ("max(sums).bit_length() >= _ROOM", "False")),
    *of(
        "strategy.strategies:ProductStrategy.expanded",
        NORMS,
        ("math.prod(int(abs(factor.matrix).max()) for factor in self.factors) >= _ROOM", "False"),
    ),
    *of(
        "strategy.strategies:_largest_pair",
        NORMS,
        ("2 * products", "4 * products"),
        ("norms[:, None] + norms - 2 * products", "norms[:, None] - products"),
        ("np.array([[weight]], dtype=object)", "np.array([[1]], dtype=object)"),
    ),
    *of(
        "strategy.covariances:check_measured",
        COVARIANCES,
        ("(parts > _NOTHING * workload.variances(kept)).any()", "False"),
    ),
    *of(
        "strategy.covariances:SubspaceCovariance._check_missing",
        COVARIANCES,
        ("_products(parts, axes) > _NOTHING * squares", "_products(parts, axes) > _NOTHING * 90000"),
    ),
    *of(
        "strategy.gaussian_program:_from_covering",
        FOUND,
        ("None if basis is None else _combined(matrix, basis)", "None"),
    ),
    *of(
        "strategy.whole_bases:_between_ends",
        FOUND,
        ("workload.highs + 1", "workload.highs"),
        ("labels[order][1:] == labels[order][:-1]", "labels[order][1:] >= labels[order][:-1]"),
    ),
    *of("strategy.laplace_sums:_shares", FOUND, ("np.where(total > 0, total, 1.0)", "total")),
    *of("strategy.unions:UnionStrategy._unit_covariance", COVARIANCES, ("~empty", "empty")),
    *of("strategy.joint_covariances:JointCovariance._check", COVARIANCES, ("math.sqrt(_NOTHING)", "math.inf")),
    *of(
        "strategy.hierarchies:TreeStrategy._upward",
        FOUND,
        ("1 / noises[level] + 1 / noise", "1 / noises[level]"),
    ),
    *of("strategy.hierarchies:TreeStrategy._covariance", FOUND, ("np.outer(part, part) / part.sum()", "0")),
    *of(
        "strategy.gaussian_program:solve_gaussian",
        TABLES,
        ("multipliers * diagonal**2", "multipliers"),
        ("matrix / diagonal.max()", "gram"),
    ),
    *of(
        "strategy.residuals:ResidualStrategy.column_norm",
        NORMS,
        ("weight * self._share(axes)", "weight"),
    ),
    *of(
        "strategy.residuals:ResidualStrategy._pair_norm",
        NORMS,
        ("4 * norm", "2 * norm"),
        ("2 * weight", "weight"),
        ("sums.min()", "sums.max()"),
        ("common * without", "without"),
        ("(True, False)", "(True, True)"),
    ),
    *of(
        "planner.many_counts:marginal_workload",
        ORDERED,
        ("sizes[axis] / factors[axis].mass", "1"),
    ),
    *of("planner.many_counts:spans_workload", ORDERED, ("cells - null", "cells")),
    *of(
        "results.released_counts:Marginals._span",
        ORDERED,
        ("low is None or value >= low", "low is None or value > low"),
        ("not rising(known)", "False"),
    ),
    *of(
        "results.released_counts:_plain",
        ORDERED,
        ("day == value", "True"),
        ("not isinstance(value, np.timedelta64)", "True"),
    ),
    *of("strategy.reconstruction:difference_of_counts", ORDERED, ("_check_level(level, found.strategy)", "")),
    *of("strategy.reconstruction:workload_of_spans", ORDERED, ("[span]", "[(span[0], span[0])]")),
    *of("strategy.residuals:marginal_from", ORDERED, ("sizes[axis] == 1", "sizes[axis] == 0")),
    *of(
        "results.released_counts:_cuts",
        "unit/test_ordered_marginals.py",
        ("low is None or low <= first or low in values", "True"),
        ("high in values", "True"),
    ),
    *of(
        "results.released_counts:Marginals.difference",
        ORDERED,
        ("min(max(float(answers.plain[0]), low), high)", "float(answers.plain[0])"),
    ),
    *of(
        "results.released_counts:ReleasedCounts._whole_difference",
        ORDERED,
        ("self.measure.shift or inner[0] > inner[1]", "False"),
    ),
    *of(
        "strategy.centred_bases:_basis",
        BASES,
        ("BITS if n <= _SMALL else _SHORT if n <= _MIDDLING else _SHORTEST", "BITS"),
    ),
    *of("strategy.residuals:ResidualStrategy.apply", BASES, ("table.astype(object) if self.bases else table", "table")),
    *of("strategy.residuals:ResidualStrategy._unit", BASES, ("basis.largest", "1")),
    *of(
        "strategy.residuals:ResidualStrategy._product",
        BASES,
        ("Fraction(basis.least_product, basis.largest)", "Fraction(0)"),
    ),
    *of("strategy.residuals:ResidualStrategy._draws", BASES, ("self._basis(axis) is not None", "0")),
    *of(
        "strategy.residuals:_Problem.__init__",
        BASES,
        (
            "self.prices[place[inner]] / others**2 * along",
            "self.prices[place[inner]] / others**2",
        ),
    ),
    *of(
        "strategy.centred_bases:CentredBasis.__post_init__",
        BASES,
        ("plain_array(self.matrix).sum(axis=1).any()", "False"),
    ),
    *of("strategy.centred_bases:CentredBasis.least_product", BASES, ("(columns.T @ columns).min()", "0")),
    *of("strategy.centred_bases:_centred_gram", BASES, ("gram - gram.mean(axis=0)", "gram")),
    *of(
        "strategy.covariances:SubspaceCovariance._varied_between",
        BASES,
        ("self.bases[axis][one[0]:one[1] + 1, other[0]:other[1] + 1].sum()", "self.bases[axis][one[0], other[0]]"),
        ("_length(one) * _length(other)", "_length(one)"),
    ),
    *of(
        "strategy.residuals:MarginalStrategy.pair_norm",
        NORMS,
        ("max(2 * moved, sum(self.weights))", "max(moved, sum(self.weights))"),
    ),
    *of(
        "strategy.measured:StrategyMeasure.__init__",
        NORMS,
        ("most**2 * self.moved / (2 * _price(rho, 'rho'))", "most * self.moved / (2 * _price(rho, 'rho'))"),
        ("most * self.moved / _price(epsilon, 'epsilon')", "self.moved / _price(epsilon, 'epsilon')"),
    ),
    *of(
        "strategy.measured:StrategyMeasure.moved",
        NORMS,
        (
            "self.strategy.column_norm() if self.neighbors == 'add-remove' else self.strategy.pair_norm()",
            "self.strategy.column_norm()",
        ),
    ),
    *of("strategy.measured:StrategyMeasure.noises", NORMS, ("(scales[weight], many)", "(self.scale, many)")),
    *of("strategy.measured:StrategyMeasure._noisy", FOUND, ("scale * 4**self.exponent", "scale")),
    *of(
        "strategy.measured:StrategyMeasure._draw_residuals",
        FOUND,
        ("strategy._differences_of(axes, noisy.reshape(table.shape))", "noisy.reshape(table.shape)"),
    ),
    *of(
        "strategy.reconstruction:Reconstruction.__post_init__",
        FOUND,
        ("self.total is not None and self.measure.neighbors == 'add-remove'", "False"),
    ),
    *of("strategy.laplace_sums:half_widths", FOUND, ("max(normal, -math.log1p(-confidence) / math.sqrt(2))", "normal")),
    *of(
        "strategy.laplace_sums:sum_widths",
        SUMS,
        ("fourth - first ** 2", "fourth"),
        ("_table(confidence).ev(first, np.clip(alike, 0.0, 1.0))", "_table(confidence).ev(0 * first, 0 * alike)"),
    ),
    *of("strategy.laplace_sums:_shares", SUMS, ("squares.max(axis=1)", "squares.mean(axis=1)")),
    *of(
        "strategy.reconstruction:Reconstruction._half_step",
        SUMS,
        ("0.5 / math.sqrt(float(variances.min())) if often else 0.0", "0.0"),
    ),
    *of(
        "strategy.reconstruction:Reconstruction._answer_variances",
        SUMS,
        ("workload.answers(with_total) ** 2 / with_total.sum()", "workload.answers(with_total) / with_total.sum()"),
    ),
    *of(
        "strategy.partition_tree:partition_loss",
        PARTITIONS,
        ("min(depth, 2) * rate", "min(depth, 1) * rate"),
        ("-rate * fall * place", "-rate * fall * (place + 1)"),
        ("range(1, max(depth - 1, 1))", "range(1, 1)"),
    ),
    *of(
        "strategy.partition_tree:PartitionTree._rows",
        PARTITIONS,
        ("self.contribution * (1 if self.neighbors == 'add-remove' else 2)", "self.contribution"),
    ),
    *of(
        "strategy.partition_tree:PartitionTree.simulate",
        "adversarial/test_registry_audit.py",
        ("counts - depth * self.fall", "counts"),
        ("noise.discrete_laplace(self.count_scale, parts)", "noise.discrete_laplace(self.count_scale / 2, parts)"),
    ),
    *of(
        "strategy.multiplicative_weights:MultiplicativeWeights._scores",
        WEIGHTS,
        ("(count << _BITS) - int(estimate)", "int(float(count << _BITS) - estimate)"),
        ("abs(int(answer))", "abs(float(answer))"),
        ("np.rint(np.ldexp(self._model(history), _BITS))", "np.ldexp(self._model(history), _BITS)"),
    ),
    *of(
        "strategy.multiplicative_weights:MultiplicativeWeights.__init__",
        WEIGHTS,
        ("Exponential(sensitivity=reach << _BITS, epsilon=each)", "Exponential(sensitivity=reach, epsilon=each)"),
        ("(budget - paid) / (2 * many)", "(budget - paid) / many"),
        ("total is not None and relation == 'add-remove'", "False"),
    ),
    *of("strategy.exact_answers:reach_of", WEIGHTS, ("2 * single if signed and signed_pairs else single", "single")),
    *of("strategy.exact_answers:exact_table", WEIGHTS, ("sum(map(abs, integers)) < _ROOM", "True")),
    *of("strategy.reconstruction:Reconstruction._total_measured", SUMS, ("return False", "return True")),
    *of("strategy.reconstruction:Reconstruction._possible", FOUND, ("np.clip(low, 0.0, top)", "low")),
    *of("strategy.residuals:_Marginals._table", EXACT, ("sum(map(abs, given.counts)) < 2**62", "True")),
    *of(
        "strategy.measured:StrategyMeasure.exponent",
        EXACT,
        ("return self.shift", "return 0"),
    ),
    *of(
        "planner.stability:reach_of",
        MOVES,
        ("most * scan.schema.unit.touches", "most"),
        ("groups * kept", "groups"),
        ("limit * 2**shift", "limit * 2**shift // 2"),
    ),
    *of(
        "planner.many_counts:strategy_measure",
        MOVES,
        ("reach_of(scan) / 2**shift", "reach_of(scan) / 2**shift / 2"),
        ("scan.schema.moves", "'add-remove'"),
    ),
    *of(
        "planner.matrix:MatrixMeasure.verify",
        MOVES,
        ("(again.event, again.noises, again.exponent) != held", "False"),
        ("(again.neighbors, again.shift, again.contribution * 2**again.shift) != claimed", "False"),
        ("self.strategy.shape not in (sizes, (math.prod(sizes),))", "False"),
        ("scan.cells is not None", "False"),
        ("_made_again(self.noise)", "self.noise"),
    ),
    *of("planner.matrix:_check_kinds", MOVES, ("not _known(noise.strategy)", "False")),
    *of("planner.matrix:_written", MOVES, ("noise.strategy.digest", "''"), ("noise.scale", "0")),
    *of(
        "strategy.given_numbers:read_integer_matrix",
        "unit/strategy/test_column_norms.py",
        ("int(held.max()) >= _LARGEST or int(held.min()) <= -_LARGEST", "int(held.max()) >= _LARGEST"),
    ),
    *of(
        "strategy.given_numbers:_entry",
        "unit/strategy/test_column_norms.py",
        ("isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer))", "False"),
    ),
    *of(
        "results.released_ranges:Ranges._gaps",
        COVERED,
        ("share**2 * below[-1]", "0"),
        ("2 * share * together", "0"),
        ("spread * wide", "spread"),
    ),
    *of(
        "results.released_ranges:Ranges.quantile",
        COVERED,
        ("gap + half >= 0", "gap >= 0"),
        ("(gap - half)[:-1]", "gap[:-1]"),
    ),
    *of("results.released_ranges:Ranges.count", RANGES, ("inner == outer", "True")),
    *of(
        "results.released_counts:ReleasedCounts._answers",
        MARGINALS,
        ("np.floor(answers.low + 1e-09)", "np.ceil(answers.low + 1)"),
    ),
    *of("planner.many_counts:known_total", MARGINALS, ("not whole", "False")),
    *of("planner.many_counts:plan_counts", RANGES, ("tuple(map(_without_null, keys))", "keys")),
]
