"""`privet marginals`: many counts of a table for one charge, any of which is shown again for free."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privet.display import cost_words

from .asking import read_contribution
from .one_charge import bound_option, charge_options, check_place, left_in_words, run_charged, with_options
from .screen import counting_number, print_columns, print_facts, print_json, print_text

if TYPE_CHECKING:
    from privet.planner.plan import Plan
    from privet.results.released_counts import CountTable, Marginals, ReleasedCounts
    from privet.session import Session

_OPTIONS = charge_options(
    bound_option(
        "How to limit each person's contribution: `norm` scales it down, `groups` drops excess groups and rows."
    ),
    click.option(
        "--contribution",
        metavar="GROUPS,ROWS",
        help="The groups and rows in each that nearly every person stays within.",
    ),
    click.option("--nonnegative", is_flag=True, help="Keep estimates and intervals at 0 or above."),
    click.option("--whole", is_flag=True, help="Show whole numbers."),
    costs="all counts cost together",
    plot="Draw a picture into this file: .png, .svg or .pdf.",
    plan="Show the price and the errors only. Free; reads no data.",
)
_COST = ("epsilon", "rho", "bound", "contribution")


def counting_options(counting: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with the options of many counts; it receives their cost and bounding as one mapping, `cost`."""

    @wraps(counting)
    def gathered(**said: Any) -> Any:
        cost = {name: said.pop(name) for name in _COST}
        cost["contribution"] = read_contribution(cost["contribution"])
        return counting(**said, cost=cost)

    return with_options(gathered, _OPTIONS)


