"""Which groups a query has: those that public facts imply, or none known in advance.

Nothing here looks at data. A key whose values cannot be listed from declared facts is discovered, at a cost.
"""

from __future__ import annotations

import datetime
import math
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from privet.accounting.gdp import gaussian_mu
from privet.core.errors import BadParameter, InvariantError, RequestError
from privet.core.numbers import is_unicode
from privet.core.relation import Call, Expression, Literal
from privet.core.scan import Discovery, GroupKey, Scan
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Key, Schema
from privet.core.unit import Sensitivity
from privet.mechanisms import Gaussian, Laplace, OptimalKeys
from privet.mechanisms.key_selection import half_way, threshold_for
from privet.query.expressions import typed
from privet.query.nodes import Query
from privet.query.normal import call, conjunction, text, truncate
from privet.query.typed import Typed, of_column

from .measures import KeyRelease, KeyRule, Noise
from .plan import Spend
from .stability import SHIFT, key_sensitivity

MOST_KEYS = 100_000
"""More public groups than this are refused: each would be answered, present or not."""

_STRIDES: Mapping[str, datetime.timedelta] = {
    "second": datetime.timedelta(seconds=1),
    "minute": datetime.timedelta(minutes=1),
    "hour": datetime.timedelta(hours=1),
    "day": datetime.timedelta(days=1),
    "week": datetime.timedelta(days=7),
    "month": datetime.timedelta(days=28),
    "quarter": datetime.timedelta(days=89),
    "year": datetime.timedelta(days=365),
}
"""No longer than the part itself, so that stepping by it misses none."""


def group_key(expression: Expression, columns: Mapping[str, Facts]) -> GroupKey:
    """Return a grouping expression with its public values, if public facts imply them."""
    facts = typed(expression, columns)
    values = _starts(expression, facts) if _truncates(expression) else _listed(facts)
    if values is None:
        return GroupKey(expression, None, facts.nullable)
    return GroupKey(expression, (*values, None) if facts.nullable else tuple(values), facts.nullable)


def count_cells(keys: Iterable[GroupKey], cells: tuple[tuple[Key, ...], ...] | None = None) -> int:
    """Return how many groups public keys make, refusing more than can sensibly be answered."""
    listed = tuple(keys)
    whole = 0 if cells is None else len(cells[0])
    count = math.prod(len(key.values) for key in listed[whole:] if key.values is not None)
    count *= 1 if cells is None else len(cells)
    if count > MOST_KEYS:
        raise TooManyGroups(count)
    return count


