"""The common part of plans of many numbers at one charge: price, digest and display."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privet.display import Figures, draw_grid, draw_text, html_lines, html_table, printable, shown_error, written
from privet.planner.many_counts import CountsPlan

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, repr=False)
class CountedPlan(ABC):
    """A plan of counts or totals of cells, before they are charged."""

    counts: CountsPlan

    @property
    def price(self) -> Mapping[str, float]:
        """The cost of the release alone."""
        return self.counts.plan.price

    @property
    def digest(self) -> str:
        """The digest under which it is charged and stored."""
        return self.counts.plan.digest

    def explain(self) -> str:
        """Return the plan in plain words."""
        return self.counts.plan.explain()

    def __repr__(self) -> str:
        return written(self.draw)

    def draw(self, console: Console) -> None:
        """Draw the plan on a console, in its width."""
        clean = [
            replace(column, head=printable(column.head), cells=tuple(map(printable, column.cells)))
            for column in self._figures()
        ]
        draw_grid(console, clean, wraps=True)
        draw_text(console, "\n" + "\n".join(map(printable, self.explain().splitlines())))

    def _repr_html_(self) -> str:
        return f"<div>{html_table(self._figures())}{html_lines(self.explain().splitlines())}</div>"

    @abstractmethod
    def _figures(self) -> list[Figures]:
        """Return the errors to expect as columns of a table."""


def error_figures(head: str, errors: Mapping[str, float], counts: CountsPlan) -> list[Figures]:
    """Return errors by name as columns of a table: each, and how wide an interval is with it."""
    from privet.strategy.laplace_sums import half_widths

    wide = half_widths(0.95, counts.measure.strategy.measure)
    return [
        Figures(head, tuple(errors), right=False),
        Figures("standard error", tuple(map(shown_error, errors.values())), right=True),
        Figures("95% within", tuple(f"±{shown_error(error * wide)}" for error in errors.values()), right=True),
    ]
