"""`privet ask`, `plan`, `clipping` and `practice`: a question on the command line, its price, and its answer."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privet.core.estimate import COVERS
from privet.display import cost_words, percent, printable, room

from .screen import (
    json_option,
    note_facts,
    number,
    print_answer,
    print_facts,
    print_json,
    print_table,
    print_text,
    screen,
    width,
    working,
)
from .targets import analyst_option, config_option

if TYPE_CHECKING:
    from privet.answer import Answer
    from privet.core.ports import LedgerAdmin
    from privet.core.schema import Contribution
    from privet.execution.request import AskOptions
    from privet.planner.batch import Batch
    from privet.planner.plan import Plan
    from privet.session import Session


# A question on the command line: its SQL from an argument, a file or standard input, and the options of its answer.


_LONGEST = 10**6
_TERMS = ("epsilon", "rho", "within", "confidence", "at_most", "bound", "other", "find_groups", "covers")
"""Options of a command that are options of a question, beside the contribution."""

_OPTIONS = (
    click.argument("sql", required=False),
    click.option("--file", type=click.Path(path_type=Path), help="Read the SQL from a file."),
    click.option("--epsilon", type=number, help="The most this answer may cost. [default: a tenth of the budget]"),
    click.option("--rho", type=number, help="The most this answer may cost, as rho."),
    click.option(
        "--within",
        type=width,
        metavar="WIDTH",
        help="Half-width to reach, instead of a cost: 5, 2%, or by column: n=5,cost=2%.",
    ),
    click.option("--confidence", type=number, help="Confidence level of the intervals. [default: 0.95]"),
    click.option(
        "--at-most",
        type=number,
        help="The most that --within may cost, where that depends on the data; a tenth of the budget if left out.",
    ),
    click.option(
        "--bound",
        type=click.Choice(["norm", "groups"]),
        default="norm",
        show_default=True,
        help="How to limit each person's contribution: `norm` scales it down, `groups` drops excess groups and rows.",
    ),
    click.option(
        "--contribution",
        metavar="GROUPS,ROWS",
        help="The groups and rows in each that nearly every person stays within; auto to choose a limit privately.",
    ),
    analyst_option,
    config_option,
    json_option,
)


other_option = click.option(
    "--other", metavar="NAME", help="One more group, of all rows whose group is too rare to be shown."
)

find_option = click.option(
    "--find-groups",
    is_flag=True,
    help="Find declared groups in the data as well, and show those that enough people are in. This costs delta.",
)


param_option = click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="[NAME=]VALUE",
    help="A value for :name, or for ? and $1 in their order: a number, true, false, null, or text.",
)


covers_option = click.option(
    "--covers",
    type=click.Choice(COVERS),
    default="noise",
    show_default=True,
    help="What intervals cover: the noise; also what bounding removes, up to most_rows; of quantiles, also sampling.",
)


more_argument = click.argument("more", nargs=-1, metavar="[SQL]...")


@dataclass(frozen=True)
class OpenedSession:
    """A privet.toml at work: its session and its ledger."""

    session: Session
    ledger: LedgerAdmin
    limit: float
    """The seconds that one scan may take."""


def question_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with all options of a question, which it receives as one value, `options`."""

    @wraps(command)
    def gathered(*, contribution: str | None, parameters: tuple[str, ...] = (), **said: Any) -> Any:
        from privet.execution.request import AskOptions

        terms = {name: said.pop(name) for name in _TERMS if name in said}
        terms["parameters"] = read_parameters(parameters)
        return command(**said, options=AskOptions(**terms, contribution=read_contribution(contribution)))

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


