"""One suite that every mechanism must pass. A new mechanism joins by one line in `MECHANISMS` and one in `CASES`."""

from __future__ import annotations

import inspect
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet.core.errors import PrivetError
from privet.core.event import Composed, Event, Repeated
from privet.core.numbers import float_up
from privet.ledger.codec import read_event, write_event
from privet.mechanisms import (
    MECHANISMS,
    AboveThreshold,
    Average,
    Exponential,
    FiniteMechanism,
    Gaussian,
    GaussianThreshold,
    Laplace,
    LaplaceTail,
    LaplaceThreshold,
    Local,
    Mechanism,
    NoisyMax,
    NumericSparse,
    OptimalKeys,
    PermuteAndFlip,
    PowerTail,
    ProposeTestRelease,
    Quantile,
    Quantiles,
    RandomizedResponse,
    RecursiveQuantiles,
    SampleAggregate,
    SmoothQuantile,
    SmoothSensitivity,
    Sparse,
    TopK,
    TopKWithGaps,
    Tulap,
)
from privet.testing import check_mechanism

SECRET = 123456789.125


@dataclass(frozen=True)
class Case:
    """A mechanism as its users make it, a second that differs, inputs it takes and inputs it must refuse."""

    make: Callable[[], Mechanism]
    other: Callable[[], Mechanism]
    takes: tuple[Any, ...]
    refuses: tuple[Any, ...]
    selects: bool = False
    """Whether what comes back is a choice among the inputs, and not of their shape."""


