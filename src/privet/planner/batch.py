"""Several questions in one plan: equal sums and keys are released once, and one spend is divided among them all.

The division comes from public facts and from the weights that are asked for, and from nothing else. Where widths are
asked for, each sum gets as much as its strictest width requires, once, since its width depends on its own noise alone;
the price covers all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

from privet.aggregates import Aggregate
from privet.core.errors import BadParameter, InvariantError, PrivetError, RequestError, Unsupported
from privet.core.event import Composed
from privet.core.numbers import Number, in_digits, positive
from privet.core.scan import Bounding
from privet.core.schema import Contribution, Schema
from privet.core.wire import canonical
from privet.display import html_lines
from privet.query.expressions import mentions
from privet.query.nodes import AggregateCall, Query
from privet.query.resolve import linear_in, meanings
from privet.query.shape import schema_of, schema_within_limits

from .accuracy import facts_of, half_width_of, has_price, limited, reached
from .arrange import Gain, all_answered, arranged, candidates
from .contributions import refuse_chosen
from .explain import cost_of, explain, facts
from .from_strategy import FromStrategy
from .groupings import Combined, Levels, Several, levels_in, levels_of, parts_of
from .keys import Choice, Family, choices
from .make import Among, error_of, make_plan, reads_beside, with_wider
from .plan import Known, Place, Plan, Reading, Spend, Target, as_of, before, digest_of, editions_of, reaches
from .rounds import PRICES, amount_of, cheaper_beside_counts, cheapest, price
from .selections import presence_only
from .shared_counts import room_for, with_shared_counts
from .stability import Rule, bounding_for

SumPlace = tuple[str, int, int]
"""A released sum: of which rows, in which pass, and where in it."""


@dataclass(frozen=True)
class Batch:
    """A plan for each question, in their order. Those over the same rows and groups share releases."""

    plans: tuple[Plan, ...]
    spend: Spend
    gains: tuple[Gain, ...] = ()
    """Which questions share a release that each of them alone would not have, and their gain."""
    before: Batch | None = field(default=None, compare=False, repr=False)
    """The plans for each question alone, from before some shared releases."""

    def __post_init__(self) -> None:
        if type(self.plans) is not tuple or not all(
            type(plan) in (Plan, Levels, Combined, FromStrategy) for plan in self.plans
        ):
            raise BadParameter("plans", self.plans, "a tuple of plans")

    @cached_property
    def releases(self) -> tuple[Plan, ...]:
        """One plan for each different release, in an order of their own."""
        releases = {part.digest: part for plan in self.plans for part in parts_of(plan)}
        return tuple(releases[digest] for digest in sorted(releases))

    @cached_property
    def event(self) -> Composed:
        """The cost of the batch: the events of the mechanisms that will draw, each release once."""
        return Composed(tuple(event for plan in self.releases for pass_ in plan.passes for event in pass_.events))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of all releases, whatever order they were asked for in."""
        return _digest(plan.digest for plan in self.releases)

    def explain(self) -> str:
        """Return the batch in plain words: each release, and their joint cost."""
        price = ", ".join(f"{name} {value:.4g}" for name, value in self.cost().items())
        intro = [words for plan in self.plans if isinstance(plan, Several) for words in plan.words()]
        named = [plan for plan in self.plans if isinstance(plan, Levels)]
        names = {part.digest: f"At {level}:\n" for plan in named for level, part in levels_in(plan)}
        listed = [names.get(plan.digest, "") + explain(replace(plan, target=None)) for plan in self.releases]
        gained = [gain.words() for gain in self.gains]
        return "\n\n".join([*gained, *intro, *listed, *self._aims(), f"All together: costs {price}."])

    def _aims(self) -> list[str]:
        """Return the widths of each question that has a target."""
        lines = []
        for index, plan in enumerate(self.plans):
            if plan.target is not None:
                widths = ", ".join(
                    f"{width.words()} of ±{in_digits(float(width.wanted), 4)}" for width in reached(plan, plan.target)
                )
                level = f"{float(plan.target.confidence):.4g}"
                lines.append(
                    f"Question {index + 1}: each interval at {level} confidence is as narrow as asked ({widths})."
                )
        return ["\n".join(lines)] if lines else []

    def cost(self) -> dict[str, float]:
        """Return the joint cost of all answers."""
        return cost_of([pass_ for plan in self.releases for pass_ in plan.passes], self.spend)

    def facts(self) -> dict[str, Any]:
        """Return everything public about the batch as plain data, as for one plan, each release after the other."""
        by_release = [facts(plan) for plan in self.releases]
        made: dict[str, Any] = {"questions": len(self.plans)}
        for name, first in by_release[0].items():
            values = [release[name] for release in by_release]
            if isinstance(first, list):
                made[name] = [item for value in values for item in value]
            else:
                texts = list(dict.fromkeys(value for value in values if isinstance(value, str)))
                made[name] = "; ".join(texts) if texts else None
        aims = {"targets": [facts_of(plan) for plan in self.plans]} if any(plan.target for plan in self.plans) else {}
        shared = {"shared": [gain.facts() for gain in self.gains]} if self.gains else {}
        return {**made, **aims, **shared, "cost": self.cost()}

    def __repr__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return f"<div>{html_lines(self.explain().splitlines())}</div>"


