"""The release of a regression, and everything that is read from it for free: coefficients, models, predictions.

Correlation tables and principal components are read from it too. It has released numbers, public facts about them,
and the digest and the version that they are of: no session, no engine and no plan.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from privet.core.errors import BadParameter, RequestError, UnknownName
from privet.core.estimate import Estimate
from privet.core.given import optional_package, truth
from privet.core.numbers import Number, open_probability, rational
from privet.display import Figures, cost_words, draw_facts, draw_grid, html_facts, html_table, shown_amount, written
from privet.inference.finding import shown_p_value
from privet.inference.linear import (
    CoefficientBound,
    CorrelationBound,
    LinearFit,
    NoisyCovariance,
    NoisyMoments,
    PrincipalComponent,
    components_of,
    correlation_of,
    covariance_of,
)
from privet.planner.moment_plan import Factor
from privet.planner.moments import MomentMeasure

from .formula import RegressionFormula, read_formula

if TYPE_CHECKING:
    from rich.console import Console


Shrinkage = float | Literal["auto", "adassp"]
"""The shrinkage of estimates: a number that is added to squares, or a rule."""

METHOD = (
    "least squares on noisy sums of products; intervals and p-values by inversion (Anderson-Rubin), with the noise of "
    "one symmetric draw and sampling error"
)
_MOST_PREDICTED = 10_000
COVERS = "population"


@dataclass(frozen=True)
class Coefficient:
    """One row of a coefficient table.

    `low`, `high`, `standard_error`, `p_value` and `privacy` are NaN where the sums that they need were not measured.
    An interval without ends is not bounded by the data and the noise. `privacy` is the share of the squared standard
    error that is due to noise.
    """

    name: str
    estimate: float
    standard_error: float
    low: float
    high: float
    p_value: float
    privacy: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: numbers that are not known or not bounded are None."""
        names = ("estimate", "standard_error", "low", "high", "p_value", "privacy")
        numbers = {name: getattr(self, name) for name in names}
        return {"name": self.name, **{name: x if math.isfinite(x) else None for name, x in numbers.items()}}


