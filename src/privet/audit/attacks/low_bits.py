"""The last bits of a noisy double give the value away.

Cites: [Mir12].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.audit.bits import audit_bits
from privet.audit.unsafe import float_gaussian, float_laplace
from privet.mechanisms import Gaussian, Laplace

from .outcome import Outcome

_LAPLACE = Laplace(sensitivity=1, epsilon=1)
_GAUSSIAN = Gaussian(sensitivity=1, sigma=1)


def laplace() -> Outcome:
    """Attack Laplace noise of epsilon 1."""
    return _outcome("low bits of Laplace noise", float_laplace, _LAPLACE, 1)


def gaussian() -> Outcome:
    """Attack Gaussian noise of sigma 1."""
    return _outcome("low bits of Gaussian noise", float_gaussian, _GAUSSIAN, _GAUSSIAN.event)


def _outcome(name: str, careless: Any, mechanism: Any, claimed: object) -> Outcome:
    theirs = audit_bits(careless, claimed)
    ours = audit_bits(lambda value, count: mechanism.release(np.full(count, value)), claimed)
    return Outcome(
        name,
        "can the last bits of a noisy double tell two neighbouring values apart?",
        f"epsilon is at least {theirs.found:.2f}, where {theirs.epsilon:.2f} was claimed",
        f"nothing beyond the claim: at least {ours.found:.2f} of {ours.epsilon:.2f}",
        theirs.refuted,
        not ours.refuted,
        "doubles are not evenly spaced, so value plus noise can only end in bits that the value allows; Privet adds "
        "whole numbers of a grid",
    )
