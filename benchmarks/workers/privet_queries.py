"""Privet's side of the queries: sessions over the made-up visits."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from serve import Task, apart

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from data import PREDICTORS, cities, errors, measured, people, regions, scaled, truth, tuned, visits

DELTA = Fraction(1, 10**6)
ROW_LEVEL = {
    "count": "SELECT city, COUNT(*) AS n FROM visits GROUP BY city",
    "sum": "SELECT city, SUM(amount) AS total FROM visits GROUP BY city",
    "median": "SELECT MEDIAN(amount) AS middle FROM visits",
    "medians": "SELECT city, MEDIAN(amount) AS middle FROM visits GROUP BY city",
    "different": "SELECT COUNT(DISTINCT amount) AS k FROM visits",
    "different by age": "SELECT age, COUNT(DISTINCT city) AS k FROM visits GROUP BY age",
    "correlation": "SELECT CORR(amount, age) AS r FROM visits",
    "correlation by city": "SELECT city, CORR(amount, age) AS r FROM visits GROUP BY city",
    "covariance": "SELECT COVAR_SAMP(amount, age) AS c FROM visits",
    "covariance by city": "SELECT city, COVAR_SAMP(amount, age) AS c FROM visits GROUP BY city",
    "covariance of whole numbers": "SELECT COVAR_SAMP(person, age) AS c FROM visits",
}
PERSON_LEVEL = "SELECT city, COUNT(*) AS n, AVG(amount) AS mean FROM visits GROUP BY city"

PEOPLE = {
    "different": "SELECT COUNT(DISTINCT amount) AS k FROM visits",
    "different by age": "SELECT age, COUNT(DISTINCT city) AS k FROM visits GROUP BY age",
    "correlation": "SELECT CORR(amount, age) AS r FROM visits",
    "correlation by age": "SELECT age, CORR(amount, age) AS r FROM visits GROUP BY age",
    "covariance": "SELECT COVAR_SAMP(amount, age) AS c FROM visits",
}


def open_session(rows: int, *, people: bool) -> Any:
    """Return a session: people with unknown cities and a declared contribution, or rows with public cities."""
    from privet.core.budget import Approximate
    from privet.core.schema import Contribution, Table, category, integer, number, text
    from privet.core.unit import Person, Rows
    from privet.session import Session

    columns = {
        "person": integer() if people else integer(0, 10**6),
        "city": text() if people else category(cities()),
        "amount": number(0, 1000),
        "age": integer(0, 120),
    }
    unit = Person("person") if people else Rows()
    contribution = Contribution(groups=5, rows=6) if people else None
    table = Table(str(visits(rows)), unit=unit, columns=columns, contribution=contribution)
    return Session({"visits": table}, budget=Approximate(epsilon=100, delta=DELTA))


def by_row(question: str, rows: int, by_hand: bool = False) -> Callable[[], Any]:
    session = open_session(rows, people=False)
    session.ask(ROW_LEVEL[question], epsilon=Fraction(1, 2))
    return lambda: session.ask(ROW_LEVEL[question], epsilon=1)


def by_person(rows: int) -> Callable[[], Any]:
    session = open_session(rows, people=True)
    session.plan(PERSON_LEVEL, epsilon=2)

    def call() -> dict[str, Any]:
        session.ask(PERSON_LEVEL, epsilon=1)
        return {}

    return call


def of_people(question: str, rows: int) -> Callable[[], Any]:
    session = open_session(rows, people=True)
    session.plan(PEOPLE[question], epsilon=2)

    def call() -> dict[str, Any]:
        session.ask(PEOPLE[question], epsilon=1)
        return {}

    return call


def regression(rows: int, people: bool) -> Callable[[], Any]:
    """Return a regression of a target by ten predictors, at another price each time."""
    from privet.core.budget import Pure
    from privet.core.schema import Contribution, Table, integer, number
    from privet.core.unit import Person, Rows
    from privet.session import Session

    names = [f"x{place}" for place in range(PREDICTORS)]
    columns = {"person": integer(), **{name: number(-1, 1) for name in (*names, "y")}}
    unit = Person("person") if people else Rows()
    contribution = Contribution(groups=1, rows=10) if people else None
    table = Table(str(measured(rows)), unit=unit, columns=columns, contribution=contribution)
    session = Session({"rows": table}, budget=Pure(epsilon=10**6))
    spends = iter(range(10**6))

    def call() -> dict[str, Any]:
        session.regress("rows", f"y ~ {' + '.join(names)}", epsilon=1 + Fraction(next(spends), 10**6))
        return {}

    return call


JOINED = "SELECT region, COUNT(*) AS n, AVG(amount) AS mean FROM visits JOIN people USING (person) GROUP BY region"


def joined(rows: int, bound: str) -> Callable[[], Any]:
    """Return a question about visits by where people live, which another table says; `bound` is the peer's."""
    from privet.core.budget import Approximate
    from privet.core.schema import Contribution, Table, category, integer, number, text
    from privet.core.unit import Person
    from privet.session import Session

    unit = Person("person")
    visited = {"person": integer(), "city": text(), "amount": number(0, 1000), "age": integer(0, 120)}
    lives = {"person": integer(), "region": category(regions()), "born": integer(1900, 2025)}
    tables = {
        "visits": Table(str(visits(rows)), unit=unit, columns=visited, contribution=Contribution(groups=1, rows=10)),
        "people": Table(
            str(people()), unit=unit, columns=lives, contribution=Contribution(groups=1, rows=1), key="person"
        ),
    }
    session = Session(tables, budget=Approximate(epsilon=10**6, delta=DELTA))
    session.ask(JOINED, epsilon=2)
    spends = iter(range(10**6))

    def call() -> dict[str, Any]:
        session.ask(JOINED, epsilon=1 + Fraction(next(spends), 10**6))
        return {}

    return call


