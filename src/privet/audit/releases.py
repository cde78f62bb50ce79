"""Releases as numbers: whatever a mechanism returns becomes a row, with a column for each place that has a value.

Texts, None, NaN, infinities, cells that are not there and errors become numbers that no release can have.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.core.errors import BadParameter, PrivetError, RequestError
from privet.core.given import truth
from privet.mechanisms import Mechanism

if TYPE_CHECKING:
    from privet.core.event import Floats


Outputs = Any
"""Many releases: an array with one release for each row, a data frame, or a sequence of any values."""

Place = tuple[str | int, ...]
"""Where a value stands in a release: () for a single value, (3,) in a vector, ("n", 0) in a table."""

LARGEST = 1e299
"""Numbers beyond this size count as this; larger ones stand for something else."""
_NAN, _ABSENT, _NONE, _INFINITE, _TEXT = -1e300, -2e300, -3e300, 1e300, 1e301
_MOST_PLACES = 512
_BATCHED = "it takes an input and a count, and returns an array with a row for each release, or a list of this length"
_HASHED = 6
"""Bytes of a text's hash: enough that no two texts meet, and few enough that a double represents them."""

NAMES: dict[float, str] = {
    _NAN: "NaN",
    _ABSENT: "not there",
    _NONE: "None",
    _INFINITE: "infinite",
    -_INFINITE: "minus infinite",
}


@dataclass(frozen=True)
class Raised:
    """The release of a call that raised: an error is an output like any other."""

    name: str


@dataclass(frozen=True)
class Releases:
    """A number of releases, and the numbers that each place of them has."""

    count: int
    columns: Mapping[Place, Floats]
    names: Mapping[float, str] = field(default_factory=dict)
    """What the numbers that stand for texts stand for."""
    rows: Floats | None = None
    """All columns beside each other, where they came as one array."""

    def at(self, places: Sequence[Place]) -> Floats:
        """Return a row for each release and a column for each place, absent or not."""
        if self.rows is not None and tuple(places) == tuple(self.columns):
            return self.rows
        table = np.empty((self.count, len(places)))
        for index, place in enumerate(places):
            table[:, index] = self.columns.get(place, _ABSENT)
        return table


def places_of(*several: Releases) -> tuple[Place, ...]:
    """Return every place that has a value in some of the releases."""
    places = tuple(dict.fromkeys(place for releases in several for place in releases.columns))
    return places or ((),)


def read_releases(outputs: Outputs, count: int) -> Releases:
    """Return releases as numbers, refusing any other number of them."""
    columns = _frame(outputs)
    if columns is not None:
        _check(len(outputs), count)
        return Releases(count, {place: _coded(column) for place, column in columns.items()})
    array = _listed(outputs)
    _check(len(outputs), count)
    if array is None:
        return _read_each(outputs, count)
    rows = _coded(array.reshape(count, -1))
    places: list[Place] = list(np.ndindex(array.shape[1:]))
    return Releases(count, {place: rows[:, index] for index, place in enumerate(places)}, rows=rows)


def _check(got: int, count: int) -> None:
    if got != count:
        raise RequestError(f"a batched mechanism was asked for {count:,} releases and returned {got:,}; {_BATCHED}")


def _frame(outputs: Outputs) -> dict[Place, Any] | None:
    """Return the columns of a data frame or an Arrow table whose rows are releases, where they are numbers."""
    if not hasattr(outputs, "columns") or not hasattr(outputs, "__getitem__"):
        return None
    names = getattr(outputs, "column_names", None) or list(outputs.columns)
    columns: dict[Place, Any] = {(str(name),): np.asarray(outputs[name]) for name in names}
    if all(column.dtype.kind in "fiub" for column in columns.values()):
        return columns
    raise RequestError(
        "a batched mechanism returned a data frame with cells that are not numbers; "
        "return a list with a dict for each of its rows"
    )


def _listed(outputs: Outputs) -> Any:
    """Return numbers, or vectors of one length, as an array; None if that is not what the releases are."""
    if isinstance(outputs, (str, bytes, Mapping)) or not (isinstance(outputs, Sized) and isinstance(outputs, Iterable)):
        raise RequestError(f"a batched mechanism returned one value of type {type(outputs).__name__}; {_BATCHED}")
    try:
        array = np.asarray(outputs)
    except (ValueError, TypeError, OverflowError):  # lists of several lengths, or objects that are not arrays
        return None
    return array if array.dtype.kind in "fiub" and array.ndim and array.size else None


def _coded(column: Any) -> Floats:
    numbers = np.asarray(column, dtype=np.float64)
    if numbers.size and np.abs(numbers).max() <= LARGEST:
        return numbers + 0.0  # no minus zero
    plain = np.nan_to_num(np.clip(numbers, -LARGEST, LARGEST), nan=_NAN) + 0.0
    return np.asarray(np.where(np.isinf(numbers), np.copysign(_INFINITE, numbers), plain))


