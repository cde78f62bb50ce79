"""Reads SQL text into our own tree, or refuses it by name. The only place that meets the SQL parser.

Sizes are capped before the parser runs, because it recurses. No text of the analyst's goes further than this file:
names are looked up, constants become values, everything else is a node of ours.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import ClassVar, TypeVar, cast

from privet.core.errors import (
    ParseError,
    PrivetError,
    RequestError,
    UnknownName,
    Unsupported,
    WrongKind,
    without_passwords,
)
from privet.core.estimate import COVERS, Covers
from privet.core.given import choice, mapping
from privet.core.numbers import is_unicode, read_rational, written_decimal
from privet.core.schema import Schema
from privet.query.functions import sql_names
from privet.query.nodes import PrivateRows, Query
from privet.query.released import FirstValues

from .calls import NAMES
from .clauses import UNDERSTOOD, Node, blamed, check_depth, check_nodes, part, parts
from .quartiles import read_quantiles
from .rewrites import (
    BOUNDING,
    FORMS,
    GIVEN,
    NOTHING,
    GivenValues,
    read_schema,
    settle_forms,
    settle_given,
    settle_names,
    with_bounds,
    without_brackets,
)
from .select import read_query, read_rows
from .synonyms import SYNONYMS

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
    """Return the position of the name that an error is about, if the text contains it."""
    name = error.name if isinstance(error, UnknownName) else error.function if isinstance(error, WrongKind) else None
    if name is None:
        return None
    wanted = name.rsplit(".", 1)[-1].casefold()
    return next((int(token.start) for token in tokens if str(token.text).casefold() == wanted), None)


# The answer that a question asks for, where its SQL states it, in words that the parser does not know.
#
# WITHIN 5 CONFIDENCE 0.95, or WITHIN 2%, comes at the very end. SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon =
# 1, ...) is GoogleSQL's form. Both are taken off the tokens before the parser runs; anywhere else they are
# refused by name.


_WORDS = ("WITHIN", "CONFIDENCE")
_FORM = (
    "WITHIN stands once, at the very end of the question: ... WITHIN 5, ... WITHIN 2%, or ... WITHIN 5 CONFIDENCE 0.95"
)

_NUMBERS = ("delta", "epsilon", "max_groups_contributed")
_TEXTS = {"contribution": ("auto",), "covers": COVERS}
"""Options that are one of a few words, in quotes."""
_KNOWN = (*_TEXTS, "find_groups", "group_selection_strategy", *_NUMBERS, "privacy_unit_column")
_OLDER = {"kappa": "max_groups_contributed"}
"""Options that had another name with ANONYMIZATION."""
_STRATEGIES = ("LAPLACE_THRESHOLD", "PUBLIC_GROUPS")
_CLAUSES = ("DIFFERENTIAL_PRIVACY", "ANONYMIZATION")
_BRACKETS = "brackets around it"
_ONE_CLAUSE = (
    "WITH DIFFERENTIAL_PRIVACY stands once, after the SELECT that releases: the outermost, or the one whose released "
    "rows those around it reshape"
)
_KINDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_NUMBERS, ("NUMBER",)),
    **dict.fromkeys(_TEXTS, ("STRING",)),
    "find_groups": ("TRUE", "FALSE"),
    "group_selection_strategy": ("VAR", "STRING", "IDENTIFIER"),
    "privacy_unit_column": ("VAR", "IDENTIFIER"),
}
_REFUSED = {
    "max_rows_contributed": "a person's groups are bounded, and its rows in each, not its rows in all groups together; "
    "use max_groups_contributed, or contribution= of the session",
    "min_privacy_units_per_group": "a group that is shown has as many people as the plan states",
    "analysis_rule": "the custodian declares what may be asked",
}
_OPTIONS = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, max_groups_contributed = 3) ..."


@dataclass(frozen=True)
class Wish:
    """What a text states about its answer: the width of its intervals, their confidence level, and its options.

    `delta` is the most that it may cost, `groups` in how many groups a person counts, `unit` who is protected,
    `find` whether its groups are to be found, although they are declared, `public` whether all of them must be known
    beforehand, `covers` what its intervals are to cover,
    `auto` whether it chooses its own contribution limit.
    """

    within: object = None
    confidence: Fraction | None = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    groups: Fraction | None = None
    unit: str | None = None
    find: bool = False
    covers: Covers | None = None
    auto: bool = False
    public: bool = False
    inside: int = 0
    """The number of brackets around its clause; read with the tree, and 0 from then on."""


NO_WISH = Wish()
"""The wish of a question that states none."""


def split_wish(tokens: Sequence[Node]) -> tuple[list[Node], Wish]:
    """Return the tokens of the query itself, and the text's statements about its answer."""
    kept, options = _without_options(tokens)
    wish: dict[str, Fraction] = {}
    percent: str | None = None
    for word in reversed(_WORDS):
        # a percentage is a number and a sign, which is SQL nowhere else at the end of a query
        if word == "WITHIN" and len(kept) > 3 and str(kept[-1].text) == "%" and _is_clause(kept, len(kept) - 3, word):
            percent = f"{kept[-2].text}%"
            del kept[-1:]
        if len(kept) > 2 and _is_clause(kept, len(kept) - 2, word):
            if _name(kept, len(kept) - 1) != "NUMBER":
                raise ParseError(_FORM, line=kept[-1].line, column=kept[-1].col)
            wish[word] = _read(str(kept[-1].text), _FORM)
            del kept[-2:]
    for index, token in enumerate(kept):
        if _is_clause(kept, index, *_WORDS):
            raise ParseError(_FORM, line=token.line, column=token.col)
    if "CONFIDENCE" in wish and "WITHIN" not in wish:
        raise ParseError(f"CONFIDENCE stands after WITHIN; {_FORM}")
    numbers = {name: _read(options[name], f"write options as {_OPTIONS}") for name in _NUMBERS if name in options}
    return kept, Wish(
        within=percent or wish.get("WITHIN"),
        confidence=wish.get("CONFIDENCE"),
        epsilon=numbers.get("epsilon"),
        delta=numbers.get("delta"),
        groups=numbers.get("max_groups_contributed"),
        unit=options.get("privacy_unit_column"),
        find=options.get("find_groups", "FALSE").upper() == "TRUE",
        covers=cast(Covers | None, options.get("covers")),
        auto="contribution" in options,
        public=options.get("group_selection_strategy", "").upper() == "PUBLIC_GROUPS",
        inside=int(options.get(_BRACKETS, "0")),
    )


