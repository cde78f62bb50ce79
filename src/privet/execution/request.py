"""What a caller asks for: a question in SQL or Python, views, and how it is to be answered. Reads no data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.given import choice
from privet.core.numbers import read_amount
from privet.core.ports import Engine, HoldsPublicRows
from privet.core.relation import tables_of
from privet.core.schema import Contents, Contribution, Schema
from privet.core.unit import Nobody, person_column
from privet.planner.keys import to_be_found
from privet.planner.make import private_schema
from privet.planner.plan import Spend
from privet.planner.stability import Rule
from privet.query.categories import check_categories, check_view
from privet.query.frame import Result
from privet.query.nodes import Query
from privet.query.rows import PrivateRows
from privet.query.shape import schema_of, typical_of
from privet.query.sql.parse import parse_asked, parse_view
from privet.query.sql.wish import Wish

# How a question is to be answered: what the caller says, and what the question itself says in SQL, said once.


@dataclass(frozen=True)
class Options:
    """How one question is to be answered, as it was said; numbers are read where they are used."""

    epsilon: object = None
    rho: object = None
    within: object = None
    confidence: object = None
    bound: Rule = "norm"
    contribution: Contribution | None = None
    at_most: object = None
    other: str | None = None
    find: bool = False


def heeded(said: Options, wish: Wish, query: Query, tables: Mapping[str, Schema], *, delta: Fraction) -> Options:
    """Return the options with what the question itself says; refuse what is said twice, or against the rules.

    Guarantee: a question chooses its own spend, width and bounding, as a caller may, and nothing that protects others:
    a delta is held to be no less than the account's, whoever is named as protected to be who is declared.
    """
    for name in ("within", "confidence", "epsilon"):
        own = getattr(wish, name)
        if own is not None and getattr(said, name) is not None:
            raise RequestError(f"the question says {name.upper()} itself; leave out {name}=")
        if own is not None:
            said = replace(said, **{name: own})
    if wish.delta is not None and wish.delta < delta:
        raise Unsupported(
            f"delta is not a question's to choose, and the account has {float(delta):.6g}: leave it out, or say no less"
        )
    if wish.unit is not None:
        owner = person_column(private_schema(query.table, tables).unit)
        if owner is None or wish.unit.casefold() != owner.casefold():
            who = "each row" if owner is None else f"{owner!r}"
            raise Unsupported(f"who is protected is declared, and is {who} here; leave out privacy_unit_column")
    if wish.groups is not None:
        if said.contribution is not None:
            raise RequestError("the question says max_groups_contributed itself; leave out contribution=")
        if wish.groups.denominator != 1:
            raise BadParameter("max_groups_contributed", float(wish.groups), "a whole number of at least 1")
        typical = typical_of(query.table, tables).contribution
        said = replace(said, bound="groups", contribution=replace(typical, groups=int(wish.groups)))
    return said


# What a caller may say: questions in SQL or in Python, views, and what an answer may cost. Reads no data.


Question = str | Query | Result

KEYS_PART = Fraction(1, 100)
"""The part of an account's delta that one query with unknown keys takes for its threshold."""

DEFAULT_PART = Fraction(1, 10)
"""The part of an account's budget that a question takes where it does not say."""


def read_question(
    question: Question, tables: Mapping[str, Schema], views: Mapping[str, PrivateRows]
) -> tuple[Query, Wish]:
    """Return a question as our own tree, and what it says itself about how it is to be answered."""
    if isinstance(question, str):
        query, wish = parse_asked(question, tables, views)
    elif isinstance(question, Result):
        query, wish = question.query(), question.wish
    elif isinstance(question, Query):
        query, wish = question, Wish()
    else:
        raise BadParameter("question", type(question).__name__, "SQL text, or a table of this session with .agg(...)")
    check_categories(query, tables)
    return query, wish


def with_contents(tables: Mapping[str, Schema], engine: Engine) -> dict[str, Schema]:
    """Return the tables, the public ones with their rows, which an engine lists when they are first needed."""
    if not isinstance(engine, HoldsPublicRows):
        return dict(tables)
    found = dict(tables)
    for name, schema in tables.items():
        if isinstance(schema.unit, Nobody):
            found[name] = replace(schema, contents=Contents(partial(engine.public_rows, name)))
    return found


def with_found_groups(query: Query, tables: Mapping[str, Schema]) -> Query:
    """Return a question whose groups are to be found, although they are declared."""
    return to_be_found(query, schema_of(query.table, tables).columns)


def check_bounds(bound: object, contribution: object) -> None:
    """Refuse what is not a way to bound contributions."""
    choice(bound, "bound", ("norm", "groups"))
    if contribution is not None and not isinstance(contribution, Contribution):
        raise BadParameter("contribution", contribution, "a Contribution(groups=, rows=)")


def spend_of(budget: Budget, epsilon: object, rho: object) -> Spend:
    """Return what an answer may cost, in the measure of an account; a part of its budget where nothing is said."""
    if epsilon is not None and rho is not None:
        raise RequestError("say what the answer may cost as epsilon or as rho, not both")
    match budget:
        case Pure(epsilon=cap):
            if rho is not None:
                raise RequestError("the account counts pure epsilon; say epsilon= instead of rho=")
            wanted = cap * DEFAULT_PART if epsilon is None else read_amount(epsilon, "epsilon")
            return Spend(wanted, Fraction(0), None, Fraction(0))
        case Zcdp(rho=cap):
            if epsilon is not None:
                raise RequestError("the account counts rho; say rho= instead of epsilon=")
            return Spend(None, Fraction(0), cap * DEFAULT_PART if rho is None else read_amount(rho, "rho"), Fraction(0))
        case Approximate(epsilon=cap, delta=delta):
            keys = delta * KEYS_PART
            if rho is not None:
                return Spend(None, Fraction(0), read_amount(rho, "rho"), keys)
            wanted = cap * DEFAULT_PART if epsilon is None else read_amount(epsilon, "epsilon")
            return Spend(wanted, delta * (1 - KEYS_PART), None, keys)


def read_views(
    views: Mapping[str, str], tables: Mapping[str, Schema], asked: Mapping[str, Schema]
) -> dict[str, PrivateRows]:
    """Return the relations that views name, in the order in which they are given; each may use those before it."""
    if not isinstance(views, Mapping):
        raise BadParameter("views", type(views).__name__, "a mapping of names to SELECT statements")
    found: dict[str, PrivateRows] = {}
    taken = {name.casefold() for name in tables}
    for name, sql in views.items():
        if not isinstance(sql, str):
            raise BadParameter("views", type(sql).__name__, "a mapping of names to SELECT statements")
        if not isinstance(name, str) or not name or name.casefold() in taken:
            raise BadParameter("views", name, "names that no table and no other view has")
        taken.add(name.casefold())
        found[name] = parse_view(sql, tables, found)
        check_view(found[name], tables)
    return {name: view for name, view in found.items() if set(tables_of(view.table)) <= set(asked)}
