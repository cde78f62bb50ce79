"""Makes a plan from a query: keys, bounds, sums, sensitivities, noise. Reads declared facts and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, Literal, NamedTuple

from privet.aggregates import (
    AGGREGATES,
    Aggregate,
    Argument,
    CentredTotal,
    CountValues,
    Mode,
    Ranked,
    Span,
    Total,
    Wanted,
    entry_of,
)
from privet.aggregates.aggregate import rows
from privet.aggregates.column_sums import SumValues
from privet.core.errors import InvariantError, RequestError, Unbounded, UnknownName, Unsupported
from privet.core.estimate import Covers
from privet.core.relation import Expression, Relation
from privet.core.scan import Bounding, GroupKey, Pairs, Scan, Sum
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Contribution, Schema
from privet.core.unit import Person, Window
from privet.core.wire import canonical
from privet.query.expressions import typed, typed_where
from privet.query.join import check_fanout
from privet.query.nodes import AggregateCall as Asked
from privet.query.nodes import Query
from privet.query.normal import text
from privet.query.shape import schema_of, schema_within_limits
from privet.query.typed import Typed, clamp_ends

from .accuracy import CONFIDENCE, excess
from .allowed import Cells, allowed_groups
from .contributions import AUTO_SHARE, COVER_SHARE, check_chosen, check_covered, size_pass
from .keys import (
    Choice,
    Family,
    TooManyGroups,
    choices,
    count_cells,
    discovered,
    group_key,
    people_needed,
    to_be_found,
    with_other,
)
from .measures import Measure, SumMeasure
from .plan import Known, Pass, Place, Plan, Reading, Spend, Target
from .selections import (
    PART,
    option_key,
    place_in,
    place_in_pass,
    place_of,
    presence_pass,
    presence_place,
    presence_sum,
    quantile_passes,
    selection_pass,
    span_pass,
    wanted_selections,
    wanted_spans,
    wanted_winners,
    winners_pass,
)
from .shared_counts import errs_less, room_for, with_shared_counts
from .stability import Rule, bounding_for, keys_kept, pairs_kept, sensitivity_of

OfValues = CountValues | SumValues
"""Aggregates of the different values of a column."""


@dataclass(frozen=True)
class Among:
    """Which part of a spend a plan may take: `weight` of `parts` for each sum and choice, `measures` of them noisy.

    Where plans share a spend, their noise is of one `family`: shares of different families do not add up. `even` states
    that intervals of quantiles matter more than quantiles, and `alpha` how often one may miss, where no target does.
    """

    measures: int
    parts: int
    weight: int | Fraction = 1
    family: Family | None = None
    even: bool = False
    alpha: Fraction = 1 - CONFIDENCE

    def choices(self, spend: Spend) -> list[Choice]:
        """Return the noise that the spend allows for each sum."""
        all_choices = choices(spend.part(Fraction(self.measures, self.parts)), self.measures)
        kept = [choice for choice in all_choices if self.family in (None, choice.family)]
        return [replace(choice, share=choice.share * self.weight) for choice in kept]


@dataclass(frozen=True)
class Limits:
    """How contributions are bounded for one plan."""

    rule: Rule
    contribution: Contribution


@dataclass(frozen=True, kw_only=True)
class PlanDraft:
    """A plan in the making: the question, its facts, and the decisions of the steps so far."""

    query: Query
    tables: Mapping[str, Schema]
    schema: Schema
    limited: Schema
    spend: Spend
    limits: Limits
    among: Among | None
    target: Target | None
    apart: bool
    parts: Fraction | None = None
    """Where questions share a spend, by how much more it is divided if all of their sums are released apart."""
    narrow: bool = True
    narrowed: bool = False
    """Whether conditions of the question narrowed the declared bounds."""
    covers: Covers = "noise"
    keys: tuple[GroupKey, ...] = ()
    cells: Cells | None = None
    aggregates: Mapping[str, Aggregate] = field(default_factory=dict)
    known: Mapping[Sum, Known] = field(default_factory=dict)
    sums: Mapping[bool, tuple[Sum, ...]] = field(default_factory=dict)
    """The sums that share a pass: of rows, and where each person counts once in each group."""
    noisy: tuple[tuple[Pass, ...], ...] = ()
    """The passes that add noise, for each noise that the spend allows."""
    chosen: tuple[Pass, ...] = ()
    """The passes that choose, and those that count the rows of the choices."""
    plans: tuple[Plan, ...] = ()

    def but(self, **decided: Any) -> PlanDraft:
        """Return the draft with the decisions of a step, in a fraction of the time of `dataclasses.replace`."""
        draft = object.__new__(PlanDraft)
        draft.__dict__.update({name: self.__dict__[name] for name in self.__dataclass_fields__}, **decided)
        return draft

    @property
    def discovers(self) -> bool:
        """Whether some groups are not public."""
        return any(key.values is None for key in self.keys)

    @property
    def first(self) -> tuple[GroupKey, ...]:
        """The keys of the pass that finds values beside which there is an other group, and which sums nothing."""
        return tuple(key for key in self.keys if key.other is not None)

    @cached_property
    def has_own_passes(self) -> bool:
        """Whether an aggregate has a pass of its own, as quantiles, most frequent values and private ranges have."""
        return any(aggregate.own_pass for aggregate in self.aggregates.values())

    @property
    def totals(self) -> dict[str, Total]:
        """The SUMs, which may be read from sums that are released for something else."""
        return {name: aggregate for name, aggregate in self.aggregates.items() if type(aggregate) is Total}

    @cached_property
    def values(self) -> tuple[OfValues, ...]:
        """The counts and sums of different values."""
        return different_values(self.aggregates)

    @cached_property
    def spans(self) -> list[Span]:
        """The ranges that are asked for."""
        return wanted_spans(self.aggregates) if self.has_own_passes else []

    @cached_property
    def winners(self) -> list[Mode]:
        """The choices of most frequent values."""
        return wanted_winners(self.aggregates) if self.has_own_passes else []

    @cached_property
    def options(self) -> list[GroupKey]:
        """The options for the most frequent values."""
        return [option_key(mode, self.schema.columns) for mode in self.winners]

    @cached_property
    def selections(self) -> list[tuple[Ranked, ...]]:
        """The quantiles, those of one column together."""
        return wanted_selections(self.aggregates) if self.has_own_passes else []

    @property
    def alone(self) -> Among:
        """Which part of the spend each sum and choice may take where the plan has all of it."""
        counted = sum(map(len, self.sums.values())) + len(self.values) + len(self.spans) + self.discovers
        parts = max(1, counted + len(self.selections) + len(self.winners))
        return Among(max(1, counted), parts)

    @property
    def share(self) -> Among:
        """Which part of the spend the plan may take: all of it, unless it shares."""
        return self.among or self.alone

    @property
    def spend_each(self) -> Spend:
        """The spend, of whose delta every pass that finds something has its own part."""
        finding = self.discovers + sum(key.values is None for key in self.options)
        return replace(self.spend, keys=self.spend.keys / max(1, finding))

    def scan(self, sums: tuple[Sum, ...], bounding: Bounding, *, distinct: bool = False) -> Scan:
        """Return a scan of the groups that are asked for."""
        table, where = self.query.table, self.query.where
        return Scan(table, self.schema, where, self.keys, sums, bounding, distinct=distinct, cells=self.cells)

    def bounding(self, *, order: Literal[1, 2], distinct: bool = False, grouped: bool | None = None) -> Bounding:
        """Return how a unit's contributions are bounded."""
        kept, rule = self.limits.contribution, self.limits.rule
        inside = bool(self.keys) if grouped is None else grouped
        return bounding_for(self.schema, kept, rule=rule, grouped=inside, order=order, distinct=distinct)


