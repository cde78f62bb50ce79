"""A histogram at every step of a stream, such that any window of steps is protected: w-event privacy.

Four algorithms divide epsilon among the steps of a window. All their memory is released numbers; of the counts
themselves nothing is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from privet.core.budget import WEvent
from privet.core.errors import BadParameter, BadValue, InvariantError, raise_alone
from privet.core.given import given_name, listed, read_fields, set_fields
from privet.core.numbers import Number, float_up, whole
from privet.core.unit import Neighbors, read_neighbors
from privet.mechanisms import Laplace
from privet.mechanisms.lattice import read_numbers

from .w_event_rule import Algorithm, WEventChoice, choose

PARTS = 2**40
"""The number of parts of 1/(2 window) of epsilon: every step spends a whole number of them."""

MOST_COUNT = 2**53
_MOST_CELLS = 10**6
_MOST_CONTRIBUTION = 10**9
_COUNTS = "one whole number for each cell"
_ROWS = "pairs of a person, which is a text or a whole number, and a cell"


@dataclass(frozen=True, init=False)
class WEventPlan:
    """Every decision about a stream of histograms, before its first step: public.

    Args:
        promise: the promise about any window of steps.
        cells: the names of the counts of each step, or how many there are.
        contribution: how many rows one person adds to one step at most.
        neighbors: "add-remove" or "change-one".
        algorithm: "uniform", "sample", "distribution", "absorption", or "auto" for the least predicted error.
        change: how far a count typically moves when it moves, as publicly known; it decides only which algorithm runs.
        every: the counts move at the first step and then every this many steps.

    Raises:
        BadParameter: if an argument is out of range.

    Example:
        >>> plan = privet.stream.WEventPlan(privet.stream.WEvent(epsilon=1, window=20), cells=3, change=0.5)
        >>> plan.algorithm
        'sample'
    """

    promise: WEvent
    cells: tuple[str, ...]
    contribution: int
    neighbors: Neighbors
    choice: WEventChoice

    def __init__(
        self,
        promise: WEvent,
        *,
        cells: int | Sequence[str] = 1,
        contribution: int = 1,
        neighbors: Neighbors = "add-remove",
        algorithm: Algorithm | Literal["auto"] = "auto",
        change: Number | None = None,
        every: int = 1,
    ) -> None:
        if not isinstance(promise, WEvent):
            raise BadParameter("promise", type(promise).__name__, "WEvent(epsilon=..., window=...)")
        names = _read_cells(cells)
        most = whole(contribution, "contribution", least=1, most=_MOST_CONTRIBUTION)
        relation = read_neighbors(neighbors)
        chosen = choose(
            scale=_sensitivity(most, len(names), relation) / promise.epsilon,
            window=promise.window,
            cells=len(names),
            algorithm=algorithm,
            change=change,
            every=every,
        )
        set_fields(self, promise=promise, cells=names, contribution=most, neighbors=relation, choice=chosen)

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm that runs."""
        return self.choice.algorithm

    @property
    def sensitivity(self) -> Fraction:
        """How far one person moves the counts of one step, in the L1 norm.

        Guarantee: a person adds at most `contribution` to the counts of a step. Where it is replaced by another, the
        counts move by that much down and that much up, and in one cell only by the difference.
        """
        return _sensitivity(self.contribution, len(self.cells), self.neighbors)

    @property
    def compares(self) -> bool:
        """Whether each step compares its counts with the last release, which costs a part of epsilon at every step."""
        return self.algorithm in ("distribution", "absorption")

    @property
    def most_parts(self) -> int:
        """All that may be spent in a window, in parts."""
        return 2 * self.promise.window * PARTS

    @cached_property
    def comparison(self) -> Laplace:
        """The noise of a comparison: that of the sum of absolute differences, which costs epsilon / (2 window).

        Guarantee: the last release is public, so the sum of |count - released| over the cells moves by no more than the
        counts do, whatever the number of cells; divided by it, it is the mean of the literature.
        Cites: [KPXP14, the dissimilarity].
        """
        return noise_of(self, PARTS)

    def explain(self) -> str:
        """Return the decisions in words."""
        who = "added or removed" if self.neighbors == "add-remove" else "replaced by another"
        lines = [
            f"protects: all rows of one person in any {self.promise.window:,} consecutive steps, {who}",
            f"promise: {self.promise.describe()}; more steps cost more",
            f"contribution: at most {_rows(self.contribution)} of a person in a step",
            f"algorithm: {self.choice}",
        ]
        lines += [f"  {name}: {error:.3g} predicted" for name, error in self.choice.predicted.items()]
        return "\n".join(lines)


