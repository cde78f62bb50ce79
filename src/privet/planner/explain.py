"""A plan in words and as plain data: protection, noise, cost and possible losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from privet import accounting
from privet.aggregates import CentredTotal
from privet.core.errors import InvariantError
from privet.core.event import Composed
from privet.core.numbers import float_up, in_digits, in_full
from privet.core.relation import tables_of
from privet.core.scan import Bounding, Largest, Norm, Once, Pairs, Scan, Truncate, asks
from privet.core.unit import Person, Unit, Window, in_buckets, person_column
from privet.display import Figures, draw_grid, draw_text, html_lines, html_table, printable, written
from privet.query.expressions import mentions
from privet.query.join import joins_of
from privet.query.nodes import Query, Step
from privet.query.normal import text
from privet.query.resolve import meanings

from .accuracy import heading, reached, widths
from .keys import other_way, people_needed
from .matrix import MatrixMeasure
from .measurements import facts_of_measured
from .measures import KeyRelease, KeyRule, plain_text_of
from .moments import MomentMeasure
from .plan import Pass, Plan, Spend, Target
from .selections import choice_notes, largest_in_words, presence_lines, winner_notes
from .shared_counts import shared_line
from .stability import column_bias, cut_within, loses
from .tulap_counts import TulapMeasure

if TYPE_CHECKING:
    from rich.console import Console


# The rows behind a mean: no person counts more in them than the declared contribution. Words only.


def mean_notes(plan: Plan) -> list[str]:
    """Return, for answers over people, how much a person's rows count in means, spreads and quantiles.

    The weighted mean differs from that of all rows by at most the share of rows that is lost times the width of the
    bounds; a sum states itself that it may be too low, and a mean does not.
    """
    names_of: dict[str, list[str]] = {}
    for reading in plan.readings:
        if reading.aggregate.typical is None:
            continue
        passes = [plan.passes[place[0]] for place in reading.noisy]
        for words in dict.fromkeys(_counted(pass_) for pass_ in passes):
            if words and reading.aggregate.typical not in names_of.setdefault(words, []):
                names_of[words].append(reading.aggregate.typical)
    return [
        f"{_listed(names).capitalize()} are computed over rows {words}, not over all rows equally."
        for words, names in names_of.items()
    ]


def _counted(pass_: Pass) -> str | None:
    """Return how much a person's rows count in a pass; None where rows are units."""
    who = _who(pass_.scan.schema.unit)
    return None if who is None else _limit(pass_.scan.bounding, who, grouped=bool(pass_.groups))


def _limit(bounding: Bounding, who: str, *, grouped: bool) -> str | None:
    match bounding:
        case Norm(order=order, limit=limit):
            most = limit if order == 1 else math.isqrt(limit)
            return f"weighted so that each {who} counts as at most {most:,} row{'s' * (most != 1)}"
        case Truncate(groups=groups, rows=rows):
            where = f" in each of at most {groups:,} group{'s' * (groups != 1)}" if grouped else ""
            return f"of which each {who} has at most {rows:,}{where}, chosen at random"
        case _:
            return None


def _who(unit: Unit) -> str | None:
    column = person_column(unit)
    return None if column is None else f"{column}{in_buckets(unit)}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_RULES = "2"
"""Which rules a plan was made by. Raised when a fault of past releases is fixed; see `privet ledger review`."""


def _uncovered(plan: Plan) -> str:
    """Return the consequence of rows that are dropped or scaled down, after the words that state this."""
    sides = " or ".join(side_words for side, side_words in _SIDES.items() if marked(plan)[side])
    return f"{sides and f', so totals may be {sides}'}; intervals do not cover this."


_SIDES = {"may_be_low": "too low", "may_be_high": "too high"}


def _covered(confidence: float, plan: Plan) -> str:
    what = "the added noise"
    if plan.covers == "bounding":
        what += f" and what bounding removes, up to {plan.passes[0].scan.schema.most_rows:,} rows of one person,"
    if plan.covers == "population":
        what += " and sampling from a population"
    return f"Each interval covers {what} with probability {confidence:.3g} (pointwise, not simultaneously)."


