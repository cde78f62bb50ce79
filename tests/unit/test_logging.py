"""Logging never holds a private value, whatever the level."""

from __future__ import annotations

import contextlib
import logging
from fractions import Fraction
from typing import Any

import pytest

from privet import Exponential, FiniteMechanism, Gaussian, Laplace, PrivetError, RandomizedResponse

SECRET = 918273645
HALF = Fraction(1, 2)
RELEASES = {
    "Laplace": (Laplace(sensitivity=1, epsilon=10**6), SECRET),
    "Laplace of reals": (Laplace(sensitivity=HALF, epsilon=10**6), float(SECRET)),
    "Laplace of a vector": (Laplace(sensitivity=1, epsilon=10**6), [SECRET, SECRET]),
    "Gaussian": (Gaussian(sensitivity=1, sigma=Fraction(1, 100)), SECRET),
    "Exponential": (Exponential(sensitivity=1, epsilon=1), [SECRET, 0]),
    "RandomizedResponse": (RandomizedResponse(p=1 - Fraction(1, 10**9), categories=["no", str(SECRET)]), str(SECRET)),
    "FiniteMechanism": (FiniteMechanism([[HALF, HALF], [HALF, HALF]]), 1),
    "a post-processed release": (Laplace(sensitivity=1, epsilon=10**6).map(abs), SECRET),
    "a value of the wrong kind": (Laplace(sensitivity=1, epsilon=1), str(SECRET)),
    "a value of the wrong shape": (Exponential(sensitivity=1, epsilon=1), [[SECRET]]),
    "an unknown category": (RandomizedResponse(p=HALF), SECRET),
    "an unknown row": (FiniteMechanism([[HALF, HALF], [HALF, HALF]]), SECRET),
}


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_logs_no_private_value(name: str, caplog: pytest.LogCaptureFixture) -> None:
    mechanism, value = RELEASES[name]
    told: list[Any] = []
    with caplog.at_level(logging.DEBUG), contextlib.suppress(PrivetError):
        logging.getLogger("privet").debug("the log is heard")
        try:
            mechanism.release(value)
        except PrivetError as error:
            told.append((str(error), repr(error.to_dict())))
            raise
    assert "the log is heard" in caplog.text
    shown = [(record.getMessage(), record.exc_text, record.args) for record in caplog.records]
    assert str(SECRET) not in repr((shown, told, mechanism if name != "RandomizedResponse" else ""))
