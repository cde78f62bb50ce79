"""Reads arguments that are not numbers: choices, truth values, lists, functions, instances; refuses the rest by name.

A plain `x in (...)`, `tuple(x)` or `isinstance(x, Protocol)` runs methods of its argument, which may raise
any error. Numbers are read by `core.numbers`. `read_fields` reads every field of a value by its annotation.
"""

from __future__ import annotations

import collections.abc
import contextlib
import datetime
import importlib
import math
import os
import re
import sys
import types
import typing
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin

from .errors import BadParameter, BadValue, PrivetError, RequestError
from .numbers import is_unicode, rational, read_rational

# Checks a value when it is made: every field has exactly the type of its annotation, and nothing that only looks so.
#
# Plans are made of such values, and their digest and their cost are computed from them. A list in the place of a
# tuple could change after it was checked, `True` counts as 1 and is written as another digest, and a subclass may
# answer questions differently from its parent; so types are compared, and not classes asked.


_Test = Callable[[object], bool]


def check_fields(value: object) -> None:
    """Raise `BadParameter` unless each field of a dataclass instance has exactly the declared type.

    Guarantee: what passes is made of exact built-in types, tuples and other checked values, down to the leaves; it
    cannot change, and it compares, hashes and prints as those types do.
    """
    kind: Any = type(value)
    for name, test, allowed in _tests(kind):
        held = getattr(value, name)
        if not test(held):
            raise BadParameter(name, held, allowed)


