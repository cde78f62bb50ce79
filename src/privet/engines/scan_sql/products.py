"""Sums of products of two factors, as SQL: each factor is clamped on its grid, and rows may be scaled to a norm.

The factors are integers that were clamped in the layer below; a norm of rows is enforced in integers, too.
"""

from __future__ import annotations

from privet.core.errors import InvariantError, Unsupported
from privet.core.scan import Norm, Once, Products, RowNorm, Scan
from privet.query.shape import MOST_ROWS
from privet.query.typed import INT64

from .dialect import Dialect
from .row_values import LARGEST, with_weight
from .statement import Statement, Writer


def multiplied(scan: Scan, relation: str, secret: int, dialect: Dialect, *, parts: int = 1) -> Statement:
    """Return the SQL of a scan that sums products; the one row of the result has an integer for each pair.

    Guarantee: a row gives to each pair the product of two integers within the ends of their factors, or 0; with a norm
    of rows, of integers whose first ones keep to it. With `Norm`, what a unit's rows give is weighted so that its
    weight times its rows is at most limit * 2**shift; it does not depend on the rows of other units.
    """
    if scan.products is None:
        raise InvariantError("this scan sums no products")
    return ProductWriter(scan, relation, secret, dialect, scan.products, parts=parts).write()


class ProductWriter(Writer):
    def __init__(
        self, scan: Scan, relation: str, secret: int, dialect: Dialect, products: Products, *, parts: int = 1
    ) -> None:
        super().__init__(scan, relation, secret, dialect, parts=parts)
        self.products = products

    def write(self) -> Statement:
        """Return the statement."""
        bounding = self.scan.bounding
        self._verify_products_fit(2**bounding.shift)
        match bounding:
            case Once():
                sums = [f"coalesce({total}, 0) AS t{index}" for index, total in enumerate(self._sums())]
                sql = f"SELECT {', '.join(sums)} FROM {self.nested(self._factors(unit=False))}"
            case Norm(order=1) as norm:
                sql = self._of_people(norm)
            case _:
                raise InvariantError("products are summed under an L1 norm")
        return Statement(sql, 0, self.parameters, parts=self.parts)

    def _factors(self, *, unit: bool) -> str:
        """Return the rows that count: u, and the factors as v0, v1, ..., scaled down where a norm of rows is over."""
        rows = self._rows(unit=unit, values="now")
        norm = self.products.norm
        return rows if norm is None else self._scaled(rows, norm, unit=unit)

    def _scaled(self, rows: str, norm: RowNorm, *, unit: bool) -> str:
        dialect, names = self.dialect, [f"v{index}" for index in range(len(self.given))]
        first = names[: norm.over]
        parts = [f"abs({name})" if norm.order == 1 else f"{name} * {name}" for name in first]
        # a row of nothing but zeros keeps its weight, whatever its size is taken to be
        size = f"{dialect.whole(0)} + {' + '.join(parts)}"
        sized = f"SELECT *, CASE WHEN {size} < 1 THEN 1 ELSE {size} END AS q FROM {self.nested(rows)}"
        weighed = with_weight(sized, Norm(norm.order, norm.limit, norm.shift), dialect)
        cut = [f"{dialect.divide_whole(f'({name} * w)', dialect.whole(2**norm.shift))} AS {name}" for name in names]
        return f"SELECT {', '.join((['u'] if unit else []) + cut)} FROM {self.nested(weighed)}"

    def _sums(self) -> list[str]:
        """Return the sums of all products: multiplied in 64 bits where the ends of factors prove that it fits."""
        wide = self.dialect.wide
        products = []
        for first, second in self.products.pairs:
            most = self.scan.sums[first].most * self.scan.sums[second].most
            left = f"v{first}" if most <= INT64[1] else wide(f"v{first}")
            products.append(self.dialect.sum(f"{left} * v{second}"))
        return products

    def _of_people(self, norm: Norm) -> str:
        """Return the form that sums all rows at the full weight, and subtracts the excess of heavier units.

        sum of w(u) s(u) = 2**shift * sum of s(u) + sum of (w(u) - 2**shift) s(u), in integers.
        """
        dialect, nested = self.dialect, self.nested
        rows, full = self._factors(unit=True), dialect.whole(2**norm.shift)
        units = f"SELECT u, count(*) AS q FROM {nested(self._counted())} GROUP BY u"
        weights = f"SELECT u, w - {full} AS w FROM {nested(with_weight(units, norm, dialect))} WHERE w < {full}"
        sums = [f"{total} AS s{index}" for index, total in enumerate(self._sums())]
        everyone = f"SELECT {', '.join([f'{full} AS w', *sums])} FROM {nested(rows)}"
        fewer = f"SELECT {', '.join(['w', *sums])} FROM {nested(rows)} JOIN w USING (u) GROUP BY w"
        totals = [f"coalesce(sum(w * {dialect.wide(f's{index}')}), 0) AS t{index}" for index in range(len(sums))]
        both = nested(f"{everyone} UNION ALL {fewer}")
        return f"WITH {dialect.materialised('w', weights, kept=True)} SELECT {', '.join(totals)} FROM {both}"

    def _counted(self) -> str:
        """Return the units of the rows that count, without their factors."""
        held, self.given = self.given, []
        rows = self._rows(unit=True, values="later")
        self.given = held
        return rows

    def _verify_products_fit(self, weight: int) -> None:
        """Refuse products that are not proven to fit into 128 bits, however many rows one unit has."""
        sums = self.scan.sums
        most = max(sums[first].most * sums[second].most for first, second in self.products.pairs)
        norm, largest = self.products.norm, max(total.most for total in sums)
        scales = norm is None or max(largest * 2**norm.shift, largest**2 * norm.over) < INT64[1]
        if most * weight * MOST_ROWS >= LARGEST or largest >= INT64[1] or not scales:
            raise Unsupported("these products may not fit into 128 bits; declare narrower bounds, or a larger step")