def make_plan(
    query: Query,
    tables: Mapping[str, Schema],
    *,
    spend: Spend,
    bound: Rule = "norm",
    contribution: Contribution | None = None,
    among: Among | None = None,
    target: Target | None = None,
    schema: Schema | None = None,
    covers: Covers = "noise",
    apart: bool = False,
    parts: Fraction | None = None,
    narrow: bool = True,
    sharing: bool = False,
) -> Plan:
    """Return the plan with the least error that the spend allows. Free, and the same for every data set.

    `among` states which part of the spend it may take where several plans share it. Where there is a `target`, the
    error that counts is the largest excess over its limits. `schema` are the facts of the query's table, if they were
    computed; they are computed again before a plan is charged. Where sums are released `apart`, a SUM has one of its
    own even if the sums of a mean would suffice; of several questions, `parts` is how many times as many parts of the
    spend that takes for all of them. Conditions of the question `narrow` declared bounds, or do not. Where counts may
    be shared (`sharing`), SUMs are read beside one if all err less so.
    """
    if query.levels:
        raise Unsupported("this is for a question with one grouping; take ROLLUP, CUBE and GROUPING SETS apart for it")
    schema = private_schema(query.table, tables, schema)
    limited = schema_within_limits(query.table, tables, contribution)
    kept = limited.contribution
    if query.each and not kept.chosen:
        kept = replace(kept, rows=1)
    draft = PlanDraft(
        query=query,
        tables=tables,
        schema=schema,
        limited=limited,
        spend=spend,
        limits=Limits(bound, kept),
        among=among,
        target=target,
        covers=covers,
        apart=apart,
        parts=parts,
        narrow=narrow,
    )
    for step in STEPS:
        draft = step(draft)
    groups = draft.limits.contribution.groups
    best = min(draft.plans, key=lambda plan: (excess(plan, target) if target else 0, error_of(plan.passes, groups)))
    return _sharing(draft, best) if sharing and draft.totals else best


