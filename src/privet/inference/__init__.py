"""Intervals and tests on released numbers. Nothing here sees data."""

from .fit import Fit, fit_of_noisy_total, goodness_of_fit
from .proportion_tests import needed, proportion_power, proportion_test
from .rank_tests import rank_test
from .table_tests import fit_test, independence_test

__all__ = [
    "Fit",
    "fit_of_noisy_total",
    "fit_test",
    "goodness_of_fit",
    "independence_test",
    "needed",
    "proportion_power",
    "proportion_test",
    "rank_test",
]
