"""How a question wants to be answered, where its SQL says so, in words that the parser does not know.

WITHIN 5 CONFIDENCE 0.95, or WITHIN 2%, stands at its very end. SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1,
...) is how GoogleSQL says it. Both are taken off the tokens before the parser runs; anywhere else they are refused by
name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from privet.core.errors import ParseError, UnknownName, Unsupported
from privet.core.numbers import read_rational, written_decimal

from .clauses import Node

_WORDS = ("WITHIN", "CONFIDENCE")
_FORM = (
    "WITHIN stands once, at the very end of the question: ... WITHIN 5, ... WITHIN 2%, or ... WITHIN 5 CONFIDENCE 0.95"
)

_NUMBERS = ("delta", "epsilon", "max_groups_contributed")
_KNOWN = ("find_groups", *_NUMBERS, "privacy_unit_column")
_REFUSED = {
    "group_selection_strategy": "how groups are found follows from what is declared about them, and the plan says how; "
    "find_groups = TRUE finds those that are declared as well",
    "max_rows_contributed": "rows are bounded in each group, as the table declares: say contribution= to the session",
    "min_privacy_units_per_group": "a group that is shown has as many people as the plan says",
    "analysis_rule": "the custodian declares what may be asked",
}
_OPTIONS = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, max_groups_contributed = 3) ..."


@dataclass(frozen=True)
class Wish:
    """What a text says about its answer: how narrow its intervals are to be and how often they hold, and its options.

    `delta` is the most that it may cost, `groups` in how many groups a person counts, `unit` who it says is protected,
    `find` whether its groups are to be found, although they are declared.
    """

    within: object = None
    confidence: Fraction | None = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    groups: Fraction | None = None
    unit: str | None = None
    find: bool = False


NO_WISH = Wish()
"""What a question says that says nothing."""


def split_wish(tokens: Sequence[Node]) -> tuple[list[Node], Wish]:
    """Return the tokens of the query itself, and what stands around them about its answer."""
    kept, options = _without_options(tokens)
    found: dict[str, Fraction] = {}
    percent: str | None = None
    for word in reversed(_WORDS):
        # a percentage is a number and a sign, which is SQL nowhere else at the end of a query
        if word == "WITHIN" and len(kept) > 3 and str(kept[-1].text) == "%" and _is_clause(kept, len(kept) - 3, word):
            percent = f"{kept[-2].text}%"
            del kept[-1:]
        if len(kept) > 2 and _is_clause(kept, len(kept) - 2, word):
            if _name(kept, len(kept) - 1) != "NUMBER":
                raise ParseError(_FORM, line=kept[-1].line, column=kept[-1].col)
            found[word] = _read(str(kept[-1].text), _FORM)
            del kept[-2:]
    for index, token in enumerate(kept):
        if any(_is_clause(kept, index, word) for word in _WORDS):
            raise ParseError(_FORM, line=token.line, column=token.col)
    if "CONFIDENCE" in found and "WITHIN" not in found:
        raise ParseError(f"CONFIDENCE stands after WITHIN; {_FORM}")
    numbers = {name: _read(options[name], f"write options as {_OPTIONS}") for name in _NUMBERS if name in options}
    return kept, Wish(
        within=percent or found.get("WITHIN"),
        confidence=found.get("CONFIDENCE"),
        epsilon=numbers.get("epsilon"),
        delta=numbers.get("delta"),
        groups=numbers.get("max_groups_contributed"),
        unit=options.get("privacy_unit_column"),
        find=options.get("find_groups", "FALSE").upper() == "TRUE",
    )


def _without_options(tokens: Sequence[Node]) -> tuple[list[Node], dict[str, str]]:
    """Return the tokens without the outermost SELECT's WITH DIFFERENTIAL_PRIVACY OPTIONS(...), and its options."""
    depth, found = 0, None
    for index, token in enumerate(tokens):
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(token.token_type.name, 0)
        starts = index > 1 and (_name(tokens, index - 2), _name(tokens, index - 1)) == ("SELECT", "WITH")
        if not starts or not _is_word(token, "DIFFERENTIAL_PRIVACY"):
            continue
        if depth or found is not None:
            raise Unsupported(
                "WITH DIFFERENTIAL_PRIVACY stands once, after the outermost SELECT: what is inside it is not released"
            )
        found = index
    if found is None:
        return list(tokens), {}
    before, after = list(tokens[: found - 1]), list(tokens[found + 1 :])
    if not after or not _is_word(after[0], "OPTIONS") or _name(after, 1) != "L_PAREN":
        return before + after, {}
    options: dict[str, str] = {}
    place = 2
    while _name(after, place) != "R_PAREN":
        if options:
            _expect(after, place, "COMMA")
            place += 1
        _expect(after, place + 1, "EQ")
        name = str(after[place].text).casefold()
        if name in _REFUSED:
            raise Unsupported(f"{name} cannot be chosen by a question: {_REFUSED[name]}; leave it out")
        if name not in _KNOWN:
            raise UnknownName("option", name, _KNOWN)
        if name in options:
            raise ParseError(f"the option {name} is given twice", line=after[place].line, column=after[place].col)
        point = name in _NUMBERS and _name(after, place + 2) == "DOT"  # .5 is read as two signs
        kinds = (
            ("NUMBER",) if name in _NUMBERS else ("TRUE", "FALSE") if name == "find_groups" else ("VAR", "IDENTIFIER")
        )
        _expect(after, place + 2 + point, *kinds)
        options[name] = f"{'.' if point else ''}{after[place + 2 + point].text}"
        place += 3 + point
    return before + after[place + 1 :], options


def _name(tokens: Sequence[Node], place: int) -> str:
    return str(tokens[place].token_type.name) if place < len(tokens) else ""


def _expect(tokens: Sequence[Node], place: int, *names: str) -> None:
    if _name(tokens, place) not in names:
        near = tokens[min(place, len(tokens) - 1)]
        raise ParseError(f"write options as {_OPTIONS}", line=near.line, column=near.col)


def _is_clause(tokens: Sequence[Node], index: int, word: str) -> bool:
    """Return whether a word and a constant stand here, which is SQL nowhere else: a name needs a sign after it."""
    return _is_word(tokens[index], word) and _name(tokens, index + 1) in {"NUMBER", "STRING"}


def _is_word(token: Node, word: str) -> bool:
    return token.token_type.name not in {"STRING", "IDENTIFIER"} and str(token.text).upper() == word


def _read(text: str, form: str) -> Fraction:
    written = written_decimal(text)
    found = None if written is None else read_rational(written)
    if found is None:
        raise ParseError(form)
    return found
