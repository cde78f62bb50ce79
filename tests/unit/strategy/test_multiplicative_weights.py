"""Multiplicative weights: exact scores, what rounds cost, what is fitted, and what is refused."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from privet import strategy
from privet.core.errors import RequestError
from privet.strategy.exact_answers import exact_answers, exact_table, query_row, reach_of

SIGNED = strategy.matrix([[1, -2, 0], [0, 1, 1]])
WORKLOADS: list[strategy.Workload] = [
    strategy.all_ranges(5),
    strategy.windows(6, 2),
    SIGNED,
    strategy.all_marginals((3, 2, 2), ways=2, below=True),
    strategy.product(SIGNED, strategy.prefixes(4)),
    strategy.product(strategy.prefixes(3), strategy.union([strategy.total(2), strategy.identity(2)])),
    strategy.union([strategy.product(strategy.prefixes(3), strategy.total(4)), strategy.all_marginals((3, 4), ways=2)]),
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=repr)
@pytest.mark.parametrize("bits", [5, 61, 90])
def test_answers_are_exact_for_integers_of_any_size(workload: strategy.Workload, bits: int) -> None:
    generator = np.random.default_rng(bits)
    counts = [int.from_bytes(generator.bytes(20)) % 2**bits for _ in range(workload.cells)]
    counts[0] = 2**bits + 1
    rows = workload.rows().astype(int).tolist()
    expected = [sum(a * x for a, x in zip(row, counts, strict=True)) for row in rows]
    assert [int(one) for one in exact_answers(workload, exact_table(counts, workload.shape))] == expected
    for place, row in enumerate(rows):
        assert query_row(workload, place).tolist() == row


@pytest.mark.parametrize("workload", WORKLOADS, ids=repr)
def test_no_row_moves_a_score_by_more_than_is_claimed(workload: strategy.Workload) -> None:
    rows = workload.rows()
    assert reach_of(workload, signed_pairs=False) == np.abs(rows).max()
    pairs = max(np.abs(rows).max(), np.abs(rows[:, :, None] - rows[:, None, :]).max())
    claimed = reach_of(workload, signed_pairs=True)
    assert pairs <= claimed <= 2 * np.abs(rows).max()
    if not isinstance(workload, strategy.ProductWorkload):
        assert pairs == claimed


@pytest.mark.parametrize("workload", WORKLOADS, ids=repr)
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_the_event_is_epsilon_and_scores_count_in_both_directions(workload: Any, neighbors: Any) -> None:
    one = strategy.MultiplicativeWeights(
        workload, epsilon=Fraction(7, 10), neighbors=neighbors, rounds=4, contribution=3
    )
    assert one.event.pure() == Fraction(7, 10)
    each, reach = Fraction(63, 800), 3 * reach_of(workload, signed_pairs=neighbors == "change-one")
    assert one.chooser.rate == each / (2 * reach * 1024)
    assert not one.chooser.monotone
    assert one.counter.scale == reach / each
    assert one.totaller is not None
    assert one.totaller.scale == 3 / Fraction(7, 100)
    known = strategy.MultiplicativeWeights(workload, epsilon=1, neighbors="change-one", total=9, rounds=4)
    assert known.event.pure() == 1
    assert known.totaller is None


def test_scores_are_distances_from_the_rounded_model_in_exact_steps() -> None:
    """Neighbours differ in every score by at most 2**10 times the reach, also where doubles cannot tell them apart."""
    one = strategy.MultiplicativeWeights(strategy.prefixes(4), epsilon=1, neighbors="change-one", total=10)
    large = 2**70
    before = one._scores([large, 3, 0, 1], [10, 1, 5])
    after = one._scores([large, 2, 1, 1], [10, 1, 5])
    assert [abs(a - b) for a, b in zip(before, after, strict=True)] == [0, 1024, 0, 0]
    model = np.rint(one._model([10, 1, 5]) * 1024).astype(int).tolist()
    assert before[0] == (large << 10) - model[0]


def chances(queries: list[list[int]], counts: list[int], model: list[float], each: Fraction) -> list[Decimal]:
    """Return the law of a choice from the definition: scores are rationals, and only e^x is not."""
    grid = [Fraction(round(Fraction(cell) * 1024), 1024) for cell in model]
    scores = [abs(sum(a * (x - m) for a, x, m in zip(row, counts, grid, strict=True))) for row in queries]
    reach = max(abs(a - b) for row in queries for a in (*row, 0) for b in row)
    exponents = [each * score / (2 * reach) for score in scores]
    with localcontext(prec=60):
        weights = [(Decimal(one.numerator) / Decimal(one.denominator)).exp() for one in exponents]
        return [one / sum(weights) for one in weights]


QUERIES = [[1, 0, 0], [1, 1, 0], [1, 1, 1], [-1, 0, 2], [0, 1, 0]]
TABLES = [list(one) for one in product(range(4), repeat=3) if sum(one) == 3]


@pytest.mark.parametrize("history", [[3], [3, 3, 5], [3, 1, -2, 0, 4]], ids=["first", "second", "third"])
def test_the_law_of_a_choice_is_that_of_exact_scores_and_neighbours_differ_by_no_more_than_it_costs(
    history: list[int],
) -> None:
    """All tables of three rows and three cells, in each round: rationals, and a race that is drawn from them."""
    made = strategy.MultiplicativeWeights(
        strategy.matrix(QUERIES), epsilon=Fraction(9, 2), neighbors="change-one", total=3, rounds=3
    )
    each, model, draws = Fraction(3, 4), made._model(history).tolist(), 4_000
    laws = {tuple(counts): chances(QUERIES, counts, model, each) for counts in TABLES}
    for counts in TABLES:
        exact = laws[tuple(counts)]
        np.testing.assert_allclose(
            made.chooser.probabilities(made._scores(counts, history)), [float(one) for one in exact], rtol=1e-9
        )
    drawn = np.bincount(made.chooser.simulate(made._scores([3, 0, 0], history), draws), minlength=len(QUERIES))
    for seen, chance in zip(drawn.tolist(), laws[3, 0, 0], strict=True):
        # 15 comparisons in all, each with a false alarm below 1e-7
        assert abs(seen - draws * float(chance)) <= 5.4 * math.sqrt(draws * float(chance * (1 - chance))) + 1
    largest = Decimal(0)
    for one, other in product(TABLES, repeat=2):
        if sum(map(abs, (a - b for a, b in zip(one, other, strict=True)))) == 2:  # one row is in another cell
            largest = max(largest, *(a / b for a, b in zip(laws[tuple(one)], laws[tuple(other)], strict=True)))
    assert Decimal("0.2") < largest.ln() <= Decimal("0.75")


def test_the_model_fits_what_was_measured() -> None:
    counts = [30, 0, 0, 10, 0, 0, 40, 20]
    one = strategy.MultiplicativeWeights(
        strategy.all_ranges(8), epsilon=10**6, neighbors="change-one", total=100, rounds=12, replays=60
    )
    found = one.release(counts)
    np.testing.assert_allclose(found.answers(strategy.all_ranges(8)), strategy.all_ranges(8).answers(counts), atol=1)
    assert str(found) == "8 cells by multiplicative weights in 12 rounds; error bars are not known"
    transcript = one.simulate(counts, 2)
    assert transcript.shape == (2, 25)
    exact = strategy.all_ranges(8).answers(counts)
    for row in transcript.tolist():
        assert row[0] == 100
        np.testing.assert_allclose([exact[place] for place in row[1::2]], row[2::2], atol=1)


def test_the_worst_query_is_measured_first() -> None:
    one = strategy.MultiplicativeWeights(
        strategy.identity(5), epsilon=10**6, neighbors="change-one", total=50, rounds=1
    )
    assert one.simulate([8, 2, 30, 5, 5], 3)[:, 1].tolist() == [2, 2, 2]


def test_a_total_is_measured_where_it_is_private() -> None:
    one = strategy.MultiplicativeWeights(strategy.identity(2), epsilon=10**6, neighbors="add-remove", rounds=1)
    assert one.simulate([60, 40], 1)[0, 0] == 100
    assert one.release([60, 40]).cells.sum() == pytest.approx(100)
    assert one.release([0, 0]).cells.sum() == pytest.approx(1)  # a model has at least one row


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: strategy.MultiplicativeWeights(strategy.total(2), epsilon=1, neighbors="add-remove", total=5),
            "no known total",
        ),
        (
            lambda: strategy.MultiplicativeWeights(strategy.matrix([[0.5]]), epsilon=1, neighbors="add-remove"),
            "whole numbers",
        ),
        (
            lambda: strategy.MultiplicativeWeights(strategy.matrix([[0, 0]]), epsilon=1, neighbors="add-remove"),
            "not 0 everywhere",
        ),
        (
            lambda: strategy.MultiplicativeWeights(strategy.total(2), epsilon=1, neighbors="add-remove", rounds=0),
            "rounds",
        ),
        (
            lambda: strategy.MultiplicativeWeights(strategy.total(2), epsilon=1, neighbors="add-remove").release([1]),
            "2 cells",
        ),
        (lambda: strategy.MultiplicativeWeights("ranges", epsilon=1, neighbors="add-remove"), "workload"),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_refused_with_what_to_do(make: Any, says: str) -> None:
    with pytest.raises(RequestError, match=says):
        make()