def _product(factor: Factor) -> frozenset[str]:
    return frozenset(name for name, _ in factor.parts)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Regression:
    """A linear regression that was released once: a coefficient table, and every smaller model and prediction for free.

    Example:
        >>> fit = session.regress("visits", "age ~ ward", epsilon=1)
        >>> [one.name for one in fit.coefficients]
        ['(intercept)', 'ward: B']
        >>> fit.submodel("age ~ 1").formula.terms
        ()
    """

    table: str
    formula: RegressionFormula
    factors: tuple[Factor, ...]
    """The factors of products: features, the target, and a count of rows where no other factor is 1."""
    levels: Mapping[str, tuple[Any, ...]]
    """The declared values of each category, the one first that others are compared with."""
    target: int
    """Which of them the question explains."""
    pairs: tuple[tuple[int, int], ...]
    """Which two factors each released number is the sum of products of."""
    sizes: tuple[int, ...]
    """The largest integer of each factor, which means 1."""
    measure: MomentMeasure
    """The noise."""
    released: tuple[int, ...]
    """The noisy integers."""
    rows_each: int
    people: str | None
    confidence: float
    ridge: Shrinkage
    digest: str
    """The digest of the plan that was charged."""
    version: str
    """The version of the tables that were read, as declared; "" where there is none."""
    price: Mapping[str, float]
    """The cost of the release alone."""
    scaled: bool = False
    """Whether people with more rows than their limit count less."""
    normed: str | None = None
    """Which norm rows were scaled down to, if any."""

    # --- the release, as numbers --------------------------------------------------------------------------------------

    @cached_property
    def moments(self) -> NoisyMoments:
        """The noisy sums of products, of factors between -1 and 1."""
        import numpy as np

        worth = np.array([1.0 / (self.sizes[first] * self.sizes[second]) for first, second in self.pairs])
        if self.measure.family == "laplace":
            scales = np.array([float(scale) for scale in self.measure.scales]) * worth
        else:
            scales = np.sqrt(self.measure.variances) * worth
        size = len(self.factors)
        places = np.full((size, size), -1)
        for place, (first, second) in enumerate(self.pairs):
            places[first, second] = places[second, first] = place
        for index, factor in enumerate(self.factors):
            if factor.kind == "level" and places[index, index] < 0:  # its square is its product with the constant
                places[index, index] = places[0, index]
        ones = [place for place, factor in enumerate(self.factors) if factor.kind in ("constant", "count")]
        count = int(places[ones[0], ones[0]]) if ones else None
        values = self.measure.worth(self.released) * worth
        return NoisyMoments(values, scales, self.measure.family, places, count, self.rows_each)

    @property
    def intervals(self) -> bool:
        """Whether the sums were measured that intervals need."""
        return self.moments.count is not None and (self.target, self.target) in self.pairs

    @property
    def rows(self) -> float | None:
        """The noisy number of rows; None where it was not measured."""
        return self.moments.rows

    @cached_property
    def _columns(self) -> tuple[int, ...]:
        names, products = set(self.formula.terms), {frozenset(product) for product in self.formula.products}
        return tuple(
            place
            for place, factor in enumerate(self.factors)
            if place != self._explained
            and (factor.kind == "constant" or (_product(factor) in products if factor.parts else factor.name in names))
        )

    @cached_property
    def _explained(self) -> int:
        return next(place for place in self._numbers if self.factors[place].name == self._name)

    @property
    def _name(self) -> str:
        return self.formula.target

    @cached_property
    def fit(self) -> LinearFit:
        """The fitted model, of factors between -1 and 1."""
        return LinearFit(self.moments, self._columns, self._explained, self.ridge)

    # --- coefficients -------------------------------------------------------------------------------------------------

    @cached_property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The coefficient table, in the units of the columns: the constant first, then each column or level."""
        return tuple(self._coefficient(place) for place in range(len(self._columns)))

    def _coefficient(self, place: int) -> Coefficient:
        direction, offset = self._direction(place)
        name = self.factors[self._columns[place]].label
        return Coefficient(name, *self._bound(direction, offset))

    def _bound(self, direction: list[float], offset: float) -> tuple[float, float, float, float, float, float]:
        if not self.intervals:
            estimate = float(sum(a * b for a, b in zip(direction, self.fit.coefficients, strict=True))) + offset
            return estimate, *(math.nan,) * 5
        bound: CoefficientBound = self.fit.along(direction, self.confidence, offset)
        return bound.estimate, bound.error, bound.low, bound.high, bound.p_value, bound.privacy

    def _direction(self, place: int) -> tuple[list[float], float]:
        """Return a coefficient in the units of its column, as a linear function of those of factors from -1 to 1."""
        target, factors = self.factors[self._explained], [self.factors[column] for column in self._columns]
        unit = float(target.unit)
        direction = [0.0] * len(factors)
        if factors[place].kind != "constant":
            direction[place] = unit / float(factors[place].unit)
            return direction, 0.0
        for index, factor in enumerate(factors):
            direction[index] = -unit * float(factor.centre / factor.unit) if factor.kind == "number" else 0.0
        direction[place] = unit
        return direction, float(target.centre)

    @cached_property
    def r_squared(self) -> float:
        """The share of the variance that the model explains, from 0 to 1; NaN where it is not known."""
        return self.fit.explained() if self.intervals and self.formula.constant else math.nan

    def at(self, confidence: Number) -> Regression:
        """Return the same with intervals of another confidence level, for free."""
        return replace(self, confidence=float(open_probability(confidence, "confidence")))

    def submodel(self, formula: str) -> Regression:
        """Return a model of the same columns or some of them, for free: any number of them may be explained.

        Args:
            formula: such as "cost ~ age".

        Raises:
            RequestError: if a column was not measured.

        Example:
            >>> session.regress("visits", "age ~ ward", epsilon=1).submodel("age ~ 1").coefficients[0].name
            '(intercept)'
        """
        wanted = read_formula(formula)
        names = tuple(dict.fromkeys(factor.name for factor in self.factors if factor.name and not factor.parts))
        numbers = {self.factors[place].name for place in self._numbers}
        for name in (wanted.target, *wanted.terms):
            if name not in names:
                raise UnknownName("column", name, names)
        if wanted.target not in numbers:
            raise RequestError(f"{wanted.target} is a category, and a regression explains numbers")
        measured = {_product(factor): factor.name for factor in self.factors if factor.parts}
        for product in wanted.products:
            if frozenset(product) not in measured:
                raise UnknownName("product", ":".join(product), tuple(measured.values()))
        if wanted.constant != self.formula.constant:
            had = "with" if self.formula.constant else "without"
            raise RequestError(f"this was measured {had} a constant, and so is every model of it; ask for another one")
        return replace(self, formula=wanted)

    def predict(self, rows: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]) -> tuple[Estimate, ...]:
        """Return what the model expects for rows of your own, each with an interval for the mean, for free.

        Args:
            rows: a mapping of columns to lists, a list of mappings, or a pandas frame. Rows of a session are refused:
                predictions for private rows disclose facts about them.

        Example:
            >>> fit = session.regress("visits", "age ~ ward", epsilon=1)
            >>> len(fit.predict({"ward": ["A", "B"]}))
            2
        """
        return tuple(self._predicted(row) for row in self._own_rows(rows))

    def _own_rows(self, rows: Any) -> list[dict[str, Any]]:
        names = self.formula.terms
        allowed = f"your own rows with {', '.join(names) or 'no columns'}: lists by column, or a list of mappings"
        if type(rows).__module__.split(".")[0] == "pandas" and hasattr(rows, "to_dict"):
            rows = {str(name): column for name, column in rows.to_dict("list").items()}
        if isinstance(rows, Mapping):
            missing = [name for name in names if name not in rows]
            if missing or not all(isinstance(rows[name], (list, tuple)) for name in names):
                raise BadParameter("rows", ", ".join(map(str, rows)) or "nothing", allowed)
            if len({len(rows[name]) for name in names}) > 1:
                raise BadParameter("rows", "lists of different lengths", allowed)
            size = len(rows[names[0]]) if names else 1
            rows = [{name: rows[name][place] for name in names} for place in range(size)]
        if not isinstance(rows, (list, tuple)) or not all(isinstance(row, Mapping) for row in rows):
            raise BadParameter("rows", type(rows).__name__, allowed)
        if len(rows) > _MOST_PREDICTED:
            raise BadParameter("rows", len(rows), f"at most {_MOST_PREDICTED:,} rows at once")
        return [dict(row) for row in rows]

    def _predicted(self, row: Mapping[str, Any]) -> Estimate:
        target = self.factors[self._explained]
        direction = [self._factor_of(self.factors[column], row) * float(target.unit) for column in self._columns]
        estimate, error, low, high, _, _ = self._bound(direction, float(target.centre))
        return Estimate(
            value=estimate, low=low, high=high, confidence=self.confidence, standard_error=error, covers=COVERS
        )

    def _factor_of(self, factor: Factor, row: Mapping[str, Any]) -> float:
        if factor.kind == "constant":
            return 1.0
        if factor.kind == "number":
            parts = factor.parts or ((factor.name, None),)
            value = math.prod(self._part_of(name, level, row) for name, level in parts)
            return float((value - factor.centre) / factor.unit)
        return float(self._part_of(factor.name, factor.level, row))

    def _part_of(self, name: str, level: Any, row: Mapping[str, Any]) -> Fraction:
        """Return a number of a row, or whether its category has a level."""
        if name not in row:
            raise BadParameter("rows", ", ".join(map(str, row)), f"rows with {name}")
        value, levels = row[name], self.levels.get(name)
        if levels is None:
            return rational(value, name)
        if not any(type(value) is type(known) and value == known for known in levels):
            raise BadParameter(name, value, f"one of {', '.join(map(str, levels))}")
        return Fraction(int(value == level))

    # --- other readings of the same sums ------------------------------------------------------------------------------

    def correlations(self) -> Correlations:
        """Return the correlations of all numbers that were measured, with intervals, for free.

        Raises:
            RequestError: if they were measured without a constant, or without squares of the target.

        Example:
            >>> session.regress("visits", "cost ~ age", epsilon=1).correlations().names
            ('age', 'cost')
        """
        noisy, names = self._covariances()
        places = range(len(names))
        exact = CorrelationBound(1.0, 1.0, 1.0)
        bounds = tuple(
            tuple(exact if i == j else correlation_of(noisy, i, j, self.confidence) for j in places) for i in places
        )
        return Correlations(names, bounds, self.confidence, self._weighted())

    def covariance(self) -> dict[tuple[str, str], float]:
        """Return the covariances of all numbers that were measured, in their units, for free; no intervals."""
        noisy, names = self._covariances()
        units = [float(self.factors[place].unit) for place in self._numbers]
        return {
            (first, second): float(noisy.matrix[i, j]) * units[i] * units[j]
            for i, first in enumerate(names)
            for j, second in enumerate(names)
        }

    def components(self, *, scaled: bool = True) -> Components:
        """Return the principal components of all numbers that were measured, for free.

        Args:
            scaled: whether columns are scaled to equal variance first; else each is from -1 to 1 within its bounds.
        """
        scaled = truth(scaled, "scaled")
        noisy, names = self._covariances()
        seed = int(hashlib.sha256(self.digest.encode()).hexdigest()[:16], 16)
        components = components_of(noisy, confidence=self.confidence, seed=seed, scaled=scaled)
        unknown = "Where it says not known, the noise is too large beside the gap to the next variance."
        notes = (unknown,) if any(not component.bounded for component in components) else ()
        return Components(names, components, self.confidence, scaled, (*notes, *self._weighted()))

    @property
    def _numbers(self) -> list[int]:
        """The places of the columns that are numbers; products of columns are not among them."""
        return [place for place, factor in enumerate(self.factors) if factor.kind == "number" and not factor.parts]

    def _covariances(self) -> tuple[NoisyCovariance, tuple[str, ...]]:
        constant = next((place for place, factor in enumerate(self.factors) if factor.kind == "constant"), None)
        if constant is None or not self.intervals:
            raise RequestError(
                "covariances need the means and squares of all columns; ask for a model with a constant, and intervals"
            )
        numbers = self._numbers
        if len(numbers) < 2:
            raise RequestError("there is one number only, and nothing to compare it with; name another one")
        return covariance_of(self.moments, numbers, constant), tuple(self.factors[number].name for number in numbers)

    def _weighted(self) -> tuple[str, ...]:
        if not self.people:
            return ()
        many = f"{self.rows_each} row{'s' * (self.rows_each != 1)}"
        return (f"Of rows weighted so that each person counts as at most {many}.",)

    # --- display ------------------------------------------------------------------------------------------------------

    @property
    def method(self) -> str:
        """How coefficients and intervals were computed."""
        return METHOD

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What intervals and p-values take for granted."""
        who = "people" if self.people else "rows"
        return (
            f"The errors of {who} are independent and of equal variance, and {who} are a sample of a population.",
            "The relation is linear within the declared bounds; values outside them are clamped first.",
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know when reading the numbers."""
        notes = []
        if self.intervals and any(not math.isfinite(coefficient.low) for coefficient in self.coefficients):
            notes.append("Where there is no bound, the data and the noise do not bound the coefficient: pay more.")
        if self.fit.repaired and not self.ridge:
            notes.append(
                "The noise is as large as the sums in some direction; estimates are drawn towards 0 there. Intervals "
                "are those of the sums as they were released."
            )
        if self.ridge:
            notes.append("Estimates are shrunk (ridge); intervals and p-values are those without it.")
        if self.people and self.rows_each > 1:
            notes.append(
                f"Coefficients are those of rows weighted so that each person counts as at most {self.rows_each} rows; "
                f"sampling variances are multiplied by {self.rows_each}, which is conservative."
            )
        elif self.people:
            notes.append("Coefficients are those of rows weighted so that each person counts as at most 1 row.")
        if self.normed:
            notes.append(f"Rows above the declared {self.normed} norm are scaled down as a whole, and count less.")
        if not self.intervals:
            notes.append("intervals=False: the sums that standard errors need were not measured.")
        return tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        r_squared = self.r_squared
        return {
            "formula": str(self.formula),
            "table": self.table,
            "version": self.version,
            "coefficients": [coefficient.to_dict() for coefficient in self.coefficients],
            "confidence": self.confidence,
            "rows": self.rows,
            "r_squared": None if math.isnan(r_squared) else r_squared,
            "method": self.method,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "cost": dict(self.price),
            "digest": self.digest,
        }

    def to_pandas(self) -> Any:
        """Return the coefficient table as a pandas frame (needs pandas)."""
        rows = [coefficient.to_dict() for coefficient in self.coefficients]
        return optional_package("pandas", "to_pandas needs").DataFrame(rows)

    def plot(self, path: Any = None, *, theme: Literal["light", "dark"] = "light") -> Any:
        """Return a picture of the coefficients with error bars (needs matplotlib); save it if a path is given.

        Args:
            path: the file to write, too: .png, .svg or .pdf; none if left out.
            theme: "light" or "dark", for the page around it.
        """
        from privet.plots.findings import plot_estimates

        shown = [term for term in self.coefficients if term.name != "(intercept)"] or list(self.coefficients)
        estimates = {
            term.name: Estimate(
                value=term.estimate,
                low=term.low,
                high=term.high,
                confidence=self.confidence,
                standard_error=term.standard_error,
                covers=COVERS,
            )
            for term in shown
        }
        return plot_estimates(estimates, title=str(self.formula), reference=0.0, path=path, theme=theme)

    def __repr__(self) -> str:
        def draw(console: Console) -> None:
            console.print(str(self.formula), style="bold", markup=False, highlight=False)
            draw_grid(console, self._figures(), wraps=True)
            draw_facts(console, self._facts())

        return written(draw)

    def _repr_html_(self) -> str:
        head = html_facts([("", str(self.formula))])
        return f"<div>{head}{html_table(self._figures())}{html_facts(self._facts())}</div>"

    def _figures(self) -> list[Figures]:
        rows = self.coefficients
        named = Figures("", tuple(row.name for row in rows), right=False)
        estimates = Figures("estimate", tuple(_shown(row.estimate, row) for row in rows), right=True)
        if not self.intervals:
            return [named, estimates]
        errors = tuple(_shown(row.standard_error, row) for row in rows)
        ends = tuple(f"{_shown(row.low, row)} to {_shown(row.high, row)}" for row in rows)
        return [
            named,
            estimates,
            Figures("standard error", errors, right=True),
            Figures(f"{self.confidence * 100:g}% interval", ends, right=True),
            Figures("p-value", tuple(shown_p_value(row.p_value) for row in rows), right=True),
            Figures("due to privacy", tuple(f"{row.privacy:.0%}" for row in rows), right=True),
        ]

    def _facts(self) -> list[tuple[str, str]]:
        facts = [("rows", "not measured" if self.rows is None else f"about {self.rows:,.0f}")]
        if not math.isnan(self.r_squared):
            facts.append(("explained", f"{self.r_squared:.0%} of the variance"))
        facts.append(("method", self.method))
        facts += [("" if place else "assumes", text) for place, text in enumerate(self.assumptions)]
        facts += [("" if place else "notes", text) for place, text in enumerate(self.notes)]
        version = f", version {self.version}" if self.version else ""
        facts.append(("cost", f"{cost_words(self.price)}, once, for {self.table}{version}; all else is free"))
        return facts


def _shown(value: float, of: Coefficient) -> str:
    """Return a number as the table shows it, rounded by its standard error."""
    if math.isinf(value):
        return "no bound"
    if math.isnan(value):
        return "not known"
    if not math.isfinite(of.standard_error) or of.standard_error <= 0 or abs(value) >= 1e15:
        return shown_amount(value)
    digits = max(0, 1 - math.floor(math.log10(of.standard_error)))
    return f"{value:,.{min(digits, 12)}f}"


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
        return tuple(tuple(bound.value for bound in row) for row in self.bounds)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        pairs = [
            {"first": a, "second": b, "value": bound.value, "low": bound.low, "high": bound.high}
            for i, a in enumerate(self.names)
            for j, b in enumerate(self.names)
            if i < j
            for bound in [self.bounds[i][j]]
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
        """Return everything as plain data for JSON: None for numbers that the noise leaves unknown."""

        def known(number: float) -> float | None:
            return None if math.isnan(number) else number

        components = [
            {
                "variance": component.variance,
                "share": component.share,
                "low": known(component.low),
                "high": known(component.high),
                "angle": known(component.angle),
                "loadings": dict(zip(self.names, component.loadings, strict=True)),
            }
            for component in self.components
        ]
        return {
            "components": components,
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
        components = self.components
        ends = tuple(f"{axis.low:.4g} to {axis.high:.4g}" if axis.bounded else "not known" for axis in components)
        turned = tuple(f"{axis.angle:.2g}°" if axis.bounded else "not known" for axis in components)
        columns = [
            Figures("component", tuple(str(place + 1) for place in range(len(components))), right=True),
            Figures("variance", tuple(f"{axis.variance:.4g}" for axis in components), right=True),
            Figures("share", tuple(f"{axis.share:.0%}" for axis in components), right=True),
            Figures(f"{self.confidence * 100:g}% interval", ends, right=True),
            Figures("turned by at most", turned, right=True),
        ]
        for place, name in enumerate(self.names):
            columns.append(Figures(name, tuple(f"{axis.loadings[place]:.2f}" for axis in components), right=True))
        return columns

    def _facts(self) -> list[tuple[str, str]]:
        covered = "Intervals and angles cover the noise, not sampling error."
        return [("" if place else "notes", text) for place, text in enumerate((covered, *self.notes))]
