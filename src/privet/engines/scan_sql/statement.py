"""Scan -> SQL. The text is made of generated names, declared constants and quoted literals only.

Rows are clamped and put on the grid (`values`), bounded within each unit, and summed per group, all in integers.
Contributions of a unit depend on its own rows alone, and on a key that is fresh for each query.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, Any

from privet.core.errors import InvariantError, Unsupported
from privet.core.scan import Counts, GroupKey, Largest, Near, Norm, Once, Pairs, Scan, Sizes, Sum, Truncate
from privet.core.schema import Key, Kind, Schema
from privet.query.expressions import mentions
from privet.query.shape import MOST_ROWS
from privet.query.typed import INT64, longest

from .dialect import Dialect, Rendered, Renderer
from .relations import relation_sql
from .row_values import LARGEST, RAW, clamped, given, grid_of, owner_of, physical, sources, with_share, with_weight

if TYPE_CHECKING:
    from numpy.typing import NDArray


_INLINE = 16
"""As many public keys are written into the text; more are bound as a list, which is parsed faster."""

_FEW_SUMS = 3
"""This many sums of each unit in each group are kept while its weight is found; for more, rows are read again."""

_FEW_TOTALS = 2
"""This many sums of each unit are kept where there are no groups; for more, rows are read again."""

_LONGEST_SHIFT = 30


@dataclass
class Statement:
    """A query for the engine: its text, and the lists of public keys that are bound to it.

    Each row of the result is `keys` keys and as many integers as the scan has sums, and one more with `discovery`.
    One that is run for each of several parts has, with `discovery`, another one: how many units keep the key.
    """

    sql: str
    keys: int
    parameters: dict[str, list[Key]] = field(default_factory=dict)
    kinds: tuple[Kind | None, ...] = ()
    """What the keys are, where the result has them as arrays."""
    parts: int = 1
    """How many times it is run, each time for the units of one part, by its number, which is bound to it as `part`."""


def statement(scan: Scan, relation: str, secret: int, dialect: Dialect, *, parts: int = 1) -> Statement:
    """Return the SQL of a scan over a relation whose columns are called c0, c1, ... in the order of its schema.

    `secret` is 128 fresh random bits, by which rows and keys are chosen where a unit has too many, and by which units
    fall into one of several parts, see `privet.engines.duckdb.engine`.

    Guarantee: with `Norm`, each unit's integers for a sum of at most Y a row have norm (of the scan's order) at most
    Y * limit * 2**shift, or its square for order 2; with `Truncate` they are those of at most `rows` rows in each of at
    most `groups` groups; with `Once`, one row's; with `Largest`, its largest cells of all groups, by all keys but the
    last, add up to at most limit * 2**shift. They do not depend on the rows of other units. With `Pairs` they are
    how many different values the units keep in a group, where each keeps at most `most` pairs of a group and a value.
    With `sizes`, each unit adds 1 to one bin, which its own rows alone decide, and nothing to any other.
    """
    if scan.products is not None:
        from .products import multiplied

        return multiplied(scan, relation, secret, dialect, parts=parts)
    return Writer(scan, relation, secret, dialect, parts=parts).write()


class Writer:
    """Writes one scan, piece by piece."""

    def __init__(self, scan: Scan, relation: str, secret: int, dialect: Dialect, *, parts: int = 1) -> None:
        self.dialect, self.nested = dialect, dialect.nested
        self.scan, self.parts = scan, parts
        self.relation = relation
        self.secret = secret
        self.parameters: dict[str, list[Key]] = {}
        renderer = Renderer(sources(scan.schema), dialect)
        self.where = None if scan.where is None else renderer.render(scan.where).sql
        self.keys = [renderer.render(key.expression) for key in scan.keys]
        grids: dict[Sum, int] = {}
        self.given = [
            given(total, index, renderer, stored=True, like=grids.setdefault(grid_of(total), index))
            for index, total in enumerate(scan.sums)
        ]
        self.k = [f"k{index}" for index in range(len(self.keys))]
        of = scan.bounding.of
        self.value = [] if of is None else [f"{_key_sql(renderer.render(of))} AS v"]

    def write(self) -> Statement:
        """Return the statement."""
        self._verify_fits()
        if self.scan.sizes is not None and isinstance(self.scan.bounding, Norm):
            return Statement(self._sized(self.scan.bounding, self.scan.sizes), 1, self.parameters, parts=self.parts)
        match self.scan.bounding:
            case Once():
                sql = self._once()
            case Norm() as norm:
                sql = self._norm(norm)
            case Truncate() as truncate:
                sql = self._truncate(truncate)
            case Pairs() as pairs:
                sql = self._pairs(pairs)
            case Largest() as largest:
                sql = self._largest(Norm(1, largest.limit, largest.shift))
            case _:
                raise InvariantError("an unknown kind of bounding")
        return Statement(sql, len(self.k), self.parameters, parts=self.parts)

    # --- rows -------------------------------------------------------------------------------------------------------

    def _rows(self, *, unit: bool, values: str, every: bool = False, filtered: bool = True) -> str:
        """Return the rows that count: u, k0, ... and contributions: `value` as v0, ..., or what `total` needs."""
        inner = self._layer(unit=unit, every=every)
        carried = (["u"] if unit else []) + self.k + (["h"] if every else []) + (["v"] if self.value else [])
        conditions = [term.condition for term in self.given if term.condition is not None]
        ys = [f"{term.y} AS y{index}" for index, term in enumerate(self.given) if term.y is not None]
        allowed = self._allowed() if filtered else []
        where = f" WHERE {' AND '.join(allowed)}" if allowed else ""
        sql = f"SELECT {self._listed([*carried, *conditions, *ys])} FROM {self.nested(inner)}{where}"
        if values == "later":
            return sql
        vs = [f"{term.plain} AS v{index}" for index, term in enumerate(self.given)]
        return f"SELECT {self._listed([*carried, *vs])} FROM {self.nested(sql)}"

    def _layer(self, *, unit: bool, every: bool) -> str:
        schema, names = self.scan.schema, physical(self.scan.schema)
        used = _mentioned(self.scan)
        stored = isinstance(self.scan.table, str)  # a derived table keeps to its facts and has its unit as u
        short = _short_texts(self.scan) if stored else {}
        read = {n: f"r.{names[n]}" for n in names if n in used}
        held = {n: sql if n in short else clamped(sql, schema.columns[n], self.dialect) for n, sql in read.items()}
        columns = [f"{sql} AS {names[n]}" for n, sql in (held if stored else read).items()]
        # a column that is put on a grid at once is clamped there
        columns += [f"r.{names[n]} AS {names[n]}{RAW}" for n in sorted({term.raw for term in self.given if term.raw})]
        conditions = [self.dialect.fits(read[n], most) for n, most in short.items()]
        if unit:
            owner, known = owner_of(schema, self.dialect, "r.") if stored else ("r.u", "")
            columns.append(f"{owner} AS u")
            conditions += [known] if known else []
            conditions += [self.dialect.in_part(owner, self.parts, self.secret)] if self.parts > 1 else []
        if every:
            columns.append(f"{self._hash([f'r.{name}' for name in names.values()])} AS h")
        guard = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        base = f"SELECT {self._listed(columns)} FROM {self.relation} AS r{guard}"
        keys = [f"{_key_sql(key)} AS {name}" for key, name in zip(self.keys, self.k, strict=True)]
        xs = [f"{term.x} AS x{index}" for index, term in enumerate(self.given) if term.x is not None]
        bs = [f"{term.where} AS {term.condition}" for term in self.given if term.where is not None]
        carried = (["u"] if unit else []) + (["h"] if every else [])
        where = "" if self.where is None else f" WHERE {self.where}"
        return f"SELECT {self._listed([*carried, *keys, *self.value, *xs, *bs])} FROM {self.nested(base)}{where}"

    def _allowed(self) -> list[str]:
        tests = [self._among(key, name) for key, name in zip(self.scan.keys, self.k, strict=True)]
        tests += [] if self.scan.cells is None else [self._in_cells(self.scan.cells)]
        return [test for test in tests if test is not None]

    def _in_cells(self, cells: Sequence[tuple[Key, ...]]) -> str:
        """Return the test that a row's keys are together in one of the groups; as parts of a structure, NULLs equal."""
        lists: list[tuple[str, Kind]] = []
        for index, values in enumerate(zip(*cells, strict=True)):
            kind = self.keys[index].kind
            if kind is None:
                raise InvariantError("a key without a kind has no public values")
            self.parameters[f"g{index}"] = list(values)
            lists.append((f"g{index}", kind))
        return self.dialect.members_of(self.k, lists)

    def _among(self, key: GroupKey, name: str) -> str | None:
        """Return the test that a key is public, or that it is not NULL where it may not be."""
        if key.values is None:
            return None if key.nullable else f"{name} IS NOT NULL"
        null = f"{name} IS NULL OR " if key.nullable and None in key.values else ""
        values: list[Key] = [value for value in key.values if value is not None]
        return f"({null}{self._member(name, values)})"

    def _member(self, name: str, values: list[Key]) -> str:
        if not values:
            return "false"
        constant = self.dialect.constant
        if _consecutive(values):
            return f"{name} BETWEEN {constant(values[0])} AND {constant(values[-1])}"
        if len(values) <= _INLINE:
            return f"{name} IN ({', '.join(constant(value) for value in values)})"
        kind = self.keys[int(name[1:])].kind
        if kind is None:
            raise InvariantError("a key without a kind has no public values")
        self.parameters[name] = values
        return self.dialect.member_of(name, name, kind)

    # --- one pass: every row is a unit ------------------------------------------------------------------------------

    def _once(self) -> str:
        # a row of no public group changes no other group, so groups are dropped after they are summed
        totals = [total_as(term.total, index) for index, term in enumerate(self.given)]
        if self.scan.discovery is not None:
            totals.append(f"count(*) * {self.dialect.whole(2**self.scan.discovery.shift)} AS d")
        inner = self._rows(unit=False, values="later", filtered=False)
        grouped = f"SELECT {self._listed([*self.k, *totals])} FROM {self.nested(inner)}{self._group_by()}"
        allowed = self._allowed()
        return grouped if not allowed else f"SELECT * FROM {self.nested(grouped)} WHERE {' AND '.join(allowed)}"

    # --- one weight per unit ----------------------------------------------------------------------------------------

    def _norm(self, norm: Norm) -> str:
        check_norm(norm)
        if self.dialect.sorts_well and self.k and self.scan.discovery is None:
            return self._norm_by_window(norm)
        plain = not self.scan.distinct and self.scan.discovery is None
        twice = norm.order == 1 or len(self.given) > _FEW_SUMS
        if twice and self.k and plain and isinstance(self.scan.table, str):
            return self._norm_of_rows(norm)
        many = sum(not term.one for term in self.given) > _FEW_TOTALS
        # there all rows are summed before they are bounded: the sum fits however many rows one unit has
        fits = max((total.most for total in self.scan.sums), default=0) * MOST_ROWS * 2**norm.shift < LARGEST
        if many and fits and not self.k and plain and isinstance(self.scan.table, str):
            return self._norm_of_most(norm)
        size = "n" if norm.order == 1 else self._square(norm)
        cells, names = self._cells(norm)
        totals = self._weighted(norm, names)
        if not self.k:
            weighed = f"SELECT *, {size} AS q FROM {self.nested(cells)}"
            return f"SELECT {self._listed(totals)} FROM {self.nested(with_weight(weighed, norm, self.dialect))}"
        units = f"SELECT u, count(*) AS c, sum({size}) AS q FROM g GROUP BY u"
        return self._summed_cells(
            cells, f"SELECT u, c, w FROM {self.nested(with_weight(units, norm, self.dialect))}", totals
        )

    def _norm_by_window(self, norm: Norm) -> str:
        """Return the form that finds a unit's size by a window over its cells: rows are read once, and not joined."""
        cells, names = self._cells(norm)
        size = "n" if norm.order == 1 else self._square(norm)
        kept = [*self.k, *dict.fromkeys(["n", *names])]
        sized = f"SELECT {self._listed(kept)}, sum({size}) OVER (PARTITION BY u) AS q FROM {self.nested(cells)}"
        weighed = self.dialect.computed(with_weight(sized, norm, self.dialect))
        return f"SELECT {self._listed([*self.k, *self._weighted(norm, names)])} FROM {weighed}{self._group_by()}"

    def _sized(self, norm: Norm, sizes: Sizes) -> str:
        """Return the form that counts units by size: each is in the bin of the last edge that it exceeds."""
        check_norm(norm)
        cells, _ = self._cells()
        whole, wide, top = self.dialect.whole, self.dialect.wide, sizes.edges[-1]
        if sizes.of == "norm":
            # beyond the last edge all sizes are alike, so what could overflow is cut there
            cut = self.dialect.least("n", whole((top if norm.order == 1 else isqrt(top)) + 1))
            each = wide(cut) if norm.order == 1 else f"{wide(cut)} * {wide(cut)}"
            sized = f"SELECT u, {self.dialect.sum(each)} AS e FROM {self.nested(cells)} GROUP BY u"
        else:
            each = "n" if norm.order == 1 else self._square(norm)
            units = f"SELECT u, sum(n) AS n, {self.dialect.sum(each)} AS q FROM {self.nested(cells)} GROUP BY u"
            lost = f"{wide('n')} * ({wide(whole(2**norm.shift))} - w)"
            sized = f"SELECT {lost} AS e FROM {self.nested(with_weight(units, norm, self.dialect))}"
        places = [(whole(place), whole(edge)) for place, edge in enumerate(sizes.edges, start=1)]
        chosen = " ".join(f"WHEN e > {edge} THEN {place}" for place, edge in reversed(places))
        binned = f"SELECT CASE {chosen} ELSE {whole(0)} END AS b FROM {self.nested(sized)}"
        return f"SELECT b, count(*) AS t0 FROM {self.nested(binned)} GROUP BY b"

    def _largest(self, norm: Norm) -> str:
        """Return the form where a unit's size is that of its largest cells, one in each group by all keys but one."""
        check_norm(norm)
        cells, names = self._cells(norm)
        group = ["u", *self.k[:-1]]
        largest = f"SELECT {self._listed([*group, 'max(n) AS m', 'count(*) AS c'])} FROM g GROUP BY {', '.join(group)}"
        units = f"SELECT u, {self.dialect.narrow('sum(c)')} AS c, sum(m) AS q FROM {self.nested(largest)} GROUP BY u"
        weights = f"SELECT u, c, w FROM {self.nested(with_weight(units, norm, self.dialect))}"
        return self._summed_cells(cells, weights, self._weighted(norm, names))

    def _norm_of_rows(self, norm: Norm) -> str:
        """Return the form that reads rows twice: for order 1 a weight needs only each unit's number of rows.

        For order 2 it needs the numbers in each group, but not the sums there, which may be many.
        """
        rows = self._rows(unit=True, values="now")
        units = f"SELECT u, count(*) AS q FROM {self.nested(rows)} GROUP BY u"
        if norm.order == 2:
            cells = f"SELECT u, count(*) AS n FROM {self.nested(rows)} GROUP BY {', '.join(['u', *self.k])}"
            units = f"SELECT u, sum({self._square(norm)}) AS q FROM {self.nested(cells)} GROUP BY u"
        totals = self._weighted(norm, [f"v{index}" for index in range(len(self.given))])
        weights = f"SELECT u, w FROM {self.nested(with_weight(units, norm, self.dialect))}"
        summed = (
            f"SELECT {self._listed([*self.k, *totals])} FROM {self.nested(rows)} JOIN w USING (u){self._group_by()}"
        )
        return f"WITH {self.dialect.materialised('w', weights, kept=None)} {summed}"

    def _norm_of_most(self, norm: Norm) -> str:
        """Return the form that reads rows again where there are no groups: most units keep the full weight.

        All rows are summed at the full weight, and the excess of the units with less is subtracted: sum of w(u) s(u) =
        2**shift * sum of s(u) + sum of (w(u) - 2**shift) s(u), in integers.
        """
        full = self.dialect.whole(2**norm.shift)
        # several rows of one unit may have the same weight as those of another, and are then summed together
        rows = self._rows(unit=True, values="later")
        size = "n" if norm.order == 1 else self._square(norm)
        counted = f"SELECT u, count(*) AS n FROM {self.nested(rows)} GROUP BY u"
        sized = f"SELECT *, {size} AS q FROM {self.nested(counted)}"
        weights = (
            f"SELECT u, w - {full} AS w FROM {self.nested(with_weight(sized, norm, self.dialect))} WHERE w < {full}"
        )
        sums = [f"{term.total} AS s{index}" for index, term in enumerate(self.given)]
        everyone = f"SELECT {self._listed([f'{full} AS w', *sums])} FROM {self.nested(rows)}"
        fewer = f"SELECT {self._listed(['w', *sums])} FROM {self.nested(rows)} JOIN w USING (u) GROUP BY w"
        totals = [total_as(f"sum(w * {self.dialect.wide(f's{index}')})", index) for index in range(len(self.given))]
        both = self.nested(f"{everyone} UNION ALL {fewer}")
        return f"WITH {self.dialect.materialised('w', weights, kept=True)} SELECT {self._listed(totals)} FROM {both}"

    def _cells(self, norm: Norm | None = None) -> tuple[str, list[str]]:
        """Return each unit's contribution to each group before it is weighted, and the names of its sums."""
        keys = ", ".join(["u", *self.k])
        distinct = self.scan.distinct
        totals, names = [f"{self.dialect.whole(1)} AS n" if distinct else "count(*) AS n"], []
        for index, term in enumerate(self.given):
            if term.one and term.condition is None:
                names.append("n")
                continue
            total = f"max(v{index})" if distinct else term.total
            if norm is not None and self._narrow(norm, index):
                # what overflows belongs to a unit of weight 0, see `_narrow`: its value does not matter
                fitting = term.fitting_total(self.scan.sums[index].most)
                total = self.dialect.cast_whole(total) if distinct else fitting
            totals.append(f"{total} AS s{index}")
            names.append(f"s{index}")
        rows = self._rows(unit=True, values="now" if distinct else "later")
        return f"SELECT {keys}, {', '.join(totals)} FROM {self.nested(rows)} GROUP BY {keys}", names

    def _narrow(self, norm: Norm, index: int) -> bool:
        """Whether every contribution of a unit to a group fits into 64 bits: w * |s| <= Y * (largest w * n).

        A sum of rows that does not fit belongs to a unit whose weight is 0, and may be forgotten.
        """
        allowed = norm.limit * 2**norm.shift if norm.order == 1 else isqrt(norm.limit * 4**norm.shift)
        return bool(self.scan.sums[index].most * max(allowed, 2**norm.shift) <= INT64[1])

    def _square(self, norm: Norm) -> str:
        """Return n * n; beyond the root of the limit the weight is 0 however large n is, so n is cut there."""
        most = isqrt(norm.limit * 4**norm.shift) + 1
        cut = self.dialect.least("n", self.dialect.whole(most))
        if most**2 > INT64[1]:
            cut = self.dialect.wide(cut)
        return f"{cut} * {cut}"

    def _weighted(self, norm: Norm, names: list[str]) -> list[str]:
        """Return the weighted totals of columns of a unit's contributions."""
        wide = self.dialect.wide
        values = [name if self._narrow(norm, index) else wide(name) for index, name in enumerate(names)]
        fits = self._fits_short(norm)
        return [total_as(self.dialect.sum(f"w * {value}", fits=fits), index) for index, value in enumerate(values)]

    def _fits_short(self, norm: Norm) -> bool:
        """Whether every weighted total fits into 64 bits, by declared facts; where rows are more, the sum raises."""
        most = max((total.most for total in self.scan.sums), default=0)
        return bool(self.scan.schema.rows * most * 2**norm.shift <= INT64[1])

    def _summed_cells(self, cells: str, units: str, totals: list[str]) -> str:
        """Return the totals over all units' cells, and with `discovery` the weights of the keys that units keep."""
        discovery, kept = self.scan.discovery, self.dialect.materialised
        if discovery is None:
            summed = f"SELECT {self._listed([*self.k, *totals])} FROM g JOIN w USING (u){self._group_by()}"
            return f"WITH {kept('g', cells, kept=True)}, {kept('w', units, kept=None)} {summed}"
        keeps_all = f"c <= {discovery.most}"
        d, holders = self.dialect.total("sum(d)", keeps_all), self.dialect.total("count(*)", keeps_all)
        first = [*totals, f"{d} AS d", f"{holders} AS holders"]
        summed = f"SELECT {self._listed([*self.k, *first])} FROM g JOIN w USING (u){self._group_by()}"
        # units with too many keys are few: only they are ranked. No more than `most` keys lie strictly below the
        # next one, even if two hashes are equal
        order = self._hash(["g.u", *(f"g.{name}" for name in self.k)])
        cut = f"{self.dialect.nth_least(order, discovery.most + 1)} AS t"
        many = self.nested(f"SELECT u, d FROM w WHERE c > {discovery.most}")
        over = f"SELECT u, d, {cut} FROM g JOIN {many} USING (u) GROUP BY u, d"
        none = [f"0 AS t{index}" for index in range(len(totals))]
        second = [*none, "sum(d) AS d", "count(*) AS holders"]
        chosen = (
            f"SELECT {self._listed([*self.k, *second])} FROM g JOIN o USING (u) WHERE {order} < o.t{self._group_by()}"
        )
        both = [total_as(f"sum(t{index})", index) for index in range(len(totals))]
        # a key that no unit of one part keeps may be kept by one of another, where what all of them give to it counts
        if self.parts > 1:
            both, held = [*both, "coalesce(sum(d), 0) AS d", "sum(holders) AS holders"], ""
        else:
            both, held = [*both, f"{self.dialect.wide('sum(d)')} AS d"], " HAVING sum(holders) > 0"
        named = [kept("g", cells, kept=True), kept("w", with_share(units, discovery, self.dialect), kept=True)]
        union = self.nested(f"{summed} UNION ALL {chosen}")
        named.append(kept("o", over, kept=None))
        shown = self._listed([*self.k, *both])
        return f"WITH {', '.join(named)} SELECT {shown} FROM {union}{self._group_by()}{held}"

    # --- a limit on groups and rows ----------------------------------------------------------------------------

    def _truncate(self, truncate: Truncate) -> str:
        keys = ["u", *self.k]
        values = [f"v{index}" for index in range(len(self.given))]
        if self.scan.distinct:
            cells, names = self._cells()
        else:
            # rows that tie in all of these contribute the same, so that it does not matter which comes first
            over = f"PARTITION BY {', '.join(keys)} ORDER BY {', '.join(['h', *values])}"
            rows = self._rows(unit=True, values="now", every=True)
            ranked = f"SELECT *, row_number() OVER ({over}) AS i FROM {self.nested(rows)}"
            names = [f"s{index}" for index in range(len(values))]
            sums = [f"{self.dialect.sum(value)} AS {name}" for value, name in zip(values, names, strict=True)]
            kept = f"FROM {self.nested(ranked)} WHERE i <= {truncate.rows}"
            cells = f"SELECT {self._listed([*keys, *sums])} {kept} GROUP BY {', '.join(keys)}"
        if self.k:
            order = ", ".join([self._hash(keys), *self.k])
            placed = f"SELECT *, row_number() OVER (PARTITION BY u ORDER BY {order}) AS j FROM {self.nested(cells)}"
            cells = f"SELECT * FROM {self.nested(placed)} WHERE j <= {truncate.groups}"
        totals = [total_as(self.dialect.sum(name), index) for index, name in enumerate(names)]
        if self.scan.discovery is None:
            return f"SELECT {self._listed([*self.k, *totals])} FROM {self.nested(cells)}{self._group_by()}"
        return self._summed_cells(cells, "SELECT u, count(*) AS c FROM g GROUP BY u", totals)

    # --- different values -------------------------------------------------------------------------------------------

    def _pairs(self, pairs: Pairs) -> str:
        total = self.scan.sums[0] if len(self.scan.sums) == 1 else None
        if self.scan.discovery is not None or total is None or total.expression not in (None, pairs.of):
            raise InvariantError("a scan for different values counts them, or adds them up, and does nothing else")
        alone = self.scan.schema.unit.rowwise  # a row has one pair
        names, condition = [*self.k, "v"], self.given[0].condition
        worth = [] if total.expression is None else [f"{self.given[0].value} AS w"]
        counts = "" if condition is None else f" AND {condition}"
        inner = self._rows(unit=not alone, values="later")
        rows = f"SELECT * FROM {self.nested(inner)} WHERE v IS NOT NULL{counts}"
        if alone:
            return self._different(f"SELECT {self._listed([*names, *worth])} FROM {self.nested(rows)}", bool(worth))
        # rows with the same pair have one rank, so that pairs are ranked without finding the different ones first;
        # pairs whose hashes are equal are distinguished by their values
        hashed = f"SELECT *, {self._hash(['u', *names])} AS h FROM {self.nested(rows)}"
        rank = f"dense_rank() OVER (PARTITION BY u ORDER BY {', '.join(['h', *names])})"
        ranked = f"SELECT {self._listed([*names, *worth])}, {rank} AS i FROM {self.nested(hashed)}"
        held = self._listed([*names, *(["w"] if worth else [])])
        return self._different(f"SELECT {held} FROM {self.nested(ranked)} WHERE i <= {pairs.most}", bool(worth))

    def _different(self, held: str, summed: bool) -> str:
        if summed:  # a pair is worth one number, and counts once, whatever the rows that contain it
            pair = self._listed([*self.k, "v"])
            once = f"SELECT {pair}, max(w) AS w FROM {self.nested(held)} GROUP BY {pair}"
            totals = self._listed([*self.k, total_as(self.dialect.sum("w"), 0)])
            return f"SELECT {totals} FROM {self.nested(once)}{self._group_by()}"
        different = f"SELECT DISTINCT {self._listed([*self.k, 'v'])} FROM {self.nested(held)}"
        return f"SELECT {self._listed([*self.k, 'count(*) AS t0'])} FROM {self.nested(different)}{self._group_by()}"

    # --- pieces -----------------------------------------------------------------------------------------------------

    def _listed(self, columns: list[str]) -> str:
        return ", ".join(columns) if columns else self.dialect.no_column

    def _group_by(self) -> str:
        return f" GROUP BY {', '.join(self.k)}" if self.k else ""

    def _hash(self, columns: list[str]) -> str:
        return self.dialect.keyed_hash(columns, self.secret)

    def _verify_fits(self) -> None:
        """Refuse a scan whose sums are not proven, from declared facts, to fit into 128 bits."""
        rows = self.scan.schema.rows
        weight = 2**self.scan.bounding.shift
        most = max((total.most for total in self.scan.sums), default=0)
        discovery = self.scan.discovery
        if discovery is not None and discovery.shift > _LONGEST_SHIFT:
            raise Unsupported("the weights of keys do not fit into 128 bits")
        if rows * most * weight >= LARGEST:
            raise Unsupported(
                f"with up to {rows:,} rows this sum may not fit into 128 bits; declare narrower bounds, a larger step "
                f"or fewer rows"
            )