def _without_options(tokens: Sequence[Node]) -> tuple[list[Node], dict[str, str]]:
    """Return the tokens without a SELECT's WITH DIFFERENTIAL_PRIVACY OPTIONS(...), and its options.

    The number of brackets around it is among them: it must be the SELECT that releases.
    """
    depth, clause, inside = 0, None, 0
    for index, token in enumerate(tokens):
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(token.token_type.name, 0)
        if index < 2 or not _is_word(token, *_CLAUSES):
            continue
        if (_name(tokens, index - 2), _name(tokens, index - 1)) != ("SELECT", "WITH"):
            continue
        if clause is not None:
            raise Unsupported(_ONE_CLAUSE)
        clause, inside = index, depth
    if clause is None:
        return list(tokens), {}
    before, after = list(tokens[: clause - 1]), list(tokens[clause + 1 :])
    if not after or not _is_word(after[0], "OPTIONS") or _name(after, 1) != "L_PAREN":
        return before + after, {_BRACKETS: str(inside)}
    options: dict[str, str] = {}
    place = 2
    while _name(after, place) != "R_PAREN":
        if options:
            _expect(after, place, "COMMA")
            place += 1
        _expect(after, place + 1, "EQ")
        name = str(after[place].text).casefold()
        name = _OLDER.get(name, name)
        if name in _REFUSED:
            raise Unsupported(f"{name} cannot be chosen by a question: {_REFUSED[name]}; leave it out")
        if name not in _KNOWN:
            raise UnknownName("option", name, _KNOWN)
        if name in options:
            raise ParseError(f"the option {name} is given twice", line=after[place].line, column=after[place].col)
        point = name in _NUMBERS and _name(after, place + 2) == "DOT"  # .5 is read as two signs
        _expect(after, place + 2 + point, *_KINDS[name])
        if name in _TEXTS:
            choice(str(after[place + 2].text), name, _TEXTS[name])
        if name == "group_selection_strategy":
            choice(str(after[place + 2].text).upper(), name, _STRATEGIES)
        while name == "privacy_unit_column" and _name(after, place + 3) == "DOT":  # the last word is the column
            place += 2
            _expect(after, place + 2, *_KINDS[name])
        options[name] = f"{'.' if point else ''}{after[place + 2 + point].text}"
        place += 3 + point
    return before + after[place + 1 :], {**options, _BRACKETS: str(inside)}