def _sharing(draft: PlanDraft, best: Plan) -> Plan:
    """Return the plan whose SUMs share counts, if it errs less than the best one without, or meets a target better."""
    room = room_for(draft.spend, draft.share.measures, draft.share.parts)
    for plan in [made for made in (with_shared_counts(plan, room) for plan in draft.plans) if made is not None]:
        nearer = draft.target is None or excess(plan, draft.target) < excess(best, draft.target)
        if nearer and (plan.unshared is best or errs_less(plan, best)):
            return replace(plan, unshared=best)
    return best


def _group(draft: PlanDraft) -> PlanDraft:
    """Decide on the groups: those that declared facts allow, or any, where they are found.

    Of more than can be answered one by one, those that enough people are in are found, where there is a delta for it.
    """
    try:
        return _grouped(draft)
    except TooManyGroups:
        if not draft.spend.keys or draft.query.other is not None:
            raise
    return _grouped(draft.but(query=to_be_found(draft.query, draft.schema.columns)))


def _grouped(draft: PlanDraft) -> PlanDraft:
    query = draft.query
    keys = with_other(scan_keys(query, draft.schema), query, draft.schema)
    # groups that are found have rows, whatever is declared about them
    cells: Cells | None = None
    if not query.find:
        # groups alone are asked for because of their rows
        keys, cells = allowed_groups(keys, query.table, query.where, draft.tables, held=bool(query.aggregates))
    count_cells(keys, cells)
    return draft.but(keys=keys, cells=cells)


def _aggregate(draft: PlanDraft) -> PlanDraft:
    """Decide on the bounds and grids of the aggregates."""
    asked = draft.query.aggregates
    if not asked and (draft.query.other is not None or draft.covers != "noise"):
        named = "other=" if draft.query.other is not None else f"covers={draft.covers!r}"
        raise RequestError(f"this question lists groups and has no numbers, which {named} is about; add COUNT(*)")
    aggregates = _aggregates(draft, narrow=draft.narrow)
    others = [aggregate for aggregate in aggregates.values() if not aggregate.ranked or aggregate.extreme]
    if draft.covers == "population" and others:
        raise Unsupported(
            'covers="population" is asked for with medians and other quantiles between the ends; of other numbers, '
            'estimates(column, covers="population") of their answer has such intervals, where they are known'
        )
    narrowed = draft.narrow and _aggregates(draft, narrow=False) != aggregates
    return draft.but(aggregates=aggregates, narrowed=narrowed, known=known_sums(draft.query, draft.schema))


def _aggregates(draft: PlanDraft, *, narrow: bool) -> dict[str, Aggregate]:
    limited, where = draft.limited.columns, draft.query.where
    return {
        call.name: aggregate_of(call, draft.schema, limited, where, narrow=narrow) for call in draft.query.aggregates
    }