def check_norm(norm: Norm) -> None:
    """Refuse a bound on a unit's contribution that does not fit into 128 bits."""
    if norm.shift > _LONGEST_SHIFT or norm.limit * 4**norm.shift >= LARGEST:
        raise Unsupported("the bound on what one person contributes does not fit into 128 bits")


def _mentioned(scan: Scan) -> frozenset[str]:
    expressions = [scan.where, *(key.expression for key in scan.keys)]
    if scan.bounding.of is not None:
        expressions.append(scan.bounding.of)
    for total in scan.sums:
        expressions += [total.expression, total.where]
    return frozenset().union(*(mentions(expression) for expression in expressions if expression is not None))


def _short_texts(scan: Scan) -> dict[str, int]:
    """Return the text columns that need not be cut, because rows are in public groups by them, and their most bytes.

    A text of more bytes than the longest of these groups is in none of them, and neither is what it would be cut to,
    which is longer than each: such rows are left out, and the text of any row that counts is not cut. Texts that are
    stored once and known by number stay so.
    """
    short: dict[str, int] = {}
    for key in scan.keys:
        name, values = key.expression.column, key.values or ()
        texts = [value for value in values if isinstance(value, str)]
        if name is None or not texts or len(texts) < len(values):
            continue
        if max(map(len, texts)) < longest(scan.schema.columns[name]):
            short[name] = max(len(text.encode()) for text in texts)
    return short


