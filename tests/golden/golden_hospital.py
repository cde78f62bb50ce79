"""A made-up hospital whose declared facts never change, and questions about it, by name.

Its facts and the questions are part of what `digests.json` and the golden ledgers pin: add to them, change none.
Only public names are used, so that everything here outlives any change of the modules inside.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet import col

HERE = Path(__file__).parent
WRITE = "PRIVET_WRITE_GOLDEN"
"""The environment variable that has a golden file written anew: its name is the value."""

PEOPLE = 600
KINDS = ["inpatient", "outpatient", "emergency"]
DRUGS = ["aspirin", "insulin", "statin", "digoxin"]
YEAR = (datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))
NOON = datetime.datetime(2024, 1, 1, 12)

BUDGETS: Mapping[str, Any] = {
    "pure": privet.Pure(epsilon=100),
    "approximate": privet.Approximate(epsilon=100, delta=1e-6),
    "zcdp": privet.Zcdp(rho=50),
}
VIEWS = {"regular": "SELECT person_id, COUNT(*) AS visits FROM visit GROUP BY person_id HAVING COUNT(*) >= 3"}


def _rows() -> dict[str, pa.Table]:
    """Return the rows of every table: the same on each call."""
    people, visits, drugs = range(PEOPLE), range(4 * PEOPLE), range(6 * PEOPLE)
    day = [YEAR[0] + datetime.timedelta(days=(i * 11) % 366) for i in visits]
    visit = pa.table(
        {
            "visit_id": pa.array(visits, pa.int64()),
            "person_id": pa.array([(i * 7) % PEOPLE for i in visits], pa.int64()),
            "kind": [KINDS[i % 3] for i in visits],
            "start": pa.array(day, pa.date32()),
            "seen": pa.array([NOON + datetime.timedelta(hours=i) for i in visits], pa.timestamp("us")),
            "cost": [50.0 + (i * 37) % 900 for i in visits],
            "score": pa.array([None if i % 9 == 0 else i % 26 - 5 for i in visits], pa.int64()),
            "urgent": [i % 5 == 0 for i in visits],
            "remark": [["none", "late", "none", "by train"][i % 4] for i in visits],
            "height": [1.4 + (i % 60) / 100 for i in visits],
        }
    )
    return {
        "person": pa.table(
            {
                "person_id": pa.array(people, pa.int64()),
                "sex": ["FM"[i % 2] for i in people],
                "year_of_birth": pa.array([1930 + i % 80 for i in people], pa.int64()),
                "zip": [["101", "102", "207"][i % 3] for i in people],
            }
        ),
        "visit": visit,
        "weekly": visit,
        "couples": visit,
        "drug_era": pa.table(
            {
                "visit_id": pa.array([(i * 3) % (4 * PEOPLE) for i in drugs], pa.int64()),
                "drug": [DRUGS[i % 3] for i in drugs],
                "days": pa.array([1 + (i * 5) % 60 for i in drugs], pa.int64()),
            }
        ),
        "region": pa.table({"zip": ["101", "102", "207"], "region": ["north", "north", "south"]}),
        "staff": pa.table(
            {
                "pay": [20_000.0 + (i * 731) % 150_000 for i in people],
                "age": pa.array([20 + i % 45 for i in people], pa.int64()),
                "ward": ["abc"[i % 3] for i in people],
                "city": [["Ulm", "Köln", "Ulm", "Bonn"][i % 4] for i in people],
            }
        ),
    }


def tables(*, empty: bool = False) -> dict[str, privet.Table]:
    """Return the hospital's tables: all rows, or the same facts about private tables without a row."""
    rows = _rows()
    source = {name: table.slice(0, 0) if empty and name != "region" else table for name, table in rows.items()}
    for name in ("sized", "changed", "trios"):
        source[name] = source["staff"]
    visit = {
        "visit_id": privet.integer(),
        "person_id": privet.integer(),
        "kind": privet.category(KINDS),
        "start": privet.date(*YEAR),
        "seen": privet.timestamp(NOON, datetime.datetime(2024, 12, 31)),
        "cost": privet.number(0, 1000),
        "score": privet.integer(-5, 20, nullable=True),
        "urgent": privet.boolean(),
        "remark": privet.text(),
        "height": privet.number(),
    }
    staff = {
        "pay": privet.number(20_000, 200_000, step=100),
        "age": privet.integer(0, 120),
        "ward": privet.category(["a", "b", "c"]),
        "city": privet.text(),
    }
    typical = privet.Contribution(groups=2, rows=3)
    person, week = privet.Person("person_id"), privet.Window("person_id", "start", 7)
    people = {
        "person_id": privet.integer(),
        "sex": privet.category(["F", "M"]),
        "year_of_birth": privet.integer(1900, 2024),
        "zip": privet.text(),
    }
    drugs = {"visit_id": privet.integer(), "drug": privet.category(DRUGS), "days": privet.integer(0, 90)}
    regions = {"zip": privet.text(), "region": privet.category(["north", "south"])}
    return {
        "person": privet.Table(
            source["person"],
            unit=person,
            columns=people,
            contribution=privet.Contribution(groups=1, rows=1),
            key="person_id",
            version="2024-03",
        ),
        "visit": privet.Table(source["visit"], unit=person, columns=visit, contribution=typical, rows=10_000),
        "weekly": privet.Table(
            source["weekly"], unit=week, columns=visit, contribution=privet.Contribution(groups=1, rows=1)
        ),
        "hourly": privet.Table(
            source["weekly"],
            unit=privet.Window("person_id", "seen", datetime.timedelta(hours=6), origin=datetime.date(2024, 1, 1)),
            columns=visit,
            contribution=typical,
        ),
        "moved": privet.Table(
            source["weekly"], unit=person, columns=visit, contribution=typical, neighbors="change-one"
        ),
        "couples": privet.Table(
            source["couples"],
            unit=privet.Person("person_id", group=2),
            columns=visit,
            contribution=privet.Contribution(groups=1, rows=1),
        ),
        "drug_era": privet.Table(
            source["drug_era"],
            unit=privet.Link("visit_id", to="visit", column="visit_id"),
            columns=drugs,
            contribution=typical,
        ),
        "region": privet.PublicTable(source["region"], columns=regions, key="zip"),
        "staff": privet.Table(source["staff"], unit=privet.Rows(), columns=staff),
        "changed": privet.Table(source["changed"], unit=privet.Rows(), columns=staff, neighbors="change-one"),
        "sized": privet.Table(source["sized"], unit=privet.Rows(), columns=staff, neighbors="change-one", units=PEOPLE),
        "trios": privet.Table(source["trios"], unit=privet.Rows(3), columns=staff),
    }