def _sum(draft: PlanDraft) -> PlanDraft:
    """Collect the sums that share a pass; read a SUM from those of a mean where it errs no more so."""
    three = _collected(draft)
    whole = draft.covers != "bounding" and not draft.limits.contribution.chosen  # else the loss is stated for one sum
    beside = _beside_means(three) if draft.totals and whole and not draft.apart else {}
    if not beside:
        return three
    two = _collected(draft.but(aggregates={**draft.aggregates, **beside}))
    return two if _errs_less(three, two, beside.values()) else three


def _beside_means(draft: PlanDraft) -> dict[str, CentredTotal]:
    """Return the sums of columns whose centred sum and count are released for something else, a mean as a rule."""
    others = {
        total
        for aggregate in draft.aggregates.values()
        if not (aggregate.own_pass or aggregate.people or isinstance(aggregate, Total))
        for total in aggregate.sums()
    }
    centred = {
        name: CentredTotal(total.argument) for name, total in draft.totals.items() if total.sums()[0] not in others
    }
    return {name: total for name, total in centred.items() if others.union(draft.known).issuperset(total.sums())}


def _errs_less(three: PlanDraft, two: PlanDraft, beside: Iterable[CentredTotal]) -> bool:
    """Return whether no sum has a larger variance when it is read beside a mean, at equal spend in every noise.

    With K releases, Laplace noise of each grows as K and Gaussian noise as sqrt(K), times the sensitivity. Read beside
    a mean, the sum of x has the variance of the centred sum and middle^2 times that of the count, with K less one. Of
    questions that share a spend, K is that of all of them.
    """
    spend, parts = three.spend, [Fraction(draft.alone.parts) for draft in (three, two)]
    if three.parts is not None:
        parts = [three.parts, Fraction(1)]
    orders: list[Literal[1, 2]] = [*((1,) if spend.rho is None else ()), *((2,) if spend.rho or spend.delta else ())]
    for order in orders:
        scan = three.scan(three.sums[False], three.bounding(order=order))
        squares = [many ** (2 if order == 1 else 1) for many in parts]

        def moved(total: Sum, scan: Scan = scan, order: int = order) -> Fraction:
            if total in three.known:
                return Fraction(0)
            sensitivity = sensitivity_of(total, scan)
            return (sensitivity.l1**2 if order == 1 else sensitivity.l2_squared) * total.step**2

        for aggregate in beside:
            centred, count = aggregate.sums()
            variance = moved(centred) + aggregate.argument.middle**2 * moved(count)
            if squares[1] * variance > squares[0] * moved(aggregate.argument.plain()):
                return False
    return True


def reads_beside(plan: Plan) -> tuple[CentredTotal, ...]:
    """Return the sums that a plan reads from the releases for a mean."""
    return tuple(reading.aggregate for reading in plan.readings if isinstance(reading.aggregate, CentredTotal))


def with_before(plan: Plan, apart: Callable[[], Plan]) -> Plan:
    """Return a plan with the one that was made before its sums were read beside means, where there are such."""
    return replace(plan, before=apart()) if reads_beside(plan) else plan


def with_wider(plan: Plan, wider: Callable[[], Plan]) -> Plan:
    """Return a plan with the one that was made before conditions narrowed declared bounds, where they do.

    There is none where such a question was refused.
    """
    if not plan.narrowed:
        return plan
    try:
        return replace(plan, wider=wider())
    except RequestError:
        return plan


def with_earlier(made: Callable[..., Plan], *, sharing: bool = True) -> Plan:
    """Return the plan of a way of planning, with those of earlier editions; SUMs may share a count."""
    now = made(sharing=True) if sharing else made()
    plan = with_before(now.unshared or now, lambda: made(apart=True))
    plan = with_wider(plan, lambda: with_before(made(narrow=False), lambda: made(narrow=False, apart=True)))
    return plan if now.unshared is None else replace(now, unshared=plan)


