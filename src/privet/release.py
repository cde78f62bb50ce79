"""The only module that opens exact sums: adds the planned noise, and returns nothing else.

No other module reads an engine's sealed sums. Noise is drawn only against a receipt for this very plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from privet.core.event import Receipt
from privet.planner.comparison_plans import ThresholdPlan, steps_of

from . import noise
from .core.errors import InvariantError
from .core.scan import GroupKey, SealedSums
from .core.schema import Key
from .planner.keys import with_found
from .planner.measures import Cell, Columns, OpenedSums, found_keys

if TYPE_CHECKING:
    from privet.planner.comparison_plans import ChoicePlan, ScalarQuestion

    from .planner.batch import Batch
    from .planner.plan import Plan


@dataclass(frozen=True)
class Released:
    """A release: the groups, and for each pass and measure or choice one integer or value per group."""

    keys: tuple[Cell, ...]
    sums: tuple[tuple[tuple[Any, ...], ...], ...]
    word: int | None = None
    """64 random bits, drawn once with the noise and stored beside it: exact tests of counts are read with them. They
    depend on nothing, so that they cost nothing. None for releases from before they were drawn.
    """


def found_first(exact: SealedSums, plan: Plan, receipt: Receipt, charged: Plan | Batch) -> tuple[Key, ...]:
    """Return the values that the first pass of a plan discovers, for the later ones to read by.

    Guarantee: that of the pass's rule, a part of the event that `receipt` shows was charged.
    """
    if receipt.digest != charged.digest:
        raise InvariantError("the receipt is for another plan")
    pass_ = plan.passes[0]
    if pass_.keys is None or not plan.finds_first:
        raise InvariantError("a plan that finds nothing first is read at once")
    return tuple(value for (value,) in found_keys(_open(exact), pass_.scan, pass_.keys))


def sizes_first(exacts: Mapping[int, SealedSums], plan: Plan, receipt: Receipt, charged: Plan) -> dict[int, Columns]:
    """Return the noisy sizes of units, and the limits that they choose, for the later passes of a plan to read by.

    Guarantee: that of the passes' own noise, a part of the event that `receipt` shows was charged. They are drawn once:
    `release` takes these, and draws no others.
    """
    if receipt.digest != charged.digest:
        raise InvariantError("the receipt is for another plan")
    if not plan.choosing or set(exacts) != set(plan.choosing):
        raise InvariantError("a plan that chooses no limit is read at once")
    every = ((place, plan.passes[place]) for place in plan.choosing)
    return {place: pass_.measure.draw(_open(exacts[place]), pass_.scan, ()) for place, pass_ in every}


def release(
    exacts: Sequence[SealedSums],
    plan: Plan,
    receipt: Receipt,
    found: Sequence[Key] = (),
    sizes: Mapping[int, Columns] | None = None,
) -> Released:
    """Return the sums of a plan with its noise added, for the public groups or those that pass the threshold.

    `found` and `sizes` are the discoveries and choices of a first pass, by which the later ones were read.

    Guarantee: the event of the plan, which `receipt` shows was charged. Every noisy number comes from the
    mechanism that states its own event; what a group that is not released would have got is never computed into
    anything that leaves.
    """
    if receipt.digest != plan.digest:
        raise InvariantError("the receipt is for another plan")
    return _drawn(exacts, plan, found, sizes or {})


def release_all(
    exacts: Sequence[Sequence[SealedSums]], batch: Batch, receipt: Receipt, founds: Sequence[Sequence[Key]] = ()
) -> tuple[Released, ...]:
    """Return each release of a batch, as `release` does for one plan.

    Guarantee: the event of the batch, which `receipt` shows was charged.
    """
    if receipt.digest != batch.digest:
        raise InvariantError("the receipt is for another batch")
    values = founds or ((),) * len(batch.releases)
    return tuple(_drawn(*parts, {}) for parts in zip(exacts, batch.releases, values, strict=True))


def choose_one(exacts: Sequence[SealedSums], plan: ChoicePlan, receipt: Receipt) -> int:
    """Return which option of a plan is chosen, by its place in their list; the scores stay here.

    Scores are whole numbers of the unit that all of them share, and the race between them is exact.

    Guarantee: the event of the plan, which `receipt` shows was charged.
    """
    if receipt.digest != plan.digest:
        raise InvariantError("the receipt is for another choice")
    if len(exacts) != len(plan.scans):
        raise InvariantError("an engine did not answer every scan of the plan")
    summed = [
        _open(exact).groups.get((), (0,) * len(scan.sums)) for exact, scan in zip(exacts, plan.scans, strict=True)
    ]
    scores = [summed[place.scan][place.column] for place in plan.scores]
    return plan.mechanism.release([score * times for score, times in zip(scores, plan.multiples, strict=True)])


def draw_bar(plan: ThresholdPlan, receipt: Receipt) -> int:
    """Return the noisy threshold of a sparse vector, in steps of its grid: secret, and drawn once."""
    _check_vector(plan, receipt)
    return plan.steps.threshold + noise.discrete_laplace(plan.steps.threshold_scale)


def draw_noise(plan: ThresholdPlan, receipt: Receipt) -> tuple[int, int]:
    """Return the noise of one question of a sparse vector, and that of its value: secret, and drawn once for each.

    It does not depend on the data: it is kept before the question is read, so that reading again compares the same.
    """
    _check_vector(plan, receipt)
    scale = plan.value_scale
    return noise.discrete_laplace(plan.steps.query_scale), 0 if scale is None else noise.discrete_laplace(scale)


def compare(
    exact: SealedSums,
    plan: ThresholdPlan,
    question: ScalarQuestion,
    receipt: Receipt,
    *,
    bar: int,
    noises: tuple[int, int],
) -> tuple[bool, int | None]:
    """Return whether a question is above the noisy threshold and, where the vector measures, its noisy value in steps.

    Guarantee: the event of the vector, which `receipt` shows was charged, if `bar` and `noises` are what `draw_bar` and
    `draw_noise` returned, each for this vector and this question alone, and no more than `limit` questions are told to
    be above.
    Cites: [LSL17, standard sparse vector], [DR14, Alg. 3].
    """
    _check_vector(plan, receipt)
    (total,) = _open(exact).groups.get((), (0,))
    answer = steps_of(total, question, plan)
    if answer + noises[0] < bar:
        return False, None
    return True, answer + noises[1] if plan.values else None


def _check_vector(plan: ThresholdPlan, receipt: Receipt) -> None:
    if receipt.digest != plan.digest:
        raise InvariantError("the receipt is for another vector")


def _drawn(exacts: Sequence[SealedSums], plan: Plan, values: Sequence[Key], sizes: Mapping[int, Columns]) -> Released:
    if set(sizes) != set(plan.choosing):
        raise InvariantError("limits are chosen before anything that they bound is read")
    plan = plan.at_limits(plan.limits(sizes))
    if len(exacts) != len(plan.passes):
        raise InvariantError("an engine did not answer every scan of the plan")
    if plan.finds_first:
        keys = public_cells(with_found(plan.passes[1].scan, values).keys[: len(plan.groups)])
    else:
        keys = _keys(exacts, plan)
    sums = tuple(
        sizes[place] if place in sizes else pass_.measure.draw(_open(exact), pass_.scan, keys)
        for place, (exact, pass_) in enumerate(zip(exacts, plan.passes, strict=True))
    )
    return Released(keys, sums, noise.uniform_below(2**64))


def _keys(exacts: Sequence[SealedSums], plan: Plan) -> tuple[Cell, ...]:
    for exact, pass_ in zip(exacts, plan.passes, strict=True):
        if pass_.keys is not None and pass_.finds_groups:
            return found_keys(_open(exact), pass_.scan, pass_.keys)
    return public_cells(plan.passes[0].groups, plan.passes[0].scan.cells)


def public_cells(keys: Sequence[GroupKey], cells: tuple[Cell, ...] | None = None) -> tuple[Cell, ...]:
    """Return the combinations of public keys that are groups: every one, where none are listed; of no keys, one."""
    return tuple(product(*(key.values or () for key in keys))) if cells is None else cells


def _open(exact: SealedSums) -> OpenedSums:
    return OpenedSums(exact._groups, exact._places)
