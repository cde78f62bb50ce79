"""Pictures: privacy curves, trade-offs, loss distributions, what composition costs. Needs the `plot` extra.

Every function returns a Matplotlib figure and saves it where a path is given. Nothing here reads data.
"""

from __future__ import annotations

from .curves import plot_audit, plot_composition, plot_delta, plot_loss, plot_tradeoff
from .findings import plot_p_values, plot_power

__all__ = [
    "plot_audit",
    "plot_composition",
    "plot_delta",
    "plot_loss",
    "plot_p_values",
    "plot_power",
    "plot_tradeoff",
]