def _collected(draft: PlanDraft) -> PlanDraft:
    """Collect the sums that share a pass, each once and in an order of their own."""
    groups: dict[bool, dict[str, Sum]] = {}
    for aggregate in draft.aggregates.values():
        if aggregate.own_pass:
            continue
        wanted = groups.setdefault(aggregate.people, {})
        wanted.update((canonical(total), total) for total in aggregate.sums() if total not in draft.known)
    sums = {people: tuple(wanted[text] for text in sorted(wanted)) for people, wanted in sorted(groups.items())}
    if not sums and not draft.first and (draft.discovers or not draft.aggregates):
        sums = {False: ()}  # a pass that finds the keys, or has public ones, and sums nothing
    return draft.but(sums=sums)


def _check_found(draft: PlanDraft) -> PlanDraft:
    """Refuse to find groups or values without a delta."""
    hidden = [key.expression for key in (*draft.keys, *draft.options) if key.values is None]
    if not hidden or draft.spend.keys:
        return draft
    if draft.query.find:
        raise RequestError(
            "finding groups needs a delta, and this budget has none: leave find_groups out, and group by fewer or "
            "coarser keys or leave groups out with WHERE; or use a budget with a delta"
        )
    named = [asked.name for asked in draft.query.keys if asked.expression in hidden]
    names = ", ".join([*named, *(text(key.expression) for key in draft.options if key.values is None)])
    raise RequestError(
        f"the values of {names} are not declared, and finding them needs a delta that this budget does not have; "
        f"declare them (category([...]), or low and high), or use a budget with a delta"
    )


def _add_sizes(draft: PlanDraft) -> PlanDraft:
    """Make the passes of a plan that counts units by size, to choose its limits or to cover the rows they remove.

    Guarantee: the noise of the sizes and of the sums compose to what the spend allows, as equal shares of it do: of
    Laplace noise epsilons add up, and of Gaussian noise rhos.
    """
    chosen = draft.limits.contribution.chosen
    if chosen:
        check_chosen(draft.schema, draft.limits.rule, found=draft.discovers or bool(draft.first), others=_others(draft))
    if not chosen and draft.covers != "bounding":
        return draft
    part = COVER_SHARE if draft.covers == "bounding" else AUTO_SHARE
    count, cells = sum(map(len, draft.sums.values())), count_cells(draft.keys, draft.cells)
    if _uncovered(draft) or not count:
        return draft
    noisy = []
    for choice in choices(draft.spend, count + len(draft.sums)):
        whole = choice.share * (count + len(draft.sums))
        sizing = replace(choice, share=whole * part / len(draft.sums))
        summing = replace(choice, share=whole * (1 - part) / count)
        passes: list[Pass] = []
        for people, sums in draft.sums.items():
            # the loss of rows is stated by their number, and not by a norm of order 2
            order: Literal[1, 2] = 1 if chosen and draft.covers == "bounding" else choice.order
            bounding = draft.bounding(order=order, distinct=people)
            summed = _summed(draft, draft.scan(sums, bounding, distinct=people), summing, find=False)
            passes += [size_pass(summed, sizing, chosen=chosen, cells=cells), summed]
        noisy.append(tuple(passes))
    return draft.but(noisy=tuple(noisy))


def _uncovered(draft: PlanDraft) -> bool:
    """Whether intervals are to cover bounding where they cannot, which is refused by name once all is planned."""
    schema, plain = draft.schema, draft.limits.rule == "norm" and not (draft.discovers or _others(draft))
    return draft.covers == "bounding" and (schema.unit.rowwise or schema.most_rows is None or not plain)


def _others(draft: PlanDraft) -> list[str]:
    """Return the requests beside counts, sums and aggregates of these."""
    kinds = {"COUNT(DISTINCT ...) of values": draft.values, "private bounds": draft.spans, "MODE": draft.winners}
    return [name for name, wanted in {**kinds, "quantiles, MIN and MAX": draft.selections}.items() if wanted]


