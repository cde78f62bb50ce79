"""Several groupings of one question: a plan for each level, and which levels are made to agree with each other.

Each level is a release with a norm of its own. One person's contributions are bounded anew for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from privet.core.event import Composed
from privet.core.relation import Expression
from privet.core.scan import GroupKey
from privet.core.schema import Schema
from privet.core.wire import canonical
from privet.inference.levels import Axes
from privet.query.nodes import Query
from privet.query.normal import conjunction
from privet.query.shape import schema_of

from .keys import has_group
from .make import known_rows
from .plan import Place, Plan, Reading, Spend

if TYPE_CHECKING:
    from .batch import Batch


@dataclass(frozen=True, repr=False)
class Several(Plan):
    """A question on several releases: a plan for each, under one spend and for one charge.

    Its passes are those of all of them.
    """

    plans: tuple[Plan, ...] = ()

    @classmethod
    def of(cls, query: Query, plans: tuple[Plan, ...], spend: Spend) -> Self:
        """Return the plan of a question from those of its releases."""
        passes = tuple(pass_ for plan in plans for pass_ in plan.passes)
        return cls(query, passes, plans[0].readings, spend, plans=plans)

    @cached_property
    def batch(self) -> Batch:
        """All levels as one batch."""
        from .batch import Batch

        return Batch((self,), self.spend)

    @cached_property
    def event(self) -> Composed:
        """The cost of the answer: the events of the mechanisms that will draw."""
        return self.batch.event

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything that is released."""
        return self.batch.digest

    @cached_property
    def price(self) -> Mapping[str, float]:
        """The cost of the answer alone."""
        return self.batch.cost()

    def again(self, plans: tuple[Plan, ...]) -> Self:
        """Return the plan of the same question from other plans of its releases."""
        return type(self).of(self.query, plans, self.spend)

    def by_level(self) -> list[tuple[str, Plan]]:
        """Return the plans by which the widths of its columns are predicted, each with the name of its level."""
        return [("", self)]

    def named(self, level: int) -> str:
        """Return the name of one of the releases."""
        return f"({level + 1})"

    def words(self) -> list[str]:
        """Return how the releases share the cost."""
        return []

    def explain(self) -> str:
        """Return the plan in plain words."""
        return self.batch.explain()

    def facts(self) -> dict[str, Any]:
        """Return everything public about the plan as plain data."""
        return self.batch.facts()

    def to_dict(self) -> dict[str, Any]:
        """Return everything public about the plan as plain data that JSON can represent."""
        from .accuracy import widths

        columns = [{"level": level, **width.to_dict()} for level, plan in levels_in(self) for width in widths(plan)]
        return {"digest": self.digest, **self.facts(), "columns": columns, "target": None}


@dataclass(frozen=True, repr=False)
class Combined(Several):
    """A question over the releases of several questions: the plan of its own, then those of the others, in their order.

    Rows that two of them are about are released once, with all that is asked of them.
    """

    def words(self) -> list[str]:
        """Return how the releases share the cost."""
        different = len({plan.digest for plan in self.plans})
        if different == 1:
            return ["All parts of the question are read from one release."]
        return [
            f"The question stands on {different} releases, charged together: the cost is divided equally over their "
            f"sums, whatever the data are. What is computed from them costs nothing more."
        ]


