"""`privet test`: hypotheses about private tables, each a command of its own; charged first, and again for free."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privet.display import cost_words, percent, printable, room

from .asking import asking, opened, read_contribution
from .marginals import print_plan, told_of
from .screen import counting_number, json_option, number, print_facts, print_json, print_text
from .targets import analyst_option, config_option

if TYPE_CHECKING:
    from privet.inference.table_tests import Method
    from privet.query.frame import Frame
    from privet.study import Hypothesis

_OPTIONS = (
    click.option("--epsilon", type=number, help="What the test costs. [default: a tenth of the budget]"),
    click.option("--rho", type=number, help="What the test costs, as rho."),
    click.option("--where", help='Test the rows that meet this condition only, such as "age >= 18".'),
    click.option(
        "--bound",
        type=click.Choice(["norm", "groups"]),
        default="norm",
        show_default=True,
        help="With --contribution: `norm` scales contributions down, `groups` drops excess groups and rows.",
    ),
    click.option(
        "--contribution",
        metavar="GROUPS,ROWS",
        help="What a person may contribute. [default: each person counts once]",
    ),
    click.option("--confidence", type=number, help="Confidence level of the intervals. [default: 0.95]"),
    click.option(
        "--plot", type=click.Path(path_type=Path), help="Draw the estimates into this file: .png, .svg, .pdf."
    ),
    click.option(
        "--plan", "only_plan", is_flag=True, help="Show the question and the price only. Free; reads no data."
    ),
    click.option("--key", help="A name for this: trying again with it after a failure is charged once."),
    analyst_option,
    config_option,
    json_option,
)


def tests_table(made: Callable[..., tuple[str, Hypothesis]]) -> Callable[..., None]:
    """Return a command that tests what a function makes of its own arguments: a table's name and a hypothesis."""

    @wraps(made)
    def command(
        *,
        epsilon: Any,
        rho: Any,
        where: str | None,
        bound: str,
        contribution: str | None,
        confidence: Any,
        plot: Path | None,
        only_plan: bool,
        key: str | None,
        analyst: str | None,
        config: Path,
        as_json: bool,
        **own: Any,
    ) -> None:
        table, hypothesis = made(**own)
        cost: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "bound": bound}
        cost["contribution"] = read_contribution(contribution)
        with opened(config, analyst, plans=only_plan) as place:
            session: Any = place.session
            rows = session.table(table) if where is None else _rows_where(session, table, where)
            if only_plan:
                plan = session.plan_test(rows, hypothesis, **cost)
                print_plan(plan, plan.plan, place, as_json=as_json)
                return
            before = place.ledger.head()
            with asking(place):
                found = session.test(rows, hypothesis, **cost, confidence=confidence, key=key)
            told = told_of(place, before)
        if plot is not None:
            found.plot(plot)
        if as_json:
            print_json({**found.to_dict(), **told})
            return
        for line in repr(found).splitlines():
            print_text(printable(line))
        more = room(told["left"]["largest_epsilon"], told["left"]["largest_rho"])
        paid = "" if told["charged"] else "nothing now: it was answered before, for " + cost_words(found.cost)
        left = f"{more} for one more question; {percent(told['left']['spent_share'])} of the budget is spent"
        print_facts([*([("charged", paid)] if paid else []), ("left", left)])

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _rows_where(session: Any, table: str, where: str) -> Frame:
    """Return the rows of a table that meet a condition in SQL."""
    from privet.query.frame import Frame
    from privet.query.sql.parse import parse_view

    session.table(table)  # refuses what is no table by name
    named = table if "." in table else '"' + table.replace('"', '""') + '"'
    known = session._catalog
    return Frame(parse_view(f"SELECT * FROM {named} WHERE ({where})", known.schemas, known.views, schema=known.schema))


_method_option = click.option(
    "--method",
    type=click.Choice(["auto", "projected", "projected-simulated", "pearson-simulated", "naive"]),
    default="auto",
    show_default=True,
    help="How to test; `naive` shows what the usual test would say, which is wrong.",
)


@click.group("test")
def command() -> None:
    """Test hypotheses about private tables, with p-values and intervals that hold under the noise.

    \b
    Example:
      privet test fit visits ward --share emergency=0.5 --share surgery=0.3 --share maternity=0.2 --epsilon 0.5
    """


