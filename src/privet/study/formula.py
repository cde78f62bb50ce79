"""Formulas such as "cost ~ age + ward": which column is explained, by which others, and whether there is a constant."""

from __future__ import annotations

import re
from dataclasses import dataclass

from privet.core.errors import BadParameter, RequestError
from privet.core.given import plain_text

_ALLOWED = 'a formula such as "cost ~ age + ward"'
_LONGEST = 10_000
_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)?"
_TERM = re.compile(rf"\s*(?:(?P<sign>[+-])|(?P<number>[01])(?![\w.])|`(?P<quoted>[^`]+)`|(?P<name>{_NAME}))", re.ASCII)


@dataclass(frozen=True)
class RegressionFormula:
    """What is explained by what: names of columns."""

    target: str
    terms: tuple[str, ...]
    constant: bool = True

    def __str__(self) -> str:
        several = [_shown(one) for one in self.terms]
        listed = " + ".join([*([] if self.constant else ["0"]), *several]) or "1"
        return f"{_shown(self.target)} ~ {listed}"


def read_formula(text: str) -> RegressionFormula:
    """Return a formula from its text; `0 +` or `- 1` leaves out the constant."""
    given = plain_text(text, "formula", _ALLOWED, least=1)
    if len(given) > _LONGEST:
        raise BadParameter("formula", given, f"of at most {_LONGEST:,} characters")
    left, sign, right = given.partition("~")
    if not sign or "~" in right:
        raise BadParameter("formula", given, _ALLOWED)
    targets, constant = _terms(left, given)
    if len(targets) != 1 or not constant:
        raise BadParameter("formula", given, f"{_ALLOWED}, with one column before ~")
    terms, constant = _terms(right, given)
    if targets[0] in terms:
        raise RequestError(f"the formula explains {targets[0]} by itself; leave it out after ~")
    if not terms and not constant:
        raise RequestError("the formula explains by nothing; name a column after ~, such as cost ~ age")
    return RegressionFormula(targets[0], terms, constant)


def _terms(text: str, whole: str) -> tuple[tuple[str, ...], bool]:
    """Return the names of one side, each once, and whether a constant is among them."""
    found: dict[str, None] = {}
    constant, place, sign, waits = True, 0, "+", True
    while text[place:].strip():
        match = _TERM.match(text, place)
        if match is None:
            rest = text[place:].strip()
            if rest[0] in ":*^(":
                raise RequestError(
                    f"a formula adds columns, and has no {rest[0]!r}; make a column of it first: "
                    f'session.table("visits").select("cost", "age", squared=privet.col("age") * privet.col("age"))'
                )
            raise BadParameter("formula", whole, f"{_ALLOWED}; names with other characters stand in `backquotes`")
        place = match.end()
        if match["sign"]:
            if waits and found:
                raise BadParameter("formula", whole, _ALLOWED)
            sign, waits = match["sign"], True
            continue
        if not waits:
            raise BadParameter("formula", whole, f"{_ALLOWED}, with + between columns")
        waits = False
        if match["number"]:
            constant = (match["number"] == "1") == (sign == "+")
            continue
        if sign == "-":
            raise BadParameter("formula", whole, f"{_ALLOWED}; leave out a column instead of taking it away")
        found[match["quoted"] or match["name"]] = None
    if waits and (found or not constant):
        raise BadParameter("formula", whole, _ALLOWED)
    return tuple(found), constant


def _shown(name: str) -> str:
    return name if re.fullmatch(_NAME, name, re.ASCII) else f"`{name}`"
