"""Our own hostile questions, of the newer language: each is refused by name, free and the same for all, or is safe.

Beside each stands what its refusal says. What is answered moves by no more than its plan claims where the person whom
it is after goes, whose rows are the most extreme that they can be. `{many}` in a text comes many times.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from privet.audit.neighbours import Seen, claims_of
from privet.core.errors import RequestError
from privet.core.scan import Scan
from privet.engines.dialects.duckdb import DUCKDB
from privet.engines.scan_sql.relations import relation_sql
from privet.engines.scan_sql.statement import counting, statement
from privet.planner.keys import with_found
from privet.planner.plan import Pass
from privet.planner.stability import key_sensitivity, norm_of
from privet.session import Session

sys.path.insert(0, str(Path(__file__).parent))

from own_hospital import ask, asked, hospital, text_of

ENTRIES = json.loads((Path(__file__).parent / "hostile.json").read_text(encoding="utf-8"))
REFUSED = [entry for entry in ENTRIES if "says" in entry]
SAFE = [entry for entry in ENTRIES if "safe" in entry]
SECRET = 7
FOUND: list[tuple[str | None, ...]] = [("flu", "HIV", "other", None), ("%",), ()]


def ids(entry: dict[str, Any]) -> str:
    return str(entry["id"])


@pytest.fixture(scope="module")
def neighbours() -> Iterator[tuple[Session, Session]]:
    with hospital(with_42=True) as one, hospital(with_42=False) as other:
        yield one, other


def test_every_entry_is_refused_or_safe_and_listed_once() -> None:
    texts = {(text_of(entry), str(entry.get("options"))) for entry in ENTRIES}
    assert len({entry["id"] for entry in ENTRIES}) == len(texts) == len(ENTRIES) >= 500
    assert [entry["id"] for entry in ENTRIES if ("says" in entry) == ("safe" in entry)] == []
    assert len(REFUSED) >= 60


@pytest.mark.parametrize("entry", REFUSED, ids=ids)
def test_what_is_refused_is_refused_by_name_uncharged_and_the_same_on_neighbours(
    entry: dict[str, Any], neighbours: tuple[Session, Session]
) -> None:
    told = []
    for session in neighbours:
        before = session.history()
        with pytest.raises(RequestError) as caught:
            ask(session, entry)
        assert session.history() == before
        told.append((type(caught.value), str(caught.value), caught.value.to_dict()))
    assert told[0] == told[1]
    assert entry["says"] in told[0][1]
    assert "sqlglot" not in told[0][1].lower()


def exact(session: Session, scan: Scan) -> dict[Any, Any]:
    """Return what a scan gives, with the choices of rows and keys held fixed."""
    engine: Any = session._executor.engine
    relation = relation_sql(scan.table, engine._tables, engine._relations, 1, DUCKDB)
    asked = (statement if scan.places is None else counting)(replace(scan, near=None), relation, SECRET, DUCKDB)
    rows = engine._fetch(asked.sql, asked.parameters)
    if scan.places is None:
        return {row[: asked.keys]: row[asked.keys :] for row in rows}
    cells = [(row[: asked.keys], *row[asked.keys : asked.keys + 2]) for row in rows if row[asked.keys] is not None]
    return {(*cell, p): (weight,) for cell, places, weights in cells for p, weight in zip(places, weights, strict=True)}


def moved(one: dict[Any, Any], other: dict[Any, Any], place: int) -> tuple[int, int]:
    none = (0,) * 99
    moves = [abs(one.get(cell, none)[place] - other.get(cell, none)[place]) for cell in one.keys() | other.keys()]
    return sum(moves), sum(move * move for move in moves)


def check_moves(one: Pass, first: dict[Any, Any], other: dict[Any, Any]) -> None:
    for claim in claims_of(one):
        assert claim.measured(seen(one, first), seen(one, other)) <= claim.size, claim.what
    if one.measure.draws:
        assert moved(first, other, 0)[0] <= norm_of(one.scan)
        return
    if one.scan.discovery is not None:
        assert moved(first, other, -1)[0] <= key_sensitivity(one.scan).l1
        assert len(first.keys() ^ other.keys()) <= one.scan.discovery.most
        first, other = ({cell: each[cell] for cell in first.keys() & other.keys()} for each in (first, other))
    for place, measure in enumerate(one.measures):
        l1, l2_squared = moved(first, other, place)
        assert l1 <= measure.sensitivity.l1
        assert l2_squared <= measure.sensitivity.l2_squared


def seen(one: Pass, cells: dict[Any, Any]) -> Seen:
    places: dict[Any, dict[int, int]] = {}
    for (*cell, place), (weight,) in cells.items() if one.measure.draws else ():
        places.setdefault(tuple(cell), {})[place] = weight
    return Seen(places=places) if one.measure.draws else Seen(cells)


@pytest.mark.parametrize("entry", SAFE, ids=ids)
def test_what_is_answered_moves_no_further_than_its_plan_claims_and_never_fails(
    entry: dict[str, Any], neighbours: tuple[Session, Session]
) -> None:
    shapes = []
    for session in neighbours:
        before = len(session.history())
        shapes.append(len(list(ask(session, entry))))
        assert len(session.history()) <= before + 1  # a question that means the same as another is free
    plan = neighbours[0].plan(text_of(entry), **asked(entry))
    if not plan.discovers and not any(step.where or step.limit for step in plan.query.steps):
        assert shapes[0] == shapes[1]
    for one in plan.passes:
        for scan in [with_found(one.scan, found) for found in FOUND] if plan.finds_first else [one.scan]:
            read = replace(one, scan=one.scan if one.finds_first else scan)
            check_moves(read, *(exact(session, read.scan) for session in neighbours))
