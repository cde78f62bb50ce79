"""How a question wants to be answered, where its SQL says so: WITHIN 5 CONFIDENCE 0.95, at its very end.

These words are ours and no parser knows them, so they are taken off the tokens before it runs. Anywhere else they are
refused by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from privet.core.errors import BadParameter, ParseError
from privet.core.exact import rational

from .sql_clauses import Node

_WORDS = ("WITHIN", "CONFIDENCE")
_FORM = "WITHIN stands once, at the very end of the question: ... WITHIN 5, or ... WITHIN 5 CONFIDENCE 0.95"


@dataclass(frozen=True)
class Wish:
    """What a text says about its answer: how narrow its intervals are to be, and how often they are to hold."""

    within: Fraction | None = None
    confidence: Fraction | None = None


def split_wish(tokens: Sequence[Node]) -> tuple[list[Node], Wish]:
    """Return the tokens of the query itself, and what stands after them about its answer."""
    kept = list(tokens)
    found: dict[str, Fraction] = {}
    for word in reversed(_WORDS):
        if len(kept) > 2 and _is_clause(kept, len(kept) - 2, word):
            found[word] = _number(kept[-1])
            del kept[-2:]
    for index, token in enumerate(kept):
        if any(_is_clause(kept, index, word) for word in _WORDS):
            raise ParseError(_FORM, line=token.line, column=token.col)
    if "CONFIDENCE" in found and "WITHIN" not in found:
        raise ParseError(f"CONFIDENCE stands after WITHIN; {_FORM}")
    return kept, Wish(found.get("WITHIN"), found.get("CONFIDENCE"))


def _is_clause(tokens: Sequence[Node], index: int, word: str) -> bool:
    """Return whether a word and a constant stand here, which is SQL nowhere else: a name needs a sign after it."""
    following = tokens[index + 1].token_type.name if index + 1 < len(tokens) else ""
    return _is_word(tokens[index], word) and following in {"NUMBER", "STRING"}


def _is_word(token: Node, word: str) -> bool:
    return token.token_type.name not in {"STRING", "IDENTIFIER"} and str(token.text).upper() == word


def _number(token: Node) -> Fraction:
    if token.token_type.name == "NUMBER":
        try:
            return rational(Decimal(str(token.text)), "number")
        except (InvalidOperation, BadParameter):
            pass
    raise ParseError(_FORM, line=token.line, column=token.col)
