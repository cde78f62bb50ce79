"""The request of a caller: a question in SQL or Python, views, and how it is to be answered. Reads no data."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal, cast

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.estimate import COVERS, Covers
from privet.core.given import choice, instance, set_fields
from privet.core.numbers import Number, open_probability, read_amount
from privet.core.ports import Engine, HoldsPublicRows
from privet.core.relation import tables_of
from privet.core.schema import AUTO, Contents, Contribution, Schema, has_blocks, read_contribution
from privet.core.unit import person_column
from privet.planner.accuracy import read_target
from privet.planner.batch import make_batch
from privet.planner.keys import group_key, to_be_found
from privet.planner.make import make_plan, private_schema, with_earlier
from privet.planner.plan import Plan, Spend
from privet.planner.public_plan import PublicPlan, is_about_public
from privet.planner.rounds import InSteps, NextStep, plan_within, share_of
from privet.planner.stability import Rule
from privet.planner.touching import with_block_lines, with_blocks
from privet.query.build import check_categories, check_view
from privet.query.frame import Result
from privet.query.nodes import PrivateRows, Query
from privet.query.released import FirstValues
from privet.query.shape import schema_of, schema_within_limits
from privet.query.sql.parse import Wish, parse_asked, parse_view
from privet.query.sql.rewrites import GivenValues, Parameters, read_parameters

Question = str | Query | Result

KEYS_PART = Fraction(1, 100)
"""The part of an account's delta that one query with unknown keys takes for its threshold."""