class TooManyGroups(RequestError):
    """Public keys make too many groups to answer each; a budget with a delta finds those that enough people are in."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"the public keys make {count:,} groups, each of which would be answered, present or not; the most is "
            f"{MOST_KEYS:,}: group by fewer or coarser keys, or by wider bins, or leave groups out with WHERE. A "
            f"budget with a delta, Approximate(epsilon=, delta=), shows the groups that enough people are in"
        )


def to_be_found(query: Query, columns: Mapping[str, Facts]) -> Query:
    """Return a question whose groups are found in the data, as if nothing were declared about them.

    Guarantee: every key is handled as one that is not public: a rule shows those that enough units hold, and its
    delta is charged. Rows whose key is none of the declared values are still in no group.
    """
    if not query.keys:
        raise RequestError("this question has no groups to be found; leave find_groups out")
    if query.other is not None:
        raise RequestError("pass other= or find_groups=, not both: other= is for a key that is not declared")
    held = (has_group(key.expression, columns) for key in query.keys)
    return replace(query, find=True, where=conjunction(query.where, *held))


def has_group(expression: Expression, columns: Mapping[str, Facts]) -> Expression | None:
    """Return the condition that a key is one of its public values; None where it is not public, or always is."""
    key, facts = group_key(expression, columns), typed(expression, columns)
    if key.values is None:
        return None
    missing = Call("is_null", (expression,))
    if facts.values is None or facts.kind == "boolean":  # whatever is clamped to bounds has a group
        return None if key.nullable else call("not", missing)
    listed = call("in", expression, *(Literal(value) for value in key.values if value is not None))
    return call("or", listed, missing) if key.nullable else listed


def listed_values(facts: Facts) -> list[Key] | None:
    """Return every value other than NULL that declared facts allow a column; None if they do not list them."""
    return _listed(of_column(facts))


def _listed(facts: Typed) -> list[Key] | None:
    """Return every value other than NULL that declared facts allow; None if they do not list them."""
    if facts.values is not None:
        return [value for value in facts.values if value is not None]
    match facts.kind, facts.low, facts.high:
        case "integer", Fraction() as low, Fraction() as high:
            step = max(facts.step, 1)
            return list(range(int(low), int(high) + 1, step)) if (high - low) / step <= MOST_KEYS else None
        case "date", datetime.date() as first, datetime.date() as last:
            days = (last - first).days
            return [first + datetime.timedelta(days=day) for day in range(days + 1)] if days <= MOST_KEYS else None
    return None


def bounded_values(expression: Expression, columns: Mapping[str, Facts]) -> int | None:
    """Return how many whole numbers or days lie between declared bounds, where there is no list of values."""
    facts = typed(expression, columns)
    match facts.kind, facts.low, facts.high:
        case "integer", Fraction() as low, Fraction() as high if facts.values is None:
            return (int(high) - int(low)) // max(int(facts.step), 1) + 1
        case "date", datetime.date() as first, datetime.date() as last if facts.values is None:
            return (last - first).days + 1
    return None


def _truncates(expression: Expression) -> bool:
    return expression.function == "date_trunc"


def _starts(expression: Expression, facts: Typed) -> list[Key] | None:
    """Return the starts of the weeks, months, ... between the bounds of a truncated date or timestamp."""
    match expression, facts.low, facts.high:
        case Call(arguments=(Literal(value=part), *_)), datetime.date() as low, datetime.date() as high:
            stride = _STRIDES[str(part)]
        case _:
            return None
    if (high - low) / stride > MOST_KEYS:
        return None
    starts: dict[Key, None] = {}
    moment = low
    while moment <= high:
        starts[truncate(moment, str(part))] = None
        if high - moment < stride:  # there may be no later moment in the calendar
            break
        moment += stride
    starts[truncate(high, str(part))] = None
    return list(starts)


# How keys that are not public are found: by a threshold on noisy weights, or by the optimal rule. From public facts.
#
# Both are compared by how many people a key needs, and the other is never run.


_MOST_ROOTS = 1000
"""This many square roots are added up one by one; more, as an integral."""


def discovered(scan: Scan, choice: Choice, *, most: int, delta: Fraction) -> tuple[Scan, KeyRelease | KeyRule]:
    """Return a scan that discovers keys, and the rule by which they are released that needs the fewest people.

    Guarantee: chosen from declared facts, and from nothing else.
    """
    shared = replace(scan, discovery=Discovery(most, choice.order, SHIFT))
    sensitivity = key_sensitivity(shared)
    threshold = _threshold(shared, sensitivity, choice.mechanism(sensitivity), delta)
    if choice.family == "laplace":
        rule = _rule(scan, choice.share, most, delta)
        if rule is not None and people_needed(rule, most) <= people_needed(threshold, most):
            return replace(scan, discovery=Discovery(most, 0, 0)), rule
    return shared, threshold


def people_needed(rule: KeyRelease | KeyRule, most: int) -> float:
    """Return about how many people make a key as likely shown as not, on average over how many keys they have.

    People with k keys each need T k under a Laplace threshold T, T sqrt(k) under a Gaussian one, and the same number
    whatever k is under the optimal rule. How many keys people have is not known: as many have 1 as have 2, ..., `most`.
    """
    if isinstance(rule, KeyRule):
        return half_way(rule.mechanism.key_epsilon, rule.mechanism.key_delta)
    alone = float(Fraction(rule.threshold, 2**rule.shift))
    if rule.mechanism.family == "laplace":
        return alone * (most + 1) / 2
    roots = sum(map(math.sqrt, range(1, most + 1))) if most <= _MOST_ROOTS else 2 / 3 * (most + 0.5) ** 1.5
    return alone * roots / most


def other_way(scan: Scan, chosen: KeyRelease | KeyRule) -> KeyRelease | KeyRule | None:
    """Return the rule that was not chosen, at the same cost; None where there is none to compare with."""
    discovery = scan.discovery
    if discovery is None:
        raise InvariantError("a scan without discovery has no rule for keys")
    if isinstance(chosen, KeyRule):
        shared = replace(scan, discovery=Discovery(discovery.most, 1, SHIFT))
        epsilon = Fraction(chosen.mechanism.event.pure())
        sensitivity = key_sensitivity(shared)
        noise = Laplace(sensitivity=sensitivity, epsilon=epsilon)
        return _threshold(shared, sensitivity, noise, chosen.mechanism.event.slack())
    if chosen.mechanism.family != "laplace":
        return None
    return _rule(scan, Fraction(chosen.mechanism.event.pure()), discovery.most, chosen.delta)


def threshold_of(noise: Noise, scan: Scan, delta: Fraction) -> int:
    """Return the least weight that a key must exceed, for the noise and the weights of a scan."""
    discovery = scan.discovery
    if discovery is None:
        raise InvariantError("a threshold needs weights of keys")
    shared = {"most": discovery.most, "shift": discovery.shift, "group": scan.schema.unit.touches}
    return threshold_for(noise, order=discovery.order, delta=delta, **shared)


def _threshold(scan: Scan, sensitivity: Sensitivity, noise: Noise, delta: Fraction) -> KeyRelease:
    return KeyRelease(sensitivity, noise, threshold_of(noise, scan, delta), delta, SHIFT)


def _rule(scan: Scan, epsilon: Fraction, most: int, delta: Fraction) -> KeyRule | None:
    """Return the optimal rule, or None where it could not be listed."""
    schema = scan.schema
    try:
        return KeyRule(
            OptimalKeys(epsilon=epsilon, delta=delta, keys=most, group=schema.unit.touches, neighbors=schema.moves)
        )
    except RequestError:
        return None


# An extra group for everything whose key is not shown: values are found first, and then all rows are grouped anew.
#
# Both readings are charged together, before the first: the second's cost does not depend on the values found.


_LONGEST = 100


def with_other(keys: tuple[GroupKey, ...], query: Query, schema: Schema) -> tuple[GroupKey, ...]:
    """Return the keys of a query, the one that is not public with the name of the group for values not found.

    Guarantee: decided by declared facts and by what is asked.
    """
    label = query.other
    if label is None:
        return keys
    if not isinstance(label, str) or not label.strip() or len(label) > _LONGEST or not _writable(label):
        raise BadParameter("other", label, f"a name for the group of all that is left, of up to {_LONGEST} characters")
    hidden = [key for key in keys if key.values is None]
    if not hidden:
        raise RequestError("all groups of this question are declared and shown, so nothing is left for other=")
    if len(hidden) > 1:
        listed = " and ".join(text(key.expression) for key in hidden)
        raise RequestError(f"other= is for one key whose values are not declared, and here there are {listed}")
    (key,) = hidden
    kind = typed(key.expression, schema.columns).kind
    if kind != "text":
        shown = text(key.expression)
        raise RequestError(
            f"{shown} is of kind {kind}, which cannot hold {label!r}; group by CAST({shown} AS VARCHAR), or declare "
            f"its bounds"
        )
    return tuple(replace(each, other=label) if each is key else each for each in keys)


def _writable(label: str) -> bool:
    """Return whether an engine can write a name: or it would be refused only when it is read, after the charge."""
    return "\0" not in label and is_unicode(label)


def with_found(scan: Scan, found: Sequence[Key]) -> Scan:
    """Return a scan over the values that were found and one group of all others, which are public keys by now.

    Guarantee: rows are grouped before contributions are bounded, so that the norm of what one unit gives is that of
    the groups that are released. It is bounded as for any keys, whatever was found.
    """
    return replace(
        scan, keys=tuple(_mapped(key, key.other, found) if key.other is not None else key for key in scan.keys)
    )


def _mapped(key: GroupKey, label: str, values: Sequence[Key]) -> GroupKey:
    kept = [value for value in values if value is not None and value != label]
    rest: Expression = Literal(label)
    if None in values:
        rest = Call("case", (Call("is_null", (key.expression,)), Literal(None), rest))
    if kept:
        among = call("in", key.expression, *(Literal(value) for value in kept))
        rest = Call("case", (among, key.expression, rest))
    nulls: tuple[Key, ...] = (None,) if None in values else ()
    return GroupKey(rest, (*kept, *nulls, label), bool(nulls))


# Which noise: Laplace or Gaussian, whichever errs less at the same cost, from public facts alone.


Family = typing.Literal["laplace", "gaussian"]

_ROOM = Fraction(1, 2**20)
"""Reserved from epsilon and delta for rounding, beside the blur of each Gaussian on its grid."""


@dataclass(frozen=True)
class Choice:
    """A family of noise and its share for each measure: epsilon for Laplace, rho for Gaussian."""

    family: Family
    share: Fraction

    @property
    def order(self) -> typing.Literal[1, 2]:
        """The norm in which contributions are bounded for this noise."""
        return 1 if self.family == "laplace" else 2

    def mechanism(self, sensitivity: Sensitivity) -> Noise:
        """Return the noise for one measure."""
        if self.family == "laplace":
            return Laplace(sensitivity=sensitivity, epsilon=self.share)
        return Gaussian(sensitivity=sensitivity, rho=self.share)


def choices(spend: Spend, measures: int) -> list[Choice]:
    """Return the families that the spend allows, with the equal share of each measure.

    Guarantee: `measures` Laplace mechanisms of epsilon / measures compose to epsilon. Gaussian ones of rho / measures
    compose to rho, and with rho = mu**2 / 2 to mu, which is exactly (epsilon, delta)-DP; their blurs add 2 blur each
    to epsilon and a factor e**blur to delta, and mu leaves a margin for them.
    Cites: [DR14, Thm 3.16], [BS16, Lemma 1.7], [DRS22, composition], [BW18, Thm 8].
    """
    options = []
    if spend.rho is not None:
        options.append(Choice("gaussian", spend.rho / measures))
    if spend.epsilon is not None:
        options.append(Choice("laplace", spend.epsilon / measures))
        blur = measures * Gaussian(sensitivity=1, rho=1).blur
        left = spend.epsilon * (1 - _ROOM) - 2 * blur
        if spend.delta and left > 0:
            mu = gaussian_mu(left, spend.delta * (1 - _ROOM - 2 * blur))
            options.append(Choice("gaussian", Fraction(mu) ** 2 / (2 * measures)))
    if not options:
        raise RequestError("state what the answer may cost: epsilon= or rho=")
    return options