def _name(tokens: Sequence[Node], place: int) -> str:
    return str(tokens[place].token_type.name) if 0 <= place < len(tokens) else ""


def _expect(tokens: Sequence[Node], place: int, *names: str) -> None:
    if _name(tokens, place) not in names:
        near = tokens[min(place, len(tokens) - 1)]
        raise ParseError(f"write options as {_OPTIONS}", line=near.line, column=near.col)


def _is_clause(tokens: Sequence[Node], index: int, *words: str) -> bool:
    """Return whether a word and a constant follow here, which is SQL nowhere else: a name needs a sign after it."""
    return _is_word(tokens[index], *words) and _name(tokens, index + 1) in {"NUMBER", "STRING"}


def _is_word(token: Node, *words: str) -> bool:
    return str(token.text).upper() in words and token.token_type.name not in {"STRING", "IDENTIFIER"}


def _read(text: str, form: str) -> Fraction:
    written = written_decimal(text)
    number = None if written is None else read_rational(written)
    if number is None:
        raise ParseError(form)
    return number


T = TypeVar("T")

MOST_CHARACTERS = 20_000
MOST_WORDS = 5_000
MOST_TERMS = 500
"""AND and OR together."""
MOST_SIGNS = 1_500
MOST_UNIONS = 20
MOST_NESTED = 100
"""Brackets, CASE, NOT and signs inside each other: each takes the parser up to 26 calls inside each other."""
MOST_DEEP = 110
"""Levels of the tree, so that chains such as a + b + ... are bounded as well."""

_CALLS = 4_000
"""Calls inside each other that reading a query may take, whatever Python allows otherwise and the caller has used."""
_DEEPER = threading.Lock()

_BRACKETED = re.compile(r"[^\W\d][\w $#@.-]{0,200}")
"""Brackets quote a name. Lists of constants, which are refused, contain none."""

