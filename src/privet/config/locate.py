"""Where each key of a TOML document stands: Python's reader gives values and forgets their lines.

It is only given text that the reader has accepted, and finds keys, never values. A key that it cannot place is told
with the line of the table around it, never with a made-up one.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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
class Places:
    """The line of each key, and the notes that stand where something is still to be filled in."""

    lines: Mapping[KeyPath, int]
    todos: tuple[tuple[int, str], ...]

    def line(self, path: KeyPath) -> int:
        """Return the line on which a key stands, or else that of the nearest table around it; 1 for the file."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1


def locate(text: str) -> Places:
    """Return where the keys of a valid TOML document stand."""
    scanner = _Scanner(text.replace("\r\n", "\n"))
    scanner.run()
    return Places(scanner.lines, tuple(scanner.todos))


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self.todos: list[tuple[int, str]] = []
        self._ends = [found.start() for found in re.finditer("\n", text)]
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
                found = form.match(self.text, self.at)
                if found:
                    self.at = found.end()
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
            found = form.match(self.text, self.at)
            if found:
                self.at = found.end()
                self._space()
                return found[0] if form is _BARE else str(tomllib.loads(f"key = {found[0]}")["key"])
        raise ValueError("not a key")

    def _next(self, mark: str) -> bool:
        found = self.text.startswith(mark, self.at)
        self.at += len(mark) if found else 0
        return found

    def _expect(self, mark: str) -> None:
        if not self._next(mark):
            raise ValueError("not what the reader accepted")

    def _space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _skip(self) -> None:
        found = _BLANK.match(self.text, self.at)
        if not found:
            return
        for comment in _COMMENT.finditer(self.text, self.at, found.end()):
            todo = _TODO.match(comment[0])
            if todo:
                self.todos.append((self._line(comment.start()), todo[1].strip()))
        self.at = found.end()

    def _line(self, at: int | None = None) -> int:
        return bisect_right(self._ends, (self.at if at is None else at) - 1) + 1