NUMBERS = (7, 7.25, np.array([1, 2, 3]), np.array([[0.5], [1.5]]), [1, 2], Fraction(1, 3), np.float32(2.5), 10**30)
NOT_NUMBERS = ("secret-77", None, True, [SECRET, "secret-77"], math.nan, [math.inf], np.array([True]), 1j, {SECRET})
SCORES = ([1, 2, 3], np.array([1.5, 2.5]), [Fraction(1, 3), 2], (1, 2), [10**30, 1])
NOT_SCORES = (*NOT_NUMBERS, [], SECRET, [[1, 2]])
QUERIES = ([1, 2, 30], [0.5], np.array([1.5, 20.5]), [Fraction(1, 3), 20], (1, 2), [], np.arange(20))
NOT_QUERIES = (*NOT_NUMBERS, SECRET, [[1, 2]])
PEOPLE = (7, 0, [1, 20, 300], np.array([[5], [6]]), {"flu": 12, "angina": 3}, {}, 10**30)
NOT_PEOPLE = (*NOT_NUMBERS, SECRET, -1, [3, -4], {"flu": SECRET}, {"flu": -1})
LISTS = ([1, 2, 3], [], [0.5], np.array([1.5, 2.5]), [Fraction(1, 3), 2], (1, 2), np.array([2, 9], dtype=np.int8))
NOT_LISTS = (*NOT_NUMBERS, SECRET, [[1, 2]], [1.0, math.nan], np.array(["secret-77"]))
COUNTS = (7, 0, -3, np.int8(3), 10**30)
NOT_COUNTS = (*NOT_NUMBERS, SECRET, 7.0, [1, 2], np.array([4]))
MEDIAN = Quantile(q=0.5, low=0, high=10, epsilon=1, neighbors="change-one")
CASES: dict[str, Case] = {
    "Laplace by epsilon": Case(
        lambda: Laplace(sensitivity=1, epsilon=1), lambda: Laplace(sensitivity=1, epsilon=2), NUMBERS, NOT_NUMBERS
    ),
    "Laplace by scale": Case(
        lambda: Laplace(sensitivity=0.5, scale=3), lambda: Laplace(sensitivity=0.5, scale=4), NUMBERS, NOT_NUMBERS
    ),
    "Gaussian by epsilon": Case(
        lambda: Gaussian(sensitivity=1, epsilon=1, delta=1e-6),
        lambda: Gaussian(sensitivity=1, epsilon=1, delta=1e-7),
        NUMBERS,
        NOT_NUMBERS,
    ),
    "Gaussian by rho": Case(
        lambda: Gaussian(sensitivity=2, rho=0.5), lambda: Gaussian(sensitivity=2, rho=0.25), NUMBERS, NOT_NUMBERS
    ),
    "Gaussian on the whole grid": Case(
        lambda: Gaussian(sensitivity=2, sigma=3, delta=1e-5, grid="whole"),
        lambda: Gaussian(sensitivity=2, sigma=3, delta=1e-5),
        (7, np.int8(3), np.array([4]), 10**30),
        (*NOT_NUMBERS, SECRET, [1, 2]),
    ),
    "Gaussian, classical": Case(
        lambda: Gaussian.classical(sensitivity=1, epsilon=0.5, delta=1e-5),
        lambda: Gaussian(sensitivity=1, epsilon=0.5, delta=1e-5),
        NUMBERS,
        NOT_NUMBERS,
    ),
    "Exponential": Case(
        lambda: Exponential(sensitivity=1, epsilon=1),
        lambda: Exponential(sensitivity=1, epsilon=1, monotone=True),
        ([1, 2, 3], [0.5], np.array([1.5, 2.5]), [Fraction(1, 3), 2], (1, 2)),
        (*NOT_NUMBERS, [], SECRET, [[1, 2]]),
        selects=True,
    ),
    "PermuteAndFlip": Case(
        lambda: PermuteAndFlip(sensitivity=1, epsilon=1),
        lambda: PermuteAndFlip(sensitivity=1, epsilon=1, monotone=True),
        SCORES,
        NOT_SCORES,
        selects=True,
    ),
    "NoisyMax": Case(
        lambda: NoisyMax(sensitivity=1, epsilon=1),
        lambda: NoisyMax(sensitivity=1, epsilon=1, law="laplace"),
        SCORES,
        NOT_SCORES,
        selects=True,
    ),
    "NoisyMax by Gumbel noise": Case(
        lambda: NoisyMax(sensitivity=1, rate=1, law="gumbel"),
        lambda: NoisyMax(sensitivity=1, rate=1),
        SCORES,
        NOT_SCORES,
        selects=True,
    ),
    "TopK": Case(
        lambda: TopK(k=2, sensitivity=1, epsilon=1),
        lambda: TopK(k=3, sensitivity=1, epsilon=1),
        SCORES,
        (*NOT_SCORES, [SECRET]),
        selects=True,
    ),
    "TopKWithGaps": Case(
        lambda: TopKWithGaps(k=1, sensitivity=1, epsilon=1),
        lambda: TopKWithGaps(k=1, sensitivity=1, epsilon=1, monotone=True),
        SCORES,
        (*NOT_SCORES, [SECRET]),
        selects=True,
    ),
    "AboveThreshold": Case(
        lambda: AboveThreshold(threshold=10, sensitivity=1, epsilon=1),
        lambda: AboveThreshold(threshold=10, sensitivity=1, epsilon=1, monotone=True),
        QUERIES,
        NOT_QUERIES,
        selects=True,
    ),
    "AboveThreshold of the lecture": Case(
        lambda: AboveThreshold.lecture(threshold=10, sensitivity=1, epsilon=1),
        lambda: AboveThreshold(threshold=10, sensitivity=1, epsilon=1),
        QUERIES,
        NOT_QUERIES,
        selects=True,
    ),
    "Sparse": Case(
        lambda: Sparse(threshold=10, limit=3, sensitivity=0.5, epsilon=1),
        lambda: Sparse(threshold=10, limit=4, sensitivity=0.5, epsilon=1),
        QUERIES,
        NOT_QUERIES,
        selects=True,
    ),
    "Sparse of the lecture": Case(
        lambda: Sparse.lecture(threshold=10, limit=3, sensitivity=1, epsilon=1, delta=1e-6),
        lambda: Sparse.lecture(threshold=10, limit=3, sensitivity=1, epsilon=1),
        QUERIES,
        NOT_QUERIES,
        selects=True,
    ),
    "NumericSparse": Case(
        lambda: NumericSparse(threshold=10, limit=3, sensitivity=1, epsilon=1),
        lambda: NumericSparse(threshold=10, limit=3, sensitivity=1, epsilon=1, measuring=0.25),
        QUERIES,
        NOT_QUERIES,
        selects=True,
    ),
    "RandomizedResponse": Case(
        lambda: RandomizedResponse(p=0.75),
        lambda: RandomizedResponse(p=0.8),
        (0, 1, True, [0, 1, 1], np.array([[0], [1]])),
        ("secret-77", None, SECRET, [SECRET], [0, "secret-77"], 1j, {SECRET}, [[0], [1, 0]]),
    ),
    "RandomizedResponse with labels": Case(
        lambda: RandomizedResponse(epsilon=1, categories=["red", "green", "blue"]),
        lambda: RandomizedResponse(epsilon=1, categories=["red", "blue", "green"]),
        ("red", ["red", "blue"], np.array(["green"])),
        ("secret-77", None, SECRET, ["red", "secret-77"], {SECRET}, [["red"]]),
    ),
    "RandomizedResponse, two coins": Case(
        lambda: RandomizedResponse.two_coins(yes=Fraction(1, 5)),
        lambda: RandomizedResponse.two_coins(),
        (0, [1, 0]),
        ("secret-77", SECRET),
    ),
    "FiniteMechanism": Case(
        lambda: FiniteMechanism([[0.5, 0.5], [0.25, 0.75]]),
        lambda: FiniteMechanism([[0.5, 0.5], [0.125, 0.875]]),
        (0, [0, 1], np.array([[1], [0]])),
        (*NOT_NUMBERS, SECRET, 2, [0, 2]),
    ),
    "Tulap": Case(lambda: Tulap(epsilon=1), lambda: Tulap(epsilon=2), COUNTS, NOT_COUNTS),
    "Tulap, truncated": Case(
        lambda: Tulap(epsilon=1, delta=1e-6), lambda: Tulap(epsilon=1, delta=1e-7), COUNTS, NOT_COUNTS
    ),
    "OptimalKeys": Case(
        lambda: OptimalKeys(epsilon=1, delta=1e-6),
        lambda: OptimalKeys(epsilon=1, delta=1e-6, neighbors="change-one"),
        PEOPLE,
        NOT_PEOPLE,
    ),
    "OptimalKeys, several": Case(
        lambda: OptimalKeys(epsilon=1, delta=1e-6, keys=3),
        lambda: OptimalKeys(epsilon=1, delta=1e-6, keys=3, group=2),
        PEOPLE,
        NOT_PEOPLE,
    ),
    "LaplaceThreshold": Case(
        lambda: LaplaceThreshold(epsilon=1, delta=1e-6),
        lambda: LaplaceThreshold(epsilon=1, delta=1e-6, keys=2),
        PEOPLE,
        NOT_PEOPLE,
    ),
    "GaussianThreshold": Case(
        lambda: GaussianThreshold(epsilon=1, delta=1e-6),
        lambda: GaussianThreshold(epsilon=1, delta=1e-6, group=2),
        PEOPLE,
        NOT_PEOPLE,
    ),
    "Quantile": Case(
        lambda: Quantile(q=0.5, low=0, high=10, epsilon=1),
        lambda: Quantile(q=0.5, low=0, high=10, epsilon=1, neighbors="change-one"),
        LISTS,
        NOT_LISTS,
        selects=True,
    ),
    "Quantiles": Case(
        lambda: Quantiles(quantiles=[0.25, 0.5, 0.75], low=0, high=10, epsilon=1),
        lambda: Quantiles(quantiles=[0.25, 0.5, 0.75], low=0, high=10, epsilon=1, neighbors="change-one"),
        LISTS,
        NOT_LISTS,
        selects=True,
    ),
    "RecursiveQuantiles": Case(
        lambda: RecursiveQuantiles(quantiles=[0.25, 0.5, 0.75], low=0, high=10, epsilon=1),
        lambda: RecursiveQuantiles(quantiles=[0.25, 0.5], low=0, high=10, epsilon=1),
        LISTS,
        NOT_LISTS,
        selects=True,
    ),
    "SmoothSensitivity": Case(
        lambda: SmoothSensitivity(low=0, high=10, epsilon=1),
        lambda: SmoothSensitivity(low=0, high=10, epsilon=1, noise=PowerTail(4)),
        (Local(5, [1, 2, 3]), Local(2.5, []), Local(Fraction(1, 3), np.array([0.5]))),
        (*NOT_NUMBERS, SECRET, Local(SECRET, "secret-77"), Local("secret-77", [1]), Local(1, [SECRET, 1])),
        selects=True,
    ),
    "SmoothQuantile": Case(
        lambda: SmoothQuantile(q=0.5, low=0, high=10, epsilon=1),
        lambda: SmoothQuantile(q=0.5, low=0, high=10, epsilon=1, noise=LaplaceTail(Fraction(1, 10**6))),
        tuple(value for value in LISTS if len(value)),
        (*NOT_LISTS, []),
        selects=True,
    ),
    "Average": Case(
        lambda: Average(low=0, high=10, epsilon=1),
        lambda: Average(low=0, high=10, epsilon=1, neighbors="change-one"),
        LISTS,
        NOT_LISTS,
        selects=True,
    ),
    "ProposeTestRelease": Case(
        lambda: ProposeTestRelease(bound=1, epsilon=1, delta=1e-6),
        lambda: ProposeTestRelease(bound=1, epsilon=1, delta=1e-6, testing=Fraction(1, 3)),
        (Local(5, [0] * 200), Local(2.5, []), Local(Fraction(1, 3), np.full(100, 0.5))),
        (*NOT_NUMBERS, SECRET, Local(SECRET, "secret-77"), Local("secret-77", [1]), Local(1, [SECRET, 1])),
        selects=True,
    ),
    "SampleAggregate": Case(
        lambda: SampleAggregate(estimator=np.mean, blocks=5, aggregate=MEDIAN),
        lambda: SampleAggregate(estimator=np.median, blocks=5, aggregate=MEDIAN),
        (*LISTS, ["secret-77", SECRET], [None], np.ones((4, 3))),
        ("secret-77", None, True, SECRET, 1j, {SECRET}, np.array(SECRET)),
        selects=True,
    ),
}