def _add_noise(draft: PlanDraft) -> PlanDraft:
    """Make the passes that add noise, once for each noise that the spend allows."""
    if draft.noisy:
        return draft
    if not (draft.sums or draft.values or draft.spans or draft.first):
        return draft.but(noisy=((),))
    noisy = []
    for choice in draft.share.choices(draft.spend):
        passes = [_first_pass(draft, choice)] if draft.first else []
        for index, (people, sums) in enumerate(draft.sums.items()):
            find = draft.discovers and index == 0 and not draft.first
            passes.append(_sums_pass(draft, sums, people, choice, find=find))
        passes += [_values_pass(draft, counted, choice) for counted in draft.values]
        passes += [
            span_pass(span, draft.scan((), draft.bounding(order=choice.order, grouped=True)), choice)
            for span in draft.spans
        ]
        noisy.append(tuple(passes))
    if not noisy:
        raise InvariantError("no noise fits the spend")
    return draft.but(noisy=tuple(noisy))


def _choose(draft: PlanDraft) -> PlanDraft:
    """Make the passes that choose quantiles and frequent values."""
    among = draft.share
    share = draft.spend_each.part(Fraction(among.weight, among.parts))
    scan = draft.scan((), draft.bounding(order=1))
    released = [*draft.known, *draft.sums.get(False, ())]
    alpha = among.alpha if draft.target is None else 1 - draft.target.confidence
    chosen, counts = _selected(
        draft.selections, scan, share, released, alpha=alpha, even=among.even, population=draft.covers == "population"
    )
    kept, rule = draft.limits.contribution, draft.limits.rule
    modes = tuple(winners_pass(mode, scan, share, rule=rule, contribution=kept) for mode in draft.winners)
    return draft.but(chosen=(*chosen, *modes, *counts))


def _read(draft: PlanDraft) -> PlanDraft:
    """Find where each aggregate is read from, for each noise that the spend allows."""
    query, plans = draft.query, []
    for passes in (noisy + draft.chosen for noisy in draft.noisy):
        readings = tuple(
            _reading(asked.name, draft.aggregates[asked.name], passes, draft.known, query.where)
            for asked in query.aggregates
        )
        made = Plan(query, passes, readings, draft.spend, draft.target, covers=draft.covers, narrowed=draft.narrowed)
        plans.append(made)
    if draft.covers == "bounding":
        check_covered(plans[0], draft.limits.rule)
    return draft.but(plans=tuple(plans))


PlanStep = Callable[[PlanDraft], PlanDraft]

STEPS: tuple[PlanStep, ...] = (_group, _aggregate, _sum, _check_found, _add_sizes, _add_noise, _choose, _read)
"""How a plan is made: each step decides on one thing, from declared facts and earlier decisions."""


