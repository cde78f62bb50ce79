"""Deliberate changes of plans, each an edition of one kind of question: what it changed, and which answers it kept.

A digest says which edition of the planner made a plan, so that a change charges no question again that it does not
concern, and never takes an answer for one that would be released in another way now. What was released by an earlier
edition is still found where its plan was sound.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from privet.core.wire import canonical
from privet.mechanisms.rank_ladder import QuantileLadder

if TYPE_CHECKING:
    from .plan import Pass, Plan


@dataclass(frozen=True)
class Edition:
    """One change of how a kind of question is planned or carried out.

    Guarantee: where `sound` is False, because the change mended what was released before, nothing that was released
    for such a question by this edition's predecessor or by any before it is ever found by the plans of today.
    """

    kind: str
    """Which kind of question, by a name that never changes: it is hashed."""
    number: int
    """2 for the first change of a kind, and one more for each after it."""
    concerns: Callable[[tuple[Pass, ...]], bool]
    """Whether the passes of a plan, as they are from this edition on, are of that kind."""
    sound: bool
    """Whether answers that were released before may still be given, for nothing, to who paid for them."""
    earlier: Callable[[Plan], Plan | None]
    """What the planner made of the same question before: other passes, and readings where their places are others.

    None where that is not known, or where it did not answer such a question. Its cost is what was charged then.
    """
    asked: Callable[[Plan], bool] | None = None
    """Whether a plan is of that kind, where its passes do not tell: they are those of another question by now, whose
    digest is theirs. Such a change is not written into digests, which differ by their passes.
    """

    def of(self, plan: Plan) -> bool:
        """Whether the change concerns a plan."""
        return self.concerns(plan.passes) or (self.asked is not None and self.asked(plan))


def _beside(plan: Plan) -> bool:
    return plan.before is not None


def _before(plan: Plan) -> Plan | None:
    return plan.before


def _narrowed(plan: Plan) -> bool:
    return plan.wider is not None


def _wider(plan: Plan) -> Plan | None:
    return plan.wider


def _shares_counts(plan: Plan) -> bool:
    return plan.unshared is not None


def _unshared(plan: Plan) -> Plan | None:
    return plan.unshared


def _has_ladders(passes: tuple[Pass, ...]) -> bool:
    return any(isinstance(draw, QuantileLadder) for one in passes for draw in one.measure.draws)


def _without_ladders(plan: Plan) -> Plan | None:
    from .quantiles import without_ladders

    return without_ladders(plan)


def _shares_unequally(passes: tuple[Pass, ...]) -> bool:
    from .moments import MomentMeasure

    if not any(isinstance(one.measure, MomentMeasure) for one in passes):
        return False
    from .moment_plan import shared_unequally

    return any(map(shared_unequally, passes))


def _shared_equally(plan: Plan) -> Plan | None:
    from .moment_plan import with_equal_shares

    return with_equal_shares(plan)


EDITIONS: tuple[Edition, ...] = (
    # SUM, beside AVG of the same column, is read from the centred sum and the count; it was a third sum before
    Edition("sum beside mean", 2, lambda passes: False, sound=True, earlier=_before, asked=_beside),
    # intervals of quantiles had two ends that were chosen, and took a third of what a quantile costs
    Edition("quantile", 2, _has_ladders, sound=True, earlier=_without_ladders),
    # declared bounds are narrowed by the conditions of a question; values were clamped to the whole of them before
    Edition("bounds narrowed by conditions", 2, lambda passes: False, sound=True, earlier=_wider, asked=_narrowed),
    # X'X and X'y of a regression without intervals, under a norm, had half of the price each
    Edition("regression without squares", 2, _shares_unequally, sound=True, earlier=_shared_equally),
    # several SUMs with Gaussian noise are read from centred sums and a count that they share; each was a sum of its own
    Edition("sums beside a count", 2, lambda passes: False, sound=True, earlier=_unshared, asked=_shares_counts),
)
"""Every change since digests were frozen, oldest first. Entries are added at the end, and stay."""


class Made(NamedTuple):
    """A plan as some edition of the planner made it, and the digests under which its rounds are stored."""

    plan: Plan
    digests: tuple[str, ...]


def digest_of(passes: tuple[Pass, ...], editions: int | None = None) -> str:
    """Return the fingerprint of what is released, by the planner of today or of the time of a number of editions.

    The first edition of every kind is not written: a question that no change concerned has the digest it always had.
    """
    numbers = {one.kind: one.number for one in EDITIONS[:editions] if one.concerns(passes)}
    text = canonical(["editions", numbers, passes]) if numbers else canonical(passes)
    return hashlib.sha256(text.encode()).hexdigest()


def any_edition() -> bool:
    """Whether there was a change at all."""
    return bool(EDITIONS)


def before() -> Iterator[int]:
    """Yield how many editions there were before each of them, from the last one to the first."""
    return reversed(range(len(EDITIONS)))


def as_of(plan: Plan, editions: int) -> Plan | None:
    """Return a plan as it was made at the time of a number of editions, or None where that is unsound or unknown."""
    found: Plan | None = plan
    for edition in reversed(EDITIONS[editions:]):
        if found is not None and edition.of(found):
            found = edition.earlier(found) if edition.sound else None
    return found


def editions_of(plan: Plan) -> tuple[Made, ...]:
    """Return a plan of one grouping, and then how earlier editions made it, the latest first, where that is sound."""
    found = {_digests(plan, len(EDITIONS)): plan}
    for editions in before():
        made = as_of(plan, editions)
        if made is plan and not any(one.concerns(plan.passes) for one in EDITIONS[editions:]):
            continue  # the same passes under the same digest
        if made is not None and reaches(made):
            found.setdefault(_digests(made, editions), made)
    return tuple(Made(made, digests) for digests, made in found.items())


def reaches(plan: Plan) -> bool:
    """Whether a plan is as narrow as its question asks for; how narrow rounds are is seen when they are read."""
    if plan.target is None or plan.rounds > 1:
        return True
    from .target import excess, has_price

    return has_price(plan, plan.target) and excess(plan, plan.target) <= 1


def _digests(plan: Plan, editions: int) -> tuple[str, ...]:
    if plan.rounds == 1:
        return (plan.digest if editions == len(EDITIONS) else digest_of(plan.passes, editions),)
    return tuple(digest_of(plan.round(index).passes, editions) for index in range(plan.rounds))
