"""How a question is to be answered: what the caller says, and what the question itself says in SQL, said once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.schema import Contribution, Schema
from privet.core.unit import person_column
from privet.query.nodes import Query
from privet.query.shape import typical_of
from privet.query.sql_wish import Wish

from .make import private_schema
from .stability import Rule


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
