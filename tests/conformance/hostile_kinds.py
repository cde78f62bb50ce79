"""Whether a value is of a kind that a parameter may have: by its annotation, its default, or an example that works.

This is the oracle of the hostile trials. It says nothing about ranges, only that a text is not a number, that NaN is
none either, and that a list of numbers holds no text.
"""

from __future__ import annotations

import collections.abc
import datetime
import inspect
import math
import numbers
import operator
import os
import types
import typing
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

ANYTHING = (Any, object, inspect.Parameter.empty, TypeVar)
_SEQUENCES = (
    collections.abc.Sequence,
    collections.abc.Iterable,
    collections.abc.Collection,
    collections.abc.Iterator,
    list,
    tuple,
    set,
    frozenset,
    np.ndarray,
)


def read_hint(parameter: inspect.Parameter, function: Any) -> Any:
    """Return a parameter's annotation as a type, or Any where it cannot be evaluated."""
    hint = parameter.annotation
    if not isinstance(hint, str):
        return Any if hint is inspect.Parameter.empty else hint
    module = inspect.getmodule(function)
    names = {**vars(typing), **vars(collections.abc), "np": np, "datetime": datetime, "os": os, **vars(module)}
    names.setdefault("Path", __import__("pathlib").Path)
    names.setdefault("NDArray", np.typing.NDArray)
    try:
        return eval(hint, names)
    except Exception:
        return Any


def is_number(value: object, *, whole: bool = False) -> bool:
    """Return whether a value is a finite number, by the rules of `privet.core.numbers`."""
    try:
        if isinstance(value, (bool, np.bool_, complex, np.timedelta64, np.datetime64)) or hasattr(value, "__len__"):
            return False
        if whole:
            operator.index(value)  # type: ignore[arg-type]
            return True
        if isinstance(value, (int, float, Fraction, Decimal, np.floating, np.integer)):
            return bool(math.isfinite(value)) if isinstance(value, (float, Decimal, np.floating)) else True
        operator.index(value)  # type: ignore[arg-type]
    except Exception:
        return False
    return True


def is_like(value: object, example: object) -> bool:
    """Return whether a value is of the kind of an example that works."""
    try:
        return _is_like(value, example)
    except Exception:
        return False


def _is_like(value: object, example: object) -> bool:
    if example is None:
        return value is None
    if isinstance(example, (bool, np.bool_)):
        return isinstance(value, (bool, np.bool_))
    if isinstance(example, (numbers.Number, Decimal)):
        return is_number(value)
    if isinstance(example, str):
        return isinstance(value, str)
    if isinstance(example, os.PathLike):
        return isinstance(value, (str, os.PathLike))
    if isinstance(example, collections.abc.Mapping):
        return isinstance(value, collections.abc.Mapping)
    if isinstance(example, (list, tuple, range, np.ndarray)):
        if not isinstance(value, (collections.abc.Iterable, np.ndarray)) or isinstance(value, (str, bytes)):
            return False
        return not len(example) or all(is_like(entry, example[0]) for entry in _entries(value))
    if callable(example):
        return callable(value)
    return isinstance(value, type(example)) or any(
        base.__module__.startswith("privet.") and isinstance(value, base) for base in type(example).__mro__
    )


def is_allowed(value: object, hint: Any, example: object) -> bool:
    """Return whether a value may be accepted where `hint` is written and `example` works."""
    try:
        return _is_allowed(value, hint, example)
    except Exception:
        return False


def _is_allowed(value: object, hint: Any, example: object) -> bool:
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if hint is object:
        return is_like(value, example)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(is_allowed(value, one, example) for one in arguments)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if hint is None or hint is type(None):
        return value is None
    if hint is bool:
        return isinstance(value, (bool, np.bool_))
    if hint is int or hint is typing.SupportsIndex:
        return is_number(value, whole=True)
    if hint is float and isinstance(value, float) and math.isinf(value):
        return True
    if hint in (float, Fraction, Decimal):
        return is_number(value)
    if hint is str:
        return isinstance(value, str)
    if origin is os.PathLike or hint is os.PathLike:
        return isinstance(value, os.PathLike)
    if hint is collections.abc.Callable or origin is collections.abc.Callable:
        return callable(value)
    if origin is type:
        return isinstance(value, type)
    if origin in (collections.abc.Mapping, dict):
        return isinstance(value, collections.abc.Mapping) and all(
            is_allowed(entry, one, None)
            for pair in value.items()
            for entry, one in zip(pair, arguments or (Any, Any), strict=True)
        )
    if origin is collections.abc.Iterable and isinstance(value, str) and isinstance(arguments[0], TypeVar):
        return True  # the letters of a text are items like any others
    if origin in _SEQUENCES or hint in _SEQUENCES:
        if not isinstance(value, (collections.abc.Iterable, np.ndarray)) or isinstance(value, (str, bytes)):
            return False
        inner = arguments[0] if arguments and origin is not np.ndarray else Any
        first = next(iter(example), None) if isinstance(example, (list, tuple)) else None
        return all(is_allowed(entry, inner, first) for entry in _entries(value))
    if isinstance(hint, type):
        try:
            return isinstance(value, hint) or is_like(value, example)
        except TypeError:
            return True  # a protocol that cannot be asked
    return True


def _entries(value: Any) -> list[Any]:
    if isinstance(value, range):
        return [0]
    if isinstance(value, np.ndarray):
        return list(value)[:50] if value.ndim > 1 else list(value.flat)[:50]
    try:
        return list(value)[:50] if isinstance(value, collections.abc.Collection) else []
    except Exception:
        return []


def holds_nan(value: object, depth: int = 4) -> bool:
    """Return whether NaN is anywhere in a result, as far as plain containers and fields of our values go."""
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, complex):
        return math.isnan(value.real) or math.isnan(value.imag)
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "fc":
            return bool(np.isnan(value).any())
        return value.dtype == object and any(holds_nan(entry, depth - 1) for entry in list(value.flat)[:50])
    if depth == 0:
        return False
    if isinstance(value, collections.abc.Mapping):
        return any(holds_nan(entry, depth - 1) for pair in list(value.items())[:50] for entry in pair)
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(holds_nan(entry, depth - 1) for entry in list(value)[:50])
    if type(value).__module__.startswith("privet.") and hasattr(type(value), "__dataclass_fields__"):
        return (
            any(holds_nan(entry, depth - 1) for entry in vars(value).values()) if hasattr(value, "__dict__") else False
        )
    return False
