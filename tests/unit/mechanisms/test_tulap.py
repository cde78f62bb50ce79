"""Tulap noise: its law, its exact draws at the truncation, what it costs and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import noise
from privet.accounting import ApproximateEvent, epsilon
from privet.core.errors import BadParameter, RequestError
from privet.mechanisms import DiscreteLaplaceEvent, Tulap
from privet.mechanisms.tulap import _digits, _last_place


def cells(mechanism: Tulap, most: int) -> list[float]:
    return [mechanism.cdf(k + 0.5) - mechanism.cdf(k - 0.5) for k in range(most + 1)]


def test_the_integers_of_truncated_noise_have_the_published_law() -> None:
    found = cells(Tulap(epsilon=1, delta=0.01), 5)
    assert found == pytest.approx([0.467496, 0.171982, 0.063269, 0.023275, 0.007726, 0], abs=5e-7)


@pytest.mark.parametrize(("loss", "delta"), [(1, 0.01), (0.1, 1e-5), (2, 0.3), (0.01, 0.2), (1, 0)])
def test_noise_and_its_shift_are_as_far_apart_as_is_stated_at_every_threshold(loss: float, delta: float) -> None:
    mechanism = Tulap(epsilon=loss, delta=delta)
    at = np.linspace(-6, 7, 4001) if loss > 0.05 else np.linspace(-60, 61, 4001)
    here, moved = np.asarray(mechanism.cdf(at)), np.asarray(mechanism.cdf(at - 1))
    for p, q in ((here, moved), (1 - moved, 1 - here), (moved, here), (1 - here, 1 - moved)):
        assert (p - math.exp(loss) * q).max() <= delta + 1e-12
    if delta:
        assert (here - math.exp(loss) * moved).max() == pytest.approx(delta, abs=1e-9)


def test_binned_noise_has_a_hockey_stick_of_its_delta_both_ways() -> None:
    mechanism = Tulap(epsilon=1, delta=0.01)
    law = np.array(cells(mechanism, 9))
    law = np.concatenate([law[:0:-1], law])
    here, moved = np.append(law, 0.0), np.insert(law, 0, 0.0)
    for p, q in ((here, moved), (moved, here)):
        assert np.maximum(p - math.e * q, 0).sum() == pytest.approx(0.01, abs=5e-8)


def test_without_a_delta_the_nearest_integer_has_discrete_laplace_noise() -> None:
    mechanism = Tulap(epsilon=0.5)
    b = math.exp(-0.5)
    assert cells(mechanism, 3) == pytest.approx([(1 - b) / (1 + b) * b**k for k in range(4)], rel=1e-12)
    assert mechanism.variance == pytest.approx(2 * b / (1 - b) ** 2 + 1 / 12)


def test_the_variance_of_truncated_noise_is_that_of_its_law() -> None:
    mechanism = Tulap(epsilon=1, delta=0.01)
    edges = np.linspace(-mechanism.most, mechanism.most, 200_001)
    middles, chances = (edges[1:] + edges[:-1]) / 2, np.diff(np.asarray(mechanism.cdf(edges)))
    assert mechanism.variance == pytest.approx(float((middles**2 * chances).sum()), rel=1e-6)
    assert chances.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("delta", [0, 0.01, 0.4])
def test_a_release_has_no_more_than_64_binary_digits_behind_the_point(delta: float) -> None:
    mechanism = Tulap(epsilon=1, delta=delta)
    for z in [mechanism.release(40) for _ in range(50)] + list(mechanism.simulate(40, 50)):
        assert type(z) is Fraction
        assert 2**64 % z.denominator == 0
        assert abs(z - 40) <= (mechanism.most if delta else 10**6)


def test_the_event_is_that_of_the_noise() -> None:
    assert Tulap(epsilon=2).event == DiscreteLaplaceEvent(steps=1, scale=Fraction(1, 2))
    assert Tulap(epsilon=2, delta=0.25).event == ApproximateEvent(2, 0.25)
    assert epsilon(Tulap(epsilon=1, delta=1e-6).event, 1e-6) == pytest.approx(1)


@pytest.mark.parametrize(("loss", "delta"), [(1, "0.01"), ("0.1", "1e-9"), (3, "0.3"), ("0.001", "0.2"), (50, "0.25")])
def test_the_cut_lies_where_the_law_has_its_share(loss: float, delta: str) -> None:
    exact, share = Fraction(str(loss)), Fraction(delta)
    last = _last_place(exact, share)
    cut = _digits(exact, share, last, 64) / 2**64
    b = math.exp(-float(exact))
    q = 2 * float(share) * b / (1 - b + 2 * float(share) * b)
    below = b ** (last + 1) / (1 + b) + cut * (1 - b) / (1 + b) * b**last
    assert 0 <= cut < 1
    assert below == pytest.approx(q / 2, rel=1e-9)
    assert _digits(exact, share, last, 128) >> 64 == _digits(exact, share, last, 64)


def test_at_the_cut_the_digits_are_read_on_until_they_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Tulap(epsilon=1, delta=0.01)
    cut = mechanism._cut
    first, more = cut.digits(64), cut.digits(128) % 2**64

    def scripted(words: list[int]) -> None:
        monkeypatch.setattr(noise, "uniform_below", lambda n: words.pop(0))

    assert cut.keeps(first + 1, above=True)
    assert not cut.keeps(first - 1, above=True)
    for word, kept in ((more + 1, True), (more - 1, False)):
        scripted([word])
        assert cut.keeps(first, above=True) is kept
    last = 2**64 - 1
    assert cut.keeps(last - first - 1, above=False)
    assert not cut.keeps(last - first + 1, above=False)
    for word, kept in ((last - more - 1, True), (last - more + 1, False)):
        scripted([word])
        assert cut.keeps(last - first, above=False) is kept


def test_noise_beyond_the_cut_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = Tulap(epsilon=1, delta=0.01)
    places, words = [9, -5, 4, -4, 2], [0, 0, 2**64 - 1, 0, 5]
    monkeypatch.setattr(noise, "discrete_laplace", lambda scale: places.pop(0))
    monkeypatch.setattr(noise, "uniform_below", lambda n: words.pop(0))
    assert mechanism.release(10) == 12 - Fraction(1, 2) + Fraction(5, 2**64)
    assert (places, words) == ([], [])


def test_a_delta_of_a_half_cuts_cells_in_the_middle() -> None:
    mechanism = Tulap(epsilon=1000, delta=0.5)
    assert mechanism.most == pytest.approx(1)
    assert abs(mechanism.release(3) - 3) <= 1


@pytest.mark.parametrize("given", [{"epsilon": 0}, {"epsilon": 1, "delta": 1}, {"epsilon": 1, "delta": -1}])
def test_bad_parameters_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(BadParameter):
        Tulap(**given)  # type: ignore[arg-type]


def test_only_one_whole_number_is_taken() -> None:
    for value in (1.5, [1, 2], Fraction(1, 2)):
        with pytest.raises(RequestError):
            Tulap(epsilon=1).release(value)


def test_the_shares_of_halves_of_cells_are_those_of_the_law() -> None:
    # 40,000 draws in 20 bins: each within 6.1 standard deviations fails once in 4e7 runs
    for delta in (0, 0.05):
        mechanism = Tulap(epsilon=1, delta=delta)
        drawn = np.array([float(z) for z in mechanism.simulate(0, 40_000)])
        for left in np.arange(-2.5, 2.5, 0.5):
            chance = mechanism.cdf(left + 0.5) - mechanism.cdf(left)
            seen = ((drawn > left) & (drawn <= left + 0.5)).mean()
            assert abs(seen - chance) <= 6.1 * math.sqrt(chance * (1 - chance) / 40_000)
