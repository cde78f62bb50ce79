"""About a hundred values that no parameter should be given, each with the kind of thing that it is.

A value that cannot be used twice, such as a generator, is made anew for each trial. Nothing here knows a parameter.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import privet


class Boom(Exception):
    """What hostile code raises: neither a ValueError nor a TypeError, which a careless reader would catch."""


class Opaque:
    """An object of which nothing is known: code that accepts it has not looked at it."""

    def __repr__(self) -> str:
        return "<opaque>"


class FloatRaises(Opaque):
    """Converts to no number."""

    def __float__(self) -> float:
        raise Boom

    __int__ = __index__ = __complex__ = __trunc__ = __float__  # type: ignore[assignment]


class FloatLies(Opaque):
    """Claims to be a number, and is none."""

    def __float__(self) -> float:
        return math.nan

    def __index__(self) -> Any:
        return "1"

    def as_integer_ratio(self) -> tuple[str, str]:
        """Return no ratio."""
        return "1", "0"


class EqualsAll(Opaque):
    """Equals whatever it is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class EqRaises(Opaque):
    """Cannot be compared, hashed, printed, counted or asked whether it is true."""

    def __eq__(self, other: object) -> bool:
        raise Boom

    def __hash__(self) -> int:
        raise Boom

    def __repr__(self) -> str:
        raise Boom

    def __bool__(self) -> bool:
        raise Boom

    def __lt__(self, other: object) -> bool:
        raise Boom

    __str__ = __repr__
    __le__ = __gt__ = __ge__ = __lt__


class LengthLies(Opaque):
    """Has a length and no elements."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: object) -> object:
        raise Boom


class IterRaises(Opaque):
    """Begins to be iterated over, and then raises."""

    def __iter__(self) -> Iterator[int]:
        yield 1
        raise Boom


class AttributeRaises:
    """Raises something else than AttributeError for whatever it is asked for."""

    def __getattr__(self, name: str) -> object:
        raise Boom


class TextWithTricks(str):
    """A text that is equal to all others and hashes like none."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


class IntWithTricks(int):
    """An integer of 3 that says it is NaN in arithmetic."""

    def __float__(self) -> float:
        return math.nan

    def __add__(self, other: object) -> Any:
        return math.nan

    __mul__ = __rmul__ = __radd__ = __sub__ = __truediv__ = __add__


def raises(*given: object, **named: object) -> object:
    """Raise, whatever is given."""
    raise Boom


def junk(*given: object, **named: object) -> object:
    """Return an unexpected value."""
    return "junk"


def not_a_number(*given: object, **named: object) -> float:
    """Return NaN."""
    return math.nan


def _frame() -> object:
    import pandas

    return pandas.DataFrame({"a": [1.0, math.nan]})


def _series() -> object:
    import pandas

    return pandas.Series(["a", None])


def _nothing_at_all() -> object:
    import pandas

    return pandas.NA


