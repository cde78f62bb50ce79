"""Carries out a plan of rounds: one after the other, each charged before it reads, until the answer is narrow enough.

What was released decides whether to go on, and nothing else does. Sees no data.
"""

from __future__ import annotations

from dataclasses import replace

from privet.answer import Answer
from privet.core.errors import BudgetError, BudgetExceeded, RequestError
from privet.core.event import Composed, Receipt
from privet.core.numbers import Number, float_down, open_probability
from privet.planner.editions import Made, any_edition, editions_of
from privet.planner.explain import coverage_notes
from privet.planner.plan import Plan, Target
from privet.planner.target import Accuracy, achieved, limited
from privet.release import Released
from privet.results.read import legend_in, outside_notes, read_answer

from .executor import Executor

_ENDED = "stopped early, because another query used the remaining budget"


def run_rounds(executor: Executor, plan: Plan, *, confidence: Number | None, key: str | None) -> Answer:
    """Return the answer to a plan of rounds: what is stored is free, and further rounds are carried out as needed.

    Guarantee: of privacy: each round is charged in full before it reads, so the account's filter covers however
    many there are and whatever decided it; and that is decided by released values, which are post-processing. Of
    intervals: the one that is shown is one of k that could have been shown, each of which misses what it covers
    with probability at most alpha / k, whatever the others do. So with T the round at which it stops, P[the
    interval of round T misses] <= sum over j of P[the interval of round j misses] <= alpha.
    Cites: [DR14, Thm 3.16], [RRUV16].
    """
    target = _target(plan, confidence)
    earlier = _earlier_rounds(executor, plan, target, key)
    if earlier is not None:
        return earlier
    held: list[tuple[Receipt, Released]] = []
    ended, admitted = "", False
    for index in range(plan.rounds):
        one = plan.round(index)
        own_key = None if key is None else f"{key}, round {index + 1}"
        found = executor.stored(one, key=own_key)
        if found is None:
            with executor.turn(one.digest):
                found = executor.stored(one, key=own_key)  # another thread may have released it meanwhile
                if found is None and not admitted:
                    _admit(executor, plan, index)
                    admitted = True
                executor.pace.report(f"round {index + 1} of at most {plan.rounds}")
                try:
                    found = found or executor.release(one, own_key)
                except BudgetError:
                    if not held:
                        raise
                    ended = _ENDED
        if found is None:
            break
        held.append((found.receipt, found.released))
        answer = _read(held, plan, target)
        if answer.accuracy is not None and answer.accuracy.reached:
            return answer
    return _read(held, plan, target, ended)


def _earlier_rounds(executor: Executor, plan: Plan, target: Target, key: str | None) -> Answer | None:
    """Return the answer that an earlier edition of the planner finished; its rounds are never mixed with others.

    Rounds of this edition come first, and what an earlier one left unfinished is not continued.
    """
    if not any_edition():
        return None
    now, *earlier = editions_of(plan)
    if not earlier or _finished(executor, now, target) is not None:
        return None
    for made in earlier:
        answer = _finished(executor, made, target)
        if answer is not None and answer.accuracy is not None:
            for index, _ in enumerate(answer.accuracy.receipts if key is not None else ()):
                executor.charge(made.plan.round(index), made.digests[index], f"{key}, round {index + 1}")
            return answer
    return None


def _finished(executor: Executor, made: Made, target: Target) -> Answer | None:
    """Return the answer of rounds that are all stored, up to the one that was narrow enough, or the last."""
    held: list[tuple[Receipt, Released]] = []
    for index, digest in enumerate(made.digests):
        found = executor.stored(made.plan.round(index), digest)
        if found is None:
            return None
        held.append((found.receipt, found.released))
        answer = _read(held, made.plan, target)
        if len(held) == len(made.digests) or (answer.accuracy is not None and answer.accuracy.reached):
            return answer
    return None


def _admit(executor: Executor, plan: Plan, index: int) -> None:
    """Raise unless all rounds from one on fit into the budget, but for those that were paid for before.

    A round that was charged and never stored, as where the process ended in between, is not charged again.
    """
    waiting = [plan.round(later) for later in range(index, plan.rounds)]
    waiting = [one for one in waiting if executor.stored(one) is None]
    if _fits(executor, waiting):
        return
    paid = {entry.digest for entry in executor.ledger.history() if entry.account == executor.account}
    if _fits(executor, [one for one in waiting if one.digest not in paid]) or not _fits(executor, waiting[:1]):
        return  # where not even one fits, its own charge is refused, and says why
    name = "rho" if plan.spend.epsilon is None else "epsilon"
    left = executor.remaining([plan])
    raise BudgetExceeded(
        measure=name,
        requested=plan.price[name],
        remaining=left.largest_epsilon if name == "epsilon" else float_down(left.amount),
        largest_epsilon=left.largest_epsilon,
        countable=False,
    )


def _fits(executor: Executor, plans: list[Plan]) -> bool:
    event = Composed(tuple(event for plan in plans for event in plan.event.events))
    return executor.admits(event, plans)


def _target(plan: Plan, confidence: Number | None) -> Target:
    if plan.target is None:
        raise RequestError(
            "these are rounds that were carried out, and have no width to reach: plan the question again"
        )
    if confidence is not None and open_probability(confidence, "confidence") != plan.target.confidence:
        raise RequestError(
            f"this plan is for a confidence of {float(plan.target.confidence):g}, by which its rounds stop; plan the "
            f"question again for another"
        )
    return plan.target


def _read(held: list[tuple[Receipt, Released]], plan: Plan, target: Target, ended: str = "") -> Answer:
    """Return what the rounds so far say together, with how narrow it is."""
    each = float(1 - (1 - target.confidence) / plan.rounds)
    done = plan.first_rounds(len(held))
    every = Released(held[0][1].keys, tuple(sums for _, released in held for sums in released.sums))
    answer = read_answer(every, done, held[-1][0], confidence=each)
    columns = tuple(
        achieved(name, limit, answer[name].values, answer[name].low or (), answer[name].high or ())
        for name, limit in limited(plan, target).items()
    )
    accuracy = Accuracy(columns, tuple(receipt for receipt, _ in held), plan.rounds, ended)
    level = float(target.confidence)
    covers, *others = legend_in(coverage_notes(done, level), answer.series)
    notes = (accuracy.note(), f"{covers} {_HOWEVER}", *others, *outside_notes(answer.series))
    return replace(answer, confidence=level, notes=notes, accuracy=accuracy)


_HOWEVER = "This remains true where released values decided how many rounds there were."
