"""Every decision about an answer, before a row is read: public, printable, hashable; and deliberate changes of plans.

The cost of a plan is derived from the mechanisms that will draw its noise; there is nowhere else to write it down.

Each deliberate change is an edition of one kind of question: the change, and the answers that it kept. A digest names
the edition of the planner that made a plan, so that a change charges no question again that it does not concern, and
never takes an answer for one that would be released in another way now. Releases of an earlier edition are
still found where its plan was sound.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from privet.aggregates import Aggregate
from privet.core.errors import BadParameter, InvariantError
from privet.core.estimate import Covers
from privet.core.event import Composed, Event
from privet.core.given import check_fields, read
from privet.core.numbers import in_digits, whole
from privet.core.relation import Expression
from privet.core.scan import GroupKey, Scan
from privet.core.schema import Kind
from privet.core.wire import Form, canonical, form_of, wired_by
from privet.inference.bars import Law, averaged, half_width
from privet.mechanisms.rank_ladder import QuantileLadder
from privet.query.expressions import typed
from privet.query.nodes import Query

from .matrix import MatrixMeasure
from .measures import BoundsMeasure, KeyRelease, KeyRule, Measure, ModeMeasure, QuantileMeasure, SizeMeasure, SumMeasure
from .moments import MomentMeasure
from .tulap_counts import TulapMeasure

if TYPE_CHECKING:
    from privet.core.event import Floats

    from .accuracy import CellSums
    from .stability import Bias


@dataclass(frozen=True)
class Spend:
    """The spend that one answer may cost: (epsilon, delta), or rho; `keys` is the part of delta for unknown keys."""

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    keys: Fraction

    def part(self, part: Fraction) -> Spend:
        """Return a part of the spend, with all of its delta."""
        return replace(
            self,
            epsilon=None if self.epsilon is None else self.epsilon * part,
            rho=None if self.rho is None else self.rho * part,
        )


@dataclass(frozen=True)
class Limit:
    """How wide an interval may be to either side: an amount, or a part of any number that it contains."""

    amount: Fraction
    relative: bool = False

    def __str__(self) -> str:
        return (
            f"±{in_digits(float(self.amount * 100), 4)}%" if self.relative else f"±{in_digits(float(self.amount), 4)}"
        )


@dataclass(frozen=True)
class Target:
    """How narrow intervals are to be: each half-width at most `within`, or at most its column's, at a confidence."""

    within: Limit | None
    columns: tuple[tuple[str, Limit], ...]
    confidence: Fraction

    def of(self, column: str) -> Limit | None:
        """Return the half-width that a column may have, if it is limited."""
        return dict(self.columns).get(column, self.within)


_PASS = form_of(
    "Pass",
    "scan",
    "measures",
    "keys",
    later={
        "selection": None,
        "winners": None,
        "buckets": False,
        "sizes": None,
        "matrix": None,
        "moments": None,
        "tulap": None,
    },
)

PassMeasure = (
    SumMeasure
    | QuantileMeasure
    | ModeMeasure
    | BoundsMeasure
    | SizeMeasure
    | MatrixMeasure
    | MomentMeasure
    | TulapMeasure
)
"""Everything that a pass can release."""


def _written(pass_: Pass) -> tuple[Form, Sequence[object]]:
    """Return a pass as its digest has it: with a place of its own for each kind of measure."""
    common = (pass_.scan, pass_.measures, pass_.keys)
    match pass_.measure:
        case SumMeasure():
            return _PASS, (*common, None, None, False, None, None, None, None)
        case QuantileMeasure() as selection:
            return _PASS, (*common, selection, None, False, None, None, None, None)
        case ModeMeasure(choice=winners):
            return _PASS, (*common, None, winners, False, None, None, None, None)
        case BoundsMeasure():
            return _PASS, (*common, None, None, True, None, None, None, None)
        case SizeMeasure() as sizes:
            return _PASS, (*common, None, None, False, sizes, None, None, None)
        case MatrixMeasure() as matrix:
            return _PASS, (*common, None, None, False, None, matrix, None, None)
        case MomentMeasure() as moments:
            return _PASS, (*common, None, None, False, None, None, moments, None)
        case TulapMeasure() as tulap:
            return _PASS, (*common, None, None, False, None, None, None, tulap)


