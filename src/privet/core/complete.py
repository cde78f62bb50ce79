"""Checks a value when it is made: every field holds exactly what its annotation says, and nothing that only looks so.

Plans are made of such values, and their digest and their cost are computed from them. A list in the place of a tuple
could change after it was checked, `True` counts as 1 and is written as another digest, and a subclass may answer
questions differently from its parent; so types are compared, and not classes asked.
"""

from __future__ import annotations

import datetime
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from .errors import BadParameter

_Test = Callable[[object], bool]


def check_fields(value: object) -> None:
    """Raise `BadParameter` unless each field of a dataclass instance holds exactly what is declared for it.

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
    return tuple((one.name, _test(hints[one.name]), f"of type {_told(hints[one.name])}") for one in fields(kind))


def _test(hint: Any) -> _Test:
    """Return what decides whether a value is of a type."""
    leaves = _leaves(hint)
    if leaves is not None:
        return lambda value: type(value) in leaves and _plain(value)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        words = frozenset((type(word), word) for word in arguments)
        return lambda value: isinstance(value, (int, str)) and (type(value), value) in words
    if origin in (typing.Union, types.UnionType):
        tests = tuple(_test(one) for one in arguments)
        return lambda value: any(test(value) for test in tests)
    if origin is tuple and arguments[-1] is ...:
        return _several(arguments[0])
    if origin is tuple:
        tests = tuple(_test(one) for one in arguments)
        return lambda value: (
            type(value) is tuple
            and len(value) == len(tests)
            and all(test(item) for test, item in zip(tests, value, strict=True))
        )
    if origin is Mapping:
        of_key, of_item = (_test(one) for one in arguments)
        return lambda value: (
            isinstance(value, Mapping) and all(of_key(key) and of_item(item) for key, item in value.items())
        )
    raise TypeError(f"{hint} says nothing that can be checked")


def _several(hint: Any) -> _Test:
    """Return what decides whether a value is a tuple of a type; of a long one, each type is looked at once."""
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
        several = [_leaves(one) for one in typing.get_args(hint)]
        return None if None in several else frozenset().union(*(one for one in several if one is not None))
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
        return " or ".join(dict.fromkeys(_told(one) for one in arguments))
    if origin is tuple:
        inside = [_told(one) for one in arguments if one is not ...]
        return f"tuple of {' and '.join(inside)}"
    return f"mapping of {' to '.join(_told(one) for one in arguments)}"