every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def test_every_mechanism_is_held_to_this_suite() -> None:
    assert {type(case.make()) for case in CASES.values()} == set(MECHANISMS)


@every
def test_every_mechanism_passes_its_suite(case: Case) -> None:
    refuses = [value for value in case.refuses if value == "secret-77"]
    assert len(check_mechanism(case.make, takes=case.takes, refuses=refuses).held) == 8


@every
def test_mechanisms_of_other_parameters_are_other_values(case: Case) -> None:
    assert case.make() != case.other()
    assert len({case.make(), case.make(), case.other()}) == 2


@every
def test_the_repr_is_short_names_the_class_and_says_the_cost(case: Case) -> None:
    told = repr(case.make())
    assert told.startswith(type(case.make()).__name__ + "(")
    assert "epsilon=" in told or "rho=" in told
    assert len(told) < 120
    assert "\n" not in told


@every
def test_the_cost_is_that_of_the_event(case: Case) -> None:
    mechanism = case.make()
    assert isinstance(mechanism.event, Event)
    assert mechanism.event is mechanism.event or mechanism.event == mechanism.event
    pure = float_up(mechanism.event.pure())
    if math.isfinite(pure):
        assert mechanism.epsilon == pytest.approx(pure, rel=1e-15)
    else:
        delta = float(getattr(mechanism, "delta", 0) or 0) if isinstance(mechanism, Gaussian) else 0.0
        if delta and math.isfinite(mechanism.epsilon):
            pair = mechanism.event.pair()
            at = np.array([mechanism.epsilon, mechanism.epsilon * (1 - 1e-6)])
            assert pair.forward(at)[0] <= delta < pair.forward(at)[1]
        else:
            assert mechanism.epsilon == math.inf


