"""The shape of a relation: its columns with their public facts, and the owner of its rows; or why it is refused.

This is the one place that decides which steps stay within one unit. It reads declared facts and the tree, never data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from privet.core.division import Touched
from privet.core.errors import InvariantError, RequestError, Unbounded, UnknownName, Unsupported, WrongKind
from privet.core.relation import (
    ColumnRef,
    Derive,
    Expression,
    GroupWithin,
    Join,
    Rank,
    Relation,
    Union,
    Within,
    tables_of,
)
from privet.core.schema import AUTO, Contribution, Schema
from privet.core.schema import ColumnFacts as Facts
from privet.core.unit import unit_columns

from .block_reads import blocks_read, is_growing
from .expressions import mentions, typed
from .normal import text
from .resolve import condition
from .typed import MOMENTS, NUMBERS, Typed, clamp_ends, hull, of_column, real, whole

# The origin of a column of a relation, and whether an equality of two implies that rows have one owner.


Place = tuple[str, str]
"""A table and a column of it."""


def conjuncts(on: Expression | None) -> Iterator[Expression]:
    """Yield the conditions that must all be true for a condition to be true."""
    if on is not None and on.function == "and":
        for argument in on.arguments:
            yield from conjuncts(argument)
    elif on is not None:
        yield on


def equalities(join: Join, left: Schema) -> Iterator[tuple[str, str]]:
    """Yield the columns of the left and of the right side, as each calls them, that a join makes equal, plainly."""
    theirs = dict(join.names)
    for conjunct in conjuncts(join.on):
        if conjunct.function != "equal":
            continue
        first, second = (side.column or "" for side in conjunct.arguments)
        for mine, other in ((first, second), (second, first)):
            if mine in left.columns and other in theirs:
                yield mine, theirs[other]


def equal_sides(join: Join, left: Schema) -> Iterator[tuple[Expression, Expression]]:
    """Yield the equal sides of a join: an expression over columns of the left side, and one over those of the right.

    Both are over the names that the columns have in the result. The equality of units is not among them.
    """
    theirs = {name for name, _ in join.names}
    for conjunct in conjuncts(join.on):
        if conjunct.function != "equal":
            continue
        for mine, other in (conjunct.arguments, conjunct.arguments[::-1]):
            sides = mentions(mine), mentions(other)
            if all(sides) and sides[0] <= left.columns.keys() and sides[1] <= theirs:
                yield mine, other


def same_owner(join: Join, left: Schema, tables: Mapping[str, Schema]) -> bool:
    """Return whether the condition of a join implies that both rows have one owner: by the unit itself, or by a link.

    The join enforces it in any case; this is about the analyst's intention.
    """
    pairs = set(equalities(join, left))
    units = unit_columns(left.unit)
    if units and all((name, name) in pairs for name in units):
        return True
    return any(
        says_owner(place_of(join.left, mine, tables), place_of(join.right, theirs, tables), tables)
        for mine, theirs in pairs
    )


def place_of(relation: Relation, column: str, tables: Mapping[str, Schema]) -> Place | None:
    """Return where the values of a column come from: of one end of a link, the end that it leads to."""
    return _anchor(origin(relation, column), tables)


def is_of_one(relation: Relation, column: str, tables: Mapping[str, Schema]) -> bool:
    """Return whether each value of a column belongs to one person's row: a link leads to it, or starts there."""
    place = place_of(relation, column, tables)
    return (
        place is not None
        and (place in _targets(tables) or tables[place[0]].key == place[1])
        and not is_public(tables[place[0]])
    )


def says_owner(one: Place | None, other: Place | None, tables: Mapping[str, Schema]) -> bool:
    """Return whether an equality of two columns implies that two rows have one owner.

    Both are ends of one link, or one is the key of a table of people: then a value of it is of one person's row. Or
    two tables have a column of one name that numbers things, as visit_id does: a thing is taken to be of one
    person, whom the join requires to be equal in any case.
    """
    if one is None or other is None:
        return False
    if (
        one[0] != other[0]
        and one[1].casefold() == other[1].casefold()
        and all(_numbers(*at, tables) for at in (one, other))
    ):
        return True
    keyed = any(tables[table].key == column and not is_public(tables[table]) for table, column in (one, other))
    return keyed or (one == other and one in _targets(tables))


