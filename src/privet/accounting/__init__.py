"""From events to what they cost: composition, conversions, group privacy, calibration, filters.

`epsilon`, `delta` and `rdp` ask an event for the tightest sound bound; every theorem is also a function of its own.
"""

from __future__ import annotations

from privet.core.event import Composed, Event, Repeated

from .calibrate import calibrate, fits
from .compose import advanced, advanced_kov, basic, optimal, optimal_delta
from .convert import rdp_delta, rdp_epsilon, rho_delta, rho_epsilon, rho_from
from .cost import delta, epsilon, rdp
from .events import ApproximateEvent, FinitePairEvent, PureEvent, ThresholdEvent, ZcdpEvent
from .filters import Filter, Remaining, open_filter
from .gdp import analytic_gaussian_sigma, compose_mu, gaussian_delta, gaussian_epsilon, gaussian_mu
from .groups import Group
from .odometer import Odometer, open_odometer
from .parallel import Parallel, parallel
from .report import by_theorem

__all__ = [
    "ApproximateEvent",
    "Composed",
    "Event",
    "Filter",
    "FinitePairEvent",
    "Group",
    "Odometer",
    "Parallel",
    "PureEvent",
    "Remaining",
    "Repeated",
    "ThresholdEvent",
    "ZcdpEvent",
    "advanced",
    "advanced_kov",
    "analytic_gaussian_sigma",
    "basic",
    "by_theorem",
    "calibrate",
    "compose_mu",
    "delta",
    "epsilon",
    "fits",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "open_filter",
    "open_odometer",
    "optimal",
    "optimal_delta",
    "parallel",
    "rdp",
    "rdp_delta",
    "rdp_epsilon",
    "rho_delta",
    "rho_epsilon",
    "rho_from",
]
