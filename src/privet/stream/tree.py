"""Running sums by the binary tree: each step is in one node of each level, and a sum is made of few nodes.

A node's noise is drawn when the node opens, and only sum plus noise is ever kept: a stolen state shows no exact sum.
The width of an interval around a sum of several Laplace noises is found by the saddlepoint, within a small margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from privet import noise
from privet.core.budget import Pure
from privet.core.errors import LedgerError
from privet.core.given import set_fields, truth
from privet.core.numbers import float_near

from .sums import LARGEST_TOTAL, Floats, Integers, RunningSums, check_size, normal_width

if TYPE_CHECKING:
    from privet.core.event import Floats


_HALVINGS = 36
_MARGIN = 0.97
"""The tail is taken this much smaller: the approximation is off by less than 3% of a tail, which a test checks."""

Parts = tuple[tuple[float, int], ...]


def laplace_width(parts: Parts, tail: float) -> float:
    """Return t with P[|X| > t] at most `tail`, X a sum of this many Laplace noises of each scale.

    With K(s) = -sum of n ln(1 - a^2 s^2), the tail beyond K'(s) is Phi(-w) + phi(w) (1/u - 1/w) for
    w = sqrt(2 (s K'(s) - K(s))) and u = s sqrt(K''(s)). For one noise it is exp(-t / a) itself.
    Cites: [LR80, the tail formula].
    """
    if len(parts) == 1 and parts[0][1] == 1:
        return -parts[0][0] * math.log(tail)
    largest = max(a for a, _ in parts)
    squares = np.array([(a / largest) ** 2 for a, _ in parts])
    many = np.array([float(count) for _, count in parts])
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond(squares, many, middle) > _MARGIN * tail / 2 else (low, middle)
    return largest * float(2 * high * (many * squares / (1 - squares * high * high)).sum())


def _beyond(squares: Floats, many: Floats, s: float) -> float:
    """Return the approximate probability of more than K'(s)."""
    bent = squares * s * s
    left = 1 - bent
    cumulant = -float((many * np.log1p(-bent)).sum())
    slope = 2 * s * float((many * squares / left).sum())
    curvature = 2 * float((many * squares * (1 + bent) / (left * left)).sum())
    w = math.sqrt(max(2 * (s * slope - cumulant), 0.0))
    u = s * math.sqrt(curvature)
    if w < 1e-4:
        return 0.5
    return 0.5 * math.erfc(w / math.sqrt(2)) + math.exp(-w * w / 2) / math.sqrt(2 * math.pi) * (1 / u - 1 / w)


class TreeState(NamedTuple):
    """The open node of each level, sum plus noise; and the estimate of the last full node of each, 0 where merged."""

    step: int
    nodes: Integers
    full: Floats


@dataclass(frozen=True, kw_only=True)
class TreeSums(RunningSums[TreeState]):
    """Running sums by the binary tree, with Laplace noise for a pure spend and Gaussian noise otherwise.

    Args:
        refine: whether a full node is estimated from its children as well (Honaker's estimate, from full left
            subtrees alone): less error at no cost.

    Example:
        >>> sums = stream.TreeSums(horizon=1024, spend=privet.Pure(epsilon=1), refine=False)
        >>> sums.deviation(1023) > sums.deviation(1024)
        True

    Guarantee: with h levels, one row is in h nodes, so it moves them by h times its norm in L1 and sqrt(h) times in L2.
    Each node is measured once, with fresh discrete Laplace noise of scale moves h / epsilon or discrete Gaussian noise
    of variance moves^2 h / (2 rho). A node's measurement uses values up to its last step alone, so values that depend
    on what was released before are covered.
    Cites: [CSS11, Sec. 4], [DNPR10, Sec. 4], [Hon15, Sec. 3].
    """

    refine: bool = True
    method = "tree"

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, refine=truth(self.refine, "refine"))
        check_size("spend", self.spend, self.horizon * LARGEST_TOTAL + 64 * self._unit)

    @property
    def levels(self) -> int:
        """How many levels the tree has: the number of nodes that each step is in."""
        return self.horizon.bit_length()

    @cached_property
    def _draw(self) -> Callable[[tuple[int, int]], Any]:
        if isinstance(self.spend, Pure):
            scale = self.moves * self.levels / self.spend.epsilon
            return lambda shape: noise.discrete_laplace(scale, shape)
        variance = self.moves**2 * self.levels / (2 * self.spend.rho)
        return lambda shape: noise.discrete_gaussian(variance, shape)

    @cached_property
    def _unit(self) -> float:
        """The standard deviation of one node's noise."""
        if isinstance(self.spend, Pure):
            rate = float_near(self.spend.epsilon / (self.moves * self.levels))
            # variance 2 q / (1 - q)^2 with q = e^(-1/scale)
            return math.sqrt(2 * math.exp(-rate)) / -math.expm1(-rate)
        return math.sqrt(self.moves**2 * self.levels / (2 * self.spend.rho))

    @cached_property
    def _shares(self) -> list[float]:
        """The weight of a node's own measurement in its estimate, by level: inverse to the variances."""
        own, variance = [1.0], 1.0
        for _ in range(1, self.levels):
            own.append(2 * variance / (2 * variance + 1) if self.refine else 1.0)
            variance = 2 * variance / (2 * variance + 1) if self.refine else 1.0
        return own

    def begin(self) -> TreeState:
        """Return the state before the first step."""
        shape = self.levels, self.width
        return TreeState(0, np.zeros(shape, dtype=np.int64), np.zeros(shape))

    def step_of(self, state: TreeState) -> int:
        """Return how many steps a state has behind it."""
        return state.step

    def drawn_before(self, step: int) -> int:
        """Return how many rows of noise all steps up to one use: one for each node that is opened.

        The first step opens a node of each level, and the step after step s as many as s has zeros at its end, and one.
        """
        return 0 if step == 0 else self.levels + 2 * (step - 1) - (step - 1).bit_count()

    def draw(self, rows: int) -> Any:
        """Return this many rows of fresh noise."""
        return self._draw((rows, self.width))

    def advance(self, state: TreeState, values: Integers, drawn: Any = None) -> tuple[TreeState, Floats]:
        """Return the state after more steps, and the estimated sums after each."""
        given = self.checked(state, values)
        step, nodes, full = state.step, state.nodes.copy(), state.full.copy()
        fresh, used = self.noise_of(state, given, drawn), 0
        released = np.empty(given.shape)
        for index, value in enumerate(given):
            opened = self.levels if step == 0 else (step & -step).bit_length()
            nodes[:opened] = fresh[used : used + opened]
            used += opened
            nodes += value
            step += 1
            self._fill(nodes, full, (step & -step).bit_length())
            released[index] = full.sum(axis=0)
        return TreeState(step, nodes, full), released

    def _fill(self, nodes: Integers, full: Floats, count: int) -> None:
        """Estimate the nodes of the lowest levels, which are full now; the highest of them replaces those below."""
        estimate: Any = nodes[0].astype(np.float64)
        for level in range(1, count):
            own = self._shares[level]
            estimate = own * nodes[level] + (1 - own) * (full[level - 1] + estimate)
        full[: count - 1] = 0.0
        full[count - 1] = estimate

    def _deviation(self, step: int) -> float:
        """Return the standard deviation of each sum after a step."""
        return self._unit * math.sqrt(math.fsum(a * a * many for a, many in _parts(self.refine, step)))

    def _half_width(self, step: int, tail: float) -> float:
        """Return by how much a sum after a step errs with a probability."""
        if not isinstance(self.spend, Pure):
            return normal_width(self._deviation(step), tail) + 0.5  # nodes are whole, and may be few steps wide
        # discrete noise of this variance, as if it were continuous, and half a step more for each that was rounded
        return self._unit / math.sqrt(2) * laplace_width(_parts(self.refine, step), tail) + 0.5

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the mechanism, as plain data."""
        return {**super().parameters(), "refine": self.refine}

    def write_state(self, state: TreeState) -> dict[str, Any]:
        """Return a state as plain data."""
        return {"step": state.step, "nodes": state.nodes.tolist(), "full": state.full.tolist()}

    def read_state(self, data: dict[str, Any]) -> TreeState:
        """Return the state that was written."""
        shape = self.levels, self.width
        try:
            nodes, full = np.array(data["nodes"], dtype=np.int64), np.array(data["full"], dtype=np.float64)
            if nodes.shape == full.shape == shape and np.isfinite(full).all():
                return TreeState(int(data["step"]), nodes, full)
        except (KeyError, TypeError, ValueError, OverflowError):
            pass
        raise LedgerError("the state of the stream does not fit its tree: the file was changed or damaged")


@lru_cache(maxsize=1024)
def _parts(refine: bool, step: int) -> tuple[tuple[float, int], ...]:
    """Return by which factors nodes enter the sum after a step, and how many nodes by each."""
    return tuple(part for level in range(step.bit_length()) if step >> level & 1 for part in _node(refine, level))


@lru_cache(maxsize=64)
def _node(refine: bool, level: int) -> tuple[tuple[float, int], ...]:
    """Return the same for the estimate of one full node."""
    if not refine or level == 0:
        return ((1.0, 1),)
    variance = 1.0
    for _ in range(level - 1):
        variance = 2 * variance / (2 * variance + 1)
    own = 2 * variance / (2 * variance + 1)
    return ((own, 1), *(((1 - own) * factor, 2 * many) for factor, many in _node(refine, level - 1)))
