"""What a test found: estimates with intervals, a p-value, how it was computed and what it assumes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from privet.core.errors import BadParameter
from privet.core.estimate import Estimate
from privet.core.event import Receipt
from privet.core.given import set_fields
from privet.display import Figures, cost_words, draw_facts, draw_grid, html_facts, html_table, shown_error, written

if TYPE_CHECKING:
    from rich.console import Console

_LEAST_SHOWN = 1e-4
"""A p-value below this is shown as smaller than it."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Finding:
    """The result of a test, or of an estimate: everything that a reader needs to judge it.

    `p_value` is None where nothing was tested. `estimates` has the main estimate first; effect sizes follow.
    """

    name: str
    """The procedure, such as "Chi-squared test of independence"."""
    hypothesis: str = ""
    """The hypothesis that the p-value is about, in words."""
    p_value: float | None = None
    statistic: float | None = None
    degrees: float | None = None
    """Degrees of freedom, where the statistic has any."""
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    method: str = ""
    """How the p-value and the intervals were computed."""
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What to know when reading the numbers; warnings stand first."""
    cost: Mapping[str, float] = field(default_factory=dict)
    """What was paid; nothing for numbers that had been released before."""
    receipt: Receipt | None = None

    def __post_init__(self) -> None:
        p = self.p_value
        if p is not None and not (isinstance(p, float) and 0 <= p <= 1):
            raise BadParameter("p_value", p, "a number from 0 to 1")
        set_fields(self, estimates=MappingProxyType(dict(self.estimates)), cost=MappingProxyType(dict(self.cost)))

    @property
    def estimate(self) -> Estimate:
        """The main estimate."""
        if not self.estimates:
            raise BadParameter("estimate", self.name, "asked of a procedure that estimates something")
        return next(iter(self.estimates.values()))

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the main estimate. Its ends may be infinite: the data and the noise do not bound it."""
        return self.estimate.low, self.estimate.high

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold; infinite ends of intervals are None."""
        return {
            "name": self.name,
            "hypothesis": self.hypothesis,
            "p_value": self.p_value,
            "statistic": self.statistic,
            "degrees": self.degrees,
            "estimates": {name: _plain_estimate(one) for name, one in self.estimates.items()},
            "method": self.method,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "cost": dict(self.cost),
            "receipt": None if self.receipt is None else {"entry": self.receipt.entry, "digest": self.receipt.digest},
        }

    def plot(self, path: Any = None, *, theme: Literal["light", "dark"] = "light") -> Any:
        """Return a picture of the estimates with error bars (needs matplotlib); save it if a path is given."""
        from privet.plots.forest import plot_estimates

        if not self.estimates:
            raise BadParameter("plot", self.name, "asked of a procedure that estimates something")
        return plot_estimates(self.estimates, title=self.name, path=path, theme=theme)

    def __repr__(self) -> str:
        def draw(console: Console) -> None:
            console.print(self.name, style="bold", markup=False, highlight=False)
            if self.estimates:
                draw_grid(console, self._figures(), wraps=True)
            draw_facts(console, self.facts())

        return written(draw)

    def _repr_html_(self) -> str:
        table = html_table(self._figures()) if self.estimates else ""
        return f"<div>{html_facts([('', self.name)])}{table}{html_facts(self.facts())}</div>"

    def facts(self) -> list[tuple[str, str]]:
        """Return everything but the estimates as names and words, in the order in which they are shown."""
        found = []
        if self.hypothesis:
            found.append(("hypothesis", self.hypothesis))
        if self.statistic is not None:
            degrees = "" if self.degrees is None else f" ({self.degrees:g} degrees of freedom)"
            found.append(("statistic", f"{self.statistic:.4g}{degrees}"))
        if self.p_value is not None:
            found.append(("p-value", shown_p_value(self.p_value)))
        if self.method:
            found.append(("method", self.method))
        found += [("" if place else "assumes", text) for place, text in enumerate(self.assumptions)]
        found += [("" if place else "notes", text) for place, text in enumerate(self.notes)]
        if self.cost:
            found.append(("cost", cost_words(self.cost)))
        return found

    def _figures(self) -> list[Figures]:
        several = list(self.estimates.items())
        level = f"{several[0][1].confidence * 100:g}% interval"
        return [
            Figures("", tuple(name for name, _ in several), right=False),
            Figures("estimate", tuple(_shown(one.value, one) for _, one in several), right=True),
            Figures(
                level, tuple(f"{_shown(one.low, one)} to {_shown(one.high, one)}" for _, one in several), right=True
            ),
        ]


def shown_p_value(p: float) -> str:
    """Return a p-value as people write it: two significant digits, very small ones as a bound."""
    return f"below {_LEAST_SHOWN:.4f}" if p < _LEAST_SHOWN else f"{p:.2g}"


def _shown(value: float, of: Estimate) -> str:
    """Return a number as it stands in a table, rounded by the standard error of its estimate."""
    if math.isinf(value):
        return "no bound"
    if math.isnan(value):
        return "not known"
    if not math.isfinite(of.standard_error) or of.standard_error <= 0:
        return f"{value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(of.standard_error)))
    return f"{value:,.{min(digits, 12)}f}" if abs(value) < 1e15 else shown_error(value)


def _plain_estimate(one: Estimate) -> dict[str, Any]:
    numbers = {name: getattr(one, name) for name in ("value", "low", "high", "standard_error", "confidence")}
    return {**{name: x if math.isfinite(x) else None for name, x in numbers.items()}, "covers": one.covers}
