"""Scan -> SQL that reads each row once: a unit's weight is found by windows over the very rows that it weighs.

For engines where rows that a statement names twice are read twice. A person with one row at the first read and a
thousand at the second would have the weight of one row for all of them; here no weight meets rows that it was not
found from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from privet.core.errors import InvariantError, Unsupported
from privet.core.scan import Counts, Near, Norm, Once, Products, Scan, Truncate
from privet.core.schema import Key
from privet.query.typed import INT64

from .dialect import Dialect
from .products import ProductWriter
from .row_values import line, with_share, with_weight
from .statement import CountingWriter, Statement, Writer, check_norm, total_as

_LARGEST = 10**31
"""Whole division of numbers beyond 64 bits is exact as long as the quotient is below this."""


def in_one_read(scan: Scan, relation: str, secret: int, dialect: Dialect) -> Statement:
    """Return the SQL of a scan over a relation, as `statement` and `counting` do, but with every row read once.

    Guarantee: that of `statement` and `counting`, also where the relation returns other rows each time it is read: all
    that is known of a unit, and all that it adds to a result, is computed from one reading of its rows.
    """
    _verify_divisions(scan)
    if scan.products is not None:
        return _WindowProducts(scan, relation, secret, dialect, scan.products).write()
    if scan.places is not None:
        return _WindowCounting(scan, relation, secret, dialect).write()
    return _WindowWriter(scan, relation, secret, dialect).write()


def _verify_divisions(scan: Scan) -> None:
    """Refuse numbers whose whole quotients might have more digits than the engine's decimals keep."""
    bounding = scan.bounding
    if isinstance(bounding, Norm) and bounding.limit * 4**bounding.shift >= _LARGEST:
        raise Unsupported("the bound on what one person contributes does not fit what this engine divides exactly")
    for total in (*scan.sums, *(() if scan.places is None else (scan.places,))):
        form = line(total)
        if form.divisor != 1 and form.most // form.divisor >= _LARGEST:
            raise Unsupported("the grid of this sum does not fit what this engine divides; declare a larger step")


class _Gathering(Writer):
    """Writes the rows of people so that all rows of one are in one place, where they are grouped and weighed."""

    def _rows(self, *, unit: bool, values: str, every: bool = False, filtered: bool = True) -> str:
        rows = super()._rows(unit=unit, values=values, every=every, filtered=filtered)
        return self.dialect.together(rows, "u") if unit else rows

    def _over_unit(self, rows: str, *columns: str) -> str:
        return f"SELECT *, {', '.join(columns)} FROM {self.nested(rows)}"


class _WindowWriter(_Gathering):
    def _norm(self, norm: Norm) -> str:
        check_norm(norm)
        size = "n" if norm.order == 1 else self._square(norm)
        cells, names = self._cells(norm)
        totals = self._weighted(norm, names)
        if not self.k:
            weighed = with_weight(f"SELECT *, {size} AS q FROM {self.nested(cells)}", norm, self.dialect)
            return f"SELECT {self._listed(totals)} FROM {self.nested(weighed)}"
        q = f"{self.dialect.sum(size)} OVER (PARTITION BY u) AS q"
        sized = self._over_unit(cells, q, "count(*) OVER (PARTITION BY u) AS c")
        return self._summed(with_weight(sized, norm, self.dialect), totals)

    def _largest(self, norm: Norm) -> str:
        check_norm(norm)
        cells, names = self._cells(norm)
        group = ", ".join(["u", *self.k[:-1]])
        # the first cell of each group stands for it: which one that is does not matter
        first = f"row_number() OVER (PARTITION BY {group} ORDER BY {self.dialect.rising(self.k[-1])}) AS i"
        largest = self._over_unit(cells, f"max(n) OVER (PARTITION BY {group}) AS m", first)
        q = f"{self.dialect.sum('CASE WHEN i = 1 THEN m ELSE 0 END')} OVER (PARTITION BY u) AS q"
        sized = self._over_unit(largest, q, "count(*) OVER (PARTITION BY u) AS c")
        return self._summed(with_weight(sized, norm, self.dialect), self._weighted(norm, names))

    def _summed_cells(self, cells: str, units: str, totals: list[str]) -> str:
        # only a truncation comes here, which needs no weights: just the number of groups that a unit keeps
        return self._summed(self._over_unit(cells, "count(*) OVER (PARTITION BY u) AS c"), totals)

    def _summed(self, cells: str, totals: list[str]) -> str:
        """Return the totals over cells that have their weights, and with `discovery` those of the keys units keep."""
        discovery = self.scan.discovery
        if discovery is None:
            return f"SELECT {self._listed([*self.k, *totals])} FROM {self.nested(cells)}{self._group_by()}"
        shared = with_share(cells, discovery, self.dialect)
        order = ", ".join([self._hash(["u", *self.k]), *map(self.dialect.rising, self.k)])
        ranked = self._over_unit(shared, f"row_number() OVER (PARTITION BY u ORDER BY {order}) AS o")
        kept = f"o <= {discovery.most}"
        weights = [
            f"{self.dialect.total(self.dialect.sum('d'), kept)} AS d",
            f"{self.dialect.total('count(*)', kept)} AS holders",
        ]
        grouped = f"SELECT {self._listed([*self.k, *totals, *weights])} FROM {self.nested(ranked)}{self._group_by()}"
        shown = self._listed([*self.k, *(f"t{index}" for index in range(len(totals))), "d"])
        return f"SELECT {shown} FROM {self.nested(grouped)} WHERE holders > 0"


