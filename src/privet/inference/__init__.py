"""Intervals and tests on released numbers. Nothing here sees data."""

from .families import adjusted_p_values, judge_together
from .fit import Fit, fit_of_noisy_total, goodness_of_fit
from .proportion_tests import proportion_power, proportion_test
from .rank_tests import rank_test
from .sample_sizes import needed
from .share_tests import two_proportions_test
from .table_tests import fit_test, independence_test

__all__ = [
    "Fit",
    "adjusted_p_values",
    "fit_of_noisy_total",
    "fit_test",
    "goodness_of_fit",
    "independence_test",
    "judge_together",
    "needed",
    "proportion_power",
    "proportion_test",
    "rank_test",
    "two_proportions_test",
]