class MadeBatch(NamedTuple):
    """A batch as some edition of the planner made it, its digest, and its releases in the order they are stored in."""

    batch: Batch
    digest: str
    releases: tuple[Plan, ...]


def editions_of_batch(batch: Batch) -> tuple[MadeBatch, ...]:
    """Return a batch, and then how earlier editions made it, the latest first, where all of its plans were sound."""
    by_digest = {batch.digest: MadeBatch(batch, batch.digest, batch.releases)}
    for editions in before():
        plans = [_as_of(plan, editions) for plan in batch.plans]
        made = tuple(plan for plan in plans if plan is not None and reaches(plan))
        if len(made) == len(plans):
            parts = {digest_of(part.passes, editions): part for plan in made for part in parts_of(plan)}
            digest = _digest(sorted(parts))
            releases = tuple(parts[key] for key in sorted(parts))
            by_digest.setdefault(digest, MadeBatch(replace(batch, plans=made), digest, releases))
    # the separate releases of the questions were paid for, and still count
    for earlier in () if batch.before is None else editions_of_batch(batch.before):
        by_digest.setdefault(earlier.digest, earlier)
    return tuple(by_digest.values())


def digests_of(asked: Plan | Batch) -> tuple[tuple[str, ...], ...]:
    """Return the digests stored for a released question by each edition, the present one first."""
    if isinstance(asked, Batch):
        return tuple((made.digest,) for made in editions_of_batch(asked))
    return digests_of(asked.batch) if isinstance(asked, Several) else tuple(made.digests for made in editions_of(asked))


def _as_of(plan: Plan, editions: int) -> Plan | None:
    """Return a plan as it was made at the time of a number of editions: all of its levels, or none."""
    if not isinstance(plan, Several):
        return as_of(plan, editions)
    parts = [as_of(part, editions) for part in plan.plans]
    made = tuple(part for part in parts if part is not None)
    return plan.again(made) if len(made) == len(parts) else None


def _digest(releases: Iterable[str]) -> str:
    return hashlib.sha256(canonical(["batch", *releases]).encode()).hexdigest()


