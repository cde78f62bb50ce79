"""The errors a caller can meet, each with a stable code, an exit status and an HTTP status.

A message states the question, its error and the remedy. It may quote a parameter, which is
public; it must never quote a private value.
"""

from __future__ import annotations

import difflib
import os
import re
import traceback
from collections.abc import Iterable
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from typing import ClassVar, NoReturn

_QUOTE_LIMIT = 60
_NAME_LIMIT = 100
_LISTED = 80
_IN_ADDRESS = re.compile(r"(:/{1,2}[^\s/:@]*:)\S*@")
_IN_WORDS = re.compile(r"((?:password|passwd|pwd|token|secret)\s*=\s*)(?:'[^']*'|\"[^\"]*\"|[^\s&;,'\"]+)", re.I)
_OWN = re.escape(os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep)
_FOREIGN = re.compile(rf"{_OWN}|[/\\](IPython|ipykernel)[/\\]")
"""Files whose frames do not help a caller: this package's own, and the notebook's."""


class PrivetError(Exception):
    """The root of every error that Privet raises on purpose.

    Example:
        >>> issubclass(privet.RequestError, privet.PrivetError), privet.PrivetError.code
        (True, 'privet')
    """

    code: ClassVar[str] = "privet"
    exit_status: ClassVar[int] = 70
    http_status: ClassVar[int] = 500

    def __init__(self, *told: object) -> None:
        super().__init__(*(without_passwords(value) if isinstance(value, str) else value for value in told))

    def to_dict(self) -> dict[str, object]:
        """Return the error as plain data: its code, its message and its typed fields."""
        fields = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return {"code": self.code, "message": str(self), **fields}

    def _render_traceback_(self) -> list[str]:
        """Return the traceback in a notebook: the caller's own lines and the message, and all of it on request.

        IPython calls this where an error ends a cell, and again for %tb.
        """
        frames = traceback.extract_tb(self.__traceback__)
        shown = [frame for frame in frames if not _FOREIGN.search(frame.filename)] if not self._rendered else frames
        self._rendered = True
        return "".join([*traceback.format_list(shown), *traceback.format_exception_only(self)]).splitlines()

    _rendered = False

    def __reduce__(self) -> tuple[object, ...]:
        # The default calls the class with the message alone, which no class with typed fields takes.
        return _restore, (type(self), self.args, dict(vars(self)))


class RequestError(PrivetError):
    """The caller can fix the request.

    Example:
        >>> privet.RequestError.code
        'request'
    """

    code = "request"
    exit_status = 2
    http_status = 400


class BadParameter(RequestError):
    """A public parameter has a value that is not allowed."""

    code = "request.parameter"

    def __init__(self, parameter: str, value: object, allowed: str) -> None:
        self.parameter = parameter
        self.value = quote(value)
        self.allowed = allowed
        super().__init__(f"{parameter} must be {allowed}; got {self.value}")


class BadValue(RequestError):
    """A private value has a type or shape that a mechanism cannot take; the message never quotes it."""

    code = "request.value"

    def __init__(self, parameter: str, kind: str, allowed: str) -> None:
        self.parameter = parameter
        self.kind = kind
        self.allowed = allowed
        super().__init__(f"{parameter} must be {allowed}; got {kind}")


class Unsupported(RequestError):
    """The request is understood, and there is no sound way to answer it."""

    code = "request.unsupported"


class ParseError(RequestError):
    """The text is not a query that Privet can read; `line` and `column` are the place, if it is known."""

    code = "request.parse"

    def __init__(self, problem: str, *, line: int | None = None, column: int | None = None) -> None:
        self.line = line
        self.column = column
        place = "" if line is None else f" (line {line}, column {column})"
        super().__init__(f"{problem}{place}")