@dataclass(frozen=True, repr=False)
class Levels(Several):
    """A question with several groupings: a plan for each, in their order, under one spend and for one charge.

    Its passes are those of all levels.
    """

    @cached_property
    def reconciled(self) -> tuple[int, ...]:
        """The levels that are made to agree: those whose groups are all public, if there are several.

        All combinations of the values of their keys are groups, and a key has the same values at each of them.
        """
        public = tuple(place for place, plan in enumerate(self.plans) if not plan.discovers)
        if len(public) < 2 or not shared_sums(self.plans[0]):
            return ()
        values: dict[Expression, set[GroupKey]] = {}
        for place in public:
            for key in self.plans[place].groups:
                values.setdefault(key.expression, set()).add(key)
        whole = all(pass_.scan.cells is None for place in public for pass_ in self.plans[place].passes)
        return public if whole and all(len(keys) == 1 for keys in values.values()) else ()

    @property
    def leaves_out(self) -> bool:
        """Whether totals are without rows whose keys have values that are not declared: these are in no part."""
        return any(not plan.discovers and plan.query.where != self.query.where for plan in self.plans)

    def axes(self, level: int) -> Axes:
        """Return the places of the keys by which a level groups."""
        return self.query.levels[level]

    def named(self, level: int) -> str:
        """Return a level as SQL writes it."""
        return f"({', '.join(self.query.keys[place].name for place in self.axes(level))})"

    def words(self) -> list[str]:
        """Return how the levels share the cost, and which agree."""
        names = [self.named(level) for level in range(len(self.plans))]
        lines = [
            f"Groups at {len(names)} levels: {', '.join(names)}. Each is released by itself, with what one person "
            f"contributes bounded anew; the cost is divided equally over the sums of all levels, whatever the data are."
        ]
        if self.reconciled:
            agree = ", ".join(names[level] for level in self.reconciled)
            lines.append(
                f"Counts of rows, sums and means at {agree} are then made to agree, by weighted least squares on the "
                f"released numbers: totals are the sums of their parts, and all of them become more accurate."
            )
        if self.leaves_out:
            lines.append("A total is over the rows that its parts have a group for: undeclared values are in none.")
        if self.discovers:
            apart = ", ".join(name for name, plan in zip(names, self.plans, strict=True) if plan.discovers)
            lines.append(
                f"The groups at {apart} are found in the data, and rare ones left out, so these need not add up."
            )
        return lines

    def facts(self) -> dict[str, Any]:
        """Return everything public about the plan as plain data."""
        return {**self.batch.facts(), "levels": [self.named(level) for level in range(len(self.plans))]}


def levels_of(query: Query, tables: Mapping[str, Schema]) -> tuple[Query, ...]:
    """Return a query for each level of a query, or for each release that it reads, or the query itself.

    A total is over the rows that its parts have a group for: a row whose key is none of the declared values is in no
    part, and were it in the total, levels would not agree in truth, nor intervals cover once they are made to agree.
    Where the number of rows is public, totals over all are that number.
    """
    if query.others:
        return tuple(replace(part, steps=()) for part in (query, *query.others))
    if not query.levels:
        return (query,)
    schema = schema_of(query.table, tables)
    held = [None if known_rows(schema) else has_group(key.expression, schema.columns) for key in query.keys]
    plain = replace(query, steps=(), levels=(), groupings=())
    queries = []
    for level in query.levels:
        over = [condition for place, condition in enumerate(held) if place not in level]
        keys = tuple(query.keys[place] for place in level)
        queries.append(replace(plain, keys=keys, where=conjunction(query.where, *over)))
    return tuple(queries)


def levels_in(plan: Plan) -> list[tuple[str, Plan]]:
    """Return each level by its name, with a plan that reads the whole question at that level, for widths.

    Of a question on several releases, each of these by its number, with a plan that reads its numbers.
    """
    if isinstance(plan, Combined):
        return [(plan.named(place), part) for place, part in enumerate(plan.plans)]
    if not isinstance(plan, Levels):
        return plan.by_level() if isinstance(plan, Several) else [("", plan)]
    return [(plan.named(level), replace(part, query=plan.query)) for level, part in enumerate(plan.plans)]


def parts_of(plan: Plan) -> tuple[Plan, ...]:
    """Return the plans of all levels or releases, or the plan itself."""
    return plan.plans if isinstance(plan, Several) else (plan,)


def additive(reading: Reading, plan: Plan) -> bool:
    """Whether totals of an aggregate are made of the parts' sums: counts of rows, sums and means are.

    People and different values may be in several parts. Quantiles and spreads are answered for each level separately.
    """
    return reading.aggregate.additive


def shared_sums(plan: Plan) -> dict[str, Place]:
    """Return the sums of a level that are made to agree with those of other levels: each with its place."""
    shared: dict[str, Place] = {}
    for reading in plan.readings:
        for total, place in zip(reading.aggregate.sums(), reading.places, strict=False):
            if additive(reading, plan):
                shared[canonical(total)] = place
    return shared
