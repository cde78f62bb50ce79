"""The text that digests are computed from: each class in it has a name and a list of fields that never change.

A stored answer is found by its plan's digest. So hashed texts use frozen names, and not those that
classes and attributes have in the code: these can be renamed, moved and merged, and every stored answer is still found.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeVar

from .errors import InvariantError

T = TypeVar("T")
Read = Callable[[Any], Sequence[object]]


@dataclass(frozen=True)
class Form:
    """How a value is written: a name, and its fields in order, for good.

    A field of `later` was added after answers had been stored; it is left out where it has the value stated there, so
    that the text of older plans stays as it was.
    """

    name: str
    fields: tuple[str, ...]
    later: Mapping[str, object]

    def write(self, values: Sequence[object]) -> list[object]:
        """Return a value in a form for JSON, from one value for each field."""
        if len(values) != len(self.fields):
            raise InvariantError(f"a {self.name} is written with {len(self.fields)} fields")
        kept: Sequence[object] = values
        if self.later:
            later = self.later
            kept = [
                item for name, item in zip(self.fields, values, strict=True) if name not in later or item != later[name]
            ]
        return [self.name, *[item if type(item) in _AS_THEY_ARE else _plain(item) for item in kept]]


def form_of(name: str, *names: str, later: Mapping[str, object] | None = None) -> Form:
    """Return a frozen form: its name, its fields in order, and then those added later, each with its default."""
    added = MappingProxyType(dict(later or {}))
    return Form(name, (*names, *added), added)


def wired(
    name: str, *names: str, later: Mapping[str, object] | None = None, now: Mapping[str, str] | None = None
) -> Callable[[type[T]], type[T]]:
    """Return a decorator that sets how instances of a dataclass are written: each of its fields is one of the form's.

    Args:
        name: the frozen name; the class itself may be renamed.
        names: the frozen names of the fields, in their frozen order.
        later: the fields that were added since, with the value at which each is left out.
        now: the attribute that holds a field, where it has another name than the field.
    """
    form, elsewhere = form_of(name, *names, later=later), dict(now or {})
    attributes = [elsewhere.get(field, field) for field in form.fields]

    def bind(kind: type[T]) -> type[T]:
        if sorted(attributes) != sorted(field.name for field in fields(kind)):  # type: ignore[arg-type]
            raise InvariantError(f"the fields of {kind.__name__} are not those that it is written with")
        return _bind(kind, (form,), _written(form, _reader(attributes)))

    return bind


def wired_by(write: Callable[[T], tuple[Form, Sequence[object]]], *forms: Form) -> Callable[[type[T]], type[T]]:
    """Return a decorator for a class whose instances are written in forms other than its own fields.

    So a class can take the place of others: `write` returns one of the `forms`, and a value for each of its fields.
    """

    def text(value: T) -> list[object]:
        form, values = write(value)
        if form not in forms:
            raise InvariantError(f"a {type(value).__name__} is written in a form that it did not declare")
        return form.write(values)

    return lambda kind: _bind(kind, forms, text)


def forms() -> dict[type, tuple[Form, ...]]:
    """Return every class that can be written, with the forms that it is written in."""
    return dict(_FORMS)


def canonical(value: object) -> str:
    """Return a text that is the same for equal values, in any process, on any machine and in any later version."""
    return _JSON.encode(_plain(value))


_JSON = json.JSONEncoder(separators=(",", ":"), sort_keys=True, check_circular=False)
_AS_THEY_ARE = frozenset((type(None), bool, int, str))
"""The types that JSON has: long lists of public keys are passed on at once."""

_FORMS: dict[type, tuple[Form, ...]] = {}
_WRITERS: dict[type, Callable[[Any], list[object]]] = {}


def _bind(kind: type[T], forms: tuple[Form, ...], write: Callable[[Any], list[object]]) -> type[T]:
    _FORMS[kind], _WRITERS[kind] = forms, write
    return kind


def _written(form: Form, read: Read) -> Callable[[Any], list[object]]:
    return lambda value: form.write(read(value))


def _reader(names: Sequence[str]) -> Read:
    """Return a function that reads these attributes of a value, in order."""
    if not names:
        return lambda _: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda value: (get(value),)


def _plain(value: object) -> object:
    """Return a value in a form for JSON.

    Guarantee: a dataclass is written in a form that was declared for exactly its class. There is no other way: a name
    that is taken from the code would change with it, and a subclass could be taken for its parent.
    """
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    write = _WRITERS.get(kind)
    if write is not None:
        return write(value)
    if kind is Fraction:
        return ["/", str(value.numerator), str(value.denominator)]  # type: ignore[attr-defined]
    match value:
        case tuple() | list():
            return value if _AS_THEY_ARE.issuperset(map(type, value)) else [_plain(item) for item in value]
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case datetime.timedelta():
            return ["@", value.days, value.seconds, value.microseconds]
        case datetime.date():
            return ["@", value.isoformat()]
    if is_dataclass(value):
        raise InvariantError(f"a {kind.__name__} has no wire form: a digest is made of names that do not change")
    match value:
        case int() | str():  # a subclass of these, as names of columns may be, is written as they are
            return value
    raise TypeError(f"a {kind.__name__} has no place in a plan")
