"""What a privet.toml protects and promises, in plain words; and what is well declared and still worth a second look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from privet.accounting.promise import promise
from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.links import followed
from privet.core.schema import Column, Schema
from privet.core.unit import Nobody, Person, Rows, Window, person_column

from .values import Config, check_config

_LARGE_DELTA = Fraction(1, 10**4)


def tables_in_words(config: Config) -> dict[str, tuple[str, ...]]:
    """Return what each table protects, and what is public about it."""
    check_config(config)
    owned = followed({name: table.schema for name, table in config.tables.items()})
    return {name: tuple(_table(owned[name])) for name in config.tables}


def promise_in_words(config: Config) -> tuple[str, ...]:
    """Return what the data set's budget promises to one of those whom its tables protect."""
    check_config(config)
    schemas = followed({name: table.schema for name, table in config.tables.items()})
    private = [schema for schema in schemas.values() if not isinstance(schema.unit, Nobody)]
    changed = private and all(schema.neighbors == "change-one" for schema in private)
    columns = {person_column(schema.unit) or "row" for schema in private}
    who = f"one {columns.pop()}" if len(columns) == 1 else "one person"
    return promise(config.rules.budget, neighbors="change-one" if changed else "add-remove", who=who)


def notes(config: Config) -> tuple[str, ...]:
    """Return what is allowed and may not be meant."""
    return tuple(_notes(config))


def _table(schema: Schema) -> Iterator[str]:
    match schema.unit:
        case Nobody():
            yield "Public: it protects nobody, and is there to be joined to private tables."
            return
        case Rows(group=group):
            yield "Protects each row by itself: a person with several rows is not protected as a whole."
            one = "one row"
        case Person(column=column, group=group):
            yield f"Protects all rows of each {column} together."
            one = f"one {column}"
        case Window(person=person, group=group):
            yield f"Protects {replace(schema.unit, group=1)}; a person's rows further apart are not protected together."
            one = f"one {person} in such a time"
    if group > 1:
        yield f"Any {group} of them are protected as if they were one, at {group} times the noise."
    if schema.link is not None:
        yield f"Whose a row is follows from {schema.link.via}, which leads to {schema.link.column} of {schema.link.to}."
    if schema.neighbors == "add-remove":
        yield f"Whether {one} is in the table at all is part of what is protected."
    else:
        number = "" if schema.units is None else f", {schema.units:,},"
        yield f"What {one} says is protected; how many there are{number} is public."
    if isinstance(schema.unit, (Person, Window)):
        give = schema.contribution
        each = "" if give.groups == 1 else f" in each of {give.groups} groups"
        yield (
            f"{one[0].upper()}{one[1:]} is expected to give up to {_several(give.rows, 'row')}{each}; what they give "
            "beyond that is scaled down."
        )
    said = {schema.unit.column} if isinstance(schema.unit, Person) else set()
    said |= set() if schema.link is None else {schema.link.via}
    yield from _columns({name: column for name, column in schema.columns.items() if name not in said})


def _columns(columns: Mapping[str, Column]) -> Iterator[str]:
    bounded = [name for name, column in columns.items() if column.low is not None]
    listed = [name for name, column in columns.items() if column.values is not None]
    neither = [name for name in columns if name not in bounded and name not in listed]
    facts = ["names and kinds of columns"]
    facts += [f"bounds ({', '.join(bounded)})"] if bounded else []
    facts += [f"values ({', '.join(listed)})"] if listed else []
    yield f"Public: {', '.join(facts)}."
    if neither:
        yield f"Cannot be summed, and groups of them must be found in the data: {', '.join(neither)}."


def _notes(config: Config) -> Iterator[str]:
    budget = config.rules.budget
    if isinstance(budget, Approximate) and budget.delta > _LARGE_DELTA:
        yield (
            f"A delta of {float(budget.delta):g} allows that all about one person in "
            f"{int(1 / budget.delta):,} comes out; it is usually far below one in the number of people."
        )
    for name, table in config.tables.items():
        units = table.schema.units
        if isinstance(budget, Approximate) and units is not None and budget.delta * units >= 1:
            yield f"The delta is no smaller than one in the {units:,} units of {name}: it could give away a whole one."
        if not table.schema.version and not isinstance(table.schema.unit, Nobody):
            yield f'{name} has no version: when its data change, give it one (version = "..."), or old answers stay.'
    for name, analyst in config.analysts.items():
        if analyst.budget is not None and _exceeds(analyst.budget, budget):
            yield f"The cap of {name} is larger than the data set's budget, which holds all the same."
        if isinstance(analyst.budget, Pure) and isinstance(budget, Approximate):
            yield f"{name} has a pure epsilon: groups must be declared ones; a delta would allow others."
    if not config.analysts:
        yield "No analysts are named: whoever may open this file shares the one budget."


def _exceeds(cap: Budget, budget: Budget) -> bool:
    own, whole = (one.rho if isinstance(one, Zcdp) else one.epsilon for one in (cap, budget))
    return isinstance(cap, Zcdp) == isinstance(budget, Zcdp) and own > whole


def _several(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