def make_batch(
    questions: Sequence[Query],
    tables: Mapping[str, Schema],
    *,
    spend: Spend,
    weights: Sequence[int],
    bound: Rule = "norm",
    contribution: Contribution | None = None,
    shared: bool = True,
) -> Batch:
    """Return plans for several questions that together cost no more than the spend. Free, and reads nothing.

    Every released sum gets an equal share, times the largest weight of the questions about the same rows and
    groups. All noise is of one family: the one that errs less over the whole batch.

    Guarantee: with w parts of weight in all, the shares of `choices` for w measures add up to the spend, however many
    of them one sum takes; what is found by thresholds shares the spend's part of delta. Without `shared`, each
    question has releases of its own.
    """
    for query in questions:
        refuse_chosen(query.table, tables, contribution, "for several questions or groupings that share one price")
    how = {"bound": bound, "contribution": contribution}

    def planned(asked: Sequence[Query], shares: Sequence[int], price: Spend | None = None) -> tuple[Plan, ...]:
        return _planned(asked, shares, tables, price or spend, how)

    alone = Batch(planned(questions, weights), spend)
    if not shared or (len(questions) == 1 and not questions[0].levels):
        return _with_shared_counts(alone, weights)

    def bounded(query: Query) -> Bounding:
        schema = schema_of(query.table, tables)
        kept = schema_within_limits(query.table, tables, contribution).contribution
        return bounding_for(schema, kept, rule=bound, grouped=True, order=1, distinct=False)

    arrangement = arranged(questions, weights, alone.plans, tables, planned, bounded)
    batch = Batch(arrangement.plans, spend, arrangement.gains, before=alone) if arrangement.gains else alone
    return _with_shared_counts(batch, weights)


def _with_shared_counts(batch: Batch, weights: Sequence[int]) -> Batch:
    """Return a batch in which SUMs of one release, of whichever questions, are read beside a count where all err less.

    Guarantee: the rho of each release stays what it was, or is less, so that all cost no more than they did. Where
    delta is priced, that leaves room for the blur of further releases if all have equal shares, and only then.
    """
    if batch.spend.rho is None and (batch.gains or len(set(weights)) > 1):
        return batch
    parts = [part for plan in batch.plans for part in parts_of(plan)]
    releases: dict[str, list[Plan]] = {}
    for part in parts:
        releases.setdefault(part.digest, []).append(part)
    first = [group[0] for group in releases.values() if not any(pass_.inside for pass_ in group[0].passes)]
    measures = sum(map(measures_of, first))
    room = room_for(batch.spend, max(1, measures), max(1, measures + sum(map(_selections, first))))
    made: dict[str, Plan] = {}
    for digest, group in releases.items():
        readings = tuple(dict.fromkeys(replace(reading, name="") for part in group for reading in part.readings))
        plain = all(type(part) is Plan and all(step.plain for step in part.query.steps) for part in group)
        shared = with_shared_counts(replace(group[0], readings=readings), room) if plain else None
        if shared is not None:
            made[digest] = replace(shared, unshared=replace(group[0], readings=readings))
    plans = tuple(_beside_counts(plan, made) for plan in batch.plans)
    # levels are made to agree sum by sum: one that would have others than the rest keeps all of them as they were
    apart = [plan for plan in plans if isinstance(plan, Levels) and len(set(map(_aggregates, plan.plans))) > 1]
    while apart:
        for digest in {part.unshared.digest for plan in apart for part in plan.plans if part.unshared is not None}:
            made.pop(digest, None)
        plans = tuple(_beside_counts(plan, made) for plan in batch.plans)
        apart = [plan for plan in plans if isinstance(plan, Levels) and len(set(map(_aggregates, plan.plans))) > 1]
    return replace(batch, plans=plans) if made else batch


def _aggregates(plan: Plan) -> tuple[Aggregate, ...]:
    return tuple(reading.aggregate for reading in plan.readings)


def _beside_counts(plan: Plan, made: Mapping[str, Plan]) -> Plan:
    """Return a plan whose releases are replaced by those made of them."""
    if isinstance(plan, Several):
        return plan.again(tuple(_beside_counts(part, made) for part in plan.plans))
    shared = made.get(plan.digest)
    if shared is None or shared.unshared is None:
        return plan
    known = dict(zip(shared.unshared.readings, shared.readings, strict=True))
    readings = tuple(replace(known[replace(reading, name="")], name=reading.name) for reading in plan.readings)
    return replace(plan, passes=shared.passes, readings=readings, before=None, wider=None, unshared=plan)