@wired_by(_written, _PASS)
@dataclass(frozen=True)
class Pass:
    """One scan, and its release.

    The content `inside` each group, the values or ranges that are counted there, is the last key of the scan; of a
    strategy, all of its keys.
    """

    scan: Scan
    measure: PassMeasure

    def __post_init__(self) -> None:
        check_fields(self)
        if self.inside and not self.scan.keys:
            raise InvariantError("what is inside each group is the last key of a scan")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The noisy sums that are released."""
        return self.measure.measures

    @property
    def keys(self) -> KeyRelease | KeyRule | None:
        """How keys that are not public are released."""
        return self.measure.keys

    def with_noise(self, measures: Sequence[Measure]) -> Pass:
        """Return the same pass with other noise for its sums."""
        return replace(self, measure=self.measure.with_noise(tuple(measures)))

    @property
    def groups(self) -> tuple[GroupKey, ...]:
        """The keys of the groups that are answered: those of the scan, without the one inside each of them.

        All cells of a strategy are inside one group.
        """
        if isinstance(self.measure, MatrixMeasure):
            return ()
        return self.scan.keys[:-1] if self.inside else self.scan.keys

    @property
    def inside(self) -> bool:
        """Whether the last key of the scan is inside each group that is answered."""
        return self.measure.inside

    @property
    def plain(self) -> bool:
        """Whether it sums rows of the groups that are answered, and nothing else."""
        return not (self.measure.draws or self.inside or self.finds_first or self.scan.sizes or self.scan.products)

    @property
    def sizes(self) -> SizeMeasure | None:
        """The numbers of units by size that the pass releases, if it does."""
        return self.measure if isinstance(self.measure, SizeMeasure) else None

    @property
    def finds_groups(self) -> bool:
        """Whether the pass discovers groups, and not values within them."""
        return self.keys is not None and not self.inside

    @property
    def finds_first(self) -> bool:
        """Whether the discoveries of the pass decide the reads of later ones: values beside one group of others."""
        return self.finds_groups and any(key.other is not None for key in self.scan.keys)

    @property
    def events(self) -> tuple[Event, ...]:
        """The cost of the pass."""
        keys = (self.keys.event,) if self.keys else ()
        return (*keys, *self.measure.events)

    @property
    def noise_events(self) -> tuple[Event, ...]:
        """The cost of the pass's noise, without the delta of a threshold."""
        keys = (self.keys.noise,) if self.keys else ()
        return (*keys, *self.measure.events)


@dataclass(frozen=True)
class Known:
    """A sum that public facts fix: it is not measured, carries no noise and costs nothing."""

    value: int

    def __post_init__(self) -> None:
        check_fields(self)


Place = tuple[int, int] | Known
"""Where the value of a sum is found: a pass and a measure in it, or nowhere because it is known."""


@dataclass(frozen=True)
class Reading:
    """An aggregate of the query and where its sums are."""

    name: str
    aggregate: Aggregate
    places: tuple[Place, ...]

    @property
    def has_presence(self) -> bool:
        """Whether the answer is NULL where a noisy count, its last place, finds no rows."""
        return self.aggregate.extreme

    @property
    def noisy(self) -> tuple[tuple[int, int], ...]:
        """The places that carry noise."""
        return tuple(place for place in self.places if not isinstance(place, Known))

    @property
    def known(self) -> tuple[Known, ...]:
        """The sums that public facts fix."""
        return tuple(place for place in self.places if isinstance(place, Known))