def _scaled(plan: Plan) -> str:
    """Return how people above the limit are treated, which is declared or was chosen."""
    low = ", so totals are too low by what intervals cover." if plan.covers == "bounding" else _uncovered(plan)
    if not plan.choosing:
        return f"Contributions above the declared limit are scaled down{low}"
    limits = {_limit(plan.passes[place + 1].scan.bounding, "person", grouped=False) for place in plan.choosing}
    most = " and ".join(sorted(limit.rpartition("at most ")[2] for limit in limits if limit))
    return f"Contributions above {most}, a limit that this answer chose privately, are scaled down{low}"


def coverage_notes(plan: Plan, confidence: float) -> tuple[str, ...]:
    """Return the notes on the coverage of an answer's intervals, and on its limits."""
    if not plan.readings:
        if plan.discovers:
            return ("Rare groups are suppressed: a group that is missing may have rows.",)
        return tuple(listed_lines(plan)) or ("Nothing here is a column: the test or study that planned this reads it.",)
    only_chosen = all(pass_.inside for pass_ in plan.passes)
    notes = [] if only_chosen else [_covered(confidence, plan)]
    notes.extend(plan.told)
    if plan.has_own_passes:
        notes.extend(winner_notes(plan))
    kinds = {type(pass_.scan.bounding) for pass_ in plan.passes if loses(pass_)}
    if kinds & {Norm, Largest}:
        notes.append(_scaled(plan))
    notes.extend(mean_notes(plan))
    if Truncate in kinds:
        notes.append(f"Contributions above the stated groups and rows are dropped{_uncovered(plan)}")
    if any(_cut(pass_.scan) and loses(pass_) for pass_ in plan.passes):
        notes.append("A person's values above the stated number are dropped; intervals do not cover this.")
    places = [place for reading in plan.readings for place in reading.noisy]
    if any(cut_within(plan, places)):
        notes.append(f"Counts and sums within one person are clamped to the declared limit{_uncovered(plan)}")
    most = _most_joined(plan.passes[0].scan)
    if most is not None:
        notes.append(
            f"Joined rows of one {person_column(plan.passes[0].scan.schema.unit)} above {most:,} are "
            f"dropped{_uncovered(plan)}"
        )
    if plan.has_own_passes:
        notes.extend(choice_notes(plan, confidence))
    values = any(measure.sum.expression is not None for pass_ in plan.passes for measure in pass_.measures)
    if values or any(pass_.measure.draws for pass_ in plan.passes):
        notes.append("Values outside the declared bounds are clamped; intervals do not cover the resulting bias.")
    if plan.finds_first:
        notes.append(f"Rare groups are merged into {_label(plan)!r}; coverage is stated before that selection.")
    elif plan.discovers:
        notes.append("Rare groups are suppressed; coverage is stated before that selection.")
    return (*notes, *selection_notes([plan.query]))


def selection_notes(queries: Sequence[Query]) -> list[str]:
    """Return that rows were selected by released values, where some of several questions do so."""
    if not any(_selects(step, query, place) for query in queries for place, step in enumerate(query.steps)):
        return []
    return ["Rows were selected by released values; coverage is stated before that selection."]


def _selects(step: Step, query: Query, place: int) -> bool:
    """Whether a step keeps some rows of those that were released, and not by their keys alone."""
    where = step.where
    if where is not None and place == 0 and mentions(where) <= {key.name for key in query.keys}:
        where = None
    return not all(condition is None for condition in (where, step.having, step.qualify, step.limit))


def facts(plan: Plan) -> dict[str, Any]:
    """Return everything public about a plan as plain data: for certificates and machines."""
    first = plan.passes[0].scan
    return {
        **plan_version(),
        "table": " and ".join(tables_of(first.table)),
        "version": first.schema.version,
        "protects": str(first.schema.unit),
        "neighbors": first.schema.neighbors,
        "bounding": " ".join(boundings(plan)),
        **marked(plan),
        "releases": [fact for pass_ in plan.passes for fact in pass_.measure.facts(pass_.scan)],
        "exact": [_known(value) for value in known_values(plan)],
        "keys": _keys(plan),
        "group_by": [text(key.expression) for key in plan.groups],
        "where": None if first.where is None else text(first.where),
        "cost": cost(plan),
        "measured": [facts_of_measured(plan)],
    }


def marked(plan: Plan) -> dict[str, list[str]]:
    """Return which columns of the answer bounding can make too low, and which too high."""
    sides = {name: column_bias(meaning, plan) for name, meaning in meanings(plan.query).items()}
    return {
        "may_be_low": [name for name, bias in sides.items() if bias.low],
        "may_be_high": [name for name, bias in sides.items() if bias.high],
    }


