"""Breakages of the local model: odds, draws, decoding, intervals, and what a server lets pass."""

from __future__ import annotations

from mutant import Mutant, of

ORACLES = "unit/local/test_oracles.py"
SERVERS = "unit/local/test_servers.py"
SHARES = "unit/local/test_frequencies.py"
MEANS = "unit/local/test_means.py"
HEAVY = "unit/local/test_heavy_hitters.py"
DISTRIBUTIONS = "unit/local/test_distributions.py"
ATTRIBUTES = "unit/local/test_attributes.py"
LOCATIONS = "unit/local/test_locations.py"
MESSAGES = "unit/local/test_shuffled_counts.py"
SHUFFLED = "unit/accounting/test_shuffled.py"
PACKED = "unit/noise/test_noise_packed.py"
RAPPOR = "unit/local/test_rappor.py"
SHUFFLER = "unit/local/test_shuffler.py"
MUTANTS: list[Mutant] = [
    *of(
        "local.rappor:Rappor.memoised",
        RAPPOR,
        ("self.hashes * distinct", "distinct * 2"),
        ("kept * b + (1 - kept) * a", "kept * a + (1 - kept) * b"),
    ),
    *of("local.rappor:Rappor._recall", RAPPOR, ("(body & ones) | (~body & zeros)", "(body & ones) | zeros")),
    *of("local.rappor:Rappor._remember", RAPPOR, ("1 - self.flip / 2", "1 - self.flip / 4")),
    *of("local.memo:Memo.report", RAPPOR, ('len(draws) >= self._kept["values"]', "False"), ("self._write()", "pass")),
    *of("local.memo:Memo._read", RAPPOR, ('self._kept["survey"] != self.oracle.digest.hex()', "False")),
    *of(
        "local.shuffler:Shuffler.forward",
        SHUFFLER,
        ("self.waiting < self.minimum", "self.waiting < 1"),
        ("data[order]", "data"),
    ),
    *of("local.shuffler:Shuffler._is_new", SHUFFLER, ("self._seen.add(id_)", "pass")),
    *of("local.shuffler:Shuffler.event", SHUFFLER, ("size - absent - forged", "size - absent")),
    *of(
        "noise.coins:PackedCoin._block",
        PACKED,
        ("settled[places] |= pending & ~digits", "settled[places] |= pending & digits"),
        ("rest -= 1", "pass"),
    ),
    *of("noise.coins:CoinBytes.__init__", PACKED, ("share - count", "share")),
    *of("noise.coins:CoinBytes.fill", PACKED, ("entries >= self._left", "entries > self._left")),
    *of("noise.coins:_drawn_on", PACKED, ("bisect_right(ends, Fraction(number + 1, scale) * ends[-1])", "low")),
    *of("noise.draws:bernoulli_rows", PACKED, ("0xFF << (8 * width - bits) & 0xFF", "0xFF")),
    *of("local.frequency_oracle:FrequencyOracle.__init__", ORACLES, ("exp_down(asked)", "exp_down(2 * asked)")),
    *of(
        "local.frequency_oracle:FrequencyOracle.event",
        ORACLES,
        ("(second for _, second, _ in outcomes)", "(first for first, _, _ in outcomes)"),
    ),
    *of(
        "accounting.amplify:_clones",
        SHUFFLED,
        ("math.exp(-loss)", "2 / (math.exp(loss) + 1)"),
        ("truth * with_own + (1 - truth) * without", "truth * without + (1 - truth) * with_own"),
    ),
    *of(
        "accounting.amplify:_Binary.delta",
        SHUFFLED,
        ("np.maximum(gains, 0.0).sum(axis=1).max()", "np.maximum(gains, 0.0).sum(axis=1).min()"),
    ),
    *of(
        "accounting.amplify:_blanket_delta",
        SHUFFLED,
        ("(p - grown * q) / b", "(p - grown * q) / p"),
        ("weights * parts", "weights * 0"),
    ),
    *of(
        "local.frequency_oracle:FrequencyOracle._outcome_odds",
        SHUFFLED,
        ("(both, both, both / ratio)", "(both, both, both)"),
    ),
    *of("local.response:KaryResponse._randomise", ORACLES, ("other + (other >= answers)", "other")),
    *of("local.response:KaryResponse.p", ORACLES, ("self.growth + self.values - 1", "self.growth + self.values - 2")),
    *of(
        "local.unary:SymmetricUnary.__init__",
        ORACLES,
        ('positive(epsilon, "epsilon") / 2', 'positive(epsilon, "epsilon")'),
    ),
    *of(
        "local.unary:UnaryEncoding._randomise",
        ORACLES,
        (
            "bits[rows, places] & ~masks | np.where(own, masks, np.uint8(0))",
            "bits[rows, places] | np.where(own, masks, np.uint8(0))",
        ),
    ),
    *of("local.hashing:OptimizedHashing._randomise", ORACLES, ("other + (other >= true)", "other")),
    *of(
        "local.hashing:OptimizedHashing._function",
        ORACLES,
        ("ids[:, 0] ^ np.uint64(int.from_bytes(self.digest, 'big'))", "ids[:, 0].copy()"),
    ),
    *of("local.hadamard:HadamardResponse._randomise", ORACLES, ("index ^ (rows & -rows)", "index ^ rows")),
    *of("local.hadamard:HadamardResponse._supports", ORACLES, ("moved[1 : self.values + 1]", "moved[: self.values]")),
    *of(
        "local.subset:SubsetSelection._choose",
        ORACLES,
        ("((rest >> places) << np.uint64(1)) << places", "(rest >> places) << places"),
    ),
    *of(
        "local.subset:SubsetSelection._progress",
        ORACLES,
        ("self.size + noise.uniform_below(prime - self.size, count_)", "noise.uniform_below(prime, count_)"),
    ),
    *of("local.subset:_subsets", ORACLES, ("np.where(taken, np.uint64(last), place)", "place")),
    *of(
        "local.projective:ProjectiveResponse._hyperplanes",
        ORACLES,
        ("np.where(meets, 0, 1) - product", "np.where(meets, 0, 1) + product"),
    ),
    *of(
        "local.fields:Field._every_dot_count",
        ORACLES,
        ("self.sums[:, self.products[a, v]]", "self.sums[:, self.products[a, a]]"),
    ),
    *of(
        "local.fields:Field.dot",
        ORACLES,
        ("products.take(left[..., place] * self.size + right[..., place])", "left[..., place] + 0 * right[..., place]"),
    ),
    *of("local.projective:ProjectiveResponse.both", ORACLES, ("self.length - 2", "self.length - 1")),
    *of("local.server:Server._fresh", SERVERS, ("id_ not in self._seen", "True")),
    *of(
        "local.server:Server._add",
        SERVERS,
        ("wire.digest != self.oracle.digest", "False"),
        ("wire.data.shape[1] != self.oracle.width", "False"),
    ),
    *of("local.server:Server.merge", SERVERS, ("len(self._seen & other._seen)", "0")),
    *of("local.subset:SubsetSelection._allowed", SERVERS, ("bits.sum(axis=1) == self.size", "bits.sum(axis=1) > 0")),
    *of("local.estimates:shares_of", SHARES, ("shares * (1 - support - other) * slope", "0")),
    *of(
        "local.estimates:_count_ends",
        SHARES,
        ("side * 0.5", "side * 9.5"),
        ("side * root", "side * root / 2"),
    ),
    *of(
        "local.estimates:_exact_ends", SHARES, ("_upper_tail(count + 1, n, m, p, q)", "_upper_tail(count, n, m, p, q)")
    ),
    *of(
        "local.estimates:Frequencies.projected",
        SHARES,
        ("np.clip(norm_sub(self.values), self.low, self.high)", "self.values"),
    ),
    *of(
        "local.hybrid:WindowLaw.draw",
        MEANS,
        ("np.where(other >= starts, self.width, 0)", "0"),
        ("self.width * self.near", "self.near"),
    ),
    *of(
        "local.hybrid:WindowLaw.outcome_odds",
        MEANS,
        ("min(self.width, self.points - self.width)", "self.width // 2"),
    ),
    *of("local.mean_oracle:MeanOracle._place", MEANS, ("noise.uniform_below(GRID, len(answers)) < rest", "rest > 0")),
    *of("local.mean_oracle:MeanOracle.__init__", MEANS, ("exp_down(asked)", "exp_down(2 * asked)")),
    *of("local.mean_oracle:MeanOracle.variance", MEANS, ("(bent - 1)", "bent")),
    *of("local.mean_oracle:MeanOracle._interval", MEANS, ("-float(quantile) * error", "-float(quantile) * error / 2")),
    *of("local.hybrid:DuchiMean._draw", MEANS, ("1 - positions", "positions")),
    *of("local.hybrid:DuchiMean.truth", MEANS, ("self.growth + 1", "self.growth + 2")),
    *of("local.hybrid:window_moment", MEANS, ("law.width**2 - 1", "law.width**2 + 1")),
    *of("local.hybrid:PiecewiseMean._outcome_odds", MEANS, ("self.law.outcome_odds", "self.law.outcome_odds[:2]")),
    *of(
        "local.hybrid:HybridMean._draw",
        MEANS,
        ("noise.bernoulli(self.share, len(positions))", "noise.bernoulli(1 - self.share, len(positions))"),
        ("noise.uniform_below(self.steps, len(positions)) < positions", "positions > 0"),
    ),
    *of(
        "local.laplace_mean:LaplaceMean._draw",
        MEANS,
        ("np.ones(size, dtype=np.int64)", "np.zeros(size, dtype=np.int64)"),
        ("(1 - self.ratio) / (1 + self.ratio)", "1 - self.ratio"),
    ),
    *of("local.laplace_mean:LaplaceMean._coins", MEANS, ("power / (1 + power)", "power / 2")),
    *of(
        "local.laplace_mean:LaplaceMean.__init__",
        MEANS,
        ("math.ceil(exp_up(-asked / steps) * 2**_BITS)", "math.floor(exp_up(-asked / steps) * 2**_BITS) - 2**20"),
    ),
    *of("local.count_mean:SketchTables._randomise", HEAVY, ("self._tables_of(ids)", "self._tables_of(ids) * 0")),
    *of(
        "local.count_mean:SketchTables.q",
        HEAVY,
        ("self.inner.q + (self.inner.p - self.inner.q) / self.buckets", "0"),
    ),
    *of(
        "local.count_mean:SketchTables.__init__",
        HEAVY,
        ("read_epsilon(epsilon, least=_LEAST_EPSILON)", "2 * read_epsilon(epsilon, least=_LEAST_EPSILON)"),
    ),
    *of("local.count_mean:CountMeanSketch._read", HEAVY, ("words[text]", "len(words)")),
    *of("local.count_mean:CountMeanSketch._estimate_of", HEAVY, ("range(self.tables)", "range(1)")),
    *of("local.count_mean:CountMeanSketch.robustness", HEAVY, ("self._own_share", "1.0")),
    *of("local.heavy_hitters:HeavyHitters._states", HEAVY, ("level < lengths", "level <= lengths")),
    *of("local.heavy_hitters:HeavyHitters.robustness", HEAVY, ("self.levels / self._telling", "1")),
    *of(
        "local.heavy_hitters:HeavyHitters.threshold",
        HEAVY,
        ("(1 - p - q) / (size * (p - q)) + 1 / size", "(1 - p - q) / (size * (p - q))"),
    ),
    *of(
        "local.heavy_hitters:find_codes",
        HEAVY,
        ("level >= apart - 1", "True"),
        ("short >= -(_LAST_PATIENCE if last else _PATIENCE)", "short >= _PATIENCE"),
    ),
    *of("local.heavy_hitters:PrefixTallies.hits", HEAVY, ("counts[crowd] += size * (self.p - self.q) * own", "")),
    *of("local.heavy_hitters:PrefixTallies._without", HEAVY, ("held - shares.sum() / self.buckets", "held")),
    *of(
        "local.split_oracle:SplitOracle._allowed",
        DISTRIBUTIONS,
        ("~own[:, part.width :].any(axis=1)", "(own[:, 0] >= 0)"),
    ),
    *of("local.split_oracle:SplitOracle._part_of", DISTRIBUTIONS, ("len(self.parts)", "1")),
    *of("local.split_oracle:SplitOracle._count_into", DISTRIBUTIONS, ("tally[number] += len(places)", "pass")),
    *of(
        "local.hierarchical:HierarchicalHistogram._answers_to",
        DISTRIBUTIONS,
        ("self.bins // self.level_oracles[part].values", "1"),
    ),
    *of("local.hierarchical:HierarchicalHistogram._covariance", DISTRIBUTIONS, ("noise + here", "here")),
    *of("local.hierarchical:HierarchicalHistogram.robustness", DISTRIBUTIONS, ("forged - own.min(axis=1)", "forged")),
    *of("local.square_wave:SquareWave.__init__", DISTRIBUTIONS, ("exp_down(asked)", "exp_down(2 * asked)")),
    *of(
        "local.square_wave:SquareWave._estimate",
        DISTRIBUTIONS,
        ("np.outer(moved, moved)", "(inverse * law) @ inverse.T"),
    ),
    *of(
        "local.distribution_estimate:EstimatedDistribution._reach",
        DISTRIBUTIONS,
        ("(1 - self.confidence) / 2", "(1 - self.confidence) * 8"),
    ),
    *of("local.distribution_estimate:EstimatedDistribution.quantile", DISTRIBUTIONS, ("int(possible[0]) - 1", "place")),
    *of(
        "local.attribute_survey:AttributeSurvey.__init__",
        ATTRIBUTES,
        ("asked / len(given)", "asked"),
    ),
    *of("local.attribute_survey:AttributeSurvey.robustness", ATTRIBUTES, ("len(self.parts)", "1")),
    *of("local.attribute_survey:MarginalSurvey._answers_to", ATTRIBUTES, ("len(self.domains[place])", "2")),
    *of("local.planar_laplace:MetricPromise._snapping", LOCATIONS, ("2 * self.step", "0"), ("2 * self.step**2", "0")),
    *of(
        "local.planar_laplace:MetricPromise.reach",
        LOCATIONS,
        ("2 * far**2", "far**2"),
        ("self.stretch * nonnegative(distance, 'distance')", "nonnegative(distance, 'distance')"),
    ),
    *of(
        "local.map_projection:MapProjection.stretch",
        LOCATIONS,
        ("self._middle / least", "1.0"),
        ("slack * RADIUS / _LEAST_RADIUS", "slack"),
    ),
    *of("noise.draws:PlanarSampler.keeps", LOCATIONS, ("away - along", "away - along / 2")),
    *of("noise.draws:PlanarSampler._reaches", LOCATIONS, ("root + 1", "root")),
    *of(
        "local.planar_laplace:PlanarLaplace.scale",
        LOCATIONS,
        ("1 / (self.rate * self.step)", "1 / (2 * self.rate * self.step)"),
    ),
    *of("local.planar_laplace:PlanarLaplace.variance", LOCATIONS, ("float(self.step) ** 2", "float(self.step)")),
    *of(
        "local.planar_laplace:LatticeLaw.variance",
        LOCATIONS,
        ("2 * a / (1 - a) ** 2", "a / (1 - a) ** 2"),
        ("(weights @ lengths**2) / weights.sum() / 2", "(weights @ lengths**2) / weights.sum()"),
    ),
    *of("local.response:KaryResponse.with_truth", LOCATIONS, ("len(labels) - 1", "len(labels)")),
    *of(
        "local.shuffled_count:shuffled_delta",
        MESSAGES,
        ("gains.max()", "gains.min()"),
        ("law[low + moved : high + moved] * law[low:high]", "law[low:high]"),
    ),
    *of("local.shuffled_count:ShuffledCount._burst", MESSAGES, ("place + 1", "place")),
    *of(
        "local.shuffled_count:ShuffledCount._randomise",
        MESSAGES,
        ("(self._burst(size) + both)[:, None]", "self._burst(size)[:, None]"),
    ),
    *of(
        "local.shuffled_count:_calibrated",
        MESSAGES,
        ("shuffled_delta(epsilon, people, bursts(middle), pairs) <= delta", "True"),
    ),
]
