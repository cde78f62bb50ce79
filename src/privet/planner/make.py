"""Makes a plan from a query: keys, bounds, sums, sensitivities, noise. Reads declared facts and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from privet.aggregates import Aggregate, CountValues, Mode, Ranked, Span
from privet.aggregates.aggregate import rows
from privet.core.errors import InvariantError, RequestError, Unsupported
from privet.core.expression import Expression
from privet.core.relation import Relation
from privet.core.scan import GroupKey, Pairs, Scan, Sum
from privet.core.schema import Contribution, Schema
from privet.core.unit import Nobody, Rows
from privet.core.wire import canonical
from privet.query.fanout import check_fanout
from privet.query.nodes import AggregateCall as Asked
from privet.query.nodes import Query
from privet.query.normal import text
from privet.query.shape import schema_of, typical_of

from .allowed import Cells, allowed_groups
from .choose import Choice, Family, choices
from .keys import count_cells, discovered, group_key, people_needed, with_other
from .measures import Measure, SumMeasure
from .modes import option_key, place_of, wanted_winners, winners_pass
from .plan import Known, Pass, Plan, Reading, Spend, Target
from .presence import PART, presence_pass, presence_place, presence_sum
from .private_bounds import place_in, span_pass, wanted_spans
from .quantiles import part_of, places_in, quantile_passes, selection_pass, wanted_selections
from .stability import Rule, bounding_for, keys_kept, pairs_kept, sensitivity_of, shift_of
from .target import excess
from .wanted import aggregate_of


@dataclass(frozen=True)
class Among:
    """Which part of a spend a plan may take: `weight` of `parts` for each sum and choice, `measures` of them noisy.

    Where plans share a spend, their noise is of one `family`: shares of different families do not add up. `even` says
    that intervals of quantiles matter as much as quantiles.
    """

    measures: int
    parts: int
    weight: int | Fraction = 1
    family: Family | None = None
    even: bool = False

    def choices(self, spend: Spend) -> list[Choice]:
        """Return the noise that the spend allows for each sum."""
        found = choices(part_of(spend, Fraction(self.measures, self.parts)), self.measures)
        kept = [choice for choice in found if self.family in (None, choice.family)]
        return [replace(choice, share=choice.share * self.weight) for choice in kept]


def make_plan(
    query: Query,
    tables: Mapping[str, Schema],
    *,
    spend: Spend,
    bound: Rule = "norm",
    contribution: Contribution | None = None,
    among: Among | None = None,
    target: Target | None = None,
) -> Plan:
    """Return the plan with the least error that the spend allows. Free, and the same for every data set.

    `among` says which part of the spend it may take where several plans share it. Where there is a `target`, the error
    that counts is the largest excess over what it allows.
    """
    if query.levels:
        raise Unsupported("this is for a question with one grouping; take ROLLUP, CUBE and GROUPING SETS apart for it")
    schema = private_schema(query.table, tables)
    typical = typical_of(query.table, tables, contribution)
    limits = Limits(bound, typical.contribution)
    keys = with_other(scan_keys(query, schema), query, schema)
    # groups that are found have rows, whatever is declared or said of them
    keys, cells = (keys, None) if query.find else allowed_groups(keys, query.table, query.where, tables)
    count_cells(keys, cells)
    aggregates = {asked.name: aggregate_of(asked, schema, typical.columns) for asked in query.aggregates}
    known = known_sums(query, schema)
    groups: dict[bool, dict[str, Sum]] = {}
    values = different_values(aggregates)
    for asked in query.aggregates:
        if isinstance(aggregates[asked.name], (CountValues, Ranked, Mode, Span)):
            continue
        wanted = groups.setdefault(aggregates[asked.name].people, {})
        for total in aggregates[asked.name].sums():
            if total not in known:
                wanted[canonical(total)] = total
    ordered = {distinct: [wanted[text] for text in sorted(wanted)] for distinct, wanted in sorted(groups.items())}
    discovers = any(key.values is None for key in keys)
    winners = wanted_winners(aggregates)
    options = [option_key(mode, schema.columns) for mode in winners]
    hidden = [key.expression for key in (*keys, *options) if key.values is None]
    if hidden and not spend.keys:
        named = [asked.name for asked in query.keys if asked.expression in hidden]
        names = ", ".join([*named, *(text(key.expression) for key in options if key.values is None)])
        if query.find:
            raise RequestError(
                "finding groups needs a delta, and this budget has none: leave find_groups out, and group by fewer or "
                "coarser keys or leave groups out with WHERE; or use a budget with a delta"
            )
        raise RequestError(
            f"the values of {names} are not declared, and finding them needs a delta that this budget does not have; "
            f"declare them (category([...]), or low and high), or use a budget with a delta"
        )
    # every pass that finds something has its own part of delta
    spend_each = replace(spend, keys=spend.keys / max(1, discovers + sum(key.values is None for key in options)))
    # the pass that finds values beside which there is an other group, and which sums nothing
    first = tuple(key for key in keys if key.other is not None)
    if discovers and not ordered and not first:
        ordered = {False: []}  # a pass that finds the keys, and sums nothing
    spans = wanted_spans(aggregates)
    measures = sum(map(len, ordered.values())) + len(values) + len(spans) + discovers
    selections = wanted_selections(aggregates)
    parts = max(1, measures + len(selections) + len(winners))
    noisy = ordered or values or spans or first
    among = among or Among(max(1, measures), parts)
    found: list[tuple[Pass, ...]] = [] if noisy else [()]
    for choice in among.choices(spend) if noisy else ():
        passes = tuple(
            _pass(
                query,
                schema,
                keys,
                cells,
                tuple(sums),
                distinct,
                choice,
                spend_each,
                limits,
                find=discovers and index == 0 and not first,
            )
            for index, (distinct, sums) in enumerate(ordered.items())
        )
        if first:
            passes = (_pass(query, schema, first, None, (), False, choice, spend_each, limits, find=True), *passes)
        passes += tuple(_values_pass(query, schema, keys, cells, counted, choice, limits) for counted in values)
        found.append(passes + tuple(_span_pass(query, schema, keys, cells, span, choice, limits) for span in spans))
    if not found:
        raise InvariantError("no noise fits the spend")
    share = part_of(spend_each, Fraction(among.weight, among.parts))
    bounding = bounding_for(schema, limits.contribution, rule=bound, grouped=bool(keys), order=1, distinct=False)
    scan = Scan(query.table, schema, query.where, keys, (), bounding, cells=cells)
    chosen, counts = _selected(selections, scan, share, [*known, *ordered.get(False, ())], even=among.even)
    chosen += tuple(winners_pass(mode, scan, share, rule=bound, contribution=limits.contribution) for mode in winners)
    chosen += counts
    plans = []
    for passes in (one + chosen for one in found):
        readings = tuple(
            _reading(asked, aggregates[asked.name], passes, known, query.where) for asked in query.aggregates
        )
        plans.append(Plan(query, passes, readings, spend, target))
    groups_given = limits.contribution.groups
    return min(plans, key=lambda plan: (excess(plan, target) if target else 0, error_of(plan.passes, groups_given)))


def _selected(
    selections: Sequence[tuple[Ranked, ...]], scan: Scan, share: Spend, released: Sequence[Sum], *, even: bool
) -> tuple[tuple[Pass, ...], tuple[Pass, ...]]:
    """Return the passes that choose quantiles, and those that count the rows of the least and the greatest among them.

    Guarantee: a count takes a part of what is spent on the first choice that needs it, and no two count the same rows.
    """
    chosen: list[Pass] = []
    counts: list[Pass] = []
    have = set(released)
    for quantiles in selections:
        total, part = presence_sum(quantiles), share
        if total is not None and total not in have:
            have.add(total)
            counts.append(presence_pass(total, scan, part_of(share, PART)))
            part = part_of(share, 1 - PART)
        chosen.append(selection_pass(quantiles, scan, part, even=even))
    return tuple(chosen), tuple(counts)


def different_values(aggregates: Mapping[str, Aggregate]) -> tuple[CountValues, ...]:
    """Return the counts of different values, each once and in an order of their own."""
    found = {canonical((one.argument, one.sums())): one for one in aggregates.values() if isinstance(one, CountValues)}
    return tuple(found[text] for text in sorted(found))


def scan_keys(query: Query, schema: Schema) -> tuple[GroupKey, ...]:
    """Return the keys of a query, each once and in an order of their own: that of GROUP BY does not matter."""
    declared = (group_key(key.expression, schema.columns) for key in query.keys)
    found = (replace(key, values=None) if query.find else key for key in declared)
    texts = {canonical(key.expression): key for key in found}
    return tuple(texts[text] for text in sorted(texts))


def known_sums(query: Query, schema: Schema) -> Mapping[Sum, Known]:
    """Return the sums that public facts fix: the number of rows, where it is declared and nothing chooses rows.

    Guarantee: under change-one, neighbours have the same number of units; where each row is a unit, the same
    number of rows. What is declared is public, and no data is read for it.
    """
    whole = isinstance(query.table, str) and query.where is None and not query.keys
    if not known_rows(schema) or schema.units is None or not whole:
        return {}
    return {rows(None): Known(schema.units)}


def known_rows(schema: Schema) -> bool:
    """Return whether the number of rows of a table is public."""
    return isinstance(schema.unit, Rows) and schema.neighbors == "change-one" and schema.units is not None


@dataclass(frozen=True)
class Limits:
    """How contributions are bounded for one plan."""

    rule: Rule
    contribution: Contribution


def private_schema(relation: Relation, tables: Mapping[str, Schema]) -> Schema:
    """Return the facts of what a query stands on, which must have units to protect."""
    schema = schema_of(relation, tables)
    if isinstance(schema.unit, Nobody):
        raise RequestError("this asks about public tables only; read them where they are, without noise")
    check_fanout(relation, tables)
    return schema


def _pass(
    query: Query,
    schema: Schema,
    keys: tuple[GroupKey, ...],
    cells: Cells | None,
    sums: tuple[Sum, ...],
    distinct: bool,
    choice: Choice,
    spend: Spend,
    limits: Limits,
    *,
    find: bool,
) -> Pass:
    bounding = bounding_for(
        schema, limits.contribution, rule=limits.rule, grouped=bool(keys), order=choice.order, distinct=distinct
    )
    shift = shift_of(bounding)
    scan = Scan(query.table, schema, query.where, keys, sums, bounding, None, distinct, cells=cells)
    release = None
    if find:
        most = keys_kept(bounding, limits.contribution)
        scan, release = discovered(scan, choice, most=most, delta=spend.keys)
    measures = []
    for total in sums:
        sensitivity = sensitivity_of(total, scan)
        measures.append(Measure(total, sensitivity, choice.mechanism(sensitivity), shift))
    return Pass(scan, SumMeasure(tuple(measures), release))


def _values_pass(
    query: Query,
    schema: Schema,
    keys: tuple[GroupKey, ...],
    cells: Cells | None,
    counted: CountValues,
    choice: Choice,
    limits: Limits,
) -> Pass:
    bounding = Pairs(counted.argument.expression, pairs_kept(schema, limits.contribution))
    (total,) = counted.sums()
    scan = Scan(query.table, schema, query.where, keys, (total,), bounding, cells=cells)
    sensitivity = sensitivity_of(total, scan)
    return Pass(scan, SumMeasure((Measure(total, sensitivity, choice.mechanism(sensitivity), 0),)))


def _span_pass(
    query: Query,
    schema: Schema,
    keys: tuple[GroupKey, ...],
    cells: Cells | None,
    span: Span,
    choice: Choice,
    limits: Limits,
) -> Pass:
    bounding = bounding_for(
        schema, limits.contribution, rule=limits.rule, grouped=True, order=choice.order, distinct=False
    )
    return span_pass(span, Scan(query.table, schema, query.where, keys, (), bounding, cells=cells), choice)


def error_of(passes: tuple[Pass, ...], groups: int) -> float:
    """Return the sum of the measures' relative variances, by which two plans for the same sums compare.

    A rule for keys counts as the square of how many people a key needs who are in no more than the typical groups.
    """
    found = 0.0
    for one in passes:
        for measure in one.measures:
            found += (measure.standard_deviation / max(1, measure.sum.most)) ** 2
        discovery = one.scan.discovery
        if one.keys and discovery:
            found += people_needed(one.keys, min(groups, discovery.most)) ** 2
    return found


def _reading(
    asked: Asked,
    aggregate: Aggregate,
    passes: tuple[Pass, ...],
    known: Mapping[Sum, Known],
    where: Expression | None,
) -> Reading:
    if isinstance(aggregate, Mode):
        return Reading(asked.name, aggregate, (place_of(aggregate, passes, where),))
    if isinstance(aggregate, Span):
        return Reading(asked.name, *place_in(aggregate, passes, where))
    if isinstance(aggregate, Ranked):
        for one, measure in quantile_passes(passes):
            if one.scan.places and _grid_of(one.scan.places) == _grid_of(aggregate.places(1)):
                places = places_in(measure, passes.index(one), aggregate)
                if aggregate.extreme:
                    places += (presence_place(aggregate.argument.present(), passes, known),)
                return Reading(asked.name, aggregate, places)
        raise InvariantError("a quantile has no pass")
    if isinstance(aggregate, CountValues):
        scans = [(one.scan.sums, getattr(one.scan.bounding, "of", None)) for one in passes]
        return Reading(asked.name, aggregate, ((scans.index((aggregate.sums(), aggregate.argument.expression)), 0),))
    others = [not one.plain or isinstance(one.scan.bounding, Pairs) for one in passes]
    index = next(i for i, one in enumerate(passes) if one.scan.distinct == aggregate.people and not others[i])
    sums = passes[index].scan.sums
    return Reading(
        asked.name, aggregate, tuple(known.get(total) or (index, sums.index(total)) for total in aggregate.sums())
    )


def _grid_of(places: Sum) -> tuple[Expression | None, Expression | None]:
    """Return what a grid is over: the column, and the rows of it that count."""
    return places.expression, places.where