class UnknownName(RequestError):
    """A table, column or function that does not exist; the nearest known one is suggested."""

    code = "request.unknown_name"

    def __init__(self, what: str, name: str, known: Iterable[str], *, advice: str = "") -> None:
        self.what = what
        self.name = _shorten(name)
        self.known = sorted(known)
        folded = {candidate.casefold(): candidate for candidate in self.known}
        near = difflib.get_close_matches(name[:_NAME_LIMIT].casefold(), folded, n=1)
        self.nearest = folded[near[0]] if near else None
        hint = f"did you mean {self.nearest!r}? " if self.nearest else ""
        listed = ", ".join(self.known[:_LISTED]) + (", ..." if len(self.known) > _LISTED else "")
        super().__init__(f"there is no {what} {self.name!r}; {hint}{advice or 'known: ' + (listed or 'none')}")


class Unbounded(RequestError):
    """A value that is to be summed has no public bounds."""

    code = "request.unbounded"

    def __init__(self, expression: str, *, column: str | None = None) -> None:
        self.expression = _shorten(expression)
        self.column = column
        ask = f"ask BOUNDS({column}) for a private range that you can declare, or clamp"
        fix = f"declare low and high for column {column!r}, {ask}" if column else "clamp"
        super().__init__(
            f"{self.expression} has no public bounds, so one person could move the answer without limit; "
            f"{fix} it in the query: LEAST(GREATEST({self.expression}, low), high)"
        )


class Unlimited(RequestError):
    """A table of people is declared without a limit on each one's contribution; `line` is the line to add."""

    code = "request.unlimited"

    def __init__(self, line: str = "contribution=Contribution(groups=3, rows=2)") -> None:
        self.line = line
        super().__init__(
            f"a table of people needs a limit on what one person contributes; add {line} with numbers that nearly "
            "everyone stays within: the groups that a person has rows in, and the rows in each. What people have above "
            "the limit is scaled down, so that totals come out too low; a higher limit needs more noise"
        )


class WrongKind(RequestError):
    """A function was called with values of a kind that it does not take."""

    code = "request.kind"

    def __init__(self, function: str, allowed: str, given: tuple[str, ...], *, advice: str = "") -> None:
        self.function = function
        self.allowed = allowed
        self.given = given
        hint = f"; {advice}" if advice else ""
        super().__init__(f"{function} takes {allowed}; got {' and '.join(given) or 'nothing'}{hint}")


def arguments_in_words(count: int) -> str:
    """Return a number of arguments in words, for messages."""
    return "1 argument" if count == 1 else f"{count or 'no'} arguments"


class BudgetError(PrivetError):
    """The request is fine; the budget is not.

    Example:
        >>> privet.BudgetError.code
        'budget'
    """

    code = "budget"
    exit_status = 3
    http_status = 409


class BudgetExceeded(BudgetError):
    """A charge does not fit into the remaining budget; all of its fields are public.

    The amounts are stated unless, by `countable`, people do not count in such a measure (a divergence).

    Example:
        >>> try:
        ...     session.ask("SELECT COUNT(*) FROM visits", epsilon=3)
        ... except privet.BudgetExceeded as refused:
        ...     print(refused.largest_epsilon)
        1.0
    """

    code = "budget.exceeded"

    def __init__(
        self,
        *,
        measure: str,
        requested: float,
        remaining: float,
        largest_epsilon: float,
        largest_rho: float | None = None,
        error: str = "",
        countable: bool = True,
    ) -> None:
        self.measure = measure
        self.requested = requested
        self.remaining = remaining
        self.largest_epsilon = largest_epsilon
        self.largest_rho = largest_rho
        self.error = error
        name, largest = ("epsilon", largest_epsilon) if largest_rho is None else ("rho", largest_rho)
        advice = (
            f"the largest {name} that still fits is {_down(largest)}{error and f', with {error}'}"
            if largest > 0
            else "nothing that costs anything fits any more"
        )
        self.countable = countable
        amounts = f"{requested:.6g} of {measure}, and {_down(remaining)} is left"
        super().__init__(f"this costs {amounts if countable else 'more than is left of the budget'}; {advice}")


class LedgerError(PrivetError):
    """The ledger cannot be trusted, or cannot be reached."""

    code = "ledger"
    exit_status = 5
    http_status = 503


