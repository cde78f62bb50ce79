"""Careless programs and mechanisms that claim more than they keep: attacks that show why, and audits that catch them.

Each attack is against a careless program and against Privet: a lab for classes. Broken mechanisms are here to be
refuted: nothing else in the package uses them, and an audit that lets one of them stand is no use.
"""

from __future__ import annotations

import math
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

from .blackbox import Claimed, audit, audit_bits
from .report import Report
from .unsafe import careless_sparse, coins, float_gaussian, float_laplace, float_sum, laplace_many, narrow_sum

if TYPE_CHECKING:
    from privet.core.event import Floats

__all__ = ["ATTACKS", "BROKEN", "Broken", "Outcome"]


# What an attack did: against a careless program, and against Privet.


@dataclass(frozen=True)
class Outcome:
    """One attack on both. `broke` is whether the careless program fell, `held` whether Privet stood."""

    name: str
    question: str
    careless: str
    ours: str
    broke: bool
    held: bool
    why: str
    """The mistake of the careless program, and the remedy."""

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
        f"guessed right for {ours / _GAMES:.0%}, where epsilon 1 allows {most:.0%} and a coin is right in 50%",
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
        f"50 askings returned {len(values)} answer, paid for once; other conditions returned {fresh} more, until the "
        f"budget was used up",
        careless < 1,
        len(values) == 1 and fresh <= 9,
        "independent noise averages away; Privet returns the same answer again, and charges for every other question",
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


# Too many answers that are too accurate give the whole table away; and one mean of many bits shows who is in it.


_RESPONDENTS = 128
_QUESTIONS = 512
_BITS = 2_000
_MEMBERS = 100


