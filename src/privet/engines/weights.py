"""One whole weight per unit, as SQL over its number of rows or keys. A float square root is only ever a guess."""

from __future__ import annotations

from privet.core.scan import Discovery, Norm

from .text import INT64, whole

_HEAP = 1_000_000


def with_weight(units: str, norm: Norm) -> str:
    """Return units with their weight w, from the size q of what they give: the largest that keeps to the limit."""
    one = 2**norm.shift
    limit = norm.limit * one**norm.order
    # beyond the limit the weight is 0 however large q is, so q is cut where 64 bits hold it: they divide far faster
    q = f"CAST(least(q, {whole(limit + 1)}) AS BIGINT)" if limit < INT64[1] else "q"
    if norm.order == 1:
        return f"SELECT *, CAST(least({whole(one)}, {whole(limit)} // {q}) AS BIGINT) AS w FROM ({units})"
    # w^2 q <= L is w <= isqrt(floor(L / q))
    largest = f"CAST(least({whole(limit)} // {q}, {whole(one * one)}) AS BIGINT)"
    return _with_root(f"SELECT *, {largest} AS p FROM ({units})", "p", "w")


def with_share(units: str, discovery: Discovery) -> str:
    """Return units with the weight d that each gives to each of the keys it keeps."""
    if discovery.order == 0:
        return f"SELECT *, {whole(2**discovery.shift)} AS d FROM ({units})"
    share = f"least(c, {whole(discovery.most)})"
    if discovery.order == 1:
        return f"SELECT *, {whole(2**discovery.shift)} // {share} AS d FROM ({units})"
    return _with_root(f"SELECT *, {whole(4**discovery.shift)} // {share} AS p FROM ({units})", "p", "d")


def nth_least(sql: str, place: int) -> str:
    """Return the aggregate for the so-manieth smallest; the engine's own keeps a heap, up to a million."""
    return f"min({sql}, {place})[{place}]" if place < _HEAP else f"list_sort(list({sql}))[{place}]"


def _with_root(rows: str, of: str, name: str) -> str:
    """Return rows with the whole part of a square root: a guess in doubles, corrected in integers."""
    guess = f"SELECT *, CAST(floor(sqrt(CAST({of} AS DOUBLE))) AS BIGINT) AS e FROM ({rows})"
    low, high = f"CAST(e * e > {of} AS BIGINT)", f"CAST((e + 1) * (e + 1) <= {of} AS BIGINT)"
    return f"SELECT * EXCLUDE (e, {of}), e - {low} + {high} AS {name} FROM ({guess})"