@cache
def _tests(kind: Any) -> tuple[tuple[str, _Test, str], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((item.name, _test(hints[item.name]), f"of type {_told(hints[item.name])}") for item in fields(kind))


def _test(hint: Any) -> _Test:
    """Return the test of whether a value is of a type."""
    leaves = _leaves(hint)
    if leaves is not None and datetime.datetime not in leaves:
        return lambda value: type(value) in leaves
    if leaves is not None:
        return lambda value: type(value) in leaves and _plain(value)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        words = frozenset((type(word), word) for word in arguments)
        return lambda value: isinstance(value, (int, str)) and (type(value), value) in words
    if origin in (typing.Union, types.UnionType):
        tests = tuple(_test(part) for part in arguments)
        return lambda value: any(test(value) for test in tests)
    if origin is tuple and arguments[-1] is ...:
        return _several(arguments[0])
    if origin is tuple:
        tests = tuple(_test(part) for part in arguments)
        return lambda value: (
            type(value) is tuple
            and len(value) == len(tests)
            and all(test(item) for test, item in zip(tests, value, strict=True))
        )
    if origin is Mapping:
        of_key, of_item = (_test(part) for part in arguments)
        return lambda value: (
            isinstance(value, Mapping) and all(of_key(key) and of_item(item) for key, item in value.items())
        )
    raise TypeError(f"{hint} is nothing that can be checked")


def _several(hint: Any) -> _Test:
    """Return the test of whether a value is a tuple of a type; of a long one, each type is checked once."""
    leaves, test = _leaves(hint), _test(hint)
    if leaves is None:
        return lambda value: type(value) is tuple and all(map(test, value))

    def holds(value: object) -> bool:
        if type(value) is not tuple:
            return False
        kinds = set(map(type, value))
        return leaves.issuperset(kinds) and (datetime.datetime not in kinds or all(map(_plain, value)))

    return holds


def _leaves(hint: Any) -> frozenset[type] | None:
    """Return the types that a hint names, if all of them are plain classes; a date may be a point in time."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        leaves = [_leaves(part) for part in typing.get_args(hint)]
        return None if None in leaves else frozenset().union(*(part for part in leaves if part is not None))
    if not isinstance(hint, type) or typing.get_origin(hint) is not None:
        return None
    return frozenset((datetime.date, datetime.datetime)) if hint is datetime.date else frozenset((hint,))


def _plain(value: object) -> bool:
    return not isinstance(value, datetime.datetime) or value.tzinfo is None


def _told(hint: Any) -> str:
    """Return a type in words, without the modules that its parts are from."""
    if isinstance(hint, type) and typing.get_origin(hint) is None:
        return "None" if hint is types.NoneType else hint.__name__
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " or ".join(repr(word) for word in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_told(part) for part in arguments))
    if origin is tuple:
        inside = [_told(part) for part in arguments if part is not ...]
        return f"tuple of {' and '.join(inside)}"
    return f"mapping of {' to '.join(_told(part) for part in arguments)}"


T = TypeVar("T")
MOST_ITEMS = 10**7
"""How many items a passed list may have."""


def is_a(value: object, kinds: Any) -> bool:
    """Return whether a value is an instance, also where reading its attributes raises."""
    try:
        return isinstance(value, kinds) and not isinstance(value, type)
    except Exception:  # a protocol reads attributes, and a foreign type may raise any error
        return False


def instance(value: object, kinds: Any, parameter: str, allowed: str) -> Any:
    """Return an instance of one of some classes; the classes themselves are refused."""
    if not is_a(value, kinds):
        raise BadParameter(parameter, value, allowed)
    return value


def mapping(value: object, parameter: str, allowed: str, kind: Any = object) -> Mapping[str, Any]:
    """Return a mapping of names to instances of a class; a refusal names the type."""
    if not isinstance(value, Mapping):
        raise BadParameter(parameter, type(value).__name__, allowed)
    for name, item in value.items():
        if not isinstance(name, str):
            raise BadParameter(parameter, name, allowed)
        if not isinstance(item, kind):
            raise BadParameter(parameter, type(item).__name__, allowed)
    return value


def choice(value: object, parameter: str, known: Iterable[str]) -> str:
    """Return one of a few names, as it is defined here and not as it was passed."""
    names = tuple(known)
    for name in names:
        if isinstance(value, str) and str.__eq__(value, name) is True:
            return name
    raise BadParameter(parameter, value, " or ".join(map(repr, names)))


def truth(value: object, parameter: str) -> bool:
    """Return True or False, and accept only these and NumPy's own."""
    if isinstance(value, bool):
        return value
    if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise BadParameter(parameter, value, "True or False")


def given_name(value: object, parameter: str, allowed: str = "a name") -> str:
    """Return a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise BadParameter(parameter, value, allowed)
    return value


def check_cases(names: Iterable[str], what: str) -> None:
    """Refuse names that differ in case only: a name without quotes would mean either."""
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            raise BadParameter(what, name, f"names that differ in more than case; there is {other!r} as well")


def plain_text(
    value: object, parameter: str, allowed: str = "a text", *, least: int = 0, most: int = 1_000_000, nul: bool = False
) -> str:
    """Return a text that can be written down anywhere, of a length within limits."""
    if not isinstance(value, str) or not least <= len(value) <= most or not is_unicode(value):
        raise BadParameter(parameter, value, allowed)
    if "\x00" in value and not nul:
        raise BadParameter(parameter, value, f"{allowed}, without NUL characters")
    return str.__str__(value)


def path(value: object, parameter: str, allowed: str = "a path") -> str:
    """Return a path as text."""
    try:
        read: object = os.fspath(value) if is_a(value, os.PathLike) else value  # type: ignore[call-overload]
    except Exception:  # a foreign path may raise any error
        read = None
    return plain_text(read, parameter, allowed, least=1, most=4096)


_ADDRESS = re.compile(r"postgres(ql)?://")


def is_address(value: object) -> bool:
    """Return whether a place is the address of something in a PostgreSQL server, and not a path."""
    return isinstance(value, str) and _ADDRESS.match(value) is not None


def read_place(text: str) -> Path | str:
    """Return where something is: the address of a server as it is written, or else a path."""
    return text if is_address(text) else Path(text)


def moment(value: object, parameter: str) -> datetime.datetime:
    """Return a point in time with a zone, in UTC."""
    allowed = "a time with its zone, such as 2026-12-31T23:59:59Z"
    if not isinstance(value, datetime.datetime) or value.tzinfo is None:
        raise BadParameter(parameter, value, allowed)
    try:
        return value.astimezone(datetime.UTC)
    except (OverflowError, ValueError):
        pass
    raise BadParameter(parameter, value, f"{allowed}, between the years 1 and 9999 in UTC")


def listed(
    value: object, parameter: str, allowed: str = "a list", *, most: int = MOST_ITEMS, texts: bool = False
) -> list[Any]:
    """Return the items of a collection or a generator; mappings are no lists, nor texts unless their letters are."""
    if (
        isinstance(value, (bytes, bytearray, Mapping))
        or (isinstance(value, str) and not texts)
        or not is_a(value, Iterable)
    ):
        raise BadParameter(parameter, value, allowed)
    try:
        # a long range is refused by its length, and not by its first ten million numbers
        longer = isinstance(value, range) and value[most:] != range(0)
        items = [] if longer else list(islice(value, most + 1))  # type: ignore[call-overload]
    except PrivetError:
        raise
    except Exception:  # a foreign iterator may raise any error
        items = None
    if items is None:
        raise BadParameter(parameter, value, f"{allowed}; iterating over this one fails")
    if longer or len(items) > most:
        raise BadParameter(parameter, value, f"{allowed} of at most {most:,} items")
    return items


def optional_package(name: str, purpose: str) -> Any:
    """Return a module of a package that Privet can do without.

    Args:
        name: the module, such as `pyarrow` or `matplotlib.figure`.
        purpose: what needs it, and the verb, for the error.

    Raises:
        RequestError: if it is not installed, with the command that installs it, beside a clone and a wheel alike.
    """
    with contextlib.suppress(ImportError):
        return importlib.import_module(name)
    package = name.partition(".")[0]
    raise RequestError(f"{purpose} {package}, which is not installed: {install_hint(package)}")


def install_hint(package: str) -> str:
    """Return the command that installs a package for the Python that runs this."""
    return f"python -m pip install {package}"


def unwrapped(value: object) -> object:
    """Return the plain list of an array-like or a series; any other value unchanged."""
    try:
        return value.tolist() if hasattr(value, "tolist") else value
    except Exception:  # a foreign type may raise any error
        return value


def function(value: object, parameter: str, allowed: str = "a function") -> Callable[..., Any]:
    """Return a callable, and refuse any other value."""
    if not callable(value):
        raise BadParameter(parameter, value, allowed)
    return value


def called(given: Callable[..., T], parameter: str, *arguments: object) -> T:
    """Return the result of a caller's function; where it raises, name its parameter and quote nothing.

    Our own errors are quoted or pass: the function may have refused its argument in words that help.
    """
    try:
        return given(*arguments)
    except (BadParameter, BadValue) as error:
        kind = f"{type(error).__name__} ({error})"
    except PrivetError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise RequestError(f"{parameter} must be a function that works on what it is given; it raised a {kind}")


def set_fields(value: object, /, **fields: Any) -> None:
    """Set the fields of a frozen dataclass, in its own `__init__` and nowhere else."""
    for name, field in fields.items():
        object.__setattr__(value, name, field)


def read_fields(value: object) -> None:
    """Read every field of a frozen dataclass by its annotation, or refuse it by its name.

    Whole numbers, texts and truth values must have that type; a Fraction is made exactly; a float may be infinite and
    not NaN; collections become tuples of their items.
    """
    kind: Any = type(value)
    for name, hint in _hints(kind):
        set_fields(value, **{name: read(getattr(value, name), hint, name)})


def read(value: object, hint: Any, parameter: str) -> Any:
    """Return a value of an annotation's type, or raise `BadParameter`."""
    if hint is Any or hint is object or isinstance(hint, TypeVar):
        return value
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _read_union(value, arguments, parameter)
    if origin is Literal:
        return choice(value, parameter, arguments)
    if origin is tuple:
        return _read_tuple(value, arguments, parameter)
    if origin in (Mapping, collections.abc.Mapping, dict):
        if not is_a(value, Mapping):
            _refuse(value, hint, parameter)
        return value if not arguments else _read_mapping(value, arguments, parameter)
    if origin is not None:
        if callable(value) if origin is collections.abc.Callable else is_a(value, origin):
            return value
        _refuse(value, hint, parameter)
    reader = _READERS.get(hint)
    if reader is not None:
        return reader(value, parameter)
    if hint is None or hint is type(None):
        return value if value is None else _refuse(value, hint, parameter)
    return value if is_a(value, hint) else _refuse(value, hint, parameter)


def _read_union(value: object, hints: tuple[Any, ...], parameter: str) -> Any:
    for hint in hints:
        if isinstance(hint, type) and type(value) is hint and hint not in _READERS:
            return value
    for hint in hints:
        try:
            return read(value, hint, parameter)
        except BadParameter:
            continue
    raise BadParameter(parameter, value, " or ".join(map(_called, hints)))


def _read_tuple(value: object, hints: tuple[Any, ...], parameter: str) -> tuple[Any, ...]:
    items = listed(value, parameter, "a tuple")
    every = (hints[0],) * len(items) if len(hints) == 2 and hints[1] is Ellipsis else hints
    if len(every) != len(items):
        raise BadParameter(parameter, value, f"{len(every)} items")
    return tuple(read(item, hint, parameter) for item, hint in zip(items, every, strict=True))


def _read_mapping(value: Any, hints: tuple[Any, ...], parameter: str) -> Any:
    for key, item in value.items():
        read(key, hints[0], parameter)
        read(item, hints[1], parameter)
    return value


def _real(value: object, parameter: str) -> float:
    if isinstance(value, float) and math.isinf(value):
        return float(value)
    try:
        return float(rational(value, parameter, "a number"))
    except OverflowError:
        return _refuse(value, float, parameter)


_READERS: dict[Any, Callable[[object, str], Any]] = {
    int: lambda value, parameter: _integer(value, parameter),
    float: _real,
    Fraction: lambda value, parameter: rational(value, parameter),
    Decimal: lambda value, parameter: rational(value, parameter),
    bool: truth,
    str: lambda value, parameter: plain_text(value, parameter),
    Path: lambda value, parameter: Path(path(value, parameter)),
}


def _integer(value: object, parameter: str) -> int:
    exact = read_rational(value) if not isinstance(value, int) else Fraction(int(value))
    if isinstance(value, bool) or exact is None or exact.denominator != 1 or not hasattr(value, "__index__"):
        raise BadParameter(parameter, value, "a whole number")
    return int(exact)


def _refuse(value: object, hint: Any, parameter: str) -> NoReturn:
    raise BadParameter(parameter, value, _called(hint))


def _called(hint: Any) -> str:
    words = {int: "a whole number", float: "a number", Fraction: "a finite number", bool: "True or False"}
    words |= {str: "a text", type(None): "left out", Path: "a path"}
    return words.get(hint, f"a {getattr(hint, '__name__', hint)}")


@cache
def _hints(kind: Any) -> tuple[tuple[str, Any], ...]:
    names = {**vars(sys.modules[kind.__module__])}
    return tuple((field.name, _evaluated(field.type, names)) for field in fields(kind))


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    return eval(annotation, names) if isinstance(annotation, str) else annotation


# Names of accounts that people can distinguish: two that look alike would let one analyst spend as another.


_ALIKE = {
    "a": "\u0430\u0410\u03b1\u0391\u0251",
    "b": "\u0412\u0392\u0432",
    "c": "\u0441\u0421\u03f2\u03f9",
    "d": "\u0501\u0500",
    "e": "\u0435\u0415\u0395\u0454\u04bd",
    "g": "\u0261\u050c\u050d",
    "h": "\u04bb\u041d\u0397\u04ba\u043d",
    "i": "\u0456\u0406\u03b9\u0399\u0131\u04cf\u04c0",
    "j": "\u0458\u0408\u03f3\u037f",
    "k": "\u043a\u041a\u03ba\u039a",
    "l": "1|\u2502\u01c0",
    "m": "\u043c\u041c\u039c",
    "n": "\u0578\u039d",
    "o": "0\u043e\u041e\u03bf\u039f\u0585",
    "p": "\u0440\u0420\u03c1\u03a1",
    "q": "\u051b\u051a",
    "s": "\u0455\u0405",
    "t": "\u0442\u0422\u03c4\u03a4",
    "u": "\u057d\u03c5",
    "v": "\u03bd\u0475\u0474",
    "w": "\u051d\u051c\u03c9",
    "x": "\u0445\u0425\u03c7\u03a7",
    "y": "\u0443\u0423\u03a5\u04af\u04ae",
    "z": "\u0396",
}
"""Letters of Cyrillic, Greek and Armenian, and signs, that look like Latin letters."""

_LATIN = {sign: letter for letter, signs in _ALIKE.items() for sign in signs}
_DASHES = frozenset("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00ad")


def looks_of(name: str) -> frozenset[str]:
    """Return the forms of a name by which it is mistaken for another: in any case, and by the shapes of its letters.

    Spaces at the ends, repeated spaces and invisible signs are ignored.
    """
    plain = " ".join(unicodedata.normalize("NFKC", name).split())
    seen = "".join("-" if sign in _DASHES else sign for sign in plain if unicodedata.category(sign) != "Cf")
    cased = "".join(_LATIN.get(sign, sign) for sign in seen)
    # a capital I looks like a small l, and case is ignored
    return frozenset((cased.casefold(), cased.replace("I", "l").casefold()))


def alike(name: str, others: Iterable[str]) -> str | None:
    """Return one of the other names that a name can be mistaken for, if there is one."""
    looks = looks_of(name)
    return next((other for other in others if other != name and looks & looks_of(other)), None)
