"""The digests of known questions: a plan that means the same has the same digest for good, or is paid for again.

Answers are stored under the digests of their plans. A digest that moves makes everyone pay again for what they have, so
`digests.json` is written anew only where a plan was changed on purpose, by

    PRIVET_WRITE_GOLDEN=digests .venv/bin/python -m pytest tests/golden/test_digests.py

and its diff says which questions moved.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import privet
from privet import col
from privet.planner.batch import Batch, editions_of_batch
from privet.planner.groupings import Levels
from privet.planner.plan import as_of, before, digest_of

sys.path.insert(0, str(Path(__file__).parent))

from golden_hospital import HERE, QUESTIONS, Asked, planning, tables, to_be_written, written

FILE = HERE / "digests.json"


def read() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def found(question: Asked) -> dict[str, Any]:
    """Return what is pinned of a question: the digest of its plan, and its price."""
    plan = question.plan()
    return {"digest": plan.digest, "cost": plan.cost() if isinstance(question.said, list) else plan.to_dict()["cost"]}


def found_before(question: Asked) -> set[str]:
    """Return the digests of a question, all its rounds together, in earlier editions."""
    plan: Any = question.plan()
    if isinstance(plan, Batch | Levels):
        batch = plan if isinstance(plan, Batch) else plan.batch
        return {made.digest for made in editions_of_batch(batch)[1:]}
    every = {editions: as_of(plan, editions) for editions in before()}
    return {digest_of(made.passes, editions) for editions, made in every.items() if made is not None}


def pinned_as(name: str, now: dict[str, Any]) -> dict[str, Any]:
    """Return what is pinned, with the digests before where they were others: they stay beside the present one."""
    was = read().get(name, now)
    earlier = [*([was["digest"]] if was["digest"] != now["digest"] else []), *was.get("earlier", [])]
    return {**now, "earlier": earlier} if earlier else now


def test_the_questions_are_the_ones_that_are_pinned() -> None:
    if to_be_written("digests"):
        pinned = {name: pinned_as(name, found(one)) for name, one in QUESTIONS.items()}
        FILE.write_text(json.dumps(pinned, indent=1) + "\n", "utf-8")
        written(FILE.name)
    assert list(read()) == list(QUESTIONS)
    assert len(QUESTIONS) >= 60


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_keeps_its_digest_and_its_price(name: str) -> None:
    question, pinned = QUESTIONS[name], read()[name]
    now = found(question)
    if "earlier" in pinned:  # planned in another way by now, on purpose: what was released before is found
        assert set(pinned["earlier"]) <= found_before(question)
    assert now["digest"] == pinned["digest"], (
        f"the digest of {name!r} moved: every stored answer to it would be charged again\n  {question}"
    )
    assert now["cost"] == pytest.approx(pinned["cost"], rel=1e-9), f"the price of {name!r} moved\n  {question}"


def test_every_kind_of_release_is_among_the_questions() -> None:
    plans = [one.plan().to_dict() for one in QUESTIONS.values() if not isinstance(one.said, list)]
    noises = {release["noise"] for plan in plans for release in plan["releases"]}
    assert noises == {"Laplace", "Gaussian", "Exponential", "Permute-and-flip"}
    keys = {way for plan in plans for way in plan["keys"].split("; ")}
    assert keys == {"none", "public", "discovered above a threshold", "discovered by the optimal rule"}
    assert {one.budget for one in QUESTIONS.values()} == {"pure", "approximate", "zcdp"}


BY_KIND = "SELECT kind, COUNT(*) AS n, AVG(cost) AS c FROM visit WHERE urgent AND score > 3 GROUP BY kind"

SAME: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "aliases": (
        "SELECT kind AS k, COUNT(*) AS rows, AVG(v.cost) FROM visit AS v WHERE urgent AND score > 3 GROUP BY k",
        {},
    ),
    "case and spaces": (
        "select KIND, count(*) n, avg(COST)  c from Visit where URGENT and 3 < score group by 1",
        {},
    ),
    "order of columns": (
        "SELECT AVG(cost) AS c, kind, COUNT(*) AS n FROM visit WHERE urgent AND score > 3 GROUP BY kind",
        {},
    ),
    "order of conditions": (
        "SELECT kind, COUNT(*) AS n, AVG(cost) AS c FROM visit WHERE score > 3 AND urgent GROUP BY kind",
        {},
    ),
    "ORDER BY": (f"{BY_KIND} ORDER BY n DESC, kind", {}),
    "LIMIT": (f"{BY_KIND} LIMIT 1", {}),
    "OFFSET": (f"{BY_KIND} ORDER BY kind LIMIT 1 OFFSET 1", {}),
    "HAVING": (f"{BY_KIND} HAVING COUNT(*) > 100 AND c < 900", {}),
    "confidence": (BY_KIND, {"confidence": 0.5}),
    "derived columns": (
        "SELECT kind, ROUND(AVG(cost), 1) AS c, COUNT(*) * 2 AS twice FROM visit WHERE urgent "
        "AND score > 3 GROUP BY kind",
        {},
    ),
    "a sub-query over what is released": (f"SELECT DISTINCT n + 1 AS m FROM ({BY_KIND}) WHERE n > 5", {}),
    "a sub-query of rows": (
        "SELECT kind, COUNT(*) AS n, AVG(cost) AS c FROM (SELECT * FROM visit WHERE urgent) "
        "WHERE score > 3 GROUP BY kind",
        {},
    ),
    "a CTE": (f"WITH t AS ({BY_KIND}) SELECT kind, c FROM t", {}),
    "the default rule": (BY_KIND, {"bound": "norm", "contribution": privet.Contribution(groups=2, rows=3)}),
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("budget", ["approximate", "zcdp"])
def test_what_is_done_with_released_numbers_does_not_enter_the_digest(name: str, budget: str) -> None:
    session, cost = planning(budget), {"epsilon": 1} if budget == "approximate" else {"rho": 0.5}
    said, terms = SAME[name]
    assert session.plan(said, **cost, **terms).digest == session.plan(BY_KIND, **cost).digest


def test_a_question_built_in_python_has_the_digest_of_its_sql() -> None:
    session = planning("approximate")
    rows = session.table("visit").where(col("urgent"), col("score") > 3).group_by("kind")
    built = rows.agg(n=privet.count(), c=privet.mean("cost"))
    digest = session.plan(BY_KIND, epsilon=1).digest
    for one in (built, built.order_by(col("n").desc()).limit(1), built.having(col("n") > 9), built.select("c")):
        assert session.plan(one, epsilon=1).digest == digest


def test_the_order_and_the_names_of_a_batch_do_not_enter_its_digest() -> None:
    session = planning("approximate")
    two = [BY_KIND, "SELECT MEDIAN(cost) AS m FROM visit"]
    again = ["SELECT MEDIAN(cost) FROM visit ORDER BY 1", f"{BY_KIND} ORDER BY n LIMIT 2"]
    assert session.plan_all(two, epsilon=1).digest == session.plan_all(again, epsilon=1).digest


OTHERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "another condition": (BY_KIND.replace("> 3", "> 4"), {"epsilon": 1}),
    "another aggregate": (BY_KIND.replace("AVG(cost)", "SUM(cost)"), {"epsilon": 1}),
    "another key": (BY_KIND.replace("kind", "urgent"), {"epsilon": 1}),
    "another table": (BY_KIND.replace("FROM visit", "FROM couples"), {"epsilon": 1}),
    "another price": (BY_KIND, {"epsilon": 2}),
    "another rule": (BY_KIND, {"epsilon": 1, "bound": "groups"}),
    "another contribution": (BY_KIND, {"epsilon": 1, "contribution": privet.Contribution(groups=1, rows=3)}),
    "found groups": (BY_KIND, {"epsilon": 1, "find_groups": True}),
    "a width": (BY_KIND, {"within": {"n": 20}}),
}


def test_what_changes_a_release_changes_the_digest() -> None:
    session = planning("approximate")
    digests = [session.plan(said, **terms).digest for said, terms in ((BY_KIND, {"epsilon": 1}), *OTHERS.values())]
    assert len(set(digests)) == len(digests)


def test_a_new_version_of_the_data_is_a_new_question_and_its_rows_are_none() -> None:
    said, budget = "SELECT COUNT(*) FROM person", privet.Pure(epsilon=1)
    digest = planning("pure").plan(said, epsilon=0.1).digest

    def over(table: privet.Table) -> str:
        with privet.Session({"person": table}, budget=budget) as session:
            found: str = session.plan(said, epsilon=0.1).digest
            return found

    full, facts = tables()["person"], tables()["person"].schema
    later = privet.Table(
        full.source,
        unit=facts.unit,
        columns=facts.columns,
        contribution=privet.Contribution(groups=1, rows=1),
        key="person_id",
        version="2024-04",
    )
    assert over(full) == digest
    assert over(later) != digest
