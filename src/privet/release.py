"""The one door: opens exact sums, adds the planned noise, and lets out nothing else.

No other module reads what an engine sealed. Noise is drawn only against a receipt for this very plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from .core.errors import InvariantError
from .core.receipt import Receipt
from .core.scan import Exact, Scan
from .core.schema import Key

if TYPE_CHECKING:
    from .planner.plan import KeyRelease, Pass, Plan

Cell = tuple[Key, ...]


@dataclass(frozen=True)
class Released:
    """What was released: the groups, and for each pass and measure one noisy integer per group."""

    keys: tuple[Cell, ...]
    sums: tuple[tuple[tuple[int, ...], ...], ...]


def release(exacts: Sequence[Exact], plan: Plan, receipt: Receipt) -> Released:
    """Return the sums of a plan with its noise added, for the public groups or those that pass the threshold.

    Guarantee: the event of the plan, which `receipt` shows was charged. Every noisy number comes from the
    mechanism that states its own event; what a group that is not released would have got is never computed into
    anything that leaves.
    """
    if receipt.digest != plan.digest:
        raise InvariantError("the receipt is for another plan")
    if len(exacts) != len(plan.passes):
        raise InvariantError("an engine did not answer every scan of the plan")
    keys = _keys(exacts, plan)
    sums = tuple(_noisy(exact, one, keys) for exact, one in zip(exacts, plan.passes, strict=True))
    return Released(keys, sums)


def _keys(exacts: Sequence[Exact], plan: Plan) -> tuple[Cell, ...]:
    for exact, one in zip(exacts, plan.passes, strict=True):
        if one.keys is not None:
            return _discovered(exact, one.keys)
    return public_cells(plan.passes[0].scan)


def public_cells(scan: Scan) -> tuple[Cell, ...]:
    """Return every combination of a scan's public keys: one, empty, for a scan without keys."""
    return tuple(product(*(key.values or () for key in scan.keys)))


def _discovered(exact: Exact, rule: KeyRelease) -> tuple[Cell, ...]:
    held = exact._groups
    weights = _add_noise([sums[-1] for sums in held.values()], rule.mechanism)
    shown = [cell for cell, weight in zip(held, weights, strict=True) if weight > rule.threshold]
    return tuple(sorted(shown, key=repr))


def _noisy(exact: Exact, one: Pass, keys: tuple[Cell, ...]) -> tuple[tuple[int, ...], ...]:
    held = exact._groups
    nothing = (0,) * (len(one.measures) + 1)
    rows = [held.get(cell, nothing) for cell in keys]
    return tuple(
        tuple(_add_noise([row[index] for row in rows], measure.mechanism)) for index, measure in enumerate(one.measures)
    )


def _add_noise(integers: list[int], mechanism: Any) -> list[int]:
    import numpy as np

    if not integers:
        return []
    vector = np.empty(len(integers), dtype=object)
    vector[:] = integers
    return [int(noisy) for noisy in mechanism.release(vector)]
