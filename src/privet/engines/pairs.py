"""A join that makes no more pairs of one unit's rows than it may, as SQL. The pairs are counted before they are made.

Counting takes time in proportion to a unit's own rows. Only units that could make more pairs than allowed have their
rows ordered, by a hash with a key that is fresh for each query: what is kept of a unit depends on its own rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from privet.core.errors import InvariantError

from .text import keyed_hash


@dataclass(frozen=True)
class Side:
    """One side of a join: its rows, the columns that order them, and what must be equal, all as SQL.

    `owner` is the column that says which unit a row is of, or None for public rows. `numbers` are those of the columns
    in which 0 and -0 are equal and yet not the same.
    """

    rows: str
    owner: str | None
    columns: Sequence[str]
    numbers: Sequence[str]
    keys: Sequence[str]
    stored: bool
    """Whether the rows are a table's own, which is read again faster than its rows are kept."""

    def named(self, name: str) -> str:
        """Return the rows under a name, each with what must be equal: of side a as a0, a1, ..."""
        keys = "".join(f", {key} AS {name}{index}" for index, key in enumerate(self.keys))
        return f"{name} AS {'NOT ' if self.stored else ''}MATERIALIZED (SELECT *{keys} FROM ({self.rows}))"

    def order(self, secret: int) -> str:
        """Return the order in which rows are kept: no two rows that differ in anything tie in it."""
        owner = [] if self.owner is None else [self.owner]
        signs = [f"signbit({column})" for column in self.numbers]
        return ", ".join([keyed_hash([*owner, *self.columns], secret), *self.columns, *signs])


def join_sql(
    left: Side, right: Side, *, kind: Literal["inner", "left"], on: str, columns: Sequence[str], most: int, secret: int
) -> str:
    """Return the joined rows, with at most `most` pairs of each unit among those that are alike in their keys.

    With m(k) the rows of the right side for a key k, of the unit or public, and m at most M, a unit with n left rows
    makes at most n * M pairs: only where M > 1 and that is above `most`, its pairs are counted exactly, as the sum of
    m(k) over its left rows, in their order. A row before which t pairs are made is kept if t < most, and meets the
    first most - t rows of its key.

    Guarantee: the rows of a unit in the result are a function of its own rows on both sides, of public rows and of
    `secret`, not of the order in which they are read; their number is at most max(most, n), and in a left join n more.
    """
    if left.owner is None or most < 1 or len(left.keys) != len(right.keys):
        raise InvariantError("pairs are counted for each unit, over the same keys on both sides")
    u, v = left.owner, right.owner
    a, b = ([f"{side}{index}" for index in range(len(left.keys))] for side in "ab")
    alike = [f"{mine} = {other}" for mine, other in zip(a, b, strict=True)]
    owned = [] if v is None else [v]
    same = [] if v is None else [f"{u} = {v}"]
    some = f" WHERE {' AND '.join(f'{key} IS NOT NULL' for key in b)}" if b else ""
    steps = []
    if v is not None and b:
        # to count by unit is cheaper than by key, too; it leaves few to look at
        steps.append(f"l AS MATERIALIZED ({_large(f'SELECT {v}, count(*) AS m FROM b GROUP BY {v}', u, same, most)})")
        some = f" SEMI JOIN l ON b.{v} = l.{u}{some}"
    many = f"SELECT {', '.join([*owned, 'count(*) AS m'])} FROM b{some}{_group([*owned, *b])}"
    widest = f"SELECT {', '.join([*owned, 'max(m) AS m'])} FROM ({many}){_group(owned)}"
    steps.append(f"s AS MATERIALIZED ({_large(widest, u, same, most)})")
    theirs = "b" if v is None else f"(SELECT b.* FROM b SEMI JOIN s ON b.{v} = s.{u})"
    counts = f"SELECT {', '.join([*owned, *b, 'count(*) AS m'])} FROM {theirs}{_group([*owned, *b])}"
    counted = [f"a.{u} = g.{v}"] if v is not None else []
    counted += [f"a.{mine} = g.{other}" for mine, other in zip(a, b, strict=True)]
    mine = f"SELECT a.*, coalesce(g.m, 0) AS m FROM (SELECT a.* FROM a SEMI JOIN s USING ({u})) AS a LEFT JOIN g ON "
    mine += _all(counted)
    over = f"PARTITION BY {u} ORDER BY {left.order(secret)} ROWS UNBOUNDED PRECEDING"
    before = f"SELECT *, sum(m) OVER ({over}) - m AS t FROM ({mine})"
    kept = f"SELECT * FROM ({before}) WHERE t < {most}{' OR m = 0' if kind == 'left' else ''}"
    within = f"PARTITION BY {', '.join([*owned, *b])} " if owned or b else ""
    placed = f"SELECT *, row_number() OVER ({within}ORDER BY {right.order(secret)}) AS i FROM {theirs}"
    word = "JOIN" if kind == "inner" else "LEFT JOIN"
    shown = ", ".join(columns)
    # an ANTI JOIN could be put off until all pairs are made, for the engine orders joins as it likes; but not this: who
    # a row joins as is known only after it
    small = f"SELECT a.*, CASE WHEN x IS NULL THEN {u} END AS w FROM a LEFT JOIN (SELECT {u} AS x FROM s) ON {u} = x"
    small = f"SELECT * FROM ({small}) WHERE w IS NOT NULL"
    as_one = [] if v is None else [f"w = {v}"]
    return (
        f"WITH {', '.join([left.named('a'), right.named('b'), *steps])}, g AS ({counts}) "
        f"SELECT {shown} FROM ({small}) {word} b ON {_all([*as_one, on])} UNION ALL "
        f"SELECT {shown} FROM ({kept}) {word} ({placed}) ON {_all([*same, *alike, f'i <= {most} - t', on])}"
    )


def _large(widest: str, unit: str, same: Sequence[str], most: int) -> str:
    """Return the units whose rows could make more than `most` pairs, if each met as many rows as the widest key has."""
    met = f"SELECT {unit} FROM a JOIN (SELECT * FROM ({widest}) WHERE m > 1) ON {_all(same)}"
    return f"{met} GROUP BY {unit} HAVING count(*) > {most} // min(m)"


def _group(columns: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(columns)}" if columns else ""


def _all(conditions: Sequence[str]) -> str:
    return " AND ".join(f"({one})" for one in conditions if one) or "true"
