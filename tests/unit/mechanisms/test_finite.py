"""Finite mechanisms: exact costs, exact draws, and the algebra of composition and post-processing."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.core.errors import RequestError
from privet.mechanisms import FiniteEvent, FiniteMechanism

F = Fraction
COIN = FiniteMechanism([[F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]])


@st.composite
def matrices(draw: st.DrawFn, rows: int = 3, columns: int = 3) -> FiniteMechanism:
    weights = draw(
        st.lists(st.lists(st.integers(1, 50), min_size=columns, max_size=columns), min_size=rows, max_size=rows)
    )
    return FiniteMechanism([[F(w, sum(row)) for w in row] for row in weights])


def brute_delta(mechanism: FiniteMechanism, epsilon: float) -> float:
    """Return the largest excess of any set of outputs over any ordered pair of neighbours."""
    worst = 0.0
    columns = len(mechanism.matrix[0])
    for i, j in mechanism.neighbors:
        for p, q in ((mechanism.matrix[i], mechanism.matrix[j]), (mechanism.matrix[j], mechanism.matrix[i])):
            for bits in range(2**columns):
                chosen = [c for c in range(columns) if bits >> c & 1]
                worst = max(
                    worst, float(sum(p[c] for c in chosen)) - math.exp(epsilon) * float(sum(q[c] for c in chosen))
                )
    return worst


@settings(deadline=None)
@given(matrices(), st.floats(0, 4))
def test_delta_is_the_largest_excess_over_all_sets(mechanism: FiniteMechanism, epsilon: float) -> None:
    assert mechanism.delta(epsilon) == pytest.approx(brute_delta(mechanism, epsilon), abs=1e-12)


@settings(deadline=None)
@given(matrices())
def test_epsilon_is_where_delta_vanishes(mechanism: FiniteMechanism) -> None:
    assert mechanism.delta(mechanism.epsilon) == 0
    assert mechanism.epsilon == pytest.approx(math.log(mechanism.ratio))
    assert Fraction(mechanism.epsilon) >= 0
    if mechanism.ratio > 1:
        assert mechanism.delta(mechanism.epsilon * (1 - 1e-9)) > 0
    assert mechanism.epsilon == pytest.approx(float(mechanism.event.pure()), rel=1e-12)


@settings(deadline=None)
@given(matrices(), matrices(rows=3, columns=2), st.floats(0, 2))
def test_post_processing_never_costs_more(mechanism: FiniteMechanism, post: FiniteMechanism, epsilon: float) -> None:
    after = mechanism.after(post.matrix)
    assert after.ratio <= mechanism.ratio
    assert after.delta(epsilon) <= mechanism.delta(epsilon) * (1 + 1e-12)


@settings(deadline=None)
@given(matrices(), matrices(columns=2))
def test_composing_multiplies_rows_and_costs_no_more_than_the_sum(one: FiniteMechanism, two: FiniteMechanism) -> None:
    both = one.compose(two)
    assert both.matrix[1][1 * 2 + 1] == one.matrix[1][1] * two.matrix[1][1]
    assert both.ratio <= one.ratio * two.ratio
    assert all(sum(row) == 1 for row in both.matrix)


def test_composing_with_itself_attains_the_sum() -> None:
    assert COIN.compose(COIN).ratio == 9


@settings(deadline=None, max_examples=30)
@given(matrices())
def test_the_event_agrees_with_the_matrix(mechanism: FiniteMechanism) -> None:
    at = np.array([0.0, 0.1, 0.5, 1.0, 2.0])
    curve = mechanism.event.pair().forward(at)
    assert curve == pytest.approx([mechanism.delta(e) for e in at.tolist()], rel=1e-9, abs=1e-12)
    assert (curve >= [mechanism.delta(e) for e in at.tolist()]).all()
    assert mechanism.event.rdp(2.0) <= float(mechanism.event.pure()) * (1 + 1e-12)
    assert max(mechanism.event.pair().reach()) >= mechanism.epsilon * (1 - 1e-12)


def test_neighbours_are_pairs_of_rows_in_any_order() -> None:
    matrix = [[F(1, 2), F(1, 2)], [F(1, 4), F(3, 4)], [F(1, 8), F(7, 8)]]
    path = FiniteMechanism(matrix, neighbors=[(1, 0), (1, 2)])
    assert path == FiniteMechanism(matrix, neighbors=[(2, 1), (0, 1), (0, 1)])
    assert hash(path) == hash(FiniteMechanism(matrix, neighbors=((0, 1), (1, 2))))
    assert path.ratio == 2
    assert FiniteMechanism(matrix).ratio == 4
    assert path.compose(FiniteMechanism(matrix, neighbors=[(0, 2)])).neighbors == ((0, 1), (0, 2), (1, 2))
    assert path.after([[1, 0], [0, 1]]) == path


def test_a_zero_beside_a_positive_probability_is_infinite() -> None:
    mechanism = FiniteMechanism([[1, 0], [F(1, 2), F(1, 2)]])
    assert mechanism.epsilon == mechanism.ratio == mechanism.event.pure() == math.inf
    assert mechanism.delta(1000) == 0.5
    assert FiniteMechanism([[1, 0], [1, 0]]).epsilon == 0


def test_one_input_has_nothing_to_hide() -> None:
    mechanism = FiniteMechanism([[F(1, 3), F(2, 3)]])
    assert mechanism.epsilon == 0
    assert mechanism.event == FiniteEvent(())
    assert mechanism.event.pair().forward(np.array([0.0]))[0] == 0
    assert mechanism.event.pair().reach() == (0.0, 0.0)


def test_delta_is_never_rounded_down() -> None:
    for epsilon in (0, 1e-300, 1e-20, 0.5, 1, 1.0986122886681096, 700, 701, 1e300):
        with mpmath.workdps(60):
            exact = max(0, 0.75 - mpmath.exp(mpmath.mpf(epsilon)) / 4) if epsilon < 1e3 else 0
            assert exact <= COIN.delta(epsilon) <= exact * (1 + 1e-15)
    assert COIN.delta(0) == 0.5


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]],
        np.array([[0.1, 0.9], [0.2, 0.8]]),
        np.array([[0.1, 0.9], [0.2, 0.8]], dtype=np.float32).astype(np.float64) / np.float64(1.0),
        [(Decimal("0.1"), Decimal("0.9")), (1, 0)],
        [[np.float64(0.1), 0.9], [F(1, 2), 0.5]],
        [[np.longdouble(0.5), np.longdouble(0.5)], [1, 0]],
    ],
    ids=repr,
)
def test_rows_sum_to_exactly_one_once_read(matrix: object) -> None:
    try:
        mechanism = FiniteMechanism(matrix)
    except RequestError:
        assert abs(float(np.asarray(matrix, dtype=float)[0].sum()) - 1) > 1e-9
        return
    assert all(sum(row) == 1 for row in mechanism.matrix)


@pytest.mark.parametrize(
    "matrix",
    [
        [],
        [[]],
        [[F(1, 2), F(1, 3)]],
        [[0.5, 0.5000001]],
        [[F(1, 2), F(1, 2) + F(1, 10**12)]],
        [[1.5, -0.5]],
        [[0.5, 0.5], [1.0]],
        [[True, False]],
        [["1", "0"]],
        [[float("nan"), 1.0]],
        [[0.5, None]],
        "ab",
        5,
        None,
        [5, 6],
        {0: [1]},
        [b"ab"],
        [[[0.5, 0.5]]],
        np.array([0.5, 0.5]),
        np.array(1.0),
    ],
    ids=repr,
)
def test_what_is_no_stochastic_matrix_is_refused(matrix: object) -> None:
    with pytest.raises(RequestError, match="matrix must be"):
        FiniteMechanism(matrix)


@pytest.mark.parametrize(
    "neighbors",
    [5, "01", [], [(0,)], [(0, 1, 0)], [(0, 2)], [(-1, 0)], [(0.0, 1)], [(True, 0)], [0, 1], ["01"]],
    ids=repr,
)
def test_what_are_no_neighbours_is_refused(neighbors: object) -> None:
    with pytest.raises(RequestError, match="neighbors must"):
        FiniteMechanism(COIN.matrix, neighbors=neighbors)  # type: ignore[arg-type]


@pytest.mark.parametrize("inputs", [2, -1, 0.0, True, "0", None, [0, 2], [0.5], [[0], [0, 1]], [True], 2**70], ids=repr)
def test_what_is_no_input_is_refused(inputs: object) -> None:
    with pytest.raises(RequestError, match="inputs must be") as caught:
        COIN.release(inputs)
    assert caught.value.__context__ is None


def test_outputs_have_the_shape_of_the_inputs() -> None:
    certain = FiniteMechanism([[0, 1, 0], [0, 0, 1]])
    assert certain.release(0) == 1
    assert type(certain.release(0)) is int
    assert certain.release([0, 1, 1]).tolist() == [1, 2, 2]
    assert certain.release(np.array([[0], [1]])).tolist() == [[1], [2]]
    assert certain.release(np.array([], dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("other", [None, 5, FiniteMechanism([[1]])])
def test_only_mechanisms_on_the_same_inputs_compose(other: object) -> None:
    with pytest.raises(RequestError, match="other must be"):
        COIN.compose(other)  # type: ignore[arg-type]


def test_post_processing_needs_a_row_for_each_output() -> None:
    with pytest.raises(RequestError, match="post must be"):
        COIN.after([[1]])
    with pytest.raises(RequestError, match="post must be"):
        COIN.after([[2, -1], [1, 0]])


def test_an_event_is_made_of_pairs() -> None:
    with pytest.raises(RequestError, match="pairs must be"):
        FiniteEvent([1])  # type: ignore[arg-type]
