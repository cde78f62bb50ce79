"""How narrow several answers are to be, and the least that all of them cost together; from public facts alone.

How wide a released sum is depends on its own noise and on no other. So each sum gets what its strictest width needs,
once, and the price is that of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from privet.core.errors import PrivetError, RequestError, Unsupported
from privet.core.numbers import Number, positive
from privet.core.schema import Contribution, Schema
from privet.query.functions import mentions
from privet.query.nodes import Query
from privet.query.resolve import linear_in, meanings

from .arrange import Gain, all_answered, candidates
from .batch import Batch, answering, measures_of, merged_of, rows_of, with_wider_parts
from .contributions import refuse_chosen
from .groupings import levels_of
from .keys import Choice, Family, choices
from .make import Among, make_plan, with_wider
from .plan import Known, Place, Plan, Spend, Target
from .rounds import PRICES, amount_of, cheaper_beside_counts, cheapest, price
from .stability import Rule
from .target import half_width_of, has_price, limited

_DIGITS = 6
_LEAST, _LARGEST = -12, 3
"""What a sum needs has six digits, and is sought between these powers of ten."""

SumPlace = tuple[str, int, int]
"""A released sum: of which rows, in which pass, and where in it."""


@dataclass(frozen=True)
class SpendBracket:
    """How contributions are bounded for all questions, and the facts of the tables that they are about."""

    tables: Mapping[str, Schema]
    rule: Rule
    contribution: Contribution | None
    narrow: bool = True

    def plan(self, query: Query, spend: Spend, among: Among | None = None) -> Plan:
        """Return the plan of a query, with each sum by itself: it gets what its own width needs."""
        how = {"bound": self.rule, "contribution": self.contribution, "among": among, "narrow": self.narrow}
        return make_plan(query, self.tables, spend=spend, apart=True, **how)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Needs:
    """What each sum needs in a family of noise, and what the finding of groups gets, by the rows they are of."""

    family: Family
    sums: Mapping[SumPlace, Fraction]
    keys: Mapping[str, Fraction]

    @property
    def total(self) -> Fraction:
        """What all of them need together: Laplace's epsilons add up, and so do Gaussians' rhos."""
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
    get as much as the least of those of the same rows, or of all. One question is priced as if asked by itself.
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
            f"at_most={float(most):.4g}; say more, or ask for wider ones"
        )
    return batch


def _check(index: int, query: Query, target: Target, bounds: SpendBracket, spend: Spend) -> None:
    """Refuse a target whose price is not known before."""
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
    return Batch(tuple(_aimed(plan, one) for plan, one in zip(plans, targets, strict=True)), whole)


def _sharing(
    questions: Sequence[Query], targets: Sequence[Target | None], bounds: SpendBracket, spend: Spend, name: str
) -> Batch:
    """Return the plans of the least price, where some questions are read from one release if that costs less.

    Releases are tried one after the other, those of the most questions first.
    """
    alone = best = _cheapest(questions, targets, bounds, spend, name)
    asked, gains = list(questions), []
    tried = [one for one in candidates(questions, alone.plans, bounds.tables) if not one.grouped_several_times]
    for release in sorted(tried, key=lambda one: -len(one.places)):
        if any(asked[place] is not questions[place] for place in release.places):
            continue  # it is in a release already
        trial = list(asked)
        for place, query in zip(release.places, release.queries, strict=True):
            trial[place] = query
        try:
            made = _cheapest(trial, targets, bounds, spend, name)
        except PrivetError:  # as each of them could be by itself
            continue
        before, after = amount_of(best.spend), amount_of(made.spend)
        plans, single = ([one.plans[place] for place in release.places] for one in (made, alone))
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
    parts = [one for query in questions for one in levels_of(query, bounds.tables)]
    merged, _ = merged_of(parts, [1] * len(parts))
    trial = replace(spend, **{name: Fraction(1)})
    finds = sum(any(one.keys for one in bounds.plan(query, trial).passes) for query in merged)
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
    """Return what every sum needs in a family of noise; refuse what is chosen, which gets no part of a width."""
    found: dict[SumPlace, Fraction] = {}
    for query, target in zip(questions, targets, strict=True):
        if target is None:
            continue
        rows = rows_of(query)
        plan = answering(query, drafts, drafts[rows].spend, tables)
        for column, limit in limited(plan, target).items():
            where = _place_of(plan, column)
            if isinstance(where, Known):
                continue
            have = found.get((rows, *where))
            found[rows, *where] = _least(plan, where, column, limit.amount, family, target, have)
    sums: dict[SumPlace, Fraction] = {}
    keys: dict[str, Fraction] = {}
    for rows, plan in drafts.items():
        if any(one.measure.draws or one.inside for one in plan.passes):
            raise Unsupported(
                "what is chosen (quantiles, MODE, TOP_K, BOUNDS) has no part in the price of widths: ask it in a batch "
                "of its own, and say what that may cost (epsilon=, rho=)"
            )
        own = [share for place, share in found.items() if place[0] == rows]
        rest = min(own or found.values(), default=None)
        if rest is None and measures_of(plan):
            raise RequestError("what has a width here is public, so nothing says what the rest may cost: say epsilon=")
        for index, one in enumerate(plan.passes):
            if one.finds_groups and rest is not None:
                keys[rows] = rest
            for place in range(len(one.measures)):
                sums[rows, index, place] = found.get((rows, index, place), rest or Fraction(0))
    return Needs(family, sums, keys)


def _place_of(plan: Plan, column: str) -> Place | Known:
    """Return the sum that a column is linear in, or that it adds up."""
    meaning = meanings(plan.query)[column]
    line = linear_in(meaning)
    names = {line.column} if line is not None else mentions(meaning)
    return next(one.places[0] for one in plan.readings if one.name in names)


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
            f"no cost up to {float(_share(high)):,g} makes {column} within ±{float(wanted):,.4g}: ask for a wider one"
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
    """Return what a spend leaves for all releases together, in a family of noise."""
    found = [choice for choice in choices(spend, needs.count) if choice.family == needs.family]
    return found[0].share * needs.count if found else Fraction(0)


def _price_of(needs: Needs, spend: Spend, name: str) -> Fraction | None:
    """Return the least price that leaves what is needed: what that adds up to, or where mu is priced, four digits."""
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
    """Return the plan for one kind of rows: each sum, and the finding of groups, with noise for what it needs."""
    rows = rows_of(query)
    each = _room(needs, spend) / needs.count
    among = Among(needs.count, needs.count, needs.keys.get(rows, each) / each, needs.family)
    own = ((place[1:], share) for place, share in needs.sums.items() if place[0] == rows)
    return _with_noise(bounds.plan(query, spend, among), {where: Choice(needs.family, share) for where, share in own})
