"""A picture of a survey: each answer's share with its interval, and the truth beside it in a simulation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from privet.core.errors import RequestError
from privet.core.numbers import Number, open_probability
from privet.plots.canvas import COLOURS, canvas, finish, read_theme

from .survey_folder import SurveyFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONGEST = 40


def plot_survey(
    collected: SurveyFolder,
    *,
    confidence: Number = 0.95,
    covers: Literal["reports", "population"] = "reports",
    path: str | os.PathLike[str] | None = None,
    theme: Literal["light", "dark"] = "light",
) -> Figure:
    """Return a picture of all questions that were answered: a row for each answer."""
    chosen, truth = read_theme(theme), collected.truth or {}
    rows: list[tuple[str, float, float, float, float | None]] = []
    for question in collected.survey.questions:
        if not collected.reports[question.name]:
            continue
        found = collected.estimate(question.name, confidence=confidence, covers=covers)
        known = truth.get(question.name, {})
        for answer in question.answers:
            name = answer if len(collected.survey.questions) == 1 else f"{question.name}: {answer}"
            true = known[answer] / sum(known.values()) if known else None
            rows.append((name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…", *found[answer], true))
    if not rows:
        raise RequestError("no report was collected yet, so there is nothing to draw")
    level = float(open_probability(confidence, "confidence"))
    title = f"{collected.survey.name}: shares with {level:.0%} intervals"
    figure, axes = canvas(title, "share of the people", "", height=max(2.2, 0.9 + 0.38 * len(rows)))
    places = range(len(rows), 0, -1)
    for place, (_, value, low, high, true) in zip(places, rows, strict=True):
        first = place == len(rows)
        axes.plot([low, high], [place, place], color=COLOURS[0], lw=6, alpha=0.3, solid_capstyle="butt")
        axes.plot([value], [place], "o", color=COLOURS[0], ms=6, label="estimate" if first else None)
        if true is not None:
            axes.plot(
                [true], [place], "D", color=COLOURS[1], ms=8, mfc="none", mew=1.8, label="truth" if first else None
            )
    axes.set_yticks(list(places), [name.replace("$", r"\$") for name, *_ in rows])
    axes.set_ylim(0.4, len(rows) + 0.6)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    if truth:
        figure.legend(frameon=False, loc="outside lower right", ncols=2)
    return finish(figure, path, chosen)
