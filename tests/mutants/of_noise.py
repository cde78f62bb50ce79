"""Breakages of noise."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "noise.draws:Stocked.draw",
        "adversarial/test_noise_times.py",
        ("taken: _One = draws.pop()", "taken: _One = draws[-1]"),
        ("draws = self._shelf.draws", "return self.sampler.draw()\ndraws = self._shelf.draws"),
    ),
    *of(
        "noise.draws:_forget",
        "adversarial/test_noise_times.py",
        ("stocked.forget()", "pass"),
    ),
    *of(
        "noise.coins:Coin.draw",
        "statistical/test_noise_draws.py unit/noise/test_noise_slow_path.py",
        ("word < self._digit", "word <= self._digit + 2**60"),
    ),
    *of(
        "noise.coins:Below.__init__",
        "statistical/test_noise_draws.py unit/noise/test_noise_slow_path.py",
        ("_WORDS // n * n", "_WORDS"),
    ),
    *of(
        "noise.coins:ExponentialCoin.draw",
        "statistical/test_noise_draws.py unit/noise/test_noise_slow_path.py",
        ("excess > 0.0", "excess < 0.0"),
    ),
    *of(
        "noise.source:floors",
        "unit/noise/test_noise_band.py unit/noise/test_noise_slow_path.py",
        ("distance > factor * BAND", "distance >= 0"),
    ),
    *of(
        "noise.source:reach",
        "unit/noise/test_noise_band.py unit/noise/test_noise_slow_path.py",
        ("BAND + slack", "slack - 1"),
    ),
    *of(
        "noise.draws:Geometric.draw_signed",
        "statistical/test_noise_draws.py unit/noise/test_noise_slow_path.py",
        ("if value: return -value", "return -value"),
    ),
    *of(
        "noise.draws:Geometric.sign_block",
        "statistical/test_noise_draws.py unit/noise/test_noise_slow_path.py",
        ("sign[zeros] < 0", "sign[zeros] < -1"),
        ("whole.view(np.int64) == _NEGATIVE_ZERO", "whole > 1e300"),
    ),
    *of(
        "noise.draws:GaussianSampler.__init__",
        "statistical/test_noise_draws.py unit/noise/test_noise_slow_path.py",
        ("0.5 / self._ratio", "0.6 / self._ratio"),
    ),
    *of(
        "noise.draws:GaussianSampler.exponent",
        "statistical/test_noise_draws.py unit/noise/test_noise_slow_path.py",
        ("2 * self.sigma_squared", "self.sigma_squared"),
    ),
    *of(
        "noise.source:LazyUniform.reaches",
        "unit/noise/test_noise_slow_path.py unit/noise/test_noise_band.py",
        ("Fraction(least) >= x", "most is not None and Fraction(most) >= x"),
    ),
    *of(
        "noise.source:LazyUniform.refine",
        "unit/noise/test_noise_slow_path.py unit/noise/test_noise_band.py",
        ("self.numerator << WORD_BITS | self.source.word()", "self.numerator << WORD_BITS"),
    ),
    *of(
        "noise.contest:Race.__init__",
        "unit/noise/test_noise_race.py",
        ("-1 if rate < 0 else 1", "1"),
    ),
    *of(
        "noise.contest:Race._keys",
        "unit/noise/test_noise_race.py",
        ("key += self._behind", "key -= self._behind"),
    ),
    *of(
        "noise.contest:Race._run",
        "unit/noise/test_noise_race.py",
        ("high.min", "low.min"),
    ),
    *of(
        "noise.source:_forget",
        "adversarial/test_noise_source.py unit/noise/test_noise_slow_path.py statistical/test_noise_draws.py",
        ("_pool.words.clear()", "pass"),
    ),
    *of(
        "noise.source:bits",
        "adversarial/test_noise_source.py unit/noise/test_noise_slow_path.py statistical/test_noise_draws.py",
        ("number >> (-count % WORD_BITS)", "number >> (-count % WORD_BITS) << 1"),
    ),
    *of(
        "noise.contest:Contest._keys",
        "unit/noise/test_noise_contest.py",
        ("np.where(words >= np.uint64(_TOP_BIT), -drawn, drawn)", "drawn"),
        ("self._behind - drawn", "self._behind + drawn"),
        ("-np.inf", "np.inf"),
    ),
    *of(
        "noise.contest:Contest._key",
        "unit/noise/test_noise_contest.py",
        ('self._law == "laplace" and word >= _TOP_BIT', "False"),
        (
            "None if longest is None else behind - longest, behind - shortest",
            "behind + shortest, None if longest is None else behind + longest",
        ),
    ),
    *of(
        "noise.contest:_fronts",
        "unit/noise/test_noise_contest.py",
        (
            "np.count_nonzero(ahead, axis=1) == count",
            "np.count_nonzero(ahead, axis=1) == np.count_nonzero(ahead, axis=1)[0]",
        ),
        ("sure[sure] = (highs[:, :-1] < lows[:, 1:]).all(axis=1)", "pass"),
    ),
    *of(
        "noise.contest:Contest._gap",
        "unit/noise/test_noise_contest.py",
        (
            "least, most = (next_low - high) // unit, (next_high - low) // unit",
            "least = most = (next_high - low) // unit + 1",
        ),
    ),
]
