"""Exact draws of integer noise from the operating system's secure source. There is no seed."""

from .choosing import below_each, choose, choose_each
from .coins import fair_heads
from .contest import noisy_max, noisy_top, noisy_top_with_gaps, race
from .draws import (
    bernoulli,
    bernoulli_exp,
    bernoulli_rows,
    discrete_gaussian,
    discrete_laplace,
    geometric,
    uniform_below,
)
from .heavy import rounded_laplace, rounded_power, rounded_student

__all__ = [
    "below_each",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_rows",
    "choose",
    "choose_each",
    "discrete_gaussian",
    "discrete_laplace",
    "fair_heads",
    "geometric",
    "noisy_max",
    "noisy_top",
    "noisy_top_with_gaps",
    "race",
    "rounded_laplace",
    "rounded_power",
    "rounded_student",
    "uniform_below",
]
