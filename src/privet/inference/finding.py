"""The result of a test: estimates with intervals, a p-value, how it was computed and what it assumes.

P-values of several tests are adjusted so that the error level holds for all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from privet.core.errors import BadParameter, RequestError
from privet.core.estimate import Estimate
from privet.core.event import Receipt
from privet.core.given import choice, listed, set_fields, truth
from privet.core.numbers import Number, float_near, open_probability, positive, probability
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
    """The cost; nothing for numbers that had been released before."""
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
        """Return plain data that JSON can represent; infinite ends of intervals are None."""
        return {
            "name": self.name,
            "hypothesis": self.hypothesis,
            "p_value": self.p_value,
            "statistic": self.statistic,
            "degrees": self.degrees,
            "estimates": {name: _plain_estimate(estimate) for name, estimate in self.estimates.items()},
            "method": self.method,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "cost": dict(self.cost),
            "receipt": None if self.receipt is None else {"entry": self.receipt.entry, "digest": self.receipt.digest},
        }

    def plot(self, path: Any = None, *, theme: Literal["light", "dark"] = "light") -> Any:
        """Return a picture of the estimates with error bars (needs matplotlib); save it if a path is given."""
        from privet.plots.findings import plot_estimates

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
        facts = []
        if self.hypothesis:
            facts.append(("hypothesis", self.hypothesis))
        if self.statistic is not None:
            degrees = "" if self.degrees is None else f" ({self.degrees:g} degrees of freedom)"
            facts.append(("statistic", f"{self.statistic:.4g}{degrees}"))
        if self.p_value is not None:
            facts.append(("p-value", shown_p_value(self.p_value)))
        if self.method:
            facts.append(("method", self.method))
        facts += [("" if place else "assumes", text) for place, text in enumerate(self.assumptions)]
        facts += [("" if place else "notes", text) for place, text in enumerate(self.notes)]
        if self.cost:
            facts.append(("cost", cost_words(self.cost)))
        return facts

    def _figures(self) -> list[Figures]:
        estimates = list(self.estimates.items())
        level = f"{estimates[0][1].confidence * 100:g}% interval"
        return [
            Figures("", tuple(name for name, _ in estimates), right=False),
            Figures("estimate", tuple(_shown(estimate.value, estimate) for _, estimate in estimates), right=True),
            Figures(
                level,
                tuple(
                    f"{_shown(estimate.low, estimate)} to {_shown(estimate.high, estimate)}"
                    for _, estimate in estimates
                ),
                right=True,
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


def _plain_estimate(estimate: Estimate) -> dict[str, Any]:
    numbers = {name: getattr(estimate, name) for name in ("value", "low", "high", "standard_error", "confidence")}
    return {**{name: x if math.isfinite(x) else None for name, x in numbers.items()}, "covers": estimate.covers}


Correction = Literal["holm", "benjamini-yekutieli", "benjamini-hochberg", "spending"]
"""How p-values are adjusted: for the chance of any false rejection, or for the share of rejections that are false."""

CORRECTIONS: tuple[str, ...] = get_args(Correction)
_KEEPS = {
    "holm": "the chance of any false rejection is at most the level, whatever the tests have in common",
    "benjamini-yekutieli": "the expected share of false rejections is at most the level, whatever the tests share",
    "benjamini-hochberg": "the expected share of false rejections is at most the level, for independent tests",
    "spending": "the chance of any false rejection is at most the level, wherever you stop",
}


def adjusted_p_values(
    p_values: Sequence[Number],
    *,
    method: Correction = "holm",
    disjoint: bool = False,
    shares: Sequence[Number] | None = None,
) -> tuple[float, ...]:
    """Return p-values that may each be compared with the level of a whole family of tests.

    Args:
        p_values: the p-values, one for each test that was planned, also of those that are not shown.
        method: "holm" for the chance of any false rejection; "benjamini-yekutieli" for the expected share of false
            rejections; "benjamini-hochberg" for the same with more power, for independent tests only; "spending" for
            the chance of any false rejection where you look at one test after another and may stop at any of them.
        disjoint: whether the tests are of different people and of noise that was drawn for each separately, which
            Benjamini and Hochberg's method needs. Tests on one noisy table are not.
        shares: with "spending", the share of the level that each test may use, in the order of the tests, fixed
            before the first: at most 1 in all, at least one for each p-value. 1/2, 1/4, 1/8, ... if left out.

    Example:
        >>> privet.inference.adjusted_p_values([0.01, 0.04, 0.03])
        (0.03, 0.06, 0.06)

    Guarantee: rejecting those at or below the level keeps the error that the method is about at the level, under any
    dependence but for Benjamini and Hochberg's. With "spending", test k is rejected if its p-value is at most its
    share of the level. For true hypotheses these events have probabilities that add up to at most the level, and the
    tests that were looked at are some of them, however the last one was chosen.
    Cites: [Hol79], [BY01], [BH95].
    """
    choice(method, "method", CORRECTIONS)
    if not truth(disjoint, "disjoint") and method == "benjamini-hochberg":
        raise RequestError(
            "Benjamini and Hochberg's method is for independent tests; pass disjoint=True if each test is of other "
            'people with noise of its own, else use method="benjamini-yekutieli" or "holm"'
        )
    given = [float_near(probability(p, "p_values")) for p in listed(p_values, "p_values", "a list of p-values")]
    if not given:
        raise BadParameter("p_values", "nothing", "at least one p-value")
    many = len(given)
    parts = read_shares(shares, method, many)
    if parts:
        return tuple(float_near(min(Fraction(1), Fraction(p) / part)) for p, part in zip(given, parts, strict=True))
    order = sorted(range(many), key=given.__getitem__)
    adjusted = [0.0] * many
    if method == "holm":
        largest = 0.0
        for rank, place in enumerate(order):
            largest = max(largest, min(1.0, (many - rank) * given[place]))
            adjusted[place] = largest
    else:
        factor = many * (math.fsum(1 / k for k in range(1, many + 1)) if method == "benjamini-yekutieli" else 1.0)
        least = 1.0
        for rank in range(many, 0, -1):
            place = order[rank - 1]
            least = min(least, factor / rank * given[place])
            adjusted[place] = least
    return tuple(adjusted)


def read_shares(shares: Sequence[Number] | None, method: Correction, many: int) -> tuple[Fraction, ...]:
    """Return the share of the level that each of this many tests may use; nothing for methods that fix none.

    The first shares do not depend on how many tests there are: looking at one more changes no decision.
    """
    if method != "spending":
        if shares is not None:
            raise RequestError('shares of the level are for method="spending"; leave out shares, or use that method')
        return ()
    if shares is None:
        return tuple(Fraction(1, 2**k) for k in range(1, many + 1))
    parts = [_share(share) for share in listed(shares, "shares", "a list of shares, such as [0.5, 0.3, 0.2]")]
    if len(parts) < many:
        raise BadParameter("shares", f"{len(parts)} shares", f"one for each of {many} tests")
    if sum(parts) > 1:
        raise BadParameter("shares", f"{float_near(sum(parts, Fraction(0))):g} in all", "at most 1 in all")
    return tuple(parts[:many])


def _share(given: object) -> Fraction:
    """Return a share as it is written: ten floats 0.1 are at most 1 in all."""
    exact = positive(given, "shares")
    return Fraction(repr(float(given))) if isinstance(given, float) else exact


@dataclass(frozen=True, kw_only=True, repr=False)
class FamilyOfFindings:
    """The results of several tests, with p-values that hold for all of them together."""

    findings: tuple[Finding, ...]
    adjusted: tuple[float, ...]
    method: Correction
    level: float
    cost: Mapping[str, float] = field(default_factory=dict)
    shares: tuple[float, ...] = ()
    """The share of the level that each test may use, where the method is "spending"."""

    @property
    def rejected(self) -> tuple[bool, ...]:
        """Whether each hypothesis is rejected at the level of the family."""
        return tuple(p <= self.level for p in self.adjusted)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can represent."""
        spent = {"shares": list(self.shares)} if self.shares else {}
        return {
            "method": self.method,
            "level": self.level,
            **spent,
            "cost": dict(self.cost),
            "tests": [
                {**finding.to_dict(), "adjusted_p_value": p, "rejected": gone}
                for finding, p, gone in zip(self.findings, self.adjusted, self.rejected, strict=True)
            ],
        }

    def facts(self) -> list[tuple[str, str]]:
        """Return what the family keeps, and what it cost."""
        kept = [("method", f"{self.method}: {_KEEPS[self.method]}"), ("level", f"{self.level:g}")]
        return [*kept, ("cost", cost_words(self.cost))] if self.cost else kept

    def __repr__(self) -> str:
        def draw(console: Console) -> None:
            draw_grid(console, self._figures(), wraps=True)
            draw_facts(console, self.facts())

        return written(draw)

    def _repr_html_(self) -> str:
        return f"<div>{html_table(self._figures())}{html_facts(self.facts())}</div>"

    def _figures(self) -> list[Figures]:
        spent = [Figures("share", tuple(f"{share:.4g}" for share in self.shares), right=True)] if self.shares else []
        return [
            Figures("hypothesis", tuple(finding.hypothesis or finding.name for finding in self.findings), right=False),
            Figures("p-value", tuple(shown_p_value(finding.p_value or 0.0) for finding in self.findings), right=True),
            *spent,
            Figures("adjusted", tuple(shown_p_value(p) for p in self.adjusted), right=True),
            Figures("rejected", tuple("yes" if gone else "no" for gone in self.rejected), right=False),
        ]


