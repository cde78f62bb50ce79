"""A question on the command line: its SQL from an argument, a file or standard input, and how it is to be answered."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .numbers import number, width
from .output import json_option
from .places import analyst_option, config_option

if TYPE_CHECKING:
    from privet.core.schema import Contribution
    from privet.ledger.bookkeeping import Bookkeeping
    from privet.session import Session

_LONGEST = 10**6
_TERMS = ("epsilon", "rho", "within", "confidence", "at_most", "bound", "other", "find_groups")

_OPTIONS = (
    click.argument("sql", required=False),
    click.option("--file", type=click.Path(path_type=Path), help="Read the SQL from a file."),
    click.option("--epsilon", type=number, help="What this answer may cost; a tenth of the budget if left out."),
    click.option("--rho", type=number, help="What it may cost, counted as rho."),
    click.option(
        "--within",
        type=width,
        metavar="WIDTH",
        help="How far off the answer may be, instead of what it may cost: 5, 2%, or by column: n=5,cost=2%.",
    ),
    click.option("--confidence", type=number, help="How often an interval holds; 0.95 if left out."),
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
        help="Scale down whoever gives more than is typical, or keep some of their groups and rows.",
    ),
    click.option(
        "--contribution", metavar="GROUPS,ROWS", help="What a person typically gives, instead of as declared."
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


more_argument = click.argument("more", nargs=-1, metavar="[SQL]...")


@dataclass(frozen=True)
class Opened:
    """A privet.toml at work: its session and its ledger."""

    session: Session
    ledger: Bookkeeping


def question_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with everything that a question needs; it gets what a session takes as one dict, `terms`."""

    @wraps(command)
    def gathered(*, contribution: str | None, **said: Any) -> Any:
        terms = {name: said.pop(name) for name in _TERMS if name in said}
        return command(**said, terms={**terms, "contribution": read_contribution(contribution)})

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


def read_sql(sql: str | None, file: Path | None) -> str:
    """Return the question: from the argument, from the file, or from standard input where the argument is -."""
    from privet.core.errors import RequestError

    if (sql is None) == (file is None):
        raise RequestError("give the question once: as an argument, with --file, or - to read standard input")
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


def read_several(sql: str | None, more: tuple[str, ...], file: Path | None, terms: dict[str, Any]) -> list[str]:
    """Return the questions: the one, or several arguments, which are one batch and one charge."""
    from privet.core.errors import RequestError

    if not more:
        return [read_sql(sql, file)]
    if file is not None or "-" in (sql, *more):
        raise RequestError("give several questions as arguments, and none with --file or from standard input")
    if terms["other"] is not None:
        raise RequestError("--other is for one question; ask that one by itself")
    if terms["find_groups"]:
        raise RequestError("--find-groups is for one question; of several, say OPTIONS(find_groups = TRUE) in each")
    return [read_sql(one, None) for one in (sql, *more)]


def read_contribution(text: str | None) -> Contribution | None:
    """Return what --contribution says: so many groups, and so many rows in each."""
    from privet.core.errors import BadParameter
    from privet.core.exact import written_whole
    from privet.core.schema import Contribution

    if text is None:
        return None
    groups, rows = (written_whole(part) for part in text.partition(",")[::2])
    if groups is None or rows is None:
        raise BadParameter("contribution", text, "two whole numbers, groups and rows in each, such as 3,2")
    return Contribution(groups=groups, rows=rows)


@contextmanager
def opened(config: Path, analyst: str | None) -> Iterator[Opened]:
    """Open what a privet.toml declares, for one of its analysts."""
    from privet.config.sessions import open as open_session
    from privet.core.errors import InvariantError
    from privet.ledger.bookkeeping import Bookkeeping

    with open_session(config, analyst) as session:
        ledger = session.ledger
        if not isinstance(ledger, Bookkeeping):
            raise InvariantError("a privet.toml was opened with a ledger that tells no balances")
        yield Opened(session, ledger)
