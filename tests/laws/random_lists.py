"""Random lists of questions over the same rows: conditions that exclude each other or overlap, and groupings."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

from random_sql import Writer
from random_tables import Setting

CONSTANTS = {
    "integer": ["0", "1", "5", "7", "9", "20"],
    "number": ["0", "0.5", "2.25", "9.9"],
    "text": ["'u'", "'v'", "'w'", "'é'"],
    "boolean": ["TRUE", "FALSE"],
    "date": ["DATE '2024-01-02'", "DATE '2024-01-04'", "DATE '2024-01-06'"],
    "timestamp": ["TIMESTAMP '2024-01-02 10:30:00'", "TIMESTAMP '2024-01-05 12:00:00'"],
}


def some_list(draw: random.Random, setting: Setting) -> list[str]:
    """Return a list of questions over one part of FROM."""
    writer = Writer(draw, setting)
    inner, t = writer.part(draw.choice([0, 0, 1, 2])), writer.fresh("t")
    scope, unit = writer.under(t, inner), [f"{t}.{one}" for one in inner.unit]
    plain = [item for item in scope if item[0] not in unit] or scope
    name, kind = draw.choice(plain)
    conditions = draw.choice([excluding, ranges])(draw, name, CONSTANTS[kind], kind)
    keys = [writer.key(plain)] if draw.random() < 0.3 else []
    common = f" AND {writer.value('boolean', scope, 1)}" if draw.random() < 0.3 else ""
    several = [writer.aggregate(scope, unit) for _ in range(2)]
    counts = draw.random() < 0.5
    found = []
    for one in conditions:
        asked = "COUNT(*)" if counts or draw.random() < 0.4 else draw.choice(several)
        own = f" AND {writer.value('boolean', scope, 1)}" if draw.random() < 0.15 else ""
        found.append(select(keys, asked, f"{inner.sql} AS {t} WHERE {one}{common}{own}"))
    if counts:
        for _ in range(draw.choice([0, 1, 1, 2])):
            way = draw.choice([select, several_groupings])
            few = [item for item in plain if item[1] in ("text", "boolean")] if way is several_groupings else []
            own = draw.sample([item[0] for item in few or plain], min(len(few or plain), draw.choice([1, 1, 2])))
            rest = f"{inner.sql} AS {t}" + (f" WHERE TRUE{common}" if common else "")
            found.append(way(own, "COUNT(*)", rest))
    with_ctes = f"WITH {', '.join(writer.ctes)} " if writer.ctes else ""
    draw.shuffle(found)
    return [with_ctes + one for one in found]


def select(keys: Sequence[str], asked: str, rest: str) -> str:
    shown = "".join(f"{key} AS k{place}, " for place, key in enumerate(keys))
    grouped = f" GROUP BY {', '.join(f'k{place}' for place in range(len(keys)))}" if keys else ""
    return f"SELECT {shown}{asked} AS a FROM {rest}{grouped}"


def several_groupings(keys: Sequence[str], asked: str, rest: str) -> str:
    """Return a question that groups rows by some of the keys, and by fewer of them."""
    names = [f"k{place}" for place in range(len(keys))]
    grouped = f"CUBE ({', '.join(names)})" if len(keys) > 1 else f"ROLLUP ({names[0]})"
    shown = "".join(f"{key} AS k{place}, " for place, key in enumerate(keys))
    return f"SELECT {shown}{asked} AS a FROM {rest} GROUP BY {grouped}"


def excluding(draw: random.Random, name: str, constants: Sequence[str], kind: str) -> list[str]:
    """Return conditions of which a row meets one at most."""
    several = list(constants)
    if kind in ("text", "boolean") or draw.random() < 0.5:
        found = [f"{name} = {one}" for one in several]
        found += [f"{name} IS NULL"] if draw.random() < 0.5 else []
        return found
    found = [f"{name} < {several[0]}", f"{name} >= {several[-1]}"]
    found += [f"{name} >= {low} AND {name} < {high}" for low, high in pairwise(several)]
    return found


def ranges(draw: random.Random, name: str, constants: Sequence[str], kind: str) -> list[str]:
    """Return conditions that overlap, as a rule."""
    found = []
    for _ in range(draw.choice([2, 4, 6])):
        low, high = sorted(draw.choices(range(len(constants)), k=2))
        found.append(
            draw.choice(
                [
                    f"{name} BETWEEN {constants[low]} AND {constants[high]}",
                    f"{name} < {constants[high]}",
                    f"{name} >= {constants[low]}",
                    f"NOT {name} = {constants[low]}",
                    f"{name} IN ({constants[low]}, {constants[high]})",
                ]
            )
            if kind != "boolean"
            else f"{name} = {constants[low]}"
        )
    return found