def cost_of(plan: WEventPlan, parts: int) -> Fraction:
    """Return a number of parts as epsilon."""
    return plan.promise.epsilon * Fraction(parts, plan.most_parts)


def noise_of(plan: WEventPlan, parts: int) -> Laplace:
    """Return the noise that costs a number of parts."""
    return Laplace(sensitivity=plan.sensitivity, scale=plan.sensitivity / cost_of(plan, parts), grid="whole")


@dataclass(frozen=True)
class WEventState:
    """The memory of a stream between steps: released numbers and spending. Nothing of it is private.

    `spent` are the parts of the steps before, no more than the window has steps beside the next. `measured` is the step
    of the last release, 0 before the first, and `parts` the cost of that release.
    """

    step: int
    values: tuple[int, ...]
    measured: int
    parts: int
    spent: tuple[int, ...]

    def __post_init__(self) -> None:
        read_fields(self)


def first_state(plan: WEventPlan) -> WEventState:
    """Return the state of a stream before its first step: nothing was released, and the values are zeros."""
    return WEventState(0, (0,) * len(plan.cells), 0, 0, ())


@dataclass(frozen=True)
class WEventRelease:
    """The counts of one step as released: measured at this step, or repeated from an earlier one.

    `epsilon` is this step's cost. `measured` is the step whose counts `values` are, with noise; 0 where nothing was
    released yet, and the values are zeros.

    Example:
        >>> release = stream.WEventStream(epsilon=1, window=3, cells=2).step([5, 0])
        >>> release.step, len(release.values)
        (1, 2)
    """

    plan: WEventPlan
    step: int
    values: tuple[int, ...]
    measured: int
    parts: int
    epsilon: Fraction
    compared: bool
    offered: int

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def fresh(self) -> bool:
        """Whether the counts of this step were measured."""
        return self.measured == self.step

    def interval(self, confidence: Number = 0.95) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return low and high for each count of the step `measured`: pointwise, without movements since then.

        Before the first release nothing is known, and the bounds are infinite.
        """
        if not self.measured:
            endless = (math.inf,) * len(self.values)
            return tuple(-end for end in endless), endless
        low, high = noise_of(self.plan, self.parts).interval(list(self.values), confidence)
        return tuple(max(0.0, float(end)) for end in low), tuple(max(0.0, float(end)) for end in high)

    def distance(self, confidence: Number = 0.95) -> float | None:
        """Return how far the counts of this step are from `values`, as the sum over the cells, at most.

        The bound is right with this probability, and known where the step was compared with the last release and near
        enough; otherwise None. A repeated value of a step that was not compared may be off by any amount.
        """
        error = Fraction(self.plan.comparison.error(confidence))
        if self.fresh or not self.compared or not self.offered:
            return None
        return float_up(error + len(self.values) * self.plan.sensitivity / cost_of(self.plan, self.offered))

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain data."""
        return {
            "step": self.step,
            "measured": self.measured,
            "fresh": self.fresh,
            "values": dict(zip(self.plan.cells, self.values, strict=True)),
            "epsilon": float(self.epsilon),
        }

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {value:,}" for name, value in zip(self.plan.cells, self.values, strict=True))
        when = "measured now" if self.fresh else f"as of step {self.measured:,}" if self.measured else "nothing yet"
        return f"step {self.step:,}: {shown} ({when})"