def _numbers(table: str, column: str, tables: Mapping[str, Schema]) -> bool:
    """Return whether a column of a private table identifies things, by its name, and is not declared as a measure."""
    facts = tables[table].columns[column]
    plain = facts.kind in ("integer", "text") and facts.values is None and facts.low is None
    return plain and not is_public(tables[table]) and column.casefold().endswith(("id", "key", "number", "_no", "_nr"))


def only_match(relation: Relation, column: str, tables: Mapping[str, Schema]) -> bool:
    """Return whether a column is a table's own in which no value occurs twice: its key, or the target of links."""
    return isinstance(relation, str) and (tables[relation].key == column or (relation, column) in _targets(tables))


def one_to_meet(join: Join, left: Schema, tables: Mapping[str, Schema]) -> tuple[bool, bool]:
    """Return whether each row meets at most one row of the left side, and of the right; units are equal in any case."""
    pairs = [*equalities(join, left), *((name, name) for name in unit_columns(left.unit))]
    on_left = any(only_match(join.left, mine, tables) for mine, _ in pairs)
    return on_left, any(only_match(join.right, theirs, tables) for _, theirs in pairs)


def origin(relation: Relation, column: str) -> Place | None:
    """Return the table and column from which the values of a column come unchanged; None if there is no such."""
    match relation:
        case str():
            return relation, column
        case Derive(source=source, columns=columns) | GroupWithin(source=source, keys=columns):
            made = dict(columns).get(column)
            return None if made is None or made.column is None else origin(source, made.column)
        case Join(left=left, right=right, names=names):
            theirs = dict(names).get(column)
            return origin(left, column) if theirs is None else origin(right, theirs)
        case Rank(source=source, name=name):
            return None if column == name else origin(source, column)
    return None


def _targets(tables: Mapping[str, Schema]) -> set[Place]:
    return {(schema.link.to, schema.link.column) for schema in tables.values() if schema.link is not None}


def _anchor(place: Place | None, tables: Mapping[str, Schema]) -> Place | None:
    """Return where a column leads that is one end of a link: to the other end."""
    if place is None:
        return None
    link = tables[place[0]].link
    return (link.to, link.column) if link is not None and link.via == place[1] else place


MOST_ROWS = 2**50
"""No scan reads more rows than this: it would take the fastest engine far longer than a scan may run."""

_EXACT = 2**53
"""Whole numbers up to here are doubles."""

_MAX_CONTRIBUTION = 10**6


def schema_of(relation: Relation, tables: Mapping[str, Schema]) -> Schema:
    """Return the facts of a relation, over tables whose links are followed; refuses what crosses units.

    Guarantee: each row of the result belongs to at most one unit, the one that its unit columns say; and the rows of a
    unit are a function of that unit's rows in all tables, and of public tables. For leaves this is what a unit is,
    once rows without a unit are dropped. Conditions and computed columns see one row. A join of two private sides
    pairs rows of one unit only, a join with a public side leaves a row with its unit, and a left join keeps rows of the
    side that the unit comes from. Groups and ranks are taken among rows with the same unit columns. All rows of several
    relations belong to whom they belonged. Where each row is a unit, it makes at most one row of the result: a join is
    on the key of a public table.
    """
    if isinstance(relation, str):
        return _stored(relation, tables)
    made = _Shape(tables, None).of(relation)
    versions = [(name, tables[name].version) for name in tables_of(relation)]
    if any(tables[name].blocks is not None for name, _ in versions):
        touched = blocks_read(relation, tables)
        if touched is not None:
            label = _label_of(touched, tables[touched.table])
            versions = [(name, label if name == touched.table else version) for name, version in versions]
    return replace(made, version="; ".join(f"{name}: {version}" for name, version in versions if version))


def _label_of(touched: Touched, schema: Schema) -> str:
    """Return the label of the blocks that are read: their division, and while one of them grows the table's label.

    What is closed does not change with the label of a table that grows, and is not what it was while it grew.
    """
    if not is_growing(touched, schema):
        return touched.division
    grows = schema.blocks is not None and schema.blocks.timed
    return ", ".join(part for part in (touched.division, "growing" if grows else "", schema.version) if part)