def cost(plan: Plan) -> dict[str, float]:
    """Return the cost of the answer alone, computed once for each plan."""
    return dict(plan.price)


def priced(plan: Plan) -> dict[str, float]:
    """Return the cost of the answer alone: pure epsilon, epsilon at the delta it was planned for, or rho.

    Guarantee: outside an event of probability `slack` no key shows that a single unit holds, and the rest is the
    noise's release; so delta is the noise's and the slack together.
    Cites: [KKMN09, noisy thresholds].
    """
    return cost_of(plan.passes, plan.spend)


def cost_of(passes: Sequence[Pass], spend: Spend) -> dict[str, float]:
    """Return the joint cost of passes, in the measure in which they were planned; as `priced` for one plan."""
    event = Composed(tuple(event for pass_ in passes for event in pass_.events))
    if spend.rho is not None:
        return {"rho": float_up(event.rho()), "delta": float_up(event.slack())}
    if event.pure() != float("inf"):
        return {"epsilon": float_up(event.pure()), "delta": float_up(event.slack())}
    noise = Composed(tuple(part for pass_ in passes for part in pass_.noise_events))
    return {"epsilon": accounting.epsilon(noise, spend.delta), "delta": float_up(spend.delta + event.slack())}


def explain(plan: Plan) -> str:
    """Return the plan in plain words."""
    if plan.rounds > 1:
        from .rounds import explain_rounds

        return explain_rounds(plan)
    first = plan.passes[0]
    schema = first.scan.schema
    lines = [
        f"Protects {schema.unit} of {' and '.join(tables_of(first.scan.table))} ({schema.neighbors} neighbours).",
        *plan.told,
        *(listed_lines(plan) or boundings(plan)),
    ]
    lines.extend(known_lines(plan))
    for pass_ in plan.passes:
        if pass_.keys is not None:
            lines.append(_how_found(pass_, pass_.keys))
        lines.extend(pass_.measure.lines(pass_.scan))
    lines.extend(beside_lines(plan))
    if plan.finds_first:
        lines.append(
            f"All rows whose group is not shown are one more group, {_label(plan)!r}, by a second reading of the data "
            f"that is charged with the first."
        )
    if plan.has_own_passes:
        lines.extend(presence_lines(plan))
    lines.extend(line for pass_ in plan.passes for line in pass_.measure.later_lines(pass_.scan))
    lines.append(why(plan))
    if plan.target is not None:
        lines.append(_aim(plan, plan.target))
    price = ", ".join(f"{name} {value:.4g}" for name, value in cost(plan).items())
    lines.append(f"Costs {price}.")
    return "\n".join(line for line in lines if line)


def listed_lines(plan: Plan) -> list[str]:
    """Return a line on groups that are listed for nothing, where a question asks for public groups and nothing else."""
    if plan.readings or any(asks(pass_.scan) for pass_ in plan.passes):
        return []
    return [
        "The groups are declared and public: they are listed whether or not they have rows, no row is read, and "
        "nothing is charged."
    ]


def beside_lines(plan: Plan) -> list[str]:
    """Return a line for each sum that is read from the releases for a mean, or beside a count that they share."""
    if plan.unshared is not None:
        return [shared_line(plan, plan.unshared)]
    lines = []
    for total in dict.fromkeys(
        reading.aggregate for reading in plan.readings if isinstance(reading.aggregate, CentredTotal)
    ):
        over, middle = plain_text_of(total.argument.expression), total.argument.middle
        sign = "-" if middle < 0 else "+"
        lines.append(
            f"Reads SUM of {over} as its centred sum {sign} {in_full(abs(float(middle)))} times the count, both "
            f"released for the mean anyway: so it errs less than with a noisy sum of its own, and so do the others."
        )
    return lines


def _label(plan: Plan) -> str:
    return next(key.other for key in plan.groups if key.other is not None)


