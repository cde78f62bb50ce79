"""What several rounds say together: sums averaged by how precise they are, quantiles from the last and most precise.

Sees released numbers only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from privet.aggregates import Ranked

from .plan import Known, Place, Plan
from .widths import weights_of

if TYPE_CHECKING:
    from privet.core.pair import Floats


def averaged_sums(sums: Mapping[Place, Floats], plan: Plan) -> dict[Place, Floats]:
    """Return the sums that a plan reads, from those of its rounds; each round's noise is independent of the others'.

    Guarantee: a sum's noise has the law that `law_of` gives. A quantile is the one of the last round, and its interval
    what all rounds' intervals have in common: each holds the quantile as often as it says, so all of them do but for
    the sum of their tails, and with them what they have in common. Where they have nothing in common, one of them has
    missed, and the last is taken.
    """
    import numpy as np

    if plan.rounds == 1:
        return dict(sums)
    found: dict[Place, Floats] = {}
    for reading in plan.readings:
        places = [place for place in reading.places if not isinstance(place, Known)]
        found.update((place, sums[place]) for place in reading.places if isinstance(place, Known))
        several = [[sums[one] for one in plan.across(place)] for place in places]
        ranked = isinstance(reading.aggregate, Ranked)
        for place, values in zip(places, several, strict=True):
            if ranked and plan.passes[place[0]].selection is not None:
                found[place] = values[-1]
                continue
            weights = weights_of(plan, place)
            found[place] = np.asarray(sum(weight * one for weight, one in zip(weights, values, strict=True)))
        if isinstance(reading.aggregate, Ranked) and not reading.aggregate.extreme:
            low, high = np.max(several[1], axis=0), np.min(several[2], axis=0)
            apart = low > high
            found[places[1]] = np.where(apart, several[1][-1], low)
            found[places[2]] = np.where(apart, several[2][-1], high)
    return found