def _planned(
    questions: Sequence[Query],
    weights: Sequence[int],
    tables: Mapping[str, Schema],
    spend: Spend,
    how: Mapping[str, Any],
) -> tuple[Plan, ...]:
    """Return plans for several questions; those over the same rows and groups share releases."""
    weighted = zip(questions, weights, strict=True)
    asked = [(part, weight) for query, weight in weighted for part in levels_of(query, tables)]
    merged, heaviest = merged_of([query for query, _ in asked], [weight for _, weight in asked])
    shares = partial(_best, merged, heaviest, tables, spend, **how)
    made = with_wider_parts(_with_before(shares), lambda: _with_before(partial(shares, narrow=False)))
    return tuple(answering(query, made, spend, tables) for query in questions)


def _with_before(shares: Callable[..., list[Plan]]) -> dict[str, Plan]:
    """Return plans by the rows they are of, with how all were planned where a sum was not yet read beside a mean."""
    best = shares()
    if any(map(reads_beside, best)):  # then every share was another before
        separate = shares(apart=True)
        best = [replace(plan, before=before) for plan, before in zip(best, separate, strict=True)]
    return {rows_of(plan.query): plan for plan in best}


def with_wider_parts(made: Mapping[str, Plan], wider: Callable[[], Mapping[str, Plan]]) -> Mapping[str, Plan]:
    """Return plans with how all of them were made before conditions narrowed the declared bounds of some."""
    if not any(plan.narrowed for plan in made.values()):
        return made
    try:
        before = wider()
    except RequestError:  # such questions were refused
        return made
    return {rows: replace(plan, wider=before[rows]) for rows, plan in made.items()}


def _best(
    merged: Sequence[Query],
    heaviest: Sequence[int],
    tables: Mapping[str, Schema],
    spend: Spend,
    **how: Any,
) -> list[Plan]:
    """Return the plan of each kind of rows, with noise of the one family that errs less over all of them."""
    alone = [make_plan(query, tables, spend=spend, **how) for query in merged]
    if any(map(reads_beside, alone)):
        apart = [make_plan(query, tables, spend=spend, **{**how, "apart": True}) for query in merged]
        how = {**how, "parts": Fraction(_parts(apart, heaviest), _parts(alone, heaviest))}
        alone = [make_plan(query, tables, spend=spend, **how) for query in merged]
    measures = sum(weight * measures_of(plan) for plan, weight in zip(alone, heaviest, strict=True))
    parts = _parts(alone, heaviest)
    shared = replace(spend, keys=spend.keys / max(1, sum(any(pass_.keys for pass_ in plan.passes) for plan in alone)))
    best: list[Plan] | None = None
    least = float("inf")
    families = choices(spend.part(Fraction(max(1, measures), max(1, parts))), max(1, measures))
    for family in [choice.family for choice in families]:
        plans = []
        for query, weight in zip(merged, heaviest, strict=True):
            place = Among(max(1, measures), max(1, parts), weight, family)
            plans.append(make_plan(query, tables, spend=shared, among=place, **how))
        within = [schema_within_limits(query.table, tables, how["contribution"]) for query in merged]
        limited = [schema.contribution.groups for schema in within]
        error = sum(error_of(plan.passes, groups) for plan, groups in zip(plans, limited, strict=True))
        if best is None or error < least:
            best, least = plans, error
    if best is None:
        raise InvariantError("no noise fits the spend")
    return best


def answering(query: Query, made: Mapping[str, Plan], spend: Spend, tables: Mapping[str, Schema]) -> Plan:
    """Return the plan that reads a question from the common releases, by the rows that it covers."""
    plans = tuple(_reading(part, made[rows_of(part)]) for part in levels_of(query, tables))
    if query.others:
        return Combined.of(query, plans, spend)
    return Levels.of(query, plans, spend) if query.levels else plans[0]