def sides_of(join: Join, tables: Mapping[str, Schema]) -> tuple[Schema, Schema]:
    """Return the facts of both sides of a join; those of a stored table are declared."""
    left, right = (
        _stored(side, tables) if isinstance(side, str) else schema_of(side, tables) for side in (join.left, join.right)
    )
    return left, right


def schema_within_limits(
    relation: Relation, tables: Mapping[str, Schema], contribution: Contribution | None = None
) -> Schema:
    """Return the facts of a relation where units stay within their limits: the bounds that its sums are clamped to.

    These are not proven. Counts and sums within a unit have bounds as if it had no more rows than its declared
    contribution, or the one passed instead.
    """
    return _Shape(tables, _Limit(contribution)).of(relation)


@dataclass(frozen=True)
class _Limit:
    contribution: Contribution | None


@dataclass(frozen=True)
class _Shape:
    tables: Mapping[str, Schema]
    limits: _Limit | None

    def of(self, relation: Relation) -> Schema:
        match relation:
            case str():
                stored = _stored(relation, self.tables)
                given = None if self.limits is None or is_public(stored) else self.limits.contribution
                return stored if given is None else replace(stored, contribution=given)
            case Derive():
                return self._derive(relation)
            case Join():
                return self._join(relation)
            case GroupWithin():
                return self._group(relation)
            case Rank():
                source = self.of(relation.source)
                _check_names((*source.columns, relation.name))
                _check_partition(source, relation.partition, "a window function", "PARTITION BY")
                made = rank_facts(relation, source, self._most(source))
                columns = {**source.columns, relation.name: made}
                return _made(source, columns, source.contribution, source.rows, source.most_rows)
            case Union():
                return self._union(relation)
        raise InvariantError("an unknown kind of relation")

    def _most(self, source: Schema) -> int:
        """Return how many rows one unit has: at most, or within its limits."""
        if self.limits is None or is_public(source):
            return source.rows
        if source.contribution.chosen:
            raise RequestError(
                "contribution='auto' limits how many rows of a person count, and what is computed within each person "
                "needs a stated number; pass contribution=Contribution(groups=, rows=)"
            )
        return source.contribution.groups * source.contribution.rows

    def _derive(self, relation: Derive) -> Schema:
        source = self.of(relation.source)
        _check_names(tuple(name for name, _ in relation.columns))
        if any((name, ColumnRef(name)) not in relation.columns for name in unit_columns(source.unit)):
            raise InvariantError("a step lost the unit of its rows")
        if relation.where is not None:
            condition(relation.where, source.columns, "WHERE")
        columns = {name: facts_of(expression, source.columns) for name, expression in relation.columns}
        key = source.key if (source.key, ColumnRef(source.key or "")) in relation.columns else None
        return replace(_made(source, columns, source.contribution, source.rows, source.most_rows), key=key)

    def _join(self, join: Join) -> Schema:
        left, right = self.of(join.left), self.of(join.right)
        _check_names((*left.columns, *(name for name, _ in join.names)))
        theirs = {name: facts_of(ColumnRef(column), right.columns) for name, column in join.names}
        if join.kind == "left":
            theirs = {name: replace(column, nullable=True) for name, column in theirs.items()}
        columns = {**left.columns, **theirs}
        if join.on is not None:
            condition(join.on, columns, "ON")
        if is_public(left) and not is_public(right):
            raise Unsupported(
                "a public table cannot be kept whole beside a private one: its rows without a match would belong to "
                "no person, and appear when a person leaves; put the private table first, or use JOIN"
            )
        if join.one:
            _check_one(join, left, right)
            return _made(left, columns, left.contribution, left.rows, left.most_rows)
        keyed = on_key(join, left, right)
        if not is_public(right):
            check_same_unit(left, right)
            on_left, on_right = one_to_meet(join, left, self.tables)
            most = left.most_rows if on_right else right.most_rows if on_left and join.kind == "inner" else None
            return _made(left, columns, self._together(join, left, right), self._pairs(join, left, right), most)
        if left.unit.rowwise and not keyed:
            raise Unsupported(
                "each row of this table is protected by itself, and a join may make it into several; join on the key "
                "of the public table, and declare it: PublicTable(..., key='column')"
            )
        most = left.most_rows if keyed else None
        return _made(left, columns, left.contribution, left.rows * (1 if keyed else _met(join, right)), most)

    def _pairs(self, join: Join, left: Schema, right: Schema) -> int:
        """Return how many rows a join of private sides has at most, if the keys that are declared are keys.

        No proof about a unit relies on it: a unit's weight, and values computed within it, are clamped to
        their bounds by the engine whatever the number of its rows. It states how wide integers must be, and an engine
        fails, rather than wraps, where they are too narrow.
        """
        on_left, on_right = one_to_meet(join, left, self.tables)
        if on_right:
            return left.rows
        if on_left:
            return left.rows + right.rows if join.kind == "left" else right.rows
        return left.rows * _met(join, right)

    def _together(self, join: Join, left: Schema, right: Schema) -> Contribution:
        """Return the limit of a unit's part in a join: where one side's rows have one match, as the other side."""
        on_left, on_right = one_to_meet(join, left, self.tables)
        if on_right:
            return left.contribution
        if on_left and join.kind == "inner":
            return right.contribution
        if left.contribution.chosen or right.contribution.chosen:
            return AUTO
        return Contribution(
            groups=min(left.contribution.groups * right.contribution.groups, _MAX_CONTRIBUTION),
            rows=min(left.contribution.rows * right.contribution.rows, _MAX_CONTRIBUTION),
        )

    def _group(self, relation: GroupWithin) -> Schema:
        source = self.of(relation.source)
        _check_names((*(name for name, _ in relation.keys), *(within.name for within in relation.aggregates)))
        _check_partition(source, tuple(key for _, key in relation.keys), "a sub-query that aggregates", "GROUP BY")
        units = unit_columns(source.unit)
        if any((name, ColumnRef(name)) not in relation.keys for name in units):
            raise InvariantError("a step lost the unit of its rows")
        if relation.where is not None:
            condition(relation.where, source.columns, "WHERE")
        columns = {name: facts_of(key, source.columns) for name, key in relation.keys}
        most, empty = self._most(source), not relation.keys
        columns |= {within.name: group_facts(within, source, most, empty=empty) for within in relation.aggregates}
        alone = bool(units) and len(relation.keys) == len(units) and one_row_each(source)
        kept = Contribution(groups=1, rows=1) if alone else source.contribution
        return _made(source, columns, kept, source.rows, source.most_rows)

    def _union(self, relation: Union) -> Schema:
        schemas = [self.of(source) for source in relation.sources]
        first = schemas[0]
        if len(schemas) < 2:
            raise InvariantError("a union is of several relations")
        if first.unit.rowwise:
            _check_apart(relation, schemas, self.tables)
        for other in schemas[1:]:
            if len(other.columns) != len(first.columns):
                raise Unsupported("the parts of UNION ALL have different numbers of columns; list the same in each")
            if not first.unit.rowwise:
                check_same_unit(first, other)
            if _places(first) != _places(other):
                raise InvariantError("the parts of a union have their units in different places")
        columns = {}
        for name, *parts in zip(first.columns, *(schema.columns.values() for schema in schemas), strict=True):
            columns[name] = _either(parts)
        contribution = Contribution(
            groups=max(schema.contribution.groups for schema in schemas),
            rows=min(sum(schema.contribution.rows for schema in schemas), _MAX_CONTRIBUTION),
        )
        if any(schema.contribution.chosen for schema in schemas):
            contribution = AUTO
        most = sum(schema.most_rows or 0 for schema in schemas) if all(schema.most_rows for schema in schemas) else None
        return _made(first, columns, contribution, sum(schema.rows for schema in schemas), most)


