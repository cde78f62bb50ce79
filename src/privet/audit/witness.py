"""Looks for the event that tells two neighbours apart best: on one half of the releases, for use on the other.

Every release becomes a score, and events are "the score is at least so much". A score is a number that was released,
or how much likelier an output, or its parts one by one, were seen under one neighbour than under the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .bounds import epsilon_low, rate_high, rate_low

if TYPE_CHECKING:
    from privet.core.pair import Floats

_LABELS = 4096
"""Outputs that differ in at most so many ways are told apart by name; more are put into bins."""
_BINS = 256
_THRESHOLDS = 1024
_COORDINATES = 16
"""Coordinates of a vector that are also looked at alone."""
_CAUTION = 0.1
_SMOOTH = 4.0
"""Sightings that every bin is given under both neighbours, so that a rare one does not look telling by luck."""

Outputs = Any
"""Many releases: an array with one release for each row, or a sequence of any values."""


@dataclass(frozen=True)
class Witness:
    """An event: the outputs whose score is at least a threshold, likelier under one neighbour than the other."""

    score: Callable[[Outputs], Floats]
    threshold: float
    flipped: bool
    """Whether it is likelier under the second neighbour."""
    epsilon: float
    delta: float
    """The point of the claim at which it was found to be the most telling."""
    words: str

    def hits(self, outputs: Outputs) -> int:
        """Return how many of the releases are in the event."""
        return int(np.count_nonzero(self.score(outputs) >= self.threshold))


def find_witness(
    one: Outputs, other: Outputs, claims: Sequence[tuple[float, float]], *, trials: int, alarm: float
) -> Witness:
    """Return the event, and the claimed (epsilon, delta), that these releases refute best or come closest to.

    `claims` are points that a claim makes, each of which must hold. What is returned is a guess, to be put to the
    test on so many `trials` with other releases of each.
    """
    best, found = -np.inf, None
    for flipped, (here, there) in enumerate(((one, other), (other, one))):
        # scores are learnt on one half and compared on the other, or those that learnt luck by heart would win
        half = len(here) // 2
        for score, words in _scores(here[:half], there[:half]):
            ours, theirs = score(here[half:]), score(there[half:])
            both = np.concatenate([ours, theirs])
            thresholds = np.unique(np.quantile(both, np.linspace(0, 1, _THRESHOLDS), method="higher"))
            # what the trials may be expected to show, with rates on the cautious side of those seen
            p = rate_low(_at_least(ours, thresholds), len(ours), _CAUTION)
            q = rate_high(_at_least(theirs, thresholds), len(theirs), _CAUTION)
            p_low, q_high = rate_low(p * trials, trials, alarm / 2), rate_high(q * trials, trials, alarm / 2)
            for epsilon, delta in claims:
                merit = epsilon_low(p_low, q_high, delta) / max(epsilon, 1e-9)
                index = int(np.argmax(merit))
                if merit[index] > best:
                    best, threshold = float(merit[index]), float(thresholds[index])
                    told = words if words.startswith("one of") else f"{words} at least {threshold:.6g}"
                    found = Witness(score, threshold, bool(flipped), epsilon, delta, told)
    if found is None:
        raise ValueError("there are no releases")
    return found


def _at_least(scores: Floats, thresholds: Floats) -> Floats:
    return np.asarray(scores.size - np.searchsorted(np.sort(scores), thresholds, side="left"))


def _scores(p: Outputs, q: Outputs) -> Iterator[tuple[Callable[[Outputs], Floats], str]]:
    """Yield scores that may tell the releases p from the releases q, and what they look at."""
    left, right = _numbers(p), _numbers(q)
    if left is None or right is None or left.shape[1:] != right.shape[1:]:
        yield _by_label(_texts, _texts(p), _texts(q)), "one of the texts that the first neighbour gives more often"
        return
    if left.ndim == 1:
        yield (lambda outputs: _known(outputs)), "the number is"
        yield (lambda outputs: -_known(outputs)), "minus the number is"
        yield _ratio(_known, left, right), "the log of how much likelier the number is here"
        return
    width = left.shape[1]
    parts = [_ratio(_coordinate(j), left[:, j], right[:, j]) for j in range(width)]
    for j in range(min(width, _COORDINATES)):
        yield parts[j], f"the log of how much likelier coordinate {j} is here"
    yield (lambda outputs: np.sum([part(outputs) for part in parts], axis=0)), "the sum of the coordinates' log ratios"
    if all(len(np.unique(each, axis=0)) <= _LABELS for each in (left, right)):
        yield _by_label(_texts, _texts(p), _texts(q)), "one of the rows that the first neighbour gives more often"


def prepared(outputs: Outputs) -> Outputs:
    """Return releases as an array of numbers where they all are, tables cell by cell; otherwise as they are."""
    if isinstance(outputs, np.ndarray):
        return outputs
    plain = [_cells(value) for value in outputs]
    found = _numbers(plain)
    return plain if found is None else found


def _cells(value: Any) -> Any:
    """Return a table as the list of its cells, column by column; anything else as it is."""
    table = value.to_dict() if hasattr(value, "to_dict") else value
    if not isinstance(table, Mapping):
        return value
    columns = [column if isinstance(column, (list, tuple)) else [column] for column in table.values()]
    return [cell for column in columns for cell in column]


def _numbers(outputs: Outputs) -> Floats | None:
    """Return releases as an array of numbers, one or several for each; None if that is not what they are."""
    try:
        array = np.asarray(outputs)
    except ValueError:
        return None
    if array.dtype.kind not in "fiub" or array.ndim == 0:
        return None
    return array.astype(np.float64) if array.ndim == 1 else array.reshape(len(array), -1).astype(np.float64)


def _known(outputs: Outputs) -> Floats:
    found = _numbers(outputs)
    if found is None:
        raise ValueError("releases must all be of one kind")
    return np.nan_to_num(found, nan=-1e300, posinf=1e301, neginf=-1e301)


def _coordinate(j: int) -> Callable[[Outputs], Floats]:
    return lambda outputs: np.asarray(_known(outputs)[:, j])


def _texts(outputs: Outputs) -> Any:
    return np.array([repr(value.tolist() if hasattr(value, "tolist") else value) for value in outputs])


def _ratio(read: Callable[[Outputs], Floats], p: Floats, q: Floats) -> Callable[[Outputs], Floats]:
    """Return the log ratio of how often a number, or its bin, was seen in p and in q."""
    p, q = (np.nan_to_num(each, nan=-1e300, posinf=1e301, neginf=-1e301) for each in (p, q))
    both = np.concatenate([p, q])
    values = np.unique(both)
    if values.size > _LABELS:
        values = np.unique(np.quantile(both, np.linspace(0, 1, _BINS + 1)[:-1], method="lower"))

    def place(numbers: Floats) -> Any:
        return np.clip(np.searchsorted(values, numbers, side="right") - 1, 0, values.size - 1)

    table = _table(place(p), place(q), values.size)
    return lambda outputs: table[place(read(outputs))]


def _by_label(read: Callable[[Outputs], Any], p: Any, q: Any) -> Callable[[Outputs], Floats]:
    """Return the log ratio of how often an output was seen in p and in q; 0 for one that was not seen."""
    names = np.unique(np.concatenate([p, q]))
    table = _table(np.searchsorted(names, p), np.searchsorted(names, q), names.size)

    def score(outputs: Outputs) -> Floats:
        texts = read(outputs)
        at = np.minimum(np.searchsorted(names, texts), names.size - 1)
        return np.where(names[at] == texts, table[at], 0.0)

    return score


def _table(p: Any, q: Any, size: int) -> Floats:
    seen = [np.bincount(each, minlength=size) + _SMOOTH for each in (p, q)]
    return np.asarray(np.log(seen[0] / seen[1]) - np.log(len(p) / len(q)))
