"""`privet demo`: questions about a made-up hospital, with honest error bars, under a budget that runs out.

The data are made up, so the truth may be shown beside what is released. Nobody else may see it.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .output import json_option, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from privet.answer import Answer
    from privet.session import Session

EPSILON, DELTA = 3, Fraction(1, 10**7)


@dataclass(frozen=True)
class Question:
    """What is asked, what it shows, what it may cost, and the query that tells the made-up truth."""

    shows: str
    sql: str
    epsilon: Fraction
    truth: str


QUESTIONS = (
    Question(
        "Each patient counts, not each visit",
        "SELECT COUNT(DISTINCT patient_id) AS patients, COUNT(*) AS visits FROM visits",
        Fraction(1, 4),
        "SELECT COUNT(DISTINCT patient_id), COUNT(*) FROM visits",
    ),
    Question(
        "Averages by group, for groups that are public",
        "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward ORDER BY ward",
        Fraction(1, 2),
        "SELECT ward, COUNT(*), AVG(least(cost, 2000)) FROM visits GROUP BY ward ORDER BY ward",
    ),
    Question(
        "Groups that nobody declared: rare ones, which could point at a person, do not show",
        "SELECT diagnosis, COUNT(DISTINCT patient_id) AS patients FROM visits GROUP BY diagnosis ORDER BY diagnosis",
        Fraction(1, 2),
        "SELECT diagnosis, COUNT(DISTINCT patient_id) FROM visits GROUP BY diagnosis ORDER BY diagnosis",
    ),
    Question(
        "Arithmetic on released numbers is free, and keeps its error bars",
        "SELECT SUM(cost) / COUNT(DISTINCT patient_id) AS cost_per_patient FROM visits WHERE age >= 65",
        Fraction(1, 2),
        "SELECT SUM(least(cost, 2000)) / COUNT(DISTINCT patient_id) FROM visits WHERE age >= 65",
    ),
)


@click.command()
@json_option
def command(as_json: bool) -> None:
    """See questions about a made-up hospital answered, refused and repeated for free."""
    with tempfile.TemporaryDirectory(prefix="privet-demo-") as name:
        folder = Path(name)
        if as_json:
            print_json(_answers(folder))
        else:
            _show(folder)


def _open(folder: Path) -> tuple[Session, Path]:
    from privet.core.budget import Approximate
    from privet.session import Session

    from .hospital import declare, make_visits

    path = make_visits(folder)
    return Session({"visits": declare(path)}, budget=Approximate(epsilon=Fraction(EPSILON), delta=DELTA)), path


def _answers(folder: Path) -> dict[str, Any]:
    session, _ = _open(folder)
    with session:
        answers = [session.ask(question.sql, epsilon=question.epsilon) for question in QUESTIONS]
        left = session.remaining().largest_epsilon
    return {
        "data": "made up",
        "answers": [{"sql": q.sql, "rows": list(a)} for q, a in zip(QUESTIONS, answers, strict=True)],
        "largest_epsilon_left": left,
    }


def _show(folder: Path) -> None:
    from rich.console import Console

    from .hospital import PATIENTS, VISITS

    console = Console(highlight=False, soft_wrap=True)
    session, path = _open(folder)
    with session:
        console.print(f"A made-up hospital: {VISITS:,} visits by up to {PATIENTS:,} patients, in one Parquet file.")
        console.print(f"Protected: all visits of each patient. Budget: epsilon {EPSILON}, delta 1e-07.")
        console.print(
            "Each number comes with the half-width of its 95% interval; the truth is shown because it is fake.\n"
        )
        for question in QUESTIONS:
            started = time.perf_counter()
            answer = session.ask(question.sql, epsilon=question.epsilon)
            _print_answer(console, question, answer, path, time.perf_counter() - started)
        _print_limits(console, session)


def _print_answer(console: Console, question: Question, answer: Answer, path: Path, seconds: float) -> None:
    from rich.table import Table

    console.print(f"[bold]{question.shows}[/bold]")
    console.print(f"  {question.sql}")
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    truth = _truth(question.truth, path)
    noisy = [series for series in answer.series if series.noisy]
    keys = [series for series in answer.series if not series.noisy]
    for series in keys:
        table.add_column(series.name)
    for series in noisy:
        table.add_column(series.name, justify="right", no_wrap=True)
        table.add_column("truth", justify="right", style="dim", no_wrap=True)
    for row in range(len(answer)):
        cells = [str(series.values[row]) for series in keys]
        true = truth[tuple(series.values[row] for series in keys)]
        for series, right in zip(noisy, true, strict=True):
            half = ((series.high or (0.0,))[row] - (series.low or (0.0,))[row]) / 2
            cells += [f"{_number(series.values[row])} ± {_number(half)}", _number(right)]
        table.add_row(*cells)
    console.print(table)
    hidden = len(truth) - len(answer)
    rare = f"; {hidden} rare groups stay hidden" if hidden else ""
    console.print(f"  epsilon {float(question.epsilon):g}, {seconds:.1f} s{rare}\n", style="dim")


def _print_limits(console: Console, session: Session) -> None:
    from privet.core.errors import PrivetError

    before = session.remaining().largest_epsilon
    again = QUESTIONS[1]
    session.ask(
        "SELECT ward, AVG(cost) AS mean, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 0",
        epsilon=again.epsilon,
    )
    spent = before - session.remaining().largest_epsilon
    console.print(f"[bold]The same numbers asked for in other words cost nothing more[/bold]: {spent:g} spent.\n")
    for shows, sql, epsilon in (
        ("What would expose people is refused, at no cost", "SELECT * FROM visits", Fraction(1, 10)),
        ("A budget that is gone is gone", "SELECT AVG(age) FROM visits", Fraction(EPSILON)),
    ):
        console.print(f"[bold]{shows}[/bold]")
        console.print(f"  {sql}")
        try:
            session.ask(sql, epsilon=epsilon)
        except PrivetError as error:
            console.print(f"  {type(error).__name__}: {error}\n", soft_wrap=True, style="dim")


def _truth(sql: str, path: Path) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    import duckdb

    rows = duckdb.connect().execute(sql.replace("FROM visits", f"FROM '{path}'")).fetchall()
    keys = 1 if "GROUP BY" in sql else 0
    return {row[:keys]: row[keys:] for row in rows}


def _number(value: Any) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.4g}"