def _check_apart(relation: Union, schemas: list[Schema], tables: Mapping[str, Schema]) -> None:
    """Raise unless parts whose rows are protected one by one have no table in common, so that no row comes twice.

    Guarantee: each row of a part is made of one row of its table, at most, and each table is read by one part. So a row
    that differs between neighbours makes at most one row of the union, as of its own part.
    """
    if any(schema.unit != schemas[0].unit or schema.neighbors != schemas[0].neighbors for schema in schemas):
        raise Unsupported(
            "UNION ALL is of rows that are protected alike: declare the same unit and neighbours for both"
        )
    read = [name for source in relation.sources for name in tables_of(source) if not is_public(tables[name])]
    if len(set(read)) < len(read):
        raise Unsupported(
            "UNION ALL is of different tables where each row is protected by itself: one that is read twice could come "
            "twice"
        )


def _check_one(join: Join, left: Schema, right: Schema) -> None:
    """Raise unless each row of the left side meets at most one of the right, as `one` claims.

    Guarantee: the right side has one row for each combination of its keys. All of them but the person, which is equal
    in any case, are equal in plain columns to expressions over the left side, and compared in a way that tells them
    apart. So two rows that one meets are alike in all keys, and are the same.
    """
    if not isinstance(join.right, GroupWithin):
        raise InvariantError("a join that finds one row is with rows that are grouped")
    if not is_public(right):
        check_same_unit(left, right)
    theirs = dict(join.names)
    equal = set(unit_columns(right.unit)[:1])
    for mine, other in equal_sides(join, left):
        column = theirs.get(other.column or "")
        if column is not None and _told_apart(right.columns[column], mine, left):
            equal.add(column)
    if any(name not in equal for name, _ in join.right.keys):
        raise InvariantError("a join that finds one row is on all keys of the rows that are grouped")