def by_person_noisy(rows: int, groups: list[int], each: list[int], bound: str = "norm") -> Callable[[], Any]:
    """Return the question with the bounds that err least, timed, and how wrong its answer is."""
    from privet.core.schema import Contribution

    true = truth(visits(rows))

    def released(session: Any, number: int, most: int) -> dict[str, tuple[float, float]]:
        contribution = Contribution(groups=number, rows=most)
        answer = session.ask(PERSON_LEVEL, epsilon=1, bound=bound, contribution=contribution)
        return {row["city"]: (row["n"], row["mean"]) for row in answer}

    trying, session = open_session(rows, people=True), open_session(rows, people=True)
    record = f"privet-tuning-{bound}-{rows}"
    best, told = tuned(record, groups, each, lambda *bounds: errors(released(trying, *bounds), true))
    session.plan(PERSON_LEVEL, epsilon=2)

    def call() -> dict[str, Any]:
        start, spent = time.perf_counter(), time.process_time()
        found = released(session, int(best["groups"]), int(best["rows"]))
        took = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - spent}
        return {**took, "figures": errors(found, true), "note": f"{len(found)} cities; {told}"}

    return call


def ask_again(rows: int) -> Callable[[], Any]:
    session = open_session(rows, people=False)
    session.ask(ROW_LEVEL["sum"], epsilon=1)
    return lambda: session.ask(ROW_LEVEL["count"], epsilon=1)


def plan_again(rows: int) -> Callable[[], Any]:
    session = open_session(rows, people=True)
    session.plan(PERSON_LEVEL, epsilon=2)
    return lambda: session.plan(PERSON_LEVEL, epsilon=1)


def plan_corpus(which: str) -> Callable[[], Any]:
    """Return the processor time of planning the questions of tests/corpus that are answered: "median" or "longest"."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tests"))
    from corpus.corpus import Worlds, judge, read_questions

    def call() -> dict[str, Any]:
        with Worlds() as worlds:
            outcomes = [judge(question, worlds[question.world]) for question in read_questions()]
        timed = [one for one in outcomes if one.planning is not None]
        slowest = max(timed, key=lambda one: one.planning)
        found = slowest.planning if which == "longest" else statistics.median(one.planning for one in timed)
        return {
            "seconds": found,
            "cpu": found,
            "note": f"{len(timed)} questions; the longest is {slowest.question.key}",
        }

    return call


def beyond_memory(rows: int, memory_limit: str, parts: int | None = None) -> Callable[[], Any]:
    """Return a question about people whose cells may not fit into memory, with cities that are found in the data."""
    import privet
    from privet.engines.duckdb.engine import DuckDB

    columns = {
        "person": privet.integer(),
        "city": privet.text(),
        "amount": privet.number(0, 1000),
        "age": privet.integer(0, 120),
    }
    limit = privet.Contribution(groups=5, rows=6)
    table = privet.Table(
        str(scaled(rows)), unit=privet.Person("person"), columns=columns, contribution=limit, rows=rows
    )
    engine = DuckDB({"visits": table}, memory_limit=memory_limit, parts=parts)
    budget = privet.Approximate(epsilon=100, delta=DELTA)
    session = privet.Session({"visits": table}, budget=budget, engine=engine)
    return lambda: session.ask(PERSON_LEVEL, epsilon=1)


def first_ask(rows: int) -> Callable[[], Any]:
    return lambda: open_session(rows, people=False).ask(ROW_LEVEL["count"], epsilon=1)


QUERIES: dict[str, Task] = {
    "by_row": by_row,
    "by_person": by_person,
    "of_people": of_people,
    "regression": regression,
    "joined": joined,
    "by_person_noisy": by_person_noisy,
    "ask_again": ask_again,
    "plan_again": plan_again,
    "plan_corpus": plan_corpus,
    "beyond_memory": beyond_memory,
    "beyond_memory_apart": apart("beyond_memory", "call"),
    "first_ask": first_ask,
    "first_ask_apart": apart("first_ask", "cpu"),
    "by_row_memory": apart("by_row", "peak MB"),
    "by_person_memory": apart("by_person", "peak MB"),
}