def judge_together(
    findings: Sequence[Finding],
    *,
    method: Correction = "holm",
    level: Number = 0.05,
    disjoint: bool = False,
    shares: Sequence[Number] | None = None,
) -> FamilyOfFindings:
    """Return findings that were made before, with p-values that hold for all of them together. It costs nothing.

    All tests that were planned belong to the family, whatever they found: leaving some out after seeing them, or adding
    hypotheses that the answers suggested, makes another family. With method "spending" the findings are those so far,
    in the order in which the tests were planned: a rejected hypothesis stays so, whether you stop or go on.

    Args:
        findings: what the tests found.
        method: how p-values are adjusted, as for `adjusted_p_values`.
        level: the error level of the family.
        disjoint: whether the tests are of different people and of noise that was drawn for each separately.
        shares: with "spending", the share of the level of each test, as for `adjusted_p_values`.

    Example:
        >>> one = privet.inference.proportion_test(62.3, people=100, epsilon=1, equals=0.5)
        >>> privet.inference.judge_together([one, one]).adjusted == (2 * one.p_value, 2 * one.p_value)
        True
    """
    made = tuple(listed(findings, "findings", "a list of findings"))
    if not made or not all(isinstance(finding, Finding) and finding.p_value is not None for finding in made):
        raise BadParameter("findings", f"{len(made)} values", "findings that have a p-value, at least one")
    p_values = [finding.p_value for finding in made if finding.p_value is not None]
    choice(method, "method", CORRECTIONS)
    parts = read_shares(shares, method, len(made))
    adjusted = adjusted_p_values(p_values, method=method, disjoint=disjoint, shares=parts or None)
    alpha = float_near(open_probability(level, "level"))
    shown = tuple(map(float_near, parts))
    return FamilyOfFindings(findings=made, adjusted=adjusted, method=method, level=alpha, shares=shown)