def _met(join: Join, right: Schema) -> int:
    """Return how many rows a join makes of each row of the left side at most, over all of a unit's on average."""
    return right.rows if join.most is None else min(join.most, right.rows)


def is_public(schema: Schema) -> bool:
    """Return whether no row of a relation belongs to a person."""
    return schema.unit.public


def one_row_each(schema: Schema) -> bool:
    """Return whether grouping by the unit's columns leaves one row for each unit."""
    return len(unit_columns(schema.unit)) == 1


def _stored(name: str, tables: Mapping[str, Schema]) -> Schema:
    if name not in tables:
        raise UnknownName("table", name, tables)
    schema = tables[name]
    return schema if schema.blocks is None else replace(schema, blocks=None)


def _made(
    source: Schema, columns: Mapping[str, Facts], contribution: Contribution, rows: int, most: int | None = None
) -> Schema:
    return Schema(
        unit=source.unit,
        columns=columns,
        neighbors=source.neighbors,
        contribution=contribution,
        rows=min(max(rows, 1), MOST_ROWS),
        most_rows=most,
    )


def _check_names(names: tuple[str, ...]) -> None:
    if len({name.casefold() for name in names}) != len(names) or not all(names):
        raise InvariantError("two columns of a relation have one name")


def _check_partition(source: Schema, by: tuple[Expression, ...], what: str, clause: str) -> None:
    if source.unit.rowwise:
        raise Unsupported(
            f"{what} mixes rows, and each row of this table is protected by itself; aggregate in the outer query"
        )
    for name in unit_columns(source.unit):
        if ColumnRef(name) not in by:
            raise Unsupported(
                f"{what} must stay within one person's rows: add {name!r}, which identifies the person, to {clause}; "
                f"across people only the outermost query aggregates, with noise"
            )


def check_same_unit(left: Schema, right: Schema) -> None:
    """Raise unless two relations belong to the same people, identified by columns of one kind, or to no unit."""
    if is_public(left) != is_public(right):
        raise Unsupported("UNION ALL of private and public rows would leave some rows without an owner; ask them apart")
    if left.unit.rowwise or right.unit.rowwise:
        raise Unsupported(
            "each row of one of these tables is protected by itself, so they cannot be put together by who owns "
            "their rows; declare a unit such as Person('patient_id')"
        )
    if left.unit != right.unit:
        raise Unsupported(
            f"these tables protect different units, {left.unit} and {right.unit}; a row of both would have two "
            f"owners: give them the same unit, or a Link from one to the other"
        )
    if left.neighbors != right.neighbors:
        raise Unsupported("these tables are declared with different neighbours; declare the same for both")
    for name in unit_columns(left.unit):
        if left.columns[name].kind != right.columns[name].kind:
            raise Unsupported(f"{name!r}, which identifies the person, is of different kinds in these tables")


