"""Marks the place of an error in the text that was typed: its line, and a caret beneath."""

from __future__ import annotations

from collections.abc import Sequence

from privet.core.errors import ParseError, RequestError, UnknownName, WrongKind, without_passwords

from .clauses import Node, blamed

_WIDEST = 100


def mark(error: RequestError, sql: str, tokens: Sequence[Node]) -> None:
    """Add the line of a text to an error, and beneath it a caret at the place that it is about, if that is known."""
    start = blamed(error)
    if start is None:
        start = _named(error, tokens) if not isinstance(error, ParseError) else _of_line(error, sql)
    if start is None or not error.args or "\n" in str(error.args[0]) or not 0 <= start < len(sql):
        return
    first, after = sql.rfind("\n", 0, start) + 1, sql.find("\n", start)
    line = sql[first : len(sql) if after < 0 else after]
    column = start - first
    cut = max(0, min(column - _WIDEST // 2, len(line) - _WIDEST))
    shown = "".join(sign if sign.isprintable() else " " for sign in line[cut : cut + _WIDEST])
    if not shown.isascii() or without_passwords(shown) != shown:
        shown = without_passwords("".join(sign if sign.isascii() else "?" for sign in shown))
    error.args = (f"{error.args[0]}\n  {shown}\n  {' ' * (column - cut)}^", *error.args[1:])


def _of_line(error: ParseError, sql: str) -> int | None:
    """Return the place that a line and a column mean, of which the parser counts the last sign of a word."""
    if error.line is None or error.column is None:
        return None
    before = sum(len(line) + 1 for line in sql.split("\n")[: error.line - 1])
    return before + max(0, error.column - 1)


def _named(error: RequestError, tokens: Sequence[Node]) -> int | None:
    """Return where the name stands that an error is about, if it stands in the text."""
    name = error.name if isinstance(error, UnknownName) else error.function if isinstance(error, WrongKind) else None
    if name is None:
        return None
    wanted = name.rsplit(".", 1)[-1].casefold()
    return next((int(token.start) for token in tokens if str(token.text).casefold() == wanted), None)