def _how_found(pass_: Pass, rule: KeyRelease | KeyRule) -> str:
    """Return how keys are found, and why so: by the way that needs fewer people."""
    most = pass_.scan.discovery.most if pass_.scan.discovery else 1
    who = {Person: "people", Window: "people's windows"}.get(type(pass_.scan.schema.unit), "rows")
    needs, other = people_needed(rule, most), other_way(pass_.scan, rule)
    if isinstance(rule, KeyRule):
        kept = f" ({who} in more than {most:,} count in {most:,} of them)" if most > 1 else ""
        how = f"the more {who} it has, the likelier it is shown{kept}: one in two at about {needs:.4g}"
    else:
        parts = ", each counted in part where they are in several," if most > 1 else ""
        people = rule.threshold / 2**rule.shift
        how = f"one is shown if the noisy number of its {who}{parts} is above {people:.4g}"
    what = "groups" if pass_.finds_groups else f"values of {text(pass_.scan.keys[-1].expression)}"
    words = f"The {what} are found in the data: {how}."
    if other is None:
        return words
    name = "A Laplace threshold" if isinstance(rule, KeyRule) else "The optimal rule for keys"
    average = f" ({needs:.4g} here, on average over {who} in 1 to {most:,} groups)" if most > 1 else ""
    return f"{words} {name} would need {people_needed(other, most):.4g} at the same cost{average}."


def boundings(plan: Plan) -> list[str]:
    """Return how contributions beyond what a plan allows are bounded: for its sums, and for each count of values."""
    separate = [pass_ for pass_ in plan.passes if isinstance(pass_.scan.bounding, (Pairs, Largest))]
    first = [] if plan.passes[0] in separate else [plan.passes[0]]
    if plan.choosing:
        who = person_column(plan.passes[0].scan.schema.unit)
        return [
            f"Each {who} counts in full up to a limit C, chosen privately first; more than that is scaled down to C."
        ]
    joined = _joined_in_words(plan.passes[0].scan)
    return [*(bounding_in_words(pass_) for pass_ in (*first, *separate)), *([joined] if joined else [])]


def _cut(scan: Scan) -> bool:
    return scan.bounding.of is not None and not scan.schema.unit.rowwise


def _most_joined(scan: Scan) -> int | None:
    """Return how many rows each join makes of one unit's at most, where some could make more."""
    return next((join.most for join in joins_of(scan.table) if join.most is not None), None)


def _joined_in_words(scan: Scan) -> str:
    """Return how many rows a join makes of one person's, where there may be many."""
    most = _most_joined(scan)
    if most is None:
        return ""
    joins = sum(join.most is not None for join in joins_of(scan.table))
    each = "Each join makes" if joins > 1 else "The join makes"
    return f"{each} at most {most:,} rows for each {person_column(scan.schema.unit)}: the excess is dropped at random."


def bounding_in_words(one: Pass) -> str:
    """Return how contributions beyond what a plan allows are bounded."""
    bounding = one.scan.bounding
    return largest_in_words(one, bounding) if isinstance(bounding, Largest) else bounded_in_words(one.scan)


def scans_in_words(scans: Sequence[Scan]) -> list[str]:
    """Return how contributions beyond what scans allow are bounded, where they choose nothing."""
    joined = [_joined_in_words(scan) for scan in scans]
    return [*dict.fromkeys([*map(bounded_in_words, scans), *filter(None, joined)])]


def bounded_in_words(scan: Scan) -> str:
    """Return how contributions beyond what a scan allows are bounded, where values are not chosen by it."""
    unit = scan.schema.unit
    who = f"{person_column(unit) or 'row'}{in_buckets(unit)}"
    match scan.bounding:
        case Once():
            return "Each row counts in full."
        case Norm(order=order, limit=limit):
            amount = f"{limit}" if order == 1 else f"{limit**0.5:.4g}"
            if not scan.keys:
                most = limit if order == 1 else int(limit**0.5)
                full = "1 row" if most == 1 else f"{most} rows"
                return f"Each {who} counts in full up to {full}; contributions above that are scaled down to it."
            norm = "sum" if order == 1 else "root of the sum of squares"
            return (
                f"Each {who} counts in full while the {norm} of its rows in each group is at most {amount}; "
                f"contributions above that are scaled down as a whole."
            )
        case Truncate(groups=groups, rows=rows):
            kept = f"in each of at most {groups} groups are" if scan.keys else "are"
            return f"Of each {who} at most {rows} rows {kept} kept, chosen at random; the others are dropped."
        case Pairs(of=of, most=most) if _cut(scan):
            where = ", over all groups together," if scan.keys else ""
            return f"Of each {who} at most {most} different values of {text(of)}{where} count, chosen at random."
        case Pairs(of=of):
            return f"Each row counts with its value of {text(of)}."
    raise InvariantError("values are chosen by the largest cells of a unit")


