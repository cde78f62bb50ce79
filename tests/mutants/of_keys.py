"""Breakages of the rules by which keys are shown."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "mechanisms/optimal_keys.py",
        "unit/mechanisms/test_key_selection.py laws/test_key_rules.py",
        ("last = min(grown, shrunk, one)", "last = min(grown, one)"),
        ("last = min(grown, shrunk, one)", "last = min(max(grown, shrunk), one)"),
        ("ratio = math.floor(exp_down(", "ratio = math.ceil(exp_down("),
        ("one = loss / (sides * several * together)", "one = loss / (sides * together)"),
        ("part = failure / (sides * several) / _growth(one, together)", "part = failure / _growth(one, together)"),
        ("part = failure / (sides * several) / _growth(one, together)", "part = failure / (sides * several)"),
        ('return 1 if neighbors == "add-remove" else 2', "return 1"),
        ("return once if times == 1 else Repeated(once, times)", "return once"),
    ),
    *of(
        "mechanisms/optimal_keys.py",
        "statistical/test_key_draws.py",
        ("decided: NDArray[np.bool_] = words < tops", "decided: NDArray[np.bool_] = words <= tops + 1"),
        ("noise.uniform_below(rest) < numerator % rest", "noise.uniform_below(rest) < numerator"),
    ),
    *of(
        "mechanisms/key_selection.py",
        "unit/mechanisms/test_key_selection.py",
        ("return shown & (counts > 0).astype(np.bool_)", "return shown"),
        ("block = max(_LEAST_BLOCK, 2 * self.keys * self.group)", "block = max(1, counts.size)"),
    ),
    *of(
        "mechanisms/threshold.py",
        "laws/test_key_thresholds.py unit/mechanisms/test_key_selection.py",
        ("return group * one + _quantile(noise, _tail(delta, group * most))", "group = 1"),
        ("_quantile(noise, _tail(delta, last))", "_quantile(noise, _tail(delta, 1))"),
        ("return -math.expm1(math.log1p(-float(delta)) / keys) * (1 - 2.0**-30)", "return float(delta)"),
        ("max(0.0, -math.log(2 * tail))", "max(0.0, -math.log(4 * tail))"),
        ("-float(ndtri(tail * (1 - 2.0**-20)))", "-float(ndtri(2 * tail))"),
    ),
    *of(
        "mechanisms/laplace_threshold.py",
        "unit/mechanisms/test_key_selection.py laws/test_key_rules.py",
        ('(1 if relation == "add-remove" else 2)', "1"),
        (
            "return ThresholdEvent(self.noise.event, self.delta)",
            "return ThresholdEvent(self.noise.event, self.delta / 2)",
        ),
    ),
    *of(
        "mechanisms/gaussian_threshold.py",
        "unit/mechanisms/test_key_selection.py laws/test_key_rules.py",
        ("l2_squared=sides * together**2 * several * one**2", "l2_squared=sides * together * several * one**2"),
        (
            "drawn = Gaussian(sensitivity=moved, epsilon=epsilon, delta=half)",
            "drawn = Gaussian(sensitivity=moved, epsilon=epsilon, delta=2 * half)",
        ),
    ),
]