def _selected(
    selections: Sequence[tuple[Ranked, ...]],
    scan: Scan,
    share: Spend,
    released: Sequence[Sum],
    *,
    alpha: Fraction,
    even: bool,
    population: bool,
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
            counts.append(presence_pass(total, scan, share.part(PART)))
            part = share.part(1 - PART)
        chosen.append(selection_pass(quantiles, scan, part, alpha=alpha, even=even, population=population))
    return tuple(chosen), tuple(counts)


def different_values(aggregates: Mapping[str, Aggregate]) -> tuple[OfValues, ...]:
    """Return the counts and sums of different values, each once and in an order of their own."""
    different = {
        canonical((aggregate.argument, aggregate.sums())): aggregate
        for aggregate in aggregates.values()
        if isinstance(aggregate, OfValues)
    }
    return tuple(different[text] for text in sorted(different))


def scan_keys(query: Query, schema: Schema) -> tuple[GroupKey, ...]:
    """Return the keys of a query, each once and in an order of their own: that of GROUP BY does not matter."""
    declared = (group_key(key.expression, schema.columns) for key in query.keys)
    keys = (replace(key, values=None) if query.find else key for key in declared)
    texts = {canonical(key.expression): key for key in keys}
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
    return schema.unit.rowwise and schema.neighbors == "change-one" and schema.units is not None


def private_schema(relation: Relation, tables: Mapping[str, Schema], known: Schema | None = None) -> Schema:
    """Return the facts of the table of a query, which must have units to protect; `known` are they, if computed."""
    schema = schema_of(relation, tables) if known is None else known
    if schema.unit.public:
        raise RequestError("this asks about public tables only; read them where they are, without noise")
    check_fanout(relation, tables)
    return schema


def _sums_pass(draft: PlanDraft, sums: tuple[Sum, ...], people: bool, choice: Choice, *, find: bool) -> Pass:
    bounding = draft.bounding(order=choice.order, distinct=people)
    return _summed(draft, draft.scan(sums, bounding, distinct=people), choice, find=find)


def _first_pass(draft: PlanDraft, choice: Choice) -> Pass:
    bounding = draft.bounding(order=choice.order, grouped=True)
    return _summed(draft, replace(draft.scan((), bounding), keys=draft.first, cells=None), choice, find=True)


def _summed(draft: PlanDraft, scan: Scan, choice: Choice, *, find: bool) -> Pass:
    release = None
    if find:
        most = keys_kept(scan.bounding, draft.limits.contribution)
        scan, release = discovered(scan, choice, most=most, delta=draft.spend_each.keys)
    shift = scan.bounding.shift
    measures = []
    for total in scan.sums:
        sensitivity = sensitivity_of(total, scan)
        measures.append(Measure(total, sensitivity, choice.mechanism(sensitivity), shift))
    return Pass(scan, SumMeasure(tuple(measures), release))


def _values_pass(draft: PlanDraft, counted: OfValues, choice: Choice) -> Pass:
    scan = draft.scan(
        counted.sums(), Pairs(counted.argument.expression, pairs_kept(draft.schema, draft.limits.contribution))
    )
    return _summed(draft, scan, choice, find=False)


def error_of(passes: tuple[Pass, ...], groups: int) -> float:
    """Return the sum of the measures' relative variances, by which two plans for the same sums compare.

    A rule for keys counts as the square of how many people a key needs who are in no more than the declared groups.
    """
    error = 0.0
    for pass_ in passes:
        for measure in pass_.measures:
            error += (measure.standard_deviation / max(1, measure.sum.most)) ** 2
        discovery = pass_.scan.discovery
        if pass_.keys and discovery:
            error += people_needed(pass_.keys, min(groups, discovery.most)) ** 2
    return error


def _reading(
    name: str,
    aggregate: Aggregate,
    passes: tuple[Pass, ...],
    known: Mapping[Sum, Known],
    where: Expression | None,
) -> Reading:
    match aggregate:
        case Mode():
            return Reading(name, aggregate, (place_of(aggregate, passes, where),))
        case Span():
            return Reading(name, *place_in(aggregate, passes, where))
        case Ranked():
            return Reading(name, aggregate, _quantile_places(aggregate, passes, known))
        case CountValues() | SumValues():
            scans = [(pass_.scan.sums, pass_.scan.bounding.of) for pass_ in passes]
            return Reading(name, aggregate, ((scans.index((aggregate.sums(), aggregate.argument.expression)), 0),))
    others = [not pass_.plain or pass_.scan.bounding.of is not None for pass_ in passes]
    index = next(i for i, pass_ in enumerate(passes) if pass_.scan.distinct == aggregate.people and not others[i])
    sums = passes[index].scan.sums
    places = tuple(known.get(total) or (index, sums.index(total)) for total in aggregate.sums())
    return Reading(name, aggregate, places)


def _quantile_places(ranked: Ranked, passes: tuple[Pass, ...], known: Mapping[Sum, Known]) -> tuple[Place, ...]:
    for pass_, measure in quantile_passes(passes):
        if pass_.scan.places and _grid_of(pass_.scan.places) == _grid_of(ranked.places(1)):
            count = (presence_place(ranked.argument.present(), passes, known),) if ranked.extreme else ()
            return (place_in_pass(measure, passes.index(pass_), ranked), *count)
    raise InvariantError("a quantile has no pass")


def _grid_of(places: Sum) -> tuple[Expression | None, Expression | None]:
    """Return the domain of a grid: the column, and the rows of it that count."""
    return places.expression, places.where


# From a request to an aggregate with public ends and a grid. Reads declared facts only.


def aggregate_of(
    asked: Asked,
    schema: Schema,
    limited: Mapping[str, Facts],
    where: Expression | None = None,
    *,
    narrow: bool = True,
) -> Aggregate:
    """Return the aggregate that was asked for, with the public ends, grid and conditions of its argument.

    The conditions of the question may bound columns that declared facts do not; where they `narrow`, they do for all.
    """
    entry = entry_of(asked.function)
    kind = entry.aggregate
    if kind.people and isinstance(schema.unit, Window):
        raise RequestError("people are not counted where a window of time is protected: they may be in many windows")
    if kind.people and not isinstance(schema.unit, Person):
        raise RequestError("each row is a unit of its own here; use COUNT(*) instead of counting distinct units")
    given = [argument for argument in (asked.argument, asked.other) if argument is not None]
    conditions = RowConditions((where, asked.where), narrow)
    if len(given) != kind.arity:
        raise UnknownName("aggregate", asked.function, tuple(AGGREGATES))
    if kind.symmetric:
        given.sort(key=canonical)
    return entry.of(
        Wanted(
            arguments=tuple(
                _argument(asked, argument, schema, limited, conditions, bounded=kind.bounded) for argument in given
            ),
            kinds=tuple(typed(argument, schema.columns).kind for argument in given),
            where=asked.where,
            options=dict(asked.options),
        )
    )


class RowConditions(NamedTuple):
    """The conditions on a row that counts, and whether they narrow declared bounds."""

    of_rows: tuple[Expression | None, ...]
    narrow: bool


def _argument(
    asked: Asked,
    expression: Expression,
    schema: Schema,
    limited: Mapping[str, Facts],
    conditions: RowConditions,
    *,
    bounded: bool,
) -> Argument:
    facts = typed(expression, limited)
    if bounded and (conditions.narrow or not facts.bounded):
        # where a value is clamped, whether or not a row that counts has met the conditions
        known = typed_where(expression, limited, conditions.of_rows)
        facts = replace(facts, low=known.low, high=known.high)
    ends = _ends(asked, expression, facts, schema) if bounded else (Fraction(0), Fraction(1))
    return Argument(
        expression=expression,
        low=ends[0],
        high=ends[1],
        step=_step(expression, facts, schema, ends),
        nullable=facts.nullable or (limited is not schema.columns and typed(expression, schema.columns).nullable),
        where=asked.where,
        held=not bounded or _held(expression, ends, schema),
    )


def _held(expression: Expression, ends: tuple[Fraction, Fraction], schema: Schema) -> bool:
    """Return whether an expression is certain to lie within ends: where these are limits, values may exceed them."""
    low, high = clamp_ends(expression, typed(expression, schema.columns))
    return low is not None and high is not None and ends[0] <= low and high <= ends[1]


def _ends(asked: Asked, expression: Expression, facts: Typed, schema: Schema) -> tuple[Fraction, Fraction]:
    if facts.kind not in ("integer", "number"):
        raise RequestError(f"{asked.function.upper()} needs numbers; {asked.name} is over {facts.kind} values")
    stated = dict(asked.options)
    if "low" in stated:
        return _stated_ends(Fraction(stated["low"]), Fraction(stated["high"]), expression, schema)
    low, high = clamp_ends(expression, facts)
    if low is None or high is None:
        raise Unbounded(asked.name, column=expression.column)
    return low, high


def _stated_ends(low: Fraction, high: Fraction, expression: Expression, schema: Schema) -> tuple[Fraction, Fraction]:
    """Return the ends to which a value is clamped where the question states some.

    A value that provably cannot lie outside narrower ones is clamped to these: the outcome is the same, with less
    noise. Limits on contributions are no such facts, and are not used.
    """
    if low > high:
        raise RequestError("the low end of stated bounds is above the high one")
    known = clamp_ends(expression, typed(expression, schema.columns))
    least, most = (
        end if own is None else min(max(own, low), high) for own, end in zip(known, (low, high), strict=True)
    )
    return least, most


def _step(expression: Expression, facts: Typed, schema: Schema, ends: tuple[Fraction, Fraction]) -> Fraction | None:
    """Return the grid of a sum: whole numbers have one, and so has a column with a declared step.

    That of whole numbers includes their ends too, which need not be whole where a question states them.
    """
    if facts.kind == "integer":
        return Fraction(1, lcm(*(end.denominator for end in ends)))
    return None if expression.column is None else schema.columns[expression.column].step
