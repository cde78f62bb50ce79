"""Intervals and tests on released numbers. Nothing here reads data."""

from .finding import adjusted_p_values, judge_together
from .histogram_tests import Fit, fit_of_noisy_total, goodness_of_fit, rank_test
from .proportion_tests import needed, proportion_power, proportion_test, two_proportions_test
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
