"""Breakages of the rules by which keys are shown."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "mechanisms.key_selection:OptimalKeys._ladder",
        "unit/mechanisms/test_key_selection.py laws/test_key_rules.py",
        ("min(grown, shrunk, unit)", "min(grown, unit)"),
        ("min(grown, shrunk, unit)", "min(max(grown, shrunk), unit)"),
        (
            "math.floor(exp_down(self.key_epsilon) * (1 << _RATIO_BITS))",
            "math.ceil(exp_down(self.key_epsilon) * (1 << _RATIO_BITS))",
        ),
    ),
    *of(
        "mechanisms.key_selection:OptimalKeys.__init__",
        "unit/mechanisms/test_key_selection.py laws/test_key_rules.py",
        ("sides * limit * together", "sides * together"),
        ("failure / (sides * limit)", "failure"),
        ("failure / (sides * limit) / _growth(key_loss, together)", "failure / (sides * limit)"),
    ),
    *of(
        "mechanisms.key_selection:_sides",
        "unit/mechanisms/test_key_selection.py laws/test_key_rules.py",
        ('1 if neighbors == "add-remove" else 2', "1"),
    ),
    *of(
        "mechanisms.key_selection:OptimalKeys.event",
        "unit/mechanisms/test_key_selection.py laws/test_key_rules.py",
        ("once if times == 1 else Repeated(once, times)", "once"),
    ),
    *of(
        "mechanisms.key_selection:OptimalKeys._draw",
        "statistical/test_key_draws.py",
        ("words < tops", "words <= tops + 1"),
    ),
    *of(
        "mechanisms.key_selection:OptimalKeys._ask_rest",
        "statistical/test_key_draws.py",
        ("numerator % rest", "numerator"),
    ),
    *of(
        "mechanisms.key_selection:KeySelection._decide",
        "unit/mechanisms/test_key_selection.py",
        ("shown & (counts > 0).astype(np.bool_)", "shown"),
        ("max(_LEAST_BLOCK, 2 * self.keys * self.group)", "max(1, counts.size)"),
    ),
    *of(
        "mechanisms.key_selection:threshold_for",
        "laws/test_key_thresholds.py unit/mechanisms/test_key_selection.py",
        ("return group * unit + _quantile(noise, _tail(delta, group * most))", "group = 1"),
        ("_tail(delta, last)", "_tail(delta, 1)"),
    ),
    *of(
        "mechanisms.key_selection:_tail",
        "laws/test_key_thresholds.py unit/mechanisms/test_key_selection.py",
        ("-math.expm1(math.log1p(-float(delta)) / keys) * (1 - 2.0**-30)", "float(delta)"),
    ),
    *of(
        "mechanisms.key_selection:_quantile",
        "laws/test_key_thresholds.py unit/mechanisms/test_key_selection.py",
        ("2 * tail", "4 * tail"),
    ),
    *of(
        "mechanisms.key_selection:_gaussian_quantile",
        "laws/test_key_thresholds.py unit/mechanisms/test_key_selection.py",
        ("tail * (1 - 2.0**-20)", "2 * tail"),
    ),
    *of(
        "mechanisms.key_selection:LaplaceThreshold.__init__",
        "unit/mechanisms/test_key_selection.py laws/test_key_rules.py",
        ('1 if relation == "add-remove" else 2', "1"),
    ),
    *of(
        "mechanisms.key_selection:LaplaceThreshold.event",
        "unit/mechanisms/test_key_selection.py laws/test_key_rules.py",
        ("self.delta", "self.delta / 2"),
    ),
    *of(
        "mechanisms.key_selection:GaussianThreshold.__init__",
        "unit/mechanisms/test_key_selection.py laws/test_key_rules.py",
        ("together**2", "together"),
        (
            "Gaussian(sensitivity=moved, epsilon=epsilon, delta=half)",
            "Gaussian(sensitivity=moved, epsilon=epsilon, delta=2 * half)",
        ),
    ),
]
