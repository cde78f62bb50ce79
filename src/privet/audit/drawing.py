"""Draws releases, many at a time, of a mechanism or from anybody's function. An error is an output like any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from privet.core.errors import BadParameter, PrivetError, RequestError
from privet.core.given import truth
from privet.mechanisms import Mechanism

from .releases import Outputs, Raised, Releases, read_releases

Draw = Callable[[Any, int], Outputs]
"""A function of an input and a count that returns so many releases."""


class Drawing:
    """Draws releases, and remembers whether any call has come back."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self.returned = False
        self.error: Exception | None = None

    def __call__(self, value: Any, count: int) -> Releases:
        """Return so many releases of an input, as numbers."""
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
