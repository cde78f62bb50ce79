"""The problems of a privet.toml, all at once, each with its line and the correction."""

from __future__ import annotations

import difflib
import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from privet.core.errors import BadParameter, RequestError, quote, without_passwords
from privet.core.given import read_fields

# The line of each key of a TOML document: Python's reader returns values and forgets their lines.
#
# It only reads text that the reader has accepted, and finds keys, never values. A key that it cannot place is reported
# with the line of the table around it, never with a made-up one.


KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_COMMENT = re.compile(r"#[^\n]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r"'[^'\n]*'")
_LONG_BASIC = re.compile(r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*"{3,5}')
_LONG_LITERAL = re.compile(r"'''(?:[^']|'(?!''))*'{3,5}")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_TODO = re.compile(r"#\s*TODO\(privet\):\s*(.*)")


@dataclass(frozen=True)
class KeyPlaces:
    """The line of each key, and the notes where something is still to be filled in."""

    lines: Mapping[KeyPath, int]
    todos: tuple[tuple[int, str], ...]

    def line(self, path: KeyPath) -> int:
        """Return the line of a key, or else that of the nearest table around it; 1 for the file."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1


def locate(text: str) -> KeyPlaces:
    """Return the lines of the keys of a valid TOML document."""
    scanner = _Scanner(text.replace("\r\n", "\n"))
    scanner.run()
    return KeyPlaces(scanner.lines, tuple(scanner.todos))


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.todos: list[tuple[int, str]] = []
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self._elements: dict[KeyPath, int] = {}

    def run(self) -> None:
        table: KeyPath = ()
        for _ in self._statements():
            if self._next("[["):
                table = self._element()
            elif self._next("["):
                line, keys = self._line(), self._keys()
                table = self._place((), keys, line)
                self.lines[table] = line
                self._expect("]")
            else:
                self._pair(table)

    def _statements(self) -> Iterator[None]:
        self._skip()
        while self.at < len(self.text):
            yield
            self._skip()

    def _element(self) -> KeyPath:
        """Return the path of one more table of an array of tables."""
        line, keys = self._line(), self._keys()
        table = (*self._place((), keys[:-1], line), keys[-1])
        self._expect("]]")
        self.lines.setdefault(table, line)
        place = self._elements.get(table, -1) + 1
        self._elements[table] = place
        self.lines[(*table, place)] = line
        return (*table, place)

    def _place(self, table: KeyPath, keys: list[str], line: int) -> KeyPath:
        """Return the path that keys name from a table on, and note the line of all that has none yet."""
        for key in keys:
            table = (*table, key)
            self.lines.setdefault(table, line)
            if table in self._elements:  # further keys belong to the last element
                table = (*table, self._elements[table])
        return table

    def _pair(self, table: KeyPath) -> None:
        line = self._line()
        path = self._place(table, self._keys(), line)
        self._expect("=")
        self._space()
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        if self._next("["):
            self._many(path, "]")
        elif self._next("{"):
            self._many(path, "}")
        else:
            for form in (_LONG_BASIC, _LONG_LITERAL, _BASIC, _LITERAL, _SCALAR):
                match = form.match(self.text, self.at)
                if match:
                    self.at = match.end()
                    return

    def _many(self, path: KeyPath, closing: str) -> None:
        """Read on to the end of an array or of an inline table."""
        place = 0
        self._skip()
        while not self._next(closing):
            if closing == "}":
                self._pair(path)
            else:
                self.lines[(*path, place)] = self._line()
                self._value((*path, place))
                place += 1
            self._skip()
            self._next(",")
            self._skip()

    def _keys(self) -> list[str]:
        keys = [self._key()]
        while self._next("."):
            keys.append(self._key())
        return keys

    def _key(self) -> str:
        self._space()
        for form in (_BARE, _BASIC, _LITERAL):
            match = form.match(self.text, self.at)
            if match:
                self.at = match.end()
                self._space()
                return match[0] if form is _BARE else str(tomllib.loads(f"key = {match[0]}")["key"])
        raise ValueError("not a key")

    def _next(self, mark: str) -> bool:
        matches = self.text.startswith(mark, self.at)
        self.at += len(mark) if matches else 0
        return matches

    def _expect(self, mark: str) -> None:
        if not self._next(mark):
            raise ValueError("not what the reader accepted")

    def _space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _skip(self) -> None:
        match = _BLANK.match(self.text, self.at)
        if not match:
            return
        for comment in _COMMENT.finditer(self.text, self.at, match.end()):
            todo = _TODO.match(comment[0])
            if todo:
                self.todos.append((self._line(comment.start()), todo[1].strip()))
        self.at = match.end()

    def _line(self, at: int | None = None) -> int:
        return bisect_right(self._ends, (self.at if at is None else at) - 1) + 1


T = TypeVar("T")
_SHOWN = 40
_DECIMAL = re.compile(r"Decimal\('([^']*)'\)")


@dataclass(frozen=True, order=True)
class Problem:
    """One thing to change in the file: its line, the key that it is about, and what to do.

    Example:
        >>> config.Problem(3, "budget", "name a budget").line
        3
    """

    line: int
    key: str
    message: str

    def __post_init__(self) -> None:
        read_fields(self)

    def __str__(self) -> str:
        about = f"{self.key}: " if self.key else ""
        return f"line {self.line}: {about}{self.message}"


class BadConfig(RequestError):
    """A privet.toml that cannot be used as it is; `problems` lists all its problems.

    Example:
        >>> wrong = config.BadConfig("privet.toml", [config.Problem(3, "budget", "name a budget")])
        >>> wrong.problems[0]["line"]
        3
    """

    code = "request.config"

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        ordered = sorted(problems)
        self.file = file
        self.problems = [asdict(problem) for problem in ordered]
        shown = [f"  {problem}" for problem in ordered[:_SHOWN]]
        if len(ordered) > _SHOWN:
            shown.append(f"  and {len(ordered) - _SHOWN} more")
        count = "1 problem" if len(ordered) == 1 else f"{len(ordered):,} problems"
        super().__init__("\n".join([f"{count} in {file}:", *shown]))


class Problems:
    """Collects the problems while a file is read."""

    def __init__(self, places: KeyPlaces) -> None:
        self.places = places
        self.found: list[Problem] = []
        self._seen: set[Problem] = set()

    def add(self, path: KeyPath, message: str) -> None:
        """Note a problem of a key."""
        message = "".join(sign if sign.isprintable() else "?" for sign in _DECIMAL.sub(r"\1", message))
        key = ".".join(_spelt(part) for part in path)
        problem = Problem(self.places.line(path), without_passwords(key), without_passwords(message))
        if problem not in self._seen:
            self._seen.add(problem)
            self.found.append(problem)


class Section:
    """One table of the file while it is read. Each key is read by name; `finish` refuses all others."""

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
        """Note a problem of a key, or of the table."""
        self.problems.add(self.path if key is None else (*self.path, key), message)

    def read(self, key: str, reader: Callable[[Any], T], default: T) -> T:
        """Return a key's value as a reader reads it; the default if it is absent, or refused, which is noted."""
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
        """Return a key's value as a reader reads it; where it is absent, note what to write."""
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
        sections = {name: self.section(name, write) for name in self.data}
        return {name: section for name, section in sections.items() if section is not None}

    def finish(self) -> None:
        """Refuse every key that was not read, with the nearest known one."""
        unknown = [key for key in self.data if key not in self._known]
        for key in unknown[:_SHOWN]:
            self.problem(key, f"is not known here; {nearest(key, self._known)}")
        if len(unknown) > _SHOWN:
            self.problem(unknown[_SHOWN], f"is not known here, nor are {len(unknown) - _SHOWN - 1:,} more keys")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the advice for an unknown name: the nearest known one, or all."""
    names = sorted(known)
    folded = {candidate.casefold(): candidate for candidate in names}
    near = difflib.get_close_matches(name[:100].casefold(), folded, n=1)
    if near:
        return f"did you mean {folded[near[0]]!r}?"
    return f"known: {', '.join(names[:_SHOWN]) or 'none'}{', ...' if len(names) > _SHOWN else ''}"


def _spelt(part: str | int) -> str:
    text = str(part)
    short = text if len(text) <= 60 else f"{text[:60]}..."
    return short if short.isprintable() and short.replace("_", "").replace("-", "").isalnum() else quote(short)
