"""What is wrong with a privet.toml, all of it at once, each with its line and with what to write instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from privet.core.errors import BadParameter, RequestError, quote, without_passwords
from privet.core.given import read_fields

from .locate import KeyPath, Places

T = TypeVar("T")
_SHOWN = 40
_DECIMAL = re.compile(r"Decimal\('([^']*)'\)")


@dataclass(frozen=True, order=True)
class Problem:
    """One thing to change in the file: its line, the key that it is about, and what to do."""

    line: int
    key: str
    message: str

    def __post_init__(self) -> None:
        read_fields(self)

    def __str__(self) -> str:
        about = f"{self.key}: " if self.key else ""
        return f"line {self.line}: {about}{self.message}"


class BadConfig(RequestError):
    """A privet.toml that cannot be used as it is; `problems` has all that is wrong with it."""

    code = "request.config"

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        found = sorted(problems)
        self.file = file
        self.problems = [asdict(problem) for problem in found]
        shown = [f"  {problem}" for problem in found[:_SHOWN]]
        if len(found) > _SHOWN:
            shown.append(f"  and {len(found) - _SHOWN} more")
        what = "one thing" if len(found) == 1 else f"{len(found)} things"
        super().__init__("\n".join([f"{file} has {what} to put right:", *shown]))


class Problems:
    """Collects what is wrong while a file is read."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.found: list[Problem] = []
        self._seen: set[Problem] = set()

    def add(self, path: KeyPath, message: str) -> None:
        """Note what is wrong with a key."""
        message = "".join(sign if sign.isprintable() else "?" for sign in _DECIMAL.sub(r"\1", message))
        key = ".".join(_spelt(part) for part in path)
        problem = Problem(self.places.line(path), without_passwords(key), without_passwords(message))
        if problem not in self._seen:
            self._seen.add(problem)
            self.found.append(problem)


class Section:
    """One table of the file while it is read. Each key is asked for by name; `finish` refuses what nobody asked for."""

    def __init__(self, data: Mapping[str, Any], path: KeyPath, problems: Problems) -> None:
        self.data = data
        self.path = path
        self.problems = problems
        self._known: list[str] = []

    def has(self, key: str) -> bool:
        """Return whether the table has a key, which is then known."""
        if key not in self._known:
            self._known.append(key)
        return key in self.data

    def problem(self, key: str | None, message: str) -> None:
        """Note what is wrong with a key, or with the table."""
        self.problems.add(self.path if key is None else (*self.path, key), message)

    def read(self, key: str, reader: Callable[[Any], T], default: T) -> T:
        """Return what a reader makes of a key's value; the default if it is absent, or refused, which is noted."""
        if not self.has(key):
            return default
        try:
            return reader(self.data[key])
        except BadParameter as error:
            about = "" if error.parameter == key else f"{error.parameter} "
            self.problem(key, f"{about}must be {error.allowed}; got {error.value}")
        except RequestError as error:
            self.problem(key, str(error))
        return default

    def need(self, key: str, reader: Callable[[Any], T], write: str) -> T | None:
        """Return what a reader makes of a key's value; where it is absent, say what to write."""
        if not self.has(key):
            self.problem(None, f"{key} is missing; write {write}")
            return None
        return self.read(key, reader, None)

    def section(self, key: str, write: str) -> Section | None:
        """Return a table within this one; None where it is absent or no table, which is noted."""
        if not self.has(key):
            return None
        if not isinstance(self.data[key], dict):
            self.problem(key, f"must be a table, such as {write}; got {quote(self.data[key])}")
            return None
        return Section(self.data[key], (*self.path, key), self.problems)

    def sections(self, write: str) -> dict[str, Section]:
        """Return every table within this one, by name."""
        found = {name: self.section(name, write) for name in self.data}
        return {name: section for name, section in found.items() if section is not None}

    def finish(self) -> None:
        """Refuse every key that was not asked for, with the nearest that is known."""
        unknown = [key for key in self.data if key not in self._known]
        for key in unknown[:_SHOWN]:
            self.problem(key, f"is not known here; {nearest(key, self._known)}")
        if len(unknown) > _SHOWN:
            self.problem(unknown[_SHOWN], f"is not known here, nor are {len(unknown) - _SHOWN - 1:,} more keys")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the advice for a name that is not known: the nearest one that is, or all."""
    names = sorted(known)
    folded = {one.casefold(): one for one in names}
    near = difflib.get_close_matches(name[:100].casefold(), folded, n=1)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    return f"known: {', '.join(names[:_SHOWN]) or 'none'}{', ...' if len(names) > _SHOWN else ''}"


def _spelt(part: str | int) -> str:
    text = str(part)
    short = text if len(text) <= 60 else f"{text[:60]}..."
    return short if short.isprintable() and short.replace("_", "").replace("-", "").isalnum() else quote(short)
