"""Bounds that a question states for an aggregate, as GoogleSQL writes them; the parser does not know them.

    SUM(x, contribution_bounds_per_group => (0, 100))        ANON_SUM(x CLAMPED BETWEEN 0 AND 100)

Both become a call around the aggregate, by a name that cannot be typed, before the parser runs. What stands anywhere
else, or has bounds that are no constants, is refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from privet.core.errors import ParseError, Unsupported

from .clauses import Node

PER_GROUP, PER_ROW = "contribution_bounds_per_group", "contribution_bounds_per_row"
AROUND = "contribution bounds "
"""What the name of the call around an aggregate starts with; no name in SQL has a blank before its end."""

ANON = {
    "ANON_COUNT": ("COUNT", PER_GROUP),
    "ANON_SUM": ("SUM", PER_GROUP),
    "ANON_AVG": ("AVG", PER_GROUP),
    "ANON_VAR_POP": ("VAR_POP", PER_ROW),
    "ANON_STDDEV_POP": ("STDDEV_POP", PER_ROW),
    "ANON_PERCENTILE_CONT": ("PERCENTILE_CONT", PER_ROW),
}
"""The older names, and what CLAMPED BETWEEN bounds there: a person's contribution to a group, or each row's value."""

BOUNDING = frozenset({PER_GROUP, PER_ROW, "clamped", "report_format", "anon_quantiles", *map(str.lower, ANON)})
"""Words, in small letters, without which a question states no bounds, and nothing here is to be done."""

_FORM = "a number, both constants: SUM(x, contribution_bounds_per_group => (0, 100))"


class _Open(NamedTuple):
    """A bracket that is open: where its function starts among the tokens that are kept, and what CLAMPED means."""

    start: int
    clamped: str | None
    called: bool


def with_bounds(tokens: Sequence[Node]) -> list[Node]:
    """Return the tokens with each aggregate that states bounds inside a call that holds them."""
    kept: list[Node] = []
    calls: list[_Open] = []
    found: dict[int, tuple[str, list[Node], list[Node]]] = {}
    place = 0
    while place < len(tokens):
        token = tokens[place]
        kind, word = token.token_type.name, str(token.text)
        if kind == "L_PAREN":
            name = str(kept[-1].text).upper() if kept and _is_name(kept[-1]) else ""
            if name == "ANON_QUANTILES":
                raise Unsupported("ANON_QUANTILES makes a list; ask for each quantile: PERCENTILE_CONT(x, 0.25), ...")
            plain, clamped = ANON.get(name, (name, None))
            if clamped is not None:
                kept[-1] = renamed(kept[-1], plain)
            calls.append(_Open(len(kept) - 1, clamped, bool(name)))
        if calls and _is_word(token, "CLAMPED") and _is_word(_at(tokens, place + 1), "BETWEEN"):
            if calls[-1].clamped is None:
                raise ParseError("CLAMPED BETWEEN stands in ANON_* functions", line=token.line, column=token.col)
            low, place = _number(tokens, place + 2, "AND")
            high, place = _number(tokens, place + 1, "R_PAREN")
            _add(found, calls[-1], calls[-1].clamped, low, high, token)
            continue
        if word.casefold() in (PER_GROUP, PER_ROW) and _kind(tokens, place + 1) == "FARROW":
            if not calls or not calls[-1].called or not kept or kept[-1].token_type.name != "COMMA":
                raise ParseError(
                    f"{word} is an argument of an aggregate, after {_FORM}", line=token.line, column=token.col
                )
            if _kind(tokens, place + 2) != "L_PAREN":
                raise ParseError(f"{word} takes a low and a high end, each {_FORM}", line=token.line, column=token.col)
            low, place = _number(tokens, place + 3, "COMMA")
            high, place = _number(tokens, place + 1, "R_PAREN")
            kept.pop()
            _add(found, calls[-1], word.casefold(), low, high, token)
            place += 1
            continue
        if _is_word(token, "REPORT_FORMAT") and _kind(tokens, place + 1) == "FARROW":
            raise Unsupported(
                "report_format is not for a question to choose: every answer has its intervals; leave it out"
            )
        kept.append(token)
        if kind == "R_PAREN" and calls:
            start = calls.pop().start
            if start in found:
                around, low, high = found.pop(start)
                comma = renamed(token, ",", "COMMA")
                head = [renamed(kept[start], f"{AROUND}{around}", "VAR"), renamed(token, "(", "L_PAREN")]
                kept[start:] = [*head, *kept[start:], comma, *low, comma, *high, token]
        place += 1
    return kept


def renamed(token: Node, text: str, kind: str | None = None) -> Node:
    """Return a token with another text, at the same place."""
    kinds = type(token.token_type)
    chosen = token.token_type if kind is None else kinds[kind]
    return type(token)(chosen, text, token.line, token.col, token.start, token.end)


def _add(
    found: dict[int, tuple[str, list[Node], list[Node]]],
    call: _Open,
    kind: str,
    low: list[Node],
    high: list[Node],
    near: Node,
) -> None:
    if call.start in found:
        raise ParseError("an aggregate states its bounds once", line=near.line, column=near.col)
    found[call.start] = (kind, low, high)


def _number(tokens: Sequence[Node], place: int, then: str) -> tuple[list[Node], int]:
    """Return the tokens of a constant number, and the place of what follows it."""
    end = place + (_kind(tokens, place) == "DASH")
    if _kind(tokens, end) == "DOT":  # .5 is read as two signs
        end += 1
    if _kind(tokens, end) != "NUMBER" or _kind(tokens, end + 1) != then:
        near = tokens[min(place, len(tokens) - 1)]
        raise ParseError(
            f"contribution_bounds_per_group, contribution_bounds_per_row and CLAMPED BETWEEN have as each end {_FORM}",
            line=near.line,
            column=near.col,
        )
    return [*tokens[place : end + 1]], end + 1


def _kind(tokens: Sequence[Node], place: int) -> str:
    return str(tokens[place].token_type.name) if place < len(tokens) else ""


def _at(tokens: Sequence[Node], place: int) -> Node | None:
    return tokens[place] if place < len(tokens) else None


def _is_word(token: Node | None, word: str) -> bool:
    return (
        token is not None and token.token_type.name not in {"STRING", "IDENTIFIER"} and str(token.text).upper() == word
    )


def _is_name(token: Node) -> bool:
    return token.token_type.name not in {"STRING", "IDENTIFIER", "NUMBER"} and str(token.text)[:1].isalpha()