_SPECIAL = frozenset(
    {"CAST", "TRY_CAST", "SAFE_CAST", "EXTRACT", "TRIM", "SUBSTRING", "POSITION", "CEIL", "FLOOR", "MIN", "MAX"}
    | {"QUANTILE", "QUANTILE_CONT", "QUANTILE_DISC"}
)
"""The functions with special syntax that are read: any other is left as it is called."""
_BARE = frozenset(
    {"CURRENT_DATE", "CURRENT_DATETIME", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"}
)
"""Functions that are called without brackets."""
_INSIDE = frozenset({"DATE_TO_DATE_STR", "TIME_TO_TIME_STR", "TS_OR_DS_TO_DATE_STR"})
"""Names that the parser has for itself."""
_VALUES = frozenset({"IDENTIFIER", "STRING", "R_PAREN", "R_BRACKET"})
_OPENING = frozenset({"L_PAREN", "CASE"})
_CLOSING = frozenset({"R_PAREN", "END"})
_PREFIX = frozenset({"NOT", "DASH", "PLUS", "TILDE", "INTERVAL"})
_PLAIN = frozenset({"L_PAREN", "R_PAREN", "COMMA", "STRING", "IDENTIFIER", "VAR"})
_SETS = frozenset({"UNION", "INTERSECT", "EXCEPT"})
_FIRST = frozenset({"SELECT", "WITH", "L_PAREN", "FROM", "PIVOT"})
_ARGUMENTS = {
    **dict.fromkeys(("QUANTILE", "QUANTILE_CONT", "QUANTILE_DISC", "MOD"), 2),
}
"""How many arguments these take: the parser would drop any further ones without a word."""


def parse(
    sql: str,
    tables: Mapping[str, Schema],
    views: Mapping[str, PrivateRows] | None = None,
    *,
    schema: str | None = None,
) -> Query:
    """Return the query that a SQL text asks of declared tables, whose links are followed, and of named relations.

    `schema` is the word that may precede a table's name, with a dot between; `public` where there is none.

    Pure and free: it reads declared facts and the text, and the same text always yields the same tree. Raises a
    `RequestError` that states what is wrong and what to write instead.
    """
    if not isinstance(sql, str):
        raise ParseError(f"sql must be a query as text; got a {type(sql).__name__}")
    mapping(tables, "tables", "a mapping of names to Schemas", Schema)
    if views is not None:
        mapping(views, "views", "a mapping of names to relations", PrivateRows)
    query, wish = parse_asked(sql, tables, views, schema=read_schema(schema))
    if wish != Wish():
        raise Unsupported("WITHIN and OPTIONS state how a session is to answer a question; this only parses one")
    return query


def parse_asked(
    sql: str,
    tables: Mapping[str, Schema],
    views: Mapping[str, PrivateRows] | None = None,
    *,
    schema: str | None = None,
    given: GivenValues = NOTHING,
    first: FirstValues | None = None,
) -> tuple[Query, Wish]:
    """Return the query of a SQL text, as `parse` does, and the text's statements about its answer.

    `given` has the values of its parameters, and the time at which it is asked. `first` takes the values that are
    released before it, if any are allowed; otherwise a question that needs one is refused.
    """
    known = views or {}

    def read(tree: Node, wish: Wish) -> tuple[Query, Wish]:
        if wish.public:
            _beside_public_groups(tree, tables)
        query = read_query(tree, tables, known, first)
        if wish.inside and wish.inside != len(query.steps) - 1:
            raise Unsupported(_ONE_CLAUSE)
        return query, replace(wish, inside=0)

    def settle(nodes: Sequence[Node]) -> None:
        _settle(nodes, tables, known, schema, given)

    return _read_tree(sql, settle, read)


def _has_forms(nodes: Sequence[Node]) -> bool:
    """Return whether something may be written in a form of which `settle_forms` makes another."""
    return any(node.key in FORMS or node.args.get("method") for node in nodes)


def _settle(
    nodes: Sequence[Node], tables: Collection[str], views: Collection[str], schema: str | None, given: GivenValues
) -> None:
    """Replace qualified names, parameters and the clock by their meaning, where there are any."""
    if any(node.args.get("db") is not None for node in nodes):
        settle_names(nodes, tables, views, schema)
    if given.values or any(node.key == "anonymous" and str(node.args["this"]).upper() in GIVEN for node in nodes):
        settle_given(nodes, given)


def _beside_public_groups(tree: Node, tables: Mapping[str, Schema]) -> None:
    """Make of outer joins that keep public rows plain ones: where groups are public, each is answered all the same.

    A public row that meets no private one belongs to no person, and GoogleSQL leaves it out of all that is aggregated.
    """

    def is_public(item: Node) -> bool:
        named = [str(inner.name).casefold() for inner in item.walk() if inner.key == "table"]
        public = {name.casefold() for name, schema in tables.items() if schema.unit.public}
        return bool(named) and public.issuperset(named)

    source = part(tree, "from")
    for node in parts(tree, "joins"):
        side = str(node.args.get("side") or "").upper()
        kept = part(node, "this") if side == "RIGHT" else part(source, "this") if side == "LEFT" and source else None
        if kept is not None and is_public(kept):
            node.set("side", None)
            node.set("kind", "INNER")


def _read_tree(sql: str, settle: Callable[[Sequence[Node]], None], read: Callable[[Node, Wish], T]) -> T:
    if not isinstance(sql, str):
        raise ParseError(f"a query is a text; got a {type(sql).__name__}")
    if len(sql) > MOST_CHARACTERS:
        raise ParseError(f"a query has at most {MOST_CHARACTERS:,} characters; this one has {len(sql):,}")
    if "\0" in sql:
        raise ParseError("a query holds no NUL characters")
    if not is_unicode(sql):
        raise ParseError("a query must be valid Unicode, without lone surrogates")
    tokens: list[Node] = []
    try:
        with _deeper():
            tree, wish = _tree(sql, tokens)
            check_depth(tree, MOST_DEEP)
            nodes = list(tree.walk())
            if _has_forms(nodes) and settle_forms(nodes):
                nodes = list(tree.walk())
            check_nodes(nodes, NAMES)
            if any(node.key == "window" for node in nodes) and read_quantiles(nodes):
                nodes = list(tree.walk())
            if any(node.key == "subquery" for node in nodes):
                without_brackets(nodes)
            settle(nodes)
            return read(tree, wish)
    except RecursionError:
        raise ParseError("the query is nested too deeply; split it") from None
    except RequestError as error:
        mark(error, sql, tokens)
        raise


def parse_view(
    sql: str, tables: Mapping[str, Schema], views: Mapping[str, PrivateRows], *, schema: str | None = None
) -> PrivateRows:
    """Return the rows of a named relation: a SELECT that stays within people, or is of public tables."""

    def read(tree: Node, wish: Wish) -> PrivateRows:
        if wish != Wish():
            raise Unsupported("a view is of rows, without noise; WITHIN and OPTIONS stand in questions about it")
        return read_rows(tree, tables, views)

    def settle(nodes: Sequence[Node]) -> None:
        _settle(nodes, tables, views, schema, NOTHING)

    return _read_tree(sql, settle, read)


@contextmanager
def _deeper() -> Iterator[None]:
    """Let the parser recurse as far as the caps on nesting let it. One at a time, as the limit is the process's."""
    used, frame = 0, sys._getframe()
    while frame.f_back is not None:
        used, frame = used + 1, frame.f_back
    with _DEEPER:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(before, used + _CALLS))
        try:
            yield
        finally:
            sys.setrecursionlimit(before)