def read_sql(sql: str | None, file: Path | None) -> str:
    """Return the question: from the argument, from the file, or from standard input where the argument is -."""
    from privet.core.errors import RequestError

    if (sql is None) == (file is None):
        raise RequestError("pass the question once: as an argument, with --file, or as - to read standard input")
    try:
        if file is not None:
            with file.open(encoding="utf-8") as lines:
                text = lines.read(_LONGEST + 1)
        elif sql == "-":
            text = sys.stdin.read(_LONGEST + 1)
        else:
            text = sql or ""
    except OSError:
        raise RequestError(f"{str(file)!r} cannot be read; check the path") from None
    except UnicodeDecodeError:
        raise RequestError("the question is not text in UTF-8") from None
    if len(text) > _LONGEST:
        raise RequestError(f"the question is longer than {_LONGEST:,} characters")
    return text


def read_several(sql: str | None, more: tuple[str, ...], file: Path | None, options: AskOptions) -> list[str]:
    """Return the questions: the one, or several arguments, which are one batch and one charge."""
    from privet.core.errors import RequestError

    if not more:
        return [read_sql(sql, file)]
    if file is not None or "-" in (sql, *more):
        raise RequestError("pass several questions as arguments, not with --file or from standard input")
    if options.other is not None:
        raise RequestError("--other is for one question; ask that one by itself")
    if options.find_groups:
        raise RequestError(
            "--find-groups applies to one question; with several, write OPTIONS(find_groups = TRUE) in each"
        )
    if options.parameters is not None:
        raise RequestError("--param is for one question; ask that one by itself")
    if options.covers != "noise":
        raise RequestError("--covers is for one question; ask that one by itself")
    return [read_sql(question, None) for question in (sql, *more)]


def read_parameters(written: tuple[str, ...]) -> list[Any] | dict[str, Any] | None:
    """Return the values of --param: by their names, or in their order; '=a=b' is the text a=b without a name."""
    from privet.core.errors import RequestError

    if not written:
        return None
    pairs = [_PARAMETER.fullmatch(text) for text in written]
    names = [pair["name"] for pair in pairs if pair is not None and pair["name"]]
    values = [_parameter(text if pair is None else pair["value"]) for text, pair in zip(written, pairs, strict=True)]
    if not names:
        return values
    if len(names) < len(written) or len(set(names)) < len(names):
        raise RequestError("pass --param with a name for each value, each name once, or without names")
    return dict(zip(names, values, strict=True))


_PARAMETER = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)?=(?P<value>.*)", re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None}


def _parameter(text: str) -> Any:
    """Return a value as it is written: in quotes it is always text."""
    from privet.core.numbers import written_decimal, written_whole

    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    whole, decimal = written_whole(text), written_decimal(text)
    return whole if whole is not None else decimal if decimal is not None else text


def read_contribution(text: str | None) -> Contribution | None:
    """Return the groups of a person, and the rows in each, that --contribution names."""
    from privet.core.errors import BadParameter
    from privet.core.numbers import written_whole
    from privet.core.schema import AUTO, Contribution

    if text is None or text == "auto":
        return None if text is None else AUTO
    groups, rows = (written_whole(part) for part in text.partition(",")[::2])
    if groups is None or rows is None:
        raise BadParameter("contribution", text, "two whole numbers, groups and rows in each, such as 3,2, or auto")
    return Contribution(groups=groups, rows=rows)


@contextmanager
def opened(config: Path, analyst: str | None, *, plans: bool = False) -> Iterator[OpenedSession]:
    """Open the data set of a privet.toml for one of its analysts; for plans, neither its data nor a new ledger."""
    from privet.config import read_config, sessions
    from privet.core.errors import InvariantError
    from privet.core.ports import LedgerAdmin

    open_session = sessions.session_for_plans if plans else sessions.open
    with open_session(config, analyst) as session:
        ledger = session.ledger
        if not isinstance(ledger, LedgerAdmin):
            raise InvariantError("a privet.toml was opened with a ledger that reports no balances")
        yield OpenedSession(session, ledger, float(read_config(config).engine.timeout))