def _read_each(outputs: Iterable[Any], count: int) -> Releases:
    columns: dict[Place, Floats] = {}
    codes: dict[str, float] = {}
    for row, value in enumerate(outputs):
        for place, leaf in _leaves(value, ()):
            column = columns.get(place)
            if column is None:
                if len(columns) == _MOST_PLACES:
                    continue
                column = columns[place] = np.full(count, _ABSENT)
            column[row] = _code(leaf, codes)
    return Releases(count, columns, {code: text for text, code in codes.items()})


def _leaves(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    """Yield the values within a release, and where they stand."""
    inner = _opened(value)
    match inner:
        case Mapping():
            for key, part in inner.items():
                yield from _leaves(part, (*place, key if isinstance(key, int) else str(key)))
        case list() | tuple():
            if not inner:
                yield (*place, "length"), 0
            for index, part in enumerate(inner):
                yield from _leaves(part, (*place, index))
        case _:
            yield place, inner


def _opened(value: Any) -> Any:
    """Return a table, an array or a record as a mapping or a list; anything else as it is."""
    if value is None or isinstance(value, (str, bytes, bool, int, float, list, tuple, Mapping, Raised)):
        return value
    if hasattr(value, "to_pydict"):  # an Arrow table
        return value.to_pydict()
    if hasattr(value, "columns") and hasattr(value, "__getitem__"):  # a data frame
        return {str(name): list(value[name]) for name in value.columns}
    for method in ("as_py", "to_pylist", "tolist", "to_list", "to_dict"):
        if callable(getattr(value, method, None)):
            return getattr(value, method)()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    return value


def _code(leaf: Any, codes: dict[str, float]) -> float:
    if isinstance(leaf, Real):
        return _number(leaf)
    if leaf is None:
        return _NONE
    if isinstance(leaf, Raised):
        text = f"raised {leaf.name}"
    elif f" at 0x{id(leaf):x}" in (text := repr(leaf)):  # the place in memory is no part of the release
        allowed = "a function that returns numbers, texts, lists, dicts or tables"
        raise BadParameter("mechanism", f"one that returns {type(leaf).__name__}", allowed)
    code = codes.get(text)
    if code is None:
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=_HASHED).digest()
        code = codes[text] = _TEXT * (1 + int.from_bytes(digest, "big") / 2 ** (8 * _HASHED))
    return code


def _number(leaf: Any) -> float:
    try:
        number = float(leaf)
    except OverflowError:
        return LARGEST if leaf > 0 else -LARGEST
    if math.isnan(number):
        return _NAN
    if math.isinf(number):
        return math.copysign(_INFINITE, number)
    return min(max(number, -LARGEST), LARGEST) + 0.0


def row_codes(rows: Floats) -> Floats:
    """Return a number for each row, the same for the same rows and (nearly surely) another for others."""
    bits = np.ascontiguousarray(rows).view(np.uint64)
    mixed = np.zeros(len(rows), dtype=np.uint64)
    for index in range(bits.shape[1]):
        mixed = (mixed ^ bits[:, index]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed >> np.uint64(11)).astype(np.float64)


# Draws releases, many at a time, of a mechanism or from any function. An error is an output like any other.


Draw = Callable[[Any, int], Outputs]
"""A function of an input and a count that returns this many releases."""


class Drawing:
    """Draws releases, and remembers whether any call has come back."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self.returned = False
        self.error: Exception | None = None

    def __call__(self, value: Any, count: int) -> Releases:
        """Return this many releases of an input, as numbers."""
        try:
            drawn = self._draw(value, count)
        except RequestError as error:
            raise RequestError(f"neighbours must be inputs that the mechanism takes: {error}") from None
        return read_releases(drawn, count)

    def verify_works(self) -> None:
        """Raise if every call so far has raised: then there is nothing to audit."""


class _Batched(Drawing):
    def __call__(self, value: Any, count: int) -> Releases:
        try:
            drawn = self._draw(value, count)
        except PrivetError:
            raise
        except Exception as error:
            raise RequestError(
                f"the batched mechanism raised {_told(error)} where {count:,} releases were asked for; errors count as "
                "outputs where releases are drawn one by one, by a function of the input alone"
            ) from error
        return read_releases(drawn, count)


class _OneByOne(Drawing):
    def __init__(self, mechanism: Callable[[Any], Any]) -> None:
        super().__init__(lambda value, count: [self._call(mechanism, value) for _ in range(count)])

    def _call(self, mechanism: Callable[[Any], Any], value: Any) -> Any:
        try:
            released = mechanism(value)
        except Exception as error:
            self.error = error
            return Raised(type(error).__name__)
        self.returned = True
        return released

    def verify_works(self) -> None:
        if not self.returned and self.error is not None:
            raise RequestError(f"the mechanism raised {_told(self.error)} on every call") from self.error


def _told(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}{f' ({text[:200]})' if text else ''}"


def make_draw(mechanism: object, batched: bool) -> Drawing:
    """Return how to draw many releases of a mechanism, of a function of an input, or of one of an input and a count."""
    if isinstance(mechanism, Mechanism):
        truth(batched, "batched")
        return Drawing(mechanism.simulate)
    if not callable(mechanism):
        raise BadParameter("mechanism", type(mechanism).__name__, "a mechanism, or a function of an input")
    return _Batched(mechanism) if truth(batched, "batched") else _OneByOne(mechanism)
