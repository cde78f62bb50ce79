"""Correlation tables and principal components as values: read for free from what a regression released."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privet.display import Figures, draw_facts, draw_grid, html_facts, html_table, written
from privet.inference.linear import CorrelationBound, PrincipalComponent

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, repr=False)
class Correlations:
    """The correlations of some columns, each with an interval.

    Example:
        >>> fit = session.regress("visits", "cost ~ age", epsilon=1)
        >>> fit.correlations().names
        ('age', 'cost')
    """

    names: tuple[str, ...]
    bounds: tuple[tuple[CorrelationBound, ...], ...]
    """For each two columns the correlation and its interval; of a column with itself, 1."""
    confidence: float
    notes: tuple[str, ...] = ()

    @property
    def matrix(self) -> tuple[tuple[float, ...], ...]:
        """The correlations alone."""
        return tuple(tuple(one.value for one in row) for row in self.bounds)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can hold."""
        pairs = [
            {"first": a, "second": b, "value": one.value, "low": one.low, "high": one.high}
            for i, a in enumerate(self.names)
            for j, b in enumerate(self.names)
            if i < j
            for one in [self.bounds[i][j]]
        ]
        return {"correlations": pairs, "confidence": self.confidence, "notes": list(self.notes)}

    def __repr__(self) -> str:
        def draw(console: Console) -> None:
            draw_grid(console, self._figures(), wraps=True)
            draw_facts(console, self._facts())

        return written(draw)

    def _repr_html_(self) -> str:
        return f"<div>{html_table(self._figures())}{html_facts(self._facts())}</div>"

    def _figures(self) -> list[Figures]:
        shown = [Figures("", self.names, right=False)]
        for place, name in enumerate(self.names):
            cells = tuple(
                "1"
                if row == place
                else f"{self.bounds[row][place].value:.2f} "
                f"[{self.bounds[row][place].low:.2f}, {self.bounds[row][place].high:.2f}]"
                for row in range(len(self.names))
            )
            shown.append(Figures(name, cells, right=True))
        return shown

    def _facts(self) -> list[tuple[str, str]]:
        covered = f"Intervals cover noise and sampling error with probability {self.confidence:.3g}, each by itself."
        return [("" if place else "notes", text) for place, text in enumerate((covered, *self.notes))]


@dataclass(frozen=True, repr=False)
class Components:
    """The principal components of some columns, the one of the largest variance first.

    Example:
        >>> fit = session.regress("visits", "cost ~ age", epsilon=1)
        >>> len(fit.components())
        2
    """

    names: tuple[str, ...]
    components: tuple[PrincipalComponent, ...]
    confidence: float
    scaled: bool
    """Whether columns were scaled to equal variance first: components of correlations."""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.components)

    def __getitem__(self, place: int) -> PrincipalComponent:
        return self.components[place]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data that JSON can hold: what the noise leaves unknown is None."""

        def known(number: float) -> float | None:
            return None if math.isnan(number) else number

        several = [
            {
                "variance": one.variance,
                "share": one.share,
                "low": known(one.low),
                "high": known(one.high),
                "angle": known(one.angle),
                "loadings": dict(zip(self.names, one.loadings, strict=True)),
            }
            for one in self.components
        ]
        return {
            "components": several,
            "confidence": self.confidence,
            "scaled": self.scaled,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        def draw(console: Console) -> None:
            draw_grid(console, self._figures(), wraps=True)
            draw_facts(console, self._facts())

        return written(draw)

    def _repr_html_(self) -> str:
        return f"<div>{html_table(self._figures())}{html_facts(self._facts())}</div>"

    def _figures(self) -> list[Figures]:
        several = self.components
        ends = tuple(f"{one.low:.4g} to {one.high:.4g}" if one.bounded else "not known" for one in several)
        turned = tuple(f"{one.angle:.2g}°" if one.bounded else "not known" for one in several)
        columns = [
            Figures("component", tuple(str(place + 1) for place in range(len(several))), right=True),
            Figures("variance", tuple(f"{one.variance:.4g}" for one in several), right=True),
            Figures("share", tuple(f"{one.share:.0%}" for one in several), right=True),
            Figures(f"{self.confidence * 100:g}% interval", ends, right=True),
            Figures("turned by at most", turned, right=True),
        ]
        for place, name in enumerate(self.names):
            columns.append(Figures(name, tuple(f"{one.loadings[place]:.2f}" for one in several), right=True))
        return columns

    def _facts(self) -> list[tuple[str, str]]:
        covered = "Intervals and angles cover the noise, not sampling error."
        return [("" if place else "notes", text) for place, text in enumerate((covered, *self.notes))]