@contextmanager
def asking(place: OpenedSession) -> Iterator[None]:
    """Show for how long a question has been asked, the time limit, and the round, on a terminal."""
    from privet.execution.pace import reporting

    with working("asking", limit=place.limit) as waiting, reporting(waiting.step):
        yield


# `privet ask`: a private answer with error bars, its cost, the remaining budget, and what the error bars cover.


@click.command()
@question_options
@more_argument
@other_option
@find_option
@param_option
@covers_option
@click.option("--key", help="A name for this question: trying again with it after a failure is charged once.")
def ask_command(
    sql: str | None,
    more: tuple[str, ...],
    file: Path | None,
    analyst: str | None,
    config: Path,
    options: AskOptions,
    key: str | None,
    as_json: bool,
) -> None:
    """Ask a question in SQL. It is charged to the ledger before a row is read; the same question again is free.

    SQL is the question itself, or - to read it from standard input. Several questions are one charge, for all of them.

    \b
    Example:
      privet ask "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --epsilon 0.5
      privet ask "SELECT ward, COUNT(*) FROM visits GROUP BY ward" --within 50 --confidence 0.99
      privet ask "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --within 2% --at-most 0.5
      privet ask "SELECT COUNT(*) FROM visits" "SELECT SUM(cost) FROM visits" --epsilon 0.5
      privet ask --file question.sql --analyst ana --json
    """
    texts = read_several(sql, more, file, options)
    with opened(config, analyst) as place:
        before = place.ledger.head()
        if more:
            _ask_several(texts, place, options, key=key, as_json=as_json)
            return
        with asking(place):
            answer = place.session.ask(texts[0], **options.keywords(), key=key)
        charge = _told(answer, place, before)
    if as_json:
        print_json({**json.loads(answer.to_json()), **charge})
        return
    print_answer(answer)
    print_text("")
    print_facts(_facts(answer, charge))


def _ask_several(
    texts: list[str], place: OpenedSession, options: AskOptions, *, key: str | None, as_json: bool
) -> None:
    """Ask several questions for one charge, and print one answer after the other."""
    before = place.ledger.head()
    with asking(place):
        batch = place.session.plan_all(texts, **options.keywords())
        answers = place.session.run_all(batch, confidence=options.confidence, key=key)
    charge = _told(answers[0], place, before)
    if as_json:
        print_json([{**json.loads(answer.to_json()), **charge} for answer in answers])
        return
    for index, answer in enumerate(answers):
        print_text(f"Question {index + 1}", style="bold")
        print_answer(answer)
        print_text("")
    paid, left, *_ = _facts(answers[0], charge, batch.cost())
    covered = [answer.notes[0] for answer in answers]
    every = dict.fromkeys([*covered, *(note for answer in answers for note in answer.notes)])
    notes = [("" if index else "notes", note) for index, note in enumerate(every)]
    shared = [("" if index else "shared", gain.words()) for index, gain in enumerate(batch.gains)]
    print_facts([paid, left, *shared, *notes])


def _told(answer: Answer, place: OpenedSession, before: str) -> dict[str, Any]:
    balance = place.ledger.balances()
    own = next((entry for entry in balance if entry.account == place.session.account), balance[0])
    return {
        "charged": answer.receipt.entry > int(before.partition(":")[0]),
        "left": {name: own.to_dict()[name] for name in ("largest_epsilon", "largest_rho", "spent_share", "keys_delta")},
        "head": place.ledger.head(),
    }


def _facts(answer: Answer, charge: dict[str, Any], price: dict[str, float] | None = None) -> list[tuple[str, str]]:
    cost = cost_words(answer.certificate()["cost"] if price is None else price)
    entries = (
        [answer.receipt.entry] if answer.accuracy is None else [receipt.entry for receipt in answer.accuracy.receipts]
    )
    named = f"{'entry' if len(entries) == 1 else 'entries'} {', '.join(map(str, entries))}"
    paid = f"{cost or 'nothing'}, {named} of the ledger"
    again = f"nothing: it was answered before, and paid for in {named}"
    more = room(charge["left"]["largest_epsilon"], charge["left"]["largest_rho"])
    spent = percent(charge["left"]["spent_share"])
    return [
        ("cost", paid if charge["charged"] else again),
        ("left", f"{more} for one more question; {spent} of the budget is spent"),
        *note_facts(answer),
    ]