@cache
def _dialect() -> Node:
    """Return the parser's dialect: DuckDB's, in which names may be quoted by ` as well.

    It knows the functions whose nodes are understood, and leaves all others as they are called.
    """
    from sqlglot.dialects.duckdb import DuckDB
    from sqlglot.expressions import column

    usual = DuckDB.parser_class
    given = [column(name) for name in "abcd"]
    ours = {*SYNONYMS, *sql_names()}

    def key(build: Node) -> str:
        made = getattr(build, "__self__", None)
        if isinstance(made, type):
            return str(made.key)  # type: ignore[attr-defined]
        for length in (1, 2, 3):
            with suppress(Exception):
                try:
                    return str(build(given[:length]).key)
                except TypeError:
                    return str(build(given[:length], dialect=DuckDB()).key)
        return ""

    class Quoting(DuckDB):
        class Parser(usual):  # type: ignore[misc, valid-type]
            FUNCTIONS: ClassVar[dict[str, Node]] = {
                name: build
                for name, build in usual.FUNCTIONS.items()
                if name not in ours and name not in _INSIDE and key(build) in UNDERSTOOD
            }
            FUNCTION_PARSERS: ClassVar[dict[str, Node]] = {
                name: parse for name, parse in usual.FUNCTION_PARSERS.items() if name in _SPECIAL
            }

        class Tokenizer(DuckDB.Tokenizer):
            IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ['"', "`"]

    return Quoting()


def read_tokens(tokens: Sequence[Node], sql: str) -> list[Node]:
    """Return the tokens with [a name] as one quoted name, and with `a.b`, where it is no alias, as two of them.

    TOP 3 after SELECT becomes a word of the parser's, and DIV before a bracket the name of a function.
    """
    kept: list[Node] = []
    place = marks = 0
    while place < len(tokens):
        token = tokens[place]
        kind, end = token.token_type.name, place
        given = _parameter(kept, tokens, place)
        if given is not None:
            mark, name, length = given
            marks += mark == "?"
            kept += _called(token, mark, name or str(marks), named=bool(name) and not name.isdigit())
            place += length
            continue
        if kind in _BARE and _name(tokens, place + 1) != "L_PAREN" and _name(kept, len(kept) - 1) != "DOT":
            kept += _called(token, token.text)
            place += 1
            continue
        if kind == "VAR" and _is_word(token, "TOP") and _is_top(kept, tokens, place):
            kept.append(_made(token, "TOP", token.text, token.end))
            place += 1
            continue
        if kind == "DIV" and token.text != "//" and _name(tokens, place + 1) == "L_PAREN" and not _ends_value(kept):
            kept.append(_made(token, "VAR", token.text, token.end))
            place += 1
            continue
        if kind == "L_BRACKET" and _starts_name(kept, token):
            end = next((at for at in range(place, len(tokens)) if _name(tokens, at) == "R_BRACKET"), place)
            written = sql[token.start + 1 : tokens[end].start]
            if _BRACKETED.fullmatch(written):
                kept.append(_made(token, "IDENTIFIER", written, tokens[end].end))
                place = end + 1
                continue
        if (
            kind == "IDENTIFIER"
            and "." in token.text
            and sql[token.start] == "`"
            and _name(kept, len(kept) - 1) != "ALIAS"
        ):
            for index, word in enumerate(token.text.split(".")):
                kept += [_made(token, "DOT", ".", token.end)] if index else []
                kept.append(_made(token, "IDENTIFIER", word, token.end))
        else:
            kept.append(token)
        place += 1
    return kept


