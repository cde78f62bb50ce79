"""Two worked selections: the price of an auction, and the threshold of a decision stump.

Scores are exact rationals: a float price is the rational that it is, so one person never moves a score by more than the
sensitivity that is stated.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.core.errors import BadParameter, BadValue
from privet.core.given import listed, unwrapped
from privet.core.numbers import Number, rational
from privet.core.unit import Neighbors, read_neighbors

from .lattice import Numbers, read_numbers
from .selection import Exponential, NoisyMax, PermuteAndFlip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Chooser = type[Exponential] | type[PermuteAndFlip] | type[NoisyMax]


def revenues(bids: Any, prices: Iterable[Any]) -> list[Fraction]:
    """Return the revenue of each price: the price, times how many bids reach it. As private as the bids.

    Args:
        bids: what each bidder would pay, private.
        prices: the public prices to choose from.

    Example:
        >>> mechanisms.revenues([1, 2, 3], [1, 2])
        [Fraction(3, 1), Fraction(4, 1)]
    """
    exact = sorted(_column(bids, "bids").tolist())
    return [price * (len(exact) - bisect_left(exact, price)) for price in _options(prices, "prices", least=Fraction(0))]


def best_price(
    bids: Any, prices: Iterable[Any], epsilon: Number, *, neighbors: Neighbors = "change-one", by: Chooser = Exponential
) -> Any:
    """Return a price chosen for its revenue, with unlimited supply: each bidder at or above it pays it.

    One bidder moves the revenue of a price by that price at most, so the sensitivity is the largest price. Under
    add-remove neighbours a bidder who comes raises all revenues, and the same epsilon buys twice the accuracy.

    Args:
        bids: what each bidder would pay, private.
        prices: the public prices to choose from.
        epsilon: the privacy loss of one release, above 0.
        neighbors: "add-remove" or "change-one".
        by: the mechanism that chooses.

    Example:
        >>> mechanisms.best_price([1, 2, 3], [1, 2], 1) in (1, 2)
        True

    Guarantee: epsilon-DP towards each bidder; under `"change-one"`, the default, it holds for both relations.
    Cites: [MT07, Thm 6], [DR14, Sec. 3.4].
    """
    monotone = read_neighbors(neighbors) == "add-remove"
    given = _listed(prices, "prices")
    most = max(_options(given, "prices", least=Fraction(0)))
    chooser = _chooser(by)(sensitivity=most, epsilon=epsilon, monotone=monotone)
    return given[chooser.release(_objects(revenues(bids, given)))]


def correct_counts(values: Any, labels: Any, thresholds: Iterable[Any]) -> list[int]:
    """Return for each threshold how many labels the rule "value >= threshold" gets right. As private as the data.

    Args:
        values: private numbers, one for each row.
        labels: True or False for each row, private.
        thresholds: the public thresholds to choose from.

    Example:
        >>> mechanisms.correct_counts([1, 2, 3], [False, True, True], [1, 2])
        [2, 3]
    """
    rows = _column(values, "values").tolist()
    truths = _labels(labels, len(rows))
    return [
        sum((value >= threshold) == truth for value, truth in zip(rows, truths, strict=True))
        for threshold in _options(thresholds, "thresholds")
    ]


def best_threshold(
    values: Any,
    labels: Any,
    thresholds: Iterable[Any],
    epsilon: Number,
    *,
    neighbors: Neighbors = "change-one",
    by: Chooser = Exponential,
) -> Any:
    """Return a threshold for a decision stump, chosen for how many labels "value >= threshold" gets right.

    The score is a count and not a share: one person moves it by 1 under both relations, whatever the number of rows.

    Args:
        values: private numbers, one for each row.
        labels: True or False for each row, private.
        thresholds: the public thresholds to choose from.
        epsilon: the privacy loss of one release, above 0.
        neighbors: "add-remove" or "change-one".
        by: the mechanism that chooses.

    Example:
        >>> mechanisms.best_threshold([1, 2, 3], [False, True, True], [1, 2], 1) in (1, 2)
        True

    Guarantee: epsilon-DP towards each row; under `"change-one"`, the default, it holds for both relations.
    Cites: [MT07, Thm 6].
    """
    monotone = read_neighbors(neighbors) == "add-remove"
    given = _listed(thresholds, "thresholds")
    chooser = _chooser(by)(sensitivity=1, epsilon=epsilon, monotone=monotone)
    return given[chooser.release(correct_counts(values, labels, given))]


def _chooser(by: Chooser) -> Chooser:
    for kind in (Exponential, PermuteAndFlip, NoisyMax):
        if by is kind:
            return kind
    raise BadParameter("by", by, "Exponential, PermuteAndFlip or NoisyMax, the class itself")


def _listed(options: Iterable[Any], name: str) -> list[Any]:
    given = listed(options, name, "a list of numbers")
    if not given:
        raise BadParameter(name, given, "a list with at least one number")
    return given


def _options(options: Iterable[Any], name: str, *, least: Fraction | None = None) -> list[Fraction]:
    exact = [rational(option, f"each of the {name}") for option in _listed(options, name)]
    if least is not None and (min(exact) < least or max(exact) <= 0):
        raise BadParameter(name, float(min(exact)), "at least 0, and not all 0")
    return exact


def _column(values: Any, name: str) -> NDArray[Any]:
    numbers: Numbers = read_numbers(values, name, wide=True)
    if numbers.shape is None or len(numbers.shape) != 1:
        raise BadValue(name, "something else", "a list or one-dimensional array of finite numbers")
    column: NDArray[Any] = numbers.values
    return column


def _labels(labels: Any, rows: int) -> list[bool]:
    given = unwrapped(labels)
    if not isinstance(given, (list, tuple)) or not all(label in (0, 1) for label in map(_plain, given)):
        raise BadValue("labels", "something else", "a list of True and False, or of 1 and 0")
    if len(given) != rows:
        raise BadValue("labels", "another number of them", "as many as there are values")
    return [bool(label) for label in given]


def _plain(label: object) -> object:
    return label if isinstance(label, (bool, int, float)) else None


def _objects(scores: list[Fraction]) -> NDArray[np.object_]:
    import numpy as np

    array = np.empty(len(scores), dtype=object)
    array[:] = scores
    return array
