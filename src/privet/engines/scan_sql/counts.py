"""Counts by place, as SQL: for each group the places of a grid at which there are rows, and what these weigh.

What is bounded and how is as for sums, except that a row which has no place is not there at all. Rows stay where they
are; no more than the places that hold some come back. Where a scan says which ranks it looks at closely, rows are
counted by blocks of places first, and then by place where that is needed: both in one statement, so of the same rows.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from privet.core.errors import InvariantError, Unsupported
from privet.core.scan import Counts, Near, Norm, Once, Scan, Truncate
from privet.core.schema import Key, Kind

from .dialect import Dialect
from .row_values import with_weight
from .statement import Statement, Writer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LARGEST = 2**62


def counting(scan: Scan, relation: str, secret: int, dialect: Dialect) -> Statement:
    """Return the SQL of a scan that counts by place; each row of the result is a group's keys, its places, its weights.

    Guarantee: with `Norm` of order 1, what a unit weighs at all places of all groups is at most limit * 2**shift; with
    `Truncate`, at most rows * groups; with `Once`, 1. It does not depend on the rows of other units. With `near`, rows
    are counted at the first place of their block only where that allows it; which ones depends on all rows, and it is
    the choice that must not, as `RankChoice` shows.
    """
    if scan.places is None or scan.sums or scan.discovery is not None or scan.distinct:
        raise InvariantError("a scan counts by place, or sums")
    return _Counting(replace(scan, sums=(scan.places,), places=None), relation, secret, dialect).write()


def as_counts(columns: Mapping[str, NDArray[Any]], kinds: Sequence[Kind | None]) -> dict[tuple[Key, ...], Counts]:
    """Return what the statement gave, by group, with the places of each in order."""
    keys = [_as_keys(columns[f"k{index}"].tolist(), kind) for index, kind in enumerate(kinds)]
    found: dict[tuple[Key, ...], Counts] = {}
    for row, (places, weights) in enumerate(zip(columns["ps"], columns["ns"], strict=True)):
        order = places.argsort()
        found[tuple(key[row] for key in keys)] = (places[order], weights[order])
    return found


def _as_keys(values: list[Any], kind: Kind | None) -> list[Key]:
    """Return the values of a key as they are declared; NumPy has no dates without a time."""
    if kind == "date":
        return [one.date() if isinstance(one, datetime.datetime) else one for one in values]
    return values


class _Counting(Writer):
    def __init__(self, scan: Scan, relation: str, secret: int, dialect: Dialect) -> None:
        super().__init__(scan, relation, secret, dialect)
        self.coded: dict[str, Kind] = {}

    def _member(self, name: str, values: list[Key]) -> str:
        """Return the test that a key is public; one of a bound list has its number there from then on, see `_codes`."""
        test = super()._member(name, values)
        if name not in self.parameters or None in (self.scan.keys[int(name[1:])].values or ()):
            return test
        kind = self.keys[int(name[1:])].kind
        if kind is None:
            raise InvariantError("a key without a kind has no public values")
        self.coded[name] = kind
        return "true"

    def _codes(self) -> list[str]:
        """Return the lists of public keys with the number of each: numbers are grouped by and joined on faster.

        A value is there once, so that a row finds one number at most.
        """
        dialect = self.dialect
        return [
            dialect.materialised(f"d{name}", dialect.numbered(name, kind), kept=True)
            for name, kind in self.coded.items()
        ]

    def write(self) -> Statement:
        bounding = self.scan.bounding
        weight = 2**bounding.shift if isinstance(bounding, Norm) else 1
        if self.scan.schema.rows * weight >= _LARGEST:
            raise Unsupported(
                f"with up to {self.scan.schema.rows:,} rows these weights may not fit into 64 bits; declare fewer rows"
            )
        # a stored table is read again faster than its rows are kept; what is made of tables is made once
        named = self.dialect.materialised
        held = None if isinstance(self.scan.table, str) else True
        with_rows = [named("x", self._placed(unit=not isinstance(bounding, Once)), kept=held)]
        self.weigh, self.total = "", "count(*)"
        match bounding:
            case Once():
                pass
            case Norm() as norm:
                if norm.order != 1:
                    raise InvariantError("places are counted under an L1 norm")
                units = with_weight("SELECT u, count(*) AS q FROM x GROUP BY u", norm, self.dialect)
                with_rows.append(named("w", f"SELECT u, w FROM {self.nested(units)}", kept=True))
                self.weigh, self.total = " JOIN w USING (u)", "sum(w)"
            case Truncate() as truncate:
                with_rows = [named("x", self._cut(truncate), kept=True)]
            case _:
                raise InvariantError("an unknown kind of bounding")
        near = self.scan.near
        steps, counted = ([], self._counted("x.p", "")) if near is None else self._near(near)
        collected = self.dialect.collected
        listed = ", ".join([*self.k, f"{collected('p')} AS ps", f"{collected('n')} AS ns"])
        sql = f"SELECT {listed} FROM {self.nested(counted)} WHERE n > 0{self._group_by()} HAVING count(*) > 0"
        if self.coded:
            shown = [f"d{name}.v AS {name}" if name in self.coded else name for name in self.k]
            found = "".join(f" JOIN d{name} ON {name} = d{name}.c" for name in self.coded)
            sql = f"SELECT {', '.join([*shown, 'ps', 'ns'])} FROM {self.nested(sql)}{found}"
        kinds = tuple(key.kind for key in self.keys)
        return Statement(
            f"WITH {', '.join([*self._codes(), *with_rows, *steps])} {sql}", len(self.k), self.parameters, kinds
        )

    def _counted(self, place: str, among: str) -> str:
        """Return what the rows weigh by group and place, or by what is made of it: k0, ..., p and n."""
        keys = [f"x.{name} AS {name}" for name in self.k]
        made = ", ".join([*keys, f"{place} AS p", f"{self.dialect.narrow(self.total)} AS n"])
        by = ", ".join([*(f"x.{name}" for name in self.k), place])
        return f"SELECT {made} FROM x{among}{self.weigh} GROUP BY {by}"

    def _near(self, near: Near) -> tuple[list[str], str]:
        """Return steps that find the blocks to look into, and the counts: of those by place, of others by block."""
        whole, nested, named = self.dialect.whole, self.nested, self.dialect.materialised
        one, share, size = whole(near.share.denominator), whole(near.share.numerator), whole(2**near.bits)
        among = f"PARTITION BY {', '.join(self.k)} " if self.k else ""
        ranks = f"*, sum(n) OVER ({among}ORDER BY p ROWS UNBOUNDED PRECEDING) AS t, sum(n) OVER ({among.strip()}) AS a"
        begins = f"(t - n) * {one} < a * {share} + {whole(near.above * near.share.denominator)}"
        ends = f"t * {one} > a * {share} - {whole(near.below * near.share.denominator)}"
        ranked = f"SELECT {ranks} FROM c WHERE n > 0"
        # these blocks lie side by side, but for some that hold nothing
        window = [*self.k, f"min(p) * {size} AS lo", f"max(p) * {size} + {size} - {whole(1)} AS hi"]
        same = [f"x.{name} IS NOT DISTINCT FROM m.{name}" for name in self.k]
        within = " AND ".join([*same, "x.p >= m.lo", "x.p <= m.hi"])
        steps = [
            named("c", self._counted(self.dialect.block("x.p", near.bits), ""), kept=None),
            named("s", f"SELECT *, {begins} AND {ends} AS near FROM {nested(ranked)}", kept=True),
            named("m", f"SELECT {', '.join(window)} FROM s WHERE near{self._group_by()}", kept=True),
        ]
        far = ", ".join([*self.k, f"p * {size} AS p", "n"])
        return steps, f"SELECT {far} FROM s WHERE NOT near UNION ALL {self._counted('x.p', f' JOIN m ON {within}')}"

    def _placed(self, *, unit: bool, every: bool = False) -> str:
        """Return the rows that have a place: u, k0, ..., h and p."""
        one = self.given[0]
        place = one.value if one.condition is None else f"CASE WHEN {one.condition} THEN {one.value} END"
        rows = self._rows(unit=unit, values="later", every=every)
        keys = [f"d{name}.c AS {name}" if name in self.coded else name for name in self.k]
        carried = (["u"] if unit else []) + keys + (["h"] if every else [])
        coded = "".join(f" JOIN d{name} ON {name} = d{name}.v" for name in self.coded)
        placed = f"SELECT {', '.join([*carried, f'{place} AS p'])} FROM {self.nested(rows)}{coded}"
        return f"SELECT * FROM {self.nested(placed)} WHERE p IS NOT NULL"

    def _cut(self, truncate: Truncate) -> str:
        keys = ["u", *self.k]
        over = f"PARTITION BY {', '.join(keys)} ORDER BY h, p"
        nested = self.nested
        rows = f"SELECT *, row_number() OVER ({over}) AS i FROM {nested(self._placed(unit=True, every=True))}"
        kept = f"SELECT * FROM {nested(rows)} WHERE i <= {truncate.rows}"
        if self.k:
            order = ", ".join([self._hash(keys), *self.k])
            ranked = f"SELECT *, dense_rank() OVER (PARTITION BY u ORDER BY {order}) AS j FROM {nested(kept)}"
            kept = f"SELECT * FROM {nested(ranked)} WHERE j <= {truncate.groups}"
        return f"SELECT {', '.join([*self.k, 'p'])} FROM {nested(kept)}"
