"""A person's memory on their own device, so that repeated reports cost no more: the permanent draw of each answer.

A lost memo is a second permanent draw. So a memo is made once, and one that `Memo.open` does not find is an error,
never a silent new one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from privet.core import given
from privet.core.durable_files import locked, replace_file
from privet.core.errors import BadParameter, BadValue, ParseError, RequestError, raise_alone
from privet.core.event import Composed, Event
from privet.core.numbers import whole

from .frequency_oracle import FrequencyOracle
from .randomizer import MOST_REPEATS
from .reports import Reports

_VERSION = 1
_LARGEST = 2**26


class Memo:
    """One person's permanent draws for one question: a new memo, which `Memo.open` finds again.

    The file contains answers and permanent bits: it belongs on the person's device and nowhere else.

    Args:
        oracle: the question's oracle.
        path: the file to make, which must not be there yet; kept in memory alone if left out.
        values: the number of different answers that may ever be reported, each at the price of a permanent draw.

    Raises:
        RequestError: if there is a file already.

    Example:
        >>> memo = local.Memo(local.KaryResponse(["no", "yes"], epsilon=1))
        >>> memo.report("yes") == memo.report("yes")
        True

    Guarantee: one permanent draw for each different answer, made durable before a report of it leaves; more different
    answers than were allowed are refused.
    """

    def __init__(self, oracle: FrequencyOracle, path: str | PathLike[str] | None = None, *, values: int = 1) -> None:
        self.oracle: FrequencyOracle = given.instance(oracle, FrequencyOracle, "oracle", "an oracle of frequencies")
        self._path = None if path is None else Path(given.path(path, "path", "a file to make, or None"))
        self._kept: dict[str, Any] = {
            "privet_memo": _VERSION,
            "survey": self.oracle.digest.hex(),
            "values": whole(values, "values", least=1, most=MOST_REPEATS),
            "draws": {},
            "reports": {},
        }
        with self._alone():
            if self._path is not None and os.path.lexists(self._path):
                raise RequestError(f"there is a file {str(self._path)!r} already; use Memo.open, or name another")
            self._write()

    @classmethod
    def open(cls, oracle: FrequencyOracle, path: str | PathLike[str]) -> Memo:
        """Return the memo of a file.

        Raises:
            RequestError: if it is lost, or not a memo of this oracle and survey.
        """
        memo = cls(oracle)
        memo._path = Path(given.path(path, "path", "the file of a memo"))
        with memo._alone():
            memo._read()
        return memo

    @property
    def draws(self) -> int:
        """The number of different answers that were drawn so far."""
        return len(self._kept["draws"])

    @property
    def reports(self) -> int:
        """The number of reports that were made so far."""
        return int(sum(self._kept["reports"].values()))

    @property
    def event(self) -> Event:
        """The event of all reports so far; it supposes that no earlier memo was lost."""
        counts = self._kept["reports"].values()
        return Composed(tuple(self.oracle.memoised(reports=count) for count in counts))

    def report(self, answer: Any) -> Reports:
        """Return a report of an answer, of the permanent draw that was made for it the first time.

        Raises:
            RequestError: if the answer is new and more different answers are not allowed.
        """
        number = self.oracle._read(answer)
        if number.ndim:
            raise BadValue("answer", "several", "one value of the domain")
        name = str(int(number))
        with self._alone():
            self._read()
            draws, counts = self._kept["draws"], self._kept["reports"]
            if name not in draws:
                if len(draws) >= self._kept["values"]:
                    raise RequestError(
                        "this answer was never reported before, and a new one is a new permanent draw, which costs "
                        f"epsilon {self.oracle.permanent_epsilon:.6g} more; this memo allows {self._kept['values']}"
                    )
                draws[name] = self.oracle._remember(int(number)).hex()
            counts[name] = counts.get(name, 0) + 1
            self._write()
            return self._recalled(draws[name])

    def _recalled(self, kept: str) -> Reports:
        try:
            return self.oracle._recall(bytes.fromhex(kept))
        except (ValueError, ParseError):
            self._damaged()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        lock = nullcontext() if self._path is None else locked(self._path.with_name(f".{self._path.name}.lock"))
        with lock:
            yield

    def _write(self) -> None:
        if self._path is not None:
            replace_file(self._path, json.dumps(self._kept).encode())

    def _read(self) -> None:
        if self._path is None:
            return
        try:
            with self._path.open("rb") as file:
                body = file.read(_LARGEST + 1)
        except OSError:
            raise_alone(
                RequestError(
                    f"the memo {str(self._path)!r} is lost or cannot be read; put it back. Without it, a new permanent "
                    f"draw costs epsilon {self.oracle.permanent_epsilon:.6g} again: Memo(...) makes one"
                )
            )
        try:
            self._kept = _checked(json.loads(body))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._damaged()
        if self._kept["survey"] != self.oracle.digest.hex():
            raise BadParameter("path", str(self._path), "a memo of this oracle and survey")

    def _damaged(self) -> NoReturn:
        raise_alone(RequestError(f"{str(self._path)!r} is not a whole memo; put back the latest copy of it"))

    def __repr__(self) -> str:
        return f"Memo({self.draws} of {self._kept['values']} answers drawn, {self.reports:,} reports, {self.oracle!r})"


def _checked(kept: Any) -> dict[str, Any]:
    """Return the contents of a file if it is a whole memo; raise `ValueError` otherwise."""
    draws, counts = kept["draws"], kept["reports"]
    whole_memo = (
        kept["privet_memo"] == _VERSION
        and type(kept["survey"]) is str
        and type(kept["values"]) is int
        and all(type(draw) is str for draw in draws.values())
        and all(type(count) is int and count > 0 for count in counts.values())
        and draws.keys() == counts.keys()
        and len(draws) <= kept["values"]
    )
    if not whole_memo:
        raise ValueError
    return {name: kept[name] for name in ("privet_memo", "survey", "values", "draws", "reports")}