def _nested(depth: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


@dataclass(frozen=True)
class Hostile:
    """A value by name, made anew each time."""

    name: str
    make: Callable[[], Any]


def _same(value: Any) -> Callable[[], Any]:
    return lambda: value


OPAQUE = Hostile("opaque", Opaque)

VALUES: tuple[Hostile, ...] = (
    OPAQUE,
    *(
        Hostile(f"{type(value).__name__} {name}", _same(value))
        for name, value in {
            "None": None,
            "True": True,
            "False": False,
            "0": 0,
            "-1": -1,
            "1": 1,
            "3": 3,
            "-0.0": -0.0,
            "0.0": 0.0,
            "0.5": 0.5,
            "1.5": 1.5,
            "-0.5": -0.5,
            "2**53+1": 2**53 + 1,
            "2**63": 2**63,
            "-2**63": -(2**63),
            "2**64+1": 2**64 + 1,
            "10**400": 10**400,
            "-10**400": -(10**400),
            "10**5000": 10**5000,
            "1e300": 1e300,
            "1e308": 1.7e308,
            "-1e308": -1.7e308,
            "1e16": 1e16,
            "1e-16": 1e-16,
            "1e-308": 2.3e-308,
            "5e-324": 5e-324,
            "1-2**-53": 1 - 2**-53,
            "1+2**-52": 1 + 2**-52,
            "nan": math.nan,
            "inf": math.inf,
            "-inf": -math.inf,
            "1/3": Fraction(1, 3),
            "1/10**400": Fraction(1, 10**400),
            "10**400/3": Fraction(10**400, 3),
            "decimal nan": Decimal("NaN"),
            "decimal snan": Decimal("sNaN"),
            "decimal inf": Decimal("Infinity"),
            "1e-400": Decimal("1e-400"),
            "1e999999": Decimal("1e999999"),
            "decimal 0.1": Decimal("0.1"),
            "0j": 0j,
            "nan j": complex(math.nan, 1),
            "empty": "",
            "space": " ",
            "one": "1",
            "text nan": "nan",
            "abc": "abc",
            "1_0": "1_0",
            "Arabic one": "١",
            "nul": "a\x00b",
            "surrogate": "\ud800",
            "newlines": "a\nb\r\x1b[31m",
            "quotes": "'\"; DROP TABLE visits; --",
            "long": "x" * 100_000,
            "many digits": "9" * 5000,
            "bytes": b"1",
            "no bytes": b"",
            "nul bytes": b"\x00\xff",
            "empty list": [],
            "empty tuple": (),
            "empty dict": {},
            "empty set": frozenset(),
            "zeros": [0, 0],
            "one NaN": [math.nan],
            "one None": [None],
            "one text": ["a"],
            "mixed": [1, "a", None],
            "infinite": (math.inf, 0.5),
            "huge": [10**400],
            "negative": [-1, -2],
            "nested": [[1], [2]],
            "ragged": [[1, 2], [3]],
            "pair": (1, 2),
            "a dict": {"a": 1},
            "NaN keys": {math.nan: math.nan},
            "a set": {1, 2},
            "range": range(3),
            "far range": range(10**18),
            "float64 nan": np.float64(math.nan),
            "float32": np.float32(0.5),
            "int8": np.int8(-1),
            "uint64": np.uint64(2**64 - 1),
            "bool_": np.bool_(True),
            "datetime64": np.datetime64("NaT"),
            "timedelta64": np.timedelta64(1, "D"),
            "0-d": np.array(1.0),
            "0-d object": np.array(None, dtype=object),
            "no entries": np.array([]),
            "NaN entry": np.array([math.nan, 1.0]),
            "objects": np.array([Opaque(), 1], dtype=object),
            "texts": np.array(["a", "b"]),
            "structured": np.zeros(2, dtype=[("a", int)]),
            "two-dimensional": np.ones((2, 2)),
            "masked": np.ma.masked_array([1.0, 2.0], mask=[True, False]),
            "date": datetime.date(1, 1, 1),
            "datetime": datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
            "aware": datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC),
            "timedelta": datetime.timedelta.max,
            "path": Path("/nonexistent/place"),
            "class": int,
            "class of ours": privet.Laplace,
            "module": math,
            "raising function": raises,
            "junk function": junk,
            "NaN function": not_a_number,
            "builtin": len,
            "ellipsis": ...,
            "NotImplemented": NotImplemented,
            "exception": Boom("boom"),
            "mechanism": privet.Laplace(sensitivity=1, epsilon=1),
            "event": privet.Laplace(sensitivity=1, epsilon=1).event,
            "event class": privet.accounting.PureEvent,
            "budget": privet.Pure(epsilon=1),
            "sensitivity": privet.Sensitivity.count(neighbors="add-remove"),
            "unit": privet.Rows(),
            "column": privet.integer(0, 1),
            "term": privet.col("age"),
            "float raises": FloatRaises(),
            "float lies": FloatLies(),
            "equals all": EqualsAll(),
            "equality raises": EqRaises(),
            "length lies": LengthLies(),
            "iteration raises": IterRaises(),
            "attributes raise": AttributeRaises(),
            "tricky text": TextWithTricks("add-remove"),
            "tricky integer": IntWithTricks(3),
        }.items()
    ),
    Hostile("generator", lambda: (number for number in (1, 2))),
    Hostile("generator of junk", lambda: (text for text in ("a", None))),
    Hostile("raising generator", lambda: iter(IterRaises())),
    Hostile("deep list", lambda: _nested(5000)),
    Hostile("pandas frame", _frame),
    Hostile("pandas series", _series),
    Hostile("pandas NA", _nothing_at_all),
)