def numbers_drawn(plan: WEventPlan, state: WEventState) -> int:
    """Return how many numbers of noise the next step has: for its comparison, and for each count it may release."""
    return plan.compares + (len(plan.cells) if OFFERS[plan.algorithm](plan, state) else 0)


def draw_noise(plan: WEventPlan, state: WEventState) -> list[int]:
    """Return fresh noise for the next step. Its width follows from earlier releases."""
    offered = OFFERS[plan.algorithm](plan, state)
    drawn = [int(plan.comparison.release(0))] if plan.compares else []
    if offered:
        drawn += [int(number) for number in noise_of(plan, offered).release([0] * len(plan.cells))]
    return drawn


def advance(
    plan: WEventPlan, state: WEventState, counts: Sequence[int], drawn: Sequence[int] | None = None
) -> tuple[WEventState, WEventRelease]:
    """Return the state after one more step, and its release.

    `drawn` is the noise of the step where `draw_noise` drew it before; nothing that depends on it may have been shown.

    Guarantee: what the steps of any window spend is together at most epsilon, whatever the counts: a step spends no
    more than epsilon less what the window - 1 steps before it spent, which is checked here whatever the algorithm
    offered. How much a step may spend is computed from released numbers, and sums of pure epsilon stay valid where
    costs are chosen adaptively. Steps that repeat the last release have paid for their comparison all the same.
    Cites: [KPXP14, budget distribution and budget absorption].
    """
    before, step, held = state, state.step + 1, _held(counts)
    offered = OFFERS[plan.algorithm](plan, state)
    noises = list(draw_noise(plan, state) if drawn is None else drawn)
    if len(noises) != numbers_drawn(plan, state):
        raise InvariantError("a step of a stream has noise that was drawn for another one")
    # where nothing is offered, the comparison is still made and charged
    far = not plan.compares or _far(plan, state.values, held, offered, noises.pop(0))
    publishes = offered > 0 and far
    spent = (PARTS if plan.compares else 0) + (offered if publishes else 0)
    kept = state.spent[max(0, len(state.spent) - plan.promise.window + 1) :]
    if sum(kept) + spent > plan.most_parts:
        raise InvariantError("a step of a stream would spend more than its window has")
    if publishes:
        noisy = tuple(count + added for count, added in zip(held, noises, strict=True))
        state = replace(state, values=noisy, measured=step, parts=offered)
    later = (*kept, spent)[-(plan.promise.window - 1) :] if plan.promise.window > 1 else ()
    after = replace(state, step=step, spent=later)
    return after, released_again(plan, before, after)


def released_again(plan: WEventPlan, before: WEventState, after: WEventState) -> WEventRelease:
    """Return the release of a step, from the states before and after it, which contain all of it."""
    offered = OFFERS[plan.algorithm](plan, before)
    spent = (PARTS if plan.compares else 0) + (offered if after.measured == after.step else 0)
    cost = cost_of(plan, spent)
    return WEventRelease(plan, after.step, after.values, after.measured, after.parts, cost, plan.compares, offered)


def _far(plan: WEventPlan, values: Sequence[int], counts: Sequence[int], offered: int, added: int) -> bool:
    """Return whether the counts are further from the last release than the mean noise of a new one, with noise."""
    differences = sum(abs(count - value) for count, value in zip(counts, values, strict=True))
    noisy = differences + added
    return noisy * cost_of(plan, offered) > len(values) * plan.sensitivity


def _uniform(plan: WEventPlan, state: WEventState) -> int:
    """Return an equal share for every step."""
    return 2 * PARTS


def _sample(plan: WEventPlan, state: WEventState) -> int:
    """Return all of epsilon at the first step of each window, and nothing at the others."""
    return 0 if state.step % plan.promise.window else plan.most_parts