# `privet plan`: the price of a question and the width of its answer. Free, and reads no data.


@click.command()
@question_options
@more_argument
@other_option
@find_option
@param_option
@covers_option
def plan_command(
    sql: str | None,
    more: tuple[str, ...],
    file: Path | None,
    analyst: str | None,
    config: Path,
    options: AskOptions,
    as_json: bool,
) -> None:
    """Tell what a question would cost, what noise it would get and whether it fits. Free; reads no data.

    SQL is the question itself, or - to read it from standard input. Several questions are planned for one charge.

    \b
    Example:
      privet plan "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --epsilon 0.5
      privet plan "SELECT ward, COUNT(*) FROM visits GROUP BY ward" --within 50
      privet plan "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --within 2% --at-most 0.5
    """
    from privet.core.errors import RequestError
    from privet.core.event import Composed

    texts = read_several(sql, more, file, options)
    if options.confidence is not None and options.within is None:
        raise RequestError(
            "--confidence goes with --within here: a plan shows widths at 0.95; privet ask takes it for its intervals"
        )
    with opened(config, analyst, plans=True) as place:
        if more:
            _plan_several(texts, place, options, as_json=as_json)
            return
        plan = place.session.plan(texts[0], **options.keywords())
        account = place.session.account
        rounds = [plan] if plan.rounds == 1 else [plan.round(index) for index in range(plan.rounds)]
        waiting = [part for part in rounds if place.ledger.find(part.digest, account) is None]
        answered = not waiting or _answered(plan, place)
        event = Composed(tuple(event for part in waiting for event in part.event.events))
        fits = answered or place.ledger.admits(event, account=account)
    if as_json:
        print_json({**plan.to_dict(), "answered": answered, "fits": fits})
        return
    _print(plan, "answered before: asking again is free" if answered else _FITS[fits])


_FITS = {True: "fits what is left of the budget", False: "does not fit what is left of the budget"}


def _answered(asked: Plan | Batch, place: OpenedSession) -> bool:
    """Return whether the whole answer is stored, as this or an earlier edition of the planner released it."""
    from privet.planner.batch import digests_of

    account = place.session.account
    return any(
        all(place.ledger.find(digest, account) is not None for digest in digests) for digests in digests_of(asked)
    )


def _plan_several(texts: list[str], place: OpenedSession, options: AskOptions, *, as_json: bool) -> None:
    """Print what several questions cost together, and how wide each answer would be."""
    batch = place.session.plan_all(texts, **options.keywords())
    account = place.session.account
    answered = _answered(batch, place)
    fits = answered or place.ledger.admits(batch.event, account=account)
    if as_json:
        shared = {"shared": [gain.facts() for gain in batch.gains]} if batch.gains else {}
        together = {"digest": batch.digest, "cost": batch.cost(), **shared}
        facts = {"together": together, "answered": answered, "fits": fits}
        print_json([{**plan.to_dict(), **facts} for plan in batch.plans])
        return
    for line in batch.explain().splitlines():
        print_text(printable(line))
    print_text("")
    print_facts([("now", "answered before: asking again is free" if answered else _FITS[fits])])
    for index, plan in enumerate(batch.plans):
        print_text("")
        print_text(f"Question {index + 1}", style="bold")
        _print_widths(plan)


def _print(plan: Plan, fits: str) -> None:
    for line in plan.explain().splitlines():
        print_text(printable(line))
    print_text("")
    print_facts([("now", fits)])
    print_text("")
    _print_widths(plan)


