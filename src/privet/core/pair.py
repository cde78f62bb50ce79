"""Dominating pairs: two distributions P and Q such that no pair of neighbours is easier to tell apart.

All that an accountant ever asks of a pair is its hockey-stick divergence, in both directions:
H(epsilon) = sup over sets S of P(S) - e**epsilon Q(S).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .errors import Unsupported

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Pair(Protocol):
    """Two distributions, known by how well they can be told apart.

    Both methods take an array of non-negative epsilons and return, entry by entry, an upper bound on the
    divergence that is accurate to a relative error of about 1e-12, tails included. A negative epsilon follows
    from the other direction: H(P, Q)(-e) = 1 - exp(-e) + exp(-e) H(Q, P)(e).
    """

    def forward(self, epsilon: Floats) -> Floats:
        """Return H of (P, Q), where P comes from the data with the unit in question."""
        ...

    def backward(self, epsilon: Floats) -> Floats:
        """Return H of (Q, P)."""
        ...

    def reach(self) -> tuple[float, float]:
        """Return epsilons beyond which `forward` and `backward` no longer fall (infinite if they always do).

        A loss distribution with bounded support is constant from its largest finite loss on; what remains
        there is the probability of an infinite loss.
        """
        ...


class NoPair(Unsupported):
    """The event has no single dominating pair that is known."""

    code = "request.no_pair"
