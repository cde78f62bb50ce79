"""`privet demo`: the classical mechanisms at work. The data are made up, so the truth may be shown beside releases."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from .bars import ASCII, LINES, Bar, draw_bars
from .numbers import show_cost
from .output import json_option, print_json

if TYPE_CHECKING:
    from privet.core.event import Event

DELTA = Fraction(1, 10**6)
CONFIDENCE = 0.95

PATIENTS = 1874
STAYS_IN_DAYS = 9120
LONGEST_STAY = 30
VISITS_BY_WARD = {"births": 212, "surgery": 505, "heart": 388, "trauma": 431, "children": 338}
SMOKERS, SURVEYED = 540, 3000
PAIN_LEVELS = ("none", "some", "strong")
PATIENTS_BY_AGE = {
    "0-9": 140, "10-19": 118, "20-29": 196, "30-39": 255, "40-49": 241,
    "50-59": 287, "60-69": 310, "70-79": 219, "80-89": 96, "90-99": 12,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One mechanism's row: what was asked, the made-up truth, what was released and what it cost."""

    mechanism: str
    question: str
    true: str
    released: str
    interval: str
    epsilon: float
    delta: float


@click.command()
@json_option
def command(as_json: bool) -> None:
    """See the mechanisms at work, on made-up data."""
    rows, event = release_each()
    bars, histogram_epsilon = release_histogram()
    together, many = compose(event)
    if as_json:
        print_json(
            {
                "data": "made up",
                "confidence": CONFIDENCE,
                "releases": [asdict(row) for row in rows],
                "histogram": {"epsilon": histogram_epsilon, "bars": [asdict(bar) for bar in bars]},
                "composition": {"epsilon": together, "delta": float(DELTA), "hundred_counts": many},
            }
        )
        return
    _print(rows, bars, histogram_epsilon, together, many)


def release_each() -> tuple[list[Shown], Event]:
    """Return one release of each classical mechanism, and the event of all of them together."""
    from privet import Exponential, FiniteMechanism, Gaussian, Laplace, RandomizedResponse
    from privet.core.event import Composed

    count = Laplace(sensitivity=1, epsilon=Fraction(1, 2))
    counted = count.release(PATIENTS)

    stays = Gaussian(sensitivity=LONGEST_STAY, epsilon=1, delta=DELTA)
    stayed = stays.release(STAYS_IN_DAYS)

    choice = Exponential(sensitivity=1, epsilon=Fraction(1, 2), monotone=True)
    wards, visits = list(VISITS_BY_WARD), list(VISITS_BY_WARD.values())
    chosen = wards[choice.release(visits)]
    short = choice.error(CONFIDENCE, size=len(wards))

    survey = RandomizedResponse(p=Fraction(3, 4))
    reports = survey.release([1] * SMOKERS + [0] * (SURVEYED - SMOKERS))
    share = survey.estimate(reports, confidence=CONFIDENCE)

    fifth = Fraction(1, 5)
    pain = FiniteMechanism([[3 * fifth, fifth, fifth], [fifth, 3 * fifth, fifth], [fifth, fifth, 3 * fifth]])
    told = PAIN_LEVELS[pain.release(PAIN_LEVELS.index("some"))]

    rows = [
        Shown(
            mechanism="Laplace",
            question="patients",
            true=f"{PATIENTS:,}",
            released=f"{counted:,}",
            interval=_range(*count.interval(counted, CONFIDENCE)),
            epsilon=count.epsilon,
            delta=0.0,
        ),
        Shown(
            mechanism="Gaussian",
            question="hospital days",
            true=f"{STAYS_IN_DAYS:,}",
            released=f"{stayed:,}",
            interval=_range(*stays.interval(stayed, CONFIDENCE)),
            epsilon=stays.epsilon,
            delta=float(DELTA),
        ),
        Shown(
            mechanism="Exponential",
            question="busiest ward",
            true=max(wards, key=VISITS_BY_WARD.__getitem__),
            released=chosen,
            interval=f"best, less {math.ceil(short)}",
            epsilon=choice.epsilon,
            delta=0.0,
        ),
        Shown(
            mechanism="RandomizedResponse",
            question="smokers",
            true=f"{SMOKERS / SURVEYED:.1%}",
            released=f"{share.value:.1%}",
            interval=f"{share.low:.1%} to {share.high:.1%}",
            epsilon=survey.epsilon,
            delta=0.0,
        ),
        Shown(
            mechanism="FiniteMechanism",
            question="pain of one",
            true="some",
            released=told,
            interval="true in 3 of 5",
            epsilon=pain.epsilon,
            delta=0.0,
        ),
    ]
    return rows, Composed((count.event, stays.event, choice.event, survey.event, pain.event))


def release_histogram() -> tuple[list[Bar], float]:
    """Return the patients by age, each count with its interval, and the epsilon that all of them cost."""
    from privet import Laplace

    mechanism = Laplace(sensitivity=1, epsilon=Fraction(1, 10))  # a patient is in one bar only
    released = mechanism.release(list(PATIENTS_BY_AGE.values()))
    low, high = mechanism.interval(released, CONFIDENCE)
    bars = [
        Bar(label=age, value=int(value), low=int(least), high=int(most))
        for age, value, least, most in zip(PATIENTS_BY_AGE, released, low, high, strict=True)
    ]
    return bars, mechanism.epsilon


def compose(event: Event) -> tuple[float, float]:
    """Return the epsilon at `DELTA` of an event, and of a hundred counts at epsilon 1/10 each."""
    from privet import Laplace, accounting
    from privet.core.event import Repeated

    hundred = Repeated(Laplace(sensitivity=1, epsilon=Fraction(1, 10)).event, 100)
    return accounting.epsilon(event, DELTA), accounting.epsilon(hundred, DELTA)


def _print(rows: list[Shown], bars: list[Bar], histogram_epsilon: float, together: float, many: float) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(title="Made-up patients, private answers", title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
    for heading in ("mechanism", "question", "true", "released", f"{CONFIDENCE:.0%} interval", "epsilon"):
        numeric = heading in {"true", "released", "epsilon"}
        table.add_column(heading, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        released = f"[bold]{row.released}[/bold]"
        table.add_row(row.mechanism, row.question, row.true, released, row.interval, show_cost(row.epsilon))
    console.print(table)
    at = f"at delta {float(DELTA):g}"
    console.print(f"The Gaussian's epsilon holds {at}. All five about the same people: {show_cost(together)} {at}.")
    console.print(f"A hundred counts at epsilon 0.1 each: 10 by adding up, {show_cost(many)} {at}.\n")

    console.print(f"[bold]Patients by age[/bold], epsilon {show_cost(histogram_epsilon)} for all bars together")
    ink = LINES if console.encoding.startswith("utf") else ASCII
    for line in draw_bars(bars, ink=ink):
        console.print(line, style="cyan", markup=False)
    console.print(f"Whiskers hold each true count with {CONFIDENCE:.0%} probability.")


def _range(low: float, high: float) -> str:
    return f"{low:,.0f} to {high:,.0f}"