@command.command("fit")
@click.argument("table")
@click.argument("column")
@click.option(
    "--share", "shares", multiple=True, required=True, metavar="VALUE=SHARE", help="The share of a value; one for each."
)
@_method_option
@tests_table
def fit_command(table: str, column: str, shares: tuple[str, ...], method: Method) -> tuple[str, Hypothesis]:
    """Test whether the values of a column have these shares.

    \b
    Example:
      privet test fit visits ward --share emergency=0.5 --share surgery=0.3 --share maternity=0.2 --epsilon 0.5
    """
    from privet.core.errors import BadParameter
    from privet.core.numbers import written_ratio
    from privet.study import GoodnessOfFit

    found: dict[str, Any] = {}
    for one in shares:
        value, sign, share = one.rpartition("=")
        amount = written_ratio(share)
        if not sign or not value or amount is None:
            raise BadParameter("share", one, "a value and its share, such as emergency=0.5")
        found[value] = amount
    return table, GoodnessOfFit(column, found, method=method)


@command.command("independence")
@click.argument("table")
@click.argument("first")
@click.argument("second")
@_method_option
@tests_table
def independence_command(table: str, first: str, second: str, method: Method) -> tuple[str, Hypothesis]:
    """Test whether two columns are independent of each other.

    \b
    Example:
      privet test independence visits ward sex --epsilon 0.5
    """
    from privet.study import Independence

    return table, Independence(first, second, method=method)


@command.command("proportions-equal")
@click.argument("table")
@click.argument("column")
@click.option("--value", required=True, help="The value whose share is compared.")
@click.option("--by", required=True, help="The column of the groups.")
@_method_option
@tests_table
def proportions_equal_command(table: str, column: str, value: str, by: str, method: Method) -> tuple[str, Hypothesis]:
    """Test whether the share of a value is the same in each group.

    \b
    Example:
      privet test proportions-equal visits sex --value f --by ward --epsilon 0.5
    """
    from privet.study import EqualProportions

    return table, EqualProportions(column, value, by=by, method=method)


@command.command("ranks")
@click.argument("table")
@click.argument("column")
@click.option("--by", required=True, help="The column of the groups.")
@click.option("--groups", metavar="FIRST,SECOND", help="The two groups. [default: both, where there are two]")
@click.option("--width", type=number, help="The width of the bins, whose values are ties. [default: each value alone]")
@tests_table
def ranks_command(table: str, column: str, by: str, groups: str | None, width: Any) -> tuple[str, Hypothesis]:
    """Test whether values of a column are as large in one group as in another.

    \b
    Example:
      privet test ranks visits age --by ward --groups emergency,surgery --width 10 --epsilon 0.5
    """
    from privet.core.errors import BadParameter
    from privet.study import SameRanks

    first, comma, second = (groups or "").partition(",")
    if groups is not None and (not comma or not first or not second):
        raise BadParameter("groups", groups, "two groups with a comma between them, such as emergency,surgery")
    return table, SameRanks(column, by=by, groups=None if groups is None else (first, second), width=width)


_SIDES = (
    click.option(
        "--alternative",
        type=click.Choice(["two-sided", "greater", "less"]),
        default="two-sided",
        show_default=True,
        help="Which deviations are evidence: both ways, or only a larger or a smaller (first) mean.",
    ),
    click.option("--margin", type=number, help="Test for equivalence: that the difference is smaller than this."),
)


def _sided(command: Any) -> Any:
    for option in reversed(_SIDES):
        command = option(command)
    return command


@command.command("mean")
@click.argument("table")
@click.argument("column")
@click.option("--equals", type=number, required=True, help="The mean under the hypothesis.")
@_sided
@tests_table
def mean_command(table: str, column: str, equals: Any, alternative: Any, margin: Any) -> tuple[str, Hypothesis]:
    """Test whether the mean of a column has a value.

    \b
    Example:
      privet test mean visits age --equals 40 --epsilon 0.5
    """
    from privet.study import MeanTest

    return table, MeanTest(column, equals, alternative=alternative, margin=margin)


