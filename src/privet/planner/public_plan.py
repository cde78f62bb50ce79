"""The plan of a question about public tables only: they are read as they are. It has no noise, and costs nothing.

Whether all of its tables are public is proven again before they are read (`verify_public`), and by the engine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from privet.core.errors import InvariantError, RequestError
from privet.core.relation import tables_of
from privet.core.scan import GroupKey
from privet.core.schema import Kind, Schema
from privet.core.wire import canonical
from privet.query.nodes import Query
from privet.query.shape import is_public, schema_of

from .plan import Plan, Spend

EXACT = "This is about public tables only: it is read exactly, and costs nothing by itself."


@dataclass(frozen=True, repr=False)
class PublicPlan(Plan):
    """A question about public tables only: nothing is measured, and nothing is charged."""

    schemas: tuple[tuple[str, Mapping[str, Kind]], ...] = ()
    """The columns that are read of the tables of each question that it reads, and their kinds."""

    @classmethod
    def of(cls, query: Query, tables: Mapping[str, Schema], *, rho: bool = False) -> Self:
        """Return the plan of a question about public tables only, in an account that counts epsilon, or rho."""
        zero = Fraction(0)
        spend = Spend(None, zero, zero, zero) if rho else Spend(zero, zero, None, zero)
        read = tuple((canonical(part.table), _kinds(part, tables)) for part in listings(query))
        return cls(query, (), (), spend, schemas=read)

    @property
    def names(self) -> tuple[str, ...]:
        """The tables that are read."""
        return tuple(sorted({name for part in listings(self.query) for name in tables_of(part.table)}))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the relations that are read."""
        text = canonical(["public", [part.table for part in listings(self.query)]])
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def groups(self) -> tuple[GroupKey, ...]:
        """No groups are released."""
        return ()

    @cached_property
    def price(self) -> Mapping[str, float]:
        """Its cost: nothing."""
        return {"epsilon": 0.0, "delta": 0.0} if self.spend.rho is None else {"rho": 0.0}

    def notes(self, confidence: float) -> tuple[str, ...]:
        """Return that the answer is exact."""
        return (EXACT,)

    def explain(self) -> str:
        """Return the plan in plain words."""
        cost = ", ".join(f"{name} {amount:g}" for name, amount in self.price.items())
        return f"Reads {' and '.join(self.names)}. {EXACT}\nCosts {cost}."

    def facts(self) -> dict[str, Any]:
        """Return everything about the plan as plain data."""
        return {"table": " and ".join(self.names), "protects": "nothing: public tables only", "cost": dict(self.price)}

    def to_dict(self) -> dict[str, Any]:
        """Return everything about the plan as plain data that JSON can represent."""
        return {"digest": self.digest, **self.facts(), "releases": [], "columns": [], "target": None}

    def __repr__(self) -> str:
        return self.explain()


def listings(query: Query) -> tuple[Query, ...]:
    """Return the questions whose rows a question reads: itself, and those that come to it."""
    return (query, *query.others)


def is_about_public(query: Query, tables: Mapping[str, Schema]) -> bool:
    """Whether a question lists rows of public tables, and so do all that come to it."""
    names = {name for part in listings(query) for name in tables_of(part.table)}
    return all(part.lists for part in listings(query)) and all(
        name in tables and is_public(tables[name]) for name in names
    )


def _kinds(query: Query, tables: Mapping[str, Schema]) -> Mapping[str, Kind]:
    return {name: column.kind for name, column in schema_of(query.table, tables).columns.items()}


def verify_public(plan: PublicPlan, tables: Mapping[str, Schema]) -> None:
    """Raise unless a plan reads public tables alone.

    Guarantee: of every table that is named anywhere in what it reads, these tables declare that it is public.
    """
    if type(plan) is not PublicPlan or plan.passes:
        raise InvariantError("a plan of public tables measures nothing")
    if not is_about_public(plan.query, tables):
        raise RequestError(
            f"{' and '.join(plan.names)}: not all of these are public tables here; plan the question again"
        )
    if PublicPlan.of(plan.query, tables).schemas != plan.schemas:
        raise RequestError("this plan was made for other tables; plan the question again")
