"""Questions that are charged in several parts, each before it reads: rounds until it is narrow enough, and steps.

In rounds, released values alone decide whether to continue. In steps, values are released first, and
stand in the question as constants. Reads no data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from privet.answer import Answer
from privet.core.errors import BudgetError, BudgetExceeded, InvariantError, RequestError
from privet.core.event import Composed, Receipt
from privet.core.numbers import Number, float_down, in_full, open_probability
from privet.display import cost_words
from privet.planner.accuracy import Accuracy, achieved, limited
from privet.planner.explain import coverage_notes
from privet.planner.plan import Made, Plan, Target, any_edition, editions_of
from privet.planner.rounds import InSteps
from privet.release import Released
from privet.results.read import legend_in, outside_notes, read_answer

from .executor import Executor

_ENDED = "stopped early, because another query used the remaining budget"


def run_rounds(executor: Executor, plan: Plan, *, confidence: Number | None, key: str | None) -> Answer:
    """Return the answer to a plan of rounds: stored rounds are free, and further rounds are carried out as needed.

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
        part = plan.round(index)
        own_key = None if key is None else f"{key}, round {index + 1}"
        kept = executor.stored(part, key=own_key)
        if kept is None:
            with executor.turn(part.digest):
                kept = executor.stored(part, key=own_key)  # another thread may have released it meanwhile
                if kept is None and not admitted:
                    _admit(executor, plan, index)
                    admitted = True
                executor.pace.report(f"round {index + 1} of at most {plan.rounds}")
                try:
                    kept = kept or executor.release(part, own_key)
                except BudgetError:
                    if not held:
                        raise
                    ended = _ENDED
        if kept is None:
            break
        held.append((kept.receipt, kept.released))
        answer = _read(held, plan, target)
        if answer.accuracy is not None and answer.accuracy.reached:
            return answer
    return _read(held, plan, target, ended)


def _earlier_rounds(executor: Executor, plan: Plan, target: Target, key: str | None) -> Answer | None:
    """Return the answer that an earlier edition of the planner finished; its rounds are never mixed with others.

    Rounds of this edition come first, and unfinished ones of an earlier edition are not continued.
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
        kept = executor.stored(made.plan.round(index), digest)
        if kept is None:
            return None
        held.append((kept.receipt, kept.released))
        answer = _read(held, made.plan, target)
        if len(held) == len(made.digests) or (answer.accuracy is not None and answer.accuracy.reached):
            return answer
    return None


def _admit(executor: Executor, plan: Plan, index: int) -> None:
    """Raise unless all rounds from one on fit into the budget, but for those that were paid for before.

    A round that was charged and never stored, as where the process ended in between, is not charged again.
    """
    waiting = [plan.round(later) for later in range(index, plan.rounds)]
    waiting = [part for part in waiting if executor.stored(part) is None]
    if _fits(executor, waiting):
        return
    paid = {entry.digest for entry in executor.ledger.history() if entry.account == executor.account}
    if _fits(executor, [part for part in waiting if part.digest not in paid]) or not _fits(executor, waiting[:1]):
        return  # where not even one fits, its own charge is refused, with the reason
    raise _exceeded(executor, plan, [plan])


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
    """Return the combined answer of the rounds so far, with its width."""
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


Run = Callable[..., Answer]
"""Carries out the plan of one step: `run(plan, key=...)`."""


def run_steps(executor: Executor, plan: InSteps, run: Run, *, key: str | None) -> Answer:
    """Return the answer to a question in steps: each is found in the ledger, or charged, read and drawn separately.

    Guarantee: each step is a plan that is verified and charged like any other, and sees of those before it what they
    released. Nothing is charged unless all steps fit into what is left, as far as can be told before the first.
    """
    if type(plan) is not InSteps or plan.following is None:
        raise InvariantError("a question in steps is planned by a session")
    _admit_steps(executor, plan)
    values: tuple[Any, ...] = ()
    done: list[Answer] = []
    while True:
        step, last = plan.following(values)
        number = len(done) + 1
        answer = run(step, key=None if key is None else key if last else f"{key}, step {number}")
        done.append(answer)
        if last:
            return replace(answer, notes=(*answer.notes, _told(plan, done)))
        values = (*values, answer.series[0].values[0])


def _told(plan: InSteps, done: list[Answer]) -> str:
    """Return the first releases, and the cost of all."""
    *firsts, last = done
    first = ", ".join(
        f"{step.series[0].name} = {_shown(step.series[0].values[0])} ({_cost(step.plan)}, entry {step.receipt.entry})"
        for step in firsts
    )
    return (
        f"Asked in {len(done)} steps: {first} came first and stood in the question as a constant, and the question "
        f"itself cost {_cost(last.plan)}; {cost_words(plan.price) or 'nothing'} in all. Intervals do not cover the "
        f"noise of what came first."
    )


def _cost(plan: Plan) -> str:
    return cost_words(plan.price) or "nothing"


def _shown(value: Any) -> str:
    return in_full(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _admit_steps(executor: Executor, plan: InSteps) -> None:
    """Raise unless all steps fit into the budget; where the first was paid for before, each charge decides alone.

    A first step that was charged and never stored, as where a server has admitted the question and reads it now, or
    where the process ended in between, is not charged again.
    """
    if executor.find(plan.steps[0]) is not None or executor.admits(plan.event, plan.steps):
        return
    first = plan.steps[0].digest
    if any(entry.digest == first and entry.account == executor.account for entry in executor.ledger.history()):
        return
    if not executor.admits(plan.steps[0].event, plan.steps[:1]):
        return  # where not even one fits, its own charge is refused, with the reason
    raise _exceeded(executor, plan, plan.steps)


def _exceeded(executor: Executor, plan: Plan | InSteps, plans: Sequence[Plan]) -> BudgetExceeded:
    """Return the refusal of a question whose parts do not all fit, with the budget that is left for these plans."""
    name = "rho" if plan.spend.epsilon is None else "epsilon"
    left = executor.remaining(plans)
    return BudgetExceeded(
        measure=name,
        requested=plan.price[name],
        remaining=left.largest_epsilon if name == "epsilon" else float_down(left.amount),
        largest_epsilon=left.largest_epsilon,
        countable=False,
    )