def total_as(sql: str, index: int) -> str:
    """Return a total under its name, 0 where there are no rows."""
    return f"coalesce({sql}, 0) AS t{index}"


def _key_sql(key: Rendered) -> str:
    # -0.0 and 0.0 are one group, and are shown as one value
    return key.dialect.unsigned_zero(key.sql) if key.kind == "number" else key.sql


def _consecutive(values: list[Key]) -> bool:
    if len(values) < 3:
        return False
    if all(type(value) is int for value in values):
        return all(b == a + 1 for a, b in pairwise(values))  # type: ignore[operator]
    if all(type(value) is datetime.date for value in values):
        return all(b - a == datetime.timedelta(days=1) for a, b in pairwise(values))  # type: ignore[operator]
    return False


# Counts by place, as SQL: for each group the places of a grid at which there are rows, and what these weigh.
#
# Bounding is as for sums, except that a row without a place is left out. Rows stay where they are; only the places that
# have some are returned. Where a scan states which ranks it looks at closely, rows are counted by blocks of places
# first, and then by place where that is needed: both in one statement, so of the same rows.


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
    return CountingWriter(replace(scan, sums=(scan.places,), places=None), relation, secret, dialect).write()


def as_counts(columns: Mapping[str, NDArray[Any]], kinds: Sequence[Kind | None]) -> dict[tuple[Key, ...], Counts]:
    """Return the result of the statement, by group, with the places of each in order."""
    keys = [_as_keys(columns[f"k{index}"].tolist(), kind) for index, kind in enumerate(kinds)]
    counts: dict[tuple[Key, ...], Counts] = {}
    for row, (places, weights) in enumerate(zip(columns["ps"], columns["ns"], strict=True)):
        order = places.argsort()
        counts[tuple(key[row] for key in keys)] = (places[order], weights[order])
    return counts