def rows_of(query: Query) -> str:
    """Return a text that is the same for questions about the same rows in the same groups."""
    keys = sorted({canonical(key.expression) for key in query.keys})
    ways = [*([query.other] if query.other is not None else []), *([{"find": True}] if query.find else [])]
    ways += [{"each": True}] if query.each else []
    return canonical([query.table, query.where, keys, *ways])


def _same(call: AggregateCall) -> str:
    return canonical(replace(call, name=""))


def merged_of(questions: Sequence[Query], weights: Sequence[int]) -> tuple[list[Query], list[int]]:
    """Return one query for each kind of rows and groups, with all that is asked of them; and their weights."""
    first: dict[str, Query] = {}
    asked: dict[str, dict[str, AggregateCall]] = {}
    heaviest: dict[str, int] = {}
    for query, weight in zip(questions, weights, strict=True):
        rows = rows_of(query)
        first.setdefault(rows, query)
        asked.setdefault(rows, {})
        heaviest[rows] = max(weight, heaviest.get(rows, 0))
        for call in query.aggregates:
            asked[rows][_same(call)] = call
    merged = []
    for rows in sorted(first):
        aggregates = [replace(asked[rows][text], name=f"a{place}") for place, text in enumerate(sorted(asked[rows]))]
        merged.append(replace(first[rows], aggregates=tuple(aggregates), steps=()))
    return merged, [heaviest[rows] for rows in sorted(first)]


def _reading(query: Query, made: Plan) -> Plan:
    """Return the plan that reads one question from the releases for several."""
    known = {_same(call): made.readings[place] for place, call in enumerate(made.query.aggregates)}
    named = ((call.name, known[_same(call)]) for call in query.aggregates)
    readings = tuple(Reading(name, reading.aggregate, reading.places) for name, reading in named)
    before, wider = (None if edition is None else _reading(query, edition) for edition in (made.before, made.wider))
    return Plan(query, made.passes, readings, made.spend, before=before, narrowed=made.narrowed, wider=wider)


def measures_of(plan: Plan) -> int:
    """Return how many releases of a plan share its noise: its sums, and the finding of its groups.

    A count of rows for MIN and MAX alone is paid from their spend.
    """
    alone = presence_only(plan)
    return sum(
        len(pass_.measures) + pass_.finds_groups for index, pass_ in enumerate(plan.passes) if index not in alone
    )


def _parts(plans: Sequence[Plan], weights: Sequence[int]) -> int:
    """Return the number of parts that a spend is divided into, by the weights of its releases."""
    return sum(weight * (measures_of(plan) + _selections(plan)) for plan, weight in zip(plans, weights, strict=True))


def _selections(plan: Plan) -> int:
    return sum(not pass_.measures and not pass_.finds_groups for pass_ in plan.passes)


_DIGITS = 6
_LEAST, _LARGEST = -12, 3
"""A share has six digits, and is searched between these powers of ten."""


@dataclass(frozen=True)
class SpendBracket:
    """How contributions are bounded for all questions, and the facts of the tables that they are about."""

    tables: Mapping[str, Schema]
    rule: Rule
    contribution: Contribution | None
    narrow: bool = True

    def plan(self, query: Query, spend: Spend, among: Among | None = None) -> Plan:
        """Return the plan of a query, with each sum separate: it gets as much as its own width needs."""
        how = {"bound": self.rule, "contribution": self.contribution, "among": among, "narrow": self.narrow}
        return make_plan(query, self.tables, spend=spend, apart=True, **how)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Needs:
    """The share each sum needs in a family of noise, and that of finding groups, by their rows."""

    family: Family
    sums: Mapping[SumPlace, Fraction]
    keys: Mapping[str, Fraction]

    @property
    def total(self) -> Fraction:
        """The total of all shares: Laplace's epsilons add up, and so do Gaussians' rhos."""
        return sum((*self.sums.values(), *self.keys.values()), Fraction(0))

    @property
    def count(self) -> int:
        """How many releases there are."""
        return max(1, len(self.sums) + len(self.keys))