@cache
def planning(budget: str) -> privet.Session:
    """Return a session that plans under one of the budgets."""
    return privet.Session(tables(empty=True), budget=BUDGETS[budget], views=VIEWS)


Said = str | Callable[[privet.Session], Any] | list[Any]
"""SQL, what builds a question on a session, or a list of either for a batch."""


@dataclass(frozen=True)
class Asked:
    """A question as it is put to a session: under which budget, how, and with which keywords."""

    said: Said
    budget: str = "approximate"
    terms: Mapping[str, Any] = field(default_factory=dict)

    def question(self, session: privet.Session) -> Any:
        """Return what the session takes."""
        if isinstance(self.said, list):
            return [one if isinstance(one, str) else one(session) for one in self.said]
        return self.said if isinstance(self.said, str) else self.said(session)

    def plan(self) -> Any:
        """Return the plan, or the plan of a batch."""
        session = planning(self.budget)
        how = session.plan_all if isinstance(self.said, list) else session.plan
        return how(self.question(session), **self.terms)

    def ask(self, session: privet.Session) -> tuple[Any, ...]:
        """Return the answers: one, or as many as the batch has questions."""
        if isinstance(self.said, list):
            return session.ask_all(self.question(session), **self.terms)
        return (session.ask(self.question(session), **self.terms),)

    def __str__(self) -> str:
        terms = ", ".join(f"{name}={value!r}" for name, value in self.terms.items())
        said = self.said if isinstance(self.said, (str, list)) else "(built in Python)"
        return f"{said} [{self.budget}: {terms}]"


