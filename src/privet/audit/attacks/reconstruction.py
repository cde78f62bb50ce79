"""Too many answers that are too accurate give the whole table away; and one mean of many bits tells who is in it.

Cites: [DN03], [HSR08].
"""

from __future__ import annotations

import numpy as np

from privet.audit.unsafe import coins
from privet.mechanisms import Laplace

from .outcome import Outcome

_PEOPLE = 128
_QUESTIONS = 512
_BITS = 2_000
_MEMBERS = 100


def reconstruction() -> Outcome:
    """Guess everybody's bit from counts of random subsets."""
    secret = coins(1, _PEOPLE)[0]
    subsets = coins(_QUESTIONS, _PEOPLE)
    truth = subsets @ secret
    careless = _recovered(subsets, np.floor(truth / 3 + 0.5) * 3, secret)
    # one budget of epsilon 1 for all the questions together
    noisy = Laplace(sensitivity=_QUESTIONS, epsilon=1).release(truth.astype(np.int64))
    ours = _recovered(subsets, np.asarray(noisy, dtype=np.float64), secret)
    return Outcome(
        "reconstruction",
        f"can {_QUESTIONS} counts of random subsets give the bits of {_PEOPLE} people?",
        f"rounded to multiples of 3, they give {careless:.0%} of the bits",
        f"under one budget of epsilon 1, {ours:.0%}, where a coin gives 50%",
        careless > 0.95,
        ours < 0.8,
        "enough answers that are accurate enough are equations to solve; a budget makes noise grow with their number",
    )


def membership() -> Outcome:
    """Tell who is in a study from the published mean of each of many bits."""
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