def batch_within(
    questions: Sequence[Query],
    tables: Mapping[str, Schema],
    *,
    spend: Spend,
    targets: Sequence[Target | None],
    at_most: Number | None = None,
    bound: Rule = "norm",
    contribution: Contribution | None = None,
) -> Batch:
    """Return the plans of the least price, in the measure of `spend`, that meet every target. Free; reads nothing.

    Each sum gets the least at which the strictest of its targets is met. A sum without one, and the finding of groups,
    get as much as the least of those of the same rows, or of all. One question is priced as if asked alone.
    Questions whose conditions exclude each other, and counts that are sums of the same cells, share a release where all
    of them cost less so.

    Guarantee: in the one family of noise that all have, the shares add up to no more than what `choices` gives for so
    many measures, so the batch costs no more than its spend. A sum's width falls as its share rises, whatever the
    others have: with less for one that has a target it is missed, but for the sixth digit of a share and, where
    Gaussian noise is priced in epsilon, the fourth of the price. Shares come from declared facts alone.
    Cites: [DR14, Thm 3.16], [BS16, Lemma 1.7].
    """
    for query in questions:
        refuse_chosen(query.table, tables, contribution, "for a width, which depends on it: state a cost")
    bounds = SpendBracket(tables, bound, contribution)
    name = "rho" if spend.epsilon is None else "epsilon"
    most = None if at_most is None else positive(at_most, "at_most")
    for index, (query, target) in enumerate(zip(questions, targets, strict=True)):
        if target is not None:
            _check(index, query, target, bounds, spend)
    if len(questions) == 1 and targets[0] is not None:
        how = {"target": targets[0], "bound": bound, "contribution": contribution}
        made = partial(cheapest, questions[0], tables, spend=spend, **how)  # type: ignore[arg-type]
        plan = cheaper_beside_counts(with_wider(made(), lambda: made(narrow=False)), made)
        batch = Batch((plan,), plan.spend)
    else:
        batch = _sharing(questions, targets, bounds, spend, name)
    if most is not None and amount_of(batch.spend) > most:
        raise RequestError(
            f"so narrow answers cost {name} {float(amount_of(batch.spend)):.4g} together, more than "
            f"at_most={float(most):.4g}; increase at_most, or ask for wider intervals"
        )
    return batch


def _check(index: int, query: Query, target: Target, bounds: SpendBracket, spend: Spend) -> None:
    """Refuse a target whose price is not known in advance."""
    if query.levels:
        raise Unsupported(
            f"question {index + 1} has several groupings, which have no width to ask for: put None in its place in "
            f"within=, or ask each level as a question of its own"
        )
    if not has_price(bounds.plan(query, spend), target):
        raise Unsupported(
            f"what the width of question {index + 1} costs depends on the data (averages, spreads, quantiles, ratios "
            f"and percentages do): ask it by itself, in rounds; or limit its counts and sums only, by column"
        )


def _cheapest(
    questions: Sequence[Query], targets: Sequence[Target | None], bounds: SpendBracket, spend: Spend, name: str
) -> Batch:
    whole, made = _cheapest_parts(questions, targets, bounds, spend, name)
    declared = replace(bounds, narrow=False)
    made = with_wider_parts(made, lambda: _cheapest_parts(questions, targets, declared, spend, name)[1])
    plans = (answering(query, made, whole, bounds.tables) for query in questions)
    return Batch(tuple(_aimed(plan, target) for plan, target in zip(plans, targets, strict=True)), whole)


