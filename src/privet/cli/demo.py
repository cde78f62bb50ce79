"""`privet demo`: questions about a made-up hospital, with honest error bars, under a budget that runs out.

The data are made up, so the truth may be shown beside the releases. Nowhere else may it be shown.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from privet.demo.hospital import QUESTIONS, Question
from privet.display import show_cost

from .asking import OpenedSession, opened
from .screen import json_option, print_json, print_text, screen, working

if TYPE_CHECKING:
    from privet.answer import Answer
    from privet.core.errors import PrivetError


# The demo's picture: the releases, with their intervals, over the truth, which may be shown for made-up data alone.


def draw(answer: Answer, truth: Mapping[tuple[Any, ...], tuple[Any, ...]], path: Path) -> None:
    """Write the picture of an answer by day; raise `RequestError` where it cannot be drawn or written."""
    from privet.core.errors import RequestError
    from privet.plots.canvas import COLOURS, canvas, finish

    (days,) = (series for series in answer.series if not series.noisy)
    (counts,) = (series for series in answer.series if series.noisy)
    right = [truth.get((day,), (0,))[0] for day in days.values]
    figure, axes = canvas("", "", f"{counts.name} visits per day", width=8.0)
    from matplotlib.dates import ConciseDateFormatter

    low, high = list(counts.low or ()), list(counts.high or ())
    colour, other = COLOURS[0], COLOURS[1]
    axes.fill_between(days.values, low, high, color=colour, alpha=0.22, lw=0, label=f"{answer.confidence:.0%} interval")
    axes.plot(days.values, counts.values, ".", color=colour, ms=4, label="released")
    axes.plot(days.values, right, color=other, lw=1.2, label="truth")
    inside = sum(bottom <= value <= top for bottom, value, top in zip(low, right, high, strict=True))
    axes.set_title(
        f"A year of flu, released day by day: {inside} of {len(right)} intervals cover the truth",
        loc="left",
        fontsize=11,
    )
    axes.set_ylim(bottom=min(0, *low))
    formatter: Any = ConciseDateFormatter
    axes.xaxis.set_major_formatter(formatter(axes.xaxis.get_major_locator()))
    axes.legend(frameon=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        finish(figure, path)
    except (OSError, ValueError):
        raise RequestError(f"the picture cannot be written to {str(path)!r}; pass a file such as demo.png") from None


Truth = Mapping[tuple[Any, ...], tuple[Any, ...]]


@dataclass(frozen=True)
class DemoOutcome:
    """The outcome of a question: an answer with the truth beside it, or an error; whether it was charged; how long."""

    question: Question
    answer: Answer | None
    truth: Truth
    error: PrivetError | None
    charged: bool
    seconds: float


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the hospital here, to ask it more; a temporary folder if left out.",
)
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    default="privet-demo.png",
    show_default=True,
    help="Where the picture goes.",
)
@click.option(
    "--engine",
    type=click.Choice(["duckdb", "postgres", "spark"]),
    default="duckdb",
    show_default=True,
    help="Where it is asked; Spark runs on this machine, and needs privet[spark-local] and Java.",
)
@click.option("--url", metavar="ADDRESS", help="For --engine postgres: a server, as a role that may create databases.")
@json_option
def command(folder: Path | None, picture: Path, engine: str, url: str | None, as_json: bool) -> None:
    """See questions about a made-up hospital answered, repeated for free, refused, and denied when the budget is gone.

    \b
    Example:
      privet demo
      privet demo --folder hospital
      privet demo --engine postgres --url postgresql://postgres@localhost/postgres
    """
    with _place(folder) as place, ExitStack() as kept:
        with working("making a hospital"):
            started = time.perf_counter()
            declared = kept.enter_context(_made(place, engine, url, keep=folder is not None))
            seconds = time.perf_counter() - started
        if not as_json:
            _print_start(seconds)
        with opened(declared, None) as hospital:
            outcomes = []
            for question in QUESTIONS:
                outcomes.append(_ask(question, hospital, place))
                if not as_json:
                    _print(outcomes[-1])
            with working("drawing"):
                drawn = _draw(outcomes, picture)
            hospital.ledger.verify()
            head = hospital.ledger.head()
    if as_json:
        questions = [_told(outcome) for outcome in outcomes]
        print_json({"data": "made up", "questions": questions, "picture": drawn, "head": head})
        return
    _print_end(head, drawn, folder)


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    from privet.core.errors import RequestError

    if folder is None:
        with tempfile.TemporaryDirectory(prefix="privet-demo-") as name:
            yield Path(name)
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError:
        raise RequestError(f"the folder {str(folder)!r} cannot be made or read; choose another") from None
    if taken:
        raise RequestError(f"the folder {str(folder)!r} is not empty; choose a new one for the demo")
    yield folder


@contextmanager
def _made(place: Path, engine: str, url: str | None, *, keep: bool) -> Iterator[Path]:
    """Yield the privet.toml of a hospital in files, or in a server."""
    from privet.core.errors import RequestError
    from privet.demo.hospital import make_hospital

    if engine != "postgres":
        if url is not None:
            raise RequestError("--url is the server of --engine postgres; pass both, or neither")
        yield make_hospital(place, engine)
        return
    if url is None:
        raise RequestError("--engine postgres needs --url, such as postgresql://postgres@localhost/postgres")
    from privet.demo.hospital import hospital_in_server

    with hospital_in_server(place, url, keep=keep) as declared:
        yield declared


def _ask(question: Question, hospital: OpenedSession, place: Path) -> DemoOutcome:
    from privet.core.errors import PrivetError
    from privet.demo.hospital import true_rows

    before, started = hospital.ledger.head(), time.perf_counter()
    try:
        with working("asking"):
            answer = hospital.session.ask(question.sql, epsilon=question.epsilon, at_most=question.at_most)
    except PrivetError as error:
        return DemoOutcome(question, None, {}, error, False, time.perf_counter() - started)
    seconds = time.perf_counter() - started
    keys = sum(not series.noisy for series in answer.series)
    truth = {row[:keys]: row[keys:] for row in true_rows(place, question.truth)}
    return DemoOutcome(question, answer, truth, None, hospital.ledger.head() != before, seconds)


def _draw(outcomes: list[DemoOutcome], picture: Path) -> str | None:
    """Return the path of the picture; None where there is no Matplotlib to draw it."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        return None
    for outcome in outcomes:
        if outcome.question.pictured and outcome.answer is not None:
            draw(outcome.answer, outcome.truth, picture)
    return str(picture)