def _starts_name(before: Sequence[Node], bracket: Node) -> bool:
    """Return whether a bracket is where a name can be: after a value without a space it is an index."""
    touches = bool(before) and before[-1].end + 1 == bracket.start
    return not touches or (before[-1].token_type.name not in _VALUES and not before[-1].text[-1:].isalnum())


def _parameter(before: Sequence[Node], tokens: Sequence[Node], place: int) -> tuple[str, str, int] | None:
    """Return the sign of a parameter, its name if it has one, and how many tokens it is; None if here is none."""
    token, after = tokens[place], tokens[place + 1] if place + 1 < len(tokens) else None
    kind = token.token_type.name
    if kind == "PLACEHOLDER":
        return "?", "", 1
    if after is None or token.end + 1 != after.start or after.token_type.name in {"STRING", "IDENTIFIER"}:
        return None
    if kind == "PARAMETER" and token.text == "$" and str(after.text).isidentifier() | str(after.text).isdigit():
        return str(token.text), str(after.text), 2
    if kind == "COLON" and str(after.text).isidentifier() and not _ends_value(before):
        return ":", str(after.text), 2
    return None


def _called(token: Node, name: str, argument: str = "", *, named: bool = False) -> list[Node]:
    """Return the tokens of a function in place of one that has no brackets, with one constant at most."""
    made = [_made(token, "VAR", name, token.end), _made(token, "L_PAREN", "(", token.end)]
    if argument:
        made.append(_made(token, "STRING" if named else "NUMBER", argument, token.end))
    return [*made, _made(token, "R_PAREN", ")", token.end)]


def _is_top(before: Sequence[Node], tokens: Sequence[Node], place: int) -> bool:
    """Return whether TOP means a LIMIT: after SELECT, before a number or a number in brackets."""
    after = [_name(tokens, place + offset) for offset in (1, 2, 3)]
    starts = bool(before) and before[-1].token_type.name in {"SELECT", "DISTINCT", "ALL"}
    return starts and (after[0] == "NUMBER" or after == ["L_PAREN", "NUMBER", "R_PAREN"])


def _ends_value(before: Sequence[Node]) -> bool:
    return bool(before) and before[-1].token_type.name in {*_VALUES, "VAR", "NUMBER", "END"}


def _made(token: Node, kind: str, text: str, end: int) -> Node:
    kinds = type(token.token_type)
    return type(token)(kinds[kind], text, token.line, token.col, token.start, end)


def _tree(sql: str, read: list[Node]) -> tuple[Node, Wish]:
    """Return the parser's tree of a text, and the statements around it; `read` receives the tokens."""
    from sqlglot.errors import ParseError as Rejected
    from sqlglot.errors import SqlglotError

    dialect = _dialect()
    try:
        tokens = dialect.tokenize(sql)
    except SqlglotError:
        raise ParseError("a string, a quoted name or a comment does not end") from None
    read += tokens
    tokens, wish = split_wish(_one_statement(read_tokens(tokens, sql)))
    if any(str(token.text).casefold() in BOUNDING for token in tokens):
        tokens = with_bounds(tokens)
    tokens = _ordered_pivot(tokens)
    _check_tokens(tokens)
    _check_arguments(tokens)
    try:
        trees = dialect.parser().parse(tokens, sql)
    except Rejected as error:
        place = error.errors[0] if error.errors else {}
        raise ParseError("this is not valid SQL", line=place.get("line"), column=place.get("col")) from None
    except (PrivetError, RecursionError):
        raise
    except Exception:  # whatever else the parser trips over, the text is at fault, and its words stay inside
        raise ParseError("this is not valid SQL") from None
    if len(trees) != 1 or trees[0] is None:
        raise ParseError("there is no query in this text; write SELECT ... FROM ...")
    return trees[0], wish


