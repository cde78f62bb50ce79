"""Errors have stable codes, typed fields and short messages, and survive the trip to another process."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from privet.core.errors import (
    AccessError,
    BadParameter,
    BadValue,
    Busy,
    Forbidden,
    InvariantError,
    NotFound,
    PrivetError,
    RequestError,
    TooFast,
    Unsupported,
    quote,
)
from privet.core.event import NoPair

ERRORS = [
    PrivetError("a"),
    RequestError("a"),
    BadParameter("epsilon", -1, "above 0"),
    BadValue("value", "a list", "a number"),
    Unsupported("a"),
    NoPair("a"),
    AccessError("a"),
    Forbidden("a"),
    NotFound("a"),
    Busy("a"),
    TooFast("a", retry_after=3),
    InvariantError("a"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling_and_copying(error: PrivetError) -> None:
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert twin.to_dict() == error.to_dict()


def test_codes_are_unique_and_statuses_follow_the_kind() -> None:
    kinds = {type(error) for error in ERRORS}
    assert len({kind.code for kind in kinds}) == len(kinds)
    for kind in kinds:
        if issubclass(kind, RequestError):
            assert (kind.exit_status, kind.http_status) == (2, 400)
    assert (InvariantError.exit_status, InvariantError.http_status) == (70, 500)
    assert [kind.http_status for kind in (AccessError, Forbidden, NotFound, Busy, TooFast)] == [401, 403, 404, 503, 429]
    assert {kind.exit_status for kind in (AccessError, Forbidden, NotFound)} == {6}
    assert {kind.exit_status for kind in (Busy, TooFast)} == {7}


def test_a_bad_parameter_says_what_was_given_and_what_is_allowed() -> None:
    error = BadParameter("epsilon", -1, "above 0")
    assert str(error) == "epsilon must be above 0; got -1"
    assert error.to_dict() == {
        "code": "request.parameter",
        "message": "epsilon must be above 0; got -1",
        "parameter": "epsilon",
        "value": "-1",
        "allowed": "above 0",
    }


def test_a_bad_value_says_only_its_kind() -> None:
    error = BadValue("value", "a list", "a number")
    assert str(error) == "value must be a number; got a list"
    assert set(error.to_dict()) == {"code", "message", "parameter", "kind", "allowed"}


class Mute:
    """A type that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (10**400, "an integer of 1329 bits"),
        (Fraction(10**5000), "a Fraction"),
        (Fraction(3, 2), "1.5"),
        (Fraction(1, 10), "0.1"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1e305), "1e+305"),
        (Path("x.foo"), "'x.foo'"),
        (Mute(), "a Mute"),
        ("x" * 100, "'" + "x" * 59 + "... (a str)"),
        (np.array([[1], [2]]), "array([[1], [2]])"),
        (True, "True"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_quotation_is_short_and_never_fails(value: object, told: str) -> None:
    assert quote(value) == told