class EngineError(PrivetError):
    """The database failed. Its own message stays inside, since it may quote a row; ours is always the same."""

    code = "engine"
    exit_status = 4
    http_status = 502

    def __init__(self) -> None:
        super().__init__(
            "the database could not answer within its limits of time and memory; "
            "the custodian can raise the limits or look at the table's source"
        )


class AccessError(PrivetError):
    """The caller is unknown, or may not do this. Others' objects and missing ones are refused alike.

    Example:
        >>> privet.AccessError.http_status, privet.AccessError.exit_status
        (401, 6)
    """

    code = "access"
    exit_status = 6
    http_status = 401


class Forbidden(AccessError):
    """The caller is known, and the role is another one."""

    code = "access.forbidden"
    http_status = 403


class NotFound(AccessError):
    """There is no such thing for this caller: whether others have one is not revealed."""

    code = "access.not_found"
    http_status = 404


class Busy(PrivetError):
    """The server is overloaded, or the caller asks too fast; nothing was charged. Try again after `retry_after`.

    Example:
        >>> privet.Busy.http_status, privet.Busy.exit_status
        (503, 7)
    """

    code = "busy"
    exit_status = 7
    http_status = 503

    def __init__(self, problem: str, *, retry_after: int = 1) -> None:
        self.retry_after = retry_after
        super().__init__(f"{problem}; nothing was charged, try again in {retry_after} s")


class TooFast(Busy):
    """The caller asks more often than the limits allow."""

    code = "busy.rate"
    http_status = 429


class InvariantError(PrivetError):
    """Privet is wrong: a fact that its proofs rely on is not true."""

    code = "invariant"


def raise_alone(error: BaseException) -> NoReturn:
    """Raise an error that carries nothing of another one that is being handled.

    `raise ... from None` only hides what is handled: it stays in `__context__`, with its text, which may quote a row,
    and with the frames in which it came up, where the rows themselves may be.

    Guarantee: neither `__context__` nor `__cause__` of what is raised holds anything, also where this is called in an
    `except` block. Leaving a block does not set them again.
    """
    try:
        raise error
    finally:
        error.__context__ = error.__cause__ = None


def bare(error: PrivetError) -> PrivetError:
    """Return an error of this package without all that was hung on it on its way: others, frames and notes."""
    error.__context__ = error.__cause__ = error.__traceback__ = None
    vars(error).pop("__notes__", None)
    return error


def _down(amount: float) -> str:
    """Return an amount in six digits, rounded down: the remainder that a refusal states can be spent."""
    if amount in (float("inf"), float("-inf")):
        return str(amount)
    return f"{float(Context(prec=6, rounding=ROUND_FLOOR).create_decimal(repr(amount))) or 0.0:.6g}"


def _shorten(name: str) -> str:
    name = without_passwords(name)
    return name if len(name) <= _NAME_LIMIT else f"{name[:_NAME_LIMIT]}..."


def _restore(kind: type[PrivetError], args: tuple[object, ...], fields: dict[str, object]) -> PrivetError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


def without_passwords(text: str) -> str:
    """Return a text with every password of an address of a database in it left out: messages are logged and sent on."""
    hidden = _IN_ADDRESS.sub(r"\g<1>***@", text)
    return _IN_WORDS.sub(r"\g<1>***", hidden)


def _written(value: object) -> str:
    """Return a value as Python writes it; fractions as numbers, and paths as texts."""
    if type(value) is Fraction:
        near = f"{float(value):.15g}"
        return near if value in (Fraction(near), Fraction(float(value))) else str(value)
    return repr(str(value)) if isinstance(value, os.PathLike) else repr(value)


def quote(value: object) -> str:
    """Return a short, safe rendering of a public value for a message."""
    if type(value) is int and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = without_passwords(" ".join(_written(value).split()))
    except Exception:  # a foreign repr may raise any error, and the caller needs the message all the same
        return f"a {type(value).__name__}"
    return text if len(text) <= _QUOTE_LIMIT else f"{text[:_QUOTE_LIMIT]}... (a {type(value).__name__})"