def _distribution(plan: WEventPlan, state: WEventState) -> int:
    """Return half of the window's remaining epsilon for releases."""
    before = state.spent[max(0, len(state.spent) - plan.promise.window + 1) :]
    left = plan.promise.window * PARTS - (sum(before) - PARTS * len(before))
    return max(0, left) // 2


def _absorption(plan: WEventPlan, state: WEventState) -> int:
    """Return the shares of all steps since those that the last release took, or nothing where it took this step's.

    A release that took m shares skips the m - 1 steps after it. With releases at k_1 < ... < k_n in one window, m_i is
    at most k_i - k_(i-1) - m_(i-1) + 1, so that their sum is at most k_n - k_1 + 1, and at most the window's steps.
    """
    skipped = max(0, state.parts // PARTS - 1)
    waited = state.step + 1 - state.measured - skipped
    return min(max(0, waited), plan.promise.window) * PARTS


OFFERS = {"uniform": _uniform, "sample": _sample, "distribution": _distribution, "absorption": _absorption}
"""The offer of each algorithm for a release at the next step, in parts: a function of released numbers."""


class WEventStream:
    """A stream of histograms whose every window of steps is protected, in the memory of this process.

    Call `step` once for each tick of a public clock, also where nothing happened: a step that is made because a row
    arrived would reveal the arrival. Nothing counts how many streams are made of the same rows; `open_w_event` keeps a
    stream in a file, charged to an account that was opened for it.

    Args:
        epsilon: the largest privacy loss of any window, above 0.
        window: how many consecutive steps are protected together.
        cells: the names of the counts of each step, or how many there are.
        contribution: how many rows one person adds to one step at most.
        neighbors: "add-remove" or "change-one".
        algorithm: "uniform", "sample", "distribution", "absorption", or "auto" for the least predicted error.
        change: how far a count typically moves when it moves, as publicly known; it decides only which algorithm runs.
        every: the counts move at the first step and then every this many steps.

    Example:
        >>> stream = privet.stream.WEventStream(epsilon=1, window=7, cells=["walk", "ride"])
        >>> stream.step([120, 80]).fresh
        True
    """

    def __init__(
        self,
        *,
        epsilon: Number,
        window: int,
        cells: int | Sequence[str] = 1,
        contribution: int = 1,
        neighbors: Neighbors = "add-remove",
        algorithm: Algorithm | Literal["auto"] = "auto",
        change: Number | None = None,
        every: int = 1,
    ) -> None:
        self._plan = WEventPlan(
            WEvent(epsilon=epsilon, window=window),
            cells=cells,
            contribution=contribution,
            neighbors=neighbors,
            algorithm=algorithm,
            change=change,
            every=every,
        )
        self._state = first_state(self._plan)

    @property
    def plan(self) -> WEventPlan:
        """Every decision about the stream."""
        return self._plan

    @property
    def state(self) -> WEventState:
        """The memory of the stream: released numbers and spending."""
        return self._state

    def step(self, counts: Any) -> WEventRelease:
        """Return the release of the next step, from its counts.

        Args:
            counts: a whole number for each cell, or one number where there is one cell. One person must have added no
                more than `contribution` to them; `step_rows` bounds that itself.

        Raises:
            BadValue: if the counts are not whole numbers, or not as many as there are cells.
        """
        return self._advance([read_counts(self._plan, counts)])[0]

    def step_rows(self, rows: Iterable[tuple[str | int, str | int]]) -> WEventRelease:
        """Return the release of the next step, from its rows: of each person the first ones, up to `contribution`.

        Args:
            rows: pairs of a person and a cell, by its name or its number from 0. Rows of other cells are left out.
        """
        return self.step(count_rows(self._plan, rows))

    def extend(self, steps: Iterable[Any]) -> tuple[WEventRelease, ...]:
        """Return the releases of several steps, from the counts of each; nothing is drawn unless all can be read."""
        return self._advance([read_counts(self._plan, counts, "steps") for counts in _each(steps)])

    def _advance(self, steps: Sequence[Sequence[int]]) -> tuple[WEventRelease, ...]:
        releases = []
        for counts in steps:
            self._state, release = advance(self._plan, self._state, counts)
            releases.append(release)
        return tuple(releases)

    def __repr__(self) -> str:
        return f"WEventStream({self._plan.promise.describe()}, {self._plan.algorithm}, step {self._state.step:,})"


def read_counts(plan: WEventPlan, counts: Any, parameter: str = "counts") -> list[int]:
    """Return the private counts of one step, each clamped to 0 and 2**53; refuse others without quoting them."""
    numbers = read_numbers(counts, parameter, wide=True)
    values = [numbers.values] if numbers.shape is None else list(numbers.values.tolist())
    if not numbers.whole or (numbers.shape is not None and len(numbers.shape) != 1):
        raise BadValue(parameter, "something else", _COUNTS)
    if len(values) != len(plan.cells):
        raise BadValue(parameter, "another number of them", f"{_COUNTS}, {len(plan.cells):,} in all")
    return _held(values)


def _held(counts: Iterable[int]) -> list[int]:
    return [min(max(int(count), 0), MOST_COUNT) for count in counts]


def count_rows(plan: WEventPlan, rows: Iterable[tuple[str | int, str | int]]) -> list[int]:
    """Return the counts of one step from its rows.

    Guarantee: of each person at most `contribution` rows are counted, the first of its own; so no person's rows decide
    which rows of another are.
    """
    places: dict[str | int, int] = {name: place for place, name in enumerate(plan.cells)}
    places |= {place: place for place in range(len(plan.cells))}
    counts, seen = [0] * len(plan.cells), dict[tuple[type, str | int], int]()
    for person, cell in _pairs(rows):
        place = places.get(cell)
        taken = seen.get((type(person), person), 0)
        if place is not None and taken < plan.contribution:
            seen[type(person), person] = taken + 1
            counts[place] += 1
    return counts


def _pairs(rows: Any) -> Iterator[tuple[str | int, str | int]]:
    """Yield rows that are pairs of plain values, and refuse others: a person that only looks like another is a leak."""
    for row in _each(rows, "rows", _ROWS):
        if type(row) not in (tuple, list) or len(row) != 2 or type(row[0]) not in (str, int):
            raise BadValue("rows", "something else among them", _ROWS)
        if type(row[1]) in (str, int):  # any other is the name of no cell
            yield row[0], row[1]


def _each(items: Any, parameter: str = "steps", allowed: str = f"a list with {_COUNTS}, for each step") -> list[Any]:
    """Return the items of something private, or refuse it without quoting it."""
    if not isinstance(items, (str, bytes, bytearray, Mapping, Set)):
        try:
            return list(items)
        except Exception:  # a foreign type may raise anything
            raise_alone(BadValue(parameter, f"a {type(items).__name__}", allowed))
    raise BadValue(parameter, f"a {type(items).__name__}", allowed)


def _read_cells(cells: Any) -> tuple[str, ...]:
    if not isinstance(cells, (str, list, tuple)):
        count = whole(cells, "cells", least=1, most=_MOST_CELLS)
        return tuple(f"cell {place}" for place in range(count)) if count > 1 else ("count",)
    allowed = "names of cells, each another, or how many there are"
    names = listed(cells, "cells", allowed, most=_MOST_CELLS)
    for name in names:
        given_name(name, "cells", allowed)
    if not names or len(set(names)) != len(names):
        raise BadParameter("cells", cells, allowed)
    return tuple(names)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _sensitivity(contribution: int, cells: int, neighbors: Neighbors) -> Fraction:
    return Fraction(contribution if neighbors == "add-remove" or cells == 1 else 2 * contribution)
