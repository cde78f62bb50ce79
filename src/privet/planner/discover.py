"""How keys that are not public are found: by a threshold on noisy weights, or by the optimal rule. From public facts.

Both are compared by how many people a key needs, and the other is never run.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from privet.core.errors import InvariantError, RequestError
from privet.core.scan import Discovery, Scan
from privet.mechanisms import Laplace, OptimalKeys
from privet.mechanisms.optimal_keys import half_way
from privet.mechanisms.threshold import threshold_for

from .choose import Choice
from .plan import KeyRelease, KeyRule, Noise
from .stability import SHIFT, key_sensitivity

_FEW = 1000
"""So many square roots are added up one by one; more, as an integral."""


def discovered(scan: Scan, choice: Choice, *, most: int, delta: Fraction) -> tuple[Scan, KeyRelease | KeyRule]:
    """Return a scan that discovers keys, and the rule by which they are released that needs the fewest people.

    Guarantee: chosen from declared facts, and from nothing else.
    """
    shared = replace(scan, discovery=Discovery(most, choice.order, SHIFT))
    threshold = _threshold(shared, choice.mechanism(key_sensitivity(shared)), delta)
    if choice.family == "laplace":
        rule = _rule(scan, choice.share, most, delta)
        if rule is not None and people_needed(rule, most) <= people_needed(threshold, most):
            return replace(scan, discovery=Discovery(most, 0, 0)), rule
    return shared, threshold


def people_needed(rule: KeyRelease | KeyRule, most: int) -> float:
    """Return about how many people make a key as likely shown as not, on average over how many keys they hold.

    People with k keys each need T k under a Laplace threshold T, T sqrt(k) under a Gaussian one, and the same number
    whatever k is under the optimal rule. How many keys people hold is not known: as many hold 1 as hold 2, ..., `most`.
    """
    if isinstance(rule, KeyRule):
        return half_way(rule.mechanism.key_epsilon, rule.mechanism.key_delta)
    alone = float(Fraction(rule.threshold, 2**rule.shift))
    if isinstance(rule.mechanism, Laplace):
        return alone * (most + 1) / 2
    roots = sum(map(math.sqrt, range(1, most + 1))) if most <= _FEW else 2 / 3 * (most + 0.5) ** 1.5
    return alone * roots / most


def other_way(scan: Scan, chosen: KeyRelease | KeyRule) -> KeyRelease | KeyRule | None:
    """Return the rule that was not chosen, at the same cost; None where there is none to compare with."""
    discovery = scan.discovery
    if discovery is None:
        raise InvariantError("a scan without discovery has no rule for keys")
    if isinstance(chosen, KeyRule):
        shared = replace(scan, discovery=Discovery(discovery.most, 1, SHIFT))
        epsilon = Fraction(chosen.mechanism.event.pure())
        noise = Laplace(sensitivity=key_sensitivity(shared), epsilon=epsilon)
        return _threshold(shared, noise, chosen.mechanism.event.slack())
    if not isinstance(chosen.mechanism, Laplace):
        return None
    return _rule(scan, Fraction(chosen.mechanism.event.pure()), discovery.most, chosen.delta)


def threshold_of(noise: Noise, scan: Scan, delta: Fraction) -> int:
    """Return the least weight that a key must exceed, for the noise and the weights of a scan."""
    discovery = scan.discovery
    if discovery is None:
        raise InvariantError("a threshold needs weights of keys")
    shared = {"most": discovery.most, "shift": discovery.shift, "group": scan.schema.unit.touches}
    return threshold_for(noise, order=discovery.order, delta=delta, **shared)


def _threshold(scan: Scan, noise: Noise, delta: Fraction) -> KeyRelease:
    return KeyRelease(key_sensitivity(scan), noise, threshold_of(noise, scan, delta), delta, SHIFT)


def _rule(scan: Scan, epsilon: Fraction, most: int, delta: Fraction) -> KeyRule | None:
    """Return the optimal rule, or None where it could not be listed."""
    schema = scan.schema
    try:
        return KeyRule(
            OptimalKeys(epsilon=epsilon, delta=delta, keys=most, group=schema.unit.touches, neighbors=schema.moves)
        )
    except RequestError:
        return None