@dataclass(frozen=True, repr=False)
class Plan:
    """A query with every decision made. The passes are the private part; the rest reads their releases.

    Print it for its words and a table of releases; `to_dict` has the same as plain data. Where there are several
    `rounds`, the passes are those of one after the other, the same but for their noise; readings state where their sums
    are in each round, and the event is that of all rounds: the most that the answer can cost.
    """

    query: Query
    passes: tuple[Pass, ...]
    readings: tuple[Reading, ...]
    spend: Spend
    target: Target | None = None
    rounds: int = 1
    covers: Covers = "noise"
    """What the intervals are to cover; where that is more than the noise, some pass pays for it."""
    before: Plan | None = field(default=None, compare=False, repr=False)
    """How the question was planned before a SUM was read beside a mean, where that is another plan."""
    narrowed: bool = field(default=False, compare=False, repr=False)
    """Whether conditions of the question narrowed declared bounds."""
    wider: Plan | None = field(default=None, compare=False, repr=False)
    """How it was planned before they did, where that is known."""
    unshared: Plan | None = field(default=None, compare=False, repr=False)
    """How it was planned before its sums shared a count, where they do: with a noisy sum for each SUM."""
    told: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Which blocks are read, in words, where a table is divided; the charge is read from the passes."""

    def __post_init__(self) -> None:
        whole(self.rounds, "rounds", least=1)
        if type(self.passes) is not tuple or not all(type(pass_) is Pass for pass_ in self.passes):
            raise BadParameter("passes", self.passes, "a tuple of passes")

    def round(self, index: int) -> Plan:
        """Return one round as a plan of its own, with its own digest and event."""
        size, place = len(self.passes) // self.rounds, whole(index, "index", most=self.rounds - 1)
        passes = self.passes[place * size : (place + 1) * size]
        return replace(self, passes=passes, target=None, rounds=1, before=None, wider=None, unshared=None)

    def first_rounds(self, count: int) -> Plan:
        """Return the plan of the first rounds: the work done where they were enough."""
        size, done = len(self.passes) // self.rounds, whole(count, "count", least=1, most=self.rounds)
        kept = self.passes[: done * size]
        return replace(self, passes=kept, target=None, rounds=done, before=None, wider=None, unshared=None)

    def across(self, place: tuple[int, int]) -> tuple[tuple[int, int], ...]:
        """Return where a sum or a choice is in each round."""
        size = len(self.passes) // self.rounds
        first, number = read(place, tuple[int, int], "place")
        return tuple((first + size * index, number) for index in range(self.rounds))

    def measure_at(self, place: tuple[int, int]) -> Measure:
        """Return the noisy sum at a place."""
        return self.passes[place[0]].measures[place[1]]

    def is_weighted(self, place: Place) -> bool:
        """Return whether a sum is of rows with weights, so that it need not be whole."""
        return not isinstance(place, Known) and self.measure_at(place).shift > 0

    def law(self, place: Place) -> Law:
        """Return the law of the noise on a sum, in grid units; a known sum has none. Rounds are averaged."""
        if isinstance(place, Known):
            return Law("gaussian", 0.0)
        return averaged([_law(self.measure_at(at)) for at in self.across(place)])[0]

    def weights(self, place: tuple[int, int]) -> list[float]:
        """Return the weight of each round in the average that a sum is read from: inverse to the noise's variance."""
        return averaged([_law(self.measure_at(at)) for at in self.across(place)])[1]

    def noise_within(self, place: Place, confidence: float) -> float:
        """Return the half-width of the noise on a sum at a confidence, in grid units: that of its interval."""
        import numpy as np

        if isinstance(place, Known):
            return 0.0
        if self.rounds > 1:
            law = self.law(place)
            return float(half_width(law, replace(law, scale=0.0, step=0.0), np.zeros(1), 1 - confidence)[0])
        measure = self.measure_at(place)
        half = measure.error(confidence)
        # without weights both the sum and its noise are whole, so a whole half-width covers as much
        return half if measure.shift else half // 1.0

    def without_rows(self, reading: Reading, values: Any, sums: Mapping[Place, Floats]) -> Any:
        """Return the values of a reading, NULL where a noisy count finds no rows and it needs some."""
        from .selections import without_rows

        return without_rows(self, reading, values, sums) if reading.has_presence else values

    def limits(self, sums: Sequence[Any] | Mapping[int, Any]) -> dict[int, int]:
        """Return the limits that the plan chose, from the releases of its passes."""
        return {place: int(sums[place][1][0]) for place in self.choosing}

    def at_limits(self, limits: Mapping[int, int]) -> Plan:
        """Return the plan with the limits that were chosen, each for the pass after the one that chose it."""
        from .contributions import with_limit

        passes = list(self.passes)
        for place, limit in limits.items():
            passes[place + 1] = with_limit(passes[place + 1], limit)
        return replace(self, passes=tuple(passes)) if limits else self

    @cached_property
    def bounding_bias(self) -> Mapping[str, Bias]:
        """The sides to which bounding can move each aggregate, computed once for each plan."""
        from .stability import bounding_bias

        return bounding_bias(self)

    def bias(self, meaning: Expression) -> tuple[bool, bool]:
        """Return whether bounding can make a column too low, and too high; it is an expression over aggregates."""
        from .stability import column_bias

        return column_bias(meaning, self)

    def notes(self, confidence: float) -> tuple[str, ...]:
        """Return the notes on the coverage of an answer's intervals, and on its limits."""
        from .explain import coverage_notes

        return coverage_notes(self, confidence)

    def released_notes(self, released: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
        """Return the notes on the released columns."""
        if not self.has_own_passes:
            return ()
        from .selections import far_notes, null_notes, range_notes

        return (*range_notes(self, released), *far_notes(self, released), *null_notes(self, released))

    @cached_property
    def has_own_passes(self) -> bool:
        """Whether an aggregate has a pass of its own, as quantiles, most frequent values and private ranges have."""
        return any(reading.aggregate.own_pass for reading in self.readings)

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """The kind of each key and aggregate, by declared facts: no row need be released to know it."""
        facts = self.passes[0].scan.schema.columns
        keys = {key.name: typed(key.expression, facts).kind or "number" for key in self.query.keys}
        return {**keys, **{reading.name: reading.aggregate.kind for reading in self.readings}}

    @cached_property
    def event(self) -> Composed:
        """The cost of the answer: the events of the mechanisms that will draw."""
        return Composed(tuple(event for pass_ in self.passes for event in pass_.events))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything that is released; how it is named, ordered or derived does not matter."""
        return digest_of(self.passes)

    @property
    def groups(self) -> tuple[GroupKey, ...]:
        """The keys of the groups that are answered."""
        return self.passes[1 if self.finds_first else 0].groups

    @property
    def finds_first(self) -> bool:
        """Whether the first pass discovers values, beside which all others are one more group in the later passes."""
        return len(self.passes) > 1 and self.passes[0].finds_first

    @property
    def size_places(self) -> tuple[int, ...]:
        """Which passes count units by size; each is about the pass after it."""
        return tuple(place for place, pass_ in enumerate(self.passes) if pass_.sizes)

    @property
    def choosing(self) -> tuple[int, ...]:
        """Which passes choose a contribution limit, each for the pass after it."""
        return tuple(place for place in self.size_places if (sizes := self.passes[place].sizes) and sizes.people)

    @property
    def key_places(self) -> tuple[int, ...]:
        """Where each key of the question is among the keys that are released, which have an order of their own."""
        expressions = [key.expression for key in self.groups]
        return tuple(expressions.index(key.expression) for key in self.query.keys)

    @cached_property
    def price(self) -> Mapping[str, float]:
        """The cost of the answer alone, in the terms of its budget."""
        from .explain import priced

        return priced(self)

    @property
    def sums(self) -> CellSums | None:
        """The noise of the sums of its first step, where that is known in advance: sums of public groups."""
        from .accuracy import sums_of_groups

        return sums_of_groups(self)

    @property
    def discovers(self) -> bool:
        """Whether some groups are not public."""
        return any(pass_.finds_groups for pass_ in self.passes)

    def explain(self) -> str:
        """Return the plan in plain words: its protection, possible losses, noise and cost."""
        from .explain import explain

        return explain(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything public about the plan as plain data that JSON can represent."""
        from .accuracy import facts_of, widths
        from .explain import facts

        columns = [width.to_dict() for width in widths(self)]
        return {"digest": self.digest, **facts(self), "columns": columns, "target": facts_of(self)}

    def __repr__(self) -> str:
        from .explain import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from .explain import as_html

        return as_html(self)


def _law(measure: Measure) -> Law:
    step = 0.5**measure.shift
    return Law(measure.mechanism.family, measure.mechanism.width * step, step)


@dataclass(frozen=True)
class Edition:
    """One change of how a kind of question is planned or carried out.

    Guarantee: where `sound` is False, because the change mended what was released before, nothing that was released
    for such a question by this edition's predecessor or by any before it is ever found by the plans of today.
    """

    kind: str
    """Which kind of question, by a name that never changes: it is hashed."""
    number: int
    """2 for the first change of a kind, and one more for each after it."""
    concerns: Callable[[tuple[Pass, ...]], bool]
    """Whether the passes of a plan, as they are from this edition on, are of that kind."""
    sound: bool
    """Whether earlier answers may still be returned, at no cost, to the accounts that paid for them."""
    earlier: Callable[[Plan], Plan | None]
    """The earlier plan of the same question: other passes, and readings where their places are others.

    None where that is not known, or where it did not answer such a question. Its cost is that charged then.
    """
    asked: Callable[[Plan], bool] | None = None
    """Whether a plan is of that kind, where its passes do not show it: they are those of another question by now, whose
    digest is theirs. Such a change is not written into digests, which differ by their passes.
    """

    def of(self, plan: Plan) -> bool:
        """Whether the change concerns a plan."""
        return self.concerns(plan.passes) or (self.asked is not None and self.asked(plan))


def _beside(plan: Plan) -> bool:
    return plan.before is not None


def _before(plan: Plan) -> Plan | None:
    return plan.before


def _narrowed(plan: Plan) -> bool:
    return plan.wider is not None


def _wider(plan: Plan) -> Plan | None:
    return plan.wider


def _shares_counts(plan: Plan) -> bool:
    return plan.unshared is not None


def _unshared(plan: Plan) -> Plan | None:
    return plan.unshared


def _has_ladders(passes: tuple[Pass, ...]) -> bool:
    return any(isinstance(draw, QuantileLadder) for pass_ in passes for draw in pass_.measure.draws)


def _without_ladders(plan: Plan) -> Plan | None:
    from .selections import without_ladders

    return without_ladders(plan)


def _shares_unequally(passes: tuple[Pass, ...]) -> bool:
    from .moments import MomentMeasure

    if not any(isinstance(pass_.measure, MomentMeasure) for pass_ in passes):
        return False
    from .moment_plan import shared_unequally

    return any(map(shared_unequally, passes))


def _shared_equally(plan: Plan) -> Plan | None:
    from .moment_plan import with_equal_shares

    return with_equal_shares(plan)


EDITIONS: tuple[Edition, ...] = (
    # SUM, beside AVG of the same column, is read from the centred sum and the count; it was a third sum before
    Edition("sum beside mean", 2, lambda passes: False, sound=True, earlier=_before, asked=_beside),
    # intervals of quantiles had two ends that were chosen, and took a third of the cost of a quantile
    Edition("quantile", 2, _has_ladders, sound=True, earlier=_without_ladders),
    # declared bounds are narrowed by the conditions of a question; values were clamped to the whole of them before
    Edition("bounds narrowed by conditions", 2, lambda passes: False, sound=True, earlier=_wider, asked=_narrowed),
    # X'X and X'y of a regression without intervals, under a norm, had half of the price each
    Edition("regression without squares", 2, _shares_unequally, sound=True, earlier=_shared_equally),
    # several SUMs with Gaussian noise are read from centred sums and a count that they share; each was a sum of its own
    Edition("sums beside a count", 2, lambda passes: False, sound=True, earlier=_unshared, asked=_shares_counts),
)
"""Every change since digests were frozen, oldest first. Entries are added at the end, and stay."""


class Made(NamedTuple):
    """A plan as some edition of the planner made it, and the digests under which its rounds are stored."""

    plan: Plan
    digests: tuple[str, ...]


def digest_of(passes: tuple[Pass, ...], editions: int | None = None) -> str:
    """Return the fingerprint of a release, by the planner of today or of the time of a number of editions.

    The first edition of every kind is not written: a question that no change concerned has the digest it always had.
    """
    numbers = {edition.kind: edition.number for edition in EDITIONS[:editions] if edition.concerns(passes)}
    text = canonical(["editions", numbers, passes]) if numbers else canonical(passes)
    return hashlib.sha256(text.encode()).hexdigest()


def any_edition() -> bool:
    """Whether there was a change at all."""
    return bool(EDITIONS)


def before() -> Iterator[int]:
    """Yield how many editions there were before each of them, from the last one to the first."""
    return reversed(range(len(EDITIONS)))


def as_of(plan: Plan, editions: int) -> Plan | None:
    """Return a plan as it was made at the time of a number of editions, or None where that is unsound or unknown."""
    made: Plan | None = plan
    for edition in reversed(EDITIONS[editions:]):
        if made is not None and edition.of(made):
            made = edition.earlier(made) if edition.sound else None
    return made


def editions_of(plan: Plan) -> tuple[Made, ...]:
    """Return a plan of one grouping, and then how earlier editions made it, the latest first, where that is sound."""
    by_digests = {_digests(plan, len(EDITIONS)): plan}
    for editions in before():
        made = as_of(plan, editions)
        if made is plan and not any(edition.concerns(plan.passes) for edition in EDITIONS[editions:]):
            continue  # the same passes under the same digest
        if made is not None and reaches(made):
            by_digests.setdefault(_digests(made, editions), made)
    return tuple(Made(made, digests) for digests, made in by_digests.items())


def reaches(plan: Plan) -> bool:
    """Whether a plan is as narrow as its question asks for; the width of rounds is known when they are read."""
    if plan.target is None or plan.rounds > 1:
        return True
    from .accuracy import excess, has_price

    return has_price(plan, plan.target) and excess(plan, plan.target) <= 1


def _digests(plan: Plan, editions: int) -> tuple[str, ...]:
    if plan.rounds == 1:
        return (plan.digest if editions == len(EDITIONS) else digest_of(plan.passes, editions),)
    return tuple(digest_of(plan.round(index).passes, editions) for index in range(plan.rounds))
