"""Attacks that show why: each against a careless program and against Privet. A lab for classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.accounting import best_accuracy
from privet.core.budget import Pure
from privet.core.errors import BudgetExceeded
from privet.core.given import optional_package
from privet.core.schema import ColumnFacts, Table, boolean, integer, number
from privet.core.unit import Rows
from privet.mechanisms import Gaussian, Laplace
from privet.session import Session

from .blackbox import Claimed, audit_bits
from .unsafe import coins, float_gaussian, float_laplace, float_sum, narrow_sum

if TYPE_CHECKING:
    from privet.core.event import Floats

__all__ = ["ATTACKS", "Outcome"]


# What an attack did: against a careless program, and against Privet.


@dataclass(frozen=True)
class Outcome:
    """One attack, told twice. `broke` says whether the careless program fell, `held` whether Privet stood."""

    name: str
    question: str
    careless: str
    ours: str
    broke: bool
    held: bool
    why: str
    """What the careless program got wrong, and what is done instead."""

    def __str__(self) -> str:
        lines = (
            f"{self.name}: {self.question}",
            f"  careless: {self.careless} ({'broken' if self.broke else 'not broken'})",
            f"  Privet:   {self.ours} ({'held' if self.held else 'BROKEN'})",
            f"  why:      {self.why}",
        )
        return "\n".join(lines)


# Two counts that differ in one person, and the same count asked again and again.


_PEOPLE = 200
_GAMES = 100


def differencing() -> Outcome:
    """Ask for all, and for all but one, about each of many people.

    Cites: [DR14, Sec. 1.1].
    """
    sick = coins(1, _PEOPLE)[0] > 0
    careless = ours = 0
    with _hospital(sick, _GAMES) as session:
        for person in range(_GAMES):
            exact = int(sick.sum()) - int(np.delete(sick, person).sum())
            careless += (exact == 1) == sick[person]
            others = f"SELECT COUNT(*) AS n FROM patients WHERE sick AND id <> {person}"
            every = f"SELECT COUNT(*) AS n FROM patients WHERE sick AND id > {-1 - person}"  # all, never asked before
            noisy = [session.ask(sql, epsilon=Fraction(1, 2))["n"].values[0] for sql in (every, others)]
            ours += (noisy[0] - noisy[1] > 0.5) == sick[person]
    most = best_accuracy(1)
    return Outcome(
        "differencing",
        "is one person ill, by the difference of two counts?",
        f"guessed right for {careless / _GAMES:.0%} of {_GAMES} people",
        f"guessed right for {ours / _GAMES:.0%}, where epsilon 1 allows {most:.0%} and a coin gives 50%",
        careless > 0.95 * _GAMES,
        ours / _GAMES <= most + 5 * 0.5 / _GAMES**0.5,
        "two exact answers subtract to one person's; both of Privet's are noisy, and both are charged",
    )


def averaging() -> Outcome:
    """Ask the same a thousand times, and average.

    Cites: [DR14, Sec. 1.1].
    """
    sick = coins(1, _PEOPLE)[0] > 0
    truth = int(sick.sum())
    careless = abs(float(np.mean(float_laplace(truth, 10_000, scale=10))) - truth)
    with _hospital(sick, 1) as session:
        answers = [
            session.ask(f"SELECT COUNT(*) AS n{i} FROM patients WHERE sick", epsilon=Fraction(1, 10)) for i in range(50)
        ]
        values = {answer.series[0].values[0] for answer in answers}
        fresh = 0
        try:
            for i in range(100):
                session.ask(f"SELECT COUNT(*) AS n FROM patients WHERE sick AND id > {-i}", epsilon=Fraction(1, 10))
                fresh += 1
        except BudgetExceeded:
            pass
    return Outcome(
        "averaging",
        "does the noise go away when the same is asked again and again?",
        f"10,000 answers with noise of scale 10 average to within {careless:.2f} of the truth",
        f"50 askings gave {len(values)} answer, paid for once; other words gave {fresh} more, until the budget was out",
        careless < 1,
        len(values) == 1 and fresh <= 9,
        "independent noise averages away; Privet gives the same answer again, and charges whatever it has not answered",
    )


@contextmanager
def _hospital(sick: np.ndarray, epsilon: int) -> Iterator[Session]:
    pyarrow = optional_package("pyarrow", "this attack needs")
    source = pyarrow.table({"id": np.arange(sick.size), "sick": sick})
    table = Table(source, unit=Rows(), columns={"id": integer(), "sick": boolean()})
    with Session({"patients": table}, budget=Pure(epsilon=Fraction(epsilon))) as session:
        yield session


# The last bits of a noisy double give the value away.


_LAPLACE = Laplace(sensitivity=1, epsilon=1)
_GAUSSIAN = Gaussian(sensitivity=1, sigma=1)


def laplace() -> Outcome:
    """Attack Laplace noise of epsilon 1.

    Cites: [Mir12].
    """
    return _outcome("low bits of Laplace noise", float_laplace, _LAPLACE, 1)


def gaussian() -> Outcome:
    """Attack Gaussian noise of sigma 1.

    Cites: [Mir12].
    """
    return _outcome("low bits of Gaussian noise", float_gaussian, _GAUSSIAN, _GAUSSIAN.event)


def _outcome(name: str, careless: Any, mechanism: Any, claimed: Claimed) -> Outcome:
    theirs = audit_bits(careless, claimed)
    ours = audit_bits(lambda value, count: mechanism.release(np.full(count, value)), claimed)
    return Outcome(
        name,
        "can the last bits of a noisy double tell two neighbouring values apart?",
        f"epsilon is at least {theirs.found:.2f}, where {theirs.epsilon:.2f} was claimed",
        f"nothing beyond the claim: at least {ours.found:.2f} of {ours.epsilon:.2f}",
        theirs.refuted,
        not ours.refuted,
        "doubles are not evenly spaced, so value plus noise can only end in bits that the value allows; Privet adds "
        "whole numbers of a grid",
    )


# Too many answers that are too accurate give the whole table away; and one mean of many bits tells who is in it.


_RESPONDENTS = 128
_QUESTIONS = 512
_BITS = 2_000
_MEMBERS = 100


def reconstruction() -> Outcome:
    """Guess everybody's bit from counts of random subsets.

    Cites: [DN03].
    """
    secret = coins(1, _RESPONDENTS)[0]
    subsets = coins(_QUESTIONS, _RESPONDENTS)
    truth = subsets @ secret
    careless = _recovered(subsets, np.floor(truth / 3 + 0.5) * 3, secret)
    # one budget of epsilon 1 for all the questions together
    noisy = Laplace(sensitivity=_QUESTIONS, epsilon=1).release(truth.astype(np.int64))
    ours = _recovered(subsets, np.asarray(noisy, dtype=np.float64), secret)
    return Outcome(
        "reconstruction",
        f"can {_QUESTIONS} counts of random subsets give the bits of {_RESPONDENTS} people?",
        f"rounded to multiples of 3, they give {careless:.0%} of the bits",
        f"under one budget of epsilon 1, {ours:.0%}, where a coin gives 50%",
        careless > 0.95,
        ours < 0.8,
        "enough answers that are accurate enough are equations to solve; a budget makes noise grow with their number",
    )


def membership() -> Outcome:
    """Tell who is in a study from the published mean of each of many bits.

    Cites: [HSR08].
    """
    inside, outside = coins(_MEMBERS, _BITS), coins(_MEMBERS, _BITS)
    exact = inside.mean(axis=0)
    noisy = Laplace(sensitivity=_BITS, epsilon=1).release(inside.sum(axis=0).astype(np.int64))
    careless = _told_apart(inside, outside, exact)
    ours = _told_apart(inside, outside, np.asarray(noisy, dtype=np.float64) / _MEMBERS)
    return Outcome(
        "membership",
        f"do the means of {_BITS:,} bits tell who of {2 * _MEMBERS} people is in the study?",
        f"exact means do, for {careless:.0%} of them",
        f"under a budget of epsilon 1, for {ours:.0%}, where a coin gives 50%",
        careless > 0.95,
        ours < 0.75,
        "a member pulls each of the means a little towards herself; noise for all of them together hides the pull",
    )


def _recovered(subsets: np.ndarray, answers: np.ndarray, secret: np.ndarray) -> float:
    guess = np.linalg.lstsq(subsets, answers, rcond=None)[0] > 0.5
    return float(np.mean(guess == (secret > 0.5)))


def _told_apart(inside: np.ndarray, outside: np.ndarray, means: np.ndarray) -> float:
    """Return how often a member lies closer to the means than the median of all who are asked about."""
    scores = [(people - 0.5) @ (means - 0.5) for people in (inside, outside)]
    middle = np.median(np.concatenate(scores))
    return float((np.mean(scores[0] > middle) + np.mean(scores[1] <= middle)) / 2)


# One row moves a sum by more than its bound, where the sum is rounded, or wraps around, on the way.


_PLENTY = Fraction(10**20)
"""An epsilon that leaves no noise to speak of, so that only the sum itself is looked at."""


def rounding() -> Outcome:
    """Drop one row of a sum of doubles.

    Cites: [CSVW22].
    """
    bound = 2.0**53
    # beside the large row each of the others is rounded up to 2; without it they are added as they are
    rows = np.array([bound] + [1.5] * 30_000)
    moved = abs(float_sum(rows) - float_sum(rows[1:]))
    why = "a large row makes every later addition round; Privet sums whole numbers of a grid, which do not round"
    return _moved_too_far("order of summation", "a sum of doubles", bound, moved, rows, number(0, 2**53, step=0.5), why)


def overflow() -> Outcome:
    """Drop one row of a sum in 32 bits.

    Cites: [CSVW22].
    """
    bound = 10.0**6
    rows = np.full(2**31 // 10**6 + 1, bound)
    moved = float(abs(narrow_sum(rows) - narrow_sum(rows[1:])))
    why = "the sum wraps around; Privet checks from declared bounds that it cannot, before a row is read"
    return _moved_too_far("overflow", "a sum in 32 bits", bound, moved, rows, integer(0, 10**6), why)


def _moved_too_far(
    name: str, what: str, bound: float, moved: float, rows: Floats, column: ColumnFacts, why: str
) -> Outcome:
    ours = abs(_summed(rows, column) - _summed(rows[1:], column))
    return Outcome(
        name,
        f"does one row, whose value is at most {bound:,.0f}, move {what} by more than that?",
        f"it moves by {moved:,.0f}, which is {moved - bound:,.0f} more, so noise for the bound is too small",
        f"it moves by {ours:,.0f}, within the bound",
        moved > bound,
        ours <= bound,
        why,
    )


def _summed(rows: Floats, column: ColumnFacts) -> float:
    pyarrow = optional_package("pyarrow", "this attack needs")
    table = Table(pyarrow.table({"x": rows}), unit=Rows(), columns={"x": column})
    with Session({"t": table}, budget=Pure(epsilon=2 * _PLENTY)) as session:
        return float(session.ask("SELECT SUM(x) AS total FROM t", epsilon=_PLENTY)["total"].values[0])


ATTACKS: Mapping[str, Callable[[], Outcome]] = {
    "low-bits-laplace": laplace,
    "low-bits-gaussian": gaussian,
    "summation": rounding,
    "overflow": overflow,
    "differencing": differencing,
    "averaging": averaging,
    "reconstruction": reconstruction,
    "membership": membership,
}
