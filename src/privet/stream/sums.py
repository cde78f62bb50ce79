"""The common part of mechanisms for running sums: how far one unit can move them, their cost, their next steps.

A mechanism is a frozen value. Its state is another one, made by `begin` and replaced by `advance`; the values of a step
are a vector of whole numbers, one for each group or each entry of a gradient. Nothing here reads rows or charges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from privet.accounting.events import PureEvent, ZcdpEvent
from privet.core.budget import Pure, Zcdp
from privet.core.errors import BadParameter, RequestError
from privet.core.event import Event
from privet.core.given import choice, instance, set_fields
from privet.core.numbers import Number, whole
from privet.core.unit import Neighbors
from privet.mechanisms.lattice import tail_of

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Spend = Pure | Zcdp
State = TypeVar("State")

LARGEST_TOTAL = 2**36
"""The values of one step are clamped to this, in grid steps: every sum over a horizon then fits 64 bits."""

LONGEST = 2**24
"""The longest horizon."""

WIDEST = 2**20
"""The most groups, or entries of a vector."""

_LARGEST_BOUND = 2**32


@dataclass(frozen=True, kw_only=True)
class RunningSums(ABC, Generic[State]):
    """A mechanism that releases the sums of a stream's values up to each step.

    Args:
        horizon: the number of steps.
        spend: `Pure(epsilon=...)` or `Zcdp(rho=...)`: the cost of all steps together.
        width: how many sums run at once: groups, or entries of a vector.
        bound: the largest norm of one row, in whole grid steps: L1 for a pure spend, L2 otherwise. A row in one group
            has the norm of its value.
        rows: how many rows of one unit may be in the stream.
        entries: how many of the sums one row can touch.
        neighbors: "add-remove", or "change-one", which counts every row twice.

    Guarantee: if two streams differ in the rows of one unit, and each step's values may depend on all that was released
    before, the releases cost `event`: one row moves what is measured by at most `bound` times the norm of a column, and
    `rows` of them by at most `rows` times that, by the triangle inequality, however they lie in time and in groups.
    """

    horizon: int
    spend: Spend
    width: int = 1
    bound: int = 1
    rows: int = 1
    entries: int = 1
    neighbors: Neighbors = "add-remove"
    method: ClassVar[str]

    def __post_init__(self) -> None:
        set_fields(
            self,
            horizon=whole(self.horizon, "horizon", least=1, most=LONGEST),
            width=whole(self.width, "width", least=1, most=WIDEST),
            bound=whole(self.bound, "bound", least=1, most=_LARGEST_BOUND),
            rows=whole(self.rows, "rows", least=1, most=LONGEST),
            entries=whole(self.entries, "entries", least=1, most=WIDEST),
            neighbors=choice(self.neighbors, "neighbors", ("add-remove", "change-one")),
        )
        instance(self.spend, Spend, "spend", "Pure(epsilon=...) or Zcdp(rho=...)")

    @property
    def moves(self) -> int:
        """How far one unit can move the values, in the norm of one row times the number of rows."""
        return self.bound * self.rows * (2 if self.neighbors == "change-one" else 1)

    @property
    def event(self) -> Event:
        """The cost of all steps together; adaptively chosen values are covered, so it is no loss distribution."""
        return PureEvent(self.spend.epsilon) if isinstance(self.spend, Pure) else ZcdpEvent(self.spend.rho)

    @abstractmethod
    def begin(self) -> State:
        """Return the state before the first step. Nothing is drawn."""

    @abstractmethod
    def advance(self, state: State, values: Integers, drawn: Any = None) -> tuple[State, Floats]:
        """Return the state after more steps, one for each row of values, and the estimated sums after each.

        The state that was passed stays as it is. `drawn` is the noise of these steps where it was drawn before, by
        `draw`: the caller must not have used it, nor have shown anything that depends on it.
        """

    @abstractmethod
    def drawn_before(self, step: int) -> int:
        """Return how many rows of noise all steps up to one use."""

    @abstractmethod
    def draw(self, rows: int) -> Any:
        """Return this many rows of fresh noise, each with a number for each sum."""

    def noise_rows(self, step: int, count: int) -> int:
        """Return how many rows of noise this many steps after one use."""
        return self.drawn_before(step + count) - self.drawn_before(step)

    def noise_of(self, state: State, values: Integers, drawn: Any) -> Any:
        """Return the noise of some steps: as it was drawn before, or drawn now."""
        needed = self.noise_rows(self.step_of(state), len(values))
        if drawn is None:
            return self.draw(needed) if needed else np.zeros((0, self.width), dtype=np.int64)
        numbers = np.asarray(drawn)
        if numbers.shape != (needed, self.width):
            raise BadParameter("drawn", type(drawn).__name__, f"{needed} rows of {self.width} numbers, from draw")
        return numbers

    @abstractmethod
    def step_of(self, state: State) -> int:
        """Return how many steps a state has behind it."""

    def deviation(self, step: int) -> float:
        """Return the standard deviation of each sum after a step, in grid steps.

        Args:
            step: a step, from 1 to the horizon.

        Example:
            >>> stream.TreeSums(horizon=4, spend=privet.Zcdp(rho=0.5), refine=False).deviation(3) ** 2
            6.0
        """
        return self._deviation(whole(step, "step", least=1, most=self.horizon))

    def half_width(self, step: int, confidence: Number = Fraction(19, 20)) -> float:
        """Return half the width of the interval of a sum after a step, in grid steps.

        Args:
            step: a step, from 1 to the horizon.
            confidence: the confidence level of the interval.

        Example:
            >>> sums = stream.TreeSums(horizon=4, spend=privet.Zcdp(rho=0.5))
            >>> sums.half_width(4, 0.99) > sums.half_width(4, 0.95)
            True
        """
        return self._half_width(whole(step, "step", least=1, most=self.horizon), tail_of(confidence))

    @abstractmethod
    def _deviation(self, step: int) -> float:
        """Return the standard deviation of each sum after a step."""

    @abstractmethod
    def _half_width(self, step: int, tail: float) -> float:
        """Return by how much a sum after a step errs with a probability."""

    @abstractmethod
    def write_state(self, state: State) -> dict[str, Any]:
        """Return a state as plain data that JSON represents exactly."""

    @abstractmethod
    def read_state(self, data: dict[str, Any]) -> State:
        """Return the state that was written."""

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the mechanism, as plain data."""
        return {
            "method": self.method,
            "horizon": self.horizon,
            self.spend.measure: str(self.spend.amount),
            "width": self.width,
            "bound": self.bound,
            "rows": self.rows,
            "entries": self.entries,
            "neighbors": self.neighbors,
        }

    def checked(self, state: State, values: Integers) -> Integers:
        """Return the values of more steps, clamped, or raise where they are not there for all, or past the horizon."""
        given = np.asarray(values)
        if given.ndim != 2 or given.shape[1] != self.width or given.dtype != np.int64:
            raise BadParameter("values", type(values).__name__, f"an int64 array of {self.width} columns")
        past = self.step_of(state) + len(given)
        if past > self.horizon:
            raise RequestError(
                f"the stream has a horizon of {self.horizon} steps and is past {self.step_of(state)} of them; "
                f"{len(given)} more do not fit: open a new stream, which is charged anew"
            )
        return np.clip(given, -LARGEST_TOTAL, LARGEST_TOTAL)


def read_rho(spend: Spend, method: str) -> Fraction:
    """Return the rho of a spend, for a mechanism whose noise is Gaussian."""
    if not isinstance(spend, Zcdp):
        raise BadParameter("spend", spend.describe(), f"Zcdp(rho=...) for {method}, whose noise is Gaussian")
    return spend.rho


def normal_width(deviation: float, tail: float) -> float:
    """Return by how much a normal number errs with a probability."""
    from scipy.special import ndtri

    return deviation * -float(ndtri(tail / 2))


def check_size(name: str, value: object, largest: float) -> None:
    """Raise unless all that is computed in 64 bits fits them."""
    if not largest < 2.0**62:
        raise BadParameter(name, value, "such that the noise fits 64 bits: spend more, or use a coarser grid")