def known_values(plan: Plan) -> list[int]:
    """Return the sums of a plan that public facts fix."""
    return sorted({known.value for reading in plan.readings for known in reading.known})


def known_lines(plan: Plan) -> list[str]:
    """Return a line for each sum of a plan that public facts fix."""
    return [f"{_known(value)}." for value in known_values(plan)]


def plan_version() -> dict[str, str]:
    """Return the version of Privet, and the rules, by which a plan was made."""
    return {"privet": _version(), "rules": _RULES}


@cache
def _version() -> str:
    return version("privet")


def _keys(plan: Plan) -> str:
    for pass_ in plan.passes:
        if pass_.keys is not None and pass_.finds_groups:
            return (
                "discovered by the optimal rule" if isinstance(pass_.keys, KeyRule) else "discovered above a threshold"
            )
    return "public" if plan.groups else "none"


def _known(value: int) -> str:
    return f"The number of rows, {value:,}, is declared and public: it is exact and costs nothing"


def why(plan: Plan) -> str:
    """Return why a plan has the noise that it has."""
    if any(isinstance(pass_.measure, TulapMeasure) for pass_ in plan.passes):
        return "Truncated Tulap noise, because no other of this epsilon and delta makes one-sided tests more powerful."
    families = {measure.mechanism.family for pass_ in plan.passes for measure in pass_.measures}
    families |= {
        pass_.measure.family for pass_ in plan.passes if isinstance(pass_.measure, (MatrixMeasure, MomentMeasure))
    }
    if not families:
        return ""
    if plan.spend.rho is not None:
        return "Gaussian noise, because the cost is counted as rho."
    if not plan.spend.delta:
        return "Laplace noise, because the budget has no delta."
    chosen, other = ("Laplace", "Gaussian") if families == {"laplace"} else ("Gaussian", "Laplace")
    return f"{chosen} noise, because {other} noise would be wider at this cost."


def _aim(plan: Plan, target: Target) -> str:
    listed = ", ".join(width.words() for width in reached(plan, target))
    unit = "rho" if plan.spend.epsilon is None else "epsilon"
    wanted = {f"±{in_digits(float(width.wanted), 4)}" for width in reached(plan, target)}
    limit = f"within {wanted.pop()}" if len(wanted) == 1 else "as narrow as asked"
    return (
        f"Each interval at {float(target.confidence):.4g} confidence is {limit} ({listed}), for the least {unit} with "
        f"four digits that makes it so."
    )


# A plan for people: how wide each column will be, its words, and a table of the releases.


_RELEASES = ("released sum", "noise", "sensitivity", "clamped to", "95% within")

Listed = tuple[tuple[str, ...], list[tuple[str, ...]]]


def as_text(plan: Plan) -> str:
    """Return the plan as plain text."""

    def draw(console: Console) -> None:
        first, *others = _tables(plan)
        if first[1]:  # a plan for many counts has no columns
            draw_grid(console, _columns(first), wraps=True)
            console.print()
        draw_text(console, plan.explain())
        for table in others:
            console.print()
            draw_grid(console, _columns(table), wraps=True)

    return written(draw)


def as_html(plan: Plan) -> str:
    """Return the plan as HTML for notebooks."""
    first, *others = (html_table(_columns(table)) if table[1] else "" for table in _tables(plan))
    return f"<div>{first}{html_lines(plan.explain().splitlines())}{''.join(others)}</div>"


def _columns(table: Listed) -> list[Figures]:
    heads, rows = table
    cells = zip(heads, zip(*rows, strict=True), strict=True)
    return [Figures(printable(head), tuple(map(_on_lines, column)), right=False) for head, column in cells]


def _on_lines(cell: str) -> str:
    return "\n".join(map(printable, cell.split("; ")))


def _tables(plan: Plan) -> list[Listed]:
    from .groupings import levels_in

    levels = levels_in(plan)
    columns: list[tuple[str, ...]] = [
        (f"{width.column} {level}".rstrip(), width.words()) for level, part in levels for width in widths(part)
    ]
    releases: list[tuple[str, ...]] = []
    for pass_ in plan.passes if plan.rounds == 1 and len(levels) == 1 else ():  # of others, the words are shorter
        releases.extend(pass_.measure.rows(pass_.scan))
    return [(("column", heading(plan)), columns), *([(_RELEASES, releases)] if releases else [])]