DEFAULT_PART = Fraction(1, 10)
"""The part of an account's budget that a question takes where none is stated."""


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """How a question is to be answered: its cost or its width, and how contributions are bounded.

    The fields are the keywords of `Session.ask`. Amounts are read where the account's measure is known.
    """

    epsilon: Number | None = None
    rho: Number | None = None
    bound: Rule = "norm"
    contribution: Contribution | Literal["auto"] | None = None
    within: Any = None
    confidence: Number | None = None
    at_most: Number | None = None
    other: str | None = None
    find_groups: bool = False
    covers: Covers = "noise"
    parameters: Parameters | None = None

    def __post_init__(self) -> None:
        if self.confidence is not None:
            open_probability(self.confidence, "confidence")
        choice(self.bound, "bound", ("norm", "groups"))
        choice(self.covers, "covers", COVERS)
        if self.contribution is not None:
            set_fields(self, contribution=read_contribution(self.contribution))
        instance(self.find_groups, bool, "find_groups", "True or False")

    @property
    def stated(self) -> Contribution | None:
        """The contribution that is stated, as it was read."""
        return cast(Contribution | None, self.contribution)

    def keywords(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, as keywords of a session's methods."""
        every = ((field.name, field.default, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, default, value in every if value is not default}


@dataclass(frozen=True)
class Catalog:
    """The tables and views of questions, and the budget of the account that pays: all that planning needs.

    `schema` is the word that may stand before a table's name in SQL; `public` where there is none.
    """

    schemas: Mapping[str, Schema]
    views: Mapping[str, PrivateRows]
    budget: Budget
    schema: str | None = None

    @property
    def delta(self) -> Fraction:
        """The account's delta; 0 where it has none."""
        match self.budget:
            case Approximate(delta=delta):
                return delta
            case _:
                return Fraction(0)


def plan_question(question: Question, options: AskOptions, catalog: Catalog) -> tuple[Plan, AskOptions]:
    """Return the plan of a question, and the options that it was made with: the caller's and the question's own."""
    read = partial(read_question, question, catalog, options.parameters, given=utc_now())
    first = FirstValues()
    parts = read(first=first)
    if first.found:
        return _in_steps(read, len(first.found) + 1, options, catalog)
    return _plan_one(parts, options, catalog)


Read = tuple[Query, Wish, Schema]
"""A question as our own tree, its own statements on its answer, and the facts of its table."""


def _in_steps(read: Callable[..., Read], count: int, options: AskOptions, catalog: Catalog) -> tuple[Plan, AskOptions]:
    """Return the plan of a question that needs values first: equal parts of the spend for each of them and for it."""
    query, wish, _ = read(first=FirstValues())
    options = merged(options, wish, query, catalog.schemas, delta=catalog.delta)
    if options.within is not None or options.at_most is not None:
        raise Unsupported(
            "within= is for a question on one release, and this one needs a value first; state what both may cost "
            "(epsilon=, rho=), or ask for the value by itself and write it as a constant"
        )
    spend = spend_of(catalog.budget, options)
    share = share_of(spend, count)
    value = AskOptions(bound=options.bound, contribution=options.contribution)
    # the statements of the text were merged; those on groups and widths are about the question itself
    question = replace(options, epsilon=None, rho=None)

    def following(values: tuple[Any, ...]) -> NextStep:
        first = FirstValues(values)
        query, wish, schema = read(first=first)
        if len(first.found) > len(values):
            wanted = first.found[len(values)]
            return NextStep(
                _plan_one((wanted, Wish(), check_categories(wanted, catalog.schemas)), value, catalog, share)[0], False
            )
        kept = Wish(find=wish.find, public=wish.public)
        return NextStep(_plan_one((query, kept, schema), question, catalog, share)[0], True)

    first = FirstValues()
    query, wish, schema = read(first=first)
    firsts = [
        _plan_one((needed, Wish(), check_categories(needed, catalog.schemas)), value, catalog, share)[0]
        for needed in first.found
    ]
    kept = Wish(find=wish.find, public=wish.public)
    last = _plan_one((query, kept, schema), question, catalog, share)[0]
    return InSteps.of((*firsts, last), following, spend), options


def _plan_one(read: Read, options: AskOptions, catalog: Catalog, share: Spend | None = None) -> tuple[Plan, AskOptions]:
    """Return the plan of a question that stands alone; `share` is its spend, if it is one of several."""
    tables = catalog.schemas
    query, wish, schema = read
    if query.lists and is_about_public(query, tables):
        _refuse_measured(options)
        return PublicPlan.of(query, tables, rho=catalog.budget.measure == "rho"), options
    known: Schema | None = schema
    if has_blocks(tables):
        asked, query = query, with_blocks(query, tables)
        known = schema if query is asked else None
    if query.others and (options.other is not None or options.find_groups or wish.find):
        raise RequestError("other= and find_groups= are for a question on one release; ask its parts by themselves")
    if options.other is not None and query.levels:
        raise RequestError("other= is for a question with one grouping; ask for each grouping by itself")
    query = query if options.other is None else replace(query, other=options.other)
    query = with_found_groups(query, tables) if options.find_groups or wish.find else query
    options = merged(options, wish, query, tables, delta=catalog.delta)
    if wish.public:
        check_public_groups(query, schema)
    spend = spend_of(catalog.budget, options) if share is None else share
    bound, contribution = options.bound, options.stated
    if options.covers != "noise" and (query.levels or options.within is not None):
        raise Unsupported(
            f"covers={options.covers!r} is for one grouping at a stated cost; leave out within=, and ask for each "
            f"level of ROLLUP, CUBE and GROUPING SETS by itself"
        )
    if options.covers != "noise" and not all(step.plain for step in query.steps):
        raise Unsupported(
            f"covers={options.covers!r} is for numbers of one group each; leave out window functions and aggregates "
            f"over released rows, or covers="
        )
    if query.levels or query.others:
        if options.within is not None or options.at_most is not None:
            raise Unsupported(
                "within= is for a question with one grouping; state what all the levels, or releases, may cost "
                "(epsilon=, rho=), or ask each by itself"
            )
        batch = make_batch(
            [query], tables, spend=spend, weights=[1], bound=bound, contribution=contribution, shared=False
        )
        return _with_lines(batch.plans[0], tables), options
    if options.within is None:
        if options.at_most is not None:
            raise RequestError("at_most= goes with within=; to set what an answer costs, pass epsilon= or rho=")
        how = partial(make_plan, query, tables, spend=spend, bound=bound, contribution=contribution)
        made = with_earlier(partial(how, schema=known, covers=options.covers))
        return _with_lines(made, tables), options
    if options.epsilon is not None or options.rho is not None:
        raise RequestError(
            "state how wide the answer may be (within), or what it may cost (epsilon, rho), not both; at_most= "
            "limits what a width may cost"
        )
    plan = plan_within(
        query,
        tables,
        spend=spend,
        at_most=options.at_most,
        target=read_target(options.within, options.confidence),
        bound=bound,
        contribution=contribution,
    )
    return _with_lines(plan, tables), options


def _with_lines(plan: Plan, tables: Mapping[str, Schema]) -> Plan:
    return with_block_lines(plan, tables) if has_blocks(tables) else plan


def _refuse_measured(options: AskOptions) -> None:
    """Refuse options on noise, groups and people where there are none: a question about public tables only."""
    said = {
        "other": options.other is not None,
        "find_groups": options.find_groups,
        "contribution": options.contribution is not None,
        "covers": options.covers != "noise",
    }
    names = [f"{name}=" for name, there in said.items() if there]
    if names:
        raise RequestError(f"this asks about public tables only, and is answered exactly; leave out {', '.join(names)}")


def check_public_groups(query: Query, schema: Schema) -> None:
    """Refuse groups that would have to be found, where the question states that all of them are public."""
    hidden = [key.name for key in query.keys if group_key(key.expression, schema.columns).values is None]
    if hidden or query.find:
        raise Unsupported(
            f"PUBLIC_GROUPS needs groups that are known beforehand, and those of {', '.join(hidden) or 'this'} are not "
            f"declared; declare them (category([...]), or low and high), join a public table of them, or leave "
            f"group_selection_strategy out"
        )


def merged(
    options: AskOptions, wish: Wish, query: Query, tables: Mapping[str, Schema], *, delta: Fraction
) -> AskOptions:
    """Return the options with the question's own statements; refuse any stated twice, or against the rules.

    Guarantee: a question chooses its own spend, width and bounding, as a caller may, and nothing that protects others:
    a delta is held to be no less than the account's, and the protected unit to be the declared one.
    """
    for name in ("within", "confidence", "epsilon"):
        own = getattr(wish, name)
        if own is not None and getattr(options, name) is not None:
            raise RequestError(f"the question has {name.upper()} itself; leave out {name}=")
        if own is not None:
            options = replace(options, **{name: own})
    if wish.delta is not None and wish.delta < delta:
        raise Unsupported(
            f"A query cannot lower delta; this account uses {float(delta):.6g}. "
            "Omit delta, or pass at least that value."
        )
    if wish.unit is not None:
        owner = person_column(private_schema(query.table, tables).unit)
        if owner is None or wish.unit.casefold() != owner.casefold():
            who = "each row" if owner is None else f"{owner!r}"
            raise Unsupported(f"who is protected is declared, and is {who} here; leave out privacy_unit_column")
    if wish.covers is not None:
        if options.covers != "noise":
            raise RequestError("the question has COVERS itself; leave out covers=")
        options = replace(options, covers=wish.covers)
    if wish.auto:
        if options.contribution is not None:
            raise RequestError("the question has CONTRIBUTION itself; leave out contribution=")
        options = replace(options, contribution=AUTO)
    if wish.groups is not None:
        if options.contribution is not None:
            raise RequestError("the question has max_groups_contributed itself; leave out contribution=")
        if wish.groups.denominator != 1:
            raise BadParameter("max_groups_contributed", float(wish.groups), "a whole number of at least 1")
        limited = schema_within_limits(query.table, tables).contribution
        options = replace(options, bound="groups", contribution=replace(limited, groups=int(wish.groups)))
    return options


def read_question(
    question: Question,
    catalog: Catalog,
    parameters: Parameters | None = None,
    *,
    given: datetime.datetime | None = None,
    first: FirstValues | None = None,
) -> Read:
    """Return a question as our own tree, its own statements on its answer, and the facts of its table.

    `given` is the moment at which it is asked. Where values may be released `first`, these are taken there.
    """
    tables = catalog.schemas
    if parameters is not None and not isinstance(question, str):
        raise RequestError("parameters are for questions in SQL; build this one with the values themselves")
    match question:
        case str():
            values = GivenValues({} if parameters is None else read_parameters(parameters), given or utc_now())
            query, wish = parse_asked(question, tables, catalog.views, schema=catalog.schema, given=values, first=first)
        case Result():
            query, wish = question.query(), question.wish
        case Query():
            query, wish = question, Wish()
        case _:
            allowed = "SQL text, or a table of this session with .agg(...)"
            raise BadParameter("question", type(question).__name__, allowed)
    return query, wish, check_categories(query, tables)


_ASKED_AT: ContextVar[datetime.datetime | None] = ContextVar("asked_at", default=None)


@contextmanager
def asked_at(moment: datetime.datetime | None) -> Iterator[None]:
    """Plan the questions inside as if they were asked at this moment of UTC; at the present one where it is None.

    The moment is a constant of the plan, like one that the question itself could state: a question that was stored
    with its moment is planned again alike.
    """
    token = _ASKED_AT.set(moment)
    try:
        yield
    finally:
        _ASKED_AT.reset(token)


def utc_now() -> datetime.datetime:
    """Return the moment at which a question is asked, in whole seconds of UTC."""
    given = _ASKED_AT.get()
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0) if given is None else given


def with_calendars(tables: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the tables, those that are divided by time with a calendar up to today unless they declare its end."""
    today = utc_now().date()
    return {
        name: schema if schema.blocks is None else replace(schema, blocks=schema.blocks.until(today))
        for name, schema in tables.items()
    }


def with_contents(tables: Mapping[str, Schema], engine: Engine) -> dict[str, Schema]:
    """Return the tables, the public ones with their rows, which an engine lists when they are first needed."""
    if not isinstance(engine, HoldsPublicRows):
        return dict(tables)
    listed = dict(tables)
    for name, schema in tables.items():
        if schema.unit.public:
            listed[name] = replace(schema, contents=Contents(partial(engine.public_rows, name)))
    return listed


def with_found_groups(query: Query, tables: Mapping[str, Schema]) -> Query:
    """Return a question whose groups are to be found, although they are declared."""
    return to_be_found(query, schema_of(query.table, tables).columns)


def spend_of(budget: Budget, options: AskOptions) -> Spend:
    """Return the spend of an answer, in the measure of an account; a part of its budget where none is stated."""
    epsilon, rho = options.epsilon, options.rho
    if epsilon is not None and rho is not None:
        raise RequestError("Pass either epsilon or rho, not both.")
    match budget:
        case Pure(epsilon=cap):
            if rho is not None:
                raise RequestError("the account counts pure epsilon; pass epsilon= instead of rho=")
            wanted = cap * DEFAULT_PART if epsilon is None else read_amount(epsilon, "epsilon")
            return Spend(wanted, Fraction(0), None, Fraction(0))
        case Zcdp(rho=cap):
            if epsilon is not None:
                raise RequestError("the account counts rho; pass rho= instead of epsilon=")
            return Spend(None, Fraction(0), cap * DEFAULT_PART if rho is None else read_amount(rho, "rho"), Fraction(0))
        case Approximate(epsilon=cap, delta=delta):
            keys = delta * KEYS_PART
            if rho is not None:
                return Spend(None, Fraction(0), read_amount(rho, "rho"), keys)
            wanted = cap * DEFAULT_PART if epsilon is None else read_amount(epsilon, "epsilon")
            return Spend(wanted, delta * (1 - KEYS_PART), None, keys)


def read_views(
    views: Mapping[str, str], tables: Mapping[str, Schema], asked: Mapping[str, Schema], schema: str | None = None
) -> dict[str, PrivateRows]:
    """Return the relations that views name, in the order in which they are given; each may use those before it."""
    if not isinstance(views, Mapping):
        raise BadParameter("views", type(views).__name__, "a mapping of names to SELECT statements")
    relations: dict[str, PrivateRows] = {}
    taken = {name.casefold() for name in tables}
    for name, sql in views.items():
        if not isinstance(sql, str):
            raise BadParameter("views", type(sql).__name__, "a mapping of names to SELECT statements")
        if not isinstance(name, str) or not name or name.casefold() in taken:
            raise BadParameter("views", name, "names that no table and no other view has")
        taken.add(name.casefold())
        relations[name] = parse_view(sql, tables, relations, schema=schema)
        check_view(relations[name], tables)
    return {name: view for name, view in relations.items() if set(tables_of(view.table)) <= set(asked)}
