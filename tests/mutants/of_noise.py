"""Breakages of noise."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "noise/stock.py",
        "adversarial/test_noise_times.py",
        ("taken: _One = draws.pop()", "taken: _One = draws[-1]"),
        ("        stocked.forget()\n", "        pass\n"),
        (
            "        draws = self._shelf.draws\n",
            "        return self.sampler.draw()\n        draws = self._shelf.draws\n",
        ),
    ),
    *of(
        "noise/coins.py",
        "statistical/test_noise_draws.py unit/noise/test_noise_slow_path.py",
        ("return word < self._digit", "return word <= self._digit + 2**60"),
        ("self._limit = 0 if self.wide else _WORDS // n * n", "self._limit = 0 if self.wide else _WORDS"),
        ("return excess > 0.0", "return excess < 0.0"),
    ),
    *of(
        "noise/exponential.py",
        "unit/noise/test_noise_band.py unit/noise/test_noise_slow_path.py",
        ("decided = distance > factor * BAND", "decided = distance >= 0"),
        ("return answer, undecided(excess > BAND + slack)", "return answer, undecided(excess > slack - 1)"),
    ),
    *of(
        "noise/laplace.py",
        "statistical/test_noise_draws.py unit/noise/test_noise_slow_path.py",
        ("            if value:\n                return -value", "            return -value"),
        ("return zeros[sign[zeros] < 0]", "return zeros[sign[zeros] < -1]"),
        ("return np.flatnonzero(whole.view(np.int64) == _NEGATIVE_ZERO)", "return np.flatnonzero(whole > 1e300)"),
    ),
    *of(
        "noise/gaussian.py",
        "statistical/test_noise_draws.py unit/noise/test_noise_slow_path.py",
        ("self._reciprocal = 0.5 / self._ratio", "self._reciprocal = 0.6 / self._ratio"),
        ("** 2 / (2 * self.sigma_squared)", "** 2 / self.sigma_squared"),
    ),
    *of(
        "noise/lazy.py",
        "unit/noise/test_noise_slow_path.py unit/noise/test_noise_band.py",
        ("if Fraction(least) >= x:", "if most is not None and Fraction(most) >= x:"),
        (
            "self.numerator = self.numerator << WORD_BITS | self.source.word()",
            "self.numerator = self.numerator << WORD_BITS",
        ),
    ),
    *of(
        "noise/racing.py",
        "unit/noise/test_noise_race.py",
        ("self._sign = -1 if rate < 0 else 1", "self._sign = 1"),
        ("key += self._behind", "key -= self._behind"),
        ("ahead = low <= high.min(axis=1, keepdims=True)", "ahead = low <= low.min(axis=1, keepdims=True)"),
    ),
    *of(
        "noise/source.py",
        "adversarial/test_noise_source.py unit/noise/test_noise_slow_path.py statistical/test_noise_draws.py",
        ("    _pool.words.clear()", "    pass"),
        ("return number >> (-count % WORD_BITS)", "return number >> (-count % WORD_BITS) << 1"),
    ),
    *of(
        "noise/contest.py",
        "unit/noise/test_noise_contest.py",
        ("drawn = np.where(words >= np.uint64(_TOP_BIT), -drawn, drawn)", "drawn = drawn"),
        ("key = self._behind - drawn", "key = self._behind + drawn"),
        ('if self._law == "laplace" and word >= _TOP_BIT:', "if False:"),
        (
            "return None if longest is None else behind - longest, behind - shortest",
            "return behind + shortest, None if longest is None else behind + longest",
        ),
        (
            "sure = np.count_nonzero(ahead, axis=1) == count",
            "sure = np.count_nonzero(ahead, axis=1) == np.count_nonzero(ahead, axis=1)[0]",
        ),
        ("sure[sure] = (highs[:, :-1] < lows[:, 1:]).all(axis=1)", "pass"),
        (
            "least, most = (next_low - high) // unit, (next_high - low) // unit",
            "least = most = (next_high - low) // unit + 1",
        ),
        ("low[unknown] = -np.inf", "low[unknown] = np.inf"),
    ),
]
