"""The one door: opens exact sums, adds the planned noise, and lets out nothing else.

No other module reads what an engine sealed. Noise is drawn only against a receipt for this very plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from .core.errors import InvariantError
from .core.records import Receipt
from .core.scan import GroupKey, SealedSums
from .core.schema import Key
from .mechanisms.rank_several import SeveralRanks
from .planner.keys import with_found
from .planner.plan import KeyRule

if TYPE_CHECKING:
    from .mechanisms.frequent import Frequent
    from .planner.batch import Batch
    from .planner.plan import KeyRelease, Pass, Plan

Cell = tuple[Key, ...]

_LEAST_BLOCK = 256
"""The public length in which noise is drawn for keys, unless one unit can hold more."""


@dataclass(frozen=True)
class Released:
    """What was released: the groups, and for each pass and measure or choice one integer or value per group."""

    keys: tuple[Cell, ...]
    sums: tuple[tuple[tuple[Any, ...], ...], ...]


def found_first(exact: SealedSums, plan: Plan, receipt: Receipt, charged: Plan | Batch) -> tuple[Key, ...]:
    """Return the values that the first pass of a plan discovers, for the later ones to read by.

    Guarantee: that of the pass's rule, a part of the event that `receipt` shows was charged.
    """
    if receipt.digest != charged.digest:
        raise InvariantError("the receipt is for another plan")
    one = plan.passes[0]
    if one.keys is None or not plan.finds_first:
        raise InvariantError("a plan that finds nothing first is read at once")
    return tuple(value for (value,) in _discovered(exact, one, one.keys))


def release(exacts: Sequence[SealedSums], plan: Plan, receipt: Receipt, found: Sequence[Key] = ()) -> Released:
    """Return the sums of a plan with its noise added, for the public groups or those that pass the threshold.

    Guarantee: the event of the plan, which `receipt` shows was charged. Every noisy number comes from the
    mechanism that states its own event; what a group that is not released would have got is never computed into
    anything that leaves.
    """
    if receipt.digest != plan.digest:
        raise InvariantError("the receipt is for another plan")
    return _drawn(exacts, plan, found)


def release_all(
    exacts: Sequence[Sequence[SealedSums]], batch: Batch, receipt: Receipt, founds: Sequence[Sequence[Key]] = ()
) -> tuple[Released, ...]:
    """Return what each release of a batch gives, as `release` does for one plan.

    Guarantee: the event of the batch, which `receipt` shows was charged.
    """
    if receipt.digest != batch.digest:
        raise InvariantError("the receipt is for another batch")
    found = founds or ((),) * len(batch.releases)
    return tuple(_drawn(*several) for several in zip(exacts, batch.releases, found, strict=True))


def _drawn(exacts: Sequence[SealedSums], plan: Plan, found: Sequence[Key]) -> Released:
    if len(exacts) != len(plan.passes):
        raise InvariantError("an engine did not answer every scan of the plan")
    if plan.finds_first:
        keys = public_cells(with_found(plan.passes[1].scan, found).keys[: len(plan.groups)])
    else:
        keys = _keys(exacts, plan)
    sums = tuple(_noisy(exact, one, keys) for exact, one in zip(exacts, plan.passes, strict=True))
    return Released(keys, sums)


def _keys(exacts: Sequence[SealedSums], plan: Plan) -> tuple[Cell, ...]:
    for exact, one in zip(exacts, plan.passes, strict=True):
        if one.keys is not None and one.finds_groups:
            return _discovered(exact, one, one.keys)
    return public_cells(plan.passes[0].groups, plan.passes[0].scan.cells)


def public_cells(keys: Sequence[GroupKey], cells: tuple[Cell, ...] | None = None) -> tuple[Cell, ...]:
    """Return the combinations of public keys that are groups: every one, where none are listed; of no keys, one."""
    return tuple(product(*(key.values or () for key in keys))) if cells is None else cells


def _discovered(exact: SealedSums, one: Pass, rule: KeyRelease | KeyRule) -> tuple[Cell, ...]:
    """Return the keys whose noisy weight is above the threshold, or that the rule shows.

    How many keys there are is private, and noise on a vector may depend on its length. So it is drawn in blocks of a
    public length, the last one filled up, which is at least as many keys as neighbours can differ in.
    """
    discovery, unit = one.scan.discovery, one.scan.schema.unit
    if discovery is None:
        raise InvariantError("keys are released only where a scan discovers them")
    block = max(_LEAST_BLOCK, 2 * discovery.most * unit.touches)
    held = exact._groups
    weights = [sums[-1] for sums in held.values()]
    weights += [0] * (-len(weights) % block)
    drawn = [
        passes for start in range(0, len(weights), block) for passes in _pass(weights[start : start + block], rule)
    ]
    shown = [cell for cell, passes in zip(held, drawn, strict=False) if passes]
    return tuple(sorted(shown, key=_in_order))


def _pass(weights: list[int], rule: KeyRelease | KeyRule) -> list[bool]:
    """Return which keys of a block are released."""
    if isinstance(rule, KeyRule):
        return [bool(shown) for shown in rule.mechanism.release(weights)]
    return [weight > rule.threshold for weight in _add_noise(weights, rule.mechanism)]


def _in_order(cell: Cell) -> tuple[tuple[bool, Any], ...]:
    return tuple((value is None, 0 if value is None else value) for value in cell)


def _noisy(exact: SealedSums, one: Pass, keys: tuple[Cell, ...]) -> tuple[tuple[Key, ...], ...]:
    if one.winners is not None:
        return _chosen(exact, one, one.winners, keys)
    if one.selection is not None:
        groups = [exact._places.get(cell, ((), ())) for cell in keys]
        chosen: list[tuple[int, ...]] = []
        for draw in one.selection.draws:
            several = draw.release(groups) if isinstance(draw, SeveralRanks) else [draw.release(groups)]
            chosen += map(tuple, several)
        return tuple(chosen)
    held = exact._groups
    nothing = (0,) * (len(one.measures) + 1)
    if one.buckets:
        values = one.scan.keys[-1].values or ()
        inside = [held.get((*cell, value), nothing)[0] for value in values for cell in keys]
        noisy = _add_noise(inside, one.measures[0].mechanism)
        return tuple(tuple(noisy[at : at + len(keys)]) for at in range(0, len(values) * len(keys), len(keys) or 1))
    rows = [held.get(cell, nothing) for cell in keys]
    return tuple(
        tuple(_add_noise([row[index] for row in rows], measure.mechanism)) for index, measure in enumerate(one.measures)
    )


def _chosen(exact: SealedSums, one: Pass, draw: Frequent, keys: tuple[Cell, ...]) -> tuple[tuple[Key, ...], ...]:
    """Return the values that are chosen in each group, rank by rank, from public ones or from those that are found."""
    public = one.scan.keys[-1].values
    options: dict[Cell, list[Key]] = {} if public is None else {cell: list(public) for cell in keys}
    for *cell, value in _discovered(exact, one, one.keys) if one.keys is not None else ():
        options.setdefault(tuple(cell), []).append(value)
    listed = [options.get(cell, []) for cell in keys]
    held, nothing = exact._groups, (0,)
    scores = [
        [held.get((*cell, value), nothing)[0] for value in values] for cell, values in zip(keys, listed, strict=True)
    ]
    drawn = draw.release(scores)
    return tuple(
        tuple(
            None if (index := won[rank]) is None else values[index] for won, values in zip(drawn, listed, strict=True)
        )
        for rank in range(draw.k)
    )


def _add_noise(integers: list[int], mechanism: Any) -> list[int]:
    import numpy as np

    if not integers:
        return []
    vector = np.empty(len(integers), dtype=object)
    vector[:] = integers
    noisy: list[int] = mechanism.release(vector).tolist()
    return noisy