def _print_start(seconds: float) -> None:
    from privet.demo.hospital import PATIENTS, PRESCRIPTIONS, ROWS, VISITS

    print_text(
        f"A made-up hospital: {PATIENTS:,} patients, {VISITS:,} visits, {PRESCRIPTIONS:,} prescriptions; {ROWS:,} rows "
        f"in three Parquet files, made in {seconds:.1f} s. Its privet.toml protects all that each patient has in a "
        "table, and promises epsilon 3, delta 1e-06 for all answers together. The truth is printed beside each "
        "answer only because these people do not exist."
    )


def _print(outcome: DemoOutcome) -> None:
    from .screen import print_answer

    question, answer = outcome.question, outcome.answer
    print_text("")
    print_text(question.shows, style="bold")
    print_text(question.sql, style="dim", indent="  ")
    if answer is None:
        error = outcome.error
        print_text(f"{type(error).__name__}: {error}", indent="  ")
        return
    print_answer(answer, beside=_beside(answer, outcome.truth), most=question.most, indent="  ")
    hidden = len(outcome.truth) - len(answer)
    cost = answer.certificate()["cost"]["epsilon"]
    notes = [
        f"epsilon {show_cost(cost)}" if outcome.charged else "free: nothing was charged",
        *([] if answer.accuracy is None else [answer.accuracy.note().rstrip(".")]),
        f"{outcome.seconds:.1f} s",
        *([f"{hidden} groups do not show"] if hidden > 0 else []),
    ]
    print_text(f"{'; '.join(notes)}. {question.remark}".rstrip(), style="dim", indent="  ")


def _beside(answer: Answer, truth: Truth) -> list[Any]:
    """Return the truth as a column for each noisy one."""
    from privet.display import Figures, number_like

    keys = [series for series in answer.series if not series.noisy]
    rows = [truth.get(tuple(series.values[row] for series in keys)) for row in range(len(answer))]
    return [
        Figures("truth", tuple("" if row is None else number_like(row[place], series) for row in rows), True, True)
        for place, series in enumerate(series for series in answer.series if series.noisy)
    ]


def _print_end(head: str, drawn: str | None, folder: Path | None) -> None:
    from privet.core.given import install_hint

    print_text("")
    entries = head.partition(":")[0]
    print_text(f"The ledger's {entries} entries were verified: each charge was written before a row was read.")
    if drawn is None:
        print_text(f"For the picture, install Matplotlib: {install_hint('matplotlib')}")
    else:
        print_text(f"Picture: {drawn}")
    if folder is not None:
        print_text(f'Ask it more: privet ask "SELECT ..." --config {folder / "privet.toml"}')
    screen().print("")


def _told(outcome: DemoOutcome) -> dict[str, Any]:
    answer, question = outcome.answer, outcome.question
    facts: dict[str, Any] = {"shows": question.shows, "sql": question.sql, "charged": outcome.charged}
    if answer is None:
        return {**facts, "error": {} if outcome.error is None else outcome.error.to_dict()}
    truth = [[*key, *values] for key, values in outcome.truth.items()]
    return {**facts, "cost": answer.certificate()["cost"], "rows": list(answer), "truth": truth}
