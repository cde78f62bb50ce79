"""Exact laws against brute force over the noise itself, and against another library."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import pytest
from scipy.stats import cauchy

from privet.audit.exact import SparseLaw, clamped_cauchy, integers, mass, tail

NOISE = {k: math.exp(-abs(k) / 0.7) for k in range(-14, 15)}
TOTAL = sum(NOISE.values())


def brute(queries: tuple[int, ...], *, limit: int | None, refresh: bool, shows: str) -> Counter[object]:
    """Return the law of a sparse vector around 0 with noises of scale 0.7, by going through all noises."""
    found: Counter[object] = Counter()
    bars = 2 if refresh else 1
    for drawn in product(NOISE, repeat=bars + len(queries)):
        chance = math.prod(NOISE[k] / TOTAL for k in drawn)
        answers: list[int | None] = []
        crossings = 0
        for query, noise in zip(queries, drawn[bars:], strict=True):
            if crossings == limit:
                break
            bar, noisy = drawn[min(crossings, bars - 1)], query + noise
            if noisy < bar:
                answers.append(None)
            else:
                answers.append({"crossing": 0, "gap": noisy - bar, "value": noisy}[shows])
                crossings += 1
        found[tuple(answers)] += chance
    return found


@pytest.mark.parametrize(
    ("limit", "refresh", "shows"),
    [(1, False, "crossing"), (1, False, "gap"), (1, False, "value"), (None, False, "crossing"), (2, False, "crossing")],
)
def test_a_sparse_vector_has_the_law_of_its_noises(limit: int | None, refresh: bool, shows: str) -> None:
    queries = (1, -1)
    by_hand = brute(queries, limit=limit, refresh=refresh, shows=shows)
    shown = (0,) if shows == "crossing" else tuple(range(-12, 13))
    law = SparseLaw(0.7, 0.7, limit=limit, refresh=refresh, shows=shows).law(queries, shown=shown)
    rest = law.pop(None, 0.0)
    for pattern, chance in law.items():
        assert chance == pytest.approx(by_hand[pattern], abs=1e-7)
    assert rest == pytest.approx(1 - sum(by_hand[pattern] for pattern in law), abs=1e-6)


def test_a_threshold_that_is_drawn_afresh_makes_each_crossing_a_run_of_its_own() -> None:
    law = SparseLaw(0.7, 0.7, limit=2, refresh=True).law((1, -1))
    by_hand = brute((1, -1), limit=2, refresh=True, shows="crossing")
    assert {pattern: pytest.approx(chance, abs=1e-7) for pattern, chance in by_hand.items()} == law


def test_the_threshold_is_where_it_is_said_to_be() -> None:
    law = SparseLaw(0.7, 0.7)
    assert law.law((3, 1), threshold=2) == pytest.approx(law.law((1, -1)))


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.5])
def test_integer_noise_is_symmetric_falls_by_e_a_scale_and_has_its_tails(scale: float) -> None:
    law = integers(scale)
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-12)
    assert law[1] / law[0] == pytest.approx(math.exp(-1 / scale))
    for k in (-3, 0, 1, 2):
        assert float(tail(k, scale)) == pytest.approx(math.fsum(p for j, p in law.items() if j >= k))
        assert float(mass(k, scale)) == law.get(-k, 0.0)
    assert [float(mass(0, 0)), float(mass(1, 0)), float(tail(0, 0)), float(tail(1, 0))] == [1, 0, 1, 0]


def test_clamped_cauchy_noise_is_that_of_another_library() -> None:
    law = clamped_cauchy(3, 1.7, 9)
    assert len(law) == 10
    assert sum(law) == pytest.approx(1)
    assert law[0] == pytest.approx(cauchy.cdf(0.5, loc=3, scale=1.7))
    assert law[5] == pytest.approx(cauchy.cdf(5.5, loc=3, scale=1.7) - cauchy.cdf(4.5, loc=3, scale=1.7))
    assert law[9] == pytest.approx(cauchy.sf(8.5, loc=3, scale=1.7))