@every
def test_the_event_is_a_ledger_entry(case: Case) -> None:
    event = case.make().event
    assert event == case.make().event
    assert hash(event) == hash(case.make().event)
    assert pickle.loads(pickle.dumps(event)) == event
    atoms = event.atoms()
    assert atoms == {event: 1} or float_up(Composed(tuple(atoms)).pure()) <= float_up(event.pure())
    assert read_event(write_event(event)) == event
    assert Repeated(event, 3).slack() == min(1, 3 * event.slack())


@every
def test_what_it_takes_it_releases_in_the_same_shape(case: Case) -> None:
    mechanism = case.make()
    for value in case.takes:
        released = mechanism.release(value)
        if not case.selects:
            assert np.shape(released) == np.shape(value)


@every
def test_what_it_does_not_take_is_refused_and_not_quoted(case: Case) -> None:
    mechanism = case.make()
    for value in case.refuses:
        with pytest.raises(PrivetError) as caught:
            mechanism.release(value)
        error: BaseException | None = caught.value
        assert caught.value.code.startswith("request")
        while error is not None:
            told = f"{error} {error!r} {getattr(error, 'to_dict', dict)()}"
            assert "secret-77" not in told
            assert "123456789" not in told
            error = error.__cause__ or error.__context__


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)
def test_the_docstring_states_a_guarantee_and_its_source(kind: type[Mechanism]) -> None:
    told = inspect.getdoc(kind) or ""
    assert "Guarantee:" in told
    assert "Cites: [" in told
    for name, member in vars(kind).items():
        if not name.startswith("_"):
            assert inspect.getdoc(member) or isinstance(member, property), f"{name} has no docstring"


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)
def test_parameters_are_keywords(kind: type[Mechanism]) -> None:
    parameters = list(inspect.signature(kind).parameters.values())
    positional = [p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    assert positional in ([], ["matrix"])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if hasattr(case.make(), "interval")])
def test_error_and_interval_agree_and_grow_with_confidence(name: str) -> None:
    mechanism: Any = CASES[name].make()
    confidences = (0.01, 0.5, 0.9, 0.95, 0.999, 1 - 1e-12)
    errors = [mechanism.error(confidence) for confidence in confidences]
    assert errors == sorted(errors)
    assert all(isinstance(error, float) and error >= 0 for error in errors)
    for confidence, error in zip(confidences, errors, strict=True):
        for released in (10, 10.0, np.array([10]), np.array([10.0, -10.0])):
            low, high = mechanism.interval(released, confidence)
            assert np.shape(low) == np.shape(high) == np.shape(released)
            assert np.all(np.asarray(high) - np.asarray(low) <= 2 * error + 1e-9 * (1 + error))
    assert mechanism.variance > 0
