"""From events to what they cost: composition, conversions, group privacy, calibration, filters.

`epsilon`, `delta` and `rdp` ask an event for the tightest sound bound; every theorem is also a function of its own.
"""

from __future__ import annotations

from privet.core.event import Composed, Event, Repeated

from .compose import advanced, advanced_kov, basic, optimal, optimal_delta
from .convert import rdp_delta, rdp_epsilon, rho_delta, rho_epsilon, rho_from
from .cost import delta, epsilon, rdp
from .events import ApproximateEvent, FinitePairEvent, PureEvent, ThresholdEvent, ZcdpEvent
from .gdp import analytic_gaussian_sigma, compose_mu, gaussian_delta, gaussian_epsilon, gaussian_mu
from .groups import Group
from .parallel import Parallel, parallel

__all__ = [
    "ApproximateEvent",
    "Composed",
    "Event",
    "FinitePairEvent",
    "Group",
    "Parallel",
    "PureEvent",
    "Repeated",
    "ThresholdEvent",
    "ZcdpEvent",
    "advanced",
    "advanced_kov",
    "analytic_gaussian_sigma",
    "basic",
    "compose_mu",
    "delta",
    "epsilon",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
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