def _sharing(
    questions: Sequence[Query], targets: Sequence[Target | None], bounds: SpendBracket, spend: Spend, name: str
) -> Batch:
    """Return the plans of the least price, where some questions are read from one release if that costs less.

    Releases are tried one after the other, those of the most questions first.
    """
    alone = best = _cheapest(questions, targets, bounds, spend, name)
    asked, gains = list(questions), []
    tried = [way for way in candidates(questions, alone.plans, bounds.tables) if not way.grouped_several_times]
    for release in sorted(tried, key=lambda way: -len(way.places)):
        if any(asked[place] is not questions[place] for place in release.places):
            continue  # it is in a release already
        trial = list(asked)
        for place, query in zip(release.places, release.queries, strict=True):
            trial[place] = query
        try:
            made = _cheapest(trial, targets, bounds, spend, name)
        except PrivetError:  # as each of them could be alone
            continue
        before, after = amount_of(best.spend), amount_of(made.spend)
        plans, single = ([batch.plans[place] for place in release.places] for batch in (made, alone))
        if after < before and all_answered(release, plans, single):
            rowwise = plans[0].passes[0].scan.schema.unit.rowwise
            gains.append(Gain(release, float(before / after), rowwise, of="price"))
            best, asked = made, trial
    return replace(best, gains=tuple(gains), before=alone) if gains else best


def _aimed(plan: Plan, target: Target | None) -> Plan:
    """Return a plan with its target, as it is made now and as it was before."""
    wider = None if plan.wider is None else replace(plan.wider, target=target)
    return replace(plan, target=target, wider=wider)


def _cheapest_parts(
    questions: Sequence[Query], targets: Sequence[Target | None], bounds: SpendBracket, spend: Spend, name: str
) -> tuple[Spend, Mapping[str, Plan]]:
    """Return the least spend at which every target is met, and the plan of each kind of rows, by these."""
    parts = [part for query in questions for part in levels_of(query, bounds.tables)]
    merged, _ = merged_of(parts, [1] * len(parts))
    trial = replace(spend, **{name: Fraction(1)})
    finds = sum(any(pass_.keys for pass_ in bounds.plan(query, trial).passes) for query in merged)
    shared = replace(spend, keys=spend.keys / max(1, finds))
    best: tuple[Fraction, Needs] | None = None
    for family in [choice.family for choice in choices(trial, 1)]:
        place = Among(1, 1, 1, family)
        drafts = {rows_of(query): bounds.plan(query, replace(shared, **{name: Fraction(1)}), place) for query in merged}
        needs = _needs(family, questions, targets, drafts, bounds.tables)
        amount = _price_of(needs, spend, name)
        if amount is not None and (best is None or amount < best[0]):
            best = amount, needs
    if best is None:
        most = float(price(PRICES - 1))
        raise RequestError(f"no {name} up to {most:,g} makes all answers so narrow: ask for wider ones by within=")
    amount, needs = best
    whole = replace(spend, **{name: amount})
    room = replace(shared, **{name: amount})
    return whole, {rows_of(query): _shared(query, bounds, room, needs) for query in merged}


def _needs(
    family: Family,
    questions: Sequence[Query],
    targets: Sequence[Target | None],
    drafts: Mapping[str, Plan],
    tables: Mapping[str, Schema],
) -> Needs:
    """Return the share every sum needs in a family of noise; refuse selections, which get no part of a width."""
    shares: dict[SumPlace, Fraction] = {}
    for query, target in zip(questions, targets, strict=True):
        if target is None:
            continue
        rows = rows_of(query)
        plan = answering(query, drafts, drafts[rows].spend, tables)
        for column, limit in limited(plan, target).items():
            where = _place_of(plan, column)
            if isinstance(where, Known):
                continue
            have = shares.get((rows, *where))
            shares[rows, *where] = _least(plan, where, column, limit.amount, family, target, have)
    sums: dict[SumPlace, Fraction] = {}
    keys: dict[str, Fraction] = {}
    for rows, plan in drafts.items():
        if any(pass_.measure.draws or pass_.inside for pass_ in plan.passes):
            raise Unsupported(
                "what is chosen (quantiles, MODE, TOP_K, BOUNDS) has no part in the price of widths: ask it in a batch "
                "of its own, and state what that may cost (epsilon=, rho=)"
            )
        own = [share for place, share in shares.items() if place[0] == rows]
        rest = min(own or shares.values(), default=None)
        if rest is None and measures_of(plan):
            raise RequestError(
                "what has a width here is public, so nothing states what the rest may cost: pass epsilon="
            )
        for index, pass_ in enumerate(plan.passes):
            if pass_.finds_groups and rest is not None:
                keys[rows] = rest
            for place in range(len(pass_.measures)):
                sums[rows, index, place] = shares.get((rows, index, place), rest or Fraction(0))
    return Needs(family, sums, keys)


