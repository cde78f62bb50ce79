"""Post-processing: a function of what was released costs nothing and sees nothing else."""

from __future__ import annotations

import pytest

from privet.core.errors import RequestError
from privet.mechanisms import Laplace, Mapped, RandomizedResponse

NOISE = Laplace(sensitivity=1, epsilon=1)


def test_a_function_of_a_release_keeps_the_event() -> None:
    seen = []
    mapped = NOISE.map(lambda released: seen.append(released) or max(0, released))
    assert mapped.event == NOISE.event
    assert mapped.epsilon == NOISE.epsilon
    assert mapped.release(3) >= 0
    assert len(seen) == 1


def test_functions_chain_in_order() -> None:
    truthful = RandomizedResponse(p=1)
    assert truthful.map(lambda bit: bit + 1).map(lambda bit: bit * 10).release(1) == 20


def test_every_release_draws_afresh() -> None:
    wide = Laplace(sensitivity=1, epsilon=1e-9).map(abs)
    assert len({wide.release(0) for _ in range(20)}) > 1


@pytest.mark.parametrize("wrong", [None, 5, "abs", [abs]])
def test_what_is_no_function_is_refused(wrong: object) -> None:
    with pytest.raises(RequestError, match="function must be"):
        NOISE.map(wrong)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="mechanism must be"):
        Mapped(wrong, abs)  # type: ignore[arg-type]


def test_mapped_mechanisms_are_values() -> None:
    assert NOISE.map(abs) == Laplace(sensitivity=1, epsilon=1).map(abs)
    assert hash(NOISE.map(abs)) == hash(Laplace(sensitivity=1, epsilon=1).map(abs))
    assert NOISE.map(abs) != NOISE.map(int)
