"""Values and versioned JSON, both ways, and the hash chain over them. A later version must read what this one wrote.

Written values are exact: rationals are strings, never floats. Values are refused on reading unless known, whole and
spelt the one way in which it is written. Nothing here looks up a class by a name that a file supplies.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Any, NoReturn, get_args

from privet.accounting.amplify import Sampled, Shuffled
from privet.accounting.compose import Parallel
from privet.accounting.events import ApproximateEvent, FinitePairEvent, PureEvent, ThresholdEvent, ZcdpEvent
from privet.accounting.groups import Group
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, InvariantError, LedgerError, PrivetError, RequestError, raise_alone
from privet.core.event import Composed, Event, Exact, Plain, Repeated
from privet.core.unit import Neighbors
from privet.mechanisms import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    FiniteEvent,
    GaussianEvent,
    LaplaceEvent,
    ResponseEvent,
)

Json = Any

_RATIONAL = re.compile(r"(0|-?[1-9][0-9]*|-?0x[1-9a-f][0-9a-f]*)(?:/([1-9][0-9]*|0x[1-9a-f][0-9a-f]*))?")
_LONGEST_DECIMAL = 4096
"""Integers of more bits are written in base 16, which Python reads at any length."""


@dataclass(frozen=True)
class Kind:
    """How a field is written and read."""

    write: Callable[[Any], Json]
    read: Callable[[Json], Any]


@dataclass(frozen=True)
class Wire:
    """An event's class as it is written: a name and a version for good, and its fields with their kinds.

    A field is the constructor's keyword; `attributes` states where a value is found that has another name there.
    """

    kind: type[Any]
    version: int
    fields: Mapping[str, Kind]
    attributes: Mapping[str, str] | None = None


def write_rational(value: object) -> str:
    """Return an exact rational as text, such as 1/3."""
    if type(value) is not Fraction:
        _cannot(value, "a Fraction")
    return _digits(value.numerator) + ("" if value.denominator == 1 else f"/{_digits(value.denominator)}")


def read_rational(text: Json) -> Fraction:
    """Return the rational that a text spells, refusing any other spelling of it."""
    match = _RATIONAL.fullmatch(text) if isinstance(text, str) else None
    if match is not None:
        above, below = match.groups()
        top, bottom = _integer(above), 1 if below is None else _integer(below)
        value = Fraction(top, bottom)
        if value.denominator == bottom and value.numerator == top and below != "1":
            return value
    raise LedgerError("a number in the ledger is not an exact rational as Privet writes it")


def write_amount(amount: Exact) -> str:
    """Return an amount taken as text: an exact rational, or inf in a measure that puts no bound on it."""
    return "inf" if amount == math.inf else write_rational(Fraction(amount))


def read_amount(text: Json) -> Exact:
    """Return the amount that a text spells; none is negative, and none is not a number."""
    if type(text) is not str:
        raise LedgerError("an amount in the ledger is not an exact rational as Privet writes it")
    return _read_amount(text)


@lru_cache(maxsize=4096)  # most questions cost what others did, and verifying does little else
def _read_amount(text: str) -> Exact:
    amount: Exact = math.inf if text == "inf" else read_rational(text)
    if amount < 0:
        raise LedgerError("an amount in the ledger is negative")
    return amount


def write_event(event: Event) -> Json:
    """Return an event as plain data, with the name and the version of its class."""
    name = _NAMES.get(type(event))
    if name is None:
        raise RequestError(
            f"the event must be one of Privet's own; a {type(event).__name__} cannot be charged: no ledger knows how "
            "to write it down"
        )
    wire = EVENTS[name]
    elsewhere = wire.attributes or {}
    fields = {field: kind.write(getattr(event, elsewhere.get(field, field))) for field, kind in wire.fields.items()}
    return {"type": name, "v": wire.version, **fields}


def read_event(data: Json) -> Event:
    """Return the event that was written, or raise `LedgerError` if this version does not know it."""
    if not isinstance(data, dict):
        raise LedgerError("an event in the ledger is not an object")
    wire = EVENTS.get(str(data.get("type")))
    if wire is None or type(data.get("v")) is not int or data["v"] != wire.version:
        raise LedgerError(
            "the ledger contains an event that this version of Privet does not know; open it with a newer version"
        )
    if data.keys() != {"type", "v", *wire.fields}:
        raise LedgerError(f"a {data['type']} in the ledger does not have the fields that it should")
    try:
        event: Event = wire.kind(**{field: kind.read(data[field]) for field, kind in wire.fields.items()})
    except LedgerError:
        raise
    except (PrivetError, TypeError, ValueError):
        raise_alone(LedgerError(f"a {data['type']} in the ledger is not a possible one"))
    return event


def write_budget(budget: Budget) -> Json:
    """Return a budget as plain data."""
    match budget:
        case Pure(epsilon=epsilon):
            return {"epsilon": write_rational(epsilon)}
        case Approximate(epsilon=epsilon, delta=delta):
            return {"delta": write_rational(delta), "epsilon": write_rational(epsilon)}
        case Zcdp(rho=rho):
            return {"rho": write_rational(rho)}


def read_budget(data: Json) -> Budget:
    """Return the budget that was written."""
    if isinstance(data, dict):
        try:
            amounts = {name: read_rational(value) for name, value in data.items()}
            match sorted(amounts):
                case ["epsilon"]:
                    return Pure(**amounts)
                case ["delta", "epsilon"]:
                    return Approximate(**amounts)
                case ["rho"]:
                    return Zcdp(**amounts)
        except RequestError:
            pass
    raise LedgerError("a budget in the ledger is not a possible one")


_WORDS = frozenset((type(None), bool, str))
_NUMBERS = _WORDS | {int}
"""Values that are written and read unchanged: many of them at once."""

_WIDE = 2**63


def write_plain(value: Plain) -> Json:
    """Return a released value as JSON data; a value without a JSON form goes into an object of one key."""
    if value is None or type(value) in (bool, str):
        return value
    if type(value) is int:
        return value if value.bit_length() <= 63 else {"integer": _digits(value)}
    if type(value) is tuple:
        return _write_many(value)
    if type(value) is Fraction:
        return {"rational": write_rational(value)}
    if type(value) is datetime.datetime and value.tzinfo is None:
        return {"timestamp": value.isoformat()}
    if type(value) is datetime.date:
        return {"date": value.isoformat()}
    raise InvariantError(f"a {type(value).__name__} has no place in an answer that a ledger keeps")


def read_plain(data: Json) -> Plain:
    """Return the released value that was written."""
    match data:
        case None | bool() | int() | str():
            return data
        case list():
            return _read_many(data)
    if isinstance(data, dict) and len(data) == 1:
        ((kind, text),) = data.items()
        try:
            if kind in _PLAIN and write_plain(value := _PLAIN[kind](text)) == data:
                return value
        except (TypeError, ValueError):
            pass
    raise LedgerError("an answer in the ledger contains a value that this version of Privet does not know")


def _write_many(values: tuple[Any, ...]) -> list[Any]:
    """Return each value as it is written; plain ones, and short tuples of plain ones, all at once."""
    kinds = set(map(type, values))
    if kinds == {int} and min(values) > -_WIDE and max(values) < _WIDE:
        return list(values)
    if kinds == {tuple} and _WORDS.issuperset(map(type, chain.from_iterable(values))):
        return list(map(list, values))
    return [write_plain(item) for item in values]


def _read_many(data: list[Any]) -> tuple[Any, ...]:
    kinds = set(map(type, data))
    if kinds <= _NUMBERS:
        return tuple(data)
    if kinds == {list} and _NUMBERS.issuperset(map(type, chain.from_iterable(data))):
        return tuple(map(tuple, data))
    return tuple(map(read_plain, data))


def _digits(integer: int) -> str:
    return str(integer) if integer.bit_length() <= _LONGEST_DECIMAL else hex(integer)


def _integer(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = 0
    if ("x" in text) != (value.bit_length() > _LONGEST_DECIMAL):
        raise LedgerError("a number in the ledger is not an exact rational as Privet writes it")
    return value


def _cannot(value: object, wanted: str) -> NoReturn:
    raise RequestError(f"an event contains a {type(value).__name__} where {wanted} belongs, and cannot be charged")


def _write_whole(value: object) -> str:
    return _digits(value) if type(value) is int else _cannot(value, "an integer")


def _read_whole(text: Json) -> int:
    value = read_rational(text)
    if value.denominator != 1:
        raise LedgerError("a count in the ledger is not a whole number")
    return value.numerator


def _write_choice(value: object) -> str:
    return str(value) if value in get_args(Neighbors) else _cannot(value, "a neighbouring relation")


def _several(kind: Kind) -> Kind:
    def read(data: Json) -> tuple[Any, ...]:
        if not isinstance(data, list):
            raise LedgerError("an event in the ledger does not list what it should")
        return tuple(map(kind.read, data))

    return Kind(lambda values: [kind.write(value) for value in values], read)


RATIONAL = Kind(write_rational, read_rational)
WHOLE = Kind(_write_whole, _read_whole)
CHOICE = Kind(_write_choice, lambda data: data)
EVENT = Kind(write_event, read_event)

EVENTS: Mapping[str, Wire] = {
    "Approximate": Wire(ApproximateEvent, 1, {"epsilon": RATIONAL, "delta": RATIONAL}),
    "Composed": Wire(Composed, 1, {"events": _several(EVENT)}),
    "DiscreteGaussian": Wire(DiscreteGaussianEvent, 1, {"steps": WHOLE, "sigma_squared": RATIONAL}),
    "DiscreteLaplace": Wire(DiscreteLaplaceEvent, 1, {"steps": WHOLE, "scale": RATIONAL}),
    "Exponential": Wire(ExponentialEvent, 1, {"epsilon": RATIONAL}),
    "Finite": Wire(FiniteEvent, 1, {"pairs": _several(EVENT)}),
    "FinitePair": Wire(FinitePairEvent, 1, {"p": _several(RATIONAL), "q": _several(RATIONAL)}),
    "Gaussian": Wire(GaussianEvent, 1, {"sensitivity_squared": RATIONAL, "sigma_squared": RATIONAL, "blur": RATIONAL}),
    "Group": Wire(Group, 1, {"event": EVENT, "size": WHOLE}),
    "Laplace": Wire(LaplaceEvent, 1, {"sensitivity": RATIONAL, "scale": RATIONAL}),
    "Parallel": Wire(Parallel, 1, {"events": _several(EVENT), "neighbors": CHOICE}),
    "Pure": Wire(PureEvent, 1, {"epsilon": RATIONAL}),
    "Repeated": Wire(Repeated, 1, {"event": EVENT, "times": WHOLE}),
    "Response": Wire(ResponseEvent, 1, {"p": RATIONAL, "categories": WHOLE}),
    "Sampled": Wire(Sampled, 1, {"event": EVENT, "rate": RATIONAL}),
    "Shuffled": Wire(Shuffled, 1, {"event": EVENT, "n": WHOLE, "blanket": _several(RATIONAL)}),
    "Threshold": Wire(ThresholdEvent, 1, {"event": EVENT, "delta": RATIONAL}),
    "Zcdp": Wire(ZcdpEvent, 1, {"rho": RATIONAL}, {"rho": "rho_value"}),
}
"""Every event of the package, by the name that it has in ledgers for good."""

_NAMES = {wire.kind: name for name, wire in EVENTS.items()}

_PLAIN: Mapping[str, Callable[[Any], Plain]] = {
    "integer": lambda text: _read_whole(text),
    "rational": read_rational,
    "timestamp": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
}


# The hash chain: each entry's hash covers its bytes and the hash before it, so no entry can change alone.
#
# It proves that a record is the one that was written, given the head. It keeps no secret and hides nothing.


GENESIS = bytes(32)
"""What the first entry has in place of a hash before it."""

_DOMAIN = b"privet ledger 1\n"
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_HEAD = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})")


@dataclass(frozen=True)
class Head:
    """The last entry of a chain: its number and its hash. Kept elsewhere, it shows that a file was put back."""

    number: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.number}:{self.hash.hex()}"


START = Head(0, GENESIS)


def read_head(text: object) -> Head:
    """Return the head that a text names, such as the one that `str` makes of it."""
    match = _HEAD.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise BadParameter("head", text, "a ledger's head: the number of an entry, a colon, and its hash")
    return Head(int(match[1]), bytes.fromhex(match[2]))


def canonical(data: Any) -> str:
    """Return the one text that stands for plain data, in ASCII."""
    return _ENCODER.encode(data)


def link(previous: bytes, body: str) -> bytes:
    """Return the hash of an entry, given the hash of the entry before it."""
    return hashlib.sha256(_DOMAIN + previous + body.encode("ascii")).digest()


def follow(head: Head, number: object, body: object, digest: object) -> Head:
    """Return the head after one more entry, or raise `LedgerError` if the entry does not follow."""
    if number != head.number + 1 or not isinstance(body, str) or not body.isascii() or link(head.hash, body) != digest:
        raise broken(head.number + 1)
    return Head(head.number + 1, digest)


def broken(number: int) -> LedgerError:
    """Return the error for an entry that is not the one that was written in its place."""
    return LedgerError(
        f"the ledger's chain breaks at entry {number}: the file was damaged or changed; "
        "put back a copy whose head you know"
    )