@command.command("means")
@click.argument("table")
@click.argument("column")
@click.option("--by", required=True, help="The column whose values are the groups.")
@click.option("--group", "groups", multiple=True, help="A group; name two or more. [default: all]")
@_sided
@tests_table
def means_command(
    table: str, column: str, by: str, groups: tuple[str, ...], alternative: Any, margin: Any
) -> tuple[str, Hypothesis]:
    """Test whether the means of a column are equal in all groups: two of them, or several.

    \b
    Example:
      privet test means visits age --by ward --group emergency --group surgery --epsilon 0.5
    """
    from privet.study import MeansTest

    return table, MeansTest(column, by, groups=groups or None, alternative=alternative, margin=margin)


@command.command("paired")
@click.argument("table")
@click.argument("first")
@click.argument("second")
@click.option("--column", help="The column of numbers, where FIRST and SECOND are values of another.")
@click.option("--by", help="The column that FIRST and SECOND are values of.")
@_sided
@tests_table
def paired_command(
    table: str, first: str, second: str, column: str | None, by: str | None, alternative: Any, margin: Any
) -> tuple[str, Hypothesis]:
    """Test whether two numbers of each person differ on average: two columns, or one column at two values of another.

    \b
    Example:
      privet test paired visits emergency surgery --column age --by ward --epsilon 0.5
    """
    from privet.study import PairedTest

    return table, PairedTest(first, second, column=column, by=by, alternative=alternative, margin=margin)


_alternative = click.option(
    "--alternative",
    type=click.Choice(["two-sided", "greater", "less"]),
    default="two-sided",
    show_default=True,
    help="What speaks against the hypothesis: any difference, or more, or less only.",
)
_within = click.option(
    "--within",
    nargs=2,
    type=number,
    metavar="LOW HIGH",
    help="Test instead whether it lies between these (equivalence).",
)


@command.command("proportion")
@click.argument("table")
@click.argument("condition")
@click.option("--equals", type=number, help="The share under the hypothesis.")
@_alternative
@_within
@click.option("--people", type=counting_number, help="How many people there are, if that is public.")
@tests_table
def proportion_command(
    table: str, condition: str, equals: Any, alternative: Any, within: Any, people: int | None
) -> tuple[str, Hypothesis]:
    """Test the share of people who meet a condition.

    \b
    Example:
      privet test proportion visits "age > 65" --equals 0.3 --epsilon 0.5
    """
    from privet.study import Proportion

    return table, Proportion(condition, equals=equals, alternative=alternative, within=within or None, people=people)


@command.command("proportions")
@click.argument("table")
@click.argument("condition")
@click.option("--by", required=True, help="The column that tells the groups apart.")
@click.option("--first", required=True, help="The first group.")
@click.option("--second", required=True, help="The second group.")
@click.option("--equals", type=number, default="0", show_default=True, help="The difference, first less second.")
@_alternative
@_within
@tests_table
def proportions_command(
    table: str, condition: str, by: str, first: str, second: str, equals: Any, alternative: Any, within: Any
) -> tuple[str, Hypothesis]:
    """Test whether two groups have the same share of people who meet a condition.

    \b
    Example:
      privet test proportions visits "age > 65" --by ward --first surgery --second emergency --epsilon 0.5
    """
    from privet.study import TwoProportions

    groups = (first, second)
    facts: Any = {"equals": equals, "alternative": alternative, "within": within or None}
    return table, TwoProportions(condition, by=by, groups=groups, **facts)


@command.command("needed")
@click.option("--equals", type=number, required=True, help="The share under the hypothesis.")
@click.option("--when", type=number, required=True, help="The share that the test should tell from it.")
@click.option("--epsilon", type=number, help="Find the number of people for this epsilon.")
@click.option("--people", type=counting_number, help="Find the epsilon for this many people.")
@click.option("--delta", type=number, default="0", show_default=True, help="The delta of the release.")
@click.option("--power", type=number, default="0.8", show_default=True, help="How probably it should be told.")
@click.option(
    "--level", type=number, default="0.05", show_default=True, help="How often a true hypothesis is rejected."
)
@_alternative
@json_option
def needed_command(as_json: bool, **facts: Any) -> None:
    """Say how many people, or how much epsilon, a test of a share needs. Reads nothing.

    \b
    Example:
      privet test needed --equals 0.3 --when 0.35 --epsilon 0.5
    """
    from privet.inference import needed

    found = needed(**facts)
    what = "people" if facts["people"] is None else "epsilon"
    if as_json:
        print_json({what: found})
    else:
        print_text(f"{what}: {found:,}" if what == "people" else f"{what}: {found:g}")
