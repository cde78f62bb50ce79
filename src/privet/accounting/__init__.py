"""From events to their costs: composition, conversions, group privacy, calibration, filters.

`epsilon`, `delta` and `rdp` ask an event for the tightest sound bound; every theorem is also a separate function.
"""

from __future__ import annotations

from privet.accounting.pld.bounds import delta_bounds, epsilon_bounds, loss_distribution
from privet.core.event import Composed, Event, Repeated

from .amplify import Sampled, Shuffled
from .compose import Parallel, advanced, advanced_kov, basic, optimal, optimal_bounds, optimal_delta, parallel
from .convert import rdp_delta, rdp_epsilon, rho_delta, rho_epsilon, rho_from
from .cost import calibrate, delta, epsilon, fits, rdp
from .events import ApproximateEvent, FinitePairEvent, PureEvent, ThresholdEvent, ZcdpEvent
from .filters import Filter, Odometer, Remaining, open_filter, open_odometer
from .gdp import analytic_gaussian_sigma, compose_mu, gaussian_delta, gaussian_epsilon, gaussian_mu
from .groups import Group
from .summaries import by_theorem, calibrate_by_theorem
from .tradeoff import best_accuracy, in_words, posterior, privacy_loss, region, tradeoff

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
    "Sampled",
    "Shuffled",
    "ThresholdEvent",
    "ZcdpEvent",
    "advanced",
    "advanced_kov",
    "analytic_gaussian_sigma",
    "basic",
    "best_accuracy",
    "by_theorem",
    "calibrate",
    "calibrate_by_theorem",
    "compose_mu",
    "delta",
    "delta_bounds",
    "epsilon",
    "epsilon_bounds",
    "fits",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "in_words",
    "loss_distribution",
    "open_filter",
    "open_odometer",
    "optimal",
    "optimal_bounds",
    "optimal_delta",
    "parallel",
    "posterior",
    "privacy_loss",
    "rdp",
    "rdp_delta",
    "rdp_epsilon",
    "region",
    "rho_delta",
    "rho_epsilon",
    "rho_from",
    "tradeoff",
]