def reconstruction() -> Outcome:
    """Guess everyone's bit from counts of random subsets.

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
        f"can {_QUESTIONS} counts of random subsets reveal the bits of {_RESPONDENTS} people?",
        f"rounded to multiples of 3, they reveal {careless:.0%} of the bits",
        f"under one budget of epsilon 1, {ours:.0%}, where a coin is right in 50%",
        careless > 0.95,
        ours < 0.8,
        "enough answers that are accurate enough are equations to solve; a budget makes noise grow with their number",
    )


def membership() -> Outcome:
    """Find out who is in a study from the published mean of each of many bits.

    Cites: [HSR08].
    """
    inside, outside = coins(_MEMBERS, _BITS), coins(_MEMBERS, _BITS)
    exact = inside.mean(axis=0)
    noisy = Laplace(sensitivity=_BITS, epsilon=1).release(inside.sum(axis=0).astype(np.int64))
    careless = _told_apart(inside, outside, exact)
    ours = _told_apart(inside, outside, np.asarray(noisy, dtype=np.float64) / _MEMBERS)
    return Outcome(
        "membership",
        f"do the means of {_BITS:,} bits identify which of {2 * _MEMBERS} people are in the study?",
        f"exact means do, for {careless:.0%} of them",
        f"under a budget of epsilon 1, for {ours:.0%}, where a coin is right in 50%",
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


@dataclass(frozen=True)
class Broken:
    """A mechanism that claims more privacy than it provides: its fault, and how it is caught."""

    name: str
    wrong: str
    run: Callable[[], Report]

    def to_dict(self) -> dict[str, object]:
        """Return what an audit found, as plain data."""
        report = self.run()
        return {
            "name": self.name,
            "wrong": self.wrong,
            "epsilon": report.epsilon,
            "delta": report.delta,
            "found": report.found,
            "caught": report.refuted,
        }


def _sparse(
    queries: tuple[list[int], list[int]],
    *,
    threshold_scale: float,
    query_scale: float,
    limit: int | None = None,
    shows_value: bool = False,
) -> Callable[[], Report]:
    """Return the audit of a variant of the sparse vector that claims epsilon = 1."""

    def draw(value: Any, count: int) -> Any:
        return careless_sparse(
            np.array(value, dtype=np.float64),
            count,
            threshold_scale=threshold_scale,
            query_scale=query_scale,
            limit=limit,
            shows_value=shows_value,
        )

    def look(value: Any, count: int) -> Any:
        rows = draw(value, count)
        if not shows_value:
            return np.nan_to_num(rows, nan=-1.0)
        # whether all but the last came out below, and about which value the last one shows
        quiet = (rows[:, :-1] == 0).all(axis=1) & (rows[:, -1] != 0)
        return np.where(quiet, np.floor(rows[:, -1]), 1000.0)

    return lambda: audit(look, queries, 1, 800_000 if shows_value else 200_000, batched=True)


def _vector(neighbours: tuple[Any, Any], *, scale: float) -> Callable[[], Report]:
    """Return the audit of Laplace noise of a scale on several numbers, for a claim of epsilon = 1."""
    return lambda: audit(
        lambda value, count: laplace_many(np.array(value), count, scale=scale), neighbours, 1, 100_000, batched=True
    )


def _classical(epsilon: float, delta: float) -> Callable[[], Report]:
    """Return the audit of the classical Gaussian formula, sigma = sqrt(2 ln(1.25 / delta)) / epsilon."""
    sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return lambda: audit(
        lambda value, count: float_gaussian(value, count, sigma=sigma),
        (0.0, 1.0),
        (epsilon, delta),
        4_000_000,
        batched=True,
    )


_LONG, _SHORT = 12, 8

BROKEN: tuple[Broken, ...] = (
    Broken(
        "Sparse vector that shows the noisy value",
        "the noise that decided the comparison is the noise of the answer: what is shown bounds the threshold's noise",
        _sparse(([0] * _SHORT + [1], [1] * _SHORT + [0]), threshold_scale=2, query_scale=2, limit=1, shows_value=True),
    ),
    Broken(
        "Sparse vector whose query noise ignores the limit",
        "a quarter of epsilon for the threshold and the rest for each query, however many may cross",
        _sparse(
            ([0] * _LONG, [1] * (_LONG // 2) + [-1] * (_LONG // 2)), threshold_scale=4, query_scale=4 / 3, limit=_LONG
        ),
    ),
    Broken(
        "Sparse vector without noise on the queries",
        "one noisy threshold and exact queries: two queries that swap places are told apart with certainty",
        _sparse(([0, 1], [1, 0]), threshold_scale=2, query_scale=0),
    ),
    Broken(
        "Sparse vector that never stops",
        "half of epsilon for the threshold and for every query, without a limit on how many may cross",
        _sparse(([0] * 2 * _LONG, [1] * _LONG + [-1] * _LONG), threshold_scale=2, query_scale=2),
    ),
    Broken(
        "Histogram under change-one with noise for one cell",
        "a person who changes leaves one cell and enters another: the sensitivity is 2",
        _vector(([1.0, 0.0], [0.0, 1.0]), scale=1),
    ),
    Broken(
        "Budget counted once for three answers",
        "each answer has noise for all of epsilon, and the ledger was charged for the first",
        _vector(([0.0] * 3, [1.0] * 3), scale=1),
    ),
    Broken(
        "Classical Gaussian beyond its range",
        "sigma = sqrt(2 ln(1.25 / delta)) / epsilon is proven for epsilon below 1, and false for large ones",
        _classical(8, 0.1),
    ),
    Broken(
        "Laplace noise in floating point",
        "the last bits of the sum tell which value the noise was added to",
        lambda: audit_bits(float_laplace, 1),
    ),
    Broken(
        "Gaussian noise in floating point",
        "the last bits of the sum tell which value the noise was added to",
        lambda: audit_bits(lambda value, count: float_gaussian(value, count, sigma=3.73), (1, 1e-5)),
    ),
)
"""Variants of [LSL17, Alg. 3 to 6], and what went wrong elsewhere."""