def _ordered_pivot(tokens: list[Node]) -> list[Node]:
    """Return PIVOT t ON ... ORDER BY ... as its meaning: SELECT * FROM (PIVOT t ON ...) ORDER BY ..."""
    if _name(tokens, 0) != "PIVOT":
        return tokens
    depth = 0
    for place, token in enumerate(tokens):
        kind = token.token_type.name
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if depth == 0 and kind in {"ORDER_BY", "LIMIT"}:
            first, last = tokens[0], token
            start = [("SELECT", "SELECT"), ("STAR", "*"), ("FROM", "FROM"), ("L_PAREN", "(")]
            around = [_made(first, kind, text, first.start) for kind, text in start]
            return [*around, *tokens[:place], _made(last, "R_PAREN", ")", last.start), *tokens[place:]]
    return tokens


def _check_arguments(tokens: Sequence[Node]) -> None:
    """Refuse more arguments than a function takes, where the parser would not."""
    calls: list[tuple[str, int]] = []  # each open bracket: the call of its arguments, and how many so far
    before = ""
    for token in tokens:
        kind = token.token_type.name
        if kind == "L_PAREN":
            calls.append((before, 1))
        elif kind == "R_PAREN" and calls:
            calls.pop()
        elif kind == "COMMA" and calls:
            name, count = calls[-1]
            calls[-1] = (name, count + 1)
            if count + 1 > _ARGUMENTS.get(name, count + 1):
                most = _ARGUMENTS[name]
                raise Unsupported(f"{name} takes {most} argument{'s' if most > 1 else ''}; leave out the others")
        before = str(token.text).upper()


def _one_statement(tokens: Sequence[Node]) -> list[Node]:
    kept = list(tokens)
    while kept and kept[-1].token_type.name == "SEMICOLON":
        kept.pop()
    if not kept:
        raise ParseError("there is no query in this text; write SELECT ... FROM ...")
    if any(token.token_type.name == "SEMICOLON" for token in kept):
        raise Unsupported(
            "a query is one statement; ask them one at a time, or all at once with session.ask_all([...])"
        )
    if kept[0].token_type.name not in _FIRST:
        word = kept[0].text.upper()[:30]
        raise Unsupported(
            f"only SELECT is understood, and this starts with {word!r}; a query reads and changes nothing"
        )
    return kept


def _check_tokens(tokens: Sequence[Node]) -> None:
    """Refuse nesting and chains that are too long, counted before the parser recurses into them."""
    open_at: list[int] = []
    depth = run = terms = signs = unions = 0
    if len(tokens) > MOST_WORDS:
        raise ParseError(f"a query has at most {MOST_WORDS:,} words and signs; this one has {len(tokens):,}")
    for token in tokens:
        name = token.token_type.name
        if name in {"L_BRACKET", "L_BRACE"}:  # the parser takes quadratic time over chains of them
            raise Unsupported(
                "lists and structures, [...] and {...}, are not supported; a table has plain columns; for several "
                "quantiles write QUANTILE(x, 0.25), QUANTILE(x, 0.5)"
            )
        if name in _PREFIX:
            run += 1
        elif name in _OPENING:
            open_at.append(run + 1)
            depth, run = depth + run + 1, 0
        else:
            run = 0
            if name in _CLOSING and open_at:
                depth -= open_at.pop()
        unions += name in _SETS
        if unions > MOST_UNIONS:
            raise Unsupported(f"a query has at most {MOST_UNIONS} UNION ALLs")
        terms += name in {"AND", "OR"}
        signs += name not in _PLAIN and not token.text[:1].isalnum()
        if depth + run > MOST_NESTED:
            raise ParseError(
                f"the query is nested more than {MOST_NESTED} levels deep; drop brackets, or use AND, OR and IN",
                line=token.line,
                column=token.col,
            )
        if terms > MOST_TERMS:
            raise ParseError(f"a query has at most {MOST_TERMS} ANDs and ORs; write x IN (...) for long lists")
        if signs > MOST_SIGNS:
            raise ParseError(f"a query has at most {MOST_SIGNS:,} operators; write x IN (...) for long lists")
