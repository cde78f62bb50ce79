"""`privet test`: hypotheses about private tables, one command for each kind; charged first, and again for free."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from .asking import read_contribution
from .one_charge import (
    bound_option,
    charge_options,
    print_charged,
    rows_of,
    run_charged,
    where_option,
    with_options,
)
from .screen import counting_number, json_option, number, print_json, print_text

if TYPE_CHECKING:
    from privet.inference.finding import FamilyOfFindings, Finding
    from privet.inference.table_tests import Method
    from privet.planner.batch import Batch
    from privet.planner.plan import Plan
    from privet.session import Session
    from privet.study import Hypothesis

_OPTIONS = charge_options(
    where_option,
    bound_option("With --contribution: `norm` scales contributions down, `groups` drops excess groups and rows."),
    click.option(
        "--contribution",
        metavar="GROUPS,ROWS",
        help="What a person may contribute. [default: each person counts once]",
    ),
    costs="the test costs",
    plot="Draw the estimates into this file: .png, .svg, .pdf.",
    plan="Show the question and the price only. Free; reads no data.",
)


_SHARED = frozenset(str(option.name) for option in vars(with_options(lambda: None, _OPTIONS))["__click_params__"])
"""Names of the options that all tests have."""


def tests_table(made: Callable[..., tuple[str, Hypothesis]]) -> Callable[..., None]:
    """Return a command that tests a table and a hypothesis, which a function makes of the command's own arguments."""

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

        def run(session: Session) -> Finding:
            rows = rows_of(session, table, where)
            return session.test(rows, hypothesis, **cost, confidence=confidence, key=key)

        def planned(session: Session) -> tuple[Any, Plan]:
            plan = session.plan_test(rows_of(session, table, where), hypothesis, **cost)
            return plan, plan.plan

        done = run_charged(run, planned, config=config, analyst=analyst, only_plan=only_plan, as_json=as_json)
        if done is None:
            return
        result, charge = done
        if plot is not None:
            result.plot(plot)
        if as_json:
            print_json({**result.to_dict(), **charge})
        else:
            print_charged((result,), result.cost, charge)

    tested: Any = with_options(command, _OPTIONS)
    tested.made = made
    return tested  # type: ignore[no-any-return]


