"""Formulas such as "cost ~ age * ward": which column is explained, by which others and which products of them, and
whether there is a constant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations

from privet.core.errors import BadParameter, RequestError
from privet.core.given import plain_text

_ALLOWED = 'a formula such as "cost ~ age + ward"'
_LONGEST = 10_000
_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)?"
_JOINED = re.compile(r"\s*(?P<join>[:*])\s*(?:`(?P<quoted>[^`]+)`|(?P<name>" + _NAME + "))", re.ASCII)
_MOST_JOINED = 4
_TERM = re.compile(rf"\s*(?:(?P<sign>[+-])|(?P<number>[01])(?![\w.])|`(?P<quoted>[^`]+)`|(?P<name>{_NAME}))", re.ASCII)


@dataclass(frozen=True)
class RegressionFormula:
    """The explained column and the explaining ones, by their names."""

    target: str
    terms: tuple[str, ...]
    constant: bool = True
    products: tuple[tuple[str, ...], ...] = ()
    """The interactions: columns of `terms` that are multiplied."""

    def __str__(self) -> str:
        terms = [*map(_shown, self.terms), *(":".join(map(_shown, product)) for product in self.products)]
        listed = " + ".join([*([] if self.constant else ["0"]), *terms]) or "1"
        return f"{_shown(self.target)} ~ {listed}"


def read_formula(text: str) -> RegressionFormula:
    """Return a formula from its text; `0 +` or `- 1` leaves out the constant.

    `a:b` is the product of two columns, and `a * b` means `a + b + a:b`.
    """
    given = plain_text(text, "formula", _ALLOWED, least=1)
    if len(given) > _LONGEST:
        raise BadParameter("formula", given, f"of at most {_LONGEST:,} characters")
    left, sign, right = given.partition("~")
    if not sign or "~" in right:
        raise BadParameter("formula", given, _ALLOWED)
    targets, products, constant = _terms(left, given)
    if len(targets) != 1 or products or not constant:
        raise BadParameter("formula", given, f"{_ALLOWED}, with one column before ~")
    terms, products, constant = _terms(right, given)
    if targets[0] in terms:
        raise RequestError(f"the formula explains {targets[0]} by itself; leave it out after ~")
    if not terms and not constant:
        raise RequestError("the formula explains by nothing; name a column after ~, such as cost ~ age")
    for product in products:
        missing = [name for name in product if name not in terms]
        if missing:
            raise RequestError(
                f"the formula has the product {':'.join(map(_shown, product))} without {', '.join(missing)} alone, and "
                f"what it finds would depend on where {missing[0]} begins; write {' * '.join(map(_shown, product))}"
            )
    return RegressionFormula(targets[0], terms, constant, products)


def _terms(text: str, whole: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], bool]:
    """Return the names of one side, the products of several, each once, and whether a constant is among them."""
    terms: dict[str, None] = {}
    products: dict[frozenset[str], tuple[str, ...]] = {}
    constant, place, sign, waits = True, 0, "+", True
    while text[place:].strip():
        match = _TERM.match(text, place)
        if match is None:
            rest = text[place:].strip()
            if rest[0] in ":*^(":
                raise RequestError(
                    f"a formula adds columns and products such as age:ward, and has no {rest[0]!r} here; make a column "
                    f"of it first: "
                    f'session.table("visits").select("cost", "age", squared=privet.col("age") * privet.col("age"))'
                )
            raise BadParameter("formula", whole, f"{_ALLOWED}; names with other characters stand in `backquotes`")
        place = match.end()
        if match["sign"]:
            if waits and (terms or products):
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
        names, joined = [match["quoted"] or match["name"]], set()
        while (more := _JOINED.match(text, place)) is not None:
            names, place = [*names, more["quoted"] or more["name"]], more.end()
            joined.add(more["join"])
        if len(joined) > 1 or len(names) > _MOST_JOINED:
            raise BadParameter("formula", whole, f"{_ALLOWED}; up to {_MOST_JOINED} columns, all with : or all with *")
        if len(set(names)) < len(names):
            raise RequestError(
                f"the formula multiplies {names[0]} by itself; make a column of it first: "
                f'session.table("visits").select("cost", "age", squared=privet.col("age") * privet.col("age"))'
            )
        if joined != {":"}:
            terms |= dict.fromkeys(names)
        sizes = range(2, len(names) + 1) if joined == {"*"} else [len(names)] if joined else []
        for product in (chosen for size in sizes for chosen in combinations(names, size)):
            products.setdefault(frozenset(product), product)
    if waits and (terms or products or not constant):
        raise BadParameter("formula", whole, _ALLOWED)
    return tuple(terms), tuple(products.values()), constant


def _shown(name: str) -> str:
    return name if re.fullmatch(_NAME, name, re.ASCII) else f"`{name}`"