def asked(said: Said, budget: str = "approximate", **terms: Any) -> Asked:
    """Return a question; it costs 1 of epsilon, or 1/2 of rho, where nothing else is said."""
    if not {"epsilon", "rho", "within"} & terms.keys() and not (isinstance(said, str) and " WITH" in said):
        terms = {"rho": 0.5, **terms} if budget == "zcdp" else {"epsilon": 1, **terms}
    return Asked(said, budget, terms)


def to_be_written(name: str) -> bool:
    """Return whether a golden file is to be written anew, which is only ever done on purpose."""
    return os.environ.get(WRITE) == name


def written(name: str) -> None:
    """Fail after a golden file was written: a run that writes proves nothing."""
    pytest.fail(f"{name} was written anew; read its diff, then run this again without {WRITE}")


MANY = ", ".join(f"SUM(age) FILTER (WHERE age > {k}) AS s{k}" for k in range(40))
BY_KIND = "SELECT kind, COUNT(*) AS n, AVG(cost) AS cost FROM visit GROUP BY kind"


def _elderly(session: privet.Session) -> Any:
    rows = session.table("visit").where(col("cost") > 65, col("remark").is_in(["late", "none"]))
    return rows.group_by("kind").agg(n=privet.count(), cost=privet.mean("cost"))


def _joined(session: privet.Session) -> Any:
    both = session.table("visit").join(session.table("person"), "person_id")
    return both.group_by("sex").agg(visits=privet.count(), cost=privet.sum("cost"))


def _per_person(session: privet.Session) -> Any:
    each = session.table("visit").per_unit(n=privet.count(), cost=privet.mean("cost"))
    return each.agg(n=privet.mean(col("n").clip(0, 20)), cost=privet.mean("cost"))


def _united(session: privet.Session) -> Any:
    ids = session.table("visit").select("person_id", "kind")
    return ids.union_all(ids.where(col("kind") == "emergency")).group_by("kind").agg(n=privet.count())


def _every_aggregate(session: privet.Session) -> Any:
    return session.table("visit").agg(
        n=privet.count(),
        people=privet.count_units(),
        remarks=privet.count_distinct("remark"),
        total=privet.sum("cost"),
        mean=privet.mean("cost"),
        var=privet.var("cost"),
        std=privet.std("score"),
        covar=privet.covar("cost", "score"),
        corr=privet.corr("cost", "score"),
        middle=privet.median("cost"),
        tenth=privet.quantile("score", 0.1),
        least=privet.smallest("score"),
        most=privet.largest("score"),
        usual=privet.mode("kind"),
    )


def _leveled(session: privet.Session) -> Any:
    rows = session.table("staff").rollup("ward")
    return rows.agg(n=privet.count(), pay=privet.mean("pay"), total=privet.grouping("ward"))


def _banded(session: privet.Session) -> Any:
    band = privet.when(col("age") < 30, "young", col("age") < 50, "middle", otherwise="old")
    return session.table("staff").group_by(band=band).agg(n=privet.count(where=col("pay") > 50_000))


