"""Intervals and tests on released numbers. Nothing here sees data."""

from .fit import Fit, goodness_of_fit

__all__ = ["Fit", "goodness_of_fit"]