def _place_of(plan: Plan, column: str) -> Place | Known:
    """Return the sum that a column is linear in, or that it adds up."""
    meaning = meanings(plan.query)[column]
    line = linear_in(meaning)
    names = {line.column} if line is not None else mentions(meaning)
    return next(reading.places[0] for reading in plan.readings if reading.name in names)


def _least(
    plan: Plan,
    where: tuple[int, int],
    column: str,
    wanted: Fraction,
    family: Family,
    target: Target,
    have: Fraction | None,
) -> Fraction:
    """Return the least share at which a column is as narrow as wanted, and no less than its sum has already."""

    def narrow(share: Fraction) -> bool:
        half = half_width_of(_with_noise(plan, {where: Choice(family, share)}), column, float(target.confidence))
        return half is not None and half <= wanted

    if have is not None and narrow(have):
        return have
    step = 9 * 10 ** (_DIGITS - 1)
    low, high = -1, (_LARGEST - _LEAST) * step
    if not narrow(_share(high)):
        raise RequestError(
            f"no cost up to {float(_share(high)):,g} makes {column} within ±{in_digits(float(wanted), 4)}: ask for "
            f"a wider one"
        )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if narrow(_share(middle)) else (middle, high)
    return _share(high)


def _share(place: int) -> Fraction:
    """Return the share at a place in the list of all shares, which starts at 0 and rises."""
    first = 10 ** (_DIGITS - 1)
    power, digits = divmod(place, 9 * first)
    return Fraction((first + digits) * 10**power, first * 10**-_LEAST)


def _with_noise(plan: Plan, noise: Mapping[tuple[int, int], Choice]) -> Plan:
    """Return a plan whose measures have other noise, for the sensitivities that they have."""
    passes = list(plan.passes)
    for (index, place), choice in noise.items():
        measures = list(passes[index].measures)
        measures[place] = replace(measures[place], mechanism=choice.mechanism(measures[place].sensitivity))
        passes[index] = passes[index].with_noise(measures)
    return replace(plan, passes=tuple(passes))


def _room(needs: Needs, spend: Spend) -> Fraction:
    """Return the share that a spend leaves for all releases together, in a family of noise."""
    fitting = [choice for choice in choices(spend, needs.count) if choice.family == needs.family]
    return fitting[0].share * needs.count if fitting else Fraction(0)


def _price_of(needs: Needs, spend: Spend, name: str) -> Fraction | None:
    """Return the least price that covers the needs: their sum, or where mu is priced, four digits."""
    highest = price(PRICES - 1)
    if needs.family == "laplace" or name == "rho":
        return max(needs.total, price(0)) if needs.total <= highest else None
    if _room(needs, replace(spend, epsilon=highest)) < needs.total:
        return None
    low, high = -1, PRICES - 1
    while high - low > 1:
        middle = (low + high) // 2
        enough = _room(needs, replace(spend, epsilon=price(middle))) >= needs.total
        low, high = (low, middle) if enough else (middle, high)
    return price(high)


def _shared(query: Query, bounds: SpendBracket, spend: Spend, needs: Needs) -> Plan:
    """Return the plan for one kind of rows: each sum, and the finding of groups, with the noise it needs."""
    rows = rows_of(query)
    each = _room(needs, spend) / needs.count
    among = Among(needs.count, needs.count, needs.keys.get(rows, each) / each, needs.family)
    own = ((place[1:], share) for place, share in needs.sums.items() if place[0] == rows)
    return _with_noise(bounds.plan(query, spend, among), {where: Choice(needs.family, share) for where, share in own})
