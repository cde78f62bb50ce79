"""A model of all cells, bettered where it errs most: MWEM, multiplicative weights by the exponential mechanism.

For few rows and many queries, and for comparison: what it estimates beside the queries that it measured has no error
bars.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, RequestError
from privet.core.event import Composed, Event, Repeated
from privet.core.given import set_fields
from privet.core.numbers import Number, float_up, positive, whole
from privet.core.unit import Neighbors, read_neighbors
from privet.mechanisms.laplace import Laplace
from privet.mechanisms.mechanism import Mechanism, read_times
from privet.mechanisms.selection import Exponential

from .estimated import EstimatedCells
from .exact_answers import exact_answers, exact_table, query_row, reach_of
from .given_numbers import read_integers
from .strategies import read_workload
from .workloads import Floats, Workload, check_held

_BITS = 10
"""Binary digits below one row to which the model is rounded before it is compared with the data."""

_TOTAL = Fraction(1, 10)
_MOST_ROUNDS = 1000
_LEAST = 1e-12


@dataclass(frozen=True, init=False, repr=False)
class MultiplicativeWeights(Mechanism):
    """Estimate all cells in rounds: choose a query that the model answers worst, measure it, and fit the model to it.

    Each round costs as much for the choice as for the measurement. After each, the model is fitted to all
    measurements so far, `replays` times in turn. Estimates have no error bars.

    Args:
        workload: the queries that are to be answered; ranges, marginals, products of these, or rows of whole numbers.
        epsilon: the privacy loss of one release, above 0.
        neighbors: "add-remove" or "change-one".
        rounds: how many queries are chosen and measured.
        contribution: the most rows of one unit, over all cells.
        total: the number of rows, where it is public; otherwise a tenth of epsilon measures it.
        replays: how often the model is fitted to all measurements after each round.

    Raises:
        RequestError: if the total is given where it is private, or a query's coefficients are not whole numbers.

    Example:
        >>> model = strategy.MultiplicativeWeights(strategy.prefixes(16), epsilon=1, neighbors="add-remove", rounds=3)
        >>> model.epsilon
        1.0
        >>> model.release([50] + [0] * 15).answers(strategy.prefixes(16)).size
        16

    Guarantee: epsilon-DP, as the composition of its rounds. The score of a query is the distance of its answers on the
    data and on the model, which is public and rounded to a grid: an exact integer, which moves by the query's largest
    coefficient with each row. Scores may move in both directions.
    Cites: [HLM12, MWEM], [MT07, Thm 6].
    """

    workload: Workload
    neighbors: Neighbors
    rounds: int
    contribution: int
    replays: int
    total: int | None
    chooser: Exponential
    counter: Laplace
    totaller: Laplace | None

    def __init__(
        self,
        workload: Workload,
        *,
        epsilon: Number,
        neighbors: Neighbors,
        rounds: int = 10,
        contribution: int = 1,
        total: int | None = None,
        replays: int = 30,
    ) -> None:
        read_workload(workload)
        check_held(workload.cells)
        check_held(workload.queries, "the list of queries")
        relation, budget = read_neighbors(neighbors), positive(epsilon, "epsilon")
        many = whole(rounds, "rounds", least=1, most=_MOST_ROUNDS)
        rows = whole(contribution, "contribution", least=1, most=2**40)
        if total is not None and relation == "add-remove":
            raise RequestError(
                "under add-remove neighbours the number of rows is private, so there is no known total; leave it out, "
                "and a part of epsilon measures it"
            )
        known = None if total is None else whole(total, "total", least=1, most=2**60)
        reach = rows * reach_of(workload, signed_pairs=relation == "change-one")
        if not reach:
            raise BadParameter("workload", workload, "queries of which one is not 0 everywhere")
        paid = 0 if known is not None else _TOTAL * budget
        each = (budget - paid) / (2 * many)
        set_fields(
            self,
            workload=workload,
            neighbors=relation,
            rounds=many,
            contribution=rows,
            replays=whole(replays, "replays", least=1, most=10**4),
            total=known,
            chooser=Exponential(sensitivity=reach << _BITS, epsilon=each),
            counter=Laplace(sensitivity=reach, epsilon=each, grid="whole"),
            totaller=None if known is not None else Laplace(sensitivity=rows, epsilon=paid, grid="whole"),
        )

    @cached_property
    def event(self) -> Composed:
        """The event of one release: every choice, every measurement, and the total where it is measured."""
        events: list[Event] = [Repeated(self.chooser.event, self.rounds), Repeated(self.counter.event, self.rounds)]
        if self.totaller is not None:
            events.append(self.totaller.event)
        return Composed(tuple(events))

    def release(self, value: Any) -> EstimatedCells:
        """Return estimates of all cells from exact counts, which are whole numbers of at least 0.

        Args:
            value: the private count of each cell.
        """
        (history,) = self.simulate(value, 1)
        cells = self._model([int(number) for number in history])
        return EstimatedCells(cells, self.workload.shape, f"by multiplicative weights in {self.rounds} rounds")

    def simulate(self, value: Any, times: int) -> NDArray[Any]:
        """Return what this many releases are made from: each costs the event once more.

        Each is a row: the total, and for each round the place of the query that was chosen and its noisy answer.
        """
        counts = read_integers(value, "value", self.workload.cells, least=0)
        many = read_times(times)
        check_held(many * (2 * self.rounds + 1), "the array of releases")
        if self.totaller is None:
            totals = [self.total] * many
        else:
            totals = [int(total) for total in self.totaller.simulate(sum(counts), many)]
        histories: NDArray[Any] = np.array([[total] for total in totals], dtype=object).reshape(many, 1)
        exact = exact_answers(self.workload, exact_table(counts, self.workload.shape))
        for _ in range(self.rounds):
            added: NDArray[Any] = np.zeros((many, 2), dtype=object)
            for history, places in _alike(histories).items():
                chosen = self.chooser.simulate(self._scores(counts, list(history)), len(places))
                for query in sorted(set(chosen.tolist())):
                    some = places[chosen == query]
                    added[some, 0] = query
                    added[some, 1] = self.counter.simulate(int(exact[query]), len(some)).tolist()
            histories = np.concatenate([histories, added], axis=1)
        return histories

    def _scores(self, counts: list[int], history: list[int]) -> list[int]:
        """Return how far the model is off for each query, in exact steps of the grid that it is rounded to."""
        model = np.rint(np.ldexp(self._model(history), _BITS))
        gaps = [(count << _BITS) - int(estimate) for count, estimate in zip(counts, model.tolist(), strict=True)]
        answers = exact_answers(self.workload, exact_table(gaps, self.workload.shape))
        return [abs(int(answer)) for answer in answers.tolist()]

    def _model(self, history: list[int]) -> Floats:
        """Return the model that follows from a total, and from queries and their noisy answers: all of it released."""
        total = max(history[0], 1)
        cells = self.workload.cells
        model = np.full(cells, total / cells)
        measured = [
            (query_row(self.workload, place), answer)
            for place, answer in zip(history[1::2], history[2::2], strict=True)
        ]
        for rounds in range(1, len(measured) + 1):
            for _ in range(self.replays):
                for query, answer in measured[:rounds]:
                    size = np.abs(query).max() * 2 * total
                    step = (answer - float(query @ model)) / size
                    model = model * np.exp(np.clip(query * step, -50.0, 50.0))
                    model = np.maximum(model * (total / max(float(model.sum()), 1e-300)), _LEAST / cells)
        return model

    def __repr__(self) -> str:
        epsilon = float_up(self.event.pure())
        return (
            f"MultiplicativeWeights({self.workload!r}, epsilon={epsilon:.6g}, {self.neighbors}, rounds={self.rounds})"
        )


def _alike(rows: NDArray[Any]) -> dict[tuple[int, ...], NDArray[np.int64]]:
    """Return the places of equal rows."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, row in enumerate(rows.tolist()):
        groups.setdefault(tuple(int(entry) for entry in row), []).append(place)
    return {row: np.array(places, dtype=np.int64) for row, places in groups.items()}