@click.command()
@click.argument("table")
@click.argument("columns", nargs=-1, required=True)
@click.option("--ways", type=counting_number, help="Count by every set of this many columns. [default: 2]")
@click.option("--subset", "subsets", multiple=True, metavar="A,B", help="Count by these columns, instead of --ways.")
@click.option("--weight", "weights", multiple=True, metavar="A,B=3", help="How much the errors of one table matter.")
@click.option(
    "--ordered",
    multiple=True,
    metavar="A=ranges",
    help="Plan for ranges, or prefixes, of a column of numbers or dates.",
)
@click.option("--show", multiple=True, metavar="A,B", help="Show the counts by these columns.")
@click.option(
    "--count",
    "spans",
    multiple=True,
    metavar="A=1,B=18..64",
    help="Show one count: of a value, or of a range with both ends, 18..64 or 65.., for each of some columns.",
)
@counting_options
def command(
    table: str,
    columns: tuple[str, ...],
    ways: int | None,
    subsets: tuple[str, ...],
    weights: tuple[str, ...],
    ordered: tuple[str, ...],
    show: tuple[str, ...],
    spans: tuple[str, ...],
    cost: dict[str, Any],
    nonnegative: bool,
    whole: bool,
    confidence: Any,
    plot: Path | None,
    only_plan: bool,
    key: str | None,
    analyst: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """Count a table by every set of some columns, for one charge and with the least error. Again, it is free.

    TABLE is a table or a view, and COLUMNS are columns of it whose values are declared. All tables are shown where
    there is neither --show nor --count.

    \b
    Example:
      privet marginals visits ward sex age_group --ways 2 --epsilon 1
      privet marginals visits ward sex age_group --epsilon 1 --show ward,sex --show ward
      privet marginals visits ward sex --subset ward,sex --subset ward --weight ward=5 --plan
      privet marginals visits ward sex age --ordered age=ranges --plan
      privet marginals visits ward age --ordered age=ranges --epsilon 1 --count ward=heart,age=18..64
    """
    asked: dict[str, Any] = {"ways": ways, "weights": _read_weights(weights), "ordered": _read_ordered(ordered), **cost}
    if subsets:
        asked["subsets"] = [_names(subset) for subset in subsets]

    level = 0.95 if confidence is None else confidence
    sets: list[list[str]] = []
    drawn: list[str] = []

    def shown(marginals: Marginals) -> list[CountTable]:
        counted = [_counted(marginals, spans, level)] if spans else []
        chosen = [_names(text) for text in show]
        if not chosen and not spans:
            chosen = [list(names) for names in marginals.asked]
        tables = [*counted, *(marginals.counts(*names, confidence=level) for names in chosen)]
        sets[:] = [[column.name for column in table.series if not column.noisy] for table in tables]
        drawn[:] = (chosen or [list(marginals.asked[0])])[0][:2]
        return tables

    def run(session: Session) -> Marginals:
        from privet.execution.counting import rehearsed_marginals

        rehearsed = rehearsed_marginals(session.plan_marginals(table, list(columns), **asked))
        shown(rehearsed)
        if plot is not None:
            check_place(plot, rehearsed.plot(*drawn))
        return session.marginals(table, list(columns), **asked, nonnegative=nonnegative, whole=whole, key=key)

    def planned(session: Session) -> tuple[Any, Plan]:
        plan = session.plan_marginals(table, list(columns), **asked)
        return plan, plan.counts.plan

    done = run_charged(run, planned, config=config, analyst=analyst, only_plan=only_plan, as_json=as_json)
    if done is None:
        return
    result, charge = done
    tables = shown(result)
    if plot is not None:
        result.plot(*drawn, path=plot)
    print_tables(result, tables, sets, charge, as_json=as_json)


def _names(text: str) -> list[str]:
    """Return the columns that a text lists; an empty text means none, which is all rows."""
    return [name.strip() for name in text.split(",")] if text.strip() else []


def _read_weights(written: tuple[str, ...]) -> dict[tuple[str, ...], Any] | None:
    from privet.core.errors import BadParameter
    from privet.core.numbers import written_decimal, written_whole

    weights: dict[tuple[str, ...], Any] = {}
    for text in written:
        names, sign, amount = text.rpartition("=")
        whole = written_whole(amount)
        value = whole if whole is not None else written_decimal(amount)
        if not sign or not names or value is None:
            raise BadParameter("weight", text, "columns and a number, such as ward,sex=3")
        if tuple(_names(names)) in weights:
            raise BadParameter("weight", text, "given once for each set of columns")
        weights[tuple(_names(names))] = value
    return weights or None


def _read_ordered(written: tuple[str, ...]) -> dict[str, str] | None:
    from privet.core.errors import BadParameter

    kinds: dict[str, str] = {}
    for text in written:
        name, sign, kind = text.rpartition("=")
        if not sign or not name.strip():
            raise BadParameter("ordered", text, "a column and what is asked of it, such as age=ranges or age=prefixes")
        if name.strip() in kinds:
            raise BadParameter("ordered", text, "given once for each column")
        kinds[name.strip()] = kind.strip()
    return kinds or None


def _counted(marginals: Marginals, asked: tuple[str, ...], level: Any) -> CountTable:
    """Return a table of single counts, with a column for each that any of them names."""
    from privet.answer import Series
    from privet.core.errors import BadParameter
    from privet.results.released_counts import ALL, COUNT, CountTable

    places = [_read_count(part, marginals) for part in asked]
    counts = []
    for text, (rows, _) in zip(asked, places, strict=True):
        try:
            counts.append(marginals.count(rows, confidence=level))
        except BadParameter as error:
            if error.parameter != "rows":
                raise
            raise BadParameter("count", text, error.allowed) from None
    names = [name for name in marginals.names if any(name in rows for rows, _ in places)]
    keys = [Series(name, tuple(words.get(name, ALL) for _, words in places)) for name in names]
    name = COUNT
    while name in names:
        name += "_"
    kind: Any = int if marginals.whole else float
    series = Series(
        name,
        tuple(kind(count.value) for count in counts),
        tuple(kind(count.low) for count in counts),
        tuple(kind(count.high) for count in counts),
        tuple(count.standard_error for count in counts),
        may_be_low=marginals.may_be_low,
    )
    plain = marginals.counts(confidence=level)
    return CountTable((*keys, series), plain.confidence, plain.notes)


def _read_count(asked: str, marginals: Marginals) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values and ranges of a count by column, and how these are written in a table."""
    from privet.core.errors import BadParameter

    rows: dict[str, Any] = {}
    words: dict[str, str] = {}
    if not asked.strip():
        return rows, words
    # declared values may have commas in them: only one with a column and = after it ends a value
    columns = "|".join(map(re.escape, sorted(marginals.names, key=len, reverse=True)))
    for part in re.split(rf",(?=\s*(?:{columns})\s*=)", asked):
        matched = re.fullmatch(rf"\s*({columns}|[^=]*?)\s*=\s*(.*?)\s*", part, re.DOTALL)
        name, text = matched.groups() if matched else ("", "")
        if not name or not text:
            raise BadParameter("count", asked, "column=value or column=low..high, with commas between")
        if name in rows:
            raise BadParameter("count", asked, "given once for each column")
        rows[name], words[name] = _read_place(name, text, marginals)
    return rows, words


def _read_place(name: str, text: str, marginals: Marginals) -> tuple[Any, str]:
    """Return a declared value of a column, or a range of them, and how it is written."""
    from privet.core.errors import BadParameter, UnknownName

    if name not in marginals.names:
        raise UnknownName("column", name, marginals.names)
    values = marginals.values[marginals.names.index(name)]
    known = {"NULL" if value is None else str(value): value for value in reversed(values)}
    known |= {str(value).lower(): value for value in values if isinstance(value, bool)}
    if text in known:
        return known[text], text
    low, sign, high = (part.strip() for part in text.partition(".."))
    if not sign:
        raise BadParameter("count", text, f"a declared value of {name}, or a range of them such as low..high")
    ends = tuple(None if not end else read_end(end) for end in (low, high))
    if any(end is None and written for end, written in zip(ends, (low, high), strict=True)):
        allowed = f"a declared value of {name}, or a range of numbers or dates, such as 18..64 or 2025-01-31.."
        raise BadParameter("count", text, allowed)
    return ends, f"{low or 'least'} to {high or 'largest'}"


def read_end(written: str) -> Any:
    """Return an end of a range as it is written, a number or a date; None for anything else."""
    from privet.core.numbers import written_decimal, written_whole

    whole = written_whole(written)
    value = whole if whole is not None else written_decimal(written)
    if value is not None:
        return value
    try:
        return datetime.date.fromisoformat(written)
    except ValueError:
        return None


def print_tables(
    found: ReleasedCounts, tables: list[CountTable], sets: list[list[str]], told: dict[str, Any], *, as_json: bool
) -> None:
    """Print tables of counts, their cost and the remaining budget."""
    if as_json:
        listed = [{"columns": names, "rows": list(counted)} for names, counted in zip(sets, tables, strict=True)]
        facts = {"digest": found.digest, "version": found.version, "cost": dict(found.price)}
        notes = list(tables[0].notes) if tables else []
        print_json({"tables": listed, "notes": notes, **facts, **told})
        return
    from privet.display import answer_columns

    for table in tables:
        keys, groups = answer_columns(table.series, table.confidence)
        print_columns(keys, groups, rows=len(table), most=None)
        print_text("")
    cost = cost_words(found.price)
    under = [("" if index else "notes", note) for index, note in enumerate(tables[0].notes if tables else ())]
    print_facts(
        [
            ("cost", cost if told["charged"] else f"nothing: it was answered before, for {cost}"),
            ("left", left_in_words(told)),
            *under,
        ]
    )