def on_key(join: Join, left: Schema, right: Schema) -> bool:
    """Return whether each row of the left side meets at most one of a public right side, by its key.

    Guarantee: a value of the left side equals at most one value of the key as the engine compares them. Of two kinds,
    the narrower is made the wider one first: dates become their midnights and whole numbers up to 2**53 themselves, but
    of larger ones many become the same double.
    """
    key = next((name for name, column in join.names if column == right.key), None)
    if key is None:
        return False
    for conjunct in conjuncts(join.on):
        if conjunct.function == "equal" and ColumnRef(key) in conjunct.arguments:
            other = conjunct.arguments[1 - conjunct.arguments.index(ColumnRef(key))]
            if mentions(other) <= left.columns.keys() and _told_apart(right.columns[right.key or ""], other, left):
                return True
    return False


def _told_apart(key: Facts, other: Expression, left: Schema) -> bool:
    """Return whether different values of a key stay different where they are compared with an expression."""
    if key.kind != "integer" or typed(other, left.columns).kind != "number":
        return True
    bounds = [key.low, key.high] if key.values is None else list(key.values)
    return all(isinstance(end, (int, Fraction)) and -_EXACT <= end <= _EXACT for end in bounds)


def _places(schema: Schema) -> list[int]:
    names = list(schema.columns)
    return [names.index(name) for name in unit_columns(schema.unit)]


def _either(parts: list[Facts]) -> Facts:
    if all(part == parts[0] for part in parts):
        return parts[0]
    step = parts[0].step if all(part.step == parts[0].step for part in parts) else None
    return as_facts(hull("UNION ALL", [of_column(part) for part in parts]), step)


# The public facts of a computed column, as those of a declared one.

_MOST_LISTED = 1_000


def facts_of(expression: Expression, columns: Mapping[str, Facts]) -> Facts:
    """Return the facts of a column that is computed from others; engines clamp its values to them."""
    known = typed(expression, columns)
    if expression.column is not None:
        return columns[expression.column]
    if known.kind is None:
        raise Unsupported(f"{text(expression)} is always NULL; leave the column out")
    if known.kind == "number":
        low, high = clamp_ends(expression, known)
        known = replace(known, low=low, high=high)
    return as_facts(known)


def as_facts(known: Typed, step: Fraction | None = None) -> Facts:
    """Return facts of values as the facts of a column: both bounds or none."""
    if known.kind is None:
        raise Unsupported("a column that is always NULL has no facts; leave it out")
    low, high = (known.low, known.high) if known.bounded else (None, None)
    values = known.values
    if known.kind == "integer" and values is None and known.step > 1 and known.bounded:
        first, last = known.ends
        if first is not None and last is not None and (last - first) / known.step < _MOST_LISTED:
            values = tuple(range(int(first), int(last) + 1, known.step))
    if known.kind == "integer" and step is None and known.bounded:
        step = Fraction(1)
    if known.kind in {"boolean", "text"}:
        low = high = step = None
    return Facts(kind=known.kind, low=low, high=high, step=step, values=values, nullable=known.nullable)


# The public facts of computations within one unit: counts, sums, extremes, ranks.
#
# `most` is the number of rows of one unit: at most, for proven facts; by its limit, for the bounds of clamped sums.


WITHIN = ("count_rows", "count", "count_distinct", "sum", "avg", "min", "max")
"""The aggregates of one unit's rows."""

RANKS = ("row_number", "rank", "dense_rank", "lag", "lead")

OVER = ("count_rows", "count", "sum", "avg", "min", "max")
"""The aggregates that are allowed over rows of a unit, beside each of them."""

GRID = 2**24
"""A sum of numbers without a declared step is taken in no fewer steps than this from zero to the far bound."""

_FINEST = 2**61
"""More steps than this between zero and a bound do not fit the engine's integers."""

_FARTHEST = 10_000