def _as_keys(values: list[Any], kind: Kind | None) -> list[Key]:
    """Return the values of a key as they are declared; NumPy has no dates without a time."""
    if kind == "date":
        return [value.date() if isinstance(value, datetime.datetime) else value for value in values]
    return values


class CountingWriter(Writer):
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
        self._verify_weights_fit()
        # a stored table is read again faster than its rows are kept; a derived table is computed once
        named = self.dialect.materialised
        held = None if isinstance(self.scan.table, str) else True
        with_rows = [named("x", self._placed(unit=not bounding.unbounded), kept=held)]
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
        steps, counted = ([], self._counted("x.p")) if near is None else self._near(near)
        collected = self.dialect.collected
        listed = ", ".join([*self.k, f"{collected('p')} AS ps", f"{collected('n')} AS ns"])
        sql = f"SELECT {listed} FROM {self.nested(counted)} WHERE n > 0{self._group_by()} HAVING count(*) > 0"
        if self.coded:
            shown = [f"d{name}.v AS {name}" if name in self.coded else name for name in self.k]
            joins = "".join(f" JOIN d{name} ON {name} = d{name}.c" for name in self.coded)
            sql = f"SELECT {', '.join([*shown, 'ps', 'ns'])} FROM {self.nested(sql)}{joins}"
        kinds = tuple(key.kind for key in self.keys)
        return Statement(
            f"WITH {', '.join([*self._codes(), *with_rows, *steps])} {sql}", len(self.k), self.parameters, kinds
        )

    def _verify_weights_fit(self) -> None:
        """Refuse a scan whose weights at a place are not proven to fit into 64 bits."""
        bounding, rows = self.scan.bounding, self.scan.schema.rows
        weight = 2**bounding.shift
        if rows * weight >= _LARGEST:
            raise Unsupported(f"with up to {rows:,} rows these weights may not fit into 64 bits; declare fewer rows")

    def _counted(self, place: str, among: str = "", where: str = "") -> str:
        """Return the weight of the rows by group and place, or by an expression of it: k0, ..., p and n."""
        keys = [f"x.{name} AS {name}" for name in self.k]
        made = ", ".join([*keys, f"{place} AS p", f"{self.dialect.narrow(self.total)} AS n"])
        by = ", ".join([*(f"x.{name}" for name in self.k), place])
        return f"SELECT {made} FROM x{among}{self.weigh}{where} GROUP BY {by}"

    def _near(self, near: Near) -> tuple[list[str], str]:
        """Return steps that find the blocks to look into, and the counts: of those by place, of others by block."""
        whole, nested, named = self.dialect.whole, self.nested, self.dialect.materialised
        base, share, size = whole(near.share.denominator), whole(near.share.numerator), whole(2**near.bits)
        among = f"PARTITION BY {', '.join(self.k)} " if self.k else ""
        ranks = f"*, sum(n) OVER ({among}ORDER BY p ROWS UNBOUNDED PRECEDING) AS t, sum(n) OVER ({among.strip()}) AS a"
        begins = f"(t - n) * {base} < a * {share} + {whole(near.above * near.share.denominator)}"
        ends = f"t * {base} > a * {share} - {whole(near.below * near.share.denominator)}"
        ranked = f"SELECT {ranks} FROM c WHERE n > 0"
        # these blocks lie side by side, but for some that are empty
        window = [*self.k, f"min(p) * {size} AS lo", f"max(p) * {size} + {size} - {whole(1)} AS hi"]
        steps = [
            named("c", self._counted(self.dialect.block("x.p", near.bits)), kept=None),
            named("s", f"SELECT *, {begins} AND {ends} AS near FROM {nested(ranked)}", kept=True),
            named("m", f"SELECT {', '.join(window)} FROM s WHERE near{self._group_by()}", kept=True),
        ]
        close = self._counted("x.p", *self._within(steps))
        far = ", ".join([*self.k, f"p * {size} AS p", "n"])
        return steps, f"SELECT {far} FROM s WHERE NOT near UNION ALL {close}"

    def _within(self, steps: list[str]) -> tuple[str, str]:
        """Return how rows meet the blocks m of their group, and the test that they lie there; may add a step.

        Where groups have numbers, a row finds its blocks by that; a group that has none there keeps no row.
        """
        if len(self.k) == 1 and self.k[0] in self.coded:
            (name,), values = self.k, self.parameters[self.k[0]]
            if (table := self.dialect.by_number("m", name, len(values), ("lo", "hi"))) is not None:
                steps.append(self.dialect.materialised("l", table, kept=True))
                low, high = (self.dialect.at(f"l.{end}", f"x.{name}") for end in ("lo", "hi"))
                return " CROSS JOIN l", f" WHERE x.p >= {low} AND x.p <= {high}"
        same = [f"x.{name} IS NOT DISTINCT FROM m.{name}" for name in self.k]
        return f" JOIN m ON {' AND '.join([*same, 'x.p >= m.lo', 'x.p <= m.hi'])}", ""

    def _placed(self, *, unit: bool, every: bool = False) -> str:
        """Return the rows that have a place: u, k0, ..., h and p."""
        term = self.given[0]
        place = term.value if term.condition is None else f"CASE WHEN {term.condition} THEN {term.value} END"
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


# A whole scan as SQL: the derived table, and its rows bounded and summed, or counted by place.


def write_scan(
    scan: Scan,
    tables: Mapping[str, Schema],
    names: Mapping[str, str],
    secret: int,
    dialect: Dialect,
    *,
    parts: int = 1,
) -> Statement:
    """Return the SQL of a scan over stored tables, which the engine calls by `names`; reads nothing.

    With several `parts` it is run for each of them, where `privet.engines.duckdb.engine.divides` allows it.

    Raises a `RequestError` where, by declared facts, the numbers of the scan might not fit what engines compute in, or
    where the dialect lacks a function.
    """
    relation = relation_sql(scan.table, tables, names, secret, dialect)
    if dialect.reads_again:
        from .windows import in_one_read

        return in_one_read(scan, relation, secret, dialect)
    if scan.places is not None:
        return counting(scan, relation, secret, dialect)
    return statement(scan, relation, secret, dialect, parts=parts)
