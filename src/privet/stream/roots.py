"""Running sums by the square root of the matrix of prefixes: far less error than the tree, for Gaussian noise.

With C the lower-triangular Toeplitz matrix of f_j = product of (2 i - 1) / (2 i), C C is the matrix of prefixes. The
measurements are C' x + z, C' = round(2^16 C) in whole numbers; the sums are computed from them afterwards.
"""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from privet import noise
from privet.core.errors import BadParameter, LedgerError

from .sums import LARGEST_TOTAL, Floats, Integers, RunningSums, check_size, normal_width, read_rho

BITS = 16
"""The binary digits of the entries of C'."""

LONGEST_ROOT = 2**14
MOST_CELLS = 2**16
"""The longest horizon, and the most numbers that are pending at once: all of them are written at each step."""


class RootState(NamedTuple):
    """For each step to come, its measurement so far, noise included, and the earlier estimates in it."""

    step: int
    pending: Integers | None
    explained: Floats | None
    totals: Floats


@dataclass(frozen=True, kw_only=True)
class RootSums(RunningSums[RootState]):
    """Running sums by the square-root factorisation, with Gaussian noise.

    It keeps a number for each step to come: the measurement there, as far as it is known, with its noise in it. So a
    stolen state shows nothing of earlier steps that was not charged. For longer horizons see `BufferedSums`.

    Example:
        >>> sums = stream.RootSums(horizon=1024, spend=privet.Zcdp(rho=0.5))
        >>> round(sums.deviation(1024), 4)
        3.2726

    Guarantee: the measurement m_t = (C' x)_t + z_t has whole entries, uses the values up to t alone, and its noise is
    independent of all that was released before t: an adaptive composition of single numbers, moved by amounts whose
    squares add up to at most (moves |c|)^2 with c the first and largest column of C'. With discrete Gaussian noise of
    variance (moves |c|)^2 / (2 rho) that is rho-zCDP, for values that depend on what was released as well.
    Cites: [FHU23, Thm 1], [HUU23, Thm 1], [CKS20, Thm 14], [BS16, Lemma 1.7].
    """

    method = "square-root"

    def __post_init__(self) -> None:
        super().__post_init__()
        read_rho(self.spend, "the square root")
        if self.horizon > LONGEST_ROOT or self.horizon * self.width > MOST_CELLS:
            raise BadParameter(
                "horizon",
                self.horizon,
                f"at most {LONGEST_ROOT:,} steps, and at most {MOST_CELLS:,} steps times groups, for the square root; "
                "use method 'buffered'",
            )
        largest = float(self._column.sum()) * LARGEST_TOTAL + 64 * math.sqrt(self._variance)
        check_size("spend", self.spend, largest)

    @cached_property
    def _column(self) -> Integers:
        """The first column of C'."""
        value, entries = Fraction(1), []
        for index in range(1, self.horizon + 1):
            entries.append(math.floor(value * 2**BITS + Fraction(1, 2)))
            # 64 digits suffice for the rounding to be a function of the index alone; any rounding is sound
            value = Fraction(math.floor(value * (2 * index - 1) / (2 * index) * 2**64), 2**64)
        return np.array(entries, dtype=np.int64)

    @property
    def sensitivity_squared(self) -> int:
        """The square of how far one unit moves the measurements, in L2."""
        squares: int = sum(entry * entry for entry in self._column.tolist())
        return self.moves**2 * squares

    @cached_property
    def _variance(self) -> Fraction:
        return self.sensitivity_squared / (2 * read_rho(self.spend, "the square root"))

    def begin(self) -> RootState:
        """Return the state before the first step."""
        return RootState(0, None, None, np.zeros(self.width))

    def step_of(self, state: RootState) -> int:
        """Return how many steps a state has behind it."""
        return state.step

    def drawn_before(self, step: int) -> int:
        """Return how many rows of noise all steps up to one use: the first one uses those of all steps."""
        return self.horizon if step else 0

    def draw(self, rows: int) -> Any:
        """Return this many rows of fresh noise."""
        return noise.discrete_gaussian(self._variance, (rows, self.width))

    def advance(self, state: RootState, values: Integers, drawn: Any = None) -> tuple[RootState, Floats]:
        """Return the state after more steps, and the estimated sums after each."""
        given = self.checked(state, values)
        column, rates = self._column[:, None], self._column[:, None].astype(np.float64)
        pending, explained = self._pending(state, self.noise_of(state, given, drawn))
        totals, released = state.totals.copy(), np.empty(given.shape)
        for index, value in enumerate(given):
            left = len(pending)
            pending += column[:left] * value
            estimate = (pending[0] - explained[0]) / rates[0]
            explained += rates[:left] * estimate
            totals = totals + estimate
            released[index] = totals
            pending, explained = pending[1:], explained[1:]
        return RootState(state.step + len(given), pending, explained, totals), released

    def _pending(self, state: RootState, fresh: Any) -> tuple[Integers, Floats]:
        """Return the pending numbers, to be changed in place; before the first step, noise alone."""
        if state.pending is None or state.explained is None:
            return np.array(fresh), np.zeros((self.horizon, self.width))
        return state.pending.copy(), state.explained.copy()

    @cached_property
    def _deviations(self) -> Floats:
        """The standard deviation of the sum after each step: the norms of the rows of A C'^-1, times sigma."""
        column = self._column / self._column[0]
        inverse = np.zeros(self.horizon)
        inverse[0] = 1.0
        for step in range(1, self.horizon):
            inverse[step] = -(column[1 : step + 1] @ inverse[step - 1 :: -1][:step])
        rows = np.sqrt(np.cumsum(np.cumsum(inverse) ** 2))
        return np.asarray(rows * math.sqrt(self._variance) / float(self._column[0]))

    def _deviation(self, step: int) -> float:
        """Return the standard deviation of each sum after a step."""
        return float(self._deviations[step - 1])

    def _half_width(self, step: int, tail: float) -> float:
        """Return by how much a sum after a step errs with a probability."""
        return normal_width(self._deviation(step), tail)

    def write_state(self, state: RootState) -> dict[str, Any]:
        """Return a state as plain data."""
        packed = {"step": state.step, "totals": state.totals.tolist(), "pending": None, "explained": None}
        if state.pending is not None and state.explained is not None:
            packed |= {"pending": _packed(state.pending, "<i8"), "explained": _packed(state.explained, "<f8")}
        return packed

    def read_state(self, data: dict[str, Any]) -> RootState:
        """Return the state that was written."""
        try:
            step, totals = int(data["step"]), np.array(data["totals"], dtype=np.float64)
            if step == 0 and data["pending"] is None:
                return self.begin()
            shape = self.horizon - step, self.width
            pending, explained = _unpacked(data["pending"], "<i8", shape), _unpacked(data["explained"], "<f8", shape)
            if totals.shape == (self.width,) and np.isfinite(totals).all() and np.isfinite(explained).all():
                return RootState(step, pending, explained, totals)
        except (KeyError, TypeError, ValueError):
            pass
        raise LedgerError("the state of the stream does not fit its horizon: the file was changed or damaged")


def _packed(numbers: Any, kind: str) -> str:
    return base64.b64encode(numbers.astype(kind).tobytes()).decode("ascii")


def _unpacked(text: str, kind: str, shape: tuple[int, int]) -> Any:
    numbers = np.frombuffer(base64.b64decode(text, validate=True), dtype=kind).reshape(shape)
    return numbers.astype(np.int64 if kind == "<i8" else np.float64)