def group_facts(one: Within, source: Schema, most: int, *, empty: bool = False) -> Facts:
    """Return the facts of an aggregate over one unit's rows; `empty` means that there may be none."""
    if one.function not in WITHIN or (one.argument is None) != (one.function == "count_rows"):
        raise InvariantError("an unknown aggregate within a unit")
    if one.where is not None:
        condition(one.where, source.columns, "FILTER")
    if one.argument is None:
        least = 1 if one.where is None and not empty else 0
        return as_facts(whole(Fraction(least), Fraction(most), nullable=False))
    known = typed(one.argument, source.columns)
    if one.function in {"count", "count_distinct"}:
        return as_facts(whole(Fraction(0), Fraction(most), nullable=False))
    nullable = known.nullable or one.where is not None or empty
    allowed = NUMBERS if one.function in {"sum", "avg"} else (*NUMBERS, *MOMENTS, "text", "boolean")
    if known.kind is None or known.kind not in allowed:
        raise WrongKind(one.function.upper(), " or ".join(allowed), (known.kind or "NULL",))
    if one.function in {"min", "max"}:
        step = _declared_step(one.argument, source)
        values = known.values if known.kind == "text" else None
        return as_facts(replace(known, nullable=nullable, values=values, step=1), step)
    low, high = _ends(one, known)
    if one.function == "avg":
        return as_facts(real(low, high, nullable=nullable))
    ends = (most * min(low, Fraction(0)), most * max(high, Fraction(0)))
    made = whole if known.kind == "integer" else real
    return as_facts(made(*ends, nullable=nullable), one.step)


FINE = 2**59
"""As many steps where a sum or a mean is compared with a row's own value: most doubles are whole numbers of them."""


def grid_step(argument: Expression, source: Schema, grid: int = GRID) -> Fraction | None:
    """Return the step on which numbers are summed within a unit: the declared one, or a fine power of two."""
    known = typed(argument, source.columns)
    if known.kind != "number" or not known.bounded:
        return Fraction(1) if known.kind == "integer" else None
    declared = _declared_step(argument, source)
    if declared is not None:
        return declared
    low, high = known.bounds
    widest = max(abs(low or Fraction(0)), abs(high or Fraction(0)))
    step = Fraction(1)
    while step * grid > widest > 0:
        step /= 2
    while step * 2 * grid <= widest:
        step *= 2
    return step


def rank_facts(one: Rank, source: Schema, most: int) -> Facts:
    """Return the facts of a window function within one unit's rows."""
    if one.function in OVER:
        for expression in (*one.partition, *(term.expression for term in one.order)):
            typed(expression, source.columns)
        return group_facts(one.within, source, most, empty=True)
    if one.function not in RANKS or (one.where, one.step, one.span) != (None, None, None):
        raise InvariantError("an unknown window function")
    for expression in (*one.partition, *(term.expression for term in one.order)):
        typed(expression, source.columns)
    if one.function in {"rank", "dense_rank", "lag", "lead"} and not one.order:
        raise Unsupported(f"{one.function.upper()} needs an ORDER BY in its OVER (...)")
    if one.function not in {"lag", "lead"}:
        if one.argument is not None:
            raise InvariantError("a rank has no argument")
        return as_facts(whole(Fraction(1), Fraction(most), nullable=False))
    if one.argument is None or not 1 <= one.places <= _FARTHEST:
        raise Unsupported(f"{one.function.upper()} takes a column and a constant number of rows from 1 to {_FARTHEST}")
    known = typed(one.argument, source.columns)
    step = _declared_step(one.argument, source)
    return as_facts(replace(known, nullable=True), step)


def _ends(aggregate: Within, known: Typed) -> tuple[Fraction, Fraction]:
    low, high = known.bounds
    if low is None or high is None:
        raise Unbounded(text(aggregate.argument) if aggregate.argument is not None else aggregate.name)
    if aggregate.step is None or aggregate.step <= 0 or max(abs(low), abs(high)) / aggregate.step > _FINEST:
        raise Unsupported(f"the grid of {aggregate.function.upper()} is too fine for its bounds; declare a larger step")
    if known.kind == "integer" and aggregate.step != 1:
        raise InvariantError("whole numbers are summed as they are")
    return low, high


def _declared_step(expression: Expression, source: Schema) -> Fraction | None:
    return None if expression.column is None else source.columns[expression.column].step
