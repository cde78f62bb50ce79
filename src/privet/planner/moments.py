"""Noisy sums of products of a row's factors, all at one price: the content of X'X, X'y and y'y of a regression.

Each product is measured once, also where the matrix has it twice. The cost of the release is computed from the scan's
own factors and the scales that are drawn; no statement of a plan about itself is trusted.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from privet import noise
from privet.accounting.events import PureEvent
from privet.core.errors import BadParameter, InvariantError
from privet.core.event import Event
from privet.core.given import check_fields
from privet.core.numbers import sqrt_down, sqrt_up, whole
from privet.core.relation import Expression
from privet.core.scan import LONGEST_SHIFT, Norm, Once, RowNorm, Scan, Sum
from privet.core.wire import wired
from privet.display import shown_amount, shown_error
from privet.mechanisms.gaussian import GaussianEvent
from privet.mechanisms.lattice import exponent_below
from privet.mechanisms.laws import DiscreteLaplace

from .measures import Cell, Columns, Measure, MeasuredColumn, OpenedSums, plain_text_of, without_places

if TYPE_CHECKING:
    from privet.core.event import Floats

Family = Literal["laplace", "gaussian"]

_BLUR = Fraction(1, 2**24)
_REACH = 40
MOST_PRODUCTS = 20_000
"""No release has more products than this."""


def axes_of(scan: Scan) -> tuple[object, ...]:
    """Return the subject of each factor of a scan: two of the same subject are never both present in a row.

    Guarantee: factors that are there where one expression equals different constants of one type exclude each other.
    """
    subjects: list[object] = []
    seen: dict[Expression, set[tuple[type, object]]] = defaultdict(set)
    for place, factor in enumerate(scan.sums):
        test = factor.where
        if factor.expression is not None or test is None or test.function != "equal":
            subjects.append(place)
            continue
        of, constant = test.arguments[0], test.arguments[1].constant
        value = (type(constant), constant)
        kinds = {kind for kind, _ in seen[of]} | {type(constant)}
        if constant is None or value in seen[of] or len(kinds) > 1:
            subjects.append(place)
            continue
        seen[of].add(value)
        subjects.append(of)
    return tuple(subjects)


def loss_of(scan: Scan, scales: Sequence[Fraction], family: Family) -> Fraction:
    """Return how far one unit can move the products of a scan, each divided by its scale: in L1, or in L2 squared.

    `scales` are those of Laplace noise, or variances of Gaussian noise, of sums in which every row has weight 1.

    Let a row add v_i v_j to the pair (i, j), with |v_i| <= B_i, and D = B_i B_j.

    Guarantee: **A box.** Of the pairs between two axes a row has at most one, so it gives at most the largest D / b
    of these (D^2 / s^2), and their sum over pairs of axes in all. A row that changes moves a single pair within
    [min(low, 0), max(high, 0)], and several pairs by twice the largest in L1; in L2 squared by the larger of the
    squared range of one pair and of twice the largest square. Of m factors that stand for themselves, in units of their
    B, let p and q be half the sum and half the difference of old and new, so |p_i| + |q_i| <= 1: then v v' - w w' is
    2 (p q' + q p'), and all pairs together move by 2 sum |p| sum |q| + 2 sum |p_i q_i| <= m (m + 1) / 2 in L1, no more
    than where a row comes or goes. In L2 squared, the squares of a matrix add up to at most 2 m^2, as tr(A B) >= 0 for
    positive semi-definite A and B, and those of pairs that count once to m^2 + m / 2.
    **A norm.** Let the first factors keep to sum |v| <= L, or sum v^2 <= L^2. Then sum v_i^2 + 2 sum_{i<j} |v_i v_j| <=
    L^2 in L1, and sum v_i^4 + 2 sum_{i<j} (v_i v_j)^2 <= L^4 in L2 squared, so that the pairs of first factors lose at
    most the largest rate, 1/b of squares and 1/(2 b) of other pairs, times L^2 (with 1/s^2, L^4); pairs of one with
    another factor |y| <= Y at most the largest rate times L Y (L^2 Y^2). A unit's matrix is a sum of v v' and so
    positive semi-definite, and tr(A B) >= 0: where units change, |A - B|^2 <= |A|^2 + |B|^2. Everything else doubles.
    With k axes sum |v| <= sqrt(k sum v^2), and sum v^2 <= (sum |v|)^2.
    **People** weigh at most `limit` rows: what one gives is a sum of rows with weights w >= 0 that add up to at most
    that, so that any norm of it is at most `limit` times a row's. A group of k units is a chain of k neighbours.
    Cites: [DMNS06, vectors], [DR14, Def. 3.1].
    """
    if scan.products is None or len(scales) != len(scan.products.pairs):
        raise InvariantError("products are measured with a scale for each pair")
    power = 1 if family == "laplace" else 2
    parts = _by_part(scan, scales)
    norm = scan.products.norm
    total = Fraction(0)
    for kind, pairs in parts.items():
        bound = _in_a_box(scan, pairs, power)
        if norm is not None and kind != "others":
            bound = min(bound, _within_a_norm(scan, norm, pairs, kind, power))
        total += bound
    return total * Fraction(_rows_of(scan) * scan.schema.unit.touches) ** power


Pairs = list[tuple[tuple[int, int], Fraction]]
Part = Literal["first", "mixed", "others"]


def _by_part(scan: Scan, scales: Sequence[Fraction]) -> dict[Part, Pairs]:
    """Return the pairs with their scales: of two first factors, of one of these and another one, of two others."""
    by_kind: dict[Part, Pairs] = {"first": [], "mixed": [], "others": []}
    products = scan.products
    if products is None:
        raise InvariantError("this scan sums no products")
    over = 0 if products.norm is None else products.norm.over
    for (first, second), scale in zip(products.pairs, scales, strict=True):
        kind: Part = "first" if second < over else "mixed" if first < over else "others"
        by_kind[kind].append(((first, second), scale))
    return by_kind


def _in_a_box(scan: Scan, pairs: Pairs, power: int) -> Fraction:
    axes = axes_of(scan)
    together: dict[frozenset[object], Pairs] = defaultdict(list)
    for pair, scale in pairs:
        together[frozenset((axes[pair[0]], axes[pair[1]]))].append((pair, scale))
    change = scan.schema.moves == "change-one"
    total = alone = rate = Fraction(0)
    simple: set[int] = set()
    for group in together.values():
        most = max(Fraction(_most(scan.sums, pair)) ** power / scale for pair, scale in group)
        if not change:
            total += most
            continue
        widest = max(Fraction(_range(scan.sums, pair)) ** power / scale for pair, scale in group)
        pairs_of_one = [pair for pair, _ in group if all(axes[place] == place for place in pair)]
        if len(pairs_of_one) == len(group) == 1:
            alone, rate, simple = alone + widest, max(rate, most), simple | set(pairs_of_one[0])
        else:
            total += max(widest, 2 * most)
    m = Fraction(len(simple))
    return total + min(alone, rate * (m * (m + 1) / 2 if power == 1 else m**2 + m / 2))


def _within_a_norm(scan: Scan, norm: RowNorm, pairs: Pairs, kind: Part, power: int) -> Fraction:
    if not pairs:
        return Fraction(0)
    change = scan.schema.moves == "change-one"
    # the square of the norm that this noise needs: L1 for Laplace noise, L2 for Gaussian noise
    squared = Fraction(norm.limit) ** (3 - norm.order)
    if power == 1 and norm.order == 2:
        squared *= len(set(axes_of(scan)[: norm.over]))
    if kind == "first":
        rate = max(1 / scale if first == second else 1 / (2 * scale) for (first, second), scale in pairs)
        return rate * squared**power * (2 if change else 1)
    rates: dict[int, Fraction] = defaultdict(Fraction)
    for (_, second), scale in pairs:
        rates[second] = max(rates[second], 1 / scale)
    root = sqrt_up(squared) if power == 1 else squared
    total = sum((rate * root * scan.sums[place].most ** power for place, rate in rates.items()), Fraction(0))
    return total * (2**power if change else 1)


def _most(sums: Sequence[Sum], pair: tuple[int, int]) -> int:
    return sums[pair[0]].most * sums[pair[1]].most


def _range(sums: Sequence[Sum], pair: tuple[int, int]) -> int:
    """Return how far apart two products of a pair can be, and 0 with them."""
    (first, second) = (_ends(sums[place]) for place in pair)
    if pair[0] == pair[1]:
        return sums[pair[0]].most ** 2
    corners = [a * b for a in first for b in second]
    return max(*corners, 0) - min(*corners, 0)


def _ends(factor: Sum) -> tuple[int, int]:
    low, high = factor.ends
    return min(low, 0), max(high, 0)


def _rows_of(scan: Scan) -> int:
    """Return how many rows one unit counts as, at most."""
    match scan.bounding:
        case Once() if scan.schema.unit.rowwise:
            return 1
        case Norm(order=1, limit=limit):
            return limit
    raise InvariantError("products are summed under an L1 norm")


@wired("Moments", "family", "scales", "loss", "shift")
@dataclass(frozen=True)
class MomentMeasure:
    """Noisy sums of all products of a scan, each with a scale of its own, at one price.

    Args:
        family: the kind of noise.
        scales: for each pair the scale of Laplace noise, or the variance of Gaussian noise, where a row weighs 1.
        loss: how far one unit can move everything, divided by the scales: in L1, or in L2 squared.
        shift: the binary places of the scan's weights.

    Guarantee: Laplace noise of scales b on integers that move by x loses at most sum |x| / b. Gaussian noise has the
    curve of one number that moves by sqrt(sum x^2 / s^2), with the blur of a grid that fine.
    Cites: [DMNS06, vectors], [CKS20, Thm 14].
    """

    family: Family
    scales: tuple[Fraction, ...]
    loss: Fraction
    shift: int
    measures: ClassVar[tuple[Measure, ...]] = ()
    keys: ClassVar[None] = None
    inside: ClassVar[bool] = False
    draws: ClassVar[tuple[Any, ...]] = ()
    averaged: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)
        whole(self.shift, "shift", most=LONGEST_SHIFT)
        if not 0 < len(self.scales) <= MOST_PRODUCTS or min(self.scales) <= 0:
            raise BadParameter("scales", len(self.scales), f"1 to {MOST_PRODUCTS:,} numbers above 0")
        if self.loss <= 0:
            raise BadParameter("loss", self.loss, "above 0")

    @property
    def events(self) -> tuple[Event, ...]:
        """The cost of the noise: one event for all products."""
        if self.family == "laplace":
            return (PureEvent(self.loss),)
        return (GaussianEvent(sensitivity_squared=self.loss, sigma_squared=Fraction(1), blur=_BLUR),)

    @cached_property
    def exponent(self) -> int:
        """The number of binary places of released integers: those of the weights, or more for Gaussian noise.

        With m numbers of standard deviations s, a step of 2**-e and k = ceil(sqrt(m)), the logarithm of the ratio of
        discrete and continuous densities is at most (step / s) k (k + 40 + mu) but for a set of probability below
        2**-900.
        """
        if self.family == "laplace":
            return self.shift
        root = math.isqrt(len(self.scales) - 1) + 1
        least, mu = sqrt_down(min(self.scales)), math.ceil(sqrt_up(self.loss))
        return max(self.shift, exponent_below(least * _BLUR / (root * (root + _REACH + mu))))

    @cached_property
    def variances(self) -> Floats:
        """The variance of the noise on each sum, in products of factors as the scan has them."""
        import numpy as np

        if self.family == "gaussian":
            return np.array([float(variance) for variance in self.scales])
        return np.array([_laplace_variance(scale * 2**self.shift) / 4**self.shift for scale in self.scales])

    def columns(self, scan: Scan) -> int:
        """Return how many columns are released: one, of a number for each pair."""
        return 1

    def with_noise(self, measures: tuple[Measure, ...]) -> MomentMeasure:
        """Return the same: it has no separate noisy sums."""
        return self

    def draw(self, opened: OpenedSums, scan: Scan, cells: tuple[Cell, ...]) -> Columns:
        """Return the noisy sums as integers, each worth 2**-exponent products."""
        exact = [int(number) for number in opened.groups.get((), (0,) * len(self.scales))]
        if len(exact) != len(self.scales):
            raise InvariantError("an engine did not sum every product")
        finer = self.exponent - self.shift
        places: dict[Fraction, list[int]] = {}
        for place, scale in enumerate(self.scales):
            places.setdefault(scale, []).append(place)
        noisy = [number << finer for number in exact]
        for scale, same in places.items():
            for place, drawn in zip(same, self._noise(scale, len(same)), strict=True):
                noisy[place] += int(drawn)
        return (tuple(noisy),)

    def _noise(self, scale: Fraction, many: int) -> list[int]:
        if self.family == "laplace":
            drawn = noise.discrete_laplace(scale * 2**self.exponent, many)
        else:
            drawn = noise.discrete_gaussian(Fraction(math.ceil(scale * 4**self.exponent)), many)
        return [int(number) for number in drawn.tolist()]

    def worth(self, integers: Sequence[int]) -> Floats:
        """Return the worth of released integers, in products of factors as the scan has them."""
        import numpy as np

        return np.array([integer / (1 << self.exponent) for integer in integers], dtype=np.float64)

    def read(self, released: Columns, scan: Scan) -> list[Floats]:
        """Return the release, in products of factors as the scan has them."""
        return [self.worth(numbers) for numbers in released]

    def verify(self, scan: Scan) -> None:
        """Raise unless the noise is for the movement of one unit in this scan, computed anew from scales and factors.

        Guarantee: the event is that of the scales which are drawn, for the factors, bounds and units of this scan.
        """
        without_places(scan)
        if scan.products is None or scan.keys or scan.discovery is not None or scan.sizes is not None:
            raise InvariantError("products are measured over all rows together, and nothing else")
        if self.shift != scan.bounding.shift:
            raise InvariantError("products are read in other units than they were weighted in")
        if loss_of(scan, self.scales, self.family) > self.loss:
            raise InvariantError("the noise of products is for another sensitivity than their scan has")

    def measured(self, scan: Scan) -> list[MeasuredColumn]:
        """Return how the released numbers are read; which products they are of is in the scan."""
        name = "Laplace" if self.family == "laplace" else "Gaussian"
        step = Fraction(1, 2**self.exponent)
        return [MeasuredColumn(self._what(scan), "sum", name, step=step, bins=len(self.scales))]

    def _what(self, scan: Scan) -> str:
        names = dict.fromkeys(_factor_in_words(factor) for factor in scan.sums)
        return f"{len(self.scales):,} sums of products of two of: {', '.join(names)}"

    def facts(self, scan: Scan) -> list[dict[str, Any]]:
        """Return the releases as plain data; errors are relative to the largest product of a row."""
        pairs = () if scan.products is None else scan.products.pairs
        relative = [
            math.sqrt(variance) / max(_most(scan.sums, pair), 1)
            for variance, pair in zip(self.variances, pairs, strict=True)
        ]
        wide = 1.96 if self.family == "gaussian" else math.log(20) / math.sqrt(2)
        return [
            {
                "sum": self._what(scan),
                "noise": "Laplace" if self.family == "laplace" else "Gaussian",
                "products": len(self.scales),
                "least_standard_deviation": min(relative),
                "standard_deviation": max(relative),
                "half_width_95": max(relative) * wide,
                "sensitivity": _rows_of(scan) * scan.schema.unit.touches,
                "norm": "L1" if self.family == "laplace" else "L2",
                "row_norm": _row_norm_in_words(scan),
                "clamped_to": None,
            }
        ]

    def lines(self, scan: Scan) -> list[str]:
        """Return the releases in plain words."""
        (fact,) = self.facts(scan)
        least, most = shown_amount(fact["least_standard_deviation"]), shown_amount(fact["standard_deviation"])
        between = most if least == most else f"{least} to {most}"
        norm = f" Rows are scaled down to {fact['row_norm']}." if fact["row_norm"] else ""
        moves = {"add-remove": "comes or goes", "change-one": "changes"}[scan.schema.moves]
        return [
            f"Measures {fact['sum']}, with {fact['noise']} noise of standard deviation {between} of the largest "
            f"product that a row can have: one release, whose price follows from what a unit that {moves} adds "
            f"to all of them together.{norm}",
            "Rows in which one of these columns is NULL, or has a value that is not declared, are left out.",
        ]

    def later_lines(self, scan: Scan) -> list[str]:
        """Return the post-processing in plain words."""
        return ["Coefficients are computed from these sums; intervals include their noise and sampling error."]

    def rows(self, scan: Scan) -> list[tuple[str, ...]]:
        """Return the releases as a row of a table."""
        (fact,) = self.facts(scan)
        noise_words = (
            f"{fact['noise']}, standard deviation up to {shown_amount(fact['standard_deviation'])} of a product"
        )
        return [
            (str(fact["sum"]), noise_words, f"{fact['sensitivity']} rows", "", f"±{shown_error(fact['half_width_95'])}")
        ]

    def width(self, scan: Scan, column: int) -> str:
        """Return in words how far off a column is."""
        return "part of a regression; intervals come with the coefficients"


def _laplace_variance(steps: Fraction) -> float:
    return 2 * float(steps) ** 2 if steps > 1000 else max(DiscreteLaplace(scale=steps).variance, 2.0**-300)


def _factor_in_words(factor: Sum) -> str:
    if factor.expression is not None:
        return plain_text_of(factor.expression)
    return "1" if factor.where is None else plain_text_of(factor.where)


def _row_norm_in_words(scan: Scan) -> str | None:
    norm = None if scan.products is None else scan.products.norm
    if norm is None:
        return None
    # the constant and categories are there in full where they are: one of them states what 1 is
    ones = {factor.most for factor in scan.sums[: norm.over]}
    size = norm.limit if norm.order == 1 else math.isqrt(norm.limit)
    return f"an L{norm.order} norm of {size / max(ones):.6g}"