_method_option = click.option(
    "--method",
    type=click.Choice(["auto", "projected", "projected-simulated", "pearson-simulated", "naive"]),
    default="auto",
    show_default=True,
    help="How to test; `naive` shows the result of the usual test, which is wrong here.",
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

    expected: dict[str, Any] = {}
    for text in shares:
        value, sign, share = text.rpartition("=")
        amount = written_ratio(share)
        if not sign or not value or amount is None:
            raise BadParameter("share", text, "a value and its share, such as emergency=0.5")
        expected[value] = amount
    return table, GoodnessOfFit(column, expected, method=method)


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
@click.option("--delta", type=number, help="With --people: truncate the noise, at this probability of a larger loss.")
@tests_table
def proportion_command(
    table: str, condition: str, equals: Any, alternative: Any, within: Any, people: int | None, delta: Any
) -> tuple[str, Hypothesis]:
    """Test the share of people who meet a condition.

    \b
    Example:
      privet test proportion visits "age > 65" --equals 0.3 --epsilon 0.5
    """
    from privet.study import Proportion

    facts = {"equals": equals, "alternative": alternative, "within": within or None, "people": people, "delta": delta}
    return table, Proportion(condition, **facts)


@command.command("proportions")
@click.argument("table")
@click.argument("condition")
@click.option("--by", required=True, help="The column of the groups.")
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


@command.command("family")
@click.argument("table")
@click.option(
    "--test",
    "tests",
    multiple=True,
    required=True,
    metavar="TEST",
    help="A test without its table, such as 'mean age --equals 40'; one for each hypothesis.",
)
@click.option(
    "--method",
    type=click.Choice(["holm", "benjamini-yekutieli", "spending"]),
    default="holm",
    show_default=True,
    help="Bound the chance of any false rejection, or the expected share of them; `spending`: wherever you stop.",
)
@click.option("--level", type=number, default="0.05", show_default=True, help="The error level of all tests together.")
@click.option("--weight", multiple=True, type=counting_number, help="Shares of the cost, in order.")
@click.option(
    "--share", multiple=True, type=number, help="With `spending`: shares of the level. [default: 1/2, 1/4, ...]"
)
@partial(
    with_options,
    options=charge_options(
        where_option,
        costs="all tests cost together",
        plan="Show the questions and the price only. Free; reads no data.",
    ),
)
def family_command(
    table: str,
    tests: tuple[str, ...],
    method: Any,
    level: Any,
    weight: tuple[int, ...],
    share: tuple[Any, ...],
    epsilon: Any,
    rho: Any,
    where: str | None,
    confidence: Any,
    only_plan: bool,
    key: str | None,
    analyst: str | None,
    config: Path,
    as_json: bool,
) -> None:
    """Test several hypotheses at one price and one error level.

    \b
    Example:
      privet test family visits --test 'proportion "age > 65" --equals 0.3' --test 'mean age --equals 40' --epsilon 1
    """
    from privet.execution.request import AskOptions
    from privet.study.hypothesis import Family, plan_family

    hypotheses = tuple(_hypothesis(test, table) for test in tests)
    family = Family(hypotheses, method=method, level=level, weights=weight or None, shares=share or None)

    def run(session: Session) -> FamilyOfFindings:
        rows = rows_of(session, table, where)
        return session.test_all(rows, family, epsilon=epsilon, rho=rho, confidence=confidence, key=key)

    def planned(session: Session) -> tuple[Any, Batch]:
        options = AskOptions(epsilon=epsilon, rho=rho)
        batch = plan_family(family, rows_of(session, table, where), session._catalog, options)
        return batch, batch

    done = run_charged(run, planned, config=config, analyst=analyst, only_plan=only_plan, as_json=as_json)
    if done is None:
        return
    result, charge = done
    if as_json:
        print_json({**result.to_dict(), **charge})
    else:
        print_charged((result,), result.cost, charge)


def _hypothesis(text: str, table: str) -> Hypothesis:
    """Return the hypothesis of a test that is written as its command is, without the table."""
    from privet.core.errors import BadParameter, RequestError

    try:
        name, *words = shlex.split(text)
    except ValueError:
        raise BadParameter("test", text, "a test as it is written by itself, such as 'mean age --equals 40'") from None
    made = getattr(getattr(command.commands.get(name), "callback", None), "made", None)
    if made is None:
        known = ", ".join(sorted(label for label, each in command.commands.items() if hasattr(each.callback, "made")))
        raise BadParameter("test", text, f"a test as it is written by itself, which begins with one of {known}")
    try:
        context = command.commands[name].make_context(name, [table, *words])
    except click.ClickException as error:
        raise RequestError(f"in --test {text!r}: {error.format_message()}") from None
    own = {parameter.name for parameter in command.commands[name].params} - _SHARED
    given = [
        key
        for key in context.params
        if key in _SHARED and context.get_parameter_source(key) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise RequestError(f"in --test {text!r}: --{given[0].replace('_', '-')} is one for the whole family")
    hypothesis: Hypothesis = made(**{key: context.params[key] for key in own if key is not None})[1]
    return hypothesis


@command.command("needed")
@click.option("--equals", type=number, required=True, help="The share under the hypothesis.")
@click.option("--when", type=number, required=True, help="The share that the test should detect.")
@click.option("--epsilon", type=number, help="Find the number of people for this epsilon.")
@click.option("--people", type=counting_number, help="Find the epsilon for this many people.")
@click.option("--delta", type=number, default="0", show_default=True, help="The delta of the release.")
@click.option("--power", type=number, default="0.8", show_default=True, help="The probability of detecting it.")
@click.option(
    "--level", type=number, default="0.05", show_default=True, help="How often a true hypothesis is rejected."
)
@click.option(
    "--groups",
    type=click.Choice(["1", "2"]),
    default="1",
    show_default=True,
    help="2: the people of each of two groups, whose shares are --when and --equals.",
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

    amount = needed(**{**facts, "groups": int(facts["groups"])})
    what = "people" if facts["people"] is None else "epsilon"
    if as_json:
        print_json({what: amount})
    else:
        print_text(f"{what}: {amount:,}" if what == "people" else f"{what}: {amount:g}")