QUESTIONS: Mapping[str, Asked] = {
    # counts
    "count of rows": asked("SELECT COUNT(*) FROM staff", "pure"),
    "count under a condition": asked("SELECT COUNT(*) FROM staff WHERE age > 30 AND city LIKE 'U%'", "pure"),
    "count of values": asked("SELECT COUNT(score) FROM visit", "pure"),
    "count_if": asked("SELECT COUNT_IF(cost > 500) FROM visit", "pure"),
    "count of people": asked("SELECT COUNT(DISTINCT person_id) FROM visit", "pure"),
    "count of different values": asked("SELECT COUNT(DISTINCT kind) AS k, COUNT(DISTINCT remark) AS r FROM visit"),
    "count where units are public": asked("SELECT COUNT(*) FROM sized WHERE age > 30", "pure"),
    "count of nothing to pay": asked("SELECT COUNT(*) FROM sized", "pure"),
    # sums and means
    "sum": asked("SELECT SUM(pay) FROM staff", "pure"),
    "sum under change-one": asked("SELECT SUM(pay), SUM(age) FROM changed", "pure"),
    "sum of rows together": asked("SELECT SUM(pay) FROM trios", "pure"),
    "sum of an expression": asked("SELECT SUM(cost * LEAST(GREATEST(score, 0), 5)) FROM visit", "pure"),
    "sum in rho": asked("SELECT SUM(cost) FROM visit", "zcdp"),
    "sum of many": asked(f"SELECT {MANY} FROM staff"),
    "mean": asked("SELECT AVG(age) FROM staff", "pure"),
    "mean where units are public": asked("SELECT AVG(age) FROM sized", "pure"),
    "mean of people": asked("SELECT AVG(cost), AVG(score) FROM visit"),
    "mean in rho": asked("SELECT kind, AVG(cost) FROM visit GROUP BY kind", "zcdp"),
    "mean over couples": asked("SELECT AVG(cost) FROM couples"),
    "ratio": asked("SELECT SUM(cost) / COUNT(*) AS each FROM visit"),
    # spreads
    "variance": asked("SELECT VAR_POP(age), VAR_SAMP(pay), VARIANCE(age) FROM staff", "pure"),
    "standard deviation": asked("SELECT STDDEV_POP(age), STDDEV_SAMP(pay), STDDEV(age) FROM staff", "pure"),
    "spread of people": asked("SELECT kind, STDDEV(cost) FROM visit GROUP BY kind"),
    "covariance": asked("SELECT COVAR_POP(age, pay), COVAR_SAMP(age, pay) FROM staff", "pure"),
    "correlation": asked("SELECT CORR(cost, score) FROM visit"),
    "correlation in rho": asked("SELECT CORR(age, pay) FROM staff", "zcdp"),
    # choices
    "least and greatest": asked("SELECT MIN(age), MAX(age) FROM staff", "pure"),
    "median": asked("SELECT MEDIAN(pay) FROM staff", "pure"),
    "median of people by kind": asked("SELECT kind, MEDIAN(cost) FROM visit GROUP BY kind"),
    "median in rho": asked("SELECT MEDIAN(cost) FROM visit", "zcdp"),
    "quantile": asked("SELECT QUANTILE(age, 0.9), PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY pay) FROM staff", "pure"),
    "two quantiles": asked("SELECT QUANTILE(cost, 0.25), QUANTILE(cost, 0.75) FROM visit", "pure"),
    "three quantiles": asked("SELECT QUANTILE(age, 0.25), MEDIAN(age), QUANTILE(age, 0.75) FROM staff"),
    "deciles": asked("SELECT " + ", ".join(f"QUANTILE(age, 0.{k}) AS q{k}" for k in range(1, 10)) + " FROM staff"),
    "deciles in rho": asked(
        "SELECT " + ", ".join(f"QUANTILE(age, 0.{k}) AS q{k}" for k in range(1, 10)) + " FROM staff", "zcdp"
    ),
    "mode": asked("SELECT MODE(kind) FROM visit", "pure"),
    "mode by group": asked("SELECT kind, MODE(urgent) AS urgent, COUNT(*) AS n FROM visit GROUP BY kind"),
    "mode of text": asked("SELECT MODE(remark) FROM visit"),
    "mode in rho": asked("SELECT MODE(ward) FROM staff", "zcdp"),
    "top k": asked("SELECT TOP_K(drug, 2) AS drug FROM drug_era", "pure"),
    "bounds": asked("SELECT BOUNDS(height) FROM visit", "pure"),
    "bounds in rho": asked("SELECT kind, BOUNDS(height) AS h FROM visit GROUP BY kind", "zcdp"),
    # groups
    "public groups": asked("SELECT ward, COUNT(*) FROM staff GROUP BY ward", "pure"),
    "public groups that change": asked("SELECT ward, COUNT(*), SUM(pay) FROM changed GROUP BY ward", "zcdp"),
    "two keys": asked("SELECT kind, urgent, COUNT(*) FROM visit GROUP BY kind, urgent"),
    "groups that a condition leaves": asked("SELECT ward, COUNT(*) FROM staff WHERE ward <> 'c' GROUP BY ward", "pure"),
    "found groups by a threshold": asked("SELECT remark, COUNT(*) FROM visit GROUP BY remark"),
    "found groups by a threshold under Laplace noise": asked(
        "SELECT remark, COUNT(DISTINCT person_id) FROM visit GROUP BY remark",
        epsilon=30,
        contribution=privet.Contribution(groups=2, rows=1),
    ),
    "found groups by the optimal rule": asked("SELECT city, COUNT(*) FROM staff GROUP BY city"),
    "found groups of many sums": asked(
        "SELECT remark, COUNT(*), SUM(cost) FROM visit GROUP BY remark",
        "approximate",
        epsilon=0.5,
        contribution=privet.Contribution(groups=20, rows=1),
    ),
    "found groups that are declared": asked("SELECT kind, COUNT(*) FROM visit GROUP BY kind", find_groups=True),
    "found and public groups": asked("SELECT remark, kind, AVG(cost) FROM visit GROUP BY remark, kind"),
    "one more group": asked("SELECT remark, COUNT(*) FROM visit GROUP BY remark", other="rest"),
    "one more group beside public ones": asked(
        "SELECT remark, kind, COUNT(*) FROM visit GROUP BY remark, kind", other="rest"
    ),
    "bins": asked("SELECT BIN(age, 20) AS age, COUNT(*) FROM staff GROUP BY 1", "pure"),
    "floors": asked("SELECT FLOOR(cost / 100) AS c, COUNT(*) FROM visit GROUP BY c", "pure"),
    "histogram": asked("SELECT HISTOGRAM(cost, 8) FROM visit", "pure"),
    "months": asked("SELECT DATE_TRUNC('month', start) AS month, COUNT(*) FROM visit GROUP BY month", "pure"),
    "days of the week": asked("SELECT DAYOFWEEK(start) AS day, SUM(cost) FROM visit GROUP BY day", "pure"),
    "between two days": asked("SELECT COUNT(*) FROM visit WHERE start BETWEEN '2024-02-01' AND '2024-03-01'", "pure"),
    "hours since": asked("SELECT AVG(DATE_DIFF('day', start, seen)) FROM visit"),
    "case": asked("SELECT CASE WHEN age < 30 THEN 'a' ELSE 'b' END AS band, COUNT(*) FROM staff GROUP BY band"),
    # functions, each under the name that a plan has for it
    "arithmetic": asked(
        "SELECT SUM(cost + 1 - 2 * score), SUM(cost / 7), SUM(-cost), AVG(cost % 10), SUM(ABS(score)), "
        "SUM(SIGN(score)), SUM(FLOOR(cost)), SUM(CEIL(cost)), SUM(ROUND(cost)), SUM(ROUND(cost, 1)), SUM(SQRT(cost)), "
        "SUM(LEAST(GREATEST(LN(cost), 0), 7)), SUM(EXP(score / 10)), SUM(POWER(score, 2)) FROM visit",
        "zcdp",
    ),
    "conditions": asked(
        "SELECT COUNT(*) FROM visit WHERE (cost >= 10 AND cost <= 900 AND NOT urgent OR score IN (1, 2, 3)) AND score "
        "IS NOT NULL AND (score <> 4) IS TRUE AND remark = 'late' AND cost < 800 AND score BETWEEN -3 AND 19",
        "pure",
    ),
    "texts": asked(
        "SELECT COUNT(*) FROM visit WHERE LOWER(remark) LIKE 'a!%%' ESCAPE '!' OR UPPER(TRIM(remark)) = 'LATE' OR "
        "LENGTH(remark) > 3 OR SUBSTRING(remark, 1, 2) = 'by' OR LEFT(remark, 1) = 'n' OR STARTS_WITH(remark, 'x') OR "
        "CONTAINS(remark, 'y') OR remark || '!' = 'late!' OR CONCAT(remark, kind) = 'lateemergency'",
        "pure",
    ),
    "choices of values": asked(
        "SELECT SUM(CASE kind WHEN 'emergency' THEN 3 WHEN 'inpatient' THEN 2 ELSE 0 END), SUM(IF(urgent, 1, 0)), "
        "SUM(COALESCE(score, 0)), SUM(IFNULL(score, 1)), SUM(NULLIF(score, 7)) FROM visit",
        "pure",
    ),
    "casts": asked(
        "SELECT SUM(CAST(cost AS BIGINT)), SUM(score::DOUBLE), SUM(CAST(urgent AS INTEGER)), "
        "SUM(LEAST(GREATEST(TRY_CAST(remark AS INTEGER), 0), 9)), COUNT_IF(CAST(score AS VARCHAR) = '7'), "
        "COUNT_IF(CAST(seen AS DATE) > start), COUNT_IF(CAST(start AS TIMESTAMP) < seen), "
        "COUNT_IF(CAST(score AS BOOLEAN)) FROM visit",
        "pure",
    ),
    "parts of dates": asked(
        "SELECT SUM(YEAR(start)), SUM(QUARTER(start)), SUM(MONTH(start)), SUM(WEEK(start)), SUM(DAY(start)), "
        "SUM(ISODOW(start)), SUM(DAYOFYEAR(start)), SUM(HOUR(seen)), SUM(MINUTE(seen)), "
        "SUM(EXTRACT(second FROM seen)), COUNT_IF(start + INTERVAL 7 DAY > DATE '2024-06-01'), "
        "COUNT_IF(seen - INTERVAL 1 MONTH < '2024-06-01'), COUNT_IF(seen + INTERVAL 6 HOUR > start), "
        "SUM(DATE_DIFF('month', start, DATE '2025-01-01')) FROM visit",
        "pure",
    ),
    "buckets": asked(
        "SELECT BUCKET(cost, 0, 500, 5) AS b, DATE_TRUNC('quarter', start) AS q, COUNT(*) FROM visit GROUP BY b, q"
    ),
    # joins
    "joined by person": asked(
        "SELECT sex, COUNT(*), AVG(cost) FROM visit v JOIN person p ON v.person_id = p.person_id GROUP BY sex"
    ),
    "joined by link": asked(
        "SELECT kind, AVG(days) FROM drug_era d JOIN visit v ON d.visit_id = v.visit_id GROUP BY 1"
    ),
    "joined to a public table": asked(
        "SELECT region, COUNT(*) AS people FROM person LEFT JOIN region USING (zip) GROUP BY region"
    ),
    "joined to itself": asked(
        "SELECT COUNT(*) FROM visit a JOIN visit b ON a.person_id = b.person_id AND a.start < b.start"
    ),
    "joined three ways in rho": asked(
        "SELECT region, SUM(days) FROM drug_era d JOIN visit v ON d.visit_id = v.visit_id "
        "JOIN person p ON v.person_id = p.person_id JOIN region r ON r.zip = p.zip GROUP BY region",
        "zcdp",
    ),
    "left join": asked(
        "SELECT COUNT(*) FROM person p LEFT JOIN visit v ON v.person_id = p.person_id WHERE v.visit_id IS NULL"
    ),
    "linked rows": asked("SELECT drug, COUNT(DISTINCT person_id), AVG(days) FROM drug_era GROUP BY drug"),
    # within a person
    "sub-query of rows": asked("SELECT SUM(x) FROM (SELECT cost + 1 AS x FROM visit WHERE urgent)", "pure"),
    "sub-query of people": asked(
        "SELECT LEAST(n, 5) AS visits, COUNT(*) FROM (SELECT person_id, COUNT(*) AS n FROM visit GROUP BY person_id) "
        "GROUP BY visits"
    ),
    "view": asked("SELECT sex, COUNT(*) FROM person JOIN regular USING (person_id) GROUP BY sex"),
    "released sub-query": asked(
        "WITH t AS (SELECT kind, COUNT(*) AS n FROM visit GROUP BY kind) SELECT n * 2 AS m FROM t WHERE n > 9", "pure"
    ),
    "first visits": asked(
        "SELECT kind, COUNT(*) FROM (SELECT person_id, kind, ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY start) "
        "AS place FROM visit) WHERE place = 1 GROUP BY kind"
    ),
    "since the visit before": asked(
        "SELECT AVG(LEAST(GREATEST(cost - before, -100), 100)) FROM (SELECT person_id, cost, LAG(cost) OVER "
        "(PARTITION BY person_id ORDER BY start) AS before FROM visit)"
    ),
    "sums of people": asked(
        "SELECT AVG(LEAST(s, 2000)), AVG(LEAST(d, 5)), AVG(low), AVG(high), AVG(mean) FROM (SELECT person_id, "
        "SUM(cost) AS s, COUNT(DISTINCT kind) AS d, MIN(cost) AS low, MAX(cost) AS high, AVG(cost) AS mean FROM visit "
        "GROUP BY person_id HAVING COUNT(*) > 1)"
    ),
    "ranks of people": asked(
        "SELECT COUNT(*) FROM (SELECT person_id, RANK() OVER (PARTITION BY person_id ORDER BY cost DESC) AS r, "
        "DENSE_RANK() OVER (PARTITION BY person_id ORDER BY kind) AS d, LEAD(cost, 2) OVER (PARTITION BY person_id "
        "ORDER BY start) AS later FROM visit) WHERE r = 1 AND d < 3 AND later > 100"
    ),
    "membership": asked(
        "SELECT COUNT(*) FROM person WHERE person_id IN (SELECT person_id FROM drug_era WHERE drug = 'insulin')"
    ),
    "union": asked(
        "SELECT kind, COUNT(*) FROM (SELECT person_id, kind FROM visit UNION ALL SELECT person_id, kind FROM visit "
        "WHERE urgent) GROUP BY kind"
    ),
    "different rows of people": asked(
        "SELECT kind, COUNT(*) FROM (SELECT DISTINCT person_id, kind FROM visit) GROUP BY kind", "zcdp"
    ),
    # levels
    "rollup": asked("SELECT kind, urgent, COUNT(*), AVG(cost) FROM visit GROUP BY ROLLUP (kind, urgent)"),
    "cube in rho": asked("SELECT kind, urgent, SUM(cost) FROM visit GROUP BY CUBE (kind, urgent)", "zcdp"),
    "grouping sets": asked(
        "SELECT kind, remark, COUNT(*), GROUPING(kind) FROM visit GROUP BY GROUPING SETS ((kind), (remark), ())"
    ),
    # windows of time
    "week": asked("SELECT COUNT(*), SUM(cost) FROM weekly", "pure"),
    "week by month": asked("SELECT DATE_TRUNC('month', start) AS month, COUNT(*) FROM weekly GROUP BY month", "zcdp"),
    "week with found groups": asked("SELECT remark, COUNT(*) FROM weekly GROUP BY remark"),
    "hours": asked("SELECT kind, COUNT(*), AVG(cost) FROM hourly GROUP BY kind"),
    "people who change": asked("SELECT kind, COUNT(*), AVG(cost) FROM moved GROUP BY kind"),
    "choice where people change": asked("SELECT MODE(kind), MEDIAN(cost) FROM moved"),
    "found groups where people change": asked("SELECT remark, COUNT(*) FROM moved GROUP BY remark"),
    "week and choice": asked("SELECT MODE(kind) FROM weekly", "pure"),
    "week and median": asked("SELECT MEDIAN(cost) FROM weekly"),
    # contributions
    "kept groups": asked(BY_KIND, bound="groups"),
    "kept groups in rho": asked(BY_KIND, "zcdp", bound="groups"),
    "contribution of a question": asked(BY_KIND, contribution=privet.Contribution(groups=3, rows=7)),
    "kept groups of a question": asked(
        BY_KIND, "pure", bound="groups", contribution=privet.Contribution(groups=1, rows=2)
    ),
    "options of googlesql": asked(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, max_groups_contributed = 2) kind, COUNT(*) AS n "
        "FROM visit GROUP BY kind"
    ),
    # widths
    "width of a count": asked("SELECT kind, COUNT(*) AS n FROM visit GROUP BY kind", within=20),
    "width in rho": asked("SELECT SUM(cost) / 1000 AS thousands FROM visit", "zcdp", within=10),
    "widths by column": asked(
        "SELECT COUNT(*) AS n, SUM(cost) / 1000 AS thousands FROM visit", within={"n": 100, "thousands": 10}
    ),
    "width in SQL": asked("SELECT COUNT(*) AS n FROM staff WITHIN 5 CONFIDENCE 0.9", "pure"),
    "rounds of a mean": asked(BY_KIND, within={"cost": "25%"}, at_most=1),
    "rounds of a count": asked("SELECT COUNT(*) AS n FROM visit", within="2%", at_most=1),
    "rounds of a median": asked("SELECT MEDIAN(cost) AS cost FROM visit", "pure", within=50, at_most=2),
    "rounds in rho": asked("SELECT AVG(cost) AS cost FROM visit", "zcdp", within=20, at_most=1),
    # prices
    "tiny price": asked("SELECT COUNT(*) FROM staff", "pure", epsilon=1e-6),
    "price in thirds": asked("SELECT COUNT(*), SUM(pay), AVG(age) FROM staff", "zcdp", rho=Fraction(1, 3)),
    "no price": Asked("SELECT COUNT(*) FROM staff"),
    # built in Python
    "built: conditions": asked(_elderly),
    "built: join": asked(_joined),
    "built: per person": asked(_per_person),
    "built: union": asked(_united),
    "built: every aggregate": asked(_every_aggregate),
    "built: rollup": asked(_leveled),
    "built: case": asked(_banded, "pure"),
    "built: histogram": asked(lambda session: session.table("staff").agg(privet.histogram("age", 6)), "pure"),
    "built: several values": asked(lambda session: session.table("visit").agg(usual=privet.top_k("kind", 2))),
    "built: bounds": asked(lambda session: session.table("visit").agg(height=privet.bounds("height"))),
    # batches
    "batch": asked([BY_KIND, "SELECT SUM(cost) / COUNT(*) AS each FROM visit", _elderly], epsilon=0.5),
    "batch with weights": asked(
        ["SELECT COUNT(*) FROM staff", "SELECT MEDIAN(age) FROM staff", "SELECT MODE(ward) FROM staff"],
        "pure",
        weights=[2, 1, 1],
    ),
    "batch in rho": asked([BY_KIND, "SELECT kind, SUM(score) FROM visit GROUP BY kind", _leveled], "zcdp"),
    "batch with found groups": asked(["SELECT remark, COUNT(*) FROM visit GROUP BY remark", BY_KIND]),
    "batch with widths": asked([BY_KIND, "SELECT COUNT(*) AS n FROM visit"], within=[{"n": 40}, 30]),
}
