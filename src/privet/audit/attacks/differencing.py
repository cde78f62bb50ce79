"""Two counts that differ in one person, and the same count asked again and again.

Cites: [DR14, Sec. 1.1].
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

from privet.accounting import best_accuracy
from privet.audit.unsafe import coins, float_laplace
from privet.core.budget import Pure
from privet.core.errors import BudgetExceeded
from privet.core.schema import Table, boolean, integer
from privet.core.unit import Rows
from privet.session import Session

from .outcome import Outcome

_PEOPLE = 200
_GAMES = 100


def differencing() -> Outcome:
    """Ask for all, and for all but one, about each of many people."""
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
    """Ask the same a thousand times, and average."""
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
    import pyarrow

    source = pyarrow.table({"id": np.arange(sick.size), "sick": sick})
    table = Table(source, unit=Rows(), columns={"id": integer(), "sick": boolean()})
    with Session({"patients": table}, budget=Pure(epsilon=Fraction(epsilon))) as session:
        yield session
