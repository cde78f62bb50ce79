"""Counts by place, as SQL: for each group the places of a grid at which there are rows, and what these weigh.

What is bounded and how is as for sums, except that a row which has no place is not there at all. Rows stay where they
are; no more than the places that hold some come back.
"""

from __future__ import annotations

from dataclasses import replace

from privet.core.errors import InvariantError, Unsupported
from privet.core.scan import Counts, Norm, Once, Scan, Truncate
from privet.core.schema import Key

from .sql import Statement, Writer
from .weights import with_weight

_LARGEST = 2**62


def counting(scan: Scan, relation: str, secret: int) -> Statement:
    """Return the SQL of a scan that counts by place; each row of the result is a group's keys, its places, its weights.

    Guarantee: with `Norm` of order 1, what a unit weighs at all places of all groups is at most limit * 2**shift; with
    `Truncate`, at most rows * groups; with `Once`, 1. It does not depend on the rows of other units.
    """
    if scan.places is None or scan.sums or scan.discovery is not None or scan.distinct:
        raise InvariantError("a scan counts by place, or sums")
    return _Counting(replace(scan, sums=(scan.places,), places=None), relation, secret).write()


def as_counts(rows: list[tuple[object, ...]], keys: int) -> dict[tuple[Key, ...], Counts]:
    """Return what the statement gave, by group."""
    return {row[:keys]: (row[keys], row[keys + 1]) for row in rows if row[keys] is not None}  # type: ignore[misc]


class _Counting(Writer):
    def write(self) -> Statement:
        bounding = self.scan.bounding
        weight = 2**bounding.shift if isinstance(bounding, Norm) else 1
        if self.scan.schema.rows * weight >= _LARGEST:
            raise Unsupported(
                f"with up to {self.scan.schema.rows:,} rows these weights may not fit into 64 bits; declare fewer rows"
            )
        match bounding:
            case Once():
                counted = f"SELECT {self._cells_of('count(*)')} FROM ({self._placed(unit=False)}) GROUP BY {self._by}"
            case Norm() as norm:
                counted = self._weighed(norm)
            case Truncate() as truncate:
                counted = self._cut(truncate)
            case _:
                raise InvariantError("an unknown kind of bounding")
        listed = ", ".join([*self.k, "list(p ORDER BY p) AS ps", "list(n ORDER BY p) AS ns"])
        return Statement(
            f"SELECT {listed} FROM ({counted}) WHERE n > 0{self._group_by()}", len(self.k), self.parameters
        )

    @property
    def _by(self) -> str:
        return ", ".join([*self.k, "p"])

    def _cells_of(self, total: str) -> str:
        return f"{self._by}, CAST({total} AS BIGINT) AS n"

    def _placed(self, *, unit: bool, every: bool = False) -> str:
        """Return the rows that have a place: u, k0, ..., h and p."""
        one = self.given[0]
        place = one.value if one.condition is None else f"CASE WHEN {one.condition} THEN {one.value} END"
        carried = (["u"] if unit else []) + self.k + (["h"] if every else [])
        rows = self._rows(unit=unit, values="later", every=every)
        return f"SELECT * FROM (SELECT {', '.join([*carried, f'{place} AS p'])} FROM ({rows})) WHERE p IS NOT NULL"

    def _weighed(self, norm: Norm) -> str:
        if norm.order != 1:
            raise InvariantError("places are counted under an L1 norm")
        units = f"SELECT u, count(*) AS q FROM ({self._placed(unit=True)}) GROUP BY u"
        weights = f"SELECT u, w FROM ({with_weight(units, norm)})"
        counted = (
            f"SELECT {self._cells_of('sum(w)')} FROM ({self._placed(unit=True)}) JOIN w USING (u) GROUP BY {self._by}"
        )
        return f"WITH w AS ({weights}) {counted}"

    def _cut(self, truncate: Truncate) -> str:
        keys = ["u", *self.k]
        over = f"PARTITION BY {', '.join(keys)} ORDER BY h, p"
        rows = f"SELECT *, row_number() OVER ({over}) AS i FROM ({self._placed(unit=True, every=True)})"
        kept = f"SELECT * FROM ({rows}) WHERE i <= {truncate.rows}"
        if self.k:
            order = ", ".join([self._hash(keys), *self.k])
            ranked = f"SELECT *, dense_rank() OVER (PARTITION BY u ORDER BY {order}) AS j FROM ({kept})"
            kept = f"SELECT * FROM ({ranked}) WHERE j <= {truncate.groups}"
        return f"SELECT {self._cells_of('count(*)')} FROM ({kept}) GROUP BY {self._by}"