def _print_widths(plan: Plan) -> None:
    from privet.planner.accuracy import heading, widths
    from privet.planner.groupings import levels_in

    rows = [
        (printable(f"{bound.column} {level}".rstrip()), bound.words().replace("; ", "\n"))
        for level, part in levels_in(plan)
        for bound in widths(part)
    ]
    heads = ("column", "95% of the noise within" if plan.rounds == 1 else heading(plan))
    print_table(heads, rows)


# `privet tables`: the tables that may be asked about, and example questions.


@click.command()
@click.argument("name", required=False)
@analyst_option
@config_option
@json_option
def tables_command(name: str | None, analyst: str | None, config: Path, as_json: bool) -> None:
    """List the tables that may be asked about, with columns, bounds, groups and example questions. Reads no data.

    NAME is one table or view; without it, all are described.

    \b
    Example:
      privet tables
      privet tables visits
    """
    with opened(config, analyst, plans=True) as place:
        names = list(place.session.tables) if name is None else [name]
        tables = [place.session.describe(table) for table in names]
    if as_json:
        print_json({"tables": [table.to_dict() for table in tables]})
        return
    for index, described in enumerate(tables):
        if index:
            print_text("")
        described.draw(screen())


# `privet clipping`: the losses by clamping and contribution bounding, and advice on better bounds. Charged.


@click.command()
@question_options
@click.option("--key", help="A name for this: trying again with it after a failure is charged once.")
def clipping_command(
    sql: str | None,
    file: Path | None,
    analyst: str | None,
    config: Path,
    options: AskOptions,
    key: str | None,
    as_json: bool,
) -> None:
    """Estimate privately what clamping and contribution bounding remove from an answer. Charged like a question.

    SQL is the question itself, or - to read it from standard input. Its own answer is not released.

    \b
    Example:
      privet clipping "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --epsilon 0.2
      privet clipping "SELECT SUM(LEAST(cost, 500)) FROM visits" --epsilon 0.2
    """
    from privet.core.errors import RequestError

    if options.within is not None or options.at_most is not None:
        raise RequestError("this has no width to ask for: omit --within and --at-most, and pass --epsilon or --rho")
    text = read_sql(sql, file)
    with opened(config, analyst) as place, asking(place):
        report = place.session.clipping(text, **options.keywords(), key=key)
    if as_json:
        print_json(report.to_dict())
        return
    for line in report.lines():
        print_text(printable(line))
    print_text("")
    cost = f"{cost_words(report.cost) or 'nothing'}, entry {report.receipt.entry} of the ledger"
    print_facts(
        [
            ("cost", cost),
            ("notes", f"Each interval covers the added noise with probability {report.confidence:.3g}."),
        ]
    )


# `privet practice`: ask made-up rows that fit a privet.toml, at no cost and without the data.


MADE_UP = "made up: these numbers describe no real person"


@click.command()
@question_options
@param_option
@other_option
def practice_command(
    sql: str | None,
    file: Path | None,
    analyst: str | None,
    config: Path,
    options: AskOptions,
    as_json: bool,
) -> None:
    """Ask a question of made-up rows, to try it out. Opens neither the data nor the ledger; nothing is charged.

    The rows are made from what the file declares, and from nothing else. SQL is the question itself, or - to read it
    from standard input.

    \b
    Example:
      privet practice "SELECT ward, AVG(cost) FROM visits GROUP BY ward" --epsilon 0.5
    """
    from privet.config.sessions import practice

    text = read_sql(sql, file)
    with working("making up rows"), practice(config, analyst) as session:
        answer = session.ask(text, **options.keywords())
    if as_json:
        print_json({"data": MADE_UP, **json.loads(answer.to_json())})
        return
    print_text(f"Practice, {MADE_UP}.", style="bold")
    print_text("")
    print_answer(answer)
    print_text("")
    facts = [("data", MADE_UP), ("cost", "nothing: practice has a budget to throw away")]
    print_facts([*facts, *note_facts(answer)])