class _WindowProducts(_Gathering, ProductWriter):
    def __init__(self, scan: Scan, relation: str, secret: int, dialect: Dialect, products: Products) -> None:
        ProductWriter.__init__(self, scan, relation, secret, dialect, products)

    def _of_people(self, norm: Norm) -> str:
        sized = self._over_unit(self._factors(unit=True), "count(*) OVER (PARTITION BY u) AS q")
        totals = [
            total_as(self.dialect.sum(f"w * {product}"), index)
            for index, product in enumerate(self._multiplied(2**norm.shift))
        ]
        return f"SELECT {', '.join(totals)} FROM {self.nested(with_weight(sized, norm, self.dialect))}"

    def _multiplied(self, weight: int) -> list[str]:
        """Return all products: in 64 bits where the ends of factors and the weight prove that they fit."""
        products = []
        for first, second in self.products.pairs:
            most = self.scan.sums[first].most * self.scan.sums[second].most * weight
            left = f"v{first}" if most <= INT64[1] else self.dialect.wide(f"v{first}")
            products.append(f"({left} * v{second})")
        return products


class _WindowCounting(_Gathering, CountingWriter):
    def __init__(self, scan: Scan, relation: str, secret: int, dialect: Dialect) -> None:
        CountingWriter.__init__(self, placed_alone(scan), relation, secret, dialect)

    def _member(self, name: str, values: list[Key]) -> str:
        return Writer._member(self, name, values)

    def write(self) -> Statement:
        self._verify_weights_fit()
        match self.scan.bounding:
            case Once():
                rows, weight = self._placed(unit=False), "count(*)"
            case Norm(order=1) as norm:
                sized = self._over_unit(self._placed(unit=True), "count(*) OVER (PARTITION BY u) AS q")
                rows, weight = with_weight(sized, norm, self.dialect), "sum(w)"
            case Truncate() as truncate:
                rows, weight = self._cut(truncate), "count(*)"
            case _:
                raise InvariantError("places are counted under an L1 norm")
        by = ", ".join([*self.k, "p"])
        counted = f"SELECT {by}, {self.dialect.narrow(weight)} AS n FROM {self.nested(rows)} GROUP BY {by}"
        if self.scan.near is not None:
            counted = self._merged(counted, self.scan.near)
        kinds = tuple(key.kind for key in self.keys)
        return Statement(f"SELECT {by}, n FROM {self.nested(counted)} WHERE n > 0", len(self.k), self.parameters, kinds)

    def _merged(self, counted: str, near: Near) -> str:
        """Return the counts with those of a block taken together, unless a rank that is looked for may lie in it."""
        dialect, nested = self.dialect, self.nested
        whole, wide = dialect.whole, dialect.wide
        base, share = whole(near.share.denominator), whole(near.share.numerator)
        above, below = (wide(whole(end * near.share.denominator)) for end in (near.above, near.below))
        block = f"SELECT *, {dialect.block('p', near.bits)} AS b FROM {nested(counted)} WHERE n > 0"
        of = f"PARTITION BY {', '.join(self.k)} " if self.k else ""
        within = ", ".join([*self.k, "b"])
        sums = [
            f"sum(n) OVER (PARTITION BY {within}) AS m",
            # rows of one block tie in this order, and a range takes all that tie
            f"sum(n) OVER ({of}ORDER BY b RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS t",
            f"sum(n) OVER ({of.strip()}) AS a",
        ]
        ranked = f"SELECT *, {', '.join(sums)} FROM {nested(block)}"
        begins = f"{wide('(t - m)')} * {base} < {wide('a')} * {share} + {above}"
        ends = f"{wide('t')} * {base} > {wide('a')} * {share} - {below}"
        place = f"CASE WHEN {begins} AND {ends} THEN p ELSE b * {whole(2**near.bits)} END"
        placed = f"SELECT {', '.join([*self.k, f'{place} AS p', 'n'])} FROM {nested(ranked)}"
        by = ", ".join([*self.k, "p"])
        return f"SELECT {by}, {dialect.narrow('sum(n)')} AS n FROM {nested(placed)} GROUP BY {by}"


def placed_alone(scan: Scan) -> Scan:
    """Return a scan that counts by place as the writer of sums takes it: with the place as its one sum."""
    from dataclasses import replace

    if scan.places is None:
        raise InvariantError("this scan counts nothing by place")
    return replace(scan, sums=(scan.places,), places=None)


def grouped_counts(keys: Sequence[Sequence[Any]], places: Any, weights: Any) -> dict[tuple[Key, ...], Counts]:
    """Return counts by place, by group and in order, from columns with a row for each group and place.

    `places` and `weights` are arrays of NumPy's.
    """
    if not keys:
        order = places.argsort(kind="stable")
        return {(): (places[order], weights[order])} if len(places) else {}
    groups: dict[tuple[Key, ...], list[int]] = {}
    for row, cell in enumerate(zip(*keys, strict=True)):
        groups.setdefault(cell, []).append(row)
    made: dict[tuple[Key, ...], Counts] = {}
    for cell, rows in groups.items():
        own = places[rows]
        order = own.argsort(kind="stable")
        made[cell] = (own[order], weights[rows][order])
    return made
